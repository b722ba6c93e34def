/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The core's basic types in user space; kernel/linux has the kernel's. See core/os.h. */
#ifndef PFM_OS_TYPES_H
#define PFM_OS_TYPES_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define pfm_os_index(i, n)	(i)

#endif
