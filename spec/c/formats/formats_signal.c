// SPDX-License-Identifier: MIT
/*
 * formats_signal.c - perfmonctl() from signal handlers (5.7), and the debug registers' ignored
 * fields (5.6.3), on the simulated computer:
 *
 *   formats_signal CASE
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "perfmon/perfmonctl.h"
#include "perfmon/sim.h"

static struct pfm_sim *sim;
static volatile sig_atomic_t failures, handled;
static volatile int failed_line;

#define TRUE(cond) do { \
	if (!(cond)) { \
		failures++; \
		failed_line = __LINE__; \
	} \
} while (0)

static pid_t thread(void)
{
	struct pfm_sim_step steps[] = {
		{ .op = PFM_SIM_LOOP, .count = 100 },
		{ .op = PFM_SIM_SITE, .ns = 10, .ip = 0x1000 },
		{ .op = PFM_SIM_END },
	};
	struct pfm_sim_spawn spawn = { .program = { steps, sizeof(steps) / sizeof(steps[0]) } };

	return pfm_sim_spawn(sim, &spawn);
}

static int create(void)
{
	pfarg_ctx_t ctx = { 0 };

	TRUE(!perfmonctl(0, PFM_CREATE_CONTEXT, &ctx, 1));
	return ctx.ctx_fd;
}

/* Runs a session with a thread of 100 instructions; returns its count. */
static uint64_t session(void)
{
	pfarg_load_t load = { .load_pid = thread() };
	pfarg_pmc_t pmc = { .reg_num = 4 };
	pfarg_pmd_t pmd = { .reg_num = 4 };
	int fd = create();

	TRUE(!pfm_sim_encode(sim, "instructions", 1 << PFM_SIM_USER, 4, &pmc.reg_value));
	TRUE(!perfmonctl(fd, PFM_WRITE_PMCS, &pmc, 1));
	TRUE(!perfmonctl(fd, PFM_WRITE_PMDS, &pmd, 1));
	TRUE(!perfmonctl(fd, PFM_LOAD_CONTEXT, &load, 1));
	TRUE(!perfmonctl(fd, PFM_START, NULL, 0));
	TRUE(pfm_sim_run_ns(sim, 500) == 1);
	TRUE(!perfmonctl(fd, PFM_STOP, NULL, 0));
	TRUE(!perfmonctl(fd, PFM_READ_PMDS, &pmd, 1));
	TRUE(!perfmonctl(fd, PFM_UNLOAD_CONTEXT, NULL, 0));
	TRUE(!close(fd));
	pfm_sim_kill(sim, (uint32_t)load.load_pid);
	return pmd.reg_value;
}

static void on_session(int sig)
{
	(void)sig;
	TRUE(session() == 50);
	handled++;
}

static void handler(void)
{
	signal(SIGUSR1, on_session);
	for (int i = 0; i < 100; i++)
		raise(SIGUSR1);
	TRUE(handled == 100);
}

static int stormy_fd;

/* Gives commands to the context that a command is being given to when the signal comes. */
static void on_alarm(int sig)
{
	int saved = errno, fd;
	pfarg_pmd_t pmd = { .reg_num = 4 };

	(void)sig;
	TRUE(!perfmonctl(stormy_fd, PFM_READ_PMDS, &pmd, 1));
	TRUE(pmd.reg_value <= 1);
	fd = create();
	TRUE(!close(fd));
	handled++;
	errno = saved;
}

static void storm(void)
{
	struct itimerval every = { { 0, 200 }, { 0, 200 } }, never = { { 0, 0 }, { 0, 0 } };
	pfarg_pmd_t pmd = { .reg_num = 4 };

	stormy_fd = create();
	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &every, NULL);
	while (handled < 500) {
		pmd.reg_value = !pmd.reg_value;
		TRUE(!perfmonctl(stormy_fd, PFM_WRITE_PMDS, &pmd, 1));
		TRUE(!close(create()));
	}
	setitimer(ITIMER_REAL, &never, NULL);
	TRUE(!close(stormy_fd));
}

static void debug_registers(void)
{
	pfarg_pmc_t pmcs[] = { { .reg_num = 256, .reg_value = 0x4000 }, { .reg_num = 257, .reg_value = 0xfff },
			       { .reg_num = 271, .reg_value = 0xfff } };
	int fd = create();

	for (int i = 0; i < 3; i++) {
		memset(pmcs[i].reg_smpl_pmds, 0xff, sizeof(pmcs[i].reg_smpl_pmds));
		memset(pmcs[i].reg_reset_pmds, 0xff, sizeof(pmcs[i].reg_reset_pmds));
		pmcs[i].reg_smpl_eventid = ~0ULL;
	}
	TRUE(!perfmonctl(fd, PFM_WRITE_PMCS, pmcs, 3));
	TRUE(!PFM_REG_HAS_ERROR(pmcs[0].reg_flags | pmcs[1].reg_flags | pmcs[2].reg_flags));
	pmcs[1].reg_value = 1ULL << 63;
	pmcs[2].reg_flags = PFM_REGFL_OVFL_NOTIFY;
	TRUE(perfmonctl(fd, PFM_WRITE_PMCS, &pmcs[1], 1) == -1 && errno == EINVAL);
	TRUE(pmcs[1].reg_flags & PFM_REG_RETFL_EINVAL);
	TRUE(perfmonctl(fd, PFM_WRITE_PMCS, &pmcs[2], 1) == -1 && errno == EINVAL);
	TRUE(!close(fd));
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";

	TRUE(!pfm_set_machine("sim:itanium2", NULL));
	sim = pfm_sim_get();
	if (!strcmp(name, "handler"))
		handler();
	else if (!strcmp(name, "storm"))
		storm();
	else if (!strcmp(name, "debug_registers"))
		debug_registers();
	else
		return 2;
	if (failures)
		printf("%d failed, the last at line %d: %s\n", (int)failures, failed_line, pfm_explain());
	pfm_sim_put(sim);
	return failures != 0;
}
