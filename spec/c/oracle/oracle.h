/* SPDX-License-Identifier: MIT */
/*
 * oracle.h - compares random lives of contexts on simulated computers with a model of perfmon that
 * was written from the specification's text alone. The model shares no code with kernel/core: it
 * has its own counters, periods, resets, masks, messages and buffers. Each value that a call
 * returns must be the model's. If the text leaves something open, the model does what
 * spec/coverage.md and perfmon.h say.
 *
 *   oracle.c	      the command line
 *   oracle_life.c    a life: random commands, each compared with what the model expects
 *   oracle_registers.c  random programming of registers
 *   oracle_checks.c  compares registers, sets, messages and buffers
 *   oracle_model.c   what commands do to the model
 *   oracle_overflow.c  what events, overflows and timeouts do to the model
 *   oracle_format.c  the default format's buffer byte by byte, and a format with all control flags
 *   oracle_world.c   the computer: models, registers in use, programs; which threads ran
 *
 * The model does not schedule: the computer runs in windows of one microsecond, all programs step
 * on that grid, and pfm_sim_threads() tells which thread of each CPU ran. From that the model
 * computes what contexts must have.
 */
#ifndef LPFM_ORACLE_H
#define LPFM_ORACLE_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "perfmon/perfmon.h"
#include "perfmon/sim.h"
#include "user/fmt.h"

#define WINDOW		1000	/* ns */
#define MAX_PLAN	11	/* PMDs in use: 6 counters, 2 others, 3 of software */
#define MAX_SETS	5
#define MAX_EVENTS	8
#define MAX_THREADS	400	/* with children: 4 rounds of 5, each with 3 rounds of 5 */
#define MAX_CTXS	3
#define MAX_QUEUE	16
#define MAX_STEPS	12
#define MAX_PMCS	8
#define MAX_BUF		8192

/* --- the computer ----------------------------------------------------------------------------- */

struct plan_pmd {
	uint16_t	num;
	bool		counts;
	unsigned int	width;
	unsigned int	ctrl;		/* PMC */
	bool		narrow;		/* the PMD knows NO_64BIT_EMUL */
	bool		software; /* counts all its events; levels: PMC bits 3 (user), 0 (kernel) */
	int		num_events, events[32];	/* indexes of world.names */
};

struct site {
	unsigned int	ns, level;
	uint64_t	ip, counts[MAX_EVENTS];
};

struct program;

struct step {
	enum pfm_sim_op	op;		/* SITE, FORK, THREAD */
	struct site	site;
	struct program	*child;
};

struct program {
	int		num_steps;
	uint64_t	rounds;		/* 0: without end */
	struct step	steps[MAX_STEPS];
	int		depth;
};

struct context;

struct thread {
	uint32_t	tid, pid;
	uint16_t	cpu;
	bool		dead, ready;		/* ready: the thread waits for its CPU */
	struct program	*program;
	int		pc;
	uint64_t	round, left, ran;	/* left: ns left of the present site */
	uint64_t	ip;			/* address of the present or last site */
	struct context	*ctx;			/* the thread's context, or that one's root */
	struct monitor	*heir;			/* INHERIT: the thread's own sets in ctx */
};

/* Kinds of contexts: of threads, of a CPU, of a thread and its children. */
enum life_kind { THREADS, WIDE, FAMILY };

struct world {
	enum life_kind	kind;
	char		model[40];
	struct pfm_sim	*sim;
	unsigned int	cpus, skid;
	uint64_t	now;
	int		num_impl;		/* PMDs of the model */
	int		num_plan;
	struct plan_pmd	plan[MAX_PLAN];
	int		num_events;
	char		names[MAX_EVENTS][32];
	bool		all_or_none, or_shared;	/* how PMCs are shared */
	int		num_threads;
	struct thread	threads[MAX_THREADS];
	struct thread	*last[2];		/* the last that ran, by CPU */
	struct program	programs[64];
	int		num_programs;
	jmp_buf		tie;	/* ends a life: the specification leaves open what follows */
};

extern struct world world;

void world_new(const char *model, enum life_kind kind);
void world_end(void);
struct thread *world_spawn(struct program *program, uint16_t cpu);
struct program *world_program(int depth, uint64_t rounds);
void world_run(unsigned int windows);
void world_dies(struct thread *t);

/* --- the model -------------------------------------------------------------------------------- */

struct reg {
	uint64_t	value, last, long_reset, short_reset, random_mask;
	uint32_t	random;		/* the next of its random numbers */
	uint32_t	flags;
	uint64_t	thres, left;
	uint32_t	reset, smpl;	/* bits: indexes of the plan */
	uint64_t	eventid;
	bool		pending;	/* overflowed, and not reset since */
	int		event;		/* -1: none */
	unsigned int	levels;
	bool		narrow;
	uint64_t	others;		/* INHERIT: counted by ended threads */
	uint64_t	base;		/* in a child: part of the value that is not in the sum */
};

struct set {
	uint16_t	id, next_id;
	uint32_t	flags;
	uint64_t	timeout, left, runs, duration;
	uint64_t	others_runs, others_duration;	/* INHERIT: of ended threads */
	uint32_t	switched;	/* set_ovfl_pmds */
	struct reg	regs[MAX_PLAN];
};

