-- SPDX-License-Identifier: MIT
-- Specification, chapter 5: what is special of the Itanium Processor Family.
local lpfm = require "lpfm"
local c = require "support.c"
local formats = require "support.formats"
local sim = require "support.sim"

-- A thread that counts 10 in each of: before rum, between rum and sum, after sum.
local function sections()
   return { { loop = 10, { ip = 1, ns = 10 } }, { rum = true }, { loop = 10, { ip = 2, ns = 10 } }, { sum = true },
      { loop = 10, { ip = 3, ns = 10 } } }
end

local function bits(...)
   local v = lpfm.u64(0)
   for _, n in ipairs { ... } do
      v = v + lpfm.u64("0x1") * lpfm.u64(2 ^ n)
   end
   return v
end

describe("5.1 Itanium specific register mappings", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("'PMC_x maps to the actual PMC_x registers, same thing with the PMD registers'", function()
      for _, kind in ipairs { "PMC", "PMD" } do
         for _, reg in ipairs(kind == "PMC" and lpfm.pmcs() or lpfm.pmds()) do
            if reg.num < 64 then
               assert.are.same({ kind, reg.num, kind .. reg.num }, { reg.type, reg.index, reg.name })
            end
         end
      end
   end)
end)

describe("5.2 Privileged versus user monitors", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("'user monitors are selected for all per-thread contexts', whatever PMC.pm says: rum stops them", function()
      for _, pm in ipairs { 0, 64 } do
         local m = sim.machine()
         local ctx = sim.context { flags = { "INSECURE" } }
         sim.count(ctx, 4, "instructions", nil, { value = assert(m:encode("instructions", 4)) + pm })
         assert(ctx:load(m:spawn { program = sections() }))
         assert(ctx:start())
         assert(m:run { until_idle = true })
         assert.are.equal(20, sim.value(ctx, 4))
      end
   end)

   it("'privileged monitors for all system-wide contexts', 'Applications are not required to set the bit'", function()
      for _, pm in ipairs { 0, 64 } do
         local m = sim.machine()
         m:spawn { program = sections() }
         local ctx = sim.context { flags = { "SYSTEM_WIDE" } }
         assert(ctx:create_evtsets { { id = 0, flags = { "EXCL_INTR" } } }) -- needs them
         sim.count(ctx, 4, "instructions", nil, { value = assert(m:encode("instructions", 4, "u")) + pm })
         assert(ctx:load(0))
         assert(ctx:start())
         assert(m:run { until_idle = true })
         assert.are.equal(30, sim.value(ctx, 4)) -- rum has no effect
      end
   end)

   it("'No error is generated when the bit set by an application does not match'; it is set automatically", function()
      formats.make()
      formats.run("pm_bit")
   end)
end)

describe("5.3 Secure monitoring", function()
   before_each(sim.begin)
   after_each(sim.finish)

   local function counted(flags, self)
      local m = sim.machine()
      local tid = m:spawn { program = sections() }
      if self then
         assert(m:act(tid))
      end
      local ctx = sim.context { flags = flags }
      sim.count(ctx, 4, "instructions")
      assert(ctx:load(tid))
      assert(ctx:start())
      assert(m:act())
      assert(m:run { until_idle = true })
      return sim.value(ctx, 4)
   end

   it("'By default, the interface sets psr.sp to 1': 'rum and sum instructions have no effect'", function()
      assert.are.equal(30, counted {})
   end)

   it("'except for self-monitoring per-thread context'", function()
      assert.are.equal(20, counted({}, true))
   end)

   it("'it may also be interesting to allow insecure monitoring': rum and sum measure portions of the code", function()
      assert.are.equal(20, counted { "INSECURE" })
   end)

   it("'This bit has no effect on privileged monitors'", function()
      assert.are.equal(30, counted { "INSECURE", "PRIV_MONITORS" })
      assert.are.equal(30, counted({ "PRIV_MONITORS" }, true))
   end)

   it("sum does not start what is not loaded, nor end a mask", function()
      local m = sim.machine()
      local tid = m:spawn { program = { { loop = 10, { ip = 1, ns = 10 } }, { sum = true },
         { loop = 100, { ip = 1, ns = 10 } } } }
      local ctx = sim.context { flags = { "INSECURE" } }
      sim.count(ctx, 4, "instructions", { value = -5, flags = { "OVFL_NOTIFY" } })
      assert(ctx:load(tid))
      assert(ctx:start())
      assert(m:run { until_idle = true })
      assert.are.equal(0, sim.value(ctx, 4))
   end)
end)

