// SPDX-License-Identifier: MIT
/* stress_registers.c - random registers and sets, and the ledger told of them. */
#include "pmu/software.h"
#include "stress.h"

#define R (&world.rng)

const uint16_t set_ids[NUM_IDS] = { 0, 1, 2, 300, 65535 };

/* --- registers ------------------------------------------------------------------------------ */

static bool is_software(uint16_t pmd)
{
	return pmd >= PFM_SW_FIRST;
}

static int software_event(uint16_t pmd)
{
	if (pmd == PFM_SW_TASK_CLOCK)
		return EVENT_TIME;
	return pmd == PFM_SW_CONTEXT_SWITCHES ? SIM_EV_CONTEXT_SWITCHES : SIM_EV_CPU_MIGRATIONS;
}

static void choose_event(struct counter *c, uint16_t pmd, uint64_t *value)
{
	unsigned int levels = rng_below(R, 4);
	const char *name = pmd == 31 ? "cycles" : program_events[rng_below(R, NUM_PROGRAM_EVENTS)];

	c->levels = (levels & 1 ? 1U << PFM_SIM_USER : 0) |
		    (levels & 2 ? 1U << PFM_SIM_KERNEL | 1U << PFM_SIM_INTR : 0);
	c->on = c->levels;
	if (is_software(pmd)) {
		c->event = software_event(pmd);
		*value = (levels & 1 ? PFM_SW_USER : 0) | (levels & 2 ? PFM_SW_KERNEL : 0);
		return;
	}
	c->event = sim_event_find(world.sim, name);
	CHECK(!pfm_sim_encode(world.sim, name, c->levels, pmd, value), "%s", pfm_explain());
}

void write_pmc(struct ledger *l, unsigned int s, unsigned int i)
{
	struct counter c = l->sets[s].counters[i];
	const struct pfm_reg *reg = pfm_pmu_pmc(&world.sim->pmu, world.pmds[i]);
	pfarg_pmc_t pmc = { .reg_num = world.pmds[i], .reg_set = set_ids[s] };

	c.narrow = reg->kind & PFM_REG_NO64 && (i + s) % 4 == 3;	/* for good */
	if (c.narrow)
		pmc.reg_flags = PFM_REGFL_NO_EMUL64;
	choose_event(&c, world.pmds[i], &pmc.reg_value);
	if (!went(pfm_write_pmcs(l->fd, &pmc, 1), "write_pmcs"))
		return;
	ledger_sync(l);
	c.expect = l->sets[s].counters[i].expect;
	c.owed = l->sets[s].counters[i].owed;
	l->sets[s].counters[i] = c;
	if (l->live)
		ledger_mark(l);
}

static void some_pmds(uint64_t *bits, uint32_t percent)
{
	for (unsigned int i = 0; i < world.num_pmds; i++)
		if (rng_chance(R, percent))
			pfm_bit_set(bits, world.pmds[i]);
}

static uint64_t period(void)
{
	return -rng_log(R, 200, rng_chance(R, 10) ? UINT64_MAX : 1000000);
}

void write_pmd(struct ledger *l, unsigned int s, unsigned int i)
{
	pfarg_pmd_t pmd = { .reg_num = world.pmds[i], .reg_set = set_ids[s] };
	struct counter *c = &l->sets[s].counters[i];

	pmd.reg_value = period();
	pmd.reg_long_reset = period();
	pmd.reg_short_reset = period();
	pmd.reg_ovfl_switch_cnt = rng_below(R, 4);
	pmd.reg_smpl_eventid = rng_next(R);
	if (rng_chance(R, 40))
		pmd.reg_flags |= PFM_REGFL_OVFL_NOTIFY;
	if (rng_chance(R, 20)) {
		pmd.reg_flags |= PFM_REGFL_RANDOM;
		pmd.reg_random_mask = (1ULL << rng_below(R, 7)) - 1;
		pmd.reg_random_seed = rng_next(R);
	}
	some_pmds(pmd.reg_smpl_pmds, 15);
	some_pmds(pmd.reg_reset_pmds, 10);
	if (rng_chance(R, 30))
		pfm_bit_set(pmd.reg_smpl_pmds, PFM_VIRT_FIRST + rng_below(R, PFM_NUM_VIRT));
	if (!went(pfm_write_pmds(l->fd, &pmd, 1), "write_pmds"))
		return;
	ledger_sync(l);
	c->expect = pmd.reg_value;
	CHECK(!c->owed, "PMD%u was written over an overflow", pmd.reg_num);
}

void write_some(struct ledger *l)
{
	unsigned int s = any_set(l), i = rng_below(R, world.num_pmds);

	if (rng_chance(R, 50))
		write_pmc(l, s, i);
	else
		write_pmd(l, s, i);
}

/* --- sets ----------------------------------------------------------------------------------- */

static uint32_t set_flags(const struct ledger *l)
{
	static const uint32_t how[] = { 0, PFM_SETFL_OVFL_SWITCH, PFM_SETFL_TIME_SWITCH };
	uint32_t flags = how[rng_below(R, COUNT(how))];

	if (rng_chance(R, 20))
		flags |= PFM_SETFL_EXPL_NEXT;
	if ((l->ctx->flags & PFM_FL_SYSTEM_WIDE) && rng_chance(R, 30))
		flags |= rng_chance(R, 50) ? PFM_SETFL_EXCL_IDLE : PFM_SETFL_EXCL_KERNEL_ONLY_THREADS;
	if (world.sim->model->codes->ia64 && rng_chance(R, 15))
		flags |= rng_chance(R, 50) ? PFM_ITA_SETFL_EXCL_INTR : PFM_ITA_SETFL_INTR_ONLY;
	return flags;
}

void create_set(struct ledger *l, unsigned int s)
{
	pfarg_setdesc_t d = { .set_id = set_ids[s] };

	d.set_id_next = set_ids[rng_below(R, NUM_IDS)];
	d.set_flags = set_flags(l);
	d.set_timeout = rng_log(R, 1000, 200000);
	if (went(pfm_create_evtsets(l->fd, &d, 1), "create_evtsets"))
		l->sets[s].exists = true;
}

static void delete_set(struct ledger *l)
{
	unsigned int s = rng_below(R, NUM_IDS);
	pfarg_setdesc_t d = { .set_id = set_ids[s] };

	if (went(pfm_delete_evtsets(l->fd, &d, 1), "delete_evtsets"))
		memset(&l->sets[s], 0, sizeof(l->sets[s]));
}

void change_sets(struct ledger *l)
{
	if (rng_chance(R, 75))
		create_set(l, rng_below(R, NUM_IDS));
	else
		delete_set(l);
}
