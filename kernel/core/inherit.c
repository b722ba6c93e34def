// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * inherit.c - PFM_FL_INHERIT: threads that the monitored thread creates, and threads that these
 * create, are monitored, too. Each gets a child context. A child context has no descriptor, and is
 * programmed like its root, but its counters begin at 0. All child contexts of a root, including
 * those of children's children, are in the root's list. When a child context ends, its counts are
 * added to the root's PMDs (children) and sets (ended). The counts of the living ones are summed up
 * when a command reads them. All of this is done under the root's lock; the values of a child
 * context are accessed in that context's PMU context.
 *
 * With a format, child contexts sample, too, into the root's buffer (parts.c). The value of a PMD
 * with a period then belongs to one thread: it is not summed up. When a child context ends, the
 * state of its periods is kept (struct pfm_rest), and the next child context continues with it.
 */
#include "core.h"

#define PFM_GATHERED	32	/* number of sets that are added up in one access() */

int pfm_check_inherit(struct pfm_machine *m, uint32_t flags, const struct pfm_buffer_fmt *fmt)
{
	if (flags & (PFM_FL_SYSTEM_WIDE | PFM_FL_NOTIFY_BLOCK))
		return pfm_refuse(-EINVAL, "INHERIT does not go with %s",
				  flags & PFM_FL_SYSTEM_WIDE ? "SYSTEM_WIDE" : "NOTIFY_BLOCK");
	if (flags & PFM_FL_MAP_SETS)
		return pfm_refuse(-EINVAL, "INHERIT does not go with MAP_SETS: a view has one thread's values");
	if (!m->ops->fork && !m->ops->inherits)
		return pfm_refuse(-EINVAL, "INHERIT: machine %s does not report new threads", m->ops->name);
	if (fmt && fmt->fmt_ops && m->ops->num_parts)
		return pfm_refuse(-EINVAL, "INHERIT: format %s cannot be filled from several CPUs at a time",
				  fmt->fmt_name);
	return 0;
}

/* --- the periods of child contexts ---------------------------------------------------------- */

/*
 * Returns true for a counter with a reset value in a context with a format. Such a counter is for
 * sampling: its value is not added to the root's.
 */
static bool has_period(const struct pfm_context *ctx, const struct pfm_pmd *pmd)
{
	return ctx->fmt && pmd->is_counter && (pmd->long_reset || pmd->short_reset);
}

/* The state that an ended child context leaves: the values of its PMDs with a period. */
struct pfm_rest {
	struct pfm_rest	*next;
	unsigned int	n, room;
	struct pfm_kept {
		uint16_t	set, num;
		bool		passed;
		uint64_t	value, last_reset;
	} kept[];
};

static unsigned int count_periods(struct pfm_context *child_ctx)
{
	unsigned int n = 0;

	for (const struct pfm_set *set = &child_ctx->set0; set; set = set->next)
		for (unsigned int i = 0; i < set->num_pmds; i++)
			n += has_period(child_ctx, &set->pmds[i]);
	return n;
}

/*
 * Takes from the root the rest that a child context left when it ended, if there is one: the new
 * child context continues with it. The rest also serves as memory for the rest of the new one, so
 * that nothing need be allocated when the new one ends. If there is no rest, or it is too small,
 * memory is allocated now. Returns 0 or -ENOMEM.
 */
static int get_rest(struct pfm_context *child_ctx)
{
	unsigned int n = count_periods(child_ctx);
	struct pfm_rest *rest = child_ctx->root->rests;

	if (rest)
		child_ctx->root->rests = rest->next;
	if (rest && rest->room < n) {
		pfm_os_free(rest);
		rest = NULL;
	}
	if (!rest && n) {
		rest = pfm_os_alloc(sizeof(*rest) + n * sizeof(rest->kept[0]));
		if (!rest)
			return -ENOMEM;
		rest->room = n;
	}
	child_ctx->rests = rest;
	return 0;
}

static void put_rest(struct pfm_context *child_ctx)
{
	struct pfm_rest *rest = child_ctx->rests;

	if (!rest)
		return;
	rest->next = child_ctx->root->rests;
	child_ctx->root->rests = rest;
	child_ctx->rests = NULL;
}

void pfm_rests_free(struct pfm_context *root)
{
	while (root->rests) {
		struct pfm_rest *rest = root->rests;

		root->rests = rest->next;
		pfm_os_free(rest);
	}
}

