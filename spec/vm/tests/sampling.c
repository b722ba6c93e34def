// SPDX-License-Identifier: MIT
/*
 * sampling.c - overflows, notifications, sampling buffers.
 *
 * arm64's emulated PMU interrupts in time when its cycle counter, PMD31, overflows. It may lose the
 * interrupt of an event counter, if that was predicted one event too early. An instruction takes 2
 * cycles: spin(n) takes 4 * n.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/ucontext.h>

#include "check.h"

static volatile int signals;
static volatile int signal_fd;

static void on_signal(int sig, siginfo_t *info, void *uc)
{
	pfarg_msg_t msg;
	int saved = errno;

	(void)sig;
	(void)uc;
	signals++;
	signal_fd = info->si_fd;
	if (read(info->si_fd, &msg, sizeof(msg)) == sizeof(msg) && msg.type == PFM_MSG_OVFL)
		pfm_restart(info->si_fd);
	errno = saved;
}

/* Self-monitoring: an overflow sends a message, and nothing is counted until the restart. */
static void notification(void)
{
	pfarg_msg_t msg, many[4];
	uint64_t at;
	int fd;

	MUST(fd = new_context(0));
	MUST(set_pmc(fd, 0, CYC, CYC_PMC(USER)));
	MUST(set_pmc(fd, 0, 1, USER | INST));
	MUST(set_period(fd, 0, CYC, 100000, PFM_REGFL_OVFL_NOTIFY));
	MUST(set_pmd(fd, 0, 1, 0));
	MUST(fcntl(fd, F_SETFL, O_NONBLOCK));
	MUST(load(fd, my_tid()));
	MUST(pfm_start(fd, NULL));
	if (exact()) {		/* otherwise other processes' cycles may overflow */
		FAILS(read(fd, &msg, sizeof(msg)), EAGAIN);
		TRUE(!has_message(fd));
		FAILS(pfm_restart(fd), EBUSY);
	}
	spin(1000000);
	TRUE(has_message(fd));
	at = get_pmd(fd, 0, 1);
	spin(1000);
	EQUAL(get_pmd(fd, 0, 1), at);
	EQUAL(read(fd, &msg, sizeof(msg)), sizeof(msg));
	EQUAL(msg.type, PFM_MSG_OVFL);
	EQUAL(msg.pfm_ovfl_msg.msg_ovfl_pmds[0], 1ULL << CYC);
	EQUAL(msg.pfm_ovfl_msg.msg_ovfl_pid, getpid());
	EQUAL(msg.pfm_ovfl_msg.msg_ovfl_tid, my_tid());
	EQUAL(msg.pfm_ovfl_msg.msg_active_set, 0);
	if (exact())
		check(at > 49900 && at <= 50000, "%llu instructions", (unsigned long long)at);
	FAILS(read(fd, &msg, sizeof(msg)), EAGAIN);
	MUST(pfm_restart(fd));
	spin(1000000);
	EQUAL(read(fd, many, sizeof(many)), sizeof(msg));
	close(fd);
}

static void by_signal(int sig)
{
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART };
	uint64_t left;
	int fd;

	signals = signal_fd = 0;
	sigaction(sig, &sa, NULL);
	MUST(fd = new_context(0));
	MUST(set_pmc(fd, 0, CYC, CYC_PMC(USER)));
	MUST(set_period(fd, 0, CYC, 200000, PFM_REGFL_OVFL_NOTIFY));
	MUST(fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK));
	MUST(fcntl(fd, F_SETOWN, getpid()));
	MUST(fcntl(fd, F_SETSIG, sig));
	MUST(load(fd, my_tid()));
	MUST(pfm_start(fd, NULL));
	spin(525000);
	MUST(pfm_stop(fd));
	left = -get_pmd(fd, 0, CYC);
	if (exact()) {
		EQUAL(signals, 10);
		TRUE(left > 90000 && left < 110000);
	}
	TRUE(signals >= 10);
	EQUAL(signal_fd, fd);
	close(fd);
}

static void notification_by_sigio(void)
{
	by_signal(SIGIO);
}

static void notification_by_a_real_time_signal(void)
{
	by_signal(SIGRTMIN + 3);
}

