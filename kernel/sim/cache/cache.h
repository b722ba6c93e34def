/* SPDX-License-Identifier: MIT */
/*
 * cache.h - the memory of a simulated computer: caches, TLBs, branch predictors and coherence.
 *
 * cache.c is one cache; core.c is all caches of a CPU, and accesses to them with their latencies;
 * coherence.c keeps the caches of several CPUs coherent (MESI); branch.c predicts branches; why.c
 * says why an access missed; blocks.c is a table of blocks for the others; tape.c records
 * instructions and gives them back, lackey.c takes them from valgrind.
 *
 * The rules of an access are those of cachegrind: it touches the first and the last line that it
 * needs, and misses at most once; only on a miss it asks the next level, for all of its bytes; no
 * level includes another one. Data accesses are cut to the size of the smallest line.
 *
 * A prefetcher of the L1D may bring the line behind one that missed, after the access and in no
 * time. It asks the next level for the line as an access does. It does not cross a page of 4096
 * bytes.
 *
 * Time: CPUs execute in order, and wait. An operation takes the cycles that its site says (1 if it
 * says none) and, for each access, the latency of what had the data (0 for the first level), and
 * the penalties of a TLB miss, of a line taken from another CPU, and of a branch that was predicted
 * wrongly. Stores wait as loads do.
 */
#ifndef PFM_SIM_CACHE_H
#define PFM_SIM_CACHE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum cache_policy { CACHE_LRU, CACHE_PLRU, CACHE_FIFO, CACHE_RANDOM };
enum cache_predictor { CACHE_TWO_LEVEL, CACHE_BIMODAL, CACHE_GSHARE };
enum cache_prefetcher { CACHE_NO_PREFETCH, CACHE_ON_MISS, CACHE_TAGGED };
enum cache_kind { CACHE_FETCH, CACHE_LOAD, CACHE_STORE, CACHE_KINDS };

/*
 * A cache of size bytes, with lines of "line" bytes and sets of "assoc" lines. size 0: the cache
 * does not exist.
 */
struct cache_shape {
	uint64_t	size;
	uint32_t	assoc, line;
	uint32_t	policy;		/* an enum cache_policy */
	/* cycles of an access that is answered here, in addition to those of the first level */
	uint32_t	latency;
};

enum { CACHE_L1I, CACHE_L1D, CACHE_L2, CACHE_L3, CACHE_ITLB, CACHE_DTLB, CACHE_PARTS };

/*
 * The caches and TLBs of a CPU. A TLB is a cache of translations: its lines are pages, and its
 * latency is the cost of a miss.
 */
struct cache_shapes {
	struct cache_shape part[CACHE_PARTS];
	uint32_t	memory;		/* latency of memory, and of a cache of another CPU */
	uint32_t	mispredicted;	/* cycles that a wrong prediction costs */
	uint32_t	predictor;	/* an enum cache_predictor */
	/* stores go past the L1D, which allocates no lines for them */
	bool		write_around;
	uint32_t	prefetch;	/* an enum cache_prefetcher, for the L1D */
};

extern const char *const cache_part_names[CACHE_PARTS];	/* "L1I" to "DTLB" */

#define CACHE_NO_BLOCK	(~0ULL)

/* --- one cache: cache.c --------------------------------------------------------------------- */

struct cache {
	/* block numbers, set by set; with LRU and FIFO the latest first */
	uint64_t	*tags;
	uint64_t	mask;		/* number of sets, minus 1 */
	uint32_t	assoc, bits;	/* assoc ways; a line has 1 << bits bytes */
	bool		lru;
	uint32_t	policy, latency;
	uint64_t	*tree;		/* PLRU: the tree bits of each set */
	uint64_t	random;		/* RANDOM: state of the generator */
	uint64_t	accesses[CACHE_KINDS], misses[CACHE_KINDS];
	uint64_t	*missed;	/* by set: how often a line was not present */
};

/* Returns why the shape is not possible, or NULL if it is. */
const char *cache_shape_wrong(const struct cache_shape *shape);
/* returns false if there is no memory */
bool cache_init(struct cache *c, const struct cache_shape *shape);
void cache_free(struct cache *c);
bool cache_touch_set(struct cache *c, uint64_t *set, uint64_t block);
bool cache_has(const struct cache *c, uint64_t block);
/*
 * Returns the block that would be replaced by "block", which is not in the cache, or CACHE_NO_BLOCK
 * if none would.
 */
uint64_t cache_victim(const struct cache *c, uint64_t block);
/* Brings a block, which is not in the cache, although no access asked for it. */
void cache_bring(struct cache *c, uint64_t block);
/* Removes the block. Returns false if it was not in the cache. */
bool cache_drop(struct cache *c, uint64_t block);

