/* SPDX-License-Identifier: MIT */
/*
 * dispatch.c - from events to registers: dispatch, the split into sets, and which events can be
 * counted together.
 */
/***
@submodule lpfm
*/
#include <errno.h>
#include <string.h>

#include "base/args.h"
#include "base/field.h"
#include "base/object.h"
#include "base/perfmon.h"
#include "events/events.h"

/* A request: the input for pfmlib, and for each name, which events of the input it stands for. */
struct request {
	pfmlib_input_param_t	in;
	pfmlib_output_param_t	out;
	unsigned int		names;
	struct {
		/* the terms of a name: index of the first in term, and how many there are */
		uint16_t	first, count;
		char		formula[96];
	} name[PFMLIB_MAX_PMCS];
	/* index into in.pfp_events */
	uint16_t		term[PFMLIB_MAX_PMCS * PFMLIB_MAX_TERMS];
	unsigned int		terms;
};

/* --- reading a request ---------------------------------------------------------------------- */

/* Returns the privilege levels "u", "k", "uk", digits 0 to 3, or a number, as PFM_PLM* bits. */
static unsigned int to_levels(lua_State *L, int idx, const struct lpfm_site *site)
{
	unsigned int plm = 0;
	const char *text;

	if (lua_type(L, idx) == LUA_TNUMBER)
		return (unsigned int)lpfm_to_int(L, idx, site, 1, 15);
	if (lua_type(L, idx) != LUA_TSTRING)
		lpfm_bad_value(L, site, "levels, as in \"u\" or \"uk\",", idx);
	for (text = lpfm_to_string(L, idx, site); *text; text++) {
		if (*text == 'u')
			plm |= PFM_PLM3;
		else if (*text == 'k')
			plm |= PFM_PLM0;
		else if (*text >= '0' && *text <= '3')
			plm |= 1U << (*text - '0');
		else
			lpfm_bad_value(L, site, "levels, as in \"u\" or \"uk\",", idx);
	}
	return plm;
}

static bool same_event(const pfmlib_event_t *a, const pfmlib_event_t *b)
{
	return a->event == b->event && a->plm == b->plm && a->num_masks == b->num_masks &&
		memcmp(a->unit_masks, b->unit_masks, a->num_masks * sizeof(a->unit_masks[0])) == 0;
}

/*
 * Adds an event to the input, and returns its index. If share is true, and the event is in the
 * input already, it is not added again.
 */
static unsigned int place_event(struct request *r, const pfmlib_event_t *e, bool share)
{
	unsigned int i = 0;

	while (share && i < r->in.pfp_event_count && !same_event(&r->in.pfp_events[i], e))
		i++;
	if (!share)
		i = r->in.pfp_event_count;
	if (i == r->in.pfp_event_count && i < PFMLIB_MAX_PMCS)
		r->in.pfp_events[r->in.pfp_event_count++] = *e;
	return i;
}

static int add_name(struct request *r, const char *pmu, const char *name, unsigned int plm)
{
	pfmlib_expansion_t x;
	int ret = pfm_expand_event(pmu, name, &x);

	if (ret != PFMLIB_SUCCESS)
		return ret;
	if (r->names == PFMLIB_MAX_PMCS || r->in.pfp_event_count + x.count > PFMLIB_MAX_PMCS)
		return PFMLIB_ERR_TOOMANY;
	r->name[r->names].first = r->terms;
	r->name[r->names].count = x.count;
	memcpy(r->name[r->names].formula, x.formula, sizeof(x.formula));
	for (unsigned int i = 0; i < x.count; i++) {
		if (!x.events[i].plm)
			x.events[i].plm = plm;
		r->term[r->terms++] = place_event(r, &x.events[i], x.formula[0] != '\0');
	}
	r->names++;
	return PFMLIB_SUCCESS;
}

