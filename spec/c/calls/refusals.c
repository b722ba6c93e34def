// SPDX-License-Identifier: MIT
/*
 * refusals.c - calls that would end a program but for libperfmon's checks; machine: LPFM_MACHINE:
 *
 *   refusals file_size|views
 */
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "perfmon/perfmon.h"
#include "perfmon/perfmon_dfl_smpl.h"
#include "../parts.h"

static int with_buffer(size_t size)
{
	pfm_dfl_smpl_arg_t arg = { .buf_size = size };
	pfarg_ctx_t ctx = { 0 };

	return pfm_create_context(&ctx, "default", &arg, sizeof(arg));
}

/*
 * 3.1.1: the call to "check the size of the buffer against certain resource limits" ends in ENOMEM,
 * and not in SIGXFSZ.
 */
static void file_size(void)
{
	struct rlimit limit = { 16384, 16384 };
	int fd;

	CHECK(!setrlimit(RLIMIT_FSIZE, &limit));
	CHECK(with_buffer(16385) == -1 && errno == ENOMEM && strstr(pfm_explain(), "RLIMIT_FSIZE"));
	CHECK((fd = with_buffer(16384)) >= 0);
	close(fd);
	limit.rlim_cur = 0;
	CHECK(!setrlimit(RLIMIT_FSIZE, &limit));
	CHECK(with_buffer(16384) == -1 && errno == ENOMEM && strstr(pfm_explain(), "RLIMIT_FSIZE"));
	open("/sys/kernel/perfmon/version", O_RDONLY);
}

#define IS_EFAULT(call) CHECK(((call) == -1 && errno == EFAULT))

/*
 * The calls of views return EFAULT for NULL, and for a view that is not mapped: its page is NULL.
 */
static void views(void)
{
	static const uint16_t nums[] = { 64 };
	pfarg_ctx_t ctx = { .ctx_flags = PFM_FL_MAP_SETS };
	pfm_view_t none = { 0 }, view;
	uint64_t value;
	int fd = pfm_create_context(&ctx, NULL, NULL, 0);

	IS_EFAULT(pfm_map_set(fd, 0, NULL));
	IS_EFAULT(pfm_unmap_set(NULL));
	IS_EFAULT(pfm_unmap_set(&none));
	IS_EFAULT(pfm_read_view(NULL, nums, &value, 1));
	IS_EFAULT(pfm_read_view(&none, nums, &value, 1));
	IS_EFAULT(pfm_read_mapped(NULL, nums, &value, 1));
	IS_EFAULT(pfm_read_mapped(&none, nums, &value, 1));
	CHECK(!pfm_map_set(fd, 0, &view));
	IS_EFAULT(pfm_read_view(&view, NULL, &value, 1));
	IS_EFAULT(pfm_read_view(&view, nums, NULL, 1));
	IS_EFAULT(pfm_read_mapped(&view, NULL, &value, 1));
	IS_EFAULT(pfm_read_mapped(&view, nums, NULL, 1));
	CHECK(pfm_read_view(&view, nums, &value, 1) >= 0);
	CHECK(!pfm_unmap_set(&view));
	IS_EFAULT(pfm_unmap_set(&view));
	close(fd);
}

static const struct part parts[] = { { "file_size", file_size }, { "views", views }, { NULL, NULL } };

int main(int argc, char **argv)
{
	return run_part(parts, argc, argv);
}
