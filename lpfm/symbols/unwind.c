/* SPDX-License-Identifier: MIT */
/* unwind.c - unwinding copies of user stacks, by elfutils' libdwfl. */
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbols/cfi.h"
#include "symbols/object.h"
#include "symbols/unwind.h"

#define TID	1	/* of the one thread that the libdwfl's process has */

/* Of asm/perf_regs.h, packed: the stack pointer, and the program counter. And by DWARF's numbers. */
#if defined(__x86_64__)
enum { SP = 7, PC = 8, REGS = 20 };
static const unsigned char by_dwarf[] = { 0, 3, 2, 1, 4, 5, 6, 7, 12, 13, 14, 15, 16, 17, 18, 19, 8 };
#elif defined(__aarch64__)
enum { SP = 31, PC = 32, REGS = 33 };
static const unsigned char by_dwarf[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
	21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31 };
#else
enum { SP = 0, PC = 0, REGS = -1 };
static const unsigned char by_dwarf[] = { 0 };
#endif

struct symunwind {
	Dwfl		*dwfl;
	struct symcfi	*cfi;
	bool		attached;
	/* of the stack in hand */
	const uint64_t	*regs;
	const char	*copy;
	size_t		size;
	uint64_t	*frames;
	size_t		n, max;
};

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
};

struct symunwind *symunwind_open(void)
{
	struct symunwind *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->dwfl = dwfl_begin(&callbacks);
	u->cfi = symcfi_new(sizeof(by_dwarf));
	if (u->dwfl && u->cfi)
		return u;
	symunwind_close(u);
	return NULL;
}

void symunwind_close(struct symunwind *u)
{
	if (!u)
		return;
	if (u->dwfl)
		dwfl_end(u->dwfl);
	symcfi_free(u->cfi);
	free(u);
}

/* --- objects -------------------------------------------------------------------------------- */

/* By how much an object's addresses are moved whose byte offset lies at start. */
static bool find_bias(Elf *elf, uint64_t start, uint64_t offset, uint64_t *bias)
{
	size_t n = 0;

	if (elf_getphdrnum(elf, &n))
		return false;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_LOAD || !(ph.p_flags & PF_X))
			continue;
		if (ph.p_offset + ph.p_filesz <= offset || (ph.p_offset & ~(ph.p_align - 1)) > offset)
			continue;
		*bias = start - offset + ph.p_offset - ph.p_vaddr;
		return true;
	}
	return false;
}

static int open_object(const char *path)
{
	char why[SYMOBJ_ERROR_LEN];

	return strcmp(path, "[vdso]") ? open(path, O_RDONLY | O_CLOEXEC) : symobj_vdso(why);
}

bool symunwind_map(struct symunwind *u, const char *path, uint64_t start, uint64_t offset)
{
	int fd = open_object(path);
	Elf *elf = fd >= 0 ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;
	uint64_t bias = 0;
	bool found = elf && find_bias(elf, start, offset, &bias);

	elf_end(elf);
	dwfl_report_begin_add(u->dwfl);
	found = found && dwfl_report_elf(u->dwfl, path, path, fd, bias, true);
	dwfl_report_end(u->dwfl, NULL, NULL);
	if (!found && fd >= 0)
		close(fd);
	return found;
}

/* --- one stack ------------------------------------------------------------------------------ */

static bool read_copy(const void *from, uint64_t addr, uint64_t *word)
{
	const struct symunwind *u = from;
	uint64_t at = addr - u->regs[SP];

	if (addr < u->regs[SP] || u->size < sizeof(*word) || at > u->size - sizeof(*word))
		return false;
	memcpy(word, u->copy + at, sizeof(*word));
	return true;
}

/* By rows of the common kinds; false: there are others. */
static bool unwind_quickly(struct symunwind *u)
{
	struct symcfi_state s = { .pc = u->regs[PC], .known = (1ULL << sizeof(by_dwarf)) - 1 };
	enum symcfi_step step = SYMCFI_DONE;

	for (size_t i = 0; i < sizeof(by_dwarf); i++)
		s.regs[i] = u->regs[by_dwarf[i]];
	for (u->n = 0; step == SYMCFI_DONE && s.pc && u->n < u->max;) {
		u->frames[u->n++] = s.pc;
		step = symcfi_step(u->cfi, u->dwfl, &s, read_copy, u);
	}
	return step != SYMCFI_CANNOT;
}

