/* SPDX-License-Identifier: MIT */
/*
 * program.c - programs of the simulated computer: from nested tables to the steps of perfmon/sim.h.
 *
 * One pass over the tables measures them, and a second one fills a single userdata. Between the
 * two, a function that yields operations, or a finalizer, may change the tables: expect() finds
 * that out. Errors name the place: "spawn: program[2][1]: ...".
 */
#include <stdio.h>
#include <string.h>

#include "base/args.h"
#include "base/perfmon.h"
#include "sim/access.h"
#include "sim/sim.h"

#define MAX_NESTING 32

struct builder {
	lua_State			*L;
	char				path[200];
	int				nesting;
	/* stack index of a table that keeps alive what the program refers to */
	int				anchors;
	struct pfm_sim_step		*steps, *steps_end, *program_end;
	struct pfm_sim_event		*events, *events_end;
	struct pfm_sim_program		*programs, *programs_end;
};

struct size {
	size_t	steps, events, programs;
};

static const char *const sub_programs[] = { "fork", "thread", "exec", NULL };
static const uint32_t sub_ops[] = { PFM_SIM_FORK, PFM_SIM_THREAD, PFM_SIM_EXEC };
static const char *const plain[] = { "yield", "exit", "exit_group", "sum", "rum", NULL };
static const uint32_t plain_ops[] = { PFM_SIM_YIELD, PFM_SIM_EXIT, PFM_SIM_EXIT_GROUP, PFM_SIM_SUM,
				      PFM_SIM_RUM };
static const char *const levels[] = { "user", "kernel", "interrupt" };

static int bad(struct builder *b, const char *text)
{
	struct lpfm_site site = { .call = b->path };

	return lpfm_bad(b->L, &site, "%s", text);
}

/* Raises an error if the tables have changed since they were measured. */
static void expect(struct builder *b, bool as_measured)
{
	if (!as_measured)
		bad(b, "the program changed while it was read");
}

static uint64_t number(struct builder *b, const char *name)
{
	struct lpfm_site site = { .call = b->path, .field = name };

	return lpfm_to_u64(b->L, -1, &site);
}

static uint32_t small(struct builder *b, const char *name)
{
	struct lpfm_site site = { .call = b->path, .field = name };

	return (uint32_t)lpfm_to_int(b->L, -1, &site, 0, UINT32_MAX);
}

/* --- walking over the tables ---------------------------------------------------------------- */

typedef void (*visit_fn)(struct builder *b, void *arg);

/*
 * Calls visit for each element of the list on top of the stack. During the call the element is on
 * top, and b->path names it.
 */
static void each(struct builder *b, visit_fn visit, void *arg)
{
	lua_State *L = b->L;
	size_t len = strlen(b->path);

	if (!lua_istable(L, -1))
		bad(b, "a list of steps expected");
	if (++b->nesting > MAX_NESTING)
		bad(b, "nested too deeply");
	luaL_checkstack(L, 8, "program");
	for (int i = 1, n = (int)lua_objlen(L, -1); i <= n; i++) {
		snprintf(b->path + len, sizeof(b->path) - len, "[%d]", i);
		lua_rawgeti(L, -1, i);
		if (!lua_istable(L, -1))
			bad(b, "a table expected");
		visit(b, arg);
		lua_pop(L, 1);
	}
	b->path[len] = 0;
	b->nesting--;
}

/* Returns true if the step on top of the stack contains others. */
static bool is_nest(lua_State *L)
{
	if (!lpfm_raw_field(L, -1, "loop") && !lpfm_raw_field(L, -1, "call"))
		return false;
	lua_pop(L, 1);
	return true;
}

static void measure_step(struct builder *b, void *arg)
{
	lua_State *L = b->L;
	struct size *size = arg;

	size->steps++;
	if (is_nest(L)) {
		size->steps++;
		each(b, measure_step, arg);
	}
	if (lpfm_raw_field(L, -1, "events")) {
		if (!lua_istable(L, -1))
			bad(b, "field 'events': a table of counts by name expected");
		for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1))
			size->events++;
		lua_pop(L, 1);
	}
	for (int i = 0; sub_programs[i]; i++) {
		if (!lpfm_raw_field(L, -1, sub_programs[i]))
			continue;
		size->programs++;
		each(b, measure_step, arg);
		lua_pop(L, 1);
	}
}

