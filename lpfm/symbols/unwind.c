/* SPDX-License-Identifier: MIT */
/*
 * unwind.c - finds the callers in user stacks. Each step follows the row of call frame information
 * for the address. Memory that the row refers to is read from the copy of the stack's top. If the
 * program has frame pointers, memory that was not copied is replaced by the chain: the return
 * addresses that the kernel found by following the frame pointers. The chain begins at the frame to
 * which the frame pointer leads. A return address is taken from it when the row of the function
 * says that this frame is the function's own. A leaf without a frame, and a function that has not
 * made its frame yet, have their return address in the copy, or in a register.
 */
#include <stdlib.h>
#include <string.h>

#include "symbols/cfi.h"
#include "symbols/expression.h"
#include "symbols/mapped.h"
#include "symbols/unwind.h"

/*
 * How registers are numbered: by_dwarf has, for each of DWARF's numbers, the packed index in
 * asm/perf_regs.h.
 */
struct layout {
	const unsigned char	*by_dwarf;
	unsigned int		num, sp, fp;
	unsigned int		word;		/* bytes of a word on the stack */
	uint64_t		address;	/* mask of the bits that form an address */
};

#if defined(__x86_64__)
enum { SP = 7, PC = 8, REGS = 20 };
static const struct layout native = {
	(const unsigned char[]){ 0, 3, 2, 1, 4, 5, 6, 7, 12, 13, 14, 15, 16, 17, 18, 19, 8 }, 17, 7, 6, 8, UINT64_MAX
};
static const struct layout narrow = {
	(const unsigned char[]){ 0, 2, 3, 1, 7, 6, 4, 5, 8 }, 9, 4, 5, 4, UINT32_MAX
};
#define IS_FRAME_BY_POINTER(row, l)	((row)->cfa_reg == (l)->fp)
#elif defined(__aarch64__)
enum { SP = 31, PC = 32, REGS = 33 };
/* The bits above an address contain its signature (pointer authentication). */
static const struct layout native = {
	(const unsigned char[]){ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
		24, 25, 26, 27, 28, 29, 30, 31 }, 32, 31, 29, 8, (1ULL << 48) - 1
};
#define narrow native
#define IS_FRAME_BY_POINTER(row, l)	true
#else
enum { SP = 0, PC = 0, REGS = -1 };
static const struct layout native = { (const unsigned char[]){ 0 }, 1, 0, 0, 8, UINT64_MAX };
#define narrow native
#define IS_FRAME_BY_POINTER(row, l)	false
#endif

/* An address that is more bytes than this above the stack pointer belongs to another stack. */
#define FAR	(16ULL << 20)

enum { HOPS = 4096, SPANS = 64 };	/* powers of two */

/*
 * What a walk does at a return address of the chain while it knows no register: this depends on the
 * address and on the mappings alone.
 */
struct hop {
	struct symversion	version;
	const struct layout	*l;		/* NULL: the entry is free */
	uint64_t		pc;
	uint64_t		frame;		/* 0: the address is no code */
	enum symunwind_end	end;
	bool			takes;		/* the walk goes on with the chain's next address */
};

struct symunwind {
	struct symmapped	*mapped;
	bool			by_pointers;
	struct hop		hops[HOPS];
	struct symversion	version;
	struct symspan		spans[SPANS];	/* spans of that version, by address */
};

/*
 * The frame that the walk has reached. A register has a known value in regs if its bit is set in
 * known.
 */
struct walk {
	struct symunwind	*u;
	const struct symunwind_stack *s;
	const struct layout	*l;
	uint64_t		base;		/* address of the copy */
	uint64_t		pc;
	uint64_t		regs[SYMCFI_REGS];
	uint64_t		known;
	/* index in the chain of the next return address to take; 0: the chain cannot be used */
	size_t			next;
	enum symunwind_end	why;		/* why the last value could not be found */
	bool			called;		/* pc is an address to which a call returns */
	/*
	 * pc is the first instruction of a function: a return address without a call before it,
	 * which the kernel or the program has put there
	 */
	bool			is_made;
};

struct symunwind *symunwind_open(bool by_pointers)
{
	struct symunwind *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->by_pointers = by_pointers;
	u->mapped = symmapped_new();
	if (u->mapped)
		return u;
	symunwind_close(u);
	return NULL;
}

