/* SPDX-License-Identifier: MIT */
/*
 * perfmonctl.h - the single call of the specification 0.6, chapter 3.
 *
 * Include this or perfmon.h, not both: for historical reasons they use the same names for
 * different structures. Include perfmon_dfl_smpl.h after this file, as it otherwise includes
 * perfmon.h.
 */
#ifndef PERFMON_PERFMONCTL_H
#define PERFMON_PERFMONCTL_H

#ifdef PERFMON_PERFMON_H
#ifndef PFM06_INTERNAL
#error "perfmonctl.h and perfmon.h have the same names for other structures: one of them, before perfmon_dfl_smpl.h"
#endif
#endif

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Commands (table 3.1). Those that Linux/ia64 had keep its numbers. */
#define PFM_WRITE_PMCS		0x01
#define PFM_WRITE_PMDS		0x02
#define PFM_READ_PMDS		0x03
#define PFM_STOP		0x04
#define PFM_START		0x05
#define PFM_CREATE_CONTEXT	0x08
#define PFM_RESTART		0x0a
#define PFM_LOAD_CONTEXT	0x10
#define PFM_UNLOAD_CONTEXT	0x11
#define PFM_CREATE_EVTSETS	0x12
#define PFM_DELETE_EVTSETS	0x13
#define PFM_GETINFO_EVTSETS	0x14
#define PFM_GETINFO_PMCS	0x15
#define PFM_GETINFO_PMDS	0x16
#define PFM_SET_CONFIG		0x17
#define PFM_GET_CONFIG		0x18

#ifndef PERFMON_PERFMON_H
#define PFM_MAX_PMCS		320
#define PFM_MAX_PMDS		320
#define PFM_MAX_PMC_BITVECTOR	((PFM_MAX_PMCS + 64 - 1) / 64)
#define PFM_MAX_PMD_BITVECTOR	((PFM_MAX_PMDS + 64 - 1) / 64)

#define PFM_VERSION_MAJOR(v)	(((v) >> 16) & 0xffff)
#define PFM_VERSION_MINOR(v)	((v) & 0xffff)

#define PFM_FL_NOTIFY_BLOCK	0x01U
#define PFM_FL_SYSTEM_WIDE	0x02U
#define PFM_FL_ANY_CPU		0x08U		/* not in 0.6, see perfmon.h */
#define PFM_FL_INHERIT		0x20U		/* not in 0.6, see perfmon.h */
#define PFM_FL_PREEMPTIBLE	0x40U		/* 6.5, see perfmon.h */
#define PFM_FL_OVFL_NO_MSG	0x80U
#define PFM_ITA_FL_INSECURE	0x10000U
#define PFM_ITA_FL_PRIV_MONITORS 0x20000U

#define PFM_REGFL_OVFL_NOTIFY	0x1U
#define PFM_REGFL_RANDOM	0x2U
#define PFM_REGFL_NO_64BIT_EMUL	0x4U
#define PFM_REGFL_READ_RESET	0x8U

#define PFM_REG_RETFL_NOTAVAIL	(1U << 31)
#define PFM_REG_RETFL_EINVAL	(1U << 30)
#define PFM_REG_RETFL_NOSET	(1U << 29)
#define PFM_REG_RETFL_MASK	(PFM_REG_RETFL_NOTAVAIL | PFM_REG_RETFL_EINVAL | PFM_REG_RETFL_NOSET)
#define PFM_REG_HAS_ERROR(flags) (((flags) & PFM_REG_RETFL_MASK) != 0)

#define PFM_SETFL_OVFL_SWITCH	0x01U
#define PFM_SETFL_TIME_SWITCH	0x02U
#define PFM_SETFL_EXPL_NEXT	0x04U
#define PFM_SETFL_EXCL_IDLE	0x08U
#define PFM_SETFL_EXCL_KERNEL_ONLY_THREADS 0x10U
#define PFM_ITA_SETFL_EXCL_INTR	0x10000U
#define PFM_ITA_SETFL_INTR_ONLY	0x20000U

#define PFM_SET_RETFL_EINVAL	PFM_REG_RETFL_EINVAL
#define PFM_SET_RETFL_NOSET	PFM_REG_RETFL_NOSET
#define PFM_SET_RETFL_MASK	(PFM_SET_RETFL_EINVAL | PFM_SET_RETFL_NOSET)
#define PFM_SET_HAS_ERROR(flags) (((flags) & PFM_SET_RETFL_MASK) != 0)

#define PFM_MSG_OVFL		1U
#define PFM_MSG_END		2U

#define PFM_REG_TYPE_PMC	1
#define PFM_REG_TYPE_MSR	2
#define PFM_REG_TYPE_SPR	3
#define PFM_REG_TYPE_IBR	4
#define PFM_REG_TYPE_DBR	5
#define PFM_REG_TYPE_PMD	6
#define PFM_REG_TYPE_SW		7
#define PFM_REG_TYPE_VIRT	8
#define PFM_REG_IDX_NONE	(~0ULL)
#define PFM_GROUP_ANY		(~0U)

typedef unsigned char pfm_uuid_t[16];
#endif

