// SPDX-License-Identifier: MIT
/*
 * concurrent_ledger.c - the values that every set must hold. For the set on the PMU, the machine
 * knows what was counted and written. For other sets, the ledger follows the writes of commands;
 * nothing else may have changed when a set is installed again.
 */
#include "concurrent.h"

const uint16_t set_ids[NUM_IDS] = { 0, 1, 15, 16, 300, 65535 };

struct set_ledger *ledger_of(struct file *f, uint16_t id)
{
	for (unsigned int i = 0; i < NUM_IDS; i++)
		if (set_ids[i] == id)
			return &f->ledger[i];
	fail("there is a set %u", id);
}

void ledger_forget(struct file *f, uint16_t id)
{
	memset(ledger_of(f, id), 0, sizeof(struct set_ledger));
}

/* Begins with a child context's values in the core, which knows where its periods begin. */
void ledger_begin(struct file *f)
{
	for (struct pfm_set *set = &f->ctx->set0; set; set = set->next)
		for (unsigned int i = 0; i < set->num_pmds; i++)
			if (set->pmds[i].is_counter)
				ledger_of(f, set->id)->value[set->pmds[i].num] = set->pmds[i].value;
}

void ledger_leave(struct file *f)
{
	struct pfm_set *set = f->installed;

	for (unsigned int i = 0; set && i < set->num_pmds; i++) {
		const struct pfm_pmd *pmd = &set->pmds[i];
		uint16_t num = pmd->num;

		if (!pmd->is_counter)
			continue;
		CHECK(f->counts[num] == f->seen[num], "set %u PMD%u leaves with counts that nobody collected",
		      set->id, num);
		CHECK(pmd->value == f->seen[num], "set %u PMD%u leaves with %#llx, not %#llx", set->id, num,
		      (unsigned long long)pmd->value, (unsigned long long)f->seen[num]);
		ledger_of(f, set->id)->value[num] = pmd->value;
	}
}

void ledger_enter(struct file *f, struct pfm_set *set)
{
	struct set_ledger *l = ledger_of(f, set->id);

	/* a set that stays, since a start could not install another one, does not begin anew */
	if (!f->coming_in && set != f->displaced) {
		l->runs++;
		atomic_fetch_add(&tally.switches, 1);
	}
	for (unsigned int i = 0; i < set->num_pmds; i++) {
		const struct pfm_pmd *pmd = &set->pmds[i];

		CHECK(!pmd->is_counter || pmd->value == l->value[pmd->num],
		      "set %u PMD%u comes with %#llx, not %#llx", set->id, pmd->num,
		      (unsigned long long)pmd->value, (unsigned long long)l->value[pmd->num]);
	}
}

/* --- commands ------------------------------------------------------------------------------- */

/* Notes the value that an element asked for, once its register has it. */
static void follow_write(struct file *f, const pfarg_pmd_t *req)
{
	struct pfm_set *set = pfm_set_find(f->ctx, req->reg_set);
	const struct pfm_pmd *pmd = set && set != f->installed ? pfm_set_pmd(set, req->reg_num) : NULL;

	if (pmd && pmd->is_counter && pmd->value == req->reg_value)
		ledger_of(f, set->id)->value[pmd->num] = pmd->value;
}

/* Notes all registers that a read with a reset has reset: the PMD, and those in its reset_pmds. */
static void follow_reset(struct file *f, const pfarg_pmd_t *req)
{
	struct pfm_set *set = pfm_set_find(f->ctx, req->reg_set);

	if (!(req->reg_flags & PFM_REGFL_READ_RESET) || set == f->installed)
		return;
	for (unsigned int i = 0; i < set->num_pmds; i++)
		if (set->pmds[i].is_counter && set->pmds[i].value == set->pmds[i].last_reset)
			ledger_of(f, set->id)->value[set->pmds[i].num] = set->pmds[i].value;
}

static void compare_read(struct file *f, const pfarg_pmd_t *v)
{
	const struct pfm_set *set = pfm_set_find(f->ctx, v->reg_set);
	bool on_pmu = set == f->installed && f->on[v->reg_num];
	uint64_t expect = on_pmu ? f->seen[v->reg_num] : ledger_of(f, set->id)->value[v->reg_num];

	if (pfm_inherits(f->ctx) && !(v->reg_flags & PFM_REGFL_OWN))
		return;		/* child contexts add to the value during the check */
	CHECK(v->reg_value == expect, "set %u PMD%u reads %#llx, not %#llx", set->id, v->reg_num,
	      (unsigned long long)v->reg_value, (unsigned long long)expect);
}

static void follow_read(struct file *f, const pfarg_pmd_t *v, int n)
{
	bool resets = false;

	for (int i = 0; i < n; i++) {
		follow_reset(f, &v[i]);
		resets |= v[i].reg_flags & PFM_REGFL_READ_RESET;
	}
	for (int i = 0; i < n && !resets; i++)
		if (v[i].reg_num < NUM_COUNTERS)
			compare_read(f, &v[i]);
}

