/* SPDX-License-Identifier: MIT */
/*
 * perfmon_pebs_core_smpl.h - perfmon2 2.x's sampling format "pebs_core", version 1.0, of Intel's Core and Atom: what
 * programs that can use it need to compile. No machine here has it: pfm_create_context() is EINVAL, and pfm_explain()
 * names the format. PEBS samples of these processors come in the formats of perfmon_pebs_smpl.h.
 */
#ifndef PERFMON_PEBS_CORE_SMPL_H
#define PERFMON_PEBS_CORE_SMPL_H

#include <stddef.h>

#include <perfmon/perfmon.h>

#define PFM_PEBS_CORE_SMPL_NAME		"pebs_core"
#define PFM_PEBS_CORE_SMPL_VERSION_MAJ	1U
#define PFM_PEBS_CORE_SMPL_VERSION_MIN	0U
#define PFM_PEBS_CORE_SMPL_VERSION	(PFM_PEBS_CORE_SMPL_VERSION_MAJ << 16 | PFM_PEBS_CORE_SMPL_VERSION_MIN)

typedef struct {
	uint64_t	cnt_reset;	/* -period */
	uint64_t	buf_size;	/* bytes */
	uint64_t	intr_thres;	/* entries after which to interrupt */
	uint64_t	reserved[6];
} pfm_pebs_core_smpl_arg_t;

/* The debug store area. */
typedef struct {
	uint64_t	bts_buf_base, bts_index, bts_abs_max, bts_intr_thres;
	uint64_t	pebs_buf_base, pebs_index, pebs_abs_max, pebs_intr_thres;
	uint64_t	pebs_cnt_reset;
} pfm_ds_area_core_t;

/* The entries begin start_offs bytes after its end. */
typedef struct {
	uint64_t		overflows;
	size_t			buf_size, start_offs;
	uint32_t		version, reserved1;
	uint64_t		reserved2[5];
	pfm_ds_area_core_t	ds;
} pfm_pebs_core_smpl_hdr_t;

typedef struct {
	uint64_t	eflags, ip, eax, ebx, ecx, edx, esi, edi, ebp, esp;
	uint64_t	r8, r9, r10, r11, r12, r13, r14, r15;	/* 0 in programs of 32 bits */
} pfm_pebs_core_smpl_entry_t;

#endif /* PERFMON_PEBS_CORE_SMPL_H */
