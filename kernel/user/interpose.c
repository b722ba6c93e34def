// SPDX-License-Identifier: MIT
/*
 * interpose.c - replaces the calls that read, write, open, duplicate and close descriptors, or
 * execute programs. The calls of programs that are linked with this library pass here on the way to
 * libc. An exec ends the contexts, and none of their signals may come after it (desc.h). Closing a
 * number withdraws what fast_read.c has published under it, and ends self-monitoring (desc.h). A
 * read of less than a message, for which the kernel would truncate the message of a socket, is
 * refused (3.3.3). sysfs.c opens files of /sys/kernel/perfmon that do not exist. Everything else is
 * left to libc.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "inherited.h"
#include "interpose.h"
#include "fast_read.h"

/* --- libc's functions ----------------------------------------------------------------------- */

enum call { READ, CLOSE, CLOSE_RANGE, CLOSEFROM, DUP2, DUP3, FDOPEN, EXECVE, EXECVPE, WRITE, OPEN, OPEN64,
	    FOPEN, FOPEN64, ACCESS, READV, WRITEV, RECVMSG, DUP, FCNTL, FCNTL64, NUM_CALLS };

static const char *const names[NUM_CALLS] = { "read", "close", "close_range", "closefrom", "dup2", "dup3", "fdopen",
					       "execve", "execvpe", "write", "open", "open64", "fopen", "fopen64",
					       "access", "readv", "writev", "recvmsg", "dup", "fcntl", "fcntl64" };
static _Atomic(void *) libcs[NUM_CALLS];

static void *libc(enum call call)
{
	void *fn = atomic_load_explicit(&libcs[call], memory_order_relaxed);

	if (!fn) {
		fn = dlsym(RTLD_NEXT, names[call]);
		atomic_store_explicit(&libcs[call], fn, memory_order_relaxed);
	}
	return fn;
}

/*
 * Looks the functions up when the library is loaded, because dlsym(3) may not be called in a signal
 * handler.
 */
static __attribute__((constructor)) void find_libc(void)
{
	for (enum call call = 0; call < NUM_CALLS; call++)
		libc(call);
}

/*
 * In a program without a dynamic linker, dlsym(3) finds nothing: then the system call is made
 * directly.
 */
int pfm_libc_close(int fd)
{
	int (*fn)(int) = libc(CLOSE);

	return fn ? fn(fd) : (int)syscall(SYS_close, fd);
}

static int close_many(unsigned int first, unsigned int last, int flags)
{
	int (*fn)(unsigned int, unsigned int, int) = libc(CLOSE_RANGE);

	return fn ? fn(first, last, flags) : (int)syscall(SYS_close_range, first, last, flags);
}

/* --- replacements of the functions ---------------------------------------------------------- */

/* Returns the size of a message if fd is a context's descriptor, or else 0. */
static unsigned int message_of(int fd)
{
	return pfm_fast_noted(fd) ? pfm_desc_message(fd) : 0;
}

/* Returns false with EINVAL if size is not that of whole messages. */
static bool is_whole(unsigned int message, size_t size)
{
	if (!message || (size && size % message == 0))
		return true;
	pfm_refuse(0, "a message has %u bytes, and is read as a whole", message);
	errno = EINVAL;
	return false;
}

/* A context's descriptor cannot be written: returns false with EINVAL if fd is one. */
static bool is_writable(int fd)
{
	if (!message_of(fd))
		return true;
	pfm_refuse(0, "nothing can be written to a context's descriptor");
	errno = EINVAL;
	return false;
}

static ssize_t our_read(int fd, void *buf, size_t size)
{
	ssize_t (*fn)(int, void *, size_t) = libc(READ);

	if (!is_whole(message_of(fd), size))
		return -1;
	return fn ? fn(fd, buf, size) : syscall(SYS_read, fd, buf, size);
}

static ssize_t our_readv(int fd, const struct iovec *parts, int n)
{
	ssize_t (*fn)(int, const struct iovec *, int) = libc(READV);
	unsigned int message = message_of(fd);
	size_t size = 0;

	for (int i = 0; message && parts && i < n && i < IOV_MAX; i++)
		size += parts[i].iov_len;
	if (!is_whole(message, size))
		return -1;
	return fn ? fn(fd, parts, n) : syscall(SYS_readv, fd, parts, n);
}

