/* SPDX-License-Identifier: MIT */
/*
 * limits.c - how many descriptors this process may have. Each thread that is measured takes several.
 */
/***
@submodule lpfm.proc
*/
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "base/result.h"
#include "process/proc.h"

static struct rlimit before;
static bool raised;

/* Async-signal-safe: a child gets the limit that we were started with. */
void lpfm_restore_limits(void)
{
	if (raised)
		setrlimit(RLIMIT_NOFILE, &before);
}

/***
Raises this process's limit of descriptors (RLIMIT_NOFILE) as far as permitted: a context of a thread takes
one more than it has events, and two. Programs started by proc.spawn get the limit that was there before.
@function lpfm.proc.raise_nofile
@treturn[1] int how many descriptors there can be
@return[2] nil
@treturn[2] string message
@treturn[2] int errno
@usage assert(require("lpfm.proc").raise_nofile() >= 256)
*/
int lpfm_proc_raise_nofile(lua_State *L)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return lpfm_fail_errno(L, errno, "raise_nofile: %s", strerror(errno));
	if (!raised)
		before = limit;
	limit.rlim_cur = limit.rlim_max;
	if (limit.rlim_cur != before.rlim_cur) {
		if (setrlimit(RLIMIT_NOFILE, &limit))
			return lpfm_fail_errno(L, errno, "raise_nofile: %s", strerror(errno));
		raised = true;
	}
	lua_pushnumber(L, (lua_Number)limit.rlim_cur);
	return 1;
}
