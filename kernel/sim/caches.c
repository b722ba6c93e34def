// SPDX-License-Identifier: MIT
/* caches.c - the functions of perfmon/sim.h for caches, causes of misses, and traces. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "desc.h"
#include "sim.h"

uint32_t sim_num_cores(const struct pfm_sim *sim)
{
	return (sim->num_cpus + sim->ht) >> sim->ht;
}

struct cache_core *sim_core_of(const struct pfm_sim *sim, uint32_t cpu)
{
	return &sim->caches->cores[cpu >> sim->ht];
}

bool sim_caches_make(struct pfm_sim *sim)
{
	if (!sim->caches)
		sim->caches = cache_system_new(&sim->shapes, sim_num_cores(sim), sim->explain);
	return sim->caches;
}

void sim_caches_free(struct pfm_sim *sim)
{
	cache_system_free(sim->caches);
	cache_blocks_free(&sim->site_of);
	cache_blocks_free(&sim->stored);
	cache_blocks_free(&sim->saw);
	pfm_os_free(sim->sites);
}

/* --- caches --------------------------------------------------------------------------------- */

static void fill(const struct cache_core *core, int part, struct pfm_sim_cache *to)
{
	const struct cache_shape *shape = &core->system->shapes.part[part];
	const struct cache *c = &core->part[part];

	*to = (struct pfm_sim_cache){
		.size = shape->size, .assoc = shape->assoc, .line = shape->line, .policy = shape->policy,
		.latency = shape->latency,
		.fetches = c->accesses[CACHE_FETCH], .fetch_misses = c->misses[CACHE_FETCH],
		.loads = c->accesses[CACHE_LOAD], .load_misses = c->misses[CACHE_LOAD],
		.stores = c->accesses[CACHE_STORE], .store_misses = c->misses[CACHE_STORE],
		.invalidated = part == CACHE_L1D ? core->invalidated : 0,
	};
	snprintf(to->name, sizeof(to->name), "%s", cache_part_names[part]);
}

static int caches(struct pfm_sim *sim, uint32_t cpu, struct pfm_sim_cache *to, int n)
{
	int found = 0;

	if (cpu >= sim->num_cpus)
		return pfm_refuse(-EINVAL, "there is no CPU %u", cpu);
	if (!sim_caches_make(sim))
		return pfm_refuse(-ENOMEM, "no memory for caches");
	for (int p = 0; p < CACHE_PARTS; p++) {
		if (!sim->shapes.part[p].size)
			continue;
		if (found < n)
			fill(sim_core_of(sim, cpu), p, &to[found]);
		found++;
	}
	return found;
}

int pfm_sim_caches(struct pfm_sim *sim, uint32_t cpu, struct pfm_sim_cache *to, int n)
{
	return SIM_LOCKED(sim, caches(sim, cpu, to, n));
}

static int cache_sets(struct pfm_sim *sim, uint32_t cpu, const char *name, uint64_t *misses, int n)
{
	const struct cache *c;
	int part = 0;

	while (part < CACHE_PARTS && strcmp(name, cache_part_names[part]))
		part++;
	if (cpu >= sim->num_cpus || part == CACHE_PARTS || !sim->shapes.part[part].size)
		return pfm_refuse(-EINVAL, "CPU %u has no cache %s", cpu, name);
	if (!sim_caches_make(sim))
		return pfm_refuse(-ENOMEM, "no memory for caches");
	c = &sim_core_of(sim, cpu)->part[part];
	for (uint64_t set = 0; set <= c->mask && set < (uint64_t)n; set++)
		misses[set] = c->missed[set];
	return (int)c->mask + 1;
}

int pfm_sim_cache_sets(struct pfm_sim *sim, uint32_t cpu, const char *name, uint64_t *misses, int n)
{
	return SIM_LOCKED(sim, cache_sets(sim, cpu, name, misses, n));
}

/* --- causes of misses, by site -------------------------------------------------------------- */

static bool make_room(struct pfm_sim *sim)
{
	uint64_t room = sim->room_sites ? 2 * sim->room_sites : 64;
	struct pfm_sim_site *sites;

	if (sim->num_sites < sim->room_sites)
		return true;
	sites = pfm_os_realloc(sim->sites, room * sizeof(*sites));
	if (!sites)
		return false;
	sim->sites = sites;
	sim->room_sites = room;
	return true;
}

/*
 * Counts an access at its site, and a miss if there is a cause. If there is no memory, the access
 * is not counted.
 */
