/* SPDX-License-Identifier: GPL-2.0 */
/*
 * linux.h - perfmon.ko, the core inside the Linux kernel: declarations that its files share.
 *
 * main.c starts and ends the module. file/: chardev.c implements /dev/perfmon; context.c the file
 * operations of a context, calls.c its ioctls, fast_read.c the most frequent of them, buffer.c its
 * sampling buffer, view.c the pages of its views, queue.c its messages. target/: target.c binds a
 * context to a thread or a CPU; lifetime.c notices the end of the target, and inherit.c its
 * children; record.c passes records of what the target does to sampling formats; exclude.c leaves
 * threads out of a set, notify_block.c blocks a target, task_work.c queues work for it. machine.c
 * holds the table of operations; pmu.c the logical PMU; format.c the sampling formats; counters.c
 * controls the kernel's counters, group.c makes perf schedule them together, view.c publishes to
 * threads the registers of their counters, clock.c implements the set timeout, overflow.c handles
 * interrupts, stack.c walks stacks in them, access.c runs functions in PMU context. permit.c
 * checks the caller's rights, memory.c charges memory, sysfs.c shows the configuration, os.c
 * implements the rest of core/os.h. arch/arm64.c and arch/x86.c contain what is specific to an
 * architecture.
 *
 * In this module, code is in PMU context if interrupts are off and one of two things is true: it
 * runs on the target's CPU, and the target, if it is a thread, is current; or the target does not
 * run, and the code holds the locks of the target's perf contexts, which perf takes before it
 * schedules the target's events in.
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
#define LX_FAR		(1LL << 62)	/* a period so long that it never ends */
/* the period, in events, that a counter gets if an NMI could not handle its overflow */
#define LX_SOON		100000
#define LX_CLOCK_MIN_NS	10000ULL	/* the shortest period of perf's clock events */
#define LX_THROTTLED	(~0ULL)		/* hw.interrupts of an event that perf has throttled */

static inline bool lx_on_cpu(const struct perf_event *event)
{
	return event->state == PERF_EVENT_STATE_ACTIVE;
}

enum lx_kind {
	LX_HW,		/* counted by the PMU */
	LX_SW,		/* a software event of the kernel */
	LX_CLOCK,	/* counts ns by a clock event; a timer makes it overflow */
};

/* A counting PMD that is in use, and its perf event, which counts for the set that is active. */
struct lx_counter {
	struct perf_event	*event;
	struct lx_context	*lx;
	/* the value of event->count up to which events have been added to the PMD */
	u64			seen;
	/* idle_of() when the event was made: how long the target had run until then */
	u64			idle;
	u16			num;	/* number of the PMD, and of the PMC that controls it */
	u8			at;	/* index in lx->counters, and bit in lx->live */
	u8			kind;
	/* the counter has been loaded since the handling of its overflow began */
	bool			loaded;
	/* the hardware does not have the PMD's value: a release must load the counter */
	bool			stale;
};

enum { LX_WAKE_READERS = 1, LX_WAKE_SIGNAL = 2, LX_WAKE_TARGET = 4 };

/*
 * The link between a context and its target thread, made by a load. Task work of the thread belongs
 * to it, not to the context: such work may still be queued when the context has been loaded onto
 * another thread.
 */
struct lx_target_ref {
	/* one reference for the load, and one for each queued work */
	refcount_t		users;
	struct lx_context	*lx;		/* with a reference */
	struct callback_head	exit_work;
	struct work_struct	exit_later; /* used instead on kernels without task_work_add() */
	struct callback_head	block_work;
	struct callback_head	refill_work;
	/* with PFM_FL_INHERIT: record for the thread's next child; NULL: no memory */
	struct lx_fork_record	*fork_record;
	bool			ended;		/* the end of the thread has been noticed */
	/* the thread had the context's descriptor when it ended */
	bool			has_fd;
	bool			block_queued;
	bool			hold;		/* the thread must wait for the restart */
};

struct lx_message {
	pfarg_msg_t		msg;
	/* number of the fill (core/parts.c) that the message reports; 0: it reports none */
	u32			fill;
};

