/* SPDX-License-Identifier: MIT */
/*
 * perfmon_prog_smpl.h - the sampling format "program": a classic BPF program decides at each overflow.
 *
 * The program runs over a record of the overflow and returns a verdict: the sample is kept or dropped, the tool
 * notified, monitoring masked, or a bucket of a histogram in the buffer is incremented. What is dropped or counted is
 * never copied. Samples are kept by another format, the base, in a part of the buffer that is as that format alone
 * would have it; it fills and is restarted as the base's own.
 *
 * Programs are those of Linux' sockets and seccomp (struct sock_filter of linux/filter.h), but for what loads: only
 * 32-bit words of the record, by their offset, in the byte order of the processor (BPF_LD | BPF_W | BPF_ABS);
 * BPF_LEN is the size of the record. Division by 0 returns the verdict 0; shifts go by the lower five bits.
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
#define PFM_PROG_SMPL_VALUES	32	/* PMDs of a sample that a program can see */

/* The base. */
enum {
	PFM_PROG_SMPL_NONE,	/* no samples: what is kept, is dropped */
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

/* What a program sees of an overflow. */
typedef struct {
	uint64_t	ip;
	uint64_t	tstamp;		/* ns */
	uint32_t	pid;		/* process */
	uint32_t	tid;		/* thread */
	uint64_t	last_reset_val;	/* what the PMD was last set to: the period, negated */
	uint32_t	cpu;
	uint32_t	set;
	uint32_t	ovfl_pmd;
	uint32_t	num_values;	/* PMDs that are sampled with it, all of them */
	uint64_t	values[PFM_PROG_SMPL_VALUES];	/* theirs, by ascending PMD; 0 where there are no more */
} pfm_prog_record_t;

/*
 * The verdict: any of these together, other bits mean nothing. DROP: the PMDs that overflowed are reset, and that is
 * all. NOTIFY: the message is sent, if the PMD has PFM_REGFL_OVFL_NOTIFY. MASK: until pfm_restart(). STOP: as MASK, but
 * a restart does not end it; the context is loaded anew for that. BLOCK: as the default format does it when the
 * buffer is full. BUCKET(n): bucket n is incremented; where there is none, hdr_outside.
 */
#define PFM_PROG_DROP		0x0U
#define PFM_PROG_KEEP		0x01000000U
#define PFM_PROG_NOTIFY		0x02000000U
#define PFM_PROG_MASK		0x04000000U
#define PFM_PROG_STOP		0x08000000U
#define PFM_PROG_BLOCK		0x10000000U
#define PFM_PROG_BUCKET(n)	(0x80000000U | ((n) & PFM_PROG_NO_BUCKET))
#define PFM_PROG_NO_BUCKET	0x00ffffffU

/* The buffer: this, the buckets (uint64_t each), and from hdr_base_offs on the buffer of the base. */
typedef struct {
	uint64_t	hdr_runs;	/* overflows that the program judged */
	uint64_t	hdr_kept;	/* of these: handed to the base */
	uint64_t	hdr_outside;	/* of these: counted in a bucket that is not there */
	uint64_t	hdr_base_offs;	/* bytes */
	uint64_t	hdr_buf_size;	/* bytes, of all */
	uint32_t	hdr_version;
	uint32_t	hdr_base;
	uint32_t	hdr_num_buckets;
	uint32_t	hdr_stopped;	/* 1: a verdict was STOP, and holds */
	uint64_t	hdr_reserved[9];
} pfm_prog_smpl_hdr_t;

#endif /* PERFMON_PROG_SMPL_H */
