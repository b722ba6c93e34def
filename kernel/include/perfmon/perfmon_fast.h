/* SPDX-License-Identifier: MIT */
/*
 * perfmon_fast.h - reads running counters of the calling thread without entering the kernel
 * (2.2).
 *
 *	static const uint16_t nums[] = { 0, 1 };
 *	pfm_view_t view;
 *
 *	pfm_map_set(fd, 0, &view);
 *	pfm_read_fast(&view, nums, values, 2);
 */
#ifndef PERFMON_FAST_H
#define PERFMON_FAST_H

#include "perfmon/perfmon.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PFM_FAST_BARRIER() __asm__ __volatile__("" : : : "memory")

#if defined(__aarch64__)

/* Counters by the index in perf's page: 1 to 31 are PMEVCNTR<index - 1>_EL0, 32 is PMCCNTR_EL0. */
#define PFM_FAST_COUNTERS 32U

static inline uint64_t pfm_fast_thread(void)
{
	uint64_t tp;

	__asm__("mrs %0, tpidr_el0" : "=r"(tp));
	return tp;
}

#define PFM_FAST_CASE_(n, reg) case n: __asm__ __volatile__("mrs %0, " reg : "=r"(value)); break;
static inline uint64_t pfm_fast_register(unsigned int index)
{
	uint64_t value;

	switch (index) {
	PFM_FAST_CASE_(1, "pmevcntr0_el0") PFM_FAST_CASE_(2, "pmevcntr1_el0") PFM_FAST_CASE_(3, "pmevcntr2_el0")
	PFM_FAST_CASE_(4, "pmevcntr3_el0") PFM_FAST_CASE_(5, "pmevcntr4_el0") PFM_FAST_CASE_(6, "pmevcntr5_el0")
	PFM_FAST_CASE_(7, "pmevcntr6_el0") PFM_FAST_CASE_(8, "pmevcntr7_el0") PFM_FAST_CASE_(9, "pmevcntr8_el0")
	PFM_FAST_CASE_(10, "pmevcntr9_el0") PFM_FAST_CASE_(11, "pmevcntr10_el0") PFM_FAST_CASE_(12, "pmevcntr11_el0")
	PFM_FAST_CASE_(13, "pmevcntr12_el0") PFM_FAST_CASE_(14, "pmevcntr13_el0") PFM_FAST_CASE_(15, "pmevcntr14_el0")
	PFM_FAST_CASE_(16, "pmevcntr15_el0") PFM_FAST_CASE_(17, "pmevcntr16_el0") PFM_FAST_CASE_(18, "pmevcntr17_el0")
	PFM_FAST_CASE_(19, "pmevcntr18_el0") PFM_FAST_CASE_(20, "pmevcntr19_el0") PFM_FAST_CASE_(21, "pmevcntr20_el0")
	PFM_FAST_CASE_(22, "pmevcntr21_el0") PFM_FAST_CASE_(23, "pmevcntr22_el0") PFM_FAST_CASE_(24, "pmevcntr23_el0")
	PFM_FAST_CASE_(25, "pmevcntr24_el0") PFM_FAST_CASE_(26, "pmevcntr25_el0") PFM_FAST_CASE_(27, "pmevcntr26_el0")
	PFM_FAST_CASE_(28, "pmevcntr27_el0") PFM_FAST_CASE_(29, "pmevcntr28_el0") PFM_FAST_CASE_(30, "pmevcntr29_el0")
	PFM_FAST_CASE_(31, "pmevcntr30_el0") PFM_FAST_CASE_(32, "pmccntr_el0")
	default:
		__builtin_unreachable();
	}
	return value;
}

/* perfmon.ko's counters are 32 bits wide here. */
#define pfm_fast_extend(value, page) ((uint64_t)(int64_t)(int32_t)(value))

#elif defined(__x86_64__)

#define PFM_FAST_COUNTERS 32U

static inline uint64_t pfm_fast_thread(void)
{
	uint64_t tp;

	__asm__("mov %%fs:0, %0" : "=r"(tp));
	return tp;
}

static inline uint64_t pfm_fast_register(unsigned int index)
{
	uint32_t low, high;

	__asm__ __volatile__("rdpmc" : "=a"(low), "=d"(high) : "c"(index - 1));
	return (uint64_t)high << 32 | low;
}

#define pfm_fast_extend(value, page) \
	((uint64_t)((int64_t)((value) << (page)->set_shift) >> (page)->set_shift))

#else

#define PFM_FAST_COUNTERS 0U
#define pfm_fast_thread() 1
#define pfm_fast_register(index) ((void)(index), 0ULL)
#define pfm_fast_extend(value, page) (value)

#endif

/*
 * Reads n PMDs of the view's set. Their numbers, below PFM_MAX_PMDS, are in nums. The values
 * are consistent: no switch, write or interrupt came between them. Returns 1 if no call was
 * needed; 0 after pfm_read_pmds(), which is needed for software counters, virtual PMDs,
 * multiplexed counters without a place, other threads, and where the system lets no program read
 * counters; -1 with errno, as pfm_read_pmds().
 */
static inline int pfm_read_fast(const pfm_view_t *view, const uint16_t *nums, uint64_t *values, int n)
{
	const pfm_set_view_t *page = view->page;
	const uint64_t self = pfm_fast_thread();
	unsigned long seq;

	do {
		seq = page->set_seq;
		PFM_FAST_BARRIER();
		if (page->set_owner != self)
			return pfm_read_view(view, nums, values, n);
		for (int i = 0; i < n; i++) {
			unsigned int num = nums[i], index = page->set_index[num];

			if (index - 1U < PFM_FAST_COUNTERS)
				values[i] = page->set_base[num % PFM_VIEW_COUNTERS] +
					    pfm_fast_extend(pfm_fast_register(index), page);
			else if (index == PFM_VIEW_STILL)
				values[i] = page->set_pmds[num];
			else
				return pfm_read_view(view, nums, values, n);
		}
		PFM_FAST_BARRIER();
	} while (page->set_seq != seq);
	return 1;
}

#ifdef __cplusplus
}
#endif
#endif
