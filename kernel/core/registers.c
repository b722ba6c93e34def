// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * registers.c - writes PMCs and PMDs, reads PMDs (3.1.2 - 3.1.4). First the elements of a vector
 * are checked one by one, and room is reserved for their registers. Then all elements before the
 * first bad one are processed together in PMU context. An element that the machine refuses there is
 * taken back, so that no register keeps its value.
 */
#include "core.h"

static int no_set(uint32_t *flags, uint16_t id)
{
	*flags |= PFM_REG_RETFL_NOSET;
	return pfm_refuse(-EINVAL, "set %u does not exist", id);
}

static int not_available(uint32_t *flags, const char *what, uint16_t num)
{
	*flags |= PFM_REG_RETFL_NOTAVAIL;
	return pfm_refuse(-EINVAL, "%s%u is not available", what, num);
}

/* Marks the element as invalid. The caller has recorded the reason for err. */
static int invalid(uint32_t *flags, int err)
{
	*flags |= PFM_REG_RETFL_EINVAL;
	return err;
}

static inline int check_word(uint32_t *flags, uint32_t known, bool reserved_ok)
{
	if (*flags & ~known)
		return invalid(flags, pfm_refuse(-EINVAL, "unknown reg_flags %#x", *flags & ~known));
	if (!reserved_ok)
		return invalid(flags, pfm_refuse(-EINVAL, "reserved fields must be 0"));
	return 0;
}

/* --- writing PMCs --------------------------------------------------------------------------- */

/*
 * Refuses debug registers while a debugger uses them (5.6.2), because they cannot serve both the
 * debugger and range restrictions. Returns 0 or -EBUSY.
 */
static int check_debug(struct pfm_context *ctx, const struct pfm_reg *reg)
{
	const struct pfm_machine_ops *ops = pfm_ops(ctx);

	if (reg->type != PFM_REG_TYPE_IBR && reg->type != PFM_REG_TYPE_DBR)
		return 0;
	if (!pfm_loaded(ctx) || !ops->debugging || !ops->debugging(ctx->machine))
		return 0;
	return pfm_refuse(-EBUSY, "a debugger uses the debug registers");
}

/*
 * Returns true if the PMC accepts NO_EMUL64. If it controls a counter, reg->kind says so. If it
 * controls none, the flag is accepted and ignored (6.2.1), but debug registers accept no flags
 * (5.6.3).
 */
static bool knows_no_emul64(const struct pfm_pmu *pmu, const struct pfm_reg *reg)
{
	const struct pfm_reg *pmd;

	pfm_for_each_controlled(pmd, pmu, reg->num)
		if (pmd->kind & PFM_REG_C64)
			return reg->kind & PFM_REG_NO64;
	return reg->type != PFM_REG_TYPE_IBR && reg->type != PFM_REG_TYPE_DBR;
}

static int check_pmc_value(struct pfm_context *ctx, struct pfm_set *set, const struct pfm_reg *reg,
			   pfarg_pmc_t *req)
{
	const struct pfm_pmu *pmu = ctx->pmu;

	if ((req->reg_flags & PFM_REGFL_NO_EMUL64) && !knows_no_emul64(pmu, reg))
		return pfm_refuse(-EINVAL, "PMC%u does not know NO_EMUL64", req->reg_num);
	/* 3.1.13: reserved bits keep their default, whatever the program writes to them */
	req->reg_value = (req->reg_value & ~reg->rsvd) | (reg->dfl & reg->rsvd);
	if ((reg->kind & PFM_REG_WC) && pmu->check_pmc)
		return pmu->check_pmc(ctx, set, req->reg_num, &req->reg_value);
	return 0;
}

/* Reserves room for the PMC, and for the PMDs that it controls, which come into use with it. */
static int reserve_pmc(struct pfm_context *ctx, struct pfm_set *set, uint16_t num)
{
	int ret = pfm_set_reserve_pmc(ctx, set, num);
	const struct pfm_reg *pmd;

	pfm_for_each_controlled(pmd, ctx->pmu, num)
		if (!ret)
			ret = pfm_set_reserve_pmd(ctx, set, pmd->num);
	return ret;
}

/* Returns true if *num is below max; then *num is below max in speculative execution, too. */
static inline bool is_number(uint16_t *num, uint16_t max)
{
	if (*num >= max)
		return false;
	*num = pfm_os_index(*num, max);
	return true;
}

