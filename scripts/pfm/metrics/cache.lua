-- SPDX-License-Identifier: MIT
return {
   text = "How often data are found in the first-level cache, and how often in the last level.",
   {
      pmu = "^itanium2$",
      events = { INS = "instructions", REQ = "L1D_READS_SET1", MISS = "L1D_READ_MISSES_ALL",
         L2MISS = "L2_MISSES", REF3 = "L3_REFERENCES", MISS3 = "L3_MISSES" },
      metrics = {
         { "L1D read miss ratio", "MISS / REQ" },
         { "L2 misses per 1000 instructions", "1000 * L2MISS / INS" },
         { "L3 miss ratio", "MISS3 / REF3" },
      },
   },
   {
      events = { INS = "instructions", REQ = "L1-dcache-loads", MISS = "L1-dcache-load-misses",
         REFL = "cache-references", MISSL = "cache-misses" },
      metrics = {
         { "L1D miss ratio", "MISS / REQ" },
         { "L1D misses per 1000 instructions", "1000 * MISS / INS" },
         { "last level miss ratio", "MISSL / REFL" },
         { "last level misses per 1000 instructions", "1000 * MISSL / INS" },
      },
   },
   {
      events = { INS = "instructions", REFL = "cache-references", MISSL = "cache-misses" },
      metrics = {
         { "last level miss ratio", "MISSL / REFL" },
         { "last level misses per 1000 instructions", "1000 * MISSL / INS" },
      },
   },
}
