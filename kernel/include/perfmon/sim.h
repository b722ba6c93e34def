/* SPDX-License-Identifier: MIT */
/*
 * perfmon/sim.h - the simulated computer of pfm_set_machine("sim:MODEL", options).
 *
 * A small deterministic computer: CPUs, each with the bare PMU of a model (pfm_machine_name()
 * lists them), and threads that run programs under a round-robin scheduler. A program defines
 * how much time passes and what events happen at which address, so every count and every sample
 * is known in advance. Time advances only in calls that run the computer, and skips to the next
 * moment at which something happens.
 *
 * Options, "key=value,...", with their defaults:
 *   cpus       number of CPUs, 1 - 64; 1, with ht 2
 *   hz         timer ticks a second, 1 - 1000000000; 1000
 *   slice_ms   ms that a thread may run while others wait; 10. slice_ns: the same in ns. Slices
 *              end at ticks.
 *   timer_ns   granularity of set timeouts; one tick
 *   skid       instructions executed between an overflow and its interrupt (figure 3.27); 0.
 *              "model": as many as the processor's pipeline or reorder buffer holds, rounded
 *              down to a prime, with which no loop is in step
 *   page_size  bytes, a power of two; 4096
 *   live       1, or without a value: simulated threads follow threads of the program, see
 *              below; 0
 *   ht         1, or without a value: HyperThreading, of netburst and em64t. CPUs 2k and 2k + 1
 *              are the logical processors of one core: each has half of the registers, as under
 *              perfmon2 2.x, and they share the core's caches, TLBs and branch predictor; 0
 *   l1i, l1d, l2, l3, itlb, dtlb: caches of each CPU, as "SIZE:ASSOCIATIVITY:LINE"; for TLBs,
 *              SIZE is the total of all pages; 0: no such cache. The default is the model's. The
 *              policy is LRU, or with "SIZE:ASSOCIATIVITY:LINE:POLICY" lru, plru (a tree of
 *              bits), fifo or random
 *   prefetch   of the L1D: 1, a miss also fetches the next line; 2, so does the first use of a
 *              prefetched line (tagged). It never crosses a page of 4096 bytes and takes no
 *              time; it accesses the next level normally; 0
 *   store_buffer  stores that a CPU's buffer holds, 0 - 64. Stores wait in order until it is
 *              full; then the oldest goes to the caches, with those directly after it that are
 *              to the same line. Loads pass stores, but get their bytes from a store in the
 *              buffer that has them (forwarding). A fence empties the buffer, and so do
 *              operations other than sites, and the end of a thread's turn; 0
 *   interrupt_ns  duration of an interrupt, by an overflow or a device: 1 instruction in the
 *              kernel, at PFM_SIM_INTR and address 0xa000000100001000, on top of the thread and
 *              in its time; 0 - 1000000; 0
 *   cachegrind 1: cachegrind's caches instead of the model's: L1I and L1D of 32768:8:64, an L2 of
 *              262144:8:64, no TLBs, predictor 0; 0
 *   predictor  0 two-level, as cachegrind's; 1 bimodal; 2 gshare; the model's
 *   explain    1: records why loads and stores miss, pfm_sim_explain(), and what loads see,
 *              pfm_sim_saw(); 0
 *   memlock    RLIMIT_MEMLOCK of threads without administrator's rights, in bytes; unlimited
 *
 * Options can also follow the model's name: "sim:k8,live,skid=2", as in the environment's
 * LPFM_MACHINE.
 *
 * With live, any program that uses perfmon runs unchanged. Calls are those of the calling
 * thread; contexts are attached to threads of the host by their real ids, and to its CPUs. Each
 * real thread that calls perfmon, or that a context is attached to, has a simulated thread, which
 * is updated every ms and at each call. It runs for the CPU time of the real thread, less what
 * updates took in that thread's calls. It has its page faults and context switches, spread evenly
 * over the time between two updates, and ends after it. If the kernel permits events on the real
 * thread, exec(2), which can change the id, does not end the simulated one, and what the real
 * thread did before its end is known. If not, what it did after the last update is lost if its
 * parent waits for it before the next.
 * Other threads do not exist in the simulation, even for system-wide contexts: while they run,
 * the CPU has its idle thread, which counts in the kernel (PFM_SETFL_EXCL_IDLE). Hardware events
 * are invented: in each us, 900 ns at user level with 1010 instructions, 171 branches, 9 of them
 * mispredicted, 262 loads, 162 stores, 19 misses of the L1 data cache, 1 of the L2 and of each
 * TLB; and 90 ns in the kernel with 72 instructions. They happen in steps of 10 ns and count at
 * the end of each, so that a count which starts within a step has all of it. Samples and
 * messages have addresses of this invented program, from 0x400000 on, and none of the real
 * thread. A notification that blocks (PFM_FL_NOTIFY_BLOCK) blocks only the simulated thread,
 * which catches up after the restart. A live computer lasts as long as the process.
 *
 * The pfm_* calls of a program are made as its current actor: see pfm_sim_act(). Only one thread
 * of the host may use a simulated computer.
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
	PFM_SIM_INTR,		/* triggered by an interrupt; also the most privileged level */
	PFM_SIM_LEVELS
};

