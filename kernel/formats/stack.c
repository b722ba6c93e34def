// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * stack.c - the format of samples with call stacks, and of records of what programs do (6.3.2). Its
 * buffer fills like that of the default format (3.6.5), but samples and records differ in size. The
 * end of the buffer is reserved for records. Records that come while the buffer is full and the
 * program reads it are written there, after the last one. They become visible when the restart
 * moves them to the beginning of the buffer. If the buffer is divided into regions, each region is
 * filled like a buffer.
 */
#include "formats.h"
#include "perfmon/perfmon_stack_smpl.h"

#define KNOWN_FLAGS (PFM_STACK_SMPL_NO_KERNEL | PFM_STACK_SMPL_NO_USER | PFM_STACK_SMPL_COPY | \
		     PFM_STACK_SMPL_RECORDS | PFM_STACK_SMPL_SWITCHES)

#define ALL_LOST	(PFM_STACK_SMPL_LOST_REASONS * sizeof(pfm_stack_smpl_lost_t))
#define MAX_RECORD	(sizeof(pfm_stack_smpl_map_t) + PFM_STACK_SMPL_MAX_PATH + ALL_LOST)
#define KEPT_FREE_MAX	65536	/* most bytes that a restart may have to move */

_Static_assert(sizeof(pfm_stack_smpl_hdr_t) == sizeof(pfm_dfl_smpl_hdr_t) &&
	       offsetof(pfm_stack_smpl_hdr_t, hdr_lost) == offsetof(pfm_dfl_smpl_hdr_t, hdr_reserved),
	       "the header begins as the default format's");
_Static_assert((int)PFM_STACK_SMPL_MAP == (int)PFM_RECORD_MAP && (int)PFM_STACK_SMPL_SWITCH == (int)PFM_RECORD_SWITCH,
	       "records are numbered as the core's");
_Static_assert(PFM_STACK_SMPL_LOST_REASONS == sizeof(((pfm_stack_smpl_hdr_t *)0)->hdr_untold) / sizeof(uint64_t),
	       "each reason has its count");

/* Fills in what the argument requires of the machine. Fields that are 0 stand for defaults. */
static void want(const void *arg, struct pfm_stack_want *w)
{
	const pfm_stack_smpl_arg_t *a = arg;

	w->kernel = !(a->buf_flags & PFM_STACK_SMPL_NO_KERNEL);
	w->user = !(a->buf_flags & PFM_STACK_SMPL_NO_USER);
	w->max_frames = a->max_frames ? a->max_frames : PFM_STACK_SMPL_FRAMES;
	if (a->buf_flags & PFM_STACK_SMPL_COPY)
		w->max_stack = a->max_stack ? a->max_stack : PFM_STACK_SMPL_BYTES;
	w->records = a->buf_flags & PFM_STACK_SMPL_RECORDS;
	w->switches = a->buf_flags & PFM_STACK_SMPL_SWITCHES;
}

static size_t max_sample(const struct pfm_stack_want *w, uint16_t num_pmds)
{
	size_t words = (size_t)num_pmds + w->max_frames;

	if (w->max_stack)
		words += PFM_STACK_SMPL_MAX_REGS;
	return sizeof(pfm_stack_smpl_sample_t) + words * sizeof(uint64_t) + w->max_stack;
}

static size_t fills_size(const pfm_stack_smpl_arg_t *a)
{
	return a->num_regions > 1 ? a->num_regions * sizeof(pfm_stack_smpl_fill_t) : 0;
}

static uint64_t region_size(const pfm_stack_smpl_arg_t *a)
{
	uint64_t head = sizeof(pfm_stack_smpl_hdr_t) + fills_size(a);

	if (a->buf_size < head)
		return 0;
	return a->num_regions > 1 ? (a->buf_size - head) / a->num_regions & ~7ULL : a->buf_size - head;
}

/*
 * Returns how many bytes are reserved: for records that come while the buffer is full, and for LOST
 * records that are written before a sample.
 */
static size_t kept_free(const pfm_stack_smpl_arg_t *a)
{
	size_t part = (a->num_regions > 1 ? region_size(a) : a->buf_size) / 8 & ~7ULL;

	if (!(a->buf_flags & PFM_STACK_SMPL_RECORDS))
		return 0;
	if (part > KEPT_FREE_MAX)
		part = KEPT_FREE_MAX;
	return part > MAX_RECORD ? part : MAX_RECORD;
}

