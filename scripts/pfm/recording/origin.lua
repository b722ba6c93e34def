-- SPDX-License-Identifier: MIT
--- Where a recording comes from: which rank of which job, on which host; and choosing recordings by that.
-- @module pfm.recording.origin

local name_list = require "pfm.util.name_list"
local render = require "pfm.render"
local tables = require "pfm.util.tables"

local origin = {}

--- The names by which a filter chooses recordings.
origin.names = { "rank", "host", "node", "job", "step" }

--- The columns that show where a sample comes from, in order.
origin.columns = { "rank", "host", "node", "job", "step", "recording" }

--- Says where a recording comes from.
-- @tparam table self of `recording.open`
-- @treturn table `rank` (a number), `host`, `node` (as the launcher calls it, else the host), `job`, `step`: nil where
-- they are not known; `recording`: in a word, the rank, or the host and when, or the name of the file
-- @usage require("pfm.recording.origin").of(assert(recording.open "lpfm.data")).host
function origin.of(self)
   local job, host = self.head.job or {}, (self.head.machine or {}).host
   local out = { rank = job.rank, host = host, node = job.host or host, job = job.id, step = job.step }
   local when = self.head.time and os.date("%Y-%m-%d %H:%M:%S", self.head.time) or "?"
   out.recording = self.given or out.rank and "rank " .. render.number(out.rank) or ("%s %s"):format(host or "?", when)
   for name, value in pairs(out) do out[name] = name == "rank" and value or render.printable(tostring(value)) end
   return out
end

-- Ranks are read once, since the same text comes with each sample.
local read_text, read_ranks

local function ranks_in(text)
   if text ~= read_text then
      local list, why = name_list.ranges(text, "ranks")
      if not list then error("rank: " .. why, 0) end
      read_text, read_ranks = text, list
   end
   return read_ranks
end

--- Returns true if a filter chooses a recording.
-- @tparam table from of `origin.of`
-- @tparam table filter texts by the names of `origin.names`: values separated by commas, of ranks also ranges (0-3)
-- @treturn boolean
-- @raise on invalid ranks
-- @usage require("pfm.recording.origin").matches({ rank = 2 }, { rank = "0-3" }) --> true
function origin.matches(from, filter)
   local ranks = filter.rank ~= nil and ranks_in(tostring(filter.rank))
   if ranks and not (from.rank and name_list.in_ranges(ranks, from.rank)) then return false end
   for _, name in ipairs(origin.names) do
      local given = name ~= "rank" and filter[name] ~= nil and name_list.read(tostring(filter[name]))
      if given and not tables.find(given, from[name]) then return false end
   end
   return true
end

--- Returns true if a filter chooses among recordings.
-- @tparam[opt] table filter
-- @treturn boolean
-- @usage require("pfm.recording.origin").chooses { rank = 3 } --> true
function origin.chooses(filter)
   for _, name in ipairs(origin.names) do
      if filter and filter[name] ~= nil then return true end
   end
   return false
end

return origin