/* Adds a name or {name=, plm=}, which is on top of the stack. */
static int add_element(lua_State *L, struct request *r, const char *pmu, struct lpfm_site *site)
{
	unsigned int plm = 0;
	int ret;

	if (lua_type(L, -1) == LUA_TTABLE) {
		site->field = "plm";
		lua_getfield(L, -1, "plm");
		if (!lua_isnil(L, -1))
			plm = to_levels(L, -1, site);
		lua_pop(L, 1);
		site->field = "name";
		lua_getfield(L, -1, "name");
	} else {
		lua_pushvalue(L, -1);
	}
	if (lua_type(L, -1) != LUA_TSTRING)
		lpfm_bad_value(L, site, "event name", -1);
	ret = add_name(r, pmu, lpfm_to_string(L, -1, site), plm);
	lua_pop(L, 1);
	site->field = NULL;
	return ret;
}

static int read_events(lua_State *L, int idx, struct request *r, const char *pmu, const char *call)
{
	struct lpfm_site site = { .call = call, .field = "events" };
	int n, ret = PFMLIB_SUCCESS;

	lua_getfield(L, idx, "events");
	if (lua_type(L, -1) != LUA_TTABLE)
		lpfm_bad_value(L, &site, "list of event names", -1);
	n = (int)lua_objlen(L, -1);
	site.field = NULL;
	for (int i = 1; ret == PFMLIB_SUCCESS && i <= n; i++) {
		site.element = i;
		lua_rawgeti(L, -1, i);
		ret = add_element(L, r, pmu, &site);
		lua_pop(L, 1);
	}
	lua_pop(L, 1);
	return ret;
}

static void read_unavail(lua_State *L, int idx, struct request *r, const char *call)
{
	struct lpfm_site site = { .call = call, .field = "unavail" };
	int n;

	lua_getfield(L, idx, "unavail");
	if (!lua_isnil(L, -1) && lua_type(L, -1) != LUA_TTABLE)
		lpfm_bad_value(L, &site, "list of PMC numbers", -1);
	n = lua_isnil(L, -1) ? 0 : (int)lua_objlen(L, -1);
	for (int i = 1; i <= n; i++) {
		site.element = i;
		lua_rawgeti(L, -1, i);
		pfm_regmask_set(&r->in.pfp_unavail_pmcs,
				(unsigned int)lpfm_to_int(L, -1, &site, 0, PFMLIB_REG_MAX - 1));
		lua_pop(L, 1);
	}
	lua_pop(L, 1);
}

/*
 * Reads the options at idx as a request into a userdata, which is pushed; *ret receives the
 * library's status.
 */
static struct request *read_request(lua_State *L, int idx, const char *call, bool options, int *ret)
{
	/* the options of Itaniums come first; they are in ia64_options.c */
	static const char *const names[] = {
		"itanium", "itanium2", "montecito", "events", "plm", "unavail", "pmu", "system_wide", NULL
	};
	struct lpfm_site site = { .call = call, .field = "plm" };
	struct request *r;

	lpfm_events_refresh(L);
	lpfm_check_fields(L, idx, call, options ? names : names + 3);
	r = lua_newuserdata(L, sizeof(*r));
	memset(r, 0, sizeof(*r));
	r->in.pfp_dfl_plm = PFM_PLM3;
	if (lpfm_get_field(L, idx, "plm")) {
		r->in.pfp_dfl_plm = to_levels(L, -1, &site);
		lua_pop(L, 1);
	}
	r->in.pfp_flags = lpfm_bool_field(L, idx, "system_wide") ? PFMLIB_PFP_SYSTEMWIDE : 0;
	read_unavail(L, idx, r, call);
	*ret = read_events(L, idx, r, lpfm_text_field(L, idx, call, "pmu"), call);
	return r;
}

/* --- results -------------------------------------------------------------------------------- */

static void push_pmcs(lua_State *L, const pfmlib_output_param_t *out)
{
	lua_createtable(L, out->pfp_pmc_count, 0);
	for (unsigned int i = 0; i < out->pfp_pmc_count; i++) {
		lpfm_push_pmc(L, out->pfp_pmcs[i].reg_num, out->pfp_pmcs[i].reg_value);
		lua_rawseti(L, -2, i + 1);
	}
}

static void push_pmds(lua_State *L, const pfmlib_output_param_t *out)
{
	lua_createtable(L, out->pfp_pmd_count, 0);
	for (unsigned int i = 0; i < out->pfp_pmd_count; i++) {
		lua_pushinteger(L, out->pfp_pmds[i].reg_num);
		lua_rawseti(L, -2, i + 1);
	}
}

