-- SPDX-License-Identifier: MIT
--- A recording: one file, written as it grows, readable as far as it goes.
--
-- recording/format.md describes its format; `lpfm.chunks` reads and writes its chunks, `pfm.record` makes one,
-- `pfm.analyze` says what is in it.
-- @module pfm.recording

local blocks = require "lpfm.blocks"
local chunks = require "lpfm.chunks"
local render = require "pfm.render"

local recording = {}

local VERSION, OLDEST = 2, 1 -- of the format: what is written, what can still be read
local BUFFER_HEADER = 128    -- bytes, of a sampling buffer
local PMDS, LAYOUTS = 320, 64 -- numbers of PMDs, and events, that samples can be of
local SET_STEP = 2 ^ 16      -- see reader:sizes

-- --- writing -------------------------------------------------------------------------------------

local writer = {}
writer.__index = writer

--- Starts a file. What was in it stays until `begin`, if that is to be called.
-- @tparam string path
-- @tparam table head what is recorded: command, events, period, ...
-- @tparam[opt] boolean later keep the chunks until `begin`
-- @return a writer, or nil and a message
-- @usage local w = assert(recording.create("new.data", { events = { { name = "cpu-clock", pmd = 65 } } }))
-- w:close {}
function recording.create(path, head, later)
   local before = io.open(path, "rb")
   if before then before:close() end
   local file, err = io.open(path, later and "ab" or "wb")
   if not file then return nil, "cannot write " .. err end
   local w = setmetatable({ file = file, path = path, bytes = 0, samples = 0, new = not before,
      kept = later and {} or nil }, writer)
   head.version, head.byte_order = VERSION, chunks.byte_order
   w:chunk("HEAD", render.json(head))
   return w
end

local function put(self, ...)
   local ok, err = self.file:write(...)
   if ok then ok, err = self.file:flush() end
   if not ok then error(("cannot write %s: %s"):format(self.path, err), 0) end
end

--- Writes what was kept so far, replacing what was in the file.
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

--- Closes a file without its end mark; removes it if it is new and empty.
-- @usage local w = assert(recording.create("new.data", { events = { { name = "cpu-clock", pmd = 65 } } }))
-- w:discard()
function writer:discard()
   self.file:close()
   if self.new and self.samples == 0 then os.remove(self.path) end
end

-- --- reading -------------------------------------------------------------------------------------

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

local reader = {}
reader.__index = reader

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
   if not whole then return false end
   self.symbols = self.symbols or {}
   self.symbols[value.path] = value
   return true
end

function take.ENDS(self, value)
   self.ends = value
   return true
end

