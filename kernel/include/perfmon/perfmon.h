/* SPDX-License-Identifier: MIT */
/*
 * perfmon.h - the perfmon2 interface, one function for each call.
 *
 * Structures have the sizes and offsets of the last perfmon2 2.x kernels, so that programs
 * written for them compile unchanged. Additions of the specification 0.6 and of version 2.2 are
 * in fields that were reserved in 2.x and are marked "(was reserved)". "own" marks this
 * project's additions.
 *
 * All calls return 0 (pfm_create_context: a file descriptor) or -1 with errno set; pfm_explain()
 * then says in words what was wrong. Reserved fields must be zero.
 */
#ifndef PERFMON_PERFMON_H
#define PERFMON_PERFMON_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/types.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the interface, which is that of the last 2.x kernels, not of this project. */
#define PFM_VERSION_MAJ		2U
#define PFM_VERSION_MIN		82U
#define PFM_VERSION		((PFM_VERSION_MAJ << 16) | PFM_VERSION_MIN)
#define PFM_VERSION_MAJOR(v)	(((v) >> 16) & 0xffff)
#define PFM_VERSION_MINOR(v)	((v) & 0xffff)

#define PFM_MAX_PMCS		320
#define PFM_MAX_PMDS		320
#define PFM_BVSIZE(bits)	(((bits) + 63) / 64)	/* 64-bit words of a bit-vector */
#define PFM_PMC_BV		PFM_BVSIZE(PFM_MAX_PMCS)
#define PFM_PMD_BV		PFM_BVSIZE(PFM_MAX_PMDS)
#define PFM_MAX_PMC_BITVECTOR	PFM_PMC_BV
#define PFM_MAX_PMD_BITVECTOR	PFM_PMD_BV

typedef unsigned char pfm_uuid_t[16];

/* --- contexts: 3.1.1 ------------------------------------------------------------------------ */

#define PFM_FL_NOTIFY_BLOCK	0x01U	/* the monitored thread stops until pfm_restart() */
#define PFM_FL_SYSTEM_WIDE	0x02U	/* monitors a CPU, not a thread */
#define PFM_FL_SMPL_FMT		0x04U	/* v3 spelling of "a format is given"; accepted, not needed */
#define PFM_FL_ANY_CPU		0x08U	/* own, SYSTEM_WIDE: loads and calls from any CPU */
#define PFM_FL_MAP_SETS		0x10U	/* 2.2: PMD values of each set can be mapped: pfm_set_view_t */
#define PFM_FL_INHERIT		0x20U	/* own: counts children, too; see pfarg_ctx_t */
#define PFM_FL_PREEMPTIBLE	0x40U	/* 6.5: per-thread contexts take the PMU from it */
#define PFM_FL_OVFL_NO_MSG	0x80U	/* notification by signal alone */
#define PFM_FL_PROCESS		0x100U	/* own, INHERIT and format: for all threads of a process */
#define PFM_FL_ON_EXEC		0x200U	/* own, with INHERIT: counts from the next exec(2) on */
#define PFM_ITA_FL_INSECURE	0x10000U	/* 5.4.1 */
#define PFM_ITA_FL_PRIV_MONITORS 0x20000U	/* 6.4.1 */

