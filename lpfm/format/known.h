/* SPDX-License-Identifier: MIT */
/* known.h - the sampling formats of which this module can read the buffers. */
#ifndef LPFM_KNOWN_H
#define LPFM_KNOWN_H

#include "ffi/objects.h"

/*
 * Returns which layout a format's buffer has. The format is given by its name or, if that is NULL,
 * by its UUID.
 */
enum lpfm_format lpfm_format_kind(const char *name, const unsigned char *uuid);

#endif
