/* SPDX-License-Identifier: MIT */
/* events.c - lists and describes events by name. */
/***
Events by name.

Names are libpfm4's, whatever their case, with unit masks and modifiers: `"L2_RQSTS:MISS:u"`.
Generic names (`cycles`, `cache-misses`) and PAPI's presets (`PAPI_BR_PRC`) work wherever a name
does; `"snb::NAME"` is an event of another PMU model.

@submodule lpfm
*/
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/args.h"
#include "base/field.h"
#include "base/perfmon.h"
#include "base/result.h"
#include "events/events.h"
#include "pmu/software.h"

#define NAME_MAX_LEN 2048

void lpfm_events_refresh(lua_State *L)
{
	int ret = pfm_initialize();

	if (ret != PFMLIB_SUCCESS)
		luaL_error(L, "events: %s", *pfm_dispatch_explain() ? pfm_dispatch_explain() :
			   pfm_strerror(ret));
}

static const struct { int error, err; const char *name; } errors[] = {
	{ PFMLIB_ERR_NOTSUPP, EOPNOTSUPP, "NOTSUPP" }, { PFMLIB_ERR_INVAL, EINVAL, "INVAL" },
	{ PFMLIB_ERR_NOINIT, EINVAL, "NOINIT" }, { PFMLIB_ERR_NOTFOUND, ENOENT, "NOTFOUND" },
	{ PFMLIB_ERR_NOASSIGN, ENOSPC, "NOASSIGN" }, { PFMLIB_ERR_FULL, ENOBUFS, "FULL" },
	{ PFMLIB_ERR_EVTMANY, ENOSPC, "EVTMANY" }, { PFMLIB_ERR_MAGIC, EINVAL, "MAGIC" },
	{ PFMLIB_ERR_FEATCOMB, EINVAL, "FEATCOMB" }, { PFMLIB_ERR_EVTSET, ENOSPC, "EVTSET" },
	{ PFMLIB_ERR_EVTINCOMP, ENOSPC, "EVTINCOMP" }, { PFMLIB_ERR_TOOMANY, E2BIG, "TOOMANY" },
	{ PFMLIB_ERR_IRRTOOBIG, EINVAL, "IRRTOOBIG" }, { PFMLIB_ERR_IRREMPTY, EINVAL, "IRREMPTY" },
	{ PFMLIB_ERR_IRRINVAL, EINVAL, "IRRINVAL" }, { PFMLIB_ERR_IRRTOOMANY, EINVAL, "IRRTOOMANY" },
	{ PFMLIB_ERR_DRRINVAL, EINVAL, "DRRINVAL" }, { PFMLIB_ERR_DRRTOOMANY, EINVAL, "DRRTOOMANY" },
	{ PFMLIB_ERR_BADHOST, EOPNOTSUPP, "BADHOST" }, { PFMLIB_ERR_IRRALIGN, EINVAL, "IRRALIGN" },
	{ PFMLIB_ERR_IRRFLAGS, EINVAL, "IRRFLAGS" }, { PFMLIB_ERR_UMASK, EINVAL, "UMASK" },
	{ PFMLIB_ERR_NOMEM, ENOMEM, "NOMEM" },
};

int lpfm_events_fail(lua_State *L, const char *call, int error)
{
	const char *text = pfm_dispatch_explain();
	size_t i = 0;

	while (i < LPFM_COUNT(errors) - 1 && errors[i].error != error)
		i++;
	lpfm_fail_errno(L, errors[i].err, "%s: %s", call, *text ? text : pfm_strerror(error));
	lua_pushstring(L, errors[i].name);
	return 4;
}

int lpfm_event_error_number(const char *name)
{
	for (size_t i = 0; i < LPFM_COUNT(errors); i++)
		if (!strcmp(errors[i].name, name))
			return errors[i].error;
	return 1;
}

/* Returns the name of the model that an event index refers to, NULL for the current one. */
static const char *model_of(unsigned int event)
{
	pfmlib_pmu_info_t info;

	if (event >> 16 == 0 || pfm_get_pmu_info_at((event >> 16) - 1, &info) != PFMLIB_SUCCESS)
		return NULL;
	return info.name;
}

void lpfm_push_pmc(lua_State *L, unsigned int num, uint64_t value)
{
	lua_createtable(L, 0, 2);
	lpfm_set_number(L, "num", num);
	lpfm_set_u64(L, "value", value);
}

void lpfm_push_event_name(lua_State *L, const pfmlib_event_t *e)
{
	char name[NAME_MAX_LEN];
	pfmlib_event_t copy = *e;
	const char *model = model_of(e->event);

	if (pfm_get_full_event_name(&copy, name, sizeof(name)) != PFMLIB_SUCCESS)
		lua_pushfstring(L, "event %d", (int)e->event);
	else if (model)
		lua_pushfstring(L, "%s::%s", model, name);
	else
		lua_pushstring(L, name);
}

