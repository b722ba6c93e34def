/* SPDX-License-Identifier: MIT */
/* pfmlib_both4.c - the part of pfmlib_both.c and pfmlib_encode.c that includes libpfm4's header. */
#include <perfmon/pfmlib.h>
#include <string.h>

#include "pfmlib_both.h"

int four_initialize(void)
{
	return pfm_initialize();
}

const char *four_strerror(int code)
{
	return pfm_strerror(code);
}

int four_version(void)
{
	return pfm_get_version();
}

int four_find_event(const char *name)
{
	return pfm_find_event(name);
}

int four_encode(const char *name, int plm, unsigned long long *codes)
{
	pfm_pmu_encode_arg_t arg;
	uint64_t buf[8];
	int ret;

	memset(&arg, 0, sizeof(arg));
	arg.size = sizeof(arg);
	arg.codes = buf;
	arg.count = 8;
	ret = pfm_get_os_event_encoding(name, plm, PFM_OS_NONE, &arg);
	if (ret != PFM_SUCCESS)
		return -1;
	for (int i = 0; i < arg.count; i++)
		codes[i] = buf[i];
	return arg.count;
}

/*
 * Calls visit with each event of a model: bare, with each mask, each modifier, mask 0 and modifier.
 */
static void each_form(const char *pmu, const pfm_event_info_t *ev, four_visit visit)
{
	char base[512], name[1200];

	snprintf(base, sizeof(base), "%s::%s", pmu, ev->name);
	visit(base);
	for (int a = 0; a < ev->nattrs; a++) {
		pfm_event_attr_info_t at, mod;

		memset(&at, 0, sizeof(at));
		at.size = sizeof(at);
		if (pfm_get_event_attr_info(ev->idx, a, PFM_OS_NONE, &at) != PFM_SUCCESS)
			continue;
		if (at.type != PFM_ATTR_UMASK) {
			snprintf(name, sizeof(name), "%s:%s=1", base, at.name);
			visit(name);
			continue;
		}
		snprintf(name, sizeof(name), "%s:%s", base, at.name);
		visit(name);
		for (int m = a + 1; a == 0 && m < ev->nattrs; m++) {
			memset(&mod, 0, sizeof(mod));
			mod.size = sizeof(mod);
			pfm_get_event_attr_info(ev->idx, m, PFM_OS_NONE, &mod);
			if (mod.type == PFM_ATTR_UMASK)
				continue;
			snprintf(name, sizeof(name), "%s:%s:%s=1", base, at.name, mod.name);
			visit(name);
		}
	}
}

int four_each(four_visit visit)
{
	int n = 0;

	for (int id = 0; id < PFM_PMU_MAX; id++) {
		pfm_pmu_info_t pmu;

		memset(&pmu, 0, sizeof(pmu));
		pmu.size = sizeof(pmu);
		if (pfm_get_pmu_info((pfm_pmu_t)id, &pmu) != PFM_SUCCESS || pmu.type != PFM_PMU_TYPE_CORE ||
		    pmu.nevents <= 0)
			continue;
		n++;
		for (int i = pmu.first_event; i != -1; i = pfm_get_event_next(i)) {
			pfm_event_info_t ev;

			memset(&ev, 0, sizeof(ev));
			ev.size = sizeof(ev);
			if (pfm_get_event_info(i, PFM_OS_NONE, &ev) == PFM_SUCCESS)
				each_form(pmu.name, &ev, visit);
		}
	}
	return n;
}
