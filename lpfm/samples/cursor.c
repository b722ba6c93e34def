/* SPDX-License-Identifier: MIT */
/* cursor.c - samples as objects: one cursor that a loop moves, or one put on a sample. */
/***
Samples of a sampling buffer.

s.ip, s.tid, s.pid, s.cpu, s.tstamp (ns), s.set, s.ovfl_pmd, s.last_reset: the sample's header.
s.pmds: how many PMD values it holds; s[num]: the value of PMD num, or nil; s.index: its place in
the buffer, from 1; s.stack: of the format stack, its call stack, a @{stack}; else nil; s.kind:
"SAMPLE", as
@{buffer:records} has other kinds. In a loop it is the same object every time: s:copy() makes a
table that stays.

@classmod sample
*/
#include <string.h>

#include "base/args.h"
#include "context/context.h"
#include "base/object.h"
#include "base/u64.h"
#include "samples/buffer.h"
#include "samples/cursor.h"
#include "samples/refs.h"

/* The keys of a sample: the fields of its header, and computed properties. */
enum { KEY_PMDS = LPFM_SMPL_FIELDS, KEY_INDEX, KEY_STACK, KEY_KIND, KEYS };

struct cursor {
	struct lpfm_head	head;
	struct lpfm_walk	walk;
	struct lpfm_filter	filter;
};

static void release(void *cursor)
{
	lpfm_context_put(((struct cursor *)cursor)->walk.ctx);
}

static const struct lpfm_class cursor_class = { "lpfm.sample", release };

/* Pushes a cursor before the first sample of the buffer at 1. */
static struct cursor *cursor_new(lua_State *L)
{
	struct lpfm_context *ctx = lpfm_buffer_samples(L, 1);
	struct cursor *c = lpfm_object_new(L, sizeof(*c));

	lpfm_walk_start(L, &c->walk, ctx);
	lpfm_object_anchor(L, 1);
	lpfm_object_arm(L, c, &cursor_class);
	lpfm_context_get(ctx);
	return c;
}

/* Returns the cursor at idx, which must be on a sample. */
static inline const struct cursor *on_sample(lua_State *L, int idx)
{
	const struct cursor *c = lpfm_object_test(L, idx, &cursor_class);

	if (!c)
		lpfm_object_refuse(L, idx, &cursor_class);
	lpfm_walk_check(L, &c->walk);
	if (!c->walk.index)
		luaL_error(L, "the cursor is not on a sample");
	return c;
}

const struct lpfm_walk *lpfm_cursor_walk(lua_State *L, int idx)
{
	return &on_sample(L, idx)->walk;
}

/* Moves the cursor, which is the upvalue, to the next sample, and returns it to Lua. */
static int next_sample(lua_State *L)
{
	struct cursor *c = lpfm_object_check(L, lua_upvalueindex(1), &cursor_class);
	int got;

	lpfm_walk_check(L, &c->walk);
	got = lpfm_walk_filtered(&c->walk, &c->filter, NULL, 0);
	if (got < 0)
		return lpfm_walk_broken(L, &c->walk);
	if (!got)
		return 0;
	lua_pushvalue(L, lua_upvalueindex(1));
	return 1;
}

/***
Iterates over the samples. There is one cursor, which moves: to keep a sample use its copy().
@function buffer:samples
@tparam[opt] table filter values that fields must have: {ovfl_pmd=4, tid=123}
@return iterator
@raise on wrong types; in the loop if the context was restarted or closed, or the buffer is corrupt
@see sample
@usage
local ctx = assert(require("lpfm").create { format = "default" })
for s in ctx:buffer():samples { cpu = 0 } do print(("%#x"):format(s.ip), s.tid, s.tstamp) end
ctx:close()
*/
int lpfm_buffer_each(lua_State *L)
{
	struct cursor *c;

	lua_settop(L, 2);
	c = cursor_new(L);
	lpfm_filter_read(L, 2, &c->walk, "samples", &c->filter);
	lua_pushcclosure(L, next_sample, 1);
	return 1;
}

/***
Returns the i-th sample, to which it walks from the first one.
@function buffer:sample
@int i from 1 to #buffer
@treturn sample of its own
@raise if there is none
@see sample
@usage
local ctx = assert(require("lpfm").create { format = "default" })
local buffer = ctx:buffer()
if #buffer > 0 then print(("%#x"):format(buffer:sample(#buffer).ip)) end
ctx:close()
*/
int lpfm_buffer_sample(lua_State *L)
{
	struct cursor *c = cursor_new(L);
	uint64_t i = (uint64_t)lpfm_arg_int(L, 2, "sample", "index", 1, 1LL << 53);

	if (i > c->walk.count)
		return luaL_error(L, "sample: there is no sample %f of %f", (lua_Number)i,
				  (lua_Number)c->walk.count);
	while (c->walk.index < i)
		if (lpfm_walk_next(&c->walk) < 0)
			return lpfm_walk_broken(L, &c->walk);
	return 1;
}

/* --- the sample ----------------------------------------------------------------------------- */

/***
Returns the i-th PMD value. The PMDs are in ascending order.
@function sample:pmd
@int i from 1 to s.pmds
@return value
@treturn int number of the PMD
@raise if there is none
@usage
local ctx = assert(require("lpfm").create { format = "default" })
for s in ctx:buffer():samples() do
   for i = 1, s.pmds do print(s:pmd(i)) end
end
ctx:close()
*/
static int sample_pmd(lua_State *L)
{
	const struct lpfm_walk *w = lpfm_cursor_walk(L, 1);
	unsigned int i = (unsigned int)lpfm_arg_int(L, 2, "pmd", "index", 1, w->body.n) - 1;
	unsigned int num = 0;

	while (!lpfm_walk_holds(w, num) || lpfm_walk_rank(w, num) != i)
		num++;
	lpfm_push_u64(L, lpfm_walk_value(w, i));
	lua_pushinteger(L, (lua_Integer)num);
	return 2;
}