/* --- lists of names ------------------------------------------------------------------------- */

/* Pushes a pattern with '_' for each '-', but for those in a range, as in [1-3], and returns it. */
static const char *push_pattern(lua_State *L, const char *pattern)
{
	bool range = false;
	luaL_Buffer b;

	luaL_buffinit(L, &b);
	for (; *pattern; pattern++) {
		range = *pattern == '[' || (range && *pattern != ']');
		luaL_addchar(&b, *pattern == '-' && !range ? '_' : *pattern);
	}
	luaL_pushresult(&b);
	return lua_tostring(L, -1);
}

/* Matches a pattern of the shell, or a part of the name; '-' is the same as '_'. */
static bool matches(lua_State *L, const char *name, const char *pattern)
{
	bool does;

	if (!pattern)
		return true;
	pattern = push_pattern(L, pattern);
	name = luaL_gsub(L, name, "-", "_");
	does = strpbrk(pattern, "*?[") ? !fnmatch(pattern, name, FNM_CASEFOLD | FNM_NOESCAPE) :
					strcasestr(name, pattern) != NULL;
	lua_pop(L, 2);
	return does;
}

/* Appends the string on top to the list at "list" if it matches; pops the string. */
static void append_match(lua_State *L, int list, const char *pattern)
{
	if (matches(L, lua_tostring(L, -1), pattern))
		lua_rawseti(L, list, (int)lua_objlen(L, list) + 1);
	else
		lua_pop(L, 1);
}

static void append_masks(lua_State *L, int list, const char *pattern, unsigned int event,
			 const char *name)
{
	unsigned int n = 0;
	char mask[NAME_MAX_LEN];

	pfm_get_num_event_masks(event, &n);
	for (unsigned int i = 0; i < n; i++) {
		if (pfm_get_event_mask_name(event, i, mask, sizeof(mask)) != PFMLIB_SUCCESS)
			continue;
		lua_pushfstring(L, "%s:%s", name, mask);
		append_match(L, list, pattern);
	}
}

static void append_events(lua_State *L, int list, const char *pattern, const pfmlib_pmu_info_t *info,
			  bool masks)
{
	char name[NAME_MAX_LEN];

	for (unsigned int i = 0; i < info->num_events; i++) {
		if (pfm_get_event_name(info->first_event + i, name, sizeof(name)) != PFMLIB_SUCCESS)
			continue;
		lua_pushstring(L, name);
		append_match(L, list, pattern);
		if (masks)
			append_masks(L, list, pattern, info->first_event + i, name);
	}
}

static void append_generic(lua_State *L, int list, const char *pattern, const char *model)
{
	pfmlib_expansion_t x;
	const char *name;

	for (unsigned int i = 0; (name = pfm_generic_name(i)); i++) {
		if (pfm_expand_event(model, name, &x) != PFMLIB_SUCCESS)
			continue;
		lua_pushstring(L, name);
		append_match(L, list, pattern);
	}
}

/***
Names of events. The software counters and virtual registers, which every machine has, come last.
@function lpfm.events
@tparam[opt] string pattern with `*` and `?`, or a part of the name; case is ignored
@tparam[opt] table options
@string[opt] options.pmu another PMU model
@bool[opt] options.masks list NAME:MASK, too
@bool[opt] options.generic list generic names and presets, too
@treturn[1] {string,...}
@return[2] nil
@treturn[2] string message
@treturn[2] int errno
@usage
for _, name in ipairs(require("lpfm").events("CPU_CLK*", { pmu = "k8" })) do print(name) end
*/
static int events(lua_State *L)
{
	static const char *const names[] = { "pmu", "masks", "generic", NULL };
	const char *pattern = lpfm_opt_string(L, 1, NULL), *pmu = NULL;
	bool masks = false, generic = false;
	pfmlib_pmu_info_t info;

	lpfm_events_refresh(L);
	lua_settop(L, 2);
	if (!lua_isnil(L, 2)) {
		lpfm_check_fields(L, 2, "events", names);
		pmu = lpfm_text_field(L, 2, "events", "pmu");
		masks = lpfm_bool_field(L, 2, "masks");
		generic = lpfm_bool_field(L, 2, "generic");
	}
	if (pfm_get_pmu_info_byname(pmu, &info) != PFMLIB_SUCCESS)
		return lpfm_fail_errno(L, ENOENT, "events: no PMU model %s", pmu);
	lua_newtable(L);
	append_events(L, 3, pattern, &info, masks);
	if (generic)
		append_generic(L, 3, pattern, info.name);
	return 1;
}

