// SPDX-License-Identifier: MIT
/*
 * caches.c - compares each part of the simulated memory with a simple model: replacement, sets of
 * blocks, causes of misses, coherence, predictors, tapes. Linked with kernel/sim/cache, under ASan.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/cache/cache.h"

#define CHECK(what)								\
	do {									\
		if (!(what)) {							\
			fprintf(stderr, "%s:%d: %s\n", __func__, __LINE__, #what);	\
			exit(1);						\
		}								\
	} while (0)

static uint64_t seed = 1;

static uint32_t any(uint32_t n)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(seed >> 33) % n;
}

/* --- replacement ---------------------------------------------------------------------------- */

/* The blocks, each with the time of its last use or, with FIFO, of its arrival. */
struct aged {
	uint64_t	block[64], time[64];
	int		n;
};

static bool aged_touch(struct aged *a, int ways, bool fifo, uint64_t block, uint64_t now)
{
	int oldest = 0;

	for (int i = 0; i < a->n; i++) {
		if (a->block[i] == block) {
			if (!fifo)
				a->time[i] = now;
			return false;
		}
		if (a->time[i] < a->time[oldest])
			oldest = i;
	}
	if (a->n < ways)
		oldest = a->n++;
	a->block[oldest] = block;
	a->time[oldest] = now;
	return true;
}

static void replaces_by_age(uint32_t policy, uint32_t ways)
{
	struct cache_shape shape = { .size = 64 * ways * 4, .assoc = ways, .line = 64, .policy = policy };
	struct aged sets[4] = { { .n = 0 } };
	struct cache c;

	CHECK(!cache_shape_wrong(&shape) && cache_init(&c, &shape));
	for (uint64_t now = 1; now < 20000; now++) {
		uint64_t block = any(12 * ways);

		CHECK(cache_touch(&c, block) ==
		      aged_touch(&sets[block % 4], (int)ways, policy == CACHE_FIFO, block, now));
		CHECK(cache_has(&c, block));
	}
	cache_free(&c);
}

/* Of four ways used in the order 0 1 2 3, the tree's next victims are 0, 2, 1, 3. */
static void replaces_by_tree(void)
{
	struct cache_shape shape = { .size = 256, .assoc = 4, .line = 64, .policy = CACHE_PLRU };
	static const uint64_t victims[] = { 0, 2, 1, 3 };
	struct cache c;

	CHECK(cache_init(&c, &shape));
	for (uint64_t b = 0; b < 4; b++)
		CHECK(cache_touch(&c, b));
	for (uint64_t b = 0; b < 4; b++) {
		CHECK(cache_touch(&c, 10 + b));
		CHECK(!cache_has(&c, victims[b]));
	}
	cache_free(&c);
}

/* Blocks fill free ways first; then random blocks of the set are replaced, in time each of them. */
static void replaces_at_random(void)
{
	struct cache_shape shape = { .size = 1024, .assoc = 16, .line = 64, .policy = CACHE_RANDOM };
	bool went[16] = { false };
	struct cache c;

	CHECK(cache_init(&c, &shape));
	for (uint64_t b = 0; b < 16; b++)
		CHECK(cache_touch(&c, b));
	for (uint64_t b = 16; b < 1000; b++) {
		int here = 0;

		CHECK(cache_touch(&c, b) && cache_has(&c, b));
		for (uint64_t old = 0; old <= b; old++)
			here += cache_has(&c, old);
		CHECK(here == 16);
		for (int i = 0; i < 16; i++)
			went[i] |= c.tags[i] == b;
	}
	for (int i = 0; i < 16; i++)
		CHECK(went[i]);
	cache_free(&c);
}

static void dropped_blocks_are_gone(uint32_t policy)
{
	struct cache_shape shape = { .size = 512, .assoc = 8, .line = 64, .policy = policy };
	struct cache c;

	CHECK(cache_init(&c, &shape));
	for (uint64_t b = 0; b < 8; b++)
		cache_touch(&c, b);
	CHECK(cache_drop(&c, 3) && !cache_drop(&c, 3) && !cache_has(&c, 3));
	CHECK(cache_touch(&c, 100));	/* fills the free way: all other blocks stay */
	for (uint64_t b = 0; b < 8; b++)
		CHECK(cache_has(&c, b) == (b != 3));
	cache_free(&c);
}

static void shapes_are_checked(void)
{
	static const struct cache_shape wrong[] = {
		{ 1000, 1, 64, 0, 0 }, { 1024, 0, 64, 0, 0 }, { 1024, 1, 48, 0, 0 }, { 1024, 1, 8, 0, 0 },
		{ 64 * 3, 1, 64, 0, 0 }, { 64 * 3, 3, 64, CACHE_PLRU, 0 }, { ~0ULL, 1, 64, 0, 0 },
		{ 1024, 1u << 31, 64, 0, 0 },
	};
	static const struct cache_shape none = { 0 };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		CHECK(cache_shape_wrong(&wrong[i]));
	CHECK(!cache_shape_wrong(&none));
}

