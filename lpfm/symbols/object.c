/* SPDX-License-Identifier: MIT */
/* object.c - an object and what is known of its code: its ELF file, read by elfutils' libdwfl. */
#include <ctype.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbols/object.h"
#include "symbols/plt.h"

#define PAGE 4096	/* the smallest page size of all machines */
#define DEBUG_PATH ":.debug:/usr/lib/debug"	/* libdwfl's default */

struct symobj {
	Dwfl *dwfl;		/* NULL for the kernel */
	Dwfl_Module *mod;
	Elf *elf;
	struct symtab funcs;
	size_t functions;		/* number of functions in the symbol table */
	struct symplt_names made;	/* names of stubs ("f@plt"), which funcs refers to */
	struct symdwarf dwarf;
	char *names;		/* text of /proc/kallsyms, to which funcs refers */
};

static char *debug_path;

static const Dwfl_Callbacks offline = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
	.debuginfo_path = &debug_path,
};

/*
 * The vdso is in no file, so that no debug file can be found by a name. For that search,
 * dwfl_standard_find_debuginfo() would load libdebuginfod and some 25 other libraries.
 */
static const Dwfl_Callbacks offline_vdso = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_build_id_find_debuginfo,
	.section_address = dwfl_offline_section_address,
	.debuginfo_path = &debug_path,
};

/*
 * Debug files are searched in LPFM_DEBUG_PATH first, then beside the object, in .debug there, and
 * in the distribution's directory.
 */
static void set_debug_path(void)
{
	const char *own = getenv("LPFM_DEBUG_PATH");

	free(debug_path);
	if (asprintf(&debug_path, "%s%s", own ? own : "", DEBUG_PATH) < 0)
		debug_path = NULL;
}

/* --- functions of an ELF file --------------------------------------------------------------- */

static int rank_of(const GElf_Sym *sym, const char *name)
{
	static const int by_binding[] = { [STB_LOCAL] = 1, [STB_GLOBAL] = 3, [STB_WEAK] = 2 };
	unsigned int bind = GELF_ST_BIND(sym->st_info);
	int rank = bind <= STB_WEAK ? by_binding[bind] : 0;

	/* an alias without a leading underscore is preferred */
	rank = 2 * rank + (name[0] != '_');
	return GELF_ST_TYPE(sym->st_info) == STT_NOTYPE ? rank : rank + 8;
}

/* Returns true if the section of a symbol contains code. */
static bool has_code(Elf *elf, GElf_Word section, GElf_Shdr *sh)
{
	Elf_Scn *scn = elf ? elf_getscn(elf, section) : NULL;

	return scn && gelf_getshdr(scn, sh) && (sh->sh_flags & SHF_EXECINSTR);
}

/*
 * Labels in assembler code count as functions if they have a real name, and not one like "$x" or
 * ".L1" that marks a place.
 */
static bool is_function(const GElf_Sym *sym, const char *name)
{
	unsigned int type = GELF_ST_TYPE(sym->st_info);

	if (sym->st_shndx == SHN_UNDEF || !*name || *name == '$')
		return false;
	return type == STT_FUNC || type == STT_GNU_IFUNC || (type == STT_NOTYPE && strncmp(name, ".L", 2) != 0);
}

static int add_functions(struct symobj *o)
{
	int n = dwfl_module_getsymtab(o->mod);

	for (int i = 1; i < n; i++) {
		GElf_Sym sym;
		GElf_Addr addr;
		GElf_Word section;
		GElf_Shdr sh;
		Elf *elf = NULL;
		const char *name = dwfl_module_getsym_info(o->mod, i, &sym, &addr, &section, &elf, NULL);
		uint64_t room = 0;

		if (!name || !is_function(&sym, name))
			continue;
		if (has_code(elf, section, &sh) && addr >= sh.sh_addr && addr - sh.sh_addr < sh.sh_size)
			room = sh.sh_addr + sh.sh_size - addr;
		else if (!sym.st_size || GELF_ST_TYPE(sym.st_info) == STT_NOTYPE)
			continue;
		if (symtab_add(&o->funcs, addr, sym.st_size, room, name, rank_of(&sym, name)))
			return -1;
	}
	return 0;
}

