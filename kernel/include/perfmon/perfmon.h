/* SPDX-License-Identifier: MIT */
/*
 * perfmon.h - the perfmon2 interface, one function a call.
 *
 * Structures have the sizes and offsets of the last perfmon2 2.x kernels, so that programs written
 * for them compile unchanged. What the specification 0.6 and version 2.2 had beyond that lives in
 * fields that were reserved in 2.x; such fields carry the remark "(was reserved)". "own" marks this
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

/* The interface's version, that of the last 2.x kernels; the project has a number of its own. */
#define PFM_VERSION_MAJ		2U
#define PFM_VERSION_MIN		82U
#define PFM_VERSION		((PFM_VERSION_MAJ << 16) | PFM_VERSION_MIN)
#define PFM_VERSION_MAJOR(v)	(((v) >> 16) & 0xffff)
#define PFM_VERSION_MINOR(v)	((v) & 0xffff)

#define PFM_MAX_PMCS		320
#define PFM_MAX_PMDS		320
#define PFM_BVSIZE(bits)	(((bits) + 63) / 64)	/* of a bit-vector, in words of 64 bits */
#define PFM_PMC_BV		PFM_BVSIZE(PFM_MAX_PMCS)
#define PFM_PMD_BV		PFM_BVSIZE(PFM_MAX_PMDS)
#define PFM_MAX_PMC_BITVECTOR	PFM_PMC_BV
#define PFM_MAX_PMD_BITVECTOR	PFM_PMD_BV

typedef unsigned char pfm_uuid_t[16];

/* --- contexts: 3.1.1 ------------------------------------------------------------------------ */

#define PFM_FL_NOTIFY_BLOCK	0x01U	/* the monitored thread stops until pfm_restart() */
#define PFM_FL_SYSTEM_WIDE	0x02U	/* monitors a CPU, not a thread */
#define PFM_FL_SMPL_FMT		0x04U	/* v3 spelling of "a format is given"; accepted, not needed */
#define PFM_FL_ANY_CPU		0x08U	/* own: system-wide: commands from every CPU, for every CPU */
#define PFM_FL_MAP_SETS		0x10U	/* 2.2: PMD values of each set can be mapped: pfm_set_view_t */
#define PFM_FL_INHERIT		0x20U	/* own: children count with the thread; see pfarg_ctx_t */
#define PFM_FL_PREEMPTIBLE	0x40U	/* 6.5, system-wide: contexts of threads take the PMU from it */
#define PFM_FL_OVFL_NO_MSG	0x80U	/* notification by signal alone */
#define PFM_FL_PROCESS		0x100U	/* own, INHERIT and a format: all threads of the process */
#define PFM_FL_ON_EXEC		0x200U	/* own, with INHERIT: from the next exec(2) on */
#define PFM_ITA_FL_INSECURE	0x10000U	/* 5.4.1 */
#define PFM_ITA_FL_PRIV_MONITORS 0x20000U	/* 6.4.1 */

/*
 * Own: PFM_FL_INHERIT. Threads and processes that the monitored thread creates while the context is loaded, and
 * all that these create, are counted with the same event sets from their birth. What pfm_read_pmds() returns is the
 * count of the thread and of them all, those that have ended and those that live; of a PMD written with
 * PFM_REGFL_OWN, a read with PFM_REGFL_OWN returns that of the thread alone. Writing a PMD makes the sum what is
 * written. A read with PFM_REGFL_ENDED returns what the others have counted that have ended since the PMD was written,
 * which is to be done when none of them lives (EINVAL on machine perf, where the kernel tells the sum with the living).
 * With ON_EXEC each thread counts from its next exec(2) on, or from its birth if the monitored one has had its own.
 * Each begins with the set that is active in the monitored thread; of sets with TIME_SWITCH with the one after that of
 * the child before, so that short-lived ones cover them all. Each has a timeout of its own; pfm_getinfo_evtsets() adds
 * up runs, duration and what was lost. The context is unloaded, and END posted, when all have ended. EINVAL: with
 * SYSTEM_WIDE, NOTIFY_BLOCK or MAP_SETS; EBUSY: pfm_write_pmcs() once it is loaded. Those for which memory lacks are
 * not counted: set_lost of set 0 says how many. If others have a counter at the birth of one, set_blind has its time;
 * with a sampling format set_lost counts it. The machine perf differs in some of it: limits of pfm_machine_info_t.
 *
 * Without a sampling format overflows and pfm_restart() concern the thread alone, others count on, and OVFL_SWITCH is
 * EINVAL.
 *
 * With one the samples and records of all are in the context's buffer, with their pid and tid, and their messages in
 * its queue. A PMD with a long or short reset value is each thread's own: it is not added up, and in a child begins at
 * the long reset, or where one that has ended left it; a child's random periods are a series of its own. A thread that
 * finds the buffer full is masked, others go on until they find it full too; there is one message, and pfm_restart()
 * lets them all go on.
 * Where threads on several CPUs sample at the same time, on machine linux, the buffer is of as many equal parts as
 * there are CPUs, pfm_ctx_buf_parts(), one after the other in the mapping, each with a header of its own; threads on
 * CPU n fill part n modulo that number, and msg_ovfl_cpu says which one a message is about. There pfm_restart() gives
 * back the parts or regions of the messages that were read; or, if none was read since the load, all full ones. Each
 * part has the size that the format was asked for, and ctx_smpl_buf_size is that of all. Formats with something beside
 * the buffer (program) are EINVAL there.
 */
