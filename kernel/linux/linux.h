/* SPDX-License-Identifier: GPL-2.0 */
/*
 * linux.h - perfmon.ko: the core inside the Linux kernel, as its files see each other.
 *
 * main.c starts and ends the module. file/: chardev.c is /dev/perfmon; context.c the file operations of a context,
 * calls.c its ioctls, fast_read.c the most frequent of them, buffer.c its sampling buffer, view.c its views, queue.c
 * its messages. target/: target.c binds a context to a thread or a CPU; lifetime.c notices that the target goes,
 * inherit.c that it has children; record.c tells what it does to formats that want to know; exclude.c leaves threads
 * out, notify_block.c holds a target, task_work.c has it do its part. machine.c holds the table of operations; pmu.c
 * the logical PMU; format.c the sampling formats; counters.c drives the kernel's counters, group.c has them scheduled
 * together, view.c tells threads where theirs are, clock.c is the set timeout, overflow.c takes interrupts, stack.c
 * walks stacks in them, access.c finds the place where all this may be touched. permit.c knows the caller's rights,
 * memory.c charges memory, os.c has the rest of core/os.h. arch/arm64.c and arch/x86.c are what an architecture has
 * of its own.
 *
 * PMU context here: on the CPU that the target runs on, interrupts off, the target being current; or
 * anywhere, while the locks of the target's perf contexts keep it from being scheduled in.
 */
#ifndef PFM_LINUX_H
#define PFM_LINUX_H

#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/fs.h>
#include <linux/irq_work.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/pid_namespace.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/task_work.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "compat.h"
#include "core.h"
#include "abi/perfmon_ioctl.h"

#define LX_MAX_COUNTERS	48
#define LX_NO_COUNTER	0xff
#define LX_FAR		(1LL << 62)	/* a period beyond any measurement */
#define LX_SOON		100000		/* period until the overflow that delivers what an NMI had to leave */
#define LX_CLOCK_MIN_NS	10000ULL	/* the shortest period of perf's clock events */
#define LX_THROTTLED	(~0ULL)		/* hw.interrupts of an event that perf stopped till the next tick */

static inline bool lx_on_cpu(const struct perf_event *event)
{
	return event->state == PERF_EVENT_STATE_ACTIVE;
}

enum lx_kind {
	LX_HW,		/* of the PMU */
	LX_SW,		/* counted by the kernel */
	LX_CLOCK,	/* counts ns; overflows by a timer */
};

/* A counting PMD in use: one kernel event, whatever set is active. */
struct lx_counter {
	struct perf_event	*event;
	struct lx_context	*lx;
	u64			seen;	/* event->count that has been folded into the PMD */
	u64			idle;	/* idle_of(event) at its creation, by the time of its perf context */
	u16			num;	/* the PMD, and the PMC that controls it */
	u8			at;	/* its place in lx->counters, and in lx->live */
	u8			kind;
	bool			loaded;	/* given a new value while its overflow was handled */
	bool			stale;	/* held, and the hardware's value is not the PMD's */
};

enum { LX_WAKE_READERS = 1, LX_WAKE_SIGNAL = 2, LX_WAKE_TARGET = 4 };

/*
 * The link between a context and its target thread, made by a load. Task work of the thread belongs to it, not to the
 * context: such work may still be queued when the context has been loaded onto another thread.
 */
struct lx_target_ref {
	refcount_t		users;		/* the load has one reference, and each queued work */
	struct lx_context	*lx;		/* held */
	struct callback_head	exit_work;
	struct work_struct	exit_later;	/* used instead on kernels without task_work_add() */
	struct callback_head	block_work;
	struct callback_head	refill_work;
	struct lx_fork_record	*fork_record;	/* for the thread's next child, with PFM_FL_INHERIT */
	bool			ended;		/* the thread's end has been noticed */
	bool			has_fd;		/* at its end the thread had the context's descriptor */
	bool			block_queued;
	bool			hold;		/* the thread is to wait for the restart */
};

struct lx_message {
	pfarg_msg_t		msg;
	u32			fill;		/* the fill of a buffer's part that the message is about; or 0 */
};

