/* SPDX-License-Identifier: MIT */
/*
 * harness.h - for programs that put libperfmon under load: choices from a seed or a fuzzer's bytes,
 * random simulated programs, allocations that fail on demand, and the rules that hold between any
 * two calls. The programs are linked with the library's objects and see its insides.
 */
#ifndef LPFM_HARNESS_H
#define LPFM_HARNESS_H

#define PFM_NO_MMAP_REDIRECT
#include "desc.h"
#include "sim/sim.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* --- choices: harness.c --------------------------------------------------------------------- */

/* Choices from a seed or, if data is not NULL, from these bytes, then 0 only. */
struct rng {
	uint64_t	state;
	const uint8_t	*data;
	size_t		left;
};

uint64_t rng_next(struct rng *r);
uint32_t rng_below(struct rng *r, uint32_t n);			/* 0 .. n - 1 */
bool rng_chance(struct rng *r, uint32_t percent);
uint64_t rng_log(struct rng *r, uint64_t min, uint64_t max);	/* all magnitudes equally often */

/* --- failing: harness.c --------------------------------------------------------------------- */

/* Prints what went wrong and where, and ends the program. The program sets fail_where. */
extern const char *(*fail_where)(void);
void fail(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
#define CHECK(cond, ...) do { if (!(cond)) fail(__VA_ARGS__); } while (0)

/* --- allocations: harness_alloc.c, linked with --wrap ----------------------------------------- */

extern long alloc_live;		/* blocks, buffers and descriptors not yet given back */
extern long alloc_made;		/* attempts since alloc_fail_at() */
/* The nth attempt from now, from 0, fails; -1: none does. */
void alloc_fail_at(long nth);
/*
 * Must be called when all contexts are closed. Wakes the service thread, which frees what it still
 * has; fails unless alloc_live becomes base, its value on machine "sim" before the first context.
 */
void alloc_settle(long base);

/* --- simulated programs: harness_program.c ---------------------------------------------------- */

#define PROGRAM_STEPS	32
#define PROGRAM_POOL	8

struct program {
	struct pfm_sim_step	steps[PROGRAM_STEPS];
	struct pfm_sim_event	events[PROGRAM_STEPS][2];
	struct pfm_sim_program	prog;
};

struct program_pool {
	struct rng	*rng;
	struct program	programs[PROGRAM_POOL];
	unsigned int	used;
	bool		kernel;		/* no user level */
	bool		irqs_off;	/* sites may mask interrupts */
	/* a device's program: it ends, and has only sites and loops of level INTR */
	bool		interrupt;
};

/* The events that programs have and all models count. */
extern const char *const program_events[];
#define NUM_PROGRAM_EVENTS 6

/* Returns a model, such as "sim:k8" or "sim:em64t,ht", which is valid until the next call. */
const char *program_model(struct rng *r);

/* Returns a random program, which is valid until pool->used is set to 0. */
const struct pfm_sim_program *program_make(struct program_pool *pool);

/* --- rules: harness_rules.c, harness_sets.c --------------------------------------------------- */

extern unsigned long world_child_ctxs;	/* child contexts that were looked at */
/* Returns the context of a descriptor; fails if there is none. */
struct pfm_context *context_of(int fd);
/* Checks that a context's sets, their registers, thresholds and timeouts fit together. */
void rules_sets(struct pfm_context *ctx);
/* Checks that a context's sets, its state and its computer fit together. */
void rules_context(struct pfm_context *ctx);
/* Checks that sessions, memory and CPUs of a computer fit the contexts that are open on it. */
void rules_machine(struct pfm_sim *sim, struct pfm_context *const *open, unsigned int n);

#endif
