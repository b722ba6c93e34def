// SPDX-License-Identifier: MIT
/*
 * jit.c - makes code, and describes it in a dump that perf reads (jitdump-specification.txt):
 *   jit FOLDER ITERATIONS
 * Runs `first` at a page's beginning, then `second` in its place, then `second` again, moved to the
 * page's middle, and prints when each began, in ns of CLOCK_MONOTONIC. The lines of `first` are 10
 * and 11 of made.js, of `second` 20, 21.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
enum { MACHINE = 62, LOOP = 3 };
/* mov; dec, jnz; ret */
static const unsigned char code[] = { 0x48, 0x89, 0xf8, 0x48, 0xff, 0xc8, 0x75, 0xfb, 0xc3 };
#elif defined(__aarch64__)
enum { MACHINE = 183, LOOP = 4 };
/* nop; subs, b.ne; ret */
static const uint32_t code[] = { 0xd503201f, 0xf1000400, 0x54ffffe1, 0xd65f03c0 };
#else
enum { MACHINE = 0, LOOP = 0 };
static const unsigned char code[1];
#endif

enum { LOAD, MOVE, LINES, CLOSE };
#define HALF	2048

static FILE *dump;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void put32(uint32_t v)
{
	fwrite(&v, sizeof(v), 1, dump);
}

static void put64(uint64_t v)
{
	fwrite(&v, sizeof(v), 1, dump);
}

static void put_head(uint32_t kind, size_t body)
{
	put32(kind);
	put32((uint32_t)(16 + body));
	put64(now());
}

static void begin(const char *folder)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/jit-%d.dump", folder, (int)getpid());
	dump = fopen(path, "w+");
	if (!dump || mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(dump), 0) == MAP_FAILED) {
		perror(path);
		exit(1);
	}
	put32(0x4A695444);
	put32(1);
	put32(40);
	put32(MACHINE);
	put32(0);
	put32((uint32_t)getpid());
	put64(now());
	put64(0);
}

/* Writes two line numbers: of the function's beginning, and of its loop. */
static void put_lines(uint64_t at, uint32_t line)
{
	static const char file[] = "made.js", same[] = "\377";

	put_head(LINES, 16 + 2 * 16 + sizeof(file) + sizeof(same));
	put64(at);
	put64(2);
	put64(at);
	put32(line);
	put32(0);
	fwrite(file, sizeof(file), 1, dump);
	put64(at + LOOP);
	put32(line + 1);
	put32(0);
	fwrite(same, sizeof(same), 1, dump);
}

static void put_place(uint64_t at)
{
	put32((uint32_t)getpid());
	put32((uint32_t)getpid());
	put64(at);
}

static void put_load(const char *name, uint64_t at, uint64_t number)
{
	put_head(LOAD, 40 + strlen(name) + 1 + sizeof(code));
	put_place(at);
	put64(at);
	put64(sizeof(code));
	put64(number);
	fwrite(name, strlen(name) + 1, 1, dump);
	fwrite(code, sizeof(code), 1, dump);
}

static void put_move(uint64_t from, uint64_t to, uint64_t number)
{
	put_head(MOVE, 48);
	put_place(to);
	put64(from);
	put64(to);
	put64(sizeof(code));
	put64(number);
}

static void run(void *at, unsigned long n)
{
	void (*made)(unsigned long n);

	memcpy(&made, &at, sizeof(made));
	fflush(dump);
	printf("%llu\n", (unsigned long long)now());
	made(n);
}

int main(int argc, char **argv)
{
	unsigned long n = argc > 2 ? strtoul(argv[2], NULL, 0) : 1;
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (!MACHINE || argc < 2 || page == MAP_FAILED)
		return 1;
	begin(argv[1]);
	memcpy(page, code, sizeof(code));
	memcpy(page + HALF, code, sizeof(code));
	__builtin___clear_cache(page, page + 4096);
	put_lines((uintptr_t)page, 10);
	put_load("first", (uintptr_t)page, 1);
	run(page, n);
	put_lines((uintptr_t)page, 20);
	put_load("second", (uintptr_t)page, 2);
	run(page, n);
	put_move((uintptr_t)page, (uintptr_t)page + HALF, 2);
	run(page + HALF, n);
	put_head(CLOSE, 0);
	return fclose(dump) != 0;
}
