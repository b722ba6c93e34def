// SPDX-License-Identifier: MIT
/* query.c - libpfm 3's questions about models, events, unit masks and registers. */
#include <stdlib.h>
#include <string.h>

#include "model.h"

static int copy_name(const char *name, char *buf, size_t maxlen)
{
	if (!buf || maxlen == 0)
		return PFMLIB_ERR_INVAL;
	if (strlen(name) >= maxlen)
		return PFMLIB_ERR_FULL;
	strcpy(buf, name);
	return PFMLIB_SUCCESS;
}

static int copy_text(const char *text, char **str)
{
	*str = strdup(text ? text : "");
	return *str ? PFMLIB_SUCCESS : PFMLIB_ERR_NOMEM;
}

/*
 * Getters refuse NULL before they look up what is asked about. OF_CURRENT asks about the current
 * model, OF_EVENT about an event, OF_MASK about a unit mask; take stores in *out.
 */
#define OF_CURRENT(call, type, value) \
	int call(type *out) \
	{ \
		if (!out) \
			return PFMLIB_ERR_INVAL; \
		if (!pfl_current()) \
			return PFMLIB_ERR_NOINIT; \
		*out = value; \
		return PFMLIB_SUCCESS; \
	}

#define OF_EVENT(call, type, take) \
	int call(unsigned int event, type *out) \
	{ \
		const struct pfl_model *m; \
		struct pfl_event ev; \
		unsigned int idx; \
		int ret; \
		\
		if (!out) \
			return PFMLIB_ERR_INVAL; \
		ret = get_event(event, &m, &idx, &ev); \
		if (ret == PFMLIB_SUCCESS) \
			take; \
		return ret; \
	}

#define OF_MASK(call, type, take) \
	int call(unsigned int event, unsigned int mask, type *out) \
	{ \
		struct pfl_attr attr; \
		int ret; \
		\
		if (!out) \
			return PFMLIB_ERR_INVAL; \
		ret = get_attr(event, mask, &attr); \
		if (ret == PFMLIB_SUCCESS) \
			take; \
		return ret; \
	}

/* --- models --------------------------------------------------------------------------------- */

int pfm_get_pmu_name(char *name, int maxlen)
{
	if (!pfl_current())
		return PFMLIB_ERR_NOINIT;
	return maxlen < 1 ? PFMLIB_ERR_INVAL : copy_name(pfl_current()->name, name, maxlen);
}

OF_CURRENT(pfm_get_pmu_type, int, pfl_current()->type)

int pfm_get_pmu_name_bytype(int type, char *name, size_t maxlen)
{
	const struct pfl_model *m = pfl_model_of_type(type);

	return m ? copy_name(m->name, name, maxlen) : PFMLIB_ERR_INVAL;
}

int pfm_is_pmu_supported(int type)
{
	if (!pfl_current())
		return PFMLIB_ERR_NOINIT;
	return pfl_model_of_type(type) ? PFMLIB_SUCCESS : PFMLIB_ERR_NOTSUPP;
}

int pfm_pmu_is_supported(int type)
{
	return pfm_is_pmu_supported(type);
}

int pfm_list_supported_pmus(int (*pf)(const char *fmt, ...))
{
	if (!pf)
		return PFMLIB_ERR_INVAL;
	pf("supported PMU models:\n");
	for (unsigned int i = 0; i < pfl_models_count(); i++)
		pf("\t[%d] %s: %s\n", pfl_model_at(i)->type, pfl_model_at(i)->name,
		   pfl_model_at(i)->desc);
	for (unsigned int i = 0; i < pfl_models_count(); i++)
		if (pfl_model_at(i)->present)
			pf("detected host PMU: %s\n", pfl_model_at(i)->name);
	return PFMLIB_SUCCESS;
}

static void fill_info(const struct pfl_model *m, pfmlib_pmu_info_t *info)
{
	memset(info, 0, sizeof(*info));
	info->name = m->name;
	info->desc = m->desc;
	info->type = m->type;
	info->present = m->present || m == pfl_current();
	info->first_event = (pfl_model_number(m) + 1) << 16;
	info->num_events = pfl_num_events(m);
	info->num_hw_events = m->nevents;
	info->num_counters = m->ncounters;
	info->width = m->width;
}

