-- SPDX-License-Identifier: MIT
--- Where a recording comes from: which rank of which job, on which host; and choosing recordings by
-- that.
-- @module pfm.recording.origin

local name_list = require "pfm.util.name_list"
local render = require "pfm.render"

local origin = {}

--- The names by which a filter chooses recordings.
origin.names = { "rank", "host", "node", "job", "step" }

--- The columns that show where a sample comes from, in order.
origin.columns = { "rank", "host", "node", "job", "step", "recording" }

--- Says where a recording comes from.
-- @tparam table self of `recording.open`
-- @treturn table `rank` (a number), `host`, `node` (as the launcher calls it, else the host),
-- `job`, `step`: nil where they are not known; `recording`: in a word, the rank, or the host and
-- when, or the name of the file
-- @usage require("pfm.recording.origin").of(assert(recording.open "lpfm.data")).host
function origin.of(self)
   local job, host = self.head.job or {}, (self.head.machine or {}).host
   local out = { rank = job.rank, host = host, node = job.host or host, job = job.id, step = job.step }
   local when = self.head.time and os.date("%Y-%m-%d %H:%M:%S", self.head.time) or "?"
   out.recording = self.given or out.rank and "rank " .. render.number(out.rank) or ("%s %s"):format(host or "?", when)
   for name, value in pairs(out) do out[name] = name == "rank" and value or render.printable(tostring(value)) end
   return out
end

--- Makes the tests of a filter that choose recordings.
-- @tparam[opt] table filter texts by the names of `origin.names`: values separated by commas, of
-- ranks also ranges
-- @treturn {table,...} of `name`, `title` and `list`, for `origin.matches`
-- @raise on invalid ranks
-- @usage #require("pfm.recording.origin").tests { rank = "0-3", symbol = "main" } --> 1
function origin.tests(filter)
   local out = {}
   for _, name in ipairs(origin.names) do
      local given = (filter or {})[name]
      if given ~= nil then
         local list, why = name_list.test(tostring(given), name == "rank" and "ranks" or nil)
         if not list then error("rank: " .. why, 0) end
         out[#out + 1] = { name = name, title = name, list = list }
      end
   end
   return out
end

--- Returns true if tests choose a recording.
-- @tparam {table,...} tests of `origin.tests`
-- @tparam table from of `origin.of`
-- @treturn boolean
-- @usage local origin = require "pfm.recording.origin"
-- print(origin.matches(origin.tests { rank = "0-3" }, { rank = 2 })) --> true
function origin.matches(tests, from)
   local chosen = true
   for _, test in ipairs(tests) do
      local value = tostring(from[test.name] or "-")
      chosen = name_list.has(test.list, 1, value, value) and chosen
   end
   return chosen
end

return origin
