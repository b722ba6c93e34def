// SPDX-License-Identifier: MIT
/*
 * ia64_range.c - code and data address ranges as values of debug register pairs: an address and
 * a mask of the bits that must match, so that a pair covers an aligned block of 2^n bytes.
 */
#include "ia64.h"

#define MASK_BITS	0x00ffffffffffffffULL
#define MAX_PAIRS	4

/* --- blocks --------------------------------------------------------------------------------- */

struct block {
	uint64_t	start;
	unsigned int	bits;
};

struct cover {
	struct block	blocks[MAX_PAIRS];
	unsigned int	n;
	/* how many bytes are covered outside of the range */
	uint64_t	before, behind;
};

static uint64_t align_down(uint64_t addr, unsigned int bits)
{
	return bits < 64 ? addr >> bits << bits : 0;
}

/* Returns the smallest aligned block that contains [start, end). */
static struct block around(uint64_t start, uint64_t end)
{
	struct block b = { start, 0 };

	while (b.bits < 63 && align_down(start, b.bits) + ((1ULL << b.bits) - 1) < end - 1)
		b.bits++;
	b.start = align_down(start, b.bits);
	return b;
}

/*
 * Covers the `size` bytes that begin at c (up) or end there (!up) with at most n blocks, the
 * largest first; c is aligned. Returns how many bytes the last block covers beyond them.
 */
static uint64_t cover_side(struct cover *cv, uint64_t c, uint64_t size, unsigned int n, bool up)
{
	uint64_t at = c;

	while (size) {
		unsigned int bits = 63 - __builtin_clzll(size);
		uint64_t len = 1ULL << bits;

		if (n == 1 && size != len)
			len = 1ULL << ++bits;
		cv->blocks[cv->n].start = up ? at : at - len;
		cv->blocks[cv->n++].bits = bits;
		if (len >= size)
			return len - size;
		at = up ? at + len : at - len;
		size -= len;
		n--;
	}
	return 0;
}

static struct cover split_cover(uint64_t start, uint64_t c, uint64_t end, unsigned int left,
				unsigned int right)
{
	struct cover cv = { .n = 0 };

	cv.before = cover_side(&cv, c, c - start, left, false);
	cv.behind = cover_side(&cv, c, end - c, right, true);
	return cv;
}

static bool better(const struct cover *a, const struct cover *b)
{
	uint64_t ax = a->before + a->behind, bx = b->before + b->behind;

	return ax != bx ? ax < bx : a->n < b->n;
}

/* Finds the tightest cover of [start, end) with at most n blocks. */
static struct cover best_cover(uint64_t start, uint64_t end, unsigned int n)
{
	struct block one = around(start, end);
	struct cover best = { .blocks = { one }, .n = 1, .before = start - one.start,
			      .behind = one.start + (1ULL << one.bits) - end };
	unsigned int h = 63 - __builtin_clzll(start ^ end);
	uint64_t c = align_down(end, h);

	for (unsigned int left = 0; left <= n; left++) {
		struct cover cv;

		if ((left == 0) != (c == start) || (left == n) != (c == end))
			continue;
		cv = split_cover(start, c, end, left, n - left);
		if (better(&cv, &best))
			best = cv;
	}
	return best;
}

/* --- debug registers ------------------------------------------------------------------------ */

static uint64_t mask_value(unsigned int bits, unsigned int plm)
{
	return (~((1ULL << bits) - 1) & MASK_BITS) | (uint64_t)plm << 56;
}

static void add_register(pfmlib_ita2_output_rr_t *orr, unsigned int num, uint64_t value)
{
	pfmlib_reg_t *reg = &orr->rr_br[orr->rr_nbr_used++];

	reg->reg_num = num;
	reg->reg_value = value;
	reg->reg_addr = reg->reg_alt_addr = num;
}

static void add_pair(pfmlib_ita2_output_rr_t *orr, unsigned int pair, uint64_t start,
		     unsigned int bits, unsigned int plm)
{
	add_register(orr, 2 * pair, start);
	add_register(orr, 2 * pair + 1, mask_value(bits, plm));
}

static unsigned int range_plm(const struct ia64_dispatch *x, const pfmlib_ita2_input_rr_desc_t *r)
{
	return r->rr_plm ? r->rr_plm & 0xf : x->in->pfp_dfl_plm;
}

