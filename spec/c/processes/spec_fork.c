// SPDX-License-Identifier: MIT
/*
 * spec_fork.c - descriptors of contexts in several processes (3.1.1, 3.1.15), of threads of the
 * simulated computer.
 *
 *   spec_fork inherit|exec|detached|attached|self|duplicate|errors
 *   spec_fork - FD: what exec runs; reads a message from the descriptor it inherited
 */
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perfmon/perfmon.h"
#include "perfmon/sim.h"
#include "../parts.h"

static struct pfm_sim *sim;

static int new_context(void)
{
	pfarg_ctx_t ctx = { 0 };
	pfarg_pmc_t pmc = { .reg_num = 4 };
	pfarg_pmd_t pmd = { .reg_num = 4 };
	int fd = pfm_create_context(&ctx, "default", NULL, 0);

	/* the default format needs an argument */
	CHECK(fd < 0 && errno == EINVAL);
	fd = pfm_create_context(&ctx, NULL, NULL, 0);
	CHECK(fd >= 0 && fd == ctx.ctx_fd);
	CHECK(!pfm_sim_encode(sim, "instructions", 7, 4, &pmc.reg_value));
	CHECK(!pfm_write_pmcs(fd, &pmc, 1));
	CHECK(!pfm_write_pmds(fd, &pmd, 1));
	return fd;
}

static int new_thread(void)
{
	struct pfm_sim_step steps[] = {
		{ .op = PFM_SIM_LOOP, .count = 1000 }, { .op = PFM_SIM_SITE, .ns = 10, .ip = 0x1000 },
		{ .op = PFM_SIM_END },
	};
	struct pfm_sim_spawn spawn = { .program = { steps, 3 } };

	return pfm_sim_spawn(sim, &spawn);
}

static void load_and_start(int fd)
{
	pfarg_load_t load = { .load_pid = (uint32_t)new_thread() };

	CHECK(!pfm_load_context(fd, &load));
	CHECK(!pfm_start(fd, NULL));
}

static uint64_t counted(int fd)
{
	pfarg_pmd_t pmd = { .reg_num = 4 };

	CHECK(!pfm_read_pmds(fd, &pmd, 1));
	return pmd.reg_value;
}

static uint64_t sessions(void)
{
	pfarg_config_t cfg;

	pfm_sim_run_ns(sim, 0);	/* destroys closed contexts */
	CHECK(!pfm_get_config(&cfg));
	return cfg.cf_thread_sessions;
}

/* A child that calls work() for each byte of a pipe, and exits when the pipe is closed. */
struct child {
	pid_t	pid;
	int	to, from;
};

static struct child fork_child(int fd, void (*work)(int fd))
{
	int down[2], up[2];
	struct child c;
	char go;

	if (pipe(down) || pipe(up))
		exit(2);
	c.pid = fork();
	if (c.pid) {
		close(down[0]);
		close(up[1]);
		c.to = down[1];
		c.from = up[0];
		return c;
	}
	close(down[1]);
	close(up[0]);
	while (read(down[0], &go, 1) == 1) {
		work(fd);
		if (write(up[1], "", 1) != 1)
			_exit(1);
	}
	_exit(failures != 0);
}

static void tell(struct child c)
{
	char done;

	CHECK(write(c.to, "", 1) == 1);
	CHECK(read(c.from, &done, 1) == 1);
}

static void finish(struct child c)
{
	int status = -1;

	close(c.to);
	CHECK(waitpid(c.pid, &status, 0) == c.pid && status == 0);
	close(c.from);
}

/* The child can close its copy, wait on it, read messages from it. */
static void use_in_child(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	pfarg_msg_t msg;

	CHECK(poll(&p, 1, 10000) == 1);
	CHECK(read(fd, &msg, sizeof(msg)) == sizeof(msg) && msg.type == PFM_MSG_OVFL);
	/* in user space, only the process of the machine can give commands */
	CHECK(pfm_start(fd, NULL) == -1 && errno == EBADF);
}

static void inherit(void)
{
	int fd = new_context();
	struct child c = fork_child(fd, use_in_child);
	pfarg_pmd_t pmd = { .reg_num = 4, .reg_value = -10ULL, .reg_flags = PFM_REGFL_OVFL_NOTIFY };

	CHECK(!pfm_write_pmds(fd, &pmd, 1));
	load_and_start(fd);
	CHECK(pfm_sim_run_until_message(sim, fd, 100000) == 1);
	tell(c);	/* the child reads the message: both descriptors are of the same context */
	CHECK(!pfm_restart(fd));
	finish(c);
	close(fd);
}

static int after_exec(int fd)
{
	pfarg_msg_t msg;

	return recv(fd, &msg, sizeof(msg), MSG_DONTWAIT) == sizeof(msg) && msg.type == PFM_MSG_OVFL ? 0 : 1;
}

