// SPDX-License-Identifier: MIT
/* formats_overflow.c - the handler: its arguments, and what its control bits do (3.5.14). */
#include "formats.h"

#define PERIOD(p) &(pfarg_pmd_t){ .reg_short_reset = -(uint64_t)(p), .reg_long_reset = -(uint64_t)(p) }
#define NOTIFY(p) &(pfarg_pmd_t){ .reg_short_reset = -(uint64_t)(p), .reg_long_reset = -(uint64_t)(p), \
				  .reg_flags = PFM_REGFL_OVFL_NOTIFY }

static pfm_ovfl_ctrl_t bits(bool notify, bool reset, bool block, bool mask)
{
	return (pfm_ovfl_ctrl_t){ .notify_user = notify, .reset_ovfl_pmds = reset, .block_thread = block,
				  .mask_monitoring = mask };
}

/* --- the handler's arguments ------------------------------------------------------------------ */

static void fields(void)
{
	pfarg_pmd_t pmd = { .reg_short_reset = -20ULL, .reg_smpl_eventid = 0x123456789abcdefULL,
			    .reg_flags = PFM_REGFL_OVFL_NOTIFY };
	const struct handled *h = rec.handled;
	uint32_t tid;
	int fd;

	begin(NULL);
	fd = recorded(0);
	pmd.reg_smpl_pmds[0] = 1 << 5 | 1 << 7 | 1 << 8;
	counter(fd, 0, 7, 700, NULL);
	counter(fd, 0, 5, 500, NULL);
	counter(fd, 0, 4, -10, &pmd);
	TRUE(!pfm_write_pmds(fd, &(pfarg_pmd_t){ .reg_num = 8, .reg_value = 0x88 }, 1));
	rec.ctrl = bits(0, 1, 0, 0);
	tid = thread(100);
	load_and_start(fd, tid);
	run(350);
	EQUAL(rec.num_handled, 2);
	EQUAL(h->arg.ovfl_pmd, 4);
	EQUAL(h->arg.active_set, 0);
	EQUAL(h->arg.ovfl_notify, 1);
	EQUAL(h->arg.pmd_last_reset, -10);	/* the value that was loaded last */
	EQUAL(h->arg.pmd_value, 0);
	EQUAL(h->arg.pmd_eventid, 0x123456789abcdefLL);
	EQUAL(h->arg.smpl_pmds[0], 0x1a0);
	EQUAL(h->arg.num_smpl_pmds, 3);
	EQUAL(h->arg.smpl_pmds_values[0], 510);	/* ascending: PMD5, PMD7, PMD8 */
	EQUAL(h->arg.smpl_pmds_values[1], 710);
	EQUAL(h->arg.smpl_pmds_values[2], 0x88);
	EQUAL(h->tstamp, 100);
	EQUAL(h->where.ip, 0x1000);
	EQUAL(h->where.tid, tid);
	EQUAL(h->where.pid, tid);
	EQUAL(h->where.cpu, 0);
	EQUAL(h[1].arg.pmd_last_reset, -20);	/* now reg_short_reset */
	EQUAL(h[1].tstamp, 300);
	end(fd);
}

/*
 * "Depending on the PMU, this value may not necessarily be 0": here the interrupt comes 4 events
 * late.
 */
static void value_past_zero(void)
{
	int fd;

	begin("skid=4");
	fd = recorded(0);
	counter(fd, 0, 4, -10, PERIOD(10));
	load_and_start(fd, thread(100));
	run(990);
	EQUAL(rec.num_handled, 1);
	EQUAL(rec.handled[0].arg.pmd_value, 4);
	end(fd);
}

static void notify_field(void)
{
	int fd;

	begin(NULL);
	fd = recorded(0);
	counter(fd, 0, 4, -10, NOTIFY(50));
	counter(fd, 0, 5, -10, PERIOD(50));
	load_and_start(fd, thread(100));
	run(500);
	EQUAL(rec.handled[0].arg.ovfl_notify, 1);
	EQUAL(rec.handled[1].arg.ovfl_notify, 0);
	EQUAL(rec.handled[1].arg.any_notify, 1);	/* own: PMD4 has OVFL_NOTIFY */
	end(fd);
}

