-- SPDX-License-Identifier: MIT
-- Section 3.1.1, PFM_CREATE_CONTEXT.
local c = require "support.c"
local lpfm = require "lpfm"
local sim = require "support.sim"

local UUID_06 = "4d72bec0-0664-4143-82b4-d3fd27243c97"

describe("3.1.1 PFM_CREATE_CONTEXT", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("'The bits which are not defined are reserved and must be cleared'", function()
      for _, bit in ipairs { 0x100, 0x800, 0x8000, 0x40000, 0x80000000 } do
         sim.refused("EINVAL", "unknown ctx_flags", lpfm.create { flags = { bit } })
      end
   end)

   it("'platform specific' flags: those of Itanium are unknown elsewhere", function()
      sim.context { flags = { "INSECURE" } }
      sim.context { flags = { "PRIV_MONITORS" } }
      for _, model in ipairs { "k8", "p6", "armv8" } do
         sim.machine(model)
         for _, flag in ipairs { "INSECURE", "PRIV_MONITORS" } do
            sim.refused("EINVAL", "unknown ctx_flags", lpfm.create { flags = { flag } })
         end
      end
   end)

   it("'By default, a context is created for a per-thread session'", function()
      local m = sim.machine()
      local tid = m:spawn { program = sim.work(10) }
      local ctx = sim.context()
      assert(ctx:load(tid))
      local cfg = lpfm.config()
      assert.are.equal(1, cfg.thread_sessions)
      assert.are.equal(0, cfg.sys_sessions)
   end)

   it("PFM_FL_SYSTEM_WIDE 'indicates that the context is for a system-wide session'", function()
      local ctx = sim.context { flags = { "SYSTEM_WIDE" } }
      assert(ctx:load(0))
      local cfg = lpfm.config()
      assert.are.equal(0, cfg.thread_sessions)
      assert.are.equal(1, cfg.sys_sessions)
   end)

   -- table 3.2
   it("PFM_FL_NOTIFY_BLOCK 'is only valid for a non self-monitoring per-thread session': system-wide, no", function()
      sim.refused("EINVAL", "NOTIFY_BLOCK", lpfm.create { flags = { "NOTIFY_BLOCK", "SYSTEM_WIDE" } })
   end)

   it("table 3.2: NOTIFY_BLOCK, per-thread, self: no; 'can only be assessed when the context is attached'", function()
      local m = sim.machine()
      local tid = m:spawn { program = sim.work(100) }
      assert(m:act(tid))
      local ctx = sim.context { flags = { "NOTIFY_BLOCK" } }
      sim.refused("EINVAL", "self-monitoring", ctx:load(tid))
      assert(m:act())
      assert(ctx:load(tid)) -- the caller does not monitor itself
   end)

   it("table 3.2: PFM_FL_OVFL_NO_MSG and no flag go with every kind of context", function()
      local m = sim.machine()
      for _, extra in ipairs { { "OVFL_NO_MSG" }, {} } do
         local wide = sim.context { flags = { "SYSTEM_WIDE", extra[1] } }
         assert(wide:load(0))
         assert(wide:unload())
         local tid = m:spawn { program = sim.work(100) }
         local other = sim.context { flags = extra }
         assert(other:load(tid))
         assert(other:unload())
         assert(m:act(tid))
         local self = sim.context { flags = extra }
         assert(self:load(tid))
         assert(self:unload())
         assert(m:act())
      end
   end)

   it("PFM_FL_OVFL_NO_MSG: 'By default, one message is generated for every notification'", function()
      for _, flag in ipairs { "OVFL_NO_MSG", "none" } do
         local m = sim.machine()
         local ctx = sim.context { flags = flag ~= "none" and { flag } or {} }
         sim.count(ctx, 4, "instructions", { value = -10, flags = { "OVFL_NOTIFY" } })
         sim.start(ctx, m:spawn { program = { { loop = 20, { ip = 0x1000, ns = 10 } }, { sleep = 1000000 } } })
         assert(m:run { us = 1 })
         assert.are.equal(flag == "none" and "OVFL" or nil, (ctx:read(0) or {}).type)
         assert.is_nil(ctx:read(0))
      end
   end)

   it("PFM_FL_NOTIFY_BLOCK: 'the thread being monitored should be blocked during an overflow notification'", function()
      local m = sim.machine()
      local tid = m:spawn { program = sim.work(1000) }
      local ctx = sim.context { flags = { "NOTIFY_BLOCK" } }
      sim.count(ctx, 4, "instructions", { value = -10, long_reset = -1000000, flags = { "OVFL_NOTIFY" } })
      sim.start(ctx, tid)
      assert(m:run { ms = 1 })
      assert.are.equal("blocked", sim.thread(tid).state)
      assert.are.equal(10, m:truth(tid).instructions.total)
      assert(ctx:restart())
      assert(m:run { until_exit = tid })
      assert.are.equal(1000, m:truth(tid).instructions.total)
   end)

   it("'The default behavior is to let the monitored thread run while the notification is processed'", function()
      local m = sim.machine()
      local tid = m:spawn { program = sim.work(1000) }
      local ctx = sim.count(sim.context(), 4, "instructions", { value = -10, flags = { "OVFL_NOTIFY" } })
      sim.start(ctx, tid)
      assert(m:run { until_exit = tid })
      assert.are.equal(1000, m:truth(tid).instructions.total)
      assert.are.equal(0, sim.value(ctx, 4))
   end)

   it("ctx_smpl_buf_id: an unknown UUID is refused; all zeroes: 'a sampling buffer format is not needed'", function()
      sim.refused("EINVAL", "no sampling format has this UUID",
         lpfm.create { format = "00000000-0000-0000-0000-000000000001", format_arg = "" })
      sim.refused("EINVAL", "no sampling format is called", lpfm.create { format = "nonesuch" })
      local ctx = sim.context()
      assert.has_error(function() ctx:buffer():header() end)
   end)

   it("the buffer's 'requested and actual size may differ due to some platform constraints': whole pages", function()
      sim.machine("itanium2", { page_size = 8192 })
      for _, format in ipairs { "default", UUID_06 } do
         sim.context { format = format, buf_size = 10000 }
         assert.are.equal(16384, lpfm.config().smpl_buf_size_cur)
         local ctx = sim.context { format = format, buf_size = 16384 }
         assert.are.equal(32768, lpfm.config().smpl_buf_size_cur)
         assert.are.equal(0, #ctx:buffer())
         sim.finish()
      end
   end)

   it("'the context is ready to accept further commands. It is not attached': unloaded, the PMU is not touched",
      function()
         local m = sim.machine()
         local tid = m:spawn { program = sim.work(100) }
         local ctx = sim.count(sim.context(), 4, "instructions", { value = 5 })
         sim.refused("EINVAL", "not loaded", ctx:start())
         sim.refused("EINVAL", "not loaded", ctx:stop())
         sim.refused("EINVAL", "not loaded", ctx:unload())
         sim.refused("EBUSY", "not loaded", ctx:restart())
         assert(m:run { until_exit = tid })
         assert.are.equal(5, sim.value(ctx, 4))
      end)

   it("'the number of contexts that can be created ... is limited by the amount of memory': 300", function()
      local fds = {}
      for _ = 1, 300 do
         local fd = sim.context():fd()
         assert.is_nil(fds[fd], "ctx_fd 'uniquely identifies the context within the calling process'")
         fds[fd] = true
      end
   end)

   it("'A system-wide context can only be used to monitor one CPU core at a time'", function()
      local m = sim.machine("itanium2", { cpus = 4 })
      local per_cpu = {}
      for cpu = 0, 3 do
         m:spawn { program = sim.work((cpu + 1) * 100, { l2_misses = 1 }), cpu = cpu }
         assert(m:set("tool_cpu", cpu))
         local ctx = sim.count(sim.context { flags = { "SYSTEM_WIDE" } }, 4, "l2_misses")
         sim.start(ctx, cpu)
         sim.refused("EBUSY", "loaded already", ctx:load(cpu))
         per_cpu[cpu] = ctx
      end
      assert(m:run { ms = 1 })
      for cpu = 0, 3 do
         assert(m:set("tool_cpu", cpu))
         assert.are.equal((cpu + 1) * 100, sim.value(per_cpu[cpu], 4))
      end
   end)

   it("'Any thread with access to the file descriptor ... can access the context with any of the commands'", function()
      local m = sim.machine()
      local target = m:spawn { program = sim.work(100), uid = 7 }
      local first = m:spawn { program = sim.work(100), uid = 7 }
      local second = m:spawn { program = sim.work(100), uid = 8 }
      assert(m:act(first))
      local ctx = sim.count(sim.context(), 4, "instructions")
      assert(ctx:load(target))
      -- 'the threads do not all necessarily have to belong to the same process'
      assert(m:act(second))
      assert(ctx:start())
      assert.are.equal(0, sim.value(ctx, 4))
      assert(ctx:stop())
      assert(ctx:unload())
   end)

   it("'the initial event set, set0, is systematically created and ready for use'", function()
      local ctx = sim.context()
      local info = sim.info(ctx, 0)
      assert.are.equal(0, info.id)
      assert.are.same({}, info.flags)
      assert.are.equal(0, info.runs)
      sim.count(ctx, 4, "instructions", { set = 0 })
   end)

   it("'some restrictions on the creation of a context based on a group of users': EPERM", function()
      local m = sim.machine()
      assert(lpfm.config { thread_gid = 50, sys_gid = 60 })
      local in_50 = m:spawn { program = sim.work(10), gid = 50 }
      local in_60 = m:spawn { program = sim.work(10), gid = 60 }
      assert(m:act(in_50))
      sim.context()
      sim.refused("EPERM", "reserved to group 60", lpfm.create { flags = { "SYSTEM_WIDE" } })
      assert(m:act(in_60))
      sim.context { flags = { "SYSTEM_WIDE" } }
      sim.refused("EPERM", "reserved to group 50", lpfm.create())
   end)

   it("'the command may fail if there is a problem allocating the memory resources' of a format: ENOMEM", function()
      local m = sim.machine("itanium2", { memlock = 8192 })
      assert(m:act(m:spawn { program = sim.work(10) }))
      sim.refused("ENOMEM", "RLIMIT_MEMLOCK", lpfm.create { format = "default", buf_size = 8193 })
      sim.context { format = "default", buf_size = 8192 }
      assert(m:act())
      assert(lpfm.config { smpl_buf_size_max = 16384 })
      sim.refused("ENOMEM", "cf_smpl_buf_size_max", lpfm.create { format = "default", buf_size = 12288 })
      sim.context { format = "default", buf_size = 8192 }
      assert.are.equal(16384, lpfm.config().smpl_buf_size_cur)
   end)

   it("E2BIG: 'size of sampling format specific argument is too big'", function()
      sim.machine("itanium2", { page_size = 8 })
      sim.refused("E2BIG", "cf_arg_size_max", lpfm.create { format = "default" })
      sim.context()
   end)

   it("a refused creation leaves no descriptor and no memory", function()
      for _ = 1, 50 do
         sim.refused("EINVAL", "", lpfm.create { flags = { 0x40 } })
         sim.refused("EINVAL", "", lpfm.create { format = "default", buf_size = 1 })
         sim.refused("EINVAL", "", lpfm.create { format = "nonesuch" })
      end
   end)

   it("through perfmonctl(): fields, errors, NULL", function()
      local out, status = c.sh(c.compile("perfmonctl_errors") .. " 3.1.1")
      assert.are.equal(0, status, out)
   end)

   it("a child made during another thread's first call makes its own", function()
      local out, status = c.sh("LPFM_MACHINE=sim:k8 " .. c.compile("fork_at_first", "-rdynamic"))
      assert.are.equal("", out)
      assert.are.equal(0, status)
   end)

   it("any thread makes calls while another one chooses machines", function()
      local out, status = c.sh(c.compile("choose_amid"))
      assert.are.equal("", out)
      assert.are.equal(0, status)
   end)

   for name, call in pairs { event = "describes an event", device = "looks for perfmon.ko" } do
      it("a child made while another thread " .. call .. " does so, too", function()
         local out, status = c.sh("LPFM_MACHINE=perf " .. c.compile("fork_amid", "-rdynamic") .. " " .. name)
         assert.are.equal("", out)
         assert.are.equal(0, status)
      end)
   end

   for _, machine in ipairs { "perf", "sim:k8" } do
      it("a child allocates nothing as it begins, on " .. machine, function()
         local out, status = c.sh("LPFM_MACHINE=" .. machine .. " " .. c.compile("fork_allocates", "-rdynamic"))
         assert.are.equal("", out)
         assert.are.equal(0, status)
      end)
   end

   for _, machine in ipairs { "perf", "sim:k8" } do
      for part, text in pairs {
         file_size = "'check the size of the buffer against certain resource limits': RLIMIT_FSIZE, by ENOMEM",
         views = "EFAULT: a NULL view, and one that is not mapped",
      } do
         it(text .. ", on " .. machine, function()
            local out, status = c.sh("LPFM_MACHINE=" .. machine .. " " .. c.compile("refusals") .. " " .. part)
            assert.are.equal("", out)
            assert.are.equal(0, status)
         end)
      end
   end

   for what, text in pairs {
      inherit = "fork(): 'The file descriptor is cloned in the child ... Both descriptors lead to the same context'",
      exec = "exec(): 'Unless ... explicitly setup to be closed', 'it is valid in the newly loaded code'",
   } do
      it(text, function()
         local out, status = c.sh(c.compile("spec_fork") .. " " .. what)
         assert.are.equal(0, status, out)
      end)
   end
end)
