// SPDX-License-Identifier: MIT
/* machine_ops.c - the operations of the machine contract that all machines in user space share. */
#include <fcntl.h>
#include <poll.h>
#include <linux/sockios.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#define PFM_NO_MMAP_REDIRECT
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "desc.h"
#define PFM20_INTERNAL
#include "ia64/perfmon/perfmon.h"

/* --- messages ------------------------------------------------------------------------------- */

/* Returns the number of unread messages, from the number of bytes in the socket's buffer. */
static size_t unread(struct pfm_desc *d)
{
	int bytes = 0;

	ioctl(d->own, SIOCOUTQ, &bytes);
	return d->msg_unit ? (size_t)(bytes / d->msg_unit) : 0;
}

static ssize_t send_message(struct pfm_desc *d, const void *msg, size_t size)
{
	return send(d->own, msg, size, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Sends the message in the layout of perfmon 2.0. */
static ssize_t send_20(struct pfm_context *ctx, const pfarg_msg_t *msg)
{
	struct pfm_desc *d = pfm_desc_of(ctx);
	union pfm20_msg m = { .pfm_gen_msg = { .msg_type = (int)msg->type, .msg_ctx_fd = d->fd } };
	uint64_t now = pfm_ops(ctx)->now(ctx->machine);

	if (msg->type == PFM_MSG_OVFL) {
		memcpy(m.pfm_ovfl_msg.msg_ovfl_pmds, msg->pfm_ovfl_msg.msg_ovfl_pmds,
		       sizeof(m.pfm_ovfl_msg.msg_ovfl_pmds));
		m.pfm_ovfl_msg.msg_active_set = msg->pfm_ovfl_msg.msg_active_set;
		m.pfm_ovfl_msg.msg_tstamp = now;
	} else {
		m.pfm_end_msg.msg_tstamp = now;
	}
	return send_message(d, &m, sizeof(m));
}

unsigned int pfm_message_size(const struct pfm_desc *d)
{
	return d->by_20 ? sizeof(union pfm20_msg) : sizeof(pfarg_msg_t);
}

int pfm_user_post(struct pfm_context *ctx, const pfarg_msg_t *msg)
{
	struct pfm_desc *d = pfm_desc_of(ctx);

	if (msg->type != PFM_MSG_END && unread(d) >= ctx->msgq_depth)
		return -ENOSPC;
	if ((d->by_20 ? send_20(ctx, msg) : send_message(d, msg, sizeof(*msg))) < 0 && errno != EPIPE)
		return -ENOSPC;
	if (!d->msg_unit && ioctl(d->own, SIOCOUTQ, &d->msg_unit))
		d->msg_unit = 0;
	return 0;
}

/*
 * Discards the unread messages, by reading them from the program's end. Called from
 * pfm_load_context(fd), so d->fd is a number that the program's end has at present.
 */
void pfm_user_flush(struct pfm_context *ctx)
{
	pfarg_msg_t msg;

	while (recv(pfm_desc_of(ctx)->fd, &msg, sizeof(msg), MSG_DONTWAIT) > 0)
		;
}

/* --- the caller ----------------------------------------------------------------------------- */

void pfm_user_caller(struct pfm_machine *m, struct pfm_caller *who)
{
	(void)m;
	who->tid = (uint32_t)syscall(SYS_gettid);
	who->pid = (uint32_t)getpid();
	who->cpu = (uint32_t)sched_getcpu();
	who->admin = geteuid() == 0;
	who->memlock = ~0ULL;
}

bool pfm_user_in_group(struct pfm_machine *m, uint32_t gid)
{
	gid_t *groups;
	bool in = getegid() == gid;
	int n = getgroups(0, NULL);

	(void)m;
	groups = n > 0 ? pfm_os_calloc((size_t)n, sizeof(*groups)) : NULL;
	n = groups ? getgroups(n, groups) : 0;
	while (!in && n-- > 0)
		in = groups[n] == gid;
	pfm_os_free(groups);
	return in;
}

bool pfm_user_has_fd(struct pfm_context *ctx)
{
	return ctx->pid == (uint32_t)getpid();
}

uint64_t pfm_user_now(struct pfm_machine *m)
{
	(void)m;
	return (uint64_t)pfm_clock_ns();
}

size_t pfm_user_page_size(struct pfm_machine *m)
{
	(void)m;
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* --- sampling buffers ----------------------------------------------------------------------- */

int pfm_user_alloc_buffer(struct pfm_context *ctx, size_t size, void **buf)
{
	struct pfm_desc *d = pfm_desc_of(ctx);
	void *at = MAP_FAILED;
	struct stat st;
	int err, fd;

	if (!pfm_file_may_have(size))
		return pfm_refuse(-ENOMEM, "a buffer of %zu bytes exceeds RLIMIT_FSIZE (see ulimit -f)", size);
	fd = memfd_create("perfmon-buffer", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0) {
		err = errno;
		return pfm_refuse(-err, "no descriptor for a buffer: %s%s", strerror(err),
				  err == EMFILE ? " (see ulimit -n)" : "");
	}
	if (!ftruncate(fd, (off_t)size) && !fstat(fd, &st))
		at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED) {
		err = errno;
		close(fd);
		return pfm_refuse(-err, "no memory for a buffer of %zu bytes: %s", size, strerror(err));
	}
	/*
	 * a mapping that the program makes stays read-only, even after mprotect(2) (3.5.4); Linux
	 * before 5.1 cannot ensure that
	 */
	fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK | F_SEAL_GROW);
	/*
	 * a child of fork() cannot use the context, and would keep the buffer's memory when it is
	 * no longer counted (4.4.3)
	 */
	madvise(at, size, MADV_DONTFORK);
	d->memfd = fd;
	d->memfd_dev = st.st_dev;
	d->memfd_ino = st.st_ino;
	*buf = at;
	return 0;
}

void pfm_user_free_buffer(struct pfm_context *ctx, void *buf, size_t size)
{
	struct pfm_desc *d = pfm_desc_of(ctx);

	munmap(buf, size);
	close(d->memfd);
	d->memfd = -1;
}
