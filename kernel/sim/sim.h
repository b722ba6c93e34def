/* SPDX-License-Identifier: MIT */
/*
 * sim.h - the simulated computer: declarations that its files share.
 *
 * program.c compiles programs; cursor.c moves through them by arithmetic; models.c has the list of
 * models, and the files in models/ have the meaning of event codes; pmu.c is a CPU's bare PMU,
 * filter.c decides which events its counters exclude, software.c adds the software counters; cpu.c
 * runs one CPU, sched.c is the scheduler, thread.c makes and ends threads, record.c passes records
 * of threads to contexts, stack.c their call stacks, time.c moves time; lock.c orders the locks;
 * sampling/ implements the records that processors keep of single executions, and the samples that
 * they take themselves; access.c turns programs' patterns into accesses, emerge.c executes sites
 * with accesses, and cache/ is the memory that is accessed; options.c, new.c, machine.c, api.c and
 * caches.c are the interfaces to programs and to the core; live.c lets simulated threads follow
 * threads of the host; live_program.c has the program that they run, and live_usage.c measures the
 * host's threads.
 */
#ifndef PFM_SIM_H
#define PFM_SIM_H

#include <pthread.h>
#include <signal.h>

#include "perfmon/sim.h"
#include "pmu/models.h"
#include "sim/cache/cache.h"
#include "user.h"

#define SIM_MAX_CPUS	64
#define SIM_MAX_CACHES	63	/* most cores that can have caches */
#define SIM_DEPTH	16	/* most nested loops */
#define SIM_MAX_SLOTS	64	/* most (event, level) pairs of a program */
#define SIM_MAX_EVENTS	63	/* most event names of a computer */
#define SIM_MAX_COUNTERS 32
#define SIM_NEVER	UINT64_MAX
#define SIM_TOOL_TID	1	/* thread id of the outside tool (perfmon/sim.h) */
#define SIM_FIRST_TID	100
#define SIM_BRANCHES	16	/* most branches that are kept */

/* --- programs: program.c ---------------------------------------------------------------- */

/* A slot: an event at a privilege level, of which a program has counts. */
struct sim_slot {
	uint8_t	event;
	uint8_t	level;
	/* the event as an enum cache_event; CACHE_EVENTS: it does not come from the caches */
	uint8_t	from;
};

struct sim_node {
	uint8_t		op;			/* an enum pfm_sim_op */
	uint8_t		level;
	uint8_t		flags;
	/* the node is a loop, and its iterations can be passed without a look inside */
	bool		skip;
	bool		user;			/* the node has sites at user level */
	bool		branches;		/* the node has sites that are branches */
	/* the node is a site that is a marked instruction (sampling/mark.c) */
	bool		marked;
	/* for a site that is a branch: SIM_TAKEN, SIM_WRONG, SIM_INDIRECT, ORed */
	uint8_t		branch;
	uint8_t		walks;			/* for a site that misses TLBs: SIM_WALK_* */
	/* the node is a loop of one iteration, which stands for a call of the function at ip */
	bool		call;
	/* index of the enclosing loop; the root is its own parent */
	uint32_t	parent;
	/* index of the last site of an iteration; for a site its own index */
	uint32_t	last;
	uint32_t	first, num_kids;	/* a loop's children in program->kids */
	/* by level: the longest latency of a miss in the node, + 1; 0: there is no miss */
	uint32_t	max_data[PFM_SIM_LEVELS], max_fetch[PFM_SIM_LEVELS];
	/* index in program->subs, for fork, thread and exec */
	uint32_t	sub;
	/* a site's cost, the time of a loop's iteration, or how long to sleep */
	uint64_t	ns;
	uint64_t	count;
	uint64_t	ip, data_addr, target, opcode;
	uint64_t	cycles;			/* the cycles that a site counts */
	/* the number of a site's cycles in which its events happen; 0: one */
	uint32_t	spread;
	uint8_t		unit_type;		/* a site's enum pfm_sim_unit */
	/* the node is a site with accesses or a replay: its counts come from the caches */
	bool		emerges;
	/*
	 * with emerges: the site declares no events and has none of the flags IRQS_OFF, DATA and
	 * FETCH
	 */
	bool		plain;
	struct sim_access *access;
	void		*trace;			/* the trace of a replay, of count bytes */
	char		*name;			/* a name for map and exec; or NULL */
	uint64_t	time[PFM_SIM_LEVELS];	/* ns by level, for a site or one iteration */
	uint64_t	*unit;			/* counts by slot, for a site or one iteration */
};

struct sim_program {
	unsigned int		refs;
	uint32_t		num_nodes, num_kids, num_slots, num_subs;
	/* some sites with accesses declare events, too */
	bool			declares;
	struct sim_slot		slots[SIM_MAX_SLOTS];
	struct sim_node		*nodes;		/* node 0 is the root, a loop of one iteration */
	uint32_t		*kids;
	uint64_t		*units;
	struct sim_program	**subs;
};

struct pfm_sim;

/*
 * Compiles a program. After a failure returns NULL, with a negative errno in *err and the reason in
 * pfm_refuse().
 */
struct sim_program *sim_program_new(struct pfm_sim *sim, const struct pfm_sim_program *source,
				    bool interrupt, int *err);
struct sim_program *sim_program_get(struct sim_program *prog);
void sim_program_put(struct sim_program *prog);	/* prog may be NULL */

/* --- cursors: cursor.c ------------------------------------------------------------------ */

/*
 * A position in a program: for each nested loop, the iterations left and the child at which it is.
 */
