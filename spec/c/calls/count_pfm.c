// SPDX-License-Identifier: MIT
/*
 * count_pfm.c - a self-monitoring program in the style of perfmon2 2.x: counts its page faults
 * while it touches argv[1] new pages. Prints "counted N touched M".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "perfmon/perfmon.h"
#include "../pages.h"

#define PAGE_FAULTS	66	/* PMC and PMD of the software counter */
#define USER_AND_KERNEL	0x9

static void die(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, pfm_explain());
	exit(1);
}

int main(int argc, char **argv)
{
	long pages = argc > 1 ? atol(argv[1]) : 1000;
	pfarg_ctx_t ctx;
	pfarg_pmc_t pc;
	pfarg_pmd_t pd;
	pfarg_load_t load;
	int fd;

	memset(&ctx, 0, sizeof(ctx));
	memset(&pc, 0, sizeof(pc));
	memset(&pd, 0, sizeof(pd));
	memset(&load, 0, sizeof(load));

	fd = pfm_create_context(&ctx, NULL, NULL, 0);
	if (fd < 0)
		die("pfm_create_context");
	pc.reg_num = PAGE_FAULTS;
	pc.reg_value = USER_AND_KERNEL;
	if (pfm_write_pmcs(fd, &pc, 1))
		die("pfm_write_pmcs");
	pd.reg_num = PAGE_FAULTS;
	if (pfm_write_pmds(fd, &pd, 1))
		die("pfm_write_pmds");
	load.load_pid = (uint32_t)syscall(SYS_gettid);
	if (pfm_load_context(fd, &load))
		die("pfm_load_context");
	if (pfm_start(fd, NULL))
		die("pfm_start");
	touch(pages);
	if (pfm_stop(fd))
		die("pfm_stop");
	if (pfm_read_pmds(fd, &pd, 1))
		die("pfm_read_pmds");
	close(fd);
	printf("counted %llu touched %ld\n", (unsigned long long)pd.reg_value, pages);
	return 0;
}