struct lx_queue {
	struct lx_message	*messages;
	unsigned int		room, head, tail;	/* these two count up for ever */
};

/* A context with PFM_FL_INHERIT, and its child contexts. */
struct lx_family {
	const struct cred	*cred;		/* of the creator: child contexts are charged to it; or NULL */
	unsigned long		lock_limit;	/* pages that the creator may lock */
	atomic64_t		expected;	/* bits 0-31: children that have not run; above: number of the load */
	atomic_t		dropped;	/* children not yet reported to the core */
	struct lx_fork_record	*spare_record;	/* of a root: for the next that needs one; or NULL */
};

/* What a context monitors, while it is loaded. */
struct lx_target {
	struct task_struct	*task;		/* or NULL: a CPU */
	u32			tid, pid;	/* in the creator's namespace */
	struct task_struct	*pending;	/* of a load, with a reference and its exec lock; or NULL */
	struct hlist_node	by_task;	/* or by CPU */
	struct lx_target_ref	*ref;		/* with task */
	struct lx_target_ref	first_ref;
	bool			first_ref_used;
	bool			has_fd;		/* a thread that has ended had the context's descriptor */
	wait_queue_head_t	blocked;	/* threads that wait for a restart (PFM_FL_NOTIFY_BLOCK) */
	struct hlist_node	by_listener;	/* in a list while seen_mappings exists */
	u64			*seen_mappings;	/* hashes of recorded mappings; a child context has its root's */
	struct irq_work		walk_work;
	bool			sampled_user;	/* walk_work is for a sample of the thread's own code */
	struct work_struct	cpu_work;
	bool			cpu_left;	/* the CPU went offline since the load */
};

/* Messages: they are written in PMU context, and read under read_lock. */
struct lx_messages {
	struct mutex		read_lock;
	struct lx_queue		queue;
	struct lx_message	first_messages[2];	/* room for an overflow and END: mostly enough */
	struct lx_queue		*part_queues;	/* for each part of the buffer (core/parts.c); or NULL */
	unsigned int		num_parts;	/* one for each CPU that was online */
	wait_queue_head_t	readers;
	struct fasync_struct	*fasync;
	atomic_t		wake;		/* LX_WAKE_* to be done outside of PMU context */
	struct irq_work		wake_work;
	bool			over;		/* the context is unloaded for good: no message will come */
};

/* The pages by which threads read counters without a call. */
struct lx_views {
	struct xarray		pages;		/* of sets, by id: struct page */
	struct list_head	old_pages;	/* of deleted sets; they may still be mapped */
	struct mm_struct	*mm;		/* the address space with the mappings; only compared */
	struct hlist_node	by_viewer;	/* while perf is set */
	struct perf_event_context *perf;	/* of the PMU's counters, which threads may read */
	struct mm_struct	*rdpmc_mm;	/* held: it may read them (x86) */
	bool			publishing;	/* a page is being changed */
	bool			republish;	/* and must be changed once more */
};

/* The sampling buffer. */
struct lx_buffer {
	struct user_struct	*payer;		/* the user that it is charged to */
	struct list_head	maps;		/* struct lx_map: the address spaces that have it mapped */
	spinlock_t		maps_lock;
};

/* What a context's descriptor stands for; ctx->os and ctx->transport. */
struct lx_context {
	struct kref		ref;		/* the file, and work in flight at the target */
	struct mutex		lock;		/* around every command; a child context uses its root's */
	struct lx_context	*root;		/* of a child context, with a reference; else itself */
	struct pfm_context	*ctx;		/* NULL: closed */
	struct file		*file;		/* to compare with */
	struct pid_namespace	*ns;		/* the creator's: programs get ids in it */
	kuid_t			uid;		/* the creator's */
	bool			by_06;		/* made by perfmonctl(): mapped as 3.5.4 has it */
	bool			kernel_ips;	/* creator and loader may see the kernel's addresses */
	bool			sees_all;	/* creator and loader may look at any thread */

	struct lx_family	family;
	struct lx_target	target;
	struct lx_messages	msgs;
	struct lx_views		view;
	struct lx_buffer	buf;