/* Returns true on a miss. The block is in the cache afterwards. */
static inline bool cache_touch(struct cache *c, uint64_t block)
{
	uint64_t *set = c->tags + (block & c->mask) * c->assoc;

	if (c->lru && set[0] == block)
		return false;
	return cache_touch_set(c, set, block);
}

/* Accesses size bytes from addr on. Returns true on a miss, of which there is one at most. */
static inline bool cache_access(struct cache *c, enum cache_kind kind, uint64_t addr, uint32_t size)
{
	uint64_t first = addr >> c->bits, last = (addr + size - 1) >> c->bits;
	bool miss = cache_touch(c, first);

	if (last != first)
		miss |= cache_touch(c, last);
	c->accesses[kind]++;
	c->misses[kind] += miss;
	return miss;
}

/* --- sets of blocks: blocks.c --------------------------------------------------------------- */

struct cache_blocks {
	struct cache_block {
		uint64_t	block;	/* block number + 1; 0: the entry is free */
		uint64_t	value;
	}		*at;
	uint64_t	room, num;
};

/*
 * Returns the place of a block's value, which is 0 at first; NULL if there is no memory. The place
 * is valid until a block is added.
 */
uint64_t *cache_blocks_at(struct cache_blocks *b, uint64_t block);
void cache_blocks_free(struct cache_blocks *b);

/* --- branches: branch.c --------------------------------------------------------------------- */

#define CACHE_COUNTERS	(1 << 14)
#define CACHE_TARGETS	512

struct cache_branches {
	uint32_t	kind;		/* an enum cache_predictor */
	uint32_t	history;
	/* two-bit counters, which predict "taken" from 2 on */
	uint8_t		counters[CACHE_COUNTERS];
	/* the last target of each branch, by the low bits of the branch's address */
	uint64_t	targets[CACHE_TARGETS];
};

/*
 * cache_branch() executes a conditional branch, cache_jump() an indirect one. They return true if
 * the branch was predicted wrongly.
 */
bool cache_branch(struct cache_branches *b, uint64_t ip, bool taken);
bool cache_jump(struct cache_branches *b, uint64_t ip, uint64_t target);

/* --- causes of misses: why.c ---------------------------------------------------------------- */

enum cache_cause { CACHE_COMPULSORY, CACHE_CAPACITY, CACHE_CONFLICT, CACHE_COHERENCE, CACHE_CAUSES };

/*
 * The state that determines the cause of a miss in the L1D: the blocks that were ever in it, and
 * those that a fully associative cache of the same size would hold now.
 */
struct cache_why {
	/* by block: the bits SEEN and LOST of why.c and, above them, its index in entry[], + 1 */
	struct cache_blocks	seen;
	struct cache_entry	*entry;	/* a list in the order of the last use */
	uint32_t		num, room, first, last;
};

bool cache_why_init(struct cache_why *w, const struct cache_shape *shape);
void cache_why_free(struct cache_why *w);
/* Called at each access to a block of the L1D; returns the cause of the miss, if it missed. */
enum cache_cause cache_why(struct cache_why *w, uint64_t block);
/* called when another CPU has taken the block from the L1D */
void cache_why_lost(struct cache_why *w, uint64_t block);

/* --- a CPU: core.c -------------------------------------------------------------------------- */

enum cache_event {
	CACHE_EV_CYCLES, CACHE_EV_INSTRUCTIONS, CACHE_EV_STALLS, CACHE_EV_LOADS, CACHE_EV_STORES,
	CACHE_EV_BRANCHES, CACHE_EV_TAKEN, CACHE_EV_BRANCH_MISSES,
	CACHE_EV_L1I_ACCESSES, CACHE_EV_L1I_MISSES, CACHE_EV_L1D_ACCESSES, CACHE_EV_L1D_MISSES,
	CACHE_EV_L2_ACCESSES, CACHE_EV_L2_MISSES, CACHE_EV_L3_ACCESSES, CACHE_EV_L3_MISSES,
	CACHE_EV_ITLB_MISSES, CACHE_EV_DTLB_MISSES, CACHE_EV_BUS, CACHE_EV_DEAR, CACHE_EV_IEAR,
	CACHE_EV_BTB, CACHE_EV_PREFETCHES, CACHE_EV_UNUSED, CACHE_EV_FORWARDS, CACHE_EVENTS
};

