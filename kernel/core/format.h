/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* format.h - the interface between the core and sampling formats (3.5.7 - 3.5.15). */
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
	uint16_t	num_smpl_pmds;		/* number of values in smpl_pmds_values */
	/* number of PMDs of the PMU: a sample holds no more */
	uint16_t	num_pmds;
	/* this PMD, or one that overflowed with it, has OVFL_NOTIFY */
	uint16_t	any_notify;
	pfm_ovfl_ctrl_t	ovfl_ctrl;		/* the format's decision */
	uint64_t	pmd_last_reset;
	uint64_t	pmd_value;
	uint64_t	pmd_eventid;
	uint64_t	smpl_pmds[PFM_PMD_BV];
	/* values of the PMDs in smpl_pmds, in ascending order of their numbers */
	uint64_t	smpl_pmds_values[PFM_MAX_PMDS];
} pfm_ovfl_arg_t;

struct pfm_buffer_fmt;
struct pfm_where;

/*
 * The parts of where->stack that a format reads at overflows: some machines must know them in
 * advance. It is stored in ctx->format_needs. If all members are 0, the format reads nothing.
 */
struct pfm_stack_want {
	bool		kernel, user;		/* frames of that level are wanted */
	bool		records;		/* fmt_record is called */
	bool		switches;		/* PFM_RECORD_SWITCH is wanted, too */
	uint16_t	max_frames;		/* most frames, kernel and user together */
	/* how many bytes of the user's stack to copy, with the registers; 0: neither */
	uint16_t	max_stack;
	/* size of the samples that the processor writes (PEBS); 0: it writes none */
	uint16_t	ds_record;
};

/* Records of what a program did (6.3.2). The numbers are those of perfmon_stack_smpl.h. */
enum pfm_record_type {
	PFM_RECORD_MAP = 2, PFM_RECORD_EXEC, PFM_RECORD_FORK, PFM_RECORD_EXIT, PFM_RECORD_LOST,
	PFM_RECORD_RENAME, PFM_RECORD_COUNT, PFM_RECORD_SWITCH
};

struct pfm_record {
	enum pfm_record_type type;
	uint32_t	pid, tid;
	uint64_t	tstamp;		/* by the clock of struct pfm_where */
	uint32_t	ppid, ptid;	/* FORK: the process and thread that created the thread */
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
 * The call-backs of a format that has its own state for each context, as formats in Lua have.
 * create does what fmt_validate and fmt_getsize do otherwise, and stores the state in *self, which
 * is passed to the other call-backs. If create succeeds, exit is always called later; if create
 * fails, it may give the reason by pfm_refuse(). If handler fails, monitoring is masked and the
 * program notified, even if the PMD does not have OVFL_NOTIFY. restart may be NULL.
 */
struct pfm_fmt_ops {
	int	(*create)(struct pfm_buffer_fmt *fmt, uint32_t ctx_flags, uint16_t num_pmds, void *arg,
			  size_t *size, void **self);
	int	(*init)(void *self, uint32_t ctx_flags, void *arg, void *buf);
	int	(*handler)(void *self, pfm_ovfl_arg_t *arg, const struct pfm_where *where);
	int	(*restart)(void *self, int is_active, pfm_ovfl_ctrl_t *ctrl);
	/* like fmt_record; called if the format has fmt_want */
	bool	(*record)(void *self, const struct pfm_record *rec);
	void	(*exit)(void *self);
	/*
	 * the format's decisions must be applied at once, so overflows must not be replayed later
	 */
	bool	prompt;
};

/*
 * Call-backs return 0 or a positive errno, as the specification says. data is a struct pfm_where *.
 * arg is the core's copy of the caller's argument, of fmt_arg_size bytes. handler, restart and
 * record run in PMU context, the others where the command runs. Only fmt_name, fmt_uuid and
 * fmt_handler are required; fmt_ops can replace all call-backs.
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
	/* fills in *want, all members of which are 0; fmt_validate or create has accepted arg */
	void	(*fmt_want)(const void *arg, struct pfm_stack_want *want);
	/*
	 * Stores the record. Returns true if the buffer is full afterwards: then monitoring is
	 * masked and the program notified.
	 */
	bool	(*fmt_record)(void *buf, const struct pfm_record *rec);
	const struct pfm_fmt_ops *fmt_ops;

	/* The following members are set by the core, and by libperfmon or perfmon.ko. */
	struct pfm_buffer_fmt	*next;
	unsigned int		users;		/* number of contexts that use the format */
	void	*owner;				/* the module that registered it */
	/* takes a reference to the owner's module; optional */
	bool	(*get)(struct pfm_buffer_fmt *fmt);
	void	(*put)(struct pfm_buffer_fmt *fmt);
} pfm_buffer_fmt_t;

/*
 * Registers a format (3.5.8). Returns 0, EINVAL (a required field is missing, or a flag is unknown)
 * or EBUSY (the UUID or name is in use).
 */
int pfm_register_buffer_fmt(pfm_buffer_fmt_t *fmt);
/*
 * Unregisters a format (3.5.9). Returns 0, EINVAL (it is not registered) or EBUSY (contexts use
 * it).
 */
int pfm_unregister_buffer_fmt(pfm_uuid_t uuid);

/* Fills in at most n entries, and returns how many formats there are, which may be more (3.5.2). */
int pfm_fmt_list(pfarg_fmtinfo_t *infos, int n);

/* Both return a format with a reference, which pfm_fmt_put() drops, or NULL. */
struct pfm_buffer_fmt *pfm_fmt_get_uuid(const unsigned char *uuid);
struct pfm_buffer_fmt *pfm_fmt_get_name(const char *name);
void pfm_fmt_put(struct pfm_buffer_fmt *fmt);

#endif