/*
 * With PFM_FL_OVFL_NO_MSG there is a signal and no message; monitoring is masked until the restart
 * all the same.
 */
static void signal_without_message(void)
{
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	int fd;

	signals = 0;
	sigaction(SIGIO, &sa, NULL);
	MUST(fd = new_context(PFM_FL_OVFL_NO_MSG));
	MUST(set_pmc(fd, 0, CYC, CYC_PMC(USER)));
	MUST(set_period(fd, 0, CYC, 200000, PFM_REGFL_OVFL_NOTIFY));
	MUST(fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK));
	MUST(fcntl(fd, F_SETOWN, getpid()));
	MUST(fcntl(fd, F_SETSIG, SIGIO));
	MUST(load(fd, my_tid()));
	MUST(pfm_start(fd, NULL));
	spin(1000000);
	EQUAL(signals, 1);
	TRUE(!has_message(fd));
	MUST(pfm_restart(fd));
	spin(1000000);
	EQUAL(signals, 2);
	close(fd);
}

/* --- the default format ---------------------------------------------------------------------- */

static int new_sampling(size_t size, uint32_t flags, pfarg_ctx_t *ctx)
{
	pfm_dfl_smpl_arg_t arg = { .buf_size = size };

	memset(ctx, 0, sizeof(*ctx));
	ctx->ctx_flags = flags;
	return pfm_create_context(ctx, "default", &arg, sizeof(arg));
}

static void buffer_fills(void)
{
	pfarg_pmd_t pmd = { .reg_num = CYC, .reg_flags = PFM_REGFL_OVFL_NOTIFY, .reg_value = -10000ULL,
			    .reg_long_reset = -10000ULL, .reg_short_reset = -10000ULL };
	const pfm_dfl_smpl_hdr_t *hdr;
	const pfm_dfl_smpl_entry_t *e;
	pfarg_ctx_t ctx;
	pfarg_msg_t msg;
	uint64_t last = 0, insts = 0;
	int fd;

	MUST(fd = new_sampling(8192, 0, &ctx));
	EQUAL(ctx.ctx_smpl_buf_size, 8192);
	hdr = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, 0);
	if (hdr == MAP_FAILED) {
		check(false, "mmap: %s (%s)", strerror(errno), pfm_explain());
		return;
	}
	pmd.reg_smpl_pmds[0] = 1 << 1;
	MUST(set_pmc(fd, 0, CYC, CYC_PMC(USER)));
	MUST(set_pmc(fd, 0, 1, USER | INST));
	MUST(pfm_write_pmds(fd, &pmd, 1));
	MUST(load(fd, my_tid()));
	MUST(pfm_start(fd, NULL));
	spin(50000);
	if (exact()) {
		EQUAL(hdr->hdr_overflows, 0);
		EQUAL(hdr->hdr_count, 20);
	}
	e = (const void *)(hdr + 1);
	for (uint64_t i = 0; i < hdr->hdr_count; i++) {
		uint64_t now = *(const uint64_t *)(e + 1);

		EQUAL(e->pid, my_tid());
		EQUAL(e->tgid, getpid());
		EQUAL(e->ovfl_pmd, CYC);
		EQUAL(e->set, 0);
		EQUAL(e->last_reset_val, -10000ULL);
		TRUE(e->tstamp > last);
		if (i < 19 && exact())	/* the last sample may come after the loop */
			check(e->ip > (uint64_t)buffer_fills && e->ip < (uint64_t)buffer_fills + 4096, "ip %#llx",
			      (unsigned long long)e->ip);
		if (i && exact())	/* some more run between overflow and reset */
			check(now - insts >= 5000 && now - insts < 5010, "%llu instructions between two samples",
			      (unsigned long long)(now - insts));
		last = e->tstamp;
		insts = now;
		e = (const void *)((const char *)(e + 1) + 8);
	}
	spin(3000000);
	EQUAL(hdr->hdr_overflows, 1);
	EQUAL(read(fd, &msg, sizeof(msg)), sizeof(msg));
	EQUAL(msg.type, PFM_MSG_OVFL);
	MUST(pfm_restart(fd));
	if (exact())
		EQUAL(hdr->hdr_count, 0);
	spin(50000);
	TRUE(hdr->hdr_count >= 19);
	munmap((void *)hdr, 8192);
	close(fd);
}

