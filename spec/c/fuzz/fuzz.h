/* SPDX-License-Identifier: MIT */
/*
 * fuzz.h - the target of the fuzzer: bytes become calls on simulated computers.
 *
 * The same bytes must mean the same to every compiler: no expression, argument list or initializer
 * takes more than one choice.
 */
#ifndef LPFM_FUZZ_H
#define LPFM_FUZZ_H

#include "harness.h"

#define FUZZ_CONTEXTS	4

struct fuzz {
	struct rng		rng;
	struct program_pool	pool;
	struct pfm_sim		*sim;
	int			fd[FUZZ_CONTEXTS];	/* -1: none */
	void			*map[FUZZ_CONTEXTS];
	size_t			map_size[FUZZ_CONTEXTS];
	uint64_t		time_left;		/* simulated ns that may still pass */
};
extern struct fuzz fuzz;

/* These make a call that the bytes choose: a pfm_*() one (fuzz_calls.c), or perfmonctl(). */
void fuzz_call(void);
void fuzz_perfmonctl(void);

/* Returns a context's descriptor more often than not; *slot: its index in fuzz.fd, or -1. */
int fuzz_fd(int *slot);
/* Puts a new context in the place of another one. */
void fuzz_put(int fd, size_t buffer);
void fuzz_close(int slot);

/* Return a valid id, register or value; now and then an arbitrary one. */
uint16_t fuzz_set(void);
uint16_t fuzz_reg(void);
uint64_t fuzz_value(void);
uint32_t fuzz_bits(uint32_t known);	/* some of the known bits, seldom others */
void fuzz_bv(uint64_t *bits);
int fuzz_count(void);			/* number of elements to pass; vectors have at most 8 */
#define FUZZ_ELEMENTS 8
/* Changes bytes of p, seldom. */
void fuzz_spoil(void *p, size_t size);
/* Sets the PMC's value to one of some event on the PMD; leaves it if there is none. */
void fuzz_encode(uint16_t pmd, uint64_t *pmc_value);
/* Chooses a format's UUID and argument; returns the argument's size. */
size_t fuzz_format(unsigned char *uuid, void *arg);
#define FUZZ_FMT_ARG 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
