// SPDX-License-Identifier: MIT
/* oracle_registers.c - random programming of registers, reads that reset (3.1.2 - 3.1.4, 6.2.2). */
#include <errno.h>
#include <string.h>

#include "oracle.h"

static uint64_t period(const struct reg *r, int i)
{
	uint64_t p = 1 + rnd(200) + (r->flags & PFM_REGFL_RANDOM ? 256 : 0);

	return r->narrow ? (1ULL << world.plan[i].width) - p : -p;
}

static uint64_t random_value(const struct reg *r, int i)
{
	if (chance(75))
		return period(r, i);
	if (chance(40) || r->narrow)
		return rnd(1000);
	if (chance(50) && world.plan[i].width < 64) /* the hardware wraps, the counter does not */
		return (hash(rnd(~0U), 0) << world.plan[i].width) - 1 - rnd(200);
	return hash(rnd(~0U), 0);
}

/* Returns true if the PMD gets a period; while there are children, only if it already has one. */
static bool keeps_period(const struct context *c, const struct set *s, int i)
{
	if (c->kind == NO_FORMAT)
		return false;
	return c->heirs ? s->regs[i].long_reset || s->regs[i].short_reset : chance(60);
}

static void describe(const struct context *c, const struct set *s, int i, pfarg_pmd_t *d)
{
	struct reg like = { .narrow = s->regs[i].narrow };

	memset(d, 0, sizeof(*d));
	if (chance(50))
		like.flags |= PFM_REGFL_OVFL_NOTIFY;
	if (chance(30) && world.kind != FAMILY)
		like.flags |= PFM_REGFL_RANDOM;
	d->reg_num = world.plan[i].num;
	d->reg_set = s->id;
	d->reg_flags = like.flags;
	d->reg_value = random_value(&like, i);
	if (world.kind != FAMILY || keeps_period(c, s, i)) {
		d->reg_long_reset = random_value(&like, i);
		d->reg_short_reset = random_value(&like, i);
	}
	d->reg_ovfl_switch_cnt = rnd(4);
	d->reg_random_mask = chance(80) || like.narrow ? rnd(256) : hash(rnd(~0U), 1);
	d->reg_random_seed = chance(20) ? (uint32_t[]){ 0, 0x7fffffff, 0xfffffffe, ~0U }[rnd(4)] : rnd(~0U);
	d->reg_smpl_eventid = hash(rnd(~0U), 2);
	for (int k = 0; k < world.num_plan; k++) {
		unsigned int num = world.plan[k].num;

		if (chance(30))
			d->reg_smpl_pmds[num / 64] |= 1ULL << num % 64;
		if (chance(20) && k != i && world.kind != FAMILY)
			d->reg_reset_pmds[num / 64] |= 1ULL << num % 64;
	}
}

/* Traces what is written. */
static void show(const struct set *s, int i, const pfarg_pmd_t *d)
{
	const struct reg *r = &s->regs[i];

	trace("  PMD%u of set %u := %#llx, long %#llx, short %#llx, mask %#llx, seed %#x", d->reg_num, d->reg_set,
	      (unsigned long long)d->reg_value, (unsigned long long)d->reg_long_reset,
	      (unsigned long long)d->reg_short_reset, (unsigned long long)d->reg_random_mask, d->reg_random_seed);
	trace("    flags %#x, threshold %llu, resets %#llx, samples %#llx, counts %s at levels %#x", d->reg_flags,
	      (unsigned long long)d->reg_ovfl_switch_cnt, (unsigned long long)d->reg_reset_pmds[0],
	      (unsigned long long)d->reg_smpl_pmds[0], r->event < 0 ? "nothing" : world.names[r->event], r->levels);
}

/* Spoils an element at times; returns the error flag that must mark it (3.1.3), or 0. */
static uint32_t spoil(pfarg_pmd_t *d)
{
	switch (rnd(25)) {
	case 0:
		d->reg_num = 319;
		return PFM_REG_RETFL_NOTAVAIL;
	case 1:
		d->reg_set = 4711;
		return PFM_REG_RETFL_NOSET;
	case 2:
		d->reg_flags |= 1 << 18;
		return PFM_REG_RETFL_EINVAL;
	default:
		return 0;
	}
}

void write_pmds(struct context *c)
{
	pfarg_pmd_t d[4];
	int n = 1 + rnd(3), done = n;
	uint32_t bad;

	for (int i = 0; i < n; i++) {
		const struct set *s = &c->m.sets[rnd(c->m.num_sets)];

		int at = rnd(world.num_plan);

		describe(c, s, at, &d[i]);
		show(s, at, &d[i]);
	}
	bad = spoil(&d[n - 1]);
	if (bad)
		done--;
	expect(pfm_write_pmds(c->fd, d, n), bad ? EINVAL : 0, "write_pmds");
	SAME(d[n - 1].reg_flags & PFM_REG_RETFL_MASK, bad, "write_pmds");
	for (int i = 0; i < done; i++) {
		struct set *s = &c->m.sets[model_find(&c->m, d[i].reg_set)];
		int k = 0;

		while (world.plan[k].num != d[i].reg_num)
			k++;
		model_write(c, s, k, &d[i]);
	}
}

