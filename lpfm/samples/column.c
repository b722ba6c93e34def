/* SPDX-License-Identifier: MIT */
/* column.c - values of samples by name. */
#include <stdlib.h>

#include "base/args.h"
#include "samples/column.h"

enum { BITS_MAX = 10, FIRST_STREAMS = 64 };

/* --- reading a column ----------------------------------------------------------------------- */

static unsigned int field_named(lua_State *L, const char *name, const struct lpfm_site *site)
{
	unsigned int field = lpfm_smpl_field(name);

	if (field == LPFM_SMPL_FIELDS && strcmp(name, "period"))
		lpfm_bad(L, site, "there is no field '%s' (%s, period, or a PMD's number)", name,
			 lpfm_smpl_names_text(L));
	return field;
}

static void read_what(lua_State *L, int idx, const struct lpfm_site *site, struct column *c)
{
	if (lua_type(L, idx) == LUA_TNUMBER) {
		c->field = COLUMN_VALUE;
		c->pmd = (unsigned int)lpfm_to_int(L, idx, site, 0, PFM_MAX_PMDS - 1);
	} else if (lua_type(L, idx) == LUA_TSTRING) {
		c->field = field_named(L, lpfm_to_string(L, idx, site), site);
		c->place = lpfm_smpl_names[c->field == COLUMN_PERIOD ? LPFM_SMPL_LAST_RESET : c->field]
			.at[LPFM_ENTRY_2X];
	} else {
		lpfm_bad_value(L, site, "name of a field, number of a PMD or table", idx);
	}
}

/*
 * Returns the field at idx; samples with the same value of it are one stream. Fields of 64 bits are
 * refused, because struct column_stream needs a value that marks a free slot.
 */
static unsigned int stream_at(lua_State *L, int idx, const struct lpfm_site *site)
{
	unsigned int f = lua_type(L, idx) == LUA_TSTRING ?
		field_named(L, lua_tostring(L, idx), site) : (unsigned int)COLUMN_NONE;

	if (f >= LPFM_SMPL_FIELDS || lpfm_smpl_names[f].at[LPFM_ENTRY_2X].width == sizeof(uint64_t))
		lpfm_bad_value(L, site, "pid, tid, cpu, ovfl_pmd or set", idx);
	return f;
}

static void read_lives(lua_State *L, int idx, struct lpfm_site *site, struct column *c)
{
	lua_getfield(L, idx, "lives");
	if (!lua_isnil(L, -1)) {
		if (c->field != LPFM_SMPL_PID && c->field != LPFM_SMPL_TID)
			lpfm_bad(L, site, "lives are those of the fields 'pid' and 'tid'");
		c->lives = lives_copy(L, lua_gettop(L));
	}
	lua_pop(L, 1);
}

/* Reads { "ip" or number, shift =, delta = "tid", from =, step = } or { ..., bits = }. */
static void read_table(lua_State *L, int idx, struct lpfm_site *site, struct column *c)
{
	lua_rawgeti(L, idx, 1);
	read_what(L, lua_gettop(L), site, c);
	site->field = "shift";
	lua_getfield(L, idx, "shift");
	c->shift = lua_isnil(L, -1) ? 0 : lpfm_to_u64(L, lua_gettop(L), site);
	site->field = "delta";
	lua_getfield(L, idx, "delta");
	if (!lua_isnil(L, -1))
		c->stream = stream_at(L, lua_gettop(L), site);
	site->field = "from";
	lua_getfield(L, idx, "from");
	c->from = lua_isnil(L, -1) ? 0 : lpfm_to_u64(L, lua_gettop(L), site);
	site->field = "step";
	lua_getfield(L, idx, "step");
	if (!lua_isnil(L, -1)) {
		c->scale = COLUMN_LINEAR;
		c->step = lpfm_to_u64(L, lua_gettop(L), site);
		if (!c->step)
			lpfm_bad_value(L, site, "step of 1 or more", lua_gettop(L));
	}
	site->field = "bits";
	lua_getfield(L, idx, "bits");
	if (!lua_isnil(L, -1)) {
		c->scale = COLUMN_LOG;
		c->bits = (unsigned int)lpfm_to_int(L, lua_gettop(L), site, 0, BITS_MAX);
	}
	site->field = NULL;
	lua_pop(L, 6);
	read_lives(L, idx, site, c);
}

