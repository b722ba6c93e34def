// SPDX-License-Identifier: MIT
/*
 * inherit_samples.c - PFM_FL_INHERIT with a sampling format in perfmon.ko: threads and processes
 * that the monitored one creates are sampled with it, on whatever CPU they are, into parts of one
 * buffer.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "perfmon/perfmon_nway_smpl.h"
#include "perfmon/perfmon_stack_smpl.h"
#include "users.h"

#define PERIOD		10
#define MAX_THREADS	64

/* What a measured thread notes of itself. */
struct worker {
	atomic_int	tid, pid;
	uint64_t	faults;
	uint64_t	samples;	/* written by the tool */
};

static struct shared {
	struct worker	workers[MAX_THREADS];
	atomic_int	n;
	atomic_bool	go;
} *shared;

static void forget_workers(void)
{
	if (!shared)
		shared = (mmap)(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	memset(shared, 0, sizeof(*shared));
}

static void announce(uint64_t faults)
{
	struct worker *w = &shared->workers[atomic_fetch_add(&shared->n, 1)];

	w->faults = faults;
	w->pid = getpid();
	w->tid = my_tid();
}

static struct worker *worker_of(int tid)
{
	for (int i = 0; i < shared->n; i++)
		if (shared->workers[i].tid == tid)
			return &shared->workers[i];
	return NULL;
}

/* --- the tool --------------------------------------------------------------------------------- */

struct tool {
	int		fd;
	const char	*map;
	size_t		size, part;	/* size of the buffer, and of a part */
	unsigned int	parts;
	uint64_t	samples, others, messages;
	bool		apart;		/* a sample was in the part of another CPU */
};

static bool open_tool(struct tool *t, const char *format, void *arg, size_t size)
{
	pfarg_ctx_t ctx = { .ctx_flags = PFM_FL_INHERIT };

	*t = (struct tool){ .fd = pfm_create_context(&ctx, format, arg, size) };
	if (!check(t->fd >= 0, "create: %s", pfm_explain()))
		return false;
	t->size = ctx.ctx_smpl_buf_size;
	t->parts = pfm_ctx_buf_parts(&ctx);
	if (!check(t->parts >= (unsigned int)sysconf(_SC_NPROCESSORS_ONLN) && t->size % t->parts == 0,
		   "%u parts of %zu bytes", t->parts, t->size))
		return false;
	t->part = t->size / t->parts;
	t->map = mmap(NULL, t->size, PROT_READ, MAP_SHARED, t->fd, 0);
	return check(t->map != MAP_FAILED, "mmap: %s", pfm_explain());
}

static bool open_default(struct tool *t, size_t size)
{
	pfm_dfl_smpl_arg_t arg = { .buf_size = size };

	return open_tool(t, "default", &arg, sizeof(arg));
}

static void close_tool(struct tool *t)
{
	munmap((void *)t->map, t->size);
	close(t->fd);
}

static const pfm_dfl_smpl_hdr_t *part_of(const struct tool *t, unsigned int i)
{
	return (const void *)(t->map + i * t->part);
}

static bool watch(struct tool *t, pid_t pid, int pmd, uint64_t pmc, uint64_t period)
{
	return check(!set_pmc(t->fd, 0, pmd, pmc) && !set_period(t->fd, 0, pmd, period, PFM_REGFL_OVFL_NOTIFY) &&
		     !load(t->fd, pid) && !pfm_start(t->fd, NULL), "watch: %s", pfm_explain());
}

static void take_sample(struct tool *t, unsigned int part, const pfm_dfl_smpl_entry_t *e)
{
	struct worker *w = worker_of(e->pid);

	t->samples++;
	t->apart |= e->cpu != part;
	if (w) {
		w->samples++;
		EQUAL(e->tgid, w->pid);
	} else {
		t->others++;
	}
}

/* Takes the samples of a part of the buffer, which is of the format default. */
static void take_part(struct tool *t, unsigned int i)
{
	const pfm_dfl_smpl_hdr_t *hdr = part_of(t, i);
	const pfm_dfl_smpl_entry_t *e = (const void *)(hdr + 1);

	for (uint64_t n = 0; n < hdr->hdr_count; n++)
		take_sample(t, i, &e[n]);
}

/* A message names a full part of the buffer; a restart empties only parts that messages named. */
static void take_until_end(struct tool *t)
{
	bool full[64] = { false };
	pfarg_msg_t msg;

	while (read(t->fd, &msg, sizeof(msg)) == sizeof(msg) && msg.type == PFM_MSG_OVFL) {
		unsigned int cpu = msg.pfm_ovfl_msg.msg_ovfl_cpu;

		t->messages++;
		TRUE(cpu < t->parts && part_of(t, cpu)->hdr_count);
		take_part(t, cpu);
		full[cpu] = pfm_restart(t->fd) < 0; /* fails if the last thread has just ended */
		TRUE(!full[cpu] || errno == EBUSY);
	}
	EQUAL(msg.type, PFM_MSG_END);
	for (unsigned int i = 0; i < t->parts; i++)
		if (!full[i])
			take_part(t, i);
}

static uint64_t lost(int fd)
{
	pfarg_setinfo_t info = { .set_id = 0 };

	check(!pfm_getinfo_evtsets(fd, &info, 1), "pfm_getinfo_evtsets: %s", pfm_explain());
	return info.set_lost;
}

/* --- a tree ----------------------------------------------------------------------------------- */

static void *work_in_thread(void *n)
{
	announce((uintptr_t)n);
	fault((uintptr_t)n);
	return NULL;
}

/* Threads run one after the other, since a process has one set of pages for fault(). */
static void grow(uint64_t n, int depth)
{
	pthread_t thread;

	announce(n);
	fault(n);
	if (pthread_create(&thread, NULL, work_in_thread, (void *)(uintptr_t)(2 * n)))
		_exit(4);
	pthread_join(thread, NULL);
	for (int i = 0; depth && i < 3; i++)
		if (!fork()) {
			grow(n + 100 * (i + 1), depth - 1);
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
}

static void tree(uint64_t n)
{
	grow(n, 2);
}

/* Each thread has the samples of its faults, and a few more of its creation and exit. */
static void check_shares(const struct tool *t, uint64_t more)
{
	for (int i = 0; i < shared->n; i++) {
		const struct worker *w = &shared->workers[i];

		check(w->samples >= w->faults / PERIOD && w->samples <= w->faults / PERIOD + more,
		      "thread %d of %d: %llu samples of %llu faults", (int)w->tid, (int)w->pid,
		      (unsigned long long)w->samples, (unsigned long long)w->faults);
	}
	EQUAL(t->others, 0);
}

static void all_of_a_tree_are_sampled(void)
{
	struct tool t;
	struct child c;

	forget_workers();
	c = child_new(tree, 1000);
	if (!open_default(&t, 1 << 20) || !watch(&t, c.pid, FAULTS, SW_USER, PERIOD))
		return;
	child_go(&c);
	child_end(&c);
	take_until_end(&t);
	EQUAL(shared->n, 2 * 13);
	check_shares(&t, 20);
	TRUE(!t.apart);
	EQUAL(t.messages, 0);
	EQUAL(lost(t.fd), 0);
	close_tool(&t);
}

/*
 * Parts fill again and again: a thread that finds its part full is held, and goes on when the part
 * was read.
 */
static void full_parts_hold_those_who_come(void)
{
	struct tool t;
	struct child c;

	forget_workers();
	c = child_new(tree, 3000);
	if (!open_default(&t, 8192) || !watch(&t, c.pid, FAULTS, SW_USER, PERIOD))
		return;
	child_go(&c);
	take_until_end(&t);
	child_end(&c);
	check(t.messages >= 20, "%llu messages", (unsigned long long)t.messages);
	for (int i = 0; i < shared->n; i++)
		TRUE(shared->workers[i].samples <= shared->workers[i].faults / PERIOD + 20);
	check(t.samples > t.messages * 100, "%llu samples, %llu messages", (unsigned long long)t.samples,
	      (unsigned long long)t.messages);
	TRUE(!t.apart);
	EQUAL(lost(t.fd), 0);
	for (unsigned int i = 0; i < t.parts; i++)
		t.messages -= part_of(&t, i)->hdr_overflows;
	EQUAL(t.messages, 0);		/* a message for each time that a part was full */
	close_tool(&t);
}

/* --- restarts give back what was read --------------------------------------------------------- */

/* Two processes fill the parts of their CPUs, and are held until the restart. */
static void fill_two(uint64_t n)
{
	for (int cpu = 0; cpu < 2; cpu++)
		if (!fork()) {
			pin(cpu);
			fault(n);
			pause();
		}
	pause();
}

static void a_restart_gives_back_what_was_read(void)
{
	pfarg_msg_t first, second;
	struct tool t;
	struct child c;
	unsigned int a, b;
	uint64_t count;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return;
	c = child_new(fill_two, 20000);
	if (!open_default(&t, 8192) || !watch(&t, c.pid, FAULTS, SW_USER, PERIOD))
		return;
	child_go(&c);
	while (!part_of(&t, 0)->hdr_overflows || !part_of(&t, 1)->hdr_overflows)
		sched_yield();
	EQUAL(read(t.fd, &first, sizeof(first)), sizeof(first));
	a = first.pfm_ovfl_msg.msg_ovfl_cpu;
	b = !a;
	count = part_of(&t, b)->hdr_count;
	MUST(pfm_restart(t.fd));
	EQUAL(part_of(&t, b)->hdr_count, count); /* the message about this part was not read yet */
	EQUAL(read(t.fd, &second, sizeof(second)), sizeof(second));
	EQUAL(second.pfm_ovfl_msg.msg_ovfl_cpu, b);
	TRUE(first.pfm_ovfl_msg.msg_ovfl_tid != second.pfm_ovfl_msg.msg_ovfl_tid);
	MUST(pfm_restart(t.fd));
	TRUE(part_of(&t, b)->hdr_count < count);
	kill(c.pid, SIGKILL);
	kill((pid_t)first.pfm_ovfl_msg.msg_ovfl_pid, SIGKILL);
	kill((pid_t)second.pfm_ovfl_msg.msg_ovfl_pid, SIGKILL);
	child_end(&c);
	close_tool(&t);
}

/* --- short children --------------------------------------------------------------------------- */

static void hundreds(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		if (!fork())
			_exit(0);
		wait(NULL);
	}
}

/* No child has as many faults as a period; together they give a sample per period. */
static void short_ones_share_a_period(void)
{
	enum { N = 300, LONG = 500 };
	struct child c = child_new(hundreds, N);
	uint64_t faults, expected;
	struct tool t;
	int fd;

	forget_workers();	/* since thread ids may be used again */
	MUST(fd = new_context(PFM_FL_INHERIT));
	MUST(set_pmc(fd, 0, FAULTS, SW_USER));
	MUST(load(fd, c.pid));
	MUST(pfm_start(fd, NULL));
	child_go(&c);
	child_end(&c);
	faults = get_pmd(fd, 0, FAULTS);
	close(fd);
	c = child_new(hundreds, N);
	if (!open_default(&t, 1 << 18) || !watch(&t, c.pid, FAULTS, SW_USER, LONG))
		return;
	child_go(&c);
	child_end(&c);
	take_until_end(&t);
	expected = faults / LONG;
	check(faults / N < LONG / 2 && t.samples >= expected * 9 / 10 - 1 && t.samples <= expected * 11 / 10 + 1,
	      "%llu samples of %llu faults", (unsigned long long)t.samples, (unsigned long long)faults);
	close_tool(&t);
}

/* --- records, exec ---------------------------------------------------------------------------- */

static void exec_in_child(uint64_t n)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", (unsigned int)n);
	if (!fork()) {
		execl("/proc/self/exe", "again", text, NULL);
		_exit(5);
	}
	wait(NULL);
}