static void random_last_reset(void)
{
	pfarg_pmd_t pmd = { .reg_short_reset = -100ULL, .reg_flags = PFM_REGFL_RANDOM, .reg_random_seed = 5,
			    .reg_random_mask = 15 };
	int fd;

	begin(NULL);
	fd = recorded(0);
	rec.ctrl = bits(0, 1, 0, 0);
	counter(fd, 0, 4, -10, &pmd);
	load_and_start(fd, thread(1000));
	run(3000);
	EQUAL(rec.handled[0].arg.pmd_last_reset, -10);
	EQUAL(rec.handled[1].arg.pmd_last_reset, -100 + 5);
	EQUAL(rec.handled[2].arg.pmd_last_reset, -100 + (5 * 16807 & 15));
	end(fd);
}

static void active_set(void)
{
	pfarg_setdesc_t sets[] = { { .set_id = 0, .set_flags = PFM_SETFL_OVFL_SWITCH }, { .set_id = 700 } };
	pfarg_pmd_t trigger = { .reg_short_reset = -10ULL, .reg_ovfl_switch_cnt = 1 };
	int fd;

	begin(NULL);
	fd = recorded(0);
	TRUE(!pfm_create_evtsets(fd, sets, 2));
	counter(fd, 0, 4, -10, &trigger);
	counter(fd, 700, 5, -20, PERIOD(20));
	rec.ctrl = bits(0, 1, 0, 0);
	load_and_start(fd, thread(100));
	run(300);
	EQUAL(rec.num_handled, 2);
	EQUAL(rec.handled[0].arg.active_set, 0);	/* the set in which it overflowed */
	EQUAL(rec.handled[0].arg.ovfl_pmd, 4);
	EQUAL(rec.handled[1].arg.active_set, 700);
	EQUAL(rec.handled[1].arg.ovfl_pmd, 5);
	end(fd);
}

/* Overflows at the same time make one call each, ascending, with a time stamp of their own. */
static void simultaneous(void)
{
	const struct handled *h = rec.handled;
	int fd;

	begin(NULL);
	fd = recorded(0);
	rec.ctrl = bits(0, 1, 0, 0);
	counter(fd, 0, 7, -30, PERIOD(30));
	counter(fd, 0, 5, -10, PERIOD(10));
	counter(fd, 0, 4, -10, PERIOD(10));
	counter(fd, 0, 6, -15, PERIOD(15));
	load_and_start(fd, thread(100));
	run(301);
	static const struct { int pmd, tstamp; } wanted[] = {
		{ 4, 100 }, { 5, 100 }, { 6, 150 }, { 4, 200 }, { 5, 200 },
		{ 4, 300 }, { 5, 300 }, { 6, 300 }, { 7, 300 },
	};
	EQUAL(rec.num_handled, COUNT(wanted));
	for (size_t i = 0; i < COUNT(wanted); i++) {
		EQUAL(h[i].arg.ovfl_pmd, wanted[i].pmd);
		EQUAL(h[i].tstamp, wanted[i].tstamp);
	}
	end(fd);
}

/* Step 5: only a 64-bit overflow calls the handler; PMD4 is 47 bits wide and wraps before. */
static void only_64_bits(void)
{
	int fd;

	begin(NULL);
	fd = recorded(0);
	counter(fd, 0, 4, (1LL << 47) - 10, NULL);
	load_and_start(fd, thread(100));
	run(1000);
	EQUAL(rec.num_handled, 0);
	end(fd);
}

/* "The calls to the handler stop when the first error is reported." */
static void first_error(void)
{
	int fd;

	begin(NULL);
	fd = recorded(0);
	rec.ctrl = bits(0, 1, 0, 0);
	rec.handler_err_pmd = 5;
	for (int num = 4; num < 8; num++)
		counter(fd, 0, num, -10, PERIOD(10));
	load_and_start(fd, thread(100));
	run(150);
	EQUAL(rec.num_handled, 2);
	EQUAL(value_of(fd, 0, 4), -5);	/* handled: reset */
	EQUAL(value_of(fd, 0, 5), 5);	/* the failed call's control bits are ignored */
	EQUAL(value_of(fd, 0, 6), 5);
	rec.restart_ctrl.reset_ovfl_pmds = 1;
	TRUE(!pfm_restart(fd));		/* PMD5 - PMD7 overflowed, and were not reset */
	EQUAL(value_of(fd, 0, 4), -5);
	EQUAL(value_of(fd, 0, 5), -10);
	EQUAL(value_of(fd, 0, 7), -10);
	end(fd);
}

/* --- what its control bits do ----------------------------------------------------------------- */

