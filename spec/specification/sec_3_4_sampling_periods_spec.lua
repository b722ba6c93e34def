-- SPDX-License-Identifier: MIT
-- Specification 3.4: sampling periods, their randomization, and overflow notifications.
local lpfm = require "lpfm"
local fcntl = require "posix.fcntl"
local signal = require "posix.signal"
local unistd = require "posix.unistd"
local sim = require "support.sim"

local O_ASYNC, SIGIO = 0x2000, 29

-- Starts a context in which PMD4 counts the n instructions of 10 ns that a thread executes.
local function counting(n, pmd, options, machine)
   local m = sim.machine("itanium2", machine)
   local ctx = sim.context(options)
   local tid = m:spawn { program = sim.work(n) }
   sim.count(ctx, 4, "instructions", pmd)
   sim.start(ctx, tid)
   return m, ctx, tid
end

local moments = sim.moments

-- Returns the seed and the numbers that follow it: state * 16807 mod (2^31 - 1).
local function carta(seed, n)
   local series = { seed }
   for i = 2, n do
      local state = lpfm.u64(series[i - 1]) * 16807 % 2147483647
      series[i] = state:tonumber()
   end
   return series
end

describe("3.4 Support for sampling", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("'supports time-based sampling without any specific commands': a timeout, read, go on", function()
      local m, ctx = counting(1000000)
      local seen = {}
      for i = 1, 5 do
         assert(m:run { us = 10 })
         assert(ctx:stop())
         seen[i] = sim.value(ctx, 4)
         assert(m:run { us = 3 }) -- what runs while the tool reads is not measured
         assert(ctx:start())
      end
      assert.are.same({ 1000, 2000, 3000, 4000, 5000 }, seen)
   end)
end)

