// SPDX-License-Identifier: MIT
/* dispatch.c - pfm_dispatch_events() and related queries. */
#include <stdlib.h>
#include <string.h>

#include "model.h"

/* An input, converted into demands of one model. */
struct job {
	const pfmlib_input_param_t	*in;
	const void			*model_in;
	const struct pfl_model		*m;
	struct pfl_demand		*d;
	const struct pfl_demand		**list;
	unsigned int			n;
};

static void job_free(struct job *j)
{
	free(j->d);
	free(j->list);
}

static int check_input(const pfmlib_input_param_t *in, bool has_other)
{
	if (!pfl_current())
		return pfl_explain(PFMLIB_ERR_NOINIT, "pfm_initialize() was not called");
	if (!in)
		return pfl_explain(PFMLIB_ERR_INVAL, "no input");
	if (in->pfp_event_count == 0 && !has_other)
		return pfl_explain(PFMLIB_ERR_INVAL, "no events");
	if (in->pfp_event_count > PFMLIB_MAX_PMCS)
		return pfl_explain(PFMLIB_ERR_TOOMANY, "%u events, at most %d can be given",
				   in->pfp_event_count, PFMLIB_MAX_PMCS);
	if (in->pfp_dfl_plm == 0)
		return pfl_explain(PFMLIB_ERR_INVAL, "pfp_dfl_plm is 0: no default privilege level");
	if (in->pfp_flags & ~PFMLIB_PFP_SYSTEMWIDE)
		return pfl_explain(PFMLIB_ERR_INVAL, "unknown pfp_flags 0x%x", in->pfp_flags);
	return PFMLIB_SUCCESS;
}

static int add_demand(struct job *j, unsigned int i)
{
	pfmlib_event_t e = j->in->pfp_events[i];
	const struct pfl_model *m;
	unsigned int idx;
	int ret = pfl_event_locate(e.event, &m, &idx);

	if (ret != PFMLIB_SUCCESS)
		return ret;
	if (j->m && j->m != m)
		return pfl_explain(PFMLIB_ERR_INVAL, "events of two PMU models, %s and %s", j->m->name,
				   m->name);
	j->m = m;
	j->list[i] = &j->d[i];
	if (j->model_in && m->ops->amend)
		ret = m->ops->amend(m, j->model_in, i, &e);
	if (ret == PFMLIB_SUCCESS)
		ret = pfl_demand_fill(m, idx, &e, j->in, &j->d[i]);
	if (ret == PFMLIB_SUCCESS && j->model_in && m->ops->narrow)
		m->ops->narrow(m, j->in, j->model_in, i, &j->d[i]);
	return ret;
}

/*
 * Converts the input into demands. With an input of the model (model_in), there need not be events:
 * instruction-based sampling, for example, needs none.
 */
static int job_init(struct job *j, const pfmlib_input_param_t *in, const void *model_in)
{
	static const pfmlib_input_param_t no_events = { .pfp_dfl_plm = PFM_PLM0 | PFM_PLM3 };
	int ret;

	memset(j, 0, sizeof(*j));
	pfl_explain_clear();
	if (!in && model_in)
		in = &no_events;
	ret = check_input(in, model_in);
	if (ret != PFMLIB_SUCCESS)
		return ret;
	j->in = in;
	j->m = in->pfp_event_count ? NULL : pfl_current();
	j->model_in = model_in;
	j->n = in->pfp_event_count;
	j->d = malloc(j->n * sizeof(*j->d));
	j->list = malloc(j->n * sizeof(*j->list));
	if (!j->d || !j->list)
		ret = pfl_explain(PFMLIB_ERR_NOMEM, "out of memory");
	for (unsigned int i = 0; ret == PFMLIB_SUCCESS && i < j->n; i++)
		ret = add_demand(j, i);
	if (ret != PFMLIB_SUCCESS)
		job_free(j);
	return ret;
}

/* --- explaining a failure ------------------------------------------------------------------- */

static bool is_software(const struct pfl_model *m, const pfmlib_event_t *e)
{
	return (e->event & 0xffff) >= m->nevents;
}

