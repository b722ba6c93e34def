// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * prog.c - the format in which a classic BPF program decides about each overflow. The samples that
 * the program keeps are stored by another format, the base format, which fills the end of the
 * buffer as if it were its own buffer (3.6.5).
 */
#include "formats.h"
#include "pfm_prog.h"
#include "perfmon/perfmon_nway_smpl.h"
#include "perfmon/perfmon_stack_smpl.h"

_Static_assert(sizeof(pfm_dfl_smpl_arg_t) <= sizeof(((pfm_prog_smpl_arg_t *)0)->base_arg) &&
	       sizeof(pfm_nway_smpl_arg_t) <= sizeof(((pfm_prog_smpl_arg_t *)0)->base_arg) &&
	       sizeof(pfm_stack_smpl_arg_t) <= sizeof(((pfm_prog_smpl_arg_t *)0)->base_arg),
	       "there is room for each base's argument");

/*
 * The record begins with the same members as struct pfm_where, so the bytes up to LOCATED are
 * copied at once.
 */
#define LOCATED offsetof(pfm_prog_record_t, last_reset_val)
_Static_assert(offsetof(pfm_prog_record_t, tstamp) == offsetof(struct pfm_where, tstamp) &&
	       offsetof(pfm_prog_record_t, pid) == offsetof(struct pfm_where, pid) &&
	       offsetof(pfm_prog_record_t, tid) == offsetof(struct pfm_where, tid) &&
	       LOCATED == offsetof(struct pfm_where, cpu), "both begin alike");

#define ACTIONS (PFM_PROG_KEEP | PFM_PROG_NOTIFY | PFM_PROG_MASK | PFM_PROG_STOP | PFM_PROG_BLOCK)

/*
 * The state of a context. It contains the record that is passed to the program, because a context's
 * overflows never come at the same time.
 */
struct judge {
	pfm_prog_record_t	record;
	struct pfm_prog		prog;
	/* how many bytes of the record the program can read */
	uint32_t		reach;
	uint32_t		num_buckets;
	pfm_prog_smpl_hdr_t	*hdr;
	uint64_t		*buckets;
	const pfm_buffer_fmt_t	*base;		/* the base format, or NULL */
	void			*samples;	/* the base format's buffer */
	size_t			size;		/* size of the whole buffer */
	uint64_t		stopped_at;	/* where->tstamp of the last STOP */
	bool			stopped;
};

static const pfm_buffer_fmt_t *const bases[] = {
	[PFM_PROG_SMPL_DEFAULT] = &pfm_fmt_default,
	[PFM_PROG_SMPL_NWAY] = &pfm_fmt_nway,
	[PFM_PROG_SMPL_STACK] = &pfm_fmt_stack,
};

/* Returns the base format, or NULL if there is none. */
static const pfm_buffer_fmt_t *base_of(const pfm_prog_smpl_arg_t *a)
{
	uint32_t n = sizeof(bases) / sizeof(bases[0]);

	return a->base < n ? bases[pfm_os_index(a->base, n)] : NULL;
}

static size_t base_offs(const pfm_prog_smpl_arg_t *a)
{
	return sizeof(pfm_prog_smpl_hdr_t) + (size_t)a->num_buckets * sizeof(uint64_t);
}

/* --- creating: 3.5.10 - 3.5.12 --------------------------------------------------------------- */

static int check_arg(const pfm_prog_smpl_arg_t *a)
{
	if (!a->insns)
		return pfm_refuse(EFAULT, "the program is NULL");
	if (!a->num_insns || a->num_insns > PFM_PROG_SMPL_MAX_INSNS)
		return pfm_refuse(EINVAL, "a program has 1 to %u instructions, not %u", PFM_PROG_SMPL_MAX_INSNS,
				  a->num_insns);
	if (a->num_buckets > PFM_PROG_SMPL_MAX_BUCKETS)
		return pfm_refuse(EINVAL, "a histogram has up to %u buckets, not %u", PFM_PROG_SMPL_MAX_BUCKETS,
				  a->num_buckets);
	if (a->base != PFM_PROG_SMPL_NONE && !base_of(a))
		return pfm_refuse(EINVAL, "no base format has the number %u", a->base);
	if (a->reserved1 || !pfm_all_zero(a->reserved, sizeof(a->reserved)) ||
	    (!a->base && !pfm_all_zero(a->base_arg, sizeof(a->base_arg))))
		return pfm_refuse(EINVAL, "reserved fields must be 0");
	return 0;
}

