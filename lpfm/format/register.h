/* SPDX-License-Identifier: MIT */
/*
 * register.h - sampling formats written in Lua (3.5.7).
 *
 * A format has a Lua state of its own, as a format of the kernel has the kernel for itself: its
 * functions are taken there when it is registered. So they run wherever the core runs, in the thread
 * that makes a call or in libperfmon's, while the script's own state does something else.
 */
#ifndef LPFM_REGISTER_H
#define LPFM_REGISTER_H

#include <pthread.h>

#include "base/module.h"
#include "fmt.h"
#include "machine.h"

struct lpfm_luafmt {
	pfm_buffer_fmt_t	fmt;		/* the first: the core hands this back */
	pfm_buffer_fmt_t	*base;		/* the format that records for it, or NULL */
	pthread_mutex_t		lock;		/* of all below; leaf: nothing is called with it held */
	lua_State		*F;
	unsigned int		ticks;		/* of the call that runs */
	uint64_t		pmds[PFM_PMD_BV];	/* that overflow.pmds was made for */
	unsigned int		refs;		/* atomic: the handle, and each use */
	bool			own_restart;	/* not the base's */
	bool			added;		/* the core knows it */
	struct lpfm_luafmt	*next;
};

/* A format's use by a context: what the core calls back with. */
struct lpfm_fmt_use {
	struct lpfm_luafmt	*f;
	unsigned int		refs;		/* atomic: the core's, and that of the Lua context */
	char			*error;		/* atomic: why it has stopped, with the traceback */
	bool			ended;		/* under the lock: the core is done with it */
	int			self, view;	/* references in the format's state: its table, its buf */
	struct lpfm_fmt_buf	*buf_view;	/* the object that view shows, or NULL */
	void			*buf;
	size_t			size;
	pfm_ovfl_arg_t		*arg;		/* of the handler while it runs */
	const struct pfm_where	*where;
};

/* --- state.c: the format's state ---------------------------------------------------------- */

/* Makes a format with the marshalled callbacks in its Lua state; NULL: *why says why not. */
struct lpfm_luafmt *lpfm_luafmt_new(const char *marshalled, char **why);
void lpfm_luafmt_put(struct lpfm_luafmt *f);
void lpfm_fmt_use_put(struct lpfm_fmt_use *use);
/*
 * Calls one of the format's functions for the script. 0: *out is its results, marshalled; else an errno,
 * *out says why, or is NULL. To be freed.
 */
int lpfm_fmt_ask(struct lpfm_fmt_use *use, const char *name, const char *args, char **out);

/* --- callbacks.c: the core's calls ------------------------------------------------------------- */

extern const struct pfm_fmt_ops lpfm_fmt_ops;

/* What a thread is creating a context with, while it does. */
struct lpfm_fmt_pending {
	const char		*arg;		/* the format's argument, marshalled, or NULL */
	struct lpfm_fmt_use	*use;		/* out: with a reference */
	char			*why;		/* out: why the format refuses, or NULL; to be freed */
};
void lpfm_fmt_begin(struct lpfm_fmt_pending *p);
void lpfm_fmt_end(void);
/* The format that fmt belongs to, if it is one in Lua. */
struct lpfm_luafmt *lpfm_luafmt_of(const pfm_buffer_fmt_t *fmt);

/* --- register.c: the script's side ------------------------------------------------------------ */

void lpfm_open_register(lua_State *L);

#endif
