/* SPDX-License-Identifier: (GPL-2.0 OR MIT) */
/*
 * perfmon_ioctl.h - how libperfmon speaks to perfmon.ko. It is private to the two: programs call
 * the functions of perfmon.h.
 *
 * An ioctl on /dev/perfmon creates a context and returns its descriptor. Calls that need no context
 * can be made on that descriptor or on one of /dev/perfmon. A call with a vector has the number of
 * elements in the size field of the ioctl's command, so that nothing but the vector is copied.
 */
#ifndef PERFMON_IOCTL_H
#define PERFMON_IOCTL_H

#include <linux/ioctl.h>
#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdint.h>
#endif

#define PFM_DEVICE	"/dev/perfmon"
#define PFM_IOC_MAGIC	0xb7
#define PFM_IOC_ABI	1U		/* incremented when anything in this file changes */
#define PFM_IOC_MAX_N	_IOC_SIZEMASK	/* most elements that a vector can have */

enum pfm_ioc_nr {
	/* These ioctls are made on a context's descriptor. Their argument is the vector. */
	PFM_NR_WRITE_PMCS,
	PFM_NR_WRITE_PMDS,
	PFM_NR_READ_PMDS,
	PFM_NR_CREATE_EVTSETS,
	PFM_NR_GETINFO_EVTSETS,
	PFM_NR_DELETE_EVTSETS,
	/*
	 * These ioctls are made on a context's descriptor. Their argument is one structure, or
	 * none; NULL is allowed for START.
	 */
	PFM_NR_LOAD_CONTEXT,
	PFM_NR_START,
	PFM_NR_STOP,
	PFM_NR_RESTART,
	PFM_NR_UNLOAD_CONTEXT,
	PFM_NR_IS_LOADED,		/* returns 0 or 1 */
	/* the argument points to a uint64_t, which receives the size */
	PFM_NR_BUFFER_SIZE,
	/*
	 * These are made on a context's descriptor or on the device. Their argument is the vector.
	 */
	PFM_NR_GETINFO_PMCS,
	PFM_NR_GETINFO_PMDS,
	PFM_NR_GETINFO_FMTS,		/* returns how many formats there are */
	/*
	 * These are made on a context's descriptor or the device. Their argument is one structure.
	 */
	PFM_NR_GET_CONFIG,
	PFM_NR_SET_CONFIG,
	/* struct pfm_ioc_why receives the reason of the caller's last failure */
	PFM_NR_EXPLAIN,
	PFM_NR_ABI,			/* returns PFM_IOC_ABI */
	/* This ioctl is made on the device. */
	PFM_NR_CREATE_CONTEXT,		/* struct pfm_ioc_create */
};

#define PFM_IOC(nr, n)	_IOC(_IOC_READ | _IOC_WRITE, PFM_IOC_MAGIC, (nr), (n))

/* if set, fmt_name names the format; otherwise the UUID in the context does */
#define PFM_IOC_BY_NAME	0x1U

struct pfm_ioc_create {
	uint64_t	ctx;		/* pfarg_ctx_t *, which is read and written */
	uint64_t	fmt_arg;	/* address of the format's argument */
	/* size of the format's argument; ~0: the size that the format declares */
	uint64_t	arg_size;
	uint32_t	flags;
	char		fmt_name[36];
};

struct pfm_ioc_why {
	char		text[256];
};

#endif
