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

function take.SYMS(self, value)
   local whole = type(value.path) == "string" and type(value.functions) == "table"
      and all_rows(value.functions, "nns") and all_rows(value.segments, "nnn") and all_rows(value.lines, "nn")
      and type(value.files) == "table" and all_rows(value.frames, "n")
   if not whole or not is_row({ value.process or 0 }, "n") then return false end
   self.symbols = self.symbols or {}
   self.symbols[value.path] = value
   return true
end

function take.ENDS(self, value)
   self.ends = value
   return true
end

--- Reads everything but the samples, of which it notes the places.
-- @tparam table self gets the fields of `recording.open`
-- @param file of `lpfm.chunks`
function reader.chunks(self, file)
   for tag, at, length in sound_chunks(self, file) do
      if tag == "SMPL" and length >= blocks.head_size then
         self.blocks[#self.blocks + 1] = { at = at, length = length }
      elseif tag == "STKS" then
         if not self.stack_table:load(file:body(at, length)) then note_damage(self, at, "not understood") end
      elseif take[tag] or tag == "SMPL" then
         local value = take[tag] and render.from_json(file:body(at, length))
         if type(value) ~= "table" or not take[tag](self, value) then note_damage(self, at, "not understood") end
      end
   end
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
   local version = tonumber(head.version)
   if not version or version < layout.OLDEST or version > layout.VERSION then
      return ("is of version %s; this lpfm reads versions %d to %d%s"):format(tostring(head.version), layout.OLDEST,
         layout.VERSION, version and version > layout.VERSION and ": it takes a newer one" or "")
   end
   if head.byte_order and head.byte_order ~= chunks.byte_order then
      return ("was recorded on a %s-endian machine; this one is %s-endian"):format(head.byte_order, chunks.byte_order)
   end
   if not check_events(head.events) or (head.with and not check_events(head.with)) then
      return "is damaged: its head does not say what was sampled"
   end
end

-- What other programs may have left out.
local function fill_in(head)
   if type(head.machine) ~= "table" then head.machine = {} end
   head.what, head.time = tostring(head.what or "?"), tonumber(head.time)
   head.machine.name, head.machine.pmu = tostring(head.machine.name or "?"), tostring(head.machine.pmu or "?")
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
   fill_in(self.head)
   return self
end

return reader