static void keep_set(struct pfm_context *child_ctx, struct pfm_set *set, struct pfm_rest *rest)
{
	for (unsigned int i = 0; i < set->num_pmds && rest->n < rest->room; i++) {
		struct pfm_pmd *pmd = &set->pmds[i];

		if (!has_period(child_ctx, pmd))
			continue;
		if (pfm_bit(set->ovfl_pmds, pmd->num))
			/* a reset of this PMD was still due */
			pfm_reset_pmd_now(child_ctx, set, pmd, PFM_RESET_LONG);
		rest->kept[rest->n++] = (struct pfm_kept){
			set->id, pmd->num, pmd->passed, pmd->value, pmd->last_reset
		};
	}
}

/* Stores the state of the periods of a child context, which has been unloaded. */
static void keep_rest(struct pfm_context *child_ctx)
{
	struct pfm_rest *rest = child_ctx->rests;

	if (!rest)
		return;
	rest->n = 0;
	for (struct pfm_set *set = &child_ctx->set0; set; set = set->next)
		keep_set(child_ctx, set, rest);
	put_rest(child_ctx);
}

static void go_on_with(struct pfm_context *child_ctx, const struct pfm_kept *kept)
{
	struct pfm_set *set = pfm_set_find(child_ctx, kept->set);
	struct pfm_pmd *pmd = set ? pfm_set_pmd(set, kept->num) : NULL;

	if (!pmd || !has_period(child_ctx, pmd))
		return;
	pmd->value = kept->value;
	pmd->last_reset = kept->last_reset;
	pmd->passed = kept->passed;
}

/*
 * The PMDs with a period begin with a long reset, or with the value that a child context left when
 * it ended.
 */
static int begin_periods(struct pfm_context *child_ctx)
{
	int ret = get_rest(child_ctx);

	for (struct pfm_set *set = &child_ctx->set0; set; set = set->next)
		for (unsigned int i = 0; i < set->num_pmds; i++)
			if (has_period(child_ctx, &set->pmds[i]))
				pfm_reset_pmd_now(child_ctx, set, &set->pmds[i], PFM_RESET_LONG);
	for (unsigned int i = 0; child_ctx->rests && i < child_ctx->rests->n; i++)
		go_on_with(child_ctx, &child_ctx->rests->kept[i]);
	return ret;
}

/*
 * Returns the seed of a child, made from the root's seed and the number of the child, so that each
 * thread has a random series of its own.
 */
static uint32_t seed_of(uint32_t seed, uint32_t child_num)
{
	uint32_t h = seed ^ child_num * 0x9e3779b1U;

	h = (h ^ h >> 15) * 0x85ebca6bU;
	return h ^ h >> 13;
}

static void copy_pmd(struct pfm_pmd *pmd, const struct pfm_pmd *from, uint32_t child_num)
{
	pmd->flags = from->flags;
	pmd->long_reset = from->long_reset;
	pmd->short_reset = from->short_reset;
	pmd->switch_cnt = pmd->switch_left = from->switch_cnt;
	/*
	 * computed and not copied, because an interrupt may be changing the word of "from" that has
	 * this bit
	 */
	pmd->samples = !pfm_bits_empty(from->smpl_pmds);
	memcpy(pmd->reset_pmds, from->reset_pmds, sizeof(pmd->reset_pmds));
	memcpy(pmd->smpl_pmds, from->smpl_pmds, sizeof(pmd->smpl_pmds));
	pmd->eventid = from->eventid;
	pmd->random_mask = from->random_mask;
	pmd->random_seed = pmd->random_state = seed_of(from->random_seed, child_num);
}

/* --- making a child context ---------------------------------------------------------------- */

static int copy_set(struct pfm_context *child_ctx, const struct pfm_set *from)
{
	struct pfm_set *set = pfm_set_find(child_ctx, from->id);
	int ret = set ? 0 : pfm_set_new(child_ctx, from->id, &set);

	for (unsigned int i = 0; i < from->num_pmcs && !ret; i++)
		ret = pfm_set_reserve_pmc(child_ctx, set, from->pmcs[i].num);
	for (unsigned int i = 0; i < from->num_pmds && !ret; i++)
		ret = pfm_set_reserve_pmd(child_ctx, set, from->pmds[i].num);
	if (ret)
		return ret;
	set->flags = from->flags;
	set->id_next = from->id_next;
	set->timeout = from->timeout;
	for (unsigned int i = 0; i < from->num_pmcs; i++)
		*pfm_set_use_pmc(set, from->pmcs[i].num) = from->pmcs[i];
	set->resets_others = child_ctx->fmt && from->resets_others;
	for (unsigned int i = 0; i < from->num_pmds; i++) {
		struct pfm_pmd *pmd = pfm_set_use_pmd(set, from->pmds[i].reg);

		if (child_ctx->fmt)
			copy_pmd(pmd, &from->pmds[i], child_ctx->root->num_forks);
	}
	return 0;
}

