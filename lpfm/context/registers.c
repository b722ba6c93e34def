/* SPDX-License-Identifier: MIT */
/* registers.c - the register vectors of a context: 3.1.2 - 3.1.4. */
/***
@submodule context
*/
#include <errno.h>
#include <string.h>

#include "base/object.h"
#include "base/result.h"
#include "base/structs.h"
#include "base/u64.h"
#include "context/context.h"
#include "context/programming.h"
#include "context/vector.h"

/* Vectors with no more elements than this are read into the C stack. */
enum { SMALL = 8 };

/* Returns the vector at 2: a prepared one, or a new userdata made from a list. */
static void *vector_arg(lua_State *L, const struct lpfm_class *class, const struct lpfm_struct *rec,
			const char *call, int *n)
{
	struct lpfm_vector *v = lpfm_object_test(L, 2, class);

	if (!v)
		return lpfm_list_read(L, 2, rec, call, n);
	*n = v->n;
	return v->data;
}

/***
Writes PMC registers: what to count (specification 3.1.2).
@function context:write_pmcs
@tparam {table,...} list or a vector of `lpfm.pmcs`
@int list.num the register's number
@param list.value what to write
@int[opt=0] list.set the event set
@tparam[opt] {string,...} list.flags NO_EMUL64
@treturn[1] boolean true
@return[2] nil
@treturn[2] string message, which names the first bad element; those before it are written
@treturn[2] int errno: EINVAL, E2BIG, EBUSY, ESRCH
@raise on wrong types and unknown fields
@usage
local ctx = assert(require("lpfm").create {})
assert(ctx:write_pmcs { { num = 66, value = 9 } })
ctx:close()
*/
static int context_write_pmcs(lua_State *L)
{
	struct lpfm_context *ctx = lpfm_context_open(L, 1);
	pfarg_pmc_t small[SMALL], *asked = small, *v;
	int n, ret;

	v = vector_arg(L, &lpfm_pmcs_class, &lpfm_pmc_struct, "write_pmcs", &n);
	if (n > SMALL)
		asked = lua_newuserdata(L, (size_t)n * sizeof(*v));
	/* a copy, because the call stores in v the bits that programs cannot change */
	memcpy(asked, v, (size_t)n * sizeof(*v));
	if (!lpfm_table_reserve(&lpfm_context_open(L, 1)->programming.pmcs, (size_t)n))
		return lpfm_fail_errno(L, ENOMEM, "write_pmcs: not enough memory");
	ret = pfm_write_pmcs(ctx->fd, v, n);
	lpfm_programming_pmcs(&ctx->programming, asked, lpfm_list_done(&lpfm_pmc_struct, v, n, ret));
	return ret ? lpfm_fail_vector(L, "write_pmcs", &lpfm_pmc_struct, v, n) : lpfm_true(L);
}

/***
Writes PMD registers: where counting begins, periods, what is sampled (specification 3.1.3).
@function context:write_pmds
@tparam {table,...} list or a vector of `lpfm.pmds`
@int list.num the register's number
@param list.value what to write; a sampling period p is written as -p
@param[opt] list.long_reset value after an overflow that ended in `context:restart`
@param[opt] list.short_reset value after any other overflow
@tparam[opt] {int,...} list.reset_pmds PMDs that are reset when this one overflows
@tparam[opt] {int,...} list.smpl_pmds PMDs recorded in each sample
@tparam[opt] {string,...} list.flags OVFL_NOTIFY: a message at each overflow; RANDOM: randomized
periods
@param[opt] list.random_mask the bits of the period that are random
@int[opt] list.random_seed seed of the generator
@int[opt] list.switch_cnt overflows until the next set, for sets with OVFL_SWITCH
@int[opt] list.eventid a number handed to the format
@int[opt=0] list.set the event set
@treturn[1] boolean true
@return[2] nil
@treturn[2] string message, which names the first bad element; those before it are written
@treturn[2] int errno: EINVAL, E2BIG, EBUSY, ESRCH
@raise on wrong types and unknown fields
@usage
local ctx = assert(require("lpfm").create {})
assert(ctx:write_pmds { { num = 66, value = -1000, long_reset = -1000 } })
ctx:close()
*/
static int context_write_pmds(lua_State *L)
{
	struct lpfm_context *ctx = lpfm_context_open(L, 1);
	pfarg_pmd_t *v;
	int n, ret;

	v = vector_arg(L, &lpfm_pmds_class, &lpfm_pmd_struct, "write_pmds", &n);
	if (!lpfm_table_reserve(&lpfm_context_open(L, 1)->programming.pmds, (size_t)n))
		return lpfm_fail_errno(L, ENOMEM, "write_pmds: not enough memory");
	ret = pfm_write_pmds(ctx->fd, v, n);
	lpfm_programming_pmds(&ctx->programming, v, lpfm_list_done(&lpfm_pmd_struct, v, n, ret));
	return ret ? lpfm_fail_vector(L, "write_pmds", &lpfm_pmd_struct, v, n) : lpfm_true(L);
}

