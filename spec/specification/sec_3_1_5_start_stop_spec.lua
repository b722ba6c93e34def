-- SPDX-License-Identifier: MIT
-- Sections 3.1.5, PFM_START, and 3.1.6, PFM_STOP.
local c = require "support.c"
local sim = require "support.sim"

-- Loads a context on a thread of 1000000 instructions of 10 ns, which PMD4 of each set counts.
local function prepared(sets)
   local m = sim.machine()
   local tid = m:spawn { program = sim.work(1000000) }
   local ctx = sim.context()
   if sets then
      assert(ctx:create_evtsets(sets))
   end
   for _, set in ipairs(sets or { { id = 0 } }) do
      sim.count(ctx, 4, "instructions", { set = set.id })
   end
   return m, ctx, tid
end

describe("3.1.5 PFM_START", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("'only valid for a context that is attached to a thread or a CPU core'", function()
      local _, ctx, tid = prepared()
      sim.refused("EINVAL", "not loaded", ctx:start())
      sim.refused("EINVAL", "not loaded", ctx:start(0))
      sim.start(ctx, tid)
      assert(ctx:unload())
      sim.refused("EINVAL", "not loaded", ctx:start())
   end)

   it("'Upon return, the interface guarantees that monitoring is active': self, other, system-wide", function()
      for _, kind in ipairs { "self", "other", "system-wide" } do
         local m, _, tid = prepared()
         assert(m:run { ns = 100 })
         if kind == "self" then
            assert(m:act(tid))
         end
         local ctx = sim.context { flags = kind == "system-wide" and { "SYSTEM_WIDE" } or {} }
         sim.count(ctx, 4, "instructions")
         assert(ctx:load(kind == "system-wide" and 0 or tid))
         assert(m:run { ns = 100 })
         assert.are.equal(0, sim.value(ctx, 4))
         assert(ctx:start())
         assert(m:run { ns = 100 })
         assert.are.equal(10, sim.value(ctx, 4), kind)
      end
   end)

   it("'monitoring is guaranteed activated but the effect are not visible until that thread runs again'", function()
      local m = sim.machine()
      m:spawn { program = sim.work(5000, nil, 1000) } -- this thread has the CPU for the first slice
      local tid = m:spawn { program = sim.work(5000, nil, 1000) }
      assert(m:run { us = 1 })
      local ctx = sim.count(sim.context(), 4, "instructions")
      sim.start(ctx, tid)
      assert(m:run { us = 500 })
      assert.are.equal(0, sim.value(ctx, 4))
      assert(m:run { until_exit = tid })
      assert.are.equal(5000, sim.value(ctx, 4))
   end)

   it("'there may be ways to activate monitoring without invoking this command ... must not conflict': sum", function()
      local m = sim.machine()
      local function half(step)
         return { { loop = 10, { ip = 0x1000, ns = 10 } }, step, { loop = 20, { ip = 0x2000, ns = 10 } } }
      end
      local ctx = sim.count(sim.context { flags = { "INSECURE" } }, 4, "instructions")
      local tid = m:spawn { program = half { sum = true } }
      sim.start(ctx, tid)
      assert(m:run { until_exit = tid })
      assert.are.equal(30, sim.value(ctx, 4))
   end)

   it("'this command is still usable': started twice it goes on counting, nothing lost", function()
      local m, ctx, tid = prepared()
      assert(ctx:load(tid))
      for i = 1, 5 do
         assert(ctx:start())
         assert(m:run { ns = 100 })
         assert.are.equal(10 * i, sim.value(ctx, 4))
      end
      assert.are.equal(1, sim.info(ctx).runs)
   end)

   it("'In the case of the default sampling format, the buffer is not reset'", function()
      local m = sim.machine()
      local ctx = sim.context { format = "default", buf_size = 4096 }
      sim.count(ctx, 4, "instructions", { value = -10, short_reset = -10 })
      sim.start(ctx, m:spawn { program = sim.work(1000) })
      assert(m:run { ns = 300 })
      assert.are.equal(3, #ctx:buffer())
      assert(ctx:stop())
      assert(ctx:start())
      assert.are.equal(3, #ctx:buffer())
      assert(m:run { ns = 200 })
      assert.are.equal(5, #ctx:buffer())
   end)

   describe("sets:", function()
      it("'the set specified during the last PFM_LOAD_CONTEXT' is first", function()
         local m, ctx, tid = prepared { { id = 0 }, { id = 3 }, { id = 5 } }
         sim.start(ctx, tid, 3)
         assert(m:run { ns = 100 })
         assert.are.same({ 0, 10, 0 }, { sim.value(ctx, 4, 0), sim.value(ctx, 4, 3), sim.value(ctx, 4, 5) })
      end)

      it("'Specifying a set with this command overrides the first set designated with PFM_LOAD_CONTEXT'", function()
         local m, ctx, tid = prepared { { id = 0 }, { id = 3 }, { id = 5 } }
         assert(ctx:load(tid, 3))
         assert(ctx:start(5))
         assert(m:run { ns = 100 })
         assert.are.same({ 0, 0, 10 }, { sim.value(ctx, 4, 0), sim.value(ctx, 4, 3), sim.value(ctx, 4, 5) })
         assert.are.same({ 0, 1, 1 }, { sim.info(ctx, 0).runs, sim.info(ctx, 3).runs, sim.info(ctx, 5).runs })
      end)

      it("'whatever was the last active set from the previous activation'", function()
         local m, ctx, tid = prepared { { id = 0 }, { id = 3 } }
         assert(ctx:load(tid))
         assert(ctx:start(3))
         assert(m:run { ns = 100 })
         assert(ctx:stop())
         assert(ctx:start())
         assert(m:run { ns = 100 })
         assert.are.same({ 0, 20 }, { sim.value(ctx, 4, 0), sim.value(ctx, 4, 3) })
      end)

      it("a set that does not exist is refused, and what was active stays so", function()
         local m, ctx, tid = prepared { { id = 0 }, { id = 3 } }
         sim.start(ctx, tid)
         sim.refused("EINVAL", "set 4 does not exist", ctx:start(4))
         assert(m:run { ns = 100 })
         assert.are.equal(10, sim.value(ctx, 4, 0))
      end)

      it("'There can only be one set on the PMU at any time'", function()
         local m, ctx, tid = prepared { { id = 0 }, { id = 1 }, { id = 2 } }
         assert(ctx:load(tid))
         for round = 1, 3 do
            assert(ctx:start(round - 1))
            assert(m:run { ns = 100 * round })
         end
         assert.are.same({ 10, 20, 30 }, { sim.value(ctx, 4, 0), sim.value(ctx, 4, 1), sim.value(ctx, 4, 2) })
      end)

      it("'Until monitoring is activated no set switching occurs'", function()
         local m, ctx, tid = prepared { { id = 0, flags = { "TIME_SWITCH" }, timeout = 1000000 }, { id = 1 } }
         assert(ctx:load(tid)) -- 'does not, by itself, enable time-based set switching'
         assert(m:run { us = 900 })
         assert.are.equal(1000000, sim.info(ctx, 0).timeout)
         assert(m:run { us = 90 })
         assert.are.same({ 1, 0 }, { sim.info(ctx, 0).runs, sim.info(ctx, 1).runs })
      end)

      it("... also on implementations which can activate without PFM_START: sum", function()
         local m = sim.machine("itanium2", { timer_ns = 100 })
         local tid = m:spawn { program = { { loop = 30, { ip = 0x1000, ns = 10 } }, { sum = true },
            { loop = 1000, { ip = 0x2000, ns = 10 } } } }
         local ctx = sim.context { flags = { "INSECURE" } }
         assert(ctx:create_evtsets { { id = 0, flags = { "TIME_SWITCH" }, timeout = 100 }, { id = 1 } })
         sim.count(ctx, 4, "instructions", { set = 1 })
         assert(ctx:load(tid))
         assert(m:run { ns = 300 })
         assert.are.same({ 1, 0 }, { sim.info(ctx, 0).runs, sim.info(ctx, 1).runs })
         assert(m:run { ns = 150 }) -- sum has started monitoring: the timeout runs
         assert.are.same({ 1, 1 }, { sim.info(ctx, 0).runs, sim.info(ctx, 1).runs })
         assert.are.equal(5, sim.value(ctx, 4, 1))
      end)

      it("3.7.6: 'The timeout restarts from where it was stopped, i.e., it is not reinitialized'", function()
         local m, ctx, tid = prepared { { id = 0, flags = { "TIME_SWITCH" }, timeout = 2000000 }, { id = 1 } }
         sim.start(ctx, tid)
         assert(m:run { us = 500 })
         assert(ctx:stop())
         assert.are.equal(1500000, sim.info(ctx).timeout)
         assert(ctx:start())
         assert.are.equal(1500000, sim.info(ctx).timeout)
         assert(ctx:start(0)) -- set 0 is active and counts already
         assert.are.equal(1500000, sim.info(ctx).timeout)
         assert(m:run { us = 1499 })
         assert.are.equal(0, sim.info(ctx, 1).runs)
         assert(m:run { us = 2 })
         assert.are.equal(1, sim.info(ctx, 1).runs)
         assert(ctx:stop())
         assert(ctx:start(0)) -- set 1 was active: set 0 begins with its whole timeout
         assert.are.equal(2000000, sim.info(ctx).timeout)
      end)

      it("'both time-based and overflow-based set switching are activated'", function()
         local m, ctx, tid = prepared { { id = 0, flags = { "TIME_SWITCH" }, timeout = 1 },
            { id = 1, flags = { "OVFL_SWITCH" } }, { id = 2 } }
         sim.count(ctx, 5, "instructions", { set = 1, value = -10, switch_cnt = 1 })
         sim.start(ctx, tid)
         assert(m:run { us = 999 })
         assert.are.equal(0, sim.info(ctx, 1).runs)
         assert(m:run { ns = 1000 }) -- a tick is 1 ms
         assert.are.equal(1, sim.info(ctx, 1).runs)
         assert(m:run { ns = 100 })
         assert.are.equal(1, sim.info(ctx, 2).runs)
         assert.are.equal(10, sim.value(ctx, 4, 1))
      end)
   end)

   it("system-wide, from another CPU: EBUSY, 'cannot be executed at this time'", function()
      local m = sim.machine("itanium2", { cpus = 2 })
      local ctx = sim.context { flags = { "SYSTEM_WIDE" } }
      assert(ctx:load(0))
      assert(m:set("tool_cpu", 1))
      sim.refused("EBUSY", "monitors CPU 0", ctx:start())
      sim.refused("EBUSY", "monitors CPU 0", ctx:stop())
      assert(m:set("tool_cpu", 0))
      assert(ctx:start())
      assert(ctx:stop())
   end)

   it("does not end a mask: that takes PFM_RESTART (3.1.9)", function()
      local m, ctx, tid = prepared()
      assert(ctx:write_pmds { { num = 4, value = -10, flags = { "OVFL_NOTIFY" } } })
      sim.start(ctx, tid)
      assert(m:run { until_message = ctx })
      assert(ctx:start())
      assert(m:run { ns = 100 })
      assert.are.equal(0, sim.value(ctx, 4))
      assert(ctx:restart())
      assert(m:run { ns = 100 })
      assert.are.equal(10, sim.value(ctx, 4))
   end)

   it("of another set while masked: that set counts after the restart, a switch that was due is not made", function()
      local m, ctx, tid = prepared { { id = 0, flags = { "OVFL_SWITCH" } }, { id = 1 }, { id = 2 } }
      assert(ctx:write_pmds { { num = 4, value = -10, long_reset = -70, switch_cnt = 1, flags = { "OVFL_NOTIFY" } } })
      sim.start(ctx, tid)
      assert(m:run { until_message = ctx })
      assert(ctx:start(2))
      assert(ctx:restart())
      assert(m:run { ns = 100 })
      assert.are.same({ 1, 0, 1 }, { sim.info(ctx, 0).runs, sim.info(ctx, 1).runs, sim.info(ctx, 2).runs })
      assert.are.equal(10, sim.value(ctx, 4, 2))
      -- the PMD that overflowed in set 0 is reset when the set becomes active again
      assert(ctx:start(0))
      assert.are.equal(-70, sim.value(ctx, 4, 0))
   end)

   it("through perfmonctl(): arg and narg, errors", function()
      local out, status = c.sh(c.compile("perfmonctl_errors") .. " 3.1.5")
      assert.are.equal(0, status, out)
   end)
end)

describe("3.1.6 PFM_STOP", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("'only valid for a context that is attached'", function()
      local _, ctx, tid = prepared()
      sim.refused("EINVAL", "not loaded", ctx:stop())
      assert(ctx:load(tid))
      assert(ctx:stop()) -- never started: nothing to do
      assert(ctx:unload())
      sim.refused("EINVAL", "not loaded", ctx:stop())
   end)

   it("'Upon return, the interface guarantees that monitoring is inactive'", function()
      local m, ctx, tid = prepared()
      sim.start(ctx, tid)
      assert(m:run { ns = 105 })
      assert(ctx:stop())
      assert.are.equal(10, sim.value(ctx, 4))
      assert(m:run { ns = 1000 })
      assert.are.equal(10, sim.value(ctx, 4))
      assert(ctx:stop())
      assert.are.equal(10, sim.value(ctx, 4))
   end)

   it("'there may be ways to stop monitoring without calling into the kernel ... must not conflict': rum", function()
      local m = sim.machine()
      local tid = m:spawn { program = { { loop = 10, { ip = 0x1000, ns = 10 } }, { rum = true },
         { loop = 10, { ip = 0x2000, ns = 10 } }, { sum = true }, { loop = 10, { ip = 0x3000, ns = 10 } } } }
      local ctx = sim.count(sim.context { flags = { "INSECURE" } }, 4, "instructions")
      sim.start(ctx, tid)
      assert(m:run { ns = 150 })
      assert.are.equal(10, sim.value(ctx, 4))
      assert(ctx:stop())
      assert(m:run { ns = 40 })
      assert.are.equal(10, sim.value(ctx, 4))
      assert(m:run { us = 1 })
      -- sum starts monitoring without PFM_START (3.1.5, 5.3)
      assert.are.equal(20, sim.value(ctx, 4))
   end)

   it("sum: 'ways to activate monitoring without invoking this command', of what was never started, too", function()
      for _, before in ipairs { "nothing", "start and stop" } do
         local m = sim.machine()
         local tid = m:spawn { program = { { loop = 10, { ip = 1, ns = 10 } }, { sum = true },
            { loop = 100, { ip = 2, ns = 10 } } } }
         local ctx = sim.count(sim.context { flags = { "INSECURE" } }, 4, "instructions")
         assert(ctx:load(tid))
         if before ~= "nothing" then
            assert(ctx:start())
            assert(ctx:stop())
         end
         assert(m:run { until_exit = tid })
         assert.are.equal(100, sim.value(ctx, 4), before)
      end
   end)

   it("'no more set switching occurs': what a mask deferred waits for the start, not for the restart", function()
      local m = sim.machine()
      local ctx = sim.context()
      assert(ctx:create_evtsets { { id = 0, flags = { "OVFL_SWITCH" } }, { id = 1, flags = { "OVFL_SWITCH" } } })
      sim.count(ctx, 4, "instructions", { value = -10, short_reset = -10, long_reset = -10, switch_cnt = 1,
         flags = { "OVFL_NOTIFY" } })
      sim.count(ctx, 4, "instructions", { set = 1 })
      local function runs()
         local info = assert(ctx:getinfo_evtsets { 0, 1 })
         return { info[1].runs, info[2].runs }
      end
      sim.start(ctx, m:spawn { program = sim.work(1000) })
      assert(m:run { until_message = ctx })
      assert(ctx:stop())
      assert(ctx:restart())
      assert(m:run { ns = 500 })
      assert.are.same({ 1, 0 }, runs())
      assert(ctx:start())
      assert(m:run { ns = 500 })
      assert.are.same({ 1, 1 }, runs())
   end)

   it("... also across context switches, in set_act_duration too", function()
      local m = sim.machine("itanium2", { slice_ms = 1 })
      local tid = m:spawn { program = { { loop = 10, { ip = 0x1000, ns = 10 } }, { rum = true },
         { loop = 500, { ip = 0x2000, ns = 10000 } }, { sum = true }, { loop = 10, { ip = 0x3000, ns = 10 } } } }
      m:spawn { program = sim.work(500, nil, 10000) }
      local ctx = sim.count(sim.context { flags = { "INSECURE" } }, 4, "instructions")
      sim.start(ctx, tid)
      assert(m:run { ms = 3 })
      assert.are.same({ 10, 100 }, { sim.value(ctx, 4), sim.info(ctx).act_duration })
      assert(m:run { until_exit = tid })
      assert.is_true(m:truth(tid).context_switches.total > 2)
      assert.are.same({ 20, 200 }, { sim.value(ctx, 4), sim.info(ctx).act_duration })
   end)

   it("'it may be possible to collect one extra sample': the overflow whose interrupt was still on its way", function()
      local m = sim.machine("itanium2", { skid = 20 })
      local ctx = sim.count(sim.context(), 4, "instructions", { value = -10, flags = { "OVFL_NOTIFY" } })
      sim.start(ctx, m:spawn { program = sim.work(1000) })
      assert(m:run { ns = 150 }) -- PMD4 overflowed at 100; its interrupt comes at 300
      assert.is_nil(ctx:read(0))
      assert(ctx:stop())
      assert.are.equal("OVFL", ctx:read(0).type)
      assert.are.equal(5, sim.value(ctx, 4))
      assert(m:run { us = 1 })
      assert.is_nil(ctx:read(0))
      assert(ctx:restart())
   end)

   it("sampling: what was sampled before stays, no sample comes after", function()
      local m = sim.machine()
      local ctx = sim.context { format = "default", buf_size = 4096 }
      sim.count(ctx, 4, "instructions", { value = -10, short_reset = -10 })
      sim.start(ctx, m:spawn { program = sim.work(1000) })
      assert(m:run { ns = 250 })
      assert(ctx:stop())
      assert(m:run { us = 1 })
      assert.are.equal(2, #ctx:buffer())
   end)

   it("'does stop time-based and overflow-based set switching'", function()
      local m = sim.machine("itanium2", { timer_ns = 100 })
      local ctx = sim.context()
      assert(ctx:create_evtsets { { id = 0, flags = { "TIME_SWITCH" }, timeout = 300 },
         { id = 1, flags = { "OVFL_SWITCH" } } })
      sim.count(ctx, 4, "instructions", { set = 1, value = -10, short_reset = -10, switch_cnt = 1 })
      sim.start(ctx, m:spawn { program = sim.work(100000) })
      assert(m:run { ns = 200 })
      assert(ctx:stop())
      assert(m:run { us = 10 })
      assert.are.same({ 1, 0 }, { sim.info(ctx, 0).runs, sim.info(ctx, 1).runs })
      assert(ctx:start(1))
      assert(m:run { ns = 50 })
      assert(ctx:stop())
      assert(m:run { us = 10 })
      assert.are.same({ 1, 1 }, { sim.info(ctx, 0).runs, sim.info(ctx, 1).runs })
      assert.are.equal(-5, sim.value(ctx, 4, 1))
   end)

   it("... by rum too: the timeout of a set stands still", function()
      local m = sim.machine("itanium2", { timer_ns = 100 })
      local ctx = sim.context { flags = { "INSECURE" } }
      assert(ctx:create_evtsets { { id = 0, flags = { "TIME_SWITCH" }, timeout = 300 }, { id = 1 } })
      sim.count(ctx, 4, "instructions", { set = 1 })
      assert(ctx:load(m:spawn { program = { { loop = 20, { ip = 0x1000, ns = 10 } }, { rum = true },
         { loop = 100, { ip = 0x2000, ns = 10 } }, { sum = true }, { loop = 30, { ip = 0x3000, ns = 10 } } } }))
      assert(ctx:start())
      assert(m:run { ns = 1200 })
      assert.are.same({ 1, 0 }, { sim.info(ctx, 0).runs, sim.info(ctx, 1).runs })
      assert(m:run { ns = 290 })
      assert.are.same({ 1, 1 }, { sim.info(ctx, 0).runs, sim.info(ctx, 1).runs })
   end)

   it("... 'This also applies on implementations where stopping can be done without calling PFM_STOP': rum", function()
      local m = sim.machine("itanium2", { timer_ns = 100 })
      local ctx = sim.context { flags = { "INSECURE" } }
      assert(ctx:create_evtsets { { id = 0, flags = { "OVFL_SWITCH" } }, { id = 1 } })
      sim.count(ctx, 4, "instructions", { value = -10, short_reset = -10, switch_cnt = 1 })
      assert(ctx:load(m:spawn { program = { { loop = 5, { ip = 0x1000, ns = 10 } }, { rum = true },
         { loop = 100, { ip = 0x2000, ns = 10 } } } }))
      assert(ctx:start())
      assert(m:run { ns = 900 })
      assert.are.same({ 1, 0 }, { sim.info(ctx, 0).runs, sim.info(ctx, 1).runs })
      assert.are.equal(-5, sim.value(ctx, 4))
   end)

   it("through perfmonctl(): no argument, errors", function()
      local out, status = c.sh(c.compile("perfmonctl_errors") .. " 3.1.6")
      assert.are.equal(0, status, out)
   end)
end)
