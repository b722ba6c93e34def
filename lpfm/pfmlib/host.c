// SPDX-License-Identifier: MIT
/*
 * host.c - events that this computer's processor, or the hypervisor below it, does not implement.
 * Their counters would stay at 0, which would be a wrong count.
 */
#include "model.h"

#if defined(__aarch64__)
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define PMUS	"/sys/bus/event_source/devices"
#define COMMON	0x40	/* codes of the events that PMCEID0_EL0 and PMCEID1_EL0 have bits for */
#define NEWER	0x31	/* code of the first event that older kernels do not list */
#define SW_INCR	0x00	/* every processor has these two, and the kernel lists neither */
#define CHAIN	0x1e

static uint64_t implemented;

static void read_event(const char *pmu, const char *event)
{
	char path[512];
	unsigned int code;
	FILE *f;

	snprintf(path, sizeof(path), PMUS "/%s/events/%s", pmu, event);
	f = fopen(path, "re");
	if (f && fscanf(f, "event=%x", &code) == 1 && code < COMMON)
		implemented |= 1ULL << code;
	if (f)
		fclose(f);
}

/* Notes the common events that some processor here implements: the kernel lists no others. */
static void read_pmus(void)
{
	DIR *pmus = opendir(PMUS), *events;
	struct dirent *pmu, *event;
	char path[512];

	while (pmus && (pmu = readdir(pmus))) {
		snprintf(path, sizeof(path), PMUS "/%s/events", pmu->d_name);
		events = strncmp(pmu->d_name, "armv", 4) == 0 ? opendir(path) : NULL;
		while (events && (event = readdir(events)))
			read_event(pmu->d_name, event->d_name);
		if (events)
			closedir(events);
	}
	if (pmus)
		closedir(pmus);
	if (implemented)
		implemented |= 1ULL << SW_INCR | 1ULL << CHAIN;
}

bool pfl_host_lacks(uint64_t code)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_pmus);
	code &= 0xffff;
	return implemented && code < (implemented >> NEWER ? COMMON : NEWER) && !(implemented >> code & 1);
}

#elif defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

#define PERFMON_LEAF	0xa

/* Intel's architectural events, event and unit mask, in the order of their bits in CPUID.0AH:EBX */
static const uint16_t architectural[] = { 0x003c, 0x00c0, 0x013c, 0x4f2e, 0x412e, 0x00c4, 0x00c5 };

bool pfl_host_lacks(uint64_t code)
{
	unsigned int eax, ebx, ecx, edx;

	if (!__get_cpuid_count(PERFMON_LEAF, 0, &eax, &ebx, &ecx, &edx))
		return false;
	for (unsigned int i = 0; i < PFL_COUNT(architectural) && i < eax >> 24; i++)
		if (architectural[i] == (code & 0xffff))
			return ebx >> i & 1;
	return false;
}

#else

bool pfl_host_lacks(uint64_t code)
{
	(void)code;
	return false;
}
#endif
