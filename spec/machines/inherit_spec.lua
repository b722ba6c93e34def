-- SPDX-License-Identifier: MIT
-- PFM_FL_INHERIT on a real machine: one context counts a tree of processes and threads like
-- a context for each of them.
local c = require "support.c"
local count = require "pfm.count"
local lpfm = require "lpfm"
local proc = require "lpfm.proc"
local real = require "support.real"

local PAGE_FAULTS, USER_AND_KERNEL = 66, 9

describe("A context with INHERIT, on " .. real, function()
   local tree
   setup(function()
      assert(lpfm.machine(real))
      tree = c.target("tree")
   end)

   local function family(pmd)
      local ctx = assert(lpfm.create { flags = { "INHERIT" } })
      assert(ctx:write_pmcs { { num = PAGE_FAULTS, value = USER_AND_KERNEL } })
      local d = { num = PAGE_FAULTS, value = 0 }
      for k, v in pairs(pmd or {}) do d[k] = v end
      assert(ctx:write_pmds { d })
      return ctx
   end

   local function own(ctx)
      return assert(ctx:read_pmds { { num = PAGE_FAULTS, flags = { "OWN" } } })[1].value
   end

   local function value(ctx)
      return assert(ctx:read_pmds { PAGE_FAULTS })[1].value
   end

   -- Runs a tree with a context on it; returns how many pages it has touched, and the context.
   local function counted(ctx, ...)
      local read_end = assert(io.popen("mktemp")):read()
      local command = { "sh", "-c", ('exec "$@" >%s'):format(read_end), "sh", tree, ... }
      local child = assert(proc.spawn(command, { bound = true }))
      assert(ctx:load(child.pid))
      assert(ctx:start())
      assert(child:go())
      assert.equal(0, child:wait().status)
      local file = assert(io.open(read_end))
      local touched = file:read("*n")
      file:close()
      os.remove(read_end)
      return touched
   end

   for name, mode in pairs { ["at once"] = "", late = "late", never = "never" } do
      it("counts children that are waited for " .. name, function()
         local ctx = family { flags = { "OWN" } }
         local touched = counted(ctx, "3", "3", "200", mode)
         assert.equal(2 * (1 + 3 + 9 + 27) * 200, touched)
         local sum, mine = value(ctx), own(ctx)
         assert.is_true(sum >= touched and sum < 1.5 * touched, sum .. " of " .. touched)
         assert.is_true(mine >= 2 * 200 - 200 and mine < sum / 10, mine .. " of " .. sum)
         assert.equal("END", assert(ctx:read(10)).type)
         assert.equal(sum, value(ctx))
         ctx:close()
      end)
   end

   it("counts what following counts, but for the first steps of each thread, which only it sees", function()
      local command = { "sh", "-c", tree .. " 3 4 1000 >/dev/null" }
      local processes = 2 + 4 + 16 + 64
      local inherited = count.run { command = command, events = "page-faults", inherit = true }
      local followed = count.run { command = command, events = "page-faults", threads = true }
      assert.is_true(inherited.inherited)
      assert.equal(0, inherited.unmeasured)
      local a, b = inherited.events[1].value, followed.events[1].value
      assert.is_true(math.abs(a - b) <= 0.001 * a + 3 * processes, a .. " inherited, " .. b .. " followed")
      assert.is_true(math.abs(a - b) <= 0.01 * a)
   end)

   it("is stopped as a whole", function()
      local ctx = family()
      local child = assert(proc.spawn({ "sh", "-c", "while :; do (true); done" }, { bound = true }))
      assert(ctx:load(child.pid) and ctx:start())
      assert(child:go())
      while value(ctx) < 10000 do lpfm.poll({}, 0.001) end
      assert(ctx:stop())
      local stopped = value(ctx)
      lpfm.poll({}, 0.02)
      assert.equal(stopped, value(ctx))
      assert(ctx:start())
      while value(ctx) < stopped + 10000 do lpfm.poll({}, 0.001) end
      child:kill("KILL")
      child:wait()
      ctx:close()
   end)

   it("has a sum that can be written; what lives counts on from there", function()
      local ctx = family { flags = { "OWN" } }
      local child = assert(proc.spawn({ "sh", "-c", "while :; do (true); done" }, { bound = true }))
      assert(ctx:load(child.pid) and ctx:start())
      assert(child:go())
      while value(ctx) < 10000 do lpfm.poll({}, 0.001) end
      assert(ctx:stop())
      assert(ctx:write_pmds { { num = PAGE_FAULTS, value = 5, flags = { "OWN" } } })
      assert.same({ 5, 5 }, { value(ctx), own(ctx) })
      assert(ctx:start())
      while value(ctx) < 1000 do lpfm.poll({}, 0.001) end
      child:kill("KILL")
      child:wait()
      ctx:close()
   end)

   it("is closed, and its programs ended, in any order", function()
      for i = 1, 20 do
         local ctx = family()
         local child = assert(proc.spawn({ "sh", "-c", "exec " .. tree .. " 3 3 10 >/dev/null" }, { bound = true }))
         assert(ctx:load(child.pid) and ctx:start())
         assert(child:go())
         lpfm.poll({}, i / 2000)
         if i % 2 == 0 then child:kill("KILL") end
         ctx:close()
         child:wait()
      end
   end)
end)