enum pfm_sim_op {
	PFM_SIM_SITE,		/* an instruction */
	PFM_SIM_LOOP,		/* repeats the steps up to PFM_SIM_END count times */
	PFM_SIM_END,
	PFM_SIM_SLEEP,		/* sleeps for ns */
	PFM_SIM_YIELD,		/* goes to the back of the run queue */
	PFM_SIM_FORK,		/* creates a process that runs program */
	PFM_SIM_THREAD,		/* creates a thread of this process that runs program */
	PFM_SIM_EXEC,		/* continues with program; other threads of the process end */
	PFM_SIM_EXIT,		/* ends the thread */
	PFM_SIM_EXIT_GROUP,	/* ends all threads of the process */
	PFM_SIM_SUM,		/* itanium2, 5.3: monitoring on, unless the context is secure */
	PFM_SIM_RUM,		/* itanium2, 5.3: monitoring off */
	PFM_SIM_CALL,		/* calls a function: the steps up to PFM_SIM_END */
	PFM_SIM_MAP,		/* maps a part of the file `name` as code, at address ip */
	PFM_SIM_REPLAY,		/* executes the instructions of trace */
};

#define PFM_SIM_FOREVER	0xffffffffffffffffULL	/* as count: endless */

#define PFM_SIM_IRQS_OFF 0x1	/* site: interrupts wait for a site without this flag */
#define PFM_SIM_DATA	0x2	/* site: has data_addr; with latency, a miss for the D-EAR */
#define PFM_SIM_FETCH	0x4	/* site: a missed instruction fetch, for the I-EAR; latency */
#define PFM_SIM_BRANCH	0x8	/* site: a branch taken to target, for the branch trace buffer */
#define PFM_SIM_ACCESS	0x10	/* site: has access; the caches determine what it counts */

/* The execution unit of an Itanium instruction, for opcode matchers. */
enum pfm_sim_unit {
	PFM_SIM_UNIT_ANY,	/* matches if a matcher has all four */
	PFM_SIM_UNIT_M,
	PFM_SIM_UNIT_I,
	PFM_SIM_UNIT_F,
	PFM_SIM_UNIT_B,
};

/* How the addresses that a site loads from or stores to follow each other. */
enum pfm_sim_pattern_kind {
	PFM_SIM_NO_PATTERN,	/* no access */
	PFM_SIM_STRIDES,	/* base + strides[i] * iteration of loop i; loop 0 is innermost */
	PFM_SIM_RANDOM,		/* one of count elements, strides[0] bytes apart, at random */
	PFM_SIM_CHASE,		/* elements as for RANDOM, as a random cycle of pointers */
};

#define PFM_SIM_MAX_STRIDES 8
#define PFM_SIM_MAX_CHASE (1 << 24)

struct pfm_sim_pattern {
	uint32_t	kind;		/* enum pfm_sim_pattern_kind */
	uint32_t	size;		/* bytes of an access, 1 to 64; 0 means 8 */
	uint64_t	base;
	/* bytes, of the loops from the innermost one on; calls and endless loops have no stride */
	int64_t		strides[PFM_SIM_MAX_STRIDES];
	uint64_t	count;		/* RANDOM, CHASE: elements, 1 to PFM_SIM_MAX_CHASE */
	uint64_t	seed;
};

/* When a conditional branch is taken. */
enum pfm_sim_branch_kind {
	PFM_SIM_NO_BRANCH,
	PFM_SIM_TAKEN,
	PFM_SIM_NOT_TAKEN,
	PFM_SIM_BACK,		/* except in the innermost loop's last iteration: a branch back */
	PFM_SIM_BITS,		/* by the lowest `period` bits of `bits`, lowest first, repeated */
	PFM_SIM_CHANCE,		/* at random, with probability bits / 2^32 */
};

