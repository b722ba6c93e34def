/* SPDX-License-Identifier: MIT */
/***
Counting the samples of blocks by any of their values, with sums.

A column is the name of a field (ip, tid, pid, cpu, tstamp, set, ovfl_pmd, last_reset), "period"
(last_reset as a number of events), the number of a PMD that is stored with the samples, or a table:
`{column, delta="tid"}` what it grew by since the last sample of the same thread (or "cpu", "pid");
`{column, from=, step=}` the number of its slice, from 0; `{column, bits=N}` the number of its bin,
with 2^N bins for each power of two. Samples that lack a key are left out.
@classmod counter
*/
#include <stdlib.h>

#include "base/args.h"
#include "base/field.h"
#include "base/object.h"
#include "base/u64.h"
#include "samples/buffer.h"
#include "samples/column.h"
#include "samples/stored_walk.h"

enum { KEYS_MAX = 8, SUMS_MAX = 16, TESTS_MAX = 8, FIRST_SLOTS = 1024 };

struct test {
	struct column column;
	uint64_t from, to;
};

/* The correlation of two columns over all samples (Welford). */
struct pair {
	struct column x, y;
	double n, mean_x, mean_y, xx, yy, xy, min_x, max_x;
};

/*
 * The words of a slot: the number of samples (0: the slot is free), the number of events (the sum
 * of the samples' periods), the keys, and the sums.
 */
enum { SAMPLES, EVENTS, KEYS };

struct counter {
	struct lpfm_head head;
	int num_keys, num_sums, num_tests;
	struct column keys[KEYS_MAX], sums[SUMS_MAX];
	struct test tests[TESTS_MAX];
	bool paired;
	struct pair pair;
	struct stored_layouts layouts;
	size_t stride;			/* words of a slot */
	uint64_t *slots;
	size_t used, room;		/* room is a power of two, or 0 */
	unsigned char window[STORED_WINDOW];	/* a part of the block that is being counted */
};

static void each_column(struct counter *t, void (*visit)(struct column *c))
{
	for (int i = 0; i < KEYS_MAX; i++)
		visit(&t->keys[i]);
	for (int i = 0; i < SUMS_MAX; i++)
		visit(&t->sums[i]);
	for (int i = 0; i < TESTS_MAX; i++)
		visit(&t->tests[i].column);
	visit(&t->pair.x);
	visit(&t->pair.y);
}

static void release(void *counter)
{
	struct counter *t = counter;

	each_column(t, column_free);
	free(t->slots);
}

static const struct lpfm_class counter_class = { "lpfm.counter", release };

static struct counter *check_counter(lua_State *L)
{
	return lpfm_object_check(L, 1, &counter_class);
}

/* --- the hash table ------------------------------------------------------------------------- */

static inline uint64_t *slot_at(const struct counter *t, size_t i)
{
	return t->slots + i * t->stride;
}

static size_t hash(const struct counter *t, const uint64_t *key)
{
	uint64_t h = 0;

	for (int i = 0; i < t->num_keys; i++) {
		h = (h ^ key[i]) * 0x9e3779b97f4a7c15ULL;
		h ^= h >> 29;
	}
	return (size_t)h;
}

static bool same_key(const struct counter *t, const uint64_t *a, const uint64_t *b)
{
	for (int i = 0; i < t->num_keys; i++)
		if (a[i] != b[i])
			return false;
	return true;
}

static uint64_t *find_slot(const struct counter *t, const uint64_t *key)
{
	size_t i = hash(t, key) & (t->room - 1);

	while (slot_at(t, i)[SAMPLES] && !same_key(t, slot_at(t, i) + KEYS, key))
		i = (i + 1) & (t->room - 1);
	return slot_at(t, i);
}

static int grow(struct counter *t)
{
	struct counter bigger = { .num_keys = t->num_keys, .stride = t->stride };
	size_t room = t->room ? t->room * 2 : FIRST_SLOTS;

	bigger.room = room;
	bigger.slots = calloc(room, t->stride * sizeof(*t->slots));
	if (!bigger.slots)
		return -1;
	for (size_t i = 0; i < t->room; i++) {
		const uint64_t *s = slot_at(t, i);

		if (s[SAMPLES])
			memcpy(find_slot(&bigger, s + KEYS), s, t->stride * sizeof(*s));
	}
	free(t->slots);
	t->slots = bigger.slots;
	t->room = room;
	return 0;
}

