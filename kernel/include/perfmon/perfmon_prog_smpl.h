/* SPDX-License-Identifier: MIT */
/*
 * perfmon_prog_smpl.h - the sampling format "program": a classic BPF program decides about each
 * overflow.
 *
 * The program gets a record of the overflow and returns a verdict, which keeps or drops the
 * sample, notifies the tool, masks monitoring, or increments a bucket of a histogram in the
 * buffer. Dropped or counted samples are never copied. Another format, the base, keeps samples
 * in a part of the buffer that has the layout of that format's own buffer, and that fills up and
 * is restarted like it.
 *
 * Programs are those of Linux' sockets and seccomp (struct sock_filter of linux/filter.h), with
 * other loads: only 32-bit words of the record, by their offset, in the byte order of the
 * processor (BPF_LD | BPF_W | BPF_ABS); BPF_LEN is the size of the record. Division by 0 returns
 * the verdict 0; shifts use the lower five bits.
 */
#ifndef PERFMON_PROG_SMPL_H
#define PERFMON_PROG_SMPL_H

#include "perfmon/perfmon_dfl_smpl.h"

#define PFM_PROG_SMPL_NAME	"program"
#define PFM_PROG_SMPL_UUID_OF(F) F(c6, 2f, 81, 0d, 5e, b3, 47, 9a, a1, 74, 3c, e8, 96, 1d, 52, fb)
#define PFM_PROG_SMPL_UUID	PFM_PROG_SMPL_UUID_OF(PFM_UUID_BYTES)
#define PFM_PROG_SMPL_VERSION	0x10000U

#define PFM_PROG_SMPL_MAX_INSNS	1024
#define PFM_PROG_SMPL_MAX_BUCKETS 0x100000
#define PFM_PROG_SMPL_VALUES	32	/* most PMDs of a sample in the record */

/* The format that keeps samples. */
enum {
	PFM_PROG_SMPL_NONE,	/* no format: kept samples are dropped */
	PFM_PROG_SMPL_DEFAULT,	/* pfm_dfl_smpl_arg_t */
	PFM_PROG_SMPL_NWAY,	/* pfm_nway_smpl_arg_t */
	PFM_PROG_SMPL_STACK,	/* pfm_stack_smpl_arg_t */
};

typedef struct {
	uint64_t	insns;		/* address of struct sock_filter[] */
	uint32_t	num_insns;	/* 1 to PFM_PROG_SMPL_MAX_INSNS */
	uint32_t	num_buckets;	/* 0 to PFM_PROG_SMPL_MAX_BUCKETS */
	uint32_t	base;		/* PFM_PROG_SMPL_NONE, ... */
	uint32_t	reserved1;
	uint64_t	reserved[5];
	uint64_t	base_arg[8];	/* the argument of the base; NONE: zeros */
} pfm_prog_smpl_arg_t;

/* The record of an overflow, which the program reads. */
typedef struct {
	uint64_t	ip;
	uint64_t	tstamp;		/* ns */
	uint32_t	pid;		/* process id */
	uint32_t	tid;		/* thread id */
	uint64_t	last_reset_val;	/* the value that the last reset loaded: minus the period */
	uint32_t	cpu;
	uint32_t	set;
	uint32_t	ovfl_pmd;
	uint32_t	num_values;	/* number of all PMDs that are sampled with it */
	uint64_t	values[PFM_PROG_SMPL_VALUES];	/* values, by ascending PMD; then 0 */
} pfm_prog_record_t;

/*
 * The verdict is a combination of these bits; others have no meaning. DROP: the PMDs that
 * overflowed are reset, and nothing else happens. NOTIFY: sends the message, if the PMD has
 * PFM_REGFL_OVFL_NOTIFY. MASK: masks monitoring until pfm_restart(). STOP: masks it until the
 * context is loaded again. BLOCK: blocks the thread as the default format does when the buffer
 * is full. BUCKET(n): increments bucket n, or hdr_outside if there is no such bucket.
 */
#define PFM_PROG_DROP		0x0U
#define PFM_PROG_KEEP		0x01000000U
#define PFM_PROG_NOTIFY		0x02000000U
#define PFM_PROG_MASK		0x04000000U
#define PFM_PROG_STOP		0x08000000U
#define PFM_PROG_BLOCK		0x10000000U
#define PFM_PROG_BUCKET(n)	(0x80000000U | ((n) & PFM_PROG_NO_BUCKET))
#define PFM_PROG_NO_BUCKET	0x00ffffffU

/* The buffer: this header, the buckets (uint64_t each), and the base's buffer at hdr_base_offs. */
typedef struct {
	uint64_t	hdr_runs;	/* overflows for which the program ran */
	uint64_t	hdr_kept;	/* overflows that were passed to the base */
	uint64_t	hdr_outside;	/* overflows counted outside of the buckets */
	uint64_t	hdr_base_offs;	/* bytes */
	uint64_t	hdr_buf_size;	/* bytes of the whole buffer */
	uint32_t	hdr_version;
	uint32_t	hdr_base;
	uint32_t	hdr_num_buckets;
	uint32_t	hdr_stopped;	/* 1: after the verdict STOP */
	uint64_t	hdr_reserved[9];
} pfm_prog_smpl_hdr_t;

#endif /* PERFMON_PROG_SMPL_H */
