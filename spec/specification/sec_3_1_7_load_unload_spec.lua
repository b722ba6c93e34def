-- SPDX-License-Identifier: MIT
-- Sections 3.1.7, PFM_LOAD_CONTEXT, and 3.1.8, PFM_UNLOAD_CONTEXT.
local c = require "support.c"
local lpfm = require "lpfm"
local sim = require "support.sim"

describe("3.1.7 PFM_LOAD_CONTEXT", function()
   before_each(sim.begin)
   after_each(sim.finish)

   local function counter(fields)
      return sim.count(sim.context(fields), 4, "instructions")
   end

   it("'The value of load_pid is the identification of the kernel thread', not of the process", function()
      local m = sim.machine("itanium2", { cpus = 2 })
      local first = m:spawn { program = sim.work(30) }
      local second = m:spawn { program = sim.work(70), process = sim.thread(first).pid }
      assert.are.equal(sim.thread(first).pid, sim.thread(second).pid)
      local a, b = counter(), counter()
      assert(a:load(first))
      assert(b:load(second))
      assert(a:start())
      assert(b:start())
      assert(m:run { us = 1 })
      assert.are.same({ 30, 70 }, { sim.value(a, 4), sim.value(b, 4) })
   end)

   it("'A context can only be attached to one thread at a time'", function()
      local m = sim.machine()
      local first, second = m:spawn { program = sim.work(10) }, m:spawn { program = sim.work(20) }
      local ctx = counter()
      assert(ctx:load(first))
      sim.refused("EBUSY", "loaded already", ctx:load(second))
      sim.refused("EBUSY", "loaded already", ctx:load(first))
      assert(ctx:start())
      assert(m:run { us = 1 })
      assert.are.equal(10, sim.value(ctx, 4))
   end)

   it("'A thread can have, at most, one context attached to it': EBUSY", function()
      local m = sim.machine()
      local tid = m:spawn { program = sim.work(10) }
      local a, b = counter(), counter()
      assert(a:load(tid))
      sim.refused("EBUSY", "has a context already", b:load(tid))
      assert(a:unload())
      assert(b:load(tid))
      assert.are.equal(1, lpfm.config().thread_sessions)
   end)

   it("a refused load leaves the pending messages, the sets and the other context as they were", function()
      local m = sim.machine()
      local tid = m:spawn { program = sim.work(1000) }
      local a, b = counter(), counter()
      assert(b:write_pmds { { num = 4, value = -10, flags = { "OVFL_NOTIFY" } } })
      sim.start(b, tid)
      assert(m:run { until_message = b })
      assert(b:unload())
      sim.start(a, tid)
      sim.refused("EBUSY", "has a context already", b:load(tid))
      assert.are.equal(1, sim.info(b).runs)
      assert.are.equal("OVFL", assert(b:read(0)).type)
      assert(m:run { ns = 100 })
      assert.are.equal(10, sim.value(a, 4))
   end)

   it("'The caller must have permissions to access the monitored thread': EPERM, ESRCH", function()
      local m = sim.machine()
      local mine = m:spawn { program = sim.work(10), uid = 7 }
      local same = m:spawn { program = sim.work(10), uid = 7 }
      local other = m:spawn { program = sim.work(10), uid = 8 }
      local root = m:spawn { program = sim.work(10), uid = 0 }
      local kernel = m:spawn { program = sim.work(10, nil, nil, "kernel"), kernel = true, uid = 0 }
      local ended = m:spawn { program = sim.work(1), uid = 7 }
      assert(m:kill(ended))
      assert(m:act(mine))
      local ctx = counter()
      sim.refused("EPERM", "belongs to user 8", ctx:load(other))
      sim.refused("EPERM", "belongs to user 0", ctx:load(root))
      sim.refused("ESRCH", "no thread " .. ended, ctx:load(ended))
      sim.refused("ESRCH", "no thread 99999", ctx:load(99999))
      assert(ctx:load(same))
      assert(ctx:unload())
      assert(m:act()) -- the caller is an administrator again
      assert(ctx:load(other))
      assert(ctx:unload())
      sim.refused("EPERM", "kernel thread", ctx:load(kernel))
   end)

   it("'the notification message queue is reset. All pending messages are lost'", function()
      local m = sim.machine()
      local tid = m:spawn { program = sim.work(1000) }
      local ctx = sim.count(sim.context(), 4, "instructions", { value = -10, flags = { "OVFL_NOTIFY" } })
      sim.start(ctx, tid)
      assert(m:run { until_message = ctx })
      assert(ctx:unload())
      assert(ctx:load(tid))
      assert.is_nil(ctx:read(0))
   end)

   it("'loads the current software state ... For PMD registers, their current values' are used", function()
      local m = sim.machine()
      local ctx = sim.count(sim.context(), 4, "instructions", { value = 1000 })
      for round = 1, 3 do
         local tid = m:spawn { program = sim.work(10) }
         assert(ctx:load(tid))
         assert.are.equal(1000 + 10 * (round - 1), sim.value(ctx, 4))
         assert(ctx:start())
         assert(m:run { until_exit = tid })
         assert.are.equal("END", ctx:read(0).type)
      end
      assert.are.equal(1030, sim.value(ctx, 4))
   end)

   it("'If a PMC or PMD register has never been explicitly programmed, then its default value is used'", function()
      local m = sim.machine()
      local tid = m:spawn { program = sim.work(10, { loads = 1 }) }
      local ctx = sim.context()
      -- neither PMD5 nor PMC4 is ever written
      assert(ctx:write_pmcs { { num = 5, value = m:encode("loads", 5) } })
      sim.start(ctx, tid)
      assert(m:run { until_exit = tid })
      assert.are.same({ 0, 10, 0 }, ctx:read_values { 4, 5, 6 })
   end)

   it("'guarantees that the PMU is not active, i.e., no events are effectively collected'", function()
      local m = sim.machine()
      local tid = m:spawn { program = sim.work(100) }
      local ctx = counter()
      assert(ctx:load(tid))
      assert(m:run { ns = 500 })
      assert.are.equal(0, sim.value(ctx, 4))
      assert(ctx:start())
      assert(m:run { until_exit = tid })
      assert.are.equal(50, sim.value(ctx, 4))
   end)

   it("... also when it is loaded again after it was started before", function()
      local m = sim.machine()
      local tid = m:spawn { program = sim.work(1000) }
      local ctx = counter()
      sim.start(ctx, tid)
      assert(ctx:unload())
      assert(ctx:load(tid))
      assert(m:run { ns = 500 })
      assert.are.equal(0, sim.value(ctx, 4))
   end)

   it("'more than one per-thread session may exist': 'saved and restored on context switches'", function()
      local m = sim.machine("itanium2", { slice_ms = 1 })
      local contexts, tids = {}, {}
      for i = 1, 5 do
         tids[i] = m:spawn { program = sim.work(1000 * i, { loads = i }, 10000) }
         contexts[i] = counter()
         sim.count(contexts[i], 4, i % 2 == 0 and "instructions" or "loads")
         assert(contexts[i]:load(tids[i]))
         assert(contexts[i]:start())
      end
      m:spawn { program = sim.work(5000, { loads = 100 }, 10000) } -- not monitored
      assert.are.equal(5, lpfm.config().thread_sessions)
      assert(m:run { until_idle = true })
      for i = 1, 5 do
         assert.is_true(m:truth(tids[i]).context_switches.total > 5)
         assert.are.equal(1000 * i * (i % 2 == 0 and 1 or i), sim.value(contexts[i], 4))
      end
   end)

   it("... and moved between CPUs", function()
      local m = sim.machine("armv8", { cpus = 3, slice_ms = 1 })
      local contexts, tids, migrations = {}, {}, 0
      for i = 1, 5 do
         tids[i] = m:spawn { program = { { loop = 50, { loop = 30 + i, { ip = 0x1000, ns = 10000,
            events = { loads = 0x1000000 } } }, { sleep = 100000 * i } } } }
         contexts[i] = sim.context()
         sim.count(contexts[i], 0, "loads")
         sim.count(contexts[i], 31, "cycles")
         assert(contexts[i]:load(tids[i]))
         assert(contexts[i]:start())
      end
      assert(m:run { until_idle = true })
      for i = 1, 5 do
         local truth = m:truth(tids[i])
         migrations = migrations + (truth.cpu_migrations or { total = 0 }).total
         assert.are.equal(50 * (30 + i) * 0x1000000, sim.value(contexts[i], 0))
         assert.are.equal(truth.cycles.total, sim.value(contexts[i], 31))
         assert.are.equal(truth.time.total, sim.info(contexts[i]).act_duration)
      end
      assert.is_true(migrations > 5)
   end)

   describe("system-wide:", function()
      it("'load_pid must be that of the calling thread ... Any other combination is rejected'", function()
         local m = sim.machine("itanium2", { cpus = 2 })
         local tid = m:spawn { program = sim.work(1000), cpu = 1, uid = 0 }
         local other = m:spawn { program = sim.work(1000), cpu = 1, uid = 0 }
         assert(m:run { ns = 10 })
         assert(m:act(tid))
         local ctx = counter { flags = { "SYSTEM_WIDE" } }
         sim.refused("EINVAL", "neither the caller", ctx:load(other))
         sim.refused("EINVAL", "neither the caller", ctx:load(0)) -- 2.x takes the current CPU, 1
         assert(ctx:load(tid))
         assert(ctx:unload())
         assert(ctx:load(1))
      end)

      it("'uses the CPU core on which the calling thread is executing'; it 'cannot be changed'", function()
         local m = sim.machine("itanium2", { cpus = 3 })
         m:spawn { program = sim.work(1000), cpu = 2 }
         assert(m:set("tool_cpu", 2))
         local ctx = counter { flags = { "SYSTEM_WIDE" } }
         assert(ctx:load(1)) -- the tool's thread id
         assert(ctx:start())
         assert(m:run { ns = 100 })
         assert.are.equal(10, sim.value(ctx, 4))
         assert(m:set("tool_cpu", 1))
         sim.refused("EBUSY", "loaded already", ctx:load(1))
         sim.refused("EBUSY", "monitors CPU 2", ctx:unload())
         assert(m:set("tool_cpu", 2))
         assert(ctx:unload())
         assert(m:set("tool_cpu", 1))
         assert(ctx:load(1))
      end)

      it("PFM_FL_ANY_CPU, our own: commands come from any CPU", function()
         local m = sim.machine("itanium2", { cpus = 2 })
         m:spawn { program = sim.work(1000), cpu = 0 }
         local ctx = counter { flags = { "SYSTEM_WIDE", "ANY_CPU" } }
         assert(ctx:load(0))
         assert(m:set("tool_cpu", 1))
         assert(ctx:start())
         assert(m:run { ns = 100 })
         assert.are.equal(10, sim.value(ctx, 4))
         assert(ctx:stop())
         assert(ctx:unload())
         sim.refused("EINVAL", "ANY_CPU needs SYSTEM_WIDE", lpfm.create { flags = { "ANY_CPU" } })
      end)

      it("'There can only be one system-wide context bound to a CPU core at a time': EBUSY", function()
         local m = sim.machine("itanium2", { cpus = 2 })
         local a, b = counter { flags = { "SYSTEM_WIDE" } }, counter { flags = { "SYSTEM_WIDE" } }
         assert(a:load(0))
         sim.refused("EBUSY", "CPU 0 has a context already", b:load(0))
         assert(m:set("tool_cpu", 1))
         assert(b:load(1))
         assert.are.equal(2, lpfm.config().sys_sessions)
      end)

      it("counts whatever runs on the CPU, the idle thread included", function()
         local m = sim.machine()
         m:spawn { program = sim.work(10) }
         m:spawn { program = sim.work(20) }
         local ctx = counter { flags = { "SYSTEM_WIDE" } }
         sim.start(ctx, 0)
         assert(m:run { us = 1 })
         assert.are.equal(m:truth({ cpu = 0 }).instructions.total, sim.value(ctx, 4))
         assert.are.equal(30 + m:truth({ idle = 0 }).instructions.total, sim.value(ctx, 4))
      end)
   end)

   describe("co-existence:", function()
      it("'a per-thread and system-wide contexts cannot exist at the same time' while loaded: EBUSY", function()
         local m = sim.machine()
         local tid = m:spawn { program = sim.work(1000) }
         local wide, thread = counter { flags = { "SYSTEM_WIDE" } }, counter()
         assert(thread:load(tid))
         sim.refused("EBUSY", "excludes", wide:load(0))
         assert(thread:unload())
         assert(wide:load(0))
         sim.refused("EBUSY", "excludes", thread:load(tid))
         assert(wide:start())
         assert(m:run { ns = 100 })
         assert.are.equal(10, sim.value(wide, 4))
      end)

      it("'such determination must be done only when the context is attached not when it is created'", function()
         local m = sim.machine()
         local thread = counter()
         assert(thread:load(m:spawn { program = sim.work(1000) }))
         counter { flags = { "SYSTEM_WIDE" } }
         assert(thread:unload())
      end)
   end)

   it("fork(): 'the context is not inherited by the initial thread of the child process'", function()
      local m = sim.machine("itanium2", { cpus = 2 })
      local tid = m:spawn { program = { { loop = 10, { ip = 0x1000, ns = 10 } }, { fork = sim.work(100) },
         { loop = 5, { ip = 0x2000, ns = 10 } } } }
      local ctx = counter()
      sim.start(ctx, tid)
      assert(m:run { until_idle = true })
      assert.are.equal(15, sim.value(ctx, 4))
      local child = m:threads()[2]
      assert.are.equal(sim.thread(tid).pid, child.ppid)
      assert.are.equal(100, m:truth(child.tid).instructions.total)
   end)

   it("pthread_create(): 'it is never inherited in the newly created thread'", function()
      local m = sim.machine("itanium2", { cpus = 2 })
      local tid = m:spawn { program = { { loop = 10, { ip = 0x1000, ns = 10 } }, { thread = sim.work(100) },
         { loop = 5, { ip = 0x2000, ns = 10 } } } }
      local ctx = counter()
      sim.start(ctx, tid)
      assert(m:run { until_idle = true })
      assert.are.equal(15, sim.value(ctx, 4))
      assert.are.equal(sim.thread(tid).pid, m:threads()[2].pid)
   end)

   it("exec(): 'the context remains attached. If monitoring was active, it remains active'", function()
      for _, started in ipairs { true, false } do
         local m = sim.machine()
         local tid = m:spawn { program = { { loop = 10, { ip = 0x1000, ns = 10 } }, { exec = sim.work(100) } } }
         local ctx = counter()
         assert(ctx:load(tid))
         if started then
            assert(ctx:start())
         end
         assert(m:run { ns = 600 })
         assert.are.equal(started and 60 or 0, sim.value(ctx, 4))
         sim.refused("EBUSY", "loaded already", ctx:load(tid))
      end
   end)

   describe("sets:", function()
      it("'It can be any set from the list of defined sets'; EINVAL 'does not exist'", function()
         local m = sim.machine()
         local tid = m:spawn { program = sim.work(1000) }
         local ctx = sim.context()
         assert(ctx:create_evtsets { { id = 9 }, { id = 65535 } })
         sim.refused("EINVAL", "set 8 does not exist", ctx:load(tid, 8))
         for _, set in ipairs { 0, 9, 65535 } do
            assert(ctx:load(tid, set))
            assert.are.equal(1, sim.info(ctx, set).runs)
            assert(ctx:unload())
         end
      end)

      it("'verifies that the list ... and especially the link from one set to another are sane'", function()
         local m = sim.machine()
         local tid = m:spawn { program = sim.work(1000) }
         local ctx = sim.context()
         assert(ctx:create_evtsets { { id = 5, flags = { "EXPL_NEXT" }, id_next = 6 } })
         sim.refused("EINVAL", "set 5 goes on to set 6, which does not exist", ctx:load(tid))
         assert.are.equal(0, lpfm.config().thread_sessions)
         assert(ctx:create_evtsets { { id = 6 } })
         assert(ctx:load(tid))
      end)

      it("'After this command returns, the list of event sets cannot be modified until the context is detached'",
         function()
            local m = sim.machine()
            local ctx = sim.context()
            assert(ctx:create_evtsets { { id = 1 } })
            assert(ctx:load(m:spawn { program = sim.work(1000) }))
            sim.refused("EBUSY", "while the context is loaded", ctx:create_evtsets { { id = 2 } })
            sim.refused("EBUSY", "while the context is loaded", ctx:create_evtsets { { id = 1 } })
            sim.refused("EBUSY", "while the context is loaded", ctx:delete_evtsets { 1 })
            assert(ctx:unload())
            assert(ctx:delete_evtsets { 1 })
         end)

      it("'triggers have their switch overflow counter reset to ... reg_ovflsw_thres'", function()
         local m = sim.machine()
         local tid = m:spawn { program = sim.work(1000) }
         local ctx = sim.context()
         assert(ctx:create_evtsets { { id = 0, flags = { "OVFL_SWITCH" } }, { id = 1 } })
         sim.count(ctx, 4, "instructions", { value = -10, short_reset = -10, switch_cnt = 3 })
         sim.start(ctx, tid)
         assert(m:run { ns = 200 })
         assert.are.equal(1, ctx:read_pmds({ 4 })[1].switch_cnt)
         assert(ctx:unload())
         assert.are.equal(1, ctx:read_pmds({ 4 })[1].switch_cnt)
         assert(ctx:load(tid))
         assert.are.equal(3, ctx:read_pmds({ 4 })[1].switch_cnt)
      end)

      it("'if the set has the PFM_SETFL_TIME_SWITCH flags, the timeout is reset to ... set_timeout'", function()
         local m = sim.machine()
         local tid = m:spawn { program = sim.work(1000000) }
         local ctx = sim.context()
         assert(ctx:create_evtsets { { id = 0, flags = { "TIME_SWITCH" }, timeout = 2000000 }, { id = 1 } })
         sim.start(ctx, tid)
         assert(m:run { us = 500 })
         assert.are.equal(1500000, sim.info(ctx).timeout)
         assert(ctx:unload())
         assert.are.equal(1500000, sim.info(ctx).timeout)
         assert(ctx:load(tid))
         assert.are.equal(2000000, sim.info(ctx).timeout)
      end)
   end)

   it("through perfmonctl(): errors", function()
      local out, status = c.sh(c.compile("perfmonctl_errors") .. " 3.1.7")
      assert.are.equal(0, status, out)
   end)
end)

