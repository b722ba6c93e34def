// SPDX-License-Identifier: MIT
/* p6.c - events of the P6 family: Pentium Pro, Pentium II, Pentium III (p6) and Pentium M. */
#include "table.h"

enum { PPRO = 1, PII = 2, P3 = 4, PM = 8, MMX = PII | P3 | PM, OLD = PPRO | PII | P3, SSE = P3 | PM,
       ALL = OLD | PM };
enum { ANY = 3, FIRST = 1, SECOND = 2 };

static const struct tbl_mask mesi[] = {
	{ "I", "lines in invalid state", 1, 0 }, { "S", "lines in shared state", 2, 0 },
	{ "E", "lines in exclusive state", 4, 0 }, { "M", "lines in modified state", 8, 0 }, { 0 }
};

static const struct tbl_mask mesi_prefetch[] = {
	{ "I", "lines in invalid state", 1, 0 }, { "S", "lines in shared state", 2, 0 },
	{ "E", "lines in exclusive state", 4, 0 }, { "M", "lines in modified state", 8, 0 },
	{ "EXCL_HW_PREFETCH", "without lines the hardware prefetched", 0, 0 },
	{ "ONLY_HW_PREFETCH", "lines the hardware prefetched, no others", 0x10, 0 },
	{ "NON_HW_PREFETCH", "lines not prefetched by hardware", 0x20, 0 }, { 0 }
};

static const struct tbl_mask agents[] = {
	{ "SELF", "caused by this processor", 0, TBL_ALONE | TBL_DEFAULT },
	{ "ANY", "caused by any agent on the bus", 0x20, TBL_ALONE }, { 0 }
};

static const struct tbl_mask mmx_types[] = {
	{ "MUL", "packed multiplications", 1, 0 }, { "SHIFT", "packed shifts", 2, 0 },
	{ "PACK", "packings", 4, 0 }, { "UNPACK", "unpackings", 8, 0 },
	{ "LOGICAL", "packed logical operations", 0x10, 0 },
	{ "ARITH", "packed arithmetic", 0x20, 0 }, { 0 }
};

static const struct tbl_mask mmx_trans[] = {
	{ "TO_FP", "from MMX to floating point", 0, TBL_ALONE },
	{ "TO_MMX", "from floating point to MMX", 1, TBL_ALONE }, { 0 }
};

static const struct tbl_mask segments[] = {
	{ "ES", "register ES", 1, 0 }, { "DS", "register DS", 2, 0 }, { "FS", "register FS", 4, 0 },
	{ "GS", "register GS", 8, 0 }, { 0 }
};

static const struct tbl_mask prefetches[] = {
	{ "NTA", "prefetchnta", 0, TBL_ALONE }, { "T1", "prefetcht1", 1, TBL_ALONE },
	{ "T2", "prefetcht2", 2, TBL_ALONE }, { "WEAK", "weakly ordered stores", 3, TBL_ALONE }, { 0 }
};

static const struct tbl_mask sse_kinds[] = {
	{ "PACKED_SCALAR", "packed and scalar", 0, TBL_ALONE },
	{ "SCALAR", "scalar only", 1, TBL_ALONE }, { 0 }
};

static const struct tbl_mask sse2_kinds[] = {
	{ "SSE_PACKED_SCALAR_SINGLE", "single precision, packed and scalar", 0, TBL_ALONE },
	{ "SSE_SCALAR_SINGLE", "single precision, scalar", 1, TBL_ALONE },
	{ "SSE2_PACKED_DOUBLE", "double precision, packed", 2, TBL_ALONE },
	{ "SSE2_SCALAR_DOUBLE", "double precision, scalar", 3, TBL_ALONE }, { 0 }
};

static const struct tbl_mask est_kinds[] = {
	{ "ALL", "of any kind", 0, 0 }, { "FREQ", "of the frequency", 2, 0 }, { 0 }
};

static const struct tbl_mask fused_kinds[] = {
	{ "ALL", "of any kind", 0, 0 }, { "LD_OP", "a load with an operation", 1, 0 },
	{ "STD_STA", "a store's data with its address", 2, 0 }, { 0 }
};

