-- SPDX-License-Identifier: MIT
--- What becomes of the slots in which an operation could be issued, by model: the groups topdown
-- and topdown2. Each model has `pmu`, a pattern, and `first` and `second`, a level each: `events`,
-- `terms` (names for parts of formulas, in their order) and `metrics`. The second level needs the
-- first one's events and terms.
-- @module pfm.metrics.slots

local FIRST = {
   { "front end bound", "FRONT", "of slots",
      "slots left empty since no operation came: code misses caches, or decodes slowly" },
   { "bad speculation", "BAD", "of slots",
      "slots for operations that were thrown away, or lost while that was mended" },
   { "retiring", "RETIRING", "of slots",
      "slots for operations that the program needed" },
   { "back end bound", "BACK", "of slots",
      "slots left empty since no resource was free: data or execution units are awaited" },
}

local FETCH_LATENCY = { "front end latency", "LATENCY", "of slots",
   "of front end bound: no operation came at all, as after a miss in the instruction cache or TLB" }
local FETCH_BANDWIDTH = { "front end bandwidth", "FRONT - LATENCY", "of slots",
   "of front end bound: fewer operations came than there were slots" }
local MISPREDICTS = { "branch mispredictions", "BAD * MISP / (MISP + CLEARS)", "of slots",
   "of bad speculation: branches that went elsewhere" }
local CLEARS = { "machine clears", "BAD * CLEARS / (MISP + CLEARS)", "of slots",
   "of bad speculation: the pipeline was emptied for another reason, as a conflict in the order of memory accesses" }
local MEMORY = { "memory bound", "MEMORY", "of slots", "of back end bound: loads or stores were awaited" }
local CORE = { "core bound", "BACK - MEMORY", "of slots", "of back end bound: execution units or long operations" }
local LIGHT = { "other operations", "RETIRING - HEAVY", "of slots", "of retiring: the rest" }

local function heavy(why)
   return { "heavy operations", "HEAVY", "of slots", "of retiring: " .. why }
end

local SECOND = { FETCH_LATENCY, FETCH_BANDWIDTH, MISPREDICTS, CLEARS, MEMORY, CORE,
   heavy "instructions that microcode carries out", LIGHT }

-- --- Intel ---------------------------------------------------------------------------------------

-- Yasin, "A Top-Down Method for Performance Analysis and Counters Architecture" (ISPASS 2014),
-- sections III and IV; Intel 64 and IA-32 Architectures Optimization Reference Manual, appendix
-- B.1, "Top-Down Analysis Method"; formulas as in Intel's TMA_Metrics tables. Cycles are the
-- thread's: with another thread on the core, both share the slots.
local function intel_first(pmu, width, retired)
   return {
      pmu = pmu,
      first = {
         events = { CYC = "cycles", UNFED = "IDQ_UOPS_NOT_DELIVERED:CORE", ISSUED = "UOPS_ISSUED:ANY",
            RETIRED = retired, RECOVERY = "INT_MISC:RECOVERY_CYCLES" },
         terms = {
            { "SLOTS", ("%d * CYC"):format(width) },
            { "FRONT", "UNFED / SLOTS" },
            { "BAD", ("(ISSUED - RETIRED + %d * RECOVERY) / SLOTS"):format(width) },
            { "RETIRING", "RETIRED / SLOTS" },
            { "BACK", "1 - FRONT - BAD - RETIRING" },
         },
         metrics = FIRST,
      },
   }
end

-- TMA_Metrics, rows of level 2: Fetch_Latency, Branch_Mispredicts, Memory_Bound, and
-- Microcode_Sequencer, which is the greater part of Heavy_Operations.
local function intel_second(model, width, no_feed, stalls_of_memory)
   model.second = {
      events = { UNFED0 = no_feed, MISP = "BR_MISP_RETIRED:ALL_BRANCHES", CLEARS = "MACHINE_CLEARS:COUNT",
         STALLS_MEM = stalls_of_memory, STALLS = "CYCLE_ACTIVITY:STALLS_TOTAL", STORES = "EXE_ACTIVITY:BOUND_ON_STORES",
         ONE = "EXE_ACTIVITY:1_PORTS_UTIL", TWO = "EXE_ACTIVITY:2_PORTS_UTIL", MS = "IDQ:MS_UOPS" },
      terms = {
         { "LATENCY", ("%d * UNFED0 / SLOTS"):format(width) },
         { "MEMORY", "BACK * (STALLS_MEM + STORES) / (STALLS + ONE + RETIRING * TWO + STORES)" },
         { "HEAVY", "RETIRED / ISSUED * MS / SLOTS" },
      },
      metrics = SECOND,
   }
   return model
end

local NO_FEED = "IDQ_UOPS_NOT_DELIVERED:CYCLES_0_UOPS_DELIV_CORE"

-- Sapphire Rapids tells heavy operations itself (UOPS_RETIRED.HEAVY), and has another name for
-- stalls with a load pending.
local function sapphire_rapids()
   local model = intel_second(intel_first("^spr$", 6, "UOPS_RETIRED:SLOTS"), 6, NO_FEED, "EXE_ACTIVITY:BOUND_ON_LOADS")
   local second = model.second
   second.events.MS, second.events.HEAVIES = nil, "UOPS_RETIRED:HEAVY"
   second.terms[3] = { "HEAVY", "HEAVIES / SLOTS" }
   second.metrics = { unpack(SECOND) }
   second.metrics[7] = heavy "instructions of several operations"
   return model
