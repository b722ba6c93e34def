-- SPDX-License-Identifier: MIT
return {
   text = "What goes between the last cache and memory, lines counted on their way.",
   {
      pmu = "^itanium2$",
      events = { READ = "BUS_MEM_READ_BRL_SELF", RFO = "BUS_MEM_READ_BRIL_SELF",
         WB = "BUS_WR_WB_EQ_128BYTE_SELF", RAN = "task-clock" },
      metrics = {
         { "read bandwidth", "128 * (READ + RFO) / RAN", "GB/s" },
         { "write-back bandwidth", "128 * WB / RAN", "GB/s" },
         { "volume", "128 * (READ + RFO + WB) / 1e9", "GB" },
      },
   },
   {
      pmu = "^p",
      events = { READ = "BUS_TRANS_BRD:SELF", RFO = "BUS_TRANS_RFO:SELF", WB = "BUS_TRANS_WB:SELF",
         RAN = "task-clock" },
      metrics = {
         { "read bandwidth", "32 * (READ + RFO) / RAN", "GB/s" },
         { "write-back bandwidth", "32 * WB / RAN", "GB/s" },
      },
   },
   {
      events = { MISS = "cache-misses", RAN = "task-clock" },
      metrics = {
         { "read bandwidth", "64 * MISS / RAN", "GB/s" },
         { "volume read", "64 * MISS / 1e9", "GB" },
      },
   },
}
