/* SPDX-License-Identifier: MIT */
/*
 * demangle.c - demangles names of C++ and Rust by libiberty, and of OCaml. Names come from programs
 * that may be malicious: libiberty's time and stack grow with the length of the name and of the
 * result, so both are limited.
 */
#include <ctype.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demangle/demangle.h"

enum { MANGLED_MAX = 16384, PLAIN_MAX = 65536, HASH_DIGITS = 16 };

struct plain {
	size_t	len;
	jmp_buf	full;
	char	text[PLAIN_MAX];
};

/* Appends a part of the result. libiberty may pass NULL as part if len is 0. */
static void append(const char *part, size_t len, void *plain)
{
	struct plain *p = plain;

	if (len >= sizeof(p->text) - p->len)
		longjmp(p->full, 1);
	if (len)
		memcpy(p->text + p->len, part, len);
	p->len += len;
}

/* Returns where the suffixes of a Rust name begin; NULL: it is no such name. */
static const char *rust_end(const char *name)
{
	if (strncmp(name, "_R", 2) == 0)
		return name + strcspn(name, ".");
	/* legacy names are mangled as in C++; their last part is "h" and a hash, 17 characters */
	for (const char *at = name; (at = strstr(at, "17h")); at++) {
		const char *hash = at + strlen("17h"), *end = hash + strspn(hash, "0123456789abcdef");

		if (end - hash == HASH_DIGITS && end[0] == 'E' && (!end[1] || end[1] == '.'))
			return end + 1;
	}
	return NULL;
}

/* Appends the suffix, which libiberty has dropped, unless it is a number of LLVM's. */
static void append_suffix(struct plain *p, const char *suffix)
{
	if (strncmp(suffix, ".llvm.", strlen(".llvm.")))
		append(suffix, strlen(suffix), p);
}

static char *demangle_rust(const char *name, const char *suffix)
{
	char *base = strndup(name, (size_t)(suffix - name)), *volatile result = NULL;
	struct plain *p = malloc(sizeof(*p));

	if (p)
		p->len = 0;	/* the text is not cleared, since it is large */
	if (base && p && !setjmp(p->full) && rust_demangle_callback(base, 0, append, p)) {
		append_suffix(p, suffix);
		result = strndup(p->text, p->len);
	}
	free(base);
	free(p);
	return result;
}

static char *demangle_cpp(const char *name)
{
	struct plain *p = malloc(sizeof(*p));
	char *volatile result = NULL;

	if (p)
		p->len = 0;
	/* libiberty's own limit of recursion refuses every name of more than 1,024 bytes */
	if (p && !setjmp(p->full) &&
	    cplus_demangle_v3_callback(name, DMGL_PARAMS | DMGL_ANSI | DMGL_NO_RECURSE_LIMIT, append, p))
		result = strndup(p->text, p->len);
	free(p);
	return result;
}

/*
 * Demangles a name of OCaml: "camlModule__function_12" is Module.function_12. "$" and two
 * hexadecimal digits stand for a character.
 */
static char *demangle_ocaml(const char *name)
{
	char *plain = malloc(strlen(name) + 1), *to = plain;
	unsigned int byte;

	for (const char *at = name + strlen("caml"); plain && *at;) {
		if (at[0] == '_' && at[1] == '_') {
			*to++ = '.';
			at += 2;
		} else if (at[0] == '$' && isxdigit((unsigned char)at[1]) && sscanf(at + 1, "%2x", &byte) == 1 &&
			   isxdigit((unsigned char)at[2]) && byte) {
			*to++ = (char)byte;
			at += 3;
		} else {
			*to++ = *at++;
		}
	}
	if (plain)
		*to = '\0';
	return plain;
}

char *demangle(const char *name)
{
	const char *suffix;

	if (strlen(name) > MANGLED_MAX)
		return NULL;
	if (strncmp(name, "caml", 4) == 0 && name[4] >= 'A' && name[4] <= 'Z')
		return demangle_ocaml(name);
	if (strncmp(name, "_D", 2) == 0)
		return symdlang(name);
	if (strncmp(name, "_R", 2) && strncmp(name, "_Z", 2))
		return NULL;
	suffix = rust_end(name);
	return suffix ? demangle_rust(name, suffix) : demangle_cpp(name);
}