/*
 * Own: PFM_FL_INHERIT. The context also counts its children: threads and processes that the
 * monitored thread, or another child, creates while the context is loaded. They use the same
 * event sets, from their creation on. With ON_EXEC each thread counts from its next exec(2) on,
 * or from its creation if the monitored thread has called exec(2) before.
 *
 * pfm_read_pmds() returns the sum over the monitored thread and all children, running or ended.
 * Writing a PMD sets the sum. For a PMD written with PFM_REGFL_OWN, a read with PFM_REGFL_OWN
 * returns the count of the monitored thread alone. A read with PFM_REGFL_ENDED returns what
 * ended children have counted since the PMD was written; it should be done when no child runs
 * (on machine perf it is EINVAL, as its kernel only reports the sum with running children).
 *
 * A child begins with the set that is active in the monitored thread; with TIME_SWITCH, with the
 * set after that of the previous child, so that short-lived children cover all sets. Each thread
 * has its own timeout; pfm_getinfo_evtsets() sums runs, durations and losses up. When all
 * threads have ended, the context is unloaded and END is posted. EINVAL: with SYSTEM_WIDE,
 * NOTIFY_BLOCK or MAP_SETS; EBUSY: pfm_write_pmcs() after the load. Children are not counted if
 * there is no memory for them: set_lost of set 0 counts these. If another context uses a counter
 * when a child is created, set_blind has the time; with a sampling format, set_lost counts the
 * child. pfm_machine_info_t's limits say how machine perf differs.
 *
 * Without a sampling format, overflows and pfm_restart() concern the monitored thread alone,
 * children continue to count, and OVFL_SWITCH is EINVAL.
 *
 * With a sampling format, samples and records of all threads are in the context's buffer, with
 * their pid and tid, and messages of all in its queue. A PMD with a long or short reset value is
 * private to each thread and is not summed up. In a child it begins with the long reset value,
 * or where an ended child left it; random periods are a separate series. A thread that finds the
 * buffer full is masked, and others continue until they find it full, too: there is one message,
 * and pfm_restart() lets them all go on.
 *
 * On machine linux, where threads on several CPUs sample at the same time, the buffer consists
 * of equal parts, one for each CPU: pfm_ctx_buf_parts() returns their number. They follow each
 * other in the mapping, each with its own header. Threads on CPU n fill part n modulo that
 * number, and msg_ovfl_cpu says which part a message concerns. pfm_restart() gives back the
 * parts or regions of the messages that were read; if none was read since the load, all full
 * ones. The format's buffer size is that of each part, and ctx_smpl_buf_size is the total. The
 * format program, which has data outside the buffer, is EINVAL there.
 */
typedef struct {
	uint32_t	ctx_flags;
	int32_t		ctx_fd;			/* out (was reserved): the returned descriptor */
	pfm_uuid_t	ctx_smpl_buf_id;	/* in (was reserved): UUID; 0: no format */
	uint64_t	ctx_smpl_buf_size; /* out (was reserved): size of the buffer to map, or 0 */
	/* [0]: out (was reserved), with INHERIT: pfm_ctx_buf_parts() */
	uint64_t	ctx_reserved[4];
} pfarg_ctx_t;

/*
 * The number of equal parts of the buffer of a context with PFM_FL_INHERIT; 0: one buffer
 * without parts.
 */
#define pfm_ctx_buf_parts(ctx)	((ctx)->ctx_reserved[0])

/* --- registers: 3.1.2 - 3.1.4 --------------------------------------------------------------- */

#define PFM_REGFL_OVFL_NOTIFY	0x1U	/* PMD: an overflow notifies */
#define PFM_REGFL_RANDOM	0x2U	/* PMD: its resets are randomized */
#define PFM_REGFL_NO_EMUL64	0x4U	/* PMC: its counters keep the width of the hardware's */
#define PFM_REGFL_NO_64BIT_EMUL	PFM_REGFL_NO_EMUL64
#define PFM_REGFL_READ_RESET	0x8U	/* 6.2.2: a read also loads the long reset */
#define PFM_REGFL_OWN		0x10U	/* own: the thread's own count; see pfarg_ctx_t */
#define PFM_REGFL_ENDED		0x20U	/* own: ended children's count; see pfarg_ctx_t */
#define PFM_REGFL_FREQUENCY	0x40U	/* own, INHERIT and format: reset values are in Hz */
/*
 * Own: parts of an element, which 0.6 splits between PMC and PMD. With VALUES, pfm_write_pmds
 * keeps flags, reset_pmds, smpl_pmds and smpl_eventid; with ATTRS it writes only these.
 */
#define PFM_REGFL_VALUES	0x100000U
#define PFM_REGFL_ATTRS		0x200000U
/* Own, pfm_write_pmds: checks the element and writes nothing. */
#define PFM_REGFL_CHECK		0x400000U

#define PFM_REG_RETFL_NOTAVAIL	(1U << 31)	/* no such register */
#define PFM_REG_RETFL_EINVAL	(1U << 30)	/* a value or flag is invalid */
#define PFM_REG_RETFL_NOSET	(1U << 29)	/* no such event set */
#define PFM_REG_RETFL_MASK	(PFM_REG_RETFL_NOTAVAIL | PFM_REG_RETFL_EINVAL | PFM_REG_RETFL_NOSET)
#define PFM_REG_HAS_ERROR(flags) (((flags) & PFM_REG_RETFL_MASK) != 0)

typedef struct {
	uint16_t	reg_num;
	uint16_t	reg_set;
	uint32_t	reg_flags;		/* PFM_REGFL_NO_EMUL64; out: PFM_REG_RETFL_* */
	uint64_t	reg_value;
	uint64_t	reg_reserved[4];
} pfarg_pmc_t;

