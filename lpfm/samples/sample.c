/* SPDX-License-Identifier: MIT */
/*
 * sample.c - the layouts of the default format, and how a walk over samples begins (3.6).
 */
#include "context/layout.h"
#include "samples/sample.h"
#include "perfmon/perfmon_nway_smpl.h"

const char *const lpfm_smpl_names[LPFM_SMPL_FIELDS] = {
	[LPFM_SMPL_IP] = "ip",
	[LPFM_SMPL_TID] = "tid",
	[LPFM_SMPL_PID] = "pid",
	[LPFM_SMPL_CPU] = "cpu",
	[LPFM_SMPL_TSTAMP] = "tstamp",
	[LPFM_SMPL_SET] = "set",
	[LPFM_SMPL_OVFL_PMD] = "ovfl_pmd",
	[LPFM_SMPL_LAST_RESET] = "last_reset",
};

#define PLACE(type, member) { offsetof(type, member), sizeof(((type *)0)->member) }

/* 2.x calls the thread pid and the process tgid. */
static const struct lpfm_place places_2x[LPFM_SMPL_FIELDS] = {
	[LPFM_SMPL_IP] = PLACE(pfm_dfl_smpl_entry_t, ip),
	[LPFM_SMPL_TID] = PLACE(pfm_dfl_smpl_entry_t, pid),
	[LPFM_SMPL_PID] = PLACE(pfm_dfl_smpl_entry_t, tgid),
	[LPFM_SMPL_CPU] = PLACE(pfm_dfl_smpl_entry_t, cpu),
	[LPFM_SMPL_TSTAMP] = PLACE(pfm_dfl_smpl_entry_t, tstamp),
	[LPFM_SMPL_SET] = PLACE(pfm_dfl_smpl_entry_t, set),
	[LPFM_SMPL_OVFL_PMD] = PLACE(pfm_dfl_smpl_entry_t, ovfl_pmd),
	[LPFM_SMPL_LAST_RESET] = PLACE(pfm_dfl_smpl_entry_t, last_reset_val),
};

static const struct lpfm_place places_06[LPFM_SMPL_FIELDS] = {
	[LPFM_SMPL_IP] = PLACE(pfm_default_smpl_entry_t, ip),
	[LPFM_SMPL_TID] = PLACE(pfm_default_smpl_entry_t, tid),
	[LPFM_SMPL_PID] = PLACE(pfm_default_smpl_entry_t, pid),
	[LPFM_SMPL_CPU] = PLACE(pfm_default_smpl_entry_t, cpu),
	[LPFM_SMPL_TSTAMP] = PLACE(pfm_default_smpl_entry_t, tstamp),
	[LPFM_SMPL_SET] = PLACE(pfm_default_smpl_entry_t, set),
	[LPFM_SMPL_OVFL_PMD] = PLACE(pfm_default_smpl_entry_t, ovfl_pmd),
	[LPFM_SMPL_LAST_RESET] = PLACE(pfm_default_smpl_entry_t, last_reset_val),
};

static const struct lpfm_place places_iip[LPFM_SMPL_FIELDS] = {
	[LPFM_SMPL_IP] = { 0, sizeof(uint64_t) },
};

static const struct lpfm_place places_none[LPFM_SMPL_FIELDS];

/* --- the buffer's header -------------------------------------------------------------------- */

static void read_2x(const pfm_dfl_smpl_hdr_t *h, struct lpfm_smpl_hdr *hdr)
{
	*hdr = (struct lpfm_smpl_hdr){
		.count = __atomic_load_n(&h->hdr_count, __ATOMIC_ACQUIRE),
		.cur_offs = h->hdr_cur_offs, .overflows = h->hdr_overflows, .size = h->hdr_buf_size,
		.version = h->hdr_version, .flags = h->hdr_buf_flags, .first = sizeof(*h),
	};
}

static void read_06(const pfm_default_smpl_hdr_t *h, struct lpfm_smpl_hdr *hdr)
{
	*hdr = (struct lpfm_smpl_hdr){
		.count = __atomic_load_n(&h->hdr_count, __ATOMIC_ACQUIRE),
		.cur_offs = h->hdr_cur_offs, .overflows = h->hdr_overflows, .size = h->hdr_buf_size,
		.version = h->hdr_version, .flags = h->hdr_flags, .first = sizeof(*h),
	};
}

/* The region at hdr_tail: the oldest full one or, if none is full, the one being written. */
static void read_nway(const pfm_nway_smpl_hdr_t *h, struct lpfm_smpl_hdr *hdr)
{
	const pfm_nway_region_t *r = &h->hdr_regions[h->hdr_tail % PFM_NWAY_MAX_REGIONS];

	*hdr = (struct lpfm_smpl_hdr){
		.count = __atomic_load_n(&r->count, __ATOMIC_ACQUIRE),
		.cur_offs = r->cur_offs, .overflows = h->hdr_overflows, .size = h->hdr_buf_size,
		.version = h->hdr_version, .flags = h->hdr_buf_flags, .first = r->offs,
		.lost = h->hdr_lost, .regions = h->hdr_num_regions,
	};
}

