-- SPDX-License-Identifier: MIT
-- The generic events' meaning: perf_event_open(2), PERF_TYPE_HW_CACHE; Itanium 2: Intel's Reference
-- Manual for Software Development and Optimization, chapter 11, "Cache events". Ratios are plain
-- quotients.
local MISS_RATIO = { "L1D miss ratio", "MISS / REQ", "of loads", "loads that the first level did not have" }
local MISSES = { "L1D misses per 1000 instructions", "1000 * MISS / INS", "/1000 instructions",
   "what they cost depends on this more than on the ratio" }
local LAST_RATIO = { "last level miss ratio", "MISSL / REFL", "of references",
   "requests of the last level that went on to memory" }
local LAST_MISSES = { "last level misses per 1000 instructions", "1000 * MISSL / INS", "/1000 instructions",
   "each waits for memory" }

return {
   text = "How often data are found in the first-level cache, and how often in the last level.",
   {
      pmu = "^itanium2$",
      events = { INS = "instructions", REQ = "L1D_READS_SET1", MISS = "L1D_READ_MISSES_ALL",
         L2MISS = "L2_MISSES", REF3 = "L3_REFERENCES", MISS3 = "L3_MISSES" },
      metrics = {
         { "L1D read miss ratio", "MISS / REQ", "of reads",
            "reads that the first level did not have" },
         { "L2 misses per 1000 instructions", "1000 * L2MISS / INS", "/1000 instructions",
            "requests that went on to the third level" },
         { "L3 miss ratio", "MISS3 / REF3", "of references",
            "requests of the third level that went on to memory" },
      },
   },
   { -- Arm's cache-misses are the first level's
      pmu = "^arm",
      events = { INS = "instructions", REQ = "L1-dcache-loads", MISS = "L1-dcache-load-misses",
         REFL = "LL_CACHE_RD", MISSL = "LL_CACHE_MISS_RD" },
      metrics = { MISS_RATIO, MISSES, LAST_RATIO, LAST_MISSES },
   },
   {
      events = { INS = "instructions", REQ = "L1-dcache-loads", MISS = "L1-dcache-load-misses",
         REFL = "cache-references", MISSL = "cache-misses" },
      metrics = { MISS_RATIO, MISSES, LAST_RATIO, LAST_MISSES },
   },
   {
      events = { INS = "instructions", REFL = "cache-references", MISSL = "cache-misses" },
      metrics = { LAST_RATIO, LAST_MISSES },
   },
}
