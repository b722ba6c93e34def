-- SPDX-License-Identifier: MIT
--- A recording: one file, written as it grows, readable as far as it goes.
--
-- recording/format.md describes its format; `lpfm.chunks` reads and writes its chunks, `pfm.record`
-- makes one, `pfm.analyze` says what is in it.
-- @module pfm.recording
-- @pragma nostrip

local stored = require "lpfm.samples"
local chunks = require "lpfm.chunks"
local cuts = require "pfm.recording.cuts"
local jitdump = require "pfm.jitdump"
local layout = require "pfm.recording.layout"
local programs = require "pfm.recording.programs"
local reader = require "pfm.recording.reader"
local render = require "pfm.render"
local tables = require "pfm.util.tables"
local stat = require "posix.sys.stat"
local writer = require "pfm.recording.writer"
local expect = require "pfm.util.expect"

local recording = {} -- also the class of opened recordings
recording.__index = recording

--- Starts a file. With `later`, the file keeps its old content until `begin`.
-- @tparam string path
-- @tparam table head what is recorded: command, events, period, ...
-- @tparam[opt] boolean later keep the new chunks in memory until `begin`
-- @return a writer, or nil and a message
-- @usage local w = assert(recording.create("new.data", { events = { { name = "cpu-clock", pmd = 65 } } }))
-- w:close {}
-- @function create
recording.create = writer.create

local function new(path)
   return setmetatable({ path = path, maps = {}, comms = {}, names = {}, records = {}, objects = {}, damage = {},
      blocks = {}, stack_table = stored.stack_table() }, recording)
end

