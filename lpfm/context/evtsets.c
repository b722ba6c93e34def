/* SPDX-License-Identifier: MIT */
/* evtsets.c - the event sets of a context: 3.1.10 - 3.1.12. */
/***
@submodule context
*/
#include <errno.h>

#include "base/result.h"
#include "base/structs.h"
#include "base/u64.h"
#include "context/context.h"
#include "context/programming.h"

/***
Creates event sets, or changes their properties (specification 3.1.10).
@function context:create_evtsets
@tparam {table,...} list
@int list.id the set's number
@tparam[opt] {string,...} list.flags OVFL_SWITCH, TIME_SWITCH, EXPL_NEXT, EXCL_IDLE
@int[opt] list.timeout ns until the next set, with TIME_SWITCH
@int[opt] list.id_next the next set, with EXPL_NEXT
@treturn[1] table the effective timeouts in ns, in the order of the list
@return[2] nil
@treturn[2] string message, which names the first bad element
@treturn[2] int errno: EINVAL, EBUSY, ENOMEM, E2BIG
@raise on wrong types and unknown fields
@see context:getinfo_evtsets
@usage
local ctx = assert(require("lpfm").create {})
assert(ctx:create_evtsets { { id = 1, flags = { "TIME_SWITCH" }, timeout = 10000000 } })
assert(ctx:write_pmcs { { num = 66, value = 9, set = 1 } })
ctx:close()
*/
static int context_create_evtsets(lua_State *L)
{
	struct lpfm_context *ctx = lpfm_context_open(L, 1);
	pfarg_setdesc_t *v;
	int n, ret;

	v = lpfm_list_read(L, 2, &lpfm_set_struct, "create_evtsets", &n);
	if (!lpfm_table_reserve(&lpfm_context_open(L, 1)->programming.sets, (size_t)n))
		return lpfm_fail_errno(L, ENOMEM, "create_evtsets: not enough memory");
	ret = pfm_create_evtsets(ctx->fd, v, n);
	lpfm_programming_sets(&ctx->programming, v, lpfm_list_done(&lpfm_set_struct, v, n, ret));
	if (ret)
		return lpfm_fail_vector(L, "create_evtsets", &lpfm_set_struct, v, n);
	lua_createtable(L, n, 0);
	for (int i = 0; i < n; i++) {
		lpfm_push_nat(L, v[i].set_timeout);
		lua_rawseti(L, -2, i + 1);
	}
	return 1;
}

/***
Returns the state of event sets (specification 3.1.12).
@function context:getinfo_evtsets
@param list list of set ids
@treturn[1] table list of {id=, id_next=, flags=, ovfl_pmds=, runs=, timeout=ns left,
act_duration=ns, avail_pmcs=, avail_pmds=, mmap_offset=, lost=, throttled=, blind=, late=, gap=}
@return[2] nil
@treturn[2] string message
@treturn[2] int errno: EINVAL, E2BIG
@raise on wrong types
@usage
local ctx = assert(require("lpfm").create {})
assert(ctx:getinfo_evtsets({ 0 })[1].id == 0)
ctx:close()
*/
static int context_getinfo_evtsets(lua_State *L)
{
	pfarg_setinfo_t *v;
	int n;

	lpfm_context_open(L, 1);
	v = lpfm_list_read(L, 2, &lpfm_setinfo_struct, "getinfo_evtsets", &n);
	if (pfm_getinfo_evtsets(lpfm_context_fd(L, 1), v, n))
		return lpfm_fail_vector(L, "getinfo_evtsets", &lpfm_setinfo_struct, v, n);
	lpfm_list_push(L, &lpfm_setinfo_struct, v, n);
	return 1;
}

/***
Deletes event sets (specification 3.1.11). Set 0 cannot be deleted.
@function context:delete_evtsets
@param list list of set ids
@treturn[1] boolean true
@return[2] nil
@treturn[2] string message
@treturn[2] int errno: EINVAL, EBUSY, E2BIG
@raise on wrong types
@usage
local ctx = assert(require("lpfm").create {})
assert(ctx:create_evtsets { { id = 1 }, { id = 2 } })
assert(ctx:delete_evtsets { 2 })
ctx:close()
*/
static int context_delete_evtsets(lua_State *L)
{
	struct lpfm_context *ctx = lpfm_context_open(L, 1);
	pfarg_setdesc_t *v;
	int n, ret, done;

	v = lpfm_list_read(L, 2, &lpfm_deleted_set_struct, "delete_evtsets", &n);
	ret = pfm_delete_evtsets(lpfm_context_fd(L, 1), v, n);
	done = lpfm_list_done(&lpfm_deleted_set_struct, v, n, ret);
	for (int i = 0; i < done; i++)
		lpfm_programming_drop_set(&ctx->programming, v[i].set_id);
	return ret ? lpfm_fail_vector(L, "delete_evtsets", &lpfm_deleted_set_struct, v, n) : lpfm_true(L);
}

static const luaL_Reg methods[] = {
	{ "create_evtsets", context_create_evtsets },
	{ "delete_evtsets", context_delete_evtsets },
	{ "getinfo_evtsets", context_getinfo_evtsets },
	{ NULL, NULL }
};

void lpfm_open_evtsets(lua_State *L)
{
	lpfm_class_methods(L, &lpfm_context_class, methods);
}
