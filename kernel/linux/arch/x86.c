// SPDX-License-Identifier: GPL-2.0
/*
 * x86.c - programming the events of perf's PMU driver for x86.
 *
 * When an event is scheduled in, the driver chooses its counter by what the event counts then. It
 * writes the event's hw.config to that counter at each start. So hw.config may be changed while the
 * event is stopped, if the counter can also count the new event; pfm_x86_config() ensures that the
 * event is not on a fixed-function counter. Some events can be counted only by some of the
 * counters, and only the driver knows which: if what an event counts changes, lx_arch_place() has
 * the driver choose its counter again.
 */
#include <asm/cpufeature.h>
#include <asm/perf_event.h>
#include <asm/processor.h>
#include <linux/sched/mm.h>

#include "compat.h"
#include "linux.h"
#include "x86.h"

/* CPUID leaf: EAX has version, number and width of the counters, 8 bits each */
#define PERFMON_LEAF		10
/* CPUID leaf: the lowest 4 bits of EBX are the number of counters */
#define AMD_PERFMON_LEAF	0x80000022
#define AMD_WIDTH		48
/* the bits of hw.config by which the driver may choose the counter */
#define PLACED_BY		(~(PFM_X86_USR | PFM_X86_OS))
/* the version of architectural perfmon that introduced the AnyThread bit */
#define ANY_FROM		3
#define ANY_IS_GONE		BIT(15)		/* PERFMON_LEAF, EDX: AnyThread is deprecated */

static unsigned int unused_bits;	/* 64 less the width of a counter */
/* the version of architectural perfmon or of AMD's PerfMon; 0: AMD before PerfMonV2 */
static int version;

static bool is_intel(void)
{
	return boot_cpu_data.x86_vendor != X86_VENDOR_AMD && boot_cpu_data.x86_vendor != X86_VENDOR_HYGON;
}

static unsigned int intel_counters(void)
{
	u32 pmu = cpuid_eax(PERFMON_LEAF);

	if (!boot_cpu_has(X86_FEATURE_ARCH_PERFMON))
		return 0;
	version = pmu & 0xff;
	unused_bits = 64 - (pmu >> 16 & 0xff);
	return pmu >> 8 & 0xff;
}

static unsigned int amd_counters(void)
{
	unused_bits = 64 - AMD_WIDTH;
	version = boot_cpu_has(X86_FEATURE_PERFMON_V2) ? 2 : 0;
	if (version)
		return cpuid_ebx(AMD_PERFMON_LEAF) & 0xf;
	return boot_cpu_has(X86_FEATURE_PERFCTR_CORE) ? AMD64_NUM_COUNTERS_CORE : AMD64_NUM_COUNTERS;
}

/* Returns true if the kernel has a PMU driver: without one no hardware event can be created. */
static bool perf_has_pmu(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES,
					.size = sizeof(attr), .disabled = 1 };
	struct perf_event *event = perf_event_create_kernel_counter(&attr, 0, NULL, NULL, NULL);

	if (IS_ERR(event))
		return false;
	perf_event_release_kernel(event);
	return true;
}

/*
 * Returns the number of counters. It is found in CPUID, as perf does it: since Linux 7 perf reports
 * its own numbers to KVM only. On processors with two kinds of cores, each with a PMU of its own, 0
 * is returned.
 */
unsigned int lx_arch_counters(void)
{
	if (cpu_feature_enabled(X86_FEATURE_HYBRID_CPU) || !perf_has_pmu())
		return 0;
	return is_intel() ? intel_counters() : amd_counters();
}

const char *lx_arch_module(void)
{
	return lx_arch_counters() ? "perfmon_x86" : NULL;
}

u32 lx_arch_type(void)
{
	return PERF_TYPE_RAW;
}

/*
 * Returns the config of a new event: one that every counter can count, at no privilege level until
 * lx_arch_program() is called.
 */
u64 lx_arch_config(u16 num)
{
	return pfm_x86_config(is_intel() ? PFM_X86_CYCLES_INTEL : PFM_X86_CYCLES_AMD, is_intel()) &
	       X86_RAW_EVENT_MASK;
}

bool lx_arch_counts(u64 pmc)
{
	return pmc & (PFM_X86_USR | PFM_X86_OS);
}

bool lx_arch_kernel(u64 pmc)
{
	return pmc & PFM_X86_OS;
}

/* --- refusing events that perf would refuse -------------------------------------------------- */

/*
 * Returns true if the event needs a further register, which perf would have to allocate: events of
 * offcore responses, of the front end, and of load latency do. Event 0 is perf's code for events
 * that only fixed-function counters and topdown metrics count.
 */