typedef struct {
	uint32_t	ctx_flags;
	int32_t		ctx_fd;			/* out (was reserved): the descriptor, as returned */
	pfm_uuid_t	ctx_smpl_buf_id;	/* in (was reserved): format by UUID, zeros: none */
	uint64_t	ctx_smpl_buf_size;	/* out (was reserved): size of the buffer to map, or 0 */
	uint64_t	ctx_reserved[4];	/* [0]: out (was reserved), with INHERIT: pfm_ctx_buf_parts() */
} pfarg_ctx_t;

/* Of how many equal parts, one after the other, the buffer of a context with PFM_FL_INHERIT is; 0: it has none. */
#define pfm_ctx_buf_parts(ctx)	((ctx)->ctx_reserved[0])

/* --- registers: 3.1.2 - 3.1.4 --------------------------------------------------------------- */

#define PFM_REGFL_OVFL_NOTIFY	0x1U	/* PMD: its overflow notifies */
#define PFM_REGFL_RANDOM	0x2U	/* PMD: its resets are randomized */
#define PFM_REGFL_NO_EMUL64	0x4U	/* PMC: its counters stay as wide as the hardware's */
#define PFM_REGFL_NO_64BIT_EMUL	PFM_REGFL_NO_EMUL64
#define PFM_REGFL_READ_RESET	0x8U	/* 6.2.2, pfm_read_pmds: long reset after the read */
#define PFM_REGFL_OWN		0x10U	/* own, with INHERIT alone: the thread's own count: pfarg_ctx_t */
#define PFM_REGFL_ENDED		0x20U	/* own: pfm_read_pmds, with INHERIT: the count of those ended */
#define PFM_REGFL_FREQUENCY	0x40U	/* own, with INHERIT and a format: resets are overflows a second */
/*
 * Own: what 0.6 splits between PMC and PMD. With VALUES pfm_write_pmds leaves flags, reset_pmds,
 * smpl_pmds and smpl_eventid as they are; with ATTRS it writes only these.
 */
#define PFM_REGFL_VALUES	0x100000U
#define PFM_REGFL_ATTRS		0x200000U
/* Own, pfm_write_pmds: check the element, write nothing. */
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
	uint32_t	reg_flags;		/* OVFL_NOTIFY, RANDOM, READ_RESET, OWN; out: PFM_REG_RETFL_* */
	uint64_t	reg_value;		/* a sampling period p is written as -p */
	uint64_t	reg_long_reset;		/* value after pfm_restart() */
	uint64_t	reg_short_reset;	/* value after an overflow handled by the kernel alone */
	uint64_t	reg_last_reset_val;	/* out: value last loaded by a reset */
	uint64_t	reg_ovfl_switch_cnt;	/* in: overflows until the switch; out: what remains */
	uint64_t	reg_reset_pmds[PFM_PMD_BV];	/* reset with this one */
	uint64_t	reg_smpl_pmds[PFM_PMD_BV];	/* recorded with its overflow */
	uint64_t	reg_smpl_eventid;	/* opaque, handed to the format */
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
	uint32_t	load_pid;	/* thread id; system-wide: one's own thread id, or the current CPU */
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
	uint16_t	set_id_next;		/* (was reserved) with EXPL_NEXT */
	uint32_t	set_flags;
	uint64_t	set_timeout;		/* ns; out: the effective timeout */
#ifdef PFM_SOURCE_2_2		/* for source of that time; initializers of later source know the array */
	uint64_t	set_mmap_offset;
	uint64_t	set_reserved[5];
