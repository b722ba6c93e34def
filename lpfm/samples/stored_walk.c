/* SPDX-License-Identifier: MIT */
/* stored_walk.c - walking over the samples of a block. */
#include "base/args.h"
#include "samples/stored_walk.h"

enum { SET_STEP = 1 << 16 };

/* --- layouts -------------------------------------------------------------------------------- */

static void read_pmds(lua_State *L, int idx, int arg, struct block_layout *l)
{
	int n = (int)lua_objlen(L, idx);

	for (int i = 1; i <= n; i++) {
		lua_rawgeti(L, idx, i);
		lua_Number pmd = lua_tonumber(L, -1);

		luaL_argcheck(L, lua_isnumber(L, -1) && pmd >= 0 && pmd < PFM_MAX_PMDS, arg, "no such PMD");
		l->pmds[(int)pmd / 64] |= 1ULL << (int)pmd % 64;
		lua_pop(L, 1);
	}
	for (int i = 0; i < PFM_PMD_BV; i++)
		l->n += (unsigned int)__builtin_popcountll(l->pmds[i]);
}

static void read_layout(lua_State *L, int arg, struct block_layout *l)
{
	lua_Number key = luaL_checknumber(L, -2);

	luaL_argcheck(L, key >= 0 && key < (lua_Number)SET_STEP * SET_STEP, arg, "no such PMD");
	memset(l, 0, sizeof(*l));
	l->set = key < SET_STEP ? -1 : (int)(key / SET_STEP);
	l->pmd = (int)((uint32_t)key % SET_STEP);
	luaL_argcheck(L, l->pmd < PFM_MAX_PMDS, arg, "no such PMD");
	if (lua_istable(L, -1)) {
		read_pmds(L, lua_gettop(L), arg, l);
		return;
	}
	lua_Number n = luaL_checknumber(L, -1);

	luaL_argcheck(L, n >= 0 && n <= BLOCK_VALUES_MAX, arg, "not a number of values");
	l->n = (unsigned int)n;
}

void block_layouts_read(lua_State *L, int arg, struct block_layouts *layouts)
{
	layouts->n = 0;
	luaL_checktype(L, arg, LUA_TTABLE);
	lua_pushnil(L);
	while (lua_next(L, arg)) {
		luaL_argcheck(L, layouts->n < BLOCK_LAYOUTS_MAX, arg, "too many layouts");
		read_layout(L, arg, &layouts->list[layouts->n++]);
		lua_pop(L, 1);
	}
}

static const struct block_layout *find_layout(const struct block_layouts *ls, const pfm_dfl_smpl_entry_t *e)
{
	static const struct block_layout none;
	const struct block_layout *found = &none;

	for (int i = 0; i < ls->n; i++) {
		const struct block_layout *l = &ls->list[i];

		if (l->pmd != e->ovfl_pmd)
			continue;
		if (l->set == e->set)
			return l;
		if (l->set < 0)
			found = l;
	}
	return found;
}

/* --- blocks --------------------------------------------------------------------------------- */

/* Makes sure that n bytes are at hand, if the block has them. */
static bool at_hand(struct block *b, size_t n)
{
	size_t have = (size_t)(b->end - b->at);

	if (have >= n)
		return true;
	if (!b->rest.left)
		return false;
	memmove(b->window, b->at, have);
	b->at = b->window;
	have += chunk_read(&b->rest, b->window + have, BLOCK_WINDOW - have);
	b->end = b->window + have;
	return have >= n;
}

static void read_header(lua_State *L, int arg, struct block *b)
{
	pfm_dfl_smpl_hdr_t hdr;

	luaL_argcheck(L, at_hand(b, sizeof(hdr)), arg, "too short for a sampling buffer");
	memcpy(&hdr, b->at, sizeof(hdr));
	b->at += sizeof(hdr);
	b->left = hdr.hdr_count;
}

void block_from_string(lua_State *L, int arg, struct block *b, const struct block_layouts *layouts)
{
	size_t len;

	memset(b, 0, sizeof(*b));
	b->layouts = layouts;
	b->at = luaL_checklstring(L, arg, &len);
	b->end = b->at + len;
	read_header(L, arg, b);
}

void block_from_file(lua_State *L, int idx, struct block *b, const struct block_layouts *layouts,
		     char window[BLOCK_WINDOW])
{
	uint64_t at = (uint64_t)lpfm_arg_int(L, idx + 1, "add", "at", 0, 1LL << 53);
	uint64_t length = (uint64_t)lpfm_arg_int(L, idx + 2, "add", "length", 0, 1LL << 53);

	memset(b, 0, sizeof(*b));
	b->layouts = layouts;
	b->rest = lpfm_chunks_part(L, idx, at, length);
	b->window = window;
	b->at = b->end = window;
	read_header(L, idx, b);
}

bool block_next(struct block *b, struct sample *s)
{
	size_t size = sizeof(s->e);

	if (!b->left || !at_hand(b, size))
		return false;
	memcpy(&s->e, b->at, sizeof(s->e));
	s->layout = find_layout(b->layouts, &s->e);
	size += s->layout->n * sizeof(uint64_t);
	if (!at_hand(b, size))
		return false;
	s->values = b->at + sizeof(s->e);
	b->at += size;
	b->left--;
	return true;
}
