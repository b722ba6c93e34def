// SPDX-License-Identifier: MIT
/*
 * ia64_restricted.c - with the registers that pfm_dispatch_events() returns for ranges and opcodes,
 * simulated Itaniums count what was requested. Instructions and loads are at random addresses;
 * opcodes and ranges are random; ranges are widened as the library says:
 *
 *   LPFM_MACHINE=sim:itanium|itanium2|montecito ia64_restricted [SEED]
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "perfmon/perfmonctl.h"
#include "perfmon/pfmlib_itanium.h"
#include "perfmon/pfmlib_montecito.h"
#include "perfmon/sim.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define SITES	200
#define ROUNDS	3
#define TRIALS	1500
#define CODE	0x40000UL	/* where the program begins; DATA: where its data does */
#define DATA	0x800000UL
#define IBR	256		/* first PMC of the code debug registers; DBR: of the data's */
#define DBR	264

static void fail(const char *what)
{
	printf("%s: %s; %s\n", what, pfm_explain(), pfm_dispatch_explain());
	exit(EXIT_FAILURE);
}

#define MUST(cond) do { \
	if (!(cond)) \
		fail(#cond); \
} while (0)

static uint64_t state;

static uint64_t any(uint64_t n)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (state >> 33) % n;
}

/* --- the program ---------------------------------------------------------------------------- */

struct insn {
	uint64_t	ip, opcode, data;	/* data 0: no access */
	unsigned int	unit, loads;
};

static struct insn insns[SITES];
static struct pfm_sim_event events[SITES][2];
static struct pfm_sim_step steps[SITES + 2];

/* Returns one of a few opcodes, which differ in bits that all models match: 40-27 and 12-0. */
static uint64_t any_opcode(void)
{
	return any(4) << 37 | any(2) << 27 | any(4);
}

static void write_program(void)
{
	steps[0] = (struct pfm_sim_step){ .op = PFM_SIM_LOOP, .count = ROUNDS };
	for (int i = 0; i < SITES; i++) {
		struct insn *n = &insns[i];

		n->ip = CODE + any(i % 2 ? CODE : 0x2000) / 16 * 16 + any(3);
		n->opcode = any_opcode();
		n->unit = PFM_SIM_UNIT_M + (unsigned int)any(4);
		n->data = any(2) ? DATA + any(i % 3 ? DATA : 0x1000) / 8 * 8 : 0;
		n->loads = n->data ? 1 + (unsigned int)any(2) : 0;
		events[i][0] = (struct pfm_sim_event){ "instructions", 1 };
		events[i][1] = (struct pfm_sim_event){ "loads", n->loads };
		steps[1 + i] = (struct pfm_sim_step){
			.op = PFM_SIM_SITE, .ns = 1, .ip = n->ip, .opcode = n->opcode, .unit = n->unit,
			.data_addr = n->data, .flags = n->data ? PFM_SIM_DATA : 0,
			.events = events[i], .num_events = 1 + (n->loads > 0),
		};
	}
	steps[SITES + 1] = (struct pfm_sim_step){ .op = PFM_SIM_END };
}

/* --- a request ------------------------------------------------------------------------------ */

struct range {
	uint64_t	start, end;
};

struct opcode {
	bool		used;
	uint64_t	match, ignored;
	unsigned int	units;		/* bits 1 << PFM_SIM_UNIT_... */
};

struct request;

struct model {
	const char	*name;
	int		pmu;
	const char	*tagged[4];
	void		(*ask)(const struct request *q);
	bool		inverts;
	bool		paired;	/* tagged events belong to register pairs; else to matchers */
};

struct request {
	bool		retired, inverted, coarse;
	struct range	code[4], data[4];
	unsigned int	num_code, num_data;
	struct opcode	opcode, second;	/* second: of the other matcher */
	unsigned int	num_events; /* if retired: the number of tagged events, from the first on */
};

/* Returns a range that begins at or next to a program's address, where errors by one show. */
static struct range any_code(void)
{
	uint64_t start = insns[any(SITES)].ip / 16 * 16 + any(3) * 16, size = 16 * (1 + any(1ULL << any(13)));

	return (struct range){ start, start + size };
}

