/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * machine.h - the contract between the core and a machine.
 *
 * A machine is whatever has counters and runs threads: the Linux kernel, a process using
 * perf_event_open(2), a simulated computer. It fills in struct pfm_machine_ops and calls the core
 * back through the functions at the end of this file.
 *
 * Locking. The transport (file operations, libperfmon) holds the context's own lock around every
 * command of core.h; commands on one context never run concurrently. Overflows, timeouts and
 * context switches may come at any time in the kernel, on any CPU, and make any set the active one:
 * while a context is loaded the core touches what they touch (the registers and arrays of all sets, which
 * one is active, state, timeouts) only inside access(), and frees what they could see only after it has
 * been replaced there. A machine in user space holds the same lock in its call-backs into the core, so
 * that access() can be a plain call there. The configuration is read without a lock, word by word.
 */
#ifndef PFM_CORE_MACHINE_H
#define PFM_CORE_MACHINE_H

#include "os.h"
#include "perfmon/perfmon.h"

struct pfm_context;
struct pfm_set;
struct pfm_pmu;
struct pfm_machine;
struct pfm_bare_ops;
struct pfm_fast_read;

struct pfm_where;
struct pfm_record;

enum pfm_frames { PFM_KERNEL_FRAMES, PFM_USER_FRAMES };

/*
 * The stack at an overflow, for formats: asked during pfm_overflow(), in PMU context, so without sleeping or
 * faulting. frames: the return addresses of a level, the innermost first, at most max; the sample's own address goes
 * before those of the level it is of. Returns how many. regs, copy (both or neither; not for every target): the
 * user's registers, as asm/perf_regs.h numbers them, and bytes from the user's stack pointer on; how many of
 * them, 0 where there is no user level.
 */
struct pfm_stack_ops {
	uint16_t (*frames)(const struct pfm_where *where, enum pfm_frames level, uint64_t *ips, uint16_t max);
	uint16_t (*regs)(const struct pfm_where *where, uint64_t *regs, uint16_t max);
	uint32_t (*copy)(const struct pfm_where *where, void *to, uint32_t max);
};

/* The address, thread, CPU and time of an overflow. */
struct pfm_where {
	uint64_t	ip;
	uint64_t	tstamp;		/* ns, of the machine's clock; unique per CPU */
	uint32_t	pid;		/* process */
	uint32_t	tid;		/* thread */
	uint16_t	cpu;
	void		*regs;		/* the machine's own; handed to formats as data, may be NULL */
	const struct pfm_stack_ops *stack;	/* how to walk it; NULL: the machine cannot */
};

/* The calling thread and its rights. */
struct pfm_caller {
	uint32_t	tid;
	uint32_t	pid;
	uint32_t	cpu;
	bool		admin;		/* may change the configuration, exempt from RLIMIT_MEMLOCK */
	uint64_t	memlock;	/* bytes the caller may still lock; ~0: no limit */
};

/* What contexts of other processes use, which the machine does not have in its own lists. */
struct pfm_usage {
	uint64_t	thread_sessions;
	uint64_t	sys_sessions;
	uint64_t	smpl_buf_size;
};

/*
 * Limits and configuration that all processes share, for machines of which each process has its own. All of them are
 * called under pfm_os_lock().
 */
struct pfm_sharing_ops {
	/* Reports a bound context, which has no conflict in this process. EBUSY: another process's conflicts. */
	int	(*claim)(struct pfm_context *ctx);
	void	(*disclaim)(struct pfm_context *ctx);
	/*
	 * The bytes of this process's buffers change from was, rounded to pages; false, and nothing changes, if the sum
	 * of all processes would exceed smpl_buf_size_max.
	 */
	bool	(*hold)(struct pfm_machine *m, uint64_t bytes, uint64_t was);
	void	(*others)(struct pfm_machine *m, struct pfm_usage *others);
	void	(*refresh)(struct pfm_machine *m);	/* reads the configuration */
	void	(*spread)(struct pfm_machine *m);	/* writes it */
};

