// SPDX-License-Identifier: MIT
/*
 * torture.c - makes random calls, right and wrong, from several processes of two threads each.
 * Their contexts monitor each other and targets that fork, exec and are killed, while processors go
 * off and on and the configuration changes. Contexts are passed between processes and into
 * children. The seed is printed. In the end nothing may be left, and the machine must still count
 * right.
 *
 *   torture [SECONDS [SEED]]		SECONDS of the guest's time
 */
#include <pthread.h>
#include <sys/ioctl.h>
#include <time.h>

#include "any_program.h"
#include "check.h"
#include "perfmon/perfmon_fast.h"
#include "theft.h"

#define WORKERS		4
#define TARGETS		4
#define CONTEXTS	4

static _Thread_local uint64_t state;

static uint32_t any(uint32_t below)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(state >> 33) % below;
}

struct shared {
	pid_t		targets[TARGETS];
	pid_t		workers[WORKERS];
	pid_t		thief, bookkeeper;
	struct books	books;
	uint64_t	calls[WORKERS], good[WORKERS];
	pid_t		master;
	pfarg_config_t	before;
	volatile int	over;
};

static struct shared *shared;
static int sockets[2];		/* contexts travel through it */

/* --- targets ---------------------------------------------------------------------------------- */

static void target(unsigned int n)
{
	state = n;
	for (;;) {
		spin(1000 + any(200000));
		if (!any(8)) {
			pid_t pid = fork();

			if (!pid) {
				spin(1 + any(10000));
				if (any(2))
					execl("/proc/self/exe", "torture", "nap", NULL);
				_exit(0);
			}
			waitpid(pid, NULL, 0);
		}
		if (!any(4))
			sched_yield();
		if (!any(4))
			usleep(any(500));
		if (!any(30))
			execl("/proc/self/exe", "torture", "target", NULL);
	}
}

/* Kills a process. For kill(2), numbers below 2 mean init or many processes. */
static void kill_one(pid_t pid)
{
	if (pid > 1)
		kill(pid, SIGKILL);
}

static void keep_targets(void)
{
	for (int i = 0; i < TARGETS; i++) {
		pid_t pid;

		if (shared->targets[i] && waitpid(shared->targets[i], NULL, WNOHANG) != shared->targets[i])
			continue;
		pid = fork();
		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			target((unsigned int)getpid());
		}
		shared->targets[i] = pid;	/* set by the parent: in the child pid is 0 */
	}
}

/* --- workers ---------------------------------------------------------------------------------- */

struct ours {
	int	fd;
	void	*map;
	size_t	size;
	pfm_view_t view;
};

static struct ours ours[CONTEXTS];
static uint64_t calls, good;	/* by both threads of this process */

static void count(long ret)
{
	__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&good, ret >= 0, __ATOMIC_RELAXED);
}

/* Creates a context that counts, or samples by the format default, stack or program. */
static int create_one(pfarg_ctx_t *ctx)
{
	pfm_dfl_smpl_arg_t samples = { .buf_size = 4096u << any(4) };
	pfm_stack_smpl_arg_t stacks = { .buf_size = 4096u << any(6), .buf_flags = any(16) << 12,
					.max_frames = (uint16_t)any(200), .max_stack = (uint16_t)(8 * any(1025)) };

	if (any(2))
		return pfm_create_context(ctx, NULL, NULL, 0);
	if (any(3) == 0)
		return any_program((uint64_t)any(1u << 31) << 1 | 1, ctx);
	if (any(2))
		return pfm_create_context(ctx, PFM_STACK_SMPL_NAME, &stacks, sizeof(stacks));
	return pfm_create_context(ctx, "default", &samples, sizeof(samples));
}

static void open_one(struct ours *o)
{
	static const uint32_t flags[] = { 0, 0, 0, PFM_FL_NOTIFY_BLOCK, PFM_FL_OVFL_NO_MSG, PFM_FL_SYSTEM_WIDE,
					  PFM_FL_SYSTEM_WIDE | PFM_FL_ANY_CPU, 0x4000, PFM_FL_INHERIT, PFM_FL_INHERIT,
					  PFM_FL_MAP_SETS, PFM_FL_MAP_SETS | PFM_FL_NOTIFY_BLOCK };
	pfarg_ctx_t ctx = { .ctx_flags = flags[any(12)] };

	o->fd = create_one(&ctx);
	o->size = ctx.ctx_smpl_buf_size;
	o->map = MAP_FAILED;
	o->view.page = NULL;
	count(o->fd);
	if (o->fd < 0)
		return;
	fcntl(o->fd, F_SETFL, O_NONBLOCK | (any(2) ? O_ASYNC : 0));
	fcntl(o->fd, F_SETOWN, getpid());
	fcntl(o->fd, F_SETSIG, any(2) ? 0 : SIGRTMIN);
}

