-- SPDX-License-Identifier: MIT
-- The perf machine: real counts of real threads. Every assertion is a relation that always holds.

local c = require "support.c"
local files = require "support.files"
local lpfm = require "lpfm"
local proc = require "lpfm.proc"
local poll = require "posix.poll"
local signal = require "posix.signal"
local programs = require "support.target"
local PATIENCE = require "support.patience"

local TASK_CLOCK, CPU_CLOCK, PAGE_FAULTS, SWITCHES = 64, 65, 66, 69
local TSTAMP, TID, PID = 80, 82, 83
local BOTH = 9

local function open_fds()
   local n = 0
   for _ in require("posix.dirent").files("/proc/self/fd") do
      n = n + 1
   end
   return n
end

-- Returns the number of this process's descriptors of perf events.
local function open_events()
   local links = io.popen(("readlink /proc/%d/fd/*"):format(require("posix.unistd").getpid()))
   local _, n = links:read("*a"):gsub("anon_inode:%[perf_event%]\n", "")
   links:close()
   return n
end

-- Makes a context that counts the given PMDs.
local function counting(nums, fields)
   local ctx = assert(lpfm.create(fields))
   for _, num in ipairs(nums) do
      assert(ctx:write_pmcs { { num = num, value = BOTH } })
      assert(ctx:write_pmds { { num = num, value = 0 } })
   end
   return ctx
end

local function sampling(num, period, fields, pmd)
   fields = fields or { format = "default", buf_size = 65536 }
   local ctx = assert(lpfm.create(fields))
   local reg = { num = num, value = -period, long_reset = -period, short_reset = -period, flags = { "OVFL_NOTIFY" } }
   for k, v in pairs(pmd or {}) do
      reg[k] = v
   end
   assert(ctx:write_pmcs { { num = num, value = BOTH } })
   assert(ctx:write_pmds { reg })
   return ctx
end

