// SPDX-License-Identifier: GPL-2.0
/*
 * calls.c - the ioctls. Each copies its argument in, takes the context's lock, calls the core, and
 * copies the result out. An access to user memory may fault, and then wait without limit for a file
 * system (FUSE), so no lock is held during the access.
 */
#include <linux/nospec.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "compat.h"
#include "linux.h"

/* --- the context's lock ---------------------------------------------------------------------- */

/*
 * Takes the context's lock. mutex_trylock() is called first, because mutex_lock_killable() costs
 * more even if the mutex is free.
 */
static inline int enter(struct lx_context *lx)
{
	if (mutex_trylock(&lx->lock) || !mutex_lock_killable(&lx->lock))
		return 0;
	return pfm_refuse(-EINTR, "interrupted");
}

/* --- calls with a vector -------------------------------------------------------------------- */

#define CHUNK	64		/* elements that are processed at a time with interrupts disabled */

struct vector_call {
	size_t	size;		/* size of an element */
	int	(*fn)(struct pfm_context *ctx, void *v, int n);
};

#define VECTOR(name, type, core)						\
static int name(struct pfm_context *ctx, void *v, int n)			\
{										\
	BUILD_BUG_ON(sizeof(type) % sizeof(u64));				\
	return core(ctx, (type *)v, n);						\
}

VECTOR(write_pmcs, pfarg_pmc_t, pfm_do_write_pmcs)
VECTOR(write_pmds, pfarg_pmd_t, pfm_do_write_pmds)
VECTOR(create_evtsets, pfarg_setdesc_t, pfm_do_create_evtsets)
VECTOR(getinfo_evtsets, pfarg_setinfo_t, pfm_do_getinfo_evtsets)
VECTOR(delete_evtsets, pfarg_setdesc_t, pfm_do_delete_evtsets)

static int getinfo_pmcs(struct pfm_context *ctx, void *v, int n)
{
	int ret;

	lx_pmu_lock();
	ret = pfm_do_getinfo_pmcs(&lx_machine, v, n);
	lx_pmu_unlock();
	return ret;
}

static int getinfo_pmds(struct pfm_context *ctx, void *v, int n)
{
	int ret;

	lx_pmu_lock();
	ret = pfm_do_getinfo_pmds(&lx_machine, v, n);
	lx_pmu_unlock();
	return ret;
}

static const struct vector_call vectors[] = {
	[PFM_NR_WRITE_PMCS] = { sizeof(pfarg_pmc_t), write_pmcs },
	[PFM_NR_WRITE_PMDS] = { sizeof(pfarg_pmd_t), write_pmds },
	[PFM_NR_CREATE_EVTSETS] = { sizeof(pfarg_setdesc_t), create_evtsets },
	[PFM_NR_GETINFO_EVTSETS] = { sizeof(pfarg_setinfo_t), getinfo_evtsets },
	[PFM_NR_DELETE_EVTSETS] = { sizeof(pfarg_setdesc_t), delete_evtsets },
	[PFM_NR_GETINFO_PMCS] = { sizeof(pfarg_pmcinfo_t), getinfo_pmcs },
	[PFM_NR_GETINFO_PMDS] = { sizeof(pfarg_pmdinfo_t), getinfo_pmds },
};

/*
 * Returns memory for a vector, or NULL if there is none. A small vector uses the array in the
 * context, if no other call is using it. Larger vectors, and those of calls without a context, are
 * allocated.
 */
static inline void *vector_get(struct lx_context *lx, size_t size)
{
	void *v;

	if (lx && size <= sizeof(lx->vector) && !test_and_set_bit_lock(0, &lx->vector_used))
		return lx->vector;
	v = kvmalloc(size, GFP_KERNEL_ACCOUNT);
	if (!v)
		pfm_refuse(0, "no memory for the vector");
	return v;
}

static inline void vector_put(struct lx_context *lx, void *v)
{
	if (lx && v == lx->vector)
		clear_bit_unlock(0, &lx->vector_used);
	else
		kvfree(v);
}

static int call_in_chunks(struct pfm_context *ctx, const struct vector_call *call, void *v, int n)
{
	int ret = 0;

	for (int at = 0; at < n && !ret; at += CHUNK)
		ret = call->fn(ctx, v + at * call->size, min(n - at, CHUNK));
	return ret;
}

