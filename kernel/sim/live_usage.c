// SPDX-License-Identifier: MIT
/*
 * live_usage.c - reads the usage of a thread of the host: CPU time, page faults, context switches.
 * For the calling thread it is exact to the ns; for others it is read from /proc, which lags by a
 * tick. /proc finds threads by their ids; an event on the thread shows whether an id still belongs
 * to it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PFM_NO_MMAP_REDIRECT
#include "live.h"
#include "perf/perf.h"
#include <sys/mman.h>

/* Reads a file of /proc as text. Returns false if it does not exist or is empty. */
static bool read_proc(uint32_t pid, uint32_t tid, const char *name, char *text, size_t size)
{
	char path[80];

	snprintf(path, sizeof(path), "/proc/%u/task/%u/%s", pid, tid, name);
	return pfm_os_read(path, text, size);
}

static uint64_t status_field(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

/*
 * Numbers of fields in /proc/PID/stat (proc(5)). Those from the state (3) on follow the last
 * parenthesis.
 */
#define FIELD_STATE	3
#define FIELD_FLAGS	9
#define FIELD_MINFLT	10
#define FIELD_MAJFLT	12
#define FIELD_UTIME	14
#define FIELD_STIME	15
#define FIELD_START	22
#define FIELD_CPU	39
#define NUM_FIELDS	40
#define PF_EXITING	4	/* a bit of the flags */

static bool read_stat(uint32_t pid, uint32_t tid, uint64_t fields[NUM_FIELDS])
{
	char text[1024], *at;

	memset(fields, 0, NUM_FIELDS * sizeof(fields[0]));
	if (!read_proc(pid, tid, "stat", text, sizeof(text)))
		return false;
	at = strrchr(text, ')');
	if (!at || !at[1])
		return false;
	at += 2;
	fields[FIELD_STATE] = (uint64_t)*at++;
	for (int i = FIELD_STATE + 1; i < NUM_FIELDS; i++)
		fields[i] = strtoull(at, &at, 10);
	return true;
}

static uint64_t cpu_time(uint32_t pid, uint32_t tid, const uint64_t *fields)
{
	char text[128];

	if (read_proc(pid, tid, "schedstat", text, sizeof(text)))
		return strtoull(text, NULL, 10);
	return (fields[FIELD_UTIME] + fields[FIELD_STIME]) * (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK));
}

/*
 * Finds the process and user of a thread in /proc/TID/status, which exists even if the thread is
 * not the first of its process.
 */
static bool find_process(uint32_t tid, struct sim_usage *u)
{
	char path[40], text[2048];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%u", tid);
	if (stat(path, &st) || !read_proc(tid, tid, "status", text, sizeof(text)))
		return false;
	u->uid = st.st_uid;
	u->pid = (uint32_t)status_field(text, "\nTgid:");
	return u->pid;
}

static bool read_other(uint32_t tid, struct sim_usage *u)
{
	uint64_t fields[NUM_FIELDS];
	char text[2048];

	if (!read_stat(u->pid, tid, fields) || !read_proc(u->pid, tid, "status", text, sizeof(text)))
		return false;
	u->ns = cpu_time(u->pid, tid, fields);
	u->events[SIM_FOLLOW_MINOR] = fields[FIELD_MINFLT];
	u->events[SIM_FOLLOW_MAJOR] = fields[FIELD_MAJFLT];
	u->events[SIM_FOLLOW_SWITCHES] = status_field(text, "\nvoluntary_ctxt_switches:") +
					 status_field(text, "\nnonvoluntary_ctxt_switches:");
	u->started = fields[FIELD_START];
	u->cpu = (uint32_t)fields[FIELD_CPU];
	u->ending = fields[FIELD_FLAGS] & PF_EXITING;
	u->ended = fields[FIELD_STATE] == 'Z' || fields[FIELD_STATE] == 'X';
	return true;
}

bool sim_own_ns(uint64_t *ns)
{
	struct timespec t;

	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t))
		return false;
	*ns = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
	return true;
}

static void refine_self(struct sim_usage *u)
{
	struct rusage r;

	if (getrusage(RUSAGE_THREAD, &r) || !sim_own_ns(&u->ns))
		return;
	u->events[SIM_FOLLOW_MINOR] = (uint64_t)r.ru_minflt;
	u->events[SIM_FOLLOW_MAJOR] = (uint64_t)r.ru_majflt;
	u->events[SIM_FOLLOW_SWITCHES] = (uint64_t)(r.ru_nvcsw + r.ru_nivcsw);
	u->cpu = (uint32_t)sched_getcpu();
}

bool sim_usage_of(uint32_t pid, uint32_t tid, struct sim_usage *u)
{
	memset(u, 0, sizeof(*u));
	u->pid = pid;
	if ((!pid && !find_process(tid, u)) || !read_other(tid, u))
		return false;
	if (tid == (uint32_t)syscall(SYS_gettid))
		refine_self(u);
	return true;
}

/* --- does an id still belong to the thread? ------------------------------------------------- */

/*
 * Returns the size of a ring. The event needs a ring, because without one it always appears hung
 * up.
 */
static size_t ring_size(void)
{
	return 2 * (size_t)sysconf(_SC_PAGESIZE);
}

void sim_life_open(struct sim_follow *f, uint32_t pid, uint32_t tid)
{
	struct perf_event_attr attr;
	void *at;

	f->life = -1;
	if (pid == (uint32_t)getpid())
		return;
	perf_attr_dummy(&attr);
	attr.comm = 1;	/* records of exec(2) are written into the ring */
	f->life = perf_open_on(&attr, (int)tid, -1, -1);
	if (f->life < 0)
		return;
	at = mmap(NULL, ring_size(), PROT_READ | PROT_WRITE, MAP_SHARED, f->life, 0);
	if (at == MAP_FAILED)
		sim_life_close(f);
	else
		f->life_map = at;
}

/* In a child after fork the ring is not mapped, and life_map is NULL. */
void sim_life_close(struct sim_follow *f)
{
	if (f->life_map)
		munmap(f->life_map, ring_size());
	if (f->life >= 0)
		close(f->life);
	f->life_map = NULL;
	f->life = -1;
}

bool sim_life_ended(const struct sim_follow *f)
{
	return perf_hung_up(f->life);
}

/*
 * Looks for an exec(2) in the ring, which has only COMM records. If renames have filled the ring, a
 * later exec(2) is not noticed.
 */
bool sim_life_executed(const struct sim_follow *f)
{
	const struct perf_event_mmap_page *page = f->life_map;
	const char *records = (const char *)page + ring_size() / 2;
	uint64_t end = page ? __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE) : 0;
	const struct perf_event_header *record;

	for (uint64_t at = 0; at < end; at += record->size) {
		record = (const void *)(records + at);
		if (record->type == PERF_RECORD_COMM && record->misc & PERF_RECORD_MISC_COMM_EXEC)
			return true;
	}
	return false;
}
