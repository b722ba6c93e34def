/* SPDX-License-Identifier: MIT */
/*
 * unwind.h - finds the callers in user stacks, from registers, a copy of the stack's top, and a
 * chain of return addresses that frame pointers lead to. A frame is kept if it is plausible: its
 * address was mapped as code at that time, and was found where the called function has its return
 * address, as that function's call frame information says. If the function has none, its frame
 * pointer is followed and checked. At the first frame that is not plausible the stack ends.
 */
#ifndef LPFM_SYMBOLS_UNWIND_H
#define LPFM_SYMBOLS_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/mapped.h"

struct symunwind;

/* Why a stack ends. X(number, NAME, "as a word", "in words") */
#define SYMUNWIND_ENDS(X) \
	X(1, COPY, "copy", "at the end of the bytes copied") \
	X(2, TABLE, "table", "in code without an unwind table") \
	X(3, CODE, "code", "at a return address that is no code") \
	X(4, STACK, "stack", "where the stack pointer leaves the stack") \
	X(5, POINTERS, "pointers", "in functions without frame pointers") \
	X(6, MAPPINGS, "mappings", "in a process with unknown mappings") \
	X(7, FRAMES, "frames", "after the most frames that are kept") \
	X(8, REGISTERS, "registers", "in a program without registers from the kernel")

enum symunwind_end {
	SYMUNWIND_WHOLE = 0,	/* at the start of the program or thread */
#define X(number, name, word, words) SYMUNWIND_##name = (number),
	SYMUNWIND_ENDS(X)
#undef X
	SYMUNWIND_NUM_ENDS
};

/* What is known of a stack. */
struct symunwind_stack {
	uint64_t	pid, time;	/* time in ns */
	const uint64_t	*regs;		/* registers in the order of asm/perf_regs.h, packed */
	size_t		num_regs;	/* 0: there are none */
	const void	*copy;		/* size bytes from the stack pointer on */
	size_t		size;
	/* the address where the thread is, then the return addresses that frame pointers lead to */
	const uint64_t	*chain;
	size_t		num_chain;
	bool		is_cut;		/* the chain is longer, but the rest was not kept */
};

/*
 * Makes an unwinder that knows no processes. If by_pointers is true, it may follow chains of frame
 * pointers. Returns NULL if there is no memory.
 */
struct symunwind *symunwind_open(bool by_pointers);
void symunwind_close(struct symunwind *u);

/* Returns the list to which mappings of processes are added. */
struct symmapped *symunwind_mapped(struct symunwind *u);

/*
 * Finds the frames of a stack, the innermost first: the address where the thread is, and then the
 * addresses to which its functions return. If a signal interrupted a function, one is added to the
 * address of the interrupted instruction, so that for every frame but the first, the address minus
 * one lies in the right instruction. Returns the number of frames, at most max; *end receives why
 * there are no more.
 */
size_t symunwind_frames(struct symunwind *u, const struct symunwind_stack *s, uint64_t *frames, size_t max,
			enum symunwind_end *end);

#endif