static int prepare_new_pmc(struct pfm_context *ctx, struct pfm_set *set, pfarg_pmc_t *req)
{
	int ret = reserve_pmc(ctx, set, req->reg_num);

	if (ret || !pfm_loaded(ctx) || !pfm_ops(ctx)->need)
		return ret;
	ret = pfm_ops(ctx)->need(ctx, req->reg_num);
	return ret ? invalid(&req->reg_flags, ret) : 0;
}

static int prepare_pmc(struct pfm_context *ctx, pfarg_pmc_t *req)
{
	const struct pfm_reg *reg = pfm_pmu_pmc(ctx->pmu, req->reg_num);
	struct pfm_set *set = pfm_set_find(ctx, req->reg_set);
	int ret;

	req->reg_flags &= ~PFM_REG_RETFL_MASK;
	if (!set)
		return no_set(&req->reg_flags, req->reg_set);
	if (!reg || !is_number(&req->reg_num, PFM_MAX_PMCS))
		return not_available(&req->reg_flags, "PMC", req->reg_num);
	ret = check_word(&req->reg_flags, PFM_REGFL_NO_EMUL64,
			 pfm_zeros(req->reg_reserved, sizeof(req->reg_reserved)));
	if (ret)
		return ret;
	ret = check_pmc_value(ctx, set, reg, req);
	if (!ret)
		ret = check_debug(ctx, reg);
	if (ret)
		return invalid(&req->reg_flags, ret);
	return pfm_bit(set->used_pmcs, req->reg_num) ? 0 : prepare_new_pmc(ctx, set, req);
}

/*
 * Runs fn, which writes the registers of n elements. If the machine says only afterwards whether
 * all fit, ctx->was has room for the former states of the registers, of "each" bytes.
 */
static int write_in_pmu(struct pfm_context *ctx, int (*fn)(struct pfm_context *, void *), void *v, size_t size,
			int n, size_t each)
{
	int ret;

	if (n && pfm_loaded(ctx) && pfm_ops(ctx)->fits) {
		ctx->was = pfm_os_alloc((size_t)(n < PFM_PART ? n : PFM_PART) * each);
		if (!ctx->was)
			return pfm_refuse(-ENOMEM, "no memory for %d elements", n);
	}
	ret = pfm_vector_in_pmu(ctx, fn, v, size, n);
	pfm_os_free(ctx->was);
	ctx->was = NULL;
	return ret;
}

/*
 * Returns true if the set is the active one of a loaded context. Must be called in PMU context,
 * where the active set cannot change.
 */
static bool on_pmu(const struct pfm_context *ctx, const struct pfm_set *set)
{
	return set == ctx->active && ctx->state != PFM_CTX_UNLOADED;
}

/*
 * Updates the view of a set that is not on the PMU. The view of the active set is updated by the
 * machine at the end of PMU context.
 */
static void update_view(struct pfm_context *ctx, struct pfm_set *set)
{
	if (set->view && !on_pmu(ctx, set))
		pfm_view_write(ctx, set);
}

/*
 * Brings a PMD into use. If the set is on the PMU, the value is written to the PMU, where the
 * register may still have another set's value.
 */
static int use_pmd(struct pfm_context *ctx, struct pfm_set *set, const struct pfm_reg *reg)
{
	bool is_new = !pfm_bit(set->used_pmds, reg->num);

	pfm_set_use_pmd(set, reg);
	return is_new && on_pmu(ctx, set) ? pfm_ops(ctx)->write_pmd(ctx, set, reg->num) : 0;
}

/*
 * Brings all the PMDs into use, even if there is an error with one of them; returns the first
 * error.
 */
static int use_pmds(struct pfm_context *ctx, struct pfm_set *set, const uint64_t *pmds)
{
	unsigned int num;
	int first = 0;

	pfm_for_each_bit(num, pmds) {
		int ret = use_pmd(ctx, set, pfm_pmu_pmd(ctx->pmu, num));

		first = first ? first : ret;
	}
	return first;
}

static int use_controlled(struct pfm_context *ctx, struct pfm_set *set, uint16_t num)
{
	const struct pfm_reg *pmd;
	int first = 0;

	pfm_for_each_controlled(pmd, ctx->pmu, num) {
		int ret = use_pmd(ctx, set, pmd);

		first = first ? first : ret;
		if (set->num_pmds == set->reserved_pmds)	/* no other PMD comes into use */
			break;
	}
	return first;
}