static bool takes_another_register(u64 pmc)
{
	u64 event = pmc & PFM_X86_EVENT, code = event & 0xff;

	return event == 0x012a || event == 0x012b || event == 0x01c6 || event == 0x01cd || code == 0xb7 ||
	       code == 0xbb || (!code && lx_arch_counts(pmc));
}

static int check_any(u16 num)
{
	if (version < ANY_FROM || (cpuid_edx(PERFMON_LEAF) & ANY_IS_GONE))
		return pfm_refuse(-EINVAL, "PMC%u: this processor does not have AnyThread (bit 21)", num);
	if (lx_paranoid() >= LX_PARANOID_CPU)
		return pfm_refuse(-EPERM, "PMC%u: bit 21 needs CAP_PERFMON, or perf_event_paranoid of at most 0", num);
	return 0;
}

int lx_arch_check(u16 num, u64 pmc)
{
	if (!is_intel())
		return 0;
	if (pmc & PFM_X86_IN_TXCP)
		return pfm_refuse(-EINVAL, "PMC%u: IN_TXCP (bit 33): what is rolled back cannot interrupt", num);
	if ((pmc & PFM_X86_IN_TX) && !boot_cpu_has(X86_FEATURE_RTM))
		return pfm_refuse(-EINVAL, "PMC%u: IN_TX (bit 32) needs RTM, which this processor does not have", num);
	if (takes_another_register(pmc))
		return pfm_refuse(-EINVAL, "PMC%u: event %#llx needs another MSR, which cannot be programmed", num,
				  (unsigned long long)(pmc & PFM_X86_EVENT));
	return pmc & PFM_X86_ANY ? check_any(num) : 0;
}

/* --- programming events ---------------------------------------------------------------------- */

int lx_arch_program(struct perf_event *event, u16 num, u64 pmc)
{
	struct lx_counter *c = event->overflow_handler_context;
	u64 before = event->hw.config;

	if (lx_on_cpu(event) && event->hw.idx >= INTEL_PMC_IDX_FIXED)
		return pfm_refuse(-EBUSY, "PMC%u: the kernel has put its event on a fixed-function counter", num);
	event->hw.config = pfm_x86_config(pmc, is_intel());
	if (lx_on_cpu(event) && (before ^ event->hw.config) & PLACED_BY)
		c->lx->displaced |= BIT_ULL(c->at);
	return 0;
}

/*
 * Puts an event that was taken off the PMU back on it. If no counter can count the event, it is
 * replaced by one that every counter can count.
 */
static int put_back(struct lx_counter *c, bool ran)
{
	struct perf_event *event = c->event;

	if (!event->pmu->add(event, ran ? PERF_EF_START : 0))
		return 0;
	event->hw.config = lx_arch_config(c->num);
	WARN_ON_ONCE(event->pmu->add(event, 0));
	return pfm_refuse(-EBUSY, "no counter that can count the event of PMC%u is left", c->num);
}

/*
 * Takes the displaced events that are on the PMU off it, and clears the others' bits in *displaced.
 * Returns the bits of the events that were running.
 */
static u64 take_off(struct lx_context *lx, u64 *displaced)
{
	u64 ran = 0;

	for (u64 rest = *displaced; rest; rest &= rest - 1) {
		u64 bit = rest & -rest;
		struct perf_event *event = lx->counters[__ffs(rest)].event;

		if (!lx_on_cpu(event)) {
			*displaced &= ~bit;
			continue;
		}
		if (!(event->hw.state & PERF_HES_STOPPED))
			ran |= bit;
		event->pmu->del(event, PERF_EF_UPDATE);
	}
	return ran;
}

/* Called when the event has been placed anew: if it is throttled, its counter must be loaded. */
static void reload_if_throttled(struct perf_event *event)
{
	if (event->hw.interrupts == LX_THROTTLED)
		lx_arch_reload_throttled(event);
}

/*
 * All events that changed are taken off the PMU before the first one is put back, as they may need
 * each other's counters. The driver assigns counters only when it enables the PMU. As the PMU must
 * stay halted until lx_leave(), it is enabled here and disabled again at once. In an NMI, or while
 * perf has the PMU disabled, the driver may be changing its lists: then nothing is done here, and
 * an interrupt places the events afterwards.
 */
int lx_arch_place(struct lx_context *lx)
{
	u64 displaced = lx->displaced, ran;
	struct pmu *pmu = lx->pmu;
	int ret = 0;

	if (likely(!displaced))
		return 0;
	if (in_nmi() || lx_perf_is_busy(lx, pmu)) {
		lx_late(lx);
		return 0;
	}
	lx_halt(lx);
	lx->displaced = 0;
	ran = take_off(lx, &displaced);
	for (u64 rest = displaced; rest; rest &= rest - 1)
		ret = put_back(&lx->counters[__ffs(rest)], ran & rest & -rest) ?: ret;
	pmu->pmu_enable(pmu);
	pmu->pmu_disable(pmu);
	for (u64 rest = displaced; rest; rest &= rest - 1)
		reload_if_throttled(lx->counters[__ffs(rest)].event);
	return ret;
}

