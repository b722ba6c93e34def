-- SPDX-License-Identifier: MIT
-- pfm.cascade and what builds on it: stages that begin at the n-th event (3.7.6, figure 3.38).

local c = require "support.c"
local cascade = require "pfm.cascade"
local cjson = require "cjson"
local count = require "pfm.count"
local lpfm = require "lpfm"
local profile = require "pfm.profile"
local sim = require "support.sim"
local stages = require "pfm.measure.stages"

local program, run = c.program, c.lpfm

-- Returns a thread that n times has 1 load and 2 floating point operations in 1000 ns.
local function worker(n)
   local m = sim.machine()
   return assert(m:spawn { program = sim.work(n, { loads = 1, fp_ops = 2 }, 1000) }), m
end

local function counts(stage)
   local out = {}
   for _, count_of in ipairs(stage.counts) do out[count_of.event] = count_of.value end
   return out
end

describe("a cascade (3.7.6)", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("begins each stage at the n-th event of the one before", function()
      local s = cascade.run { tids = { (worker(5000)) },
         stages = "LOADS_RETIRED:1000 then FP_OPS_RETIRED:300 then LOADS_RETIRED,CPU_CYCLES" }.stages
      assert.are.equal(3, #s)
      assert.are.same({ 0, 1000000, 1150000 }, { s[1].began, s[2].began, s[3].began })
      assert.are.same({ 1000000, 150000, 3850000 }, { s[1].lasted, s[2].lasted, s[3].lasted })
      assert.are.same({ LOADS_RETIRED = 1000 }, counts(s[1]))
      assert.are.same({ FP_OPS_RETIRED = 300 }, counts(s[2]))
      assert.are.same({ LOADS_RETIRED = 3850, CPU_CYCLES = 3850000 }, counts(s[3]))
   end)

   it("counts others meanwhile, and leaves a stage by whichever condition comes first", function()
      local text = "LOADS_RETIRED:1000 or FP_OPS_RETIRED:%d counting CPU_CYCLES then IA64_INST_RETIRED"
      local s = cascade.run { tids = { (worker(5000)) }, stages = text:format(2002) }.stages
      assert.are.same({ "LOADS_RETIRED:1000" }, { unpack(s[1].left_by) })
      assert.are.same({ LOADS_RETIRED = 1000, FP_OPS_RETIRED = 2000, CPU_CYCLES = 1000000 }, counts(s[1]))
      s = cascade.run { tids = { (worker(5000)) }, stages = text:format(1000) }.stages
      assert.are.same({ "FP_OPS_RETIRED:1000" }, { unpack(s[1].left_by) })
      assert.are.same({ LOADS_RETIRED = 500, FP_OPS_RETIRED = 1000, CPU_CYCLES = 500000 }, counts(s[1]))
      s = cascade.run { tids = { (worker(5000)) }, stages = text:format(2000) }.stages
      assert.are.same({ "LOADS_RETIRED:1000", "FP_OPS_RETIRED:2000" }, { unpack(s[1].left_by) })
   end)

   it("tells a stage that was not reached from one that counted nothing", function()
      local s = cascade.run { tids = { (worker(100)) }, stages = "LOADS_RETIRED:1000 then L2_MISSES" }.stages
      assert.are.same({ false, 0 }, { s[2].reached, counts(s[2]).L2_MISSES })
      assert.is_nil(s[2].began)
      assert.are.equal(100, counts(s[1]).LOADS_RETIRED)
      s = cascade.run { tids = { (worker(2000)) }, stages = "LOADS_RETIRED:1000 then L2_MISSES" }.stages
      assert.are.same({ true, 0, 1000000 }, { s[2].reached, counts(s[2]).L2_MISSES, s[2].began })
   end)

   it("can be of any length", function()
      local parts = {}
      for i = 1, 100 do parts[i] = (i % 2 == 0 and "LOADS_RETIRED:" or "FP_OPS_RETIRED:") .. 2 * i end
      local s = cascade.run { tids = { (worker(8000)) }, stages = table.concat(parts, " then ") }.stages
      assert.are.equal(101, #s)
      local time = 0
      for i = 1, 100 do
         assert.are.equal(time, s[i].began)
         time = time + (i % 2 == 0 and 2 * i or i) * 1000
      end
      assert.are.equal("the rest", s[101].text)
      assert.are.same({ LOADS_RETIRED = 8000 - time / 1000 }, counts(s[101]))
   end)

   it("enters and leaves its stages in each thread by itself", function()
      local m = sim.machine("itanium2", { cpus = 2 })
      local tids = {}
      for i, n in ipairs { 500, 1500, 2500 } do
         tids[i] = assert(m:spawn { program = sim.work(n, { loads = 1 }, 1000) })
      end
      local s = cascade.run { tids = tids, stages = "LOADS_RETIRED:1000 then LOADS_RETIRED" }.stages
      assert.are.same({ 3, 3, 2 }, { s[1].subjects, s[1].reached_by, s[2].reached_by })
      assert.are.equal(2, s[1].left_by["LOADS_RETIRED:1000"])
      assert.are.same({ LOADS_RETIRED = 2500 }, counts(s[1]))
      assert.are.same({ LOADS_RETIRED = 2000 }, counts(s[2]))
   end)

   it("watches a CPU", function()
      local _, m = worker(3000)
      local s = cascade.run { cpus = { 0 }, call = function() m:run { ms = 5 } end,
         stages = "LOADS_RETIRED:1000 then LOADS_RETIRED" }.stages
      assert.are.same({ LOADS_RETIRED = 2000 }, counts(s[2]))
      assert.are.equal(1000000, s[2].began)
      assert.are.equal(4000000, s[2].lasted)
   end)

   it("ends in a profile", function()
      local text = "LOADS_RETIRED:1000 then sample LOADS_RETIRED:100"
      local result = cascade.run { tids = { (worker(3000)) }, stages = text }
      assert.are.equal(20, result.samples)
      local last = result.stages[2]
      assert.are.same({ 1000000, 20, true }, { last.began, last.samples, last.reached })
      result = cascade.run { tids = { (worker(300)) }, stages = text }
      assert.are.same({ 0, false }, { result.stages[2].samples, result.stages[2].reached })
   end)
end)

describe("conditions of other measurements", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("let counting begin", function()
      local result = count.run { tids = { (worker(5000)) }, events = "LOADS_RETIRED,FP_OPS_RETIRED",
         from = "LOADS_RETIRED:1000 then FP_OPS_RETIRED:500" }
      assert.are.same({ 3750, 7500 }, { result.events[1].value, result.events[2].value })
      assert.are.equal(3750000, result.ran)
      result = count.run { tids = { (worker(500)) }, events = "LOADS_RETIRED", from = "LOADS_RETIRED:1000" }
      assert.is_nil(result.events[1].value)
      assert.are.equal("stage 1, 'LOADS_RETIRED:1000', did not come to its end", result.events[1].reason)
   end)

   it("let event sets take turns from then on", function()
      local result = count.run { tids = { (worker(100000)) }, from = "LOADS_RETIRED:10000", switch = 1,
         events = "LOADS_RETIRED,FP_OPS_RETIRED,CPU_CYCLES,IA64_INST_RETIRED,L2_MISSES" }
      assert.are.equal(2, result.sets)
      assert.are.same({ 90000, 180000, 90000000 },
         { result.events[1].value, result.events[2].value, result.events[3].value })
   end)

   it("end it, at the n-th event", function()
      local result = count.run { tids = { (worker(5000)) }, events = "LOADS_RETIRED,FP_OPS_RETIRED",
         ["until"] = "FP_OPS_RETIRED:3000" }
      assert.are.same({ 1500, 3000, true }, { result.events[1].value, result.events[2].value, result.enough })
      assert.are.equal(0.0015, result.elapsed)
      result = count.run { tids = { (worker(500)) }, events = "LOADS_RETIRED", ["until"] = "FP_OPS_RETIRED:3000" }
      assert.are.same({ 500, false }, { result.events[1].value, result.enough })
   end)

   it("begin it after a delay, and end it by time", function()
      local result = count.run { tids = { (worker(50000)) }, events = "LOADS_RETIRED", delay = 0.010, seconds = 0.005 }
      assert.are.same({ 5000, 5000, false },
         { result.events[1].value, math.floor(result.elapsed * 1e6 + 0.5), result.late })
      result = count.run { tids = { (worker(50)) }, events = "LOADS_RETIRED", delay = 0.010 }
      assert.are.same({ "not counted", true }, { result.events[1].state, result.late })
      assert.is_nil(result.events[1].value)
   end)

   it("let sampling begin", function()
      local result = profile.collect { tids = { (worker(5000)) }, events = "LOADS_RETIRED", period = 100,
         from = "LOADS_RETIRED:1000" }
      assert.are.equal(40, result.samples)
      assert.are.equal(1000000, result.stages[1].lasted)
   end)
end)

describe("stages as typed", function()
   it("are refused with the place and the reason", function()
      assert(lpfm.machine("sim:itanium2"))
      for text, words in pairs {
         ["page-faults then cs"] = "stage 1, 'page-faults', never ends: expected EVENT:N",
         ["page-faults:10 then"] = "stage 2 is empty",
         ["page-faults:10 then nonesuch"] = "stage 2: ",
         ["page-faults:0 then cs"] = "'page-faults:0'",
         ["page-faults:10 cs:1 then cs"] = "stage 1: 'cs:1': 'or' is missing before it, or 'then'",
         ["or page-faults:10"] = "'or' stands between two conditions",
         ["sample cs:1 then cs"] = "stage 1: only the last stage can sample",
         ["cs:10 then sample cs"] = "stage 2: 'cs' does not say how many",
         ["cs:1ms"] = "'1ms' is not a number of occurrences",
      } do
         local list, err = stages.read(text)
         assert.is_nil(list, text)
         assert.is_truthy(err:find(words, 1, true), err)
      end
   end)

   it("take k, M and G, exponents, and times of clocks", function()
      local list = assert(stages.read "cs:10k then cs:1e6 then task-clock:10ms then cpu-clock:1.5s then cs:2M")
      local n = {}
      for i, stage in ipairs(list) do n[i] = stage.triggers[1].n end
      assert.are.same({ 10000, 1000000, 10000000, 1500000000, 2000000 }, n)
   end)
end)

-- A program that touches 2000 pages, one after the other.
local PAGES = "-- " .. c.target("usage") .. " 20 2000 1"

describe("lpfm cascade", function()
   it("tells of a program's page faults when each stage began", function()
      local out, status = run("cascade --json -o - page-faults:200 then page-faults:300 then page-faults " .. PAGES)
      assert.are.equal(0, status, out)
      local s, goals, sum = cjson.decode(out:match("{.*}")).stages, { 200, 300 }, 0
      assert.is_true(s[1].reached)
      assert.are.equal(0, s[1].began)
      for i, stage in ipairs(s) do -- a switch comes late on a busy machine, but never early
         sum = sum + stage.counts[1].value
         if stage["left-by"][1] then assert.is_true(stage.counts[1].value >= goals[i], out) end
         assert.are.equal(i < 3 and s[i + 1].reached, stage["left-by"][1] ~= nil)
         if stage.reached and i > 1 then assert.are.equal(s[i - 1].began + s[i - 1].lasted, stage.began) end
      end
      assert.is_true(sum >= 200 and sum <= 3000, out)
   end)

   it("loses nothing between stages without saying for how long", function()
      local slow = "nice -n 19 taskset -c 0 " .. program .. " " -- most switches come late
      local function decoded(line) return cjson.decode(c.sh(slow .. line .. PAGES):match("{.*}")) end
      local whole = decoded("stat --no-inherit --json -o - -e page-faults ").events[1].value
      for _ = 1, 10 do
         local sum, uncounted = 0, 0
         for _, stage in ipairs(decoded("cascade --json -o - page-faults:50 then page-faults ").stages) do
            sum, uncounted = sum + stage.counts[1].value, uncounted + stage.uncounted
         end
         assert.is_true(sum > whole - 50 or uncounted > 0, ("%d of %d counted, and none missing"):format(sum, whole))
      end
   end)

   it("says how much of a command's threads and children is left out, and what counts them", function()
      local out = run(("cascade -o - page-faults:1500 then page-faults -- sh -c '%s 50 2000 0; :'"):format(
         c.target("usage")))
      local left_out = "\n  [1-9]%d*%% of the CPU time was spent in other threads or children, which are left out"
      assert.is_truthy(out:find(left_out), out)
      assert.is_truthy(out:find("-p PID gives each thread that a process has a cascade of its own", 1, true), out)
   end)

   it("says what was not reached, and why", function()
      local out = run("cascade page-faults:1e9 then cs " .. PAGES)
      assert.is_truthy(out:find("2. cs: not reached: stage 1 did not end", 1, true), out)
      assert.is_truthy(out:find("it lasted to the end", 1, true), out)
   end)

   it("records, for lpfm report", function()
      local data = os.tmpname()
      local out = run("cascade page-faults:200 then sample page-faults:10 -o " .. data .. " " .. PAGES)
      assert.is_truthy(out:find("2. sample page-faults:10: ", 1, true), out)
      local report, status = run("report --file " .. data)
      assert.are.equal(0, status, report)
      assert.is_truthy(report:find("page%-faults"), report)
      os.remove(data)
   end)

   it("refuses what is no cascade, with status 2", function()
      for line, words in pairs { ["cascade -- true"] = "expected stages", ["cascade cs:1"] = "nothing to measure",
         ["cascade ls"] = "the command goes after --", ["cascade page-faults then cs -- true"] = "never ends" } do
         local out, status = run(line)
         assert.are.equal(2, status, out)
         assert.is_truthy(out:find(words, 1, true), out)
      end
   end)

   it("lends its conditions to stat and record", function()
      local out = run("stat -x, -o - -e page-faults --from page-faults:500 " .. PAGES)
      local late = tonumber(out:match("(%d+),,page%-faults")) or out:find("<not counted>", 1, true) and 0
      local all = tonumber((run("stat -x, -o - -e page-faults " .. PAGES)):match("(%d+),,page%-faults"))
      assert.is_true(late >= 0 and late <= all - 400, out) -- two runs differ by some pages
      out = run("stat -x, -o - -e page-faults --until page-faults:1000 " .. PAGES)
      assert.are.equal("1000", out:match("(%d+),,page%-faults"))
      assert.is_truthy(run("stat -D 60000 -- true"):find("ended before --delay had passed", 1, true))
      local data = os.tmpname()
      out = run("record -D 60000 -o " .. data .. " -- true")
      assert.is_truthy(out:find("; the command ended before --delay had passed", 1, true), out)
      out = run("record -o " .. data .. " --from page-faults:1e9 -- true")
      assert.is_truthy(out:find("0 samples.*sampling never began: stage 1, 'page%-faults:1e9', did not"), out)
      os.remove(data)
   end)
end)
