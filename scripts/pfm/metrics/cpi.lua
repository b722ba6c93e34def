-- SPDX-License-Identifier: MIT
return {
   text = "How many cycles an instruction takes, and how fast the clock was while the thread ran.",
   {
      events = { CYC = "cycles", INS = "instructions", RAN = "task-clock" },
      metrics = {
         { "CPI", "CYC / INS", "cycles/instruction" },
         { "IPC", "INS / CYC", "instructions/cycle" },
         { "clock", "CYC / RAN", "GHz" },
      },
   },
}
