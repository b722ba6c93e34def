// SPDX-License-Identifier: MIT
/* map.c - maps the sampling buffer (3.5.4) and views into the program's address space. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define PFM_NO_MMAP_REDIRECT
#include "desc.h"
#include "module_client.h"
#include <sys/mman.h>

static void *failed(int err)
{
	errno = -err;
	return MAP_FAILED;
}

/* The arguments of the program's mmap(2). */
struct request {
	void	*addr;
	size_t	size;
	int	prot, flags;
	off_t	offset;
};

/* Returns true if the line of /proc/self/maps maps the file, and is not the library's mapping. */
static bool is_of(const char *line, const struct stat *file, const void *own)
{
	unsigned long long from, ino;
	unsigned int major, minor;

	return sscanf(line, "%llx-%*x %*s %*s %x:%x %llu", &from, &major, &minor, &ino) == 4 &&
	       makedev(major, minor) == file->st_dev && ino == file->st_ino && from != (uintptr_t)own;
}

/*
 * Returns true if any part of the buffer is mapped. /proc/self/maps is read, because the program
 * may have moved the mapping, or unmapped it in parts or together with other memory.
 */
static bool is_mapped(const struct pfm_desc *d)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	char text[8192], *line, *end;
	bool found = false;
	size_t have = 0;
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return false;
	while (!fstat(d->memfd, &st) && !found && (n = read(fd, text + have, sizeof(text) - 1 - have)) > 0) {
		have += (size_t)n;
		text[have] = 0;
		for (line = text; !found && (end = strchr(line, '\n')); line = end + 1)
			found = is_of(line, &st, d->ctx->buf);
		have -= (size_t)(line - text);
		memmove(text, line, have);
		if (have == sizeof(text) - 1)
			have = 0;	/* a line that is too long to be that of the buffer */
	}
	close(fd);
	return found;
}

/* Checks 3.5.4: the buffer is mapped read-only, shared, as a whole, and once. */
static int check_06(const struct pfm_desc *d, const struct request *r)
{
	if (r->prot != PROT_READ)
		return pfm_refuse(-EINVAL, "a sampling buffer is mapped PROT_READ, and nothing else");
	if ((r->flags & MAP_TYPE) != MAP_SHARED ||
	    r->flags & (MAP_LOCKED | MAP_GROWSDOWN | MAP_FIXED | MAP_EXECUTABLE | MAP_DENYWRITE))
		return pfm_refuse(-EINVAL, "a sampling buffer is mapped MAP_SHARED, and nothing else");
	if (r->size != d->ctx->buf_size)
		return pfm_refuse(-EINVAL, "the sampling buffer has %llu bytes, not %llu",
				  (unsigned long long)d->ctx->buf_size, (unsigned long long)r->size);
	if (is_mapped(d))
		return pfm_refuse(-EBUSY, "the sampling buffer is mapped already");
	return 0;
}

/* Checks as perfmon 2.x does: read-only, and not beyond the end; it may be private or shared. */
static int check_2x(const struct pfm_desc *d, const struct request *r)
{
	if (r->prot & PROT_WRITE)
		return pfm_refuse(-EINVAL, "a sampling buffer is mapped read-only");
	if (r->size > d->ctx->buf_size)
		return pfm_refuse(-EINVAL, "the sampling buffer has %llu bytes, not %llu",
				  (unsigned long long)d->ctx->buf_size, (unsigned long long)r->size);
	return 0;
}

static int check(const struct pfm_desc *d, const struct request *r)
{
	if (!d->ctx->buf)
		return pfm_refuse(-EINVAL, "the context has no sampling buffer");
	if (r->offset)
		return pfm_refuse(-EINVAL, "a sampling buffer is mapped from offset 0");
	return d->by_06 ? check_06(d, r) : check_2x(d, r);
}

/* The mapping is always shared, because a private one could be made writable. */
static int map(struct pfm_desc *d, const struct request *r, void **at)
{
	int ret = check(d, r);

	if (ret)
		return ret;
	*at = mmap(r->addr, r->size, r->prot, (r->flags & ~MAP_TYPE) | MAP_SHARED, d->memfd, 0);
	if (*at == MAP_FAILED)
		return pfm_refuse(-errno, "cannot map the sampling buffer: mmap(2): %s", strerror(errno));
	return 0;
}

/* Returns the set that has its view at the offset, or NULL if there is none. */
static struct pfm_set *viewed_set(struct pfm_context *ctx, uint64_t offset)
{
	uint64_t page = pfm_ops(ctx)->page_size(ctx->machine), id = (offset - PFM_VIEW_OFFSET(0, 0)) / page;
	struct pfm_set *set = id <= UINT16_MAX ? pfm_set_find(ctx, (uint16_t)id) : NULL;

	return set && set->view && offset == PFM_VIEW_OFFSET(id, page) ? set : NULL;
}

/* Maps the memory of a view a second time, read-only, for the program. */
static int map_view(struct pfm_desc *d, const struct request *r, void **at)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	struct pfm_set *set = viewed_set(d->ctx, (uint64_t)r->offset);
	bool fixed = r->flags & MAP_FIXED;

	if (r->size != size)
		return pfm_refuse(-EINVAL, "a view is a page, %u bytes", (unsigned int)size);
	if (r->prot != PROT_READ)
		return pfm_refuse(-EINVAL, "a view is mapped PROT_READ, and nothing else");
	if (!set)
		return pfm_refuse(-EINVAL, "there is no view at offset %#llx: no such set, or no MAP_SETS",
				  (unsigned long long)r->offset);
	*at = mremap(set->view, 0, size, MREMAP_MAYMOVE | (fixed ? MREMAP_FIXED : 0), r->addr);
	if (*at == MAP_FAILED || mprotect(*at, size, PROT_READ))
		return pfm_refuse(-errno, "cannot map the view");
	return 0;
}

static void *map_here(int fd, const struct request *r)
{
	void *at = MAP_FAILED;
	struct pfm_desc *d;
	sigset_t saved;
	int ret;

	d = pfm_desc_enter(fd, &saved);
	if (!d)
		ret = -EBADF;
	else
		ret = (uint64_t)r->offset >= PFM_VIEW_OFFSET(0, 0) ? map_view(d, r, &at) : map(d, r, &at);
	pfm_desc_leave(d, &saved);
	return ret ? failed(ret) : at;
}

/* Maps a descriptor of perfmon.ko, which checks the request and gives the reason of a refusal. */
static void *map_there(int fd, const struct request *r)
{
	void *at = mmap(r->addr, r->size, r->prot, r->flags, fd, r->offset);

	if (at == MAP_FAILED)
		pfm_linux_reason(fd);
	return at;
}

void *pfm_map_buffer(int fd, size_t size)
{
	const struct request r = { .size = size, .prot = PROT_READ, .flags = MAP_SHARED };
	int loaded;

	return pfm_linux_call(fd, PFM_NR_IS_LOADED, 0, NULL, &loaded) ? map_there(fd, &r) : map_here(fd, &r);
}

int pfm_unmap_buffer(void *addr, size_t size)
{
	return munmap(addr, size);
}

void *pfm_mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset)
{
	const struct request r = { addr, length, prot, flags, offset };

	return fd >= 0 && pfm_desc_message(fd) ? map_here(fd, &r) : map_there(fd, &r);
}

int pfm_munmap(void *addr, size_t length)
{
	return pfm_unmap_buffer(addr, length);
}
