-- SPDX-License-Identifier: MIT
-- The single call of specification 0.6 from Lua: its sixteen commands do the same as 2.x's calls.

local lpfm = require "lpfm"
local sim = require "support.sim"

local UUID_06 = "4d72bec0-0664-4143-82b4-d3fd27243c97"
local call = lpfm.perfmonctl

local machine

local function encode(num, event)
   return assert(machine:encode(event or "instructions", num))
end

local function target(n)
   return assert(machine:spawn { program = sim.work(n or 1000) })
end

-- Contexts that the single call has made; they are closed at the end of the test.
local contexts = {}

local function created(options)
   local ctx = assert(call(nil, "PFM_CREATE_CONTEXT", options))
   contexts[#contexts + 1] = ctx
   return ctx
end

describe("perfmonctl", function()
   teardown(function()
      assert(lpfm.machine("perf")) -- for the specs after this one
   end)

   before_each(function()
      sim.begin()
      machine = sim.machine()
   end)

   after_each(function()
      for _, ctx in ipairs(contexts) do
         ctx:close()
      end
      contexts = {}
      sim.finish()
   end)

   it("counts as the calls of 2.x do", function()
      local old, new = created(), sim.context()
      local a, b = target(), target()
      assert.is_true(call(old, "PFM_WRITE_PMCS", { { num = 4, value = encode(4) },
         { num = 5, value = encode(5, "cycles") } }))
      assert.is_true(call(old, "PFM_WRITE_PMDS", { 4, { num = 5, value = 7 } }))
      assert.is_true(call(old, "PFM_LOAD_CONTEXT", { pid = a }))
      assert.is_true(call(old, "PFM_START"))
      assert(new:write_pmcs { { num = 4, value = encode(4) }, { num = 5, value = encode(5, "cycles") } })
      assert(new:write_pmds { 4, { num = 5, value = 7 } })
      assert(new:load(b) and new:start())
      machine:run { ms = 1 }
      local by_call, by_calls = assert(call(old, "PFM_READ_PMDS", { 4, 5 })), assert(new:read_pmds { 4, 5 })
      assert.same({ 1000, 10007 }, { by_call[1].value, by_call[2].value })
      for i, e in ipairs(by_call) do
         local e2 = by_calls[i]
         assert.same({ e2.num, e2.set, e2.value, e2.last_reset, e2.switch_cnt },
            { e.num, e.set, e.value, e.last_reset_val, e.ovflsw_thres })
      end
      assert.same(old:read_pmds { 4, 5 }, by_calls) -- read_pmds reads a context of perfmonctl, too
   end)

   it("starts, stops, restarts and unloads", function()
      local ctx = created { flags = { "OVFL_NO_MSG" } }
      assert(call(ctx, "WRITE_PMCS", { { num = 4, value = encode(4), flags = { "OVFL_NOTIFY" } } }))
      assert(call(ctx, "WRITE_PMDS", { { num = 4, value = -100, long_reset = -500, short_reset = -5 } }))
      sim.refused("EBUSY", "perfmonctl: PFM_START: the context is not loaded", call(ctx, "PFM_START"))
      assert(call(ctx, "PFM_LOAD_CONTEXT", target()))
      assert(call(ctx, "PFM_START", { set = 0 }))
      machine:run { us = 2 }
      assert.equal(0, sim.value(ctx, 4)) -- masked
      assert(call(ctx, "PFM_RESTART"))
      assert.equal(-500, sim.value(ctx, 4))
      assert(call(ctx, "PFM_STOP"))
      machine:run { us = 2 }
      assert.equal(-500, sim.value(ctx, 4))
      assert(call(ctx, "PFM_UNLOAD_CONTEXT"))
      sim.refused("EBUSY", "not loaded", call(ctx, "PFM_STOP"))
   end)

   it("takes a descriptor, and the command by number or without PFM_", function()
      local ctx = created()
      assert(call(ctx:fd(), lpfm.const.PFM_WRITE_PMDS, { { num = 4, value = 3 } }))
      assert.equal(3, call(ctx:fd(), "READ_PMDS", { 4 })[1].value)
      assert.equal(16, lpfm.const.PFM_LOAD_CONTEXT)
      sim.refused("EBADF", "not a perfmon context", call(0, "PFM_READ_PMDS", { 4 }))
   end)

   it("samples by smpl_pmds of the PMC, and views know the layout", function()
      local ctx = created { format = UUID_06, buf_size = sim.buffer_size(10, 48 + 8, "0.6") }
      assert(call(ctx, "PFM_WRITE_PMCS", {
         { num = 4, value = encode(4), flags = { "OVFL_NOTIFY" }, smpl_pmds = { 5 }, reset_pmds = { 5 },
            smpl_eventid = 9 },
         { num = 5, value = encode(5, "cycles") } }))
      assert(call(ctx, "PFM_WRITE_PMDS", { { num = 4, value = -10, long_reset = -10, short_reset = -10 }, 5 }))
      assert(call(ctx, "PFM_LOAD_CONTEXT", { pid = target() }))
      assert(call(ctx, "PFM_START"))
      assert(machine:run { until_message = ctx })
      local buf = ctx:buffer()
      local n = 0
      for s in buf:samples() do
         n = n + 1
         assert.equal(1, s.pmds)
         assert.equal(100, s[5])
      end
      assert.equal(n, buf:header().count)
      assert.is_true(n >= 10)
      local s = buf:sample(1)
      assert(call(ctx, "PFM_RESTART"))
      assert.has_error(function() return s.ip end, "the sample is stale: the context was restarted")
      assert.equal(0, #buf)
   end)

   it("makes a context with a format by name, UUID or bytes", function()
      assert.equal(8192, created({ format = "default", buf_size = 8192 }):buf_size())
      assert.equal(8192, created({ format = "n-way", buf_size = 8192, regions = 3 }):buf_size())
      assert.equal(0, created():buf_size())
      sim.refused("EINVAL", "no sampling format is called", call(nil, "PFM_CREATE_CONTEXT", { format = "x" }))
      sim.refused("EINVAL", "no sampling format has this UUID",
         call(nil, "PFM_CREATE_CONTEXT", { format = ("ab"):rep(16) }))
      sim.refused("EINVAL", "bytes", call(nil, "PFM_CREATE_CONTEXT", { format = "default", format_arg = "short" }))
      sim.refused("EINVAL", "unknown ctx_flags", call(nil, "PFM_CREATE_CONTEXT", { flags = 2 ^ 30 }))
      assert(lpfm.register_format { name = "own", handler = function() end,
         calls = { arg = function(self) return self.arg end } })
      local ctx = created { format = "own", format_arg = { 5 } }
      assert.same({ 5 }, ctx:ask("arg"))
      ctx:close()
      assert(lpfm.unregister_format("own"))
   end)

   it("has event sets", function()
      local ctx = created()
      local made = assert(call(ctx, "PFM_CREATE_EVTSETS", { { id = 1, flags = { "TIME_SWITCH" }, timeout = 1500000 },
         { id = 2, flags = { "EXPL_NEXT" }, id_next = 1 } }))
      assert.same({ { id = 1, id_next = 0, flags = { "TIME_SWITCH" }, timeout = 2000000 },
         { id = 2, id_next = 1, flags = { "EXPL_NEXT" }, timeout = 0 } }, made)
      local infos = assert(call(ctx, "PFM_GETINFO_EVTSETS", { 1, 2 }))
      for i, info in ipairs(infos) do
         local other = sim.info(ctx, i)
         assert.same({ other.id, other.id_next, other.flags, other.ovfl_pmds, other.runs, other.timeout,
            other.act_duration },
            { info.id, info.id_next, info.flags, info.switch_pmds, info.runs, info.timeout, info.act_duration })
      end
      assert(call(ctx, "PFM_DELETE_EVTSETS", { 2 }))
      sim.refused("EINVAL", "perfmonctl: PFM_GETINFO_EVTSETS: element 2: ",
         call(ctx, "PFM_GETINFO_EVTSETS", { 1, 2 }))
   end)

   it("describes registers and the configuration", function()
      local nums = {}
      for i, reg in ipairs(lpfm.pmds()) do
         nums[i] = reg.num
      end
      for command, list in pairs { PFM_GETINFO_PMCS = lpfm.pmcs(), PFM_GETINFO_PMDS = lpfm.pmds() } do
         for _, reg in ipairs(list) do
            local info = assert(call(nil, command, { reg.num }))[1]
            assert.same({ reg.num, reg.type, reg.def_value, reg.rsvd_mask, reg.index },
               { info.num, info.type, info.def_value, info.rsvd_mask, info.index })
         end
      end
      local cfg, now = lpfm.config(), assert(call(nil, "PFM_GET_CONFIG"))
      for field, value in pairs(now) do
         assert.same(cfg[field], value)
      end
      assert.same(nums, now.impl_pmds)
      assert(call(nil, "PFM_SET_CONFIG", { arg_size_max = 8192 }))
      local changed = lpfm.config()
      assert.equal(8192, changed.arg_size_max)
      assert.equal(cfg.smpl_buf_size_max, changed.smpl_buf_size_max)
      assert(call(nil, "PFM_SET_CONFIG", { arg_size_max = cfg.arg_size_max }))
   end)

   it("names the element that is bad, and has done those before", function()
      local ctx = created()
      sim.refused("EINVAL", "perfmonctl: PFM_WRITE_PMDS: element 2: PMD999 is not available",
         call(ctx, "PFM_WRITE_PMDS", { { num = 4, value = 11 }, { num = 999 } }))
      assert.equal(11, sim.value(ctx, 4))
      sim.refused("EINVAL", "PFM_READ_PMDS: the vector must have at least 1 element", call(ctx, "PFM_READ_PMDS", {}))
      sim.refused("EFAULT", "exceed the limit", call(ctx, "PFM_READ_PMDS", (function()
         local t = {}
         for i = 1, 1000 do
            t[i] = 4
         end
         return t
      end)()))
   end)

   it("raises on misuse", function()
      local ctx = created()
      for _, bad in ipairs {
         { nil, "PFM_STOP" }, { "x", "PFM_STOP" }, { ctx, "PFM_X" }, { ctx, 99 }, { ctx, nil }, { ctx, "PFM_STOP", 1 },
         { ctx, "PFM_WRITE_PMCS" }, { ctx, "PFM_WRITE_PMCS", { 4 } }, { ctx, "PFM_WRITE_PMDS", { { num = 4, x = 1 } } },
         { ctx, "PFM_WRITE_PMDS", { { num = 4, last_reset_val = 1 } } }, { ctx, "PFM_LOAD_CONTEXT" },
         { ctx, "PFM_LOAD_CONTEXT", {} }, { nil, "PFM_SET_CONFIG" }, { nil, "PFM_CREATE_CONTEXT", 1 },
         { 0.5, "PFM_STOP" },
         { ctx, "PFM_CREATE_EVTSETS", { { id = 1, timeout = -1 } } },
      } do
         assert.has_error(function() call(bad[1], bad[2], bad[3]) end)
      end
      ctx:close()
      assert.has_error(function() call(ctx, "PFM_STOP") end, "the context is closed")
   end)
end)