/* Creates a child, which holds all descriptors perhaps for longer than its parent lives. */
static void leave_to_a_child(void)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		spin(1 + any(100000));
		_exit(0);
	}
	if (pid < 0)
		return;
	if (any(2))
		kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

#define VIEW_SIZE	((sizeof(pfm_set_view_t) + 4095) & ~4095UL)

static void forget_view(struct ours *o)
{
	if (o->view.page)
		(munmap)((void *)o->view.page, VIEW_SIZE);
	o->view.page = NULL;
}

static void close_one(struct ours *o)
{
	if (any(2))	/* otherwise the view is unmapped after the close */
		forget_view(o);
	if (any(2) && o->map != MAP_FAILED)
		(munmap)(o->map, any(2) ? o->size : 4096);
	close(o->fd);
	o->fd = -1;
	forget_view(o);
}

static int some_reg(void)
{
	const int nums[] = { 0, 1, 2, 3, 4, 5, CYC, 64, 66, 69, 80, 99 };

	return nums[any(12)];
}

/* Returns a PMC value: instructions or cycles, perhaps also of the kernel; or any small number. */
static uint64_t some_pmc(void)
{
	return any(3) ? (any(2) ? USER : BOTH) | (any(2) ? CYCLES : INST) : any(10);
}

static void write_one(struct ours *o)
{
	pfarg_pmd_t pmd = { .reg_num = (uint16_t)some_reg(), .reg_set = (uint16_t)any(3) };
	uint64_t period = any(4) ? 20000 + any(100000) : any(8) ? 500 + any(4000) : 1 + any(100);

	count(set_pmc(o->fd, (int)any(3), some_reg(), some_pmc()));
	if (any(2)) {
		pmd.reg_value = pmd.reg_long_reset = pmd.reg_short_reset = -period;
		pmd.reg_flags = any(4);
		pmd.reg_random_mask = any(2) ? 0xff : 0;
		pmd.reg_smpl_pmds[0] = any(64);
		pmd.reg_reset_pmds[0] = any(4);
		pmd.reg_ovfl_switch_cnt = any(3);
	}
	count(pfm_write_pmds(o->fd, &pmd, 1));
}

/*
 * Draws a thread. The master is never drawn: it must not be held, for it kills processes that hold
 * each other.
 */
static pid_t some_thread(void)
{
	pid_t pid;

	switch (any(4)) {
	case 0:
		return getpid();
	case 1:
		return shared->workers[any(WORKERS)];
	case 2:
		pid = (pid_t)any(300);
		return pid == shared->master ? 0 : pid;
	default:
		return shared->targets[any(TARGETS)];
	}
}

static void sets_one(struct ours *o)
{
	pfarg_setdesc_t d = { .set_id = (uint16_t)any(3), .set_id_next = (uint16_t)any(3),
			      .set_flags = any(2) ? any(8) : any(64),
			      .set_timeout = 10000 + any(2000000) };
	pfarg_setinfo_t info = { .set_id = (uint16_t)any(3) };

	if (any(4))
		count(pfm_create_evtsets(o->fd, &d, 1));
	else if (any(2))
		count(pfm_delete_evtsets(o->fd, &d, 1));
	else
		count(pfm_getinfo_evtsets(o->fd, &info, 1));
}

static void map_one(struct ours *o)
{
	if (o->map == MAP_FAILED)
		o->map = (mmap)(NULL, o->size ? o->size : 4096, PROT_READ, MAP_SHARED, o->fd, 0);
	else if (any(2))
		(munmap)(o->map, o->size), o->map = MAP_FAILED;
}

