// SPDX-License-Identifier: MIT
/*
 * shared.c - what processes on machine perf share, as specified: contexts of one thread or CPU
 * (3.1.7), memory (4.4.3), the configuration (3.1.16). LPFM_SHARED is a folder of the test's own.
 *
 *   shared threads|cpus|killed|forked|memory|memlock|squatted
 *   shared config		root, with a /run of the test's own
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perfmon/perfmon.h"
#include "perfmon/perfmon_dfl_smpl.h"
#include "../parts.h"

static int new_context(uint32_t flags)
{
	pfarg_ctx_t ctx = { .ctx_flags = flags };

	return pfm_create_context(&ctx, NULL, NULL, 0);
}

static int with_buffer(size_t size)
{
	pfm_dfl_smpl_arg_t arg = { .buf_size = size };
	pfarg_ctx_t ctx = { 0 };

	return pfm_create_context(&ctx, "default", &arg, sizeof(arg));
}

static int load(int fd, pid_t tid)
{
	pfarg_load_t req = { .load_pid = (uint32_t)tid };

	return pfm_load_context(fd, &req);
}

static pfarg_config_t config(void)
{
	pfarg_config_t cfg;

	CHECK(!pfm_get_config(&cfg));
	return cfg;
}

/* --- other processes ------------------------------------------------------------------------ */

/* A process without contexts that runs work(arg), reports that, and ends when asked to. */
struct process {
	pid_t	pid;
	int	to, from;
};

static struct process start(void (*work)(long), long arg)
{
	int down[2], up[2];
	struct process p;
	char byte = 0;

	CHECK(!pipe(down) && !pipe(up));
	p.pid = fork();
	if (!p.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(down[1]);
		close(up[0]);
		if (work)
			work(arg);
		CHECK(write(up[1], &byte, 1) == 1);
		fflush(stdout);
		CHECK(read(down[0], &byte, 1) == 1);
		_exit(failures != 0);
	}
	close(down[0]);
	close(up[1]);
	p.to = down[1];
	p.from = up[0];
	CHECK(read(p.from, &byte, 1) == 1);
	return p;
}

static void finish(struct process p)
{
	int status = -1;

	CHECK(write(p.to, "", 1) == 1);
	close(p.to);
	close(p.from);
	CHECK(waitpid(p.pid, &status, 0) == p.pid && status == 0);
}

static void kill_it(struct process p)
{
	CHECK(!kill(p.pid, SIGKILL));
	close(p.to);
	close(p.from);
	CHECK(waitpid(p.pid, NULL, 0) == p.pid);
}

/* --- 3.1.7 ---------------------------------------------------------------------------------- */

/*
 * If a thread has a context, a load from another process is refused, and the message names the
 * holder.
 */
static void refused_here(long tid)
{
	char by[64];
	int fd = new_context(0);

	CHECK(load(fd, (pid_t)tid) == -1 && errno == EBUSY);
	snprintf(by, sizeof(by), "of process %u", (unsigned int)getppid());
	CHECK(strstr(pfm_explain(), by));
	close(fd);
}

static void accepted_here(long tid)
{
	int fd = new_context(0);

	CHECK(!load(fd, (pid_t)tid));
	close(fd);
}

static void in_another(void (*work)(long), long arg)
{
	finish(start(work, arg));
}

/* "A thread can have, at most, one context attached to it." */
static void threads(void)
{
	struct process target = start(NULL, 0), other = start(NULL, 0);
	int fd = new_context(0);

	CHECK(!load(fd, target.pid));
	in_another(refused_here, target.pid);
	in_another(accepted_here, other.pid);
	CHECK(!pfm_unload_context(fd));
	in_another(accepted_here, target.pid);
	CHECK(!load(fd, target.pid));
	in_another(refused_here, target.pid);
	close(fd);
	fd = new_context(0);	/* the closed context has ended */
	CHECK(!load(fd, target.pid));
	CHECK(config().cf_thread_sessions == 1);
	close(fd);
	finish(target);
	finish(other);
}

static void wide_refused_here(long any)
{
	int fd = new_context(PFM_FL_SYSTEM_WIDE);
	pfarg_load_t req = { .load_pid = (uint32_t)gettid() };

	(void)any;
	CHECK(pfm_load_context(fd, &req) == -1 && errno == EBUSY && strstr(pfm_explain(), "CPU"));
	CHECK(config().cf_sys_sessions == 1);
	close(fd);
}