static struct range any_data(void)
{
	uint64_t start = DATA + any(DATA), at = insns[any(SITES)].data;

	return (struct range){ at ? at : start, (at ? at : start) + 1 + any(1ULL << (4 + any(18))) };
}

static bool apart(const struct range *r, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (r[i].start < r[n].end && r[n].start < r[i].end)
			return false;
	return true;
}

static void any_ranges(struct range *r, unsigned int *n, struct range (*one)(void), unsigned int want)
{
	for (*n = 0; *n < want; ++*n)
		do
			r[*n] = one();
		while (!apart(r, *n));
}

static void any_match(struct opcode *o, bool used)
{
	o->used = used;
	o->match = any_opcode();
	o->ignored = any(4) << 37 | any(2) << 27 | any(4);
	o->units = (unsigned int)any(16) << PFM_SIM_UNIT_M;
}

static void any_request(const struct model *m, struct request *q)
{
	memset(q, 0, sizeof(*q));
	q->retired = any(2);
	q->inverted = m->inverts && !any(3);
	q->coarse = any(2);
	any_ranges(q->code, &q->num_code, any_code, any(3) ? 1 + (unsigned int)any(2) : 0);
	if (!q->retired)
		any_ranges(q->data, &q->num_data, any_data, any(3) ? 1 + (unsigned int)any(3) : 0);
	any_match(&q->opcode, any(2));
	any_match(&q->second, q->retired && !q->num_code && any(2));
	q->num_events = 1 + q->second.used;
}

/* --- in the terms of each model ------------------------------------------------------------- */

static pfmlib_input_param_t in;
static pfmlib_output_param_t out;
static pfmlib_ita_input_param_t ita;
static pfmlib_ita2_input_param_t ita2;
static pfmlib_mont_input_param_t mont;
static pfmlib_ita_output_param_t ita_out;
static pfmlib_ita2_output_param_t ita2_out;
static pfmlib_mont_output_param_t mont_out;
static void *model_in, *model_out;
static pfmlib_ita2_output_rr_t *code_out, *data_out;

/* Returns bits 40-27 and 12-0 of an opcode side by side, as PMC8 of Itanium (2) has them. */
static uint64_t squeezed(uint64_t opcode)
{
	return (opcode >> 27 & 0x3fff) << 13 | (opcode & 0x1fff);
}

/* Returns the units in the registers' order: b, f, i, m, the lowest first. */
static uint64_t units(const struct opcode *o)
{
	static const unsigned int order[] = { PFM_SIM_UNIT_B, PFM_SIM_UNIT_F, PFM_SIM_UNIT_I, PFM_SIM_UNIT_M };
	uint64_t bits = 0;

	for (unsigned int i = 0; i < COUNT(order); i++)
		bits |= (uint64_t)(o->units >> order[i] & 1) << i;
	return bits;
}

static unsigned long matcher(const struct opcode *o)
{
	return units(o) << 60 | squeezed(o->match) << 33 | squeezed(o->ignored) << 3 | 4;
}

/* Fills ranges into the structure of any model; all fields of rr must be 0 before. */
#define FILL(rr, ranges, n) do { \
	(rr)->rr_used = (n) > 0; \
	for (unsigned int i_ = 0; i_ < (n); i_++) { \
		(rr)->rr_limits[i_].rr_start = (ranges)[i_].start; \
		(rr)->rr_limits[i_].rr_end = (ranges)[i_].end; \
	} \
} while (0)

static unsigned int flags(const struct request *q)
{
	return (q->inverted ? PFMLIB_ITA2_RR_INV : 0) | (q->coarse ? PFMLIB_ITA2_RR_NO_FINE_MODE : 0);
}

static void ask_ita(const struct request *q)
{
	memset(&ita, 0, sizeof(ita));
	FILL(&ita.pfp_ita_irange, q->code, q->num_code);
	FILL(&ita.pfp_ita_drange, q->data, q->num_data);
	ita.pfp_ita_pmc8.opcm_used = q->opcode.used;
	ita.pfp_ita_pmc8.pmc_val = matcher(&q->opcode);
	ita.pfp_ita_pmc9.opcm_used = q->second.used;
	ita.pfp_ita_pmc9.pmc_val = matcher(&q->second);
	model_in = &ita;
	model_out = &ita_out;
	code_out = &ita_out.pfp_ita_irange;
	data_out = &ita_out.pfp_ita_drange;
}

