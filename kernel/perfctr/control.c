// SPDX-License-Identifier: MIT
/* control.c - turns a control into a context with one event set, which is loaded and started. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "object.h"

#define USER_AND_KERNEL 9

unsigned int perfctr_counters(const struct perfctr_cpu_control *c)
{
	return c->nractrs + c->nrictrs;
}

bool perfctr_counts(const struct vperfctr_control *control)
{
	return control->cpu_control.tsc_on || perfctr_counters(&control->cpu_control);
}

/* --- is the control valid? ------------------------------------------------------------------- */

static bool zeros(const uint32_t *words, size_t n)
{
	while (n && !words[n - 1])
		n--;
	return !n;
}

static int check_words(const struct vperfctr_control *control)
{
	const struct perfctr_cpu_control *c = &control->cpu_control;

	if (!zeros(control->_reserved, 4) || !zeros(c->_reserved, 4))
		return perfctr_refuse(-EINVAL, "reserved fields must be 0");
	if (c->tsc_on > 1)
		return perfctr_refuse(-EINVAL, "tsc_on is 0 or 1, not %u", c->tsc_on);
	if (c->nractrs > PERFCTR_MAX || c->nrictrs > PERFCTR_MAX || perfctr_counters(c) > PERFCTR_MAX)
		return perfctr_refuse(-EINVAL, "nractrs and nrictrs are %u and %u: more than %d counters",
				      c->nractrs, c->nrictrs, PERFCTR_MAX);
	return 0;
}

static int check_map(const struct perfctr_cpu_control *c, unsigned int i)
{
	if (c->tsc_on && c->pmc_map[i] == PERFCTR_TSC)
		return perfctr_refuse(-EINVAL, "counter %u: PMD%d is the TSC, which is on", i, PERFCTR_TSC);
	for (unsigned int other = 0; other < i; other++)
		if (c->pmc_map[other] == c->pmc_map[i])
			return perfctr_refuse(-EINVAL, "counters %u and %u are both PMD%u", other, i, c->pmc_map[i]);
	return 0;
}

static int check_interrupts(const struct vperfctr *v, const struct vperfctr_control *control)
{
	const struct perfctr_cpu_control *c = &control->cpu_control;

	if (!c->nrictrs)
		return 0;
	if (control->si_signo < 1 || control->si_signo > SIGRTMAX)
		return perfctr_refuse(-EINVAL, "si_signo %d is not a signal", control->si_signo);
	if (!v->tgid)
		return perfctr_refuse(-EINVAL, "a simulated thread takes no signals: use sim:MODEL,live");
	for (unsigned int i = c->nractrs; i < perfctr_counters(c); i++)
		if (c->ireset[i] >= 0)
			return perfctr_refuse(-EINVAL, "counter %u: ireset %d is not below 0", i, c->ireset[i]);
	return 0;
}

int perfctr_check(const struct vperfctr *v, const struct vperfctr_control *control)
{
	int ret = check_words(control);

	for (unsigned int i = 0; !ret && i < perfctr_counters(&control->cpu_control); i++)
		ret = check_map(&control->cpu_control, i);
	return ret ? ret : check_interrupts(v, control);
}

/* --- the registers of the context ------------------------------------------------------------ */

struct registers {
	pfarg_pmc_t	pmcs[PERFCTR_MAX + 1];
	pfarg_pmd_t	pmds[PERFCTR_MAX + 1];
	int		n;
};

static void add(struct registers *r, uint16_t pmc, uint64_t value, uint16_t pmd)
{
	r->pmcs[r->n] = (pfarg_pmc_t){ .reg_num = pmc, .reg_value = value };
	r->pmds[r->n++] = (pfarg_pmd_t){ .reg_num = pmd, .reg_flags = PFM_REGFL_OWN };
}

static int add_counter(struct registers *r, const struct perfctr_cpu_control *c, unsigned int i)
{
	pfarg_pmdinfo_t info = { .reg_num = (uint16_t)c->pmc_map[i] };
	pfarg_pmd_t *pmd = &r->pmds[r->n];

	if (c->pmc_map[i] >= PFM_MAX_PMDS || pfm_getinfo_pmds(&info, 1) || !(info.reg_kind & PFM_REG_C64) ||
	    info.reg_ctrl == PFM_REG_NO_CTRL)
		return perfctr_refuse(-EINVAL, "counter %u: PMD%u does not count", i, c->pmc_map[i]);
	add(r, info.reg_ctrl, c->evntsel[i], info.reg_num);
	if (i < c->nractrs)
		return 0;
	pmd->reg_flags |= PFM_REGFL_OVFL_NOTIFY;
	pmd->reg_value = pmd->reg_long_reset = pmd->reg_short_reset = (uint64_t)(int64_t)c->ireset[i];
	return 0;
}