/* Stores the state of the PMC before the write in *was. */
static int apply_pmc(struct pfm_context *ctx, const pfarg_pmc_t *req, struct pfm_pmc *was)
{
	struct pfm_set *set = pfm_set_find(ctx, req->reg_set);
	bool is_new = !pfm_bit(set->used_pmcs, req->reg_num);
	struct pfm_pmc *pmc = pfm_set_use_pmc(set, req->reg_num);
	int ret;

	if (is_new)
		pmc->value = pfm_pmu_pmc(ctx->pmu, req->reg_num)->dfl;
	*was = *pmc;
	pmc->value = req->reg_value;
	pmc->flags = req->reg_flags;
	ret = is_new ? use_controlled(ctx, set, req->reg_num) : 0;
	update_view(ctx, set);
	if (!ret && on_pmu(ctx, set))
		ret = pfm_ops(ctx)->write_pmc(ctx, set, req->reg_num);
	return ret;
}

static void take_back_pmc(struct pfm_context *ctx, const pfarg_pmc_t *req, const struct pfm_pmc *was)
{
	struct pfm_set *set = pfm_set_find(ctx, req->reg_set);

	*pfm_set_pmc(set, req->reg_num) = *was;
	update_view(ctx, set);
	if (on_pmu(ctx, set))
		pfm_ops(ctx)->write_pmc(ctx, set, req->reg_num);
}

static int apply_pmcs(struct pfm_context *ctx, void *arg)
{
	struct pfm_vector *vec = &ctx->vector;
	struct pfm_pmc one, *was = ctx->was;
	pfarg_pmc_t *v = vec->v;
	int done = 0, ret = 0, err;

	(void)arg;
	for (; done < vec->n && !ret; done++) {
		struct pfm_pmc *before = was ? &was[done] : &one;

		ret = apply_pmc(ctx, &v[done], before);
		if (ret)
			take_back_pmc(ctx, &v[done], before);
	}
	if (ret)
		done--;
	while (was && done && (err = pfm_ops(ctx)->fits(ctx))) {
		ret = err;
		done--;
		take_back_pmc(ctx, &v[done], &was[done]);
	}
	if (ret)
		v[done].reg_flags |= PFM_REG_RETFL_EINVAL;
	return ret;
}

int pfm_do_write_pmcs(struct pfm_context *ctx, pfarg_pmc_t *v, int n)
{
	int bad = 0, good = 0, ret;

	if (pfm_inherits(ctx) && pfm_loaded(ctx))
		return pfm_refuse(-EBUSY, "INHERIT: PMCs cannot be written while the context is loaded");
	while (good < n && !(bad = prepare_pmc(ctx, &v[good])))
		good++;
	ret = write_in_pmu(ctx, apply_pmcs, v, sizeof(*v), good, sizeof(struct pfm_pmc));
	if (ret && bad)		/* the command ends at the first error (3.1.2) */
		v[good].reg_flags &= ~PFM_REG_RETFL_MASK;
	return ret ? ret : bad;
}

/* --- writing PMDs --------------------------------------------------------------------------- */

/* Refuses a field that names a PMD which is not among those possible there. */
static int check_named(const char *field, const uint64_t *named, const uint64_t *possible, const char *why)
{
	unsigned int num;

	pfm_for_each_bit(num, named)
		if (!pfm_bit(possible, num))
			return pfm_refuse(-EINVAL, "%s: PMD%u %s", field, num, why);
	return 0;
}

/* PMDs in smpl_pmds must exist; PMDs in reset_pmds must also be writable. */
static int check_vectors(const struct pfm_pmu *pmu, const pfarg_pmd_t *req)
{
	uint64_t all[PFM_PMD_BV] = { 0 }, writable[PFM_PMD_BV] = { 0 };
	int ret;

	for (unsigned int i = 0; i < pmu->num_pmds; i++) {
		pfm_bit_set(all, pmu->pmds[i].num);
		if (!(pmu->pmds[i].kind & PFM_REG_RO))
			pfm_bit_set(writable, pmu->pmds[i].num);
	}
	ret = check_named("reg_smpl_pmds", req->reg_smpl_pmds, all, "is not available");
	return ret ? ret : check_named("reg_reset_pmds", req->reg_reset_pmds, writable, "cannot be written");
}