typedef struct {
	uint16_t	reg_num;
	uint16_t	reg_set;
	uint32_t	reg_flags; /* OVFL_NOTIFY, RANDOM, READ_RESET, OWN; out: PFM_REG_RETFL_* */
	uint64_t	reg_value;		/* a sampling period p is written as -p */
	uint64_t	reg_long_reset;		/* value after pfm_restart() */
	uint64_t	reg_short_reset; /* value after an overflow handled by the kernel alone */
	uint64_t	reg_last_reset_val;	/* out: the value that the last reset loaded */
	uint64_t	reg_ovfl_switch_cnt;	/* in: overflows until the switch; out: the rest */
	uint64_t	reg_reset_pmds[PFM_PMD_BV];	/* reset by an overflow of this one */
	uint64_t	reg_smpl_pmds[PFM_PMD_BV];	/* recorded with its overflow */
	uint64_t	reg_smpl_eventid;	/* opaque, passed to the format */
	uint64_t	reg_random_mask;
	uint32_t	reg_random_seed;
	uint32_t	reg_reserved[7];
} pfarg_pmd_t;

/* --- attaching, starting: 3.1.5 - 3.1.9 ----------------------------------------------------- */

typedef struct {
	uint16_t	start_set;
	uint16_t	start_reserved1;
	uint32_t	start_reserved2;
	uint64_t	start_reserved3[3];
} pfarg_start_t;

typedef struct {
	uint32_t	load_pid;	/* thread id; SYSTEM_WIDE: the caller's, or its CPU */
	uint16_t	load_set;
	uint16_t	load_reserved1;
	uint64_t	load_reserved2[3];
} pfarg_load_t;

/* --- event sets: 3.1.10 - 3.1.12 ------------------------------------------------------------ */

#define PFM_SETFL_OVFL_SWITCH	0x01U
#define PFM_SETFL_TIME_SWITCH	0x02U
#define PFM_SETFL_EXPL_NEXT	0x04U	/* set_id_next says which set comes next */
#define PFM_SETFL_EXCL_IDLE	0x08U	/* system-wide: the idle thread is not monitored */
#define PFM_SETFL_EXCL_KERNEL_ONLY_THREADS 0x10U	/* 6.2.3, system-wide */
#define PFM_ITA_SETFL_EXCL_INTR	0x10000U	/* 5.5.1 */
#define PFM_ITA_SETFL_INTR_ONLY	0x20000U	/* 5.5.2 */
#define PFM_ITA_SETFL_IDLE_EXCL	0x40000U	/* 2.x spelling of EXCL_IDLE on ia64 */

#define PFM_SET_RETFL_EINVAL	PFM_REG_RETFL_EINVAL
#define PFM_SET_RETFL_NOSET	PFM_REG_RETFL_NOSET
#define PFM_SET_RETFL_MASK	(PFM_SET_RETFL_EINVAL | PFM_SET_RETFL_NOSET)
#define PFM_SET_HAS_ERROR(flags) (((flags) & PFM_SET_RETFL_MASK) != 0)

typedef struct {
	uint16_t	set_id;
	uint16_t	set_id_next;		/* (was reserved) the next set, with EXPL_NEXT */
	uint32_t	set_flags;
	uint64_t	set_timeout;		/* ns; out: the effective timeout */
#ifdef PFM_SOURCE_2_2		/* for source of 2.2; later source initializes an array */
	uint64_t	set_mmap_offset;
	uint64_t	set_reserved[5];
#else
	/* [0]: out (was reserved), with MAP_SETS: pfm_set_mmap_offset() */
	uint64_t	set_reserved[6];
#endif
} pfarg_setdesc_t;

/* The offset at which mmap(2) maps the set's view, as returned by pfm_create_evtsets(). */
#ifdef PFM_SOURCE_2_2
#define pfm_set_mmap_offset(desc)	((desc)->set_mmap_offset)
#else
#define pfm_set_mmap_offset(desc)	((desc)->set_reserved[0])
#endif