struct cache_core {
	/* how often each event has happened so far */
	uint64_t		count[CACHE_EVENTS];
	struct cache		part[CACHE_PARTS];
	bool			has[CACHE_PARTS];
	struct cache_branches	branches;
	struct cache_system	*system;
	uint32_t		num;
	/* size of the smallest line, to which data accesses are cut */
	uint32_t		clip;
	bool			in_page;	/* a line of the L1I never crosses a page */
	uint64_t		last_fetch;	/* line of the L1I that was fetched last */
	uint64_t		invalidated;	/* number of lines that other CPUs have taken */
	/* prefetched lines of the L1D; the value is 1 until the line is used */
	struct cache_blocks	prefetched;
	/*
	 * number of prefetched lines that other CPUs took before they were used, not added to
	 * count[] yet
	 */
	uint64_t		lost_unused;
	uint64_t		next[2];	/* lines to prefetch after the access */
	uint32_t		num_next;
	struct cache_why	why;
	/* with system->explain: why the last data access missed the L1D, if it missed */
	enum cache_cause	cause;
};

/* The memory of all CPUs: their private caches on one bus. */
struct cache_system {
	struct cache_shapes	shapes;
	uint32_t		num_cores;
	bool			explain;	/* the causes of misses are determined */
	/* log2 of the unit of coherence, which is the largest line of the caches */
	uint32_t		line_bits;
	/* by line: the CPUs that may have it, and whether one has changed it */
	struct cache_blocks	lines;
	struct cache_core	*cores;
};

/* Returns NULL if there is no memory. cache_shape_wrong() must have accepted each shape. */
struct cache_system *cache_system_new(const struct cache_shapes *shapes, uint32_t cores, bool explain);
void cache_system_free(struct cache_system *s);

uint32_t cache_fetch_line(struct cache_core *core, uint64_t addr, uint32_t size);

/*
 * Returns the cycles that a fetch waits in addition to a hit in the first level. A fetch from the
 * same line as the last one needs no look-up: that line and its page are still the latest of their
 * sets.
 */
static inline uint32_t cache_fetch(struct cache_core *core, uint64_t addr, uint32_t size)
{
	struct cache *c = &core->part[CACHE_L1I];
	uint64_t line = core->last_fetch;

	if (!core->in_page || addr >> c->bits != line || (addr + size - 1) >> c->bits != line)
		return cache_fetch_line(core, addr, size);
	c->accesses[CACHE_FETCH]++;
	core->part[CACHE_ITLB].accesses[CACHE_FETCH]++;
	core->count[CACHE_EV_L1I_ACCESSES]++;
	return 0;
}
uint32_t cache_data(struct cache_core *core, enum cache_kind kind, uint64_t addr, uint32_t size);
/* Called when the block has left the L1D; returns true if it was prefetched and never used. */
bool cache_left_unused(struct cache_core *core, uint64_t block);

/* --- tapes: tape.c -------------------------------------------------------------------------- */

#define TAPE_OPS	8	/* most operations of an instruction */
#define TAPE_SIZE	65536	/* size of the largest access */

enum tape_kind { TAPE_LOAD, TAPE_STORE, TAPE_MODIFY, TAPE_NOT_TAKEN, TAPE_TAKEN, TAPE_JUMP, TAPE_KINDS };

/*
 * An executed instruction. If size is 0 it was not fetched: its operations belong to the
 * instruction before it.
 */
struct tape_instr {
	uint64_t	ip;
	uint32_t	size, num;
	struct {
		uint64_t	addr;		/* address of the data; target of a jump */
		uint32_t	size;
		uint32_t	kind;		/* an enum tape_kind */
	}		op[TAPE_OPS];
};

struct tape_writer;

/*
 * Makes a writer to file, which the caller closes after tape_end(). Returns NULL if there is no
 * memory.
 */
struct tape_writer *tape_writer_new(FILE *file);
/* returns false if there is no memory, or if writing failed */
bool tape_write(struct tape_writer *w, const struct tape_instr *instr);
/* returns the number of instructions written so far */
uint64_t tape_total(const struct tape_writer *w);
/* ends the tape and frees w; returns false if not everything could be written */
bool tape_end(struct tape_writer *w);

/*
 * Writes the memory accesses in the output of valgrind's lackey (--trace-mem=yes), up to its end.
 * Returns false as tape_write() does, or if the output could not be read.
 */
bool tape_from_lackey(struct tape_writer *w, FILE *text);

struct tape_reader;

/* Makes a reader of bytes, which the caller keeps. Returns NULL if there is no memory. */
struct tape_reader *tape_reader_new(const void *bytes, size_t size);
void tape_reader_free(struct tape_reader *r);
/*
 * Returns the next instruction, which is valid until the next call, or NULL. *wrong is then the
 * reason if the tape is damaged, and NULL at its end.
 */
const struct tape_instr *tape_read(struct tape_reader *r, const char **wrong);

/* --- coherence: coherence.c ----------------------------------------------------------------- */

/* Called before core accesses data. Returns the cycles that the access waits for other CPUs. */
uint32_t cache_cohere(struct cache_core *core, enum cache_kind kind, uint64_t addr, uint32_t size);

#endif
