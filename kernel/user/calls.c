// SPDX-License-Identifier: MIT
/*
 * calls.c - the pfm_*() functions with which programs link: they find the context, check the
 * vector, and call the core.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calls.h"
#include "desc.h"
#include "fmt.h"
#include "formats/formats.h"
#include "module_client.h"
#include "fast_read.h"

/* --- creating contexts ---------------------------------------------------------------------- */

static void register_formats(void)
{
	for (pfm_buffer_fmt_t *const *fmt = pfm_builtin_formats; *fmt; fmt++)
		pfm_register_buffer_fmt(*fmt);
}

static void have_formats(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	sigset_t saved;

	/*
	 * signals are blocked because a call from a handler that interrupts pthread_once() would
	 * wait for the interrupted code, which cannot go on
	 */
	pfm_signals_block(&saved);
	pthread_once(&once, register_formats);
	pfm_signals_restore(&saved);
}

/*
 * Makes a descriptor. If the process or the system has no descriptors left, ends contexts that the
 * program has closed, and tries again.
 */
static struct pfm_desc *new_desc(void)
{
	unsigned long ended = pfm_desc_ended();
	struct pfm_desc *d = pfm_desc_new();

	if (!d && (errno == EMFILE || errno == ENFILE) && pfm_desc_reap(ended))
		d = pfm_desc_new();
	return d;
}

static int create_context(struct pfm_machine *m, struct pfm_desc *d, pfarg_ctx_t *ctx,
			  struct pfm_buffer_fmt *fmt, const void *fmt_arg)
{
	void *copy = NULL;
	int ret;

	if (fmt && fmt->fmt_arg_size) {
		copy = pfm_os_alloc(fmt->fmt_arg_size);
		if (!copy) {
			pfm_fmt_put(fmt);
			return pfm_refuse(-ENOMEM, "no memory for the format's argument");
		}
		memcpy(copy, fmt_arg, fmt->fmt_arg_size);
	}
	ret = pfm_do_create(m, ctx, fmt, copy, d, &d->ctx);
	pfm_os_free(copy);
	return ret;
}

/*
 * Creates d's context. If memory or a limit on it does not suffice, contexts that the program has
 * closed are ended, because their buffers still count (4.4.3), and the creation is tried again.
 */
static int create_in_room(struct pfm_machine *m, struct pfm_desc *d, pfarg_ctx_t *ctx,
			  struct pfm_buffer_fmt *fmt, const void *fmt_arg)
{
	struct pfm_buffer_fmt *again = fmt ? pfm_fmt_get_uuid(fmt->fmt_uuid) : NULL;
	unsigned long ended = pfm_desc_ended();
	int ret = create_context(m, d, ctx, fmt, fmt_arg);

	if (ret == -ENOMEM && (!fmt || again) && pfm_desc_reap(ended))
		return create_context(m, d, ctx, again, fmt_arg);
	if (again)
		pfm_fmt_put(again);
	return ret;
}

/*
 * Creates a context and its descriptor. The reference to fmt is used up, even if this fails.
 * Returns the descriptor or a negative errno.
 */
static int create_on(struct pfm_machine *m, pfarg_ctx_t *ctx, struct pfm_buffer_fmt *fmt,
		     const void *fmt_arg, bool by_06)
{
	struct pfm_desc *d = new_desc();
	int fd, ret;

	if (!d) {
		if (fmt)
			pfm_fmt_put(fmt);
		return -errno;
	}
	fd = d->fd;
	d->by_06 = by_06;
	ret = create_in_room(m, d, ctx, fmt, fmt_arg);
	if (!ret && pfm_desc_publish(d)) {
		ret = pfm_refuse(-errno, "cannot watch the descriptor: epoll_ctl(2): %s", strerror(errno));
		pfm_do_close(d->ctx);
	}
	if (ret) {
		close(fd);
		pfm_desc_put(d);
		return ret;
	}
	ctx->ctx_fd = fd;
	return fd;
}