static int check_pmd_value(struct pfm_context *ctx, struct pfm_set *set, const struct pfm_reg *reg,
			   pfarg_pmd_t *req)
{
	const struct pfm_pmu *pmu = ctx->pmu;

	if (reg->kind & PFM_REG_RO)
		return pfm_refuse(-EINVAL, "PMD%u (%s) is read-only", req->reg_num, reg->name);
	if (!(reg->kind & PFM_REG_C64))
		req->reg_value = (req->reg_value & ~reg->rsvd) | (reg->dfl & reg->rsvd);
	if ((reg->kind & PFM_REG_WC) && pmu->check_pmd)
		return pmu->check_pmd(ctx, set, req->reg_num, &req->reg_value);
	return 0;
}

#define PMD_WRITE_FLAGS (PFM_REGFL_OVFL_NOTIFY | PFM_REGFL_RANDOM | PFM_REGFL_VALUES | PFM_REGFL_ATTRS | \
			 PFM_REGFL_CHECK | PFM_REGFL_OWN | PFM_REGFL_FREQUENCY)

static int check_inherited(struct pfm_context *ctx, uint32_t flags)
{
	if ((flags & PFM_REGFL_OWN) && !pfm_inherits(ctx))
		return pfm_refuse(-EINVAL, "OWN needs a context with INHERIT");
	if (!(flags & PFM_REGFL_FREQUENCY))
		return 0;
	if (!pfm_inherits(ctx) || !ctx->fmt || !pfm_ops(ctx)->inherits)
		return pfm_refuse(-EINVAL, "FREQUENCY needs INHERIT, a format and a machine that adapts periods");
	if (flags & PFM_REGFL_RANDOM)
		return pfm_refuse(-EINVAL, "FREQUENCY does not go with RANDOM");
	return 0;
}

static int reserve_pmd(struct pfm_context *ctx, struct pfm_set *set, const pfarg_pmd_t *req)
{
	int ret = pfm_set_reserve_pmd(ctx, set, req->reg_num);
	uint64_t others[PFM_PMD_BV];
	unsigned int num;

	if (req->reg_flags & PFM_REGFL_VALUES)
		return ret;
	memcpy(others, req->reg_smpl_pmds, sizeof(others));
	pfm_bits_or(others, req->reg_reset_pmds);
	pfm_for_each_bit(num, others)
		if (!ret)
			ret = pfm_set_reserve_pmd(ctx, set, num);
	return ret;
}

static int prepare_pmd(struct pfm_context *ctx, pfarg_pmd_t *req)
{
	const struct pfm_pmu *pmu = ctx->pmu;
	const struct pfm_reg *reg = pfm_pmu_pmd(pmu, req->reg_num);
	struct pfm_set *set = pfm_set_find(ctx, req->reg_set);
	int ret;

	req->reg_flags &= ~PFM_REG_RETFL_MASK;
	if (!set)
		return no_set(&req->reg_flags, req->reg_set);
	if (!reg || !is_number(&req->reg_num, PFM_MAX_PMDS))
		return not_available(&req->reg_flags, "PMD", req->reg_num);
	ret = check_word(&req->reg_flags, PMD_WRITE_FLAGS,
			 pfm_zeros(req->reg_reserved, sizeof(req->reg_reserved)));
	if (ret)
		return ret;
	ret = check_inherited(ctx, req->reg_flags);
	if (!ret && !(req->reg_flags & PFM_REGFL_ATTRS))
		ret = check_pmd_value(ctx, set, reg, req);
	if (!ret)
		ret = check_vectors(pmu, req);
	return ret ? invalid(&req->reg_flags, ret) : reserve_pmd(ctx, set, req);
}

static void apply_values(struct pfm_pmd *pmd, const pfarg_pmd_t *req)
{
	pmd->value = pmd->last_reset = req->reg_value;
	pmd->passed = false;
	pfm_forget_children(pmd);
	pmd->long_reset = req->reg_long_reset;
	pmd->short_reset = req->reg_short_reset;
	pmd->switch_cnt = pmd->switch_left = req->reg_ovfl_switch_cnt;
	pmd->random_mask = req->reg_random_mask;
	pmd->random_seed = pmd->random_state = req->reg_random_seed;
}

