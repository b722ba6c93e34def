// SPDX-License-Identifier: MIT
/*
 * netburst.c - Pentium 4: an event needs an ESCR that knows it, and a counter, with its CCCR, of
 * the ESCR's group and side.
 *
 * Numbers are those of libpfm 3: PMC 0-22 the ESCRs of the even side, 32-53 of the odd side, 23-31
 * and 54-62 the CCCRs of PMD 0-8 (even) and 9-17 (odd), 63 PEBS_MATRIX_VERT. PEBS_ENABLE, 64 there,
 * is 96 here: 64 is a software counter.
 */
#include <string.h>

#include "encode4.h"

#define PEBS_MATRIX_VERT	63
#define PEBS_ENABLE		96

/* ESCRs of the even side, in the order of their PMCs, group by group. */
enum {
	BPU, IS, MOB, ITLB, PMH, IX, FSB, BSU,		/* group BPU */
	MS, TC, TBPU,					/* group MS */
	FLAME, FIRM, SAAT, U2L, DAC,			/* group FLAME */
	IQ, ALF, RAT, SSU, CRU0, CRU2, CRU4,		/* group IQ */
};

enum { BOTH, EVEN_ONLY, ODD_ONLY };

struct place {
	const char	*event;
	uint8_t		escr, side;
};

static const struct place places[] = {
	{ "TC_deliver_mode", TC, BOTH }, { "BPU_fetch_request", BPU, BOTH },
	{ "ITLB_reference", ITLB, BOTH }, { "memory_cancel", DAC, BOTH },
	{ "memory_complete", SAAT, BOTH }, { "load_port_replay", SAAT, BOTH },
	{ "store_port_replay", SAAT, BOTH }, { "MOB_load_replay", MOB, BOTH },
	{ "page_walk_type", PMH, BOTH }, { "BSQ_cache_reference", BSU, BOTH },
	{ "IOQ_allocation", FSB, BOTH }, { "IOQ_active_entries", FSB, ODD_ONLY },
	{ "FSB_data_activity", FSB, BOTH }, { "BSQ_allocation", BSU, EVEN_ONLY },
	{ "BSQ_active_entries", BSU, ODD_ONLY }, { "SSE_input_assist", FIRM, BOTH },
	{ "packed_SP_uop", FIRM, BOTH }, { "packed_DP_uop", FIRM, BOTH },
	{ "scalar_SP_uop", FIRM, BOTH }, { "scalar_DP_uop", FIRM, BOTH },
	{ "64bit_MMX_uop", FIRM, BOTH }, { "128bit_MMX_uop", FIRM, BOTH },
	{ "x87_FP_uop", FIRM, BOTH }, { "x87_SIMD_moves_uop", FIRM, BOTH },
	{ "TC_misc", TC, BOTH }, { "global_power_events", FSB, BOTH },
	{ "tc_ms_xfer", MS, BOTH }, { "uop_queue_writes", MS, BOTH },
	{ "retired_mispred_branch_type", TBPU, BOTH }, { "retired_branch_type", TBPU, BOTH },
	{ "resource_stall", ALF, BOTH }, { "WC_Buffer", DAC, BOTH },
	{ "b2b_cycles", FSB, BOTH }, { "bnr", FSB, BOTH }, { "snoop", FSB, BOTH },
	{ "response", FSB, BOTH }, { "front_end_event", CRU2, BOTH },
	{ "execution_event", CRU2, BOTH }, { "replay_event", CRU2, BOTH },
	{ "instr_retired", CRU0, BOTH }, { "uops_retired", CRU0, BOTH },
	{ "uops_type", RAT, BOTH }, { "branch_retired", CRU2, BOTH },
	{ "mispred_branch_retired", CRU0, BOTH }, { "x87_assist", CRU2, BOTH },
	{ "machine_clear", CRU2, BOTH }, { "instr_completed", CRU0, BOTH },
};

/* PMDs of the even side for each group; 0xff: none */
static const uint8_t group_counters[][4] = {
	{ 0, 1, 0xff }, { 2, 3, 0xff }, { 4, 5, 0xff }, { 6, 7, 8, 0xff }
};

static unsigned int group_of(unsigned int escr)
{
	return escr < MS ? 0 : escr < FLAME ? 1 : escr < IQ ? 2 : 3;
}

/* Returns the corresponding ESCR of the odd side, which has no SSU. */
static unsigned int odd_escr(unsigned int escr)
{
	return escr < SSU ? escr + 32 : escr + 31;
}

static unsigned int cccr_of(unsigned int pmd)
{
	return pmd < 9 ? 23 + pmd : 54 + pmd - 9;
}

static void add_side(struct pfl_demand *d, unsigned int escr, bool odd)
{
	const uint8_t *pmds = group_counters[group_of(escr)];
	unsigned int pmc = odd ? odd_escr(escr) : escr;

	for (unsigned int i = 0; i < 4 && pmds[i] != 0xff; i++) {
		unsigned int pmd = pmds[i] + (odd ? 9 : 0);
		struct pfl_alt *alt = &d->alts[d->nalts++];

		alt->pmd = pmd;
		alt->pmc[0] = pmc;
		alt->pmc[1] = cccr_of(pmd);
		pfl_mask_set(&alt->claims, pmc);
		pfl_mask_set(&alt->claims, cccr_of(pmd));
	}
}

