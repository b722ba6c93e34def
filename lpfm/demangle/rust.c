/* SPDX-License-Identifier: MIT */
/*
 * rust.c - demangles names of Rust functions in the so-called legacy mangling, which is C++'s with
 * a hash as the last part.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "demangle/rust.h"

#define HASH	"::h"
#define HEX	"0123456789abcdef"
enum { DIGITS = 16 };

/* Returns where the hash begins, or NULL. */
static char *hash_of(char *name)
{
	size_t len = strlen(name), tail = strlen(HASH) + DIGITS;
	char *hash = name + len - tail;

	if (len <= tail || strncmp(hash, HASH, strlen(HASH)))
		return NULL;
	return strspn(hash + strlen(HASH), HEX) == DIGITS ? hash : NULL;
}

static const struct {
	const char *escape;
	char c;
} escapes[] = {
	{ "$SP$", '@' }, { "$BP$", '*' }, { "$RF$", '&' }, { "$LT$", '<' }, { "$GT$", '>' }, { "$LP$", '(' },
	{ "$RP$", ')' }, { "$C$", ',' },
};

/* Decodes an escape at `at`, and stores its length in *len; false: there is none. */
static bool unescape(const char *at, char *c, size_t *len)
{
	unsigned int code;
	int n = 0;

	for (size_t i = 0; i < sizeof(escapes) / sizeof(escapes[0]); i++) {
		*len = strlen(escapes[i].escape);
		*c = escapes[i].c;
		if (!strncmp(at, escapes[i].escape, *len))
			return true;
	}
	if (sscanf(at, "$u%2x$%n", &code, &n) != 1 || !n || code < ' ' || code > '~')
		return false;
	*c = (char)code;
	*len = (size_t)n;
	return true;
}

/* Returns true for the "_" that is put before a part of a path which begins with an escape. */
static bool is_filler(const char *name, const char *at)
{
	return at[0] == '_' && at[1] == '$' && (at == name || at[-1] == ':');
}

const char *symrust_end(const char *name)
{
	for (const char *at = name; (at = strstr(at, "17h")); at++) {
		const char *end = at + strlen("17h") + strspn(at + strlen("17h"), HEX);

		if (end - at == (ptrdiff_t)strlen("17h") + DIGITS && end[0] == 'E' && (!end[1] || end[1] == '.'))
			return end + 1;
	}
	return NULL;
}

void symrust_tidy(char *name)
{
	char *end = hash_of(name), *to = name;

	if (!end)
		return;
	*end = 0;
	for (char *at = name; *at;) {
		size_t len;
		char c;

		if (is_filler(name, at)) {
			at++;
			continue;
		}
		if (at[0] == '.' && at[1] == '.') {
			*to++ = ':';
			*to++ = ':';
			at += 2;
			continue;
		}
		if (!unescape(at, &c, &len)) {
			c = *at;
			len = 1;
		}
		*to++ = c;
		at += len;
	}
	*to = 0;
}
