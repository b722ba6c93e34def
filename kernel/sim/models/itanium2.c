// SPDX-License-Identifier: MIT
/* itanium2.c - what the event codes of the Itanium 2 count: PMC4-7. */
#include "sim/sim.h"

static const struct sim_encoding encodings[] = {
	{ 0x12, 0xff, SIM_EV_CYCLES },		/* CPU_CYCLES */
	{ 0x08, 0xff, SIM_EV_INSTRUCTIONS },	/* IA64_INST_RETIRED */
	{ 0x25b, 0xfff, SIM_EV_BRANCH_MISSES },	/* BR_MISPRED_DETAIL.ALL.WRONG_PATH */
	{ 0x5b, 0xfff, SIM_EV_BRANCHES },	/* BR_MISPRED_DETAIL.ALL.ALL_PRED */
	{ 0xcd, 0xff, SIM_EV_LOADS },		/* LOADS_RETIRED */
	{ 0xd1, 0xff, SIM_EV_STORES },		/* STORES_RETIRED */
	{ 0x09, 0xff, SIM_EV_FP_OPS },		/* FP_OPS_RETIRED */
	{ 0x50, 0xff, SIM_EV_NOPS },		/* NOPS_RETIRED */
	{ 0x00, 0xff, SIM_EV_STALLS },		/* BACK_END_BUBBLE */
	{ 0xc2, 0xff, SIM_EV_L1D_ACCESSES },	/* L1D_READS_SET0 */
	{ 0xc7, 0xff, SIM_EV_L1D_MISSES },	/* L1D_READ_MISSES */
	{ 0x40, 0xff, SIM_EV_L1I_ACCESSES },	/* L1I_READS */
	{ 0x41, 0xff, SIM_EV_L1I_MISSES },	/* L1I_FILLS */
	{ 0xb1, 0xff, SIM_EV_L2_ACCESSES },	/* L2_REFERENCES */
	{ 0xcb, 0xff, SIM_EV_L2_MISSES },	/* L2_MISSES */
	{ 0xdb, 0xff, SIM_EV_L3_ACCESSES },	/* L3_REFERENCES */
	{ 0xdc, 0xff, SIM_EV_L3_MISSES },	/* L3_MISSES */
	{ 0xc1, 0xff, SIM_EV_DTLB_MISSES },	/* L2DTLB_MISSES */
	{ 0x47, 0xff, SIM_EV_ITLB_MISSES },	/* ITLB_MISSES_FETCH */
	{ 0x87, 0xff, SIM_EV_BUS_ACCESSES },	/* BUS_ALL */
	{ 0x9e, 0xff, SIM_EV_INTERRUPTS },	/* EXTERN_DP_PINS_0_TO_3 */
	{ 0xc8, 0xff, SIM_EV_DEAR },		/* DATA_EAR_EVENTS */
	{ 0x43, 0xff, SIM_EV_IEAR },		/* L1I_EAR_EVENTS */
	{ 0x11, 0xff, SIM_EV_BTB },		/* BRANCH_EVENT */
	{ 0, 0, 0 }
};

/* plm: bit 0 the kernel's level (interrupts too), bit 3 the user's. PMC4 enables all (bit 23). */
static unsigned int plm_levels(uint64_t plm)
{
	unsigned int levels = 0;

	if (plm & 1)
		levels |= 1 << PFM_SIM_KERNEL | 1 << PFM_SIM_INTR;
	if (plm & 8)
		levels |= 1 << PFM_SIM_USER;
	return levels;
}

static bool decode(const uint64_t *pmcs, unsigned int pmd, uint64_t *code, unsigned int *levels)
{
	uint64_t pmc = pmcs[pmd];

	*code = (pmc >> 8 & 0xff) | (pmc >> 16 & 0xf) << 8;
	*levels = plm_levels(pmc);
	return pmcs[4] >> 23 & 1;
}

static uint64_t encode(unsigned int pmd, uint64_t code, unsigned int levels)
{
	uint64_t plm = (levels >> PFM_SIM_USER & 1) << 3 | !!(levels & ~(1U << PFM_SIM_USER));

	return plm | (code & 0xff) << 8 | (code >> 8 & 0xf) << 16 | (pmd == 4 ? 1 << 23 : 0);
}

const struct sim_codes sim_codes_itanium2 = {
	.encodings = encodings,
	.mask = 0xff,
	.decode = decode,
	.encode = encode,
	.ctx_flags = PFM_ITA_FL_INSECURE | PFM_ITA_FL_PRIV_MONITORS,
	.set_flags = PFM_ITA_SETFL_EXCL_INTR | PFM_ITA_SETFL_INTR_ONLY | PFM_ITA_SETFL_IDLE_EXCL,
	.itanium = true,
};
