// SPDX-License-Identifier: MIT
/*
 * old_map.c - the sampling buffer as programs of perfmon2 2.x map it:
 *
 *   old_map [CASE]
 */
#include <unistd.h>

#include <perfmon/perfmon_dfl_smpl.h>
#include <perfmon/perfmon.h>
#include "../parts.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define SIZE (3 * 4096 + 512)
#define WHOLE (4 * 4096)

static int create(void)
{
	pfm_dfl_smpl_arg_t arg = { .buf_size = SIZE };
	pfarg_ctx_t ctx;
	int fd;

	memset(&ctx, 0, sizeof(ctx));
	fd = pfm_create_context(&ctx, PFM_DFL_SMPL_NAME, &arg, sizeof(arg));
	CHECK(fd >= 0);
	return fd;
}

/* Checks that the mapping is the buffer. */
static void mapped(int fd, size_t size, int flags)
{
	const pfm_dfl_smpl_hdr_t *hdr = mmap(NULL, size, PROT_READ, flags, fd, 0);

	CHECK(hdr != MAP_FAILED);
	if (hdr == MAP_FAILED)
		return;
	CHECK(hdr->hdr_buf_size == SIZE && hdr->hdr_version == PFM_DFL_SMPL_VERSION);
	CHECK(mprotect((void *)hdr, size, PROT_READ | PROT_WRITE) == -1 && errno == EACCES);
	CHECK(!munmap((void *)hdr, size));
}

static void private(void)
{
	int fd = create();

	mapped(fd, WHOLE, MAP_PRIVATE);
	mapped(fd, WHOLE, MAP_SHARED);
	CHECK(!close(fd));
}

static void unrounded(void)
{
	int fd = create();

	mapped(fd, SIZE, MAP_PRIVATE);
	mapped(fd, SIZE, MAP_SHARED);
	CHECK(!close(fd));
}

static void part(void)
{
	int fd = create();

	mapped(fd, 4096, MAP_PRIVATE);
	mapped(fd, sizeof(pfm_dfl_smpl_hdr_t), MAP_SHARED);
	CHECK(!close(fd));
}

static void twice(void)
{
	int fd = create();
	void *at = mmap(NULL, WHOLE, PROT_READ, MAP_PRIVATE, fd, 0);

	CHECK(at != MAP_FAILED);
	mapped(fd, SIZE, MAP_PRIVATE);
	CHECK(!munmap(at, WHOLE));
	CHECK(!close(fd));
}

/* Checks that mmap() is refused, and that pfm_explain() says why, on every machine. */
static void refused(size_t size, int prot, int flags, int fd, off_t offset, const char *why)
{
	CHECK(mmap(NULL, size, prot, flags, fd, offset) == MAP_FAILED && errno == EINVAL);
	CHECK(strstr(pfm_explain(), why));
}

static void writable(void)
{
	int fd = create();

	refused(WHOLE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0, "read-only");
	refused(WHOLE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0, "read-only");
	CHECK(!close(fd));
}

static void too_long(void)
{
	int fd = create();

	refused(WHOLE + 1, PROT_READ, MAP_PRIVATE, fd, 0, "has 16384 bytes");
	refused(WHOLE + 4096, PROT_READ, MAP_PRIVATE, fd, 0, "has 16384 bytes, not 20480");
	refused(4096, PROT_READ, MAP_PRIVATE, fd, 4096, "offset 0");
	CHECK(!close(fd));
}

static const struct part cases[] = {
	{ "private", private }, { "unrounded", unrounded }, { "part", part }, { "twice", twice },
	{ "writable", writable }, { "too_long", too_long }, { NULL, NULL }
};

int main(int argc, char **argv)
{
	return run_part(cases, argc, argv);
}