/* Reads a prepared vector, without a table or an allocation. */
static inline int read_prepared(lua_State *L, int fd, struct lpfm_vector *v)
{
	pfarg_pmd_t *pmds = (pfarg_pmd_t *)v->data;
	int n = v->n;

	if (n > LUA_MINSTACK / 2)
		luaL_checkstack(L, n + 4, "too many values to return");
	if (lpfm_vector_read(fd, v))
		return lpfm_fail_vector(L, "read_pmds", v->rec, pmds, n);
	for (int i = 0; i < n; i++)
		lpfm_push_u64(L, pmds[i].reg_value);
	return n;
}

/***
Reads PMD registers (specification 3.1.4).
@function context:read_pmds
@tparam {table,...} list tables, or plain numbers of registers: the result is a list of tables
{num=, set=, value=, last_reset=, switch_cnt=}. Or a vector of `lpfm.pmds`: its values are returned
one after the other, without allocation
@int list.num the register's number
@int[opt=0] list.set the event set
@tparam[opt] {string,...} list.flags READ_RESET: after all PMDs are read, this one and its
reset_pmds get a long reset (6.2.2); OWN: with INHERIT, for a PMD that was written with OWN, the
value is the thread's own count, and not the sum with its children's. Flags of write_pmds are
accepted, as in 2.x, and have no effect
@return[1] results
@return[2] nil
@treturn[2] string message, which names the first bad element
@treturn[2] int errno: EINVAL, E2BIG, ESRCH; EBUSY, or EIO on machine perf, if others had a counter
for some of the time
@return[2] with EBUSY and EIO: the results, which lack that time; `blind` of getinfo_evtsets says
how long it was
@raise on wrong types and unknown fields
@usage
local lpfm = require "lpfm"
local ctx = assert(lpfm.create {})
assert(ctx:write_pmds { { num = 66, value = 7 } })
assert(ctx:read_pmds({ 66 })[1].value == 7)
assert(ctx:read_pmds(lpfm.pmds { 66 }) == 7)
ctx:close()
*/
static int context_read_pmds(lua_State *L)
{
	struct lpfm_context *ctx = lpfm_context_open(L, 1);
	struct lpfm_vector *prepared = lpfm_object_test(L, 2, &lpfm_pmds_class);
	pfarg_pmd_t small[SMALL], *v;
	int n, n_failure;
	bool is_short;

	if (prepared)
		return read_prepared(L, ctx->fd, prepared);
	v = lpfm_list_read_small(L, 2, &lpfm_read_struct, "read_pmds", &n, small, sizeof(small));
	if (!pfm_read_pmds(lpfm_context_fd(L, 1), v, n)) {
		lpfm_list_push(L, &lpfm_read_struct, v, n);
		return 1;
	}
	is_short = errno == EBUSY || errno == EIO;
	n_failure = lpfm_fail_vector(L, "read_pmds", &lpfm_read_struct, v, n);
	if (!is_short)
		return n_failure;
	lpfm_list_push(L, &lpfm_read_struct, v, n);
	return n_failure + 1;
}

