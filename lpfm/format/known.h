/* SPDX-License-Identifier: MIT */
/* known.h - the sampling formats with buffer layouts that this module can read. */
#ifndef LPFM_KNOWN_H
#define LPFM_KNOWN_H

#include "ffi/objects.h"

/* What a format leaves in the buffer, by its name or, where that is NULL, its UUID. */
enum lpfm_format lpfm_format_kind(const char *name, const unsigned char *uuid);

#endif
