// SPDX-License-Identifier: MIT
/*
 * hostile_files.c - descriptors and mappings that several threads misuse: they are closed while
 * they are used, mapped and partly unmapped; the owners of their signals die; and there are
 * thousands of them.
 */
#include "hostile.h"

/* --- closed: close() and dup2() while other threads use the descriptor ------------------------ */

enum { SHARED_FDS = 4 };
static volatile int shared_fds[SHARED_FDS] = { -1, -1, -1, -1 };

static void map_shortly(int fd)
{
	size_t size = 4096u << any(3);
	void *map = (mmap)(NULL, size, PROT_READ, MAP_SHARED, fd, 0);

	if (try(map == MAP_FAILED ? -1 : 0))
		return;
	access(map, F_OK);			/* makes the kernel read the mapping */
	(munmap)(map, size);
}

static void use(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	pfarg_pmd_t pmds[] = { { .reg_num = COUNTER }, { .reg_num = CLOCK }, { .reg_num = FAULTS } };

	switch (any(10)) {
	case 0: serve(fd); break;
	case 1: try(poll(&p, 1, (int)any(5))); break;
	case 2: let_overflow(fd, 1000 + any(30000), any(2)); break;
	case 3: try(load(fd, any(2) ? my_tid() : getpid())); break;
	case 4: try(pfm_start(fd, NULL)); break;
	case 5: try(pfm_stop(fd)); break;
	case 6: try(pfm_unload_context(fd)); break;
	case 7: try(pfm_read_pmds(fd, pmds, 3)); break;
	case 8: map_shortly(fd); break;
	default: busy(20000);
	}
}

static void *user(void *none)
{
	draw_anew();
	while (!quit) {
		int fd = shared_fds[any(SHARED_FDS)];

		if (fd >= 0)
			use(fd);
		else
			sched_yield();
	}
	return none;
}

/*
 * Closes a descriptor; perhaps another context takes its place, at the same number or at another.
 */
static void replace(volatile int *at)
{
	int old = *at, fd = old < 0 || any(3) ? any_context(0) : -1;

	if (old >= 0 && fd >= 0 && any(2)) {
		dup2(fd, old);
		close(fd);
		return;
	}
	*at = fd;
	if (old >= 0)
		close(old);
}

static void close_and_replace(void)
{
	crew_starts(5, user);
	for (int i = 200 + (int)any(200); i && !over(); i--) {
		replace(&shared_fds[any(SHARED_FDS)]);
		busy(30000);
		pthread_kill(crew[any(5)], SIGIO);
	}
}

/* Runs in processes of its own, which end and so close descriptors while threads use them. */
static void closed(void)
{
	while (!over()) {
		pid_t pid = spawn(close_and_replace);

		waitpid(pid, NULL, 0);
		try(0);
	}
}

/* --- maps: cut up, moved, inherited, longer-lived than the descriptor ------------------------- */

enum { MAP_SIZE = 32768 };

static char *cut_up(char *map)
{
	char *moved = map;

	switch (any(6)) {
	case 0: (munmap)(map + 8192, 8192); break;
	case 1: moved = mremap(map, MAP_SIZE, MAP_SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, map + (1 << 30)); break;
	case 2: mprotect(map + 4096, 4096, PROT_NONE); break;
	case 3: madvise(map, MAP_SIZE, MADV_DONTFORK); break;
	case 4: moved = mremap(map, MAP_SIZE, 2 * MAP_SIZE, MREMAP_MAYMOVE); break;
	default: mremap(map, MAP_SIZE, 4096, 0);
	}
	return moved == MAP_FAILED ? map : moved;
}

static void inherit(char *map)
{
	int fd = common_fd;
	pid_t pid = fork();

	if (pid) {
		waitpid(pid, NULL, 0);
		return;
	}
	if (any(2))
		(munmap)(map, any(2) ? MAP_SIZE : 4096);
	if (any(2))
		close(fd);
	if (any(2))
		map_shortly(fd);
	if (any(3) == 0)
		execl("/proc/self/exe", "nap", "nap", NULL);
	_exit(0);
}

static void *mapper(void *none)
{
	draw_anew();
	while (!quit) {
		int fd = common_fd;
		char *map = (mmap)(NULL, MAP_SIZE, PROT_READ, MAP_SHARED, fd, 0), *at;

		if (try(map == MAP_FAILED ? -1 : 0)) {
			sched_yield();
			continue;
		}
		access(map, F_OK);
		at = cut_up(map);
		if (any(2))
			inherit(at);
		(munmap)(at, MAP_SIZE);
		if (at != map)
			(munmap)(map, MAP_SIZE);
	}
	return none;
}

