-- SPDX-License-Identifier: MIT
-- Section 3.2, PMU register mappings.
local lpfm = require "lpfm"
local sim = require "support.sim"

local TSTAMP, REALTIME, TID, PID, CPU = 80, 81, 82, 83, 84

local by_num = sim.by_num

describe("3.2 PMU register mappings", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("3.2.1: 'Any perfmon-based application must pass PMU setup in terms of PMC and PMD registers'", function()
      -- the same calls work on all models, whatever the actual registers are
      for model, num in pairs { itanium2 = 4, k8 = 0, p6 = 0, armv8 = 0 } do
         local m = sim.machine(model)
         local ctx = sim.count(sim.context(), num, "l2_misses")
         sim.start(ctx, m:spawn { program = sim.work(10, { l2_misses = 3 }) })
         assert(m:run { us = 1 })
         assert.are.equal(30, sim.value(ctx, num), model)
      end
   end)

   it("3.2.1: 'a one to one mapping. This is the case for the Itanium Processor Family PMU'", function()
      sim.machine("itanium2")
      for _, list in ipairs { lpfm.pmcs(), lpfm.pmds() } do
         for _, reg in ipairs(list) do
            if reg.num < 64 then
               assert.are.equal(reg.num, reg.index, reg.name)
            end
         end
      end
   end)

   it("3.2.1, figure 3.12: PMCs that map to debug registers, beside those that map to the PMU's", function()
      sim.machine("itanium2")
      local pmcs = by_num(lpfm.pmcs())
      for i = 0, 7 do
         assert.are.same({ "IBR", i }, { pmcs[256 + i].type, pmcs[256 + i].index })
         assert.are.same({ "DBR", i }, { pmcs[264 + i].type, pmcs[264 + i].index })
      end
   end)

   it("3.2.1: 'The name space is not necessarily contiguous, holes are supported'", function()
      sim.machine("armv8")
      local pmds = by_num(lpfm.pmds())
      assert.is_truthy(pmds[5])
      assert.is_nil(pmds[6])
      assert.is_truthy(pmds[31])
      local ctx = sim.context()
      sim.refused("EINVAL", "PMD6 is not available", ctx:read_pmds { 6 })
      assert(ctx:read_pmds { 31 })
   end)

   describe("3.2.2 virtual PMDs", function()
      it("are PMDs like others: listed, with names, and read", function()
         sim.machine()
         local pmds = by_num(lpfm.pmds())
         for num, name in pairs { [TSTAMP] = "timestamp", [REALTIME] = "realtime", [TID] = "thread",
            [PID] = "process", [CPU] = "cpu" } do
            assert.are.same({ name, "VIRT" }, { pmds[num].name, pmds[num].type })
            assert.is_nil(pmds[num].index)
         end
      end)

      it("map 'onto operating system ... resources': time, thread, process, CPU", function()
         local m = sim.machine("itanium2", { cpus = 2 })
         local first = m:spawn { program = sim.work(1000), cpu = 1 }
         local tid = m:spawn { program = sim.work(1000), process = sim.thread(first).pid, cpu = 0 }
         assert(m:run { ns = 500 })
         local ctx = sim.context()
         assert(ctx:load(tid))
         assert.are.same({ 500, tid, sim.thread(first).pid }, ctx:read_values { TSTAMP, TID, PID })
         assert(m:run { ns = 100 })
         assert.are.equal(600, sim.value(ctx, TSTAMP))
      end)

      it("'it becomes possible to include it into profiles': recorded in samples, as of the overflow", function()
         local m = sim.machine("itanium2", { cpus = 2 })
         m:spawn { program = sim.work(100000), cpu = 0 }
         local tid = m:spawn { program = sim.work(100), cpu = 1 }
         local ctx = sim.context { format = "default", buf_size = 4096 }
         sim.count(ctx, 4, "instructions", { value = -10, short_reset = -10, smpl_pmds = { TSTAMP, TID, PID, CPU } })
         sim.start(ctx, tid)
         assert(m:run { us = 5 })
         local n = 0
         for s in ctx:buffer():samples() do
            n = n + 1
            assert.are.same({ 100 * n, tid, sim.thread(tid).pid, 1 }, { s[TSTAMP], s[TID], s[PID], s[CPU] })
            assert.are.equal(s.tstamp, s[TSTAMP])
         end
         assert.are.equal(10, n)
      end)

      it("'Certain virtual PMD registers may not be written'", function()
         local ctx = sim.context()
         for _, num in ipairs { TSTAMP, REALTIME, TID, PID, CPU } do
            sim.refused("EINVAL", "read-only", ctx:write_pmds { { num = num, value = 1 } })
            sim.refused("EINVAL", "cannot be written", ctx:write_pmds { { num = 4, value = 1, reset_pmds = { num } } })
         end
      end)

      it("have the same place on every model: after the hardware's", function()
         for _, model in ipairs(sim.models()) do
            sim.machine(model)
            local pmds = lpfm.pmds()
            for i = 0, 4 do
               assert.are.equal(84 - i, pmds[#pmds - i].num)
            end
         end
      end)
   end)

   it("3.2.3: the example of figure 3.12: a PMC of type MSR, and the MSR's address", function()
      sim.machine("p6")
      local pmc = by_num(lpfm.pmcs())[1]
      assert.are.same({ "MSR", 0x187 }, { pmc.type, pmc.index })
   end)

   it("3.2.4, figure 3.13: a library that knows MSR addresses is served by a table from the two commands", function()
      for model, wanted in pairs { p6 = { 0x186, 0xc1 }, k8 = { 0xc0010002, 0xc0010006 } } do
         local m = sim.machine(model)
         local pmc_of, pmd_of = {}, {}
         for _, reg in ipairs(lpfm.pmcs()) do
            pmc_of[reg.type .. (reg.index or "")] = reg.num
         end
         for _, reg in ipairs(lpfm.pmds()) do
            pmd_of[reg.type .. (reg.index or "")] = reg.num
         end
         local pmc, pmd = pmc_of["MSR" .. wanted[1]], pmd_of["MSR" .. wanted[2]]
         local ctx = sim.context()
         assert(ctx:write_pmcs { { num = pmc, value = m:encode("cycles", pmd) } })
         sim.start(ctx, m:spawn { program = sim.work(25) })
         assert(m:run { us = 1 })
         assert.are.equal(250, sim.value(ctx, pmd), model)
      end
   end)
end)
