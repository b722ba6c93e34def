/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * software.h - software counters and virtual PMDs: a part of every logical PMU.
 *
 * Their numbers are the same on every machine. A software counter n is PMD n, controlled by PMC n,
 * a value that says at which privilege levels it counts: PFM_SW_USER | PFM_SW_KERNEL (the values of
 * libpfm's PFM_PLM3 and PFM_PLM0). 0, the default, counts nothing.
 */
#ifndef PFM_PMU_SOFTWARE_H
#define PFM_PMU_SOFTWARE_H

#include "pmu.h"

#define PFM_SW_KERNEL	0x1
#define PFM_SW_USER	0x8

/*
 * A row for each software event. Its position determines the number of its register, on which
 * programs rely: add rows at the end. All other lists of software events are made from this one.
 *
 *	X(NAME, name, alias, perf, kind, sim, text)
 *
 *	NAME	PFM_SW_NAME is the number of its register; libpfm calls the event NAME
 *	name	its name in perf and lpfm, and that of its register; alias is another name, or ""
 *	perf	PERF_COUNT_SW_perf counts it on perf_event
 *	kind	TIME: counts ns; KERNEL: at user level alone the count is always 0; EVENT: others
 *	sim	SIM_SW_sim of sim/software.c counts it on the simulated computer; NONE: that
 *		computer does not have the register
 *	text	a description
 */
#define PFM_SOFTWARE_EVENTS(X) \
	X(TASK_CLOCK, "task-clock", "", TASK_CLOCK, TIME, TIME, "time the thread ran") \
	X(CPU_CLOCK, "cpu-clock", "", CPU_CLOCK, TIME, TIME, "time on the CPU's clock while the thread ran") \
	X(PAGE_FAULTS, "page-faults", "faults", PAGE_FAULTS, EVENT, FAULTS, "pages that had to be made present") \
	X(MINOR_FAULTS, "minor-faults", "", PAGE_FAULTS_MIN, EVENT, EVENT, "page faults served from memory") \
	X(MAJOR_FAULTS, "major-faults", "", PAGE_FAULTS_MAJ, EVENT, EVENT, "page faults that waited for a disk") \
	X(CONTEXT_SWITCHES, "context-switches", "cs", CONTEXT_SWITCHES, KERNEL, EVENT, "switches to another thread") \
	X(CPU_MIGRATIONS, "cpu-migrations", "migrations", CPU_MIGRATIONS, KERNEL, EVENT, "moves to another CPU") \
	X(ALIGNMENT_FAULTS, "alignment-faults", "", ALIGNMENT_FAULTS, EVENT, EVENT, "unaligned accesses it fixed") \
	X(EMULATION_FAULTS, "emulation-faults", "", EMULATION_FAULTS, EVENT, EVENT, "instructions the kernel emulated")

#define PFM_SW_NUMBER(NAME, ...)	PFM_SW_##NAME,

enum {
	PFM_SW_FIRST = 64,
	PFM_SW_BEFORE = PFM_SW_FIRST - 1,
	PFM_SOFTWARE_EVENTS(PFM_SW_NUMBER)
	PFM_SW_END,
	PFM_SW_LAST = PFM_SW_END - 1,

	PFM_VIRT_FIRST = 80,
	PFM_VIRT_TSTAMP = PFM_VIRT_FIRST,	/* the machine's clock, ns */
	PFM_VIRT_REALTIME,			/* ns since 1970 */
	PFM_VIRT_TID,
	PFM_VIRT_PID,
	PFM_VIRT_CPU,
	PFM_VIRT_LAST = PFM_VIRT_CPU,
};

_Static_assert(PFM_SW_END <= PFM_VIRT_FIRST, "software counters and virtual PMDs have numbers of their own");

#define PFM_NUM_SW	(PFM_SW_LAST - PFM_SW_FIRST + 1)
#define PFM_NUM_VIRT	(PFM_VIRT_LAST - PFM_VIRT_FIRST + 1)

/*
 * Appends the PMCs of the software counters to pmcs, which has *num_pmcs entries below PFM_SW_FIRST
 * and room for PFM_NUM_SW more. Appends their PMDs and the virtual ones to pmds, which has room for
 * PFM_NUM_SW + PFM_NUM_VIRT more. Only the machine knows the real time and the target's CPU: the
 * functions realtime and cpu become read() of the PMDs PFM_VIRT_REALTIME and PFM_VIRT_CPU.
 */
void pfm_software_append(struct pfm_reg *pmcs, uint16_t *num_pmcs, struct pfm_reg *pmds,
			 uint16_t *num_pmds,
			 uint64_t (*realtime)(struct pfm_context *ctx, const struct pfm_where *where),
			 uint64_t (*cpu)(struct pfm_context *ctx, const struct pfm_where *where));

enum pfm_software_kind { PFM_SW_IS_TIME, PFM_SW_IS_KERNEL, PFM_SW_IS_EVENT };

#define PFM_SW_KIND(NAME, name, alias, perf, kind, ...)	PFM_SW_IS_##kind,

/* num is the number of a software counter. */
static inline enum pfm_software_kind pfm_software_kind(uint16_t num)
{
	static const uint8_t kinds[PFM_NUM_SW] = { PFM_SOFTWARE_EVENTS(PFM_SW_KIND) };

	return kinds[num - PFM_SW_FIRST];
}

/*
 * Part of pmu->check_pmc: refuses a value that counts an event of the kernel at user level alone.
 */
int pfm_software_check_pmc(uint16_t num, uint64_t value);

#endif
