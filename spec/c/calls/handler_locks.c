// SPDX-License-Identifier: MIT
/*
 * handler_locks.c - 5.7: "It is possible to create, program, control and destroy a context from a
 * signal handler", whatever of libc it has interrupted:
 *
 *   handler_locks CASE ["child"]
 *
 * The program counts calls of malloc(), fopen() and the like in the handler, which would wait for
 * locks that the interrupted code holds. With "child" a child of fork() does all this.
 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perfmon/perfmon.h"
#include "perfmon/perfmon_dfl_smpl.h"

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t size);
extern void __libc_free(void *p);

static __thread volatile int in_handler;
static volatile int taken;
static const char *volatile by;

static void note(const char *what)
{
	if (!in_handler)
		return;
	taken++;
	by = what;
}

void *malloc(size_t size) { note("malloc"); return __libc_malloc(size); }
void *calloc(size_t n, size_t size) { note("calloc"); return __libc_calloc(n, size); }
void *realloc(void *p, size_t size) { note("realloc"); return __libc_realloc(p, size); }
void free(void *p) { if (p) note("free"); __libc_free(p); }
FILE *fopen(const char *path, const char *mode) { note("fopen"); (void)path, (void)mode; return NULL; }
DIR *opendir(const char *name) { note("opendir"); (void)name; return NULL; }

#define FAULTS 66
#define TRUE(cond) do { \
	if (!(cond)) { \
		printf("line %d: %s (%s)\n", __LINE__, #cond, pfm_explain()); \
		_exit(1); \
	} \
} while (0)

static int create(uint32_t flags, bool sampling)
{
	pfm_dfl_smpl_arg_t arg = { .buf_size = 4096 };
	pfarg_ctx_t ctx = { .ctx_flags = flags };
	pfarg_setdesc_t sets[2] = { { .set_id = 3 }, { .set_id = 300 } };
	pfarg_pmc_t pmc = { .reg_num = FAULTS, .reg_value = 9 };
	pfarg_pmd_t pmd = { .reg_num = FAULTS, .reg_value = sampling ? -10 : 0, .reg_long_reset = -10,
			    .reg_short_reset = -10 };
	int fd = sampling ? pfm_create_context(&ctx, "default", &arg, sizeof(arg)) :
			    pfm_create_context(&ctx, NULL, NULL, 0);

	TRUE(fd >= 0);
	TRUE(!pfm_create_evtsets(fd, sets, 2) && !pfm_delete_evtsets(fd, sets, 1));
	TRUE(!pfm_write_pmcs(fd, &pmc, 1) && !pfm_write_pmds(fd, &pmd, 1));
	return fd;
}

static void use(int fd, uint32_t tid)
{
	pfarg_load_t load = { .load_pid = tid };
	pfarg_pmd_t pmd = { .reg_num = FAULTS };
	pfarg_setinfo_t info = { .set_id = 300 };

	TRUE(!pfm_load_context(fd, &load) && !pfm_start(fd, NULL));
	for (int i = 0; i < 3; i++)
		TRUE(!pfm_read_pmds(fd, &pmd, 1) && !pfm_getinfo_evtsets(fd, &info, 1));
	TRUE(!pfm_stop(fd) && !pfm_unload_context(fd));
}

static pid_t other;
static int ready;

static void whole(void)
{
	int fd = create(0, false);

	use(fd, (uint32_t)getpid());
	use(fd, (uint32_t)other);
	close(fd);
}

static void sampling(void)
{
	int fd = create(0, true);

	use(fd, (uint32_t)getpid());
	use(fd, (uint32_t)other);
	close(fd);
}

static void process(void)
{
	int fd = create(PFM_FL_INHERIT | PFM_FL_PROCESS, true);

	use(fd, (uint32_t)other);
	close(fd);
}

static void control(void)
{
	use(ready, (uint32_t)getpid());
	use(ready, (uint32_t)other);
}

static void refused(void)
{
	pfarg_load_t load = { .load_pid = 0x7ffffff0 };
	pfarg_pmc_t pmc = { .reg_num = 9999 };

	TRUE(pfm_load_context(ready, &load) && pfm_write_pmcs(ready, &pmc, 1));
}

static void (*work)(void);

static void handler(int sig)
{
	int err = errno;

	(void)sig;
	in_handler = 1;
	work();
	in_handler = 0;
	errno = err;
}

static int interrupt(void)
{
	signal(SIGUSR1, handler);
	TRUE(!raise(SIGUSR1));
	if (taken)
		printf("%d times memory or a stream was taken, last by %s()\n", taken, by);
	return taken != 0;
}

/* Runs interrupt() in a child of this process. */
static int interrupt_child(void)
{
	int status = 1;
	pid_t pid = fork();

	if (!pid)
		_exit(interrupt());
	waitpid(pid, &status, 0);
	return !WIFEXITED(status) || WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	static const struct {
		const char	*name;
		void		(*work)(void);
		bool		ready;
	} cases[] = {
		{ "whole", whole, false }, { "sampling", sampling, false }, { "process", process, false },
		{ "control", control, true }, { "refused", refused, true },
	};
	int ret;

	setvbuf(stdout, NULL, _IONBF, 0);
	other = fork();
	if (!other) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(argv[1], cases[i].name) != 0)
			continue;
		work = cases[i].work;
		if (cases[i].ready)
			ready = create(0, false);
	}
	TRUE(work);
	ret = argc > 2 ? interrupt_child() : interrupt();
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	return ret;
}
