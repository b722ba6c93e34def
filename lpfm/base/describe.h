/* SPDX-License-Identifier: MIT */
/* describe.h - short words for tables of struct lpfm_field; of .c files alone. */
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

/* plain: a number may stand for the first field. The PFM_REG_RETFL_* bits come in the field marks. */
#define STRUCT(name, type, plain, fields) \
	const struct lpfm_struct name = { sizeof(type), -1, plain, fields }
#define MARKED_STRUCT(name, type, marks, plain, fields) \
	const struct lpfm_struct name = { sizeof(type), offsetof(type, marks), plain, fields }

#endif
