/* SPDX-License-Identifier: MIT */
/*
 * sim.h - the simulated computer, as its parts see it.
 *
 * program.c compiles programs; cursor.c moves through them by arithmetic; models.c has the list of models,
 * and the files in models/ say which event code counts what; pmu.c is a CPU's bare PMU, filter.c what its
 * counters leave out, software.c the software counters;
 * cpu.c runs one CPU, sched.c is the scheduler, thread.c makes and ends threads, time.c moves time; lock.c orders
 * the locks;
 * sampling/ is what processors record of single executions, and samples that they take themselves;
 * access.c turns programs' patterns into accesses, emerge.c executes them, and cache/ is the memory they go to;
 * options.c, new.c, machine.c and api.c are the interfaces to programs and to the core;
 * live.c lets a computer follow threads of the program.
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
#define SIM_MAX_CACHES	63	/* cores with caches */
#define SIM_DEPTH	16	/* nested loops */
#define SIM_MAX_SLOTS	64	/* (event, level) pairs of a program */
#define SIM_MAX_EVENTS	63	/* event names of a computer */
#define SIM_MAX_COUNTERS 32
#define SIM_NEVER	UINT64_MAX
#define SIM_TOOL_TID	1	/* the outside tool */
#define SIM_FIRST_TID	100
#define SIM_BRANCHES	16	/* that are kept, at most */

/* --- programs: program.c ---------------------------------------------------------------- */

/* What a program counts: an event at a privilege level. */
struct sim_slot {
	uint8_t	event;
	uint8_t	level;
	uint8_t	from;		/* what it emerges from, enum cache_event; CACHE_EVENTS: nothing */
};

struct sim_node {
	uint8_t		op;			/* enum pfm_sim_op */
	uint8_t		level;
	uint8_t		flags;
	bool		skip;			/* loop: iterations can be passed without looking inside */
	bool		user;			/* has sites of user level */
	bool		branches;		/* has sites that are branches */
	bool		marked;			/* site: sampling/mark.c */
	uint8_t		branch;			/* site: what it is like, SIM_TAKEN ... */
	uint8_t		walks;			/* site: misses of TLBs, SIM_WALK_* */
	bool		call;			/* loop: of one iteration, a function called at ip */
	uint32_t	parent;			/* the loop it is in; of the whole, itself */
	uint32_t	last;			/* the site that ends an iteration */
	uint32_t	first, num_kids;	/* loop: in program->kids */
	uint32_t	latency;
	uint32_t	max_data[PFM_SIM_LEVELS], max_fetch[PFM_SIM_LEVELS];	/* longest latency + 1 */
	uint32_t	sub;			/* fork, thread, exec: in program->subs */
	uint64_t	ns;			/* site: cost; loop: of one iteration; sleep: how long */
	uint64_t	count;
	uint64_t	ip, data_addr, target, opcode;
	uint64_t	cycles;			/* site: what it counts as cycles */
	uint32_t	spread;			/* site: cycles in which its events happen; 0: 1 */
	uint8_t		unit_type;		/* site: enum pfm_sim_unit */
	bool		emerges;		/* what it counts comes from the caches: access, or replay */
	bool		plain;			/* ... and nothing else, but 1 instruction */
	struct sim_access *access;
	void		*trace;			/* replay: count bytes */
	char		*name;			/* map, exec; or NULL */
	uint64_t	time[PFM_SIM_LEVELS];	/* ns by level: site, or one iteration */
	uint64_t	*unit;			/* by slot: site, or one iteration */
};

struct sim_program {
	unsigned int		refs;
	uint32_t		num_nodes, num_kids, num_slots, num_subs;
	bool			declares;	/* has sites with accesses that say what they count besides */
	struct sim_slot		slots[SIM_MAX_SLOTS];
	struct sim_node		*nodes;		/* 0: the whole, a loop of one iteration */
	uint32_t		*kids;
	uint64_t		*units;
	struct sim_program	**subs;
};

struct pfm_sim;

/* Returns NULL after pfm_refuse() with the reason; *err is then a negative errno. */
struct sim_program *sim_program_new(struct pfm_sim *sim, const struct pfm_sim_program *source,
				    bool interrupt, int *err);
struct sim_program *sim_program_get(struct sim_program *prog);
void sim_program_put(struct sim_program *prog);	/* NULL is fine */

/* --- cursors: cursor.c ------------------------------------------------------------------ */

