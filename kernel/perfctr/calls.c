// SPDX-License-Identifier: MIT
/* calls.c - the functions that programs call. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "object.h"

static pid_t self(void)
{
	return (pid_t)syscall(SYS_gettid);
}

/* --- opening, unlinking ---------------------------------------------------------------------- */

static int find_or_make(pid_t tid, bool creat, struct vperfctr **v)
{
	*v = perfctr_of_thread(tid);
	if (*v && perfctr_thread_ended(*v)) {
		perfctr_detach(*v);
		*v = NULL;
	}
	if (*v && creat)
		return perfctr_refuse(-EEXIST, "thread %d has virtual counters already", tid);
	if (!*v && !creat)
		return perfctr_refuse(-ENOENT, "thread %d has no virtual counters of this process", tid);
	return creat ? perfctr_attach(tid, v) : 0;
}

static int do_open(pid_t tid, bool creat)
{
	struct vperfctr *v;
	int ret = find_or_make(tid, creat, &v), fd;

	if (ret)
		return ret;
	fd = dup(v->file);
	if (fd >= 0)
		return fd;
	ret = perfctr_refuse(-errno, "no descriptor: %s", strerror(errno));
	if (creat)
		perfctr_detach(v);
	return ret;
}

int sys_vperfctr_open(int tid, int creat)
{
	perfctr_enter();
	if (tid < 0)
		return perfctr_leave(perfctr_refuse(-ESRCH, "there is no thread %d", tid));
	return perfctr_leave(do_open(tid ? tid : self(), creat));
}

static int do_unlink(int fd)
{
	struct vperfctr *v = perfctr_of_file(fd);
	struct vperfctr_state state;

	if (!v)
		return perfctr_state_read(fd, &state);
	perfctr_detach(v);
	return 0;
}

int sys_vperfctr_unlink(int fd)
{
	perfctr_enter();
	return perfctr_leave(do_unlink(fd));
}

/* --- commands to attached objects ------------------------------------------------------------ */

static int find_attached(int fd, struct vperfctr **v)
{
	struct vperfctr_state state;
	int ret;

	*v = perfctr_of_file(fd);
	if (*v && perfctr_thread_ended(*v))
		perfctr_detach(*v);
	else if (*v)
		return 0;
	ret = perfctr_state_read(fd, &state);
	return ret ? ret : perfctr_refuse(-ESRCH, "the counters of thread %d are detached from it", state.tid);
}

/*
 * If the control is invalid, nothing changes, because its context is made while the old context
 * still counts.
 */
static int do_control(int fd, const struct vperfctr_control *control)
{
	struct vperfctr *v;
	int ret = find_attached(fd, &v), ctx;

	if (!ret)
		ret = perfctr_check(v, control);
	if (ret)
		return ret;
	if (!perfctr_counts(control)) {
		perfctr_disable(v, control);
		return 0;
	}
	ctx = perfctr_program(control);
	if (ctx < 0)
		return ctx;
	perfctr_stop(v);
	return perfctr_start(v, ctx, control);
}

int sys_vperfctr_control(int fd, const struct vperfctr_control *control)
{
	struct vperfctr_control copy;

	perfctr_enter();
	if (!control)
		return perfctr_leave(perfctr_refuse(-EFAULT, "control is NULL"));
	copy = *control;
	return perfctr_leave(do_control(fd, &copy));
}

static int do_iresume(int fd)
{
	struct vperfctr *v;
	int ret = find_attached(fd, &v);

	if (ret)
		return ret;
	if (v->ctx < 0 || !v->state->control.cpu_control.nrictrs)
		return perfctr_refuse(-EPERM, "no counter interrupts");
	return perfctr_resume(v);
}

int sys_vperfctr_iresume(int fd)
{
	perfctr_enter();
	return perfctr_leave(do_iresume(fd));
}

/* --- reading --------------------------------------------------------------------------------- */

static void copy_sums(struct perfctr_sum_ctrs *sum, const struct vperfctr_state *state)
{
	sum->tsc = state->cpu_state.tsc_sum;
	for (unsigned int i = 0; i < PERFCTR_MAX; i++)
		sum->pmc[i] = state->cpu_state.pmc[i].sum;
}

static int get_state(int fd, struct vperfctr_state *state)
{
	struct vperfctr *v = perfctr_of_file(fd);
	int ret;

	if (!v)
		return perfctr_state_read(fd, state);
	ret = perfctr_sample(v);
	if (!ret)
		*state = *v->state;
	return ret;
}

int sys_vperfctr_read(int fd, struct perfctr_sum_ctrs *sum, struct vperfctr_control *control,
		      struct perfctr_sum_ctrs *children)
{
	struct vperfctr_state state;
	int ret;

	perfctr_enter();
	ret = get_state(fd, &state);
	if (!ret && sum)
		copy_sums(sum, &state);
	if (!ret && control)
		*control = state.control;
	if (!ret && children)
		*children = state.children;
	return perfctr_leave(ret);
}

static uint64_t read_self(uint64_t (*fn)(struct vperfctr *v, uint64_t num), uint64_t num)
{
	struct vperfctr *v;
	uint64_t value;

	perfctr_enter();
	v = perfctr_of_thread(self());
	value = v ? fn(v, num) : 0;
	perfctr_leave(0);
	return value;
}

uint64_t perfctr_rdpmc(uint64_t map)
{
	return read_self(perfctr_now, map);
}

static uint64_t tsc_now(struct vperfctr *v, uint64_t unused)
{
	(void)unused;
	return perfctr_tsc_now(v);
}

uint64_t perfctr_rdtsc(void)
{
	return read_self(tsc_now, 0);
}

/* --- the machine ----------------------------------------------------------------------------- */

int perfctr_info(struct perfctr_info *info)
{
	pfarg_config_t config;

	if (!info) {
		errno = -perfctr_refuse(-EFAULT, "info is NULL");
		return -1;
	}
	memset(info, 0, sizeof(*info));
	if (pfm_get_config(&config)) {
		errno = -perfctr_failed();
		return -1;
	}
	for (uint16_t num = 0; num < PFM_MAX_PMDS; num++) {
		pfarg_pmdinfo_t pmd = { .reg_num = num };

		if (config.cf_impl_pmds[num / 64] >> num % 64 & 1 && !pfm_getinfo_pmds(&pmd, 1))
			info->nrctrs += pmd.reg_kind & PFM_REG_C64 && pmd.reg_ctrl != PFM_REG_NO_CTRL;
	}
	snprintf(info->cpu_name, sizeof(info->cpu_name), "%.63s", config.cf_pmu);
	return 0;
}
