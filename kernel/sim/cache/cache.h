/* SPDX-License-Identifier: MIT */
/*
 * cache.h - the memory of a simulated computer: caches, TLBs, branch predictors and coherence.
 *
 * cache.c is one cache; core.c what a CPU has of them, what an access asks for and how long that takes;
 * coherence.c keeps the caches of several CPUs coherent (MESI); branch.c predicts; why.c says why an access
 * missed; blocks.c is a set of blocks for them; tape.c records operations and gives them back,
 * lackey.c takes them from valgrind.
 *
 * Rules of an access, those of cachegrind: it touches the first and the last line that it needs and misses at most
 * once; the next level is asked on a miss only, with the whole access; no level includes another one. Data accesses
 * are clipped to the smallest line.
 *
 * A prefetcher of the L1D may bring the line behind one that missed, after the access, in no time, and asks the next
 * level for it as an access does. It does not cross a page of 4096 bytes.
 *
 * Time: CPUs execute in order and wait. An operation takes the cycles that its site says (1) and, for each access,
 * the latency of what had the data (nothing for the first level), the penalty of a TLB miss, of a line taken from
 * another CPU, and of a branch that was predicted wrongly. Stores wait as loads do.
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

/* A cache: size bytes in lines of line bytes, assoc of them in a set; size 0: there is none. */
struct cache_shape {
	uint64_t	size;
	uint32_t	assoc, line;
	uint32_t	policy;		/* enum cache_policy */
	uint32_t	latency;	/* cycles of an access that is answered here, beyond those of the first level */
};

enum { CACHE_L1I, CACHE_L1D, CACHE_L2, CACHE_L3, CACHE_ITLB, CACHE_DTLB, CACHE_PARTS };

/* What a CPU has. TLBs are caches of translations: lines are pages, and latency is what a miss costs. */
struct cache_shapes {
	struct cache_shape part[CACHE_PARTS];
	uint32_t	memory;		/* latency of memory, and of another CPU's cache */
	uint32_t	mispredicted;	/* cycles that a wrong prediction costs */
	uint32_t	predictor;	/* enum cache_predictor */
	bool		write_around;	/* stores go past the L1D, which has no new lines for them */
	uint32_t	prefetch;	/* enum cache_prefetcher: of the L1D */
};

extern const char *const cache_part_names[CACHE_PARTS];	/* "L1I" ... */

#define CACHE_NO_BLOCK	(~0ULL)

/* --- one cache: cache.c --------------------------------------------------------------------- */

struct cache {
	uint64_t	*tags;		/* blocks, set by set; LRU, FIFO: the latest first */
	uint64_t	mask;		/* sets - 1 */
	uint32_t	assoc, bits;	/* 1 << bits bytes a line */
	bool		lru;
	uint32_t	policy, latency;
	uint64_t	*tree;		/* PLRU: bits of each set */
	uint64_t	random;		/* RANDOM: state */
	uint64_t	accesses[CACHE_KINDS], misses[CACHE_KINDS];
	uint64_t	*missed;	/* lines that were not there, by set */
};

/* Why a shape cannot be; NULL: it can. */
const char *cache_shape_wrong(const struct cache_shape *shape);
bool cache_init(struct cache *c, const struct cache_shape *shape);	/* false without memory */
void cache_free(struct cache *c);
bool cache_touch_set(struct cache *c, uint64_t *set, uint64_t block);
bool cache_has(const struct cache *c, uint64_t block);
/* What the block, which is not there, would replace; CACHE_NO_BLOCK: nothing. */
uint64_t cache_victim(const struct cache *c, uint64_t block);
/* The block, which is not there, is brought without being asked for. */
void cache_bring(struct cache *c, uint64_t block);
/* The block is no longer there; false: it was not. */
bool cache_drop(struct cache *c, uint64_t block);

/* True on a miss; the block is there then. */
static inline bool cache_touch(struct cache *c, uint64_t block)
{
	uint64_t *set = c->tags + (block & c->mask) * c->assoc;

	if (c->lru && set[0] == block)
		return false;
	return cache_touch_set(c, set, block);
}

/* size bytes from addr on; true on a miss, which is one at most. */
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
		uint64_t	block;	/* + 1; 0: free */
		uint64_t	value;
	}		*at;
	uint64_t	room, num;
};

/* The value of a block, 0 at first; NULL without memory. Valid until a block is added. */
uint64_t *cache_blocks_at(struct cache_blocks *b, uint64_t block);
void cache_blocks_free(struct cache_blocks *b);

/* --- branches: branch.c --------------------------------------------------------------------- */

#define CACHE_COUNTERS	(1 << 14)
#define CACHE_TARGETS	512

struct cache_branches {
	uint32_t	kind;		/* enum cache_predictor */
	uint32_t	history;
	uint8_t		counters[CACHE_COUNTERS];	/* two bits: taken from 2 on */
	uint64_t	targets[CACHE_TARGETS];	/* the last one, by the low bits of the address */
};

