/* SPDX-License-Identifier: MIT */
/***
Samples of the default format (layout of 2.x) outside of their buffer: what a recording holds.
A block is a copy of a sampling buffer up to its `cur_offs`; `sizes` says what follows each sample's header: by
number of the PMD that overflowed (or set * 65536 + number), how many values, or the list of the PMDs whose values
they are. PMDs that it does not name have none.
@module lpfm.blocks
*/
#include "samples/stored_walk.h"
#include "base/object.h"
#include "base/u64.h"
#include "samples/column.h"
#include "samples/counter.h"

/* What each() walks over. */
struct walk {
	struct block_layouts layouts;
	struct block block;
};

static void push_values(lua_State *L, const struct sample *s)
{
	lua_createtable(L, (int)s->layout->n, 0);
	for (unsigned int i = 0; i < s->layout->n; i++) {
		lpfm_push_u64(L, sample_value(s, i));
		lua_rawseti(L, -2, (int)i + 1);
	}
}

/* Addresses are read as two's complement, so that the kernel's stay exact. */
static void push_sample(lua_State *L, const struct sample *s)
{
	lua_createtable(L, 0, 9);
	for (int f = 0; f < COLUMN_PERIOD; f++) {
		lua_pushnumber(L, (lua_Number)(int64_t)column_field_of(&s->e, (enum column_field)f));
		lua_setfield(L, -2, column_names[f]);
	}
	lua_pushnumber(L, (lua_Number)(int64_t)s->e.last_reset_val);
	lua_setfield(L, -2, "last_reset");
	push_values(L, s);
	lua_setfield(L, -2, "values");
}

static int next_sample(lua_State *L)
{
	struct walk *w = lua_touserdata(L, lua_upvalueindex(1));
	struct sample s;

	if (!block_next(&w->block, &s))
		return 0;
	push_sample(L, &s);
	return 1;
}

/***
Iterates over the samples of a block.
@function each
@string block
@tparam table sizes
@return an iterator of tables: pid, tid, cpu, pmd, set, ip, tstamp (ns), last_reset, values
@usage
local block = assert(recording.open "lpfm.data"):each_block()()
for s in blocks.each(block, { [65] = {} }) do print(s.tid, s.ip) end
*/
static int blocks_each(lua_State *L)
{
	struct walk *w = lua_newuserdata(L, sizeof(*w));

	block_layouts_read(L, 2, &w->layouts);
	block_from_string(L, 1, &w->block, &w->layouts);
	lua_pushvalue(L, 1);		/* the block must live as long as the iterator */
	lua_pushcclosure(L, next_sample, 2);
	return 1;
}

LPFM_EXPORT int luaopen_lpfm_blocks(lua_State *L);

int luaopen_lpfm_blocks(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "tally", lpfm_tally_new }, { "each", blocks_each }, { NULL, NULL }
	};

	lpfm_open_tally(L);
	lua_newtable(L);
	luaL_register(L, NULL, functions);
	return 1;
}