describe("3.1.8 PFM_UNLOAD_CONTEXT", function()
   before_each(sim.begin)
   after_each(sim.finish)

   local function running(pmd, n)
      local m = sim.machine()
      local tid = m:spawn { program = sim.work(n or 1000000) }
      local ctx = sim.count(sim.context(), 4, "instructions", pmd)
      sim.start(ctx, tid)
      return m, ctx, tid
   end

   it("'The context must already be attached for this command to succeed'", function()
      local ctx = sim.context()
      sim.refused("EINVAL", "not loaded", ctx:unload())
      local _, loaded = running()
      assert(loaded:unload())
      sim.refused("EINVAL", "not loaded", loaded:unload())
   end)

   it("'Any subsequent calls to PFM_READ_PMDS returns the values that were in the PMU' at that time", function()
      local m, ctx = running()
      assert(m:run { ns = 123 })
      assert(ctx:unload())
      assert(m:run { ns = 1000 })
      assert.are.equal(12, sim.value(ctx, 4))
   end)

   it("'the context is stopped as if a PFM_STOP command had been issued'", function()
      local m, ctx, tid = running()
      assert(m:run { ns = 100 })
      assert(ctx:unload())
      assert(ctx:load(tid))
      assert(m:run { ns = 100 })
      assert.are.equal(10, sim.value(ctx, 4))
      assert.are.equal(100, sim.info(ctx).act_duration)
   end)

   it("'The notification message queue is not drained during this command'", function()
      local m, ctx = running { value = -10, flags = { "OVFL_NOTIFY" } }
      assert(m:run { until_message = ctx })
      assert(ctx:unload())
      assert.are.equal("OVFL", assert(ctx:read(0)).type)
   end)

   it("'can be re-attached to any thread or CPU core ... as many times as is necessary'", function()
      local m = sim.machine("itanium2", { cpus = 4 })
      local tids = {}
      for i = 1, 4 do
         tids[i] = m:spawn { program = sim.work(100000), cpu = i - 1 }
      end
      local thread, wide = sim.context(), sim.context { flags = { "SYSTEM_WIDE" } }
      sim.count(thread, 4, "instructions")
      sim.count(wide, 4, "instructions")
      for round = 1, 20 do
         sim.start(thread, tids[round % 4 + 1])
         assert(m:run { ns = 100 })
         assert(thread:unload())
         assert(m:set("tool_cpu", round % 4))
         sim.start(wide, round % 4)
         assert(m:run { ns = 100 })
         assert(wide:unload())
      end
      assert.are.same({ 200, 200 }, { sim.value(thread, 4), sim.value(wide, 4) })
   end)

   it("'another system-wide context can now be bound to the same CPU core'", function()
      sim.machine()
      local a, b = sim.context { flags = { "SYSTEM_WIDE" } }, sim.context { flags = { "SYSTEM_WIDE" } }
      assert(a:load(0))
      assert(a:unload())
      assert(b:load(0))
   end)

   it("system-wide: 'the calling thread must be running on the CPU core the context is bound to': EBUSY", function()
      local m = sim.machine("itanium2", { cpus = 2 })
      m:spawn { program = sim.work(1000), cpu = 0 }
      local ctx = sim.count(sim.context { flags = { "SYSTEM_WIDE" } }, 4, "instructions")
      sim.start(ctx, 0)
      assert(m:set("tool_cpu", 1))
      sim.refused("EBUSY", "monitors CPU 0, and the caller is on CPU 1", ctx:unload())
      assert(m:run { ns = 100 })
      assert(m:set("tool_cpu", 0))
      assert.are.equal(10, sim.value(ctx, 4)) -- counting went on
      assert(ctx:unload())
   end)

   it("'The perfmon interface never changes the CPU core affinity of the calling thread'", function()
      local m = sim.machine("itanium2", { cpus = 4 })
      local tid = m:spawn { program = sim.work(100000), affinity = { 1, 2 }, uid = 0 }
      assert(m:run { ns = 10 })
      assert(m:act(tid))
      local ctx = sim.context { flags = { "SYSTEM_WIDE" } }
      assert(ctx:load(tid))
      assert(ctx:unload())
      assert.are.same({ 1, 2 }, sim.thread(tid).affinity)
   end)

   it("'monitoring is implicitly stopped, therefore set switching is stopped as well'", function()
      local m = sim.machine()
      local ctx = sim.context()
      assert(ctx:create_evtsets { { id = 0, flags = { "TIME_SWITCH" }, timeout = 1000000 }, { id = 1 } })
      local tid = m:spawn { program = sim.work(1000000) }
      sim.start(ctx, tid)
      assert(m:run { us = 500 })
      assert(ctx:unload())
      assert(ctx:load(tid))
      assert(m:run { ms = 5 })
      assert.are.same({ 2, 0 }, { sim.info(ctx, 0).runs, sim.info(ctx, 1).runs })
   end)

   it("while masked or blocked: the thread goes on, and the context is as good as new", function()
      local m = sim.machine()
      local tid = m:spawn { program = sim.work(1000) }
      local ctx = sim.context { flags = { "NOTIFY_BLOCK" } }
      sim.count(ctx, 4, "instructions", { value = -10, flags = { "OVFL_NOTIFY" } })
      sim.start(ctx, tid)
      assert(m:run { us = 1 })
      assert.are.equal("blocked", sim.thread(tid).state)
      assert(ctx:unload())
      assert(m:run { us = 1 })
      assert.are.equal("running", sim.thread(tid).state)
      sim.refused("EBUSY", "not loaded", ctx:restart())
      assert(ctx:load(tid))
      sim.refused("EBUSY", "nothing to restart", ctx:restart())
      assert(ctx:start())
      assert(m:run { ns = 100 })
      assert.are.equal(10, sim.value(ctx, 4))
   end)

   it("through perfmonctl(): no argument, errors", function()
      local out, status = c.sh(c.compile("perfmonctl_errors") .. " 3.1.8")
      assert.are.equal(0, status, out)
   end)
end)

