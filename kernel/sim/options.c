// SPDX-License-Identifier: MIT
/*
 * options.c - "cpus=4,hz=1000": what a computer is made with, and what can be changed later.
 */
#include <stdlib.h>

#include "sim.h"

struct option {
	const char	*key;
	uint64_t	min, max;
	bool		later;		/* pfm_sim_set() knows it too */
	void		(*set)(struct pfm_sim *sim, uint64_t value);
};

static void set_cpus(struct pfm_sim *sim, uint64_t v)
{
	sim->num_cpus = v;
}

static void set_hz(struct pfm_sim *sim, uint64_t v)
{
	sim->tick = 1000000000 / v;
}

static void set_slice_ms(struct pfm_sim *sim, uint64_t v)
{
	sim->slice = v * 1000000;
}

static void set_slice_ns(struct pfm_sim *sim, uint64_t v)
{
	sim->slice = v;
}

static void set_timer_ns(struct pfm_sim *sim, uint64_t v)
{
	sim->timer = v;
}

static void set_skid(struct pfm_sim *sim, uint64_t v)
{
	sim->skid = v;
}

static void set_page_size(struct pfm_sim *sim, uint64_t v)
{
	sim->page_size = v;
}

static void set_memlock(struct pfm_sim *sim, uint64_t v)
{
	sim->memlock = v;
}

static void set_tool_cpu(struct pfm_sim *sim, uint64_t v)
{
	sim->tool_cpu = v;
}

/* 5.6.2: what restricts ranges and is loaded, on a thread or a CPU. */
static bool ranges_restricted(struct pfm_sim *sim)
{
	bool found = false;

	sim_lock(sim);
	for (unsigned int i = 0; i < sim->num_threads && !found; i++)
		found = sim->threads[i]->ctx && pfm_restricts_ranges(sim->threads[i]->ctx);
	for (unsigned int i = 0; i < sim->num_cpus && !found; i++)
		found = sim->cpus[i].ctx && pfm_restricts_ranges(sim->cpus[i].ctx);
	sim_unlock(sim);
	return found;
}

static void set_debugger(struct pfm_sim *sim, uint64_t v)
{
	sim->debugger = v;
}

#define HOUR_NS 3600000000000ULL

static const struct option options[] = {
	{ "cpus", 1, SIM_MAX_CPUS, false, set_cpus },
	{ "hz", 1, 1000000000, false, set_hz },
	{ "slice_ms", 1, 3600000, false, set_slice_ms },
	{ "slice_ns", 1, HOUR_NS, false, set_slice_ns },
	{ "timer_ns", 1, HOUR_NS, false, set_timer_ns },
	{ "skid", 0, 1000000, true, set_skid },
	{ "page_size", 1, 1 << 30, false, set_page_size },
	{ "memlock", 0, UINT64_MAX, true, set_memlock },
	{ "tool_cpu", 0, SIM_MAX_CPUS - 1, true, set_tool_cpu },
	{ "debugger", 0, 1, true, set_debugger },
};

static const struct option *find(const char *key, size_t len)
{
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (strlen(options[i].key) == len && !strncmp(options[i].key, key, len))
			return &options[i];
	return NULL;
}

static int apply(struct pfm_sim *sim, const struct option *o, uint64_t value)
{
	if (value < o->min || value > o->max)
		return pfm_refuse(-EINVAL, "option %s is from %llu to %llu, not %llu", o->key,
				  (unsigned long long)o->min, (unsigned long long)o->max,
				  (unsigned long long)value);
	if (o->set == set_debugger && value && ranges_restricted(sim))
		return pfm_refuse(-EBUSY, "the debug registers restrict ranges in a loaded context");
	if (o->set == set_page_size && (value & (value - 1)))
		return pfm_refuse(-EINVAL, "option page_size is a power of two, not %llu",
				  (unsigned long long)value);
	o->set(sim, value);
	return 0;
}

/* One "key=value" at *text, which moves on to the next. */
static int parse_one(struct pfm_sim *sim, const char **text)
{
	size_t len = strcspn(*text, "=,");
	const struct option *o = find(*text, len);
	const char *value = *text + len + 1;
	char *end;
	uint64_t n;

	if (!o)
		return pfm_refuse(-EINVAL, "no option at \"%s\" (cpus, hz, slice_ms, slice_ns, timer_ns, "
				  "skid, page_size, memlock, tool_cpu, debugger)", *text);
	if ((*text)[len] != '=' || *value < '0' || *value > '9')
		return pfm_refuse(-EINVAL, "option %s needs a number", o->key);
	errno = 0;
	n = strtoull(value, &end, 0);
	if (errno || (*end && *end != ','))
		return pfm_refuse(-EINVAL, "option %s: \"%s\" is no number", o->key, value);
	*text = *end ? end + 1 : end;
	return apply(sim, o, n);
}

int sim_options_parse(struct pfm_sim *sim, const char *text)
{
	int ret = 0;

	while (!ret && *text)
		ret = parse_one(sim, &text);
	if (ret)
		return ret;
	if (sim->tool_cpu >= sim->num_cpus)
		return pfm_refuse(-EINVAL, "option tool_cpu: there is no CPU %u", sim->tool_cpu);
	sim->slice = (sim->slice + sim->tick - 1) / sim->tick * sim->tick;
	if (!sim->timer)
		sim->timer = sim->tick;
	return 0;
}

int sim_options_set(struct pfm_sim *sim, const char *key, uint64_t value)
{
	const struct option *o = find(key, strlen(key));

	if (!o || !o->later)
		return pfm_refuse(-EINVAL, "option %s cannot be set now (skid, memlock, tool_cpu, debugger)",
				  key);
	if (o->set == set_tool_cpu && value >= sim->num_cpus)
		return pfm_refuse(-EINVAL, "there is no CPU %llu", (unsigned long long)value);
	return apply(sim, o, value);
}
