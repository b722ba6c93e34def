-- SPDX-License-Identifier: MIT
-- perfctr's virtual counters, by the sentences of their specification; spec/c/calls/perfctr.c
-- quotes them. One interpreter: the programs are C.

local c = require "support.c"
local real = require "support.real"

-- Simulated machines that follow real threads, on which any program runs.
local LIVE = { "sim:k8,live", "sim:itanium2,live", "sim:p6,live", "sim:armv8,live" }

local program

local function run(case, machine)
   local out, status = c.sh(("LPFM_MACHINE=%s timeout 600 %s %s"):format(machine, program, case))
   assert.are.equal("", out)
   assert.are.equal(0, status)
end

local CASES = {
   opens = "are opened: new ones are inactive, there is one object a thread, its descriptors belong to vperfctrfs",
   errors = "are changed by nothing that is not valid; the state cannot be written",
   preserves = "begin at 0 with a control, but for those to be preserved, and the TSC while it is on",
   stops = "keep their sums and the TSC's when a control without counters stops them",
   mapped = "are read from the mapped state: value = sum + (now - start)",
   unlinked = "are stopped and detached by unlink, and commanded no more; their last sums can be read",
   others = "of another thread can be opened and commanded, and outlive it",
   threads = "are each thread's own, and leave nothing behind when it ends",
   cancelled = "are still there for other threads when one is cancelled in a call",
   forked = "are not commanded by a child of fork(), which has its own",
   overflows = "are suspended by an overflow, but for the TSC, until iresume",
   forgets = "are suspended by an overflow after another control, too, which the overflows before it are nothing to",
   resumes = "are resumed in the handler of their signal",
   owners = "signal their overflow to the owner thread, with SI_PMC_OVF and the set of those that overflowed",
   processes = "signal their overflow to other processes",
}
-- Skipped on real machines: if two counters count the same faults, the overflow of one suspends
-- both before the other overflows.
local EXACT = {
   together = "signal all that overflowed together",
}
-- Skipped on live simulated machines, which do not follow children.
local FAMILY = {
   children = "have the sums of children that exited apart",
   estranged = "have nothing of children whose control is an older one",
   unreaped = "have the counts of children that are reaped late, or by nobody",
   [real == "perf" and "living" or "exited"] = real == "perf" and "have the counts of living children, too"
      or "have nothing of children that live",
}

setup(function() program = c.compile("perfctr", "-lperfctr") end)

for _, machine in ipairs { real, unpack(LIVE) } do
   describe("Virtual counters on " .. machine, function()
      for case, sentence in pairs(CASES) do
         it(sentence, function() run(case, machine) end)
      end
      for case, sentence in pairs(machine == real and FAMILY or EXACT) do
         it(sentence, function() run(case, machine) end)
      end
   end)
end

describe("Virtual counters of simulated threads", function()
   it("are exact, with those of children that exited, of children with another control, and after unlink", function()
      run("simulated", "sim:itanium2,cpus=4")
   end)
end)

-- A tree of 1 + 3 + 9 processes with a second thread each; every thread touches 200 pages.
describe("perfex, on " .. real, function()
   local TOUCHED = 2 * (1 + 3 + 9) * 200
   local lpfm = ("%s/%s/lpfm"):format(os.getenv("LPFM_BUILD") or "build", os.getenv("LPFM_LUA") or "luajit")
   local tree
   setup(function() tree = c.target("tree") end)

   local function check(own, children)
      assert.is_true(own >= 200 and own < 2 * 200 + 500, own)
      assert.is_true(children >= TOUCHED - 200 and children < 1.5 * TOUCHED, children)
   end

   for _, mode in ipairs { "", "late", "never" } do
      it("tells a command's own counts from its children's: lpfm perfex, reaped " .. (mode == "" and "soon" or mode),
         function()
            local out, status = c.sh(("%s perfex -e page-faults -- %s 2 3 200 %s"):format(lpfm, tree, mode))
            assert.are.equal(0, status, out)
            local cells = {}
            for cell in out:match("([^\n]*)page%-faults"):gmatch("%d[%d,]*") do
               cells[#cells + 1] = tonumber((cell:gsub(",", "")))
            end
            check(unpack(cells))
         end)
   end

   it("needs little more than the descriptor of the counters: spec/c/measured/perfex.c", function()
      local out, status = c.sh(("%s %s 2 3 200"):format(c.compile("perfex", "-lperfctr"), tree))
      assert.are.equal(0, status, out)
      local own, children = out:match("page%-faults +(%d+) +(%d+)")
      check(tonumber(own), tonumber(children))
   end)

   it("ends as the command did, and says what is wrong", function()
      local function run_perfex(arguments)
         return c.sh(("%s perfex %s"):format(lpfm, arguments))
      end
      assert.are.equal(5, select(2, run_perfex("-- sh -c 'exit 5'")))
      assert.are.equal(128 + 9, select(2, run_perfex("-- sh -c 'kill -9 $$'")))
      local out, status = run_perfex("-e nonsense -- true")
      assert.are.equal(2, status)
      assert.is_truthy(out:find("^lpfm perfex: [^\n]*nonsense"), out)
   end)

   it("prints JSON", function()
      if not pcall(require, "cjson") then return pending("there is no lua-cjson here") end
      assert.is_truthy(c.sh(lpfm .. " perfex --json -- true"):find('"event":"tsc"', 1, true))
   end)
end)