struct lx_queue {
	struct lx_message	*messages;
	/* head and tail only ever increase; modulo room they are indices */
	unsigned int		room, head, tail;
};

/* The state that a context with PFM_FL_INHERIT shares with its child contexts. */
struct lx_family {
	/* credentials of the creator, to which child contexts are charged; or NULL */
	const struct cred	*cred;
	unsigned long		lock_limit;	/* pages that the creator may lock */
	/*
	 * bits 0-31: number of new threads that have not yet done the work that makes their child
	 * contexts; bits 32-63: how many times the context has been loaded
	 */
	atomic64_t		expected;
	/* children that were not counted and are not yet reported to the core */
	atomic_t		dropped;
	/* in a root: a free record for the next thread that needs one; or NULL */
	struct lx_fork_record	*spare_record;
};

/* The target of a loaded context. */
struct lx_target {
	struct task_struct	*task;		/* NULL if a CPU is monitored */
	u32			tid, pid;	/* in the pid namespace of the creator */
	/* during a load: the task to which it will attach, locked by exec_update_lock; or NULL */
	struct task_struct	*pending;
	/* node in the table of watched tasks, or in the list of watched CPUs (lifetime.c) */
	struct hlist_node	by_task;
	struct lx_target_ref	*ref;		/* NULL if a CPU is monitored */
	struct lx_target_ref	first_ref;
	bool			first_ref_used;
	/* the target thread had the context's descriptor when it ended */
	bool			has_fd;
	wait_queue_head_t	blocked; /* threads that wait for a restart (PFM_FL_NOTIFY_BLOCK) */
	/* node in a list of listeners (record.c), if the format wants records */
	struct hlist_node	by_listener;
	/* hashes of recorded mappings; a child context uses its root's */
	u64			*seen_mappings;
	struct irq_work		walk_work;
	/* walk_work was queued for a sample taken at user level */
	bool			sampled_user;
	struct work_struct	cpu_work;
	bool			cpu_left;	/* the CPU has gone offline since the load */
};

/* Messages: they are written in PMU context, and read under read_lock. */
struct lx_messages {
	struct mutex		read_lock;
	struct lx_queue		queue;
	/* room for an overflow and END, which is enough for most contexts */
	struct lx_message	first_messages[2];
	/* a queue for each part of the buffer (core/parts.c); or NULL */
	struct lx_queue		*part_queues;
	/* number of parts: one for each CPU that was online */
	unsigned int		num_parts;
	wait_queue_head_t	readers;
	struct fasync_struct	*fasync;
	/* LX_WAKE_* bits: wakeups that must be done outside of PMU context */
	atomic_t		wake;
	struct irq_work		wake_work;
	/* the CPU has gone offline and the context is unloaded: no message will come */
	bool			over;
};

/* The pages from which threads read counters without a system call. */
struct lx_views {
	struct xarray		pages;		/* struct page by the id of the set */
	/* pages of deleted sets, which may still be mapped */
	struct list_head	old_pages;
	/* the address space into which the pages are mapped; the pointer is only compared */
	struct mm_struct	*mm;
	/* node in the table of contexts with views (view.c), linked while perf is set */
	struct hlist_node	by_viewer;
	/* the perf context of the hardware counters that threads may read */
	struct perf_event_context *perf;
	/* the address space that may use rdpmc (x86), with a reference */
	struct mm_struct	*rdpmc_mm;
	bool			publishing;	/* a page is being changed */
	bool			republish;	/* the page must be changed once more afterwards */
};

/* The sampling buffer. */
struct lx_buffer {
	const struct cred	*payer;	/* credentials of the user to which the buffer is charged */
	/* a struct lx_map for each address space that has the buffer mapped */
	struct list_head	maps;
	spinlock_t		maps_lock;
};

