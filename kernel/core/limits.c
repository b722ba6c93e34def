// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * limits.c - sessions (3.1.7), permissions and limits (chapter 4), and their configuration (3.1.16,
 * 3.1.17).
 */
#include "core.h"

bool pfm_all_zero(const void *p, size_t size)
{
	return pfm_zeros(p, size);
}

void pfm_copy_name(char *to, const char *from, size_t room)
{
	size_t i;

	for (i = 0; from && from[i] && i < room - 1; i++)
		to[i] = from[i];
	to[i] = 0;
}

void pfm_machine_init(struct pfm_machine *m, const struct pfm_machine_ops *ops,
		      const struct pfm_pmu *pmu, void *os)
{
	memset(m, 0, sizeof(*m));
	m->ops = ops;
	m->pmu = pmu;
	m->os = os;
	m->sys_gid = m->thread_gid = PFM_GROUP_ANY;
	m->arg_size_max = ops->page_size(m);
	m->smpl_buf_size_max = ~0ULL;
}

/* --- permissions ---------------------------------------------------------------------------- */

/* Reads the configuration again, because another process may have changed it. */
static void refresh(struct pfm_machine *m)
{
	if (!m->ops->sharing)
		return;
	pfm_os_lock();
	m->ops->sharing->refresh(m);
	pfm_os_unlock();
}

int pfm_may_create(struct pfm_machine *m, uint32_t flags)
{
	bool system_wide = flags & PFM_FL_SYSTEM_WIDE;
	uint32_t gid;

	refresh(m);
	gid = system_wide ? READ_ONCE(m->sys_gid) : READ_ONCE(m->thread_gid);
	if (gid == PFM_GROUP_ANY || m->ops->in_group(m, gid))
		return 0;
	return pfm_refuse(-EPERM, "%s contexts are reserved to group %u",
			  system_wide ? "system-wide" : "per-thread", gid);
}

/* --- sessions: one context per thread or CPU; both kinds together only if ops->coexist ------- */

/*
 * Returns true if ctx cannot be loaded because of loaded contexts of the other kind, system-wide or
 * per-thread. System-wide contexts with PFM_FL_PREEMPTIBLE and per-thread ones do not exclude each
 * other (6.5).
 */
static bool excludes(struct pfm_context *ctx)
{
	struct pfm_machine *m = ctx->machine;

	if (m->ops->coexist)
		return false;
	if (ctx->flags & PFM_FL_SYSTEM_WIDE)
		return m->thread_sessions && !(ctx->flags & PFM_FL_PREEMPTIBLE);
	for (struct pfm_context *c = m->loaded; c; c = c->next_loaded)
		if ((c->flags & PFM_FL_SYSTEM_WIDE) && !(c->flags & PFM_FL_PREEMPTIBLE))
			return true;
	return false;
}

static int conflict(struct pfm_context *ctx)
{
	struct pfm_machine *m = ctx->machine;
	bool sys = ctx->flags & PFM_FL_SYSTEM_WIDE;

	if (excludes(ctx))
		return pfm_refuse(-EBUSY, "%s contexts are loaded, which excludes %s ones",
				  sys ? "per-thread" : "system-wide", sys ? "system-wide" : "per-thread");
	for (struct pfm_context *c = m->loaded; c; c = c->next_loaded) {
		if (!!(c->flags & PFM_FL_SYSTEM_WIDE) != sys)
			continue;
		if (sys && c->cpu == ctx->cpu)
			return pfm_refuse(-EBUSY, "CPU %u has a context already", ctx->cpu);
		/*
		 * The thread of an outlived context has ended, and another thread may have its id
		 * by now.
		 */
		if (!sys && c->tid == ctx->tid && !READ_ONCE(c->outlived))
			return pfm_refuse(-EBUSY, "thread %u has a context already", ctx->tid);
	}
	return 0;
}

static uint64_t *session_count(struct pfm_context *ctx)
{
	struct pfm_machine *m = ctx->machine;

	return ctx->flags & PFM_FL_SYSTEM_WIDE ? &m->sys_sessions : &m->thread_sessions;
}

static void enlist(struct pfm_context *ctx)
{
	ctx->outlived = false;
	++*session_count(ctx);
	ctx->next_loaded = ctx->machine->loaded;
	ctx->machine->loaded = ctx;
}