static int check_fmt_arg(const struct pfm_buffer_fmt *fmt, const void *arg, size_t size)
{
	size_t want = fmt ? fmt->fmt_arg_size : 0;

	if (size != want)
		return pfm_refuse(-EINVAL, "format %s takes an argument of %u bytes, not %u",
				  fmt ? fmt->fmt_name : "(none)", (unsigned int)want,
				  (unsigned int)size);
	if (want && !arg)
		return pfm_refuse(-EFAULT, "the format's argument is NULL");
	return 0;
}

static int check_vector(struct pfm_machine *m, const void *v, int n, size_t size)
{
	int ret = pfm_check_vector(m, n, size);

	return ret || v ? ret : pfm_refuse(-EFAULT, "the vector is NULL");
}

static int no_pointer(const char *what)
{
	return pfm_result(pfm_refuse(-EFAULT, "%s is NULL", what));
}

/* The calls that create a context: by_06 passes no size of the format's argument. */
enum how { BY_NAME, BY_UUID, BY_06 };

/* Sets *fmt to the format, or to NULL if none is asked for. Returns 0 or -EINVAL. */
static int find_format(enum how how, const pfarg_ctx_t *ctx, const char *name, struct pfm_buffer_fmt **fmt)
{
	*fmt = NULL;
	if (how == BY_NAME) {
		if (!name)
			return 0;
		*fmt = pfm_fmt_get_name(name);
		return *fmt ? 0 : pfm_refuse(-EINVAL, "no sampling format is called \"%s\"", name);
	}
	if (pfm_all_zero(ctx->ctx_smpl_buf_id, sizeof(ctx->ctx_smpl_buf_id)))
		return 0;
	*fmt = pfm_fmt_get_uuid(ctx->ctx_smpl_buf_id);
	return *fmt ? 0 : pfm_refuse(-EINVAL, "no sampling format has this UUID");
}

/* Creates a context on a machine of this process. Returns the descriptor, or -1 with errno. */
static int create_here(struct pfm_machine *m, enum how how, pfarg_ctx_t *ctx, const char *fmt_name, void *fmt_arg,
		       size_t arg_size)
{
	struct pfm_buffer_fmt *fmt;
	sigset_t saved;
	int ret;

	have_formats();
	ret = find_format(how, ctx, fmt_name, &fmt);
	if (ret)
		return pfm_result(ret);
	if (how != BY_06)
		ret = check_fmt_arg(fmt, fmt_arg, arg_size);
	if (!ret && pfm_service_start())
		ret = -errno;
	if (ret) {
		if (fmt)
			pfm_fmt_put(fmt);
		return pfm_result(ret);
	}
	pfm_signals_block(&saved);
	ret = create_on(m, ctx, fmt, fmt_arg, how == BY_06);
	pfm_signals_restore(&saved);
	return pfm_result(ret);
}

/*
 * Programs written for perfmon 2.x do not use PFM_FL_ANY_CPU: the user can set it by
 * LPFM_ANY_CPU=1.
 */
static uint32_t environment_flags(const pfarg_ctx_t *ctx)
{
	const char *any_cpu = ctx->ctx_flags & PFM_FL_SYSTEM_WIDE ? getenv("LPFM_ANY_CPU") : NULL;

	return any_cpu && !strcmp(any_cpu, "1") ? PFM_FL_ANY_CPU : 0;
}

static int create(enum how how, pfarg_ctx_t *ctx, const char *fmt_name, void *fmt_arg, size_t arg_size)
{
	PFM_HOLD_MACHINE(m);
	uint32_t flags;
	int fd;

	if (!m)
		return -1;
	if (!ctx)
		return no_pointer("the context");
	if (how == BY_NAME && !pfm_all_zero(ctx->ctx_smpl_buf_id, sizeof(ctx->ctx_smpl_buf_id)))
		return pfm_result(pfm_refuse(-EINVAL, "reserved fields must be 0"));
	flags = ctx->ctx_flags;
	ctx->ctx_flags |= environment_flags(ctx);
	fd = pfm_linux_is(m) ? pfm_linux_create(ctx, fmt_name, fmt_arg, arg_size) :
			       create_here(m, how, ctx, fmt_name, fmt_arg, arg_size);
	ctx->ctx_flags = flags;
	return fd;
}

