-- SPDX-License-Identifier: MIT
--- Counts events over a command, threads or CPUs.
-- @module pfm.count

local lpfm = require "lpfm"
local statistics = require "pfm.statistics"
local events = require "pfm.events"
local measure = require "pfm.measure"
local multiplex = require "pfm.measure.multiplex"
local plan = require "pfm.measure.plan"
local contexts = require "pfm.measure.contexts"
local stages = require "pfm.measure.stages"
local trigger = require "pfm.measure.trigger"
local expect = require "pfm.util.expect"
local tables = require "pfm.util.tables"
local text_file = require "pfm.util.text_file"
local host = require "pfm.measure.host"
local ledger = require "pfm.measure.ledger"

local count = {}

local HINT_SHARE, HINT_NS = 0.03, 2e6 -- uncounted CPU time is hinted at if it is more than both
local FEW = 8                         -- with more contexts, the switching interval does not adapt
local FIRST_NAMES, LAST_NAMES = 0.001, 0.1 -- s between looks at the threads' names
local LEDGER = 0.02                   -- s between looks at what ended threads have counted

-- --- one measurement -----------------------------------------------------------------------------

local counting = {}
counting.__index = counting

local function with_task_clock(list)
   local _, given = tables.find(list, "task-clock", "base")
   if given then return list, given end
   local hidden = assert(events.read "task-clock")[1]
   hidden.hidden = true
   local out = { unpack(list) }
   out[#out + 1] = hidden
   return out, hidden
end

-- Adds the event that ends the measurement when it has occurred n times.
local function with_limit(self, text)
   local its, err = trigger.read(text)
   if not its then error("until: " .. err, 0) end
   for _, e in ipairs(self.all) do
      if e.base == its.event.base and e.plm == its.event.plm then its.event = e end
   end
   if its.event ~= self.clock then self.all = { its.event, unpack(self.all) } end
   for i = 2, #self.all do
      if self.all[i] == its.event then table.remove(self.all, i) end
   end
   return its
end

local function set_limit(self, its)
   local terms = self.plan.terms[its.event]
   if not terms then error(("until: '%s': %s"):format(its.text, its.event.reason or "it cannot be counted"), 0) end
   if #self.plan.sets > 1 then error(("until: '%s' does not fit one set with the events: "):format(its.text)
      .. (self.plan.why or "there are too many"), 0) end
   if #terms > 1 then error(("until: '%s' stands for several events"):format(its.text), 0) end
   self.plan.limit = { num = terms[1].num, n = its.n }
end

-- Prepares the stages that lead to the counting: their event sets have the first numbers.
local function program(self, timeouts)
   local from = self.target.from
   self.stages, self.progress = stages.leading(from), {}
   self.plan.base = self.stages and #self.stages
   local spec = plan.spec(self.plan, timeouts)
   return self.stages and stages.before(self.stages, spec) or spec
end

-- Returns true if the switching interval must not adapt: with children, with stages, or with more
-- than FEW contexts.
local function is_steady(target)
   return target.inherit or target.from or #(target.cpus or target.tids or {}) > FEW
end

-- Makes the context of a command inherited, with a buffer into which the counts of each thread go
-- when it ends. Returns true; raises an error if that cannot be done.
local function keep_ledger(self)
   if self.target.interval then
      error("the threads of a command cannot be counted one by one at intervals: their counts come when they end", 0)
   end
   self.spec.create = ledger.create_args()
   local ok, why = contexts.inherit(self.spec, { "INHERIT" })
   if not ok then error("the threads of a command cannot be counted one by one: " .. why, 0) end
   return true
end

-- Returns true if a thread's context also counts the threads and children that the thread creates.
-- It cannot with `until`, which looks at the first thread alone, nor if the threads of a running
-- process are wanted one by one: then each has a context of its own.
local function inherits(self)
   local target, one_by_one = self.target, self.target.parts or self.target.names
   if not target.inherit or target.cpus or target["until"] then return false end
   if one_by_one then return target.command and not target.tids and keep_ledger(self) or false end
   for _, flags in ipairs(contexts.inheriting(target)) do
      local ok, why = contexts.inherit(self.spec, flags)
      if ok then return true end
      self.alone = why
   end
   return false