/* "The default value is 0": nothing happens, the counter goes on from 0. */
static void defaults(void)
{
	pfarg_msg_t msg;
	uint32_t tid;
	int fd;

	begin(NULL);
	fd = recorded(PFM_FL_NOTIFY_BLOCK);
	counter(fd, 0, 4, -10, NOTIFY(10));
	tid = thread(100);
	load_and_start(fd, tid);
	run(500);
	EQUAL(rec.num_handled, 1);
	EQUAL(value_of(fd, 0, 4), 40);
	TRUE(!message(fd, &msg));
	EQUAL(state_of(tid), PFM_SIM_RUNNING);
	end(fd);
}

/* Notifies "only if the controlling PMC register has the PFM_REGFL_OVFL_NOTIFY flag set". */
static void notify_user(void)
{
	pfarg_msg_t msg;
	int fd;

	begin(NULL);
	fd = recorded(0);
	rec.ctrl = bits(1, 1, 0, 0);
	counter(fd, 0, 4, -10, PERIOD(10));
	counter(fd, 0, 5, -15, NOTIFY(1000));
	load_and_start(fd, thread(100));
	run(120);
	TRUE(!message(fd, &msg));
	run(40);
	TRUE(message(fd, &msg));
	EQUAL(msg.type, PFM_MSG_OVFL);
	EQUAL(msg.pfm_ovfl_msg.msg_ovfl_pmds[0], 1 << 5);
	run(60);
	EQUAL(value_of(fd, 0, 4), -8);
	EQUAL(rec.num_handled, 3);
	end(fd);
}

/* Several PMDs overflow at once; one sets notify_user, others OVFL_NOTIFY: there is one message. */
static void notify_once(void)
{
	pfarg_msg_t msg;
	int fd;

	begin(NULL);
	fd = recorded(0);
	rec.by_pmd[5] = bits(1, 0, 0, 0);
	counter(fd, 0, 4, -10, NOTIFY(10));
	counter(fd, 0, 5, -10, PERIOD(10));
	counter(fd, 0, 6, -10, NOTIFY(10));
	load_and_start(fd, thread(100));
	run(500);
	TRUE(message(fd, &msg));
	EQUAL(msg.pfm_ovfl_msg.msg_ovfl_pmds[0], 7 << 4);
	TRUE(!message(fd, &msg));
	end(fd);
}

/* Resets the overflowed PMD and those of its reset_pmds at once, to their short values. */
static void reset_ovfl_pmds(void)
{
	pfarg_pmd_t pmd = { .reg_short_reset = -20ULL, .reg_long_reset = -7ULL };
	int fd;

	begin(NULL);
	fd = recorded(0);
	rec.ctrl = bits(0, 1, 0, 0);
	pmd.reg_reset_pmds[0] = 1 << 6 | 1 << 9;
	counter(fd, 0, 4, -10, &pmd);
	counter(fd, 0, 5, 0, PERIOD(111));
	counter(fd, 0, 6, 0, PERIOD(222));
	TRUE(!pfm_write_pmds(fd, &(pfarg_pmd_t){ .reg_num = 9, .reg_value = 1, .reg_short_reset = 99 }, 1));
	load_and_start(fd, thread(100));
	run(100);
	EQUAL(value_of(fd, 0, 4), -20);
	EQUAL(value_of(fd, 0, 5), 10);	/* not in reset_pmds */
	EQUAL(value_of(fd, 0, 6), -222);
	EQUAL(value_of(fd, 0, 9), 99);
	end(fd);
}

static void reset_is_random(void)
{
	pfarg_pmd_t pmd = { .reg_short_reset = -100ULL, .reg_flags = PFM_REGFL_RANDOM, .reg_random_mask = 63,
			    .reg_random_seed = 30 };
	int fd;

	begin(NULL);
	fd = recorded(0);
	rec.ctrl = bits(0, 1, 0, 0);
	counter(fd, 0, 5, 0, &pmd);
	pmd.reg_random_seed = 20;
	pmd.reg_reset_pmds[0] = 1 << 5;
	counter(fd, 0, 4, -10, &pmd);
	load_and_start(fd, thread(100));
	run(100);
	EQUAL(value_of(fd, 0, 4), -100 + 20);
	EQUAL(value_of(fd, 0, 5), -100 + 30);
	end(fd);
}

