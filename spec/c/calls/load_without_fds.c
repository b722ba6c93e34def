// SPDX-License-Identifier: MIT
/*
 * load_without_fds.c - loads that are refused for want of descriptors, with ever more of them until
 * one succeeds: each leaves what pfm_getinfo_evtsets() tells of the load before (3.1.7, 3.1.12),
 * and leaves the set active that was (2.2). A load of set 0, which was active, and one of set 1 are
 * tried.
 */
#include <stdbool.h>
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

static int make_set(int fd, uint16_t id, uint16_t pmc)
{
	pfarg_setdesc_t set = { .set_id = id, .set_flags = PFM_SETFL_OVFL_SWITCH | PFM_SETFL_EXPL_NEXT,
				.set_id_next = id };
	pfarg_pmc_t event = { .reg_num = pmc, .reg_set = id, .reg_value = 9 };		/* at both levels */
	pfarg_pmd_t count = { .reg_num = pmc, .reg_set = id, .reg_value = -1ULL, .reg_ovfl_switch_cnt = 1 };

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

static int load(int fd, uint16_t set)
{
	return pfm_load_context(fd, &(pfarg_load_t){ .load_pid = (uint32_t)getpid(), .load_set = set });
}

static bool is_active(const pfm_view_t *view)
{
	return view->page->set_status & PFM_SETVFL_ACTIVE;
}

int main(void)
{
	static char pages[2][1 << 16] __attribute__((aligned(1 << 16)));
	pfarg_ctx_t ctx = { .ctx_flags = PFM_FL_MAP_SETS };
	int fd = pfm_create_context(&ctx, NULL, NULL, 0), refused = 0, ret = -1;
	pfarg_setinfo_t before = { 0 }, after;
	struct rlimit limit, few;
	pfm_view_t views[2];

	if (fd < 0 || make_set(fd, 0, page_faults()) || make_set(fd, 1, page_faults()) || load(fd, 0) ||
	    pfm_start(fd, NULL) || !touch(pages[0]) || !touch(pages[1]) || pfm_unload_context(fd) ||
	    pfm_getinfo_evtsets(fd, &before, 1) || pfm_map_set(fd, 0, &views[0]) || pfm_map_set(fd, 1, &views[1])) {
		puts(pfm_explain());
		return 1;
	}
	getrlimit(RLIMIT_NOFILE, &limit);
	few = limit;
	for (few.rlim_cur = (rlim_t)fd + 1; ret && few.rlim_cur < limit.rlim_cur; few.rlim_cur++) {
		for (uint16_t set = 2; ret && set-- > 0; refused += ret ? 1 : 0) {
			setrlimit(RLIMIT_NOFILE, &few);
			ret = load(fd, set);
			setrlimit(RLIMIT_NOFILE, &limit);
			memset(&after, 0, sizeof(after));
			if (ret && (pfm_getinfo_evtsets(fd, &after, 1) || memcmp(&before, &after, sizeof(before))))
				printf("limit %u: set_ovfl_pmds has changed, or another member\n",
				       (unsigned int)few.rlim_cur);
			if (ret && (!is_active(&views[0]) || is_active(&views[1])))
				printf("limit %u, load of set %u: set 0 is not active any more\n",
				       (unsigned int)few.rlim_cur, set);
		}
	}
	printf("switched: %d, refused: %d\n", before.set_runs == 2 && before.set_ovfl_pmds[page_faults() / 64] != 0,
	       refused > 5);
	return 0;
}