void symunwind_close(struct symunwind *u)
{
	if (!u)
		return;
	symmapped_free(u->mapped);
	free(u);
}

struct symmapped *symunwind_mapped(struct symunwind *u)
{
	return u->mapped;
}

/* --- memory and registers ------------------------------------------------------------------- */

static bool read_word(struct walk *w, uint64_t addr, uint64_t *word)
{
	uint64_t at = addr - w->base;

	if (addr < w->base || w->s->size < w->l->word || at > w->s->size - w->l->word) {
		w->why = addr < w->base || at > FAR ? SYMUNWIND_STACK : SYMUNWIND_COPY;
		return false;
	}
	*word = 0;
	memcpy(word, (const char *)w->s->copy + at, w->l->word);
	return true;
}

static bool is_known(const struct walk *w, unsigned int reg)
{
	return w->known >> reg & 1;
}

static void set(struct walk *w, unsigned int reg, bool is_had, uint64_t value)
{
	w->known = is_had ? w->known | 1ULL << reg : w->known & ~(1ULL << reg);
	if (is_had)
		w->regs[reg] = value & (w->l->word == 4 ? UINT32_MAX : UINT64_MAX);
}

static bool expression_register(const void *from, unsigned int num, uint64_t *value)
{
	const struct walk *w = from;

	if (num >= w->l->num || !is_known(w, num))
		return false;
	*value = w->regs[num];
	return true;
}

static bool expression_read(const void *from, uint64_t addr, uint64_t *word)
{
	return read_word((struct walk *)(uintptr_t)from, addr, word);
}

static bool evaluate(struct walk *w, const struct symcfi_row *row, int32_t index, uint64_t cfa, uint64_t *value)
{
	struct symexpr_place place = { expression_register, expression_read, w, cfa };

	w->why = SYMUNWIND_TABLE;
	return symexpr_evaluate(&row->expressions[index], &place, value);
}

static bool find_cfa(struct walk *w, const struct symcfi_row *row, uint64_t *cfa)
{
	if (row->cfa_reg == SYMCFI_BY_EXPRESSION) {
		if (!evaluate(w, row, row->cfa_offset, 0, cfa))
			return false;
	} else {
		if (!is_known(w, row->cfa_reg))
			return false;
		*cfa = w->regs[row->cfa_reg] + (uint64_t)(int64_t)row->cfa_offset;
	}
	if (w->l->word == 4)
		*cfa = (uint32_t)*cfa;
	return true;
}

/*
 * Reads a register of the caller by an expression, which is evaluated with the registers of the
 * callee. Returns false if the value is unknown.
 */
static bool fetch_by_expression(struct walk *w, const struct walk *before, const struct symcfi_row *row,
				const struct symcfi_change *change, uint64_t cfa, uint64_t *value)
{
	struct walk at = *before;
	bool is_had = evaluate(&at, row, change->offset, cfa, value) &&
		      (change->how == SYMCFI_VALUE_BY || read_word(&at, *value, value));

	if (!is_had)
		w->why = at.why;
	return is_had;
}

/*
 * Reads a register of the caller from memory or from a register of the callee. Returns false if the
 * value is unknown.
 */
static bool fetch(struct walk *w, const struct walk *before, const struct symcfi_row *row,
		  const struct symcfi_change *change, uint64_t cfa, uint64_t *value)
{
	switch (change->how) {
	case SYMCFI_SAVED:
		return read_word(w, cfa + (uint64_t)(int64_t)change->offset, value);
	case SYMCFI_VALUE:
		*value = cfa + (uint64_t)(int64_t)change->offset;
		return true;
	case SYMCFI_MOVED:
		*value = before->regs[change->offset];
		return is_known(before, (unsigned int)change->offset);
	default:
		return fetch_by_expression(w, before, row, change, cfa, value);
	}
}

/* --- steps to the caller -------------------------------------------------------------------- */

/*
 * Takes the return address of the chain's next frame, which is the function's own frame. All
 * registers are forgotten, so that from here on only the chain is followed and no memory is read:
 * how far the copy reaches depends on the depth of the stack, but call stacks with the same callers
 * must end at the same place.
 */
static enum symunwind_end take_from_chain(struct walk *w)
{
	w->known = 0;
	if (w->next >= w->s->num_chain)
		return w->s->is_cut ? SYMUNWIND_FRAMES : SYMUNWIND_POINTERS;
	w->pc = w->s->chain[w->next++];
	w->called = true;
	return SYMUNWIND_WHOLE;
}

