/* SPDX-License-Identifier: GPL-2.0 */
/*
 * arm64.h - direct access to the hardware counters on which perf has placed events of this CPU,
 * without perf's callbacks, because interrupts and commands do this most often. linux.h includes
 * this file.
 */
#ifndef PFM_ARM64_H
#define PFM_ARM64_H

#include <asm/sysreg.h>

#include "compat.h"

#define LX_CYCLE_PMD	31
#define LX_SHORTEST	1	/* the shortest period */

#define LX_EACH_COUNTER(X) \
	X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) \
	X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30)

/* Returns true for the instruction counter (Armv9.4). Only perf starts, stops and loads it. */
static __always_inline bool lx_arm_counts_instructions(int idx)
{
	return PFM_ARM_INSTR_IDX >= 0 && idx == PFM_ARM_INSTR_IDX;
}

static __always_inline u32 lx_read_counter(int idx)
{
	if (idx == PFM_ARM_CYCLE_IDX)
		return read_sysreg(pmccntr_el0);
#define READ_ONE(n) case n: return read_sysreg(pmevcntr##n##_el0);
	switch (idx - PFM_ARM_FIRST_IDX) {
	LX_EACH_COUNTER(READ_ONE)
	}
#undef READ_ONE
	return 0;
}

static __always_inline void lx_write_counter(int idx, u64 value)
{
	if (idx == PFM_ARM_CYCLE_IDX) {
		write_sysreg(value, pmccntr_el0);
		return;
	}
#define WRITE_ONE(n) case n: write_sysreg(value, pmevcntr##n##_el0); break;
	switch (idx - PFM_ARM_FIRST_IDX) {
	LX_EACH_COUNTER(WRITE_ONE)
	}
#undef WRITE_ONE
}

/*
 * Returns the value that event->count would have after the driver's update. The driver's counters
 * are 32 bits wide by default; prev_count has the value that was last read or loaded.
 */
static __always_inline u64 lx_count_running(const struct perf_event *event)
{
	u32 since = lx_read_counter(event->hw.idx) - (u32)local64_read(&event->hw.prev_count);

	return local64_read(&event->count) + since;
}

static __always_inline u64 lx_arch_count(const struct perf_event *event)
{
	u64 count = local64_read(&event->count);

	if (event->hw.state & PERF_HES_STOPPED)
		return count;
	if (lx_arm_counts_instructions(event->hw.idx)) {
		event->pmu->read((struct perf_event *)event);
		return local64_read(&event->count);
	}
	return lx_count_running(event);
}

static __always_inline u64 lx_arch_bit(const struct perf_event *event)
{
	const struct hw_perf_event *hw = &event->hw;

	if (!lx_on_cpu(event) || hw->state || hw->interrupts == LX_THROTTLED ||
	    lx_arm_counts_instructions(hw->idx))
		return 0;
	return BIT(hw->idx == PFM_ARM_CYCLE_IDX ? LX_CYCLE_PMD : hw->idx - PFM_ARM_FIRST_IDX);
}

static inline void lx_arch_enable(u64 bits)
{
	isb();		/* The values and types must be written before the counters are enabled. */
	write_sysreg(bits, pmcntenset_el0);
}

static inline void lx_arch_disable(u64 bits)
{
	write_sysreg(bits, pmcntenclr_el0);
	isb();
}

/*
 * As in the driver, the counter is loaded with at most half of 2^32, though the register may have
 * 64 bits.
 */
static __always_inline void lx_arch_load(struct perf_event *event, s64 period)
{
	struct hw_perf_event *hw = &event->hw;
	s64 left = min_t(s64, period, S32_MAX);

	local64_set(&event->count, lx_count_running(event));
	hw->sample_period = period;
	local64_set(&hw->period_left, period);
	local64_set(&hw->prev_count, -left);
	lx_write_counter(hw->idx, -left);
}

static inline bool lx_arch_pending(void)
{
	return read_sysreg(pmovsset_el0);
}

static inline void lx_arch_end_overflow(struct perf_event *event)
{
}

/* Nothing is left to place: lx_arch_program() moves events to other counters itself. */
static inline int lx_arch_place(struct lx_context *lx)
{
	return 0;
}

#endif