-- Everything but the samples.
local function read_chunks(self, file)
   for tag, at, length in sound_chunks(self, file) do
      if tag == "SMPL" and length >= BUFFER_HEADER then
         self.blocks[#self.blocks + 1] = { at = at, length = length }
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
      if not is_below(PMDS, pmd) then return false end
   end
   return true
end

-- Registers that lpfm.blocks can tell apart.
local function check_events(list)
   if type(list) ~= "table" or #list > LAYOUTS then return false end
   for _, e in ipairs(list) do
      if type(e) ~= "table" or not is_below(PMDS, e.pmd) or not is_below(SET_STEP, e.set or 0) then return false end
      if e.values and not (type(e.values) == "table" and are_pmds(e.values)) then return false end
   end
   return true
end

-- Why a recording cannot be read, or nil.
local function refusal(self)
   local head = self.head
   if not head then return "is damaged: its head cannot be read" end
   local version = tonumber(head.version)
   if not version or version < OLDEST or version > VERSION then
      return ("is of version %s; this lpfm reads versions %d to %d%s"):format(tostring(head.version), OLDEST, VERSION,
         version and version > VERSION and ": it takes a newer one" or "")
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

local function check(self)
   local why = refusal(self)
   if why then return nil, self.path .. " " .. why end
   fill_in(self.head)
   return self
end

local function new_reader(path)
   return setmetatable({ path = path, maps = {}, comms = {}, objects = {}, damage = {}, blocks = {} }, reader)
end

--- Opens a recording.
-- @string path
-- @return a session with `head`, `maps`, `comms`, `objects`, `symbols` (by path, nil: none are stored), `ends` (nil:
-- cut), `damage`; or nil and a message
-- @usage local s = recording.open "lpfm.data"; print(s.head.command)
function recording.open(path)
   local file, err = chunks.open(path)
   if not file then return nil, err end
   local self = new_reader(path)
   read_chunks(self, file)
   file:close()
   return check(self)
end

--- A recording in memory, of samples that are in no file; everything that reads recordings takes it.
-- @tparam table fields `head` with `events`, `with`; `blocks`, strings; optional `maps` (list of `{pid=, maps=}`),
-- `comms` (by tid), `ends`
-- @treturn session
-- @usage local ctx = assert(lpfm.create { format = "default" })
-- local events, blocks = { { name = "cpu-clock", pmd = 65 } }, { ctx:buffer():snapshot() }
-- print(#analyze.by(recording.of { head = { events = events }, blocks = blocks }, "thread").rows)
-- ctx:close()
function recording.of(fields)
   local self = new_reader("(memory)")
   for k, v in pairs(fields) do self[k] = v end
   self.ends = self.ends or {}
   self.head.version, self.head.byte_order = VERSION, chunks.byte_order
   return assert(check(self))
end

local function open_again(self)
   local file, err = chunks.open(self.path)
   if not file then error(err, 0) end
   return file
end

--- Iterates over the blocks of samples that are sound.
-- @return an iterator of strings, for `lpfm.blocks`
-- @usage for block in assert(recording.open "lpfm.data"):each_block() do print(#block) end
function reader:each_block()
   local i, file = 0, nil
   return function()
      i = i + 1
      local place = self.blocks[i]
      if type(place) == "string" then return place end
      if place then
         file = file or open_again(self)
         return file:body(place.at, place.length)
      end
      if file then file:close() end
   end
end

local function add_block(tally, file, place, sizes)
   if type(place) == "string" then return tally:add(place, sizes) end
   return tally:add(file, place.at, place.length, sizes)
end

--- Counts all samples, without bringing them into Lua.
-- @tparam table options as for `blocks.tally`
-- @treturn tally
-- @treturn number samples missing from blocks that were cut
-- @usage local tally = assert(recording.open "lpfm.data"):tally { keys = { "tid" } }
-- for tid, samples in tally:rows() do print(tid, samples) end
function reader:tally(options)
   local tally, cut, sizes = blocks.tally(options), 0, self:sizes()
   local file = type(self.blocks[1]) == "table" and open_again(self)
   for _, place in ipairs(self.blocks) do
      local _, missing = add_block(tally, file, place, sizes)
      cut = cut + missing
   end
   if file then file:close() end
   return tally, cut
end

local function pmds_of(list)
   local pmds = {}
   for i, e in ipairs(list) do pmds[i] = e.pmd end
   return pmds
end

--- The PMDs whose values follow a sample, by the PMD that overflowed: what `lpfm.blocks` takes. An event of a set
-- other than 0 stands under set * 65536 + PMD.
-- @treturn table
-- @usage for pmd, pmds in pairs(assert(recording.open "lpfm.data"):sizes()) do print(pmd, #pmds) end
function reader:sizes()
   local sizes, with = {}, pmds_of(self.head.with or {})
   for _, event in ipairs(self.head.events) do
      sizes[(event.set or 0) * SET_STEP + event.pmd] = event.values or with
   end
   return sizes
end

--- What a reader should know before trusting the numbers, in words.
-- @treturn table of strings
-- @usage for _, w in ipairs(assert(recording.open "lpfm.data"):warnings()) do print(w) end
function reader:warnings()
   local out = {}
   for _, d in ipairs(self.damage) do
      out[#out + 1] = d.what == "cut" and "the file is cut off in the middle of a chunk"
         or ("the file is damaged at byte %s; what lies there is left out"):format(render.number(d.at))
   end
   local ends = self.ends
   if not ends then
      out[#out + 1] = "the recording did not end properly: samples of its last moments are missing"
      return out
   end
   if (ends.lost or 0) > 0 then out[#out + 1] = render.plural(ends.lost, "sample") .. " lost while recording" end
   if (ends.full or 0) > 0 then
      local missed = ends.missed and ("about " .. render.plural(ends.missed, "sample")) or "samples"
      out[#out + 1] = ("the buffer was full %s: %s not taken"):format(render.plural(ends.full, "time"), missed)
   end
   if ends.unsampled then
      out[#out + 1] = ("%.0f%% of the CPU time was not sampled: threads or children, or the program's loading and end")
         :format(ends.unsampled * 100)
   end
   if (ends.unmeasured or 0) > 0 then
      out[#out + 1] = render.plural(ends.unmeasured, "thread") .. " could not be sampled"
   end
   return out
end

return recording
