/* SPDX-License-Identifier: MIT */
/*
 * perfmon/sim.h - the simulated computer of pfm_set_machine("sim:MODEL", options).
 *
 * A small deterministic computer: CPUs, each with the bare PMU of a model (pfm_machine_name() lists them),
 * and threads that run programs under a round-robin scheduler. A program says how much time passes and
 * what events happen at which address, so every count and every sample is known in advance. Time
 * advances only when told to, and skips from one interesting moment to the next.
 *
 * Options, "key=value,...", with their defaults:
 *   cpus       number of CPUs, 1 - 64; 1
 *   hz         timer ticks a second, 1 - 1000000000; 1000
 *   slice_ms   time a thread runs while others wait, in ms; 10. slice_ns: the same in ns. Slices end
 *              at ticks.
 *   timer_ns   granularity of set timeouts; one tick
 *   skid       instructions executed between an overflow and its interrupt (figure 3.27); 0
 *   page_size  bytes, a power of two; 4096
 *   memlock    RLIMIT_MEMLOCK of threads that are not the administrator's, in bytes; unlimited
 *
 * The pfm_* calls of a program are made as its current actor: see pfm_sim_act(). One thread of the
 * host drives a simulated computer.
 *
 * Functions return 0 or more, or -1 with errno set; pfm_explain() then says what was wrong.
 */
#ifndef PERFMON_SIM_H
#define PERFMON_SIM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pfm_sim;

/* --- programs ------------------------------------------------------------------------------- */

enum pfm_sim_level {
	PFM_SIM_USER,
	PFM_SIM_KERNEL,
	PFM_SIM_INTR,		/* triggered by an interrupt; the most privileged level, too */
	PFM_SIM_LEVELS
};

enum pfm_sim_op {
	PFM_SIM_SITE,		/* an instruction */
	PFM_SIM_LOOP,		/* what follows up to PFM_SIM_END, count times */
	PFM_SIM_END,
	PFM_SIM_SLEEP,		/* for ns */
	PFM_SIM_YIELD,		/* to the back of the queue */
	PFM_SIM_FORK,		/* a new process that runs program */
	PFM_SIM_THREAD,		/* a new thread of this process that runs program */
	PFM_SIM_EXEC,		/* go on with program; other threads of the process end */
	PFM_SIM_EXIT,		/* the thread ends here */
	PFM_SIM_EXIT_GROUP,	/* all threads of the process end */
	PFM_SIM_SUM,		/* itanium2, 5.3: monitoring on, where the context is not secure */
	PFM_SIM_RUM,		/* itanium2, 5.3: monitoring off */
};

#define PFM_SIM_FOREVER	0xffffffffffffffffULL	/* count: without end */

#define PFM_SIM_IRQS_OFF 0x1	/* site: interrupts wait until one without this was executed */
#define PFM_SIM_DATA	0x2	/* site: a load that missed: data_addr and latency go to the D-EAR */
#define PFM_SIM_FETCH	0x4	/* site: an instruction fetch that missed, of latency: to the I-EAR */
#define PFM_SIM_BRANCH	0x8	/* site: a branch taken to target: to the branch trace buffer */

struct pfm_sim_event {
	const char	*name;	/* see pfm_sim_event_name(); or an event code of the model as "0x5b" */
	uint64_t	count;
};

/*
 * A step of a program. Unused fields are 0. A site's events happen together, when its time is over.
 * Unless they say otherwise it counts 1 "instructions", and its ns as "cycles" (the CPUs run at 1 GHz).
 */
struct pfm_sim_step {
	uint32_t	op;		/* enum pfm_sim_op */
	uint32_t	level;		/* site: enum pfm_sim_level */
	uint64_t	ns;		/* site: what it takes; sleep: how long */
	uint64_t	count;		/* loop: iterations */
	uint64_t	ip;		/* site: its address */
	const struct pfm_sim_event *events;	/* site */
	uint32_t	num_events;
	uint32_t	flags;		/* site: PFM_SIM_IRQS_OFF ... */
	uint64_t	data_addr;
	uint64_t	target;
	uint32_t	latency;	/* cycles */
	uint32_t	reserved;
	const struct pfm_sim_program *program;	/* fork, thread, exec */
};

struct pfm_sim_program {
	const struct pfm_sim_step	*steps;
	uint32_t			num_steps;
};

/* --- computers ------------------------------------------------------------------------------ */

/* The computer that contexts are created on now, held until put; NULL, ENODEV: not a simulated one. */
struct pfm_sim *pfm_sim_get(void);
void pfm_sim_put(struct pfm_sim *sim);

/*
 * Changes an option while the computer runs: skid, memlock; tool_cpu: the CPU of the outside tool;
 * debugger: 1 while a debugger uses the debug registers (5.6.2). EINVAL: no such option or value.
 */
int pfm_sim_set(struct pfm_sim *sim, const char *option, uint64_t value);

/* The simulated time, in ns since the computer was made. */
uint64_t pfm_sim_time(struct pfm_sim *sim);