typedef struct {
	uint16_t	set_id;
	uint16_t	set_id_next;		/* (was reserved) the next set */
	uint32_t	set_flags;
	/* PMDs that last caused a switch from this set */
	uint64_t	set_ovfl_pmds[PFM_PMD_BV];
	uint64_t	set_runs;		/* times the set became the active one */
	uint64_t	set_timeout;		/* ns left of the timeout */
	/* ns for which the set was active and monitoring, with the switch to the next set */
	uint64_t	set_act_duration;
	uint64_t	set_avail_pmcs[PFM_PMC_BV];
	uint64_t	set_avail_pmds[PFM_PMD_BV];
	uint64_t	set_mmap_offset; /* (was reserved) as in pfarg_setdesc_t; 0: no view */
	uint64_t	set_lost;	/* (was reserved) overflows the machine could not deliver */
	uint64_t	set_throttled; /* (was reserved) overflows held back by throttling, 4.4.4 */
	/* (was reserved) ns in which other users had counters */
	uint64_t	set_blind;
	uint64_t	set_late;	/* (was reserved) part of set_lost: a timer was late */
	/*
	 * (was reserved) machine perf: ns of set_act_duration between an overflow, or timeout, and
	 * the switch, in which nothing was counted; other machines: 0
	 */
	uint64_t	set_gap;
} pfarg_setinfo_t;

/* --- views: 2.2, fast user-level PMD read ---------------------------------------------------- */

#define PFM_SETVFL_ACTIVE	0x1U	/* set_status: the set is active */
#define PFM_SETVFL_DIRECT	0x2U	/* own: set_owner's thread can read all PMDs directly */

/* Values of set_index; others, from 1 on, are the number of a counter. */
#define PFM_VIEW_CALL		0U	/* the value needs a call */
#define PFM_VIEW_ELSEWHERE	0xfeU	/* another page of the kernel has the value */
#define PFM_VIEW_STILL		0xffU	/* set_pmds has the value: the counter is stopped */
#define PFM_VIEW_COUNTERS	64	/* counters of the PMU have lower numbers */

/*
 * A set's view, mapped read-only from the context's descriptor at set_mmap_offset. Fields up to
 * set_seq are those of 2.2. set_pmds are the values when they were last collected; in the active
 * set, hardware counters have counted since, and perfmon_fast.h adds their counts. set_seq is
 * odd during an update and changes with each: values read between two reads of the same even
 * number are consistent.
 */
typedef struct {
	uint32_t	set_status;		/* PFM_SETVFL_* */
	uint32_t	set_reserved1;
	uint64_t	set_runs;		/* times the set became the active one */
	uint64_t	set_pmds[PFM_MAX_PMDS];
	volatile unsigned long set_seq;
#if defined(__SIZEOF_LONG__) && __SIZEOF_LONG__ == 4
	uint32_t	set_reserved2;
#endif
	/* Own fields. */
	uint64_t	set_owner;		/* thread pointer of the reading thread; 0: none */
	/* a value is this plus the counter, sign-extended */
	uint64_t	set_base[PFM_VIEW_COUNTERS];
	uint8_t		set_index[PFM_MAX_PMDS];	/* PFM_VIEW_*, or the counter's number */
	uint8_t		set_shift;		/* 64 minus the width of a counter */
	uint8_t		set_reserved3[7];
} pfm_set_view_t;

/* --- messages: 3.3, 3.4.3 ------------------------------------------------------------------- */

#define PFM_MSG_OVFL	1U	/* a counter overflowed */
#define PFM_MSG_END	2U	/* the monitored thread ended; the context is unloaded */
#define PFM_MSG_PREEMPTED 3U	/* own, 6.5: the context has regained the PMU from another */

typedef struct {
	uint32_t	msg_type;
	uint32_t	msg_ovfl_pid;		/* process id */
	uint16_t	msg_active_set;
	uint16_t	msg_ovfl_cpu;
	uint32_t	msg_ovfl_tid;		/* thread id */
	uint64_t	msg_ovfl_ip;
	/* no bit: masked because a set could not be installed, or a record filled the buffer */
	uint64_t	msg_ovfl_pmds[PFM_PMD_BV];
} pfarg_ovfl_msg_t;

typedef struct {
	uint32_t	msg_type;
	uint32_t	msg_reserved1;
	uint64_t	msg_reserved2[7];
} pfarg_end_msg_t;

/*
 * For PFM_FL_PREEMPTIBLE. If the queue is full the message is dropped; set_blind has the total
 * time.
 */
