/* SPDX-License-Identifier: MIT */
/*
 * fields.c - fields of samples as the values of a loop: the fast way through a buffer.
 */
/***
@submodule buffer
*/
#include "sample.h"

/* The state of a loop: an upvalue of its iterator, beside the buffer. */
struct fields {
	struct lpfm_walk	walk;
	struct lpfm_filter	filter;
	int			n;
	struct lpfm_ref		refs[];
};

static int next_fields(lua_State *L)
{
	struct fields *f = lua_touserdata(L, lua_upvalueindex(1));
	int got;

	lpfm_walk_check(L, &f->walk);
	got = lpfm_walk_filtered(&f->walk, &f->filter);
	if (got <= 0)
		return got ? lpfm_walk_broken(L, &f->walk) : 0;
	if (f->n > LUA_MINSTACK / 2)
		luaL_checkstack(L, f->n + 4, "fields");
	for (int i = 0; i < f->n; i++) {
		uint64_t value;

		if (lpfm_ref_get(&f->walk, &f->refs[i], &value))
			lpfm_push_u64(L, value);
		else
			lua_pushboolean(L, 0);
	}
	return f->n;
}

/***
Iterates over the samples, giving the named fields of each: the fast form.
@function buffer:fields
@param ... names of fields, or numbers of PMDs, at most 16; a PMD that a sample does not hold is false
@tparam[opt] table filter, at the end: values that fields must have
@return iterator
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
	f = lua_newuserdata(L, sizeof(*f) + (size_t)n * sizeof(f->refs[0]));
	lpfm_walk_start(L, &f->walk, ctx);
	f->n = n;
	f->filter.n = 0;
	for (int i = 0; i < n; i++)
		lpfm_ref_read(L, i + 2, &f->walk, &site, &f->refs[i]);
	if (filter)
		lpfm_filter_read(L, filter, &f->walk, "fields", &f->filter);
	lua_pushvalue(L, 1);
	lua_pushcclosure(L, next_fields, 2);
	return 1;
}