static void ask_ita2(const struct request *q)
{
	memset(&ita2, 0, sizeof(ita2));
	FILL(&ita2.pfp_ita2_irange, q->code, q->num_code);
	FILL(&ita2.pfp_ita2_drange, q->data, q->num_data);
	ita2.pfp_ita2_irange.rr_flags = flags(q);
	ita2.pfp_ita2_pmc8.opcm_used = q->opcode.used;
	ita2.pfp_ita2_pmc8.pmc_val = matcher(&q->opcode);
	ita2.pfp_ita2_pmc9.opcm_used = q->second.used;
	ita2.pfp_ita2_pmc9.pmc_val = matcher(&q->second);
	model_in = &ita2;
	model_out = &ita2_out;
	code_out = &ita2_out.pfp_ita2_irange;
	data_out = &ita2_out.pfp_ita2_drange;
}

static pfmlib_mont_opcm_t mont_matcher(const struct opcode *o)
{
	uint64_t unit = units(o);

	return (pfmlib_mont_opcm_t){
		.opcm_used = o->used, .opcm_b = unit & 1, .opcm_f = unit >> 1 & 1, .opcm_i = unit >> 2 & 1,
		.opcm_m = unit >> 3 & 1, .opcm_match = o->match, .opcm_mask = o->ignored,
	};
}

static void ask_mont(const struct request *q)
{
	memset(&mont, 0, sizeof(mont));
	FILL(&mont.pfp_mont_irange, q->code, q->num_code);
	FILL(&mont.pfp_mont_drange, q->data, q->num_data);
	mont.pfp_mont_irange.rr_flags = flags(q);
	mont.pfp_mont_opcm1 = mont_matcher(&q->opcode);
	mont.pfp_mont_opcm2 = mont_matcher(&q->second);
	model_in = &mont;
	model_out = &mont_out;
	code_out = &mont_out.pfp_mont_irange;
	data_out = &mont_out.pfp_mont_drange;
}

static const struct model models[] = {
	{ "itanium", PFMLIB_ITANIUM_PMU, { "IA64_TAGGED_INST_RETIRED_PMC8", "IA64_TAGGED_INST_RETIRED_PMC9" },
	  ask_ita, false, false },
	{ "itanium2", PFMLIB_ITANIUM2_PMU,
	  { "IA64_TAGGED_INST_RETIRED_IBRP0_PMC8", "IA64_TAGGED_INST_RETIRED_IBRP1_PMC9",
	    "IA64_TAGGED_INST_RETIRED_IBRP2_PMC8", "IA64_TAGGED_INST_RETIRED_IBRP3_PMC9" },
	  ask_ita2, true, true },
	{ "montecito", PFMLIB_MONTECITO_PMU,
	  { "IA64_TAGGED_INST_RETIRED_IBRP0_PMC32_33", "IA64_TAGGED_INST_RETIRED_IBRP1_PMC34_35",
	    "IA64_TAGGED_INST_RETIRED_IBRP2_PMC32_33", "IA64_TAGGED_INST_RETIRED_IBRP3_PMC34_35" },
	  ask_mont, true, true },
};

static bool dispatched(const struct model *m, const struct request *q)
{
	memset(&in, 0, sizeof(in));
	in.pfp_dfl_plm = PFM_PLM3;
	in.pfp_event_count = q->num_events;
	for (unsigned int i = 0; i < q->num_events; i++)
		MUST(pfm_find_full_event(q->retired ? m->tagged[i] : "LOADS_RETIRED", &in.pfp_events[i]) == 0);
	m->ask(q);
	memset(&out, 0, sizeof(out));
	memset(code_out, 0, sizeof(*code_out));
	memset(data_out, 0, sizeof(*data_out));
	return pfm_dispatch_events(&in, model_in, &out, model_out) == PFMLIB_SUCCESS;
}

