-- SPDX-License-Identifier: MIT
-- Figures 3.35, 3.36, 3.37: the timeout of a set. Run: build/lpfm scripts/labs/timeouts.lua
local lab = require "labs.lab"

lab.sheet [[
   Set timeouts (figures 3.35, 3.36, 3.37).
   The timer ticks every 10 ms. A timeout of 15 ms is not possible: the effective one is 20 ms, and
   the call returns it. The timeout runs only while the monitored thread runs and monitoring is not masked: an
   overflow notification stops it until the restart, and so does a thread that sleeps. It is
   not restarted then: it continues with what was left.
]]

local MS = 1000 * 1000

-- Two sets that switch after a timeout; set 0 also counts cycles up to an overflow that notifies.
local function monitor(m, tid, timeout, overflow)
   local ctx = lab.context()
   local pmd = { num = 4 }
   local effective = ctx:create_evtsets {
      { id = 0, flags = { "TIME_SWITCH" }, timeout = timeout },
      { id = 1, flags = { "TIME_SWITCH" }, timeout = timeout },
   }
   if overflow then
      pmd = { num = 4, value = -overflow, flags = { "OVFL_NOTIFY" } }
   end
   for set = 0, 1 do
      ctx:write_pmcs { { num = 4, set = set, value = m:encode("cycles", 4) } }
   end
   ctx:write_pmds { pmd }
   ctx:load(tid)
   ctx:start()
   return ctx, effective[1]
end

local function left(ctx)
   return ctx:getinfo_evtsets { 0 }[1].timeout / MS
end

local function in_set_1(ctx)
   return ctx:getinfo_evtsets { 1 }[1].runs > 0
end

-- Runs ms by ms until set 1 is active; the time of that.
local function time_of_switch(m, ctx)
   while not in_set_1(ctx) do
      m:run { ms = 1 }
   end
   return m:time() / MS
end

local busy = { { loop = "forever", { ip = 0x1000, ns = 1000 } } }

do -- 3.35
   local m = lab.machine("itanium2", { hz = 100 })
   local ctx, effective = monitor(m, assert(m:spawn { program = busy }), 15 * MS)
   lab.show("requested timeout, ms", 15)
   lab.show("effective timeout, ms", effective / MS)
   lab.show("set 1 becomes active at, ms", time_of_switch(m, ctx))
   ctx:close()
end

do -- 3.36
   local m = lab.machine("itanium2", { hz = 100 })
   local ctx = monitor(m, assert(m:spawn { program = busy }), 20 * MS, 8 * MS)
   assert(m:run { until_message = ctx.ctx })
   lab.show("masked by an overflow at, ms", m:time() / MS)
   lab.show("timeout left when masked, ms", left(ctx))
   m:run { ms = 7 }
   lab.show("timeout left 7 ms later, ms", left(ctx))
   ctx:restart()
   lab.show("restarted at, ms", m:time() / MS)
   lab.show("with a masked period set 1 becomes active at, ms", time_of_switch(m, ctx))
   ctx:close()
end

do -- 3.37
   local m = lab.machine("itanium2", { hz = 100 })
   local tid = assert(m:spawn {
      program = { { loop = 12000, { ip = 0x1000, ns = 1000 } }, { sleep = 30 * MS }, busy[1] },
   })
   local ctx = monitor(m, tid, 20 * MS)
   m:run { ms = 12 }
   lab.show("thread blocks at, ms", m:time() / MS)
   lab.show("timeout left when the thread blocks, ms", left(ctx))
   m:run { ms = 30 }
   lab.show("thread runs again at, ms", m:time() / MS)
   lab.show("timeout left when the thread runs again, ms", left(ctx))
   lab.show("with a blocked thread set 1 becomes active at, ms", time_of_switch(m, ctx))
   ctx:close()
end