/* A place in a program: per nested loop the iterations left and the child it is at. */
struct sim_cursor {
	struct {
		uint32_t	node, child;
		uint64_t	left;
	} at[SIM_DEPTH];
	int		depth;		/* 0: at the end */
	bool		in_site;
	bool		irqs_off;
	const struct sim_node *now;	/* the site that it is at, as emerge.c executed it; NULL: as the program says */
	uint64_t	left;		/* in_site: ns */
	uint64_t	ip;		/* of the site last touched */
	uint32_t	site;		/* that site; 0: none yet */
};

enum sim_stop {
	SIM_NONE,
	SIM_TIME,	/* the budget is spent */
	SIM_WRAP,	/* a counter wrapped */
	SIM_STEPPED,	/* one site is done (run->step) */
	SIM_OP,		/* at an operation that is no site */
	SIM_BLOCK,	/* before a site of user level (run->stop_at_user) */
	SIM_DONE,	/* at the end of the program */
};

/* Addresses: those that equal addr in the bits of mask; fine: from addr to the bundle last besides. */
struct sim_range {
	uint64_t	addr, mask, last;
	uint8_t		levels;		/* bits 1 << level */
	bool		fine, inverted;	/* inverted: the others, at these levels */
};

struct sim_ranges {
	struct sim_range at[4];
	unsigned int	n;
	bool		used;		/* only what is in one of them */
};

/* What a counter leaves out; all 0: nothing. */
struct sim_filter {
	struct sim_ranges code, data;
	bool		opcodes;	/* only sites with opcode == op_match in the bits of op_mask */
	uint64_t	op_match, op_mask;
	uint8_t		op_units;	/* and of these units, bits 1 << enum pfm_sim_unit */
	uint32_t	at_least;	/* counts cycles in which so many events happen; 0: events */
	bool		inverted;	/* ... in which they do not */
	bool		edge;		/* ... after one that did not count */
	bool		marked;		/* counts what marked instructions do */
};

/* What a site or an iteration adds to a filtered counter. Of edges: what its cycles are like. */
struct sim_weight {
	uint64_t	count;
	bool		takes;		/* there are cycles */
	bool		first, last;	/* the first, the last cycle counts */
};

/* A counter while a CPU moves: what of the running program it counts. */
struct sim_watch {
	uint16_t	pmd;
	uint8_t		levels;		/* bits 1 << level */
	uint8_t		time_levels;	/* counts ns at these levels */
	bool		wrapped;
	bool		filtered;	/* filter is in force */
	bool		counted;	/* filter.edge: the last cycle counted */
	uint64_t	events;		/* bits by event */
	uint64_t	slots;		/* bits by slot of the program */
	uint64_t	value;
	struct sim_filter filter;
};

struct sim_tally {
	uint64_t	count[SIM_MAX_EVENTS][PFM_SIM_LEVELS];
	uint64_t	time[PFM_SIM_LEVELS];
};

struct sim_run;

/* What a move through a program does besides moving; a NULL applied makes it a rehearsal. */
struct sim_run {
	const struct sim_program *prog;
	struct sim_cursor	*cursor;
	struct sim_watch	*watches;
	unsigned int		num_watches;
	uint64_t		mask;		/* of the counters' width */
	uint64_t		budget;		/* ns left */
	bool			step, stop_at_user;
	/* n executions of a site, or n iterations of a loop; without their time for a site */
	void	(*applied)(void *arg, const struct sim_node *node, uint64_t n);
	void	(*passed)(void *arg, unsigned int level, uint64_t ns);	/* time in a site */
	void	*arg;
};

void sim_cursor_start(struct sim_cursor *cursor, const struct sim_program *prog);
/* Moves over the operation that the cursor is at. */
void sim_cursor_next(struct sim_cursor *cursor, const struct sim_program *prog);
/* Returns the node that the cursor is at; NULL at the end. */
static inline const struct sim_node *sim_cursor_node(const struct sim_cursor *c, const struct sim_program *prog)
{
	if (!c->depth)
		return NULL;
	if (c->now)
		return c->now;
	return &prog->nodes[prog->kids[prog->nodes[c->at[c->depth - 1].node].first + c->at[c->depth - 1].child]];
}
/* Moves from node, which it is at, into loops that cannot be passed at once; returns its new node, NULL at the end. */
const struct sim_node *sim_cursor_into(struct sim_cursor *cursor, const struct sim_program *prog,
				       const struct sim_node *node);
enum sim_stop sim_cursor_move(struct sim_run *run);
/*
 * What n executions of a site, or iterations of a loop, add to a counter, besides their time. *counted: whether the
 * last cycle before them counted; from then on, their last one.
 */
