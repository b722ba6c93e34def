// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * dfl.c - the default sampling format (3.6), in the layout of the specification and in that of
 * perfmon 2.x. Both are filled by the same code; a struct layout has the sizes and offsets.
 */
#include "formats.h"
#include "perfmon/perfmon_dfl_smpl.h"

#define KNOWN_FLAGS (PFM_DFL_SMPL_NO_HDR | PFM_DFL_SMPL_IIP_HDR)

/*
 * The members of the header that change between samples, or that the handler needs, in either
 * layout.
 */
struct fill {
	uint64_t	count, offs, overflows, size;
	uint32_t	flags;
};

struct layout {
	const char *format;
	size_t	hdr_size, entry_size;
	void	(*load)(const void *buf, struct fill *f);
	void	(*store)(void *buf, const struct fill *f);
	void	(*entry)(void *to, const pfm_ovfl_arg_t *arg, uint64_t tstamp,
			 const struct pfm_where *where);
};

static inline size_t head_size(const struct layout *l, uint32_t flags)
{
	if (flags & PFM_DFL_SMPL_NO_HDR)
		return 0;
	return flags & PFM_DFL_SMPL_IIP_HDR ? sizeof(uint64_t) : l->entry_size;
}

/* Returns the size of the largest possible sample (3.6.5). The formula ignores the flags. */
static inline size_t max_sample(const struct layout *l, uint16_t num_pmds)
{
	return l->entry_size + (size_t)num_pmds * sizeof(uint64_t);
}

/* Returns the size of a sample with that many PMDs. */
static inline size_t sample_size(const struct layout *l, uint32_t flags, uint16_t num_smpl_pmds)
{
	return head_size(l, flags) + (size_t)num_smpl_pmds * sizeof(uint64_t);
}

static int check_arg(const struct layout *l, uint64_t size, uint32_t flags, uint16_t num_pmds)
{
	if (flags & ~KNOWN_FLAGS || (flags & KNOWN_FLAGS) == KNOWN_FLAGS)
		return EINVAL;
	if (size < l->hdr_size + max_sample(l, num_pmds) || size != (size_t)size)
		return pfm_refuse_buf_size(l->format, size, max_sample(l, num_pmds));
	return 0;
}

/* Writes the header that the flags ask for, and the PMDs of interest; returns the sample's size. */
static inline __attribute__((always_inline))
size_t put_sample(const struct layout *l, void *at, uint32_t flags, const pfm_ovfl_arg_t *arg,
			 uint64_t tstamp, const struct pfm_where *where)
{
	size_t head = head_size(l, flags);
	char *body = (char *)at + head;

	if (flags & PFM_DFL_SMPL_IIP_HDR)
		memcpy(at, &where->ip, sizeof(where->ip));
	else if (head)
		l->entry(at, arg, tstamp, where);
	for (unsigned int i = 0; i < arg->num_smpl_pmds; i++, body += sizeof(uint64_t))
		memcpy(body, &arg->smpl_pmds_values[i], sizeof(uint64_t));
	return body - (char *)at;
}

/*
 * Called when the buffer is full: asks the core to notify and to mask (3.6.5), so the thread is not
 * monitored until the restart. If a PMD that overflowed has OVFL_NOTIFY, the thread may be blocked
 * until then; if none has it, the thread goes on.
 */
void pfm_dfl_hold(pfm_ovfl_arg_t *arg)
{
	arg->ovfl_ctrl.notify_user = arg->ovfl_ctrl.mask_monitoring = 1;
	arg->ovfl_ctrl.block_thread = arg->any_notify;
}

/*
 * Handles an overflow. It is inlined for each layout, because it runs in the interrupt and must be
 * fast. The buffer is full when, after a sample, the largest possible one would not fit any more
 * (3.6.5, post-check).
 */
static inline __attribute__((always_inline))
int handle(const struct layout *l, void *buf, pfm_ovfl_arg_t *arg, uint64_t tstamp, void *data)
{
	struct fill f;
	size_t largest;
	bool was_full;

	l->load(buf, &f);
	largest = max_sample(l, arg->num_pmds);
	/* true if another PMD, which overflowed at the same time, has filled the buffer */
	was_full = f.size - f.offs < largest;
	if (!was_full || f.size - f.offs >= sample_size(l, f.flags, arg->num_smpl_pmds)) {
		f.offs += put_sample(l, (char *)buf + f.offs, f.flags, arg, tstamp, data);
		f.count++;
	}	/* a sample that does not fit is lost */
	if (f.size - f.offs < largest) {
		f.overflows += !was_full;
		pfm_dfl_hold(arg);
	} else {
		arg->ovfl_ctrl.reset_ovfl_pmds = 1;
	}
	l->store(buf, &f);
	return 0;
}

