// SPDX-License-Identifier: MIT
/*
 * fam10h.c - the events that the codes of AMD's family 10h count (AMD's BIOS and Kernel Developer's
 * Guide for family 10h, document 31116). Bits 8-11 of an event select are bits 32-35 of the
 * PerfEvtSel, and bits 16-19 of a code here. Unit masks matter only for the events of the L3.
 */
#include "sim/models/x86.h"

#define L3(umask, event)	((event) >> 8 << 16 | (umask) << 8 | ((event) & 0xff))

static const struct sim_encoding encodings[] = {
	SIM_AMD_ENCODINGS(0xf00ff),
	{ L3(0x07, 0x4e0), 0xf07ff, SIM_EV_L3_ACCESSES, 0 }, /* READ_REQUEST_TO_L3_CACHE:ANY_READ */
	{ L3(0x07, 0x4e1), 0xf07ff, SIM_EV_L3_MISSES, 0 },	/* L3_CACHE_MISSES:ANY_READ */
	{ 0, 0, 0, 0 }
};

static bool decode(const uint64_t *pmcs, unsigned int pmd, uint64_t *code, unsigned int *levels)
{
	bool on = sim_x86_decode(pmcs, pmd, code, levels);

	*code |= (pmcs[pmd] >> 32 & 0xf) << 16;
	return on;
}

static uint64_t encode(unsigned int pmd, uint64_t code, unsigned int levels)
{
	return sim_x86_encode(pmd, code, levels) | (code >> 16 & 0xf) << 32;
}

/*
 * A quad-core Opteron (Barcelona). Its cores share the L3; here each has an L3 of its own. The TLBs
 * are those of the second level.
 */
static const struct cache_shapes barcelona = {
	.part = {
		[CACHE_L1I] = { .size = 64 << 10, .assoc = 2, .line = 64 },
		[CACHE_L1D] = { .size = 64 << 10, .assoc = 2, .line = 64 },
		[CACHE_L2] = { .size = 512 << 10, .assoc = 16, .line = 64, .latency = 12 },
		[CACHE_L3] = { .size = 2 << 20, .assoc = 32, .line = 64, .latency = 40 },
		[CACHE_ITLB] = { .size = 512 * 4096, .assoc = 4, .line = 4096, .latency = 30 },
		[CACHE_DTLB] = { .size = 512 * 4096, .assoc = 4, .line = 4096, .latency = 30 },
	},
	.memory = 170, .mispredicted = 12, .predictor = CACHE_GSHARE,
};

const struct sim_codes sim_codes_fam10h = {
	.skid = 71,
	.caches = &barcelona,
	.encodings = encodings,
	.mask = 0xf00ff,
	.decode = decode,
	.encode = encode,
	.filter = sim_x86_filter,
	.ibs = true,
};
