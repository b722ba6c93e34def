-- SPDX-License-Identifier: MIT
-- Messages: read one by one, in a loop, and from several contexts.

local lpfm = require "lpfm"
local proc = require "lpfm.proc"
local handles = require "support.handles"
local PATIENCE = require "support.patience"

assert(lpfm.machine(require "support.real"))
local descriptors = handles.settled()

local CPU_CLOCK, MS = 65, 1000000

local function overflowing(period, tid)
   local ctx = assert(lpfm.create {})
   assert(ctx:write_pmcs { { num = CPU_CLOCK, value = 9 } })
   assert(ctx:write_pmds { { num = CPU_CLOCK, value = -period, long_reset = -period, flags = { "OVFL_NOTIFY" } } })
   assert(ctx:load(tid))
   assert(ctx:start())
   return ctx
end

-- Computes until the context has a message.
local function burn_until_message(ctx)
   local deadline = proc.clock() + PATIENCE
   while not lpfm.poll({ ctx }, 0) do
      for _ = 1, 10000 do
         math.random()
      end
      assert(proc.clock() < deadline, ("no overflow in %d s"):format(PATIENCE))
   end
end

describe("messages", function()
   it("tell of an overflow, its place and its thread", function()
      local ctx = overflowing(2 * MS)
      burn_until_message(ctx)
      local msg = assert(ctx:read(0))
      assert.equal("OVFL", msg.type)
      assert.equal(0, msg.set)
      assert.equal(proc.getpid(), msg.pid)
      assert.equal(proc.gettid(), msg.tid)
      assert.same({ CPU_CLOCK }, msg.pmds)
      assert.is_true(msg.cpu >= 0)
      assert.truthy(msg.ip ~= 0)
      assert.same({ nil, "timeout" }, { ctx:read(0) })
      assert(ctx:restart())
      burn_until_message(ctx)
      assert.equal("OVFL", ctx:read().type)
      ctx:close()
   end)

   it("come to a loop, which ends with the timeout", function()
      local ctx = overflowing(2 * MS)
      local n = 0
      for _ = 1, 3 do
         burn_until_message(ctx)
         for msg in ctx:messages(0) do
            assert.equal("OVFL", msg.type)
            assert(ctx:restart())
            n = n + 1
         end
      end
      assert.is_true(n >= 3)
      ctx:close()
   end)

   it("tell of the end of the thread, and a loop ends with that", function()
      local child = assert(proc.spawn { "true" })
      local ctx = overflowing(1000 * MS, child.pid)
      assert(child:go())
      local types = {}
      for msg in ctx:messages(20) do
         types[#types + 1] = msg.type
      end
      assert.same({ "END" }, types)
      assert(child:wait())
      ctx:close()
   end)

   it("of several contexts are waited for together", function()
      local quiet, busy = assert(lpfm.create {}), overflowing(2 * MS)
      assert.same({ nil, "timeout" }, { lpfm.poll({ quiet }, 0) })
      burn_until_message(busy)
      local ready = assert(lpfm.poll({ quiet, busy }, 20))
      assert.equal(1, #ready)
      assert.equal(busy, ready[1])
      assert.same({ busy:fd() }, lpfm.poll({ quiet:fd(), busy:fd() }))
      assert.same({ nil, "poll: there is no descriptor 3999", lpfm.errno.EBADF }, { lpfm.poll({ busy, 3999 }, 0) })
      quiet:close()
      busy:close()
   end)

   it("are not waited for on the simulator, where no time passes meanwhile", function()
      local machine = lpfm.machine().name
      assert(lpfm.machine("sim:k8"))
      local ctx = assert(lpfm.create {})
      assert(lpfm.machine(machine))
      assert.same({ nil, "timeout" }, { ctx:read(1000) })
      assert.same({ nil, "no message (the simulated machine advances only when told)" }, { ctx:read() })
      assert.same({ nil, "timeout" }, { lpfm.poll { ctx } })
      for _ in ctx:messages() do
         error("a message")
      end
      ctx:close()
   end)

   it("are not waited for on what is no context", function()
      for _, bad in ipairs { 1, "x", { true }, { {} }, { io.stdout }, { -1 }, { lpfm.u64(1) }, { lpfm.pmds { 64 } } } do
         assert.has_error(function() lpfm.poll(bad, 0) end)
      end
      local ctx = assert(lpfm.create {})
      ctx:close()
      assert.has_error(function() lpfm.poll({ ctx }, 0) end, "the context is closed")
   end)

   it("are not taken from a context that a loop finds closed", function()
      local ctx = assert(lpfm.create {})
      local next_message = ctx:messages(0)
      ctx:close()
      assert.has_error(next_message, "messages: the context is closed")
   end)

   it("stop being waited for after Ctrl-C", function()
      local ctx = assert(lpfm.create {})
      local child = assert(proc.spawn { "sh", "-c", "while kill -INT $PPID; do sleep 0.05; done" })
      proc.on_interrupt(true)
      assert(child:go())
      local msg, message, errno = ctx:read(20)
      child:kill "KILL"
      assert(child:wait())
      assert.is_nil(msg)
      assert.truthy(message:find("^read: "))
      assert.equal(lpfm.errno.EINTR, errno)
      assert.is_true(proc.interrupted())
      proc.on_interrupt(false)
      ctx:close()
   end)
end)

it("leaves no descriptor open", function()
   assert.equal(descriptors, handles.settled(descriptors))
end)
