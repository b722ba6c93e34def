-- SPDX-License-Identifier: MIT
-- Specification, chapter 6, the extensions that are implemented: 6.1.1, 6.2, 6.3.1, 6.4.1, 6.5.
local lpfm = require "lpfm"
local c = require "support.c"
local real = require "support.real"
local sim = require "support.sim"

local function counting(n, pmd, pmc, options)
   local m = sim.machine()
   local ctx = sim.count(sim.context(options), 4, "instructions", pmd, pmc)
   local tid = m:spawn { program = sim.work(n) }
   sim.start(ctx, tid)
   return m, ctx, tid
end

describe("6.1.1 Creation of the perfmon context", function()
   it("'int pfm_create_context(pfarg_ctx_t *ctx, int n)': 'The second argument n must be 1'", function()
      for _, machine in ipairs { real, "sim:itanium2" } do
         local out, status = c.sh(("LPFM_MACHINE=%s %s"):format(machine, c.compile("create_n")))
         assert.are.same({ 0, "" }, { status, out })
      end
   end)
end)

describe("6.2.1 PFM_REGFL_NO_64BIT_EMUL", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("'indicate that no 64-bit emulation is necessary': an overflow is that of the hardware's width", function()
      for model, start in pairs { itanium2 = "0x7ffffffffff6", k8 = "0xfffffffffff6", p6 = "0xfffffffff6",
         armv8 = "0xfffffff6" } do
         for _, flags in ipairs { { "NO_64BIT_EMUL" }, {} } do
            local m = sim.machine(model)
            local first = model == "itanium2" and 4 or 0
            local ctx = sim.context()
            sim.count(ctx, first, "instructions", { value = start, flags = { "OVFL_NOTIFY" } }, { flags = flags })
            local tid = m:spawn { program = sim.work(1000) }
            sim.start(ctx, tid)
            local come = m:run { until_message = ctx, us = 5 }
            assert.are.equal(flags[1] ~= nil, come == true)
            assert.are.equal(come and 100 or 5000, m:time())
            assert.are.equal(come and "0x0" or (lpfm.u64(start) + 500):hex(), lpfm.u64(sim.value(ctx, first)):hex())
         end
      end
   end)

   it("seed 002, 4.3: 'can be turned off by applications on a per-counter basis': of each narrow counter", function()
      for _, model in ipairs(sim.models()) do
         sim.machine(model)
         local ctx = sim.context()
         for _, reg in ipairs(lpfm.pmds()) do
            if reg.width < 64 and reg.ctrl and table.concat(reg.kind, " "):find("C64", 1, true) then
               assert(ctx:write_pmcs { { num = reg.ctrl, value = 0, flags = { "NO_64BIT_EMUL" } } }, model)
            end
         end
         ctx:close()
      end
   end)

   it("concerns each of the counters that share a PMC: overflows are those of the hardware's width", function()
      for model, start in pairs { core2 = "0xfffffffff6", nehalem = "0xfffffffffff6" } do
         for _, flags in ipairs { { "NO_64BIT_EMUL" }, {} } do
            local m = sim.machine(model)
            local ctx = sim.context()
            assert(ctx:write_pmcs { { num = 16, value = 3, flags = flags } })
            assert(ctx:write_pmds { { num = 16, value = start, flags = { "OVFL_NOTIFY" } } })
            sim.start(ctx, m:spawn { program = sim.work(1000) })
            assert.are.equal(flags[1] ~= nil, m:run { until_message = ctx, us = 5 } == true, model)
            local expected = flags[1] and "0x0" or (lpfm.u64(start) + 500):hex()
            assert.are.equal(expected, lpfm.u64(sim.value(ctx, 16)):hex())
         end
      end
   end)

   it("concerns the counters of that PMC alone", function()
      local m, ctx = counting(100, { value = "0x7ffffffffff6" }, { flags = { "NO_64BIT_EMUL" } })
      sim.count(ctx, 5, "instructions", { value = "0x7ffffffffff6" })
      assert(m:run { ns = 200 })
      assert.are.same({ 10, 0x7ffffffffff6 + 20 }, ctx:read_values { 4, 5 })
   end)

   it("'This flag is ignored for non counting PMD registers': those of PMC8 to PMC15", function()
      local ctx = sim.context()
      for num = 8, 15 do
         assert(ctx:write_pmcs { { num = num, value = 0, flags = { "NO_64BIT_EMUL" } } })
      end
      assert(ctx:write_pmds { { num = 8, value = "0xfedcba9876543210" } })
      assert.are.equal("0xfedcba9876543210", lpfm.u64(sim.value(ctx, 8)):hex())
   end)
end)

