// SPDX-License-Identifier: MIT
/*
 * tape.c - writes executed instructions and their operations in few bytes, and reads them.
 *
 * Writer and reader keep the same table of the instructions seen: for each the instruction that
 * came after it last time, its operations then, and the last address and stride of each operation.
 * An instruction that the table predicts completely takes no byte: when one is not predicted, the
 * number of predicted ones before it is written. A tape consists of "lpfmtape", a version, and
 * records of numbers, which are written with 7 bits in each byte, the lowest first:
 *
 *   predicted, flags [distance, size] [num, (kind, size)...] [distance]...
 *
 * flags has a bit for each part that follows: 1 is the instruction, as its distance from the end of
 * the previous one, and its size; 2 is its operations; 4 << i is the address of operation i, as its
 * distance from the last one. Distances have the sign in bit 0. flags 0 is the end, and is followed
 * by the number of all instructions.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/cache/cache.h"

static const char magic[] = "lpfmtape\1";

#define MAGIC_SIZE	(sizeof(magic) - 1)
#define NEW_INSTR	1
#define NEW_OPS		2
#define NEW_ADDR(i)	(4ULL << (i))

struct known {
	struct tape_instr	last;
	uint64_t		stride[TAPE_OPS];
	/* index of the instruction that came after it; 0: not known yet */
	uint32_t		next;
};

/* The instructions seen so far. at[0] precedes the first one. */
struct table {
	struct known		*at;
	uint32_t		num, room;
	uint32_t		current;
	/* maps an instruction's address and size to its index in at[] */
	struct cache_blocks	index;
};

static bool table_init(struct table *t)
{
	t->num = 1;
	t->room = 256;
	t->at = calloc(t->room, sizeof(*t->at));
	return t->at;
}

static void table_free(struct table *t)
{
	free(t->at);
	cache_blocks_free(&t->index);
}

/*
 * Returns the index of the instruction in the table, to which it is added if it is new. Returns 0
 * if there is no memory.
 */
static uint32_t look_up(struct table *t, uint64_t ip, uint32_t size)
{
	uint64_t *index = cache_blocks_at(&t->index, ip ^ (uint64_t)size << 48);

	if (!index)
		return 0;
	if (*index && t->at[*index].last.ip == ip && t->at[*index].last.size == size)
		return *index;
	if (t->num == t->room) {
		struct known *at = realloc(t->at, 2ULL * t->room * sizeof(*at));

		if (!at)
			return 0;
		t->at = at;
		t->room *= 2;
	}
	memset(&t->at[t->num], 0, sizeof(*t->at));
	t->at[t->num].last.ip = ip;
	t->at[t->num].last.size = size;
	*index = t->num;
	return t->num++;
}

static uint64_t end_of_current(const struct table *t)
{
	const struct tape_instr *last = &t->at[t->current].last;

	return last->ip + last->size;
}

static void step_to(struct table *t, uint32_t next)
{
	t->at[t->current].next = next;
	t->current = next;
}

static void move_to(struct known *k, int i, uint64_t addr)
{
	k->stride[i] = addr - k->last.op[i].addr;
	k->last.op[i].addr = addr;
}

/* --- writing -------------------------------------------------------------------------------- */

struct tape_writer {
	FILE		*file;
	struct table	table;
	uint64_t	foretold, total;
};

static void put(FILE *file, uint64_t n)
{
	for (; n >= 0x80; n >>= 7)
		putc_unlocked((int)(n & 0x7f) | 0x80, file);
	putc_unlocked((int)n, file);
}

static void put_distance(FILE *file, uint64_t n)
{
	put(file, n << 1 ^ (n >> 63 ? ~0ULL : 0));
}

struct tape_writer *tape_writer_new(FILE *file)
{
	struct tape_writer *w = calloc(1, sizeof(*w));

	if (!w || !table_init(&w->table)) {
		free(w);
		return NULL;
	}
	w->file = file;
	fwrite(magic, MAGIC_SIZE, 1, file);
	return w;
}

static bool same_ops(const struct tape_instr *a, const struct tape_instr *b)
{
	bool same = a->num == b->num;

	for (uint32_t i = 0; same && i < a->num; i++)
		same = a->op[i].kind == b->op[i].kind && a->op[i].size == b->op[i].size;
	return same;
}

static uint64_t flags_of(const struct known *k, const struct tape_instr *instr, bool foretold)
{
	uint64_t flags = (foretold ? 0 : NEW_INSTR) | (same_ops(&k->last, instr) ? 0 : NEW_OPS);

	for (uint32_t i = 0; i < instr->num; i++)
		if (instr->op[i].addr != k->last.op[i].addr + k->stride[i])
			flags |= NEW_ADDR(i);
	return flags;
}

static void put_record(struct tape_writer *w, const struct known *k, const struct tape_instr *instr, uint64_t flags)
{
	put(w->file, w->foretold);
	put(w->file, flags);
	w->foretold = 0;
	if (flags & NEW_INSTR) {
		put_distance(w->file, instr->ip - end_of_current(&w->table));
		put(w->file, instr->size);
	}
	if (flags & NEW_OPS)
		put(w->file, instr->num);
	for (uint32_t i = 0; flags & NEW_OPS && i < instr->num; i++) {
		put(w->file, instr->op[i].kind);
		put(w->file, instr->op[i].size);
	}
	for (uint32_t i = 0; i < instr->num; i++)
		if (flags & NEW_ADDR(i))
			put_distance(w->file, instr->op[i].addr - k->last.op[i].addr);
}

