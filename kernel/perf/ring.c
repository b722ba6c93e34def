// SPDX-License-Identifier: MIT
/*
 * ring.c - the buffer that the kernel writes records of overflows into.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sys/epoll.h>
#include <unistd.h>
#define PFM_NO_MMAP_REDIRECT
#include "perf.h"
#include <sys/mman.h>

#define PAGES_FORMAT	128	/* data pages with a sampling format, at least: seconds of fast sampling */
#define PAGES_MOST	4096	/* and at most, where its buffer is large */
#define PAGES_USER	16	/* the same for those whose locked memory is limited */
#define COPIES		4	/* times as many for them, where samples come with copies of stacks */
#define PAGES_NOTIFY	4	/* without one there are few records at a time */

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static void on_record(struct pfm_context *ctx, void *arg, uint32_t events)
{
	struct perf_ring *ring = arg;

	if ((events & (EPOLLHUP | EPOLLERR)) && perf_hung_up(ring->fd)) {
		pfm_watch_del(ring->watch);	/* the target has ended, which hangs up for ever */
		ring->watch = NULL;
	}
	ring->ready(ctx);
}

/*
 * With a format, records wait until a quarter of the ring, or of the buffer they go to, is full; one
 * that must be answered at once has plan.prompt.
 */
static void set_watermark(struct pfm_context *ctx, struct perf_event_attr *attr, size_t pages)
{
	size_t bytes = pages * page_size() / 4;

	if (ctx->buf_size && bytes > ctx->buf_size / 4)
		bytes = ctx->buf_size / 4;
	attr->watermark = 1;
	attr->wakeup_watermark = (uint32_t)bytes;
}

static int open_owner(struct pfm_context *ctx, size_t pages)
{
	struct perf_context *p = perf_of(ctx);
	struct perf_event_attr attr;

	perf_attr_dummy(&attr);
	attr.disabled = 1;
	if (ctx->want.records)
		perf_record_attr(&attr);
	set_watermark(ctx, &attr, pages);
	p->ring.fd = perf_open(&attr, p->pid, p->cpu, -1);
	if (p->ring.fd < 0 && errno == EINVAL && attr.build_id) {	/* before Linux 5.12 */
		attr.build_id = 0;
		p->ring.fd = perf_open(&attr, p->pid, p->cpu, -1);
	}
	return p->ring.fd < 0 ? perf_refuse_open(p, "a ring", &attr, errno) : 0;
}

static int map(struct perf_ring *ring, size_t pages)
{
	size_t size = (pages + 1) * page_size();
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);

	if (at == MAP_FAILED)
		return -errno;
	ring->map = at;
	ring->size = size - page_size();
	return 0;
}

/* The largest that the limits allow. */
static int open_and_map(struct pfm_context *ctx, size_t pages)
{
	struct perf_ring *ring = &perf_of(ctx)->ring;
	int ret;

	for (;;) {
		ret = open_owner(ctx, pages);
		if (ret)
			return ret;
		ret = map(ring, pages);
		if (!ret)
			return 0;
		close(ring->fd);
		ring->fd = -1;
		if (pages == 1 || (ret != -EPERM && ret != -ENOMEM))
			return perf_refuse_map(-ret, (pages + 1) * page_size());
		pages /= 2;
	}
}

/* Half of the buffer that the records go to, to outlast the time until this process runs. */
static size_t pages_for(const struct pfm_context *ctx)
{
	size_t half = ctx->buf_size / page_size() / 2, pages = PAGES_FORMAT;

	while (pages < half && pages < PAGES_MOST)
		pages *= 2;
	return pages;
}

static size_t pages_wanted(const struct pfm_context *ctx)
{
	if (!ctx->fmt)
		return PAGES_NOTIFY;
	if (!geteuid())
		return pages_for(ctx);
	return ctx->want.max_stack ? PAGES_USER * COPIES : PAGES_USER;
}

int perf_ring_need(struct pfm_context *ctx)
{
	struct perf_ring *ring = &perf_of(ctx)->ring;
	size_t pages = pages_wanted(ctx);
	int ret;

	if (ring->map)
		return 0;
	ret = open_and_map(ctx, pages);
	if (ret)
		return ret;
	ring->watch = pfm_watch_add(ctx, ring->fd, EPOLLIN, on_record, ring);
	if (ring->watch)
		return 0;
	ret = -errno;
	perf_ring_close(ring);
	return pfm_refuse(ret, "the kernel's buffer cannot be watched: %s", strerror(-ret));
}

void perf_ring_close(struct perf_ring *ring)
{
	if (ring->fd < 0)
		return;
	pfm_watch_del(ring->watch);
	if (ring->map)
		munmap(ring->map, ring->size + page_size());
	close(ring->fd);
	*ring = (struct perf_ring){ .fd = -1, .ready = ring->ready };
}

int perf_ring_join(struct perf_ring *ring, int fd)
{
	return perf_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, (uint64_t)ring->fd);
}

/* --- reading -------------------------------------------------------------------------------- */

/* Pairs with the kernel's barrier between writing a record and moving data_head. */
static uint64_t head_of(const struct perf_ring *ring)
{
	const struct perf_event_mmap_page *page = ring->map;

	return __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
}

bool perf_ring_empty(const struct perf_ring *ring)
{
	const struct perf_event_mmap_page *page = ring->map;

	return !page || page->data_tail == head_of(ring);
}

static void copy_out(const struct perf_ring *ring, uint64_t from, void *to, size_t n)
{
	const char *data = (const char *)ring->map + page_size();
	size_t at = from & (ring->size - 1), first = ring->size - at;

	if (first > n)
		first = n;
	memcpy(to, data + at, first);
	memcpy((char *)to + first, data, n - first);
}

bool perf_ring_next(struct perf_ring *ring, union perf_record *rec)
{
	struct perf_event_mmap_page *page = ring->map;
	uint64_t tail;

	if (perf_ring_empty(ring))
		return false;
	tail = page->data_tail;
	copy_out(ring, tail, &rec->header, sizeof(rec->header));
	copy_out(ring, tail, rec, rec->header.size);
	__atomic_store_n(&page->data_tail, tail + rec->header.size, __ATOMIC_RELEASE);
	return true;
}
