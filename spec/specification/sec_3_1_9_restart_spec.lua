-- SPDX-License-Identifier: MIT
-- Section 3.1.9, PFM_RESTART.
local c = require "support.c"
local sim = require "support.sim"

local NOTIFY = { "OVFL_NOTIFY" }

describe("3.1.9 PFM_RESTART", function()
   before_each(sim.begin)
   after_each(sim.finish)

   -- Makes a context with `fields` in which PMD4, with `pmd`, overflows at 100 ns and notifies.
   local function notifying(pmd, fields)
      local m = sim.machine()
      local tid = m:spawn { program = sim.work(1000000, { loads = 2 }) }
      local ctx = sim.context(fields)
      local d = { value = -10, long_reset = -50, short_reset = -10, flags = NOTIFY }
      for k, v in pairs(pmd or {}) do
         d[k] = v
      end
      sim.count(ctx, 4, "instructions", d)
      sim.count(ctx, 5, "loads", { long_reset = 500 })
      return m, ctx, tid
   end

   local function masked(pmd, fields)
      local m, ctx, tid = notifying(pmd, fields)
      sim.start(ctx, tid)
      assert(m:run { until_message = ctx })
      return m, ctx, tid
   end

   it("'The context must be attached for this command to succeed'", function()
      local _, ctx, tid = notifying()
      sim.refused("EBUSY", "not loaded", ctx:restart())
      assert(ctx:load(tid))
      assert(ctx:unload())
      sim.refused("EBUSY", "not loaded", ctx:restart())
   end)

   it("'there is one call to PFM_RESTART per overflow notification': a second one is EBUSY", function()
      local m, ctx = masked()
      for _ = 1, 3 do
         assert.are.equal("OVFL", ctx:read(0).type)
         assert(ctx:restart())
         sim.refused("EBUSY", "nothing to restart", ctx:restart())
         assert(m:run { ns = 500 })
      end
   end)

   it("without a notification there is nothing to restart: EBUSY", function()
      local m, ctx, tid = notifying { flags = {} }
      assert(ctx:load(tid))
      sim.refused("EBUSY", "nothing to restart", ctx:restart())
      assert(ctx:start())
      assert(m:run { ns = 500 })
      sim.refused("EBUSY", "nothing to restart", ctx:restart())
   end)

   describe("without a sampling format:", function()
      it("'monitoring is masked. That means that no events are actually collected in any PMD register'", function()
         local m, ctx = masked()
         assert.are.same({ 0, 20 }, ctx:read_values { 4, 5 })
         assert(m:run { us = 10 })
         assert.are.same({ 0, 20 }, ctx:read_values { 4, 5 })
      end)

      it("'a PFM_START command is not required to reactivate monitoring after a PFM_RESTART'", function()
         local m, ctx = masked()
         assert(ctx:restart())
         assert(m:run { ns = 100 })
         assert.are.same({ -50 + 10, 20 + 20 }, ctx:read_values { 4, 5 })
      end)

      it("'if the PFM_FL_NOTIFY_BLOCK flag is set ... then it is blocked'; 'it is awoken'", function()
         local m, ctx, tid = masked({}, { flags = { "NOTIFY_BLOCK" } })
         assert(m:run { us = 10 })
         assert.are.equal("blocked", sim.thread(tid).state)
         assert.are.equal(10, m:truth(tid).instructions.total)
         assert(ctx:restart())
         assert(m:run { ns = 100 })
         assert.are.equal(20, m:truth(tid).instructions.total)
         assert.are.same({ -40, 40 }, ctx:read_values { 4, 5 })
      end)

      it("a blocked thread leaves its CPU to others", function()
         local m, ctx, tid = masked({}, { flags = { "NOTIFY_BLOCK" } })
         local other = m:spawn { program = sim.work(100) }
         assert(m:run { until_exit = other })
         assert.are.equal("blocked", sim.thread(tid).state)
         assert(ctx:restart())
      end)

      it("'each counting PMD register which overflowed is reloaded': the long reset value", function()
         local _, ctx = masked()
         assert(ctx:restart())
         assert.are.equal(-50, sim.value(ctx, 4))
      end)

      it("several that overflowed at once are all reloaded", function()
         local m, ctx, tid = notifying()
         assert(ctx:write_pmds { { num = 5, value = -20, long_reset = -99 } })
         sim.count(ctx, 6, "cycles", { value = -101, long_reset = -98 })
         sim.start(ctx, tid)
         assert(m:run { until_message = ctx })
         assert.are.same({ 4, 5 }, ctx:read(0).pmds)
         assert(ctx:restart())
         assert.are.same({ -50, -99, -1 }, ctx:read_values { 4, 5, 6 })
      end)

      it("'If randomization is requested a pseudo-random value is used': the same series for the same seed", function()
         local first
         for _ = 1, 2 do
            local m, ctx = masked { flags = { "OVFL_NOTIFY", "RANDOM" }, long_reset = -300, random_mask = 0xff,
               random_seed = 42 }
            local values = {}
            for i = 1, 5 do
               assert(ctx:restart())
               values[i] = sim.value(ctx, 4)
               assert(m:run { us = 3 })
            end
            assert.are.equal(-300 + 42, values[1])
            assert.are.equal(-300 + (42 * 16807) % 256, values[2]) -- Carta's generator
            first = first or values
            assert.are.same(first, values)
         end
      end)

      it("'A non-overflowed PMD register keeps its value unless it is designated in reg_reset_pmds'", function()
         local _, ctx = masked()
         assert(ctx:restart())
         assert.are.equal(20, sim.value(ctx, 5))
         _, ctx = masked { reset_pmds = { 5 } }
         assert(ctx:restart())
         assert.are.equal(500, sim.value(ctx, 5))
      end)

      it("... nor is one that overflowed before an earlier restart reset again", function()
         local m, ctx, tid = notifying { long_reset = -1000 }
         assert(ctx:write_pmds { { num = 5, value = -60, long_reset = -5000, flags = NOTIFY } })
         sim.start(ctx, tid)
         assert(m:run { until_message = ctx })
         assert.are.same({ 4 }, ctx:read(0).pmds)
         assert(ctx:restart())
         assert(m:run { until_message = ctx })
         assert.are.same({ 5 }, ctx:read(0).pmds)
         assert(ctx:restart())
         assert.are.same({ -1000 + 20, -5000 }, ctx:read_values { 4, 5 })
      end)

      it("'reset with its long reset value': one level, not the reset_pmds of the designated", function()
         local m, ctx, tid = notifying { reset_pmds = { 5 } }
         assert(ctx:write_pmds { { num = 5, value = 0, long_reset = 500, reset_pmds = { 6 } } })
         sim.count(ctx, 6, "cycles", { value = 7, long_reset = 600 })
         sim.start(ctx, tid)
         assert(m:run { until_message = ctx })
         assert(ctx:restart())
         assert.are.same({ -50, 500, 107 }, ctx:read_values { 4, 5, 6 })
      end)

      it("'Qualified events are again collected once the monitored thread is scheduled on a processor'", function()
         local m = sim.machine()
         local tid = m:spawn { program = { { loop = 10, { ip = 0x1000, ns = 10 } }, { sleep = 1000000 },
            { loop = 30, { ip = 0x2000, ns = 10 } } } }
         local ctx = sim.context()
         sim.count(ctx, 4, "instructions", { value = -10, long_reset = 0, flags = NOTIFY })
         sim.start(ctx, tid)
         assert(m:run { us = 1 })
         assert(ctx:restart())
         assert.are.equal(0, sim.value(ctx, 4))
         assert(m:run { until_exit = tid })
         assert.are.equal(30, sim.value(ctx, 4))
      end)

      it("'the interface does guarantee both operations are indeed completed': self-monitoring, system-wide", function()
         for _, kind in ipairs { "self", "system-wide" } do
            local m, _, tid = notifying()
            assert(m:run { ns = 10 })
            assert(m:act(tid))
            local ctx = sim.context { flags = kind == "system-wide" and { "SYSTEM_WIDE" } or {} }
            sim.count(ctx, 4, "instructions", { value = -10, long_reset = -50, flags = NOTIFY })
            sim.start(ctx, tid)
            assert(m:run { until_message = ctx })
            assert(ctx:restart())
            assert.are.equal(-50, sim.value(ctx, 4), kind)
            assert(m:run { ns = 10 })
            assert.are.equal(-49, sim.value(ctx, 4), kind)
         end
      end)

      it("a mask outlives PFM_STOP: restarted while stopped, it is reset and counts after PFM_START", function()
         local m, ctx = masked()
         assert(ctx:stop())
         assert(ctx:restart())
         assert.are.equal(-50, sim.value(ctx, 4))
         assert(m:run { ns = 100 })
         assert.are.equal(-50, sim.value(ctx, 4))
         assert(ctx:start())
         assert(m:run { ns = 100 })
         assert.are.equal(-40, sim.value(ctx, 4))
      end)
   end)

   it("system-wide, from another CPU: EBUSY, and the mask stays", function()
      local m = sim.machine("itanium2", { cpus = 2 })
      m:spawn { program = sim.work(100000), cpu = 0 }
      local ctx = sim.context { flags = { "SYSTEM_WIDE" } }
      sim.count(ctx, 4, "instructions", { value = -10, long_reset = -20, flags = NOTIFY })
      sim.start(ctx, 0)
      assert(m:run { until_message = ctx })
      assert(m:set("tool_cpu", 1))
      sim.refused("EBUSY", "monitors CPU 0", ctx:restart())
      assert(m:set("tool_cpu", 0))
      assert(ctx:restart())
      assert.are.equal(-20, sim.value(ctx, 4))
   end)

   it("with the default format: 'the condition is that the buffer has become full'; the format empties it", function()
      local m, ctx = masked({ short_reset = -10 }, { format = "default", buf_size = 4096 })
      local full = #ctx:buffer()
      assert.are.equal(92, full)
      assert.are.equal(92 * 100, m:time())
      assert(m:run { us = 10 })
      assert.are.same({ 0, 92 * 20 }, ctx:read_values { 4, 5 }) -- masked
      assert(ctx:restart())
      assert.are.equal(0, #ctx:buffer())
      assert.are.equal(-50, sim.value(ctx, 4)) -- the long reset
      assert(m:run { ns = 700 })
      assert.are.equal(3, #ctx:buffer()) -- samples taken at 500, 600 and 700
   end)

   describe("sets:", function()
      it("time-based: 'switching is stopped until the PFM_RESTART command is issued', the same set goes on", function()
         local m = sim.machine()
         local tid = m:spawn { program = sim.work(1000000) }
         local ctx = sim.context()
         assert(ctx:create_evtsets { { id = 0, flags = { "TIME_SWITCH" }, timeout = 1000000 }, { id = 1 } })
         sim.count(ctx, 4, "instructions", { value = -40000, long_reset = 0, flags = NOTIFY })
         sim.start(ctx, tid)
         assert(m:run { until_message = ctx })
         assert.are.equal(600000, sim.info(ctx).timeout)
         assert(m:run { ms = 5 })
         assert.are.same({ 600000, 0 }, { sim.info(ctx).timeout, sim.info(ctx, 1).runs })
         assert(ctx:restart())
         assert(m:run { us = 599 })
         assert.are.equal(0, sim.info(ctx, 1).runs)
         assert.are.equal(59900, sim.value(ctx, 4))
         assert(m:run { us = 1 })
         assert.are.equal(1, sim.info(ctx, 1).runs)
      end)

      it("overflow-based: 'switching occurs if at least one ... has reached its allowed number'", function()
         local m, ctx, tid = notifying { switch_cnt = 2, long_reset = -30 }
         assert(ctx:create_evtsets { { id = 0, flags = { "OVFL_SWITCH" } }, { id = 1 } })
         sim.start(ctx, tid)
         assert(m:run { until_message = ctx })
         assert(ctx:read(0))
         assert(ctx:restart()) -- the first overflow of two: no switch
         assert.are.equal(0, sim.info(ctx, 1).runs)
         assert.are.equal(-30, sim.value(ctx, 4))
         assert(m:run { until_message = ctx })
         assert.are.equal(0, ctx:read(0).set)
         assert.are.equal(0, sim.info(ctx, 1).runs) -- the switch waits for the restart
         assert(ctx:restart())
         assert.are.equal(1, sim.info(ctx, 1).runs)
         assert.are.same({ 4 }, sim.info(ctx, 0).ovfl_pmds)
      end)
   end)

   it("through perfmonctl(): no argument, errors", function()
      local out, status = c.sh(c.compile("perfmonctl_errors") .. " 3.1.9")
      assert.are.equal(0, status, out)
   end)

   it("masked is not stopped: what rum stopped meanwhile stays stopped (5.3)", function()
      local m = sim.machine()
      local ctx = sim.context { flags = { "INSECURE" } }
      sim.count(ctx, 4, "instructions", { value = -10, flags = { "OVFL_NOTIFY" } })
      assert(ctx:load(m:spawn { program = { { loop = 20, { ip = 1, ns = 10 } }, { rum = true },
         { loop = 1000, { ip = 2, ns = 10 } } } }))
      assert(ctx:start())
      assert(m:run { ns = 500 })
      assert(ctx:restart())
      assert(m:run { ns = 1000 })
      assert.are.equal(0, sim.value(ctx, 4))
   end)
end)