static void child_ctx_free(struct pfm_context *child_ctx)
{
	put_rest(child_ctx);
	pfm_sets_free(child_ctx);
	pfm_os_free(child_ctx);
}

static struct pfm_context *child_ctx_new(struct pfm_context *root)
{
	size_t room = root->fmt ? sizeof(*root) : offsetof(struct pfm_context, ovfl_arg.smpl_pmds_values);
	struct pfm_context *child_ctx = pfm_os_alloc(room);
	int ret = 0;

	if (!child_ctx)
		return NULL;
	child_ctx->machine = root->machine;
	child_ctx->pmu = root->pmu;
	child_ctx->flags = root->flags;
	child_ctx->transport = root->transport;
	child_ctx->root = root;
	child_ctx->state = PFM_CTX_UNLOADED;
	child_ctx->fmt = root->fmt;
	child_ctx->fmt_self = root->fmt_self;
	child_ctx->buf = root->buf;
	child_ctx->format_needs = root->format_needs;
	child_ctx->parts = root->parts;
	child_ctx->num_parts = root->num_parts;
	pfm_sets_init(child_ctx);
	for (struct pfm_set *set = &root->set0; set && !ret; set = set->next)
		ret = copy_set(child_ctx, set);
	if (!ret && root->fmt)
		ret = begin_periods(child_ctx);
	if (!ret)
		return child_ctx;
	child_ctx_free(child_ctx);
	return NULL;
}

/*
 * Returns the set with which a new child context begins. If sets switch by timeout, each child
 * context begins with the next set, so that short-lived children cover all sets.
 */
static struct pfm_set *first_set(struct pfm_context *root)
{
	struct pfm_set *set = root->inherit_set ? root->inherit_set : READ_ONCE(root->active);

	root->inherit_set = set->flags & PFM_SETFL_TIME_SWITCH ? pfm_set_successor(root, set) : NULL;
	return set;
}

static int begin(struct pfm_context *child_ctx, void *set)
{
	int ret = pfm_enter_set(child_ctx, set, PFM_RESET_LONG);

	child_ctx->started = !ret && child_ctx->root->started;
	child_ctx->waits_exec = child_ctx->root->waits_exec;
	if (pfm_counting(child_ctx))
		pfm_run(child_ctx);
	return ret;
}

/*
 * The second half of a child context's load, after the machine has bound it; compare settle() in
 * attach.c.
 */
static int settle(struct pfm_context *child_ctx)
{
	struct pfm_set *set = pfm_set_find(child_ctx, first_set(child_ctx->root)->id);
	int ret = pfm_session_begin(child_ctx);

	if (ret)
		return ret;
	pfm_set_state(child_ctx, PFM_CTX_LOADED);
	ret = pfm_ops(child_ctx)->access(child_ctx, begin, set);
	if (!ret)
		return 0;
	pfm_set_state(child_ctx, PFM_CTX_UNLOADED);
	pfm_session_end(child_ctx);
	return ret;
}

static void enlist(struct pfm_context *child_ctx)
{
	struct pfm_context *root = child_ctx->root;

	child_ctx->next_child_ctx = root->child_ctxs;
	child_ctx->child_link = &root->child_ctxs;
	if (root->child_ctxs)
		root->child_ctxs->child_link = &child_ctx->next_child_ctx;
	root->child_ctxs = child_ctx;
}

static void delist(struct pfm_context *child_ctx)
{
	*child_ctx->child_link = child_ctx->next_child_ctx;
	if (child_ctx->next_child_ctx)
		child_ctx->next_child_ctx->child_link = child_ctx->child_link;
}

static int child_ctx_bind(struct pfm_context *child_ctx, void *child)
{
	const struct pfm_machine_ops *ops = pfm_ops(child_ctx);
	int ret = ops->fork(child_ctx, child);

	if (ret)
		return ret;
	ret = settle(child_ctx);
	if (ret) {
		ops->detach(child_ctx);
		ops->release(child_ctx);
	} else {
		enlist(child_ctx);
	}
	return ret;
}

