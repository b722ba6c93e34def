-- SPDX-License-Identifier: MIT
-- Section 3.1.2, PFM_WRITE_PMCS. In 0.6, and here in the C program, notification, randomization and
-- bitvectors are written with the PMC; in 2.x and in Lua they belong to the PMD, and to write_pmds.
local c = require "support.c"
local lpfm = require "lpfm"
local sim = require "support.sim"

local const = lpfm.const

describe("3.1.2 PFM_WRITE_PMCS", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("'used to program the PMC registers': the event and level that a PMC names are counted", function()
      local m = sim.machine()
      local tid = m:spawn { program = {
         { loop = 100, { ip = 0x1000, ns = 10, events = { l2_misses = 3 } } },
         { loop = 50, { ip = 0x2000, ns = 10, level = "kernel", events = { l2_misses = 5 } } },
      } }
      local ctx = sim.count(sim.context(), 4, "l2_misses", { level = "u" })
      sim.count(ctx, 5, "l2_misses", { level = "k" })
      sim.count(ctx, 6, "l2_misses", { level = "uk" })
      sim.count(ctx, 7, "loads")
      sim.start(ctx, tid)
      assert(m:run { until_exit = tid })
      assert.are.equal(300, sim.value(ctx, 4))
      assert.are.equal(250, sim.value(ctx, 5))
      assert.are.equal(550, sim.value(ctx, 6))
      assert.are.equal(0, sim.value(ctx, 7))
   end)

   it("'More than one register can be programmed in one call'", function()
      local m = sim.machine("k8")
      local tid = m:spawn { program = sim.work(10, { l2_misses = 2, stores = 0 }) }
      local ctx = sim.context()
      assert(ctx:write_pmcs {
         { num = 0, value = m:encode("instructions", 0) }, { num = 1, value = m:encode("l2_misses", 1) },
         { num = 3, value = m:encode("cycles", 3) },
      })
      sim.start(ctx, tid)
      assert(m:run { until_exit = tid })
      assert.are.same({ 10, 20, 0, 100 }, ctx:read_values { 0, 1, 2, 3 })
   end)

   it("'The bits which are not defined are reserved and must be cleared'", function()
      local ctx = sim.context()
      for _, flags in ipairs { 0x1, 0x2, 0x8, 0x10, 0x10000 } do
         sim.refused("EINVAL", "element 1: unknown reg_flags", ctx:write_pmcs { { num = 4, value = 0, flags = flags } })
      end
      assert(ctx:write_pmcs { { num = 4, value = 0, flags = { "NO_EMUL64" } } })
      -- 6.2.1: 'This flag is ignored for non counting PMD registers'; PMC8 controls no PMD at all
      for _, num in ipairs { 8, 10, 12 } do
         assert(ctx:write_pmcs { { num = num, value = 0, flags = { "NO_EMUL64" } } })
      end
   end)

   it("'The default behavior is that no notification is sent on overflow, i.e., the counter simply wraps'", function()
      local m = sim.machine()
      local tid = m:spawn { program = sim.work(100) }
      local ctx = sim.context()
      sim.count(ctx, 4, "instructions", { value = -30, long_reset = 7, short_reset = 8 })
      sim.start(ctx, tid)
      assert(m:run { ns = 990 })
      assert.is_nil(ctx:read(0))
      assert.are.equal(69, sim.value(ctx, 4))
   end)

   it("PFM_REGFL_OVFL_NOTIFY: 'a overflow notification message is appended to the message queue'", function()
      local m = sim.machine()
      local tid = m:spawn { program = sim.work(100) }
      local ctx = sim.count(sim.context(), 4, "instructions", { value = -30, flags = { "OVFL_NOTIFY" } })
      sim.count(ctx, 5, "instructions", { value = -20 })
      sim.start(ctx, tid)
      assert(m:run { until_message = ctx })
      local msg = assert(ctx:read(0))
      assert.are.equal("OVFL", msg.type)
      assert.are.same({ 4 }, msg.pmds)
      assert.are.equal(300, m:time())
      assert.is_nil(ctx:read(0))
   end)

   it("PFM_REGFL_RANDOM: 'the reset value must be chosen randomly. By default, this flag is off'", function()
      for _, random in ipairs { true, false } do
         local m = sim.machine()
         local tid = m:spawn { program = sim.work(100) }
         local ctx = sim.context()
         sim.count(ctx, 4, "instructions", { value = -10, long_reset = -1000, random_mask = 0xff,
            random_seed = 0x1567fb, flags = random and { "OVFL_NOTIFY", "RANDOM" } or { "OVFL_NOTIFY" } })
         sim.start(ctx, tid)
         assert(m:run { until_message = ctx })
         assert(ctx:restart())
         assert.are.equal(random and -1000 + 0xfb or -1000, sim.value(ctx, 4))
      end
   end)

   it("reg_smpl_pmds, reg_reset_pmds: 'Specifying PMD registers that are unimplemented generates an error'", function()
      local ctx = sim.context()
      sim.refused("EINVAL", "element 1: reg_smpl_pmds", ctx:write_pmds { { num = 4, smpl_pmds = { 5, 18 } } })
      sim.refused("EINVAL", "element 1: reg_reset_pmds", ctx:write_pmds { { num = 4, reset_pmds = { 319 } } })
      assert(ctx:write_pmds { { num = 4, value = 0, smpl_pmds = { 0, 17, 80 }, reset_pmds = { 0, 5 } } })
   end)

   it("reg_smpl_pmds: 'As many bits as there are implemented PMD registers can be set'", function()
      local all = {}
      for _, reg in ipairs(lpfm.pmds()) do
         all[#all + 1] = reg.num
      end
      local m = sim.machine()
      local ctx = sim.context { format = "default", buf_size = 65536 }
      sim.count(ctx, 4, "instructions", { value = -10, short_reset = -10, smpl_pmds = all })
      sim.start(ctx, m:spawn { program = sim.work(35) })
      assert(m:run { us = 1 })
      assert.are.equal(3, #ctx:buffer())
      for s in ctx:buffer():samples() do
         assert.are.equal(#all, s.pmds)
      end
   end)

   it("reg_smpl_pmds, the section's example: PMD4 is the period, its samples hold PMD8 and PMD9 (0x300)", function()
      local m = sim.machine()
      local ctx = sim.context { format = "default", buf_size = 4096 }
      sim.count(ctx, 4, "instructions", { value = -10, short_reset = -10, smpl_pmds = { 8, 9 } })
      assert(ctx:write_pmds { { num = 8, value = 800 }, { num = 9, value = 900 } })
      sim.start(ctx, m:spawn { program = sim.work(20) })
      assert(m:run { us = 1 })
      local n = 0
      for s in ctx:buffer():samples() do
         assert.are.same({ 4, 2, 800, 900 }, { s.ovfl_pmd, s.pmds, s[8], s[9] })
         n = n + 1
      end
      assert.are.equal(2, n)
   end)

   it("reg_reset_pmds, the section's example: 'each sample will contain the delta of instructions'", function()
      local m = sim.machine()
      -- 1000000 cycles are 1000 rounds of 1000 ns; instructions per round: 3, later 4
      local tid = m:spawn { program = {
         { loop = 3000, { ip = 0x1000, ns = 1000, events = { instructions = 3 } } },
         { loop = 2000, { ip = 0x2000, ns = 1000, events = { instructions = 4 } } },
      } }
      local ctx = sim.context { format = "default", buf_size = 4096 }
      sim.count(ctx, 4, "cycles", { value = -1000000, short_reset = -1000000, smpl_pmds = { 5 }, reset_pmds = { 5 } })
      sim.count(ctx, 5, "instructions")
      sim.start(ctx, tid)
      assert(m:run { until_exit = tid })
      local deltas = {}
      for s in ctx:buffer():samples() do
         deltas[#deltas + 1] = s[5]
      end
      assert.are.same({ 3000, 3000, 3000, 4000, 4000 }, deltas)
   end)

   it("reg_reset_pmds: the reset 'is performed ... upon restart when monitoring is masked'", function()
      local m = sim.machine()
      local ctx = sim.context()
      sim.count(ctx, 4, "instructions", { value = -10, long_reset = -20, flags = { "OVFL_NOTIFY" },
         reset_pmds = { 5 } })
      sim.count(ctx, 5, "cycles", { long_reset = 33 })
      sim.start(ctx, m:spawn { program = sim.work(100) })
      assert(m:run { until_message = ctx })
      assert.are.equal(100, sim.value(ctx, 5))
      assert(ctx:restart())
      assert.are.same({ -20, 33 }, ctx:read_values { 4, 5 })
   end)

   it("reg_reset_pmds: 'registers to reset when the associated counting PMD register overflows', or just wraps",
      function()
         local m = sim.machine()
         local ctx = sim.context()
         sim.count(ctx, 4, "instructions", { value = -10, short_reset = -10, long_reset = -10, reset_pmds = { 5 } })
         sim.count(ctx, 5, "instructions", { short_reset = 100 })
         sim.start(ctx, m:spawn { program = sim.work(1000) })
         assert(m:run { ns = 250 })
         assert.are.same({ 15, 115 }, ctx:read_values { 4, 5 })
      end)

   it("'The PMD registers referenced in the bitvector are interpreted as being from the same set'", function()
      local m = sim.machine()
      local tid = m:spawn { program = sim.work(100) }
      local ctx = sim.context { format = "default", buf_size = 4096 }
      assert(ctx:create_evtsets { { id = 1 } })
      sim.count(ctx, 5, "instructions", { value = 1000 }) -- set 0
      sim.count(ctx, 4, "instructions", { set = 1, value = -10, short_reset = -10, smpl_pmds = { 5 },
         reset_pmds = { 5 } })
      sim.count(ctx, 5, "instructions", { set = 1, short_reset = 2 })
      sim.start(ctx, tid, 1)
      assert(m:run { ns = 200 })
      local seen = {}
      for s in ctx:buffer():samples() do
         assert.are.equal(1, s.set)
         seen[#seen + 1] = s[5]
      end
      assert.are.same({ 10, 12 }, seen)
      assert.are.equal(1000, sim.value(ctx, 5, 0))
      assert.are.equal(2, sim.value(ctx, 5, 1))
   end)

   it("'each PMC register is initialized with a default value ... chosen such that nothing is measured'", function()
      for _, model in ipairs(sim.models()) do
         local m = sim.machine(model)
         local tid = m:spawn { program = sim.work(1000, { l2_misses = 1, branches = 1 }) }
         local ctx = sim.context()
         sim.start(ctx, tid)
         assert(m:run { until_exit = tid })
         for _, reg in ipairs(lpfm.pmds()) do
            if reg.num < 80 then
               assert.are.equal(reg.def_value, sim.value(ctx, reg.num), model .. " " .. reg.name)
            end
         end
      end
   end)

   it("'unused PMC registers will be programmed with their default values': not another context's", function()
      local m = sim.machine()
      local first, second = m:spawn { program = sim.work(100) }, m:spawn { program = sim.work(100) }
      local a, b = sim.context(), sim.context()
      sim.count(a, 4, "instructions")
      sim.count(a, 5, "instructions")
      sim.count(b, 5, "instructions") -- context b does not write PMC4
      assert(a:load(first))
      assert(b:load(second))
      assert(a:start())
      assert(b:start())
      assert(m:run { until_exit = second })
      assert.are.same({ 100, 100 }, a:read_values { 4, 5 })
      assert.are.same({ 0, 100 }, b:read_values { 4, 5 })
   end)

   it("... nor of another set", function()
      local m = sim.machine()
      local tid = m:spawn { program = sim.work(1000) }
      local ctx = sim.context()
      assert(ctx:create_evtsets { { id = 1 } })
      sim.count(ctx, 4, "instructions")
      sim.count(ctx, 5, "instructions", { set = 1 })
      sim.start(ctx, tid)
      assert(m:run { ns = 100 })
      assert(ctx:start(1))
      assert(m:run { ns = 200 })
      assert.are.equal(10, sim.value(ctx, 4, 0))
      assert.are.equal(0, sim.value(ctx, 5, 0))
      assert.are.equal(0, sim.value(ctx, 4, 1))
      assert.are.equal(20, sim.value(ctx, 5, 1))
   end)

   it("'does not impose any ordering between modifying a PMC register and its associated PMD'", function()
      local m = sim.machine()
      local ctx = sim.context()
      assert(ctx:write_pmds { { num = 4, value = 100 } })
      assert(ctx:write_pmcs { { num = 4, value = m:encode("instructions", 4) } })
      assert(ctx:write_pmcs { { num = 5, value = m:encode("instructions", 5) } })
      assert(ctx:write_pmds { { num = 5, value = 200 } })
      sim.start(ctx, m:spawn { program = sim.work(7) })
      assert(m:run { us = 1 })
      assert.are.same({ 107, 207 }, ctx:read_values { 4, 5 })
   end)

   it("'always possible to modify a PMC register when the context is unloaded'", function()
      local m = sim.machine()
      local ctx = sim.count(sim.context(), 4, "loads")
      sim.count(ctx, 4, "instructions")
      for round = 1, 2 do
         local tid = m:spawn { program = sim.work(10, { loads = 1 }) }
         sim.start(ctx, tid)
         assert(m:run { until_exit = tid })
         assert.are.equal(10 * round, sim.value(ctx, 4))
      end
   end)

   it("loaded, system-wide: 'any thread ... running on the monitored CPU must be able to execute this'", function()
      local m = sim.machine("itanium2", { cpus = 2 })
      local on_0 = m:spawn { program = sim.work(100000), cpu = 0 }
      local on_1 = m:spawn { program = sim.work(100000), cpu = 1 }
      local ctx = sim.context { flags = { "SYSTEM_WIDE" } }
      assert(ctx:load(0)) -- the tool's CPU is 0
      assert(m:run { ns = 10 })
      assert(m:act(on_0))
      assert(ctx:write_pmcs { { num = 4, value = m:encode("instructions", 4) } })
      assert(m:act(on_1))
      sim.refused("EBUSY", "monitors CPU 0", ctx:write_pmcs { { num = 4, value = 0 } })
      assert(m:act())
      assert(ctx:start())
      assert(m:run { ns = 100 })
      assert.are.equal(10, sim.value(ctx, 4)) -- the refused write has changed nothing
   end)

   it("loaded, self-monitoring: 'this command must always be possible', also while it counts", function()
      local m = sim.machine()
      local tid = m:spawn { program = sim.work(1000, { loads = 2 }) }
      assert(m:act(tid))
      local ctx = sim.context()
      assert(ctx:load(tid))
      sim.count(ctx, 4, "instructions")
      assert(ctx:start())
      assert(m:run { ns = 100 })
      assert(ctx:write_pmcs { { num = 4, value = m:encode("loads", 4) } })
      assert(m:run { ns = 100 })
      assert.are.equal(10 + 20, sim.value(ctx, 4))
   end)

   it("loaded, another thread: nothing is restricted, running or not", function()
      local m = sim.machine()
      local running, waiting = m:spawn { program = sim.work(1000, { loads = 2 }) }, m:spawn { program = sim.work(1000) }
      assert(m:run { ns = 5 })
      assert.are.same({ "running", "ready" }, { sim.thread(running).state, sim.thread(waiting).state })
      for _, tid in ipairs { running, waiting } do
         local ctx = sim.context()
         assert(ctx:load(tid))
         sim.count(ctx, 4, "instructions")
         assert(ctx:start())
         assert(ctx:write_pmcs { { num = 4, value = m:encode("cycles", 4) } })
      end
   end)

   it("bitvectors: PFM_MAX_PMD_BITVECTOR is '(PFM_MAX_PMDS+64-1)/64', holes 'are supported'", function()
      assert.are.equal(math.floor((const.PFM_MAX_PMDS + 63) / 64), const.PFM_MAX_PMD_BITVECTOR)
      assert.is_true(#lpfm.pmds() < const.PFM_MAX_PMDS)
      local ctx = sim.context()
      for _, num in ipairs { 0, 3, 16, 73, 255, 272, 319 } do
         sim.refused("EINVAL", "PMC" .. num .. " is not available", ctx:write_pmcs { { num = num, value = 0 } })
      end
      for _, num in ipairs { 4, 15, 64, 72, 256, 271 } do
         assert(ctx:write_pmcs { { num = num, value = 0 } })
      end
   end)

   it("'It is not possible to specify an event set that does not exist ... except for set0'", function()
      local ctx = sim.context()
      sim.refused("EINVAL", "element 1: set 1 does not exist", ctx:write_pmcs { { num = 4, value = 0, set = 1 } })
      assert(ctx:write_pmcs { { num = 4, value = 0, set = 0 } })
      assert(ctx:create_evtsets { { id = 1 } })
      assert(ctx:write_pmcs { { num = 4, value = 0, set = 1 } })
   end)

   it("'each implementation may limit the number of elements': cf_arg_size_max bytes", function()
      local ctx = sim.context()
      local function vector(n)
         local v = {}
         for i = 1, n do
            v[i] = { num = 4, value = i }
         end
         return v
      end
      assert(ctx:write_pmcs(vector(85)))
      sim.refused("E2BIG", "86 elements of 48 bytes exceed the limit of 4096", ctx:write_pmcs(vector(86)))
      sim.refused("EINVAL", "at least 1 element", ctx:write_pmcs {})
   end)

   it("'Elements placed before the invalid element are guaranteed processed', none beyond is", function()
      local m = sim.machine()
      local ctx = sim.context()
      local e = m:encode("instructions", 5)
      sim.refused("EINVAL", "element 2: PMC16 is not available",
         ctx:write_pmcs { { num = 5, value = e }, { num = 16, value = e }, { num = 6, value = e } })
      sim.start(ctx, m:spawn { program = sim.work(10) })
      assert(m:run { us = 1 })
      assert.are.same({ 10, 0 }, ctx:read_values { 5, 6 })
   end)

   it("2.3.7: 'does check that reserved bits inside bit-fields are indeed cleared', in every structure", function()
      local out, status = c.sh(c.compile("spec_reserved"))
      assert.are.equal(0, status, out)
   end)

   it("through perfmonctl(): flags and bitvectors on the PMC, errors", function()
      local out, status = c.sh(c.compile("perfmonctl_errors") .. " 3.1.2")
      assert.are.equal(0, status, out)
   end)
end)