uint64_t sim_watch_gain(const struct sim_watch *w, const struct sim_program *prog, const struct sim_node *node,
			uint64_t n, bool *counted);

/* --- accesses: access.c --------------------------------------------------------------------- */

/* A site's access, with the order in which pointers lead through memory. */
struct sim_access {
	struct pfm_sim_access	is;
	bool			buffered;	/* by way of the CPU's store buffer */
	uint32_t		*load_next, *store_next;	/* chase: the element after each */
};

/* How often a thread has executed a site, and the elements that its chases are at. */
struct sim_progress {
	uint64_t	times;
	uint32_t	load_at, store_at;
};

struct sim_cpu;

/* A branch: taken, predicted wrongly, indirect; so many kinds. */
enum { SIM_TAKEN = 1, SIM_WRONG = 2, SIM_INDIRECT = 4, SIM_KINDS = 8 };
enum { SIM_WALK_DATA = 1, SIM_WALK_FETCH = 2 };

/* The facts of one execution that address registers and branch buffers record. */
struct sim_executed {
	uint64_t	cycles;			/* waited in all */
	uint32_t	fetch_wait, data_wait;	/* of these */
	uint64_t	ip, data_addr, target;
	bool		data, load, missed;	/* data was accessed, and loaded; from beyond the L1D */
	bool		fetch_missed, branched, marked;
	uint8_t		branch, walks;		/* SIM_TAKEN ..., SIM_WALK_* */
};

/* NULL after pfm_refuse() with the reason; *err is negative errno then. */
struct sim_access *sim_access_new(const struct pfm_sim_access *source, int *err);
void sim_access_free(struct sim_access *access);
/* Accesses of the current thread of cpu; core is that CPU's. */
void sim_access_site(struct sim_cpu *cpu, struct cache_core *core, const struct sim_node *site,
		     struct sim_progress *progress, struct sim_executed *done);
void sim_access_replay(struct sim_cpu *cpu, struct cache_core *core, const struct tape_instr *instr,
		       struct sim_executed *done);
/* The stores in the CPU's buffer reach the caches, in no time. */
void sim_stores_drain(struct sim_cpu *cpu);

/* --- models: models.c ------------------------------------------------------------------- */

/* Software events, then what hardware counts; an index into the computer's event names. */
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
	SIM_EV_NEVER = SIM_MAX_EVENTS,	/* of encodings: what never happens here, so that 0 is its count */
};

enum { SIM_BY_CODE = 1, SIM_BY_OPCODE = 2, SIM_BY_DATA = 4, SIM_BY_MARK = 8 };

#define SIM_MAX_OTHERS 2

struct sim_encoding {
	uint32_t	code, mask;
	uint16_t	event;
	uint16_t	by;		/* what it can be restricted by, SIM_BY_*; MARK: what it is */
};

/*
 * What the codes in a model's PMCs count: event select in bits 0-7, unit mask from bit 8 (ARM: the event
 * number; others: as their file says). Unit masks matter where an encoding says so.
 */
/* What an address register keeps: misses of so many cycles and more, or walks. */
struct sim_ear {
	uint32_t	threshold;	/* SIM_NO_LATENCY: no misses */
	bool		walks;
};

struct sim_node;

/* What the bits of Itanium's address registers and branch buffer say: sampling/layout.c. */
struct sim_layout {
	/* What a PMC asks for: misses and walks; branches that are like that (SIM_TAKEN ...). */
	struct sim_ear	(*data)(uint64_t pmc), (*fetch)(uint64_t pmc);
	bool		(*branch)(uint64_t pmc, unsigned int branch);
	/* A miss, or a walk, into the PMDs besides the data's address. */
	void		(*put_data)(const struct sim_node *miss, bool walked, uint64_t *latency, uint64_t *ip);
	void		(*put_fetch)(const struct sim_node *miss, bool walked, uint64_t *addr, uint64_t *latency);
};
extern const struct sim_layout sim_layout_itanium, sim_layout_itanium2;

/* Where Itanium's address registers and branch buffer are: their PMC, PMDs, and the event that restrictions are of. */
struct sim_traces {
	struct {
		uint16_t pmc, addr, latency, ip, code;
	}		data;
	struct {
		uint16_t pmc, addr, latency, code;
	}		fetch;
	struct {
		uint16_t pmc, first, size, index, full, code;	/* full: the bit of index */
	}		branch;
	const struct sim_layout *layout;
};

/* Precise samples: of so many counters from PMD first on; bit and those after it of PMC enable switch them on. */
struct sim_pebs {
	uint16_t	enable, bit, first, num;
	uint16_t	record;		/* bytes; 0: it has none */
};

