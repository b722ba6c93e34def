// SPDX-License-Identifier: MIT
/*
 * count_perfmonctl.c - the same measurement as count_pfm.c through the call of specification 0.6.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "perfmon/perfmonctl.h"
#include "../pages.h"

#define PAGE_FAULTS	66
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

	if (perfmonctl(0, PFM_CREATE_CONTEXT, &ctx, 1))
		die("PFM_CREATE_CONTEXT");
	fd = ctx.ctx_fd;
	pc.reg_num = PAGE_FAULTS;
	pc.reg_value = USER_AND_KERNEL;
	if (perfmonctl(fd, PFM_WRITE_PMCS, &pc, 1))
		die("PFM_WRITE_PMCS");
	pd.reg_num = PAGE_FAULTS;
	if (perfmonctl(fd, PFM_WRITE_PMDS, &pd, 1))
		die("PFM_WRITE_PMDS");
	load.load_pid = (pid_t)syscall(SYS_gettid);
	if (perfmonctl(fd, PFM_LOAD_CONTEXT, &load, 1))
		die("PFM_LOAD_CONTEXT");
	if (perfmonctl(fd, PFM_START, NULL, 0))
		die("PFM_START");
	touch(pages);
	if (perfmonctl(fd, PFM_STOP, NULL, 0))
		die("PFM_STOP");
	if (perfmonctl(fd, PFM_READ_PMDS, &pd, 1))
		die("PFM_READ_PMDS");
	close(fd);
	printf("counted %llu touched %ld\n", (unsigned long long)pd.reg_value, pages);
	return 0;
}