static ssize_t our_write(int fd, const void *buf, size_t size)
{
	ssize_t (*fn)(int, const void *, size_t) = libc(WRITE);

	if (!is_writable(fd))
		return -1;
	return fn ? fn(fd, buf, size) : syscall(SYS_write, fd, buf, size);
}

static ssize_t our_writev(int fd, const struct iovec *parts, int n)
{
	ssize_t (*fn)(int, const struct iovec *, int) = libc(WRITEV);

	if (!is_writable(fd))
		return -1;
	return fn ? fn(fd, parts, n) : syscall(SYS_writev, fd, parts, n);
}

static int our_close(int fd)
{
	bool inherited = pfm_inherited_concerns(fd);
	struct pfm_desc *d = pfm_desc_closing(fd);
	int ret;

	pfm_fast_closing((unsigned int)fd, (unsigned int)fd);
	ret = pfm_libc_close(fd);
	pfm_fast_closed((unsigned int)fd, (unsigned int)fd);
	pfm_desc_closed(d);
	if (inherited)
		pfm_inherited_look();
	return ret;
}

#define MOST_FDS 4096

/*
 * Closes the descriptors of contexts in the range one by one, because each may be the last
 * descriptor of its context in this process.
 */
static void close_contexts(unsigned int first, unsigned int last)
{
	if (!pfm_desc_may_end())
		return;
	for (unsigned int fd = first; fd <= last && fd < MOST_FDS; fd++) {
		struct pfm_desc *d = pfm_desc_closing((int)fd);

		if (d)
			pfm_libc_close((int)fd);
		pfm_desc_closed(d);
	}
}

static int our_close_range(unsigned int first, unsigned int last, int flags)
{
	int ret;

	pfm_fast_closing(first, last);
	if (!flags)
		close_contexts(first, last);
	ret = close_many(first, last, flags);
	pfm_fast_closed(first, last);
	if (pfm_inherited_any())
		pfm_inherited_look();
	return ret;
}

static void our_closefrom(int first)
{
	void (*fn)(int) = libc(CLOSEFROM);
	unsigned int from = first < 0 ? 0 : (unsigned int)first;

	pfm_fast_closing(from, UINT_MAX);
	close_contexts(from, UINT_MAX);
	if (fn)
		fn(first);
	else
		close_many(from, UINT_MAX, 0);
	pfm_fast_closed(from, UINT_MAX);
	if (pfm_inherited_any())
		pfm_inherited_look();
}

/* Notes that copy is a context's descriptor if "from" is one, and returns copy. */
static int copied(int from, int copy)
{
	if (copy >= 0 && message_of(from))
		pfm_fast_note(copy);
	return copy;
}

static int our_dup(int from)
{
	int (*fn)(int) = libc(DUP);

	return copied(from, fn ? fn(from) : (int)syscall(SYS_dup, from));
}

/* Passes the optional third argument on, whatever its type is, as libc does. */
#define CONTROLLED(call) do { \
	int (*fn)(int, int, ...) = libc(call), ret; \
	va_list args; \
	void *arg; \
\
	va_start(args, command); \
	arg = va_arg(args, void *); \
	va_end(args); \
	ret = fn ? fn(fd, command, arg) : (int)syscall(SYS_fcntl, fd, command, arg); \
	return command == F_DUPFD || command == F_DUPFD_CLOEXEC ? copied(fd, ret) : ret; \
} while (0)

static int our_fcntl(int fd, int command, ...)
{
	CONTROLLED(FCNTL);
}

static int our_fcntl64(int fd, int command, ...)
{
	CONTROLLED(FCNTL64);
}

/* Notes the descriptors of contexts that have come by SCM_RIGHTS. */
static ssize_t our_recvmsg(int fd, struct msghdr *msg, int flags)
{
	ssize_t (*fn)(int, struct msghdr *, int) = libc(RECVMSG);
	ssize_t ret = fn ? fn(fd, msg, flags) : syscall(SYS_recvmsg, fd, msg, flags);

	if (ret < 0)
		return ret;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		const int *fds = (const int *)(const void *)CMSG_DATA(c);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(*fds); i++)
			if (pfm_desc_message(fds[i]))
				pfm_fast_note(fds[i]);
	}
	return ret;
}

