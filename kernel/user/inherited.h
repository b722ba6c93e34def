/* SPDX-License-Identifier: MIT */
/*
 * inherited.h - which children of fork() still have a context's descriptor (3.3.6). Inside
 * kernel/user. The descriptors of a thread that has ended cannot be determined any more. So a child
 * that continues with this library notes for its parent, in shared memory, that it exists and which
 * descriptors it has closed.
 */
#ifndef PFM_USER_INHERITED_H
#define PFM_USER_INHERITED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Returns the number of a new context, with which children note it; 0: no machine needs their
 * notes.
 */
uint32_t pfm_inherited_serial(void);

/* A context of the parent in the child's list. */
struct pfm_inherited {
	ino_t			ino;
	uint32_t		serial;
	bool			open;	/* state at the last check */
	struct pfm_inherited	*next;
};

/*
 * Called in a child after fork: inherit() for each context of the parent, with memory that stays
 * valid, then register() once. Nothing is allocated, because the program's allocator may not handle
 * forks, and may hold a lock that no thread of the child will release.
 */
void pfm_inherited_inherit(struct pfm_inherited *i, ino_t ino, uint32_t serial);
void pfm_inherited_register(void);

/*
 * These enclose a close. concerns() returns true if fd may be the descriptor of a parent's context.
 * If so, all of them are checked after the close.
 */
bool pfm_inherited_concerns(int fd);
bool pfm_inherited_any(void);
void pfm_inherited_look(void);

/*
 * Returns true if the process has the descriptor by its notes and, while the process exists, really
 * has it: another process may have had its id.
 */
bool pfm_inherited_holds(uint32_t pid, uint32_t serial);
bool pfm_inherited_has_open(uint32_t pid, ino_t ino);

#endif
