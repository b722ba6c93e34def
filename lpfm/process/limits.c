/* SPDX-License-Identifier: MIT */
/*
 * limits.c - the descriptors of this process: how many it may have, and which of them the programs
 * get that it executes.
 */
/***
@submodule lpfm.proc
*/
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/result.h"
#include "process/proc.h"

/*
 * Linux's default of fs.nr_open. lpfm opens no descriptor that high: those from MOST on were
 * inherited.
 */
enum { MOST = 1 << 20 };

static struct rlimit before;
static bool raised;
/* a bit for each descriptor that was open when the module was loaded */
static unsigned char given[MOST / 8];

static void each_descriptor(void (*fn)(int fd))
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		int fd = atoi(entry->d_name);

		if (fd > 2 && fd != dirfd(dir))
			fn(fd);
	}
	if (dir)
		closedir(dir);
}

static void note(int fd)
{
	if (fd < MOST)
		given[fd / 8] |= (unsigned char)(1 << fd % 8);
}

static void keep(int fd)
{
	int flags;

	if (fd >= MOST || given[fd / 8] & 1 << fd % 8)
		return;
	flags = fcntl(fd, F_GETFD);
	if (flags >= 0 && !(flags & FD_CLOEXEC))
		fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
}

void lpfm_note_descriptors(void)
{
	each_descriptor(note);
}

void lpfm_keep_descriptors(void)
{
	each_descriptor(keep);
}

/* Restores, in a child, the limit with which this process was started. It is async-signal-safe. */
void lpfm_restore_limits(void)
{
	if (raised)
		setrlimit(RLIMIT_NOFILE, &before);
}

/***
Raises this process's limit of descriptors (RLIMIT_NOFILE) as far as permitted, because a context of
a thread needs one descriptor for each event, and three more. Programs that are started by
proc.spawn get the limit that was there before.
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
