// SPDX-License-Identifier: MIT
/* formats_life.c - registration, creation and destruction (3.5.7 - 3.5.13). */
#include <unistd.h>

#include "formats.h"

/* --- 3.5.8, 3.5.9 ----------------------------------------------------------------------------- */

static void required_fields(void)
{
	begin(NULL);
	recorder.fmt_name = NULL;
	EQUAL(pfm_register_buffer_fmt(&recorder), EINVAL);
	recorder.fmt_name = "";
	EQUAL(pfm_register_buffer_fmt(&recorder), EINVAL);
	recorder.fmt_name = "recorder";
	memset(recorder.fmt_uuid, 0, sizeof(recorder.fmt_uuid));
	EQUAL(pfm_register_buffer_fmt(&recorder), EINVAL);
	recorder.fmt_uuid[15] = 1;
	EQUAL(pfm_register_buffer_fmt(&recorder), 0);
	EQUAL(pfm_unregister_buffer_fmt(recorder.fmt_uuid), 0);
	recorder.fmt_handler = NULL;
	EQUAL(pfm_register_buffer_fmt(&recorder), EINVAL);
	EQUAL(pfm_register_buffer_fmt(NULL), EINVAL);
	end(-1);
}

static void only_the_handler(void)
{
	int fd;

	begin(NULL);
	recorder.fmt_validate = NULL;
	recorder.fmt_getsize = NULL;
	recorder.fmt_init = NULL;
	recorder.fmt_restart = NULL;
	recorder.fmt_exit = NULL;
	fd = recorded(0);
	counter(fd, 0, 4, -10, &(pfarg_pmd_t){ .reg_short_reset = -1000 });
	load_and_start(fd, thread(100));
	run(2000);
	CALLS("h");
	end(fd);
	CALLS("h");
}

static void unknown_flags(void)
{
	begin(NULL);
	for (int bit = 0; bit < 32; bit++) {
		recorder.fmt_flags = 1U << bit;
		EQUAL(pfm_register_buffer_fmt(&recorder), recorder.fmt_flags == PFM_FMTFL_NOSET ? 0 : EINVAL);
		pfm_unregister_buffer_fmt(recorder.fmt_uuid);
	}
	end(-1);
}

static void once(void)
{
	pfm_buffer_fmt_t other;

	begin(NULL);
	EQUAL(pfm_register_buffer_fmt(&recorder), 0);
	EQUAL(pfm_register_buffer_fmt(&recorder), EBUSY);
	other = recorder;
	other.fmt_name = "other";
	EQUAL(pfm_register_buffer_fmt(&other), EBUSY);	/* the same UUID */
	other.fmt_uuid[0] ^= 1;
	EQUAL(pfm_register_buffer_fmt(&other), 0);
	EQUAL(pfm_unregister_buffer_fmt(other.fmt_uuid), 0);
	other.fmt_name = "recorder";
	EQUAL(pfm_register_buffer_fmt(&other), EBUSY);	/* names are unique, too */
	end(-1);
}

static void usable_at_once(void)
{
	pfarg_ctx_t ctx = { 0 };
	int fd;

	begin(NULL);
	EQUAL(create_errno(0, NULL), EINVAL);
	EQUAL(pfm_register_buffer_fmt(&recorder), 0);
	memcpy(ctx.ctx_smpl_buf_id, recorder.fmt_uuid, sizeof(pfm_uuid_t));
	fd = pfm_create_context_uuid(&ctx, NULL, 0);
	TRUE(fd >= 0);
	CALLS("vgi");
	end(fd);
}

static void unregister(void)
{
	int fd;

	begin(NULL);
	EQUAL(pfm_unregister_buffer_fmt(recorder.fmt_uuid), EINVAL);
	fd = recorded(0);
	EQUAL(pfm_unregister_buffer_fmt(recorder.fmt_uuid), EBUSY);	/* a context uses it */
	close(fd);
	run(0);
	EQUAL(pfm_unregister_buffer_fmt(recorder.fmt_uuid), 0);
	EQUAL(pfm_unregister_buffer_fmt(recorder.fmt_uuid), EINVAL);
	EQUAL(create_errno(0, NULL), EINVAL);
	end(-1);
}

static void listed(void)
{
	pfarg_fmtinfo_t infos[32];
	int n, before;

	begin(NULL);
	act(thread(1));	/* a user without privileges */
	before = pfm_getinfo_fmts(infos, COUNT(infos));
	recorder.fmt_flags = PFM_FMTFL_NOSET;
	recorder.fmt_arg_size = sizeof(struct recorder_arg);
	EQUAL(pfm_register_buffer_fmt(&recorder), 0);
	n = pfm_getinfo_fmts(infos, COUNT(infos));
	EQUAL(n, before + 1);
	TRUE(!strcmp(infos[n - 1].fmt_name, "recorder"));
	TRUE(!memcmp(infos[n - 1].fmt_uuid, recorder.fmt_uuid, sizeof(pfm_uuid_t)));
	EQUAL(infos[n - 1].fmt_flags, PFM_FMTFL_NOSET);
	EQUAL(infos[n - 1].fmt_arg_size, sizeof(struct recorder_arg));
	act(0);
	end(-1);
	begin(NULL);
	EQUAL(pfm_getinfo_fmts(infos, COUNT(infos)), before);
	end(-1);
}

