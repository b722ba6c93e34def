/* SPDX-License-Identifier: MIT */
/***
Regions of programs: the files in which they are measured (kernel/regions/file.h), and marks of
Lua's own. `pfm.region` and `lpfm stat --regions` are made of these.
@module lpfm.regions
*/
#include <errno.h>
#include <string.h>

#include "base/args.h"
#include "base/field.h"
#include "base/result.h"
#include "base/module.h"
#include "base/object.h"
#include "base/u64.h"
#include "perfmon/regions.h"
#include "regions/file.h"

/* --- marks ---------------------------------------------------------------------------------- */

/* Returns the region with the name at 1. The upvalue is a table that caches ids. */
static struct pfm_region place(lua_State *L)
{
	struct pfm_region r = { .name = lpfm_check_string(L, 1) };

	lua_pushvalue(L, 1);
	lpfm_upvalue_get(L);
	r.id = (unsigned int)lua_tonumber(L, -1);
	lua_pop(L, 1);
	return r;
}

static void keep(lua_State *L, const struct pfm_region *r, unsigned int before)
{
	if (r->id == before || !lua_istable(L, lua_upvalueindex(1)))
		return;
	lua_pushvalue(L, 1);
	lua_pushnumber(L, r->id);
	lua_rawset(L, lua_upvalueindex(1));
}

static int mark(lua_State *L, void (*call)(struct pfm_region *))
{
	struct pfm_region r = place(L);
	unsigned int before = r.id;

	if (pfm_regions_on)
		call(&r);
	keep(L, &r, before);
	return 0;
}

/***
Enters a region; without a file in use, nothing happens.
@function enter
@string name at most 127 bytes, the rest is ignored
@usage
local regions = require "lpfm.regions"
regions.enter "sort"
regions.leave "sort"
*/
static int enter(lua_State *L)
{
	return mark(L, pfm_region_enter);
}

/***
Leaves a region.
@function leave
@string name
@usage
local regions = require "lpfm.regions"
regions.enter "sort"
regions.leave "sort"
*/
static int leave(lua_State *L)
{
	return mark(L, pfm_region_leave);
}

/***
Tells whether marks are measured.
@function on
@treturn boolean
@usage print(require("lpfm.regions").on())
*/
static int on(lua_State *L)
{
	lua_pushboolean(L, pfm_regions_on != 0);
	return 1;
}

/* --- files ---------------------------------------------------------------------------------- */

/***
Makes a file for measurements.
@function create
@string plan lines "pmc NUM VALUE" and "pmd NUM", at most 16 of these
@treturn[1] string its path
@return[2] nil
@treturn[2] string message
@treturn[2] int errno
@usage
local path = assert(require("lpfm.regions").create "pmc 66 9\npmd 66\n")
os.remove(path)
*/
static int create(lua_State *L)
{
	char path[64];

	if (pfm_regions_create(lpfm_check_string(L, 1), path, sizeof(path)))
		return lpfm_fail_errno(L, errno, "create: %s", errno == EINVAL ? "not a plan of 1 to 16 counters" :
				       strerror(errno));
	lua_pushstring(L, path);
	return 1;
}

/***
Starts to measure this process' marks into a file.
@function use
@string path of `create`
@treturn[1] boolean true
@return[2] nil
@treturn[2] string message
@treturn[2] int errno
@usage print(require("lpfm.regions").use "/nowhere")
*/
static int use(lua_State *L)
{
	const char *path = lpfm_check_string(L, 1);

	if (pfm_regions_use(path))
		return lpfm_fail_errno(L, errno, "use: %s: %s", path, errno == EBUSY ?
				       "regions are being measured into another file" : strerror(errno));
	return lpfm_true(L);
}

/***
Ends the measurement of marks in this process; the regions that this thread is in end, too.
@function finish
@treturn boolean true if marks were measured
@usage print(require("lpfm.regions").finish())
*/
static int finish(lua_State *L)
{
	lua_pushboolean(L, !pfm_regions_end());
	return 1;
}

