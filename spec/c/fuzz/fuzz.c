// SPDX-License-Identifier: MIT
/*
 * fuzz.c - runs an input: creates a computer, makes the calls, checks the rules of harness_rules.c
 * after each call, and closes all.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fuzz.h"
#include "perfmon/perfmon_nway_smpl.h"

#define MAX_CALLS	200
#define MAX_NS		30000

struct fuzz fuzz;

/* --- choices -------------------------------------------------------------------------------- */

#define R (&fuzz.rng)

uint16_t fuzz_set(void)
{
	static const uint16_t ids[] = { 0, 1, 2, 3, 255, 256, 65535 };
	uint32_t i = rng_below(R, COUNT(ids) + 1);

	return i < COUNT(ids) ? ids[i] : rng_next(R);
}

uint16_t fuzz_reg(void)
{
	static const uint16_t regs[] = { 0, 1, 8, 10, 12, 16, 80, 82, 84, 256, 271 };
	uint32_t i = rng_below(R, 40);

	if (i < COUNT(regs))
		return regs[i];
	return i == 39 ? rng_next(R) : fuzz.sim->counters[i % fuzz.sim->num_counters];
}

uint64_t fuzz_value(void)
{
	uint32_t what = rng_below(R, 4);

	if (what == 0)
		return -rng_log(R, 1, 100000);
	return what == 1 ? rng_next(R) : rng_log(R, 0, UINT64_MAX);
}

uint32_t fuzz_bits(uint32_t known)
{
	uint32_t bits = rng_next(R);

	return rng_below(R, 32) == 31 ? bits : bits & known;
}

void fuzz_bv(uint64_t *bits)
{
	for (uint32_t n = rng_below(R, 4); n; n--)
		pfm_bit_set(bits, fuzz_reg() % PFM_MAX_PMDS);
}

int fuzz_count(void)
{
	uint32_t n = rng_below(R, 32);

	if (n < 28)
		return n % FUZZ_ELEMENTS + 1;
	return n == 28 ? 0 : n == 29 ? -1 : n == 30 ? INT32_MAX : INT32_MIN;
}

void fuzz_spoil(void *p, size_t size)
{
	uint32_t at;

	if (rng_below(R, 32) != 31)
		return;
	at = rng_below(R, size);
	((uint8_t *)p)[at] ^= rng_next(R);
}

void fuzz_encode(uint16_t pmd, uint64_t *pmc_value)
{
	const char *event = program_events[rng_below(R, NUM_PROGRAM_EVENTS)];
	unsigned int levels = 1 + rng_below(R, 7);

	pfm_sim_encode(fuzz.sim, event, levels, pmd, pmc_value);
}

static size_t format_dfl(unsigned char *uuid, void *arg, uint32_t size)
{
	static const pfm_uuid_t id = PFM_DFL_SMPL_UUID;
	pfm_dfl_smpl_arg_t *a = arg;

	memcpy(uuid, id, sizeof(id));
	a->buf_size = size;
	a->buf_flags = fuzz_bits(3);
	return sizeof(*a);
}

static size_t format_06(unsigned char *uuid, void *arg, uint32_t size)
{
	static const pfm_uuid_t id = PFM_DEFAULT_SMPL_UUID;
	pfm_default_smpl_arg_t *a = arg;

	memcpy(uuid, id, sizeof(id));
	a->buf_size = size;
	a->buf_flags = fuzz_bits(3);
	return sizeof(*a);
}

static size_t format_nway(unsigned char *uuid, void *arg, uint32_t size)
{
	static const pfm_uuid_t id = PFM_NWAY_SMPL_UUID;
	pfm_nway_smpl_arg_t *a = arg;

	memcpy(uuid, id, sizeof(id));
	a->buf_size = size * 2;
	a->num_regions = rng_below(R, 10);
	a->buf_flags = fuzz_bits(0x103);
	return sizeof(*a);
}

