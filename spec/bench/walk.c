// SPDX-License-Identifier: MIT
/*
 * walk.c - two fields of every sample of a full sampling buffer summed: prints ns per sample, of a C
 * loop over the mapped buffer. argv[1]: MiB. The simulated computer fills the buffer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "perfmon/perfmon.h"
#include "perfmon/perfmon_dfl_smpl.h"
#include "perfmon/sim.h"

static void die(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, pfm_explain());
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int spawn(struct pfm_sim *sim)
{
	struct pfm_sim_step steps[] = {
		{ .op = PFM_SIM_LOOP, .count = PFM_SIM_FOREVER },
		{ .op = PFM_SIM_SITE, .ip = 0x1000, .ns = 1 },
		{ .op = PFM_SIM_SITE, .ip = 0x1004, .ns = 1 },
		{ .op = PFM_SIM_END },
	};
	struct pfm_sim_spawn spawn = { .program = { steps, 4 }, .uid = 1000, .gid = 1000 };
	int tid = pfm_sim_spawn(sim, &spawn);

	if (tid < 0)
		die("spawn");
	return tid;
}

static const pfm_dfl_smpl_hdr_t *fill(uint64_t size)
{
	struct pfm_sim *sim;
	pfm_dfl_smpl_arg_t arg = { .buf_size = size };
	pfarg_pmd_t pd = { .reg_flags = PFM_REGFL_OVFL_NOTIFY, .reg_value = -101ULL,
			   .reg_long_reset = -101ULL, .reg_short_reset = -101ULL };
	pfarg_pmc_t pc = { 0 };
	pfarg_load_t load = { 0 };
	pfarg_ctx_t ctx = { 0 };
	void *buf;
	int fd;

	if (pfm_set_machine("sim:k8", NULL))
		die("machine");
	sim = pfm_sim_get();
	fd = pfm_create_context(&ctx, PFM_DFL_SMPL_NAME, &arg, sizeof(arg));
	load.load_pid = (uint32_t)spawn(sim);
	if (fd < 0 || pfm_sim_encode(sim, "instructions", 1 << PFM_SIM_USER, 0, &pc.reg_value))
		die("programming");
	if (pfm_write_pmcs(fd, &pc, 1) || pfm_write_pmds(fd, &pd, 1) || pfm_load_context(fd, &load) ||
	    pfm_start(fd, NULL) || pfm_sim_run_until_message(sim, fd, ~0ULL >> 1) != 1)
		die("sampling");
	buf = pfm_map_buffer(fd, ctx.ctx_smpl_buf_size);
	if (buf == MAP_FAILED)
		die("map");
	return buf;
}

int main(int argc, char **argv)
{
	const pfm_dfl_smpl_hdr_t *hdr = fill((argc > 1 ? strtoull(argv[1], NULL, 0) : 64) << 20);
	double best = 1e18;

	for (int round = 0; round < 7; round++) {
		const char *at = (const char *)(hdr + 1);
		volatile uint64_t result;
		uint64_t sum = 0;
		double t = now();

		for (uint64_t i = 0; i < hdr->hdr_count; i++) {
			const pfm_dfl_smpl_entry_t *e = (const void *)at;

			sum += e->ip + e->tstamp;
			at += sizeof(*e);
		}
		result = sum;
		(void)result;
		t = (now() - t) / (double)hdr->hdr_count;
		if (t < best)
			best = t;
	}
	printf("%.2f\n", best);
	return 0;
}
