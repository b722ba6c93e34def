// SPDX-License-Identifier: MIT
/* ring.c - the buffers into which the kernel writes records of overflows. */
#include <linux/capability.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>
#define PFM_NO_MMAP_REDIRECT
#include "perf.h"
#include <sys/mman.h>

/* least data pages with a sampling format, which last for seconds of fast sampling */
#define PAGES_FORMAT	128
/* most data pages with a sampling format, for a large sampling buffer */
#define PAGES_MOST	4096
/* data pages with a sampling format, for users with limited locked memory */
#define PAGES_USER	16
#define COPIES		4	/* factor of PAGES_USER if samples have copies of stacks */
/* data pages without a format, when there are few records at a time */
#define PAGES_NOTIFY	4
#define ROUND_NS	1000000	/* longer than any record takes on its way into its ring */

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static void on_record(struct pfm_context *ctx, void *arg, uint32_t events)
{
	struct perf_ring *ring = arg;

	if ((events & (EPOLLHUP | EPOLLERR)) && perf_hung_up(ring->fd)) {
		/* the target has ended, and POLLHUP would be reported without end */
		pfm_watch_del(ring->watch);
		ring->watch = NULL;
	}
	perf_of(ctx)->rings.ready(ctx);
}

/*
 * With a format, the kernel wakes up this process when a quarter of the ring, or of the sampling
 * buffer, is full. Overflows that must be handled at once have plan.prompt.
 */
static void set_watermark(struct pfm_context *ctx, struct perf_event_attr *attr, size_t pages)
{
	size_t bytes = pages * page_size() / 4;

	if (ctx->buf_size && bytes > ctx->buf_size / 4)
		bytes = ctx->buf_size / 4;
	attr->watermark = 1;
	attr->wakeup_watermark = (uint32_t)bytes;
}

static int open_dummy(struct pfm_context *ctx, struct perf_event_attr *attr, int cpu)
{
	struct perf_context *p = perf_of(ctx);

	return perf_samples_family(ctx) ? perf_open_on(attr, p->pid, cpu, -1) : perf_open(attr, p->pid, p->cpu, -1);
}

static int open_owner(struct pfm_context *ctx, struct perf_ring *ring, size_t pages)
{
	struct perf_event_attr attr;

	perf_attr_dummy(&attr);
	attr.disabled = 1;
	attr.inherit = perf_samples_family(ctx);
	if (ctx->format_needs.records)
		perf_record_attr(&ctx->format_needs, &attr);
	set_watermark(ctx, &attr, pages);
	ring->fd = open_dummy(ctx, &attr, ring->cpu);
	/* Linux before 5.12 does not know attr.build_id */
	if (ring->fd < 0 && errno == EINVAL && attr.build_id) {
		attr.build_id = 0;
		ring->fd = open_dummy(ctx, &attr, ring->cpu);
	}
	if (ring->fd >= 0)
		return 0;
	return errno == ENODEV ? -ENODEV : perf_refuse_open(perf_of(ctx), "a ring", &attr, errno);
}

static int map(struct perf_ring *ring, size_t pages)
{
	size_t size = (pages + 1) * page_size();
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);

	if (at == MAP_FAILED)
		return -errno;
	ring->map = at;
	ring->data = (const char *)at + page_size();
	ring->size = size - page_size();
	return 0;
}

/* Maps the largest ring that the limits allow. */
static int open_and_map(struct pfm_context *ctx, struct perf_ring *ring, size_t *pages)
{
	int ret;

	for (;; *pages /= 2) {
		ret = open_owner(ctx, ring, *pages);
		if (ret)
			return ret;
		ret = map(ring, *pages);
		if (!ret)
			return 0;
		perf_close(ring->fd);
		ring->fd = -1;
		if (*pages == 1 || (ret != -EPERM && ret != -ENOMEM))
			return perf_refuse_map(-ret, (*pages + 1) * page_size());
	}
}

