// SPDX-License-Identifier: GPL-2.0
/*
 * record.c - records of what threads do, for contexts with a format that wants records (6.3.2). A
 * record goes to the context that monitors the thread and to the one that monitors the CPU on which
 * the thread runs. A context that receives records is called a listener here. Records of the types
 * EXEC, RENAME, FORK and EXIT come from tracepoints, in the thread itself. For those of type MAP
 * the thread walks over its mappings in task work, before it returns to user level: after an exec,
 * after a mmap() that may have mapped code, and after a sample. These task works come from a pool
 * of fixed size, because nothing can be allocated where a sample is taken. As a sample may be taken
 * in an NMI, it raises an interrupt (irq_work), which adds the task work. A listener remembers the
 * mappings that it has recorded, as hashes in a table of fixed size. If the hash of another mapping
 * has taken a mapping's place in the table, the mapping is recorded again, which does no harm.
 */
#include <linux/bitmap.h>
#include <linux/cred.h>
#include <linux/dcache.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/ptrace.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "compat.h"
#include "linux.h"
#include "perfmon/perfmon_stack_smpl.h"

#define SEEN_BITS	11		/* a listener remembers 2^11 hashes of reported mappings */
#define MOST_VMAS	16384		/* how many mappings of a process are looked at */

/* --- contexts that get records --------------------------------------------------------------- */

/* Listeners, hashed by thread or CPU. Probes search them in any kernel context but an NMI. */
static struct bucket {
	raw_spinlock_t		lock;
	struct hlist_head	list;
} buckets[64];

static atomic_t listening;		/* number of listeners */

static struct bucket *bucket_of(const struct task_struct *task, unsigned int cpu)
{
	return &buckets[hash_long(task ? (unsigned long)task : cpu + 1, ilog2(ARRAY_SIZE(buckets)))];
}

/*
 * Called before the first record of a load can come. lx_listen_end() is called after the last one.
 */
int lx_listen(struct lx_context *lx)
{
	struct bucket *b;

	if (!lx->ctx->format_needs.records)
		return 0;
	lx->target.seen_mappings = lx->root == lx ? pfm_os_alloc(sizeof(*lx->target.seen_mappings) << SEEN_BITS) :
					     lx->root->target.seen_mappings;
	if (!lx->target.seen_mappings)
		return pfm_refuse(-ENOMEM, "no memory to remember the mappings that were recorded");
	b = bucket_of(lx->target.task, lx->ctx->cpu);
	raw_spin_lock_irq(&b->lock);
	hlist_add_head(&lx->target.by_listener, &b->list);
	raw_spin_unlock_irq(&b->lock);
	atomic_inc(&listening);
	return 0;
}

void lx_listen_end(struct lx_context *lx)
{
	struct bucket *b;

	if (!lx->target.seen_mappings)
		return;
	atomic_dec(&listening);
	b = bucket_of(lx->target.task, lx->ctx->cpu);
	raw_spin_lock_irq(&b->lock);
	hlist_del(&lx->target.by_listener);
	raw_spin_unlock_irq(&b->lock);
}

/* Called when the context's events have been freed: no sample can come any more. */
void lx_listen_free(struct lx_context *lx)
{
	if (!lx->target.seen_mappings)
		return;
	irq_work_sync(&lx->target.walk_work);
	if (lx->root == lx)
		pfm_os_free(lx->target.seen_mappings);
	lx->target.seen_mappings = NULL;
}

static bool has_no_listeners(void)
{
	return likely(!atomic_read(&listening));
}

/* A function that notify_listeners() calls for each listener, and the arguments of the function. */
struct notice {
	void	(*fn)(struct lx_context *lx, struct notice *t);
	u64	time;
	struct task_struct *child;
	struct mm_struct *mm;
	struct vm_area_struct *vma;
	const char *name;	/* the path of a mapping, or the new name of a thread */
	u64	hash;		/* hash of one mapping or, for check_hash(), of all mappings */
	bool	any;		/* check_hash() sets it if a listener has not stored the hash yet */
};

