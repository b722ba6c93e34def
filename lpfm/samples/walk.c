/* SPDX-License-Identifier: MIT */
/*
 * walk.c - how a walk over samples begins, and what the next one holds (3.6).
 */
#include <string.h>

#include "context/layout.h"
#include "samples/header.h"
#include "samples/walk.h"

/* From now on samples hold this. */
static void hold(struct lpfm_walk *w, const struct lpfm_layout *body)
{
	w->body = *body;
	w->key = body->key;
	w->size = w->head_size + body->n * sizeof(uint64_t);
	w->turned = true;
}

void lpfm_walk_turn(struct lpfm_walk *w, uint16_t set, uint16_t pmd)
{
	hold(w, lpfm_layouts_find(w->layouts, set, pmd));
	w->key = (uint32_t)set << 16 | pmd;
}

void lpfm_walk_begin(struct lpfm_walk *w, enum lpfm_entry entry, const struct lpfm_layouts *layouts)
{
	memset(w, 0, sizeof(*w));
	w->entry = entry;
	w->layouts = layouts;
	w->head_size = lpfm_entry_size(entry);
	w->set_at = lpfm_smpl_names[LPFM_SMPL_SET].at[entry].offset;
	w->pmd_at = lpfm_smpl_names[LPFM_SMPL_OVFL_PMD].at[entry].offset;
	hold(w, &(struct lpfm_layout){ .key = UINT32_MAX });
}

/* 3.6.2: samples that do not say which PMD overflowed are all alike, or cannot be told apart. */
static void choose_body(lua_State *L, struct lpfm_walk *w)
{
	const struct lpfm_layouts *ls = w->layouts;

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

	lpfm_smpl_hdr_read(&hdr, ctx->format, ctx->buf);
	lpfm_walk_begin(w, lpfm_entry_of(ctx), &ctx->layouts);
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