int pfm_create_context_uuid(pfarg_ctx_t *ctx, void *fmt_arg, size_t arg_size)
{
	return create(BY_UUID, ctx, NULL, fmt_arg, arg_size);
}

int pfm_create_context_name(pfarg_ctx_t *ctx, const char *fmt_name, void *fmt_arg, size_t arg_size)
{
	return create(BY_NAME, ctx, fmt_name, fmt_arg, arg_size);
}

/*
 * The function with the four arguments of perfmon 2.x, for programs that take its address or look
 * up its name.
 */
int (pfm_create_context)(pfarg_ctx_t *ctx, char *fmt_name, void *fmt_arg, size_t arg_size)
{
	return pfm_create_context_name(ctx, fmt_name, fmt_arg, arg_size);
}

int pfm_create_06(pfarg_ctx_t *ctx, void *fmt_arg)
{
	return create(BY_06, ctx, NULL, fmt_arg, SIZE_MAX);
}

/* Implements the pfm_create_context(ctx, n) of section 6.1.1. */
int pfm_create_context_n(pfarg_ctx_t *ctx, int n)
{
	if (!ctx)
		return no_pointer("ctx");
	if (n != 1)
		return pfm_result(pfm_refuse(-EFAULT, "the call creates 1 context, not %d", n));
	return pfm_create_06(ctx, ctx + 1) < 0 ? -1 : 0;
}

/* --- calls on a context --------------------------------------------------------------------- */

/* Defines a vector call: n elements of type at v, processed by the core's fn. */
#define VECTOR_CALL(name, type, fn, nr)						\
int name(int fd, type *v, int n)						\
{										\
	sigset_t saved;								\
	struct pfm_desc *d;							\
	int ret;								\
										\
	if (pfm_linux_vector(fd, nr, n, v, &ret))				\
		return ret;							\
	d = pfm_desc_enter(fd, &saved);						\
	ret = d ? check_vector(d->ctx->machine, v, n, sizeof(*v)) : -EBADF;	\
	if (!ret)								\
		ret = fn(d->ctx, v, n);						\
	pfm_desc_leave(d, &saved);						\
	return pfm_result(ret);							\
}

VECTOR_CALL(pfm_write_pmcs, pfarg_pmc_t, pfm_do_write_pmcs, PFM_NR_WRITE_PMCS)
VECTOR_CALL(pfm_write_pmds, pfarg_pmd_t, pfm_do_write_pmds, PFM_NR_WRITE_PMDS)
VECTOR_CALL(pfm_create_evtsets, pfarg_setdesc_t, pfm_do_create_evtsets, PFM_NR_CREATE_EVTSETS)
VECTOR_CALL(pfm_delete_evtsets, pfarg_setdesc_t, pfm_do_delete_evtsets, PFM_NR_DELETE_EVTSETS)
VECTOR_CALL(pfm_getinfo_evtsets, pfarg_setinfo_t, pfm_do_getinfo_evtsets, PFM_NR_GETINFO_EVTSETS)

int pfm_read_pmds(int fd, pfarg_pmd_t *v, int n)
{
	struct pfm_fast_ticket ticket;
	struct pfm_desc *d;
	sigset_t saved;
	int ret;

	if (pfm_fast_read(fd, v, n))
		return 0;
	if (pfm_linux_vector(fd, PFM_NR_READ_PMDS, n, v, &ret))
		return ret;
	ticket = pfm_fast_ticket(fd);
	d = pfm_desc_enter(fd, &saved);
	ret = d ? check_vector(d->ctx->machine, v, n, sizeof(*v)) : -EBADF;
	if (!ret)
		ret = pfm_do_read_pmds(d->ctx, v, n);
	if (!ret)
		pfm_fast_publish(d, fd, ticket);
	pfm_desc_leave(d, &saved);
	return pfm_result(ret);
}

