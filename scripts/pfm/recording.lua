-- SPDX-License-Identifier: MIT
--- A recording: one file, written as it grows, readable as far as it goes.
--
-- recording/format.md describes its format; `lpfm.chunks` reads and writes its chunks, `pfm.record` makes one,
-- `pfm.analyze` says what is in it.
-- @module pfm.recording

local blocks = require "lpfm.blocks"
local chunks = require "lpfm.chunks"
local layout = require "pfm.recording.layout"
local reader = require "pfm.recording.reader"
local render = require "pfm.render"
local writer = require "pfm.recording.writer"

local recording = {} -- and the class of what is opened
recording.__index = recording

--- Starts a file. What was in it stays until `begin`, if that is to be called.
-- @tparam string path
-- @tparam table head what is recorded: command, events, period, ...
-- @tparam[opt] boolean later keep the chunks until `begin`
-- @return a writer, or nil and a message
-- @usage local w = assert(recording.create("new.data", { events = { { name = "cpu-clock", pmd = 65 } } }))
-- w:close {}
-- @function create
recording.create = writer.create

local function new(path)
   return setmetatable({ path = path, maps = {}, comms = {}, objects = {}, damage = {}, blocks = {} }, recording)
end

--- Opens a recording.
-- @string path
-- @return a recording: `head`, `maps`, `comms`, `objects`, `symbols` (by path, nil: none are stored), `ends` (nil:
-- cut), `damage`; or nil and a message
-- @usage local s = recording.open "lpfm.data"; print(s.head.command)
function recording.open(path)
   local file, err = chunks.open(path)
   if not file then return nil, err end
   local self = new(path)
   reader.chunks(self, file)
   file:close()
   return reader.check(self)
end

--- A recording in memory, of samples that are in no file; everything that reads recordings takes it.
-- @tparam table fields `head` with `events`, `with`; `blocks`, strings; optional `maps` (list of `{pid=, maps=}`),
-- `comms` (by tid), `ends`
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
   local file, err = chunks.open(self.path)
   if not file then error(err, 0) end
   return file
end

--- Iterates over the blocks of samples that are sound.
-- @return an iterator of strings, for `lpfm.blocks`
-- @usage for block in assert(recording.open "lpfm.data"):each_block() do print(#block) end
function recording:each_block()
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
-- @tparam table options as for `blocks.counter`
-- @treturn tally
-- @treturn number samples missing from blocks that were cut
-- @usage local tally = assert(recording.open "lpfm.data"):tally { keys = { "tid" } }
-- for tid, samples in tally:rows() do print(tid, samples) end
function recording:tally(options)
   local tally, cut, sizes = blocks.counter(options), 0, self:sizes()
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
function recording:sizes()
   local sizes, with = {}, pmds_of(self.head.with or {})
   for _, event in ipairs(self.head.events) do
      sizes[layout.place(event.pmd, event.set)] = event.values or with
   end
   return sizes
end

--- What a reader should know before trusting the numbers, in words.
-- @treturn table of strings
-- @usage for _, w in ipairs(assert(recording.open "lpfm.data"):warnings()) do print(w) end
function recording:warnings()
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
