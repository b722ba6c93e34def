-- SPDX-License-Identifier: MIT
-- Quotients of the generic events: perf_event_open(2), PERF_TYPE_HARDWARE.
return {
   text = "How often the program branches, and how often the prediction of a branch is wrong.",
   {
      events = { INS = "instructions", BR = "branches", MISS = "branch-misses" },
      metrics = {
         { "branches per instruction", "BR / INS", "branches/instruction",
            "how dense branches are" },
         { "instructions per branch", "INS / BR", "instructions/branch",
            "how long the code runs straight on" },
         { "misprediction ratio", "MISS / BR", "of branches",
            "branches that went where the processor did not expect" },
         { "mispredictions per 1000 instructions", "1000 * MISS / INS", "/1000 instructions",
            "this decides, more than the ratio, how much time they cost" },
      },
   },
}
