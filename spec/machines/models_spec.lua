-- SPDX-License-Identifier: MIT
-- Every model of the simulated computer: what its events count, by name and by code, on each
-- counter. The registers' reserved bits are in sec_3_1_13_getinfo_registers_spec.lua, the
-- assignment against exhaustive search in pfmlib_spec.lua; all go by the lists of models, so that a
-- new one is tested at once.

local c = require "support.c"
local lpfm = require "lpfm"
local sim = require "support.sim"

-- Events for which a model has a code, but its table of names does not.
local NAMELESS = {
   armv8 = { fp_ops = true }, -- VFP_SPEC is not architected
   nehalem = { interrupts = true }, -- libpfm4 does not have HW_INT
   k8 = { prefetches_unused = true, forwards = true }, -- the processor cannot count them
}

-- Returns the events that the model's counters count, each with these counters.
local function simulated(m)
   local out = {}
   for _, event in ipairs(m:events()) do
      local on = {}
      for _, pmd in ipairs(sim.counters()) do
         if m:encode_pmcs(event, pmd) then on[#on + 1] = pmd end
      end
      if on[1] then out[#out + 1] = { name = event, on = on } end
   end
   return out
end

-- Returns a program of user level in which each event has a different count.
local function program(list)
   local counts = {}
   for i, event in ipairs(list) do counts[event.name] = 1000 + 7 * i end
   return { { ip = 0x1000, ns = 10, events = counts } }
end

-- Returns the counters' values after the program, counted with these PMCs; and the thread.
local function counts(m, pmcs, pmds, work)
   local ctx, tid = assert(lpfm.create {}), assert(m:spawn { program = work })
   assert(ctx:write_pmcs(pmcs))
   for _, pmd in ipairs(pmds) do assert(ctx:write_pmds { { num = pmd, value = 0 } }) end
   sim.start(ctx, tid)
   assert.is_true(m:run { until_exit = tid })
   local values = {}
   for i, pmd in ipairs(pmds) do values[i] = sim.value(ctx, pmd) end
   ctx:close()
   return values, tid
end

local function counted(m, pmcs, pmd, work)
   local values, tid = counts(m, pmcs, { pmd }, work)
   return values[1], tid
end

-- Returns names: the model's events, alone and with each unit mask, and generic names.
local function names()
   local out, seen = {}, {}
   for _, options in ipairs { {}, { masks = true }, { generic = true } } do
      for _, name in ipairs(lpfm.events(nil, options)) do
         if not seen[name] then out[#out + 1] = name end
         seen[name] = true
      end
   end
   return out
end

local function has_table()
   for _, pmu in ipairs(lpfm.pmus()) do
      if pmu.current then return pmu.name ~= "software" end
   end
end

local before

setup(function() before = lpfm.machine().name end)
teardown(function() lpfm.machine(before) end)

describe("a model", function()
   before_each(sim.begin)
   after_each(sim.finish)

   for _, model in ipairs(sim.models()) do
      it("counts by code what happened, on each counter that can: " .. model, function()
         local m = sim.machine(model)
         local list = simulated(m)
         local work = program(list)
         assert(#list > 0, "a counter of " .. model .. " counts nothing that happens")
         for _, event in ipairs(list) do
            for _, pmd in ipairs(event.on) do
               local value, tid = counted(m, assert(m:encode_pmcs(event.name, pmd, "u")), pmd, work)
               assert.are.equal(m:truth(tid)[event.name].user, value, ("%s on PMD%d"):format(event.name, pmd))
               assert.is_true(value > 0)
            end
            local pmd = event.on[1]
            assert.are.equal(0, (counted(m, assert(m:encode_pmcs(event.name, pmd, "k")), pmd, work)), event.name)
         end
      end)

      it("has a name for each event that happens, and names for nothing else count: " .. model, function()
         local m = sim.machine(model)
         if not has_table() then
            pending("there is no table of its names, or libpfm4 has none on this architecture")
            return
         end
         local list, event_of, named = simulated(m), {}, {}
         local work, is_counter = program(list), {}
         for _, pmd in ipairs(sim.counters()) do is_counter[pmd] = true end
         for _, name in ipairs(names()) do
            local out = lpfm.dispatch_events { events = { name }, plm = "u" }
            -- a hardware event
            if out and is_counter[out.pmds[1]] and not is_counter[out.pmds[2]] then
               local value, tid = counted(m, out.pmcs, out.pmds[1], work)
               if not next(event_of) then
                  local truth = m:truth(tid)
                  for _, event in ipairs(list) do event_of[truth[event.name].user] = event.name end
               end
               -- a threshold in the mask counts cycles: bits 24-31 of x86's event selects
               local threshold = lpfm.u64(out.pmcs[1].value) >= lpfm.u64(0x1000000)
               assert.is_truthy(value == 0 or event_of[value] or threshold, name .. ": " .. value)
               if event_of[value] then named[event_of[value]] = name end
            end
         end
         for _, event in ipairs(list) do
            if not (NAMELESS[model] or {})[event.name] then
               assert.is_string(named[event.name], "no name of " .. event.name)
            end
         end

         local together, what = {}, {}
         for _, event in ipairs(list) do
            local n = #together + 1
            together[n] = named[event.name]
            if together[n] and lpfm.dispatch_events { events = together, plm = "u" } then
               what[n] = event.name
            else
               together[n] = nil
            end
         end
         local out = assert(lpfm.dispatch_events { events = together, plm = "u" })
         local values, tid = counts(m, out.pmcs, out.pmds, work)
         for i, event in ipairs(what) do
            assert.are.equal(m:truth(tid)[event].user, values[i], model .. ", together: " .. together[i])
         end
      end)
   end
end)

describe("what restricts events", function()
   before_each(sim.begin)
   after_each(sim.finish)

   -- Two sites of 3 and 4 instructions at 0x1000 and 0x2000, 10 times.
   local WORK = { { loop = 10, { ip = 0x1000, ns = 10, opcode = 5, unit = "m", events = { instructions = 3 } },
      { ip = 0x2000, ns = 10, opcode = 6, unit = "i", events = { instructions = 4 } } } }
   local USER = "0x08ffffffffffffff" -- mask of all address bits, at user level

   local function restricted(model, pmcs)
      local m = sim.machine(model)
      local pmd = sim.counter("instructions")
      local all = assert(m:encode_pmcs("instructions", pmd, "u"))
      for i, pmc in ipairs(pmcs) do all[i + 1] = pmc end
      return (counted(m, all, pmd, WORK))
   end

   it("on Montecito are code ranges by PMC38 and opcodes by PMC32 and 33", function()
      assert.are.equal(70, restricted("montecito", {}))
      -- bits 57 and 56 of PMC32 are set by default: pair 0 is off, and inverted
      local range = { { num = 256, value = 0x2000 }, { num = 257, value = USER }, { num = 38, value = 0xdb4 } }
      assert.are.equal(70, restricted("montecito", range))
      range[4] = { num = 32, value = "0xf01ffffffffff" }
      assert.are.equal(40, restricted("montecito", range))
      range[4] = { num = 32, value = "0x10f01ffffffffff" }
      assert.are.equal(30, restricted("montecito", range))
      range[4] = { num = 32, value = "0x20f01ffffffffff" }
      assert.are.equal(70, restricted("montecito", range))
      -- PMC32 compares all 41 bits of unit m (bit 51); PMC36 puts the pair in force
      assert.are.equal(30, restricted("montecito", { { num = 32, value = "0x8000000000000" }, { num = 33, value = 5 },
         { num = 36, value = 0 } }))
   end)

   it("on the first Itanium are code ranges by bit 0 of PMC13", function()
      assert.are.equal(70, restricted("itanium", {}))
      assert.are.equal(40, restricted("itanium", { { num = 256, value = 0x2000 }, { num = 257, value = USER },
         { num = 13, value = 0 } }))
   end)

   for _, model in ipairs { "itanium", "itanium2", "montecito" } do
      it("on " .. model .. " are what pfm_dispatch_events() was asked for: ranges and opcodes at random", function()
         local out, status = c.sh(("LPFM_MACHINE=sim:%s %s"):format(model, c.compile("ia64_restricted", "-lpfmlib")))
         assert.are.equal(0, status, out)
      end)
   end
end)

describe("thresholds of the Pentium 4", function()
   before_each(sim.begin)
   after_each(sim.finish)

   -- A site of 10 cycles with 3 instructions in the last of them, 10 times.
   it("count cycles with more events, or with so many or fewer", function()
      for complement, expected in pairs { [0] = 10, [1] = 90 } do
         local m = sim.machine("netburst")
         local pmd = sim.counter("instructions")
         local pmcs = assert(m:encode_pmcs("instructions", pmd, "u"))
         pmcs[1].value = pmcs[1].value + 0x40000 + complement * 0x80000 + 2 * 0x100000
         assert.are.equal(expected, (counted(m, pmcs, pmd, sim.work(10, { instructions = 3 }))))
      end
   end)
end)