describe("6.2.2 PFM_REGFL_READ_RESET", function()
   before_each(sim.begin)
   after_each(sim.finish)

   local READ = { { num = 4, flags = { "READ_RESET" } } }

   it("'It would force a long reset of the PMD register': the value before is read, 'when polling'", function()
      local m, ctx = counting(1000, { long_reset = 0, short_reset = 77 })
      for _ = 1, 5 do
         assert(m:run { ns = 300 })
         assert.are.equal(30, ctx:read_pmds(READ)[1].value)
      end
      assert.are.equal(0, sim.value(ctx, 4))
   end)

   it("'The PMD registers in the reg_smpl_reset field would also be reset': what was counted is read before", function()
      local m = sim.machine()
      local ctx = sim.count(sim.context(), 5, "instructions")
      sim.count(ctx, 4, "instructions", { reset_pmds = { 5 } })
      sim.start(ctx, m:spawn { program = sim.work(1000) })
      assert(m:run { ns = 250 })
      local read = assert(ctx:read_pmds { { num = 4, flags = { "READ_RESET" } }, { num = 5 } })
      assert.are.same({ 25, 25 }, { read[1].value, read[2].value })
      assert.are.same({ 0, 0 }, ctx:read_values { 4, 5 })
   end)

   it("without it a read changes nothing", function()
      local m, ctx = counting(1000, { long_reset = -5 })
      for i = 1, 3 do
         assert(m:run { ns = 100 })
         assert.are.equal(10 * i, ctx:read_pmds({ { num = 4 } })[1].value)
      end
   end)

   it("'The PMD registers in the reg_smpl_reset field would also be reset': those of reset_pmds", function()
      local m, ctx = counting(1000, { long_reset = -1, reset_pmds = { 5, 8 } })
      sim.count(ctx, 5, "instructions", { long_reset = 500 })
      sim.count(ctx, 6, "instructions", { long_reset = 600 })
      assert(ctx:write_pmds { { num = 8, value = 1, long_reset = 88 } })
      assert(m:run { ns = 100 })
      assert.are.equal(10, ctx:read_pmds(READ)[1].value)
      assert.are.same({ -1, 500, 10, 88 }, ctx:read_values { 4, 5, 6, 8 })
   end)

   it("with randomization, from the PMD's series; last_reset tells of the reset before", function()
      local m, ctx = counting(1000, { value = 3, long_reset = 1000, random_seed = 9, random_mask = 255,
         flags = { "RANDOM" } })
      assert(m:run { ns = 100 })
      local first = ctx:read_pmds(READ)[1]
      assert.are.same({ 13, 3 }, { first.value, first.last_reset })
      local second = ctx:read_pmds(READ)[1]
      assert.are.same({ 1009, 1009 }, { second.value, second.last_reset })
      assert.are.equal(1000 + 9 * 16807 % 256, sim.value(ctx, 4))
   end)

   it("detached and in sets that are not active, too", function()
      local ctx = sim.context()
      assert(ctx:create_evtsets { { id = 3 } })
      sim.count(ctx, 4, "instructions", { set = 3, value = 55, long_reset = 7 })
      assert.are.equal(55, ctx:read_pmds({ { num = 4, set = 3, flags = { "READ_RESET" } } })[1].value)
      assert.are.equal(7, sim.value(ctx, 4, 3))
   end)

   it("while masked: reset now, and not again by PFM_RESTART", function()
      local m, ctx = counting(1000, { value = -10, long_reset = -20, flags = { "OVFL_NOTIFY", "RANDOM" },
         random_seed = 1, random_mask = 7 })
      assert(m:run { until_message = ctx })
      assert.are.equal(0, ctx:read_pmds(READ)[1].value)
      assert.are.equal(-19, sim.value(ctx, 4))
      assert(ctx:restart())
      assert.are.equal(-19, sim.value(ctx, 4))
   end)
end)