/*
 * Empties the buffer by changing only its header (3.6.5). If monitoring is active, no reset is due,
 * and the flag reset_ovfl_pmds has no effect.
 */
static int restart(const struct layout *l, void *buf, pfm_ovfl_ctrl_t *ctrl)
{
	struct fill f;

	l->load(buf, &f);
	f.count = 0;
	f.offs = l->hdr_size;
	l->store(buf, &f);
	ctrl->reset_ovfl_pmds = 1;
	ctrl->mask_monitoring = 0;
	return 0;
}

/* --- the layout of 2.x ---------------------------------------------------------------------- */

static void load_2x(const void *buf, struct fill *f)
{
	const pfm_dfl_smpl_hdr_t *h = buf;

	*f = (struct fill){ h->hdr_count, h->hdr_cur_offs, h->hdr_overflows, h->hdr_buf_size,
			    h->hdr_buf_flags };
}

static void store_2x(void *buf, const struct fill *f)
{
	pfm_dfl_smpl_hdr_t *h = buf;

	h->hdr_count = f->count;
	h->hdr_cur_offs = f->offs;
	h->hdr_overflows = f->overflows;
}

void pfm_dfl_put_entry(void *to, const pfm_ovfl_arg_t *arg, uint64_t tstamp, const struct pfm_where *where)
{
	*(pfm_dfl_smpl_entry_t *)to = (pfm_dfl_smpl_entry_t){
		.pid = where->tid, .tgid = where->pid, .ovfl_pmd = arg->ovfl_pmd, .ip = where->ip,
		.last_reset_val = arg->pmd_last_reset, .tstamp = tstamp, .cpu = where->cpu,
		.set = arg->active_set,
	};
}

static const struct layout layout_2x = {
	PFM_DFL_SMPL_NAME, sizeof(pfm_dfl_smpl_hdr_t), sizeof(pfm_dfl_smpl_entry_t), load_2x,
	store_2x, pfm_dfl_put_entry
};

size_t pfm_dfl_max_sample(uint16_t num_pmds)
{
	return max_sample(&layout_2x, num_pmds);
}

size_t pfm_dfl_put_sample(void *at, uint32_t buf_flags, const pfm_ovfl_arg_t *arg, uint64_t tstamp,
			  const struct pfm_where *where)
{
	return put_sample(&layout_2x, at, buf_flags, arg, tstamp, where);
}

static int validate_2x(uint32_t ctx_flags, uint16_t num_pmds, void *arg)
{
	pfm_dfl_smpl_arg_t *a = arg;

	(void)ctx_flags;
	if (a->reserved1 || !pfm_all_zero(a->reserved, sizeof(a->reserved)))
		return EINVAL;
	/*
	 * The largest sample depends on num_pmds, which fmt_init() does not get. So its size is
	 * stored in arg, the core's copy of the argument.
	 */
	a->reserved[0] = max_sample(&layout_2x, num_pmds);
	return check_arg(&layout_2x, a->buf_size, a->buf_flags, num_pmds);
}

static int getsize_2x(uint32_t ctx_flags, void *arg, size_t *size)
{
	(void)ctx_flags;
	*size = ((pfm_dfl_smpl_arg_t *)arg)->buf_size;
	return 0;
}

static int init_2x(uint32_t ctx_flags, void *arg, void *buf)
{
	const pfm_dfl_smpl_arg_t *a = arg;

	(void)ctx_flags;
	*(pfm_dfl_smpl_hdr_t *)buf = (pfm_dfl_smpl_hdr_t){
		.hdr_cur_offs = sizeof(pfm_dfl_smpl_hdr_t), .hdr_buf_size = a->buf_size,
		.hdr_min_buf_space = a->reserved[0],
		.hdr_version = PFM_DFL_SMPL_VERSION, .hdr_buf_flags = a->buf_flags,
	};
	return 0;
}

static int handler_2x(void *buf, pfm_ovfl_arg_t *arg, uint64_t tstamp, void *data)
{
	return handle(&layout_2x, buf, arg, tstamp, data);
}