/* A context of the core with its descriptor; ctx->os and ctx->transport point to it. */
struct lx_context {
	/* held by the file, and by work that is queued at the target */
	struct kref		ref;
	/* held during every command; a child context uses its root's */
	struct mutex		lock;
	/* in a child context its root, with a reference; in a root the root itself */
	struct lx_context	*root;
	struct pfm_context	*ctx;		/* NULL after the context was closed */
	struct file		*file;		/* the pointer is only compared */
	/* the pid namespace of the creator, in which programs get ids */
	struct pid_namespace	*ns;
	kuid_t			uid;		/* the user id of the creator */
	/* perfmonctl() made the context: its buffer is mapped as 3.5.4 says */
	bool			by_06;
	int			creator_paranoid;	/* what lx_paranoid() returned at the creation */
	bool			kernel_ips; /* creator and loader may see the kernel's addresses */
	bool			sees_all;	/* creator and loader may look at any thread */

	struct lx_family	family;
	struct lx_target	target;
	struct lx_messages	msgs;
	struct lx_views		view;
	struct lx_buffer	buf;

	/* The following members describe the context's perf events. */
	/* the perf contexts that hold the events; [1] is NULL if one holds them all */
	struct perf_event_context *perf[2];
	struct perf_event	*anchor_event;	/* while this event is active, the target runs */
	/* the set timeout's event; NULL if no set has a timeout */
	struct perf_event	*clock;
	/* the PMU of the hardware counters; NULL if there are none */
	struct pmu		*pmu;
	bool			armed;
	u8			num_counters;
	/* bit n: counters[n] counts something in the active set */
	u64			live;
	/* index in counters[] by number of PMD, or LX_NO_COUNTER */
	u8			slot[PFM_MAX_PMDS];

	/* The following is accessed in PMU context only: */
	/* a counter of this or of a child context had no place on the PMU */
	bool			starved;
	/* for how long a counter of this context had no place on the PMU */
	u64			missed_ns;
	bool			hw;		/* some live counters are hardware counters */
	/* the live counters are now counting into the active set */
	bool			running;
	/* the live counters should be counting, unless "away" is set */
	bool			wanted;
	bool			away;		/* the current thread is excluded (exclude.c) */
	bool			excludes;	/* some set excludes some threads */
	bool			kernel_level;	/* some live counter counts in the kernel */
	/* some live hardware counter counts in the kernel */
	bool			kernel_hw;
	/* bit n: the event code of counters[n] changed while it was on the PMU (x86) */
	u64			displaced;
	/* code is in PMU context: an NMI leaves its overflow to that code */
	bool			busy;
	/* number of missed overflows at which perf throttled the event */
	u8			missed_throttled;
	union {
		/*
		 * these are bytes, so that an NMI and the code that it interrupts can write
		 * different ones
		 */
		struct {
			/* an NMI left its overflow to the interrupted code */
			bool	missed;
			bool	halts;		/* lx_halt() has disabled the PMU "halted" */
			/* some set has a view, which must be kept up to date */
			bool	has_views;
		};
		/* the flags above as one word: if it is not 0, lx_leave() has work to do */
		u32		owed;
	};
	struct pmu		*halted;	/* the PMU that lx_halt() has disabled */
	/* the clock event of the timer interrupt that is being handled */
	struct perf_event	*firing;
	/* bit n: an NMI could not set the timer of counters[n]; bit 63: that of clock */
	atomic64_t		late;
	struct irq_work		late_work;
	/* PMDs that passed 2^64, and are not yet delivered */
	u64			wrapped[PFM_PMD_BV];
	bool			any_wrapped;
	/* the overflow that is being handled, and its location (where) */
	u64			ovfl[PFM_PMD_BV];
	struct pfm_where	where;

