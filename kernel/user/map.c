// SPDX-License-Identifier: MIT
/*
 * map.c - the sampling buffer in the program's address space (3.5.4).
 */
#include <stdint.h>

#define PFM_NO_MMAP_REDIRECT
#include "desc.h"
#include "module_client.h"
#include <sys/mman.h>

static void *failed(int err)
{
	errno = -err;
	return MAP_FAILED;
}

static int check_size(const struct pfm_context *ctx, size_t size)
{
	if (!ctx->buf)
		return pfm_refuse(-EINVAL, "the context has no sampling buffer");
	if (size != ctx->buf_size)
		return pfm_refuse(-EINVAL, "the sampling buffer has %llu bytes, not %llu",
				  (unsigned long long)ctx->buf_size, (unsigned long long)size);
	return 0;
}

static int map(struct pfm_desc *d, size_t size, void **at)
{
	int ret = check_size(d->ctx, size);

	if (ret)
		return ret;
	if (d->mapping)
		return pfm_refuse(-EBUSY, "the sampling buffer is mapped already");
	*at = mmap(NULL, size, PROT_READ, MAP_SHARED, d->memfd, 0);
	if (*at == MAP_FAILED)
		return pfm_refuse(-errno, "cannot map the sampling buffer");
	d->mapping = *at;
	return 0;
}

void *pfm_map_buffer(int fd, size_t size)
{
	void *at = MAP_FAILED;
	struct pfm_desc *d;
	sigset_t saved;
	int ret;

	if (pfm_linux_call(fd, PFM_NR_IS_LOADED, 0, NULL, &ret))	/* the kernel's own: it has the rules */
		return mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	d = pfm_desc_enter(fd, &saved);
	ret = d ? map(d, size, &at) : -EBADF;
	pfm_desc_leave(d, &saved);
	return ret ? failed(ret) : at;
}

int pfm_unmap_buffer(void *addr, size_t size)
{
	sigset_t saved;

	pfm_signals_block(&saved);
	pfm_desc_unmapped(addr);
	pfm_signals_restore(&saved);
	return munmap(addr, size);
}

/* 3.5.4: read-only, shared, from the start, as a whole; anything else is not for a context. */
static int check_request(int prot, int flags, off_t offset)
{
	if (prot != PROT_READ)
		return pfm_refuse(-EINVAL, "a sampling buffer is mapped PROT_READ, and nothing else");
	if ((flags & MAP_TYPE) != MAP_SHARED ||
	    flags & (MAP_LOCKED | MAP_GROWSDOWN | MAP_FIXED | MAP_EXECUTABLE | MAP_DENYWRITE))
		return pfm_refuse(-EINVAL, "a sampling buffer is mapped MAP_SHARED, and nothing else");
	if (offset)
		return pfm_refuse(-EINVAL, "a sampling buffer is mapped from offset 0");
	return 0;
}

void *pfm_mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset)
{
	int ret;

	if (fd < 0 || !pfm_desc_is(fd))
		return mmap(addr, length, prot, flags, fd, offset);
	ret = check_request(prot, flags, offset);
	return ret ? failed(ret) : pfm_map_buffer(fd, length);
}

int pfm_munmap(void *addr, size_t length)
{
	return pfm_unmap_buffer(addr, length);
}