/* --- opening an ELF file -------------------------------------------------------------------- */

static void explain(char *why, const char *what)
{
	snprintf(why, SYMOBJ_ERROR_LEN, "%s", what);
}

/* Opens a file, and takes over fd. Returns 0, or -1 with the reason in why. */
static int report(struct symobj *o, const char *path, int fd, char *why)
{
	GElf_Addr bias;

	dwfl_report_begin(o->dwfl);
	o->mod = dwfl_report_elf(o->dwfl, path, path, fd, 0, true);
	if (!o->mod)
		close(fd);
	dwfl_report_end(o->dwfl, NULL, NULL);
	o->elf = o->mod ? dwfl_module_getelf(o->mod, &bias) : NULL;
	if (o->elf)
		return 0;
	explain(why, dwfl_errmsg(-1));
	return -1;
}

static struct symobj *open_elf(const Dwfl_Callbacks *callbacks, const char *path, int fd, char *why)
{
	struct symobj *o = calloc(1, sizeof(*o));

	if (!o) {
		close(fd);
		explain(why, strerror(ENOMEM));
		return NULL;
	}
	set_debug_path();
	o->dwfl = dwfl_begin(callbacks);
	if (!o->dwfl) {
		close(fd);
		explain(why, dwfl_errmsg(-1));
		goto fail;
	}
	if (report(o, path, fd, why))
		goto fail;
	if (add_functions(o))
		goto no_memory;
	o->functions = o->funcs.n;
	if (symplt_add(o->elf, &o->funcs, &o->made))
		goto no_memory;
	symtab_sort(&o->funcs);
	return o;
no_memory:
	explain(why, strerror(ENOMEM));
fail:
	symobj_close(o);
	return NULL;
}

static struct symobj *open_file(const char *path, const char *file, char *why)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		explain(why, strerror(errno));
		return NULL;
	}
	return open_elf(&offline, path, fd, why);
}

/* --- the vdso: an image in our own memory, the same in every process of this machine --------- */

