/* SPDX-License-Identifier: MIT */
/*
 * libperfctr.h - perfctr's virtual counters: counters of a thread behind a descriptor, with a state to map.
 *
 * Each object is a perfmon context with one event set, on whichever machine libperfmon uses (LPFM_MACHINE). What there
 * counts is named as there: pmc_map[i] is a PMD that counts, evntsel[i] the value of the PMC that controls it.
 * "TSC" is the CPU time of the thread in ns, which PMD 64 counts.
 *
 * Calls return -1 with errno where they fail; perfctr_explain() then says why in words.
 *
 * Where this is not as in perfctr's kernel:
 * - An object is known to the process that opened it, not to others; a child of fork() has the descriptor, and may map
 *   it and read an object that is detached, but commands nothing (EBADF). One object, or context, a thread.
 * - A thread need not be stopped and ptraced by the caller: the right to monitor it suffices to command its object.
 * - Children are counted with their parent's control, but have no object to open of their own, and their overflows
 *   send no signal. Their counts are added when they end, not when they are reaped. Children of children are children.
 *   On machine perf `children` has the counts of those that still live, too: its kernel tells the sum alone. Live
 *   simulated machines follow no children: 0.
 * - A control that fails in its last step (EBUSY: another user has taken the counters) leaves the counters stopped.
 * - Registers are read by a call: PERFCTR_FEATURE_RDPMC is not there, and rdpmcl() is a function. sum, start and "now"
 *   have 64 bits.
 * - A thread that ends while its counters are suspended has as its TSC what it was when it was last looked at.
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

/* Counters 0 to nractrs - 1 accumulate, the nrictrs after them interrupt. Reserved fields must be zero. */
struct perfctr_cpu_control {
	uint32_t	tsc_on;			/* 0, 1 */
	uint32_t	nractrs;
	uint32_t	nrictrs;
	uint32_t	pmc_map[PERFCTR_MAX];
	uint64_t	evntsel[PERFCTR_MAX];
	int32_t		ireset[PERFCTR_MAX];	/* interrupt-mode: -n, n events until the overflow */
	uint32_t	_reserved[4];
};

struct vperfctr_control {
	int32_t		si_signo;		/* with interrupt-mode counters: the signal, 1 to SIGRTMAX */
	uint32_t	preserve;		/* bit i: the sum of counter i is not reset */
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
		uint64_t	map;		/* for rdpmcl() */
		uint64_t	start;
		uint64_t	sum;
	} pmc[PERFCTR_MAX];
};

#define VPERFCTR_MAGIC		0x76706331U

#define VPERFCTR_ATTACHED	0x1U
#define VPERFCTR_SUSPENDED	0x2U	/* by an overflow */

/* What mmap(2) maps from the descriptor, PROT_READ and MAP_SHARED. */
struct vperfctr_state {
	uint32_t	magic;			/* VPERFCTR_MAGIC */
	uint32_t	flags;			/* VPERFCTR_* */
	int32_t		tid;			/* owner thread */
	uint32_t	_reserved;
	struct perfctr_cpu_state cpu_state;
	struct vperfctr_control control;	/* as of the last read or command, as are the children's sums */
	struct perfctr_sum_ctrs children;
};

#define PERFCTR_FEATURE_RDPMC	0x01U	/* registers can be read without a call */

struct perfctr_info {
	uint32_t	features;		/* PERFCTR_FEATURE_* */
	uint32_t	nrctrs;			/* PMDs that count */
	char		cpu_name[64];		/* the PMU model */
};

/* Of the signal of an overflow. The code is negative so that it can be sent to other processes. */
#define SI_PMC_OVF	(-'P')
#define si_pmc_ovf_mask	si_pid

/*
 * A descriptor of the object of thread tid, 0: of the calling thread. With creat a new object without counters.
 * ESRCH: there is no such thread; EEXIST: with creat, it has an object; ENOENT: without creat, it has none;
 * EPERM: the caller may not monitor it; EBUSY: the thread is monitored by another context.
 */
int sys_vperfctr_open(int tid, int creat);

/*
 * Stops the counters. If control has none, all sums stay as they are then. Else starts those, with sums of 0; those in
 * preserve keep theirs, and the TSC unless it is off. Sums of children begin anew; those that live are not counted any
 * more. EINVAL: a control that
 * is not valid, which changes nothing; ESRCH: the object is detached, or its thread has ended.
 */
int sys_vperfctr_control(int fd, const struct vperfctr_control *control);

/* Stops the counters and detaches the object; nothing if it is. The last sums can be read until the last close. */
int sys_vperfctr_unlink(int fd);

/* Copies what is not NULL: sums of the thread's counters as of now, the control, sums of exited children's counters. */
int sys_vperfctr_read(int fd, struct perfctr_sum_ctrs *sum, struct vperfctr_control *control,
		      struct perfctr_sum_ctrs *children);

/* Resumes counters that an overflow suspended; those that overflowed count on from ireset. EPERM: none interrupts. */
int sys_vperfctr_iresume(int fd);

int perfctr_info(struct perfctr_info *info);

/* Why the last call of this thread failed, in words; never NULL. */
const char *perfctr_explain(void);

/* A register, and the TSC, of the calling thread's object; 0: it has none. */
uint64_t perfctr_rdpmc(uint64_t map);
uint64_t perfctr_rdtsc(void);

#define rdpmcl(map, now)	((now) = perfctr_rdpmc(map))
#define rdtscl(now)		((now) = perfctr_rdtsc())

/* A counter of the calling thread, from its mapped state. The algorithm needs tsc_on. */
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