int pfm_get_pmu_info_at(unsigned int i, pfmlib_pmu_info_t *info)
{
	const struct pfl_model *m = pfl_model_at(i);

	if (!info)
		return PFMLIB_ERR_INVAL;
	if (!m)
		return PFMLIB_ERR_NOTFOUND;
	fill_info(m, info);
	return PFMLIB_SUCCESS;
}

int pfm_get_pmu_info_byname(const char *name, pfmlib_pmu_info_t *info)
{
	const struct pfl_model *m = name ? pfl_model_named(name) : pfl_current();

	if (!info)
		return PFMLIB_ERR_INVAL;
	if (!m)
		return name ? PFMLIB_ERR_NOTFOUND : PFMLIB_ERR_NOINIT;
	fill_info(m, info);
	return PFMLIB_SUCCESS;
}

/* --- events --------------------------------------------------------------------------------- */

static int get_event(unsigned int event, const struct pfl_model **m, unsigned int *idx,
		     struct pfl_event *ev)
{
	int ret = pfl_event_locate(event, m, idx);

	if (ret == PFMLIB_SUCCESS)
		pfl_event_get(*m, *idx, ev);
	return ret;
}

OF_CURRENT(pfm_get_num_events, unsigned int, pfl_num_events(pfl_current()))

int pfm_get_max_event_name_len(size_t *len)
{
	const struct pfl_model *m = pfl_current();

	if (!len)
		return PFMLIB_ERR_INVAL;
	if (!m)
		return PFMLIB_ERR_NOINIT;
	*len = 0;
	for (unsigned int i = 0; i < pfl_num_events(m); i++) {
		struct pfl_event ev;
		size_t full;

		pfl_event_get(m, i, &ev);
		full = strlen(ev.name);
		for (unsigned int a = 0; a < ev.nmasks; a++) {
			struct pfl_attr attr;

			pfl_attr_get(m, i, a, &attr);
			full += strlen(attr.name) + 1;
		}
		*len = full > *len ? full : *len;
	}
	return PFMLIB_SUCCESS;
}

/*
 * Finds an event by its name; what follows a colon is ignored. A generic name can be used if it
 * stands for a single event.
 */
int pfm_find_event(const char *str, unsigned int *idx)
{
	const struct pfl_model *m = pfl_current();
	pfmlib_expansion_t x;
	unsigned int found;
	char name[256];

	if (!str || !idx)
		return PFMLIB_ERR_INVAL;
	if (!m)
		return PFMLIB_ERR_NOINIT;
	m = pfl_name_model(m, &str);
	if (!m)
		return PFMLIB_ERR_NOTFOUND;
	if (!strchr(str, '-') &&
	    pfl_find_event(m, str, strcspn(str, ":"), &found) == PFMLIB_SUCCESS) {
		*idx = pfl_event_index(m, found);
		return PFMLIB_SUCCESS;
	}
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(str, ":"), str);
	if (pfm_expand_event(m->name, name, &x) != PFMLIB_SUCCESS || x.formula[0])
		return PFMLIB_ERR_NOTFOUND;
	*idx = x.events[0].event;
	return PFMLIB_SUCCESS;
}

int pfm_find_event_byname(const char *name, unsigned int *idx)
{
	return pfm_find_event(name, idx);
}

static int find_code(int code, unsigned int start, unsigned int *next)
{
	const struct pfl_model *m = pfl_current();
	unsigned int end;

	if (!next)
		return PFMLIB_ERR_INVAL;
	if (!m)
		return PFMLIB_ERR_NOINIT;
	/* if the model has events of the hardware, only these are searched */
	end = m->nevents ? m->nevents : pfl_num_events(m);
	for (unsigned int i = start; i < end; i++) {
		struct pfl_event ev;

		pfl_event_get(m, i, &ev);
		if ((int)ev.code == code) {
			*next = i;
			return PFMLIB_SUCCESS;
		}
	}
	return PFMLIB_ERR_NOTFOUND;
}

