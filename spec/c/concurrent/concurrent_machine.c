// SPDX-License-Identifier: MIT
/*
 * concurrent_machine.c - the machine's operations. Its counters have 64 bits. A set stays on the
 * PMU, and does not count, while its thread is not on a CPU.
 */
#include <sched.h>
#include <stdlib.h>

#include "concurrent.h"

#define PAGE 4096

struct pfm_machine machine;

static struct file *file_of(const struct pfm_context *ctx)
{
	return ctx->transport;
}

/* --- PMU context ---------------------------------------------------------------------------- */

void pmu_lock(struct file *f)
{
	pthread_mutex_lock(&f->pmu);
	f->inside = &me;
	me.inside = f;
}

void pmu_unlock(struct file *f)
{
	CHECK(!f->attached || f->lost || !f->ctx->part, "PMU context ends, and a part of the buffer is taken still");
	f->inside = NULL;
	me.inside = NULL;
	pthread_mutex_unlock(&f->pmu);
}

/* Asserts PMU context, unless the target is lost: then no interrupt comes any more. */
static struct file *in_pmu(const struct pfm_context *ctx, const char *what)
{
	struct file *f = file_of(ctx);

	CHECK(f->lost || f->inside == &me, "%s outside PMU context", what);
	CHECK(f->attached, "%s of a context that is not attached", what);
	return f;
}

static int access_pmu(struct pfm_context *ctx, int (*fn)(struct pfm_context *, void *), void *arg)
{
	struct file *f = file_of(ctx);
	int ret;

	if ((ctx->flags & PFM_FL_SYSTEM_WIDE) && !pfm_any_cpu(ctx) && ctx->cpu != me.cpu)
		return pfm_refuse(-EBUSY, "the context monitors CPU %u", ctx->cpu);
	pmu_lock(f);
	CHECK(f->attached, "access to a context that is not attached");
	if (f->lost) {
		ret = pfm_refuse(-ESRCH, "the target is gone");
	} else {
		if (f->is_pending)
			settle(f);	/* the overflow that is pending came before the command */
		f->displaced = NULL;
		ret = fn(ctx, arg);
		CHECK(f->doing == DOING_NOTHING || ctx->vector.n <= PFM_PART, "%d elements at once",
		      ctx->vector.n);
		ledger_follow(f);
	}
	pmu_unlock(f);
	return ret;
}

/* --- registers ------------------------------------------------------------------------------ */

static void put_on(struct file *f, const struct pfm_pmd *pmd)
{
	if (!pmd->is_counter)
		return;
	f->on[pmd->num] = true;
	f->counts[pmd->num] = f->seen[pmd->num] = pmd->value;
}

static void freeze(struct pfm_context *ctx)
{
	struct file *f = in_pmu(ctx, "freeze");

	if (f->running)
		ledger_of(f, f->installed->id)->duration += f->ran - f->mark;
	f->running = false;
}

static int install(struct pfm_context *ctx, struct pfm_set *set)
{
	struct file *f = in_pmu(ctx, "install");
	bool fails = rng_chance(&me.rng, me.scarce ? 50 : 1);

	CHECK(!f->running || f->coming_in, "a set comes to counters that run");
	if (fails)
		freeze(ctx);
	ledger_leave(f);
	memset(f->on, 0, sizeof(f->on));
	if (fails)
		f->displaced = f->installed;
	f->installed = NULL;
	if (fails)
		return atomic_fetch_add(&tally.absent, 1), pfm_refuse(-EBUSY, "no counter is free");
	ledger_enter(f, set);
	for (unsigned int i = 0; i < set->num_pmds; i++)
		put_on(f, &set->pmds[i]);
	f->installed = set;
	f->displaced = NULL;
	return 0;
}

static void collect(struct pfm_context *ctx, struct pfm_set *set)
{
	struct file *f = in_pmu(ctx, "collect");

	CHECK(!f->installed || set == f->installed, "set %u is collected, and set %u is on the PMU", set->id,
	      f->installed->id);
	for (unsigned int i = 0; f->installed && i < set->num_pmds; i++) {
		struct pfm_pmd *pmd = &set->pmds[i];

		if (!rng_below(&me.rng, 50))
			sched_yield();	/* makes interrupts slow at times */
		if (!pmd->is_counter)
			continue;
		CHECK(f->on[pmd->num], "set %u PMD%u is in use, but not on the PMU", set->id, pmd->num);
		CHECK(pmd->value == f->seen[pmd->num],
		      "set %u PMD%u: an update was lost, %#llx, not %#llx", set->id, pmd->num,
		      (unsigned long long)pmd->value, (unsigned long long)f->seen[pmd->num]);
		pmd->value = f->seen[pmd->num] = f->counts[pmd->num];
	}
}

