-- SPDX-License-Identifier: MIT
return {
   text = "Where the cycles go: on Itanium 2 the five causes of bubbles in the back end add up to all of them.",
   {
      pmu = "^itanium2$",
      events = { CYC = "CPU_CYCLES", BUB = "BACK_END_BUBBLE_ALL", FE = "BACK_END_BUBBLE_FE",
         EXE = "BE_EXE_BUBBLE_ALL", GR = "BE_EXE_BUBBLE_GRALL", GRGR = "BE_EXE_BUBBLE_GRGR",
         FR = "BE_EXE_BUBBLE_FRALL", RSE = "BE_RSE_BUBBLE_ALL", FLUSH = "BE_FLUSH_BUBBLE_ALL",
         L1D = "BE_L1D_FPU_BUBBLE_L1D", FPU = "BE_L1D_FPU_BUBBLE_FPU" },
      metrics = {
         { "unstalled", "(CYC - BUB) / CYC", "of cycles" },
         { "front end", "FE / CYC", "of cycles" },
         { "execution", "EXE / CYC", "of cycles" },
         { "  integer loads", "(GR - GRGR) / CYC", "of cycles" },
         { "  floating-point registers", "FR / CYC", "of cycles" },
         { "register stack", "RSE / CYC", "of cycles" },
         { "flushes", "FLUSH / CYC", "of cycles" },
         { "data cache", "L1D / CYC", "of cycles" },
         { "floating-point unit", "FPU / CYC", "of cycles" },
      },
   },
   {
      events = { CYC = "cycles", FE = "stalled-cycles-frontend", BE = "stalled-cycles-backend" },
      metrics = {
         { "front end", "FE / CYC", "of cycles" },
         { "back end", "BE / CYC", "of cycles" },
      },
   },
   {
      events = { CYC = "cycles", STALL = "stalled-cycles" },
      metrics = {
         { "stalled", "STALL / CYC", "of cycles" },
      },
   },
}
