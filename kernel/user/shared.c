// SPDX-License-Identifier: MIT
/*
 * shared.c - the limits that apply to several processes together: one context per thread and CPU
 * (3.1.7), memory of sampling buffers (4.4.3), the configuration (3.1.16).
 *
 * The processes of a user share a file, of which only record locks are used: a locked byte
 * represents a thread or a CPU that has a context, or a page of a buffer. The kernel releases the
 * locks when a process ends, however it ends; nothing ever waits for one without a time limit. The
 * file must belong to the user: if another user has put a file in its place, the next folder is
 * tried. Without a file each process has limits of its own. The configuration belongs to root: it
 * is a file in /run that all may read, and that is valid only if root owns it and no other user can
 * write it.
 */
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core.h"
#include "desc.h"

/* --- the file ------------------------------------------------------------------------------- */

static struct {
	int	fd;		/* -1: there is no file; -2: it has not been opened yet */
	dev_t	dev;
	ino_t	ino;
} file = { .fd = -2 };
static struct pfm_machine *machine;	/* the machine to which the contexts belong */

static bool is_mine(int fd, struct stat *st)
{
	return !fstat(fd, st) && S_ISREG(st->st_mode) && st->st_uid == geteuid() && !(st->st_mode & 077) &&
	       st->st_nlink == 1;
}

/*
 * Opens or creates the user's lock file in the folder. Returns true if that has succeeded. The
 * file's name contains the number of the pid namespace, because thread ids are unique only within
 * a namespace.
 */
static bool open_in(const char *folder)
{
	struct stat ns, st;
	char path[256];
	int fd;

	if (stat("/proc/self/ns/pid", &ns))
		ns.st_ino = 0;
	snprintf(path, sizeof(path), "%s/perfmon-%u-%llu", folder, (unsigned int)geteuid(),
		 (unsigned long long)ns.st_ino);
	fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	if (!is_mine(fd, &st)) {
		close(fd);
		return false;
	}
	file.fd = fd;
	file.dev = st.st_dev;
	file.ino = st.st_ino;
	return true;
}

static void find_file(void)
{
	const char *chosen = secure_getenv("LPFM_SHARED");
	char run[64];

	snprintf(run, sizeof(run), "/run/user/%u", (unsigned int)geteuid());
	if (chosen && *chosen ? open_in(chosen) : (open_in("/dev/shm") || open_in(run)))
		return;
	file.fd = -1;
}

/*
 * Returns true if file.fd still refers to the file. The program may have closed all descriptors of
 * its process, and the number may be another file now.
 */
static bool is_ours(void)
{
	struct stat st;

	return file.fd >= 0 && !fstat(file.fd, &st) && st.st_dev == file.dev && st.st_ino == file.ino;
}

static int descriptor(void)
{
	if (file.fd != -1 && !is_ours())
		find_file();
	return file.fd;
}

static void close_file(void)
{
	if (is_ours())
		close(file.fd);
	file.fd = -2;
}

/*
 * Closes the file if this process holds no locks in it; bytes is the size of its sampling buffers.
 */
static void settle(const struct pfm_machine *m, uint64_t bytes)
{
	if (!m->thread_sessions && !m->sys_sessions && !bytes)
		close_file();
}

/* Called in a child after fork, which has none of its parent's locks, contexts and buffers. */
void pfm_shared_forget(void)
{
	close_file();
	if (machine)
		pfm_user_forget(machine);
}

/* --- locks ---------------------------------------------------------------------------------- */

#define THREADS		0LL		/* offset of the bytes for threads, by thread id */
#define CPUS		(1LL << 32)
#define CHARGING	(1LL << 33)	/* a byte that is locked while memory is counted */
/* offset of the bytes for pages of buffers; each process has a range of its own */
#define BUFFERS		(1LL << 40)
#define ROOM		(1LL << 32)	/* size of each process's range */
#define EVERYTHING	(1LL << 62)

static int lock(short type, off_t from, off_t n)
{
	struct flock l = { .l_type = type, .l_whence = SEEK_SET, .l_start = from, .l_len = n };
	int fd = descriptor();

	return fd < 0 ? 0 : fcntl(fd, F_SETLK, &l);
}

