-- SPDX-License-Identifier: MIT
--- Files whose every write succeeds, or raises an error that names the file.
-- @module pfm.util.output

local output = {}
output.__index = output

local function fail(self, err)
   error(("cannot write %s: %s"):format(self.name, err), 0)
end

--- A file with checks.
-- @param file
-- @string name what errors call it
-- @treturn table `write`, `close`
function output.checked(file, name)
   return setmetatable({ file = file, name = name }, output)
end

--- Writes, as a file does.
function output:write(...)
   local ok, err = self.file:write(...)
   if not ok then fail(self, err) end
   return self
end

--- Writes what is left, and closes the file unless it is standard output.
function output:close()
   local ok, err = self.file:flush()
   if self.file ~= io.stdout then
      local closed, why = self.file:close()
      if ok then ok, err = closed, why end
   end
   if not ok then fail(self, err) end
end

return output