static const struct place *place_of(const char *event)
{
	for (size_t i = 0; i < PFL_COUNT(places); i++)
		if (strcmp(places[i].event, event) == 0)
			return &places[i];
	return NULL;
}

/* Adds the tags of replay_event, which are in two registers that all events share. */
static void add_replay_tags(const struct pfl_model *m, unsigned int idx, struct pfl_demand *d)
{
	static const struct { const char *mask; uint32_t enable, matrix; } tags[] = {
		{ "L1_LD_MISS", 0x03000001, 1 }, { "L2_LD_MISS", 0x03000002, 1 },
		{ "DTLB_LD_MISS", 0x03000004, 1 }, { "DTLB_ST_MISS", 0x03000004, 2 },
		{ "DTLB_ALL_MISS", 0x03000004, 3 }, { "BR_MSP", 0x03018001, 0x10 },
		{ "MOB_LD_REPLAY", 0x03000200, 1 }, { "SP_LD_RET", 0x03000400, 1 },
		{ "SP_ST_RET", 0x03000400, 2 },
	};
	uint64_t enable = 0, matrix = 0;

	for (unsigned int i = 0; i < d->event.num_masks; i++) {
		struct l4_attr attr;

		l4_attr(m->data, idx, PFMLIB_MASK_INDEX(d->event.unit_masks[i]), &attr);
		for (size_t k = 0; k < PFL_COUNT(tags); k++)
			if (strcmp(tags[k].mask, attr.name) == 0) {
				enable |= tags[k].enable;
				matrix |= tags[k].matrix;
			}
	}
	if (!enable)
		return;
	d->shared[0] = (struct pfl_shared) { PEBS_MATRIX_VERT, matrix };
	d->shared[1] = (struct pfl_shared) { PEBS_ENABLE, enable };
	d->nshared = 2;
}

static int netburst_encode(const struct pfl_model *m, unsigned int idx, const pfmlib_event_t *e,
			   unsigned int plm, unsigned int flags, struct pfl_demand *d)
{
	const char *name = l4_event(m->data, idx)->name;
	const struct place *place = place_of(name);
	uint64_t codes[L4_MAX_CODES];
	unsigned int n;
	int ret = pfl4_codes(m, idx, e, plm, codes, &n);

	(void)flags;
	if (ret != PFMLIB_SUCCESS)
		return ret;
	if (!place || n < 2)
		return pfl_explain(PFMLIB_ERR_NOTSUPP, "%s: its ESCR is not known", name);
	d->nvalues = 2;
	d->values[0] = codes[0];
	d->values[1] = codes[1];
	if (place->side != ODD_ONLY)
		add_side(d, place->escr, false);
	if (place->side != EVEN_ONLY && place->escr != SSU)
		add_side(d, place->escr, true);
	if (strcmp(name, "replay_event") == 0)
		add_replay_tags(m, idx, d);
	return PFMLIB_SUCCESS;
}

static void netburst_registers(const struct pfl_model *m, pfmlib_regmask_t *pmcs,
			       pfmlib_regmask_t *pmds, pfmlib_regmask_t *counters)
{
	(void)m;
	for (unsigned int i = 0; i <= PEBS_MATRIX_VERT; i++)
		pfm_regmask_set(pmcs, i);
	pfm_regmask_set(pmcs, PEBS_ENABLE);
	for (unsigned int i = 0; i < 18; i++) {
		pfm_regmask_set(pmds, i);
		pfm_regmask_set(counters, i);
	}
}

static uint64_t escr_address(unsigned int escr, bool odd)
{
	static const uint16_t address[] = {
		0x3b2, 0x3b4, 0x3aa, 0x3b6, 0x3ac, 0x3c8, 0x3a2, 0x3a0, 0x3c0, 0x3c4, 0x3c2, 0x3a6,
		0x3a4, 0x3ae, 0x3b0, 0x3a8, 0x3ba, 0x3ca, 0x3bc, 0x3be, 0x3b8, 0x3cc, 0x3e0
	};

	return address[escr] + odd;
}

/*
 * The MSRs from 0x300 on are the counters, those from 0x360 on their CCCRs, both in the order of
 * the hardware.
 */
static unsigned int hardware_counter(unsigned int pmd)
{
	static const uint8_t order[] = {
		0, 1, 4, 5, 8, 9, 12, 13, 16, 2, 3, 6, 7, 10, 11, 14, 15, 17
	};

	return order[pmd];
}

static uint64_t netburst_address(const struct pfl_model *m, bool pmd, unsigned int n)
{
	(void)m;
	if (pmd)
		return n < 18 ? 0x300 + hardware_counter(n) : 0;
	if (n < 23)
		return escr_address(n, false);
	if (n < 32)
		return 0x360 + hardware_counter(n - 23);
	if (n < 54)
		return escr_address(n < 51 ? n - 32 : n - 31, true);
	if (n < 63)
		return 0x360 + hardware_counter(n - 54 + 9);
	return n == PEBS_MATRIX_VERT ? 0x3f2 : n == PEBS_ENABLE ? 0x3f1 : 0;
}

const struct pfl_ops pfl_netburst_ops = {
	.event = pfl4_event,
	.attr = pfl4_attr,
	.encode = netburst_encode,
	.registers = netburst_registers,
	.address = netburst_address,
};