/* --- regions ---------------------------------------------------------------------------------- */

/* indices of 64-bit words in a pfm_stack_smpl_fill_t; the header begins with the same two words */
enum { COUNT, OFFS, FILL_WORDS };

_Static_assert(sizeof(pfm_stack_smpl_fill_t) == FILL_WORDS * sizeof(uint64_t) &&
	       offsetof(pfm_stack_smpl_fill_t, cur_offs) == OFFS * sizeof(uint64_t) &&
	       offsetof(pfm_stack_smpl_hdr_t, hdr_count) == COUNT * sizeof(uint64_t) &&
	       offsetof(pfm_stack_smpl_hdr_t, hdr_cur_offs) == OFFS * sizeof(uint64_t),
	       "a fill is two words, the header's first two");

static uint64_t *fill_at(pfm_stack_smpl_hdr_t *h, unsigned int region)
{
	return h->hdr_num_regions ? (uint64_t *)(h + 1) + region * FILL_WORDS : (uint64_t *)h;
}

/* Returns the count and offset of the region that is being filled. */
static uint64_t *fill(pfm_stack_smpl_hdr_t *h)
{
	return fill_at(h, h->hdr_cur);
}

static uint64_t start_of(const pfm_stack_smpl_hdr_t *h, unsigned int region)
{
	return h->hdr_num_regions ? h->hdr_cur_offs + region * h->hdr_region_size : sizeof(*h);
}

/* Returns the number of free bytes in the region that is being filled. */
static uint64_t room(pfm_stack_smpl_hdr_t *h)
{
	uint64_t end = h->hdr_num_regions ? start_of(h, h->hdr_cur) + h->hdr_region_size : h->hdr_buf_size;

	return end - fill(h)[OFFS] - h->hdr_held;
}

static uint16_t after(const pfm_stack_smpl_hdr_t *h, uint16_t region)
{
	return (uint16_t)((region + 1U) % h->hdr_num_regions);
}

static int stack_validate(uint32_t ctx_flags, uint16_t num_pmds, void *arg)
{
	pfm_stack_smpl_arg_t *a = arg;
	struct pfm_stack_want w = { 0 };
	uint64_t least;

	(void)ctx_flags;
	if (a->buf_flags & ~KNOWN_FLAGS || !pfm_all_zero(a->reserved, sizeof(a->reserved)) ||
	    a->reserved1 || a->num_regions > PFM_STACK_SMPL_MAX_REGIONS ||
	    a->max_frames > PFM_STACK_SMPL_MAX_FRAMES || a->max_stack > PFM_STACK_SMPL_MAX_BYTES ||
	    a->max_stack % sizeof(uint64_t) || (a->max_stack && !(a->buf_flags & PFM_STACK_SMPL_COPY)) ||
	    (a->buf_flags & PFM_STACK_SMPL_SWITCHES && !(a->buf_flags & PFM_STACK_SMPL_RECORDS)))
		return EINVAL;
	want(a, &w);
	/*
	 * The largest sample depends on num_pmds, which fmt_init() does not get. So the bytes to
	 * keep free are computed here and stored in arg, the core's copy of the argument.
	 */
	a->reserved[0] = max_sample(&w, num_pmds) + kept_free(a);
	least = a->reserved[0];
	/* twice the room, so that the records which a restart moves do not fill the buffer again */
	if (w.records)
		least += a->reserved[0];
	if (region_size(a) < least || a->buf_size != (size_t)a->buf_size)
		return pfm_refuse_buf_size(PFM_STACK_SMPL_NAME, a->buf_size, least);
	return 0;
}

static int stack_getsize(uint32_t ctx_flags, void *arg, size_t *size)
{
	(void)ctx_flags;
	*size = ((pfm_stack_smpl_arg_t *)arg)->buf_size;
	return 0;
}

