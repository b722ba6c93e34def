-- SPDX-License-Identifier: MIT
--- Profiles as tables: where the samples of a recording lie, how two runs differ, what phases a run
-- has, how the values in its samples are distributed and go together. Plain tables in and out; the
-- samples themselves are counted in C.
--
--    local s = assert(recording.open "lpfm.data")
--    for _, row in ipairs(analyze.by(s, "comm,symbol").rows) do print(row.percent, row.symbol) end
--
-- Recordings come from `recording.open`, or from `recording.of` for samples that were never in a
-- file.
-- @module pfm.analyze

local difference = require "pfm.analyze.difference"
local phases = require "pfm.analyze.phases"
local columns = require "pfm.analyze.columns"
local keys = require "pfm.analyze.keys"
local fail = require("pfm.util.expect").fail
local origin = require "pfm.recording.origin"
local tables = require "pfm.util.tables"
local tabulate = require "pfm.analyze.tabulate"
local values = require "pfm.analyze.values"
local expect = require "pfm.util.expect"

local analyze = {}

--- Sorts the samples of a recording.
-- @param self of `recording.open` or `recording.of`
-- @tparam[opt="symbol"] string by keys, separated by commas, see `analyze.keys`
-- @tparam[opt] table options
-- @tparam[opt] table options.filter the samples to take, by key: texts, several values separated by
-- commas; for several recordings also `rank` (also 0-3), `host`, `node`, `job`, `step`; and `from`,
-- `to` (seconds since the first sample, or "10%")
-- @number[opt=1] options.slice seconds of a slice of the key "time", by which rows are then ordered
-- @bool[opt] options.children with call stacks, count a sample in each of its callers, too: rows
-- get `total` (`samples`, `events`, `percent`), with all callees, by which they are then ordered
-- @tparam[opt] {string,...} options.sums events of `record --with`: each row gets `sums`, how much
-- they grew; not a number where samples are of a recording without them
-- @treturn table `rows` of `cells`, each cell also by its key's name, `samples`, `events`
-- (that they stand for), `percent` (of the events of all samples of its event; where rows are by
-- time and another key, of those in its slice), `pmd`, `event`, `sums`; `titles`, of the keys;
-- `totals` (by PMD) and `events` (by name), each with `samples`, `events` and `sums` of all
-- samples; `objects`, how many samples lie in each; `missing`, the objects without symbols, each
-- with `samples` and `why`; `cut`, how many samples are missing from damaged blocks; `unmet`, of
-- the filters with values that no sample had, `name`, `none` (true: it had none at all) and `text`,
-- which says it and what there is
-- @raise on unknown keys and filters
-- @usage analyze.by(assert(recording.open "lpfm.data"), "comm,symbol", { filter = { cpu = "0,1" } }).rows[1]
-- @function by
analyze.by = tabulate.by