/* The upvalues are the context and the vector. */
static int reader_call(lua_State *L)
{
	int fd = lpfm_context_fd(L, lua_upvalueindex(1));

	return read_prepared(L, fd, lpfm_object_check(L, lua_upvalueindex(2), &lpfm_pmds_class));
}

/***
Makes a function that reads a prepared vector, as read_pmds does, without looking up method, context
and vector at each call.
@function context:reader
@tparam vector v of lpfm.pmds
@treturn function without arguments; returns the values, or nil, message, errno, and raises when the
context is closed
@raise on wrong types
@usage
local lpfm = require "lpfm"
local ctx = assert(lpfm.create {})
assert(ctx:write_pmds { { num = 66, value = 7 } })
local read = ctx:reader(lpfm.pmds { 66 })
assert(read() == 7)
ctx:close()
*/
static int context_reader(lua_State *L)
{
	lpfm_context_open(L, 1);
	lpfm_object_check(L, 2, &lpfm_pmds_class);
	lua_pushvalue(L, 1);
	lua_pushvalue(L, 2);
	lua_pushcclosure(L, reader_call, 2);
	return 1;
}

/***
Reads PMD registers into a prepared vector: the cheapest read. The values are then in the vector.
@function context:read_into
@tparam vector v of lpfm.pmds
@treturn[1] boolean true
@return[2] nil
@treturn[2] string message
@treturn[2] int errno: as of `context:read_pmds`
@raise on wrong types
@usage
local lpfm = require "lpfm"
local ctx = assert(lpfm.create {})
local v = lpfm.pmds { 66 }
assert(ctx:write_pmds { { num = 66, value = 7 } })
assert(ctx:read_into(v) and v[1] == 7)
ctx:close()
*/
static int context_read_into(lua_State *L)
{
	int fd = lpfm_context_fd(L, 1);
	struct lpfm_vector *v = lpfm_object_check(L, 2, &lpfm_pmds_class);

	return lpfm_vector_read(fd, v) ? lpfm_fail_vector(L, "read_into", v->rec, v->data, v->n) : lpfm_true(L);
}

/***
Reads PMD registers into a list of plain values.
@function context:read_values
@tparam {table,...} list as for `context:read_pmds`, also a vector of `lpfm.pmds`
@treturn[1] table values, in the order of the list
@return[2] nil
@treturn[2] string message
@treturn[2] int errno: as of `context:read_pmds`
@usage
local ctx = assert(require("lpfm").create {})
assert(ctx:write_pmds { { num = 66, value = 7 }, { num = 65, value = 8 } })
local values = assert(ctx:read_values { 65, 66 })
assert(values[1] == 8 and values[2] == 7)
ctx:close()
*/
static int context_read_values(lua_State *L)
{
	struct lpfm_context *ctx = lpfm_context_open(L, 1);
	struct lpfm_vector *prepared = lpfm_object_test(L, 2, &lpfm_pmds_class);
	pfarg_pmd_t small[SMALL], *v;
	int n, ret;

	if (prepared) {
		n = prepared->n;
		v = (pfarg_pmd_t *)prepared->data;
		ret = lpfm_vector_read(ctx->fd, prepared);
	} else {
		v = lpfm_list_read_small(L, 2, &lpfm_read_struct, "read_values", &n, small, sizeof(small));
		ret = pfm_read_pmds(lpfm_context_fd(L, 1), v, n);
	}
	if (ret)
		return lpfm_fail_vector(L, "read_values", &lpfm_read_struct, v, n);
	lua_createtable(L, n, 0);
	for (int i = 0; i < n; i++) {
		lpfm_push_u64(L, v[i].reg_value);
		lua_rawseti(L, -2, i + 1);
	}
	return 1;
}

static const luaL_Reg methods[] = {
	{ "read_into", context_read_into },
	{ "read_pmds", context_read_pmds },
	{ "read_values", context_read_values },
	{ "reader", context_reader },
	{ "write_pmcs", context_write_pmcs },
	{ "write_pmds", context_write_pmds },
	{ NULL, NULL }
};

void lpfm_open_registers(lua_State *L)
{
	lpfm_class_methods(L, &lpfm_context_class, methods);
}