/*
 * Sets *size to the size of the base format's buffer, or to 0 if there is no base format. Returns 0
 * or an errno.
 */
static int size_base(uint32_t ctx_flags, uint16_t num_pmds, pfm_prog_smpl_arg_t *a, size_t *size)
{
	const pfm_buffer_fmt_t *base = base_of(a);
	int err;

	*size = 0;
	if (!base)
		return 0;
	err = base->fmt_validate(ctx_flags, num_pmds, a->base_arg);
	if (!err)
		err = base->fmt_getsize(ctx_flags, a->base_arg, size);
	if (!err && *size > SIZE_MAX - base_offs(a))
		err = EINVAL;
	return err ? pfm_refuse(err, "the argument of its base, %s, is not valid", base->fmt_name) : 0;
}

static int prog_create(pfm_buffer_fmt_t *fmt, uint32_t ctx_flags, uint16_t num_pmds, void *arg, size_t *size,
		       void **self)
{
	pfm_prog_smpl_arg_t *a = arg;
	struct judge *j;
	int err = check_arg(a);

	(void)fmt;
	if (!err)
		err = size_base(ctx_flags, num_pmds, a, size);
	if (err)
		return err;
	j = pfm_os_alloc(sizeof(*j));
	if (!j)
		return ENOMEM;
	err = pfm_prog_load(&j->prog, a, &j->reach);
	if (err) {
		pfm_os_free(j);
		return err;
	}
	j->num_buckets = a->num_buckets;
	j->base = base_of(a);
	*size += base_offs(a);
	j->size = *size;
	*self = j;
	return 0;
}

static int prog_init(void *self, uint32_t ctx_flags, void *arg, void *buf)
{
	pfm_prog_smpl_arg_t *a = arg;
	struct judge *j = self;

	j->hdr = buf;
	j->buckets = (uint64_t *)(j->hdr + 1);
	j->samples = (char *)buf + base_offs(a);
	*j->hdr = (pfm_prog_smpl_hdr_t){
		.hdr_base_offs = base_offs(a), .hdr_buf_size = j->size, .hdr_version = PFM_PROG_SMPL_VERSION,
		.hdr_base = a->base, .hdr_num_buckets = a->num_buckets,
	};
	return j->base ? j->base->fmt_init(ctx_flags, a->base_arg, j->samples) : 0;
}

static void prog_exit(void *self)
{
	struct judge *j = self;

	pfm_prog_unload(&j->prog);
	pfm_os_free(j);
}

static void prog_want(const void *arg, struct pfm_stack_want *want)
{
	const pfm_prog_smpl_arg_t *a = arg;
	const pfm_buffer_fmt_t *base = base_of(a);

	if (base && base->fmt_want)
		base->fmt_want(a->base_arg, want);
}

/* --- overflows: 3.5.14, 3.5.15 --------------------------------------------------------------- */

static inline void describe_values(struct judge *j, const pfm_ovfl_arg_t *arg)
{
	unsigned int n = (j->reach - offsetof(pfm_prog_record_t, values) + 7) / sizeof(uint64_t);

	for (unsigned int i = 0; i < n; i++)
		j->record.values[i] = i < arg->num_smpl_pmds ? arg->smpl_pmds_values[i] : 0;
}

/* Fills in the record as far as the program can read it. */
static inline void describe(struct judge *j, const pfm_ovfl_arg_t *arg, const struct pfm_where *where)
{
	pfm_prog_record_t *r = &j->record;

	memcpy(r, where, LOCATED);
	if (j->reach <= LOCATED)
		return;
	r->last_reset_val = arg->pmd_last_reset;
	r->cpu = where->cpu;
	r->set = arg->active_set;
	r->ovfl_pmd = arg->ovfl_pmd;
	r->num_values = arg->num_smpl_pmds;
	if (j->reach > offsetof(pfm_prog_record_t, values))
		describe_values(j, arg);
}

