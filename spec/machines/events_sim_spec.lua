-- SPDX-License-Identifier: MIT
-- Events by name on the simulated models: programmed as the library says, they count what happened,
-- exactly.

local lpfm = require "lpfm"
local events = require "pfm.events"
local plan = require "pfm.measure.plan"
local sim = require "support.sim"
local stat = require "repl.command.stat"

-- The model's name of each event of simulated programs; several names if they count the same.
local NAMES = {
   itanium2 = {
      cycles = { "CPU_CYCLES" }, instructions = { "IA64_INST_RETIRED" },
      branches = { "BR_MISPRED_DETAIL_ALL_ALL_PRED" }, branch_misses = { "BR_MISPRED_DETAIL_ALL_WRONG_PATH" },
      loads = { "LOADS_RETIRED" }, stores = { "STORES_RETIRED" }, fp_ops = { "FP_OPS_RETIRED" },
      nops = { "NOPS_RETIRED" }, stalls = { "BACK_END_BUBBLE_ALL" }, l1d_accesses = { "L1D_READS_SET0" },
      l1d_misses = { "L1D_READ_MISSES_ALL" }, l1i_accesses = { "L1I_READS" }, l1i_misses = { "L1I_FILLS" },
      l2_accesses = { "L2_REFERENCES" }, l2_misses = { "L2_MISSES" }, l3_accesses = { "L3_REFERENCES" },
      l3_misses = { "L3_MISSES" }, dtlb_misses = { "L2DTLB_MISSES" }, itlb_misses = { "ITLB_MISSES_FETCH_ALL" },
      bus_accesses = { "BUS_ALL_ANY" }, interrupts = { "EXTERN_DP_PINS_0_TO_3_ALL" },
      dear_events = { "DATA_EAR_EVENTS" }, iear_events = { "L1I_EAR_EVENTS" }, branch_events = { "BRANCH_EVENT" },
   },
   k8 = {
      cycles = { "CPU_CLK_UNHALTED" }, instructions = { "RETIRED_INSTRUCTIONS" },
      branches = { "RETIRED_BRANCH_INSTRUCTIONS" }, branches_taken = { "RETIRED_TAKEN_BRANCH_INSTRUCTIONS" },
      branch_misses = { "RETIRED_MISPREDICTED_BRANCH_INSTRUCTIONS" }, uops = { "RETIRED_UOPS" },
      fp_ops = { "DISPATCHED_FPU:ALL" }, stalls = { "DISPATCH_STALLS" }, l1d_accesses = { "DATA_CACHE_ACCESSES" },
      l1d_misses = { "DATA_CACHE_MISSES" }, l1i_accesses = { "INSTRUCTION_CACHE_FETCHES" },
      l1i_misses = { "INSTRUCTION_CACHE_MISSES" }, l2_accesses = { "REQUESTS_TO_L2:ALL" },
      l2_misses = { "L2_CACHE_MISS:ALL" }, dtlb_misses = { "L1_DTLB_AND_L2_DTLB_MISS" },
      prefetches = { "DATA_PREFETCHES:ATTEMPTED" },
      prefetches_unused = {}, forwards = {}, -- the processor cannot count them
      itlb_misses = { "L1_ITLB_MISS_AND_L2_ITLB_MISS" }, bus_accesses = { "SYSTEM_READ_RESPONSES:ALL" },
      interrupts = { "INTERRUPTS_TAKEN" },
   },
   p6 = {
      cycles = { "CPU_CLK_UNHALTED" }, instructions = { "INST_RETIRED" }, branches = { "BR_INST_RETIRED" },
      branches_taken = { "BR_TAKEN_RETIRED" }, branch_misses = { "BR_MISS_PRED_RETIRED" }, uops = { "UOPS_RETIRED" },
      fp_ops = { "FLOPS" }, stalls = { "RESOURCE_STALLS" }, l1d_accesses = { "DATA_MEM_REFS" },
      l1d_misses = { "DCU_LINES_IN" }, l1i_accesses = { "IFU_IFETCH" }, l1i_misses = { "IFU_IFETCH_MISS" },
      l2_accesses = { "L2_RQSTS:M:E:S:I" }, l2_misses = { "L2_LINES_IN" }, itlb_misses = { "ITLB_MISS" },
      bus_accesses = { "BUS_TRAN_MEM" }, interrupts = { "HW_INT_RX" },
   },
   armv8 = {
      cycles = { "CPU_CYCLES" }, instructions = { "INST_RETIRED" }, branches = { "BR_PRED", "BR_RETIRED" },
      branches_taken = { "PC_WRITE_RETIRED" }, branch_misses = { "BR_MIS_PRED", "BR_MIS_PRED_RETIRED" },
      uops = { "INST_SPEC" }, loads = { "LD_RETIRED" }, stores = { "ST_RETIRED" },
      fp_ops = {}, -- 0x75 is not architected
      stalls = { "STALL_BACKEND" }, l1d_accesses = { "L1D_CACHE" }, l1d_misses = { "L1D_CACHE_REFILL" },
      l1i_accesses = { "L1I_CACHE" }, l1i_misses = { "L1I_CACHE_REFILL" }, l2_accesses = { "L2D_CACHE" },
      l2_misses = { "L2D_CACHE_REFILL" }, l3_accesses = { "L3D_CACHE" }, l3_misses = { "L3D_CACHE_REFILL" },
      dtlb_misses = { "L1D_TLB_REFILL" }, itlb_misses = { "L1I_TLB_REFILL" }, bus_accesses = { "BUS_ACCESS" },
      interrupts = { "EXC_TAKEN" },
   },
}
local FIRST = { itanium2 = 4, k8 = 0, p6 = 0, armv8 = 0 }
local LEVELS = { "u", "k", "uk" }

