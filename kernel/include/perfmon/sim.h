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
 *   cpus       number of CPUs, 1 - 64; 1, with ht 2
 *   hz         timer ticks a second, 1 - 1000000000; 1000
 *   slice_ms   time a thread runs while others wait, in ms; 10. slice_ns: the same in ns. Slices end
 *              at ticks.
 *   timer_ns   granularity of set timeouts; one tick
 *   skid       instructions executed between an overflow and its interrupt (figure 3.27); 0. "model": as many as the
 *              processor's pipeline or reorder buffer holds, to the next lower prime: no loop is in step with it
 *   page_size  bytes, a power of two; 4096
 *   live       1, or without a value: threads of the program are followed, see below; 0
 *   ht         1, or without a value: HyperThreading, of netburst and em64t. CPUs 2k and 2k + 1 are the logical
 *              processors of one core: each has half of the registers, as under perfmon2 2.x, and they share the
 *              core's caches, TLBs and branch predictor; 0
 *   l1i, l1d, l2, l3, itlb, dtlb: caches of each CPU, as "SIZE:ASSOCIATIVITY:LINE", of TLBs with the size of all
 *              pages; 0: none. Those of the model's processor. They replace the line used longest ago, or with
 *              "SIZE:ASSOCIATIVITY:LINE:POLICY" by lru, plru (a tree of bits), fifo or random
 *   prefetch   of the L1D: 1, the line behind one that missed is brought, too; 2, also that behind one which was
 *              prefetched and is used for the first time (tagged). Never beyond a page of 4096 bytes; it takes no
 *              time, and the next level is asked as by an access; 0
 *   store_buffer  how many stores a CPU's buffer holds, 0 - 64. A store waits there, in order, until it is full: then
 *              the oldest reaches the caches, with those right behind it to the same line. Loads pass them; one whose
 *              bytes a store in the buffer has is answered by that (forwards). A fence empties it, so do other
 *              operations than sites, and the end of a thread's turn; 0
 *   interrupt_ns  what an interrupt takes, by a counter's overflow or a device: that long in the kernel, at
 *              PFM_SIM_INTR and address 0xa000000100001000, on top of the thread and in its time, with 1 instruction;
 *              0 - 1000000; 0
 *   cachegrind 1: instead of those, L1I and L1D of 32768:8:64, an L2 of 262144:8:64, no TLBs, predictor 0; 0
 *   predictor  0 two-level, as cachegrind's; 1 bimodal; 2 gshare; the model's
 *   explain    1: why loads and stores miss is found, pfm_sim_explain(), and what loads see, pfm_sim_saw(); 0
 *   memlock    RLIMIT_MEMLOCK of threads that are not the administrator's, in bytes; unlimited
 *
 * Options can also follow the model's name: "sim:k8,live,skid=2", as in the environment's LPFM_MACHINE.
 *
 * With live, any program that uses perfmon runs as it is. The calls are those of the calling thread;
 * contexts are attached to threads of the host by their real numbers, and to its CPUs. Each thread that
 * attaches or is attached to has a simulated one that follows it: it runs as long as the other has used
 * a CPU, has its page faults and context switches, spread evenly over the time between two looks at it
 * (each ms, and at each call), and ends when it has; where the kernel permits an event on it, also through
 * exec(2), which can give it another number. Other threads are not seen, nor are they by
 * system-wide contexts: while they run, the CPU has its idle thread, which counts in the kernel
 * (PFM_SETFL_EXCL_IDLE). What the hardware counts is made up: in each us, 900 ns at user level with
 * 1010 instructions, 171 branches, 9 of them mispredicted, 262 loads, 162 stores, 19 misses of the L1
 * data cache, 1 of the L2 and of each TLB; and 90 ns in the kernel with 72 instructions; in steps of
 * 10 ns, each counted when it ends: a count that starts amid one has all of it. Samples and messages
 * have addresses of that program, from 0x400000 on, and none of the thread's. A thread that is
 * blocked by a notification (PFM_FL_NOTIFY_BLOCK) is so in the simulation alone, which catches up
 * after the restart. A live computer lasts as long as the process.
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
	PFM_SIM_CALL,		/* what follows up to PFM_SIM_END, as a function called at ip */
	PFM_SIM_MAP,		/* count bytes of the file name, from data_addr on, are mapped as code at ip */
	PFM_SIM_REPLAY,		/* the instructions of trace */
};

#define PFM_SIM_FOREVER	0xffffffffffffffffULL	/* count: without end */

#define PFM_SIM_IRQS_OFF 0x1	/* site: interrupts wait until one without this was executed */
#define PFM_SIM_DATA	0x2	/* site: has a data_addr; of a load that missed, with a latency, for the D-EAR */
#define PFM_SIM_FETCH	0x4	/* site: an instruction fetch that missed, of latency: to the I-EAR */
#define PFM_SIM_BRANCH	0x8	/* site: a branch taken to target: to the branch trace buffer */
#define PFM_SIM_ACCESS	0x10	/* site: has access; what it counts then comes from the caches */

