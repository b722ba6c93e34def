// SPDX-License-Identifier: MIT
/*
 * record.c - passes to the core the kernel's records of what programs do, which are in the ring
 * among the overflows.
 */
#include <unistd.h>

#include "perf.h"
#include "perfmon/perfmon_stack_smpl.h"

#ifndef PERF_RECORD_MISC_MMAP_BUILD_ID
#define PERF_RECORD_MISC_MMAP_BUILD_ID	(1 << 14)
#endif

/*
 * The fields that follow a record's own fields, in the order of perf_event.h for the sample_type of
 * perf_record_attr().
 */
struct trailer {
	uint32_t	pid, tid;
	uint64_t	time, id;
};

struct mmap2 {
	struct perf_event_header header;
	uint32_t	pid, tid;
	uint64_t	addr, len, pgoff;
	/* valid with PERF_RECORD_MISC_MMAP_BUILD_ID; otherwise these bytes are device and inode */
	uint8_t		build_id_size, reserved[3];
	uint8_t		build_id[20];
	uint32_t	prot, flags;
	char		filename[];
};

struct task {
	struct perf_event_header header;
	uint32_t	pid, ppid, tid, ptid;
	uint64_t	time;
};

struct comm {
	struct perf_event_header header;
	uint32_t	pid, tid;
	char		comm[];
};

void perf_record_attr(const struct pfm_stack_want *want, struct perf_event_attr *attr)
{
	attr->disabled = 0;
	attr->mmap = attr->mmap2 = attr->task = attr->comm = attr->comm_exec = attr->sample_id_all = 1;
	attr->build_id = 1;
	attr->context_switch = want->switches;
	attr->sample_type |= PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
}

static struct trailer trailer_of(const union perf_record *rec)
{
	struct trailer t;

	memcpy(&t, (const char *)rec + rec->header.size - sizeof(t), sizeof(t));
	return t;
}

static uint64_t time_of(const union perf_record *rec)
{
	return trailer_of(rec).time;
}

/* Returns true if a text that ends with a 0 lies between the record's fields and the trailer. */
static bool has_text(const union perf_record *rec, const char *text)
{
	const char *end = (const char *)rec + rec->header.size - sizeof(struct trailer);

	return text < end && memchr(text, 0, (size_t)(end - text));
}

static bool read_map(const union perf_record *rec, struct pfm_record *out)
{
	const struct mmap2 *m = (const struct mmap2 *)rec;

	if (!has_text(rec, m->filename))
		return false;
	*out = (struct pfm_record){
		.type = PFM_RECORD_MAP, .pid = m->pid, .tid = m->tid, .tstamp = time_of(rec), .addr = m->addr,
		.len = m->len, .offset = m->pgoff, .name = m->filename,
	};
	if ((m->header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) && m->build_id_size <= sizeof(m->build_id)) {
		out->build_id = m->build_id;
		out->build_id_size = m->build_id_size;
	}
	return true;
}

static bool read_task(const union perf_record *rec, struct pfm_record *out)
{
	const struct task *t = (const struct task *)rec;

	if (rec->header.size < sizeof(*t))
		return false;
	*out = (struct pfm_record){
		.type = rec->header.type == PERF_RECORD_FORK ? PFM_RECORD_FORK : PFM_RECORD_EXIT, .pid = t->pid,
		.tid = t->tid, .ppid = t->ppid, .ptid = t->ptid, .tstamp = t->time,
	};
	return true;
}

/* Reads a COMM record: an exec, or a new name that a thread sets. */
static bool read_name(const union perf_record *rec, struct pfm_record *out)
{
	const struct comm *c = (const struct comm *)rec;

	if (!has_text(rec, c->comm))
		return false;
	*out = (struct pfm_record){
		.type = rec->header.misc & PERF_RECORD_MISC_COMM_EXEC ? PFM_RECORD_EXEC : PFM_RECORD_RENAME,
		.pid = c->pid, .tid = c->tid, .tstamp = time_of(rec), .name = c->comm,
	};
	return true;
}

/* Reads a SWITCH record. Kernels before 4.17 do not report that the thread was preempted. */
static bool read_switch(const union perf_record *rec, struct pfm_record *out)
{
	uint16_t misc = rec->header.misc;
	struct trailer t;

	if (rec->header.size < sizeof(rec->header) + sizeof(t))
		return false;
	t = trailer_of(rec);
	*out = (struct pfm_record){ .type = PFM_RECORD_SWITCH, .pid = t.pid, .tid = t.tid, .tstamp = t.time };
	if (misc & PERF_RECORD_MISC_SWITCH_OUT)
		out->how = misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT ? PFM_STACK_SMPL_PREEMPTED : PFM_STACK_SMPL_OUT;
	else
		out->how = PFM_STACK_SMPL_IN;
	return true;
}

/*
 * Returns true for a record of a process outside of the caller's PID namespace. All of them have
 * the ids of the idle task, 0.
 */
static bool is_outside(const struct pfm_record *rec)
{
	return !rec->pid && rec->type != PFM_RECORD_SWITCH;
}

/* Returns false for a record that cannot be read or is not for the core. */
static bool read_record(const union perf_record *rec, struct pfm_record *out)
{
	switch (rec->header.type) {
	case PERF_RECORD_MMAP2:
		return read_map(rec, out);
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return read_task(rec, out);
	case PERF_RECORD_COMM:
		return read_name(rec, out);
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		return read_switch(rec, out);
	default:
		return false;
	}
}

/*
 * Passes the record to the core. If the core masks at this record, later records in the ring wait,
 * as after an overflow that masks.
 */
static void deliver(struct pfm_context *ctx, const struct pfm_record *rec)
{
	struct perf_context *p = perf_of(ctx);
	bool counting = pfm_counting(ctx);

	p->replaying = true;
	pfm_record(ctx, rec);
	p->replaying = false;
	if (counting && !pfm_counting(ctx))
		p->held = p->program = true;
}

/*
 * Completes a sample of a thread that has lost its ids, but still runs the last steps of its exit:
 * it gets the ids of the last EXIT record in the same ring, as both were written on the same CPU.
 */
void perf_name_exited(struct pfm_context *ctx, struct pfm_where *where)
{
	const struct perf_ring *ring = perf_of(ctx)->rings.taken;

	if (where->pid != UINT32_MAX || !ring->exited_pid)
		return;
	where->pid = ring->exited_pid;
	where->tid = ring->exited_tid;
}

void perf_record_replay(struct pfm_context *ctx, const union perf_record *rec)
{
	struct perf_ring *ring = perf_of(ctx)->rings.taken;
	struct pfm_record out;

	if (!ctx->format_needs.records || !read_record(rec, &out))
		return;
	if (out.type == PFM_RECORD_EXIT) {
		ring->exited_pid = out.pid;
		ring->exited_tid = out.tid;
	}
	if (!is_outside(&out))
		deliver(ctx, &out);
}

/*
 * Counts the records of what programs do for which the ring had no room, on kernels that count lost
 * records by event (PERF_FORMAT_LOST).
 */
void perf_record_lost(struct pfm_context *ctx)
{
	struct perf_ring *ring = perf_of(ctx)->rings.taken;
	uint64_t words[PERF_READ_WORDS];
	struct pfm_record out = { .type = PFM_RECORD_LOST, .why = PFM_STACK_SMPL_LOST_RECORDS };

	if (!ctx->format_needs.records || !perf_format_lost || read(ring->fd, words, sizeof(words)) < 0)
		return;
	out.count = words[PERF_HEAD_WORDS + 2] - ring->lost;
	ring->lost += out.count;
	if (out.count)
		pfm_record(ctx, &out);
}
