-- SPDX-License-Identifier: MIT
--- Regions of a program, which its threads measure themselves (perfmon/regions.h): the events to
-- count, and the results. No other context can monitor these threads: a thread has only one.
-- @module pfm.measure.regions

local contexts = require "pfm.measure.contexts"
local events = require "pfm.events"
local host = require "pfm.measure.host"
local files = require "lpfm.regions"
local measure = require "pfm.measure"
local render = require "pfm.render"
local statistics = require "pfm.statistics"
local expect = require "pfm.util.expect"
local tables = require "pfm.util.tables"

local regions = {}

local MOST = 16 -- counters

-- --- the plan ------------------------------------------------------------------------------------

local function decimal(value)
   return type(value) == "number" and ("%.0f"):format(value) or tostring(value)
end

local function plan_of(list)
   local lines = {}
   for _, pmc in ipairs(events.pmcs(list)) do lines[#lines + 1] = ("pmc %d %s"):format(pmc.num, decimal(pmc.value)) end
   for _, e in ipairs(list) do lines[#lines + 1] = ("pmd %d"):format(e.pmd) end
   return table.concat(lines, "\n") .. "\n"
end

-- Returns the events that can be counted. All have to fit one event set, since a region may be too
-- short for sets to take turns.
local function countable(list)
   expect.value(events.assign(list))
   local good = contexts.usable(list)
   if #good == 0 then error(contexts.none_usable(list), 0) end
   if #good > MOST then error(("regions: %d events are too many; at most %d"):format(#good, MOST), 0) end
   return good
end

--- Prepares measurements.
-- @param names events, as for `pfm.events.read`, or what it returns
-- @treturn table `path`, of the file for threads' results; `list`, all events; `good`, those that
-- can be counted
-- @usage
-- local self = require("pfm.measure.regions").prepare "page-faults"
-- os.remove(self.path)
function regions.prepare(names)
   local list = expect.value(events.read(names))
   local self = { list = list, good = countable(list) }
   self.path = assert(files.create(plan_of(self.good)))
   return self
end

-- --- results -------------------------------------------------------------------------------------

local function number(value)
   return type(value) == "number" and value or value:tonumber()
end

local function row_of(event, value)
   local state = not value and (event.reason and "not supported" or "not counted") or nil
   return { event = event.name, base = event.base, unit = event.unit, value = value, state = state,
      reason = event.reason }
end

-- Returns rows in the order of the events; `counts` are in the order of those that can be counted.
local function rows_of(self, counts)
   local rows, at = {}, {}
   for i, e in ipairs(self.good) do at[e] = i end
   for i, e in ipairs(self.list) do rows[i] = row_of(e, at[e] and counts[at[e]]) end
   return rows
end

local function part_of(self, block, record)
   return { pid = block.pid, tid = block.tid, comm = block.comm, calls = record.calls, subjects = 1,
      elapsed = record.ns / 1e9, ran = record.ns, counts = record.counts, events = rows_of(self, record.counts) }
end

-- Returns the largest part as a multiple of the mean; nil if there is nothing to compare.
local function imbalance(values)
   if #values < 2 then return nil end
   local most, mean = 0, statistics.mean(values)
   for _, v in ipairs(values) do most = math.max(most, v) end
   return mean > 0 and most / mean or nil
end

local function of_parts(region, get)
   return tables.map(region.per, get)
end

-- Adds up a region's parts. A thread that called exec has several parts, which stay apart in `per`.
local function add_up(self, region)
   local sums = {}
   region.calls, region.ran, region.elapsed, region.subjects = 0, 0, 0, #region.per
   for i = 1, #self.good do sums[i] = 0 end
   for _, part in ipairs(region.per) do
      region.calls, region.ran = region.calls + part.calls, region.ran + part.ran
      region.elapsed = math.max(region.elapsed, part.elapsed)
      for i in ipairs(self.good) do sums[i] = sums[i] + part.counts[i] end
      part.counts = nil
   end
   region.events = rows_of(self, sums)
   region.imbalance = imbalance(of_parts(region, function(part) return part.ran end))
   for i, row in ipairs(region.events) do
      row.imbalance = row.value and imbalance(of_parts(region, function(part) return number(part.events[i].value) end))
   end
end

local function region_of(found, name)
   local region = found[name] or tables.enter(found, name, { name = name, per = {}, mistakes = {} }, found)
   return region
end

local function note(region, kind, n, block)
   if n == 0 then return end
   local m = region.mistakes[kind] or { n = 0, threads = 0, tid = block.tid, comm = block.comm }
   m.n, m.threads = m.n + n, m.threads + 1
   region.mistakes[kind] = m
end

local KINDS = { "unfinished", "inside", "crossed", "strays", "forked" }

local function collect(self, blocks)
   local found = {}
   for _, block in ipairs(blocks) do
      for _, record in ipairs(block.regions) do
         local region = region_of(found, record.name)
         if record.calls > 0 then table.insert(region.per, part_of(self, block, record)) end
         for _, kind in ipairs(KINDS) do note(region, kind, record[kind], block) end
      end
   end
   for _, region in ipairs(found) do add_up(self, region) end
   return found
end

-- --- messages about misplaced marks --------------------------------------------------------------

local function where(m)
   if m.threads > 1 then return render.plural(m.threads, "thread") end
   return ("thread %d (%s)"):format(m.tid, render.printable(m.comm))
end

local function says(text)
   return function(name, m) return text:gsub("%$(%w+)", { name = name, calls = render.plural(m.n, "call"),
      stops = render.plural(m.n, "stop"), where = where(m) }) end
end

local words = {
   unfinished = says "region '$name' was not left when $where ended: $calls counted up to there",
   inside = says("region '$name' was never left in $where, which a signal, exec, _exit or another thread's exit ended, "
      .. "or which still runs: the counts of $calls are missing"),
   crossed = says "region '$name' was left in $where while one that began inside it was not: $calls, counted rightly",
   strays = says "region '$name': $stops without a start in $where: nothing is counted there",
   forked = says "region '$name': $stops in $where, of a child forked within it: not counted there",
}

local function mistakes_of(found)
   local lines = {}
   for _, region in ipairs(found) do
      for _, kind in ipairs(KINDS) do
         local m = region.mistakes[kind]
         if m then lines[#lines + 1] = words[kind](render.printable(region.name), m) end
      end
      region.mistakes = nil
   end
   return lines
end

local function losses_of(file)
   local lines = {}
   if file.lost > 0 then
      lines[1] = ("%s could not be measured, or not wholly: %s"):format(render.plural(file.lost, "thread"),
         render.printable(file.why))
   end
   for _, block in ipairs(file.blocks) do
      if block.why ~= "" then
         lines[#lines + 1] = ("thread %d (%s): its counters could be read no more: %s"):format(block.tid,
            render.printable(block.comm), render.printable(block.why))
      end
   end
   return lines
end

local function with_calls(found)
   return tables.filter(found, function(region) return region.calls > 0 end)
end

--- Returns what has been measured so far.
-- @tparam table self of `regions.prepare`
-- @treturn table `regions`, in the order in which they were entered first: of `name`, `calls`,
-- `elapsed` (s, of the thread that was there longest), `ran` (ns, of all threads), `subjects` (how
-- many), `imbalance` (the longest time by the mean, or nil), `events` (as of `count.run`, with
-- `imbalance`), and `per`, the same of each thread, with `pid`, `tid`, `comm`; `problems`, in
-- words: marks that do not fit together, and threads that were not measured
-- @usage
-- local self = require("pfm.measure.regions").prepare "page-faults"
-- print(#require("pfm.measure.regions").results(self).regions)
-- os.remove(self.path)
function regions.results(self)
   local file = assert(files.read(self.path))
   local found = collect(self, file.blocks)
   local problems = mistakes_of(found)
   for _, line in ipairs(losses_of(file)) do problems[#problems + 1] = line end
   local out = with_calls(found)
   if #file.blocks == 0 and file.lost == 0 then
      problems[1] = "no region was entered: a program marks them by perfmon/regions.h and is linked with -lpfmregions"
   end
   return { regions = out, problems = problems }
end

-- --- a command -----------------------------------------------------------------------------------

local function carry_out(self, spec)
   local target = { command = spec.command, seconds = spec.seconds, outlive = spec.outlive,
      itself = true, spawn = { env = { LPFM_REGIONS = self.path, LPFM_MACHINE = host.machine().name } } }
   local outcome = measure.run(target, {})
   for k, v in pairs(regions.results(self)) do outcome[k] = v end
   outcome.subjects = nil
   return outcome
end

--- Runs a command; its threads measure their regions.
-- @tparam table spec `command`, `events` (as for `regions.prepare`), optional `seconds` and
-- `outlive` as for `measure.run`
-- @treturn table of `measure.run` and of `regions.results`
-- @usage
-- print(require("pfm.measure.regions").run({ command = { "true" }, events = "page-faults" }).problems[1])
function regions.run(spec)
   measure.check(spec)
   local self = regions.prepare(spec.events)
   local ok, outcome = pcall(carry_out, self, spec)
   os.remove(self.path)
   if not ok then error(outcome, 0) end
   outcome.list = self.list
   return outcome
end

return regions