struct sim_cursor {
	struct {
		uint32_t	node, child;
		uint64_t	left;
	} at[SIM_DEPTH];
	int		depth;		/* 0: at the end of the program */
	bool		in_site;
	bool		irqs_off;
	/*
	 * if emerge.c has executed the current site: the site with what happened in it; else NULL
	 */
	const struct sim_node *now;
	uint64_t	left;		/* ns left in the site, if in_site */
	uint64_t	ip;		/* address of the last site touched */
	uint32_t	site;		/* index of that site; 0: there was none yet */
};

enum sim_stop {
	SIM_NONE,
	SIM_TIME,	/* the budget of time is spent */
	SIM_WRAP,	/* a counter has wrapped */
	SIM_STEPPED,	/* one site has ended (run->step) */
	SIM_OP,		/* the cursor is at an operation, which is not a site */
	SIM_BLOCK,	/* the next site is at user level (run->stop_at_user) */
	SIM_DONE,	/* the program has ended */
};

/*
 * A range of addresses: those that equal addr in the bits of mask and, if fine is set, are not
 * before addr and not behind the bundle "last".
 */
struct sim_range {
	uint64_t	addr, mask, last;
	uint8_t		levels;		/* a bit 1 << level for each level at which it holds */
	bool		fine, inverted;	/* inverted: the range consists of all other addresses */
};

struct sim_ranges {
	struct sim_range at[4];
	unsigned int	n;
	bool		used;		/* if set, only events in one of the ranges count */
};

/* What a counter excludes. It excludes nothing if all members are 0. */
struct sim_filter {
	struct sim_ranges code, data;
	/* only sites with opcode == op_match in the bits of op_mask count */
	bool		opcodes;
	uint64_t	op_match, op_mask;
	/* only sites of these units count: bits 1 << enum pfm_sim_unit */
	uint8_t		op_units;
	/* counts cycles in which at least this many events happen; 0: counts events */
	uint32_t	at_least;
	bool		inverted;	/* counts cycles in which fewer events happen */
	bool		edge;		/* counts only the first of a run of such cycles */
	bool		marked;		/* counts only events of marked instructions */
};

/*
 * What a site, or an iteration of a loop, adds to a filtered counter. If the filter has "edge", the
 * members after "count" are set, too: they say whether a run of cycles that count can continue from
 * the site before, or into the next one.
 */
struct sim_weight {
	uint64_t	count;
	bool		takes;		/* the site takes at least one cycle */
	bool		first, last;	/* the site's first and last cycle count */
};

/* The events that a counter counts of a CPU's running program, and its value as time moves. */
struct sim_watch {
	uint16_t	pmd;
	uint8_t		levels;		/* a bit 1 << level for each level that is counted */
	uint8_t		time_levels;	/* levels at which it counts ns */
	bool		wrapped;
	bool		filtered;	/* filter must be applied */
	bool		counted;	/* with filter.edge: the cycle before this moment counted */
	uint64_t	events;		/* a bit for each event */
	uint64_t	slots;		/* a bit for each slot of the program */
	uint64_t	value;
	struct sim_filter filter;
};

struct sim_tally {
	uint64_t	count[SIM_MAX_EVENTS][PFM_SIM_LEVELS];
	uint64_t	time[PFM_SIM_LEVELS];
};

struct sim_run;

/* The limits and call-backs of a move through a program. applied and passed may be NULL. */
struct sim_run {
	const struct sim_program *prog;
	struct sim_cursor	*cursor;
	struct sim_watch	*watches;
	unsigned int		num_watches;
	uint64_t		mask;		/* mask with the counters' width */
	uint64_t		budget;		/* time left for the move, in ns */
	bool			step, stop_at_user;
	/*
	 * called after n executions of a site (passed() gets their time) or n iterations of a loop
	 */
	void	(*applied)(void *arg, const struct sim_node *node, uint64_t n);
	/* called when time has passed in a site */
	void	(*passed)(void *arg, unsigned int level, uint64_t ns);
	void	*arg;
};

void sim_cursor_start(struct sim_cursor *cursor, const struct sim_program *prog);
/* Moves past the operation at which the cursor is. */
void sim_cursor_next(struct sim_cursor *cursor, const struct sim_program *prog);
/* Returns the node at which the cursor is; NULL at the end. */
static inline const struct sim_node *sim_cursor_node(const struct sim_cursor *c, const struct sim_program *prog)
{
	if (!c->depth)
		return NULL;
	if (c->now)
		return c->now;
	return &prog->nodes[prog->kids[prog->nodes[c->at[c->depth - 1].node].first + c->at[c->depth - 1].child]];
}
/*
 * Moves from node, at which the cursor is, into loops that cannot be passed at once. Returns the
 * new node, NULL at the end.
 */
const struct sim_node *sim_cursor_into(struct sim_cursor *cursor, const struct sim_program *prog,
				       const struct sim_node *node);
enum sim_stop sim_cursor_move(struct sim_run *run);
/*
 * Returns what n executions of a site, or iterations of a loop, add to a counter. What they add to
 * a counter of time is not included. *counted says whether the cycle before them counted, and
 * receives whether their own last cycle did.
 */
uint64_t sim_watch_gain(const struct sim_watch *w, const struct sim_program *prog, const struct sim_node *node,
			uint64_t n, bool *counted);

/* --- accesses: access.c --------------------------------------------------------------------- */

/* The accesses of a site, with the order in which pointers lead through memory. */
struct sim_access {
	struct pfm_sim_access	is;
	bool			buffered;	/* stores go through the CPU's store buffer */
	/* pointer chasing: the successor of each element */
	uint32_t		*load_next, *store_next;
};