static int run_after_exec(int fd)
{
	char text[16];
	int status = -1;
	pid_t pid = fork();

	snprintf(text, sizeof(text), "%d", fd);
	if (!pid) {
		execl("/proc/self/exe", "spec_fork", "-", text, NULL);
		_exit(2);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* After exec(2) the descriptor is valid "unless [it] was explicitly setup to be closed on exec". */
static void exec(void)
{
	int fd = new_context();
	pfarg_pmd_t pmd = { .reg_num = 4, .reg_value = -10ULL, .reg_flags = PFM_REGFL_OVFL_NOTIFY };

	CHECK(!pfm_write_pmds(fd, &pmd, 1));
	load_and_start(fd);
	CHECK(pfm_sim_run_until_message(sim, fd, 100000) == 1);
	CHECK(!fcntl(fd, F_SETFD, FD_CLOEXEC));
	CHECK(run_after_exec(fd) == 1);
	CHECK(!fcntl(fd, F_SETFD, 0));
	CHECK(run_after_exec(fd) == 0);
	CHECK(run_after_exec(fd) == 1);	/* no message is left */
	CHECK(!pfm_restart(fd));
	close(fd);
}

static void close_in_child(int fd)
{
	CHECK(!close(fd));
}

/* Figure 3.9: the first close, in whichever process, does not destroy the context. */
static void detached(void)
{
	int fd = new_context();
	struct child c = fork_child(fd, close_in_child);

	CHECK(counted(fd) == 0);
	tell(c);
	CHECK(counted(fd) == 0);
	load_and_start(fd);
	pfm_sim_run_ns(sim, 100);
	CHECK(counted(fd) == 10);
	finish(c);
	CHECK(counted(fd) == 10);
	close(fd);
	CHECK(sessions() == 0);
}

static int by_range(int fd)
{
	return close_range((unsigned int)fd, (unsigned int)fd, 0);
}

static int by_dup(int fd)
{
	int null = open("/dev/null", O_RDONLY);

	return dup2(null, fd) != fd || close(null) || syscall(SYS_close, fd);
}

/* Runs in the child: checks that the context lives, and closes its descriptor. */
static void close_what_lives(int fd)
{
	struct pollfd p = { .fd = fd };

	CHECK(poll(&p, 1, 0) == 0 && !close(fd));
}

/*
 * Figure 3.10: if the monitored thread closes, "the context is unloaded"; for other holders "the
 * context remains".
 */
static void self(void)
{
	int (*const ways[])(int) = { close, by_range, by_dup };

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		int fd = new_context(), tid = new_thread(), copy;
		pfarg_load_t load = { .load_pid = (uint32_t)tid };
		struct child c;

		CHECK(!pfm_sim_act(sim, (uint32_t)tid));
		CHECK(!pfm_load_context(fd, &load) && !pfm_start(fd, NULL));
		c = fork_child(fd, close_what_lives);
		copy = dup(fd);
		CHECK(!ways[i](fd) && sessions() == 1);		/* the copy keeps the context */
		CHECK(!ways[i](copy) && sessions() == 0);
		tell(c);
		finish(c);
		CHECK(!pfm_sim_act(sim, 0));
	}
}

/*
 * Figure 3.11: attached to another thread, a context lasts as long as a process has its descriptor.
 */
static void attached(void)
{
	int fd = new_context();
	struct child c;

	load_and_start(fd);
	c = fork_child(fd, close_in_child);
	CHECK(!close(fd));
	CHECK(pfm_start(fd, NULL) == -1 && errno == EBADF);	/* this process has lost access */
	CHECK(sessions() == 1);
	tell(c);
	CHECK(sessions() == 0);
	finish(c);
}

static void duplicate(void)
{
	int fd = new_context(), copy = dup(fd);

	load_and_start(fd);
	pfm_sim_run_ns(sim, 100);
	CHECK(!close(fd));
	CHECK(sessions() == 1);
	CHECK(counted(copy) == 10);
	CHECK(!close(copy));
	CHECK(sessions() == 0);
}

static void errors(void)
{
	int fd = new_context();
	pfarg_pmd_t pmd = { .reg_num = 4 };

	CHECK(!close(fd));
	CHECK(close(fd) == -1 && errno == EBADF);
	CHECK(pfm_read_pmds(fd, &pmd, 1) == -1 && errno == EBADF);
	CHECK(pfm_stop(fd) == -1 && errno == EBADF);
	fd = open("/dev/null", O_RDONLY);
	CHECK(pfm_stop(fd) == -1 && errno == EBADF);
	close(fd);
}

static const struct part parts[] = {
	{ "inherit", inherit }, { "exec", exec }, { "detached", detached }, { "attached", attached },
	{ "self", self }, { "duplicate", duplicate }, { "errors", errors }, { NULL, NULL }
};

int main(int argc, char **argv)
{
	int status;

	if (argc == 3 && !strcmp(argv[1], "-"))
		return after_exec(atoi(argv[2]));
	CHECK(!pfm_set_machine("sim:itanium2", NULL));
	sim = pfm_sim_get();
	status = run_part(parts, argc, argv);
	pfm_sim_put(sim);
	return status;
}
