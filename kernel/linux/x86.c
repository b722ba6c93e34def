// SPDX-License-Identifier: GPL-2.0
/*
 * x86.c - software counters only: perf chooses a counter for each event by what it counts, and has
 * interrupts that cannot be held off; its events cannot be reprogrammed where they are.
 */
#include "linux.h"

unsigned int lx_arch_counters(void)
{
	return 0;
}

const char *lx_arch_module(void)
{
	return NULL;
}

u64 lx_arch_config(u16 num)
{
	return 0;
}

bool lx_arch_counts(u64 pmc)
{
	return false;
}

bool lx_arch_kernel(u64 pmc)
{
	return false;
}

int lx_arch_program(struct perf_event *event, u16 num, u64 pmc)
{
	return -EOPNOTSUPP;
}

void lx_arch_restart(struct perf_event *event)
{
}

u64 lx_arch_count(const struct perf_event *event)
{
	return local64_read(&event->count);
}
