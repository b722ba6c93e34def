/* SPDX-License-Identifier: MIT */
/* describe.h - macros for tables of struct lpfm_field; included by .c files only. */
#ifndef LPFM_DESCRIBE_H
#define LPFM_DESCRIBE_H

#include "base/structs.h"

#define FIELD(type, member, name, kind, dir, ...) \
	{ name, LPFM_##kind, dir, offsetof(type, member), __VA_ARGS__ }
#define IN	LPFM_IN
#define OUT	LPFM_OUT
#define INOUT	(LPFM_IN | LPFM_OUT)
#define NEED	(LPFM_IN | LPFM_OUT | LPFM_NEED)
#define END	{ NULL, 0, 0, 0, NULL, 0 }

/*
 * STRUCT() defines the description of a structure; its last arguments are the fields. If plain is
 * true, a number, the value of the first field, may be given instead of a table. MARKED_STRUCT() is
 * for structures with PFM_REG_RETFL_* bits in the member "marks".
 */
#define FIELDS(...) (const struct lpfm_field[]){ __VA_ARGS__, END }
#define STRUCT(name, type, plain, ...) \
	const struct lpfm_struct name = { sizeof(type), -1, plain, FIELDS(__VA_ARGS__) }
#define MARKED_STRUCT(name, type, marks, plain, ...) \
	const struct lpfm_struct name = { sizeof(type), offsetof(type, marks), plain, FIELDS(__VA_ARGS__) }

#endif