static void notify_one(struct lx_context *lx, struct notice *t)
{
	lx_enter(lx);
	t->fn(lx, t);
	lx_leave(lx, lx_user_regs(lx));
	lx_end_service(lx, false);
}

/*
 * Calls notify_one() in PMU context. The thread is current, so normally its events are scheduled in
 * on this CPU, which is PMU context. If it is ending or executes a set-uid program, perf has
 * removed the events: then the locks of the perf contexts make this PMU context, as in access.c.
 */
static void notify_thread(struct lx_context *lx, struct notice *t)
{
	struct perf_event_context *locked;

	if (lx_scheduled_in(lx)) {
		notify_one(lx, t);
		return;
	}
	locked = lx_lock_perf(lx);
	notify_one(lx, t);
	lx_unlock_perf(lx, locked);
}

static void notify_bucket(struct bucket *b, const struct task_struct *task, unsigned int cpu, struct notice *t)
{
	struct lx_context *lx;

	raw_spin_lock(&b->lock);
	hlist_for_each_entry(lx, &b->list, target.by_listener) {
		if (task && lx->target.task == task)
			notify_thread(lx, t);
		else if (!task && !lx->target.task && lx->ctx->cpu == cpu)
			notify_one(lx, t);
	}
	raw_spin_unlock(&b->lock);
}

/* Calls t->fn in PMU context for each listener that monitors the current thread or this CPU. */
static void notify_listeners(struct notice *t)
{
	unsigned long flags;
	unsigned int cpu;

	local_irq_save(flags);
	cpu = smp_processor_id();
	t->time = ktime_get_mono_fast_ns();
	notify_bucket(bucket_of(current, 0), current, 0, t);
	notify_bucket(bucket_of(NULL, cpu), NULL, cpu, t);
	local_irq_restore(flags);
}

/*
 * Fills in the time, and the thread's ids in the pid namespace of the context's creator. If the
 * thread is not in that namespace, returns false: the caller must not make a record.
 */
static bool fill_ids(const struct lx_context *lx, struct pfm_record *rec, struct task_struct *task,
		     const struct notice *t)
{
	rec->pid = task_tgid_nr_ns(task, lx->ns);
	rec->tid = task_pid_nr_ns(task, lx->ns);
	rec->tstamp = t->time;
	return rec->pid && rec->tid;
}

/* --- records of exec, rename, fork and exit -------------------------------------------------- */

/*
 * Returns true if perf has removed its events from the thread, because the thread executes a
 * set-uid program, of which nothing is recorded.
 */
static bool is_lost(const struct lx_context *lx)
{
	return lx->target.task && READ_ONCE(lx->anchor_event->state) == PERF_EVENT_STATE_EXIT;
}

static void record_exec(struct lx_context *lx, struct notice *t)
{
	struct pfm_record rec = { .type = PFM_RECORD_EXEC, .name = current->comm };

	if (!is_lost(lx) && fill_ids(lx, &rec, current, t))
		pfm_record(lx->ctx, &rec);
}

static void record_rename(struct lx_context *lx, struct notice *t)
{
	struct pfm_record rec = { .type = PFM_RECORD_RENAME, .name = t->name };

	if (!is_lost(lx) && fill_ids(lx, &rec, current, t))
		pfm_record(lx->ctx, &rec);
}

static void record_fork(struct lx_context *lx, struct notice *t)
{
	struct pfm_record rec = { .type = PFM_RECORD_FORK };

	if (!fill_ids(lx, &rec, t->child, t))
		return;
	rec.ppid = task_tgid_nr_ns(current, lx->ns);
	rec.ptid = task_pid_nr_ns(current, lx->ns);
	pfm_record(lx->ctx, &rec);
}

