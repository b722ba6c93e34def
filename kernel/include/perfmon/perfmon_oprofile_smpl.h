/* SPDX-License-Identifier: MIT */
/*
 * perfmon_oprofile_smpl.h - a sampling format with a buffer like OProfile's: for each CPU a ring
 * of 64-bit words.
 *
 * A sample is two words: the address and the PMD that overflowed. If the CPU, the thread and
 * process, or the level has changed since the last sample, the changes come before it, each
 * after PFM_OPROFILE_ESCAPE:
 *
 *	ESCAPE, CPU_SWITCH, cpu
 *	ESCAPE, CTX_SWITCH, tid, 0, ESCAPE, CTX_TGID, pid	(0: OProfile's cookie)
 *	ESCAPE, KERNEL_ENTER or USER_ENTER
 *
 * Word n of a CPU, counted from 0, is at hdr_offs + (cpu * hdr_words + n % hdr_words) * 8. When
 * hdr_watermark words of a CPU are unread, a notification is sent, and monitoring continues. The
 * tool reads the words from tail to told, which begin with all three changes, and gives them
 * back with pfm_restart(); at the end of a session it reads up to head. Samples for which there
 * is no room are lost, and counted.
 */
#ifndef PERFMON_OPROFILE_SMPL_H
#define PERFMON_OPROFILE_SMPL_H

#include "perfmon/perfmon.h"
#include "perfmon/uuid.h"

#define PFM_OPROFILE_SMPL_NAME	"oprofile"
#define PFM_OPROFILE_SMPL_UUID_OF(F) F(77, 7a, 6e, 61, 20, 65, 4a, 94, 8d, 4f, c0, b5, 2e, 19, f3, 5d)
#define PFM_OPROFILE_SMPL_UUID	PFM_OPROFILE_SMPL_UUID_OF(PFM_UUID_BYTES)
#define PFM_OPROFILE_SMPL_VERSION 0x10000U

#define PFM_OPROFILE_MAX_CPUS	64

#define PFM_OPROFILE_ESCAPE	0xffffffffffffffffULL
#define PFM_OPROFILE_CTX_SWITCH	1
#define PFM_OPROFILE_CPU_SWITCH	2
#define PFM_OPROFILE_KERNEL_ENTER 4
#define PFM_OPROFILE_USER_ENTER	5
#define PFM_OPROFILE_CTX_TGID	7

#define PFM_OPROFILE_MAX_SAMPLE	14	/* words of a sample with all changes */

typedef struct {
	uint64_t	buf_size;	/* bytes of the whole buffer */
	uint32_t	num_cpus;	/* sampled CPUs, from 0; 1 .. PFM_OPROFILE_MAX_CPUS */
	uint32_t	watermark;	/* unread words of a CPU that notify; 0: half of all */
	uint64_t	reserved[6];
} pfm_oprofile_smpl_arg_t;

typedef struct {
	uint64_t	head;		/* number of words written */
	uint64_t	tail;		/* number of words given back */
	uint64_t	told;		/* number of words written at the last notification */
	uint64_t	lost;		/* samples without room */
	uint32_t	tid, pid;	/* those of the last sample */
	uint32_t	in_kernel;
	uint32_t	begun;		/* 0: the next sample begins with all changes */
} pfm_oprofile_cpu_t;

typedef struct {
	uint32_t	hdr_version;
	uint32_t	hdr_num_cpus;
	uint64_t	hdr_buf_size;
	uint64_t	hdr_offs;	/* offset of CPU 0's words */
	uint64_t	hdr_words;	/* words of each CPU's ring */
	uint64_t	hdr_watermark;
	uint64_t	hdr_stray;	/* samples of other CPUs, which are lost */
	uint64_t	hdr_reserved[2];
	pfm_oprofile_cpu_t hdr_cpus[PFM_OPROFILE_MAX_CPUS];
} pfm_oprofile_smpl_hdr_t;

#endif /* PERFMON_OPROFILE_SMPL_H */
