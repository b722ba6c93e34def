-- SPDX-License-Identifier: MIT
-- Events and metric groups on the command line: lpfm stat in several event sets, lpfm list of any
-- PMU. One interpreter: the subject is the program as a process.

local c = require "support.c"
local cjson = require "cjson"
local lpfm = require "lpfm"

local program = c.program
local usage = c.target("usage")

-- Runs the program, on a simulated machine if there is a model; returns its output and status.
local function run(line, model)
   return c.sh(("%s %s %s"):format(model and "LPFM_MACHINE=sim:" .. model or "", program, line))
end

-- The command takes a tenth of a second of CPU time and touches 40000 pages: event sets have many
-- turns.
local TWICE = "-e page-faults:u,page-faults:k,task-clock -- " .. usage .. " 50 40000 1"

describe("lpfm stat in event sets", function()
   it("counts in turn what one register cannot count at once", function()
      local out, status = run("stat " .. TWICE)
      assert.are.equal(0, status, out)
      assert.is_truthy(out:find("page%-faults:u +# [^\n]+%(%d+%%%)"), out)
      assert.is_truthy(out:find("Counted in 2 event sets in turn, and scaled to the whole time: 'page-faults:u' and "
         .. "'page-faults:k' are counted by one register.", 1, true), out)
   end)

   it("gives programs the share, and scales", function()
      local out = run("stat -o - --json " .. TWICE)
      local result = cjson.decode(out:match("{.*}"))
      assert.are.equal(2, result.sets)
      local user, kernel, clock = unpack(result.events)
      assert.is_true(user.active > 0 and user.active < 1, out)
      assert.is_true(math.abs(user.active + kernel.active - 1) < 1e-6, out)
      assert.is_nil(clock.active)
      out = run("stat -o - -x, " .. TWICE)
      local share = tonumber(out:match("page%-faults:u,[%d.]+,([%d.]+),"))
      assert.is_true(share > 0 and share < 100, out)
      assert.is_truthy(out:find("task%-clock,[%d.]+,100.00,"), out)
   end)

   it("counts exactly, and says nothing of sets, where one is enough", function()
      local result = cjson.decode((run("stat -o - --json -e page-faults:u,task-clock -- true"):match("{.*}")))
      assert.are.equal(1, result.sets)
      assert.is_nil(result.events[1].active)
      assert.is_falsy(run("stat -e page-faults:u,task-clock -- true"):find("event sets", 1, true))
   end)

   it("takes turns on CPUs, in intervals, over runs", function()
      for _, options in ipairs { "-a --timeout 0.1 -e page-faults:u,page-faults:k", "-I 100 " .. TWICE,
         "-r 2 --switch-timeout 0.5 " .. TWICE, "--threads " .. TWICE } do
         local out, status = run("stat " .. options)
         assert.are.equal(0, status, out)
         assert.is_truthy(out:find("page-faults:u", 1, true), out)
      end
   end)

   it("refuses an event twice, registers that do not count, other models' events, odd times", function()
      for line, words in pairs {
         ["-e cs,context-switches"] = "'cs' and 'context-switches' are one event",
         ["-e TSTAMP"] = "'TSTAMP' is a register to read, not an event to count",
         ["-e itanium2::CPU_CYCLES"] = "'itanium2::CPU_CYCLES' is an event of itanium2",
         ["-e cs --switch-timeout 0.01"] = "--switch-timeout: at least 0.1 ms",
      } do
         local out, status = run("stat " .. line .. " -- true")
         assert.are_not.equal(0, status)
         assert.is_truthy(out:find(words, 1, true), out)
      end
   end)

   it("takes the library's names of software events", function()
      local out = run("stat -o - -x, -e PAGE_FAULTS:u -- true")
      assert.is_true(tonumber(out:match("^(%d+),,PAGE_FAULTS:u,")) > 0, out)
   end)
end)

describe("an event that the processor may lack", function()
   it("is counted where the kernel lists it, and is not supported where it does not", function()
      if lpfm.machine().hw_counters == 0 then pending("there are no hardware counters here") return end
      local listed = ("\n" .. c.sh("ls /sys/bus/event_source/devices/*/events/")):lower()
      local arm = { INST_RETIRED = "inst_retired", L1D_CACHE = "l1d_cache", BR_PRED = "br_pred", STALL = "stall",
         LD_RETIRED = "ld_retired" }
      local x86 = { LLC_MISSES = "cache-misses", LLC_REFERENCES = "cache-references", instructions = "instructions" }
      for name, kernel in pairs(c.sh("uname -m"):find("aarch64", 1, true) and arm or x86) do
         local out, status = run(("stat -x , -e page-faults,%s -- true"):format(name))
         assert.are.equal(0, status, out)
         assert.are.equal(listed:find("\n" .. kernel .. "\n", 1, true) == nil,
            out:find("<not supported>,," .. name, 1, true) ~= nil, out .. listed)
      end
   end)
end)

