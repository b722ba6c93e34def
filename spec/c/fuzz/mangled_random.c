/* SPDX-License-Identifier: MIT */
/*
 * mangled_random.c - passes names to the demanglers, under ASan and UBSan: names that look like
 * those of Rust, D and C++, changed ones, and noise. mangled_random SEED COUNT prints how many
 * names were demangled, and how many became longer.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demangle/demangle.h"

enum { LEN_MAX = 400, PLAIN_MAX = 65536 };

static const char letters[] = "_0123456789aeABCDEFGHIKLMNOPQRSTUVWXYZpnsuvhiz.$";
static const char *const known[] = {
	"_RNvC6_123foo3bar", "_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y",
	"_RINbNbCskIICzLVDPPb_5alloc5alloc8box_freeDINbNiB4_5boxed5FnBoxuEp6OutputuEL_ECs1iopQbuBiw2_3std",
	"_RNCINkXs25_NgCsbmNqQUJIY6D_4core5sliceINyB9_4IterhENuNgNoBb_4iter8iterator8Iterator9rpositionNCNgNpB9_6memchr"
	"7memrchrs_0E0Bb_",
	"_RMCs4fqI2P2rA04_13const_genericINtB0_6SignedKanb_E", "_RINvC1a1fFG0_UKCRL0_tRL_hEuE",
	"_RINvC1a1fKRAj1_j2_EE", "_RINvC1a1fTTTThEEEEATsEj4_E.llvm.1",
	"_D3app5delegFDFNfiZiPFAiG3iHAyaiZvQgPxPiuwemqZi", "_D3app__T3aavVHAyaiA1a1_61i1ZQuFNaNbNiNfiZi",
	"_D3app__T1PTiVii3VAyaa2_6869Vbi1Vai120Vde0CP1ZQBl6__ctorMFNaNbNcNiNfiZSQCr__TQCqTiVii3VQCra2_6869Vbi1Vai120"
	"Vde0CP1ZQEc",
	"_D3app__T2svVSQm2S2S2i1a3_710a01ZQyFNaNbNiNfiZi", "_D3app1D7__ClassZ", "_D1aFHiB2iQdZv.part.0",
	"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE.cold", "_ZSt4moveIRSsEONSt16remove_referenceIT_E4typeEOS2_",
	"_ZNSt6vectorI3FooSaIS0_EE9push_backERKS0_.part.0", "_ZZN1a1fIiEEvT_ENKUlvE_clEv", "_Z1fIXadL_Z1gvEEEvv",
};

static uint64_t state;

static size_t below(size_t n)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (size_t)(state >> 33) % n;
}

static char letter(void)
{
	return letters[below(sizeof(letters) - 1)];
}

/* Changes, inserts or removes a letter, or repeats a part. */
static void change(char *name)
{
	size_t len = strlen(name), at = 2 + below(len - 1), from = 2 + below(len - 1), n = below(40);

	if (len + 40 >= LEN_MAX || at > len || from > len)
		return;
	switch (below(4)) {
	case 0:
		if (at < len)
			name[at] = letter();
		break;
	case 1:
		memmove(name + at + 1, name + at, len + 1 - at);
		name[at] = letter();
		break;
	case 2:
		if (at < len && len > 4)
			memmove(name + at, name + at + 1, len - at);
		break;
	default:
		if (n > len - from)
			n = len - from;
		memmove(name + at + n, name + at, len + 1 - at);
		memmove(name + at, name + from, n);
	}
}

static void make(char *name)
{
	if (below(4)) {
		strcpy(name, known[below(sizeof(known) / sizeof(known[0]))]);
		for (size_t i = below(8); i > 0; i--)
			change(name);
		return;
	}
	size_t n = 3 + below(100);

	for (size_t i = 0; i < n; i++)
		name[i] = letter();
	memcpy(name, (const char *[]){ "_R", "_D", "_Z" }[below(3)], 2);
	name[n] = '\0';
}

int main(int argc, char **argv)
{
	size_t count = argc > 2 ? strtoul(argv[2], NULL, 0) : 1000, read = 0, longer = 0;
	char name[LEN_MAX];

	state = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	for (size_t i = 0; i < count; i++) {
		make(name);
		char *exact = strdup(name);	/* has the exact size, for ASan */
		char *plain = demangle(exact);

		if (plain && strlen(plain) >= PLAIN_MAX) {
			printf("%s: too long\n", name);
			return 1;
		}
		read += plain != NULL;
		longer += plain && strlen(plain) > strlen(exact);
		free(plain);
		free(exact);
	}
	printf("%zu read, %zu longer\n", read, longer);
	return 0;
}