static int apply_attrs(struct pfm_context *ctx, struct pfm_set *set, const pfarg_pmd_t *req)
{
	struct pfm_pmd *pmd = pfm_set_pmd(set, req->reg_num);
	uint64_t others[PFM_PMD_BV];

	pmd->flags = req->reg_flags & (PFM_REGFL_OVFL_NOTIFY | PFM_REGFL_RANDOM | PFM_REGFL_OWN |
				      PFM_REGFL_FREQUENCY);
	memcpy(pmd->smpl_pmds, req->reg_smpl_pmds, sizeof(pmd->smpl_pmds));
	memcpy(pmd->reset_pmds, req->reg_reset_pmds, sizeof(pmd->reset_pmds));
	set->resets_others |= !pfm_bits_empty(pmd->reset_pmds);
	pmd->samples = !pfm_bits_empty(pmd->smpl_pmds);
	pmd->eventid = req->reg_smpl_eventid;
	memcpy(others, pmd->smpl_pmds, sizeof(others));
	pfm_bits_or(others, pmd->reset_pmds);
	return use_pmds(ctx, set, others);
}

/* A PMD before a write, and whether a reset of it was due. */
struct former_pmd {
	struct pfm_pmd	pmd;
	bool		due;
};

/* Events that were counted since the write are not lost. */
static void take_back_pmd(struct pfm_context *ctx, const pfarg_pmd_t *req, const struct former_pmd *was)
{
	struct pfm_set *set = pfm_set_find(ctx, req->reg_set);
	struct pfm_pmd *pmd = pfm_set_pmd(set, req->reg_num);
	uint64_t value = pmd->value, children = pmd->children;

	*pmd = was->pmd;
	if (req->reg_flags & PFM_REGFL_ATTRS) {
		pmd->value = value;
		pmd->children = children;
	} else {
		pmd->value += value - req->reg_value;
		pmd->children += children + pmd->living;
	}
	if (was->due)
		pfm_bit_set(set->ovfl_pmds, req->reg_num);
	update_view(ctx, set);
	if (on_pmu(ctx, set))
		pfm_ops(ctx)->write_pmd(ctx, set, req->reg_num);
}

/*
 * Stores the former state in *was if the machine has fits(). On other machines "was" is NULL: only
 * reg->write() can refuse the write there, and a copy of the PMD, which is large, would be in vain.
 */
static int apply_pmd(struct pfm_context *ctx, const pfarg_pmd_t *req, struct former_pmd *was)
{
	const struct pfm_reg *reg = pfm_pmu_pmd(ctx->pmu, req->reg_num);
	struct pfm_set *set = pfm_set_find(ctx, req->reg_set);
	bool values = !(req->reg_flags & PFM_REGFL_ATTRS);
	int ret = values && reg->write ? reg->write(ctx, req->reg_value) : 0;
	struct pfm_pmd *pmd;

	if (ret)
		return ret;
	pmd = pfm_set_use_pmd(set, reg);
	if (was)
		*was = (struct former_pmd){ *pmd, pfm_bit(set->ovfl_pmds, req->reg_num) };
	if (values) {
		apply_values(pmd, req);
		/* 3.4.2: a PMD that is written while masked is nevertheless reset at the restart */
		if (set != ctx->active || ctx->state != PFM_CTX_MASKED)
			pfm_bit_clear(set->ovfl_pmds, req->reg_num);
	}
	if (!(req->reg_flags & PFM_REGFL_VALUES))
		ret = apply_attrs(ctx, set, req);
	update_view(ctx, set);
	if (!ret && on_pmu(ctx, set) && !reg->write)
		ret = pfm_ops(ctx)->write_pmd(ctx, set, req->reg_num);
	if (ret && was)
		take_back_pmd(ctx, req, was);
	return ret;
}

static int apply_pmds(struct pfm_context *ctx, void *arg)
{
	struct pfm_vector *vec = &ctx->vector;
	struct former_pmd *was = ctx->was;
	pfarg_pmd_t *v = vec->v;
	int done = 0, ret = 0, err;

	(void)arg;
	/* adds the counts so far, so that PMDs which are not written keep them */
	if (ctx->state == PFM_CTX_LOADED)
		pfm_ops(ctx)->collect(ctx, ctx->active);
	for (; done < vec->n && !ret; done++)
		if (!(v[done].reg_flags & PFM_REGFL_CHECK))
			ret = apply_pmd(ctx, &v[done], was ? &was[done] : NULL);
	if (ret)
		done--;
	while (was && done && (err = pfm_ops(ctx)->fits(ctx))) {
		ret = err;
		done--;
		if (!(v[done].reg_flags & PFM_REGFL_CHECK))
			take_back_pmd(ctx, &v[done], &was[done]);
	}
	if (ret)
		v[done].reg_flags |= PFM_REG_RETFL_EINVAL;
	return ret;
}

