// SPDX-License-Identifier: MIT
/* options.c - verbosity, error texts, version. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "model.h"

static bool verbose, debug;
static bool from_environment;
static bool to_stdout;

static bool env_number(const char *name, bool *on)
{
	const char *text = getenv(name);

	if (text)
		*on = atoi(text) != 0;
	return text != NULL;
}

void pfl_options_init(void)
{
	bool v = env_number("LIBPFM_VERBOSE", &verbose);
	bool d = env_number("LIBPFM_DEBUG", &debug);

	from_environment = v || d;
	to_stdout = getenv("LIBPFM_DEBUG_STDOUT") != NULL;
}

int pfm_set_options(pfmlib_options_t *opt)
{
	if (!opt)
		return PFMLIB_ERR_INVAL;
	pfl_options_init();
	if (from_environment)
		return PFMLIB_SUCCESS;
	verbose = opt->pfm_verbose;
	debug = opt->pfm_debug;
	return PFMLIB_SUCCESS;
}

static void print(const char *fmt, va_list ap)
{
	FILE *f = to_stdout ? stdout : stderr;

	fputs("pfmlib: ", f);
	vfprintf(f, fmt, ap);
	fputc('\n', f);
}

void pfl_verbose(const char *fmt, ...)
{
	va_list ap;

	if (!verbose)
		return;
	va_start(ap, fmt);
	print(fmt, ap);
	va_end(ap);
}

void pfl_debug(const char *fmt, ...)
{
	va_list ap;

	if (!debug)
		return;
	va_start(ap, fmt);
	print(fmt, ap);
	va_end(ap);
}

int pfm_get_version(unsigned int *version)
{
	if (!version)
		return PFMLIB_ERR_INVAL;
	*version = PFMLIB_VERSION;
	return PFMLIB_SUCCESS;
}

char *pfm_strerror(int code)
{
	static const char *const texts[] = {
		"success", "not supported", "invalid parameters", "library not initialized",
		"event not found", "cannot assign events to counters", "buffer full or too small",
		"event used more than once", "invalid magic number", "invalid combination of features",
		"events of incompatible sets", "events that cannot be combined",
		"too many events or unit masks", "code range too big", "empty code range",
		"invalid code range", "too many code ranges", "invalid data range",
		"too many data ranges", "not supported by the host PMU", "code range not aligned",
		"code range lacks flags", "invalid or missing unit mask", "out of memory",
	};

	if (code > 0 || -code >= (int)PFL_COUNT(texts))
		return (char *)"unknown error code";
	return (char *)texts[-code];
}