-- Returns those recordings in a merged file that can be read.
local function sources_of(self, file)
   local out = {}
   for _, source in ipairs(reader.sources(self, file, new)) do
      local sound, err = reader.check(source)
      if sound and source.head.merged then sound, err = nil, "a merged file within another is left out" end
      if sound then out[#out + 1] = source else self.damage[#self.damage + 1] = { what = err } end
   end
   return out
end

local CHUNK = "\239LP1"

-- Returns the first bytes of a regular file; "" of anything else.
local function start_of(path)
   local found = stat.stat(path)
   local file = found and stat.S_ISREG(found.st_mode) ~= 0 and io.open(path, "rb")
   local start = file and file:read(8) or ""
   if file then file:close() end
   return start
end

--- May `recording.open` take this path? Pipes are allowed.
-- @string path
-- @treturn boolean
-- @usage assert(not recording.is_one "/etc/passwd")
function recording.is_one(path)
   local found = stat.stat(path)
   if path == "-" or found and stat.S_ISFIFO(found.st_mode) ~= 0 then return true end
   if found and stat.S_ISDIR(found.st_mode) ~= 0 then path = path .. "/data" end
   local start = start_of(path)
   return start == "PERFILE2" or start == "2ELIFREP" or start:sub(1, #CHUNK) == CHUNK
end

-- Opens a perf.data file; returns false if it is none.
local function open_perfdata(path)
   local self, err = require("pfm.recording.perfdata").open(path, new)
   if not self then return self, err end
   self.head.version, self.head.byte_order = layout.VERSION, chunks.byte_order
   return reader.check(self)
end

--- Opens a recording, a perf.data file, or a merged file (see `recording.together`).
-- @string path "-": perf.data from standard input
-- @return a recording: `head`, `maps`, `comms`, `objects`, `symbols` (by path, nil: none are
-- stored), `ends` (nil: cut), `damage`, `stack_table` (see `lpfm.samples`), `records` (see
-- `pfm.recording.programs`); or nil and a message
-- @usage local s = recording.open "lpfm.data"; print(s.head.command)
function recording.open(path)
   if start_of(path):sub(1, #CHUNK) ~= CHUNK then
      local found, why = open_perfdata(path)
      if found or why then return found, why end
   end
   local file, err = chunks.open(path)
   if not file then return nil, err end
   local self = new(path)
   reader.chunks(self, file)
   local sound
   sound, err = reader.check(self)
   if sound and self.head.merged then
      sound = recording.together(sources_of(self, file), { path = path, damage = self.damage })
   end
   file:close()
   return sound, err
end

--- Joins recordings into one with the samples of all. The clocks of their machines are aligned as
-- far as they were recorded. Everything that reads recordings takes the result.
-- @tparam {recording,...} list of `recording.open`
-- @tparam[opt] table options of `pfm.recording.together`
-- @treturn recording with `sources`, the list; its `head` and `ends` say what they have in common,
-- and the sums
-- @usage local s = assert(recording.open "lpfm.data")
-- print(#recording.together({ s, s }).sources) --> 2
function recording.together(list, options)
   return require("pfm.recording.together").new(list, options)
end

--- Makes a recording of samples that are in no file. Everything that reads recordings takes it.
-- @tparam table fields `head` with `events`, `with`; `blocks`, strings; optional `maps` (list of
-- `{pid=, maps=}`), `comms` (by tid), `ends`, `records` (see `pfm.recording.programs`);
-- `stack_table`, where the samples have stacks and the head says so (`stacks`)
-- @treturn recording
-- @usage local ctx = assert(lpfm.create { format = "default" })
-- local events, blocks = { { name = "cpu-clock", pmd = 65 } }, { ctx:buffer():snapshot() }
-- print(#analyze.by(recording.of { head = { events = events }, blocks = blocks }, "thread").rows)
-- ctx:close()
function recording.of(fields)
   local self = new("(memory)")
   for k, v in pairs(fields) do self[k] = v end
   self.ends = self.ends or {}
   self.head.version, self.head.byte_order = layout.VERSION, chunks.byte_order
   return assert(reader.check(self))
end

local function open_again(self)
   return expect.value(chunks.open(self.path))
end

--- Returns a reader of the sound blocks of samples.
-- @treturn function `read(i)` gives the i-th of `#self.blocks`, a string for `lpfm.samples`;
-- without a number it closes the file
-- @usage print(#assert(recording.open "lpfm.data"):block_reader()(1))
function recording:block_reader()
   local file
   return function(i)
      local place = i and self.blocks[i]
      if type(place) == "string" then return place end
      if place then
         file = file or open_again(self)
         return file:body(place.at, place.length)
      end
      if file then file:close() end
      file = nil
   end
end

--- Iterates over the sound blocks of samples.
-- @return an iterator of strings, for `lpfm.samples`
-- @usage for block in assert(recording.open "lpfm.data"):each_block() do print(#block) end
function recording:each_block()
   local read, i = self:block_reader(), 0
   return function()
      i = i + 1
      return read(self.blocks[i] and i or nil)
   end
end

local function add_block(groups, file, place, sizes)
   if type(place) == "string" then return groups:add(place, sizes) end
   return groups:add(file, place.at, place.length, sizes)
end

-- Lists the times at which processes replaced code that they had generated.
local function replaced_code(self)
   local out = {}
   for _, object in pairs(self.symbols or {}) do
      for _, time in ipairs(object.process and jitdump.stored(object):replacements() or {}) do
         out[#out + 1] = { pid = object.process, time = time }
      end
   end
   table.sort(out, function(a, b) return a.time < b.time end)
   return out
end

--- Says which programs ran when, if the recording has mappings or records of programs.
-- @return programs, see `pfm.recording.programs`, or nil
-- @usage local p = assert(recording.open "lpfm.data"):programs(); print(p and p:name(p.lives:at(1, 0)))
function recording:programs()
   if self.ran == nil then
      local code = replaced_code(self)
      -- without records, names come from /proc alone, perhaps long after an exec, and are not used
      local known = #self.records > 0 or #code > 0
      self.ran = (known or #self.maps > 0) and programs.new(self.records, self.maps, known and self.names or {}, code)
   end
   return self.ran or nil
end

-- Returns options in which the keys "pid" and "tid" are numbers of lives
-- (`pfm.recording.programs`): so one process that ran several programs, or a thread that had
-- several names, is several groups.
local function by_life(self, options)
   local ran = self:programs()
   if not (ran and type(options.keys) == "table") then return options end
   local keys = {}
   local lives = { pid = ran.lives, tid = ran.threads }
   for i, key in ipairs(options.keys) do keys[i] = lives[key] and { key, lives = lives[key] } or key end
   return setmetatable({ keys = keys }, { __index = options })
end

--- Counts all samples, without bringing them into Lua.
-- @tparam table options as for `stored.counter`; the keys "pid" and "tid" are numbers of lives,
-- where `recording:programs` has them
-- @treturn counter of `lpfm.samples`
-- @treturn number samples missing from blocks that were cut
-- @usage local groups = assert(recording.open "lpfm.data"):group_by { keys = { "tid" } }
-- for tid, samples in groups:rows() do print(tid, samples) end
function recording:group_by(options)
   local ok, groups = pcall(stored.counter, by_life(self, options))
   if not ok then error(groups, 0) end -- called by pcall, it names no line of the library
   local cut, sizes = 0, self:sizes()
   local file = type(self.blocks[1]) == "table" and open_again(self)
   for _, place in ipairs(self.blocks) do
      local _, missing = add_block(groups, file, place, sizes)
      cut = cut + missing
   end
   if file then file:close() end
   return groups, cut
end

--- Former name of `recording:group_by`, for one version more.
-- @tparam table options
-- @function recording:tally
-- @usage print(#assert(recording.open "lpfm.data"):tally { keys = { "tid" } })
recording.tally = recording.group_by

local function pmds_of(list)
   return tables.map(list, "pmd")
end

--- Returns the PMDs stored with a sample, by the PMD that overflowed, as `lpfm.samples` takes them.
-- An event of a set other than 0 has the key set * 65536 + PMD.
-- @treturn table
-- @usage for pmd, pmds in pairs(assert(recording.open "lpfm.data"):sizes()) do print(pmd, #pmds) end
function recording:sizes()
   local sizes, with = {}, pmds_of(self.head.with or {})
   for _, event in ipairs(self.head.events) do
      local values = event.values or with
      if self:has_stacks() then
         values = { unpack(values) }
         values[#values + 1] = layout.STACK
      end
      sizes[layout.place(event.pmd, event.set)] = values
   end
   return sizes
end

--- Returns true if the recording's samples have call stacks.
-- @treturn boolean
-- @usage print(assert(recording.open "lpfm.data"):has_stacks())
function recording:has_stacks()
   return self.head.stacks ~= nil
end

--- Lists, in words, what a reader should know before trusting the numbers.
-- @treturn table of strings
-- @usage for _, w in ipairs(assert(recording.open "lpfm.data"):warnings()) do print(w) end
function recording:warnings()
   local out = { unpack(self.remarks or {}) }
   for _, d in ipairs(self.damage) do
      out[#out + 1] = d.what == "cut" and "the file is cut off in the middle of a chunk" or reader.words(d)
   end
   local ends = self.ends
   if not ends then
      out[#out + 1] = "the recording did not end properly: samples of its last moments are missing"
      return out
   end
   if ends.samples == 0 then out[#out + 1] = "there are no samples in the recording" end
   local lost = (ends.lost or 0) + (ends.crowded or 0)
   if lost > 0 then out[#out + 1] = render.plural(lost, "sample") .. " lost while recording" end
   if (ends.throttled or 0) > 0 then
      local rate = ends.sample_rate and (", %s a second and CPU,"):format(render.number(ends.sample_rate)) or ""
      out[#out + 1] = ("sampling held back %s by the kernel's limit%s while recording"):format(
         render.plural(ends.throttled, "time"), rate)
   end
   if (ends.full or 0) > 0 and ends.missed ~= 0 then
      local missed = ends.missed and ("about " .. render.plural(ends.missed, "sample")) or "samples"
      out[#out + 1] = ("the buffer was full %s: %s not taken"):format(render.plural(ends.full, "time"), missed)
   end
   if (ends.untold or 0) > 0 then
      out[#out + 1] = ("%s of what programs did had no room: samples of short ones may have no name"):format(
         render.plural(ends.untold, "record"))
   end
   if ends.cuts then out[#out + 1] = cuts.text(ends.cuts, ends.stacks, self.head.copied) end
   if ends.unsampled then
      out[#out + 1] = ("%.0f%% of the CPU time was not sampled: threads or children, programs that change their rights "
         .. "or may not be read, or the loading and end of programs"):format(ends.unsampled * 100)
   end
   if (ends.unmeasured or 0) > 0 then
      out[#out + 1] = render.plural(ends.unmeasured, "thread") .. " could not be sampled"
   end
   return out
end

expect.signatures("recording", recording, {
   create = "path: path; head: table; later: boolean?",
   is_one = "path: path",
   open = "path: path",
   together = "list: [{head}]; options: table?",
   of = "fields: {head}",
})

expect.methods("recording", recording, {
   block_reader = "",
   each_block = "",
   programs = "",
   group_by = "options: table|string",
   tally = "options: table|string",
   sizes = "",
   has_stacks = "",
   warnings = "",
})

return recording
