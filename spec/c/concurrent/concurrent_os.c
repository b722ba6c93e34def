// SPDX-License-Identifier: MIT
/* concurrent_os.c - core/os.h; allocations are counted, and fail at random. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "concurrent.h"

atomic_long allocated;
static pthread_mutex_t global = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local char why[256];

void *pfm_os_alloc(size_t size)
{
	void *p = rng_below(&me.rng, 300) ? calloc(1, size) : NULL;

	if (p)
		atomic_fetch_add(&allocated, 1);
	return p;
}

void pfm_os_free(void *p)
{
	if (p)
		atomic_fetch_sub(&allocated, 1);
	free(p);
}

void pfm_os_lock(void)
{
	pthread_mutex_lock(&global);
}

void pfm_os_unlock(void)
{
	pthread_mutex_unlock(&global);
}

int pfm_refuse(int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	return err;
}

const char *pfm_explain(void)
{
	return why;
}