/* --- counting a sample ---------------------------------------------------------------------- */

/*
 * Returns 1 if the sample passes all tests, 0 if it does not, -1 if there is no memory. All columns
 * are read even if one test fails, as those that depend on earlier samples must see each sample.
 */
static int read_tests(struct counter *t, const struct lpfm_walk *w)
{
	int passed = 1;

	for (int i = 0; i < t->num_tests; i++) {
		uint64_t v;
		int got = column_get(&t->tests[i].column, w, &v);

		if (got < 0)
			return got;
		if (!got || v < t->tests[i].from || v > t->tests[i].to)
			passed = 0;
	}
	return passed;
}

static int read_columns(struct column *columns, int n, const struct lpfm_walk *w, uint64_t *values)
{
	int all = 1;

	for (int i = 0; i < n; i++) {
		int got = column_get(&columns[i], w, &values[i]);

		if (got < 0)
			return got;
		if (!got)
			all = values[i] = 0;
	}
	return all;
}

static void add_pair(struct pair *p, double x, double y)
{
	double dx = x - p->mean_x, dy = y - p->mean_y;

	p->min_x = p->n && p->min_x < x ? p->min_x : x;
	p->max_x = p->n && p->max_x > x ? p->max_x : x;
	p->n++;
	p->mean_x += dx / p->n;
	p->mean_y += dy / p->n;
	p->xx += dx * (x - p->mean_x);
	p->yy += dy * (y - p->mean_y);
	p->xy += dx * (y - p->mean_y);
}

static int count_pair(struct pair *p, const struct lpfm_walk *w, bool passed)
{
	uint64_t x, y;
	int got_x = column_get(&p->x, w, &x), got_y = column_get(&p->y, w, &y);

	if (got_x < 0 || got_y < 0)
		return -1;
	if (passed && got_x && got_y)
		add_pair(p, (double)x, (double)y);
	return 0;
}

static int count_key(struct counter *t, const struct lpfm_walk *w, const uint64_t *key, const uint64_t *sums)
{
	uint64_t *slot;

	if (t->used * 4 >= t->room * 3 && grow(t))
		return -1;
	slot = find_slot(t, key);
	if (!slot[SAMPLES]++) {
		memcpy(slot + KEYS, key, (size_t)t->num_keys * sizeof(*key));
		t->used++;
	}
	slot[EVENTS] += -lpfm_walk_field(w, LPFM_SMPL_LAST_RESET);
	for (int i = 0; i < t->num_sums; i++)
		slot[KEYS + t->num_keys + i] += sums[i];
	return 0;
}

/* Counts a sample. Returns 0, or -1 if there is no memory. */
static int count_sample(struct counter *t, const struct lpfm_walk *w)
{
	uint64_t key[KEYS_MAX], sums[SUMS_MAX];
	int passed = read_tests(t, w), whole = read_columns(t->keys, t->num_keys, w, key);

	if (passed < 0 || whole < 0 || read_columns(t->sums, t->num_sums, w, sums) < 0)
		return -1;
	passed = passed && whole;
	if (t->paired && count_pair(&t->pair, w, passed))
		return -1;
	return passed ? count_key(t, w, key, sums) : 0;
}

/* --- making a counter ----------------------------------------------------------------------- */

/* Reads the columns in the list `name` of the table at 1. */
static int read_list(lua_State *L, const char *name, struct column *columns, int max)
{
	const struct lpfm_site site = { .call = "counter", .arg = name };
	int n;

	lua_getfield(L, 1, name);
	if (lua_isnil(L, -1)) {
		lua_pop(L, 1);
		return 0;
	}
	if (!lua_istable(L, -1))
		return lpfm_bad_value(L, &site, "list of columns", -1);
	n = (int)lua_objlen(L, -1);
	if (n > max)
		return lpfm_bad(L, &site, "at most %d columns", max);
	for (int i = 0; i < n; i++) {
		lua_rawgeti(L, -1, i + 1);
		column_read(L, lua_gettop(L), "counter", &columns[i]);
		lua_pop(L, 1);
	}
	lua_pop(L, 1);
	return n;
}

