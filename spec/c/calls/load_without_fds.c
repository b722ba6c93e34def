// SPDX-License-Identifier: MIT
/*
 * load_without_fds.c - loads that are refused for want of descriptors, with ever more of them until
 * one succeeds: each leaves what pfm_getinfo_evtsets() tells of the load before (3.1.7, 3.1.12).
 */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "perfmon/perfmon.h"

static void *touch(char *page)
{
	*(volatile char *)page = 1;
	return page;
}

static int make_set(int fd, uint16_t pmc)
{
	pfarg_setdesc_t set = { .set_flags = PFM_SETFL_OVFL_SWITCH };
	pfarg_pmc_t event = { .reg_num = pmc, .reg_value = 9 };		/* at both levels */
	pfarg_pmd_t count = { .reg_num = pmc, .reg_value = -1ULL, .reg_ovfl_switch_cnt = 1 };

	return pfm_create_evtsets(fd, &set, 1) || pfm_write_pmcs(fd, &event, 1) || pfm_write_pmds(fd, &count, 1);
}

static uint16_t page_faults(void)
{
	for (uint16_t num = 0; num < PFM_MAX_PMCS; num++) {
		pfarg_pmcinfo_t info = { .reg_num = num };

		if (!pfm_getinfo_pmcs(&info, 1) && !strcmp(info.reg_name, "page-faults"))
			return num;
	}
	return 0;
}

int main(void)
{
	pfarg_load_t load = { .load_pid = (uint32_t)getpid() };
	static char pages[2][1 << 16] __attribute__((aligned(1 << 16)));
	pfarg_setinfo_t before = { 0 }, after;
	pfarg_ctx_t ctx = { 0 };
	int fd = pfm_create_context(&ctx, NULL, NULL, 0), refused = -1, ret;
	struct rlimit limit, few;

	if (fd < 0 || make_set(fd, page_faults()) || pfm_load_context(fd, &load) || pfm_start(fd, NULL) ||
	    !touch(pages[0]) || !touch(pages[1]) || pfm_unload_context(fd) || pfm_getinfo_evtsets(fd, &before, 1)) {
		puts(pfm_explain());
		return 1;
	}
	getrlimit(RLIMIT_NOFILE, &limit);
	few = limit;
	few.rlim_cur = (rlim_t)fd;
	do {
		few.rlim_cur++;
		setrlimit(RLIMIT_NOFILE, &few);
		ret = pfm_load_context(fd, &load);
		setrlimit(RLIMIT_NOFILE, &limit);
		memset(&after, 0, sizeof(after));
		if (ret && (pfm_getinfo_evtsets(fd, &after, 1) || memcmp(&before, &after, sizeof(before))))
			printf("limit %u: set_ovfl_pmds has changed, or another member\n", (unsigned int)few.rlim_cur);
		refused++;
	} while (ret && few.rlim_cur < limit.rlim_cur);
	printf("switched: %d, refused: %d\n", before.set_runs == 2 && before.set_ovfl_pmds[page_faults() / 64] != 0,
	       refused > 2);
	return 0;
}
