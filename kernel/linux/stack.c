// SPDX-License-Identifier: GPL-2.0
/*
 * stack.c - call stacks for sampling formats, taken in the interrupt: the kernel's by its own
 * unwinder, the user's by frame pointers. Only the stack of the current thread can be walked. If an
 * overflow is handled in another thread, for example one that moves the target to another CPU,
 * there is no stack. User memory is read with page faults disabled. The chain of frames ends at a
 * page that is not in memory, and at a frame pointer that is not above the one before it.
 */
#include <linux/ptrace.h>
#include <linux/sched/task_stack.h>
#include <linux/stacktrace.h>
#include <linux/uaccess.h>

#include "linux.h"

/* The two words that a frame pointer points to, on x86-64 and on arm64. */
struct lx_frame {
	u64	next, ret;
};

static bool is_current(const struct lx_context *lx)
{
	return !lx->target.task || lx->target.task == current;
}

/*
 * Returns the registers that the sampled thread has at user level, or NULL if there are none. If
 * "copied" is true, the registers or the stack are to be copied into a sample: then NULL is also
 * returned if the context is system-wide and its creator may not look at the current process.
 */
static __always_inline struct pt_regs *user_regs(const struct pfm_where *where, bool copied)
{
	const struct lx_context *lx = container_of(where, struct lx_context, where);
	struct pt_regs *regs = where->regs;

	if (!regs || !is_current(lx))
		return NULL;
	if (!user_mode(regs)) {
		if (!current->mm || current->flags & PF_KTHREAD)
			return NULL;
		regs = task_pt_regs(current);
	}
	return !copied || lx->target.task || lx_may_look(lx, current->mm) ? regs : NULL;
}

/*
 * Stores the kernel's frames and returns how many. Those of the interrupt handler, which precede
 * the sample's own address, are left out.
 */
static uint16_t kernel_frames(struct lx_context *lx, struct pt_regs *regs, uint64_t *ips, uint16_t max)
{
	unsigned long ip = instruction_pointer(regs);
	unsigned int at, n = stack_trace_save(lx->trace, ARRAY_SIZE(lx->trace), 0);
	uint16_t got = 0;

	for (at = 0; at < n && lx->trace[at] != ip; at++)
		;
	if (at == n && max) {
		ips[0] = ip;
		return 1;
	}
	while (at < n && got < max)
		ips[got++] = lx->trace[at++];
	return got;
}

static bool may_be_frame(u64 at, u64 last)
{
	return at > last && IS_ALIGNED(at, sizeof(u64));
}

/*
 * Reads the two words of a frame one by one. Returns false if they are not in memory. The caller
 * has disabled page faults.
 */
static bool read_frame(u64 at, struct lx_frame *frame)
{
	const struct lx_frame __user *from = (const struct lx_frame __user *)(uintptr_t)at;
	int err = 0;

	if (!pfm_user_begin(from, sizeof(*from)))
		return false;
	pfm_get_word(frame->next, &from->next, err, fault);
	pfm_get_word(frame->ret, &from->ret, err, fault);
	pfm_user_end();
	return !err;
fault: __maybe_unused
	pfm_user_end();
	return false;
}

/*
 * Stores the user's frames and returns how many. The first frame is read by
 * copy_from_user_nofault(), which also refuses to read if an NMI came while the address space was
 * being switched.
 */
static uint16_t user_frames(struct pt_regs *regs, uint64_t *ips, uint16_t max)
{
	u64 at = lx_arch_is_64bit(regs) ? lx_arch_frame_pointer(regs) : 0, last;
	struct lx_frame frame;
	uint16_t n = 0;

	if (max)
		ips[n++] = instruction_pointer(regs);
	if (n == max || !may_be_frame(at, 0) ||
	    copy_from_user_nofault(&frame, (const void __user *)(uintptr_t)at, sizeof(frame)))
		return n;
	pagefault_disable();
	do {
		frame.ret = lx_arch_return_address(frame.ret);
		if (!frame.ret || frame.ret >= TASK_SIZE_MAX)
			break;
		ips[n++] = frame.ret;
		last = at;
		at = frame.next;
	} while (n < max && may_be_frame(at, last) && read_frame(at, &frame));
	pagefault_enable();
	return n;
}

/* 4.4.1: kernel frames are left out if the context's creator may not see kernel addresses. */
static uint16_t frames(const struct pfm_where *where, enum pfm_frames level, uint64_t *ips, uint16_t max)
{
	struct lx_context *lx = container_of(where, struct lx_context, where);
	struct pt_regs *regs = where->regs;

	if (level == PFM_USER_FRAMES) {
		regs = user_regs(where, false);
		return regs ? user_frames(regs, ips, max) : 0;
	}
	if (!regs || user_mode(regs) || !lx->kernel_ips || !is_current(lx))
		return 0;
	return kernel_frames(lx, regs, ips, max);
}

static uint16_t registers(const struct pfm_where *where, uint64_t *to, uint16_t max)
{
	struct pt_regs *regs = user_regs(where, true);

	return regs && max >= LX_USER_REGS && lx_arch_is_64bit(regs) ? lx_arch_user_regs(regs, to) : 0;
}

/*
 * Copies the user's stack page by page, up to the first page that cannot be read, because the
 * memory above the stack may be unmapped. Returns the number of bytes copied.
 */
static uint32_t copy(const struct pfm_where *where, void *to, uint32_t max)
{
	struct pt_regs *regs = user_regs(where, true);
	unsigned long from = regs ? user_stack_pointer(regs) : 0;
	uint32_t n = 0, part;

	while (regs && n < max) {
		part = min_t(unsigned long, max - n, PAGE_SIZE - offset_in_page(from + n));
		if (copy_from_user_nofault((char *)to + n, (void __user *)(from + n), part))
			break;
		n += part;
	}
	return n;
}

const struct pfm_stack_ops lx_stack_ops = { .frames = frames, .regs = registers, .copy = copy };