/* --- causes --------------------------------------------------------------------------------- */

/* A miss's cause depends on whether the block was ever there, and how many others came since. */
static void causes_are_as_defined(void)
{
	enum { WAYS = 8, BLOCKS = 20, TIMES = 5000 };
	struct cache_shape shape = { .size = 64 * WAYS, .assoc = WAYS, .line = 64 };
	static uint64_t trace[TIMES];
	struct cache_why w = { .room = 0 };

	CHECK(cache_why_init(&w, &shape));
	for (int i = 0; i < TIMES; i++) {
		bool between[BLOCKS] = { false };
		int distance = 0, last;
		enum cache_cause is;

		trace[i] = any(BLOCKS);
		for (last = i - 1; last >= 0 && trace[last] != trace[i]; last--)
			between[trace[last]] = true;
		for (int b = 0; b < BLOCKS; b++)
			distance += between[b];
		is = cache_why(&w, trace[i]);
		CHECK(is == (last < 0 ? CACHE_COMPULSORY : distance < WAYS ? CACHE_CONFLICT : CACHE_CAPACITY));
	}
	for (uint64_t b = BLOCKS; b < 5000; b++)
		CHECK(cache_why(&w, b) == CACHE_COMPULSORY);
	for (uint64_t b = 0; b < 5000; b++)
		CHECK(cache_why(&w, b) == CACHE_CAPACITY);
	cache_why(&w, 3);
	cache_why_lost(&w, 3);
	CHECK(cache_why(&w, 3) == CACHE_COHERENCE && cache_why(&w, 3) == CACHE_CONFLICT);
	cache_why_free(&w);
}

static void blocks_have_values(void)
{
	struct cache_blocks b = { .num = 0 };

	for (uint64_t i = 0; i < 100000; i++)
		*cache_blocks_at(&b, i << 20) = i;
	for (uint64_t i = 0; i < 100000; i++)
		CHECK(*cache_blocks_at(&b, i << 20) == i);
	CHECK(!*cache_blocks_at(&b, 7));
	cache_blocks_free(&b);
}

/* --- coherence ------------------------------------------------------------------------------ */

static const struct cache_shapes two_levels = {
	.part = {
		[CACHE_L1I] = { .size = 4096, .assoc = 4, .line = 64 },
		[CACHE_L1D] = { .size = 4096, .assoc = 4, .line = 64 },
		[CACHE_L2] = { .size = 16384, .assoc = 8, .line = 64, .latency = 10 },
	},
	.memory = 100,
};

static void a_written_line_is_taken_from_the_others(void)
{
	struct cache_system *s = cache_system_new(&two_levels, 3, false);

	CHECK(s);
	for (int i = 0; i < 3; i++)
		CHECK(cache_data(&s->cores[i], CACHE_LOAD, 0x1000, 8) == 100);
	CHECK(cache_data(&s->cores[2], CACHE_LOAD, 0x1038, 8) == 0);		/* shared */
	CHECK(cache_data(&s->cores[0], CACHE_STORE, 0x1000, 8) == 100);		/* claimed */
	CHECK(cache_data(&s->cores[0], CACHE_STORE, 0x1008, 8) == 0);		/* modified */
	CHECK(s->cores[1].invalidated == 1 && s->cores[2].invalidated == 1 && !s->cores[0].invalidated);
	CHECK(cache_data(&s->cores[1], CACHE_LOAD, 0x1000, 8) > 100);	/* from core 0's cache */
	CHECK(cache_data(&s->cores[0], CACHE_LOAD, 0x1000, 8) == 0);	/* shared with core 0 */
	CHECK(cache_data(&s->cores[0], CACHE_STORE, 0x1000, 8) == 100);
	/* no other core has the line */
	CHECK(cache_data(&s->cores[1], CACHE_STORE, 0x2000, 8) == 100);
	CHECK(cache_data(&s->cores[1], CACHE_STORE, 0x2000, 8) == 0);
	cache_system_free(s);
}

/* After a store, only the CPU that stored holds the line. */
static void no_two_cpus_hold_a_written_line(void)
{
	struct cache_system *s = cache_system_new(&two_levels, 4, true);

	for (int i = 0; i < 50000; i++) {
		uint64_t line = any(300), n = any(4);
		int holders = 0;

		if (any(2)) {
			cache_data(&s->cores[n], CACHE_LOAD, line << 6, 8);
			continue;
		}
		cache_data(&s->cores[n], CACHE_STORE, line << 6, 8);
		for (int k = 0; k < 4; k++)
			holders += cache_has(&s->cores[k].part[CACHE_L1D], line) ||
				   cache_has(&s->cores[k].part[CACHE_L2], line);
		CHECK(holders == 1);
	}
	cache_system_free(s);
}

