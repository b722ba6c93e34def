/* SPDX-License-Identifier: MIT */
/*
 * harness.h - what the programs that put libperfmon under load share: choices from a seed or from a
 * fuzzer's bytes, random simulated programs, allocations that fail on demand, and the rules that
 * hold between any two calls. They are linked with the library's objects and see its insides.
 */
#ifndef LPFM_HARNESS_H
#define LPFM_HARNESS_H

#define PFM_NO_MMAP_REDIRECT
#include "desc.h"
#include "sim/sim.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* --- choices: harness.c --------------------------------------------------------------------- */

/* From a seed; or, where data is not NULL, from these bytes, and nothing but 0 when they are spent. */
struct rng {
	uint64_t	state;
	const uint8_t	*data;
	size_t		left;
};

uint64_t rng_next(struct rng *r);
uint32_t rng_below(struct rng *r, uint32_t n);			/* 0 .. n - 1 */
bool rng_chance(struct rng *r, uint32_t percent);
uint64_t rng_log(struct rng *r, uint64_t min, uint64_t max);	/* all magnitudes alike */

/* --- failing: harness.c --------------------------------------------------------------------- */

/* Says what went wrong and where, and ends the program. The program sets where. */
extern const char *(*fail_where)(void);
void fail(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
#define CHECK(cond, ...) do { if (!(cond)) fail(__VA_ARGS__); } while (0)

/* --- allocations: harness_alloc.c, linked with --wrap ----------------------------------------- */

extern long alloc_live;		/* blocks, buffers and descriptors not yet given back */
extern long alloc_made;		/* attempts since alloc_fail_at() */
/* The nth attempt from now, from 0, fails; -1: none does. */
void alloc_fail_at(long nth);
/*
 * All contexts are closed: what the service thread still has in hand goes when it wakes for another
 * one, and base is left, as it was with the machine "sim" and no context yet. Fails if not.
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
	bool		interrupt;	/* a device's: it ends, and has sites and loops of INTR only */
};

/* The events that programs have and all models count. */
extern const char *const program_events[];
#define NUM_PROGRAM_EVENTS 6

/* The name of one of the models, "sim:k8", or with an option of its own, "sim:em64t,ht"; until the next one. */
const char *program_model(struct rng *r);

/* A random program; it stays where it is until the pool is used again from used = 0. */
const struct pfm_sim_program *program_make(struct program_pool *pool);

/* --- rules: harness_rules.c, harness_sets.c --------------------------------------------------- */

/* The context behind a descriptor; fails if there is none. */
extern unsigned long world_child_ctxs;	/* of contexts with PFM_FL_INHERIT, that were looked at */
struct pfm_context *context_of(int fd);
/* The sets of a context, their registers, thresholds and timeouts fit together. */
void rules_sets(struct pfm_context *ctx);
/* So do they with its state and its computer. */
void rules_context(struct pfm_context *ctx);
/* Sessions, memory and CPUs of a computer fit the contexts that are open on it. */
void rules_machine(struct pfm_sim *sim, struct pfm_context *const *open, unsigned int n);

#endif