	/* its perf events */
	struct perf_event_context *perf[2];	/* where they live; NULL beyond the first, if one */
	struct perf_event	*anchor_event;	/* while it is active, the target runs */
	struct perf_event	*clock;		/* the set timeout; NULL if no set has any */
	struct pmu		*pmu;		/* of its hardware counters; NULL if it has none */
	bool			armed;
	u8			num_counters;
	u64			live;		/* counters, by place, that count something in the active set */
	u8			slot[PFM_MAX_PMDS];	/* PMD to counters[] or LX_NO_COUNTER */

	/* in PMU context */
	bool			starved;	/* a counter of it or of a child context had no place on the PMU */
	u64			missed_ns;	/* for which one of its own had none */
	bool			hw;		/* some live counters are the PMU's */
	bool			running;	/* live counters count into the active set */
	bool			wanted;		/* live counters are to count */
	bool			away;		/* the current thread is left out (exclude.c) */
	bool			excludes;	/* some set leaves out some threads */
	bool			kernel_level;	/* some live counter counts in the kernel */
	bool			kernel_hw;	/* and is the PMU's */
	u64			displaced;	/* bit n: counter n's event code changed while on the PMU (x86) */
	bool			busy;		/* code is in PMU context: an NMI leaves its overflow to it */
	u8			missed_throttled;	/* missed overflows after which perf throttled the event */
	union {
		struct {	/* bytes, so that an NMI and the code that it interrupts can write different ones */
			bool	missed;		/* an NMI had to wait */
			bool	halts;		/* halted is set */
			bool	has_views;	/* some set has a view: it is published */
		};
		u32		owed;		/* not 0: there is work at the end of PMU context */
	};
	struct pmu		*halted;	/* the PMU that lx_halt() has disabled */
	struct perf_event	*firing;	/* the clock event that is being handled in its timer's interrupt */
	atomic64_t		late;		/* clock events with a timer that is to be set, as an NMI could not */
	struct irq_work		late_work;
	u64			wrapped[PFM_PMD_BV];	/* PMDs that passed 2^64 */
	bool			any_wrapped;
	u64			ovfl[PFM_PMD_BV];	/* the overflow that is being handled; where: its place */
	struct pfm_where	where;

	/* A child context has no more counters than its root, and ends there, or before vector if it has a format. */
	u8			room_counters;
	struct lx_counter	counters[LX_MAX_COUNTERS];
	unsigned long		trace[128];	/* of the kernel, where a format wants it */
	u64			vector[4 * sizeof(pfarg_pmd_t) / 8];	/* of a call in progress */
	unsigned long		vector_used;
};

static inline struct lx_context *lx_of(struct pfm_context *ctx)
{
	return ctx->os;
}

static inline struct lx_counter *lx_counter_of(struct lx_context *lx, unsigned int num)
{
	return lx->slot[num] == LX_NO_COUNTER ? NULL : &lx->counters[lx->slot[num]];
}

static inline void lx_wrapped(struct lx_context *lx, unsigned int num)
{
	pfm_bit_set(lx->wrapped, num);
	lx->any_wrapped = true;
}

/* Forgets that the PMD passed 2^64, as it was written since. */
static inline void lx_unwrap(struct lx_context *lx, unsigned int num)
{
	pfm_bit_clear(lx->wrapped, num);
	lx->any_wrapped = !pfm_bits_empty(lx->wrapped);
}

static inline void lx_forget_wrapped(struct lx_context *lx)
{
	memset(lx->wrapped, 0, sizeof(lx->wrapped));
	lx->any_wrapped = false;
}

/* machine.c */
extern struct pfm_machine lx_machine;
extern struct mutex lx_config_lock;		/* around a change of its configuration */
void lx_machine_init(const struct pfm_pmu *pmu);

/* os.c: the reason of the last refusal, per thread. */
const char *lx_explain(char *to, size_t size);
void lx_refuse_for(pid_t tid);		/* reasons on this CPU are the thread's; interrupts are off; 0: current's */

/*
 * memory.c: lx_charge() charges size bytes, rounded up to pages, to the caller's user, until lx_uncharge() with the
 * user that it returned; NULL: the limit is exceeded. lx_lockable: bytes the user can still have; ~0: no limit.
 */
