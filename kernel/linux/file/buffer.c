// SPDX-License-Identifier: GPL-2.0
/*
 * buffer.c - sampling buffers, and their mappings (3.5.4). A mapping keeps the file, and thus the
 * context, alive. So when a process closes its last descriptor of a context, its mapping is removed
 * too, as the specification demands.
 */
#include <linux/fdtable.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "compat.h"
#include "linux.h"

/* --- memory of the buffer: 4.4.3 ------------------------------------------------------------ */

int lx_alloc_buffer(struct pfm_context *ctx, size_t size, void **buf)
{
	struct lx_context *lx = lx_of(ctx);

	lx->buf.payer = lx_charge(size);
	*buf = lx->buf.payer ? __vmalloc(size, GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN) : NULL;
	if (*buf)
		return 0;
	if (lx->buf.payer)
		lx_uncharge(lx->buf.payer, size);
	return pfm_refuse(-ENOMEM, "no memory for a buffer of %zu bytes", size);
}

void lx_free_buffer(struct pfm_context *ctx, void *buf, size_t size)
{
	vfree(buf);
	lx_uncharge(lx_of(ctx)->buf.payer, size);
}

/* --- the address spaces into which the buffer is mapped ------------------------------------- */

struct lx_map {
	struct list_head	entry;
	struct mm_struct	*mm;	/* only compared, never dereferenced */
	unsigned int		pieces;
};

static struct lx_map *find_map(struct lx_context *lx, struct mm_struct *mm)
{
	struct lx_map *map;

	list_for_each_entry(map, &lx->buf.maps, entry)
		if (map->mm == mm)
			return map;
	return NULL;
}

/* Counts one more mapping: a fork has copied one, or munmap() has cut one in two. */
static void piece_added(struct vm_area_struct *vma)
{
	struct lx_context *lx = vma->vm_private_data;
	struct lx_map *map, *new = kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT | __GFP_NOFAIL);

	spin_lock(&lx->buf.maps_lock);
	map = find_map(lx, vma->vm_mm);
	if (!map) {
		map = new;
		map->mm = vma->vm_mm;
		list_add(&map->entry, &lx->buf.maps);
		new = NULL;
	}
	map->pieces++;
	spin_unlock(&lx->buf.maps_lock);
	kfree(new);
}

static void piece_gone(struct vm_area_struct *vma)
{
	struct lx_context *lx = vma->vm_private_data;
	struct lx_map *map;

	spin_lock(&lx->buf.maps_lock);
	map = find_map(lx, vma->vm_mm);
	if (!--map->pieces)
		list_del(&map->entry);
	else
		map = NULL;
	spin_unlock(&lx->buf.maps_lock);
	kfree(map);
}

static const struct vm_operations_struct map_ops = {
	.open = piece_added,
	.close = piece_gone,
};

/* --- mapping the buffer --------------------------------------------------------------------- */

/* Checks 3.5.4: the buffer is mapped read-only, shared, as a whole, and once. */
static int check_06(struct lx_context *lx, const struct vm_area_struct *vma, size_t size)
{
	if ((vma->vm_flags & (VM_READ | VM_EXEC)) != VM_READ)
		return pfm_refuse(-EINVAL, "a sampling buffer is mapped PROT_READ, and nothing else");
	if (!(vma->vm_flags & VM_SHARED) || vma->vm_flags & (VM_LOCKED | VM_GROWSDOWN))
		return pfm_refuse(-EINVAL, "a sampling buffer is mapped MAP_SHARED, and nothing else");
	if (size != lx->ctx->buf_size)
		return pfm_refuse(-EINVAL, "the sampling buffer has %llu bytes, not %llu",
				  (unsigned long long)lx->ctx->buf_size, (unsigned long long)size);
	if (find_map(lx, vma->vm_mm))
		return pfm_refuse(-EBUSY, "the sampling buffer is mapped already");
	return 0;
}

/*
 * A context made by a pfm_*() call follows the rules of perfmon 2.x, and a context made by
 * perfmonctl() those of 3.5.4.
 */
static int check_map(struct lx_context *lx, const struct vm_area_struct *vma)
{
	size_t size = vma->vm_end - vma->vm_start;

	if (!lx->ctx->buf)
		return pfm_refuse(-EINVAL, "the context has no sampling buffer");
	if (vma->vm_flags & VM_WRITE)
		return pfm_refuse(-EINVAL, "a sampling buffer is mapped read-only");
	if (size > lx->ctx->buf_size)
		return pfm_refuse(-EINVAL, "the sampling buffer has %llu bytes, not %llu",
				  (unsigned long long)lx->ctx->buf_size, (unsigned long long)size);
	if (vma->vm_pgoff)
		return pfm_refuse(-EINVAL, "a sampling buffer is mapped from offset 0");
	return lx->by_06 ? check_06(lx, vma, size) : 0;
}

/* Does what remap_vmalloc_range() does, which refuses memory that is charged to a control group. */
static int map_pages(struct vm_area_struct *vma, char *buf)
{
	int ret = 0;

	for (unsigned long at = vma->vm_start; at < vma->vm_end && !ret; at += PAGE_SIZE, buf += PAGE_SIZE)
		ret = vm_insert_page(vma, at, vmalloc_to_page(buf));
	return ret;
}

