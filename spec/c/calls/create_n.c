// SPDX-License-Identifier: MIT
/*
 * create_n.c - the calls of section 6.1, with pfm_create_context() as 6.1.1 has it. Silent where
 * all is well.
 */
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "perfmon/perfmon.h"
#include "perfmon/perfmon_dfl_smpl.h"
#include "../parts.h"

static void refused(void)
{
	pfarg_ctx_t two[2];

	memset(two, 0, sizeof(two));
	CHECK(pfm_create_context(two, 0) == -1 && errno == EFAULT);
	CHECK(pfm_create_context(two, 2) == -1 && errno == EFAULT);
	CHECK(pfm_create_context(NULL, 1) == -1 && errno == EFAULT);
	two[0].ctx_flags = 0x4000;
	CHECK(pfm_create_context(two, 1) == -1 && errno == EINVAL);
}

static void default_policy(void)
{
	pfarg_ctx_t ctx;

	memset(&ctx, 0, sizeof(ctx));
	CHECK(pfm_create_context(&ctx, 1) == 0);
	CHECK(ctx.ctx_fd > 2 && !ctx.ctx_smpl_buf_size);
	CHECK(pfm_stop(ctx.ctx_fd) == -1 && errno == EINVAL); /* the context is not loaded */
	close(ctx.ctx_fd);
}

/* 3.5.3: names the format by its UUID, and puts its argument behind the structure. */
static void with_format(void)
{
	struct {
		pfarg_ctx_t		ctx;
		pfm_dfl_smpl_arg_t	arg;
	} req;
	const pfm_uuid_t uuid = PFM_DFL_SMPL_UUID;
	const pfm_dfl_smpl_hdr_t *hdr;

	memset(&req, 0, sizeof(req));
	memcpy(req.ctx.ctx_smpl_buf_id, uuid, sizeof(uuid));
	req.arg.buf_size = 8192;
	CHECK(pfm_create_context(&req.ctx, 1) == 0);
	CHECK(req.ctx.ctx_smpl_buf_size == 8192);
	hdr = pfm_map_buffer(req.ctx.ctx_fd, 8192);
	CHECK(hdr != MAP_FAILED && hdr->hdr_version == PFM_DFL_SMPL_VERSION);
	close(req.ctx.ctx_fd);
}

int main(void)
{
	refused();
	default_policy();
	with_format();
	return failures != 0;
}