/* Calls dup3(2) if flags is not NULL, else dup2(2). */
static int duplicate(int from, int to, const int *flags)
{
	int (*dup_2)(int, int) = libc(DUP2), (*dup_3)(int, int, int) = libc(DUP3);
	bool inherited = pfm_inherited_concerns(to);
	struct pfm_desc *d = from == to ? NULL : pfm_desc_closing(to);
	int ret;

	pfm_fast_closing((unsigned int)to, (unsigned int)to);
	if (!flags)
		ret = dup_2 ? dup_2(from, to) : (int)syscall(SYS_dup3, from, to, 0);
	else
		ret = dup_3 ? dup_3(from, to, *flags) : (int)syscall(SYS_dup3, from, to, *flags);
	pfm_fast_closed((unsigned int)to, (unsigned int)to);
	pfm_desc_closed(d);
	if (inherited)
		pfm_inherited_look();
	return copied(from, ret);
}

static int our_dup2(int from, int to)
{
	return duplicate(from, to, NULL);
}

static int our_dup3(int from, int to, int flags)
{
	return duplicate(from, to, &flags);
}

/*
 * fclose(3) closes the descriptor inside libc, where this library cannot see it. So a close of fd
 * is begun here that never ends: nothing is published under its number any more.
 */
static FILE *our_fdopen(int fd, const char *mode)
{
	FILE *(*fn)(int, const char *) = libc(FDOPEN);
	FILE *file = fn ? fn(fd, mode) : NULL;

	if (file)
		pfm_fast_closing((unsigned int)fd, (unsigned int)fd);
	return file;
}

/* --- files of sysfs ------------------------------------------------------------------------- */

static int open_file(enum call call, const char *path, int flags, mode_t mode)
{
	int (*fn)(const char *, int, ...) = libc(call);
	int fd = fn ? fn(path, flags, mode) : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);

	return fd < 0 && errno == ENOENT ? pfm_sysfs_open(path, flags) : fd;
}

static FILE *open_stream(enum call call, const char *path, const char *mode)
{
	FILE *(*fn)(const char *, const char *) = libc(call), *(*from)(int, const char *) = libc(FDOPEN);
	FILE *file = fn ? fn(path, mode) : NULL;
	int fd;

	if (file || !from || errno != ENOENT || *mode != 'r')
		return file;
	fd = pfm_sysfs_open(path, (strchr(mode, '+') ? O_RDWR : O_RDONLY) | (strchr(mode, 'e') ? O_CLOEXEC : 0));
	return fd < 0 ? NULL : from(fd, mode);
}

/* Opens a file. open() has a third argument only with some flags. */
#define OPENED(call) do { \
	va_list args; \
	mode_t mode = 0; \
\
	if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) { \
		va_start(args, flags); \
		mode = va_arg(args, mode_t); \
		va_end(args); \
	} \
	return open_file(call, path, flags, mode); \
} while (0)

static int our_open(const char *path, int flags, ...)
{
	OPENED(OPEN);
}

static int our_open64(const char *path, int flags, ...)
{
	OPENED(OPEN64);
}

static FILE *our_fopen(const char *path, const char *mode)
{
	return open_stream(FOPEN, path, mode);
}

static FILE *our_fopen64(const char *path, const char *mode)
{
	return open_stream(FOPEN64, path, mode);
}

static int our_access(const char *path, int mode)
{
	int (*fn)(const char *, int) = libc(ACCESS);
	int ret = fn ? fn(path, mode) : (int)syscall(SYS_faccessat, AT_FDCWD, path, mode);

	return ret && errno == ENOENT ? pfm_sysfs_access(path, mode) : ret;
}

/* --- execution ------------------------------------------------------------------------------ */

static int our_execveat(int dir, const char *path, char *const argv[], char *const envp[], int flags)
{
	int ret;

	pfm_desc_before_exec();
	ret = (int)syscall(SYS_execveat, dir, path, argv, envp, flags);
	pfm_desc_after_exec();
	return ret;
}

static int execute(enum call call, const char *file, char *const argv[], char *const envp[])
{
	int (*fn)(const char *, char *const *, char *const *) = libc(call), ret;

	pfm_desc_before_exec();
	ret = fn ? fn(file, argv, envp) : (int)syscall(SYS_execve, file, argv, envp);
	pfm_desc_after_exec();
	return ret;
}

static int our_execve(const char *path, char *const argv[], char *const envp[])
{
	return execute(EXECVE, path, argv, envp);
}

static int our_execvpe(const char *file, char *const argv[], char *const envp[])
{
	return execute(EXECVPE, file, argv, envp);
}

static int our_fexecve(int fd, char *const argv[], char *const envp[])
{
	return our_execveat(fd, "", argv, envp, AT_EMPTY_PATH);
}

