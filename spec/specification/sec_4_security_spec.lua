-- SPDX-License-Identifier: MIT
-- Specification, chapter 4: security. Which users may monitor, how much memory and how many
-- interrupts they may use.
local c = require "support.c"
local lpfm = require "lpfm"
local sim = require "support.sim"

local MAX_SAMPLE = 128 + 40 + 8 * 128 -- bytes; no model has larger samples

-- Runs fn as a thread of the simulated computer.
local function as(m, tid, fn)
   assert(m:act(tid))
   local results = { pcall(fn) }
   assert(m:act())
   assert(results[1], results[2])
   return unpack(results, 2)
end

local function user(m, options)
   options = options or {}
   options.program = options.program or sim.work(1000000)
   return m:spawn(options)
end

describe("4.2 Accessing the interface", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("'there is no real security problem for' the commands without a descriptor: any user may ask", function()
      local m = sim.machine()
      as(m, user(m, { uid = 1234 }), function()
         assert.are.equal("Itanium 2", lpfm.config().pmu)
         assert.is_true(#lpfm.pmcs() > 0 and #lpfm.pmds() > 0)
      end)
   end)

   it("'The PFM_SET_CONFIG is restricted to the system administrator'", function()
      local m = sim.machine()
      local tid, root = user(m, { uid = 1234 }), user(m, { uid = 0 })
      local before = lpfm.config()
      as(m, tid, function()
         sim.refused("EPERM", "only the administrator", lpfm.config { arg_size_max = 65536, thread_gid = 1234 })
      end)
      assert.are.same(before, lpfm.config())
      as(m, root, function() assert(lpfm.config { arg_size_max = 65536 }) end)
      assert.are.equal(65536, lpfm.config().arg_size_max)
   end)

   it("'Without a valid context, the commands cannot be used': each is EBADF", function()
      local ctx = sim.context()
      ctx:close()
      for _, call in ipairs { "start", "stop", "restart", "unload", "load", "buffer" } do
         assert.has_error(function() ctx[call](ctx) end)
      end
   end)

   describe("per-thread mode", function()
      it("'any user can create a per-thread context', and attach it to threads of their own alone", function()
         local m = sim.machine()
         local mine, other = user(m, { uid = 500 }), user(m, { uid = 501 })
         as(m, user(m, { uid = 500 }), function()
            local ctx = sim.context()
            sim.refused("EPERM", "belongs to user 501", ctx:load(other))
            assert(ctx:load(mine))
         end)
      end)

      it("'a context is never inherited across fork(), vfork(), or pthread_create()'", function()
         for _, op in ipairs { "fork", "thread" } do
            local m = sim.machine()
            local tid = m:spawn { program = { { loop = 10, { ip = 1, ns = 10 } }, { [op] = sim.work(1000) },
               { loop = 90, { ip = 1, ns = 10 } } } }
            local ctx = sim.count(sim.context(), 4, "instructions")
            sim.start(ctx, tid)
            assert(m:run { until_idle = true })
            assert.are.equal(100, sim.value(ctx, 4))
            assert.are.equal(1000, m:truth(tid + 1).instructions.total)
         end
      end)

      it("... 'thus it must go through the security checks': the child needs a context of its own", function()
         local m = sim.machine()
         local tid = m:spawn { uid = 7, program = { { fork = sim.work(1000) }, { loop = 10, { ip = 1, ns = 10 } } } }
         assert(m:run { us = 1 })
         as(m, user(m, { uid = 8 }), function()
            local ctx = sim.context()
            sim.refused("EPERM", "belongs to user 7", ctx:load(tid + 1))
         end)
      end)

      it("cf_thread_gid: 'Only users from the group are allowed to create a per-thread context'", function()
         local m = sim.machine()
         local inside, outside = user(m, { gid = 42 }), user(m, { gid = 43 })
         assert(lpfm.config { thread_gid = 42 })
         as(m, inside, function()
            sim.context()
            -- thread_gid does not concern system-wide contexts
            sim.context { flags = { "SYSTEM_WIDE" } }
         end)
         as(m, outside, function()
            sim.refused("EPERM", "per-thread contexts are reserved to group 42", lpfm.create())
            sim.context { flags = { "SYSTEM_WIDE" } }
         end)
         as(m, user(m, { uid = 0, gid = 0 }), function()
            sim.refused("EPERM", "per-thread contexts are reserved to group 42", lpfm.create())
         end)
      end)
   end)

   describe("system-wide mode", function()
      it("cf_sys_gid: 'Only users from the group are allowed to create a system-wide context'", function()
         local m = sim.machine()
         local inside, outside = user(m, { gid = 42 }), user(m, { gid = 43 })
         assert(lpfm.config { sys_gid = 42 })
         as(m, inside, function() sim.context { flags = { "SYSTEM_WIDE" } } end)
         as(m, outside, function()
            sim.refused("EPERM", "system-wide contexts are reserved to group 42",
               lpfm.create { flags = { "SYSTEM_WIDE" } })
            sim.context()
         end)
      end)

      it("'By default, there is no group restrictions', and all users' threads are measured", function()
         local m = sim.machine("itanium2", { slice_ns = 1000000 })
         local a, b, tool = user(m, { uid = 1 }), user(m, { uid = 2 }), user(m, { uid = 3 })
         assert(m:run { us = 2100 }) -- until the tool has the only CPU
         local ctx
         as(m, tool, function()
            ctx = sim.context { flags = { "SYSTEM_WIDE" }, format = "default" }
            sim.count(ctx, 4, "instructions", { value = -1000, short_reset = -1000, level = "u" })
            sim.start(ctx, tool)
         end)
         -- with slices of 1 ms, the tool runs until 3 ms, a until 4, b until 5, the tool until 6,
         -- and then a
         assert(m:run { ms = 4 })
         assert.are.same({ [a] = 110, [b] = 100, [tool] = 190 }, ctx:buffer():count_by("tid"))
      end)
   end)
end)

describe("4.3 Protection of the user", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("4.3.2: 'once the thread has died it is impossible to read the leftover state', nor another's while it runs",
      function()
         local m = sim.machine()
         local victim, spy = user(m, { uid = 1, program = sim.work(1000, { loads = 77 }) }), user(m, { uid = 2 })
         local ctx = sim.count(sim.context(), 4, "loads", { value = 0x1234567 })
         assert(ctx:write_pmds { { num = 8, value = 0xbeef } })
         sim.start(ctx, victim)
         assert(m:run { us = 5 })
         for _ = 1, 2 do
            as(m, spy, function()
               local own = sim.context()
               -- The context uses PMD4 and PMD8 without writing them.
               assert(own:write_pmds { { num = 5, smpl_pmds = { 4, 8 } } })
               sim.start(own, spy)
               assert.are.same({ 0, 0 }, own:read_values { 4, 8 })
               own:close()
            end)
            assert(m:run { until_exit = victim })
         end
      end)

   it("4.3.2: 'any thread with access to the file descriptor and running on the monitored processor core' can read",
      function()
         local m = sim.machine("itanium2", { cpus = 2 })
         local here, there = user(m, { cpu = 0 }), user(m, { cpu = 1 })
         local ctx = sim.count(sim.context { flags = { "SYSTEM_WIDE" } }, 4, "instructions")
         sim.start(ctx, 0)
         assert(m:run { us = 1 })
         as(m, here, function() assert.are.equal(100, sim.value(ctx, 4)) end)
         as(m, there, function()
            sim.refused("EBUSY", "the context monitors CPU 0, and the caller is on CPU 1", ctx:read_pmds { 4 })
         end)
      end)

   it("4.3.2: a self-monitored thread 'should be allowed to access its own PMU registers'", function()
      local m = sim.machine()
      local tid = user(m)
      as(m, tid, function()
         local ctx = sim.count(sim.context(), 4, "instructions")
         sim.start(ctx, tid)
         assert(m:run { us = 1 })
         assert.are.equal(100, sim.value(ctx, 4))
         assert(ctx:write_pmds { { num = 4, value = 5 } })
         assert.are.equal(5, sim.value(ctx, 4))
      end)
   end)

   it("4.3.3: the buffer is accounted to who created it, and gone with the context", function()
      local ctx = sim.context { format = "default", buf_size = 16384 }
      assert.are.equal(16384, lpfm.config().smpl_buf_size_cur)
      ctx:close()
      lpfm.machine():run { ns = 0 }
      assert.are.equal(0, lpfm.config().smpl_buf_size_cur)
   end)
end)

describe("4.4 Protecting the system", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("4.4.1: 'monitoring kernel level execution should not be forbidden by default': counts, addresses", function()
      local m = sim.machine()
      local tid = m:spawn { uid = 5, program = { { loop = 100, { ip = 0x1000, ns = 10 },
         { ip = 0x800000, ns = 10, level = "kernel" } } } }
      as(m, m:spawn { uid = 5, program = sim.work(1), cpu = 0 }, function()
         local ctx = sim.context { format = "default" }
         sim.count(ctx, 4, "instructions", { level = "k", value = -10, short_reset = -10 })
         sim.start(ctx, tid)
         assert(m:run { until_exit = tid })
         assert.are.same({ [0x800000] = 10 }, ctx:buffer():count_by("ip"))
      end)
   end)

   it("4.4.2: 'This limit is checked for all commands which take a vector argument'", function()
      local ctx = sim.context()
      assert(ctx:create_evtsets { { id = 1 } })
      local function vector(n, element)
         local v = {}
         for i = 1, n do
            v[i] = element
         end
         return v
      end
      -- the calls' elements have 48, 176, 176, 64, 200, 64 bytes: one more than fits into 4096
      sim.refused("E2BIG", "exceed the limit", ctx:write_pmcs(vector(86, { num = 4, value = 0 })))
      sim.refused("E2BIG", "exceed the limit", ctx:write_pmds(vector(24, { num = 4, value = 0 })))
      sim.refused("E2BIG", "exceed the limit", ctx:read_pmds(vector(24, 4)))
      sim.refused("E2BIG", "exceed the limit", ctx:create_evtsets(vector(65, { id = 1 })))
      sim.refused("E2BIG", "exceed the limit", ctx:getinfo_evtsets(vector(21, 1)))
      sim.refused("E2BIG", "exceed the limit", ctx:delete_evtsets(vector(65, 1)))
      assert(ctx:write_pmcs(vector(85, { num = 4, value = 0 })))
      assert(ctx:create_evtsets(vector(64, { id = 1 })))
      assert(lpfm.config { arg_size_max = 65536 })
      assert(ctx:write_pmds(vector(372, { num = 4, value = 0 })))
      sim.refused("E2BIG", "exceed the limit", ctx:write_pmds(vector(373, { num = 4, value = 0 })))
   end)

   it("4.4.3: 'must check the size of the buffer against certain resource limits': RLIMIT_MEMLOCK, by user", function()
      local m = sim.machine("itanium2", { memlock = 16384 })
      as(m, user(m), function()
         sim.refused("ENOMEM", "exceeds RLIMIT_MEMLOCK", lpfm.create { format = "default", buf_size = 16385 })
         sim.context { format = "default", buf_size = 16384 }
      end)
      sim.context { format = "default", buf_size = 1000000 }
   end)

   it("4.4.3: 'a global parameter to limit the overall memory used by all sampling buffers' at any one time", function()
      sim.machine()
      assert(lpfm.config { smpl_buf_size_max = 40960 })
      local a = sim.context { format = "default", buf_size = 20480 }
      sim.context { format = "default-0.6", buf_size = 16384 }
      sim.refused("ENOMEM", "exceeds cf_smpl_buf_size_max, 40960", lpfm.create { format = "default", buf_size = 8192 })
      sim.context { format = "n-way", buf_size = 4096 }
      sim.refused("ENOMEM", "exceeds cf_smpl_buf_size_max", lpfm.create { format = "default", buf_size = 4096 })
      assert.are.equal(40960, lpfm.config().smpl_buf_size_cur)
      a:close()
      lpfm.machine():run { ns = 0 }
      sim.context { format = "default", buf_size = 20480 }
   end)

   it("4.4.3: 'checked when the buffer is allocated and not when the context is attached'", function()
      local m = sim.machine()
      local ctx = sim.context { format = "default", buf_size = 65536 }
      assert(lpfm.config { smpl_buf_size_max = 4096 })
      sim.start(ctx, user(m))
   end)

   describe("4.4.4 Throttling PMU interrupts", function()
      -- Makes a context that overflows every 100 ns, 10 million times a second, without the limit.
      local function flood(rate, options, pmd)
         local m = sim.machine()
         assert(lpfm.config { ovfl_rate_max = rate })
         local ctx = sim.context(options)
         pmd.value, pmd.short_reset, pmd.long_reset = -10, -10, -10
         sim.count(ctx, 4, "instructions", pmd)
         sim.count(ctx, 5, "instructions")
         sim.start(ctx, m:spawn { program = sim.work(100000000) })
         return m, ctx
      end

      it("by default 'does not impose minimal thresholds on the sampling rates'", function()
         local m, ctx = flood(0, { format = "default", buf_size = 4000000 }, {})
         assert(m:run { ms = 5 })
         assert.are.equal(50000, #ctx:buffer())
         assert.are.equal(0, sim.info(ctx).throttled)
      end)

      it("beyond the rate 'monitoring could be masked until an application issues a PFM_RESTART command'", function()
         local m, ctx = flood(1000, { format = "default", buf_size = 4000000 }, {})
         assert(m:run { ms = 5 })
         assert.are.equal(10, #ctx:buffer()) -- 1000 a second are 10 in a window of 10 ms
         assert.are.equal(110, sim.value(ctx, 5)) -- the eleventh masked
         assert.are.equal(1, sim.info(ctx).throttled)
         -- a message comes, although nothing asked for notifications
         assert.are.same({ 4 }, ctx:read(0).pmds)
         assert(m:run { ms = 6 })
         assert(ctx:restart())
         assert(m:run { ms = 5 })
         assert.are.equal(10, #ctx:buffer())
         assert.are.equal(220, sim.value(ctx, 5))
         assert.are.equal(2, sim.info(ctx).throttled)
      end)

      it("restarted within the same window it is masked again at the next overflow, and counted again", function()
         local m, ctx = flood(1000, { format = "default" }, {})
         assert(m:run { ms = 1 })
         ctx:read(0)
         for i = 2, 5 do
            assert(ctx:restart())
            assert(m:run { us = 10 })
            assert.are.equal(i, sim.info(ctx).throttled)
            assert.are.equal(100 + 10 * i, sim.value(ctx, 5))
            ctx:read(0)
         end
      end)

      it("a rate that is not exceeded changes nothing", function()
         local m, ctx = flood(20000000, { format = "default", buf_size = 4000000 }, {})
         assert(m:run { ms = 5 })
         assert.are.equal(50000, #ctx:buffer())
      end)

      it("without a format, and system-wide, too: each context by itself", function()
         local m = sim.machine("itanium2", { cpus = 2 })
         assert(lpfm.config { ovfl_rate_max = 200 }) -- 2 in 10 ms
         m:spawn { program = sim.work(1000000), cpu = 0 }
         local busy = sim.context { flags = { "SYSTEM_WIDE", "ANY_CPU" } }
         sim.count(busy, 4, "instructions", { value = -10, long_reset = -10, level = "u", flags = { "OVFL_NOTIFY" } })
         sim.start(busy, 0)
         for i = 1, 4 do
            assert(m:run { until_message = busy })
            busy:read(0)
            assert.are.equal(i > 2 and i - 2 or 0, sim.info(busy).throttled)
            assert(busy:restart())
         end
         m:spawn { program = sim.work(1000000), cpu = 1 }
         assert(m:set("tool_cpu", 1))
         local calm = sim.context { flags = { "SYSTEM_WIDE" } }
         sim.count(calm, 4, "instructions", { value = -10, level = "u", flags = { "OVFL_NOTIFY" } })
         sim.start(calm, 1)
         assert(m:run { until_message = calm })
         assert.are.equal(0, sim.info(calm).throttled)
      end)

      it("'no more than 1000 PMU interrupts per second', or however many: one more masks", function()
         for _, case in ipairs { { 1, 11 }, { 10, 11 }, { 50, 11 }, { 90, 11 }, { 91, 11 }, { 100, 11 }, { 100, 10 },
            { 100, 9 }, { 111, 9 }, { 112, 9 }, { 142, 7 }, { 143, 7 }, { 199, 5 }, { 200, 5 }, { 333, 3 }, { 334, 3 },
            { 1000, 1 }, { 999, 1 } } do
            local rate, ms = unpack(case)
            local m = sim.machine()
            assert(lpfm.config { ovfl_rate_max = rate })
            local ctx = sim.context { format = "default", buf_size = 1000000 }
            sim.count(ctx, 4, "instructions", { value = -100 * ms, short_reset = -100 * ms })
            sim.start(ctx, m:spawn { program = sim.work(200000, nil, 10000) })
            assert(m:run { s = 1 })
            local let, kept = math.floor(1000 / ms), rate >= 1000 / ms
            assert.are.equal(kept and 0 or 1, sim.info(ctx).throttled, rate .. "/s, one each " .. ms .. " ms")
            if kept then
               assert.are.equal(let, #ctx:buffer(), rate)
            else -- too high a rate is noticed within two windows
               assert.is_true(#ctx:buffer() <= rate / 50 + 2 and #ctx:buffer() < let, rate)
            end
            ctx:close()
         end
      end)

      it("3.1.9: 'if the PFM_FL_NOTIFY_BLOCK flag is set' the thread is blocked until the restart, throttled or not",
         function()
            for _, rate in ipairs { 0, 100 } do
               local m = sim.machine()
               assert(lpfm.config { ovfl_rate_max = rate })
               local ctx = sim.context { flags = { "NOTIFY_BLOCK" } }
               sim.count(ctx, 4, "instructions", { value = -10, long_reset = -10, flags = { "OVFL_NOTIFY" } })
               local tid = m:spawn { program = sim.work(100000) }
               sim.start(ctx, tid)
               for _ = 1, 3 do
                  assert(m:run { until_message = ctx })
                  ctx:read(0)
                  assert(m:run { ns = 200 })
                  for _, t in ipairs(m:threads()) do
                     if t.tid == tid then assert.are.equal("blocked", t.state, rate) end
                  end
                  assert(ctx:restart())
               end
               ctx:close()
            end
         end)

      it("an overflow that switches is counted towards its threshold also when it is held back", function()
         local m = sim.machine()
         assert(lpfm.config { ovfl_rate_max = 100 }) -- 1 in 10 ms
         local ctx = sim.context()
         assert(ctx:create_evtsets { { id = 0, flags = { "OVFL_SWITCH" } }, { id = 1 } })
         sim.count(ctx, 4, "instructions", { value = -10, short_reset = -10, switch_cnt = 2 })
         sim.start(ctx, user(m))
         assert(m:run { us = 1 })
         assert.are.same({ 1, 0 }, { sim.info(ctx).throttled, sim.info(ctx, 1).runs })
         assert(ctx:restart())
         assert.are.equal(1, sim.info(ctx, 1).runs)
      end)
   end)

   it("4.4.5: a format's refusal, bad arguments and all, leaves nothing behind", function()
      sim.machine()
      for _ = 1, 100 do
         sim.refused("EINVAL", "not valid", lpfm.create { format = "default", buf_size = MAX_SAMPLE % 100 })
      end
      assert.are.equal(0, lpfm.config().smpl_buf_size_cur)
   end)
end)

describe("4 and other processes, on real threads:", function()
   for _, machine in ipairs { "perf", "sim:k8" } do
      it("4.4.3: a child of fork() keeps no memory of its parent's buffer, on " .. machine, function()
         local out, status = c.sh("LPFM_MACHINE=" .. machine .. " " .. c.compile("fork_keeps_buffer"))
         assert.equal("before: 1, 1\nin the child: 0, 0\n", out)
         assert.equal(0, status)
      end)
   end

   for part, sentence in pairs {
      memory = "4.4.3: 'a system-wide limit which includes all the sampling buffers active at any one time'",
      memlock = "4.4.3: 'check against RLIMIT_MEMLOCK': all buffers of the user, in whatever process",
      squatted = "4.1: what another user puts in the way blocks nobody and is not believed",
   } do
      it(sentence, function() require "support.shared"(part) end)
   end
end)
