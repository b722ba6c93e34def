/* SPDX-License-Identifier: MIT */
/***
Samples of the default format (layout of 2.x) outside of their buffer: what a recording holds.
A block is a copy of a sampling buffer up to its `cur_offs`. `sizes` is a table that says which
values follow a sample's header. A key is the number of the PMD that overflowed (or set * 65536 +
number); its value is how many values follow, or the list of the PMDs that they are read from. None
follow if the PMD is not a key. `head_size` is the size of a block's header, `entry_size` that of a
sample without values, in bytes.
@module lpfm.samples
*/
#include "base/field.h"
#include "base/object.h"
#include "base/u64.h"
#include "samples/pid_reuse.h"
#include "samples/buffer.h"
#include "samples/header.h"
#include "samples/stored_walk.h"

static const struct lpfm_class each_class = { "lpfm.each", NULL };

/* What each() iterates over. */
struct each {
	struct lpfm_head	head;
	const char		*block;
	struct stored_layouts	layouts;
	struct stored_walk	stored;
};

static void push_values(lua_State *L, const struct lpfm_walk *w)
{
	lua_createtable(L, (int)w->body.n, 0);
	for (unsigned int i = 0; i < w->body.n; i++) {
		lpfm_push_u64(L, lpfm_walk_value(w, i));
		lua_rawseti(L, -2, (int)i + 1);
	}
}

/* Addresses are read as two's complement, so that those of the kernel stay exact. */
static void push_sample(lua_State *L, const struct lpfm_walk *w)
{
	lua_createtable(L, 0, LPFM_SMPL_FIELDS + 1);
	for (int f = 0; f < LPFM_SMPL_FIELDS; f++) {
		lua_pushnumber(L, (lua_Number)(int64_t)lpfm_walk_field(w, (enum lpfm_smpl_field)f));
		lua_setfield(L, -2, lpfm_smpl_names[f].name);
	}
	push_values(L, w);
	lua_setfield(L, -2, "values");
}

static int next_sample(lua_State *L)
{
	struct each *e = lpfm_object_check(L, lua_upvalueindex(1), &each_class);

	/* the second upvalue keeps the block alive, unless debug.setupvalue() has replaced it */
	if (lua_type(L, lua_upvalueindex(2)) != LUA_TSTRING || lua_tostring(L, lua_upvalueindex(2)) != e->block)
		return luaL_error(L, "each: the iterator has lost its block");
	if (!stored_walk_next(&e->stored))
		return 0;
	push_sample(L, &e->stored.walk);
	return 1;
}

/***
Iterates over the samples of a block.
@function each
@string block
@tparam table sizes as for `counter:add`
@return an iterator of tables: ip, tid, pid, cpu, tstamp (ns), set, ovfl_pmd, last_reset, and
values, a list
@usage
local block = assert(recording.open "lpfm.data"):each_block()()
for s in samples.each(block, { [65] = {} }) do print(s.tid, ("%#x"):format(s.ip)) end
*/
static int samples_each(lua_State *L)
{
	struct each *e = lpfm_object_new(L, sizeof(*e));

	e->block = luaL_checkstring(L, 1);
	stored_layouts_read(L, 2, &e->layouts);
	stored_walk_string(L, 1, &e->stored, &e->layouts);
	lpfm_object_arm(L, e, &each_class);
	lua_pushvalue(L, 1);		/* the block must live as long as the iterator */
	lua_pushcclosure(L, next_sample, 2);
	return 1;
}

LPFM_EXPORT int luaopen_lpfm_samples(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "counter", lpfm_counter_new },
		{ "each", samples_each },
		{ "head", lpfm_encode_head },
		{ "lives", lpfm_lives_new },
		{ "sample", lpfm_encode_sample },
		{ "samples", lpfm_stack_samples },
		{ "stack_table", lpfm_stack_table_new },
		{ "tally", lpfm_counter_new },	/* the former name of counter() */
		{ NULL, NULL }
	};

	lpfm_class_new(L, &each_class, NULL, NULL);
	lpfm_open_counter(L);
	lpfm_open_stack_table(L);
	lpfm_open_lives(L);
	lua_newtable(L);
	luaL_register(L, NULL, functions);
	lpfm_set_number(L, "head_size", (lua_Integer)lpfm_smpl_hdr_size(LPFM_DFL_2X));
	lpfm_set_number(L, "entry_size", lpfm_entry_size(LPFM_ENTRY_2X));
	return 1;
}
