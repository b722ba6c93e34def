// SPDX-License-Identifier: MIT
/* armv8.c - the architected and the common events of PMUv3, which every ARMv8 names alike. */
#include "table.h"

#define COUNTERS	0x3fU
#define CYCLE_COUNTER	(1U << 31)

#define EVENT(name, code, desc)	{ name, code, 1, COUNTERS, NULL, desc }

static const struct tbl_event events[] = {
	{ "CPU_CYCLES", 0x11, 1, COUNTERS | CYCLE_COUNTER, NULL, "cycles" },
	EVENT("INST_RETIRED", 0x08, "instructions executed"),
	EVENT("SW_INCR", 0x00, "writes to PMSWINC_EL0"),
	EVENT("L1I_CACHE_REFILL", 0x01, "L1 instruction cache refills"),
	EVENT("L1I_TLB_REFILL", 0x02, "L1 instruction TLB refills"),
	EVENT("L1D_CACHE_REFILL", 0x03, "L1 data cache refills"),
	EVENT("L1D_CACHE", 0x04, "L1 data cache accesses"),
	EVENT("L1D_TLB_REFILL", 0x05, "L1 data TLB refills"),
	EVENT("LD_RETIRED", 0x06, "loads executed"),
	EVENT("ST_RETIRED", 0x07, "stores executed"),
	EVENT("EXC_TAKEN", 0x09, "exceptions taken"),
	EVENT("EXC_RETURN", 0x0a, "exception returns executed"),
	EVENT("CID_WRITE_RETIRED", 0x0b, "writes to CONTEXTIDR_EL1"),
	EVENT("PC_WRITE_RETIRED", 0x0c, "software changes of the program counter"),
	EVENT("BR_IMMED_RETIRED", 0x0d, "immediate branches executed"),
	EVENT("BR_RETURN_RETIRED", 0x0e, "procedure returns executed"),
	EVENT("UNALIGNED_LDST_RETIRED", 0x0f, "unaligned loads and stores executed"),
	EVENT("BR_MIS_PRED", 0x10, "branches mispredicted or not predicted"),
	EVENT("BR_PRED", 0x12, "branches that could be predicted"),
	EVENT("MEM_ACCESS", 0x13, "data memory accesses"),
	EVENT("L1I_CACHE", 0x14, "L1 instruction cache accesses"),
	EVENT("L1D_CACHE_WB", 0x15, "L1 data cache write-backs"),
	EVENT("L2D_CACHE", 0x16, "L2 data cache accesses"),
	EVENT("L2D_CACHE_REFILL", 0x17, "L2 data cache refills"),
	EVENT("L2D_CACHE_WB", 0x18, "L2 data cache write-backs"),
	EVENT("BUS_ACCESS", 0x19, "bus accesses"),
	EVENT("MEMORY_ERROR", 0x1a, "memory errors in the processor"),
	EVENT("INST_SPEC", 0x1b, "operations executed speculatively"),
	EVENT("TTBR_WRITE_RETIRED", 0x1c, "writes to a translation table base"),
	EVENT("BUS_CYCLES", 0x1d, "bus cycles"),
	{ "CHAIN", 0x1e, 1, 0x2a, NULL, "overflows of the even counter below" },
	EVENT("L1D_CACHE_ALLOCATE", 0x1f, "L1 data cache allocations without refill"),
	EVENT("L2D_CACHE_ALLOCATE", 0x20, "L2 data cache allocations without refill"),
	EVENT("BR_RETIRED", 0x21, "branches executed"),
	EVENT("BR_MIS_PRED_RETIRED", 0x22, "mispredicted branches executed"),
	EVENT("STALL_FRONTEND", 0x23, "cycles without an operation from the front end"),
	EVENT("STALL_BACKEND", 0x24, "cycles without a resource in the back end"),
	EVENT("L1D_TLB", 0x25, "L1 data TLB accesses"),
	EVENT("L1I_TLB", 0x26, "L1 instruction TLB accesses"),
	EVENT("L2I_CACHE", 0x27, "L2 instruction cache accesses"),
	EVENT("L2I_CACHE_REFILL", 0x28, "L2 instruction cache refills"),
	EVENT("L3D_CACHE_ALLOCATE", 0x29, "L3 data cache allocations without refill"),
	EVENT("L3D_CACHE_REFILL", 0x2a, "L3 data cache refills"),
	EVENT("L3D_CACHE", 0x2b, "L3 data cache accesses"),
	EVENT("L3D_CACHE_WB", 0x2c, "L3 data cache write-backs"),
	EVENT("L2D_TLB_REFILL", 0x2d, "L2 data TLB refills"),
	EVENT("L2I_TLB_REFILL", 0x2e, "L2 instruction TLB refills"),
	EVENT("L2D_TLB", 0x2f, "L2 data TLB accesses"),
	EVENT("L2I_TLB", 0x30, "L2 instruction TLB accesses"),
	EVENT("REMOTE_ACCESS", 0x31, "accesses to another socket"),
	EVENT("LL_CACHE", 0x32, "last level data cache accesses"),
	EVENT("LL_CACHE_MISS", 0x33, "last level data cache misses"),
	EVENT("DTLB_WALK", 0x34, "data TLB misses that walked the tables"),
	EVENT("ITLB_WALK", 0x35, "instruction TLB misses that walked the tables"),
	EVENT("LL_CACHE_RD", 0x36, "last level cache reads"),
	EVENT("LL_CACHE_MISS_RD", 0x37, "last level cache read misses"),
	EVENT("REMOTE_ACCESS_RD", 0x38, "reads from another socket"),
	EVENT("OP_RETIRED", 0x3a, "operations retired"),
	EVENT("OP_SPEC", 0x3b, "operations executed speculatively, in micro-operations"),
	EVENT("STALL", 0x3c, "cycles without an operation sent"),
	EVENT("STALL_SLOT_BACKEND", 0x3d, "slots lost in the back end"),
	EVENT("STALL_SLOT_FRONTEND", 0x3e, "slots lost in the front end"),
	EVENT("STALL_SLOT", 0x3f, "slots lost"),
	{ 0 }
};

static const struct tbl table = { events, 1, COUNTERS | CYCLE_COUNTER, false, 0, 0 };

struct pfl_model pfl_armv8 = {
	.name = "armv8",
	.desc = "ARMv8 PMUv3, architected and common events",
	.type = PFMLIB_ARMV8_PMU,
	.width = 32,
	.ncounters = 7,
#ifdef __aarch64__
	.present = true,
#endif
	.ops = &pfl_table_ops,
	.data = &table,
};