/* Returns a process that has a lock in the range, or 0 if there is none. */
static pid_t owner(off_t from, off_t n, struct flock *l)
{
	int fd = descriptor();

	*l = (struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = from, .l_len = n };
	return fd < 0 || fcntl(fd, F_GETLK, l) || l->l_type == F_UNLCK ? 0 : l->l_pid;
}

/*
 * Returns how many bytes of the range other processes have locked. F_GETLK finds any one lock in
 * the range, so the parts on both sides of it are searched again.
 */
static uint64_t locked(off_t from, off_t end)
{
	struct flock l;
	off_t at, to;

	if (from >= end || !owner(from, end - from, &l))
		return 0;
	at = l.l_start > from ? l.l_start : from;
	to = l.l_len && l.l_start + l.l_len < end ? l.l_start + l.l_len : end;
	return (uint64_t)(to - at) + locked(from, at) + locked(to, end);
}

/* --- contexts: 3.1.7 ------------------------------------------------------------------------ */

static off_t place_of(const struct pfm_context *ctx)
{
	return ctx->flags & PFM_FL_SYSTEM_WIDE ? CPUS + ctx->cpu : THREADS + ctx->tid;
}

static int refuse_second(const struct pfm_context *ctx, pid_t holder)
{
	bool sys = ctx->flags & PFM_FL_SYSTEM_WIDE;
	char path[40], name[32];

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)holder);
	if (!pfm_os_read(path, name, sizeof(name)))
		strcpy(name, "?");
	name[strcspn(name, "\n")] = '\0';
	return pfm_refuse(-EBUSY, "%s %u has a context already, of process %d (%s), and can have one only",
			  sys ? "CPU" : "thread", sys ? ctx->cpu : ctx->tid, (int)holder, name);
}

static int claim(struct pfm_context *ctx)
{
	struct flock l;
	pid_t pid;

	if (!lock(F_WRLCK, place_of(ctx), 1) || (errno != EAGAIN && errno != EACCES))
		return 0;
	pid = owner(place_of(ctx), 1, &l);
	settle(ctx->machine, ctx->machine->smpl_buf_size_cur);
	return refuse_second(ctx, pid);
}

static void disclaim(struct pfm_context *ctx)
{
	lock(F_UNLCK, place_of(ctx), 1);
	settle(ctx->machine, ctx->machine->smpl_buf_size_cur);
}

/* --- memory: 4.4.3 -------------------------------------------------------------------------- */

