// SPDX-License-Identifier: MIT
/*
 * view.c - lets the target read its counters without a system call, from the pages that the kernel
 * maintains for its events. A view has a range of addresses with room for one page per counter of
 * the PMU. Where no event's page is mapped there is a page of zeros, which says that the counter
 * cannot be read directly: so even while events are closed, a read finds mapped memory.
 */
#define PFM_NO_MMAP_REDIRECT
#include <unistd.h>

#include "perf.h"
#include "perfmon/perfmon_fast.h"
#include <sys/mman.h>

static size_t page_size(void)
{
	static size_t size;

	if (!size)
		size = (size_t)sysconf(_SC_PAGESIZE);
	return size;
}

static char *place(struct pfm_set *set, const struct perf_counter *c)
{
	return (char *)(uintptr_t)pfm_user_view_of(set)->perf + c->plan.num * page_size();
}

static bool readable(const struct perf_plan *plan)
{
	return plan->hw && !plan->sampling && plan->num < PFM_VIEW_COUNTERS;
}

/* Maps an event's page, or a page of zeros if there is no descriptor or the kernel refuses. */
static void put_page(char *at, int fd)
{
	if (fd < 0 || mmap(at, page_size(), PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
		mmap(at, page_size(), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

/* Maps the pages of a set's events, or replaces them by pages of zeros if "come" is false. */
void perf_view_events(struct pfm_set *set, struct perf_group *g, bool come)
{
	struct pfm_user_view *v = set->view ? pfm_user_view_of(set) : NULL;

	if (!v || !g || !g->hw)
		return;
	if (!v->perf) {
		void *range = mmap(NULL, PFM_VIEW_COUNTERS * page_size(), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS,
				   -1, 0);

		v->perf = range == MAP_FAILED ? NULL : range;
	}
	for (unsigned int i = 0; v->perf && i < g->n; i++)
		if (readable(&g->c[i].plan))
			put_page(place(set, &g->c[i]), come ? g->c[i].fd : -1);
}

/*
 * Returns true if the target may read the counter. On arm64 cap_user_rdpmc is set even if the
 * sysctl forbids reads; but then the page of an event that runs on this CPU has index 0.
 */
static bool lets_read(const volatile struct perf_event_mmap_page *page, uint64_t self)
{
	return page->cap_user_rdpmc && (page->index || self != pfm_fast_thread());
}

void perf_live_view(struct pfm_context *ctx, struct pfm_set *set)
{
	struct perf_group *g = set == perf_of(ctx)->set ? perf_group_of(set) : NULL;
	struct pfm_user_view *v = pfm_user_view_of(set);

	if (!perf_of(ctx)->running)
		return;
	v->self = perf_of(ctx)->self;
	for (unsigned int i = 0; g && i < g->n; i++) {
		const struct perf_counter *c = &g->c[i];
		bool direct = v->self && v->perf && readable(&c->plan) && lets_read((void *)place(set, c), v->self);

		if (direct)
			v->view.set_base[c->plan.num] = c->base - c->base_count;
		v->view.set_index[c->plan.num] = direct ? PFM_VIEW_ELSEWHERE : PFM_VIEW_CALL;
	}
}

void perf_close_view(struct pfm_context *ctx, struct pfm_set *set)
{
	const char *perf = pfm_user_view_of(set)->perf;

	pfm_user_close_view(ctx, set);
	if (perf)
		munmap((void *)(uintptr_t)perf, PFM_VIEW_COUNTERS * page_size());
}
