// SPDX-License-Identifier: MIT
/*
 * caches.c - the cost of an instruction on simulated caches. Prints the ns of CPU time for an
 * instruction, with its fetch and its load, store or branch, and the number of loads that missed
 * the L1D, which is the same in all modes.
 *
 *   caches walk N		the reference: reads the operations as valgrind prints them, into three LRU caches
 *   caches alone N [MODEL]	the simulated computer, its PMU at rest
 *   caches counted N [MODEL]	it counts two events
 *   caches sampled N [MODEL]	it counts two events, and samples every 10^4 instructions
 *   caches looked N		it counts three events, one of them with a threshold
 *   caches replayed N [MODEL]	as sampled, from a trace
 *   caches skipped N [MODEL]	as sampled, with sites that say what they count, so that it skips ahead
 *
 * MODEL: k8, or an Itanium; the latter's caches differ from those of the bare walk.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "perfmon/perfmon.h"
#include "perfmon/perfmon_dfl_smpl.h"
#include "perfmon/sim.h"

#define CODE	0x4000ULL	/* four instructions of 4 bytes */
#define STRIDE	0x100000ULL	/* the first instruction loads in a stride */
#define ANY	0x800000ULL	/* the second loads any 8 bytes of 64 KB */
#define ELEMENTS 8192
#define SEED	7
#define STORES	0x10000000ULL	/* the third stores in a stride; the fourth branches back */
#define CHUNK	65536		/* rounds of the loop that are kept as text at a time */

static void must(int ret, const char *what)
{
	if (ret >= 0)
		return;
	fprintf(stderr, "caches: %s: %s\n", what, pfm_explain());
	exit(1);
}

/* Returns the CPU time of this process in ns. */
static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* --- a bare walk ---------------------------------------------------------------------------- */

struct cache {
	uint64_t sets, assoc, *tags;	/* set by set, the latest first */
};

static struct cache l1i = { 512, 2, NULL }, l1d = { 512, 2, NULL }, l2 = { 1024, 16, NULL };
static uint64_t load_misses;

/* Looks a line up, and makes it the latest of its set. Returns true on a miss. */
static bool touch(struct cache *c, uint64_t line)
{
	uint64_t *set = c->tags + (line & (c->sets - 1)) * c->assoc, way = 0;
	bool miss;

	if (set[0] == line)
		return false;
	while (way < c->assoc && set[way] != line)
		way++;
	miss = way == c->assoc;
	for (way -= miss; way; way--)
		set[way] = set[way - 1];
	set[0] = line;
	return miss;
}

static bool reach(struct cache *c, uint64_t addr, uint64_t size)
{
	uint64_t first = addr >> 6, last = (addr + size - 1) >> 6;
	bool miss = touch(c, first);

	return last != first ? touch(c, last) | miss : miss;
}

static uint64_t number(const char **at, unsigned int base)
{
	uint64_t n = 0;

	for (; **at > ' ' && **at != ','; ++*at)
		n = n * base + (uint64_t)(**at <= '9' ? **at - '0' : **at - 'a' + 10);
	return n;
}

/* Walks a line as valgrind prints it: "I  04001090,3" or " L 1ffeff0,8". */
static void walk_line(const char *at)
{
	bool fetch = *at == 'I', load = at[1] == 'L', miss;
	uint64_t addr, size;

	at += 3;
	addr = number(&at, 16);
	at++;
	size = number(&at, 10);
	miss = reach(fetch ? &l1i : &l1d, addr, size);
	if (miss)
		reach(&l2, addr, size);
	load_misses += miss && load;
}

static void walk_text(const char *text, size_t size)
{
	const char *end = text + size, *next;

	for (; text < end && (next = memchr(text, '\n', (size_t)(end - text))); text = next + 1)
		walk_line(text);
}