static uint64_t page_size(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t others_bytes(void)
{
	return locked(BUFFERS, EVERYTHING) * page_size();
}

/*
 * Takes the lock under which memory is counted. A process that is stopped while it has this lock
 * does not block the others: after a second they go on without it.
 */
static void begin_charging(void)
{
	const struct timespec ms = { 0, 1000000 };

	for (int i = 0; i < 1000 && lock(F_WRLCK, CHARGING, 1); i++)
		nanosleep(&ms, NULL);
}

static bool hold(struct pfm_machine *m, uint64_t bytes, uint64_t was)
{
	off_t base = BUFFERS + (off_t)getpid() * ROOM;
	off_t from = base + (off_t)(was / page_size()), to = base + (off_t)(bytes / page_size());
	bool fits;

	if (to <= from) {
		if (to < from)
			lock(F_UNLCK, to, from - to);
		settle(m, bytes);
		return true;
	}
	begin_charging();
	fits = m->smpl_buf_size_max >= bytes && others_bytes() <= m->smpl_buf_size_max - bytes;
	if (fits)
		lock(F_WRLCK, from, to - from);
	lock(F_UNLCK, CHARGING, 1);
	settle(m, fits ? bytes : was);
	return fits;
}

/* Returns how many bytes perf_event lets each user lock beyond RLIMIT_MEMLOCK, on all CPUs. */
static uint64_t perf_grants(void)
{
	long kb = 516;

	pfm_os_read_number("/proc/sys/kernel/perf_event_mlock_kb", &kb);
	return 1024ULL * (uint64_t)kb * (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
}

/*
 * Returns how many bytes the user may still lock, by the limit of perf_event_open(2):
 * RLIMIT_MEMLOCK plus the bytes that perf grants every user for each processor.
 */
uint64_t pfm_user_lockable(struct pfm_machine *m)
{
	uint64_t used, limit;
	struct rlimit rl;

	if (getrlimit(RLIMIT_MEMLOCK, &rl) || rl.rlim_cur == RLIM_INFINITY)
		return ~0ULL;
	limit = rl.rlim_cur + perf_grants();
	pfm_os_lock();
	used = m->smpl_buf_size_cur + others_bytes();
	settle(m, m->smpl_buf_size_cur);
	pfm_os_unlock();
	return used < limit ? limit - used : 0;
}

static void others(struct pfm_machine *m, struct pfm_usage *others)
{
	others->thread_sessions = locked(THREADS, CPUS);
	others->sys_sessions = locked(CPUS, CHARGING);
	others->smpl_buf_size = others_bytes();
	settle(m, m->smpl_buf_size_cur);
}

/* --- the configuration: 3.1.16 -------------------------------------------------------------- */

#define CONFIG		"perfmon.conf"
#define CONFIG_FORM	0x70666d31U	/* must be changed when the structure changes */

struct config {
	uint32_t	form;
	uint32_t	sys_gid, thread_gid;
	uint32_t	reserved;
	uint64_t	arg_size_max, smpl_buf_size_max, ovfl_rate_max;
};

/* The file is in the folder that LPFM_SHARED names, or in /run. */
static bool path_of_config(char *path, size_t size, const char *suffix)
{
	const char *chosen = secure_getenv("LPFM_SHARED");
	int n = snprintf(path, size, "%s/" CONFIG "%s", chosen && *chosen ? chosen : "/run", suffix);

	return n > 0 && (size_t)n < size;
}

static bool read_config(struct config *c)
{
	char path[PATH_MAX];
	struct stat st;
	bool good;
	int fd;

	if (!path_of_config(path, sizeof(path), ""))
		return false;
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return false;
	good = !fstat(fd, &st) && S_ISREG(st.st_mode) && !st.st_uid && !(st.st_mode & 022) &&
	       read(fd, c, sizeof(*c)) == (ssize_t)sizeof(*c) && c->form == CONFIG_FORM;
	close(fd);
	return good;
}

/* Called with pfm_os_lock() held. */
static void refresh(struct pfm_machine *m)
{
	struct config c;

	machine = m;
	if (!read_config(&c))
		return;
	WRITE_ONCE(m->sys_gid, c.sys_gid);
	WRITE_ONCE(m->thread_gid, c.thread_gid);
	WRITE_ONCE(m->arg_size_max, c.arg_size_max);
	WRITE_ONCE(m->smpl_buf_size_max, c.smpl_buf_size_max);
	WRITE_ONCE(m->ovfl_rate_max, c.ovfl_rate_max);
}

static bool write_config(const char *path, const struct config *c)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	bool good;

	if (fd < 0)
		return false;
	good = pfm_file_may_have(sizeof(*c)) && write(fd, c, sizeof(*c)) == (ssize_t)sizeof(*c) && !fchmod(fd, 0644);
	return !close(fd) && good;
}

/*
 * Writes the configuration for all processes, by replacing the whole file. If the file cannot be
 * written, the configuration changes only in this process.
 */
static void spread(struct pfm_machine *m)
{
	const struct config c = {
		.form = CONFIG_FORM, .sys_gid = m->sys_gid, .thread_gid = m->thread_gid,
		.arg_size_max = m->arg_size_max, .smpl_buf_size_max = m->smpl_buf_size_max,
		.ovfl_rate_max = m->ovfl_rate_max,
	};
	char path[PATH_MAX], new[PATH_MAX], suffix[32];

	snprintf(suffix, sizeof(suffix), ".%u", (unsigned int)getpid());
	if (!path_of_config(path, sizeof(path), "") || !path_of_config(new, sizeof(new), suffix))
		return;
	if (!write_config(new, &c) || rename(new, path))
		unlink(new);
}

const struct pfm_sharing_ops pfm_user_sharing = {
	.claim = claim,
	.disclaim = disclaim,
	.hold = hold,
	.others = others,
	.refresh = refresh,
	.spread = spread,
};
