-- SPDX-License-Identifier: MIT
--- Writes the file of a recording, chunk by chunk.
-- @module pfm.recording.writer

local chunks = require "lpfm.chunks"
local layout = require "pfm.recording.layout"
local put = require "pfm.util.put"
local render = require "pfm.render"

local writer = { sound = 0 } -- bytes that are in the file
writer.__index = writer

local MAGIC = chunks.head("HEAD", ""):sub(1, 8)
local PART = 65536 -- bytes, of a copy

-- What is in the file, if anything: "recording", "other".
local function content_of(path)
   local file = io.open(path, "rb")
   if not file then return nil end
   local start = file:read(#MAGIC)
   file:close()
   return start == MAGIC and "recording" or "other"
end

--- See `pfm.recording.create`.
function writer.create(path, head, later)
   local before = content_of(path)
   local file, err = io.open(path, later and "ab" or "wb")
   if not file then return nil, "cannot write " .. err end
   local w = setmetatable({ file = file, path = path, bytes = 0, samples = 0, before = before,
      kept = later and {} or nil }, writer)
   head.version, head.byte_order = head.stacks and layout.VERSION or layout.NO_STACKS, chunks.byte_order
   w:chunk("HEAD", render.json(head))
   return w
end

-- --- a disk that is full -------------------------------------------------------------------------

local function copy(from, to, bytes)
   local file = bytes > 0 and io.open(from, "rb")
   while file and bytes > 0 do
      local part = file:read(math.min(bytes, PART))
      if not part or not to:write(part) then break end
      bytes = bytes - #part
   end
   if file then file:close() end
   return bytes == 0
end

-- What was recorded so far, and what comes, goes into a file elsewhere. What is left of the first one is removed
-- unless it was there before.
local function move(self, why)
   if self.moved then error(("cannot write %s: %s"):format(self.path, why), 0) end
   local from, path = self.path, os.tmpname()
   local file = io.open(path, "wb")
   if not file or not copy(from, file, self.sound) then
      if file then file:close() end
      os.remove(path)
      self.file:close() -- a file that is open takes its room even when it is removed
      error(("cannot write %s: %s, and there is no room in %s"):format(from, why, path), 0)
   end
   self.file:close()
   if self.before ~= "other" then os.remove(from) end
   self.file, self.path, self.moved = file, path, { from = from, why = why }
end

local function append(self, ...)
   local ok, err = put(self.file, ...)
   if not ok then
      move(self, err)
      ok, err = put(self.file, ...)
      if not ok then move(self, err) end
   end
   for i = 1, select("#", ...) do self.sound = self.sound + #select(i, ...) end
end

--- Writes what was kept so far, in the place of what was in the file; a recording is kept as FILE.old.
-- @usage local w = assert(recording.create("new.data", { events = { { name = "cpu-clock", pmd = 65 } } }, true))
-- w:begin()
-- w:close {}
function writer:begin()
   self.file:close()
   if self.before == "recording" then os.rename(self.path, self.path .. ".old") end
   local file, err = io.open(self.path, "wb")
   if not file then error("cannot write " .. err, 0) end
   self.file = file
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
   self:chunk(tag, render.json(value))
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
   self.file:close()
end

--- Ends a file without its end; removes it if it is new and nothing was recorded in it.
-- @usage local w = assert(recording.create("new.data", { events = { { name = "cpu-clock", pmd = 65 } } }))
-- w:discard()
function writer:discard()
   self.file:close()
   if not self.before and self.samples == 0 then os.remove(self.path) end
end

return writer
