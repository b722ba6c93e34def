/* SPDX-License-Identifier: MIT */
/*
 * steady.c - stays behind with a software event of every kind, until the machine goes down.
 *
 * The first event of a kind makes the kernel change its own code, and so does the end of the last. Where qemu
 * has a host thread for each of several emulated processors, one that is on the breakpoint put there meanwhile
 * may meet it for ever: perf_event_open and close of page faults, over and over beside programs that fault,
 * stop the machine within seconds, without perfmon. With this program nothing is changed any more.
 */
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_events(void)
{
	static const unsigned int kinds[] = {
		PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_CONTEXT_SWITCHES, PERF_COUNT_SW_CPU_MIGRATIONS,
		PERF_COUNT_SW_PAGE_FAULTS_MIN, PERF_COUNT_SW_PAGE_FAULTS_MAJ, PERF_COUNT_SW_ALIGNMENT_FAULTS,
		PERF_COUNT_SW_EMULATION_FAULTS,
	};
	struct perf_event_attr attr = { .size = sizeof(attr), .type = PERF_TYPE_SOFTWARE };

	for (unsigned int i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		attr.config = kinds[i];
		if (syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0) < 0) {
			perror("steady: perf_event_open");
			return 1;
		}
	}
	return 0;
}

int main(void)
{
	int ends[2];
	char c;

	if (pipe(ends))
		return 1;
	if (!fork()) {
		if (open_events())
			return 1;
		(void)!write(ends[1], "", 1);
		for (;;)
			pause();
	}
	close(ends[1]);
	return read(ends[0], &c, 1) != 1;
}