static int stack_init(uint32_t ctx_flags, void *arg, void *buf)
{
	const pfm_stack_smpl_arg_t *a = arg;
	pfm_stack_smpl_hdr_t *h = buf;
	struct pfm_stack_want w = { 0 };

	(void)ctx_flags;
	want(a, &w);
	*h = (pfm_stack_smpl_hdr_t){
		.hdr_cur_offs = sizeof(pfm_stack_smpl_hdr_t) + fills_size(a), .hdr_buf_size = a->buf_size,
		.hdr_min_buf_space = a->reserved[0], .hdr_version = PFM_STACK_SMPL_VERSION,
		.hdr_buf_flags = a->buf_flags, .hdr_max_frames = w.max_frames, .hdr_max_stack = w.max_stack,
	};
	if (a->num_regions > 1) {
		h->hdr_num_regions = a->num_regions;
		h->hdr_region_size = region_size(a);
	}
	for (unsigned int i = 0; i < h->hdr_num_regions; i++) {
		fill_at(h, i)[COUNT] = 0;
		fill_at(h, i)[OFFS] = start_of(h, i);
	}
	return 0;
}

/*
 * Writes the frames, registers and copy of the stack that the machine can provide, beginning at
 * body. Returns the end of the sample.
 */
static char *put_stack(const pfm_stack_smpl_hdr_t *h, pfm_stack_smpl_sample_t *s, char *body,
		       const struct pfm_where *where)
{
	const struct pfm_stack_ops *ops = where->stack;
	uint64_t *words = (uint64_t *)body;

	if (!ops)
		return body;
	if (!(h->hdr_buf_flags & PFM_STACK_SMPL_NO_KERNEL))
		s->num_kernel = ops->frames(where, PFM_KERNEL_FRAMES, words, h->hdr_max_frames);
	words += s->num_kernel;
	if (!(h->hdr_buf_flags & PFM_STACK_SMPL_NO_USER))
		s->num_user = ops->frames(where, PFM_USER_FRAMES, words, h->hdr_max_frames - s->num_kernel);
	words += s->num_user;
	if (!(h->hdr_buf_flags & PFM_STACK_SMPL_COPY) || !ops->copy)
		return (char *)words;
	s->num_regs = ops->regs(where, words, PFM_STACK_SMPL_MAX_REGS);
	words += s->num_regs;
	if (s->num_regs)
		s->stack_size = ops->copy(where, words, h->hdr_max_stack) & ~7U;
	return (char *)words + s->stack_size;
}

/* Writes a sample at s, where the largest possible sample has room; returns its size. */
static size_t put_sample(const pfm_stack_smpl_hdr_t *h, pfm_stack_smpl_sample_t *s, const pfm_ovfl_arg_t *arg,
			 uint64_t tstamp, const struct pfm_where *where)
{
	char *body = (char *)(s + 1);

	*s = (pfm_stack_smpl_sample_t){ .rec.rec_type = PFM_STACK_SMPL_SAMPLE, .num_pmds = arg->num_smpl_pmds };
	pfm_dfl_put_entry(&s->entry, arg, tstamp, where);
	for (unsigned int i = 0; i < arg->num_smpl_pmds; i++, body += sizeof(uint64_t))
		memcpy(body, &arg->smpl_pmds_values[i], sizeof(uint64_t));
	body = put_stack(h, s, body, where);
	s->rec.rec_size = body - (char *)s;
	return s->rec.rec_size;
}

/*
 * Returns true if the region is full: after a sample has been written, the largest possible one
 * would not fit any more (3.6.5, post-check).
 */
static bool is_full(pfm_stack_smpl_hdr_t *h)
{
	return room(h) + h->hdr_held < h->hdr_min_buf_space;
}

/*
 * Called when a region is full. If the program has given back the next region, that is filled from
 * now on, and true is returned. Returns false if all regions are full.
 */
static bool move_on(pfm_stack_smpl_hdr_t *h)
{
	if (h->hdr_num_full + 1 >= h->hdr_num_regions) {
		h->hdr_overflows++;
		return false;
	}
	h->hdr_cur = after(h, h->hdr_cur);
	/* atomic, because the program may read the header at any time */
	__atomic_store_n(&h->hdr_num_full, h->hdr_num_full + 1, __ATOMIC_RELEASE);
	return true;
}

/* Returns the end of the last record, where the next one is written. */
static void *end_of(pfm_stack_smpl_hdr_t *h)
{
	return (char *)h + fill(h)[OFFS] + h->hdr_held;
}

/*
 * Returns a pointer to the number that a new record increases: the offset up to which the program
 * reads or, if the buffer is full, the number of bytes that the restart will move.
 */
