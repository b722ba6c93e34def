// SPDX-License-Identifier: MIT
/*
 * named.c - the kernel's other events: tracepoints, and events of the PMUs that sysfs describes.
 * pfm_perf_event() stores an event's attributes in a table, and returns the value for the PMC of
 * any event register: the index in the table, from 1, in the bits above the privilege levels.
 */
#include <stdio.h>
#include <stdlib.h>

#include "perf.h"

#define MOST	65535U
#define CHUNK	64U

struct perf_named {
	uint32_t	type, flags;
	uint64_t	config[3];
	char		*filter;	/* the filter of a tracepoint, or NULL */
	char		*cpus;		/* the list of CPUs in the caller's text, or NULL */
};

/* Entries are added under pfm_os_lock(), which a fork takes, too, and are never removed. */
static struct perf_named *chunks[MOST / CHUNK + 1];
static unsigned int count;

static struct perf_named *at(unsigned int i)
{
	return &chunks[i / CHUNK][i % CHUNK];
}

/* Returns NULL if there is no such event. */
static const struct perf_named *named_of(uint64_t value)
{
	uint64_t place = value >> PERF_NAMED_SHIFT;

	return place && place <= __atomic_load_n(&count, __ATOMIC_ACQUIRE) ? at((unsigned int)place - 1) : NULL;
}

/* --- the CPUs on which an event counts ------------------------------------------------------ */

/* Parses the next range of a list like "0-3,8". Returns false if the text is not a range. */
static bool next_range(const char **text, unsigned long *from, unsigned long *to)
{
	char *end;

	if (**text < '0' || **text > '9')
		return false;
	*from = *to = strtoul(*text, &end, 10);
	if (*end == '-' && end[1] >= '0' && end[1] <= '9')
		*to = strtoul(end + 1, &end, 10);
	if (*end && *end != ',')
		return false;
	*text = *end ? end + 1 : end;
	return *from <= *to;
}

static bool are_cpus(const char *text)
{
	unsigned long from, to;

	do
		if (!next_range(&text, &from, &to))
			return false;
	while (*text);
	return true;
}

/* Returns true if the event counts on this CPU. */
static bool counts_on(const struct perf_named *e, unsigned int cpu)
{
	const char *text = e->cpus;
	unsigned long from, to;

	if (!text)
		return true;
	while (*text && next_range(&text, &from, &to))
		if (cpu >= from && cpu <= to)
			return true;
	return false;
}

/* --- the table of named events -------------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool same(const struct perf_named *e, const pfm_perf_event_t *event)
{
	return e->type == event->type && e->flags == event->flags && e->config[0] == event->config &&
	       e->config[1] == event->config1 && e->config[2] == event->config2 &&
	       same_text(e->filter, event->filter) && same_text(e->cpus, event->cpus);
}

static int check(const pfm_perf_event_t *event)
{
	if (event->flags & ~(PFM_PERF_ALONE | PFM_PERF_WHOLE_CPUS | PFM_PERF_PRECISE(3)) ||
	    !pfm_all_zero(event->reserved, sizeof(event->reserved)))
		return pfm_refuse(-EINVAL, "unknown flags %#x, or a reserved field that is not 0", event->flags);
	if (event->filter && event->type != PERF_TYPE_TRACEPOINT)
		return pfm_refuse(-EINVAL, "filter '%s': only tracepoints have filters", event->filter);
	if (event->cpus && !are_cpus(event->cpus))
		return pfm_refuse(-EINVAL, "cpus: '%s' is no list of CPUs, as in 0-3,8", event->cpus);
	return 0;
}

static bool copy_text(char **to, const char *from)
{
	*to = from ? pfm_os_strdup(from) : NULL;
	return *to || !from;
}

static int append(const pfm_perf_event_t *event)
{
	struct perf_named *e;

	if (count == MOST)
		return pfm_refuse(-ENOSPC, "there are %u events already", MOST);
	if (!chunks[count / CHUNK])
		chunks[count / CHUNK] = pfm_os_calloc(CHUNK, sizeof(*e));
	if (!chunks[count / CHUNK])
		return pfm_refuse(-ENOMEM, "no memory for an event");
	e = at(count);
	*e = (struct perf_named){ .type = event->type, .flags = event->flags,
				  .config = { event->config, event->config1, event->config2 } };
	if (!copy_text(&e->filter, event->filter) || !copy_text(&e->cpus, event->cpus)) {
		pfm_os_free(e->filter);
		return pfm_refuse(-ENOMEM, "no memory for an event");
	}
	__atomic_store_n(&count, count + 1, __ATOMIC_RELEASE);
	return 0;
}

int perf_named_add(const pfm_perf_event_t *event, uint64_t *value)
{
	unsigned int i = 0;
	int ret = check(event);

	if (ret)
		return ret;
	pfm_os_lock();
	while (i < count && !same(at(i), event))
		i++;
	ret = i < count ? 0 : append(event);
	pfm_os_unlock();
	if (!ret)
		*value = (uint64_t)(i + 1) << PERF_NAMED_SHIFT;
	return ret;
}

/* --- the registers for named events --------------------------------------------------------- */

