/* SPDX-License-Identifier: MIT */
/*
 * ranges.c - finds functions by their call frame information, which stripped programs keep:
 * .eh_frame_hdr has a sorted table of their beginnings and of their descriptions in .eh_frame.
 */
#include <gelf.h>
#include <string.h>

#include "symbols/ranges.h"

/* sizes in bytes of the table's head and of a row, and the offset of the length in a description */
enum { HEAD = 12, ROW = 8, LENGTH_AT = 12 };

struct table {
	const unsigned char *rows;
	uint64_t addr;		/* address of the section, to which its contents are relative */
	uint32_t n;
};

static int32_t word_at(const unsigned char *at)
{
	int32_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

/* Returns the file's bytes at an address; NULL if there are fewer than count. */
static const unsigned char *bytes_at(Elf *elf, uint64_t addr, uint64_t count)
{
	size_t n = 0, size;
	const unsigned char *bytes = (const unsigned char *)elf_rawfile(elf, &size);

	if (!bytes || elf_getphdrnum(elf, &n))
		return NULL;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_LOAD || addr < ph.p_vaddr ||
		    addr - ph.p_vaddr > ph.p_filesz || ph.p_filesz - (addr - ph.p_vaddr) < count)
			continue;
		uint64_t at = ph.p_offset + (addr - ph.p_vaddr);

		return at <= size && size - at >= count ? bytes + at : NULL;
	}
	return NULL;
}

/*
 * Finds the table in .eh_frame_hdr. Returns false if there is none, or if its encodings are not the
 * usual ones: a count of 4 bytes, and rows of two 4-byte words relative to the section.
 */
static bool find_table(Elf *elf, struct table *t)
{
	size_t n = 0;

	if (elf_getphdrnum(elf, &n))
		return false;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_GNU_EH_FRAME || ph.p_filesz < HEAD)
			continue;
		const unsigned char *head = bytes_at(elf, ph.p_vaddr, ph.p_filesz);

		if (!head || head[0] != 1 || (head[1] & 0xf) != 0xb || head[2] != 3 || head[3] != 0x3b)
			return false;
		*t = (struct table){ head + HEAD, ph.p_vaddr, (uint32_t)word_at(head + 8) };
		return t->n > 0 && t->n <= (ph.p_filesz - HEAD) / ROW;
	}
	return false;
}

static uint64_t start_of(const struct table *t, uint32_t row)
{
	return t->addr + (uint64_t)(int64_t)word_at(t->rows + (size_t)row * ROW);
}

bool symranges_find(Elf *elf, uint64_t addr, uint64_t *start, uint64_t *size)
{
	struct table t;
	uint32_t lo = 0;

	if (!elf || !find_table(elf, &t) || addr < start_of(&t, 0))
		return false;
	for (uint32_t hi = t.n; hi - lo > 1;) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (start_of(&t, mid) <= addr)
			lo = mid;
		else
			hi = mid;
	}
	uint64_t at = t.addr + (uint64_t)(int64_t)word_at(t.rows + (size_t)lo * ROW + 4);
	const unsigned char *description = bytes_at(elf, at, LENGTH_AT + 4);

	*start = start_of(&t, lo);
	/*
	 * In the usual encoding, the description contains the function's beginning, relative to
	 * that word, and then its length. If the beginning is not the one in the table, the
	 * encoding is another one.
	 */
	if (!description || at + 8 + (uint64_t)(int64_t)word_at(description + 8) != *start)
		return false;
	*size = (uint32_t)word_at(description + LENGTH_AT);
	return addr - *start < *size;
}
