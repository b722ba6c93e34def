// SPDX-License-Identifier: MIT
/*
 * concurrent_commands.c - gives every command of the interface, at random, to contexts that other
 * threads command, too.
 */
#include <perfmon/perfmon_dfl_smpl.h>

#include "concurrent.h"
#include "formats/formats.h"

bool went(enum command c, int ret)
{
	CHECK(ret >= 0 || ret == -EINVAL || ret == -EBUSY || ret == -ESRCH || ret == -ENOMEM || ret == -EPERM,
	      "command %d: error %d, %s", c, -ret, pfm_explain());
	atomic_fetch_add(ret < 0 ? &tally.refused[c] : &tally.ok[c], 1);
	return ret >= 0;
}

/* --- contexts ------------------------------------------------------------------------------- */

static uint32_t any_flags(void)
{
	uint32_t r = rng_below(&me.rng, 100), flags = 0;

	if (r < 25)
		flags = PFM_FL_SYSTEM_WIDE | (r % 2 ? PFM_FL_ANY_CPU : 0);
	else if (r < 45)
		flags = PFM_FL_NOTIFY_BLOCK;
	else if (r < 75)
		flags = PFM_FL_INHERIT;
	return flags | (rng_chance(&me.rng, 15) ? PFM_FL_OVFL_NO_MSG : 0);
}

static struct pfm_buffer_fmt *any_format(struct file *f)
{
	static const char *const names[] = { "tally", "driven", "visitor", PFM_DFL_SMPL_NAME };
	uint32_t i = rng_below(&me.rng, 8);
	struct pfm_buffer_fmt *fmt = NULL;

	if (i < COUNT(names))
		fmt = pfm_fmt_get_name(names[i]);
	else if (i == COUNT(names))
		fmt = pfm_fmt_get_uuid(tally_format.fmt_uuid);
	f->tally = fmt && fmt != &pfm_fmt_default;
	return fmt;
}

static void create(unsigned int at)
{
	pfm_dfl_smpl_arg_t arg = { .buf_size = 4096 };
	struct file *f = file_new();
	pfarg_ctx_t req = { .ctx_flags = any_flags() };

	if (!went(CREATE, pfm_do_create(&machine, &req, any_format(f), &arg, f, &f->ctx)))
		file_put(f);
	else if (!file_publish(at, f))
		file_release(f);
}

static void load(struct file *f)
{
	pfarg_load_t req = { .load_pid = rng_below(&me.rng, NUM_TARGETS + 2), .load_set = any_id() };

	if (f->ctx->flags & PFM_FL_SYSTEM_WIDE)
		req.load_pid = me.cpu;
	else if (rng_chance(&me.rng, 15))
		req.load_pid = me.tid;
	went(LOAD, pfm_do_load(f->ctx, &req));
}

static void start(struct file *f)
{
	pfarg_start_t req = { .start_set = any_id() };

	me.scarce = rng_chance(&me.rng, 20);
	went(START, pfm_do_start(f->ctx, rng_chance(&me.rng, 40) ? &req : NULL));
	me.scarce = false;
	for (struct pfm_context *child_ctx = f->ctx->child_ctxs; child_ctx; child_ctx = child_ctx->next_child_ctx)
		CHECK(f->ctx->started || !child_ctx->started, "a child context counts on, and its root has stopped");
}

/* --- sets ----------------------------------------------------------------------------------- */

static void create_set(struct file *f)
{
	static const uint32_t flags[] = {
		0, PFM_SETFL_EXPL_NEXT, PFM_SETFL_OVFL_SWITCH, PFM_SETFL_TIME_SWITCH, PFM_SETFL_TIME_SWITCH,
		PFM_SETFL_TIME_SWITCH | PFM_SETFL_EXPL_NEXT,
	};
	pfarg_setdesc_t d = {
		.set_id = any_id(), .set_flags = flags[rng_below(&me.rng, COUNT(flags))],
		.set_id_next = set_ids[rng_below(&me.rng, 2)], .set_timeout = 1 + rng_below(&me.rng, 2000),
	};
	bool is_new = !pfm_set_find(f->ctx, d.set_id);

	if (went(CREATE_SETS, pfm_do_create_evtsets(f->ctx, &d, 1)) && is_new)
		ledger_forget(f, d.set_id);
}

static void delete_set(struct file *f)
{
	pfarg_setdesc_t d = { .set_id = any_id() };

	went(DELETE_SETS, pfm_do_delete_evtsets(f->ctx, &d, 1));
}

static void getinfo_sets(struct file *f)
{
	pfarg_setinfo_t v[3] = { { .set_id = 0 }, { .set_id = any_id() }, { .set_id = any_id() } };

	begin_doing(f, DOING_INFO);
	end_doing(f, GETINFO_SETS, pfm_do_getinfo_evtsets(f->ctx, v, COUNT(v)));
}

