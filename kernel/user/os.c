// SPDX-License-Identifier: MIT
/* os.c - implements core/os.h in user space. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#define PFM_NO_MMAP_REDIRECT
#include "desc.h"
#include "os.h"
#include <sys/mman.h>

static pthread_mutex_t global = PTHREAD_MUTEX_INITIALIZER;
/* the signal mask of the thread that holds "global"; it is restored at the release */
static sigset_t before;
static __thread char why[512];

/* --- memory --------------------------------------------------------------------------------- */

/* AddressSanitizer checks only memory from malloc(3), so malloc(3) is used in a build with it */
#ifdef __SANITIZE_ADDRESS__

void *pfm_os_alloc(size_t size)
{
	return calloc(1, size);
}

void pfm_os_free(void *p)
{
	free(p);
}

void *pfm_os_realloc(void *p, size_t size)
{
	return realloc(p, size);
}

void pfm_memory_lock(void) { }
void pfm_memory_unlock(void) { }

#else

/*
 * malloc(3) is not used, because a signal handler that has interrupted malloc() would wait for
 * itself (5.7). The sizes of blocks are powers of 2. They are cut from chunks, and are kept for
 * later blocks of their size; larger ones are mmap()ed.
 */
#define SMALLEST	6
#define LARGEST		15
#define CHUNK		(1UL << 18)

union block {
	struct {
		size_t		size;		/* size of the block, with this header */
		union block	*next;		/* the next block in the list of free ones */
	};
	max_align_t align;
};

static pthread_mutex_t memory = PTHREAD_MUTEX_INITIALIZER;
static union block *unused[LARGEST + 1];
static char *chunk;
static size_t chunk_left;

/* Takes the allocator's lock. The caller has blocked signals. It is also called before a fork. */
void pfm_memory_lock(void)
{
	pthread_mutex_lock(&memory);
}

void pfm_memory_unlock(void)
{
	pthread_mutex_unlock(&memory);
}

static void *map(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static union block *cut(size_t size)
{
	union block *b;

	if (chunk_left < size) {
		char *more = map(CHUNK);

		if (!more)
			return NULL;
		chunk = more;
		chunk_left = CHUNK;
	}
	b = (union block *)(void *)chunk;
	chunk += size;
	chunk_left -= size;
	return b;
}

static union block *take(unsigned int log)
{
	union block *b = unused[log];

	if (!b)
		return cut(1UL << log);
	unused[log] = b->next;
	memset(b, 0, 1UL << log);
	return b;
}

void *pfm_os_alloc(size_t size)
{
	size_t whole = size + sizeof(union block);
	unsigned int log = SMALLEST;
	union block *b;
	sigset_t saved;

	if (whole < size)
		return NULL;
	while (log <= LARGEST && 1UL << log < whole)
		log++;
	if (log > LARGEST) {
		b = map(whole);
	} else {
		whole = 1UL << log;
		pfm_signals_block(&saved);
		pfm_memory_lock();
		b = take(log);
		pfm_memory_unlock();
		pfm_signals_restore(&saved);
	}
	if (!b) {
		errno = ENOMEM;
		return NULL;
	}
	b->size = whole;
	return b + 1;
}

void pfm_os_free(void *p)
{
	union block *b = p;
	sigset_t saved;

	if (!p)
		return;
	b--;
	if (b->size > 1UL << LARGEST) {
		munmap(b, b->size);
		return;
	}
	pfm_signals_block(&saved);
	pfm_memory_lock();
	b->next = unused[__builtin_ctzl(b->size)];
	unused[__builtin_ctzl(b->size)] = b;
	pfm_memory_unlock();
	pfm_signals_restore(&saved);
}

void *pfm_os_realloc(void *p, size_t size)
{
	const union block *b = p;
	size_t room = p ? b[-1].size - sizeof(*b) : 0;
	void *bigger;

	if (p && size <= room)
		return p;
	bigger = pfm_os_alloc(size);
	if (bigger && p) {
		memcpy(bigger, p, room);
		pfm_os_free(p);
	}
	return bigger;
}

#endif

void *pfm_os_calloc(size_t n, size_t size)
{
	if (__builtin_mul_overflow(n, size, &size)) {
		errno = ENOMEM;
		return NULL;
	}
	return pfm_os_alloc(size);
}

char *pfm_os_strdup(const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = pfm_os_alloc(size);

	return copy ? memcpy(copy, text, size) : NULL;
}

/* --- files of /proc and /sys ---------------------------------------------------------------- */

bool pfm_os_read(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, size - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	return n > 0;
}

bool pfm_os_read_number(const char *path, long *value)
{
	char text[32], *end;
	long number;

	if (!pfm_os_read(path, text, sizeof(text)))
		return false;
	number = strtol(text, &end, 10);
	if (end == text)
		return false;
	*value = number;
	return true;
}

/* --- signals, locks, reasons ---------------------------------------------------------------- */

/*
 * Also disables cancellation: open(2), read(2) and others are cancellation points, and if a thread
 * were cancelled with a lock held, it would not release the lock. If cancellation was enabled,
 * SIGKILL is added to *saved as a mark, because no signal mask of the kernel has SIGKILL.
 */
void pfm_signals_block(sigset_t *saved)
{
	sigset_t all;
	int cancel;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, saved);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (cancel == PTHREAD_CANCEL_ENABLE)
		sigaddset(saved, SIGKILL);
}

void pfm_signals_restore(const sigset_t *saved)
{
	pthread_sigmask(SIG_SETMASK, saved, NULL);
	if (sigismember(saved, SIGKILL))
		pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
}

/* 5.7: signal handlers may take this lock, so the thread that holds it has signals blocked. */
void pfm_os_lock(void)
{
	sigset_t saved;

	pfm_signals_block(&saved);
	pthread_mutex_lock(&global);
	before = saved;
}

void pfm_os_unlock(void)
{
	sigset_t saved = before;

	pthread_mutex_unlock(&global);
	pfm_signals_restore(&saved);
}

int pfm_refuse(int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	return err;
}

const char *pfm_explain(void)
{
	return why;
}