/* "There can only be one system-wide context bound to a CPU core at a time." */
static void cpus(void)
{
	int fd = new_context(PFM_FL_SYSTEM_WIDE);
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((unsigned int)sched_getcpu(), &set);
	CHECK(!sched_setaffinity(0, sizeof(set), &set));
	CHECK(!load(fd, gettid()));
	in_another(wide_refused_here, 0);
	in_another(accepted_here, getpid()); /* contexts of CPUs do not exclude those of threads */
	close(fd);
}

static void keep_loaded(long tid)
{
	CHECK(!load(new_context(0), (pid_t)tid));
	CHECK(with_buffer(40960) >= 0);
}

/* A killed process leaves no context; a stopped one keeps its own, and blocks no other process. */
static void killed(void)
{
	struct process target = start(NULL, 0), holder = start(keep_loaded, target.pid);
	int fd = new_context(0);

	CHECK(!kill(holder.pid, SIGSTOP));
	CHECK(load(fd, target.pid) == -1 && errno == EBUSY);
	CHECK(config().cf_smpl_buf_size_cur == 40960 && config().cf_thread_sessions == 1);
	kill_it(holder);
	CHECK(config().cf_smpl_buf_size_cur == 0 && config().cf_thread_sessions == 0);
	CHECK(!load(fd, target.pid));
	close(fd);
	finish(target);
}

static void count_here(long any)
{
	pfarg_config_t cfg = config();
	int fd;

	(void)any;
	CHECK(cfg.cf_thread_sessions == 1 && cfg.cf_smpl_buf_size_cur == 8192);
	CHECK((fd = with_buffer(4096)) >= 0 && !load(fd, getpid()));
	cfg = config();
	CHECK(cfg.cf_thread_sessions == 2 && cfg.cf_smpl_buf_size_cur == 12288);
}

/* 3.1.1: a child has the descriptors; contexts and buffers count as the parent's. */
static void forked(void)
{
	int fd = with_buffer(8192);

	CHECK(!load(fd, getpid()));
	in_another(count_here, 0);
	CHECK(config().cf_thread_sessions == 1 && config().cf_smpl_buf_size_cur == 8192);
	close(fd);
}

/* --- 4.4.3 ---------------------------------------------------------------------------------- */

static void hold_some(long bytes)
{
	CHECK(with_buffer((size_t)bytes) >= 0);
}

static void too_much(long bytes)
{
	CHECK(with_buffer((size_t)bytes) == -1 && errno == ENOMEM);
}

/* The limit is for "all the sampling buffers existing in the system at any one time". */
static void memory(void)
{
	struct process a = start(hold_some, 40960), b = start(hold_some, 20480);
	pfarg_config_t cfg = config();
	int fd;

	CHECK(cfg.cf_smpl_buf_size_cur == 61440);
	cfg.cf_smpl_buf_size_max = 81920;
	CHECK(!pfm_set_config(&cfg));
	CHECK(with_buffer(20481) == -1 && errno == ENOMEM && strstr(pfm_explain(), "cf_smpl_buf_size_max"));
	CHECK((fd = with_buffer(20480)) >= 0);
	CHECK(with_buffer(4096) == -1 && errno == ENOMEM);
	CHECK(config().cf_smpl_buf_size_cur == 81920);
	finish(a);
	CHECK(config().cf_smpl_buf_size_cur == 40960);
	CHECK(with_buffer(40960) >= 0);
	/*
	 * a closed context's buffer does not exist any more: there is room for another one at once
	 */
	for (int i = 0; i < 20; i++) {
		close(fd);
		CHECK(config().cf_smpl_buf_size_cur == 61440);
		CHECK((fd = with_buffer(20480)) >= 0);
		close(fd);
		CHECK((fd = with_buffer(20480)) >= 0);
	}
	close(fd);
	finish(b);
}

static void become_nobody(void)
{
	CHECK(!setresgid(65534, 65534, 65534) && !setresuid(65534, 65534, 65534));
}

