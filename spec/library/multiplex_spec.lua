-- SPDX-License-Identifier: MIT
-- pfm.measure.multiplex: event sets in turn, what they estimate, and how far that can be off
-- (3.7.2, figure 3.32). Second interpreter, all: hundreds of random programs take long there.

local count = require "pfm.count"
local events = require "pfm.events"
local multiplex = require "pfm.measure.multiplex"
local plan = require "pfm.measure.plan"
local statistics = require "pfm.statistics"
local lpfm = require "lpfm"
local sim = require "support.sim"

local RUNS = 200
local TRUTH = {
   LOADS_RETIRED = "loads", STORES_RETIRED = "stores", FP_OPS_RETIRED = "fp_ops", L2_MISSES = "l2_misses",
   CPU_CYCLES = "cycles", IA64_INST_RETIRED = "instructions",
}
local EVENTS = "LOADS_RETIRED,STORES_RETIRED,FP_OPS_RETIRED,L2_MISSES,CPU_CYCLES,IA64_INST_RETIRED,r38"

-- Returns Park and Miller's generator, which draws the same programs under every interpreter.
local function generator(seed)
   return function(low, high)
      seed = seed * 16807 % 2147483647
      return low + seed % (high - low + 1)
   end
end

-- Returns a program of phases of random lengths, each with rates of its own.
local function program(random)
   local steps = { loop = random(1, 3) }
   for i = 1, random(20, 60) do
      steps[i] = { loop = random(100, 3000) }
      for k = 1, random(1, 4) do
         steps[i][k] = { ip = 0x1000 + 16 * k, ns = random(500, 4000), events = { loads = random(0, 3),
            stores = random(0, 2), fp_ops = random(0, 5), l2_misses = random(0, 8) == 0 and 1 or 0 } }
      end
   end
   return { steps }
end

