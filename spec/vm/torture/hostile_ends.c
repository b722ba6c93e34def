// SPDX-License-Identifier: MIT
/*
 * hostile_ends.c - contexts on threads that end, exec, or are about to: every end is reported,
 * once, and to the context that is loaded then.
 */
#include <dirent.h>
#include <limits.h>

#include "hostile.h"

/* --- lostend: an end under way, for a thread that was left, must not swallow the next one ----- */

static void hold_many_descriptors(void)
{
	struct rlimit r = { 100000, 100000 };
	int fd = open("/dev/null", O_RDONLY);

	setrlimit(RLIMIT_NOFILE, &r);
	while (dup(fd) >= 0)
		;
	wait_for_ever();
}

/*
 * Returns true if an exiting process has given up its descriptors; its exit is reported before
 * that.
 */
static bool exits_slowly(pid_t pid)
{
	char path[32];
	struct dirent *entry;
	int n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	dir = opendir(path);
	while (dir && n < 3 && (entry = readdir(dir)))
		n++;
	if (dir)
		closedir(dir);
	return n < 3;
}

static void lostend(void)
{
	pid_t slow = spawn(hold_many_descriptors), quick = spawn(wait_for_ever);
	int fd;

	MUST(fd = new_context(0));
	MUST(set_pmc(fd, 0, FAULTS, SW_USER));
	await_sleep(slow);
	await_sleep(quick);
	MUST(load(fd, slow));
	kill(slow, SIGKILL);
	while (!exits_slowly(slow))
		sched_yield();
	if (!pfm_unload_context(fd) && !load(fd, quick)) {
		kill_and_reap(quick);
		TRUE(await_message(fd, PFM_MSG_END));
	}
	kill_and_reap(slow);
	kill_and_reap(quick);
	close(fd);
}

/* --- ends: of many threads, while other contexts come and go ---------------------------------- */

enum { POOL = 50, VICTIMS = 15 };
static pid_t pool[POOL];

static void *mover(void *none)
{
	int fd = new_context(0);

	draw_anew();
	try(set_pmc(fd, 0, FAULTS, SW_USER));
	while (!quit) {
		try(load(fd, pool[any(POOL)]));
		try(pfm_unload_context(fd));
	}
	close(fd);
	return none;
}

static void kill_watched(void)
{
	pid_t pids[VICTIMS];
	int fds[VICTIMS];

	for (int i = 0; i < VICTIMS; i++) {
		pids[i] = spawn(wait_for_ever);
		fds[i] = new_context(0);
		try(set_pmc(fds[i], 0, FAULTS, SW_USER));
		if (check(!load(fds[i], pids[i]), "load: %s", pfm_explain()))
			continue;
		close(fds[i]);
		fds[i] = -1;
	}
	for (int i = 0; i < VICTIMS; i++)
		kill_and_reap(pids[i]);
	for (int i = 0; i < VICTIMS; i++) {
		check(fds[i] < 0 || await_message(fds[i], PFM_MSG_END), "the end of thread %d of %d was not told", i,
		      VICTIMS);
		close(fds[i]);
	}
}

static void ends(void)
{
	for (int i = 0; i < POOL; i++)
		pool[i] = spawn(wait_for_ever);
	crew_starts(3, mover);
	while (!over() && !test_failed)
		kill_watched();
	crew_ends();
	for (int i = 0; i < POOL; i++)
		kill_and_reap(pool[i]);
}

/* --- exits: threads that exit and exec, hunted by their numbers ------------------------------- */

static volatile pid_t first, latest;	/* children; the hunting threads have lower numbers */

static void hunt(int fd)
{
	pid_t to = latest + 1 - (pid_t)any(10);

	if (to < first || !load_and_start(fd, to))
		return;
	for (int i = (int)any(6); i; i--) {
		serve(fd);
		busy(3000);
	}
	if (any(2))
		try(pfm_unload_context(fd));
}

static void *hunter(void *none)
{
	int fd = -1;

	draw_anew();
	while (!quit) {
		if (fd < 0) {
			fd = any_context(maybe_block());
			let_overflow(fd, 2000 + any(10000), any(2));
		}
		hunt(fd);
		if (!any(20)) {
			close(fd);
			fd = -1;
		}
	}
	close(fd);
	return none;
}

static void *short_life(void *none)
{
	draw_anew();
	busy(20000);
	return none;
}

/* Perhaps creates a thread, and perhaps executes a program, which ends that thread. */
static void live_shortly(void)
{
	pthread_t other;

	busy(20000);
	if (any(2) && !pthread_create(&other, NULL, short_life, NULL))
		busy(20000);
	if (any(2))
		execl("/proc/self/exe", "nap", "nap", NULL);
}

static void exits(void)
{
	pid_t pids[10];

	first = INT_MAX;
	crew_starts(3, hunter);
	first = spawn(live_shortly);
	kill_and_reap(first);
	while (!over()) {
		for (int i = 0; i < 10; i++)
			latest = pids[i] = spawn(live_shortly);
		usleep(any(10000));
		/* a child may be held by a context that only its own descriptor keeps open */
		for (int i = 0; i < 10; i++)
			kill_and_reap(pids[i]);
	}
	crew_ends();
}

/* --- chains: exec and vfork, again and again -------------------------------------------------- */

static void exec_chain(int n)
{
	char left[16];

	snprintf(left, sizeof(left), "%d", n);
	execl("/proc/self/exe", "chain", "chain", left, NULL);
	_exit(1);
}

/* Runs in each link of the chain; n links are left. */
static int chain(int n)
{
	seed = (uint64_t)n;
	draw_anew();
	busy(30000);
	if (n % 3 == 0) {
		pid_t pid = vfork();

		if (!pid) {
			execl("/proc/self/exe", "nap", "nap", NULL);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	if (n > 0)
		exec_chain(n - 1);
	return 0;
}

static void begin_chain(void)
{
	exec_chain(8);
}

static void chains(void)
{
	while (!over()) {
		pid_t pid = spawn(begin_chain);
		int fd = any_context(maybe_block());

		let_overflow(fd, 3000, any(2));
		load_and_start(fd, pid);
		for (int i = 0; i < 400 && !over() && waitpid(pid, NULL, WNOHANG) == 0; i++) {
			serve(fd);
			if (!any(30))
				try(pfm_unload_context(fd));
			if (!any(5))
				load_and_start(fd, pid);
			usleep(any(2000));
		}
		close(fd);
		kill_and_reap(pid);
	}
}

/* --- execrace: exec against load and unload --------------------------------------------------- */

static void *load_and_unload(void *none)
{
	int fd = new_context(0);

	draw_anew();
	if (any(2) || try(set_pmc(fd, 0, 0, USER | CYCLES)))
		try(set_pmc(fd, 0, FAULTS, SW_USER));
	while (!quit) {
		if (latest && !try(load(fd, latest)) && any(2))
			busy(3000);
		try(pfm_unload_context(fd));
	}
	close(fd);
	return none;
}

static void execrace(void)
{
	latest = 0;
	crew_starts(2, load_and_unload);
	while (!over()) {
		latest = spawn(begin_chain);
		waitpid(latest, NULL, 0);
	}
	crew_ends();
}

int main(int argc, char **argv)
{
	static const struct scenario all[] = {
		{ "lostend", lostend }, { "ends", ends }, { "exits", exits }, { "chains", chains },
		{ "execrace", execrace }, { NULL, NULL },
	};

	if (!strcmp(argv[0], "nap"))
		return 0;
	if (!strcmp(argv[0], "chain"))
		return chain(atoi(argv[2]));
	return run_scenarios(all, argc, argv);
}
