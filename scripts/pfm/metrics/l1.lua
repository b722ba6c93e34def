-- SPDX-License-Identifier: MIT
-- Events: Intel SDM volume 3B, chapter "Performance Monitoring", by model; AMD's Processor
-- Programming References, "Core Performance Monitor Counters"; Arm Architecture Reference Manual,
-- "PMU events". Ratios are plain quotients.
local MISS_RATIO = { "L1D miss ratio", "MISS / LOADS", "of loads", "loads that the first level did not have" }
local MISSES = { "L1D misses per 1000 instructions", "1000 * MISS / INS", "/1000 instructions",
   "what they cost depends on this more than on the ratio" }
local FETCHES = { "L1I misses per 1000 instructions", "1000 * IMISS / INS", "/1000 instructions",
   "instruction fetches that the first level did not have" }

local function with(events)
   events.INS = "instructions"
   return events
end

return {
   text = "How often data and instructions are found in the first-level caches.",
   {
      pmu = "^itanium2$",
      events = with { LOADS = "L1D_READS_SET1", MISS = "L1D_READ_MISSES_ALL" },
      metrics = { MISS_RATIO, MISSES },
   },
   { -- Skylake to Sapphire Rapids: retired loads by where their data were
      events = with { LOADS = "MEM_INST_RETIRED:ALL_LOADS", MISS = "MEM_LOAD_RETIRED:L1_MISS" },
      metrics = { MISS_RATIO, MISSES },
   },
   {
      events = with { LOADS = "L1-dcache-loads", MISS = "L1-dcache-load-misses", IMISS = "L1-icache-load-misses" },
      metrics = { MISS_RATIO, MISSES, FETCHES },
   },
   {
      events = with { LOADS = "L1-dcache-loads", MISS = "L1-dcache-load-misses" },
      metrics = { MISS_RATIO, MISSES },
   },
}