/*
 * Returns true if the library accepts the request or, if register pairs have tagged events, accepts
 * it with more of them: the fewest that it accepts are as many as the ranges need.
 */
static bool accepted(const struct model *m, struct request *q)
{
	const unsigned int most = q->retired && m->paired ? 4 : q->num_events;

	for (; q->num_events <= most; q->num_events++)
		if (dispatched(m, q))
			return true;
	return false;
}

/* --- what a request counts, and what it should count ------------------------------------------ */

/* Returns how many of the ranges, as widened by the library, have the address; 1 without ranges. */
static unsigned int covers(const struct range *r, unsigned int n, const pfmlib_ita2_output_rr_t *more, uint64_t addr)
{
	unsigned int some = n == 0;

	for (unsigned int i = 0; i < n; i++)
		some += addr >= r[i].start - more->rr_infos[i].rr_soff &&
			addr < r[i].end + more->rr_infos[i].rr_eoff;
	return some;
}

static bool matches(const struct opcode *o, const struct insn *n)
{
	return !o->used || (!((n->opcode ^ o->match) & ~o->ignored) && o->units >> n->unit & 1);
}

/* Returns how often an instruction is counted: if pairs have events, once in each widened range. */
static unsigned int times_in_code(const struct model *m, const struct request *q, const struct insn *n)
{
	unsigned int times = covers(q->code, q->num_code, code_out, n->ip);

	if (q->num_code && q->inverted)
		return !times;
	return q->retired && m->paired ? times : times > 0;
}

static uint64_t expected(const struct model *m, const struct request *q)
{
	uint64_t sum = 0;

	for (int i = 0; i < SITES; i++) {
		const struct insn *n = &insns[i];
		unsigned int times = matches(&q->opcode, n) + (q->second.used && matches(&q->second, n));

		if (!q->second.used)
			times *= times_in_code(m, q, n);
		if (covers(q->data, q->num_data, data_out, n->data))
			sum += times * (q->retired ? 1 : n->loads);
	}
	return ROUNDS * sum;
}

static void write_pmcs(int fd, const pfmlib_reg_t *regs, unsigned int n, unsigned int base)
{
	for (unsigned int i = 0; i < n; i++) {
		pfarg_pmc_t pmc = { .reg_num = base + regs[i].reg_num, .reg_value = regs[i].reg_value };

		MUST(!perfmonctl(fd, PFM_WRITE_PMCS, &pmc, 1));
	}
}

static uint64_t read_counters(int fd, unsigned int n)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < n; i++) {
		pfarg_pmd_t pmd = { .reg_num = out.pfp_pmds[i].reg_num };

		MUST(!perfmonctl(fd, PFM_READ_PMDS, &pmd, 1));
		sum += pmd.reg_value;
	}
	return sum;
}

static uint64_t counted(struct pfm_sim *sim, const struct request *q)
{
	struct pfm_sim_spawn spawn = { .program = { steps, COUNT(steps) } };
	pfarg_ctx_t ctx = { 0 };
	pfarg_load_t load = { 0 };
	uint64_t sum;

	MUST(!perfmonctl(0, PFM_CREATE_CONTEXT, &ctx, 1));
	write_pmcs(ctx.ctx_fd, out.pfp_pmcs, out.pfp_pmc_count, 0);
	write_pmcs(ctx.ctx_fd, code_out->rr_br, code_out->rr_nbr_used, IBR);
	write_pmcs(ctx.ctx_fd, data_out->rr_br, data_out->rr_nbr_used, DBR);
	for (unsigned int i = 0; i < q->num_events; i++) {
		pfarg_pmd_t pmd = { .reg_num = out.pfp_pmds[i].reg_num };

		MUST(!perfmonctl(ctx.ctx_fd, PFM_WRITE_PMDS, &pmd, 1));
	}
	load.load_pid = pfm_sim_spawn(sim, &spawn);
	MUST((int)load.load_pid > 0);
	MUST(!perfmonctl(ctx.ctx_fd, PFM_LOAD_CONTEXT, &load, 1));
	MUST(!perfmonctl(ctx.ctx_fd, PFM_START, NULL, 0));
	MUST(pfm_sim_run_until_exit(sim, load.load_pid, 1000000000) == 1);
	sum = read_counters(ctx.ctx_fd, q->num_events);
	close(ctx.ctx_fd);
	return sum;
}

