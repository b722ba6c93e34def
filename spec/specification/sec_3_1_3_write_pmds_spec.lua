-- SPDX-License-Identifier: MIT
-- Section 3.1.3, PFM_WRITE_PMDS.
local c = require "support.c"
local lpfm = require "lpfm"
local sim = require "support.sim"

local MODELS = sim.models()

describe("3.1.3 PFM_WRITE_PMDS", function()
   before_each(sim.begin)
   after_each(sim.finish)

   -- Makes a context in which PMD4 counts the n instructions that a thread executes.
   local function counting(n, pmd, fields)
      local m = sim.machine()
      local tid = m:spawn { program = sim.work(n) }
      local ctx = sim.count(sim.context(fields), 4, "instructions", pmd)
      sim.start(ctx, tid)
      return m, ctx, tid
   end

   it("'the value is always 64-bit no matter what the underlying PMU supports'", function()
      for _, model in ipairs(MODELS) do
         sim.machine(model)
         local ctx = sim.context()
         for _, value in ipairs { "0x123456789abcdef0", "0xffffffffffffffff", "0x8000000000000000" } do
            local num = sim.counter()
            assert(ctx:write_pmds { { num = num, value = value } })
            assert.is_true(lpfm.u64(value) == lpfm.u64(sim.value(ctx, num)), model .. " " .. value)
         end
      end
   end)

   it("detached: 'the initial value to be loaded into the actual PMD register when the context is attached'", function()
      local m, ctx, tid = counting(10, { value = 1000 })
      assert(m:run { until_exit = tid })
      assert.are.equal(1010, sim.value(ctx, 4))
   end)

   it("attached: 'the value is used to update the actual PMD register'", function()
      local m, ctx, tid = counting(10, { value = 1000 })
      assert(m:run { ns = 50 })
      assert(ctx:write_pmds { { num = 4, value = 77 } })
      assert(m:run { until_exit = tid })
      assert.are.equal(77 + 5, sim.value(ctx, 4))
   end)

   it("... and what other PMDs of the set have counted is kept", function()
      local m, ctx, tid = counting(10)
      sim.count(ctx, 5, "cycles")
      assert(m:run { ns = 50 })
      assert(ctx:write_pmds { { num = 4, value = 0 } })
      assert(m:run { until_exit = tid })
      assert.are.same({ 5, 100 }, ctx:read_values { 4, 5 })
   end)

   it("reg_flags: 'All but the return flag bits are reserved' (and those of 2.x)", function()
      local ctx = sim.context()
      for _, flags in ipairs { 0x4, 0x8, 0x20, 0x10000, 0x800000 } do
         sim.refused("EINVAL", "element 1: unknown reg_flags", ctx:write_pmds { { num = 4, value = 0, flags = flags } })
      end
   end)

   it("reg_smpl_pmds, reg_reset_pmds: a PMD that cannot be in them is named", function()
      local ctx = sim.context()
      sim.refused("EINVAL", "element 1: reg_smpl_pmds: PMD63 is not available",
         ctx:write_pmds { { num = 4, value = 0, smpl_pmds = { 4, 63 } } })
      sim.refused("EINVAL", "element 1: reg_reset_pmds: PMD80 cannot be written",
         ctx:write_pmds { { num = 4, value = 0, reset_pmds = { 5, 80 } } })
   end)

   it("reg_long_reset: 'the value to reload during PFM_RESTART following an overflow notification'", function()
      local m, ctx = counting(1000, { value = -10, long_reset = -77, short_reset = -5, flags = { "OVFL_NOTIFY" } })
      assert(m:run { until_message = ctx })
      assert.are.equal(0, sim.value(ctx, 4))
      assert(ctx:restart())
      assert.are.equal(-77, sim.value(ctx, 4))
   end)

   it("'the register may have been reset prior to restart, in which case, this value is not used'", function()
      -- the default format resets with the short value while its buffer has room
      local m, ctx = counting(95, { value = -10, long_reset = -77, short_reset = -20, flags = { "OVFL_NOTIFY" } },
         { format = "default", buf_size = 4096 })
      assert(m:run { us = 1 })
      assert.are.equal(5, #ctx:buffer()) -- the samples are taken at 10, 30, 50, 70, 90
      assert.are.equal(-15, sim.value(ctx, 4))
   end)

   it("reg_long_reset, reg_short_reset of a PMD that is no counter: it 'does not overflow', but reset_pmds resets it",
      function()
         local m, ctx = counting(100, { value = -10, long_reset = -10, flags = { "OVFL_NOTIFY" }, reset_pmds = { 8 } })
         assert(ctx:write_pmds { { num = 8, value = 1, long_reset = 88, short_reset = 99 },
            { num = 9, value = 2, long_reset = 188, short_reset = 199 } })
         assert(m:run { until_message = ctx })
         assert.are.same({ 1, 2 }, ctx:read_values { 8, 9 })
         assert(ctx:restart())
         assert.are.same({ 88, 2 }, ctx:read_values { 8, 9 })
      end)

   it("reg_short_reset: 'when it overflows and there is no user level notification'", function()
      local m, ctx = counting(100, { value = -10, long_reset = -77, short_reset = -30 },
         { format = "default", buf_size = 4096 })
      assert(m:run { ns = 100 })
      assert.are.equal(-30, sim.value(ctx, 4))
      assert(m:run { ns = 310 })
      assert.are.equal(-29, sim.value(ctx, 4))
   end)

   it("reg_last_reset_val 'is ignored for this command'", function()
      local out, status = c.sh(c.compile("perfmonctl_errors") .. " 3.1.3")
      assert.are.equal(0, status, out)
   end)

   it("reg_ovflsw_thres: 'the number of overflows before switching to the next set': 1, 2, 3", function()
      for threshold = 1, 3 do
         local m = sim.machine()
         local ctx = sim.context()
         assert(ctx:create_evtsets { { id = 0, flags = { "OVFL_SWITCH" } }, { id = 1 } })
         sim.count(ctx, 4, "instructions", { value = -10, short_reset = -10, switch_cnt = threshold })
         sim.start(ctx, m:spawn { program = sim.work(1000) })
         assert(m:run { ns = 100 * threshold - 1 })
         assert.are.equal(0, sim.info(ctx, 1).runs)
         assert(m:run { ns = 1 })
         assert.are.equal(1, sim.info(ctx, 1).runs)
      end
   end)

   it("... 'only effectively occurs when PFM_SETFL_OVFL_SWITCH is selected', 'otherwise ... ignored'", function()
      local m = sim.machine()
      local ctx = sim.context()
      assert(ctx:create_evtsets { { id = 1 } })
      sim.count(ctx, 4, "instructions", { value = -10, short_reset = -10, switch_cnt = 1 })
      sim.start(ctx, m:spawn { program = sim.work(1000) })
      assert(m:run { us = 9 })
      assert.are.equal(0, sim.info(ctx, 1).runs)
      assert.are.equal(890, sim.value(ctx, 4))
      assert.are.equal(0, ctx:read_pmds({ 4 })[1].switch_cnt)
   end)

   it("... 'is also ignored for all non counting PMD registers'", function()
      local ctx = sim.context()
      assert(ctx:create_evtsets { { id = 0, flags = { "OVFL_SWITCH" } } })
      assert(ctx:write_pmds { { num = 8, value = 1, switch_cnt = 5 }, { num = 4, value = 1, switch_cnt = 6 } })
      local r = ctx:read_pmds { 8, 4 }
      assert.are.same({ 0, 6 }, { r[1].switch_cnt, r[2].switch_cnt })
   end)

   it("reg_random_mask, reg_random_seed: only with RANDOM, 'Otherwise, this field is ignored'", function()
      local m, ctx = counting(1000, { value = -10, long_reset = -500, random_mask = 0xff, random_seed = 99,
         flags = { "OVFL_NOTIFY" } })
      assert(m:run { until_message = ctx })
      assert(ctx:restart())
      assert.are.equal(-500, sim.value(ctx, 4))
   end)

   it("... and only with a counting PMD", function()
      local m, ctx = counting(1000, { value = -10, flags = { "OVFL_NOTIFY" }, reset_pmds = { 8 } })
      assert(ctx:write_pmds { { num = 8, value = 0, long_reset = 40, random_mask = 0xff, random_seed = 99,
         flags = { "RANDOM" } } })
      assert(m:run { until_message = ctx })
      assert(ctx:restart())
      assert.are.equal(40, sim.value(ctx, 8))
   end)

   it("reg_random_seed: 'There is no restriction on the 32-bit value of this field'", function()
      for _, seed in ipairs { 0, 1, 0x7fffffff, 0x80000000, 0xffffffff } do
         local m, ctx = counting(10000, { value = -10, long_reset = -300, random_mask = 0xff, random_seed = seed,
            flags = { "OVFL_NOTIFY", "RANDOM" } })
         local values, all_the_same = {}, true
         for i = 1, 4 do
            assert(m:run { until_message = ctx })
            assert(ctx:read(0))
            assert(ctx:restart())
            values[i] = sim.value(ctx, 4)
            assert.is_true(values[i] >= -300 and values[i] <= -300 + 0xff, seed .. ": " .. values[i])
            all_the_same = all_the_same and values[i] == values[1]
         end
         assert.is_false(all_the_same, "seed " .. seed .. " gives " .. table.concat(values, " "))
      end
   end)

   it("'for all counting PMD registers, it is guaranteed to be 0': the default value", function()
      for _, model in ipairs(MODELS) do
         sim.machine(model)
         local ctx = sim.context()
         for _, reg in ipairs(lpfm.pmds()) do
            if reg.num < 80 then
               assert.are.equal(reg.kind[2] == "C64" and 0 or reg.def_value, sim.value(ctx, reg.num))
            end
         end
      end
   end)

   it("attached, system-wide: any thread with access 'and running on the monitored CPU'", function()
      local m = sim.machine("itanium2", { cpus = 2 })
      local on_1 = m:spawn { program = sim.work(100000), cpu = 1 }
      assert(m:run { ns = 10 })
      local ctx = sim.context { flags = { "SYSTEM_WIDE" } }
      assert(ctx:write_pmds { { num = 4, value = 3 } })
      assert(ctx:load(0))
      assert(m:act(on_1))
      sim.refused("EBUSY", "monitors CPU 0", ctx:write_pmds { { num = 4, value = 5 } })
      assert(m:act())
      assert.are.equal(3, sim.value(ctx, 4))
      assert(ctx:write_pmds { { num = 4, value = 5 } })
      assert.are.equal(5, sim.value(ctx, 4))
   end)

   it("attached, self-monitoring: 'this command must always be possible'", function()
      local m = sim.machine()
      local tid = m:spawn { program = sim.work(1000) }
      assert(m:act(tid))
      local ctx = sim.count(sim.context(), 4, "instructions", { value = -20, flags = { "OVFL_NOTIFY" } })
      assert(ctx:load(tid))
      assert(ctx:write_pmds { { num = 5, value = 1 } })
      assert(ctx:start())
      assert(m:run { ns = 20 })
      assert(ctx:write_pmds { { num = 5, value = 2 } })
      assert(m:run { until_message = ctx })
      assert(ctx:write_pmds { { num = 5, value = 3 } }) -- while masked, too
      assert.are.equal(3, sim.value(ctx, 5))
   end)

   describe("64-bit emulation", function()
      -- PMD0 of ARMv8 has 32 bits; each round of the program counts 2^31 l2_misses.
      it("figure 3.3: 0, then past 2^32 - 1: the upper bits are kept in software, 0x100000000", function()
         local m = sim.machine("armv8")
         assert.are.equal(32, lpfm.config().counter_width)
         local tid = m:spawn { program = sim.work(10, { l2_misses = 0x80000000 }) }
         local ctx = sim.count(sim.context(), 0, "l2_misses")
         sim.start(ctx, tid)
         assert(m:run { ns = 10 })
         assert.are.equal(0x80000000, sim.value(ctx, 0))
         assert(m:run { ns = 10 })
         assert.are.equal(0x100000000, sim.value(ctx, 0))
         assert(m:run { until_exit = tid })
         assert.are.equal(10 * 0x80000000, sim.value(ctx, 0))
         assert.is_truthy(ctx:read(0)) -- this is END: a carry into the upper bits is no overflow
      end)

      it("an overflow is that of the 64 bits: every width, notified at the exact event", function()
         for _, model in ipairs(MODELS) do
            local m = sim.machine(model)
            local num = sim.counter("instructions")
            local tid = m:spawn { program = sim.work(1000, { instructions = 0x40000000 }) }
            local ctx = sim.context()
            -- 600 rounds of 2^30 before the 64-bit overflow: the narrow counters wrap on the way
            sim.count(ctx, num, "instructions", { value = -600 * 0x40000000, flags = { "OVFL_NOTIFY" } })
            sim.start(ctx, tid)
            assert(m:run { until_message = ctx })
            assert.are.equal(6000, m:time(), model)
            assert.are.equal(0, sim.value(ctx, num))
         end
      end)

      it("survives context switches, stop and start, unload and load", function()
         local m = sim.machine("armv8")
         local tid = m:spawn { program = sim.work(100, { l2_misses = 0x70000000 }, 1000000) }
         m:spawn { program = sim.work(100, nil, 1000000) } -- takes the CPU every 10 ms
         local ctx = sim.count(sim.context(), 0, "l2_misses")
         sim.start(ctx, tid)
         assert(m:run { ms = 35 })
         assert(ctx:stop())
         assert(ctx:start())
         assert(m:run { ms = 50 })
         assert(ctx:unload())
         sim.start(ctx, tid)
         assert(m:run { until_exit = tid })
         assert.are.equal(100 * 0x70000000, sim.value(ctx, 0))
      end)

      for what, act in pairs {
         read = function() end,
         stop = function(ctx) assert(ctx:stop()) end,
         unload = function(ctx) assert(ctx:unload()) end,
         exit = function(_, m, tid) assert(m:kill(tid)) end,
         ["write of another PMD"] = function(ctx) assert(ctx:write_pmds { { num = 1, value = 5 } }) end,
         ["start of another set"] = function(ctx) assert(ctx:start(1)) end,
      } do
         it("an overflow interrupt still on its way (skid) is not lost by a " .. what, function()
            local m = sim.machine("armv8", { skid = 50 })
            local tid = m:spawn { program = sim.work(1000, { l2_misses = 0x80000000 }) }
            local ctx = sim.context()
            assert(ctx:create_evtsets { { id = 1 } })
            sim.count(ctx, 0, "l2_misses")
            sim.start(ctx, tid)
            assert(m:run { ns = 30 })
            act(ctx, m, tid)
            assert.are.equal(3 * 0x80000000, sim.value(ctx, 0))
         end)
      end

      it("... nor by a context switch, nor by the exit of the thread", function()
         local m = sim.machine("armv8", { skid = 1000 })
         local program = { { ip = 0x1000, ns = 10, events = { l2_misses = "0x1c0000000" } }, { sleep = 1000 },
            { ip = 0x1000, ns = 10, events = { l2_misses = 0x80000000 } } }
         local tid = m:spawn { program = program }
         local ctx = sim.count(sim.context(), 0, "l2_misses")
         sim.start(ctx, tid)
         assert(m:run { ns = 500 })
         assert.are.equal(0x1c0000000, sim.value(ctx, 0))
         assert(m:run { until_exit = tid })
         assert.are.equal(0x240000000, sim.value(ctx, 0))
      end)

      it("'For non counting PMD registers ... no emulation is done': what was written is there", function()
         sim.machine()
         local ctx = sim.context()
         assert(ctx:write_pmds { { num = 16, value = "0xdeadbeef12345678" } })
         assert.are.equal("0xdeadbeef12345678", lpfm.u64(sim.value(ctx, 16)):hex())
      end)
   end)

   it("figure 3.4: base 0x100000, mask 0xff, random number 0x1567fb: 0x1000fb", function()
      local m, ctx = counting(1000, { value = -10, long_reset = 0x100000, random_mask = 0xff, random_seed = 0x1567fb,
         flags = { "OVFL_NOTIFY", "RANDOM" } })
      assert(m:run { until_message = ctx })
      assert(ctx:restart())
      assert.are.equal(0x1000fb, sim.value(ctx, 4))
   end)

   it("randomization: 'either the value in the reg_short_reset or reg_long_reset field depending when'", function()
      local m, ctx = counting(1000, { value = -10, long_reset = -900, short_reset = -100, random_mask = 0xf,
         random_seed = 5, flags = { "RANDOM" } }, { format = "default", buf_size = 4096 })
      assert(m:run { ns = 100 })
      assert.are.equal(-100 + 5, sim.value(ctx, 4)) -- the seed is the first random number
      assert.are.equal(-100 + 5, ctx:read_pmds({ 4 })[1].last_reset)
   end)

   it("'It is not possible to specify an event set that does not exist'", function()
      local ctx = sim.context()
      sim.refused("EINVAL", "set 7 does not exist", ctx:write_pmds { { num = 4, value = 0, set = 7 } })
      assert(ctx:create_evtsets { { id = 7 } })
      assert(ctx:write_pmds { { num = 4, value = 9, set = 7 } })
      assert.are.equal(9, sim.value(ctx, 4, 7))
      assert.are.equal(0, sim.value(ctx, 4, 0))
   end)

   it("'may limit the number of elements': 23 of 176 bytes are 4048", function()
      local ctx, v = sim.context(), {}
      for i = 1, 24 do
         v[i] = { num = 4, value = i }
      end
      sim.refused("E2BIG", "24 elements", ctx:write_pmds(v))
      v[24] = nil
      assert(ctx:write_pmds(v))
      assert.are.equal(23, sim.value(ctx, 4))
      sim.refused("EINVAL", "at least 1 element", ctx:write_pmds {})
   end)

   it("'The command aborts at the first error': before it done, beyond it not", function()
      local ctx = sim.context()
      for _, bad in ipairs { { num = 18, value = 0 }, { num = 80, value = 1 }, { num = 4, value = 0, set = 1 },
         { num = 4, value = 0, flags = 0x40 } } do
         assert(ctx:write_pmds { { num = 4, value = 0 }, { num = 5, value = 0 } })
         sim.refused("EINVAL", "element 2", ctx:write_pmds { { num = 4, value = 44 }, bad, { num = 5, value = 55 } })
         assert.are.same({ 44, 0 }, ctx:read_values { 4, 5 })
      end
   end)
end)
