/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * pfm_os_types.h - the basic types of the core in user space; kernel/linux has those for the
 * kernel. core/os.h says what they must provide.
 */
#ifndef PFM_OS_TYPES_H
#define PFM_OS_TYPES_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v)	__atomic_store_n(&(x), (v), __ATOMIC_RELAXED)
#define smp_load_acquire(p)	__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define smp_store_release(p, v)	__atomic_store_n(p, v, __ATOMIC_RELEASE)

/*
 * The index is not protected against speculation, unlike in the kernel: in the program's own
 * process, speculation can reveal only the program's own data.
 */
#define pfm_os_index(i, n)	(i)

#define pfm_os_wmb()		__atomic_thread_fence(__ATOMIC_RELEASE)
#define pfm_os_take(p)		(!__atomic_exchange_n(p, 1, __ATOMIC_ACQUIRE))

#endif