struct pfm06_ctx {				/* 3.1.1; the format's argument follows */
	uint32_t	ctx_flags;
	int		ctx_fd;
	unsigned char	ctx_smpl_buf_id[16];
	size_t		ctx_smpl_buf_size;
};

struct pfm06_pmc {				/* 3.1.2 */
	uint16_t	reg_num;
	uint16_t	reg_set;
	uint32_t	reg_flags;
	uint64_t	reg_value;
	uint64_t	reg_reset_pmds[PFM_MAX_PMD_BITVECTOR];
	uint64_t	reg_smpl_pmds[PFM_MAX_PMD_BITVECTOR];
	uint64_t	reg_smpl_eventid;
};

struct pfm06_pmd {				/* 3.1.3, 3.1.4 */
	uint16_t	reg_num;
	uint16_t	reg_set;
	uint32_t	reg_flags;
	uint64_t	reg_value;
	uint64_t	reg_long_reset;
	uint64_t	reg_short_reset;
	uint64_t	reg_last_reset_val;
	uint64_t	reg_ovflsw_thres;
	uint64_t	reg_random_mask;
	uint32_t	reg_random_seed;
};

struct pfm06_start {				/* 3.1.5 */
	uint16_t	start_set;
};

struct pfm06_load {				/* 3.1.7 */
	pid_t		load_pid;
	uint16_t	load_set;
};

struct pfm06_setdesc {				/* 3.1.10, 3.1.11 */
	uint16_t	set_id;
	uint16_t	set_id_next;
	uint32_t	set_flags;
	struct timespec	set_timeout;
};

struct pfm06_setinfo {				/* 3.1.12 */
	uint16_t	set_id;
	uint16_t	set_id_next;
	uint32_t	set_flags;
	uint64_t	set_switch_pmds[PFM_MAX_PMD_BITVECTOR];
	uint64_t	set_runs;
	struct timespec	set_timeout;
	struct timespec	set_act_duration;
};

struct pfm06_reginfo {				/* 3.1.13, 3.1.14 */
	uint16_t	reg_num;
	uint16_t	reg_type;
	uint32_t	reg_flags;
	uint64_t	reg_def_value;
	uint64_t	reg_rsvd_mask;
	size_t		reg_index;
};

struct pfm06_config {				/* 3.1.16, 3.1.17 */
	uint32_t	cf_version;
	uint32_t	cf_flags;
	uint64_t	cf_impl_pmcs[PFM_MAX_PMC_BITVECTOR];
	uint64_t	cf_impl_pmds[PFM_MAX_PMD_BITVECTOR];
	gid_t		cf_sys_gid;
	gid_t		cf_thread_gid;
	size_t		cf_arg_size_max;
	size_t		cf_smpl_buf_size_max;
	uint16_t	cf_counter_width;
};

struct pfm06_ovfl_msg {				/* 3.4.3; offsets as in perfmon.h */
	uint32_t	msg_type;
	uint32_t	msg_pad1;
	uint16_t	msg_active_set;
	uint16_t	msg_pad2;
	uint32_t	msg_pad3;
	uint64_t	msg_pad4;
	uint64_t	msg_ovfl_pmds[PFM_MAX_PMD_BITVECTOR];
};

#ifndef PFM06_INTERNAL
typedef struct pfm06_ctx	pfarg_ctx_t;
typedef struct pfm06_pmc	pfarg_pmc_t;
typedef struct pfm06_pmd	pfarg_pmd_t;
typedef struct pfm06_start	pfarg_start_t;
typedef struct pfm06_load	pfarg_load_t;
typedef struct pfm06_setdesc	pfarg_setdesc_t;
typedef struct pfm06_setinfo	pfarg_setinfo_t;
typedef struct pfm06_reginfo	pfarg_pmcinfo_t;
typedef struct pfm06_reginfo	pfarg_pmdinfo_t;
typedef struct pfm06_config	pfarg_config_t;
typedef struct pfm06_ovfl_msg	pfm_ovfl_msg_t;

typedef union {					/* 3.3.2 */
	uint32_t	msg_type;
	pfm_ovfl_msg_t	pfm_ovfl_msg;
} pfm_msg_t;

void *pfm_map_buffer(int fd, size_t size);
int pfm_unmap_buffer(void *addr, size_t size);
const char *pfm_explain(void);
int pfm_set_machine(const char *name, const char *options);

#include <sys/mman.h>
void *pfm_mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset);
int pfm_munmap(void *addr, size_t length);
#ifndef PFM_NO_MMAP_REDIRECT
#define mmap(addr, length, prot, flags, fd, offset) pfm_mmap(addr, length, prot, flags, fd, offset)
#define munmap(addr, length) pfm_munmap(addr, length)
#endif
#endif /* !PFM06_INTERNAL */

/*
 * perfmonctl - the call of section 3.1. fd: a context's descriptor, ignored by commands that
 * need none; cmd: PFM_*; arg: pointer to narg structures of the command's type (NULL and 0 for
 * commands without). Returns 0, or -1 with errno.
 */
int perfmonctl(int fd, int cmd, void *arg, int narg);

#ifdef __cplusplus
}
#endif
#endif /* PERFMON_PERFMONCTL_H */
