/* SPDX-License-Identifier: MIT */
/*
 * perfmon_pebs_p4_smpl.h - the sampling formats "pebs64_p4" and, for 32-bit programs, "pebs32_p4",
 * version 1.0, of perfmon2 2.x, for Intel's Pentium 4. The header only lets programs compile: no
 * machine has the formats, so pfm_create_context() returns EINVAL, and pfm_explain() names them.
 * The formats of perfmon_pebs_smpl.h provide PEBS samples of these processors.
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
	uint64_t	cnt_reset;	/* minus the period */
	size_t		buf_size;	/* bytes */
	size_t		intr_thres;	/* entries after which it interrupts */
	uint64_t	reserved[6];
} pfm_pebs_p4_smpl_arg_t;

/* The debug store area. */
typedef struct {
	unsigned long	bts_buf_base, bts_index, bts_abs_max, bts_intr_thres;
	unsigned long	pebs_buf_base, pebs_index, pebs_abs_max, pebs_intr_thres;
	uint64_t	pebs_cnt_reset;
} pfm_ds_area_p4_t;

/* The buffer's header. The entries begin start_offs bytes after its end. */
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
