// SPDX-License-Identifier: MIT
/*
 * sampler.c - PFM_FL_INHERIT with a sampling format. PMDs with a period sample the target and all
 * threads that it creates. The other PMDs count; if the format takes records, the count of each
 * thread is written into the sampling buffer when the thread ends. The kernel lets an event with a
 * ring be inherited only if the event is for one CPU. So there is an event for each PMD, CPU and,
 * with PFM_FL_PROCESS, thread. A child begins with a whole period, and its samples go into its
 * parent's rings. Samples cannot have other counters' values, as the children's counts are not
 * known at an overflow. Periods cannot be random or change, as the kernel repeats one period in all
 * threads.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "perf.h"

struct inherited {
	uint64_t	id;
	int		fd;
	uint16_t	num;		/* number of the PMD */
	/* number of records of all threads for which the rings had no room, as last read */
	uint64_t	lost;
};

struct perf_sampler {
	unsigned int		num_plans, n;
	bool			on_exec;	/* the events are first started by an exec */
	bool			accounts;	/* the counts of each thread are recorded */
	struct perf_plan	plans[PERF_MAX_COUNTERS];
	/* the reset values with which the events were opened */
	uint64_t		resets[PERF_MAX_COUNTERS];
	/* the values of the counting PMDs at the load */
	uint64_t		base[PERF_MAX_COUNTERS];
	struct inherited	events[];			/* sorted by id, ascending */
};

static int num_cpus(void)
{
	return (int)sysconf(_SC_NPROCESSORS_CONF);
}

/* The words of a read of one event: value, time enabled, time running, id, lost. */
#define VALUE		0
#define LOST		4
#define READ_WORDS	(perf_format_lost ? 5 : 4)

#define SAMPLE_TYPE (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)

/* --- refusing what the kernel does not support ---------------------------------------------- */

static int refuse_values(const struct pfm_context *ctx, const struct pfm_pmd *pmd)
{
	unsigned int num;

	pfm_for_each_bit_of(num, pmd->smpl_pmds, PFM_PMD_BV)
		if (!pfm_pmu_pmd(ctx->pmu, (uint16_t)num)->read)
			return pfm_refuse(-EINVAL, "PMD%u: INHERIT: smpl_pmds cannot include PMD%u: perf_event does "
					  "not give its value for children", pmd->num, num);
	return 0;
}

static uint64_t opened_with(const struct pfm_set *set, uint16_t num)
{
	const struct perf_sampler *s = set->os ? perf_group_of((struct pfm_set *)set)->sampler : NULL;

	for (unsigned int i = 0; s && i < s->num_plans; i++)
		if (s->plans[i].num == num)
			return s->resets[i];
	return 0;
}

/*
 * Refuses a PMD that only counts if its counts would be wrong. In a context that records the counts
 * of threads, the kernel writes them and exchanges them between threads correctly only if counters
 * and rings were opened together.
 */
static int refuse_count(const struct pfm_context *ctx, const struct pfm_pmd *pmd, uint64_t now)
{
	const struct perf_context *p = ctx->os;

	if (!ctx->format_needs.records)
		return 0;
	if (ctx->flags & PFM_FL_ON_EXEC)
		return pfm_refuse(-EINVAL, "PMD%u: INHERIT: with ON_EXEC and a format that takes records, a PMD that "
				  "does not sample loses counts", pmd->num);
	if (p->rings.n && !now)
		return pfm_refuse(-EINVAL, "PMD%u: INHERIT: a PMD that only counts cannot be added to a loaded context "
				  "that records the counts of threads", pmd->num);
	return 0;
}

int perf_sampler_check(const struct pfm_context *ctx, const struct pfm_set *set, const struct pfm_pmd *pmd,
		       const struct perf_plan *plan)
{
	uint64_t now = opened_with(set, pmd->num);

	if (!plan->sampling)
		return refuse_count(ctx, pmd, now);
	if (plan->alone)
		return pfm_refuse(-EINVAL, "PMD%u: its event can only be counted: it has no overflows", pmd->num);
	if (!plan->fixed)
		return pfm_refuse(-EINVAL, "PMD%u: INHERIT: perf_event gives children one period: long_reset and "
				  "short_reset must be the same and not 0, without RANDOM and resets by other PMDs",
				  pmd->num);
	if (now && now != pmd->short_reset)
		return pfm_refuse(-EBUSY, "PMD%u: INHERIT: its period cannot be changed while the context is loaded: "
				  "children have inherited it", pmd->num);
	return refuse_values(ctx, pmd);
}