static void records_of_all(void)
{
	pfm_stack_smpl_arg_t arg = { .buf_size = 1 << 20,
		.buf_flags = PFM_STACK_SMPL_RECORDS | PFM_STACK_SMPL_NO_USER | PFM_STACK_SMPL_NO_KERNEL };
	uint64_t kinds[8] = { 0 }, samples = 0;
	pfarg_msg_t msg;
	struct tool t;
	struct child c;
	uint32_t child = 0;

	c = child_new(exec_in_child, 4000);
	if (!open_tool(&t, "stack", &arg, sizeof(arg)) || !watch(&t, c.pid, FAULTS, SW_USER, PERIOD))
		return;
	child_go(&c);
	child_end(&c);
	TRUE(read(t.fd, &msg, sizeof(msg)) == sizeof(msg) && msg.type == PFM_MSG_END);
	for (unsigned int i = 0; i < t.parts; i++) {
		const pfm_stack_smpl_hdr_t *h = (const void *)part_of(&t, i);
		const char *at = (const char *)(h + 1), *end = (const char *)h + h->hdr_cur_offs;
		const pfm_stack_smpl_event_t *e;

		for (; at < end; at += e->rec.rec_size) {
			e = (const void *)at;
			if (e->rec.rec_type != PFM_STACK_SMPL_SAMPLE && e->tid != e->pid)
				continue;	/* libperfmon's threads map stacks */
			kinds[e->rec.rec_type & 7]++;
			if (e->rec.rec_type == PFM_STACK_SMPL_FORK)
				child = e->pid;
			if (e->rec.rec_type == PFM_STACK_SMPL_SAMPLE)
				samples += ((const pfm_stack_smpl_sample_t *)at)->entry.tgid != (uint32_t)c.pid;
			if (e->rec.rec_type == PFM_STACK_SMPL_EXEC)
				TRUE(e->pid != (uint32_t)c.pid && e->tid == e->pid);
		}
	}
	TRUE(child && child != (uint32_t)c.pid);
	EQUAL(kinds[PFM_STACK_SMPL_FORK], 1);
	EQUAL(kinds[PFM_STACK_SMPL_EXEC], 1);
	EQUAL(kinds[PFM_STACK_SMPL_EXIT], 2);
	EQUAL(kinds[PFM_STACK_SMPL_LOST], 0);
	TRUE(kinds[PFM_STACK_SMPL_MAP] >= 3);
	check(samples >= 400 && samples < 450, "%llu samples", (unsigned long long)samples);
	close_tool(&t);
}