describe("5.4 Context flags", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("5.4.1 PFM_ITA_FL_INSECURE: 'This flag is invalid for a system-wide context'", function()
      sim.refused("EINVAL", "INSECURE does not go with SYSTEM_WIDE",
         lpfm.create { flags = { "SYSTEM_WIDE", "INSECURE" } })
   end)

   it("and is unknown on other processors", function()
      for _, model in ipairs { "k8", "p6", "armv8" } do
         sim.machine(model)
         sim.refused("EINVAL", "unknown ctx_flags", lpfm.create { flags = { "INSECURE" } })
         sim.refused("EINVAL", "unknown ctx_flags", lpfm.create { flags = { "PRIV_MONITORS" } })
      end
   end)
end)

describe("5.5 Event set flags", function()
   before_each(sim.begin)
   after_each(sim.finish)

   -- Instructions in 10 us of a CPU where a thread runs for 5 us (every 10 ns one, alternately user and kernel), then
   -- the idle thread; an interrupt of 3 instructions comes every 1 us.
   local function counted(flags, level)
      local m = sim.machine()
      assert(m:interrupt { start = 500, period = 1000, program = { { loop = 3, { ip = 3, ns = 10,
         level = "interrupt" } } } })
      m:spawn { program = { { loop = 250, { ip = 1, ns = 10 }, { ip = 2, ns = 10, level = "kernel" } } } }
      local ctx = sim.context { flags = { "SYSTEM_WIDE" } }
      assert(ctx:create_evtsets { { id = 0, flags = flags } })
      sim.count(ctx, 4, "instructions", { level = level })
      sim.count(ctx, 5, "cycles", { level = level })
      assert(ctx:load(0))
      assert(ctx:start())
      assert(m:run { us = 10 })
      -- what the machine says happened
      local t = m:truth { cpu = 0 }
      local i = m:truth { idle = 0 }
      assert.are.equal(30, t.instructions.interrupt)
      return sim.value(ctx, 4), sim.value(ctx, 5), t, i
   end

   it("by default 'interrupt-triggered execution is monitored'", function()
      local instructions, cycles, t = counted {}
      assert.are.equal(t.instructions.total, instructions)
      assert.are.equal(10000, cycles)
   end)

   describe("5.5.1 PFM_ITA_SETFL_EXCL_INTR", function()
      it("'is used to exclude interrupt-triggered execution from monitoring'", function()
         local instructions, cycles, t = counted { "EXCL_INTR" }
         assert.are.equal(t.instructions.total - 30, instructions)
         assert.are.equal(10000 - 300, cycles)
      end)

      it("'does not have any influence if all the events in the set are' at 'non zero privilege level'", function()
         local with, without = counted({ "EXCL_INTR" }, "u"), counted({}, "u")
         assert.are.equal(250, with)
         assert.are.equal(250, without)
      end)

      it("'Any attempt to set this flag when user monitors are selected will return an error'", function()
         local ctx = sim.context()
         sim.refused("EINVAL", "need privileged monitors", ctx:create_evtsets { { id = 0, flags = { "EXCL_INTR" } } })
      end)

      it("with EXCL_IDLE: 'while the idle thread is active, nothing is monitored'", function()
         local instructions, cycles = counted { "EXCL_INTR", "EXCL_IDLE" }
         assert.are.equal(500, instructions)
         assert.are.equal(5000, cycles)
      end)

      it("EXCL_IDLE alone: 'interrupt-triggered execution is monitored when the idle thread is active'", function()
         local instructions, cycles, t, i = counted { "EXCL_IDLE" }
         assert.are.equal(500 + 30, instructions)
         assert.are.equal(5000 + 300, cycles)
         assert.is_true(i.instructions.interrupt > 0 and t.cycles.total == 10000)
      end)
   end)

   describe("5.5.2 PFM_ITA_SETFL_INTR_ONLY", function()
      it("'is used to monitor only interrupt-triggered execution'", function()
         local instructions, cycles = counted { "INTR_ONLY" }
         assert.are.equal(30, instructions)
         assert.are.equal(300, cycles)
      end)

      it("'does not have any influence if all the events in the set are' at 'non zero privilege level'", function()
         assert.are.equal(250, (counted({ "INTR_ONLY" }, "u")))
      end)

      it("'Any attempt to set this flag when user monitors are selected will return an error'", function()
         local ctx = sim.context()
         sim.refused("EINVAL", "need privileged monitors", ctx:create_evtsets { { id = 1, flags = { "INTR_ONLY" } } })
         sim.refused("EINVAL", "does not exist", ctx:getinfo_evtsets { 1 })
      end)

      it("with EXCL_IDLE: 'interrupts can be processed and will be monitored'", function()
         local instructions, cycles = counted { "INTR_ONLY", "EXCL_IDLE" }
         assert.are.equal(30, instructions)
         assert.are.equal(300, cycles)
      end)

      it("with EXCL_INTR: 'Both flags cannot be used at the same time, i.e., for the same set'", function()
         local ctx = sim.context { flags = { "SYSTEM_WIDE" } }
         sim.refused("EINVAL", "exclude each other",
            ctx:create_evtsets { { id = 0, flags = { "INTR_ONLY", "EXCL_INTR" } } })
         assert(ctx:create_evtsets { { id = 0, flags = { "INTR_ONLY" } }, { id = 1, flags = { "EXCL_INTR" } } })
      end)
   end)

   it("are unknown on other processors", function()
      sim.machine("k8")
      local ctx = sim.context { flags = { "SYSTEM_WIDE" } }
      for _, flag in ipairs { "EXCL_INTR", "INTR_ONLY" } do
         sim.refused("EINVAL", "unknown set_flags", ctx:create_evtsets { { id = 0, flags = { flag } } })
      end
   end)
end)