/*
 * Returns the value that event->count would have after the driver's update. The update itself is
 * not called: it takes an unchanged prev_count to mean that no NMI came in between, but if the
 * period is fixed, an NMI reloads the same value. Here event->count is compared, too, which grows
 * with every overflow.
 */
u64 lx_arch_count(const struct perf_event *event)
{
	const struct hw_perf_event *hw = &event->hw;
	u64 count, before, now;

	if (hw->state & PERF_HES_STOPPED)
		return local64_read(&event->count);
	do {
		count = local64_read(&event->count);
		before = local64_read(&hw->prev_count);
		barrier();
		pfm_rdpmc(hw->event_base_rdpmc, now);
		barrier();
	} while (count != local64_read(&event->count) || before != local64_read(&hw->prev_count));
	return count + ((now - before) << unused_bits >> unused_bits);
}

/*
 * Without PerfMonV2 perf's handler for AMD does not disable the PMU, but marks it as disabled: a
 * counter that was started in the handler would stay off after it, so the PMU is enabled anew.
 */
void lx_arch_end_overflow(struct perf_event *event)
{
	if (!version)
		event->pmu->pmu_enable(event->pmu);
}

/* --- reading at user level ------------------------------------------------------------------- */

unsigned int lx_arch_unused_bits(void)
{
	return unused_bits;
}

u64 lx_arch_thread_pointer(void)
{
	return current->thread.fsbase;
}

bool lx_arch_may_read(const struct lx_context *lx)
{
	return lx->view.rdpmc_mm && lx->view.rdpmc_mm == current->mm;
}

static struct perf_event *some_counter(const struct lx_context *lx)
{
	for (unsigned int i = 0; i < lx->num_counters; i++)
		if (lx->counters[i].kind == LX_HW)
			return lx->counters[i].event;
	return NULL;
}

/*
 * Lets the process use rdpmc (CR4.PCE), as perf does when an event is mapped. The caller holds
 * lx->lock, so it must not wait for mmap_lock, which another thread may hold for long. If mmap_lock
 * is taken, nothing is done, and a later start or read tries again.
 */
void lx_arch_allow_read(struct lx_context *lx)
{
	struct mm_struct *mm = current->mm;
	struct perf_event *event;

	if (READ_ONCE(lx->view.mm) != mm || !lx->view.perf || lx->view.rdpmc_mm || lx->target.task != current)
		return;
	event = some_counter(lx);
	if (!event || !pfm_mmap_write_trylock(mm))
		return;
	event->pmu->event_mapped(event, mm);
	mmap_write_unlock(mm);
	mmgrab(mm);
	lx->view.rdpmc_mm = mm;
}

void lx_arch_forbid_read(struct lx_context *lx)
{
	struct mm_struct *mm = lx->view.rdpmc_mm;
	struct perf_event *event = some_counter(lx);

	if (!mm)
		return;
	lx->view.rdpmc_mm = NULL;
	event->pmu->event_unmapped(event, mm);
	mmdrop(mm);
}

/*
 * perf's tick will start the throttled event without loading its counter. So the first start()
 * loads the counter from period_left, and the second stop() keeps the event stopped until the tick.
 */
void lx_arch_reload_throttled(struct perf_event *event)
{
	event->pmu->stop(event, PERF_EF_UPDATE);
	event->pmu->start(event, PERF_EF_RELOAD);
	event->pmu->stop(event, 0);
}

/* --- the user's registers -------------------------------------------------------------------- */

bool lx_arch_is_64bit(struct pt_regs *regs)
{
	return !test_thread_flag(TIF_ADDR32);
}

u64 lx_arch_frame_pointer(struct pt_regs *regs)
{
	return regs->bp;
}

/* Leaves out ds, es, fs and gs, which a 64-bit program does not use. */
uint16_t lx_arch_user_regs(struct pt_regs *regs, u64 *to)
{
	const u64 values[LX_USER_REGS] = {
		regs->ax, regs->bx, regs->cx, regs->dx, regs->si, regs->di, regs->bp, regs->sp, regs->ip,
		regs->flags, regs->cs, regs->ss, regs->r8, regs->r9, regs->r10, regs->r11, regs->r12, regs->r13,
		regs->r14, regs->r15,
	};

	memcpy(to, values, sizeof(values));
	return LX_USER_REGS;
}
