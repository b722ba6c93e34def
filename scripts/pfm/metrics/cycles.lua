-- SPDX-License-Identifier: MIT
-- Itanium 2: Intel's Reference Manual for Software Development and Optimization, chapter 11, "Stall
-- events"; the generic events: perf_event_open(2), PERF_TYPE_HARDWARE; Arm's telemetry
-- specifications call them stalled cycles.
return {
   text = "Where the cycles go: on Itanium 2 the five causes of bubbles in the back end add up to all of them.",
   {
      pmu = "^itanium2$",
      events = { CYC = "CPU_CYCLES", BUB = "BACK_END_BUBBLE_ALL", FE = "BACK_END_BUBBLE_FE",
         EXE = "BE_EXE_BUBBLE_ALL", GR = "BE_EXE_BUBBLE_GRALL", GRGR = "BE_EXE_BUBBLE_GRGR",
         FR = "BE_EXE_BUBBLE_FRALL", RSE = "BE_RSE_BUBBLE_ALL", FLUSH = "BE_FLUSH_BUBBLE_ALL",
         L1D = "BE_L1D_FPU_BUBBLE_L1D", FPU = "BE_L1D_FPU_BUBBLE_FPU" },
      metrics = {
         { "unstalled", "(CYC - BUB) / CYC", "of cycles",
            "cycles in which the back end went on" },
         { "front end", "FE / CYC", "of cycles",
            "cycles without instructions from the front end" },
         { "execution", "EXE / CYC", "of cycles",
            "cycles that waited for a result" },
         { "  integer loads", "(GR - GRGR) / CYC", "of cycles",
            "of these, for a load into an integer register" },
         { "  floating-point registers", "FR / CYC", "of cycles",
            "of these, for a floating-point register" },
         { "register stack", "RSE / CYC", "of cycles",
            "cycles in which the register stack engine moved registers" },
         { "flushes", "FLUSH / CYC", "of cycles",
            "cycles after a misprediction or an exception" },
         { "data cache", "L1D / CYC", "of cycles",
            "cycles that waited for the first-level data cache" },
         { "floating-point unit", "FPU / CYC", "of cycles",
            "cycles that waited for the floating-point unit" },
      },
   },
   {
      events = { CYC = "cycles", FE = "stalled-cycles-frontend", BE = "stalled-cycles-backend" },
      metrics = {
         { "front end", "FE / CYC", "of cycles",
            "cycles without instructions from the front end" },
         { "back end", "BE / CYC", "of cycles",
            "cycles without a resource in the back end" },
      },
   },
   {
      events = { CYC = "cycles", STALL = "stalled-cycles" },
      metrics = {
         { "stalled", "STALL / CYC", "of cycles",
            "cycles in which nothing went on" },
      },
   },
}
