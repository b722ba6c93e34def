/* SPDX-License-Identifier: MIT */
/* refs.c - fields and PMDs of samples by name, and filters. */
#include "base/args.h"
#include "samples/refs.h"

static void settle(const struct lpfm_walk *w, struct lpfm_ref *refs, unsigned int n)
{
	for (struct lpfm_ref *ref = refs; ref < refs + n; ref++) {
		if (!ref->is_pmd)
			continue;
		ref->width = lpfm_walk_holds(w, ref->pmd) ? sizeof(uint64_t) : 0;
		ref->offset = (uint16_t)(w->head_size + lpfm_walk_rank(w, ref->pmd) * sizeof(uint64_t));
	}
}

void lpfm_walk_settle(struct lpfm_walk *w, struct lpfm_filter *filter, struct lpfm_ref *refs,
		      unsigned int n)
{
	settle(w, filter->refs, filter->n);
	settle(w, refs, n);
	w->turned = false;
}

static void find_place(lua_State *L, const char *name, const struct lpfm_walk *w,
		       const struct lpfm_site *site, struct lpfm_ref *ref)
{
	enum lpfm_smpl_field field = lpfm_smpl_field(name);
	struct lpfm_place place;

	if (field == LPFM_SMPL_FIELDS)
		lpfm_bad(L, site, "unknown field '%s' (known: %s, and numbers of PMDs)", name,
			 lpfm_smpl_names_text(L));
	place = lpfm_smpl_names[field].at[w->entry];
	if (!place.width)
		lpfm_bad(L, site, "the samples of this buffer have no field '%s' (buf_flags NO_HDR, IIP_HDR)",
			 name);
	ref->offset = place.offset;
	ref->width = place.width;
}

void lpfm_ref_read(lua_State *L, int idx, const struct lpfm_walk *w, const struct lpfm_site *site,
		   struct lpfm_ref *ref)
{
	*ref = (struct lpfm_ref){ 0 };
	if (lua_type(L, idx) == LUA_TNUMBER) {
		ref->is_pmd = true;
		ref->pmd = (uint16_t)lpfm_to_int(L, idx, site, 0, PFM_MAX_PMDS - 1);
	} else if (lua_type(L, idx) == LUA_TSTRING) {
		find_place(L, lua_tostring(L, idx), w, site, ref);
	} else {
		lpfm_bad_value(L, site, "name of a field or number of a PMD", idx);
	}
}

void lpfm_filter_read(lua_State *L, int idx, const struct lpfm_walk *w, const char *call,
		      struct lpfm_filter *filter)
{
	struct lpfm_site site = { .call = call, .arg = "filter" };

	filter->n = 0;
	if (lua_isnoneornil(L, idx))
		return;
	if (!lua_istable(L, idx))
		lpfm_bad_value(L, &site, "table", idx);
	lua_pushnil(L);
	while (lua_next(L, idx)) {
		if (filter->n == LPFM_TESTS_MAX)
			lpfm_bad(L, &site, "at most %d fields", LPFM_TESTS_MAX);
		lpfm_ref_read(L, lua_gettop(L) - 1, w, &site, &filter->refs[filter->n]);
		filter->values[filter->n] = lpfm_to_u64(L, lua_gettop(L), &site);
		filter->n++;
		lua_pop(L, 1);
	}
}
