// SPDX-License-Identifier: MIT
/*
 * x86_input.c - what libpfm 3's own structures of x86 models say of an event: threshold, inversion,
 * edge. It becomes the modifiers that events have by name.
 */
#include <string.h>

#include "libpfm4.h"
#include "model.h"
#include "perfmon/pfmlib_amd64.h"
#include "perfmon/pfmlib_core.h"
#include "perfmon/pfmlib_gen_ia32.h"
#include "perfmon/pfmlib_i386_p6.h"
#include "perfmon/pfmlib_intel_atom.h"
#include "perfmon/pfmlib_intel_nhm.h"

/*
 * The input for one event, for all models; the flags are those that libpfm 3's models have in
 * common.
 */
struct input {
	unsigned long	cnt_mask;
	unsigned int	flags;
};

/* The modifiers for the flags, from bit 0 on. */
static const char *const intel[] = { "i", "e", "t" }, *const amd[] = { "i", "e", "g", "h" };

static int add_modifier(const struct pfl_model *m, pfmlib_event_t *e, const char *name, unsigned long value)
{
	unsigned int idx = e->event & 0xffff;
	struct pfl_event ev;
	struct pfl_attr attr;

	pfl_event_get(m, idx, &ev);
	for (unsigned int a = ev.nmasks; a < ev.nmasks + ev.nmods; a++) {
		pfl_attr_get(m, idx, a, &attr);
		if (strcmp(attr.name, name))
			continue;
		if (e->num_masks >= PFMLIB_MAX_MASKS_PER_EVENT)
			return pfl_explain(PFMLIB_ERR_TOOMANY, "%s has too many unit masks", ev.name);
		e->unit_masks[e->num_masks++] = PFMLIB_MASK(a, value);
		return PFMLIB_SUCCESS;
	}
	return pfl_explain(PFMLIB_ERR_INVAL, "%s has no modifier %s", ev.name, name);
}

static int add_flags(const struct pfl_model *m, pfmlib_event_t *e, unsigned int flags, const char *const *names,
		     unsigned int num)
{
	int ret = PFMLIB_SUCCESS;

	if (flags >> num)
		return pfl_explain(PFMLIB_ERR_INVAL, "unknown flags 0x%x of a counter", flags);
	for (unsigned int bit = 0; bit < num && ret == PFMLIB_SUCCESS; bit++)
		if (flags >> bit & 1)
			ret = add_modifier(m, e, names[bit], 1);
	return ret;
}

static int amend(const struct pfl_model *m, pfmlib_event_t *e, struct input in, const char *const *names,
		 unsigned int num)
{
	int ret = PFMLIB_SUCCESS;

	if (in.cnt_mask > 255)
		return pfl_explain(PFMLIB_ERR_INVAL, "cnt_mask %lu, at most 255 can be given", in.cnt_mask);
	if (in.cnt_mask)
		ret = add_modifier(m, e, "c", in.cnt_mask);
	return ret == PFMLIB_SUCCESS ? add_flags(m, e, in.flags, names, num) : ret;
}

static int amend_amd64(const struct pfl_model *m, const pfmlib_amd64_input_param_t *in, unsigned int i,
		       pfmlib_event_t *e)
{
	const pfmlib_amd64_counter_t *c = in->pfp_amd64_counters;

	if (in->flags & ~(PFMLIB_AMD64_USE_IBSFETCH | PFMLIB_AMD64_USE_IBSOP))
		return pfl_explain(PFMLIB_ERR_INVAL, "unknown flags 0x%x", in->flags);
	if (i >= PMU_AMD64_MAX_COUNTERS)
		return PFMLIB_SUCCESS;
	return amend(m, e, (struct input){ c[i].cnt_mask, c[i].flags }, amd, PFL_COUNT(amd));
}

static int amend_atom(const struct pfl_model *m, const pfmlib_intel_atom_input_param_t *in, unsigned int i,
		      pfmlib_event_t *e)
{
	const pfmlib_intel_atom_counter_t *c = in->pfp_intel_atom_counters;

	if (in->pfp_intel_atom_pebs_used)
		return pfl_explain(PFMLIB_ERR_NOTSUPP, "precise sampling (PEBS) is not supported");
	if (i >= PMU_INTEL_ATOM_NUM_COUNTERS)
		return PFMLIB_SUCCESS;
	return amend(m, e, (struct input){ c[i].cnt_mask, c[i].flags }, intel, PFL_COUNT(intel));
}

