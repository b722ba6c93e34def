-- SPDX-License-Identifier: MIT
--- Writes the file of a recording, chunk by chunk.
-- @module pfm.recording.writer

local chunks = require "lpfm.chunks"
local errno = require "posix.errno"
local expect = require "pfm.util.expect"
local fileno = require("posix.stdio").fileno
local layout = require "pfm.recording.layout"
local text_file = require "pfm.util.text_file"
local render = require "pfm.render"
local stat = require "posix.sys.stat"
local stdlib = require "posix.stdlib"
local unistd = require "posix.unistd"

local writer = { sound = 0 } -- sound: bytes of complete chunks in the file
writer.__index = writer

local MAGIC = chunks.head("HEAD", ""):sub(1, 8)
local PART = 65536 -- bytes, of a copy

-- Returns "recording" or "other" for what is in a file; nil if there is no file.
local function content_of(path)
   local file = io.open(path, "rb")
   if not file then return nil end
   local start = file:read(#MAGIC)
   file:close()
   return start == MAGIC and "recording" or "other"
end

-- Returns true if a file may be put at a path: there is none, or a regular file.
local function is_free(path)
   local found = stat.stat(path)
   return not found or stat.S_ISREG(found.st_mode) ~= 0
end

-- Returns the device and inode of the file at a path, or nil.
local function identity(path)
   local found = stat.stat(path)
   return found and ("%.0f %.0f"):format(found.st_dev, found.st_ino)
end

local function is_at(self, path)
   return identity(path) == self.identity
end

local function open_at(path, mode)
   local file, err = io.open(path, mode)
   return file, err, file and identity(path)
end

local numbers = 0 -- how many files this process has made: a part of their names

-- Replaces what is at a path by an empty file, in one step, so that two recordings to the same path
-- each have a file of their own. If no file can be made in the folder, the old one is written into.
-- Returns the file, nil, and its identity; or nil and a message.
local function new_file(path)
   if not is_free(path) then return open_at(path, "wb") end
   path = stdlib.realpath(path) or path
   numbers = numbers + 1
   local part = ("%s.%d.%d.part"):format(path, unistd.getpid(), numbers)
   local file, err, id = open_at(part, "wb")
   if not file then return open_at(path, "wb") end
   local ok, why = os.rename(part, path)
   if ok then return file, err, id end
   file:close()
   os.remove(part)
   return nil, why
end

local function is_pipe(path)
   local found = stat.stat(path)
   return found and (stat.S_ISFIFO(found.st_mode) ~= 0 or stat.S_ISSOCK(found.st_mode) ~= 0)
end

-- Returns JSON text, or raises an error that names what cannot be encoded.
local function encode(what, value)
   local ok, text = pcall(render.json, value, true)
   if not ok then expect.fail("%s: %s", what, text:gsub("^render%.json: ", "")) end
   return text
end

--- See `pfm.recording.create`.
function writer.create(path, head, later)
   head.version, head.byte_order = head.stacks and layout.VERSION or layout.NO_STACKS, chunks.byte_order
   local text = encode("recording.create: head", head)
   if is_pipe(path) then return nil, ("cannot write %s: it is a pipe; a recording needs a file"):format(path) end
   local before = content_of(path)
   local file, err, id = (later and open_at or new_file)(path, "ab")
   if not file then return nil, "cannot write " .. err end
   local w = setmetatable({ file = file, path = path, bytes = 0, samples = 0, before = before, identity = id,
      kept = later and {} or nil }, writer)
   w:chunk("HEAD", text)
   return w
end

-- --- a disk that is full -------------------------------------------------------------------------

local function copy_bytes(from, to, bytes)
   while bytes > 0 do
      local part, err = from:read(math.min(bytes, PART))
      if not part then return nil, err or "what was recorded is gone" end
      bytes = bytes - #part
      local ok, why = text_file.write(to, part)
      if not ok then return nil, why end
   end
   return true
end

local function copy(self, to, bytes)
   local own = ("/proc/self/fd/%d"):format(fileno(self.file)) -- valid whatever is at the path
   local file, err = io.open(own, "rb")
   if not file then file, err = io.open(self.path, "rb") end
   if not file then return bytes == 0, err end
   local ok, why = copy_bytes(file, to, bytes)
   file:close()
   return ok, why
end

-- Moves the recording to a file in another folder, into which it goes on. The first file is
-- removed, unless there was something else than a recording at its path before.
local function move(self, why)
   if self.moved then error(("cannot write %s: %s"):format(self.path, why), 0) end
   local from, path = self.path, os.tmpname()
   local file, err = io.open(path, "wb")
   local copied, failure = nil, nil
   if file then copied, failure = copy(self, file, self.sound) end
   if not copied then
      if file then file:close() end
      os.remove(path)
      self.file:close() -- a file that is open takes its room even when it is removed
      error(("cannot write %s: %s, nor %s"):format(from, why, failure and path .. ": " .. failure or err), 0)
   end
   local own = is_at(self, from)
   self.file:close()
   if own and self.before ~= "other" then os.remove(from) end
   self.file, self.path, self.moved = file, path, { from = from, why = why }
end

local function append(self, ...)
   local ok, err, code = text_file.write(self.file, ...)
   if code == errno.EFBIG then -- the file would be too large in any folder
      error(("cannot write %s: %s (see ulimit -f); what was recorded before is in it"):format(self.path, err), 0)
   end
   if not ok then
      move(self, err)
      ok, err = text_file.write(self.file, ...)
      if not ok then move(self, err) end
   end
   for i = 1, select("#", ...) do self.sound = self.sound + #select(i, ...) end
end

--- Writes what was kept so far over the file's old content; an old recording becomes FILE.old.
-- @usage local w = assert(recording.create("new.data", { events = { { name = "cpu-clock", pmd = 65 } } }, true))
-- w:begin()
-- w:close {}
function writer:begin()
   self.file:close()
   if content_of(self.path) == "recording" then os.rename(self.path, self.path .. ".old") end
   local file, err, id = new_file(self.path)
   if not file then error("cannot write " .. err, 0) end
   self.file, self.identity = file, id
   local kept = table.concat(self.kept)
   self.kept = nil
   append(self, kept)
end

--- Appends a chunk, at once, or keeps it until `begin`.
-- @string tag four letters
-- @string body
-- @usage local w = assert(recording.create("new.data", { events = { { name = "cpu-clock", pmd = 65 } } }))
-- w:chunk("NOTE", "readers pass over what they do not know")
-- w:close {}
function writer:chunk(tag, body)
   local head = chunks.head(tag, body)
   if self.kept then
      self.kept[#self.kept + 1] = head .. body
   else
      append(self, head, body)
   end
   self.bytes = self.bytes + #head + #body
end

--- Appends a chunk of JSON.
-- @usage local w = assert(recording.create("new.data", { events = { { name = "cpu-clock", pmd = 65 } } }))
-- w:json("COMM", { { tid = 1, pid = 1, comm = "init" } })
-- w:close {}
function writer:json(tag, value)
   self:chunk(tag, encode("writer:json: value", value))
end

--- Appends samples, a sampling buffer up to its cur_offs.
-- @string block
-- @number count samples in it
-- @usage local s = assert(recording.open "lpfm.data")
-- local w = assert(recording.create("new.data", s.head))
-- for block in s:each_block() do w:block(block, 1) end
-- w:close(s.ends)
function writer:block(block, count)
   self:chunk("SMPL", block)
   self.samples = self.samples + count
end

--- Ends the file.
-- @tparam table totals losses, times
-- @usage local w = assert(recording.create("new.data", { events = { { name = "cpu-clock", pmd = 65 } } }))
-- w:close { lost = 0, full = 0 }
function writer:close(totals)
   totals.samples = self.samples
   self:json("ENDS", totals)
   if not self.moved and not is_at(self, self.path) then
      local old = self.path .. ".old"
      if is_at(self, old) then
         self.path, self.taken = old, self.path
      else
         move(self, "it was removed or replaced while recording")
      end
   end
   self.file:close()
end

--- Closes a file without an ENDS chunk; removes it if it is new and nothing was recorded in it.
-- @usage local w = assert(recording.create("new.data", { events = { { name = "cpu-clock", pmd = 65 } } }))
-- w:discard()
function writer:discard()
   if io.type(self.file) == "closed file" then return end
   local own = is_at(self, self.path)
   self.file:close()
   if own and not self.before and self.samples == 0 then os.remove(self.path) end
end

expect.methods("writer", writer, {
   begin = "",
   chunk = "tag: string; body: string",
   json = "tag: string; value: any?",
   block = "block: string; count: number",
   close = "totals: table",
   discard = "",
})

return writer