/* Marked instructions: these bits of the PMC mark them, the PMDs have the addresses of the last one and its data. */
struct sim_marking {
	uint64_t	on;		/* 0: there are none */
	uint16_t	pmc, ip, data;
};

/* Last branch records: so many pairs of PMDs from first on, the latest one's number in tos; their PMC. */
struct sim_lbr {
	uint16_t	pmc, tos, first, size;	/* size 0: there are none */
	uint64_t	on;		/* bits of the PMC without which nothing is kept */
	bool		selects;	/* the PMC leaves branches out; bit 63: one was predicted wrongly */
};

#define SIM_NO_LATENCY UINT32_MAX
struct sim_wanted;

struct sim_codes {
	const struct sim_encoding *encodings;	/* ended by one without a mask */
	uint64_t		mask;		/* of a code without its unit mask */
	uint16_t		cycle_counter;	/* PMD that counts nothing but cycles; 0: none */
	uint32_t		ctx_flags, set_flags;	/* of contexts and sets, besides the generic */
	bool			ia64;	/* chapter 5: flags, sum and rum */
	const struct sim_traces	*traces;	/* event address registers, branch buffer; or NULL */
	const struct cache_shapes *caches;	/* NULL: every access goes to memory */
	const struct pfm_pmu	*ht;		/* a logical processor's, with option ht; NULL: has none */
	/* Event code and levels of the PMC that controls counter pmd; false: it counts nothing. */
	bool	 (*decode)(const uint64_t *pmcs, unsigned int pmd, uint64_t *code, unsigned int *levels);
	uint64_t (*encode)(unsigned int pmd, uint64_t code, unsigned int levels);
	/* Can counter pmd count that code? Optional: any can. */
	bool	 (*takes)(unsigned int pmd, uint64_t code);
	/* Values of PMCs that counter pmd needs besides the one that controls it, SIM_MAX_OTHERS at most; optional. */
	unsigned int (*others)(unsigned int pmd, uint64_t code, unsigned int levels,
				struct pfm_sim_pmc *to);
	/* What is kept of single executions at a level, while counters run; *wanted keeps nothing. Optional. */
	void	 (*wanted)(const struct sim_cpu *cpu, unsigned int level, struct sim_wanted *wanted);
	/* Keeps the last of that, of n executions of node. Optional. */
	void	 (*trace)(struct sim_cpu *cpu, const struct sim_program *prog, const struct sim_node *node,
			  uint64_t n);
	struct sim_pebs	pebs;
	bool		ibs;			/* ibs.c: PMC4 and 5, PMD4-13 */
	struct sim_marking marking;
	struct sim_lbr	lbr;
	uint32_t	skid;			/* option skid=model */
	/* What a counter of code, programmed by pmc, leaves out; *f is all 0. Optional. */
	void	 (*filter)(const uint64_t *pmcs, uint64_t pmc, uint64_t code, struct sim_filter *f);
};

#define SIM_DECLARE_CODES(model) extern const struct sim_codes sim_codes_##model;
PFM_PMU_MODELS(SIM_DECLARE_CODES)

struct sim_model {
	const char		*name, *full_name;	/* "k8", "sim:k8" */
	const struct pfm_pmu	*pmu;
	const struct sim_codes	*codes;
};

const struct sim_model *sim_model_at(unsigned int i);	/* NULL after the last */
const struct sim_model *sim_model_find(const char *name);	/* "": the first; NULL: no such model */
/* The event of that name: an index, or negative errno, refused. */
int sim_event_find(struct pfm_sim *sim, const char *name);
const char *sim_event_name(const struct pfm_sim *sim, unsigned int event);
/* The events (bits) that a code counts. */
uint64_t sim_model_events(const struct pfm_sim *sim, uint64_t code);
bool sim_model_counts(const struct sim_model *model, unsigned int event);	/* has a code for it */
/* The code that has counter pmd count event, or negative errno, refused. */
int64_t sim_model_code(struct pfm_sim *sim, unsigned int event, unsigned int pmd);

/* --- software counters and virtual PMDs: software.c ------------------------------------- */

/* The hardware's registers and the software's together, for this computer; false without memory. */
bool sim_pmu_compose(struct pfm_pmu *pmu, const struct pfm_pmu *hw);
void sim_pmu_discard(struct pfm_pmu *pmu);
/* What a software counter counts; false: nothing. */
bool sim_software_decode(unsigned int pmd, uint64_t pmc, uint64_t *events, unsigned int *levels,
			 bool *time);

