/* SPDX-License-Identifier: MIT */
/*
 * pfmlib_page.c - the example of the manual page pfm_dispatch_events(3), with its two errors
 * corrected (evt for inp, a missing quotation mark) and its dots filled in.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <perfmon/perfmon.h>
#include <perfmon/pfmlib.h>

int main(void)
{
	pfmlib_input_param_t inp;
	pfmlib_output_param_t outp;
	pfarg_ctx_t ctx;
	pfarg_pmd_t pd[1];
	pfarg_pmc_t pc[1];
	pfarg_load_t load_arg;
	int fd;
	unsigned int i;
	volatile unsigned int work = 0;
	int ret;

	if (pfm_initialize() != PFMLIB_SUCCESS) {
		fprintf(stderr, "can't initialize library\n");
		exit(1);
	}
	memset(&ctx, 0, sizeof(ctx));
	memset(&inp, 0, sizeof(inp));
	memset(&outp, 0, sizeof(outp));
	memset(pd, 0, sizeof(pd));
	memset(pc, 0, sizeof(pc));
	memset(&load_arg, 0, sizeof(load_arg));
	ret = pfm_get_cycle_event(&inp.pfp_events[0]);
	if (ret != PFMLIB_SUCCESS) {
		fprintf(stderr, "cannot find cycle event\n");
		exit(1);
	}
	inp.pfp_dfl_plm     = PFM_PLM3;
	inp.pfp_event_count = 1;
	ret = pfm_dispatch_events(&inp, NULL, &outp, NULL);
	if (ret != PFMLIB_SUCCESS) {
		fprintf(stderr, "cannot dispatch events: %s\n", pfm_strerror(ret));
		exit(1);
	}
	/* propagate pmc value to perfmon2 structures */
	for (i = 0; i < outp.pfp_pmc_count; i++) {
		pc[i].reg_num   = outp.pfp_pmcs[i].reg_num;
		pc[i].reg_value = outp.pfp_pmcs[i].reg_value;
	}
	for (i = 0; i < outp.pfp_pmd_count; i++) {
		pd[i].reg_num   = outp.pfp_pmds[i].reg_num;
		pd[i].reg_value = 0;
	}
	if (pfm_create_context(&ctx, NULL, 0) == -1) {
		perror("pfm_create_context");
		exit(1);
	}
	fd = ctx.ctx_fd;
	if (pfm_write_pmcs(fd, pc, outp.pfp_pmc_count) == -1) {
		perror("pfm_write_pmcs");
		exit(1);
	}
	if (pfm_write_pmds(fd, pd, outp.pfp_pmd_count) == -1) {
		perror("pfm_write_pmds");
		exit(1);
	}
	load_arg.load_pid = getpid();
	if (pfm_load_context(fd, &load_arg) == -1) {
		perror("pfm_load_context");
		exit(1);
	}
	pfm_start(fd, NULL);
	/* code to monitor */
	for (i = 0; i < 1000000; i++)
		work += i;
	pfm_stop(fd);
	if (pfm_read_pmds(fd, pd, inp.pfp_event_count) == -1) {
		perror("pfm_read_pmds");
		exit(1);
	}
	printf("results: %llu\n", (unsigned long long)pd[0].reg_value);
	close(fd);
	return 0;
}