/*
 * The memory accesses and the branch of a site with PFM_SIM_ACCESS. The site fetches the
 * instruction, loads, stores, and predicts and executes the branch. This counts cycles, stalls,
 * loads, stores, misses of caches and TLBs, and branches. The site's ns are the cycles of the
 * instruction itself; 0 means 1. pfm_sim_caches() returns the latencies of the caches, which are
 * added.
 */
struct pfm_sim_access {
	struct pfm_sim_pattern	load, store;
	uint32_t	fetch;		/* bytes of the instruction, 1 to 64; 0 means 4 */
	uint32_t	branch;		/* enum pfm_sim_branch_kind; the step has its target */
	uint32_t	period;		/* number of bits, 1 to 64 */
	uint32_t	fence;		/* 1: empties the store buffer and bypasses it */
	uint64_t	bits, seed;
};

struct pfm_sim_event {
	const char	*name;	/* a name of pfm_sim_event_name(), or an event code as "0x5b" */
	uint64_t	count;
};

/*
 * A step of a program. Unused fields are 0. A site's events happen together, when its time is
 * over. The site also counts 1 "instructions" and its ns as "cycles" (the CPUs run at 1 GHz),
 * unless the events include "instructions" or "cycles" themselves.
 *
 * Counters with a threshold compare it with the events of a cycle: a site's events are in its
 * last cycle or, with spread, evenly in its last few cycles, with the remainder in the last one.
 * Address ranges apply to ip and data_addr, opcode matchers to opcode and unit.
 */
struct pfm_sim_step {
	uint32_t	op;		/* enum pfm_sim_op */
	uint32_t	level;		/* site, call: enum pfm_sim_level */
	uint64_t	ns;		/* duration of a site or of a sleep */
	uint64_t	count;		/* loop: iterations; map, replay: bytes */
	uint64_t	ip;		/* site: its address; call: its return address */
	const struct pfm_sim_event *events;	/* the events of a site */
	uint32_t	num_events;
	uint32_t	flags;		/* site: PFM_SIM_IRQS_OFF ... */
	uint64_t	data_addr;	/* site: address of its data; map: offset in the file */
	uint64_t	target;
	uint32_t	latency;	/* cycles */
	uint32_t	reserved;
	union {
		const struct pfm_sim_program *program;	/* fork, thread, exec */
		const struct pfm_sim_access *access;	/* site with PFM_SIM_ACCESS */
		const void	*trace;		/* replay: count bytes of pfm_sim_trace_end() */
	};
	uint64_t	opcode;		/* site: the instruction's 41 bits */
	uint32_t	unit;		/* site: enum pfm_sim_unit */
	uint32_t	spread;		/* site: cycles over which events are spread; 0: 1 */
	const char	*name;		/* map, replay: a file; exec: a new name, or NULL */
};

struct pfm_sim_program {
	const struct pfm_sim_step	*steps;
	uint32_t			num_steps;
};

/* --- computers ------------------------------------------------------------------------------ */

/*
 * Returns the current computer, which then lives until pfm_sim_put(); NULL, ENODEV: the machine
 * is not a simulated one.
 */
struct pfm_sim *pfm_sim_get(void);
void pfm_sim_put(struct pfm_sim *sim);

/*
 * Changes an option while the computer runs: skid, memlock; tool_cpu: the CPU of the outside
 * tool; debugger: 1 while a debugger uses the debug registers (5.6.2). EINVAL: no such option or
 * value.
 */
int pfm_sim_set(struct pfm_sim *sim, const char *option, uint64_t value);

/* Returns the simulated time, in ns since the computer was created. */
uint64_t pfm_sim_time(struct pfm_sim *sim);

/* Returns the i-th name of an event for programs, counted from 0; NULL after the last. */
const char *pfm_sim_event_name(struct pfm_sim *sim, int i);
/*
 * Finds the value of the PMC with which counter pmd counts an event at levels (bits 1 << enum
 * pfm_sim_level).
 */
int pfm_sim_encode(struct pfm_sim *sim, const char *event, unsigned int levels, int pmd,
		   uint64_t *pmc_value);

struct pfm_sim_pmc {
	uint32_t	num;
	uint64_t	value;
};

/*
 * Does the same as pfm_sim_encode() for models that need several PMCs for a counter (netburst,
 * power5): fills in numbers and values of the first n PMCs, beginning with the one that controls
 * pmd, and returns how many are needed. If a register has fields of several counters, the value has
 * only this counter's; the values of several counters can be ORed.
 */
int pfm_sim_encode_pmcs(struct pfm_sim *sim, const char *event, unsigned int levels, int pmd,
			struct pfm_sim_pmc *pmcs, int n);

