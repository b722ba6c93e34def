-- SPDX-License-Identifier: MIT
-- Specification, chapter 5: what is special of the Itanium Processor Family.
local lpfm = require "lpfm"
local c = require "support.c"
local formats = require "support.formats"
local real = require "support.real"
local sim = require "support.sim"

-- Returns a program with 10 instructions each before rum, between rum and sum, and after sum.
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
         sim.start(ctx, m:spawn { program = sections() })
         assert(m:run { until_idle = true })
         assert.are.equal(20, sim.value(ctx, 4))
      end
   end)

   it("'privileged monitors for all system-wide contexts', 'Applications are not required to set the bit'", function()
      for _, pm in ipairs { 0, 64 } do
         local m = sim.machine()
         m:spawn { program = sections() }
         local ctx = sim.context { flags = { "SYSTEM_WIDE" } }
         -- EXCL_INTR needs privileged monitors
         assert(ctx:create_evtsets { { id = 0, flags = { "EXCL_INTR" } } })
         sim.count(ctx, 4, "instructions", nil, { value = assert(m:encode("instructions", 4, "u")) + pm })
         sim.start(ctx, 0)
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
      local ctx = sim.count(sim.context { flags = flags }, 4, "instructions")
      sim.start(ctx, tid)
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

   it("sum does not start what is not loaded", function()
      for _, loaded in ipairs { false, true } do
         local m = sim.machine()
         local tid = m:spawn { program = { { loop = 10, { ip = 1, ns = 10 } }, { sum = true },
            { loop = 100, { ip = 1, ns = 10 } } } }
         local ctx = sim.count(sim.context { flags = { "INSECURE" } }, 4, "instructions")
         assert(ctx:load(tid))
         if not loaded then assert(ctx:unload()) end
         assert(m:run { ns = 600 })
         if not loaded then assert(ctx:load(tid)) end
         assert(m:run { ns = 200 })
         assert.are.equal(loaded and 70 or 0, sim.value(ctx, 4))
      end
   end)

   it("sum does not end a mask", function()
      local m = sim.machine()
      local tid = m:spawn { program = { { loop = 10, { ip = 1, ns = 10 } }, { sum = true },
         { loop = 100, { ip = 1, ns = 10 } } } }
      local ctx = sim.context { flags = { "INSECURE" } }
      sim.count(ctx, 4, "instructions", { value = -5, flags = { "OVFL_NOTIFY" } })
      sim.start(ctx, tid)
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

   -- Counts in 10 us of a CPU. A thread runs for 5 us, with an instruction every 10 ns, alternately
   -- user and kernel; then the idle thread. An interrupt of 3 instructions comes every 1 us.
   local function counted(flags, level)
      local m = sim.machine()
      assert(m:interrupt { start = 500, period = 1000, program = { { loop = 3, { ip = 3, ns = 10,
         level = "interrupt" } } } })
      m:spawn { program = { { loop = 250, { ip = 1, ns = 10 }, { ip = 2, ns = 10, level = "kernel" } } } }
      local ctx = sim.context { flags = { "SYSTEM_WIDE" } }
      assert(ctx:create_evtsets { { id = 0, flags = flags } })
      sim.count(ctx, 4, "instructions", { level = level })
      sim.count(ctx, 5, "cycles", { level = level })
      sim.start(ctx, 0)
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
            -- in a set that is not active
            assert(ctx:write_pmcs { { num = num, set = 5, value = 0x1000 } })
            assert(m:set("debugger", 1))
            sim.refused("EBUSY", "a debugger uses the debug registers", ctx:load(target))
            assert(m:set("debugger", 0)) -- 'then it becomes possible to use range restrictions'
            assert(ctx:load(target))
            assert(ctx:unload())
            ctx:close()
         end
      end
   end)

   it("5.6.2: a debugger can have been there before: the option debugger of a new computer", function()
      local m = sim.machine("itanium2", { debugger = 1, cpus = 2 })
      local ctx = sim.context()
      assert(ctx:write_pmcs { { num = 256, value = 0x1000 } })
      sim.refused("EBUSY", "a debugger uses the debug registers", ctx:load(m:spawn { program = sim.work(100) }))
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
      local ctx = sim.count(sim.context(), 4, "instructions")
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
            assert(ctx:write_pmcs { { num = num, value = bits(63) } }) -- an even PMC is an address
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

describe("5.6 'it is possible to restrict monitoring to a certain range of code or data addresses'", function()
   before_each(sim.begin)
   after_each(sim.finish)

   local MASK = "0x%x%014x" -- plm (1: kernel, 8: user), the bits that are compared
   -- all opcodes match; address pair 0 counts (bit 0)
   local TIED = { num = 8, value = "0xffffffff3ffffffc" }
   local PAGE = 0xfffffffffff000 -- the bits of a page's number, in a mask of 56 bits

   -- Returns what counter 4 counts of a program: the event, or what `value` in PMC4 selects. The
   -- registers `pmcs` are written, too.
   local function counted(program, event, pmcs, value)
      local m = sim.machine()
      local ctx = sim.count(sim.context(), 4, event, nil, value and { value = value })
      if #pmcs > 0 then assert(ctx:write_pmcs(pmcs)) end
      sim.start(ctx, m:spawn { program = program })
      assert(m:run { until_idle = true })
      return sim.value(ctx, 4)
   end

   local function pair(first, num, address, mask, plm)
      return { num = first + 2 * num, value = address }, { num = first + 2 * num + 1,
         value = MASK:format(plm or 9, mask or PAGE) }
   end

   local function code(address, mask, plm)
      local a, b = pair(256, 0, address, mask, plm)
      return { a, b, { num = 14, value = 0xdb6 - 2 }, TIED } -- PMC14 puts pair 0 in force
   end

   local function visits(...)
      local sites = { loop = 10 }
      for _, ip in ipairs { ... } do sites[#sites + 1] = { ip = ip, ns = 10 } end
      return { sites }
   end

   it("counts what happens at the code addresses of a pair in force, and nothing else", function()
      local program = visits(0x1000, 0x1ff0, 0x2000, 0x9000000)
      assert.are.equal(40, counted(program, "instructions", {}))
      assert.are.equal(20, counted(program, "instructions", code(0x1000)))
      assert.are.equal(10, counted(program, "instructions", code(0x9000000)))
      assert.are.equal(0, counted(program, "instructions", code(0x5000)))
      assert.are.equal(30, counted(program, "instructions", code(0x1000, 0xfffffffffe0000)))
   end)

   it("ignores the address bits that the mask leaves out: with none, every address is in range", function()
      assert.are.equal(20, counted(visits(0x1000, 0x9000000), "instructions", code(0x1000, 0)))
   end)

   it("knows no range unless PMC14 puts the pair in force", function()
      local a, b = pair(256, 0, 0x5000)
      assert.are.equal(10, counted(visits(0x1000), "instructions", { a, b }))
   end)

   it("matches the privilege levels of the mask register", function()
      local program = { { loop = 10, { ip = 0x1000, ns = 10 }, { ip = 0x1000, ns = 10, level = "kernel" } } }
      assert.are.equal(20, counted(program, "instructions", code(0x1000, PAGE, 9)))
      assert.are.equal(10, counted(program, "instructions", code(0x1000, PAGE, 8)))
      assert.are.equal(0, counted(program, "instructions", code(0x1000, PAGE, 0)))
   end)

   it("'monitor an address range in the kernel address space'", function()
      local program = { { loop = 10, { ip = "0xa000000100001000", ns = 10, level = "kernel" },
         { ip = 0x1000, ns = 1 } } }
      assert.are.equal(10, counted(program, "instructions", code("0xa000000100001000")))
   end)

   it("fine mode: from the first address to the last bundle of one page", function()
      local program = visits(0x1000, 0x1020, 0x1040, 0x1052, 0x1060, 0x2030)
      local first, mask = pair(256, 0, 0x1020)
      local last, mask2 = pair(256, 2, 0x1050)
      assert.are.equal(30, counted(program, "instructions", { first, mask, last, mask2,
         { num = 14, value = 0x2000 + 0xdb6 - 2 }, TIED }))
   end)

   it("retired instructions have four pairs, chosen by the unit mask", function()
      local program = visits(0x1000, 0x3000)
      local a, b = pair(256, 0, 0x5000)
      local c1, d = pair(256, 2, 0x3000)
      local registers = { a, b, c1, d, { num = 14, value = 0 }, TIED }
      assert.are.equal(0, counted(program, "instructions", registers))
      assert.are.equal(10, counted(program, "instructions", registers, 0x800000 + 0x20800 + 9))
   end)

   it("restricts samples too: a loop's restricted instructions overflow at exact places", function()
      local m = sim.machine()
      local ctx = sim.context { format = "default", buf_size = 2 ^ 14 }
      sim.count(ctx, 4, "instructions", { value = -7, long_reset = -7, short_reset = -7, flags = { "OVFL_NOTIFY" } })
      assert(ctx:write_pmcs(code(0x2000)))
      assert(ctx:load(m:spawn { program = { { loop = 100, { loop = 3, { ip = 0x1000, ns = 1 } },
         { ip = 0x2000, ns = 1 } } } }))
      assert(ctx:start())
      assert(m:run { until_idle = true })
      local times = {}
      for s in ctx:buffer():samples() do
         assert.are.equal(0x2000, s.ip)
         times[#times + 1] = s.tstamp
      end
      assert.are.equal(14, #times)
      for i, t in ipairs(times) do assert.are.equal(28 * i, t) end
   end)

   it("counts accesses to the data addresses of the pairs that PMC13 puts in force", function()
      local function access(data) return { ip = 0x1000, ns = 10, data = data, events = { loads = 1 } } end
      local program = { { loop = 10, access(0x7000), access(0x8000), access(0x8ff8),
         { ip = 1, ns = 1, events = { loads = 1 } } } }
      local a, b = pair(264, 0, 0x8000)
      local c1, d = pair(264, 3, 0x7000)
      local none = bits(45, 46, 47, 48, 3, 4, 11, 12, 19, 20, 27, 28)
      assert.are.equal(40, counted(program, "loads", { a, b }))
      assert.are.equal(40, counted(program, "loads", { a, b, { num = 13, value = none } }))
      assert.are.equal(20, counted(program, "loads", { a, b, { num = 13, value = none - bits(3) } }))
      assert.are.equal(30, counted(program, "loads", { a, b, c1, d, { num = 13, value = none - bits(3, 27) } }))
      assert.are.equal(40, counted(program, "instructions", { a, b, { num = 13, value = none - bits(3) } }))
   end)

   it("keeps out of the address registers and the branch buffer what is out of range", function()
      local m = sim.machine()
      local ctx = sim.context()
      assert(ctx:write_pmcs { { num = 11, value = 9 }, { num = 12, value = 9 } })
      local registers = code(0x1000)
      -- PMC13 enables code ranges.
      registers[#registers + 1] = { num = 13, value = bits(45, 4, 3, 12, 11, 20, 19, 28, 27) - bits(4) }
      assert(ctx:write_pmcs(registers))
      assert(ctx:write_pmds { { num = 2, value = 0 }, { num = 16, value = 0 }, { num = 8, value = 0 } })
      assert(ctx:load(m:spawn { program = { { loop = 10,
         { ip = 0x1000, ns = 10, data = 0x40, latency = 20 }, { ip = 0x1010, ns = 1, branch = 0x1020 },
         { ip = 0x2000, ns = 10, data = 0x80, latency = 20 }, { ip = 0x2010, ns = 1, branch = 0x1000 } } } }))
      assert(ctx:start())
      assert(m:run { until_idle = true })
      assert.are.equal(0x40, sim.value(ctx, 2))
      assert.are.equal(0x1010, sim.value(ctx, 8) - sim.value(ctx, 8) % 16)
   end)

   it("PMC8: an opcode matcher counts instructions of one encoding and unit", function()
      local function instruction(opcode, unit) return { ip = 0x1000, ns = 10, opcode = opcode, unit = unit } end
      local program = { { loop = 10, instruction(2 ^ 37, "b"), instruction(2 ^ 37, "m"), instruction(2 ^ 37 + 5, "b"),
         instruction(2 ^ 38, "b"), instruction(2 ^ 20, "i") } }
      -- Bits 59-46 are compared with opcode bits 40-27, bits 45-33 with 12-0, but not where the
      -- mask, bits 29-16 and 15-3, has a 1.
      local function matcher(ignored, units, inverted)
         local value = bits(56) + bits(2) + ignored
         for _, unit in ipairs(units) do value = value + bits(({ b = 60, f = 61, i = 62, m = 63 })[unit]) end
         return { { num = 8, value = inverted and value + bits(1) or value } }
      end
      local low = lpfm.u64(0)
      for bit = 3, 15 do low = low + bits(bit) end
      assert.are.equal(10, counted(program, "instructions", matcher(lpfm.u64(0), { "b" })))
      assert.are.equal(20, counted(program, "instructions", matcher(low, { "b" })))
      assert.are.equal(10, counted(program, "instructions", matcher(low, { "m", "i" })))
      assert.are.equal(30, counted(program, "instructions", matcher(low, { "b", "f", "i", "m" })))
   end)

   it("PMC8: bit 0 takes pair 0 out of force, bit 1 inverts its range", function()
      local program = visits(0x1000, 0x2000, 0x3000)
      local function with(value)
         local registers = code(0x1000)
         registers[#registers + 1] = { num = 8, value = value }
         return counted(program, "instructions", registers)
      end
      local all = lpfm.u64 "0xffffffff3ffffffc"
      assert.are.equal(10, with(all))
      assert.are.equal(20, with(all + 2))
      assert.are.equal(30, with(all + 1))
   end)

   it("a threshold counts the cycles in which more events happen", function()
      local program = { { loop = 10, { ip = 1, ns = 5, events = { nops = 3 } }, { ip = 1, ns = 5, events = { nops = 7 },
         spread = 4 } } } -- 1, 2, 2, 2 nops in the last four cycles of the site
      local function nops(threshold)
         return counted(program, "nops", {}, 0x800000 + 0x5000 + 9 + threshold * 2 ^ 20)
      end
      assert.are.same({ 100, 40, 10, 0 }, { nops(0), nops(1), nops(2), nops(3) })
   end)
end)

describe("5.7 Calling perfmonctl() from signal handlers", function()
   it("'It is possible to create, program, control and destroy a context from a signal handler'", function()
      local out, status = c.sh(c.compile("formats_signal") .. " handler")
      assert.are.equal(0, status, out)
   end)

   for _, machine in ipairs { real, "sim:k8,live" } do
      for case, what in pairs { whole = "the first of the process", ["whole child"] = "the first of a child of fork()",
         sampling = "with a buffer", process = "of all threads of a process", control = "and command one that is there",
         refused = "and be refused" } do
         if machine == "perf" or case ~= "process" then
            it(("... whatever of libc it interrupts, malloc and stdio too: %s, on %s"):format(what, machine), function()
               if os.getenv("LPFM_BUILD"):match("/san$") then return pending("sanitizers have a malloc") end
               local program = c.compile("handler_locks")
               local out, status = c.sh(("LPFM_MACHINE=%s timeout 60 %s %s"):format(machine, program, case))
               assert.are.same({ 0, "" }, { status, out })
            end)
         end
      end
   end

   it("... also from one that interrupts another call of the interface", function()
      local out, status = c.sh(c.compile("formats_signal") .. " storm")
      assert.are.equal(0, status, out)
   end)
end)
