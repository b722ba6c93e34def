-- SPDX-License-Identifier: MIT
-- Specification 3.7.6: set switching, by time and by overflows.
local sim = require "support.sim"

local FAST = { timer_ns = 100 }

local runs = sim.runs

-- Starts a context on a thread of this program: two sets of ns each count instructions in PMD4.
local function timed(ns, program, machine, options)
   local m = sim.machine("itanium2", machine or FAST)
   local ctx = sim.context(options)
   for id = 0, 1 do
      assert(ctx:create_evtsets { { id = id, flags = { "TIME_SWITCH" }, timeout = ns } })
      sim.count(ctx, 4, "instructions", { set = id })
   end
   local tid = m:spawn { program = program or sim.work(100000) }
   sim.start(ctx, tid)
   return m, ctx, tid
end

-- Makes sets 0 and 1, set 0 with these triggers { [PMD] = { period, threshold, more fields } }.
local function triggered(triggers, options, one)
   local m = sim.machine()
   local ctx = sim.context(options)
   assert(ctx:create_evtsets { { id = 0, flags = { "OVFL_SWITCH" } }, { id = 1, flags = one and { "OVFL_SWITCH" } } })
   for num, t in pairs(triggers) do
      local pmd = { value = -t[1], short_reset = -t[1], long_reset = -t[1], switch_cnt = t[2] }
      for k, v in pairs(t[3] or {}) do
         pmd[k] = v
      end
      sim.count(ctx, num, "instructions", pmd)
   end
   if one then
      sim.count(ctx, 4, "instructions", { set = 1, value = -one, short_reset = -one, switch_cnt = 1 })
   end
   local tid = m:spawn { program = sim.work(100000) }
   sim.start(ctx, tid)
   return m, ctx, tid
end

describe("3.7.6 Set switching", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("'By default, no method is selected ... no switching occurs. This is how set0 is created'", function()
      local m = sim.machine("itanium2", FAST)
      local ctx = sim.context()
      assert(ctx:create_evtsets { { id = 1 } })
      sim.count(ctx, 4, "instructions", { value = -10, short_reset = -10, switch_cnt = 1 })
      sim.start(ctx, m:spawn { program = sim.work(1000) })
      assert(m:run { us = 5 })
      assert.are.same({ 1, 0 }, runs(ctx, 0, 1))
   end)

   it("'Only one method is allowed per set'", function()
      local ctx = sim.context()
      sim.refused("EINVAL", "exclude each other",
         ctx:create_evtsets { { id = 1, flags = { "TIME_SWITCH", "OVFL_SWITCH" }, timeout = 1000 } })
      sim.refused("EINVAL", "does not exist", ctx:getinfo_evtsets { 1 })
   end)

   it("'it is possible to use a mix of methods', set0 modified with PFM_CREATE_EVTSETS", function()
      local m = sim.machine("itanium2", FAST)
      local ctx = sim.context()
      assert(ctx:create_evtsets { { id = 0, flags = { "OVFL_SWITCH" } },
         { id = 1, flags = { "TIME_SWITCH" }, timeout = 300 } })
      sim.count(ctx, 4, "instructions", { value = -20, short_reset = -20, switch_cnt = 1 })
      sim.count(ctx, 5, "instructions", { set = 1 })
      sim.start(ctx, m:spawn { program = sim.work(1000) })
      assert(m:run { us = 5 }) -- 200 ns in set 0, 300 ns in set 1
      assert.are.same({ 11, 10 }, runs(ctx, 0, 1))
      assert.are.equal(300, sim.value(ctx, 5, 1))
   end)
end)