static int call_vector(struct lx_context *lx, const struct vector_call *call, void *v, int n)
{
	int ret;

	if (!lx)
		return call_in_chunks(NULL, call, v, n);
	ret = enter(lx);
	if (ret)
		return ret;
	lx_count_dropped(lx);
	ret = call_in_chunks(lx->ctx, call, v, n);
	lx_unlock(lx);
	return ret;
}

/*
 * Small structures are copied word by word, as the checks of copy_from_user() take longer than the
 * copying. Elements consist of whole words, and the kernel's buffer has room for size bytes.
 */
#define LITTLE	256

static bool copy_in(u64 *to, const u64 __user *from, size_t size)
{
	int err = 0;

	if (size > LITTLE)
		return !copy_from_user(to, from, size);
	if (!pfm_user_begin(from, size))
		return false;
	for (; size; size -= sizeof(*to))
		pfm_get_word(*to++, from++, err, fault);
	pfm_user_end();
	return !err;
fault: __maybe_unused
	pfm_user_end();
	return false;
}

static bool copy_out(u64 __user *to, const u64 *from, size_t size)
{
	int err = 0;

	if (size > LITTLE)
		return !copy_to_user(to, from, size);
	if (!pfm_user_begin(to, size))
		return false;
	for (; size; size -= sizeof(*to))
		pfm_put_word(*from++, to++, err, fault);
	pfm_user_end();
	return !err;
fault: __maybe_unused
	pfm_user_end();
	return false;
}

/*
 * Results are copied out also if the call failed: they show which element caused the failure
 * (3.1.2).
 */
static noinline long do_vector(struct lx_context *lx, const struct vector_call *call, int n, void __user *arg)
{
	size_t size = n * call->size;
	long ret = pfm_check_vector(&lx_machine, n, call->size);
	void *v;

	if (ret)
		return ret;
	v = vector_get(lx, size);
	if (!v)
		return -ENOMEM;
	if (!copy_in(v, arg, size)) {
		ret = pfm_refuse(-EFAULT, "the vector cannot be read");
	} else {
		ret = call_vector(lx, call, v, n);
		if (!copy_out(arg, v, size))
			ret = pfm_refuse(-EFAULT, "the vector cannot be written");
	}
	vector_put(lx, v);
	return ret;
}

/* --- reading PMDs --------------------------------------------------------------------------- */

/*
 * Copies in the words of each element that a read needs: the number of the register, set and flags,
 * and the reserved words, which must be 0.
 */
static bool elements_in(pfarg_pmd_t *v, const pfarg_pmd_t __user *arg, int n)
{
	int err = 0;

	BUILD_BUG_ON(offsetof(pfarg_pmd_t, reg_value) != sizeof(u64));
	BUILD_BUG_ON(sizeof(v->reg_reserved) != sizeof(u32) + 3 * sizeof(u64));
	if (!pfm_user_begin(arg, n * sizeof(*arg)))
		return false;
	for (; n--; v++, arg++) {
		pfm_get_word(*(u64 *)v, (const u64 __user *)arg, err, fault);
		pfm_get_word(v->reg_reserved[0], &arg->reg_reserved[0], err, fault);
		pfm_get_word(*(u64 *)&v->reg_reserved[1], (const u64 __user *)&arg->reg_reserved[1], err, fault);
		pfm_get_word(*(u64 *)&v->reg_reserved[3], (const u64 __user *)&arg->reg_reserved[3], err, fault);
		pfm_get_word(*(u64 *)&v->reg_reserved[5], (const u64 __user *)&arg->reg_reserved[5], err, fault);
	}
	pfm_user_end();
	return !err;
fault: __maybe_unused
	pfm_user_end();
	return false;
}

/* Copies out the flags of all n elements, and the values of the first num_read. */
static bool elements_out(const pfarg_pmd_t *v, pfarg_pmd_t __user *arg, int n, int num_read)
{
	int err = 0;

	if (!pfm_user_begin(arg, n * sizeof(*arg)))
		return false;
	for (int i = 0; i < n; i++, v++, arg++) {
		pfm_put_word(*(const u64 *)v, (u64 __user *)arg, err, fault);
		if (i >= num_read)
			continue;
		pfm_put_word(v->reg_value, &arg->reg_value, err, fault);
		pfm_put_word(v->reg_last_reset_val, &arg->reg_last_reset_val, err, fault);
		pfm_put_word(v->reg_ovfl_switch_cnt, &arg->reg_ovfl_switch_cnt, err, fault);
	}
	pfm_user_end();
	return !err;
fault: __maybe_unused
	pfm_user_end();
	return false;
}