static int collect_registers(struct registers *r, const struct perfctr_cpu_control *c)
{
	int ret = 0;

	r->n = 0;
	for (unsigned int i = 0; !ret && i < perfctr_counters(c); i++)
		ret = add_counter(r, c, i);
	if (!ret && c->tsc_on)
		add(r, PERFCTR_TSC, USER_AND_KERNEL, PERFCTR_TSC);
	return ret;
}

int perfctr_program(const struct vperfctr_control *control)
{
	pfarg_ctx_t ctx = { .ctx_flags = PFM_FL_INHERIT };
	struct registers r;
	int ret = collect_registers(&r, &control->cpu_control), fd;

	if (ret)
		return ret;
	fd = pfm_create_context(&ctx, NULL, NULL, 0);
	if (fd < 0)
		return perfctr_failed();
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	if (!pfm_write_pmcs(fd, r.pmcs, r.n) && !pfm_write_pmds(fd, r.pmds, r.n))
		return fd;
	ret = perfctr_failed();
	close(fd);
	return ret;
}

/* --- starting, stopping ---------------------------------------------------------------------- */

static void begin_sums(struct vperfctr *v, const struct vperfctr_control *control)
{
	const struct perfctr_cpu_control *c = &control->cpu_control;
	struct perfctr_cpu_state *s = &v->state->cpu_state;

	perfctr_state_begin(v);
	memset(&v->state->children, 0, sizeof(v->state->children));
	for (unsigned int i = 0; i < PERFCTR_MAX; i++) {
		bool on = i < perfctr_counters(c);

		if (!(control->preserve & 1U << i))
			s->pmc[i].sum = 0;
		s->pmc[i].map = on ? c->pmc_map[i] : ~0ULL;
		s->pmc[i].start = on && i >= c->nractrs ? (uint64_t)(int64_t)c->ireset[i] : 0;
	}
	if (!c->tsc_on)
		s->tsc_sum = 0;
	v->state->control = *control;
	perfctr_state_end(v, 0);
}

/*
 * Returns true if the machine counts ended children separately from living ones. If not, a read
 * with ENDED fails with EINVAL.
 */
static bool counts_ended(const struct vperfctr *v)
{
	pfarg_pmd_t pmd = { .reg_flags = PFM_REGFL_ENDED };
	const struct perfctr_cpu_control *c = &v->state->control.cpu_control;

	pmd.reg_num = c->tsc_on ? PERFCTR_TSC : (uint16_t)c->pmc_map[0];
	return !pfm_read_pmds(v->ctx, &pmd, 1);
}

static int load(struct vperfctr *v, const struct vperfctr_control *control)
{
	pfarg_load_t load = { .load_pid = (uint32_t)v->tid };
	int ret = control->cpu_control.nrictrs ? perfctr_watch(v, v->ctx, &v->watcher) : 0;

	if (!ret && pfm_load_context(v->ctx, &load))
		ret = perfctr_failed();
	return ret;
}

static int run(struct vperfctr *v)
{
	v->counts_ended = counts_ended(v);
	v->clock_start = perfctr_thread_clock(v);
	v->clock_sum = v->state->cpu_state.tsc_sum;
	return pfm_start(v->ctx, NULL) ? perfctr_failed() : 0;
}

static void drop_context(struct vperfctr *v)
{
	perfctr_unwatch(v->watcher);
	v->watcher = NULL;
	close(v->ctx);
	v->ctx = -1;
}

int perfctr_start(struct vperfctr *v, int ctx, const struct vperfctr_control *control)
{
	int ret;

	v->ctx = ctx;
	ret = load(v, control);
	if (!ret) {
		begin_sums(v, control);
		ret = run(v);
	}
	if (ret)
		drop_context(v);
	return ret;
}

/* Stops all sums, which keep their values. */
static void hold_sums(struct vperfctr *v)
{
	struct perfctr_cpu_state *s = &v->state->cpu_state;

	perfctr_state_begin(v);
	for (unsigned int i = 0; i < PERFCTR_MAX; i++) {
		s->pmc[i].map = ~0ULL;
		s->pmc[i].start = 0;
	}
	v->overflown = 0;
	__atomic_and_fetch(&v->state->flags, ~VPERFCTR_SUSPENDED, __ATOMIC_RELAXED);
	perfctr_state_end(v, 0);
}

void perfctr_stop(struct vperfctr *v)
{
	if (v->ctx < 0)
		return;
	pfm_stop(v->ctx);
	/* sampled before the unload, after which living children would count as ended */
	perfctr_sample(v);
	pfm_unload_context(v->ctx);
	drop_context(v);
	hold_sums(v);
}

/*
 * perfctr resets the sums before it restarts counters. Nothing is restarted here, so the sums keep
 * their sampled values.
 */
void perfctr_disable(struct vperfctr *v, const struct vperfctr_control *control)
{
	perfctr_stop(v);
	perfctr_state_begin(v);
	v->state->control = *control;
	perfctr_state_end(v, 0);
}