/*
 * Returns true if the function has a frame to which frame pointers lead: one that contains the
 * caller's frame pointer and, in the word above it, the return address.
 */
static bool has_frame(const struct walk *w, const struct symcfi_row *row)
{
	const struct symcfi_change *fp = symcfi_change(row, w->l->fp), *ret = symcfi_change(row, row->return_reg);

	return fp && ret && fp->how == SYMCFI_SAVED && ret->how == SYMCFI_SAVED &&
	       ret->offset == fp->offset + (int32_t)w->l->word && IS_FRAME_BY_POINTER(row, w->l);
}

/*
 * Returns true if the frame is aligned more strictly than the stack. Then its distance from the
 * caller's frame is not known, and the compiler stores the return address in it a second time.
 */
static bool has_aligned_frame(const struct walk *w, const struct symcfi_row *row)
{
	const struct symcfi_change *fp = symcfi_change(row, w->l->fp);

	return fp && fp->how == SYMCFI_SAVED_BY && symexpr_is_register(&row->expressions[fp->offset], w->l->fp);
}

/*
 * Returns true if the function has an aligned frame, but is at its end and has already popped the
 * frame pointer. From there on the expressions of the row are wrong, because they compute addresses
 * from the frame pointer.
 */
static bool has_left_aligned_frame(const struct walk *w, const struct symcfi_row *row)
{
	return !w->called && has_aligned_frame(w, row) && row->cfa_reg != SYMCFI_BY_EXPRESSION &&
	       is_known(w, w->l->fp) && is_known(w, w->l->sp) && w->regs[w->l->fp] != w->regs[w->l->sp];
}

/*
 * Returns true if the chain's next return address is that of the function's frame. This is assumed
 * if the frame is aligned, or if its address (*cfa) or the frame pointer is not known.
 */
static bool is_at_chain(const struct walk *w, const struct symcfi_row *row, const uint64_t *cfa)
{
	const struct symcfi_change *fp = symcfi_change(row, w->l->fp);

	if (!w->next || has_aligned_frame(w, row))
		return w->next;
	if (!has_frame(w, row))
		return false;
	return !cfa || !is_known(w, w->l->fp) || *cfa + (uint64_t)(int64_t)fp->offset == w->regs[w->l->fp];
}

/*
 * Returns true if the function is at its end and has already restored the register: the register
 * was saved at an address that is now below the stack pointer.
 */
static bool is_popped(const struct walk *w, const struct symcfi_change *change, uint64_t cfa)
{
	return !w->called && change->how == SYMCFI_SAVED && is_known(w, w->l->sp) &&
	       cfa + (uint64_t)(int64_t)change->offset < w->regs[w->l->sp];
}

/*
 * Restores the caller's known registers. If the frame pointer changes, the chain cannot be used any
 * more. If has_left is true, the function has left an aligned frame, and has already restored the
 * registers that were saved in it.
 */
static void restore(struct walk *w, const struct symcfi_row *row, uint64_t cfa, bool has_left)
{
	const struct walk before = *w;
	unsigned int fp = w->l->fp;

	w->known &= ~row->lost;
	for (unsigned int i = 0; i < row->num; i++) {
		const struct symcfi_change *change = &row->changes[i];
		uint64_t value = 0;
		bool is_had;

		if (is_popped(&before, change, cfa) || (has_left && change->how == SYMCFI_SAVED_BY))
			continue;
		is_had = fetch(w, &before, row, change, cfa, &value);
		set(w, change->reg, is_had, value);
	}
	if (!is_known(w, fp) || w->regs[fp] != before.regs[fp])
		w->next = 0;
}

/* Goes to the caller by the function's row. Returns WHOLE, or why the caller cannot be found. */
static enum symunwind_end step_by_row(struct walk *w, const struct symcfi_row *row)
{
	uint64_t own, sp = w->regs[w->l->sp];
	const uint64_t *cfa = find_cfa(w, row, &own) ? &own : NULL;
	bool is_leaf = !w->called, had_sp = is_known(w, w->l->sp), has_left = has_left_aligned_frame(w, row);
	bool by_chain = !has_left && is_at_chain(w, row, cfa);

