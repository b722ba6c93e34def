// SPDX-License-Identifier: MIT
/*
 * family.c - PFM_FL_INHERIT: a set's counters as a group of kernel events that the target's
 * children inherit. The kernel reports only the sum of the target's count and its children's. So a
 * PMD that is written with OWN, or that has overflows, has a second event, in the set's own group,
 * for the target alone: the difference is the children's count. The value of a PMD without a second
 * event is the sum.
 */
#include <stdio.h>
#include <unistd.h>

#include "perf.h"

struct perf_kin {
	struct perf_plan	plan;
	int			fd;
	uint64_t		count;
	/*
	 * base is the PMD's value when count was base_count. If the PMD has a second event, which
	 * counts the target alone, base is the children's part of the value.
	 */
	uint64_t		base, base_count;
	/* the count of the target's own event when count was base_count */
	uint64_t		own_count;
};

struct perf_family {
	/* number of events; number of those in the group that k[0] leads, which come first */
	unsigned int	n, joined;
	bool		hw;
	bool		on_exec;	/* the events were opened for the next exec to start them */
	struct perf_kin	k[];
};

/* --- opening inherited events --------------------------------------------------------------- */

static bool leads(const struct perf_family *family, const struct perf_kin *k)
{
	return k == family->k || k->plan.alone;
}

static int open_kin(struct pfm_context *ctx, struct perf_family *family, struct perf_kin *k)
{
	struct perf_context *p = perf_of(ctx);
	struct perf_event_attr attr;
	char what[16];

	snprintf(what, sizeof(what), "PMD%u", k->plan.num);
	perf_attr_init(&attr, &k->plan);
	attr.inherit = 1;
	attr.sample_type = PERF_SAMPLE_IDENTIFIER;	/* PERF_SAMPLE_READ is not inherited */
	if (leads(family, k)) {
		attr.disabled = 1;
		attr.enable_on_exec = family->on_exec;
		attr.pinned = family->hw || k->plan.alone;
	}
	k->fd = perf_open(&attr, p->pid, p->cpu, leads(family, k) ? -1 : family->k[0].fd);
	if (k->fd < 0)
		return perf_refuse_open(p, what, &attr, errno);
	if (k->plan.filter && perf_set_filter(k->fd, k->plan.filter))
		return perf_refuse_filter(what, k->plan.filter, errno);
	return 0;
}

int perf_family_open(struct pfm_context *ctx, const struct perf_plan *plans, unsigned int n,
		     struct perf_family **out)
{
	struct perf_family *family = pfm_os_alloc(sizeof(*family) + n * sizeof(family->k[0]));
	int ret = 0;

	if (!family)
		return pfm_refuse(-ENOMEM, "no memory for a set's events");
	family->on_exec = perf_of(ctx)->on_exec;
	for (unsigned int i = 0; i < n; i++) {
		family->hw |= plans[i].hw;
		family->joined += !plans[i].alone || !i;
	}
	for (; family->n < n && !ret; family->n++) {
		family->k[family->n].plan = plans[family->n];
		ret = open_kin(ctx, family, &family->k[family->n]);
	}
	if (ret)
		perf_family_close(family);
	else
		*out = family;
	return ret;
}

void perf_family_close(struct perf_family *family)
{
	if (!family)
		return;
	while (family->n)
		if (family->k[--family->n].fd >= 0)
			perf_close(family->k[family->n].fd);
	pfm_os_free(family);
}

/*
 * Starts or stops the group leaders, and the events in no group, in the target and in all children.
 */
