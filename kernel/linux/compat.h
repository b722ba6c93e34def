/* SPDX-License-Identifier: GPL-2.0 */
/* compat.h - differences between kernel versions from 6.1 on. No other file tests the version. */
#ifndef PFM_COMPAT_H
#define PFM_COMPAT_H

#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/perf_event.h>
#include <linux/sched/clock.h>
#include <linux/sched/coredump.h>
#include <linux/uaccess.h>
#include <linux/version.h>

/* PFM_HAS_* are set by Kbuild, for differences that the version number does not show. */
#ifdef PFM_HAS_EXEC_STATE
#include <linux/sched/exec_state.h>
#endif
#ifdef PFM_HAS_CPUID_API
#include <asm/cpuid/api.h>
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "perfmon.ko needs Linux 6.1 or later"
#endif

/* The last series that was tested: a later one may have changed the meaning of perf's fields. */
#define PFM_LAST_TRIED	"7.3"
#define PFM_UNTRIED	(LINUX_VERSION_CODE >= KERNEL_VERSION(7, 4, 0))

/* 6.3: flags of a mapping are changed through functions. */
static inline void pfm_vm_flags(struct vm_area_struct *vma, unsigned long set, unsigned long clear)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
#else
	vm_flags_mod(vma, set, clear);
#endif
}

/* Some kernels of 6.12's stable series lack mmap_write_trylock(), as no code of theirs calls it. */
static inline bool pfm_mmap_write_trylock(struct mm_struct *mm)
{
#ifdef PFM_HAS_MMAP_WRITE_TRYLOCK
	return mmap_write_trylock(mm);
#else
	if (!down_write_trylock(&mm->mmap_lock))
		return false;
#ifdef PFM_HAS_MM_LOCK_SEQCOUNT
	mm_lock_seqcount_begin(mm);
#endif
	return true;
#endif
}

/* 6.15: the disable count of this CPU's PMU moved into its perf_cpu_pmu_context. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 15, 0)
#define pfm_pmu_disable_count(pmu)	(*this_cpu_ptr((pmu)->pmu_disable_count))
#else
#define pfm_pmu_disable_count(pmu)	((*this_cpu_ptr((pmu)->cpu_pmu_context))->pmu_disable_count)
#endif

/*
 * These do what perf_pmu_disable() and perf_pmu_enable() do, which modules cannot call: between
 * them this CPU's PMU counts nothing.
 */
static inline void pfm_perf_pmu_disable(struct pmu *pmu)
{
	if (!pfm_pmu_disable_count(pmu)++)
		pmu->pmu_disable(pmu);
}

static inline void pfm_perf_pmu_enable(struct pmu *pmu)
{
	if (!--pfm_pmu_disable_count(pmu))
		pmu->pmu_enable(pmu);
}

/* 6.16 renamed rdpmcl(). */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
#define pfm_rdpmc(index, value)	rdpmcl(index, value)
#else
#define pfm_rdpmc(index, value)	((value) = rdpmc(index))
#endif

/*
 * Returns for how long the perf context has been scheduled in. Called in PMU context, so the perf
 * context is scheduled in on this CPU or not at all.
 */
static inline u64 pfm_perf_time(const struct perf_event_context *perf)
{
#ifdef PFM_HAS_PERF_TIME_CTX
	return perf->is_active ? local_clock() + perf->time.offset : perf->time.time;
#else
	return perf->is_active ? local_clock() + perf->timeoffset : perf->time;
#endif
}

/*
 * pfm_dumpable() returns true if a thread is dumpable. pfm_capable_over() returns true if the
 * caller has a capability in the user namespace of the thread's program. Up to Linux 7.1 at least,
 * both are found in the thread's mm, to which the caller has a reference; in later kernels in the
 * task.
 */
static inline bool pfm_dumpable(struct task_struct *task, struct mm_struct *mm)
{
#ifdef PFM_HAS_EXEC_STATE
	guard(rcu)();
	return READ_ONCE(rcu_dereference(task->exec_state)->dumpable) == TASK_DUMPABLE_OWNER;
#else
	return get_dumpable(mm) == SUID_DUMP_USER;
#endif
}

static inline bool pfm_capable_over(struct task_struct *task, struct mm_struct *mm, int cap)
{
#ifdef PFM_HAS_EXEC_STATE
	guard(rcu)();
	return ns_capable_noaudit(rcu_dereference(task->exec_state)->user_ns, cap);
#else
	return ns_capable_noaudit(mm->user_ns, cap);
#endif
}

/*
 * From 6.2 on perf sorts its groups by PMU. group.c has not been tried with that: events are not
 * grouped there.
 */
#define PFM_KNOWS_GROUPS	(LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0))

/*
 * 6.12: arm64's cycle counter has the index of its bit in PMCNTENSET_EL0; counters are a bitmap;
 * from Armv9.4 on there may be one for instructions alone.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#define PFM_ARM_CYCLE_IDX	0
#define PFM_ARM_FIRST_IDX	1
#define PFM_ARM_INSTR_IDX	-1
#define pfm_arm_counters(pmu)	((pmu)->num_events - 1)
#else
#define PFM_ARM_CYCLE_IDX	31
#define PFM_ARM_FIRST_IDX	0
#define PFM_ARM_INSTR_IDX	32
#define pfm_arm_counters(pmu)	(bitmap_weight((pmu)->cntr_mask, 31))
#endif

/* 6.16: sched_process_exit also passes whether the whole thread group has died. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
#define PFM_PROBE_EXIT_ARGS	void *data, struct task_struct *task
#else
#define PFM_PROBE_EXIT_ARGS	void *data, struct task_struct *task, bool group_dead
#endif

/* 6.12 removed no_llseek(): there a file without llseek is not seekable. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#define PFM_NO_LLSEEK .llseek = no_llseek,
#else
#define PFM_NO_LLSEEK
#endif

/*
 * These access user memory word by word. Before 6.11, arm64's unsafe_get_user() checked the address
 * of each word. For these kernels pfm_user_begin() checks and masks ptr once, and pfm_get_word()
 * and pfm_put_word() note a fault in err; for others they jump to label.
 */
#if defined(CONFIG_ARM64) && LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
#define pfm_user_begin(ptr, size)		(access_ok(ptr, size) && ((ptr) = uaccess_mask_ptr(ptr), true))
#define pfm_user_end()				do { } while (0)
#define pfm_get_word(x, ptr, err, label)	__raw_get_user(x, ptr, err)
#define pfm_put_word(x, ptr, err, label)	__raw_put_user(x, ptr, err)
#else
#define pfm_user_begin(ptr, size)		user_access_begin(ptr, size)
#define pfm_user_end()				user_access_end()
#define pfm_get_word(x, ptr, err, label)	unsafe_get_user(x, ptr, label)
#define pfm_put_word(x, ptr, err, label)	unsafe_put_user(x, ptr, label)
#endif

#endif
