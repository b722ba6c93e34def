// SPDX-License-Identifier: MIT
/* cgroup.c - pfm_set_cgroup(): restricts a system-wide context to the tasks of a cgroup. */
#include <fcntl.h>
#include <unistd.h>

#include "desc.h"

int pfm_user_cgroup(const struct pfm_context *ctx)
{
	const struct pfm_desc *d = ctx->transport;

	return d->cgroup;
}

static int check(const struct pfm_context *ctx)
{
	if (strcmp(pfm_ops(ctx)->name, "perf") != 0)
		return pfm_refuse(-EOPNOTSUPP, "the machine %s cannot tell cgroups apart; LPFM_MACHINE=perf can",
				  pfm_ops(ctx)->name);
	if (!(ctx->flags & PFM_FL_SYSTEM_WIDE))
		return pfm_refuse(-EINVAL, "a context of threads has no cgroup: SYSTEM_WIDE is needed");
	if (ctx->state != PFM_CTX_UNLOADED)
		return pfm_refuse(-EINVAL, "the context is loaded: unload it first");
	return 0;
}

static int set(struct pfm_desc *d, const char *path)
{
	int fd = -1, ret = check(d->ctx);

	if (ret)
		return ret;
	if (path)
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (path && fd < 0) {
		ret = -errno;
		return pfm_refuse(ret == -ENOENT || ret == -ENOTDIR ? -EINVAL : ret, "cgroup '%s': %s", path,
				  strerror(-ret));
	}
	if (d->cgroup >= 0)
		close(d->cgroup);
	d->cgroup = fd;
	return 0;
}

/*
 * Returns the error for a descriptor that is not a context of this library. If the machine is
 * perfmon.ko, the descriptor may be a context of the module.
 */
static int refuse_other(void)
{
	pfm_machine_info_t info;

	if (!pfm_get_machine(&info) && !strcmp(info.name, "linux"))
		return pfm_refuse(-EOPNOTSUPP, "perfmon.ko cannot tell cgroups apart; LPFM_MACHINE=perf can");
	return -EBADF;
}

int pfm_set_cgroup(int fd, const char *path)
{
	sigset_t saved;
	struct pfm_desc *d = pfm_desc_enter(fd, &saved);
	int ret = d ? set(d, path) : refuse_other();

	pfm_desc_leave(d, &saved);
	return pfm_result(ret);
}