	if (!cfa && has_left) {	/* sp is at the copy of the return address */
		own = sp + w->l->word;
		cfa = &own;
	}
	if (!cfa && !by_chain)
		return w->u->by_pointers ? SYMUNWIND_POINTERS : w->why;
	if (cfa && had_sp && !row->is_signal && (own < sp || (own == sp && !is_leaf)))
		return SYMUNWIND_STACK;
	if (by_chain)
		return take_from_chain(w);
	restore(w, row, own, has_left);
	if (!is_known(w, row->return_reg))
		return w->u->by_pointers && w->why == SYMUNWIND_COPY ? SYMUNWIND_POINTERS : w->why;
	w->pc = w->regs[row->return_reg];
	w->called = !row->is_signal;
	return SYMUNWIND_WHOLE;
}

static const struct symmapping *mapping_at(struct walk *w, uint64_t addr)
{
	struct symspan *span = &w->u->spans[addr >> 20 & (SPANS - 1)];

	if (addr < span->low || addr >= span->high)
		*span = symmapped_find(w->u->mapped, w->s->pid, w->s->time, addr);
	return span->map;
}

/* Returns the row for the address; NULL if there is none. */
static const struct symcfi_row *row_at(const struct walk *w, const struct symmapping *map, uint64_t pc)
{
	const struct symcfi_row *row = map->file ? symcfi_row(map->file, pc - map->bias, w->l->num) : NULL;

	return row && row->kind != SYMCFI_NONE ? row : NULL;
}

/*
 * Returns true if a walk that has reached the return address ret needs the frame pointer to go on.
 * It does not if the code at ret has an unwind table, or if the stack ends there.
 */
static bool needs_pointer(struct walk *w, uint64_t ret)
{
	const struct symmapping *map = mapping_at(w, ret - 1);

	return !map || (!row_at(w, map, ret - 1) && !(map->file && symcfi_is_start(map->file, ret - 1 - map->bias)));
}

/*
 * Returns true if a call may return to the address pc. If the code's bytes are available, a call
 * instruction must precede the address.
 */
static bool may_return_to(struct walk *w, uint64_t pc)
{
	const struct symmapping *map = pc ? mapping_at(w, (pc & w->l->address) - 1) : NULL;

	return map && (!map->file || symcfi_is_after_call(map->file, (pc & w->l->address) - map->bias));
}

/*
 * Reads the return address of the frame to which the frame pointer leads. Returns false if it is
 * not known.
 */
static bool read_return(struct walk *w, uint64_t *ret)
{
	if (w->next) {
		*ret = w->next < w->s->num_chain ? w->s->chain[w->next] : 0;
		return *ret;
	}
	return is_known(w, w->l->fp) && read_word(w, w->regs[w->l->fp] + w->l->word, ret);
}

/*
 * Returns true if the instruction before the return address called the function that begins at the
 * given address.
 */
static bool has_called(struct walk *w, uint64_t ret, uint64_t function)
{
	const struct symmapping *map = ret ? mapping_at(w, ret - 1) : NULL;
	uint64_t called;

	return map && map->file && symcfi_called(map->file, ret - map->bias, &called) && called + map->bias == function;
}

enum frame { FRAME_MADE, FRAME_NOT_MADE, FRAME_UNKNOWN };

/*
 * Looks on top of the stack for the return address of a function that has not made its frame yet,
 * or has left it. Returns true if a call may return to the word there, which *ret receives; *from
 * receives the address of that word.
 */
static bool find_on_top(struct walk *w, uint64_t *from, uint64_t *ret)
{
	uint64_t fp = w->regs[w->l->fp], top;

	*from = w->regs[w->l->sp];
	if (w->called || !is_known(w, w->l->sp) || fp == *from || !read_word(w, *from, &top))
		return false;
	if (top == fp)	/* the function has just pushed the frame pointer */
		*from += w->l->word;
	return read_word(w, *from, ret) && may_return_to(w, *ret);
}

/*
 * Decides, in code without a table, whether the function has made its frame (FRAME_MADE), or has
 * its return address on top of the stack at *from (FRAME_NOT_MADE). If a symbol says where the
 * function begins, it can have made its frame only if the code from there on sets the frame
 * pointer. If the top of the stack has no return address, the frame has been made. Otherwise the
 * return address on top is the function's if the function is at its first instruction, or if the
 * call before that address calls this function; the one in the frame is the function's if the call
 * before it calls this function. Returns FRAME_UNKNOWN if both seem to be true, or neither.
 */
