-- SPDX-License-Identifier: MIT
-- HyperThreading, the option ht of the Pentium 4 models, by what perfmon/sim.h and
-- kernel/pmu/netburst.c say of it.
local lpfm = require "lpfm"
local sim = require "support.sim"

local MODELS = { "netburst", "em64t" }
local T0_USR, T1_USR = 4, 1
local A = 0x100000

-- Returns the numbers of `all` that are not in `some`; asserts that the others have the same names.
local function missing(some, all)
   local there, out = {}, {}
   for _, reg in ipairs(some) do there[reg.num] = reg.name end
   for _, reg in ipairs(all) do
      if there[reg.num] then assert.are.equal(reg.name, there[reg.num]) else out[#out + 1] = reg.num end
   end
   return out
end

local function between(first, last)
   local out = {}
   for num = first, last do out[#out + 1] = num end
   return out
end

-- Returns bit n of a mask.
local function bit(mask, n)
   return (lpfm.u64(mask) / lpfm.u64(2 ^ n) % 2):tonumber()
end

-- Spawns n executions of a site on a CPU, and starts a context on the thread, where counter 6
-- counts them.
local function counted(m, cpu, n, pmd)
   local ctx, tid = sim.context {}, assert(m:spawn { cpu = cpu, program = sim.work(n) })
   sim.count(ctx, 6, "instructions", pmd)
   assert(ctx:load(tid) and ctx:start())
   return ctx, tid
end

describe("HyperThreading", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("splits the registers: the odd half and those of PEBS are not there", function()
      for _, model in ipairs(MODELS) do
         sim.machine(model)
         local pmcs, pmds, whole = lpfm.pmcs(), lpfm.pmds(), lpfm.machine()
         sim.machine(model, { ht = 1 })
         local half = lpfm.machine()
         assert.are.same(between(9, 17), missing(lpfm.pmds(), pmds))
         local gone = between(32, 63)
         if model == "em64t" then table.remove(gone, 48 - 31) end -- em64t never has IQ_ESCR1
         gone[#gone + 1] = 96
         assert.are.same(gone, missing(lpfm.pmcs(), pmcs))
         assert.are.same({ 18, 9 }, { whole.hw_counters, half.hw_counters })
         assert.are.equal(whole.pmu .. (model == "em64t" and " and" or " with") .. " HyperThreading", half.pmu)
      end
   end)

   it("reserves what names a logical processor: it is one's own, in the bits of logical processor 0", function()
      for _, model in ipairs(MODELS) do
         sim.machine(model, { ht = 1 })
         for _, pmc in ipairs(lpfm.pmcs()) do
            if pmc.num < 23 then -- T1_USR, T1_OS; T0_USR, T0_OS
               for n, expected in pairs { [0] = 1, 1, 0, 0 } do
                  assert.are.equal(expected, bit(pmc.rsvd_mask, n), pmc.name .. " " .. n)
               end
            elseif pmc.num < 32 then -- bits 16, 17: always count; 26, 27: OVF_PMI_T0, T1; 20: the threshold
               for n, expected in pairs { [16] = 1, [17] = 1, [26] = 1, [27] = 1, [20] = 0 } do
                  assert.are.equal(expected, bit(pmc.rsvd_mask, n), pmc.name .. " " .. n)
               end
            end
         end
      end
   end)

   it("refuses the registers that are not there, and PEBS", function()
      for model, format in pairs { netburst = "pebs-32", em64t = "pebs" } do
         local m = sim.machine(model, { ht = 1 })
         local ctx = sim.context {}
         for _, num in ipairs { 32, 54, 63, 96 } do
            sim.refused("EINVAL", "PMC" .. num .. " is not available", ctx:write_pmcs { { num = num, value = 0 } })
         end
         sim.refused("EINVAL", "PMD9 is not available", ctx:write_pmds { { num = 9, value = 0 } })
         sim.refused("EINVAL", "PMD9 is no hardware counter", m:encode_pmcs("cycles", 9))
         sim.refused("EOPNOTSUPP", "this machine's processor does not write such samples",
            lpfm.create { format = format, format_arg = require("pfm.pebs").argument { periods = { [0] = 100 } } })
      end
   end)

   it("is an option of the Pentium 4 models alone, with or without a value, also after the name", function()
      for _, model in ipairs { "itanium2", "k8", "nehalem" } do
         sim.refused("EINVAL", model .. " has no HyperThreading", lpfm.machine("sim:" .. model, { ht = 1 }))
         assert(lpfm.machine("sim:" .. model, { ht = 0 }))
      end
      sim.refused("EINVAL", "option ht is from 0 to 1", lpfm.machine("sim:netburst", { ht = 2 }))
      assert.are.equal(9, assert(lpfm.machine("sim:em64t,ht")).hw_counters)
      assert.are.equal(9, assert(lpfm.machine("sim:em64t,ht=1,cpus=4")).hw_counters)
      assert.are.equal(18, assert(lpfm.machine("sim:em64t,ht=0")).hw_counters)
   end)

   it("has two CPUs if not told how many", function()
      local m = sim.machine("netburst", { ht = 1 })
      assert.is_truthy(m:truth { cpu = 1 })
      sim.refused("EINVAL", "there is no CPU 2", m:truth { cpu = 2 })
      m = sim.machine("netburst", { ht = 1, cpus = 3 })
      assert.is_truthy(m:truth { cpu = 2 })
      sim.refused("EINVAL", "there is no CPU 3", m:truth { cpu = 3 })
   end)

   it("lets both logical processors be monitored at once, and each counts its own thread", function()
      for _, model in ipairs(MODELS) do
         local m = sim.machine(model, { ht = 1, cpus = 4 })
         local contexts, tids = {}, {}
         for cpu = 0, 3 do contexts[cpu], tids[cpu] = counted(m, cpu, 1000 + cpu) end
         for cpu = 0, 3 do assert(m:run { until_exit = tids[cpu], s = 1 }) end
         for cpu = 0, 3 do assert.are.equal(1000 + cpu, sim.value(contexts[cpu], 6), model) end
      end
   end)

   it("lets a system-wide session count on each logical processor", function()
      local m = sim.machine("netburst", { ht = 1 })
      local contexts, tids = {}, {}
      for cpu = 0, 1 do
         assert(m:set("tool_cpu", cpu))
         contexts[cpu] = sim.context { flags = { "SYSTEM_WIDE" } }
         sim.count(contexts[cpu], 6, "instructions", { level = "u" })
         assert(contexts[cpu]:load(cpu) and contexts[cpu]:start())
         tids[cpu] = assert(m:spawn { cpu = cpu, program = sim.work(500 + cpu) })
      end
      for cpu = 0, 1 do assert(m:run { until_exit = tids[cpu], s = 1 }) end
      for cpu = 0, 1 do
         assert(m:set("tool_cpu", cpu))
         assert.are.equal(500 + cpu, sim.value(contexts[cpu], 6))
         contexts[cpu]:close()
      end
   end)

   it("interrupts the logical processor whose counter overflows", function()
      local m = sim.machine("netburst", { ht = 1 })
      local contexts, tids = {}, {}
      for cpu = 0, 1 do
         contexts[cpu], tids[cpu] = counted(m, cpu, 1000, { value = -100 - cpu, flags = { "OVFL_NOTIFY" } })
      end
      for cpu = 0, 1 do
         assert(m:run { until_message = contexts[cpu], s = 1 })
         local msg = assert(contexts[cpu]:read(0))
         assert.are.same({ "OVFL", cpu, tids[cpu] }, { msg.type, msg.cpu, msg.tid })
         assert(contexts[cpu]:restart())
      end
   end)

   it("counts a thread wherever it runs", function()
      local m = sim.machine("netburst", { ht = 1, slice_ms = 1 })
      local contexts, tids, moves = {}, {}, 0
      for i = 1, 3 do contexts[i], tids[i] = counted(m, nil, 500000 + i) end
      for i = 1, 3 do assert(m:run { until_exit = tids[i], s = 1 }) end
      for i = 1, 3 do
         assert.are.equal(500000 + i, sim.value(contexts[i], 6))
         moves = moves + (m:truth(tids[i]).cpu_migrations or { kernel = 0 }).kernel
      end
      assert.is_true(moves > 0)
   end)

   it("takes the levels of logical processor 0 for one's own, and drops those of 1", function()
      for cpu = 0, 1 do
         for bits, expected in pairs { [T0_USR] = 100, [T1_USR] = 0, [T0_USR + T1_USR] = 100 } do
            local m = sim.machine("netburst", { ht = 1 })
            local pmcs = assert(m:encode_pmcs("instructions", 6, "u"))
            assert.are.equal(20, pmcs[2].num) -- CRU_ESCR0
            pmcs[2].value = pmcs[2].value - T0_USR + bits
            local ctx, tid = sim.context {}, assert(m:spawn { cpu = cpu, program = sim.work(100) })
            assert(ctx:write_pmcs(pmcs) and ctx:write_pmds { { num = 6, value = 0 } })
            assert(ctx:load(tid) and ctx:start())
            assert(m:run { until_exit = tid, s = 1 })
            assert.are.equal(expected, sim.value(ctx, 6), bits)
         end
      end
   end)
end)

describe("events with HyperThreading", function()
   before_each(sim.begin)
   after_each(sim.finish)

   local CYCLES = "global_power_events:RUNNING"

   it("are assigned to the registers that are there", function()
      local two = { plm = "u", events = { CYCLES, { name = CYCLES, plm = "k" } } }
      for _, model in ipairs(MODELS) do
         sim.machine(model)
         local whole = assert(lpfm.dispatch_events(two))
         assert.are.equal(2, #whole.pmds)
         assert.is_true(math.max(unpack(whole.pmds)) >= 9) -- with ht=1 there are no PMD9-17
         sim.machine(model, { ht = 1 })
         local one = assert(lpfm.dispatch_events { plm = "u", events = { CYCLES } })
         assert.is_true(one.pmds[1] < 9)
         local _, _, _, code = lpfm.dispatch_events(two) -- both events need FSB_ESCR0
         assert.are.equal("NOASSIGN", code)
      end
   end)

   it("cannot be counted where they need what is not there", function()
      for _, name in ipairs { "IOQ_active_entries:ALL_READ", "replay_event:L1_LD_MISS:NBOGUS" } do
         -- without HyperThreading they have counters, though what they count is not simulated
         for code, options in pairs { NOTSUPP = {}, NOASSIGN = { ht = 1 } } do
            sim.machine("netburst", options)
            assert.are.equal(code, (select(4, lpfm.dispatch_events { plm = "u", events = { name } })), name)
         end
      end
   end)

   it("count on each logical processor", function()
      local m = sim.machine("em64t", { ht = 1 })
      for cpu = 0, 1 do
         local ctx, tid = sim.context {}, assert(m:spawn { cpu = cpu, program = sim.work(70) })
         local d = assert(lpfm.dispatch_events { plm = "u", events = { "instr_retired:NBOGUSNTAG" } })
         assert(ctx:write_pmcs(d.pmcs) and ctx:write_pmds { { num = d.pmds[1], value = 0 } })
         assert(ctx:load(tid) and ctx:start())
         assert(m:run { until_exit = tid, s = 1 })
         assert.are.equal(70, sim.value(ctx, d.pmds[1]))
      end
   end)
end)

describe("two logical processors", function()
   before_each(sim.begin)
   after_each(sim.finish)

   -- Runs a thread on each CPU, 10 times through `blocks` blocks of its own; returns `misses`.
   local function walkers(options, cpus, blocks, stride, misses)
      local m, tids, total = sim.machine("netburst", options), {}, {}
      for i, cpu in ipairs(cpus) do
         tids[i] = assert(m:spawn { cpu = cpu, program = { { loop = 10, { loop = blocks,
            { ip = 0x1000 * i, load = { A * 16 * i, stride } } } } } })
      end
      for i in ipairs(cpus) do assert(m:run { until_exit = tids[i], s = 1 }) end
      for i in ipairs(cpus) do total[i] = m:truth(tids[i])[misses].user end
      return total, m
   end

   it("contend for the caches of their core", function()
      local options = { ht = 1, cpus = 4, l1d = "8192:128:64", dtlb = 0, itlb = 0 }
      local alone = walkers(options, { 0 }, 80, 64, "l1d_misses")
      assert.are.same({ 80 }, alone)
      assert.are.same({ 80, 80 }, (walkers(options, { 0, 2 }, 80, 64, "l1d_misses")))
      local both, m = walkers(options, { 0, 1 }, 80, 64, "l1d_misses") -- 160 lines in an L1D of 128
      assert.is_true(both[1] > 400 and both[2] > 400)
      assert.are.same(m:caches(0), m:caches(1))
      assert.are.equal(2 * 800, m:caches(0).L1D.loads)
      assert.are.equal(both[1] + both[2], m:caches(0).L1D.load_misses)
      assert.are.equal(0, m:caches(2).L1D.loads)
      options.ht = 0
      assert.are.same({ 80, 80 }, (walkers(options, { 0, 1 }, 80, 64, "l1d_misses")))
   end)

   it("contend for its TLBs", function()
      local options = { ht = 1, cpus = 4, l1d = 0, l2 = 0, itlb = 0 } -- the data TLB has 64 entries
      assert.are.same({ 40, 40 }, (walkers(options, { 1, 3 }, 40, 4096, "dtlb_misses")))
      local both = walkers(options, { 2, 3 }, 40, 4096, "dtlb_misses")
      assert.is_true(both[1] > 200 and both[2] > 200)
   end)

   it("do not take lines from each other", function()
      local function writers(other)
         local m, tids = sim.machine("netburst", { ht = 1, cpus = 4 }), {}
         for i, cpu in ipairs { 0, other } do
            local site = { ip = 0x1000 * i, store = A + 8 * i }
            tids[i] = assert(m:spawn { cpu = cpu, program = { { loop = 100, site } } })
         end
         for i = 1, 2 do assert(m:run { until_exit = tids[i], s = 1 }) end
         return m:caches(0).L1D.invalidated
      end
      assert.are.equal(0, writers(1))
      assert.is_true(writers(2) > 50)
   end)

   it("are two CPUs of those that can have caches", function()
      assert.are.same({ 1 }, (walkers({ ht = 1, cpus = 64 }, { 63 }, 1, 0, "l1d_misses")))
   end)
end)
