/* SPDX-License-Identifier: MIT */
/***
Samples of the default format (layout of 2.x) outside of their buffer: what a recording holds.
A block is a copy of a sampling buffer up to its `cur_offs`; `sizes` says how many PMD values follow
each sample's header, by the number of the PMD that overflowed (0 where it says nothing).
@module lpfm.blocks
*/
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>
#include <lua.h>

#include "perfmon/perfmon_dfl_smpl.h"
#include "perfmon/perfmon.h"

#define TALLY_TYPE "lpfm.blocks.tally"
#define KEYS_MAX 6

/* --- walking a block ------------------------------------------------------------------------ */

struct block {
	const char *at, *end;
	uint64_t left;			/* samples, by the header */
	uint8_t extra[PFM_MAX_PMDS];	/* values behind a sample, by its PMD */
};

/* Reads sizes, a table at index arg, into b->extra. */
static void check_sizes(lua_State *L, int arg, struct block *b)
{
	memset(b->extra, 0, sizeof(b->extra));
	luaL_checktype(L, arg, LUA_TTABLE);
	lua_pushnil(L);
	while (lua_next(L, arg)) {
		lua_Integer pmd = luaL_checkinteger(L, -2), n = luaL_checkinteger(L, -1);

		luaL_argcheck(L, pmd >= 0 && pmd < PFM_MAX_PMDS, arg, "no such PMD");
		luaL_argcheck(L, n >= 0 && n <= 255, arg, "not a number of values");
		b->extra[pmd] = (uint8_t)n;
		lua_pop(L, 1);
	}
}

static void check_block(lua_State *L, int arg, struct block *b)
{
	size_t len;
	pfm_dfl_smpl_hdr_t hdr;

	b->at = luaL_checklstring(L, arg, &len);
	luaL_argcheck(L, len >= sizeof(hdr), arg, "too short for a sampling buffer");
	memcpy(&hdr, b->at, sizeof(hdr));
	b->end = b->at + len;
	b->at += sizeof(hdr);
	b->left = hdr.hdr_count;
}

/* The next sample, its values behind it; false at the end, or where the block is cut. */
static bool next_sample(struct block *b, pfm_dfl_smpl_entry_t *e, const char **values, int *n)
{
	if (!b->left || (size_t)(b->end - b->at) < sizeof(*e))
		return false;
	memcpy(e, b->at, sizeof(*e));
	*n = e->ovfl_pmd < PFM_MAX_PMDS ? b->extra[e->ovfl_pmd] : 0;
	*values = b->at + sizeof(*e);
	if ((size_t)(b->end - *values) < (size_t)*n * sizeof(uint64_t))
		return false;
	b->at = *values + (size_t)*n * sizeof(uint64_t);
	b->left--;
	return true;
}

/* --- fields --------------------------------------------------------------------------------- */

enum field { F_PID, F_TID, F_CPU, F_PMD, F_SET, F_IP };
static const char *const field_names[] = { "pid", "tid", "cpu", "pmd", "set", "ip", NULL };

static uint64_t field_of(const pfm_dfl_smpl_entry_t *e, enum field f)
{
	switch (f) {
	case F_PID:
		return e->tgid;
	case F_TID:
		return e->pid;
	case F_CPU:
		return e->cpu;
	case F_PMD:
		return e->ovfl_pmd;
	case F_SET:
		return e->set;
	default:
		return e->ip;
	}
}

/* Addresses are read as two's complement, so that the kernel's stay exact. */
static void push_u64(lua_State *L, uint64_t v)
{
	lua_pushnumber(L, (lua_Number)(int64_t)v);
}

/* --- counting by some fields: an open hash table -------------------------------------------- */

struct slot {
	uint64_t key[KEYS_MAX];
	uint64_t samples;		/* 0: free */
	uint64_t events;		/* the periods, summed */
};

struct tally {
	enum field keys[KEYS_MAX];
	int num_keys;
	struct slot *slots;
	size_t used, room;		/* room is a power of two, or 0 */
};

static struct tally *check_tally(lua_State *L)
{
	return luaL_checkudata(L, 1, TALLY_TYPE);
}

static size_t hash(const struct tally *t, const uint64_t *key)
{
	uint64_t h = 0;

	for (int i = 0; i < t->num_keys; i++) {
		h = (h ^ key[i]) * 0x9e3779b97f4a7c15ULL;
		h ^= h >> 29;
	}
	return (size_t)h;
}

