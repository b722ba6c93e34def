/* SPDX-License-Identifier: MIT */
/*
 * itanium2.c - what dispatch_events takes and gives beyond events on Itanium 2.
 *
 * itanium2 = {code_ranges = {{start, end}, ...}, invert =, fine = false, data_ranges = {{start, end}, ...},
 * opcode8 =, opcode9 =, iear = {mode =, umask =, plm =, ism =}, dear = {...}, btb = {ds =, tm =, ptm =, ppm =,
 * brt =, plm =}, counters = {{thres =, ism =, unchecked =}, ...}}
 */
#include <string.h>

#include "base/args.h"
#include "base/u64.h"
#include "events/events.h"
#include "perfmon/pfmlib_itanium2.h"

#define IBR_PMC	256
#define DBR_PMC	264

struct lpfm_itanium2 {
	pfmlib_ita2_input_param_t	in;
	pfmlib_ita2_output_param_t	out;
};

void *lpfm_itanium2_in(struct lpfm_itanium2 *x)
{
	return &x->in;
}

void *lpfm_itanium2_out(struct lpfm_itanium2 *x)
{
	return &x->out;
}

/* A 64-bit field of the table on top; dflt if it is nil. */
static uint64_t get_u64(lua_State *L, const struct lpfm_site *where, const char *field, uint64_t dflt)
{
	struct lpfm_site site = *where;
	uint64_t value = dflt;

	site.field = field;
	lua_getfield(L, -1, field);
	if (!lua_isnil(L, -1))
		value = lpfm_to_u64(L, -1, &site);
	lua_pop(L, 1);
	return value;
}

static unsigned int get_int(lua_State *L, const struct lpfm_site *where, const char *field, int max)
{
	struct lpfm_site site = *where;
	unsigned int value = 0;

	site.field = field;
	lua_getfield(L, -1, field);
	if (!lua_isnil(L, -1))
		value = (unsigned int)lpfm_to_int(L, -1, &site, 0, max);
	lua_pop(L, 1);
	return value;
}

/* Pushes field of the table at idx; false, and nothing pushed, if it is nil. */
static bool push_table(lua_State *L, int idx, const char *field, struct lpfm_site *site)
{
	lua_getfield(L, idx, field);
	if (lua_isnil(L, -1)) {
		lua_pop(L, 1);
		return false;
	}
	site->field = field;
	if (!lua_istable(L, -1))
		lpfm_bad_value(L, site, "table", -1);
	return true;
}

static uint64_t limit(lua_State *L, int i, const struct lpfm_site *site)
{
	uint64_t value;

	lua_rawgeti(L, -1, i);
	value = lpfm_to_u64(L, -1, site);
	lua_pop(L, 1);
	return value;
}

static void read_ranges(lua_State *L, int idx, const char *field, struct lpfm_site site,
			pfmlib_ita2_input_rr_t *rr)
{
	int n;

	if (!push_table(L, idx, field, &site))
		return;
	n = (int)lua_objlen(L, -1);
	if (n < 1 || n > 4)
		lpfm_bad(L, &site, "1 to 4 ranges expected, got %d", n);
	rr->rr_used = 1;
	for (int i = 0; i < n; i++) {
		site.element = i + 1;
		lua_rawgeti(L, -1, i + 1);
		if (!lua_istable(L, -1))
			lpfm_bad_value(L, &site, "range {start, end}", -1);
		rr->rr_limits[i].rr_start = limit(L, 1, &site);
		rr->rr_limits[i].rr_end = limit(L, 2, &site);
		rr->rr_limits[i].rr_plm = get_int(L, &site, "plm", 15);
		lua_pop(L, 1);
	}
	lua_pop(L, 1);
}

static void read_ear(lua_State *L, int idx, const char *field, struct lpfm_site site,
		     pfmlib_ita2_ear_t *ear)
{
	static const char *const modes[] = { "cache", "tlb", "alat", NULL };
	int mode = 0;

	if (!push_table(L, idx, field, &site))
		return;
	ear->ear_used = 1;
	ear->ear_umask = get_int(L, &site, "umask", 255);
	ear->ear_plm = get_int(L, &site, "plm", 15);
	ear->ear_ism = get_int(L, &site, "ism", 2);
	lua_getfield(L, -1, "mode");
	while (modes[mode] && (lua_type(L, -1) != LUA_TSTRING || strcmp(modes[mode], lua_tostring(L, -1))))
		mode++;
	if (!modes[mode])
		lpfm_bad_value(L, &site, "mode \"cache\", \"tlb\" or \"alat\"", -1);
	ear->ear_mode = mode;
	lua_pop(L, 2);
}

static void read_btb(lua_State *L, int idx, struct lpfm_site site, pfmlib_ita2_btb_t *btb)
{
	if (!push_table(L, idx, "btb", &site))
		return;
	btb->btb_used = 1;
	btb->btb_ds = get_int(L, &site, "ds", 1);
	btb->btb_tm = get_int(L, &site, "tm", 3);
	btb->btb_ptm = get_int(L, &site, "ptm", 3);
	btb->btb_ppm = get_int(L, &site, "ppm", 3);
	btb->btb_brt = get_int(L, &site, "brt", 3);
	btb->btb_plm = get_int(L, &site, "plm", 15);
	lua_pop(L, 1);
}

static void read_opcode(lua_State *L, int idx, const char *field, const struct lpfm_site *site,
			pfmlib_ita2_opcm_t *opcm)
{
	lua_getfield(L, idx, field);
	opcm->opcm_used = !lua_isnil(L, -1);
	lua_pop(L, 1);
	lua_pushvalue(L, idx);
	opcm->pmc_val = get_u64(L, site, field, 0);
	lua_pop(L, 1);
}