struct user_struct *lx_charge(size_t size);
void lx_uncharge(struct user_struct *user, size_t size);
u64 lx_lockable(void);
unsigned long lx_lock_limit(void);		/* in pages, of all that the caller's user has locked; may sleep */

/* pmu.c */
const struct pfm_pmu *lx_pmu_init(void);
void lx_pmu_exit(void);
void lx_pmu_load_module(void);			/* has modprobe load the module that describes the PMU */
void lx_pmu_lock(void);				/* lx_machine.pmu stays; may sleep */
void lx_pmu_unlock(void);
const struct pfm_pmu *lx_pmu_get(void);		/* for a context, which holds its module */
void lx_pmu_put(const struct pfm_pmu *pmu);
bool lx_is_hw(u16 num);
bool lx_pmc_counts(u16 num, u64 value);		/* does this programming count anything? */
bool lx_pmc_kernel(u16 num, u64 value);		/* in the kernel? */
int lx_check_pmc_level(u16 num, u64 value);	/* may the caller have it count there? EPERM, reported */

/* format.c: returns the format with its use counted, or NULL; modprobe is asked for one that is not loaded. */
struct pfm_buffer_fmt *lx_format_by_name(const char *name);
void lx_formats_load_module(void);			/* has modprobe load all formats, before they are listed */
struct pfm_buffer_fmt *lx_format_by_uuid(const unsigned char *uuid);
/*
 * A request to modprobe: lx_module_requested() says whether it is to be made now, lx_module_request_met() notes its
 * result, lx_module_request_again() allows it again, as the module may have been removed.
 */
struct lx_module_request {
	unsigned long	tried;		/* in jiffies; 0: never */
	bool		met;
};
bool lx_module_requested(struct lx_module_request *d);
void lx_module_request_met(struct lx_module_request *d, int err);
void lx_module_request_again(struct lx_module_request *d);
bool lx_module_hold(struct module *owner);	/* module_put() lets go */

/*
 * permit.c: the caller's rights. lx_paranoid: perf_event_paranoid, or LX_PARANOID_NOT for a privileged caller. From
 * LX_PARANOID_CPU on no CPU may be monitored, from LX_PARANOID_KERNEL on nothing in the kernel, from LX_PARANOID_ALL
 * on nothing.
 */
enum { LX_PARANOID_NOT = -1, LX_PARANOID_CPU = 1, LX_PARANOID_KERNEL, LX_PARANOID_ALL };
int lx_permit_init(void);
void lx_permit_exit(void);
int lx_paranoid(void);				/* may sleep */
int lx_check_monitor(int paranoid);		/* EPERM, reported */
bool lx_capable(int cap);
u64 lx_perf_mlock(void);			/* bytes that perf lets each user lock beyond the limit; may sleep */
bool lx_may_attach(struct task_struct *task, bool blocks);	/* blocks: is the thread held at times? */

/* chardev.c, sysfs.c, lifetime.c: at the module's start and end */
int lx_device_init(void);
void lx_device_exit(void);
int lx_sysfs_init(void);
void lx_sysfs_exit(void);
int lx_sysfs_add_pmu(const struct pfm_pmu *pmu);
void lx_sysfs_remove_pmu(const struct pfm_pmu *pmu);
int lx_sysfs_add_format(const struct pfm_buffer_fmt *fmt);
void lx_sysfs_remove_format(const unsigned char *uuid);
int lx_lifetime_init(void);
void lx_lifetime_exit(void);

/* context.c */
extern const struct file_operations lx_context_fops;
struct lx_context *lx_context_new(void);
struct lx_context *lx_child_context(struct lx_context *root);	/* NULL: no memory */
void lx_context_put(struct lx_context *lx);
struct file *lx_context_file(struct lx_context *lx);	/* takes over the reference; or ERR_PTR */

/* calls.c */
long lx_context_ioctl(struct file *file, unsigned int cmd, unsigned long arg);
long lx_common_ioctl(unsigned int cmd, void __user *arg);	/* calls without a context; -ENOTTY: not one of them */

