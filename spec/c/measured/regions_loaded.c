// SPDX-License-Identifier: MIT
/*
 * regions_loaded.c - an object that a program loads, with a region of its own and one that the
 * program has, too.
 */
#include "perfmon/regions.h"

void regions_loaded(void (*touch)(long));

void regions_loaded(void (*touch)(long))
{
	PFM_REGION_START("shared");
	touch(100);
	PFM_REGION_START("loaded");
	touch(100);
	PFM_REGION_STOP("loaded");
	PFM_REGION_STOP("shared");
}
