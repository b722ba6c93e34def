-- SPDX-License-Identifier: MIT
--- Files for output: a write succeeds, or raises an error that names the file.
-- @module pfm.util.output

local write_all = require "pfm.util.write_all"
local stat = require "posix.sys.stat"

local output = {}
output.__index = output

local PART = 2 ^ 16 -- bytes that are kept before they are written

local function fail(self, err)
   error(("cannot write %s: %s"):format(self.name, err), 0)
end

--- Wraps a file, so that a write that fails raises an error.
-- @param file
-- @string name what errors call it
-- @treturn table `write`, `close`
function output.checked(file, name)
   return setmetatable({ file = file, name = name, kept = {}, bytes = 0 }, output)
end

local function put_kept(self)
   local ok, err = write_all(self.file, table.concat(self.kept))
   if not ok then fail(self, err) end
   self.kept, self.bytes = {}, 0
end

--- Removes a file that could not be written whole, unless it is a device, a pipe or a link.
-- @string path
function output.remove(path)
   local found = stat.lstat(path)
   if found and stat.S_ISREG(found.st_mode) ~= 0 then os.remove(path) end
end

--- Writes, as a file does.
function output:write(...)
   for i = 1, select("#", ...) do
      local part = tostring((select(i, ...)))
      self.kept[#self.kept + 1] = part
      self.bytes = self.bytes + #part
   end
   if self.bytes >= PART then put_kept(self) end
   return self
end

--- Writes what is left, and closes the file unless it is standard output.
function output:close()
   local ok, err = pcall(put_kept, self)
   if self.file ~= io.stdout then
      local closed, why = self.file:close()
      if ok and not closed then fail(self, why) end
   end
   if not ok then error(err, 0) end
end

return output
