// SPDX-License-Identifier: MIT
/*
 * models.c - which event code of which model counts what happens in programs.
 *
 * Codes are those of the real processors: event select in bits 0-7, unit mask from bit 8 (ARM: the
 * event number). Unit masks matter where an encoding says so; thresholds, edge detection and
 * inversion are not simulated.
 */
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "pmu/models.h"
#include "sim.h"

static const char *const names[SIM_EV_NAMED] = {
	"page_faults", "minor_faults", "major_faults", "alignment_faults", "emulation_faults",
	"context_switches", "cpu_migrations",
	"cycles", "instructions", "branches", "branches_taken", "branch_misses",
	"loads", "stores", "fp_ops", "nops", "uops", "stalls",
	"l1d_accesses", "l1d_misses", "l1i_accesses", "l1i_misses",
	"l2_accesses", "l2_misses", "l3_accesses", "l3_misses",
	"dtlb_misses", "itlb_misses", "bus_accesses", "interrupts",
	"dear_events", "iear_events", "branch_events",
};

/* --- Itanium 2: PMC4-7 ---------------------------------------------------------------------- */

static const struct sim_encoding itanium2_codes[] = {
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

static bool itanium2_decode(const uint64_t *pmcs, unsigned int pmd, uint64_t *code, unsigned int *levels)
{
	uint64_t pmc = pmcs[pmd];

	*code = (pmc >> 8 & 0xff) | (pmc >> 16 & 0xf) << 8;
	*levels = plm_levels(pmc);
	return pmcs[4] >> 23 & 1;
}

static uint64_t itanium2_encode(unsigned int pmd, uint64_t code, unsigned int levels)
{
	uint64_t plm = (levels >> PFM_SIM_USER & 1) << 3 | !!(levels & ~(1U << PFM_SIM_USER));

	return plm | (code & 0xff) << 8 | (code >> 8 & 0xf) << 16 | (pmd == 4 ? 1 << 23 : 0);
}

/* --- K8 and P6: PerfEvtSel ------------------------------------------------------------------ */

#define X86_USR	(1ULL << 16)
#define X86_OS	(1ULL << 17)
#define X86_EN	(1ULL << 22)

static const struct sim_encoding k8_codes[] = {
	{ 0x76, 0xff, SIM_EV_CYCLES },		/* CPU_CLK_UNHALTED */
	{ 0xc0, 0xff, SIM_EV_INSTRUCTIONS },	/* RETIRED_INSTRUCTIONS */
	{ 0xc1, 0xff, SIM_EV_UOPS },		/* RETIRED_UOPS */
	{ 0xc2, 0xff, SIM_EV_BRANCHES },	/* RETIRED_BRANCH_INSTRUCTIONS */
	{ 0xc3, 0xff, SIM_EV_BRANCH_MISSES },	/* RETIRED_MISPREDICTED_BRANCH_INSTRUCTIONS */
	{ 0xc4, 0xff, SIM_EV_BRANCHES_TAKEN },	/* RETIRED_TAKEN_BRANCH_INSTRUCTIONS */
	{ 0x00, 0xff, SIM_EV_FP_OPS },		/* DISPATCHED_FPU */
	{ 0xd1, 0xff, SIM_EV_STALLS },		/* DISPATCH_STALLS */
	{ 0x40, 0xff, SIM_EV_L1D_ACCESSES },	/* DATA_CACHE_ACCESSES */
	{ 0x41, 0xff, SIM_EV_L1D_MISSES },	/* DATA_CACHE_MISSES */
	{ 0x80, 0xff, SIM_EV_L1I_ACCESSES },	/* INSTRUCTION_CACHE_FETCHES */
	{ 0x81, 0xff, SIM_EV_L1I_MISSES },	/* INSTRUCTION_CACHE_MISSES */
	{ 0x7d, 0xff, SIM_EV_L2_ACCESSES },	/* REQUESTS_TO_L2 */
	{ 0x7e, 0xff, SIM_EV_L2_MISSES },	/* L2_CACHE_MISS */
	{ 0x46, 0xff, SIM_EV_DTLB_MISSES },	/* L1_DTLB_MISS_AND_L2_DTLB_MISS */
	{ 0x85, 0xff, SIM_EV_ITLB_MISSES },	/* L1_ITLB_MISS_AND_L2_ITLB_MISS */
	{ 0x6c, 0xff, SIM_EV_BUS_ACCESSES },	/* SYSTEM_READ_RESPONSES */
	{ 0xcf, 0xff, SIM_EV_INTERRUPTS },	/* INTERRUPTS_TAKEN */
	{ 0, 0, 0 }
};

static const struct sim_encoding p6_codes[] = {
	{ 0x79, 0xff, SIM_EV_CYCLES },		/* CPU_CLK_UNHALTED */
	{ 0xc0, 0xff, SIM_EV_INSTRUCTIONS },	/* INST_RETIRED */
	{ 0xc2, 0xff, SIM_EV_UOPS },		/* UOPS_RETIRED */
	{ 0xc4, 0xff, SIM_EV_BRANCHES },	/* BR_INST_RETIRED */
	{ 0xc5, 0xff, SIM_EV_BRANCH_MISSES },	/* BR_MISS_PRED_RETIRED */
	{ 0xc9, 0xff, SIM_EV_BRANCHES_TAKEN },	/* BR_TAKEN_RETIRED */
	{ 0xc1, 0xff, SIM_EV_FP_OPS },		/* FLOPS */
	{ 0xa2, 0xff, SIM_EV_STALLS },		/* RESOURCE_STALLS */
	{ 0x43, 0xff, SIM_EV_L1D_ACCESSES },	/* DATA_MEM_REFS */
	{ 0x45, 0xff, SIM_EV_L1D_MISSES },	/* DCU_LINES_IN */
	{ 0x80, 0xff, SIM_EV_L1I_ACCESSES },	/* IFU_IFETCH */
	{ 0x81, 0xff, SIM_EV_L1I_MISSES },	/* IFU_IFETCH_MISS */
	{ 0x2e, 0xff, SIM_EV_L2_ACCESSES },	/* L2_RQSTS */
	{ 0x24, 0xff, SIM_EV_L2_MISSES },	/* L2_LINES_IN */
	{ 0x85, 0xff, SIM_EV_ITLB_MISSES },	/* ITLB_MISS */
	{ 0x6f, 0xff, SIM_EV_BUS_ACCESSES },	/* BUS_TRAN_MEM */
	{ 0xc8, 0xff, SIM_EV_INTERRUPTS },	/* HW_INT_RX */
	{ 0, 0, 0 }
};

static void x86_fields(uint64_t sel, uint64_t *code, unsigned int *levels)
{
	*code = sel & 0xffff;
	*levels = 0;
	if (sel & X86_USR)
		*levels |= 1 << PFM_SIM_USER;
	if (sel & X86_OS)
		*levels |= 1 << PFM_SIM_KERNEL | 1 << PFM_SIM_INTR;
}

static bool k8_decode(const uint64_t *pmcs, unsigned int pmd, uint64_t *code, unsigned int *levels)
{
	x86_fields(pmcs[pmd], code, levels);
	return pmcs[pmd] & X86_EN;
}

/* The enable bit of PerfEvtSel0 is the one for both; counter 1 also accepts its own. */
static bool p6_decode(const uint64_t *pmcs, unsigned int pmd, uint64_t *code, unsigned int *levels)
{
	x86_fields(pmcs[pmd], code, levels);
	return (pmcs[0] | pmcs[pmd]) & X86_EN;
}

static uint64_t x86_encode(unsigned int pmd, uint64_t code, unsigned int levels)
{
	uint64_t sel = X86_EN | 1 << 20 | (code & 0xffff);

	(void)pmd;
	if (levels >> PFM_SIM_USER & 1)
		sel |= X86_USR;
	if (levels & ~(1U << PFM_SIM_USER))
		sel |= X86_OS;
	return sel;
}

/* --- ARMv8: PMEVTYPER, PMCCFILTR ------------------------------------------------------------ */

#define ARM_P		(1ULL << 31)	/* not EL1 */
#define ARM_U		(1ULL << 30)	/* not EL0 */
#define ARM_CYCLES	0x11

static const struct sim_encoding armv8_codes[] = {
	{ ARM_CYCLES, 0xffff, SIM_EV_CYCLES },	/* CPU_CYCLES */
	{ 0x08, 0xffff, SIM_EV_INSTRUCTIONS },	/* INST_RETIRED */
	{ 0x1b, 0xffff, SIM_EV_UOPS },		/* INST_SPEC */
	{ 0x12, 0xffff, SIM_EV_BRANCHES },	/* BR_PRED */
	{ 0x21, 0xffff, SIM_EV_BRANCHES },	/* BR_RETIRED */
	{ 0x0c, 0xffff, SIM_EV_BRANCHES_TAKEN },	/* PC_WRITE_RETIRED */
	{ 0x10, 0xffff, SIM_EV_BRANCH_MISSES },	/* BR_MIS_PRED */
	{ 0x22, 0xffff, SIM_EV_BRANCH_MISSES },	/* BR_MIS_PRED_RETIRED */
	{ 0x06, 0xffff, SIM_EV_LOADS },		/* LD_RETIRED */
	{ 0x07, 0xffff, SIM_EV_STORES },	/* ST_RETIRED */
	{ 0x75, 0xffff, SIM_EV_FP_OPS },	/* VFP_SPEC */
	{ 0x24, 0xffff, SIM_EV_STALLS },	/* STALL_BACKEND */
	{ 0x04, 0xffff, SIM_EV_L1D_ACCESSES },	/* L1D_CACHE */
	{ 0x03, 0xffff, SIM_EV_L1D_MISSES },	/* L1D_CACHE_REFILL */
	{ 0x14, 0xffff, SIM_EV_L1I_ACCESSES },	/* L1I_CACHE */
	{ 0x01, 0xffff, SIM_EV_L1I_MISSES },	/* L1I_CACHE_REFILL */
	{ 0x16, 0xffff, SIM_EV_L2_ACCESSES },	/* L2D_CACHE */
	{ 0x17, 0xffff, SIM_EV_L2_MISSES },	/* L2D_CACHE_REFILL */
	{ 0x2b, 0xffff, SIM_EV_L3_ACCESSES },	/* L3D_CACHE */
	{ 0x2a, 0xffff, SIM_EV_L3_MISSES },	/* L3D_CACHE_REFILL */
	{ 0x05, 0xffff, SIM_EV_DTLB_MISSES },	/* L1D_TLB_REFILL */
	{ 0x02, 0xffff, SIM_EV_ITLB_MISSES },	/* L1I_TLB_REFILL */
	{ 0x19, 0xffff, SIM_EV_BUS_ACCESSES },	/* BUS_ACCESS */
	{ 0x09, 0xffff, SIM_EV_INTERRUPTS },	/* EXC_TAKEN */
	{ 0, 0, 0 }
};

static bool armv8_decode(const uint64_t *pmcs, unsigned int pmd, uint64_t *code, unsigned int *levels)
{
	*code = pmd == 31 ? ARM_CYCLES : pmcs[pmd] & 0xffff;
	*levels = 0;
	if (!(pmcs[pmd] & ARM_U))
		*levels |= 1 << PFM_SIM_USER;
	if (!(pmcs[pmd] & ARM_P))
		*levels |= 1 << PFM_SIM_KERNEL | 1 << PFM_SIM_INTR;
	return true;
}

static uint64_t armv8_encode(unsigned int pmd, uint64_t code, unsigned int levels)
{
	uint64_t type = pmd == 31 ? 0 : code & 0xffff;

	if (!(levels >> PFM_SIM_USER & 1))
		type |= ARM_U;
	if (!(levels & ~(1U << PFM_SIM_USER)))
		type |= ARM_P;
	return type;
}

/* --- the models ----------------------------------------------------------------------------- */

const char sim_model_names[] = "itanium2, k8, p6, armv8";

static const struct sim_model models[] = {
	{ "itanium2", "sim:itanium2", &pfm_pmu_itanium2, 4, 0xff, itanium2_codes,
	  PFM_ITA_FL_INSECURE | PFM_ITA_FL_PRIV_MONITORS,
	  PFM_ITA_SETFL_EXCL_INTR | PFM_ITA_SETFL_INTR_ONLY | PFM_ITA_SETFL_IDLE_EXCL, true,
	  itanium2_decode, itanium2_encode },
	{ "k8", "sim:k8", &pfm_pmu_k8, 4, 0xff, k8_codes, 0, 0, false, k8_decode, x86_encode },
	{ "p6", "sim:p6", &pfm_pmu_p6, 2, 0xff, p6_codes, 0, 0, false, p6_decode, x86_encode },
	{ "armv8", "sim:armv8", &pfm_pmu_armv8, 7, 0xffff, armv8_codes, 0, 0, false,
	  armv8_decode, armv8_encode },
};

const struct sim_model *sim_model_find(const char *name)
{
	for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++)
		if (!strcmp(models[i].name, *name ? name : "itanium2"))
			return &models[i];
	return NULL;
}