/*
 * All operations get the context with ctx->machine set; errors are negative errno values, reported
 * through pfm_refuse(). "PMU context" means: inside access(), or in a call-back of the machine.
 * Operations marked optional may be NULL.
 */
struct pfm_machine_ops {
	const char *name;		/* "linux", "perf", "sim" */

	/* Set-up and end of a context: ctx->os is the machine's to use. Optional. */
	int	(*create)(struct pfm_context *ctx);
	void	(*destroy)(struct pfm_context *ctx);

	/*
	 * Binds the context. Per-thread: load_pid is the target thread. System-wide: the caller's
	 * thread id or the current CPU, and the CPU is the one the caller runs on (3.1.7).
	 * Sets ctx->tid, ctx->pid, ctx->cpu and ctx->self (the target is the calling thread).
	 * ESRCH no such thread; EPERM no permission; EINVAL not the caller's CPU; EBUSY conflict with
	 * something outside perfmon. Nothing counts yet. The registers follow by install().
	 * detach() takes back all of it; the active set was collected before. Neither is in PMU context.
	 */
	int	(*attach)(struct pfm_context *ctx, uint32_t load_pid);
	void	(*detach)(struct pfm_context *ctx);

	/*
	 * PFM_FL_INHERIT, optional. A machine that learns of new threads calls pfm_fork(), and has fork and release.
	 * fork: binds the child context child_ctx, which the core has made and programmed as its root, to child, as
	 * attach() does, and sets child_ctx->os. release: frees child_ctx->os, after detach(). Not in PMU context,
	 * under the root's lock. forks_pending, if threads may exist before pfm_fork() is called for them: are there
	 * any of this load now? Monitoring does not end before pfm_fork_done() was called for each of them, even if
	 * it got no child context. If the machine's kernel counts children by itself, it has inherits instead:
	 * collect() leaves in pmd->children what they counted since the PMD was written, or in the value itself if
	 * the PMD has no PFM_REGFL_OWN.
	 */
	int	(*fork)(struct pfm_context *child_ctx, void *child);
	void	(*release)(struct pfm_context *child_ctx);
	bool	(*forks_pending)(struct pfm_context *root);

	/*
	 * PFM_FL_INHERIT with a format; optional, both or neither; for machines on which overflows of a root and its
	 * child contexts come at the same time. num_parts: how many buffers (parts) are made. part, in PMU context: the
	 * number of the part to fill; CPU n has n modulo num_parts. If two overflows want the same part at the same
	 * time, one of them loses its sample. post() has a queue for each part, with room for fmt_msgq_depth messages,
	 * and the machine gives pfm_part_read() the value that root->parts[].post had at the post.
	 */
	unsigned int (*num_parts)(struct pfm_context *root);
	unsigned int (*part)(struct pfm_context *ctx);

	/*
	 * Optional: allocates what a PMC needs that comes into use in a loaded context, if that cannot be done in PMU
	 * context. The call's other arguments were checked before. EBUSY, ESRCH.
	 */
	int	(*need)(struct pfm_context *ctx, uint16_t num);

	/*
	 * Runs fn(ctx, arg) where the PMU state of a loaded context may be touched, its counters
	 * held and no overflow, timeout or switch meanwhile; returns what fn returned.
	 * EBUSY: a system-wide context commanded from another CPU (unless pfm_any_cpu()); ESRCH: the
	 * target is gone, and no overflow or timeout of it will come any more.
	 */
	int	(*access)(struct pfm_context *ctx, int (*fn)(struct pfm_context *, void *), void *arg);

