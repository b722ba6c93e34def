-- SPDX-License-Identifier: MIT
return {
   text = "How often the program branches, and how often the prediction of a branch is wrong.",
   {
      events = { INS = "instructions", BR = "branches", MISS = "branch-misses" },
      metrics = {
         { "branches per instruction", "BR / INS" },
         { "instructions per branch", "INS / BR" },
         { "misprediction ratio", "MISS / BR" },
         { "mispredictions per 1000 instructions", "1000 * MISS / INS" },
      },
   },
}