/* --- event names ---------------------------------------------------------------------------- */

static int event_refused(const struct pfm_sim *sim, const char *name)
{
	return pfm_refuse(-EINVAL, "no event '%s' (cycles, instructions, ... or a code of %s as 0x5b)",
			  name, sim->model->name);
}

/* A name that is a code becomes an event of this computer. */
static int named_event(struct pfm_sim *sim, const char *name)
{
	char *end;
	uint64_t code = strtoull(name, &end, 16);

	if (strncasecmp(name, "0x", 2) || !name[2] || *end || code > 0xffff)
		return event_refused(sim, name);
	for (unsigned int i = 0; i < sim->num_named; i++)
		if (sim->codes[i] == code)
			return SIM_EV_NAMED + i;
	if (sim->num_named == SIM_MAX_EVENTS - SIM_EV_NAMED)
		return pfm_refuse(-EINVAL, "too many event codes, at '%s'", name);
	snprintf(sim->named[sim->num_named], sizeof(sim->named[0]), "0x%llx", (unsigned long long)code);
	sim->codes[sim->num_named] = code;
	return SIM_EV_NAMED + sim->num_named++;
}

/* '-' is as good as '_', and a capital as a small letter. */
static bool same_name(const char *a, const char *b)
{
	for (; *a && *b; a++, b++) {
		char x = *a == '-' ? '_' : *a, y = *b;

		if (x >= 'A' && x <= 'Z')
			x += 'a' - 'A';
		if (x != y)
			return false;
	}
	return *a == *b;
}