static void push_events(lua_State *L, const pfmlib_input_param_t *in)
{
	lua_createtable(L, in->pfp_event_count, 0);
	for (unsigned int i = 0; i < in->pfp_event_count; i++) {
		lpfm_push_event_name(L, &in->pfp_events[i]);
		lua_rawseti(L, -2, i + 1);
	}
}

/*
 * Pushes {addr=, alt_addr=} for each register, with the addresses of the actual registers, if there
 * are any.
 */
static void push_addresses(lua_State *L, const pfmlib_reg_t *regs, unsigned int n)
{
	lua_createtable(L, (int)n, 0);
	for (unsigned int i = 0; i < n; i++) {
		lua_createtable(L, 0, 2);
		lpfm_set_u64(L, "addr", regs[i].reg_addr);
		lpfm_set_u64(L, "alt_addr", regs[i].reg_alt_addr);
		lua_rawseti(L, -2, (int)i + 1);
	}
}

/* Pushes {pmcs=, pmds=, events=, pmc_addrs=, pmd_addrs=}. */
static void push_result(lua_State *L, const pfmlib_input_param_t *in, const pfmlib_output_param_t *out)
{
	lua_createtable(L, 0, 5);
	push_pmcs(L, out);
	lua_setfield(L, -2, "pmcs");
	push_pmds(L, out);
	lua_setfield(L, -2, "pmds");
	push_events(L, in);
	lua_setfield(L, -2, "events");
	push_addresses(L, out->pfp_pmcs, out->pfp_pmc_count);
	lua_setfield(L, -2, "pmc_addrs");
	push_addresses(L, out->pfp_pmds, out->pfp_pmd_count);
	lua_setfield(L, -2, "pmd_addrs");
}

/* Pushes the i-th name of the request, which is in the table of options at idx. */
static void push_asked_name(lua_State *L, int idx, unsigned int i)
{
	lua_getfield(L, idx, "events");
	lua_rawgeti(L, -1, i + 1);
	if (lua_istable(L, -1)) {
		lua_getfield(L, -1, "name");
		lua_remove(L, -2);
	}
	lua_remove(L, -2);
}

/* The registry has under this key the names from which values of PMCs were made. */
static const char names_key[] = "lpfm.event_names";

/* Pushes the table of names, and the key of a PMC's value in it. */
static void push_name_key(lua_State *L, unsigned int num, uint64_t value)
{
	const uint64_t key[] = { num, value };

	lpfm_registry_table(L, names_key);
	lua_pushlstring(L, (const char *)key, sizeof(key));
}

/*
 * Keeps the names of the request for event_name(): each for the PMC with the number of its first
 * event's PMD. If there is no such PMC, the name is not kept.
 */
static void keep_names(lua_State *L, int idx, const struct request *r)
{
	for (unsigned int i = 0; i < r->names; i++) {
		uint16_t pmd = r->out.pfp_pmds[r->term[r->name[i].first]].reg_num;

		for (unsigned int j = 0; j < r->out.pfp_pmc_count; j++) {
			if (r->out.pfp_pmcs[j].reg_num != pmd)
				continue;
			push_name_key(L, pmd, r->out.pfp_pmcs[j].reg_value);
			push_asked_name(L, idx, i);
			lua_rawset(L, -3);
			lua_pop(L, 1);
		}
	}
}

/***
Returns the name from which `dispatch_events` has made a value of a PMC; if there are several, the
last one.
@function lpfm.event_name
@int num number of the PMC
@param value what is written to it
@treturn ?string nil if no call has made this value
@usage
local lpfm = require "lpfm"
lpfm.machine("sim:k8")
local pmc = assert(lpfm.dispatch_events { events = { "RETIRED_INSTRUCTIONS" } }).pmcs[1]
assert(lpfm.event_name(pmc.num, pmc.value) == "RETIRED_INSTRUCTIONS")
*/
static int event_name(lua_State *L)
{
	static const struct lpfm_site site = { .call = "event_name", .arg = "value" };
	unsigned int num = (unsigned int)lpfm_arg_int(L, 1, "event_name", "num", 0, PFMLIB_REG_MAX - 1);

	push_name_key(L, num, lpfm_to_u64(L, 2, &site));
	lua_rawget(L, -2);
	return 1;
}