/* Returns the installed set, or the active one if that could not be installed. */
static const struct pfm_set *on_or_absent(const struct file *f)
{
	return f->installed ? f->installed : f->ctx->active;
}

static int write_pmc(struct pfm_context *ctx, struct pfm_set *set, uint16_t num)
{
	struct file *f = in_pmu(ctx, "write_pmc");

	CHECK(set == on_or_absent(f) && pfm_set_pmc(set, num), "PMC%u of set %u is written", num, set->id);
	return 0;
}

static int write_pmd(struct pfm_context *ctx, struct pfm_set *set, uint16_t num)
{
	struct file *f = in_pmu(ctx, "write_pmd");
	struct pfm_pmd *pmd = pfm_set_pmd(set, num);

	CHECK(set == on_or_absent(f) && pmd, "PMD%u of set %u is written", num, set->id);
	/* a counter that is reset while it counts must have been collected, to lose no events */
	CHECK(!pmd->is_counter || !f->on[num] || f->seen[num] == f->counts[num] ||
	      (f->root ? f->root : f)->doing == DOING_RESTART,
	      "PMD%u of set %u is written over what it counted", num, set->id);
	if (f->installed)
		put_on(f, pmd);
	else if (pmd->is_counter)
		ledger_of(f, set->id)->value[num] = pmd->value;
	return 0;
}

/* --- running -------------------------------------------------------------------------------- */

static void resume(struct pfm_context *ctx)
{
	struct file *f = in_pmu(ctx, "resume");

	CHECK(pfm_counting(ctx) && ctx->active == f->installed, "what is held is let go");
	if (!f->running)
		f->mark = f->ran;
	f->running = true;
}

static void arm(struct pfm_context *ctx, uint64_t ns)
{
	struct file *f = in_pmu(ctx, "arm");

	CHECK(!f->armed, "a timeout is set, and runs already");
	f->armed = true;
	f->timeout = ns;
}

static uint64_t left(struct pfm_context *ctx)
{
	struct file *f = in_pmu(ctx, "left");

	return f->armed ? f->timeout : 0;
}

static uint64_t disarm(struct pfm_context *ctx)
{
	uint64_t ns = left(ctx);

	file_of(ctx)->armed = false;
	return ns;
}

static uint64_t ran(struct pfm_context *ctx)
{
	return in_pmu(ctx, "ran")->ran;
}

static void block(struct pfm_context *ctx)
{
	struct file *f = in_pmu(ctx, "block");

	CHECK(!f->held, "a target is held twice");
	f->held = true;
	atomic_fetch_add(&tally.blocked, 1);
}

static void unblock(struct pfm_context *ctx)
{
	file_of(ctx)->held = false;
}

/* --- attaching ------------------------------------------------------------------------------ */

static int attach_thread(struct pfm_context *ctx, uint32_t tid)
{
	if (tid != me.tid && (!tid || tid > NUM_TARGETS))
		return pfm_refuse(-ESRCH, "there is no thread %u", tid);
	ctx->tid = ctx->pid = tid;
	ctx->self = tid == me.tid;
	return 0;
}

static int attach_cpu(struct pfm_context *ctx, uint32_t id)
{
	if (id != me.tid && id != me.cpu)
		return pfm_refuse(-EINVAL, "CPU %u is not the caller's", id);
	ctx->cpu = me.cpu;
	ctx->tid = ctx->pid = me.tid;
	ctx->self = false;
	return 0;
}

static void bind(struct pfm_context *ctx)
{
	struct file *f = file_of(ctx);

	pmu_lock(f);
	CHECK(!f->attached && !f->installed, "attached twice");
	f->attached = f->scheduled_in = true;
	f->lost = f->running = f->armed = false;
	f->target = ctx->tid;
	pmu_unlock(f);
}

/* Attaches a context; from then on interrupts find it. */
static int attach(struct pfm_context *ctx, uint32_t id)
{
	int ret = ctx->flags & PFM_FL_SYSTEM_WIDE ? attach_cpu(ctx, id) : attach_thread(ctx, id);

	if (ret)
		return ret;
	bind(ctx);
	watch(file_of(ctx));
	return 0;
}

/*
 * PFM_FL_INHERIT: a child context has a file of its own that is not published, and its root's lock.
 */