/* The execution unit of an Itanium instruction, for opcode matchers. */
enum pfm_sim_unit {
	PFM_SIM_UNIT_ANY,	/* matched where all four are */
	PFM_SIM_UNIT_M,
	PFM_SIM_UNIT_I,
	PFM_SIM_UNIT_F,
	PFM_SIM_UNIT_B,
};

/* Which addresses a site loads from or stores to, one each time. */
enum pfm_sim_pattern_kind {
	PFM_SIM_NO_PATTERN,	/* none */
	PFM_SIM_STRIDES,	/* base + strides[i] * the iteration, from 0, of loop i: 0 is the innermost one */
	PFM_SIM_RANDOM,		/* one of count elements, strides[0] bytes apart, at random */
	PFM_SIM_CHASE,		/* the same, but each leads to the next: once round all, in random order */
};

#define PFM_SIM_MAX_STRIDES 8
#define PFM_SIM_MAX_CHASE (1 << 24)

struct pfm_sim_pattern {
	uint32_t	kind;		/* enum pfm_sim_pattern_kind */
	uint32_t	size;		/* bytes of an access, 1 to 64; 0: 8 */
	uint64_t	base;
	int64_t		strides[PFM_SIM_MAX_STRIDES];	/* bytes; not of calls and endless loops */
	uint64_t	count;		/* random, chase: 1 to PFM_SIM_MAX_CHASE */
	uint64_t	seed;
};

/* When a conditional branch is taken. */
enum pfm_sim_branch_kind {
	PFM_SIM_NO_BRANCH,
	PFM_SIM_TAKEN,
	PFM_SIM_NOT_TAKEN,
	PFM_SIM_BACK,		/* but in the last iteration of the innermost loop: a branch back to its start */
	PFM_SIM_BITS,		/* as the lowest period bits of bits say, the lowest first, again and again */
	PFM_SIM_CHANCE,		/* at random, bits times in 2^32 */
};

/*
 * What a site does to memory, and where it goes: PFM_SIM_ACCESS. The instruction is fetched, the load and the store
 * are done, the branch is predicted and executed. What happens on the way is counted: cycles, stalls, loads, stores,
 * misses of caches and TLBs, branches. The site's ns are the cycles of the instruction itself; 0: 1. Caches, and how
 * many cycles it waits for them: pfm_sim_caches().
 */
struct pfm_sim_access {
	struct pfm_sim_pattern	load, store;
	uint32_t	fetch;		/* bytes of the instruction, 1 to 64; 0: 4 */
	uint32_t	branch;		/* enum pfm_sim_branch_kind; to the step's target */
	uint32_t	period;		/* bits: 1 to 64 */
	uint32_t	fence;		/* 1: empties the store buffer, and goes past it; with load and store: locked */
	uint64_t	bits, seed;
};

struct pfm_sim_event {
	const char	*name;	/* see pfm_sim_event_name(); or an event code of the model as "0x5b" */
	uint64_t	count;
};

/*
 * A step of a program. Unused fields are 0. A site's events happen together, when its time is over.
 * Unless they say otherwise it counts 1 "instructions", and its ns as "cycles" (the CPUs run at 1 GHz).
 *
 * Counters with a threshold ask how many events happen in a cycle: those of a site do in its last cycle or,
 * with spread, evenly in its last few cycles, the odd ones in the last of these. Address ranges ask for
 * ip and data_addr, opcode matchers for opcode and unit.
 */
