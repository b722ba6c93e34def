/* SPDX-License-Identifier: MIT */
/*
 * fields.c - fields of samples as the values of a loop: the fast way through a buffer.
 */
/***
@submodule buffer
*/
#include "base/object.h"
#include "base/u64.h"
#include "samples/sample.h"

static const struct lpfm_class fields_class = { "lpfm.fields" };

/*
 * The state of a loop. It is not the iterator's upvalue: LuaJIT compiles a loop anew for each closure
 * that is its iterator, and gives up after some; so all loops have the same function.
 */
struct fields {
	struct lpfm_head	head;
	struct lpfm_walk	walk;
	struct lpfm_filter	filter;
	unsigned int		n;
	bool			words;		/* what next_words() is for */
	struct lpfm_ref		refs[];
};

static inline struct fields *self(lua_State *L)
{
	struct fields *f = lpfm_object_test(L, 1, &fields_class);

	if (!f)
		luaL_typerror(L, 1, fields_class.name);
	lpfm_walk_check(L, &f->walk);
	return f;
}

static int next_fields(lua_State *L)
{
	struct fields *f = self(L);
	const unsigned char *at;
	int got, n = (int)f->n;

	got = lpfm_walk_filtered(&f->walk, &f->filter, f->refs, f->n);
	if (got <= 0)
		return got ? lpfm_walk_broken(L, &f->walk) : 0;
	if (n > LUA_MINSTACK / 2)
		luaL_checkstack(L, n + 4, "fields");
	at = lpfm_walk_at(&f->walk);
	for (const struct lpfm_ref *ref = f->refs; ref < f->refs + n; ref++) {
		uint64_t value;

		if (lpfm_ref_get(at, *ref, &value))
			lpfm_push_u64(L, value);
		else
			lua_pushboolean(L, 0);
	}
	return n;
}

/* The common case: no filter, and fields of 64 bits that all samples have. */
static int next_words(lua_State *L)
{
	struct fields *f = self(L);
	const unsigned char *at = f->walk.next;
	int got, n = (int)f->n;

	if (!f->words)		/* the state of another loop */
		return next_fields(L);
	got = lpfm_walk_next(&f->walk);
	if (got <= 0)
		return got ? lpfm_walk_broken(L, &f->walk) : 0;
	for (int i = 0; i < n; i++)
		lpfm_push_u64(L, lpfm_load(at + f->refs[i].offset, sizeof(uint64_t)));
	return n;
}

static bool only_words(const struct fields *f)
{
	for (unsigned int i = 0; i < f->n; i++)
		if (f->refs[i].is_pmd || f->refs[i].width != sizeof(uint64_t))
			return false;
	return !f->filter.n && f->n <= LUA_MINSTACK / 2;
}

/***
Iterates over the samples, giving the named fields of each: the fast form.
@function buffer:fields
@param ... names of fields, or numbers of PMDs, at most 16; a PMD that a sample does not hold is false
@tparam[opt] table filter, at the end: values that fields must have
@treturn function iterator
@return its state, as a for loop passes it on: iterator(state) gives the next sample's fields
@raise on wrong types; in the loop if the context was restarted or closed, or the buffer is corrupt
@usage
local ctx = assert(require("lpfm").create { format = "default" })
for ip, tid in ctx:buffer():fields("ip", "tid", { cpu = 0 }) do print(ip, tid) end
ctx:close()
*/
int lpfm_buffer_fields(lua_State *L)
{
	struct lpfm_context *ctx = lpfm_buffer_samples(L, 1);
	struct lpfm_site site = { .call = "fields" };
	int n = lua_gettop(L) - 1, filter = lua_istable(L, n + 1) ? n + 1 : 0;
	struct fields *f;

	n -= filter ? 1 : 0;
	if (n < 1 || n > 16)
		lpfm_bad(L, &site, "1 to 16 names of fields expected");
	f = lpfm_object_new(L, sizeof(*f) + (size_t)n * sizeof(f->refs[0]));
	lpfm_walk_start(L, &f->walk, ctx);
	f->n = (unsigned int)n;
	for (int i = 0; i < n; i++)
		lpfm_ref_read(L, i + 2, &f->walk, &site, &f->refs[i]);
	if (filter)
		lpfm_filter_read(L, filter, &f->walk, "fields", &f->filter);
	f->words = only_words(f);
	lpfm_object_anchor(L, 1);
	lpfm_object_arm(L, f, &fields_class);
	luaL_getmetatable(L, fields_class.name);
	lua_getfield(L, -1, f->words ? "next_words" : "next_fields");
	lua_pushvalue(L, -3);
	return 2;
}

static const luaL_Reg metas[] = {
	{ "next_fields", next_fields },
	{ "next_words", next_words },
	{ NULL, NULL }
};

void lpfm_open_fields(lua_State *L)
{
	lpfm_class_new(L, &fields_class, NULL, metas);
}
