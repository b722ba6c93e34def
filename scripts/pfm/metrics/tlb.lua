-- SPDX-License-Identifier: MIT
return {
   text = "How often the translation of an address is not at hand.",
   {
      events = { INS = "instructions", DTLB = "dTLB-load-misses", ITLB = "iTLB-load-misses" },
      metrics = {
         { "data TLB misses per 1000 instructions", "1000 * DTLB / INS" },
         { "instruction TLB misses per 1000 instructions", "1000 * ITLB / INS" },
      },
   },
   {
      events = { INS = "instructions", DTLB = "dTLB-load-misses" },
      metrics = {
         { "data TLB misses per 1000 instructions", "1000 * DTLB / INS" },
      },
   },
}
