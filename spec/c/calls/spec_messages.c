// SPDX-License-Identifier: MIT
/*
 * spec_messages.c - a context's descriptor as a descriptor (3.3.3, 3.3.7, 3.3.8): read(2), poll(2),
 * select(2), lseek(2), fcntl(2), signals. On the simulated computer.
 *
 *   spec_messages read|size|copies|rest|nonblocking|blocking|wait|sigio|setsig|no_msg|moved
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perfmon/perfmon.h"
#include "perfmon/sim.h"
#include "../parts.h"

static struct pfm_sim *sim;

/* Starts a context that overflows every 100 ns of its thread. */
static int new_context(uint32_t flags)
{
	struct pfm_sim_step steps[] = {
		{ .op = PFM_SIM_LOOP, .count = PFM_SIM_FOREVER },
		{ .op = PFM_SIM_SITE, .ns = 10, .ip = 0x1000 }, { .op = PFM_SIM_END },
	};
	struct pfm_sim_spawn spawn = { .program = { steps, 3 } };
	pfarg_ctx_t ctx = { .ctx_flags = flags };
	pfarg_pmc_t pmc = { .reg_num = 4 };
	pfarg_pmd_t pmd = { .reg_num = 4, .reg_value = -10ULL, .reg_long_reset = -10ULL,
			    .reg_flags = PFM_REGFL_OVFL_NOTIFY };
	pfarg_load_t load = { .load_pid = (uint32_t)pfm_sim_spawn(sim, &spawn) };
	int fd = pfm_create_context(&ctx, NULL, NULL, 0);

	CHECK(fd >= 0);
	CHECK(!pfm_sim_encode(sim, "instructions", 7, 4, &pmc.reg_value));
	CHECK(!pfm_write_pmcs(fd, &pmc, 1));
	CHECK(!pfm_write_pmds(fd, &pmd, 1));
	CHECK(!pfm_load_context(fd, &load));
	CHECK(!pfm_start(fd, NULL));
	return fd;
}

static void reading(void)
{
	int fd = new_context(0);
	pfarg_msg_t msgs[3];

	CHECK(lseek(fd, 0, SEEK_CUR) == -1 && errno == ESPIPE);
	for (int round = 0; round < 3; round++) {
		memset(msgs, 0xff, sizeof(msgs));
		CHECK(pfm_sim_run_until_message(sim, fd, 1000) == 1);
		/* a multiple of the size: "at least one full message is returned when available" */
		CHECK(read(fd, msgs, (size_t)(round + 1) * sizeof(msgs[0])) == sizeof(msgs[0]));
		CHECK(msgs[0].type == PFM_MSG_OVFL);
		CHECK(msgs[1].type == 0xffffffff);
		/* "Once a message is read from the queue, it is removed" */
		CHECK(recv(fd, msgs, sizeof(msgs), MSG_DONTWAIT) == -1 && errno == EAGAIN);
		CHECK(!pfm_restart(fd));
	}
	/* write() is refused as in the kernel, where the file has no such operation */
	for (size_t n = 0; n < sizeof(msgs); n++)
		CHECK(write(fd, msgs, n) == -1 && errno == EINVAL);
	close(fd);
}

/* "if size is not a multiple of the message size : the read fails and return EINVAL" */
static void size(void)
{
	enum { SIZE = sizeof(pfarg_msg_t) };
	static const size_t wrong[] = { 0, 1, 4, SIZE - 1, SIZE + 1, 3 * SIZE / 2 };
	int fd = new_context(0), copy = dup2(fd, 100), zero = open("/dev/zero", O_RDONLY), bytes = 0;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	pfarg_msg_t msgs[3];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		CHECK(read(fd, msgs, wrong[i]) == -1 && errno == EINVAL);	/* does not wait */
	CHECK(pfm_sim_run_until_message(sim, fd, 1000) == 1);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		CHECK(read(fd, msgs, wrong[i]) == -1 && errno == EINVAL);
		CHECK(read(copy, msgs, wrong[i]) == -1 && errno == EINVAL);
	}
	CHECK(poll(&p, 1, 0) == 1 && p.revents == POLLIN);
	CHECK(!ioctl(fd, FIONREAD, &bytes) && bytes == sizeof(msgs[0]));
	CHECK(read(fd, msgs, sizeof(msgs[0])) == sizeof(msgs[0]) && msgs[0].type == PFM_MSG_OVFL);
	close(copy);
	close(fd);
	/* another file that gets the number can be read in any size */
	CHECK(dup2(zero, fd) == fd && read(fd, msgs, 10) == 10);
	close(fd);
	close(zero);
}

/* Returns the descriptor as another process gets it, by SCM_RIGHTS. */
static int passed_on(int fd)
{
	char room[CMSG_SPACE(sizeof(fd))] = { 0 }, byte = 0;
	struct iovec part = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	int ends[2];

	*c = (struct cmsghdr){ .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(fd)) };
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	CHECK(sendmsg(ends[0], &msg, 0) == 1 && recvmsg(ends[1], &msg, 0) == 1);
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	close(ends[0]);
	close(ends[1]);
	return fd;
}