/* How often a thread has executed a site, and at which elements its chases are. */
struct sim_progress {
	uint64_t	times;
	uint32_t	load_at, store_at;
};

struct sim_cpu;

/*
 * Properties of a branch: it was taken, was predicted wrongly, is indirect. There are SIM_KINDS
 * combinations.
 */
enum { SIM_TAKEN = 1, SIM_WRONG = 2, SIM_INDIRECT = 4, SIM_KINDS = 8 };
enum { SIM_WALK_DATA = 1, SIM_WALK_FETCH = 2 };

/* The data that address registers and branch buffers record of one execution. */
struct sim_executed {
	uint64_t	cycles;			/* all cycles that it waited */
	/* how many of these cycles the fetch waited, and how many the access at data_addr did */
	uint32_t	fetch_wait, data_wait;
	uint64_t	ip, data_addr, target;
	/* data was accessed; a load accessed it; the L1D did not have it */
	bool		data, load, missed;
	bool		fetch_missed, branched, marked;
	uint8_t		branch, walks;		/* SIM_TAKEN to SIM_INDIRECT, ORed; SIM_WALK_* */
};

/* After a failure returns NULL, with a negative errno in *err and the reason in pfm_refuse(). */
struct sim_access *sim_access_new(const struct pfm_sim_access *source, int *err);
void sim_access_free(struct sim_access *access);
/* Executes a site of cpu's current thread: makes its accesses. core has that CPU's caches. */
void sim_access_site(struct sim_cpu *cpu, struct cache_core *core, const struct sim_node *site,
		     struct sim_progress *progress, struct sim_executed *done);
void sim_access_replay(struct sim_cpu *cpu, struct cache_core *core, const struct tape_instr *instr,
		       struct sim_executed *done);
/* Lets the stores in the CPU's buffer reach the caches, which takes no time. */
void sim_stores_drain(struct sim_cpu *cpu);

/* --- models: models.c ------------------------------------------------------------------- */

/*
 * The events: software events, then those that hardware counts. They are indices into the
 * computer's event names.
 */
enum sim_event {
	SIM_EV_PAGE_FAULTS, SIM_EV_MINOR_FAULTS, SIM_EV_MAJOR_FAULTS,
	SIM_EV_ALIGNMENT_FAULTS, SIM_EV_EMULATION_FAULTS,
	SIM_EV_CONTEXT_SWITCHES, SIM_EV_CPU_MIGRATIONS,
	SIM_EV_CYCLES, SIM_EV_INSTRUCTIONS,
	SIM_EV_BRANCHES, SIM_EV_BRANCHES_TAKEN, SIM_EV_BRANCH_MISSES,
	SIM_EV_LOADS, SIM_EV_STORES, SIM_EV_FP_OPS, SIM_EV_NOPS, SIM_EV_UOPS, SIM_EV_STALLS,
	SIM_EV_L1D_ACCESSES, SIM_EV_L1D_MISSES, SIM_EV_L1I_ACCESSES, SIM_EV_L1I_MISSES,
	SIM_EV_L2_ACCESSES, SIM_EV_L2_MISSES, SIM_EV_L3_ACCESSES, SIM_EV_L3_MISSES,
	SIM_EV_DTLB_MISSES, SIM_EV_ITLB_MISSES, SIM_EV_BUS_ACCESSES, SIM_EV_INTERRUPTS,
	SIM_EV_DEAR, SIM_EV_IEAR, SIM_EV_BTB, SIM_EV_PREFETCHES, SIM_EV_PREFETCHES_UNUSED, SIM_EV_FORWARDS,
	SIM_EV_NAMED,		/* from here: event codes, as programs name them */
	/* for encodings: it never happens here, so its count is 0 */
	SIM_EV_NEVER = SIM_MAX_EVENTS,
};

enum { SIM_BY_CODE = 1, SIM_BY_OPCODE = 2, SIM_BY_DATA = 4, SIM_BY_MARK = 8 };

#define SIM_MAX_OTHERS 2

/*
 * An event by its codes in PMCs. A code has the event select in bits 0-7 and the unit mask from bit
 * 8 on (ARM: it is the event number; other models: as their file says). An encoding stands for the
 * codes that equal "code" in the bits of "mask", so that it may leave the unit mask open.
 */
struct sim_encoding {
	uint32_t	code, mask;
	uint16_t	event;
	/*
	 * SIM_BY_*: the restrictions of the event; with SIM_BY_MARK only marked instructions count
	 */
	uint16_t	by;
};

/* An address register records page walks, or misses that take at least "threshold" cycles. */
struct sim_ear {
	uint32_t	threshold;	/* SIM_NO_LATENCY: it records no misses */
	bool		walks;
};

struct sim_node;

/* The meaning of the bits of Itanium's address registers and branch buffer: sampling/layout.c. */
struct sim_layout {
	/*
	 * data() and fetch() return which misses and walks a PMC asks for; branch() returns whether
	 * it asks for branches like this one (SIM_TAKEN and so on).
	 */
	struct sim_ear	(*data)(uint64_t pmc), (*fetch)(uint64_t pmc);
	bool		(*branch)(uint64_t pmc, unsigned int branch);
	/* These store a miss, or a walk, in the PMDs other than the one for the data's address. */
	void		(*put_data)(const struct sim_node *miss, bool walked, uint64_t *latency, uint64_t *ip);
	void		(*put_fetch)(const struct sim_node *miss, bool walked, uint64_t *addr, uint64_t *latency);
};
extern const struct sim_layout sim_layout_itanium, sim_layout_itanium2;

