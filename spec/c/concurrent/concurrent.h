/* SPDX-License-Identifier: MIT */
/*
 * concurrent.h - the core called by several threads: some play CPUs, which deliver overflows,
 * timeouts, context switches and ends of threads at any time; others give commands. Their machine
 * keeps to the rules of core/machine.h as perfmon.ko does: access() holds a lock, and each command
 * another one, the file's.
 */
#ifndef LPFM_CONCURRENT_H
#define LPFM_CONCURRENT_H

#include <pthread.h>
#include <stdatomic.h>

#include "core.h"
#include "harness.h"

#define NUM_CPUS	2		/* threads that interrupt */
#define NUM_COMMANDERS	3		/* threads that give commands */
#define NUM_TARGETS	3		/* threads to monitor: 1 .. */
#define TARGET_WITH_FD	2		/* this thread has the contexts' descriptors, too */
#define NUM_FILES	5
#define NUM_CHILD_CTXS	12		/* at the most, of all contexts */
#define NUM_COUNTERS	24
#define NUM_PMDS	110		/* numbers below this one */
#define NUM_IDS		6
#define QUEUE_ROOM	16
#define PART_ROOM	4

extern const uint16_t set_ids[NUM_IDS];

/* The values that a set must have, computed without the core. */
struct set_ledger {
	uint64_t	value[NUM_PMDS];
	uint64_t	runs, duration, lost, throttled;
};

/* How the command in progress uses registers, for the ledger. */
enum doing { DOING_NOTHING, DOING_WRITE, DOING_READ, DOING_INFO, DOING_RESTART };

/* A context's file and its part of the machine, as struct lx_context is. */
struct file {
	pthread_mutex_t		lock;	/* around commands; a child context uses its root's */
	struct file		*root;		/* in a child context: the root, with a reference */
	struct pfm_context	*ctx;		/* under lock; NULL: closed */
	atomic_int		refs;
	bool			tally;		/* the format is one of concurrent_format.c */
	enum doing		doing;		/* under lock */

	pthread_mutex_t		pmu;		/* access(); all that follows is under it */
	const struct me		*inside;	/* the thread that has locked pmu */
	bool			attached, lost, scheduled_in, running, armed, is_pending, coming_in;
	uint64_t		timeout, ran, mark;
	uint32_t		target;
	atomic_bool		held;		/* PFM_FL_NOTIFY_BLOCK */
	struct pfm_set		*installed;
	/* the set that was installed before one that could not be, until it comes back */
	struct pfm_set		*displaced;
	bool			on[NUM_PMDS];	/* the counter is on the PMU */
	uint64_t		counts[NUM_PMDS], seen[NUM_PMDS];
	uint64_t		pending[PFM_PMD_BV];
	struct set_ledger	ledger[NUM_IDS];
	unsigned int		posts, signals;	/* messages and signals that the core has sent */
	/* counts that the format makes for one overflow */
	unsigned int		handled, wants_notify, wants_mask;

	pthread_mutex_t		read_lock;
	pfarg_msg_t		queue[QUEUE_ROOM];
	atomic_uint		head, tail;
	struct {		/* PFM_FL_INHERIT with a format: of each part of the buffer */
		pfarg_msg_t	queue[PART_ROOM];
		uint32_t	fills[PART_ROOM];
		atomic_uint	head, tail;
	} parts[NUM_CPUS];
	atomic_ulong		judged;		/* overflows that the format handled */
};

/* The calling thread. */
struct me {
	struct rng	rng;
	uint32_t	tid, cpu;
	bool		scarce;		/* the thread's commands often find no counter free */
	/* the file with the PMU context that the thread is in; or NULL */
	struct file	*inside;
};
extern _Thread_local struct me me;

enum command {
	CREATE, CLOSE, WRITE_PMCS, WRITE_PMDS, READ_PMDS, LOAD, UNLOAD, START, STOP, RESTART, CREATE_SETS,
	DELETE_SETS, GETINFO_SETS, GETINFO_REGS, CONFIG, FORMATS, READ_MESSAGES, LOOK_AT_BUFFER,
	NUM_COMMANDS
};

/* How often each of these happened, for the summary. */
struct tally {
	atomic_ulong	ok[NUM_COMMANDS], refused[NUM_COMMANDS];
	atomic_ulong	overflows, timeouts, switches, ctxsw, messages, ends, taken, masked, blocked;
	atomic_ulong	throttled, grown, absent, child_ctxs, sampled, taken_away;
};
extern struct tally tally;
extern struct pfm_machine machine;
extern atomic_bool over;		/* the commands of this world are done */

/* --- concurrent_os.c ------------------------------------------------------------------------ */

extern atomic_long allocated;		/* blocks that are not given back */

/* --- concurrent_files.c --------------------------------------------------------------------- */

struct file *file_new(void);
static inline pthread_mutex_t *lock_of(struct file *f)
{
	return f->root ? &f->root->lock : &f->lock;
}
struct file *file_get(unsigned int at);		/* with a reference; NULL: none is open there */
bool file_publish(unsigned int at, struct file *f);	/* false: the place is taken */
void file_put(struct file *f);
void file_close(unsigned int at, struct file *f);	/* with the caller's reference */
void file_release(struct file *f);
/* A file is watched while it is attached: threads that interrupt pick from the watched files. */
bool watch(struct file *f);	/* false: there are too many child contexts */
void unwatch(struct file *f);
struct file *file_pick_attached(void);		/* with a reference; NULL: none is attached */
/* Returns how many messages there were. f->lock is held, or the context is closed. */
int file_take_messages(struct file *f, int max);

/* --- concurrent_machine.c ------------------------------------------------------------------- */

void machine_new(void);
void pmu_lock(struct file *f);
void pmu_unlock(struct file *f);
/* Collects the counters, and delivers those that wrapped. Called in PMU context. */
void settle(struct file *f);

/* --- concurrent_ledger.c: in PMU context, or not loaded --------------------------------------- */

struct set_ledger *ledger_of(struct file *f, uint16_t id);
void ledger_forget(struct file *f, uint16_t id);
void ledger_begin(struct file *f);
/* Must be called when a set leaves the PMU, and when one is installed on it. */
void ledger_leave(struct file *f);
void ledger_enter(struct file *f, struct pfm_set *set);
/* Must be called after each part of a command. */
void ledger_follow(struct file *f);
void ledger_told(struct file *f, bool held);
void ledger_overflow(struct file *f, const uint64_t *wrapped, const struct pfm_where *where);

/* --- concurrent_interrupts.c ------------------------------------------------------------------ */

void interrupt_somebody(void);

/* --- concurrent_format.c ---------------------------------------------------------------------- */

extern pfm_buffer_fmt_t tally_format, driven_format, visitor_format;

/* --- concurrent_commands.c, concurrent_registers.c, concurrent_growth.c ----------------------- */

/* Returns true if a command succeeded; checks that it fails only with an error that it can have. */
bool went(enum command c, int ret);
uint16_t any_id(void);
/* Must be called before a command that the ledger follows, and after it. */
void begin_doing(struct file *f, enum doing doing);
void end_doing(struct file *f, enum command c, int ret);
void write_pmcs(struct file *f);
void write_pmds(struct file *f);
void read_pmds(struct file *f);
void random_command(void);
/* The life of a context: its sets grow while they are switched. */
void growing_life(void);

#endif