/* Maps, reads or unmaps a view. Only this thread does: the other reads no views. */
static void view_one(struct ours *o)
{
	pfarg_setinfo_t info = { .set_id = o->view.set = (uint16_t)any(3) };
	uint16_t nums[3];
	uint64_t values[3];
	void *page;

	if (o->view.page) {
		for (int i = 0; i < 3; i++)
			nums[i] = (uint16_t)some_reg();
		count(pfm_read_fast(&o->view, nums, values, (int)any(4)));
		if (!any(4))
			forget_view(o);
		return;
	}
	if (pfm_getinfo_evtsets(o->fd, &info, 1) || !info.set_mmap_offset)
		return;
	page = (mmap)(NULL, VIEW_SIZE, PROT_READ, MAP_SHARED, o->fd, (off_t)info.set_mmap_offset);
	o->view = (pfm_view_t){ page == MAP_FAILED ? NULL : page, o->fd, info.set_id };
	count(o->view.page ? 0 : -1);
}

static void send_one(struct ours *o)
{
	count(send_fd(sockets[0], o->fd, MSG_DONTWAIT));
}

static void receive_one(struct ours *o)
{
	char byte, control[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { &byte, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			    .msg_controllen = sizeof(control) };

	if (recvmsg(sockets[1], &m, MSG_DONTWAIT) != 1 || !CMSG_FIRSTHDR(&m))
		return;
	memcpy(&o->fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(int));
	o->map = MAP_FAILED;
	o->view.page = NULL;
	o->size = 0;
}

#define LARGEST_VECTOR	(4096 + 65536)		/* bytes, as configure() allows them */

/*
 * Makes calls that no library makes: of any number, size and address; results have room behind
 * page.
 */
static void nonsense(struct ours *o)
{
	static uint64_t page[512 + LARGEST_VECTOR / 8 + (1 << 14) / 8];
	void *const at[] = { NULL, page, &page[500], (void *)1, (void *)"text", (void *)-4096L, (void *)(1ULL << 48) };
	char *to = (char *)at[any(7)] + (any(8) ? 0 : any(64));
	unsigned int size = any(4) ? any(16) : any(1 << 14);

	for (int i = 0; i < 64; i++)
		page[any(512)] = any(4) ? any(8) : ((uint64_t)any(1u << 31) << 33 | any(1u << 31));
	switch (any(6)) {
	case 0: count(read(o->fd, to, size)); break;
	case 1: count(write(o->fd, to, size)); break;
	case 2: count(pread(o->fd, page, sizeof(pfarg_msg_t), any(3))); break;
	case 3: count(ftruncate(o->fd, any(100000))); break;
	default: count(ioctl(o->fd, _IOC(any(4), any(8) ? 0xb7 : any(256), any(24), size), to));
	}
}

static void await_one(struct ours *o)
{
	struct pollfd p = { .fd = o->fd, .events = (short)any(64) };

	count(poll(&p, 1, (int)any(3)));
}

/* Changes limits, which makes calls of other processes fail. */
static void configure(void)
{
	pfarg_config_t cfg;

	if (pfm_get_config(&cfg))
		return;
	cfg.cf_ovfl_rate_max = any(2) ? 0 : 1000 + any(100000);
	cfg.cf_smpl_buf_size_max = any(2) ? ~0ULL : 4096 + any(65536);
	cfg.cf_arg_size_max = any(8) ? any(LARGEST_VECTOR) : any(4096);
	count(pfm_set_config(&cfg));
}

static void act(struct ours *o)
{
	pfarg_msg_t msg[2];
	pfarg_pmd_t pmd[3];
	pfarg_load_t l = { .load_pid = (uint32_t)some_thread(), .load_set = (uint16_t)(any(6) ? 0 : any(3)) };
	pfarg_start_t s = { .start_set = (uint16_t)any(3) };

	switch (any(18)) {
	case 0: case 1: case 2: write_one(o); break;
	case 3: sets_one(o); break;
	case 4: case 5: count(pfm_load_context(o->fd, &l)); break;
	case 6: case 7: count(pfm_start(o->fd, any(3) ? NULL : &s)); break;
	case 8: count(pfm_stop(o->fd)); break;
	case 9: count(pfm_restart(o->fd)); break;
	case 10: count(any(3) ? pfm_restart(o->fd) : pfm_unload_context(o->fd)); break;
	case 11: count(read(o->fd, msg, sizeof(msg))); break;
	case 12: await_one(o); break;
	case 13: send_one(o); break;
	case 14: nonsense(o); break;
	default:
		memset(pmd, 0, sizeof(pmd));
		for (int i = 0; i < 3; i++)
			pmd[i].reg_num = (uint16_t)some_reg();
		count(pfm_read_pmds(o->fd, pmd, 1 + (int)any(3)));
	}
}

static void ignore(int sig)
{
	(void)sig;
}

/* The second thread of a worker: it uses the same contexts while the first may close them. */
static void *meddle(void *seed)
{
	state = (uint64_t)(uintptr_t)seed;
	while (!shared->over) {
		struct ours o = ours[any(CONTEXTS)];

		o.view.page = NULL;
		if (o.fd >= 0)
			act(&o);
		if (!any(20))
			spin(1 + any(50000));
	}
	return NULL;
}

static void move(struct ours *o)
{
	if (o->fd < 0)
		any(4) ? open_one(o) : receive_one(o);
	else if (!any(40))
		close_one(o);
	else if (!any(16))
		map_one(o);
	else if (!any(8))
		view_one(o);
	else
		act(o);
}

static void worker(int n, uint64_t seed)
{
	pthread_t other;

	state = seed * 1000 + (uint64_t)n;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGIO, ignore);
	signal(SIGRTMIN, ignore);
	for (int i = 0; i < CONTEXTS; i++)
		ours[i].fd = -1;
	if (pthread_create(&other, NULL, meddle, (void *)(uintptr_t)(state + 500)))
		_exit(1);
	while (!shared->over) {
		move(&ours[any(CONTEXTS)]);
		if (!any(20))
			spin(1 + any(50000));
		if (!any(200))
			leave_to_a_child();
		if (!any(100))
			configure();
		shared->calls[n] = calls;
		shared->good[n] = good;
	}
	_exit(0);
}

