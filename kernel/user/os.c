// SPDX-License-Identifier: MIT
/*
 * os.c - the core's needs (core/os.h) in user space.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "desc.h"
#include "os.h"

static pthread_mutex_t global = PTHREAD_MUTEX_INITIALIZER;
static __thread char why[256];

void *pfm_os_alloc(size_t size)
{
	return calloc(1, size);
}

void pfm_os_free(void *p)
{
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