void lpfm_smpl_hdr_read(const struct lpfm_context *ctx, struct lpfm_smpl_hdr *hdr)
{
	const void *buf = ctx->buf;

	if (ctx->format == LPFM_NWAY)
		read_nway(buf, hdr);
	else if (ctx->format == LPFM_DFL_06)
		read_06(buf, hdr);
	else
		read_2x(buf, hdr);
}

/* --- walks ---------------------------------------------------------------------------------- */

static void choose_places(struct lpfm_walk *w)
{
	bool old = w->ctx->format == LPFM_DFL_06;

	if (w->ctx->buf_flags & PFM_DFL_SMPL_NO_HDR) {
		w->places = places_none;
		w->head_size = 0;
	} else if (w->ctx->buf_flags & PFM_DFL_SMPL_IIP_HDR) {
		w->places = places_iip;
		w->head_size = sizeof(uint64_t);
	} else {
		w->places = old ? places_06 : places_2x;
		w->head_size = old ? sizeof(pfm_default_smpl_entry_t) : sizeof(pfm_dfl_smpl_entry_t);
	}
	w->set_at = w->places[LPFM_SMPL_SET].offset;
	w->pmd_at = w->places[LPFM_SMPL_OVFL_PMD].offset;
}

/* From now on samples hold this. */
static void hold(struct lpfm_walk *w, const struct lpfm_layout *body)
{
	w->body = *body;
	w->size = w->head_size + body->n * sizeof(uint64_t);
	w->turned = true;
}

void lpfm_walk_turn(struct lpfm_walk *w, uint16_t set, uint16_t pmd)
{
	hold(w, lpfm_layouts_find(&w->ctx->layouts, set, pmd));
	w->body.key = (uint32_t)set << 16 | pmd;
}

/* 3.6.2: samples that do not say which PMD overflowed are all alike, or cannot be told apart. */
static void choose_body(lua_State *L, struct lpfm_walk *w)
{
	const struct lpfm_layouts *ls = &w->ctx->layouts;

	for (size_t i = 0; i < ls->n; i++) {
		if (!ls->list[i].n)
			continue;
		if (w->body.n && memcmp(w->body.pmds, ls->list[i].pmds, sizeof(w->body.pmds)))
			luaL_error(L, "samples without headers cannot be told apart: "
				   "several PMDs were programmed with different smpl_pmds");
		hold(w, &ls->list[i]);
	}
}

/* No PMD that was programmed has values with its samples: those are headers, whoever overflowed. */
static bool headers_alone(const struct lpfm_layouts *ls)
{
	for (size_t i = 0; i < ls->n; i++)
		if (ls->list[i].n)
			return false;
	return true;
}

void lpfm_walk_start(lua_State *L, struct lpfm_walk *w, const struct lpfm_context *ctx)
{
	struct lpfm_smpl_hdr hdr;

	lpfm_smpl_hdr_read(ctx, &hdr);
	memset(w, 0, sizeof(*w));
	w->ctx = ctx;
	w->epoch = ctx->epoch;
	w->count = hdr.count;
	w->end = ctx->buf + ctx->buf_size;
	w->next = hdr.first < ctx->buf_size ? ctx->buf + hdr.first : w->end;
	choose_places(w);
	hold(w, &(struct lpfm_layout){ .key = UINT32_MAX });
	if (ctx->buf_flags & (PFM_DFL_SMPL_NO_HDR | PFM_DFL_SMPL_IIP_HDR)) {
		w->fixed = true;
		choose_body(L, w);
	} else {
		w->fixed = headers_alone(&ctx->layouts);
	}
}

int lpfm_walk_stale(lua_State *L, const struct lpfm_walk *w)
{
	if (w->ctx->fd < 0)
		return luaL_error(L, "the buffer is closed");
	return luaL_error(L, "the sample is stale: the context was restarted");
}

int lpfm_walk_broken(lua_State *L, struct lpfm_walk *w)
{
	lua_Number index = (lua_Number)(w->index + 1), count = (lua_Number)w->count;

	w->index = w->count = 0;
	return luaL_error(L, "the buffer is corrupt: sample %f of %f lies outside it", index, count);
}

/* --- fields by name, filters ---------------------------------------------------------------- */

static void settle(const struct lpfm_walk *w, struct lpfm_ref *refs, unsigned int n)
{
	for (struct lpfm_ref *ref = refs; ref < refs + n; ref++) {
		if (!ref->is_pmd)
			continue;
		ref->width = w->body.pmds[ref->pmd / 64] >> (ref->pmd % 64) & 1 ? sizeof(uint64_t) : 0;
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
	for (int i = 0; i < LPFM_SMPL_FIELDS; i++) {
		if (strcmp(name, lpfm_smpl_names[i]))
			continue;
		ref->offset = w->places[i].offset;
		ref->width = w->places[i].width;
		if (!ref->width)
			lpfm_bad(L, site, "the samples of this buffer have no field '%s' "
				 "(buf_flags NO_HDR, IIP_HDR)", name);
		return;
	}
	lpfm_bad(L, site, "unknown field '%s' (known: ip, tid, pid, cpu, tstamp, set, ovfl_pmd, "
		 "last_reset, and numbers of PMDs)", name);
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
