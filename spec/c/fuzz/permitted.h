/* SPDX-License-Identifier: MIT */
/*
 * permitted.h - an allocator for Lua states that permits only so many allocations; with count_all,
 * those of this thread's libraries and other Lua states count, too.
 */
#ifndef PERMITTED_H
#define PERMITTED_H

#include <dlfcn.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>

static __thread long permitted = -1;	/* -1: no limit */
static bool count_all;

static bool may_allocate(void)
{
	if (!permitted)
		return false;
	permitted -= permitted > 0;
	return true;
}

/* Replaces the C library's, for all callers. */
void *realloc(void *at, size_t size)
{
	static void *(*real)(void *, size_t);

	if (!real)
		real = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
	if (count_all && size && (!at || size > malloc_usable_size(at)) && !may_allocate())
		return NULL;
	return real(at, size);
}

static void *allocate(void *unused, void *at, size_t old, size_t size)
{
	void *got;

	(void)unused;
	if (!size) {
		free(at);
		return NULL;
	}
	if (at && size <= old) {	/* Lua assumes that shrinking never fails */
		got = realloc(at, size);
		return got ? got : at;
	}
	if (!count_all && !may_allocate())
		return NULL;
	return realloc(at, size);
}

#endif