	/*
	 * If the context has no sampling format, the structure ends before trace, so that it fits
	 * into a page; that of a child context then ends after counters[], which has only as many
	 * elements as the root uses.
	 */
	u8			room_counters;
	struct lx_counter	counters[LX_MAX_COUNTERS];
	/* the vector of a call in progress */
	u64			vector[4 * sizeof(pfarg_pmd_t) / 8];
	unsigned long		vector_used;
	/* the kernel's frames, for a format that wants call stacks */
	unsigned long		trace[128];
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

/* Forgets that the PMD passed 2^64, because it has been written since. */
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
/* held during a change of the machine's configuration */
extern struct mutex lx_config_lock;
void lx_machine_init(const struct pfm_pmu *pmu);

/* os.c: lx_explain() returns the reason of the calling thread's last refusal. */
const char *lx_explain(char *to, size_t size);
/*
 * Called with interrupts off: from now on the reasons of refusals in interrupts on this CPU are
 * stored for the thread tid, until this is called with 0.
 */
void lx_refuse_for(pid_t tid);

/*
 * memory.c: lx_charge() charges size bytes, rounded up to pages, to the caller's user, until
 * lx_uncharge() is called with the credentials that it returned; it returns NULL if the limit is
 * exceeded. The credentials hold the user: not all kernels export free_uid() to modules.
 * lx_lockable() returns how many bytes the user can still lock; ~0: no limit.
 */
const struct cred *lx_charge(size_t size);
void lx_uncharge(const struct cred *payer, size_t size);
u64 lx_lockable(void);
/*
 * Between lx_debt_begin() and lx_debt_end() what the current thread allocates is charged to the
 * user of cred, and limited to so many pages, whatever the thread's own user and limits are.
 */
struct lx_debt {
	struct list_head	entry;
	struct task_struct	*task;
	const struct cred	*own;
	unsigned long		limit;
};
void lx_debt_begin(struct lx_debt *debt, const struct cred *cred, unsigned long limit);
void lx_debt_end(struct lx_debt *debt);
/* returns how many pages the caller's user may lock in all; may sleep */
unsigned long lx_lock_limit(void);

/* pmu.c */
const struct pfm_pmu *lx_pmu_init(void);
void lx_pmu_exit(void);
/* asks modprobe for the module that describes the PMU */
void lx_pmu_load_module(void);
/* until lx_pmu_unlock() is called, lx_machine.pmu does not change; may sleep */
void lx_pmu_lock(void);
void lx_pmu_unlock(void);
/* returns the PMU for a new context, with a reference to its module */
const struct pfm_pmu *lx_pmu_get(void);
void lx_pmu_put(const struct pfm_pmu *pmu);
bool lx_is_hw(u16 num);
/* these return true if a PMC with this value counts anything, or counts in the kernel */
bool lx_pmc_counts(u16 num, u64 value);
bool lx_pmc_kernel(u16 num, u64 value);
/* returns -EPERM, with a reason, if the PMC would count at a level that the caller may not count */
int lx_check_pmc_level(u16 num, u64 value);

/*
 * format.c: these return the format with a reference to its module, or NULL. modprobe is asked for
 * a format that is not loaded.
 */
struct pfm_buffer_fmt *lx_format_by_name(const char *name);
/* asks modprobe for all formats; called before formats are listed */
void lx_formats_load_module(void);
struct pfm_buffer_fmt *lx_format_by_uuid(const unsigned char *uuid);
/*
 * A request to modprobe. lx_module_requested() says whether it should be made now,
 * lx_module_request_met() notes its result, and lx_module_request_again() allows it again when the
 * module may have been removed.
 */
struct lx_module_request {
	unsigned long	tried;		/* time of the last request in jiffies; 0: there was none */
	bool		met;
};
bool lx_module_requested(struct lx_module_request *d);
void lx_module_request_met(struct lx_module_request *d, int err);
void lx_module_request_again(struct lx_module_request *d);
/*
 * As request_module(), but one request runs at a time, so that a module which another thread has
 * requested is LIVE when this returns: busybox's modprobe does not wait for a module while its init
 * function runs. Returns -EINTR if the caller is killed while it waits.
 */
#define lx_request_module(...) ({ \
	int ret_ = mutex_lock_killable(&lx_modprobe); \
	if (!ret_) { \
		ret_ = request_module(__VA_ARGS__); \
		mutex_unlock(&lx_modprobe); \
	} \
	ret_; \
})
extern struct mutex lx_modprobe;
bool lx_module_hold(struct module *owner);	/* takes a reference, which module_put() drops */

/*
 * permit.c: the caller's rights. lx_paranoid() returns perf_event_paranoid, or LX_PARANOID_NOT for
 * a privileged caller. From LX_PARANOID_CPU on the caller may not monitor a CPU, from
 * LX_PARANOID_KERNEL on not the kernel, from LX_PARANOID_ALL on nothing.
 */