	/*
	 * PMU context. install: put the set's used PMCs and PMDs on the PMU, frozen; fails only where
	 * resources must be had for it. collect: fold what the hardware counted since into the
	 * pmd->value of the set (a no-op where nothing is installed). write_pmc, write_pmd: put one
	 * register of the installed set, already changed in software, on the PMU.
	 */
	int	(*install)(struct pfm_context *ctx, struct pfm_set *set);
	void	(*collect)(struct pfm_context *ctx, struct pfm_set *set);
	int	(*write_pmc)(struct pfm_context *ctx, struct pfm_set *set, uint16_t num);
	int	(*write_pmd)(struct pfm_context *ctx, struct pfm_set *set, uint16_t num);

	/* PMU context. Let the counters of the installed set run, or hold them. Idempotent. */
	void	(*resume)(struct pfm_context *ctx);
	void	(*freeze)(struct pfm_context *ctx);

	/*
	 * PMU context. The set timeout: pfm_set_timeout() is called when the target has run for ns
	 * (system-wide: when ns have passed). disarm returns what was left, 0 if not armed.
	 * left: the same without disarming. timer_ns: its granularity, timeouts are rounded up to it.
	 */
	void	(*arm)(struct pfm_context *ctx, uint64_t ns);
	uint64_t (*disarm)(struct pfm_context *ctx);
	uint64_t (*left)(struct pfm_context *ctx);
	uint64_t (*timer_ns)(struct pfm_machine *m);

	/* Nanoseconds the target has run (system-wide: passed); differences measure set durations. */
	uint64_t (*ran)(struct pfm_context *ctx);

	/*
	 * PMU context, during pfm_overflow(): completes the struct pfm_where of the overflow, which a sample or message
	 * needs. NULL if the machine always gives a complete one.
	 */
	void	(*get_location)(struct pfm_context *ctx);

	/* PMU context: PFM_FL_NOTIFY_BLOCK. The target waits before it returns to user level. */
	void	(*block)(struct pfm_context *ctx);
	void	(*unblock)(struct pfm_context *ctx);

	/* PMU context. Fills in *where with the target's present state, for a message without an overflow. */
	void	(*where)(struct pfm_context *ctx, struct pfm_where *where);

	/*
	 * Messages. post: append to the queue of the descriptor, wake readers, send SIGIO;
	 * ENOSPC when ctx->msgq_depth messages are unread. flush: forget the unread ones (3.3.5).
	 * signal: SIGIO alone (PFM_FL_OVFL_NO_MSG).
	 */
	int	(*post)(struct pfm_context *ctx, const pfarg_msg_t *msg);
	void	(*flush)(struct pfm_context *ctx);
	void	(*signal)(struct pfm_context *ctx);

	/* The caller, the clock and memory. */
	void	(*caller)(struct pfm_machine *m, struct pfm_caller *who);
	bool	(*in_group)(struct pfm_machine *m, uint32_t gid);	/* is the caller in the group? */
	bool	(*has_fd)(struct pfm_context *ctx);	/* can the target reach the descriptor? 3.3.6 */
	uint64_t (*now)(struct pfm_machine *m);		/* ns, monotonic */
	size_t	(*page_size)(struct pfm_machine *m);
	/* zeroed, page-aligned, mappable; 0, or an errno and a reason */
	int	(*alloc_buffer)(struct pfm_context *ctx, size_t size, void **buf);
	void	(*free_buffer)(struct pfm_context *ctx, void *buf, size_t size);

	/*
	 * 2.2: views of sets. open_view: a zeroed page that programs can map; NULL: no memory. close_view: frees it; a
	 * program that still has it mapped can still read it. Views are written by pfm_view_update(): the core calls it
	 * when it changes a set that is not on the PMU, the machine calls it for the active set before it leaves PMU
	 * context. live_view, optional, called by that for the active set while loaded: writes how its counters can be
	 * read now.
	 */
	pfm_set_view_t *(*open_view)(struct pfm_context *ctx, struct pfm_set *set);
	void	(*close_view)(struct pfm_context *ctx, struct pfm_set *set);
	void	(*live_view)(struct pfm_context *ctx, struct pfm_set *set);