/*
 * Returns 1 if the simulation has the events of counter pmd, programmed by these PMCs, and for a
 * PMD that counts none. Returns 0 if the model has no event for the code and no program produces it
 * by its code (struct pfm_sim_event): the counter would stay at 0. EINVAL: there is no such PMD.
 */
int pfm_sim_simulates(struct pfm_sim *sim, int pmd, const struct pfm_sim_pmc *pmcs, int n);

/* --- threads -------------------------------------------------------------------------------- */

struct pfm_sim_spawn {
	const char	*name;		/* or NULL */
	struct pfm_sim_program program;	/* copied */
	uint64_t	affinity;	/* bit mask of its CPUs; 0: all */
	uint32_t	uid, gid;
	uint32_t	process;	/* pid of an existing process; 0: a new one */
	uint32_t	kernel;		/* 1: a kernel thread, which has no user level */
};

/*
 * Creates a thread, ready to run; returns its tid. EINVAL: a bad program (pfm_explain() names
 * the step), affinity or process; ENOMEM.
 */
int pfm_sim_spawn(struct pfm_sim *sim, const struct pfm_sim_spawn *spawn);

/* Ends a thread, as PFM_SIM_EXIT does. ESRCH: no such thread. */
int pfm_sim_kill(struct pfm_sim *sim, uint32_t tid);

enum pfm_sim_state {
	PFM_SIM_READY,		/* waits for a CPU */
	PFM_SIM_RUNNING,
	PFM_SIM_SLEEPING,
	PFM_SIM_BLOCKED,	/* blocked by PFM_FL_NOTIFY_BLOCK */
	PFM_SIM_DEAD,
	PFM_SIM_WAITING,	/* live: waits until the real thread has run */
};

struct pfm_sim_thread {
	uint32_t	tid, pid, ppid, uid, gid;
	uint32_t	state;		/* enum pfm_sim_state */
	uint32_t	cpu;		/* the CPU on which the thread runs or last ran */
	uint32_t	kernel;
	uint64_t	affinity;
	uint64_t	ran_ns;
	uint64_t	ip;		/* address of the current or last site */
	char		name[32];
};

/*
 * Lists the threads by tid, with dead ones: fills in up to n entries, returns the number of
 * threads.
 */
int pfm_sim_threads(struct pfm_sim *sim, struct pfm_sim_thread *threads, int n);

/*
 * From now on calls of perfmon are made as thread tid: its uid (0 is the administrator) decides
 * about permissions, its id and CPU about self-monitoring and system-wide rules, and its process
 * gets the descriptors. tid 0 is the outside tool, an administrator with thread id 1 that
 * occupies no CPU. ESRCH: no such thread.
 */
int pfm_sim_act(struct pfm_sim *sim, uint32_t tid);

/*
 * Gives (1) or takes (0) access to the context of descriptor fd for the process of thread tid
 * (3.3.6). Without this call, a process has access if it created the context, or if its parent
 * had access when it was created.
 */
int pfm_sim_share(struct pfm_sim *sim, uint32_t tid, int fd, int access);

/*
 * Lets a device interrupt cpu at start_ns and, unless period_ns is 0, every period_ns from then
 * on. The program runs on top of the current thread; its sites should be at PFM_SIM_INTR. It
 * must end, and must not fork, sleep or exit. EINVAL.
 */
int pfm_sim_interrupt(struct pfm_sim *sim, uint32_t cpu, uint64_t start_ns, uint64_t period_ns,
		      const struct pfm_sim_program *program);

/* --- running -------------------------------------------------------------------------------- */

/*
 * These functions return 1 when their condition is met, 0 if limit_ns have passed before. EINTR:
 * SIGINT or SIGTERM came, and time stopped then. run_ns runs for ns and returns 1.
 * until_message: a message can be read from fd or, with PFM_SIM_ANY_CONTEXT, was posted to any
 * context since the call. until_exit: thread tid has ended (ESRCH: it never existed).
 * until_idle: no thread can run or will wake up, except those blocked by a notification.
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
	uint32_t	latency;	/* cycles of an access; for TLBs: of a miss */
	uint64_t	fetches, fetch_misses, loads, load_misses, stores, store_misses;
	uint64_t	invalidated;	/* L1D: lines taken by other CPUs */
};

/*
 * Describes the caches of a CPU, with their counts: fills in up to n entries, returns the number
 * of caches. An access to several lines counts once. With ht, both CPUs of a core have the same
 * caches. EINVAL: no such CPU.
 */
int pfm_sim_caches(struct pfm_sim *sim, uint32_t cpu, struct pfm_sim_cache *caches, int n);

