/* SPDX-License-Identifier: MIT */
/*
 * machine.c - the machine, its PMU, its configuration, its formats: 3.1.13, 3.1.14, 3.1.16, 3.5.2.
 */
/***
@submodule lpfm
*/
#include <string.h>

#include "base/args.h"
#include "base/field.h"
#include "base/result.h"
#include "base/structs.h"
#include "context/context.h"
#include "context/vector.h"

static void (*push_methods)(lua_State *L);

static bool is_simulated(const char *name)
{
	return name && !strncmp(name, "sim", 3) && (name[3] == ':' || !name[3]);
}

/*
 * Returns true for a simulated machine if its time passes only in machine:run(). That of
 * "sim:k8,live" passes by itself.
 */
bool lpfm_machine_is_sim(const char *name)
{
	return is_simulated(name) && !strchr(name, ',');
}

/* --- options: a table as "key=value,key=value" ---------------------------------------------- */

/* Replaces the value of the pair on top of the stack by "key=value". */
static void option_text(lua_State *L)
{
	static const struct lpfm_site site = { .call = "machine", .arg = "options" };
	int key = lua_gettop(L) - 1, value = key + 1;

	if (lua_type(L, key) != LUA_TSTRING || strpbrk(lpfm_to_string(L, key, &site), "=,"))
		lpfm_bad(L, &site, "the name of an option is a string without '=' and ','");
	if (!lua_isstring(L, value))
		lpfm_bad(L, &site, "%s: string or number expected, got %s", lua_tostring(L, key),
			 luaL_typename(L, value));
	lua_tostring(L, value); /* turns a number into a string */
	if (strchr(lpfm_to_string(L, value, &site), ','))
		lpfm_bad(L, &site, "%s: a value has no ','", lua_tostring(L, key));
	lua_pushfstring(L, "%s=%s", lua_tostring(L, key), lua_tostring(L, value));
	lua_replace(L, value);
}

/* Pushes the options in the table at idx as text. */
static const char *options_text(lua_State *L, int idx)
{
	int text;

	lua_pushliteral(L, "");
	text = lua_gettop(L);
	lua_pushnil(L);
	while (lua_next(L, idx)) {
		option_text(L);
		lua_pushfstring(L, "%s%s%s", lua_tostring(L, text),
				lua_objlen(L, text) ? "," : "", lua_tostring(L, -1));
		lua_replace(L, text);
		lua_pop(L, 1);
	}
	return lua_tostring(L, text);
}

static const char *options(lua_State *L, int idx)
{
	static const struct lpfm_site site = { .call = "machine", .arg = "options" };

	if (lua_isnoneornil(L, idx))
		return NULL;
	if (!lua_istable(L, idx))
		lpfm_bad_value(L, &site, "table", idx);
	return options_text(L, idx);
}

/* --- lpfm.machine --------------------------------------------------------------------------- */

static void set_text(lua_State *L, const char *name, const char *text)
{
	lpfm_set_text(L, name, text ? text : "");
}

/* tostring() of a simulated machine's table says first that it is simulated. */
static int simulated_text(lua_State *L)
{
	lua_getfield(L, 1, "name");
	lua_getfield(L, 1, "pmu");
	lua_getfield(L, 1, "hw_counters");
	lua_getfield(L, 1, "notes");
	lua_pushfstring(L, "simulated machine %s, PMU %s, %d hardware counters\n%s", luaL_optstring(L, 2, "?"),
			luaL_optstring(L, 3, "?"), (int)luaL_optinteger(L, 4, 0), luaL_optstring(L, 5, ""));
	return 1;
}

/* The registry has under this key the options with which a call has chosen the machine. */
static const char chosen_key[] = "lpfm.machine.options";

/* Keeps a copy of the options at idx, which are texts and numbers. */
static void keep_options(lua_State *L, int idx)
{
	lua_newtable(L);
	if (lua_istable(L, idx))
		for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
			lua_pushvalue(L, -2);
			lua_pushvalue(L, -2);
			lua_rawset(L, -5);
		}
	lua_setfield(L, LUA_REGISTRYINDEX, chosen_key);
}

static void push_machine(lua_State *L, const pfm_machine_info_t *info)
{
	lua_createtable(L, 0, 6);
	set_text(L, "name", info->name);
	set_text(L, "pmu", info->pmu);
	set_text(L, "notes", info->notes);
	set_text(L, "limits", info->limits);
	lpfm_set_number(L, "hw_counters", info->hw_counters);
	lua_getfield(L, LUA_REGISTRYINDEX, chosen_key);
	lua_setfield(L, -2, "options");
	if (!is_simulated(info->name))
		return;
	lua_createtable(L, 0, 2);
	lpfm_set_function(L, "__tostring", simulated_text);
	if (lpfm_machine_is_sim(info->name)) {
		push_methods(L);
		lua_setfield(L, -2, "__index");
	}
	lua_setmetatable(L, -2);
}

