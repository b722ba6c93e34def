// SPDX-License-Identifier: MIT
/*
 * hw.c - the hardware counters: turns a PMC's value, in the processor's format, into a raw event.
 */
#include <unistd.h>

#include "perf.h"

#ifdef __aarch64__
const uint64_t perf_user_read = 2;
#else
const uint64_t perf_user_read;
#endif

#if defined(__x86_64__) || defined(__i386__)

#include <cpuid.h>

#include "x86.h"

/*
 * Makes an event that no fixed-function counter can count, to find the number of programmable
 * counters.
 */
static void probe_event(struct perf_event_attr *attr)
{
	bool intel = perf_hw_pmu() == &pfm_pmu_x86_intel;

	attr->type = PERF_TYPE_RAW;
	attr->config = intel ? PFM_X86_CYCLES_INTEL | PFM_X86_INV : PFM_X86_CYCLES_AMD;
}

const struct pfm_pmu *perf_hw_pmu(void)
{
	static const char amd[] = "AuthenticAMD", hygon[] = "HygonGenuine";
	unsigned int eax, id[3];

	if (!__get_cpuid(0, &eax, &id[0], &id[2], &id[1]))
		return NULL;
	if (!memcmp(id, amd, sizeof(id)) || !memcmp(id, hygon, sizeof(id)))
		return &pfm_pmu_x86_amd;
	return &pfm_pmu_x86_intel;
}

/*
 * EN, INT and PC of the PMC are ignored, because the kernel sets them. A PMC with a privilege level
 * counts even if EN is 0.
 */
bool perf_hw_plan(struct perf_plan *plan, uint16_t pmc, uint64_t value)
{
	(void)pmc;
	plan->no_user = !(value & PFM_X86_USR);
	plan->no_kernel = !(value & PFM_X86_OS);
	plan->config = value & ~(PFM_X86_USR | PFM_X86_OS | PFM_X86_PC | PFM_X86_INT | PFM_X86_EN);
	return !plan->no_user || !plan->no_kernel;
}

#elif defined(__aarch64__)

#include "models.h"

static void probe_event(struct perf_event_attr *attr)
{
	attr->type = PERF_TYPE_HARDWARE;
	attr->config = PERF_COUNT_HW_INSTRUCTIONS;
}

#define NO_EL1	(1ULL << 31)
#define NO_EL0	(1ULL << 30)
#define CYCLES	31	/* the PMC of the cycle counter, which counts cycles only */
#define CPU_CYCLES 0x11

const struct pfm_pmu *perf_hw_pmu(void)
{
	return &pfm_pmu_armv8;
}

bool perf_hw_plan(struct perf_plan *plan, uint16_t pmc, uint64_t value)
{
	plan->no_user = !!(value & NO_EL0);
	plan->no_kernel = !!(value & NO_EL1);
	plan->config = pmc == CYCLES ? CPU_CYCLES : value & 0xffff;
	return !plan->no_user || !plan->no_kernel;
}

#else

static void probe_event(struct perf_event_attr *attr)
{
	attr->type = PERF_TYPE_HARDWARE;
	attr->config = PERF_COUNT_HW_INSTRUCTIONS;
}

const struct pfm_pmu *perf_hw_pmu(void)
{
	return NULL;
}

bool perf_hw_plan(struct perf_plan *plan, uint16_t pmc, uint64_t value)
{
	(void)plan, (void)pmc, (void)value;
	return false;
}

#endif

/*
 * Returns the number of counters. It is found by opening one group with more and more events: the
 * kernel refuses an event with which the group could not be on the PMU as a whole.
 */
unsigned int perf_hw_probe(void)
{
	struct perf_event_attr attr;
	int fds[PERF_MAX_COUNTERS];
	unsigned int n = 0;

	perf_attr_dummy(&attr);
	probe_event(&attr);
	attr.disabled = 1;
	while (n < PERF_MAX_COUNTERS && (fds[n] = perf_open(&attr, 0, -1, n ? fds[0] : -1)) >= 0) {
		attr.disabled = 0;
		n++;
	}
	for (unsigned int i = n; i-- > 0;)
		perf_close(fds[i]);
	return n;
}