long lx_read_pmds(struct lx_context *lx, int n, pfarg_pmd_t __user *arg);

/* fast_read.c: pfm_read_pmds() for one element, and for up to LX_FAST_READ. */
#define LX_FAST_READ	4
long lx_read_one(struct lx_context *lx, pfarg_pmd_t __user *arg);
long lx_read_few(struct lx_context *lx, int n, pfarg_pmd_t __user *arg);

/* buffer.c */
int lx_alloc_buffer(struct pfm_context *ctx, size_t size, void **buf);
void lx_free_buffer(struct pfm_context *ctx, void *buf, size_t size);
int lx_mmap(struct file *file, struct vm_area_struct *vma);
int lx_flush(struct file *file, fl_owner_t id);

/* file/view.c */
extern const struct vm_operations_struct lx_view_ops;
int lx_views_init(void);
void lx_views_exit(void);
void lx_view_init_context(struct lx_context *lx);
pfm_set_view_t *lx_open_view(struct pfm_context *ctx, struct pfm_set *set);
void lx_close_view(struct pfm_context *ctx, struct pfm_set *set);
void lx_views_free(struct lx_context *lx);
bool lx_is_view(const struct vm_area_struct *vma);
int lx_map_view(struct lx_context *lx, struct vm_area_struct *vma);

/* view.c */
#define LX_VIEW_FAR		S32_MAX		/* the longest period that fits every counter, with its sign */
#define LX_VIEW_MAX_INDEX	32
static inline bool lx_has_views(const struct lx_context *lx)
{
	return lx->has_views;
}
void lx_live_view(struct pfm_context *ctx, struct pfm_set *set);
void lx_publish_now(struct lx_context *lx);
static inline void lx_publish(struct lx_context *lx)	/* PMU context: the active set as it is now */
{
	if (lx_has_views(lx))
		lx_publish_now(lx);
}
void lx_view_counters(struct lx_context *lx, struct perf_event *event);	/* not in PMU context; nor: */
void lx_view_end(struct lx_context *lx);
void lx_view_exit(void);

/* queue.c */
int lx_queue_init(struct lx_context *lx, unsigned int depth);
int lx_part_queues_init(struct lx_context *lx, unsigned int depth);
static inline unsigned int lx_part(const struct lx_context *root)	/* of this CPU */
{
	unsigned int cpu = raw_smp_processor_id();

	return cpu < root->msgs.num_parts ? cpu : cpu % root->msgs.num_parts;
}
void lx_queue_free(struct lx_context *lx);
int lx_post(struct pfm_context *ctx, const pfarg_msg_t *msg);
void lx_flush_messages(struct pfm_context *ctx);
void lx_signal(struct pfm_context *ctx);
void lx_wake(struct lx_context *lx);		/* does what lx->msgs.wake asks for; not in PMU context */
void lx_wake_soon(struct lx_context *lx);	/* from anywhere */
static inline void lx_unlock(struct lx_context *lx)	/* the end of a command */
{
	if (atomic_read(&lx->msgs.wake))
		lx_wake(lx);
	mutex_unlock(&lx->lock);
}
ssize_t lx_read(struct file *file, char __user *buf, size_t size, loff_t *pos);
__poll_t lx_poll(struct file *file, poll_table *wait);

/* target.c */
/* Before lx->lock is taken; NULL, or an ERR_PTR. */
struct task_struct *lx_resolve_target(const struct lx_context *lx, u32 load_pid);
void lx_target_put(struct task_struct *task);
int lx_need(struct pfm_context *ctx, uint16_t num);
int lx_attach(struct pfm_context *ctx, uint32_t load_pid);
void lx_detach(struct pfm_context *ctx);
int lx_attach_child(struct lx_context *lx, struct task_struct *child);	/* lx: a child context; child: current */
/* A kernel event on the target: not in PMU context. ERR_PTR, reported. */
struct perf_event *lx_event_new(struct lx_context *lx, struct perf_event_attr *attr,
				perf_overflow_handler_t handler, void *data);

