// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * sets.c - event sets as containers: the sets of a context, and the registers of a set. A set is
 * found by its 16-bit id: sets with the lowest ids in a table, the others through a table of pages
 * of 256 sets each. Sets are also linked in the order of their ids, which is the default order of
 * switching (3.7.5). A set has entries only for the registers in use, in arrays sorted by register
 * number; the index of a register is the number of used registers below it.
 */
#include "core.h"

#define NUM_PAGES	256

struct pfm_set_page {
	unsigned int	used;
	struct pfm_set	*sets[256];
};

static struct pfm_set_page *page_of(struct pfm_context *ctx, uint16_t id)
{
	return ctx->set_pages ? ctx->set_pages[id >> 8] : NULL;
}

struct pfm_set *pfm_set_find_high(struct pfm_context *ctx, uint16_t id)
{
	struct pfm_set_page *page = page_of(ctx, id);

	return page ? page->sets[id & 255] : NULL;
}

/* Returns the last set with an id below "id", which is not 0. */
static struct pfm_set *predecessor(struct pfm_context *ctx, uint16_t id)
{
	int p = id >> 8, at = (id & 255) - 1;

	for (; ctx->set_pages && p >= 0; p--, at = 255) {
		struct pfm_set_page *page = ctx->set_pages[p];

		for (; page && at >= 0; at--)
			if (page->sets[at])
				return page->sets[at];
	}
	for (at = id < PFM_LOW_SETS ? id - 1 : PFM_LOW_SETS - 1; !ctx->low_sets[at];)
		at--;
	return ctx->low_sets[at];
}

/*
 * Returns the page for id, which it allocates if the page does not exist; returns NULL if there is
 * no memory.
 */
static struct pfm_set_page *make_page(struct pfm_context *ctx, uint16_t id)
{
	struct pfm_set_page **page;

	if (!ctx->set_pages)
		ctx->set_pages = pfm_os_alloc(NUM_PAGES * sizeof(struct pfm_set_page *));
	if (!ctx->set_pages)
		return NULL;
	page = &ctx->set_pages[id >> 8];
	if (!*page)
		*page = pfm_os_alloc(sizeof(**page));
	return *page;
}

static void drop_page(struct pfm_context *ctx, uint16_t id)
{
	pfm_os_free(ctx->set_pages[id >> 8]);
	ctx->set_pages[id >> 8] = NULL;
}

static void enter(struct pfm_context *ctx, struct pfm_set *set)
{
	if (set->id < PFM_LOW_SETS) {
		ctx->low_sets[set->id] = set;
	} else {
		page_of(ctx, set->id)->sets[set->id & 255] = set;
		page_of(ctx, set->id)->used++;
	}
	ctx->num_sets++;
}

static void leave(struct pfm_context *ctx, struct pfm_set *set)
{
	if (set->id < PFM_LOW_SETS) {
		ctx->low_sets[set->id] = NULL;
	} else {
		page_of(ctx, set->id)->sets[set->id & 255] = NULL;
		if (!--page_of(ctx, set->id)->used)
			drop_page(ctx, set->id);
	}
	ctx->num_sets--;
}

static void set_init(struct pfm_set *set, uint16_t id)
{
	set->id = id;
	set->pmcs = set->first_pmcs;
	set->pmds = set->first_pmds;
	set->room_pmcs = set->room_pmds = PFM_FIRST_REGS;
}

void pfm_sets_init(struct pfm_context *ctx)
{
	set_init(&ctx->set0, 0);
	enter(ctx, &ctx->set0);
	ctx->active = &ctx->set0;
}

