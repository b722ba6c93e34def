/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * machine.h - the contract between the core and a machine.
 *
 * A machine is whatever has counters and runs threads: the Linux kernel, a process using
 * perf_event_open(2), a simulated computer. It fills in struct pfm_machine_ops and calls the core
 * back through the functions at the end of this file.
 *
 * Locking. The transport (file operations, libperfmon) holds the context's own lock around every
 * command of core.h; commands on one context never run concurrently. In the kernel, overflows,
 * timeouts and context switches may come at any time and on any CPU, without that lock. They change
 * registers, state and timeouts, and may make any set the active one. So while a context is loaded,
 * the core accesses these, and the arrays of registers of all sets, only inside access(). Before it
 * frees an array, it replaces the array by a new one inside access(). A machine in user space holds
 * the context's lock in its call-backs into the core, so access() can be a plain call there. The
 * configuration is read without a lock, word by word.
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
struct pfm_user_machine;

struct pfm_where;
struct pfm_record;

enum pfm_frames { PFM_KERNEL_FRAMES, PFM_USER_FRAMES };

/*
 * These functions give formats access to the stack at an overflow. They are called during
 * pfm_overflow(), in PMU context, so they must not sleep or fault. frames() stores at most max
 * return addresses of a level, the innermost first, and returns how many. The sample's own address
 * comes first in the level to which it belongs. regs() and copy() are both there or both NULL.
 * regs() stores at most max of the user's registers in the order of asm/perf_regs.h, and returns
 * how many. copy() stores at most max bytes from the user's stack pointer on, and returns how many.
 * Both return 0 if there is no user level, or if it cannot be read.
 */
struct pfm_stack_ops {
	uint16_t (*frames)(const struct pfm_where *where, enum pfm_frames level, uint64_t *ips, uint16_t max);
	uint16_t (*regs)(const struct pfm_where *where, uint64_t *regs, uint16_t max);
	uint32_t (*copy)(const struct pfm_where *where, void *to, uint32_t max);
};

/* The address, thread, CPU and time of an overflow. */
struct pfm_where {
	uint64_t	ip;
	uint64_t	tstamp;		/* in ns, by the machine's clock; unique per CPU */
	uint32_t	pid;		/* id of the process */
	uint32_t	tid;		/* id of the thread */
	uint16_t	cpu;
	/* private to the machine, passed to formats as data; may be NULL */
	void		*regs;
	/* access to the stack; NULL if the machine cannot give it */
	const struct pfm_stack_ops *stack;
};

/* The calling thread and its rights. */
struct pfm_caller {
	uint32_t	tid;
	uint32_t	pid;
	uint32_t	cpu;
	/* the caller may change the configuration, and RLIMIT_MEMLOCK does not apply to it */
	bool		admin;
	uint64_t	memlock;	/* bytes the caller may still lock; ~0: no limit */
};

/* The resources that contexts of other processes use, which are not in the machine's lists. */
struct pfm_usage {
	uint64_t	thread_sessions;
	uint64_t	sys_sessions;
	uint64_t	smpl_buf_size;
};

/*
 * Limits and configuration that all processes share. A machine needs this if each process has its
 * own instance of struct pfm_machine. All functions are called under pfm_os_lock().
 */
struct pfm_sharing_ops {
	/*
	 * Announces to other processes a context that attach() has bound. It conflicts with no
	 * context of this process. Returns -EBUSY if it conflicts with one of another process.
	 */
	int	(*claim)(struct pfm_context *ctx);
	void	(*disclaim)(struct pfm_context *ctx);
	/*
	 * The total size of this process's buffers changes from "was" to "bytes", rounded to pages.
	 * Returns false, and changes nothing, if the sum of all processes would exceed
	 * smpl_buf_size_max.
	 */
	bool	(*hold)(struct pfm_machine *m, uint64_t bytes, uint64_t was);
	void	(*others)(struct pfm_machine *m, struct pfm_usage *others);
	void	(*refresh)(struct pfm_machine *m);	/* reads the configuration */
	void	(*spread)(struct pfm_machine *m);	/* writes the configuration */
};

/*
 * The operations of a machine. ctx->machine is set in every context that they get. Errors are
 * negative errno values, reported through pfm_refuse(). "PMU context" means: inside access(), or in
 * a call from the machine into the core. Operations that are marked as optional may be NULL.
 */
