-- SPDX-License-Identifier: MIT
-- The event loop: many contexts, descriptors and timers; what callbacks may do to it.

local lpfm = require "lpfm"
local proc = require "lpfm.proc"
local sim = require "support.sim"
local handles = require "support.handles"
local pfm_loop = require "pfm.loop"

describe("the event loop on the simulator", function()
   local machine

   before_each(function()
      sim.begin()
      machine = sim.machine(nil, { cpus = 4 })
   end)
   after_each(sim.finish)

   -- Returns a started context of a thread of n instructions; every `period` of them it overflows.
   local function overflowing(period, n)
      local ctx = sim.context()
      sim.count(ctx, 4, "instructions", { value = -period, long_reset = -period, flags = { "OVFL_NOTIFY" } })
      sim.start(ctx, machine:spawn { program = sim.work(n) })
      return ctx
   end

   local function advancing(options)
      options = options or {}
      options.advance = function() return machine:run { us = 1 } and machine:time() < 1e9 end
      return pfm_loop.new(options)
   end

   it("gives each message to the function of its kind, until all have ended", function()
      local loop = advancing()
      local seen = {}
      for i, period in ipairs { 100, 250 } do
         seen[i] = { OVFL = 0, END = 0 }
         local function count(msg, ctx)
            seen[i][msg.type] = seen[i][msg.type] + 1
            if msg.type == "OVFL" then
               ctx:restart() -- fails if the thread has ended
            end
         end
         loop:add(overflowing(period, 1000), i == 1 and count or { OVFL = count, END = count })
      end
      assert.equal("empty", loop:run())
      assert.same({ { OVFL = 10, END = 1 }, { OVFL = 3, END = 1 } }, seen)
   end)

   it("ends where nothing comes any more", function()
      local loop = pfm_loop.new()
      loop:add(overflowing(100, 1000), function() error("a message") end)
      assert.equal("idle", loop:run())
      local done = pfm_loop.new { advance = function() return false end }
      done:add(overflowing(100, 1000), function() error("a message") end)
      assert.equal("idle", done:run())
   end)

   it("goes on when callbacks remove, add and close", function()
      local loop, calls = advancing(), 0
      local a, b, extra = overflowing(10, 1000), overflowing(10, 1000), overflowing(10, 1000)
      local function first(_, ctx)
         calls = calls + 1
         local other = ctx == a and b or a
         loop:remove(other) -- `other` is ready, too, but must not be called
         assert.is_false(loop:remove(other))
         loop:add(extra, function()
            calls = calls + 100
            extra:close()
         end)
         ctx:close()
      end
      loop:add(a, { OVFL = first })
      loop:add(b, { OVFL = first })
      assert.equal("empty", loop:run())
      assert.equal(101, calls)
      assert.equal(1, (a:closed() and 1 or 0) + (b:closed() and 1 or 0))
   end)

   it("raises the error of a callback, and can be run again", function()
      local loop = advancing()
      loop:add(overflowing(100, 1000), { OVFL = function() error("at once") end })
      assert.has_error(function() loop:run() end)
      assert.equal("empty", loop:run()) -- without a restart, END comes next
   end)

   it("hands the error of a callback to on_error with its traceback, and goes on", function()
      local errors = {}
      local loop = advancing { on_error = function(message, source) errors[#errors + 1] = { message, source } end }
      local ctx = loop:add(overflowing(100, 1000), function(msg) error("in " .. msg.type) end)
      assert.equal("empty", loop:run())
      assert.equal(2, #errors)
      assert.truthy(errors[1][1]:find("in OVFL\nstack traceback"))
      assert.truthy(errors[2][1]:find("in END"))
      assert.equal(ctx, errors[1][2])
   end)

   it("tells of a format that failed", function()
      assert(lpfm.register_format { name = "bad", handler = function() error("broken") end })
      local why
      local function failing()
         local ctx = sim.context { format = "bad" }
         sim.count(ctx, 4, "instructions", { value = -10, flags = { "OVFL_NOTIFY" } })
         sim.start(ctx, machine:spawn { program = sim.work(1000) })
         return ctx
      end
      local loop = advancing()
      loop:add(failing(), { error = function(text) why = text end })
      assert.equal("empty", loop:run())
      assert.truthy(why:find("broken", 1, true))
      loop:add(failing(), {})
      local ok, message = pcall(loop.run, loop)
      assert.is_false(ok)
      assert.truthy(message:find("broken", 1, true))
      sim.finish()
      sim.begin()
      assert(lpfm.unregister_format("bad"))
   end)

   it("stops when told", function()
      local loop, n = advancing(), 0
      loop:add(overflowing(100, 10000), function(_, ctx)
         n = n + 1
         if n == 3 then
            loop:stop()
         end
         assert(ctx:restart())
      end)
      assert.equal("stopped", loop:run())
      assert.equal(3, n)
   end)

   it("refuses what it cannot wait for", function()
      local loop = pfm_loop.new()
      local ctx = sim.context()
      loop:add(ctx, {})
      for _, bad in ipairs {
         function() loop:add(ctx, {}) end, function() loop:add(sim.context(), { OVFLOW = print }) end,
         function() loop:add(sim.context(), { OVFL = 1 }) end, function() loop:add(sim.context()) end,
         function() loop:add(nil, {}) end, function() loop:add(1, {}) end, function() loop:on_fd(nil, print) end,
         function() loop:on_fd(1) end, function() loop:after(-1, print) end, function() loop:after(0 / 0, print) end,
         function() loop:after("1", print) end, function() loop:every(0, print) end, function() loop:every(1) end,
         function() pfm_loop.new { x = print } end, function() pfm_loop.new { advance = 1 } end,
         function() pfm_loop.new(5) end, function() loop:on_fd("x", print) end, function() loop:on_fd(1.5, print) end,
         function() loop:on_fd({}, print) end, function() loop:after(1, 5) end, function() loop:every(1, 5) end,
         function() loop:step(0 / 0) end, function() loop:step("x") end, function() loop:run(-1) end,
      } do
         local ok, message = pcall(bad)
         assert.is_false(ok)
         -- the error has the position of the caller, not one in the library
         assert.truthy(message:find("loop_spec.lua:%d+: loop"), message)
      end
      ctx:close()
      assert.has_error(function() loop:add(ctx, {}) end)
      assert.same({}, loop:fds())
   end)
end)

describe("the event loop on a real machine", function()
   local descriptors = handles.settled()

   setup(function()
      assert(lpfm.machine("perf"))
   end)

   it("calls timers in their order, again and again, and not when removed", function()
      local loop, order = pfm_loop.new(), {}
      local gone
      loop:after(0.02, function() order[#order + 1] = "late" end)
      loop:after(0, function()
         order[#order + 1] = "early"
         loop:remove(gone)
      end)
      gone = loop:after(0, function() order[#order + 1] = "gone" end)
      local n = 0
      loop:every(0.001, function(timer)
         n = n + 1
         if n == 5 then
            loop:remove(timer)
         end
      end)
      assert.is_true(loop:timeout() == 0)
      assert.equal("empty", loop:run(20))
      assert.same({ "early", "late" }, order)
      assert.equal(5, n)
      assert.is_nil(loop:timeout())
   end)

   it("ends when its time is up", function()
      local loop = pfm_loop.new()
      local ctx = loop:add(assert(lpfm.create {}), {})
      assert.equal("timeout", loop:run(0.01))
      assert.equal(0, loop:step(0))
      assert.same({ ctx:fd() }, loop:fds())
      ctx:close()
      assert.equal("empty", loop:run(20))
   end)

   it("serves the ends of programs, and descriptors beside contexts", function()
      local loop, ended, child_done = pfm_loop.new(), 0, nil
      for _ = 1, 3 do
         local child = assert(proc.spawn { "true" })
         local ctx = assert(lpfm.create {})
         assert(ctx:write_pmcs { { num = 64, value = 9 } })
         assert(ctx:load(child.pid))
         loop:add(ctx, { END = function(_, c)
            ended = ended + 1
            c:close()
            assert(child:wait())
         end })
         assert(child:go())
      end
      local child = assert(proc.spawn { "true" })
      if child:fd() then
         loop:on_fd(child, function(c)
            child_done = c:wait()
            loop:remove(c)
         end)
      end
      assert(child:go())
      assert.equal("empty", loop:run(20))
      assert.equal(3, ended)
      assert.truthy(child_done)
   end)

   it("serves a loop of one's own", function()
      local loop, got = pfm_loop.new(), nil
      local child = assert(proc.spawn { "true" })
      local ctx = assert(lpfm.create {})
      assert(ctx:load(child.pid))
      loop:add(ctx, function(msg) got = msg.type end)
      assert(child:go())
      assert(lpfm.poll(loop:fds(), 20))
      assert.equal(1, loop:step(0))
      assert.equal("END", got)
      ctx:close()
      assert(child:wait())
   end)

   it("leaves no descriptor open", function()
      assert.equal(descriptors, handles.settled(descriptors))
   end)
end)
