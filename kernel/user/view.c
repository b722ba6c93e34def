// SPDX-License-Identifier: MIT
/*
 * view.c - views (2.2): pfm_map_set() maps them on every machine. pfm_read_view() reads them when
 * pfm_read_fast() of perfmon_fast.h, which is inlined into programs, cannot.
 */
#include <linux/perf_event.h>
#include <unistd.h>

#define PFM_NO_MMAP_REDIRECT
#include "desc.h"
#include "perfmon/perfmon_fast.h"
#include <sys/mman.h>

/* --- the memory of a view, for machines in user space ----------------------------------------- */

pfm_set_view_t *pfm_user_open_view(struct pfm_context *ctx, struct pfm_set *set)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	struct pfm_user_view *v = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	_Static_assert(sizeof(*v) <= 4096, "a page");
	(void)ctx, (void)set;
	if (v == MAP_FAILED)
		return NULL;
	v->process = pfm_process();
	return &v->view;
}

/* The program's own mapping of the view stays. */
void pfm_user_close_view(struct pfm_context *ctx, struct pfm_set *set)
{
	(void)ctx;
	munmap(set->view, (size_t)sysconf(_SC_PAGESIZE));
}

/* --- mapping --------------------------------------------------------------------------------- */

int pfm_map_set(int fd, uint16_t set, pfm_view_t *view)
{
	pfarg_setinfo_t info = { .set_id = set };
	void *at;

	if (!view)
		return pfm_result(pfm_refuse(-EFAULT, "the view is NULL"));
	if (pfm_getinfo_evtsets(fd, &info, 1))
		return -1;
	if (!info.set_mmap_offset)
		return pfm_result(pfm_refuse(-EINVAL, "the context was created without MAP_SETS"));
	at = pfm_mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, (off_t)info.set_mmap_offset);
	if (at == MAP_FAILED)
		return -1;
	*view = (pfm_view_t){ .page = at, .fd = fd, .set = set };
	return 0;
}

static bool is_mapped(const pfm_view_t *view)
{
	if (view && view->page)
		return true;
	pfm_result(pfm_refuse(-EFAULT, view ? "the view is not mapped" : "the view is NULL"));
	return false;
}

int pfm_unmap_set(pfm_view_t *view)
{
	void *page;

	if (!is_mapped(view))
		return -1;
	page = (void *)(uintptr_t)view->page;
	view->page = NULL;
	return pfm_unmap_buffer(page, (size_t)sysconf(_SC_PAGESIZE));
}

/* --- reading --------------------------------------------------------------------------------- */

#define CHUNK	16
/*
 * how often a view that changes during the read is read again, before a system call reads the PMDs
 */
#define TRIES	1000

static int by_call(const pfm_view_t *view, const uint16_t *nums, uint64_t *values, int n)
{
	for (int at = 0; at < n; at += CHUNK) {
		int some = n - at < CHUNK ? n - at : CHUNK;
		pfarg_pmd_t v[CHUNK] = { { 0 } };

		for (int i = 0; i < some; i++) {
			v[i].reg_num = nums[at + i];
			v[i].reg_set = view->set;
		}
		if (pfm_read_pmds(view->fd, v, some))
			return -1;
		for (int i = 0; i < some; i++)
			values[at + i] = v[i].reg_value;
	}
	return 0;
}

static bool is_readable(const pfm_view_t *view, const uint16_t *nums, const uint64_t *values, int n)
{
	if (!is_mapped(view))
		return false;
	if (n <= 0 || (nums && values))
		return true;
	pfm_result(pfm_refuse(-EFAULT, "the numbers or the values are NULL"));
	return false;
}

static bool is_own(const struct pfm_user_view *v)
{
	return v->self == pfm_fast_thread() && v->process == pfm_process();
}

/*
 * Reads one of perf's pages as the comment in struct perf_event_mmap_page describes. Returns false
 * if it cannot be read.
 */
static bool read_perf_page(const void *at, uint64_t base, uint64_t *value)
{
	const volatile struct perf_event_mmap_page *page = at;
	uint32_t lock, index, unused;
	uint64_t count;

	do {
		lock = page->lock;
		PFM_FAST_BARRIER();
		index = page->index;
		if (!page->cap_user_rdpmc || !index)
			return false;
		count = (uint64_t)page->offset;
		unused = 64U - page->pmc_width;
		count += (uint64_t)((int64_t)(pfm_fast_register(index) << unused) >> unused);
		PFM_FAST_BARRIER();
	} while (page->lock != lock);
	*value = base + count;
	return true;
}

static bool read_one(const pfm_set_view_t *page, uint16_t num, uint64_t *value)
{
	const struct pfm_user_view *v = (const struct pfm_user_view *)page;
	unsigned int index = num < PFM_MAX_PMDS ? page->set_index[num] : PFM_VIEW_CALL;

	switch (index) {
	case PFM_VIEW_STILL:
		*value = page->set_pmds[num];
		return true;
	case PFM_VIEW_ELSEWHERE:
		return is_own(v) && read_perf_page(v->perf + num * (size_t)sysconf(_SC_PAGESIZE),
						   page->set_base[num], value);
	/*
	 * the index of a hardware counter: pfm_read_fast() gave up because of another PMD, or
	 * before the set became the active one
	 */
	default:
		if (index - 1U >= PFM_FAST_COUNTERS || page->set_owner != pfm_fast_thread())
			return false;
		*value = page->set_base[num % PFM_VIEW_COUNTERS] + pfm_fast_extend(pfm_fast_register(index), page);
		return true;
	}
}

static bool read_all(const pfm_set_view_t *page, const uint16_t *nums, uint64_t *values, int n)
{
	for (int i = 0; i < n; i++)
		if (!read_one(page, nums[i], &values[i]))
			return false;
	return true;
}

int pfm_read_view(const pfm_view_t *view, const uint16_t *nums, uint64_t *values, int n)
{
	const pfm_set_view_t *page;

	if (!is_readable(view, nums, values, n))
		return -1;
	page = view->page;
	for (int tries = 0; tries < TRIES; tries++) {
		unsigned long seq = __atomic_load_n(&page->set_seq, __ATOMIC_ACQUIRE);
		bool good;

		if (seq & 1)
			continue;
		good = read_all(page, nums, values, n);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&page->set_seq, __ATOMIC_RELAXED) == seq)
			return good ? 1 : by_call(view, nums, values, n);
	}
	return by_call(view, nums, values, n);
}

int pfm_read_mapped(const pfm_view_t *view, const uint16_t *nums, uint64_t *values, int n)
{
	return is_readable(view, nums, values, n) ? pfm_read_fast(view, nums, values, n) : -1;
}