	/*
	 * The machine's own objections, optional. check_create: flags of a new context;
	 * check_set: flags of a set beyond the generic ones (5.5); debugging: are debug registers in use
	 * by a debugger (5.6.2)?
	 */
	int	(*check_create)(struct pfm_machine *m, uint32_t flags);
	int	(*check_set)(struct pfm_context *ctx, uint32_t set_flags);
	bool	(*debugging)(struct pfm_machine *m);

	/*
	 * Optional, in user space, after a command: how the PMDs of the active set can be read until the next
	 * one, without the context's lock (user/fast_read.h); false: not so.
	 */
	bool	(*fast_read)(struct pfm_context *ctx, struct pfm_fast_read *q);

	uint32_t ctx_flags;		/* machine-specific context flags it knows, besides the generic */
	uint32_t set_flags;		/* machine-specific set flags it knows */
	bool	 inherits;		/* see fork */
	const struct pfm_sharing_ops *sharing;	/* NULL: no other process has contexts of this machine */
	const struct pfm_stack_ops *stack;	/* what pfm_where has; NULL: formats that want stacks are refused */
	bool	 records;		/* it calls pfm_record(); else formats that want records are refused */
	bool	 switches;		/* likewise with PFM_RECORD_SWITCH */
	bool	 coexist;		/* per-thread and system-wide contexts may be loaded together */
	uint16_t ds_record;		/* bytes of a record that its processor writes (PEBS), or 0 */
};

/* One machine in use: its contexts share registers, limits and sessions. */
struct pfm_machine {
	const struct pfm_machine_ops	*ops;
	const struct pfm_pmu		*pmu;
	const struct pfm_bare_ops	*bare;		/* where the core drives the registers; or NULL */
	void				*os;		/* the machine's own */

	/* configuration, 3.1.16; changed under pfm_os_lock(), read anywhere by READ_ONCE() */
	uint32_t	sys_gid;
	uint32_t	thread_gid;
	uint64_t	arg_size_max;
	uint64_t	smpl_buf_size_max;
	uint64_t	ovfl_rate_max;
	/* buffers and loaded contexts; under pfm_os_lock() */
	uint64_t	smpl_buf_size_cur;
	struct pfm_context *loaded;
	uint64_t	thread_sessions;
	uint64_t	sys_sessions;
};

/* Prepares m: defaults of 3.1.16, no sessions. */
void pfm_machine_init(struct pfm_machine *m, const struct pfm_machine_ops *ops,
		      const struct pfm_pmu *pmu, void *os);

/* --- from the machine to the core, all in PMU context --------------------------------------- */

/*
 * PMDs of ovfl (a bit-vector of PFM_PMD_BV words) passed 2^64 in the active set. The machine has
 * collected the set; its counters are held. On return registers have been reset and written back,
 * sets switched, monitoring masked, messages posted as the specification demands; the machine lets
 * the counters run again if pfm_counting(ctx).
 */
void pfm_overflow(struct pfm_context *ctx, const uint64_t *ovfl, const struct pfm_where *where);

/*
 * Called with ctx->format_needs.records while the context is loaded, even if it is stopped or masked: records what
 * the target did or, system-wide, what threads did on the CPU (6.3.2).
 */
void pfm_record(struct pfm_context *ctx, const struct pfm_record *rec);

/* The active set's timeout expired (3.7.6). Same conditions. */
void pfm_set_timeout(struct pfm_context *ctx);

/*
 * The target of ctx, a root or a child context, has created a thread that has not run yet; child is for
 * ops->fork(). Under the root's lock, not in PMU context. A thread that cannot be counted is noted as dropped.
 */
void pfm_fork(struct pfm_context *ctx, void *child);
void pfm_fork_done(struct pfm_context *root);
void pfm_fork_failed(struct pfm_context *ctx);	/* the machine could not call pfm_fork() for a child */