int pfm_find_event_bycode(int code, unsigned int *idx)
{
	return find_code(code, 0, idx);
}

int pfm_find_event_bycode_next(int code, unsigned int start, unsigned int *next)
{
	return find_code(code, start + 1, next);
}

int pfm_get_event_name(unsigned int idx, char *name, size_t maxlen)
{
	const struct pfl_model *m;
	struct pfl_event ev;
	unsigned int i;
	int ret = get_event(idx, &m, &i, &ev);

	return ret == PFMLIB_SUCCESS ? copy_name(ev.name, name, maxlen) : ret;
}

int pfm_get_full_event_name(pfmlib_event_t *e, char *name, size_t maxlen)
{
	const struct pfl_model *m;
	struct pfl_event ev;
	unsigned int idx;
	size_t len;
	int ret;

	if (!e || !name || maxlen == 0)
		return PFMLIB_ERR_INVAL;
	ret = get_event(e->event, &m, &idx, &ev);
	if (ret != PFMLIB_SUCCESS)
		return ret;
	len = snprintf(name, maxlen, "%s", ev.name);
	for (unsigned int i = 0; i < e->num_masks && len < maxlen; i++) {
		unsigned int a = PFMLIB_MASK_INDEX(e->unit_masks[i]);
		struct pfl_attr attr;

		if (i >= PFMLIB_MAX_MASKS_PER_EVENT || a >= ev.nmasks + ev.nmods)
			return PFMLIB_ERR_UMASK;
		pfl_attr_get(m, idx, a, &attr);
		len += snprintf(name + len, maxlen - len, a < ev.nmasks ? ":%s" : ":%s=%u", attr.name,
				PFMLIB_MASK_VALUE(e->unit_masks[i]));
	}
	return len < maxlen ? PFMLIB_SUCCESS : PFMLIB_ERR_FULL;
}

OF_EVENT(pfm_get_event_code, int, *out = (int)ev.code)

int pfm_get_event_code_counter(unsigned int idx, unsigned int cnt, int *code)
{
	pfmlib_regmask_t counters;
	int ret = pfm_get_event_counters(idx, &counters);

	if (ret != PFMLIB_SUCCESS)
		return ret;
	return pfm_regmask_isset(&counters, cnt) ? pfm_get_event_code(idx, code) : PFMLIB_ERR_INVAL;
}

/* Adds the first suitable unit mask if the event cannot be encoded without one. */
static int any_encoding(const struct pfl_model *m, unsigned int idx, const struct pfl_event *ev,
			struct pfl_demand *d)
{
	pfmlib_event_t e = { .event = pfl_event_index(m, idx) };
	int ret;

	if (idx >= m->nevents)
		return pfl_software_encode(idx - m->nevents, PFM_PLM0 | PFM_PLM3, d);
	ret = m->ops->encode(m, idx, &e, PFM_PLM3, 0, d);
	for (unsigned int a = 0; ret == PFMLIB_ERR_UMASK && a < ev->nmasks; a++) {
		e.num_masks = 1;
		e.unit_masks[0] = a;
		memset(d, 0, sizeof(*d));
		d->event = e;
		ret = m->ops->encode(m, idx, &e, PFM_PLM3, 0, d);
	}
	return ret;
}

int pfm_get_event_counters(unsigned int idx, pfmlib_regmask_t *counters)
{
	const struct pfl_model *m;
	struct pfl_demand d;
	struct pfl_event ev;
	unsigned int i;
	int ret;

	if (!counters)
		return PFMLIB_ERR_INVAL;
	ret = get_event(idx, &m, &i, &ev);
	memset(counters, 0, sizeof(*counters));
	memset(&d, 0, sizeof(d));
	if (ret == PFMLIB_SUCCESS)
		ret = any_encoding(m, i, &ev, &d);
	for (unsigned int a = 0; ret == PFMLIB_SUCCESS && a < d.nalts; a++)
		pfm_regmask_set(counters, d.alts[a].pmd);
	return ret;
}

OF_EVENT(pfm_get_event_description, char *, ret = copy_text(ev.desc, out))

