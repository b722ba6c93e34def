/* SPDX-License-Identifier: MIT */
/*
 * perfmon_dfl_smpl.h - the default sampling format, in its two layouts.
 *
 * The name "default" (or its UUID) selects the layout of perfmon2 2.x, and PFM_DEFAULT_SMPL_UUID
 * that of the specification, section 3.6. Both behave alike.
 */
#ifndef PERFMON_DFL_SMPL_H
#define PERFMON_DFL_SMPL_H

/*
 * Programs for 2.x expect perfmon.h from this file; it conflicts with perfmonctl.h, which they
 * include first if at all.
 */
#ifndef PERFMON_PERFMONCTL_H
#include "perfmon/perfmon.h"
#endif
#include "perfmon/uuid.h"

/* --- the layout of 2.x ---------------------------------------------------------------------- */

#define PFM_DFL_SMPL_NAME	"default"
#define PFM_DFL_SMPL_UUID_OF(F)	F(d1, 39, b2, 9e, 62, e8, 40, e4, b4, 02, 73, 07, 87, 92, e9, 37)
#define PFM_DFL_SMPL_UUID	PFM_DFL_SMPL_UUID_OF(PFM_UUID_BYTES)
#define PFM_DFL_SMPL_VERSION	0x10000U

#define PFM_DFL_SMPL_NO_HDR	0x1U	/* samples consist of their PMD values only */
#define PFM_DFL_SMPL_IIP_HDR	0x2U	/* the header consists of the instruction pointer only */

typedef struct {
	uint64_t	buf_size;	/* bytes, header included */
	uint32_t	buf_flags;
	uint32_t	reserved1;
	uint64_t	reserved[6];
} pfm_dfl_smpl_arg_t;

typedef struct {
	uint64_t	hdr_count;	/* samples since the last restart */
	uint64_t	hdr_cur_offs;	/* offset of the first byte after the last sample */
	uint64_t	hdr_overflows;	/* times the buffer was full */
	uint64_t	hdr_buf_size;	/* bytes */
	uint64_t	hdr_min_buf_space;	/* largest sample: full when less is left */
	uint32_t	hdr_version;
	uint32_t	hdr_buf_flags;
	uint64_t	hdr_reserved[10];
} pfm_dfl_smpl_hdr_t;

typedef struct {
	uint32_t	pid;		/* thread id (2.x calls it pid) */
	uint16_t	ovfl_pmd;
	uint16_t	reserved;
	uint64_t	last_reset_val;
	uint64_t	ip;
	uint64_t	tstamp;		/* ns */
	uint16_t	cpu;
	uint16_t	set;
	uint32_t	tgid;		/* process id */
} pfm_dfl_smpl_entry_t;

/* --- the layout of section 3.6 -------------------------------------------------------------- */

#define PFM_DEFAULT_SMPL_NAME	"default-0.6"
#define PFM_DEFAULT_SMPL_UUID_OF(F) F(4d, 72, be, c0, 06, 64, 41, 43, 82, b4, d3, fd, 27, 24, 3c, 97)
#define PFM_DEFAULT_SMPL_UUID	PFM_DEFAULT_SMPL_UUID_OF(PFM_UUID_BYTES)
#define PFM_DEFAULT_SMPL_VERSION 0x20000U

typedef struct {
	size_t		buf_size;
	uint32_t	buf_flags;
} pfm_default_smpl_arg_t;

typedef struct {
	size_t		hdr_count;
	size_t		hdr_cur_offs;
	uint64_t	hdr_overflows;
	size_t		hdr_buf_size;
	uint32_t	hdr_version;
	uint32_t	hdr_flags;
} pfm_default_smpl_hdr_t;

typedef struct {
	int32_t		pid;
	int32_t		tid;
	uint16_t	ovfl_pmd;
	uint16_t	set;
	uint16_t	cpu;
	uint64_t	last_reset_val;
	uint64_t	tstamp;
	unsigned long	ip;
} pfm_default_smpl_entry_t;

#endif /* PERFMON_DFL_SMPL_H */