/*
 * Itanium's event address registers, for data and for fetches, and its branch buffer: the numbers
 * of their PMC and PMDs, and the code of the event that counts what they record. Restrictions of
 * that event hold for them, too.
 */
struct sim_traces {
	struct {
		uint16_t pmc, addr, latency, ip, code;
	}		data;
	struct {
		uint16_t pmc, addr, latency, code;
	}		fetch;
	struct {
		/* full is the bit of index which says that the buffer has wrapped */
		uint16_t pmc, first, size, index, full, code;
	}		branch;
	const struct sim_layout *layout;
};

/*
 * Precise event-based sampling: num counters, from PMD "first" on, can take precise samples. They
 * take them if their bits in PMC "enable" are set, of which "bit" is that of the first counter.
 */
struct sim_pebs {
	uint16_t	enable, bit, first, num;
	uint16_t	record;		/* size of a record in bytes; 0: the model has no PEBS */
};

/*
 * Marked instructions: the bits "on" of the PMC enable the marking. Two PMDs have the address of
 * the last marked instruction and that of its data.
 */
struct sim_marking {
	uint64_t	on;		/* 0: the model marks no instructions */
	uint16_t	pmc, ip, data;
};

/*
 * Last branch records: "size" pairs of PMDs, from PMD "first" on. PMD "tos" has the number of the
 * latest pair.
 */
struct sim_lbr {
	uint16_t	pmc, tos, first, size;	/* size 0: the model has none */
	uint64_t	on;		/* without these bits of the PMC nothing is recorded */
	/*
	 * the PMC can exclude kinds of branches, and bit 63 of a record is set if the branch was
	 * mispredicted
	 */
	bool		selects;
};

#define SIM_NO_LATENCY UINT32_MAX
struct sim_wanted;

struct sim_codes {
	const struct sim_encoding *encodings;	/* an entry without a mask ends the table */
	uint64_t		mask;		/* the bits of a code that are not its unit mask */
	/* number of a PMD that only counts cycles; 0: there is none */
	uint16_t		cycle_counter;
	/* flags of contexts and sets that are specific to the model */
	uint32_t		ctx_flags, set_flags;
	bool			ia64;	/* chapter 5 applies: flags, sum and rum */
	/* the model's event address registers and branch buffer; or NULL */
	const struct sim_traces	*traces;
	const struct cache_shapes *caches;	/* NULL: every access goes to memory */
	/* registers of a logical processor with the option ht; NULL: it has no HyperThreading */
	const struct pfm_pmu	*ht;
	/*
	 * Gets event code and privilege levels from the PMC that controls counter pmd. Returns
	 * false if the counter counts nothing.
	 */
	bool	 (*decode)(const uint64_t *pmcs, unsigned int pmd, uint64_t *code, unsigned int *levels);
	uint64_t (*encode)(unsigned int pmd, uint64_t code, unsigned int levels);
	/* Optional: returns true if counter pmd can count the code. Without it any counter can. */
	bool	 (*takes)(unsigned int pmd, uint64_t code);
	/*
	 * Optional: stores the PMCs that counter pmd needs in addition to the one that controls it,
	 * and returns how many they are, at most SIM_MAX_OTHERS.
	 */
	unsigned int (*others)(unsigned int pmd, uint64_t code, unsigned int levels,
				struct pfm_sim_pmc *to);
	/*
	 * Optional: fills in the single executions at a level that are recorded while counters run;
	 * *wanted is empty before.
	 */
	void	 (*wanted)(const struct sim_cpu *cpu, unsigned int level, struct sim_wanted *wanted);
	/* Optional: records the last of the n executions of node that wanted() asks for. */
	void	 (*trace)(struct sim_cpu *cpu, const struct sim_program *prog, const struct sim_node *node,
			  uint64_t n);
	struct sim_pebs	pebs;
	/* the model has instruction-based sampling (ibs.c): PMC4 and 5, PMD4-13 */
	bool		ibs;
	struct sim_marking marking;
	struct sim_lbr	lbr;
	uint32_t	skid;			/* the skid with the option skid=model */
	/*
	 * Optional: fills in the events that a counter of this code excludes if its PMC has the
	 * value pmc; *f is all 0 before.
	 */
	void	 (*filter)(const uint64_t *pmcs, uint64_t pmc, uint64_t code, struct sim_filter *f);
};

#define SIM_DECLARE_CODES(model) extern const struct sim_codes sim_codes_##model;
PFM_PMU_MODELS(SIM_DECLARE_CODES)

struct sim_model {
	const char		*name, *full_name;	/* such as "k8" and "sim:k8" */
	const struct pfm_pmu	*pmu;
	const struct sim_codes	*codes;
};

const struct sim_model *sim_model_at(unsigned int i);	/* returns NULL after the last model */
/* "" is the first model. Returns NULL if there is no such model. */
const struct sim_model *sim_model_find(const char *name);
/* Returns the index of the event with that name, or a negative errno, with the reason. */
int sim_event_find(struct pfm_sim *sim, const char *name);
const char *sim_event_name(const struct pfm_sim *sim, unsigned int event);
/* Returns the events that a code counts, a bit 1 << event for each. */
uint64_t sim_model_events(const struct pfm_sim *sim, uint64_t code);
/* Returns true if the model has a code for the event. */
bool sim_model_counts(const struct sim_model *model, unsigned int event);
/* Returns the code that makes counter pmd count the event, or a negative errno, with the reason. */
int64_t sim_model_code(struct pfm_sim *sim, unsigned int event, unsigned int pmd);

/* --- software counters and virtual PMDs: software.c ------------------------------------- */

/*
 * Joins the hardware's and the software's registers for this computer. Returns false if there is no
 * memory.
 */
