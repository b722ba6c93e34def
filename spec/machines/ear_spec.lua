-- SPDX-License-Identifier: MIT
-- What the Itanium 2 keeps of single events: the data and instruction event address registers
-- (PMD2, 3, 17; PMD0, 1) and the branch trace buffer (PMD8-16), by PMC11, PMC10 and PMC12, of
-- programs with events that the caches cause: loads take 1 cycle from the L1D (16 KB), 5 from the
-- L2 (256 KB, lines of 128), 12 from the L3, 201 from memory. And those of the first Itanium, which
-- has other fields in its registers (pfmlib_itanium.h of libpfm 3): L1 of 16 KB and lines of 32, 6
-- cycles from the L2 (96 KB, lines of 64), 121 from memory.
local lpfm = require "lpfm"
local sim = require "support.sim"

local A, B = 0x1000000, 0x8000000
local KB, USER, CACHE, TLB = 1024, 8, 0, 1

local function dear(mode, umask) return { num = 11, value = USER + mode * 2 ^ 7 + umask * 2 ^ 16 } end

local function iear(cache, umask) return { num = 10, value = USER + umask * 2 ^ 5 + cache * 2 ^ 13 } end

-- Returns PMC12, which says what the branch trace buffer holds. tm: 3 all branches, 2 those that
-- were taken, 1 those that were not. ptm (target), ppm (path): 3 all, 2 those predicted rightly,
-- 1 those predicted wrongly. brt: 0 all types.
local function btb(tm, ptm, ppm, brt)
   return { num = 12, value = USER + tm * 2 ^ 8 + ptm * 2 ^ 10 + ppm * 2 ^ 12 + (brt or 0) * 2 ^ 14 }
end

-- Runs a program to its end with PMD4 counting the event; returns the context and its count.
local function measure(program, event, pmcs, options, model)
   options = options or { itlb = 0, dtlb = 0 }
   local m = sim.machine(model or "itanium2", options)
   local tid = assert(m:spawn { program = program })
   local ctx = sim.count(sim.context(), 4, event)
   assert(ctx:write_pmcs(pmcs))
   sim.start(ctx, tid)
   assert(m:run { until_exit = tid, s = 10 })
   return ctx, sim.value(ctx, 4), m, tid
end

local function field(value, shift, bits)
   return tonumber(tostring(lpfm.u64(value) / 2 ^ shift % 2 ^ bits))
end

-- Returns a register's address without its low four bits, which are other fields.
local function bundle(value) return value - value % 16 end

