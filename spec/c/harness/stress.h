/* SPDX-License-Identifier: MIT */
/*
 * stress.h - a world of random programs, which random contexts monitor, and a ledger.
 *
 * The ledger computes by itself what every counter of every set must hold. It sees what the core
 * tells the machine (counters run, are held, a set is installed), and asks the simulated computer,
 * not its PMU, which events really happened.
 */
#ifndef LPFM_STRESS_H
#define LPFM_STRESS_H

#include "harness.h"

#define MAX_LEDGERS	8
#define NUM_IDS		5		/* set ids in use, see set_ids */
#define MAX_COUNTERS	32
#define QUEUE		16
#define EVENT_TIME	(-1)

enum format { FMT_NONE, FMT_2X, FMT_06, FMT_NWAY, FMT_WILD };

struct counter {
	bool		on;		/* the counter's PMC counts something */
	bool		narrow;		/* NO_EMUL64 */
	int		event;
	unsigned int	levels;
	uint64_t	expect;		/* the value that the counter must have */
	uint64_t	mark;		/* the truth's count when expect was computed */
	bool		owed;		/* the counter wrapped, and the overflow is still to come */
};

struct led_set {
	bool		exists, pmcs_known;
	uint64_t	pmcs[PFM_MAX_PMCS];	/* written values of the counters' PMCs */
	struct counter	counters[MAX_COUNTERS];
	uint64_t	duration;
	uint64_t	runs;
	uint64_t	slice;		/* time active and counting since its timeout was set */
};

struct ledger {
	int			fd;
	struct pfm_context	*ctx;
	enum format		format;
	size_t			map_size;
	void			*map;
	bool			live;	/* the core lets the counters run */
	uint64_t		time_mark, wall_mark;
	struct led_set		sets[NUM_IDS];
	pfarg_msg_t		queue[QUEUE];
	unsigned int		queued;
	bool			closed;	/* the messages can no longer be read */
};

struct world {
	struct rng		rng;
	uint64_t		seed, step;
	struct pfm_sim		*sim;
	struct program_pool	pool;
	uint16_t		pmds[MAX_COUNTERS];	/* counters that are used */
	unsigned int		num_pmds;
	struct ledger		ledgers[MAX_LEDGERS];
	unsigned int		num_ledgers;
	/* percentage of contexts that are system-wide; loaded ones exclude per-thread ones */
	uint32_t		system_wide;
	/* how much happened, for the summary */
	uint64_t		overflows, switches, samples, messages, calls, refused, ctxsw, counting;
};

extern struct world world;
extern const uint16_t set_ids[NUM_IDS];

/* --- stress_ledger.c ------------------------------------------------------------------------ */

struct ledger *ledger_find(const struct pfm_context *ctx);	/* NULL: not of this world */
int ledger_index(uint16_t pmd);					/* in world.pmds; -1: none */
struct led_set *ledger_set(struct ledger *l, uint16_t id);
void ledger_sync(struct ledger *l);
void ledger_mark(struct ledger *l);
bool counter_equal(const struct counter *c, uint64_t value);
/* Reads all that calls return, and compares; returns false if no call is allowed now. */
bool ledger_compare(struct ledger *l);

/* --- stress_hooks.c ------------------------------------------------------------------------- */

void hooks_install(struct pfm_sim *sim);
extern pfm_buffer_fmt_t wild_format;

/* --- stress_registers.c --------------------------------------------------------------------- */

/* s: an index of set_ids; i: of world.pmds. */
void write_pmc(struct ledger *l, unsigned int s, unsigned int i);
void write_pmd(struct ledger *l, unsigned int s, unsigned int i);
void write_some(struct ledger *l);
void create_set(struct ledger *l, unsigned int s);
void change_sets(struct ledger *l);

/* --- stress_calls.c: one random thing ------------------------------------------------------- */

void random_step(void);
/* Returns true if a call succeeded; fails if its error is none that the call can have. */
bool went(int ret, const char *what);
/* Returns an existing set of l, as an index of set_ids. */
unsigned int any_set(const struct ledger *l);
struct ledger *context_new(void);
void context_close(struct ledger *l);

#endif
