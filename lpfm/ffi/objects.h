/* SPDX-License-Identifier: MIT */
/*
 * objects.h - structures of the Lua module that are accessed from outside it. LuaJIT's ffi gets
 * them together with those of the public headers (cdef.c), as pfm.ffi reads contexts and prepared
 * vectors directly. They must be plain C declarations, and only those that are needed.
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
	/* some elements have flags that are not flags of a read */
	bool				write_flags;
	/* n structures, with sizes that are multiples of 8 bytes, followed by n words of flags */
	uint64_t			data[];
};

/* The PMDs that a sample holds if this PMD of this set has overflowed. */
struct lpfm_layout {
	uint32_t	key;		/* key: set << 16 | pmd */
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
	uint16_t		set;		/* event set of the load */
	uint32_t		tid;
};

enum lpfm_format {
	LPFM_NO_BUFFER,
	LPFM_DFL_2X,		/* the default format in the layout of perfmon 2.x */
	LPFM_DFL_06,		/* the default format in the layout of section 3.6 */
	LPFM_NWAY,		/* 6.3.1: samples like LPFM_DFL_2X in several regions */
	LPFM_STACK,		/* samples with call stacks */
	LPFM_RAW_BUFFER,	/* a format that this module cannot decode */
	/* no context has this: one with format "program" has the format of its samples */
	LPFM_PROGRAM,
};

struct lpfm_fmt_use;
struct lpfm_context;

enum { LPFM_VIEW_MAX = 16 };	/* most PMDs that are read at once */

/* The userdata that ctx:view() returns. */
struct lpfm_view {
	struct lpfm_head	head;
	/* page is NULL when the view was closed with its context */
	pfm_view_t		view;
	struct lpfm_context	*ctx;		/* NULL when the view is closed */
	struct lpfm_view	*next;		/* the next view of the context */
	uint16_t		nums[LPFM_VIEW_MAX];	/* the registers of a read */
	uint64_t		values[LPFM_VIEW_MAX];
};

/*
 * A context, or a copy of a buffer. It is in C memory, and its userdata and whatever else has a
 * pointer to it count in refs, because a script can take a userdata from another one's environment.
 */
struct lpfm_context {
	unsigned int		refs;
	bool			copy;		/* this is a copy: buf is from malloc() */
	int			fd;		/* -1: the context is closed */
	bool			simulated;	/* time passes only in machine:run() */
	uint32_t		flags;		/* PFM_FL_* */
	uint32_t		buf_flags;
	enum lpfm_format	format;
	size_t			buf_size;	/* size of each part */
	unsigned int		parts, part;	/* number of parts; the part that buf is */
	size_t			buf_offs;	/* format program: offset of buf in the mapping */
	uint32_t		buckets;	/* format program: number of buckets */
	bool			program;	/* the format is program */
	const unsigned char	*buf;		/* mapped when first asked for */
	bool			pinned;		/* there are pointers into buf: it stays mapped */
	unsigned int		epoch;		/* restarts and closings; older cursors are stale */
	struct lpfm_programming	programming;
	struct lpfm_view	*views;
	/* the use of a format written in Lua (register.h), or NULL */
	struct lpfm_fmt_use	*use;
	char			refused[160];	/* why the last load() failed */
};

/* The userdata that lpfm.create returns. */
struct lpfm_context_object {
	struct lpfm_head	head;
	struct lpfm_context	*ctx;		/* NULL when the userdata was collected */
};

#endif
