/* SPDX-License-Identifier: MIT */
/* perfmon_default_smpl.h - the default sampling format of perfmon 2.0 on Linux/ia64. */
#ifndef PERFMON_IA64_DEFAULT_SMPL_H
#define PERFMON_IA64_DEFAULT_SMPL_H

#include <perfmon/perfmon.h>

#define PFM_DEFAULT_SMPL_UUID { \
	0x4d, 0x72, 0xbe, 0xc0, 0x06, 0x64, 0x41, 0x43, 0x82, 0xb4, 0xd3, 0xfd, 0x27, 0x24, 0x3c, 0x97 }

typedef struct {
	unsigned long	buf_size;	/* bytes, header included */
	unsigned int	flags;		/* must be 0 */
	unsigned int	res1;
	unsigned long	reserved[2];
} pfm_default_smpl_arg_t;

/* The argument of PFM_CREATE_CONTEXT for this format. */
typedef struct {
	pfarg_context_t		ctx_arg;
	pfm_default_smpl_arg_t	buf_arg;
} pfm_default_smpl_ctx_arg_t;

typedef struct {
	unsigned long	hdr_count;	/* samples since the last restart */
	unsigned long	hdr_cur_offs;	/* offset of the first byte after the last sample */
	unsigned long	hdr_reserved2;
	unsigned long	hdr_overflows;	/* times the buffer was full */
	unsigned long	hdr_buf_size;	/* bytes */
	unsigned int	hdr_version;
	unsigned int	hdr_reserved1;
	unsigned long	hdr_reserved[10];
} pfm_default_smpl_hdr_t;

/* A sample; the values of the PMDs in reg_smpl_pmds follow it, in ascending order. */
typedef struct {
	int		pid;		/* thread id */
	unsigned char	reserved1[3];
	unsigned char	ovfl_pmd;
	unsigned long	last_reset_val;
	unsigned long	ip;
	unsigned long	tstamp;
	unsigned short	cpu;
	unsigned short	set;
	int		tgid;		/* process id */
} pfm_default_smpl_entry_t;

#define PFM_DEFAULT_MAX_PMDS		64
#define PFM_DEFAULT_MAX_ENTRY_SIZE	(sizeof(pfm_default_smpl_entry_t) + \
					 sizeof(unsigned long) * PFM_DEFAULT_MAX_PMDS)
#define PFM_DEFAULT_SMPL_MIN_BUF_SIZE	(sizeof(pfm_default_smpl_hdr_t) + PFM_DEFAULT_MAX_ENTRY_SIZE)

#define PFM_DEFAULT_SMPL_VERSION_MAJ	2U
#define PFM_DEFAULT_SMPL_VERSION_MIN	0U
#define PFM_DEFAULT_SMPL_VERSION	((PFM_DEFAULT_SMPL_VERSION_MAJ & 0xffff) << 16 | \
					 (PFM_DEFAULT_SMPL_VERSION_MIN & 0xffff))

#endif
