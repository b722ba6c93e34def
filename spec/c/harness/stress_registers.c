// SPDX-License-Identifier: MIT
/* stress_registers.c - writes random registers and sets, and notes them in the ledger. */
#include "pmu/software.h"
#include "stress.h"

#define R (&world.rng)

const uint16_t set_ids[NUM_IDS] = { 0, 1, 2, 300, 65535 };

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

/* --- what counters count -------------------------------------------------------------------- */

#define MAX_PMCS (1 + SIM_MAX_OTHERS)

/* PMCs to write for a counter, and what the counter counts then. */
struct choice {
	struct pfm_sim_pmc	pmcs[MAX_PMCS];
	int			num;
	int			event;
	unsigned int		levels;
};

static void choose_software(struct choice *choice, uint16_t pmd, unsigned int bits)
{
	choice->num = 1;
	choice->event = software_event(pmd);
	choice->pmcs[0].num = pmd;
	choice->pmcs[0].value = (bits & 1 ? PFM_SW_USER : 0) | (bits & 2 ? PFM_SW_KERNEL : 0);
}

/* Chooses one of the events that the counter can count, if there is any. */
static bool choose_hardware(struct choice *choice, uint16_t pmd)
{
	uint32_t first = rng_below(R, NUM_PROGRAM_EVENTS);

	for (uint32_t i = 0; i < NUM_PROGRAM_EVENTS; i++) {
		const char *name = program_events[(first + i) % NUM_PROGRAM_EVENTS];

		choice->event = sim_event_find(world.sim, name);
		choice->num = pfm_sim_encode_pmcs(world.sim, name, choice->levels, pmd, choice->pmcs, MAX_PMCS);
		if (choice->num > 0)
			return true;
	}
	return false;
}

static bool choose(struct choice *choice, uint16_t pmd)
{
	unsigned int bits = rng_below(R, 4);

	choice->levels = (bits & 1 ? 1U << PFM_SIM_USER : 0) |
			 (bits & 2 ? 1U << PFM_SIM_KERNEL | 1U << PFM_SIM_INTR : 0);
	if (!is_software(pmd))
		return choose_hardware(choice, pmd);
	choose_software(choice, pmd, bits);
	return true;
}

/* Finds what counter c counts by the PMCs of its set; several counters may share one. */
static void decode(struct counter *c, const uint64_t *pmcs, uint16_t pmd)
{
	const struct sim_codes *codes = world.sim->model->codes;
	uint16_t ctrl = pfm_pmu_pmd(&world.sim->pmu, pmd)->ctrl;
	struct sim_filter filter = { .marked = false };
	uint64_t code, events;

	c->on = codes->decode(pmcs, pmd, &code, &c->levels) && c->levels;
	events = c->on ? sim_model_events(world.sim, code) : 0;
	if (c->on && codes->filter)
		codes->filter(pmcs, pmcs[ctrl], code, &filter);
	c->on = events && !filter.marked; /* the instructions of these programs are never marked */
	filter.marked = false;
	CHECK(pfm_zeros(&filter, sizeof(filter)), "PMD%u leaves something out", pmd);
	CHECK(!(events & (events - 1)), "PMD%u counts several events", pmd);
	if (c->on)
		c->event = __builtin_ctzll(events);
}

static void decode_all(struct led_set *set)
{
	for (unsigned int i = 0; i < world.num_pmds; i++)
		if (!is_software(world.pmds[i]))
			decode(&set->counters[i], set->pmcs, world.pmds[i]);
}

static void know_pmcs(struct led_set *set)
{
	const struct pfm_pmu *pmu = &world.sim->pmu;

	if (set->pmcs_known)
		return;
	for (unsigned int i = 0; i < pmu->num_pmcs; i++)
		set->pmcs[pmu->pmcs[i].num] = pmu->pmcs[i].dfl;
	set->pmcs_known = true;
}

static void written(struct led_set *set, const struct choice *choice, struct counter *c, uint16_t pmd)
{
	know_pmcs(set);
	for (int i = 0; i < choice->num; i++)
		set->pmcs[choice->pmcs[i].num] = choice->pmcs[i].value;
	c->on = choice->levels;
	c->levels = choice->levels;
	c->event = choice->event;
	if (is_software(pmd))
		return;
	decode_all(set);
	CHECK(c->levels == choice->levels && c->on == (choice->levels != 0) && (!c->on || c->event == choice->event),
	      "PMD%u does not count what its PMCs were made for", pmd);
}

/* Returns true if no other counter has this one's PMC. */
static bool owns_pmc(uint16_t pmd)
{
	const struct pfm_pmu *pmu = &world.sim->pmu;
	uint16_t ctrl = pfm_pmu_pmd(pmu, pmd)->ctrl;
	unsigned int n = 0;

	for (unsigned int i = 0; i < pmu->num_pmds; i++)
		n += pmu->pmds[i].ctrl == ctrl;
	return n == 1;
}

/* Returns true if the set's counter has 64-bit emulation off, for all of its life. */
static bool is_narrow(unsigned int s, unsigned int i, const struct choice *choice)
{
	const struct pfm_reg *reg = pfm_pmu_pmc(&world.sim->pmu, choice->pmcs[0].num);

	return reg->kind & PFM_REG_NO64 && owns_pmc(world.pmds[i]) && (i + s) % 4 == 3;
}

void write_pmc(struct ledger *l, unsigned int s, unsigned int i)
{
	struct led_set *set = &l->sets[s];
	pfarg_pmc_t v[MAX_PMCS] = { { 0 } };
	struct choice choice;
	bool narrow;

	if (!choose(&choice, world.pmds[i]))
		return;
	for (int k = 0; k < choice.num; k++)
		v[k] = (pfarg_pmc_t){ .reg_num = choice.pmcs[k].num, .reg_set = set_ids[s],
				      .reg_value = choice.pmcs[k].value };
	narrow = is_narrow(s, i, &choice);
	if (narrow)
		v[0].reg_flags = PFM_REGFL_NO_EMUL64;
	if (!went(pfm_write_pmcs(l->fd, v, choice.num), "write_pmcs"))
		return;
	ledger_sync(l);
	set->counters[i].narrow = narrow;
	written(set, &choice, &set->counters[i], world.pmds[i]);
	if (l->live)
		ledger_mark(l);
}

/* --- registers ------------------------------------------------------------------------------ */

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