/***
Returns the machine on which contexts are created; if a name is given, chooses the machine first.
@function lpfm.machine
@string[opt] name "linux", "perf", "sim", or "sim:MODEL" (see @{machines}); "sim:MODEL,live" follows
real threads; without: LPFM_MACHINE in the environment, else linux or perf, whichever measures this
computer first
@tparam[opt] table options of the simulated computer (`lpfm.sim`)
@int[opt=1] options.cpus number of CPUs; 2 with ht
@int[opt=0] options.ht 1: HyperThreading, of netburst and em64t; CPUs 2k and 2k+1 are a core's
logical processors
@int[opt=1000] options.hz timer ticks a second
@int[opt=10] options.slice_ms ms of a time slice
@int[opt] options.slice_ns ns of a time slice
@int[opt=0] options.timer_ns ns that a tick costs
@int[opt=0] options.skid instructions between an overflow and its interrupt
@int[opt=4096] options.page_size bytes of a page
@int[opt] options.memlock bytes that may be locked; no limit if left out
@string[opt] options.l1d "SIZE:ASSOCIATIVITY:LINE", of l1i, l2, l3, itlb and dtlb, too; ":plru"
behind it: pseudo-LRU, or fifo, random; without: LRU; "0": there is none
@int[opt=0] options.prefetch 1: a miss of the L1D brings the next line, too; 2: so does the first
use of such a line
@int[opt=0] options.store_buffer stores that wait in a CPU's buffer while loads pass them, up to 64
@int[opt=0] options.interrupt_ns ns that each interrupt takes, by an overflow or a device, in the
time of the thread
@int[opt=0] options.explain 1: why accesses miss, and what loads see (`machine:explain`)
@treturn[1] table the machine; the simulated computer's has methods, too
@result name perf, linux, or sim:MODEL
@result pmu its PMU model
@result notes what cannot be measured here, and why
@result limits where it departs from the specification
@result hw_counters number of hardware counters
@result options those that it was chosen with; nil if no call has chosen it
@return[2] nil
@treturn[2] string message
@treturn[2] int errno: EINVAL, ENODEV
@raise on wrong types
@usage print(require("lpfm").machine().name)
*/
static int lpfm_machine(lua_State *L)
{
	pfm_machine_info_t info = { 0 };

	if (!lua_isnoneornil(L, 1)) {
		const char *name = lpfm_check_string(L, 1);

		if (pfm_set_machine(name, options(L, 2)))
			return lpfm_fail(L, "machine");
		keep_options(L, 2);
	}
	if (pfm_get_machine(&info))
		return lpfm_fail(L, "machine");
	push_machine(L, &info);
	return 1;
}

/***
Lists the names that @{machine} knows.
@function lpfm.machines
@treturn table list of names: "linux", "perf", "sim", and "sim:MODEL" for each model of the
simulated computer
@usage for _, name in ipairs(require("lpfm").machines()) do print(name) end
*/
static int lpfm_machines(lua_State *L)
{
	const char *name;

	lua_newtable(L);
	for (int i = 0; (name = pfm_machine_name(i)); i++) {
		lua_pushstring(L, name);
		lua_rawseti(L, -2, i + 1);
	}
	return 1;
}

/* --- lpfm.perf_event ------------------------------------------------------------------------ */

static uint64_t field_u64(lua_State *L, const char *name)
{
	const struct lpfm_site site = { .call = "perf_event", .field = name };
	uint64_t value;

	if (!lpfm_get_field(L, 1, name))
		return 0;
	value = lpfm_to_u64(L, -1, &site);
	lua_pop(L, 1);
	return value;
}

static uint32_t field_u32(lua_State *L, const char *name, uint32_t most)
{
	const struct lpfm_site site = { .call = "perf_event", .field = name };
	int64_t value;

	lua_getfield(L, 1, name);
	value = lpfm_to_int(L, -1, &site, 0, most);
	lua_pop(L, 1);
	return (uint32_t)value;
}

/* Returns the flags that the field "precise" stands for; 0 if the field is missing. */
static uint32_t field_precise(lua_State *L)
{
	if (!lpfm_get_field(L, 1, "precise"))
		return 0;
	lua_pop(L, 1);
	return PFM_PERF_PRECISE(field_u32(L, "precise", 3));
}