/* --- one event ------------------------------------------------------------------------------ */

static void push_text(lua_State *L, int (*get)(unsigned int, unsigned int, char **),
		      unsigned int event, unsigned int mask)
{
	char *text = NULL;

	if (get(event, mask, &text) == PFMLIB_SUCCESS)
		lua_pushstring(L, text);
	else
		lua_pushliteral(L, "");
	free(text);
}

static int event_description(unsigned int event, unsigned int mask, char **text)
{
	(void)mask;
	return pfm_get_event_description(event, text);
}

static void push_mask(lua_State *L, unsigned int event, unsigned int mask, bool modifier)
{
	char name[NAME_MAX_LEN] = "";
	unsigned int code = 0, flags = 0;

	pfm_get_event_mask_name(event, mask, name, sizeof(name));
	pfm_get_event_mask_code(event, mask, &code);
	pfm_get_event_mask_flags(event, mask, &flags);
	lua_newtable(L);
	lpfm_set_text(L, "name", name);
	push_text(L, pfm_get_event_mask_description, event, mask);
	lua_setfield(L, -2, "desc");
	if (modifier) {
		lpfm_set_text(L, "type", flags & PFMLIB_MASK_INTEGER ? "integer" : "boolean");
		return;
	}
	lpfm_set_number(L, "code", code);
	lpfm_set_bool(L, "default", flags & PFMLIB_MASK_DEFAULT);
}

static void push_masks(lua_State *L, unsigned int event)
{
	unsigned int masks = 0, mods = 0;

	pfm_get_num_event_masks(event, &masks);
	pfm_get_num_event_modifiers(event, &mods);
	lua_newtable(L);
	for (unsigned int i = 0; i < masks; i++) {
		push_mask(L, event, i, false);
		lua_rawseti(L, -2, i + 1);
	}
	lua_setfield(L, -2, "masks");
	lua_newtable(L);
	for (unsigned int i = 0; i < mods; i++) {
		push_mask(L, event, masks + i, true);
		lua_rawseti(L, -2, i + 1);
	}
	lua_setfield(L, -2, "modifiers");
}

void lpfm_push_regmask(lua_State *L, const pfmlib_regmask_t *mask)
{
	int n = 0;

	lua_newtable(L);
	for (unsigned int i = 0; i < PFMLIB_REG_MAX; i++) {
		if (!pfm_regmask_isset(mask, i))
			continue;
		lua_pushinteger(L, (lua_Integer)i);
		lua_rawseti(L, -2, ++n);
	}
}

static void push_levels(lua_State *L, unsigned int plm)
{
	char text[5];
	int n = 0;

	if (plm & PFM_PLM3)
		text[n++] = 'u';
	if (plm & PFM_PLM0)
		text[n++] = 'k';
	lua_pushlstring(L, text, n);
}

/* Pushes the table that describes one event of the library. */
static void push_event(lua_State *L, const pfmlib_event_t *e)
{
	char name[NAME_MAX_LEN] = "";
	pfmlib_regmask_t counters = { 0 };
	pfmlib_pmu_info_t info;
	int code = 0;

	pfm_get_event_name(e->event, name, sizeof(name));
	pfm_get_event_code(e->event, &code);
	if (e->event >> 16)
		pfm_get_pmu_info_at((e->event >> 16) - 1, &info);
	else
		pfm_get_pmu_info_byname(NULL, &info);
	lua_newtable(L);
	lpfm_push_event_name(L, e);
	lua_setfield(L, -2, "name");
	lpfm_set_text(L, "event", name);
	lpfm_set_text(L, "pmu", info.name);
	push_text(L, event_description, e->event, 0);
	lua_setfield(L, -2, "desc");
	lpfm_set_number(L, "code", (unsigned int)code);
	push_masks(L, e->event);
	pfm_get_event_counters(e->event, &counters);
	lpfm_push_regmask(L, &counters);
	lua_setfield(L, -2, "counters");
	lpfm_set_bool(L, "software", (e->event & 0xffff) >= info.num_hw_events);
	if (e->plm) {
		push_levels(L, e->plm);
		lua_setfield(L, -2, "plm");
	}
}