/* Reads an element of "where", on top: {column, from, to}. */
static void read_test(lua_State *L, struct test *test)
{
	struct lpfm_site site = { .call = "counter", .arg = "where" };
	int idx = lua_gettop(L);

	if (!lua_istable(L, idx))
		lpfm_bad_value(L, &site, "list of tests, each {column, from, to}", idx);
	for (int i = 1; i <= 3; i++)
		lua_rawgeti(L, idx, i);
	column_read(L, idx + 1, "counter", &test->column);
	test->from = lpfm_to_u64(L, idx + 2, &site);
	test->to = lua_isnil(L, idx + 3) ? test->from : lpfm_to_u64(L, idx + 3, &site);
	lua_settop(L, idx);
}

static void read_where(lua_State *L, struct counter *t)
{
	const struct lpfm_site site = { .call = "counter", .arg = "where" };
	int n;

	lua_getfield(L, 1, "where");
	if (!lua_toboolean(L, -1)) {
		lua_pop(L, 1);
		return;
	}
	if (!lua_istable(L, -1))
		lpfm_bad_value(L, &site, "list of tests", -1);
	n = (int)lua_objlen(L, -1);
	if (n > TESTS_MAX)
		lpfm_bad(L, &site, "at most %d tests", TESTS_MAX);
	for (int i = 0; i < n; i++) {
		lua_rawgeti(L, -1, i + 1);
		read_test(L, &t->tests[i]);
		t->num_tests = i + 1;
		lua_pop(L, 1);
	}
	lua_pop(L, 1);
}

static void read_pair(lua_State *L, struct counter *t)
{
	struct column xy[2];
	int n = read_list(L, "pair", xy, 2);

	if (n == 1)
		luaL_error(L, "counter: pair: two columns expected");
	t->paired = n == 2;
	if (!t->paired)
		return;
	t->pair.x = xy[0];
	t->pair.y = xy[1];
}

/* Replaces arguments that are names of fields by a table of options with these keys. */
static void options_from_names(lua_State *L)
{
	int n = lua_gettop(L);

	lua_createtable(L, 0, 1);
	lua_createtable(L, n, 0);
	for (int i = 1; i <= n; i++) {
		lua_pushvalue(L, i);
		lua_rawseti(L, -2, i);
	}
	lua_setfield(L, -2, "keys");
	lua_insert(L, 1);
}

/***
Makes a table that counts samples.
@function lpfm.samples.counter
@tparam table options `keys`: up to eight columns; optional `sums`: up to sixteen columns, added up
for each row; `where`: up to eight tests `{column, from, to}` that a sample must pass (to: by
default from); `pair`: two columns, see `counter:moments`. Instead of the table: names of fields,
the keys
@treturn counter
@raise on wrong types and unknown fields
@usage
local t = samples.counter { keys = { "tid", { "tstamp", from = 0, step = 1e9 } }, where = { { "cpu", 0 } } }
for block in assert(recording.open "lpfm.data"):each_block() do t:add(block, { [65] = {} }) end
for tid, second, samples in t:rows() do print(tid, second, samples) end
*/
int lpfm_counter_new(lua_State *L)
{
	struct counter *t;

	if (!lua_istable(L, 1) || lua_gettop(L) > 1)
		options_from_names(L);
	t = lpfm_object_new(L, sizeof(*t));
	lpfm_object_arm(L, t, &counter_class);
	t->num_keys = read_list(L, "keys", t->keys, KEYS_MAX);
	t->num_sums = read_list(L, "sums", t->sums, SUMS_MAX);
	read_where(L, t);
	read_pair(L, t);
	if (!t->num_keys && !t->paired)
		return luaL_error(L, "counter: one to %d columns expected as keys", KEYS_MAX);
	t->stride = KEYS + (size_t)(t->num_keys + t->num_sums);
	return 1;
}

/***
The former name of @{lpfm.samples.counter}.
@function lpfm.samples.tally
@tparam table options
@treturn counter
@usage assert(#samples.tally("ip") == 0)
*/

/* --- counting ------------------------------------------------------------------------------- */

/***
Counts the samples of a block.
@function counter:add
@param block a string; or three arguments, a file of `lpfm.chunks`, where in it the block lies, and
its length
@tparam table sizes by number of the PMD that overflowed (or set * 65536 + number): how many values
follow a sample, or the list of the PMDs that these are the values of
@treturn number of samples found
@treturn number of samples that are missing: the block is cut, but its header counts them
@usage
local block = assert(recording.open "lpfm.data"):each_block()()
print(samples.counter("ip"):add(block, { [65] = {} }))
*/
static int counter_add(lua_State *L)
{
	struct counter *t = check_counter(L);
	bool in_memory = lua_type(L, 2) == LUA_TSTRING;
	uint64_t found = 0;
	struct stored_walk s;

	stored_layouts_read(L, in_memory ? 3 : 5, &t->layouts);
	if (in_memory)
		stored_walk_string(L, 2, &s, &t->layouts);
	else
		stored_walk_file(L, 2, &s, &t->layouts, t->window);
	each_column(t, column_forget);
	for (; stored_walk_next(&s); found++)
		if (count_sample(t, &s.walk))
			return luaL_error(L, "not enough memory");
	lua_pushnumber(L, (lua_Number)found);
	lua_pushnumber(L, (lua_Number)(s.walk.count - s.walk.index));
	return 2;
}

