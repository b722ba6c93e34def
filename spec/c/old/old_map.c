// SPDX-License-Identifier: MIT
/*
 * old_map.c - the sampling buffer as programs of perfmon2 2.x map it:
 *
 *   old_map [CASE]
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <perfmon/perfmon_dfl_smpl.h>
#include <perfmon/perfmon.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define SIZE (3 * 4096 + 512)
#define WHOLE (4 * 4096)

static int failures;

#define TRUE(cond) do { \
	if (!(cond)) { \
		printf("line %d: %s (%s)\n", __LINE__, #cond, pfm_explain()); \
		failures++; \
	} \
} while (0)

static int create(void)
{
	pfm_dfl_smpl_arg_t arg = { .buf_size = SIZE };
	pfarg_ctx_t ctx;
	int fd;

	memset(&ctx, 0, sizeof(ctx));
	fd = pfm_create_context(&ctx, PFM_DFL_SMPL_NAME, &arg, sizeof(arg));
	TRUE(fd >= 0);
	return fd;
}

/* Checks that the mapping is the buffer. */
static void mapped(int fd, size_t size, int flags)
{
	const pfm_dfl_smpl_hdr_t *hdr = mmap(NULL, size, PROT_READ, flags, fd, 0);

	TRUE(hdr != MAP_FAILED);
	if (hdr == MAP_FAILED)
		return;
	TRUE(hdr->hdr_buf_size == SIZE && hdr->hdr_version == PFM_DFL_SMPL_VERSION);
	TRUE(mprotect((void *)hdr, size, PROT_READ | PROT_WRITE) == -1 && errno == EACCES);
	TRUE(!munmap((void *)hdr, size));
}

static void private(void)
{
	int fd = create();

	mapped(fd, WHOLE, MAP_PRIVATE);
	mapped(fd, WHOLE, MAP_SHARED);
	TRUE(!close(fd));
}

static void unrounded(void)
{
	int fd = create();

	mapped(fd, SIZE, MAP_PRIVATE);
	mapped(fd, SIZE, MAP_SHARED);
	TRUE(!close(fd));
}

static void part(void)
{
	int fd = create();

	mapped(fd, 4096, MAP_PRIVATE);
	mapped(fd, sizeof(pfm_dfl_smpl_hdr_t), MAP_SHARED);
	TRUE(!close(fd));
}

static void twice(void)
{
	int fd = create();
	void *at = mmap(NULL, WHOLE, PROT_READ, MAP_PRIVATE, fd, 0);

	TRUE(at != MAP_FAILED);
	mapped(fd, SIZE, MAP_PRIVATE);
	TRUE(!munmap(at, WHOLE));
	TRUE(!close(fd));
}

/* Checks that mmap() is refused, and that pfm_explain() says why, on every machine. */
static void refused(size_t size, int prot, int flags, int fd, off_t offset, const char *why)
{
	TRUE(mmap(NULL, size, prot, flags, fd, offset) == MAP_FAILED && errno == EINVAL);
	TRUE(strstr(pfm_explain(), why));
}

static void writable(void)
{
	int fd = create();

	refused(WHOLE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0, "read-only");
	refused(WHOLE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0, "read-only");
	TRUE(!close(fd));
}

static void too_long(void)
{
	int fd = create();

	refused(WHOLE + 1, PROT_READ, MAP_PRIVATE, fd, 0, "has 16384 bytes");
	refused(WHOLE + 4096, PROT_READ, MAP_PRIVATE, fd, 0, "has 16384 bytes, not 20480");
	refused(4096, PROT_READ, MAP_PRIVATE, fd, 4096, "offset 0");
	TRUE(!close(fd));
}

static const struct {
	const char	*name;
	void		(*run)(void);
} cases[] = {
	{ "private", private }, { "unrounded", unrounded }, { "part", part }, { "twice", twice },
	{ "writable", writable }, { "too_long", too_long },
};

int main(int argc, char **argv)
{
	int found = 0;

	for (size_t i = 0; i < COUNT(cases); i++) {
		if (argc == 2 && strcmp(cases[i].name, argv[1]))
			continue;
		cases[i].run();
		found = 1;
	}
	return found ? failures != 0 : 2;
}