/* lifetime.c */
struct lx_target_ref *lx_target_ref_new(struct lx_context *lx);	/* NULL: no memory */
void lx_target_ref_put(struct lx_target_ref *target_ref);
int lx_watch_task(struct lx_context *lx);	/* EBUSY: the thread has another context; ESRCH: it is exiting */
int lx_watch_cpu(struct lx_context *lx);	/* ENODEV: the CPU is going offline */
void lx_unwatch(struct lx_context *lx);
void lx_lifetime_init_context(struct lx_context *lx);
bool lx_task_has_fd(struct lx_context *lx);
struct tracepoint *lx_tracepoint(const char *name);	/* NULL: the kernel has none */

/* task_work.c */
void lx_task_work_init(void);
void lx_task_work_exit(void);
bool lx_has_task_work(void);			/* otherwise lx_task_work() must not be called */
int lx_task_work(struct task_struct *task, struct callback_head *work, enum task_work_notify_mode mode);
int lx_check_create(struct pfm_machine *m, uint32_t flags);

/* record.c */
void lx_record_init(void);
void lx_record_init_context(struct lx_context *lx);
int lx_listen(struct lx_context *lx);		/* the last step of a load */
void lx_listen_end(struct lx_context *lx);	/* before the context is detached from its target */
void lx_listen_free(struct lx_context *lx);	/* after its events have been freed */
void lx_record_exec(void);			/* this and the next ones: what the current thread does */
void lx_record_rename(const char *name);
void lx_record_exit(void);
void lx_record_fork(struct task_struct *child);
void lx_record_mmap(void);
void lx_record_sample(struct lx_context *lx);	/* PMU context */
bool lx_may_look(const struct lx_context *lx, struct mm_struct *mm);	/* at the current thread, with that mm */

/* inherit.c */
int lx_inherit_begin(struct lx_target_ref *target_ref);
void lx_inherit_end(struct lx_target_ref *target_ref);
void lx_inherit_free(struct lx_context *lx);	/* at the end of the context */
void lx_inherit_expect(struct lx_target_ref *target_ref);	/* current, which is watched, has created a thread */
void lx_inherit_fork(struct lx_target_ref *target_ref, struct task_struct *child);	/* then; takes a reference */
void lx_inherit_load(struct lx_context *root);	/* a new load begins, without children */
bool lx_forks_pending(struct pfm_context *root);
int lx_fork(struct pfm_context *child_ctx, void *child);
void lx_release(struct pfm_context *child_ctx);
void lx_count_dropped(struct lx_context *root);

/* counters.c */
void lx_note_event(struct lx_context *lx, struct perf_event *event);
int lx_counter_need(struct lx_context *lx, u16 num);	/* not in PMU context */
void lx_counters_free(struct lx_context *lx);
void lx_load(struct lx_counter *c, u64 value);		/* PMU context: counts from value on, as of now */
void lx_load_at_start(struct lx_counter *c);		/* while perf has the PMU disabled; overflows soon after */
static inline bool lx_live(const struct lx_counter *c)
{
	return c->lx->live >> c->at & 1;
}
int lx_install(struct pfm_context *ctx, struct pfm_set *set);
void lx_collect(struct pfm_context *ctx, struct pfm_set *set);
/* PMU context, running: fold the counts into the PMDs of the active set, or into one of them */
void lx_collect_active(struct lx_context *lx);
void lx_collect_one(struct lx_context *lx, struct pfm_pmd *pmd);
/* The same for an overflow of the only live counter; it is loaded anew, unless lx_deliver() has something to do. */
void lx_serve_alone(struct lx_counter *c);
int lx_write_pmc(struct pfm_context *ctx, struct pfm_set *set, uint16_t num);
int lx_write_pmd(struct pfm_context *ctx, struct pfm_set *set, uint16_t num);
void lx_resume(struct pfm_context *ctx);
void lx_freeze(struct pfm_context *ctx);
void lx_leave_out(struct lx_context *lx, bool away);	/* PMU context */

/* group.c: not in PMU context. If the event cannot join the leader's group, it stays on its own. */
void lx_group_join(struct perf_event *leader, struct perf_event *event);

/* exclude.c */
void lx_exclude_init(void);
int lx_exclude_begin(struct lx_context *lx);
void lx_exclude_end(struct lx_context *lx);
bool lx_leaves_out(const struct pfm_set *set, const struct task_struct *task);