bool tape_write(struct tape_writer *w, const struct tape_instr *instr)
{
	uint32_t next = look_up(&w->table, instr->ip, instr->size);
	struct known *k = &w->table.at[next];
	uint64_t flags;

	if (!next)
		return false;
	flags = flags_of(k, instr, w->table.at[w->table.current].next == next);
	if (flags)
		put_record(w, k, instr, flags);
	else
		w->foretold++;
	k->last.num = instr->num;
	for (uint32_t i = 0; i < instr->num; i++) {
		k->last.op[i].kind = instr->op[i].kind;
		k->last.op[i].size = instr->op[i].size;
		move_to(k, i, instr->op[i].addr);
	}
	step_to(&w->table, next);
	w->total++;
	return !ferror(w->file);
}

uint64_t tape_total(const struct tape_writer *w)
{
	return w->total;
}

bool tape_end(struct tape_writer *w)
{
	bool written;

	put(w->file, w->foretold);
	put(w->file, 0);
	put(w->file, w->total);
	written = !fflush(w->file) && !ferror(w->file);
	table_free(&w->table);
	free(w);
	return written;
}

/* --- reading -------------------------------------------------------------------------------- */

struct tape_reader {
	const uint8_t	*at, *end;
	struct table	table;
	uint64_t	foretold, flags, total;
	bool		begun, ended;
	const char	*wrong;
};

struct tape_reader *tape_reader_new(const void *bytes, size_t size)
{
	struct tape_reader *r = calloc(1, sizeof(*r));

	if (!r || !table_init(&r->table)) {
		free(r);
		return NULL;
	}
	r->at = bytes;
	r->end = r->at + size;
	if (size < MAGIC_SIZE || memcmp(bytes, magic, MAGIC_SIZE))
		r->wrong = "this is no trace of lpfm";
	else
		r->at += MAGIC_SIZE;
	return r;
}

void tape_reader_free(struct tape_reader *r)
{
	if (!r)
		return;
	table_free(&r->table);
	free(r);
}

static uint64_t get(struct tape_reader *r)
{
	uint64_t n = 0;

	for (unsigned int shift = 0; r->at < r->end && shift < 64; shift += 7) {
		n |= (uint64_t)(*r->at & 0x7f) << shift;
		if (!(*r->at++ & 0x80))
			return n;
	}
	r->wrong = "the trace is cut off or damaged";
	return 0;
}

static uint64_t get_distance(struct tape_reader *r)
{
	uint64_t n = get(r);

	return n >> 1 ^ (n & 1 ? ~0ULL : 0);
}

static uint32_t get_small(struct tape_reader *r, uint64_t most)
{
	uint64_t n = get(r);

	if (n > most)
		r->wrong = "the trace is damaged: a number is too large";
	return r->wrong ? 0 : n;
}

static void get_ops(struct tape_reader *r, struct tape_instr *instr)
{
	instr->num = get_small(r, TAPE_OPS);
	for (uint32_t i = 0; i < instr->num; i++) {
		instr->op[i].kind = get_small(r, TAPE_KINDS - 1);
		instr->op[i].size = get_small(r, TAPE_SIZE);
	}
}

static uint32_t next_of(struct tape_reader *r, uint64_t flags)
{
	uint32_t next = r->table.at[r->table.current].next;

	if (flags & NEW_INSTR) {
		uint64_t ip = end_of_current(&r->table) + get_distance(r);
		uint32_t size = get_small(r, TAPE_SIZE);

		next = r->wrong ? 0 : look_up(&r->table, ip, size);
	}
	if (!next && !r->wrong)
		r->wrong = flags & NEW_INSTR ? "no memory to read the trace" : "the trace is damaged";
	return next;
}

static const struct tape_instr *instruction(struct tape_reader *r, uint64_t flags)
{
	uint32_t next = next_of(r, flags);
	struct known *k = &r->table.at[next];

	if (r->wrong)
		return NULL;
	if (flags & NEW_OPS)
		get_ops(r, &k->last);
	for (uint32_t i = 0; i < k->last.num; i++)
		move_to(k, i, k->last.op[i].addr + (flags & NEW_ADDR(i) ? get_distance(r) : k->stride[i]));
	step_to(&r->table, next);
	r->total++;
	return r->wrong ? NULL : &k->last;
}

static void next_record(struct tape_reader *r)
{
	r->foretold = get(r);
	r->flags = get(r);
	r->begun = true;
	if (r->flags || r->wrong)
		return;
	r->ended = true;
	r->total += r->foretold;
	if (get(r) != r->total && !r->wrong)
		r->wrong = "the trace is damaged: instructions are missing";
	r->total -= r->foretold;
}

const struct tape_instr *tape_read(struct tape_reader *r, const char **wrong)
{
	const struct tape_instr *instr = NULL;

	if (!r->wrong && !r->foretold && !r->begun)
		next_record(r);
	if (!r->wrong && r->foretold) {
		r->foretold--;
		instr = instruction(r, 0);
	} else if (!r->wrong && !r->ended) {
		r->begun = false;
		instr = instruction(r, r->flags);
	}
	*wrong = r->wrong;
	return instr;
}