static struct slot *find_slot(const struct tally *t, const uint64_t *key)
{
	size_t i = hash(t, key) & (t->room - 1);
	size_t bytes = (size_t)t->num_keys * sizeof(*key);

	while (t->slots[i].samples && memcmp(t->slots[i].key, key, bytes) != 0)
		i = (i + 1) & (t->room - 1);
	return &t->slots[i];
}

static int grow(struct tally *t)
{
	struct tally bigger = *t;

	bigger.room = t->room ? t->room * 2 : 1024;
	bigger.slots = calloc(bigger.room, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -1;
	for (size_t i = 0; i < t->room; i++)
		if (t->slots[i].samples)
			*find_slot(&bigger, t->slots[i].key) = t->slots[i];
	free(t->slots);
	*t = bigger;
	return 0;
}

static int count_sample(struct tally *t, const pfm_dfl_smpl_entry_t *e)
{
	uint64_t key[KEYS_MAX] = { 0 };
	struct slot *s;

	if (t->used * 4 >= t->room * 3 && grow(t))
		return -1;
	for (int i = 0; i < t->num_keys; i++)
		key[i] = field_of(e, t->keys[i]);
	s = find_slot(t, key);
	if (!s->samples) {
		memcpy(s->key, key, sizeof(key));
		t->used++;
	}
	s->samples++;
	s->events += -e->last_reset_val;
	return 0;
}

/***
A table that counts samples by some of their fields.
@function tally
@string ... fields: "pid", "tid", "cpu", "pmd", "set", "ip"
@treturn tally
@usage local t = blocks.tally("tid", "ip"); t:add(block, {[65] = 0})
*/
static int blocks_tally(lua_State *L)
{
	int n = lua_gettop(L);

	luaL_argcheck(L, n >= 1 && n <= KEYS_MAX, n, "one to six fields expected");
	struct tally *t = lua_newuserdata(L, sizeof(*t));

	memset(t, 0, sizeof(*t));
	luaL_getmetatable(L, TALLY_TYPE);
	lua_setmetatable(L, -2);
	for (int i = 0; i < n; i++)
		t->keys[t->num_keys++] = (enum field)luaL_checkoption(L, i + 1, NULL, field_names);
	return 1;
}

/***
Counts the samples of a block.
@function tally:add
@string block
@tparam table sizes
@treturn number of samples found
@treturn number of samples that the block's header promises beyond them: it is cut
*/
static int tally_add(lua_State *L)
{
	struct tally *t = check_tally(L);
	pfm_dfl_smpl_entry_t e;
	const char *values;
	struct block b;
	uint64_t found = 0;
	int n;

	check_block(L, 2, &b);
	check_sizes(L, 3, &b);
	for (; next_sample(&b, &e, &values, &n); found++)
		if (count_sample(t, &e))
			return luaL_error(L, "not enough memory");
	lua_pushnumber(L, (lua_Number)found);
	lua_pushnumber(L, (lua_Number)b.left);
	return 2;
}

/* The iterator's state is the position, an upvalue. */
static int next_row(lua_State *L)
{
	struct tally *t = lua_touserdata(L, lua_upvalueindex(1));
	size_t i = (size_t)lua_tonumber(L, lua_upvalueindex(2));

	while (i < t->room && !t->slots[i].samples)
		i++;
	if (i >= t->room)
		return 0;
	lua_pushnumber(L, (lua_Number)(i + 1));
	lua_replace(L, lua_upvalueindex(2));
	for (int k = 0; k < t->num_keys; k++)
		push_u64(L, t->slots[i].key[k]);
	push_u64(L, t->slots[i].samples);
	push_u64(L, t->slots[i].events);
	return t->num_keys + 2;
}

/***
Iterates over what was counted; the table must not grow meanwhile.
@function tally:rows
@return an iterator of the fields asked for, the number of samples, the number of events
*/
static int tally_rows(lua_State *L)
{
	check_tally(L);
	lua_pushvalue(L, 1);
	lua_pushnumber(L, 0);
	lua_pushcclosure(L, next_row, 2);
	return 1;
}

static int tally_gc(lua_State *L)
{
	struct tally *t = check_tally(L);

	free(t->slots);
	t->slots = NULL;
	t->room = t->used = 0;
	return 0;
}

static int tally_len(lua_State *L)
{
	lua_pushnumber(L, (lua_Number)check_tally(L)->used);
	return 1;
}

/* --- one by one ----------------------------------------------------------------------------- */

static void set_number(lua_State *L, const char *name, uint64_t v)
{
	push_u64(L, v);
	lua_setfield(L, -2, name);
}

static void push_sample(lua_State *L, const pfm_dfl_smpl_entry_t *e, const char *values, int n)
{
	lua_createtable(L, 0, 9);
	for (int f = 0; field_names[f]; f++)
		set_number(L, field_names[f], field_of(e, (enum field)f));
	set_number(L, "tstamp", e->tstamp);
	set_number(L, "last_reset", e->last_reset_val);
	lua_createtable(L, n, 0);
	for (int i = 0; i < n; i++) {
		uint64_t v;

		memcpy(&v, values + (size_t)i * sizeof(v), sizeof(v));
		push_u64(L, v);
		lua_rawseti(L, -2, i + 1);
	}
	lua_setfield(L, -2, "values");
}

static int next_entry(lua_State *L)
{
	struct block *b = lua_touserdata(L, lua_upvalueindex(1));
	pfm_dfl_smpl_entry_t e;
	const char *values;
	int n;

	if (!next_sample(b, &e, &values, &n))
		return 0;
	push_sample(L, &e, values, n);
	return 1;
}

/***
Iterates over the samples of a block.
@function each
@string block
@tparam table sizes
@return an iterator of tables: pid, tid, cpu, pmd, set, ip, tstamp (ns), last_reset, values
*/
static int blocks_each(lua_State *L)
{
	struct block *b = lua_newuserdata(L, sizeof(*b));

	check_block(L, 1, b);
	check_sizes(L, 2, b);
	lua_pushvalue(L, 1);		/* the block must live as long as the iterator */
	lua_pushcclosure(L, next_entry, 2);
	return 1;
}

/* --- checksums ------------------------------------------------------------------------------ */

static const uint32_t *crc_table(void)
{
	static uint32_t table[256];

	if (table[1])
		return table;
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;

		for (int k = 0; k < 8; k++)
			c = c & 1 ? 0xedb88320U ^ (c >> 1) : c >> 1;
		table[i] = c;
	}
	return table;
}