describe("5.6 Support for code and data range restrictions", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("5.6.1, table 5.1: IBR0 is PMC256 ... DBR7 is PMC271; PFM_GETINFO_PMCS tells 'in the other direction'", function()
      local found = {}
      for _, pmc in ipairs(lpfm.pmcs()) do
         if pmc.num >= 256 then
            found[pmc.num] = pmc.type .. pmc.index
         end
      end
      for i = 0, 7 do
         assert.are.equal("IBR" .. i, found[256 + i])
         assert.are.equal("DBR" .. i, found[264 + i])
         found[256 + i], found[264 + i] = nil, nil
      end
      assert.is_nil(next(found))
   end)

   it("5.6.1: 'When the feature is not present, PMC256-PMC271 are not implemented'", function()
      for _, model in ipairs { "k8", "p6", "armv8" } do
         sim.machine(model)
         local ctx = sim.context()
         sim.refused("EINVAL", "PMC256 is not available", ctx:write_pmcs { { num = 256, value = 0 } })
      end
   end)

   it("5.6.2: PFM_LOAD_CONTEXT 'fails if any thread across the entire system is using the debug registers'", function()
      local m = sim.machine()
      local tid = m:spawn { program = sim.work(100) }
      for _, flags in ipairs { {}, { "SYSTEM_WIDE" } } do
         local target = #flags > 0 and 0 or tid
         for _, num in ipairs { 256, 271 } do
            local ctx = sim.context { flags = flags }
            assert(ctx:create_evtsets { { id = 5 } })
            assert(ctx:write_pmcs { { num = num, set = 5, value = 0x1000 } }) -- in any set
            assert(m:set("debugger", 1))
            sim.refused("EBUSY", "a debugger uses the debug registers", ctx:load(target))
            assert(m:set("debugger", 0)) -- 'then it becomes possible to use range restrictions'
            assert(ctx:load(target))
            assert(ctx:unload())
            ctx:close()
         end
      end
   end)

   it("5.6.2: 'not possible to use the debug registers for both': a debugger does not get a context's", function()
      local m = sim.machine()
      local ctx = sim.context()
      assert(ctx:write_pmcs { { num = 256, value = 0x1000 }, { num = 257, value = 0xfff } })
      assert(m:set("debugger", 1)) -- not loaded yet
      assert(m:set("debugger", 0))
      assert(ctx:load(m:spawn { program = sim.work(1000) }))
      sim.refused("EBUSY", "the debug registers restrict ranges", m:set("debugger", 1))
      assert(ctx:unload())
      assert(m:set("debugger", 1))
   end)

   it("5.6.2: who restricts no range is not concerned by debuggers", function()
      local m = sim.machine()
      assert(m:set("debugger", 1))
      local ctx = sim.context()
      sim.count(ctx, 4, "instructions")
      assert(ctx:load(m:spawn { program = sim.work(100) }))
      assert(ctx:write_pmcs { { num = 8, value = 0 } })
   end)

   it("5.6.2: 'for a loaded context, writing a debug register with PFM_WRITE_PMCS fails' then", function()
      local m = sim.machine()
      local ctx = sim.context()
      assert(m:set("debugger", 1))
      assert(ctx:write_pmcs { { num = 256, value = 0x1000 } }) -- detached: nothing is touched
      assert(m:set("debugger", 0))
      assert(ctx:load(m:spawn { program = sim.work(100) }))
      assert(ctx:write_pmcs { { num = 257, value = 0xfff } })
      assert(ctx:unload())
      ctx = sim.context()
      assert(ctx:load(m:spawn { program = sim.work(100) }))
      assert(m:set("debugger", 1))
      sim.refused("EBUSY", "element 2: a debugger uses the debug registers",
         ctx:write_pmcs { { num = 8, value = 0 }, { num = 256, value = 0 } })
      assert(m:set("debugger", 0))
      assert(ctx:write_pmcs { { num = 256, value = 0 } })
   end)

   it("5.6.3: 'there is no specific flag supported on input for a debug register'", function()
      local ctx = sim.context()
      for num = 256, 271 do
         sim.refused("EINVAL", "NO_EMUL64", ctx:write_pmcs { { num = num, value = 0, flags = { "NO_EMUL64" } } })
         sim.refused("EINVAL", "unknown reg_flags", ctx:write_pmcs { { num = num, value = 0, flags = 1 } })
      end
   end)

   it("5.6.3: reg_set is 'the event set for the PMC register'; one that does not exist is refused", function()
      local ctx = sim.context()
      sim.refused("EINVAL", "set 3 does not exist", ctx:write_pmcs { { num = 256, set = 3, value = 0 } })
      assert(ctx:create_evtsets { { id = 3 } })
      assert(ctx:write_pmcs { { num = 256, set = 3, value = 0 } })
   end)

   it("5.6.3: 'checked for PMC257, PMC259, PMC261 and PMC263, such that ibr.x is cleared'", function()
      local ctx = sim.context()
      for num = 256, 263 do
         if num % 2 == 1 then
            sim.refused("EINVAL", "ibr.x (bit 63) must be clear", ctx:write_pmcs { { num = num, value = bits(63) } })
            assert(ctx:write_pmcs { { num = num, value = bits(62, 61, 0) } })
         else
            assert(ctx:write_pmcs { { num = num, value = bits(63) } }) -- an address
         end
      end
   end)

   it("5.6.3: 'PMC265, PMC267, PMC269 and PMC271 such that dbr.r and dbr.w bits are cleared'", function()
      local ctx = sim.context()
      for num = 264, 271 do
         for _, bad in ipairs { bits(63), bits(62), bits(62, 63) } do
            if num % 2 == 1 then
               sim.refused("EINVAL", "dbr.r and dbr.w (bits 63, 62)", ctx:write_pmcs { { num = num, value = bad } })
            else
               assert(ctx:write_pmcs { { num = num, value = bad } })
            end
         end
         assert(ctx:write_pmcs { { num = num, value = bits(61, 0) } })
      end
   end)

   it("5.6.3: reg_smpl_pmds, reg_reset_pmds and reg_smpl_eventid: 'ignored for debug registers'", function()
      local out, status = c.sh(c.compile("formats_signal") .. " debug_registers")
      assert.are.equal(0, status, out)
   end)
end)

describe("5.7 Calling perfmonctl() from signal handlers", function()
   it("'It is possible to create, program, control and destroy a context from a signal handler'", function()
      local out, status = c.sh(c.compile("formats_signal") .. " handler")
      assert.are.equal(0, status, out)
   end)

   it("... also from one that interrupts another call of the interface", function()
      local out, status = c.sh(c.compile("formats_signal") .. " storm")
      assert.are.equal(0, status, out)
   end)
end)