struct pfm_sim_step {
	uint32_t	op;		/* enum pfm_sim_op */
	uint32_t	level;		/* site, call: enum pfm_sim_level */
	uint64_t	ns;		/* site: what it takes; sleep: how long */
	uint64_t	count;		/* loop: iterations; replay: bytes */
	uint64_t	ip;		/* site: its address; call: of its frame, where the function returns to */
	const struct pfm_sim_event *events;	/* site */
	uint32_t	num_events;
	uint32_t	flags;		/* site: PFM_SIM_IRQS_OFF ... */
	uint64_t	data_addr;
	uint64_t	target;
	uint32_t	latency;	/* cycles */
	uint32_t	reserved;
	union {
		const struct pfm_sim_program *program;	/* fork, thread, exec */
		const struct pfm_sim_access *access;	/* site: PFM_SIM_ACCESS */
		const void	*trace;		/* replay: count bytes, as pfm_sim_trace_end() leaves them */
	};
	uint64_t	opcode;		/* site: the instruction's 41 bits */
	uint32_t	unit;		/* site: enum pfm_sim_unit */
	uint32_t	spread;		/* site: cycles in which its events happen; 0: 1 */
	const char	*name;		/* map: a path. exec: a new name, NULL: the old one. replay: a file */
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

struct pfm_sim_pmc {
	uint32_t	num;
	uint64_t	value;
};

/*
 * The same for models on which a counter takes several PMCs (netburst, power5): the first n of the PMCs, the one
 * that controls pmd before the others, each with number and value. Returns how many there are. A register whose
 * fields belong to several counters has those of this counter; values of several counters are ORed.
 */
int pfm_sim_encode_pmcs(struct pfm_sim *sim, const char *event, unsigned int levels, int pmd,
			struct pfm_sim_pmc *pmcs, int n);

/*
 * Is what counter pmd counts, programmed by these PMCs, simulated? 1, or 0: the model knows nothing that the event code
 * stands for, and no program causes it by its code (struct pfm_sim_event), so that the counter would stay at 0.
 */
int pfm_sim_simulates(struct pfm_sim *sim, int pmd, const struct pfm_sim_pmc *pmcs, int n);

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
	PFM_SIM_WAITING,	/* live: for the thread it follows to go on */
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

/* --- caches --------------------------------------------------------------------------------- */

struct pfm_sim_cache {
	char		name[8];	/* "L1I", "L1D", "L2", "L3", "ITLB", "DTLB" */
	uint64_t	size;
	uint32_t	assoc, line;
	uint32_t	policy;		/* 0 LRU, 1 pseudo-LRU, 2 FIFO, 3 random */
	uint32_t	latency;	/* cycles waited for what is here; of a TLB: for what is not */
	uint64_t	fetches, fetch_misses, loads, load_misses, stores, store_misses;
	uint64_t	invalidated;	/* L1D: lines that other CPUs took */
};

/*
 * The caches of a CPU, and what happened in them; fills up to n entries, returns how many there are. An access to more
 * than one line counts once. With ht, both CPUs of a core have the same. EINVAL: no such CPU.
 */
int pfm_sim_caches(struct pfm_sim *sim, uint32_t cpu, struct pfm_sim_cache *caches, int n);

/*
 * How often a line was not in the cache of that name, by set; fills up to n, returns how many sets there are. EINVAL:
 * no such CPU or cache.
 */
int pfm_sim_cache_sets(struct pfm_sim *sim, uint32_t cpu, const char *name, uint64_t *misses, int n);

enum pfm_sim_cause {
	PFM_SIM_COMPULSORY,	/* never there before */
	PFM_SIM_CAPACITY,	/* a fully associative cache of that size would miss, too */
	PFM_SIM_CONFLICT,	/* it would not */
	PFM_SIM_COHERENCE,	/* another CPU took the line */
	PFM_SIM_CAUSES
};

/* What the sites at one address did in the L1D of all CPUs. */
struct pfm_sim_why {
	uint64_t	loads, stores;
	uint64_t	load_misses[PFM_SIM_CAUSES], store_misses[PFM_SIM_CAUSES];
	uint64_t	waited;		/* cycles, for data */
};

/* EINVAL: the computer was made without explain=1. ENOENT: nothing at ip has accessed data. */
int pfm_sim_explain(struct pfm_sim *sim, uint64_t ip, struct pfm_sim_why *why);
/*
 * 1: the last load at ip saw what the site at *store had stored last in the word of 8 bytes; 0: what was there before
 * any store, or there was no load. EINVAL: as above. ENOMEM.
 */
int pfm_sim_saw(struct pfm_sim *sim, uint64_t ip, uint64_t *store);

struct pfm_sim_site {
	uint64_t		ip;
	struct pfm_sim_why	why;
};

/*
 * The sites that have accessed data: those that missed most often first and, of those that missed as often, that of the
 * lower address. Fills up to n; returns how many there are. EINVAL: as above. ENOMEM.
 */
int pfm_sim_sites(struct pfm_sim *sim, struct pfm_sim_site *sites, int n);

/* --- traces --------------------------------------------------------------------------------- */

enum pfm_sim_trace_kind {
	PFM_SIM_LOAD, PFM_SIM_STORE, PFM_SIM_MODIFY,	/* size bytes at addr */
	PFM_SIM_BRANCH_NOT, PFM_SIM_BRANCH_TAKEN,	/* a conditional branch */
	PFM_SIM_JUMP,					/* an indirect branch to addr */
};

struct pfm_sim_trace;

/* A new trace; NULL: ENOMEM. */
struct pfm_sim_trace *pfm_sim_trace_new(void);
/* An instruction of size bytes at ip is executed. EINVAL: more than 65536 bytes. */
int pfm_sim_trace_instruction(struct pfm_sim_trace *trace, uint64_t ip, uint32_t size);
/* The last instruction does that. EINVAL: no such kind, more than 65536 bytes. */
int pfm_sim_trace_op(struct pfm_sim_trace *trace, uint32_t kind, uint64_t addr, uint32_t size);
/*
 * What can be read from fd, to its end: what valgrind's lackey prints of memory. stop, optional, is asked now and then,
 * and after each signal that a read was interrupted by: not 0 ends it, with what was read so far. ENODATA: there is no
 * instruction in the trace.
 */
int pfm_sim_trace_lackey(struct pfm_sim_trace *trace, int fd, int (*stop)(void));
/* Its bytes, for PFM_SIM_REPLAY or a file; they last until the trace is freed. Nothing can be added then. */
int pfm_sim_trace_end(struct pfm_sim_trace *trace, const void **bytes, size_t *size);
void pfm_sim_trace_free(struct pfm_sim_trace *trace);

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