/* --- 3.5.7: flags and the queue --------------------------------------------------------------- */

static void noset(void)
{
	pfarg_setdesc_t set0 = { .set_id = 0, .set_flags = PFM_SETFL_OVFL_SWITCH }, set1 = { .set_id = 1 };
	int fd;

	begin(NULL);
	recorder.fmt_flags = PFM_FMTFL_NOSET;
	fd = recorded(0);
	TRUE(pfm_create_evtsets(fd, &set1, 1) == -1);
	EQUAL(errno, EINVAL);
	TRUE(PFM_SET_HAS_ERROR(set1.set_flags));
	TRUE(!pfm_create_evtsets(fd, &set0, 1));	/* set 0 is there, and can be modified */
	end(fd);
}

static void queue(size_t depth, unsigned int messages)
{
	pfarg_msg_t msg;
	int fd;

	begin(NULL);
	recorder.fmt_msgq_depth = depth;
	rec.ctrl.notify_user = rec.ctrl.reset_ovfl_pmds = 1;
	fd = recorded(0);
	counter(fd, 0, 4, -10, &(pfarg_pmd_t){ .reg_short_reset = -10, .reg_flags = PFM_REGFL_OVFL_NOTIFY });
	load_and_start(fd, thread(1000));
	run(1000);
	/* the overflow that finds the queue full masks: none is handled after it */
	EQUAL(rec.num_handled, messages + 1);
	for (unsigned int i = 0; i < messages; i++)
		TRUE(message(fd, &msg));
	TRUE(!message(fd, &msg));
	end(fd);
}

static void queue_depth(void)
{
	queue(0, 1);
	queue(1, 1);
	queue(5, 5);
}

/* --- 3.5.10 - 3.5.12: creation ---------------------------------------------------------------- */

static void arguments(void)
{
	struct recorder_arg arg = { .size = 10000, .mark = 0x12345678 };
	pfarg_ctx_t ctx = { .ctx_flags = PFM_FL_NOTIFY_BLOCK | PFM_FL_OVFL_NO_MSG };
	pfarg_config_t cfg;
	int fd, num_pmds = 0;

	begin(NULL);
	recorder.fmt_arg_size = sizeof(arg);
	rec.size = -1;
	EQUAL(pfm_register_buffer_fmt(&recorder), 0);
	fd = pfm_create_context_name(&ctx, "recorder", &arg, sizeof(arg));
	TRUE(fd >= 0);
	CALLS("vgi");
	EQUAL(rec.ctx_flags, ctx.ctx_flags);
	EQUAL(rec.arg.mark, 0x12345678);
	EQUAL(ctx.ctx_smpl_buf_size, 12288);	/* pages of 4096 bytes */
	TRUE(!pfm_get_config(&cfg));
	EQUAL(cfg.cf_smpl_buf_size_cur, 12288);
	for (int i = 0; i < PFM_PMD_BV; i++)
		num_pmds += __builtin_popcountll(cfg.cf_impl_pmds[i]);
	EQUAL(rec.num_pmds, num_pmds);
	TRUE(rec.buf && !((uintptr_t)rec.buf & 15));
	end(fd);
}

static void argument_sizes(void)
{
	struct recorder_arg arg = { .size = 4096 };
	pfarg_ctx_t ctx = { 0 };

	begin(NULL);
	recorder.fmt_arg_size = sizeof(arg);
	EQUAL(pfm_register_buffer_fmt(&recorder), 0);
	/* "If a format uses parameters then they must be provided" */
	EQUAL(create_errno(0, NULL), EINVAL);
	TRUE(pfm_create_context_name(&ctx, "recorder", &arg, sizeof(arg) - 1) == -1 && errno == EINVAL);
	TRUE(pfm_create_context_name(&ctx, "recorder", &arg, sizeof(arg) + 1) == -1 && errno == EINVAL);
	CALLS("");
	EQUAL(pfm_unregister_buffer_fmt(recorder.fmt_uuid), 0);
	recorder.fmt_arg_size = 0;
	EQUAL(pfm_register_buffer_fmt(&recorder), 0);
	EQUAL(create_errno(0, &arg), EINVAL);
	CALLS("");
	end(-1);
}

