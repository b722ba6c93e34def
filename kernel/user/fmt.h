/* SPDX-License-Identifier: MIT */
/* fmt.h - sampling formats of programs, for the machines in user space (3.5.8, 3.5.9). */
#ifndef PFM_USER_FMT_H
#define PFM_USER_FMT_H

#include "format.h"

/*
 * Both return 0, or -1 with the errno of pfm_register_buffer_fmt() or pfm_unregister_buffer_fmt().
 */
int pfm_add_format(pfm_buffer_fmt_t *fmt);
int pfm_remove_format(pfm_buffer_fmt_t *fmt);

/*
 * Returns the format with that name or, if name is NULL, with that UUID, and takes a reference to
 * it, which pfm_put_format() drops. Returns NULL if there is no such format.
 */
pfm_buffer_fmt_t *pfm_hold_format(const char *name, const unsigned char *uuid);
void pfm_put_format(pfm_buffer_fmt_t *fmt);

#endif
