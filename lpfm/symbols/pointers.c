/* SPDX-License-Identifier: MIT */
/*
 * pointers.c - what the code of an ELF file says about call stacks: frame pointers, libraries,
 * other programs.
 */
/***
@submodule lpfm.symbols
*/
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <lauxlib.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/args.h"
#include "base/field.h"
#include "symbols/unwinder.h"

struct file {
	int	fd;
	Elf	*elf;
};

static void close_file(struct file *f)
{
	elf_end(f->elf);
	if (f->fd >= 0)
		close(f->fd);
}

static bool open_file(struct file *f, const char *path)
{
	struct stat s;

	*f = (struct file){ .fd = stat(path, &s) || !S_ISREG(s.st_mode) ? -1 : open(path, O_RDONLY | O_CLOEXEC) };
	if (f->fd < 0)
		return false;
	elf_version(EV_CURRENT);
	f->elf = elf_begin(f->fd, ELF_C_READ_MMAP, NULL);
	if (f->elf && elf_kind(f->elf) == ELF_K_ELF)
		return true;
	close_file(f);
	return false;
}

/* --- frame pointers ------------------------------------------------------------------------- */

/* Numbers of functions that use the stack: those with a frame pointer, and those without. */
struct census {
	size_t	by_pointer, by_stack;
};

/* Returns the contents of the section with that name; NULL if there is none. */
static Elf_Data *named_section(Elf *elf, const char *wanted)
{
	size_t names;
	GElf_Shdr sh;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
		const char *name = gelf_getshdr(scn, &sh) ? elf_strptr(elf, names, sh.sh_name) : NULL;

		if (name && !strcmp(name, wanted) && sh.sh_type != SHT_NOBITS)
			return elf_getdata(scn, NULL);
	}
	return NULL;
}

static uint64_t read_uleb(const uint8_t **at, const uint8_t *end)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; *at < end; shift += 7) {
		uint8_t byte = *(*at)++;

		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			break;
	}
	return value;
}

/* Skips the operands of an operation that does not concern the canonical frame address. */
static void pass_operands(unsigned int op, const uint8_t **at, const uint8_t *end)
{
	size_t left = (size_t)(end - *at), fixed = 0;

	switch (op) {
	case DW_CFA_set_loc:
		/* current compilers do not emit this operation: all that follows it is skipped */
		fixed = left;
		break;
	case DW_CFA_advance_loc1:
		fixed = 1;
		break;
	case DW_CFA_advance_loc2:
		fixed = 2;
		break;
	case DW_CFA_advance_loc4:
		fixed = 4;
		break;
	case DW_CFA_offset_extended:
	case DW_CFA_offset_extended_sf:
	case DW_CFA_register:
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
		read_uleb(at, end);
		read_uleb(at, end);
		return;
	case DW_CFA_restore_extended:
	case DW_CFA_undefined:
	case DW_CFA_same_value:
	case DW_CFA_GNU_args_size:
		read_uleb(at, end);
		return;
	case DW_CFA_expression:
	case DW_CFA_val_expression:
		read_uleb(at, end);
		fixed = read_uleb(at, end);
		break;
	case DW_CFA_def_cfa_expression:
		fixed = read_uleb(at, end);
		break;
	default:
		return;
	}
	left = (size_t)(end - *at);
	*at += fixed < left ? fixed : left;
}

/* Counts a function by its call frame information; fp is the number of the frame pointer. */
static void count_function(struct census *c, const uint8_t *at, const uint8_t *end, unsigned int fp)
{
	bool by_pointer = false, by_stack = false;

	while (at < end) {
		unsigned int op = *at++, high = op & 0xc0;

		if (high == DW_CFA_offset) {
			read_uleb(&at, end);
		} else if (op == DW_CFA_def_cfa || op == DW_CFA_def_cfa_register) {
			by_pointer = by_pointer || read_uleb(&at, end) == fp;
			if (op == DW_CFA_def_cfa)
				read_uleb(&at, end);
		} else if (op == DW_CFA_def_cfa_offset) {
			by_stack = true;
			read_uleb(&at, end);
		} else if (op == DW_CFA_def_cfa_expression) {
			return;		/* the code is a PLT, or aligns its stack */
		} else if (!high) {
			pass_operands(op, &at, end);
		}
	}
	c->by_pointer += by_pointer;
	c->by_stack += by_stack && !by_pointer;
}

static bool take_census(Elf *elf, struct census *c, unsigned int fp)
{
	const unsigned char *ident = (const unsigned char *)elf_getident(elf, NULL);
	Elf_Data *data = named_section(elf, ".eh_frame");
	Dwarf_CFI_Entry entry;
	Dwarf_Off next = 0;

	*c = (struct census){ 0 };
	for (Dwarf_Off at = 0; data && next != (Dwarf_Off)-1; at = next) {
		int ret = dwarf_next_cfi(ident, data, true, at, &next, &entry);

		if (ret > 0 || next <= at)
			break;
		if (!ret && !dwarf_cfi_cie_p(&entry))
			count_function(c, entry.fde.start, entry.fde.end, fp);
	}
	return c->by_pointer + c->by_stack;
}