describe("the data event address register", function()
   before_each(sim.begin)
   after_each(sim.finish)

   -- Reads 32 KB line by line ten times: in the first round every second line is from memory, else
   -- from the L2; then 512 KB, once per L2 line, three times: from memory, then from the L3.
   it("keeps the loads that took as long as PMC11 asks, 4 << n cycles and more", function()
      local program = { { loop = 10, { loop = 32 * KB / 64, { ip = 0x1000, load = { A, 64 } } } },
         { loop = 3, { loop = 512 * KB / 128, { ip = 0x1010, load = { B, 128 } } } } }
      local memory = 32 * KB / 128 + 512 * KB / 128
      local l3, l2 = 2 * 512 * KB / 128, 10 * 32 * KB / 64 - 32 * KB / 128
      for n, expected in pairs { [0] = memory + l3 + l2, memory + l3, memory, memory, memory, memory, 0 } do
         local _, count = measure(program, "dear_events", { dear(CACHE, n) })
         assert.are.equal(expected, count, "4 << " .. n)
      end
   end)

   it("finds the load that misses, its data address and latency, where the sample's address skids", function()
      local m = sim.machine("itanium2", { skid = 5, dtlb = 0, itlb = 0, explain = 1 })
      local body = { loop = 1000, { ip = 0x1000, load = A }, { ip = 0x1011, load = { B, 128 } } }
      for i = 1, 10 do body[#body + 1] = { ip = 0x1020 + 16 * i, load = A + 8 } end
      local tid = m:spawn { program = { body } }
      local ctx = sim.context { format = "default", buf_size = 2 ^ 20 }
      sim.count(ctx, 4, "dear_events", { value = -7, short_reset = -7, long_reset = -7, smpl_pmds = { 2, 3, 17 } })
      assert(ctx:write_pmcs { dear(CACHE, 5) })
      sim.start(ctx, tid)
      assert(m:run { until_exit = tid })
      local n = 0
      for s in ctx:buffer():samples() do
         n = n + 1
         assert.are_not.equal(0x1011, s.ip)
         assert.are.equal(0x1011, bundle(s:pmd(3)) + field(s:pmd(3), 0, 2)) -- bundle, slot
         assert.are.equal(1, field(s:pmd(3), 3, 1)) -- vl
         assert.are.equal(B + 128 * (7 * n - 2), s:pmd(1)) -- the first miss is that of A
         assert.are.equal(201, field(s:pmd(2), 0, 13))
         assert.are.equal(1, field(s:pmd(2), 14, 2)) -- stat: valid
      end
      assert.are.equal(1001 / 7, n)
      assert.are.equal(1000, m:explain(0x1011).load_misses.total)
   end)

   it("agrees with explain and caches", function()
      local program = { { loop = 20, { loop = 700, { ip = 0x1000, load = { A, 64 } },
         { ip = 0x1010, load = { B, 24, random = 5000, seed = 3 } } } } }
      local _, count, m = measure(program, "dear_events", { dear(CACHE, 0) }, { explain = 1 })
      assert.are.equal(m:caches(0).L1D.load_misses, count)
      assert.are.equal(m:explain(0x1000).load_misses.total + m:explain(0x1010).load_misses.total, count)
   end)

   -- The TLB holds 128 pages of 16 KB: a walk through 200 finds none of them.
   it("keeps in TLB mode the loads whose page the walker had to find", function()
      local program = { { loop = 3, { loop = 200, { ip = 0x1000, load = { B, 16 * KB } } } } }
      local VHPT, L2DTLB = 4, 2
      local ctx, count = measure(program, "dear_events", { dear(TLB, VHPT) }, {})
      assert.are.equal(600, count)
      assert.are.equal(B + 199 * 16 * KB, sim.value(ctx, 2))
      assert.are.equal(2, field(sim.value(ctx, 3), 14, 2)) -- stat: VHPT
      assert.are.equal(0x1000, bundle(sim.value(ctx, 17)))
      assert.are.equal(0, (select(2, measure(program, "dear_events", { dear(TLB, L2DTLB) }, {}))))
   end)

   it("is restricted to code in range (5.6)", function()
      local program = { { loop = 500, { ip = 0x1000, load = { A, 128 } }, { ip = 0x2000, load = { B, 128 } } } }
      local ctx, count = measure(program, "dear_events", { dear(CACHE, 0),
         -- user level, that page
         { num = 256, value = 0x1000 }, { num = 257, value = "0x8fffffffffff000" },
         -- pair 0 is in force
         { num = 14, value = 0xdb6 - 2 }, { num = 8, value = "0xffffffff3ffffffc" },
         -- PMC13: data events are restricted by code addresses
         { num = 13, value = 2 ^ 45 + 2 ^ 3 } })
      assert.are.equal(500, count)
      assert.are.equal(A + 499 * 128, sim.value(ctx, 2))
   end)

   it("does not keep stores, nor loads that the L1D answers after a walk", function()
      local program = { { ip = 0x1000, load = A }, { loop = 100, { ip = 0x1010, store = { B, 4096 } } } }
      -- A stays in the L1D
      for i = 1, 200 do program[#program + 1] = { ip = 0x1020, load = A + 16 * KB * i } end
      program[#program + 1] = { ip = 0x1030, load = A }
      local ctx, count, m = measure(program, "dear_events", { dear(CACHE, 0) }, { l1d = "65536:1024:64" })
      assert.are.equal(201, count)
      assert.are.equal(201, m:caches(0).L1D.load_misses)
      assert.are.equal(A + 200 * 16 * KB, sim.value(ctx, 2))
   end)
end)

describe("the instruction event address register", function()
   before_each(sim.begin)
   after_each(sim.finish)

   -- Goes ten times through 32 KB of code; at first every second line comes from memory.
   local function walk()
      local body = { loop = 10 }
      for i = 0, 32 * KB / 64 - 1 do body[#body + 1] = { ip = 0x100000 + 64 * i, bytes = 16 } end
      return { body }
   end

   it("keeps the fetches that took as long as PMC10 asks", function()
      local all, memory = 10 * 32 * KB / 64, 32 * KB / 128
      for umask, expected in pairs { [0x40] = all, [0xff] = all, [0xfe] = memory, [0xf0] = memory, [0xe0] = 0 } do
         local ctx, count = measure(walk(), "iear_events", { iear(1, umask) })
         assert.are.equal(expected, count, ("umask 0x%x"):format(umask))
         if expected == all then
            assert.are.equal(0x100000 + 32 * KB - 64 + 1, sim.value(ctx, 0)) -- stat: valid
            assert.are.equal(5, sim.value(ctx, 1))
         elseif expected == memory then
            assert.are.equal(0x100000 + 32 * KB - 128 + 1, sim.value(ctx, 0))
            assert.are.equal(201, sim.value(ctx, 1))
         end
      end
   end)

   it("keeps in TLB mode those whose page the walker had to find", function()
      local body = { loop = 10 }
      for i = 0, 4 do body[#body + 1] = { ip = 0x100000 + 16 * KB * i, bytes = 16 } end
      local options = { itlb = "65536:4:16384" } -- four pages
      local ctx, count = measure({ body }, "iear_events", { iear(0, 2) }, options)
      assert.are.equal(50, count)
      assert.are.equal(0x100000 + 64 * KB + 2, sim.value(ctx, 0)) -- stat: VHPT
      assert.are.equal(0, (select(2, measure({ body }, "iear_events", { iear(0, 4) }, options))))
   end)
end)

describe("the branch trace buffer", function()
   before_each(sim.begin)
   after_each(sim.finish)

   -- Returns the branches in the buffer, the oldest first: if it is full, from PMD16's index on.
   local function read(ctx)
      local index = sim.value(ctx, 16)
      local next, full = index % 8, index >= 8
      local list = {}
      for i = 0, full and 7 or next - 1 do
         local value = sim.value(ctx, 8 + (full and next + i or i) % 8)
         if value % 2 == 1 then
            list[#list + 1] = { from = bundle(value) + field(value, 2, 2) % 3, taken = field(value, 2, 2) < 3,
               wrong = field(value, 1, 1) == 1 }
         elseif #list > 0 then
            assert.are.equal(1, field(value, 1, 1)) -- the target is valid
            list[#list].to = bundle(value)
         end
      end
      return list
   end

   local function jumps(n)
      local program = {}
      for i = 1, n do program[i] = { ip = 0x1000 * i + 2, branch = 0x1000 * (i + 1), taken = true } end
      return program
   end

   local function pairs_of(list)
      local out = {}
      for i, b in ipairs(list) do out[i] = ("%x-%x"):format(b.from, b.to or 0) end
      return table.concat(out, " ")
   end

   it("holds the last four branches that were taken, in order", function()
      for n, expected in pairs { [2] = "1002-2000 2002-3000", [4] = "1002-2000 2002-3000 3002-4000 4002-5000",
         [7] = "4002-5000 5002-6000 6002-7000 7002-8000" } do
         local ctx, count = measure(jumps(n), "branch_events", { btb(3, 3, 3) })
         assert.are.equal(n, count)
         assert.are.equal(expected, pairs_of(read(ctx)))
      end
   end)

   it("holds a branch that was not taken in one register, a taken one in two, or those not taken alone", function()
      local program = { { loop = 12, { ip = 0x1000, branch = 0x3000, taken = "TNN" } } }
      local ctx, count = measure(program, "branch_events", { btb(3, 3, 3) })
      assert.are.equal(12, count)
      local taken = {}
      for i, b in ipairs(read(ctx)) do taken[i] = b.taken and "T" or "N" end
      -- a T takes 2 registers, an N takes 1: 8 in all
      assert.are.equal("TNNTNN", table.concat(taken))
      ctx, count = measure(program, "branch_events", { btb(1, 3, 3) })
      assert.are.equal(8, count)
      for i, b in ipairs(read(ctx)) do assert.is_false(b.taken, i) end
      assert.are.equal(8, #read(ctx))
      assert.are.equal(4, (select(2, measure(program, "branch_events", { btb(2, 3, 3) }))))
   end)

   it("by PMC12.ppm holds those predicted rightly or wrongly", function()
      local program = { { loop = 1000, { ip = 0x1000, branch = 0x3000, taken = 0.5, seed = 9 } } }
      local ctx, wrong, m, tid = measure(program, "branch_events", { btb(3, 3, 1) })
      local truth = m:truth(tid)
      assert.are.equal(truth.branch_misses.user, wrong)
      for _, b in ipairs(read(ctx)) do assert.is_true(b.wrong) end
      local right
      ctx, right = measure(program, "branch_events", { btb(3, 3, 2) })
      assert.are.equal(1000 - wrong, right)
      for _, b in ipairs(read(ctx)) do assert.is_false(b.wrong) end
   end)

   it("by PMC12.ptm and brt holds indirect branches, of which the target was predicted", function()
      local targets, at = { 0x5000, 0x5000, 0x6000, 0x5000 }, 0
      local function program()
         at = 0
         return { { ops = function()
            at = at + 1
            if at > 8 then return end
            if at % 2 == 0 then return 0x2000, "branch", true end
            return 0x1000, "jump", targets[(at + 1) / 2]
         end } }
      end
      local function counted(...) return (select(2, measure(program(), "branch_events", { btb(...) }))) end
      assert.are.equal(8, counted(3, 3, 3, 0))
      assert.are.equal(4, counted(3, 3, 3, 1))
      assert.are.equal(0, counted(3, 3, 3, 2))
      assert.are.equal(4, counted(3, 3, 3, 3))
      -- wrong: the first, and each target unlike the one before
      assert.are.equal(3, counted(3, 1, 3, 3))
      assert.are.equal(1, counted(3, 2, 3, 3))
      local ctx = measure(program(), "branch_events", { btb(3, 3, 3, 3) })
      assert.are.equal("1000-5000 1000-5000 1000-6000 1000-5000", pairs_of(read(ctx)))
   end)

   it("holds what led to the overflow, where the sample's address skids", function()
      local m = sim.machine("itanium2", { skid = 3 })
      local program = jumps(8)
      local tid = m:spawn { program = program }
      local ctx = sim.count(sim.context(), 4, "branch_events", { value = -5, flags = { "OVFL_NOTIFY" } })
      assert(ctx:write_pmcs { btb(3, 3, 3) })
      sim.start(ctx, tid)
      assert(m:run { until_message = ctx })
      assert.are.equal(0x8002, ctx:read(0).ip)
      assert.are.equal("2002-3000 3002-4000 4002-5000 5002-6000", pairs_of(read(ctx)))
   end)

   it("of Montecito holds eight, its other registers the same elsewhere", function()
      local m = sim.machine("montecito", { itlb = 0, dtlb = 0 })
      local program = jumps(11)
      program[#program + 1] = { ip = 0x100000, load = A }
      local tid = assert(m:spawn { program = program })
      local ctx = sim.count(sim.context(), 4, "branch_events")
      assert(ctx:write_pmcs { { num = 39, value = btb(3, 3, 3).value }, { num = 40, value = dear(CACHE, 0).value },
         { num = 37, value = iear(1, 0x40).value } })
      sim.start(ctx, tid)
      assert(m:run { until_exit = tid })
      assert.are.equal(11, sim.value(ctx, 4))
      -- the index of the next register; bit 5: full
      assert.are.equal(22 % 16 + 2 ^ 5, sim.value(ctx, 38))
      for i = 4, 11 do
         local at = 48 + 2 * (i - 1) % 16
         assert.are.equal(0x1000 * i, bundle(sim.value(ctx, at)))
         assert.are.equal(0x1000 * (i + 1) + 2, sim.value(ctx, at + 1))
      end
      assert.are.equal(A, sim.value(ctx, 32))
      assert.are.equal(0x100000, bundle(sim.value(ctx, 36)))
      assert.are.equal(1, field(sim.value(ctx, 33), 14, 2)) -- valid
      assert.are.equal(0x100000 + 1, sim.value(ctx, 34))
   end)
end)

describe("the first Itanium", function()
   before_each(sim.begin)
   after_each(sim.finish)

   local TLB_MODE, VHPT, SOFTWARE, NONE = 2 ^ 7, 4, 8, 15

   -- Returns PMC10 or 11; by bit 28 of PMC11, data ranges do not matter.
   local function ear(num, umask, mode)
      return { num = num, value = USER + (mode or 0) + umask * 2 ^ 16 + (num == 11 and 2 ^ 28 or 0) }
   end

   local function measured(program, event, pmcs, options) return measure(program, event, pmcs, options, "itanium") end

   -- Goes ten times through 32 KB of code; at first every second line comes from memory.
   local function code()
      local body = { loop = 10 }
      for i = 0, 32 * KB / 32 - 1 do body[i + 1] = { ip = 0x100000 + 32 * i, bytes = 16 } end
      return { body }
   end

   it("keeps the fetches that took 4 << n cycles and more, their line and latency", function()
      local all, memory = 10 * 32 * KB / 32, 32 * KB / 64
      for n, expected in pairs { [0] = all, memory, memory, memory, memory, 0, [NONE] = 0 } do
         local ctx, count = measured(code(), "iear_events", { ear(10, n) })
         assert.are.equal(expected, count, "4 << " .. n)
         if expected == all then
            assert.are.same({ 0x100000 + 32 * KB - 32 + 1, 6 }, { sim.value(ctx, 0), sim.value(ctx, 1) })
         elseif expected == memory then
            assert.are.same({ 0x100000 + 32 * KB - 64 + 1, 121 }, { sim.value(ctx, 0), sim.value(ctx, 1) })
         else
            assert.are.same({ 0, 0 }, { sim.value(ctx, 0), sim.value(ctx, 1) })
         end
      end
   end)

   it("keeps in TLB mode the fetches whose page the walker had to find", function()
      local body = { loop = 10 }
      for i = 0, 4 do body[i + 1] = { ip = 0x100000 + 16 * KB * i, bytes = 16 } end
      local options = { itlb = "65536:4:16384" } -- four pages
      local ctx, count = measured({ body }, "iear_events", { ear(10, VHPT, TLB_MODE) }, options)
      assert.are.equal(50, count)
      assert.are.equal(0x100000 + 64 * KB + 1, sim.value(ctx, 0)) -- valid; bit 1: not by software
      assert.are.equal(0, (select(2, measured({ body }, "iear_events", { ear(10, SOFTWARE, TLB_MODE) }, options))))
   end)

   it("has the latency of a fetch in 12 bits, at most", function()
      for latency, expected in pairs { [4000] = 4000, [5000] = 4095 } do
         local site = { ip = 0x1000, ns = 10, fetch = true, latency = latency }
         local ctx = measured({ site }, "iear_events", { ear(10, 9) })
         assert.are.equal(expected, sim.value(ctx, 1))
      end
   end)

   it("keeps fetches of code in range alone (5.6)", function()
      local program = code()
      local ctx, count = measured(program, "iear_events", { ear(10, 1), { num = 13, value = 0 },
         -- user level, that page
         { num = 256, value = 0x101000 }, { num = 257, value = "0x8fffffffffff000" } })
      assert.are.equal(4 * KB / 64, count)
      assert.are.equal(0x102000 - 64 + 1, sim.value(ctx, 0))
   end)

   it("keeps the loads that took 4 << n cycles and more, their latency, bundle and slot", function()
      local program = { { loop = 3, { loop = 64 * KB / 64, { ip = 0x1012, load = { B, 64 } } } } }
      local all, memory = 3 * KB, KB
      for n, expected in pairs { [0] = all, memory, memory, memory, memory, 0, [NONE] = 0 } do
         local ctx, count = measured(program, "dear_events", { ear(11, n) })
         assert.are.equal(expected, count, "4 << " .. n)
         if expected > 0 then
            assert.are.equal(B + 64 * KB - 64, sim.value(ctx, 2))
            -- bits 62, 63, the TLB's level, are 0
            assert.are.equal(n == 0 and 6 or 121, sim.value(ctx, 3))
            assert.are.equal(0x1010 + 2 * 4 + 1, sim.value(ctx, 17)) -- bundle, slot 2, valid
         end
      end
   end)

   it("keeps in TLB mode the loads whose page the walker had to find, and says so", function()
      local program = { { loop = 3, { loop = 200, { ip = 0x1000, load = { B, 16 * KB } } } } }
      local ctx, count = measured(program, "dear_events", { ear(11, VHPT, TLB_MODE) }, {})
      assert.are.equal(600, count)
      assert.are.equal(B + 199 * 16 * KB, sim.value(ctx, 2))
      assert.are.equal(2, field(sim.value(ctx, 3), 62, 2))
      assert.are.equal(0, (select(2, measured(program, "dear_events", { ear(11, SOFTWARE, TLB_MODE) }, {}))))
   end)

   -- tar (bit 7), tac (14) and bac (15) select what predicted the branch; libpfm sets all three.
   it("holds branches whatever predicted them, by their outcome", function()
      local program = { { loop = 12, { ip = 0x1000, branch = 0x3000, taken = "TNN" } } }
      for tm, expected in pairs { [3] = 12, [2] = 4, [1] = 8 } do
         local all = 2 ^ 7 + 2 ^ 14 + 2 ^ 15 + 3 * 2 ^ 10 + 3 * 2 ^ 12
         local _, count = measured(program, "branch_events", { { num = 12, value = USER + all + tm * 2 ^ 8 } })
         assert.are.equal(expected, count)
      end
   end)
end)

describe("an event named after a kind of miss", function()
   before_each(sim.begin)
   after_each(sim.finish)

   -- 64 KB, line by line, three times: from memory, then from the L2
   it("programs the data EAR, and counts what it keeps", function()
      local program = { { loop = 3, { loop = 64 * KB / 128, { ip = 0x1000, load = { B, 128 } } } } }
      local each = 64 * KB / 128
      for model, latency in pairs { itanium2 = 201, montecito = 231 } do
         for name, expected in pairs { LAT4 = 3 * each, LAT64 = each, LAT4096 = 0 } do
            local m = sim.machine(model, { itlb = 0, dtlb = 0 })
            local tid = assert(m:spawn { program = program })
            local got = assert(lpfm.dispatch_events { events = { "DATA_EAR_CACHE_" .. name }, pmu = model, plm = "u" })
            local ctx = sim.context()
            assert(ctx:write_pmcs(got.pmcs))
            sim.start(ctx, tid)
            assert(m:run { until_exit = tid, s = 10 })
            assert.are.equal(expected, sim.value(ctx, got.pmds[1]), model .. " " .. name)
            if name == "LAT64" then
               assert.are.equal(B + 64 * KB - 128, sim.value(ctx, got.pmds[2]))
               assert.are.equal(latency, field(sim.value(ctx, got.pmds[3]), 0, 13))
            end
         end
      end
   end)
end)