/* A size is checked "against certain resource limits": RLIMIT_MEMLOCK and perf's, of the user. */
static void memlock(void)
{
	struct rlimit limit = { 65536, 65536 };
	struct process a;
	unsigned int kb = 0;
	FILE *f = fopen("/proc/sys/kernel/perf_event_mlock_kb", "r");
	long all;

	CHECK(f && fscanf(f, "%u", &kb) == 1);
	fclose(f);
	all = 65536 + 1024L * kb * sysconf(_SC_NPROCESSORS_ONLN);
	CHECK(!setrlimit(RLIMIT_MEMLOCK, &limit));
	if (!geteuid())
		become_nobody();
	CHECK(with_buffer((size_t)all + 1) == -1 && errno == ENOMEM && strstr(pfm_explain(), "RLIMIT_MEMLOCK"));
	a = start(hold_some, all - 8192);
	in_another(too_much, 12288);
	in_another(hold_some, 8192);
	finish(a);
	in_another(hold_some, all);
}

/* --- what another user puts in the file's place ---------------------------------------------- */

static void works_alone(const char *what)
{
	struct process p = start(accepted_here, getpid());	/* the load must not block */

	finish(p);
	if (failures)
		printf("  with %s in its place\n", what);
}

static void name(char *path, size_t size)
{
	struct stat ns;

	CHECK(!stat("/proc/self/ns/pid", &ns));
	snprintf(path, size, "%s/perfmon-%u-%llu", getenv("LPFM_SHARED"), (unsigned int)geteuid(),
		 (unsigned long long)ns.st_ino);
	unlink(path);
}

/* None of these files is written to, waited for, or trusted. */
static void squatted(void)
{
	char path[256], elsewhere[300];
	struct stat st;

	name(path, sizeof(path));
	snprintf(elsewhere, sizeof(elsewhere), "%s.else", path);
	CHECK(!mkfifo(path, 0666));
	works_alone("a pipe");
	unlink(path);
	CHECK(!symlink(elsewhere, path));
	works_alone("a link");
	CHECK(stat(elsewhere, &st) == -1 && errno == ENOENT);
	unlink(path);
	CHECK(!mkdir(path, 0777));
	works_alone("a folder");
	rmdir(path);
	CHECK(close(open(path, O_RDWR | O_CREAT, 0666)) == 0 && !chmod(path, 0666));
	works_alone("a file that all may write");
	CHECK(!chmod(path, 0600));
	if (!geteuid()) {
		CHECK(!chown(path, 65534, 65534));
		works_alone("another user's file");
	}
	unlink(path);
}

/* --- 3.1.16 --------------------------------------------------------------------------------- */

static void see_config(long uid)
{
	pfarg_config_t cfg;

	if (uid)
		become_nobody();
	cfg = config();
	CHECK(cfg.cf_thread_gid == 12345 && cfg.cf_smpl_buf_size_max == 65536 && cfg.cf_arg_size_max == 8192);
	cfg.cf_thread_gid = PFM_GROUP_ANY;
	if (uid) {
		CHECK(new_context(0) == -1 && errno == EPERM && strstr(pfm_explain(), "12345"));
		CHECK(pfm_set_config(&cfg) == -1 && errno == EPERM);
	} else {
		CHECK(!pfm_set_config(&cfg));
		CHECK(with_buffer(65537) == -1 && errno == ENOMEM);
	}
}

static void see_none(long uid)
{
	if (uid)
		become_nobody();
	CHECK(config().cf_thread_gid == PFM_GROUP_ANY && new_context(0) >= 0);
}

/* "global properties of the perfmon interface": they concern the next command of all processes. */
static void system_config(void)
{
	pfarg_config_t cfg = config();

	CHECK(cfg.cf_thread_gid == PFM_GROUP_ANY);
	in_another(see_none, 1);
	cfg.cf_thread_gid = 12345;
	cfg.cf_smpl_buf_size_max = 65536;
	cfg.cf_arg_size_max = 8192;
	CHECK(!pfm_set_config(&cfg));
	in_another(see_config, 1);
	in_another(see_config, 0);
	CHECK(config().cf_thread_gid == PFM_GROUP_ANY);	/* see_config() has changed it */
	in_another(see_none, 1);
}

static const struct part parts[] = {
	{ "threads", threads }, { "cpus", cpus }, { "killed", killed }, { "forked", forked }, { "memory", memory },
	{ "memlock", memlock }, { "squatted", squatted }, { "config", system_config },
	{ NULL, NULL }
};

int main(int argc, char **argv)
{
	CHECK(!pfm_set_machine("perf", NULL));
	return run_part(parts, argc, argv);
}