/* Returns the n-th number of splitmix64, which the simulated computer uses. */
static uint64_t random_at(uint64_t seed, uint64_t n)
{
	uint64_t z = seed + (n + 1) * 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

static size_t print_rounds(char *to, uint64_t first, uint64_t last)
{
	const char *begin = to;

	for (uint64_t n = first; n < last; n++) {
		uint64_t any = ANY + 8 * (random_at(SEED, n) % ELEMENTS);

		to += sprintf(to, "I  %08llx,4\n L %08llx,8\nI  %08llx,4\n L %08llx,8\n", CODE,
			      STRIDE + 8 * (unsigned long long)n, CODE + 4, (unsigned long long)any);
		to += sprintf(to, "I  %08llx,4\n S %08llx,8\nI  %08llx,4\n", CODE + 8,
			      STORES + 8 * (unsigned long long)n, CODE + 12);
	}
	return (size_t)(to - begin);
}

static bool make_tags(struct cache *c)
{
	c->tags = malloc(c->sets * c->assoc * sizeof(*c->tags));
	return c->tags && memset(c->tags, 0xff, c->sets * c->assoc * sizeof(*c->tags));
}

static double walk(uint64_t n)
{
	char *text = malloc(CHUNK * 128);
	double sum = 0;

	if (!text || !make_tags(&l1i) || !make_tags(&l1d) || !make_tags(&l2))
		exit(1);
	for (uint64_t done = 0; done < n / 4; done += CHUNK) {
		size_t size = print_rounds(text, done, done + CHUNK < n / 4 ? done + CHUNK : n / 4);
		double t = now();

		walk_text(text, size);
		sum += now() - t;
	}
	return sum;
}

/* --- the simulated computer ----------------------------------------------------------------- */

static struct pfm_sim *sim;
static uint16_t first_counter;

static void computer(const char *model)
{
	char name[64];

	snprintf(name, sizeof(name), "sim:%s", model);
	must(pfm_set_machine(name, ""), "set_machine");
	sim = pfm_sim_get();
	first_counter = strcmp(model, "k8") ? 4 : 0;
}

/* Programs a counter. more: bits of the PMC that the event does not set. */
static void count(int fd, uint16_t nth, const char *event, uint64_t period, uint64_t more)
{
	pfarg_pmc_t pc = { .reg_num = first_counter + nth };
	pfarg_pmd_t pd = { .reg_num = pc.reg_num, .reg_value = -period, .reg_long_reset = -period,
			   .reg_short_reset = -period };

	must(pfm_sim_encode(sim, event, 7, pc.reg_num, &pc.reg_value), "encode");
	pc.reg_value |= more;
	must(pfm_write_pmcs(fd, &pc, 1), "write_pmcs");
	must(pfm_write_pmds(fd, &pd, 1), "write_pmds");
}

static void measure(uint32_t tid, uint64_t period, bool threshold)
{
	pfm_dfl_smpl_arg_t arg = { .buf_size = 1 << 20 };
	pfarg_load_t load = { .load_pid = tid };
	pfarg_ctx_t ctx = { 0 };
	int fd = pfm_create_context(&ctx, PFM_DFL_SMPL_NAME, &arg, sizeof(arg));

	must(fd, "create_context");
	count(fd, 0, "instructions", period, 0);
	count(fd, 1, "l1d_misses", 1ULL << 62, 0);
	if (threshold)
		count(fd, 2, "l1d_misses", 1ULL << 62, 1ULL << 24);
	must(pfm_load_context(fd, &load), "load_context");
	must(pfm_start(fd, NULL), "start");
}

static const struct pfm_sim_access accesses[] = {
	{ .load = { .kind = PFM_SIM_STRIDES, .base = STRIDE, .strides = { 8 } } },
	{ .load = { .kind = PFM_SIM_RANDOM, .base = ANY, .strides = { 8 }, .count = ELEMENTS, .seed = SEED } },
	{ .store = { .kind = PFM_SIM_STRIDES, .base = STORES, .strides = { 8 } } },
	{ .branch = PFM_SIM_BACK },
};

static const struct pfm_sim_event declared[] = { { .name = "l1d_misses", .count = 1 } };

static uint32_t spawn(const struct pfm_sim_step *steps, uint32_t n)
{
	struct pfm_sim_spawn spec = { .program = { steps, n } };
	int tid = pfm_sim_spawn(sim, &spec);

	must(tid, "spawn");
	return (uint32_t)tid;
}

static uint32_t loop(uint64_t n, bool skipped)
{
	struct pfm_sim_step steps[6] = { { .op = PFM_SIM_LOOP, .count = n / 4 }, [5] = { .op = PFM_SIM_END } };

	for (int i = 0; i < 4; i++) {
		steps[i + 1] = (struct pfm_sim_step){ .op = PFM_SIM_SITE, .ip = CODE + 4 * (uint64_t)i, .ns = 1 };
		if (skipped) {
			steps[i + 1].events = declared;
			steps[i + 1].num_events = 1;
		} else {
			steps[i + 1].access = &accesses[i];
			steps[i + 1].flags = PFM_SIM_ACCESS;
		}
	}
	return spawn(steps, 6);
}

static uint32_t replay(uint64_t n)
{
	struct pfm_sim_trace *t = pfm_sim_trace_new();
	struct pfm_sim_step step = { .op = PFM_SIM_REPLAY };
	uint32_t tid;
	size_t size;
	int ret = 0;

	for (uint64_t i = 0; i < n / 4 && !ret; i++) {
		uint64_t any = ANY + 8 * (random_at(SEED, i) % ELEMENTS);

		ret |= pfm_sim_trace_instruction(t, CODE, 4) | pfm_sim_trace_op(t, PFM_SIM_LOAD, STRIDE + 8 * i, 8);
		ret |= pfm_sim_trace_instruction(t, CODE + 4, 4) | pfm_sim_trace_op(t, PFM_SIM_LOAD, any, 8);
		ret |= pfm_sim_trace_instruction(t, CODE + 8, 4);
		ret |= pfm_sim_trace_op(t, PFM_SIM_STORE, STORES + 8 * i, 8);
		ret |= pfm_sim_trace_instruction(t, CODE + 12, 4);
		ret |= pfm_sim_trace_op(t, PFM_SIM_BRANCH_NOT + (i + 1 < n / 4), 0, 0);
	}
	must(ret, "trace");
	must(pfm_sim_trace_end(t, &step.trace, &size), "trace_end");
	step.count = size;
	tid = spawn(&step, 1);
	pfm_sim_trace_free(t);
	return tid;
}

static double simulate(const char *how, uint64_t n, const char *model)
{
	struct pfm_sim_cache caches[6];
	bool traced = !strcmp(how, "replayed"), skipped = !strcmp(how, "skipped");
	uint32_t tid;
	double t;

	computer(model);
	tid = traced ? replay(n) : loop(n, skipped);
	if (strcmp(how, "alone"))
		measure(tid, strcmp(how, "counted") ? 10000 : 1ULL << 62, !strcmp(how, "looked"));
	t = now();
	must(pfm_sim_run_until_exit(sim, tid, UINT64_MAX / 2), "run");
	t = now() - t;
	must(pfm_sim_caches(sim, 0, caches, 6), "caches");
	load_misses = caches[1].load_misses;
	return t;
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[1] : "", *model = argc > 3 ? argv[3] : "k8";
	uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 0) : 0;
	double ns;

	if (n < 4)
		return fprintf(stderr, "usage: see caches.c\n"), 2;
	ns = strcmp(how, "walk") ? simulate(how, n, model) : walk(n);
	printf("%.2f %llu\n", ns / (double)n, (unsigned long long)load_misses);
	return 0;
}
