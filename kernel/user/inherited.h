/* SPDX-License-Identifier: MIT */
/*
 * inherited.h - which children of fork() still have a context's descriptor (3.3.6). Inside kernel/user.
 *
 * The descriptors of a thread that has ended cannot be found out any more. So a child that runs on with this library
 * notes for its parent, in shared memory, that it exists and which descriptors it has closed since.
 */
#ifndef PFM_USER_INHERITED_H
#define PFM_USER_INHERITED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A context is made: its number, by which children note it; 0: no machine wants them to. */
uint32_t pfm_inherited_serial(void);

/* A context of the parent's, in the child's list of them. */
struct pfm_inherited {
	ino_t			ino;
	uint32_t		serial;
	bool			open;	/* when last looked for */
	struct pfm_inherited	*next;
};

/*
 * In a child after fork, for each context of the parent's, with memory that stays; then once. Nothing is allocated:
 * the program's allocator may not mind forks, and hold a lock that no thread of the child's releases.
 */
void pfm_inherited_inherit(struct pfm_inherited *i, ino_t ino, uint32_t serial);
void pfm_inherited_register(void);

/* Around a close: may the descriptor be of a parent's context? If so, all are checked after the close. */
bool pfm_inherited_concerns(int fd);
bool pfm_inherited_any(void);
void pfm_inherited_look(void);

/* Has the process the descriptor, by its notes? And in truth, while it is there: its number may have been another's. */
bool pfm_inherited_holds(uint32_t pid, uint32_t serial);
bool pfm_inherited_has_open(uint32_t pid, ino_t ino);

#endif