static void argument_limit(void)
{
	static char big[4097];
	pfarg_ctx_t ctx = { 0 };
	int fd;

	begin("page_size=4096");
	recorder.fmt_validate = NULL;
	recorder.fmt_getsize = NULL;
	recorder.fmt_init = NULL;
	recorder.fmt_arg_size = sizeof(big);
	EQUAL(pfm_register_buffer_fmt(&recorder), 0);
	TRUE(pfm_create_context_name(&ctx, "recorder", big, sizeof(big)) == -1);
	EQUAL(errno, E2BIG);
	EQUAL(pfm_unregister_buffer_fmt(recorder.fmt_uuid), 0);
	recorder.fmt_arg_size = 4096;
	EQUAL(pfm_register_buffer_fmt(&recorder), 0);
	fd = pfm_create_context_name(&ctx, "recorder", big, 4096);
	TRUE(fd >= 0);
	end(fd);
}

/* The command fails with the call-back's error, and nothing is left. */
static void refusals(void)
{
	static const struct { int validate, getsize, init, wanted; const char *calls; } tries[] = {
		{ E2BIG, 0, 0, E2BIG, "v" },
		{ EPERM, 0, 0, EPERM, "v" },
		{ 0, ENOSPC, 0, ENOSPC, "vg" },
		{ 0, 0, EIO, EIO, "vgi" },
		{ 0, 0, ENOMEM, ENOMEM, "vgi" },
	};

	for (size_t i = 0; i < COUNT(tries); i++) {
		begin(NULL);
		rec.size = 4096;
		rec.validate_err = tries[i].validate;
		rec.getsize_err = tries[i].getsize;
		rec.init_err = tries[i].init;
		EQUAL(pfm_register_buffer_fmt(&recorder), 0);
		EQUAL(create_errno(0, NULL), tries[i].wanted);
		CALLS(tries[i].calls);	/* no exit: there was no context */
		end(-1);
	}
}

static void getsize_limit(void)
{
	pfarg_config_t cfg;
	int fd;

	begin(NULL);
	TRUE(!pfm_get_config(&cfg));
	cfg.cf_smpl_buf_size_max = 8192;
	cfg.cf_smpl_buf_size_cur = 0;
	TRUE(!pfm_set_config(&cfg));
	rec.size = 8193;
	EQUAL(pfm_register_buffer_fmt(&recorder), 0);
	EQUAL(create_errno(0, NULL), ENOMEM);
	CALLS("vg");
	EQUAL(pfm_unregister_buffer_fmt(recorder.fmt_uuid), 0);
	rec.size = 8192;
	fd = recorded(0);
	EQUAL(create_errno(0, NULL), ENOMEM);	/* the first context's buffer takes all memory */
	end(fd);
}

static void no_buffer(bool has_getsize)
{
	pfarg_ctx_t ctx = { 0 };
	int fd;

	begin(NULL);
	if (!has_getsize)
		recorder.fmt_getsize = NULL;
	rec.size = 0;
	EQUAL(pfm_register_buffer_fmt(&recorder), 0);
	fd = pfm_create_context_name(&ctx, "recorder", NULL, 0);
	TRUE(fd >= 0);
	CALLS(has_getsize ? "vgi" : "vi");
	TRUE(!rec.buf);
	EQUAL(ctx.ctx_smpl_buf_size, 0);
	TRUE(pfm_map_buffer(fd, 4096) == MAP_FAILED);
	EQUAL(errno, EINVAL);
	rec.buf = &rec;
	counter(fd, 0, 4, -10, NULL);
	load_and_start(fd, thread(100));
	run(200);
	EQUAL(rec.num_handled, 1);
	TRUE(!rec.buf);
	rec.buf = &rec;
	TRUE(!pfm_restart(fd));
	TRUE(!rec.buf);
	rec.buf = &rec;
	end(fd);
	TRUE(strchr(rec.calls, 'x') && !rec.buf);
}

static void without_getsize(void)
{
	no_buffer(false);
}

static void size_zero(void)
{
	no_buffer(true);
}

static void all_zeroes(void)
{
	pfarg_ctx_t ctx = { 0 };
	const char *buf;
	int fd;

	for (int round = 0; round < 2; round++) {	/* round 1 reuses a buffer's memory */
		begin(NULL);
		rec.size = 65536;
		recorder.fmt_init = NULL;
		EQUAL(pfm_register_buffer_fmt(&recorder), 0);
		fd = pfm_create_context_name(&ctx, "recorder", NULL, 0);
		TRUE(fd >= 0);
		buf = pfm_map_buffer(fd, ctx.ctx_smpl_buf_size);
		TRUE(buf != MAP_FAILED);
		TRUE(!((uintptr_t)buf & 15));
		TRUE(pfm_all_zero(buf, ctx.ctx_smpl_buf_size));
		TRUE(!pfm_unmap_buffer((void *)buf, ctx.ctx_smpl_buf_size));
		end(fd);
	}
}