end

-- Returns the target for `pfm.measure`: `inherit` is set only if the contexts do inherit.
local function with_inheritance(target, inherited)
   local out = tables.copy(target)
   if target.inherit and target.tids then out.whole = target.whole or target.tids end
   out.inherit = inherited or nil
   return out
end

-- Returns the target with the field `inherit`, also if it is given as `threads`, its other name.
local function with_threads(target)
   local out = tables.copy(target)
   out.inherit, out.threads = target.inherit or target.threads, nil
   return out
end

-- Returns the folder of the target's cgroup, nil if it has none. Of all tasks on the CPUs, only
-- those of the cgroup are counted.
local function cgroup_of(target)
   if not target.cgroup then return nil end
   if not target.cpus then error("cgroup: it is counted on CPUs: -a or -C", 0) end
   local path, err = host.cgroup(target.cgroup)
   return path or error(err, 0)
end

local function new_counting(target, list)
   target = with_threads(target)
   local self = setmetatable({ target = target, names = {}, live = {}, done = {}, sums = {},
      subjects = 0, per = {}, uncounted = 0 }, counting)
   local all, clock = list, nil
   if not target.cpus then all, clock = with_task_clock(list) end
   self.clock, self.all = clock, all
   local limit = target["until"] and with_limit(self, target["until"])
   local switching = multiplex.switching(target.switch, is_steady(target))
   self.plan = contexts.plan(self.all, switching.trigger, target.cpus)
   if limit then set_limit(self, limit) end
   self.good = {}
   for _, e in ipairs(self.all) do
      if self.plan.terms[e] then self.good[#self.good + 1] = e end
   end
   self.spec = program(self, switching.timeouts)
   self.spec.cgroup = cgroup_of(target)
   self.inherits = #self.good > 0 and inherits(self)
   self.target = with_inheritance(target, self.inherits)
   self.blocks = multiplex.blocks(self.plan, self.good)
   return self
end

function counting:attach(subject)
   if #self.good == 0 then error(contexts.none_usable(self.all), 0) end
   local ctx, err, errno = contexts.start(subject, self.spec)
   if ctx then
      subject.ctx = ctx
      if self.inherits and self.spec.create.format then
         subject.ledger = ledger.new(subject)
      elseif self.target.names then
         self:name(subject.tid, subject.pid)
      end
      self.live[subject] = ctx
      self.subjects = self.subjects + 1
   end
   return ctx, err, errno
end

-- Notes the current name of a thread.
function counting:name(tid, pid)
   if not pid or host.now().sim then return end
   self.names[tid] = text_file.line(("/proc/%d/task/%d/comm"):format(pid, tid)) or self.names[tid]
end

-- Reads the names of threads, which they get once they run; returns seconds to the next look.
function counting:look_at_names()
   for subject in pairs(self.live) do self:name(subject.tid, subject.pid) end
   self.name_step = math.min((self.name_step or FIRST_NAMES / 2) * 2, LAST_NAMES)
   return self.name_step
end

local function values_of(self, ctx)
   return plan.read(self.plan, ctx)
end

-- Converts a value to the event's unit.
local function in_unit(event, value)
   if not value or not event.scale then return value end
   return (type(value) == "number" and value or value:tonumber()) * event.scale
end

-- Returns the counts of a subject in the order of `self.good`. In place of a missing count is 0
-- if the event's set never had its turn, and false if other users of the PMU had the counter.
local function counts_of(self, values)
   local out = {}
   for i, e in ipairs(self.good) do
      local value = in_unit(e, multiplex.value(self.plan, e, values))
      out[i] = value or multiplex.taken(self.plan, e, values) == 0 and 0
   end
   return out
end

-- Returns the fields of /proc/PID/stat after the command's name, from the state on.
local function stat_fields(pid)
   local text, fields = text_file.all(("/proc/%d/stat"):format(pid)) or "", {}
   for field in (text:match(".*%) (.*)") or ""):gmatch("%S+") do fields[#fields + 1] = field end
   return fields
end

-- Notes from /proc whether the process had children or other threads. It has ended, but is still in
-- /proc, since it has not been waited for.
local function look_around(self, subject)
   local f = stat_fields(subject.pid)
   if (tonumber(f[9]) or 0) + (tonumber(f[11]) or 0) > 0 then self.had_children = true end
   if (tonumber(f[18]) or 1) > 1 then self.had_threads = true end
end

-- Adds the threads that an inheriting context could not count, and the time that it counted.
function counting:note_inherited(ctx)
   local info = ctx:getinfo_evtsets { 0 }
   self.active_ns = (self.active_ns or 0) + plan.active_ns(self.plan, ctx)
   self.uncounted = self.uncounted + (info and info[1].lost or 0)
end

-- Adds the counts of a command's threads, once its ledger is complete.
local function add_threads(self, its, values)
   its:read(true)
   local mixed, why = its:settle(plan.counts_of(self.plan, values))
   self.uncounted, self.why = self.uncounted + mixed, why
   for _, row in ipairs(its.rows) do
      self.per[#self.per + 1] = { tid = row.tid, pid = row.pid, comm = row.comm,
         process = row.leader and row.leader.comm,
         values = counts_of(self, plan.with_counts(self.plan, values, row.counts)) }
   end
   self.subjects = self.subjects + #its.rows - 1
end

function counting:ended(subject)
   subject.ctx:stop()
   if self.target.names and not subject.ledger then self:name(subject.tid, subject.pid) end
   local values = values_of(self, subject.ctx)
   for i, v in ipairs(values) do self.sums[i] = (self.sums[i] or 0) + v end
   self.live[subject], self.done[subject] = nil, self.target.parts and values or nil
   if self.stages then self.progress[#self.progress + 1] = stages.progress(self.stages, subject.ctx) end
   if subject.ledger then
      add_threads(self, subject.ledger, values)
   else
      self.per[#self.per + 1] = { tid = subject.tid, pid = subject.pid, cpu = subject.cpu,
         comm = self.names[subject.tid], values = counts_of(self, values) }
   end
   if self.inherits then self:note_inherited(subject.ctx) end
   if subject.pid and not self.inherits then look_around(self, subject) end
end

-- Restarts the contexts in another list of the event sets, which has another switching interval.
local function change_list(self, list)
   for subject, ctx in pairs(self.live) do
      if not subject.held and ctx:stop() then ctx:start(plan.first_set(self.plan, list)) end
   end
end

-- Looks whether a block of turns has ended (see `pfm.measure.multiplex`), and whether another
-- switching interval is better; returns the seconds to the next look.
function counting:look()
   if #self.plan.sets == 1 then return math.huge end
   local clock = host.now().clock
   local from, values = clock(), self:now()
   if self.blocks:look(values) then
      local list = self.blocks:better_list(values)
      if list then change_list(self, list) end
   end
   return self.blocks:next_look(clock() - from)
end

-- Returns the sums so far: of the subjects that have ended, and of those that are still measured.
function counting:now()
   local out = { unpack(self.sums) }
   for _, ctx in pairs(self.live) do
      for i, v in ipairs(values_of(self, ctx)) do out[i] = (out[i] or 0) + v end
   end
   return out
end

-- Returns the count of an event, and the share of the time in which it was counted.
local function value_of(self, event, values)
   if not self.plan.terms[event] or #values == 0 then return nil end
   local value, share = multiplex.value(self.plan, event, values)
   return in_unit(event, value), share
end

-- Returns true if an event occurs whenever a program runs.
local function is_constant(event)
   local e = event.kind == "hardware" and event.plm ~= "k" and lpfm.event(event.base)
   for _, name in ipairs { "cycles", "instructions" } do
      local generic = lpfm.event(name)
      if e and generic and e.name and e.name == generic.name then return true end
   end
   return false
end

-- Returns true if a counter of cycles or instructions stayed at 0 although the program ran: it does
-- not count, then.
local function implausible(self, event, value, values)
   if value ~= 0 or not is_constant(event) then return false end
   local ran = self.clock and value_of(self, self.clock, values)
   return ran ~= nil and ran > 1e6
end

local function row_of(self, event, values)
   local value, share = value_of(self, event, values)
   local taken = multiplex.taken(self.plan, event, values)
   local reason = event.reason
   local state = reason and "not supported"
   if value and implausible(self, event, value, values) then
      value, state = nil, "not counted"
      reason = "the counter stayed at 0 while the program ran: this machine's PMU does not count it"
   elseif not value and not reason then
      state = "not counted"
      reason = taken > 0 and measure.OTHERS or share and "its event set never had its turn" or nil
   end
   local row = { event = event.name, base = event.base, unit = event.unit, value = value, state = state,
      reason = reason }
   if value and share < 1 then
      row.active, row.error = share, in_unit(event, self.blocks:error_of(event, values))
      row.other_value = in_unit(event, multiplex.other_value(self.plan, event, values))
      row.poor = taken > 0 and ("other users of the PMU had its counter for %.0f%% of the time"):format(taken * 100)
         or multiplex.poor(value, share, row.error)
   end
   if self.obstacle or self.never then row.value, row.state, row.reason = nil, "not counted", self.obstacle end
   return row
end

local function rows_of(self, list, values)
   return tables.map(list, function(event) return row_of(self, event, values) end)
end

local function seconds(time)
   return time or 0
end

-- Returns the share of the command's CPU time that was not counted, or nil if it is small or not
-- known. The command spent it in threads and children that are not counted, or, where these are
-- counted, in programs from which the kernel took the counters. What the first thread spent at its
-- start and exit is not part of the share.
local function uncounted(self, outcome, values)
   local target = self.target
   if target.cpus or target.tids or not outcome.rusage then return nil end
   -- the user left a part out
   if outcome.partial or target.from or target["until"] or target.delay then return nil end
   if self.inherits then return measure.left_out { rusage = outcome.rusage, own_ns = self.active_ns } end
   if not self.clock then return nil end
   local own = outcome.own_ns or value_of(self, self.clock, values)
   local all = (seconds(outcome.rusage.utime) + seconds(outcome.rusage.stime)) * 1e9
   if not own or all <= 0 then return nil end
   local rest = all - own
   if outcome.own_ns and rest > HINT_NS and rest > HINT_SHARE * all then return rest / all end
   return (self.had_children or self.had_threads) and math.max(rest, 0) / all or nil
end

-- Returns what each subject counted since the last call.
local function new_parts(self, last)
   local out = {}
   local function add(subject, values)
      out[#out + 1] = { tid = subject.tid, pid = subject.pid, cpu = subject.cpu, comm = self.names[subject.tid],
         values = counts_of(self, plan.difference(values, last[subject] or {})) }
      last[subject] = values
   end
   for subject, ctx in pairs(self.live) do add(subject, values_of(self, ctx)) end
   for subject, values in pairs(self.done) do add(subject, values) end
   self.done = {}
   return out
end

-- Returns a function of the time (s since the start), which reports what was counted since its last
-- call.
local function reporter(self, list, report)
   local last, last_time, last_of = {}, 0, {}
   return function(time)
      if time <= last_time then return end
      local values = self:now()
      local delta = plan.difference(values, last)
      report {
         time = time, elapsed = time - last_time, events = rows_of(self, list, delta), subjects = self.subjects,
         inherited = self.inherits, simulated = host.simulated(),
         per = self.target.parts and new_parts(self, last_of), counted = self.good,
         ran = self.clock and value_of(self, self.clock, delta),
      }
      last, last_time = values, time
   end
end

-- Returns the `tick` callback: it reports at intervals, looks at the event sets, and reads threads'
-- names, each when it is due; or it reads the ledger. Returns nil if there is nothing to do.
local function ticker(self, spec)
   local next_report, next_look, next_names = spec.interval or math.huge, 0, spec.names and 0 or math.huge
   if not self.report and #self.plan.sets == 1 and not spec.names and not spec.parts then return nil end
   return function(time)
      if self.inherits and self.spec.create.format then
         for subject in pairs(self.live) do subject.ledger:read() end
         return LEDGER
      end
      if host.is_due(time, next_names) then next_names = time + self:look_at_names() end
      if host.is_due(time, next_look) then next_look = time + self:look() end
      if host.is_due(time, next_report) then
         self.report(time)
         next_report = math.max(next_report + spec.interval, time)
      end
      return math.max(math.min(next_look, next_report, next_names) - time, 1e-6)
   end
end

local function parsed(list)
   if not list then error("no events given", 0) end
   return expect.value(events.read(list))
end

-- Notes whether the counting began at all, and how far the stages before it came.
function counting:conclude(outcome)
   self.never = outcome.late
   for _, part in ipairs(outcome.late and self.per or {}) do
      for i in ipairs(part.values) do part.values[i] = false end
   end
   if not self.stages then return end
   outcome.stages = stages.merge(self.progress)
   self.obstacle = stages.obstacle(outcome.stages)
end

-- Returns the callbacks for `pfm.measure`.
local function handlers(self, spec)
   return {
      attach = function(subject) return self:attach(subject) end,
      ended = function(subject) self:ended(subject) end,
      tick = ticker(self, spec),
      message = self.plan.limit and function() return "enough" end,
   }
end

local FIELDS = tables.join(measure.fields, { "events", "cgroup", "interval", "on_interval", "switch", "from",
   "until", "parts", "names" })

--- Raises an error where a table for `count.run` has an unknown field.
-- @string call name of the function that takes the table, for the message
-- @tparam table spec
-- @tparam[opt] {string,...} also fields that the caller reads
-- @usage count.check("count.run", { command = { "true" }, events = "page-faults" })
function count.check(call, spec, also)
   expect.kind(call, spec, "table")
   expect.fields(call, spec, also and tables.join(FIELDS, also) or FIELDS)
end

--- Prepares a count; `count.run` also carries it out and completes it.
-- @tparam table spec as for `count.run`
-- @treturn table for `count.complete`, with `callbacks` for `pfm.measure` (formerly `on`)
-- @usage local c = count.prepare { command = { "true" }, events = "page-faults" }
-- print(count.complete(c, measure.run(c.target, c.callbacks)).events[1].value)
function count.prepare(spec)
   count.check("count.run", spec)
   local list = parsed(spec.events)
   measure.check(spec)
   if expect.number("interval", spec.interval) then expect.kind("on_interval", spec.on_interval, "function") end
   local self = new_counting(spec, list)
   self.list = list
   self.report = spec.interval and reporter(self, list, spec.on_interval)
   self.callbacks = handlers(self, spec)
   self.on = self.callbacks
   return self
end

--- Returns the counts so far.
-- @tparam table self of `count.prepare`
-- @treturn table `events`, `ran`, `subjects`, `sets`
-- @usage local c = count.prepare { command = { "true" }, events = "page-faults" }
-- print(count.so_far(c).subjects)
function count.so_far(self)
   local values = self:now()
   return {
      events = rows_of(self, self.list, values), ran = self.clock and value_of(self, self.clock, values),
      subjects = self.subjects, sets = #self.plan.sets, why_sets = self.plan.why, simulated = host.simulated(),
   }
end

--- Makes the count's result from that of `pfm.measure`.
-- @tparam table self of `count.prepare`
-- @tparam table outcome of `measure.run`
-- @treturn table the outcome, completed as `count.run` says
-- @usage local c = count.prepare { command = { "true" }, events = "page-faults" }
-- print(count.complete(c, measure.run(c.target, c.callbacks)).elapsed)
function count.complete(self, outcome)
   self:conclude(outcome)
   self.blocks:look(self.sums)
   if self.report then self.report(outcome.elapsed) end
   for k, v in pairs(count.so_far(self)) do outcome[k] = v end
   outcome.per, outcome.counted = self.per, self.good
   outcome.switch_ns = self.spec.sets[1] and self.spec.sets[(self.blocks.list or 1) * #self.plan.sets].timeout
   outcome.uncounted = uncounted(self, outcome, self.sums)
   outcome.inherited, outcome.alone = self.inherits, self.alone
   outcome.unreached = not outcome.enough and self.target["until"] or nil
   if self.inherits and self.uncounted > 0 then
      outcome.unmeasured, outcome.why = self.uncounted, self.why or "there was no memory, or no counter, for them"
   end
   return outcome
end

--- Counts once.
-- @tparam table spec a target, as for `measure.run`, and:
-- @param spec.events names, as "task-clock,page-faults:u" or a list of them, or what `events.read`
-- returns
-- @string[opt] spec.cgroup with `cpus`: the tasks of this cgroup alone count
-- @number[opt] spec.interval seconds between calls of `on_interval`
-- @func[opt] spec.on_interval called with the counts of each interval, a table
-- @param[opt] spec.switch when event sets are switched: ms, or "EVENT:N"; by default it adapts
-- @string[opt] spec.from what has to happen first in each thread, as "page-faults:1000 then cs:10"
-- @string[opt] spec.until what ends the count, as "page-faults:1000"; all events must fit one set
-- then
-- @bool[opt] spec.inherit threads and children are counted by the thread's context, where the
-- machine can do that with these events; `threads` is another word for `inherit`
-- @bool[opt] spec.parts list each thread of a command in `per`, for intervals, too
-- @bool[opt] spec.names the same, and parts have `comm`, the thread's name when it ended
-- @treturn table `events` (of `event`, `value` or `state` and `reason`, `unit`; for an estimate
-- also `active`, the share of the time from which it was made, `error`, within which the true count
-- lies in 95 % of the cases, `poor`, why it means nothing, and `other_value`, scaled by turns
-- instead of time), `elapsed`, `ran` (ns of CPU time counted), `rusage`, `status`, `signal`,
-- `subjects`, `per` (the parts), `uncounted` (a share), `sets` (how many event sets), `why_sets`,
-- `switch_ns`, `results` of a called function, `stages` before the count (of
-- `pfm.measure.stages.merge`), `inherited`: threads and children were counted; `alone`: why not;
-- `enough`: `until` ended it; `unreached`: the `until` that did not
-- @usage count.run{command = {"true"}, events = "page-faults"}.events[1].value
function count.run(spec)
   local self = count.prepare(spec)
   return count.complete(self, measure.run(self.target, self.callbacks))
end

--- Counts while a function runs, in this thread.
-- @tparam function fn
-- @param list events, as for `count.run`
-- @tparam[opt] int tid the thread to count instead, such as a simulated one that the function lets
-- run
-- @treturn table of `count.run`; `results` is what fn returned
-- @usage count.call(function() return ("x"):rep(1e6) end, "page-faults").events[1].value
function count.call(fn, list, tid)
   expect.kind("call", fn, "function")
   return count.run { call = fn, events = list, tids = tid and { tid } }
end

-- --- repeated counts -----------------------------------------------------------------------------

local function mean_share(runs, i)
   local shares, below = {}, false
   for k, run in ipairs(runs) do
      local row = run.events[i]
      shares[k] = row.active or (row.value and 1 or 0)
      below = below or row.active ~= nil
   end
   return below and (statistics.mean(shares)) or nil
end

local function merge_event(runs, i)
   local values, row = {}, {}
   for k, v in pairs(runs[1].events[i]) do row[k] = v end
   for _, run in ipairs(runs) do
      local value = run.events[i].value
      if value then values[#values + 1] = type(value) == "number" and value or value:tonumber() end
   end
   if #values > 0 then
      row.value, row.stddev = statistics.mean(values)
      row.interval = statistics.interval(values)
      row.error, row.other_value, row.poor = nil, nil, nil -- these are of the first run
      row.state, row.reason = nil, nil
      row.active = mean_share(runs, i)
   end
   return row
end

local function mean_of(runs, get)
   local values = {}
   for _, run in ipairs(runs) do values[#values + 1] = get(run) end
   if #values == 0 then return nil end
   return statistics.mean(values)
end

--- Makes one result of several runs: means, with `stddev` of the mean, and `interval`, half the
-- width of its 95 % confidence interval.
-- @usage
-- local spec = {command = {"true"}, events = "page-faults"}
-- print(count.merge{count.run(spec), count.run(spec)}.events[1].stddev)
-- @tparam table runs results of `count.run`
-- @treturn table a result; if runs ended by a signal or with another status than 0, `failed` says
-- how many, and `status` or `signal`, in words `failed_with`, is that of the last run that failed;
-- if `until` did not end some, `unreached_runs` says how many
function count.merge(runs)
   local out, failed, unreached = {}, 0, 0
   for k, v in pairs(runs[#runs]) do out[k] = v end
   for _, run in ipairs(runs) do
      out.unreached, unreached = out.unreached or run.unreached, unreached + (run.unreached and 1 or 0)
      if run.signal or (run.status or 0) ~= 0 then
         failed, out.status, out.signal, out.signal_name = failed + 1, run.status, run.signal, run.signal_name
         out.failed_with = run.signal and "signal " .. run.signal or "status " .. run.status
      end
   end
   out.events, out.runs, out.failed = {}, #runs, failed > 0 and failed or nil
   out.unreached_runs = unreached > 0 and unreached or nil
   for i in ipairs(runs[1].events) do out.events[i] = merge_event(runs, i) end
   out.elapsed, out.elapsed_stddev = mean_of(runs, function(r) return r.elapsed end)
   out.ran = mean_of(runs, function(r) return r.ran end)
   if out.rusage then
      out.rusage = {
         utime = mean_of(runs, function(r) return r.rusage.utime end),
         stime = mean_of(runs, function(r) return r.rusage.stime end),
      }
   end
   return out
end

--- Counts several times. An interrupted run is the last, and no part of the means if there were
-- others.
-- @int n
-- @param spec for `count.run`, or a function that makes it for run 1, 2, ... (a simulated
-- computer's threads run once)
-- @treturn table of `count.merge`, or of `count.run` for a single run
-- @usage count.times(10, {command = {"true"}, events = "page-faults"}).events[1].interval
function count.times(n, spec)
   local runs = {}
   n = expect.whole("count.times: n", expect.kind("count.times: n", n, "number"))
   repeat
      runs[#runs + 1] = count.run(type(spec) == "function" and spec(#runs + 1) or spec)
   until #runs >= n or runs[#runs].interrupted
   local last = runs[#runs]
   if n == 1 or #runs == 1 then return last end
   if last.interrupted then runs[#runs] = nil end
   local out = count.merge(runs)
   if last.interrupted then
      out.interrupted, out.status, out.signal, out.signal_name = true, last.status, last.signal, last.signal_name
   end
   return out
end

expect.signatures("count", count, {
   check = "call: string; spec: any?; also: [string]?",
   so_far = "self: {plan}",
   complete = "self: {plan}; outcome: {elapsed}",
   merge = "runs: [{events}]+",
})

return count