static void refuses(int fd)
{
	pfarg_msg_t msg;
	struct iovec parts[] = { { &msg, 4 }, { (char *)&msg + 4, 6 } };

	CHECK(read(fd, &msg, 10) == -1 && errno == EINVAL);
	CHECK(readv(fd, parts, 2) == -1 && errno == EINVAL);
	CHECK(write(fd, &msg, sizeof(msg)) == -1 && errno == EINVAL);
	CHECK(writev(fd, parts, 2) == -1 && errno == EINVAL);
}

/* "the read fails and return EINVAL" on each duplicate, in a child, too; the message remains. */
static void copies(void)
{
	struct rlimit most;
	int fd = new_context(0), zero = open("/dev/zero", O_RDONLY), status;
	int all[] = { fd, dup(fd), dup(dup(fd)), fcntl(fd, F_DUPFD, 50), fcntl64(fd, F_DUPFD_CLOEXEC, 50),
		      dup2(fd, 100), dup3(fd, 101, O_CLOEXEC), passed_on(fd), -1 };
	size_t n = sizeof(all) / sizeof(all[0]);
	pfarg_msg_t msg;
	struct iovec parts[] = { { &msg, 10 }, { (char *)&msg + 10, sizeof(msg) - 10 } };
	pid_t pid;

	CHECK(!fcntl(fd, F_SETFL, O_NONBLOCK));
	CHECK(!getrlimit(RLIMIT_NOFILE, &most));
	most.rlim_cur = most.rlim_max;
	if (most.rlim_max > 5000 && !setrlimit(RLIMIT_NOFILE, &most))
		all[n - 1] = fcntl(fd, F_DUPFD, 5000);	/* a number that few programs reach */
	else
		n--;
	CHECK(pfm_sim_run_until_message(sim, fd, 1000) == 1);
	for (size_t i = 0; i < n; i++)
		refuses(all[i]);
	pid = fork();
	if (!pid) {
		for (size_t i = 0; i < n; i++)
			refuses(all[i]);
		_exit(failures);
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status);
	CHECK(readv(fd, parts, 2) == sizeof(msg) && msg.type == PFM_MSG_OVFL);
	CHECK(recv(fd, &msg, sizeof(msg), MSG_DONTWAIT) == -1 && errno == EAGAIN);
	for (size_t i = 0; i < n; i++) {
		CHECK(dup2(zero, all[i]) == all[i] && readv(all[i], parts, 1) == 10);
		close(all[i]);
	}
	close(zero);
}

/* After a short read that bypasses the library, the next read returns the rest of the message. */
static void rest(void)
{
	const size_t some = 10;
	int fd = new_context(0);
	pfarg_msg_t msg;

	memset(&msg, 0, sizeof(msg));
	CHECK(pfm_sim_run_until_message(sim, fd, 1000) == 1);
	CHECK(syscall(SYS_read, fd, &msg, some) == (long)some);
	CHECK(syscall(SYS_read, fd, (char *)&msg + some, sizeof(msg) - some) == (long)(sizeof(msg) - some));
	CHECK(msg.type == PFM_MSG_OVFL && msg.pfm_ovfl_msg.msg_ovfl_ip == 0x1000);
	CHECK(!pfm_restart(fd));
	CHECK(pfm_sim_run_until_message(sim, fd, 1000) == 1);
	CHECK(read(fd, &msg, sizeof(msg)) == sizeof(msg) && msg.type == PFM_MSG_OVFL);
	close(fd);
}

static void nonblocking(void)
{
	int fd = new_context(0);
	pfarg_msg_t msg;

	CHECK(!fcntl(fd, F_SETFL, O_NONBLOCK));
	CHECK(read(fd, &msg, sizeof(msg)) == -1 && errno == EAGAIN);
	CHECK(pfm_sim_run_until_message(sim, fd, 1000) == 1);
	CHECK(read(fd, &msg, sizeof(msg)) == sizeof(msg) && msg.type == PFM_MSG_OVFL);
	CHECK(read(fd, &msg, sizeof(msg)) == -1 && errno == EAGAIN);
	close(fd);
}

static void *run_sim(void *arg)
{
	return pfm_sim_run_until_message(sim, *(int *)arg, 1000) == 1 ? arg : NULL;
}

static void blocking(void)
{
	int fd = new_context(0);
	pthread_t thread;
	pfarg_msg_t msg;
	void *ret;

	CHECK(recv(fd, &msg, sizeof(msg), MSG_DONTWAIT) == -1 && errno == EAGAIN);
	CHECK(!pthread_create(&thread, NULL, run_sim, &fd));
	CHECK(read(fd, &msg, sizeof(msg)) == sizeof(msg) && msg.type == PFM_MSG_OVFL);
	CHECK(!pthread_join(thread, &ret));
	close(fd);
}

