/* SPDX-License-Identifier: MIT */
/* access.c - reads from tables the loads, stores and branches of sites of simulated programs. */
#include <string.h>

#include "base/args.h"
#include "sim/access.h"

static const char *const names[] = { "load", "store", "taken", "seed", "bytes", "fence" };

bool lpfm_sim_is_access(const char *name)
{
	for (size_t i = 0; i < LPFM_COUNT(names); i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

/* --- patterns of addresses ------------------------------------------------------------------ */

static void one_pattern(lua_State *L, const struct lpfm_site *site, struct pfm_sim_pattern *p)
{
	if (p->kind)
		lpfm_bad(L, site, "a pattern is random or a chase, not both");
	p->count = (uint64_t)lpfm_to_int(L, -1, site, 1, PFM_SIM_MAX_CHASE);
}

static void pattern_field(lua_State *L, const struct lpfm_site *site, const char *name, struct pfm_sim_pattern *p)
{
	if (!strcmp(name, "size")) {
		p->size = (uint32_t)lpfm_to_int(L, -1, site, 1, 64);
	} else if (!strcmp(name, "seed")) {
		p->seed = lpfm_to_u64(L, -1, site);
	} else if (!strcmp(name, "random")) {
		one_pattern(L, site, p);
		p->kind = PFM_SIM_RANDOM;
	} else if (!strcmp(name, "chase")) {
		one_pattern(L, site, p);
		p->kind = PFM_SIM_CHASE;
	} else {
		lpfm_bad(L, site, "unknown field '%s' of a pattern", name);
	}
}

/* Reads { base, stride, stride of the enclosing loop... , size =, random = | chase =, seed = }. */
static void pattern_table(lua_State *L, const struct lpfm_site *site, struct pfm_sim_pattern *p)
{
	int n = (int)lua_objlen(L, -1);

	if (n < 1 || n > 1 + PFM_SIM_MAX_STRIDES)
		lpfm_bad(L, site, "{ address, stride... } expected, with 8 strides at most");
	for (int i = 1; i <= n; i++) {
		uint64_t value;

		lua_rawgeti(L, -1, i);
		value = lpfm_to_u64(L, -1, site);
		if (i == 1)
			p->base = value;
		else
			p->strides[i - 2] = (int64_t)value;
		lua_pop(L, 1);
	}
	for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1))
		if (lua_type(L, -2) == LUA_TSTRING)
			pattern_field(L, site, lua_tostring(L, -2), p);
	if (p->kind && n > 2)
		lpfm_bad(L, site, "a random pattern or a chase has one stride");
	if (p->kind && !p->strides[0])
		p->strides[0] = p->size ? p->size : 8;
}

static void pattern(lua_State *L, const struct lpfm_site *site, struct pfm_sim_pattern *p)
{
	if (lua_istable(L, -1))
		pattern_table(L, site, p);
	else
		p->base = lpfm_to_u64(L, -1, site);
	if (!p->kind)
		p->kind = PFM_SIM_STRIDES;
}

/* --- branches ------------------------------------------------------------------------------- */

static void taken_text(lua_State *L, const struct lpfm_site *site, const char *text, struct pfm_sim_access *a)
{
	size_t len = strlen(text);

	if (!strcmp(text, "back")) {
		a->branch = PFM_SIM_BACK;
		return;
	}
	if (!len || len > 64 || strspn(text, "TN") != len)
		lpfm_bad(L, site, "true, false, \"back\", a chance from 0 to 1, or 1 to 64 letters T and N expected");
	a->branch = PFM_SIM_BITS;
	a->period = (uint32_t)len;
	for (size_t i = 0; i < len; i++)
		a->bits |= (uint64_t)(text[i] == 'T') << i;
}

static void taken(lua_State *L, const struct lpfm_site *site, struct pfm_sim_access *a)
{
	double chance;

	if (lua_isboolean(L, -1)) {
		a->branch = lua_toboolean(L, -1) ? PFM_SIM_TAKEN : PFM_SIM_NOT_TAKEN;
	} else if (lua_type(L, -1) == LUA_TNUMBER) {
		chance = lua_tonumber(L, -1);
		if (!(chance >= 0 && chance <= 1))
			lpfm_bad(L, site, "a chance is from 0 to 1");
		a->branch = PFM_SIM_CHANCE;
		a->bits = (uint64_t)(chance * 4294967296.0);
	} else {
		taken_text(L, site, lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "", a);
	}
}

void lpfm_sim_access(lua_State *L, const char *path, const char *name, struct pfm_sim_access *a)
{
	struct lpfm_site site = { .call = path, .field = name };

	if (!strcmp(name, "load"))
		pattern(L, &site, &a->load);
	else if (!strcmp(name, "store"))
		pattern(L, &site, &a->store);
	else if (!strcmp(name, "taken"))
		taken(L, &site, a);
	else if (!strcmp(name, "seed"))
		a->seed = lpfm_to_u64(L, -1, &site);
	else if (!strcmp(name, "fence"))
		a->fence = lua_toboolean(L, -1);
	else
		a->fetch = (uint32_t)lpfm_to_int(L, -1, &site, 1, 64);
}