/* --- opening the events --------------------------------------------------------------------- */

static void prepare_attr(const struct pfm_context *ctx, const struct pfm_pmd *pmd, const struct perf_plan *plan,
			 struct perf_event_attr *attr)
{
	perf_attr_init(attr, plan);
	attr->disabled = attr->inherit = 1;
	attr->read_format &= ~(uint64_t)PERF_FORMAT_GROUP;
	attr->enable_on_exec = perf_of((struct pfm_context *)ctx)->on_exec;
	if (!plan->sampling) {
		attr->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
		attr->inherit_stat = attr->sample_id_all = ctx->format_needs.records;
		return;
	}
	attr->sample_type = SAMPLE_TYPE;
	attr->precise_ip = plan->precise;
	if (pmd->flags & PFM_REGFL_FREQUENCY) {
		attr->freq = 1;
		attr->sample_freq = pmd->short_reset;
		attr->sample_type |= PERF_SAMPLE_PERIOD;
	} else {
		attr->sample_period = -pmd->short_reset;
	}
	perf_stack_attr(&ctx->format_needs, attr);
}

/*
 * Returns -ESRCH if the thread has ended. With PROCESS any thread of the process may end before its
 * events are opened.
 */
static int open_event(struct pfm_context *ctx, struct perf_ring *ring, uint32_t tid, int leader,
		      const struct perf_plan *plan, struct inherited *e)
{
	const struct pfm_pmd *pmd = pfm_set_pmd(perf_of(ctx)->set, plan->num);
	struct perf_event_attr attr;
	char what[16];

	snprintf(what, sizeof(what), "PMD%u", plan->num);
	prepare_attr(ctx, pmd, plan, &attr);
	e->num = plan->num;
	e->lost = 0;
	e->fd = perf_open_on(&attr, (int)tid, ring->cpu, leader);
	if (e->fd < 0)
		return errno == ESRCH ? -ESRCH : perf_refuse_open(perf_of(ctx), what, &attr, errno);
	if (plan->filter && perf_set_filter(e->fd, plan->filter))
		return perf_refuse_filter(what, plan->filter, errno);
	if (!perf_event_id(e->fd, &e->id) && !perf_ring_join(ring, e->fd))
		return 0;
	return pfm_refuse(-errno, "%s: ioctl(2) of its event: %s", what, strerror(errno));
}

/*
 * Opens an event for the records of a thread other than the target. The rings' own events write
 * those of the target.
 */
static int open_records(struct pfm_context *ctx, struct perf_ring *ring, uint32_t tid, struct inherited *e)
{
	struct perf_event_attr attr;

	perf_attr_dummy(&attr);
	perf_record_attr(&ctx->format_needs, &attr);
	attr.inherit = 1;
	e->num = PFM_MAX_PMDS;
	e->lost = 0;
	e->fd = perf_open_on(&attr, (int)tid, ring->cpu, -1);
	if (e->fd < 0)
		return errno == ESRCH ? -ESRCH : perf_refuse_open(perf_of(ctx), "records", &attr, errno);
	if (!perf_event_id(e->fd, &e->id) && !perf_ring_join(ring, e->fd))
		return 0;
	return pfm_refuse(-errno, "the kernel refuses to record what thread %u does: %s", tid, strerror(errno));
}

static int add(struct perf_sampler *s, struct inherited *e, int ret)
{
	if (e->fd >= 0 && ret)
		perf_close(e->fd);
	if (!ret)
		s->events[s->n++] = *e;
	return ret;
}

/*
 * Opens the events of a CPU for a thread. At a switch between threads with equal events the kernel
 * exchanges their perf contexts, and then swaps the counts back, event by event in the order of the
 * contexts' lists. A child's list is sorted by CPUs, PMUs (Linux 6.2) and age, so it has the
 * parent's order only within a group. Therefore, if the counts of threads are recorded, the events
 * are one group, which the thread's event for records leads.
 */