enum { LX_PARANOID_NOT = -1, LX_PARANOID_CPU = 1, LX_PARANOID_KERNEL, LX_PARANOID_ALL };
int lx_permit_init(void);
void lx_permit_exit(void);
int lx_paranoid(void);				/* may sleep */
/* returns -EPERM, with a reason, if the caller may monitor nothing */
int lx_check_monitor(int paranoid);
bool lx_capable(int cap);
/* bytes that perf lets each user lock beyond RLIMIT_MEMLOCK; may sleep */
u64 lx_perf_mlock(void);
/*
 * Returns true if the caller may monitor the thread and, if blocks is true, may also stop it
 * (PFM_FL_NOTIFY_BLOCK).
 */
bool lx_may_attach(struct task_struct *task, bool blocks);

/*
 * file/chardev.c, sysfs.c, target/lifetime.c: called when the module is loaded or removed, or when
 * a description or format is added or removed
 */
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

/* file/context.c */
extern const struct file_operations lx_context_fops;
/* samples: true if the context will have a format; returns an ERR_PTR on failure */
struct lx_context *lx_context_new(bool samples);
/* returns NULL if there is no memory */
struct lx_context *lx_child_context(struct lx_context *root);
void lx_context_put(struct lx_context *lx);
/* takes over the caller's reference, but not if it returns an ERR_PTR */
struct file *lx_context_file(struct lx_context *lx);

/* file/calls.c */
long lx_context_ioctl(struct file *file, unsigned int cmd, unsigned long arg);
/* makes a call that needs no context; returns -ENOTTY if cmd is not such a call */
long lx_common_ioctl(unsigned int cmd, void __user *arg);

long lx_read_pmds(struct lx_context *lx, int n, pfarg_pmd_t __user *arg);

/* file/fast_read.c: pfm_read_pmds() for one element, and for up to LX_FAST_READ elements. */
#define LX_FAST_READ	4
long lx_read_one(struct lx_context *lx, pfarg_pmd_t __user *arg);
long lx_read_few(struct lx_context *lx, int n, pfarg_pmd_t __user *arg);

/* file/buffer.c */
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
/*
 * The longest period of a counter with a view: programs read the counter as a signed number of at
 * least 32 bits.
 */
#define LX_VIEW_FAR		S32_MAX
#define LX_VIEW_MAX_INDEX	32
static inline bool lx_has_views(const struct lx_context *lx)
{
	return lx->has_views;
}
void lx_live_view(struct pfm_context *ctx, struct pfm_set *set);
void lx_publish_now(struct lx_context *lx);
/* publishes the active set as it is now; runs in PMU context */
static inline void lx_publish(struct lx_context *lx)
{
	if (lx_has_views(lx))
		lx_publish_now(lx);
}
/* this and lx_view_end() must not be called in PMU context */
void lx_view_counters(struct lx_context *lx, struct perf_event *event);
void lx_view_end(struct lx_context *lx);
void lx_view_exit(void);

/* file/queue.c */
int lx_queue_init(struct lx_context *lx, unsigned int depth);
int lx_part_queues_init(struct lx_context *lx, unsigned int depth);
/* returns the number of the part of the buffer that belongs to this CPU */
static inline unsigned int lx_part(const struct lx_context *root)
{
	unsigned int cpu = raw_smp_processor_id();

	return cpu < root->msgs.num_parts ? cpu : cpu % root->msgs.num_parts;
}
void lx_queue_free(struct lx_context *lx);
int lx_post(struct pfm_context *ctx, const pfarg_msg_t *msg);
void lx_flush_messages(struct pfm_context *ctx);
void lx_signal(struct pfm_context *ctx);
/* does the wakeups in lx->msgs.wake; must not be called in PMU context */
void lx_wake(struct lx_context *lx);
/* makes an interrupt call lx_wake(); may be called anywhere */
void lx_wake_soon(struct lx_context *lx);
static inline void lx_unlock(struct lx_context *lx)	/* ends a command */
{
	if (atomic_read(&lx->msgs.wake))
		lx_wake(lx);
	mutex_unlock(&lx->lock);
}
ssize_t lx_read(struct file *file, char __user *buf, size_t size, loff_t *pos);
__poll_t lx_poll(struct file *file, poll_table *wait);

