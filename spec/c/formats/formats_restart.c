// SPDX-License-Identifier: MIT
/* formats_restart.c - the format's part in PFM_RESTART (3.5.15). */
#include "formats.h"

static const pfm_ovfl_ctrl_t mask = { .mask_monitoring = 1 }, reset = { .reset_ovfl_pmds = 1 };

/* Makes a context in which PMD4 overflows after 100 ns, and is reset to -40 or -77; PMD5 counts. */
static int overflowing(uint32_t ctx_flags, uint32_t *tid)
{
	int fd;

	begin(NULL);
	rec.size = 4096;
	fd = recorded(ctx_flags);
	counter(fd, 0, 4, -10, &(pfarg_pmd_t){ .reg_short_reset = -40ULL, .reg_long_reset = -77ULL,
					       .reg_reset_pmds = { 1 << 6 } });
	counter(fd, 0, 5, 0, NULL);
	counter(fd, 0, 6, 0, &(pfarg_pmd_t){ .reg_short_reset = 66, .reg_long_reset = 666 });
	*tid = thread(1000);
	load_and_start(fd, *tid);
	return fd;
}

static void is_active(void)
{
	uint32_t tid;
	int fd = overflowing(0, &tid);

	rec.is_active = -1;
	TRUE(!pfm_restart(fd));	/* without any overflow */
	EQUAL(rec.is_active, 1);
	run(50);
	EQUAL(value_of(fd, 0, 5), 5);	/* and monitoring goes on */
	rec.ctrl = mask;
	run(200);
	TRUE(rec.buf);
	rec.buf = NULL;
	TRUE(!pfm_restart(fd));
	EQUAL(rec.is_active, 0);
	TRUE(rec.buf);
	CALLS("vgirhr");
	end(fd);
}

/* Without either bit the PMD that overflowed is not reset, and masked monitoring goes on. */
static void defaults(void)
{
	uint32_t tid;
	int fd = overflowing(0, &tid);

	rec.ctrl = mask;
	run(200);
	TRUE(!pfm_restart(fd));
	run(50);
	EQUAL(value_of(fd, 0, 4), 5);
	EQUAL(value_of(fd, 0, 5), 15);
	end(fd);
}

/* Loads the long values of overflowed PMDs and of those in their reset_pmds, and no others. */
static void reset_ovfl_pmds(void)
{
	uint32_t tid;
	int fd = overflowing(0, &tid);

	rec.ctrl = mask;
	rec.restart_ctrl = reset;
	run(200);
	TRUE(!pfm_restart(fd));
	EQUAL(value_of(fd, 0, 4), -77);
	EQUAL(value_of(fd, 0, 5), 10);
	EQUAL(value_of(fd, 0, 6), 666);
	end(fd);
}

static void reset_is_random(void)
{
	pfarg_pmd_t pmd = { .reg_long_reset = -100ULL, .reg_flags = PFM_REGFL_RANDOM, .reg_random_seed = 9,
			    .reg_random_mask = 31 };
	int fd;

	begin(NULL);
	fd = recorded(0);
	rec.ctrl = mask;
	rec.restart_ctrl = reset;
	counter(fd, 0, 4, -10, &pmd);
	load_and_start(fd, thread(1000));
	run(200);
	TRUE(!pfm_restart(fd));
	EQUAL(value_of(fd, 0, 4), -100 + 9);
	end(fd);
}

/* "which were not immediately reset": a second restart finds nothing to reset. */
static void reset_once(void)
{
	uint32_t tid;
	int fd = overflowing(0, &tid);

	rec.restart_ctrl = reset;
	run(150);	/* PMD4 has overflowed, and is neither reset nor masked */
	TRUE(!pfm_restart(fd));
	EQUAL(value_of(fd, 0, 4), -77);
	run(50);
	TRUE(!pfm_restart(fd));
	EQUAL(value_of(fd, 0, 4), -72);
	end(fd);
}