static void delist(struct pfm_context *ctx)
{
	struct pfm_context **p = &ctx->machine->loaded;

	while (*p != ctx)
		p = &(*p)->next_loaded;
	*p = ctx->next_loaded;
	--*session_count(ctx);
}

/*
 * Enters a context into the list of loaded ones, and claims its thread or CPU for this process.
 * Child contexts are not listed, so that forks and exits need not search the list: the machine
 * finds a child context by its thread. Returns 0 or -EBUSY.
 */
int pfm_session_begin(struct pfm_context *ctx)
{
	int ret;

	if (ctx->root && !pfm_ops(ctx)->sharing)
		return 0;
	pfm_os_lock();
	ret = ctx->root ? 0 : conflict(ctx);
	if (!ret && pfm_ops(ctx)->sharing)
		ret = pfm_ops(ctx)->sharing->claim(ctx);
	if (!ret && !ctx->root)
		enlist(ctx);
	pfm_os_unlock();
	return ret;
}

void pfm_session_end(struct pfm_context *ctx)
{
	if (ctx->root && !pfm_ops(ctx)->sharing)
		return;
	pfm_os_lock();
	if (!ctx->root)
		delist(ctx);
	if (pfm_ops(ctx)->sharing)
		pfm_ops(ctx)->sharing->disclaim(ctx);
	pfm_os_unlock();
}

/* --- memory of sampling buffers: 4.4.3 ------------------------------------------------------ */

static int charge(struct pfm_machine *m, size_t size)
{
	bool fits;

	pfm_os_lock();
	fits = size <= m->smpl_buf_size_max && m->smpl_buf_size_cur <= m->smpl_buf_size_max - size;
	if (fits && m->ops->sharing)
		fits = m->ops->sharing->hold(m, m->smpl_buf_size_cur + size, m->smpl_buf_size_cur);
	if (fits)
		m->smpl_buf_size_cur += size;
	pfm_os_unlock();
	if (fits)
		return 0;
	return pfm_refuse(-ENOMEM, "a buffer of %llu bytes exceeds cf_smpl_buf_size_max, %llu",
			  (unsigned long long)size, (unsigned long long)READ_ONCE(m->smpl_buf_size_max));
}

static void uncharge(struct pfm_machine *m, size_t size)
{
	pfm_os_lock();
	if (m->ops->sharing)
		m->ops->sharing->hold(m, m->smpl_buf_size_cur - size, m->smpl_buf_size_cur);
	m->smpl_buf_size_cur -= size;
	pfm_os_unlock();
}

int pfm_buffer_alloc(struct pfm_context *ctx, size_t size)
{
	struct pfm_machine *m = ctx->machine;
	size_t page = m->ops->page_size(m), whole = (size + page - 1) / page * page;
	struct pfm_caller who;
	int ret;

	if (whole < size)
		return pfm_refuse(-ENOMEM, "a buffer of %llu bytes is too large", (unsigned long long)size);
	m->ops->caller(m, &who);
	if (!who.admin && whole > who.memlock)
		return pfm_refuse(-ENOMEM, "a buffer of %llu bytes exceeds RLIMIT_MEMLOCK, %llu (ulimit -l)",
				  (unsigned long long)whole, (unsigned long long)who.memlock);
	ret = charge(m, whole);
	if (ret)
		return ret;
	ret = m->ops->alloc_buffer(ctx, whole, &ctx->buf);
	if (ret) {
		uncharge(m, whole);
		return ret;
	}
	ctx->buf_size = whole;
	return 0;
}

void pfm_buffer_free(struct pfm_context *ctx)
{
	if (!ctx->buf)
		return;
	pfm_ops(ctx)->free_buffer(ctx, ctx->buf, ctx->buf_size);
	uncharge(ctx->machine, ctx->buf_size);
	ctx->buf = NULL;
}

/* --- throttling: 4.4.4. At most cf_ovfl_rate_max overflows a second, in windows of 10 ms ----- */

#define SECOND		1000000000ULL	/* in ns */
/* number of windows in a second, unless the rate is lower than that */
#define WINDOWS_PER_S	100

/*
 * Begins a window of 10 ms, in which a hundredth of the rate is allowed. If the rate is below 100
 * overflows per second, the window is longer, and one overflow is allowed. A rate of more than one
 * overflow per ns counts as one per ns.
 */