/* --- differences ---------------------------------------------------------------------------- */

static void print_ranges(const char *what, const struct range *r, unsigned int n, const pfmlib_ita2_output_rr_t *more)
{
	for (unsigned int i = 0; i < n; i++)
		printf(" %s %#lx-%#lx (+%#lx, +%#lx)", what, (unsigned long)r[i].start, (unsigned long)r[i].end,
		       (unsigned long)more->rr_infos[i].rr_soff, (unsigned long)more->rr_infos[i].rr_eoff);
}

static void print_opcode(const struct opcode *o)
{
	if (o->used)
		printf(" opcode %#lx ignored %#lx units %#x", (unsigned long)o->match, (unsigned long)o->ignored,
		       o->units);
}

static void complain(const struct request *q, uint64_t is, uint64_t should)
{
	printf("%s, %u events:", q->retired ? "instructions" : "loads", q->num_events);
	print_ranges("code", q->code, q->num_code, code_out);
	print_ranges("data", q->data, q->num_data, data_out);
	print_opcode(&q->opcode);
	print_opcode(&q->second);
	printf("%s%s: %lu, not %lu\n", q->inverted ? " inverted" : "", q->coarse ? " coarse" : "", (unsigned long)is,
	       (unsigned long)should);
	for (unsigned int i = 0; i < out.pfp_pmc_count; i++)
		printf("   PMC%u %#llx\n", out.pfp_pmcs[i].reg_num, out.pfp_pmcs[i].reg_value);
	for (unsigned int i = 0; i < code_out->rr_nbr_used; i++)
		printf("   IBR%u %#llx\n", code_out->rr_br[i].reg_num, code_out->rr_br[i].reg_value);
	for (unsigned int i = 0; i < data_out->rr_nbr_used; i++)
		printf("   DBR%u %#llx\n", data_out->rr_br[i].reg_num, data_out->rr_br[i].reg_value);
}

/* By kind of request: how many were accepted, and how many of these count something. */
enum { RETIRED, LOADS, BY_CODE, BY_DATA, BY_OPCODE, BY_BOTH, INVERTED, KINDS };

static unsigned int taken[KINDS], telling[KINDS];

static void tally(const struct request *q, bool tells)
{
	const bool is[KINDS] = { q->retired, !q->retired, q->num_code, q->num_data, q->opcode.used,
				 q->opcode.used && q->second.used, q->num_code && q->inverted };

	for (int k = 0; k < KINDS; k++) {
		taken[k] += is[k];
		telling[k] += is[k] && tells;
	}
}

/* --- trials --------------------------------------------------------------------------------- */

static int differs(const struct model *m, struct pfm_sim *sim)
{
	struct request q;
	uint64_t is, should;

	any_request(m, &q);
	if (!accepted(m, &q))
		return 0;
	is = counted(sim, &q);
	should = expected(m, &q);
	tally(&q, should > 0);
	if (is != should)
		complain(&q, is, should);
	return is != should;
}

static int kinds_missed(const struct model *m)
{
	int missed = 0;

	for (int k = 0; k < (m->inverts ? KINDS : INVERTED); k++) {
		if (telling[k] < 10) {
			printf("kind %d: %u taken, %u of them telling\n", k, taken[k], telling[k]);
			missed++;
		}
	}
	return missed;
}

int main(int argc, char **argv)
{
	const char *name = getenv("LPFM_MACHINE") + strlen("sim:");
	const struct model *m = models;
	struct pfm_sim *sim;
	int failures = 0;

	while (strcmp(m->name, name))
		m++;
	state = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	MUST(pfm_force_pmu(m->pmu) == PFMLIB_SUCCESS && pfm_initialize() == PFMLIB_SUCCESS);
	MUST(sim = pfm_sim_get());
	for (int i = 0; i < TRIALS && failures < 5; i++) {
		if (i % 50 == 0)
			write_program();
		failures += differs(m, sim);
	}
	pfm_sim_put(sim);
	failures += kinds_missed(m);
	return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
