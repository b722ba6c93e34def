-- SPDX-License-Identifier: MIT
--- Reads and writes whole files.
local files = {}

--- Returns the contents of a file.
function files.read(path)
   local file = assert(io.open(path, "rb"))
   local text = file:read("*a")
   file:close()
   return text
end

--- Writes a text to a file, in place of its contents; returns its path.
function files.write(path, text)
   local file = assert(io.open(path, "wb"))
   assert(file:write(text))
   file:close()
   return path
end

return files