static void push_values(lua_State *L, const struct lpfm_walk *w)
{
	unsigned int num, i = 0;

	lua_createtable(L, 0, (int)w->body.n);
	for (num = 0; num < PFM_MAX_PMDS && i < w->body.n; num++) {
		if (!lpfm_walk_holds(w, num))
			continue;
		lpfm_push_u64(L, lpfm_walk_value(w, i++));
		lua_rawseti(L, -2, (int)num);
	}
}

/***
Returns the PMD values by number of the PMD.
@function sample:values
@treturn table
@usage
local ctx = assert(require("lpfm").create { format = "default" })
for s in ctx:buffer():samples() do print(s:values()[5]) end
ctx:close()
*/
static int sample_values(lua_State *L)
{
	push_values(L, lpfm_cursor_walk(L, 1));
	return 1;
}

/* Pushes a field. Returns false, and pushes nothing, if samples of this layout do not have it. */
static bool push_field(lua_State *L, const struct lpfm_walk *w, int i)
{
	struct lpfm_place place = lpfm_smpl_names[i].at[w->entry];

	if (place.width)
		lpfm_push_u64(L, lpfm_load(lpfm_walk_at(w) + place.offset, place.width));
	return place.width;
}

/***
Copies the sample into a table: the fields that it has, `index`, and `pmds`, the values by PMD
number; with the format stack also `stack`, a list of frames.
@function sample:copy
@treturn table
@usage
local ctx = assert(require("lpfm").create { format = "default" })
local all = {}
for s in ctx:buffer():samples() do all[#all + 1] = s:copy() end
ctx:close()
*/
static int sample_copy(lua_State *L)
{
	const struct lpfm_walk *w = lpfm_cursor_walk(L, 1);

	lua_createtable(L, 0, LPFM_SMPL_FIELDS + 2);
	for (int i = 0; i < LPFM_SMPL_FIELDS; i++)
		if (push_field(L, w, i))
			lua_setfield(L, -2, lpfm_smpl_names[i].name);
	lpfm_push_nat(L, w->index);
	lua_setfield(L, -2, "index");
	push_values(L, w);
	lua_setfield(L, -2, "pmds");
	if (w->varies) {
		lpfm_stack_push_frames(L, w);
		lua_setfield(L, -2, "stack");
	}
	return 1;
}

static int push_pmd(lua_State *L, const struct lpfm_walk *w, lua_Number num)
{
	uint64_t value;

	if (num >= 0 && num < PFM_MAX_PMDS && num == (unsigned int)num &&
	    lpfm_walk_pmd(w, (unsigned int)num, &value))
		lpfm_push_u64(L, value);
	else
		lua_pushnil(L);
	return 1;
}

/* Returns the key with that name, or KEYS if there is none. */
static int find_key(const char *name, size_t length)
{
	static const char *const computed[] = { "pmds", "index", "stack", "kind" };

	for (int i = 0; i < KEYS; i++) {
		const char *key = i < LPFM_SMPL_FIELDS ? lpfm_smpl_names[i].name : computed[i - LPFM_SMPL_FIELDS];

		if (*key == *name && !strcmp(key, name))
			return strlen(name) == length ? i : KEYS;
	}
	return KEYS;
}

/*
 * Pushes the value of a key. KEYS means that the name at 2 is not a key: it is looked up among the
 * methods, in the upvalue. A field is nil if samples of this layout do not have it.
 */
static int push_key(lua_State *L, const struct cursor *c, int key)
{
	if (key == KEY_PMDS)
		lua_pushinteger(L, (lua_Integer)c->walk.body.n);
	else if (key == KEY_INDEX)
		lpfm_push_nat(L, c->walk.index);
	else if (key == KEY_STACK)
		lpfm_stack_push(L, 1, &c->walk);
	else if (key == KEY_KIND)
		lua_pushliteral(L, "SAMPLE");
	else if (key == KEYS)
		lpfm_upvalue_get(L);
	else if (!push_field(L, &c->walk, key))
		lua_pushnil(L);
	return 1;
}

static int sample_index(lua_State *L)
{
	const struct cursor *c = on_sample(L, 1);
	int type = lua_type(L, 2);
	const char *name;
	size_t length;

	if (type == LUA_TNUMBER)
		return push_pmd(L, &c->walk, lua_tonumber(L, 2));
	if (type != LUA_TSTRING)
		return 0;
	name = lua_tolstring(L, 2, &length);
	return push_key(L, c, find_key(name, length));
}

static int sample_tostring(lua_State *L)
{
	const struct cursor *c = lpfm_object_check(L, 1, &cursor_class);

	if (c->walk.ctx->fd < 0 || c->walk.epoch != *c->walk.now)
		lua_pushliteral(L, "lpfm.sample (stale)");
	else
		lua_pushfstring(L, "lpfm.sample (%f of %f)", (lua_Number)c->walk.index,
				(lua_Number)c->walk.count);
	return 1;
}

static const luaL_Reg methods[] = {
	{ "copy", sample_copy },
	{ "pmd", sample_pmd },
	{ "values", sample_values },
	{ NULL, NULL }
};

static const luaL_Reg metas[] = {
	{ "__tostring", sample_tostring },
	{ NULL, NULL }
};

void lpfm_open_cursor(lua_State *L)
{
	lpfm_open_stack(L);
	lpfm_class_new(L, &cursor_class, methods, metas);
	lpfm_class_index(L, &cursor_class, sample_index);
}