/* "which were not immediately reset": if a PMD overflowed twice, its last overflow counts. */
static void last_overflow_was_reset(void)
{
	int fd;

	begin(NULL);
	fd = recorded(0);
	rec.by_pmd[5] = reset;
	rec.restart_ctrl = reset;
	counter(fd, 0, 4, -10, &(pfarg_pmd_t){ .reg_short_reset = -40ULL, .reg_long_reset = -77ULL });
	counter(fd, 0, 5, -20, &(pfarg_pmd_t){ .reg_short_reset = -1000ULL, .reg_long_reset = -1000ULL,
					       .reg_reset_pmds = { 1 << 4 } });
	load_and_start(fd, thread(1000));
	run(250);		/* PMD4 overflows and is not reset, PMD5 resets it */
	rec.ctrl = reset;
	run(400);		/* PMD4 overflows again, and is reset at once */
	EQUAL(rec.num_handled, 3);
	EQUAL(value_of(fd, 0, 4), -35);
	TRUE(!pfm_restart(fd));
	EQUAL(value_of(fd, 0, 4), -35);
	end(fd);
}

/* "when set to 1, monitoring is masked": it stays so, or becomes so. */
static void mask_monitoring(void)
{
	uint32_t tid;
	int fd = overflowing(0, &tid);

	rec.ctrl = mask;
	rec.restart_ctrl = mask;
	run(200);
	TRUE(!pfm_restart(fd));
	run(200);
	EQUAL(value_of(fd, 0, 5), 10);
	rec.restart_ctrl = (pfm_ovfl_ctrl_t){ 0 };
	TRUE(!pfm_restart(fd));
	run(100);
	EQUAL(value_of(fd, 0, 5), 20);
	rec.restart_ctrl = mask;
	TRUE(!pfm_restart(fd));
	EQUAL(rec.is_active, 1);
	run(100);
	EQUAL(value_of(fd, 0, 5), 20);
	rec.restart_ctrl = (pfm_ovfl_ctrl_t){ 0 };
	TRUE(!pfm_restart(fd));
	EQUAL(rec.is_active, 0);
	run(100);
	EQUAL(value_of(fd, 0, 5), 30);
	end(fd);
}

/* notify_user and block_thread: "this field is ignored for this function". */
static void ignored(void)
{
	pfarg_msg_t msg;
	uint32_t tid;
	int fd = overflowing(PFM_FL_NOTIFY_BLOCK, &tid);

	rec.restart_ctrl = (pfm_ovfl_ctrl_t){ .notify_user = 1, .block_thread = 1 };
	run(50);
	TRUE(!pfm_restart(fd));
	run(50);
	TRUE(!message(fd, &msg));
	EQUAL(state_of(tid), PFM_SIM_RUNNING);
	EQUAL(value_of(fd, 0, 5), 10);
	end(fd);
}

/* The call-back's error is PFM_RESTART's, and nothing is reset or resumed. */
static void refused(void)
{
	uint32_t tid;
	int fd = overflowing(0, &tid);

	rec.ctrl = mask;
	rec.restart_ctrl = reset;
	rec.restart_err = EIO;
	run(200);
	TRUE(pfm_restart(fd) == -1);
	EQUAL(errno, EIO);
	run(100);
	EQUAL(value_of(fd, 0, 4), 0);
	rec.restart_err = 0;
	TRUE(!pfm_restart(fd));
	EQUAL(value_of(fd, 0, 4), -77);
	end(fd);
}

/* Starts a thread (10 ns per instruction) that creates another (30 ns, other CPU); PMD4 masks. */
static int two_threads(void)
{
	struct pfm_sim_step slow[] = {
		{ .op = PFM_SIM_LOOP, .count = 1000 },
		{ .op = PFM_SIM_SITE, .level = PFM_SIM_USER, .ns = 30, .ip = 0x2000 },
		{ .op = PFM_SIM_END },
	};
	struct pfm_sim_program child = { slow, COUNT(slow) };
	struct pfm_sim_step fast[] = {
		{ .op = PFM_SIM_THREAD, .program = &child },
		{ .op = PFM_SIM_LOOP, .count = 1000 },
		{ .op = PFM_SIM_SITE, .level = PFM_SIM_USER, .ns = 10, .ip = 0x1000 },
		{ .op = PFM_SIM_END },
	};
	int fd = recorded(PFM_FL_INHERIT);

	rec.ctrl = (pfm_ovfl_ctrl_t){ .notify_user = 1, .mask_monitoring = 1 };
	rec.restart_ctrl = reset;
	counter(fd, 0, 4, -10, &(pfarg_pmd_t){ .reg_short_reset = -10ULL, .reg_long_reset = -10ULL,
					       .reg_flags = PFM_REGFL_OVFL_NOTIFY });
	load_and_start(fd, program(fast, COUNT(fast)));
	return fd;
}

