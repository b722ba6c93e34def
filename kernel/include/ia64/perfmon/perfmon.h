/* SPDX-License-Identifier: MIT */
/*
 * perfmon/perfmon.h as in Linux/ia64 2.6: perfmon 2.0, one call with structures of long words.
 *
 * This is for old programs only; new ones include the perfmon.h of 2.x or perfmonctl.h. Old
 * programs compile unchanged with the folder include/lpfm/ia64 first in the search path, and are
 * linked with libperfmon. LPFM_MACHINE=sim:itanium2,live is the Itanium 2 that they expect;
 * apart from its registers, they also work on other machines except perfmon.ko. pfm_explain()
 * says why a call failed.
 *
 * The flags, bit-vectors and event id of a PMD are in the PMC that controls it; the bit-vectors
 * reach PMD 255. PFM_CREATE_CONTEXT maps the sampling buffer, at ctx_smpl_vaddr.
 */
#ifndef PERFMON_IA64_PERFMON_H
#define PERFMON_IA64_PERFMON_H

#ifndef __LP64__
#error "perfmon 2.0 has long words of 64 bits"
#endif

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef PFM20_INTERNAL
#define PFM_VERSION_MAJ		2U
#define PFM_VERSION_MIN		0U
#define PFM_VERSION		((PFM_VERSION_MAJ & 0xffff) << 16 | (PFM_VERSION_MIN & 0xffff))
#define PFM_VERSION_MAJOR(x)	(((x) >> 16) & 0xffff)
#define PFM_VERSION_MINOR(x)	((x) & 0xffff)

#define PFM_WRITE_PMCS		0x01
#define PFM_WRITE_PMDS		0x02
#define PFM_READ_PMDS		0x03
#define PFM_STOP		0x04
#define PFM_START		0x05
#define PFM_CREATE_CONTEXT	0x08
#define PFM_RESTART		0x0a
#define PFM_LOAD_CONTEXT	0x10
#define PFM_UNLOAD_CONTEXT	0x11

#define PFM_FL_NOTIFY_BLOCK	0x01
#define PFM_FL_SYSTEM_WIDE	0x02
#define PFM_FL_OVFL_NO_MSG	0x80

#define PFM_REGFL_OVFL_NOTIFY	0x1
#define PFM_REGFL_RANDOM	0x2

#define PFM_REG_RETFL_NOTAVAIL	(1UL << 31)
#define PFM_REG_RETFL_EINVAL	(1UL << 30)
#define PFM_REG_RETFL_MASK	(PFM_REG_RETFL_NOTAVAIL | PFM_REG_RETFL_EINVAL)
#define PFM_REG_HAS_ERROR(flag)	(((flag) & PFM_REG_RETFL_MASK) != 0)

#define PFM_MSG_OVFL		1
#define PFM_MSG_END		2
#endif

#define PFM_GET_FEATURES	0x0c
#define PFM_DEBUG		0x0d	/* accepted without effect */
#define PFM_GET_PMC_RESET_VAL	0x0f
#define PFM_WRITE_IBRS		0x20
#define PFM_WRITE_DBRS		0x21

struct pfm20_context {
	unsigned char	ctx_smpl_buf_id[16];	/* UUID; the format's argument follows */
	unsigned long	ctx_flags;
	unsigned short	ctx_nextra_sets;	/* must be 0 */
	unsigned short	ctx_reserved1;
	int		ctx_fd;			/* out */
	void		*ctx_smpl_vaddr;	/* out: the sampling buffer, or NULL */
	unsigned long	ctx_reserved2[11];
};

/* A PMC or a PMD. */
struct pfm20_reg {
	unsigned int	reg_num;
	unsigned short	reg_set;		/* must be 0 */
	unsigned short	reg_reserved1;
	unsigned long	reg_value;
	unsigned long	reg_flags;		/* PMC: PFM_REGFL_*; out: PFM_REG_RETFL_* */
	unsigned long	reg_long_reset;		/* PMD */
	unsigned long	reg_short_reset;	/* PMD */
	unsigned long	reg_reset_pmds[4];	/* PMC */
	unsigned long	reg_random_seed;	/* PMD */
	unsigned long	reg_random_mask;	/* PMD */
	unsigned long	reg_last_reset_val;	/* PMD, out */
	unsigned long	reg_smpl_pmds[4];	/* PMC */
	unsigned long	reg_smpl_eventid;	/* PMC */
	unsigned long	reg_reserved2[3];
};

/* An IBR or a DBR, 0 to 7. */
struct pfm20_dbreg {
	unsigned int	dbreg_num;
	unsigned short	dbreg_set;		/* must be 0 */
	unsigned short	dbreg_reserved1;
	unsigned long	dbreg_value;
	unsigned long	dbreg_flags;		/* out */
	unsigned long	dbreg_reserved2[1];
};

struct pfm20_features {
	unsigned int	ft_version;
	unsigned int	ft_reserved;
	unsigned long	reserved[4];
};

struct pfm20_load {
	pid_t		load_pid;		/* the caller's own pid for system-wide contexts */
	unsigned short	load_set;		/* must be 0 */
	unsigned short	load_reserved1;
	unsigned long	load_reserved2[3];
};

struct pfm20_ovfl_msg {
	int		msg_type;
	int		msg_ctx_fd;
	unsigned long	msg_ovfl_pmds[4];
	unsigned short	msg_active_set;
	unsigned short	msg_reserved1;
	unsigned int	msg_reserved2;
	unsigned long	msg_tstamp;
};

struct pfm20_end_msg {
	int		msg_type;
	int		msg_ctx_fd;
	unsigned long	msg_tstamp;
};

/* A message as read(2) returns it; each read returns one. */
union pfm20_msg {
	int			type;		/* msg_type of all messages */
	struct pfm20_ovfl_msg	pfm_ovfl_msg;
	struct pfm20_end_msg	pfm_end_msg;
	struct pfm20_end_msg	pfm_gen_msg;
};

#ifndef PFM20_INTERNAL
typedef unsigned char		pfm_uuid_t[16];
typedef struct pfm20_context	pfarg_context_t;
typedef struct pfm20_reg	pfarg_reg_t;
typedef struct pfm20_dbreg	pfarg_dbreg_t;
typedef struct pfm20_features	pfarg_features_t;
typedef struct pfm20_load	pfarg_load_t;
typedef struct pfm20_ovfl_msg	pfm_ovfl_msg_t;
typedef struct pfm20_end_msg	pfm_end_msg_t;
typedef struct pfm20_end_msg	pfm_gen_msg_t;
typedef union pfm20_msg		pfm_msg_t;

const char *pfm_explain(void);
int pfm_set_machine(const char *name, const char *options);

/*
 * fd: a context's descriptor, ignored by PFM_CREATE_CONTEXT, PFM_GET_FEATURES and
 * PFM_GET_PMC_RESET_VAL; arg: narg structures of the command's type (NULL and 0 for commands
 * without). Returns 0, or -1 with errno: EINVAL for an unknown command or value, EBADF for a
 * descriptor that is not a context's, others as in specification 0.6.
 */
int perfmonctl(int fd, int cmd, void *arg, int narg) __asm__("pfm_perfmonctl_20");
#endif

#ifdef __cplusplus
}
#endif
#endif /* PERFMON_IA64_PERFMON_H */
