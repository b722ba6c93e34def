// SPDX-License-Identifier: MIT
/*
 * os.c - the core's needs (core/os.h) in user space.
 */
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "desc.h"
#include "os.h"

static pthread_mutex_t global = PTHREAD_MUTEX_INITIALIZER;
static sigset_t before;		/* of who holds it */
static __thread char why[512];

void *pfm_os_alloc(size_t size)
{
	return calloc(1, size);
}

void pfm_os_free(void *p)
{
	free(p);
}

void pfm_signals_block(sigset_t *saved)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, saved);
}

void pfm_signals_restore(const sigset_t *saved)
{
	pthread_sigmask(SIG_SETMASK, saved, NULL);
}

/* 5.7: a signal handler may come here, but not to who holds the lock. */
void pfm_os_lock(void)
{
	sigset_t saved;

	pfm_signals_block(&saved);
	pthread_mutex_lock(&global);
	before = saved;
}

void pfm_os_unlock(void)
{
	sigset_t saved = before;

	pthread_mutex_unlock(&global);
	pfm_signals_restore(&saved);
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