-- Returns a row for each event that was estimated, with the true count in `truth`.
local function estimates(seed, switch)
   local m = sim.machine()
   local tid = assert(m:spawn { program = program(generator(seed * 7919)) })
   local result, truth, rows = count.run { tids = { tid }, events = EVENTS, switch = switch }, m:truth(tid), {}
   for _, row in ipairs(result.events) do
      local name = TRUTH[row.event]
      if name and row.active then
         row.truth = truth[name] and truth[name].total or 0
         rows[#rows + 1] = row
      end
   end
   return rows, result
end

local function share_inside(switch)
   local inside, all, other = 0, 0, 0
   for seed = 1, RUNS do
      for _, row in ipairs(estimates(seed, switch)) do
         all = all + 1
         if row.error and math.abs(row.value - row.truth) <= row.error then inside = inside + 1 end
         if not row.error or row.poor then other = other + 1 end
      end
   end
   assert.is_true(all >= RUNS * 4)
   return inside / all, other / all
end

describe("multiplexed counts (3.7.2)", function()
   before_each(sim.begin)
   after_each(sim.finish)

   local ways = { ["by themselves"] = "auto", ["after 4 ms"] = 4, ["after 1000 loads"] = "LOADS_RETIRED:1000" }
   for name, switch in pairs(ways) do
      it("lie within their error in 95 % of 200 random programs, sets switched " .. name, function()
         local inside, poor = share_inside(switch)
         assert.is_true(inside >= 0.95, "inside: " .. inside)
         assert.is_true(poor < 0.05, "of no use: " .. poor)
      end)
   end

   it("are exact in a program that does the same all the time", function()
      local m = sim.machine()
      local tid = assert(m:spawn { program = sim.work(1000000, { loads = 1, stores = 2, fp_ops = 3 }, 1000) })
      local result = count.run { tids = { tid }, events = EVENTS, switch = 1 }
      assert.are.equal(2, result.sets)
      assert.are.equal(1000000, result.switch_ns)
      for name, truth in pairs { LOADS_RETIRED = 1e6, STORES_RETIRED = 2e6, FP_OPS_RETIRED = 3e6, CPU_CYCLES = 1e9 } do
         for _, row in ipairs(result.events) do
            if row.event == name then
               assert.are.equal(truth, row.value)
               assert.are.equal(truth, row.other_value)
               assert.are.equal(0.5, row.active)
               assert.is_nil(row.poor)
            end
         end
      end
   end)

   it("scale figure 3.32 as it does, and say that six slices are too few", function()
      local m = sim.machine("itanium2", { hz = 100 })
      local A, B, steps = { 5, 4, 6, 1, 5, 4 }, { 10, 10, 15, 15, 10, 15 }, {}
      for i = 1, 6 do
         steps[#steps + 1] = { loop = A[i], { ip = 1, ns = 1000, events = { loads = 1 } } }
         steps[#steps + 1] = { loop = B[i], { ip = 2, ns = 1000, events = { stores = 1 } } }
         steps[#steps + 1] = { loop = 10000 - A[i] - B[i], { ip = 3, ns = 1000 } }
      end
      local tid = assert(m:spawn { program = steps })
      -- A is LOADS_RETIRED, B STORES_RETIRED: those between fill the first set, so B is in another
      local result = count.run { tids = { tid }, switch = 10,
         events = "LOADS_RETIRED,IA64_INST_RETIRED,CPU_CYCLES,L2_MISSES,STORES_RETIRED" }
      local rows = {}
      for _, row in ipairs(result.events) do rows[row.event] = row end
      assert.are.equal(2, result.sets)
      local seen = { rows.LOADS_RETIRED.value, rows.STORES_RETIRED.value }
      -- Twice the 16 of slices 1, 3 and 5, or twice the 9 of slices 2, 4 and 6.
      assert.is_true(seen[1] == 32 or seen[1] == 18, seen[1])
      assert.is_true(seen[2] == 70 or seen[2] == 80, seen[2])
      assert.are.equal("too few turns of its event set to say how good the estimate is", rows.LOADS_RETIRED.poor)
   end)

   it("take longer turns where the rates are steady, and stay at short ones where not", function()
      local m = sim.machine()
      local steady = assert(m:spawn { program = sim.work(3000000, { loads = 1 }, 1000) })
      assert.are.equal(16000000, count.run { tids = { steady }, events = EVENTS }.switch_ns)
      m = sim.machine()
      local rough = {}
      for i = 1, 40 do
         rough[i] = { loop = i % 7 * 1000 + 1, { ip = i, ns = 1000, events = { loads = i % 5, stores = i % 3 } } }
      end
      local tid = assert(m:spawn { program = { { loop = 5, unpack(rough) } } })
      assert.are.equal(1000000, count.run { tids = { tid }, events = EVENTS }.switch_ns)
   end)

   it("switch sets by occurrences, and count those in all sets", function()
      local m = sim.machine()
      local tid = assert(m:spawn { program = sim.work(100000, { loads = 1, fp_ops = 2 }, 1000) })
      local result = count.run { tids = { tid }, events = EVENTS, switch = "LOADS_RETIRED:500" }
      for _, row in ipairs(result.events) do
         if row.event == "LOADS_RETIRED" then
            assert.are.equal(100000, row.value)
            assert.is_nil(row.active)
         elseif row.event == "FP_OPS_RETIRED" then
            assert.are.equal(200000, row.value)
            assert.is_true(row.active < 1)
         end
      end
      assert.is_true(result.sets > 1)
   end)

   it("count the event that switches sets whole, though all events fit one set", function()
      local m = sim.machine()
      local tid = assert(m:spawn { program = sim.work(100000, { loads = 1, fp_ops = 2 }, 1000) })
      local result = count.run { tids = { tid }, events = "LOADS_RETIRED,FP_OPS_RETIRED", switch = "LOADS_RETIRED:500" }
      assert.are.equal(1, result.sets)
      assert.are.equal(100000, result.events[1].value, "loads")
      assert.are.equal(200000, result.events[2].value, "FP operations")
   end)

   it("refuse to switch by what is no event, or no number of it", function()
      local m = sim.machine()
      local tid = assert(m:spawn { program = sim.work(10) })
      for how, words in pairs {
         ["LOADS_RETIRED"] = "does not say how many: expected EVENT:N",
         ["LOADS_RETIRED:0"] = "'0' is not a number of occurrences",
         ["loads:100"] = "switch: itanium2 has no event loads",
      } do
         local ok, err = pcall(count.run, { tids = { tid }, events = EVENTS, switch = how })
         assert.is_false(ok)
         assert.is_truthy(err:find(words, 1, true), err)
      end
   end)
end)

describe("counts that other users of the PMU cut short", function()
   before_each(sim.begin)
   after_each(sim.finish)

   -- Returns the estimate for a count of n if others had the counter for `blind` of 1,000 ns.
   local function seen(n, blind)
      sim.machine()
      local list = events.read "IA64_INST_RETIRED"
      local made = plan.make(list)
      local values = plan.read(made, {
         read_pmds = function(_, regs)
            return nil, "not all is counted", lpfm.errno.EBUSY, { { num = regs[1].num, value = n } }
         end,
         getinfo_evtsets = function() return { { runs = 1, act_duration = 1000, blind = blind } } end,
      })
      local value, share = multiplex.value(made, list[1], values)
      return value, share, multiplex.taken(made, list[1], values)
   end

   it("are scaled from the time that was counted, and have their share", function()
      assert.are.same({ 500, 0.5, 0.5 }, { seen(250, 500) })
      assert.are.same({ 250, 1, 0 }, { seen(250, 0) })
   end)

   it("are none where nothing was counted", function()
      local value, share, taken = seen(61, 999)
      assert.is_nil(value)
      assert.equal(0, share)
      assert.is_true(taken > 0.99)
   end)
end)

describe("estimates", function()
   it("have the intervals of the tables", function()
      assert.is_true(math.abs(statistics.t95(30) - 2.0423) < 1e-3)
      assert.is_true(math.abs(statistics.interval { 1, 2, 3, 4, 5 } - 2.7764 * math.sqrt(2.5 / 5)) < 1e-4)
      assert.is_nil(statistics.interval { 1 })
   end)

   it("know the chi-square distribution", function()
      for _, row in ipairs { { 3.841, 1, 0.05 }, { 11.07, 5, 0.05 }, { 124.342, 100, 0.05 }, { 0.554, 5, 0.99 } } do
         assert.is_true(math.abs(statistics.chi2(row[1], row[2]) - row[3]) < 2e-4)
      end
      assert.are.equal(1, statistics.chi2(0, 3))
   end)

   it("compare distributions", function()
      local same = statistics.compare({ a = 500, b = 500 }, { a = 510, b = 490 })
      assert.are.equal(1, same.freedom)
      assert.is_true(same.chance > 0.5 and same.distance < 0.011)
      assert.is_true(statistics.compare({ a = 500, b = 500 }, { a = 600, b = 400 }).chance < 1e-4)
      assert.are.equal(1, statistics.compare({ a = 500 }, { b = 500 }).distance)
   end)
end)

local function touch_pages()
   local t = {}
   for i = 1, 3e5 do t[i] = { i } end
   return t
end

describe("switched on the real machine", function()
   it("leaves what is in every set exact, and the shares add up", function()
      assert(lpfm.machine("perf"))
      local result = count.run { call = touch_pages, events = "page-faults:u,page-faults:k,task-clock", switch = 1 }
      local user, kernel, clock = unpack(result.events)
      assert.are.equal(2, result.sets)
      assert.is_true(math.abs(user.active + kernel.active - 1) < 1e-6)
      assert.is_nil(clock.active)
      assert.is_nil(clock.error)
   end)

   it("by an event, does not call its late switches the work of other users of the PMU", function()
      assert(lpfm.machine("perf"))
      local result = count.run { call = touch_pages, events = "page-faults:u,page-faults:k",
         switch = "minor-faults:50" }
      local user = result.events[1]
      assert.is_nil(user.state)
      assert.is_truthy(user.value)
      assert.is_nil((user.poor or ""):match("other users"))
   end)
end)
