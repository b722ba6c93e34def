/* SPDX-License-Identifier: MIT */
/* context.h - access to contexts, and what the files of this folder implement. */
#ifndef LPFM_CONTEXT_H
#define LPFM_CONTEXT_H

#include "base/object.h"
#include "ffi/objects.h"

extern const struct lpfm_class lpfm_context_class;

/* Returns a context that is not open, with one reference; NULL: there is no memory. */
struct lpfm_context *lpfm_context_alloc(void);
/* Takes a reference. */
struct lpfm_context *lpfm_context_get(const struct lpfm_context *ctx);
/* Drops a reference, the last of which frees the context. Does nothing for NULL. */
void lpfm_context_put(const struct lpfm_context *ctx);
/* Pushes the object of the context, which takes over the caller's reference. */
void lpfm_context_push(lua_State *L, struct lpfm_context *ctx);
/* Returns the context at idx, or NULL if it is not one. */
static inline struct lpfm_context *lpfm_context_test(lua_State *L, int idx)
{
	struct lpfm_context_object *object = lpfm_object_test(L, idx, &lpfm_context_class);

	return object ? object->ctx : NULL;
}

/* Raises the error that the argument is not a context, or that it is closed. */
struct lpfm_context *lpfm_context_refuse(lua_State *L, int idx);

/* Returns argument idx, which must be an open context. */
static inline struct lpfm_context *lpfm_context_open(lua_State *L, int idx)
{
	struct lpfm_context *ctx = lpfm_context_test(L, idx);

	return __builtin_expect(ctx && ctx->fd >= 0, 1) ? ctx : lpfm_context_refuse(L, idx);
}

/* Returns a context's descriptor; raises an error if the context is closed. */
static inline int lpfm_context_fd(lua_State *L, int idx)
{
	return lpfm_context_open(L, idx)->fd;
}

void lpfm_open_context(lua_State *L);

/* message.c: pushes the results of ctx:read(), with the timeout in ns, and returns how many. */
int lpfm_message_take(lua_State *L, const struct lpfm_context *ctx, int64_t timeout);
bool lpfm_machine_is_sim(const char *name);

/* Unmaps the view, and removes it from its context's list. */
void lpfm_view_close(struct lpfm_view *v);
/* Returns why the format has ended the context's session, or NULL. */
const char *lpfm_fmt_error(const struct lpfm_context *ctx);
/*
 * If the format has ended the context's session, pushes nil, "call: the format failed: traceback",
 * EIO, and returns the number of results; returns 0 otherwise.
 */
int lpfm_fmt_failure(lua_State *L, const struct lpfm_context *ctx, const char *call);

/* These add to the module what the files with their names implement. */
void lpfm_open_registers(lua_State *L);
void lpfm_open_evtsets(lua_State *L);
void lpfm_open_message(lua_State *L);
void lpfm_open_sigio(lua_State *L);
void lpfm_open_perfmonctl(lua_State *L);
void lpfm_open_view(lua_State *L);
void lpfm_open_format(lua_State *L);
/* push_sim pushes a table of the additional methods that the simulator's machine has. */
void lpfm_open_machine(lua_State *L, void (*push_sim)(lua_State *L));

#endif