/* poll() and select() with several contexts: those without a message are not ready. */
static void waiting(void)
{
	int a = new_context(0), b = new_context(0);
	struct pollfd p[2] = { { .fd = a, .events = POLLIN }, { .fd = b, .events = POLLIN } };
	struct timeval now = { 0, 0 };
	pfarg_msg_t msg;
	fd_set set;

	CHECK(poll(p, 2, 0) == 0);
	CHECK(pfm_sim_run_until_message(sim, b, 100000000) == 1);
	CHECK(read(a, &msg, sizeof(msg)) == sizeof(msg));
	CHECK(poll(p, 2, 0) == 1 && !p[0].revents && p[1].revents == POLLIN);
	FD_ZERO(&set);
	FD_SET(a, &set);
	FD_SET(b, &set);
	CHECK(select((a > b ? a : b) + 1, &set, NULL, NULL, &now) == 1);
	CHECK(!FD_ISSET(a, &set) && FD_ISSET(b, &set));
	CHECK(read(b, &msg, sizeof(msg)) == sizeof(msg));
	CHECK(poll(p, 2, 0) == 0);
	close(a);
	close(b);
}

/* --- signals -------------------------------------------------------------------------------- */

static volatile sig_atomic_t signals, last_signal, last_fd, got_message;
static int watched;

/* "the message is always appended ... before the signal is sent": the handler reads it. */
static void on_signal(int sig, siginfo_t *info, void *unused)
{
	pfarg_msg_t msg;

	(void)unused;
	signals++;
	last_signal = sig;
	last_fd = info->si_fd;
	got_message += recv(watched, &msg, sizeof(msg), MSG_DONTWAIT) == sizeof(msg);
}

static void handle(int sig)
{
	struct sigaction act = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART };

	CHECK(!sigaction(sig, &act, NULL));
}

static void asynchronous(int fd)
{
	watched = fd;
	CHECK(!fcntl(fd, F_SETOWN, getpid()));
	CHECK(!fcntl(fd, F_SETFL, O_ASYNC));
}

static void sigio(void)
{
	int fd = new_context(0);

	handle(SIGIO);
	asynchronous(fd);
	pfm_sim_run_ns(sim, 90);
	CHECK(signals == 0);
	pfm_sim_run_ns(sim, 10);
	CHECK(signals == 1 && last_signal == SIGIO && got_message == 1);
	CHECK(!pfm_restart(fd));
	pfm_sim_run_ns(sim, 100);
	CHECK(signals == 2 && got_message == 2);
	close(fd);
}

/* F_SETSIG: another signal, of which si_fd is the descriptor. */
static void setsig(void)
{
	int fd = new_context(0);

	handle(SIGRTMIN);
	asynchronous(fd);
	CHECK(!fcntl(fd, F_SETSIG, SIGRTMIN));
	pfm_sim_run_ns(sim, 100);
	CHECK(signals == 1 && last_signal == SIGRTMIN && last_fd == fd && got_message == 1);
	close(fd);
}

/* PFM_FL_OVFL_NO_MSG: only the signal comes; "a call to the PFM_RESTART command is necessary". */
static void no_msg(void)
{
	int fd = new_context(PFM_FL_OVFL_NO_MSG);

	handle(SIGIO);
	handle(SIGRTMIN);
	asynchronous(fd);
	pfm_sim_run_ns(sim, 1000);
	CHECK(signals == 1 && last_signal == SIGIO && got_message == 0);
	CHECK(!pfm_restart(fd));
	CHECK(pfm_restart(fd) == -1 && errno == EBUSY);
	CHECK(!fcntl(fd, F_SETSIG, SIGRTMIN));
	pfm_sim_run_ns(sim, 1000);
	CHECK(signals == 2 && last_signal == SIGRTMIN && last_fd == fd && got_message == 0);
	close(fd);
}

/* "the signal is maintained", also if only a copy of the descriptor is left. */
static void moved(void)
{
	int fd = new_context(PFM_FL_OVFL_NO_MSG), copy = dup(fd);

	handle(SIGRTMIN);
	asynchronous(fd);
	CHECK(!fcntl(fd, F_SETSIG, SIGRTMIN));
	CHECK(!close(fd));
	pfm_sim_run_ns(sim, 1000);
	CHECK(signals == 1 && last_signal == SIGRTMIN && last_fd == copy);
	close(copy);
}

static const struct part parts[] = {
	{ "read", reading }, { "size", size }, { "copies", copies }, { "rest", rest },
	{ "nonblocking", nonblocking }, { "blocking", blocking },
	{ "wait", waiting }, { "sigio", sigio }, { "setsig", setsig }, { "no_msg", no_msg },
	{ "moved", moved }, { NULL, NULL }
};

int main(int argc, char **argv)
{
	int status;

	CHECK(!pfm_set_machine("sim:itanium2", NULL));
	sim = pfm_sim_get();
	status = run_part(parts, argc, argv);
	pfm_sim_put(sim);
	return status;
}
