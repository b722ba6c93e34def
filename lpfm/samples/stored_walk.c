/* SPDX-License-Identifier: MIT */
/* stored_walk.c - walking over the samples of a block. */
#include "base/args.h"
#include "base/table.h"
#include "context/programming.h"
#include "perfmon/perfmon_dfl_smpl.h"
#include "samples/header.h"
#include "samples/stored_walk.h"

enum { SET_STEP = 1 << 16 };

/* --- layouts -------------------------------------------------------------------------------- */

static void read_pmds(lua_State *L, int idx, int arg, struct lpfm_layout *l)
{
	int n = (int)lua_objlen(L, idx);

	for (int i = 1; i <= n; i++) {
		lua_rawgeti(L, idx, i);
		lua_Number pmd = lua_tonumber(L, -1);

		luaL_argcheck(L, lua_isnumber(L, -1) && pmd >= 0 && pmd < PFM_MAX_PMDS, arg, "no such PMD");
		l->pmds[(int)pmd / 64] |= 1ULL << (int)pmd % 64;
		lua_pop(L, 1);
	}
	lpfm_layout_count(l);
}

static void read_layout(lua_State *L, int arg, struct lpfm_table *layouts)
{
	lua_Number key = lua_type(L, -2) == LUA_TNUMBER ? lua_tonumber(L, -2) : -1, n;
	struct lpfm_layout *l;

	luaL_argcheck(L, key >= 0 && key < (lua_Number)SET_STEP * SET_STEP &&
		      (uint32_t)key % SET_STEP < PFM_MAX_PMDS, arg, "no such PMD");
	l = lpfm_table_at(layouts, (uint32_t)key);
	memset(l->pmds, 0, sizeof(l->pmds));
	if (lua_istable(L, -1)) {
		read_pmds(L, lua_gettop(L), arg, l);
		return;
	}
	n = lua_tonumber(L, -1);
	luaL_argcheck(L, lua_isnumber(L, -1) && n >= 0 && n <= PFM_MAX_PMDS, arg, "not a number of values");
	l->n = (uint32_t)n;
}

void stored_layouts_read(lua_State *L, int arg, struct stored_layouts *layouts)
{
	layouts->all = (struct lpfm_table){
		.list = (char *)layouts->room, .room = STORED_LAYOUTS_MAX, .size = sizeof(layouts->room[0]),
	};
	luaL_checktype(L, arg, LUA_TTABLE);
	lua_pushnil(L);
	while (lua_next(L, arg)) {
		luaL_argcheck(L, layouts->all.n < STORED_LAYOUTS_MAX, arg, "too many layouts");
		read_layout(L, arg, &layouts->all);
		lua_pop(L, 1);
	}
}

/* --- blocks --------------------------------------------------------------------------------- */

bool stored_walk_refill(struct stored_walk *s)
{
	size_t have = (size_t)(s->walk.limit - s->walk.next), got;

	if (!s->rest.left)
		return false;
	memmove(s->window, s->walk.next, have);
	got = chunk_read(&s->rest, s->window + have, STORED_WINDOW - have);
	s->walk.next = s->window;
	s->walk.limit = s->window + have + got;
	return got > 0;
}

static void read_header(lua_State *L, int arg, struct stored_walk *s)
{
	size_t size = lpfm_smpl_hdr_size(LPFM_DFL_2X);
	pfm_dfl_smpl_hdr_t copy;	/* a string may be unaligned */
	struct lpfm_smpl_hdr hdr;

	luaL_argcheck(L, (size_t)(s->walk.limit - s->walk.next) >= size, arg, "too short for a sampling buffer");
	memcpy(&copy, s->walk.next, sizeof(copy));
	lpfm_smpl_hdr_read(&hdr, LPFM_DFL_2X, &copy);
	s->walk.next += hdr.first;
	s->walk.count = hdr.count;
}

void stored_walk_string(lua_State *L, int arg, struct stored_walk *s, const struct stored_layouts *layouts)
{
	size_t len;

	s->rest = (struct chunk_part){ 0 };
	lpfm_walk_begin(&s->walk, LPFM_ENTRY_2X, &layouts->all);
	s->walk.any_set = true;
	s->walk.next = (const unsigned char *)luaL_checklstring(L, arg, &len);
	s->walk.limit = s->walk.next + len;
	read_header(L, arg, s);
}

void stored_walk_file(lua_State *L, int idx, struct stored_walk *s, const struct stored_layouts *layouts,
		      unsigned char window[STORED_WINDOW])
{
	uint64_t at = (uint64_t)lpfm_arg_int(L, idx + 1, "add", "at", 0, 1LL << 53);
	uint64_t length = (uint64_t)lpfm_arg_int(L, idx + 2, "add", "length", 0, 1LL << 53);

	s->rest = lpfm_chunks_part(L, idx, at, length);
	s->window = window;
	lpfm_walk_begin(&s->walk, LPFM_ENTRY_2X, &layouts->all);
	s->walk.any_set = true;
	s->walk.next = s->walk.limit = window;
	stored_walk_refill(s);
	read_header(L, idx, s);
}
