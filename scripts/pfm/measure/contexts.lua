-- SPDX-License-Identifier: MIT
--- Makes contexts for events; finds out once which events can be counted here.
-- @module pfm.measure.contexts

local lpfm = require "lpfm"
local events = require "pfm.events"
local host = require "pfm.measure.host"
local measure = require "pfm.measure"
local plan = require "pfm.measure.plan"
local expect = require "pfm.util.expect"
local tables = require "pfm.util.tables"

local contexts = {}

local SWITCH_NS = 1e6 -- between event sets, where nothing else is asked for

local function program(ctx, spec)
   local lists = { create_evtsets = spec.sets or {}, write_pmcs = spec.pmcs, write_pmds = spec.pmds }
   for _, call in ipairs { "create_evtsets", "write_pmcs", "write_pmds" } do
      local ok, err, errno = plan.in_parts(lists[call], function(part) return ctx[call](ctx, part) end)
      if not ok then return nil, err, errno end
   end
   return true
end

local WHOLE = "it counts whole CPUs, whatever runs there: -a or -C measures CPUs"

-- Returns true if these event sets can be counted, else nil, message, errno. A context is loaded to
-- find that out, since the system's settings do not tell all: on this thread, or on `cpu` if one of
-- the events counts whole CPUs only.
local function try(spec, cpu)
   local create = cpu and { flags = { "SYSTEM_WIDE", "ANY_CPU" } } or spec.create
   local ctx, err, errno = lpfm.create(create)
   if not ctx then return nil, err, errno end
   local ok
   ok, err, errno = program(ctx, spec)
   if ok then ok, err, errno = ctx:load(cpu) end
   ctx:close()
   -- this thread is monitored already (EBUSY), or a simulated machine does not have it (ESRCH):
   -- whether the event sets can be counted will show when a context is loaded on the target
   if errno == lpfm.errno.EBUSY or errno == lpfm.errno.ESRCH then return true end
   return ok, err, errno
end

local function together(list)
   local spec = { pmcs = events.pmcs(list), pmds = {} }
   for i, e in ipairs(list) do spec.pmds[i] = { num = e.pmd, value = 0 } end
   return spec
end

-- If counting the kernel is not permitted (errno), returns true for an event that may be counted at
-- user level alone: its levels were not chosen, and it does not occur in the kernel only.
local function may_do_with_user(event, errno)
   return (errno == lpfm.errno.EACCES or errno == lpfm.errno.EPERM) and not event.plm and not event.kernel_only
end

-- Returns the event, or its part at user level if more is not permitted; nil and why if neither.
local function usable(event)
   if event.reason then return nil, event.reason end
   if event.whole_cpus or event.alone then return nil, "it can only be counted, not sampled" end
   local ok, err, errno = try(together { event })
   if ok then return event end
   if may_do_with_user(event, errno) then
      local mine = events.user_only(event)
      events.assign { mine }
      if not mine.reason and try(together { mine }) then return mine end
   end
   return nil, err
end