describe("3.4.1 Setting sampling periods", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("'a sampling period p is always expressed as -p', the counter being 64 bits wide on every model", function()
      for model, first in pairs { itanium2 = 4, k8 = 0, p6 = 0, armv8 = 0 } do
         for _, p in ipairs { 1, 2, 100, 100000 } do
            local m = sim.machine(model)
            local ctx = sim.context()
            local tid = m:spawn { program = sim.work(200000) }
            sim.count(ctx, first, "instructions", { value = -p, flags = { "OVFL_NOTIFY" } })
            sim.start(ctx, tid)
            assert(m:run { until_message = ctx })
            assert.are.equal(10 * p, m:time())
            assert.are.same({ first }, ctx:read(0).pmds)
         end
      end
   end)

   it("'the value of the counter must be -100000': in hexadecimal 0xfffffffffffe7960", function()
      local ctx = sim.context() -- the section prints other digits, which is an error
      assert(ctx:write_pmds { { num = 4, value = -100000 } })
      assert.are.equal("0xfffffffffffe7960", lpfm.u64(sim.value(ctx, 4)):hex())
   end)

   it("'provides three sampling periods': current first, then short, and long after PFM_RESTART", function()
      local m, ctx = counting(1000, { value = -70, short_reset = -10, long_reset = -30, flags = { "OVFL_NOTIFY" } },
         { format = "default", buf_size = sim.buffer_size(3) })
      -- figure 3.19
      for _, expected in ipairs { { 70, 80, 90 }, { 120, 130, 140 }, { 170, 180, 190 } } do
         assert(m:run { until_message = ctx })
         ctx:read(0)
         assert.are.same(expected, moments(ctx))
         assert(ctx:restart())
      end
   end)

   it("the current period 'is used only in that case': as first period after the load", function()
      local m, ctx = counting(1000, { value = -70, short_reset = -10, long_reset = -30 },
         { format = "default", buf_size = 4096 })
      assert(m:run { ns = 1000 })
      assert.are.same({ 70, 80, 90, 100 }, moments(ctx))
   end)

   it("'If the value is later modified while the context is attached, then the current sampling period is changed'",
      function()
         local m, ctx = counting(1000, { value = -70, short_reset = -10 }, { format = "default", buf_size = 4096 })
         assert(m:run { ns = 500 })
         assert(ctx:write_pmds { { num = 4, value = -5, short_reset = -20 } })
         assert(m:run { ns = 500 })
         assert.are.same({ 55, 75, 95 }, moments(ctx))
      end)

   it("figure 3.18: 'a large initial period to skip over the initialization'", function()
      local m = sim.machine()
      local tid = m:spawn { program = { { loop = 1000, { ip = 0x1000, ns = 10 } },
         { loop = 1000, { ip = 0x2000, ns = 10 } } } }
      local ctx = sim.context { format = "default", buf_size = 65536 }
      sim.count(ctx, 4, "instructions", { value = -1001, short_reset = -100 })
      sim.start(ctx, tid)
      assert(m:run { until_idle = true })
      assert.are.same({ [0x2000] = 10 }, ctx:buffer():count_by("ip"))
   end)

   it("without a format 'the long period is used to reset ... during the PFM_RESTART command'", function()
      local m, ctx = counting(1000, { value = -10, short_reset = -3, long_reset = -50, flags = { "OVFL_NOTIFY" } })
      for _, at in ipairs { 10, 60, 110 } do
         assert(m:run { until_message = ctx })
         assert.are.equal(10 * at, m:time())
         ctx:read(0)
         assert(ctx:restart())
      end
   end)

   it("'limited by the number of counting PMD registers': distinct sampling measurements run in parallel", function()
      local m = sim.machine()
      local ctx = sim.context { format = "default", buf_size = 65536 }
      local periods = { [4] = 10, [5] = 17, [6] = 100, [7] = 333 }
      for num, p in pairs(periods) do
         sim.count(ctx, num, "instructions", { value = -p, short_reset = -p })
      end
      sim.start(ctx, m:spawn { program = sim.work(1000) })
      assert(m:run { until_idle = true })
      local n = ctx:buffer():count_by("ovfl_pmd")
      assert.are.same({ [4] = 100, [5] = 58, [6] = 10, [7] = 3 }, n)
      for s in ctx:buffer():samples() do
         assert.are.equal(0, s.tstamp / 10 % periods[s.ovfl_pmd])
      end
   end)

   it("'does not impose any minimum': a period of 1 samples every event", function()
      local m, ctx = counting(50, { value = -1, short_reset = -1 }, { format = "default", buf_size = 65536 })
      assert(m:run { until_idle = true })
      local expected = {}
      for i = 1, 50 do
         expected[i] = i
      end
      assert.are.same(expected, moments(ctx))
   end)

   it("... 'nor maximum': values are opaque, 2^64 - 1 and 2^63 events are periods too", function()
      for _, value in ipairs { "1", "0x8000000000000000", "0" } do
         local m, ctx = counting(100, { value = value, flags = { "OVFL_NOTIFY" } })
         assert(m:run { until_idle = true })
         assert.are.equal("END", ctx:read(0).type)
         assert.are.equal((lpfm.u64(value) + 100):hex(), lpfm.u64(sim.value(ctx, 4)):hex())
      end
   end)

   it("periods beyond the hardware's width end at the exact event", function()
      local m = sim.machine("armv8") -- 32 bits
      local tid = m:spawn { program = { { loop = 10, { ip = 1, ns = 10, events = { loads = "0x40000000" } } } } }
      local ctx = sim.count(sim.context(), 0, "loads", { value = "-0x180000000", flags = { "OVFL_NOTIFY" } })
      sim.start(ctx, tid)
      assert(m:run { until_message = ctx })
      assert.are.equal(60, m:time())
   end)
end)

