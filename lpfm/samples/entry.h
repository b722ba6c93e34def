/* SPDX-License-Identifier: MIT */
/*
 * entry.h - the fields of a sample's header in the default format, with their names and places
 * (3.6.4).
 *
 * lpfm_smpl_names is the only table of them, for live buffers and for recorded ones. Samples of
 * n-way are those of 2.x.
 */
#ifndef LPFM_ENTRY_H
#define LPFM_ENTRY_H

#include "base/module.h"
#include "ffi/objects.h"

enum lpfm_smpl_field {
	LPFM_SMPL_IP, LPFM_SMPL_TID, LPFM_SMPL_PID, LPFM_SMPL_CPU, LPFM_SMPL_TSTAMP, LPFM_SMPL_SET,
	LPFM_SMPL_OVFL_PMD, LPFM_SMPL_LAST_RESET, LPFM_SMPL_FIELDS
};

/* How a sample begins. */
enum lpfm_entry {
	LPFM_ENTRY_2X,		/* pfm_dfl_smpl_entry_t */
	LPFM_ENTRY_06,		/* pfm_default_smpl_entry_t, of section 3.6 */
	LPFM_ENTRY_IIP,		/* with IIP_HDR: only the instruction pointer */
	LPFM_ENTRY_NONE,	/* with NO_HDR: nothing */
	LPFM_ENTRY_STACK,	/* pfm_stack_smpl_sample_t */
	LPFM_ENTRIES
};

/* The place of a field in a sample; width 0: such samples do not have the field. */
struct lpfm_place {
	uint8_t	offset, width;		/* in bytes */
};

struct lpfm_smpl_name {
	const char		*name;
	const char		*also;		/* an alternative name, or NULL */
	struct lpfm_place	at[LPFM_ENTRIES];
};

extern const struct lpfm_smpl_name lpfm_smpl_names[LPFM_SMPL_FIELDS];
/* Pushes and returns a list of the names, for messages. */
const char *lpfm_smpl_names_text(lua_State *L);

/* Returns the field with that name, or LPFM_SMPL_FIELDS. */
enum lpfm_smpl_field lpfm_smpl_field(const char *name);

enum lpfm_entry lpfm_entry_of(const struct lpfm_context *ctx);
/* Returns the size in bytes of what a sample begins with. */
uint8_t lpfm_entry_size(enum lpfm_entry entry);

#endif