#else
	uint64_t	set_reserved[6];	/* [0]: out (was reserved), with MAP_SETS: pfm_set_mmap_offset() */
#endif
} pfarg_setdesc_t;

/* What pfm_create_evtsets() wrote: the offset by which mmap(2) maps the set's view. */
#ifdef PFM_SOURCE_2_2
#define pfm_set_mmap_offset(desc)	((desc)->set_mmap_offset)
#else
#define pfm_set_mmap_offset(desc)	((desc)->set_reserved[0])
#endif

typedef struct {
	uint16_t	set_id;
	uint16_t	set_id_next;		/* (was reserved) */
	uint32_t	set_flags;
	uint64_t	set_ovfl_pmds[PFM_PMD_BV];	/* PMDs that last caused a switch from this set */
	uint64_t	set_runs;		/* times the set became the active one */
	uint64_t	set_timeout;		/* ns left of the timeout */
	uint64_t	set_act_duration;	/* ns active and monitoring */
	uint64_t	set_avail_pmcs[PFM_PMC_BV];
	uint64_t	set_avail_pmds[PFM_PMD_BV];
	uint64_t	set_mmap_offset;	/* (was reserved) as in pfarg_setdesc_t; 0: no view */
	uint64_t	set_lost;		/* (was reserved) overflows the machine could not deliver */
	uint64_t	set_throttled;		/* (was reserved) overflows held back by throttling, 4.4.4 */
	uint64_t	set_blind;		/* (was reserved) ns of the duration for which others had counters */
	uint64_t	set_late;		/* (was reserved) of set_lost, those that a timer came too late for */
	uint64_t	set_reserved[1];
} pfarg_setinfo_t;

/* --- views: 2.2, fast user-level PMD read -------------------------------------------------------- */

#define PFM_SETVFL_ACTIVE	0x1U	/* set_status: it is the active set */
#define PFM_SETVFL_DIRECT	0x2U	/* own: all its PMDs can be read without a call, by set_owner's thread */

/* set_index, beside a counter's number, from 1 on. */
#define PFM_VIEW_CALL		0U	/* the value is had by a call alone */
#define PFM_VIEW_ELSEWHERE	0xfeU	/* on a page of the kernel's own that libperfmon knows */
#define PFM_VIEW_STILL		0xffU	/* set_pmds is the value: nothing counts there now */
#define PFM_VIEW_COUNTERS	64	/* counters of the PMU have lower numbers */

/*
 * A set's view, mapped read-only from the context's descriptor at set_mmap_offset. Up to set_seq it is that of 2.2.
 * set_pmds are the values as far as they are collected: those of the active set count on in the hardware.
 * perfmon_fast.h reads up to the moment. set_seq changes with everything else, and is odd meanwhile: what was read
 * between two reads of the same even number belongs together.
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
	/* own */
	uint64_t	set_owner;		/* thread pointer of the thread that may read counters; 0: none */
	uint64_t	set_base[PFM_VIEW_COUNTERS];	/* added to the counter's bits, sign-extended */
	uint8_t		set_index[PFM_MAX_PMDS];	/* PFM_VIEW_*, or a counter */
	uint8_t		set_shift;		/* 64 less the bits of a counter */
	uint8_t		set_reserved3[7];
} pfm_set_view_t;

/* --- messages: 3.3, 3.4.3 ------------------------------------------------------------------- */

#define PFM_MSG_OVFL	1U	/* a counter overflowed */
#define PFM_MSG_END	2U	/* the monitored thread ended; the context is unloaded */
#define PFM_MSG_PREEMPTED 3U	/* own, 6.5: the context has the PMU back, which another one had */

typedef struct {
	uint32_t	msg_type;
	uint32_t	msg_ovfl_pid;		/* process */
	uint16_t	msg_active_set;
	uint16_t	msg_ovfl_cpu;
	uint32_t	msg_ovfl_tid;		/* thread */
	uint64_t	msg_ovfl_ip;
	uint64_t	msg_ovfl_pmds[PFM_PMD_BV];	/* none: a set is not installed; pfm_restart() tries again */
} pfarg_ovfl_msg_t;

typedef struct {
	uint32_t	msg_type;
	uint32_t	msg_reserved1;
	uint64_t	msg_reserved2[7];
} pfarg_end_msg_t;