void pfm_fork(struct pfm_context *ctx, void *child)
{
	struct pfm_context *root = pfm_root(ctx), *child_ctx;

	if (!pfm_inherits(root) || !pfm_loaded(root))
		return;
	root->num_forks++;
	child_ctx = child_ctx_new(root);
	if (child_ctx && !child_ctx_bind(child_ctx, child))
		return;
	if (child_ctx)
		child_ctx_free(child_ctx);
	pfm_fork_failed(root);
}

void pfm_fork_failed(struct pfm_context *ctx)
{
	pfm_root(ctx)->dropped_children++;
}

/* --- adding up the counts of child contexts ------------------------------------------------ */

/*
 * Adds the counts of a child context to the root's set "to". PMDs that came into use in the root
 * after the child context was made are not in "from".
 */
static void add_pmds(struct pfm_context *child_ctx, struct pfm_set *to, struct pfm_set *from, bool ended)
{
	for (unsigned int i = 0; i < from->num_pmds; i++) {
		const struct pfm_pmd *pmd = &from->pmds[i];
		struct pfm_pmd *sum = pfm_set_pmd(to, pmd->num);

		if (sum && pmd->is_counter && !has_period(child_ctx, pmd))
			*(ended ? &sum->children : &sum->living) += pmd->value;
	}
}

static void add_set(struct pfm_context *child_ctx, struct pfm_set *from, bool ended)
{
	struct pfm_set *to = pfm_set_find(child_ctx->root, from->id);
	struct pfm_share *share = ended ? &to->ended : &to->living;

	share->runs += from->runs;
	share->duration += from->duration;
	share->lost += from->lost;
	share->throttled += from->throttled;
	share->late += from->late;
	share->blind += from->blind;
	add_pmds(child_ctx, to, from, ended);
}

/* Adds the counts in the child context's set "from", and in those after it, to the root's sets. */
static void add_sets(struct pfm_context *child_ctx, struct pfm_set *from, bool ended)
{
	for (; from; from = from->next)
		add_set(child_ctx, from, ended);
}

static void collect_active(struct pfm_context *child_ctx)
{
	pfm_ops(child_ctx)->collect(child_ctx, child_ctx->active);
	uint64_t ran = pfm_ops(child_ctx)->ran(child_ctx) - child_ctx->since;

	pfm_set_find(child_ctx->root, child_ctx->active->id)->living.duration += ran;
}

/* Adds the counts of the next PFM_GATHERED sets, and no more, because interrupts may be off. */
static int add_living(struct pfm_context *child_ctx, void *next)
{
	struct pfm_set **set = next;

	for (int n = 0; *set && n < PFM_GATHERED; n++, *set = (*set)->next) {
		if (*set == child_ctx->active && pfm_counting(child_ctx))
			collect_active(child_ctx);
		add_set(child_ctx, *set, false);
	}
	return 0;
}

/*
 * Adds the counts of a living child context. If access() returns ESRCH, the thread has ended and
 * its values do not change any more: the remaining sets are added without access().
 */
static void gather_from(struct pfm_context *child_ctx)
{
	struct pfm_set *next = &child_ctx->set0;

	while (next && pfm_ops(child_ctx)->access(child_ctx, add_living, &next) != -ESRCH)
		;
	add_sets(child_ctx, next, false);
}

void pfm_gather(struct pfm_context *ctx)
{
	for (struct pfm_set *set = &ctx->set0; set; set = set->next) {
		set->living = (struct pfm_share){ 0 };
		for (unsigned int i = 0; i < set->num_pmds; i++)
			set->pmds[i].living = 0;
	}
	for (struct pfm_context *child_ctx = ctx->child_ctxs; child_ctx; child_ctx = child_ctx->next_child_ctx)
		gather_from(child_ctx);
}

void pfm_child_ctx_end(struct pfm_context *child_ctx)
{
	pfm_unload(child_ctx);
	add_sets(child_ctx, &child_ctx->set0, true);
	keep_rest(child_ctx);
	child_ctx->root->dropped_children += child_ctx->dropped_children;
	delist(child_ctx);
	pfm_ops(child_ctx)->release(child_ctx);
	child_ctx_free(child_ctx);
}