int pfm_set_new(struct pfm_context *ctx, uint16_t id, struct pfm_set **out)
{
	bool high = id >= PFM_LOW_SETS;
	struct pfm_set *set, *before;
	int ret;

	if (high && !make_page(ctx, id))
		return pfm_refuse(-ENOMEM, "no memory for set %u", id);
	set = pfm_os_alloc(sizeof(*set));
	if (!set) {
		ret = pfm_refuse(-ENOMEM, "no memory for set %u", id);
		goto drop;
	}
	set_init(set, id);
	ret = pfm_view_open(ctx, set);
	if (ret) {
		pfm_os_free(set);
		goto drop;
	}
	before = predecessor(ctx, id);
	set->next = before->next;
	before->next = set;
	enter(ctx, set);
	*out = set;
	return 0;
drop:
	if (high && !page_of(ctx, id)->used)
		drop_page(ctx, id);
	return ret;
}

/*
 * Frees arrays of a set, unless they are first_pmcs or first_pmds, which are a part of struct
 * pfm_set.
 */
static void free_regs(struct pfm_set *set, struct pfm_pmc *pmcs, struct pfm_pmd *pmds)
{
	if (pmcs != set->first_pmcs)
		pfm_os_free(pmcs);
	if (pmds != set->first_pmds)
		pfm_os_free(pmds);
}

void pfm_set_delete(struct pfm_context *ctx, struct pfm_set *set)
{
	predecessor(ctx, set->id)->next = set->next;
	leave(ctx, set);
	pfm_view_close(ctx, set);
	if (ctx->active == set) {
		ctx->active = &ctx->set0;
		pfm_view_update(ctx, ctx->active);
	}
	free_regs(set, set->pmcs, set->pmds);
	pfm_os_free(set);
}

void pfm_sets_free(struct pfm_context *ctx)
{
	struct pfm_set *set, *next;

	free_regs(&ctx->set0, ctx->set0.pmcs, ctx->set0.pmds);
	for (set = ctx->set0.next; set; set = next) {
		next = set->next;
		free_regs(set, set->pmcs, set->pmds);
		pfm_os_free(set);
	}
	if (!ctx->set_pages)
		return;
	for (int i = 0; i < NUM_PAGES; i++)
		pfm_os_free(ctx->set_pages[i]);
	pfm_os_free(ctx->set_pages);
}

/*
 * Returns the set that id_next names if the set has an explicit link; otherwise the next one in the
 * order of ids, or set 0 after the last (3.7.5).
 */
struct pfm_set *pfm_set_successor(struct pfm_context *ctx, struct pfm_set *set)
{
	if (set->flags & PFM_SETFL_EXPL_NEXT)
		return pfm_set_find(ctx, set->id_next);
	return set->next ? set->next : &ctx->set0;
}

struct pfm_pmc *pfm_set_pmc(struct pfm_set *set, unsigned int num)
{
	return pfm_bit(set->used_pmcs, num) ? &set->pmcs[pfm_bits_rank(set->used_pmcs, num)] : NULL;
}

struct growth {
	struct pfm_set	*set;
	struct pfm_pmc	*pmcs;	/* the new arrays; after grow() the old ones */
	struct pfm_pmd	*pmds;
	unsigned int	room_pmcs, room_pmds;
};

/*
 * Runs in PMU context even for an inactive set, since a switch may make it the active one at any
 * time.
 */
static int grow(struct pfm_context *ctx, void *arg)
{
	struct growth *g = arg;
	struct pfm_set *set = g->set;

	(void)ctx;
	if (g->pmcs) {
		struct pfm_pmc *old = set->pmcs;

		memcpy(g->pmcs, old, set->num_pmcs * sizeof(*old));
		set->pmcs = g->pmcs;
		set->room_pmcs = g->room_pmcs;
		g->pmcs = old;
	}
	if (g->pmds) {
		struct pfm_pmd *old = set->pmds;

		memcpy(g->pmds, old, set->num_pmds * sizeof(*old));
		set->pmds = g->pmds;
		set->room_pmds = g->room_pmds;
		g->pmds = old;
	}
	return 0;
}