int pfm_do_write_pmds(struct pfm_context *ctx, pfarg_pmd_t *v, int n)
{
	int bad = 0, good = 0, ret;

	while (good < n && !(bad = prepare_pmd(ctx, &v[good])))
		good++;
	if (pfm_inherits(ctx))
		pfm_gather(ctx);
	ret = write_in_pmu(ctx, apply_pmds, v, sizeof(*v), good, sizeof(struct former_pmd));
	if (ret && bad)		/* the command ends at the first error (3.1.2) */
		v[good].reg_flags &= ~PFM_REG_RETFL_MASK;
	return ret ? ret : bad;
}

/* --- reading PMDs --------------------------------------------------------------------------- */

/*
 * Refuses a read of the thread's own count unless the PMD was written with OWN, as some machines
 * need a second counter for it.
 */
static int check_read_own(struct pfm_context *ctx, struct pfm_set *set, const pfarg_pmd_t *req)
{
	const struct pfm_pmd *pmd = pfm_set_pmd(set, req->reg_num);
	int ret = check_inherited(ctx, req->reg_flags);

	if (!ret && pmd && !(pmd->flags & PFM_REGFL_OWN))
		ret = pfm_refuse(-EINVAL, "PMD%u was not written with OWN", req->reg_num);
	return ret;
}

static int check_read_ended(struct pfm_context *ctx, const pfarg_pmd_t *req)
{
	if (!pfm_inherits(ctx))
		return pfm_refuse(-EINVAL, "ENDED needs a context with INHERIT");
	if (req->reg_flags & (PFM_REGFL_OWN | PFM_REGFL_READ_RESET))
		return pfm_refuse(-EINVAL, "ENDED does not go with %s",
				  req->reg_flags & PFM_REGFL_OWN ? "OWN" : "READ_RESET");
	if (pfm_ops(ctx)->inherits)
		return pfm_refuse(-EINVAL, "ENDED: machine %s does not count ended threads separately",
				  pfm_ops(ctx)->name);
	return 0;
}

static int check_read(struct pfm_context *ctx, pfarg_pmd_t *req)
{
	struct pfm_set *set = pfm_set_find(ctx, req->reg_set);
	int ret;

	req->reg_flags &= ~PFM_REG_RETFL_MASK;
	if (!set)
		return no_set(&req->reg_flags, req->reg_set);
	if (!is_number(&req->reg_num, PFM_MAX_PMDS) ||
	    (!pfm_set_pmd(set, req->reg_num) && !pfm_pmu_pmd(ctx->pmu, req->reg_num)))
		return not_available(&req->reg_flags, "PMD", req->reg_num);
	/*
	 * As in perfmon 2.x, the flags of a write are accepted, so that a program can read with the
	 * vector that it has written.
	 */
	ret = check_word(&req->reg_flags, PMD_WRITE_FLAGS | PFM_REGFL_READ_RESET | PFM_REGFL_ENDED,
			 pfm_zeros(req->reg_reserved, sizeof(req->reg_reserved)));
	if (ret || !(req->reg_flags & (PFM_REGFL_OWN | PFM_REGFL_ENDED)))
		return ret;
	ret = req->reg_flags & PFM_REGFL_ENDED ? check_read_ended(ctx, req) : check_read_own(ctx, set, req);
	return ret ? invalid(&req->reg_flags, ret) : 0;
}

/*
 * Makes a long reset of the PMD, and of those in its reset_pmds, after a read with READ_RESET
 * (6.2.2). It is not inlined, because its array would slow down reads without a reset.
 */
static __attribute__((__noinline__))
void read_reset(struct pfm_context *ctx, struct pfm_set *set, struct pfm_pmd *pmd)
{
	uint64_t bits[PFM_PMD_BV] = { 0 };

	pfm_bit_set(bits, pmd->num);
	pfm_bit_clear(set->ovfl_pmds, pmd->num);
	pfm_forget_children(pmd);
	pfm_reset_pmds(ctx, set, bits, PFM_RESET_LONG);
	update_view(ctx, set);
}