/***
Returns the value to write to a PMC from 96 to 127 so that the PMD with the same number counts an
event of the kernel: a tracepoint, or an event of a PMU that sysfs describes. The privilege levels
are added to the value, as with software counters: 8 for user, 1 for kernel.
@function lpfm.perf_event
@tparam table event as perf_event_open(2) has it; `pfm.events` makes it from a name
@int event.type number of the PMU: its `type` in /sys/bus/event_source/devices
@int[opt=0] event.config
@int[opt=0] event.config1
@int[opt=0] event.config2
@string[opt] event.filter of a tracepoint: "prev_prio < 100"
@string[opt] event.cpus "0-3,8": system-wide contexts on other CPUs count nothing
@bool[opt] event.alone true if the event cannot be in one group with others; it can be counted, and
cannot be sampled
@bool[opt] event.whole_cpus true if the event counts on a whole CPU, whatever runs there
@int[opt=0] event.precise the skid of samples, as precise_ip of perf_event_open(2): 1 it is
constant, 2 it is requested to be 0, 3 it is 0 (PEBS, IBS). Whether the machine can do that is known
only when the context is loaded
@treturn[1] int
@return[2] nil
@treturn[2] string message
@treturn[2] int errno: EOPNOTSUPP on other machines than perf; EINVAL
@raise on wrong types
@usage
local lpfm = require "lpfm"
lpfm.machine("perf")
local faults = assert(lpfm.perf_event { type = 1, config = 2 })
local ctx = assert(lpfm.create())
assert(ctx:write_pmcs { { num = 96, value = faults + 9 } })
ctx:close()
*/
static int lpfm_perf_event(lua_State *L)
{
	static const char *const fields[] = { "type", "config", "config1", "config2", "filter", "cpus", "alone",
					      "whole_cpus", "precise", NULL };
	pfm_perf_event_t event = { 0 };
	uint64_t value;

	lpfm_check_fields(L, 1, "perf_event", fields);
	event.type = field_u32(L, "type", UINT32_MAX);
	event.config = field_u64(L, "config");
	event.config1 = field_u64(L, "config1");
	event.config2 = field_u64(L, "config2");
	event.filter = lpfm_text_field(L, 1, "perf_event", "filter");
	event.cpus = lpfm_text_field(L, 1, "perf_event", "cpus");
	event.flags = (lpfm_bool_field(L, 1, "alone") ? PFM_PERF_ALONE : 0) | field_precise(L) |
		      (lpfm_bool_field(L, 1, "whole_cpus") ? PFM_PERF_WHOLE_CPUS : 0);
	if (pfm_perf_event(&event, &value))
		return lpfm_fail(L, "perf_event");
	lua_pushnumber(L, (lua_Number)value);
	return 1;
}

/* --- lpfm.config ---------------------------------------------------------------------------- */

/***
Returns the configuration of the perfmon core (specification 3.1.16, 3.1.17). If a table is given,
sets its fields first.
@function lpfm.config
@tparam[opt] table changes
@int[opt] changes.sys_gid group that may use system-wide contexts; -1: everyone
@int[opt] changes.thread_gid the same for contexts of threads
@int[opt] changes.arg_size_max bytes of a vector at most
@int[opt] changes.smpl_buf_size_max bytes of all sampling buffers at most
@int[opt] changes.ovfl_rate_max overflows a second at most; 0: no limit
@param[opt] changes.flags flags of the configuration
@treturn[1] table these, and version, impl_pmcs, impl_pmds (register numbers), counter_width (bits),
smpl_buf_size_cur (bytes), thread_sessions, sys_sessions, pmu
@return[2] nil
@treturn[2] string message
@treturn[2] int errno: EPERM, EINVAL
@raise on wrong types and unknown fields
@usage assert(require("lpfm").config().arg_size_max >= 4096)
*/
static int lpfm_config(lua_State *L)
{
	struct lpfm_site site = { .call = "config" };
	pfarg_config_t cfg = { 0 };

	if (pfm_get_config(&cfg))
		return lpfm_fail(L, "config");
	if (!lua_isnoneornil(L, 1)) {
		lpfm_struct_read(L, 1, &lpfm_config_struct, &cfg, &site);
		if (pfm_set_config(&cfg) || pfm_get_config(&cfg))
			return lpfm_fail(L, "config");
	}
	lpfm_struct_push(L, &lpfm_config_struct, &cfg);
	return 1;
}

/* --- lpfm.pmcs, lpfm.pmds ------------------------------------------------------------------- */

typedef int getinfo_fn(pfarg_reginfo_t *v, int n);