static uint64_t *in_use(pfm_stack_smpl_hdr_t *h)
{
	return is_full(h) ? &h->hdr_held : &fill(h)[OFFS];
}

static void put_event(pfm_stack_smpl_event_t *e, const struct pfm_record *rec, uint32_t size)
{
	*e = (pfm_stack_smpl_event_t){
		.rec = { rec->type, size }, .pid = rec->pid, .tid = rec->tid, .tstamp = rec->tstamp,
	};
}

/*
 * Writes a LOST record for each reason for which something was lost. Their process, thread and time
 * are those of rec, which stands for the record or sample that is written next. *used is the number
 * that this record or sample increases, too: see in_use().
 */
static void put_lost(pfm_stack_smpl_hdr_t *h, uint64_t *used, const struct pfm_record *rec)
{
	for (unsigned int i = 0; i < PFM_STACK_SMPL_LOST_REASONS; i++) {
		pfm_stack_smpl_lost_t *lost;

		if (!h->hdr_untold[i])
			continue;
		lost = end_of(h);
		*lost = (pfm_stack_smpl_lost_t){ .count = h->hdr_untold[i], .why = i };
		put_event(&lost->event, rec, sizeof(*lost));
		lost->event.rec.rec_type = PFM_STACK_SMPL_LOST;
		h->hdr_untold[i] = 0;
		*used += sizeof(*lost);
	}
}

/* A sample has filled the region, so the program is notified. */
static void end_region(pfm_stack_smpl_hdr_t *h, pfm_ovfl_arg_t *arg)
{
	if (!move_on(h)) {
		pfm_dfl_hold(arg);
		return;
	}
	arg->ovfl_ctrl.notify_user = arg->ovfl_ctrl.reset_ovfl_pmds = 1;
	arg->ovfl_ctrl.block_thread = arg->any_notify;
}

static int stack_handler(void *buf, pfm_ovfl_arg_t *arg, uint64_t tstamp, void *data)
{
	const struct pfm_where *where = data;
	const struct pfm_record who = { .pid = where->pid, .tid = where->tid, .tstamp = tstamp };
	pfm_stack_smpl_hdr_t *h = buf;

	if (is_full(h)) {	/* another overflow at the same time has filled the region */
		h->hdr_lost++;
		h->hdr_untold[PFM_STACK_SMPL_LOST_FULL] += !!(h->hdr_buf_flags & PFM_STACK_SMPL_RECORDS);
		pfm_dfl_hold(arg);
		return 0;
	}
	put_lost(h, &fill(h)[OFFS], &who);
	fill(h)[OFFS] += put_sample(h, end_of(h), arg, tstamp, data);
	fill(h)[COUNT]++;
	if (is_full(h))
		end_region(h, arg);
	else
		arg->ovfl_ctrl.reset_ovfl_pmds = 1;
	return 0;
}

/* --- records -------------------------------------------------------------------------------- */

static size_t length(const char *text, size_t max)
{
	size_t n = 0;

	while (n < max && text[n])
		n++;
	return n;
}

static size_t put_map(pfm_stack_smpl_map_t *map, const struct pfm_record *rec)
{
	const char *path = rec->name;
	size_t len = length(path, PFM_STACK_SMPL_MAX_PATH - 1), padded = (len + sizeof(uint64_t)) & ~7UL;

	*map = (pfm_stack_smpl_map_t){ .addr = rec->addr, .len = rec->len, .offset = rec->offset };
	if (rec->build_id && rec->build_id_size <= sizeof(map->build_id)) {
		memcpy(map->build_id, rec->build_id, rec->build_id_size);
		map->build_id_size = rec->build_id_size;
	}
	memset(map + 1, 0, padded);
	memcpy(map + 1, path, len);
	put_event(&map->event, rec, sizeof(*map) + padded);
	return sizeof(*map) + padded;
}

static size_t put_exec(pfm_stack_smpl_exec_t *exec, const struct pfm_record *rec)
{
	*exec = (pfm_stack_smpl_exec_t){ 0 };
	put_event(&exec->event, rec, sizeof(*exec));
	memcpy(exec->comm, rec->name, length(rec->name, sizeof(exec->comm) - 1));
	return sizeof(*exec);
}

