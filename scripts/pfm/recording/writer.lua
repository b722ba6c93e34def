-- SPDX-License-Identifier: MIT
--- Writes the file of a recording, chunk by chunk.
-- @module pfm.recording.writer

local chunks = require "lpfm.chunks"
local layout = require "pfm.recording.layout"
local render = require "pfm.render"

local writer = {}
writer.__index = writer

--- See `pfm.recording.create`.
function writer.create(path, head, later)
   local before = io.open(path, "rb")
   if before then before:close() end
   local file, err = io.open(path, later and "ab" or "wb")
   if not file then return nil, "cannot write " .. err end
   local w = setmetatable({ file = file, path = path, bytes = 0, samples = 0, new = not before,
      kept = later and {} or nil }, writer)
   head.version, head.byte_order = layout.VERSION, chunks.byte_order
   w:chunk("HEAD", render.json(head))
   return w
end

local function put(self, ...)
   local ok, err = self.file:write(...)
   if ok then ok, err = self.file:flush() end
   if not ok then error(("cannot write %s: %s"):format(self.path, err), 0) end
end

--- Writes what was kept so far, in the place of what was in the file.
-- @usage local w = assert(recording.create("new.data", { events = { { name = "cpu-clock", pmd = 65 } } }, true))
-- w:begin()
-- w:close {}
function writer:begin()
   local file, err = io.open(self.path, "wb")
   if not file then error("cannot write " .. err, 0) end
   self.file:close()
   self.file = file
   put(self, table.concat(self.kept))
   self.kept = nil
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
      put(self, head, body)
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
   if self.new and self.samples == 0 then os.remove(self.path) end
end

return writer