typedef struct {
	uint32_t	msg_type;
	uint32_t	msg_preempt_tid;	/* the thread that had the PMU */
	uint16_t	msg_active_set;
	uint16_t	msg_preempt_cpu;
	uint32_t	msg_reserved1;
	uint64_t	msg_lost_at;		/* ns, on the clock of time stamps */
	uint64_t	msg_regained_at;
	uint64_t	msg_blind;		/* ns without monitoring, lost_at to regained_at */
	uint64_t	msg_reserved2[3];
} pfarg_preempted_msg_t;

typedef union {
	uint32_t		type;
	uint32_t		msg_type;
	pfarg_ovfl_msg_t	pfm_ovfl_msg;
	pfarg_end_msg_t		pfm_end_msg;
	pfarg_preempted_msg_t	pfm_preempted_msg;
} pfarg_msg_t;
typedef pfarg_msg_t pfm_msg_t;

/* --- the PMU and the machine: 3.1.13, 3.1.14, 3.1.16, 3.1.17 -------------------------------- */

#define PFM_REG_TYPE_PMC	1	/* reg_type: the kind of the actual register */
#define PFM_REG_TYPE_MSR	2
#define PFM_REG_TYPE_SPR	3
#define PFM_REG_TYPE_IBR	4
#define PFM_REG_TYPE_DBR	5
#define PFM_REG_TYPE_PMD	6
#define PFM_REG_TYPE_SW		7	/* own: an event source of the operating system */
#define PFM_REG_TYPE_VIRT	8	/* own: a virtual PMD, 3.2.2 */
#define PFM_REG_IDX_NONE	(~0ULL)

#define PFM_REG_I	0x001U	/* reg_kind: implemented */
#define PFM_REG_WC	0x002U	/* the kernel checks writes */
#define PFM_REG_C64	0x004U	/* counts */
#define PFM_REG_RO	0x008U	/* cannot be written */
#define PFM_REG_V	0x010U	/* virtual */
#define PFM_REG_INTR	0x020U	/* an overflow interrupts */
#define PFM_REG_NO64	0x100U	/* PMC: supports PFM_REGFL_NO_EMUL64 */

#define PFM_REG_NAME_LEN 32

typedef struct {
	uint16_t	reg_num;		/* in */
	uint16_t	reg_type;		/* PFM_REG_TYPE_* */
	uint32_t	reg_flags;		/* out: PFM_REG_RETFL_* */
	uint64_t	reg_def_value;
	uint64_t	reg_rsvd_mask;		/* reserved bits, which keep their default */
	uint64_t	reg_index;		/* the actual register, or PFM_REG_IDX_NONE */
	uint32_t	reg_kind;		/* PFM_REG_I ... */
	uint16_t	reg_width;		/* bits in hardware */
	uint16_t	reg_ctrl;		/* PMD: the PMC that controls it, or 0xffff */
	char		reg_name[PFM_REG_NAME_LEN];
	uint64_t	reg_reserved[2];
} pfarg_reginfo_t;
typedef pfarg_reginfo_t pfarg_pmcinfo_t;
typedef pfarg_reginfo_t pfarg_pmdinfo_t;

#define PFM_REG_NO_CTRL	0xffffU
#define PFM_GROUP_ANY	(~0U)		/* cf_sys_gid, cf_thread_gid: no restriction */

typedef struct {
	uint32_t	cf_version;
	uint32_t	cf_flags;
	uint64_t	cf_impl_pmcs[PFM_PMC_BV];
	uint64_t	cf_impl_pmds[PFM_PMD_BV];
	uint32_t	cf_sys_gid;
	uint32_t	cf_thread_gid;
	uint64_t	cf_arg_size_max;	/* most bytes of a vector argument */
	uint64_t	cf_smpl_buf_size_max;	/* most bytes of all sampling buffers together */
	uint16_t	cf_counter_width;	/* bits */
	uint16_t	cf_reserved1[3];
	/* overflows per second and context, 0: no throttling; 4.4.4 */
	uint64_t	cf_ovfl_rate_max;
	uint64_t	cf_smpl_buf_size_cur;	/* out: bytes in use */
	uint64_t	cf_thread_sessions;	/* out: loaded per-thread contexts */
	uint64_t	cf_sys_sessions;	/* out: loaded system-wide contexts */
	char		cf_pmu[64];		/* out: name of the PMU model */
	uint64_t	cf_reserved2[4];
} pfarg_config_t;

#define PFM_FMT_NAME_LEN 32
#define PFM_FMTFL_NOSET	0x1U	/* the format supports set 0 only */