/* Adds ranges that may use several pairs; each leaves a pair for every range after it. */
int ia64_add_ranges(const struct ia64_dispatch *x, const pfmlib_ita2_input_rr_t *rr, unsigned int n,
		    pfmlib_ita2_output_rr_t *orr)
{
	unsigned int pair = 0;

	for (unsigned int i = 0; i < n; i++) {
		const pfmlib_ita2_input_rr_desc_t *r = &rr->rr_limits[i];
		struct cover cv = best_cover(r->rr_start, r->rr_end, MAX_PAIRS - pair - (n - 1 - i));

		for (unsigned int b = 0; b < cv.n; b++)
			add_pair(orr, pair++, cv.blocks[b].start, cv.blocks[b].bits, range_plm(x, r));
		orr->rr_infos[i].rr_soff = cv.before;
		orr->rr_infos[i].rr_eoff = cv.behind;
	}
	return PFMLIB_SUCCESS;
}

static int add_single(const struct ia64_dispatch *x, const pfmlib_ita2_input_rr_desc_t *r,
		      unsigned int pair, pfmlib_ita2_output_rr_t *orr)
{
	struct block b = around(r->rr_start, r->rr_end);

	if (b.bits > 62)
		return pfl_explain(PFMLIB_ERR_IRRTOOBIG, "the code range is too big for one register pair");
	add_pair(orr, pair, b.start, b.bits, range_plm(x, r));
	orr->rr_infos[0].rr_soff = r->rr_start - b.start;
	orr->rr_infos[0].rr_eoff = b.start + (1ULL << b.bits) - r->rr_end;
	return PFMLIB_SUCCESS;
}

/*
 * Fine mode: two pairs of debug registers hold both limits, inclusive, which lie in one page of 4
 * KB, 64 KB on Montecito. The hardware sees pairs of bundles only.
 */
static int add_fine(const struct ia64_dispatch *x, const pfmlib_ita2_input_rr_t *rr, unsigned int n,
		    unsigned int pair, pfmlib_ita2_output_rr_t *orr)
{
	if (n + pair > 2)
		return pfl_explain(PFMLIB_ERR_IRRTOOMANY, "too many code ranges for fine mode");
	for (unsigned int i = 0; i < n; i++) {
		const pfmlib_ita2_input_rr_desc_t *r = &rr->rr_limits[i];
		uint64_t first = align_down(r->rr_start, 5), last = r->rr_end - 0x10;

		if ((last & 0x1f) == 0)
			last += 0x10;
		add_pair(orr, pair + i, first, x->regs->fine_bits, range_plm(x, r));
		add_pair(orr, pair + i + 2, last, x->regs->fine_bits, range_plm(x, r));
		orr->rr_infos[i].rr_soff = r->rr_start - first;
		orr->rr_infos[i].rr_eoff = last + 0x10 - r->rr_end;
	}
	return PFMLIB_SUCCESS;
}

/* --- conditions ----------------------------------------------------------------------------- */

int ia64_count_ranges(const pfmlib_ita2_input_rr_t *rr, bool code, unsigned int *n)
{
	int invalid = code ? PFMLIB_ERR_IRRINVAL : PFMLIB_ERR_DRRINVAL;

	for (*n = 0; *n < 4; ++*n) {
		const pfmlib_ita2_input_rr_desc_t *r = &rr->rr_limits[*n];

		if (r->rr_start == 0 && r->rr_end == 0)
			break;
		if (code && r->rr_start == r->rr_end)
			return pfl_explain(PFMLIB_ERR_IRREMPTY, "code range %u is empty", *n);
		if (r->rr_start >= r->rr_end)
			return pfl_explain(invalid, "range %u ends before it starts", *n);
		if (code && ((r->rr_start | r->rr_end) & 0xf))
			return pfl_explain(PFMLIB_ERR_IRRALIGN, "code range %u is not aligned on bundles", *n);
	}
	return *n ? PFMLIB_SUCCESS : pfl_explain(invalid, "no range is given");
}

static bool fine_possible(const struct ia64_dispatch *x, const pfmlib_ita2_input_rr_t *rr, unsigned int n)
{
	if (rr->rr_flags & PFMLIB_ITA2_RR_NO_FINE_MODE)
		return false;
	for (unsigned int i = 0; i < n; i++)
		if (rr->rr_limits[i].rr_start >> x->regs->fine_bits !=
		    rr->rr_limits[i].rr_end >> x->regs->fine_bits)
			return false;
	return true;
}

struct code_plan {
	unsigned int	n, prefetches, retired, kinds;
	unsigned int	pair;		/* the first pair that the range uses */
	bool		fine, retired_only;
	bool		both;		/* the range is in pair 0 and in pair 1 */
};

static bool is_prefetch(const struct ia64_event *e)
{
	return e->code == 0x44 || e->code == 0x45 || e->code == 0x5f;
}

/*
 * Returns true for events of which Montecito restricts demand fetches by pair 0, and prefetches by
 * pair 1.
 */
