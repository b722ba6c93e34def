/* SPDX-License-Identifier: MIT */
/*
 * histogram.c - counting samples by one or several fields, in C.
 *
 * The counts are in an open-addressed hash table in a userdata, so that an error that is raised
 * leaks no memory. A slot consists of a count, which is 0 if the slot is free, and the keys.
 */
/***
@submodule buffer
*/
#include <inttypes.h>
#include <stdio.h>

#include "samples/buffer.h"
#include "samples/refs.h"

enum { KEYS_MAX = 4, FIRST_SLOTS = 1024 };

struct slot {
	uint64_t	count;
	uint64_t	keys[];
};

struct table {
	size_t		slots;		/* number of slots, a power of two */
	size_t		used;
	unsigned int	keys;
	unsigned char	*data;
};

/*
 * The functions that run for each sample have the number of keys as an argument. When they are
 * inlined with a constant number, the compiler knows the size of a slot, and unrolls the loops over
 * the keys.
 */
#define INLINE	static inline __attribute__((always_inline))

INLINE size_t slot_size(unsigned int n)
{
	return sizeof(struct slot) + n * sizeof(uint64_t);
}

INLINE struct slot *slot_at(const struct table *t, size_t i, unsigned int n)
{
	return (struct slot *)(void *)(t->data + i * slot_size(n));
}

INLINE size_t hash(const uint64_t *keys, unsigned int n)
{
	uint64_t h = 0;

	for (unsigned int i = 0; i < n; i++)
		h = (h ^ keys[i]) * 0x9e3779b97f4a7c15ULL;
	return (size_t)(h ^ h >> 32);
}

INLINE bool same(const uint64_t *a, const uint64_t *b, unsigned int n)
{
	uint64_t differ = 0;

	for (unsigned int i = 0; i < n; i++)
		differ |= a[i] ^ b[i];
	return !differ;
}

/* Returns the slot of the keys, or the free one where they belong. */
INLINE struct slot *find(const struct table *t, const uint64_t *keys, unsigned int n)
{
	for (size_t i = hash(keys, n);; i++) {
		struct slot *s = slot_at(t, i & (t->slots - 1), n);

		if (!s->count || same(s->keys, keys, n))
			return s;
	}
}

/* Makes a table of free slots, and pushes the userdata that is its memory. */
static void table_alloc(lua_State *L, struct table *t, size_t slots)
{
	size_t size = slots * slot_size(t->keys);

	t->slots = slots;
	t->data = lua_newuserdata(L, size);
	memset(t->data, 0, size);
}

/* Doubles the table. The new userdata replaces the old one on top of the stack. */
static void grow(lua_State *L, struct table *t)
{
	struct table old = *t;
	unsigned int n = t->keys;

	table_alloc(L, t, old.slots * 2);
	for (size_t i = 0; i < old.slots; i++) {
		const struct slot *s = slot_at(&old, i, n);

		if (s->count)
			memcpy(find(t, s->keys, n), s, slot_size(n));
	}
	lua_replace(L, -2);
}

INLINE void count(lua_State *L, struct table *t, const uint64_t *keys, unsigned int n)
{
	struct slot *s = find(t, keys, n);

	if (__builtin_expect(s->count++ != 0, 1))
		return;
	memcpy(s->keys, keys, n * sizeof(*keys));
	if (++t->used > t->slots / 2)
		grow(L, t);
}

/* Returns false if the sample lacks one of the keys: a PMD that it does not hold. */
INLINE bool read_keys(const unsigned char *at, const struct lpfm_ref *refs, uint64_t *keys,
		      unsigned int n)
{
	bool all = true;

	for (unsigned int i = 0; i < n; i++)
		all &= lpfm_ref_get(at, refs[i], &keys[i]);
	return all;
}

INLINE int count_keys(lua_State *L, struct lpfm_walk *w, struct lpfm_filter *filter,
		      struct lpfm_ref *refs, struct table *t, unsigned int n)
{
	uint64_t keys[KEYS_MAX];
	int got;

	while ((got = lpfm_walk_filtered(w, filter, refs, n)) > 0)
		if (read_keys(lpfm_walk_at(w), refs, keys, n))
			count(L, t, keys, n);
	return got;
}

static void count_all(lua_State *L, struct lpfm_walk *w, struct lpfm_filter *filter,
		      struct lpfm_ref *refs, struct table *t)
{
	int got;

	if (t->keys == 1)
		got = count_keys(L, w, filter, refs, t, 1);
	else if (t->keys == 2)
		got = count_keys(L, w, filter, refs, t, 2);
	else
		got = count_keys(L, w, filter, refs, t, t->keys);
	if (got < 0)
		lpfm_walk_broken(L, w);
}

/*
 * Pushes a key for a Lua table. A value that a number does not hold exactly becomes a string of
 * hexadecimal digits: each u64 object would be a different key.
 */
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

/* Replaces the table on top by the table that it has, or gets now, under the key. */
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
		const struct slot *s = slot_at(t, i, t->keys);

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
@tparam[opt] table filter at the end: values that fields must have
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
