// SPDX-License-Identifier: MIT
/* x86_config.c - x86_config intel|amd PMC: what perfmon.ko programs for the value of a PMC. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "x86.h"

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	printf("%#" PRIx64 "\n", pfm_x86_config(strtoull(argv[2], NULL, 0), !strcmp(argv[1], "intel")));
	return 0;
}