/*
 * Returns the number of data pages of each of n rings. Rings that together are about half as large
 * as the sampling buffer hold the records that the kernel writes until this process runs.
 */
static size_t pages_for(const struct pfm_context *ctx, int n)
{
	size_t half = ctx->buf_size / page_size() / 2 / (size_t)n, pages = PAGES_FORMAT;

	while (pages < half && pages < PAGES_MOST)
		pages *= 2;
	return pages;
}

/* Returns true if the limits of locked memory do not hold for this process. */
static bool may_lock_all(void)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct caps[2] = { { 0 } };

	return !syscall(SYS_capget, &head, caps) && caps[0].effective >> CAP_IPC_LOCK & 1;
}

static size_t pages_wanted(const struct pfm_context *ctx, int n)
{
	if (!ctx->fmt)
		return PAGES_NOTIFY;
	if (may_lock_all())
		return pages_for(ctx, n);
	if (perf_samples_family(ctx))
		return PAGES_FORMAT;
	return ctx->format_needs.max_stack >= page_size() ? PAGES_USER * COPIES : PAGES_USER;
}

static int watch(struct pfm_context *ctx, struct perf_ring *ring)
{
	int err;

	ring->watch = pfm_watch_add(ctx, ring->fd, EPOLLIN, on_record, ring);
	if (ring->watch)
		return 0;
	err = errno;
	return pfm_refuse(-err, "the kernel's buffer cannot be watched: %s", strerror(err));
}

int perf_ring_add(struct pfm_context *ctx, int cpu)
{
	struct perf_rings *rings = &perf_of(ctx)->rings;
	struct perf_ring *ring = &rings->r[rings->n];
	int ret;

	*ring = (struct perf_ring){ .fd = -1, .cpu = cpu };
	ret = open_and_map(ctx, ring, &rings->pages);
	if (ret)
		return ret;
	rings->n++;
	return watch(ctx, ring);
}

int perf_rings_begin(struct pfm_context *ctx, int n)
{
	struct perf_rings *rings = &perf_of(ctx)->rings;

	rings->pages = pages_wanted(ctx, n);
	rings->r = pfm_os_alloc((size_t)n * sizeof(*rings->r));
	rings->whole = pfm_os_alloc(sizeof(*rings->whole));
	if (rings->r && rings->whole)
		return 0;
	perf_rings_close(rings);
	return pfm_refuse(-ENOMEM, "no memory for the kernel's buffers");
}

int perf_ring_need(struct pfm_context *ctx)
{
	struct perf_rings *rings = &perf_of(ctx)->rings;
	int ret = rings->n ? 0 : perf_rings_begin(ctx, 1);

	if (ret || rings->n)
		return ret;
	ret = perf_ring_add(ctx, -1);
	if (ret)
		perf_rings_close(rings);
	return ret;
}

void perf_rings_close(struct perf_rings *rings)
{
	while (rings->n) {
		struct perf_ring *ring = &rings->r[--rings->n];

		pfm_watch_del(ring->watch);
		munmap(ring->map, ring->size + page_size());
		perf_close(ring->fd);
	}
	pfm_os_free(rings->r);
	pfm_os_free(rings->whole);
	*rings = (struct perf_rings){ .ready = rings->ready };
}

int perf_ring_join(struct perf_ring *ring, int fd)
{
	return perf_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, (uint64_t)ring->fd);
}

/* --- reading records ------------------------------------------------------------------------ */

/*
 * Reads data_head. The acquire pairs with the kernel's barrier between the writing of a record and
 * the update of data_head.
 */
static uint64_t head_of(const struct perf_ring *ring)
{
	const struct perf_event_mmap_page *page = ring->map;

	return __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
}

bool perf_rings_empty(const struct perf_rings *rings)
{
	for (unsigned int i = 0; i < rings->n; i++)
		if (rings->r[i].tail != head_of(&rings->r[i]))
			return false;
	return true;
}

static const char *data_at(const struct perf_ring *ring, uint64_t at)
{
	return ring->data + (at & (ring->size - 1));
}