/* clock.c */
void lx_clock_init_context(struct lx_context *lx);
void lx_late(struct lx_context *lx);		/* has an interrupt handle lx->late and lx->missed; called anywhere */
void lx_clock_drain(struct lx_context *lx);	/* waits for that interrupt; not in PMU context */
int lx_clock_open(struct lx_context *lx);	/* makes the clock event if it is needed */
void lx_clock_close(struct lx_context *lx);
void lx_timer_set(struct lx_context *lx, struct perf_event *event, u64 ns);
void lx_arm(struct pfm_context *ctx, uint64_t ns);
uint64_t lx_disarm(struct pfm_context *ctx);
uint64_t lx_left(struct pfm_context *ctx);
uint64_t lx_timer_ns(struct pfm_machine *m);
uint64_t lx_ran(struct pfm_context *ctx);

/* overflow.c */
void lx_on_overflow(struct perf_event *event, struct perf_sample_data *data, struct pt_regs *regs);
void lx_drain_overflows(struct lx_context *lx, struct pt_regs *regs);	/* collects, and delivers overflows */
void lx_deliver(struct lx_context *lx, struct pt_regs *regs);	/* delivers the overflows in lx->wrapped */
void lx_get_location(struct pfm_context *ctx);
void lx_end_service(struct lx_context *lx, bool safe);
void lx_where(struct pfm_context *ctx, struct pfm_where *where);
/* Around work in PMU context that is not an overflow of the PMU; interrupts are off. */
void lx_halt(struct lx_context *lx);		/* in between: the PMU counts nothing until lx_leave() */
void lx_catch_up(struct lx_context *lx, struct pt_regs *regs);
/* Has perf disabled the PMU? Not if lx_halt() has: an NMI that comes while lx_leave() enables it is handled at once. */
static __always_inline bool lx_perf_is_busy(const struct lx_context *lx, const struct pmu *pmu)
{
	const int ours = READ_ONCE(lx->halts) && lx->halted == pmu;

	return pfm_pmu_disable_count(pmu) > ours;
}
static __always_inline void lx_enter(struct lx_context *lx)
{
	WRITE_ONCE(lx->busy, true);
	barrier();
	if (lx->running && lx->kernel_hw)
		lx_halt(lx);
}
static __always_inline bool lx_left_clean(struct lx_context *lx)	/* false: lx_catch_up() ends it */
{
	barrier();
	WRITE_ONCE(lx->busy, false);
	return likely(!READ_ONCE(lx->owed));
}
static __always_inline void lx_leave(struct lx_context *lx, struct pt_regs *regs)	/* handles missed overflows */
{
	if (!lx_left_clean(lx))
		lx_catch_up(lx, regs);
}

/* stack.c */
extern const struct pfm_stack_ops lx_stack_ops;

/* access.c */
int lx_access(struct pfm_context *ctx, int (*fn)(struct pfm_context *, void *), void *arg);
/* Interrupts are off. Until lx_unlock_perf() with the returned context perf schedules no event of the target in. */
struct perf_event_context *lx_lock_perf(struct lx_context *lx);
void lx_unlock_perf(struct lx_context *lx, struct perf_event_context *locked);
bool lx_scheduled_in(const struct lx_context *lx);
struct pt_regs *lx_user_regs(const struct lx_context *lx);	/* where the target entered the kernel; or NULL */

/* notify_block.c: the target waits before it returns to user level, or waits no longer */
void lx_block(struct pfm_context *ctx);
void lx_unblock(struct pfm_context *ctx);
void lx_block_init(struct lx_target_ref *target_ref);