/* --- the PMU's counters ----------------------------------------------------------------------- */

static void spin_in_four(uint64_t n)
{
	for (int i = 0; i < 4; i++)
		if (!fork()) {
			announce(0);
			spin(n);
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
}

static void hardware_samples_children(void)
{
	pfm_nway_smpl_arg_t arg = { .buf_size = 1 << 18, .num_regions = 4, .buf_flags = PFM_NWAY_MASK_WHEN_FULL };
	uint64_t samples = 0;
	pfarg_msg_t msg;
	struct tool t;
	struct child c;

	forget_workers();
	c = child_new(spin_in_four, 2000000);
	if (!open_tool(&t, "n-way", &arg, sizeof(arg)) || !watch(&t, c.pid, CYC, CYC_PMC(USER), 20000))
		return;
	child_go(&c);
	while (read(t.fd, &msg, sizeof(msg)) == sizeof(msg) && msg.type == PFM_MSG_OVFL)
		pfm_restart(t.fd);
	EQUAL(msg.type, PFM_MSG_END);
	child_end(&c);
	for (unsigned int i = 0; i < t.parts; i++) {
		const pfm_nway_smpl_hdr_t *h = (const void *)part_of(&t, i);
		const pfm_nway_region_t *r = &h->hdr_regions[h->hdr_cur];
		const pfm_dfl_smpl_entry_t *e = (const void *)((const char *)h + r->offs);

		samples += h->hdr_overflows;
		for (uint64_t n = 0; n < r->count; n++)
			take_sample(&t, i, &e[n]);
	}
	TRUE(!t.apart && t.samples + samples > 4);
	close_tool(&t);
}

/* --- child contexts come and go, under commands ----------------------------------------------- */

static void *fault_a_few(void *unused)
{
	fault(30);
	return unused;
}

static void breed(uint64_t unused)
{
	(void)unused;
	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		pid_t pid = fork();

		if (!pid) {
			pthread_t thread;

			if (!pthread_create(&thread, NULL, fault_a_few, NULL) && getpid() % 2)
				pthread_join(thread, NULL);
			_exit(0);
		}
		if (pid > 0 && pid % 3 == 0)
			kill(pid, SIGKILL);
	}
}