static void record_exit(struct lx_context *lx, struct notice *t)
{
	struct pfm_record rec = { .type = PFM_RECORD_EXIT };

	if (fill_ids(lx, &rec, current, t))
		pfm_record(lx->ctx, &rec);
}

void lx_record_fork(struct task_struct *child)
{
	if (!has_no_listeners())
		notify_listeners(&(struct notice){ .fn = record_fork, .child = child });
}

void lx_record_exit(void)
{
	if (!has_no_listeners())
		notify_listeners(&(struct notice){ .fn = record_exit });
}

void lx_record_exec(void)
{
	if (has_no_listeners())
		return;
	notify_listeners(&(struct notice){ .fn = record_exec });
	lx_record_mmap();
}

/* If an exec renames the thread, it makes no RENAME record: the EXEC record has the name. */
void lx_record_rename(const char *name)
{
	if (!has_no_listeners() && !current->in_execve)
		notify_listeners(&(struct notice){ .fn = record_rename, .name = name });
}

/* --- records of mappings --------------------------------------------------------------------- */

static u64 mix(u64 h, u64 what)
{
	h = (h ^ what) * GOLDEN_RATIO_64;
	return h ^ h >> 32;
}

/*
 * Returns a hash of "what", the process and the number of its execs, so that hashes differ after an
 * exec, and in a process that reuses the id of another one.
 */
static u64 hash_of(u64 what)
{
	u64 h = mix(mix(0, current->tgid), current->group_leader->start_time);

	/* The lowest bit is set because 0 marks a free slot. */
	return mix(mix(h, current->self_exec_id), what) | 1;
}

static u64 hash_of_mapping(const struct vm_area_struct *vma)
{
	u64 h = mix(mix(mix(0, vma->vm_start), vma->vm_end), vma->vm_pgoff);

	return hash_of(mix(h, vma->vm_file ? (unsigned long)file_inode(vma->vm_file) : 0));
}

/*
 * Returns true if the listener remembers the hash. Otherwise stores the hash, and returns false.
 * Runs in PMU context. A root and its child contexts share the table: threads may race, and then a
 * mapping is recorded twice.
 */
static bool remember(struct lx_context *lx, u64 hash)
{
	u64 *slot = &lx->target.seen_mappings[hash >> (64 - SEEN_BITS)];
	bool known = READ_ONCE(*slot) == hash;

	if (!known)
		WRITE_ONCE(*slot, hash);
	return known;
}

/*
 * Returns true if the listener may see the mappings of the current thread, and copies of its stack.
 * perf shows these of all threads to a process that may monitor the CPU. Here the listener must
 * have the right to look at any thread, or the thread must be dumpable and, if the context is
 * system-wide, belong to the creator's user. A set-uid program is thus hidden even from a context
 * that is loaded on it.
 */
bool lx_may_look(const struct lx_context *lx, struct mm_struct *mm)
{
	const struct cred *cred = current_cred();

	if (lx->sees_all)
		return true;
	if (!pfm_dumpable(current, mm))
		return false;
	return lx->target.task ||
	       (uid_eq(cred->uid, lx->uid) && uid_eq(cred->euid, lx->uid) && uid_eq(cred->suid, lx->uid));
}

static void record_map(struct lx_context *lx, struct notice *t)
{
	const struct vm_area_struct *vma = t->vma;
	struct pfm_record rec = {
		.type = PFM_RECORD_MAP, .addr = vma->vm_start, .len = vma->vm_end - vma->vm_start,
		.offset = (u64)vma->vm_pgoff << PAGE_SHIFT, .name = t->name,
	};

	if (!is_lost(lx) && lx_may_look(lx, t->mm) && fill_ids(lx, &rec, current, t) && !remember(lx, t->hash))
		pfm_record(lx->ctx, &rec);
}

/*
 * Returns the hash of the number of executable pages, which the kernel keeps in exec_vm. For a
 * listener that remembers this hash, the mappings need not be compared one by one.
 */
