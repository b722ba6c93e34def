// SPDX-License-Identifier: MIT
/*
 * options.c - options like "cpus=4,hz=1000", with which a computer is made, and of which some can
 * be changed later.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "sim.h"

struct option {
	const char	*key;
	uint64_t	min, max;
	bool		later;		/* pfm_sim_set() accepts the option, too */
	void		(*set)(struct pfm_sim *sim, uint64_t value);
};

#define SETTER(key, member) \
	static void set_##key(struct pfm_sim *sim, uint64_t v) \
	{ \
		sim->member = v; \
	}

SETTER(cpus, num_cpus)
SETTER(slice_ns, slice)
SETTER(timer_ns, timer)
SETTER(skid, skid)
SETTER(page_size, page_size)
SETTER(memlock, memlock)
SETTER(tool_cpu, tool_cpu)
SETTER(ht, ht)
SETTER(debugger, debugger)
SETTER(explain, explain)
SETTER(prefetch, shapes.prefetch)
SETTER(store_buffer, store_buffer)
SETTER(interrupt_ns, interrupt_ns)

static void set_hz(struct pfm_sim *sim, uint64_t v)
{
	sim->tick = 1000000000 / v;
}

static void set_slice_ms(struct pfm_sim *sim, uint64_t v)
{
	sim->slice = v * 1000000;
}

/* Returns true if a loaded context, on a thread or a CPU, restricts ranges (5.6.2). */
static bool ranges_restricted(struct pfm_sim *sim)
{
	bool found = false;

	sim_lock(sim);
	for (unsigned int i = 0; i < sim->num_threads && !found; i++)
		found = sim->threads[i]->ctx && pfm_restricts_ranges(sim->threads[i]->ctx);
	for (unsigned int i = 0; sim->cpus && i < sim->num_cpus && !found; i++)
		found = sim->cpus[i].ctx && pfm_restricts_ranges(sim->cpus[i].ctx);
	sim_unlock(sim);
	return found;
}

static void set_live(struct pfm_sim *sim, uint64_t v)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	sim->live = v;
	if (v)
		sim->num_cpus = cpus > SIM_MAX_CPUS ? SIM_MAX_CPUS : (uint32_t)cpus;
}

#define SHAPED_PREDICTOR CACHE_PARTS

/* Sets cachegrind's caches, unless other options describe them. */
static void set_caches(struct pfm_sim *sim, uint64_t v)
{
	static const struct cache_shapes cachegrind = {
		.part = {
			[CACHE_L1I] = { .size = 32768, .assoc = 8, .line = 64 },
			[CACHE_L1D] = { .size = 32768, .assoc = 8, .line = 64 },
			[CACHE_L2] = { .size = 262144, .assoc = 8, .line = 64, .latency = 10 },
		},
		.memory = 100, .mispredicted = 10, .predictor = CACHE_TWO_LEVEL,
	};

	if (!v)
		return;
	for (int p = 0; p < CACHE_PARTS; p++) {
		if (!(sim->shaped >> p & 1))
			sim->shapes.part[p] = cachegrind.part[p];
		else if (cachegrind.part[p].latency)
			sim->shapes.part[p].latency = cachegrind.part[p].latency;
	}
	sim->shapes.memory = cachegrind.memory;
	sim->shapes.mispredicted = cachegrind.mispredicted;
	sim->shapes.write_around = false;
	if (!(sim->shaped >> SHAPED_PREDICTOR & 1))
		sim->shapes.predictor = cachegrind.predictor;
}

static void set_predictor(struct pfm_sim *sim, uint64_t v)
{
	sim->shaped |= 1 << SHAPED_PREDICTOR;
	sim->shapes.predictor = v;
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
	{ "live", 0, 1, false, set_live },
	{ "ht", 0, 1, false, set_ht },
	{ "cachegrind", 0, 1, false, set_caches },
	{ "predictor", CACHE_TWO_LEVEL, CACHE_GSHARE, false, set_predictor },
	{ "explain", 0, 1, false, set_explain },
	{ "prefetch", CACHE_NO_PREFETCH, CACHE_TAGGED, false, set_prefetch },
	{ "store_buffer", 0, SIM_MAX_STORES, false, set_store_buffer },
	{ "interrupt_ns", 0, 1000000, false, set_interrupt_ns },
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
	if (o->set == set_ht && value && !sim->model->codes->ht)
		return pfm_refuse(-EINVAL, "%s has no HyperThreading", sim->model->name);
	o->set(sim, value);
	return 0;
}

/* --- caches --------------------------------------------------------------------------------- */

static int part_of(const char *key, size_t len)
{
	int p = 0;

	while (p < CACHE_PARTS &&
	       (strlen(cache_part_names[p]) != len || strncasecmp(cache_part_names[p], key, len)))
		p++;
	return p;
}

static const char *const policies[] = { [CACHE_LRU] = "lru", [CACHE_PLRU] = "plru", [CACHE_FIFO] = "fifo",
					[CACHE_RANDOM] = "random" };

/* Returns false if there is no such policy. */
static bool find_policy(const char *name, uint32_t *policy)
{
	for (uint32_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
		if (strcmp(policies[i], name))
			continue;
		*policy = i;
		return true;
	}
	return false;
}

/* Reads a shape such as "32768:8:64", "32768:8:64:plru" or "0". */
static bool read_shape(const char *value, struct cache_shape *shape)
{
	char text[64], policy[8] = "lru";
	unsigned long long size;
	int end = 0;

	shape->assoc = 1;
	shape->line = 64;
	if (*value < '0' || *value > '9' || strcspn(value, ",") >= sizeof(text))
		return false;
	snprintf(text, sizeof(text), "%.*s", (int)strcspn(value, ","), value);
	if (sscanf(text, "%llu%n:%u:%u%n:%7[a-z]%n", &size, &end, &shape->assoc, &shape->line, &end, policy, &end) < 1)
		return false;
	shape->size = size;
	return !text[end] && find_policy(policy, &shape->policy);
}