/* --- threads and CPUs ----------------------------------------------------------------------- */

struct sim_process {
	uint32_t		pid, ppid;
	unsigned int		threads;	/* alive */
	struct pfm_context	**reach;	/* contexts that it has descriptors of */
	unsigned int		num_reach, room_reach;
};

enum { SIM_FOLLOW_MINOR, SIM_FOLLOW_MAJOR, SIM_FOLLOW_SWITCHES, SIM_FOLLOWED };

/* A thread that follows one of the host: live.c. */
struct sim_follow {
	bool		on;
	bool		ended;		/* its model has ended; the thread ends when it has caught up */
	uint64_t	limit;		/* the thread may run until t->ran is that: its model has run as long */
	uint64_t	next;		/* t->ran when the next of events happens; SIM_NEVER: none is left */
	uint32_t	events[SIM_FOLLOWED];	/* still to happen */
	uint64_t	started, seen_ns, seen[SIM_FOLLOWED];	/* of its model, as last seen */
	uint64_t	held_ran, held_since;	/* its model has ended: t->ran, and in which round it was that first */
	int		life;		/* an event that stays with its model through exec(2), or -1 */
	void		*life_map;
};

struct sim_thread {
	struct pfm_sim		*sim;
	struct sim_process	*process;
	uint32_t		tid, uid, gid;
	enum pfm_sim_state	state;
	bool			kernel, idle;
	bool			block;		/* stop before the next site of user level */
	char			name[32];
	uint64_t		affinity;
	uint32_t		cpu;		/* runs or last ran on */
	bool			has_run;
	uint64_t		ran;		/* ns */
	uint64_t		wake_at;
	unsigned int		heap_at;	/* its place among the sleepers */
	struct sim_program	*prog;
	struct sim_cursor	cursor;
	struct sim_emergence	*emergence;	/* emerge.c: NULL until it is needed */
	struct pfm_context	*ctx;		/* attached */
	struct sim_thread	*next, *prev;	/* in the queue of those ready */
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

/* Stores that have been executed and have not reached the caches, the oldest first. */
struct sim_stores {
	uint32_t	num;
	unsigned int	level;		/* of the one that came last */
	struct sim_store {
		uint64_t	ip, addr;
		uint32_t	size;
	}		at[SIM_MAX_STORES];
};

struct sim_cpu {
	struct pfm_sim		*sim;
	uint32_t		num;
	struct sim_thread	*cur;		/* never NULL */
	struct sim_thread	idle;
	struct sim_process	idle_process;
	struct sim_program	*intr;		/* an interrupt's program runs on top of cur */
	struct sim_cursor	intr_cursor;
	struct sim_program	*below;		/* intr is the cost of an interrupt: the device's that it interrupted */
	struct sim_cursor	below_cursor;

	uint64_t		at;		/* its program has been run up to here */
	uint64_t		stop_at;	/* it can run up to here without a stop, if stop_known */
	bool			stop_known;
	bool			waiting;	/* an interrupt waits until they are unmasked */
	uint64_t		next;		/* when something happens on it */
	uint64_t		horizon;	/* nothing happens elsewhere before that */
	uint64_t		slice_end;

	struct pfm_context	*sys;		/* system-wide context bound to it */
	struct pfm_context	*ctx;		/* the context with its registers on the PMU */
	uint64_t		pmcs[PFM_MAX_PMCS], pmds[PFM_MAX_PMDS];
	struct sim_watch	watches[SIM_MAX_COUNTERS];
	unsigned int		num_watches;
	bool			watches_known;
	uint64_t		pending[PFM_PMD_BV];	/* wrapped, interrupt not yet taken */
	bool			is_pending;
	uint64_t		counted[PFM_PMD_BV];	/* edges: the last cycle counted */
	unsigned int		skid_left;
	uint64_t		ibs_fetches, ibs_ops;	/* towards the next sample */
	uint64_t		ibs_taken;	/* bits: PMDs that are due as soon as the site is over */
	unsigned int		unmarked;	/* instructions since the last marked one */
	uint64_t		last_tstamp;
	struct sim_tally	truth;
	struct sim_stores	stores;
};

/* The thread does something else, or leaves the CPU. */
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
	pthread_mutex_t		lock;		/* recursive; see lock.c */
	unsigned int		locked;		/* times, by the thread that has it */
	sigset_t		saved_signals;
	struct pfm_context	*inside;	/* the current command or call-back has this root's lock */
	unsigned int		refs;		/* atomic */

