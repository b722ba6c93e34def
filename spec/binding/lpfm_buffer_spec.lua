-- SPDX-License-Identifier: MIT
-- Views of the sampling buffer: all layouts of the default format, and all functions that read
-- samples.

local lpfm = require "lpfm"
local proc = require "lpfm.proc"
local handles = require "support.handles"
local PATIENCE = require "support.patience"

assert(lpfm.machine(require "support.real"))
local descriptors = handles.settled()

local CPU_CLOCK, TSTAMP, TID, PID = 65, 80, 82, 83
local UUID_06 = "4d72bec0-0664-4143-82b4-d3fd27243c97"

-- Makes a context with a buffer that is full of samples of this thread.
local function full(options, smpl_pmds)
   if not options.format_arg then
      options.buf_size = 8192
   end
   local ctx = assert(lpfm.create(options))
   assert(ctx:write_pmcs { { num = CPU_CLOCK, value = 9 } })
   assert(ctx:write_pmds { { num = CPU_CLOCK, value = -100000, long_reset = -100000, short_reset = -100000,
      smpl_pmds = smpl_pmds, flags = { "OVFL_NOTIFY" } } })
   assert(ctx:load())
   assert(ctx:start())
   local deadline = proc.clock() + PATIENCE
   while not ctx:read(0) do
      for _ = 1, 10000 do
         math.random()
      end
      assert(proc.clock() < deadline, ("the buffer did not fill in %d s"):format(PATIENCE))
   end
   assert(ctx:stop())
   return ctx, assert(ctx:buffer())
end

