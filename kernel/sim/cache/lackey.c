// SPDX-License-Identifier: MIT
/*
 * lackey.c - converts the text that valgrind's lackey prints to a tape, the trace of instructions
 * that a simulated program can replay (tape.c). The text has a line like "I  04001090,3" for each
 * instruction, then lines that begin with " L", " S" and " M" for loads, stores and modifications
 * by the instruction. Addresses are hexadecimal, sizes decimal. Other lines are messages.
 */
#include <string.h>

#include "sim/cache/cache.h"

static uint64_t digits(const char **at, unsigned int base)
{
	uint64_t n = 0;

	for (;; ++*at) {
		unsigned int c = (unsigned char)**at, digit = 99;

		if (c >= '0' && c <= '9')
			digit = c - '0';
		else if ((c | 32) >= 'a' && (c | 32) <= 'f')
			digit = (c | 32) - 'a' + 10;
		if (digit >= base)
			return n;
		n = n * base + digit;
	}
}

static bool numbers(const char *at, uint64_t *addr, uint32_t *size)
{
	const char *from = at;
	uint64_t n;

	*addr = digits(&at, 16);
	if (at == from || *at++ != ',')
		return false;
	n = digits(&at, 10);
	*size = n > TAPE_SIZE ? TAPE_SIZE : n;
	return n && *at == '\n';
}

/*
 * Adds an operation. If it does not fit into the instruction, that is written, and the operation
 * becomes the first one of a further instruction that is not fetched. Returns false if writing
 * failed.
 */
static bool add_op(struct tape_writer *w, struct tape_instr *instr, uint32_t kind, uint64_t addr, uint32_t size)
{
	bool written = true;

	if (instr->num == TAPE_OPS) {
		written = tape_write(w, instr);
		instr->num = instr->size = 0;
	}
	instr->op[instr->num].kind = kind;
	instr->op[instr->num].addr = addr;
	instr->op[instr->num++].size = size;
	return written;
}

static bool add_line(struct tape_writer *w, struct tape_instr *instr, const char *line)
{
	/* letters in the order TAPE_LOAD, TAPE_STORE, TAPE_MODIFY */
	static const char kinds[] = "LSM";
	const char *kind = line[0] == ' ' && line[1] ? strchr(kinds, line[1]) : NULL;
	bool written = true;
	uint64_t addr;
	uint32_t size;

	if ((line[0] != 'I' && !kind) || line[1] == '\0' || line[2] != ' ' || !numbers(line + 3, &addr, &size))
		return true;
	if (kind)
		return add_op(w, instr, (uint32_t)(kind - kinds), addr, size);
	if (instr->size || instr->num)
		written = tape_write(w, instr);
	instr->ip = addr;
	instr->size = size;
	instr->num = 0;
	return written;
}

bool tape_from_lackey(struct tape_writer *w, FILE *text)
{
	struct tape_instr instr = { 0 };
	char line[256];
	bool written = true;

	while (written && fgets(line, sizeof(line), text))
		written = add_line(w, &instr, line);
	if (written && (instr.size || instr.num))
		written = tape_write(w, &instr);
	return written && !ferror(text);
}
