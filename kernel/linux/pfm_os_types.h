/* SPDX-License-Identifier: GPL-2.0 */
/* The core's basic types in the kernel; kernel/user has those of user space. See core/os.h. */
#ifndef PFM_OS_TYPES_H
#define PFM_OS_TYPES_H

#include <linux/errno.h>
#include <linux/nospec.h>
#include <linux/string.h>
#include <linux/types.h>

#define pfm_os_index(i, n)	array_index_nospec(i, n)

#endif
