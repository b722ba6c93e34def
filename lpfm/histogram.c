/* SPDX-License-Identifier: MIT */
/*
 * histogram.c - counting samples by one or several fields, in C.
 *
 * An open-addressed hash table in a userdata, so that a raise leaves nothing behind. A slot is a
 * count, 0 where it is free, and the keys.
 */
/***
@submodule buffer
*/
#include <inttypes.h>
#include <stdio.h>

#include "sample.h"

enum { KEYS_MAX = 4, FIRST_SLOTS = 1024 };

struct slot {
	uint64_t	count;
	uint64_t	keys[];
};

struct table {
	size_t		slots;		/* a power of two */
	size_t		used;
	unsigned int	keys;
	unsigned char	*data;
};

static size_t slot_size(const struct table *t)
{
	return sizeof(struct slot) + t->keys * sizeof(uint64_t);
}

static struct slot *slot_at(const struct table *t, size_t i)
{
	return (struct slot *)(void *)(t->data + i * slot_size(t));
}

static size_t hash(const struct table *t, const uint64_t *keys)
{
	uint64_t h = 0;

	for (unsigned int i = 0; i < t->keys; i++)
		h = (h ^ keys[i]) * 0x9e3779b97f4a7c15ULL;
	return (size_t)(h ^ h >> 32) & (t->slots - 1);
}

/* The keys' slot, or the free one they go to. */
static struct slot *find(const struct table *t, const uint64_t *keys)
{
	for (size_t i = hash(t, keys);; i = (i + 1) & (t->slots - 1)) {
		struct slot *s = slot_at(t, i);

		if (!s->count || !memcmp(s->keys, keys, t->keys * sizeof(*keys)))
			return s;
	}
}

/* Pushes the memory of slots free slots. */
static void table_alloc(lua_State *L, struct table *t, size_t slots)
{
	size_t size;

	t->slots = slots;
	size = slots * slot_size(t);
	t->data = lua_newuserdata(L, size);
	memset(t->data, 0, size);
}

/* The new memory takes the old one's place on the stack. */
static void grow(lua_State *L, struct table *t)
{
	struct table old = *t;

	table_alloc(L, t, old.slots * 2);
	for (size_t i = 0; i < old.slots; i++) {
		const struct slot *s = slot_at(&old, i);

		if (s->count)
			memcpy(find(t, s->keys), s, slot_size(t));
	}
	lua_replace(L, -2);
}

static void count(lua_State *L, struct table *t, const uint64_t *keys)
{
	struct slot *s = find(t, keys);

	if (s->count++)
		return;
	memcpy(s->keys, keys, t->keys * sizeof(*keys));
	if (++t->used > t->slots / 2)
		grow(L, t);
}

/* Samples without one of the fields (a PMD they do not hold) are left out. */
static bool read_keys(const struct lpfm_walk *w, const struct lpfm_ref *refs, unsigned int n,
		      uint64_t *keys)
{
	for (unsigned int i = 0; i < n; i++)
		if (!lpfm_ref_get(w, &refs[i], &keys[i]))
			return false;
	return true;
}

static void count_all(lua_State *L, struct lpfm_walk *w, const struct lpfm_filter *filter,
		      const struct lpfm_ref *refs, struct table *t)
{
	uint64_t keys[KEYS_MAX];
	int got;

	while ((got = lpfm_walk_filtered(w, filter)) > 0)
		if (read_keys(w, refs, t->keys, keys))
			count(L, t, keys);
	if (got < 0)
		lpfm_walk_broken(L, w);
}

/* u64 objects are no good as keys: each is another. Those values come as their hexadecimal digits. */
static void push_key(lua_State *L, uint64_t key)
{
	char text[32];
	int64_t v = (int64_t)key;

	if (v >= -(1LL << 53) && v <= 1LL << 53) {
		lua_pushnumber(L, (lua_Number)v);
		return;
	}
	snprintf(text, sizeof(text), "0x%" PRIx64, key);
	lua_pushstring(L, text);
}

/* The table under that key of the table on top takes its place. */
static void descend(lua_State *L, uint64_t key)
{
	push_key(L, key);
	lua_pushvalue(L, -1);
	lua_rawget(L, -3);
	if (lua_isnil(L, -1)) {
		lua_pop(L, 1);
		lua_newtable(L);
		lua_pushvalue(L, -2);
		lua_pushvalue(L, -2);
		lua_rawset(L, -5);
	}
	lua_replace(L, -3);
	lua_pop(L, 1);
}

static void push_result(lua_State *L, const struct table *t)
{
	lua_createtable(L, 0, t->keys == 1 ? (int)t->used : 0);
	for (size_t i = 0; i < t->slots; i++) {
		const struct slot *s = slot_at(t, i);

		if (!s->count)
			continue;
		lua_pushvalue(L, -1);
		for (unsigned int k = 0; k + 1 < t->keys; k++)
			descend(L, s->keys[k]);
		push_key(L, s->keys[t->keys - 1]);
		lua_pushnumber(L, (lua_Number)s->count);
		lua_rawset(L, -3);
		lua_pop(L, 1);
	}
}

/***
Counts the samples by the values of fields.
@function buffer:count_by
@param ... one to four names of fields or numbers of PMDs
@tparam[opt] table filter, at the end: values that fields must have
@treturn table count by value; with several fields tables in tables, in their order. A value that a
number does not hold exactly is a string of hexadecimal digits ("0x..."). Samples that do not hold
one of the PMDs are left out
@raise on wrong types, and if the buffer is corrupt
@usage
local ctx = assert(require("lpfm").create { format = "default" })
local by_ip = ctx:buffer():count_by("ip")
assert(next(by_ip) == nil)
ctx:close()
*/
int lpfm_buffer_count_by(lua_State *L)
{
	struct lpfm_context *ctx = lpfm_buffer_samples(L, 1);
	struct lpfm_site site = { .call = "count_by" };
	int n = lua_gettop(L) - 1, filter_idx = lua_istable(L, n + 1) ? n + 1 : 0;
	struct lpfm_ref refs[KEYS_MAX];
	struct lpfm_filter filter = { 0 };
	struct lpfm_walk walk;
	struct table t = { 0 };

	n -= filter_idx ? 1 : 0;
	if (n < 1 || n > KEYS_MAX)
		lpfm_bad(L, &site, "1 to %d names of fields expected", KEYS_MAX);
	lpfm_walk_start(L, &walk, ctx);
	for (int i = 0; i < n; i++)
		lpfm_ref_read(L, i + 2, &walk, &site, &refs[i]);
	if (filter_idx)
		lpfm_filter_read(L, filter_idx, &walk, "count_by", &filter);
	t.keys = (unsigned int)n;
	table_alloc(L, &t, FIRST_SLOTS);
	count_all(L, &walk, &filter, refs, &t);
	push_result(L, &t);
	return 1;
}
