// SPDX-License-Identifier: MIT
/*
 * thread.c - threads that enter regions: their contexts, records and ends, and their state after
 * fork().
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interpose.h"
#include "regions.h"

struct thread regions_nobody, regions_deaf;
__thread struct thread *regions_self __attribute__((tls_model("initial-exec"))) = &regions_nobody;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct thread *threads;
static pthread_key_t at_end;

/*
 * Names of regions, by id - 1. They are copies, because the shared object that contains the name
 * may be unloaded.
 */
static char (*names)[sizeof(((struct record *)0)->name)];
static unsigned int num_names;

/* Names of the regions in which the parent's thread was when it called fork(). */
static char (*parents)[sizeof(((struct record *)0)->name)];
static unsigned int num_parents;

void regions_enter(void)
{
	pthread_mutex_lock(&lock);
}

void regions_leave(void)
{
	pthread_mutex_unlock(&lock);
}

/* --- a thread's end --------------------------------------------------------------------------- */

/*
 * Returns true if view.fd is still the descriptor of the thread's context. The program may have
 * closed it, and the number may be that of another file by now.
 */
static bool has_own_file(const struct thread *t)
{
	struct stat st;

	return !fstat(t->view.fd, &st) && st.st_dev == t->dev && st.st_ino == t->ino;
}

static void forget(struct thread *t)
{
	struct thread **link = &threads;

	while (*link != t)
		link = &(*link)->next;
	*link = t->next;
	pfm_unmap_set(&t->view);
	if (has_own_file(t))
		close(t->view.fd);
	for (unsigned int i = 0; i < t->num_blocks; i++)
		regions_drop_block(t->blocks[i]);
	free(t->blocks);
	free(t->records);
	free(t);
}

/*
 * Ends a thread's measurement, and the regions that it is in. Called at the end of the thread, or
 * when its file is no longer in use.
 */
static void finish(void *thread)
{
	uint64_t now[REGIONS_COUNTERS];
	pfarg_setinfo_t info = { 0 };
	struct thread *t = thread;
	struct record *rec = t->top;
	int ret = rec ? regions_read(t, now) : 0;

	for (; rec; rec = rec->outer) {
		rec->unfinished += rec->inside;
		rec->calls += rec->inside - 1;
		regions_add(t, rec, ret < 0 ? NULL : now);
	}
	for (unsigned int i = 0; i < t->num_blocks; i++)
		t->blocks[i]->ended = 1;
	if (pfm_getinfo_evtsets(t->view.fd, &info, 1))
		t->ino = 0;	/* the program has closed the descriptor */
	regions_enter();
	forget(t);
	regions_leave();
	pthread_setspecific(at_end, NULL);
	/* other destructors that run later may enter regions again */
	regions_self = &regions_nobody;
}

void regions_finish(bool all)
{
	struct thread *t = regions_self;

	if (t != &regions_nobody && t != &regions_deaf && (all || t->stale))
		finish(t);
	if (all)
		regions_self = &regions_nobody;
}

/*
 * known is set to 0, so that each thread looks for its record at its next mark, and finds that its
 * measurement has ended.
 */
void regions_retire(void)
{
	for (struct thread *t = threads; t; t = t->next) {
		t->stale = true;
		__atomic_store_n(&t->known, 0, __ATOMIC_RELEASE);
	}
}

/* Called by exit(). Threads that still run are not touched. */
static __attribute__((destructor)) void at_exit(void)
{
	if (regions_self != &regions_nobody && regions_self != &regions_deaf)
		finish(regions_self);
	regions_self = &regions_deaf;
}

/* --- fork ------------------------------------------------------------------------------------- */

/*
 * Remembers in a child the regions that the forking thread was in. If that thread had entered none
 * since it was forked itself, the list of its own parent's regions is kept.
 */