typedef struct {
	char		fmt_name[PFM_FMT_NAME_LEN];
	pfm_uuid_t	fmt_uuid;
	uint32_t	fmt_flags;
	uint32_t	fmt_version;
	uint64_t	fmt_arg_size;
	uint64_t	fmt_reserved[2];
} pfarg_fmtinfo_t;

/* --- libperfmon ----------------------------------------------------------------------------- */
#ifndef __KERNEL__

typedef int os_err_t;	/* libpfm 3's name for the type that calls return */

/*
 * pfm_create_context(ctx, 1): the call of specification 6.1.1. The format's argument follows the
 * structure directly; returns 0, and the descriptor in ctx_fd. EFAULT: the number is not 1.
 * pfm_create_context(ctx, fmt_arg, arg_size): version 2.2; the context has the format's UUID.
 * pfm_create_context(ctx, fmt_name, fmt_arg, arg_size): version 2.3 and later; the format's
 * name, or NULL for none. The last two return the descriptor, and also store it in ctx_fd
 * (3.1.1). The function's address is that of the last form. LPFM_ANY_CPU=1 in the environment
 * adds PFM_FL_ANY_CPU to all system-wide contexts.
 */
int pfm_create_context_n(pfarg_ctx_t *ctx, int n);
int pfm_create_context_uuid(pfarg_ctx_t *ctx, void *fmt_arg, size_t arg_size);
int pfm_create_context_name(pfarg_ctx_t *ctx, const char *fmt_name, void *fmt_arg, size_t arg_size);
int pfm_create_context(pfarg_ctx_t *ctx, char *fmt_name, void *fmt_arg, size_t arg_size);
#define PFM_PICK_CREATE_(a, b, c, d, call, ...) call
#define pfm_create_context(...) \
	PFM_PICK_CREATE_(__VA_ARGS__, pfm_create_context_name, pfm_create_context_uuid, \
			 pfm_create_context_n, 0)(__VA_ARGS__)

int pfm_write_pmcs(int fd, pfarg_pmc_t *pmcs, int n);
int pfm_write_pmds(int fd, pfarg_pmd_t *pmds, int n);
int pfm_read_pmds(int fd, pfarg_pmd_t *pmds, int n);
int pfm_load_context(int fd, pfarg_load_t *load);
int pfm_start(int fd, pfarg_start_t *start);
int pfm_stop(int fd);
int pfm_restart(int fd);
int pfm_create_evtsets(int fd, pfarg_setdesc_t *sets, int n);
int pfm_getinfo_evtsets(int fd, pfarg_setinfo_t *infos, int n);
int pfm_delete_evtsets(int fd, pfarg_setdesc_t *sets, int n);
int pfm_unload_context(int fd);

int pfm_getinfo_pmcs(pfarg_pmcinfo_t *pmcs, int n);
int pfm_getinfo_pmds(pfarg_pmdinfo_t *pmds, int n);
int pfm_get_config(pfarg_config_t *config);
int pfm_set_config(pfarg_config_t *config);

/* Lists the registered sampling formats (3.5.2): fills in up to n entries, returns their number. */
int pfm_getinfo_fmts(pfarg_fmtinfo_t *fmts, int n);

/*
 * Maps the sampling buffer read-only, in the same way on all machines. MAP_FAILED with errno on
 * error.
 */
void *pfm_map_buffer(int fd, size_t size);
int pfm_unmap_buffer(void *addr, size_t size);

/*
 * A mapped view: filled in by pfm_map_set(), or by hand; pfm_read_fast() in perfmon_fast.h reads
 * it.
 */
typedef struct {
	const pfm_set_view_t	*page;
	int			fd;		/* the descriptor of the context */
	uint16_t		set;
} pfm_view_t;

/*
 * Maps the view of a set of a context with PFM_FL_MAP_SETS, as mmap(2) at set_mmap_offset does,
 * on every machine. EINVAL: no such set, or no MAP_SETS; EPERM: a context of another user. The
 * view must not be read any more after pfm_unmap_set(), or after the process has closed its last
 * descriptor of the context.
 */
int pfm_map_set(int fd, uint16_t set, pfm_view_t *view);
int pfm_unmap_set(pfm_view_t *view);
/*
 * pfm_read_view() does what pfm_read_fast() cannot inline; pfm_read_mapped() is pfm_read_fast() for
 * languages other than C.
 */