static u64 hash_of_all(const struct mm_struct *mm)
{
	return hash_of(READ_ONCE(mm->exec_vm));
}

static void check_hash(struct lx_context *lx, struct notice *t)
{
	t->any |= !remember(lx, t->hash);
}

static const char *path_of(struct vm_area_struct *vma, char *buf)
{
	const char *path = NULL;

	if (vma->vm_file)
		path = d_path(&vma->vm_file->f_path, buf, PATH_MAX);
	else if (vma->vm_ops && vma->vm_ops->name)
		path = vma->vm_ops->name(vma);
	return IS_ERR_OR_NULL(path) ? "//anon" : path;
}

/*
 * Records the mappings; the caller holds mmap_lock. After a mmap() ("mapped") each mapping is
 * looked at even if the number of executable pages is known: the new mapping may have replaced one
 * of the same size.
 */
static void record_maps(struct mm_struct *mm, char *buf, bool mapped)
{
	struct notice t = { .fn = check_hash, .mm = mm, .hash = hash_of_all(mm) };
	struct vm_area_struct *vma;
	int n = 0;

	VMA_ITERATOR(vmi, mm, 0);

	notify_listeners(&t);
	if (!t.any && !mapped)
		return;
	t.fn = record_map;
	for_each_vma(vmi, vma) {
		if (++n > MOST_VMAS)
			break;
		if (!(vma->vm_flags & VM_EXEC))
			continue;
		t.vma = vma;
		t.name = path_of(vma, buf);
		t.hash = hash_of_mapping(vma);
		notify_listeners(&t);
	}
}

/* --- walks over mappings, in task work ------------------------------------------------------- */

/*
 * The pool of walks over threads' mappings. A thread that was sampled in the kernel may sleep there
 * for hours before it returns to user level, and occupies a walk until then, so all such threads
 * together get at most half of the pool. Other threads do their walk at once, or at the end of the
 * exec or mmap().
 */
static struct walk {
	struct callback_head	work;
	bool			mapped;
	/* the thread that will do the walk, only compared; NULL: the walk has begun */
	struct task_struct	*task;
} walks[256];
static DECLARE_BITMAP(taken, ARRAY_SIZE(walks));

enum walk_reason { SAMPLED_IN_KERNEL, SAMPLED, MAPPED };

/*
 * Takes a struct walk from the pool, for a walk over the current thread's mappings. Returns NULL if
 * none is free; half of the pool is kept from samples in the kernel.
 */
static struct walk *take_walk(enum walk_reason why)
{
	unsigned long i, n = why == SAMPLED_IN_KERNEL ? ARRAY_SIZE(walks) / 2 : ARRAY_SIZE(walks);

	do {
		i = find_first_zero_bit(taken, n);
		if (i >= n)
			return NULL;
	} while (test_and_set_bit(i, taken));
	walks[i].mapped = why == MAPPED;
	WRITE_ONCE(walks[i].task, current);
	return &walks[i];
}

/*
 * Returns true if the current thread has yet to do a walk, which then serves this reason, too: a
 * thread can be sampled many times before it returns from the kernel.
 */
static bool will_walk(enum walk_reason why)
{
	unsigned long i;

	for_each_set_bit(i, taken, ARRAY_SIZE(walks))
		if (READ_ONCE(walks[i].task) == current) {
			walks[i].mapped |= why == MAPPED;
			return true;
		}
	return false;
}

/*
 * The module must not be freed before this function has returned: lx_lifetime_exit() waits for
 * that.
 */
static void give_back(struct walk *walk)
{
	WRITE_ONCE(walk->task, NULL);
	clear_bit_unlock(walk - walks, taken);
	module_put(THIS_MODULE);
}

