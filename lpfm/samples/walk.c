/* SPDX-License-Identifier: MIT */
/* walk.c - begins walks over samples, and finds out what the next sample holds (3.6). */
#include <string.h>

#include "base/table.h"
#include "perfmon/perfmon_stack_smpl.h"
#include "samples/header.h"
#include "samples/walk.h"

/* Makes body the layout of the samples that follow. */
static void hold(struct lpfm_walk *w, const struct lpfm_layout *body)
{
	w->body = *body;
	w->key = body->key;
	w->size = w->head_size + body->n * sizeof(uint64_t);
	w->turned = true;
}

void lpfm_walk_turn(struct lpfm_walk *w, uint16_t set, uint16_t pmd)
{
	static const struct lpfm_layout nothing;
	const struct lpfm_layout *found = lpfm_table_find(w->layouts, (uint32_t)set << 16 | pmd);

	if (!found && w->any_set)
		found = lpfm_table_find(w->layouts, pmd);
	hold(w, found ? found : &nothing);
	w->key = (uint32_t)set << 16 | pmd;
}

void lpfm_walk_begin(struct lpfm_walk *w, enum lpfm_entry entry, const struct lpfm_table *layouts)
{
	memset(w, 0, sizeof(*w));
	w->entry = entry;
	w->layouts = layouts;
	w->varies = entry == LPFM_ENTRY_STACK;
	w->head_size = lpfm_entry_size(entry);
	w->set_at = lpfm_smpl_names[LPFM_SMPL_SET].at[entry].offset;
	w->pmd_at = lpfm_smpl_names[LPFM_SMPL_OVFL_PMD].at[entry].offset;
	hold(w, &(struct lpfm_layout){ .key = UINT32_MAX });
}

/* --- records ------------------------------------------------------------------------------- */

/* Reads the head of the record at w->next. Returns false if the record does not fit. */
static bool read_head(const struct lpfm_walk *w, pfm_stack_smpl_rec_t *rec)
{
	size_t left = (size_t)(w->limit - w->next);

	if (left < sizeof(*rec))
		return false;
	memcpy(rec, w->next, sizeof(*rec));
	return rec->rec_size >= sizeof(*rec) && rec->rec_size <= left && rec->rec_size % sizeof(uint64_t) == 0;
}

/* Returns true if the sample is large enough for its declared contents. */
static bool is_whole(const pfm_stack_smpl_sample_t *s)
{
	size_t words = (size_t)s->num_pmds + s->num_kernel + s->num_user + s->num_regs;

	return sizeof(*s) + words * sizeof(uint64_t) + s->stack_size <= s->rec.rec_size;
}

static bool read_sample(struct lpfm_walk *w, const pfm_stack_smpl_rec_t *rec)
{
	static const struct lpfm_layout nothing = { .key = UINT32_MAX };
	pfm_stack_smpl_sample_t s;

	if (rec->rec_size < sizeof(s))
		return false;
	memcpy(&s, w->next, sizeof(s));
	if (!is_whole(&s))
		return false;
	lpfm_walk_body(w);
	/* the PMD was programmed differently since: which values the sample holds is not known */
	if (w->body.n != s.num_pmds)
		hold(w, &nothing);
	w->kernel = s.num_kernel;
	w->user = s.num_user;
	w->frames_at = (uint32_t)(sizeof(s) + s.num_pmds * sizeof(uint64_t));
	w->size = rec->rec_size;
	return true;
}

int lpfm_walk_record(struct lpfm_walk *w)
{
	pfm_stack_smpl_rec_t rec = { 0 };
	bool sound = read_head(w, &rec);

	while (sound && rec.rec_type != PFM_STACK_SMPL_SAMPLE) {
		w->next += rec.rec_size;
		sound = read_head(w, &rec);
	}
	if (!sound || !read_sample(w, &rec))
		return -1;
	w->next += w->size;
	w->index++;
	return 1;
}

int lpfm_walk_other(struct lpfm_walk *w, const unsigned char **at)
{
	pfm_stack_smpl_rec_t rec;

	while (w->next != w->limit) {
		if (!read_head(w, &rec))
			return -1;
		*at = w->next;
		w->next += rec.rec_size;
		if (rec.rec_type != PFM_STACK_SMPL_SAMPLE)
			return 1;
	}
	return 0;
}

/* --- beginning a walk ------------------------------------------------------------------------ */

/*
 * Chooses the layout of samples that do not say which PMD overflowed (3.6.2). Raises an error if
 * not all have the same layout, because they cannot be read then.
 */
static void choose_body(lua_State *L, struct lpfm_walk *w)
{
	for (size_t i = 0; i < w->layouts->n; i++) {
		const struct lpfm_layout *layout = lpfm_table_entry(w->layouts, i);

		if (!layout->n)
			continue;
		if (w->body.n && memcmp(w->body.pmds, layout->pmds, sizeof(w->body.pmds)))
			luaL_error(L, "samples without headers cannot be told apart: "
				   "several PMDs were programmed with different smpl_pmds");
		hold(w, layout);
	}
}

/* Returns true if samples consist of their headers alone: no programmed PMD has smpl_pmds. */
static bool headers_alone(const struct lpfm_table *layouts)
{
	for (size_t i = 0; i < layouts->n; i++)
		if (((const struct lpfm_layout *)lpfm_table_entry(layouts, i))->n)
			return false;
	return true;
}

void lpfm_walk_start(lua_State *L, struct lpfm_walk *w, const struct lpfm_context *ctx)
{
	struct lpfm_smpl_hdr hdr;

	lpfm_smpl_hdr_read(&hdr, ctx->format, ctx->buf);
	lpfm_walk_begin(w, lpfm_entry_of(ctx), &ctx->programming.pmds);
	w->ctx = ctx;
	w->now = &ctx->epoch;
	w->epoch = ctx->epoch;
	w->count = hdr.count;
	w->limit = ctx->buf + ctx->buf_size;
	w->next = hdr.first < ctx->buf_size ? ctx->buf + hdr.first : w->limit;
	if (w->entry == LPFM_ENTRY_NONE || w->entry == LPFM_ENTRY_IIP) {
		w->fixed = true;
		choose_body(L, w);
	} else {
		w->fixed = !w->varies && headers_alone(&ctx->programming.pmds);
	}
}

void lpfm_walk_from(lua_State *L, struct lpfm_walk *w, const struct lpfm_context *ctx, uint64_t from,
		    unsigned int ahead)
{
	struct lpfm_smpl_hdr hdr;

	lpfm_walk_start(L, w, ctx);
	if (!lpfm_smpl_hdr_ahead(&hdr, ctx->format, ctx->buf, ahead))
		luaL_error(L, "there are not so many regions to read");
	if (hdr.cur_offs > ctx->buf_size)
		hdr.cur_offs = ctx->buf_size;
	if (from < hdr.first)
		from = hdr.first;
	w->limit = ctx->buf + hdr.cur_offs;
	w->next = from < hdr.cur_offs ? ctx->buf + from : w->limit;
	w->count = UINT64_MAX;
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