describe("3.7.6 Time-based switching", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("figure 3.35: 'the requested timeout is 15ms, but the effective timeout will be 20ms'", function()
      sim.machine("itanium2", { hz = 100 })
      local ctx = sim.context()
      local t = assert(ctx:create_evtsets { { id = 1, flags = { "TIME_SWITCH" }, timeout = 15000000 },
         { id = 2, flags = { "TIME_SWITCH" }, timeout = 1 }, { id = 3, flags = { "TIME_SWITCH" }, timeout = 10000000 },
         { id = 4, flags = { "TIME_SWITCH" }, timeout = 10000001 } })
      assert.are.same({ 20000000, 10000000, 10000000, 20000000 }, t)
      assert.are.equal(20000000, sim.info(ctx, 1).timeout)
   end)

   it("... and it is the effective timeout after which the set is left", function()
      local m, ctx = timed(15000000, sim.work(10000000), { hz = 100 })
      assert(m:run { us = 19999 })
      assert.are.same({ 1, 0 }, runs(ctx, 0, 1))
      assert(m:run { us = 1 })
      assert.are.same({ 1, 1 }, runs(ctx, 0, 1))
   end)

   it("'effectively starts once the context is attached and monitoring is activated via PFM_START'", function()
      local m = sim.machine("itanium2", FAST)
      local ctx = sim.context()
      assert(ctx:create_evtsets { { id = 0, flags = { "TIME_SWITCH" }, timeout = 300 }, { id = 1 } })
      assert(ctx:load(m:spawn { program = sim.work(10000) }))
      assert(m:run { us = 1 })
      assert.are.same({ 1, 0 }, runs(ctx, 0, 1))
      assert.are.equal(300, sim.info(ctx).timeout)
      assert(ctx:start())
      assert(m:run { ns = 290 })
      assert.are.same({ 1, 0 }, runs(ctx, 0, 1))
      assert(m:run { ns = 10 })
      assert.are.same({ 1, 1 }, runs(ctx, 0, 1))
   end)

   it("'It stops when PFM_STOP or PFM_UNLOAD, or close() is issued'", function()
      local m, ctx = timed(300)
      assert(m:run { ns = 200 })
      assert(ctx:stop())
      assert(m:run { us = 1 })
      assert.are.same({ 1, 0 }, runs(ctx, 0, 1))
      m, ctx = timed(300)
      assert(m:run { ns = 200 })
      assert(ctx:unload())
      assert(m:run { us = 1 })
      assert.are.same({ 1, 0 }, runs(ctx, 0, 1))
      ctx:close()
      assert(m:run { us = 1 })
   end)

   it("figure 3.36: 'The timeout is not decremented when monitoring is masked', 'restarts from where it was stopped'",
      function()
         local m, ctx = timed(1000)
         assert(ctx:unload())
         sim.count(ctx, 5, "instructions", { value = -70, long_reset = 0, flags = { "OVFL_NOTIFY" } })
         sim.start(ctx, m:threads()[1].tid)
         assert(m:run { until_message = ctx })
         assert.are.equal(300, sim.info(ctx).timeout)
         assert(m:run { us = 5 })
         assert.are.equal(300, sim.info(ctx).timeout)
         assert.are.same({ 2, 0 }, runs(ctx, 0, 1))
         assert(ctx:restart())
         assert.are.equal(300, sim.info(ctx).timeout)
         assert(m:run { ns = 290 })
         assert.are.same({ 2, 0 }, runs(ctx, 0, 1))
         assert(m:run { ns = 10 })
         assert.are.same({ 2, 1 }, runs(ctx, 0, 1))
      end)

   it("'behavior described in the previous paragraph must be identical' where user level starts and stops: sum, rum",
      function()
         local m, ctx = timed(1000, { { loop = 30, { ip = 1, ns = 10 } }, { rum = true },
            { loop = 500, { ip = 2, ns = 10 } }, { sum = true }, { loop = 1000, { ip = 3, ns = 10 } } }, FAST,
            { flags = { "INSECURE" } })
         assert(m:run { us = 5 })
         assert.are.equal(700, sim.info(ctx).timeout) -- the timeout stopped at rum
         assert.are.same({ 1, 0 }, runs(ctx, 0, 1))
         assert(m:run { ns = 300 + 690 })
         assert.are.same({ 1, 0 }, runs(ctx, 0, 1))
         assert(m:run { ns = 10 })
         assert.are.same({ 1, 1 }, runs(ctx, 0, 1))
      end)

   it("figure 3.37, per-thread: 'When a thread is context switched out, the timeout is stopped'", function()
      local m, ctx = timed(1000, { { loop = 40, { ip = 1, ns = 10 } }, { sleep = 50000 },
         { loop = 1000, { ip = 1, ns = 10 } } })
      assert(m:run { us = 20 })
      assert.are.equal(600, sim.info(ctx).timeout)
      assert(m:run { ns = 30400 + 590 })
      assert.are.same({ 1, 0 }, runs(ctx, 0, 1))
      assert(m:run { ns = 10 })
      assert.are.same({ 1, 1 }, runs(ctx, 0, 1))
      assert.are.equal(100, sim.value(ctx, 4, 0))
   end)

   it("... 'or its quantum of time runs out': switches 'only occur when the monitored thread is running'", function()
      local m, ctx, tid = timed(3000000, sim.work(2000000), { slice_ms = 2 })
      m:spawn { program = sim.work(2000000) }
      local last = { 1, 0 }
      for _ = 1, 400 do
         local state = sim.thread(tid).state
         assert(m:run { us = 100 })
         local now = runs(ctx, 0, 1)
         if now[1] + now[2] > last[1] + last[2] then
            assert.is_true(state == "running" or sim.thread(tid).state == "running")
            assert.are.equal(0, sim.thread(tid).ran % 3000000)
         end
         last = now
      end
      assert.are.same({ 4, 3 }, last) -- the thread ran for 20 ms: a switch every 3 ms
   end)

   it("'When the thread is running but monitoring is masked, the timeout is also stopped'", function()
      local m, ctx, tid = timed(1000)
      assert(ctx:write_pmds { { num = 4, value = -20, long_reset = 0, flags = { "OVFL_NOTIFY" } } })
      assert(m:run { us = 5 })
      assert.are.equal(5000, sim.thread(tid).ran)
      assert.are.equal(800, sim.info(ctx).timeout)
   end)

   it("system-wide: 'Switching occurs at the end of the timeout', whatever runs, also nothing", function()
      local m = sim.machine("itanium2", FAST)
      m:spawn { program = { { loop = 50, { ip = 1, ns = 10 } }, { sleep = 10000 } } }
      local ctx = sim.context { flags = { "SYSTEM_WIDE" } }
      for id = 0, 1 do
         assert(ctx:create_evtsets { { id = id, flags = { "TIME_SWITCH" }, timeout = 1000 } })
      end
      sim.start(ctx, 0)
      assert(m:run { us = 10 })
      assert.are.same({ 6, 5 }, runs(ctx, 0, 1))
   end)

   it("system-wide: 'the timeout is stopped when monitored is masked'", function()
      local m = sim.machine("itanium2", FAST)
      m:spawn { program = sim.work(10000) }
      local ctx = sim.context { flags = { "SYSTEM_WIDE" } }
      assert(ctx:create_evtsets { { id = 0, flags = { "TIME_SWITCH" }, timeout = 1000 }, { id = 1 } })
      sim.count(ctx, 4, "instructions", { value = -60, flags = { "OVFL_NOTIFY" } })
      sim.start(ctx, 0)
      assert(m:run { us = 10 })
      assert.are.equal(400, sim.info(ctx).timeout)
      assert.are.same({ 1, 0 }, runs(ctx, 0, 1))
   end)

   it("EXCL_IDLE: 'time-based set switching may occur while the idle thread is running even though no' event counts",
      function()
         local m = sim.machine("itanium2", FAST)
         m:spawn { program = { { loop = 150, { ip = 1, ns = 10 } } } }
         local ctx = sim.context { flags = { "SYSTEM_WIDE" } }
         for id = 0, 1 do
            assert(ctx:create_evtsets { { id = id, flags = { "TIME_SWITCH", "EXCL_IDLE" }, timeout = 1000 } })
            sim.count(ctx, 4, "cycles", { set = id })
         end
         sim.start(ctx, 0)
         assert(m:run { us = 10 })
         assert.are.same({ 6, 5 }, runs(ctx, 0, 1))
         assert.are.same({ 1000, 500 }, { sim.value(ctx, 4, 0), sim.value(ctx, 4, 1) })
      end)

   it("PFM_LOAD_CONTEXT: the 'timeout is reset to the value indicated when the set was created or last modified'",
      function()
         local m, ctx, tid = timed(1000)
         assert(m:run { ns = 400 })
         assert(ctx:unload())
         assert.are.equal(600, sim.info(ctx).timeout)
         assert(ctx:load(tid))
         assert.are.equal(1000, sim.info(ctx).timeout)
         assert(ctx:unload())
         assert(ctx:create_evtsets { { id = 0, flags = { "TIME_SWITCH" }, timeout = 2000 } })
         assert(ctx:load(tid))
         assert.are.equal(2000, sim.info(ctx).timeout)
      end)

   it("'The timeout is not randomized': 1000 switches at exact intervals", function()
      local m, ctx = timed(300)
      assert(m:run { us = 300 })
      assert.are.same({ 501, 500 }, runs(ctx, 0, 1))
      assert.are.same({ 15000, 15000 }, { sim.value(ctx, 4, 0), sim.value(ctx, 4, 1) })
   end)

   it("'when interrupts are masked, no timer interrupts ... the timeout is effectively extended'", function()
      local m, ctx = timed(1000, { { loop = 50, { ip = 1, ns = 10 } },
         { loop = 100, { ip = 2, ns = 10, irqs_off = true } }, { loop = 1000, { ip = 3, ns = 10 } } })
      assert(m:run { ns = 1500 })
      assert.are.same({ 1, 0 }, runs(ctx, 0, 1))
      assert(m:run { ns = 10 })
      assert.are.same({ 1, 1 }, runs(ctx, 0, 1))
   end)
end)

