/* SPDX-License-Identifier: MIT */
/* pmu.c - the library of events itself: its current PMU model, its options, codes, errors. */
/***
@submodule lpfm
*/
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/args.h"
#include "base/field.h"
#include "base/perfmon.h"
#include "base/result.h"
#include "events/events.h"

/* --- the current model ---------------------------------------------------------------------- */

static void set_count(lua_State *L, const char *name, int (*get)(unsigned int *))
{
	unsigned int n = 0;

	if (get(&n) != PFMLIB_SUCCESS)
		return;
	lpfm_set_number(L, name, n);
}

static void set_registers(lua_State *L, const char *name, int (*get)(pfmlib_regmask_t *))
{
	pfmlib_regmask_t mask;

	if (get(&mask) != PFMLIB_SUCCESS)
		return;
	lpfm_push_regmask(L, &mask);
	lua_setfield(L, -2, name);
}

static void set_event(lua_State *L, const char *name, int (*get)(pfmlib_event_t *))
{
	pfmlib_event_t e;

	memset(&e, 0, sizeof(e));
	if (get(&e) != PFMLIB_SUCCESS)
		return;
	lpfm_push_event_name(L, &e);
	lua_setfield(L, -2, name);
}

/***
Returns the current PMU model. Event names without a model's name before them are its events.
@function lpfm.pmu
@treturn[1] table {name=, type=PFMLIB_*_PMU, num_events=, max_event_name=bytes, num_pmcs=,
num_pmds=, num_counters=, width=bits of a hardware counter, impl_pmcs=, impl_pmds=,
impl_counters=lists of numbers, cycle_event=, inst_retired_event=names, where there are such events}
@return[2] nil
@treturn[2] string message
@treturn[2] int errno
@treturn[2] string name of the library's error
@usage assert(require("lpfm").pmu().name)
*/
static int pmu(lua_State *L)
{
	char name[64] = "";
	size_t longest = 0;
	int type = 0, ret;

	lpfm_events_refresh(L);
	ret = pfm_get_pmu_name(name, sizeof(name));
	if (ret == PFMLIB_SUCCESS)
		ret = pfm_get_pmu_type(&type);
	if (ret != PFMLIB_SUCCESS)
		return lpfm_events_fail(L, "pmu", ret);
	lua_createtable(L, 0, 13);
	lpfm_set_text(L, "name", name);
	lpfm_set_number(L, "type", type);
	pfm_get_max_event_name_len(&longest);
	lpfm_set_number(L, "max_event_name", (lua_Number)longest);
	set_count(L, "num_events", pfm_get_num_events);
	set_count(L, "num_pmcs", pfm_get_num_pmcs);
	set_count(L, "num_pmds", pfm_get_num_pmds);
	set_count(L, "num_counters", pfm_get_num_counters);
	set_count(L, "width", pfm_get_hw_counter_width);
	set_registers(L, "impl_pmcs", pfm_get_impl_pmcs);
	set_registers(L, "impl_pmds", pfm_get_impl_pmds);
	set_registers(L, "impl_counters", pfm_get_impl_counters);
	set_event(L, "cycle_event", pfm_get_cycle_event);
	set_event(L, "inst_retired_event", pfm_get_inst_retired_event);
	return 1;
}

/***
Makes a PMU model the current one, whichever the machine has: event names without a model's name are
its events.
@function lpfm.force_pmu
@param[opt] model its name or PFMLIB_*_PMU number; without: the machine's again
@treturn[1] boolean true
@return[2] nil
@treturn[2] string message
@treturn[2] int errno: ENOENT, EOPNOTSUPP
@treturn[2] string name of the library's error
@usage
local lpfm = require "lpfm"
assert(lpfm.force_pmu("itanium2"))
assert(lpfm.event("L2_MISSES").pmu == "itanium2")
assert(lpfm.force_pmu())
*/
static int force_pmu(lua_State *L)
{
	int ret;

	lua_settop(L, 1);
	lpfm_events_refresh(L);
	if (lua_type(L, 1) == LUA_TNUMBER)
		ret = pfm_force_pmu((int)lpfm_arg_int(L, 1, "force_pmu", "model", INT32_MIN, INT32_MAX));
	else
		ret = pfm_force_pmu_byname(lpfm_opt_string(L, 1, NULL));
	if (ret != PFMLIB_SUCCESS)
		return lpfm_events_fail(L, "force_pmu", ret);
	return lpfm_true(L);
}

/* --- codes ---------------------------------------------------------------------------------- */