void column_read(lua_State *L, int idx, const char *call, struct column *c)
{
	struct lpfm_site site = { .call = call };

	memset(c, 0, sizeof(*c));
	c->stream = COLUMN_NONE;
	if (lua_istable(L, idx))
		read_table(L, idx, &site, c);
	else
		read_what(L, idx, &site, c);
	c->plain = c->stream == COLUMN_NONE && c->scale == COLUMN_PLAIN && !c->lives.n && !c->shift;
	c->value = c->plain && c->field == COLUMN_VALUE;
	c->plain = c->plain && !c->value;
	column_forget(c);
}

void column_free(struct column *c)
{
	free(c->streams.slots);
	free(c->lives.list);
	c->lives = (struct lives){ NULL, 0 };
	c->streams = (struct column_streams){ NULL, 0, 0 };
}

/* --- the growth of a value ------------------------------------------------------------------ */

static struct column_stream *find_stream(const struct column_streams *t, uint64_t key)
{
	size_t i = (size_t)(key * 0x9e3779b97f4a7c15ULL >> 32) & (t->room - 1);

	while (t->slots[i].key && t->slots[i].key != key + 1)
		i = (i + 1) & (t->room - 1);
	return &t->slots[i];
}

static int grow(struct column_streams *t)
{
	struct column_streams bigger = { NULL, t->used, t->room ? t->room * 2 : FIRST_STREAMS };

	bigger.slots = calloc(bigger.room, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -1;
	for (size_t i = 0; i < t->room; i++)
		if (t->slots[i].key)
			*find_stream(&bigger, t->slots[i].key - 1) = t->slots[i];
	free(t->slots);
	*t = bigger;
	return 0;
}

/*
 * Replaces *v by its difference from the stream's last value. Returns 1; 0 if there is no
 * difference, because the value is the stream's first or is smaller than the last (after a reset);
 * -1 if there is no memory.
 */
static int difference(struct column *c, const struct lpfm_walk *w, uint64_t *v)
{
	uint64_t now = *v, key = lpfm_walk_field(w, (enum lpfm_smpl_field)c->stream);
	struct column_stream *stream;
	int known;

	if (c->streams.used * 2 >= c->streams.room && grow(&c->streams))
		return -1;
	stream = find_stream(&c->streams, key);
	known = stream->key && now >= stream->last;
	c->streams.used += !stream->key;
	*v = now - stream->last;
	*stream = (struct column_stream){ key + 1, now };
	return known;
}

/* --- the value for a sample ----------------------------------------------------------------- */

static uint64_t log_bin(uint64_t v, unsigned int bits)
{
	unsigned int high = 63U - (unsigned int)__builtin_clzll(v | 1);

	return high <= bits ? v : ((uint64_t)(high - bits) << bits) + (v >> (high - bits));
}

/* Finds the rank of the PMD's value. Returns false if the sample does not hold the PMD. */
static bool find_value(struct column *c, const struct lpfm_walk *w)
{
	if (c->key == w->key)
		return true;
	if (c->pmd >= PFM_MAX_PMDS || !lpfm_walk_holds(w, c->pmd))
		return false;
	c->rank = lpfm_walk_rank(w, c->pmd);
	c->key = w->key;
	return true;
}

int column_compute(struct column *c, const struct lpfm_walk *w, uint64_t *v)
{
	if (c->field != COLUMN_VALUE)
		*v = column_field(c, w);
	else if (find_value(c, w))
		*v = lpfm_walk_value(w, c->rank);
	else
		return 0;
	if (c->lives.n)
		*v = lives_at(&c->lives, *v, lpfm_walk_field(w, LPFM_SMPL_TSTAMP));
	*v += c->shift;
	if (c->stream != COLUMN_NONE) {
		int known = difference(c, w, v);

		if (known <= 0)
			return known;
	}
	if (c->scale == COLUMN_LINEAR) {
		if (*v < c->from)
			return 0;
		*v = (*v - c->from) / c->step;
	} else if (c->scale == COLUMN_LOG) {
		*v = log_bin(*v, c->bits);
	}
	return 1;
}
