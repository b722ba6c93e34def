-- SPDX-License-Identifier: MIT
-- Quotients of the generic events: perf_event_open(2), PERF_TYPE_HW_CACHE. Walks: Intel SDM volume
-- 3B, chapter "Performance Monitoring", events DTLB_LOAD_MISSES and ITLB_MISSES; Arm's telemetry
-- specifications, dtlb_mpki and dtlb_walk_ratio.
local DATA = { "data TLB misses per 1000 instructions", "1000 * DTLB / INS", "/1000 instructions",
   "loads without their translation at hand" }
local CODE = { "instruction TLB misses per 1000 instructions", "1000 * ITLB / INS", "/1000 instructions",
   "fetches without their translation at hand" }

return {
   text = "How often the translation of an address is not at hand.",
   {
      events = { INS = "instructions", CYC = "cycles", DTLB = "DTLB_LOAD_MISSES:WALK_COMPLETED",
         ITLB = "ITLB_MISSES:WALK_COMPLETED", WALK = "DTLB_LOAD_MISSES:WALK_ACTIVE" },
      metrics = {
         DATA, CODE,
         { "data TLB walks", "WALK / CYC", "of cycles", "cycles in which a load waited for a page walk" },
      },
   },
   {
      pmu = "^arm_[nv]", -- Neoverse; older cores do not count walks
      events = { INS = "instructions", DTLB = "DTLB_WALK", ITLB = "ITLB_WALK", LOOKUPS = "L1D_TLB" },
      metrics = {
         DATA, CODE,
         { "data TLB walk ratio", "DTLB / LOOKUPS", "of lookups", "lookups that led to a page walk" },
      },
   },
   {
      events = { INS = "instructions", DTLB = "dTLB-load-misses", ITLB = "iTLB-load-misses" },
      metrics = { DATA, CODE },
   },
   {
      events = { INS = "instructions", DTLB = "dTLB-load-misses" },
      metrics = { DATA },
   },
}