struct pfm_machine_ops {
	const char *name;		/* "linux", "perf", "sim" */

	/*
	 * Optional: called when a context is created and freed. ctx->os is private to the machine.
	 */
	int	(*create)(struct pfm_context *ctx);
	void	(*destroy)(struct pfm_context *ctx);

	/*
	 * attach() binds the context. If it is per-thread, load_pid is the target thread. If it is
	 * system-wide, the CPU is the one on which the caller runs, and load_pid is that CPU or the
	 * caller's thread id (3.1.7). attach() sets ctx->tid, ctx->pid, ctx->cpu and ctx->self (the
	 * target is the calling thread). Errors: ESRCH (no such thread), EPERM (no permission),
	 * EINVAL (not the caller's CPU), EBUSY (a conflict with a user outside perfmon). Nothing
	 * counts yet: install() sets the registers later. detach() undoes attach(); the active set
	 * has been collected before. Neither is called in PMU context.
	 */
	int	(*attach)(struct pfm_context *ctx, uint32_t load_pid);
	void	(*detach)(struct pfm_context *ctx);

	/*
	 * Optional, for PFM_FL_INHERIT. There are two ways to implement it.
	 *
	 * A machine that learns of new threads calls pfm_fork() for each, and has fork() and
	 * release(). fork() binds child_ctx, which the core has made and programmed like its root,
	 * to the thread "child", as attach() does, and sets child_ctx->os. release() frees
	 * child_ctx->os, after detach(). They are called under the root's lock, not in PMU context.
	 * forks_pending() is needed if a thread may exist before pfm_fork() is called for it: it
	 * returns true if there is such a thread of this load now. Monitoring does not end before
	 * pfm_fork_done() has been called for each of them, even for one that got no child context.
	 *
	 * A machine on which the kernel itself counts children sets "inherits" instead: collect()
	 * stores in pmd->children what they counted since the PMD was written, or adds it to the
	 * value if the PMD has no PFM_REGFL_OWN.
	 */
	int	(*fork)(struct pfm_context *child_ctx, void *child);
	void	(*release)(struct pfm_context *child_ctx);
	bool	(*forks_pending)(struct pfm_context *root);

	/*
	 * Optional, both or neither, for PFM_FL_INHERIT with a format on machines where overflows
	 * of a root and its child contexts can come at the same time. num_parts() returns how many
	 * buffers (parts) are made. part(), in PMU context, returns the number of the part to fill;
	 * CPU n uses n modulo num_parts. If two overflows need the same part at the same time, one
	 * of them loses its sample. post() has a queue for each part, with room for fmt_msgq_depth
	 * messages, and the machine passes to pfm_part_read() the value that root->parts[].post had
	 * at the post.
	 */
	unsigned int (*num_parts)(struct pfm_context *root);
	unsigned int (*part)(struct pfm_context *ctx);

	/*
	 * Optional: allocates the resources of a PMC that comes into use in a loaded context, if
	 * that is impossible in PMU context. The core has checked the rest of the command's element
	 * before. Errors: EBUSY, ESRCH.
	 */
	int	(*need)(struct pfm_context *ctx, uint16_t num);

	/*
	 * Runs fn(ctx, arg) where the PMU state of a loaded context may be accessed: its counters
	 * are held, and no overflow, timeout or switch comes until fn returns. Returns the result
	 * of fn. Errors: EBUSY (a command for a system-wide context from another CPU, unless
	 * pfm_any_cpu()), ESRCH (the target is gone, and no overflow or timeout of it will come any
	 * more).
	 */
	int	(*access)(struct pfm_context *ctx, int (*fn)(struct pfm_context *, void *), void *arg);

	/*
	 * These run in PMU context. install() loads the set's used PMCs and PMDs into the PMU, with
	 * the counters frozen; it fails only if it lacks a resource. collect() adds the hardware's
	 * counts since the last install() or collect() to the pmd->value of the set, and does
	 * nothing if the set is not installed. write_pmc() and write_pmd() write one register of
	 * the installed set, which has been changed in memory, to the PMU; write_pmd() fails only
	 * on machines with fits().
	 */
	int	(*install)(struct pfm_context *ctx, struct pfm_set *set);
	void	(*collect)(struct pfm_context *ctx, struct pfm_set *set);
	int	(*write_pmc)(struct pfm_context *ctx, struct pfm_set *set, uint16_t num);
	int	(*write_pmd)(struct pfm_context *ctx, struct pfm_set *set, uint16_t num);