/*
 * If "want" registers do not fit into "room" elements, allocates a larger array and sets *array and
 * *new_room. Returns false if there is no memory.
 */
static bool larger(unsigned int want, unsigned int room, size_t size, void **array, unsigned int *new_room)
{
	if (want <= room)
		return true;
	*new_room = want + want / 2;
	*array = pfm_os_alloc(*new_room * size);
	return *array;
}

/*
 * Moves a set's registers into larger arrays if necessary. grow() exchanges the arrays: afterwards
 * g has the old ones, which are freed.
 */
static int move(struct pfm_context *ctx, struct pfm_set *set, unsigned int num_pmcs, unsigned int num_pmds)
{
	struct growth g = { .set = set };
	int ret = 0;

	if (!larger(num_pmcs, set->room_pmcs, sizeof(*g.pmcs), (void **)&g.pmcs, &g.room_pmcs) ||
	    !larger(num_pmds, set->room_pmds, sizeof(*g.pmds), (void **)&g.pmds, &g.room_pmds))
		ret = pfm_refuse(-ENOMEM, "no memory for the registers of set %u", set->id);
	else
		ret = pfm_in_pmu(ctx, grow, &g);
	free_regs(set, g.pmcs, g.pmds);
	return ret;
}

int pfm_set_reserve_pmc(struct pfm_context *ctx, struct pfm_set *set, unsigned int num)
{
	int ret;

	if (pfm_bit(set->capacity_of_pmcs, num))
		return 0;
	ret = set->reserved_pmcs < set->room_pmcs ? 0 : move(ctx, set, set->reserved_pmcs + 1, 0);
	if (ret)
		return ret;
	pfm_bit_set(set->capacity_of_pmcs, num);
	set->reserved_pmcs++;
	return 0;
}

int pfm_set_reserve_pmd(struct pfm_context *ctx, struct pfm_set *set, unsigned int num)
{
	int ret;

	if (pfm_bit(set->capacity_of_pmds, num))
		return 0;
	ret = set->reserved_pmds < set->room_pmds ? 0 : move(ctx, set, 0, set->reserved_pmds + 1);
	if (ret)
		return ret;
	pfm_bit_set(set->capacity_of_pmds, num);
	set->reserved_pmds++;
	return 0;
}

struct pfm_pmc *pfm_set_use_pmc(struct pfm_set *set, unsigned int num)
{
	unsigned int at = pfm_bits_rank(set->used_pmcs, num);
	struct pfm_pmc *pmc = &set->pmcs[at];

	if (pfm_bit(set->used_pmcs, num))
		return pmc;
	memmove(pmc + 1, pmc, (set->num_pmcs - at) * sizeof(*pmc));
	memset(pmc, 0, sizeof(*pmc));
	pmc->num = num;
	set->num_pmcs++;
	pfm_bit_set(set->used_pmcs, num);
	return pmc;
}

struct pfm_pmd *pfm_set_use_pmd(struct pfm_set *set, const struct pfm_reg *reg)
{
	unsigned int num = reg->num, at;
	struct pfm_pmd *pmd = pfm_set_pmd(set, num);

	if (pmd)
		return pmd;
	at = pfm_bits_rank(set->used_pmds, num);
	pmd = &set->pmds[at];
	memmove(pmd + 1, pmd, (set->num_pmds - at) * sizeof(*pmd));
	memset(pmd, 0, sizeof(*pmd));
	pmd->num = num;
	pmd->reg = reg;
	pmd->is_counter = !!(reg->kind & PFM_REG_C64);
	pmd->value = pmd->last_reset = pmd->is_counter ? 0 : reg->dfl;
	set->num_pmds++;
	pfm_bit_set(set->used_pmds, num);
	if (num / 64 >= set->pmd_words)
		set->pmd_words = num / 64 + 1;
	for (; at < set->num_pmds; at++)
		set->pmd_at[set->pmds[at].num] = at;
	return pmd;
}