bool sim_pmu_compose(struct pfm_pmu *pmu, const struct pfm_pmu *hw);
void sim_pmu_discard(struct pfm_pmu *pmu);
/* Gets the events that a software counter counts. Returns false if it counts nothing. */
bool sim_software_decode(unsigned int pmd, uint64_t pmc, uint64_t *events, unsigned int *levels,
			 bool *time);

/* --- threads and CPUs ----------------------------------------------------------------------- */

struct sim_process {
	uint32_t		pid, ppid;
	unsigned int		threads;	/* number of threads that are alive */
	struct pfm_context	**reach;	/* contexts of which the process has descriptors */
	unsigned int		num_reach, room_reach;
};

enum { SIM_FOLLOW_MINOR, SIM_FOLLOW_MAJOR, SIM_FOLLOW_SWITCHES, SIM_FOLLOWED };

/* How a simulated thread follows a real thread, which is a thread of the host (live.c). */
struct sim_follow {
	bool		on;
	/* the real thread has ended; the simulated thread ends when it has caught up */
	bool		ended;
	/* how long the real thread has run: the simulated thread may run until t->ran is this */
	uint64_t	limit;
	/* value of t->ran at the next event; SIM_NEVER: no event is left */
	uint64_t	next;
	/* number of events that the real thread has had, and the simulated one not yet */
	uint32_t	events[SIM_FOLLOWED];
	/*
	 * the start time of the real thread, in ticks of the host; its CPU time in ns and its
	 * numbers of events, when /proc was last read
	 */
	uint64_t	started, seen_ns, seen[SIM_FOLLOWED];
	/* if the real thread has ended: t->ran, and the round in which t->ran got this value */
	uint64_t	held_ran, held_since;
	/*
	 * events on the real thread, which stay with it through exec(2), or -1: life has a ring
	 * and counts nothing; counts[] are of its group
	 */
	int		life, counts[SIM_FOLLOWED];
	unsigned int	num_counts;
	void		*life_map;
	/*
	 * CPU time of the real thread, and its numbers of events, beyond those that life and
	 * counts[] have counted
	 */
	int64_t		missed[1 + SIM_FOLLOWED];
};

struct sim_thread {
	struct pfm_sim		*sim;
	struct sim_process	*process;
	uint32_t		tid, uid, gid;
	enum pfm_sim_state	state;
	bool			kernel, idle;
	/* the thread stops before the next site at user level */
	bool			block;
	char			name[32];
	uint64_t		affinity;
	uint32_t		cpu;		/* the CPU on which it runs or last ran */
	bool			has_run;
	uint64_t		ran;		/* in ns */
	uint64_t		wake_at;
	unsigned int		heap_at;	/* index in the heap of sleepers */
	struct sim_program	*prog;
	struct sim_cursor	cursor;
	struct sim_emergence	*emergence;	/* the state of emerge.c; NULL until it is needed */
	struct pfm_context	*ctx;		/* the context that is attached */
	struct sim_thread	*next, *prev;	/* neighbours in the queue of ready threads */
	struct sim_follow	follow;
	struct sim_tally	truth;
};

struct sim_device {
	struct sim_device	*next;
	uint32_t		cpu;
	uint64_t		at, period;
	struct sim_program	*prog;
};

#define SIM_MAX_STORES	64

/* Executed stores that have not reached the caches, the oldest first. */
struct sim_stores {
	uint32_t	num;
	unsigned int	level;		/* level of the newest store */
	struct sim_store {
		uint64_t	ip, addr;
		uint32_t	size;
	}		at[SIM_MAX_STORES];
};

struct sim_cpu {
	struct pfm_sim		*sim;
	uint32_t		num;
	struct sim_thread	*cur;		/* the current thread; never NULL */
	struct sim_thread	idle;
	struct sim_process	idle_process;
	/* the program of an interrupt that runs on top of cur */
	struct sim_program	*intr;
	struct sim_cursor	intr_cursor;
	/* if intr is sim->interrupt_prog: the program of a device that it interrupted, or NULL */
	struct sim_program	*below;
	struct sim_cursor	below_cursor;

	/* the time up to which the program of cur has been run */
	uint64_t		at;
	/* the time up to which the program can run without a stop, if stop_known */
	uint64_t		stop_at;
	bool			stop_known;
	/* a timeout, a device or the end of a slice waits until interrupts are unmasked */
	bool			waiting;
	/* the time at which something next happens on this CPU */
	uint64_t		next;
	uint64_t		horizon;	/* nothing happens on other CPUs before this time */
	uint64_t		slice_end;

	struct pfm_context	*sys;		/* the system-wide context that is bound to it */
	struct pfm_context	*ctx;		/* the context on the PMU */
	uint64_t		pmcs[PFM_MAX_PMCS], pmds[PFM_MAX_PMDS];
	struct sim_watch	watches[SIM_MAX_COUNTERS];
	unsigned int		num_watches;
	bool			watches_known;
	/* PMDs that wrapped; their interrupt has not been taken */
	uint64_t		pending[PFM_PMD_BV];
	bool			is_pending;
	/* PMDs with filter.edge for which the last cycle counted */
	uint64_t		counted[PFM_PMD_BV];
	unsigned int		skid_left;
	uint64_t		ibs_fetches, ibs_ops;	/* progress towards the next sample */
	/*
	 * bits of PMDs with a new sample, for which an interrupt becomes pending at the end of the
	 * site
	 */
	uint64_t		ibs_taken;
	unsigned int		unmarked;	/* instructions since the last marked one */
	uint64_t		last_tstamp;
	struct sim_tally	truth;
	struct sim_stores	stores;
};