void sim_explain_add(struct pfm_sim *sim, uint64_t ip, enum cache_kind kind, int cause, uint32_t wait)
{
	uint64_t *at = cache_blocks_at(&sim->site_of, ip);
	struct pfm_sim_why *why;

	if (!at || (!*at && !make_room(sim)))
		return;
	if (!*at) {
		sim->sites[sim->num_sites++] = (struct pfm_sim_site){ .ip = ip };
		*at = sim->num_sites;
	}
	why = &sim->sites[*at - 1].why;
	why->waited += wait;
	if (kind == CACHE_STORE)
		why->stores++;
	else
		why->loads++;
	if (cause >= 0)
		(kind == CACHE_STORE ? why->store_misses : why->load_misses)[cause]++;
}

void sim_explain_forward(struct pfm_sim *sim, uint64_t ip, uint64_t from)
{
	uint64_t *saw = cache_blocks_at(&sim->saw, ip);

	if (saw)
		*saw = from + 1;
}

void sim_explain_store(struct pfm_sim *sim, uint64_t ip, uint64_t addr)
{
	uint64_t *stored = cache_blocks_at(&sim->stored, addr / 8);

	if (stored)
		*stored = ip + 1;
}

void sim_explain_load(struct pfm_sim *sim, uint64_t ip, uint64_t addr)
{
	uint64_t *stored = cache_blocks_at(&sim->stored, addr / 8);

	sim_explain_forward(sim, ip, (stored ? *stored : 0) - 1);
}

static int check_explains(const struct pfm_sim *sim)
{
	return sim->explain ? 0 : pfm_refuse(-EINVAL, "the computer was made without explain=1");
}

static int explain(struct pfm_sim *sim, uint64_t ip, struct pfm_sim_why *why)
{
	int ret = check_explains(sim);
	uint64_t *at;

	if (ret)
		return ret;
	at = cache_blocks_at(&sim->site_of, ip);
	if (!at || !*at)
		return pfm_refuse(-ENOENT, "nothing at 0x%llx has accessed data", (unsigned long long)ip);
	*why = sim->sites[*at - 1].why;
	return 0;
}

int pfm_sim_explain(struct pfm_sim *sim, uint64_t ip, struct pfm_sim_why *why)
{
	return SIM_LOCKED(sim, explain(sim, ip, why));
}

static int saw(struct pfm_sim *sim, uint64_t ip, uint64_t *store)
{
	int ret = check_explains(sim);
	const uint64_t *at = ret ? NULL : cache_blocks_at(&sim->saw, ip);

	if (ret)
		return ret;
	if (!at)
		return pfm_refuse(-ENOMEM, "no memory for a site");
	*store = *at - 1;
	return !!*at;
}

int pfm_sim_saw(struct pfm_sim *sim, uint64_t ip, uint64_t *store)
{
	return SIM_LOCKED(sim, saw(sim, ip, store));
}

static uint64_t misses_of(const struct pfm_sim_why *why)
{
	uint64_t sum = 0;

	for (int i = 0; i < PFM_SIM_CAUSES; i++)
		sum += why->load_misses[i] + why->store_misses[i];
	return sum;
}

static int by_misses(const void *a, const void *b)
{
	const struct pfm_sim_site *one = a, *other = b;
	uint64_t m = misses_of(&one->why), n = misses_of(&other->why);

	if (m != n)
		return m > n ? -1 : 1;
	return one->ip < other->ip ? -1 : one->ip > other->ip;
}

static int sites(struct pfm_sim *sim, struct pfm_sim_site *to, int n)
{
	int ret = check_explains(sim), num = (int)sim->num_sites;
	struct pfm_sim_site *sorted;

	if (ret || !num || n <= 0)
		return ret ? ret : num;
	sorted = pfm_os_alloc(num * sizeof(*sorted));
	if (!sorted)
		return pfm_refuse(-ENOMEM, "no memory for %d sites", num);
	memcpy(sorted, sim->sites, num * sizeof(*sorted));
	qsort(sorted, num, sizeof(*sorted), by_misses);
	memcpy(to, sorted, (n < num ? n : num) * sizeof(*to));
	pfm_os_free(sorted);
	return num;
}

int pfm_sim_sites(struct pfm_sim *sim, struct pfm_sim_site *to, int n)
{
	return SIM_LOCKED(sim, sites(sim, to, n));
}

/* --- traces --------------------------------------------------------------------------------- */

struct pfm_sim_trace {
	FILE			*file;		/* a stream that writes into bytes */
	char			*bytes;
	size_t			size;
	struct tape_writer	*writer;	/* NULL after the end */
	struct tape_instr	instr;		/* the instruction that is not written yet */
	bool			begun;
};

struct pfm_sim_trace *pfm_sim_trace_new(void)
{
	struct pfm_sim_trace *t = pfm_os_alloc(sizeof(*t));