static int amend_nhm(const struct pfl_model *m, const pfmlib_nhm_input_param_t *in, unsigned int i,
		     pfmlib_event_t *e)
{
	const pfmlib_nhm_counter_t *c = in->pfp_nhm_counters;

	if (in->pfm_nhm_unc_flags)
		return pfl_explain(PFMLIB_ERR_NOTSUPP, "the uncore's counters are not supported");
	if (i >= PMU_NHM_NUM_COUNTERS)
		return PFMLIB_SUCCESS;
	return amend(m, e, (struct input){ c[i].cnt_mask, c[i].flags }, intel, PFL_COUNT(intel));
}

#define AMEND(model, most, num)								\
static int amend_##model(const struct pfl_model *m, const pfmlib_##model##_input_param_t *in,	\
			 unsigned int i, pfmlib_event_t *e)				\
{											\
	const pfmlib_##model##_counter_t *c = in->pfp_##model##_counters;		\
											\
	if (i >= (most))								\
		return PFMLIB_SUCCESS;							\
	return amend(m, e, (struct input){ c[i].cnt_mask, c[i].flags }, intel, num);	\
}

AMEND(core, PMU_CORE_NUM_COUNTERS, PFL_COUNT(intel))
AMEND(gen_ia32, PMU_GEN_IA32_MAX_COUNTERS, PFL_COUNT(intel))
AMEND(i386_p6, PMU_I386_P6_NUM_COUNTERS, 2)

/* Software events have no modifiers, and none may be requested. */
int pfl_x86_amend(const struct pfl_model *m, const void *model_in, unsigned int i, pfmlib_event_t *e)
{
	if ((e->event & 0xffff) >= m->nevents)
		return PFMLIB_SUCCESS;
	switch (m->type) {
	case PFMLIB_AMD64_PMU:
		return amend_amd64(m, model_in, i, e);
	case PFMLIB_CORE_PMU:
		return amend_core(m, model_in, i, e);
	case PFMLIB_INTEL_ATOM_PMU:
		return amend_atom(m, model_in, i, e);
	case PFMLIB_INTEL_NHM_PMU:
	case PFMLIB_INTEL_WSM_PMU:
		return amend_nhm(m, model_in, i, e);
	case PFMLIB_GEN_IA32_PMU:
		return amend_gen_ia32(m, model_in, i, e);
	case PFMLIB_I386_P6_PMU:
	case PFMLIB_I386_PM_PMU:
	case PFMLIB_INTEL_PII_PMU:
	case PFMLIB_INTEL_PPRO_PMU:
		return amend_i386_p6(m, model_in, i, e);
	default:
		return pfl_explain(PFMLIB_ERR_INVAL, "%s has no input of its own", m->name);
	}
}

/* --- questions about events ----------------------------------------------------------------- */

/*
 * Returns true for an event that can be sampled precisely with all its unit masks, by the table of
 * its model, which must be of this type.
 */
static int is_precise(const pfmlib_event_t *e, int type, int or_type)
{
	const struct pfl_model *m;
	struct pfl_event ev;
	unsigned int idx;

	if (!e || pfl_event_locate(e->event, &m, &idx) != PFMLIB_SUCCESS || idx >= m->nevents ||
	    (m->type != type && m->type != or_type))
		return 0;
	pfl_event_get(m, idx, &ev);
	for (unsigned int i = 0; i < e->num_masks; i++)
		if (e->unit_masks[i] < ev.nmasks && !l4_precise(m->data, idx, (int)e->unit_masks[i]))
			return 0;
	return ev.nmasks && e->num_masks ? 1 : l4_precise(m->data, idx, -1);
}

int pfm_core_is_pebs(pfmlib_event_t *e)
{
	return is_precise(e, PFMLIB_CORE_PMU, PFMLIB_CORE_PMU);
}

int pfm_intel_atom_has_pebs(pfmlib_event_t *e)
{
	return is_precise(e, PFMLIB_INTEL_ATOM_PMU, PFMLIB_INTEL_ATOM_PMU);
}

int pfm_nhm_is_pebs(pfmlib_event_t *e)
{
	return is_precise(e, PFMLIB_INTEL_NHM_PMU, PFMLIB_INTEL_WSM_PMU);
}

int pfm_nhm_is_uncore(pfmlib_event_t *e)
{
	(void)e;
	return 0;
}
