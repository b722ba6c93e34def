-- SPDX-License-Identifier: MIT
--- Histograms of a property of overflows, counted as they happen: no sample is made or copied.
-- @module pfm.histogram

local lpfm = require "lpfm"
local contexts = require "pfm.measure.contexts"
local events = require "pfm.events"
local expect = require "pfm.util.expect"
local tables = require "pfm.util.tables"
local measure = require "pfm.measure"
local profile = require "pfm.profile"
local program = require "pfm.program"
local render = require "pfm.render"

local histogram = {}

--- The names of a histogram's fields.
histogram.fields = tables.join(measure.fields, { "bucket", "where", "buckets", "event", "period" })

-- --- how contexts are programmed -----------------------------------------------------------------

local function one_event(spec)
   local list = expect.value(events.parse(spec.event or "cpu-clock", true))
   if #list ~= 1 then error("a histogram is of one event, and there are " .. #list, 0) end
   return list[1]
end

-- Chooses the event that overflows, and those that the expressions name.
local function choose_events(self, spec)
   self.event = one_event(spec)
   if spec.period and (self.event.period or self.event.frequency) then
      error(("'%s' has a period or frequency of its own"):format(self.event.name), 0)
   end
   local period, rate = profile.rate(self.event, spec)
   self.period = period or profile.period_for(self.event, rate)
   local all = { self.event, unpack(self.program:parse_events()) }
   expect.value(events.assign(all))
   contexts.usable(all)
   for _, e in ipairs(all) do
      if e.reason then error(("cannot count '%s': %s"):format(e.name, e.reason), 0) end
   end
   return all
end