/* --- filling in the program ----------------------------------------------------------------- */

static void fill_program(struct builder *b, struct pfm_sim_program *prog);

/* Pops the value on top of the stack, and keeps it alive as long as the program. */
static void keep(struct builder *b)
{
	lua_rawseti(b->L, b->anchors, (int)lua_objlen(b->L, b->anchors) + 1);
}

/* Returns the string at idx, which the program keeps alive. */
static const char *kept(struct builder *b, int idx)
{
	const char *string = lua_tostring(b->L, idx);

	lua_pushvalue(b->L, idx);
	keep(b);
	return string;
}

static void fill_events(struct builder *b, struct pfm_sim_step *step)
{
	lua_State *L = b->L;
	struct lpfm_site site = { .call = b->path };

	step->events = b->events;
	for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
		if (lua_type(L, -2) != LUA_TSTRING)
			bad(b, "field 'events': names expected, got a list");
		expect(b, b->events < b->events_end);
		site.field = b->events->name = kept(b, -2);
		b->events->count = lpfm_to_u64(L, -1, &site);
		b->events++;
	}
	step->num_events = b->events - step->events;
}

static void fill_level(struct builder *b, struct pfm_sim_step *step)
{
	const char *name = lua_tostring(b->L, -1);

	for (uint32_t i = 0; i < LPFM_COUNT(levels); i++) {
		if (name && !strcmp(name, levels[i])) {
			step->level = i;
			return;
		}
	}
	bad(b, "field 'level': \"user\", \"kernel\" or \"interrupt\" expected");
}

static const char *const units[] = { "m", "i", "f", "b" };

static void fill_unit(struct builder *b, struct pfm_sim_step *step)
{
	const char *name = lua_tostring(b->L, -1);

	for (uint32_t i = 0; i < LPFM_COUNT(units); i++) {
		if (name && !strcmp(name, units[i])) {
			step->unit = PFM_SIM_UNIT_M + i;
			return;
		}
	}
	bad(b, "field 'unit': \"m\", \"i\", \"f\" or \"b\" expected");
}

static void fill_flag(struct pfm_sim_step *step, const char *name)
{
	if (!strcmp(name, "irqs_off"))
		step->flags |= PFM_SIM_IRQS_OFF;
	if (!strcmp(name, "fetch"))
		step->flags |= PFM_SIM_FETCH;
}

static void fill_access(struct builder *b, struct pfm_sim_step *step, const char *name)
{
	if (!(step->flags & PFM_SIM_ACCESS)) {
		step->access = memset(lua_newuserdata(b->L, sizeof(*step->access)), 0, sizeof(*step->access));
		step->flags |= PFM_SIM_ACCESS;
		keep(b);
	}
	lpfm_sim_access(b->L, b->path, name, (struct pfm_sim_access *)step->access);
}

static void fill_field(struct builder *b, struct pfm_sim_step *step, const char *name)
{
	if (!strcmp(name, "ip"))
		step->ip = number(b, name);
	else if (!strcmp(name, "ns"))
		step->ns = number(b, name);
	else if (!strcmp(name, "level"))
		fill_level(b, step);
	else if (!strcmp(name, "events"))
		fill_events(b, step);
	else if (!strcmp(name, "latency"))
		step->latency = small(b, name);
	else if (!strcmp(name, "opcode"))
		step->opcode = number(b, name);
	else if (!strcmp(name, "unit"))
		fill_unit(b, step);
	else if (!strcmp(name, "spread"))
		step->spread = small(b, name);
	else if (!strcmp(name, "data"))
		step->data_addr = number(b, name), step->flags |= PFM_SIM_DATA;
	else if (!strcmp(name, "branch"))
		step->target = number(b, name), step->flags |= PFM_SIM_BRANCH;
	else if (lpfm_sim_is_access(name))
		fill_access(b, step, name);
	else if (!strcmp(name, "irqs_off") || !strcmp(name, "fetch"))
		lua_toboolean(b->L, -1) ? fill_flag(step, name) : (void)0;
	else
		bad(b, lua_pushfstring(b->L, "unknown field '%s'", name));
}

