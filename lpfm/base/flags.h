/* SPDX-License-Identifier: MIT */
/* flags.h - names of bits and numbers. */
#ifndef LPFM_FLAGS_H
#define LPFM_FLAGS_H

#include "base/args.h"

struct lpfm_flag {
	const char	*constant;	/* the name in the C header */
	const char	*name;		/* the name in Lua, without the prefix */
	uint32_t	value;
};

extern const struct lpfm_flag lpfm_ctx_flags[], lpfm_pmc_flags[], lpfm_pmd_flags[];
extern const struct lpfm_flag lpfm_set_flags[], lpfm_msg_types[], lpfm_reg_types[];
extern const struct lpfm_flag lpfm_reg_kinds[], lpfm_fmt_flags[], lpfm_buf_flags[];

/* Returns the flags at idx: a number, a name, or a list of both. */
uint32_t lpfm_to_flags(lua_State *L, int idx, const struct lpfm_site *site,
		       const struct lpfm_flag *flags);
/* Pushes a list of names; bits without a name follow as one number. */
void lpfm_push_flags(lua_State *L, uint32_t value, const struct lpfm_flag *flags);
/* Pushes the name of the value, or the number if it has none. */
void lpfm_push_type(lua_State *L, uint32_t value, const struct lpfm_flag *types);
void lpfm_open_flags(lua_State *L);
/* Adds lpfm.errno, the numbers of errors by name. */
void lpfm_open_errno(lua_State *L);

#endif
