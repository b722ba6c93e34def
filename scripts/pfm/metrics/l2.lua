-- SPDX-License-Identifier: MIT
-- Intel SDM volume 3B, chapter "Performance Monitoring", by model: L2_RQSTS counts requests of the
-- second level, L1D.REPLACEMENT lines that came from there; a line has 64 bytes. AMD's Processor
-- Programming References: statuses IC_FILL_MISS and LS_RD_BLK_C are misses. Arm Architecture
-- Reference Manual, "PMU events".
local RATIO = { "L2 miss ratio", "MISS / REQ", "of requests", "requests that the second level did not have" }
local MISSES = { "L2 misses per 1000 instructions", "1000 * MISS / INS", "/1000 instructions",
   "requests that went on to the next level" }
local BANDWIDTH = { "L1D fill bandwidth", "64 * LINES / RAN", "GB/s",
   "what went from the second level into the first, per time that ran" }
local VOLUME = { "L1D fill volume", "64 * LINES / 1e9", "GB", "what went from the second level into the first" }

local function with(events)
   events.INS = "instructions"
   if events.LINES then events.RAN = "task-clock" end
   return events
end

local intel = { RATIO, MISSES, BANDWIDTH, VOLUME }

return {
   text = "How often requests are found in the second-level cache, and what goes from there to the first.",
   {
      pmu = "^itanium2$",
      events = with { REQ = "L2_REFERENCES", MISS = "L2_MISSES" },
      metrics = { RATIO, MISSES },
   },
   { -- Haswell to Skylake
      events = with { REQ = "L2_RQSTS:REFERENCES", MISS = "L2_RQSTS:MISS", LINES = "L1D:REPLACEMENT" },
      metrics = intel,
   },
   { -- Ice Lake, Sapphire Rapids: demand requests
      events = with { REQ = "L2_RQSTS:ALL_DEMAND_REFERENCES", MISS = "L2_RQSTS:ALL_DEMAND_MISS",
         LINES = "L1D:REPLACEMENT" },
      metrics = intel,
   },
   { -- Nehalem, Westmere
      events = with { REQ = "L2_RQSTS:REFERENCES", MISS = "L2_RQSTS:MISS", LINES = "L1D:REPL" },
      metrics = intel,
   },
   { -- Sandy Bridge, Ivy Bridge: lines that came in, since no event counts all misses
      events = with { REQ = "L2_TRANS:ALL", MISS = "L2_LINES_IN:ANY", LINES = "L1D:REPLACEMENT" },
      metrics = intel,
   },
   {
      pmu = "^amd64_fam1[79]h",
      events = with { REQ = "REQUESTS_TO_L2_GROUP1:RD_BLK_L:RD_BLK_X:LS_RD_BLK_C_S:CACHEABLE_IC_READ:CHANGE_TO_X",
         MISS = "CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:IC_FILL_MISS:LS_RD_BLK_C" },
      metrics = { RATIO, MISSES },
   },
   {
      pmu = "^amd64_fam1[0125]h",
      events = with { REQ = "REQUESTS_TO_L2:INSTRUCTIONS:DATA:TLB_WALK",
         MISS = "L2_CACHE_MISS:INSTRUCTIONS:DATA:TLB_WALK" },
      metrics = { RATIO, MISSES },
   },
   {
      pmu = "^arm",
      events = with { REQ = "L2D_CACHE", MISS = "L2D_CACHE_REFILL" },
      metrics = { RATIO, MISSES },
   },
   { -- libpfm4 names these events differently on other Arm cores
      pmu = "^arm",
      events = with { REQ = "L2D_CACHE_ACCESS", MISS = "L2D_CACHE_REFILL" },
      metrics = { RATIO, MISSES },
   },
}
