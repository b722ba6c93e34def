// SPDX-License-Identifier: MIT
/*
 * state.c - the file in memory that programs use as an object: they read, map, pass on and close
 * it.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "object.h"
#include "user.h"


_Static_assert(sizeof(struct vperfctr_state) <= 4096, "a page");

static int open_file(struct vperfctr *v, size_t size)
{
	struct stat st;

	v->file = memfd_create("vperfctrfs", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (v->file < 0)
		return perfctr_refuse(-errno, "no file for the state: %s", strerror(errno));
	if (!pfm_file_may_have(size) || ftruncate(v->file, (off_t)size) || fstat(v->file, &st))
		return perfctr_refuse(-errno, "no page for the state: %s", strerror(errno));
	v->ino = st.st_ino;
	v->dev = st.st_dev;
	return 0;
}

/*
 * After this, no process can map the file for writing or change its size; existing mappings stay.
 */
static int seal(struct vperfctr *v)
{
	if (!fcntl(v->file, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return 0;
	return perfctr_refuse(-errno, "the state's file cannot be sealed: %s", strerror(errno));
}

int perfctr_state_new(struct vperfctr *v)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int ret = open_file(v, page);

	if (ret)
		return ret;
	v->state = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, v->file, 0);
	if (v->state == MAP_FAILED) {
		v->state = NULL;
		return perfctr_refuse(-errno, "no page for the state: %s", strerror(errno));
	}
	v->state->magic = VPERFCTR_MAGIC;
	v->state->flags = VPERFCTR_ATTACHED;
	v->state->tid = v->tid;
	return seal(v);
}

void perfctr_state_put(struct vperfctr *v)
{
	if (v->state)
		munmap(v->state, (size_t)sysconf(_SC_PAGESIZE));
	if (v->file >= 0)
		close(v->file);
}

int perfctr_state_read(int fd, struct vperfctr_state *state)
{
	const int seals = F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;

	if ((fcntl(fd, F_GET_SEALS) & seals) != seals || fcntl(fd, F_GET_SEALS) < 0 ||
	    pread(fd, state, sizeof(*state), 0) != sizeof(*state) || state->magic != VPERFCTR_MAGIC)
		return perfctr_refuse(-EBADF, "descriptor %d is not an object of virtual counters", fd);
	if (state->flags & VPERFCTR_ATTACHED)
		return perfctr_refuse(-EBADF, "descriptor %d: the process that opened the object commands it", fd);
	return 0;
}

/* If a reader finds ~0 in tsc_start, it finds another value after its read, and tries again. */
void perfctr_state_begin(struct vperfctr *v)
{
	__atomic_store_n(&v->state->cpu_state.tsc_start, ~0ULL, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void perfctr_state_end(struct vperfctr *v, uint64_t tsc_start)
{
	__atomic_store_n(&v->state->cpu_state.tsc_start, tsc_start, __ATOMIC_RELEASE);
}
