/* SPDX-License-Identifier: MIT */
/* known.c - the sampling formats of which this module can read the buffers. */
#include <string.h>

#include "base/module.h"
#include "format/known.h"
#include "perfmon/perfmon_nway_smpl.h"
#include "perfmon/perfmon_prog_smpl.h"
#include "perfmon/perfmon_stack_smpl.h"

static const struct {
	enum lpfm_format	format;
	const char		*name;
	pfm_uuid_t		uuid;
} formats[] = {
	{ LPFM_DFL_2X, PFM_DFL_SMPL_NAME, PFM_DFL_SMPL_UUID },
	{ LPFM_DFL_06, PFM_DEFAULT_SMPL_NAME, PFM_DEFAULT_SMPL_UUID },
	{ LPFM_NWAY, PFM_NWAY_SMPL_NAME, PFM_NWAY_SMPL_UUID },
	{ LPFM_STACK, PFM_STACK_SMPL_NAME, PFM_STACK_SMPL_UUID },
	{ LPFM_PROGRAM, PFM_PROG_SMPL_NAME, PFM_PROG_SMPL_UUID },
};

enum lpfm_format lpfm_format_kind(const char *name, const unsigned char *uuid)
{
	for (size_t i = 0; i < LPFM_COUNT(formats); i++)
		if (name ? !strcmp(name, formats[i].name) :
		    !memcmp(uuid, formats[i].uuid, sizeof(pfm_uuid_t)))
			return formats[i].format;
	return LPFM_RAW_BUFFER;
}
