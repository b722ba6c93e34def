-- SPDX-License-Identifier: MIT
-- Events by name: libpfm 3's interface, its tables against libpfm4, the assignment against
-- exhaustive search. One interpreter: the programs are C.

local lpfm = require "lpfm"
local c = require "support.c"

local build = os.getenv("LPFM_BUILD") or "build"
local san = build:match("/san$") and "-fsanitize=address,undefined" or ""

local OLD = ("-DSOFTWARE=%d -lpfmlib"):format(#lpfm.software_events())

local run = c.must

-- Compiles spec/c/old/pfmlib_both4.c apart with libpfm4's header, as ours has the same name.
local function with_libpfm4(name, libraries)
   local object, program = build .. "/spec/pfmlib_both4.o", build .. "/spec/" .. name
   local gcc = "LD_PRELOAD= gcc -std=gnu11 -O2 -g -Wall -Wextra -Werror " .. san
   run(("mkdir -p %s/spec && %s -c -o %s spec/c/old/pfmlib_both4.c"):format(build, gcc, object))
   run(("%s -Ikernel/include -o %s spec/c/old/%s.c %s -L%s %s -Wl,-rpath,%s"):format(gcc, program, name, object, build,
      libraries, build))
   return program
end

describe("pfmlib", function()
   it("is libpfm 3 to programs written for it", function()
      run(c.compile("pfmlib_old", OLD))
   end)

   it("lives in one process with libpfm4, whoever is linked first", function()
      for _, order in ipairs { "-lpfmlib -lpfm", "-lpfm -lpfmlib" } do
         run(with_libpfm4("pfmlib_both", order))
      end
   end)

   it("exports what the version script lists, and no name of libpfm4", function()
      local out = run("nm -D --defined-only " .. build .. "/libpfmlib.so | awk '$2 ~ /[TDBRW]/ {print $3}'")
      local map = io.open("lpfm/pfmlib/pfmlib.map"):read("*a")
      for symbol in out:gmatch("[^\n]+") do
         local name = symbol:gsub("@.*", "")
         assert.is_truthy(map:find("\t" .. name .. ";", 1, true) or name:find("^pfm_regmask_") or
            name:find("^pfm_ita2?_") or name:find("^pfm_mont_"), "exported: " .. name)
         for _, theirs in ipairs { "initialize", "strerror", "get_version", "find_event", "terminate" } do
            assert.are_not.equal("pfm_" .. theirs, name)
         end
      end
      for name in map:gmatch("\t(pfm[%w_]+);") do
         assert.is_truthy(out:find(name .. "@", 1, true), "not exported: " .. name)
      end
   end)

   it("encodes every event and mask of every core PMU as libpfm4 does", function()
      local out = run(with_libpfm4("pfmlib_encode", "-lpfmlib -lpfm"))
      assert.is_truthy(out:find(" 0 wrong"), out)
      assert.is_true(tonumber(out:match("(%d+) encodings the same")) > 1000, out)
   end)

   it("finds an assignment exactly when there is one, the fewest sets and the smallest conflict", function()
      local out = run(c.compile("pfmlib_brute", "-lpfmlib") .. " 40")
      assert.is_truthy(out:find("itanium2: 4 counters", 1, true), out)
   end)

   local function page_on_sim()
      return c.compile("pfmlib_page", "spec/c/old/pfmlib_page_sim.c -Wl,--wrap=getpid,--wrap=pfm_stop -lpfmlib")
   end

   it("serves the manual page's program on the simulated models, to the cycle", function()
      local program = page_on_sim()
      local before = lpfm.machine().name
      for _, name in ipairs(lpfm.machines()) do
         if name:find("^sim:") then
            lpfm.machine(name)
            local out = lpfm.dispatch_events { events = { "cycles" } }
            if out and #out.pmcs == 1 then -- the program has room for one PMC
               assert.are.equal("results: 1000000\n", run("LPFM_MACHINE=" .. name .. " " .. program), name)
            end
         end
      end
      lpfm.machine(before)
   end)

   it("serves the manual page's program on the host's PMU", function()
      local before = lpfm.machine().name
      local machine = lpfm.machine("perf")
      lpfm.machine(before)
      if machine.hw_counters == 0 then pending("there are no hardware counters here") return end
      local out = run("LPFM_MACHINE=perf " .. c.compile("pfmlib_page", "-lpfmlib"))
      assert.is_true(tonumber(out:match("results: (%d+)")) > 1000000, out)
   end)

   it("reads its environment", function()
      local program = page_on_sim()
      local out = c.sh("LPFM_MACHINE=sim:p6 LIBPFM_FORCE_PMU=itanium2 LIBPFM_VERBOSE=1 " .. program)
      assert.is_truthy(out:find("PMU model: itanium2", 1, true), out)
      local only_stdout = c.sh("LPFM_MACHINE=sim:p6 LIBPFM_FORCE_PMU=3 LIBPFM_VERBOSE=1 LIBPFM_DEBUG_STDOUT=1 "
         .. program .. " 2>/dev/null")
      assert.is_truthy(only_stdout:find("PMU model: itanium2", 1, true), only_stdout)
   end)
end)

describe("events in Lua", function()
   local before

   setup(function()
      before = lpfm.machine().name
      lpfm.machine("sim:itanium2")
   end)
   teardown(function() lpfm.machine(before) end)

   it("follow the machine", function()
      assert.are.equal("itanium2", lpfm.event("cycles").pmu)
      lpfm.machine("sim:p6")
      assert.are.equal("p6", lpfm.event("cycles").pmu)
      lpfm.machine("sim:itanium2")
      assert.are.equal("CPU_CYCLES", lpfm.event("cycles").event)
   end)

   it("are listed by pattern", function()
      local VIRTUAL = 5 -- the virtual registers: TSTAMP, REALTIME, TID, PID, CPU
      assert.are.equal(497 + #lpfm.software_events() + VIRTUAL, #lpfm.events())
      assert.are.same({ "L2_MISSES" }, lpfm.events("l2_miss*"))
      assert.are.same({ "MINOR_FAULTS", "MAJOR_FAULTS" }, lpfm.events("or_faults"))
      assert.are.same({ "MINOR_FAULTS", "MAJOR_FAULTS" }, lpfm.events("m[a-i]*or-faults"))
      assert.are.same({ "L2_RQSTS:M" }, lpfm.events("l2_rqsts:m", { pmu = "p6", masks = true }))
      assert.are.same({ "branch-misses" }, lpfm.events("branch-misses", { generic = true }))
      assert.has_error(function() lpfm.events("x", { nonsense = true }) end, "events: field 'nonsense': unknown field")
      assert.are.equal("events: no PMU model z80", select(2, lpfm.events(nil, { pmu = "z80" })))
   end)

   it("are described", function()
      local event = lpfm.event("p6::L2_RQSTS:M:E:c=2:u")
      assert.are.equal("p6::L2_RQSTS:M:E:c=2", event.name)
      assert.are.equal("L2_RQSTS", event.event)
      assert.are.equal("u", event.plm)
      assert.are.equal(0x2e, event.code)
      assert.are.equal(4, #event.masks)
      assert.are.same({ 0, 1 }, event.counters)
      assert.is_false(event.software)
      assert.is_true(#event.desc > 0)
      assert.are.equal("integer", event.modifiers[5].type)
      assert.are.same({ 64 }, lpfm.event("task-clock").counters)
   end)

   it("take a level once", function()
      for _, levels in ipairs { "u=0:k=1:u=1", "u:u", "u:u=0", "k:u:k" } do
         local event, why = lpfm.event("INST_RETIRED:ANY_P:" .. levels, "core")
         assert.is_nil(event, levels)
         assert.are.equal(("event: INST_RETIRED: %s is given twice"):format(levels:match(".$"):match("%a")
            or levels:match("(%a)=%d$")), why)
      end
      assert.are.equal("k", lpfm.event("INST_RETIRED:ANY_P:u=0:k=1", "core").plm)
   end)

   it("may be presets, derived ones as formulas", function()
      local preset = lpfm.event("PAPI_BR_PRC")
      assert.are.equal("$1 - ($2 + $3)", preset.formula)
      assert.are.equal("BR_MISPRED_DETAIL_ALL_ALL_PRED", preset.terms[1].name)
      local out = lpfm.dispatch_events { events = { "PAPI_BR_PRC", "cycles" } }
      assert.are.equal(4, #out.pmds)
      assert.are.same({ "PAPI_BR_PRC", "$1 - ($2 + $3)" }, { out.counters[1].name, out.counters[1].formula })
      assert.are.equal(out.pmds[4], out.counters[2].terms[1].pmd)
   end)

   it("are all well formed on every model that has them", function()
      for _, pmu in ipairs(lpfm.pmus()) do
         for _, name in ipairs(lpfm.events(nil, { pmu = pmu.name, generic = true })) do
            if name:find("-", 1, true) or name:find("^PAPI_") then
               local event, why = lpfm.event(name, pmu.name)
               assert.is_truthy(event, pmu.name .. ": " .. name .. ": " .. tostring(why))
            end
         end
         if pmu.counters > 0 then
            for _, name in ipairs { "cycles", "instructions", "branches", "branch-misses", "PAPI_TOT_CYC",
               "PAPI_BR_PRC" } do
               local event, why = lpfm.event(name, pmu.name)
               assert.is_truthy(event, pmu.name .. ": " .. name .. ": " .. tostring(why))
            end
         end
      end
   end)

   it("propose the nearest name", function()
      assert.are.equal("CPU_CYCLES", lpfm.suggest_event("CPU_CYCELS"))
      local event, why, errno, name = lpfm.event("L3_MISES")
      assert.is_nil(event)
      assert.are.equal("event: itanium2 has no event L3_MISES; did you mean L3_MISSES?", why)
      assert.are.same({ lpfm.errno.ENOENT, "NOTFOUND" }, { errno, name })
      why = select(2, lpfm.event("p6::BUS_TRANS_WB:SELFF"))
      assert.are.equal("event: BUS_TRANS_WB has no unit mask or modifier SELFF; did you mean SELF?", why)
      assert.is_nil(lpfm.suggest_event("zzzzzzzzzzzzzz"))
      assert.is_nil(lpfm.suggest_event(("z"):rep(300)))
   end)

   it("become registers", function()
      local out = lpfm.dispatch_events { events = { "L2_REFERENCES", "cycles:k", { name = "instructions", plm = "uk" },
         "page-faults" }, plm = "u" }
      assert.are.same({ 4, 5, 6, 66 }, out.pmds)
      assert.are.same({ { num = 4, value = 0x80b128 }, { num = 5, value = 0x1221 }, { num = 6, value = 0x829 },
         { num = 66, value = 8 } }, out.pmcs)
      assert.are.same({ "L2_REFERENCES", "CPU_CYCLES", "IA64_INST_RETIRED", "PAGE_FAULTS" }, out.events)
      out = lpfm.dispatch_events { events = { "cycles" }, unavail = { 4, 5, 6 } }
      assert.are.same({ 7 }, out.pmds)
   end)

   it("say why they do not fit", function()
      local out, why, errno, name = lpfm.dispatch_events { events = { "LOADS_RETIRED", "cycles", "STORES_RETIRED" } }
      assert.is_nil(out)
      assert.are.equal("dispatch_events: LOADS_RETIRED and STORES_RETIRED are of sets 3 and 4 of the L1 group", why)
      assert.are.same({ lpfm.errno.ENOSPC, "EVTSET" }, { errno, name })
      local conflict, reason = lpfm.event_conflict { events = { "FLOPS", "cycles", "FP_COMP_OPS_EXE" }, pmu = "p6" }
      assert.are.same({ "p6::FLOPS", "p6::FP_COMP_OPS_EXE" }, conflict)
      assert.is_truthy(reason:find("FLOPS and FP_COMP_OPS_EXE cannot be counted together", 1, true), reason)
      assert.is_nil(lpfm.event_conflict { events = { "cycles" } })
      why = select(2, lpfm.dispatch_events { events = { "cycles", "page-faults", "page-faults" } })
      assert.is_truthy(why:find("PAGE_FAULTS and PAGE_FAULTS cannot be counted together", 1, true), why)
   end)

   it("are split into the fewest sets", function()
      local names = { "LOADS_RETIRED", "STORES_RETIRED", "cycles", "instructions", "L3_MISSES", "L3_REFERENCES" }
      local split = lpfm.split_events { events = names }
      assert.are.equal(2, #split.sets)
      local counted = 0
      for _, set in ipairs(split.sets) do
         counted = counted + #set.pmds
         assert.is_nil(lpfm.event_conflict { events = set.events })
      end
      assert.are.equal(#names, counted)
      for i, counter in ipairs(split.counters) do
         assert.are.equal(names[i], counter.name)
         local term = counter.terms[1]
         local set, at = split.sets[term.set + 1], nil
         for k, event in ipairs(set.events) do
            if event == split.events[term.event] then at = k end
         end
         assert.are.equal(term.pmd, set.pmds[at])
      end
   end)

   it("say what fits beside them", function()
      local addable = {}
      for _, name in ipairs(lpfm.addable_events { events = { "LOADS_RETIRED" } }) do addable[name] = true end
      assert.is_true(addable["itanium2::CPU_CYCLES"] or addable.CPU_CYCLES)
      assert.is_nil(addable["itanium2::STORES_RETIRED"] or addable.STORES_RETIRED)
   end)

   it("take Itanium 2's ranges, opcodes and buffers", function()
      local out = lpfm.dispatch_events { events = { "IA64_INST_RETIRED" },
         itanium2 = { code_ranges = { { 0x4000, 0x8000 } }, counters = { { thres = 3 } } } }
      local pmcs = {}
      for _, pmc in ipairs(out.pmcs) do pmcs[pmc.num] = pmc.value end
      assert.are.equal(0x4000, pmcs[256])
      assert.are.equal(3, math.floor(pmcs[4] / 2 ^ 20) % 8)
      assert.are.same({ { before = 0, behind = 0 } }, out.ranges.code)
      local _, _, _, name = lpfm.dispatch_events { events = { "IA64_INST_RETIRED" },
         itanium2 = { code_ranges = { { 0x4008, 0x8000 } } } }
      assert.are.equal("IRRALIGN", name)
   end)

   it("refuse what is no request", function()
      assert.has_error(function() lpfm.dispatch_events {} end)
      assert.has_error(function() lpfm.dispatch_events { events = { 1 } } end,
         "dispatch_events: element 1: event name expected, got 1")
      assert.has_error(function() lpfm.dispatch_events { events = { "cycles" }, plm = "x" } end)
      assert.has_error(function() lpfm.dispatch_events { events = { "cycles" }, unavail = { -1 } } end)
      assert.has_error(function() lpfm.dispatch_events { events = { "cycles" }, what = 1 } end,
         "dispatch_events: field 'what': unknown field")
      assert.is_nil(lpfm.dispatch_events { events = {} })
   end)
end)

describe("metric groups", function()
   local metrics = require "pfm.metrics"

   local function check_group(pmu, group)
      local split, why = lpfm.split_events { events = group.events, pmu = pmu }
      assert.is_truthy(split, pmu .. ": " .. group.name .. ": " .. tostring(why))
      local ones = {}
      for i in ipairs(group.variables) do ones[i] = 1 end
      for _, metric in ipairs(metrics.evaluate(group, ones)) do
         assert.is_number(metric.value, group.name .. ": " .. metric.name)
      end
   end

   it("have events that fit into sets, and formulas that compute, on every model", function()
      local found = {}
      for _, pmu in ipairs(lpfm.pmus()) do
         for _, entry in ipairs(metrics.all(pmu.name)) do
            if entry.group then
               found[entry.name] = true
               check_group(pmu.name, entry.group)
            end
         end
      end
      for _, name in ipairs(metrics.names()) do
         assert.is_true(found[name] or name == "energy", name) -- "energy" needs no PMU of a core
      end
   end)

   -- Looks at every variant, also at one that no model chooses because of a typo in its events.
   it("have a unit and an explanation for each metric, and use each of their events", function()
      for _, name in ipairs(metrics.names()) do
         local file = require("pfm.metrics." .. name)
         assert.is_string(file.text)
         for i, variant in ipairs(file) do
            local where, formulas = ("%s, variant %d"):format(name, i), {}
            for _, term in ipairs(variant.terms or {}) do formulas[#formulas + 1] = term[2] end
            for _, m in ipairs(variant.metrics) do
               assert.is_true(#m == 4 and #m[3] > 0 and #m[4] > 0, where .. ": " .. m[1])
               formulas[#formulas + 1] = m[2]
            end
            local all = table.concat(formulas, " ; ")
            -- topdown2 also has topdown's events
            local events = name ~= "topdown2" and variant.events or {}
            for variable, event in pairs(events) do
               assert.is_truthy(all:find("%f[%w_]" .. variable .. "%f[^%w_]"), where .. ": " .. event)
            end
         end
      end
   end)

   -- A variant that names a model is for this model alone: an event that the model lacks is a typo.
   it("have all their events in the table of each model that they name", function()
      local checked = 0
      for _, name in ipairs(metrics.names()) do
         for i, variant in ipairs(require("pfm.metrics." .. name)) do
            for _, pmu in ipairs(lpfm.pmus()) do
               local named = variant.pmu and variant.pmu ~= "^arm" and pmu.name:find(variant.pmu)
               local group = named and metrics.group(name, pmu.name)
               if named then
                  checked = checked + 1
                  assert.is_truthy(group, ("%s, variant %d, %s"):format(name, i, pmu.name))
               end
            end
         end
      end
      assert.is_true(checked > 0)
   end)

   it("are offered by name for the cores that have the events", function()
      local offered = {
         skl = "topdown topdown2 flops_dp flops_sp l1 l2 l3 tlb", icl = "topdown topdown2 flops_dp l2 l3",
         spr = "topdown topdown2 flops_dp l2 l3", snb = "topdown flops_dp",
         amd64_fam19h_zen4 = "topdown topdown2 flops l3", armv8 = "cpi branch l1 l2 l3 tlb memory cycles",
         arm_v1 = "topdown topdown2 flops", arm_n2 = "topdown topdown2 flops",
         arm_n1 = "cpi branch l1 l2 l3 tlb cycles flops",
      }
      for _, pmu in ipairs(lpfm.pmus()) do
         for name in (offered[pmu.name] or ""):gmatch("%S+") do
            local group, why = metrics.group(name, pmu.name)
            assert.is_truthy(group, why)
         end
      end
   end)

   -- By hand: 1000 cycles are 4000 slots. 400 got nothing (frontend bound: 10 %), 2000 retired,
   -- 2200 were issued, with 50 cycles of recovery: bad speculation is (2200 - 2000 + 200) / 4000.
   -- 30 % are backend bound, of which (200 + 50) / (400 + 100 + 0.5 * 200 + 50) by memory.
   it("compute top-down on counts made by hand", function()
      if not lpfm.event("UOPS_ISSUED:ANY", "skl") then pending("libpfm4 has no tables of Intel's here") return end
      local function near(expected, group, counts)
         for i, m in ipairs(metrics.evaluate(group, counts)) do
            assert.is_true(math.abs(m.value - expected[i]) < 1e-9, m.name .. " " .. m.value)
         end
      end
      local counts = { CYC = 1000, UNFED = 400, ISSUED = 2200, RETIRED = 2000, RECOVERY = 50, UNFED0 = 40, MISP = 30,
         CLEARS = 10, STALLS_MEM = 200, STALLS = 400, STORES = 50, ONE = 100, TWO = 200, MS = 440 }
      near({ 0.1, 0.1, 0.5, 0.3 }, metrics.group("topdown", "skl"), counts)
      local memory = 0.3 * 250 / 650
      near({ 0.04, 0.06, 0.075, 0.025, memory, 0.3 - memory, 0.1, 0.4 }, metrics.group("topdown2", "skl"), counts)
      -- 200 + 2 * 100 + 4 * 50 + 8 * 100 in 1000 ns
      near({ 1.4, 1.2, 250 / 450 }, metrics.group("flops_dp", "skl"),
         { RAN = 1000, SCALAR = 200, P128 = 100, P256 = 50, P512 = 100 })
   end)

   it("say of what share of the time an estimate is", function()
      local group = metrics.group("cpi", "itanium2") -- has the events CYC, INS and RAN
      local out = metrics.evaluate(group, { 300, 100, 150 }, { 0.5, 0.25 })
      assert.are.same({ 0.25, 0.25, 0.5 }, { out[1].active, out[2].active, out[3].active })
      assert.is_nil(metrics.evaluate(group, { 300, 100, 150 })[1].active)
   end)

   it("compute", function()
      local group = metrics.group("cpi", "itanium2")
      local out = metrics.evaluate(group, { CYC = 300, INS = 100, RAN = 150 })
      assert.are.same({ 3, 2 }, { out[1].value, out[3].value })
      assert.is_nil(metrics.evaluate(group, { CYC = 1, INS = 0, RAN = 1 })[1].value)
      assert.has_error(function() metrics.evaluate(group, { CYC = 1 }) end)
   end)

   it("say what is missing", function()
      local group, why = metrics.group("topdown", "p6")
      assert.is_nil(group)
      assert.is_truthy(why:find("metric group 'topdown' is not for PMU p6", 1, true), why)
      assert.is_nil(metrics.group("nonsense"))
   end)
end)