static bool is_either(const struct ia64_dispatch *x, const struct ia64_event *e)
{
	return x->model == &pfl_montecito && (e->code == 0x41 || e->code == 0x46 || e->code == 0x65 || e->code == 0x66);
}

/* Prefetches are restricted by pair 1 only. */
static int plan_prefetches(const struct ia64_dispatch *x, struct code_plan *c)
{
	const unsigned int flags = x->code.rr_flags;
	bool demand = false, prefetch = false;

	for (unsigned int i = 0; i < x->in->pfp_event_count; i++) {
		const struct ia64_event *e = ia64_of(&x->in->pfp_events[i]);

		if (!e || !(is_prefetch(e) || is_either(x, e)))
			continue;
		c->prefetches++;
		if (is_either(x, e) && !(flags & (PFMLIB_MONT_IRR_DEMAND_FETCH | PFMLIB_MONT_IRR_PREFETCH_MATCH)))
			return pfl_explain(PFMLIB_ERR_IRRFLAGS, "%s: say whether demand fetches or prefetches",
					   e->name);
		demand |= is_either(x, e) && flags & PFMLIB_MONT_IRR_DEMAND_FETCH;
		prefetch |= is_prefetch(e) || flags & PFMLIB_MONT_IRR_PREFETCH_MATCH;
	}
	c->pair = prefetch && !demand;
	c->both = prefetch && demand;
	return PFMLIB_SUCCESS;
}

/* --- code ranges: PMC14; Montecito: PMC38 --------------------------------------------------- */

static int place_fine(struct ia64_dispatch *x, const struct code_plan *c)
{
	int ret;

	if (c->prefetches && c->n != 1)
		return pfl_explain(PFMLIB_ERR_IRRTOOMANY, "prefetch events take one code range in fine mode");
	ret = add_fine(x, &x->code, c->n, c->pair, x->code_out);
	return ret == PFMLIB_SUCCESS && c->both ? add_fine(x, &x->code, c->n, 1, x->code_out) : ret;
}

static int place_code(struct ia64_dispatch *x, const struct code_plan *c)
{
	int ret;

	if (c->fine)
		return place_fine(x, c);
	if (c->retired_only)
		return ia64_add_ranges(x, &x->code, c->n, x->code_out);
	if (c->n > 1)
		return pfl_explain(PFMLIB_ERR_IRRTOOMANY,
				   "these events take one code range only, unless the ranges lie in %u KB pages",
				   1U << (x->regs->fine_bits - 10));
	if (c->prefetches && c->prefetches + c->retired != x->in->pfp_event_count)
		return pfl_explain(PFMLIB_ERR_FEATCOMB,
				   "prefetch and other events cannot be restricted to a code range together");
	ret = add_single(x, &x->code.rr_limits[0], c->pair, x->code_out);
	return ret == PFMLIB_SUCCESS && c->both ? add_single(x, &x->code.rr_limits[0], 1, x->code_out) : ret;
}

static unsigned int pairs_used(const pfmlib_ita2_output_rr_t *orr)
{
	unsigned int pairs = 0;

	for (unsigned int i = 0; i < orr->rr_nbr_used; i++)
		pairs |= 1U << orr->rr_br[i].reg_num / 2;
	return pairs;
}

/*
 * Pairs 0 and 2 belong to the first matcher, 1 and 3 to the other one, and each pair in use needs
 * its tagged event. In fine mode pairs 2 and 3 hold the ends of the ranges of 0 and 1.
 */
static int check_pairs(struct ia64_dispatch *x, const struct code_plan *c, unsigned int pairs)
{
	unsigned int counted = c->fine ? pairs & 3 : pairs;

	if (!c->retired_only)
		return PFMLIB_SUCCESS;
	if ((x->opcode[0] && pairs & 0xa) || (x->opcode[1] && pairs & 0x5))
		return pfl_explain(PFMLIB_ERR_FEATCOMB,
				   "the code ranges need register pairs that do not go with the opcode matcher");
	if (counted & ~c->kinds)
		return pfl_explain(PFMLIB_ERR_IRRINVAL,
				   "the code ranges need %u register pairs, and an IA64_TAGGED_INST_RETIRED event "
				   "for each", (unsigned int)__builtin_popcount(counted));
	return PFMLIB_SUCCESS;
}

/* The first matcher's register inverts the range of pair 0; no other pair can be inverted. */
static int check_inverted(const struct ia64_dispatch *x, const struct code_plan *c, unsigned int pairs)
{
	if (x->code.rr_flags & PFMLIB_ITA2_RR_INV && pairs & ~(c->fine ? 0x5U : 0x1U))
		return pfl_explain(PFMLIB_ERR_IRRTOOMANY,
				   "one code range can be inverted that takes one register pair, not of prefetches");
	return PFMLIB_SUCCESS;
}