/* reset_ovfl_pmds concerns one overflowed PMD alone: the others are reset at the restart. */
static void reset_each(void)
{
	int fd;

	begin(NULL);
	fd = recorded(0);
	rec.by_pmd[5] = bits(0, 1, 0, 0);
	counter(fd, 0, 4, -10, &(pfarg_pmd_t){ .reg_short_reset = -40ULL, .reg_long_reset = -400ULL });
	counter(fd, 0, 5, -10, &(pfarg_pmd_t){ .reg_short_reset = -50ULL, .reg_long_reset = -500ULL });
	load_and_start(fd, thread(100));
	run(110);
	EQUAL(value_of(fd, 0, 4), 1);
	EQUAL(value_of(fd, 0, 5), -49);
	rec.restart_ctrl.reset_ovfl_pmds = 1;
	TRUE(!pfm_restart(fd));
	EQUAL(rec.is_active, 1);
	EQUAL(value_of(fd, 0, 4), -400);
	EQUAL(value_of(fd, 0, 5), -49);	/* not included in what the restart resets */
	end(fd);
}

/* block_thread is ignored except in a context of another thread with NOTIFY_BLOCK. */
static void block_thread(void)
{
	uint32_t tid;
	int fd;

	for (int blocking = 0; blocking < 2; blocking++) {
		begin(NULL);
		fd = recorded(blocking ? PFM_FL_NOTIFY_BLOCK : 0);
		rec.ctrl = bits(0, 1, 0, 0);
		rec.by_pmd[5] = bits(0, 1, 1, 0);	/* one of several overflows is enough */
		for (int num = 4; num < 7; num++)
			counter(fd, 0, num, -10, PERIOD(1000));
		tid = thread(1000);
		load_and_start(fd, tid);
		run(500);
		EQUAL(state_of(tid), blocking ? PFM_SIM_BLOCKED : PFM_SIM_RUNNING);
		EQUAL(value_of(fd, 0, 4), blocking ? -1000 : -960);
		TRUE(!pfm_restart(fd));
		run(100);
		EQUAL(state_of(tid), PFM_SIM_RUNNING);
		EQUAL(value_of(fd, 0, 4), blocking ? -990 : -950);
		end(fd);
	}
}

static void block_system_wide(void)
{
	pfarg_load_t load = { .load_pid = 0 };
	uint32_t tid;
	int fd;

	begin(NULL);
	fd = recorded(PFM_FL_SYSTEM_WIDE);
	rec.ctrl = bits(0, 1, 1, 0);
	counter(fd, 0, 4, -10, PERIOD(1000));
	tid = thread(1000);
	TRUE(!pfm_load_context(fd, &load));
	TRUE(!pfm_start(fd, NULL));
	run(500);
	EQUAL(state_of(tid), PFM_SIM_RUNNING);
	EQUAL(value_of(fd, 0, 4), -960);
	end(fd);
}

static void block_self(void)
{
	pfarg_load_t load;
	int fd;

	begin(NULL);
	load = (pfarg_load_t){ .load_pid = thread(1000) };
	act(load.load_pid);
	fd = recorded(PFM_FL_NOTIFY_BLOCK);	/* a thread cannot block on its own context */
	TRUE(pfm_load_context(fd, &load) == -1);
	EQUAL(errno, EINVAL);
	close(fd);
	run(0);
	EQUAL(pfm_unregister_buffer_fmt(recorder.fmt_uuid), 0);
	fd = recorded(0);
	rec.ctrl = bits(0, 1, 1, 0);
	counter(fd, 0, 4, -10, PERIOD(1000));
	TRUE(!pfm_load_context(fd, &load));
	TRUE(!pfm_start(fd, NULL));
	run(500);
	EQUAL(state_of(load.load_pid), PFM_SIM_RUNNING);
	act(0);
	end(fd);
}

/*
 * The thread "cannot go back to user level execution unless a PFM_RESTART command is issued
 * before". It loops through 10 instructions of user code and 20 of kernel code.
 */
static void block_at_user_level(void)
{
	struct pfm_sim_step steps[] = {
		{ .op = PFM_SIM_LOOP, .count = PFM_SIM_FOREVER },
		{ .op = PFM_SIM_LOOP, .count = 10 },
		{ .op = PFM_SIM_SITE, .level = PFM_SIM_USER, .ns = 10, .ip = 0x1000 },
		{ .op = PFM_SIM_END },
		{ .op = PFM_SIM_LOOP, .count = 20 },
		{ .op = PFM_SIM_SITE, .level = PFM_SIM_KERNEL, .ns = 10, .ip = 0x2000 },
		{ .op = PFM_SIM_END },
		{ .op = PFM_SIM_END },
	};
	uint32_t tid;
	int fd;

	begin(NULL);
	fd = recorded(PFM_FL_NOTIFY_BLOCK);
	rec.ctrl = bits(0, 1, 1, 0);
	counter(fd, 0, 4, -10, PERIOD(10));
	tid = program(steps, COUNT(steps));
	load_and_start(fd, tid);
	run(250);
	EQUAL(state_of(tid), PFM_SIM_RUNNING);	/* in kernel code it is not blocked */
	TRUE(!pfm_restart(fd));
	run(100);
	EQUAL(value_of(fd, 0, 4), -5);	/* monitoring went on at 300 */
	run(400);			/* overflow at 400, at user level again at 600 */
	EQUAL(state_of(tid), PFM_SIM_BLOCKED);
	EQUAL(value_of(fd, 0, 4), -10);
	TRUE(!pfm_restart(fd));
	run(30);
	EQUAL(value_of(fd, 0, 4), -7);
	end(fd);
}