int pfm_dfl_restart(void *buf, int is_active, pfm_ovfl_ctrl_t *ctrl)
{
	(void)is_active;
	return restart(&layout_2x, buf, ctrl);
}

pfm_buffer_fmt_t pfm_fmt_default = {
	.fmt_name = PFM_DFL_SMPL_NAME,
	.fmt_uuid = PFM_DFL_SMPL_UUID,
	.fmt_arg_size = sizeof(pfm_dfl_smpl_arg_t),
	.fmt_msgq_depth = 1,
	.fmt_version = PFM_DFL_SMPL_VERSION,
	.fmt_validate = validate_2x,
	.fmt_getsize = getsize_2x,
	.fmt_init = init_2x,
	.fmt_handler = handler_2x,
	.fmt_restart = pfm_dfl_restart,
};

/* --- the layout of section 3.6 -------------------------------------------------------------- */

static void load_06(const void *buf, struct fill *f)
{
	const pfm_default_smpl_hdr_t *h = buf;

	*f = (struct fill){ h->hdr_count, h->hdr_cur_offs, h->hdr_overflows, h->hdr_buf_size,
			    h->hdr_flags };
}

static void store_06(void *buf, const struct fill *f)
{
	pfm_default_smpl_hdr_t *h = buf;

	h->hdr_count = f->count;
	h->hdr_cur_offs = f->offs;
	h->hdr_overflows = f->overflows;
}

static void entry_06(void *to, const pfm_ovfl_arg_t *arg, uint64_t tstamp, const struct pfm_where *where)
{
	pfm_default_smpl_entry_t *e = to;

	/* the padding is cleared, too, because the program can read it */
	memset(e, 0, sizeof(*e));
	e->pid = where->pid;
	e->tid = where->tid;
	e->ovfl_pmd = arg->ovfl_pmd;
	e->set = arg->active_set;
	e->cpu = where->cpu;
	e->last_reset_val = arg->pmd_last_reset;
	e->tstamp = tstamp;
	e->ip = where->ip;
}

static const struct layout layout_06 = {
	PFM_DEFAULT_SMPL_NAME, sizeof(pfm_default_smpl_hdr_t), sizeof(pfm_default_smpl_entry_t), load_06,
	store_06, entry_06
};

static int validate_06(uint32_t ctx_flags, uint16_t num_pmds, void *arg)
{
	const pfm_default_smpl_arg_t *a = arg;

	(void)ctx_flags;
	return check_arg(&layout_06, a->buf_size, a->buf_flags, num_pmds);
}

static int getsize_06(uint32_t ctx_flags, void *arg, size_t *size)
{
	(void)ctx_flags;
	*size = ((pfm_default_smpl_arg_t *)arg)->buf_size;
	return 0;
}

static int init_06(uint32_t ctx_flags, void *arg, void *buf)
{
	const pfm_default_smpl_arg_t *a = arg;

	(void)ctx_flags;
	*(pfm_default_smpl_hdr_t *)buf = (pfm_default_smpl_hdr_t){
		.hdr_cur_offs = sizeof(pfm_default_smpl_hdr_t), .hdr_buf_size = a->buf_size,
		.hdr_version = PFM_DEFAULT_SMPL_VERSION, .hdr_flags = a->buf_flags,
	};
	return 0;
}

static int handler_06(void *buf, pfm_ovfl_arg_t *arg, uint64_t tstamp, void *data)
{
	return handle(&layout_06, buf, arg, tstamp, data);
}

static int restart_06(void *buf, int is_active, pfm_ovfl_ctrl_t *ctrl)
{
	(void)is_active;
	return restart(&layout_06, buf, ctrl);
}

pfm_buffer_fmt_t pfm_fmt_default_06 = {
	.fmt_name = PFM_DEFAULT_SMPL_NAME,
	.fmt_uuid = PFM_DEFAULT_SMPL_UUID,
	.fmt_arg_size = sizeof(pfm_default_smpl_arg_t),
	.fmt_msgq_depth = 1,
	.fmt_version = PFM_DEFAULT_SMPL_VERSION,
	.fmt_validate = validate_06,
	.fmt_getsize = getsize_06,
	.fmt_init = init_06,
	.fmt_handler = handler_06,
	.fmt_restart = restart_06,
};
