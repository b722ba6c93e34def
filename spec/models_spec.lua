-- SPDX-License-Identifier: MIT
-- Every model of the simulated computer: what its events count, by name and by code, on each counter. The registers'
-- reserved bits are in sec_3_1_13_getinfo_registers_spec.lua, the assignment against exhaustive search in
-- pfmlib_spec.lua; all go by the lists of models, so that a new one is tested at once.

local lpfm = require "lpfm"
local sim = require "support.sim"

-- Events that a model has a code for and its table no name.
local NAMELESS = {
   armv8 = { fp_ops = true }, -- VFP_SPEC is not architected
   nehalem = { interrupts = true }, -- libpfm4 does not have HW_INT
}

-- The events that counters of the model count, and for each the counters that can.
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

-- A program of user level in which each event has a count of its own.
local function program(list)
   local counts = {}
   for i, event in ipairs(list) do counts[event.name] = 1000 + 7 * i end
   return { { ip = 0x1000, ns = 10, events = counts } }
end

-- What a counter programmed by these PMCs has after the program.
local function counted(m, pmcs, pmd, work)
   local ctx, tid = assert(lpfm.create {}), assert(m:spawn { program = work })
   assert(ctx:write_pmcs(pmcs))
   assert(ctx:write_pmds { { num = pmd, value = 0 } })
   assert(ctx:load(tid))
   assert(ctx:start())
   assert.is_true(m:run { until_exit = tid })
   local value = sim.value(ctx, pmd)
   ctx:close()
   return value, tid
end

-- Names of the model's own events, bare and with each unit mask, and generic ones.
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
         assert.is_true(#list > 5)
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
         if not has_table() then pending("libpfm4 has no events of it on this architecture") return end
         local list, event_of, named = simulated(m), {}, {}
         local work = program(list)
         for _, name in ipairs(names()) do
            local out = lpfm.dispatch_events { events = { name }, plm = "u" }
            if out and out.pmds[1] < 64 then
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
      end)
   end
end)
