// SPDX-License-Identifier: MIT
/*
 * live_usage.c - reads the usage of a thread of the host: CPU time, page faults, context switches.
 * For the calling thread it is exact to the ns; for others it is read from /proc, which lags by a
 * tick, and from events on the thread, which tell its last usage after /proc has forgotten it.
 * /proc finds threads by their ids; an event shows whether an id still belongs to the thread.
 */
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

/* Returns false if the thread has gone since its stat was read: then it has no schedstat either. */
static bool cpu_time(uint32_t pid, uint32_t tid, const uint64_t *fields, uint64_t *ns)
{
	char text[128];

	if (read_proc(pid, tid, "schedstat", text, sizeof(text))) {
		*ns = strtoull(text, NULL, 10);
		return true;
	}
	*ns = (fields[FIELD_UTIME] + fields[FIELD_STIME]) * (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK));
	return access("/proc/self/schedstat", F_OK) < 0;	/* the kernel has no schedstat */
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

	if (!read_stat(u->pid, tid, fields) || !read_proc(u->pid, tid, "status", text, sizeof(text)) ||
	    !cpu_time(u->pid, tid, fields, &u->ns))
		return false;
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

/* --- events on the thread ------------------------------------------------------------------- */

#define COUNTS	(1 + SIM_FOLLOWED)	/* the CPU time, and each kind of event */
#define LAG_NS	10000000

static const uint64_t counted[SIM_FOLLOWED] = {
	[SIM_FOLLOW_MINOR] = PERF_COUNT_SW_PAGE_FAULTS_MIN,
	[SIM_FOLLOW_MAJOR] = PERF_COUNT_SW_PAGE_FAULTS_MAJ,
	[SIM_FOLLOW_SWITCHES] = PERF_COUNT_SW_CONTEXT_SWITCHES,
};

/*
 * Returns the size of a ring. The event needs a ring, because without one it always appears hung
 * up.
 */
static size_t ring_size(void)
{
	return 2 * (size_t)sysconf(_SC_PAGESIZE);
}

/* If the kernel permits no events in the kernel, those at user level are counted. */
static int open_event(int leader, uint32_t tid, uint64_t config)
{
	struct perf_event_attr attr;
	int fd;

	perf_attr_dummy(&attr);
	attr.config = config;
	attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	attr.comm = leader < 0;	/* records of exec(2) are written into the ring of the leader */
	attr.exclude_kernel = 0;
	fd = perf_open_on(&attr, (int)tid, -1, leader);
	if (fd >= 0 || (errno != EACCES && errno != EPERM))
		return fd;
	attr.exclude_kernel = 1;
	return perf_open_on(&attr, (int)tid, -1, leader);
}

void sim_life_open(struct sim_follow *f, uint32_t tid)
{
	void *at;

	f->num_counts = 0;
	f->life = open_event(-1, tid, PERF_COUNT_SW_DUMMY);
	if (f->life < 0)
		return;
	at = mmap(NULL, ring_size(), PROT_READ | PROT_WRITE, MAP_SHARED, f->life, 0);
	if (at == MAP_FAILED) {
		sim_life_close(f);
		return;
	}
	f->life_map = at;
	for (; f->num_counts < SIM_FOLLOWED; f->num_counts++) {
		f->counts[f->num_counts] = open_event(f->life, tid, counted[f->num_counts]);
		if (f->counts[f->num_counts] < 0)
			break;
	}
	f->missed[0] = (int64_t)f->seen_ns;
	for (int k = 0; k < SIM_FOLLOWED; k++)
		f->missed[1 + k] = (int64_t)f->seen[k];
}

/* In a child after fork the ring is not mapped, and life_map is NULL. */
void sim_life_close(struct sim_follow *f)
{
	if (f->life_map)
		munmap(f->life_map, ring_size());
	while (f->num_counts)
		close(f->counts[--f->num_counts]);
	if (f->life >= 0)
		close(f->life);
	f->life_map = NULL;
	f->life = -1;
}

/* Reads what the events on the real thread have counted. */
static bool read_counts(const struct sim_follow *f, uint64_t counts[COUNTS])
{
	uint64_t words[4 + SIM_FOLLOWED] = { 0 }; /* number, time enabled, time running, counts */

	if (f->life < 0 || perf_read_group(f->life, words, sizeof(words)) <= 0)
		return false;
	counts[0] = words[2];
	memcpy(counts + 1, words + 4, SIM_FOLLOWED * sizeof(words[0]));
	return true;
}

/*
 * The events do not count what was before them, context switches themselves, or in the kernel if it
 * forbids that. But their clock may run on while a hypervisor has taken the CPU away, and the CPU
 * time in /proc lags by a tick of at most LAG_NS.
 */
void sim_life_compare(struct sim_follow *f, const struct sim_usage *u)
{
	uint64_t counts[COUNTS];
	int64_t more;

	if (!read_counts(f, counts))
		return;
	for (int k = 0; k < COUNTS; k++) {
		more = (int64_t)((k ? u->events[k - 1] : u->ns) - counts[k]);
		if (f->missed[k] < more)
			f->missed[k] = more;
		if (!k && f->missed[k] > more + LAG_NS)
			f->missed[k] = more + LAG_NS;
	}
}

void sim_life_last(const struct sim_follow *f, struct sim_usage *u)
{
	uint64_t counts[COUNTS];

	if (!read_counts(f, counts))
		return;
	u->ns = counts[0] + (uint64_t)f->missed[0];
	for (int k = 0; k < SIM_FOLLOWED; k++)
		u->events[k] = counts[1 + k] + (uint64_t)f->missed[1 + k];
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