size_t fuzz_format(unsigned char *uuid, void *arg)
{
	static size_t (*const formats[])(unsigned char *, void *, uint32_t) = {
		format_dfl, format_06, format_nway
	};
	uint32_t which = rng_below(R, 6);
	size_t size;

	memset(arg, 0, FUZZ_FMT_ARG);
	if (which >= COUNT(formats))
		return 0;
	size = formats[which](uuid, arg, rng_log(R, 0, 20000));
	fuzz_spoil(arg, size);
	fuzz_spoil(uuid, sizeof(pfm_uuid_t));
	return size;
}

/* --- contexts ------------------------------------------------------------------------------- */

int fuzz_fd(int *slot)
{
	uint32_t i = rng_below(R, FUZZ_CONTEXTS * 8 + 2);

	*slot = -1;
	if (i >= FUZZ_CONTEXTS * 8)
		return i & 1 ? -1 : 0;
	*slot = i % FUZZ_CONTEXTS;
	return fuzz.fd[*slot];
}

void fuzz_close(int slot)
{
	if (fuzz.fd[slot] < 0)
		return;
	if (fuzz.map[slot])
		pfm_unmap_buffer(fuzz.map[slot], fuzz.map_size[slot]);
	close(fuzz.fd[slot]);
	fuzz.fd[slot] = -1;
	fuzz.map[slot] = NULL;
	pfm_sim_run_ns(fuzz.sim, 0);
}

void fuzz_put(int fd, size_t buffer)
{
	int slot = 0;

	if (fd < 0)
		return;
	while (slot < FUZZ_CONTEXTS && fuzz.fd[slot] >= 0)
		slot++;
	if (slot == FUZZ_CONTEXTS)
		fuzz_close(slot = rng_below(R, FUZZ_CONTEXTS));
	fuzz.fd[slot] = fd;
	fuzz.map_size[slot] = buffer;
}

/* --- one input ------------------------------------------------------------------------------ */

static void choose_options(char *text, size_t size)
{
	uint32_t cpus = 1 + rng_below(R, 2);
	uint32_t slice = 1000 + rng_below(R, 4) * 1000;
	uint32_t timer = 100 + rng_below(R, 8) * 100;
	uint32_t skid = rng_below(R, 3);

	snprintf(text, size, "cpus=%u,hz=1000000,slice_ns=%u,timer_ns=%u,skid=%u,memlock=8192", cpus, slice,
		 timer, skid);
}

static void begin(const uint8_t *data, size_t size)
{
	char options[96];

	memset(&fuzz, 0, sizeof(fuzz));
	fuzz.rng.data = data;
	fuzz.rng.left = size;
	fuzz.pool.rng = &fuzz.rng;
	fuzz.pool.irqs_off = true;
	fuzz.time_left = MAX_NS;
	for (int i = 0; i < FUZZ_CONTEXTS; i++)
		fuzz.fd[i] = -1;
	choose_options(options, sizeof(options));
	CHECK(!pfm_set_machine(program_model(R), options), "%s", pfm_explain());
	fuzz.sim = pfm_sim_get();
}

static void check(void)
{
	struct pfm_context *open[FUZZ_CONTEXTS];
	unsigned int n = 0;

	for (int i = 0; i < FUZZ_CONTEXTS; i++)
		if (fuzz.fd[i] >= 0) {
			open[n] = context_of(fuzz.fd[i]);
			rules_context(open[n++]);
		}
	rules_machine(fuzz.sim, open, n);
}

static void end(void)
{
	for (int i = 0; i < FUZZ_CONTEXTS; i++)
		fuzz_close(i);
	rules_machine(fuzz.sim, NULL, 0);
	pfm_sim_put(fuzz.sim);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	begin(data, size);
	for (int i = 0; i < MAX_CALLS && fuzz.rng.left; i++) {
		if (rng_below(R, 3) == 0)
			fuzz_perfmonctl();
		else
			fuzz_call();
		check();
	}
	end();
	return 0;
}