	uint32_t		num_cpus;
	uint64_t		tick, slice, timer, page_size, memlock;
	uint32_t		skid;
	bool			debugger;
	bool			ht;		/* CPUs 2k and 2k + 1 are the logical processors of one core */

	struct cache_shapes	shapes;
	uint32_t		shaped;		/* parts that options were about; and the predictor */
	bool			explain;
	struct cache_system	*caches;
	struct pfm_sim_site	*sites;		/* explain: that have accessed data */
	uint64_t		num_sites, room_sites;
	struct cache_blocks	site_of;	/* by address: its place in sites + 1 */
	struct cache_blocks	stored;		/* explain: by word of 8 bytes, the site that stored there last + 1 */
	struct cache_blocks	saw;		/* explain: by site, the store that its last load saw + 1 */
	uint32_t		store_buffer;	/* stores that a CPU's buffer holds; 0: there is none */
	uint64_t		interrupt_ns;
	struct sim_program	*interrupt_prog;	/* what an interrupt costs; NULL: nothing */
	char			notes[512];

	uint64_t		now;
	struct sim_cpu		*cpus;
	struct sim_thread	**threads;	/* by tid - SIM_FIRST_TID */
	unsigned int		num_threads, room_threads;
	struct sim_process	**processes;	/* in no order */
	unsigned int		num_processes, room_processes;
	struct sim_process	tool;
	struct sim_thread	*ready, *ready_last;
	struct sim_thread	**sleepers;	/* heap by wake_at, tid */
	unsigned int		num_sleepers;
	struct sim_device	*devices;
	struct sim_program	*idle_prog;

	struct sim_thread	*actor;		/* NULL: the tool */
	uint32_t		tool_cpu;

	uint16_t		counters[SIM_MAX_COUNTERS];	/* PMDs that count */
	unsigned int		num_counters;
	char			named[SIM_MAX_EVENTS - SIM_EV_NAMED][16];
	uint64_t		codes[SIM_MAX_EVENTS - SIM_EV_NAMED];
	unsigned int		num_named;
	uint64_t		posts;		/* messages posted so far */

	bool			live;		/* threads of the host are followed */
	char			live_name[40];	/* "sim:k8,live" */
	uint64_t		live_began;	/* ns of the host's clock */
	struct sim_program	*live_prog;
	struct pfm_sim		*live_next;
};