/*
 * perfmon.h, PFM_FL_INHERIT: "there is one message, and pfm_restart() lets them all go on". A
 * refused restart changes nothing: a thread that finds the buffer full after it adds no message.
 */
static void refused_of_a_family(void)
{
	pfarg_msg_t msg;
	int fd;

	begin("cpus=2");
	fd = two_threads();
	rec.restart_err = EIO;
	run(200);
	TRUE(message(fd, &msg));
	TRUE(pfm_restart(fd) == -1);
	EQUAL(errno, EIO);
	run(200);
	EQUAL(rec.num_handled, 2);
	TRUE(!message(fd, &msg));
	rec.restart_err = 0;
	TRUE(!pfm_restart(fd));
	EQUAL(rec.is_active, 0);
	run(200);
	EQUAL(rec.num_handled, 3);
	TRUE(message(fd, &msg));
	end(fd);
}

static unsigned int num_parts(struct pfm_context *root)
{
	(void)root;
	return 2;
}

static unsigned int part(struct pfm_context *ctx)
{
	struct pfm_where where;

	pfm_ops(ctx)->where(ctx, &where);
	return where.cpu;
}

static void *refusing;

static int refuse_one(void *buf, int is_active, pfm_ovfl_ctrl_t *ctrl)
{
	(void)is_active;
	*ctrl = reset;
	return buf == refusing ? EIO : 0;
}

/* If the restart of a buffer's part is refused, only the threads of the other parts go on. */
static void refused_of_a_part(void)
{
	struct pfm_sim *computer;
	int fd;

	begin("cpus=2");
	computer = pfm_sim_get();
	computer->ops.num_parts = num_parts;
	computer->ops.part = part;
	rec.size = 4096;
	recorder.fmt_restart = refuse_one;
	fd = two_threads();
	run(400);
	EQUAL(rec.num_handled, 2);
	for (int i = 0; i < 2; i++) {
		const struct handled *last = &rec.handled[rec.num_handled - 2], *first = last + i, *other = last + !i;

		refusing = first->buf;
		TRUE(first->buf != other->buf);
		TRUE(pfm_restart(fd) == -1);
		EQUAL(errno, EIO);
		run(400);
		EQUAL(rec.num_handled, 3 + 3 * i);
		EQUAL(rec.handled[2 + 3 * i].where.tid, other->where.tid);
		refusing = NULL;
		TRUE(!pfm_restart(fd));
		run(400);
		EQUAL(rec.num_handled, 5 + 3 * i);
	}
	end(fd);
	pfm_sim_put(computer);
}

/*
 * The call-back is optional: without it, a restart resets PMDs and resumes monitoring. A restart of
 * a context that is not masked fails.
 */
static void without(void)
{
	int fd;

	begin(NULL);
	recorder.fmt_restart = NULL;
	fd = recorded(0);
	rec.ctrl = mask;
	counter(fd, 0, 4, -10, &(pfarg_pmd_t){ .reg_long_reset = -77ULL });
	load_and_start(fd, thread(1000));
	TRUE(pfm_restart(fd) == -1 && errno == EBUSY);
	run(200);
	TRUE(!pfm_restart(fd));
	EQUAL(value_of(fd, 0, 4), -77);
	run(10);
	EQUAL(value_of(fd, 0, 4), -76);
	end(fd);
}

const struct format_case restart_cases[] = {
	{ "restart_is_active", is_active },
	{ "restart_defaults", defaults },
	{ "restart_reset_ovfl_pmds", reset_ovfl_pmds },
	{ "restart_reset_is_random", reset_is_random },
	{ "restart_reset_once", reset_once },
	{ "restart_last_overflow_was_reset", last_overflow_was_reset },
	{ "restart_mask_monitoring", mask_monitoring },
	{ "restart_ignored", ignored },
	{ "restart_refused", refused },
	{ "restart_refused_of_a_family", refused_of_a_family },
	{ "restart_refused_of_a_part", refused_of_a_part },
	{ "restart_without", without },
	{ NULL, NULL }
};