	/*
	 * Optional, in PMU context, after a command on a loaded context has written registers:
	 * returns 0 if the machine can count what those of the installed set select together. If
	 * it returns an error, the core takes back the last element and calls it again, until it
	 * returns 0 or no element is left.
	 */
	int	(*fits)(struct pfm_context *ctx);

	/*
	 * In PMU context: resume() makes the counters of the installed set run, freeze() holds
	 * them. Both are idempotent.
	 */
	void	(*resume)(struct pfm_context *ctx);
	void	(*freeze)(struct pfm_context *ctx);

	/*
	 * The set timeout, in PMU context. arm() makes the machine call pfm_set_timeout() when the
	 * target has run for ns; for a system-wide context, when ns have passed. disarm() returns
	 * how much was left, 0 if it was not armed; left() returns the same without disarming.
	 * timer_ns() returns the granularity, to which timeouts are rounded up.
	 */
	void	(*arm)(struct pfm_context *ctx, uint64_t ns);
	uint64_t (*disarm)(struct pfm_context *ctx);
	uint64_t (*left)(struct pfm_context *ctx);
	uint64_t (*timer_ns)(struct pfm_machine *m);

	/*
	 * Returns for how many ns the target has run, or, system-wide, how many have passed.
	 * Differences of it are the durations of sets.
	 */
	uint64_t (*ran)(struct pfm_context *ctx);

	/*
	 * In PMU context, during pfm_overflow(): completes the struct pfm_where of the overflow, if
	 * a sample or message needs it. NULL if the machine always gives a complete one.
	 */
	void	(*get_location)(struct pfm_context *ctx);

	/*
	 * In PMU context, for PFM_FL_NOTIFY_BLOCK: block() makes the target wait before it returns
	 * to user level, unblock() ends that.
	 */
	void	(*block)(struct pfm_context *ctx);
	void	(*unblock)(struct pfm_context *ctx);

	/*
	 * In PMU context: fills in *where with the target's present state, for a message without an
	 * overflow.
	 */
	void	(*where)(struct pfm_context *ctx, struct pfm_where *where);

	/*
	 * Messages. post() appends one to the queue of the descriptor, wakes readers and sends
	 * SIGIO; it returns ENOSPC if ctx->msgq_depth messages are unread. flush() discards the
	 * unread ones (3.3.5). signal() only sends SIGIO (PFM_FL_OVFL_NO_MSG).
	 */
	int	(*post)(struct pfm_context *ctx, const pfarg_msg_t *msg);
	void	(*flush)(struct pfm_context *ctx);
	void	(*signal)(struct pfm_context *ctx);

	/* The caller, the clock and memory. caller() fills in *who. */
	void	(*caller)(struct pfm_machine *m, struct pfm_caller *who);
	/* returns true if the caller is a member of the group */
	bool	(*in_group)(struct pfm_machine *m, uint32_t gid);
	/* returns true if the target has the context's descriptor (3.3.6) */
	bool	(*has_fd)(struct pfm_context *ctx);
	uint64_t (*now)(struct pfm_machine *m);		/* returns the monotonic time in ns */
	size_t	(*page_size)(struct pfm_machine *m);
	/*
	 * Allocates a buffer that is zeroed, page-aligned and can be mapped. Returns 0, or an errno
	 * with a reason.
	 */
	int	(*alloc_buffer)(struct pfm_context *ctx, size_t size, void **buf);
	void	(*free_buffer)(struct pfm_context *ctx, void *buf, size_t size);

	/*
	 * Views of sets (2.2). open_view() returns a zeroed page that programs can map, or NULL if
	 * there is no memory. close_view() frees it; a program that still has it mapped can still
	 * read it. pfm_view_update() writes views: the core calls it when it changes a set that is
	 * not on the PMU, and the machine calls it for the active set before it leaves PMU context.
	 * For the active set of a loaded context it calls live_view(), which is optional, to write
	 * how the counters can be read now.
	 */
	pfm_set_view_t *(*open_view)(struct pfm_context *ctx, struct pfm_set *set);
	void	(*close_view)(struct pfm_context *ctx, struct pfm_set *set);
	void	(*live_view)(struct pfm_context *ctx, struct pfm_set *set);

