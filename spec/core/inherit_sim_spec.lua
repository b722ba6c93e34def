-- SPDX-License-Identifier: MIT
-- PFM_FL_INHERIT (perfmon.h): threads and processes of every generation that the monitored thread
-- creates are counted to the last event, from their fork on, whether they live or have ended.
local lpfm = require "lpfm"
local sim = require "support.sim"

-- Returns a program of n instructions of 10 ns, and the further steps.
local function run(n, ...)
   return { { loop = n, { ip = 0x1000, ns = 10 } }, ... }
end

local function steps(...)
   local out = {}
   for _, list in ipairs { ... } do
      for _, step in ipairs(list) do out[#out + 1] = step end
   end
   return out
end

describe("A context with INHERIT", function()
   before_each(sim.begin)
   after_each(sim.finish)

   local function family(pmd)
      return sim.count(sim.context { flags = { "INHERIT" } }, 4, "instructions", pmd)
   end

   local function own(ctx, num)
      return assert(ctx:read_pmds { { num = num or 4, flags = { "OWN" } } })[1].value
   end

   local function loaded(ctx, tid)
      sim.start(ctx, tid)
      return ctx
   end

   local TREE = steps(run(100, { fork = steps(run(50, { fork = run(20) }), run(5)) }, { thread = run(30) }), run(10))

   for cpus = 1, 4 do
      it("counts the thread, its children and theirs, on " .. cpus .. " CPUs", function()
         local m = sim.machine("itanium2", { cpus = cpus })
         local tid = m:spawn { program = TREE }
         local ctx = loaded(family { flags = { "OWN" } }, tid)
         assert(m:run { ms = 1 })
         assert.are.equal(100 + 50 + 20 + 5 + 30 + 10, sim.value(ctx, 4))
         assert.are.equal(110, own(ctx))
      end)
   end

   it("without it, 3.1.7: 'contexts are not inherited'", function()
      local m = sim.machine()
      local tid = m:spawn { program = TREE }
      local ctx = sim.count(sim.context(), 4, "instructions")
      loaded(ctx, tid)
      assert(m:run { ms = 1 })
      assert.are.equal(110, sim.value(ctx, 4))
   end)

   it("tells what children that live have counted up to now", function()
      local m = sim.machine("itanium2", { cpus = 2 })
      local tid = m:spawn { program = run(10, { fork = run(1000) }, { loop = 1000, { ip = 0x2000, ns = 10 } }) }
      local ctx = loaded(family { flags = { "OWN" } }, tid)
      assert(m:run { ns = 100 + 300 })
      assert.are.same({ 10 + 30 + 30, 10 + 30 }, { sim.value(ctx, 4), own(ctx) })
      assert(m:run { ns = 100 })
      assert.are.equal(10 + 40 + 40, sim.value(ctx, 4))
   end)

   it("tells what children that have ended counted, with ENDED", function()
      local m = sim.machine("itanium2", { cpus = 3 })
      local tid = m:spawn { program = run(10, { fork = run(20) }, { fork = run(1000) },
         { loop = 1000, { ip = 0x2000, ns = 10 } }) }
      local ctx = loaded(family { flags = { "OWN" } }, tid)
      local function ended()
         return assert(ctx:read_pmds { { num = 4, flags = { "ENDED" } } })[1].value
      end
      assert(m:run { ns = 100 + 100 })
      assert.are.equal(0, ended())
      assert(m:run { ns = 300 })
      assert.are.same({ 20, 10 + 40, 10 + 40 + 20 + 40 }, { ended(), own(ctx), sim.value(ctx, 4) })
      sim.refused("EINVAL", "ENDED does not go with OWN", ctx:read_pmds { { num = 4, flags = { "OWN", "ENDED" } } })
      sim.refused("EINVAL", "ENDED needs a context with INHERIT",
         sim.context():read_pmds { { num = 4, flags = { "ENDED" } } })
   end)

   it("is stopped and started as a whole; who is born while it is stopped counts from the start on", function()
      local m = sim.machine("itanium2", { cpus = 3 })
      local tid = m:spawn { program = run(10, { fork = run(1000) }, { loop = 20, { ip = 0x2000, ns = 10 } },
         { fork = run(500) }, { loop = 500, { ip = 0x3000, ns = 10 } }) }
      local ctx = loaded(family(), tid)
      assert(m:run { ns = 200 })
      assert(ctx:stop())
      local before = sim.value(ctx, 4)
      assert.are.equal(10 + 10 + 10, before)
      assert(m:run { ns = 200 })
      assert.are.equal(before, sim.value(ctx, 4))
      assert(ctx:start())
      assert(m:run { ns = 50 })
      assert.are.equal(before + 3 * 5, sim.value(ctx, 4))
   end)

   it("has the sum that is written, to which the thread and its living children add what they count", function()
      local m = sim.machine("itanium2", { cpus = 2 })
      local tid = m:spawn { program = run(10, { fork = run(5) }, { fork = run(1000) },
         { loop = 1000, { ip = 0x2000, ns = 10 } }) }
      local ctx = loaded(family { flags = { "OWN" } }, tid)
      assert(m:run { ns = 1000 })
      assert(ctx:write_pmds { { num = 4, value = 7, flags = { "OWN" } } })
      assert.are.equal(7, sim.value(ctx, 4))
      assert(m:run { ns = 100 })
      assert.are.same({ 7 + 20, 7 + 10 }, { sim.value(ctx, 4), own(ctx) })
   end)

   it("READ_RESET, 6.2.2, begins the sum anew", function()
      local m = sim.machine("itanium2", { cpus = 2 })
      local tid = m:spawn { program = run(10, { fork = run(1000) }, { loop = 1000, { ip = 0x2000, ns = 10 } }) }
      local ctx = loaded(family { long_reset = 3 }, tid)
      assert(m:run { ns = 200 })
      assert.are.equal(10 + 10 + 10, assert(ctx:read_pmds { { num = 4, flags = { "READ_RESET" } } })[1].value)
      assert.are.equal(3, sim.value(ctx, 4))
      assert(m:run { ns = 100 })
      assert.are.equal(3 + 20, sim.value(ctx, 4))
   end)

   it("is unloaded, and END comes, when the last of them has ended", function()
      local m = sim.machine("itanium2", { cpus = 2 })
      local tid = m:spawn { program = run(10, { fork = run(100) }) }
      local ctx = loaded(family(), tid)
      assert(m:run { ns = 500 })
      assert.are.equal("dead", sim.thread(tid).state)
      assert.is_nil((ctx:read(0)))
      sim.refused("EBUSY", "loaded already", ctx:load(tid))
      assert.are.equal(10 + 40, sim.value(ctx, 4))
      assert(m:run { until_message = ctx })
      assert.are.equal("END", assert(ctx:read(0)).type)
      assert.are.equal(110, sim.value(ctx, 4))
      sim.refused("EINVAL", "not loaded", ctx:unload())
   end)

   it("keeps its sums when it is unloaded; its children are free for others", function()
      local m = sim.machine("itanium2", { cpus = 2 })
      local tid = m:spawn { program = run(10, { fork = run(1000) }, { loop = 1000, { ip = 0x2000, ns = 10 } }) }
      local ctx = loaded(family(), tid)
      assert(m:run { ns = 200 })
      local child
      for _, t in ipairs(m:threads()) do
         if t.ppid == sim.thread(tid).pid then child = t.tid end
      end
      local other = sim.count(sim.context(), 4, "instructions")
      sim.refused("EBUSY", "has a context already", other:load(child))
      assert.are.equal(1, lpfm.config().thread_sessions)
      assert(ctx:unload())
      assert.are.equal(30, sim.value(ctx, 4))
      loaded(other, child)
      assert(m:run { ns = 100 })
      assert.are.same({ 30, 10 }, { sim.value(ctx, 4), sim.value(other, 4) })
   end)

   it("is closed while its children run, and while one is being born", function()
      local m = sim.machine("itanium2", { cpus = 2 })
      local tid = m:spawn { program = { { loop = 50, { fork = run(100) }, { ip = 0x1000, ns = 10 } } } }
      local ctx = loaded(family(), tid)
      assert(m:run { ns = 250 })
      ctx:close()
      assert(m:run { ms = 1 })
      assert.are.equal(0, lpfm.config().thread_sessions)
   end)

   it("gives each child the event sets, and a timeout of its own; durations and runs are added up", function()
      local m = sim.machine("itanium2", { cpus = 2, timer_ns = 100 })
      local ctx = sim.context { flags = { "INHERIT" } }
      assert(ctx:create_evtsets { { id = 0, flags = { "TIME_SWITCH" }, timeout = 1000 },
         { id = 1, flags = { "TIME_SWITCH" }, timeout = 1000 } })
      sim.count(ctx, 4, "instructions")
      sim.count(ctx, 4, "instructions", { set = 1 })
      local tid = m:spawn { program = { { fork = run(400) }, { loop = 400, { ip = 0x2000, ns = 10 } } } }
      loaded(ctx, tid)
      assert(m:run { us = 10 })
      assert.are.equal(800, sim.value(ctx, 4) + sim.value(ctx, 4, 1))
      assert.are.equal(8000, sim.info(ctx, 0).act_duration + sim.info(ctx, 1).act_duration)
      assert.are.same({ 400, 400 }, { sim.value(ctx, 4), sim.value(ctx, 4, 1) })
   end)

   it("adds up what living children counted, in however many sets", function()
      local m = sim.machine("itanium2", { cpus = 2, timer_ns = 100 })
      local ctx = sim.context { flags = { "INHERIT" } }
      for id = 0, 99 do
         assert(ctx:create_evtsets { { id = id, flags = { "TIME_SWITCH" }, timeout = 100 } })
         sim.count(ctx, 4, "instructions", { set = id })
      end
      local tid = m:spawn { program = { { fork = run(5000) }, { loop = 5000, { ip = 0x2000, ns = 10 } } } }
      loaded(ctx, tid)
      assert(m:run { us = 30 })
      local sum, time = 0, 0
      for id = 0, 99 do
         sum, time = sum + sim.value(ctx, 4, id), time + sim.info(ctx, id).act_duration
      end
      assert.are.same({ 6000, 60000 }, { sum, time })
      assert.are.equal(60, sim.value(ctx, 4, 99))
   end)

   it("starts short-lived children in one set after the other, so that none is missed", function()
      local m = sim.machine("itanium2", { timer_ns = 100 })
      local ctx = sim.context { flags = { "INHERIT" } }
      assert(ctx:create_evtsets { { id = 0, flags = { "TIME_SWITCH" }, timeout = 1e6 },
         { id = 1, flags = { "TIME_SWITCH" }, timeout = 1e6 } })
      sim.count(ctx, 4, "instructions")
      sim.count(ctx, 4, "instructions", { set = 1 })
      local tid = m:spawn { program = { { loop = 10, { fork = run(7) } } } }
      loaded(ctx, tid)
      assert(m:run { us = 10 })
      assert.are.same({ 35, 35 }, { sim.value(ctx, 4), sim.value(ctx, 4, 1) })
   end)

   it("overflows of the thread mask the thread; its children count on", function()
      local m = sim.machine("itanium2", { cpus = 2 })
      local tid = m:spawn { program = { { fork = run(1000) }, { loop = 1000, { ip = 0x2000, ns = 10 } } } }
      local ctx = family { value = -20, long_reset = -20, flags = { "OVFL_NOTIFY", "OWN" } }
      loaded(ctx, tid)
      assert(m:run { until_message = ctx })
      local msg = assert(ctx:read(0))
      assert.are.same({ "OVFL", tid }, { msg.type, msg.tid })
      assert(m:run { ns = 500 })
      assert.are.equal(0, own(ctx))
      assert.are.equal(20 + 50, sim.value(ctx, 4))
      assert(ctx:restart())
      assert(m:run { ns = 100 })
      assert.are.equal(-10, own(ctx))
   end)

   it("follows exec, and loses nothing when a process ends all its threads", function()
      local m = sim.machine("itanium2", { cpus = 4 })
      local tid = m:spawn { program = run(10, { fork = run(10, { thread = run(1000) }, { thread = run(1000) },
         { loop = 20, { ip = 0x2000, ns = 10 } }, { exec = run(40, { exit_group = true }) }) }) }
      local ctx = loaded(family(), tid)
      assert(m:run { ms = 1 })
      local truth = 0
      for _, t in ipairs(m:threads()) do truth = truth + (m:truth(t.tid).instructions or { user = 0 }).user end
      assert.are.equal(truth, sim.value(ctx, 4))
   end)

   it("takes no more than it can: what does not go together is EINVAL and says so", function()
      sim.refused("EINVAL", "INHERIT does not go with SYSTEM_WIDE",
         lpfm.create { flags = { "INHERIT", "SYSTEM_WIDE" } })
      sim.refused("EINVAL", "INHERIT does not go with NOTIFY_BLOCK",
         lpfm.create { flags = { "INHERIT", "NOTIFY_BLOCK" } })
      for _, flag in ipairs { "SYSTEM_WIDE", "NOTIFY_BLOCK", "MAP_SETS" } do
         sim.refused("EINVAL", "INHERIT does not go with " .. flag,
            lpfm.create { flags = { "INHERIT", flag }, format = "default" })
      end
      local ctx = family()
      sim.refused("EINVAL", "OVFL_SWITCH does not go with INHERIT",
         ctx:create_evtsets { { id = 1, flags = { "OVFL_SWITCH" } } })
      sim.refused("EINVAL", "PMD4 was not written with OWN", ctx:read_pmds { { num = 4, flags = { "OWN" } } })
      local m = sim.machine()
      local tid = m:spawn { program = sim.work(10) }
      local plain, inheriting = sim.context(), sim.context { flags = { "INHERIT" } }
      sim.refused("EINVAL", "OWN needs a context with INHERIT", plain:write_pmds { { num = 4, flags = { "OWN" } } })
      sim.refused("EINVAL", "OWN needs a context with INHERIT", plain:read_pmds { { num = 4, flags = { "OWN" } } })
      assert(inheriting:load(tid))
      sim.refused("EBUSY", "PMCs cannot be written while", inheriting:write_pmcs { { num = 4, value = 0 } })
   end)
end)
