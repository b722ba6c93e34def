-- SPDX-License-Identifier: MIT
-- The paper on version 2.2, section 8: fast user-level PMD read. spec/vm/tests/view.c tests
-- running counters of the reading thread, which the simulated computer does not have.
local lpfm = require "lpfm"
local sim = require "support.sim"

local VIEWED = { flags = { "MAP_SETS" } }

-- Asserts that a view and the call read the same; returns the values.
local function agree(ctx, view, nums, set)
   local values = { view:read(unpack(nums)) }
   for i, num in ipairs(nums) do
      assert.are.equal(sim.value(ctx, num, set), values[i])
   end
   return unpack(values)
end

describe("8 Fast user-level PMD read", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("'Re-mapping has to be requested when the context is created'", function()
      sim.machine()
      sim.refused("EINVAL", "the context was created without MAP_SETS", sim.context():view())
      assert(sim.context(VIEWED):view())
   end)

   it("'When a set is created a special cookie value is passed back', which differs from set to set", function()
      sim.machine()
      local ctx, seen = sim.context(VIEWED), {}
      assert(ctx:create_evtsets { { id = 1 }, { id = 65535 } })
      for _, id in ipairs { 0, 1, 65535 } do
         local offset = sim.info(ctx, id).mmap_offset
         assert.is_true(offset > 0 and not seen[offset])
         seen[offset] = true
         assert.are.equal(id, assert(ctx:view(id)).set)
      end
      assert.are.equal(0, sim.info(sim.context()).mmap_offset)
      sim.refused("EINVAL", "set 7 does not exist", ctx:view(7))
   end)

   it("'the 64-bit software value of each PMD register': what was written, before anything counts", function()
      sim.machine()
      local ctx = sim.context(VIEWED)
      local view = assert(ctx:view())
      sim.count(ctx, 4, "cycles", { value = -1000 })
      assert(ctx:write_pmds { { num = 5, value = "0x123456789abcdef0" } })
      assert.are.equal(-1000, (agree(ctx, view, { 4 })))
      assert.is_true(view:read(5) == lpfm.u64("0x123456789abcdef0"))
      assert.is_true(view.direct)
   end)

   it("'a full 64-bit value to be reconstructed': upper bits that the hardware has not, too", function()
      local m = sim.machine("p6") -- the model has counters of 40 bits
      local ctx = sim.count(sim.context(VIEWED), 0, "instructions", { value = 2 ^ 40 - 500 })
      local view = assert(ctx:view())
      sim.start(ctx, m:spawn { program = sim.work(1000) })
      assert(m:run { us = 9 })
      assert.are.equal(2 ^ 40 - 500 + 900, (agree(ctx, view, { 0 })))
   end)

   it("tells while it counts what the call tells, after every stretch of time", function()
      local m = sim.machine()
      local ctx = sim.count(sim.context(VIEWED), 4, "instructions")
      sim.count(ctx, 5, "cycles")
      local view = assert(ctx:view())
      assert(ctx:load(m:spawn { program = sim.work(1000) }) and ctx:start())
      for i = 1, 50 do
         assert(m:run { ns = 70 })
         local instructions = view:read(4)
         assert.are.equal(7 * i, instructions)
         agree(ctx, view, { 4, 5 })
      end
      assert(ctx:stop())
      assert(m:run { ns = 70 })
      assert.are.equal(350, (agree(ctx, view, { 4 })))
      assert(ctx:unload())
      assert.are.equal(350, (agree(ctx, view, { 4 })))
   end)

   it("'a status bit indicating whether the set is the active set or not', and 2.2's count of its runs", function()
      local m = sim.machine("itanium2", { timer_ns = 100 })
      local ctx, views = sim.context(VIEWED), {}
      for id = 0, 2 do
         assert(ctx:create_evtsets { { id = id, flags = { "TIME_SWITCH" }, timeout = 100 } })
         sim.count(ctx, 4, "instructions", { set = id })
         views[id] = assert(ctx:view(id))
      end
      assert(ctx:load(m:spawn { program = sim.work(1000) }) and ctx:start())
      for i = 0, 20 do
         for id = 0, 2 do
            assert.are.equal(i % 3 == id, views[id].active)
            assert.are.equal(sim.info(ctx, id).runs, views[id].runs)
         end
         assert(m:run { ns = 100 })
      end
   end)

   it("'For non-active sets, the re-mapped value is the up-to-date full 64-bit value'", function()
      local m = sim.machine("itanium2", { timer_ns = 100 })
      local ctx, views = sim.context(VIEWED), {}
      for id = 0, 1 do
         assert(ctx:create_evtsets { { id = id, flags = { "TIME_SWITCH" }, timeout = 100 * (id + 1) } })
         sim.count(ctx, 4, "instructions", { set = id })
         views[id] = assert(ctx:view(id))
      end
      assert(ctx:load(m:spawn { program = sim.work(1000) }) and ctx:start())
      for _ = 1, 40 do
         assert(m:run { ns = 50 })
         for id = 0, 1 do
            agree(ctx, views[id], { 4 }, id)
         end
      end
      assert(ctx:write_pmds { { num = 4, set = views[0].active and 1 or 0, value = 12345 } })
      assert.are.equal(12345, (views[views[0].active and 1 or 0]:read(4)))
   end)

   it("reads what has no value of its own by a call, and says so", function()
      local m = sim.machine()
      local ctx = sim.context(VIEWED)
      local view = assert(ctx:view())
      assert.is_true(view.direct)
      -- set 0 now uses the time stamp, PMD80
      assert(ctx:write_pmds { { num = 4, value = 0, smpl_pmds = { 80 } } })
      assert.is_false(view.direct)
      assert(m:run { ns = 10 })
      assert.are.equal(sim.value(ctx, 80), (view:read(80)))
      sim.refused("EINVAL", "PMD319 is not available", view:read(319))
   end)

   it("is open as long as its context and its set", function()
      sim.machine()
      local ctx = sim.context(VIEWED)
      assert(ctx:create_evtsets { { id = 3 } })
      local view, of_3 = assert(ctx:view()), assert(ctx:view(3))
      assert(ctx:delete_evtsets { 3 })
      sim.refused("EINVAL", "set 3 does not exist", of_3:read(4))
      ctx:close()
      assert.has_error(function() view:read(4) end, "the context is closed")
      assert.has_error(function() return view.direct end, "the context is closed")
      assert.are.equal("lpfm.view (closed)", tostring(view))
   end)

   it("takes numbers of PMDs, and no others", function()
      sim.machine()
      local view = assert(sim.context(VIEWED):view())
      for _, bad in ipairs { -1, 320, 1.5, "x" } do
         assert.has_error(function() view:read(bad) end)
      end
      assert.has_error(function() view:read() end, "read: 1 to 16 PMDs expected, got 0")
   end)

   it("keeps views apart from their context's life in any order of collection", function()
      sim.machine()
      for i = 1, 100 do
         local ctx = assert(lpfm.create(VIEWED))
         local view = assert(ctx:view())
         if i % 2 == 0 then ctx:close() end
         if i % 3 == 0 then view = nil end
         if i % 5 > 0 then ctx = nil end
         collectgarbage()
         assert.is_true(view == nil or i % 2 == 0 or view:read(4) == 0)
         if ctx then ctx:close() end
      end
   end)

   it("in LuaJIT gives the same through pfm.ffi", function()
      if not rawget(_G, "jit") then
         return pending("this is PUC Lua")
      end
      local m = sim.machine()
      local ctx = sim.count(sim.context(VIEWED), 4, "instructions")
      local view = assert(require("pfm.ffi").context(ctx):view())
      assert(ctx:load(m:spawn { program = sim.work(1000) }) and ctx:start())
      for i = 1, 200 do
         assert(m:run { ns = 10 })
         assert.are.equal(i, (view:read(4)))
      end
      assert.is_true(view.active and view.direct)
      assert.has_error(function() view:read() end, "read: 1 to 16 PMDs expected, got 0")
      assert.has_error(function() view:read(320) end, "read: PMD: integer from 0 to 319 expected, got 320")
      sim.refused("EINVAL", "PMD319 is not available", view:read(319))
      ctx:close()
      assert.has_error(function() view:read(4) end, "the context is closed")
   end)
end)

describe("8 Fast user-level PMD read, on a real machine", function()
   local ctx
   before_each(function()
      assert(lpfm.machine(require "support.real"))
      ctx = assert(lpfm.create(VIEWED))
      assert(ctx:write_pmcs { { num = 66, value = 8 } })
   end)
   after_each(function()
      ctx:close()
   end)

   it("reads software counters by a call while they count, and from the page when they stand still", function()
      local view = assert(ctx:view())
      assert(ctx:write_pmds { { num = 66, value = 41 } })
      assert.are.equal(41, (view:read(66)))
      assert.is_true(view.direct)
      assert(ctx:load() and ctx:start())
      assert.is_false(view.direct)
      local first = view:read(66)
      local t = {}
      for i = 1, 1e6 do t[i] = i end
      assert.is_true(#t == 1e6 and view:read(66) > first)
      assert(ctx:stop())
      assert.is_true(view.direct)
      assert.are.equal(ctx:read_pmds { 66 }[1].value, (view:read(66)))
   end)
end)
