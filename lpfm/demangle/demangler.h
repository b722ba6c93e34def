/* SPDX-License-Identifier: MIT */
/*
 * demangler.h - the state of a demangler that reads a mangled name by its grammar, with a function
 * for each rule: the position in the name, the text so far, and limits, because names come from
 * files. Any error sets `failed`, after which nothing is read or written.
 */
#ifndef LPFM_DEMANGLE_DEMANGLER_H
#define LPFM_DEMANGLE_DEMANGLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 200, OUT_MAX = 16384, RULES_MAX = 1 << 16 };

struct demangler {
	const char	*s;
	size_t		at;
	char		*out;
	size_t		n;
	unsigned int	depth, rules;
	/* D: position of the back reference that is being followed */
	size_t		followed;
	bool		quiet;		/* what is read is not printed */
	bool		failed;
};

static inline void fail(struct demangler *d)
{
	d->failed = true;
}

/* Ends the demangling at a limit. Unlike after fail(), no other rule is tried. */
static inline void give_up(struct demangler *d)
{
	d->rules = RULES_MAX;
	fail(d);
}

static inline char peek(const struct demangler *d)
{
	return d->failed ? '\0' : d->s[d->at];
}

static inline char next(struct demangler *d)
{
	char c = peek(d);

	if (c)
		d->at++;
	else
		fail(d);
	return c;
}

static inline bool eat(struct demangler *d, char c)
{
	if (peek(d) != c)
		return false;
	d->at++;
	return true;
}

static inline bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static inline bool is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

/* Reads a number. Numbers are lengths, so none is larger than the longest text. */
static inline size_t read_decimal(struct demangler *d)
{
	size_t value = 0;

	if (!is_digit(peek(d)))
		fail(d);
	if (eat(d, '0'))
		return 0;
	while (is_digit(peek(d))) {
		value = value * 10 + (size_t)(next(d) - '0');
		if (value > OUT_MAX)
			fail(d);
	}
	return value;
}

static inline void put(struct demangler *d, const char *text, size_t len)
{
	if (d->failed || d->quiet)
		return;
	if (len >= OUT_MAX - d->n) {
		give_up(d);
		return;
	}
	memcpy(d->out + d->n, text, len);
	d->n += len;
}

static inline void say(struct demangler *d, const char *text)
{
	put(d, text, strlen(text));
}

/* A rule that may contain itself begins with enter() and ends with leave(). */
static inline bool enter(struct demangler *d)
{
	if (++d->depth > DEPTH_MAX || ++d->rules > RULES_MAX)
		give_up(d);
	return !d->failed;
}

static inline void leave(struct demangler *d)
{
	d->depth--;
}

/* Returns the text, allocated by malloc(); NULL if the name could not be read. */
static inline char *demangler_text(struct demangler *d)
{
	if (d->failed || !d->n) {
		free(d->out);
		return NULL;
	}
	d->out[d->n++] = '\0';
	char *fitting = realloc(d->out, d->n);

	return fitting ? fitting : d->out;
}

#endif
