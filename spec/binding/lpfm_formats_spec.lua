-- SPDX-License-Identifier: MIT
-- Sampling formats written in Lua (3.5.7 - 3.5.15) on the simulated computer: what they may and may
-- not do, what becomes of their errors.

local lpfm = require "lpfm"
local sim = require "support.sim"
local script = require "support.script"

local PERIOD, SITES = 10, 30 -- 30 overflows, one every 10 instructions: as many at each site

local machine

-- Returns a program of n instructions at 0x1000, 0x1010 ...
local function program(n)
   return { { loop = n / 3, { ip = 0x1000, ns = 10 }, { ip = 0x1010, ns = 10 }, { ip = 0x1020, ns = 10 } } }
end

-- Starts a context with these options on a thread of n instructions. Returns the context and tid.
local function measured(options, n, pmd)
   local ctx = sim.context(options)
   local fields = { value = -PERIOD, long_reset = -PERIOD, short_reset = -PERIOD, flags = { "OVFL_NOTIFY" } }
   for k, v in pairs(pmd or {}) do
      fields[k] = v
   end
   sim.count(ctx, 4, "instructions", fields)
   local tid = assert(machine:spawn { program = program(n or 10 * PERIOD * SITES) })
   sim.start(ctx, tid)
   return ctx, tid
end

local function register(format)
   format.name = format.name or "under-test"
   return assert(lpfm.register_format(format))
end

local HITS = {
   init = function(self)
      self.hits = {}
   end,
   handler = function(self, overflow)
      self.hits[overflow.ip] = (self.hits[overflow.ip] or 0) + 1
      return "RESET"
   end,
   calls = { hits = function(self) return self.hits end },
}

local function hits_format(fields)
   local format = {}
   for k, v in pairs(HITS) do
      format[k] = v
   end
   for k, v in pairs(fields or {}) do
      format[k] = v
   end
   return register(format)
end

local BUILTIN = {} -- the formats before any is registered
for _, format in ipairs(lpfm.formats()) do BUILTIN[format.name] = true end