static void read_counters(lua_State *L, int idx, struct lpfm_site site,
			  pfmlib_ita2_input_param_t *in)
{
	if (!push_table(L, idx, "counters", &site))
		return;
	for (int i = 0; i < PMU_ITA2_NUM_COUNTERS; i++) {
		site.element = i + 1;
		lua_rawgeti(L, -1, i + 1);
		if (lua_istable(L, -1)) {
			in->pfp_ita2_counters[i].thres = get_int(L, &site, "thres", 7);
			in->pfp_ita2_counters[i].ism = get_int(L, &site, "ism", 2);
			lua_getfield(L, -1, "unchecked");
			if (lua_toboolean(L, -1))
				in->pfp_ita2_counters[i].flags = PFMLIB_ITA2_FL_EVT_NO_QUALCHECK;
			lua_pop(L, 1);
		}
		lua_pop(L, 1);
	}
	lua_pop(L, 1);
}

static void check_fields(lua_State *L, int idx, struct lpfm_site site)
{
	static const char *const names[] = {
		"code_ranges", "invert", "fine", "data_ranges", "opcode8", "opcode9", "iear", "dear", "btb",
		"counters"
	};

	for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
		const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "?";
		bool known = false;

		for (size_t i = 0; i < LPFM_COUNT(names); i++)
			known |= strcmp(key, names[i]) == 0;
		site.field = key;
		if (!known)
			lpfm_bad(L, &site, "unknown field");
	}
}

/* The library takes the model's own structures as they come: another model's would be read as something else. */
static void check_model(lua_State *L, const struct lpfm_site *site, const pfmlib_input_param_t *in)
{
	unsigned int maxincr;

	/* events of two models are refused anyway */
	for (unsigned int i = 0; i < in->pfp_event_count; i++)
		if (pfm_ita2_get_event_maxincr(in->pfp_events[i].event, &maxincr) == PFMLIB_SUCCESS)
			return;
	lpfm_bad(L, site, "for events of itanium2 alone");
}

struct lpfm_itanium2 *lpfm_itanium2_new(lua_State *L, int idx, const char *call, const pfmlib_input_param_t *in)
{
	struct lpfm_site site = { .call = call, .arg = "itanium2" };
	struct lpfm_itanium2 *x;

	if (!lua_istable(L, idx))
		lpfm_bad_value(L, &site, "table", idx);
	check_fields(L, idx, site);
	check_model(L, &site, in);
	x = lua_newuserdata(L, sizeof(*x));
	memset(x, 0, sizeof(*x));
	read_ranges(L, idx, "code_ranges", site, &x->in.pfp_ita2_irange);
	read_ranges(L, idx, "data_ranges", site, &x->in.pfp_ita2_drange);
	lua_getfield(L, idx, "invert");
	if (lua_toboolean(L, -1))
		x->in.pfp_ita2_irange.rr_flags |= PFMLIB_ITA2_RR_INV;
	lua_getfield(L, idx, "fine");
	if (!lua_isnil(L, -1) && !lua_toboolean(L, -1))
		x->in.pfp_ita2_irange.rr_flags |= PFMLIB_ITA2_RR_NO_FINE_MODE;
	lua_pop(L, 2);
	read_opcode(L, idx, "opcode8", &site, &x->in.pfp_ita2_pmc8);
	read_opcode(L, idx, "opcode9", &site, &x->in.pfp_ita2_pmc9);
	read_ear(L, idx, "iear", site, &x->in.pfp_ita2_iear);
	read_ear(L, idx, "dear", site, &x->in.pfp_ita2_dear);
	read_btb(L, idx, site, &x->in.pfp_ita2_btb);
	read_counters(L, idx, site, &x->in);
	return x;
}

static void append_registers(lua_State *L, int pmcs, const pfmlib_ita2_output_rr_t *rr, int base)
{
	for (unsigned int i = 0; i < rr->rr_nbr_used; i++) {
		lua_createtable(L, 0, 2);
		lua_pushinteger(L, base + rr->rr_br[i].reg_num);
		lua_setfield(L, -2, "num");
		lpfm_push_u64(L, rr->rr_br[i].reg_value);
		lua_setfield(L, -2, "value");
		lua_rawseti(L, pmcs, (int)lua_objlen(L, pmcs) + 1);
	}
}

/* What is covered beyond the limits of each range. */
static void push_excess(lua_State *L, const pfmlib_ita2_input_rr_t *in,
			const pfmlib_ita2_output_rr_t *out)
{
	lua_newtable(L);
	for (int i = 0; i < 4 && in->rr_used && (in->rr_limits[i].rr_start || in->rr_limits[i].rr_end); i++) {
		lua_createtable(L, 0, 2);
		lpfm_push_u64(L, out->rr_infos[i].rr_soff);
		lua_setfield(L, -2, "before");
		lpfm_push_u64(L, out->rr_infos[i].rr_eoff);
		lua_setfield(L, -2, "behind");
		lua_rawseti(L, -2, i + 1);
	}
}

void lpfm_itanium2_push(lua_State *L, int pmcs, struct lpfm_itanium2 *x)
{
	append_registers(L, pmcs, &x->out.pfp_ita2_irange, IBR_PMC);
	append_registers(L, pmcs, &x->out.pfp_ita2_drange, DBR_PMC);
	lua_createtable(L, 0, 2);
	push_excess(L, &x->in.pfp_ita2_irange, &x->out.pfp_ita2_irange);
	lua_setfield(L, -2, "code");
	push_excess(L, &x->in.pfp_ita2_drange, &x->out.pfp_ita2_drange);
	lua_setfield(L, -2, "data");
	lua_setfield(L, -2, "ranges");
}