/* Runs in the thread before it returns to user level. */
static void do_walk(struct callback_head *work)
{
	struct walk *walk = container_of(work, struct walk, work);
	struct mm_struct *mm = current->mm;
	char *buf = mm && !has_no_listeners() ? kmalloc(PATH_MAX, GFP_KERNEL) : NULL;

	WRITE_ONCE(walk->task, NULL);
	if (buf && !(current->flags & PF_EXITING) && !mmap_read_lock_killable(mm)) {
		/*
		 * The thread stays on this CPU during the walk. A listener that monitors the CPU
		 * stores the hash of all mappings before it gets the first one. If the thread moved
		 * after that, the listener would neither get the others nor ask for them again.
		 */
		migrate_disable();
		record_maps(mm, buf, walk->mapped);
		migrate_enable();
		mmap_read_unlock(mm);
	}
	kfree(buf);
	give_back(walk);
}

/* Called if a walk could not be made: reports a lost record to the listener. */
static void record_lost_walk(struct lx_context *lx, struct notice *t)
{
	struct pfm_record rec = { .type = PFM_RECORD_LOST, .count = 1, .why = PFM_STACK_SMPL_LOST_RECORDS };

	pfm_record(lx->ctx, &rec);
}

static bool can_walk(void)
{
	return current->mm && !(current->flags & (PF_KTHREAD | PF_IO_WORKER | PF_EXITING));
}

static void add_walk(enum walk_reason why)
{
	struct walk *walk;

	if (!can_walk() || will_walk(why) || !try_module_get(THIS_MODULE))
		return;
	walk = take_walk(why);
	if (!walk) {
		notify_listeners(&(struct notice){ .fn = record_lost_walk });
		module_put(THIS_MODULE);
		return;
	}
	init_task_work(&walk->work, do_walk);
	if (lx_task_work(current, &walk->work, TWA_RESUME))
		give_back(walk);
}

/*
 * Returns false if the hash buckets of the current thread and of this CPU are both empty, so that
 * neither has a listener.
 */
static bool listens_here(void)
{
	return !hlist_empty(&bucket_of(current, 0)->list) ||
	       !hlist_empty(&bucket_of(NULL, raw_smp_processor_id())->list);
}

/*
 * Called when the current thread may have mapped code, but not in an NMI. If the thread moves to
 * another CPU before its walk, that CPU's listener gets the mapping after its first sample of the
 * thread.
 */
void lx_record_mmap(void)
{
	if (!has_no_listeners() && listens_here())
		add_walk(MAPPED);
}

static void walk_after_sample(struct irq_work *work)
{
	const struct lx_context *lx = container_of(work, struct lx_context, target.walk_work);

	add_walk(READ_ONCE(lx->target.sampled_user) ? SAMPLED : SAMPLED_IN_KERNEL);
}

/*
 * Called when the current thread is sampled, in PMU context, perhaps in an NMI. Has an interrupt
 * add a walk, unless the listener remembers the hash of the thread's mappings.
 */
void lx_record_sample(struct lx_context *lx)
{
	const struct mm_struct *mm = READ_ONCE(current->mm);
	struct pt_regs *regs = lx->where.regs;
	u64 hash;

	if (!lx->target.seen_mappings || !mm || !can_walk() || (lx->target.task && lx->target.task != current))
		return;
	hash = hash_of_all(mm);
	if (READ_ONCE(lx->target.seen_mappings[hash >> (64 - SEEN_BITS)]) == hash)
		return;
	WRITE_ONCE(lx->target.sampled_user, regs && user_mode(regs));
	irq_work_queue(&lx->target.walk_work);
}

void lx_record_init_context(struct lx_context *lx)
{
	/* HARD: on PREEMPT_RT, too, it interrupts the sampled thread, and runs in no other */
	lx->target.walk_work = IRQ_WORK_INIT_HARD(walk_after_sample);
}

void lx_record_init(void)
{
	for (int i = 0; i < ARRAY_SIZE(buckets); i++)
		raw_spin_lock_init(&buckets[i].lock);
}
