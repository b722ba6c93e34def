-- SPDX-License-Identifier: MIT
--- Small text files, as those in /proc and /sys: a whole one, or its first line.
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

return text_file
