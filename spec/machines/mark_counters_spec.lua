-- SPDX-License-Identifier: MIT
-- Marked instructions of POWER5: with MMCRA's sample bit, one instruction at a time is marked.
-- PM_MRK_* events count what marked instructions do; SIAR, SDAR (PMD7, 8) are addresses of the last
-- one and of its data. Events' names and MMCRA's values: IBM's groups, as OProfile lists them.
local lpfm = require "lpfm"
local sim = require "support.sim"

local A, B, KB = 0x1000000, 0x8000000, 1024
local SKID = 4
local QUIET = { dtlb = 0, itlb = 0 }

-- Programs the registers for events by name. If `without` is true, MMCRA (PMC2) is 0, and so has no
-- sample bit.
local function program_events(ctx, events, attributes, without)
   local out = assert(lpfm.dispatch_events { events = events, plm = "u" })
   if without then
      for _, pmc in ipairs(out.pmcs) do
         if pmc.num == 2 then pmc.value = 0 end
      end
   end
   assert(ctx:write_pmcs(out.pmcs))
   for i, pmd in ipairs(out.pmds) do
      local fields = { num = pmd, value = 0 }
      for k, v in pairs(i == 1 and attributes or {}) do fields[k] = v end
      assert(ctx:write_pmds { fields })
   end
   return out.pmds
end

-- Returns what the events count in a program, and the context.
local function counts(work, events, options, without)
   local m = sim.machine("power5", options or QUIET)
   local ctx = sim.context()
   local pmds = program_events(ctx, events, nil, without)
   local tid = assert(m:spawn { program = work })
   sim.start(ctx, tid)
   assert(m:run { until_exit = tid, s = 10 })
   local values = {}
   for i, pmd in ipairs(pmds) do values[i] = sim.value(ctx, pmd) end
   return values, ctx
end

