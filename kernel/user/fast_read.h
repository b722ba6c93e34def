/* SPDX-License-Identifier: MIT */
/*
 * fast_read.h - reads counters by one system call, in a pfm_read_pmds() of a context that did
 * nothing but count since it was last read. Machines fill in struct pfm_fast_read.
 *
 * A complete read, like every command, takes the context's lock, blocks signals for that, and asks
 * the kernel what the descriptor is. A fast read does none of this. The last complete read has
 * published what a fast read needs in a slot for the descriptor's number. Whatever may change the
 * context withdraws the slot: a command, a service thread's call-back, a close of the number. The
 * reader looks before and after its read whether the slot is still published; if it is not, the
 * complete read does the work. The reader holds no lock, so that a signal handler may interrupt it
 * and make any call (5.7).
 *
 *	reader				writer: changes the context, or publishes another one
 *	  readers++      (A)		  withdraw: state = even   (C)
 *	  state odd?     (B)		  readers == 0?            (D)
 *	  read, state the same?		    yes: may close the counter, write the slot
 *	  readers--			    no: the last reader closes it; nothing is published
 *
 * A, B and C, D are sequentially consistent: the reader sees C, or the writer sees A.
 *
 * interpose.c sees the closes that a program makes through libc, and withdraws. If the program
 * closes a number by syscall(2), fast reads of the number go on until the last duplicate is closed,
 * a command on the number is tried, or the number is that of another context. If interpose.c sees
 * no closes at all, is_still() asks the kernel at each read. That is not always done, because a
 * read would take one and a half times as long.
 */
#ifndef PFM_USER_FAST_READ_H
#define PFM_USER_FAST_READ_H

#include "desc.h"

/*
 * Does the work of pfm_read_pmds() and returns true if a fast read is possible. Returns false, and
 * does nothing, if it is not.
 */
bool pfm_fast_read(int fd, pfarg_pmd_t *v, int n);

/*
 * pfm_read_pmds() calls these functions when a fast read was not possible. It gets a ticket before
 * it looks up the descriptor d of the number fd, and calls pfm_fast_publish() after its read, with
 * d's lock held. If fd has been closed since it got the ticket, the slot does not stay published.
 */
struct pfm_fast_ticket {
	bool		good;
	unsigned int	closed;
};
struct pfm_fast_ticket pfm_fast_ticket(int fd);
void pfm_fast_publish(struct pfm_desc *d, int fd, struct pfm_fast_ticket ticket);
/*
 * Makes fast reads of d's context impossible until the next complete read. Called with d's lock
 * held, before the context changes.
 */
void pfm_fast_withdraw(struct pfm_desc *d);
/* interpose.c calls these before and after any close of the numbers first to last. */
void pfm_fast_closing(unsigned int first, unsigned int last);
void pfm_fast_closed(unsigned int first, unsigned int last);
/*
 * pfm_fast_note() notes that the number fd is the descriptor of a context. pfm_fast_noted() returns
 * true if it ever was one. Numbers above 4095 are not noted: each of them may be one.
 * pfm_fast_claim() is called when fd has been found to be d's descriptor or, if d is NULL, to be no
 * context's descriptor.
 */
void pfm_fast_note(int fd);
void pfm_fast_claim(const struct pfm_desc *d, int fd);
bool pfm_fast_noted(int fd);
/* Called in a child after fork, where nothing is published and no read is in progress. */
void pfm_fast_forget(void);

#endif
