-- SPDX-License-Identifier: MIT
--- Functions for files: they read small text files, such as those in /proc and /sys, list the names
-- in a folder, and make nameless files for what programs print. Those that write report what cannot
-- be written.
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

--- Returns the names in a folder.
-- @string path
-- @treturn[1] {string,...} sorted, without those that begin with a dot
-- @return[2] nil
-- @treturn[2] string "missing", "denied", or another reason in the system's words
function text_file.names(path)
   local ok, list, err = pcall(function() return require("posix.dirent").dir(path) end)
   if not ok then list, err = nil, list end
   if not list then
      err = tostring(err)
      if err:find("No such file", 1, true) or err:find("Not a directory", 1, true) then return nil, "missing" end
      return nil, err:find("denied", 1, true) and "denied" or err
   end
   local out = {}
   for _, name in ipairs(list) do
      if name:sub(1, 1) ~= "." then out[#out + 1] = name end
   end
   table.sort(out)
   return out
end

-- --- output --------------------------------------------------------------------------------------

--- Writes to a file and empties its buffer, so that each failure is reported.
-- @param file as of `io.open`
-- @tparam string ... nothing: the buffer alone is emptied
-- @treturn[1] boolean true
-- @return[2] nil
-- @treturn[2] string message
-- @treturn[2] int errno
-- @usage
-- local text_file = require "pfm.util.text_file"
-- local file = io.tmpfile()
-- assert(text_file.write(file, "one", "two"))
-- file:close()
function text_file.write(file, ...)
   local ok, err, code = true, nil, nil
   if select("#", ...) > 0 then ok, err, code = file:write(...) end
   if ok then ok, err, code = file:flush() end
   if ok then return true end
   return nil, err, code
end

-- write() is not compiled: LuaJIT's compiled code repeats a call of write or flush that fails. The
-- buffer is empty then, the second call succeeds, and the loss is not noticed.
local jit = rawget(_G, "jit")
if jit then jit.off(text_file.write) end

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
function text_file.checked(file, name)
   return setmetatable({ file = file, name = name, kept = {}, bytes = 0 }, output)
end

local function put_kept(self)
   local ok, err = text_file.write(self.file, table.concat(self.kept))
   if not ok then fail(self, err) end
   self.kept, self.bytes = {}, 0
end

--- Refuses to write over a file that is read.
-- @string path of the file to write
-- @tparam {string,...} inputs the files that are read
-- @raise if it is one of these, under whatever name
function text_file.spare(path, inputs)
   local stat = require("posix.sys.stat").stat
   local out = stat(path)
   for _, input in ipairs(out and inputs or {}) do
      local found = stat(input)
      if found and found.st_dev == out.st_dev and found.st_ino == out.st_ino then
         error(("cannot write %s: it is read; choose another name"):format(path), 0)
      end
   end
end

--- Removes a file that could not be written whole, unless it is a device, a pipe or a link.
-- @string path
function text_file.remove(path)
   local stat = require "posix.sys.stat"
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

return text_file