	/*
	 * Optional checks of the machine. check_create() checks the flags of a new context,
	 * check_set() those flags of a set that are specific to the machine (5.5); debugging()
	 * returns true if a debugger uses the debug registers (5.6.2).
	 */
	int	(*check_create)(struct pfm_machine *m, uint32_t flags);
	int	(*check_set)(struct pfm_context *ctx, uint32_t set_flags);
	bool	(*debugging)(struct pfm_machine *m);

	/*
	 * Optional, in user space, after a command: fills in how the PMDs of the active set can be
	 * read without the context's lock until the next command (user/fast_read.h). Returns false
	 * if they cannot.
	 */
	bool	(*fast_read)(struct pfm_context *ctx, struct pfm_fast_read *q);

	uint32_t ctx_flags;		/* context flags that are specific to the machine */
	uint32_t set_flags;		/* set flags that are specific to the machine */
	bool	 inherits;		/* the kernel counts children itself: see fork() above */
	/* NULL: no other process has contexts of this machine */
	const struct pfm_sharing_ops *sharing;
	/* the operations in struct pfm_where; NULL: formats that want stacks are refused */
	const struct pfm_stack_ops *stack;
	/* the machine calls pfm_record(); if not, formats that want records are refused */
	bool	 records;
	/*
	 * the machine reports context switches; if not, formats that want PFM_RECORD_SWITCH are
	 * refused
	 */
	bool	 switches;
	bool	 coexist;	/* per-thread and system-wide contexts may be loaded together */
	/* size of the records that the processor writes (PEBS), or 0 */
	uint16_t ds_record;
};

/* An instance of a machine. Its contexts share registers, limits and sessions. */
struct pfm_machine {
	const struct pfm_machine_ops	*ops;
	const struct pfm_pmu		*pmu;
	/* set if the core itself accesses the registers; or NULL */
	const struct pfm_bare_ops	*bare;
	void				*os;		/* private to the machine */
	const struct pfm_user_machine	*kind;		/* private to the transport */

	/*
	 * The configuration (3.1.16). It is changed under pfm_os_lock(), and may be read anywhere
	 * by READ_ONCE().
	 */
	uint32_t	sys_gid;
	uint32_t	thread_gid;
	uint64_t	arg_size_max;
	uint64_t	smpl_buf_size_max;
	uint64_t	ovfl_rate_max;
	/* Buffers and loaded contexts, protected by pfm_os_lock(). */
	uint64_t	smpl_buf_size_cur;
	struct pfm_context *loaded;
	uint64_t	thread_sessions;
	uint64_t	sys_sessions;
};

/* Initializes m with the defaults of 3.1.16 and no sessions. */
void pfm_machine_init(struct pfm_machine *m, const struct pfm_machine_ops *ops,
		      const struct pfm_pmu *pmu, void *os);

/* --- from the machine to the core, all in PMU context --------------------------------------- */

/*
 * Handles an overflow: PMDs in ovfl, a bit-vector of PFM_PMD_BV words, passed 2^64 in the active
 * set. The machine has collected the set, and its counters are held. On return registers have been
 * reset and written back, sets switched, monitoring masked and messages posted as the specification
 * demands. The machine then releases the counters if pfm_counting(ctx).
 */
void pfm_overflow(struct pfm_context *ctx, const uint64_t *ovfl, const struct pfm_where *where);

/*
 * Called if ctx->format_needs.records is set, while the context is loaded, even if it is stopped or
 * masked: records what the target did or, system-wide, what threads did on the CPU (6.3.2).
 */
void pfm_record(struct pfm_context *ctx, const struct pfm_record *rec);

/*
 * The active set's timeout has expired (3.7.6). As for pfm_overflow(), the set has been collected,
 * and its counters are held.
 */
void pfm_set_timeout(struct pfm_context *ctx);

/*
 * The target of ctx, a root or a child context, has created a thread that has not run yet; child is
 * passed to ops->fork(). pfm_fork_done() is called afterwards by machines with forks_pending().
 * Both are called under the root's lock, not in PMU context. A thread that cannot be counted is
 * added to dropped_children.
 */
void pfm_fork(struct pfm_context *ctx, void *child);
void pfm_fork_done(struct pfm_context *root);
/* the machine could not call pfm_fork() for a child */
void pfm_fork_failed(struct pfm_context *ctx);