/* --- results -------------------------------------------------------------------------------- */

/* Fields of the header are read as two's complement, so that the kernel's addresses stay exact. */
static void push_key(lua_State *L, const struct column *c, uint64_t v)
{
	if (c->field == COLUMN_VALUE)
		lpfm_push_u64(L, v);
	else
		lua_pushnumber(L, (lua_Number)(int64_t)v);
}

static void push_row(lua_State *L, const struct counter *t, const uint64_t *slot)
{
	for (int k = 0; k < t->num_keys; k++)
		push_key(L, &t->keys[k], slot[KEYS + k]);
	lua_pushnumber(L, (lua_Number)slot[SAMPLES]);
	lua_pushnumber(L, (lua_Number)(int64_t)slot[EVENTS]);
	for (int i = 0; i < t->num_sums; i++)
		lpfm_push_u64(L, slot[KEYS + t->num_keys + i]);
}

/* The iterator's position is an upvalue. */
static int next_row(lua_State *L)
{
	const struct counter *t = lpfm_object_check(L, lua_upvalueindex(1), &counter_class);
	lua_Number from = lua_tonumber(L, lua_upvalueindex(2));
	size_t i = from >= 0 && from < (lua_Number)t->room ? (size_t)from : t->room;

	while (i < t->room && !slot_at(t, i)[SAMPLES])
		i++;
	if (i >= t->room)
		return 0;
	lua_pushnumber(L, (lua_Number)(i + 1));
	lua_replace(L, lua_upvalueindex(2));
	luaL_checkstack(L, KEYS_MAX + SUMS_MAX + KEYS, "a row");
	push_row(L, t, slot_at(t, i));
	return KEYS + t->num_keys + t->num_sums;
}

/***
Iterates over the rows of the table, which must not grow during the loop.
@function counter:rows
@return an iterator of the keys, the number of samples, the number of events, the sums
@usage for ip, samples, events in samples.counter("ip"):rows() do print(ip, samples, events) end
*/
static int counter_rows(lua_State *L)
{
	check_counter(L);
	lua_pushvalue(L, 1);
	lua_pushnumber(L, 0);
	lua_pushcclosure(L, next_row, 2);
	return 1;
}

/***
Returns the correlation of the two columns of `pair`, over all samples that have both and pass the
tests.
@function counter:moments
@treturn table `n`, `mean_x`, `mean_y`; `xx`, `yy` and `xy`: the sums of the products of two
differences from the means; `min_x`, `max_x`
@usage assert(samples.counter({ pair = { "tstamp", "period" } }):moments().n == 0)
*/
static int counter_moments(lua_State *L)
{
	const struct pair *p = &check_counter(L)->pair;
	const struct { const char *name; double value; } fields[] = {
		{ "n", p->n }, { "mean_x", p->mean_x }, { "mean_y", p->mean_y }, { "xx", p->xx },
		{ "yy", p->yy }, { "xy", p->xy }, { "min_x", p->min_x }, { "max_x", p->max_x },
	};

	lua_createtable(L, 0, (int)LPFM_COUNT(fields));
	for (size_t i = 0; i < LPFM_COUNT(fields); i++)
		lpfm_set_number(L, fields[i].name, fields[i].value);
	return 1;
}

static int counter_len(lua_State *L)
{
	lua_pushnumber(L, (lua_Number)check_counter(L)->used);
	return 1;
}

void lpfm_open_counter(lua_State *L)
{
	static const luaL_Reg methods[] = {
		{ "add", counter_add }, { "rows", counter_rows }, { "moments", counter_moments }, { NULL, NULL }
	};
	static const luaL_Reg metas[] = { { "__len", counter_len }, { NULL, NULL } };

	lpfm_class_new(L, &counter_class, methods, metas);
}
