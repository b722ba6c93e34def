/* SPDX-License-Identifier: MIT */
/*
 * libperfctr.h - perfctr's virtual counters: counters of a thread, with a descriptor and a state
 * that can be mapped.
 *
 * Each object is a perfmon context with one event set, on the machine that libperfmon uses
 * (LPFM_MACHINE). Counters have that machine's names: pmc_map[i] is a PMD that counts,
 * evntsel[i] the value of the PMC that controls it. "TSC" is the CPU time of the thread in ns,
 * which PMD 64 counts.
 *
 * Calls that fail return -1 with errno; perfctr_explain() then gives the reason in words.
 *
 * Differences from perfctr's kernel:
 * - Only the process that opened an object can use it; a child of fork() has the descriptor, and
 *   may map it and read a detached object, but other commands fail (EBADF). A thread has one
 *   object, or context.
 * - A thread need not be stopped and ptraced by the caller: permission to monitor it suffices for
 *   all commands.
 * - Children are counted with their parent's control, but have no object that can be opened, and
 *   their overflows send no signal. Their counts are added when they end, not when they are reaped.
 *   Grandchildren count as children. On machine perf `children` includes running children, as its
 *   kernel only reports the sum. Live simulated machines do not count children: 0.
 * - A control call that fails in its last step (EBUSY: another user has taken the counters) leaves
 *   the counters stopped.
 * - Reading registers takes a call: PERFCTR_FEATURE_RDPMC is not set, and rdpmcl() is a function.
 *   sum, start and "now" have 64 bits.
 * - If a thread ends while its counters are suspended, its TSC keeps the last value that was seen.
 * - There are no forbidden CPUs, and no sampling timer: counters have 64 bits.
 */
#ifndef PERFCTR_LIBPERFCTR_H
#define PERFCTR_LIBPERFCTR_H

#include <signal.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PERFCTR_MAX 18

/*
 * Counters 0 to nractrs - 1 only accumulate, the next nrictrs interrupt. Reserved fields must be
 * zero.
 */
struct perfctr_cpu_control {
	uint32_t	tsc_on;			/* 0 or 1 */
	uint32_t	nractrs;
	uint32_t	nrictrs;
	uint32_t	pmc_map[PERFCTR_MAX];
	uint64_t	evntsel[PERFCTR_MAX];
	/* used for counters that interrupt: -n makes a counter overflow after n events */
	int32_t		ireset[PERFCTR_MAX];
	uint32_t	_reserved[4];
};

struct vperfctr_control {
	int32_t		si_signo;		/* signal of interrupt-mode counters */
	uint32_t	preserve;		/* bit i: keeps the sum of counter i */
	struct perfctr_cpu_control cpu_control;
	uint32_t	_reserved[4];
};

struct perfctr_sum_ctrs {
	uint64_t	tsc;
	uint64_t	pmc[PERFCTR_MAX];
};

struct perfctr_cpu_state {
	uint64_t	tsc_start;
	uint64_t	tsc_sum;
	struct {
		uint64_t	map;		/* the register for rdpmcl() */
		uint64_t	start;
		uint64_t	sum;
	} pmc[PERFCTR_MAX];
};

#define VPERFCTR_MAGIC		0x76706331U

#define VPERFCTR_ATTACHED	0x1U
#define VPERFCTR_SUSPENDED	0x2U	/* an overflow suspended the counters */

/* The state that mmap(2) maps from the descriptor, PROT_READ and MAP_SHARED. */
struct vperfctr_state {
	uint32_t	magic;			/* VPERFCTR_MAGIC */
	uint32_t	flags;			/* VPERFCTR_* */
	int32_t		tid;			/* the counted thread */
	uint32_t	_reserved;
	struct perfctr_cpu_state cpu_state;
	struct vperfctr_control control;	/* the control of the last read or command */
	struct perfctr_sum_ctrs children;
};

#define PERFCTR_FEATURE_RDPMC	0x01U	/* registers can be read without a call */

struct perfctr_info {
	uint32_t	features;		/* PERFCTR_FEATURE_* */
	uint32_t	nrctrs;			/* PMDs that count */
	char		cpu_name[64];		/* the PMU model */
};

/* si_code of an overflow's signal, negative so that the signal can be sent to other processes. */
#define SI_PMC_OVF	(-'P')
#define si_pmc_ovf_mask	si_pid

/*
 * Opens the object of thread tid; 0 is the calling thread. With creat it makes a new object without
 * counters. ESRCH: there is no such thread; EEXIST: with creat, the thread has an object; ENOENT:
 * without creat, the thread has none; EPERM: the caller may not monitor the thread; EBUSY: the
 * thread is monitored by another context.
 */
int sys_vperfctr_open(int tid, int creat);

/*
 * Stops the counters. If control has none, all sums keep their values. Else it starts control's
 * counters from 0, but those in preserve from their sums, and the TSC, unless it is off, from
 * its sum. Sums of children start again, and running children are not counted any more. EINVAL:
 * an invalid control, which changes nothing; ESRCH: the object is detached, or its thread has
 * ended.
 */
int sys_vperfctr_control(int fd, const struct vperfctr_control *control);

/*
 * Stops the counters and detaches the object, if it is attached. Its sums can be read until the
 * last close.
 */
int sys_vperfctr_unlink(int fd);

/*
 * Fills in what is not NULL: current sums of the thread's counters, the control, sums of ended
 * children.
 */
int sys_vperfctr_read(int fd, struct perfctr_sum_ctrs *sum, struct vperfctr_control *control,
		      struct perfctr_sum_ctrs *children);

/*
 * Resumes counters after an overflow suspended them; overflowed ones begin with ireset. EPERM: no
 * counter interrupts.
 */
int sys_vperfctr_iresume(int fd);

int perfctr_info(struct perfctr_info *info);

/* Returns the reason why the last call of this thread failed, in words; never NULL. */
const char *perfctr_explain(void);

/* Reads a register, or the TSC, of the calling thread's object; 0: it has none. */
uint64_t perfctr_rdpmc(uint64_t map);
uint64_t perfctr_rdtsc(void);

#define rdpmcl(map, now)	((now) = perfctr_rdpmc(map))
#define rdtscl(now)		((now) = perfctr_rdtsc())

/* Reads a counter of the calling thread from its mapped state. The algorithm needs tsc_on. */
static inline uint64_t vperfctr_read_pmc(volatile const struct vperfctr_state *kstate, unsigned int i)
{
	uint64_t tsc0 = kstate->cpu_state.tsc_start, now, start, sum, tsc1;

	for (;;) {
		rdpmcl(kstate->cpu_state.pmc[i].map, now);
		start = kstate->cpu_state.pmc[i].start;
		sum = kstate->cpu_state.pmc[i].sum;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		tsc1 = kstate->cpu_state.tsc_start;
		if (tsc1 == tsc0)
			return sum + (now - start);
		tsc0 = tsc1;
	}
}

static inline uint64_t vperfctr_read_tsc(volatile const struct vperfctr_state *kstate)
{
	uint64_t tsc0 = kstate->cpu_state.tsc_start, now, sum, tsc1;

	for (;;) {
		rdtscl(now);
		sum = kstate->cpu_state.tsc_sum;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		tsc1 = kstate->cpu_state.tsc_start;
		if (tsc1 == tsc0)
			return sum + (now - tsc0);
		tsc0 = tsc1;
	}
}

#ifdef __cplusplus
}
#endif
#endif /* PERFCTR_LIBPERFCTR_H */