static int open_thread(struct pfm_context *ctx, struct perf_sampler *s, struct perf_ring *ring, uint32_t tid)
{
	struct inherited e;
	int leader = ring->fd, ret = 0;

	if (ctx->format_needs.records && tid != ctx->tid) {
		ret = add(s, &e, open_records(ctx, ring, tid, &e));
		leader = e.fd;
	}
	for (unsigned int i = 0; i < s->num_plans && !ret; i++)
		ret = add(s, &e, open_event(ctx, ring, tid, s->accounts ? leader : -1, &s->plans[i], &e));
	return ret;
}

/* Opens a CPU's events for the target or, with PROCESS, for all threads of its process. */
static int open_cpu(struct pfm_context *ctx, struct perf_sampler *s, struct perf_ring *ring)
{
	const struct perf_context *p = perf_of(ctx);
	int ret = 0;

	for (unsigned int k = 0; k < p->num_tids && !ret; k++) {
		ret = open_thread(ctx, s, ring, p->tids[k]);
		if (ret == -ESRCH && p->num_tids > 1)
			ret = 0;
	}
	return ret;
}

/* All events of a CPU are opened before those of the next CPU: see open_thread(). */
static int open_cpus(struct pfm_context *ctx, struct perf_sampler *s)
{
	struct perf_rings *rings = &perf_of(ctx)->rings;
	int cpus = num_cpus(), ret = 0;

	for (int cpu = 0; cpu < cpus && !ret; cpu++) {
		ret = perf_ring_add(ctx, cpu);
		if (ret == -ENODEV)
			ret = 0;
		else if (!ret)
			ret = open_cpu(ctx, s, &rings->r[rings->n - 1]);
	}
	return ret;
}

