/* SPDX-License-Identifier: MIT */
/*
 * inherited.h - tells which children of fork() still have a context's descriptor (3.3.6). Inside
 * kernel/user. When a thread has ended, the kernel does not tell any more which descriptors it had.
 * So a child in which this library runs notes for its parent, in shared memory, that it exists and
 * which descriptors it has closed.
 */
#ifndef PFM_USER_INHERITED_H
#define PFM_USER_INHERITED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Returns the serial of a new context, by which children of fork() note it, or 0 if no machine
 * needs their notes.
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
 * These enclose a close. pfm_inherited_concerns() returns true if fd is the descriptor of a context
 * of the parent; pfm_inherited_any() returns true if there are any such contexts. If so,
 * pfm_inherited_look() must be called after the close: it notes which of these descriptors are not
 * open any more.
 */
bool pfm_inherited_concerns(int fd);
bool pfm_inherited_any(void);
void pfm_inherited_look(void);

/*
 * holds() returns true if the process has noted that it has the descriptor, and not that it has
 * closed it. The note may be that of an earlier process with the same id. has_open() returns true
 * if the process, which must exist, really has the descriptor.
 */
bool pfm_inherited_holds(uint32_t pid, uint32_t serial);
bool pfm_inherited_has_open(uint32_t pid, ino_t ino);

#endif
