/* SPDX-License-Identifier: GPL-2.0 */
/* The core's basic types in the kernel; kernel/user has those of user space. See core/os.h. */
#ifndef PFM_OS_TYPES_H
#define PFM_OS_TYPES_H

#include <asm/barrier.h>
#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/errno.h>
/* before Linux 6.2 nospec.h needs this header without including it */
#include <linux/build_bug.h>
#include <linux/nospec.h>
#include <linux/string.h>
#include <linux/types.h>

#define pfm_os_index(i, n)	array_index_nospec(i, n)
/* a comment at each use names the reader's barrier with which it pairs */
#define pfm_os_wmb()		smp_wmb()
#define pfm_os_take(p)		(!xchg_acquire(p, 1))

#endif