/* Event name i, counting from 0, of those that programs may use; NULL after the last. */
const char *pfm_sim_event_name(struct pfm_sim *sim, int i);
/* Value of the PMC that makes counter pmd count an event at levels (bits 1 << enum pfm_sim_level). */
int pfm_sim_encode(struct pfm_sim *sim, const char *event, unsigned int levels, int pmd,
		   uint64_t *pmc_value);

/* --- threads -------------------------------------------------------------------------------- */

struct pfm_sim_spawn {
	const char	*name;		/* or NULL */
	struct pfm_sim_program program;	/* copied */
	uint64_t	affinity;	/* CPUs it may run on, bits; 0: all */
	uint32_t	uid, gid;
	uint32_t	process;	/* pid of the process it joins; 0: a new one */
	uint32_t	kernel;		/* 1: a kernel thread, which has no user level */
};

/*
 * A new thread, ready to run; returns its tid. EINVAL: a bad program (pfm_explain() names the step),
 * affinity or process; ENOMEM.
 */
int pfm_sim_spawn(struct pfm_sim *sim, const struct pfm_sim_spawn *spawn);

/* The thread ends now, as by PFM_SIM_EXIT. ESRCH. */
int pfm_sim_kill(struct pfm_sim *sim, uint32_t tid);

enum pfm_sim_state {
	PFM_SIM_READY,		/* waits for a CPU */
	PFM_SIM_RUNNING,
	PFM_SIM_SLEEPING,
	PFM_SIM_BLOCKED,	/* by PFM_FL_NOTIFY_BLOCK */
	PFM_SIM_DEAD,
};

struct pfm_sim_thread {
	uint32_t	tid, pid, ppid, uid, gid;
	uint32_t	state;		/* enum pfm_sim_state */
	uint32_t	cpu;		/* it runs or last ran on */
	uint32_t	kernel;
	uint64_t	affinity;
	uint64_t	ran_ns;
	uint64_t	ip;		/* of the site it is at or was last at */
	char		name[32];
};

/* Fills up to n entries, by tid, dead threads included; returns how many threads there are. */
int pfm_sim_threads(struct pfm_sim *sim, struct pfm_sim_thread *threads, int n);

/*
 * From now on, calls are made on behalf of thread tid: it is the caller for permissions (its uid;
 * 0 is the administrator), self-monitoring and system-wide rules (its CPU), and its process has the
 * descriptors it creates. 0: the outside tool, an administrator with thread id 1 that occupies no
 * CPU. ESRCH.
 */
int pfm_sim_act(struct pfm_sim *sim, uint32_t tid);

/*
 * Whether the process of thread tid can reach the context of descriptor fd (3.3.6). It does if it
 * created it or is a child of one that could at that time; this gives (1) or takes (0) access.
 */
int pfm_sim_share(struct pfm_sim *sim, uint32_t tid, int fd, int access);

/*
 * A device interrupts cpu at start_ns and, unless period_ns is 0, every period_ns from then on. The
 * program runs on top of what runs there; its sites should be at PFM_SIM_INTR. It must end, and must
 * not fork, sleep or exit. EINVAL.
 */
int pfm_sim_interrupt(struct pfm_sim *sim, uint32_t cpu, uint64_t start_ns, uint64_t period_ns,
		      const struct pfm_sim_program *program);

/* --- running -------------------------------------------------------------------------------- */

/*
 * Each returns 1 when what it waits for has happened, 0 when limit_ns passed before. EINTR: SIGINT or
 * SIGTERM came, and time has stopped there. run_ns runs for that long and returns 1. until_message: a
 * message can be read from fd or, with PFM_SIM_ANY_CONTEXT, one has been posted to any context since
 * the call. until_exit: thread tid has ended (ESRCH: there never was one). until_idle: no thread can
 * run or will wake up, except those blocked by a notification.
 */
#define PFM_SIM_ANY_CONTEXT (-1)

int pfm_sim_run_ns(struct pfm_sim *sim, uint64_t ns);
int pfm_sim_run_until_message(struct pfm_sim *sim, int fd, uint64_t limit_ns);
int pfm_sim_run_until_exit(struct pfm_sim *sim, uint32_t tid, uint64_t limit_ns);
int pfm_sim_run_until_idle(struct pfm_sim *sim, uint64_t limit_ns);

/* --- what really happened ------------------------------------------------------------------- */

struct pfm_sim_count {
	char		event[32];
	uint64_t	count[PFM_SIM_LEVELS];
};

/*
 * Exact counts of what thread tid did (interrupts on top of it included), or of what happened on a
 * CPU, its idle thread included. Fills up to n entries, those that are not 0; returns how many there
 * are. The event "time" is ns. ESRCH, EINVAL.
 */
int pfm_sim_truth(struct pfm_sim *sim, uint32_t tid, struct pfm_sim_count *counts, int n);
int pfm_sim_truth_cpu(struct pfm_sim *sim, uint32_t cpu, struct pfm_sim_count *counts, int n);
/* The same of the idle thread of a CPU. */
int pfm_sim_truth_idle(struct pfm_sim *sim, uint32_t cpu, struct pfm_sim_count *counts, int n);

#ifdef __cplusplus
}
#endif
#endif /* PERFMON_SIM_H */
