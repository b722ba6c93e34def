/* SPDX-License-Identifier: MIT */
/*
 * sample.c - parses a sample of a perf.data file; the fields are in the order of
 * perf_event_open(2).
 */
#include "perfdata/bytes.h"
#include "perfdata/sample.h"

/* Bits that older headers lack. */
#define SAMPLE_WEIGHT_STRUCT	(1ULL << 24)
#define BRANCH_COUNTERS		(1ULL << 19)
#define FORMAT_LOST		(1ULL << 4)

const struct perf_value_name perf_values[PERF_VALUES] = {
	[PERF_VALUE_ADDR] = { "data_addr", PERF_SAMPLE_ADDR },
	[PERF_VALUE_WEIGHT] = { "latency", PERF_SAMPLE_WEIGHT | SAMPLE_WEIGHT_STRUCT },
	[PERF_VALUE_INS_LATENCY] = { "ins_latency", SAMPLE_WEIGHT_STRUCT },
	[PERF_VALUE_STAGE_CYCLES] = { "stage_cycles", SAMPLE_WEIGHT_STRUCT },
	[PERF_VALUE_DATA_SRC] = { "data_source", PERF_SAMPLE_DATA_SRC },
	[PERF_VALUE_TRANSACTION] = { "transaction", PERF_SAMPLE_TRANSACTION },
	[PERF_VALUE_PHYS_ADDR] = { "phys_addr", PERF_SAMPLE_PHYS_ADDR },
	[PERF_VALUE_DATA_PAGE_SIZE] = { "data_page_size", PERF_SAMPLE_DATA_PAGE_SIZE },
	[PERF_VALUE_CODE_PAGE_SIZE] = { "code_page_size", PERF_SAMPLE_CODE_PAGE_SIZE },
	[PERF_VALUE_CGROUP] = { "cgroup", PERF_SAMPLE_CGROUP },
};

/* --- ids ------------------------------------------------------------------------------------ */

static int count(uint64_t bits)
{
	return __builtin_popcountll(bits);
}

struct perf_id_place perf_id_place(const struct perf_event_attr *attr)
{
	uint64_t type = attr->sample_type;
	struct perf_id_place place = { -1, -1 };

	if (type & PERF_SAMPLE_IDENTIFIER)
		return (struct perf_id_place){ 0, 1 };
	if (type & PERF_SAMPLE_ID) {
		place.in_sample = count(type & (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
						PERF_SAMPLE_ADDR));
		place.from_end = 1 + count(type & (PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU));
	}
	if (!attr->sample_id_all)
		place.from_end = -1;
	return place;
}

size_t perf_id_size(const struct perf_event_attr *attr)
{
	uint64_t type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
			PERF_SAMPLE_IDENTIFIER;

	return attr->sample_id_all ? (size_t)count(attr->sample_type & type) * sizeof(uint64_t) : 0;
}

uint64_t perf_id_time(const struct perf_event_attr *attr, const struct perf_record *record)
{
	size_t size = perf_id_size(attr);
	struct bytes b = { record->body + record->size - size, record->body + record->size, false };

	if (size > record->size || !(size && attr->sample_type & PERF_SAMPLE_TIME))
		return 0;
	if (attr->sample_type & PERF_SAMPLE_TID)
		bytes_u64(&b);
	return bytes_u64(&b);
}

/* --- samples -------------------------------------------------------------------------------- */

static struct perf_words take_words(struct bytes *b, uint64_t n, uint64_t words_each)
{
	struct perf_words w = { 0 };

	if (n > UINT16_MAX)
		/* no record can hold so many, and the product would overflow */
		b->short_of = true;
	w.at = bytes_take(b, n * words_each * sizeof(uint64_t));
	w.n = w.at ? n : 0;
	return w;
}

/*
 * Reads the values of counters with their ids. A counter that is read alone has no id in `counts`:
 * its id is that of the sample.
 */
static void read_counts(struct bytes *b, uint64_t format, struct perf_sample *s)
{
	uint64_t times = format & (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING), n = 1;
	bool is_group = format & PERF_FORMAT_GROUP;
	uint64_t each = 1U + !!(format & PERF_FORMAT_ID) + !!(format & FORMAT_LOST);

	if (is_group) {
		n = bytes_u64(b);
		take_words(b, (uint64_t)count(times), 1);
		s->counts = take_words(b, n, each);
		return;
	}
	s->counts = take_words(b, 1, 1);
	take_words(b, (uint64_t)count(times) + each - 1, 1);
}

static void read_regs(struct bytes *b, uint64_t mask, uint64_t *abi, struct perf_words *regs)
{
	*abi = bytes_u64(b);
	*regs = take_words(b, *abi ? (uint64_t)count(mask) : 0, 1);
}

static void read_branches(struct bytes *b, uint64_t type, struct perf_sample *s)
{
	uint64_t n = bytes_u64(b);

	if (type & PERF_SAMPLE_BRANCH_HW_INDEX)
		bytes_u64(b);
	s->branches = take_words(b, n, 3);
	if (type & BRANCH_COUNTERS)
		take_words(b, n, 1);
}

