/* SPDX-License-Identifier: MIT */
/*
 * parts.h - checks, and programs of parts, of which the argument names one. It is included after
 * the header of the library that a program tests; EXPLAIN() is why that has refused the last call.
 */
#ifndef LPFM_SPEC_PARTS_H
#define LPFM_SPEC_PARTS_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef EXPLAIN
#define EXPLAIN pfm_explain
#endif

struct part {
	const char	*name;
	void		(*run)(void);
};

static int failures;

static inline void print_failure(int line, const char *cond, const char *why)
{
	printf("line %d: not so: %s (%s; %s)\n", line, cond, strerror(errno), why);
	failures++;
}

#define CHECK(cond) do { if (!(cond)) print_failure(__LINE__, #cond, EXPLAIN()); } while (0)

/* Ends the program if the condition does not hold. */
#define REQUIRE(cond) do { \
	if (!(cond)) { \
		print_failure(__LINE__, #cond, EXPLAIN()); \
		exit(1); \
	} \
} while (0)

/* Ends the program, because the call with that name has failed. */
#define DIE(what) do { \
	fprintf(stderr, "%s: %s; %s\n", what, strerror(errno), EXPLAIN()); \
	exit(1); \
} while (0)

/*
 * Runs the part that the only argument names, and returns the status for main(). A part without a
 * name ends the list.
 */
static inline int run_part(const struct part *parts, int argc, char **argv)
{
	for (const struct part *p = parts; argc == 2 && p->name; p++)
		if (!strcmp(p->name, argv[1])) {
			p->run();
			return failures != 0;
		}
	fprintf(stderr, "usage: %s PART, which is one of these:\n", argv[0]);
	for (const struct part *p = parts; p->name; p++)
		fprintf(stderr, "  %s\n", p->name);
	return 2;
}

#endif
