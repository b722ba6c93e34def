-- SPDX-License-Identifier: MIT
-- Quotients of the generic events (perf_event_open(2), PERF_TYPE_HARDWARE), as in Hennessy and
-- Patterson, "Computer Architecture", chapter 1.9; cycles per ns of CPU time are GHz.
return {
   text = "How many cycles an instruction takes, and how fast the clock was while the thread ran.",
   {
      events = { CYC = "cycles", INS = "instructions", RAN = "task-clock" },
      metrics = {
         { "CPI", "CYC / INS", "cycles/instruction",
            "cycles per instruction: less is faster" },
         { "IPC", "INS / CYC", "instructions/cycle",
            "instructions per cycle, its inverse" },
         { "clock", "CYC / RAN", "GHz",
            "cycles per time that the thread ran: below the nominal clock, the processor saved power" },
      },
   },
}