-- Returns the samples of an event: { ip, siar, sdar }.
local function samples(work, event, period, options)
   local m = sim.machine("power5", options)
   local ctx = sim.context { format = "default", buf_size = 2 ^ 20 }
   program_events(ctx, { event }, { value = -period, long_reset = -period, short_reset = -period,
      smpl_pmds = { 7, 8 } })
   local tid = assert(m:spawn { program = work })
   sim.start(ctx, tid)
   assert(m:run { until_exit = tid, s = 10 })
   local list = {}
   for s in ctx:buffer():samples() do list[#list + 1] = { ip = s.ip, siar = s:pmd(1), sdar = s:pmd(2) } end
   return list
end

-- A program's first instruction is marked, and its fetch misses: FIRST takes this place, so that
-- the instructions of the test do not.
local FIRST = { ip = 0x1008, bytes = 4 }

-- Returns n times: a load that hits, one that misses, and `others` further instructions.
local function walk(n, others)
   local body = { loop = n, { ip = 0x1000, load = A }, { ip = 0x1010, load = { B, 128 } } }
   for i = 1, others or 8 do body[#body + 1] = { ip = 0x1010 + 16 * i, bytes = 4 } end
   return { FIRST, { ip = 0x1004, load = A }, body }
end

describe("a marked instruction", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("is one of many, and each one of a loop in its turn", function()
      local work = walk(3030, 1) -- three instructions, every third one misses
      local few = counts(work, { "PM_MRK_INST_FIN_GRP115" })[1] - 1
      assert.is_true(few > 30 and few < 9090 / 10, few)
      assert.are.equal(2 * few, counts(walk(6060, 1), { "PM_MRK_INST_FIN_GRP115" })[1] - 1)
      local missed = counts(work, { "PM_MRK_LD_MISS_L1_GRP126" })[1]
      assert.are.equal(few / 3, missed)
   end)

   it("is none without the sample bit of MMCRA", function()
      local values, ctx = counts(walk(1000), { "PM_MRK_INST_FIN_GRP115" }, nil, true)
      assert.are.equal(0, values[1])
      assert.are.equal(0, sim.value(ctx, 7))
   end)

   it("is none of a program that declares its events instead of executing instructions", function()
      local work = sim.work(1000, { instructions = 10, l1d_misses = 3 })
      assert.are.same({ 0 }, counts(work, { "PM_MRK_INST_FIN_GRP115" }))
   end)

   it("is named at the overflow of its event, and its data, where the sample's own address skids", function()
      for _, period in ipairs { 1, 5 } do
         local list = samples(walk(2000), "PM_MRK_LD_MISS_L1_GRP126", period, { skid = SKID, dtlb = 0, itlb = 0 })
         assert.is_true(#list > 2)
         for i, s in ipairs(list) do
            assert.are.equal(0x1010, s.siar)
            assert.are.equal(0x1010 + 16 * SKID, s.ip)
            assert.are.equal(0, (s.sdar - B) % 128)
            assert.is_true(s.sdar < B + 2000 * 128 and (i == 1 or s.sdar > list[i - 1].sdar))
         end
      end
   end)

   it("is held from the overflow to its interrupt, however many are marked meanwhile", function()
      local work = {}
      for i = 1, 2000 do work[i] = { ip = 0x10000 + 16 * i, bytes = 4 } end
      for _, skid in ipairs { 0, SKID, 250 } do
         local list = samples(work, "PM_MRK_INST_FIN_GRP115", 1, { skid = skid, dtlb = 0, itlb = 0 })
         assert.is_true(#list > 3)
         for i, s in ipairs(list) do -- at the end of the program the last sample has no skid
            if i < #list then assert.are.equal(16 * skid, s.ip - s.siar) end
         end
      end
   end)

   it("has no data address if it has no data", function()
      local list = samples(walk(2000), "PM_MRK_INST_FIN_GRP115", 1, QUIET)
      local data = { [0x1000] = 0, [0x1010] = 0 }
      for _, s in ipairs(list) do
         if s.siar == 0x1000 then assert.are.equal(A, s.sdar) end
         if s.siar > 0x1010 then assert.are.equal(0, s.sdar) end
         if data[s.siar] then data[s.siar] = data[s.siar] + 1 end
      end
      assert.is_true(data[0x1000] > 0 and math.abs(data[0x1000] - data[0x1010]) <= 1)
   end)

   it("is not the event of any other counter, which counts all", function()
      local n = 4040
      local values = counts(walk(n, 2), { "PM_MRK_LD_MISS_L1_GRP147", "PM_INST_CMPL_GRP147", "PM_LD_REF_L1_GRP147" })
      assert.are.equal(4 * n + 2, values[2])
      assert.are.equal(2 * n + 1, values[3])
      local alone = counts(walk(n, 2), { "PM_MRK_INST_FIN_GRP115" })[1] - 1
      assert.are.equal(alone / 4, values[1])
   end)

   -- In each program all instructions cause the event, or none; the first comes from memory.
   it("counts by what it did", function()
      local function all(site) return { FIRST, { loop = 2000, site } } end
      local near, far = all { ip = 0x1000, load = A }, all { ip = 0x1000, load = { B, 4096 } }
      local store = all { ip = 0x1000, store = { A, 8 } }
      local branch = all { ip = 0x1000, branch = 0x2000, taken = true }
      local code = { loop = 10 }
      -- The code is twice as large as the L1I.
      for i = 0, 2 * 64 * KB / 128 - 1 do code[i + 1] = { ip = 0x100000 + 128 * i, bytes = 4 } end
      for _, case in ipairs { { "PM_MRK_DATA_FROM_LMEM_GRP121", far, first = 1 },
         { "PM_MRK_L1_RELOAD_VALID_GRP116", far }, { "PM_MRK_LD_MISS_L1_GRP147", far },
         { "PM_MRK_BRU_FIN_GRP116", branch },
         { "PM_MRK_ST_CMPL_GRP127", store }, { "PM_MRK_DTLB_MISS_GRP124", far, {} },
         { "PM_MRK_DTLB_MISS_4K_GRP124", far, {} }, { "PM_MRK_GRP_IC_MISS_GRP116", { FIRST, code }, first = 1 },
         { "PM_MRK_GRP_CMPL_GRP115", near, first = 1 }, { "PM_MRK_GRP_DISP_GRP115", near, first = 1 },
         { "PM_MRK_GRP_ISSUED_GRP116", near, first = 1 } } do
         local event, work, options = unpack(case)
         local marked = counts(work, { "PM_MRK_INST_FIN_GRP115" }, options)[1] - 1
         assert.is_true(marked > 10)
         assert.are.equal(marked + (case.first or 0), counts(work, { event }, options)[1], event)
         -- the first use alone misses
         if work ~= near then assert.is_true(counts(near, { event })[1] <= 1, event) end
      end
   end)

   it("counts at the chosen levels, of one thread among others", function()
      local m = sim.machine("power5", QUIET)
      local ctx = sim.context()
      local pmds = program_events(ctx, { "PM_MRK_INST_FIN_GRP115" })
      local body = { loop = 3030 }
      for i, level in ipairs { "user", "kernel" } do body[i] = { ip = 0x1000 * i, load = A, level = level } end
      local tid = assert(m:spawn { program = { body } })
      m:spawn { program = { { loop = 5000, { ip = 0x9000, load = A } } } }
      sim.start(ctx, tid)
      assert(m:run { until_exit = tid, s = 10 })
      assert.are.equal(counts({ { loop = 3030, { ip = 0x1000, load = A } } }, { "PM_MRK_INST_FIN_GRP115" })[1],
         sim.value(ctx, pmds[1]))
   end)
end)