describe("3.1.7 and children of fork(), which have a copy of the simulated computer:", function()
   local CODE = [[
      local lpfm, unistd, wait = require "lpfm", require "posix.unistd", require "posix.sys.wait"
      local m = assert(lpfm.machine "sim:itanium2")
      local function context(flags, tid, value)
         local ctx = assert(lpfm.create { flags = flags })
         assert(ctx:write_pmcs { { num = 4, value = m:encode("instructions", 4) } })
         assert(ctx:write_pmds { { num = 4, value = value, flags = value < 0 and { "OVFL_NOTIFY" } or nil } })
         assert(ctx:load(tid) and ctx:start())
         return ctx
      end
      local tid = m:spawn { program = { { loop = 1000, { ip = 0x10, ns = 10 } } } }
      local flags, target, value = %s
      local ctx = context(flags, target, value)
      m:run { ns = 5000 }
      local pid = unistd.fork()
      if pid == 0 then
         local mine = context({}, tid, 0)
         m:run { until_exit = tid }
         io.stderr:write(tostring(mine:read_pmds { 4 }[1].value), "\n")
         unistd._exit(0)
      end
      wait.wait(pid)
      if value < 0 then assert(ctx:restart()) end
      m:run { until_exit = tid }
      io.stderr:write(tostring(ctx:read_pmds { 4 }[1].value), "\n")]]
   for sentence, case in pairs {
      ["the child attaches its own to a thread of its parent's"] = { "{}, tid, 0", "500\n1000\n" },
      ["a thread that a context of its parent's has blocked goes on"] =
         { '{ "NOTIFY_BLOCK" }, tid, -500', "500\n500\n" },
      ["a system-wide context of its parent's is not in the way"] =
         { '{ "SYSTEM_WIDE" }, m:threads()[1].cpu or 0, 0', "500\n1000\n" },
   } do
      it(sentence, function()
         local out = c.sh(("timeout -k 5 60 %s -e '%s'"):format(os.getenv("LPFM_LUA") or "luajit",
            CODE:format(case[1])))
         assert.equal(case[2], out)
      end)
   end
end)