static pid_t new_worker(int n, uint64_t seed)
{
	pid_t pid = fork();

	if (!pid)
		worker(n, seed);
	return pid;
}

/* --- others that have the counters ------------------------------------------------------------ */

/* Returns true if the PMU counts instructions: there may be none, and with vm -M it counts none. */
static bool counts_instructions(void)
{
	int fd = new_context(0);
	bool counts = !set_pmc(fd, 0, COUNTER, PROGRAM) && !load(fd, my_tid()) && !pfm_start(fd, NULL);

	work(1000);
	counts = counts && get_pmd(fd, 0, COUNTER) > 0;
	close(fd);
	return counts;
}

static void have_thefts(uint64_t seed)
{
	shared->thief = fork();
	if (!shared->thief) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		state = seed + 1000000;
		steal(any, &shared->over);
		_exit(0);
	}
	shared->bookkeeper = fork();
	if (!shared->bookkeeper) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		state = seed + 2000000;
		keep_books(&shared->books, any, &shared->over);
		_exit(0);
	}
}

/* --- the master: it kills workers and targets, and switches CPUs off and on ------------------- */

static void toggle_cpu(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	char path[64];
	int fd;

	if (cpus < 2)
		return;
	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/online", 1 + any((uint32_t)cpus - 1));
	fd = open(path, O_WRONLY);
	if (fd >= 0 && write(fd, any(2) ? "1" : "0", 1) < 0)
		errno = 0;
	close(fd);
}

static void all_cpus_on(void)
{
	for (int i = 1; i < sysconf(_SC_NPROCESSORS_CONF); i++) {
		char path[64];
		int fd;

		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", i);
		fd = open(path, O_WRONLY);
		if (fd >= 0 && write(fd, "1", 1) < 0)
			errno = 0;
		close(fd);
	}
}

static void rule(uint64_t seed, unsigned int seconds)
{
	struct timespec from, now;

	clock_gettime(CLOCK_MONOTONIC, &from);
	do {
		keep_targets();
		usleep(2000 + any(5000));
		if (!any(3))
			kill_one(shared->targets[any(TARGETS)]);
		if (!any(20)) {
			int n = (int)any(WORKERS);

			kill_one(shared->workers[n]);
			waitpid(shared->workers[n], NULL, 0);
			shared->workers[n] = new_worker(n, ++seed);
		}
		if (!any(10))
			toggle_cpu();
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - from.tv_sec < seconds);
}

