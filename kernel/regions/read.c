// SPDX-License-Identifier: MIT
/* read.c - reads a file of regions for lpfm. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "regions.h"

static size_t size_of(const struct pfm_regions_result *result)
{
	return FILE_HEAD + result->blocks * BLOCK_SIZE;
}

int pfm_regions_open(const char *path, struct pfm_regions_result *result)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;
	void *at = MAP_FAILED;

	if (fd < 0)
		return -1;
	errno = EINVAL;
	if (!fstat(fd, &st) && st.st_size >= (off_t)FILE_HEAD) {
		result->blocks = ((uint64_t)st.st_size - FILE_HEAD) / BLOCK_SIZE;
		at = mmap(NULL, size_of(result), PROT_READ, MAP_SHARED, fd, 0);
	}
	close(fd);
	if (at == MAP_FAILED)
		return -1;
	result->head = at;
	result->ns = regions_clock();
	result->ticks = regions_ticks();
	if (!memcmp(result->head->magic, REGIONS_MAGIC, sizeof(result->head->magic)))
		return 0;
	pfm_regions_close(result);
	errno = EINVAL;
	return -1;
}

const struct block *pfm_regions_block(const struct pfm_regions_result *result, uint64_t i)
{
	const struct block *b = (const void *)((const char *)result->head + FILE_HEAD + i * BLOCK_SIZE);

	return i < result->blocks && b->owner && b->used <= RECORDS ? b : NULL;
}

double pfm_regions_ns(const struct pfm_regions_result *result, const struct block *block, uint64_t ticks)
{
	if (block->hz)
		return (double)ticks * 1e9 / (double)block->hz;
	if (result->ticks <= block->ticks)
		return 0;
	return (double)ticks * (double)(result->ns - block->ns) / (double)(result->ticks - block->ticks);
}

void pfm_regions_close(struct pfm_regions_result *result)
{
	munmap((void *)(uintptr_t)result->head, size_of(result));
	result->head = NULL;
}
