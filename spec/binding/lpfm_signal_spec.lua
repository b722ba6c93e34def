-- SPDX-License-Identifier: MIT
-- SIGIO as calls of Lua functions (3.3.7).

local lpfm = require "lpfm"
local proc = require "lpfm.proc"
local sim = require "support.sim"
local c = require "support.c"
local script = require "support.script"

describe("on_message on the simulator", function()
   local machine

   before_each(function()
      sim.begin()
      machine = sim.machine(nil, { cpus = 4 })
   end)
   after_each(sim.finish)

   -- Starts a context that overflows every 100 instructions of 10 ns.
   local function overflowing(options)
      local ctx = sim.context(options)
      sim.count(ctx, 4, "instructions", { value = -100, long_reset = -100, flags = { "OVFL_NOTIFY" } })
      sim.start(ctx, machine:spawn { program = sim.work(10000) })
      return ctx
   end

   it("calls the function for each message, when time has passed", function()
      local ctx, got = overflowing(), {}
      assert.is_true(ctx:on_message(function(msg, context, err)
         assert(context == ctx and not err)
         got[#got + 1] = msg.type .. " " .. machine:time()
         if msg.type == "OVFL" then
            assert(ctx:restart())
         end
      end))
      for _ = 1, 3 do
         machine:run { us = 1 }
      end
      assert.same({ "OVFL 1000", "OVFL 2000", "OVFL 3000" }, got)
      assert.same({ nil, "timeout" }, { ctx:read(0) })
      ctx:on_message()
      machine:run { us = 1 }
      assert.equal(3, #got)
      assert.equal("OVFL", ctx:read(0).type) -- without a function, messages stay in the queue
   end)

   it("calls for a message that was there before", function()
      local ctx, got = overflowing(), nil
      assert(machine:run { until_message = ctx })
      assert(ctx:on_message(function(msg) got = msg.type end))
      assert.equal("OVFL", got)
   end)

   it("calls beside a hook of the script's, which stays", function()
      local ctx, got = overflowing(), 0
      local function hook() end
      debug.sethook(hook, "", 1000)
      assert(ctx:on_message(function() got = got + 1 end))
      machine:run { us = 1 }
      for i = 1, 10000 do got = got + i - i end
      local found, _, count = debug.gethook()
      debug.sethook()
      assert.same({ hook, 1000, 1 }, { found, count, got })
   end)

   it("tells of a signal without a message", function()
      local ctx, calls = overflowing { flags = { "OVFL_NO_MSG" } }, {}
      local other = overflowing()
      assert(ctx:on_message(function(msg, context) calls[#calls + 1] = tostring(msg) .. tostring(context == ctx) end))
      assert(other:on_message(function(msg, context) calls[#calls + 1] = msg.type .. tostring(context == other) end))
      machine:run { us = 3 }
      table.sort(calls)
      assert.same({ "OVFLtrue", "niltrue" }, calls)
   end)

   it("tells of each context that signals without a message, though signals come together", function()
      local calls, contexts = {}, {}
      for i = 1, 4 do
         contexts[i] = i < 4 and overflowing { flags = { "OVFL_NO_MSG" } } or sim.context { flags = { "OVFL_NO_MSG" } }
         assert(contexts[i]:on_message(function(msg)
            calls[#calls + 1] = i .. tostring(msg)
            assert(contexts[i]:restart())
         end))
      end
      machine:run { ns = 1500 }
      table.sort(calls)
      assert.same({ "1nil", "2nil", "3nil" }, calls)
      machine:run { ns = 1500 }
      assert.equal(6, #calls)
   end)

   it("raises the functions' errors where the script is, all messages being told", function()
      local ctx, other, got = overflowing(), overflowing(), 0
      for _, context in ipairs { ctx, other } do
         assert(context:on_message(function()
            got = got + 1
            error("message " .. got)
         end))
      end
      local ok, message = pcall(function()
         machine:run { us = 3 }
         return lpfm.poll({}, 0)
      end)
      assert.is_false(ok)
      assert.truthy(message:find("message 1\n.*message 2$"), message)
      assert.same({ nil, "timeout" }, { lpfm.poll({}, 0) })
   end)

   it("raises an error without a value in words, since nil would pass for no error", function()
      assert(overflowing():on_message(function() error() end))
      local ok, message = pcall(function()
         machine:run { us = 3 }
         return lpfm.poll({}, 0)
      end)
      assert.is_false(ok)
      assert.truthy(message:find("on_message: the function raised nil", 1, true), message)
   end)

   it("lets the function close, replace itself, and make contexts", function()
      local ctx, first, second = overflowing(), 0, 0
      local other
      assert(ctx:on_message(function(_, context)
         first = first + 1
         assert(context:on_message(function()
            second = second + 1
            other = overflowing()
            assert(other:on_message(function() other:close() end))
            context:close()
            collectgarbage()
         end))
         assert(context:restart())
      end))
      for _ = 1, 5 do
         machine:run { us = 2 }
      end
      assert.same({ 1, 1 }, { first, second })
      assert.is_true(ctx:closed() and other:closed())
   end)

   it("tells of a format that fails", function()
      assert(lpfm.register_format { name = "failing", handler = function() error("broken") end })
      local ctx, why = sim.context { format = "failing" }, nil
      sim.count(ctx, 4, "instructions", { value = -100 })
      sim.start(ctx, machine:spawn { program = sim.work(1000) })
      assert(ctx:on_message(function(msg, _, text) why = { msg, text } end))
      machine:run { us = 2 }
      assert.is_nil(why[1])
      assert.truthy(why[2]:find("broken", 1, true))
      ctx:close()
      assert(lpfm.unregister_format("failing"))
   end)

   it("is not for what is no function, nor for closed contexts", function()
      local ctx = sim.context()
      for _, bad in ipairs { 1, "x", {}, true } do
         assert.has_error(function() ctx:on_message(bad) end)
      end
      assert(ctx:on_message(nil))
      ctx:close()
      assert.has_error(function() ctx:on_message(print) end, "the context is closed")
   end)

   it("forgets a context that is collected", function()
      do
         local ctx = assert(lpfm.create())
         assert(ctx:on_message(function() return ctx end))
      end
      collectgarbage()
      collectgarbage()
      machine:run { ns = 0 }
   end)
end)

describe("on_message on a real machine", function()
   it("interrupts a script that computes", function()
      script.run [[
         local ctx, n = started({}, 1e6), 0
         assert(ctx:on_message(function(msg)
            assert(msg.type == "OVFL" and msg.tid == proc.gettid())
            n = n + 1
            assert(ctx:restart())
         end))
         burn(function() return n >= 20 end)
      ]]
   end)

   it("tells of a signal without a message only the context that sends it", function()
      script.run [[
         local quiet, calls = assert(lpfm.create { flags = { "OVFL_NO_MSG" } }), 0
         assert(quiet:on_message(function() calls = calls + 1 end))
         local ctx, other, n, told = started({ flags = { "OVFL_NO_MSG" } }, 1e6), assert(lpfm.create {}), 0, 0
         assert(ctx:on_message(function(msg)
            assert(msg == nil)
            n = n + 1
            assert(ctx:restart())
         end))
         local child = assert(proc.spawn { "true" })
         assert(other:load(child.pid))
         assert(other:on_message(function(msg) told = told + 1 assert(msg.type == "END") end))
         assert(child:go())
         burn(function() return n >= 20 and told == 1 end)
         child:wait()
         assert(calls == 0, calls)
      ]]
   end)

   it("tells of it, too, if the queue of signals is full", function()
      script.run [[
         assert(os.execute("prlimit --sigpending=0 --pid " .. proc.getpid()) == 0)
         local ctx, n = started({ flags = { "OVFL_NO_MSG" } }, 1e6), 0
         assert(ctx:on_message(function() n = n + 1 assert(ctx:restart()) end))
         burn(function() return n >= 3 end)
      ]]
   end)

   it("has no function for such signals if the process handles all real-time signals", function()
      script.run [[
         local signal = require "posix.signal"
         for number = 34, 64 do signal.signal(number, function() end) end
         local other, n, calls = assert(lpfm.create {}), 0, 0
         assert(other:on_message(function() n = n + 1 end))
         local ctx = started({ flags = { "OVFL_NO_MSG" } }, 1e6)
         local ok, err, errno = ctx:on_message(function() calls = calls + 1 end)
         assert(not ok and errno == lpfm.errno.EBUSY, err)
         assert(proc.kill(proc.getpid(), "IO"))
         lpfm.poll({ other }, 0)
         assert(calls == 0, calls)
      ]]
   end)

   it("interrupts a wait, which goes on", function()
      script.run [[
         local child = assert(proc.spawn { "true" })
         local ctx, quiet, got = assert(lpfm.create {}), assert(lpfm.create {}), nil
         assert(ctx:load(child.pid))
         assert(ctx:on_message(function(msg) got = msg.type child:wait() end))
         assert(child:go())
         local ready, why = lpfm.poll({ quiet }, 1)
         assert(got == "END" and not ready and why == "timeout")
      ]]
   end)

   it("does not end the process when the state, the callbacks or the contexts are gone", function()
      local status = select(2, c.sh([[sh -c 'exec "$@"' sh ]] .. (os.getenv("LPFM_LUA") or "lua5.1") .. [[ -e '
         local lpfm, proc = require "lpfm", require "lpfm.proc"
         local ctx = assert(lpfm.create {})
         assert(ctx:on_message(function() end))
         ctx:close()
         ctx = nil
         collectgarbage()
         assert(proc.kill(proc.getpid(), "IO"))
         for i = 1, 1e5 do math.random() end
         assert(lpfm.poll({}, 0) == nil)
      ']]))
      assert.equal(0, status)
   end)

   it("does not take Ctrl-C for a message, nor a message for Ctrl-C", function()
      script.run [[
         local ctx, n = started({}, 1e6), 0
         proc.on_interrupt(true)
         assert(ctx:on_message(function() n = n + 1 assert(ctx:restart()) end))
         local child = assert(proc.spawn { "sh", "-c", "while kill -INT $PPID; do sleep 0.05; done" })
         local quiet = assert(lpfm.create {})
         burn(function() return n >= 3 end)
         assert(child:go())
         local ready, message, errno = lpfm.poll({ quiet }, 20)
         child:kill("KILL")
         child:wait()
         assert(not ready and errno == lpfm.errno.EINTR, message)
      ]]
   end)
end)

describe("proc.kill of SIGIO", function()
   it("is no message", function()
      assert(lpfm.machine("perf"))
      local ctx = assert(lpfm.create())
      local calls = 0
      assert(ctx:on_message(function() calls = calls + 1 end))
      assert(proc.kill(proc.getpid(), "IO"))
      lpfm.poll({}, 0)
      assert.equal(0, calls)
      ctx:close()
   end)
end)