static char names[PERF_NUM_NAMED][16];

void perf_named_append(struct pfm_reg *pmcs, uint16_t *num_pmcs, struct pfm_reg *pmds, uint16_t *num_pmds)
{
	for (unsigned int i = 0; i < PERF_NUM_NAMED; i++) {
		uint16_t num = (uint16_t)(PERF_NAMED_FIRST + i);

		snprintf(names[i], sizeof(names[i]), "event-%u", i);
		pmcs[(*num_pmcs)++] = (struct pfm_reg){ .num = num, .type = PFM_REG_TYPE_SW, .kind = PFM_REG_WC,
			.rsvd = PERF_NAMED_RSVD, .index = PFM_REG_IDX_NONE, .ctrl = PFM_REG_NO_CTRL, .name = names[i] };
		pmds[(*num_pmds)++] = (struct pfm_reg){ .num = num, .type = PFM_REG_TYPE_SW,
			.kind = PFM_REG_C64 | PFM_REG_INTR, .index = PFM_REG_IDX_NONE, .ctrl = num, .name = names[i] };
	}
}

bool perf_is_named(uint16_t num)
{
	return num >= PERF_NAMED_FIRST && num < PERF_NAMED_FIRST + PERF_NUM_NAMED;
}

int perf_named_check_pmc(const struct pfm_context *ctx, uint16_t num, uint64_t value)
{
	const struct perf_named *e = named_of(value);

	if (!(value >> PERF_NAMED_SHIFT))
		return 0;
	if (!e)
		return pfm_refuse(-EINVAL, "PMC%u: there is no event %llu: pfm_perf_event() gives the values", num,
				  (unsigned long long)(value >> PERF_NAMED_SHIFT));
	if ((e->flags & PFM_PERF_WHOLE_CPUS) && !(ctx->flags & PFM_FL_SYSTEM_WIDE))
		return pfm_refuse(-EINVAL, "PMC%u: the event counts whole CPUs, whatever runs there, no thread", num);
	return 0;
}

/*
 * Makes the plan of a named event. Returns false if it would count nothing: the PMC selects no
 * event or no privilege level, or the event does not count on the context's CPU.
 */
bool perf_named_plan(const struct pfm_context *ctx, struct perf_plan *plan, uint64_t value)
{
	const struct perf_named *e = named_of(value);

	plan->no_user = !(value & PFM_SW_USER);
	plan->no_kernel = !(value & PFM_SW_KERNEL);
	if (!e || (plan->no_user && plan->no_kernel))
		return false;
	if ((ctx->flags & PFM_FL_SYSTEM_WIDE) && !counts_on(e, ctx->cpu))
		return false;
	plan->type = e->type;
	plan->config = e->config[0];
	plan->config1 = e->config[1];
	plan->config2 = e->config[2];
	plan->filter = e->filter;
	plan->alone = !!(e->flags & PFM_PERF_ALONE);
	plan->precise = PFM_PERF_PRECISE_OF(e->flags);
	plan->hw = !plan->alone && e->type != PERF_TYPE_SOFTWARE && e->type != PERF_TYPE_TRACEPOINT;
	return true;
}
