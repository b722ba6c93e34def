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
	/* n structures, whose sizes are multiples of 8 bytes, followed by n words of flags */
	uint64_t			data[];
};

/* The PMDs that a sample holds if this PMD of this set has overflowed. */
struct lpfm_layout {
	uint32_t	key;		/* key: set << 16 | pmd */
	uint32_t	n;		/* number of PMDs */
	uint64_t	pmds[PFM_PMD_BV];
};

/* The layouts of all PMDs that were programmed, sorted by key. */
struct lpfm_layouts {
	struct lpfm_layout	*list;
	size_t			n, room;
	/* layouts of set 0 apply to all sets without an entry */
	bool			any_set;
};

enum lpfm_format {
	LPFM_NO_BUFFER,
	LPFM_DFL_2X,		/* the default format in the layout of perfmon 2.x */
	LPFM_DFL_06,		/* the default format in the layout of section 3.6 */
	LPFM_NWAY,		/* 6.3.1: samples like LPFM_DFL_2X in several regions */
	LPFM_STACK,		/* samples with call stacks */
	LPFM_RAW_BUFFER,	/* a format that this module cannot decode */
	/* no context has this one: a context with the format "program" has that of its samples */
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

/* The userdata that lpfm.create returns. */
struct lpfm_context {
	struct lpfm_head	head;
	int			fd;		/* -1: the context is closed */
	bool			simulated;	/* its time passes only in machine:run() */
	uint32_t		flags;		/* PFM_FL_* */
	uint32_t		buf_flags;
	enum lpfm_format	format;
	size_t			buf_size;	/* size of each part of the buffer */
	/* number of parts, and the part to which buf belongs */
	unsigned int		parts, part;
	/* format "program": offset of the samples' buffer in its own */
	size_t			buf_offs;
	/* format "program": number of buckets of its histogram */
	uint32_t		buckets;
	bool			program;	/* the format is "program" */
	const unsigned char	*buf;		/* the buffer, which is mapped at its first use */
	/* there may be pointers into buf: it must stay mapped */
	bool			pinned;
	/* number of restarts and closings: what was read before one is stale */
	unsigned int		epoch;
	struct lpfm_layouts	layouts;
	struct lpfm_view	*views;
	/* the use of a format written in Lua (register.h), or NULL */
	struct lpfm_fmt_use	*use;
	char			refused[160];	/* why the last load() failed */
};

#endif