static inline void count(struct judge *j, size_t bucket)
{
	size_t n = j->num_buckets;

	if (bucket < n)
		j->buckets[pfm_os_index(bucket, n)]++;
	else
		j->hdr->hdr_outside++;
}

/*
 * Notes a STOP, which stops monitoring. An overflow with a later time ends the stop: no overflow
 * comes while monitoring is stopped, so the context must have been loaded again.
 */
static void note_stop(struct judge *j, uint32_t verdict, uint64_t tstamp)
{
	if (verdict & PFM_PROG_STOP)
		j->stopped_at = tstamp;
	else if (j->stopped_at == tstamp)
		return;
	j->hdr->hdr_stopped = j->stopped = !!(verdict & PFM_PROG_STOP);
}

/*
 * Does what the verdict says if that is more than a drop or a count. Not inlined, so that overflows
 * which are only dropped or counted do not set up its stack frame.
 */
static __attribute__((__noinline__))
int act(struct judge *j, uint32_t verdict, pfm_ovfl_arg_t *arg, const struct pfm_where *where)
{
	pfm_ovfl_ctrl_t *ctrl = &arg->ovfl_ctrl;
	int err = 0;

	if (verdict & PFM_PROG_BUCKET(0))
		count(j, verdict & PFM_PROG_NO_BUCKET);
	if (j->stopped || verdict & PFM_PROG_STOP)
		note_stop(j, verdict, where->tstamp);
	if (verdict & PFM_PROG_KEEP && j->base) {
		ctrl->reset_ovfl_pmds = 0;
		j->hdr->hdr_kept++;
		err = j->base->fmt_handler(j->samples, arg, where->tstamp, (void *)where);
	}
	if (verdict & PFM_PROG_NOTIFY)
		ctrl->notify_user = 1;
	if (verdict & PFM_PROG_BLOCK)
		ctrl->block_thread = 1;
	if (verdict & (PFM_PROG_MASK | PFM_PROG_STOP)) {
		ctrl->mask_monitoring = 1;
		ctrl->reset_ovfl_pmds = 0;
	}
	return err;
}

static int prog_handler(void *self, pfm_ovfl_arg_t *arg, const struct pfm_where *where)
{
	struct judge *j = self;
	uint32_t verdict;

	describe(j, arg, where);
	verdict = pfm_prog_run(&j->prog, &j->record);
	j->hdr->hdr_runs++;
	arg->ovfl_ctrl = (pfm_ovfl_ctrl_t){ .reset_ovfl_pmds = 1 };
	if (verdict & ACTIONS)
		return act(j, verdict, arg, where);
	/* The path that counts takes longer, so the compiler lays it out without a jump. */
	if (__builtin_expect(verdict & PFM_PROG_BUCKET(0), 1))
		count(j, verdict & PFM_PROG_NO_BUCKET);
	return 0;
}

static int prog_restart(void *self, int is_active, pfm_ovfl_ctrl_t *ctrl)
{
	struct judge *j = self;
	int err = 0;

	if (j->base)
		err = j->base->fmt_restart(j->samples, is_active, ctrl);
	else
		ctrl->reset_ovfl_pmds = !is_active;
	if (j->stopped && !is_active) {
		ctrl->mask_monitoring = 1;
		ctrl->reset_ovfl_pmds = 0;
	}
	return err;
}

/* Passes a record to the base format. It is called only if the base format wants records. */
static bool prog_record(void *self, const struct pfm_record *rec)
{
	struct judge *j = self;

	return j->base->fmt_record(j->samples, rec);
}

static const struct pfm_fmt_ops ops = {
	.create = prog_create, .init = prog_init, .handler = prog_handler, .restart = prog_restart,
	.record = prog_record, .exit = prog_exit,
};

pfm_buffer_fmt_t pfm_fmt_prog = {
	.fmt_name = PFM_PROG_SMPL_NAME,
	.fmt_uuid = PFM_PROG_SMPL_UUID,
	.fmt_arg_size = sizeof(pfm_prog_smpl_arg_t),
	.fmt_msgq_depth = PFM_NWAY_MAX_REGIONS,
	.fmt_version = PFM_PROG_SMPL_VERSION,
	.fmt_want = prog_want,
	.fmt_ops = &ops,
};