/* Counts the instructions that set the frame pointer in arm64 code. */
static size_t count_frames(Elf *elf)
{
	size_t n = 0, num = 0, size;
	const char *bytes = elf_rawfile(elf, &size);

	if (!bytes || elf_getphdrnum(elf, &num))
		return 0;
	for (size_t i = 0; i < num; i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_LOAD || !(ph.p_flags & PF_X) ||
		    ph.p_offset > size || ph.p_filesz > size - ph.p_offset)
			continue;
		for (size_t at = 0; at + 4 <= ph.p_filesz; at += 4) {
			uint32_t word;

			memcpy(&word, bytes + ph.p_offset + at, sizeof(word));
			n += (word & 0xffc003ff) == 0x910003fd;		/* add x29, sp, #imm */
		}
	}
	return n;
}

/*
 * Returns true if hardly any function lacks a frame pointer. A walk by frame pointers ends at a
 * function without one. A few such functions are assembler code. If there are more, they are a part
 * of the program itself: the standard library of Rust, for example, has frame pointers even in
 * programs that have none.
 */
static bool has_pointers(const struct census *c)
{
	return c->by_stack * 50 <= c->by_pointer;
}

/*
 * Returns 1 if the functions that use the stack keep a frame pointer, 0 if more than a few do not,
 * and -1 if it is not known.
 */
static int judge(Elf *elf)
{
	struct census c;
	GElf_Ehdr eh;

	if (!gelf_getehdr(elf, &eh))
		return -1;
	switch (eh.e_machine) {
	case EM_X86_64:
		return take_census(elf, &c, 6) ? has_pointers(&c) : -1;
	case EM_386:
		return take_census(elf, &c, 5) ? has_pointers(&c) : -1;
	case EM_AARCH64:	/* all rows use the stack pointer, so instructions are counted */
		return take_census(elf, &c, 29) ? count_frames(elf) * 2 >= c.by_pointer + c.by_stack : -1;
	default:
		return -1;
	}
}

/***
Tells by an ELF file's call frame information whether its functions that use the stack keep frame
pointers.
@function frame_pointers
@string path
@return boolean, or nil if that is not known
@usage print(require("lpfm.symbols").frame_pointers "/bin/sh")
*/
static int frame_pointers(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1);
	struct file f;
	int answer;

	if (lpfm_has_zero(L, 1) || !open_file(&f, path))
		return 0;
	answer = judge(f.elf);
	close_file(&f);
	if (answer < 0)
		return 0;
	lua_pushboolean(L, answer);
	return 1;
}

/* --- libraries and other programs ----------------------------------------------------------- */

/*
 * Returns the contents of the first section of that type, and its header in *sh; NULL if there is
 * none.
 */
static Elf_Data *section(Elf *elf, GElf_Word type, GElf_Shdr *sh)
{
	for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn))
		if (gelf_getshdr(scn, sh) && sh->sh_type == type)
			return elf_getdata(scn, NULL);
	return NULL;
}

static void add_string(lua_State *L, const char *field, const char *text)
{
	lua_getfield(L, -1, field);
	lua_pushstring(L, text);
	lua_rawseti(L, -2, (int)lua_objlen(L, -2) + 1);
	lua_pop(L, 1);
}

static void add_dynamic(lua_State *L, Elf *elf)
{
	GElf_Shdr sh;
	GElf_Dyn dyn;
	Elf_Data *data = section(elf, SHT_DYNAMIC, &sh);

	for (int i = 0; data && gelf_getdyn(data, i, &dyn) && dyn.d_tag != DT_NULL; i++) {
		bool is_path = dyn.d_tag == DT_RUNPATH || dyn.d_tag == DT_RPATH;
		const char *text = is_path || dyn.d_tag == DT_NEEDED ?
				   elf_strptr(elf, sh.sh_link, dyn.d_un.d_val) : NULL;

		if (text)
			add_string(L, is_path ? "paths" : "libraries", text);
	}
}

static bool starts_programs(const char *name)
{
	static const char *const names[] = { "system", "popen", NULL };

	for (int i = 0; names[i]; i++)
		if (!strcmp(name, names[i]))
			return true;
	return !strncmp(name, "exec", 4) || !strncmp(name, "fexecve", 7) || !strncmp(name, "posix_spawn", 11);
}

/* Returns true if the file imports a function that starts other programs. */
static bool imports_start(Elf *elf)
{
	GElf_Shdr sh;
	GElf_Sym sym;
	Elf_Data *data = section(elf, SHT_DYNSYM, &sh);

	for (int i = 1; data && gelf_getsym(data, i, &sym); i++) {
		const char *name = sym.st_shndx == SHN_UNDEF ? elf_strptr(elf, sh.sh_link, sym.st_name) : NULL;

		if (name && starts_programs(name))
			return true;
	}
	return false;
}

/***
Returns what an ELF file needs.
@function needs
@string path
@treturn table `libraries`: names; `paths`: where it looks for them first; `starts`: true if it
imports functions that start other programs. Nil if it is no ELF file
@usage print(require("lpfm.symbols").needs("/bin/sh").libraries[1])
*/
static int needs(lua_State *L)
{
	struct file f;
	const char *path = luaL_checkstring(L, 1);

	if (lpfm_has_zero(L, 1) || !open_file(&f, path))
		return 0;
	lua_newtable(L);
	lua_newtable(L);
	lua_setfield(L, -2, "libraries");
	lua_newtable(L);
	lua_setfield(L, -2, "paths");
	add_dynamic(L, f.elf);
	lpfm_set_bool(L, "starts", imports_start(f.elf));
	close_file(&f);
	return 1;
}

void symbols_open_pointers(lua_State *L)
{
	lpfm_set_function(L, "frame_pointers", frame_pointers);
	lpfm_set_function(L, "needs", needs);
}
