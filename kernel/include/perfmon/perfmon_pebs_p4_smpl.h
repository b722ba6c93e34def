/* SPDX-License-Identifier: MIT */
/*
 * perfmon_pebs_p4_smpl.h - perfmon2 2.x's sampling formats "pebs64_p4" and, for programs of 32 bits, "pebs32_p4",
 * version 1.0, of Intel's Pentium 4: what programs that can use them need to compile. No machine here has them:
 * pfm_create_context() is EINVAL, and pfm_explain() names the format. PEBS samples of these processors come in the
 * formats of perfmon_pebs_smpl.h.
 */
#ifndef PERFMON_PEBS_P4_SMPL_H
#define PERFMON_PEBS_P4_SMPL_H

#include <stddef.h>

#include <perfmon/perfmon.h>

#ifdef __i386__
#define PFM_PEBS_P4_SMPL_NAME		"pebs32_p4"
#else
#define PFM_PEBS_P4_SMPL_NAME		"pebs64_p4"
#endif
#define PFM_PEBS_P4_SMPL_VERSION_MAJ	1U
#define PFM_PEBS_P4_SMPL_VERSION_MIN	0U
#define PFM_PEBS_P4_SMPL_VERSION	(PFM_PEBS_P4_SMPL_VERSION_MAJ << 16 | PFM_PEBS_P4_SMPL_VERSION_MIN)

typedef struct {
	uint64_t	cnt_reset;	/* -period */
	size_t		buf_size;	/* bytes */
	size_t		intr_thres;	/* entries after which to interrupt */
	uint64_t	reserved[6];
} pfm_pebs_p4_smpl_arg_t;

/* The debug store area. */
typedef struct {
	unsigned long	bts_buf_base, bts_index, bts_abs_max, bts_intr_thres;
	unsigned long	pebs_buf_base, pebs_index, pebs_abs_max, pebs_intr_thres;
	uint64_t	pebs_cnt_reset;
} pfm_ds_area_p4_t;

/* The entries begin start_offs bytes after its end. */
typedef struct {
	uint64_t		overflows;
	size_t			buf_size, start_offs;
	uint32_t		version, reserved1;
	uint64_t		reserved2[5];
	pfm_ds_area_p4_t	ds;
} pfm_pebs_p4_smpl_hdr_t;

typedef struct {
	unsigned long	eflags, ip, eax, ebx, ecx, edx, esi, edi, ebp, esp;
#ifdef __x86_64__
	unsigned long	r8, r9, r10, r11, r12, r13, r14, r15;
#endif
} pfm_pebs_p4_smpl_entry_t;

#endif /* PERFMON_PEBS_P4_SMPL_H */