void read_reset(struct context *c)
{
	struct set *s = &c->m.sets[rnd(c->m.num_sets)];
	int i = rnd(world.num_plan);
	pfarg_pmd_t d = { .reg_num = world.plan[i].num, .reg_set = s->id, .reg_flags = PFM_REGFL_READ_RESET };
	uint64_t last = s->regs[i].last, value = s->regs[i].value;

	expect(pfm_read_pmds(c->fd, &d, 1), 0, "read_pmds with READ_RESET");
	trace("  PMD%u of set %u", d.reg_num, s->id);
	if (!(c->flags & PFM_FL_INHERIT))
		SAME(d.reg_value, value, "READ_RESET");
	SAME(d.reg_last_reset_val, last, "READ_RESET");
	model_read_reset(c, s, i);
}

struct chosen { uint64_t value; bool used; };

/* Adds the event to the PMCs; returns false if it conflicts with other counters' events. */
static bool add_event(struct chosen *pmcs, const struct plan_pmd *p, const char *event, unsigned int levels)
{
	struct pfm_sim_pmc own[MAX_PMCS];
	int n = 0;

	if (p->software)
		own[n++] = (struct pfm_sim_pmc){ .num = p->ctrl, .value = (levels & 1 ? 8 : 0) | (levels & 2 ? 1 : 0) };
	else
		n = pfm_sim_encode_pmcs(world.sim, event, levels, p->num, own, MAX_PMCS);
	for (int i = 0; i < n; i++) {
		if (pmcs[own[i].num].used && pmcs[own[i].num].value != own[i].value &&
		    !(world.or_shared && own[i].num == 16))
			return false;
	}
	for (int i = 0; i < n; i++) {
		pmcs[own[i].num].value |= own[i].value;
		pmcs[own[i].num].used = true;
	}
	return n > 0;
}

/* Chooses events for counters, where the PMCs of others leave room. */
static void choose(struct chosen *pmcs, struct set *s)
{
	unsigned int levels = 1 + rnd(3);

	for (int i = 0; i < world.num_plan; i++) {
		const struct plan_pmd *p = &world.plan[i];
		struct reg *r = &s->regs[i];

		r->event = -1;
		if (!p->counts || !p->num_events || (!world.all_or_none && chance(20)))
			continue;
		r->levels = world.all_or_none ? levels : 1 + rnd(3);
		r->event = p->events[rnd(p->num_events)];
		if (!add_event(pmcs, p, world.names[r->event], r->levels))
			r->event = -1;
	}
}

/* Returns NO_EMUL64 by chance if `narrow` allows it, or if the counter had it before. */
static uint32_t width_flag(struct set *s, unsigned int pmc, bool narrow)
{
	uint32_t flag = 0;

	for (int i = 0; i < world.num_plan; i++) {
		const struct plan_pmd *p = &world.plan[i];

		if (!p->counts || p->ctrl != pmc)
			continue;
		if (narrow && p->narrow && hash(pmc, s->id) % 4 == 0)
			s->regs[i].narrow = true;
		if (s->regs[i].narrow)
			flag = PFM_REGFL_NO_64BIT_EMUL;
	}
	return flag;
}

/* Writes the PMCs of a set's counters; others have their default, which counts nothing (3.1.2). */
void write_pmcs(struct context *c, struct set *s, bool narrow)
{
	static struct chosen pmcs[PFM_MAX_PMCS];
	static bool touched[PFM_MAX_PMCS];
	pfarg_pmc_t d[MAX_PLAN * MAX_PMCS + 8];
	struct set new = *s;
	int n = 0, err = (c->flags & PFM_FL_INHERIT) && c->loaded ? EBUSY : 0;

	memset(pmcs, 0, sizeof(pmcs));
	choose(pmcs, &new);
	for (int num = 0; num < PFM_MAX_PMCS && n < (int)(sizeof(d) / sizeof(*d)); num++) {
		pfarg_pmcinfo_t info = { .reg_num = num };

		touched[num] |= pmcs[num].used;
		if (!touched[num] || pfm_getinfo_pmcs(&info, 1))
			continue;
		d[n++] = (pfarg_pmc_t){ .reg_num = num, .reg_set = s->id,
			.reg_value = pmcs[num].used ? pmcs[num].value : info.reg_def_value,
			.reg_flags = width_flag(&new, num, narrow) };
	}
	if (!n)
		return;
	expect(pfm_write_pmcs(c->fd, d, n), err, "write_pmcs");
	if (!err)
		*s = new;
}

void furnish(struct context *c, struct set *s)
{
	pfarg_pmd_t d[MAX_PLAN];

	write_pmcs(c, s, true);
	for (int i = 0; i < world.num_plan; i++) {
		describe(c, s, i, &d[i]);
		show(s, i, &d[i]);
	}
	expect(pfm_write_pmds(c->fd, d, world.num_plan), 0, "write_pmds");
	for (int i = 0; i < world.num_plan; i++)
		model_write(c, s, i, &d[i]);
}