void perf_family_run(struct perf_group *g, bool on)
{
	struct perf_family *family = g->family;

	if (family && on && family->on_exec) {
		family->on_exec = false;
		return;
	}
	for (unsigned int i = family ? family->n : 0; i-- > 0;)
		if (leads(family, &family->k[i]))
			perf_ioctl(family->k[i].fd, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

/* --- reading the sums over all threads ------------------------------------------------------ */

#define HEAD_WORDS	3	/* words of a group read: nr, time enabled, time running */
#define ENTRY_WORDS	(perf_format_lost ? 3U : 2U)	/* words for each event: value, id, lost */
/* The running time of events may be shorter than the active time by 1/64 of it and this many ns. */
#define SLACK_NS	2000000

static bool read_alone(struct perf_family *family)
{
	uint64_t words[HEAD_WORDS + 3 * PERF_MAX_COUNTERS];
	bool all = true;

	for (unsigned int i = family->joined; i < family->n; i++) {
		if (perf_read_group(family->k[i].fd, words, sizeof(words)) > 0)
			family->k[i].count = words[HEAD_WORDS];
		else
			all = false;
	}
	return all;
}

/*
 * Returns true if the events missed some of the active time. The kernel counts an event of a child
 * that finds no place on the PMU neither as running nor as enabled, so the two times may not show
 * the loss. If an exec has started all events together, the running time is therefore compared with
 * the time for which the context has been active. That time was taken before the events were read.
 */
static bool starved(const struct pfm_context *ctx, uint64_t active, const uint64_t *words)
{
	if (words[2] < words[1])
		return true;
	return ctx->flags & PFM_FL_ON_EXEC && (words[2] ? words[2] + active / 64 + SLACK_NS < active : active > 0);
}

static bool read_counts(struct pfm_context *ctx, struct perf_group *g, struct perf_family *family)
{
	uint64_t words[HEAD_WORDS + 3 * PERF_MAX_COUNTERS];
	uint64_t active = 0;
	ssize_t got;

	if (!family || !family->n)
		return false;
	if (family->hw && ctx->flags & PFM_FL_ON_EXEC)
		active = perf_active_ns(ctx, g);
	got = perf_read_group(family->k[0].fd, words, sizeof(words));
	if (got < (ssize_t)(HEAD_WORDS * sizeof(words[0])) || words[0] != family->joined) {
		perf_note_missed(ctx, g, 0);
		return false;
	}
	if (family->hw && starved(ctx, active, words))
		perf_note_missed(ctx, g, words[2]);
	for (unsigned int i = 0; i < family->joined; i++)
		family->k[i].count = words[HEAD_WORDS + i * ENTRY_WORDS];
	if (!read_alone(family))
		perf_of(ctx)->failed = true;
	return true;
}

static struct perf_family *family_of(struct pfm_set *set)
{
	struct perf_group *g = perf_group_of(set);

	return g ? g->family : NULL;
}

void perf_family_collect(struct pfm_context *ctx, struct pfm_set *set)
{
	struct perf_family *family = family_of(set);

	if (!read_counts(ctx, set->os, family))
		return;
	for (unsigned int i = 0; i < family->n; i++) {
		const struct perf_kin *k = &family->k[i];
		const struct perf_counter *own = perf_counter_of(set->os, k->plan.num);
		struct pfm_pmd *pmd = pfm_set_pmd(set, k->plan.num);
		uint64_t sum = k->base + (k->count - k->base_count);

		if (own)
			pmd->children = sum - (own->count - k->own_count);
		else
			pmd->value = sum;
	}
}

static void rebase(struct pfm_set *set, struct perf_kin *k)
{
	const struct perf_counter *own = perf_counter_of(set->os, k->plan.num);
	const struct pfm_pmd *pmd = pfm_set_pmd(set, k->plan.num);

	k->base = own ? pmd->children : pmd->value;
	k->base_count = k->count;
	k->own_count = own ? own->count : 0;
}

void perf_family_rebase(struct pfm_context *ctx, struct pfm_set *set)
{
	struct perf_family *family = family_of(set);

	if (!read_counts(ctx, set->os, family))
		return;
	for (unsigned int i = 0; i < family->n; i++)
		rebase(set, &family->k[i]);
}

/*
 * Sets the base of a PMD that was given another value. The counts must have been read in this
 * access.
 */
void perf_family_rebase_one(struct pfm_context *ctx, struct pfm_set *set, uint16_t num)
{
	struct perf_family *family = family_of(set);

	(void)ctx;
	for (unsigned int i = 0; family && i < family->n; i++)
		if (family->k[i].plan.num == num)
			rebase(set, &family->k[i]);
}
