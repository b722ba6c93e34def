-- SPDX-License-Identifier: MIT
--- A recorded session: one file, written as it grows, readable as far as it goes.
--
-- The file is a row of chunks. A chunk is a head of 16 bytes and a body:
--
--    4 bytes  "\239LP1"
--    4 bytes  tag
--    4 bytes  length of the body, little-endian
--    4 bytes  CRC-32 of tag, length and body, little-endian
--
-- Tags: HEAD, the first, JSON: version, what was recorded, where, how. MAPS, JSON: the executable
-- mappings of a process at a time. COMM, JSON: names of threads. SMPL, binary: a sampling buffer as it
-- was, up to its cur_offs. OBJS, JSON: the objects the samples lie in and their build ids. ENDS, the
-- last, JSON: totals and losses; a file without it was cut.
-- @module pfm.session

local blocks = require "lpfm.blocks"
local format = require "pfm.format"

local session = {}

local MAGIC = "\239LP1"
local VERSION = 1
local HEAD_SIZE = 16
local BODY_MAX = 2 ^ 30

local function le32(n)
   return string.char(n % 256, math.floor(n / 2 ^ 8) % 256, math.floor(n / 2 ^ 16) % 256, math.floor(n / 2 ^ 24))
end

local function from_le32(text, at)
   local a, b, c, d = text:byte(at, at + 3)
   return a + b * 2 ^ 8 + c * 2 ^ 16 + d * 2 ^ 24
end

-- --- writing -------------------------------------------------------------------------------------

local writer = {}
writer.__index = writer

--- Starts a file. What was in it stays until `begin`, if that is to be called.
-- @tparam string path
-- @tparam table head what is recorded: command, events, period, ...
-- @tparam[opt] boolean later keep the chunks until `begin`
-- @return a writer, or nil and a message
function session.create(path, head, later)
   local before = io.open(path, "rb")
   if before then before:close() end
   local file, err = io.open(path, later and "ab" or "wb")
   if not file then return nil, "cannot write " .. err end
   local w = setmetatable({ file = file, path = path, bytes = 0, samples = 0, new = not before,
      kept = later and {} or nil }, writer)
   head.version = VERSION
   w:chunk("HEAD", format.json(head))
   return w
end

local function put(self, ...)
   local ok, err = self.file:write(...)
   if ok then ok, err = self.file:flush() end
   if not ok then error(("cannot write %s: %s"):format(self.path, err), 0) end
end

