// SPDX-License-Identifier: MIT
/* fast_read.c - reads counters by one system call; fast_read.h describes how. */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core.h"
#include "interpose.h"
#include "fast_read.h"

#define NUMBERS	4096	/* descriptors from this number on have no fast read */
/*
 * the first number with a fast read: libc may close and replace lower ones itself, which
 * interpose.c does not see
 */
#define FIRST	3

/* Slots are never freed, so a reader may access them without a lock. */
struct slot {
	atomic_uint		readers;
	atomic_uint		state;		/* odd: the slot is published */
	/* the descriptor of a counter that the last reader must close, or -1 */
	atomic_int		left_over;
	/* the context with these counters; protected by the lock "publishing" */
	const struct pfm_desc	*owner;
	uint64_t		cookie;		/* cookie of the descriptor's socket */
	const struct pfm_machine *machine;
	struct pfm_fast_read	q;
};

static _Atomic(struct slot *) slots[NUMBERS];
static struct {
	/* number of closes that are in progress, and of all that have begun so far */
	atomic_uint	closing, closed;
	/* the number is, or was, the descriptor of a context */
	atomic_bool	ours;
} numbers[NUMBERS];
static pthread_mutex_t publishing = PTHREAD_MUTEX_INITIALIZER;

static struct slot *slot_of(int fd)
{
	return fd >= FIRST && fd < NUMBERS ? atomic_load_explicit(&slots[fd], memory_order_acquire) : NULL;
}

static void withdraw(struct slot *s)
{
	unsigned int state = atomic_load(&s->state);

	while ((state & 1) && !atomic_compare_exchange_weak(&s->state, &state, state + 1))
		;
}

/* --- reading -------------------------------------------------------------------------------- */

/* Gets the socket's cookie. Unlike an inode number, a cookie is never used again. */
static bool cookie_of(int fd, uint64_t *cookie)
{
	socklen_t size = sizeof(*cookie);

	return !getsockopt(fd, SOL_SOCKET, SO_COOKIE, cookie, &size);
}

/*
 * Returns true if fd is still the descriptor for which the slot was published. If the library
 * cannot see closes, the socket's cookie is compared.
 */
static bool is_still(const struct slot *s, int fd)
{
	uint64_t cookie;

	return pfm_sees_closes() || (cookie_of(fd, &cookie) && cookie == s->cookie);
}

static bool plain(const struct pfm_fast_read *q, const pfarg_pmd_t *req)
{
	return req->reg_set == q->set && req->reg_num < PFM_MAX_PMDS && q->at[req->reg_num] &&
	       !(req->reg_flags & ~PFM_REG_RETFL_MASK) && pfm_zeros(req->reg_reserved, sizeof(req->reg_reserved));
}

static bool all_plain(const struct slot *s, const pfarg_pmd_t *v, int n)
{
	if (!v || n <= 0 || (uint64_t)n * sizeof(*v) > READ_ONCE(s->machine->arg_size_max))
		return false;
	for (int i = 0; i < n; i++)
		if (!plain(&s->q, &v[i]))
			return false;
	return true;
}

static void fill(const struct pfm_fast_read *q, const uint64_t *counts, pfarg_pmd_t *v, int n)
{
	for (int i = 0; i < n; i++) {
		unsigned int at = q->at[v[i].reg_num] - 1U;

		v[i].reg_flags = 0;
		v[i].reg_value = q->pmd[at].add + counts[at];
		v[i].reg_last_reset_val = q->pmd[at].last_reset;
		v[i].reg_ovfl_switch_cnt = q->pmd[at].switch_left;
	}
}

static bool read_slot(struct slot *s, int fd, pfarg_pmd_t *v, int n)
{
	unsigned int state = atomic_load(&s->state);
	uint64_t counts[PFM_FAST_MAX];

	if (!(state & 1) || !is_still(s, fd) || !all_plain(s, v, n) ||
	    (s->q.cpu >= 0 && s->q.cpu != sched_getcpu()) || !s->q.read(&s->q, counts))
		return false;
	if (atomic_load(&s->state) != state)
		return false;
	fill(&s->q, counts, v, n);
	return true;
}

static void close_left_over(struct slot *s)
{
	int fd = atomic_exchange(&s->left_over, -1);

	if (fd >= 0)
		close(fd);
}

bool pfm_fast_read(int fd, pfarg_pmd_t *v, int n)
{
	struct slot *s = slot_of(fd);
	bool done;

	if (!s)
		return false;
	atomic_fetch_add(&s->readers, 1);
	done = read_slot(s, fd, v, n);
	if (atomic_fetch_sub(&s->readers, 1) == 1 && atomic_load(&s->left_over) >= 0)
		close_left_over(s);
	return done;
}

/* --- publishing counters for readers -------------------------------------------------------- */

struct pfm_fast_ticket pfm_fast_ticket(int fd)
{
	struct pfm_fast_ticket t = { .good = fd >= FIRST && fd < NUMBERS };

	if (t.good) {
		t.closed = atomic_load(&numbers[fd].closed);
		t.good = !atomic_load(&numbers[fd].closing);
	}
	return t;
}