/* Requests the registers in pieces, because a vector has a maximal size in bytes (4.4.2). */
static int getinfo(getinfo_fn *get, pfarg_reginfo_t *v, int n, uint64_t arg_size_max)
{
	uint64_t max = arg_size_max / sizeof(*v);
	int piece = max > 0 && max < PFM_MAX_PMDS ? (int)max : PFM_MAX_PMDS;

	for (int i = 0; i < n; i += piece)
		if (get(&v[i], n - i < piece ? n - i : piece))
			return -1;
	return 0;
}

static int push_registers(lua_State *L, const char *call, getinfo_fn *get, bool pmcs)
{
	pfarg_reginfo_t *v;
	pfarg_config_t cfg = { 0 };
	int n = 0;

	if (pfm_get_config(&cfg))
		return lpfm_fail(L, call);
	v = lua_newuserdata(L, PFM_MAX_PMDS * sizeof(*v));
	memset(v, 0, PFM_MAX_PMDS * sizeof(*v));
	for (unsigned int num = 0; num < PFM_MAX_PMDS; num++) {
		const uint64_t *bv = pmcs ? cfg.cf_impl_pmcs : cfg.cf_impl_pmds;

		if (bv[num / 64] >> (num % 64) & 1)
			v[n++].reg_num = (uint16_t)num;
	}
	if (getinfo(get, v, n, cfg.cf_arg_size_max))
		return lpfm_fail_vector(L, call, &lpfm_reginfo_struct, v, n);
	lpfm_list_push(L, &lpfm_reginfo_struct, v, n);
	return 1;
}

/***
Lists this machine's PMC registers (specification 3.1.13). If a list is given, returns a prepared
vector of the registers that it names.
@function lpfm.pmcs
@tparam[opt] {table,...} list as for `context:write_pmcs`
@treturn {table,...}|vector list of
{num=, name=, type="MSR", kind={"C64", ...}, def_value=, rsvd_mask=, index=, width=bits, ctrl=}; or
the vector
@raise on wrong types and unknown fields
@see vector
@usage for _, pmc in ipairs(require("lpfm").pmcs()) do assert(pmc.num and pmc.name) end
*/
static int lpfm_pmcs(lua_State *L)
{
	if (lua_isnoneornil(L, 1))
		return push_registers(L, "pmcs", pfm_getinfo_pmcs, true);
	lpfm_vector_new(L, 1, &lpfm_pmcs_class, &lpfm_pmc_struct, "pmcs");
	return 1;
}

/***
Lists this machine's PMD registers (specification 3.1.14). If a list is given, returns a prepared
vector of the registers that it names.
@function lpfm.pmds
@tparam[opt] {table,...} list numbers, or tables as for `context:write_pmds`
@treturn {table,...}|vector list as of `lpfm.pmcs`, ctrl being the PMC that controls the PMD; or the
vector
@raise on wrong types and unknown fields
@see vector
@usage
local lpfm = require "lpfm"
assert(#lpfm.pmds() > 0)
assert(#lpfm.pmds { 64, 65 } == 2)
*/
static int lpfm_pmds(lua_State *L)
{
	if (lua_isnoneornil(L, 1))
		return push_registers(L, "pmds", pfm_getinfo_pmds, false);
	lpfm_vector_new(L, 1, &lpfm_pmds_class, &lpfm_pmd_struct, "pmds");
	return 1;
}

/* --- lpfm.formats --------------------------------------------------------------------------- */

/***
Lists the sampling formats of this machine (specification 3.5.2).
@function lpfm.formats
@treturn[1] table list of {name=, uuid=, version=, flags=, arg_size=bytes}
@return[2] nil
@treturn[2] string message
@treturn[2] int errno
@usage assert(require("lpfm").formats()[1].uuid)
*/
static int lpfm_formats(lua_State *L)
{
	pfarg_fmtinfo_t *v;
	int room = pfm_getinfo_fmts(NULL, 0), n;

	if (room < 0)
		return lpfm_fail(L, "formats");
	v = lua_newuserdata(L, (size_t)(room + 1) * sizeof(*v));
	memset(v, 0, (size_t)room * sizeof(*v));
	n = pfm_getinfo_fmts(v, room);
	if (n < 0)
		return lpfm_fail(L, "formats");
	lpfm_list_push(L, &lpfm_fmt_struct, v, n < room ? n : room);
	return 1;
}

static const luaL_Reg functions[] = {
	{ "config", lpfm_config },
	{ "formats", lpfm_formats },
	{ "machine", lpfm_machine },
	{ "machines", lpfm_machines },
	{ "perf_event", lpfm_perf_event },
	{ "pmcs", lpfm_pmcs },
	{ "pmds", lpfm_pmds },
	{ NULL, NULL }
};

void lpfm_open_machine(lua_State *L, void (*push_sim)(lua_State *L))
{
	push_methods = push_sim;
	luaL_register(L, NULL, functions);
}