describe("a sampling buffer", function()
   for name, options in pairs { ["2.x"] = { format = "default" }, ["0.6"] = { format = UUID_06 } } do
      it("in the layout of " .. name .. " gives whole samples", function()
         local ctx, buf = full({ format = options.format }, { TSTAMP, TID, PID })
         local hdr = buf:header()
         assert.equal(1, hdr.overflows)
         assert.equal(8192, hdr.size)
         assert.same({}, hdr.flags)
         assert.equal(hdr.count, #buf)
         assert.is_true(hdr.count > 50 and hdr.cur_offs <= 8192)
         local n, last = 0, 0
         for s in buf:samples() do
            n = n + 1
            assert.equal(n, s.index)
            assert.equal(proc.gettid(), s.tid)
            assert.equal(proc.getpid(), s.pid)
            assert.equal(CPU_CLOCK, s.ovfl_pmd)
            assert.equal(0, s.set)
            assert.equal(-100000, s.last_reset)
            assert.equal(3, s.pmds)
            assert.equal(s.tid, s[TID])
            assert.equal(s.pid, s[PID])
            assert.is_nil(s[CPU_CLOCK])
            assert.is_nil(s.nothing)
            assert.is_true(s.tstamp >= last)
            last = s.tstamp
            assert.same({ s[TSTAMP], TSTAMP }, { s:pmd(1) })
            assert.same({ s[PID], PID }, { s:pmd(3) })
            assert.has_error(function() s:pmd(4) end)
            assert.same({ [TSTAMP] = s[TSTAMP], [TID] = s.tid, [PID] = s.pid }, s:values())
         end
         assert.equal(hdr.count, n)
         ctx:close()
      end)

      it("in the layout of " .. name .. " with instruction pointers alone", function()
         local ctx, buf = full({ format = options.format, buf_flags = { "IIP_HDR" } }, { TID })
         assert.same({ "IIP_HDR" }, buf:header().flags)
         local n = 0
         for ip, tid in buf:fields("ip", TID) do
            assert.is_true(ip ~= 0)
            assert.equal(proc.gettid(), tid)
            n = n + 1
         end
         assert.equal(#buf, n)
         assert.is_nil(buf:sample(1).tid)
         assert.has_error(function() buf:fields("tid") end,
            "fields: the samples of this buffer have no field 'tid' (buf_flags NO_HDR, IIP_HDR)")
         ctx:close()
      end)

      it("in the layout of " .. name .. " without headers", function()
         local ctx, buf = full({ format = options.format, buf_flags = { "NO_HDR" } }, { TSTAMP, PID })
         assert.same({ "NO_HDR" }, buf:header().flags)
         local last = 0
         for s in buf:samples() do
            assert.is_nil(s.ip)
            assert.equal(proc.getpid(), s[PID])
            assert.is_true(s[TSTAMP] > last)
            last = s[TSTAMP]
         end
         assert.same({ [proc.getpid()] = #buf }, buf:count_by(PID))
         assert(ctx:write_pmds { { num = 66, smpl_pmds = { TID } } })
         assert.has_error(function() buf:samples() end)
         ctx:close()
      end)
   end

   it("of the n-way format gives one region after the other", function()
      local ctx, buf = full({ format = "n-way", regions = 3, buf_flags = { "MASK_WHEN_FULL" } }, { TID })
      local first = buf:header()
      assert.equal(3, first.regions)
      assert.equal(0, first.lost)
      assert.same({ "MASK_WHEN_FULL" }, first.flags)
      assert.is_true(first.count > 10 and first.count == #buf)
      assert.same({ [proc.gettid()] = first.count }, buf:count_by(TID))
      local last = buf:sample(#buf).tstamp
      assert(ctx:restart())
      for s in buf:samples() do
         assert.is_true(s.tstamp > last)
      end
      assert.equal(8192, #buf:snapshot())
      ctx:close()
   end)

   it("takes its format's argument as bytes, too", function()
      local size = ("\0\32\0\0\0\0\0\0")
      local flags = ("\2\0\0\0\0\0\0\0")
      local ctx, buf = full({ format = "default-0.6", format_arg = size .. flags })
      assert.same({ "IIP_HDR" }, buf:header().flags)
      assert.equal(8192, buf:header().size)
      assert.truthy(buf:sample(1).ip)
      assert.is_nil(buf:sample(1).tid)
      ctx:close()
   end)

   it("is walked by fields, counted, filtered and copied with the same result", function()
      local ctx, buf = full({ format = "default" }, { TID })
      local by_ip, by_both, n = {}, {}, 0
      local tid = proc.gettid()
      for ip, who, missing in buf:fields("ip", "tid", TSTAMP) do
         by_ip[ip] = (by_ip[ip] or 0) + 1
         assert.equal(tid, who)
         assert.is_false(missing)
         n = n + 1
      end
      by_both[tid] = { [0] = by_ip }
      assert.equal(#buf, n)
      assert.same(by_ip, buf:count_by("ip"))
      assert.same(by_both, buf:count_by("tid", "set", "ip"))
      assert.same({}, buf:count_by(TSTAMP))
      local ip, count = next(by_ip)
      assert.same({ [ip] = count }, buf:count_by("ip", { ip = ip }))
      assert.same({}, buf:count_by("ip", { tid = tid + 1 }))
      local filtered = 0
      for s in buf:samples { ip = ip, [TID] = tid } do
         assert.equal(ip, s.ip)
         filtered = filtered + 1
      end
      assert.equal(count, filtered)
      local third = buf:sample(3)
      assert.equal(3, third.index)
      local copy = third:copy()
      assert.equal(third.ip, copy.ip)
      assert.same({ [TID] = tid }, copy.pmds)
      assert.equal(#buf, buf:sample(#buf).index)
      assert.has_error(function() buf:sample(#buf + 1) end)
      assert.has_error(function() buf:sample(0) end)
      ctx:close()
   end)

   it("gives a snapshot of its bytes", function()
      local ctx, buf = full({ format = "default" })
      assert.equal(buf:header().cur_offs, #buf:snapshot())
      ctx:close()
   end)

   it("forgets its samples at a restart, and what was held is stale", function()
      local ctx, buf = full({ format = "default" })
      local step = buf:samples()
      local s = step()
      local fields, loop = buf:fields("ip")
      assert(s.ip and fields(loop))
      assert(ctx:restart())
      assert.equal(0, #buf)
      assert.has_error(function() return s.ip end, "the sample is stale: the context was restarted")
      assert.has_error(function() s:copy() end)
      assert.has_error(step)
      assert.has_error(function() fields(loop) end, "the sample is stale: the context was restarted")
      assert.equal("lpfm.sample (stale)", tostring(s))
      assert.is_nil(buf:samples()())
      ctx:close()
   end)

   it("stays mapped, as a view does, while the program runs other programs", function()
      local ctx, buf = full({ format = "default", flags = { "MAP_SETS" } })
      local view = assert(ctx:view())
      local count, value = #buf, view:read(CPU_CLOCK)
      assert.equal(0, os.execute("true"))
      assert.is_nil(io.popen("exit 0"):read("*l"))
      local n = 0
      for s in buf:samples() do
         n = n + 1
         assert.equal(n, s.index)
      end
      assert.equal(count, n)
      assert.same(value, view:read(CPU_CLOCK))
      ctx:close()
   end)

   it("is closed with its context", function()
      local ctx, buf = full({ format = "default" })
      local s = buf:samples()()
      ctx:close()
      assert.has_error(function() return #buf end, "the buffer is closed")
      assert.has_error(function() return s.ip end, "the buffer is closed")
      assert.equal("lpfm.buffer (closed)", tostring(buf))
   end)

   it("keeps its context alive as long as a loop needs it", function()
      local sessions = lpfm.config().thread_sessions
      local function walk_of_nothing_else()
         local _, buf = full({ format = "default" })
         return buf:samples()
      end
      local n = 0
      for s in walk_of_nothing_else() do
         assert.truthy(s.ip)
         n = n + 1
         if n % 20 == 0 then
            collectgarbage()
            collectgarbage()
         end
      end
      assert.is_true(n > 20)
      local deadline = proc.clock() + PATIENCE
      repeat
         collectgarbage()
      until lpfm.config().thread_sessions <= sessions or proc.clock() > deadline
      -- a context may have been closing before
      assert.is_true(lpfm.config().thread_sessions <= sessions)
   end)

   it("that does not fit what is programmed raises, and does not crash", function()
      local ctx, buf = full({ format = "default" })
      assert(ctx:write_pmds { { num = CPU_CLOCK, smpl_pmds = { 80, 81, 82, 83, 84 } } })
      local ok, message = pcall(function()
         for s in buf:samples() do
            s:copy()
         end
      end)
      assert.is_false(ok)
      assert.truthy(message:find("the buffer is corrupt", 1, true), message)
      local step, last = buf:samples(), nil
      repeat
         local more, s = pcall(step)
         last = more and s or last
      until not more
      assert.has_error(function() return last.ip end, "the cursor is not on a sample")
      assert.is_nil(step())
      assert.has_error(function()
         for _ in buf:fields("ip", CPU_CLOCK) do
            collectgarbage("step")
         end
      end)
      for _, bad in ipairs { {}, io.stdout, buf, step } do
         assert.has_error(function() buf:fields("ip")(bad) end)
      end
      assert.has_error(function() buf:count_by("ip") end)
      ctx:close()
   end)

   it("refuses what is no field", function()
      local ctx, buf = full({ format = "default" })
      for _, bad in ipairs { "x", true, -1, 320, 1.5 } do
         assert.has_error(function() buf:fields(bad) end)
         assert.has_error(function() buf:count_by(bad) end)
      end
      assert.has_error(function() buf:fields() end)
      assert.has_error(function() buf:count_by() end)
      assert.has_error(function() buf:count_by("ip", "ip", "ip", "ip", "ip") end)
      assert.has_error(function() buf:samples { x = 1 } end)
      assert.has_error(function() buf:samples { ip = {} } end)
      assert.has_error(function() buf:samples(1) end)
      ctx:close()
   end)
end)

it("leaves no descriptor open", function()
   assert.equal(descriptors, handles.settled(descriptors))
end)
