-- SPDX-License-Identifier: MIT
local function slots(width, retired)
   local all = ("(%d * CYC)"):format(width)
   local wrong = ("(ISSUED - RETIRED + %d * RECOVERY) / %s"):format(width, all)
   return {
      events = { CYC = "cycles", UNFED = "IDQ_UOPS_NOT_DELIVERED:CORE", ISSUED = "UOPS_ISSUED:ANY",
         RETIRED = retired, RECOVERY = "INT_MISC:RECOVERY_CYCLES" },
      metrics = {
         { "front end bound", "UNFED / " .. all, "of slots" },
         { "bad speculation", wrong, "of slots" },
         { "retiring", "RETIRED / " .. all, "of slots" },
         { "back end bound", ("1 - UNFED / %s - %s - RETIRED / %s"):format(all, wrong, all), "of slots" },
      },
   }
end

return {
   text = "What becomes of the slots in which an operation could have been issued.",
   slots(4, "UOPS_RETIRED:RETIRE_SLOTS"),
   slots(5, "UOPS_RETIRED:SLOTS"),
   {
      pmu = "zen4$",
      events = { CYC = "cycles", FE = "DISPATCH_STALLS_1:FE_NO_OPS", BE = "DISPATCH_STALLS_1:BE_STALLS",
         SMT = "DISPATCH_STALLS_1:SMT_CONTENTION", OPS = "RETIRED_OPS" },
      metrics = {
         { "front end bound", "FE / (6 * CYC)", "of slots" },
         { "back end bound", "BE / (6 * CYC)", "of slots" },
         { "retiring", "OPS / (6 * CYC)", "of slots" },
         { "other thread", "SMT / (6 * CYC)", "of slots" },
         { "bad speculation", "1 - (FE + BE + OPS + SMT) / (6 * CYC)", "of slots" },
      },
   },
}
