-- SPDX-License-Identifier: MIT
-- Sections 3.1.10 to 3.1.12: PFM_CREATE_EVTSETS, PFM_DELETE_EVTSETS, PFM_GETINFO_EVTSETS.
local c = require "support.c"
local sim = require "support.sim"

local runs = sim.runs

-- Loads ctx on a thread of 10 ms, with this set first, starts ctx, and runs the machine for ns.
local function run(m, ctx, ns, set)
   local tid = m:spawn { program = sim.work(1000000) }
   sim.start(ctx, tid, set)
   assert(m:run { ns = ns })
   return tid
end

describe("3.1.10 PFM_CREATE_EVTSETS", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("'More than one event set can be created or modified in one call'", function()
      local ctx = sim.context()
      assert(ctx:create_evtsets { { id = 3 }, { id = 0, flags = { "EXPL_NEXT" }, id_next = 3 }, { id = 9 } })
      local infos = assert(ctx:getinfo_evtsets { 0, 3, 9 })
      assert.are.same({ 0, 3, 9 }, { infos[1].id, infos[2].id, infos[3].id })
      assert.are.same({ "EXPL_NEXT" }, infos[1].flags)
   end)

   it("set_id_next 'is ignored unless the PFM_SETFL_EXPL_NEXT flag is set'", function()
      local m = sim.machine("itanium2", { timer_ns = 100 })
      local ctx = sim.context()
      assert(ctx:create_evtsets { { id = 0, flags = { "TIME_SWITCH" }, timeout = 100, id_next = 77 }, { id = 1 } })
      run(m, ctx, 150) -- set 77 does not exist, but is not looked at
      assert.are.same({ 1, 1 }, runs(ctx, 0, 1))
   end)

   it("set_flags: 'The bits which are not defined are reserved and must be cleared'", function()
      local ctx = sim.context()
      for _, flags in ipairs { 0x20, 0x40, 0x8000, 0x80000, 0x1000000 } do
         sim.refused("EINVAL", "unknown set_flags", ctx:create_evtsets { { id = 1, flags = flags } })
      end
      sim.refused("EINVAL", "does not exist", ctx:getinfo_evtsets { 1 })
   end)

   it("set_flags: 'platform specific' ones are unknown elsewhere", function()
      sim.machine("itanium2")
      local ctx = sim.context { flags = { "SYSTEM_WIDE" } }
      assert(ctx:create_evtsets { { id = 1, flags = { "EXCL_INTR" } }, { id = 2, flags = { "INTR_ONLY" } } })
      sim.machine("p6")
      ctx = sim.context { flags = { "SYSTEM_WIDE" } }
      sim.refused("EINVAL", "unknown set_flags", ctx:create_evtsets { { id = 1, flags = { "EXCL_INTR" } } })
   end)

   it("PFM_SETFL_EXCL_IDLE: 'the idle thread is not monitored'", function()
      for _, flags in ipairs { { "EXCL_IDLE" }, {} } do
         local m = sim.machine()
         m:spawn { program = sim.work(50) }
         local ctx = sim.context { flags = { "SYSTEM_WIDE" } }
         assert(ctx:create_evtsets { { id = 0, flags = flags } })
         sim.count(ctx, 4, "instructions")
         sim.start(ctx, 0)
         assert(m:run { us = 1 })
         assert.are.equal(50 + (flags[1] and 0 or m:truth({ idle = 0 }).instructions.total), sim.value(ctx, 4))
      end
   end)

   it("... 'is ignored for per-thread sessions'", function()
      local m = sim.machine()
      local ctx = sim.context()
      assert(ctx:create_evtsets { { id = 0, flags = { "EXCL_IDLE" } } })
      sim.count(ctx, 4, "instructions")
      run(m, ctx, 100)
      assert.are.equal(10, sim.value(ctx, 4))
   end)

   it("PFM_SETFL_OVFL_SWITCH and PFM_SETFL_TIME_SWITCH: a set is 'either' in one mode or the other", function()
      local ctx = sim.context()
      sim.refused("EINVAL", "exclude each other",
         ctx:create_evtsets { { id = 1, flags = { "OVFL_SWITCH", "TIME_SWITCH" }, timeout = 1 } })
   end)

   it("set_timeout: 'effective timeout ... guaranteed to be greater or equal', 'rounded up to the next multiple'",
      function()
         for _, case in ipairs { { 100, 15000000, 20000000 }, { 1000, 1, 1000000 }, { 1000, 1000000, 1000000 },
            { 1000, 1000001, 2000000 }, { 1000000000, 7, 7 } } do
            sim.machine("itanium2", { hz = case[1] })
            local ctx = sim.context()
            local effective = assert(ctx:create_evtsets { { id = 1, flags = { "TIME_SWITCH" }, timeout = case[2] } })
            assert.are.same({ case[3] }, effective)
            assert.are.equal(case[3], sim.info(ctx, 1).timeout)
         end
      end)

   it("set_timeout: 0 with TIME_SWITCH is no timeout, one of 2^63 ns and more none that can be had", function()
      local ctx = sim.context()
      sim.refused("EINVAL", "needs a timeout", ctx:create_evtsets { { id = 1, flags = { "TIME_SWITCH" } } })
      -- Rounded up, the last one is too long, too.
      for _, timeout in ipairs { "0xffffffffffffffff", "0x8000000000000000", "0x7fffffffffffffff" } do
         sim.refused("EINVAL", "too long",
            ctx:create_evtsets { { id = 1, flags = { "TIME_SWITCH" }, timeout = timeout } })
      end
   end)

   it("... 'only used when the PFM_SETFL_TIME_SWITCH flag is set. Otherwise, it is ignored'", function()
      local m = sim.machine("itanium2", { timer_ns = 100 })
      local ctx = sim.context()
      assert(ctx:create_evtsets { { id = 0, timeout = 100 }, { id = 1, flags = { "OVFL_SWITCH" }, timeout = 100 } })
      run(m, ctx, 1000)
      assert.are.same({ 1, 0 }, runs(ctx, 0, 1))
      assert.are.same({ 0, 0 }, { sim.info(ctx, 0).timeout, sim.info(ctx, 1).timeout })
   end)

   it("'All other sets must be explicitly created by the application'", function()
      local ctx = sim.context()
      for _, id in ipairs { 1, 2, 255, 256, 65535 } do
         sim.refused("EINVAL", "does not exist", ctx:getinfo_evtsets { id })
      end
   end)

   it("'If the set already exists, its properties are modified'; registers and statistics are kept", function()
      local m = sim.machine("itanium2", { timer_ns = 100 })
      local ctx = sim.count(sim.context(), 4, "instructions")
      local tid = run(m, ctx, 100)
      assert(ctx:unload())
      assert(ctx:create_evtsets { { id = 0, flags = { "TIME_SWITCH" }, timeout = 1000 }, { id = 1 } })
      assert.are.equal(10, sim.value(ctx, 4))
      assert.are.same({ 1, 100 }, { sim.info(ctx).runs, sim.info(ctx).act_duration })
      sim.start(ctx, tid)
      assert(m:run { ns = 100 })
      assert.are.equal(20, sim.value(ctx, 4))
   end)

   it("'It is only possible to create event sets when the context is detached', nor to modify", function()
      local m = sim.machine()
      local ctx = sim.context()
      run(m, ctx, 10)
      sim.refused("EBUSY", "while the context is loaded", ctx:create_evtsets { { id = 0 } })
      sim.refused("EBUSY", "while the context is loaded", ctx:create_evtsets { { id = 1 } })
      assert(ctx:unload())
      assert(ctx:create_evtsets { { id = 0 }, { id = 1 } })
   end)

   it("'Theoretically, the maximum number of sets is 65536, including set0': all of them", function()
      local ctx = sim.context()
      for first = 0, 65535, 64 do
         local v = {}
         for id = first, first + 63 do
            v[#v + 1] = { id = id }
         end
         assert(ctx:create_evtsets(v))
      end
      assert.are.same({ 0, 65535 }, { sim.info(ctx, 0).id, sim.info(ctx, 65535).id })
   end)

   it("'Set identifications do not need to be contiguous'; 'ordered in increasing value', 'round-robin'", function()
      local m = sim.machine("itanium2", { timer_ns = 100 })
      local ctx = sim.context()
      local ids = { 700, 3, 65535, 0, 256 } -- not in the order of their numbers
      for _, id in ipairs(ids) do
         assert(ctx:create_evtsets { { id = id, flags = { "TIME_SWITCH" }, timeout = 100 } })
         sim.count(ctx, 4, "instructions", { set = id })
      end
      run(m, ctx, 50)
      for _, id in ipairs { 0, 3, 256, 700, 65535, 0 } do
         local before = sim.value(ctx, 4, id)
         assert(m:run { ns = 20 })
         assert.are.equal(before + 2, sim.value(ctx, 4, id), "set " .. id)
         assert(m:run { ns = 80 })
      end
   end)

   it("PFM_SETFL_EXPL_NEXT: 'the next set is indicated by the set_id_next and not by the ... list'", function()
      local m = sim.machine("itanium2", { timer_ns = 100 })
      local ctx = sim.context()
      local T, E = "TIME_SWITCH", "EXPL_NEXT"
      assert(ctx:create_evtsets { { id = 0, flags = { T, E }, timeout = 100, id_next = 2 },
         { id = 1, flags = { T }, timeout = 100 }, { id = 2, flags = { T, E }, timeout = 100, id_next = 0 } })
      run(m, ctx, 450)
      assert.are.same({ 3, 0, 2 }, runs(ctx, 0, 1, 2))
   end)

   it("'it is possible to specify a set which has not yet been created. The checking is deferred' until the load",
      function()
         local m = sim.machine()
         local tid = m:spawn { program = sim.work(10) }
         local ctx = sim.context()
         assert(ctx:create_evtsets { { id = 0, flags = { "EXPL_NEXT" }, id_next = 12 } })
         sim.refused("EINVAL", "set 0 goes on to set 12", ctx:load(tid))
         assert(ctx:create_evtsets { { id = 12 } })
         assert(ctx:load(tid))
      end)

   it("'The initial set, set0 is created such that there is no switching from the set'", function()
      local m = sim.machine("itanium2", { timer_ns = 100 })
      local ctx = sim.context()
      assert(ctx:create_evtsets { { id = 1 } })
      sim.count(ctx, 4, "instructions", { value = -10, short_reset = -10, switch_cnt = 1 })
      run(m, ctx, 10000)
      assert.are.same({ 1, 0 }, runs(ctx, 0, 1))
   end)

   it("'some sets may be using time-based switching while others are using overflow-based switching'", function()
      local m = sim.machine("itanium2", { timer_ns = 100 })
      local ctx = sim.context()
      assert(ctx:create_evtsets { { id = 0, flags = { "TIME_SWITCH" }, timeout = 300 },
         { id = 1, flags = { "OVFL_SWITCH" } } })
      sim.count(ctx, 4, "instructions", { set = 1, value = -20, short_reset = -20, long_reset = -20, switch_cnt = 1 })
      run(m, ctx, 1000) -- 300 in set 0, 200 in set 1
      assert.are.same({ 3, 2 }, runs(ctx, 0, 1))
      assert.are.same({ 600, 400 }, { sim.info(ctx, 0).act_duration, sim.info(ctx, 1).act_duration })
   end)

   it("'In per-thread mode, the timeout only is active only when the monitored thread is active'", function()
      local m = sim.machine("itanium2", { timer_ns = 100 })
      local ctx = sim.context()
      assert(ctx:create_evtsets { { id = 0, flags = { "TIME_SWITCH" }, timeout = 200 }, { id = 1 } })
      local tid = m:spawn { program = { { loop = 15, { ip = 0x1000, ns = 10 } }, { sleep = 5000 },
         { loop = 15, { ip = 0x2000, ns = 10 } } } }
      sim.start(ctx, tid)
      assert(m:run { ns = 5100 })
      assert.are.same({ 1, 0 }, runs(ctx, 0, 1))
      assert.are.equal(50, sim.info(ctx).timeout)
      assert(m:run { ns = 100 })
      assert.are.same({ 1, 1 }, runs(ctx, 0, 1))
   end)

   it("'each implementation may limit the number of elements': 64 of 64 bytes", function()
      local ctx, v = sim.context(), {}
      for i = 1, 65 do
         v[i] = { id = i }
      end
      sim.refused("E2BIG", "65 elements", ctx:create_evtsets(v))
      sim.refused("EINVAL", "does not exist", ctx:getinfo_evtsets { 1 })
      sim.refused("EINVAL", "at least 1 element", ctx:create_evtsets {})
   end)

   it("'The command aborts at the first error': sets before are there, those beyond are not", function()
      local ctx = sim.context()
      sim.refused("EINVAL", "element 2", ctx:create_evtsets { { id = 1 }, { id = 2, flags = 0x20 }, { id = 3 } })
      assert.are.equal(1, sim.info(ctx, 1).id)
      sim.refused("EINVAL", "does not exist", ctx:getinfo_evtsets { 2 })
      sim.refused("EINVAL", "does not exist", ctx:getinfo_evtsets { 3 })
   end)

   it("through perfmonctl(): timespec, flags, errors", function()
      local out, status = c.sh(c.compile("perfmonctl_errors") .. " 3.1.10")
      assert.are.equal(0, status, out)
   end)
end)

describe("3.1.11 PFM_DELETE_EVTSETS", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("'More than one event set can be deleted in one call'", function()
      local ctx = sim.context()
      assert(ctx:create_evtsets { { id = 1 }, { id = 2 }, { id = 300 } })
      assert(ctx:delete_evtsets { 300, 1 })
      assert.are.equal(2, sim.info(ctx, 2).id)
      for _, id in ipairs { 1, 300 } do
         sim.refused("EINVAL", "does not exist", ctx:getinfo_evtsets { id })
      end
   end)

   it("'can only be issued when the context is detached': EBUSY", function()
      local m = sim.machine()
      local ctx = sim.context()
      assert(ctx:create_evtsets { { id = 1 } })
      run(m, ctx, 10)
      sim.refused("EBUSY", "while the context is loaded", ctx:delete_evtsets { 1 })
      assert(ctx:unload())
      assert(ctx:delete_evtsets { 1 })
   end)

   it("'It is not possible to delete set0'; 'there is always at least one event set'", function()
      local ctx = sim.context()
      assert(ctx:create_evtsets { { id = 1 }, { id = 2 } })
      sim.refused("EINVAL", "element 2: set 0 cannot be deleted", ctx:delete_evtsets { 1, 0, 2 })
      sim.refused("EINVAL", "does not exist", ctx:getinfo_evtsets { 1 })
      assert(ctx:getinfo_evtsets { 0, 2 })
   end)

   it("'Removing event sets may break the chain ... only verified when the context is attached'", function()
      local m = sim.machine()
      local tid = m:spawn { program = sim.work(10) }
      local ctx = sim.context()
      assert(ctx:create_evtsets { { id = 0, flags = { "EXPL_NEXT" }, id_next = 1 }, { id = 1 } })
      assert(ctx:delete_evtsets { 1 })
      sim.refused("EINVAL", "set 0 goes on to set 1, which does not exist", ctx:load(tid))
   end)

   it("a set that does not exist: EINVAL; those before it are gone, those beyond stay", function()
      local ctx = sim.context()
      assert(ctx:create_evtsets { { id = 1 }, { id = 2 } })
      sim.refused("EINVAL", "element 2: set 5 does not exist", ctx:delete_evtsets { 1, 5, 2 })
      sim.refused("EINVAL", "does not exist", ctx:getinfo_evtsets { 1 })
      assert(ctx:getinfo_evtsets { 2 })
   end)

   it("what a deleted set had is gone: created again it is new, its registers and statistics too", function()
      local m = sim.machine()
      local ctx = sim.context()
      assert(ctx:create_evtsets { { id = 1 } })
      sim.count(ctx, 4, "instructions", { set = 1 })
      run(m, ctx, 100, 1)
      assert(ctx:unload())
      assert.are.equal(10, sim.value(ctx, 4, 1))
      assert(ctx:delete_evtsets { 1 })
      sim.refused("EINVAL", "set 1 does not exist", ctx:read_pmds { { num = 4, set = 1 } })
      assert(ctx:create_evtsets { { id = 1 } })
      assert.are.equal(0, sim.value(ctx, 4, 1))
      assert.are.same({ 0, 0 }, { sim.info(ctx, 1).runs, sim.info(ctx, 1).act_duration })
      run(m, ctx, 100) -- the last active set was deleted: set 0 is active
      assert.are.same({ 1, 0 }, runs(ctx, 0, 1))
   end)

   it("through perfmonctl(): ignored fields, flags, errors", function()
      local out, status = c.sh(c.compile("perfmonctl_errors") .. " 3.1.11")
      assert.are.equal(0, status, out)
   end)
end)

describe("3.1.12 PFM_GETINFO_EVTSETS", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("set_flags: 'the flag values that were passed when the set was created or last modified'", function()
      local ctx = sim.context()
      assert(ctx:create_evtsets { { id = 1, flags = { "TIME_SWITCH", "EXPL_NEXT" }, timeout = 1, id_next = 0 } })
      assert.are.same({ "TIME_SWITCH", "EXPL_NEXT" }, sim.info(ctx, 1).flags)
      assert(ctx:create_evtsets { { id = 1, flags = { "OVFL_SWITCH" } } })
      assert.are.same({ "OVFL_SWITCH" }, sim.info(ctx, 1).flags)
   end)

   it("set_switch_pmds: 'the last overflowed PMD registers which caused a switch from this set'", function()
      local m = sim.machine()
      local ctx = sim.context()
      assert(ctx:create_evtsets { { id = 0, flags = { "OVFL_SWITCH" } }, { id = 1 } })
      sim.count(ctx, 4, "instructions", { value = -10, switch_cnt = 1 })
      -- PMD5 overflows at the same instruction as PMD4.
      sim.count(ctx, 5, "cycles", { value = -100, switch_cnt = 1 })
      sim.count(ctx, 6, "instructions", { value = -10, switch_cnt = 2 })
      sim.count(ctx, 7, "instructions", { value = -10 })
      run(m, ctx, 90)
      assert.are.same({}, sim.info(ctx).ovfl_pmds)
      assert(m:run { ns = 100 })
      assert.are.same({ 4, 5 }, sim.info(ctx).ovfl_pmds)
      assert.are.same({}, sim.info(ctx, 1).ovfl_pmds)
      assert(ctx:unload())
      assert.are.same({ 4, 5 }, sim.info(ctx).ovfl_pmds)
   end)

   it("... recorded 'as part of the switch' (3.7.6): not yet, or never, where a mask defers it", function()
      local m = sim.machine("itanium2", { timer_ns = 100 })
      local ctx = sim.context()
      assert(ctx:create_evtsets { { id = 0, flags = { "OVFL_SWITCH" } }, { id = 1 } })
      sim.count(ctx, 4, "instructions", { value = -10, long_reset = -10, switch_cnt = 1, flags = { "OVFL_NOTIFY" } })
      run(m, ctx, 100)
      assert.are.same({}, sim.info(ctx).ovfl_pmds)
      assert(ctx:restart())
      assert.are.same({ 4 }, sim.info(ctx).ovfl_pmds)
      assert(ctx:unload())
      assert(ctx:write_pmds { { num = 4, value = -10, switch_cnt = 1, flags = { "OVFL_NOTIFY" } } })
      run(m, ctx, 100)
      assert(ctx:start(1)) -- the deferred switch is forgotten
      assert.are.same({}, sim.info(ctx).ovfl_pmds)
   end)

   it("... 'is systematically reset when the context is attached': all-zero after PFM_LOAD_CONTEXT", function()
      local m = sim.machine()
      local ctx = sim.context()
      assert(ctx:create_evtsets { { id = 0, flags = { "OVFL_SWITCH" } }, { id = 1 } })
      sim.count(ctx, 4, "instructions", { value = -10, switch_cnt = 1 })
      local tid = run(m, ctx, 100)
      assert.are.same({ 4 }, sim.info(ctx).ovfl_pmds)
      assert(ctx:unload())
      assert(ctx:load(tid))
      assert.are.same({}, sim.info(ctx).ovfl_pmds)
   end)

   it("... 'When time-based switching is used, this vector is all zeroes'", function()
      local m = sim.machine("itanium2", { timer_ns = 100 })
      local ctx = sim.context()
      assert(ctx:create_evtsets { { id = 0, flags = { "TIME_SWITCH" }, timeout = 200 }, { id = 1 } })
      sim.count(ctx, 4, "instructions", { value = -10, switch_cnt = 1 })
      run(m, ctx, 250)
      assert.are.same({ 1, 1 }, runs(ctx, 0, 1))
      assert.are.same({}, sim.info(ctx).ovfl_pmds)
   end)

   it("... also for a set that used overflow-based switching before it was modified", function()
      local m = sim.machine("itanium2", { timer_ns = 100 })
      local ctx = sim.context()
      assert(ctx:create_evtsets { { id = 0, flags = { "OVFL_SWITCH" } }, { id = 1 } })
      sim.count(ctx, 4, "instructions", { value = -10, switch_cnt = 1 })
      run(m, ctx, 100)
      assert(ctx:unload())
      assert(ctx:create_evtsets { { id = 0, flags = { "TIME_SWITCH" }, timeout = 200 } })
      assert.are.same({}, sim.info(ctx).ovfl_pmds)
      -- the earlier switch is forgotten, too
      assert(ctx:create_evtsets { { id = 0, flags = { "OVFL_SWITCH" } } })
      assert.are.same({}, sim.info(ctx).ovfl_pmds)
   end)

   it("set_runs: 'a cumulative count ... It is not reset when the context is attached'", function()
      local m = sim.machine("itanium2", { timer_ns = 100 })
      local ctx = sim.context()
      assert(ctx:create_evtsets { { id = 0, flags = { "TIME_SWITCH" }, timeout = 100 },
         { id = 1, flags = { "TIME_SWITCH" }, timeout = 100 } })
      local tid = run(m, ctx, 350)
      assert.are.same({ 2, 2 }, runs(ctx, 0, 1))
      assert(ctx:unload())
      assert(ctx:load(tid))
      assert.are.same({ 3, 2 }, runs(ctx, 0, 1))
   end)

   it("... 'can return a value of 0 if the set was never designated ... and it was never switched to'", function()
      local m = sim.machine()
      local ctx = sim.context()
      assert(ctx:create_evtsets { { id = 1 } })
      run(m, ctx, 100)
      assert.are.same({ 1, 0 }, runs(ctx, 0, 1))
   end)

   it("... 'is incremented even though monitoring may never be activated via PFM_START'", function()
      local m = sim.machine()
      local ctx = sim.context()
      local tid = m:spawn { program = sim.work(1000) }
      for i = 1, 3 do
         assert(ctx:load(tid))
         assert.are.equal(i, sim.info(ctx).runs)
         assert(ctx:unload())
      end
      assert.are.equal(0, sim.info(ctx).act_duration)
   end)

   it("... the next set is itself, 'the only set defined and switching is selected': also incremented", function()
      local m = sim.machine("itanium2", { timer_ns = 100 })
      local ctx = sim.context()
      assert(ctx:create_evtsets { { id = 0, flags = { "TIME_SWITCH" }, timeout = 100 } })
      sim.count(ctx, 4, "instructions")
      run(m, ctx, 550)
      assert.are.equal(6, sim.info(ctx).runs)
      assert.are.equal(55, sim.value(ctx, 4))
      assert.are.equal(550, sim.info(ctx).act_duration)
   end)

   it("... 'or when the set has an explicit next pointing to itself'", function()
      local m = sim.machine()
      local ctx = sim.context()
      assert(ctx:create_evtsets { { id = 1, flags = { "OVFL_SWITCH", "EXPL_NEXT" }, id_next = 1 }, { id = 2 } })
      sim.count(ctx, 4, "instructions", { set = 1, value = -10, short_reset = -10, switch_cnt = 2 })
      run(m, ctx, 650, 1)
      assert.are.same({ 0, 4, 0 }, runs(ctx, 0, 1, 2))
   end)

   it("set_timeout: 'the remainder of the effective timeout'", function()
      local m = sim.machine()
      local ctx = sim.context()
      assert(ctx:create_evtsets { { id = 0, flags = { "TIME_SWITCH" }, timeout = 1500000 }, { id = 1 } })
      assert.are.equal(2000000, sim.info(ctx).timeout)
      run(m, ctx, 300000)
      assert.are.equal(1700000, sim.info(ctx).timeout)
      assert(ctx:stop())
      assert(m:run { us = 300 })
      assert.are.equal(1700000, sim.info(ctx).timeout)
   end)

   it("... 'If the set is using overflow-based switching, this field is all zeroes'", function()
      local ctx = sim.context()
      assert(ctx:create_evtsets { { id = 1, flags = { "OVFL_SWITCH" }, timeout = 5000000 } })
      assert.are.equal(0, sim.info(ctx, 1).timeout)
   end)

   describe("set_act_duration", function()
      it("is of 'the periods between a PFM_START and PFM_STOP or PFM_UNLOAD_CONTEXT', cumulative", function()
         local m = sim.machine()
         local ctx = sim.context()
         local tid = run(m, ctx, 100)
         assert.are.equal(100, sim.info(ctx).act_duration)
         assert(ctx:stop())
         assert(m:run { ns = 1000 })
         assert.are.equal(100, sim.info(ctx).act_duration)
         assert(ctx:start())
         assert(m:run { ns = 50 })
         assert(ctx:unload())
         assert(m:run { ns = 1000 })
         assert.are.equal(150, sim.info(ctx).act_duration)
         assert(ctx:load(tid))
         assert(m:run { ns = 1000 })
         assert(ctx:start())
         assert(m:run { ns = 30 })
         assert.are.equal(180, sim.info(ctx).act_duration)
      end)

      it("'The periods of time monitoring is masked following an overflow are not included'", function()
         local m = sim.machine()
         local ctx = sim.context()
         sim.count(ctx, 4, "instructions", { value = -10, long_reset = 0, flags = { "OVFL_NOTIFY" } })
         run(m, ctx, 1000)
         assert.are.equal(100, sim.info(ctx).act_duration)
         assert(ctx:restart())
         assert(m:run { ns = 70 })
         assert.are.equal(170, sim.info(ctx).act_duration)
      end)

      it("per-thread: the time the thread runs; system-wide: the time that passes", function()
         local m = sim.machine()
         local work = { loop = 5, { ip = 0x1000, ns = 10 } }
         local program = { work, { sleep = 1000 }, work }
         local ctx = sim.context()
         sim.start(ctx, m:spawn { program = program })
         assert(m:run { us = 2 })
         assert.are.equal(100, sim.info(ctx).act_duration)
         m = sim.machine()
         m:spawn { program = program }
         ctx = sim.context { flags = { "SYSTEM_WIDE" } }
         sim.start(ctx, 0)
         assert(m:run { us = 2 })
         assert.are.equal(2000, sim.info(ctx).act_duration)
      end)

      it("'The only way to reset, is to delete the set and recreate it'", function()
         local m = sim.machine()
         local ctx = sim.context()
         assert(ctx:create_evtsets { { id = 1 } })
         run(m, ctx, 100, 1)
         assert(ctx:unload())
         assert(ctx:create_evtsets { { id = 1, flags = { "EXPL_NEXT" }, id_next = 1 } })
         assert.are.equal(100, sim.info(ctx, 1).act_duration)
         assert(ctx:delete_evtsets { 1 })
         assert(ctx:create_evtsets { { id = 1 } })
         assert.are.equal(0, sim.info(ctx, 1).act_duration)
      end)
   end)

   it("'can be issued at any time including when the context is attached to a thread'", function()
      local m = sim.machine("itanium2", { cpus = 2 })
      local ctx = sim.context { flags = { "SYSTEM_WIDE" } }
      assert(ctx:getinfo_evtsets { 0 })
      sim.start(ctx, 0)
      assert(m:run { ns = 100 })
      assert.are.equal(100, sim.info(ctx).act_duration)
      assert(m:set("tool_cpu", 1)) -- exact even from another CPU, unlike a thread's
      assert.are.equal(100, sim.info(ctx).act_duration)
      assert(m:set("tool_cpu", 0))
      assert.are.equal(100, sim.info(ctx).act_duration)
   end)

   it("EINVAL for a set that does not exist; 'may limit the number of elements'", function()
      local ctx, v = sim.context(), {}
      sim.refused("EINVAL", "element 2: set 4 does not exist", ctx:getinfo_evtsets { 0, 4, 0 })
      for i = 1, 21 do
         v[i] = 0
      end
      sim.refused("E2BIG", "21 elements of 200 bytes", ctx:getinfo_evtsets(v))
      v[21] = nil
      assert.are.equal(20, #ctx:getinfo_evtsets(v))
      sim.refused("EINVAL", "at least 1 element", ctx:getinfo_evtsets {})
   end)

   it("through perfmonctl(): fields, flags, errors", function()
      local out, status = c.sh(c.compile("perfmonctl_errors") .. " 3.1.12")
      assert.are.equal(0, status, out)
   end)
end)
