// SPDX-License-Identifier: GPL-2.0
/*
 * arm64.c - programming the events of perf's ARMv8 PMU driver.
 *
 * The driver assigns a hardware counter when an event is scheduled in. It prefers the cycle counter
 * for cycles and the instruction counter for instructions. These two can count nothing else: if a
 * perf event on one of them is programmed to count something else, it has to move to another
 * counter.
 */
#include <asm/cpufeature.h>
#include <asm/virt.h>
#include <linux/perf/arm_pmu.h>

#include "compat.h"
#include "linux.h"

/* the event number, in PMEVTYPER_EL0 and in a PMC */
#define EVENT		0xffffULL
#define CPU_CYCLES	0x11
#define INST_RETIRED	0x08
#define CHAIN		0x1e		/* the event that counts overflows of the counter below */
#define NO_EL1		(1ULL << 31)
#define NO_EL0		(1ULL << 30)
/* PMEVTYPER_EL0: count in EL2, too, if the kernel runs in EL2 */
#define WITH_EL2	(1ULL << 27)
/* ID_AA64DFR0_EL1.PMUVer: not a PMUv3; a value of 0 means that there is no PMU */
#define PMUVER_OTHER	0xf

/*
 * attr.type of new events. If one PMU serves all processors, it is the type of that PMU, because
 * with PERF_TYPE_RAW perf would try every PMU that it knows. If there are several PMUs, each for
 * some of the processors, it is PERF_TYPE_RAW.
 */
static u32 event_type = PERF_TYPE_RAW;

u32 lx_arch_type(void)
{
	return event_type;
}

u64 lx_arch_config(u16 num)
{
	return num == LX_CYCLE_PMD ? CPU_CYCLES : 0;
}

bool lx_arch_counts(u64 pmc)
{
	return (pmc & (NO_EL1 | NO_EL0)) != (NO_EL1 | NO_EL0);
}

bool lx_arch_kernel(u64 pmc)
{
	return !(pmc & NO_EL1);
}

static u64 typer(u16 num, u64 pmc)
{
	u64 value = (pmc & (NO_EL1 | NO_EL0)) | (num == LX_CYCLE_PMD ? CPU_CYCLES : pmc & EVENT);

	if (is_kernel_in_hyp_mode() && !(pmc & NO_EL1))
		value |= WITH_EL2;
	return value;
}

static void write_type(const struct perf_event *event)
{
	u64 value = event->hw.config_base;

	if (event->hw.idx == PFM_ARM_CYCLE_IDX) {
		write_sysreg(value, pmccfiltr_el0);
		return;
	}
#define WRITE_ONE(n) case n: write_sysreg(value, pmevtyper##n##_el0); break;
	switch (event->hw.idx - PFM_ARM_FIRST_IDX) {
	LX_EACH_COUNTER(WRITE_ONE)
	}
#undef WRITE_ONE
}

/* --- programming events ---------------------------------------------------------------------- */

/*
 * Returns true if the event is on the cycle or the instruction counter, and is now programmed to
 * count something else.
 */
static bool misplaced(const struct perf_event *event)
{
	u64 what = event->hw.config_base & EVENT;

	if (!lx_on_cpu(event))
		return false;
	return (event->hw.idx == PFM_ARM_CYCLE_IDX && what != CPU_CYCLES) ||
	       (lx_arm_counts_instructions(event->hw.idx) && what != INST_RETIRED);
}

int lx_arch_program(struct perf_event *event, u16 num, u64 pmc)
{
	u64 before = event->hw.config_base;

	event->hw.config_base = typer(num, pmc);
	if (!misplaced(event)) {
		if (event->hw.config_base != before && lx_arch_bit(event))
			write_type(event);
		return 0;
	}
	event->pmu->del(event, 0);
	if (!event->pmu->add(event, 0))
		return 0;
	/*
	 * No other counter is free. The event counts cycles again, because perf must find the event
	 * on a counter when it takes the event off the PMU.
	 */
	event->hw.config_base = typer(LX_CYCLE_PMD, pmc);
	if (WARN_ON_ONCE(event->pmu->add(event, 0)))
		return -EBUSY;
	return pfm_refuse(-EBUSY, "no counter is left for PMD%u: other users of the PMU have them", num);
}

/* Nothing need be done for a throttled event: the driver writes type and value at each start. */
void lx_arch_reload_throttled(struct perf_event *event)
{
}

/*
 * Refuses CHAIN: it counts overflows of the counter below it, which perf may have assigned to
 * another context or program.
 */
int lx_arch_check(u16 num, u64 pmc)
{
	if (num == LX_CYCLE_PMD || (pmc & EVENT) != CHAIN)
		return 0;
	return pfm_refuse(-EINVAL, "PMC%u: event %#x (CHAIN) counts overflows of a counter that may have another user",
			  num, CHAIN);
}

/*
 * Returns true if the PMU is a PMUv3, so that its registers can be accessed. Other PMUs accept raw
 * events, too.
 */
static bool is_pmuv3(void)
{
	unsigned int version = cpuid_feature_extract_unsigned_field(read_sanitised_ftr_reg(SYS_ID_AA64DFR0_EL1),
								    ID_AA64DFR0_EL1_PMUVer_SHIFT);

	return version && version != PMUVER_OTHER;
}

unsigned int lx_arch_counters(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_RAW, .config = CPU_CYCLES, .size = sizeof(attr),
					.disabled = 1 };
	const struct arm_pmu *pmu;
	struct perf_event *event;
	unsigned int n;

	if (!is_pmuv3())
		return 0;
	event = perf_event_create_kernel_counter(&attr, 0, NULL, NULL, NULL);
	if (IS_ERR(event))
		return 0;
	pmu = to_arm_pmu(event->pmu);
	n = pfm_arm_counters(pmu);
	if (cpumask_subset(cpu_possible_mask, &pmu->supported_cpus))
		event_type = event->pmu->type;
	perf_event_release_kernel(event);
	return n;
}

u64 lx_arch_thread_pointer(void)
{
	return read_sysreg(tpidr_el0);
}

const char *lx_arch_module(void)
{
	return is_pmuv3() ? "perfmon_armv8" : NULL;
}

/* --- the user's registers -------------------------------------------------------------------- */

bool lx_arch_is_64bit(struct pt_regs *regs)
{
	return !compat_user_mode(regs);
}

u64 lx_arch_frame_pointer(struct pt_regs *regs)
{
	return regs->regs[29];
}

uint16_t lx_arch_user_regs(struct pt_regs *regs, u64 *to)
{
	memcpy(to, regs->regs, sizeof(regs->regs));
	to[31] = regs->sp;
	to[32] = regs->pc;
	return LX_USER_REGS;
}
