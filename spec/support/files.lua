-- SPDX-License-Identifier: MIT
--- Whole files.
local files = {}

--- What is in a file.
function files.read(path)
   local file = assert(io.open(path, "rb"))
   local text = file:read("*a")
   file:close()
   return text
end

--- Makes a file of a text, in place of what was there.
function files.write(path, text)
   local file = assert(io.open(path, "wb"))
   assert(file:write(text))
   file:close()
end

return files
