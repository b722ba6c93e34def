/* SPDX-License-Identifier: MIT */
/* program.h - contexts with the format "program": making them, and what came of it. */
#ifndef LPFM_PROGRAM_H
#define LPFM_PROGRAM_H

#include "base/args.h"
#include "ffi/objects.h"
#include "perfmon/perfmon_prog_smpl.h"

/* What lpfm.create was asked for; strings stay alive in its table. */
struct lpfm_program {
	const char	*insns;		/* NULL: not given */
	size_t		bytes;
	uint32_t	buckets;
	bool		has_buckets;
	uint32_t	base;		/* PFM_PROG_SMPL_NONE, ... */
};

/* Takes an option that is the format's own, with its value at idx; false: it is not. */
bool lpfm_program_option(lua_State *L, const char *key, int idx, struct lpfm_program *p, const struct lpfm_site *site);
/* Raises unless that is complete, or, if the format is another one (!is_program), not there at all. */
void lpfm_program_check(lua_State *L, const struct lpfm_program *p, bool is_program, const struct lpfm_site *site);
/* The format of the samples that are kept. */
enum lpfm_format lpfm_program_samples(const struct lpfm_program *p);
/* The argument, around that of the base. */
void lpfm_program_arg(const struct lpfm_program *p, pfm_prog_smpl_arg_t *arg, const void *base_arg, size_t size);
void lpfm_open_program(lua_State *L);

#endif