static void mapping_rules(void)
{
	pfarg_ctx_t ctx;
	struct child c;
	void *at, *part;
	int fd, plain, dup_fd;
	char vec[2];

	MUST(plain = new_context(0));
	TRUE(mmap(NULL, 4096, PROT_READ, MAP_SHARED, plain, 0) == MAP_FAILED && errno == EINVAL);
	close(plain);
	MUST(fd = new_sampling(8192, 0, &ctx));
	TRUE((mmap)(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED && errno == EINVAL);
	TRUE((mmap)(NULL, 12288, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED && errno == EINVAL);
	TRUE((mmap)(NULL, 4096, PROT_READ, MAP_SHARED, fd, 4096) == MAP_FAILED && errno == EINVAL);
	/* as in 2.x, private mappings, parts, and several at a time are allowed */
	part = (mmap)(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	TRUE(part != MAP_FAILED);
	FAILS(mprotect(part, 4096, PROT_READ | PROT_WRITE), EACCES);
	at = (mmap)(NULL, 8192, PROT_READ, MAP_SHARED, fd, 0);
	TRUE(at != MAP_FAILED);
	FAILS(mprotect(at, 8192, PROT_READ | PROT_WRITE), EACCES);
	FAILS(mprotect(at, 8192, PROT_READ | PROT_EXEC), EACCES);
	EQUAL((munmap)(at, 4096), 0);
	EQUAL((munmap)((char *)at + 4096, 4096), 0);
	EQUAL((munmap)(part, 4096), 0);
	at = (mmap)(NULL, 8192, PROT_READ, MAP_SHARED, fd, 0);
	TRUE(at != MAP_FAILED);
	/*
	 * only the last close of this process unmaps the buffer; the child's descriptors do not
	 * count
	 */
	c = child_new(child_spin, 1);
	MUST(dup_fd = dup(fd));
	close(fd);
	EQUAL(mincore(at, 8192, (void *)vec), 0);
	close(dup_fd);
	FAILS(mincore(at, 8192, (void *)vec), ENOMEM);
	child_go(&c);
	EQUAL(child_end(&c), 0);
}

static void memory_limits(void)
{
	pfarg_config_t cfg, old;
	pfarg_ctx_t ctx;
	int fd, other;

	MUST(pfm_get_config(&old));
	cfg = old;
	cfg.cf_smpl_buf_size_max = 16384;
	MUST(pfm_set_config(&cfg));
	MUST(fd = new_sampling(8192, 0, &ctx));
	MUST(other = new_sampling(8192, 0, &ctx));
	FAILS(new_sampling(8192, 0, &ctx), ENOMEM);
	close(other);
	MUST(other = new_sampling(8192, 0, &ctx));
	MUST(pfm_get_config(&cfg));
	EQUAL(cfg.cf_smpl_buf_size_cur, 16384);
	close(fd);
	close(other);
	MUST(pfm_get_config(&cfg));
	EQUAL(cfg.cf_smpl_buf_size_cur, 0);
	MUST(pfm_set_config(&old));
	FAILS(new_sampling(100, 0, &ctx), EINVAL);
}

/* --- where the time goes --------------------------------------------------------------------- */

#define WORK(name) __attribute__((noinline, aligned(16))) static void name(uint64_t n) { spin(n); asm volatile(""); }
WORK(hot)
WORK(warm)
WORK(cold)

/* Works in hot(), warm() and cold() in the ratio 6 : 3 : 1. */
static void shares(uint64_t rounds)
{
	for (uint64_t i = 0; i < rounds; i++) {
		hot(6000);
		warm(3000);
		cold(1000);
	}
}

struct profile {
	int			fd;
	pfm_dfl_smpl_hdr_t	*hdr;
};

#define PERIOD	9973

static bool profile_open(struct profile *p, uint64_t period, bool random)
{
	pfarg_pmd_t pmd = { .reg_num = CYC, .reg_value = -period, .reg_long_reset = -period,
			    .reg_short_reset = -period };
	pfarg_ctx_t ctx;

	if (random) {
		pmd.reg_flags = PFM_REGFL_RANDOM;
		pmd.reg_random_mask = 0x7ff;
		pmd.reg_random_seed = 42;
	}
	p->fd = new_sampling(1 << 20, 0, &ctx);
	if (p->fd < 0 || set_pmc(p->fd, 0, CYC, CYC_PMC(USER)) || pfm_write_pmds(p->fd, &pmd, 1))
		return check(false, "setup: %s", pfm_explain());
	p->hdr = mmap(NULL, 1 << 20, PROT_READ, MAP_SHARED, p->fd, 0);
	return check(p->hdr != MAP_FAILED, "mmap: %s", pfm_explain());
}

static void profile_check(struct profile *p, uint64_t least)
{
	const pfm_dfl_smpl_entry_t *e = (const void *)(p->hdr + 1);
	uint64_t at[3] = { (uint64_t)hot, (uint64_t)warm, (uint64_t)cold }, n[3] = { 0 };
	static const double want[3] = { 60, 30, 10 };
	double off = exact() ? 2 : 4;

	for (uint64_t i = 0; i < p->hdr->hdr_count; i++)
		for (int k = 0; k < 3; k++)
			n[k] += e[i].ip >= at[k] && e[i].ip < at[k] + 16;
	check(p->hdr->hdr_count >= least, "%llu samples", (unsigned long long)p->hdr->hdr_count);
	for (int k = 0; k < 3; k++) {
		double share = 100.0 * n[k] / p->hdr->hdr_count;

		check(share > want[k] - off && share < want[k] + off, "part %d has %.1f %%, not %.0f", k, share,
		      want[k]);
	}
	munmap(p->hdr, 1 << 20);
	close(p->fd);
}

static void profile(bool random)
{
	struct profile p;

	if (!profile_open(&p, PERIOD, random))
		return;
	MUST(load(p.fd, my_tid()));
	MUST(pfm_start(p.fd, NULL));
	shares(3000);
	MUST(pfm_stop(p.fd));
	profile_check(&p, 5000);
}

static void profile_has_the_right_shares(void)
{
	profile(false);
}

static void randomized_profile_has_the_right_shares(void)
{
	profile(true);
}

static void shares_on_any_cpu(uint64_t rounds)
{
	pin((int)(getpid() % sysconf(_SC_NPROCESSORS_ONLN)));
	shares(rounds);
}

/*
 * If counters also count what other processors do, the period must be longer than their interrupts:
 * else all samples are where the thread was when the emulator turned to another processor.
 */
static void four_threads_are_profiled_at_once(void)
{
	uint64_t period = percpu_exact() ? PERIOD : 20 * PERIOD, rounds = percpu_exact() ? 1500 : 3000;
	struct profile p[4];
	struct child c[4];
	pfarg_msg_t msg;

	for (int i = 0; i < 4; i++)
		c[i] = child_new(shares_on_any_cpu, rounds);
	for (int i = 0; i < 4; i++) {
		if (!profile_open(&p[i], period, i & 1))
			return;
		MUST(fcntl(p[i].fd, F_SETFD, FD_CLOEXEC));
		MUST(load(p[i].fd, c[i].pid));
		MUST(pfm_start(p[i].fd, NULL));
	}
	for (int i = 0; i < 4; i++)
		child_go(&c[i]);
	for (int i = 0; i < 4; i++) {
		EQUAL(read(p[i].fd, &msg, sizeof(msg)), sizeof(msg));
		EQUAL(msg.type, PFM_MSG_END);
		EQUAL(child_end(&c[i]), 0);
		profile_check(&p[i], 1000);
	}
}

/* Returns the cycles of n rounds. */
static uint64_t length(uint64_t rounds)
{
	int fd = new_context(0);
	uint64_t count;

	if (fd < 0 || set_pmc(fd, 0, CYC, CYC_PMC(USER)) || load(fd, my_tid()))
		return check(false, "setup: %s", pfm_explain());
	pfm_start(fd, NULL);
	shares(rounds);
	pfm_stop(fd);
	count = get_pmd(fd, 0, CYC);
	close(fd);
	return count;
}

/*
 * Returns the percentage of samples in hot(). A period in step with the loop sees one place only
 * (figure 3.20).
 */
static double hot_share(uint64_t period, bool random)
{
	pfarg_pmd_t pmd = { .reg_num = CYC };
	struct profile p;
	uint64_t in_hot = 0, count;
	const pfm_dfl_smpl_entry_t *e;

	if (!profile_open(&p, PERIOD, false))
		return 0;
	pmd.reg_long_reset = pmd.reg_short_reset = -period;
	pmd.reg_value = -(period * 3 / 10);	/* in the middle of hot(), far from its ends */
	if (random) {
		pmd.reg_flags = PFM_REGFL_RANDOM;
		pmd.reg_random_mask = 0x7fff;
		pmd.reg_random_seed = 5;
	}
	if (pfm_write_pmds(p.fd, &pmd, 1) || load(p.fd, my_tid()))
		return check(false, "setup: %s", pfm_explain());
	pfm_start(p.fd, NULL);
	shares(3000);
	pfm_stop(p.fd);
	e = (const void *)(p.hdr + 1);
	count = p.hdr->hdr_count;
	for (uint64_t i = 0; i < count; i++)
		in_hot += e[i].ip >= (uint64_t)hot && e[i].ip < (uint64_t)hot + 16;
	check(count > 2000, "%llu samples", (unsigned long long)count);
	munmap(p.hdr, 1 << 20);
	close(p.fd);
	return 100.0 * in_hot / count;
}

static void bias_is_cured_by_randomization(void)
{
	/* unless exact, cycles of other processors may be in only one of the lengths */
	uint64_t period = percpu_exact() ? length(20) - length(19) : 40000;
	double fixed = hot_share(period, false), random = hot_share(period, true);

	check(random > 58 && random < 62, "randomized: %.1f %%", random);
	check(!exact() || fixed < 1 || fixed > 99, "in step with the loop: %.1f %%", fixed);
}

static void set_sysctl(const char *name, const char *value)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/sys/kernel/%s", name);
	fd = open(path, O_WRONLY);
	TRUE(fd >= 0 && write(fd, value, strlen(value)) > 0);
	close(fd);
}

/*
 * 4.4.4: with overflows every few instructions, also of the kernel, only throttling lets the
 * machine go on.
 */
static void storms_are_throttled(void)
{
	pfarg_pmd_t pmd = { .reg_num = CYC, .reg_value = -1ULL, .reg_short_reset = -1ULL,
			    .reg_ovfl_switch_cnt = ~0ULL };
	/* a trigger is reset, and not masked */
	pfarg_setdesc_t set = { .set_flags = PFM_SETFL_OVFL_SWITCH };
	pfarg_setinfo_t info = { 0 };
	int fd;

	set_sysctl("perf_cpu_time_max_percent", "25");
	set_sysctl("perf_event_max_sample_rate", "50000");
	MUST(fd = new_context(0));
	MUST(pfm_create_evtsets(fd, &set, 1));
	MUST(set_pmc(fd, 0, CYC, CYC_PMC(BOTH)));
	MUST(pfm_write_pmds(fd, &pmd, 1));
	MUST(load(fd, my_tid()));
	MUST(pfm_start(fd, NULL));
	spin(10000000);
	MUST(pfm_stop(fd));
	MUST(pfm_getinfo_evtsets(fd, &info, 1));
	TRUE(info.set_throttled > 0);
	close(fd);
	set_sysctl("perf_event_max_sample_rate", "1000000");
	set_sysctl("perf_cpu_time_max_percent", "0");
}

/* --- blocking -------------------------------------------------------------------------------- */

static void blocking(void)
{
	struct child c = child_new(child_spin, 2500000);
	pfarg_msg_t msg;
	int fd, n = 0;
	uint64_t at;

	MUST(fd = new_context(PFM_FL_NOTIFY_BLOCK));
	MUST(fcntl(fd, F_SETFD, FD_CLOEXEC));
	MUST(set_pmc(fd, 0, CYC, CYC_PMC(USER)));
	MUST(set_pmc(fd, 0, 1, USER | INST));
	MUST(set_period(fd, 0, CYC, 1000000, PFM_REGFL_OVFL_NOTIFY));
	MUST(load(fd, c.pid));
	MUST(pfm_start(fd, NULL));
	child_go(&c);
	for (;;) {
		EQUAL(read(fd, &msg, sizeof(msg)), sizeof(msg));
		if (msg.type != PFM_MSG_OVFL)
			break;
		n++;
		await_sleep(c.pid);
		at = get_pmd(fd, 0, 1);
		sched_yield();
		EQUAL(get_pmd(fd, 0, 1), at);
		EQUAL(msg.pfm_ovfl_msg.msg_ovfl_pid, c.pid);
		MUST(pfm_restart(fd));
	}
	EQUAL(msg.type, PFM_MSG_END);
	if (exact())
		EQUAL(n, 10);
	EQUAL(child_end(&c), 0);
	close(fd);
}

static _Atomic pid_t own_tid;
static _Atomic bool own_ends;

static void *own_thread(void *unused)
{
	own_tid = my_tid();
	while (!own_ends)
		spin(1000);
	return unused;
}

/*
 * Table 3.2, NOTIFY_BLOCK: "per-thread, not self": another thread of the tool's process is not
 * "self".
 */
static void own_thread_is_held(void)
{
	pthread_t thread;
	pfarg_msg_t msg;
	uint64_t at;
	int fd;

	TRUE(!pthread_create(&thread, NULL, own_thread, NULL));
	while (!own_tid)
		sched_yield();
	MUST(fd = new_context(PFM_FL_NOTIFY_BLOCK));
	MUST(set_pmc(fd, 0, CYC, CYC_PMC(USER)));
	MUST(set_pmc(fd, 0, 1, USER | INST));
	MUST(set_period(fd, 0, CYC, 1000000, PFM_REGFL_OVFL_NOTIFY));
	MUST(load(fd, own_tid));
	MUST(pfm_start(fd, NULL));
	for (int n = 0; n < 3; n++) {
		EQUAL(read(fd, &msg, sizeof(msg)), sizeof(msg));
		EQUAL(msg.pfm_ovfl_msg.msg_ovfl_tid, own_tid);
		await_sleep(own_tid);
		at = get_pmd(fd, 0, 1);
		sched_yield();
		EQUAL(get_pmd(fd, 0, 1), at);
		MUST(pfm_restart(fd));
	}
	own_ends = true;
	close(fd);
	pthread_join(thread, NULL);
}

/* A held thread is let go when the context is unloaded or closed, and can be killed. */
static void blocked_thread_is_freed(void)
{
	for (int how = 0; how < 3; how++) {
		struct child c = child_new(child_spin, 2500000);
		pfarg_msg_t msg;
		int fd, status;

		MUST(fd = new_context(PFM_FL_NOTIFY_BLOCK));
		MUST(set_pmc(fd, 0, CYC, CYC_PMC(USER)));
		MUST(set_period(fd, 0, CYC, 1000000, PFM_REGFL_OVFL_NOTIFY));
		MUST(load(fd, c.pid));
		MUST(pfm_start(fd, NULL));
		child_go(&c);
		EQUAL(read(fd, &msg, sizeof(msg)), sizeof(msg));
		if (how == 0)
			close(fd);
		else if (how == 1)
			MUST(pfm_unload_context(fd));
		else
			kill(c.pid, SIGKILL);
		status = child_end(&c);
		EQUAL(how == 2 ? WTERMSIG(status) : WEXITSTATUS(status), how == 2 ? SIGKILL : 0);
		if (how)
			close(fd);
	}
}

int main(void)
{
	pin(0);	/* children inherit it */
	TEST(notification);
	TEST(notification_by_sigio);
	TEST(notification_by_a_real_time_signal);
	TEST(signal_without_message);
	TEST(buffer_fills);
	TEST(mapping_rules);
	TEST(memory_limits);
	TEST(profile_has_the_right_shares);
	TEST(randomized_profile_has_the_right_shares);
	TEST(four_threads_are_profiled_at_once);
	TEST(bias_is_cured_by_randomization);
	TEST(storms_are_throttled);
	TEST(blocking);
	TEST(own_thread_is_held);
	TEST(blocked_thread_is_freed);
	return tests_failed > 0;
}
