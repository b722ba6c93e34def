// SPDX-License-Identifier: MIT
/*
 * core2.c - the events that the codes of the Core 2 count (Intel's Software Developer's Manual,
 * volume 3, events of the Core microarchitecture). Unit masks matter, except bits 4-5 (prefetches)
 * of those of the L2 cache, because the L2 has no prefetcher here.
 */
#include "perfmon/perfmon_pebs_smpl.h"
#include "sim/models/x86.h"

static const struct sim_encoding encodings[] = {
	{ 0x003c, 0xffff, SIM_EV_CYCLES, 0 },		/* UNHALTED_CORE_CYCLES */
	{ X86_REF_CYCLES, 0xffff, SIM_EV_CYCLES, 0 },	/* UNHALTED_REFERENCE_CYCLES */
	{ 0x00c0, 0xffff, SIM_EV_INSTRUCTIONS, 0 },	/* INSTRUCTIONS_RETIRED */
	{ 0x01c0, 0xffff, SIM_EV_LOADS, 0 },		/* INST_RETIRED:LOADS */
	{ 0x02c0, 0xffff, SIM_EV_STORES, 0 },		/* INST_RETIRED:STORES */
	{ 0x0fc2, 0xffff, SIM_EV_UOPS, 0 },		/* UOPS_RETIRED:ANY */
	{ 0x00c4, 0xffff, SIM_EV_BRANCHES, 0 },	/* BR_INST_RETIRED:ANY */
	{ 0x0cc4, 0xffff, SIM_EV_BRANCHES_TAKEN, 0 },	/* BR_INST_RETIRED:TAKEN */
	{ 0x00c5, 0xffff, SIM_EV_BRANCH_MISSES, 0 },	/* MISPREDICTED_BRANCH_RETIRED */
	{ 0x0010, 0xffff, SIM_EV_FP_OPS, 0 },		/* FP_COMP_OPS_EXE */
	{ 0x1fdc, 0xffff, SIM_EV_STALLS, 0 },		/* RESOURCE_STALLS:ANY */
	{ 0x0143, 0xffff, SIM_EV_L1D_ACCESSES, 0 },	/* L1D_ALL_REF */
	{ 0x0f45, 0xffff, SIM_EV_L1D_MISSES, 0 },	/* L1D_REPL */
	{ 0x0080, 0xffff, SIM_EV_L1I_ACCESSES, 0 },	/* L1I_READS */
	{ 0x0081, 0xffff, SIM_EV_L1I_MISSES, 0 },	/* L1I_MISSES */
	{ 0x4f2e, 0xcfff, SIM_EV_L2_ACCESSES, 0 },	/* LLC_REFERENCES */
	{ 0x412e, 0xcfff, SIM_EV_L2_MISSES, 0 },	/* LLC_MISSES */
	{ 0x4024, 0xcfff, SIM_EV_L2_MISSES, 0 },	/* L2_LINES_IN:SELF */
	{ 0x0108, 0xffff, SIM_EV_DTLB_MISSES, 0 },	/* DTLB_MISSES:ANY */
	{ 0x1282, 0xffff, SIM_EV_ITLB_MISSES, 0 },	/* ITLB:MISSES */
	{ 0x406f, 0xffff, SIM_EV_BUS_ACCESSES, 0 },	/* BUS_TRANS_MEM:SELF */
	{ 0x00c8, 0xffff, SIM_EV_INTERRUPTS, 0 },	/* HW_INT_RCV */
	{ 0x104e, 0xffff, SIM_EV_PREFETCHES, 0 },	/* L1D_PREFETCH:REQUESTS */
	{ 0, 0, 0, 0 }
};

/* A Core 2 Duo E6600. Its two cores share the L2; here each has an L2 of its own. */
static const struct cache_shapes conroe = {
	.part = {
		[CACHE_L1I] = { .size = 32 << 10, .assoc = 8, .line = 64, .policy = CACHE_PLRU },
		[CACHE_L1D] = { .size = 32 << 10, .assoc = 8, .line = 64, .policy = CACHE_PLRU },
		[CACHE_L2] = { .size = 4 << 20, .assoc = 16, .line = 64, .policy = CACHE_PLRU, .latency = 11 },
		[CACHE_ITLB] = { .size = 128 * 4096, .assoc = 4, .line = 4096, .policy = CACHE_PLRU, .latency = 20 },
		[CACHE_DTLB] = { .size = 256 * 4096, .assoc = 4, .line = 4096, .policy = CACHE_PLRU, .latency = 20 },
	},
	.memory = 165, .mispredicted = 15, .predictor = CACHE_GSHARE,
};

const struct sim_codes sim_codes_core2 = {
	.skid = 89,
	.caches = &conroe,
	.encodings = encodings,
	.mask = 0xff,
	.decode = sim_x86_fixed_decode,
	.encode = sim_x86_fixed_encode,
	.takes = sim_x86_fixed_takes,
	.filter = sim_x86_fixed_filter,
	.wanted = sim_lbr_wanted,
	.trace = sim_lbr,
	.lbr = { .pmc = 30, .tos = 31, .first = 32, .size = 4, .on = 1 },
	.pebs = { .enable = 17, .num = 1, .record = sizeof(pfm_pebs_record_t) },
};
