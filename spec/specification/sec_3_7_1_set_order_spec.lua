-- SPDX-License-Identifier: MIT
-- Specification 3.7.1 - 3.7.5: event sets, and the order in which they are switched.
local sim = require "support.sim"

-- Makes sets, {id=, next=} or id, each of which switches after an instruction of 10 ns, by PMD4.
local function chain(sets, first)
   local m = sim.machine()
   local ctx = sim.context()
   for _, set in ipairs(sets) do
      set = type(set) == "table" and set or { id = set }
      assert(ctx:create_evtsets { { id = set.id, id_next = set.next,
         flags = set.next and { "OVFL_SWITCH", "EXPL_NEXT" } or { "OVFL_SWITCH" } } })
      sim.count(ctx, 4, "instructions", { set = set.id, value = -1, short_reset = -1, switch_cnt = 1 })
   end
   local tid = m:spawn { program = sim.work(10000) }
   sim.start(ctx, tid, first)
   return m, ctx
end

-- Returns the active set at the start and after each of n instructions, by the sets' runs.
local function order(m, ctx, ids, n)
   local before, visited = {}, {}
   for _, id in ipairs(ids) do
      before[id] = 0
   end
   for i = 0, n do
      if i > 0 then
         assert(m:run { ns = 10 })
      end
      for _, id in ipairs(ids) do
         local runs = sim.info(ctx, id).runs
         if runs > before[id] then
            assert.are.equal(before[id] + 1, runs)
            visited[#visited + 1] = id
            before[id] = runs
         end
      end
   end
   return visited
end

describe("3.7.1 Definition of an event set", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("'includes the values for all PMC and PMD registers': each set has its own, of every register", function()
      local m = sim.machine("itanium2", { timer_ns = 100 })
      local ctx = sim.context()
      local events = { [0] = "instructions", [1] = "cycles", [2] = "loads" }
      for id = 0, 2 do
         assert(ctx:create_evtsets { { id = id, flags = { "TIME_SWITCH" }, timeout = 100 } })
         sim.count(ctx, 4, events[id], { set = id, value = 1000 * id })
         assert(ctx:write_pmds { { num = 8, set = id, value = id + 70 } })
      end
      sim.start(ctx, m:spawn { program = sim.work(1000, { loads = 3, cycles = 10, instructions = 1 }) })
      assert(m:run { us = 3 }) -- 10 slices of 100 ns each
      assert.are.same({ 100, 2000, 2300 },
         { sim.value(ctx, 4, 0), sim.value(ctx, 4, 1), sim.value(ctx, 4, 2) })
      assert.are.same({ 70, 71, 72 }, { sim.value(ctx, 8, 0), sim.value(ctx, 8, 1), sim.value(ctx, 8, 2) })
   end)

   it("figure 3.31: 7 events on 3 counters (here more on 4): 'Each set accommodates as many counters as' there are",
      function()
         local m = sim.machine("itanium2", { timer_ns = 100 })
         local ctx = sim.context()
         for id = 0, 2 do
            assert(ctx:create_evtsets { { id = id, flags = { "TIME_SWITCH" }, timeout = 100 } })
            for num = 4, 7 do
               sim.count(ctx, num, "instructions", { set = id })
            end
         end
         sim.start(ctx, m:spawn { program = sim.work(1000) })
         assert(m:run { us = 6 })
         for id = 0, 2 do
            for num = 4, 7 do
               assert.are.equal(200, sim.value(ctx, num, id))
            end
         end
      end)
end)

describe("3.7.4 Operating on event sets", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("'Each of these operation can only be executed when the context is detached'", function()
      local m, ctx = chain { 0, 1 }
      assert(m:run { ns = 10 })
      sim.refused("EBUSY", "while the context is loaded", ctx:create_evtsets { { id = 2 } })
      sim.refused("EBUSY", "while the context is loaded", ctx:create_evtsets { { id = 1 } })
      sim.refused("EBUSY", "while the context is loaded", ctx:delete_evtsets { 1 })
      assert(ctx:unload())
      assert(ctx:create_evtsets { { id = 2 }, { id = 1 } })
      assert(ctx:delete_evtsets { 1 })
   end)
end)

describe("3.7.5 Creating event sets", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("'ranging from 0 to 65535': both ends, and nothing beyond", function()
      local ctx = sim.context()
      assert(ctx:create_evtsets { { id = 65535 }, { id = 1 } })
      assert.are.equal(65535, sim.info(ctx, 65535).id)
      assert.has_error(function() ctx:create_evtsets { { id = 65536 } } end)
      assert.has_error(function() ctx:create_evtsets { { id = -1 } } end)
   end)

   it("'the initial set ... is always assigned the number 0. Set0 cannot be deleted'", function()
      local ctx = sim.context()
      assert.are.same({ 0, {}, 0, 0 }, { sim.info(ctx).id, sim.info(ctx).flags, sim.info(ctx).runs,
         sim.info(ctx).timeout })
      sim.refused("EINVAL", "set 0 cannot be deleted", ctx:delete_evtsets { 0 })
   end)

   it("figure 3.33: set5 is inserted, then set3: 'in increasing set identification number', 0, 3, 5, 0", function()
      local m, ctx = chain { 0, 5, 3 }
      assert.are.same({ 0, 3, 5, 0, 3, 5, 0 }, order(m, ctx, { 0, 3, 5 }, 6))
   end)

   it("'Switching always happens in a round-robin fashion', wherever it begins", function()
      local m, ctx = chain({ 300, 2, 65535, 0, 256 }, 300)
      assert.are.same({ 300, 65535, 0, 2, 256, 300, 65535 }, order(m, ctx, { 0, 2, 256, 300, 65535 }, 6))
   end)

   it("figure 3.34: 0-5 and 8-11, 'two groups, or sublists', selected with PFM_LOAD_CONTEXT", function()
      local sets = { 0, { id = 5, next = 0 }, 8, { id = 11, next = 8 } }
      local m, ctx = chain(sets)
      assert.are.same({ 0, 5, 0, 5, 0 }, order(m, ctx, { 0, 5, 8, 11 }, 4))
      m, ctx = chain(sets, 8)
      assert.are.same({ 8, 11, 8, 11, 8 }, order(m, ctx, { 0, 5, 8, 11 }, 4))
   end)

   it("... or PFM_START", function()
      local m, ctx = chain { 0, { id = 5, next = 0 }, 8, { id = 11, next = 8 } }
      assert(ctx:stop())
      assert(ctx:start(11))
      assert.are.equal(1, sim.info(ctx, 11).runs)
      assert(m:run { ns = 40 })
      assert.are.same({ 1, 0, 2, 3 }, { sim.info(ctx, 0).runs, sim.info(ctx, 5).runs, sim.info(ctx, 8).runs,
         sim.info(ctx, 11).runs })
   end)

   it("'an explicit link does not have to be going backward, any set number is accepted'", function()
      local m, ctx = chain { { id = 0, next = 7 }, 3, { id = 7, next = 7 } }
      assert.are.same({ 0, 7, 7, 7 }, order(m, ctx, { 0, 3, 7 }, 3))
   end)

   it("'... as long as the set exists when the context is attached'", function()
      local m = sim.machine()
      local tid = m:spawn { program = sim.work(10) }
      local ctx = sim.context()
      assert(ctx:create_evtsets { { id = 1, flags = { "EXPL_NEXT" }, id_next = 99 } })
      sim.refused("EINVAL", "set 1 goes on to set 99, which does not exist", ctx:load(tid))
      assert(ctx:create_evtsets { { id = 99 } })
      assert(ctx:load(tid))
   end)
end)