/*
 * Parses the shape of a cache after the key of len bytes at *text. The cache gets the latency of
 * the model's cache, or one of latencies[] if the model has no such cache.
 */
static int parse_cache(struct pfm_sim *sim, int part, const char **text, size_t len)
{
	static const uint32_t latencies[CACHE_PARTS] = { [CACHE_L2] = 10, [CACHE_L3] = 30, [CACHE_ITLB] = 20,
							 [CACHE_DTLB] = 20 };
	struct cache_shape shape = { 0 };
	const char *wrong;

	if ((*text)[len] != '=' || !read_shape(*text + len + 1, &shape))
		return pfm_refuse(-EINVAL, "option at \"%.*s\": expected SIZE:ASSOCIATIVITY:LINE, or "
				  "SIZE:ASSOCIATIVITY:LINE:POLICY with lru, plru, fifo or random, or 0",
				  (int)strcspn(*text, ","), *text);
	shape.latency = sim->shapes.part[part].latency ? sim->shapes.part[part].latency : latencies[part];
	wrong = cache_shape_wrong(&shape);
	if (wrong)
		return pfm_refuse(-EINVAL, "option at \"%.*s\": %s", (int)strcspn(*text, ","), *text, wrong);
	sim->shapes.part[part] = shape;
	sim->shaped |= 1U << part;
	*text += len + 1 + strcspn(*text + len + 1, ",");
	*text += **text == ',';
	return 0;
}

/* Parses one "key=value" at *text, and advances *text to the next one. */
static int parse_one(struct pfm_sim *sim, const char **text)
{
	size_t len = strcspn(*text, "=,");
	const struct option *o = find(*text, len);
	const char *value = *text + len + 1;
	char *end;
	uint64_t n;

	if (part_of(*text, len) < CACHE_PARTS)
		return parse_cache(sim, part_of(*text, len), text, len);
	if (!o)
		return pfm_refuse(-EINVAL, "no option at \"%s\" (cpus, hz, slice_ms, slice_ns, timer_ns, "
				  "skid, page_size, memlock, tool_cpu, debugger, live, ht, cachegrind, predictor, "
				  "explain, prefetch, store_buffer, interrupt_ns, l1i, l1d, l2, l3, itlb, dtlb)",
				  *text);
	/* an option without a value, such as "live" */
	if ((*text)[len] != '=' && o->max == 1) {
		*text += len + ((*text)[len] == ',');
		return apply(sim, o, 1);
	}
	if (o->set == set_skid && (*text)[len] == '=' && strcspn(value, ",") == strlen("model") &&
	    !strncmp(value, "model", strlen("model"))) {
		*text = value + strlen("model");
		*text += **text == ',';
		return apply(sim, o, sim->model->codes->skid);
	}
	if ((*text)[len] != '=' || *value < '0' || *value > '9')
		return pfm_refuse(-EINVAL, "option %s needs a number", o->key);
	errno = 0;
	n = strtoull(value, &end, 0);
	if (errno || (*end && *end != ','))
		return pfm_refuse(-EINVAL, "option %s: \"%s\" is no number", o->key, value);
	*text = *end ? end + 1 : end;
	return apply(sim, o, n);
}

int sim_options_parse(struct pfm_sim *sim, const char *first, const char *text)
{
	int ret = 0;

	while (!ret && *first)
		ret = parse_one(sim, &first);
	while (!ret && *text)
		ret = parse_one(sim, &text);
	if (ret)
		return ret;
	if (!sim->num_cpus)
		sim->num_cpus = 1 + sim->ht;
	if (sim->live && sim->interrupt_ns)
		return pfm_refuse(-EINVAL, "option interrupt_ns: the threads of a live computer are not delayed");
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

/* --- the options in words: sim->notes ------------------------------------------------------- */

static void add_note(struct pfm_sim *sim, const char *format, ...)
{
	size_t len = strlen(sim->notes);
	va_list args;

	va_start(args, format);
	vsnprintf(sim->notes + len, sizeof(sim->notes) - len, format, args);
	va_end(args);
}

static void note_cache(struct pfm_sim *sim, int part)
{
	const struct cache_shape *shape = &sim->shapes.part[part];

	if (!shape->size)
		add_note(sim, "; no %s", cache_part_names[part]);
	else
		add_note(sim, "; %s %llu:%u:%u:%s", cache_part_names[part], (unsigned long long)shape->size,
			 shape->assoc, shape->line, policies[shape->policy]);
}

void sim_options_note(struct pfm_sim *sim)
{
	static const char *const prefetchers[] = { "", "; prefetches the next line on a miss",
						   "; prefetches the next line, tagged" };

	add_note(sim, sim->live ? "a simulated computer: time, page faults and context switches are those of the "
				  "monitored threads, the hardware's events happen at fixed rates"
				: "a simulated computer: time passes only when it is told to run");
	for (int p = 0; p < CACHE_PARTS; p++)
		if (sim->shaped >> p & 1)
			note_cache(sim, p);
	add_note(sim, prefetchers[sim->shapes.prefetch]);
	if (sim->store_buffer)
		add_note(sim, "; %u stores in a buffer", sim->store_buffer);
	if (sim->interrupt_ns)
		add_note(sim, "; an interrupt takes %llu ns", (unsigned long long)sim->interrupt_ns);
}