int pfm_read_view(const pfm_view_t *view, const uint16_t *nums, uint64_t *values, int n);
int pfm_read_mapped(const pfm_view_t *view, const uint16_t *nums, uint64_t *values, int n);

/* Returns the reason why the last call of this thread failed, in words; never NULL. */
const char *pfm_explain(void);

/*
 * Selects the machine for contexts that are created later: "linux", "perf", "sim", "sim:MODEL"
 * or "sim:MODEL,live" (perfmon/sim.h), with options "key=value,..." or NULL. Without this call,
 * LPFM_MACHINE in the environment selects it; without that, linux or perf, the first that works.
 * If none works, every call fails with perf's errno (EPERM, ENOSYS), and pfm_explain() gives the
 * reason. Existing contexts keep their machine.
 */
int pfm_set_machine(const char *name, const char *options);

/*
 * Returns the i-th machine name that pfm_set_machine() accepts, counted from 0; NULL after the
 * last.
 */
const char *pfm_machine_name(int i);

typedef struct {
	const char	*name;		/* "perf", "sim:itanium2", ... */
	const char	*pmu;		/* the PMU model */
	const char	*notes;		/* what does not work here, and why, in lines; or "" */
	const char	*limits;	/* differences from the specification, in lines; or "" */
	int		hw_counters;	/* number of hardware counters, 0: none */
} pfm_machine_info_t;

/*
 * Describes the machine in use, and selects one if there is none yet. The strings remain valid
 * until another machine is selected.
 */
int pfm_get_machine(pfm_machine_info_t *info);

/*
 * Own: events of this Linux that neither PMU registers nor software counters count, on machine
 * perf: tracepoints, and events of the PMUs in /sys/bus/event_source/devices. The members are
 * those of perf_event_open(2).
 */
#define PFM_PERF_ALONE		0x1U	/* in no group with others; does not sample */
#define PFM_PERF_WHOLE_CPUS	0x2U	/* counts all tasks on its CPUs: for SYSTEM_WIDE */
/*
 * For sampling, precise_ip of perf_event_open(2): how near addresses are to the instruction that
 * caused the overflow. 1: at a constant distance; 2: exact if possible; 3: exact. Intel's PEBS
 * and AMD's IBS provide it.
 */
#define PFM_PERF_PRECISE(n)	((uint32_t)(n) << 8)
#define PFM_PERF_PRECISE_OF(flags) ((flags) >> 8 & 3)

typedef struct {
	uint32_t	type;
	uint32_t	flags;		/* PFM_PERF_*, ORed */
	uint64_t	config, config1, config2;
	const char	*filter;	/* filter of a tracepoint: "prev_prio < 100"; or NULL */
	const char	*cpus;		/* CPUs with the event, as "0-3,8"; or NULL */
	uint64_t	reserved[2];
} pfm_perf_event_t;

/*
 * Returns the value for a PMC from 96 to 127 by which the PMD of the same number counts the
 * event. The caller adds the levels as for software counters: 8 (user) and 1 (kernel). On one
 * machine equal events have equal values during the life of the process. EOPNOTSUPP: the machine
 * is not perf; EINVAL: flags, CPUs, or a filter without a tracepoint. Whether the kernel accepts
 * the event is known when the context is loaded.
 */
int pfm_perf_event(const pfm_perf_event_t *event, uint64_t *value);

/*
 * Own: lets a system-wide context that is not loaded yet count only tasks of a cgroup and of
 * those below it. path is its folder in a cgroup file system with the perf_event controller (any
 * of version 2); NULL removes the restriction. Machines other than perf return EOPNOTSUPP.
 * EINVAL: a per-thread context, a loaded one, no such folder.
 */
int pfm_set_cgroup(int fd, const char *path);

/*
 * Programs written for kernels with perfmon2 call mmap(2) and munmap(2) on the descriptor, so
 * these names are redirected to libperfmon. To prevent that, define PFM_NO_MMAP_REDIRECT before
 * the #include.
 */
void *pfm_mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset);
int pfm_munmap(void *addr, size_t length);
#ifndef PFM_NO_MMAP_REDIRECT
#define mmap(addr, length, prot, flags, fd, offset) pfm_mmap(addr, length, prot, flags, fd, offset)
#define munmap(addr, length) pfm_munmap(addr, length)
#endif

#endif /* !__KERNEL__ */

#ifdef __cplusplus
}
#endif
#endif /* PERFMON_PERFMON_H */