/* Runs in a process of its own: its end removes the mappings that its threads have left. */
static void map_and_close(void)
{
	crew_starts(4, mapper);
	while (!over()) {
		int fd = sampler(0, MAP_SIZE), copy = any(2) ? dup(fd) : -1;

		let_overflow(fd, 3000, 0);
		load_and_start(fd, getpid());
		common_fd = copy >= 0 && any(2) ? copy : fd;
		busy(200000);
		close(fd);
		busy(30000);
		common_fd = -1;
		if (copy >= 0)
			close(copy);
	}
}

static void maps(void)
{
	waitpid(spawn(map_and_close), NULL, 0);
	try(0);
}

/* --- owners: processes, groups and threads that get the signal, and die ----------------------- */

static void *own(void *at)
{
	struct f_owner_ex owner = { F_OWNER_TID, my_tid() };

	draw_anew();
	fcntl(*(int *)at, F_SETOWN_EX, &owner);
	busy(100000);
	return NULL;
}

static void be_owner(void)
{
	if (any(2))
		setpgid(0, 0);
	busy(60000);
}

static void change_owner(int *fd)
{
	pid_t owner = spawn(be_owner);
	pthread_t thread;
	bool is_thread = any(2) && !pthread_create(&thread, NULL, own, fd);

	try(fcntl(*fd, F_SETOWN, any(3) ? owner : -owner));
	for (int i = (int)any(10); i; i--) {
		serve(*fd);
		usleep(any(300));
	}
	fcntl(*fd, F_SETFL, O_NONBLOCK | (any(3) ? O_ASYNC : 0));
	if (is_thread)
		pthread_join(thread, NULL);
	kill_and_reap(owner);
}

static void owners(void)
{
	while (!over()) {
		pid_t pid = spawn(work_for_ever);
		int fd = any_context(any(2) ? PFM_FL_OVFL_NO_MSG : 0);

		fcntl(fd, F_SETFL, O_NONBLOCK | O_ASYNC);
		fcntl(fd, F_SETSIG, any(2) ? 0 : SIGRTMIN);
		let_overflow(fd, 500 + any(5000), PFM_REGFL_OVFL_NOTIFY);
		load_and_start(fd, pid);
		for (int i = 0; i < 15 && !over(); i++)
			change_owner(&fd);
		kill_and_reap(pid);
		close(fd);
	}
}

/* --- many: thousands of contexts of one thread, and of threads that die at once --------------- */

enum { MANY = 3000, LOADED = 100 };

static void many(void)
{
	static int fds[MANY];
	int n = 0;

	for (; n < MANY && !over(); n++) {
		fds[n] = any(10) ? new_context(0) : sampler(0, 4096);
		if (try(fds[n]) < 0)
			break;
		try(set_pmc(fds[n], 0, FAULTS, SW_USER));
	}
	TRUE(n > 10);
	for (int i = 0; i < 200; i++) {
		int fd = fds[any((uint32_t)n)];

		load_and_start(fd, my_tid());
		fault(3);
		if (any(2))
			try(pfm_unload_context(fd));
	}
	while (n)
		close(fds[--n]);
}

static void work_and_rest(void)
{
	for (;;) {
		busy(1000);
		fault(1);
		usleep(1000 + any(5000));
	}
}

static void loaded(void)
{
	static int fds[LOADED];
	static pid_t pids[LOADED];

	while (!over() && !test_failed) {
		for (int i = 0; i < LOADED; i++) {
			pids[i] = spawn(work_and_rest);
			fds[i] = any_context(maybe_block());
			let_overflow(fds[i], 2000, any(2));
			if (!load_and_start(fds[i], pids[i])) {
				close(fds[i]);
				fds[i] = -1;
			}
		}
		for (int i = 0; i < LOADED; i++)
			kill(pids[i], SIGKILL);
		for (int i = 0; i < LOADED; i += 2) {
			close(fds[i]);
			fds[i] = -1;
		}
		for (int i = 0; i < LOADED; i++) {
			kill_and_reap(pids[i]);
			check(fds[i] < 0 || await_message(fds[i], PFM_MSG_END), "the end of thread %d was not told", i);
			close(fds[i]);
		}
	}
}

int main(int argc, char **argv)
{
	static const struct scenario all[] = {
		{ "closed", closed }, { "maps", maps }, { "owners", owners }, { "many", many }, { "loaded", loaded },
		{ NULL, NULL },
	};

	if (!strcmp(argv[0], "nap"))
		return 0;
	return run_scenarios(all, argc, argv);
}
