/* SPDX-License-Identifier: MIT */
/* structs.h - structures of the C interface as Lua tables, in both directions. */
#ifndef LPFM_STRUCTS_H
#define LPFM_STRUCTS_H

#include "base/args.h"
#include "base/flags.h"

enum lpfm_kind {
	LPFM_U16, LPFM_U32, LPFM_U64,
	LPFM_NAT,	/* a 64-bit size, number of things, or time: never negative */
	LPFM_BITS,	/* a bit-vector as a list of register numbers */
	LPFM_FLAGS,	/* 32 bits of flags, which have names */
	LPFM_TYPE,	/* a 16-bit type, which has a name */
	LPFM_GROUP,	/* a group id, -1 for any */
	LPFM_TEXT,	/* a string that ends with a zero */
	LPFM_UUID,
	LPFM_TIME,	/* a struct timespec as ns */
};

enum { LPFM_IN = 1, LPFM_OUT = 2, LPFM_NEED = 4 };

struct lpfm_field {
	const char		*name;
	uint8_t			kind;
	/* LPFM_IN: may be given; LPFM_NEED: must be given; LPFM_OUT: is returned */
	uint8_t			dir;
	uint16_t		offset;
	const struct lpfm_flag	*flags;		/* the names, for LPFM_FLAGS and LPFM_TYPE */
	uint64_t		none;		/* if not 0: the value for which nil is returned */
};

struct lpfm_struct {
	size_t			size;
	/* offset of the PFM_REG_RETFL_* bits; -1: the structure has none */
	int			flags_offset;
	/* a number may be given instead of {first field = number} */
	bool			plain;
	const struct lpfm_field	*fields;	/* a field without a name ends the list */
};

extern const struct lpfm_struct lpfm_pmc_struct, lpfm_pmd_struct, lpfm_read_struct;
extern const struct lpfm_struct lpfm_set_struct, lpfm_setinfo_struct, lpfm_deleted_set_struct;
extern const struct lpfm_struct lpfm_reginfo_struct, lpfm_config_struct, lpfm_fmt_struct;

const struct lpfm_field *lpfm_struct_field(const struct lpfm_struct *rec, const char *name);
/* Reads one field; its value is at idx. */
void lpfm_field_read(lua_State *L, int idx, const struct lpfm_field *field, void *base,
		     const struct lpfm_site *site);
void lpfm_field_push(lua_State *L, const struct lpfm_field *field, const void *base);
/* Reads the table (or plain number) at idx into the structure at base; raises on unknown fields. */
void lpfm_struct_read(lua_State *L, int idx, const struct lpfm_struct *rec, void *base,
		      struct lpfm_site *site);
void lpfm_struct_push(lua_State *L, const struct lpfm_struct *rec, const void *base);
/*
 * Pushes a table of the fields that can be given. Of the fields that are 0, it has only the first.
 */
void lpfm_struct_push_given(lua_State *L, const struct lpfm_struct *rec, const void *base);
/*
 * Push a UUID as text, and parse it: 32 hexadecimal digits, with dashes or without. The second
 * function returns false if the text is not a UUID.
 */
void lpfm_push_uuid(lua_State *L, const unsigned char *u);
bool lpfm_parse_uuid(const char *text, unsigned char *uuid);

/* Reads the list at idx as n structures into a userdata, which is pushed. */
void *lpfm_list_read(lua_State *L, int idx, const struct lpfm_struct *rec, const char *call, int *n);
/*
 * Does what lpfm_list_read() does, but if the structures fit into small, which has room bytes, they
 * are stored there, and nothing is pushed.
 */
void *lpfm_list_read_small(lua_State *L, int idx, const struct lpfm_struct *rec, const char *call,
			   int *n, void *small, size_t room);
/*
 * The two steps of lpfm_list_read(): the first function checks the list at idx and returns its
 * length, the second reads n structures into the caller's memory, which must be zeroed.
 */
int lpfm_list_length(lua_State *L, int idx, const struct lpfm_struct *rec, const char *call);
void lpfm_list_fill(lua_State *L, int idx, const struct lpfm_struct *rec, const char *call,
		    void *base, int n);
/*
 * Returns how many elements a call that returned ret has processed. If it has failed, these are the
 * elements before the one that it has marked as bad; 0 if none is marked.
 */
int lpfm_list_done(const struct lpfm_struct *rec, const void *base, int n, int ret);
/* Pushes n structures as a list of tables. */
void lpfm_list_push(lua_State *L, const struct lpfm_struct *rec, const void *base, int n);

#endif
