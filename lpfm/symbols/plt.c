/* SPDX-License-Identifier: MIT */
/*
 * plt.c - the stubs through which functions of other objects are called. They have no symbols: each
 * jumps to the address in a slot of the global offset table, and the relocation of that slot names
 * the function.
 */
#include <gelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/plt.h"

/* A slot, and the function to which it belongs. */
struct slot {
	uint64_t addr;
	const char *name;
};

struct slots {
	struct slot *v;
	size_t n;
};

struct stubs {
	struct symtab *funcs;
	struct symplt_names *names;
	const struct slots *slots;
};

/* --- slots ---------------------------------------------------------------------------------- */

/*
 * Returns the name of a function that is chosen when the object is loaded (IFUNC). Its slot has no
 * symbol, so the function that chooses gives the name.
 */
static const char *name_of_choice(const struct symtab *funcs, uint64_t addr)
{
	const struct symtab_entry *best = NULL;

	for (size_t i = 0; i < funcs->n; i++)
		if (funcs->v[i].addr == addr && (!best || funcs->v[i].rank > best->rank))
			best = &funcs->v[i];
	return best ? best->name : NULL;
}

static const char *name_of_symbol(Elf *elf, Elf_Data *symbols, size_t strings, const GElf_Rela *rela)
{
	GElf_Sym sym;

	if (!symbols || !gelf_getsym(symbols, (int)GELF_R_SYM(rela->r_info), &sym))
		return NULL;
	return elf_strptr(elf, strings, sym.st_name);
}

enum kind { OTHER, OF_SYMBOL, OF_CHOICE };

static enum kind kind_of(GElf_Half machine, uint64_t type)
{
	if (machine == EM_X86_64 ? type == R_X86_64_IRELATIVE : type == R_AARCH64_IRELATIVE)
		return OF_CHOICE;
	if (machine == EM_X86_64)
		return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT ? OF_SYMBOL : OTHER;
	return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT ? OF_SYMBOL : OTHER;
}

