-- SPDX-License-Identifier: MIT
local RATE = { "operations", "OPS / RAN", "GFLOP/s", "floating-point operations per time that ran" }

return {
   text = "Floating-point operations of all precisions.",
   { -- Processor Programming Reference, family 19h model 11h: events 003H and 00AH
      pmu = "zen4$",
      events = { RAN = "task-clock", OPS = "RETIRED_SSE_AVX_FLOPS:ANY", SCALAR = "RETIRED_FP_OPS_BY_TYPE:SCALAR_ALL",
         VECTOR = "RETIRED_FP_OPS_BY_TYPE:VECTOR_ALL" },
      metrics = { RATE, { "vectorization ratio", "VECTOR / (SCALAR + VECTOR)", "of operations",
         "floating-point micro-operations that work on vectors" } },
   },
   -- Source: as for zen4, families 17h model 31h and 19h model 01h, event 003H. A fused instruction
   -- counts twice.
   {
      pmu = "zen[23]$",
      events = { RAN = "task-clock", OPS = "RETIRED_SSE_AVX_FLOPS:ANY" },
      metrics = { RATE },
   },
   { -- Arm Architecture Reference Manual, "PMU events": what scales with the length of vectors is
      -- counted for each 128 bits; vectors of Neoverse V1 have 256
      pmu = "^arm_v1$",
      events = { RAN = "task-clock", SCALE = "FP_SCALE_OPS_SPEC", FIXED = "FP_FIXED_OPS_SPEC" },
      metrics = { { "operations", "(2 * SCALE + FIXED) / RAN", RATE[3], RATE[4] },
         { "scalable operations", "2 * SCALE / RAN", "GFLOP/s", "of these, by SVE's instructions" } },
   },
   { -- as V1, with vectors of 128 bits
      pmu = "^arm_[nv]2$",
      events = { RAN = "task-clock", SCALE = "FP_SCALE_OPS_SPEC", FIXED = "FP_FIXED_OPS_SPEC" },
      metrics = { { "operations", "(SCALE + FIXED) / RAN", RATE[3], RATE[4] },
         { "scalable operations", "SCALE / RAN", "GFLOP/s", "of these, by SVE's instructions" } },
   },
   { -- Arm Neoverse N1 PMU Guide, "Instruction mix": instructions, not operations
      pmu = "^arm",
      events = { SPEC = "INST_SPEC", VFP = "VFP_SPEC", ASE = "ASE_SPEC" },
      metrics = {
         { "scalar floating point", "VFP / SPEC", "of instructions", "scalar floating-point instructions" },
         { "vectors", "ASE / SPEC", "of instructions", "instructions of Advanced SIMD, integer ones, too" },
      },
   },
   { -- Intel SDM volume 3B, chapter "Performance Monitoring", event C7H: all precisions and widths
      events = { INS = "instructions", SD = "FP_ARITH_INST_RETIRED:SCALAR_DOUBLE",
         SS = "FP_ARITH_INST_RETIRED:SCALAR_SINGLE",
         PD = "FP_ARITH_INST_RETIRED:128B_PACKED_DOUBLE:256B_PACKED_DOUBLE",
         PS = "FP_ARITH_INST_RETIRED:128B_PACKED_SINGLE:256B_PACKED_SINGLE" },
      metrics = {
         { "scalar double", "SD / INS", "of instructions", "scalar instructions of double precision" },
         { "scalar single", "SS / INS", "of instructions", "scalar instructions of single precision" },
         { "packed double", "PD / INS", "of instructions", "vector instructions of double precision" },
         { "packed single", "PS / INS", "of instructions", "vector instructions of single precision" },
      },
   },
   { -- event C7H from Ice Lake on, with masks for all
      events = { INS = "instructions", SCALAR = "FP_ARITH_INST_RETIRED:SCALAR",
         VECTOR = "FP_ARITH_INST_RETIRED:VECTOR" },
      metrics = {
         { "scalar", "SCALAR / INS", "of instructions", "scalar floating-point instructions" },
         { "packed", "VECTOR / INS", "of instructions", "floating-point instructions that work on vectors" },
      },
   },
}