static int simple_call(int fd, int (*fn)(struct pfm_context *), unsigned int nr)
{
	sigset_t saved;
	struct pfm_desc *d;
	int ret;

	if (pfm_linux_call(fd, nr, 0, NULL, &ret))
		return ret;
	d = pfm_desc_enter(fd, &saved);
	ret = d ? fn(d->ctx) : -EBADF;
	pfm_desc_leave(d, &saved);
	return pfm_result(ret);
}

int pfm_stop(int fd)
{
	return simple_call(fd, pfm_do_stop, PFM_NR_STOP);
}

int pfm_restart(int fd)
{
	return simple_call(fd, pfm_do_restart, PFM_NR_RESTART);
}

int pfm_unload_context(int fd)
{
	return simple_call(fd, pfm_do_unload, PFM_NR_UNLOAD_CONTEXT);
}

int pfm_start(int fd, pfarg_start_t *start)
{
	sigset_t saved;
	struct pfm_desc *d;
	int ret;

	if (pfm_linux_call(fd, PFM_NR_START, 0, start, &ret))
		return ret;
	d = pfm_desc_enter(fd, &saved);
	ret = d ? pfm_do_start(d->ctx, start) : -EBADF;
	pfm_desc_leave(d, &saved);
	return pfm_result(ret);
}

static int load_once(int fd, pfarg_load_t *load)
{
	sigset_t saved;
	struct pfm_desc *d = pfm_desc_enter(fd, &saved);
	int ret = d ? pfm_do_load(d->ctx, load) : -EBADF;

	if (!ret)
		pfm_desc_loaded(d);
	pfm_desc_leave(d, &saved);
	return ret;
}

/* Frees contexts that the program has closed, but that the service thread has not freed yet. */
static void reap(void)
{
	sigset_t saved;

	pfm_signals_block(&saved);
	pfm_desc_reap(0);
	pfm_signals_restore(&saved);
}

/*
 * If a load is refused, it is tried again after closed contexts have been freed: the conflict may
 * have been with one of them.
 */
int pfm_load_context(int fd, pfarg_load_t *load)
{
	int ret;

	if (!load)
		return no_pointer("the argument");
	if (pfm_linux_call(fd, PFM_NR_LOAD_CONTEXT, 0, load, &ret))
		return ret;
	ret = load_once(fd, load);
	if (ret == -EBUSY || ret == -EMFILE || ret == -EPERM) {
		reap();
		ret = load_once(fd, load);
	}
	return pfm_result(ret);
}

/* --- calls without a context ---------------------------------------------------------------- */

#define MACHINE_CALL(name, type, fn, nr)					\
int name(type *v, int n)							\
{										\
	PFM_HOLD_MACHINE(m);							\
	int ret;								\
										\
	if (!m)									\
		return -1;							\
	if (pfm_linux_is(m))							\
		return pfm_linux_ask_vector(nr, n, v);				\
	ret = check_vector(m, v, n, sizeof(*v));				\
	return pfm_result(ret ? ret : fn(m, v, n));				\
}

MACHINE_CALL(pfm_getinfo_pmcs, pfarg_pmcinfo_t, pfm_do_getinfo_pmcs, PFM_NR_GETINFO_PMCS)
MACHINE_CALL(pfm_getinfo_pmds, pfarg_pmdinfo_t, pfm_do_getinfo_pmds, PFM_NR_GETINFO_PMDS)

int pfm_get_config(pfarg_config_t *config)
{
	PFM_HOLD_MACHINE(m);

	if (!m)
		return -1;
	if (!config)
		return no_pointer("the configuration");
	if (pfm_linux_is(m))
		return pfm_linux_ask(PFM_NR_GET_CONFIG, 0, config);
	/* contexts that the program has closed must not be reported as sessions or buffers */
	reap();
	return pfm_result(pfm_do_get_config(m, config));
}