/***
Returns the events of the current PMU model that have a code. Software events are not among them:
their codes are numbers of PMCs.
@function lpfm.events_of_code
@int code as lpfm.event has it
@treturn {string,...} their names; an empty list if there are none
@usage
local lpfm = require "lpfm"
assert(lpfm.force_pmu("itanium2"))
assert(lpfm.events_of_code(lpfm.event_code("CPU_CYCLES"))[1] == "CPU_CYCLES")
assert(lpfm.force_pmu())
*/
static int events_of_code(lua_State *L)
{
	int code = (int)(unsigned int)lpfm_arg_int(L, 1, "events_of_code", "code", 0, UINT32_MAX), n = 0;
	pfmlib_event_t e;
	unsigned int i;

	lpfm_events_refresh(L);
	lua_newtable(L);
	memset(&e, 0, sizeof(e));
	for (int ret = pfm_find_event_bycode(code, &i); ret == PFMLIB_SUCCESS;
	     ret = pfm_find_event_bycode_next(code, i, &i)) {
		e.event = i;
		lpfm_push_event_name(L, &e);
		lua_rawseti(L, -2, ++n);
	}
	return 1;
}

/***
Returns the code of an event; on some models it depends on the counter.
@function lpfm.event_code
@string event its name
@int[opt] counter number of a PMD
@treturn[1] int code
@return[2] nil
@treturn[2] string message
@treturn[2] int errno: ENOENT, EINVAL
@treturn[2] string name of the library's error
@usage
local lpfm = require "lpfm"
local name = lpfm.events()[1]
assert(lpfm.event_code(name) == lpfm.event(name).code)
*/
static int event_code(lua_State *L)
{
	const char *name = lpfm_check_string(L, 1);
	int counter = (int)lpfm_arg_opt_int(L, 2, "event_code", "counter", 0, PFMLIB_REG_MAX - 1, -1);
	int code = 0, ret;
	unsigned int i;

	lpfm_events_refresh(L);
	ret = pfm_find_event(name, &i);
	if (ret == PFMLIB_SUCCESS)
		ret = counter < 0 ? pfm_get_event_code(i, &code)
				  : pfm_get_event_code_counter(i, (unsigned int)counter, &code);
	if (ret != PFMLIB_SUCCESS)
		return lpfm_events_fail(L, "event_code", ret);
	lua_pushnumber(L, (unsigned int)code);
	return 1;
}

/* --- the library ---------------------------------------------------------------------------- */

/***
Makes the event library log to stderr. LIBPFM_DEBUG and LIBPFM_VERBOSE in the environment take
precedence.
@function lpfm.event_options
@tparam table options
@bool[opt] options.debug
@bool[opt] options.verbose
@treturn boolean true
@usage require("lpfm").event_options { debug = false, verbose = false }
*/
static int event_options(lua_State *L)
{
	struct lpfm_site site = { .call = "event_options" };
	pfmlib_options_t options = { 0 };

	luaL_checktype(L, 1, LUA_TTABLE);
	for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) {
		const char *key = lpfm_field_name(L, -2, &site);

		if (strcmp(key, "debug") != 0 && strcmp(key, "verbose") != 0)
			lpfm_bad(L, &site, "unknown field '%s' (known: debug, verbose)", key);
	}
	options.pfm_debug = lpfm_bool_field(L, 1, "debug");
	options.pfm_verbose = lpfm_bool_field(L, 1, "verbose");
	lua_pushboolean(L, pfm_set_options(&options) == PFMLIB_SUCCESS);
	return 1;
}

/***
Explains an error of the event library.
@function lpfm.event_error
@param error its number, PFMLIB_ERR_*, or its name, as the fourth result of a failed call has it:
NOTSUPP, INVAL, NOINIT, NOTFOUND, NOASSIGN, FULL, EVTMANY, MAGIC, FEATCOMB, EVTSET, EVTINCOMP,
TOOMANY, IRRTOOBIG, IRREMPTY, IRRINVAL, IRRTOOMANY, DRRINVAL, DRRTOOMANY, BADHOST, IRRALIGN,
IRRFLAGS, UMASK, NOMEM
@treturn string text, nil for a name that is none
@usage
local lpfm = require "lpfm"
assert(lpfm.event_error("NOTFOUND") == lpfm.event_error(lpfm.const.PFMLIB_ERR_NOTFOUND))
*/
static int event_error(lua_State *L)
{
	int error;

	if (lua_type(L, 1) == LUA_TNUMBER)
		error = (int)lpfm_arg_int(L, 1, "event_error", "error", INT32_MIN, INT32_MAX);
	else
		error = lpfm_event_error_number(lpfm_check_string(L, 1));
	lua_pushstring(L, error == 1 ? NULL : pfm_strerror(error));
	return 1;
}

/***
Returns the version of the event library; its interface is libpfm 3's.
@function lpfm.event_version
@treturn int major
@treturn int minor
@usage assert(require("lpfm").event_version() == 3)
*/
static int event_version(lua_State *L)
{
	unsigned int version = 0;

	pfm_get_version(&version);
	lua_pushinteger(L, (lua_Integer)PFMLIB_MAJ_VERSION(version));
	lua_pushinteger(L, (lua_Integer)PFMLIB_MIN_VERSION(version));
	return 2;
}

const luaL_Reg lpfm_pmu_functions[] = {
	{ "event_code", event_code },
	{ "event_error", event_error },
	{ "event_options", event_options },
	{ "event_version", event_version },
	{ "events_of_code", events_of_code },
	{ "force_pmu", force_pmu },
	{ "pmu", pmu },
	{ NULL, NULL }
};