static uint64_t code_value(unsigned int pairs, bool fine)
{
	uint64_t value = 0xdb6 | (uint64_t)fine << 13;

	for (unsigned int i = 0; i < MAX_PAIRS; i++)
		if (pairs >> i & 1)
			value &= ~(1ULL << (1 + 3 * i));
	return value;
}

int ia64_code_ranges(struct ia64_dispatch *x)
{
	struct code_plan c = { 0 };
	unsigned int pairs;
	int ret;

	if (!x->code.rr_used)
		return PFMLIB_SUCCESS;
	ret = ia64_count_ranges(&x->code, true, &c.n);
	if (ret == PFMLIB_SUCCESS)
		ret = plan_prefetches(x, &c);
	if (ret != PFMLIB_SUCCESS)
		return ret;
	c.retired = ia64_count_retired(x->in, &c.kinds);
	c.retired_only = c.retired == x->in->pfp_event_count;
	c.fine = fine_possible(x, &x->code, c.n);
	ret = place_code(x, &c);
	if (ret != PFMLIB_SUCCESS)
		return ret;
	pairs = pairs_used(x->code_out);
	ret = check_pairs(x, &c, pairs);
	if (ret == PFMLIB_SUCCESS)
		ret = check_inverted(x, &c, pairs);
	return ret == PFMLIB_SUCCESS ? ia64_add_pmc(x, x->regs->code_pmc, code_value(pairs, c.fine)) : ret;
}

/* --- data ranges: PMC13; Montecito: PMC41 --------------------------------------------------- */

enum { BY_DATA = 1, BY_OPCODE = 2, BY_CODE = 4 };

/* Returns cfg_dbrp or cfg_dtag: 0 code, opcode and data, 1 code and opcode, 2 data, 3 nothing. */
static unsigned int pair_config(unsigned int by)
{
	if (by == BY_DATA)
		return 2;
	if (by & BY_DATA)
		return 0;
	return by ? 1 : 3;
}

static uint64_t data_value(const unsigned int by[MAX_PAIRS])
{
	uint64_t value = 0x2078fefefefeULL & ~(0xfULL << 45);

	for (unsigned int i = 0; i < MAX_PAIRS; i++) {
		value &= ~(3ULL << (3 + 8 * i));
		value |= (uint64_t)pair_config(by[i]) << (3 + 8 * i) | (uint64_t)(by[i] != 0) << (45 + i);
	}
	return value;
}

bool ia64_code_is_fine(pfmlib_output_param_t *out, const struct ia64_model *regs)
{
	const pfmlib_reg_t *reg = pfl_find_pmc(out, regs->code_pmc);

	return reg && reg->reg_value >> 13 & 1;
}

/*
 * Returns true if opcodes restrict events of loads and stores, which only PMC13 (Montecito: PMC41)
 * controls.
 */
static bool matches_memory(const struct ia64_dispatch *x)
{
	for (unsigned int i = 0; x->opcode[0] && i < x->in->pfp_event_count; i++) {
		const struct ia64_event *e = ia64_of(&x->in->pfp_events[i]);

		if (e && e->drange)
			return true;
	}
	return false;
}

int ia64_data_ranges(struct ia64_dispatch *x)
{
	unsigned int by[MAX_PAIRS] = { 0 }, n, code = 0, data = 0;
	bool opcode = matches_memory(x);
	int ret = PFMLIB_SUCCESS;

	if (x->data.rr_used) {
		ret = ia64_count_ranges(&x->data, false, &n);
		if (ret == PFMLIB_SUCCESS)
			ret = ia64_add_ranges(x, &x->data, n, x->data_out);
		data = pairs_used(x->data_out);
	}
	if (x->code.rr_used)
		code = pairs_used(x->code_out);
	if (ret != PFMLIB_SUCCESS || !(data || code || opcode))
		return ret;
	if (ia64_code_is_fine(x->out, x->regs))
		code &= 3;	/* the hardware enables the pair's partner, too */
	for (unsigned int i = 0; i < MAX_PAIRS; i++) {
		by[i] = (data >> i & 1 ? BY_DATA : 0) | (code >> i & 1 ? BY_CODE : 0);
		by[i] |= by[i] && x->opcode[i & 1] ? BY_OPCODE : 0;
	}
	if (!(data | code))
		by[0] = BY_OPCODE;
	return ia64_add_pmc(x, x->regs->data_pmc, data_value(by));
}