int lx_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct lx_context *lx = file->private_data;
	int ret;

	if (lx_is_view(vma))
		return lx_map_view(lx, vma);
	/* lx->lock cannot be used: it is held while user memory is accessed, which may fault */
	spin_lock(&lx->buf.maps_lock);
	ret = check_map(lx, vma);
	spin_unlock(&lx->buf.maps_lock);
	if (ret)
		return ret;
	pfm_vm_flags(vma, VM_DONTEXPAND | VM_DONTDUMP, VM_MAYWRITE | VM_MAYEXEC);
	ret = map_pages(vma, lx->ctx->buf);
	if (ret)
		return pfm_refuse(ret, "cannot map the sampling buffer");
	vma->vm_private_data = lx;
	vma->vm_ops = &map_ops;
	/* the process has mapped nothing since check_map(), because the caller holds mmap_lock */
	piece_added(vma);
	return 0;
}

/* --- closing a descriptor ------------------------------------------------------------------- */

static int is_file(const void *file, struct file *f, unsigned int fd)
{
	return f == file;
}

static bool holds(struct task_struct *task, struct file *file)
{
	bool held;

	task_lock(task);
	held = task->files && iterate_fd(task->files, 0, is_file, file);
	task_unlock(task);
	return held;
}

/*
 * Where lockdep is configured, the kernel's for_each_thread() needs tasklist_lock, which is not
 * exported. rcu_read_lock() must be held.
 */
#define for_each_thread_of(process, t) \
	list_for_each_entry_rcu(t, &(process)->signal->thread_head, thread_node)

/*
 * Returns true if the process has a descriptor of the file. All threads are checked, because
 * threads may have called unshare(CLONE_FILES).
 */
static bool process_holds(struct file *file)
{
	bool held = holds(current, file);
	struct task_struct *t;

	rcu_read_lock();
	for_each_thread_of(current, t)
		if (!held && READ_ONCE(t->files) != current->files)
			held = holds(t, file);
	rcu_read_unlock();
	return held;
}

/* Returns true if something other than the threads of this process uses its address space. */
static bool shares_memory(void)
{
	int others = atomic_read(&current->mm->mm_users);
	struct task_struct *t;

	rcu_read_lock();
	for_each_thread_of(current, t)
		others -= READ_ONCE(t->mm) == current->mm;
	rcu_read_unlock();
	return others > 0;
}

/*
 * Returns true if another process that shares this address space has the descriptor. A child of
 * vfork(2) borrows its parent's address space until it executes a program or exits. If the child
 * closes the descriptor, the parent's mapping stays; if the parent closes it, the child's
 * descriptor does not keep the mapping.
 */
static bool sharers_hold(struct file *file)
{
	struct task_struct *process, *t;
	bool held = false;

	if (!shares_memory())
		return false;
	rcu_read_lock();
	for_each_process(process)
		for_each_thread_of(process, t)
			if (!held && READ_ONCE(t->mm) == current->mm && !READ_ONCE(t->vfork_done) &&
			    !same_thread_group(t, current))
				held = holds(t, file);
	rcu_read_unlock();
	return held;
}

/*
 * Finds the file's first mapping in the current address space at *start or above, and sets *start
 * and *size to its place. Returns false if there is none.
 */
static bool next_piece(struct file *file, unsigned long *start, unsigned long *size)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	bool found = false;

	mmap_read_lock(mm);
	for (vma = find_vma(mm, *start); vma && !found; vma = find_vma(mm, vma->vm_end)) {
		found = vma->vm_file == file && (vma->vm_ops == &map_ops || vma->vm_ops == &lx_view_ops);
		if (found) {
			*start = vma->vm_start;
			*size = vma->vm_end - vma->vm_start;
		}
	}
	mmap_read_unlock(mm);
	return found;
}

static bool is_mapped(struct lx_context *lx)
{
	bool mapped;

	spin_lock(&lx->buf.maps_lock);
	mapped = find_map(lx, current->mm) || READ_ONCE(lx->view.mm);
	spin_unlock(&lx->buf.maps_lock);
	return mapped;
}

static void unmap(struct file *file)
{
	unsigned long start = 0, size;

	while (next_piece(file, &start, &size))
		if (vm_munmap(start, size))
			break;
}

/*
 * Returns true if the target is a thread of this process that loaded the context onto itself.
 * lifetime.c handles threads that exit.
 */
static bool monitors_itself(const struct lx_context *lx)
{
	return lx->ctx && lx->ctx->self && lx->target.task && same_thread_group(lx->target.task, current);
}

static void end_self_monitoring(struct lx_context *lx)
{
	mutex_lock(&lx->lock);
	if (monitors_itself(lx))
		pfm_unload(lx->ctx);
	lx_unlock(lx);
}

/*
 * Called when a descriptor is closed. If it was the process's last one of this context, the
 * process's mappings are removed, unless another process in the same address space has the
 * descriptor. The process's self-monitoring ends, too, though other processes may still have the
 * context (3.1.15, figure 3.10). If no descriptor is left anywhere, release() is called later, and
 * ends everything.
 */
int lx_flush(struct file *file, fl_owner_t id)
{
	struct lx_context *lx = file->private_data;
	bool mapped, shared = file_count(file) > 1;

	if (!current->mm)
		return 0;
	mapped = is_mapped(lx);
	if ((!mapped && !shared) || process_holds(file))
		return 0;
	if (mapped && !sharers_hold(file))
		unmap(file);
	if (shared && current->files)
		end_self_monitoring(lx);
	return 0;
}