--- Writes what was kept so far, in the place of what was in the file.
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
function writer:chunk(tag, body)
   local length = le32(#body)
   local head = MAGIC .. tag .. length .. le32(blocks.crc32(tag, length, body))
   if self.kept then
      self.kept[#self.kept + 1] = head .. body
   else
      put(self, head, body)
   end
   self.bytes = self.bytes + HEAD_SIZE + #body
end

--- Appends a chunk of JSON.
function writer:json(tag, value)
   self:chunk(tag, format.json(value))
end

--- Appends samples, a sampling buffer up to its cur_offs.
-- @string block
-- @number count samples in it
function writer:block(block, count)
   self:chunk("SMPL", block)
   self.samples = self.samples + count
end

--- Ends the file.
-- @tparam table totals losses, times
function writer:close(totals)
   totals.samples = self.samples
   self:json("ENDS", totals)
   self.file:close()
end

--- Ends a file without its end; removes it if it is new and nothing was recorded in it.
function writer:discard()
   self.file:close()
   if self.new and self.samples == 0 then os.remove(self.path) end
end

-- --- reading -------------------------------------------------------------------------------------

-- The next chunk: tag, body; or nil and "end", "cut", "damaged".
local function read_chunk(file)
   local head = file:read(HEAD_SIZE)
   if not head then return nil, "end" end
   if #head < HEAD_SIZE then return nil, "cut" end
   if head:sub(1, 4) ~= MAGIC then return nil, "damaged" end
   local tag, length, crc = head:sub(5, 8), from_le32(head, 9), from_le32(head, 13)
   if length > BODY_MAX then return nil, "damaged" end
   local body = length == 0 and "" or file:read(length) or ""
   local whole = #body == length
   if whole and blocks.crc32(tag, head:sub(9, 12), body) == crc then return tag, body end
   return nil, whole and "damaged" or "cut"
end

-- Moves to the next place after from that looks like a chunk; false when there is none.
local function resync(file, from)
   local STEP = 2 ^ 16
   local at = from
   while true do
      file:seek("set", at)
      local text = file:read(STEP + #MAGIC - 1)
      if not text then return false end
      local found = text:find(MAGIC, 1, true)
      if found then
         file:seek("set", at + found - 1)
         return true
      end
      at = at + STEP
   end
end

local function note_damage(self, at, what)
   self.damage[#self.damage + 1] = { at = at, what = what }
end

-- Iterates over the sound chunks: tag, body, where the body lies; notes damage on the way.
local function chunks(self, file)
   return function()
      while true do
         local at = file:seek()
         local tag, body = read_chunk(file)
         if tag then return tag, body, at + HEAD_SIZE end
         if body == "end" then return nil end
         note_damage(self, at, body)
         if not resync(file, at + 1) then return nil end
      end
   end
end

local function open_file(path)
   local file, err = io.open(path, "rb")
   if not file then return nil, err end
   local first = file:read(4)
   if first and not file:seek("set", 0) then
      file:close()
      return nil, path .. " cannot be read from its beginning again, as a recording must (a pipe?)"
   end
   if first == MAGIC then return file end
   file:close()
   if first == nil then return nil, path .. " is empty (or a directory)" end
   return nil, path .. " is not a recording of lpfm"
end

local reader = {}
reader.__index = reader

local take = {}

function take.HEAD(self, value)
   self.head = self.head or value
end

function take.MAPS(self, value)
   self.maps[#self.maps + 1] = value
end

function take.COMM(self, value)
   for _, c in ipairs(value) do self.comms[c.tid] = c.comm end
end

function take.OBJS(self, value)
   for _, o in ipairs(value) do self.objects[o.path] = o end
end

function take.ENDS(self, value)
   self.ends = value
end

-- Everything but the samples.
local function read_json(self, file)
   for tag, body, at in chunks(self, file) do
      if tag == "SMPL" then
         self.blocks[#self.blocks + 1] = { at = at, length = #body }
      elseif take[tag] then
         local value, err = format.from_json(body)
         if value then
            take[tag](self, value)
         else
            note_damage(self, file:seek(), err)
         end
      end
   end
end

local function check(self)
   if not self.head then return nil, self.path .. " is damaged: its head cannot be read" end
   if self.head.version ~= VERSION then
      local found = tostring(self.head.version)
      return nil, ("%s is of version %s; this lpfm reads version %d"):format(self.path, found, VERSION)
   end
   return self
end

--- Opens a recording.
-- @string path
-- @return a session with `head`, `maps`, `comms`, `objects`, `ends` (nil: cut), `damage`; or nil and a message
-- @usage local s = session.open "lpfm.data"; print(s.head.command)
function session.open(path)
   local file, err = open_file(path)
   if not file then return nil, err end
   local self = setmetatable({ path = path, maps = {}, comms = {}, objects = {}, damage = {}, blocks = {} }, reader)
   read_json(self, file)
   file:close()
   return check(self)
end

--- Iterates over the blocks of samples that are sound.
-- @return an iterator of strings, for `lpfm.blocks`
function reader:each_block()
   local file, err = io.open(self.path, "rb")
   if not file then error(err, 0) end
   local i = 0
   return function()
      i = i + 1
      local place = self.blocks[i]
      if place then
         file:seek("set", place.at)
         return file:read(place.length)
      end
      file:close()
   end
end

--- How many PMD values follow a sample, by PMD: what `lpfm.blocks` wants.
-- @treturn table
function reader:sizes()
   local sizes = {}
   for _, event in ipairs(self.head.events) do sizes[event.pmd] = #(self.head.with or {}) end
   return sizes
end

--- What a reader should know before trusting the numbers, in words.
-- @treturn table of strings
function reader:warnings()
   local out = {}
   for _, d in ipairs(self.damage) do
      out[#out + 1] = d.what == "cut" and "the file is cut off in the middle of a chunk"
         or ("the file is damaged at byte %s; what lies there is left out"):format(format.number(d.at))
   end
   local ends = self.ends
   if not ends then
      out[#out + 1] = "the recording did not end properly: samples of its last moments are missing"
      return out
   end
   if (ends.lost or 0) > 0 then out[#out + 1] = format.plural(ends.lost, "sample") .. " lost while recording" end
   if (ends.full or 0) > 0 then
      local missed = ends.missed and ("about " .. format.plural(ends.missed, "sample")) or "samples"
      out[#out + 1] = ("the buffer was full %s: %s not taken"):format(format.plural(ends.full, "time"), missed)
   end
   if ends.unsampled then
      out[#out + 1] = ("%.0f%% of the CPU time was not sampled: threads or children, or the program's loading and end")
         :format(ends.unsampled * 100)
   end
   if (ends.unmeasured or 0) > 0 then
      out[#out + 1] = format.plural(ends.unmeasured, "thread") .. " could not be sampled"
   end
   return out
end

return session