static int by_id(const void *a, const void *b)
{
	const struct inherited *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static struct inherited *find(const struct perf_sampler *s, uint64_t id)
{
	struct inherited key = { .id = id };
	struct inherited *e = bsearch(&key, s->events, s->n, sizeof(key), by_id);

	return e && e->num < PFM_MAX_PMDS ? e : NULL;
}

static int open_all(struct pfm_context *ctx, struct perf_sampler *s)
{
	struct perf_rings *rings = &perf_of(ctx)->rings;
	int ret = 0;

	if (!rings->n)
		ret = open_cpus(ctx, s);
	else
		for (unsigned int i = 0; i < rings->n && !ret; i++)
			ret = open_cpu(ctx, s, &rings->r[i]);
	if (!ret && s->num_plans && !s->n)
		ret = pfm_refuse(-ESRCH, "thread %u has ended", ctx->tid);
	qsort(s->events, s->n, sizeof(s->events[0]), by_id);
	return ret;
}

/* Allocates the structures for n CPUs. */
static int begin(struct pfm_context *ctx, unsigned int n, struct perf_sampler **out)
{
	const struct perf_context *p = perf_of(ctx);
	int ret = p->rings.r ? 0 : perf_rings_begin(ctx, num_cpus());

	if (ret)
		return ret;
	*out = pfm_os_alloc(sizeof(**out) + (size_t)p->num_tids * (size_t)num_cpus() * (n + 1) *
			    sizeof((*out)->events[0]));
	return *out ? 0 : pfm_refuse(-ENOMEM, "no memory for a set's events");
}

static bool has_accounts(const struct pfm_context *ctx, const struct perf_plan *plans, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (!plans[i].sampling)
			return ctx->format_needs.records;
	return false;
}

/*
 * Refuses hardware events if the counts of threads are recorded: the events would be one group, as
 * open_thread() says, and might find no room on the PMU.
 */
static int check_accounts(const struct pfm_context *ctx, const struct perf_plan *plans, unsigned int n)
{
	for (unsigned int i = 0; has_accounts(ctx, plans, n) && i < n; i++)
		if (plans[i].hw)
			return pfm_refuse(-EINVAL, "PMD%u: INHERIT: the kernel mixes up the counts of threads if they "
					  "include a hardware event: only software events can be counted by thread",
					  plans[i].num);
	return 0;
}

int perf_sampler_open(struct pfm_context *ctx, const struct perf_plan *plans, unsigned int n,
		      struct perf_sampler **out)
{
	const struct perf_context *p = perf_of(ctx);
	struct perf_sampler *s;
	int ret;

	*out = NULL;
	if (!n && !ctx->format_needs.records)
		return 0;
	for (unsigned int i = 0; i < n; i++) {
		ret = perf_sampler_check(ctx, p->set, pfm_set_pmd(p->set, plans[i].num), &plans[i]);
		if (ret)
			return ret;
	}
	ret = check_accounts(ctx, plans, n);
	if (ret)
		return ret;
	ret = begin(ctx, n, &s);
	if (ret)
		return ret;
	s->num_plans = n;
	s->accounts = has_accounts(ctx, plans, n);
	s->on_exec = p->on_exec;
	for (unsigned int i = 0; i < n; i++) {
		s->plans[i] = plans[i];
		s->resets[i] = pfm_set_pmd(p->set, plans[i].num)->short_reset;
		s->base[i] = pfm_set_pmd(p->set, plans[i].num)->value;
	}
	ret = open_all(ctx, s);
	if (ret)
		perf_sampler_close(s);
	else
		*out = s;
	return ret;
}

void perf_sampler_close(struct perf_sampler *s)
{
	if (!s)
		return;
	while (s->n)
		perf_close(s->events[--s->n].fd);
	pfm_os_free(s);
}

bool perf_sampler_fits(const struct perf_sampler *s, const struct perf_plan *plans, unsigned int n)
{
	return (s ? s->num_plans : 0) == n && (!n || !memcmp(s->plans, plans, n * sizeof(*plans)));
}

/* --- starting and stopping the events ------------------------------------------------------- */

/*
 * Starts or stops sampling and counting in the target and all children. Records of what programs do
 * are written all the time.
 */
void perf_sampler_run(struct perf_sampler *s, bool on)
{
	if (s && on && s->on_exec) {
		s->on_exec = false;
		return;
	}
	for (unsigned int i = 0; s && i < s->n; i++)
		if (s->events[i].num < PFM_MAX_PMDS)
			perf_ioctl(s->events[i].fd, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

/* --- PMDs that only count ------------------------------------------------------------------- */

static unsigned int plan_of(const struct perf_sampler *s, uint16_t num)
{
	unsigned int i = 0;

	while (i < s->num_plans && s->plans[i].num != num)
		i++;
	return i;
}

struct sums {
	uint64_t	count, enabled, running;
};

/*
 * Returns true if another user had the PMU for some of the time. A PMD has an event for each CPU.
 * All of them are enabled while the thread runs, but only that of the CPU where it runs counts. So
 * together they must have run as long as one of them was enabled.
 */
static bool starved(const struct sums *sums, unsigned int cpus)
{
	uint64_t ran = sums->enabled / cpus;

	return sums->running < ran - ran / 64;
}

/*
 * Notes an event's lost records. Kernels before 6.0 report them only by LOST records, which
 * replay.c handles.
 */
static void note_lost(struct pfm_context *ctx, struct inherited *e, const uint64_t *words)
{
	uint64_t lost = perf_format_lost ? words[LOST] : e->lost;

	pfm_count_lost(ctx, ctx->active, lost - e->lost);
	e->lost = lost;
}

/* Sets the PMDs that do not sample to the sums over all threads, ended and living. */
void perf_sampler_collect(struct pfm_context *ctx, struct pfm_set *set)
{
	struct perf_sampler *s = set->os ? perf_group_of(set)->sampler : NULL;
	struct sums sums[PERF_MAX_COUNTERS] = { 0 };
	uint64_t words[PERF_READ_WORDS];

	for (unsigned int i = 0; s && i < s->n; i++) {
		unsigned int k = plan_of(s, s->events[i].num);

		if (k == s->num_plans)
			continue;
		if (perf_read_group(s->events[i].fd, words, sizeof(words)) <= 0) {
			perf_of(ctx)->failed = true;
			return;
		}
		note_lost(ctx, &s->events[i], words);
		sums[k].count += words[VALUE];
		sums[k].enabled += words[1];
		sums[k].running += words[2];
	}
	for (unsigned int k = 0; s && k < s->num_plans; k++) {
		if (!s->plans[k].sampling)
			pfm_set_pmd(set, s->plans[k].num)->value = s->base[k] + sums[k].count;
		if (s->plans[k].hw && starved(&sums[k], perf_of(ctx)->rings.n))
			perf_of(ctx)->failed = true;
	}
}

/* A READ record has {pid, tid}, the words of a read of one event, {pid, tid}, time, id. */
void perf_sampler_count(struct pfm_context *ctx, const union perf_record *rec)
{
	const struct perf_sampler *s = perf_group_of(perf_of(ctx)->set)->sampler;
	const uint32_t *ids = (const uint32_t *)&rec->words[1];
	const uint64_t *end = rec->words + rec->header.size / sizeof(*end);
	const struct inherited *e;
	struct pfm_record out = { .type = PFM_RECORD_COUNT, .pid = ids[0], .tid = ids[1] };

	if (!s || end - rec->words < 2 + READ_WORDS + 3)
		return;
	e = find(s, end[-1]);
	if (!e)
		return;
	out.tstamp = end[-2];
	out.num = e->num;
	out.count = rec->words[2 + VALUE];
	pfm_record(ctx, &out);
}

/* --- replaying samples ---------------------------------------------------------------------- */

/*
 * Parses a sample. The fields are those of SAMPLE_TYPE in the order of perf_event.h, followed by
 * those of a stack.
 */
static bool parse(struct pfm_context *ctx, const union perf_record *rec, struct pfm_where *where,
		  struct pfm_pmd *pmd, struct perf_stack *stack)
{
	bool frequency = pmd->flags & PFM_REGFL_FREQUENCY;
	const uint64_t *w = rec->words + 1, *end = rec->words + rec->header.size / sizeof(*w);

	if (end - w < 5 + frequency)
		return false;
	*where = (struct pfm_where){ .ip = w[1], .pid = ((const uint32_t *)&w[2])[0],
				     .tid = ((const uint32_t *)&w[2])[1], .tstamp = w[3],
				     .cpu = (uint16_t)w[4], .regs = stack, .stack = &perf_stack_ops };
	perf_name_exited(ctx, where);
	if (frequency)
		pmd->last_reset = -w[5];
	return perf_stack_parse(&ctx->format_needs, stack, w + 5 + frequency, end);
}

/* Returns the only PMD that samples; NULL if there are several. */
static struct pfm_pmd *only_sampling(struct pfm_context *ctx, const struct perf_sampler *s)
{
	struct pfm_pmd *pmd = NULL;

	for (unsigned int i = 0; i < s->num_plans && ctx->num_sets == 1; i++) {
		if (!s->plans[i].sampling)
			continue;
		if (pmd)
			return NULL;
		pmd = pfm_set_pmd(perf_of(ctx)->set, s->plans[i].num);
	}
	return pmd;
}

/*
 * Returns the PMD of a sample with that id. Where another tool samples the same software event, the
 * kernel (Linux 6.18) gives the sample of one tool the id of the other's event.
 */
static struct pfm_pmd *sampled_pmd(struct pfm_context *ctx, const struct perf_sampler *s, uint64_t id)
{
	const struct inherited *e = find(s, id);

	return e ? pfm_set_pmd(perf_of(ctx)->set, e->num) : only_sampling(ctx, s);
}

void perf_sampler_replay(struct pfm_context *ctx, const union perf_record *rec)
{
	struct perf_context *p = perf_of(ctx);
	struct perf_sampler *s = perf_group_of(p->set)->sampler;
	struct pfm_pmd *pmd = s ? sampled_pmd(ctx, s, rec->words[1]) : NULL;
	uint64_t ovfl[PFM_PMD_BV] = { 0 };
	struct perf_stack stack;
	struct pfm_where where;

	if (!pmd || !parse(ctx, rec, &where, pmd, &stack)) {
		pfm_count_lost(ctx, ctx->active, 1);
		return;
	}
	pmd->value = 0;
	pfm_bit_set(ovfl, pmd->num);
	p->replaying = true;
	pfm_overflow(ctx, ovfl, &where);
	p->replaying = false;
	p->held = !pfm_counting(ctx);
}
