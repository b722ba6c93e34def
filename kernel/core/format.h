/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * format.h - the interface between the core and sampling formats (3.5.7 - 3.5.15).
 */
#ifndef PFM_CORE_FORMAT_H
#define PFM_CORE_FORMAT_H

#include "os.h"
#include "perfmon/perfmon.h"

typedef struct {
	unsigned int	notify_user:1;
	unsigned int	reset_ovfl_pmds:1;
	unsigned int	block_thread:1;
	unsigned int	mask_monitoring:1;
} pfm_ovfl_ctrl_t;

typedef struct {
	uint16_t	ovfl_pmd;
	uint16_t	active_set;
	uint16_t	ovfl_notify;		/* the PMD has PFM_REGFL_OVFL_NOTIFY */
	uint16_t	num_smpl_pmds;		/* values in smpl_pmds_values */
	uint16_t	num_pmds;		/* PMDs the PMU has: the most a sample can hold */
	uint16_t	any_notify;		/* this PMD, or one that overflowed with it, has it */
	pfm_ovfl_ctrl_t	ovfl_ctrl;		/* out */
	uint64_t	pmd_last_reset;
	uint64_t	pmd_value;
	uint64_t	pmd_eventid;
	uint64_t	smpl_pmds[PFM_PMD_BV];
	uint64_t	smpl_pmds_values[PFM_MAX_PMDS];	/* by ascending PMD */
} pfm_ovfl_arg_t;

struct pfm_buffer_fmt;
struct pfm_where;

/*
 * What a format reads of where->stack at overflows, for machines that must know it before: ctx->format_needs. All
 * zeros: nothing.
 */
struct pfm_stack_want {
	bool		kernel, user;		/* frames */
	bool		records;		/* fmt_record is to be called */
	bool		switches;		/* PFM_RECORD_SWITCH is wanted, too */
	uint16_t	max_frames;		/* both together */
	uint16_t	max_stack;		/* bytes to copy, with the registers; 0: neither */
	uint16_t	ds_record;		/* the processor writes samples of that size (PEBS); 0: it does not */
};

/* Records of what a program did (6.3.2). The numbers are those of perfmon_stack_smpl.h. */
enum pfm_record_type {
	PFM_RECORD_MAP = 2, PFM_RECORD_EXEC, PFM_RECORD_FORK, PFM_RECORD_EXIT, PFM_RECORD_LOST,
	PFM_RECORD_RENAME, PFM_RECORD_COUNT, PFM_RECORD_SWITCH
};

struct pfm_record {
	enum pfm_record_type type;
	uint32_t	pid, tid;
	uint64_t	tstamp;		/* of the clock of struct pfm_where */
	uint32_t	ppid, ptid;	/* FORK: the process and thread that created it */
	uint64_t	addr, len, offset;	/* MAP */
	const unsigned char *build_id;	/* MAP; NULL: not known */
	unsigned int	build_id_size;
	const char	*name;		/* MAP: the path. EXEC: the thread's name */
	uint64_t	count;		/* LOST: overflows. COUNT: the value */
	uint16_t	num;		/* COUNT: the PMD */
	unsigned int	why;		/* LOST: PFM_STACK_SMPL_LOST_* */
	unsigned int	how;		/* SWITCH: PFM_STACK_SMPL_IN, ... */
};

/*
 * The call-backs of a format with state for each context, as the driver of formats in Lua has. create does what
 * validate and getsize do, and stores the state in *self, which the other call-backs get; if it succeeds, exit is
 * called in any case, and if it fails, it may give the reason by pfm_refuse(). An error of handler masks monitoring and
 * notifies, whether the PMD has OVFL_NOTIFY or not. restart may be NULL.
 */
struct pfm_fmt_ops {
	int	(*create)(struct pfm_buffer_fmt *fmt, uint32_t ctx_flags, uint16_t num_pmds, void *arg,
			  size_t *size, void **self);
	int	(*init)(void *self, uint32_t ctx_flags, void *arg, void *buf);
	int	(*handler)(void *self, pfm_ovfl_arg_t *arg, const struct pfm_where *where);
	int	(*restart)(void *self, int is_active, pfm_ovfl_ctrl_t *ctrl);
	bool	(*record)(void *self, const struct pfm_record *rec);	/* as fmt_record; if it has fmt_want */
	void	(*exit)(void *self);
	bool	prompt;		/* its decisions cannot be applied later: overflows are not to be replayed */
};

/*
 * Call-backs return 0 or a positive errno, as the specification words it. data is a
 * struct pfm_where *. arg is the caller's argument of fmt_arg_size bytes, already copied.
 * handler, restart and record run in PMU context; the others where the command runs. Only fmt_name, fmt_uuid and
 * fmt_handler are required; or fmt_ops, in place of all call-backs.
 */
typedef struct pfm_buffer_fmt {
	const char	*fmt_name;
	pfm_uuid_t	fmt_uuid;
	size_t		fmt_arg_size;
	size_t		fmt_msgq_depth;
	uint32_t	fmt_flags;		/* PFM_FMTFL_* */
	uint32_t	fmt_version;

	int	(*fmt_validate)(uint32_t ctx_flags, uint16_t num_pmds, void *arg);
	int	(*fmt_getsize)(uint32_t ctx_flags, void *arg, size_t *size);
	int	(*fmt_init)(uint32_t ctx_flags, void *arg, void *buf);
	int	(*fmt_handler)(void *buf, pfm_ovfl_arg_t *arg, uint64_t tstamp, void *data);
	int	(*fmt_restart)(void *buf, int is_active, pfm_ovfl_ctrl_t *ctrl);
	int	(*fmt_exit)(void *buf);
	void	(*fmt_want)(const void *arg, struct pfm_stack_want *want);	/* of a valid arg; into zeros */
	/* Stores the record. Returns true if the buffer is full then: that masks and notifies. */
	bool	(*fmt_record)(void *buf, const struct pfm_record *rec);
	const struct pfm_fmt_ops *fmt_ops;

	/* the core's and the host's */
	struct pfm_buffer_fmt	*next;
	unsigned int		users;		/* contexts using it */
	void	*owner;				/* the module that registered it */
	bool	(*get)(struct pfm_buffer_fmt *fmt);	/* pin its module; optional */
	void	(*put)(struct pfm_buffer_fmt *fmt);
} pfm_buffer_fmt_t;

/* 3.5.8: 0, EINVAL (a required field lacks, an unknown flag), EBUSY (UUID or name is taken). */
int pfm_register_buffer_fmt(pfm_buffer_fmt_t *fmt);
/* 3.5.9: 0, EINVAL (not registered), EBUSY (contexts use it). */
int pfm_unregister_buffer_fmt(pfm_uuid_t uuid);

/* Fills up to n entries; returns how many formats there are (3.5.2). */
int pfm_fmt_list(pfarg_fmtinfo_t *infos, int n);

/* Both return a format with its use counted, or NULL; pfm_fmt_put() gives it back. */
struct pfm_buffer_fmt *pfm_fmt_get_uuid(const unsigned char *uuid);
struct pfm_buffer_fmt *pfm_fmt_get_name(const char *name);
void pfm_fmt_put(struct pfm_buffer_fmt *fmt);

#endif
