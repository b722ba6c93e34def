// SPDX-License-Identifier: MIT
/* thread.c - facts about threads, from /proc: process, start, end, CPU time. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "object.h"

/* Reads the file's text; false: it cannot be read. */
static bool slurp(char *text, size_t size, pid_t tid, const char *name)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, size - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/*
 * Reads the state and the start time in ticks: fields 3 and 22. The name before them may contain
 * anything.
 */
static bool stat_of(pid_t tid, char *state, uint64_t *born)
{
	char text[1024], *p;

	if (!slurp(text, sizeof(text), tid, "stat"))
		return false;
	p = strrchr(text, ')');
	if (!p || p[1] != ' ')
		return false;
	*state = p[2];
	p += 2;
	for (int field = 3; field < 22 && p; field++)
		p = strchr(p + 1, ' ');
	*born = p ? strtoull(p, NULL, 10) : 0;
	return p;
}

/*
 * Returns true for a simulated computer that does not follow real threads. Its threads have ids of
 * their own.
 */
static bool is_simulated(const pfm_machine_info_t *info)
{
	return !strncmp(info->name, "sim", 3) && !strstr(info->name, ",live");
}

int perfctr_thread_find(struct vperfctr *v)
{
	char text[2048], *tgid, state;
	pfm_machine_info_t info;

	if (pfm_get_machine(&info))
		return perfctr_failed();
	if (is_simulated(&info))
		return 0;
	if (!slurp(text, sizeof(text), v->tid, "status") || !stat_of(v->tid, &state, &v->born)) {
		if (v->tid <= 0 || (kill(v->tid, 0) && errno != EPERM))
			return perfctr_refuse(-ESRCH, "there is no thread %d", v->tid);
		return perfctr_refuse(-EPERM, "thread %d is hidden (/proc is mounted with hidepid)", v->tid);
	}
	tgid = strstr(text, "\nTgid:");
	v->tgid = tgid ? atoi(tgid + 6) : 0;
	return 0;
}

bool perfctr_thread_ended(const struct vperfctr *v)
{
	uint64_t born;
	char state;

	if (!v->tgid)
		return false;
	return !stat_of(v->tid, &state, &born) || born != v->born || state == 'Z' || state == 'X';
}

/*
 * The clock of a thread of another process cannot be read. Its CPU time is read from /proc, where
 * it is up to date only while the thread does not run.
 */
uint64_t perfctr_thread_clock(const struct vperfctr *v)
{
	/* the clock CLOCK_THREAD_CPUTIME_ID of a given thread, as the kernel encodes it */
	const unsigned int per_thread = 6;
	struct timespec t;
	char text[128];

	if (!v->tgid)
		return 0;
	if (v->tgid == getpid() && !clock_gettime((clockid_t)(~(unsigned int)v->tid << 3 | per_thread), &t))
		return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
	return slurp(text, sizeof(text), v->tid, "schedstat") ? strtoull(text, NULL, 10) : 0;
}
