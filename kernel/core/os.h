/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * os.h - the functions that the core needs of its environment, apart from a machine (machine.h).
 *
 * pfm_os_types.h is found by the include path (in kernel/user or kernel/linux). It provides the
 * fixed-width integers, bool, size_t, memcpy, memmove and memset, the errno constants, and the
 * following for data that other threads or interrupts access at the same time. The core uses
 * nothing else for this.
 *
 *   READ_ONCE(x), WRITE_ONCE(x, v)	access x once, untorn, without a lock
 *   smp_load_acquire(p), smp_store_release(p, v)	as in the kernel
 *   pfm_os_index(i, n)			returns i, which was checked to be below n
 *   pfm_os_wmb()			orders the stores before it before those after it
 *   pfm_os_take(p)			sets the 32-bit word *p to 1, and returns true if it was 0;
 *					smp_store_release(p, 0) undoes that
 */
#ifndef PFM_CORE_OS_H
#define PFM_CORE_OS_H

#include "pfm_os_types.h"

/*
 * In the kernel, pfm_os_index(i, n) is below n even if the processor speculates past the check of
 * an index from an untrusted caller (Spectre v1). In user space it is i.
 */

/*
 * Returns zeroed memory, or NULL. May sleep; it is never called in an overflow or with a machine's
 * locks held.
 */
void *pfm_os_alloc(size_t size);
void pfm_os_free(void *p);		/* p may be NULL */

/*
 * Serializes access to global data: the list of formats, a machine's list of sessions and its
 * limits.
 */
void pfm_os_lock(void);
void pfm_os_unlock(void);

/*
 * Records, for the calling thread, why a call fails, and returns err. Every error of the core is
 * reported through it, as in pfm_refuse(-EINVAL, "PMC%u is not available", num). Of printf's
 * conversions only %u %d %x %s %llu work. May be called anywhere, even in overflows.
 */
int pfm_refuse(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