static enum frame find_frame(struct walk *w, const struct symmapping *map, uint64_t *from)
{
	uint64_t top, ret, function = 0, addr = w->pc - map->bias;
	bool is_known_function = map->file && symcfi_function(map->file, addr - w->called, &function);
	bool may_be_made = !is_known_function || symcfi_makes_frame(map->file, function, addr);
	bool by_top, by_frame;

	if (!find_on_top(w, from, &top))
		return may_be_made ? FRAME_MADE : FRAME_UNKNOWN;
	if (!is_known_function)
		return FRAME_UNKNOWN;
	by_top = addr == function || has_called(w, top, function + map->bias);
	by_frame = may_be_made && read_return(w, &ret) && has_called(w, ret, function + map->bias);
	return by_top == by_frame ? FRAME_UNKNOWN : by_top ? FRAME_NOT_MADE : FRAME_MADE;
}

/*
 * Makes a step in code without a table, such as a JIT compiler's. Its functions are assumed to
 * have frame pointers. The frame pointer must lead up the stack, to a caller's frame for which this
 * also holds, and to an address to which a call returns. If it is unknown whether the function has
 * made its frame yet, the caller is not reported.
 */
static enum symunwind_end step_by_pointer(struct walk *w, const struct symmapping *map)
{
	uint64_t at = w->regs[w->l->fp], sp = w->regs[w->l->sp], caller, ret, from;
	bool has_sp = is_known(w, w->l->sp), has_fp = is_known(w, w->l->fp);
	enum frame frame = find_frame(w, map, &from);

	if (frame == FRAME_NOT_MADE && read_word(w, from, &ret)) {
		set(w, w->l->sp, true, from + w->l->word);
		w->pc = ret;
		w->called = true;
		return SYMUNWIND_WHOLE;
	}
	if (has_sp && has_fp && (at < sp || at % w->l->word))
		return w->next ? SYMUNWIND_STACK : SYMUNWIND_TABLE;
	if (frame == FRAME_UNKNOWN)
		return SYMUNWIND_TABLE;
	if (w->next)
		return take_from_chain(w);
	if (!has_fp || !has_sp || !read_word(w, at, &caller) || !read_word(w, at + w->l->word, &ret) ||
	    (ret && !may_return_to(w, ret)) || (caller && caller <= at && needs_pointer(w, ret)))
		return SYMUNWIND_TABLE;
	w->known = 0;
	set(w, w->l->fp, true, caller);
	set(w, w->l->sp, true, at + 2ULL * w->l->word);
	w->pc = ret;
	w->called = true;
	w->why = SYMUNWIND_TABLE;
	return SYMUNWIND_WHOLE;
}

/*
 * Goes to the caller. Returns WHOLE, or why the caller cannot be found. The stack is complete, and
 * pc becomes 0, if frame pointers lead to the code of the C library that calls main() or a thread's
 * function, or to the function with which a stack that a program made begins. This code need not
 * have a table.
 */
static enum symunwind_end step(struct walk *w)
{
	const struct symmapping *map = mapping_at(w, w->pc - w->called);
	const struct symcfi_row *row;
	enum symunwind_end end;
	uint64_t addr;

	if (!map)
		return SYMUNWIND_MAPPINGS;
	if (!map->file)
		return step_by_pointer(w, map);
	addr = w->pc - w->called - map->bias;
	row = symcfi_row(map->file, addr, w->l->num);
	if (row->kind == SYMCFI_COMMON) {
		end = step_by_row(w, row);
		if (end != SYMUNWIND_POINTERS || (!w->is_made && !symcfi_is_start(map->file, addr)))
			return end;
	} else if (row->kind == SYMCFI_NONE && !symcfi_is_start(map->file, addr)) {
		return step_by_pointer(w, map);
	}
	w->pc = 0;
	return SYMUNWIND_WHOLE;
}

/* --- walking up a stack --------------------------------------------------------------------- */

/*
 * Returns true if pc is an address in mapped code, and removes its signature (pointer
 * authentication). A return address at the first instruction of a function follows no call: the
 * kernel has put it there for the return of a signal handler, or a program at the start of a stack
 * that it made.
 */