describe("3.4.2 Randomization of sampling periods", function()
   before_each(sim.begin)
   after_each(sim.finish)

   local function series(seed, mask, n, kind)
      local m, ctx = counting(100000, { value = -1, short_reset = -1000, long_reset = -1000, random_seed = seed,
         random_mask = mask, flags = kind == "long" and { "RANDOM", "OVFL_NOTIFY" } or { "RANDOM" } },
         kind == "short" and { format = "default", buf_size = 65536 } or nil)
      local out = {}
      if kind == "short" then
         assert(m:run { until_idle = true })
         for s in ctx:buffer():samples() do
            if #out < n and s.index > 1 then
               out[#out + 1] = s.last_reset + 1000
            end
         end
      else
         for i = 1, n do
            assert(m:run { until_message = ctx })
            ctx:read(0)
            assert(ctx:restart())
            out[i] = ctx:read_pmds({ 4 })[1].last_reset + 1000
         end
      end
      return out
   end

   it("'The series of numbers must be completely determined by the seed value': Carta's, the seed first", function()
      for _, seed in ipairs { 1, 42, 0x7ffffffe } do
         local expected = carta(seed, 20)
         for i, v in ipairs(expected) do
            expected[i] = v % 256
         end
         assert.are.same(expected, series(seed, 255, 20, "short"))
         assert.are.same(expected, series(seed, 255, 20, "long"))
      end
   end)

   it("seeds that Carta's generator would keep for ever, multiples of 2^31 - 1, continue as 1 does", function()
      for _, seed in ipairs { 0, 0x7fffffff, 0xfffffffe } do
         local expected = carta(1, 20)
         expected[1] = seed
         for i, v in ipairs(expected) do
            expected[i] = v % 256
         end
         assert.are.same(expected, series(seed, 255, 20, "short"))
      end
   end)

   it("'guarantees that if the same seed is re-used, then the same series of numbers is produced'", function()
      assert.are.same(series(1234, 127, 50, "short"), series(1234, 127, 50, "short"))
      assert.are_not.same(series(1234, 127, 50, "short"), series(1235, 127, 50, "short"))
   end)

   it("... also when the seed is written again in the same context", function()
      local m, ctx = counting(100000, { value = -1, short_reset = -100, random_seed = 5, random_mask = 63,
         flags = { "RANDOM" } }, { format = "default", buf_size = 65536 })
      assert(m:run { us = 20 })
      local first = moments(ctx)
      assert(ctx:restart())
      assert(ctx:write_pmds { { num = 4, value = -1, short_reset = -100, random_seed = 5, random_mask = 63,
         flags = { "RANDOM" } } })
      assert(m:run { us = 20 })
      local second = moments(ctx)
      for i, v in ipairs(first) do
         assert.are.equal(v + 2000, second[i])
      end
   end)

   it("at the user level: 'passes the new value in reg_long_reset. Finally it invokes PFM_RESTART'", function()
      local m, ctx = counting(1000, { value = -10, long_reset = -10, flags = { "OVFL_NOTIFY" } })
      local at = 0
      for _, period in ipairs { 10, 7, 31, 2, 1, 100 } do
         if at > 0 then
            assert(ctx:write_pmds { { num = 4, value = 0, long_reset = -period, flags = { "OVFL_NOTIFY" } } })
            assert(ctx:restart())
            assert.are.equal(-period, sim.value(ctx, 4))
         end
         at = at + period
         assert(m:run { until_message = ctx })
         assert.are.equal(10 * at, m:time())
         ctx:read(0)
      end
   end)

   it("'can be setup per counting PMD register': each has its own seed and mask", function()
      local m = sim.machine()
      local ctx = sim.context { format = "default", buf_size = 65536 }
      sim.count(ctx, 4, "instructions", { value = -1, short_reset = -100, flags = { "RANDOM" }, random_seed = 9,
         random_mask = 31 })
      sim.count(ctx, 5, "instructions", { value = -1, short_reset = -100, flags = { "RANDOM" }, random_seed = 77,
         random_mask = 15 })
      sim.count(ctx, 6, "instructions", { value = -1, short_reset = -100 })
      sim.start(ctx, m:spawn { program = sim.work(2000) })
      assert(m:run { until_idle = true })
      local got = { [4] = {}, [5] = {}, [6] = {} }
      for s in ctx:buffer():samples() do
         table.insert(got[s.ovfl_pmd], s.last_reset)
      end
      local a, b = carta(9, 10), carta(77, 10)
      for i = 1, 10 do
         assert.are.equal(-100 + a[i] % 32, got[4][i + 1])
         assert.are.equal(-100 + b[i] % 16, got[5][i + 1])
         assert.are.equal(-100, got[6][i + 1])
      end
   end)

   it("'Randomization is ignored on non counting PMD registers'", function()
      local m, ctx = counting(1000, { value = -10, long_reset = -10, flags = { "OVFL_NOTIFY" }, reset_pmds = { 8 } })
      assert(ctx:write_pmds { { num = 8, value = 1, long_reset = 32, flags = { "RANDOM" }, random_seed = 3,
         random_mask = 255 } })
      assert(m:run { until_message = ctx })
      assert(ctx:restart())
      assert.are.equal(32, sim.value(ctx, 8))
   end)

   it("'is applied each time a PMD register is reset', also when another's reset_pmds resets it", function()
      local m, ctx = counting(1000, { value = -10, long_reset = -10, flags = { "OVFL_NOTIFY" }, reset_pmds = { 5 } })
      sim.count(ctx, 5, "instructions", { value = 0, long_reset = -1000, flags = { "RANDOM" }, random_seed = 11,
         random_mask = 0xff })
      for _, r in ipairs(carta(11, 4)) do
         assert(m:run { until_message = ctx })
         ctx:read(0)
         assert(ctx:restart())
         assert.are.equal(-1000 + r % 256, sim.value(ctx, 5))
      end
   end)

   it("'The seed and mask apply to both the short and long reset': one series", function()
      local m, ctx = counting(100000, { value = -1, short_reset = -100, long_reset = -500, random_seed = 21,
         random_mask = 63, flags = { "RANDOM", "OVFL_NOTIFY" } }, { format = "default", buf_size = 1024 })
      local resets = {}
      for _ = 1, 3 do
         assert(m:run { until_message = ctx })
         ctx:read(0)
         for s in ctx:buffer():samples() do
            resets[#resets + 1] = s.last_reset
         end
         assert(ctx:restart())
      end
      local n, r = #resets / 3, carta(21, #resets)
      assert.is_true(n > 2)
      for i = 2, #resets do
         -- the first reset in each buffer after the first one is long
         local base = (i - 1) % n == 0 and -500 or -100
         assert.are.equal(base + r[i - 1] % 64, resets[i])
      end
   end)

   it("'applied each time a PMD register is reset': once for an overflow, also of a trigger that another resets, too",
      function()
         local m = sim.machine()
         local ctx = sim.context()
         assert(ctx:create_evtsets { { id = 0, flags = { "OVFL_SWITCH" } }, { id = 1 } })
         sim.count(ctx, 4, "instructions", { value = -10, short_reset = -100, switch_cnt = 5, random_seed = 21,
            random_mask = 63, flags = { "RANDOM" } })
         -- PMD5 wraps and resets PMD4 (3.1.2)
         sim.count(ctx, 5, "instructions", { value = -10, reset_pmds = { 4 } })
         sim.start(ctx, m:spawn { program = sim.work(100) })
         assert(m:run { ns = 100 })
         assert.are.equal(-100 + 21, sim.value(ctx, 4))
      end)

   it("'The value appears in the reg_last_reset field' of PFM_READ_PMDS, 'may be different from the current value'",
      function()
         local m, ctx = counting(1000, { value = -10, long_reset = -100, random_seed = 0x1567fb, random_mask = 0x3f,
            flags = { "RANDOM", "OVFL_NOTIFY" } })
         assert(m:run { until_message = ctx })
         assert.are.equal(-10, ctx:read_pmds({ 4 })[1].last_reset)
         assert(ctx:restart())
         assert(m:run { ns = 30 })
         local pmd = ctx:read_pmds({ 4 })[1]
         assert.are.equal(-100 + 0x3b, pmd.last_reset)
         assert.are.equal(-100 + 0x3b + 3, pmd.value)
      end)

   it("a mask beyond 32 bits takes two draws, and a base may pass 2^64", function()
      local m, ctx = counting(100, { value = -1, long_reset = -1, random_seed = 7, random_mask = "0xf00000000f",
         flags = { "RANDOM", "OVFL_NOTIFY" } })
      local r = carta(7, 2)
      assert(m:run { until_message = ctx })
      assert(ctx:restart())
      local drawn = lpfm.u64(r[1] % 16) + lpfm.u64(r[2]) % 256 / 16 * 16 * lpfm.u64("0x100000000")
      assert.are.equal((drawn - 1):hex(), lpfm.u64(sim.value(ctx, 4)):hex())
   end)
end)

describe("3.4.3 Counter overflow notifications", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("'The notification is never automatic and must be requested'; else 'the counter simply wraps around'", function()
      local m, ctx = counting(100, { value = -10, short_reset = -50, long_reset = -60 })
      assert(m:run { until_idle = true })
      assert.are.equal("END", ctx:read(0).type)
      assert.are.equal(90, sim.value(ctx, 4))
   end)

   it("'In case of simultaneous overflows by multiple counters, only one notification is generated'", function()
      local m, ctx, tid = counting(100, { value = -10, long_reset = -20, flags = { "OVFL_NOTIFY" } })
      sim.count(ctx, 5, "cycles", { value = -100, long_reset = -1000, flags = { "OVFL_NOTIFY" } })
      -- PMD7 overflows without asking for a notification.
      sim.count(ctx, 7, "instructions", { value = -10 })
      sim.count(ctx, 6, "instructions", { value = -11, flags = { "OVFL_NOTIFY" } })
      assert(m:run { until_message = ctx })
      local msg = ctx:read(0)
      assert.are.same({ 4, 5, 7 }, msg.pmds)
      assert.are.same({ "OVFL", 0, tid, tid, 0, 0x1000 }, { msg.type, msg.set, msg.pid, msg.tid, msg.cpu, msg.ip })
      assert.is_nil(ctx:read(0))
      assert.are.equal(-1, sim.value(ctx, 6))
   end)

   it("none of several that overflow together asked: no message; one did: 'indicating which PMD registers overflowed'",
      function()
         local m, ctx = counting(100, { value = -10 })
         sim.count(ctx, 5, "instructions", { value = -10 })
         sim.count(ctx, 6, "instructions", { value = -20 })
         sim.count(ctx, 7, "instructions", { value = -20, flags = { "OVFL_NOTIFY" } })
         assert(m:run { until_message = ctx })
         assert.are.equal(200, m:time())
         assert.are.same({ 6, 7 }, ctx:read(0).pmds)
      end)

   it("msg_active_set: 'the event set that was active at the time of the overflow'", function()
      local m = sim.machine()
      local ctx = sim.context()
      assert(ctx:create_evtsets { { id = 300 } })
      sim.count(ctx, 4, "instructions", { set = 300, value = -10, flags = { "OVFL_NOTIFY" } })
      local tid = m:spawn { program = sim.work(100) }
      sim.start(ctx, tid, 300)
      assert(m:run { until_message = ctx })
      assert.are.equal(300, ctx:read(0).set)
   end)

   it("'monitoring is masked ... even after the overflow message has been read', until PFM_RESTART", function()
      local m, ctx = counting(1000, { value = -10, long_reset = -10, flags = { "OVFL_NOTIFY" } })
      sim.count(ctx, 5, "instructions")
      assert(m:run { until_message = ctx })
      assert(m:run { ns = 200 })
      assert.are.same({ 0, 10 }, ctx:read_values { 4, 5 })
      assert.is_table(ctx:read(0))
      assert(m:run { ns = 200 })
      assert.are.same({ 0, 10 }, ctx:read_values { 4, 5 })
      assert(ctx:restart())
      assert(m:run { ns = 50 })
      assert.are.same({ -5, 15 }, ctx:read_values { 4, 5 })
   end)

   it("'messages are not discarded automatically on PFM_RESTART': an unread one fills the queue", function()
      local m, ctx = counting(1000, { value = -10, long_reset = -10, flags = { "OVFL_NOTIFY" } })
      assert(m:run { until_message = ctx })
      assert(ctx:restart())
      assert(m:run { ns = 300 })
      assert.are.equal(0, sim.value(ctx, 4)) -- masked again, its message lost: the queue holds 1
      assert.is_table(ctx:read(0))
      assert.is_nil(ctx:read(0))
      assert(ctx:restart())
      assert(m:run { until_message = ctx })
      assert.is_table(ctx:read(0))
   end)

   it("PFM_OVFL_NO_MSG: 'gets the signal but no message is placed in the message queue'", function()
      local signals = 0
      local old = signal.signal(SIGIO, function() signals = signals + 1 end)
      local m, ctx = counting(1000, { value = -10, long_reset = -10, flags = { "OVFL_NOTIFY" } },
         { flags = { "OVFL_NO_MSG" } })
      fcntl.fcntl(ctx:fd(), fcntl.F_SETOWN, unistd.getpid())
      fcntl.fcntl(ctx:fd(), fcntl.F_SETFL, O_ASYNC)
      for i = 1, 3 do
         assert(m:run { ns = 300 })
         assert.are.equal(0, sim.value(ctx, 4)) -- masked
         assert.are.equal(i, signals)
         assert.is_nil(ctx:read(0))
         assert(ctx:restart())
      end
      signal.signal(SIGIO, old or signal.SIG_DFL)
   end)

   it("PFM_FL_NOTIFY_BLOCK, 'the monitored thread is blocked ... it is unblocked by the call'", function()
      local m, ctx, tid = counting(1000, { value = -10, long_reset = -10, flags = { "OVFL_NOTIFY" } },
         { flags = { "NOTIFY_BLOCK" } })
      for i = 1, 3 do
         assert(m:run { until_message = ctx })
         assert(m:run { ns = 300 })
         assert.are.equal("blocked", sim.thread(tid).state)
         assert.are.equal(100 * i, sim.thread(tid).ran)
         ctx:read(0)
         assert(ctx:restart())
      end
      assert(m:run { ns = 10 })
      assert.are.equal("running", sim.thread(tid).state)
   end)

   it("system-wide: masked too, 'the PFM_FL_NOTIFY_BLOCK flag is not supported'", function()
      sim.refused("EINVAL", "NOTIFY_BLOCK does not go with SYSTEM_WIDE",
         lpfm.create { flags = { "SYSTEM_WIDE", "NOTIFY_BLOCK" } })
      local m = sim.machine()
      local tid = m:spawn { program = sim.work(1000) }
      local ctx = sim.context { flags = { "SYSTEM_WIDE" } }
      sim.count(ctx, 4, "instructions", { value = -10, long_reset = -10, flags = { "OVFL_NOTIFY" }, level = "u" })
      sim.start(ctx, 0)
      assert(m:run { until_message = ctx })
      ctx:read(0)
      assert(m:run { ns = 300 })
      assert.are.equal(0, sim.value(ctx, 4))
      assert.are.equal("running", sim.thread(tid).state)
      assert(ctx:restart())
      assert(m:run { until_message = ctx })
      assert.are.equal(500, m:time())
   end)
end)