/* A context's simulated part, ctx->os. */
struct sim_ctx {
	struct sim_thread	*target;	/* per-thread */
	struct sim_cpu		*cpu;		/* system-wide */
	bool			running;	/* counters may run */
	bool			insecure;	/* sum and rum work (5.3) */
	bool			armed;
	uint64_t		deadline;	/* on the timer's clock, see sim_timer_clock() */
	uint64_t		excluded;	/* ns not monitored: the idle thread ran */
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
/*
 * Around a call-back into the core, on ctx, a root or a child context. False: ctx is NULL or its root has been
 * freed. The computer's lock may have been released meanwhile, so the caller must check again whether ctx is still
 * bound. ctx may have been freed at the end.
 */
struct sim_inside {
	struct pfm_context	*outer, *root;
};
bool sim_enter(struct pfm_sim *sim, struct pfm_context *ctx, struct sim_inside *in);
void sim_leave(struct pfm_sim *sim, const struct sim_inside *in);
void sim_publish(struct pfm_context *ctx);	/* machine.c: the active set's view; locked as by sim_enter() */

/* pmu.c: the PMU of a CPU. */
void sim_pmu_bind(struct sim_cpu *cpu, struct pfm_context *ctx);	/* NULL: no context */
void sim_pmu_changed(struct sim_cpu *cpu);	/* registers, owner, level of the current thread... */
void sim_pmu_watch(struct sim_cpu *cpu);	/* brings cpu->watches up to date */
void sim_pmu_store(struct sim_cpu *cpu);	/* cpu->watches to the registers; wraps become pending */
void sim_pmu_event(struct sim_cpu *cpu, unsigned int event, unsigned int level, uint64_t n);
bool sim_pmu_excludes(const struct sim_cpu *cpu);	/* the flags of the set: the current thread */
struct sim_cpu *sim_pmu_of(const struct pfm_context *ctx);	/* where its registers are; NULL */
/* 6.5: takes the PMU from a system-wide context that accepts it; gives it back when thread tid's context has let go. */
void sim_pmu_preempt(struct sim_cpu *cpu);
void sim_pmu_return(struct sim_cpu *cpu, uint32_t tid);
extern const struct pfm_bare_ops sim_bare_ops;

/* filter.c */
bool sim_filter_passes(const struct sim_filter *f, const struct sim_node *site);
bool sim_filter_passes_single(const struct sim_filter *f);	/* an event besides programs */
void sim_weigh(const struct sim_watch *w, const struct sim_program *prog, const struct sim_node *node,
	       struct sim_weight *weight);
uint64_t sim_weight_of(const struct sim_weight *weight, uint64_t n, bool counted);

/* sampling/trace.c: address registers and branch buffer of Itanium processors. */

/* What of one level is kept: by address registers, or as loads with a latency. */
struct sim_wanted {
	uint32_t	data, fetch;	/* cache misses of so many cycles and more */
	uint8_t		walks;		/* SIM_WALK_* */
	uint8_t		branches;	/* bits 1 << what they are like */
};
void sim_trace_wanted(const struct sim_cpu *cpu, unsigned int level, struct sim_wanted *wanted);
void sim_trace(struct sim_cpu *cpu, const struct sim_program *prog, const struct sim_node *node, uint64_t n);

/* sampling/lbr.c */
void sim_lbr_wanted(const struct sim_cpu *cpu, unsigned int level, struct sim_wanted *wanted);
void sim_lbr(struct sim_cpu *cpu, const struct sim_program *prog, const struct sim_node *node, uint64_t n);

/* sampling/branches.c: the last ones of n executions of node, of those that codes->wanted and filter let pass. */
struct sim_branches {
	struct sim_filter	filter;
	uint8_t			wanted[PFM_SIM_LEVELS];
	const struct sim_node	*found[SIM_BRANCHES];	/* the last one first */
	unsigned int		n;
};
void sim_last_branches(const struct sim_cpu *cpu, const struct sim_program *prog, const struct sim_node *node,
		       uint64_t n, struct sim_branches *b);

/* sampling/pebs.c: a counter wrapped; true if a record was all there was to do, and the counter was reloaded. */
bool sim_pebs_overflow(struct sim_cpu *cpu, struct sim_watch *w);

/* sampling/mark.c: are instructions marked; will the next one be; what the current thread executed, marked or not. */
bool sim_mark_on(const struct sim_cpu *cpu);
bool sim_mark_next(const struct sim_cpu *cpu);
void sim_mark(struct sim_cpu *cpu, struct sim_executed *done);

/* sampling/ibs.c */
bool sim_ibs_on(const struct sim_cpu *cpu);
/* What the current thread executed, in so many cycles; what was sampled of it is in cpu->ibs_taken. */
bool sim_ibs_sample(struct sim_cpu *cpu, const struct sim_executed *done, uint64_t cycles);
/* cpu.c */
void sim_cpu_predict(struct sim_cpu *cpu);
/* Runs up to sim->now; SIM_TIME there, or why it stopped at that very moment. */
enum sim_stop sim_cpu_run(struct sim_cpu *cpu);
void sim_cpu_sync(struct sim_cpu *cpu);		/* where no stop can lie before sim->now */
bool sim_cpu_irqs_off(const struct sim_cpu *cpu);
bool sim_cpu_interrupted(const struct sim_cpu *cpu);	/* by an overflow, not taken yet */
void sim_cpu_overflow(struct sim_cpu *cpu);	/* takes the pending interrupt */
void sim_cpu_handle(struct sim_cpu *cpu);	/* everything that is due on it now */
uint64_t sim_cpu_next(struct sim_cpu *cpu);	/* when that will be the case again */
uint64_t sim_cpu_timer_at(struct sim_cpu *cpu);	/* when the set timeout expires, or SIM_NEVER */
uint64_t sim_timer_clock(const struct pfm_context *ctx);
void sim_where(struct pfm_context *ctx, struct pfm_where *where);

/* The address of the site that was executed last; and that site, as emerge.c executed it if it did. */
uint64_t sim_cpu_ip(const struct sim_cpu *cpu);
const struct sim_node *sim_cpu_site(const struct sim_cpu *cpu);

void sim_cpu_account(struct sim_cpu *cpu, uint64_t ns);	/* its program has run so much further */
uint64_t sim_cpu_due(struct sim_cpu *cpu);	/* when something happens on it besides its program */

/* emerge.c */
extern const uint8_t sim_emerging[CACHE_EVENTS];	/* the enum sim_event of each enum cache_event */
/*
 * Executes the sites that the current thread is at, as long as nothing else can happen, up to cpu->horizon at most, and
 * moves time along. A site that is not over by then, or that must be counted by itself, is left for the cursor. True if
 * a counter wrapped.
 */
bool sim_emerge(struct sim_cpu *cpu);
void sim_emergence_free(struct sim_thread *t);
/* What the site that emerged last came to be: one at which a counter wrapped, at least. */
const struct sim_node *sim_emerged(const struct sim_thread *t);

/* caches.c */
bool sim_caches_make(struct pfm_sim *sim);	/* false without memory */
uint32_t sim_num_cores(const struct pfm_sim *sim);
struct cache_core *sim_core_of(const struct pfm_sim *sim, uint32_t cpu);	/* once there are caches */
void sim_caches_free(struct pfm_sim *sim);
void sim_explain_add(struct pfm_sim *sim, uint64_t ip, enum cache_kind kind, int cause, uint32_t wait);
/* With explain: site ip has stored at addr, for all to see; has loaded from there; has loaded what site from stored. */
void sim_explain_store(struct pfm_sim *sim, uint64_t ip, uint64_t addr);
void sim_explain_load(struct pfm_sim *sim, uint64_t ip, uint64_t addr);
void sim_explain_forward(struct pfm_sim *sim, uint64_t ip, uint64_t from);

/* sched.c */
void sim_sched_ready(struct sim_thread *t);	/* it can run; finds it a CPU that idles, or queues it */
void sim_sched_leave(struct sim_thread *t, enum pfm_sim_state state);	/* it runs or is ready, and stops to be */
void sim_sched_rotate(struct sim_cpu *cpu);	/* to the next that waits for this CPU, if any */
bool sim_sched_contended(const struct sim_cpu *cpu);
uint64_t sim_sched_slice_at(const struct sim_cpu *cpu);	/* the next end of a slice at which a thread waits */
void sim_sched_sleep(struct sim_thread *t, uint64_t until);
void sim_sched_unsleep(struct sim_thread *t);
void sim_sched_wake(struct pfm_sim *sim);	/* wakes the threads that have slept long enough */
uint64_t sim_sched_wake_at(const struct pfm_sim *sim);

/* thread.c */
struct sim_thread *sim_thread_find(struct pfm_sim *sim, uint32_t tid);	/* NULL: none */
int sim_thread_new(struct pfm_sim *sim, struct sim_process *parent, struct sim_process *process,
		   const struct sim_thread *model, struct sim_program *prog, struct sim_thread **out);
void sim_thread_exit(struct sim_thread *t);
void sim_thread_op(struct sim_cpu *cpu, const struct sim_node *node);
bool sim_process_reaches(const struct sim_process *p, const struct pfm_context *ctx);
int sim_process_reach(struct sim_process *p, struct pfm_context *ctx);
void sim_process_unreach(struct sim_process *p, struct pfm_context *ctx);
struct sim_process *sim_process_find(struct pfm_sim *sim, uint32_t pid);
void sim_threads_free(struct pfm_sim *sim);

/* record.c: passes what t did now to the contexts of t and of its CPU. */
void sim_record(struct sim_thread *t, struct pfm_record *rec);

/* live.c */
int sim_live_init(struct pfm_sim *sim);
void sim_live_publish(struct pfm_sim *sim);
void sim_live_begin(void);		/* around every command, with no lock held */
void sim_live_end(void);
void sim_live_forget(void);		/* in a child after fork */
void sim_live_loaded(struct pfm_sim *sim, int change);	/* a context more (1) or fewer (-1) */
/* With the computer's lock held. The simulated thread of thread tid of the host; ESRCH. */
int sim_live_thread(struct pfm_sim *sim, uint32_t tid, struct sim_thread **out);
uint64_t sim_live_at(const struct sim_cpu *cpu);	/* when the current thread has an event or has caught up */
void sim_live_due(struct sim_cpu *cpu);

/* time.c: one moment on, at most to limit. False when limit is reached. */
bool sim_advance(struct pfm_sim *sim, uint64_t limit);
void sim_sync_all(struct pfm_sim *sim);

/* options.c: "key=value,...", those of first and then the others, into sim; negative errno, refused. */
int sim_options_parse(struct pfm_sim *sim, const char *first, const char *options);
int sim_options_set(struct pfm_sim *sim, const char *key, uint64_t value);
void sim_options_note(struct pfm_sim *sim);	/* writes sim->notes */

/* machine.c */
extern const struct pfm_machine_ops sim_machine_ops;
extern const struct pfm_stack_ops sim_stack_ops;	/* stack.c */

/* new.c */
void sim_get(struct pfm_sim *sim);
void sim_put(struct pfm_sim *sim);

#endif
