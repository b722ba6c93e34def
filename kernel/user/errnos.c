// SPDX-License-Identifier: MIT
/*
 * errnos.c - the specification says for each command of perfmonctl() that "the value of errno can
 * be any one of" a list. So perfmonctl() reports an errno from its command's list, while the
 * pfm_*() calls report the errnos of perfmon 2.x. Some errnos that the lists leave out are kept,
 * because none in the lists means the same: EBADF, EINVAL for arguments that the command's text
 * excludes, and ENOMEM.
 */
#include <errno.h>
#include <stdint.h>

#include "perfmon/perfmon.h"
#define PFM06_INTERNAL
#include "perfmon/perfmonctl.h"
#include "calls.h"

#define BIT(err)	(1ULL << (err))
#define ANYWHERE	(BIT(EBADF) | BIT(EINVAL) | BIT(EFAULT) | BIT(ENOSYS) | BIT(ENOMEM))

/*
 * For each command: the errnos that it may return in addition to those of ANYWHERE, and the errno
 * by which it replaces any other.
 */
static const struct list {
	uint64_t	listed;
	int		rest;
} lists[] = {
	[PFM_CREATE_CONTEXT] = { BIT(E2BIG) | BIT(EPERM), ENOMEM },
	[PFM_WRITE_PMCS] = { 0, EINVAL },
	[PFM_WRITE_PMDS] = { 0, EINVAL },
	[PFM_READ_PMDS] = { BIT(EBUSY), EBUSY },
	[PFM_START] = { BIT(EBUSY), EBUSY },
	[PFM_STOP] = { BIT(EBUSY), EBUSY },
	[PFM_LOAD_CONTEXT] = { BIT(EBUSY) | BIT(EPERM), EBUSY },
	[PFM_UNLOAD_CONTEXT] = { BIT(EBUSY), EBUSY },
	[PFM_RESTART] = { BIT(EBUSY), EBUSY },
	[PFM_CREATE_EVTSETS] = { 0, EINVAL },
	[PFM_DELETE_EVTSETS] = { 0, EINVAL },
	[PFM_GETINFO_EVTSETS] = { 0, EINVAL },
	[PFM_GETINFO_PMCS] = { 0, EINVAL },
	[PFM_GETINFO_PMDS] = { 0, EINVAL },
	[PFM_SET_CONFIG] = { BIT(EPERM), EINVAL },
	[PFM_GET_CONFIG] = { 0, EINVAL },
};

/*
 * Maps errors that mean a lack of permission to EPERM. ESRCH is one of them, because a thread that
 * does not exist may not be monitored either (3.1.7).
 */
static int permission(int err)
{
	return err == EACCES || err == ESRCH ? EPERM : err;
}

int pfm_listed_errno(int cmd, int err)
{
	const struct list *l = &lists[cmd];

	if (l->listed & BIT(EPERM))
		err = permission(err);
	return err < 64 && ((ANYWHERE | l->listed) & BIT(err)) ? err : l->rest;
}