/* target/target.c */
/*
 * Called before lx->lock is taken. Returns NULL if the context is system-wide or there is no such
 * thread, or an ERR_PTR on failure.
 */
struct task_struct *lx_resolve_target(const struct lx_context *lx, u32 load_pid);
void lx_target_put(struct task_struct *task);
int lx_need(struct pfm_context *ctx, uint16_t num);
int lx_attach(struct pfm_context *ctx, uint32_t load_pid);
void lx_detach(struct pfm_context *ctx);
/* binds the child context lx to child, which is the current thread */
int lx_attach_child(struct lx_context *lx, struct task_struct *child);
/*
 * Makes a kernel event on the target. It must not be called in PMU context. On failure it stores a
 * reason and returns an ERR_PTR.
 */
struct perf_event *lx_event_new(struct lx_context *lx, struct perf_event_attr *attr,
				perf_overflow_handler_t handler, void *data);

/* target/lifetime.c */
/* returns NULL if there is no memory */
struct lx_target_ref *lx_target_ref_new(struct lx_context *lx);
void lx_target_ref_put(struct lx_target_ref *target_ref);
/* returns -EBUSY if another context monitors the thread, -ESRCH if the thread is exiting */
int lx_watch_task(struct lx_context *lx);
/* returns -ENODEV if the CPU is going offline */
int lx_watch_cpu(struct lx_context *lx);
void lx_unwatch(struct lx_context *lx);
void lx_lifetime_init_context(struct lx_context *lx);
bool lx_task_has_fd(struct lx_context *lx);
/* returns NULL if the kernel has no such tracepoint */
struct tracepoint *lx_tracepoint(const char *name);

/* target/task_work.c */
void lx_task_work_init(void);
void lx_task_work_exit(void);
bool lx_has_task_work(void);	/* if it returns false, lx_task_work() must not be called */
int lx_task_work(struct task_struct *task, struct callback_head *work, enum task_work_notify_mode mode);
int lx_check_create(struct pfm_machine *m, uint32_t flags);

/* target/record.c */
void lx_record_init(void);
void lx_record_init_context(struct lx_context *lx);
int lx_listen(struct lx_context *lx);		/* called as the last step of a load */
/* called before the context is detached from its target */
void lx_listen_end(struct lx_context *lx);
/* called after the context's events have been freed */
void lx_listen_free(struct lx_context *lx);
/* this and the next functions record what the current thread does */
void lx_record_exec(void);
void lx_record_rename(const char *name);
void lx_record_exit(void);
void lx_record_fork(struct task_struct *child);
void lx_record_mmap(void);
void lx_record_sample(struct lx_context *lx);	/* runs in PMU context */
/* returns true if the context may see mm, the address space of the current thread */
bool lx_may_look(const struct lx_context *lx, struct mm_struct *mm);

/* target/inherit.c */
int lx_inherit_begin(struct lx_target_ref *target_ref);
void lx_inherit_end(struct lx_target_ref *target_ref);
void lx_inherit_free(struct lx_context *lx);	/* called at the end of the context */
/* called when the current thread, which is watched, creates a thread */
void lx_inherit_expect(struct lx_target_ref *target_ref);
/* called after lx_inherit_expect(); takes over the caller's reference to target_ref */
void lx_inherit_fork(struct lx_target_ref *target_ref, struct task_struct *child);
void lx_inherit_load(struct lx_context *root);	/* called at the start of a load */
bool lx_forks_pending(struct pfm_context *root);
int lx_fork(struct pfm_context *child_ctx, void *child);
void lx_release(struct pfm_context *child_ctx);
/* reports to the core the children for which no struct lx_fork_record was left */
void lx_report_dropped(struct lx_context *root);
static inline void lx_count_dropped(struct lx_context *root)
{
	if (atomic_read(&root->family.dropped))
		lx_report_dropped(root);
}

