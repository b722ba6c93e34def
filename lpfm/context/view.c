// SPDX-License-Identifier: MIT
/* view.c - views of event sets: reads without a call. */
/***
Views of event sets: the PMDs of a set in mapped memory (2.2, fast user-level PMD read).

A thread that monitors itself reads its running counters without entering the kernel, if kernel and
processor permit that; otherwise a read is a read_pmds. The context must have been created with the
flag MAP_SETS. In LuaJIT, require("pfm.ffi").context(ctx):view() does the same without leaving
compiled code. Fields:

- direct: true if all PMDs of the set that are in use can be read without a call now. It is false if
  kernel.perf_user_access (arm64) or /sys/bus/event_source/devices/cpu/rdpmc (x86) is 0, and for
  software counters, virtual PMDs, and another thread's counters
- active: true if the set is the active one
- runs: how often the set became the active one
- set: its number

@classmod view
*/
#include <errno.h>
#include <string.h>

#include "base/args.h"
#include "base/object.h"
#include "base/result.h"
#include "base/u64.h"
#include "context/context.h"
#include "perfmon/perfmon_fast.h"

void lpfm_view_close(struct lpfm_view *v)
{
	struct lpfm_view **p = v->ctx ? &v->ctx->views : NULL;

	while (p && *p != v)
		p = &(*p)->next;
	if (p)
		*p = v->next;
	v->ctx = NULL;
	if (v->view.page)
		pfm_unmap_set(&v->view);
}

static void release(void *view)
{
	lpfm_view_close(view);
}

static const struct lpfm_class view_class = { "lpfm.view", release };

static struct lpfm_view *view_open(lua_State *L)
{
	struct lpfm_view *v = lpfm_object_check(L, 1, &view_class);

	if (!v->view.page)
		luaL_error(L, "the context is closed");
	return v;
}

/***
Maps the view of an event set.
@function context:view
@int[opt=0] set
@treturn[1] view with the fields direct, active, runs and set; open as long as the context is
@return[2] nil
@treturn[2] string message
@treturn[2] int errno: EINVAL: no such set, or the context was created without MAP_SETS; EPERM
@usage
local ctx = assert(require("lpfm").create { flags = { "MAP_SETS" } })
assert(ctx:write_pmds { { num = 66, value = 7 } })
assert(ctx:view():read(66) == 7)
ctx:close()
*/
static int context_view(lua_State *L)
{
	struct lpfm_context *ctx = lpfm_context_open(L, 1);
	uint16_t set = (uint16_t)lpfm_arg_opt_int(L, 2, "view", "set", 0, UINT16_MAX, 0);
	struct lpfm_view *v = lpfm_object_new(L, sizeof(*v));

	lpfm_object_anchor(L, 1);
	lpfm_object_arm(L, v, &view_class);
	if (pfm_map_set(ctx->fd, set, &v->view))
		return lpfm_fail(L, "view");
	v->ctx = ctx;
	v->next = ctx->views;
	ctx->views = v;
	return 1;
}

/***
Reads PMDs, all as of one moment.
@function view:read
@int ... numbers of 1 to 16 PMDs
@return[1] value of the first, value of the second, ...
@return[2] nil
@treturn[2] string message
@treturn[2] int errno, as context:read_pmds
@raise when the context is closed
@usage
local ctx = assert(require("lpfm").create { flags = { "MAP_SETS" } })
local view = assert(ctx:view())
local faults, clock = view:read(66, 64)
assert(faults == 0 and clock == 0)
ctx:close()
*/
static int view_read(lua_State *L)
{
	struct lpfm_view *v = view_open(L);
	int n = lua_gettop(L) - 1;

	if (n < 1 || n > LPFM_VIEW_MAX)
		return luaL_error(L, "read: 1 to %d PMDs expected, got %d", LPFM_VIEW_MAX, n);
	for (int i = 0; i < n; i++)
		v->nums[i] = (uint16_t)lpfm_arg_int(L, i + 2, "read", "PMD", 0, PFM_MAX_PMDS - 1);
	if (pfm_read_fast(&v->view, v->nums, v->values, n) < 0)
		return lpfm_fail(L, "read");
	luaL_checkstack(L, n, NULL);
	for (int i = 0; i < n; i++)
		lpfm_push_u64(L, v->values[i]);
	return n;
}

static int push_field(lua_State *L, const struct lpfm_view *v, const char *name)
{
	const pfm_set_view_t *page = v->view.page;

	if (!strcmp(name, "direct"))
		lua_pushboolean(L, page->set_status & PFM_SETVFL_DIRECT);
	else if (!strcmp(name, "active"))
		lua_pushboolean(L, page->set_status & PFM_SETVFL_ACTIVE);
	else if (!strcmp(name, "runs"))
		lpfm_push_nat(L, page->set_runs);
	else if (!strcmp(name, "set"))
		lua_pushinteger(L, v->view.set);
	else
		lua_pushnil(L);
	return 1;
}

/* The upvalue is the table of methods. */
static int view_index(lua_State *L)
{
	lua_pushvalue(L, 2);
	lpfm_upvalue_get(L);
	if (!lua_isnil(L, -1) || lua_type(L, 2) != LUA_TSTRING)
		return 1;
	return push_field(L, view_open(L), lua_tostring(L, 2));
}

static int view_tostring(lua_State *L)
{
	const struct lpfm_view *v = lpfm_object_check(L, 1, &view_class);

	if (!v->view.page)
		lua_pushliteral(L, "lpfm.view (closed)");
	else
		lua_pushfstring(L, "lpfm.view (set %d, %s)", (int)v->view.set,
				v->view.page->set_status & PFM_SETVFL_DIRECT ? "direct" : "by calls");
	return 1;
}

static const luaL_Reg methods[] = {
	{ "read", view_read },
	{ NULL, NULL }
};

static const luaL_Reg metas[] = {
	{ "__tostring", view_tostring },
	{ NULL, NULL }
};

static const luaL_Reg of_contexts[] = {
	{ "view", context_view },
	{ NULL, NULL }
};

void lpfm_open_view(lua_State *L)
{
	lpfm_class_new(L, &view_class, methods, metas);
	lpfm_class_index(L, &view_class, view_index);
	lpfm_class_methods(L, &lpfm_context_class, of_contexts);
}
