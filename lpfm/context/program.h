/* SPDX-License-Identifier: MIT */
/* program.h - contexts with the format "program": their options, and the results. */
#ifndef LPFM_PROGRAM_H
#define LPFM_PROGRAM_H

#include "base/args.h"
#include "ffi/objects.h"
#include "perfmon/perfmon_prog_smpl.h"

/* The options of lpfm.create for the program; strings stay alive in its table. */
struct lpfm_program {
	const char	*insns;		/* NULL: the option is not given */
	size_t		bytes;
	uint32_t	buckets;
	bool		has_buckets;
	uint32_t	base;		/* PFM_PROG_SMPL_NONE and so on */
};

/*
 * Reads an option that belongs to this format; its value is at idx. Returns false if the option
 * does not belong to this format.
 */
bool lpfm_program_option(lua_State *L, const char *key, int idx, struct lpfm_program *p, const struct lpfm_site *site);
/* Raises unless the options are complete or, with another format (!is_program), absent. */
void lpfm_program_check(lua_State *L, const struct lpfm_program *p, bool is_program, const struct lpfm_site *site);
/* Returns the format of the samples that are kept. */
enum lpfm_format lpfm_program_samples(const struct lpfm_program *p);
/* Makes the argument from the options and the base format's argument. */
void lpfm_program_arg(const struct lpfm_program *p, pfm_prog_smpl_arg_t *arg, const void *base_arg, size_t size);
void lpfm_open_program(lua_State *L);

#endif
