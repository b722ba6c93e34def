// SPDX-License-Identifier: MIT
/* concurrent_files.c - files of contexts: references, the list of the attached ones, messages. */
#include <stdlib.h>

#include "concurrent.h"

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct file *files[NUM_FILES];
static pthread_mutex_t watch_lock = PTHREAD_MUTEX_INITIALIZER;
/* all files, also those that are not published in files[] yet */
static struct file *watched[NUM_FILES + NUM_COMMANDERS + NUM_CHILD_CTXS];
static unsigned int num_watched, num_child_ctxs;

struct file *file_new(void)
{
	struct file *f = calloc(1, sizeof(*f));

	CHECK(f, "no memory for a file");
	pthread_mutex_init(&f->lock, NULL);
	pthread_mutex_init(&f->pmu, NULL);
	pthread_mutex_init(&f->read_lock, NULL);
	atomic_init(&f->refs, 1);
	return f;
}

void file_put(struct file *f)
{
	struct file *root = f->root;

	if (atomic_fetch_sub(&f->refs, 1) > 1)
		return;
	pthread_mutex_destroy(&f->lock);
	pthread_mutex_destroy(&f->pmu);
	pthread_mutex_destroy(&f->read_lock);
	free(f);
	if (root)
		file_put(root);
}

struct file *file_get(unsigned int at)
{
	struct file *f;

	pthread_mutex_lock(&table_lock);
	f = files[at];
	if (f)
		atomic_fetch_add(&f->refs, 1);
	pthread_mutex_unlock(&table_lock);
	return f;
}

bool file_publish(unsigned int at, struct file *f)
{
	bool is_free;

	pthread_mutex_lock(&table_lock);
	is_free = !files[at];
	if (is_free)
		files[at] = f;
	pthread_mutex_unlock(&table_lock);
	return is_free;
}

/* Checks that a buffer's parts together counted each overflow: threads lost none to each other. */
static void check_judged(struct file *f)
{
	unsigned long sum = 0;

	if (!f->tally || pfm_loaded(f->ctx))
		return;
	for (unsigned int i = 0; i < f->ctx->num_parts; i++)
		sum += *(uint64_t *)f->ctx->parts[i].buf;
	CHECK(!f->ctx->num_parts || sum == f->judged, "the parts have %lu overflows of %lu", sum,
	      (unsigned long)f->judged);
	atomic_fetch_add(&tally.sampled, sum);
}

/* The last close; other threads may be waiting for the file's lock. */
void file_release(struct file *f)
{
	pthread_mutex_lock(&f->lock);
	if (pfm_loaded(f->ctx))
		pfm_do_unload(f->ctx);
	check_judged(f);
	pfm_do_close(f->ctx);
	f->ctx = NULL;
	pthread_mutex_unlock(&f->lock);
	file_take_messages(f, QUEUE_ROOM);
	CHECK(!f->attached && !f->held, "closed, but attached %d, its target held %d", f->attached, f->held);
	file_put(f);
}

void file_close(unsigned int at, struct file *f)
{
	bool ours;

	pthread_mutex_lock(&table_lock);
	ours = files[at] == f;
	if (ours)
		files[at] = NULL;
	pthread_mutex_unlock(&table_lock);
	if (ours)
		file_release(f);
	file_put(f);
}

bool watch(struct file *f)
{
	bool room;

	pthread_mutex_lock(&watch_lock);
	room = !f->root || num_child_ctxs < NUM_CHILD_CTXS;
	if (room) {
		num_child_ctxs += !!f->root;
		watched[num_watched++] = f;
	}
	pthread_mutex_unlock(&watch_lock);
	return room;
}

void unwatch(struct file *f)
{
	unsigned int i = 0;

	pthread_mutex_lock(&watch_lock);
	while (watched[i] != f)
		i++;
	watched[i] = watched[--num_watched];
	num_child_ctxs -= !!f->root;
	pthread_mutex_unlock(&watch_lock);
}

struct file *file_pick_attached(void)
{
	struct file *f = NULL;

	pthread_mutex_lock(&watch_lock);
	if (num_watched) {
		f = watched[rng_below(&me.rng, num_watched)];
		atomic_fetch_add(&f->refs, 1);
	}
	pthread_mutex_unlock(&watch_lock);
	return f;
}

static void check_message(const pfarg_msg_t *msg)
{
	CHECK(msg->type == PFM_MSG_OVFL || msg->type == PFM_MSG_END, "a message of type %u", msg->type);
}

static int take_of_part(struct file *f, unsigned int i, int max)
{
	unsigned int tail = atomic_load(&f->parts[i].tail);
	int n = 0;

	for (; n < max && atomic_load(&f->parts[i].head) != tail; n++, tail++) {
		check_message(&f->parts[i].queue[tail % PART_ROOM]);
		if (f->ctx)
			pfm_part_read(f->ctx, i, f->parts[i].fills[tail % PART_ROOM]);
		atomic_store(&f->parts[i].tail, tail + 1);
	}
	return n;
}

/* As in perfmon.ko, a queue has one writer, in PMU context, and one reader at a time. */
int file_take_messages(struct file *f, int max)
{
	int n = 0;

	pthread_mutex_lock(&f->read_lock);
	for (unsigned int i = 0; i < NUM_CPUS; i++)
		n += take_of_part(f, i, max - n);
	while (n < max && atomic_load(&f->head) != atomic_load(&f->tail)) {
		check_message(&f->queue[atomic_load(&f->tail) % QUEUE_ROOM]);
		atomic_fetch_add(&f->tail, 1);
		n++;
	}
	pthread_mutex_unlock(&f->read_lock);
	atomic_fetch_add(&tally.taken, n);
	return n;
}