/* "the buffer is guaranteed to be initialized upon return": what init did not write is 0. */
static void initialized(void)
{
	pfarg_ctx_t ctx = { 0 };
	const unsigned char *buf;
	int fd;

	begin(NULL);
	rec.size = 4096;
	EQUAL(pfm_register_buffer_fmt(&recorder), 0);
	fd = pfm_create_context_name(&ctx, "recorder", NULL, 0);
	buf = pfm_map_buffer(fd, ctx.ctx_smpl_buf_size);
	TRUE(buf != MAP_FAILED);
	EQUAL(buf[0], 0xab);
	EQUAL(buf[15], 0xab);
	TRUE(pfm_all_zero(buf + 16, 4080));
	TRUE(!pfm_unmap_buffer((void *)buf, ctx.ctx_smpl_buf_size));
	end(fd);
}

/* --- 3.5.13: the end -------------------------------------------------------------------------- */

static void at_exit(void)
{
	int fd, dup_fd;

	begin(NULL);
	rec.size = 4096;
	rec.exit_err = EIO;	/* no call is left that could return the error */
	fd = recorded(0);
	counter(fd, 0, 4, -1000, NULL);
	load_and_start(fd, thread(10));
	run(50);
	TRUE(!pfm_unload_context(fd));
	CALLS("vgi");
	dup_fd = dup(fd);
	close(fd);
	run(0);
	CALLS("vgi");	/* no exit while a descriptor is open */
	rec.buf = NULL;
	close(dup_fd);
	run(0);
	CALLS("vgix");
	TRUE(rec.buf);
	EQUAL(rec.buf_at_exit, 0xab);	/* the buffer's memory is freed after exit */
	end(-1);
}

static void closed_while_loaded(void)
{
	int fd;

	begin(NULL);
	rec.size = 4096;
	fd = recorded(0);
	counter(fd, 0, 4, -10, &(pfarg_pmd_t){ .reg_short_reset = -10 });
	rec.ctrl.reset_ovfl_pmds = 1;
	load_and_start(fd, thread(100));
	run(250);
	close(fd);
	run(500);
	CALLS("vgihhx");	/* no call after exit */
	end(-1);
}

/* --- 5.2: needs the core's insides, too ------------------------------------------------------- */

/* Checks the pm bits of counters, address registers and branch buffer in the set. */
static void check_pm(uint32_t ctx_flags, bool privileged)
{
	static const struct { uint16_t num; uint64_t pm; } monitors[] = {
		{ 4, 1 << 6 }, { 5, 1 << 6 }, { 6, 1 << 6 }, { 7, 1 << 6 }, { 10, 1 << 4 }, { 11, 1 << 6 },
		{ 12, 1 << 6 },
	};
	pfarg_ctx_t ctx = { .ctx_flags = ctx_flags };
	int fd = pfm_create_context_name(&ctx, NULL, NULL, 0);

	TRUE(fd >= 0);
	for (size_t i = 0; i < COUNT(monitors); i++) {
		for (int asked = 0; asked < 2; asked++) {
			pfarg_pmc_t pmc = { .reg_num = monitors[i].num, .reg_value = asked ? monitors[i].pm : 0 };
			uint64_t value;

			TRUE(!pfm_write_pmcs(fd, &pmc, 1));
			value = pfm_set_pmc(&context_of(fd)->set0, monitors[i].num)->value;
			EQUAL(!!(value & monitors[i].pm), privileged);
		}
	}
	close(fd);
}

static void pm_bit(void)
{
	begin(NULL);
	check_pm(0, false);
	check_pm(PFM_ITA_FL_INSECURE, false);
	check_pm(PFM_FL_SYSTEM_WIDE, true);
	check_pm(PFM_ITA_FL_PRIV_MONITORS, true);
	check_pm(PFM_ITA_FL_PRIV_MONITORS | PFM_FL_SYSTEM_WIDE, true);
	end(-1);
}

const struct format_case life_cases[] = {
	{ "required_fields", required_fields },
	{ "only_the_handler", only_the_handler },
	{ "unknown_flags", unknown_flags },
	{ "once", once },
	{ "usable_at_once", usable_at_once },
	{ "unregister", unregister },
	{ "listed", listed },
	{ "noset", noset },
	{ "queue_depth", queue_depth },
	{ "arguments", arguments },
	{ "argument_sizes", argument_sizes },
	{ "argument_limit", argument_limit },
	{ "refusals", refusals },
	{ "getsize_limit", getsize_limit },
	{ "without_getsize", without_getsize },
	{ "size_zero", size_zero },
	{ "all_zeroes", all_zeroes },
	{ "initialized", initialized },
	{ "at_exit", at_exit },
	{ "closed_while_loaded", closed_while_loaded },
	{ "pm_bit", pm_bit },
	{ NULL, NULL }
};