/* The sets of a thread or CPU: a context has one, and one for each thread that inherits it. */
struct monitor {
	struct set	sets[MAX_SETS];	/* by id */
	int		num_sets, active;
	bool		masked;
	uint32_t	due;		/* PMDs that caused a deferred switch */
	bool		interrupted; /* a hardware counter has wrapped; its interrupt will come */
	unsigned int	skid;		/* sites until the interrupt comes */
	uint32_t	overflowed;	/* PMDs that wrapped at 64 bits, not yet handled */
};

enum kind { NO_FORMAT, DEFAULT_2X, DEFAULT_06, CONTROL, KINDS };

struct context {
	int		fd;		/* -1: there is none */
	uint32_t	flags;
	enum kind	kind;
	uint32_t	dfl_flags;
	struct thread	*owner;		/* the thread that commands it; NULL: the tool */
	bool		shared[MAX_THREADS];	/* the thread has the descriptor, too */
	struct thread	*target;
	bool		loaded, started, blocked;
	struct monitor	m;

	unsigned int	depth, queued;
	pfm_msg_t	queue[MAX_QUEUE];

	unsigned char	buf[MAX_BUF];	/* the buffer as it must be */
	size_t		buf_size, map_size;
	const unsigned char *map;
	bool		full, full_told;
	uint64_t	seed, calls, told;	/* CONTROL: calls made in the model, and in fact */
	int		heirs;			/* INHERIT: living threads */
	int		first;	/* INHERIT: the next thread's first set; -1: the active set */
	struct monitor	*ended[MAX_THREADS];	/* those of ended threads, in order */
	int		num_ended;
};

struct where {
	struct thread	*thread;
	uint64_t	ip;
};

/* What a format's handler or the lack of one decides about an overflow. */
struct verdict {
	bool		notify, mask, block;
	uint32_t	reset;		/* PMDs to reset at once; bits: indexes of the plan */
};

extern struct context contexts[MAX_CTXS];

void model_new(struct context *c);
struct set *model_active(struct monitor *m);
int model_find(const struct monitor *m, uint16_t id);
bool model_has_period(const struct context *c, const struct set *s, int i);
bool model_is_broken(const struct monitor *m);
struct set *model_insert(struct monitor *m, uint16_t id);
void model_switch(struct context *c, struct monitor *m, int to, bool is_long);
int model_next(const struct monitor *m);
void model_reset(struct set *s, uint32_t regs, bool is_long);
uint32_t model_chain(const struct set *s, uint32_t regs);
uint32_t model_pending(const struct set *s);
void model_post(struct context *c, const pfm_msg_t *msg, bool *lost);

int model_load(struct context *c, struct thread *t, uint16_t set);
int model_unload(struct context *c);
int model_start(struct context *c, const uint16_t *set);
int model_stop(struct context *c);
int model_restart(struct context *c);
void model_write(struct context *c, struct set *s, int i, const pfarg_pmd_t *d);
void model_read_reset(struct context *c, struct set *s, int i);
void model_exit(struct thread *t);
void model_birth(struct thread *parent, struct thread *child);

/*
 * model_interrupt() takes the interrupt that is due for the thread's monitor, as of `ago` ns before
 * now. model_interrupts() takes those that are due for a context, on each CPU. An interrupt comes
 * after `skid` sites, or before a timeout, a fork, a command, the thread's end, or a switch to
 * another thread.
 */
void model_interrupt(struct thread *t, uint64_t ago);
void model_interrupts(const struct context *c);
/* The thread runs for ns, at most to the end of its present site. */
void model_runs(struct thread *t, uint64_t ns);

void format_new(struct context *c);
void format_handle(struct context *c, struct set *s, uint32_t ovfl, const struct where *at, struct verdict *v);
/* Returns an errno, or 0 and what the format asks for. */
int format_restart(struct context *c, bool is_active, bool *reset, bool *mask);
void format_begin(void);
void format_end(void);
struct control_arg { uint64_t seed, size; };
extern unsigned int format_depth;	/* of CONTROL's queue */
void format_check(struct context *c);

/* --- the checks ------------------------------------------------------------------------------- */

extern uint64_t compared, commands, overflows, told, switched, restarts, births, handled;
extern bool tracing;

uint64_t hash(uint64_t seed, uint64_t n);
uint32_t rnd(uint32_t n);		/* 0 .. n - 1 */
bool chance(uint32_t percent);
void trace(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints the life's seed and what differs, and ends the program. */
void differs(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

#define SAME(is, wanted, ...) do { \
	uint64_t is_ = (uint64_t)(is), wanted_ = (uint64_t)(wanted); \
	compared++; \
	if (is_ != wanted_) { \
		trace(__VA_ARGS__); \
		differs("%s:%d: %s is %#llx, the model has %#llx", __FILE__, __LINE__, #is, \
			(unsigned long long)is_, (unsigned long long)wanted_); \
	} \
} while (0)

void check_all(struct context *c);
void check_registers(struct context *c);
void check_sets(struct context *c);
void check_buffer(struct context *c);
bool check_message(struct context *c);
void check_states(void);
void acting(const struct context *c);
/* Makes a call that changes nothing, so that an interrupt that is to come comes before it. */
void take_interrupt(struct context *c);

/* --- lives ------------------------------------------------------------------------------------ */

/* Compares a call's result with the errno that the model has for it; 0: success. */
void expect(int result, int wanted, const char *what);

void write_pmds(struct context *c);
void read_reset(struct context *c);
void write_pmcs(struct context *c, struct set *s, bool narrow);
/* Writes all registers of a new set. */
void furnish(struct context *c, struct set *s);

void life(const char *model, unsigned int steps);

#endif
