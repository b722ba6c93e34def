// SPDX-License-Identifier: MIT
/*
 * concurrent_registers.c - random vectors of registers, some of them bad, some longer than a part.
 */
#include "concurrent.h"

#define MAX_N (PFM_PART + 50)

uint16_t any_id(void)
{
	return set_ids[rng_below(&me.rng, rng_chance(&me.rng, 60) ? 3 : NUM_IDS)];
}

static int any_length(void)
{
	if (rng_chance(&me.rng, 2))
		return PFM_PART - 20 + rng_below(&me.rng, 70);
	return 1 + rng_below(&me.rng, 6);
}

/* Returns a register's number, or seldom one that no register has. */
static uint16_t any_number(void)
{
	uint32_t n = rng_below(&me.rng, 100);

	if (n < 90)
		return rng_below(&me.rng, NUM_COUNTERS);
	return n < 96 ? NUM_PMDS - 1 : NUM_COUNTERS + rng_below(&me.rng, 100);
}

static uint64_t any_value(void)
{
	return rng_chance(&me.rng, 70) ? -(uint64_t)(1 + rng_below(&me.rng, 3000)) : rng_next(&me.rng);
}

void begin_doing(struct file *f, enum doing doing)
{
	f->ctx->vector = (struct pfm_vector){ NULL, 0 };
	f->doing = doing;
}

/* Lets the ledger follow commands on contexts that are not loaded: access() follows the others. */
void end_doing(struct file *f, enum command c, int ret)
{
	went(c, ret);
	if (!pfm_loaded(f->ctx))
		ledger_follow(f);
	f->doing = DOING_NOTHING;
}

/* Returns 1 if a command has marked the element; its flags were "before". */
static int is_marked(uint32_t flags, uint32_t before)
{
	return PFM_REG_HAS_ERROR(flags & ~before);
}

/* 3.1.2: a command ends at the first error, so it marks no other. */
static void check_marks(int marked)
{
	CHECK(marked <= 1, "%d elements of a vector are marked", marked);
}

void write_pmcs(struct file *f)
{
	pfarg_pmc_t v[6];
	int n = 1 + rng_below(&me.rng, COUNT(v)), marked = 0;

	for (int i = 0; i < n; i++)
		v[i] = (pfarg_pmc_t){ .reg_num = any_number() % (NUM_COUNTERS + 1), .reg_set = any_id(),
				      .reg_value = rng_next(&me.rng) };
	went(WRITE_PMCS, pfm_do_write_pmcs(f->ctx, v, n));
	for (int i = 0; i < n; i++)
		marked += is_marked(v[i].reg_flags, 0);
	check_marks(marked);
}

static void some_pmds(uint64_t *bits)
{
	for (uint32_t n = rng_below(&me.rng, 4); n--;)
		pfm_bit_set(bits, rng_below(&me.rng, NUM_COUNTERS));
}

static void fill_in(pfarg_pmd_t *v)
{
	static const uint32_t flags[] = { 0, 0, PFM_REGFL_VALUES, PFM_REGFL_ATTRS, PFM_REGFL_CHECK, 1 << 30 };

	*v = (pfarg_pmd_t){ .reg_num = any_number(), .reg_set = any_id(), .reg_value = any_value(),
			    .reg_long_reset = any_value(), .reg_short_reset = any_value(),
			    .reg_random_mask = rng_below(&me.rng, 256), .reg_random_seed = rng_next(&me.rng) };
	v->reg_flags = flags[rng_below(&me.rng, COUNT(flags))];
	v->reg_flags |= rng_below(&me.rng, 4);	/* OVFL_NOTIFY, RANDOM */
	if (rng_chance(&me.rng, 40))
		v->reg_ovfl_switch_cnt = 1 + rng_below(&me.rng, 3);
	if (rng_chance(&me.rng, 30)) {
		some_pmds(v->reg_smpl_pmds);
		some_pmds(v->reg_reset_pmds);
	}
}

void write_pmds(struct file *f)
{
	uint32_t before[MAX_N];
	pfarg_pmd_t v[MAX_N];
	int n = any_length(), marked = 0;

	for (int i = 0; i < n; i++) {
		fill_in(&v[i]);
		if (pfm_inherits(f->ctx) && rng_chance(&me.rng, 30))
			v[i].reg_flags |= PFM_REGFL_OWN;
		if (n > 10)	/* elements of long vectors are valid */
			v[i].reg_num %= NUM_COUNTERS, v[i].reg_set = 0, v[i].reg_flags = 0;
		before[i] = v[i].reg_flags;
	}
	begin_doing(f, DOING_WRITE);
	end_doing(f, WRITE_PMDS, pfm_do_write_pmds(f->ctx, v, n));
	for (int i = 0; i < n; i++)
		marked += is_marked(v[i].reg_flags, before[i]);
	check_marks(marked);
}

void read_pmds(struct file *f)
{
	bool resets = rng_chance(&me.rng, 20);
	pfarg_pmd_t v[MAX_N];
	int n = any_length();

	for (int i = 0; i < n; i++) {
		v[i] = (pfarg_pmd_t){ .reg_num = any_number(), .reg_set = any_id() };
		if (resets && rng_chance(&me.rng, 50))
			v[i].reg_flags = PFM_REGFL_READ_RESET;
		else if (pfm_inherits(f->ctx) && rng_chance(&me.rng, 30))
			v[i].reg_flags = PFM_REGFL_OWN;
		if (n > 10)
			v[i].reg_num %= NUM_COUNTERS, v[i].reg_set = 0, v[i].reg_flags &= ~PFM_REGFL_OWN;
	}
	begin_doing(f, DOING_READ);
	end_doing(f, READ_PMDS, pfm_do_read_pmds(f->ctx, v, n));
}
