/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * software.h - software counters and virtual PMDs: the part of the logical PMU that every Linux has.
 *
 * Their numbers are the same on every machine. A software counter n is PMD n, controlled by PMC n,
 * whose value says at which privilege levels it counts: PFM_SW_USER | PFM_SW_KERNEL (the values of
 * libpfm's PFM_PLM3 and PFM_PLM0). 0, the default, counts nothing.
 */
#ifndef PFM_PMU_SOFTWARE_H
#define PFM_PMU_SOFTWARE_H

#include "pmu.h"

#define PFM_SW_KERNEL	0x1
#define PFM_SW_USER	0x8

enum {
	PFM_SW_FIRST = 64,
	PFM_SW_TASK_CLOCK = PFM_SW_FIRST,	/* ns */
	PFM_SW_CPU_CLOCK,			/* ns */
	PFM_SW_PAGE_FAULTS,
	PFM_SW_MINOR_FAULTS,
	PFM_SW_MAJOR_FAULTS,
	PFM_SW_CONTEXT_SWITCHES,
	PFM_SW_CPU_MIGRATIONS,
	PFM_SW_ALIGNMENT_FAULTS,
	PFM_SW_EMULATION_FAULTS,
	PFM_SW_LAST = PFM_SW_EMULATION_FAULTS,

	PFM_VIRT_FIRST = 80,
	PFM_VIRT_TSTAMP = PFM_VIRT_FIRST,	/* the machine's clock, ns */
	PFM_VIRT_REALTIME,			/* ns since 1970 */
	PFM_VIRT_TID,
	PFM_VIRT_PID,
	PFM_VIRT_CPU,
	PFM_VIRT_LAST = PFM_VIRT_CPU,
};

#define PFM_NUM_SW	(PFM_SW_LAST - PFM_SW_FIRST + 1)
#define PFM_NUM_VIRT	(PFM_VIRT_LAST - PFM_VIRT_FIRST + 1)

/*
 * Appends the PMCs of the software counters to pmcs, which has *num_pmcs entries below PFM_SW_FIRST
 * and room for PFM_NUM_SW more; their PMDs and the virtual ones to pmds, with room for
 * PFM_NUM_SW + PFM_NUM_VIRT. Real time and the target's CPU are for the machine to know: its hooks
 * are called as those of struct pfm_reg.
 */
void pfm_software_append(struct pfm_reg *pmcs, uint16_t *num_pmcs, struct pfm_reg *pmds,
			 uint16_t *num_pmds,
			 uint64_t (*realtime)(struct pfm_context *ctx, const struct pfm_where *where),
			 uint64_t (*cpu)(struct pfm_context *ctx, const struct pfm_where *where));

/* The scheduler does its work in the kernel: at user level alone these would always be 0. */
static inline bool pfm_software_only_kernel(uint16_t num)
{
	return num == PFM_SW_CONTEXT_SWITCHES || num == PFM_SW_CPU_MIGRATIONS;
}

/* For pmu->check_pmc: does PMC num, if a software counter's, make sense with this value? */
int pfm_software_check_pmc(uint16_t num, uint64_t value);

#endif
