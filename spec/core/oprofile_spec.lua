-- SPDX-License-Identifier: MIT
-- The format "oprofile": for each CPU a ring of words, in which changes of CPU, thread and level
-- are escaped.
local lpfm = require "lpfm"
local oprofile = require "pfm.oprofile.oprofile"
local sim = require "support.sim"

local HEADER = 64 + 64 * 48
local KERNEL = "0xffffffff80000000"

-- Starts a context that samples every instruction of a thread or a CPU.
local function started(target, options, flags)
   local ctx = sim.context { format = "oprofile", format_arg = oprofile.argument(options or {}), flags = flags }
   sim.count(ctx, 4, "instructions", { value = -1, long_reset = -1, short_reset = -1, flags = { "OVFL_NOTIFY" } })
   sim.start(ctx, target)
   return ctx
end

local function sites(n) return { { loop = n, { ip = 0x1000, ns = 10 }, { ip = 0x1010, ns = 10 } } } end

local function words(ctx, cpu, n)
   local list, per_cpu = {}, ctx:buffer():get("u64", 24)
   for i = 0, n - 1 do
      local word = ctx:buffer():get("u64", HEADER + (cpu * per_cpu + i) * 8)
      list[i + 1] = lpfm.u64(word) == lpfm.u64 "0xffffffffffffffff" and "E" or word
   end
   return list
end

describe("the format oprofile", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("writes samples as address and PMD, after escapes where something has changed", function()
      local m = sim.machine()
      local tid = assert(m:spawn { program = { { ip = 0x1000, ns = 10 }, { ip = 0x1010, ns = 10 },
         { ip = KERNEL, ns = 10, level = "kernel" }, { ip = 0x1020, ns = 10 } } })
      local ctx = started(tid)
      assert(m:run { until_exit = tid })
      local pid = sim.thread(tid).pid
      assert.are.same({ "E", 2, 0, "E", 1, tid, 0, "E", 7, pid, "E", 5, 0x1000, 4, 0x1010, 4, "E", 4, -0x80000000, 4,
         "E", 5, 0x1020, 4 }, words(ctx, 0, 24))
      assert.are.equal(24, ctx:buffer():get("u64", 64)) -- CPU 0's head
   end)

   it("has a ring for each CPU", function()
      local m = sim.machine("itanium2", { cpus = 2, slice_ms = 1 })
      local tids, contexts = {}, {}
      for cpu = 0, 1 do
         tids[cpu] = assert(m:spawn { cpu = cpu, program = sites(50) })
         contexts[cpu] = started(tids[cpu], { cpus = 2 })
      end
      assert(m:run { until_idle = true })
      for cpu = 0, 1 do
         local list = oprofile.samples(contexts[cpu]:buffer())
         assert.are.equal(100, #list)
         for i, sample in ipairs(list) do
            assert.are.same({ cpu = cpu, tid = tids[cpu], pid = sim.thread(tids[cpu]).pid, kernel = false, ovfl_pmd = 4,
               ip = i % 2 == 1 and 0x1000 or 0x1010 }, sample)
         end
         -- the head of the other CPU's part counts nothing
         assert.are.equal(0, contexts[cpu]:buffer():get("u64", 64 + (1 - cpu) * 48))
      end
   end)

   it("counts samples of CPUs without a ring as lost", function()
      local m = sim.machine("itanium2", { cpus = 2 })
      local tid = assert(m:spawn { cpu = 1, program = sites(50) })
      local ctx = started(tid, { cpus = 1 })
      assert(m:run { until_idle = true })
      assert.are.equal(0, #oprofile.samples(ctx:buffer()))
      assert.are.equal(100, oprofile.lost(ctx:buffer()))
   end)

   it("tells at the watermark and goes on; what was read is given back by restart, and nothing is lost", function()
      local m = sim.machine()
      local tid = assert(m:spawn { program = sites(500) })
      local ctx = started(tid, { buf_size = HEADER + 200 * 8, watermark = 100 })
      local seen, rounds = 0, 0
      local function take()
         for _, sample in ipairs(oprofile.samples(ctx:buffer())) do
            seen = seen + 1
            assert.are.same({ seen % 2 == 1 and 0x1000 or 0x1010, tid }, { sample.ip, sample.tid })
         end
      end
      while m:run { until_message = ctx, s = 1 } do
         if ctx:read(0).type ~= "OVFL" then break end
         rounds = rounds + 1
         assert(m:run { ns = 200 }) -- 20 samples more
         take()
         assert(ctx:restart())
      end
      take()
      assert.are.equal(1000, seen)
      assert.are.equal(0, oprofile.lost(ctx:buffer()))
      assert.is_true(rounds > 10)
   end)

   -- The first sample takes 14 of the 200 words, others 2; the ring is full when 14 do not fit.
   it("loses what does not fit, says how much, and keeps the first", function()
      local m = sim.machine()
      local tid = assert(m:spawn { program = sites(500) })
      local ctx = started(tid, { buf_size = HEADER + 200 * 8, watermark = 200 })
      assert(m:run { until_exit = tid })
      local kept = (200 - 14 - 12) / 2 + 1
      assert.are.equal(kept, #oprofile.samples(ctx:buffer()))
      assert.are.equal(1000 - kept, oprofile.lost(ctx:buffer()))
   end)

   -- The ring is full, below the watermark, with 88 of 100 words, as a sample of 14 might not fit.
   it("tells, too, when it is full before the watermark", function()
      local m = sim.machine()
      local tid = assert(m:spawn { program = sites(500) })
      local ctx = started(tid, { buf_size = HEADER + 100 * 8, watermark = 100 })
      assert(m:run { until_message = ctx, s = 1 })
      assert.are.equal((88 - 14) / 2 + 1, #oprofile.samples(ctx:buffer()))
      assert.are.equal("OVFL", ctx:read(0).type)
      assert(ctx:restart())
      assert(m:run { until_message = ctx, s = 1 })
   end)

   it("refuses what cannot be", function()
      for _, spec in ipairs { { cpus = 0 }, { cpus = 65, buf_size = 2 ^ 20 }, { buf_size = HEADER + 13 * 8 },
         { buf_size = HEADER - 1 }, { buf_size = HEADER + 20 * 8, watermark = 21 } } do
         sim.refused("EINVAL", "argument", lpfm.create { format = "oprofile", format_arg = oprofile.argument(spec) })
      end
   end)
end)
