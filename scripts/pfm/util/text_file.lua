-- SPDX-License-Identifier: MIT
--- Small text files, as those in /proc and /sys, and nameless ones for what programs print.
-- @module pfm.util.text_file

local text_file = {}

local function read(path, what)
   local file = io.open(path, "r")
   local text = file and file:read(what)
   if file then file:close() end
   return text
end

--- Returns all of a file.
-- @string path
-- @treturn string or nil where it cannot be read
function text_file.all(path)
   return read(path, "*a")
end

--- Returns the first line of a file.
-- @string path
-- @treturn string or nil where it cannot be read, or is empty
function text_file.line(path)
   return read(path, "*l")
end

--- Makes a file without a name: nothing is left of it, whatever becomes of its program.
-- @treturn string path under which a program that is started now can write the file
-- @treturn function what has been written; to be called once
function text_file.unnamed()
   local path = os.tmpname()
   local file = assert(io.open(path, "w+"))
   os.remove(path)
   return "/proc/self/fd/" .. require("posix.stdio").fileno(file), function()
      file:seek("set")
      local text = file:read("*a")
      file:close()
      return text
   end
end

return text_file
