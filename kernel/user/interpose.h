/* SPDX-License-Identifier: MIT */
/* interpose.h - what the program does with descriptors on its own, seen on its way to libc. Inside kernel/user. */
#ifndef PFM_USER_INTERPOSE_H
#define PFM_USER_INTERPOSE_H

#include <stdbool.h>

/* Does what the program calls to close descriptors pass here? It does where it is linked with this library. */
bool pfm_sees_closes(void);

/*
 * Before the numbers first to last are closed, whatever they are, fn is called; for a library of ours that has views
 * mapped of what may be closed there. One such library, once.
 */
void pfm_on_closing(void (*fn)(unsigned int first, unsigned int last));

#endif