/* Sets *read to the number of elements that were read. */
static int read_in_chunks(struct pfm_context *ctx, pfarg_pmd_t *v, int n, int *read)
{
	int ret = 0;

	for (int at = 0; at < n && !ret; at += CHUNK) {
		ret = pfm_do_read_pmds(ctx, v + at, min(n - at, CHUNK));
		*read += ctx->vector.n;
	}
	return ret;
}

static long read_these(struct lx_context *lx, pfarg_pmd_t *v, int n, pfarg_pmd_t __user *arg)
{
	int read = 0;
	long ret;

	if (!elements_in(v, arg, n))
		return pfm_refuse(-EFAULT, "the vector cannot be read");
	ret = enter(lx);
	if (ret)
		return ret;
	if (lx_has_views(lx))
		lx_arch_allow_read(lx);
	ret = read_in_chunks(lx->ctx, v, n, &read);
	if (!ret && READ_ONCE(lx->starved))
		ret = pfm_refuse(-EBUSY, "counts are incomplete: another PMU user took a counter since the load");
	lx_unlock(lx);
	if (!elements_out(v, arg, n, read))
		return pfm_refuse(-EFAULT, "the vector cannot be written");
	return ret;
}

long lx_read_pmds(struct lx_context *lx, int n, pfarg_pmd_t __user *arg)
{
	long ret = pfm_check_vector(&lx_machine, n, sizeof(*arg));
	pfarg_pmd_t *v;

	if (ret)
		return ret;
	v = vector_get(lx, n * sizeof(*arg));
	if (!v)
		return -ENOMEM;
	ret = read_these(lx, v, n, arg);
	vector_put(lx, v);
	return ret;
}

/* --- calls with one structure or none ------------------------------------------------------- */

/*
 * Functions with structures on the stack are not inlined: the kernel may be compiled to clear a
 * function's frame at each call, and the caller's frame would include them.
 */

static noinline long load_context(struct lx_context *lx, void __user *arg)
{
	struct task_struct *task;
	pfarg_load_t load;
	long ret;

	if (copy_from_user(&load, arg, sizeof(load)))
		return pfm_refuse(-EFAULT, "the argument cannot be read");
	task = lx_resolve_target(lx, load.load_pid);
	if (IS_ERR(task))
		return PTR_ERR(task);
	ret = enter(lx);
	if (!ret) {
		lx->target.pending = task;
		ret = pfm_do_load(lx->ctx, &load);
		lx->target.pending = NULL;
		lx_unlock(lx);
	}
	lx_target_put(task);
	return ret;
}

static noinline long start_with(struct lx_context *lx, void __user *arg)
{
	pfarg_start_t start;
	long ret;

	if (copy_from_user(&start, arg, sizeof(start)))
		return pfm_refuse(-EFAULT, "the argument cannot be read");
	ret = enter(lx);
	if (ret)
		return ret;
	lx_arch_allow_read(lx);
	ret = pfm_do_start(lx->ctx, &start);
	lx_unlock(lx);
	return ret;
}

/* Makes a call that has no argument. */
static long plain_call(struct pfm_context *ctx, unsigned int nr)
{
	switch (nr) {
	case PFM_NR_START:
		lx_arch_allow_read(lx_of(ctx));
		return pfm_do_start(ctx, NULL);
	case PFM_NR_STOP:
		return pfm_do_stop(ctx);
	case PFM_NR_RESTART:
		return pfm_do_restart(ctx);
	case PFM_NR_UNLOAD_CONTEXT:
		return pfm_do_unload(ctx);
	default:	/* PFM_NR_IS_LOADED */
		return pfm_loaded(ctx);
	}
}

static inline long plain(struct lx_context *lx, unsigned int nr)
{
	long ret = enter(lx);

	if (ret)
		return ret;
	ret = plain_call(lx->ctx, nr);
	lx_unlock(lx);
	return ret;
}

/* The ioctl's number contains the number of elements, so n is known before user memory is read. */
static inline long read_pmds(struct lx_context *lx, unsigned int n, void __user *arg)
{
	if (n == 1)
		return lx_read_one(lx, arg);
	return n && n <= LX_FAST_READ ? lx_read_few(lx, n, arg) : lx_read_pmds(lx, n, arg);
}