static void fill_site(struct builder *b, struct pfm_sim_step *step)
{
	lua_State *L = b->L;

	step->op = PFM_SIM_SITE;
	for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
		if (lua_type(L, -2) != LUA_TSTRING)
			bad(b, "a list within a step needs loop=count or call=address");
		fill_field(b, step, lua_tostring(L, -2));
	}
	if (step->ns >> 63)
		bad(b, "field 'ns': a time is not negative");
}

/* Raises an error if the operation on top has more than one field. */
static void only_field(struct builder *b)
{
	lua_State *L = b->L;
	int fields = 0;

	for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1))
		fields++;
	if (fields != 1)
		bad(b, "this operation takes no other fields");
}

/* Raises an error if the step on top has named fields other than "nest" and "also". */
static void only_beside(struct builder *b, const char *nest, const char *also)
{
	lua_State *L = b->L;

	for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
		const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : NULL;

		if (name && strcmp(name, nest) && strcmp(name, also))
			bad(b, lua_pushfstring(L, "unknown field '%s' beside %s", name, nest));
	}
}

static const char *text(struct builder *b, const char *name)
{
	if (lua_type(b->L, -1) != LUA_TSTRING)
		bad(b, lua_pushfstring(b->L, "field '%s': a string expected", name));
	return kept(b, -1);
}

static void fill_exec_name(struct builder *b, struct pfm_sim_step *step)
{
	if (step->op == PFM_SIM_EXEC && lpfm_raw_field(b->L, -1, "name")) {
		step->name = text(b, "name");
		lua_pop(b->L, 1);
		only_beside(b, "exec", "name");
	} else {
		only_field(b);
	}
}

static bool fill_sub(struct builder *b, struct pfm_sim_step *step)
{
	for (int i = 0; sub_programs[i]; i++) {
		struct pfm_sim_program *prog = b->programs;

		if (!lpfm_raw_field(b->L, -1, sub_programs[i]))
			continue;
		expect(b, b->programs++ < b->programs_end);
		step->op = sub_ops[i];
		step->program = prog;
		fill_program(b, prog);
		lua_pop(b->L, 1);
		fill_exec_name(b, step);
		return true;
	}
	return false;
}

static void fill_map_field(struct builder *b, struct pfm_sim_step *step, const char *name)
{
	if (!strcmp(name, "map"))
		step->name = text(b, name);
	else if (!strcmp(name, "ip"))
		step->ip = number(b, name);
	else if (!strcmp(name, "size"))
		step->count = number(b, name);
	else if (!strcmp(name, "offset"))
		step->data_addr = number(b, name);
	else
		bad(b, lua_pushfstring(b->L, "unknown field '%s' beside map", name));
}

/* Reads map = a path, ip =, size =, offset =. */
static bool fill_map(struct builder *b, struct pfm_sim_step *step)
{
	lua_State *L = b->L;

	if (!lpfm_raw_field(L, -1, "map"))
		return false;
	lua_pop(L, 1);
	step->op = PFM_SIM_MAP;
	for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
		if (lua_type(L, -2) != LUA_TSTRING)
			bad(b, "unexpected list beside map");
		fill_map_field(b, step, lua_tostring(L, -2));
	}
	return true;
}

/* Reads trace = a file, or ops = a function. */
static bool fill_replay(struct builder *b, struct pfm_sim_step *step)
{
	bool file = lpfm_raw_field(b->L, -1, "trace");

	if (!file && !lpfm_raw_field(b->L, -1, "ops"))
		return false;
	step->op = PFM_SIM_REPLAY;
	step->trace = file ? lpfm_sim_read_trace(b->L, b->path, &step->count)
			   : lpfm_sim_call_trace(b->L, b->path, &step->count);
	step->name = file ? kept(b, -2) : NULL;
	keep(b);
	lua_pop(b->L, 1);
	only_field(b);
	return true;
}

static bool fill_plain(struct builder *b, struct pfm_sim_step *step)
{
	for (int i = 0; plain[i]; i++) {
		if (!lpfm_raw_field(b->L, -1, plain[i]))
			continue;
		lua_pop(b->L, 1);
		only_field(b);
		step->op = plain_ops[i];
		return true;
	}
	if (!lpfm_raw_field(b->L, -1, "sleep"))
		return false;
	step->op = PFM_SIM_SLEEP;
	step->ns = number(b, "sleep");
	lua_pop(b->L, 1);
	if (step->ns >> 63)
		bad(b, "field 'sleep': a time is not negative");
	only_field(b);
	return true;
}