/*
 * Empties the store buffer; called before the thread does anything but accesses, or leaves the CPU.
 */
static inline void sim_stores_flush(struct sim_cpu *cpu)
{
	if (cpu->stores.num)
		sim_stores_drain(cpu);
}

struct pfm_sim {
	struct pfm_machine	machine;
	struct pfm_machine_ops	ops;
	struct pfm_pmu		pmu;
	const struct sim_model	*model;
	const struct pfm_pmu	*hw;		/* the hardware's part of pmu */
	pthread_mutex_t		lock;		/* a recursive lock; see lock.c */
	/* how often the thread that holds the lock has taken it */
	unsigned int		locked;
	sigset_t		saved_signals;
	/* the current command or call-back holds this root's lock */
	struct pfm_context	*inside;
	unsigned int		refs;		/* accessed atomically */

	uint32_t		num_cpus;
	uint64_t		tick, slice, timer, page_size, memlock;
	uint32_t		skid;
	bool			debugger;
	/* CPUs 2k and 2k + 1 are the logical processors of a core */
	bool			ht;

	struct cache_shapes	shapes;
	/*
	 * bits 1 << part of the caches, and 1 << CACHE_PARTS of the predictor, that options have
	 * described
	 */
	uint32_t		shaped;
	bool			explain;
	struct cache_system	*caches;
	struct pfm_sim_site	*sites;		/* explain: the sites that have accessed data */
	uint64_t		num_sites, room_sites;
	struct cache_blocks	site_of;	/* by address: index in sites, + 1 */
	/* explain: by word of 8 bytes, the site that stored there last, + 1 */
	struct cache_blocks	stored;
	/* explain: by site, the site that stored the word of its last load, + 1 */
	struct cache_blocks	saw;
	/* how many stores a CPU's buffer holds; 0: there is no buffer */
	uint32_t		store_buffer;
	uint64_t		interrupt_ns;
	/* the cost of an interrupt as a program; NULL: it costs nothing */
	struct sim_program	*interrupt_prog;
	char			notes[512];

	uint64_t		now;
	struct sim_cpu		*cpus;
	struct sim_thread	**threads;	/* threads by tid - SIM_FIRST_TID */
	unsigned int		num_threads, room_threads;
	struct sim_process	**processes;	/* processes, in no order */
	unsigned int		num_processes, room_processes;
	struct sim_process	tool;
	struct sim_thread	*ready, *ready_last;
	struct sim_thread	**sleepers;	/* a heap ordered by wake_at and tid */
	unsigned int		num_sleepers;
	struct sim_device	*devices;
	struct sim_program	*idle_prog;

	/* the thread that makes the current call; NULL: the tool */
	struct sim_thread	*actor;
	uint32_t		tool_cpu;

	uint16_t		counters[SIM_MAX_COUNTERS];	/* numbers of the PMDs that count */
	unsigned int		num_counters;
	char			named[SIM_MAX_EVENTS - SIM_EV_NAMED][16];
	uint64_t		codes[SIM_MAX_EVENTS - SIM_EV_NAMED];
	unsigned int		num_named;
	uint64_t		posts;		/* number of messages posted so far */

	bool			live;		/* threads of the host are followed */
	char			live_name[40];	/* the name, such as "sim:k8,live" */
	uint64_t		live_began;	/* start time in ns, by the host's clock */
	struct sim_program	*live_prog;
	struct pfm_sim		*next_replaced;	/* see release_replaced() in new.c */
	struct pfm_sim		*live_next;
	struct pfm_sim		*next;		/* in the list of all computers */
};

/* A context's simulated part, ctx->os. */
struct sim_ctx {
	struct sim_thread	*target;	/* the target of a per-thread context */
	struct sim_cpu		*cpu;		/* the CPU of a system-wide context */
	bool			running;	/* the counters count */
	bool			insecure;	/* sum and rum work on this context (5.3) */
	bool			inherited;	/* live: pfm_user_inherited() at the load */
	bool			armed;
	/* the time at which the set timeout expires, by sim_timer_clock() */
	uint64_t		deadline;
	/* ns that the flags of sets have excluded (3.1.12) */
	uint64_t		excluded;
};

static inline struct pfm_sim *sim_of(const struct pfm_context *ctx)
{
	return ctx->machine->os;
}

static inline struct sim_ctx *sim_ctx_of(const struct pfm_context *ctx)
{
	return ctx->os;
}

/* lock.c */
void sim_lock_init(struct pfm_sim *sim);
void sim_lock(struct pfm_sim *sim);
void sim_unlock(struct pfm_sim *sim);
/* Runs body with the computer's lock held, and turns its negative errno into -1 with errno. */
#define SIM_LOCKED(sim, body) ({		\
	int ret_;				\
						\
	sim_lock(sim);				\
	ret_ = (body);				\
	sim_unlock(sim);			\
	pfm_result(ret_);			\
})
/*
 * sim_enter() and sim_leave() enclose a call into the core on ctx, a root or a child context.
 * sim_enter() returns false if ctx is NULL or its root has been freed; then sim_leave() is not
 * called. sim_enter() may release the computer's lock for some time, so the caller must check again
 * whether ctx is still bound. ctx may be freed by sim_leave().
 */
struct sim_inside {
	struct pfm_context	*outer, *root;
};
bool sim_enter(struct pfm_sim *sim, struct pfm_context *ctx, struct sim_inside *in);
void sim_leave(struct pfm_sim *sim, const struct sim_inside *in);
/* machine.c: updates the active set's view; locked as by sim_enter() */
void sim_publish(struct pfm_context *ctx);