static void families_come_and_go_under_commands(void)
{
	struct timespec pause = { 0, 300000 };
	struct tool t;
	struct child c;

	forget_workers();
	c = child_new(breed, 0);
	child_go(&c);
	for (int i = 0; i < 60; i++) {
		pfarg_msg_t msg;

		if (!open_default(&t, 8192) || !watch(&t, c.pid, FAULTS, SW_USER, 3))
			break;
		for (int k = 0; k < 1 + i % 7; k++) {
			pause.tv_nsec = 100000 + i % 17 * 100000;
			nanosleep(&pause, NULL);
			if (i % 2 && has_message(t.fd))
				EQUAL(read(t.fd, &msg, sizeof(msg)), sizeof(msg));
			MUST(pfm_restart(t.fd));
		}
		get_pmd(t.fd, 0, FAULTS);
		if (i % 3 == 0)
			MUST(pfm_unload_context(t.fd));
		close_tool(&t);
	}
	kill(c.pid, SIGKILL);
	child_end(&c);
}

/* --- what does not go together ---------------------------------------------------------------- */

static void other_combinations_are_refused(void)
{
	static const uint32_t flags[] = { PFM_FL_SYSTEM_WIDE, PFM_FL_NOTIFY_BLOCK, PFM_FL_MAP_SETS };
	pfm_dfl_smpl_arg_t arg = { .buf_size = 16384 };
	pfarg_ctx_t ctx;

	for (int i = 0; i < 3; i++) {
		ctx = (pfarg_ctx_t){ .ctx_flags = PFM_FL_INHERIT | flags[i] };
		FAILS(pfm_create_context(&ctx, "default", &arg, sizeof(arg)), EINVAL);
	}
	arg.buf_size = 1ULL << 62;
	ctx = (pfarg_ctx_t){ .ctx_flags = PFM_FL_INHERIT };
	FAILS(pfm_create_context(&ctx, "default", &arg, sizeof(arg)), ENOMEM);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[0], "again")) {
		fault(strtoul(argv[1], NULL, 10));
		return 0;
	}
	TEST(all_of_a_tree_are_sampled);
	TEST(full_parts_hold_those_who_come);
	TEST(a_restart_gives_back_what_was_read);
	TEST(short_ones_share_a_period);
	TEST(records_of_all);
	TEST(hardware_samples_children);
	TEST(families_come_and_go_under_commands);
	TEST(other_combinations_are_refused);
	return tests_failed > 0;
}