int pfm_set_config(pfarg_config_t *config)
{
	PFM_HOLD_MACHINE(m);

	if (!m)
		return -1;
	if (!config)
		return no_pointer("the configuration");
	if (pfm_linux_is(m))
		return pfm_linux_ask(PFM_NR_SET_CONFIG, 0, config);
	return pfm_result(pfm_do_set_config(m, config));
}

int pfm_getinfo_fmts(pfarg_fmtinfo_t *fmts, int n)
{
	PFM_HOLD_MACHINE(m);

	if (!m)
		return -1;
	have_formats();
	if (n > 0 && !fmts)
		return no_pointer("the vector");
	if (pfm_linux_is(m))
		return pfm_linux_ask_vector(PFM_NR_GETINFO_FMTS, n, fmts);
	return pfm_fmt_list(fmts, n);
}

/* --- formats of the program ------------------------------------------------------------------ */

int pfm_add_format(pfm_buffer_fmt_t *fmt)
{
	int err;

	have_formats();
	err = pfm_register_buffer_fmt(fmt);
	if (err == EBUSY)
		pfm_refuse(0, "there is a sampling format of this name or UUID");
	else if (err)
		pfm_refuse(0, "a sampling format needs a name, a UUID and a handler");
	return pfm_result(-err);
}

/*
 * If the format is in use, it may be by a context that the program has closed, but that the service
 * thread has not freed yet: such contexts are freed here.
 */
int pfm_remove_format(pfm_buffer_fmt_t *fmt)
{
	int err = pfm_unregister_buffer_fmt(fmt->fmt_uuid);

	if (err == EBUSY) {
		reap();
		err = pfm_unregister_buffer_fmt(fmt->fmt_uuid);
	}
	if (err == EBUSY)
		pfm_refuse(0, "%u contexts use format %s", fmt->users, fmt->fmt_name);
	else if (err)
		pfm_refuse(0, "format %s is not registered", fmt->fmt_name);
	return pfm_result(-err);
}

pfm_buffer_fmt_t *pfm_hold_format(const char *name, const unsigned char *uuid)
{
	have_formats();
	return name ? pfm_fmt_get_name(name) : pfm_fmt_get_uuid(uuid);
}

void pfm_put_format(pfm_buffer_fmt_t *fmt)
{
	pfm_fmt_put(fmt);
}

/* --- for perfmonctl() ----------------------------------------------------------------------- */

const struct pfm_pmu *pfm_pmu_of(int fd)
{
	const struct pfm_pmu *pmu;
	struct pfm_desc *d;
	sigset_t saved;
	int loaded;

	if (pfm_linux_call(fd, PFM_NR_IS_LOADED, 0, NULL, &loaded))
		return pfm_linux_pmu();
	d = pfm_desc_enter(fd, &saved);
	pmu = d ? d->ctx->pmu : NULL;
	pfm_desc_leave(d, &saved);
	return pmu;
}

static bool get_pmc(struct pfm_context *ctx, pfarg_pmc_t *req)
{
	const struct pfm_reg *reg = pfm_pmu_pmc(ctx->pmu, req->reg_num);
	struct pfm_set *set = pfm_set_find(ctx, req->reg_set);
	const struct pfm_pmc *pmc = set ? pfm_set_pmc(set, req->reg_num) : NULL;

	if (!reg || !set)
		return false;
	req->reg_value = pmc ? pmc->value : reg->dfl;
	req->reg_flags = pmc ? pmc->flags : 0;
	return true;
}

bool pfm_get_pmc(int fd, pfarg_pmc_t *req)
{
	sigset_t saved;
	struct pfm_desc *d = pfm_desc_enter(fd, &saved);
	bool known = d && get_pmc(d->ctx, req);

	pfm_desc_leave(d, &saved);
	return known;
}

static int is_loaded(struct pfm_context *ctx)
{
	return pfm_loaded(ctx);
}

int pfm_is_loaded(int fd)
{
	return simple_call(fd, is_loaded, PFM_NR_IS_LOADED);
}
