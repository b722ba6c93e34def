// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * oprofile.c - the format with a buffer like OProfile's: a ring of words for each CPU, in which
 * escape codes mark changes of thread and privilege level.
 */
#include "formats.h"
#include "perfmon/perfmon_oprofile_smpl.h"

static uint64_t words_of(const pfm_oprofile_smpl_arg_t *a)
{
	return (a->buf_size - sizeof(pfm_oprofile_smpl_hdr_t)) / a->num_cpus / sizeof(uint64_t);
}

static int oprofile_validate(uint32_t ctx_flags, uint16_t num_pmds, void *arg)
{
	const pfm_oprofile_smpl_arg_t *a = arg;

	(void)ctx_flags, (void)num_pmds;
	if (!a->num_cpus || a->num_cpus > PFM_OPROFILE_MAX_CPUS || !pfm_all_zero(a->reserved, sizeof(a->reserved)))
		return EINVAL;
	if (a->buf_size != (size_t)a->buf_size || a->buf_size < sizeof(pfm_oprofile_smpl_hdr_t) ||
	    words_of(a) < PFM_OPROFILE_MAX_SAMPLE || a->watermark > words_of(a))
		return EINVAL;
	return 0;
}

static int oprofile_getsize(uint32_t ctx_flags, void *arg, size_t *size)
{
	(void)ctx_flags;
	*size = ((pfm_oprofile_smpl_arg_t *)arg)->buf_size;
	return 0;
}

static int oprofile_init(uint32_t ctx_flags, void *arg, void *buf)
{
	const pfm_oprofile_smpl_arg_t *a = arg;
	pfm_oprofile_smpl_hdr_t *h = buf;

	(void)ctx_flags;
	h->hdr_version = PFM_OPROFILE_SMPL_VERSION;
	h->hdr_num_cpus = a->num_cpus;
	h->hdr_buf_size = a->buf_size;
	h->hdr_offs = sizeof(*h);
	h->hdr_words = words_of(a);
	h->hdr_watermark = a->watermark ? a->watermark : (h->hdr_words + 1) / 2;
	return 0;
}

/* --- a CPU's words -------------------------------------------------------------------------- */

struct ring {
	pfm_oprofile_cpu_t	*cpu;
	uint64_t		*words, num;
};

static void put(struct ring *r, uint64_t word)
{
	r->words[r->cpu->head++ % r->num] = word;
}

static void put_escape(struct ring *r, uint64_t code)
{
	put(r, PFM_OPROFILE_ESCAPE);
	put(r, code);
}

static void put_thread(struct ring *r, const struct pfm_where *where)
{
	put_escape(r, PFM_OPROFILE_CTX_SWITCH);
	put(r, where->tid);
	put(r, 0);
	put_escape(r, PFM_OPROFILE_CTX_TGID);
	put(r, where->pid);
	r->cpu->tid = where->tid;
	r->cpu->pid = where->pid;
}

/* Addresses in the upper half of the address space are the kernel's. */
static void put_sample(struct ring *r, const struct pfm_where *where, uint16_t pmd)
{
	pfm_oprofile_cpu_t *c = r->cpu;
	uint32_t in_kernel = where->ip >> 63;

	if (!c->begun) {
		put_escape(r, PFM_OPROFILE_CPU_SWITCH);
		put(r, where->cpu);
	}
	if (!c->begun || c->tid != where->tid || c->pid != where->pid)
		put_thread(r, where);
	if (!c->begun || c->in_kernel != in_kernel)
		put_escape(r, in_kernel ? PFM_OPROFILE_KERNEL_ENTER : PFM_OPROFILE_USER_ENTER);
	c->in_kernel = in_kernel;
	c->begun = 1;
	put(r, where->ip);
	put(r, pmd);
}

static bool is_full(const pfm_oprofile_smpl_hdr_t *h, const pfm_oprofile_cpu_t *c)
{
	return h->hdr_words - (c->head - c->tail) < PFM_OPROFILE_MAX_SAMPLE;
}

/*
 * Returns true if the program must be notified. After a notification there is no other until the
 * program has given back the words that the first one reported.
 */
static bool must_notify(const pfm_oprofile_smpl_hdr_t *h, pfm_oprofile_cpu_t *c)
{
	if (c->told > c->tail || (c->head - c->tail < h->hdr_watermark && !is_full(h, c)))
		return false;
	c->told = c->head;
	c->begun = 0;
	return true;
}

static int oprofile_handler(void *buf, pfm_ovfl_arg_t *arg, uint64_t tstamp, void *data)
{
	pfm_oprofile_smpl_hdr_t *h = buf;
	const struct pfm_where *where = data;
	struct ring r;

	(void)tstamp;
	arg->ovfl_ctrl.reset_ovfl_pmds = 1;
	if (where->cpu >= h->hdr_num_cpus) {
		h->hdr_stray++;
		return 0;
	}
	r.cpu = &h->hdr_cpus[where->cpu];
	r.num = h->hdr_words;
	r.words = (uint64_t *)((char *)buf + h->hdr_offs) + where->cpu * r.num;
	if (is_full(h, r.cpu))
		r.cpu->lost++;
	else
		put_sample(&r, where, arg->ovfl_pmd);
	if (must_notify(h, r.cpu)) {
		arg->ovfl_ctrl.notify_user = 1;
		arg->ovfl_ctrl.block_thread = arg->any_notify;
	}
	return 0;
}

static int oprofile_restart(void *buf, int is_active, pfm_ovfl_ctrl_t *ctrl)
{
	pfm_oprofile_smpl_hdr_t *h = buf;

	for (uint32_t i = 0; i < h->hdr_num_cpus; i++)
		if (h->hdr_cpus[i].told > h->hdr_cpus[i].tail)
			h->hdr_cpus[i].tail = h->hdr_cpus[i].told;
	ctrl->reset_ovfl_pmds = !is_active;
	return 0;
}

pfm_buffer_fmt_t pfm_fmt_oprofile = {
	.fmt_name = PFM_OPROFILE_SMPL_NAME,
	.fmt_uuid = PFM_OPROFILE_SMPL_UUID,
	.fmt_arg_size = sizeof(pfm_oprofile_smpl_arg_t),
	.fmt_msgq_depth = 8,
	.fmt_version = PFM_OPROFILE_SMPL_VERSION,
	.fmt_validate = oprofile_validate,
	.fmt_getsize = oprofile_getsize,
	.fmt_init = oprofile_init,
	.fmt_handler = oprofile_handler,
	.fmt_restart = oprofile_restart,
};