static int add_slots(Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh, const struct symtab *funcs, struct slots *slots)
{
	Elf_Data *data = elf_getdata(scn, NULL), *symbols = NULL;
	Elf_Scn *table = elf_getscn(elf, sh->sh_link);
	size_t n = sh->sh_entsize ? sh->sh_size / sh->sh_entsize : 0;
	GElf_Shdr of_symbols = { 0 };
	GElf_Ehdr eh;

	if (!gelf_getehdr(elf, &eh))
		return 0;
	if (sh->sh_link && table && gelf_getshdr(table, &of_symbols))
		symbols = elf_getdata(table, NULL);
	struct slot *v = n ? realloc(slots->v, (slots->n + n) * sizeof(*v)) : slots->v;

	if (n && !v)
		return -1;
	slots->v = v;
	for (size_t i = 0; data && i < n; i++) {
		GElf_Rela rela;
		const char *name = NULL;

		if (!gelf_getrela(data, (int)i, &rela))
			continue;
		enum kind kind = kind_of(eh.e_machine, GELF_R_TYPE(rela.r_info));

		if (kind == OF_SYMBOL)
			name = name_of_symbol(elf, symbols, of_symbols.sh_link, &rela);
		else if (kind == OF_CHOICE)
			name = name_of_choice(funcs, (uint64_t)rela.r_addend);
		if (name && *name)
			slots->v[slots->n++] = (struct slot){ rela.r_offset, name };
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static const char *name_of_slot(const struct slots *slots, uint64_t addr)
{
	const struct slot key = { .addr = addr };
	const struct slot *found = slots->n ? bsearch(&key, slots->v, slots->n, sizeof(key), compare) : NULL;

	return found ? found->name : NULL;
}

/* --- stubs ---------------------------------------------------------------------------------- */

static int add_stub(struct stubs *s, uint64_t addr, uint64_t size, uint64_t slot)
{
	const char *name = name_of_slot(s->slots, slot);
	char **v = name ? realloc(s->names->v, (s->names->n + 1) * sizeof(*v)) : NULL;

	if (!name)
		return 0;
	if (!v)
		return -1;
	s->names->v = v;
	if (asprintf(&v[s->names->n], "%.*s@plt", (int)strcspn(name, "@"), name) < 0)
		return -1;
	return symtab_add(s->funcs, addr, size, size, v[s->names->n++], 0);
}

static int32_t word_at(const unsigned char *at)
{
	int32_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

/* jmp *slot(%rip) */
static bool is_jump(const unsigned char *code)
{
	return code[0] == 0xff && code[1] == 0x25;
}

/* Returns the size of a stub if the section does not say it. */
static uint64_t stub_size(const unsigned char *code, uint64_t size)
{
	for (uint64_t i = 0; i + 10 <= size; i++)
		if (is_jump(code + i) && is_jump(code + i + 8))
			return 8;
	return 16;
}

/* Finds the jump, which may be anywhere in a stub. */
static int read_x86(struct stubs *s, const unsigned char *code, uint64_t size, uint64_t addr, uint64_t each)
{
	if (!each)
		each = stub_size(code, size);
	for (uint64_t at = 0; at + each <= size; at += each)
		for (uint64_t i = at; i + 6 <= at + each; i++) {
			if (!is_jump(code + i))
				continue;
			if (add_stub(s, addr + at, each, addr + i + 6 + (uint64_t)(int64_t)word_at(code + i + 2)))
				return -1;
			break;
		}
	return 0;
}

/*
 * A stub is: adrp x16, slot's page; ldr x17, [x16, #in page]; ... br x17; possibly with a bti
 * before it.
 */
static int read_arm64(struct stubs *s, const unsigned char *code, uint64_t size, uint64_t addr)
{
	enum { BTI_C = 0xd503245f, BR_X17 = 0xd61f0220 };

	for (uint64_t at = 0; at + 8 <= size; at += 4) {
		uint32_t adrp = (uint32_t)word_at(code + at), ldr = (uint32_t)word_at(code + at + 4);
		uint64_t from = at >= 4 && (uint32_t)word_at(code + at - 4) == BTI_C ? at - 4 : at, to = at + 8;

		if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
			continue;
		int64_t pages = (int32_t)((adrp >> 5 & 0x7ffff) << 13) >> 13;
		uint64_t page = ((addr + at) & ~0xfffULL) + (uint64_t)(pages * 4 + (adrp >> 29 & 3)) * 4096;

		while (to + 4 <= size && (uint32_t)word_at(code + to) != BR_X17)
			to += 4;
		if (add_stub(s, addr + from, to + 4 - from, page + (ldr >> 10 & 0xfff) * 8))
			return -1;
	}
	return 0;
}

static int read_stubs(Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh, struct stubs *s)
{
	GElf_Ehdr eh;
	Elf_Data *data = elf_getdata(scn, NULL);

	if (!data || !data->d_buf || !gelf_getehdr(elf, &eh))
		return 0;
	if (eh.e_machine == EM_X86_64)
		return read_x86(s, data->d_buf, data->d_size, sh->sh_addr, sh->sh_entsize);
	if (eh.e_machine == EM_AARCH64)
		return read_arm64(s, data->d_buf, data->d_size, sh->sh_addr);
	return 0;
}

/* --- sections ------------------------------------------------------------------------------- */

static int each_section(Elf *elf, struct stubs *s, struct slots *slots)
{
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return 0;
	for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
		GElf_Shdr sh;
		const char *name = gelf_getshdr(scn, &sh) ? elf_strptr(elf, names, sh.sh_name) : NULL;

		if (!name || !(sh.sh_flags & SHF_ALLOC))
			continue;
		if (slots && sh.sh_type == SHT_RELA && add_slots(elf, scn, &sh, s->funcs, slots))
			return -1;
		if (!slots && sh.sh_type == SHT_PROGBITS && strncmp(name, ".plt", 4) == 0 &&
		    read_stubs(elf, scn, &sh, s))
			return -1;
	}
	return 0;
}

int symplt_add(Elf *elf, struct symtab *funcs, struct symplt_names *names)
{
	struct slots slots = { 0 };
	struct stubs s = { funcs, names, &slots };
	int ret = each_section(elf, &s, &slots);

	if (slots.n)
		qsort(slots.v, slots.n, sizeof(*slots.v), compare);
	if (!ret)
		ret = each_section(elf, &s, NULL);
	free(slots.v);
	return ret;
}

void symplt_free(struct symplt_names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->v[i]);
	free(names->v);
	*names = (struct symplt_names){ 0 };
}