/* pmu.c: the PMU of a CPU. */
/* binds the PMU to ctx, or to no context if ctx is NULL */
void sim_pmu_bind(struct sim_cpu *cpu, struct pfm_context *ctx);
/* called when registers, owner or the current thread's level have changed */
void sim_pmu_changed(struct sim_cpu *cpu);
void sim_pmu_watch(struct sim_cpu *cpu);	/* updates cpu->watches */
/* copies cpu->watches to the registers; wraps become pending */
void sim_pmu_store(struct sim_cpu *cpu);
void sim_pmu_event(struct sim_cpu *cpu, unsigned int event, unsigned int level, uint64_t n);
/* returns true if the set's flags exclude the current thread */
bool sim_pmu_excludes(const struct sim_cpu *cpu);
/* returns the CPU with the context's registers; NULL: they are on none */
struct sim_cpu *sim_pmu_of(const struct pfm_context *ctx);
/*
 * Preemption (6.5). sim_pmu_preempt() takes the PMU from a system-wide context that accepts
 * preemption; sim_pmu_return() gives it back when the context of thread tid has released it.
 */
void sim_pmu_preempt(struct sim_cpu *cpu);
void sim_pmu_return(struct sim_cpu *cpu, uint32_t tid);
extern const struct pfm_bare_ops sim_bare_ops;

/* filter.c */
bool sim_filter_passes(const struct sim_filter *f, const struct sim_node *site);
/* returns true if the filter accepts an event that is caused outside of programs */
bool sim_filter_passes_single(const struct sim_filter *f);
void sim_weigh(const struct sim_watch *w, const struct sim_program *prog, const struct sim_node *node,
	       struct sim_weight *weight);
uint64_t sim_weight_of(const struct sim_weight *weight, uint64_t n, bool counted);

/* sampling/trace.c: address registers and branch buffer of Itanium processors. */

/* The executions at a level that address registers, branch records or PEBS must record. */
struct sim_wanted {
	uint32_t	data, fetch;	/* cache misses that take at least this many cycles */
	uint8_t		walks;		/* SIM_WALK_* */
	/* bits 1 << kind; a kind of branch is SIM_TAKEN to SIM_INDIRECT, ORed */
	uint8_t		branches;
};
void sim_trace_wanted(const struct sim_cpu *cpu, unsigned int level, struct sim_wanted *wanted);
void sim_trace(struct sim_cpu *cpu, const struct sim_program *prog, const struct sim_node *node, uint64_t n);

/* sampling/lbr.c */
void sim_lbr_wanted(const struct sim_cpu *cpu, unsigned int level, struct sim_wanted *wanted);
void sim_lbr(struct sim_cpu *cpu, const struct sim_program *prog, const struct sim_node *node, uint64_t n);

/*
 * sampling/branches.c: finds the last branches in n executions of node, as far as codes->wanted()
 * and the filter accept them.
 */
struct sim_branches {
	struct sim_filter	filter;
	uint8_t			wanted[PFM_SIM_LEVELS];
	const struct sim_node	*found[SIM_BRANCHES];	/* the branches found, the last one first */
	unsigned int		n;
};
void sim_last_branches(const struct sim_cpu *cpu, const struct sim_program *prog, const struct sim_node *node,
		       uint64_t n, struct sim_branches *b);

/*
 * sampling/pebs.c: called when a counter has wrapped. Returns true if the processor has only
 * written a record and reloaded the counter, so that there is no interrupt.
 */
bool sim_pebs_overflow(struct sim_cpu *cpu, struct sim_watch *w);

/*
 * sampling/mark.c: sim_mark_on() returns true if instructions are marked, sim_mark_next() if the
 * next one will be; sim_mark() follows an execution by the current thread, and sets done->marked.
 */
bool sim_mark_on(const struct sim_cpu *cpu);
bool sim_mark_next(const struct sim_cpu *cpu);
void sim_mark(struct sim_cpu *cpu, struct sim_executed *done);

/* sampling/ibs.c */
bool sim_ibs_on(const struct sim_cpu *cpu);
/*
 * Counts what the current thread executed in this many cycles. Sets bits of cpu->ibs_taken for new
 * samples, and returns true if any is set.
 */
bool sim_ibs_sample(struct sim_cpu *cpu, const struct sim_executed *done, uint64_t cycles);
/* cpu.c */
void sim_cpu_sync(struct sim_cpu *cpu);		/* runs to sim->now; no stop may be due */
/* returns true if an overflow has interrupted the CPU, but has not been handled yet */
bool sim_cpu_interrupted(const struct sim_cpu *cpu);
void sim_cpu_overflow(struct sim_cpu *cpu);	/* takes the pending interrupt */
void sim_cpu_handle(struct sim_cpu *cpu);	/* handles everything that is due on the CPU now */
uint64_t sim_cpu_next(struct sim_cpu *cpu);	/* returns the time of the next due event */
uint64_t sim_timer_clock(const struct pfm_context *ctx);
void sim_where(struct pfm_context *ctx, struct pfm_where *where);

/*
 * sim_cpu_ip() returns the address of the site that was executed last; sim_cpu_site() returns the
 * site, with what happened in it if emerge.c executed it.
 */
uint64_t sim_cpu_ip(const struct sim_cpu *cpu);
const struct sim_node *sim_cpu_site(const struct sim_cpu *cpu);

/* accounts for ns nanoseconds in which the CPU's program has run */
void sim_cpu_account(struct sim_cpu *cpu, uint64_t ns);
/* returns the time at which something other than the CPU's program is due, or SIM_NEVER */
uint64_t sim_cpu_due(struct sim_cpu *cpu);