	if (t)
		t->file = open_memstream(&t->bytes, &t->size);
	if (t && t->file)
		t->writer = tape_writer_new(t->file);
	if (t && t->writer)
		return t;
	pfm_sim_trace_free(t);
	pfm_refuse(0, "no memory for a trace");
	errno = ENOMEM;
	return NULL;
}

void pfm_sim_trace_free(struct pfm_sim_trace *t)
{
	if (!t)
		return;
	if (t->writer)
		tape_end(t->writer);
	if (t->file)
		fclose(t->file);
	free(t->bytes);
	pfm_os_free(t);
}

static int no_memory(void)
{
	return pfm_refuse(-ENOMEM, "no memory for a trace");
}

static int write_out(struct pfm_sim_trace *t)
{
	bool written = !t->begun || tape_write(t->writer, &t->instr);

	t->begun = false;
	return written ? 0 : no_memory();
}

static int check_open(const struct pfm_sim_trace *t)
{
	return t->writer ? 0 : pfm_refuse(-EINVAL, "the trace has been ended");
}

static int instruction(struct pfm_sim_trace *t, uint64_t ip, uint32_t size)
{
	int ret = check_open(t);

	if (!ret && size > TAPE_SIZE)
		ret = pfm_refuse(-EINVAL, "an instruction of %u bytes: at most %d", size, TAPE_SIZE);
	if (!ret)
		ret = write_out(t);
	if (ret)
		return ret;
	t->instr.ip = ip;
	t->instr.size = size;
	t->instr.num = 0;
	t->begun = true;
	return 0;
}

int pfm_sim_trace_instruction(struct pfm_sim_trace *t, uint64_t ip, uint32_t size)
{
	return pfm_result(instruction(t, ip, size));
}

static int add_op(struct pfm_sim_trace *t, uint32_t kind, uint64_t addr, uint32_t size)
{
	int ret = check_open(t);

	if (!ret && (kind >= TAPE_KINDS || size > TAPE_SIZE))
		ret = pfm_refuse(-EINVAL, "operation %u of %u bytes: there are operations 0 to %d, of at most %d bytes",
				 kind, size, TAPE_KINDS - 1, TAPE_SIZE);
	if (!ret && t->instr.num == TAPE_OPS)
		ret = instruction(t, t->instr.ip, 0);
	if (ret)
		return ret;
	t->instr.op[t->instr.num].kind = kind;
	t->instr.op[t->instr.num].addr = addr;
	t->instr.op[t->instr.num++].size = size;
	t->begun = true;
	return 0;
}

int pfm_sim_trace_op(struct pfm_sim_trace *t, uint32_t kind, uint64_t addr, uint32_t size)
{
	return pfm_result(add_op(t, kind, addr, size));
}

struct source {
	int	fd;
	int	(*stop)(void);
};

/* Reads the trace's text. If stop() asks for a stop, the text appears to be at its end. */
static ssize_t read_source(void *cookie, char *to, size_t size)
{
	const struct source *source = cookie;
	ssize_t n;

	do {
		if (source->stop && source->stop())
			return 0;
		n = read(source->fd, to, size);
	} while (n < 0 && errno == EINTR);
	return n;
}

static int from_lackey(struct pfm_sim_trace *t, struct source *source)
{
	static const cookie_io_functions_t functions = { .read = read_source };
	int ret = check_open(t);
	FILE *text;

	if (ret)
		return ret;
	text = fopencookie(source, "r", functions);
	if (!text)
		return no_memory();
	ret = write_out(t);
	if (!ret && !tape_from_lackey(t->writer, text))
		ret = ferror(text) ? pfm_refuse(-EIO, "descriptor %d cannot be read", source->fd) : no_memory();
	fclose(text);
	if (!ret && !tape_total(t->writer))
		ret = pfm_refuse(-ENODATA, "no instruction was traced");
	return ret;
}

int pfm_sim_trace_lackey(struct pfm_sim_trace *t, int fd, int (*stop)(void))
{
	struct source source = { fd, stop };

	return pfm_result(fcntl(fd, F_GETFD) < 0 ? pfm_refuse(-errno, "descriptor %d: %s", fd, strerror(errno))
						 : from_lackey(t, &source));
}

static int end(struct pfm_sim_trace *t, const void **bytes, size_t *size)
{
	if (t->writer) {
		int ret = write_out(t);
		bool written = tape_end(t->writer);

		t->writer = NULL;
		if (ret || !written)
			return ret ? ret : no_memory();
	}
	*bytes = t->bytes;
	*size = t->size;
	return 0;
}

int pfm_sim_trace_end(struct pfm_sim_trace *t, const void **bytes, size_t *size)
{
	return pfm_result(end(t, bytes, size));
}