static int fork_child_ctx(struct pfm_context *child_ctx, void *child)
{
	struct file *root = file_of(child_ctx->root), *f = file_new();

	f->ctx = child_ctx;
	f->root = root;
	atomic_fetch_add(&root->refs, 1);
	child_ctx->transport = f;
	f->tally = root->tally;
	child_ctx->tid = child_ctx->pid = (uint32_t)(uintptr_t)child;
	ledger_begin(f);
	bind(child_ctx);
	if (watch(f)) {
		atomic_fetch_add(&tally.child_ctxs, 1);
		return 0;
	}
	f->attached = false;
	file_put(f);
	return -ENOMEM;
}

static void release(struct pfm_context *child_ctx)
{
	struct file *f = file_of(child_ctx);

	CHECK(!f->attached, "a child context is released that is attached");
	f->ctx = NULL;
	file_put(f);
}

/* Detaches a context; no interrupt of it runs when this returns. */
static void detach(struct pfm_context *ctx)
{
	struct file *f = file_of(ctx);

	unwatch(f);
	pmu_lock(f);
	CHECK(f->attached, "detached twice");
	CHECK(!f->running && !f->armed && !f->held, "detached, but running %d, armed %d, its target held %d",
	      f->running, f->armed, f->held);
	CHECK(!f->is_pending, "detached before an overflow was told");
	ledger_leave(f);
	f->installed = NULL;
	f->attached = f->lost = false;
	pmu_unlock(f);
}

/* --- messages, and the rest of the world ------------------------------------------------------ */

/* Posts a message as perfmon.ko does: in the queue of the part that this CPU has taken. */
static int post_of_part(struct file *f, const pfarg_msg_t *msg)
{
	struct pfm_part *part = &f->ctx->parts[me.cpu];
	unsigned int head = atomic_load(&f->parts[me.cpu].head);

	CHECK(me.inside->ctx->part == part, "a message of a part that is not taken");
	CHECK(me.cpu == msg->pfm_ovfl_msg.msg_ovfl_cpu, "a message of CPU %u on CPU %u", msg->pfm_ovfl_msg.msg_ovfl_cpu,
	      me.cpu);
	if (head - atomic_load(&f->parts[me.cpu].tail) >= PART_ROOM)
		return -ENOSPC;
	atomic_fetch_add(&tally.messages, 1);
	f->parts[me.cpu].queue[head % PART_ROOM] = *msg;
	f->parts[me.cpu].fills[head % PART_ROOM] = part->post;
	atomic_store(&f->parts[me.cpu].head, head + 1);
	return 0;
}

static int post(struct pfm_context *ctx, const pfarg_msg_t *msg)
{
	struct file *f = file_of(ctx);
	unsigned int unread = atomic_load(&f->head) - atomic_load(&f->tail);

	if (msg->type == PFM_MSG_END) {
		CHECK(!f->attached, "END comes before the context is detached");
		atomic_fetch_add(&tally.ends, 1);
	} else {
		CHECK(me.inside && (me.inside == f || me.inside->root == f), "a message outside PMU context");
		CHECK(!pfm_bits_empty(msg->pfm_ovfl_msg.msg_ovfl_pmds) || me.inside->ctx->absent,
		      "a message of no overflow");
		me.inside->posts++;
		if (ctx->parts)
			return post_of_part(f, msg);
		if (unread >= ctx->msgq_depth)
			return -ENOSPC;
		atomic_fetch_add(&tally.messages, 1);
	}
	CHECK(unread < QUEUE_ROOM, "END finds no room");
	f->queue[atomic_load(&f->head) % QUEUE_ROOM] = *msg;
	atomic_fetch_add(&f->head, 1);
	return 0;
}

static void flush_messages(struct pfm_context *ctx)
{
	file_take_messages(file_of(ctx), QUEUE_ROOM);
}

static void where(struct pfm_context *ctx, struct pfm_where *to)
{
	struct file *f = in_pmu(ctx, "where");

	*to = (struct pfm_where){ .tid = f->target, .pid = f->target, .cpu = me.cpu, .regs = f };
}

static void send_signal(struct pfm_context *ctx)
{
	(void)ctx;
	in_pmu(me.inside->ctx, "signal")->signals++;
}

static unsigned int num_parts(struct pfm_context *root)
{
	(void)root;
	return NUM_CPUS;
}

static unsigned int part(struct pfm_context *ctx)
{
	in_pmu(ctx, "part");
	return me.cpu;
}

static void caller(struct pfm_machine *m, struct pfm_caller *who)
{
	(void)m;
	*who = (struct pfm_caller){ me.tid, me.tid, me.cpu, me.tid % 2, 8 * PAGE };
}