describe("6.2.3 PFM_SETFL_EXCL_KERNEL_ONLY_THREADS", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("'It would not be supported for per-thread contexts'", function()
      local ctx = sim.context()
      sim.refused("EINVAL", "needs a system-wide context",
         ctx:create_evtsets { { id = 0, flags = { "EXCL_KERNEL_ONLY_THREADS" } } })
   end)

   it("'it is mutually exclusive with' PFM_SETFL_EXCL_IDLE", function()
      local ctx = sim.context { flags = { "SYSTEM_WIDE" } }
      sim.refused("EINVAL", "exclude each other",
         ctx:create_evtsets { { id = 0, flags = { "EXCL_KERNEL_ONLY_THREADS", "EXCL_IDLE" } } })
   end)

   -- Counts in 20 us: 5 us of a user's thread (half at kernel level), 3 us of a daemon, then idle.
   local function counted(flags)
      local m = sim.machine()
      m:spawn { program = { { loop = 250, { ip = 1, ns = 10 }, { ip = 2, ns = 10, level = "kernel" } } } }
      m:spawn { kernel = true, name = "kflushd", program = sim.work(300, nil, 10, "kernel") }
      assert(m:interrupt { start = 15000, program = { { loop = 7, { ip = 3, ns = 10, level = "interrupt" } } } })
      local ctx = sim.context { flags = { "SYSTEM_WIDE" } }
      assert(ctx:create_evtsets { { id = 0, flags = flags } })
      sim.count(ctx, 4, "instructions")
      sim.count(ctx, 5, "cycles")
      sim.start(ctx, 0)
      assert(m:run { us = 20 })
      return { sim.value(ctx, 4), sim.value(ctx, 5) }
   end

   it("'exclude all kernel only threads from active monitoring', the idle thread among them", function()
      -- an interrupt on top of the idle thread is monitored, as with EXCL_IDLE (5.5.1)
      assert.are.same({ 507, 5070 }, counted { "EXCL_KERNEL_ONLY_THREADS" })
   end)

   it("'simply more generic' than EXCL_IDLE, which excludes the idle thread alone", function()
      assert.are.same({ 807, 8070 }, counted { "EXCL_IDLE" })
      assert.are.equal(20000, counted({})[2])
   end)

   it("'The effects of the flag are identical': the timeout goes on while a kernel thread runs (3.7.6)", function()
      local m = sim.machine("itanium2", { timer_ns = 100 })
      m:spawn { kernel = true, program = sim.work(10000, nil, 10, "kernel") }
      local ctx = sim.context { flags = { "SYSTEM_WIDE" } }
      for id = 0, 1 do
         assert(ctx:create_evtsets { { id = id, timeout = 500,
            flags = { "EXCL_KERNEL_ONLY_THREADS", "TIME_SWITCH" } } })
         sim.count(ctx, 4, "instructions", { set = id })
      end
      sim.start(ctx, 0)
      assert(m:run { us = 5 })
      assert.are.same({ 6, 5 }, { sim.info(ctx, 0).runs, sim.info(ctx, 1).runs })
      assert.are.same({ 0, 0 }, { sim.value(ctx, 4, 0), sim.value(ctx, 4, 1) })
   end)
end)