/* --- branches ------------------------------------------------------------------------------- */

static void counters_have_two_bits(void)
{
	static struct cache_branches b = { .kind = CACHE_BIMODAL };
	static const bool taken[] = { 0, 1, 1, 1, 1, 0, 1, 0, 0, 0 }, wrong[] = { 0, 1, 1, 0, 0, 1, 0, 1, 1, 0 };

	for (int i = 0; i < 10; i++)
		CHECK(cache_branch(&b, 0x4000, taken[i]) == wrong[i]);
	CHECK(cache_jump(&b, 0x4000, 1) && !cache_jump(&b, 0x4000, 1) && cache_jump(&b, 0x4000 + 512, 2));
}

/* A predictor with history predicts a pattern that is no longer than its history. */
static void history_knows_patterns(uint32_t kind)
{
	static struct cache_branches b;
	int wrong = 0;

	memset(&b, 0, sizeof(b));
	b.kind = kind;
	for (int i = 0; i < 1000; i++) {
		bool w = cache_branch(&b, 0x4000, i % 5 < 2);

		wrong += w && i >= 100;
	}
	CHECK(!wrong);
}

/* --- tapes ---------------------------------------------------------------------------------- */

enum { LENGTH = 20000 };
static struct tape_instr tape[LENGTH];

static void make_tape(void)
{
	for (int i = 0; i < LENGTH; i++) {
		struct tape_instr *in = &tape[i];

		in->ip = any(10) ? 0x400000 + any(50) * 4 : (uint64_t)any(1u << 31) << 33;
		in->size = any(16);
		in->num = any(TAPE_OPS + 1);
		for (uint32_t k = 0; k < in->num; k++) {
			in->op[k].kind = any(TAPE_KINDS);
			in->op[k].size = any(TAPE_SIZE + 1);
			in->op[k].addr = any(2) ? 0x7000 + 8 * (uint64_t)i : (uint64_t)any(1u << 31) * 0x300000001ULL;
		}
	}
}

static bool same(const struct tape_instr *a, const struct tape_instr *b)
{
	bool is = a->ip == b->ip && a->size == b->size && a->num == b->num;

	for (uint32_t k = 0; is && k < a->num; k++)
		is = a->op[k].addr == b->op[k].addr && a->op[k].size == b->op[k].size && a->op[k].kind == b->op[k].kind;
	return is;
}

static char *written(size_t *size)
{
	char *bytes;
	FILE *file = open_memstream(&bytes, size);
	struct tape_writer *w = tape_writer_new(file);

	for (int i = 0; i < LENGTH; i++)
		CHECK(tape_write(w, &tape[i]));
	CHECK(tape_end(w));
	fclose(file);
	return bytes;
}

static int read_all(const void *bytes, size_t size, const char **wrong, bool compare)
{
	struct tape_reader *r = tape_reader_new(bytes, size);
	const struct tape_instr *in;
	int n = 0;

	for (; (in = tape_read(r, wrong)) && n < 10 * LENGTH; n++)
		CHECK(!compare || same(in, &tape[n]));
	tape_reader_free(r);
	return n;
}

static void tapes_give_back_what_was_written(void)
{
	const char *wrong;
	size_t size;
	char *bytes;

	make_tape();
	bytes = written(&size);
	CHECK(read_all(bytes, size, &wrong, true) == LENGTH && !wrong);
	for (size_t cut = 0; cut < size; cut += 1 + cut / 10) {
		char *part = malloc(cut + 1);	/* so that ASan sees what is read past its end */

		memcpy(part, bytes, cut);
		read_all(part, cut, &wrong, true);
		CHECK(wrong);
		free(part);
	}
	for (int i = 0; i < 300; i++) {		/* damaged tapes may be read or refused, no more */
		size_t at = any((uint32_t)size);
		char was = bytes[at];

		bytes[at] ^= 1 << any(8);
		read_all(bytes, size, &wrong, false);
		bytes[at] = was;
	}
	free(bytes);
}

int main(void)
{
	for (uint32_t ways = 1; ways <= 16; ways++) {
		replaces_by_age(CACHE_LRU, ways);
		replaces_by_age(CACHE_FIFO, ways);
	}
	replaces_by_tree();
	replaces_at_random();
	for (uint32_t policy = CACHE_LRU; policy <= CACHE_RANDOM; policy++)
		dropped_blocks_are_gone(policy);
	shapes_are_checked();
	causes_are_as_defined();
	blocks_have_values();
	a_written_line_is_taken_from_the_others();
	no_two_cpus_hold_a_written_line();
	counters_have_two_bits();
	history_knows_patterns(CACHE_TWO_LEVEL);
	history_knows_patterns(CACHE_GSHARE);
	tapes_give_back_what_was_written();
	puts("all as they should be");
	return 0;
}
