/* SPDX-License-Identifier: MIT */
/*
 * inherited.h - finds out which children of fork() still have a context's descriptor (3.3.6). When
 * a thread has ended, the kernel does not show any more which descriptors it had. So a child in
 * which this library runs notes for its parent, in shared memory, that it exists and which
 * descriptors it has closed.
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

/* An entry in a child's list of the contexts of its parent. */
struct pfm_inherited {
	ino_t			ino;
	uint32_t		serial;	/* 0: its closes are not noted */
	unsigned int		message;	/* size of a message */
	bool			open;	/* state at the last check */
	struct pfm_inherited	*next;
};

/*
 * Called in a child after fork: inherit() for each context of the parent, with memory that stays
 * valid, then register() once. Nothing is allocated, because the program's allocator may not handle
 * forks, and may hold a lock that no thread of the child will release.
 */
void pfm_inherited_inherit(struct pfm_inherited *i);
void pfm_inherited_register(void);

/*
 * These enclose an exec by the child: another program cannot use the contexts, whichever thread
 * has called exec. The second is called if the exec has failed.
 */
void pfm_inherited_before_exec(void);
void pfm_inherited_after_exec(void);

/* Returns the size of a message if fd is the descriptor of a context of the parent, or else 0. */
unsigned int pfm_inherited_message(int fd);

/*
 * These enclose a close. pfm_inherited_concerns() returns true if fd is the descriptor of a context
 * of the parent, and closes of it are noted; pfm_inherited_any() returns true if there may be any
 * such context. If so, pfm_inherited_look() must be called after the close: it notes which of these
 * descriptors are not open any more.
 */
bool pfm_inherited_concerns(int fd);
bool pfm_inherited_any(void);
void pfm_inherited_look(void);

/*
 * holds() returns true if the process has noted that it has the descriptor, and not that it has
 * closed it. The note may be that of an earlier process with the same id, and that of a child which
 * has just been forked may still be missing. forked() and number() are for a process that must
 * exist: forked() returns true if it still runs the program that forked it, and number() returns
 * the number under which it has the descriptor, or -1.
 */
bool pfm_inherited_holds(uint32_t pid, uint32_t serial);
bool pfm_inherited_forked(uint32_t pid);
int pfm_inherited_number(uint32_t pid, ino_t ino);

#endif