describe("a sampling format in Lua", function()
   teardown(function()
      assert(lpfm.machine("perf")) -- for the specs after this one
   end)

   before_each(function()
      sim.begin()
      machine = sim.machine()
   end)

   after_each(function()
      sim.finish()
      for _, format in ipairs(lpfm.formats()) do
         if not BUILTIN[format.name] then
            assert(lpfm.unregister_format(format.name))
         end
      end
   end)

   it("is called for each overflow, and keeps what it wants", function()
      hits_format()
      local ctx, tid = measured { format = "under-test" }
      assert(machine:run { until_exit = tid })
      assert.same({ [0x1000] = 100, [0x1010] = 100, [0x1020] = 100 }, ctx:ask("hits"))
      assert.is_nil(ctx:format_error())
   end)

   it("is listed, has the UUID it wants or one of its name, and is created by either", function()
      local uuid = hits_format { version = 7, flags = { "NOSET" } }
      local listed
      for _, format in ipairs(lpfm.formats()) do
         listed = format.name == "under-test" and format or listed
      end
      assert.same({ name = "under-test", uuid = uuid, version = 7, flags = { "NOSET" }, arg_size = 0 }, listed)
      local ctx = sim.context { format = uuid }
      assert.same({}, ctx:ask("hits"))
      sim.refused("EINVAL", "", ctx:create_evtsets { 1 })
      ctx:close()
      assert(lpfm.unregister_format(uuid))
      assert.equal(uuid, hits_format())
      assert(lpfm.unregister_format("under-test"))
      local mine = "01234567-89ab-cdef-0123-456789abcdef"
      assert.equal(mine, hits_format { uuid = mine })
   end)

   it("is called in the specification's order, with what it says", function()
      local log = {}
      register {
         validate = function(self)
            log[#log + 1] = "validate " .. tostring(self.arg.size) .. " " .. self.num_pmds .. " " .. self.flags[1]
         end,
         getsize = function(self)
            log[#log + 1] = "getsize " .. tostring(self.buf)
            return self.arg.size
         end,
         init = function(self)
            log[#log + 1] = "init " .. #self.buf
         end,
         handler = function(self, o)
            log[#log + 1] = ("handler %d %d %d %d %s %d %x"):format(o.ovfl_pmd, o.set, o.last_reset, o.eventid,
               tostring(o.notify), o.tid, o.ip)
            self.tstamp, self.value, self.five = o.tstamp, o.value, o.pmds[5]
            return "MASK", "NOTIFY"
         end,
         restart = function(_, active)
            log[#log + 1] = "restart " .. tostring(active)
            return "RESET"
         end,
         calls = {
            log = function(self) return log, self.tstamp, self.value, self.five end,
         },
      }
      local options = { format = "under-test", format_arg = { size = 4096 }, flags = { "NOTIFY_BLOCK" } }
      local ctx, tid = measured(options, nil, { eventid = 77, smpl_pmds = { 5 } })
      sim.count(ctx, 5, "cycles")
      assert(machine:run { until_message = ctx })
      local log_there, tstamp, value, five = ctx:ask("log")
      assert.same({ "validate 4096 " .. #lpfm.pmds() .. " NOTIFY_BLOCK", "getsize nil", "init 4096",
         ("handler 4 0 -10 77 true %d 1000"):format(tid) }, log_there)
      assert.equal(100, tstamp)
      assert.equal(0, value)
      assert.equal(100, five)
      assert.same({}, log) -- the format has a copy of `log` in its own Lua state
      assert(ctx:read(0).type == "OVFL")
      assert(ctx:restart())
      assert.equal("restart false", ctx:ask("log")[5])
      assert(ctx:restart())
      assert.equal("restart true", ctx:ask("log")[6])
   end)

   local function overflows_with(controls, flags, pmd)
      register {
         init = function(self) self.n = 0 end,
         handler = function(self)
            self.n = self.n + 1
            return unpack(self.arg)
         end,
         calls = { n = function(self) return self.n end },
      }
      local ctx, tid = measured({ format = "under-test", format_arg = controls, flags = flags }, 600, pmd)
      machine:run { us = 3 } -- half of the program
      return ctx, tid
   end

   it("resets with RESET, else the counter goes on from 0", function()
      local ctx = overflows_with { "RESET" }
      assert.equal(30, ctx:ask("n"))
      assert.same({ nil, "timeout" }, { ctx:read(0) })
   end)

   it("that returns nothing lets the counter go on", function()
      local ctx = overflows_with {}
      assert.equal(1, ctx:ask("n"))
      assert.equal(290, sim.value(ctx, 4))
   end)

   it("notifies with NOTIFY, if the PMD has OVFL_NOTIFY", function()
      local ctx = overflows_with { "NOTIFY" }
      assert.same({ 4 }, ctx:read(0).pmds)
      local silent = sim.context { format = "under-test", format_arg = { "notify_user" } }
      sim.count(silent, 4, "instructions", { value = -PERIOD })
      local tid = assert(machine:spawn { program = program(300) })
      sim.start(silent, tid)
      assert(machine:run { until_exit = tid })
      assert.equal("END", silent:read(0).type)
   end)

   it("masks with MASK", function()
      local ctx = overflows_with { "MASK", "NOTIFY", "RESET" }
      assert.equal(1, ctx:ask("n"))
      assert.equal(0, sim.value(ctx, 4))
      assert(ctx:restart())
   end)

   it("blocks the thread with BLOCK", function()
      local ctx, tid = overflows_with({ "MASK", "NOTIFY", "BLOCK" }, { "NOTIFY_BLOCK" })
      assert.equal("blocked", sim.thread(tid).state)
      assert(ctx:read(0))
      assert(ctx:restart())
      machine:run { ns = 10 }
      assert.not_equal("blocked", sim.thread(tid).state)
   end)

   it("decides at a restart", function()
      register {
         handler = function() return "MASK", "NOTIFY" end,
         restart = function(self, active) -- the first two restarts leave monitoring masked
            self.restarts = (self.restarts or 0) + 1
            if active or self.restarts < 3 then
               return "MASK"
            end
            return "RESET"
         end,
      }
      local ctx = measured { format = "under-test" }
      assert(machine:run { until_message = ctx })
      assert(ctx:read(0))
      for _ = 1, 2 do
         assert(ctx:restart())
         machine:run { ns = 500 }
         assert.equal(0, sim.value(ctx, 4)) -- still masked, and not reset
      end
      assert(ctx:restart())
      assert.equal(-PERIOD, sim.value(ctx, 4))
   end)

   it("is called for each PMD that overflows at once, ascending, at one time", function()
      register {
         init = function(self) self.seen = {} end,
         handler = function(self, o)
            self.seen[#self.seen + 1] = o.ovfl_pmd .. " at " .. o.tstamp
            return "RESET"
         end,
         calls = { seen = function(self) return self.seen end },
      }
      local ctx = sim.context { format = "under-test" }
      for num = 4, 5 do
         sim.count(ctx, num, "instructions", { value = -PERIOD, short_reset = -PERIOD })
      end
      local tid = assert(machine:spawn { program = program(2 * PERIOD + 1) })
      sim.start(ctx, tid)
      assert(machine:run { until_exit = tid })
      assert.same({ "4 at 100", "5 at 100", "4 at 200", "5 at 200" }, ctx:ask("seen"))
   end)

   describe("with a base", function()
      for _, base in ipairs { "default", "default-0.6" } do
         it("records what it wants of " .. base .. ", and its buffer is one of that format", function()
            register {
               base = base,
               handler = function(self, o)
                  if o.ip == 0x1010 then
                     return self.buf:record()
                  end
                  return "RESET"
               end,
            }
            local size = sim.buffer_size(20, 40 + (base == "default" and 0 or 8), base == "default" and "2.x" or "0.6")
            local ctx = measured { format = "under-test", buf_size = size }
            assert(machine:run { until_message = ctx })
            assert(ctx:read(0))
            local buf = ctx:buffer()
            assert.is_true(#buf >= 19)
            assert.same({ { 0x1010, #buf } }, { { buf:sample(1).ip, buf:count_by("ip")[0x1010] or #buf } })
            for s in buf:samples() do
               assert.equal(0x1010, s.ip)
            end
            assert(ctx:restart()) -- the base's restart is called
            assert.equal(0, #buf)
         end)
      end

      it("n-way gives regions back with its own restart", function()
         register {
            base = "n-way",
            handler = function(self) return self.buf:record() end,
            restart = function(self, active)
               self.restarts = (self.restarts or 0) + 1
               return self.buf:restart(active)
            end,
            calls = { restarts = function(self) return self.restarts end },
         }
         local ctx = measured { format = "under-test", buf_size = 8192, regions = 4, buf_flags = { "IIP_HDR" } }
         assert(machine:run { until_message = ctx })
         assert.equal(4, ctx:buffer():header().regions)
         assert(#ctx:buffer() > 0)
         assert(ctx:restart())
         assert.equal(1, ctx:ask("restarts"))
      end)

      it("passes the base's refusal on, and leaves its buffer to it", function()
         register {
            base = "default",
            handler = function(self)
               self.buf:put("u64", 8, 2 ^ 40)
            end,
            calls = { get = function(self) return self.buf:get("u64", 24) end },
         }
         sim.refused("EINVAL", "refused", lpfm.create { format = "under-test", buf_size = 1 })
         local ctx = measured { format = "under-test", buf_size = 8192 }
         assert.equal(8192, ctx:ask("get"))
         machine:run { ms = 1 }
         assert.truthy(ctx:format_error():find("put: the format default writes this buffer", 1, true))
         assert.equal(0, #ctx:buffer())
      end)
   end)

   it("writes a buffer of its own, which the script reads", function()
      register {
         getsize = function() return 4096 end,
         init = function(self)
            self.buf:write(0, "magic")
            self.buf:put("double", 16, 0.5)
         end,
         handler = function(self, o)
            self.buf:put("u64", 8, self.buf:get("u64", 8) + 1)
            self.buf:put("u32", 24, o.ip)
            self.buf:put("u16", 28, o.tid)
            self.buf:put("u8", 30, 255)
            return "RESET"
         end,
      }
      local ctx, tid = measured { format = "under-test" }
      assert(machine:run { until_exit = tid })
      local buf = assert(ctx:buffer())
      assert.equal("magic", buf:snapshot():sub(1, 5))
      assert.equal(300, buf:get("u64", 8))
      assert.equal(0.5, buf:get("double", 16))
      assert.equal(tid, buf:get("u16", 28))
      assert.equal(255, buf:get("u8", 30))
      assert.equal(4096, #buf:snapshot())
      for _, bad in ipairs { { "u8", 4096 }, { "u64", 4089 }, { "u64", -1 }, { "x", 0 }, { "u8" }, { "u8", 0.5 } } do
         assert.has_error(function() buf:get(bad[1], bad[2]) end)
      end
   end)

   describe("refuses a context", function()
      local REFUSALS = {
         ["by validate's false"] = { { validate = function() return false end }, "the argument is not valid" },
         ["by validate's message"] = { { validate = function() return nil, "too hot" end }, "too hot" },
         ["by validate's error"] = { { validate = function(self) return self.nothing.x end }, "'nothing'" },
         ["by getsize's result"] = { { getsize = function() return "big" end }, "integer expected" },
         ["by a negative size"] = { { getsize = function() return -1 end }, "integer from 0" },
         ["by init's error"] = { { init = function() error("no init") end }, "no init" },
         ["by an error that is a table"] = { { init = function() error({}) end }, "an error that is a table" },
         ["by an error that is nil"] = { { init = function() error() end }, "an error that is a nil" },
      }
      for name, case in pairs(REFUSALS) do
         it(name, function()
            case[1].handler = function() end
            register(case[1])
            sim.refused("EINVAL", case[2], lpfm.create { format = "under-test" })
            case[1].handler = nil
         end)
      end

      it("whose buffer is too large", function()
         register { handler = function() end, getsize = function() return 2 ^ 53 end }
         assert.is_nil(lpfm.create { format = "under-test" })
      end)
   end)

   describe("that fails", function()
      local function failing(fields)
         hits_format(fields or {
            handler = function(self, o)
               self.hits[o.ip] = (self.hits[o.ip] or 0) + 1
               if self.hits[o.ip] == self.arg then
                  error("the third of " .. o.ip)
               end
               return "RESET"
            end,
         })
      end

      it("ends the session of that context with the traceback, and no other", function()
         failing()
         local bad = measured { format = "under-test", format_arg = 3 }
         local good, tid = measured { format = "under-test", format_arg = 1000 }
         assert(machine:run { until_message = bad })
         local ok, message, errno = bad:read(0)
         assert.is_nil(ok)
         assert.equal(lpfm.errno.EIO, errno)
         assert.truthy(message:find("^read: the format under%-test failed: "))
         assert.truthy(message:find("lpfm_formats_spec.lua:%d+: the third of 4096\nstack traceback:"))
         assert.equal(message, select(2, bad:read()))
         sim.refused("EIO", "the third of 4096", bad:restart())
         assert.truthy(bad:format_error():find("the third of 4096", 1, true))
         assert.equal(0, sim.value(bad, 4)) -- masked at the overflow: the PMD stays 0
         machine:run { until_exit = tid }
         assert.equal(3, bad:ask("hits")[0x1000])
         assert.equal(100, good:ask("hits")[0x1000])
         assert.is_nil(good:format_error())
         assert.has_error(function() for _ in bad:messages(0) do error("a message") end end)
      end)

      it("tells so though no PMD has OVFL_NOTIFY", function()
         failing()
         local ctx = measured({ format = "under-test", format_arg = 1 }, nil, { flags = {} })
         assert(machine:run { until_message = ctx })
         assert.is_nil(ctx:read(0))
      end)

      it("by taking for ever ends, too", function()
         failing { handler = function() while true do end end } -- luacheck: ignore
         local ctx = measured { format = "under-test" }
         assert(machine:run { until_message = ctx })
         assert.truthy(ctx:format_error():find("takes too long", 1, true))
      end)

      for name, case in pairs {
         ["an unknown control"] = { function() return "RESE" end, "unknown control 'RESE'" },
         ["a control that is a table"] = { function() return {} end, "unknown control 'table'" },
         -- luacheck: ignore
         ["a global of the script"] = { function() return describe_nothing() end,
            "(a format has no globals of the script's" },
         ["breaking what it is given"] = { function(_, o)
            o.pmds = 1
            setmetatable(o, { __newindex = function() error("no more") end })
            o.ip = nil
            return "RESET"
         end, "no more" },
         ["the module"] = { function() return require("lpfm") end, "cannot use lpfm" },
         ["the end of the process"] = { function() os.exit(1) end, "cannot end the process" },
         ["a yield"] = { function() coroutine.yield() end, "attempt to yield" },
         ["no end of recursion"] = { function(self) return 1 + self.arg.f(self) end, "attempt to" },
         ["a record without base"] = { function(self) return self.buf:record() end, "no base that records" },
         ["an offset outside"] = { function(self) return self.buf:get("u64", 9) end, "is not within the 16 bytes" },
         ["a string too long"] = { function(self) self.buf:write(0, ("x"):rep(17)) end, "do not fit" },
      } do
         it("by " .. name .. " says so", function()
            failing { handler = case[1], getsize = function() return 16 end }
            local ctx = measured { format = "under-test", format_arg = {} }
            assert(machine:run { until_message = ctx })
            assert.truthy(ctx:format_error():find(case[2], 1, true), ctx:format_error())
         end)
      end

      it("in a restart ends the session", function()
         failing { handler = function() return "MASK", "NOTIFY" end, restart = function() error("no restart") end }
         local ctx = measured { format = "under-test" }
         assert(machine:run { until_message = ctx })
         assert(ctx:read(0))
         sim.refused("EIO", "no restart", ctx:restart())
         sim.refused("EIO", "no restart", ctx:read(0))
      end)

      it("in what it is asked goes on", function()
         failing { calls = {
            bad = function() error("bad question") end,
            worse = function() return print end,
            echo = function(_, ...) return ... end,
         } }
         local ctx, tid = measured { format = "under-test" }
         sim.refused("EIO", "bad question\nstack traceback", ctx:ask("bad"))
         sim.refused("EIO", "a function cannot leave", ctx:ask("worse"))
         sim.refused("EINVAL", "no function 'nothing'", ctx:ask("nothing"))
         assert.same({ 1, nil, "x", false, n = 4 }, { n = select("#", ctx:ask("echo", 1, nil, "x", false)),
            ctx:ask("echo", 1, nil, "x", false) })
         assert(machine:run { until_exit = tid })
         assert.is_nil(ctx:format_error())
         assert.has_error(function() ctx:ask("echo", print) end)
         assert.has_error(function() ctx:ask("echo", ctx) end)
         assert.has_error(function() ctx:ask("echo", setmetatable({}, {})) end)
         assert.has_error(function() ctx:ask() end)
         sim.refused("EINVAL", "no format written in Lua", sim.context():ask("x"))
      end)
   end)

   describe("takes with it", function()
      local function answer(fn, ...)
         register { handler = function() end, calls = { answer = fn } }
         local results = { assert(sim.context { format = "under-test" }):ask("answer", ...) }
         return unpack(results)
      end

      it("the values of its functions' variables, shared where they were", function()
         local shared, floor, str = { n = 1 }, math.floor, string
         local function twice(x) return 2 * x end
         local function factorial(n) return n < 2 and 1 or n * factorial(n - 1) end
         shared.self = shared
         register {
            init = function() shared.n = twice(shared.n) end,
            handler = function() end,
            calls = { answer = function()
               return shared.self.self.n, floor(2.5), str.rep("x", 3), factorial(5), shared == shared.self
            end },
         }
         assert.same({ 2, 2, "xxx", 120, true }, { sim.context({ format = "under-test" }):ask("answer") })
         assert.equal(1, shared.n)
      end)

      it("and back: cycles, 64-bit values, what a string can hold", function()
         local big = lpfm.u64("0xfedcba9876543210")
         local t = { "a\0b", [2.5] = -0.1, [true] = { {} }, big = big }
         t.t = t
         local back = answer(function(_, x) return x end, t)
         assert.equal("a\0b", back[1])
         assert.equal(-0.1, back[2.5])
         assert.same({ {} }, back[true])
         assert.equal(back, back.t)
         assert.is_true(big == back.big)
         assert.equal("0xfedcba9876543210", answer and back.big:hex())
      end)
   end)

   it("is registered with functions that can leave the script, or not at all", function()
      local ctx, file, meta = sim.context(), io.stdout, setmetatable({}, {})
      local cases = {
         { handler = function() return ctx end, "variable 'ctx' of handler is or holds a userdata" },
         { handler = function() return file end, "variable 'file' of handler" },
         { handler = function() return meta end, "metatable" },
         { handler = function() end, calls = { x = function() return ctx end }, "variable 'ctx' of x" },
         { handler = "x", "field 'handler': function expected, got 'x'" },
         { handler = function() end, calls = { 1 }, "functions by name expected" },
         { handler = function() end, base = "x", "default, default-0.6 or n-way" },
         { handler = function() end, base = "default", getsize = function() end, "getsize does not go with base" },
         { handler = function() end, uuid = "x", "UUID expected" },
         { handler = function() end, handlr = 1, "unknown field 'handlr'" },
         { "field 'handler' is missing" },
         { handler = function() end, flags = { "X" }, "unknown flag 'X'" },
         { handler = function() end, name = ("x"):rep(32), "1 to 31 bytes" },
         { handler = function() end, msgq_depth = 0, "from 1 to 1024" },
      }
      for _, case in ipairs(cases) do
         local expected = table.remove(case, 1)
         case.name = case.name or "bad"
         local ok, message = pcall(lpfm.register_format, case)
         assert.is_false(ok, expected)
         assert.truthy(message:find(expected, 1, true), message)
      end
      for _, bad in ipairs { 1, "x", { 1 } } do
         assert.has_error(function() lpfm.register_format(bad) end)
      end
      assert.has_error(function() lpfm.register_format() end)
      assert.has_error(function() lpfm.unregister_format() end)
   end)

   it("is registered once, and not taken from a context that uses it", function()
      local uuid = hits_format()
      sim.refused("EBUSY", "is registered", lpfm.register_format { name = "under-test", handler = function() end })
      sim.refused("EBUSY", "", lpfm.register_format { name = "other", uuid = uuid, handler = function() end })
      sim.refused("EBUSY", "", lpfm.register_format { name = "default", handler = function() end })
      local ctx, tid = measured { format = "under-test" }
      sim.refused("EBUSY", "1 contexts use format under-test", lpfm.unregister_format("under-test"))
      machine:run { until_exit = tid }
      assert.same({ [0x1000] = 100, [0x1010] = 100, [0x1020] = 100 }, ctx:ask("hits"))
      ctx:close()
      assert.has_error(function() ctx:ask("hits") end, "the context is closed")
      assert(lpfm.unregister_format("under-test"))
      sim.refused("EINVAL", "no format 'under-test'", lpfm.unregister_format("under-test"))
      sim.refused("EINVAL", "no format 'default'", lpfm.unregister_format("default"))
      sim.refused("EINVAL", "no sampling format is called", lpfm.create { format = "under-test" })
   end)

   it("works while both collectors never stop", function()
      collectgarbage("setpause", 1)
      collectgarbage("setstepmul", 10000)
      hits_format {
         handler = function(self, o)
            collectgarbage()
            self.hits[o.ip] = { (self.hits[o.ip] or { 0 })[1] + 1 }
            return "RESET"
         end,
      }
      for _ = 1, 5 do
         local ctx, tid = measured { format = "under-test", format_arg = { "x" } }
         assert(machine:run { until_exit = tid })
         assert.same({ [0x1000] = { 100 }, [0x1010] = { 100 }, [0x1020] = { 100 } }, ctx:ask("hits"))
         collectgarbage()
      end
      collectgarbage("setpause", 200)
      collectgarbage("setstepmul", 200)
   end)
end)

describe("a sampling format in Lua on a real machine", function()
   it("runs while the script computes", function()
      script.run [[
         assert(lpfm.register_format { name = "own",
            init = function(self) self.n, self.tids = 0, {} end,
            handler = function(self, o)
               self.n = self.n + 1
               self.tids[o.tid] = o.pmds[82] == o.tid
               return "RESET"
            end,
            calls = { seen = function(self) return self.n, self.tids end } })
         local ctx = started({ format = "own" }, 1e6)
         burn(function() return ctx:ask("seen") >= 20 end)
         assert(ctx:stop())
         local n, tids = ctx:ask("seen")
         assert(n >= 20 and tids[proc.gettid()] and not next(tids, next(tids)))
         ctx:close()
         assert(lpfm.unregister_format("own"))
      ]]
   end)

   it("wakes who waits when it fails, and the process goes on", function()
      script.run [[
         assert(lpfm.register_format { name = "own", handler = function() error("the end") end })
         local ctx = started({ format = "own" }, 1e6)
         burn(function() return ctx:format_error() end)
         assert(lpfm.poll({ ctx }, 20))
         local msg, message = ctx:read(20)
         assert(not msg and message:find("the end") and message:find("traceback"))
      ]]
   end)

   it("is there in a child process", function()
      script.run [[
         local unistd, wait = require "posix.unistd", require "posix.sys.wait"
         assert(lpfm.register_format { name = "own", init = function(self) self.n = 0 end,
            handler = function(self)
               self.n = self.n + 1
               return "RESET"
            end,
            calls = { n = function(self) return self.n end } })
         local ctx = started({ format = "own" }, 2e5)
         for _ = 1, 5 do
            local pid = unistd.fork()
            if pid == 0 then
               local mine = started({ format = "own" }, 2e5)
               burn(function() return mine:ask("n") > 3 end)
               unistd._exit(0)
            end
            assert(select(3, wait.wait(pid)) == 0)
         end
         burn(function() return ctx:ask("n") > 3 end)
      ]]
   end)

   it("may be in its handler when its context, or the whole state, is closed", function()
      script.run [[
         assert(lpfm.register_format { name = "own",
            handler = function(self)
               for i = 1, 2000 do self.x = i end
               return "RESET"
            end,
            exit = function(self) self.x = nil error("nobody hears this") end,
            calls = { x = function(self) return self.x end } })
         for i = 1, 10 do
            local ctx = started({ format = "own" }, 1e6)
            burn(function() return ctx:ask("x") end)
            if i % 2 == 0 then ctx:close() end
            ctx = nil
            collectgarbage()
         end
         started({ format = "own" }, 1e6)
      ]]
   end)

   it("serves several contexts at once", function()
      script.run [[
         assert(lpfm.register_format { name = "own", base = "default",
            handler = function(self) return self.buf:record() end })
         local list, children = {}, {}
         for i = 1, 4 do
            children[i] = assert(proc.spawn { "sh", "-c", "while :; do :; done" })
            list[i] = started({ format = "own", buf_size = 8192 }, 200000 + i, children[i].pid)
            children[i]:go()
         end
         local full = 0
         burn(function()
            for _, ctx in ipairs(list) do
               if ctx:read(0) then
                  assert(#ctx:buffer() > 10 and ctx:restart())
                  full = full + 1
               end
            end
            return full >= 20
         end)
         for _, child in ipairs(children) do
            child:kill("KILL")
            child:wait()
         end
      ]]
   end)
end)
