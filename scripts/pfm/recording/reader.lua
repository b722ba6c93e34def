-- SPDX-License-Identifier: MIT
--- Reads the file of a recording, and says what is wrong with it.
-- @module pfm.recording.reader

local blocks = require "lpfm.blocks"
local chunks = require "lpfm.chunks"
local layout = require "pfm.recording.layout"
local render = require "pfm.render"

local reader = {}

local function note_damage(self, at, what)
   self.damage[#self.damage + 1] = { at = at, what = what }
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

-- Is it a table whose first fields are of these types? "n" number, "s" string.
local letters = { n = "number", s = "string" }

local function is_row(row, types)
   if type(row) ~= "table" then return false end
   for i = 1, #types do
      if type(row[i]) ~= letters[types:sub(i, i)] then return false end
   end
   return true
end

local function all_rows(list, types)
   if type(list) ~= "table" then return false end
   for _, row in ipairs(list) do
      if not is_row(row, types) then return false end
   end
   return true
end

-- What becomes of a chunk; false: it is not understood.
local take = {}

function take.HEAD(self, value)
   self.head = self.head or value
   return true
end

function take.MAPS(self, value)
   if type(value.pid) ~= "number" or not all_rows(value.maps, "nnns") then return false end
   self.maps[#self.maps + 1] = value
   return true
end

function take.COMM(self, value)
   for _, c in ipairs(value) do
      if type(c) ~= "table" or type(c.tid) ~= "number" or type(c.comm) ~= "string" then return false end
      self.comms[c.tid] = c.comm
      if type(c.time) == "number" and type(c.pid) == "number" then self.names[#self.names + 1] = c end
   end
   return true
end

-- What follows kind, time, pid and tid.
local rows = { MAP = "nnnnnns", EXEC = "nnns", RENAME = "nnns", FORK = "nnnnn", EXIT = "nnn", LOST = "nnnns" }

local function is_record(row)
   local types = type(row) == "table" and rows[row[1]]
   return types and is_row({ unpack(row, 2) }, types)
end

-- Kinds that are not known are passed over.
function take.PROG(self, value)
   for _, row in ipairs(value) do
      if is_record(row) then
         self.records[#self.records + 1] = row
         if row[1] == "EXEC" then self.comms[row[4]] = self.comms[row[4]] or row[5] end
         if row[1] == "RENAME" then self.comms[row[4]] = row[5] end
      elseif type(row) ~= "table" or rows[row[1]] then
         return false
      end
   end
   return true
end

function take.OBJS(self, value)
   for _, o in ipairs(value) do
      if type(o) ~= "table" or type(o.path) ~= "string" then return false end
      self.objects[o.path] = o
   end
   return true
end

--- Are these the symbols of an object?
-- @tparam table value of an SYMS chunk
-- @treturn boolean
function reader.are_symbols(value)
   return type(value.path) == "string" and all_rows(value.functions, "nns") and all_rows(value.segments, "nnn")
      and all_rows(value.lines, "nn") and type(value.files) == "table" and all_rows(value.frames, "n")
      and is_row({ value.process or 0 }, "n")
end

function take.SYMS(self, value)
   if not reader.are_symbols(value) then return false end
   self.symbols = self.symbols or {}
   self.symbols[value.path] = value
   return true
end

function take.ENDS(self, value)
   self.ends = value
   return true
end

local function take_chunk(self, file, tag, at, length)
   if tag == "SMPL" and length >= blocks.head_size then
      self.blocks[#self.blocks + 1] = { at = at, length = length }
   elseif tag == "STKS" then
      if not self.stack_table:load(file:body(at, length)) then note_damage(self, at, "not understood") end
   elseif take[tag] or tag == "SMPL" then
      local value = take[tag] and render.from_json(file:body(at, length))
      if type(value) ~= "table" or not take[tag](self, value) then note_damage(self, at, "not understood") end
   end
end

--- Reads everything but the samples, of which it notes the places; of a file of many recordings nothing but its head.
-- @tparam table self gets the fields of `recording.open`
-- @param file of `lpfm.chunks`
function reader.chunks(self, file)
   for tag, at, length in sound_chunks(self, file) do
      take_chunk(self, file, tag, at, length)
      if self.head and self.head.merged then return end
   end
end

-- --- many recordings in a file -------------------------------------------------------------------

-- The symbols that sources share, by their keys.
local function take_shared(shared, value)
   if type(value) == "table" and type(value.key) == "string" and reader.are_symbols(value) then
      shared[value.key] = value
      return true
   end
   return false
end

-- A source begins, with the symbols that it shares.
local function begin_source(self, sources, shared, value, new)
   if type(value) ~= "table" or type(value.id) ~= "string" or type(value.objects) ~= "table" then return nil end
   local source = new(self.path)
   source.id = value.id
   for _, key in ipairs(value.objects) do
      source.symbols = source.symbols or {}
      if shared[key] then source.symbols[shared[key].path] = shared[key] end
   end
   sources[#sources + 1] = source
   return source
end

--- Reads what follows the head of a file of many recordings.
-- @tparam table self of `reader.chunks`; notes damage
-- @param file of `lpfm.chunks`
-- @tparam function new a recording that is empty, of a path
-- @treturn table list of recordings, as of `reader.chunks`, each with its `id`
function reader.sources(self, file, new)
   local sources, shared, source, done = {}, {}, nil, false
   for tag, at, length in sound_chunks(self, file) do
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

local function is_below(limit, n)
   return type(n) == "number" and n >= 0 and n < limit and n % 1 == 0
end

local function are_pmds(list)
   for _, pmd in ipairs(list) do
      if not is_below(layout.PMDS, pmd) then return false end
   end
   return true
end

-- Registers that lpfm.blocks can tell apart.
local function check_events(list)
   if type(list) ~= "table" or #list > layout.EVENTS then return false end
   for _, e in ipairs(list) do
      local sound = type(e) == "table" and is_below(layout.PMDS, e.pmd) and is_below(layout.SETS, e.set or 0)
      if not sound then return false end
      if e.values and not (type(e.values) == "table" and are_pmds(e.values)) then return false end
   end
   return true
end

-- Why a recording cannot be read, or nil.
local function refusal(self)
   local head = self.head
   if not head then return "is damaged: its head cannot be read" end
   local version, newest = tonumber(head.version), head.merged and layout.MERGED or layout.VERSION
   if not version or version < layout.OLDEST or version > newest then
      return ("is of version %s; this lpfm reads versions %d to %d%s"):format(tostring(head.version), layout.OLDEST,
         newest, version and version > newest and ": it takes a newer one" or "")
   end
   if head.byte_order and head.byte_order ~= chunks.byte_order then
      return ("was recorded on a %s-endian machine; this one is %s-endian"):format(head.byte_order, chunks.byte_order)
   end
   if head.merged then return nil end
   if not check_events(head.events) or (head.with and not check_events(head.with)) then
      return "is damaged: its head does not say what was sampled"
   end
end

-- What other programs may have left out.
local function fill_in(head)
   if type(head.machine) ~= "table" then head.machine = {} end
   head.what, head.time = tostring(head.what or "?"), tonumber(head.time)
   head.machine.name, head.machine.pmu = tostring(head.machine.name or "?"), tostring(head.machine.pmu or "?")
   head.machine.notes, head.machine.limits = nil, nil -- texts about the machine, which older versions recorded
   for _, list in ipairs { head.events, head.with or {} } do
      for _, e in ipairs(list) do e.name, e.period = tostring(e.name or "PMD" .. e.pmd), tonumber(e.period) end
   end
end

--- Is what was read a recording of use? Fills in what other programs may have left out.
-- @tparam table self
-- @return self; nil and why not
function reader.check(self)
   local why = refusal(self)
   if why then return nil, self.path .. " " .. why end
   if not self.head.merged then fill_in(self.head) end
   return self
end

return reader
