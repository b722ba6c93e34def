/* SPDX-License-Identifier: MIT */
/* fields.c - iterates over fields of samples, the fast way through a buffer. */
/***
@submodule buffer
*/
#include <stddef.h>

#include "base/object.h"
#include "base/u64.h"
#include "context/context.h"
#include "samples/buffer.h"
#include "samples/refs.h"

enum { FIELDS_MAX = 16 };

/* The part of the state that a compiled loop (ffi/step.lua) uses, before LPFM_STEP. */
#define LOOP \
	const char *kind;		/* kind of the compiled loop; NULL: it is not compiled */ \
	void (*turn)(void *); \
	const void *refs, *tests;	/* arrays of struct lpfm_ref */ \
	const uint64_t *values;		/* the values that the tests require */ \
	uint32_t num_refs, num_tests;

/*
 * The state of a loop. It is not an upvalue of the iterator: LuaJIT would compile a loop anew for
 * each new closure that is its iterator, and would give up after some. So all loops of a kind have
 * the same function as iterator.
 */
struct fields {
	struct lpfm_head	head;
	LOOP
	struct lpfm_walk	walk;
	struct lpfm_filter	filter;
	bool			words;		/* next_words() can be used */
	struct lpfm_ref		list[];
};

static void release(void *fields)
{
	lpfm_context_put(((struct fields *)fields)->walk.ctx);
}

static const struct lpfm_class fields_class = { "lpfm.fields", release };

static inline struct fields *self(lua_State *L)
{
	struct fields *f = lpfm_object_test(L, 1, &fields_class);

	if (!f)
		lpfm_object_refuse(L, 1, &fields_class);
	lpfm_walk_check(L, &f->walk);
	return f;
}

static int next_fields(lua_State *L)
{
	struct fields *f = self(L);
	const unsigned char *at;
	int got, n = (int)f->num_refs;

	got = lpfm_walk_filtered(&f->walk, &f->filter, f->list, f->num_refs);
	if (got <= 0)
		return got ? lpfm_walk_broken(L, &f->walk) : 0;
	if (n > LUA_MINSTACK / 2)
		luaL_checkstack(L, n + 4, "fields");
	at = lpfm_walk_at(&f->walk);
	for (const struct lpfm_ref *ref = f->list; ref < f->list + n; ref++) {
		uint64_t value;

		if (lpfm_ref_get(at, *ref, &value))
			lpfm_push_u64(L, value);
		else
			lua_pushboolean(L, 0);
	}
	return n;
}

/* Iterates in the common case: no filter, and 64-bit fields that all samples have. */
static int next_words(lua_State *L)
{
	struct fields *f = self(L);
	const unsigned char *at = f->walk.next;
	int got, n = (int)f->num_refs;

	if (!f->words || f->walk.varies)	/* the state belongs to another loop */
		return next_fields(L);
	got = lpfm_walk_next(&f->walk);
	if (got <= 0)
		return got ? lpfm_walk_broken(L, &f->walk) : 0;
	for (int i = 0; i < n; i++)
		lpfm_push_u64(L, lpfm_load(at + f->list[i].offset, sizeof(uint64_t)));
	return n;
}

static bool only_words(const struct fields *f)
{
	for (unsigned int i = 0; i < f->num_refs; i++)
		if (f->list[i].is_pmd || f->list[i].width != sizeof(uint64_t))
			return false;
	return !f->filter.n && f->num_refs <= LUA_MINSTACK / 2;
}

/* --- loops that LuaJIT compiles ------------------------------------------------------------- */

/*
 * Looks up what the next sample holds, for a compiled loop. The loop has checked that the sample's
 * header lies in the buffer.
 */
static void turn(void *state)
{
	struct fields *f = state;

	lpfm_walk_body(&f->walk);
	lpfm_walk_settle(&f->walk, &f->filter, f->list, f->num_refs);
}

/*
 * Pushes the kind for which a loop is compiled: the samples' layout, and the places of its fields.
 */
static void push_kind(lua_State *L, const struct fields *f)
{
	unsigned char kind[4 + 2 * (FIELDS_MAX + LPFM_TESTS_MAX)] = {
		(unsigned char)f->num_refs, (unsigned char)f->filter.n, f->walk.fixed,
		(unsigned char)f->walk.entry
	};
	size_t len = 4;

	for (unsigned int i = 0; i < f->num_refs + f->filter.n; i++) {
		const struct lpfm_ref *ref = i < f->num_refs ? &f->list[i] : &f->filter.refs[i - f->num_refs];

		kind[len++] = ref->is_pmd ? 0 : ref->width;
		kind[len++] = ref->is_pmd ? 0 : (unsigned char)ref->offset;
	}
	lua_pushlstring(L, (const char *)kind, len);
}

/* Pushes the step that is compiled for the state at idx, and keeps it for its kind. */
static void make_step(lua_State *L, int idx, int class, int steps, int kind)
{
	lua_getfield(L, class, "compile");
	lua_pushvalue(L, idx);
	lua_call(L, 1, 1);
	lua_pushvalue(L, kind);
	lua_pushvalue(L, -2);
	lua_rawset(L, steps);
}

/* Returns true if jit.status() says that the compiler is on. */
static bool compiles(lua_State *L, int class)
{
	bool on;

	lua_getfield(L, class, "status");
	lua_call(L, 0, 1);
	on = lua_toboolean(L, -1);
	lua_pop(L, 1);
	return on;
}