/***
CRC-32 (that of zlib and PNG) of some strings in a row.
@function crc32
@string ...
@treturn number
*/
static int blocks_crc32(lua_State *L)
{
	const uint32_t *table = crc_table();
	uint32_t c = ~0U;

	for (int arg = 1; arg <= lua_gettop(L); arg++) {
		size_t len;
		const unsigned char *s = (const unsigned char *)luaL_checklstring(L, arg, &len);

		for (size_t i = 0; i < len; i++)
			c = table[(c ^ s[i]) & 0xff] ^ (c >> 8);
	}
	lua_pushnumber(L, (lua_Number)(~c & 0xffffffffU));
	return 1;
}

/* --- the module ----------------------------------------------------------------------------- */

static void set_functions(lua_State *L, const luaL_Reg *f)
{
	for (; f->name; f++) {
		lua_pushcfunction(L, f->func);
		lua_setfield(L, -2, f->name);
	}
}

__attribute__((visibility("default"))) int luaopen_lpfm_blocks(lua_State *L);

int luaopen_lpfm_blocks(lua_State *L)
{
	static const luaL_Reg methods[] = {
		{ "add", tally_add },
		{ "rows", tally_rows },
		{ NULL, NULL },
	};
	static const luaL_Reg functions[] = {
		{ "tally", blocks_tally },
		{ "each", blocks_each },
		{ "crc32", blocks_crc32 },
		{ NULL, NULL },
	};

	luaL_newmetatable(L, TALLY_TYPE);
	lua_newtable(L);
	set_functions(L, methods);
	lua_setfield(L, -2, "__index");
	lua_pushcfunction(L, tally_gc);
	lua_setfield(L, -2, "__gc");
	lua_pushcfunction(L, tally_len);
	lua_setfield(L, -2, "__len");
	lua_newtable(L);
	set_functions(L, functions);
	return 1;
}
