-- SPDX-License-Identifier: MIT
-- Section 3.1.4, PFM_READ_PMDS.
local c = require "support.c"
local lpfm = require "lpfm"
local sim = require "support.sim"

describe("3.1.4 PFM_READ_PMDS", function()
   before_each(sim.begin)
   after_each(sim.finish)

   local function sampled(pmd, fields, n)
      local m = sim.machine()
      local ctx = sim.context(fields)
      pmd.flags = pmd.flags or { "OVFL_NOTIFY" }
      sim.count(ctx, 4, "instructions", pmd)
      local tid = m:spawn { program = sim.work(n or 1000) }
      sim.start(ctx, tid)
      return m, ctx, tid
   end

   it("'More than one register can be read in one call': the values belong to one moment", function()
      local m = sim.machine()
      local tid = m:spawn { program = sim.work(1000, { loads = 2 }) }
      local ctx = sim.count(sim.context(), 4, "instructions")
      sim.count(ctx, 5, "loads")
      sim.count(ctx, 6, "cycles")
      sim.start(ctx, tid)
      assert(m:run { ns = 125 })
      assert.are.same({ 12, 24, 120 }, ctx:read_values { 4, 5, 6 })
   end)

   it("reg_value: 'ignored on input ... the current value of the PMD register'", function()
      local _, ctx = sampled({ value = -10 })
      local v = lpfm.pmds { { num = 4, value = 12345 } }
      assert(ctx:read_into(v))
      assert.are.equal(-10, v[1])
   end)

   it("reg_flags: 'All but the return flag bits are reserved' (6.2.2 adds READ_RESET)", function()
      local ctx = sim.context()
      for _, flags in ipairs { 0x4, 0x40000, 0x10000 } do
         sim.refused("EINVAL", "element 1: unknown reg_flags", ctx:read_pmds { { num = 4, flags = flags } })
      end
      assert(ctx:read_pmds { { num = 4, flags = { "READ_RESET" } } })
   end)

   it("reads back what was written, flags and all, as 2.x did; perfmonctl() does not", function()
      local m, ctx = sampled({ value = -10, flags = { "OVFL_NOTIFY", "RANDOM" } })
      assert(m:run { ns = 50 })
      assert.are.equal(-5, assert(ctx:read_pmds { { num = 4, flags = { "OVFL_NOTIFY", "RANDOM" } } })[1].value)
      sim.refused("EINVAL", "element 1: reg_flags", lpfm.perfmonctl(ctx, "PFM_READ_PMDS", { { num = 4, flags = 1 } }))
   end)

   it("reg_long_reset, reg_short_reset, reg_random_mask, reg_random_seed: 'not used by this command'", function()
      local m, ctx = sampled({ value = -10, long_reset = -20, short_reset = -30, random_mask = 7, random_seed = 3 })
      local v = lpfm.pmds { { num = 4, long_reset = 1, short_reset = 2, random_mask = 3, random_seed = 4 } }
      assert(ctx:read_into(v))
      assert.are.same({ 1, 2, 3, 4 }, { v:get(1, "long_reset"), v:get(1, "short_reset"), v:get(1, "random_mask"),
         v:get(1, "random_seed") })
      assert(m:run { until_message = ctx })
      assert(ctx:restart())
      assert.are.equal(-20, sim.value(ctx, 4))
   end)

   describe("reg_last_reset_val: 'the last value that was loaded in the PMD register'", function()
      it("as written, until a reset", function()
         local _, ctx = sampled({ value = -10, long_reset = -20 })
         assert.are.equal(-10, ctx:read_pmds({ 4 })[1].last_reset)
      end)

      it("'the value of reg_long_reset'", function()
         local m, ctx = sampled({ value = -10, long_reset = -20 })
         assert(m:run { until_message = ctx })
         assert(ctx:restart())
         assert(m:run { ns = 50 })
         local r = ctx:read_pmds({ 4 })[1]
         assert.are.same({ -20, -15 }, { r.last_reset, r.value })
      end)

      it("'the value of reg_short_reset'", function()
         local m, ctx = sampled({ value = -10, long_reset = -20, short_reset = -30 },
            { format = "default", buf_size = 4096 })
         assert(m:run { ns = 150 })
         local r = ctx:read_pmds({ 4 })[1]
         assert.are.same({ -30, -25 }, { r.last_reset, r.value })
      end)

      it("'contains the last pseudo random value' when randomization is selected", function()
         local m, ctx = sampled({ value = -10, long_reset = -1000, random_mask = 0xff, random_seed = 0x7b,
            flags = { "OVFL_NOTIFY", "RANDOM" } })
         assert(m:run { until_message = ctx })
         assert(ctx:restart())
         assert(m:run { ns = 50 })
         local r = ctx:read_pmds({ 4 })[1]
         assert.are.same({ -1000 + 0x7b, -1000 + 0x7b + 5 }, { r.last_reset, r.value })
      end)
   end)

   it("reg_ovflsw_thres: 'the number of overflows left before switching to the next set'", function()
      local m = sim.machine()
      local ctx = sim.context()
      assert(ctx:create_evtsets { { id = 0, flags = { "OVFL_SWITCH" } }, { id = 1, flags = { "OVFL_SWITCH" } } })
      sim.count(ctx, 4, "instructions", { value = -10, short_reset = -10, switch_cnt = 3 })
      sim.count(ctx, 5, "instructions")
      sim.start(ctx, m:spawn { program = sim.work(1000) })
      local left = {}
      for _ = 1, 3 do
         left[#left + 1] = ctx:read_pmds({ 4 })[1].switch_cnt
         assert(m:run { ns = 100 })
      end
      assert.are.same({ 3, 2, 1 }, left)
      assert.are.equal(1, sim.info(ctx, 1).runs)
      assert.are.equal(0, ctx:read_pmds({ 4 })[1].switch_cnt)
      assert.are.equal(0, ctx:read_pmds({ 5 })[1].switch_cnt)
   end)

   it("... 0 'when PFM_SETFL_OVFL_SWITCH is not enabled or if the PMD is not a counting PMD'", function()
      local ctx = sim.context()
      assert(ctx:create_evtsets { { id = 1, flags = { "OVFL_SWITCH" } } })
      assert(ctx:write_pmds { { num = 4, value = 0, switch_cnt = 9 }, { num = 4, value = 0, switch_cnt = 9, set = 1 },
         { num = 8, value = 0, switch_cnt = 9, set = 1 } })
      local r = ctx:read_pmds { 4, { num = 4, set = 1 }, { num = 8, set = 1 } }
      assert.are.same({ 0, 9, 0 }, { r[1].switch_cnt, r[2].switch_cnt, r[3].switch_cnt })
   end)

   it("'reading a PMD register just after the context is created returns its default value'", function()
      for _, model in ipairs(sim.models()) do
         sim.machine(model)
         local ctx = sim.context()
         for _, reg in ipairs(lpfm.pmds()) do
            if reg.num < 80 then
               local r = ctx:read_pmds({ reg.num })[1]
               assert.are.same({ reg.def_value, reg.def_value }, { r.value, r.last_reset }, reg.name)
            end
         end
      end
   end)

   it("'the 64-bit value is constructed by combining the hardware counter and its software emulation'", function()
      local m = sim.machine("armv8")
      local ctx = sim.count(sim.context(), 0, "l2_misses", { value = 0x500000000 })
      sim.start(ctx, m:spawn { program = sim.work(10, { l2_misses = 0x90000000 }) })
      for i = 1, 4 do
         assert(m:run { ns = 10 })
         assert.are.equal(0x500000000 + i * 0x90000000, sim.value(ctx, 0))
      end
      -- 'When the context is detached the 64-bit value is contained in the software counter'
      assert(ctx:unload())
      assert.are.equal(0x500000000 + 4 * 0x90000000, sim.value(ctx, 0))
   end)

   it("'When the actual PMD register is less than 64-bit wide, the remaining upper bits are zero-extended'", function()
      -- without emulation a counter is as wide as the hardware's: 32 bits
      local m = sim.machine("armv8")
      local ctx = sim.context()
      sim.count(ctx, 0, "l2_misses", { value = 0xfffffff0 }, { flags = { "NO_EMUL64" } })
      sim.start(ctx, m:spawn { program = sim.work(10, { l2_misses = 0x20 }) })
      assert(m:run { ns = 10 })
      assert.are.equal(0x10, sim.value(ctx, 0))
   end)

   it("detached: 'the value the register had when the context was last detached'", function()
      local m, ctx = sampled({ value = 100 })
      assert(m:run { ns = 70 })
      assert(ctx:unload())
      assert(m:run { ns = 70 })
      assert.are.equal(107, sim.value(ctx, 4))
   end)

   it("attached, system-wide: 'any thread ... running on the monitored CPU'; elsewhere EBUSY", function()
      local m = sim.machine("itanium2", { cpus = 2 })
      local on_0 = m:spawn { program = sim.work(100000), cpu = 0 }
      local on_1 = m:spawn { program = sim.work(100000), cpu = 1 }
      assert(m:set("tool_cpu", 1))
      local ctx = sim.count(sim.context { flags = { "SYSTEM_WIDE" } }, 4, "instructions")
      sim.start(ctx, 1)
      assert(m:run { ns = 100 })
      assert(m:act(on_0))
      sim.refused("EBUSY", "monitors CPU 1, and the caller is on CPU 0", ctx:read_pmds { 4 })
      assert(m:act(on_1))
      assert.are.equal(10, sim.value(ctx, 4))
      assert(m:act())
      assert.are.equal(10, sim.value(ctx, 4))
   end)

   it("attached, self-monitoring: 'this command must always be possible', also while it counts", function()
      local m = sim.machine()
      local tid = m:spawn { program = sim.work(1000) }
      assert(m:act(tid))
      local ctx = sim.count(sim.context(), 4, "instructions")
      sim.start(ctx, tid)
      for i = 1, 5 do
         assert(m:run { ns = 10 })
         assert.are.equal(i, sim.value(ctx, 4))
      end
   end)

   it("masked, system-wide: 'this command must be possible' from any CPU; 'For all other cases' EBUSY", function()
      local m = sim.machine("itanium2", { cpus = 2 })
      local ctx = sim.context { flags = { "SYSTEM_WIDE" } }
      sim.count(ctx, 4, "instructions", { value = -10, long_reset = -20, flags = { "OVFL_NOTIFY" } })
      sim.count(ctx, 5, "cycles")
      m:spawn { program = sim.work(100000), cpu = 0 }
      assert(m:run { ns = 10 })
      sim.start(ctx, 0)
      assert(m:run { until_message = ctx })
      assert(m:set("tool_cpu", 1))
      local cycles = sim.value(ctx, 5)
      assert.are.equal(0, sim.value(ctx, 4))
      assert(m:run { ns = 100 })
      assert.are.same({ 0, cycles }, ctx:read_values { 4, 5 })
      sim.refused("EINVAL", "element 2: PMD18 is not available", ctx:read_into(lpfm.pmds { 4, 18 }))
      -- commands that change registers are allowed on the monitored CPU only
      sim.refused("EBUSY", "monitors CPU 0", ctx:read_pmds { { num = 4, flags = { "READ_RESET" } } })
      sim.refused("EBUSY", "monitors CPU 0", ctx:write_pmds { { num = 4, value = 0 } })
      sim.refused("EBUSY", "monitors CPU 0", ctx:restart())
      assert(m:set("tool_cpu", 0))
      assert(ctx:restart())
      assert(m:set("tool_cpu", 1))
      sim.refused("EBUSY", "monitors CPU 0", ctx:read_pmds { 4 })
      assert(m:set("tool_cpu", 0))
      assert(m:run { ns = 50 })
      assert.are.equal(-15, sim.value(ctx, 4))
   end)

   it("'for any type of session and when monitoring is masked ... this command must be possible'", function()
      for _, kind in ipairs { "self", "other", "system-wide" } do
         local m = sim.machine()
         local tid = m:spawn { program = sim.work(1000) }
         assert(m:act(kind == "self" and tid or nil))
         local ctx = sim.context { flags = kind == "system-wide" and { "SYSTEM_WIDE" } or {} }
         sim.count(ctx, 4, "instructions", { value = -10, flags = { "OVFL_NOTIFY" } })
         sim.count(ctx, 5, "cycles")
         sim.start(ctx, kind == "system-wide" and 0 or tid)
         assert(m:run { until_message = ctx })
         assert.are.same({ 0, 100 }, ctx:read_values { 4, 5 }, kind)
         assert(m:run { ns = 500 })
         assert.are.same({ 0, 100 }, ctx:read_values { 4, 5 }, kind)
      end
   end)

   it("... 'it is guaranteed to work with the default format'", function()
      local m, ctx = sampled({ value = -10, short_reset = -10, long_reset = -10 },
         { format = "default", buf_size = 4096 }, 100000)
      sim.count(ctx, 5, "cycles")
      assert(m:run { until_message = ctx })
      local n = #ctx:buffer()
      -- header: 128 bytes, a sample: 40; full when one with all 32 PMDs would not fit
      assert.are.equal(92, n)
      assert.are.same({ 0, n * 100 }, ctx:read_values { 4, 5 })
   end)

   it("'It is not possible to specify an event set that does not exist'", function()
      local ctx = sim.context()
      sim.refused("EINVAL", "element 2: set 2 does not exist", ctx:read_pmds { 4, { num = 4, set = 2 } })
   end)

   it("'may limit the number of elements'", function()
      local ctx, v = sim.context(), {}
      for i = 1, 24 do
         v[i] = 4
      end
      sim.refused("E2BIG", "24 elements", ctx:read_pmds(v))
      v[24] = nil
      assert.are.equal(23, #ctx:read_pmds(v))
      sim.refused("EINVAL", "at least 1 element", ctx:read_pmds {})
   end)

   it("EINVAL: 'an invalid index'; 'Elements placed before the invalid entry are guaranteed processed'", function()
      local ctx = sim.context()
      assert(ctx:write_pmds { { num = 4, value = 44 }, { num = 5, value = 55 } })
      local v = lpfm.pmds { 4, 18, 5 }
      sim.refused("EINVAL", "element 2: PMD18 is not available", ctx:read_into(v))
      assert.are.same({ 44, 0, 0 }, { v[1], v[2], v[3] })
   end)

   it("through perfmonctl(): fields, flags, errors", function()
      local out, status = c.sh(c.compile("perfmonctl_errors") .. " 3.1.4")
      assert.are.equal(0, status, out)
   end)
end)