static int check_count(const struct job *j)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < j->n; i++)
		n += !is_software(j->m, &j->in->pfp_events[i]);
	if (n > j->m->ncounters)
		return pfl_explain(PFMLIB_ERR_TOOMANY, "%u events, but %s has %u counters", n, j->m->name,
				   j->m->ncounters);
	return PFMLIB_SUCCESS;
}

static bool all_one_event(const struct pfl_demand *const *d, unsigned int n)
{
	for (unsigned int i = 1; i < n; i++)
		if (!pfl_same_event(&d[i]->event, &d[0]->event))
			return false;
	return n > 1;
}

/*
 * Explains which events conflict, and returns the error. It is EVTMANY if the conflict is between
 * several requests of the same event.
 */
static int explain_failure(const struct job *j)
{
	unsigned int *positions = calloc(j->n, sizeof(*positions)), n = 0;
	const struct pfl_demand **d = calloc(j->n, sizeof(*d));
	int ret = PFMLIB_ERR_NOASSIGN;

	if (positions && d)
		n = pfl_conflict(j->m, j->d, j->n, positions);
	for (unsigned int i = 0; i < n; i++)
		d[i] = &j->d[positions[i]];
	if (n)
		pfl_explain_events(j->m, d, n);
	if (n && all_one_event(d, n))
		ret = PFMLIB_ERR_EVTMANY;
	free(positions);
	free(d);
	return ret;
}

/* --- the output ----------------------------------------------------------------------------- */

static uint64_t address(const struct pfl_model *m, bool pmd, unsigned int n)
{
	return m->ops->address && !pfl_software_register(n) ? m->ops->address(m, pmd, n) : n;
}

static void put_pmc(const struct pfl_model *m, pfmlib_output_param_t *out, unsigned int num,
		    uint64_t value)
{
	pfmlib_reg_t *reg = &out->pfp_pmcs[out->pfp_pmc_count++];

	reg->reg_num = num;
	reg->reg_value = value;
	reg->reg_addr = reg->reg_alt_addr = address(m, false, num);
	pfl_verbose("PMC%u (0x%llx) = 0x%llx", num, reg->reg_addr, reg->reg_value);
}

static void put_pmd(const struct pfl_model *m, pfmlib_output_param_t *out, unsigned int num)
{
	pfmlib_reg_t *reg = &out->pfp_pmds[out->pfp_pmd_count++];

	reg->reg_num = num;
	reg->reg_addr = reg->reg_alt_addr = address(m, true, num);
	pfl_verbose("PMD%u (0x%llx)", num, reg->reg_addr);
}

pfmlib_reg_t *pfl_find_pmc(pfmlib_output_param_t *out, unsigned int num)
{
	for (unsigned int i = 0; i < out->pfp_pmc_count; i++)
		if (out->pfp_pmcs[i].reg_num == num)
			return &out->pfp_pmcs[i];
	return NULL;
}

/* Adds a counter's field to a PMC that several counters share, which is output once. */
static void put_field(const struct pfl_model *m, pfmlib_output_param_t *out, unsigned int num, uint64_t field)
{
	pfmlib_reg_t *reg = pfl_find_pmc(out, num);

	if (reg)
		reg->reg_value |= field;
	else
		put_pmc(m, out, num, field);
}

static void write_output(const struct job *j, const unsigned int *choice, pfmlib_output_param_t *out)
{
	for (unsigned int i = 0; i < j->n; i++) {
		const struct pfl_demand *d = &j->d[i];
		const struct pfl_alt *alt = &d->alts[choice[i]];

		if (alt->field)
			put_field(j->m, out, alt->pmc[0], alt->field);
		for (unsigned int v = 0; !alt->field && v < d->nvalues; v++)
			put_pmc(j->m, out, alt->pmc[v], d->values[v]);
		put_pmd(j->m, out, alt->pmd);
	}
	for (unsigned int i = 0; i < j->n; i++)
		for (unsigned int s = 0; s < j->d[i].nshared; s++)
			if (!pfl_find_pmc(out, j->d[i].shared[s].pmc))
				put_pmc(j->m, out, j->d[i].shared[s].pmc, j->d[i].shared[s].value);
}

static int finish(const struct job *j, void *model_in, pfmlib_output_param_t *out, void *model_out)
{
	if (j->m->ops->finish)
		return j->m->ops->finish(j->m, j->in, model_in, out, model_out);
	if ((model_in && !j->m->ops->amend) || (model_out && !model_in))
		return pfl_explain(PFMLIB_ERR_INVAL, "%s has no input or output of its own", j->m->name);
	return PFMLIB_SUCCESS;
}

