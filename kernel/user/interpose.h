/* SPDX-License-Identifier: MIT */
/*
 * interpose.h - what the program does with descriptors, as its calls to libc show. Inside
 * kernel/user.
 */
#ifndef PFM_USER_INTERPOSE_H
#define PFM_USER_INTERPOSE_H

#include <stdbool.h>

/*
 * Returns true if the program's calls that close descriptors pass here. They do if it is linked
 * with this library.
 */
bool pfm_sees_closes(void);

/*
 * Calls fn before the numbers first to last are closed, whatever they are. It is for one library of
 * this project that maps views of contexts, and is called once.
 */
void pfm_on_closing(void (*fn)(unsigned int first, unsigned int last));

#endif