/*
 * Masked: "no qualified event is collected until a PFM_RESTART"; it "cancels any reset_ovfl_pmds".
 */
static void mask_monitoring(void)
{
	pfarg_msg_t msg;
	uint32_t tid;
	int fd;

	begin(NULL);
	fd = recorded(0);
	rec.ctrl = bits(0, 1, 0, 1);
	counter(fd, 0, 4, -10, &(pfarg_pmd_t){ .reg_short_reset = -30ULL, .reg_long_reset = -77ULL });
	counter(fd, 0, 5, 0, NULL);
	tid = thread(1000);
	load_and_start(fd, tid);
	run(500);
	EQUAL(value_of(fd, 0, 4), 0);
	EQUAL(value_of(fd, 0, 5), 10);
	EQUAL(state_of(tid), PFM_SIM_RUNNING);	/* masked, not blocked */
	TRUE(!message(fd, &msg));
	rec.restart_ctrl.reset_ovfl_pmds = 1;
	TRUE(!pfm_restart(fd));
	/* "all resets will take place during the call to PFM_RESTART" */
	EQUAL(value_of(fd, 0, 4), -77);
	run(100);
	EQUAL(value_of(fd, 0, 5), 20);
	end(fd);
}

/* If one of several overflows at once masks, none is reset, even where the format asked for it. */
static void mask_once(void)
{
	int fd;

	begin(NULL);
	fd = recorded(0);
	rec.ctrl = bits(0, 1, 0, 0);
	rec.by_pmd[5] = bits(0, 0, 0, 1);
	for (int num = 4; num < 7; num++)
		counter(fd, 0, num, -10, PERIOD(33));
	load_and_start(fd, thread(1000));
	run(500);
	EQUAL(rec.num_handled, 3);
	for (int num = 4; num < 7; num++)
		EQUAL(value_of(fd, 0, num), 0);
	rec.restart_ctrl.reset_ovfl_pmds = 1;
	TRUE(!pfm_restart(fd));
	for (int num = 4; num < 7; num++)
		EQUAL(value_of(fd, 0, num), -33);
	end(fd);
}

/* "it is masked upon return from the handler ... regardless of the thread going to block or not" */
static void mask_and_block(void)
{
	uint32_t tid;
	int fd;

	begin(NULL);
	fd = recorded(PFM_FL_NOTIFY_BLOCK);
	rec.ctrl = bits(1, 0, 1, 1);
	counter(fd, 0, 4, -10, NOTIFY(10));
	tid = thread(1000);
	load_and_start(fd, tid);
	run(500);
	EQUAL(state_of(tid), PFM_SIM_BLOCKED);
	EQUAL(value_of(fd, 0, 4), 0);
	rec.restart_ctrl.reset_ovfl_pmds = 1;
	TRUE(!pfm_restart(fd));
	run(50);
	EQUAL(value_of(fd, 0, 4), -5);
	end(fd);
}

const struct format_case overflow_cases[] = {
	{ "fields", fields },
	{ "value_past_zero", value_past_zero },
	{ "notify_field", notify_field },
	{ "random_last_reset", random_last_reset },
	{ "active_set", active_set },
	{ "simultaneous", simultaneous },
	{ "only_64_bits", only_64_bits },
	{ "first_error", first_error },
	{ "defaults", defaults },
	{ "notify_user", notify_user },
	{ "notify_once", notify_once },
	{ "reset_ovfl_pmds", reset_ovfl_pmds },
	{ "reset_is_random", reset_is_random },
	{ "reset_each", reset_each },
	{ "block_thread", block_thread },
	{ "block_system_wide", block_system_wide },
	{ "block_self", block_self },
	{ "block_at_user_level", block_at_user_level },
	{ "mask_monitoring", mask_monitoring },
	{ "mask_once", mask_once },
	{ "mask_and_block", mask_and_block },
	{ NULL, NULL }
};
