-- SPDX-License-Identifier: MIT
-- Specification 3.7.7: event sets and sampling.
local lpfm = require "lpfm"
local sim = require "support.sim"

local runs = sim.runs

-- Makes sets 0 and 1, which switch to each other by overflows: of PMD4 in set 0, PMD5 in set 1.
local function pair(zero, one, options)
   local m = sim.machine("itanium2", { timer_ns = 100 })
   local ctx = sim.context(options)
   assert(ctx:create_evtsets { { id = 0, flags = { "OVFL_SWITCH" } }, { id = 1, flags = { "OVFL_SWITCH" } } })
   zero.switch_cnt, one.switch_cnt, one.set = 1, 1, 1
   sim.count(ctx, 4, "instructions", zero)
   sim.count(ctx, 5, "instructions", one)
   return m, ctx, function()
      sim.start(ctx, m:spawn { program = sim.work(100000) })
   end
end

describe("3.7.7 Event sets and sampling", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("user level: 'The active set number is always included with the overflow message', for PFM_READ_PMDS", function()
      local m, ctx, go = pair({ value = -10, long_reset = -10, flags = { "OVFL_NOTIFY" } },
         { value = -20, long_reset = -20, flags = { "OVFL_NOTIFY" } })
      sim.count(ctx, 6, "cycles")
      sim.count(ctx, 6, "cycles", { set = 1, value = 5000 })
      go()
      local seen = {}
      for i = 1, 4 do
         assert(m:run { until_message = ctx })
         local msg = ctx:read(0)
         seen[i] = msg.set .. ":" .. sim.value(ctx, 6, msg.set)
         assert(ctx:restart())
      end
      assert.are.equal("0:100 1:5200 0:200 1:5400", table.concat(seen, " "))
   end)

   it("... also where the overflow leaves the set at once: that of the overflow, not the one that follows", function()
      local m = sim.machine()
      -- two regions of 3 samples each; the third overflow fills one, notifies, does not mask, and
      -- switches
      local ctx = sim.context { format = "n-way", regions = 2, buf_size = 384 + 2 * (152 + 8 * #lpfm.pmds()) }
      assert(ctx:create_evtsets { { id = 0, flags = { "OVFL_SWITCH" } }, { id = 1 } })
      sim.count(ctx, 4, "instructions", { value = -10, short_reset = -10, switch_cnt = 3, flags = { "OVFL_NOTIFY" } })
      sim.count(ctx, 5, "instructions", { set = 1 })
      sim.start(ctx, m:spawn { program = sim.work(1000) })
      assert(m:run { until_message = ctx })
      assert.are.equal(300, m:time())
      assert.are.same({ 1, 1 }, runs(ctx, 0, 1))
      local msg = ctx:read(0)
      assert.are.same({ 0, { 4 } }, { msg.set, msg.pmds })
      assert(m:run { ns = 100 })
      assert.are.equal(10, sim.value(ctx, 5, 1))
   end)

   it("default format: each sample's set 'identifies the active set number at the time of the overflow'", function()
      local m, ctx, go = pair({ value = -10, short_reset = -10, smpl_pmds = { 6, 7 } },
         { value = -20, short_reset = -20, smpl_pmds = { 7 } }, { format = "default" })
      sim.count(ctx, 6, "instructions")
      sim.count(ctx, 7, "cycles")
      sim.count(ctx, 7, "cycles", { set = 1 })
      go()
      assert(m:run { ns = 650 })
      local seen = {}
      for s in ctx:buffer():samples() do -- 'samples may have different sizes'
         seen[#seen + 1] = s.set .. "/" .. s.ovfl_pmd .. "/" .. s.pmds .. "/" .. s:pmd(s.pmds)
      end
      assert.are.equal("0/4/2/100 1/5/1/200 0/4/2/200 1/5/1/400", table.concat(seen, " "))
   end)

   it("'time-based switching is stopped if and only if monitoring is masked': not by samples, but by a full buffer",
      function()
         local m = sim.machine("itanium2", { timer_ns = 100 })
         local ctx = sim.context { format = "default", buf_size = sim.buffer_size(5) }
         for id = 0, 1 do
            assert(ctx:create_evtsets { { id = id, flags = { "TIME_SWITCH" }, timeout = 1000 } })
            sim.count(ctx, 4, "instructions", { set = id, value = -40, short_reset = -40, long_reset = -40 })
         end
         sim.start(ctx, m:spawn { program = sim.work(10000) })
         -- samples at 40 and 80; in set 1 at 140 and 180; in set 0 again at 220
         assert(m:run { us = 10 })
         local at = {}
         for s in ctx:buffer():samples() do
            at[#at + 1] = s.tstamp / 10
         end
         assert.are.same({ 40, 80, 140, 180, 220 }, at)
         assert.are.same({ 2, 1 }, runs(ctx, 0, 1))
         assert.are.equal(800, sim.info(ctx).timeout)
         assert(ctx:restart())
         assert(m:run { ns = 790 })
         assert.are.same({ 2, 1 }, runs(ctx, 0, 1))
         assert(m:run { ns = 10 })
         assert.are.same({ 2, 2 }, runs(ctx, 0, 1))
      end)

   it("overflow-based: 'in the PMU interrupt handler if and only if monitoring is not masked'", function()
      local m, ctx, go = pair({ value = -10, short_reset = -10 }, { value = -10, short_reset = -10 },
         { format = "default", buf_size = sim.buffer_size(3) })
      go()
      assert(m:run { ns = 250 })
      assert.are.same({ 2, 1 }, runs(ctx, 0, 1)) -- two samples, two switches
      assert(m:run { us = 1 })
      -- the third sample filled the buffer and masked: no switch
      assert.are.same({ 2, 1 }, runs(ctx, 0, 1))
   end)

   it("... 'Otherwise, switching is ... deferred until monitoring is resumed with the PFM_RESTART'", function()
      local m, ctx, go = pair({ value = -10, long_reset = -30, flags = { "OVFL_NOTIFY" } }, { value = -10 })
      go()
      assert(m:run { until_message = ctx })
      assert(m:run { us = 1 })
      assert.are.same({ 1, 0 }, runs(ctx, 0, 1))
      assert.are.equal(0, sim.value(ctx, 4)) -- 'a consistent view of the sets'
      assert(ctx:restart())
      assert.are.same({ 1, 1 }, runs(ctx, 0, 1))
      -- the PMD that overflowed is reset as by any restart (3.1.9)
      assert.are.equal(-30, sim.value(ctx, 4))
      assert(m:run { ns = 50 })
      assert.are.equal(-5, sim.value(ctx, 5, 1))
   end)

   it("in the handler: PMDs 'which last overflowed in this new set' and their reset_pmds: short values", function()
      local m, ctx, go = pair({ value = -10, short_reset = -15, long_reset = -99, reset_pmds = { 6 } },
         { value = -20, short_reset = -20, long_reset = -99 })
      sim.count(ctx, 6, "instructions", { short_reset = 600, long_reset = 700 })
      -- PMD7 did not overflow
      sim.count(ctx, 7, "instructions", { short_reset = 1, long_reset = 2 })
      go()
      assert(m:run { ns = 290 })
      assert.are.same({ 0, 10, 10 }, ctx:read_values { 4, 6, 7 }) -- set 0 as it was left
      assert(m:run { ns = 10 })
      assert.are.same({ -15, 600, 10 }, ctx:read_values { 4, 6, 7 })
      assert(m:run { ns = 150 })
      assert.are.same({ 2, 2 }, runs(ctx, 0, 1))
      assert.are.equal(-20, sim.value(ctx, 5, 1))
   end)

   it("... not so what one that only wrapped at the same time resets: at once, as 3.1.2 says", function()
      local m, ctx, go = pair({ value = -10, short_reset = -15, reset_pmds = { 6 } },
         { value = -20, short_reset = -20 })
      sim.count(ctx, 5, "instructions", { value = -10, reset_pmds = { 7 } })
      sim.count(ctx, 6, "instructions", { short_reset = 600 })
      sim.count(ctx, 7, "instructions", { short_reset = 500 })
      go()
      assert(m:run { ns = 290 })
      assert.are.same({ 0, 0, 10, 500 }, ctx:read_values { 4, 5, 6, 7 }) -- set 0 as it was left
      assert(m:run { ns = 10 })
      assert.are.same({ -15, 0, 600, 500 }, ctx:read_values { 4, 5, 6, 7 })
   end)

   it("during PFM_RESTART: those 'are reset using their long reset values'", function()
      local m, ctx, go = pair({ value = -10, short_reset = -15, long_reset = -99, reset_pmds = { 6 } },
         { value = -20, short_reset = -20, long_reset = -88, flags = { "OVFL_NOTIFY" } })
      sim.count(ctx, 6, "instructions", { short_reset = 600, long_reset = 700 })
      go()
      -- set 0 was left by PMD4; the switch from set 1 waits for the restart
      assert(m:run { until_message = ctx })
      assert.are.equal(300, m:time())
      assert(ctx:restart())
      assert.are.same({ 2, 1 }, runs(ctx, 0, 1))
      assert.are.same({ -99, 700 }, ctx:read_values { 4, 6 })
      assert.are.equal(-88, sim.value(ctx, 5, 1))
      assert(m:run { ns = 990 })
      assert.are.same({ 2, 2 }, runs(ctx, 0, 1))
   end)

   it("a deferred switch belongs to the set that was to be left: PFM_START of another forgets it", function()
      local m, ctx, go = pair({ value = -10, long_reset = -30, flags = { "OVFL_NOTIFY" } }, { value = -1000 })
      go()
      assert(m:run { until_message = ctx })
      assert(ctx:start(1))
      assert.are.same({ 1, 1 }, runs(ctx, 0, 1))
      assert(ctx:restart())
      assert(m:run { ns = 100 })
      assert.are.same({ 1, 1 }, runs(ctx, 0, 1))
      assert.are.equal(-990, sim.value(ctx, 5, 1))
   end)
end)