describe("the perf machine", function()
   local work, fds, children

   setup(function()
      work = c.target("work")
      assert(lpfm.machine("perf"))
      assert(lpfm.create()):close() -- starts the service thread, which keeps a descriptor
   end)

   before_each(function()
      children = {}
      collectgarbage()
      fds = open_fds()
   end)

   -- Starts a target, which waits at its first "ready".
   local function target(...)
      local child = programs.start { work, "ready", ... }
      children[#children + 1] = child
      assert.are.equal("ready", child:read_line())
      return child
   end

   after_each(function()
      for _, child in ipairs(children) do
         child:finish()
      end
      children = nil
      collectgarbage()
      collectgarbage()
      -- wait until the service thread has closed its ends of closed contexts' descriptors
      local deadline = proc.clock() + PATIENCE
      while open_fds() > fds and proc.clock() < deadline do
         poll.rpoll(0, 1)
      end
      assert.is_true(open_fds() <= fds, "descriptors left open")
   end)

   it("leaves no event on the thread after close(), which a command that is made then would inherit", function()
      local out = c.sh(([[LPFM_MACHINE=perf %s -e '
         for turn = 1, 200 do
            local ctx = assert(lpfm.create { flags = { "INHERIT", "ON_EXEC" } })
            assert(ctx:write_pmcs { { num = %d, value = %d } })
            assert(ctx:load())
            ctx:close()
            local left = io.popen("readlink /proc/$PPID/fd/* | grep perf_event"):read "*a"
            if left ~= "" then print("turn " .. turn, left) end
         end']]):format(c.program, PAGE_FAULTS, BOTH))
      assert.are.equal("", out)
   end)

   it("leaves no event in a child of fork(), where it would count on after the end of this process", function()
      local unistd, wait = require "posix.unistd", require "posix.sys.wait"
      local counter, sampler = counting { PAGE_FAULTS }, sampling(TASK_CLOCK, 1e6)
      local child = target("touch=1000", "ready")
      assert(counter:load(child.pid))
      assert(sampler:load())
      assert(counter:start())
      assert(sampler:start())
      assert.is_true(open_events() > 2)
      local pid = assert(unistd.fork())
      if pid == 0 then
         unistd._exit(open_events())
      end
      assert.are.same({ pid, "exited", 0 }, { wait.wait(pid) })
      child:write("\n")
      assert.are.equal("ready", child:read_line())
      assert.is_true(counter:read_pmds({ PAGE_FAULTS })[1].value >= 1000)
      counter:close()
      sampler:close()
   end)

   it("counts what another thread does between start and stop, and nothing else", function()
      local child = target("touch=1000", "ready", "touch=5000", "ready", "touch=700")
      local ctx = counting { PAGE_FAULTS }
      assert(ctx:load(child.pid))
      child:write("\n")
      assert.are.equal("ready", child:read_line())
      assert.are.equal(0, ctx:read_pmds({ PAGE_FAULTS })[1].value)
      assert(ctx:start())
      child:write("\n")
      assert.are.equal("ready", child:read_line())
      assert(ctx:stop())
      local n = ctx:read_pmds({ PAGE_FAULTS })[1].value
      assert.is_true(n >= 5000 and n <= 5016, "page faults: " .. n)
      child:write("\n")
      ctx:read(10)
      assert.are.equal(n, ctx:read_pmds({ PAGE_FAULTS })[1].value)
      ctx:close()
   end)

   it("counts on in the active set if the start of another one is refused, and starts it later (3.1.5)", function()
      local child = target("touch=1000", "ready", "touch=2000", "ready")
      local ctx = counting { PAGE_FAULTS }
      assert(ctx:create_evtsets { { id = 1 } })
      assert(ctx:write_pmcs { { num = TASK_CLOCK, set = 1, value = BOTH } })
      assert(ctx:write_pmds { { num = TASK_CLOCK, set = 1, value = -5, flags = { "OVFL_NOTIFY" } } })
      assert(ctx:load(child.pid))
      local function is_refused()
         local ok, err, errno = ctx:start(1)
         assert.is_nil(ok)
         assert.are.equal(lpfm.errno.EINVAL, errno, err)
      end
      is_refused()
      assert(ctx:start())
      child:write("\n")
      assert.are.equal("ready", child:read_line())
      is_refused()
      child:write("\n")
      assert.are.equal("ready", child:read_line())
      local n = ctx:read_pmds({ PAGE_FAULTS })[1].value
      assert.is_true(n >= 3000 and n <= 3032, "page faults: " .. n)
      assert.are.equal(1, ctx:getinfo_evtsets({ 0 })[1].runs)
      ctx:close()
   end)

   it("says that monitoring has stopped if a refused start cannot put back the set that counted", function()
      local resource = require "posix.sys.resource"
      local child = target("touch=1000", "ready", "touch=2000", "ready")
      -- after the overflow, without a reset value, the PMD needs another event than before
      local ctx = sampling(PAGE_FAULTS, 30, nil, { long_reset = 0, short_reset = 0, flags = {} })
      assert(ctx:create_evtsets { { id = 1 } })
      assert(ctx:write_pmcs { { num = PAGE_FAULTS, set = 1, value = BOTH } })
      assert(ctx:load(child.pid))
      assert(ctx:start())
      child:write("\n")
      assert.are.equal("ready", child:read_line())
      local limits = resource.getrlimit(resource.RLIMIT_NOFILE)
      local before = limits.rlim_cur
      limits.rlim_cur = 3
      assert(resource.setrlimit(resource.RLIMIT_NOFILE, limits))
      local ok, err, errno = ctx:start(1)
      limits.rlim_cur = before
      assert(resource.setrlimit(resource.RLIMIT_NOFILE, limits))
      assert.is_nil(ok)
      assert.are.equal(lpfm.errno.EMFILE, errno, err)
      assert.is_truthy(err:find("monitoring has stopped", 1, true), err)
      assert(ctx:start(), "start after it")
      child:write("\n")
      assert.are.equal("ready", child:read_line())
      local n = ctx:read_pmds({ PAGE_FAULTS })[1].value
      assert.is_true(n >= 2950 and n <= 3016, "page faults: " .. n)
      ctx:close()
   end)

   -- Starts a context on a child that touches 1,000 pages, and then 2,000: it switches to set 1,
   -- which cannot be installed because the period of each of the clocks is too short.
   local function in_set_of_short_periods(clocks)
      local child, ctx = target("touch=1000", "ready", "touch=2000", "ready"), assert(lpfm.create())
      assert(ctx:create_evtsets { { id = 0, flags = { "OVFL_SWITCH" } }, { id = 1 } })
      assert(ctx:write_pmcs { { num = PAGE_FAULTS, value = BOTH }, { num = PAGE_FAULTS, set = 1, value = BOTH } })
      assert(ctx:write_pmds { { num = PAGE_FAULTS, value = -100, switch_cnt = 1 } })
      for _, clock in ipairs(clocks) do
         assert(ctx:write_pmcs { { num = clock, set = 1, value = BOTH } })
         assert(ctx:write_pmds { { num = clock, set = 1, value = -5, flags = { "OVFL_NOTIFY" } } })
      end
      assert(ctx:load(child.pid))
      assert(ctx:start())
      child:write("\n")
      assert.are.same({ PAGE_FAULTS }, assert(ctx:read(PATIENCE)).pmds)
      assert.are.equal("ready", child:read_line())
      return ctx, child
   end

   -- Lets the child touch its 2,000 pages, which set 1 must count.
   local function counts_in_it(ctx, child)
      child:write("\n")
      assert.are.equal("ready", child:read_line())
      local n = ctx:read_pmds({ { num = PAGE_FAULTS, set = 1 } })[1].value
      assert.is_true(n >= 2000 and n <= 2016, "page faults: " .. n)
      ctx:close()
   end

   it("goes on at a restart in a set that could not be installed, though a start was refused before", function()
      local ctx, child = in_set_of_short_periods { TASK_CLOCK }
      local ok, err, errno = ctx:start()
      assert.is_nil(ok)
      assert.are.equal(lpfm.errno.EINVAL, errno, err)
      assert(ctx:write_pmds { { num = TASK_CLOCK, set = 1, value = 0 } })
      assert(ctx:restart())
      counts_in_it(ctx, child)
   end)

   it("counts on if registers that are written while it counts need events that cannot be opened", function()
      local child = target("touch=1000", "ready", "touch=2000", "ready", "touch=4000", "ready")
      local ctx = counting { PAGE_FAULTS, TASK_CLOCK }
      assert(ctx:load(child.pid))
      assert(ctx:start())
      child:write("\n")
      assert.are.equal("ready", child:read_line())
      local ok, err, errno = ctx:write_pmds { { num = TASK_CLOCK, value = -1e9, short_reset = -5, long_reset = -5,
         flags = { "OVFL_NOTIFY" } } }
      assert.is_nil(ok)
      assert.are.equal(lpfm.errno.EINVAL, errno, err)
      child:write("\n")
      assert.are.equal("ready", child:read_line())
      assert(ctx:write_pmds { { num = TASK_CLOCK, value = 0 } })
      child:write("\n")
      assert.are.equal("ready", child:read_line())
      local n = ctx:read_pmds({ PAGE_FAULTS })[1].value
      assert.is_true(n >= 7000 and n <= 7048, "page faults: " .. n)
      ctx:close()
   end)

   -- Writes with a method of a loaded context, which must be refused because of an element, and
   -- checks that the context can be loaded again.
   local function refused_at(element, ctx, method, list)
      local ok, err, errno = ctx[method](ctx, list)
      assert.is_nil(ok)
      assert.are.equal(lpfm.errno.EINVAL, errno, err)
      assert.is_truthy(err:find(("%s: element %d: "):format(method, element), 1, true), err)
      assert(ctx:unload())
      assert(ctx:load(), "load() after the refused " .. method)
   end

   it("writes the PMDs before one that it refuses, and nothing of that and those after it (3.1.3)", function()
      local ctx = counting { PAGE_FAULTS, TASK_CLOCK, CPU_CLOCK }
      assert(ctx:load())
      refused_at(2, ctx, "write_pmds", { { num = PAGE_FAULTS, value = 5 },
         { num = TASK_CLOCK, value = -1e9, short_reset = -5, long_reset = -5, flags = { "OVFL_NOTIFY" } },
         { num = CPU_CLOCK, value = 7 } })
      local pmds = ctx:read_pmds { PAGE_FAULTS, TASK_CLOCK, CPU_CLOCK }
      assert.are.same({ 5, 0, 0 }, { pmds[1].value, pmds[2].value, pmds[3].value })
      assert.are.same({ 5, 0, 0 }, { pmds[1].last_reset, pmds[2].last_reset, pmds[3].last_reset })
      ctx:close()
   end)

   it("writes the PMCs before one of which the kernel refuses the event, and nothing of the others (3.1.2)", function()
      local RAW_OF_NO_PMU, MINOR, MAJOR = 0x7ffffff0, 67, 68
      local child = target("touch=1000", "ready", "touch=2000", "ready")
      local ctx = counting { PAGE_FAULTS }
      local event = assert(lpfm.perf_event { type = RAW_OF_NO_PMU, config = 1 })
      assert(ctx:load(child.pid))
      assert(ctx:start())
      child:write("\n")
      assert.are.equal("ready", child:read_line())
      local list = { { num = MINOR, value = BOTH }, { num = 96, value = event + BOTH }, { num = MAJOR, value = BOTH } }
      local ok, err, errno = ctx:write_pmcs(list)
      assert.is_nil(ok)
      assert.are.equal(lpfm.errno.EINVAL, errno, err)
      assert.is_truthy(err:find("write_pmcs: element 2: PMD96", 1, true), err)
      child:write("\n")
      assert.are.equal("ready", child:read_line())
      local pmds = ctx:read_pmds { PAGE_FAULTS, MINOR, MAJOR, 96 }
      assert.is_true(pmds[1].value >= 3000 and pmds[1].value <= 3032, "page faults: " .. pmds[1].value)
      assert.is_true(pmds[2].value >= 2000 and pmds[2].value <= 2016, "minor faults: " .. pmds[2].value)
      assert.are.same({ 0, 0 }, { pmds[3].value, pmds[4].value })
      assert(ctx:stop())
      assert(ctx:unload())
      assert(ctx:load(), "load() after the refused write_pmcs")
      ctx:close()
   end)

   it("keeps the PMC that was if perfmonctl() writes attributes with another that it refuses (0.6: 3.1.2)", function()
      local call, SOFTWARE, FAULTS, MINOR, MAJOR = lpfm.perfmonctl, 1, 2, 5, 6
      local child = target("touch=1000", "ready")
      local ctx = assert(call(nil, "PFM_CREATE_CONTEXT", {}))
      local faults = assert(lpfm.perf_event { type = SOFTWARE, config = FAULTS }) + BOTH
      assert(call(ctx, "PFM_WRITE_PMCS", { { num = 96, value = faults } }))
      assert(call(ctx, "PFM_WRITE_PMDS", { 96, 97 }))
      assert(call(ctx, "PFM_LOAD_CONTEXT", { pid = child.pid }))
      for num, config in pairs { [96] = MAJOR, [97] = MINOR } do -- a PMC in use, and one that is not
         local event = assert(lpfm.perf_event { type = SOFTWARE, config = config, alone = true }) + BOTH
         local ok, err, errno = call(ctx, "PFM_WRITE_PMCS", { { num = num, value = event, flags = { "OVFL_NOTIFY" } } })
         assert.is_nil(ok)
         assert.are.equal(lpfm.errno.EINVAL, errno, err)
         assert.is_truthy(err:find("PMD" .. num .. ": its event can only be counted", 1, true), err)
      end
      assert(call(ctx, "PFM_START"))
      child:write("\n")
      assert.are.equal("ready", child:read_line())
      assert(call(ctx, "PFM_STOP"))
      assert.is_true(ctx:read_pmds({ 96 })[1].value >= 1000, ctx:read_pmds({ 96 })[1].value .. " page faults")
      assert.are.equal(0, ctx:read_pmds({ 97 })[1].value)
      ctx:close()
   end)

   it("changes no reset value that it refuses because children have inherited the period", function()
      local ctx = sampling(PAGE_FAULTS, 1000, { format = "default", buf_size = 65536, flags = { "INHERIT" } })
      assert(ctx:load())
      refused_at(1, ctx, "write_pmds", { { num = PAGE_FAULTS, value = -100, long_reset = -100, short_reset = -100 } })
      assert.are.equal(2^64 - 1000, ctx:read_pmds({ PAGE_FAULTS })[1].value % 2^64)
      ctx:close()
   end)

   it("takes repairs of a set that could not be installed one by one", function()
      local ctx, child = in_set_of_short_periods { TASK_CLOCK, CPU_CLOCK }
      assert(ctx:write_pmds { { num = TASK_CLOCK, set = 1, value = 0 } })
      assert.are.equal(lpfm.errno.EINVAL, select(3, ctx:restart()))
      assert(ctx:write_pmds { { num = CPU_CLOCK, set = 1, value = 0 } })
      assert(ctx:restart())
      counts_in_it(ctx, child)
   end)

   it("sends END when the target ends, with the last values saved and the context unloaded", function()
      local child = target("touch=3000")
      local ctx = counting { PAGE_FAULTS, SWITCHES }
      assert(ctx:load(child.pid))
      assert(ctx:start())
      child:write("\n")
      local msg = assert(ctx:read(10))
      assert.are.equal("END", msg.type)
      assert.is_true(ctx:read_pmds({ PAGE_FAULTS })[1].value >= 3000)
      local ok, err = ctx:stop()
      assert.is_nil(ok)
      assert.is_truthy(err:find("not loaded", 1, true), err)
      ctx:close()
   end)

   it("counts context switches as the kernel accounts them", function()
      local child = target("yield=500", "ready")
      local ctx = counting { SWITCHES }
      local function accounted()
         local text = io.open("/proc/" .. child.pid .. "/status"):read("*a")
         return tonumber(text:match("\nvoluntary_ctxt_switches:%s*(%d+)"))
            + tonumber(text:match("nonvoluntary_ctxt_switches:%s*(%d+)"))
      end
      local before = accounted()
      assert(ctx:load(child.pid))
      assert(ctx:start())
      child:write("\n")
      assert.are.equal("ready", child:read_line())
      local counted, after = ctx:read_pmds({ SWITCHES })[1].value, accounted()
      assert.is_true(math.abs(counted - (after - before)) <= 3,
         counted .. " counted, " .. after - before .. " accounted")
      ctx:close()
   end)

   it("notifies an overflow, masks until restart, and resets with the long value", function()
      local child = target("touch=100", "ready", "touch=5000", "ready", "touch=100", "ready")
      local ctx = sampling(PAGE_FAULTS, 50, {}, { long_reset = -1000, short_reset = -20 })
      assert(ctx:load(child.pid))
      assert(ctx:start())
      child:write("\n")
      local msg = assert(ctx:read(10))
      assert.are.equal("OVFL", msg.type)
      assert.are.same({ PAGE_FAULTS }, msg.pmds)
      assert.are.equal(child.pid, msg.tid)
      assert.are.equal("ready", child:read_line())
      -- masked: the other 50 pages were not counted
      local v = ctx:read_pmds({ PAGE_FAULTS })[1]
      assert.are.equal(0, v.value)
      assert(ctx:restart())
      v = ctx:read_pmds({ PAGE_FAULTS })[1]
      assert.are.equal(-1000, v.value)
      assert.are.equal(-1000, v.last_reset)
      child:write("\n")
      assert.are.equal("OVFL", assert(ctx:read(10)).type)
      assert.are.equal("ready", child:read_line())
      local ok, err, errno = ctx:load(child.pid)
      assert.is_nil(ok)
      assert.are.equal(lpfm.errno.EBUSY, errno, err)
      ctx:close()
   end)

   it("wraps without a notification and goes on counting", function()
      local child = target("touch=500", "ready")
      local ctx = counting { PAGE_FAULTS }
      assert(ctx:write_pmds { { num = PAGE_FAULTS, value = -100 } })
      assert(ctx:load(child.pid))
      assert(ctx:start())
      child:write("\n")
      assert.are.equal("ready", child:read_line())
      local n = ctx:read_pmds({ PAGE_FAULTS })[1].value
      assert.is_true(n >= 400 and n <= 416, "page faults beyond the wrap: " .. n)
      ctx:close()
   end)

   it("resets the PMDs in reset_pmds at an overflow that only wraps (3.1.2), and masks beside it", function()
      local child = target("touch=100", "ready")
      local ctx = counting { PAGE_FAULTS, PAGE_FAULTS + 1, PAGE_FAULTS + 2 }
      assert(ctx:write_pmds { { num = PAGE_FAULTS, value = -30, reset_pmds = { PAGE_FAULTS + 2 } },
         { num = PAGE_FAULTS + 1, value = -50, flags = { "OVFL_NOTIFY" } },
         { num = PAGE_FAULTS + 2, value = -1000, short_reset = -700, long_reset = -500 } })
      assert(ctx:load(child.pid))
      assert(ctx:start())
      child:write("\n")
      assert.are.same({ PAGE_FAULTS + 1 }, assert(ctx:read(PATIENCE)).pmds)
      assert.are.equal("ready", child:read_line())
      local values = {}
      for i, v in ipairs(ctx:read_pmds { PAGE_FAULTS, PAGE_FAULTS + 1, PAGE_FAULTS + 2 }) do values[i] = v.value end
      -- the kernel can stop the set at the 50th fault before the other event has counted that fault
      assert.is_true(values[1] >= 19 and values[1] <= 25, values[1])
      assert.are.same({ 0, -700 }, { values[2], values[3] })
      ctx:close()
   end)

   -- Makes a context with sets 0 to n - 1, each of which is left after `period` page faults.
   local function switching(n, period, fields)
      local ctx = assert(lpfm.create(fields))
      for id = 0, n - 1 do
         assert(ctx:create_evtsets { { id = id, flags = { "OVFL_SWITCH" } } })
         assert(ctx:write_pmcs { { num = PAGE_FAULTS, set = id, value = BOTH } })
         assert(ctx:write_pmds { { num = PAGE_FAULTS, set = id, value = -period, short_reset = -period,
            long_reset = -period, switch_cnt = 1 } })
      end
      return ctx
   end

   it("tells the time between overflows and their switches once, also if a set comes after itself", function()
      for n = 1, 2 do
         local child, ctx, left, blind, counted = target("touch=20000"), switching(n, 20), -1, 0, 0
         assert(ctx:load(child.pid))
         assert(ctx:start())
         child:write("\n")
         assert.are.equal("END", assert(ctx:read(PATIENCE)).type)
         for id = 0, n - 1 do
            local info = ctx:getinfo_evtsets({ id })[1]
            assert.is_true(info.gap <= info.act_duration, info.gap .. " of " .. info.act_duration .. " ns")
            left, blind = left + info.runs, blind + info.gap
            counted = counted + ctx:read_pmds({ { num = PAGE_FAULTS, set = id } })[1].value + 20
         end
         counted = counted - (n - 1) * 20 + left * 20
         assert.is_true(counted > 20000 - 20 or blind > 0, counted .. " counted")
         ctx:close()
      end
   end)

   it("counts on at overflows that switch nothing yet (3.7.6), and tells which came too fast for it", function()
      local child, ctx, count = target("touch=20000"), switching(1, 20), 1000000
      assert(ctx:write_pmds { { num = PAGE_FAULTS, value = -20, short_reset = -20, long_reset = -20,
         switch_cnt = count } })
      assert(ctx:write_pmcs { { num = PAGE_FAULTS + 1, value = BOTH } })
      assert(ctx:load(child.pid))
      assert(ctx:start())
      child:write("\n")
      assert.are.equal("END", assert(ctx:read(PATIENCE)).type)
      local pmds = ctx:read_pmds { PAGE_FAULTS, PAGE_FAULTS + 1 }
      local overflows = count - pmds[1].switch_cnt + ctx:getinfo_evtsets({ 0 })[1].lost
      assert.is_true(pmds[2].value >= 20000, pmds[2].value .. " minor faults")
      assert.is_true(overflows * 20 + pmds[1].value + 20 >= 20000, overflows .. " overflows")
      ctx:close()
   end)

   it("tells for how long sets that a timeout switches counted nothing between", function()
      -- Target and service thread get a CPU each: on one CPU, set switches would lose nothing.
      local me, total = proc.getpid(), 0
      local free = c.sh("taskset -cp " .. me):match("list: (%S+)")
      local _, failed = c.sh("taskset -acp 1 " .. me)
      finally(function() c.sh(("taskset -acp %s %d"):format(free, me)) end)
      for _ = 1, 8 do
         local child, ctx, active, blind, clock = target("touch=20000"), assert(lpfm.create()), 0, 0, 0
         c.sh("taskset -cp 0 " .. child.pid)
         for id = 0, 1 do
            assert(ctx:create_evtsets { { id = id, flags = { "TIME_SWITCH" }, timeout = 50000 } })
            assert(ctx:write_pmcs { { num = TASK_CLOCK, set = id, value = BOTH } })
         end
         assert(ctx:load(child.pid))
         assert(ctx:start())
         child:write("\n")
         assert.are.equal("END", assert(ctx:read(PATIENCE)).type)
         for id = 0, 1 do
            local info = ctx:getinfo_evtsets({ id })[1]
            active, blind = active + info.act_duration, blind + info.gap
            clock = clock + ctx:read_pmds({ { num = TASK_CLOCK, set = id } })[1].value
         end
         -- On an idle machine, a sixth of the time is in gaps. set_gap leaves out stops that calls
         -- of the service thread cause.
         total = total + blind
         assert.is_true(math.abs(active - blind - clock) <= active / 10 + 1e5,
            ("%d ns active, %d blind, %d counted"):format(active, blind, clock))
         ctx:close()
      end
      assert.is_true(total > 0 or failed ~= 0, "no gap in eight runs")
   end)

   it("does not add to set_gap the time in which events counted that a PMC write has replaced", function()
      local child, ctx = target("touch=100", "spin=200", "ready", "touch=2000"), switching(1, 1000)
      assert(ctx:create_evtsets { { id = 1 } })
      assert(ctx:load(child.pid))
      assert(ctx:start())
      child:write("\n")
      assert.are.equal("ready", child:read_line())
      assert(ctx:write_pmcs { { num = PAGE_FAULTS + 1, value = BOTH } })
      child:write("\n")
      assert.are.equal("END", assert(ctx:read(PATIENCE)).type)
      local infos = ctx:getinfo_evtsets { 0, 1 }
      assert.are.equal(1, infos[2].runs)
      assert.is_true(infos[1].gap < infos[1].act_duration / 2, infos[1].gap .. " of " .. infos[1].act_duration)
      ctx:close()
   end)

   it("switches sets at the overflow with a sampling format, too, whose samples can wait", function()
      local child = target("touch=20000")
      local ctx = switching(1, 1000, { format = "default", buf_size = 65536 })
      assert(ctx:create_evtsets { { id = 1 } })
      assert(ctx:write_pmcs { { num = PAGE_FAULTS, set = 1, value = BOTH } })
      assert(ctx:load(child.pid))
      assert(ctx:start())
      child:write("\n")
      assert.are.equal("END", assert(ctx:read(PATIENCE)).type)
      assert.are.equal(1, ctx:getinfo_evtsets({ 1 })[1].runs)
      ctx:close()
   end)

   it("reports no overflow, which nothing asked for, if the target has ended before the switch", function()
      local ctx, self = switching(2, 4500), require("posix.unistd").getpid()
      local line = "read x; (sleep 0.5; kill -CONT %d) & kill -STOP %d; exec %s touch=5000"
      local child = programs.start { "sh", "-c", line:format(self, self, work) }
      children[#children + 1] = child
      assert(ctx:load(child.pid))
      assert(ctx:start())
      child:write("\n")
      assert.are.equal("END", assert(ctx:read(PATIENCE)).type)
      ctx:close()
   end)

   it("fills the default format's buffer with a sample per period", function()
      local child = target("touch=10000", "ready")
      local ctx = sampling(PAGE_FAULTS, 100, nil, { smpl_pmds = { TASK_CLOCK, TSTAMP, TID, PID } })
      assert(ctx:write_pmcs { { num = TASK_CLOCK, value = BOTH } })
      assert(ctx:load(child.pid))
      assert(ctx:start())
      child:write("\n")
      assert.are.equal("ready", child:read_line())
      assert(ctx:stop())
      local buf, n, last = ctx:buffer(), 0, 0
      for s in buf:samples() do
         n = n + 1
         assert.are.equal(PAGE_FAULTS, s.ovfl_pmd)
         assert.are.equal(child.pid, s.tid)
         assert.are.equal(-100, s.last_reset)
         assert.are.equal(child.pid, s[TID])
         assert.are.equal(child.pid, s[PID])
         assert.is_true(s[TASK_CLOCK] > last)
         last = s[TASK_CLOCK]
      end
      assert.are.equal(#buf, n)
      assert.are.equal(100, n)
      ctx:close()
   end)

   it("masks at a full buffer, and goes on after restart without losing a sample", function()
      local child = target("touch=40000", "ready")
      local ctx = sampling(PAGE_FAULTS, 10, { format = "default", buf_size = 16384 })
      local buf, total, full = ctx:buffer(), 0, 0
      assert(ctx:load(child.pid))
      assert(ctx:start())
      child:write("\n")
      while not child:can_read(0) do
         if ctx:read(0.01) then
            total, full = total + #buf, full + 1
            assert(ctx:restart())
         end
      end
      while ctx:read(0) do
         total = total + #buf
         assert(ctx:restart())
      end
      assert(ctx:stop())
      total = total + #buf
      local info = ctx:getinfo_evtsets({ 0 })[1]
      assert.is_true(full > 2, "the buffer was full " .. full .. " times")
      assert.is_true(info.late <= info.lost, info.late .. " late of " .. info.lost .. " lost")
      assert.is_true(total + info.lost <= 4001, total .. " samples, " .. info.lost .. " lost")
      assert.is_true(total > 1000)
      ctx:close()
   end)

   it("samples two clocks at once", function()
      local child = target("spin=300", "ready")
      local ctx = assert(lpfm.create { format = "default", buf_size = 2 ^ 20 })
      for _, num in ipairs { TASK_CLOCK, CPU_CLOCK } do
         assert(ctx:write_pmcs { { num = num, value = BOTH } })
         assert(ctx:write_pmds { { num = num, value = -1e6, long_reset = -1e6, short_reset = -1e6,
            flags = { "OVFL_NOTIFY" } } })
      end
      assert(ctx:load(child.pid))
      assert(ctx:start())
      child:write("\n")
      assert.are.equal("ready", child:read_line())
      assert(ctx:stop())
      local by = ctx:buffer():count_by("ovfl_pmd")
      local info = ctx:getinfo_evtsets({ 0 })[1]
      local lost, ran = info.lost, info.act_duration / 1e6 -- ms, which include interrupts
      for _, num in ipairs { TASK_CLOCK, CPU_CLOCK } do
         local n = by[num] or 0
         assert.is_true(n + lost >= 290 and n <= ran + 1, ("PMD%d: %d samples, %d lost, ran %g ms"):format(num, n, lost,
            ran))
      end
      ctx:close()
   end)

   it("counts the overflows that a period took which the kernel was not told in time", function()
      local child = target("touch=30000", "ready")
      local script = os.tmpname()
      files.write(script, [[
         local lpfm = require "lpfm"
         assert(lpfm.machine("perf"))
         local ctx = assert(lpfm.create { format = "default", buf_size = 2 ^ 20 })
         assert(ctx:write_pmcs { { num = 66, value = 9 } })
         assert(ctx:write_pmds { { num = 66, value = -1000, short_reset = -10, long_reset = -10 } })
         assert(ctx:load(tonumber(arg[1])))
         assert(ctx:start())
         print("ready")
         io.stdout:flush()
         io.read()
         assert(ctx:stop())
         local n = 0
         for _ in ctx:buffer():samples() do
            n = n + 1
         end
         print(n, ctx:getinfo_evtsets({ 0 })[1].lost)
      ]])
      local tool = programs.start { os.getenv("LPFM_BUILD") .. "/lpfm", script, tostring(child.pid) }
      children[#children + 1] = tool
      assert.are.equal("ready", tool:read_line())
      os.remove(script)
      tool:stop()
      child:write("\n")
      assert.are.equal("ready", child:read_line())
      signal.kill(tool.pid, signal.SIGCONT)
      tool:write("\n")
      local taken, lost = tool:read_line():match("(%d+)%s+(%d+)")
      assert.is_true(tonumber(lost) > 0, taken .. " samples taken, none lost")
      -- the first sample comes after 1000 faults, then one each 10
      local all = tonumber(taken) + tonumber(lost)
      assert.is_true(all >= 2900 and all < 3000, taken .. " samples taken, " .. lost .. " lost")
   end)

   -- Starts a tool that samples each page fault of a child, and stops the tool by SIGSTOP while the
   -- child runs, so that more overflows wait for it than its buffer takes. After SIGCONT the tool
   -- evaluates the expression go_on, which leads to set 1. Returns the numbers of samples taken and
   -- lost.
   local function samples_late(pages, flags, switch_cnt, go_on)
      local child, script = target("touch=" .. pages, "ready"), os.tmpname()
      files.write(script, ([[
         local lpfm = require "lpfm"
         assert(lpfm.machine("perf"))
         local ctx = assert(lpfm.create { format = "default", buf_size = 4096 })
         assert(ctx:create_evtsets { { id = 0, flags = { %s } }, { id = 1 } })
         assert(ctx:write_pmcs { { num = 66, value = 9 } })
         assert(ctx:write_pmds { { num = 66, value = -1, short_reset = -1, long_reset = -1, switch_cnt = %d,
            flags = { "OVFL_NOTIFY" } } })
         assert(ctx:load(%d))
         assert(ctx:start())
         print("ready")
         io.stdout:flush()
         io.read()
         assert(ctx:read_pmds { 66 }) -- brings the buffer up to date
         assert(assert(ctx:read(%d)).type == "OVFL")
         local taken = #ctx:buffer()
         assert(%s)
         local infos = ctx:getinfo_evtsets { 0, 1 }
         print(taken, infos[1].lost, infos[2].runs)
      ]]):format(flags, switch_cnt, child.pid, PATIENCE, go_on))
      local tool = programs.start { os.getenv("LPFM_BUILD") .. "/lpfm", script }
      children[#children + 1] = tool
      assert.are.equal("ready", tool:read_line())
      os.remove(script)
      tool:stop()
      child:write("\n")
      assert.are.equal("ready", child:read_line())
      signal.kill(tool.pid, signal.SIGCONT)
      tool:write("\n")
      local taken, lost, runs = tool:read_line():match("(%d+)%s+(%d+)%s+(%d+)")
      assert.are.equal("1", runs, "runs of set 1")
      return tonumber(taken), tonumber(lost)
   end

   it("counts as lost what waits for the restart, if another set is started or comes with the restart", function()
      local PAGES, taken, lost = 200, 0
      for _, how in ipairs { { flags = "", "ctx:start(1)" }, { flags = "'OVFL_SWITCH'", "ctx:restart()" } } do
         -- the overflow that fills the buffer also makes the switch
         taken, lost = samples_late(PAGES, how.flags, taken, how[1])
         assert.is_true(taken + lost >= PAGES and taken + lost < PAGES + 16, ("%s: %d taken, %d lost"):format(how[1],
            taken, lost))
      end
   end)

   it("counts the samples it had to lose while the tool did not run: with those taken they are all", function()
      local file = os.tmpname()
      local tool = programs.start { os.getenv("LPFM_BUILD") .. "/lpfm", "record", "-e", "page-faults", "-c", "1",
         "--buffer", "1M", "-o", file, "--", work, "ready", "touch=30000", "ready" }
      children[#children + 1] = tool
      assert.are.equal("ready", tool:read_line())
      tool:stop()
      tool:write("\n")
      assert.are.equal("ready", tool:read_line())
      signal.kill(tool.pid, signal.SIGCONT)
      tool:write("\n")
      assert.is_nil(tool:read_line())
      local taken, lost = 0, 0
      for line in io.popen(os.getenv("LPFM_BUILD") .. "/lpfm report " .. file .. " 2>&1"):lines() do
         taken = taken + (tonumber((line:match("^# ([%d,]+) samples of") or "0"):gsub(",", ""), 10))
         lost = lost + (tonumber((line:match("([%d,]+) samples lost") or "0"):gsub(",", ""), 10))
      end
      os.remove(file)
      assert.is_true(lost > 0, taken .. " samples taken, none lost")
      local all = taken + lost
      assert.is_true(all >= 30000 and all < 31000, taken .. " samples taken, " .. lost .. " lost")
   end)

   it("holds the target at a notification, until restart", function()
      local child = target("touch=100", "spin=1000", "ready")
      local ctx = sampling(PAGE_FAULTS, 50, { flags = { "NOTIFY_BLOCK" } }, { long_reset = -1000 })
      local function state()
         return io.open("/proc/" .. child.pid .. "/stat"):read("*a"):match("%) (%a)")
      end
      local function await(wanted)
         local deadline = proc.clock() + PATIENCE
         while state() ~= wanted and proc.clock() < deadline do
            poll.rpoll(0, 1)
         end
         assert.are.equal(wanted, state())
      end
      assert(ctx:load(child.pid))
      assert(ctx:start())
      child:write("\n")
      assert.are.equal("OVFL", assert(ctx:read(10)).type)
      await("t")
      assert.is_false(child:can_read(0.1))
      assert(ctx:restart())
      assert.are.equal("ready", child:read_line())
      ctx:close()
   end)

   it("refuses NOTIFY_BLOCK for another thread of this process, which it cannot stop, in words", function()
      local service
      for tid in require("posix.dirent").files("/proc/self/task") do
         service = tonumber(tid) ~= proc.gettid() and tonumber(tid) or service
      end
      local ctx = assert(lpfm.create { flags = { "NOTIFY_BLOCK" } })
      local ok, err, errno = ctx:load(service)
      assert.is_nil(ok)
      assert.are.equal(lpfm.errno.EPERM, errno)
      assert.is_truthy(err:find(("thread %d: a process cannot ptrace(2)"):format(service), 1, true), err)
      assert.is_truthy(lpfm.machine().limits:find("no process may do to its own threads", 1, true))
      ctx:close()
   end)

   it("refuses NOTIFY_BLOCK for oneself", function()
      local ctx = assert(lpfm.create { flags = { "NOTIFY_BLOCK" } })
      local ok, err, errno = ctx:load()
      assert.is_nil(ok)
      assert.are.equal(lpfm.errno.EINVAL, errno)
      assert.is_truthy(err:find("self-monitoring", 1, true), err)
      ctx:close()
   end)

   it("monitors a CPU, and takes commands from there alone", function()
      local cpus = proc.cpus()
      local ctx = counting({ SWITCHES }, { flags = { "SYSTEM_WIDE" } })
      assert(proc.setaffinity(cpus[1]))
      assert(ctx:load(proc.gettid()))
      assert(ctx:start())
      local child = target("yield=200", "ready")
      child:write("\n")
      assert.are.equal("ready", child:read_line())
      assert.is_true(ctx:read_pmds({ SWITCHES })[1].value > 0)
      if cpus[2] then
         assert(proc.setaffinity(cpus[2]))
         local ok, err, errno = ctx:read_pmds { SWITCHES }
         assert.is_nil(ok)
         assert.are.equal(lpfm.errno.EBUSY, errno, err)
      end
      assert(proc.setaffinity(cpus))
      ctx:close()
   end)

   it("masked, a CPU's context is read from any other (3.1.4), until it goes on", function()
      local cpus = proc.cpus()
      if not cpus[2] then return pending("there is one CPU") end
      local ctx = sampling(CPU_CLOCK, 1000000, { flags = { "SYSTEM_WIDE" } })
      assert(proc.setaffinity(cpus[1]))
      assert(ctx:load(proc.gettid()))
      assert(ctx:start())
      assert.are.equal("OVFL", assert(ctx:read(10)).type)
      local value = assert(ctx:read_pmds { CPU_CLOCK })[1].value
      assert(proc.setaffinity(cpus[2]))
      assert.are.equal(value, assert(ctx:read_pmds { CPU_CLOCK })[1].value)
      assert.are.equal(lpfm.errno.EBUSY, select(3, ctx:restart()))
      assert(proc.setaffinity(cpus[1]))
      assert(ctx:stop())
      assert(ctx:restart())
      assert(proc.setaffinity(cpus[2]))
      assert.are.equal(lpfm.errno.EBUSY, select(3, ctx:read_pmds { CPU_CLOCK }))
      assert(proc.setaffinity(cpus))
      ctx:close()
   end)

   it("says what is wrong with each bad register, and keeps what came before", function()
      local ctx = assert(lpfm.create())
      local ok, err, errno = ctx:write_pmds { { num = PAGE_FAULTS, value = 5 }, { num = 319, value = 1 } }
      assert.is_nil(ok)
      assert.are.equal(lpfm.errno.EINVAL, errno)
      assert.are.equal("write_pmds: element 2: PMD319 is not available", err)
      assert.are.equal(5, ctx:read_pmds({ PAGE_FAULTS })[1].value)
      ok, err = ctx:write_pmds { { num = PAGE_FAULTS, value = 5, set = 3 } }
      assert.is_nil(ok)
      assert.are.equal("write_pmds: element 1: set 3 does not exist", err)
      ctx:close()
   end)

   it("says that a thread does not exist", function()
      local ctx = counting { PAGE_FAULTS }
      local child = target()
      child:finish()
      local ok, err, errno = ctx:load(child.pid)
      assert.is_nil(ok)
      assert.are.equal(lpfm.errno.ESRCH, errno)
      assert.is_truthy(err:find(tostring(child.pid), 1, true), err)
      ctx:close()
   end)

   describe("reads counters again and again", function()
      local function run(part, before)
         local out, status = c.sh(("%s LPFM_MACHINE=perf %s %s"):format(before or "", c.compile("quick_reads"), part))
         assert.are.equal(0, status, out)
      end

      it("by one system call each", function()
         if os.getenv("LPFM_BUILD"):match("/san$") then return pending("sanitizers stand before the library") end
         run("one")
      end)

      for part, what in pairs {
         values = "and tells what happened since",
         commands = "and each command has its effect on the next read",
         closed = "until the descriptor is closed, however that is done, and is something else",
         replaced = "until the descriptor is another context's",
         reused = "until another context has the number, by calls that the library does not see",
         held = "until it is closed, though a child has it still",
         signals = "while signal handlers call, too (5.7)",
         threads = "while another thread unloads, loads and closes",
      } do
         it(what, function()
            run(part)
            -- libc comes before the library, which then does not see close()
            run(part, 'LD_PRELOAD="$LD_PRELOAD libc.so.6"')
         end)
      end
   end)

   it("leaves nothing behind after a thousand contexts", function()
      local out, status = c.sh(c.compile("many_contexts") .. " 1000")
      assert.are.equal(0, status, out)
      local a, b, kib_a, kib_b = out:match("fds (%d+) (%d+) kib (%d+) (%d+)")
      assert.are.equal(tonumber(a), tonumber(b), out)
      assert.is_true(tonumber(kib_b) - tonumber(kib_a) <= 1024, out)
   end)
end)