/*
 * Pushes the compiled step for the state at idx. Returns false if the loop is to be done in C:
 * there is no compiled step, or the compiler is off. The metatable is at index class. Steps are
 * kept by their kind; the table of steps keeps the kind's string alive, to which f->kind points.
 */
static bool push_step(lua_State *L, struct fields *f, int idx, int class)
{
	int steps = class + 1, kind = class + 2;

	lua_getfield(L, class, "steps");
	/* there is no LuaJIT, or it does not compile this */
	if (!lua_istable(L, steps) || f->walk.varies)
		return false;
	push_kind(L, f);
	f->kind = lua_tostring(L, kind);
	lua_pushvalue(L, kind);
	lua_rawget(L, steps);
	if (lua_isnil(L, -1)) {
		lua_pop(L, 1);
		make_step(L, idx, class, steps, kind);
	}
	return compiles(L, class);
}

static void push_iterator(lua_State *L, struct fields *f, int idx)
{
	int class = lua_gettop(L) + 1;

	luaL_getmetatable(L, fields_class.name);
	if (!push_step(L, f, idx, class))
		lua_getfield(L, class, f->words ? "next_words" : "next_fields");
}

/* --- the method ----------------------------------------------------------------------------- */

/***
Iterates over the samples, giving the named fields of each: the fast form. LuaJIT compiles such
loops to machine code without a call.
@function buffer:fields
@param ... names of fields, or numbers of PMDs, at most 16; a PMD that a sample does not hold is
false
@tparam[opt] table filter at the end: values that fields must have
@treturn function iterator
@return the state that a for loop passes to it: iterator(state) returns the next sample's fields
@raise on wrong types; in the loop if the context was restarted or closed, or the buffer is corrupt
@usage
local ctx = assert(require("lpfm").create { format = "default" })
for ip, tid in ctx:buffer():fields("ip", "tid", { cpu = 0 }) do print(ip, tid) end
ctx:close()
*/
int lpfm_buffer_fields(lua_State *L)
{
	struct lpfm_context *ctx = lpfm_buffer_samples(L, 1);
	struct lpfm_site site = { .call = "fields" };
	int n = lua_gettop(L) - 1, filter = lua_istable(L, n + 1) ? n + 1 : 0;
	struct fields *f;

	n -= filter ? 1 : 0;
	if (n < 1 || n > FIELDS_MAX)
		lpfm_bad(L, &site, "1 to %d names of fields expected", FIELDS_MAX);
	f = lpfm_object_new(L, sizeof(*f) + (size_t)n * sizeof(f->list[0]));
	lpfm_walk_start(L, &f->walk, ctx);
	f->num_refs = (unsigned int)n;
	for (int i = 0; i < n; i++)
		lpfm_ref_read(L, i + 2, &f->walk, &site, &f->list[i]);
	if (filter)
		lpfm_filter_read(L, filter, &f->walk, "fields", &f->filter);
	lpfm_walk_settle(&f->walk, &f->filter, f->list, f->num_refs);
	f->words = only_words(f);
	f->turn = turn;
	f->refs = f->list;
	f->tests = f->filter.refs;
	f->values = f->filter.values;
	f->num_tests = f->filter.n;
	lpfm_object_anchor(L, 1);
	lpfm_object_arm(L, f, &fields_class);
	lpfm_context_get(ctx);
	n = lua_gettop(L);
	push_iterator(L, f, n);
	lua_pushvalue(L, n);
	return 2;
}

/* --- opening -------------------------------------------------------------------------------- */

static const luaL_Reg metas[] = {
	{ "next_fields", next_fields },
	{ "next_words", next_words },
	{ NULL, NULL }
};

static const char step[] =
#include "step.inc"
;

#define TEXT(...) #__VA_ARGS__
#define TEXT_OF(...) TEXT(__VA_ARGS__)

/*
 * Adds compile, status and steps to the metatable on top, if this is LuaJIT. The module's table is
 * at idx.
 */
static void open_steps(lua_State *L, int idx)
{
	static const char state[] = TEXT_OF(struct { const void *class; LOOP LPFM_STEP } *);
	static const char ref[] = TEXT_OF(const struct { LPFM_REF } *);

	_Static_assert(offsetof(struct fields, walk) == offsetof(struct fields, num_tests) + sizeof(uint32_t),
		       "LPFM_STEP follows LOOP at once");
	if (luaL_loadbuffer(L, step, sizeof(step) - 1, "=lpfm.step"))
		lua_error(L);
	lua_pushstring(L, state);
	lua_pushstring(L, ref);
	lua_pushvalue(L, -4);
	lua_pushcfunction(L, next_fields);
	lua_getfield(L, idx, "u64");
	lua_call(L, 5, 2);
	if (lua_isnil(L, -1))
		return;
	lua_setfield(L, -3, "status");
	lua_setfield(L, -2, "compile");
	lua_newtable(L);
	lua_setfield(L, -2, "steps");
}

void lpfm_open_fields(lua_State *L)
{
	int idx = lua_gettop(L);

	lpfm_class_new(L, &fields_class, NULL, metas);
	luaL_getmetatable(L, fields_class.name);
	open_steps(L, idx);
	lua_settop(L, idx);
}