/***
Explains the name of an event. A generic name or a preset that stands for several events has
`formula`, over `$1`, `$2`, ..., and `terms`, their tables; all others are one table with `name`,
`event`, `pmu`, `desc`, `code`, `masks`, `modifiers`, `counters` (PMD numbers), `software`, and
`plm` if the name says the privilege level.
@function lpfm.event
@string name
@string[opt] pmu another model
@treturn[1] table
@return[2] nil
@treturn[2] string message, with the nearest name if the name is misspelt
@treturn[2] int errno
@treturn[2] string name of the library's error, e.g. `"UMASK"`
@usage print(lpfm.event("k8::CPU_CLK_UNHALTED").desc)
*/
static int event(lua_State *L)
{
	const char *name = lpfm_check_string(L, 1), *pmu = lpfm_opt_string(L, 2, NULL);
	pfmlib_expansion_t x;
	int ret;

	lpfm_events_refresh(L);
	ret = pfm_expand_event(pmu, name, &x);
	if (ret != PFMLIB_SUCCESS)
		return lpfm_events_fail(L, "event", ret);
	if (!x.formula[0]) {
		push_event(L, &x.events[0]);
		return 1;
	}
	lua_newtable(L);
	lua_pushvalue(L, 1);
	lua_setfield(L, -2, "name");
	lpfm_set_text(L, "formula", x.formula);
	lua_newtable(L);
	for (unsigned int i = 0; i < x.count; i++) {
		push_event(L, &x.events[i]);
		lua_rawseti(L, -2, i + 1);
	}
	lua_setfield(L, -2, "terms");
	return 1;
}

/***
Finds the known name nearest to a misspelt one, or nil.
@function lpfm.suggest_event
@string name
@string[opt] pmu another model
@treturn string
@usage
print(require("lpfm").suggest_event("page-fault"))
*/
static int suggest_event(lua_State *L)
{
	const char *name = lpfm_check_string(L, 1), *pmu = lpfm_opt_string(L, 2, NULL);
	char near[NAME_MAX_LEN];

	lpfm_events_refresh(L);
	if (pfm_suggest_event(pmu, name, near, sizeof(near)) == PFMLIB_SUCCESS)
		lua_pushstring(L, near);
	else
		lua_pushnil(L);
	return 1;
}

/***
Returns all PMU models with known events.
@function lpfm.pmus
@treturn {table,...} `name`, `desc`, `type`, `present`, `events` (of the PMU itself), `counters`,
`width`, `current`
@usage
for _, pmu in ipairs(require("lpfm").pmus()) do print(pmu.name, pmu.desc) end
*/
static int pmus(lua_State *L)
{
	pfmlib_pmu_info_t info, current;

	lpfm_events_refresh(L);
	pfm_get_pmu_info_byname(NULL, &current);
	lua_newtable(L);
	for (unsigned int i = 0; pfm_get_pmu_info_at(i, &info) == PFMLIB_SUCCESS; i++) {
		lua_newtable(L);
		lpfm_set_text(L, "name", info.name);
		lpfm_set_text(L, "desc", info.desc);
		lpfm_set_number(L, "type", info.type);
		lpfm_set_bool(L, "present", info.present);
		lpfm_set_bool(L, "current", strcmp(info.name, current.name) == 0);
		lpfm_set_number(L, "events", info.num_hw_events);
		lpfm_set_number(L, "counters", info.num_counters);
		lpfm_set_number(L, "width", info.width);
		lua_rawseti(L, -2, i + 1);
	}
	return 1;
}

struct software_event {
	const char	*name, *alias, *text;
	unsigned int	num;
};

#define SOFTWARE_EVENT(NAME, name, alias, perf, kind, sim, text)	{ name, alias, text, PFM_SW_##NAME },

static const struct software_event software[] = { PFM_SOFTWARE_EVENTS(SOFTWARE_EVENT) };

/***
Returns the software events, by the names that perf has for them. Their PMC and PMD have the same
number on every machine that counts them.
@function lpfm.software_events
@treturn {table,...} `name`, `aliases`, `num` (of its PMC and PMD), `unit` ("ns", or nil: it is a
number of events), `description`
@usage
for _, e in ipairs(require("lpfm").software_events()) do print(e.num, e.name, e.description) end
*/
static int software_events(lua_State *L)
{
	lua_newtable(L);
	for (size_t i = 0; i < LPFM_COUNT(software); i++) {
		const struct software_event *e = &software[i];

		lua_newtable(L);
		lpfm_set_text(L, "name", e->name);
		lua_newtable(L);
		if (*e->alias) {
			lua_pushstring(L, e->alias);
			lua_rawseti(L, -2, 1);
		}
		lua_setfield(L, -2, "aliases");
		lpfm_set_number(L, "num", e->num);
		if (pfm_software_kind(e->num) == PFM_SW_IS_TIME)
			lpfm_set_text(L, "unit", "ns");
		lpfm_set_text(L, "description", e->text);
		lua_rawseti(L, -2, (int)i + 1);
	}
	return 1;
}

const luaL_Reg lpfm_event_functions[] = {
	{ "events", events },
	{ "software_events", software_events },
	{ "event", event },
	{ "suggest_event", suggest_event },
	{ "pmus", pmus },
	{ NULL, NULL }
};
