-- SPDX-License-Identifier: MIT
--- From events to contexts: finds out once what can be counted here, then makes contexts for it.
-- @module pfm.setup

local lpfm = require "lpfm"
local events = require "pfm.events"
local follow = require "pfm.follow"

local setup = {}

local function program(ctx, list)
   local ok, err, errno = ctx:write_pmcs(events.pmcs(list))
   if not ok then return nil, err, errno end
   local pmds = {}
   for i, e in ipairs(list) do pmds[i] = { num = e.pmd, value = 0 } end
   return ctx:write_pmds(pmds)
end

-- Can these events be counted together? Tried on this thread: what the system says counts, not what
-- its settings suggest.
local function try(list)
   local ctx, err, errno = lpfm.create()
   if not ctx then return nil, err, errno end
   local ok
   ok, err, errno = program(ctx, list)
   if ok then ok, err, errno = ctx:load() end
   ctx:close()
   -- this thread is being monitored already: the trial tells nothing, and the target will
   if errno == lpfm.errno.EBUSY then return true end
   return ok, err, errno
end

local function denied(errno)
   return errno == lpfm.errno.EACCES or errno == lpfm.errno.EPERM
end

-- The event, or its user half where the kernel's is not permitted; nil and why.
local function usable(event)
   if event.reason then return nil, event.reason end
   local ok, err, errno = try { event }
   if ok then return event end
   if denied(errno) and not event.plm then
      local mine = events.user_only(event)
      events.assign { mine }
      if not mine.reason and try { mine } then return mine end
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
   local ok, err = events.assign(good)
   if not ok then error(err, 0) end
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
-- @treturn table those that can
function setup.usable(list)
   if assigned(list) and try(list) then return list end
   local good = split(list)
   if #good > 0 then
      local ok, err = try(good)
      if not ok then error(err, 0) end
   end
   return good
end

--- Makes a context on a subject, counting.
-- @tparam table subject of `pfm.follow`
-- @tparam table spec `pmcs`, `pmds` as for the calls; optional `create`, the arguments of `lpfm.create`
-- @return the context, or nil, message, errno
function setup.start(subject, spec)
   local args = {}
   for k, v in pairs(spec.create or {}) do args[k] = v end
   if subject.cpu then args.flags = { "SYSTEM_WIDE", "ANY_CPU" } end
   local ctx, err, errno = lpfm.create(args)
   if not ctx then return nil, err, errno end
   local ok
   ok, err, errno = ctx:write_pmcs(spec.pmcs)
   if ok then ok, err, errno = ctx:write_pmds(spec.pmds) end
   if ok then ok, err, errno = follow.load(ctx, subject) end
   if ok then ok, err, errno = ctx:start() end
   if ok then return ctx end
   ctx:close()
   return nil, err, errno
end

local told = false

--- The machine's line on its missing hardware PMU, once a run; nil where there is one.
-- @return string or nil
function setup.no_hardware()
   local machine = lpfm.machine()
   if told or machine.hw_counters > 0 then return nil end
   told = true
   return machine.notes:match("[^\n]*[Hh]ardware[^\n]*")
end

return setup
