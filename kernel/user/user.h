/* SPDX-License-Identifier: MIT */
/*
 * user.h - what libperfmon offers the machines that live in user space (perf, sim).
 *
 * A context's descriptor is one end of a SOCK_SEQPACKET pair; the library keeps the other. One
 * service thread per process waits for everything asynchronous. The context's lock is held around
 * every command and every call-back of the service thread; signals are blocked while it is held, so
 * that calls from signal handlers are safe (5.7).
 */
#ifndef PFM_USER_H
#define PFM_USER_H

#include "core.h"

/* --- waiting: the service thread ------------------------------------------------------------ */

struct pfm_watch;
typedef void (*pfm_watch_fn)(struct pfm_context *ctx, void *arg, uint32_t events);

/*
 * Calls fn(ctx, arg, epoll events) from the service thread, with ctx's lock held, whenever fd is
 * ready; level-triggered. The context's lock is held by the caller. NULL with errno on error.
 */
struct pfm_watch *pfm_watch_add(struct pfm_context *ctx, int fd, uint32_t events, pfm_watch_fn fn,
				void *arg);
/* After this, with the lock held, fn is not called again; fd may then be closed. NULL is fine. */
void pfm_watch_del(struct pfm_watch *w);

/* --- operations that user-space machines share; put them into struct pfm_machine_ops -------- */

int pfm_user_post(struct pfm_context *ctx, const pfarg_msg_t *msg);
void pfm_user_flush(struct pfm_context *ctx);
void pfm_user_signal(struct pfm_context *ctx);
void pfm_user_caller(struct pfm_machine *m, struct pfm_caller *who);
bool pfm_user_in_group(struct pfm_machine *m, uint32_t gid);
bool pfm_user_has_fd(struct pfm_context *ctx);	/* the target is a thread of this process */
uint64_t pfm_user_now(struct pfm_machine *m);	/* CLOCK_MONOTONIC */
size_t pfm_user_page_size(struct pfm_machine *m);
void *pfm_user_alloc_buffer(struct pfm_context *ctx, size_t size);
void pfm_user_free_buffer(struct pfm_context *ctx, void *buf, size_t size);

/* --- machines ------------------------------------------------------------------------------- */

/*
 * A kind of machine. open: make one ready, or use the one there is; model is what follows the colon
 * of "sim:itanium2" or "", options as in pfm_set_machine(). Returns NULL with errno, having said
 * why through pfm_refuse(). describe: see pfm_machine_info_t. model_name, optional: "sim:itanium2" and
 * so on, by i from 0; NULL after the last.
 */
struct pfm_user_machine {
	const char *name;
	struct pfm_machine *(*open)(const char *model, const char *options);
	void (*describe)(struct pfm_machine *m, pfm_machine_info_t *info);
	const char *(*model_name)(int i);
};

extern const struct pfm_user_machine pfm_perf_machine;
extern const struct pfm_user_machine pfm_sim_machine;

/* The machine contexts are created on now, choosing one if need be; NULL with errno. */
struct pfm_machine *pfm_current_machine(void);

#endif