static void remember_parents(const struct thread *t)
{
	unsigned int n = 0;

	if (t == &regions_nobody || t == &regions_deaf)
		return;
	for (const struct record *rec = t->top; rec; rec = rec->outer)
		n++;
	free(parents);
	parents = n ? calloc(n, sizeof(*parents)) : NULL;
	num_parents = 0;
	for (const struct record *rec = t->top; rec && parents; rec = rec->outer)
		memcpy(parents[num_parents++], rec->name, sizeof(*parents));
}

/* Drops the contexts and records in a child, because they belong to the parent's threads. */
static void after_fork_child(void)
{
	remember_parents(regions_self);
	pthread_setspecific(at_end, NULL);
	while (threads)
		forget(threads);
	if (regions_self != &regions_deaf)
		regions_self = &regions_nobody;
	pthread_mutex_unlock(&lock);
}

bool regions_was_parents(const char *name)
{
	bool was = false;

	regions_enter();
	for (unsigned int i = 0; i < num_parents && !was; i++) {
		was = !strcmp(parents[i], name);
		if (was)
			memmove(parents[i], parents[--num_parents], sizeof(*parents));
	}
	regions_leave();
	return was;
}

/* --- a thread's beginning --------------------------------------------------------------------- */

/*
 * Called before the program closes descriptors, which may include those of this library. When the
 * last descriptor of a context is closed, its view may be unmapped. So an empty page is mapped in
 * its place: a thread that reads it makes a system call, which reports why it fails. The lock is
 * only tried, because this library itself closes descriptors under it.
 */
