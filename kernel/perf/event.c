// SPDX-License-Identifier: MIT
/* event.c - perf_event_open(2), and the system calls on its descriptors. */
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "perf.h"

#ifndef PERF_FORMAT_LOST
#define PERF_FORMAT_LOST (1U << 4)
#endif

bool perf_format_lost;

/* Sets the attributes that all events have. Events that share a ring must use the same clock. */
static void common(struct perf_event_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->size = sizeof(*attr);
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
	attr->sample_type = PERF_SAMPLE_IDENTIFIER;
	attr->read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED |
			    PERF_FORMAT_TOTAL_TIME_RUNNING;
	if (perf_format_lost)
		attr->read_format |= PERF_FORMAT_LOST;
}

/*
 * PERF_SAMPLE_PERIOD must not be requested for an event with a fixed period: the kernel would make
 * a software event overflow each time it happens.
 */
#define SAMPLE_TYPE (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | \
		     PERF_SAMPLE_CPU | PERF_SAMPLE_READ)

void perf_attr_init(struct perf_event_attr *attr, const struct perf_plan *plan)
{
	common(attr);
	attr->type = plan->type;
	attr->config = plan->config;
	attr->exclude_user = plan->no_user;
	attr->exclude_kernel = attr->exclude_hv = plan->no_kernel;
	attr->exclude_idle = plan->no_idle;
	attr->config1 = plan->config1 | (plan->viewed ? perf_user_read : 0);
	attr->config2 = plan->config2;
	attr->sample_type = SAMPLE_TYPE;
	if (!plan->sampling)
		return;
	attr->wakeup_events = plan->prompt;
	attr->watermark = !plan->prompt;
}

/*
 * A dummy event counts nothing: it owns a ring, or measures a target's run time and notices its
 * end.
 */
void perf_attr_dummy(struct perf_event_attr *attr)
{
	common(attr);
	attr->type = PERF_TYPE_SOFTWARE;
	attr->config = PERF_COUNT_SW_DUMMY;
	attr->exclude_kernel = attr->exclude_hv = 1;
}

/* --- descriptors of events ------------------------------------------------------------------- */

#define NUMBERS	65536	/* events with higher descriptors stay open in children of fork() */

/* bit n: descriptor n is an event that this library has opened */
static _Atomic uint64_t opened[NUMBERS / 64];

static int note(int fd)
{
	if (fd >= 0 && fd < NUMBERS)
		atomic_fetch_or(&opened[fd / 64], 1ULL << fd % 64);
	return fd;
}

void perf_forget(int fd)
{
	if (fd >= 0 && fd < NUMBERS)
		atomic_fetch_and(&opened[fd / 64], ~(1ULL << fd % 64));
}

void perf_close(int fd)
{
	perf_forget(fd);
	close(fd);
}

/* Returns false if the program has closed the descriptor, and something else has its number. */
static bool is_event(int fd)
{
	static const char event[] = "anon_inode:[perf_event]";
	char path[32], text[sizeof(event)];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return readlink(path, text, sizeof(text)) == sizeof(event) - 1 && !memcmp(text, event, sizeof(event) - 1);
}

void perf_close_all(void)
{
	for (int i = 0; i < NUMBERS / 64; i++)
		for (uint64_t bits = opened[i] ? atomic_exchange(&opened[i], 0) : 0; bits; bits &= bits - 1) {
			int fd = i * 64 + __builtin_ctzll(bits);

			if (is_event(fd))
				close(fd);
		}
}

int perf_open(struct perf_event_attr *attr, int pid, int cpu, int group)
{
	unsigned long flags = PERF_FLAG_FD_CLOEXEC | (pid >= 0 && cpu >= 0 ? PERF_FLAG_PID_CGROUP : 0);

	return note((int)syscall(SYS_perf_event_open, attr, pid, cpu, group, flags));
}

int perf_open_on(struct perf_event_attr *attr, int tid, int cpu, int leader)
{
	return note((int)syscall(SYS_perf_event_open, attr, tid, cpu, leader, PERF_FLAG_FD_CLOEXEC));
}

int perf_ioctl(int fd, unsigned long request, uint64_t arg)
{
	return ioctl(fd, request, arg);
}

int perf_set_filter(int fd, const char *filter)
{
	return ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter);
}

int perf_set_period(int fd, uint64_t period)
{
	return ioctl(fd, PERF_EVENT_IOC_PERIOD, &period);
}

int perf_event_id(int fd, uint64_t *id)
{
	return ioctl(fd, PERF_EVENT_IOC_ID, id);
}

ssize_t perf_read_group(int fd, uint64_t *words, size_t size)
{
	ssize_t got;

	do
		got = read(fd, words, size);
	while (got < 0 && errno == ECHILD);
	return got;
}

bool perf_hung_up(int fd)
{
	struct pollfd p = { .fd = fd };

	return poll(&p, 1, 0) == 1 && (p.revents & (POLLHUP | POLLERR));
}