-- Makes the contexts' registers: PMDs that the expressions name count from overflow to overflow.
local function make_contexts(self, all)
   local extra, pmds = {}, {}
   for i, name in ipairs(self.program.events) do
      extra[i], pmds[name] = all[i + 1].pmd, all[i + 1].pmd
   end
   table.sort(extra)
   local list = { { num = self.event.pmd, value = -self.period, short_reset = -self.period, long_reset = -self.period,
      smpl_pmds = extra, reset_pmds = extra } }
   for _, num in ipairs(extra) do list[#list + 1] = { num = num, value = 0 } end
   self.options = { smpl_pmds = extra, pmds = pmds }
   self.context = { pmcs = events.pmcs(all), pmds = list }
end

-- Programs a context, with the addresses of the process's objects if the expressions need them.
local function context_of(self, subject)
   self.options.pid = subject.pid
   local create = self.program:create(self.options)
   create.flags = self.flags
   return { pmcs = self.context.pmcs, pmds = self.context.pmds, create = create }
end

-- Has contexts inherited, if the machine can inherit them with this program.
local function make_inheriting(self, made)
   local spec = self.spec
   if not spec.inherit then return end
   for _, flags in ipairs(contexts.inheriting(spec)) do
      local ok, why = contexts.inherit(made, flags)
      if ok then
         self.flags, spec.process = flags, flags[2] == "PROCESS"
         return
      end
      self.alone = self.alone or why
   end
   spec.inherit = nil
end

--- Prepares a histogram; `histogram.run` carries it out.
-- @tparam table spec a target, as for `measure.run`, and:
-- @bool[opt] spec.inherit as for `profile.prepare`
-- @string spec.bucket the expression (`pfm.program`) that gives the bucket's number
-- @string[opt] spec.where a condition: what does not meet it is not counted
-- @int[opt] spec.buckets number of buckets
-- @string[opt="cpu-clock"] spec.event what overflows
-- @int[opt] spec.period events (clocks: ns) from overflow to overflow
-- @treturn table with `event`, `period`, `program`
-- @usage print(require("pfm.histogram").prepare({ command = { "true" }, bucket = "cpu" }).period) --> 1000000
function histogram.prepare(spec)
   expect.fields("histogram.run", spec, histogram.fields)
   measure.check(spec)
   spec = profile.whole(spec)
   local self = { spec = spec, sums = { runs = 0, outside = 0, buckets = {} }, lost = 0 }
   self.program = program.new { bucket = spec.bucket, where = spec.where, buckets = spec.buckets }
   if self.program:needs_process() and not spec.tids then
      error("objects have addresses once their process runs: expected tids", 0)
   end
   make_contexts(self, choose_events(self, spec))
   make_inheriting(self, context_of(self, { pid = spec.tids and spec.tids[1] }))
   return self
end

-- --- the measurement -----------------------------------------------------------------------------

local function ended(self, subject)
   subject.ctx:stop()
   program.add(self.sums, assert(subject.ctx:verdicts()))
   local info = (subject.ctx:getinfo_evtsets { 0 } or {})[1] or {}
   self.lost = self.lost + (info.lost or 0) - (info.late or 0)
end

--- Returns the handlers that `pfm.measure` calls for a histogram.
-- @tparam table self of `histogram.prepare`
-- @treturn table
-- @usage
-- local histogram = require "pfm.histogram"
-- print(histogram.handlers(histogram.prepare { command = { "true" }, bucket = "cpu" }).attach)
function histogram.handlers(self)
   return {
      attach = function(subject) return contexts.start(subject, context_of(self, subject)) end,
      ended = function(subject) ended(self, subject) end,
      message = function() end,
   }
end

-- Returns the range of values that a bucket stands for, in words.
local function label_of(self, n)
   local whole = self.spec.bucket:match("^%s*log2%s*(%b())%s*$")
   if not whole or n > 52 then return render.number(n) end
   if n == 0 then return "0 - 1" end
   return ("%s - %s"):format(render.number(2 ^ n), render.number(2 ^ (n + 1) - 1))
end

--- Makes the result from that of `pfm.measure`.
-- @tparam table self of `histogram.prepare`
-- @tparam table outcome of `measure.run`
-- @treturn table the outcome, completed as `histogram.run` says
-- @usage
-- local histogram, measure = require "pfm.histogram", require "pfm.measure"
-- local h = histogram.prepare { command = { "true" }, bucket = "cpu", event = "page-faults" }
-- print(histogram.complete(h, measure.run(h.spec, histogram.handlers(h))).counted > 0)
function histogram.complete(self, outcome)
   outcome.alone = self.alone
   outcome.expression, outcome.where = self.spec.bucket, self.spec.where
   outcome.event, outcome.period, outcome.unit = self.event.name, self.period, self.event.unit
   outcome.overflows, outcome.outside, outcome.lost = self.sums.runs, self.sums.outside, self.lost
   outcome.buckets, outcome.counted = {}, 0
   for n, times in pairs(self.sums.buckets) do
      outcome.counted = outcome.counted + times
      outcome.buckets[#outcome.buckets + 1] = { bucket = n, label = label_of(self, n), count = times }
   end
   table.sort(outcome.buckets, function(a, b) return a.bucket < b.bucket end)
   return outcome
end

--- Counts a histogram.
-- @tparam table spec as for `histogram.prepare`
-- @treturn table of `measure.run`, and `overflows`, of these `counted` and `outside` (the value has
-- no bucket), the others did not meet the condition; `lost`; `buckets`, a list ascending of
-- `bucket`, `label`, `count`; `expression`, `where`, `event`, `period`
-- @usage
-- local result = require("pfm.histogram").run { command = { "true" }, bucket = "cpu", event = "page-faults" }
-- for _, row in ipairs(result.buckets) do print(row.label, row.count) end
function histogram.run(spec)
   local self = histogram.prepare(spec)
   return histogram.complete(self, measure.run(self.spec, histogram.handlers(self)))
end

--- Most buckets that a histogram has.
histogram.MOST = lpfm.const.PFM_PROG_SMPL_MAX_BUCKETS

expect.signatures("histogram", histogram, {
   complete = "self: {spec}; outcome: table",
})

return histogram