/* The architecture. Events are raw ones of its CPU PMU. */
unsigned int lx_arch_counters(void);		/* how many hardware counters perf has; 0: none */
int lx_arch_check(u16 num, u64 pmc);		/* may the caller program that? */
const char *lx_arch_module(void);		/* with the description of this processor, or NULL */
u32 lx_arch_type(void);				/* attr.type and attr.config of a new event */
u64 lx_arch_config(u16 num);
bool lx_arch_counts(u64 pmc);
bool lx_arch_kernel(u64 pmc);
/* PMU context, the event stopped or not on a CPU: from its next start it counts what pmc says, once it is placed. */
int lx_arch_program(struct perf_event *event, u16 num, u64 pmc);
/* PMU context, the event throttled on this CPU: perf's tick is to start it again with the period in period_left. */
void lx_arch_reload_throttled(struct perf_event *event);

/*
 * For the registers of a thread at user level. lx_arch_is_64bit: is it a program of 64 bits, so that the layout of its
 * frames is known? lx_arch_frame_pointer; lx_arch_return_address: without the bits in which pointer authentication
 * signs, and which no address of the user has; lx_arch_user_regs: copies its LX_USER_REGS registers, as asm/perf_regs.h
 * numbers them, and returns how many.
 */
#ifdef CONFIG_ARM64
#define LX_USER_REGS	33
static inline u64 lx_arch_return_address(u64 address)
{
	return address & (TASK_SIZE_64 - 1);
}
#else
#define LX_USER_REGS	20
static inline u64 lx_arch_return_address(u64 address) { return address; }
#endif
bool lx_arch_is_64bit(struct pt_regs *regs);
u64 lx_arch_frame_pointer(struct pt_regs *regs);
uint16_t lx_arch_user_regs(struct pt_regs *regs, u64 *to);

/*
 * Reading at user level. LX_USER_READ: attr.config1 of an event that may be read so; lx_arch_unused_bits(): 64 less the
 * bits of a counter; lx_arch_thread_pointer(): of the current thread; lx_arch_may_read(): is the address space of the
 * context's views allowed to read counters? lx_arch_allow_read() allows it for the calling thread, which has no lock
 * but lx->lock; lx_arch_forbid_read() takes that back.
 */
#ifdef CONFIG_ARM64
#define LX_USER_READ	2ULL
static inline unsigned int lx_arch_unused_bits(void) { return 32; }
static inline bool lx_arch_may_read(const struct lx_context *lx) { return true; }
static inline void lx_arch_allow_read(struct lx_context *lx) { }
static inline void lx_arch_forbid_read(struct lx_context *lx) { }
#else
#define LX_USER_READ	0ULL
unsigned int lx_arch_unused_bits(void);
bool lx_arch_may_read(const struct lx_context *lx);
void lx_arch_allow_read(struct lx_context *lx);
void lx_arch_forbid_read(struct lx_context *lx);
#endif
u64 lx_arch_thread_pointer(void);

/*
 * PMU context, of events on this CPU. lx_arch_count: the value that event->count would have if perf updated it now.
 * lx_arch_end_overflow: at the end of an overflow in perf's handler, lets counters count that were started in it. The
 * others access the hardware directly and are optional. lx_arch_bit: the enable bit of the event's counter; 0: only
 * perf can start and stop the event. lx_arch_enable, lx_arch_disable: for several such bits at once. lx_arch_load:
 * brings event->count up to date and loads the counter, enabled or not, so that it overflows after period.
 * lx_arch_pending: has a counter overflowed without an interrupt so far?
 */
#ifdef CONFIG_ARM64
#include "arch/arm64.h"
#else
#define LX_SHORTEST	2	/* with a period of 1 perf would trace branches (BTS) */
u64 lx_arch_count(const struct perf_event *event);
void lx_arch_end_overflow(struct perf_event *event);
/* PMU context: moves each event that was programmed anew to a counter that can count it; EBUSY: there is none. */
int lx_arch_place(struct lx_context *lx);
static inline u64 lx_arch_bit(const struct perf_event *event) { return 0; }
static inline void lx_arch_enable(u64 bits) { }
static inline void lx_arch_disable(u64 bits) { }
static inline void lx_arch_load(struct perf_event *event, s64 period) { }
static inline bool lx_arch_pending(void) { return false; }
#endif

/* At the begin of a command while counters run: an overflow that is pending came before it, and is handled first. */
static inline bool lx_has_to_drain(const struct lx_context *lx)
{
	return lx->kernel_level || (lx->hw && lx_arch_pending());
}

#endif