static int our_execv(const char *path, char *const argv[])
{
	return our_execve(path, argv, environ);
}

static int our_execvp(const char *file, char *const argv[])
{
	return our_execvpe(file, argv, environ);
}

/* Collects the arguments up to the NULL and, if there is one after it, envp. */
#define LISTED(fn, first, has_env) do { \
	va_list args; \
	size_t n = 1; \
	va_start(args, first); \
	for (const char *arg = first; arg; n++) \
		arg = va_arg(args, const char *); \
	va_end(args); \
	char *argv[n], *const *envp = environ; \
	argv[0] = (char *)first; \
	va_start(args, first); \
	for (size_t i = 1; i < n; i++) \
		argv[i] = va_arg(args, char *); \
	if (has_env) \
		envp = va_arg(args, char *const *); \
	va_end(args); \
	return fn(path, argv, envp); \
} while (0)

static int our_execl(const char *path, const char *first, ...)
{
	LISTED(our_execve, first, false);
}

static int our_execle(const char *path, const char *first, ...)
{
	LISTED(our_execve, first, true);
}

static int our_execlp(const char *path, const char *first, ...)
{
	LISTED(our_execvpe, first, false);
}

/*
 * The functions are weak for libpfm.a: a program that is linked with it may define functions with
 * these names.
 */
#define EXPORT(name) __attribute__((weak, alias("our_" #name)))

ssize_t read(int fd, void *buf, size_t size) EXPORT(read);
ssize_t write(int fd, const void *buf, size_t size) EXPORT(write);
ssize_t readv(int fd, const struct iovec *parts, int n) EXPORT(readv);
ssize_t writev(int fd, const struct iovec *parts, int n) EXPORT(writev);
ssize_t recvmsg(int fd, struct msghdr *msg, int flags) EXPORT(recvmsg);
int dup(int from) EXPORT(dup);
int fcntl(int fd, int command, ...) EXPORT(fcntl);
int fcntl64(int fd, int command, ...) EXPORT(fcntl64);
int close(int fd) EXPORT(close);
int close_range(unsigned int first, unsigned int last, int flags) EXPORT(close_range);
void closefrom(int first) EXPORT(closefrom);
int dup2(int from, int to) EXPORT(dup2);
int dup3(int from, int to, int flags) EXPORT(dup3);
FILE *fdopen(int fd, const char *mode) EXPORT(fdopen);
int open(const char *path, int flags, ...) EXPORT(open);
int open64(const char *path, int flags, ...) EXPORT(open64);
FILE *fopen(const char *path, const char *mode) EXPORT(fopen);
FILE *fopen64(const char *path, const char *mode) EXPORT(fopen64);
int access(const char *path, int mode) EXPORT(access);
int execl(const char *path, const char *first, ...) EXPORT(execl);
int execle(const char *path, const char *first, ...) EXPORT(execle);
int execlp(const char *path, const char *first, ...) EXPORT(execlp);
int execv(const char *path, char *const argv[]) EXPORT(execv);
int execve(const char *path, char *const argv[], char *const envp[]) EXPORT(execve);
int execveat(int dir, const char *path, char *const argv[], char *const envp[], int flags) EXPORT(execveat);
int execvp(const char *path, char *const argv[]) EXPORT(execvp);
int execvpe(const char *path, char *const argv[], char *const envp[]) EXPORT(execvpe);
int fexecve(int fd, char *const argv[], char *const envp[]) EXPORT(fexecve);

/* --- do the program's closes pass here? ----------------------------------------------------- */

static bool all_ours(void)
{
	void *const ours[] = { (void *)our_read, (void *)our_close, (void *)our_close_range,
				(void *)our_closefrom, (void *)our_dup2, (void *)our_dup3, (void *)our_fdopen };

	for (enum call call = 0; call <= FDOPEN; call++)
		if (dlsym(RTLD_DEFAULT, names[call]) != ours[call])
			return false;
	return true;
}

/*
 * Returns true if close() and the like reach this library. They do not if the library was loaded by
 * dlopen(3), because libc is found first then.
 */
bool pfm_sees_closes(void)
{
	static _Atomic int known = -1;
	int now = atomic_load_explicit(&known, memory_order_relaxed);

	if (now < 0) {
		now = all_ours();
		atomic_store_explicit(&known, now, memory_order_relaxed);
	}
	return now;
}
