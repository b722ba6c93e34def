/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * os.h - what the core needs of the world it runs in, besides a machine (machine.h).
 *
 * pfm_os_types.h is found by include path (kernel/user or kernel/linux) and brings the fixed-width
 * integers, bool, size_t, memcpy, memmove and memset, the errno constants, and two things for what others
 * change, read or may know meanwhile; nothing else:
 *   READ_ONCE(x), WRITE_ONCE(x, v)	one access, untorn, of what others use without the same lock
 *   smp_load_acquire(p), smp_store_release(p, v)	the same; what was written before is seen after
 *   pfm_os_index(i, n)			i, which was found to be below n: also where the processor
 *					speculates that it is, and it is not
 *   pfm_os_wmb()			what is stored before is seen before what is stored after
 *   pfm_os_take(p)			makes *p, 32 bits, 1: true if it was 0; smp_store_release(p, 0) gives back
 */
#ifndef PFM_CORE_OS_H
#define PFM_CORE_OS_H

#include "pfm_os_types.h"

/*
 * pfm_os_types.h also has pfm_os_index(i, n), for an index i from an untrusted caller that was found to be below n: its
 * result is below n even where the processor speculates past that check (Spectre v1).
 */

/* Zeroed memory, or NULL. May sleep; never called from an overflow or with a machine's locks held. */
void *pfm_os_alloc(size_t size);
void pfm_os_free(void *p);		/* NULL is fine */

/* Serializes what is global: the list of formats, a machine's list of sessions and its limits. */
void pfm_os_lock(void);
void pfm_os_unlock(void);

/*
 * Records, for the calling thread, why a call fails, and returns err. Every error of the core
 * passes here: pfm_refuse(-EINVAL, "PMC%u is not available", num). printf's %u %d %x %s %llu only.
 * May be called anywhere, overflows included.
 */
int pfm_refuse(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