/*
 * A message that was posted for the part has been read. fill: parts[].post at the post, or 0 if the message is about no
 * fill. It may be called anywhere, but for one message at a time.
 */
void pfm_part_read(struct pfm_context *root, unsigned int part, uint32_t fill);

/*
 * The target has ended, or its CPU has gone; under the context's lock, not from inside access(), on any
 * CPU. The context is stopped and unloaded, and END posted (3.3.6). A root with child contexts (PFM_FL_INHERIT) waits
 * until the last of them has ended; a child context is freed.
 */
void pfm_target_exit(struct pfm_context *ctx);
/* Does it use debug registers (5.6.2)? */
bool pfm_restricts_ranges(const struct pfm_context *ctx);
/* For machines: around a change of a view, which others may be reading. */
void pfm_view_begin(pfm_set_view_t *view);
void pfm_view_end(pfm_set_view_t *view);
/* Where a set's view is in the mappings of its context's descriptor. */
#define PFM_VIEW_OFFSET(id, page)	(0x40000000ULL + (uint64_t)(id) * (page))

/*
 * Counts n overflows of the active set that the machine lost: pfm_count_lost() if their records were lost,
 * pfm_count_late() if a timer came so late that the next overflows were already due, pfm_count_throttled() if its
 * kernel throttled them. In PMU context.
 */
void pfm_count_lost(struct pfm_context *ctx, uint64_t n);
void pfm_count_late(struct pfm_context *ctx, uint64_t n);
void pfm_count_throttled(struct pfm_context *ctx, uint64_t n);

/*
 * For machines with a bare PMU (bare_pmu.c): counters of pmu->counter_width bits, read and written
 * register by register, which interrupt when they wrap. ops->install, collect, write_pmc and
 * write_pmd can be the pfm_bare_* functions; the machine provides struct pfm_bare_ops.
 */
struct pfm_bare_ops {
	void	 (*set_pmc)(struct pfm_context *ctx, uint16_t num, uint64_t value);
	void	 (*set_pmd)(struct pfm_context *ctx, uint16_t num, uint64_t value);
	uint64_t (*get_pmd)(struct pfm_context *ctx, uint16_t num);
	bool	 (*on_pmu)(struct pfm_context *ctx);	/* is the context's state on a PMU now? */
};
int pfm_bare_install(struct pfm_context *ctx, struct pfm_set *set);
void pfm_bare_collect(struct pfm_context *ctx, struct pfm_set *set);
int pfm_bare_write_pmc(struct pfm_context *ctx, struct pfm_set *set, uint16_t num);
int pfm_bare_write_pmd(struct pfm_context *ctx, struct pfm_set *set, uint16_t num);
/* The hardware counters of wrapped (a bit-vector) wrapped: 64-bit emulation, then pfm_overflow(). */
void pfm_bare_interrupt(struct pfm_context *ctx, const uint64_t *wrapped, const struct pfm_where *where);
/*
 * For machines on which threads start and stop monitoring by an instruction (3.1.5, 3.1.6). In PMU context, after
 * pfm_bare_collect() or what else brought the values up to date.
 */
void pfm_user_start(struct pfm_context *ctx);
void pfm_user_stop(struct pfm_context *ctx);
void pfm_target_exec(struct pfm_context *ctx);
/*
 * 6.5, contexts with PFM_FL_PREEMPTIBLE: pfm_preempt() when a per-thread context takes the PMU, pfm_regain() when it
 * has given the PMU back; tid is its thread. Between the two on_pmu() is false. In PMU context, or while no register of
 * ctx is on the PMU yet.
 */
void pfm_preempt(struct pfm_context *ctx);
void pfm_regain(struct pfm_context *ctx, uint32_t tid);
/* The target leaves or enters the CPU; system-wide, a thread that is not monitored enters or leaves it (3.7.6). */
void pfm_ctxsw_out(struct pfm_context *ctx);
void pfm_ctxsw_in(struct pfm_context *ctx);

#endif