/*
 * Counts the misses of a cache in each of its sets: fills in up to n, returns the number of
 * sets. EINVAL: no such CPU or cache.
 */
int pfm_sim_cache_sets(struct pfm_sim *sim, uint32_t cpu, const char *name, uint64_t *misses, int n);

enum pfm_sim_cause {
	PFM_SIM_COMPULSORY,	/* first access to the line */
	PFM_SIM_CAPACITY,	/* a fully associative cache of this size would also miss */
	PFM_SIM_CONFLICT,	/* a fully associative cache of this size would hit */
	PFM_SIM_COHERENCE,	/* another CPU took the line */
	PFM_SIM_CAUSES
};

/* Accesses to the L1D, of all CPUs, by the sites at one address. */
struct pfm_sim_why {
	uint64_t	loads, stores;
	uint64_t	load_misses[PFM_SIM_CAUSES], store_misses[PFM_SIM_CAUSES];
	uint64_t	waited;		/* cycles of waiting for data */
};

/*
 * Explains the misses of the sites at ip. EINVAL: the computer has no explain=1. ENOENT: no data
 * access at ip.
 */
int pfm_sim_explain(struct pfm_sim *sim, uint64_t ip, struct pfm_sim_why *why);
/*
 * Finds the store that the last load at ip saw: returns 1 with the address of the site that had
 * last stored in this 8-byte word in *store; 0 if the word had not been stored to, or there was
 * no load. EINVAL: no explain=1. ENOMEM.
 */
int pfm_sim_saw(struct pfm_sim *sim, uint64_t ip, uint64_t *store);

struct pfm_sim_site {
	uint64_t		ip;
	struct pfm_sim_why	why;
};

/*
 * Lists the sites that have accessed data, by decreasing misses, then by address. Fills in up to
 * n; returns their number. EINVAL: the computer has no explain=1. ENOMEM.
 */
int pfm_sim_sites(struct pfm_sim *sim, struct pfm_sim_site *sites, int n);

/* --- traces --------------------------------------------------------------------------------- */

enum pfm_sim_trace_kind {
	PFM_SIM_LOAD, PFM_SIM_STORE, PFM_SIM_MODIFY,	/* size bytes at addr */
	PFM_SIM_BRANCH_NOT, PFM_SIM_BRANCH_TAKEN,	/* a conditional branch */
	PFM_SIM_JUMP,					/* an indirect branch to addr */
};

struct pfm_sim_trace;

/* Creates a trace; NULL: ENOMEM. */
struct pfm_sim_trace *pfm_sim_trace_new(void);
/* Adds an instruction of size bytes at ip. EINVAL: more than 65536 bytes. */
int pfm_sim_trace_instruction(struct pfm_sim_trace *trace, uint64_t ip, uint32_t size);
/* Adds an operation to the last instruction. EINVAL: no such kind, more than 65536 bytes. */
int pfm_sim_trace_op(struct pfm_sim_trace *trace, uint32_t kind, uint64_t addr, uint32_t size);
/*
 * Adds the memory accesses that valgrind's lackey prints, read from fd to its end. stop, which
 * may be NULL, is called at intervals and after each signal that interrupts a read: if it
 * returns non-0, the trace has what was read so far. ENODATA: the trace has no instruction.
 */
int pfm_sim_trace_lackey(struct pfm_sim_trace *trace, int fd, int (*stop)(void));
/*
 * Ends a trace; no more can be added. Its bytes, for PFM_SIM_REPLAY or a file, last until the
 * trace is freed.
 */
int pfm_sim_trace_end(struct pfm_sim_trace *trace, const void **bytes, size_t *size);
void pfm_sim_trace_free(struct pfm_sim_trace *trace);

/* --- exact counts --------------------------------------------------------------------------- */

struct pfm_sim_count {
	char		event[32];
	uint64_t	count[PFM_SIM_LEVELS];
};

/*
 * Exact counts of what thread tid did (with the interrupts on top of it), or of what happened on
 * a CPU (with its idle thread). Fills in up to n entries, those that are not 0; returns their
 * number. The event "time" is in ns. ESRCH, EINVAL.
 */
int pfm_sim_truth(struct pfm_sim *sim, uint32_t tid, struct pfm_sim_count *counts, int n);
int pfm_sim_truth_cpu(struct pfm_sim *sim, uint32_t cpu, struct pfm_sim_count *counts, int n);
/* Exact counts of the idle thread of a CPU. */
int pfm_sim_truth_idle(struct pfm_sim *sim, uint32_t cpu, struct pfm_sim_count *counts, int n);

#ifdef __cplusplus
}
#endif
#endif /* PERFMON_SIM_H */