static void push_record(lua_State *L, const struct pfm_regions_result *result, const struct block *b,
			const struct record *rec)
{
	lua_createtable(L, 0, 10);
	lpfm_set_text_of(L, "name", rec->name, sizeof(rec->name));
	lpfm_set_u64(L, "calls", rec->calls);
	lpfm_set_u64(L, "inside", rec->inside);
	lpfm_set_u64(L, "strays", rec->strays);
	lpfm_set_u64(L, "crossed", rec->crossed);
	lpfm_set_u64(L, "unfinished", rec->unfinished);
	lpfm_set_u64(L, "forked", rec->forked);
	lpfm_set_number(L, "ns", pfm_regions_ns(result, b, rec->ticks));
	lua_createtable(L, REGIONS_COUNTERS, 0);
	for (int i = 0; i < REGIONS_COUNTERS; i++) {
		lpfm_push_u64(L, rec->sum[i]);
		lua_rawseti(L, -2, i + 1);
	}
	lua_setfield(L, -2, "counts");
}

static void push_block(lua_State *L, const struct pfm_regions_result *result, const struct block *b)
{
	const struct record *records = (const void *)(b + 1);

	lua_createtable(L, 0, 7);
	lpfm_set_u64(L, "owner", b->owner);
	lpfm_set_u64(L, "pid", b->pid);
	lpfm_set_u64(L, "tid", b->tid);
	lpfm_set_text_of(L, "comm", b->comm, sizeof(b->comm));
	lpfm_set_text_of(L, "why", b->why, sizeof(b->why));
	lpfm_set_bool(L, "ended", b->ended != 0);
	lua_createtable(L, (int)b->used, 0);
	for (uint32_t i = 0; i < b->used; i++) {
		push_record(L, result, b, &records[i]);
		lua_rawseti(L, -2, (int)i + 1);
	}
	lua_setfield(L, -2, "regions");
}

/***
Reads a file.
@function read
@string path
@treturn[1] table `lost`: threads that were not measured, `why` the first was not, and `blocks`: of
`owner` (the same for all of one thread), `pid`, `tid`, `comm`, `ended`, `why` (its counters could
not be read any more; or ""), and `regions`: of `name`, `calls`, `ns`, `counts` (16, those of the
plan first), and numbers of mistakes: `inside` (never left), `strays` (left, never entered),
`crossed`, `unfinished` (ended with the thread), `forked` (its parent's)
@return[2] nil
@treturn[2] string message
@treturn[2] int errno
@usage
local regions = require "lpfm.regions"
local path = assert(regions.create "pmc 66 9\npmd 66\n")
print(#regions.read(path).blocks)
os.remove(path)
*/
static int read_file(lua_State *L)
{
	const char *path = lpfm_check_string(L, 1);
	struct pfm_regions_result result;
	const struct block *b;
	int n = 0;

	if (pfm_regions_open(path, &result))
		return lpfm_fail_errno(L, errno, "read: %s: %s", path, errno == EINVAL ? "not a file of regions" :
				       strerror(errno));
	lua_createtable(L, 0, 3);
	lpfm_set_u64(L, "lost", result.head->lost);
	lpfm_set_text_of(L, "why", result.head->why, sizeof(result.head->why));
	lua_newtable(L);
	for (uint64_t i = 0; i < result.blocks; i++) {
		b = pfm_regions_block(&result, i);
		if (b) {
			push_block(L, &result, b);
			lua_rawseti(L, -2, ++n);
		}
	}
	lua_setfield(L, -2, "blocks");
	pfm_regions_close(&result);
	return 1;
}

LPFM_EXPORT int luaopen_lpfm_regions(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "on", on }, { "create", create }, { "use", use }, { "finish", finish },
		{ "read", read_file }, { NULL, NULL }
	};

	lua_newtable(L);
	luaL_register(L, NULL, functions);
	lua_newtable(L);		/* the cache of ids by name */
	lua_pushvalue(L, -1);
	lua_pushcclosure(L, enter, 1);
	lua_setfield(L, -3, "enter");
	lua_pushcclosure(L, leave, 1);
	lua_setfield(L, -2, "leave");
	return 1;
}
