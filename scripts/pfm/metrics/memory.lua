-- SPDX-License-Identifier: MIT
-- Itanium 2: Intel's Reference Manual for Software Development and Optimization, chapter 11, "Bus
-- events"; P6: Intel SDM volume 3B, "Performance Monitoring", "P6 family"; Zen: AMD's Processor
-- Programming References, family 19h, event 044H.
-- Where no event counts transfers, the last level's read misses are used: each reads a line;
-- prefetches are not among them, so that the true bandwidth is higher.
local BANDWIDTH = { "read bandwidth", "64 * LINES / RAN", "GB/s", "lines read from memory, per time that ran" }
local VOLUME = { "volume read", "64 * LINES / 1e9", "GB", "lines read" }

local function lines(pmu, event)
   return { pmu = pmu, events = { LINES = event, RAN = "task-clock" }, metrics = { BANDWIDTH, VOLUME } }
end

return {
   text = "What goes between the last cache and memory, lines counted on their way.",
   {
      pmu = "^itanium2$",
      events = { READ = "BUS_MEM_READ_BRL_SELF", RFO = "BUS_MEM_READ_BRIL_SELF",
         WB = "BUS_WR_WB_EQ_128BYTE_SELF", RAN = "task-clock" },
      metrics = {
         { "read bandwidth", "128 * (READ + RFO) / RAN", "GB/s",
            "lines read from memory, per time that ran" },
         { "write-back bandwidth", "128 * WB / RAN", "GB/s",
            "lines written to memory, per time that ran" },
         { "volume", "128 * (READ + RFO + WB) / 1e9", "GB",
            "lines read and written" },
      },
   },
   {
      pmu = "^p[6mir]",
      events = { READ = "BUS_TRANS_BRD:SELF", RFO = "BUS_TRANS_RFO:SELF", WB = "BUS_TRANS_WB:SELF",
         RAN = "task-clock" },
      metrics = {
         { "read bandwidth", "32 * (READ + RFO) / RAN", "GB/s",
            "lines read from memory, per time that ran" },
         { "write-back bandwidth", "32 * WB / RAN", "GB/s",
            "lines written to memory, per time that ran" },
      },
   },
   lines("zen3$", "ANY_DATA_CACHE_FILLS_FROM_SYSTEM:MEM_IO_LCL:MEM_IO_RMT"),
   lines("zen4$", "ANY_DATA_CACHE_FILLS_FROM_SYSTEM:DRAM_IO_NEAR:DRAM_IO_FAR"),
   lines("^arm", "LL_CACHE_MISS_RD"), -- Arm's cache-misses are the first level's
   lines(nil, "cache-misses"),
}
