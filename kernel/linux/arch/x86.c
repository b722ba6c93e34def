// SPDX-License-Identifier: GPL-2.0
/*
 * x86.c - programming the events of perf's PMU driver for x86.
 *
 * The driver gives an event a counter when it is scheduled in, by what it counts then, and writes the
 * event's hw.config to that counter at each start. What it counts may thus change while it is stopped, on any
 * counter that counts all events; pfm_x86_config() sees to it that it is on none of fixed function.
 *
 * Known to compile, to load, and to find no PMU where there is none: no machine with one has run it yet.
 */
#include <asm/cpufeature.h>
#include <asm/perf_event.h>
#include <asm/processor.h>

#include "linux.h"
#include "x86.h"

static bool is_intel(void)
{
	return boot_cpu_data.x86_vendor != X86_VENDOR_AMD && boot_cpu_data.x86_vendor != X86_VENDOR_HYGON;
}

/* Of two kinds of cores with PMUs of their own, neither is described. */
unsigned int lx_arch_counters(void)
{
	struct x86_pmu_capability cap;

	if (cpu_feature_enabled(X86_FEATURE_HYBRID_CPU))
		return 0;
	perf_get_x86_pmu_capability(&cap);
	return cap.version ? cap.num_counters_gp : 0;
}

const char *lx_arch_module(void)
{
	return lx_arch_counters() ? "perfmon_x86" : NULL;
}

u32 lx_arch_type(void)
{
	return PERF_TYPE_RAW;
}

/* Any event will do that all counters count: no level is set yet. */
u64 lx_arch_config(u16 num)
{
	return pfm_x86_config(is_intel() ? PFM_X86_CYCLES_INTEL : PFM_X86_CYCLES_AMD, is_intel()) &
	       X86_RAW_EVENT_MASK;
}

bool lx_arch_counts(u64 pmc)
{
	return pmc & (PFM_X86_USR | PFM_X86_OS);
}

bool lx_arch_kernel(u64 pmc)
{
	return pmc & PFM_X86_OS;
}

int lx_arch_program(struct perf_event *event, u16 num, u64 pmc)
{
	if (lx_on_cpu(event) && event->hw.idx >= INTEL_PMC_IDX_FIXED)
		return pfm_refuse(-EBUSY, "PMC%u: the kernel has it on a counter of fixed function", num);
	event->hw.config = pfm_x86_config(pmc, is_intel());
	return 0;
}

/* An NMI may come in between: the driver's own update is made for that. */
u64 lx_arch_count(const struct perf_event *event)
{
	if (!(event->hw.state & PERF_HES_STOPPED))
		event->pmu->read((struct perf_event *)event);
	return local64_read(&event->count);
}

/* The driver starts only what is stopped. */
void lx_arch_restart(struct perf_event *event)
{
	event->pmu->stop(event, PERF_EF_UPDATE);
	event->pmu->start(event, PERF_EF_RELOAD);
}