describe("metric groups on the command line", function()
   it("are listed with what they compute, or why they cannot be here", function()
      local out, status = run("stat -M help", "itanium2")
      assert.are.equal(0, status)
      assert.is_truthy(out:find("-> CPI, IPC, clock", 1, true), out)
      assert.is_truthy(out:find("not here: not for PMU itanium2: itanium2 has no event UOPS_ISSUED", 1, true), out)
      if require("lpfm").machine().hw_counters == 0 then
         out = c.sh(program .. " stat -M list")
         assert.is_truthy(out:find("^  There are no hardware counters here, which groups without '%->' need%.\n"), out)
         assert.is_nil(out:find("not here: not for PMU software: it counts cycles", 1, true), out)
      end
      out = run("list -v metrics", "p6") -- the PMU's table is there on every architecture
      assert.is_truthy(out:find("MISS / BR", 1, true), out)
      assert.is_truthy(run("list metrics", "p6"):find("Not here: not for PMU p6: p6 has no event UOPS_ISSUED", 1, true))
   end)

   it("are refused where the PMU has no events for them", function()
      local out, status = run("stat -M brnch -- true")
      assert.are.equal(1, status)
      assert.is_truthy(out:find("no metric group 'brnch'; did you mean 'branch'?", 1, true), out)
      if lpfm.machine().hw_counters == 0 then
         out, status = run("stat -M cpi -- true")
         assert.are.equal(1, status)
         assert.is_truthy(out:find("metric group 'cpi' is not for PMU", 1, true), out)
      end
   end)

   it("are computed on the host's PMU", function()
      if lpfm.machine().hw_counters == 0 then pending("there are no hardware counters here") return end
      local out, status = run("stat -o - --json -M cpi -- " .. usage .. " 1 1 1000")
      assert.are.equal(0, status, out)
      local cpi = cjson.decode(out:match("{.*}")).metrics[1].metrics[1]
      assert.are.equal("CPI", cpi.name)
      assert.is_true(cpi.value > 0, out)
   end)
end)

describe("lpfm list", function()
   it("finds events of any model by names, masks and descriptions", function()
      local out, status = run("list --pmu itanium2 cache")
      assert.are.equal(0, status)
      assert.is_truthy(out:find("\n  L1D_READS_SET0 ", 1, true), out)
      assert.is_falsy(out:find("Registers", 1, true))
      out = run("list --pmu p6 -v l2_rqsts:m")
      assert.is_truthy(out:find("code 0x2e, counters 0 1", 1, true), out)
      assert.is_truthy(out:find(":M    lines in modified state", 1, true), out)
      assert.is_truthy(out:find(":c=N", 1, true), out)
   end)

   it("tells what generic names and presets stand for", function()
      local out = run("list --pmu p6 generic")
      assert.is_truthy(out:find("\n  cycles +CPU_CLK_UNHALTED\n"), out)
      assert.is_truthy(out:find("PAPI_BR_PRC +BR_INST_RETIRED %- BR_MISS_PRED_RETIRED"), out)
   end)

   it("lists every model's events, and only those that the model has", function()
      for _, pmu in ipairs(lpfm.pmus()) do
         local list = require("repl.command.list")
         assert.are.equal(pmu.events, #list.events(pmu.name), pmu.name)
         for _, row in ipairs(list.generic(pmu.name)) do assert.is_true(#row.description > 0, row.name) end
      end
      local _, status = run("list pmus")
      assert.are.equal(0, status)
   end)

   it("proposes the nearest model", function()
      local out, status = run("list --pmu itanum2")
      assert.are.equal(2, status)
      assert.is_truthy(out:find("unknown PMU model 'itanum2'; did you mean 'itanium2'?", 1, true), out)
   end)

   it("refuses words after the pattern", function()
      for _, line in ipairs { "list page-faults cs", "list events page-faults cs" } do
         local out, status = run(line)
         assert.are.equal(2, status, out)
         assert.is_truthy(out:find("unexpected argument 'cs': expected one pattern", 1, true), out)
      end
   end)

   it("gives programs all of it", function()
      local rows = cjson.decode((run("list --json --pmu itanium2 L2_MISSES"))).list
      assert.are.equal("L2_MISSES", rows[1].name)
      assert.are.same({ 4, 5, 6, 7 }, rows[1].counters)
   end)
end)