static int assign(const struct job *j, unsigned int *choice)
{
	int ret = check_count(j);

	if (ret == PFMLIB_SUCCESS)
		ret = pfl_assign(j->m, j->list, j->n, choice);
	return ret == PFMLIB_ERR_NOASSIGN ? explain_failure(j) : ret;
}

static int dispatch(const struct job *j, void *model_in, pfmlib_output_param_t *out, void *model_out)
{
	unsigned int *choice = malloc(j->n * sizeof(*choice));
	pfmlib_output_param_t *result = calloc(1, sizeof(*result));
	int ret = PFMLIB_ERR_NOMEM;

	if (choice && result)
		ret = assign(j, choice);
	if (ret == PFMLIB_SUCCESS) {
		write_output(j, choice, result);
		ret = finish(j, model_in, result, model_out);
	}
	if (ret == PFMLIB_SUCCESS && !result->pfp_pmc_count)
		ret = pfl_explain(PFMLIB_ERR_INVAL, "no events");
	if (ret == PFMLIB_SUCCESS)
		*out = *result;
	free(choice);
	free(result);
	return ret;
}

int pfm_dispatch_events(pfmlib_input_param_t *p, void *model_in, pfmlib_output_param_t *q,
			void *model_out)
{
	struct job j;
	int ret = job_init(&j, p, model_in);

	if (ret != PFMLIB_SUCCESS)
		return ret;
	ret = q ? dispatch(&j, model_in, q, model_out) : pfl_explain(PFMLIB_ERR_INVAL, "no output");
	job_free(&j);
	return ret;
}

/* --- conflicts, room, sets ------------------------------------------------------------------ */

int pfm_find_conflict(pfmlib_input_param_t *p, unsigned int *positions, unsigned int *n)
{
	unsigned int *found, count = 0;
	struct job j;
	int ret;

	if (!positions || !n)
		return PFMLIB_ERR_INVAL;
	ret = job_init(&j, p, NULL);
	if (ret != PFMLIB_SUCCESS)
		return ret;
	found = calloc(j.n, sizeof(*found));
	ret = found ? pfl_assign(j.m, j.list, j.n, found) : PFMLIB_ERR_NOMEM;
	if (ret == PFMLIB_SUCCESS)
		ret = PFMLIB_ERR_NOTFOUND;
	else if (found)
		count = pfl_conflict(j.m, j.d, j.n, found);
	if (count > *n)
		ret = PFMLIB_ERR_FULL;
	else if (count) {
		memcpy(positions, found, count * sizeof(*found));
		*n = count;
		if (ret == PFMLIB_ERR_NOASSIGN)
			explain_failure(&j);
		ret = PFMLIB_SUCCESS;
	}
	free(found);
	job_free(&j);
	return ret;
}

int pfm_can_add_event(pfmlib_input_param_t *p, const pfmlib_event_t *e)
{
	pfmlib_input_param_t *more;
	struct job j;
	unsigned int *choice;
	int ret;

	if (!p || !e || p->pfp_event_count >= PFMLIB_MAX_PMCS)
		return PFMLIB_ERR_INVAL;
	more = malloc(sizeof(*more));
	if (!more)
		return PFMLIB_ERR_NOMEM;
	*more = *p;
	more->pfp_events[more->pfp_event_count++] = *e;
	ret = job_init(&j, more, NULL);
	if (ret == PFMLIB_SUCCESS) {
		choice = malloc(j.n * sizeof(*choice));
		ret = choice ? assign(&j, choice) : PFMLIB_ERR_NOMEM;
		free(choice);
		job_free(&j);
	}
	free(more);
	return ret;
}

int pfm_split_events(pfmlib_input_param_t *p, unsigned int *set_of, unsigned int *nsets)
{
	struct job j;
	int ret;

	if (!set_of || !nsets)
		return PFMLIB_ERR_INVAL;
	ret = job_init(&j, p, NULL);
	if (ret != PFMLIB_SUCCESS)
		return ret;
	ret = pfl_split(j.m, j.d, j.n, set_of, nsets);
	job_free(&j);
	return ret;
}
