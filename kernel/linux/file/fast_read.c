// SPDX-License-Identifier: GPL-2.0
/*
 * fast_read.c - the most frequent read: the monitored thread itself reads a few PMDs of the active
 * set, with no flags. calls.c does any other read, and each read that cannot be completed here,
 * which then has had no effect. The rules are those of lx_access(): the PMDs are read while the
 * context's lock is held, interrupts are off, and lx->busy is set. User memory is accessed only
 * before and after that.
 */
#include <linux/ptrace.h>
#include <linux/uaccess.h>

#include "compat.h"
#include "linux.h"

/* the words of a pfarg_pmd_t that are copied in and out */
struct element {
	u64	asked;		/* number, set and flags, in the layout of pfarg_pmd_t */
	u64	value, last_reset, switches;
};

static inline u16 num_of(const struct element *e)
{
	return e->asked;
}

static inline u16 set_of(const struct element *e)
{
	return e->asked >> 16;
}

static inline u32 flags_of(const struct element *e)
{
	return e->asked >> 32;
}

static __always_inline bool elements_in(struct element *e, const pfarg_pmd_t __user *arg, int n)
{
	u64 word, any = 0;
	u32 half;
	int err = 0;

	if (!pfm_user_begin(arg, n * sizeof(*arg)))
		return false;
	for (; n--; e++, arg++) {
		pfm_get_word(e->asked, (const u64 __user *)arg, err, fault);
		pfm_get_word(half, &arg->reg_reserved[0], err, fault);
		any |= half | flags_of(e);
		pfm_get_word(word, (const u64 __user *)&arg->reg_reserved[1], err, fault);
		any |= word;
		pfm_get_word(word, (const u64 __user *)&arg->reg_reserved[3], err, fault);
		any |= word;
		pfm_get_word(word, (const u64 __user *)&arg->reg_reserved[5], err, fault);
		any |= word;
	}
	pfm_user_end();
	return !err && !any;
fault: __maybe_unused
	pfm_user_end();
	return false;
}

static __always_inline bool elements_out(const struct element *e, pfarg_pmd_t __user *arg, int n)
{
	int err = 0;

	if (!pfm_user_begin(arg, n * sizeof(*arg)))
		return false;
	for (; n--; e++, arg++) {
		pfm_put_word(e->value, &arg->reg_value, err, fault);
		pfm_put_word(e->last_reset, &arg->reg_last_reset_val, err, fault);
		pfm_put_word(e->switches, &arg->reg_ovfl_switch_cnt, err, fault);
	}
	pfm_user_end();
	return !err;
fault: __maybe_unused
	pfm_user_end();
	return false;
}

/*
 * Runs in PMU context. Returns NULL if the PMD is not of the active set, is not in use, or is a
 * virtual one, which is computed at each read.
 */
static __always_inline struct pfm_pmd *find_pmd(struct pfm_set *active, const struct element *e)
{
	struct pfm_pmd *pmd;

	if (set_of(e) != active->id || num_of(e) >= PFM_MAX_PMDS)
		return NULL;
	pmd = pfm_set_pmd(active, pfm_os_index(num_of(e), PFM_MAX_PMDS));
	return pmd && !pmd->reg->read ? pmd : NULL;
}

static __always_inline bool read_one(struct lx_context *lx, struct pfm_set *active, struct element *e, bool collect)
{
	struct pfm_pmd *pmd = find_pmd(active, e);

	if (!pmd)
		return false;
	if (collect)
		lx_collect_one(lx, pmd);
	e->value = pmd->value;
	e->last_reset = pmd->last_reset;
	e->switches = pfm_switches_left(active, pmd);
	return true;
}

/*
 * Runs in PMU context; the target is the calling thread. Returns false if calls.c must do the read.
 */
static __always_inline bool read_all(struct lx_context *lx, struct element *e, int n)
{
	struct pfm_context *ctx = lx->ctx;
	bool running = lx->running;

	if (!pfm_loaded(ctx) || pfm_inherits(ctx) || (running && lx_has_to_drain(lx)))
		return false;
	/* the first read after a view was mapped must go through calls.c, which allows rdpmc */
	if (lx_has_views(lx) && !lx_arch_may_read(lx))
		return false;
	if (n > 1 && running)
		lx_collect_active(lx);
	for (int i = 0; i < n; i++)
		if (!read_one(lx, ctx->active, &e[i], n == 1 && running))
			return false;
	return !lx->starved;
}

static __always_inline bool read_here(struct lx_context *lx, struct element *e, int n)
{
	bool done = false;

	if (!mutex_trylock(&lx->lock))
		return false;
	if (lx->target.task == current) {
		local_irq_disable();
		lx_enter(lx);
		done = read_all(lx, e, n);
		if (!lx_left_clean(lx))
			lx_catch_up(lx, task_pt_regs(current));
		local_irq_enable();
	}
	lx_unlock(lx);
	return done;
}

static __always_inline bool read_these(struct lx_context *lx, struct element *e, int n, pfarg_pmd_t __user *arg)
{
	return elements_in(e, arg, n) && read_here(lx, e, n) && elements_out(e, arg, n);
}

/*
 * Reads one element, which is the most frequent case and needs no array: the compiler clears and
 * guards arrays.
 */
long lx_read_one(struct lx_context *lx, pfarg_pmd_t __user *arg)
{
	struct element e;

	return read_these(lx, &e, 1, arg) ? 0 : lx_read_pmds(lx, 1, arg);
}

long lx_read_few(struct lx_context *lx, int n, pfarg_pmd_t __user *arg)
{
	struct element e[LX_FAST_READ];

	/* these elements never exceed the limit arg_size_max, which is at least a page */
	BUILD_BUG_ON(LX_FAST_READ * sizeof(*arg) > PAGE_SIZE);
	return read_these(lx, e, n, arg) ? 0 : lx_read_pmds(lx, n, arg);
}
