-- SPDX-License-Identifier: MIT
--- The phases of a run.
-- @module pfm.analyze.phases

local columns = require "pfm.analyze.columns"
local fail = require("pfm.util.expect").fail
local keys = require "pfm.analyze.keys"
local render = require "pfm.render"
local statistics = require "pfm.statistics"
local tabulate = require "pfm.analyze.tabulate"

local phases = {}

local ALPHA = 0.05 -- default probability that a border by chance is reported

-- --- phases --------------------------------------------------------------------------------------

local SLICES = 60 -- default number of slices of a run
local MOST = 10000 -- most slices: the time that the search takes grows with their square

-- Returns the chosen time, in ns since the first sample.
local function chosen_time(self, filter)
   local first, last = columns.span(self)
   if not (filter and (filter.from or filter.to)) then return 0, last - first end
   local during = columns.during(self, filter.from, filter.to)
   return math.max(during[2] - first, 0), math.min(during[3], last) - first
end

-- Returns samples by kind, a table for each slice of time, and the slices' width in ns.
local function slice_counts(self, by, filter, options)
   local first, last = columns.span(self)
   local width = options.slice or math.max(last - first + 1, 1) / (options.slices or SLICES) / 1e9
   local step = math.max(1, math.ceil(width * 1e9 - 1e-3))
   local n = math.floor((last - first) / step) + 1
   if n > MOST then
      fail("the run has %s slices, but phases are found in %s at most", render.number(n), render.number(MOST))
   end
   local result = tabulate.by(self, "time," .. table.concat(keys.read(by), ","),
      { slice = step / 1e9, filter = filter })
   local slices = {}
   for i = 1, n do slices[i] = {} end
   for _, row in ipairs(result.rows) do
      local i = math.min(math.floor(tonumber(row.time) * 1e9 / step + 0.5) + 1, #slices)
      local kind = table.concat(row.cells, ", ", 2)
      slices[i][kind] = (slices[i][kind] or 0) + row.samples
   end
   return slices, step
end

local function merged(a, b)
   local out = {}
   for kind, n in pairs(a) do out[kind] = n end
   for kind, n in pairs(b) do out[kind] = (out[kind] or 0) + n end
   return out
end

local function alike(a, b)
   return statistics.chi2(statistics.likelihood(a.counts, b.counts))
end

-- Returns which part is most like the next, and the probability of their difference by chance.
local function closest(parts)
   local best, most = nil, -1
   for i = 1, #parts - 1 do
      parts[i].next_p = parts[i].next_p or alike(parts[i], parts[i + 1])
      if parts[i].next_p > most then best, most = i, parts[i].next_p end
   end
   return best, most
end

local function join(parts, i)
   parts[i] = { from = parts[i].from, to = parts[i + 1].to, counts = merged(parts[i].counts, parts[i + 1].counts) }
   table.remove(parts, i + 1)
   if i > 1 then parts[i - 1].next_p = nil end
end

local function describe_phase(part, step, from, to)
   local phase = { from = math.max((part.from - 1) * step, from) / 1e9, to = math.min(part.to * step, to) / 1e9,
      samples = 0, rows = {} }
   for kind, n in pairs(part.counts) do
      phase.samples = phase.samples + n
      phase.rows[#phase.rows + 1] = { kind = kind, samples = n }
   end
   for _, row in ipairs(phase.rows) do row.percent = row.samples / phase.samples * 100 end
   table.sort(phase.rows, function(a, b)
      if a.samples ~= b.samples then return a.samples > b.samples end
      return a.kind < b.kind
   end)
   return phase
end

--- See `pfm.analyze.phases`.
function phases.find(self, by, options)
   columns.check(self)
   options = columns.options(options)
   local filter, event = columns.of_one_event(self, options.filter)
   local slices, step = slice_counts(self, by or "symbol", filter, options)
   local parts, out = {}, {}
   local from, to = chosen_time(self, filter)
   for i = math.floor(from / step) + 1, math.min(math.floor(to / step) + 1, #slices) do
      parts[#parts + 1] = { from = i, to = i, counts = slices[i] }
   end
   local limit = (options.alpha or ALPHA) / math.max(#parts - 1, 1) -- as many tests as borders
   while #parts > 1 do
      local i, p = closest(parts)
      if p < limit then break end
      join(parts, i)
   end
   for i, part in ipairs(parts) do
      out[i] = describe_phase(part, step, from, to)
      out[i].event = event
   end
   return out
end

return phases