static bool is_code(struct walk *w)
{
	const struct symmapping *map;
	const struct symcfi_row *row;

	w->pc &= w->l->address;
	map = mapping_at(w, w->pc - w->called);
	if (!map || !w->called)
		return map;
	row = row_at(w, map, w->pc - 1);
	w->is_made = !row && row_at(w, map, w->pc);
	w->called = !w->is_made && !(row && row->is_signal);
	return true;
}

static bool is_same(const struct symversion *a, const struct symversion *b)
{
	return a->pid == b->pid && a->num_events == b->num_events && a->num_past == b->num_past;
}

/* Forgets the spans if they are those of another process or time. */
static void know_mappings(struct walk *w)
{
	struct symversion version = symmapped_version(w->u->mapped, w->s->pid, w->s->time);

	if (is_same(&version, &w->u->version))
		return;
	w->u->version = version;
	memset(w->u->spans, 0, sizeof(w->u->spans));
}

/*
 * Chooses the layout of the registers: the file that is mapped at pc tells whether the program is a
 * 32-bit one.
 */
static void choose_layout(struct walk *w)
{
	const struct symmapping *map = mapping_at(w, w->pc);

	w->l = map && map->file && symcfi_is_32bit(map->file) ? &narrow : &native;
}

/*
 * Goes to the caller from a return address. Returns the frame, or 0 if the address is no code; *end
 * receives WHOLE, or why the caller cannot be found.
 */
static uint64_t advance(struct walk *w, enum symunwind_end *end)
{
	uint64_t frame;

	if (!is_code(w)) {
		*end = SYMUNWIND_CODE;
		return 0;
	}
	frame = w->pc + !w->called;
	*end = step(w);
	return frame;
}

/* Returns true if the step to the caller depends on the address and on the mappings alone. */
static bool is_in_chain(const struct walk *w)
{
	return !w->known && w->next && w->next < w->s->num_chain;
}

/* Like advance(), for a walk that is_in_chain(): a step that was made before is not made again. */
static uint64_t advance_in_chain(struct walk *w, enum symunwind_end *end)
{
	struct hop *hop = &w->u->hops[w->pc * 0x9e3779b97f4a7c15ULL >> 32 & (HOPS - 1)];
	size_t next = w->next;

	if (hop->pc != w->pc || hop->l != w->l || !is_same(&hop->version, &w->u->version)) {
		*hop = (struct hop){ .version = w->u->version, .l = w->l, .pc = w->pc };
		hop->frame = advance(w, &hop->end);
		hop->takes = w->next > next;
		if (!w->next || w->known)	/* the step has read memory */
			hop->l = NULL;
	} else if (hop->takes) {
		take_from_chain(w);
	} else {
		w->pc = 0;
	}
	*end = hop->end;
	return hop->frame;
}

/* Starts the walk at the address where the thread is. Returns false if it is not known. */
static bool begin(struct walk *w)
{
	const struct symunwind_stack *s = w->s;
	bool has_regs = s->num_regs == (size_t)REGS;

	if (!has_regs && !s->num_chain)
		return false;
	w->pc = has_regs ? s->regs[PC] : s->chain[0];
	know_mappings(w);
	choose_layout(w);
	for (unsigned int i = 0; has_regs && i < w->l->num; i++)
		set(w, i, true, s->regs[w->l->by_dwarf[i]]);
	w->base = w->regs[w->l->sp];
	w->next = w->u->by_pointers && s->num_chain > 1;
	w->why = has_regs ? SYMUNWIND_COPY : SYMUNWIND_REGISTERS;
	return w->pc;
}

size_t symunwind_frames(struct symunwind *u, const struct symunwind_stack *s, uint64_t *frames, size_t max,
			enum symunwind_end *end)
{
	struct walk w = { .u = u, .s = s };
	size_t n = 0;

	*end = SYMUNWIND_WHOLE;
	if (!begin(&w))
		return 0;
	if (!symmapped_knows(u->mapped, s->pid) && max) {
		frames[n++] = w.pc;
		*end = SYMUNWIND_MAPPINGS;
	}
	if (*end == SYMUNWIND_WHOLE && max) {
		frames[n++] = w.pc;
		*end = step(&w);
	}
	while (*end == SYMUNWIND_WHOLE && w.pc && n < max) {
		frames[n] = is_in_chain(&w) ? advance_in_chain(&w, end) : advance(&w, end);
		n += frames[n] != 0;
	}
	if (*end == SYMUNWIND_WHOLE && w.pc)
		*end = SYMUNWIND_FRAMES;
	return n;
}