/*
 * Pushes a list with {name=, formula=, terms=} for each name; terms is a list of {event=, pmd=,
 * set=}.
 */
static void push_counters(lua_State *L, int idx, const struct request *r, const unsigned int *set_of,
			  const unsigned int *pmd_of)
{
	lua_createtable(L, r->names, 0);
	for (unsigned int i = 0; i < r->names; i++) {
		lua_createtable(L, 0, 3);
		push_asked_name(L, idx, i);
		lua_setfield(L, -2, "name");
		if (r->name[i].formula[0])
			lpfm_set_text(L, "formula", r->name[i].formula);
		lua_createtable(L, r->name[i].count, 0);
		for (unsigned int t = 0; t < r->name[i].count; t++) {
			unsigned int ev = r->term[r->name[i].first + t];

			lua_createtable(L, 0, 3);
			lpfm_set_number(L, "event", ev + 1);
			lpfm_set_number(L, "pmd", pmd_of[ev]);
			lpfm_set_number(L, "set", set_of ? set_of[ev] : 0);
			lua_rawseti(L, -2, t + 1);
		}
		lua_setfield(L, -2, "terms");
		lua_rawseti(L, -2, i + 1);
	}
}

/***
Turns names of events into values of PMCs, and finds the counters that can hold them. If an
assignment exists, it is found.
@function lpfm.dispatch_events
@tparam table request
@tparam table request.events names, or tables {name=, plm=}
@string[opt="u"] request.plm levels of events that name none: "u", "k", "uk", or digits "0" to "3"
@tparam[opt] {int,...} request.unavail numbers of PMCs that cannot be used
@string[opt] request.pmu another PMU model
@bool[opt] request.system_wide for a system-wide context
@tparam[opt] table request.itanium the model's own options, as in `pfmlib_itanium.h`: `code_ranges`
and `data_ranges`, of `{start, end, plm=}`; `opcode8`, `opcode9`: values of these PMCs; `iear`,
`dear`: `{mode= "cache" or "tlb", umask=, plm=, ism=}`; `btb`:
`{tar=, tac=, bac=, tm=, ptm=, ppm=, plm=}`; `counters`: for each event `{thres=, ism=, unchecked=}`
@tparam[opt] table request.itanium2 as in `pfmlib_itanium2.h`: the same, also `invert`, `fine`
(`false`: coarse ranges), mode `"alat"` of `dear`; `btb`: `{ds=, tm=, ptm=, ppm=, brt=, plm=}`
@tparam[opt] table request.montecito as in `pfmlib_montecito.h`: like Itanium 2's without `ism`,
also `demand_fetch`, `prefetch_match`; `opcode1`, `opcode2`: `{m=, i=, f=, b=, match=, mask=}`;
`etb` for `btb`: `{tm=, ptm=, ppm=, brt=, plm=}`; `ipear`: `{delay=, plm=}`
@treturn[1] table `pmcs`: `{{num=, value=}, ...}` for `ctx:write_pmcs`; `pmds`: PMD numbers, the
events' first and in their order; `events`: the events' full names; `counters`: for each name asked
for `name`, `terms` (`event`: index into `events`, `pmd`, `set`) and, if it is derived, `formula`;
`pmc_addrs`, `pmd_addrs`: for each of `pmcs` and `pmds` `{addr=, alt_addr=}` of the actual register;
with a model's options the ranges' debug registers are among `pmcs`, numbered from 256 (code) and
264 (data), and `ranges.code`, `ranges.data` tell what is covered `before` and `behind` each range
@return[2] nil
@treturn[2] string why not, in words
@treturn[2] int errno
@treturn[2] string name of the library's error, e.g. `"NOASSIGN"`
@usage
local request = { events = { "CPU_CLK_UNHALTED", "RETIRED_INSTRUCTIONS" }, pmu = "k8", plm = "u" }
for _, pmc in ipairs(assert(lpfm.dispatch_events(request)).pmcs) do print(pmc.num, pmc.value) end
*/
static int dispatch_events(lua_State *L)
{
	static const char call[] = "dispatch_events";
	struct lpfm_ia64 *x;
	unsigned int pmd_of[PFMLIB_MAX_PMCS];
	struct request *r;
	int ret;

	lua_settop(L, 1);
	r = read_request(L, 1, call, true, &ret);
	if (ret != PFMLIB_SUCCESS)
		return lpfm_events_fail(L, call, ret);
	x = lpfm_ia64_new(L, 1, call, &r->in);
	ret = pfm_dispatch_events(&r->in, lpfm_ia64_in(x), &r->out, lpfm_ia64_out(x));
	if (ret != PFMLIB_SUCCESS)
		return lpfm_events_fail(L, call, ret);
	for (unsigned int i = 0; i < r->in.pfp_event_count; i++)
		pmd_of[i] = r->out.pfp_pmds[i].reg_num;
	keep_names(L, 1, r);
	push_result(L, &r->in, &r->out);
	push_counters(L, 1, r, NULL, pmd_of);
	lua_setfield(L, -2, "counters");
	if (x) {
		lua_getfield(L, -1, "pmcs");
		lua_insert(L, -2);
		lpfm_ia64_push(L, lua_gettop(L) - 1, x);
	}
	return 1;
}