static size_t mapping_size(uintptr_t start)
{
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned long from, to;
	size_t size = 0;
	char line[512];

	while (f && !size && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx", &from, &to) == 2 && from == start)
			size = to - from;
	if (f)
		fclose(f);
	return size;
}

int symobj_vdso(char why[SYMOBJ_ERROR_LEN])
{
	const char *image = (const char *)getauxval(AT_SYSINFO_EHDR);
	size_t size = image ? mapping_size((uintptr_t)image) : 0;
	int fd = size ? memfd_create("vdso", MFD_CLOEXEC) : -1;

	if (fd < 0) {
		explain(why, image ? strerror(errno) : "this machine has no vdso");
		return -1;
	}
	if (write(fd, image, size) == (ssize_t)size)
		return fd;
	explain(why, strerror(errno));
	close(fd);
	return -1;
}

static struct symobj *open_vdso(char *why)
{
	int fd = symobj_vdso(why);

	return fd < 0 ? NULL : open_elf(&offline_vdso, "[vdso]", fd, why);
}

/* --- the kernel ----------------------------------------------------------------------------- */

static char *read_all(const char *path)
{
	FILE *f = fopen(path, "re");
	size_t n = 0, room = 1 << 20;
	char *text = f ? malloc(room) : NULL;

	while (text) {
		n += fread(text + n, 1, room - n - 1, f);
		if (n < room - 1)
			break;
		char *bigger = realloc(text, room *= 2);

		if (!bigger)
			free(text);
		text = bigger;
	}
	if (text)
		text[n] = '\0';
	if (f)
		fclose(f);
	return text;
}

/* Returns true if the functions of a module, by its name in /proc/kallsyms, lie far apart. */
static bool is_scattered(const char *module)
{
	return strcmp(module, "[bpf]") == 0 || strncmp(module, "[__builtin__", 12) == 0;
}

/*
 * Adds a line like "ffffffff81000000 T _text", which has "\t[module]" at the end for modules. A
 * function ends at the next one of the kernel, or of its module, or at a data symbol. If none of
 * these is near, its end is not known: it may extend to the end of the page after its own, as perf
 * assumes. *module and *group are those of the line before, and then of this one. Returns 0, or -1
 * if there is no memory.
 */
static int add_kernel_line(struct symobj *o, char *line, const char **module, unsigned int *group)
{
	char *end = line, *tab;
	uint64_t addr = 0;
	bool is_code;

	for (; isxdigit((unsigned char)*end); end++)
		addr = addr << 4 | (uint64_t)(*end <= '9' ? *end - '0' : (*end | 0x20) - 'a' + 10);
	if (*end != ' ' || !end[1] || end[2] != ' ' || (int64_t)addr >= 0)
		return 0;
	is_code = strchr("tTwW", end[1]);
	tab = strchr(end, '\t');
	if (tab)
		*tab = '\0';
	if (strcmp(tab ? tab + 1 : "", *module) != 0) {
		*module = tab ? tab + 1 : "";
		++*group;
	}
	if (symtab_add(&o->funcs, addr, 0, (addr | (PAGE - 1)) + 1 + PAGE - addr, is_code ? end + 3 : NULL,
		       end[1] == 'T'))
		return -1;
	o->funcs.v[o->funcs.n - 1].group = is_scattered(*module) ? 0 : *group;
	return 0;
}

static int add_kernel(struct symobj *o)
{
	char *text = o->names, *line;
	const char *module = "";
	unsigned int group = 1;

	while ((line = strsep(&text, "\n")))
		if (add_kernel_line(o, line, &module, &group))
			return -1;
	symtab_sort(&o->funcs);
	o->functions = o->funcs.names;
	return 0;
}

static struct symobj *open_kernel(char *why)
{
	struct symobj *o = calloc(1, sizeof(*o));

	if (!o) {
		explain(why, strerror(ENOMEM));
		return NULL;
	}
	o->names = read_all("/proc/kallsyms");
	if (!o->names) {
		snprintf(why, SYMOBJ_ERROR_LEN, "/proc/kallsyms: %s", strerror(errno));
		symobj_close(o);
		return NULL;
	}
	if (add_kernel(o) || !o->functions) {
		explain(why, "the kernel's symbols are hidden "
			"(sysctl kernel.kptr_restrict=0 as root shows them)");
		symobj_close(o);
		return NULL;
	}
	return o;
}

struct symobj *symobj_open(const char *path, const char *file, char why[SYMOBJ_ERROR_LEN])
{
	why[0] = '\0';
	if (strcmp(path, "[vdso]") == 0)
		return open_vdso(why);
	if (strcmp(path, "[kernel]") == 0)
		return open_kernel(why);
	return open_file(path, file, why);
}

void symobj_close(struct symobj *o)
{
	if (!o)
		return;
	symtab_free(&o->funcs);
	symplt_free(&o->made);
	symdwarf_free(&o->dwarf);
	if (o->dwfl)
		dwfl_end(o->dwfl);
	free(o->names);
	free(o);
}

/* --- functions without symbols ---------------------------------------------------------------- */

/*
 * Stripped programs keep their call frame information: .eh_frame_hdr has a sorted table of the
 * beginnings of functions and of their descriptions in .eh_frame.
 */

/* sizes in bytes of the table's head and of a row, and the offset of the length in a description */
enum { HEAD = 12, ROW = 8, LENGTH_AT = 12 };

struct fde_table {
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
static bool find_table(Elf *elf, struct fde_table *t)
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
		*t = (struct fde_table){ head + HEAD, ph.p_vaddr, (uint32_t)word_at(head + 8) };
		return t->n > 0 && t->n <= (ph.p_filesz - HEAD) / ROW;
	}
	return false;
}

static uint64_t start_of(const struct fde_table *t, uint32_t row)
{
	return t->addr + (uint64_t)(int64_t)word_at(t->rows + (size_t)row * ROW);
}