-- Returns the names of the events that the model counts, in the machine's order.
local function simulated(m, model)
   local out = {}
   for _, event in ipairs(m:events()) do
      if m:encode(event, FIRST[model], "uk") then out[#out + 1] = event end
   end
   return out
end

-- Returns a program in which events from..to have different counts at each level; some 20 fit.
local function program(list, from, to)
   local sites = { loop = 97 }
   for l, level in ipairs { "user", "kernel", "interrupt" } do
      local counts = {}
      for i = from or 1, to or #list do counts[list[i]] = 7 * i + 1000 * l + i % l end
      sites[l] = { ip = 0x1000 * l, ns = 10, level = level, events = counts }
   end
   return { sites }
end

local function truth(m, tid, event, levels)
   local t = m:truth(tid)[event]
   return levels == "u" and t.user or levels == "k" and t.kernel + t.interrupt or t.total
end

-- Counts one event in a thread that runs to its end.
local function counted(m, name, levels, work)
   local out = assert(lpfm.dispatch_events { events = { { name = name, plm = levels } } })
   local ctx, tid = sim.context(), assert(m:spawn { program = work })
   assert(ctx:write_pmcs(out.pmcs))
   assert(ctx:write_pmds { { num = out.pmds[1], value = 0 } })
   sim.start(ctx, tid)
   assert.is_true(m:run { until_exit = tid })
   return sim.value(ctx, out.pmds[1]), tid
end

local before

setup(function() before = lpfm.machine().name end)
teardown(function() lpfm.machine(before) end)

describe("events by name on the simulated models", function()
   before_each(sim.begin)
   after_each(sim.finish)

   for model, names in pairs(NAMES) do
      it("have a name each: " .. model, function()
         local known = {}
         for _, event in ipairs(simulated(sim.machine(model), model)) do
            assert.is_table(names[event], model .. " counts " .. event)
            known[event] = true
         end
         for event in pairs(names) do assert.is_true(known[event], event) end
      end)

      it("count exactly what happened, at each level: " .. model, function()
         local m = sim.machine(model)
         local list = simulated(m, model)
         for i, event in ipairs(list) do
            local work = program(list, math.max(i - 9, 1), math.min(i + 9, #list))
            for _, name in ipairs(names[event]) do
               for _, levels in ipairs(LEVELS) do
                  local value, tid = counted(m, name, levels, work)
                  assert.are.equal(truth(m, tid, event, levels), value, ("%s: %s:%s"):format(model, name, levels))
                  assert.is_true(value > 0)
               end
            end
         end
      end)

      it("count exactly as many together as there are counters: " .. model, function()
         local m = sim.machine(model)
         local list = simulated(m, model)
         local together, what = {}, {}
         for _, event in ipairs(list) do
            together[#together + 1] = names[event][1]
            if names[event][1] and lpfm.dispatch_events { events = together } then
               what[#what + 1] = event
            elseif names[event][1] then
               together[#together] = nil
            end
         end
         assert.is_true(#together >= 2)
         local out = assert(lpfm.dispatch_events { events = together, plm = "uk" })
         local ctx, tid = sim.context(), assert(m:spawn { program = program(what) })
         assert(ctx:write_pmcs(out.pmcs))
         sim.start(ctx, tid)
         assert.is_true(m:run { until_exit = tid })
         for i, event in ipairs(what) do
            assert.are.equal(truth(m, tid, event, "uk"), sim.value(ctx, out.pmds[i]), together[i])
         end
      end)
   end

   it("count on Itanium 2 without PMC4's enable bit, which old programs leave out", function()
      local m = sim.machine("itanium2")
      for pmd = 4, 7 do
         local ctx, tid = sim.context(), m:spawn { program = sim.work(1000) }
         assert(ctx:write_pmcs { { num = 4, value = 0x1209 } })
         assert(ctx:write_pmcs { { num = pmd, value = 0x1209 } })
         sim.start(ctx, tid)
         assert.is_true(m:run { until_exit = tid })
         assert.are.equal(10000, sim.value(ctx, pmd))
      end
   end)
end)

describe("stat on the simulated models", function()
   before_each(sim.begin)
   after_each(sim.finish)

   local MIX = { cycles = 10, instructions = 5, branches = 2, l2_misses = 1, loads = 3, stores = 4 }

   local function measure(model, list, groups, n)
      local m = sim.machine(model, { timer_ns = 1 })
      local tid = m:spawn { program = sim.work(n or 1000000, MIX) }
      local result = stat.call(function() assert.is_true(m:run { until_exit = tid }) end, list, groups, tid)
      return result, m, tid
   end

   local function row(result, name)
      for _, r in ipairs(result.events) do
         if r.event == name then return r end
      end
   end

   it("counts exactly what fits, by generic names, names of the library, presets", function()
      local result = measure("k8", "cycles,RETIRED_INSTRUCTIONS:u,PAPI_BR_INS,instructions:k")
      assert.are.equal(1, result.sets)
      assert.are.same({ 10000000, 5000000, 2000000, 0 }, { row(result, "cycles").value,
         row(result, "RETIRED_INSTRUCTIONS:u").value, row(result, "PAPI_BR_INS").value,
         row(result, "instructions:k").value })
      assert.is_nil(result.events[1].active)
   end)

   it("computes derived presets from their formula", function()
      local result = measure("k8", "PAPI_BR_PRC")
      assert.are.equal(2000000, result.events[1].value) -- branches without mispredicted ones
   end)

   it("counts in turn what does not fit, scales it, and says why", function()
      local result = measure("itanium2", "LOADS_RETIRED,STORES_RETIRED,cycles,instructions,L2_MISSES,branches," ..
         "task-clock")
      assert.are.equal(2, result.sets)
      assert.are.equal("LOADS_RETIRED and STORES_RETIRED are of sets 3 and 4 of the L1 group", result.why_sets)
      for name, count in pairs { LOADS_RETIRED = 3, STORES_RETIRED = 4, cycles = 10, instructions = 5, branches = 2 } do
         local r = row(result, name)
         assert.is_true(math.abs(r.value - count * 1e6) < count * 1000, name .. ": " .. r.value)
         assert.is_true(r.active > 0.4 and r.active < 0.6, name .. ": " .. r.active)
      end
      assert.are.equal(10000000, row(result, "task-clock").value) -- counted in both sets: exact
      assert.is_nil(row(result, "task-clock").active)
      local text = tostring(result)
      assert.is_truthy(text:find("(50%)", 1, true), text)
      assert.is_truthy(text:find("Counted in 2 event sets in turn, and scaled to the whole time: LOADS_RETIRED and " ..
         "STORES_RETIRED", 1, true), text)
   end)

   it("counts more events than one call takes", function()
      local m = sim.machine("itanium2")
      local list = {}
      for _, event in ipairs(simulated(m, "itanium2")) do list[#list + 1] = NAMES.itanium2[event][1] end
      assert.is_true(#list > 23)
      local result = measure("itanium2", list)
      for _, r in ipairs(result.events) do assert.is_number(r.value, r.event) end
      assert.is_true(math.abs(row(result, "CPU_CYCLES").value - 1e7) < 1e5)
   end)

   it("says of an event set that never had its turn that it did not count", function()
      local result = measure("itanium2", "LOADS_RETIRED,STORES_RETIRED", nil, 10)
      local r = result.events[1].value and result.events[2] or result.events[1]
      assert.are.same({ "not counted", "its event set never had its turn" }, { r.state, r.reason })
   end)

   it("refuses another model's events", function()
      local ok, err = pcall(measure, "p6", "cycles,armv8::LD_RETIRED")
      assert.is_false(ok)
      assert.are.equal("'armv8::LD_RETIRED' is an event of armv8, and this machine's PMU is p6", err)
   end)

   it("prints the metrics of groups", function()
      local result = measure("armv8", nil, "cpi,branch")
      assert.are.equal("cpi", result.metrics[1].name)
      assert.are.same({ "CPI", 2 }, { result.metrics[1].metrics[1].name, result.metrics[1].metrics[1].value })
      assert.are.equal(1, result.metrics[1].metrics[3].value) -- GHz
      assert.are.equal(0.4, result.metrics[2].metrics[1].value)
      assert.are.equal(5, #result.events) -- instructions are counted once for both
      local text = tostring(result)
      assert.is_truthy(text:find("2.000  cycles/instruction  CPI", 1, true), text)
   end)

   it("computes metrics exactly for a loop of 10 cycles, 5 instructions and 2 branches, on every model", function()
      for _, model in ipairs { "itanium2", "p6", "k8", "armv8" } do
         local cpi = measure(model, nil, "CPI").metrics[1].metrics
         assert.are.same({ 2, 0.5 }, { cpi[1].value, cpi[2].value }, model)
         assert.is_nil(cpi[1].active, model)
      end
      for _, model in ipairs { "k8", "armv8" } do -- models with the three counters that it needs
         local branch = measure(model, nil, "BRANCH").metrics[1].metrics
         assert.are.same({ 0.4, 2.5 }, { branch[1].value, branch[2].value }, model)
      end
   end)

   it("computes metrics of groups that need several sets, marked as estimates with their share of the time", function()
      local result = measure("itanium2", nil, "cycles,cpi")
      assert.is_true(result.sets > 1)
      local m = result.metrics[2].metrics[1]
      assert.is_true(m.active > 0 and m.active < 1)
      local line = ("~%.3f  cycles/instruction  CPI    (%.0f%% of the time)"):format(m.value, m.active * 100)
      assert.is_truthy(tostring(result):find(line, 1, true), tostring(result))
      local cpi = result.metrics[2].metrics[1].value
      assert.is_true(math.abs(cpi - 2) < 0.01, tostring(cpi))
   end)

   it("refuses groups that the PMU has no events for, with the reason", function()
      local ok, err = pcall(measure, "p6", nil, "topdown")
      assert.is_false(ok)
      assert.are.equal("metric group 'topdown' is not for PMU p6: p6 has no event UOPS_ISSUED, INT_MISC, UOPS_RETIRED, "
         .. "IDQ_UOPS_NOT_DELIVERED; those that work here: cpi, branch, cache, l1, memory, cycles", err)
      assert.are.equal("cpi", measure("p6", nil, "CPI").metrics[1].name)
      ok, err = pcall(measure, "p6", nil, "brnch")
      assert.is_false(ok)
      assert.are.equal("no metric group 'brnch'; did you mean 'branch'?", err)
   end)

   it("says what no counter takes, and counts the others", function()
      sim.machine("p6")
      local list = assert(events.read("FLOPS,cycles"))
      local made = assert(plan.make(list, { 0 })) -- FLOPS counts on counter 0 alone
      assert.is_truthy(list[1].reason:find("FLOPS", 1, true), list[1].reason)
      assert.are.same({ { num = 1, sets = { 1 } } }, made.terms[list[2]])
   end)

   it("leaves out counters that others hold", function()
      sim.machine("itanium2")
      local list = assert(events.read("cycles,instructions,L2_MISSES"))
      local made = assert(plan.make(list))
      assert.are.equal(1, #made.sets)
      local used = plan.counters(made)
      assert.are.equal(3, #used)
      made = assert(plan.make(list, { 4, 5, 6 }))
      assert.are.equal(3, #made.sets)
      assert.are.same({ 7 }, plan.counters(made))
   end)
end)
