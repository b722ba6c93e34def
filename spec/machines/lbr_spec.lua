-- SPDX-License-Identifier: MIT
-- Last branch records (Intel's Software Developer's Manual, volumes 3 and 4). Nehalem has 16 pairs
-- of registers, PMD32-63: from, to. PMD31 is the number of the latest, PMC30 (LBR_SELECT) leaves
-- branches out. Core 2 has four pairs, PMD32-39, with bit 0 of PMC30 (IA32_DEBUGCTL).
local lpfm = require "lpfm"
local sim = require "support.sim"

local QUIET = { dtlb = 0, itlb = 0 }
local MODELS = { nehalem = { pairs = 16, on = 0 }, core2 = { pairs = 4, on = 1 } }

-- Starts a context that counts branches, with PMC30, on a thread of this program on a new machine.
local function start(model, work, pmc30, options)
   local m = sim.machine(model, options or QUIET)
   local ctx = sim.count(sim.context(), 0, "branches")
   if pmc30 then assert(ctx:write_pmcs { { num = 30, value = pmc30 } }) end
   local tid = assert(m:spawn { program = work })
   sim.start(ctx, tid)
   return m, ctx, tid
end

local function field(value, shift, bits)
   return tonumber(tostring(lpfm.u64(value) / 2 ^ shift % 2 ^ bits))
end

