-- SPDX-License-Identifier: MIT
--- Floating-point operations of one precision, by model: the groups flops_dp and flops_sp.
-- @module pfm.metrics.flops_by

local WIDTHS = { 128, 256, 512 }
local BITS = { DOUBLE = 64, SINGLE = 32 }

-- Makes the metrics: an instruction does as many operations as its register has elements; the event
-- counts a fused instruction twice.
local function metrics_of(events, precision)
   local all, packed, vectors = { "SCALAR" }, {}, {}
   for _, width in ipairs(WIDTHS) do
      local name = "P" .. width
      if events[name] then
         all[#all + 1] = ("%d * %s"):format(width / BITS[precision], name)
         packed[#packed + 1], vectors[#vectors + 1] = all[#all], name
      end
   end
   all, packed, vectors = table.concat(all, " + "), table.concat(packed, " + "), table.concat(vectors, " + ")
   return {
      { "operations", ("(%s) / RAN"):format(all), "GFLOP/s", "floating-point operations per time that ran" },
      { "packed operations", ("(%s) / RAN"):format(packed), "GFLOP/s", "of these, by vector instructions" },
      { "vectorization ratio", ("(%s) / (SCALAR + %s)"):format(vectors, vectors), "of instructions",
         "floating-point instructions that work on vectors" },
   }
end

-- Intel 64 and IA-32 Architectures SDM, volume 3B, chapter "Performance Monitoring", event C7H.
local function intel(pmu, precision, widths)
   local events = { RAN = "task-clock", SCALAR = "FP_ARITH_INST_RETIRED:SCALAR_" .. precision }
   for _, width in ipairs(widths) do
      events["P" .. width] = ("FP_ARITH_INST_RETIRED:%dB_PACKED_%s"):format(width, precision)
   end
   return { pmu = pmu, events = events, metrics = metrics_of(events, precision) }
end

-- SDM volume 3B, events 10H and 11H of Sandy Bridge and Ivy Bridge: they count executions, replayed
-- ones again.
local function sandy_bridge(precision, scalar, packed)
   local events = { RAN = "task-clock", SCALAR = "FP_COMP_OPS_EXE:" .. scalar, P128 = "FP_COMP_OPS_EXE:" .. packed,
      P256 = "SIMD_FP_256:PACKED_" .. precision }
   return { pmu = "^[si][nv]b", events = events, metrics = metrics_of(events, precision) }
end

-- AMD's BIOS and Kernel Developer's Guides, families 10h to 15h, and Processor Programming
-- Reference, family 17h model 01h: event 003H counts operations, of a fused instruction two.
local function amd(pmu, event, masks)
   return {
      pmu = pmu,
      events = { RAN = "task-clock", OPS = event .. ":" .. table.concat(masks, ":") },
      metrics = { { "operations", "OPS / RAN", "GFLOP/s", "floating-point operations per time that ran" } },
   }
end

local function masks(head, tail, ...)
   local out = { ... }
   for i, name in ipairs(out) do out[i] = head .. name .. tail end
   return out
end

-- On family 10h, the mask OP_TYPE counts operations instead of micro-operations.
local function of_family_10h(precision)
   local out = masks(precision .. "_", "_OPS", "ADD_SUB", "MUL", "DIV")
   out[#out + 1] = "OP_TYPE"
   return out
end

--- Makes the variants of a precision.
-- @string precision "DOUBLE" or "SINGLE"
-- @treturn {table,...}
return function(precision)
   local dp = precision == "DOUBLE"
   local short = dp and "DP_" or "SP_"
   return {
      text = ("Floating-point operations of %s precision, scalar and packed."):format(precision:lower()),
      intel(nil, precision, WIDTHS),
      intel("^bdw", precision, { 128, 256 }),
      sandy_bridge(precision, dp and "SSE_SCALAR_DOUBLE" or "SSE_FP_SCALAR_SINGLE",
         dp and "SSE_FP_PACKED_DOUBLE" or "SSE_PACKED_SINGLE"),
      amd("^amd64_fam17h_?[zen]*1?$", "RETIRED_SSE_AVX_OPERATIONS",
         masks(short, "_FLOPS", "ADD_SUB", "MULT", "DIV", "MULT_ADD")),
      amd("^amd64_fam15h", "RETIRED_SSE_OPS", masks(precision .. "_", "_OPS", "ADD_SUB", "MUL", "DIV", "MUL_ADD")),
      amd("^amd64_fam10h", "RETIRED_SSE_OPERATIONS", of_family_10h(precision)),
   }
end