local function split(list)
   local good = {}
   for _, event in ipairs(list) do
      local e, why = usable(event)
      if e then
         event.name, event.plm = e.name, e.plm
         good[#good + 1] = event
      else
         event.reason = why
      end
   end
   expect.value(events.assign(good))
   return good
end

local function assigned(list)
   for _, event in ipairs(list) do
      if event.reason then return false end
   end
   return #list > 0
end

--- Finds out which events can be counted; the others get a `reason`.
-- @tparam table list of events
-- @treturn table those that can be counted
function contexts.usable(list)
   if assigned(list) and try(together(list)) then return list end
   local good = split(list)
   if #good > 0 then
      expect.value(try(together(good)))
   end
   return good
end

--- Says why `contexts.usable` has found none.
-- @tparam table list of events
-- @treturn string
function contexts.none_usable(list)
   if #list == 0 then return "there are no events to count" end
   return "none of the events can be counted: " .. tostring(list[1].reason)
end

-- --- event sets ----------------------------------------------------------------------------------

-- Returns the CPU on which to try events that count whole CPUs; nil if there are none, or no CPUs
-- are measured.
local function cpu_for(list, cpus)
   for _, e in ipairs(cpus and list or {}) do
      if e.whole_cpus and not e.reason then return cpus[1] end
   end
end

local function try_plan(list, unavail, its, cpus)
   local made, err = plan.make(list, unavail, its)
   if not made then return nil, err end
   if #made.sets == 0 then return nil, "none of the events can be counted" end
   local ok, errno
   ok, err, errno = try(plan.spec(made, { SWITCH_NS }), cpu_for(list, cpus))
   return ok and made, err, errno
end

-- Tries an event alone, at the user level if no more is permitted.
local function alone(event, cpus)
   if event.whole_cpus and not cpus then
      event.reason = WHOLE
      return
   end
   local group = event.group
   event.group = nil
   local ok, err, errno = try_plan({ event }, nil, nil, cpus)
   event.group = group
   if not ok and may_do_with_user(event, errno) then
      local mine = events.user_only(event)
      if try_plan { mine } then
         event.name, event.plm = mine.name, mine.plm
         return
      end
   end
   if not ok then event.reason = event.reason or err end
end

-- Returns the PMCs that a hardware trigger takes; a software counter can be shared with an event.
local function taken_by(its)
   return tables.map(its and its.event.kind == "hardware" and its.event.pmcs or {}, "num")
end

local function assign_trigger(its, list)
   local ok, err = events.assign { its.event }
   if ok and its.event.reason then err = ("'%s': %s"):format(its.event.name, its.event.reason) end
   if err then error("switch: " .. err, 0) end
   for _, e in ipairs(list) do
      if e.num == its.event.num and e.num and events.software_value(e) ~= events.software_value(its.event) then
         error(("switch: '%s' and '%s' are counted by one register"):format(its.event.name, e.name), 0)
      end
   end
end

-- Plans with fewer and fewer counters, and so in more sets, until a plan can be loaded: other users
-- of the PMU may hold counters. Returns the plan; raises err if there is none.
local function squeeze(list, made, err, cpus)
   local counters, unavail = plan.counters(made), taken_by(made.trigger)
   while #counters > 1 do
      unavail[#unavail + 1] = table.remove(counters)
      local tried = try_plan(list, unavail, made.trigger, cpus)
      if tried then return tried end
   end
   error(err, 0)
end

--- Plans the event sets in which events can be counted here; events that cannot be get a `reason`.
-- @tparam table list of events of `events.read`
-- @tparam[opt] table its the trigger of `pfm.measure.trigger` that leads to the next set
-- @tparam[opt] {int,...} cpus the CPUs that are measured, if no threads are
-- @treturn table of `pfm.measure.plan`, perhaps without any sets
function contexts.plan(list, its, cpus)
   if its then assign_trigger(its, list) end
   local made = try_plan(list, taken_by(its), its, cpus)
   if made then return made end
   for _, event in ipairs(list) do
      if not event.reason then alone(event, cpus) end
   end
   local err, ok
   made, err = plan.make(list, taken_by(its), its)
   if not made then error(err, 0) end
   if #made.sets == 0 then return made end
   ok, err = try(plan.spec(made, { SWITCH_NS }), cpu_for(list, cpus))
   return ok and made or squeeze(list, made, err, cpus)
end

--- Returns true if the machine can measure what a thread creates, too (PFM_FL_INHERIT), with these
-- event sets; `spec.create` asks for that then.
-- @tparam table spec as for `contexts.start`
-- @tparam {string,...} flags INHERIT, and others
-- @treturn[1] boolean true
-- @treturn[2] boolean false
-- @treturn[2] string why
function contexts.inherit(spec, flags)
   local live = (host.simulated() or ""):match(".*,live$")
   if live then return false, live .. " follows no children" end
   local before, create = spec.create, { flags = flags }
   for k, v in pairs(before or {}) do create[k] = create[k] or v end
   spec.create = create
   local ok, why = try(spec)
   if not ok then spec.create = before end
   return ok and true or false, why
end

--- Returns lists of flags for a context that measures a target with what its threads create, to be
-- tried in order. The first measures a command from its exec on, or a process with all its threads;
-- the last begins before the exec, and each thread of a process needs a context.
-- @tparam table target of `pfm.measure`
-- @treturn {{string,...},...}
-- @usage require("pfm.measure.contexts").inheriting({ command = { "true" } })[1][2] --> "ON_EXEC"
function contexts.inheriting(target)
   -- with a delay, counting begins after the exec even without ON_EXEC
   local better = target.tids and "PROCESS" or not target.delay and "ON_EXEC" or nil
   return better and { { "INHERIT", better }, { "INHERIT" } } or { { "INHERIT" } }
end

--- Makes a context on a subject and starts it.
-- @tparam table subject of `pfm.measure`
-- @tparam table spec `pmcs`, `pmds` as for the calls; optional `create`, the arguments of
-- `lpfm.create`, `sets`, those of `create_evtsets`, and `cgroup`, a folder
-- @return the context, or nil, message, errno
function contexts.start(subject, spec)
   local args = tables.copy(spec.create or {})
   if subject.cpu then args.flags = { "SYSTEM_WIDE", "ANY_CPU" } end
   local ctx, err, errno = lpfm.create(args)
   if not ctx then return nil, err, errno end
   local ok
   ok, err, errno = program(ctx, spec)
   if ok and spec.cgroup then ok, err, errno = ctx:set_cgroup(spec.cgroup) end
   if ok then ok, err, errno = measure.load(ctx, subject) end
   local loaded = ok
   if ok and not subject.held then ok, err, errno = ctx:start() end
   if ok then return ctx end
   ctx:close()
   -- start() fails with EINVAL if the thread ended after the load, which unloaded the context
   if loaded and errno == lpfm.errno.EINVAL then errno = lpfm.errno.ESRCH end
   return nil, err, errno
end

local returned = false

--- Returns the line of the machine's notes which says that there is no hardware PMU.
-- @return string; nil if there is a PMU, or the line was returned before
function contexts.no_hardware()
   local machine = host.machine()
   if returned or machine.hw_counters > 0 then return nil end
   returned = true
   return machine.notes:match("[^\n]*[Hh]ardware[^\n]*")
end

return contexts
