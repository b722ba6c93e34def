-- SPDX-License-Identifier: MIT
-- Section 3.3, event notifications.
local c = require "support.c"
local lpfm = require "lpfm"
local sim = require "support.sim"
local real = require "support.real"

local NOTIFY = { "OVFL_NOTIFY" }

-- Returns options with the n-way format (perfmon_nway_smpl.h), which keeps up to 8 messages.
local function nway(bytes, regions, flags)
   local function le(n, size)
      local s = ""
      for _ = 1, size do
         s = s .. string.char(n % 256)
         n = math.floor(n / 256)
      end
      return s
   end
   return { format = "n-way", format_arg = le(bytes, 8) .. le(flags or 0, 4) .. le(regions, 4) .. ("\0"):rep(48) }
end

describe("3.3 event notifications", function()
   before_each(sim.begin)
   after_each(sim.finish)

   local function notifying(m, pmd, fields)
      local ctx = sim.context(fields)
      local d = { value = -10, long_reset = -10, short_reset = -10, flags = NOTIFY }
      for k, v in pairs(pmd or {}) do
         d[k] = v
      end
      sim.count(ctx, 4, "instructions", d)
      return ctx, m
   end

   local function started(m, ctx, tid)
      sim.start(ctx, tid)
      return m, ctx
   end

   it("3.3: 'when a counter overflows' and when 'a monitored thread terminates'", function()
      local m = sim.machine()
      local ctx = notifying(m, { long_reset = 0 })
      started(m, ctx, m:spawn { program = sim.work(20) })
      assert(m:run { until_message = ctx })
      assert.are.equal("OVFL", ctx:read(0).type)
      assert(ctx:restart())
      assert(m:run { until_message = ctx })
      assert.are.equal("END", ctx:read(0).type)
      assert.is_nil(ctx:read(0))
   end)

   describe("3.3.1 the message queue", function()
      it("'There is only one message queue per context'", function()
         local m = sim.machine("itanium2", { cpus = 2 })
         local a, b = notifying(m), notifying(m)
         local first, second = m:spawn { program = sim.work(1000) }, m:spawn { program = sim.work(1000) }
         started(m, a, first)
         started(m, b, second)
         assert(m:run { ns = 500 })
         assert.are.equal(second, b:read(0).tid)
         assert.are.equal(first, a:read(0).tid)
         assert.is_nil(a:read(0))
         assert.is_nil(b:read(0))
      end)

      it("'managed in a first-in, first-out manner': messages of three regions, in their order", function()
         local m = sim.machine()
         local program = {}
         for i = 1, 400 do
            program[i] = { ip = 0x1000 * i, ns = 10 }
         end
         local ctx = notifying(m, { value = -1, short_reset = -1 }, nway(8192, 4))
         started(m, ctx, m:spawn { program = program })
         assert(m:run { ns = 4000 })
         local last, n = 0, 0
         for msg in ctx:messages(0) do
            if msg.type == "OVFL" then
               assert.is_true(msg.ip > last)
               last, n = msg.ip, n + 1
            end
         end
         assert.is_true(n >= 3, n .. " messages")
      end)

      it("'it is the responsibility of the format to indicate the size of the message queue'", function()
         -- eight regions are full and no message was read: eight are queued
         local m = sim.machine()
         -- 0x100 is PFM_NWAY_MASK_WHEN_FULL.
         local ctx = notifying(m, { value = -1, short_reset = -1 }, nway(16384, 8, 0x100))
         started(m, ctx, m:spawn { program = sim.work(100000) })
         assert(m:run { us = 10 })
         local n = 0
         while ctx:read(0) do
            n = n + 1
         end
         assert.are.equal(8, n)
      end)

      it("'Without a sampling buffer format, ... guaranteed to accommodate at least one message'", function()
         local m = sim.machine()
         local ctx = notifying(m)
         started(m, ctx, m:spawn { program = sim.work(1000) })
         assert(m:run { us = 1 })
         assert.is_truthy(ctx:read(0))
         assert.is_nil(ctx:read(0))
      end)

      it("a notification that finds the queue full is lost, and monitoring is masked as if it had come", function()
         local m = sim.machine()
         local ctx = notifying(m)
         started(m, ctx, m:spawn { program = sim.work(10000) })
         assert(m:run { us = 1 })
         assert(ctx:restart()) -- the message was not read before
         assert(m:run { us = 1 })
         assert.are.equal(0, sim.value(ctx, 4))
         assert.is_truthy(ctx:read(0))
         assert.is_nil(ctx:read(0))
         assert(ctx:restart())
         assert(m:run { us = 1 })
         assert.is_truthy(ctx:read(0))
      end)

      it("... also where a format asks for notifications alone, and masks nothing itself", function()
         assert(lpfm.register_format { name = "tells", handler = function() return "NOTIFY", "RESET" end })
         local m = sim.machine()
         local ctx = notifying(m, {}, { format = "tells" })
         sim.count(ctx, 5, "instructions")
         started(m, ctx, m:spawn { program = sim.work(10000) })
         assert(m:run { us = 1 })
         -- the second overflow found the first message in the queue, and masked
         assert.are.equal(20, sim.value(ctx, 5))
         assert.is_truthy(ctx:read(0))
         assert.is_nil(ctx:read(0))
         assert(ctx:restart())
         assert(m:run { us = 1 })
         assert.are.equal(40, sim.value(ctx, 5))
         ctx:close()
         assert(lpfm.unregister_format("tells"))
      end)
   end)

   it("3.3.2: 'each message must be uniquely identified by its type', and what an overflow message says", function()
      local m = sim.machine("itanium2", { cpus = 2 })
      local first = m:spawn { program = sim.work(10000), cpu = 0 }
      local tid = m:spawn { cpu = 1, process = sim.thread(first).pid,
         program = { { loop = 10, { ip = 0xabc0, ns = 10 } }, { loop = 10, { ip = 0xdef0, ns = 10 } } } }
      local ctx = sim.context()
      assert(ctx:create_evtsets { { id = 7 } })
      sim.count(ctx, 4, "instructions", { set = 7, value = -10, flags = NOTIFY })
      sim.count(ctx, 6, "cycles", { set = 7, value = -91, flags = NOTIFY })
      sim.start(ctx, tid, 7)
      assert(m:run { until_message = ctx })
      assert.are.same({ type = "OVFL", set = 7, pid = sim.thread(first).pid, tid = tid, cpu = 1, ip = 0xabc0,
         pmds = { 4, 6 } }, ctx:read(0))
      assert(m:run { us = 1 })
      assert.are.same({ type = "END" }, ctx:read(0))
   end)

   it("3.3.2: msg_active_set is the set that was active at the overflow, also if the overflow ended it", function()
      local samples
      for _, flags in ipairs { {}, { "OVFL_SWITCH" } } do
         local m = sim.machine()
         local ctx = sim.context(nway(8192, 4))
         assert(ctx:create_evtsets { { id = 0, flags = flags }, { id = 1 } })
         sim.count(ctx, 4, "instructions", { value = -1, short_reset = -1, flags = NOTIFY, switch_cnt = samples or 0 })
         started(m, ctx, m:spawn { program = sim.work(10000) })
         assert(m:run { until_message = ctx })
         samples = m:time() / 10 -- so many samples fill a region
         assert.are.equal(0, ctx:read(0).set)
         assert.are.equal(#flags, sim.info(ctx, 1).runs)
      end
   end)

   it("3.3.2, system-wide: the message names the thread that ran, and its process", function()
      local m = sim.machine()
      local tid = m:spawn { program = sim.work(1000) }
      local ctx = notifying(m, {}, { flags = { "SYSTEM_WIDE" } })
      started(m, ctx, 0)
      assert(m:run { until_message = ctx })
      local msg = ctx:read(0)
      assert.are.same({ tid, sim.thread(tid).pid, 0, 0x1000 }, { msg.tid, msg.pid, msg.cpu, msg.ip })
   end)

   for part, text in pairs {
      read = "3.3.3: 'Message must be extracted one at a time'; a multiple of the size; 'lseek() is not supported'",
      size = "3.3.3: 'if size is not a multiple of the message size: the read fails and return EINVAL'",
      copies = "3.3.3: 'the read fails and return EINVAL' by copies, above 4095 too, in a child of fork(), by readv()",
      rest = "3.3.3: 'messages are always guaranteed to be complete': a read past the library loses nothing",
      nonblocking = "3.3.3: 'unless non-blocking mode is enabled via fcntl()': EAGAIN",
      blocking = "3.3.3: 'When the number of bytes in the queue is smaller ..., the caller blocks'",
      wait = "3.3.8: 'fully supports the select() and poll() interfaces to wait on multiple file descriptors'",
      sigio = "3.3.7: 'the notification message is always appended to the message queue before the signal is sent'",
      setsig = "3.3.7: F_SETSIG changes the signal and has it tell the descriptor",
      no_msg = "3.3.7: PFM_FL_OVFL_NO_MSG: no message, the signal is maintained, 'PFM_RESTART is necessary'",
      moved = "3.3.7: PFM_FL_OVFL_NO_MSG: 'the signal is maintained' for a copy of a descriptor that was closed",
   } do
      it(text, function()
         local out, status = c.sh("timeout 600 " .. c.compile("spec_messages") .. " " .. part)
         assert.are.equal(0, status, out)
      end)
   end

   for _, machine in ipairs { "perf", "sim:k8,live" } do
      describe("3.3.6, children of fork() on real threads: END, on " .. machine, function()
         local function after(what)
            return c.sh(("LPFM_MACHINE=%s timeout 600 %s %s"):format(machine, c.compile("end_after_fork"), what))
         end

         for what, expected in pairs {
            nothing = { "no END", "'only sent when the monitored thread does not have access': it has, to its end" },
            thread = { "no END", "not for one that had threads, either" },
            grandchild = { "no END", "not for a child's child that is still in fork() at the load" },
            exec_fails = { "no END", "not for one that fails to run another program" },
            dup_and_close = { "no END", "not for one that has a copy" },
            close = { "END", "'possible to alter this behavior by explicitly closing the descriptor'" },
            close_both = { "END", "for one that closes its copy, too" },
            close_range = { "END", "for one that closes it among others" },
            dup2 = { "END", "for one that uses its number for something else" },
         } do
            it(expected[2], function()
               local out, status = after(what)
               assert.are.equal(0, status, out)
               local seen = os.getenv("LPFM_BUILD"):match("/san$") and "END" or expected[1]
               assert.are.equal(seen .. "\n", out)
            end)
         end

         for what, when in pairs { exec = "after the load", exec_first = "before the load",
            exec_by_thread = "by a thread that is not monitored" } do
            it(("in user space for one that runs another program, which can neither command nor be asked, " .. when),
               function()
               assert.are.equal("END\n", (after(what)))
            end)
         end
      end)
   end

   it("3.3.4: 'The size of the queue is an internal parameter': no message is lost if read", function()
      local m = sim.machine()
      local ctx = notifying(m)
      started(m, ctx, m:spawn { program = sim.work(1000) })
      for i = 1, 99 do
         assert(m:run { until_message = ctx })
         assert.are.equal("OVFL", ctx:read(0).type)
         assert.are.equal(i * 100, m:time())
         assert(ctx:restart())
      end
   end)

   describe("3.3.5 message queue reset", function()
      it("'reset, each time the context is attached, i.e., all unconsumed messages are deleted': OVFL", function()
         local m = sim.machine()
         local ctx = notifying(m)
         local tid = m:spawn { program = sim.work(1000) }
         started(m, ctx, tid)
         assert(m:run { us = 1 })
         assert(ctx:unload())
         assert(ctx:load(tid))
         assert.is_nil(ctx:read(0))
      end)

      it("... 'or termination messages especially in the case where the context is re-attached to a different thread'",
         function()
            local m = sim.machine()
            local ctx = notifying(m, { flags = {} })
            local first, second = m:spawn { program = sim.work(5) }, m:spawn { program = sim.work(100) }
            started(m, ctx, first)
            assert(m:run { until_exit = first })
            assert(ctx:load(second))
            assert.is_nil(ctx:read(0))
            assert(m:run { until_exit = second })
            assert.are.equal("END", ctx:read(0).type)
            assert.is_nil(ctx:read(0))
         end)

      it("... and a full queue has its room again", function()
         local m = sim.machine()
         local ctx = notifying(m)
         local tid = m:spawn { program = sim.work(100000) }
         for _ = 1, 5 do
            started(m, ctx, tid)
            assert(ctx:write_pmds { { num = 4, value = -10, flags = NOTIFY } })
            assert(m:run { until_message = ctx })
            assert(ctx:unload())
         end
         assert.is_truthy(ctx:read(0))
         assert.is_nil(ctx:read(0))
      end)
   end)

   describe("3.3.6: 'It is not possible to suppress the termination message':", function()
      for case, what in pairs { full = "a full buffer that is not emptied", plain = "a mask",
         saturated = "a buffer that is full without a notification (3.6.5)",
         killed = "a SIGKILL while NOTIFY_BLOCK holds",
         exits = "an exit() of another thread while NOTIFY_BLOCK holds",
         leader = "a first thread that terminates while its process goes on",
         exec_ends_first = "an exec() of another thread, which takes the first one's number",
         exec_ends_second = "an exec() of the first thread",
         first_execs = "but not before: 3.1.7, an exec() of the first thread",
         second_execs = "but not before: 3.1.7, an exec() of a thread, which takes the first one's number",
         unseen = "but not before: 3.1.7, an exec() and the end of a thread while the tool is stopped",
         own = "but none for a thread that monitors itself, from which the context is detached all the same" } do
         for _, machine in ipairs { real, "sim:k8,live" } do
            it(("%s, on %s"):format(what, machine), function()
               local program = c.compile("end_always")
               local command = ("LPFM_MACHINE=%s timeout 120 %s %s"):format(machine, program, case)
               local out, status = c.sh(command)
               assert.are.same({ 0, "" }, { status, out })
            end)
         end
      end
   end)

   describe("3.3.6 termination notifications", function()
      local function ended(m, ctx, program, how)
         local tid = m:spawn { program = program }
         started(m, ctx, tid)
         if how then
            how(tid)
         end
         assert(m:run { until_exit = tid })
         return tid
      end

      it("'the monitored thread exited ... because the entire process exited or simply because that thread terminated'",
         function()
            local site = { ip = 0x1000, ns = 10 }
            local exit, exit_group = { exit = true }, { exit_group = true }
            for _, program in ipairs { { site }, { site, exit, site }, { site, exit_group, site } } do
               local m = sim.machine()
               local ctx = notifying(m)
               ended(m, ctx, program)
               assert.are.same({ type = "END" }, ctx:read(0))
               assert.are.equal(-9, sim.value(ctx, 4))
            end
         end)

      it("... because another thread ended the process", function()
         local m = sim.machine("itanium2", { cpus = 2 })
         local ctx = notifying(m, { flags = {} })
         local killer = m:spawn { program = { { loop = 5, { ip = 0x1000, ns = 10 } }, { exit_group = true } }, cpu = 0 }
         local tid = m:spawn { program = sim.work(1000), cpu = 1, process = sim.thread(killer).pid }
         started(m, ctx, tid)
         assert(m:run { until_exit = tid })
         assert.are.equal("END", ctx:read(0).type)
         assert.are.equal(m:truth(tid).instructions.total - 10, sim.value(ctx, 4))
      end)

      it("... 'or implicit because of an unrecoverable error': killed", function()
         local m = sim.machine()
         local ctx = notifying(m, { flags = {} })
         local tid = m:spawn { program = sim.work(1000) }
         started(m, ctx, tid)
         assert(m:run { ns = 70 })
         assert(m:kill(tid))
         assert.are.equal("END", ctx:read(0).type)
         assert.are.equal(-3, sim.value(ctx, 4))
      end)

      it("'The message applies only non self-monitoring threads'", function()
         local m = sim.machine()
         local tid = m:spawn { program = sim.work(10) }
         assert(m:act(tid))
         local ctx = notifying(m, { flags = {} })
         started(m, ctx, tid)
         assert(m:run { until_exit = tid })
         assert(m:act())
         assert.is_nil(ctx:read(0))
         -- the context was detached although no message came
         sim.refused("EBUSY", "not loaded", ctx:restart())
         assert.are.equal(0, sim.value(ctx, 4))
      end)

      it("'It is never generated for a system-wide context'", function()
         local m = sim.machine()
         local tid = m:spawn { program = sim.work(10), uid = 0 }
         assert(m:run { ns = 5 })
         assert(m:act(tid))
         local ctx = notifying(m, { flags = {} }, { flags = { "SYSTEM_WIDE" } })
         started(m, ctx, tid)
         assert(m:run { until_exit = tid })
         assert(m:act())
         assert(m:run { us = 1 })
         assert.is_nil(ctx:read(0))
         assert.are.equal(1, lpfm.config().sys_sessions)
      end)

      it("'By the time, the message is received, ... PMU state ... entirely saved and the context is detached'",
         function()
            local m = sim.machine()
            local ctx = notifying(m, { value = 0, flags = {} })
            local first, second = m:spawn { program = sim.work(33) }, m:spawn { program = sim.work(1000) }
            started(m, ctx, first)
            assert(m:run { until_message = ctx })
            assert.are.equal(330, m:time())
            assert.are.equal("END", ctx:read(0).type)
            assert.are.equal(33, sim.value(ctx, 4))
            assert.are.equal(0, lpfm.config().thread_sessions)
            assert.are.equal(330, sim.info(ctx).act_duration)
            assert(ctx:load(second))
            assert.are.equal(33, sim.value(ctx, 4))
         end)

      it("'It is not possible to suppress the termination message': not with PFM_FL_OVFL_NO_MSG", function()
         local m = sim.machine()
         local ctx = notifying(m, {}, { flags = { "OVFL_NO_MSG" } })
         ended(m, ctx, sim.work(100))
         assert.are.same({ type = "END" }, ctx:read(0))
         assert.is_nil(ctx:read(0))
      end)

      it("... nor by a queue that is full", function()
         local m = sim.machine()
         local ctx = notifying(m)
         ended(m, ctx, sim.work(100))
         assert.are.equal("OVFL", ctx:read(0).type)
         assert.are.equal("END", ctx:read(0).type)
         assert.is_nil(ctx:read(0))
      end)

      it("... nor if monitoring was never started, is stopped, or masked", function()
         for _, state in ipairs { "loaded", "stopped", "masked" } do
            local m = sim.machine()
            local ctx = notifying(m)
            local tid = m:spawn { program = sim.work(100) }
            assert(ctx:load(tid))
            if state ~= "loaded" then
               assert(ctx:start())
            end
            assert(m:run { ns = state == "masked" and 500 or 50 })
            if state == "stopped" then
               assert(ctx:stop())
            end
            assert(m:run { until_exit = tid })
            local types = {}
            for msg in ctx:messages(0) do
               types[#types + 1] = msg.type
            end
            assert.are.same(state == "masked" and { "OVFL", "END" } or { "END" }, types)
         end
      end)

      it("figure 3.15: a process that is no child of the controlling one", function()
         local m = sim.machine()
         local parent = m:spawn { program = { { fork = sim.work(30) }, { loop = 1000, { ip = 0x1000, ns = 10 } } } }
         local controller = m:spawn { program = sim.work(100000) }
         assert(m:run { ns = 1 })
         local child
         for _, t in ipairs(m:threads()) do
            child = t.ppid == sim.thread(parent).pid and t.tid or child
         end
         assert(m:act(controller))
         local ctx = notifying(m, { flags = {} })
         started(m, ctx, child)
         assert(m:run { until_exit = child })
         assert.are.equal("END", ctx:read(0).type)
      end)

      it("'only sent when the monitored thread does not have access to the file descriptor'", function()
         for _, access in ipairs { true, false } do
            local m = sim.machine()
            local ctx = notifying(m, { flags = {} })
            ended(m, ctx, sim.work(10), function(tid) assert(m:share(tid, ctx, access)) end)
            assert.are.equal(access and "none" or "END", (ctx:read(0) or { type = "none" }).type)
            assert.are.equal(0, lpfm.config().thread_sessions)
         end
      end)

      it("fork() of a controlling thread: the child has the descriptor; 'explicitly closing the descriptor' alters it",
         function()
            for _, closed in ipairs { false, true } do
               local m = sim.machine("itanium2", { cpus = 2 })
               local controller = m:spawn { program = { { loop = 2, { ip = 0x1000, ns = 10 } }, { fork = sim.work(50) },
                  { loop = 10000, { ip = 0x1000, ns = 10 } } } }
               assert(m:act(controller))
               local ctx = notifying(m, { flags = {} })
               assert(m:run { ns = 30 })
               local child = m:threads()[2].tid
               started(m, ctx, child)
               if closed then
                  assert(m:share(child, ctx, false))
               end
               assert(m:run { until_exit = child })
               assert.are.equal(closed and "END" or "none", (ctx:read(0) or { type = "none" }).type)
            end
         end)
   end)

   for _, machine in ipairs { "perf", "sim:itanium2,live" } do
      for what, text in pairs {
         group = "process group 1, which is not all processes",
         thread = "a thread of another process, which is not that process's first",
         exit = "a group, which hears nothing of the end of the process that made the context",
         descriptor = "any owner, with the number of the descriptor (F_SETSIG)",
      } do
         it(("3.3.7: the signal goes to the owner: %s, on %s"):format(text, machine), function()
            local space = what == "group" and "unshare -Urpf --mount-proc" or ""
            if c.sh(space .. " true") ~= "" then return pending("no pid name space can be made") end
            local out, status = c.sh(("LPFM_MACHINE=%s timeout 600 %s %s %s"):format(machine, space,
               c.compile("signal_owner"), what))
            assert.equal("ok\n", out)
            assert.equal(0, status)
         end)
      end

      for _, how in ipairs { "library", "kernel" } do
         it(("3.3: messages come after the program has closed all descriptors, by the %s, on %s"):format(how, machine),
            function()
               local out, status = c.sh(("LPFM_MACHINE=%s timeout 600 %s %s"):format(machine, c.compile("closes_all"),
                  how))
               assert.equal("ok\n", out)
               assert.equal(0, status)
            end)
      end
   end

   it("3.3.8: one thread waits on several contexts", function()
      local m = sim.machine("itanium2", { cpus = 4 })
      local contexts = {}
      for i = 1, 4 do
         contexts[i] = notifying(m, { value = -10 * i, long_reset = -1000000 })
         started(m, contexts[i], m:spawn { program = sim.work(100000) })
      end
      assert.is_nil(lpfm.poll(contexts, 0))
      for i = 1, 4 do
         assert(m:run { until_message = contexts[i] })
         assert.are.same({ contexts[i] }, lpfm.poll(contexts, 0))
         assert.is_truthy(contexts[i]:read(0))
      end
   end)

   it("3.3.9: every message 'must fit within the size of the existing union structure'", function()
      local out, status = c.sh(c.compile("abi"))
      assert.are.equal(0, status, out)
   end)
end)