static void finish(void)
{
	struct ours rest = { .fd = -1, .map = MAP_FAILED };

	shared->over = 1;
	for (int i = 0; i < WORKERS; i++) {
		kill_one(shared->workers[i]);
		waitpid(shared->workers[i], NULL, 0);
	}
	for (int i = 0; i < TARGETS; i++) {
		kill_one(shared->targets[i]);
		waitpid(shared->targets[i], NULL, 0);
	}
	pfm_set_config(&shared->before);
	while (receive_one(&rest), rest.fd >= 0) {
		close(rest.fd);
		rest.fd = -1;
	}
	/* these end by themselves now: before, a context may have held them at a notification */
	if (shared->thief) {
		waitpid(shared->thief, NULL, 0);
		waitpid(shared->bookkeeper, NULL, 0);
	}
	all_cpus_on();
}

static unsigned int torture_seconds = 10;
static uint64_t torture_seed = 1;

static void nothing_breaks(void)
{
	uint64_t all = 0, fine = 0;

	shared = (mmap)(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	state = torture_seed;
	shared->master = getpid();
	MUST(pfm_get_config(&shared->before));
	MUST(socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets));
	for (int i = 0; i < WORKERS; i++)
		shared->workers[i] = new_worker(i, torture_seed);
	if (counts_instructions())
		have_thefts(torture_seed);
	rule(torture_seed, torture_seconds);
	finish();
	for (int i = 0; i < WORKERS; i++) {
		all += shared->calls[i];
		fine += shared->good[i];
	}
	printf("# calls of the last workers: %llu, %llu of them succeeded\n", (unsigned long long)all,
	       (unsigned long long)fine);
	printf("# accounts: %llu, %llu of them with a part that was missed\n",
	       (unsigned long long)shared->books.accounts, (unsigned long long)shared->books.told);
	TRUE(fine > 0 && all > fine);
	check(!shared->books.wrong[0], "%s", shared->books.wrong);
	TRUE(!shared->thief || shared->books.accounts > 0);
}

static int module_references(void)
{
	FILE *f = fopen("/sys/module/perfmon/refcnt", "r");
	int n = -1;

	if (!f || fscanf(f, "%d", &n) != 1)
		n = -1;
	if (f)
		fclose(f);
	return n;
}

/* Returns how many modules, of formats and PMU descriptions, depend on perfmon.ko. */
static int dependent_modules(void)
{
	FILE *f = fopen("/proc/modules", "r");
	char line[256];
	int n = 0;

	while (f && fgets(line, sizeof(line), f))
		n += !strncmp(line, "perfmon_", 8);
	if (f)
		fclose(f);
	return n;
}

static void nothing_is_left(void)
{
	/* the library has the device open */
	int patience = 1000, expected = 1 + dependent_modules();
	pfarg_config_t cfg;

	/* the last close may have left work to other threads, which is not done yet */
	while (module_references() > expected && patience--)
		usleep(1000);
	EQUAL(module_references(), expected);

	MUST(pfm_get_config(&cfg));
	EQUAL(cfg.cf_thread_sessions, 0);
	EQUAL(cfg.cf_sys_sessions, 0);
	EQUAL(cfg.cf_smpl_buf_size_cur, 0);
}

static void it_still_counts_right(void)
{
	bool pmu = counts_instructions();
	int fd, num = pmu ? COUNTER : FAULTS;
	uint64_t first = 0, count;

	MUST(fd = new_context(0));
	MUST(set_pmc(fd, 0, num, pmu ? PROGRAM : SW_USER));
	MUST(load(fd, my_tid()));
	for (int i = 0; i < 5; i++) {
		MUST(set_pmd(fd, 0, num, 0));
		MUST(pfm_start(fd, NULL));
		(pmu ? work : fault)(20000);
		MUST(pfm_stop(fd));
		count = get_pmd(fd, 0, num);
		TRUE(count >= 20000);
		if (i == 1)
			first = count;
		else if (i > 1 && exact())
			EQUAL(count, first);
	}
	close(fd);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "nap"))
		return 0;
	if (argc > 1 && !strcmp(argv[1], "target"))
		target((unsigned int)getpid());
	if (argc > 1)
		torture_seconds = (unsigned int)atoi(argv[1]);
	if (argc > 2)
		torture_seed = (uint64_t)atoll(argv[2]);
	printf("# torture: %u s, seed %llu\n", torture_seconds, (unsigned long long)torture_seed);
	TEST(nothing_breaks);
	TEST(nothing_is_left);
	TEST(it_still_counts_right);
	return tests_failed > 0;
}