end

-- --- AMD -----------------------------------------------------------------------------------------

-- Processor Programming Reference for AMD Family 19h Models 11h and 10h, "Pipeline utilization" in
-- the chapter on performance monitor counters; six slots in each cycle.
local zen4 = {
   pmu = "zen4$",
   first = {
      events = { CYC = "CYCLES_NOT_IN_HALT", FE = "DISPATCH_STALLS_1:FE_NO_OPS", BE = "DISPATCH_STALLS_1:BE_STALLS",
         SMT = "DISPATCH_STALLS_1:SMT_CONTENTION", OPS = "RETIRED_OPS",
         DISPATCHED = "OPS_SOURCE_DISPATCHED_FROM_DECODER:DECODER:OPCACHE:LOOP_BUFFER" },
      terms = { { "SLOTS", "6 * CYC" }, { "FRONT", "FE / SLOTS" }, { "BAD", "(DISPATCHED - OPS) / SLOTS" },
         { "RETIRING", "OPS / SLOTS" }, { "BACK", "BE / SLOTS" } },
      metrics = { FIRST[1], FIRST[2], FIRST[3], FIRST[4],
         { "other thread", "SMT / SLOTS", "of slots", "slots that went to the other thread of the core" } },
   },
   second = {
      events = { FE6 = "DISPATCH_STALLS_1:FE_NO_OPS:c=6", MISP = "RETIRED_BRANCH_INSTRUCTIONS_MISPREDICTED",
         CLEARS = "RESYNCS", UCODE = "RETIRED_UCODE_OPS", LOADS = "CYCLES_NO_RETIRE:NOT_COMPLETE_MISSING_LOAD",
         ALL = "CYCLES_NO_RETIRE:NOT_COMPLETE_LOAD_AND_ALU" },
      terms = { { "LATENCY", "6 * FE6 / SLOTS" }, { "MEMORY", "BACK * LOADS / ALL" },
         { "HEAVY", "RETIRING * UCODE / OPS" } },
      metrics = SECOND,
   },
}

-- --- Arm -----------------------------------------------------------------------------------------

-- Arm Neoverse V1 Core Telemetry Specification, chapter "Metrics", and those of N2 and V2. On V1, a
-- misprediction costs four cycles that the front end seems to lose; on N2, the front end's event
-- counts a slot too much in each cycle.
local function arm(pmu, width, front, stalls, mispredicted)
   return {
      pmu = pmu,
      first = {
         events = { CYC = "CPU_CYCLES", FE = "STALL_SLOT_FRONTEND", BE = "STALL_SLOT_BACKEND", LOST = "STALL_SLOT",
            RET = "OP_RETIRED", SPEC = "OP_SPEC", MISP = mispredicted },
         terms = { { "SLOTS", ("%d * CYC"):format(width) },
            { "FRONT", front }, { "USED", "1 - " .. stalls },
            { "BAD", mispredicted and "(1 - RET / SPEC) * USED + 4 * MISP / CYC" or "(1 - RET / SPEC) * USED" },
            { "RETIRING", "RET / SPEC * USED" }, { "BACK", "BE / SLOTS" } },
         metrics = FIRST,
      },
   }
end

-- Arm Architecture Reference Manual for A-profile, chapter "The Performance Monitors Extension":
-- STALL_BACKEND_MEM are the cycles of STALL_BACKEND that wait for memory; the slots are split as
-- those cycles are.
local function arm_second(model)
   model.second = {
      events = { BACK_CYC = "STALL_BACKEND", MEM_CYC = "STALL_BACKEND_MEM" },
      terms = { { "MEMORY", "BACK * MEM_CYC / BACK_CYC" } },
      metrics = { MEMORY, CORE },
   }
   return model
end

return {
   intel_second(intel_first("^skl$", 4, "UOPS_RETIRED:RETIRE_SLOTS"), 4, NO_FEED, "CYCLE_ACTIVITY:STALLS_MEM_ANY"),
   intel_second(intel_first("^skx$", 4, "UOPS_RETIRED:RETIRE_SLOTS"), 4, NO_FEED, "CYCLE_ACTIVITY:STALLS_MEM_ANY"),
   intel_second(intel_first("^clx$", 4, "UOPS_RETIRED:RETIRE_SLOTS"), 4, NO_FEED, "CYCLE_ACTIVITY:STALLS_MEM_ANY"),
   intel_second(intel_first("^ic[lx]$", 5, "UOPS_RETIRED:SLOTS"), 5, NO_FEED, "CYCLE_ACTIVITY:STALLS_MEM_ANY"),
   sapphire_rapids(),
   zen4,
   arm_second(arm("^arm_v1$", 8, "FE / SLOTS - 4 * MISP / CYC", "LOST / SLOTS", "BR_MIS_PRED")),
   arm_second(arm("^arm_n2$", 5, "(FE - CYC) / SLOTS", "(LOST - CYC) / SLOTS")),
   arm_second(arm("^arm_v2$", 8, "FE / SLOTS", "LOST / SLOTS")),
   intel_first(nil, 4, "UOPS_RETIRED:RETIRE_SLOTS"), -- from Sandy Bridge on
}