static void begin_window(struct pfm_context *ctx, uint64_t now, uint64_t rate)
{
	if (rate > SECOND)
		rate = SECOND;
	ctx->rate_left = (rate + WINDOWS_PER_S - 1) / WINDOWS_PER_S;
	ctx->rate_until = now + ctx->rate_left * SECOND / rate;
}

bool pfm_too_many(struct pfm_context *ctx)
{
	struct pfm_machine *m = ctx->machine;
	uint64_t now = m->ops->now(m), rate = READ_ONCE(m->ovfl_rate_max);

	if (!rate)			/* the limit has been removed since the caller read it */
		return false;
	if (now >= ctx->rate_until)
		begin_window(ctx, now, rate);
	if (!ctx->rate_left)
		return true;
	ctx->rate_left--;
	return false;
}

/* --- configuration: 3.1.16, 3.1.17 ---------------------------------------------------------- */

int pfm_do_get_config(struct pfm_machine *m, pfarg_config_t *cfg)
{
	const struct pfm_pmu *pmu = m->pmu;
	struct pfm_usage others = { 0 };

	refresh(m);
	memset(cfg, 0, sizeof(*cfg));
	cfg->cf_version = PFM_VERSION;
	for (unsigned int i = 0; i < pmu->num_pmcs; i++)
		pfm_bit_set(cfg->cf_impl_pmcs, pmu->pmcs[i].num);
	for (unsigned int i = 0; i < pmu->num_pmds; i++)
		pfm_bit_set(cfg->cf_impl_pmds, pmu->pmds[i].num);
	cfg->cf_counter_width = pmu->counter_width;
	pfm_copy_name(cfg->cf_pmu, pmu->name, sizeof(cfg->cf_pmu));
	pfm_os_lock();
	cfg->cf_sys_gid = m->sys_gid;
	cfg->cf_thread_gid = m->thread_gid;
	cfg->cf_arg_size_max = m->arg_size_max;
	cfg->cf_smpl_buf_size_max = m->smpl_buf_size_max;
	cfg->cf_ovfl_rate_max = m->ovfl_rate_max;
	if (m->ops->sharing)
		m->ops->sharing->others(m, &others);
	cfg->cf_smpl_buf_size_cur = m->smpl_buf_size_cur + others.smpl_buf_size;
	cfg->cf_thread_sessions = m->thread_sessions + others.thread_sessions;
	cfg->cf_sys_sessions = m->sys_sessions + others.sys_sessions;
	pfm_os_unlock();
	return 0;
}

static int check_config(struct pfm_machine *m, const pfarg_config_t *cfg)
{
	size_t page = m->ops->page_size(m);
	struct pfm_caller who;

	m->ops->caller(m, &who);
	if (!who.admin)
		return pfm_refuse(-EPERM, "only the administrator may change the configuration");
	if (cfg->cf_flags)
		return pfm_refuse(-EINVAL, "unknown cf_flags %#x", cfg->cf_flags);
	if (cfg->cf_arg_size_max < page || cfg->cf_smpl_buf_size_max < page)
		return pfm_refuse(-EINVAL, "%s must be at least a page, %u bytes",
				  cfg->cf_arg_size_max < page ? "cf_arg_size_max"
							      : "cf_smpl_buf_size_max",
				  (unsigned int)page);
	if (!pfm_all_zero(cfg->cf_reserved1, sizeof(cfg->cf_reserved1)) ||
	    !pfm_all_zero(cfg->cf_reserved2, sizeof(cfg->cf_reserved2)))
		return pfm_refuse(-EINVAL, "reserved fields must be 0");
	return 0;
}

int pfm_do_set_config(struct pfm_machine *m, const pfarg_config_t *cfg)
{
	int ret = check_config(m, cfg);

	if (ret)
		return ret;
	pfm_os_lock();
	WRITE_ONCE(m->sys_gid, cfg->cf_sys_gid);
	WRITE_ONCE(m->thread_gid, cfg->cf_thread_gid);
	WRITE_ONCE(m->arg_size_max, cfg->cf_arg_size_max);
	WRITE_ONCE(m->smpl_buf_size_max, cfg->cf_smpl_buf_size_max);
	WRITE_ONCE(m->ovfl_rate_max, cfg->cf_ovfl_rate_max);
	if (m->ops->sharing)
		m->ops->sharing->spread(m);
	pfm_os_unlock();
	return 0;
}
