// SPDX-License-Identifier: MIT
/*
 * libpfm4.c - replaces ../libpfm4.c if lpfm is built without libpfm4: only this library's own
 * tables are used then.
 */
#include <stddef.h>

#include "../libpfm4.h"

bool l4_init(void)
{
	return false;
}

int l4_max_id(void)
{
	return 0;
}

bool l4_core_pmu(int id, struct l4_pmu *pmu)
{
	(void)id, (void)pmu;
	return false;
}

enum l4_family l4_family(const struct l4_pmu *pmu)
{
	(void)pmu;
	return L4_OTHER;
}

int l4_old_type(int id)
{
	(void)id;
	return -1;
}

const struct l4_event *l4_event(const struct l4_pmu *pmu, unsigned int i)
{
	static const struct l4_event nothing = { .name = "?" };

	(void)pmu, (void)i;
	return &nothing;
}

void l4_attr(const struct l4_pmu *pmu, unsigned int i, unsigned int a, struct l4_attr *attr)
{
	static const struct l4_attr nothing = { .name = "?" };

	(void)pmu, (void)i, (void)a;
	*attr = nothing;
}

bool l4_precise(const struct l4_pmu *pmu, unsigned int i, int a)
{
	(void)pmu, (void)i, (void)a;
	return false;
}

int l4_encode(const char *str, unsigned int plm, uint64_t *codes, unsigned int *n)
{
	(void)str, (void)plm, (void)codes;
	*n = 0;
	return -1;
}

const char *l4_error(void)
{
	return "libpfm4 is not there";
}