/*
 * A message that was posted for the part has been read. fill is the value of parts[].post at the
 * post, or 0 if the message refers to no fill. It may be called anywhere, but only for one message
 * at a time.
 */
void pfm_part_read(struct pfm_context *root, unsigned int part, uint32_t fill);

/*
 * The target has ended, or its CPU is gone. Called under the context's lock, on any CPU, but not
 * inside access(). The context is stopped and unloaded, and END posted (3.3.6). A root with child
 * contexts (PFM_FL_INHERIT) waits until the last of them has ended; a child context is freed.
 */
void pfm_target_exit(struct pfm_context *ctx);
/* Returns true if the context uses debug registers (5.6.2). */
bool pfm_restricts_ranges(const struct pfm_context *ctx);
/* For machines: these enclose a change of a view, which others may be reading. */
void pfm_view_begin(pfm_set_view_t *view);
void pfm_view_end(pfm_set_view_t *view);
/* The offset of a set's view for mmap() on its context's descriptor. */
#define PFM_VIEW_OFFSET(id, page)	(0x40000000ULL + (uint64_t)(id) * (page))

/*
 * Count n overflows that were lost, in PMU context: pfm_count_lost() if their records were lost; in
 * the active set, pfm_count_late() if a timer came so late that the next overflows were already
 * due, pfm_count_throttled() if the machine's kernel throttled them.
 */
void pfm_count_lost(struct pfm_context *ctx, struct pfm_set *set, uint64_t n);
void pfm_count_late(struct pfm_context *ctx, uint64_t n);
void pfm_count_throttled(struct pfm_context *ctx, uint64_t n);

/*
 * For machines with a bare PMU (bare_pmu.c): its counters have pmu->counter_width bits, are read
 * and written register by register, and interrupt when they wrap. ops->install, collect, write_pmc
 * and write_pmd can be the pfm_bare_*() functions; the machine provides struct pfm_bare_ops.
 */
struct pfm_bare_ops {
	void	 (*set_pmc)(struct pfm_context *ctx, uint16_t num, uint64_t value);
	void	 (*set_pmd)(struct pfm_context *ctx, uint16_t num, uint64_t value);
	uint64_t (*get_pmd)(struct pfm_context *ctx, uint16_t num);
	bool	 (*on_pmu)(struct pfm_context *ctx);	/* true: ctx's registers are on a PMU now */
};
int pfm_bare_install(struct pfm_context *ctx, struct pfm_set *set);
void pfm_bare_collect(struct pfm_context *ctx, struct pfm_set *set);
int pfm_bare_write_pmc(struct pfm_context *ctx, struct pfm_set *set, uint16_t num);
int pfm_bare_write_pmd(struct pfm_context *ctx, struct pfm_set *set, uint16_t num);
/*
 * The hardware counters in "wrapped", a bit-vector, have wrapped: carries into the upper bits of
 * their PMDs, and calls pfm_overflow() for the PMDs that have overflowed thereby.
 */
void pfm_bare_interrupt(struct pfm_context *ctx, const uint64_t *wrapped, const struct pfm_where *where);
/*
 * For machines on which threads start and stop monitoring by an instruction (3.1.5, 3.1.6). Called
 * in PMU context, after the machine has collected the active set, for example by
 * pfm_bare_collect().
 */
void pfm_user_start(struct pfm_context *ctx);
void pfm_user_stop(struct pfm_context *ctx);
/*
 * Called in PMU context when the target has executed a program: starts a context with
 * PFM_FL_ON_EXEC.
 */
void pfm_target_exec(struct pfm_context *ctx);
/*
 * For contexts with PFM_FL_PREEMPTIBLE (6.5). pfm_preempt() is called when a per-thread context
 * takes the PMU, pfm_regain() when it has given the PMU back; tid is the thread of that context.
 * Between the two calls on_pmu() returns false. They are called in PMU context, or while no
 * register of ctx is on the PMU yet.
 */
void pfm_preempt(struct pfm_context *ctx);
void pfm_regain(struct pfm_context *ctx, uint32_t tid);
/*
 * The target leaves or enters the CPU; for a system-wide context, a thread that is not monitored
 * enters or leaves it (3.7.6).
 */
void pfm_ctxsw_out(struct pfm_context *ctx);
void pfm_ctxsw_in(struct pfm_context *ctx);

#endif