/* A conditional branch, an indirect one: true if the prediction was wrong. */
bool cache_branch(struct cache_branches *b, uint64_t ip, bool taken);
bool cache_jump(struct cache_branches *b, uint64_t ip, uint64_t target);

/* --- why: why.c ----------------------------------------------------------------------------- */

enum cache_cause { CACHE_COMPULSORY, CACHE_CAPACITY, CACHE_CONFLICT, CACHE_COHERENCE, CACHE_CAUSES };

/* What an L1D of the same size would hold if it were fully associative, and what it ever held. */
struct cache_why {
	struct cache_blocks	seen;	/* value: bits CACHE_SEEN... and the entry of the block + 1 */
	struct cache_entry	*entry;	/* a list by last use */
	uint32_t		num, room, first, last;
};

bool cache_why_init(struct cache_why *w, const struct cache_shape *shape);
void cache_why_free(struct cache_why *w);
/* An access to a block of the L1D; what its cause is if it missed there. */
enum cache_cause cache_why(struct cache_why *w, uint64_t block);
void cache_why_lost(struct cache_why *w, uint64_t block);	/* another CPU took it */

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
	uint64_t		count[CACHE_EVENTS];	/* so far */
	struct cache		part[CACHE_PARTS];
	bool			has[CACHE_PARTS];
	struct cache_branches	branches;
	struct cache_system	*system;
	uint32_t		num;
	uint32_t		clip;		/* the smallest line */
	bool			in_page;	/* a line of the L1I is in one page */
	uint64_t		last_fetch;	/* the line of the L1I that was fetched last */
	uint64_t		invalidated;	/* lines lost to other CPUs */
	struct cache_blocks	prefetched;	/* lines of the L1D; value: 1, not used yet */
	uint64_t		lost_unused;	/* lost to other CPUs before use, and not counted yet */
	uint64_t		next[2];	/* lines to prefetch */
	uint32_t		num_next;
	struct cache_why	why;
	enum cache_cause	cause;		/* of the last data access that missed the L1D, if explained */
};

/* All CPUs: their private caches on one bus. */
struct cache_system {
	struct cache_shapes	shapes;
	uint32_t		num_cores;
	bool			explain;	/* causes are found */
	uint32_t		line_bits;	/* of coherence: the largest line */
	struct cache_blocks	lines;		/* value: CPUs that may have it, and which one changed it */
	struct cache_core	*cores;
};

/* NULL without memory. The shapes must be right: cache_shapes_wrong(). */
struct cache_system *cache_system_new(const struct cache_shapes *shapes, uint32_t cores, bool explain);
void cache_system_free(struct cache_system *s);
const char *cache_shapes_wrong(const struct cache_shapes *shapes);

uint32_t cache_fetch_line(struct cache_core *core, uint64_t addr, uint32_t size);

/*
 * Cycles that an access waits, beyond a hit in the first level. The line of the last fetch is the latest of its set
 * still, and so is its page: to ask for them again would change nothing.
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
/* The block has left the L1D; true if it was prefetched and never used. */
bool cache_left_unused(struct cache_core *core, uint64_t block);

/* --- tapes: tape.c -------------------------------------------------------------------------- */

#define TAPE_OPS	8	/* operations of one instruction */
#define TAPE_SIZE	65536	/* the largest access */

enum tape_kind { TAPE_LOAD, TAPE_STORE, TAPE_MODIFY, TAPE_NOT_TAKEN, TAPE_TAKEN, TAPE_JUMP, TAPE_KINDS };

/* An instruction executed. size 0: not fetched, what goes on is the one before. */
struct tape_instr {
	uint64_t	ip;
	uint32_t	size, num;
	struct {
		uint64_t	addr;		/* of data; jump: the target */
		uint32_t	size;
		uint32_t	kind;		/* enum tape_kind */
	}		op[TAPE_OPS];
};

struct tape_writer;

/* Writes to file until the end; the file is the caller's. NULL without memory. */
struct tape_writer *tape_writer_new(FILE *file);
bool tape_write(struct tape_writer *w, const struct tape_instr *instr);	/* false: no memory, or not written */
uint64_t tape_total(const struct tape_writer *w);	/* instructions written so far */
bool tape_end(struct tape_writer *w);		/* and frees w; false: not all was written */

/* Writes what valgrind's lackey prints of memory (--trace-mem=yes), to its end; false: as tape_write(). */
bool tape_from_lackey(struct tape_writer *w, FILE *text);

struct tape_reader;

/* Reads bytes, which stay the caller's. NULL: no memory. */
struct tape_reader *tape_reader_new(const void *bytes, size_t size);
void tape_reader_free(struct tape_reader *r);
/* The next instruction; NULL at the end, or where the tape is bad: *wrong then says so. Valid until the next call. */
const struct tape_instr *tape_read(struct tape_reader *r, const char **wrong);

/* --- coherence: coherence.c ----------------------------------------------------------------- */

/* Before an access to data of core; cycles that it waits for the others. */
uint32_t cache_cohere(struct cache_core *core, enum cache_kind kind, uint64_t addr, uint32_t size);

#endif
