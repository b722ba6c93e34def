-- SPDX-License-Identifier: MIT
-- Figure 3.32: what multiplexing estimates. Run: build/lpfm scripts/labs/multiplex.lua
local lab = require "labs.lab"

lab.sheet [[
   Multiplexing and its limits (figure 3.32).
   One counter, two events, A and B. The execution has six slices of 10 ms, with 5 4 6 1 5 4 occurrences
   of A and 10 10 15 15 10 15 of B. Two runs count one event each, all the time. One run with two event sets
   that switch every 10 ms sees A in slices 1, 3, 5 and B in 2, 4, 6 only, and scales each count by the
   total time over the time its set was active: an estimate, too high here, because A is rare in the very
   slices in which it was not counted.
]]

local SLICE = 10 * 1000 * 1000
local A, B = { 5, 4, 6, 1, 5, 4 }, { 10, 10, 15, 15, 10, 15 }
local EVENT = { A = "loads", B = "stores" }

-- Each slice: its A, its B, then idle turns up to 10 ms.
local function program()
   local steps = {}
   for i = 1, 6 do
      local rest = SLICE - A[i] * 1000 - B[i] * 1000
      steps[#steps + 1] = { loop = A[i], { ip = 0x1000, ns = 1000, events = { loads = 1 } } }
      steps[#steps + 1] = { loop = B[i], { ip = 0x2000, ns = 1000, events = { stores = 1 } } }
      steps[#steps + 1] = { loop = rest / 1000, { ip = 0x3000, ns = 1000 } }
   end
   return steps
end

-- Runs the program with the events of the list, one set each; counts and durations by event.
local function measure(events)
   local m = lab.machine("itanium2", { hz = 100 })
   local tid = assert(m:spawn { program = program() })
   local ctx = lab.context()
   local sets, ids, out = {}, {}, {}
   for i, event in ipairs(events) do
      ids[i] = i - 1
      sets[i] = { id = i - 1, flags = #events > 1 and { "TIME_SWITCH" } or {}, timeout = SLICE }
      ctx:create_evtsets { sets[i] }
      ctx:write_pmcs { { num = 4, set = i - 1, value = m:encode(EVENT[event], 4) } }
      ctx:write_pmds { { num = 4, set = i - 1 } }
   end
   ctx:load(tid)
   ctx:start()
   assert(m:run { until_exit = tid })
   for i, info in ipairs(ctx:getinfo_evtsets(ids)) do
      out[events[i]] = { count = lab.value(ctx, 4, i - 1), duration = info.act_duration }
   end
   ctx:close()
   return out
end

lab.show("actual A", measure { "A" }.A.count)
lab.show("actual B", measure { "B" }.B.count)
local both = measure { "A", "B" }
local whole = both.A.duration + both.B.duration
for _, event in ipairs { "A", "B" } do
   local seen = both[event]
   lab.show("multiplexed " .. event, seen.count)
   lab.show("scaled " .. event, seen.count * whole / seen.duration)
end