/* emerge.c */
/* the enum sim_event for each enum cache_event */
extern const uint8_t sim_emerging[CACHE_EVENTS];
/*
 * Executes the sites of the current thread as long as nothing else can happen, at most up to
 * cpu->horizon, and moves time. A site that has not ended by then, or that must be counted
 * separately, is left to the cursor. Returns true if a counter wrapped.
 */
bool sim_emerge(struct sim_cpu *cpu);
void sim_emergence_free(struct sim_thread *t);
/*
 * Returns how the last site that emerge.c executed turned out; it is known at least when a counter
 * wrapped in it.
 */
const struct sim_node *sim_emerged(const struct sim_thread *t);

/* caches.c */
bool sim_caches_make(struct pfm_sim *sim);	/* returns false if there is no memory */
uint32_t sim_num_cores(const struct pfm_sim *sim);
/* may be called after sim_caches_make() */
struct cache_core *sim_core_of(const struct pfm_sim *sim, uint32_t cpu);
void sim_caches_free(struct pfm_sim *sim);
void sim_explain_add(struct pfm_sim *sim, uint64_t ip, enum cache_kind kind, int cause, uint32_t wait);
/*
 * These are called with the option explain: the first when site ip has stored at addr and all CPUs
 * see the store, the second when site ip has loaded from addr, the third when site ip has loaded,
 * from the store buffer, data that site "from" stored.
 */
void sim_explain_store(struct pfm_sim *sim, uint64_t ip, uint64_t addr);
void sim_explain_load(struct pfm_sim *sim, uint64_t ip, uint64_t addr);
void sim_explain_forward(struct pfm_sim *sim, uint64_t ip, uint64_t from);

/* sched.c */
/* gives a thread that can run an idle CPU, or queues it */
void sim_sched_ready(struct sim_thread *t);
/* takes a thread that runs or is ready off the CPU or the queue */
void sim_sched_leave(struct sim_thread *t, enum pfm_sim_state state);
/* switches to the next thread that waits for this CPU, if any */
void sim_sched_rotate(struct sim_cpu *cpu);
/* the next end of a slice at which a thread waits */
uint64_t sim_sched_slice_at(const struct sim_cpu *cpu);
void sim_sched_sleep(struct sim_thread *t, uint64_t until);
void sim_sched_unsleep(struct sim_thread *t);
void sim_sched_wake(struct pfm_sim *sim);	/* wakes threads at the end of their sleep */
uint64_t sim_sched_wake_at(const struct pfm_sim *sim);

/* thread.c */
/* returns NULL if there is no such thread */
struct sim_thread *sim_thread_find(struct pfm_sim *sim, uint32_t tid);
int sim_thread_new(struct pfm_sim *sim, struct sim_process *parent, struct sim_process *process,
		   const struct sim_thread *model, struct sim_program *prog, struct sim_thread **out);
void sim_thread_exit(struct sim_thread *t);
/* called in a child after fork, which has no context: a thread that waited for one goes on */
void sim_thread_forget(struct sim_thread *t);
void sim_thread_op(struct sim_cpu *cpu, const struct sim_node *node);
bool sim_process_reaches(const struct sim_process *p, const struct pfm_context *ctx);
int sim_process_reach(struct sim_process *p, struct pfm_context *ctx);
void sim_process_unreach(struct sim_process *p, struct pfm_context *ctx);
struct sim_process *sim_process_find(struct pfm_sim *sim, uint32_t pid);
void sim_threads_free(struct pfm_sim *sim);

/* record.c: passes a record of what t has just done to the contexts of t and of its CPU */
void sim_record(struct sim_thread *t, struct pfm_record *rec);

/* live.c */
int sim_live_init(struct pfm_sim *sim);
void sim_live_publish(struct pfm_sim *sim);
/* sim_live_begin() and sim_live_end() enclose every command; they are called with no lock held */
void sim_live_begin(void);
void sim_live_end(void);
void sim_live_forget(void);	/* called in a child after fork, which has no thread of live.c */
/* change is 1 if one more context is loaded, -1 if one less is */
void sim_live_loaded(struct pfm_sim *sim, int change);
/*
 * Finds or makes the simulated thread that follows thread tid of the host. Returns -ESRCH if there
 * is no such thread. The computer's lock is held.
 */
int sim_live_thread(struct pfm_sim *sim, uint32_t tid, struct sim_thread **out);
/*
 * Returns the time at which the current thread has its next event, or will have run for as long as
 * the real thread has.
 */
uint64_t sim_live_at(const struct sim_cpu *cpu);
void sim_live_due(struct sim_cpu *cpu);

/*
 * time.c: moves time to the next moment at which something happens, and handles it. Returns false,
 * with time at limit, if nothing happens up to limit.
 */
bool sim_advance(struct pfm_sim *sim, uint64_t limit);
void sim_sync_all(struct pfm_sim *sim);

/*
 * options.c: applies options "key=value,...", those in "first" before those in "options". Returns
 * 0, or a negative errno with the reason.
 */
int sim_options_parse(struct pfm_sim *sim, const char *first, const char *options);
int sim_options_set(struct pfm_sim *sim, const char *key, uint64_t value);
void sim_options_note(struct pfm_sim *sim);	/* updates sim->notes */

/* machine.c */
extern const struct pfm_machine_ops sim_machine_ops;
extern const struct pfm_stack_ops sim_stack_ops;	/* stack.c */

/* new.c */
void sim_get(struct pfm_sim *sim);
void sim_put(struct pfm_sim *sim);

#endif