describe("6.3.1 Double-buffering sampling format", function()
   before_each(sim.begin)
   after_each(sim.finish)

   local HEADER = 384

   -- Returns the size of a buffer of n regions that are full with 3 samples each.
   local function size(n)
      return HEADER + n * (3 * 40 + 40 + 8 * #lpfm.pmds() - 8)
   end

   local function sampling(n, flags, pmd, options)
      options = options or {}
      options.format, options.regions, options.buf_size, options.buf_flags = "n-way", n, size(n), flags
      pmd = pmd or {}
      pmd.value, pmd.short_reset, pmd.long_reset = -10, -10, -500
      pmd.flags = pmd.flags or { "OVFL_NOTIFY" }
      return counting(100000, pmd, nil, options)
   end

   local moments = sim.moments

   it("'would be present by default', as a format 'with its own UUID'", function()
      local uuids = {}
      for _, f in ipairs(lpfm.formats()) do
         assert.is_nil(uuids[f.uuid])
         uuids[f.uuid] = f.name
      end
      assert.are.equal("n-way", uuids["7e0c35a6-1b92-4d5f-9a60-4e2dc813f07b"])
   end)

   it("'When it becomes full, a notification is sent but monitoring remains active', into the second half", function()
      local m, ctx = sampling(2)
      assert(m:run { until_message = ctx })
      assert.are.equal(300, m:time())
      assert.are.same({ 4 }, ctx:read(0).pmds)
      assert.are.equal(-10, sim.value(ctx, 4)) -- 'reset using their short reset periods'
      assert.are.same({ 10, 20, 30 }, moments(ctx))
      assert(m:run { ns = 250 })
      assert.are.same({ 10, 20, 30 }, moments(ctx)) -- the tool's half does not change
      assert.are.equal(-5, sim.value(ctx, 4))
   end)

   it("PFM_RESTART: 'The first half is marked as free. When the second half becomes full': to the first", function()
      local m, ctx = sampling(2)
      for i = 0, 9 do -- the tool is always in time: no sample is lost
         assert(m:run { until_message = ctx })
         ctx:read(0)
         assert.are.same({ 30 * i + 10, 30 * i + 20, 30 * i + 30 }, moments(ctx))
         assert.are.equal(i + 1, ctx:buffer():header().overflows)
         assert(m:run { ns = 70 })
         assert(ctx:restart())
         assert.are.equal(-3, sim.value(ctx, 4)) -- an active restart resets nothing
      end
      assert.are.equal(0, ctx:buffer():header().lost)
   end)

   it("no PFM_RESTART in time: 'The default behavior is to cycle in the half owned by the format'", function()
      local m, ctx = sampling(2)
      -- the second half is full twice, and 2 samples into it again
      assert(m:run { ns = 300 + 300 + 300 + 200 })
      assert.are.equal("OVFL", ctx:read(0).type)
      assert.is_nil(ctx:read(0)) -- one message for the first half, none for cycling
      assert.are.same({ 10, 20, 30 }, moments(ctx))
      assert.are.equal(6, ctx:buffer():header().lost)
      assert(ctx:restart())
      assert.are.same({ 100, 110 }, moments(ctx))
      assert(m:run { ns = 100 })
      assert.are.equal("OVFL", ctx:read(0).type) -- the second half is full now
      assert.are.same({ 100, 110, 120 }, moments(ctx))
   end)

   it("DOUBLE_FMT_MASK_WHEN_FULL: 'Monitoring is masked until a controlling thread invokes the PFM_RESTART'", function()
      local m, ctx = sampling(2, { "MASK_WHEN_FULL" })
      assert(m:run { us = 2 })
      assert.are.equal(0, sim.value(ctx, 4)) -- masked at 60
      assert.are.same({ "OVFL", "OVFL" }, { ctx:read(0).type, ctx:read(0).type })
      assert.are.same({ 10, 20, 30 }, moments(ctx))
      assert(ctx:restart())
      -- a restart of a masked context loads the long period
      assert.are.equal(-500, sim.value(ctx, 4))
      assert.are.same({ 40, 50, 60 }, moments(ctx))
      assert(m:run { us = 5, ns = 200 })
      assert(ctx:restart())
      assert.are.same({ 700, 710, 720 }, moments(ctx))
      assert.are.equal(0, ctx:buffer():header().lost)
   end)

   it("the sample header is 'identical to the one used by the default sampling format', bodies too", function()
      local rows = {}
      for _, format in ipairs { "default", "n-way" } do
         local m = sim.machine()
         local ctx = sim.context { format = format, buf_size = 65536 }
         sim.count(ctx, 4, "instructions", { value = -10, short_reset = -10, smpl_pmds = { 5 } })
         sim.count(ctx, 5, "instructions", { value = -15, short_reset = -15, smpl_pmds = { 4, 6 } })
         sim.start(ctx, m:spawn { program = sim.work(1000) })
         assert(m:run { us = 10 })
         local t = {}
         for s in ctx:buffer():samples() do
            t[#t + 1] = table.concat({ s.ip, s.tid, s.pid, s.cpu, s.tstamp, s.set, s.ovfl_pmd, s.last_reset, s.pmds,
               (s:pmd(1)) }, " ")
         end
         rows[#rows + 1] = t
      end
      assert.are.equal(166, #rows[1])
      assert.are.same(rows[1], rows[2])
   end)

   it("'Extensions to more than more than 2-way are possible': regions are read in order, up to 8", function()
      for n = 3, 8 do
         local m, ctx = sampling(n, { "MASK_WHEN_FULL" })
         assert(m:run { us = 10 })
         for i = 0, n - 1 do
            assert.are.equal("OVFL", ctx:read(0).type)
            assert.are.same({ 30 * i + 10, 30 * i + 20, 30 * i + 30 }, moments(ctx))
            assert(ctx:restart())
         end
         assert.are.same({}, moments(ctx))
      end
   end)

   it("without notification nobody is told, and the halves are cycled or saturated all the same", function()
      local m, ctx, tid = sampling(2, { "MASK_WHEN_FULL" }, { flags = {} }, { flags = { "NOTIFY_BLOCK" } })
      assert(m:run { us = 2 })
      assert.is_nil(ctx:read(0))
      assert.are.equal("running", sim.thread(tid).state)
      assert.are.equal(0, sim.value(ctx, 4))
      assert.are.equal(2, ctx:buffer():header().overflows)
   end)

   it("refuses flags it does not know, too few or too many regions, and regions too small for a sample", function()
      for _, bad in ipairs { { buf_flags = 4 }, { buf_flags = 0x200 }, { buf_flags = { "NO_HDR", "IIP_HDR" } },
         { regions = 1 }, { regions = 9 }, { buf_size = 100 }, { buf_size = HEADER }, { regions = 8, buf_size = 1024 },
         { buf_size = HEADER + 2 * (40 + 8 * #lpfm.pmds()) - 1 } } do
         bad.format = "n-way"
         sim.refused("EINVAL", "not valid", lpfm.create(bad))
      end
      sim.context { format = "n-way", buf_size = HEADER + 2 * (40 + 8 * #lpfm.pmds()) }
   end)
end)

describe("6.4.1 PFM_ITA_FL_PRIV_MONITORS", function()
   before_each(sim.begin)
   after_each(sim.finish)

   -- Counts a thread's 100 user and 100 kernel instructions, and 10 interrupts of 3 each during it.
   local function counted(set_flags, ctx_flags)
      local m = sim.machine()
      local tid = m:spawn { program = { { loop = 100, { ip = 1, ns = 10 }, { ip = 2, ns = 10, level = "kernel" } } } }
      assert(m:interrupt { start = 100, period = 200, program = { { loop = 3, { ip = 3, ns = 10,
         level = "interrupt" } } } })
      local ctx = sim.context { flags = ctx_flags or { "PRIV_MONITORS" } }
      assert(ctx:create_evtsets { { id = 0, flags = set_flags } })
      sim.count(ctx, 4, "instructions")
      sim.start(ctx, tid)
      assert(m:run { until_exit = tid })
      return sim.value(ctx, 4), m:truth(tid).instructions
   end

   it("'enable the use of privileged monitors for a per-thread context': EXCL_INTR and INTR_ONLY become possible",
      function()
         local all, t = counted {}
         assert.are.same({ 100, 100, all }, { t.user, t.kernel, t.total })
         assert.is_true(t.interrupt >= 30)
         assert.are.equal(200, (counted { "EXCL_INTR" }))
         assert.are.equal(t.interrupt, (counted { "INTR_ONLY" }))
      end)

   it("'overrides the default': without it, user monitors, and those flags are refused", function()
      local ctx = sim.context()
      sim.refused("EINVAL", "need privileged monitors", ctx:create_evtsets { { id = 0, flags = { "EXCL_INTR" } } })
      sim.refused("EINVAL", "need privileged monitors", ctx:create_evtsets { { id = 0, flags = { "INTR_ONLY" } } })
   end)

   it("system-wide: 'it is not possible to override the use of privileged monitors': nothing changes", function()
      local ctx = sim.context { flags = { "SYSTEM_WIDE", "PRIV_MONITORS" } }
      assert(ctx:create_evtsets { { id = 0, flags = { "EXCL_INTR" } } })
   end)
end)

describe("6.5 Support for PMU preemption", function()
   before_each(sim.begin)
   after_each(sim.finish)

   local FOREVER = { { loop = "forever", { ip = 1, ns = 10 } } }

   local function wide(flags)
      local ctx = sim.context { flags = { "SYSTEM_WIDE", unpack(flags or { "PREEMPTIBLE" }) } }
      sim.count(ctx, 4, "cycles")
      return ctx
   end

   local function of_thread(tid)
      local ctx = sim.count(sim.context(), 4, "cycles")
      sim.start(ctx, tid)
      return ctx
   end

   -- Makes two threads that take turns of 1 us on one CPU; the first result runs first.
   local function two()
      local m = sim.machine("itanium2", { hz = 1e6, slice_ns = 1000 })
      return m, m:spawn { program = FOREVER }, m:spawn { program = FOREVER }
   end

   local function preemptions(ctx)
      local list = {}
      for msg in ctx:messages(0) do
         assert.are.equal("PREEMPTED", msg.type)
         list[#list + 1] = msg
      end
      return list
   end

   it("'the interface enforces mutual exclusion', unless 'an application indicates that it accepts to be preempted'",
      function()
         local m, first = two()
         local ctx = wide {}
         assert(ctx:load(0))
         local thread = sim.context()
         sim.refused("EBUSY", "excludes", thread:load(first))
         ctx:unload()
         ctx:close()
         m:run { ns = 0 }
         ctx = wide()
         assert(ctx:load(0))
         assert(thread:load(first))
      end)

   it("a thread's context has the PMU while its thread runs, and counts exactly; the other has the rest", function()
      local m, first, second = two()
      local ctx = wide()
      sim.start(ctx, 0)
      local thread = of_thread(second)
      assert(m:run { us = 10 })
      assert.are.equal(5000, sim.value(thread, 4))
      assert.are.equal(5000, sim.value(ctx, 4))
      assert.are.equal(m:truth(first).cycles.total, sim.value(ctx, 4))
   end)

   it("'it would receive detailed information when its access is restored': when it lost it, to whom, for how long",
      function()
         local m, _, second = two()
         local ctx = wide()
         sim.start(ctx, 0)
         of_thread(second)
         assert(m:run { us = 3 }) -- the thread's context has the PMU from 1 to 2 us
         assert.are.same({ { type = "PREEMPTED", set = 0, cpu = 0, tid = second, lost_at = 1000, regained_at = 2000,
            blind = 1000 } }, preemptions(ctx))
         assert(m:run { us = 2 })
         assert.are.equal(3000, preemptions(ctx)[1].lost_at)
      end)

   it("'allowing the measurement to account for the blind spot': set_blind, beside set_act_duration", function()
      local m, _, second = two()
      local ctx = wide()
      sim.start(ctx, 0)
      of_thread(second)
      for us = 1, 9 do
         assert(m:run { us = 1 })
         local info = sim.info(ctx)
         assert.are.equal(1000 * us, info.act_duration + info.blind)
         assert.are.equal(1000 * math.floor(us / 2), info.blind)
      end
      -- the queue was full, but the sum of the gaps (blind) is complete
      assert.is_true(#preemptions(ctx) < 4)
   end)

   it("the blind spot is the time in which it would have monitored: not while it is stopped", function()
      local m, _, second = two()
      local ctx = wide()
      assert(ctx:load(0))
      of_thread(second)
      assert(m:run { ns = 1200 })
      assert(ctx:start()) -- the context has lost the PMU
      assert(m:run { ns = 300 })
      assert(ctx:stop())
      assert(m:run { ns = 300 })
      assert.are.same({ 0, 300 }, { sim.value(ctx, 4), sim.info(ctx).blind })
      assert(m:run { us = 1 })
      local msg = preemptions(ctx)[1]
      assert.are.same({ 1000, 2000, 300 }, { msg.lost_at, msg.regained_at, msg.blind })
   end)

   it("one that starts meanwhile counts from when it has the PMU, with what was written", function()
      local m, _, second = two()
      local ctx = wide()
      assert(ctx:load(0))
      of_thread(second)
      assert(m:run { ns = 1500 })
      assert(ctx:start())
      assert(ctx:write_pmds { { num = 4, value = 70000 } })
      assert(m:run { us = 1 })
      assert.are.equal(70500, sim.value(ctx, 4))
   end)

   it("gives back the PMU when the thread's context is unloaded, closed, or its thread ends", function()
      local ends = {
         function(_, thread) assert(thread:unload()) end,
         function(m, thread) thread:close() m:run { ns = 0 } end,
         function(m, _, tid) assert(m:kill(tid)) end,
      }
      for _, finish in ipairs(ends) do
         local m = sim.machine()
         local tid = m:spawn { program = FOREVER }
         local ctx = wide()
         sim.start(ctx, 0)
         assert(m:run { ns = 500 })
         local thread = of_thread(tid) -- tid runs: its context takes the PMU at once
         assert(m:run { ns = 700 })
         assert.are.same({ 500, 700 }, { sim.value(ctx, 4), sim.value(thread, 4) })
         finish(m, thread, tid)
         assert(m:run { ns = 100 })
         assert.are.equal(600, sim.value(ctx, 4))
         assert.are.equal(700, sim.info(ctx).blind)
         ctx:close()
         m:run { ns = 0 }
      end
   end)

   it("one that is loaded while a thread has the PMU waits for it", function()
      local m = sim.machine()
      local tid = m:spawn { program = { { loop = 100, { ip = 1, ns = 10 } } } }
      local thread = of_thread(tid)
      local ctx = wide()
      sim.start(ctx, 0)
      assert(m:run { ns = 1400 })
      assert.are.same({ 1000, 400 }, { sim.value(thread, 4), sim.value(ctx, 4) })
      assert.are.equal(1000, preemptions(ctx)[1].blind)
   end)

   it("timeouts of sets stand still in the blind spot (3.7.6), and overflows come when they are due", function()
      local m, _, second = two()
      local ctx = sim.context { flags = { "SYSTEM_WIDE", "PREEMPTIBLE" } }
      sim.count(ctx, 4, "cycles", { value = -1500, flags = { "OVFL_NOTIFY" } })
      sim.start(ctx, 0)
      of_thread(second)
      assert(m:run { us = 4 })
      assert.are.equal(2000, ctx:read(0).regained_at)
      assert.are.equal(0, sim.value(ctx, 4)) -- 1000 cycles until 1 us, 500 from 2 us on
   end)

   it("is for system-wide contexts", function()
      sim.refused("EINVAL", "PREEMPTIBLE needs SYSTEM_WIDE", lpfm.create { flags = { "PREEMPTIBLE" } })
   end)
end)
