/* SPDX-License-Identifier: MIT */
/* flags.h - names of bits and numbers. */
#ifndef LPFM_FLAGS_H
#define LPFM_FLAGS_H

#include "base/args.h"

struct lpfm_flag {
	const char	*constant;	/* as the header has it */
	const char	*name;		/* without the prefix, as Lua has it */
	uint32_t	value;
};

extern const struct lpfm_flag lpfm_ctx_flags[], lpfm_pmc_flags[], lpfm_pmd_flags[];
extern const struct lpfm_flag lpfm_set_flags[], lpfm_msg_types[], lpfm_reg_types[];
extern const struct lpfm_flag lpfm_reg_kinds[], lpfm_fmt_flags[], lpfm_buf_flags[];

/* Flags at idx: a number, a name, or a list of both. */
uint32_t lpfm_to_flags(lua_State *L, int idx, const struct lpfm_site *site,
		       const struct lpfm_flag *flags);
/* As a list of names; bits without a name come as one number at the end. */
void lpfm_push_flags(lua_State *L, uint32_t value, const struct lpfm_flag *flags);
/* The name of one value, or the number. */
void lpfm_push_type(lua_State *L, uint32_t value, const struct lpfm_flag *types);
void lpfm_open_flags(lua_State *L);

#endif