static bool in_group(struct pfm_machine *m, uint32_t gid)
{
	(void)m;
	return gid == me.tid;
}

static bool has_fd(struct pfm_context *ctx)
{
	return ctx->tid == TARGET_WITH_FD;
}

static uint64_t now(struct pfm_machine *m)
{
	static atomic_ullong clock;

	(void)m;
	return atomic_fetch_add(&clock, 20000);
}

static size_t page_size(struct pfm_machine *m)
{
	(void)m;
	return PAGE;
}

static uint64_t timer_ns(struct pfm_machine *m)
{
	(void)m;
	return 100;
}

static int alloc_buffer(struct pfm_context *ctx, size_t size, void **buf)
{
	(void)ctx;
	*buf = rng_chance(&me.rng, 1) ? NULL : aligned_alloc(PAGE, size);
	if (!*buf)
		return pfm_refuse(-ENOMEM, "no memory for a buffer");
	atomic_fetch_add(&allocated, 1);
	memset(*buf, 0, size);
	return 0;
}

static void free_buffer(struct pfm_context *ctx, void *buf, size_t size)
{
	(void)ctx, (void)size;
	atomic_fetch_sub(&allocated, 1);
	free(buf);
}

static const struct pfm_machine_ops ops = {
	.name = "concurrent", .attach = attach, .detach = detach, .fork = fork_child_ctx, .release = release,
	.access = access_pmu, .install = install,
	.collect = collect, .write_pmc = write_pmc, .write_pmd = write_pmd, .resume = resume, .freeze = freeze,
	.arm = arm, .disarm = disarm, .left = left, .timer_ns = timer_ns, .ran = ran, .block = block,
	.unblock = unblock, .where = where, .post = post, .flush = flush_messages, .signal = send_signal,
	.caller = caller, .in_group = in_group, .has_fd = has_fd, .now = now, .page_size = page_size,
	.alloc_buffer = alloc_buffer, .free_buffer = free_buffer, .coexist = true, .num_parts = num_parts,
	.part = part,
};

/* --- the PMU: counters; buffers that one PMC controls; virtual PMDs, from PMD100 on --- */

#define NUM_BUFFERS	3
#define VIRT_READ	(NUM_PMDS - 10)
#define VIRT_WRITE	(NUM_PMDS - 1)

static uint64_t read_virtual(struct pfm_context *ctx, const struct pfm_where *where)
{
	(void)ctx;
	return where ? where->tstamp : me.tid;
}

static int write_virtual(struct pfm_context *ctx, uint64_t value)
{
	(void)ctx;
	return value % 13 ? 0 : pfm_refuse(-EINVAL, "13 brings bad luck");
}

static void make_pmu(void)
{
	static struct pfm_reg pmcs[NUM_COUNTERS], pmds[NUM_COUNTERS + NUM_BUFFERS + 2];
	static struct pfm_pmu pmu = { "concurrent", 64, pmcs, pmds, COUNT(pmcs), COUNT(pmds), NULL, NULL };
	unsigned int n;

	for (n = 0; n < NUM_COUNTERS; n++) {
		pmcs[n] = (struct pfm_reg){ .num = n, .type = PFM_REG_TYPE_PMC, .kind = PFM_REG_WC, .name = "control" };
		pmds[n] = (struct pfm_reg){ .num = n, .type = PFM_REG_TYPE_PMD, .kind = PFM_REG_C64 | PFM_REG_INTR,
					    .ctrl = n, .name = "counter" };
	}
	for (; n < NUM_COUNTERS + NUM_BUFFERS; n++)
		pmds[n] = (struct pfm_reg){ .num = n, .type = PFM_REG_TYPE_PMD, .kind = PFM_REG_RO,
					    .ctrl = NUM_COUNTERS - 1, .name = "buffer" };
	pmds[n++] = (struct pfm_reg){ .num = VIRT_READ, .type = PFM_REG_TYPE_VIRT, .kind = PFM_REG_V | PFM_REG_RO,
				      .ctrl = PFM_REG_NO_CTRL, .name = "read", .read = read_virtual };
	pmds[n] = (struct pfm_reg){ .num = VIRT_WRITE, .type = PFM_REG_TYPE_VIRT, .kind = PFM_REG_V,
				    .ctrl = PFM_REG_NO_CTRL, .name = "write", .read = read_virtual,
				    .write = write_virtual };
	pfm_machine_init(&machine, &ops, &pmu, NULL);
}

void machine_new(void)
{
	make_pmu();
	machine.arg_size_max = 1 << 20;
}