/* With PFM_FL_PREEMPTIBLE. Dropped where the queue is full: the sum is in set_blind. */
typedef struct {
	uint32_t	msg_type;
	uint32_t	msg_preempt_tid;	/* the thread with the context that had the PMU */
	uint16_t	msg_active_set;
	uint16_t	msg_preempt_cpu;
	uint32_t	msg_reserved1;
	uint64_t	msg_lost_at;		/* ns, of the machine's clock, as in time stamps */
	uint64_t	msg_regained_at;
	uint64_t	msg_blind;		/* ns of the time between in which it would have monitored */
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

/* --- what the PMU and the machine are: 3.1.13, 3.1.14, 3.1.16, 3.1.17 ----------------------- */

#define PFM_REG_TYPE_PMC	1	/* reg_type: kind of the actual register */
#define PFM_REG_TYPE_MSR	2
#define PFM_REG_TYPE_SPR	3
#define PFM_REG_TYPE_IBR	4
#define PFM_REG_TYPE_DBR	5
#define PFM_REG_TYPE_PMD	6
#define PFM_REG_TYPE_SW		7	/* own: an event source of the operating system */
#define PFM_REG_TYPE_VIRT	8	/* own: a virtual PMD, 3.2.2 */
#define PFM_REG_IDX_NONE	(~0ULL)

#define PFM_REG_I	0x001U	/* reg_kind: implemented */
#define PFM_REG_WC	0x002U	/* writes are checked */
#define PFM_REG_C64	0x004U	/* counts */
#define PFM_REG_RO	0x008U	/* cannot be written */
#define PFM_REG_V	0x010U	/* virtual */
#define PFM_REG_INTR	0x020U	/* its overflow interrupts */
#define PFM_REG_NO64	0x100U	/* PMC: knows PFM_REGFL_NO_EMUL64 */

#define PFM_REG_NAME_LEN 32

typedef struct {
	uint16_t	reg_num;		/* in */
	uint16_t	reg_type;		/* PFM_REG_TYPE_* */
	uint32_t	reg_flags;		/* out: PFM_REG_RETFL_* */
	uint64_t	reg_def_value;
	uint64_t	reg_rsvd_mask;		/* bits that keep their default */
	uint64_t	reg_index;		/* of the actual register, or PFM_REG_IDX_NONE */
	uint32_t	reg_kind;		/* PFM_REG_I ... */
	uint16_t	reg_width;		/* bits the hardware has */
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
	uint64_t	cf_arg_size_max;	/* bytes, of a vector argument */
	uint64_t	cf_smpl_buf_size_max;	/* bytes, of all sampling buffers together */
	uint16_t	cf_counter_width;	/* bits */
	uint16_t	cf_reserved1[3];
	uint64_t	cf_ovfl_rate_max;	/* overflows per second and context, 0: no throttling; 4.4.4 */
	uint64_t	cf_smpl_buf_size_cur;	/* out: bytes in use */
	uint64_t	cf_thread_sessions;	/* out: loaded per-thread contexts */
	uint64_t	cf_sys_sessions;	/* out: loaded system-wide contexts */
	char		cf_pmu[64];		/* out: name of the PMU model */
	uint64_t	cf_reserved2[4];
} pfarg_config_t;

#define PFM_FMT_NAME_LEN 32
#define PFM_FMTFL_NOSET	0x1U	/* the format knows set 0 only */

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

typedef int os_err_t;	/* what calls return, in the words of libpfm 3 */

/*
 * pfm_create_context(ctx, 1): specification 6.1.1, which is 3.1.1 as a call: the format's argument follows the
 * structure directly; returns 0, the descriptor is in ctx_fd. EFAULT: another number than 1.
 * pfm_create_context(ctx, fmt_arg, arg_size): format by UUID in the context (2.2), or
 * pfm_create_context(ctx, fmt_name, fmt_arg, arg_size): format by name, NULL for none (2.3 and later).
 * These return the descriptor, which is also stored in ctx_fd. Specification 3.1.1. Its address is that of the
 * last. With LPFM_ANY_CPU=1 in the environment system-wide contexts have PFM_FL_ANY_CPU without being asked.
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

/* Registered sampling formats, 3.5.2: fills up to n entries, returns how many there are. */
int pfm_getinfo_fmts(pfarg_fmtinfo_t *fmts, int n);

/* The sampling buffer, read-only; the same on every machine. MAP_FAILED with errno on error. */
void *pfm_map_buffer(int fd, size_t size);
int pfm_unmap_buffer(void *addr, size_t size);

/* A view in use: filled in by pfm_map_set(), or by hand; read by pfm_read_fast() of perfmon_fast.h. */
typedef struct {
	const pfm_set_view_t	*page;
	int			fd;		/* context and set, for what takes a call */
	uint16_t		set;
} pfm_view_t;

/*
 * Maps the view of a set of a context with PFM_FL_MAP_SETS: what mmap(2) does at set_mmap_offset, on every machine.
 * EINVAL: no such set, or no MAP_SETS; EPERM: a context of another user. pfm_unmap_set() ends it; the close of the
 * process' last descriptor does, too, and nothing may be read from then on.
 */
int pfm_map_set(int fd, uint16_t set, pfm_view_t *view);
int pfm_unmap_set(pfm_view_t *view);
/* What pfm_read_fast() calls for what it cannot do; and itself as a function of the library, for other languages. */
int pfm_read_view(const pfm_view_t *view, const uint16_t *nums, uint64_t *values, int n);
int pfm_read_mapped(const pfm_view_t *view, const uint16_t *nums, uint64_t *values, int n);

/* Why the last call of this thread failed, in words; never NULL. */
const char *pfm_explain(void);

/*
 * Chooses the machine that contexts are created on from now on: "linux", "perf", "sim", "sim:MODEL" or
 * "sim:MODEL,live" (perfmon/sim.h), with options "key=value,..." or NULL. Without a call the environment's
 * LPFM_MACHINE decides, else linux or perf is chosen, the first that works. If none does, every call fails with perf's
 * errno (EPERM, ENOSYS) and pfm_explain() tells the reason. Existing contexts stay where they are.
 */
int pfm_set_machine(const char *name, const char *options);

/* Name i, counting from 0, of those that pfm_set_machine() takes; NULL after the last. */
const char *pfm_machine_name(int i);

typedef struct {
	const char	*name;		/* "perf", "sim:itanium2", ... */
	const char	*pmu;		/* the PMU model */
	const char	*notes;		/* what does not work here and why, one per line; or "" */
	const char	*limits;	/* where it departs from the specification, one per line; or "" */
	int		hw_counters;	/* number of hardware counters, 0: none */
} pfm_machine_info_t;

/* The machine in use (choosing one if need be); the strings stay valid for the process. */
int pfm_get_machine(pfm_machine_info_t *info);

/*
 * Own: events of this Linux that neither the PMU's registers nor the software counters count, on the machine perf:
 * tracepoints, and those of the PMUs of /sys/bus/event_source/devices. The members are perf_event_open(2)'s.
 */
#define PFM_PERF_ALONE		0x1U	/* in no group with others of its set; counts, does not sample */
#define PFM_PERF_WHOLE_CPUS	0x2U	/* counts CPUs, whatever runs there: for system-wide contexts */
/*
 * Where it samples, addresses are those of the instructions that caused the overflows, as perf_event_open(2) has it in
 * precise_ip: 1, a constant distance from them; 2, asked for to be exact; 3, exact. Intel's PEBS, AMD's IBS.
 */
#define PFM_PERF_PRECISE(n)	((uint32_t)(n) << 8)
#define PFM_PERF_PRECISE_OF(flags) ((flags) >> 8 & 3)

typedef struct {
	uint32_t	type;
	uint32_t	flags;		/* PFM_PERF_*, ORed */
	uint64_t	config, config1, config2;
	const char	*filter;	/* of a tracepoint, in the kernel's words: "prev_prio < 100"; or NULL */
	const char	*cpus;		/* "0-3,8": on others system-wide contexts count nothing; or NULL */
	uint64_t	reserved[2];
} pfm_perf_event_t;

/*
 * Gives the value with which a PMC from 96 to 127 has its PMD, of the same number, count the event; the caller adds the
 * levels as with software counters, 8 (user) and 1 (kernel). Equal events have equal values, as long as the process
 * lives, on this machine. EOPNOTSUPP: another machine than perf; EINVAL: flags, CPUs, or a filter without a tracepoint.
 * What the kernel does not take is told when the context is loaded.
 */
int pfm_perf_event(const pfm_perf_event_t *event, uint64_t *value);

/*
 * Own: a system-wide context, not yet loaded, counts on its CPU the tasks of a cgroup alone, and of those below it.
 * path: its folder in a cgroup file system that the kernel's perf_event controller is on (any of version 2); NULL: all
 * tasks again. On the machine perf; EOPNOTSUPP elsewhere. EINVAL: a context of threads, a loaded one, no such folder.
 */
int pfm_set_cgroup(int fd, const char *path);

/*
 * Source written for a kernel that has perfmon2 calls mmap(2) and munmap(2) on the descriptor.
 * libperfmon serves both; define PFM_NO_MMAP_REDIRECT before including this to leave mmap alone.
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
