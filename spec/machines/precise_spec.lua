-- SPDX-License-Identifier: MIT
-- Samples that the simulated processor takes itself: PEBS of Core 2 and Nehalem, through the
-- formats "pebs" and "pebs-nehalem", and IBS of AMD's family 10h, in registers. They name the
-- instruction where ordinary samples skid.
local lpfm = require "lpfm"
local pebs = require "pfm.pebs"
local sim = require "support.sim"

local A, B, KB = 0x1000000, 0x8000000, 1024
local SKID = 4

-- Returns n times: a load that hits, one that misses, and `others` further instructions.
local function program(n, others)
   local body = { loop = n, { ip = 0x1000, load = A }, { ip = 0x1010, load = { B, 64 } } }
   for i = 1, others or 8 do body[#body + 1] = { ip = 0x1010 + 16 * i, bytes = 4 } end
   return { body }
end

local function field(value, shift, bits)
   return tonumber(tostring(lpfm.u64(value) / 2 ^ shift % 2 ^ bits))
end

local FORMATS = { core2 = "pebs", nehalem = "pebs-nehalem" }

-- Makes a context in which counter 0 samples an event precisely, with PEBS_ENABLE, and loads it.
local function precise(m, model, event, period, work, options)
   options = options or {}
   local ctx = sim.context { format = options.format or FORMATS[model],
      format_arg = pebs.argument { periods = { [0] = period }, threshold = options.threshold } }
   local attributes = { value = -period, long_reset = -period, short_reset = -period, flags = { "OVFL_NOTIFY" } }
   sim.count(ctx, 0, event, attributes)
   assert(ctx:write_pmcs { { num = 17, value = options.enable or 1 } })
   if options.latency then assert(ctx:write_pmcs { { num = 18, value = options.latency } }) end
   local tid = assert(m:spawn { program = work })
   sim.start(ctx, tid)
   return ctx, tid
end

local function records(ctx)
   local list = {}
   for record in pebs.records(ctx:buffer()) do list[#list + 1] = record end
   return list
end

describe("PEBS", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("names the load that missed at each overflow, where ordinary samples name what comes after it", function()
      for model, size in pairs { core2 = 144, nehalem = 176 } do
         local m = sim.machine(model, { skid = SKID, dtlb = 0, explain = 1 })
         local ctx, tid = precise(m, model, "l1d_misses", 10, program(1000))
         assert(m:run { until_exit = tid })
         local list = records(ctx)
         assert.are.equal(100, #list) -- of 1001 misses
         for _, record in ipairs(list) do assert.are.equal(0x1010, record.ip) end
         assert.are.equal(size, ctx:buffer():get("u32", 100))
         assert.are.equal(1000, m:explain(0x1010).load_misses.total)

         local ordinary = sim.context { format = "default", buf_size = 65536 }
         sim.count(ordinary, 0, "l1d_misses", { value = -10, long_reset = -10, short_reset = -10 })
         tid = assert(m:spawn { program = program(1000) })
         sim.start(ordinary, tid)
         assert(m:run { until_exit = tid })
         for sample in ordinary:buffer():samples() do assert.are.equal(0x1010 + 16 * SKID, sample.ip) end
      end
   end)

   it("interrupts at its threshold, is masked then, and goes on with the buffer empty after the restart", function()
      local m = sim.machine("core2", { dtlb = 0 })
      local ctx, tid = precise(m, "core2", "instructions", 100, program(1000, 0), { threshold = 8 })
      local rounds = 0
      while m:run { until_message = ctx, s = 1 } do
         local message = ctx:read(0)
         if message.type ~= "OVFL" then break end
         rounds = rounds + 1
         assert.are.equal(8, #records(ctx))
         assert.are.equal(rounds, ctx:buffer():get("u64", 112)) -- hdr_overflows
         assert(ctx:restart())
         assert.are.equal(0, #records(ctx))
      end
      assert.are.equal(2, rounds) -- 2000 instructions are 20 records: 8, 8 and 4
      assert.are.equal("dead", sim.thread(tid).state)
      assert.are.equal(4, #records(ctx))
   end)

   it("leaves other counters alone, and counts on", function()
      local m = sim.machine("nehalem", { dtlb = 0 })
      local ctx, tid = precise(m, "nehalem", "instructions", 100, program(1000, 0))
      ctx:stop()
      sim.count(ctx, 1, "instructions", { value = -50, long_reset = -50, short_reset = -50 })
      sim.count(ctx, 2, "instructions")
      assert(ctx:start())
      assert(m:run { until_exit = tid })
      assert.are.equal(20, #records(ctx))
      assert.are.equal(40, ctx:buffer():get("u64", 120)) -- hdr_others
      assert.are.equal(2000, sim.value(ctx, 2))
      assert.are.equal(-100, sim.value(ctx, 0)) -- 2000 events, a multiple of the period
   end)

   -- Each load_all() loads 5 lines: at first from memory, then from the L1D, after a walk of 64 KB
   -- from the L2, and after one of 1 MB from the L3.
   it("says of loads on Nehalem their data, what answered them, and how long that took", function()
      local function load_all(ip) return { loop = 5, { ip = ip, load = { B, 64 } } } end
      local function walk(kb) return { loop = kb * KB / 64, { ip = 0x9000, store = { A, 64 } } } end
      local m = sim.machine("nehalem", { dtlb = 0, l1d = "32768:512:64", l2 = "262144:4096:64" })
      local ctx, tid = precise(m, "nehalem", "loads", 1, { load_all(0x1000), load_all(0x1010), walk(64),
         load_all(0x1020), walk(1024), load_all(0x1030) }, { enable = 1 + 2 ^ 32 })
      assert(m:run { until_exit = tid })
      local expected = { { 0x1000, 191, 0xa }, { 0x1010, 1, 1 }, { 0x1020, 7, 3 }, { 0x1030, 36, 4 } }
      local list = records(ctx)
      assert.are.equal(20, #list)
      for i, record in ipairs(list) do
         local want = expected[math.ceil(i / 5)]
         assert.are.same({ want[1], want[2], want[3], B + 64 * ((i - 1) % 5) },
            { record.ip, record.latency, record.data_source, record.data_addr })
      end
   end)

   it("counts on Nehalem the loads that take longer than PEBS_LD_LAT, and samples those", function()
      local m = sim.machine("nehalem", { dtlb = 0 })
      -- The first round of loads goes to memory, the others to the L2.
      local work = { { loop = 4, { loop = 64 * KB / 64, { ip = 0x1000, load = { A, 64 } } } } }
      for threshold, count in pairs { [3] = 4096, [7] = 1024, [190] = 1024, [191] = 0 } do
         local ctx, tid = precise(m, "nehalem", "dear_events", 100, work, { enable = 1 + 2 ^ 32, latency = threshold })
         ctx:stop()
         sim.count(ctx, 1, "dear_events")
         assert(ctx:start())
         assert(m:run { until_exit = tid })
         if threshold == 3 then assert.are.equal(math.floor(count / 100), #records(ctx)) end
         assert.are.equal(count, sim.value(ctx, 1), threshold)
         for _, record in ipairs(records(ctx)) do assert.is_true(record.latency > threshold) end
         ctx:close()
         m = sim.machine("nehalem", { dtlb = 0 })
      end
   end)

   it("is IQ_COUNTER4's on Pentium 4, whose records are narrow, and on EM64T", function()
      for model, format in pairs { netburst = "pebs-32", em64t = "pebs" } do
         local m = sim.machine(model, { skid = SKID })
         local ctx = sim.context { format = format, format_arg = pebs.argument { periods = { [0] = 100 } } }
         assert(ctx:write_pmcs(assert(m:encode_pmcs("instructions", 8))))
         assert(ctx:write_pmcs { { num = 96, value = 2 ^ 24 } })
         assert(ctx:write_pmds { { num = 8, value = -100, long_reset = -100, flags = { "OVFL_NOTIFY" } } })
         local tid = assert(m:spawn { program = program(1000) })
         sim.start(ctx, tid)
         assert(m:run { until_exit = tid })
         local list = records(ctx)
         assert.are.equal(100, #list)
         -- the last of 10
         for _, record in ipairs(list) do assert.are.equal(0x1000 + 16 * 9, record.ip) end
         assert.are.equal(model == "netburst" and 40 or 144, ctx:buffer():get("u32", 100))
      end
   end)

   it("is refused where the processor does not write such records", function()
      local arg = pebs.argument { periods = { [0] = 1 } }
      for _, case in ipairs { { "k8", "pebs" }, { "core2", "pebs-nehalem" }, { "nehalem", "pebs" },
         { "core2", "pebs-32" } } do
         sim.machine(case[1])
         sim.refused("EOPNOTSUPP", "format " .. case[2] .. ": this machine's processor does not write such samples",
            lpfm.create { format = case[2], format_arg = arg })
      end
   end)

   it("refuses a buffer without room for a record, and a threshold that cannot be reached", function()
      sim.machine("core2")
      for _, spec in ipairs { { buf_size = 128 + 143 }, { buf_size = 128 + 144, threshold = 2 } } do
         spec.periods = {}
         sim.refused("EINVAL", "argument", lpfm.create { format = "pebs", format_arg = pebs.argument(spec) })
      end
      sim.context { format = "pebs", format_arg = pebs.argument { periods = {}, buf_size = 128 + 144, threshold = 1 } }
      for name, spec in pairs { ["periods%[0%]"] = { periods = { [0] = -1 } }, periods = {},
         ["buf_size"] = { periods = {}, buf_size = 1.5 }, threshold = { periods = {}, threshold = "x" } } do
         assert.error_matches(function() pebs.argument(spec) end, "^" .. name .. ": expected ")
      end
   end)
end)

describe("an ordinary sample", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("skids with skid=model as far as the processor has instructions on the way", function()
      for model, skid in pairs { itanium2 = 47, k8 = 71, p6 = 37, core2 = 89, nehalem = 127, fam10h = 71 } do
         local m = sim.machine(model, { skid = "model", dtlb = 0, itlb = 0 })
         local body = { loop = 4, { ip = 0x1000, load = { B, 4096 } } }
         for i = 1, 200 do body[#body + 1] = { ip = 0x1000 + 16 * i, bytes = 4 } end
         local ctx = sim.context { format = "default", buf_size = 65536 }
         sim.count(ctx, sim.counters()[1], "l1d_misses", { value = -2, long_reset = -2, short_reset = -2 })
         local tid = assert(m:spawn { program = { body } })
         sim.start(ctx, tid)
         assert(m:run { until_exit = tid })
         local n = 0
         for sample in ctx:buffer():samples() do
            n = n + 1
            assert.are.equal(0x1000 + 16 * skid, sample.ip, model)
         end
         assert.are.equal(2, n)
      end
   end)

   it("skids so by skid=model alone: other words, and model for other options, are refused", function()
      sim.refused("EINVAL", "option skid needs a number", lpfm.machine("sim:k8", { skid = "models" }))
      sim.refused("EINVAL", "option hz needs a number", lpfm.machine("sim:k8", { hz = "model" }))
   end)
end)

describe("IBS", function()
   before_each(sim.begin)
   after_each(sim.finish)

   local OP_ON, BY_OPS, FETCH_ON = 2 ^ 17, 2 ^ 19, 2 ^ 48

   -- Returns the samples of a program by PMC and PMD: { ip of the sample, `registers` ... }.
   local function sampled(m, work, pmc, pmd, registers)
      local ctx = sim.context { format = "default", buf_size = 2 ^ 20 }
      assert(ctx:write_pmcs { pmc })
      assert(ctx:write_pmds { { num = pmd, value = 0, smpl_pmds = registers } })
      local tid = assert(m:spawn { program = work })
      sim.start(ctx, tid)
      assert(m:run { until_exit = tid, s = 10 })
      local list = {}
      for s in ctx:buffer():samples() do
         local sample = { s.ip }
         for i = 1, #registers do sample[i + 1] = s:pmd(i) end
         list[#list + 1] = sample
      end
      return list
   end

   -- An iteration has 10 operations. A sample's interrupt comes `skid` later, and starts the next.
   it("samples each so many operations, by the exact instruction, where the sample's own address skids", function()
      for period, skid in pairs { [160] = SKID, [176] = SKID, [192] = 0 } do
         local m = sim.machine("fam10h", { skid = skid })
         local list = sampled(m, program(3600), { num = 5, value = OP_ON + BY_OPS + period / 16 }, 7, { 8 })
         assert.are.equal(math.floor((36000 + skid) / (period + skid)), #list)
         for i, sample in ipairs(list) do
            local number = i * (period + skid) - skid - 1 -- the operation, counted from 0
            assert.are.equal(0x1000 + 16 * (number % 10), sample[2])
            assert.are.equal(0x1000 + 16 * ((number + skid) % 10), sample[1])
         end
      end
   end)

   it("says what a load did: its data, its misses and latency, and what answered it", function()
      local m = sim.machine("fam10h", { dtlb = 0, explain = 1 })
      local list = sampled(m, program(4000, 1), { num = 5, value = OP_ON + BY_OPS + 1 }, 7, { 8, 10, 11, 12 })
      local missed = 0
      for i, sample in ipairs(list) do
         local ip, data2, data3, addr = unpack(sample, 2)
         local number = 16 * i - 1 -- the operation, counted from 0; 3 in an iteration
         assert.are.equal(0x1000 + 16 * (number % 3), ip)
         if ip == 0x1010 then
            missed = missed + 1
            assert.are.equal(B + 64 * math.floor(number / 3), addr)
            assert.are.same({ 1, 0, 1, 170, 3 }, { field(data3, 0, 1), field(data3, 1, 1), field(data3, 7, 1),
               field(data3, 32, 16), data2 })
         elseif ip == 0x1000 then
            assert.are.same({ A, 1, 0 }, { addr, field(data3, 0, 1), field(data3, 7, 1) })
         else
            assert.are.same({ 0, 0 }, { addr, data3 })
         end
      end
      assert.are.equal(750, #list)
      assert.are.equal(250, missed)
   end)

   it("samples each so many cycles, so that what waits is seen as often as it waits", function()
      local m = sim.machine("fam10h", { dtlb = 0, itlb = 0 })
      local list = sampled(m, program(20000, 9), { num = 5, value = OP_ON + 64 }, 7, { 8, 9 })
      local waited = 0
      for _, sample in ipairs(list) do
         if sample[2] == 0x1010 then
            waited = waited + 1
            assert.are.equal(171, field(sample[3], 16, 16)) -- cycles from tag to retirement
         end
      end
      assert.is_true(math.abs(waited / #list - 171 / 181) < 0.01, waited .. " of " .. #list)
   end)

   it("says what became of a branch", function()
      local m = sim.machine("fam10h")
      local work = { { loop = 16000, { ip = 0x1000, branch = 0x2000, taken = 0.5, seed = 5 } } }
      local taken, wrong = 0, 0
      local list = sampled(m, work, { num = 5, value = OP_ON + BY_OPS + 1 }, 7, { 9 })
      for _, sample in ipairs(list) do
         taken, wrong = taken + field(sample[2], 35, 1), wrong + field(sample[2], 36, 1)
         assert.are.equal(1, field(sample[2], 37, 1))
      end
      assert.are.equal(1000, #list)
      -- 5 sigma
      assert.is_true(math.abs(taken - 500) < 80 and math.abs(wrong - 500) < 80, taken .. " " .. wrong)
   end)

   it("samples fetches: address, miss and latency", function()
      local m = sim.machine("fam10h", { itlb = 0, dtlb = 0 })
      local body = { loop = 3 }
      -- The code is twice as large as the L1I.
      for i = 0, 128 * KB / 64 - 1 do body[#body + 1] = { ip = 0x100000 + 64 * i, bytes = 4 } end
      local list = sampled(m, { body }, { num = 4, value = lpfm.u64(FETCH_ON) + 2 }, 4, { 4, 5 })
      assert.are.equal(3 * 2048 / 32, #list)
      for i, sample in ipairs(list) do
         assert.are.equal(0x100000 + 64 * ((32 * i - 1) % 2048), sample[3])
         assert.are.same({ 1, 1, i <= 64 and 170 or 12 }, { field(sample[2], 49, 1), field(sample[2], 51, 1),
            field(sample[2], 32, 16) })
      end
   end)

   it("takes no sample before the last one was taken notice of", function()
      local m = sim.machine("fam10h")
      local ctx = sim.context()
      assert(ctx:write_pmcs { { num = 5, value = OP_ON + BY_OPS + 1 } })
      assert(ctx:write_pmds { { num = 7, value = 0, flags = { "OVFL_NOTIFY" }, smpl_pmds = { 8, 12 } } })
      local tid = assert(m:spawn { program = program(1000, 1) })
      sim.start(ctx, tid)
      for i = 1, 3 do
         assert(m:run { until_message = ctx, s = 1 })
         assert.are.same({ 7 }, ctx:read(0).pmds)
         assert.are.equal(0x1000 + 16 * ((16 * i - 1) % 3), sim.value(ctx, 8))
         assert(ctx:restart())
      end
   end)
end)