-- Returns the registers' branches { from, to, wrong }, the oldest first. value(n): PMDn's value.
local function records(model, value)
   local n, list = MODELS[model].pairs, {}
   local top = value(31)
   for i = 1, n do
      local at = 32 + 2 * ((top + i) % n)
      local from, to = value(at), value(at + 1)
      if to ~= 0 then list[#list + 1] = { from = field(from, 0, 63), to = to, wrong = field(from, 63, 1) == 1 } end
   end
   return list
end

local function held(model, work, pmc30, options)
   local m, ctx, tid = start(model, work, pmc30 or MODELS[model].on, options)
   assert(m:run { until_exit = tid, s = 10 })
   return records(model, function(num) return sim.value(ctx, num) end), ctx
end

local function text(list)
   local out = {}
   for i, b in ipairs(list) do out[i] = ("%x-%x"):format(b.from, b.to) end
   return table.concat(out, " ")
end

-- Returns n jumps, each to the next one. With ns each takes that time; without ns each is an
-- instruction that is executed.
local function jumps(n, ns)
   local program = {}
   for i = 1, n do
      program[i] = { ip = 0x1000 * i + 2, branch = 0x1000 * (i + 1), ns = ns }
      if not ns then program[i].taken = true end
   end
   return program
end

local function last(n, of)
   local out = {}
   for i = math.max(1, of - n + 1), of do out[#out + 1] = ("%x-%x"):format(0x1000 * i + 2, 0x1000 * (i + 1)) end
   return table.concat(out, " ")
end

describe("last branch records", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("hold the branches that were taken last, in order, from where to where", function()
      for model, is in pairs(MODELS) do
         for _, n in ipairs { 1, 3, 4, 5, 16, 17, 40 } do
            for _, ns in ipairs { false, 10 } do
               assert.are.equal(last(is.pairs, n), text(held(model, jumps(n, ns or nil))), model .. " " .. n)
            end
         end
      end
   end)

   it("hold the end of a loop, however often it was run", function()
      for model, is in pairs(MODELS) do
         for _, site in ipairs { { ns = 10 }, { taken = true } } do
            local body = { loop = 1000 }
            for i = 1, 3 do
               body[i] = { ip = 0x1000 * i, branch = 0x1000 * i + 0x800, ns = site.ns, taken = site.taken }
            end
            local list = held(model, { body })
            assert.are.equal(is.pairs, #list)
            for i, b in ipairs(list) do
               local number = 3000 - is.pairs + i - 1
               assert.are.equal(0x1000 * (number % 3 + 1), b.from)
               assert.are.equal(b.from + 0x800, b.to)
            end
         end
      end
   end)

   it("hold no branch that was not taken", function()
      local list = held("nehalem", { { loop = 30, { ip = 0x1000, branch = 0x3000, taken = "TNN" },
         { ip = 0x2000, branch = 0x4000, taken = "N" } } })
      assert.are.equal(10, #list)
      for _, b in ipairs(list) do assert.are.equal(0x1000, b.from) end
   end)

   it("say on Nehalem which were predicted wrongly", function()
      local m, ctx, tid = start("nehalem", jumps(12), 0)
      sim.count(ctx, 1, "branch_misses")
      assert(m:run { until_exit = tid })
      local wrong = 0
      for _, b in ipairs(records("nehalem", function(num) return sim.value(ctx, num) end)) do
         wrong = wrong + (b.wrong and 1 or 0)
      end
      assert.is_true(wrong > 0)
      assert.are.equal(sim.value(ctx, 1), wrong)
      local learnt = held("nehalem", { { loop = 1000, { ip = 0x1000, branch = 0x2000, taken = true } } })
      for _, b in ipairs(learnt) do assert.is_false(b.wrong) end
   end)

   it("leave out what LBR_SELECT says, by level and kind", function()
      local work = { { loop = 3, { ip = 0x1000, branch = 0x2000, taken = true },
         { ip = 0x5000, branch = 0x6000, taken = true, level = "kernel" } } }
      local user, kernel = "1000-2000", "5000-6000"
      assert.are.equal(table.concat({ user, kernel, user, kernel, user, kernel }, " "), text(held("nehalem", work, 0)))
      assert.are.equal(table.concat({ user, user, user }, " "), text(held("nehalem", work, 1)))
      assert.are.equal(table.concat({ kernel, kernel, kernel }, " "), text(held("nehalem", work, 2)))
      assert.are.equal("", text(held("nehalem", work, 3)))
      assert.are.equal("", text(held("nehalem", work, 4))) -- no conditional branches
      assert.are.equal(6, #held("nehalem", work, 0x1f8)) -- calls, returns, jumps, far ones
   end)

   it("are empty on Core 2 without the bit of DEBUGCTL, and where nobody uses them", function()
      assert.are.equal("", text(held("core2", jumps(5), 0)))
      for model in pairs(MODELS) do
         local m, ctx, tid = start(model, jumps(5))
         assert(m:run { until_exit = tid })
         for num = 31, 31 + 2 * MODELS[model].pairs do assert.are.equal(0, sim.value(ctx, num)) end
      end
   end)

   it("come with samples, and hold then what led to the overflow, where the sample's address skids", function()
      for model, is in pairs(MODELS) do
         local m = sim.machine(model, { dtlb = 0, itlb = 0, skid = 3 })
         local ctx = sim.context { format = "default", buf_size = 2 ^ 20 }
         local numbers = {}
         for i = 0, 2 * is.pairs do numbers[i + 1] = 31 + i end
         sim.count(ctx, 0, "branches_taken", { value = -7, short_reset = -7, long_reset = -7, smpl_pmds = numbers })
         assert(ctx:write_pmcs { { num = 30, value = is.on } })
         local body = { loop = 100 }
         for i = 1, 5 do body[i] = { ip = 0x1000 * i, branch = 0x1000 * i + 0x800, taken = true } end
         local tid = assert(m:spawn { program = { body } })
         sim.start(ctx, tid)
         assert(m:run { until_exit = tid })
         local n = 0
         for s in ctx:buffer():samples() do
            n = n + 1
            local list = records(model, function(num) return s:pmd(num - 30) end)
            -- The number, from 0, of the branch that overflowed. The 3 branches after it, until the
            -- interrupt, are not held.
         local number = 10 * n - 4
            for i = 0, math.min(#list, 7) - 1 do
               assert.are.equal(0x1000 * ((number - i) % 5 + 1), list[#list - i].from)
            end
            if number + 3 < 500 then assert.are.equal(0x1000 * ((number + 3) % 5 + 1), s.ip) end
         end
         assert.are.equal(50, n)
      end
   end)

   it("are each context's own", function()
      for model, is in pairs(MODELS) do
         local m = sim.machine(model, { dtlb = 0, itlb = 0, cpus = 1, slice_ns = 1000, hz = 100000 })
         local all = {}
         for t = 1, 2 do
            local ctx = sim.count(sim.context(), 0, "branches")
            assert(ctx:write_pmcs { { num = 30, value = is.on } })
            local body = { loop = 50000, { ip = 0x1000 * t, branch = 0x8000, taken = true } }
            local tid = assert(m:spawn { program = { body } })
            sim.start(ctx, tid)
            all[t] = ctx
         end
         assert(m:run { ms = 20 })
         for t, ctx in ipairs(all) do
            local list = records(model, function(num) return sim.value(ctx, num) end)
            assert.are.equal(is.pairs, #list)
            for _, b in ipairs(list) do assert.are.equal(0x1000 * t, b.from) end
         end
      end
   end)

   it("can be written, and reset by a counter: a sample then has the branches since the one before", function()
      for model, is in pairs(MODELS) do
         local m = sim.machine(model, QUIET)
         local ctx = sim.context { format = "default", buf_size = 2 ^ 20 }
         local numbers, pairs_alone = { 31 }, {}
         for i = 1, 2 * is.pairs do
            numbers[i + 1], pairs_alone[i] = 31 + i, 31 + i
            assert(ctx:write_pmds { { num = 31 + i, value = 0x1000 + i } })
            assert.equal(0x1000 + i, sim.value(ctx, 31 + i))
            assert(ctx:write_pmds { { num = 31 + i, value = 0 } })
         end
         sim.count(ctx, 0, "branches_taken", { value = -3, short_reset = -3, long_reset = -3, smpl_pmds = numbers,
            reset_pmds = pairs_alone })
         assert(ctx:write_pmcs { { num = 30, value = is.on } })
         local tid = assert(m:spawn { program = jumps(12) })
         sim.start(ctx, tid)
         assert(m:run { until_exit = tid })
         local n = 0
         for s in ctx:buffer():samples() do
            n = n + 1
            local want = last(3, 3 * n)
            assert.equal(want, text(records(model, function(num) return s:pmd(num - 30) end)), model)
         end
         assert.equal(4, n)
      end
   end)
end)