describe("3.1.7 and other processes, on real threads:", function()
   for _, machine in ipairs { "perf", "sim:core2,live" } do
      it("'the context is not inherited': none is in the way of a child's of fork(), on " .. machine, function()
         local out, status = c.sh(("LPFM_MACHINE=%s timeout 60 %s"):format(machine, c.compile("fork_load")))
         assert.equal(0, status, out)
      end)

      it("a thread that is cancelled in a call leaves the context to the others, on " .. machine, function()
         local out, status = c.sh(("LPFM_MACHINE=%s timeout -k 5 60 %s"):format(machine, c.compile("cancelled")))
         assert.equal(0, status, out)
      end)

      it("a program closes a context after it has unloaded the library, on " .. machine, function()
         local program = c.target("unloaded", "-Ikernel/include")
         local library = (os.getenv("LPFM_BUILD") or "build") .. "/libperfmon.so"
         local out, status = c.sh(("LPFM_MACHINE=%s timeout -k 5 60 %s %s"):format(machine, program, library))
         assert.equal(0, status, out)
      end)
   end
   it("a load that is refused for want of descriptors changes no set", function()
      local out, status = c.sh("LPFM_MACHINE=perf " .. c.compile("load_without_fds"))
      assert.equal("switched: 1, refused: 1\n", out)
      assert.equal(0, status)
   end)

   for part, sentence in pairs {
      threads = "'A thread can have, at most, one context attached to it', whoever attached it; EBUSY says who",
      cpus = "'There can only be one system-wide context bound to a CPU core at a time', of all processes",
      killed = "a process that is killed leaves no context behind, one that is stopped holds nobody up",
      forked = "a child of fork() has its own contexts, not its parent's",
   } do
      it(sentence, function() require "support.shared"(part) end)
   end
end)
