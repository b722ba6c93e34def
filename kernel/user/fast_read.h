/* SPDX-License-Identifier: MIT */
/*
 * fast_read.h - reading counters by one system call: pfm_read_pmds() of a context that did nothing but count since
 * it was last read. Inside kernel/user; machines fill in struct pfm_fast_read.
 *
 * A command takes the context's lock, blocks signals for it and asks the kernel what the descriptor is. A fast
 * read does none of it. What it needs is published under the descriptor's number by the last complete read, and
 * withdrawn by whatever may change it: a command, a call-back of the service thread, the closing of the number.
 * The reader looks before and after whether it is still there, and else leaves the work to the complete read; it
 * holds nothing, so that a signal handler may interrupt it and call whatever it likes (5.7).
 *
 *	reader				writer: changes the context, or publishes another one
 *	  readers++      (A)		  withdraw: state = even   (C)
 *	  state odd?     (B)		  readers == 0?            (D)
 *	  read, state the same?		    yes: may close the counter, write the slot
 *	  readers--			    no: the last reader closes it; nothing is published
 *
 * A, B and C, D are sequentially consistent: the reader sees C, or the writer sees A.
 *
 * What closes the number is seen by interpose.c. A program that goes past it, by syscall(2), reads on until the last
 * duplicate is closed, a command is tried, or the number is another context's: to ask the kernel each time, as
 * is_still() does where the library sees no close at all, would cost half a read more.
 */
#ifndef PFM_USER_FAST_READ_H
#define PFM_USER_FAST_READ_H

#include "desc.h"

/* Does pfm_read_pmds() if a fast read is possible; false: nothing was done. */
bool pfm_fast_read(int fd, pfarg_pmd_t *v, int n);

/*
 * For the complete read of fd. A ticket is taken before the descriptor is looked up, so that
 * nothing is published under a number that was closed meanwhile. publish() is called with d's lock
 * held.
 */
struct pfm_fast_ticket {
	bool		good;
	unsigned int	closed;
};
struct pfm_fast_ticket pfm_fast_ticket(int fd);
void pfm_fast_publish(struct pfm_desc *d, int fd, struct pfm_fast_ticket ticket);
/* Called with d's lock held, before the context changes. */
void pfm_fast_withdraw(struct pfm_desc *d);
/* interpose.c calls these before and after any close of the numbers first to last. */
void pfm_fast_closing(unsigned int first, unsigned int last);
void pfm_fast_closed(unsigned int first, unsigned int last);
/*
 * note(): the number fd is the descriptor of a context. noted(): has it ever been one? Numbers
 * above 4095 are not noted. claim(): fd is d's descriptor, or no context's if d is NULL.
 */
void pfm_fast_note(int fd);
void pfm_fast_claim(const struct pfm_desc *d, int fd);
bool pfm_fast_noted(int fd);
/* Called in a child after fork, where nothing is published and no read is in progress. */
void pfm_fast_forget(void);

#endif