/* --- by libdwfl, any rows ------------------------------------------------------------------- */

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread)
{
	(void)dwfl;
	if (*thread)
		return 0;
	*thread = arg;
	return TID;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *result, void *arg)
{
	uint64_t word;

	(void)dwfl;
	if (!read_copy(arg, addr, &word))
		return false;
	*result = word;
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	const struct symunwind *u = arg;
	Dwarf_Word words[sizeof(by_dwarf)];

	for (size_t i = 0; i < sizeof(by_dwarf); i++)
		words[i] = u->regs[by_dwarf[i]];
	dwfl_thread_state_register_pc(thread, u->regs[PC]);
	return dwfl_thread_state_registers(thread, 0, sizeof(by_dwarf), words);
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.memory_read = read_memory,
	.set_initial_registers = set_registers,
};

static int take_frame(Dwfl_Frame *frame, void *arg)
{
	struct symunwind *u = arg;
	Dwarf_Addr pc;

	if (u->n == u->max || !dwfl_frame_pc(frame, &pc, NULL) || !pc)
		return DWARF_CB_ABORT;
	u->frames[u->n++] = pc;
	return DWARF_CB_OK;
}

static void unwind_slowly(struct symunwind *u)
{
	u->n = 0;
	if (!u->attached)	/* once it has objects: those say which architecture it is */
		u->attached = dwfl_attach_state(u->dwfl, NULL, TID, &thread_callbacks, u);
	if (u->attached)
		dwfl_getthread_frames(u->dwfl, TID, take_frame, u);
}

size_t symunwind_frames(struct symunwind *u, const uint64_t *regs, size_t num, const void *copy, size_t size,
			uint64_t *frames, size_t max)
{
	if (num != (size_t)REGS)
		return 0;
	u->regs = regs;
	u->copy = copy;
	u->size = size;
	u->frames = frames;
	u->max = max;
	if (!unwind_quickly(u))
		unwind_slowly(u);
	return u->n;
}

/* --- frame pointers ------------------------------------------------------------------------- */

/* What makes a frame, in an executable segment. */
static size_t count_frames(const unsigned char *code, size_t size)
{
	size_t n = 0;

#if defined(__x86_64__)
	static const unsigned char push_mov[] = { 0x55, 0x48, 0x89, 0xe5 };	/* push %rbp; mov %rsp, %rbp */

	for (size_t i = 0; i + sizeof(push_mov) <= size; i++)
		n += !memcmp(code + i, push_mov, sizeof(push_mov));
#elif defined(__aarch64__)
	for (size_t i = 0; i + 4 <= size; i += 4) {
		uint32_t word;

		memcpy(&word, code + i, sizeof(word));
		n += (word & 0xffc003ff) == 0x910003fd;		/* add x29, sp, #imm */
	}
#else
	(void)code, (void)size;
#endif
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

static int judge(Elf *elf)
{
	size_t n = 0, functions = 0, frames = 0, size;
	const char *bytes = elf_rawfile(elf, &size);

	if (!bytes || elf_getphdrnum(elf, &n))
		return -1;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_offset > size || ph.p_filesz > size - ph.p_offset)
			continue;
		const unsigned char *at = (const unsigned char *)bytes + ph.p_offset;

		if (ph.p_type == PT_GNU_EH_FRAME)
			functions = count_functions(at, ph.p_filesz);
		else if (ph.p_type == PT_LOAD && (ph.p_flags & PF_X))
			frames += count_frames(at, ph.p_filesz);
	}
	return functions ? frames * 4 >= functions : -1;
}

int symunwind_frame_pointers(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), answer;
	Elf *elf;

	if (fd < 0)
		return -1;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	answer = elf && elf_kind(elf) == ELF_K_ELF ? judge(elf) : -1;
	elf_end(elf);
	close(fd);
	return answer;
}