bool symobj_range(const struct symobj *o, uint64_t addr, uint64_t *start, uint64_t *size)
{
	struct fde_table t;
	uint32_t lo = 0;

	if (!o->elf || !find_table(o->elf, &t) || addr < start_of(&t, 0))
		return false;
	for (uint32_t hi = t.n; hi - lo > 1;) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (start_of(&t, mid) <= addr)
			lo = mid;
		else
			hi = mid;
	}
	uint64_t at = t.addr + (uint64_t)(int64_t)word_at(t.rows + (size_t)lo * ROW + 4);
	const unsigned char *description = bytes_at(o->elf, at, LENGTH_AT + 4);

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

/* --- queries about an object ---------------------------------------------------------------- */

bool symobj_segment(const struct symobj *o, size_t *i, struct symobj_segment *seg)
{
	size_t n;

	if (!o->elf || elf_getphdrnum(o->elf, &n))
		return false;
	while (*i < n) {
		GElf_Phdr ph;

		if (!gelf_getphdr(o->elf, (int)(*i)++, &ph) || ph.p_type != PT_LOAD)
			continue;
		*seg = (struct symobj_segment){ ph.p_offset, ph.p_filesz, ph.p_vaddr };
		return true;
	}
	return false;
}

bool symobj_offset_to_addr(const struct symobj *o, uint64_t offset, uint64_t *addr)
{
	struct symobj_segment seg;

	*addr = offset;
	if (!o->elf)
		return true;
	for (size_t i = 0; symobj_segment(o, &i, &seg);) {
		if (offset < seg.offset || offset - seg.offset >= seg.size)
			continue;
		*addr = offset - seg.offset + seg.addr;
		return true;
	}
	return false;
}

const struct symtab_entry *symobj_function(const struct symobj *o, uint64_t addr)
{
	return symtab_find(&o->funcs, addr);
}

size_t symobj_functions(const struct symobj *o)
{
	return o->functions;
}

int symobj_frames(struct symobj *o, uint64_t addr, struct symdwarf_frame frames[], int max)
{
	return o->mod ? symdwarf_frames(&o->dwarf, o->mod, addr, frames, max) : 0;
}

const char *symobj_line(struct symobj *o, uint64_t addr, int *line)
{
	return o->mod ? symdwarf_line(&o->dwarf, o->mod, addr, line) : NULL;
}

const unsigned char *symobj_build_id(const struct symobj *o, int *len)
{
	const unsigned char *bits;
	GElf_Addr vaddr;

	*len = o->mod ? dwfl_module_build_id(o->mod, &bits, &vaddr) : 0;
	return *len > 0 ? bits : NULL;
}

int symobj_read_build_id(const char *file, unsigned char id[SYMOBJ_BUILD_ID])
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	const void *bits;
	ssize_t len;
	Elf *elf;

	if (fd < 0)
		return 0;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	len = elf ? dwelf_elf_gnu_build_id(elf, &bits) : 0;
	if (len < 0 || len > SYMOBJ_BUILD_ID)
		len = 0;
	if (len)
		memcpy(id, bits, (size_t)len);
	elf_end(elf);
	close(fd);
	return (int)len;
}

#define ZSTD 2		/* one of ELF's compression types, which older headers lack */

const char *symobj_trouble(struct symobj *o)
{
	GElf_Addr bias;
	size_t names;
	Dwarf_CU *unit;
	Dwarf *dw = o->mod ? dwfl_module_getdwarf(o->mod, &bias) : NULL;

	if (!o->mod || (dw && dwarf_get_units(dw, NULL, &unit, NULL, NULL, NULL, NULL) == 0) ||
	    elf_getshdrstrndx(o->elf, &names))
		return NULL;
	for (Elf_Scn *scn = elf_nextscn(o->elf, NULL); scn; scn = elf_nextscn(o->elf, scn)) {
		GElf_Shdr sh;
		GElf_Chdr ch;
		const char *name = gelf_getshdr(scn, &sh) ? elf_strptr(o->elf, names, sh.sh_name) : NULL;

		if (!name || strcmp(name, ".debug_info") != 0)
			continue;
		if ((sh.sh_flags & SHF_COMPRESSED) && gelf_getchdr(scn, &ch) && ch.ch_type == ZSTD)
			return "its debug information is compressed by zstd, which this machine's elfutils cannot read";
		return "its debug information is damaged";
	}
	return NULL;
}