/* Reads a PMD that is not in use: returns the value of a virtual PMD, or the default. */
static void read_unused(struct pfm_context *ctx, pfarg_pmd_t *req)
{
	const struct pfm_reg *reg = pfm_pmu_pmd(ctx->pmu, req->reg_num);

	req->reg_value = (reg->kind & PFM_REG_C64) ? 0 : reg->dfl;
	if (reg->read)
		req->reg_value = reg->read(ctx, NULL);
	req->reg_last_reset_val = req->reg_value;
	req->reg_ovfl_switch_cnt = 0;
}

static void read_one(struct pfm_context *ctx, pfarg_pmd_t *req)
{
	struct pfm_set *set = pfm_set_find(ctx, req->reg_set);
	struct pfm_pmd *pmd = pfm_set_pmd(set, req->reg_num);

	if (!pmd) {
		read_unused(ctx, req);
		return;
	}
	req->reg_value = pmd->reg->read ? pmd->reg->read(ctx, NULL) : pmd->value;
	if (pmd->is_counter && (req->reg_flags & PFM_REGFL_ENDED))
		req->reg_value = pmd->children;
	else if (pmd->is_counter && !(req->reg_flags & PFM_REGFL_OWN))
		req->reg_value += pmd->children + pmd->living;
	req->reg_last_reset_val = pmd->last_reset;
	req->reg_ovfl_switch_cnt = pfm_switches_left(set, pmd);
}

/*
 * Resets PMDs after all values have been read, because a reset of one may reset another one of the
 * vector, too.
 */
static void reset_read(struct pfm_context *ctx, const pfarg_pmd_t *req)
{
	struct pfm_set *set = pfm_set_find(ctx, req->reg_set);
	struct pfm_pmd *pmd = pfm_set_pmd(set, req->reg_num);

	if (pmd)
		read_reset(ctx, set, pmd);
}

static int read_all(struct pfm_context *ctx, void *arg)
{
	pfarg_pmd_t *v = ctx->vector.v, *end = v + ctx->vector.n;
	uint32_t flags = 0;

	(void)arg;
	/*
	 * While the context is masked, nothing counts: the values stay as the overflow left them
	 * (3.5.14).
	 */
	if (ctx->state == PFM_CTX_LOADED)
		pfm_ops(ctx)->collect(ctx, ctx->active);
	for (; v < end; v++) {
		read_one(ctx, v);
		flags |= v->reg_flags;
	}
	if (flags & PFM_REGFL_READ_RESET)
		for (v = ctx->vector.v; v < end; v++)
			if (v->reg_flags & PFM_REGFL_READ_RESET)
				reset_read(ctx, v);
	return 0;
}

/*
 * Reads the PMDs of a masked context, and returns true; returns false if the context is not masked,
 * or a PMD must be reset. While the context is masked, all values are in memory, and only a command
 * changes them. So they can be read on any CPU, without an interrupt on the monitored one. (4.3.2
 * asks for the monitored CPU, but 3.1.4 allows "any type of session".)
 */
static bool read_masked(struct pfm_context *ctx, pfarg_pmd_t *v, int n)
{
	if (pfm_state_acquire(ctx) != PFM_CTX_MASKED)
		return false;
	for (int i = 0; i < n; i++)
		if (v[i].reg_flags & PFM_REGFL_READ_RESET)
			return false;
	ctx->vector = (struct pfm_vector){ v, n };
	read_all(ctx, NULL);
	return true;
}

int pfm_do_read_pmds(struct pfm_context *ctx, pfarg_pmd_t *v, int n)
{
	int bad = 0, good = 0, ret;

	while (good < n && !(bad = check_read(ctx, &v[good])))
		good++;
	if (pfm_inherits(ctx))
		pfm_gather(ctx);
	else if (read_masked(ctx, v, good))
		return bad;
	ret = pfm_vector_in_pmu(ctx, read_all, v, sizeof(*v), good);
	if (!ret)
		return bad;
	if (good <= PFM_PART)
		/*
		 * The vector is no longer than a part: none of its elements was read. For a longer
		 * one, pfm_parts_in_pmu() has set vector.n to the number that were read.
		 */
		ctx->vector.n = 0;
	return ret;
}