static void read_user_stack(struct bytes *b, struct perf_sample *s)
{
	uint64_t size = bytes_u64(b), used;

	if (!size)
		return;
	s->stack = bytes_take(b, size);
	used = bytes_u64(b);
	s->stack_size = used < size ? used : size;
}

static void read_weight(struct bytes *b, uint64_t type, uint64_t *values)
{
	if (type & PERF_SAMPLE_WEIGHT) {
		values[PERF_VALUE_WEIGHT] = bytes_u64(b);
		return;
	}
	values[PERF_VALUE_WEIGHT] = bytes_u32(b);
	values[PERF_VALUE_INS_LATENCY] = bytes_number(b, 2);
	values[PERF_VALUE_STAGE_CYCLES] = bytes_number(b, 2);
}

/* Reads the fields for place and time, up to the period. */
static void read_first(struct bytes *b, const struct perf_event_attr *attr, struct perf_sample *s)
{
	uint64_t type = attr->sample_type;

	if (type & PERF_SAMPLE_IDENTIFIER)
		s->id = bytes_u64(b);
	if (type & PERF_SAMPLE_IP)
		s->ip = bytes_u64(b);
	if (type & PERF_SAMPLE_TID) {
		s->pid = bytes_u32(b);
		s->tid = bytes_u32(b);
	}
	if (type & PERF_SAMPLE_TIME)
		s->time = bytes_u64(b);
	if (type & PERF_SAMPLE_ADDR)
		s->values[PERF_VALUE_ADDR] = bytes_u64(b);
	if (type & PERF_SAMPLE_ID)
		s->id = bytes_u64(b);
	if (type & PERF_SAMPLE_STREAM_ID)
		bytes_u64(b);
	if (type & PERF_SAMPLE_CPU) {
		s->cpu = bytes_u32(b);
		bytes_u32(b);
	}
	s->period = type & PERF_SAMPLE_PERIOD ? bytes_u64(b) : attr->sample_period;
}

/* Reads the fields of variable size, up to the copy of the stack. */
static void read_middle(struct bytes *b, const struct perf_event_attr *attr, struct perf_sample *s)
{
	uint64_t type = attr->sample_type;

	if (type & PERF_SAMPLE_READ)
		read_counts(b, attr->read_format, s);
	if (type & PERF_SAMPLE_CALLCHAIN)
		s->callchain = take_words(b, bytes_u64(b), 1);
	if (type & PERF_SAMPLE_RAW) {
		s->raw_size = bytes_u32(b);
		s->raw = bytes_take(b, s->raw_size);
	}
	if (type & PERF_SAMPLE_BRANCH_STACK)
		read_branches(b, attr->branch_sample_type, s);
	if (type & PERF_SAMPLE_REGS_USER)
		read_regs(b, attr->sample_regs_user, &s->regs_abi, &s->regs);
	if (type & PERF_SAMPLE_STACK_USER)
		read_user_stack(b, s);
}

static void read_last(struct bytes *b, const struct perf_event_attr *attr, struct perf_sample *s)
{
	uint64_t type = attr->sample_type, abi = 0;
	struct perf_words regs;

	if (type & perf_values[PERF_VALUE_WEIGHT].type)
		read_weight(b, type, s->values);
	if (type & PERF_SAMPLE_DATA_SRC)
		s->values[PERF_VALUE_DATA_SRC] = bytes_u64(b);
	if (type & PERF_SAMPLE_TRANSACTION)
		s->values[PERF_VALUE_TRANSACTION] = bytes_u64(b);
	if (type & PERF_SAMPLE_REGS_INTR)
		read_regs(b, attr->sample_regs_intr, &abi, &regs);
	if (type & PERF_SAMPLE_PHYS_ADDR)
		s->values[PERF_VALUE_PHYS_ADDR] = bytes_u64(b);
	if (type & PERF_SAMPLE_CGROUP)
		s->values[PERF_VALUE_CGROUP] = bytes_u64(b);
	if (type & PERF_SAMPLE_DATA_PAGE_SIZE)
		s->values[PERF_VALUE_DATA_PAGE_SIZE] = bytes_u64(b);
	if (type & PERF_SAMPLE_CODE_PAGE_SIZE)
		s->values[PERF_VALUE_CODE_PAGE_SIZE] = bytes_u64(b);
	if (type & PERF_SAMPLE_AUX) {
		s->aux_size = bytes_u64(b);
		bytes_take(b, s->aux_size);
	}
}

bool perf_sample_read(const struct perf_event_attr *attr, const struct perf_record *record, struct perf_sample *s)
{
	struct bytes b = { record->body, record->body + record->size, false };

	memset(s, 0, sizeof(*s));
	read_first(&b, attr, s);
	read_middle(&b, attr, s);
	read_last(&b, attr, s);
	return !b.short_of;
}
