/* SPDX-License-Identifier: MIT */
/*
 * objects.h - the structures of the Lua module that are looked at from outside it.
 *
 * LuaJIT's ffi gets them beside those of the public headers (cdef.c): pfm.ffi reads contexts and
 * prepared vectors where they are. Plain C declarations, and no more of them than that takes.
 */
#ifndef LPFM_OBJECTS_H
#define LPFM_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/class.h"
#include "base/perfmon.h"

struct lpfm_struct;

/* A prepared vector: the userdata of lpfm.pmds and lpfm.pmcs. */
struct lpfm_vector {
	struct lpfm_head		head;
	const struct lpfm_struct	*rec;
	int				n;
	bool				write_flags;	/* some flags are not those of a read */
	uint64_t			data[];	/* n structures, multiples of 8 bytes; n words of flags */
};

/* The PMDs that a sample holds when this PMD of this set overflowed. */
struct lpfm_layout {
	uint32_t	key;		/* set << 16 | pmd */
	uint32_t	n;		/* number of PMDs */
	uint64_t	pmds[PFM_PMD_BV];
};

/* Entries of one size, ascending by the 32-bit key with which each begins. */
struct lpfm_table {
	char	*list;
	size_t	n, room, size;
};

/* How a context is programmed: what its calls have done (programming.c). */
struct lpfm_programming {
	struct lpfm_table	sets, pmcs;
	struct lpfm_table	pmds;		/* each begins with its struct lpfm_layout */
	bool			loaded, running;
	bool			has_tid;	/* the load named the thread */
	uint16_t		set;		/* of the load */
	uint32_t		tid;
};

enum lpfm_format {
	LPFM_NO_BUFFER,
	LPFM_DFL_2X,		/* the default format, layout of 2.x */
	LPFM_DFL_06,		/* the default format, layout of section 3.6 */
	LPFM_NWAY,		/* samples of 2.x in several regions, 6.3.1 */
	LPFM_STACK,		/* samples with call stacks */
	LPFM_RAW_BUFFER,	/* a format unknown here */
	LPFM_PROGRAM,		/* of no context: that has the format of the samples it keeps */
};

struct lpfm_fmt_use;
struct lpfm_context;

enum { LPFM_VIEW_MAX = 16 };	/* PMDs read at once */

/* The userdata of ctx:view(). */
struct lpfm_view {
	struct lpfm_head	head;
	pfm_view_t		view;		/* page NULL: closed, with its context */
	struct lpfm_context	*ctx;		/* NULL then */
	struct lpfm_view	*next;		/* of the context's */
	uint16_t		nums[LPFM_VIEW_MAX];	/* of a read */
	uint64_t		values[LPFM_VIEW_MAX];
};

/* The userdata of lpfm.create. */
struct lpfm_context {
	struct lpfm_head	head;
	int			fd;		/* -1: closed */
	bool			simulated;	/* time passes only in machine:run() */
	uint32_t		flags;		/* PFM_FL_* */
	uint32_t		buf_flags;
	enum lpfm_format	format;
	size_t			buf_size;	/* of each part */
	unsigned int		parts, part;	/* there are; buf is that of */
	size_t			buf_offs;	/* format program: of the samples' buffer in its own */
	uint32_t		buckets;	/* format program: of its histogram */
	bool			program;	/* the format is program */
	const unsigned char	*buf;		/* mapped when first asked for */
	bool			pinned;		/* pointers into buf are about: it stays mapped */
	unsigned int		epoch;		/* restarts and closings: what was seen before is stale */
	struct lpfm_programming	programming;
	struct lpfm_view	*views;
	struct lpfm_fmt_use	*use;		/* of a format written in Lua (register.h), or NULL */
	char			refused[160];	/* what the last load() failed of */
};

#endif
