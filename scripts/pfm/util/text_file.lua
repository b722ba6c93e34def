-- SPDX-License-Identifier: MIT
--- Small text files, as those in /proc and /sys: a whole one, or its first line; and one for what a program prints.
-- @module pfm.util.text_file

local text_file = {}

local function read(path, what)
   local file = io.open(path, "r")
   local text = file and file:read(what)
   if file then file:close() end
   return text
end

--- All of a file.
-- @string path
-- @treturn string or nil where it cannot be read
function text_file.all(path)
   return read(path, "*a")
end

--- The first line of a file.
-- @string path
-- @treturn string or nil where it cannot be read, or is empty
function text_file.line(path)
   return read(path, "*l")
end

--- A file without a name: nothing is left of it, whatever becomes of the program that prints into it.
-- @treturn string where a program that is started now can write it
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
