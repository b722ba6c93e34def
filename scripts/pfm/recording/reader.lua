-- SPDX-License-Identifier: MIT
--- Reads the file of a recording, and says what is wrong with it.
-- @module pfm.recording.reader

local stored = require "lpfm.samples"
local chunks = require "lpfm.chunks"
local layout = require "pfm.recording.layout"
local render = require "pfm.render"

local reader = {}

local function note_damage(self, at, what)
   self.damage[#self.damage + 1] = { at = at, what = what }
end

--- Says what is wrong at a place of a file.
-- @tparam table d of a recording's `damage`
-- @treturn string
-- @usage require("pfm.recording.reader").words { what = "damaged", at = 9 }
function reader.words(d)
   local words = d.what == "another" and "another recording begins at byte %s of the file: it is left out"
      or "the file is damaged at byte %s; what lies there is left out"
   return words:format(render.number(d.at))
end

-- Iterates over the sound chunks: tag, where the body lies, its length; notes damage on the way.
local function sound_chunks(self, file)
   return function()
      while true do
         local tag, at, length = file:next()
         if tag then return tag, at, length end
         if at == "end" then return nil end
         note_damage(self, length, at)
      end
   end
end

-- Functions that take the value of a chunk, by its tag.
local take = {}

function take.HEAD(self, value)
   self.head = self.head or value
end

function take.MAPS(self, value)
   self.maps[#self.maps + 1] = value
end

function take.COMM(self, value)
   for _, c in ipairs(value) do
      self.comms[c.tid] = c.comm
      if c.time and c.pid then self.names[#self.names + 1] = c end
   end
end

-- Records of unknown kinds are skipped.
function take.PROG(self, value)
   for _, row in ipairs(value) do
      if layout.checks.kinds[row[1]] then self.records[#self.records + 1] = row end
      if row[1] == "EXEC" then self.comms[row[4]] = self.comms[row[4]] or row[5] end
      if row[1] == "RENAME" then self.comms[row[4]] = row[5] end
   end
end

function take.OBJS(self, value)
   for _, o in ipairs(value) do self.objects[o.path] = o end
end

function take.SYMS(self, value)
   self.symbols = self.symbols or {}
   local id = value.build_id or value.inode
   self.symbols[value.path .. (id and "\0" .. id or "")] = value
   self.symbols[value.path] = self.symbols[value.path] or value
end

function take.ENDS(self, value)
   self.ends = value
end

-- Checks a chunk's value; of a head only the type: `reader.check` says what is wrong with a head.
local function check_value(tag, value)
   local sound, partly = layout.checks[tag](value)
   if tag == "HEAD" then return type(value) == "table", partly end
   return sound, partly
end

local function take_chunk(self, file, tag, at, length)
   if tag == "SMPL" and length >= stored.head_size then
      self.blocks[#self.blocks + 1] = { at = at, length = length }
   elseif tag == "STKS" then
      if not self.stack_table:load(file:body(at, length)) then note_damage(self, at, "not understood") end
   elseif take[tag] then
      local value = render.from_json(file:body(at, length))
      local sound, partly = check_value(tag, value)
      if sound then take[tag](self, value) end
      if not sound or partly then note_damage(self, at, "not understood") end
   elseif tag == "SMPL" then
      note_damage(self, at, "not understood")
   end
end

-- Returns true if a chunk is the head of a second recording. The samples after it are of the events
-- in that head and not of those in the first, so the place is noted as damage.
local function begins_another(self, head, tag, at)
   if tag ~= "HEAD" or not head then return false end
   note_damage(self, at, "another")
   return true
end

--- Reads all but the samples, and notes where those lie; reads only the head of a merged file.
-- @tparam table self gets the fields of `recording.open`
-- @param file of `lpfm.chunks`
function reader.chunks(self, file)
   for tag, at, length in sound_chunks(self, file) do
      if begins_another(self, self.head, tag, at) then return end
      take_chunk(self, file, tag, at, length)
      if self.head and self.head.merged then return end
   end
end

-- --- many recordings in a file -------------------------------------------------------------------

-- Stores symbols that several recordings of the file may use, under their key. Returns true if they
-- are valid.
local function take_shared(shared, value)
   local sound = layout.checks.SYMS(value) and value.key ~= nil
   if sound then shared[value.key] = value end
   return sound
end

-- Begins a source, which is one recording of the file, with the shared symbols that it uses.
local function begin_source(self, sources, shared, value, new)
   if not layout.checks.SRCE(value) then return nil end
   local source = new(self.path)
   source.id = value.id
   for _, key in ipairs(value.objects) do
      source.symbols = source.symbols or {}
      if shared[key] then take.SYMS(source, shared[key]) end
   end
   sources[#sources + 1] = source
   return source
end

--- Reads what follows the head of a file of many recordings.
-- @tparam table self of `reader.chunks`; notes damage
-- @param file of `lpfm.chunks`
-- @tparam function new makes an empty recording, given its path
-- @treturn table list of recordings, as of `reader.chunks`, each with its `id`
function reader.sources(self, file, new)
   local sources, shared, source, done = {}, {}, nil, false
   for tag, at, length in sound_chunks(self, file) do
      if begins_another(self, done or source and source.head, tag, at) then
         source = nil -- the next source's SRCE is damaged
         if done then break end
      end
      local understood = true
      if tag == "SRCE" then
         source = begin_source(self, sources, shared, render.from_json(file:body(at, length)), new)
         understood = source ~= nil
      elseif tag == "DONE" then
         done = true
      elseif source then
         take_chunk(source, file, tag, at, length)
      elseif tag == "SYMS" then
         understood = take_shared(shared, render.from_json(file:body(at, length)))
      end
      if not understood then note_damage(self, at, "not understood") end
   end
   if not done then note_damage(self, 0, "cut") end
   return sources
end

-- Returns why a recording cannot be read, or nil.
local function refusal(self)
   local head = self.head
   if not head then return "is damaged: its head cannot be read" end
   local version, newest = tonumber(head.version), head.merged and layout.MERGED or layout.VERSION
   if not version or version < layout.OLDEST or version > newest then
      return ("is of version %s; this lpfm reads versions %d to %d%s"):format(tostring(head.version), layout.OLDEST,
         newest, version and version > newest and ": it takes a newer one" or "")
   end
   if head.byte_order and head.byte_order ~= chunks.byte_order then
      return ("was recorded on a %s-endian machine; this one is %s-endian"):format(tostring(head.byte_order),
         chunks.byte_order)
   end
   if not layout.checks[head.merged and "MERGED" or "HEAD"](head) then
      return "is damaged: its head does not say what was sampled"
   end
end

-- Fills in what other programs may have left out.
local function fill_in(head)
   head.what, head.machine = head.what or "?", head.machine or {}
   head.machine.name, head.machine.pmu = head.machine.name or "?", head.machine.pmu or "?"
   -- texts about the machine, which older versions recorded
   head.machine.notes, head.machine.limits = nil, nil
   for _, list in ipairs { head.events, head.with or {} } do
      for _, e in ipairs(list) do e.name, e.period = e.name or "PMD" .. e.pmd, tonumber(e.period) end
   end
end

--- Checks that the recording can be used, and fills in what other programs may have left out.
-- @tparam table self
-- @return self; nil and why not
function reader.check(self)
   local why = refusal(self)
   if why then return nil, self.path .. " " .. why end
   if not self.head.merged then fill_in(self.head) end
   return self
end

return reader