--- Visits the samples that pass the filter, with their functions; equal samples are visited once.
-- @param self of `recording.open` or `recording.of`, with call stacks
-- @string by a key that is a location: "symbol", "object", "line", "address"
-- @tparam table options `filter` of `analyze.by`
-- @tparam function visit `(s, names)`: `s.samples`, `s.events`, `s.event`; the key of each frame,
-- innermost first
-- @raise on other keys
-- @usage local function visit(s, names) print(s.samples, #names) end
-- local s = assert(recording.open "lpfm.data")
-- if s:has_stacks() then analyze.stacks(s, "symbol", {}, visit) end
-- @function stacks
analyze.stacks = tabulate.stacks

--- Lists the names of all keys.
-- @tparam[opt] boolean figures only those that `pfm.plot` takes
-- @treturn {string,...} sorted
-- @usage analyze.keys()[1]
-- @function keys
analyze.keys = keys.names

--- Returns a key for samples of `pfm.recording.samples`.
-- @string name of `analyze.keys`, or as perf calls it
-- @treturn ?table `title`; `get`, a function that returns the key's value of a sample; `label`, the
-- format of that value in figures; nil if there is no such key
-- @usage print(analyze.key("sym").title)
-- @function key
analyze.key = keys.of

--- Reads the names of keys.
-- @param by a text with commas, or a list of names, as perf spells them, too
-- @tparam[opt] {string,...} known the keys that are allowed, by default all
-- @treturn {string,...} their names
-- @raise on an unknown name
-- @usage print(analyze.read_keys("dso,sym")[1]) --> object
-- @function read_keys
analyze.read_keys = keys.read

--- Makes a test for samples of `pfm.recording.samples`.
-- @param self the recording
-- @tparam table wanted as `options.filter` of `analyze.by`
-- @treturn function `(sample)`: does it pass?
-- @treturn function `()` after all samples: `unmet` of `analyze.by`
-- @raise on times and names that are not valid
-- @usage print(analyze.test(assert(recording.open "lpfm.data"), { cpu = "0,1" }) ~= nil)
function analyze.test(self, wanted)
   local tests, choosing, during = keys.tests(wanted), origin.tests(wanted), nil
   if wanted.from or wanted.to then during = columns.during(self, wanted.from, wanted.to) end
   local function passes(s)
      if during then
         -- rounded, since `time` is not exact: else the first or last sample could fall outside
         local ns = math.floor(s.time * 1e9 + 0.5)
         if ns < during[2] or ns > during[3] then return false end
      end
      return origin.matches(choosing, s) and keys.pass(tests, s)
   end
   return passes, function() return keys.unmet(tables.join(choosing, tests), wanted) end
end

--- Returns the times of a recording's first and last samples; for several recordings, those of all.
-- @param self
-- @treturn number the first sample's time, ns of the clock that the machine gives samples; 0
-- without samples
-- @treturn number the last sample's time, likewise
-- @usage analyze.span(assert(recording.open "lpfm.data"))
-- @function span
analyze.span = columns.span

--- Finds how two runs differ.
-- The probability `p` of a row says how often chance alone would show such a difference, or a
-- greater one, in some row (Holm's adjustment). Single runs show the chance of sampling only, not
-- how runs vary by themselves. If several runs of each are given, their means are compared by
-- Welch's test.
-- @param old a recording, or a list with one for each run; each part of a merged one is a run
-- @param new the same
-- @tparam[opt="symbol"] string by as for `analyze.by`
-- @tparam[opt] table options as for `analyze.by`, and:
-- @bool[opt] options.absolute compare events instead of shares
-- @number[opt=0.05] options.alpha a difference is significant when chance shows it less often
-- @treturn table `rows` of `cells`, each cell also by its key's name, `event`, `old` and `new`
-- (`samples`, `percent`, `events` of a run), `percent` (points), `change` and `ratio` of the
-- events, `p`, `raw_p`, `significant`; the greatest difference first; `titles`; `unsampled`, pairs
-- of an `event` and a `run`, with `why`: it is "unsampled" there, or shares are compared and there
-- are "none": such an event has no rows; `unmet` of the runs as of `analyze.by`, each with its
-- `run`
-- @usage analyze.diff(recording.open "lpfm.data", recording.open "lpfm.data").rows[1].symbol
-- @function diff
analyze.diff = difference.find

--- Finds the phases of a run: stretches of time in which it did the same things. Slices of time are
-- merged with the most similar neighbour, until chance no longer explains how neighbours differ.
-- @param self of `recording.open` or `recording.of`
-- @tparam[opt="symbol"] string by what counts as the same thing, as for `analyze.by`
-- @tparam[opt] table options
-- @int[opt=60] options.slices number of slices
-- @number[opt] options.slice seconds of a slice, instead of their number
-- @number[opt=0.05] options.alpha neighbours differ when chance shows it less often
-- @tparam[opt] table options.filter as of `analyze.by`, of one event: by default the first that has
-- samples
-- @treturn table list of `event` (nil: the only one), `from`, `to` (seconds since the first
-- sample), `samples`, `rows` (`kind`, `samples`, `percent`), the most frequent first
-- @usage analyze.phases(assert(recording.open "lpfm.data"), "symbol", { slices = 20 })[1].rows[1].kind
-- @function phases
analyze.phases = phases.find

--- Finds how values in the samples are distributed: a latency register, what a counter grew by from
-- sample to sample, the time between samples.
-- @param self of `recording.open` or `recording.of`
-- @param what a PMD's number or an event of `record --with`; "interval", ns between the samples of
-- a thread; "period", the periods of randomized sampling
-- @tparam[opt] table options
-- @bool[opt] options.raw the register's value as it is, not what it grew by
-- @number[opt] options.width bins of this width instead of powers of two
-- @number[opt] options.from where the first bin begins
-- @tparam[opt] table options.filter `event` (by default, of "interval" and "period", the first that
-- has samples), `tid`, `pid`, `cpu`, `set`, `from`, `to`
-- @treturn table `event` (nil: all of them), `bins` of `from`, `to` (exclusive) and `count`; `n`,
-- `mean`, `deviation`, `min`, `max`, `median`, `p90`, `p99` (to 1.6 %, or the width of a bin)
-- @usage analyze.histogram(assert(recording.open "lpfm.data"), "interval").median
-- @function histogram
analyze.histogram = values.histogram

--- Finds how two values correlate over the samples.
-- @param self of `recording.open` or `recording.of`
-- @param x as `what` of `analyze.histogram`
-- @param y the same
-- @tparam[opt] table options
-- @bool[opt] options.raw the registers' values as they are
-- @tparam[opt] table options.filter as of `analyze.histogram`
-- @treturn table `event`, `n`, `r` (Pearson's, nil where one of them is constant), `low` and `high`
-- (95 % confidence, nil for fewer than 4), `p` (of no correlation), `slope` and `intercept` of the
-- line through them, `mean_x`, `mean_y`
-- @usage analyze.correlate(assert(recording.open "lpfm.data"), "interval", "period").r
-- @function correlate
analyze.correlate = values.correlate

-- --- derived metrics -----------------------------------------------------------------------------

local function identifier(name)
   return (name:gsub("[^%w_]", "_"))
end

local function compile(name, formula)
   if type(formula) == "function" then return formula end
   local chunk, err = loadstring("return " .. formula, "=" .. name)
   if not chunk then fail("the formula of %s: %s", name, (err:gsub("^[^:]*:%d+: ", ""))) end
   return function(counts)
      local used = setmetatable({}, { __index = function(_, variable)
         if counts[variable] == nil then fail("the formula of %s: there is no count '%s'", name, variable) end
         return counts[variable]
      end })
      return setfenv(chunk, used)()
   end
end

local function finite(x)
   return type(x) == "number" and x == x and x ~= math.huge and x ~= -math.huge
end

-- Returns the count 0 for each name: a row that has no samples of an event has this count.
local function no_counts(self, result)
   local zero = { samples = 0 }
   for _, e in ipairs(self.head.events) do zero[identifier(e.name)] = 0 end
   for _, total in pairs(result.totals) do
      for name in pairs(total.sums) do zero[identifier(name)] = 0 end
   end
   return zero
end

local function counts_by_cells(self, result)
   local zero, list, by_id = no_counts(self, result), {}, {}
   for _, row in ipairs(result.rows) do
      local id = table.concat(row.cells, "\0")
      local out = by_id[id]
      if not out then
         out = { cells = row.cells, counts = {} }
         for name, n in pairs(zero) do out.counts[name] = n end
         for _, key in ipairs(result.keys) do out[key] = row[key] end
         by_id[id], list[#list + 1] = out, out
      end
      local event = identifier(row.event)
      out.counts[event] = out.counts[event] + row.events
      out.counts.samples = out.counts.samples + row.samples
      for name, sum in pairs(row.sums) do
         if identifier(name) ~= event then out.counts[identifier(name)] = out.counts[identifier(name)] + sum end
      end
   end
   return list
end

--- Computes metrics from the counts of each row: events sampled, and those of `sums`.
-- @param self the recording
-- @tparam table result of `analyze.by`, not by event
-- @tparam table formulas by name: a text over the events' names, "-" and ":" in them written "_",
-- as in "page_faults / samples"; or a function of a table of counts
-- @treturn table list of `cells`, each cell also by its key's name, `counts`, `metrics` by name
-- (nil where a division by zero leaves none); in the result's order
-- @usage local s = assert(recording.open "lpfm.data")
-- print(analyze.derive(s, analyze.by(s, "symbol"), { ms = "cpu_clock / 1e6" })[1].metrics.ms)
function analyze.derive(self, result, formulas)
   local compute = {}
   for name, formula in pairs(formulas) do compute[name] = compile(name, formula) end
   local list = counts_by_cells(self, result)
   for _, row in ipairs(list) do
      row.metrics = {}
      for name, fn in pairs(compute) do
         local value = fn(row.counts)
         row.metrics[name] = finite(value) and value or nil
      end
   end
   return list
end

expect.signatures("analyze", analyze, {
   read_keys = "by: string|table?; known: [string]?",
   test = "self: {head}; wanted: table",
   stacks = "self: any?; by: any?; options: any?; visit: function",
   derive = "self: {head}; result: {rows}; formulas: table",
})

return analyze