describe("3.7.6 Overflow-based switching", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("the threshold: 'At each overflow, the value is decremented by one, when it reaches zero, a switch is performed'",
      function()
         local m, ctx = triggered { [4] = { 100, 3 } }
         for left = 3, 1, -1 do
            assert.are.equal(left, ctx:read_pmds({ 4 })[1].switch_cnt)
            assert.are.same({ 1, 0 }, runs(ctx, 0, 1))
            assert(m:run { us = 1 })
         end
         assert.are.same({ 1, 1 }, runs(ctx, 0, 1))
      end)

   it("figure 3.38: set0 by PMD4 after 2 times 1000, set1 by PMD5 after 1", function()
      local m = sim.machine()
      local ctx = sim.context()
      assert(ctx:create_evtsets { { id = 0, flags = { "OVFL_SWITCH" } }, { id = 1, flags = { "OVFL_SWITCH" } } })
      sim.count(ctx, 4, "instructions", { value = -1000, short_reset = -1000, switch_cnt = 2 })
      sim.count(ctx, 5, "instructions", { set = 1, value = -1000, short_reset = -1000, switch_cnt = 1 })
      sim.count(ctx, 5, "cycles")
      sim.count(ctx, 4, "cycles", { set = 1 })
      sim.start(ctx, m:spawn { program = sim.work(100000) })
      assert(m:run { us = 10 })
      assert.are.same({ 1, -1000 }, { ctx:read_pmds({ 4 })[1].switch_cnt, sim.value(ctx, 4) })
      assert(m:run { ns = 9990 })
      assert.are.same({ 1, 0 }, runs(ctx, 0, 1))
      assert(m:run { ns = 10 })
      assert.are.same({ 1, 1 }, runs(ctx, 0, 1))
      assert.are.same({ 4 }, sim.info(ctx).ovfl_pmds)
      assert(m:run { us = 10 })
      assert.are.same({ 2, 1 }, runs(ctx, 0, 1))
      assert.are.same({ 5 }, sim.info(ctx, 1).ovfl_pmds)
      assert.are.same({ 20000, 10000 }, { sim.value(ctx, 5), sim.value(ctx, 4, 1) })
      assert.are.same({ 2, -1000 }, { ctx:read_pmds({ 4 })[1].switch_cnt, sim.value(ctx, 4) })
   end)

   it("'not all counters which overflow trigger a switch': only those whose threshold is non zero", function()
      local m, ctx = triggered { [4] = { 10, 0 }, [5] = { 15, 0 }, [6] = { 200, 1 } }
      assert(m:run { ns = 1990 })
      assert.are.same({ 1, 0 }, runs(ctx, 0, 1))
      assert(m:run { ns = 10 })
      assert.are.same({ 1, 1 }, runs(ctx, 0, 1))
      assert.are.same({ 6 }, sim.info(ctx).ovfl_pmds)
   end)

   it("'up to n triggers': all counters, 'as soon as one of the thresholds reaches the value of 0'", function()
      for first = 4, 7 do
         local triggers = {}
         for num = 4, 7 do
            triggers[num] = { 10, num == first and 3 or 4 }
         end
         local m, ctx = triggered(triggers)
         assert(m:run { ns = 290 })
         assert.are.same({ 1, 0 }, runs(ctx, 0, 1))
         assert(m:run { ns = 10 })
         assert.are.same({ 1, 1 }, runs(ctx, 0, 1))
         assert.are.same({ first }, sim.info(ctx).ovfl_pmds)
      end
   end)

   it("'more than one threshold reaches zero at the same time': one switch, all are recorded", function()
      local m, ctx = triggered { [4] = { 10, 3 }, [5] = { 15, 2 }, [6] = { 30, 1 }, [7] = { 30, 2 } }
      assert(m:run { ns = 300 })
      assert.are.same({ 1, 1 }, runs(ctx, 0, 1))
      assert.are.same({ 4, 5, 6 }, sim.info(ctx).ovfl_pmds)
   end)

   it("'Next time the set becomes active, the value is reloaded with the same threshold', of all triggers", function()
      local m, ctx = triggered({ [4] = { 10, 5 }, [5] = { 10, 2 } }, nil, 10)
      for i = 1, 10 do
         assert(m:run { ns = 200 }) -- 20 instructions in set 0
         assert.are.same({ i, i }, runs(ctx, 0, 1))
         assert(m:run { ns = 100 })
         assert.are.same({ i + 1, i }, runs(ctx, 0, 1))
         assert.are.same({ 5, 2 }, { ctx:read_pmds({ 4 })[1].switch_cnt, ctx:read_pmds({ 5 })[1].switch_cnt })
      end
   end)

   it("'It can be modified with the PFM_WRITE_PMDS command'", function()
      local m, ctx = triggered { [4] = { 10, 100 } }
      assert(m:run { ns = 100 })
      assert(ctx:write_pmds { { num = 4, value = -10, short_reset = -10, switch_cnt = 2 } })
      assert(m:run { ns = 190 })
      assert.are.same({ 1, 0 }, runs(ctx, 0, 1))
      assert(m:run { ns = 10 })
      assert.are.same({ 1, 1 }, runs(ctx, 0, 1))
   end)

   it("'a counter can be used as the sampling period as well as the switch trigger'", function()
      local m, ctx = triggered({ [4] = { 10, 3 } }, { format = "default" }, 20)
      assert(m:run { ns = 1000 })
      local seen = {}
      for s in ctx:buffer():samples() do
         seen[#seen + 1] = s.tstamp / 10 .. ":" .. s.set
      end
      assert.are.equal("10:0 20:0 30:0 50:1 60:0 70:0 80:0 100:1", table.concat(seen, " "))
   end)

   it("'Unless overflow notification is requested ... the short reset value is reloaded in the counter on overflow'",
      function()
         local m, ctx = triggered { [4] = { 10, 3, { short_reset = -40, long_reset = -99 } } }
         assert(m:run { ns = 100 })
         assert.are.equal(-40, sim.value(ctx, 4))
         m, ctx = triggered { [4] = { 10, 3, { short_reset = -40, long_reset = -99, flags = { "OVFL_NOTIFY" } } } }
         assert(m:run { ns = 100 })
         assert.are.equal(0, sim.value(ctx, 4)) -- masked
         assert.are.equal(2, ctx:read_pmds({ 4 })[1].switch_cnt)
         ctx:read(0)
         assert(ctx:restart())
         assert.are.equal(-99, sim.value(ctx, 4))
         assert.are.same({ 1, 0 }, runs(ctx, 0, 1))
      end)

   it("... each notified overflow takes the threshold down; at zero PFM_RESTART switches", function()
      local m, ctx = triggered { [4] = { 10, 2, { flags = { "OVFL_NOTIFY" } } } }
      for i = 1, 2 do
         assert(m:run { until_message = ctx })
         assert.are.same({ 1, 0 }, runs(ctx, 0, 1))
         assert.are.equal(0, ctx:read(0).set)
         assert(ctx:restart())
         assert.are.same(i == 1 and {} or { 4 }, sim.info(ctx).ovfl_pmds)
      end
      assert.are.same({ 1, 1 }, runs(ctx, 0, 1))
   end)

   it("EXCL_IDLE: 'cannot occur when the idle thread is running', as monitoring is stopped while it does", function()
      for _, excluded in ipairs { true, false } do
         local m = sim.machine("itanium2", FAST)
         m:spawn { program = { { loop = 50, { ip = 1, ns = 10 } } } }
         local ctx = sim.context { flags = { "SYSTEM_WIDE" } }
         local flags = { "OVFL_SWITCH", excluded and "EXCL_IDLE" or nil }
         assert(ctx:create_evtsets { { id = 0, flags = flags }, { id = 1 } })
         sim.count(ctx, 4, "cycles", { value = -501, switch_cnt = 1 })
         sim.start(ctx, 0)
         assert(m:run { us = 10 })
         assert.are.same({ 1, excluded and 0 or 1 }, runs(ctx, 0, 1))
      end
   end)

   it("PFM_LOAD_CONTEXT: 'switch thresholds reset to the value indicated when ... last programmed'", function()
      local m, ctx, tid = triggered { [4] = { 10, 3 }, [5] = { 10, 7 } }
      assert(m:run { ns = 200 })
      assert.are.same({ 1, 5 }, { ctx:read_pmds({ 4 })[1].switch_cnt, ctx:read_pmds({ 5 })[1].switch_cnt })
      assert(ctx:unload())
      assert(ctx:load(tid))
      assert.are.same({ 3, 7 }, { ctx:read_pmds({ 4 })[1].switch_cnt, ctx:read_pmds({ 5 })[1].switch_cnt })
   end)

   describe("cascading counters", function()
      local function cascade(n)
         local m = sim.machine()
         local ctx = sim.context()
         assert(ctx:create_evtsets { { id = 0, flags = { "OVFL_SWITCH" } }, { id = 1 } })
         sim.count(ctx, 4, "instructions", { value = -1000, switch_cnt = 1 })
         sim.count(ctx, 5, "l2_misses", { set = 1 })
         local tid = m:spawn { program = { { loop = n, { ip = 1, ns = 10, events = { l2_misses = 2 } } } } }
         sim.start(ctx, tid)
         assert(m:run { until_exit = tid })
         return ctx
      end

      it("'after n retired instructions, start counting the number of cache misses'", function()
         assert.are.equal(2 * 234, sim.value(cascade(1234), 5, 1))
      end)

      it("'If the threshold is never reached, the second set is never activated': set_runs tells", function()
         local ctx = cascade(999)
         assert.are.same({ 0, 0 }, { sim.value(ctx, 5, 1), sim.info(ctx, 1).runs })
         ctx = cascade(1000)
         assert.are.same({ 0, 1 }, { sim.value(ctx, 5, 1), sim.info(ctx, 1).runs })
      end)
   end)
end)