/* counters.c */
void lx_note_event(struct lx_context *lx, struct perf_event *event);
/* makes the counter of PMD num unless it exists; must not be called in PMU context */
int lx_counter_need(struct lx_context *lx, u16 num);
void lx_counters_free(struct lx_context *lx);
/* makes the counter count from this value on; runs in PMU context */
void lx_load(struct lx_counter *c, u64 value);
/* called while perf has the PMU disabled; makes the counter overflow soon after its start */
void lx_load_at_start(struct lx_counter *c);
static inline bool lx_live(const struct lx_counter *c)
{
	return c->lx->live >> c->at & 1;
}
int lx_install(struct pfm_context *ctx, struct pfm_set *set);
void lx_collect(struct pfm_context *ctx, struct pfm_set *set);
/*
 * These add the counts to all PMDs of the active set, or to one of them. They are called in PMU
 * context, while lx->running is set.
 */
void lx_collect_active(struct lx_context *lx);
void lx_collect_one(struct lx_context *lx, struct pfm_pmd *pmd);
/*
 * Called after an overflow of the only live counter: adds the count to the PMD. Reloads the counter
 * and returns NULL, or returns the PMD if the core must handle its overflow.
 */
struct pfm_pmd *lx_serve_alone(struct lx_counter *c);
int lx_write_pmc(struct pfm_context *ctx, struct pfm_set *set, uint16_t num);
int lx_write_pmd(struct pfm_context *ctx, struct pfm_set *set, uint16_t num);
void lx_resume(struct pfm_context *ctx);
void lx_freeze(struct pfm_context *ctx);
void lx_leave_out(struct lx_context *lx, bool away);	/* runs in PMU context */

/*
 * group.c: must not be called in PMU context. If the event cannot join the leader's group, it stays
 * alone.
 */
void lx_group_join(struct perf_event *leader, struct perf_event *event);

/* target/exclude.c */
void lx_exclude_init(void);
int lx_exclude_begin(struct lx_context *lx);
void lx_exclude_end(struct lx_context *lx);
bool lx_leaves_out(const struct pfm_set *set, const struct task_struct *task);

/* clock.c */
void lx_clock_init_context(struct lx_context *lx);
/* makes an interrupt handle lx->late, missed and displaced; may be called anywhere */
void lx_late(struct lx_context *lx);
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
/* collects the counts and delivers the overflows found */
void lx_drain_overflows(struct lx_context *lx, struct pt_regs *regs);
/* delivers the overflows in lx->wrapped to the core */
void lx_deliver(struct lx_context *lx, struct pt_regs *regs);
void lx_get_location(struct pfm_context *ctx);
void lx_end_service(struct lx_context *lx, bool safe);
void lx_where(struct pfm_context *ctx, struct pfm_where *where);
/*
 * lx_enter() and lx_leave() enclose work in PMU context other than the handling of a PMU overflow;
 * interrupts are off.
 */
void lx_halt(struct lx_context *lx);		/* disables the PMU until lx_leave() */
void lx_catch_up(struct lx_context *lx, struct pt_regs *regs);
/*
 * Returns true if perf has disabled the PMU, and false if only lx_halt() has: an NMI that comes
 * while lx_leave() enables the PMU can be handled at once.
 */
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
/* the first part of lx_leave(); if it returns false, lx_catch_up() must be called */
static __always_inline bool lx_left_clean(struct lx_context *lx)
{
	barrier();
	WRITE_ONCE(lx->busy, false);
	return likely(!READ_ONCE(lx->owed));
}
/* ends the work, and handles the overflows that came while it was done */
static __always_inline void lx_leave(struct lx_context *lx, struct pt_regs *regs)
{
	if (!lx_left_clean(lx))
		lx_catch_up(lx, regs);
}

/* stack.c */
extern const struct pfm_stack_ops lx_stack_ops;

/* access.c */
int lx_access(struct pfm_context *ctx, int (*fn)(struct pfm_context *, void *), void *arg);
/*
 * Locks the target's perf contexts, so that perf schedules none of its events in until
 * lx_unlock_perf() is called with the returned context. Interrupts are off.
 */