static void copy_out(const struct perf_ring *ring, uint64_t from, void *to, size_t n)
{
	size_t first = ring->size - (from & (ring->size - 1));

	if (first > n)
		first = n;
	memcpy(to, data_at(ring, from), first);
	memcpy((char *)to + first, data_at(ring, from + first), n - first);
}

/*
 * Returns true if the ring has a complete record. When a thread ends, the kernel writes its counts
 * from the CPU where it ends into the rings of all CPUs (inherit_stat), without a lock: two threads
 * that end together may overwrite each other's records. If that leaves a record without a size,
 * nothing after it can be read. The kernel may also never update the ring's data_head again.
 */
static bool has_record(const struct perf_ring *ring)
{
	struct perf_event_header header;

	if (ring->tail == head_of(ring))
		return false;
	copy_out(ring, ring->tail, &header, sizeof(header));
	return header.size >= sizeof(header);
}

/*
 * Returns when the next record was written. A record without a time is as old as the one before it.
 */
static uint64_t next_time(const struct perf_ring *ring)
{
	struct perf_event_header header;
	uint64_t time = 0;

	copy_out(ring, ring->tail, &header, sizeof(header));
	switch (header.type) {
	case PERF_RECORD_SAMPLE:
		copy_out(ring, ring->tail + 4 * sizeof(time), &time, sizeof(time));
		break;
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		copy_out(ring, ring->tail + sizeof(time), &time, sizeof(time));
		break;
	case PERF_RECORD_MMAP2:
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
	case PERF_RECORD_COMM:
	case PERF_RECORD_READ:
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		copy_out(ring, ring->tail + header.size - 2 * sizeof(time), &time, sizeof(time));
		break;
	}
	return time > ring->time ? time : ring->time;
}

/* Returns the memory of the last record to the kernel. */
static void give_back(struct perf_rings *rings)
{
	struct perf_ring *ring = rings->taken;

	rings->taken = NULL;
	if (ring)
		__atomic_store_n(&((struct perf_event_mmap_page *)ring->map)->data_tail, ring->tail,
				 __ATOMIC_RELEASE);
}

static const union perf_record *take(struct perf_rings *rings, struct perf_ring *ring)
{
	struct perf_event_header header;
	const void *rec = data_at(ring, ring->tail);

	copy_out(ring, ring->tail, &header, sizeof(header));
	if (header.size > ring->size - (ring->tail & (ring->size - 1))) {
		copy_out(ring, ring->tail, rings->whole, header.size);
		rec = rings->whole;
	}
	ring->tail += header.size;
	rings->taken = ring;
	return rec;
}

/*
 * Begins a pass over the rings, which reads the records of several CPUs in the order of time. A
 * record may still be on its way into its ring while a later one is already in another ring. So
 * only records that were written before an earlier pass, at least ROUND_NS ago, are read. With
 * "all" every record is read: the events are stopped, or a command needs everything.
 */
void perf_rings_round(struct pfm_context *ctx, bool all)
{
	struct perf_rings *rings = &perf_of(ctx)->rings;
	uint64_t now;

	if (rings->n < 2)
		return;
	now = pfm_user_now(ctx->machine);
	if (now - rings->round >= ROUND_NS) {
		rings->limit = rings->round;
		rings->round = now;
	}
	if (all)
		rings->limit = now;
}

const union perf_record *perf_rings_next(struct perf_rings *rings)
{
	struct perf_ring *first = NULL;
	uint64_t time = 0;

	give_back(rings);
	if (rings->n == 1)
		return has_record(rings->r) ? take(rings, rings->r) : NULL;
	for (unsigned int i = 0; i < rings->n; i++) {
		struct perf_ring *ring = &rings->r[i];

		if (!has_record(ring))
			continue;
		ring->time = next_time(ring);
		if (first && ring->time >= time)
			continue;
		first = ring;
		time = ring->time;
	}
	return first && time <= rings->limit ? take(rings, first) : NULL;
}