static void compare_info(struct file *f, const pfarg_setinfo_t *info)
{
	const struct set_ledger *l = ledger_of(f, info->set_id);
	bool live = f->running && f->installed->id == info->set_id;
	uint64_t duration = l->duration + (live ? f->ran - f->mark : 0);

	if (pfm_inherits(f->ctx))
		return;
	CHECK(info->set_runs == l->runs && info->set_act_duration == duration,
	      "set %u ran %llu times, %llu ns, not %llu, %llu", info->set_id,
	      (unsigned long long)info->set_runs, (unsigned long long)info->set_act_duration,
	      (unsigned long long)l->runs, (unsigned long long)duration);
	CHECK(info->set_lost == l->lost && info->set_throttled == l->throttled,
	      "set %u lost %llu and throttled %llu, not %llu and %llu", info->set_id,
	      (unsigned long long)info->set_lost, (unsigned long long)info->set_throttled,
	      (unsigned long long)l->lost, (unsigned long long)l->throttled);
}

void ledger_follow(struct file *f)
{
	const struct pfm_vector *vec = &f->ctx->vector;

	for (int i = 0; i < vec->n; i++) {
		if (f->doing == DOING_WRITE)
			follow_write(f, (pfarg_pmd_t *)vec->v + i);
		else if (f->doing == DOING_INFO)
			compare_info(f, (pfarg_setinfo_t *)vec->v + i);
	}
	if (f->doing == DOING_READ)
		follow_read(f, vec->v, vec->n);
	rules_sets(f->ctx);
}

/* --- overflows: each is judged, and what it asks for is done ---------------------------------- */

static unsigned int count_bits(const uint64_t *bits)
{
	return pfm_bits_rank(bits, PFM_MAX_PMDS);
}

static bool any_notifies(const struct pfm_set *set, const uint64_t *wrapped)
{
	bool any = false;

	for (unsigned int i = 0; i < set->num_pmds; i++)
		any |= pfm_bit(wrapped, set->pmds[i].num) && (set->pmds[i].flags & PFM_REGFL_OVFL_NOTIFY);
	return any;
}

/* Computes what an overflow must cause: concurrent_format.c's formats decide, else the flags. */
static void expect(struct file *f, bool throttled, bool notifies, bool *notify, bool *mask)
{
	*notify = *mask = throttled || notifies;
	if (f->tally && !throttled) {
		*notify = f->wants_notify;
		*mask = f->wants_mask;
	}
}

/* Checks messages and signals of an overflow; if the buffer has parts, there may be none. */
static void check_told(const struct file *f, bool notify)
{
	bool silent = f->ctx->flags & PFM_FL_OVFL_NO_MSG;

	if (f->ctx->parts) {
		CHECK(f->posts + f->signals <= notify, "told %u times, %u signals", f->posts, f->signals);
		return;
	}
	notify = notify && !f->ctx->root;
	CHECK(f->posts == (notify && !silent) && f->signals == (notify && silent),
	      "what %s: %u messages, %u signals", notify ? "is to be told" : "is not to be told", f->posts,
	      f->signals);
}

/*
 * If an interrupt could not install a set, monitoring is masked, and a message asks for a restart.
 */
void ledger_told(struct file *f, bool held)
{
	check_told(f, held);
	CHECK(!held || f->ctx->state == PFM_CTX_MASKED, "what could not be installed counts");
}

static void check_outcome(struct file *f, bool notify, bool mask)
{
	bool absent = f->ctx->absent;

	check_told(f, notify || absent);
	CHECK(!(mask || absent) || f->ctx->state == PFM_CTX_MASKED, "an overflow that masks: it counts on");
	CHECK(mask || notify || absent || f->ctx->state == PFM_CTX_LOADED, "an overflow that does not mask: masked");
	CHECK(f->running == pfm_counting(f->ctx), "the counters run %d, counting is %d", f->running,
	      pfm_counting(f->ctx));
}

void ledger_overflow(struct file *f, const uint64_t *wrapped, const struct pfm_where *where)
{
	struct pfm_set *set = f->ctx->active;
	bool notifies = any_notifies(set, wrapped), throttled, notify, mask;
	uint64_t before = set->throttled, lost = set->lost;

	f->posts = f->signals = f->handled = f->wants_notify = f->wants_mask = 0;
	pfm_overflow(f->ctx, wrapped, where);
	throttled = set->throttled > before;
	lost = set->lost - lost;
	ledger_of(f, set->id)->lost += lost;
	atomic_fetch_add(&tally.taken_away, lost);
	CHECK(!lost || (f->ctx->parts && lost == count_bits(wrapped) && !f->posts && !f->handled),
	      "%lu overflows were lost",
	      (unsigned long)lost);
	ledger_of(f, set->id)->throttled += throttled;
	atomic_fetch_add(&tally.throttled, throttled);
	atomic_fetch_add(&tally.overflows, count_bits(wrapped));
	atomic_fetch_add(&tally.masked, f->ctx->state == PFM_CTX_MASKED);
	CHECK(!f->tally || f->handled == (throttled || lost ? 0 : count_bits(wrapped)), "%u overflows, %u were handled",
	      count_bits(wrapped), f->handled);
	if (lost || (f->ctx->fmt && !f->tally))
		return;
	expect(f, throttled, notifies, &notify, &mask);
	check_outcome(f, notify, mask);
}