/* --- sets ----------------------------------------------------------------------------------- */

/* Makes a request from the events of one set, and returns their number. */
static unsigned int take_set(const struct request *r, const unsigned int *set_of, unsigned int set,
			     struct request *part, unsigned int *members)
{
	memset(part, 0, sizeof(*part));
	part->in.pfp_dfl_plm = r->in.pfp_dfl_plm;
	part->in.pfp_flags = r->in.pfp_flags;
	part->in.pfp_unavail_pmcs = r->in.pfp_unavail_pmcs;
	for (unsigned int i = 0; i < r->in.pfp_event_count; i++)
		if (set_of[i] == set) {
			members[part->in.pfp_event_count] = i;
			part->in.pfp_events[part->in.pfp_event_count++] = r->in.pfp_events[i];
		}
	return part->in.pfp_event_count;
}

/***
Splits events into the fewest sets that can each be counted, for multiplexing.
@function lpfm.split_events
@tparam table request as for `dispatch_events`
@treturn[1] table `sets`: for set 0, 1, ... what `dispatch_events` returns; `counters`: for each
name asked for `name`, `terms` (`event`, `set`, `pmd`) and, if it is derived, `formula`; `events`:
all events' names
@return[2] nil
@treturn[2] string message
@treturn[2] int errno
@usage print(#lpfm.split_events({ events = { "CPU_CLK_UNHALTED", "RETIRED_INSTRUCTIONS" }, pmu = "k8" }).sets)
*/
static int split_events(lua_State *L)
{
	static const char call[] = "split_events";
	unsigned int set_of[PFMLIB_MAX_PMCS], pmd_of[PFMLIB_MAX_PMCS], members[PFMLIB_MAX_PMCS], n;
	struct request *r, *part;
	int ret;

	lua_settop(L, 1);
	r = read_request(L, 1, call, false, &ret);
	if (ret == PFMLIB_SUCCESS)
		ret = pfm_split_events(&r->in, set_of, &n);
	if (ret != PFMLIB_SUCCESS)
		return lpfm_events_fail(L, call, ret);
	part = lua_newuserdata(L, sizeof(*part));
	lua_newtable(L);
	lua_newtable(L);
	for (unsigned int set = 0; set < n; set++) {
		unsigned int count = take_set(r, set_of, set, part, members);

		ret = pfm_dispatch_events(&part->in, NULL, &part->out, NULL);
		if (ret != PFMLIB_SUCCESS)
			return lpfm_events_fail(L, call, ret);
		for (unsigned int i = 0; i < count; i++)
			pmd_of[members[i]] = part->out.pfp_pmds[i].reg_num;
		push_result(L, &part->in, &part->out);
		lua_rawseti(L, -2, set + 1);
	}
	lua_setfield(L, -2, "sets");
	push_counters(L, 1, r, set_of, pmd_of);
	lua_setfield(L, -2, "counters");
	push_events(L, &r->in);
	lua_setfield(L, -2, "events");
	return 1;
}

