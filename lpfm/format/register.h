/* SPDX-License-Identifier: MIT */
/*
 * register.h - sampling formats written in Lua (3.5.7). A format has a Lua state of its own, into
 * which its functions are copied when it is registered. So they can run wherever the core runs, in
 * the thread that makes a call or in libperfmon's thread, while the script's own state is in use.
 */
#ifndef LPFM_REGISTER_H
#define LPFM_REGISTER_H

#include <pthread.h>

#include "base/module.h"
#include "ffi/objects.h"
#include "fmt.h"
#include "machine.h"

struct lpfm_luafmt {
	/* must be the first member: the core passes a pointer to it */
	pfm_buffer_fmt_t	fmt;
	pfm_buffer_fmt_t	*base;		/* the format that stores its samples, or NULL */
	/* protects all members below; it is a leaf: no call-back or other lock is taken inside */
	pthread_mutex_t		lock;
	lua_State		*F;
	unsigned int		ticks;		/* how often the hook has run in this call */
	/* the PMDs in the table overflow.pmds */
	uint64_t		pmds[PFM_PMD_BV];
	/* atomic: the references of the handle, and of each use */
	unsigned int		refs;
	/* the format has a restart of its own, and does not use its base's */
	bool			own_restart;
	bool			added;		/* the core has registered it */
	struct lpfm_luafmt	*next;
};

/* The use of a format by a context; the core passes it to the callbacks. */
struct lpfm_fmt_use {
	struct lpfm_luafmt	*f;
	/* atomic: the references of the core, and of the Lua context */
	unsigned int		refs;
	/* atomic: why the session has ended, with the traceback */
	char			*error;
	/* under the lock: the core does not use it any more */
	bool			ended;
	/* references in the registry of the format's state: its self and its buf */
	int			self, view;
	struct lpfm_fmt_buf	*buf_view;	/* the object to which view refers, or NULL */
	void			*buf;
	size_t			size;
	pfm_ovfl_arg_t		*arg;		/* the handler's argument while it runs */
	const struct pfm_where	*where;
};

/* --- state.c: the format's state ---------------------------------------------------------- */

/*
 * Makes a format with the marshalled callbacks in its Lua state. Returns NULL on failure, with the
 * reason in *why.
 */
struct lpfm_luafmt *lpfm_luafmt_new(const char *marshalled, char **why);
void lpfm_luafmt_put(struct lpfm_luafmt *f);
void lpfm_fmt_use_put(struct lpfm_fmt_use *use);
/*
 * Calls one of the format's query functions. Returns 0, and *out receives the marshalled results;
 * or an errno, and *out receives the reason or NULL. The caller frees *out.
 */
int lpfm_fmt_ask(struct lpfm_fmt_use *use, const char *name, const char *args, char **out);

/* --- callbacks.c: the core's calls ------------------------------------------------------------ */

extern const struct pfm_fmt_ops lpfm_fmt_ops;

/* What a thread passes to a format's callbacks while it creates a context. */
struct lpfm_fmt_pending {
	const char		*arg;		/* the format's argument, marshalled, or NULL */
	struct lpfm_fmt_use	*use;		/* out: the use, with a reference */
	/* out: why the format refuses, or NULL; the caller frees it */
	char			*why;
};
void lpfm_fmt_begin(struct lpfm_fmt_pending *p);
void lpfm_fmt_end(void);
/* Returns the format written in Lua to which fmt belongs, or NULL. */
struct lpfm_luafmt *lpfm_luafmt_of(const pfm_buffer_fmt_t *fmt);

/* --- register.c: the script's side ------------------------------------------------------------ */

void lpfm_open_register(lua_State *L);

/*
 * Returns which layout a format's buffer has. The format is given by its name or, if that is NULL,
 * by its UUID.
 */
enum lpfm_format lpfm_format_kind(const char *name, const unsigned char *uuid);

#endif