static int named_event(const char *name, pfmlib_event_t *e)
{
	int ret;

	if (!e)
		return PFMLIB_ERR_INVAL;
	if (!pfl_current())
		return PFMLIB_ERR_NOINIT;
	ret = pfm_find_full_event(name, e);
	return ret == PFMLIB_ERR_NOTFOUND ? PFMLIB_ERR_NOTSUPP : ret;
}

int pfm_get_cycle_event(pfmlib_event_t *e)
{
	return named_event("cycles", e);
}

int pfm_get_inst_retired_event(pfmlib_event_t *e)
{
	return named_event("instructions", e);
}

/* --- unit masks ----------------------------------------------------------------------------- */

OF_EVENT(pfm_get_num_event_masks, unsigned int, *out = ev.nmasks)
OF_EVENT(pfm_get_num_event_modifiers, unsigned int, *out = ev.nmods)

static int get_attr(unsigned int event, unsigned int a, struct pfl_attr *attr)
{
	const struct pfl_model *m;
	struct pfl_event ev;
	unsigned int idx;
	int ret = get_event(event, &m, &idx, &ev);

	if (ret != PFMLIB_SUCCESS)
		return ret;
	if (a >= ev.nmasks + ev.nmods)
		return PFMLIB_ERR_INVAL;
	pfl_attr_get(m, idx, a, attr);
	return PFMLIB_SUCCESS;
}

int pfm_find_event_mask(unsigned int idx, const char *str, unsigned int *mask_idx)
{
	const struct pfl_model *m;
	struct pfl_event ev;
	unsigned int i;
	int ret;

	if (!str || !mask_idx)
		return PFMLIB_ERR_INVAL;
	ret = get_event(idx, &m, &i, &ev);
	for (unsigned int a = 0; ret == PFMLIB_SUCCESS && a < ev.nmasks; a++) {
		struct pfl_attr attr;

		pfl_attr_get(m, i, a, &attr);
		if (pfl_same_name(str, strlen(str), attr.name)) {
			*mask_idx = a;
			return PFMLIB_SUCCESS;
		}
	}
	return ret == PFMLIB_SUCCESS ? PFMLIB_ERR_UMASK : ret;
}

int pfm_get_event_mask_name(unsigned int idx, unsigned int mask_idx, char *name, size_t maxlen)
{
	struct pfl_attr attr;
	int ret = get_attr(idx, mask_idx, &attr);

	return ret == PFMLIB_SUCCESS ? copy_name(attr.name, name, maxlen) : ret;
}

OF_MASK(pfm_get_event_mask_code, unsigned int, *out = (unsigned int)attr.code)
OF_MASK(pfm_get_event_mask_description, char *, ret = copy_text(attr.desc, out))
OF_MASK(pfm_get_event_mask_flags, unsigned int, *out = attr.flags)

/* --- registers ------------------------------------------------------------------------------ */

struct registers {
	pfmlib_regmask_t pmcs, pmds, counters;
};

static int get_registers(struct registers *r)
{
	const struct pfl_model *m = pfl_current();

	if (!m)
		return PFMLIB_ERR_NOINIT;
	memset(r, 0, sizeof(*r));
	m->ops->registers(m, &r->pmcs, &r->pmds, &r->counters);
	pfl_software_registers(&r->pmcs, &r->pmds);
	return PFMLIB_SUCCESS;
}

#define IMPL(kind) \
	int pfm_get_impl_##kind(pfmlib_regmask_t *impl) \
	{ \
		struct registers r; \
		int ret = impl ? get_registers(&r) : PFMLIB_ERR_INVAL; \
		\
		if (ret == PFMLIB_SUCCESS) \
			*impl = r.kind; \
		return ret; \
	} \
	\
	int pfm_get_num_##kind(unsigned int *num) \
	{ \
		struct registers r; \
		int ret = num ? get_registers(&r) : PFMLIB_ERR_INVAL; \
		\
		return ret == PFMLIB_SUCCESS ? pfm_regmask_weight(&r.kind, num) : ret; \
	}

IMPL(pmcs)
IMPL(pmds)
IMPL(counters)

OF_CURRENT(pfm_get_hw_counter_width, unsigned int, pfl_current()->width)
