/* SPDX-License-Identifier: MIT */
/* pointers.c - what the code of an ELF file says about call stacks: frame pointers, libraries, other programs. */
/***
@submodule lpfm.symbols
*/
#include <fcntl.h>
#include <gelf.h>
#include <lauxlib.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbols/pointers.h"

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

/* Does a function set its frame pointer there? The compiler may have put other instructions before. */
static bool is_made_at(const unsigned char *code, int machine)
{
	static const unsigned char wide[] = { 0x48, 0x89, 0xe5 };	/* mov %rsp, %rbp */
	static const unsigned char narrow[] = { 0x55, 0x89, 0xe5 };	/* push %ebp; mov %esp, %ebp */
	uint32_t word;

	switch (machine) {
	case EM_X86_64:
		return !memcmp(code, wide, sizeof(wide));
	case EM_386:
		return !memcmp(code, narrow, sizeof(narrow));
	case EM_AARCH64:
		memcpy(&word, code, sizeof(word));
		return (word & 0xffc003ff) == 0x910003fd;	/* add x29, sp, #imm */
	default:
		return false;
	}
}

/* What makes a frame, in an executable segment. */
static size_t count_frames(const unsigned char *code, size_t size, int machine)
{
	size_t n = 0, step = machine == EM_AARCH64 ? 4 : 1;

	for (size_t i = 0; i + 4 <= size; i += step)
		n += is_made_at(code + i, machine);
	return n;
}

/* Functions that have call frame information: what .eh_frame_hdr says, where its count has 4 bytes. */
static size_t count_functions(const unsigned char *hdr, size_t size)
{
	uint32_t n;

	if (size < 12 || hdr[0] != 1 || (hdr[1] & 0xf) != 0xb || hdr[2] != 3)
		return 0;
	memcpy(&n, hdr + 8, sizeof(n));
	return n;
}

/* 1: most functions keep one; 0: they do not; -1: that is not to be told. */
static int judge(Elf *elf)
{
	size_t n = 0, functions = 0, frames = 0, size;
	const char *bytes = elf_rawfile(elf, &size);
	GElf_Ehdr eh;

	if (!bytes || !gelf_getehdr(elf, &eh) || elf_getphdrnum(elf, &n))
		return -1;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_offset > size || ph.p_filesz > size - ph.p_offset)
			continue;
		const unsigned char *at = (const unsigned char *)bytes + ph.p_offset;

		if (ph.p_type == PT_GNU_EH_FRAME)
			functions = count_functions(at, ph.p_filesz);
		else if (ph.p_type == PT_LOAD && (ph.p_flags & PF_X))
			frames += count_frames(at, ph.p_filesz, eh.e_machine);
	}
	if (!functions)
		return frames ? -1 : 0;
	return frames * 4 >= functions;
}

/***
Do the functions of an ELF file keep frame pointers? A guess, by their first instructions.
@function frame_pointers
@string path
@return boolean, or nil: that is not to be told
@usage print(require("lpfm.symbols").frame_pointers "/bin/sh")
*/
static int frame_pointers(lua_State *L)
{
	struct file f;
	int answer;

	if (!open_file(&f, luaL_checkstring(L, 1)))
		return 0;
	answer = judge(f.elf);
	close_file(&f);
	if (answer < 0)
		return 0;
	lua_pushboolean(L, answer);
	return 1;
}

/* --- what it needs -------------------------------------------------------------------------- */

/* The section of that type; its data, and what links its names. */
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

/* Does it import what starts other programs? */
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
What an ELF file needs.
@function needs
@string path
@treturn table `libraries`: names; `paths`: where it looks for them first; `starts`: does it import functions that start
other programs? Nil: it is no ELF file
@usage print(require("lpfm.symbols").needs("/bin/sh").libraries[1])
*/
static int needs(lua_State *L)
{
	struct file f;

	if (!open_file(&f, luaL_checkstring(L, 1)))
		return 0;
	lua_newtable(L);
	lua_newtable(L);
	lua_setfield(L, -2, "libraries");
	lua_newtable(L);
	lua_setfield(L, -2, "paths");
	add_dynamic(L, f.elf);
	lua_pushboolean(L, imports_start(f.elf));
	lua_setfield(L, -2, "starts");
	close_file(&f);
	return 1;
}

void symbols_open_pointers(lua_State *L)
{
	lua_pushcfunction(L, frame_pointers);
	lua_setfield(L, -2, "frame_pointers");
	lua_pushcfunction(L, needs);
	lua_setfield(L, -2, "needs");
}