/* --- without a context ---------------------------------------------------------------------- */

static void getinfo_registers(void)
{
	pfarg_pmcinfo_t pmc = { .reg_num = rng_below(&me.rng, NUM_COUNTERS + 2) };
	pfarg_pmdinfo_t pmd = { .reg_num = rng_below(&me.rng, NUM_PMDS) };

	went(GETINFO_REGS, pfm_do_getinfo_pmcs(&machine, &pmc, 1));
	went(GETINFO_REGS, pfm_do_getinfo_pmds(&machine, &pmd, 1));
}

/* Sets tight limits only now and then, and for a while, so that most commands succeed. */
static void configure(void)
{
	pfarg_config_t cfg;
	bool tight = rng_chance(&me.rng, 30);

	pfm_do_get_config(&machine, &cfg);
	CHECK(cfg.cf_thread_sessions + cfg.cf_sys_sessions <= NUM_FILES + NUM_COMMANDERS, "too many sessions");
	cfg.cf_ovfl_rate_max = tight ? 1 + rng_below(&me.rng, 30000) : 0;
	cfg.cf_thread_gid = tight ? me.tid : PFM_GROUP_ANY;
	cfg.cf_smpl_buf_size_max = tight ? 4 * 4096 : ~0ULL;
	went(CONFIG, pfm_do_set_config(&machine, &cfg));
	pfm_check_vector(&machine, 1, 8);
}

static void visit_formats(void)
{
	pfarg_fmtinfo_t infos[4];
	int n = pfm_fmt_list(infos, COUNT(infos));

	CHECK(n >= 3 && n <= 4, "%d formats", n);
	if (rng_chance(&me.rng, 50))
		went(FORMATS, -pfm_register_buffer_fmt(&visitor_format));
	else
		went(FORMATS, -pfm_unregister_buffer_fmt(visitor_format.fmt_uuid));
}

/* --- the sampling buffer -------------------------------------------------------------------- */

/* Reads a buffer as a program does, while overflows write to it. */
static __attribute__((no_sanitize("thread"))) uint64_t look_at(const volatile uint64_t *words, size_t size)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < size / sizeof(*words); i += 8)
		sum += words[i];
	return sum;
}

static void look_at_buffer(struct file *f)
{
	if (f->ctx->buf)
		look_at(f->ctx->buf, f->ctx->buf_size);
	went(LOOK_AT_BUFFER, f->ctx->buf ? 0 : -EINVAL);
}

/* --- a random command ----------------------------------------------------------------------- */

static void unload(struct file *f)
{
	went(UNLOAD, pfm_do_unload(f->ctx));
}

static void stop(struct file *f)
{
	went(STOP, pfm_do_stop(f->ctx));
}

static void restart(struct file *f)
{
	begin_doing(f, DOING_RESTART);
	end_doing(f, RESTART, pfm_do_restart(f->ctx));
}

static const struct {
	void		(*fn)(struct file *f);
	unsigned int	weight;
} commands[] = {
	{ write_pmcs, 8 }, { write_pmds, 12 }, { read_pmds, 12 }, { load, 12 }, { unload, 2 }, { start, 14 },
	{ stop, 3 }, { restart, 16 }, { create_set, 6 }, { delete_set, 1 }, { getinfo_sets, 6 },
	{ look_at_buffer, 3 },
};

static void command(struct file *f)
{
	unsigned int total = 0, i, at;

	for (i = 0; i < COUNT(commands); i++)
		total += commands[i].weight;
	at = rng_below(&me.rng, total);
	for (i = 0; at >= commands[i].weight; i++)
		at -= commands[i].weight;
	pthread_mutex_lock(&f->lock);
	if (f->ctx)
		commands[i].fn(f);
	pthread_mutex_unlock(&f->lock);
}

static void on_file(unsigned int at, struct file *f)
{
	uint32_t what = rng_below(&me.rng, 1000);

	if (what < 3) {
		went(CLOSE, 0);
		file_close(at, f);
		return;
	}
	if (what < 50) {
		pthread_mutex_lock(&f->lock);
		went(READ_MESSAGES, file_take_messages(f, 1 + rng_below(&me.rng, 3)));
		pthread_mutex_unlock(&f->lock);
	} else {
		command(f);
	}
	file_put(f);
}

void random_command(void)
{
	unsigned int at = rng_below(&me.rng, NUM_FILES);
	struct file *f = file_get(at);

	me.cpu = rng_below(&me.rng, NUM_CPUS);
	if (f)
		on_file(at, f);
	else
		create(at);
	switch (rng_below(&me.rng, 100)) {
	case 0:
		getinfo_registers();
		break;
	case 1:
		configure();
		break;
	case 2:
		visit_formats();
		break;
	}
}