static struct slot *need_slot(int fd)
{
	struct slot *s = slot_of(fd);

	if (s)
		return s;
	s = pfm_os_alloc(sizeof(*s));
	if (s) {
		atomic_init(&s->left_over, -1);
		atomic_store_explicit(&slots[fd], s, memory_order_release);
	}
	return s;
}

/* Returns true if no read that began before the slot was withdrawn is still in progress. */
static bool is_quiet(struct slot *s)
{
	return !s || (!atomic_load(&s->readers) && atomic_load(&s->left_over) < 0);
}

static bool write_slot(struct slot *s, struct pfm_desc *d, int fd)
{
	/* The slot may still publish the counters of an earlier context that had the same fd. */
	withdraw(s);
	if (!is_quiet(s) || !is_quiet(slot_of(d->fast_read)))
		return false;
	memset(&s->q, 0, sizeof(s->q));
	s->owner = d;
	s->machine = d->ctx->machine;
	return d->ctx->machine->ops->fast_read(d->ctx, &s->q) && cookie_of(fd, &s->cookie);
}

void pfm_fast_publish(struct pfm_desc *d, int fd, struct pfm_fast_ticket ticket)
{
	struct slot *s;

	if (!ticket.good || !d->ctx->machine->ops->fast_read)
		return;
	pthread_mutex_lock(&publishing);
	s = need_slot(fd);
	if (s && write_slot(s, d, fd)) {
		d->fast_read = fd;
		atomic_fetch_add(&s->state, 1);
		if (atomic_load(&numbers[fd].closed) != ticket.closed)
			withdraw(s);
	}
	pthread_mutex_unlock(&publishing);
}

void pfm_fast_withdraw(struct pfm_desc *d)
{
	struct slot *s = slot_of(d->fast_read);

	if (s)
		withdraw(s);
}

/*
 * Called when the context has been withdrawn, and its counter fd is to be closed. Returns true if a
 * fast read that began before may still use fd: then the last reader closes it.
 */
static bool leave_to_readers(const struct pfm_desc *d, int fd)
{
	struct slot *s = slot_of(d->fast_read);
	bool read;

	if (!s)
		return false;
	pthread_mutex_lock(&publishing);
	read = s->owner == d && s->q.fd == fd && atomic_load(&s->readers);
	if (read)
		atomic_store(&s->left_over, fd);
	pthread_mutex_unlock(&publishing);
	if (read && !atomic_load(&s->readers))
		close_left_over(s);
	return read;
}

void pfm_fast_close(struct pfm_context *ctx, int fd)
{
	if (!leave_to_readers(pfm_desc_of(ctx), fd))
		close(fd);
}

/* --- descriptor numbers that are closed ----------------------------------------------------- */

void pfm_fast_note(int fd)
{
	if (fd >= 0 && fd < NUMBERS && !atomic_load_explicit(&numbers[fd].ours, memory_order_relaxed))
		atomic_store_explicit(&numbers[fd].ours, true, memory_order_relaxed);
}

/*
 * Withdraws the counters of another context that are published under the number fd: a close that
 * interpose.c did not see may have left them.
 */
void pfm_fast_claim(const struct pfm_desc *d, int fd)
{
	struct slot *s = slot_of(fd);

	if (d)
		pfm_fast_note(fd);
	if (!s || !(atomic_load(&s->state) & 1))
		return;
	pthread_mutex_lock(&publishing);
	if (s->owner != d)
		withdraw(s);
	pthread_mutex_unlock(&publishing);
}

bool pfm_fast_noted(int fd)
{
	return fd >= NUMBERS || (fd >= 0 && atomic_load_explicit(&numbers[fd].ours, memory_order_relaxed));
}

static _Atomic(void (*)(unsigned int, unsigned int)) on_closing;

void pfm_on_closing(void (*fn)(unsigned int first, unsigned int last))
{
	atomic_store(&on_closing, fn);
}

void pfm_fast_closing(unsigned int first, unsigned int last)
{
	void (*fn)(unsigned int, unsigned int) = atomic_load_explicit(&on_closing, memory_order_acquire);

	if (fn)
		fn(first, last);
	for (unsigned int fd = first; fd <= last && fd < NUMBERS; fd++) {
		struct slot *s = atomic_load(&slots[fd]);

		atomic_fetch_add(&numbers[fd].closing, 1);
		atomic_fetch_add(&numbers[fd].closed, 1);
		if (s)
			withdraw(s);
	}
}

void pfm_fast_closed(unsigned int first, unsigned int last)
{
	for (unsigned int fd = first; fd <= last && fd < NUMBERS; fd++)
		atomic_fetch_sub(&numbers[fd].closing, 1);
}

void pfm_fast_forget(void)
{
	pthread_mutex_init(&publishing, NULL);
	for (int fd = FIRST; fd < NUMBERS; fd++) {
		struct slot *s = slot_of(fd);

		if (!s)
			continue;
		withdraw(s);
		atomic_store(&s->readers, 0);
	}
}