struct perf_event_context *lx_lock_perf(struct lx_context *lx);
void lx_unlock_perf(struct lx_context *lx, struct perf_event_context *locked);
bool lx_scheduled_in(const struct lx_context *lx);
/*
 * Returns the registers with which the target entered the kernel, or NULL if the target has ended
 * or is a thread of the kernel.
 */
struct pt_regs *lx_user_regs(const struct lx_context *lx);

/*
 * target/notify_block.c: lx_block() makes the target wait before it returns to user level, and
 * lx_unblock() ends the wait.
 */
void lx_block(struct pfm_context *ctx);
void lx_unblock(struct pfm_context *ctx);
void lx_block_init(struct lx_target_ref *target_ref);

/* arch/: functions that each architecture implements. Events are raw events of the CPU's PMU. */
/* number of hardware counters that perf has; 0: there are none */
unsigned int lx_arch_counters(void);
/* refuses a PMC value that this processor cannot count */
int lx_arch_check(u16 num, u64 pmc);
/* name of the module that describes this processor; or NULL */
const char *lx_arch_module(void);
u32 lx_arch_type(void);				/* attr.type and attr.config of a new event */
u64 lx_arch_config(u16 num);
bool lx_arch_counts(u64 pmc);
bool lx_arch_kernel(u64 pmc);
/*
 * Runs in PMU context, with the event stopped or not on a CPU. From its next start, after
 * lx_arch_place(), the event counts as pmc selects.
 */
int lx_arch_program(struct perf_event *event, u16 num, u64 pmc);
/*
 * Runs in PMU context, with the event throttled on this CPU: perf's tick will restart the event
 * with the period in period_left.
 */
void lx_arch_reload_throttled(struct perf_event *event);

/*
 * Registers of a thread at user level. lx_arch_is_64bit() returns true for a 64-bit program, of
 * which the layout of frames is known. lx_arch_return_address() removes the bits of a pointer
 * authentication code, which no user address has. lx_arch_user_regs() copies the LX_USER_REGS
 * registers in the order of asm/perf_regs.h, and returns how many it copied.
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
 * Reads at user level. LX_USER_READ is the attr.config1 of an event that user level may read;
 * lx_arch_unused_bits() is 64 less the width of a counter; lx_arch_thread_pointer() returns the
 * thread pointer of the current thread. lx_arch_may_read() returns true if the address space with
 * the context's views may read counters. lx_arch_allow_read() lets the calling thread's address
 * space read them, and is called with no lock but lx->lock held; lx_arch_forbid_read() undoes that.
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
 * These run in PMU context, on events of this CPU. lx_arch_count() returns the value that
 * event->count would have if perf updated it now. lx_arch_end_overflow() runs at the end of an
 * overflow in perf's handler, and makes counters count that were started in the handler. The others
 * access the hardware directly and are optional. lx_arch_bit() returns the enable bit of the
 * event's counter; 0: only perf can start and stop the event. lx_arch_enable() and
 * lx_arch_disable() take several such bits at once. lx_arch_load() brings event->count up to date
 * and loads the counter, enabled or not, so that it overflows after period. lx_arch_pending()
 * returns true if the interrupt of an overflow is still to come.
 */
#ifdef CONFIG_ARM64
#include "arch/arm64.h"
#else
#define LX_SHORTEST	2	/* with a period of 1 perf would trace branches (BTS) */
u64 lx_arch_count(const struct perf_event *event);
void lx_arch_end_overflow(struct perf_event *event);
/*
 * Runs in PMU context. Moves each event that was reprogrammed to a counter that can count it;
 * EBUSY: no such counter is left.
 */
int lx_arch_place(struct lx_context *lx);
static inline u64 lx_arch_bit(const struct perf_event *event) { return 0; }
static inline void lx_arch_enable(u64 bits) { }
static inline void lx_arch_disable(u64 bits) { }
static inline void lx_arch_load(struct perf_event *event, s64 period) { }
static inline bool lx_arch_pending(void) { return false; }
#endif

/*
 * Called when a command begins while counters run. Returns true if an overflow may be pending: it
 * came before the command, so it must be handled first.
 */
static inline bool lx_has_to_drain(const struct lx_context *lx)
{
	return lx->kernel_level || (lx->hw && lx_arch_pending());
}

#endif
