/* SPDX-License-Identifier: MIT */
/* structs.h - structures of the ABI as tables, in both directions. */
#ifndef LPFM_STRUCTS_H
#define LPFM_STRUCTS_H

#include "base/args.h"
#include "base/flags.h"

enum lpfm_kind {
	LPFM_U16, LPFM_U32, LPFM_U64,
	LPFM_NAT,	/* 64 bits that are a size, a number of things, or a time: never negative */
	LPFM_BITS,	/* a bit-vector as a list of register numbers */
	LPFM_FLAGS,	/* 32 bits by name */
	LPFM_TYPE,	/* 16 bits by name */
	LPFM_GROUP,	/* a group id, -1 for any */
	LPFM_TEXT,	/* characters ended by a zero */
	LPFM_UUID,
	LPFM_TIME,	/* a struct timespec as ns */
};

enum { LPFM_IN = 1, LPFM_OUT = 2, LPFM_NEED = 4 };

struct lpfm_field {
	const char		*name;
	uint8_t			kind;
	uint8_t			dir;		/* LPFM_IN: can be given, _NEED: must be; _OUT: returned */
	uint16_t		offset;
	const struct lpfm_flag	*flags;		/* FLAGS, TYPE */
	uint64_t		none;		/* not 0: the value that is returned as nil */
};

struct lpfm_struct {
	size_t			size;
	int			flags_offset;	/* of the PFM_REG_RETFL_* bits, -1: none */
	bool			plain;		/* a number may stand for {first field = number} */
	const struct lpfm_field	*fields;	/* ended by one without a name */
};

extern const struct lpfm_struct lpfm_pmc_struct, lpfm_pmd_struct, lpfm_read_struct;
extern const struct lpfm_struct lpfm_set_struct, lpfm_setinfo_struct, lpfm_deleted_set_struct;
extern const struct lpfm_struct lpfm_reginfo_struct, lpfm_config_struct, lpfm_fmt_struct;

const struct lpfm_field *lpfm_struct_field(const struct lpfm_struct *rec, const char *name);
/* One field, the value being at idx. */
void lpfm_field_read(lua_State *L, int idx, const struct lpfm_field *field, void *base,
		     const struct lpfm_site *site);
void lpfm_field_push(lua_State *L, const struct lpfm_field *field, const void *base);
/* The table (or plain number) at idx into the structure at base; unknown fields raise. */
void lpfm_struct_read(lua_State *L, int idx, const struct lpfm_struct *rec, void *base,
		      struct lpfm_site *site);
void lpfm_struct_push(lua_State *L, const struct lpfm_struct *rec, const void *base);
/* The fields that can be given, without those that are 0; the first is always there. */
void lpfm_struct_push_given(lua_State *L, const struct lpfm_struct *rec, const void *base);
/* A UUID as text, and back: 32 hexadecimal digits, with dashes or without. */
void lpfm_push_uuid(lua_State *L, const unsigned char *u);
bool lpfm_parse_uuid(const char *text, unsigned char *uuid);

/* The list at idx as n structures, in a userdata that it pushes. */
void *lpfm_list_read(lua_State *L, int idx, const struct lpfm_struct *rec, const char *call, int *n);
/* The same; up to room bytes of them go to small, the caller's, and nothing is pushed. */
void *lpfm_list_read_small(lua_State *L, int idx, const struct lpfm_struct *rec, const char *call,
			   int *n, void *small, size_t room);
/* The same into memory that has room for them: lua_objlen(L, idx) structures, zeroed. */
int lpfm_list_length(lua_State *L, int idx, const struct lpfm_struct *rec, const char *call);
void lpfm_list_fill(lua_State *L, int idx, const struct lpfm_struct *rec, const char *call,
		    void *base, int n);
/* How many elements a refused call has done: those before the marked one. */
int lpfm_list_done(const struct lpfm_struct *rec, const void *base, int n);
/* n structures as a list of tables. */
void lpfm_list_push(lua_State *L, const struct lpfm_struct *rec, const void *base, int n);

#endif
