// SPDX-License-Identifier: MIT
/*
 * harness_alloc.c - counts the library's memory, descriptors and buffers, and makes them fail.
 * The linker sends the library's calls here: --wrap=malloc and so on, see spec/fuzz/build.mk.
 */
#include <stdlib.h>

#include "harness.h"
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void __real_free(void *p);
void *__real_mmap(void *addr, size_t size, int prot, int flags, int fd, off_t offset);
int __real_munmap(void *addr, size_t size);
int __real_memfd_create(const char *name, unsigned int flags);
int __real_socketpair(int domain, int type, int protocol, int *ends);
int __real_epoll_ctl(int epfd, int op, int fd, struct epoll_event *event);
int __real_close(int fd);

long alloc_live, alloc_made;
static long fail_at = -1;
/* true in the thread that called alloc_fail_at(): the failure is not for other threads */
static __thread bool watched;

void alloc_fail_at(long nth)
{
	fail_at = nth;
	alloc_made = 0;
	watched = true;
}

static bool fails(void)
{
	if (!watched || alloc_made++ != fail_at)
		return false;
	errno = ENOMEM;
	return true;
}

static void *made(void *p)
{
	if (p)
		__atomic_add_fetch(&alloc_live, 1, __ATOMIC_RELAXED);
	return p;
}

static void gone(const void *p)
{
	if (p)
		__atomic_sub_fetch(&alloc_live, 1, __ATOMIC_RELAXED);
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : made(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : made(__real_calloc(n, size));
}

void *__wrap_realloc(void *p, size_t size)
{
	void *q;

	if (fails())
		return NULL;
	q = __real_realloc(p, size);
	return p ? q : made(q);
}

void __wrap_free(void *p)
{
	gone(p);
	__real_free(p);
}

void *__wrap_mmap(void *addr, size_t size, int prot, int flags, int fd, off_t offset)
{
	void *p;

	if (fails())
		return MAP_FAILED;
	p = __real_mmap(addr, size, prot, flags, fd, offset);
	if (p != MAP_FAILED)
		made(p);
	return p;
}

int __wrap_munmap(void *addr, size_t size)
{
	gone(addr);
	return __real_munmap(addr, size);
}

int __wrap_memfd_create(const char *name, unsigned int flags)
{
	int fd = fails() ? -1 : __real_memfd_create(name, flags);

	if (fd >= 0)
		made(&alloc_live);
	return fd;
}

int __wrap_socketpair(int domain, int type, int protocol, int *ends)
{
	if (fails() || __real_socketpair(domain, type, protocol, ends))
		return -1;
	made(ends);
	made(ends);
	return 0;
}

int __wrap_epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
	if (op == EPOLL_CTL_ADD && fails())
		return -1;
	return __real_epoll_ctl(epfd, op, fd, event);
}

int __wrap_close(int fd)
{
	if (fd >= 0)
		gone(&alloc_live);
	return __real_close(fd);
}

/* --- nothing is left ------------------------------------------------------------------------ */

static void make_and_close(void)
{
	pfarg_ctx_t ctx = { 0 };
	int fd = pfm_create_context(&ctx, NULL, NULL, 0);

	CHECK(fd >= 0, "create_context: %s", pfm_explain());
	close(fd);
}

void alloc_settle(long base)
{
	for (int i = 0; i < 100; i++) {
		pfm_set_machine("sim", "");
		for (int ms = 0; ms < 100 && alloc_live != base; ms++)
			usleep(1000);
		if (alloc_live == base)
			return;
		make_and_close();
	}
	fail("%ld blocks, descriptors and buffers are left of %ld", alloc_live, base);
}