static size_t put_fork(pfm_stack_smpl_fork_t *made, const struct pfm_record *rec)
{
	*made = (pfm_stack_smpl_fork_t){ .ppid = rec->ppid, .ptid = rec->ptid };
	put_event(&made->event, rec, sizeof(*made));
	return sizeof(*made);
}

static size_t put_count(pfm_stack_smpl_count_t *count, const struct pfm_record *rec)
{
	*count = (pfm_stack_smpl_count_t){ .value = rec->count, .pmd = rec->num };
	put_event(&count->event, rec, sizeof(*count));
	return sizeof(*count);
}

static size_t put_switch(pfm_stack_smpl_switch_t *s, const struct pfm_record *rec)
{
	*s = (pfm_stack_smpl_switch_t){ .how = rec->how };
	put_event(&s->event, rec, sizeof(*s));
	return sizeof(*s);
}

static size_t put_record(void *at, const struct pfm_record *rec)
{
	switch (rec->type) {
	case PFM_RECORD_MAP:
		return put_map(at, rec);
	case PFM_RECORD_EXEC:
	case PFM_RECORD_RENAME:
		return put_exec(at, rec);
	case PFM_RECORD_FORK:
		return put_fork(at, rec);
	case PFM_RECORD_COUNT:
		return put_count(at, rec);
	case PFM_RECORD_SWITCH:
		return put_switch(at, rec);
	default:
		put_event(at, rec, sizeof(pfm_stack_smpl_event_t));
		return sizeof(pfm_stack_smpl_event_t);
	}
}

static bool stack_record(void *buf, const struct pfm_record *rec)
{
	pfm_stack_smpl_hdr_t *h = buf;
	uint64_t *used = in_use(h);

	if (rec->type == PFM_RECORD_LOST) {
		h->hdr_untold[rec->why] += rec->count;
		return false;
	}
	if (room(h) < MAX_RECORD) {
		h->hdr_untold[PFM_STACK_SMPL_LOST_RECORDS]++;
		return false;
	}
	put_lost(h, used, rec);
	*used += put_record(end_of(h), rec);
	return used != &h->hdr_held && is_full(h) && !move_on(h);
}

/*
 * Gives back the oldest full region at a restart. If the region that was being filled is full, too,
 * the returned one is filled next.
 */
static void give_back(pfm_stack_smpl_hdr_t *h)
{
	uint16_t free = h->hdr_tail;

	if (!h->hdr_num_full)
		return;
	fill_at(h, free)[COUNT] = 0;
	fill_at(h, free)[OFFS] = start_of(h, free);
	h->hdr_tail = after(h, free);
	if (is_full(h))
		h->hdr_cur = free;
	else
		__atomic_store_n(&h->hdr_num_full, h->hdr_num_full - 1, __ATOMIC_RELEASE);
}

/*
 * Does the same as the restart of the default format, but keeps the records that came while the
 * buffer was full: it moves them to the beginning of what is filled next.
 */
static int stack_restart(void *buf, int is_active, pfm_ovfl_ctrl_t *ctrl)
{
	pfm_stack_smpl_hdr_t *h = buf;
	char *held = (char *)buf + fill(h)[OFFS];
	int ret = 0;

	if (h->hdr_num_regions) {
		give_back(h);
		ctrl->reset_ovfl_pmds = !is_active;
	} else {
		ret = pfm_dfl_restart(buf, is_active, ctrl);
	}
	memmove((char *)buf + fill(h)[OFFS], held, h->hdr_held);
	fill(h)[OFFS] += h->hdr_held;
	h->hdr_held = 0;
	return ret;
}

pfm_buffer_fmt_t pfm_fmt_stack = {
	.fmt_name = PFM_STACK_SMPL_NAME,
	.fmt_uuid = PFM_STACK_SMPL_UUID,
	.fmt_arg_size = sizeof(pfm_stack_smpl_arg_t),
	.fmt_msgq_depth = PFM_STACK_SMPL_MAX_REGIONS,
	.fmt_version = PFM_STACK_SMPL_VERSION,
	.fmt_validate = stack_validate,
	.fmt_getsize = stack_getsize,
	.fmt_init = stack_init,
	.fmt_want = want,
	.fmt_handler = stack_handler,
	.fmt_record = stack_record,
	.fmt_restart = stack_restart,
};