static noinline long buffer_size(struct lx_context *lx, void __user *arg)
{
	/* no lock is needed: buf_size never changes */
	return put_user((u64)lx->ctx->buf_size, (u64 __user *)arg) ? -EFAULT : 0;
}

static long on_context(struct lx_context *lx, unsigned int cmd, void __user *arg)
{
	unsigned int nr = _IOC_NR(cmd);

	switch (nr) {
	case PFM_NR_READ_PMDS:
		return read_pmds(lx, _IOC_SIZE(cmd), arg);
	case PFM_NR_LOAD_CONTEXT:
		return load_context(lx, arg);
	case PFM_NR_START:
		return arg ? start_with(lx, arg) : plain(lx, nr);
	case PFM_NR_STOP:
	case PFM_NR_RESTART:
	case PFM_NR_UNLOAD_CONTEXT:
	case PFM_NR_IS_LOADED:
		return plain(lx, nr);
	case PFM_NR_BUFFER_SIZE:
		return buffer_size(lx, arg);
	default:
		nr = array_index_nospec(nr, ARRAY_SIZE(vectors));
		return do_vector(lx, &vectors[nr], _IOC_SIZE(cmd), arg);
	}
}

/* --- calls that need no context ------------------------------------------------------------- */

static noinline long get_config(void __user *arg)
{
	pfarg_config_t cfg;
	int ret;

	lx_pmu_lock();
	ret = pfm_do_get_config(&lx_machine, &cfg);
	lx_pmu_unlock();
	if (!ret && copy_to_user(arg, &cfg, sizeof(cfg)))
		ret = pfm_refuse(-EFAULT, "the argument cannot be written");
	return ret;
}

static noinline long set_config(void __user *arg)
{
	pfarg_config_t cfg;

	int ret;

	if (copy_from_user(&cfg, arg, sizeof(cfg)))
		return pfm_refuse(-EFAULT, "the argument cannot be read");
	mutex_lock(&lx_config_lock);
	ret = pfm_do_set_config(&lx_machine, &cfg);
	mutex_unlock(&lx_config_lock);
	return ret;
}

static long getinfo_fmts(void __user *arg, int n)
{
	pfarg_fmtinfo_t *infos;
	long count;

	lx_formats_load_module();
	n = min(n, pfm_fmt_list(NULL, 0));
	if (!n)
		return pfm_fmt_list(NULL, 0);
	infos = kvcalloc(n, sizeof(*infos), GFP_KERNEL_ACCOUNT);
	if (!infos)
		return pfm_refuse(-ENOMEM, "no memory for the vector");
	count = pfm_fmt_list(infos, n);
	if (copy_to_user(arg, infos, min_t(long, n, count) * sizeof(*infos)))
		count = pfm_refuse(-EFAULT, "the vector cannot be written");
	kvfree(infos);
	return count;
}

static noinline long explain(void __user *arg)
{
	struct pfm_ioc_why why = { "" };

	lx_explain(why.text, sizeof(why.text));
	return copy_to_user(arg, &why, sizeof(why)) ? -EFAULT : 0;
}

long lx_common_ioctl(unsigned int cmd, void __user *arg)
{
	switch (_IOC_NR(cmd)) {
	case PFM_NR_GETINFO_PMCS:
	case PFM_NR_GETINFO_PMDS:
		return do_vector(NULL, &vectors[_IOC_NR(cmd)], _IOC_SIZE(cmd), arg);
	case PFM_NR_GETINFO_FMTS:
		return getinfo_fmts(arg, _IOC_SIZE(cmd));
	case PFM_NR_GET_CONFIG:
		return get_config(arg);
	case PFM_NR_SET_CONFIG:
		return set_config(arg);
	case PFM_NR_EXPLAIN:
		return explain(arg);
	case PFM_NR_ABI:
		return PFM_IOC_ABI;
	default:
		return -ENOTTY;
	}
}

long lx_context_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	if (_IOC_TYPE(cmd) != PFM_IOC_MAGIC)
		return -EINVAL;
	if (_IOC_NR(cmd) > PFM_NR_BUFFER_SIZE)
		return lx_common_ioctl(cmd, (void __user *)arg);
	return on_context(file->private_data, cmd, (void __user *)arg);
}