static const struct tbl_event events[] = {
	{ "CPU_CLK_UNHALTED", 0x79, ALL, ANY, NULL, "cycles the processor is not halted" },
	{ "INST_RETIRED", 0xc0, ALL, ANY, NULL, "instructions retired" },
	{ "DATA_MEM_REFS", 0x43, ALL, ANY, NULL, "loads and stores, whatever the memory's type" },
	{ "DCU_LINES_IN", 0x45, ALL, ANY, NULL, "lines brought into the data cache" },
	{ "DCU_M_LINES_IN", 0x46, ALL, ANY, NULL, "modified lines brought into the data cache" },
	{ "DCU_M_LINES_OUT", 0x47, ALL, ANY, NULL, "modified lines that left the data cache" },
	{ "DCU_MISS_OUTSTANDING", 0x48, ALL, ANY, NULL, "data cache misses pending, summed over cycles" },
	{ "IFU_IFETCH", 0x80, ALL, ANY, NULL, "instruction fetches" },
	{ "IFU_IFETCH_MISS", 0x81, ALL, ANY, NULL, "instruction fetches that went to memory" },
	{ "ITLB_MISS", 0x85, ALL, ANY, NULL, "instruction TLB misses" },
	{ "IFU_MEM_STALL", 0x86, ALL, ANY, NULL, "cycles the instruction fetch waits" },
	{ "ILD_STALL", 0x87, ALL, ANY, NULL, "cycles the length decoder waits" },
	{ "L2_IFETCH", 0x28, ALL, ANY, mesi, "instruction fetches at the L2 cache" },
	{ "L2_ST", 0x2a, ALL, ANY, mesi, "data stores at the L2 cache" },
	{ "L2_M_LINES_INM", 0x25, ALL, ANY, NULL, "lines modified in the L2 cache" },
	{ "L2_RQSTS", 0x2e, ALL, ANY, mesi, "requests at the L2 cache" },
	{ "L2_ADS", 0x21, ALL, ANY, NULL, "address strobes of the L2 cache" },
	{ "L2_DBUS_BUSY", 0x22, ALL, ANY, NULL, "cycles the L2 data bus is busy" },
	{ "L2_DBUS_BUSY_RD", 0x23, ALL, ANY, NULL, "cycles the L2 data bus brings data to the processor" },
	{ "BUS_DRDY_CLOCKS", 0x62, ALL, ANY, agents, "clocks with DRDY# asserted: data on the bus" },
	{ "BUS_LOCK_CLOCKS", 0x63, ALL, ANY, agents, "clocks with LOCK# asserted" },
	{ "BUS_REQ_OUTSTANDING", 0x60, ALL, ANY, NULL, "bus reads pending, summed over cycles" },
	{ "BUS_TRANS_BRD", 0x65, ALL, ANY, agents, "burst reads" },
	{ "BUS_TRANS_RFO", 0x66, ALL, ANY, agents, "reads for ownership" },
	{ "BUS_TRANS_WB", 0x67, ALL, ANY, agents, "write-backs" },
	{ "BUS_TRAN_IFETCH", 0x68, ALL, ANY, agents, "instruction fetches on the bus" },
	{ "BUS_TRAN_INVAL", 0x69, ALL, ANY, agents, "invalidations" },
	{ "BUS_TRAN_PWR", 0x6a, ALL, ANY, agents, "partial writes" },
	{ "BUS_TRANS_P", 0x6b, ALL, ANY, agents, "partial transactions" },
	{ "BUS_TRANS_IO", 0x6c, ALL, ANY, agents, "I/O transactions" },
	{ "BUS_TRAN_DEF", 0x6d, ALL, ANY, agents, "deferred transactions" },
	{ "BUS_TRAN_BURST", 0x6e, ALL, ANY, agents, "burst transactions" },
	{ "BUS_TRAN_ANY", 0x70, ALL, ANY, agents, "bus transactions of any kind" },
	{ "BUS_TRAN_MEM", 0x6f, ALL, ANY, agents, "memory transactions" },
	{ "BUS_DATA_RECV", 0x64, ALL, ANY, NULL, "bus clocks this processor receives data" },
	{ "BUS_BNR_DRV", 0x61, ALL, ANY, NULL, "bus clocks this processor drives BNR#" },
	{ "BUS_HIT_DRV", 0x7a, ALL, ANY, NULL, "bus clocks this processor drives HIT#" },
	{ "BUS_HITM_DRV", 0x7b, ALL, ANY, NULL, "bus clocks this processor drives HITM#" },
	{ "BUS_SNOOP_STALL", 0x7e, ALL, ANY, NULL, "clocks the bus waits for a snoop" },
	{ "FLOPS", 0xc1, ALL, FIRST, NULL, "floating-point operations retired" },
	{ "FP_COMP_OPS_EXE", 0x10, ALL, FIRST, NULL, "floating-point operations executed" },
	{ "FP_ASSIST", 0x11, ALL, SECOND, NULL, "floating-point exceptions handled by microcode" },
	{ "MUL", 0x12, ALL, SECOND, NULL, "multiplications, integer and floating point" },
	{ "DIV", 0x13, ALL, SECOND, NULL, "divisions, integer and floating point" },
	{ "CYCLES_DIV_BUSY", 0x14, ALL, FIRST, NULL, "cycles the divider is busy" },
	{ "LD_BLOCKS", 0x03, ALL, ANY, NULL, "loads delayed by the store buffer" },
	{ "SB_DRAINS", 0x04, ALL, ANY, NULL, "cycles the store buffer drains" },
	{ "MISALIGN_MEM_REF", 0x05, ALL, ANY, NULL, "data references across 8 bytes" },
	{ "UOPS_RETIRED", 0xc2, ALL, ANY, NULL, "micro-operations retired" },
	{ "INST_DECODED", 0xd0, ALL, ANY, NULL, "instructions decoded" },
	{ "HW_INT_RX", 0xc8, ALL, ANY, NULL, "hardware interrupts received" },
	{ "CYCLES_INT_MASKED", 0xc6, ALL, ANY, NULL, "cycles with interrupts disabled" },
	{ "CYCLES_INT_PENDING_AND_MASKED", 0xc7, ALL, ANY, NULL,
	  "cycles with an interrupt waiting and interrupts disabled" },
	{ "BR_INST_RETIRED", 0xc4, ALL, ANY, NULL, "branches retired" },
	{ "BR_MISS_PRED_RETIRED", 0xc5, ALL, ANY, NULL, "mispredicted branches retired" },
	{ "BR_TAKEN_RETIRED", 0xc9, ALL, ANY, NULL, "taken branches retired" },
	{ "BR_MISS_PRED_TAKEN_RET", 0xca, ALL, ANY, NULL, "taken, mispredicted branches retired" },
	{ "BR_INST_DECODED", 0xe0, ALL, ANY, NULL, "branches decoded" },
	{ "BTB_MISSES", 0xe2, ALL, ANY, NULL, "branches without a prediction from the BTB" },
	{ "BR_BOGUS", 0xe4, ALL, ANY, NULL, "bogus branches" },
	{ "BACLEARS", 0xe6, ALL, ANY, NULL, "predictions made by the branch decoder" },
	{ "RESOURCE_STALLS", 0xa2, ALL, ANY, NULL, "cycles that lack a resource" },
	{ "PARTIAL_RAT_STALLS", 0xd2, ALL, ANY, NULL, "cycles lost on partial registers" },
	{ "SEGMENT_REG_LOADS", 0x06, ALL, ANY, NULL, "segment register loads" },
	{ "MMX_SAT_INSTR_EXEC", 0xb1, MMX, ANY, NULL, "saturating MMX instructions executed" },
	{ "MMX_UOPS_EXEC", 0xb2, MMX, ANY, NULL, "MMX micro-operations executed" },
	{ "MMX_INSTR_TYPE_EXEC", 0xb3, MMX, ANY, mmx_types, "MMX instructions executed, by type" },
	{ "FP_MMX_TRANS", 0xcc, MMX, ANY, mmx_trans, "changes between MMX and floating point" },
	{ "MMX_ASSIST", 0xcd, MMX, ANY, NULL, "MMX assists: EMMS instructions executed" },
	{ "SEG_RENAME_STALLS", 0xd4, MMX, ANY, segments, "stalls on renaming a segment register" },
	{ "SEG_REG_RENAMES", 0xd5, MMX, ANY, segments, "renamings of a segment register" },
	{ "RET_SEG_RENAMES", 0xd6, MMX, ANY, NULL, "segment register renamings retired" },
	{ "EMON_KNI_PREF_DISPATCHED", 0x07, SSE, ANY, prefetches, "SSE prefetches dispatched" },
	{ "EMON_KNI_PREF_MISS", 0x4b, SSE, ANY, prefetches, "SSE prefetches that missed all caches" },
	{ "L2_LD", 0x29, OLD, ANY, mesi, "data loads at the L2 cache" },
	{ "L2_LINES_IN", 0x24, OLD, ANY, NULL, "lines brought into the L2 cache" },
	{ "L2_LINES_OUT", 0x26, OLD, ANY, NULL, "lines that left the L2 cache" },
	{ "L2_M_LINES_OUTM", 0x27, OLD, ANY, NULL, "modified lines that left the L2 cache" },
	{ "EMON_KNI_INST_RETIRED", 0xd8, P3, ANY, sse_kinds, "SSE instructions retired" },
	{ "EMON_KNI_COMP_INST_RET", 0xd9, P3, ANY, sse_kinds, "computing SSE instructions retired" },
	{ "EMON_EST_TRANS", 0x58, PM, ANY, est_kinds, "SpeedStep transitions" },
	{ "EMON_THERMAL_TRIP", 0x59, PM, ANY, NULL, "cycles in a thermal trip; with e: trips" },
	{ "BR_INST_EXEC", 0x88, PM, ANY, NULL, "branches executed" },
	{ "BR_MISSP_EXEC", 0x89, PM, ANY, NULL, "branches found mispredicted at execution" },
	{ "BR_BAC_MISSP_EXEC", 0x8a, PM, ANY, NULL, "branches found mispredicted in the front end" },
	{ "BR_CND_EXEC", 0x8b, PM, ANY, NULL, "conditional branches executed" },
	{ "BR_CND_MISSP_EXEC", 0x8c, PM, ANY, NULL, "conditional branches found mispredicted" },
	{ "BR_IND_EXEC", 0x8d, PM, ANY, NULL, "indirect branches executed" },
	{ "BR_IND_MISSP_EXEC", 0x8e, PM, ANY, NULL, "indirect branches found mispredicted" },
	{ "BR_RET_EXEC", 0x8f, PM, ANY, NULL, "returns executed" },
	{ "BR_RET_MISSP_EXEC", 0x90, PM, ANY, NULL, "returns found mispredicted at execution" },
	{ "BR_RET_BAC_MISSP_EXEC", 0x91, PM, ANY, NULL, "returns found mispredicted in the front end" },
	{ "BR_CALL_EXEC", 0x92, PM, ANY, NULL, "calls executed" },
	{ "BR_CALL_MISSP_EXEC", 0x93, PM, ANY, NULL, "calls found mispredicted" },
	{ "BR_IND_CALL_EXEC", 0x94, PM, ANY, NULL, "indirect calls executed" },
	{ "EMON_SIMD_INSTR_RETIRED", 0xce, PM, ANY, NULL, "MMX instructions retired" },
	{ "EMON_SYNCH_UOPS", 0xd3, PM, ANY, NULL, "synchronizing micro-operations" },
	{ "EMON_ESP_UOPS", 0xd7, PM, ANY, NULL, "micro-operations on the stack pointer" },
	{ "EMON_FUSED_UOPS_RET", 0xda, PM, ANY, fused_kinds, "fused micro-operations retired" },
	{ "EMON_UNFUSION", 0xdb, PM, ANY, NULL, "micro-operations taken apart for an exception" },
	{ "EMON_PREF_RQSTS_UP", 0xf0, PM, ANY, NULL, "prefetches of the next line" },
	{ "EMON_PREF_RQSTS_DN", 0xf8, PM, ANY, NULL, "prefetches of the line before" },
	{ "EMON_SSE_SSE2_INST_RETIRED", 0xd8, PM, ANY, sse2_kinds, "SSE instructions retired" },
	{ "EMON_SSE_SSE2_COMP_INST_RETIRED", 0xd9, PM, ANY, sse2_kinds,
	  "computing SSE instructions retired" },
	{ "L2_LD", 0x29, PM, ANY, mesi_prefetch, "data loads at the L2 cache" },
	{ "L2_LINES_IN", 0x24, PM, ANY, mesi_prefetch, "lines brought into the L2 cache" },
	{ "L2_LINES_OUT", 0x26, PM, ANY, mesi_prefetch, "lines that left the L2 cache" },
	{ "L2_M_LINES_OUT", 0x27, PM, ANY, mesi_prefetch, "modified lines that left the L2 cache" },
	{ 0 }
};

#define MODEL(variable, short_name, words, number, bit) \
	static const struct tbl variable##_table = { events, bit, 3, true, 0x186, 0xc1 }; \
	struct pfl_model variable = { \
		.name = short_name, .desc = words, .type = number, .width = 40, .ncounters = 2, \
		.ops = &pfl_table_ops, .data = &variable##_table }

MODEL(pfl_p6, "p6", "Intel Pentium III", PFMLIB_I386_P6_PMU, P3);
MODEL(pfl_pentium_m, "pm", "Intel Pentium M", PFMLIB_I386_PM_PMU, PM);
MODEL(pfl_pentium2, "pii", "Intel Pentium II", PFMLIB_INTEL_PII_PMU, PII);
MODEL(pfl_pentium_pro, "ppro", "Intel Pentium Pro", PFMLIB_INTEL_PPRO_PMU, PPRO);