/* Fills in the next step at *arg, and moves *arg on: the steps of one program are contiguous. */
static void fill_step(struct builder *b, void *arg);

static struct pfm_sim_step *take(struct builder *b, struct pfm_sim_step **at)
{
	expect(b, *at < b->program_end);
	return (*at)++;
}

static void fill_loop(struct builder *b, struct pfm_sim_step **at)
{
	lua_State *L = b->L;
	struct pfm_sim_step *step = take(b, at);

	step->op = PFM_SIM_LOOP;
	step->count = PFM_SIM_FOREVER;
	if (lua_type(L, -1) != LUA_TSTRING || strcmp(lua_tostring(L, -1), "forever")) {
		step->count = number(b, "loop");
		if (step->count >> 63)
			bad(b, "field 'loop': a count or \"forever\" expected");
	}
	lua_pop(L, 1);
	only_beside(b, "loop", "loop");
	each(b, fill_step, at);
	take(b, at)->op = PFM_SIM_END;
}

/* Reads a step with call = the address that is in the frames of samples. */
static void fill_call(struct builder *b, struct pfm_sim_step **at)
{
	lua_State *L = b->L;
	struct pfm_sim_step *step = take(b, at);

	step->op = PFM_SIM_CALL;
	step->ip = number(b, "call");
	lua_pop(L, 1);
	if (lpfm_raw_field(L, -1, "level")) {
		fill_level(b, step);
		lua_pop(L, 1);
	}
	only_beside(b, "call", "level");
	each(b, fill_step, at);
	take(b, at)->op = PFM_SIM_END;
}

static void fill_step(struct builder *b, void *arg)
{
	struct pfm_sim_step **at = arg, *step;

	if (lpfm_raw_field(b->L, -1, "loop")) {
		fill_loop(b, at);
		return;
	}
	if (lpfm_raw_field(b->L, -1, "call")) {
		fill_call(b, at);
		return;
	}
	step = take(b, at);
	if (!fill_sub(b, step) && !fill_map(b, step) && !fill_replay(b, step) && !fill_plain(b, step))
		fill_site(b, step);
}

static void count_step(struct builder *b, void *arg)
{
	uint32_t *n = arg;

	++*n;
	if (!is_nest(b->L))
		return;
	++*n;
	each(b, count_step, arg);
}

static void fill_program(struct builder *b, struct pfm_sim_program *prog)
{
	struct pfm_sim_step *at = b->steps, *outer = b->program_end;

	prog->steps = b->steps;
	each(b, count_step, &prog->num_steps);
	expect(b, prog->num_steps <= (size_t)(b->steps_end - b->steps));
	b->steps += prog->num_steps;
	b->program_end = b->steps;
	each(b, fill_step, &at);
	expect(b, at == b->program_end);
	b->program_end = outer;
}

const struct pfm_sim_program *lpfm_sim_program(lua_State *L, int idx, const char *call)
{
	struct builder b = { .L = L };
	struct size size = { 0 };
	struct pfm_sim_program *prog;
	size_t bytes;

	snprintf(b.path, sizeof(b.path), "%s: program", call);
	lua_newtable(L);
	b.anchors = lua_gettop(L);
	lua_pushvalue(L, idx);
	each(&b, measure_step, &size);
	bytes = (size.programs + 1) * sizeof(*b.programs) + size.steps * sizeof(*b.steps) +
		size.events * sizeof(*b.events);
	prog = lua_newuserdata(L, bytes);
	memset(prog, 0, bytes);
	b.programs = prog + 1;
	b.programs_end = b.programs + size.programs;
	b.steps = (struct pfm_sim_step *)b.programs_end;
	b.steps_end = b.steps + size.steps;
	b.events = (struct pfm_sim_event *)b.steps_end;
	b.events_end = b.events + size.events;
	lua_pushvalue(L, b.anchors);
	lua_setfenv(L, -2);
	lua_insert(L, -2);
	fill_program(&b, prog);
	lua_pop(L, 1);
	return prog;
}
