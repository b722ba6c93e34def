// SPDX-License-Identifier: MIT
/* fuzz_replay.c - runs inputs of the fuzzer once more: fuzz_replay FILE... */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"

static const char *file;

static const char *where(void)
{
	return file;
}

static void replay(void)
{
	static uint8_t data[1 << 16];
	FILE *f = fopen(file, "rb");
	size_t n;
	uint8_t *copy;

	CHECK(f, "cannot be opened");
	n = fread(data, 1, sizeof(data), f);
	fclose(f);
	copy = malloc(n ? n : 1);	/* has the exact size, so that ASan notices reads of more */
	CHECK(copy, "no memory");
	memcpy(copy, data, n);
	LLVMFuzzerTestOneInput(copy, n);
	free(copy);
}

int main(int argc, char **argv)
{
	fail_where = where;
	for (int i = 1; i < argc; i++) {
		file = argv[i];
		replay();
	}
	printf("%d inputs\n", argc - 1);
	return 0;
}
