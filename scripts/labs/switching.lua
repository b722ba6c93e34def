-- SPDX-License-Identifier: MIT
-- Figure 3.38: switching sets by overflows. Run: build/lpfm scripts/labs/switching.lua
local lab = require "labs.lab"

lab.sheet [[
   Overflow-based switching (figure 3.38).
   In set 0 PMD4 counts event A and is the trigger: it overflows every 1000 occurrences, and its
   threshold is 2. After the first overflow the threshold is 1 and the short period is loaded; after the
   second, at 2000 occurrences, set 1 takes over. There PMD5 is the trigger, with a threshold of 1: its
   first overflow, after 1000 occurrences of event B, leads back to set 0. PMD5 in set 0 and PMD4 in set
   1 just count.
]]

local m = lab.machine("itanium2")
-- Per round: 1 A and 1 B.
local tid = assert(m:spawn {
   program = {
      { loop = "forever", { ip = 0x1000, ns = 10, events = { loads = 1 } },
         { ip = 0x1010, ns = 10, events = { stores = 1 } } },
   },
})
local A, B, PERIOD, ROUND = "loads", "stores", 1000, 20

local ctx = lab.context()
ctx:create_evtsets { { id = 0, flags = { "OVFL_SWITCH" } }, { id = 1, flags = { "OVFL_SWITCH" } } }
ctx:write_pmcs {
   { num = 4, set = 0, value = m:encode(A, 4) }, { num = 5, set = 0, value = m:encode(B, 5) },
   { num = 4, set = 1, value = m:encode(A, 4) }, { num = 5, set = 1, value = m:encode(B, 5) },
}
ctx:write_pmds {
   { num = 4, set = 0, value = -PERIOD, short_reset = -PERIOD, long_reset = -PERIOD, switch_cnt = 2 },
   { num = 5, set = 0 },
   { num = 4, set = 1 },
   { num = 5, set = 1, value = -PERIOD, short_reset = -PERIOD, long_reset = -PERIOD, switch_cnt = 1 },
}
ctx:load(tid)
ctx:start()

local function threshold(num, set)
   return ctx:read_pmds { { num = num, set = set } }[1].switch_cnt
end

local function runs()
   local infos = ctx:getinfo_evtsets { 0, 1 }
   return infos[1].runs, infos[2].runs
end

local function show(when)
   local run0, run1 = runs()
   lab.show(when .. ", active set", run0 > run1 and 0 or 1)
   lab.show(when .. ", threshold of PMD4 in set 0", threshold(4, 0))
   lab.show(when .. ", PMD4 in set 0", lab.value(ctx, 4, 0))
end

show("at the start")
m:run { ns = 999 * ROUND + 10 }
show("after 1000 A")
m:run { ns = 999 * ROUND }
show("after 1999 A")
m:run { ns = ROUND }
show("after 2000 A")
lab.show("counted in set 0, B", lab.value(ctx, 5, 0))
lab.show("set 0 was left because of PMD", ctx:getinfo_evtsets { 0 }[1].ovfl_pmds)
m:run { ns = 1000 * ROUND - 10 }
show("after 1000 B in set 1")
lab.show("counted in set 1, A", lab.value(ctx, 4, 1))
lab.show("set 1 was left because of PMD", ctx:getinfo_evtsets { 1 }[1].ovfl_pmds)
ctx:close()