int sim_event_find(struct pfm_sim *sim, const char *name)
{
	if (!name)
		return pfm_refuse(-EINVAL, "an event has no name");
	for (int i = 0; i < SIM_EV_NAMED; i++)
		if (same_name(name, names[i]))
			return i;
	return named_event(sim, name);
}

const char *sim_event_name(const struct pfm_sim *sim, unsigned int event)
{
	if (event < SIM_EV_NAMED)
		return names[event];
	return event - SIM_EV_NAMED < sim->num_named ? sim->named[event - SIM_EV_NAMED] : NULL;
}

/* A code given by name counts where it is programmed, with or without its unit mask. */
uint64_t sim_model_events(const struct pfm_sim *sim, uint64_t code)
{
	uint64_t events = 0;

	for (const struct sim_encoding *e = sim->model->encodings; e->mask && !events; e++)
		if ((code & e->mask) == e->code)
			events = 1ULL << e->event;
	for (unsigned int i = 0; i < sim->num_named; i++)
		if (sim->codes[i] == code || sim->codes[i] == (code & sim->model->code_mask))
			events |= 1ULL << (SIM_EV_NAMED + i);
	return events;
}

int64_t sim_model_code(struct pfm_sim *sim, unsigned int event)
{
	if (event >= SIM_EV_NAMED)
		return sim->codes[event - SIM_EV_NAMED];
	for (const struct sim_encoding *e = sim->model->encodings; e->mask; e++)
		if (e->event == event)
			return e->code;
	return pfm_refuse(-EINVAL, "%s has no event code for '%s'", sim->model->name, names[event]);
}
