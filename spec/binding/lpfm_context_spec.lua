-- SPDX-License-Identifier: MIT
-- Contexts through the module: the commands, their refusals, and the end of a context.

local lpfm = require "lpfm"
local proc = require "lpfm.proc"
local handles = require "support.handles"

assert(lpfm.machine(require "support.real"))
local descriptors = handles.settled()

local TASK_CLOCK, PAGE_FAULTS, MINOR = 64, 66, 67
local BOTH = 9

local function fails(errno, pattern, ok, message, code)
   assert.is_nil(ok)
   assert.truthy(message:find(pattern), message)
   assert.equal(lpfm.errno[errno], code)
end

describe("a context", function()
   local ctx

   before_each(function()
      ctx = assert(lpfm.create {})
   end)

   after_each(function()
      ctx:close()
   end)

   it("counts page faults of the calling thread", function()
      assert(ctx:write_pmcs { { num = PAGE_FAULTS, value = BOTH }, { num = MINOR, value = BOTH } })
      assert(ctx:write_pmds { { num = PAGE_FAULTS, value = 0 }, { num = MINOR, value = 1000000 } })
      assert.is_true(ctx:load())
      assert.is_true(ctx:start())
      local junk = {}
      for i = 1, 400000 do
         junk[i] = { i }
      end
      assert.is_true(ctx:stop())
      local regs = assert(ctx:read_pmds { PAGE_FAULTS, MINOR })
      assert.equal(2, #regs)
      assert.equal(PAGE_FAULTS, regs[1].num)
      assert.equal(0, regs[1].set)
      assert.is_true(regs[1].value > 100)
      assert.is_true(regs[1].value >= regs[2].value - 1000000)
      assert.equal(#junk, 400000)
      local values = assert(ctx:read_values { PAGE_FAULTS, MINOR })
      assert.same({ regs[1].value, regs[2].value }, values)
      assert.is_true(ctx:unload())
      assert.same(values, ctx:read_values { PAGE_FAULTS, MINOR })
   end)

   it("names the element that was refused, and has done those before it", function()
      fails("EINVAL", "^write_pmcs: element 2: PMC319 ",
         ctx:write_pmcs { { num = PAGE_FAULTS, value = BOTH }, { num = 319, value = 1 } })
      fails("EINVAL", "^write_pmds: element 3: .*PMD319",
         ctx:write_pmds { { num = PAGE_FAULTS, value = 11 }, { num = MINOR, value = 12 }, { num = 319 } })
      assert.same({ 11, 12 }, ctx:read_values { PAGE_FAULTS, MINOR })
      fails("EINVAL", "^read_pmds: element 1: .*PMD300", ctx:read_pmds { 300 })
      fails("EINVAL", "^read_values: element 2: .*PMD300", ctx:read_values { PAGE_FAULTS, 300 })
      fails("EINVAL", "^write_pmds: element 1: .*set 7", ctx:write_pmds { { num = PAGE_FAULTS, set = 7 } })
   end)

   it("refuses flags that are not defined", function()
      fails("EINVAL", "^write_pmcs: element 1: .*0x4000", ctx:write_pmcs { { num = PAGE_FAULTS, flags = 0x4000 } })
      fails("EINVAL", "^write_pmds: element 1: .*0x4000", ctx:write_pmds { { num = PAGE_FAULTS, flags = { 0x4000 } } })
      fails("EINVAL", "^create_evtsets: element 1: .*0x4000", ctx:create_evtsets { { id = 1, flags = 0x4000 } })
   end)

   it("says how many elements fit into one call", function()
      local list = {}
      for i = 1, 1000 do
         list[i] = { num = PAGE_FAULTS }
      end
      local max = lpfm.config().arg_size_max
      fails("E2BIG", "1000 elements of 176 bytes exceed the limit of " .. max .. " bytes .*at most "
         .. math.floor(max / 176) .. " fit", ctx:write_pmds(list))
   end)

   it("refuses commands in the wrong state", function()
      fails("EINVAL", "^start: ", ctx:start())
      fails("EINVAL", "^stop: ", ctx:stop())
      assert(ctx:load())
      fails("EBUSY", "^load: ", ctx:load())
      fails("EINVAL", "^start: .*set 5", ctx:start(5))
      assert.equal("string", type(select(2, ctx:restart())))
   end)

   it("refuses a thread that is dead or never was", function()
      local child = assert(proc.spawn { "true" })
      local pid = child.pid
      assert(child:go())
      assert(child:wait())
      fails("ESRCH", "^load: ", ctx:load(pid))
      child:close()
      assert.is_nil((ctx:load(2 ^ 31 - 1)))
   end)

   it("counts another thread, from before its program begins", function()
      local child = assert(proc.spawn { "sh", "-c", "true" })
      assert(ctx:write_pmcs { { num = PAGE_FAULTS, value = BOTH }, { num = TASK_CLOCK, value = BOTH } })
      assert(ctx:write_pmds { { num = PAGE_FAULTS }, { num = TASK_CLOCK } })
      assert(ctx:load(child.pid))
      assert(ctx:start())
      assert(child:go())
      local result = assert(child:wait())
      local faults, ns = unpack(assert(ctx:read_values { PAGE_FAULTS, TASK_CLOCK }))
      assert.equal(0, result.status)
      assert.is_true(faults > 0 and faults <= result.rusage.minflt + result.rusage.majflt)
      assert.is_true(ns > 0 and ns * 1e-9 <= result.rusage.utime + result.rusage.stime + 0.1)
   end)

   it("knows its event sets", function()
      local info = assert(ctx:getinfo_evtsets { 0 })[1]
      assert.equal(0, info.id)
      assert.equal(0, info.runs)
      assert.same({}, info.flags)
      assert.same({}, info.ovfl_pmds)
      assert.is_true(#info.avail_pmds >= 9)
      fails("EINVAL", "^getinfo_evtsets: element 2: ", ctx:getinfo_evtsets { 0, 9 })
      fails("EINVAL", "^delete_evtsets: ", ctx:delete_evtsets { 9 })
   end)

   it("makes event sets and tells their effective timeouts", function()
      local timeouts, message = ctx:create_evtsets { { id = 1, flags = { "TIME_SWITCH" }, timeout = 1000001 }, 2 }
      assert(timeouts, message)
      assert.is_true(timeouts[1] >= 1000001)
      assert.equal(0, timeouts[2])
      local info = assert(ctx:getinfo_evtsets { 1 })[1]
      assert.same({ "TIME_SWITCH" }, info.flags)
      assert(ctx:write_pmds { { num = PAGE_FAULTS, set = 1, value = 5 } })
      assert.equal(5, ctx:read_pmds({ { num = PAGE_FAULTS, set = 1 } })[1].value)
      assert.is_true(ctx:delete_evtsets { 1 })
      fails("EINVAL", "set 1", ctx:read_pmds { { num = PAGE_FAULTS, set = 1 } })
   end)

   it("shows its state", function()
      assert.truthy(tostring(ctx):find("^lpfm.context %(fd %d+%)$"))
      assert.is_false(ctx:closed())
      ctx:close()
      assert.equal("lpfm.context (closed)", tostring(ctx))
   end)

   it("has no buffer unless it was created with one", function()
      fails("EINVAL", "without a sampling buffer", ctx:buffer())
   end)

   it("closes when it is collected", function()
      local before = handles.settled()
      do
         local t = {}
         for i = 1, 20 do
            t[i] = assert(lpfm.create { format = "default" })
            assert(t[i]:buffer())
         end
         assert.is_true(handles.settled() > before)
         assert.truthy(handles.list():find("%d: /proc/%d+/fd"), handles.list())
      end
      assert.equal(before, handles.settled(before))
   end)

   it("is refused with the reason", function()
      fails("EINVAL", "^create: ", lpfm.create { format = "no such format" })
      fails("EINVAL", "^create: ", lpfm.create { format = "00000000-0000-0000-0000-000000000001" })
      fails("EINVAL", "^create: ", lpfm.create { format = "default", buf_size = 1 })
      fails("EINVAL", "^create: ", lpfm.create { flags = 0x8000 })
      fails("EINVAL", "^create: ", lpfm.create { format = "default", format_arg = "short" })
   end)

   it("is created by name and by UUID of a format", function()
      for _, format in ipairs(lpfm.formats()) do
         if format.name:find("^default") then
            for _, name in ipairs { format.name, format.uuid, format.uuid:gsub("-", ""):upper() } do
               local sampler = assert(lpfm.create { format = name, buf_size = 20000 })
               assert.equal(20000, sampler:buffer():header().size)
               assert.equal(format.version, sampler:buffer():header().version)
               sampler:close()
            end
         end
      end
   end)

   it("binds to a CPU", function()
      local affinity = assert(proc.getaffinity())
      assert(proc.setaffinity(affinity[1]))
      local wide = assert(lpfm.create { flags = { "SYSTEM_WIDE" } })
      local ok, message, errno = wide:load()
      assert(proc.setaffinity(affinity))
      wide:close()
      if not ok then
         assert.truthy(message:find("^load: "))
         assert.is_true(errno == lpfm.errno.EPERM or errno == lpfm.errno.EACCES)
         pending("system-wide: " .. message)
      end
   end)
end)

describe("the module", function()
   it("does not touch the global table", function()
      assert.is_nil(rawget(_G, "lpfm"))
      assert.equal("string", type(lpfm._VERSION))
   end)

   it("describes the machine", function()
      local m = assert(lpfm.machine())
      for _, field in ipairs { "name", "pmu", "notes", "limits" } do
         assert.equal("string", type(m[field]))
      end
      assert.is_true(m.hw_counters >= 0)
      local again = assert(lpfm.machine(m.name))
      assert.equal(m.pmu, again.pmu)
   end)

   it("describes the registers", function()
      local by_num = {}
      for _, pmd in ipairs(assert(lpfm.pmds())) do
         by_num[pmd.num] = pmd
      end
      local faults = by_num[PAGE_FAULTS]
      assert.equal("SW", faults.type)
      assert.equal(PAGE_FAULTS, faults.ctrl)
      assert.equal(64, faults.width)
      assert.truthy(table.concat(faults.kind, " "):find("C64", 1, true))
      assert.is_nil(by_num[80].ctrl)
      assert.equal("VIRT", by_num[80].type)
      local names = {}
      for _, pmc in ipairs(assert(lpfm.pmcs())) do
         assert.is_nil(names[pmc.name])
         names[pmc.name] = pmc.num
         assert.truthy(pmc.def_value and pmc.rsvd_mask)
      end
   end)

   it("reads and sets the configuration", function()
      local before = assert(lpfm.config())
      assert.truthy(table.concat(before.impl_pmds, ","):find("64,65,66", 1, true))
      local now, message, errno = lpfm.config { arg_size_max = before.arg_size_max * 2 }
      if not now then
         assert.equal(lpfm.errno.EPERM, errno)
         pending("config: " .. message)
         return
      end
      assert.equal(before.arg_size_max * 2, now.arg_size_max)
      assert.equal(before.sys_gid, now.sys_gid)
      assert.equal(before.arg_size_max, assert(lpfm.config { arg_size_max = before.arg_size_max }).arg_size_max)
   end)

   -- perfmon.ko counts the sessions of all processes: another spec may load or unload a context
   -- between two calls of config().
   it("counts sessions", function()
      local ctx, counts = assert(lpfm.create {}), {}
      for i = 1, 1000 do
         local before = lpfm.config().thread_sessions
         assert(ctx:load())
         local loaded = lpfm.config().thread_sessions
         assert(ctx:unload())
         local after = lpfm.config().thread_sessions
         counts[i] = ("%d %d %d"):format(before, loaded, after)
         if loaded == before + 1 and after == before then break end
      end
      assert.is_true(#counts < 1000, "before, loaded and after: " .. table.concat(counts, ", "))
      ctx:close()
   end)

   it("knows the constants by both their names", function()
      assert.equal(2, lpfm.const.PFM_FL_SYSTEM_WIDE)
      assert.equal(2, lpfm.flags.context.SYSTEM_WIDE)
      assert.equal(2 ^ 31, lpfm.const.PFM_REG_RETFL_NOTAVAIL)
      assert.equal(320, lpfm.const.PFM_MAX_PMDS)
      assert.equal(22, lpfm.errno.EINVAL)
   end)
end)

it("leaves no descriptor open", function()
   assert.equal(descriptors, handles.settled(descriptors))
end)