/* --- events that fit together --------------------------------------------------------------- */

/***
Finds a smallest subset of the events that cannot be counted together.
@function lpfm.event_conflict
@tparam table request as for `dispatch_events`
@treturn[1] {string,...} their names
@treturn[1] string why, in words
@return[2] nil if they can all be counted together
@treturn[3] nil
@treturn[3] string message
@treturn[3] int errno
@usage
local lpfm = require "lpfm"
local names, why = lpfm.event_conflict { events = { "page-faults", "minor-faults" } }
assert(not names and not why)   -- these go together
*/
static int event_conflict(lua_State *L)
{
	static const char call[] = "event_conflict";
	unsigned int positions[PFMLIB_MAX_PMCS], n = PFMLIB_MAX_PMCS;
	struct request *r;
	int ret;

	lua_settop(L, 1);
	r = read_request(L, 1, call, false, &ret);
	if (ret != PFMLIB_SUCCESS)
		return lpfm_events_fail(L, call, ret);
	ret = pfm_find_conflict(&r->in, positions, &n);
	if (ret == PFMLIB_ERR_NOTFOUND) {
		lua_pushnil(L);
		return 1;
	}
	if (ret != PFMLIB_SUCCESS)
		return lpfm_events_fail(L, call, ret);
	lua_createtable(L, n, 0);
	for (unsigned int i = 0; i < n; i++) {
		lpfm_push_event_name(L, &r->in.pfp_events[positions[i]]);
		lua_rawseti(L, -2, i + 1);
	}
	lua_pushstring(L, pfm_dispatch_explain());
	return 2;
}

/*
 * Returns true if the event can be added without unit masks, or with the first mask that can be
 * encoded together with the others.
 */
static bool can_add(struct request *r, pfmlib_event_t *e)
{
	unsigned int masks = 0;
	int ret = pfm_can_add_event(&r->in, e);

	pfm_get_num_event_masks(e->event, &masks);
	for (unsigned int i = 0; ret == PFMLIB_ERR_UMASK && i < masks; i++) {
		e->num_masks = 1;
		e->unit_masks[0] = i;
		ret = pfm_can_add_event(&r->in, e);
	}
	return ret == PFMLIB_SUCCESS;
}

/***
Finds the events that can still be counted together with the given ones.
@function lpfm.addable_events
@tparam table request as for `dispatch_events`
@treturn[1] {string,...} names of events of the same model
@return[2] nil
@treturn[2] string message
@treturn[2] int errno
@usage
local lpfm = require "lpfm"
lpfm.machine("sim:k8")
print(#lpfm.addable_events { events = { "INSTRUCTIONS" } })
*/
static int addable_events(lua_State *L)
{
	static const char call[] = "addable_events";
	pfmlib_pmu_info_t info;
	struct request *r;
	int ret, n = 0;

	lua_settop(L, 1);
	r = read_request(L, 1, call, false, &ret);
	if (ret == PFMLIB_SUCCESS && r->in.pfp_event_count)
		ret = pfm_dispatch_events(&r->in, NULL, &r->out, NULL);
	if (ret == PFMLIB_SUCCESS)
		ret = pfm_get_pmu_info_byname(lpfm_text_field(L, 1, call, "pmu"), &info);
	if (ret != PFMLIB_SUCCESS)
		return lpfm_events_fail(L, call, ret);
	lua_newtable(L);
	for (unsigned int i = 0; i < info.num_events; i++) {
		pfmlib_event_t e = { .event = info.first_event + i };

		if (!can_add(r, &e))
			continue;
		e.num_masks = 0;
		lpfm_push_event_name(L, &e);
		lua_rawseti(L, -2, ++n);
	}
	return 1;
}

const luaL_Reg lpfm_dispatch_functions[] = {
	{ "dispatch_events", dispatch_events },
	{ "event_name", event_name },
	{ "split_events", split_events },
	{ "event_conflict", event_conflict },
	{ "addable_events", addable_events },
	{ NULL, NULL }
};