static void before_close(unsigned int first, unsigned int last)
{
	if (pthread_mutex_trylock(&lock))
		return;
	for (struct thread *t = threads; t; t = t->next)
		if ((unsigned int)t->view.fd >= first && (unsigned int)t->view.fd <= last && has_own_file(t))
			mmap((void *)(uintptr_t)t->view.page, (size_t)sysconf(_SC_PAGESIZE), PROT_READ,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	pthread_mutex_unlock(&lock);
}

static bool prepared;

/*
 * Prepares the process when its first context exists. The fork handlers are registered after those
 * of libperfmon, so in a child libperfmon forgets its contexts before this library does.
 */
static void prepare_process(void)
{
	if (prepared)
		return;
	prepared = !pthread_key_create(&at_end, finish);
	if (!prepared)
		return;
	pfm_on_closing(before_close);
	pthread_atfork(regions_enter, regions_leave, after_fork_child);
}

static int program(int fd)
{
	pfarg_pmd_t pmds[REGIONS_COUNTERS] = { { 0 } };
	pfarg_pmc_t pmcs[4 * REGIONS_COUNTERS];
	pfarg_load_t load = { .load_pid = (uint32_t)syscall(SYS_gettid) };

	memcpy(pmcs, regions_plan.pmcs, sizeof(pmcs));
	for (int i = 0; i < regions_plan.num_pmds; i++)
		pmds[i].reg_num = regions_plan.pmds[i];
	return pfm_write_pmcs(fd, pmcs, regions_plan.num_pmcs) || pfm_write_pmds(fd, pmds, regions_plan.num_pmds) ||
	       pfm_load_context(fd, &load) || pfm_start(fd, NULL) ? -1 : 0;
}

/*
 * Makes and starts a context for the calling thread, and maps its view. After a failure the reason
 * is in why.
 */
static bool count(struct thread *t, char *why, size_t size)
{
	pfarg_ctx_t ctx = { .ctx_flags = PFM_FL_MAP_SETS };
	int fd = pfm_create_context(&ctx, NULL, NULL, 0);
	struct stat st;

	if (fd >= 0 && !program(fd) && !pfm_map_set(fd, 0, &t->view) && !fstat(fd, &st)) {
		t->dev = st.st_dev;
		t->ino = st.st_ino;
		t->n = regions_plan.num_pmds;
		t->seq = 1;
		memcpy(t->nums, regions_plan.pmds, sizeof(t->nums));
		return true;
	}
	snprintf(why, size, "%s", pfm_explain());
	if (fd >= 0)
		close(fd);
	return false;
}

static bool add_block(struct thread *t)
{
	struct block **more = realloc(t->blocks, (t->num_blocks + 1) * sizeof(*more)), *block;

	if (!more)
		return false;
	t->blocks = more;
	block = regions_take_block(t->num_blocks ? more[0]->owner : 0);
	if (!block)
		return false;
	t->block = more[t->num_blocks++] = block;
	t->block->pid = (uint32_t)getpid();
	t->block->tid = (uint32_t)syscall(SYS_gettid);
	t->block->hz = regions_hz();
	t->block->ticks = regions_ticks();
	t->block->ns = regions_clock();
	prctl(PR_GET_NAME, t->block->comm);
	return true;
}

static struct thread *new_thread(void)
{
	struct thread *t = calloc(1, sizeof(*t));
	char why[160];

	if (!t || !count(t, why, sizeof(why))) {
		regions_lose(t ? why : strerror(ENOMEM));
		free(t);
		return NULL;
	}
	prepare_process();
	t->next = threads;
	threads = t;
	if (!prepared || !add_block(t) || pthread_setspecific(at_end, t)) {
		regions_lose(strerror(errno));
		forget(t);
		return NULL;
	}
	return t;
}

struct thread *regions_thread(void)
{
	if (regions_self == &regions_nobody)
		regions_self = pfm_regions_on ? new_thread() : &regions_nobody;
	if (!regions_self)
		regions_self = &regions_deaf;
	return regions_self == &regions_nobody || regions_self == &regions_deaf ? NULL : regions_self;
}

/* --- records ---------------------------------------------------------------------------------- */

/* Returns the id of a region's name; 0 if there is no memory. */
static unsigned int id_of(const char *name)
{
	char key[sizeof(*names)] = "";
	void *more;

	strncpy(key, name ? name : "", sizeof(key) - 1);
	for (unsigned int i = 0; i < num_names; i++)
		if (!strcmp(names[i], key))
			return i + 1;
	more = realloc(names, (num_names + 1) * sizeof(*names));
	if (!more)
		return 0;
	names = more;
	memcpy(names[num_names], key, sizeof(key));
	return ++num_names;
}

static bool know(struct thread *t, unsigned int id)
{
	struct record **more;

	if (id <= t->known)
		return true;
	more = realloc(t->records, id * sizeof(*more));
	if (!more)
		return false;
	memset(more + t->known, 0, (id - t->known) * sizeof(*more));
	t->records = more;
	t->known = id;
	return true;
}

struct record *regions_record(struct thread *t, struct pfm_region *r)
{
	unsigned int id = __atomic_load_n(&r->id, __ATOMIC_RELAXED);
	struct record *rec;

	if (!id)
		__atomic_store_n(&r->id, id = id_of(r->name), __ATOMIC_RELAXED);
	if (!id || !know(t, id) || (t->block->used == RECORDS && !t->records[id - 1] && !add_block(t))) {
		if (!t->full)
			regions_lose(strerror(errno));
		t->full = true;
		return NULL;
	}
	if (t->records[id - 1])
		return t->records[id - 1];
	rec = (struct record *)(t->block + 1) + t->block->used;
	memcpy(rec->name, names[id - 1], sizeof(rec->name));
	__atomic_store_n(&t->block->used, t->block->used + 1, __ATOMIC_RELEASE);
	return t->records[id - 1] = rec;
}

void regions_break(struct thread *t)
{
	t->n = 0;
	snprintf(t->blocks[0]->why, sizeof(t->blocks[0]->why), "%s", pfm_explain());
}

void regions_add(struct thread *t, struct record *rec, const uint64_t *values)
{
	if (!values)
		regions_break(t);
	rec->ticks += regions_ticks() - rec->began;
	for (int i = 0; i < t->n; i++)
		rec->sum[i] += values[i] - rec->start[i];
	rec->calls++;
	rec->inside = 0;
}
