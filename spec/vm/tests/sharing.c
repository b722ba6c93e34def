// SPDX-License-Identifier: MIT
/*
 * sharing.c - the mappings of a context while other processes share the descriptor or the address
 * space (3.5.4): a close unmaps them from the process that closes, and from no process that still
 * has the descriptor.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/ioctl.h>

#include "../../../kernel/linux/abi/perfmon_ioctl.h"
#include "check.h"

static int shared_fd;
static void *buffer, *view;

static bool is_mapped(void *page)
{
	unsigned char in_core;

	return !mincore(page, 4096, &in_core);
}

static bool all_mapped(void)
{
	return is_mapped(buffer) && is_mapped(view);
}

static bool none_mapped(void)
{
	return !is_mapped(buffer) && !is_mapped(view);
}

static bool is_loaded(void)
{
	return ioctl(shared_fd, PFM_IOC(PFM_NR_IS_LOADED, 0), 0) == 1;
}

static void begin(int cloexec, int flags)
{
	pfm_dfl_smpl_arg_t format = { .buf_size = 4096 };
	pfarg_ctx_t ctx = { .ctx_flags = PFM_FL_MAP_SETS };
	pfarg_setinfo_t info = { .set_id = 0 };

	MUST(shared_fd = pfm_create_context(&ctx, "default", &format, sizeof(format)));
	MUST(fcntl(shared_fd, F_SETFD, cloexec));
	MUST(set_pmc(shared_fd, 0, FAULTS, SW_USER));
	MUST(load(shared_fd, my_tid()));
	MUST(pfm_getinfo_evtsets(shared_fd, &info, 1));
	buffer = (mmap)(NULL, 4096, PROT_READ, flags, shared_fd, 0);
	view = (mmap)(NULL, 4096, PROT_READ, MAP_SHARED, shared_fd, info.set_mmap_offset);
	TRUE(all_mapped());
}

/* --- acts ------------------------------------------------------------------------------------- */

static int nothing(void *unused)
{
	(void)unused;
	return 0;
}

static int execute(void *unused)
{
	(void)unused;
	execl("/bin/true", "true", NULL);
	return 9;
}

static int close_it(void *unused)
{
	(void)unused;
	return close(shared_fd);
}

static int close_own(void *unused)
{
	return unshare(CLONE_FILES) ? 9 : close_it(unused);
}

/* --- processes and threads that act ----------------------------------------------------------- */

typedef int act_t(void *unused);

/* Acts in another process that shares this address space. */
static int in_clone(act_t *act, void *arg, int flags)
{
	enum { STACK = 65536 };
	char *stack = malloc(STACK);
	int status = -1, pid = clone(act, stack + STACK, CLONE_VM | SIGCHLD | flags, arg);

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		status = -1;
	free(stack);
	return status;
}

static int by_clone(act_t *act)
{
	return in_clone(act, NULL, 0);
}

static int by_vfork(act_t *act)
{
	return in_clone(act, NULL, CLONE_VFORK);
}

static act_t *of_grandchild;

static int pass_on(void *unused)
{
	(void)unused;
	return by_vfork(of_grandchild);
}

static int by_grandchild(act_t *act)
{
	of_grandchild = act;
	return by_vfork(pass_on);
}

static int by_fork(act_t *act)
{
	int pid = fork(), status = -1;

	if (!pid)
		_exit(act(NULL));
	waitpid(pid, &status, 0);
	return status;
}

static int by_libc(act_t *act)
{
	FILE *f = popen("true", "r");

	(void)act;
	return f && !system("true") ? pclose(f) : -1;
}

static void *start(void *act)
{
	return (void *)(intptr_t)((act_t *)act)(NULL);
}

static int by_thread(act_t *act)
{
	void *ret = NULL;
	pthread_t thread;

	if (pthread_create(&thread, NULL, start, (void *)act))
		exit(3);
	pthread_join(thread, &ret);
	return (int)(intptr_t)ret;
}

/* --- tests ------------------------------------------------------------------------------------ */

static void try_one(int cloexec, int flags, const char *which, int (*by)(act_t *), const char *what, act_t *act)
{
	begin(cloexec, flags);
	EQUAL(by(act), 0);
	check(is_mapped(buffer), "%s, %s%s: the buffer is gone", which, what, cloexec ? ", close-on-exec" : "");
	check(is_mapped(view), "%s, %s%s: the view is gone", which, what, cloexec ? ", close-on-exec" : "");
	check(is_loaded(), "%s, %s%s: the context is unloaded", which, what, cloexec ? ", close-on-exec" : "");
	close(shared_fd);
	check(none_mapped(), "%s, %s: the close leaves a mapping", which, what);
}

#define TRY(by, act) do { \
	try_one(0, MAP_SHARED, #by, by, #act, act); \
	try_one(FD_CLOEXEC, MAP_SHARED, #by, by, #act, act); \
	try_one(FD_CLOEXEC, MAP_PRIVATE, #by, by, #act, act); \
} while (0)

#define TRY_ALL(by) do { \
	TRY(by, nothing); \
	TRY(by, execute); \
	TRY(by, close_it); \
	TRY(by, close_own); \
} while (0)

static void what_others_close_stays_mapped(void)
{
	TRY_ALL(by_fork);
	TRY_ALL(by_vfork);
	TRY_ALL(by_grandchild);
	TRY_ALL(by_clone);
	TRY(by_libc, nothing);
}

static atomic_bool is_apart, shall_close;

/* Runs in a thread: unshares the descriptor table, and closes the descriptor on request. */
static int close_when_told(void *unused)
{
	if (unshare(CLONE_FILES))
		exit(3);
	is_apart = true;
	while (!shall_close)
		sched_yield();
	return close_it(unused);
}

/* A process has the descriptor as long as one of its threads has it. */
static void threads_with_descriptors_of_their_own(void)
{
	void *ret = (void *)1;
	pthread_t thread;

	TRY(by_thread, close_own);
	begin(0, MAP_SHARED);
	if (pthread_create(&thread, NULL, start, (void *)close_when_told))
		exit(3);
	while (!is_apart)
		sched_yield();
	close(shared_fd);
	TRUE(all_mapped());
	shall_close = true;
	pthread_join(thread, &ret);
	EQUAL((intptr_t)ret, 0);
	TRUE(none_mapped());
}

/* A close of the process's own descriptor unmaps, whichever thread or process closes it. */
static void a_close_of_shared_descriptors_unmaps(void)
{
	begin(0, MAP_SHARED);
	EQUAL(by_thread(close_it), 0);
	TRUE(none_mapped());
	begin(0, MAP_SHARED);
	EQUAL(in_clone(close_it, NULL, CLONE_FILES | CLONE_VFORK), 0);
	TRUE(none_mapped());
}

int main(void)
{
	TEST(what_others_close_stays_mapped);
	TEST(threads_with_descriptors_of_their_own);
	TEST(a_close_of_shared_descriptors_unmaps);
	return tests_failed > 0;
}
