// SPDX-License-Identifier: MIT
/*
 * ia64_query.c - questions about events of Itanium processors: pfm_ita_*(), pfm_ita2_*(),
 * pfm_mont_*().
 */
#include "ia64.h"
#include "perfmon/pfmlib_itanium.h"

static unsigned int buffer_of(const struct pfl_model *m, unsigned int i)
{
	const struct ia64_event *e = ia64_of_model(m, i);

	return e ? e->buffer : IA64_PLAIN;
}

/*
 * Returns a PFMLIB_ITA2_EAR_*_MODE; the values are the same for the other models. -1: it is not
 * an event of an EAR.
 */
static int mode_of(const struct pfl_model *m, unsigned int i)
{
	switch (buffer_of(m, i)) {
	case IA64_IEAR_CACHE:
	case IA64_DEAR_CACHE:	return PFMLIB_ITA2_EAR_CACHE_MODE;
	case IA64_IEAR_TLB:
	case IA64_DEAR_TLB:	return PFMLIB_ITA2_EAR_TLB_MODE;
	case IA64_DEAR_ALAT:	return PFMLIB_ITA2_EAR_ALAT_MODE;
	default:		return -1;
	}
}

/*
 * Defines the queries that all three headers have: "of" is the prefix of their names, m the model,
 * and trace the name of the branch buffer.
 */
#define QUESTIONS(of, m, trace) \
int pfm_##of##_is_ear(unsigned int i) { return buffer_of(m, i) > IA64_BTB; } \
int pfm_##of##_is_dear(unsigned int i) { return buffer_of(m, i) >= IA64_DEAR_TLB; } \
int pfm_##of##_is_dear_tlb(unsigned int i) { return buffer_of(m, i) == IA64_DEAR_TLB; } \
int pfm_##of##_is_dear_cache(unsigned int i) { return buffer_of(m, i) == IA64_DEAR_CACHE; } \
int pfm_##of##_is_iear_tlb(unsigned int i) { return buffer_of(m, i) == IA64_IEAR_TLB; } \
int pfm_##of##_is_iear_cache(unsigned int i) { return buffer_of(m, i) == IA64_IEAR_CACHE; } \
int pfm_##of##_is_iear(unsigned int i) { return pfm_##of##_is_iear_tlb(i) || pfm_##of##_is_iear_cache(i); } \
int pfm_##of##_is_##trace(unsigned int i) { return buffer_of(m, i) == IA64_BTB; } \
int pfm_##of##_support_opcm(unsigned int i) { return ia64_of_model(m, i) && ia64_of_model(m, i)->opcode; } \
int pfm_##of##_support_iarr(unsigned int i) { return ia64_of_model(m, i) && ia64_of_model(m, i)->irange; } \
int pfm_##of##_support_darr(unsigned int i) { return ia64_of_model(m, i) && ia64_of_model(m, i)->drange; } \
int pfm_##of##_get_ear_mode(unsigned int i, pfmlib_##of##_ear_mode_t *mode) \
{ \
	if (mode_of(m, i) < 0 || !mode) \
		return PFMLIB_ERR_INVAL; \
	*mode = (pfmlib_##of##_ear_mode_t)mode_of(m, i); \
	return PFMLIB_SUCCESS; \
}

/* Defines pfm_OF_get_event_NAME(), which returns a field of the event. */
#define FIELD(of, m, name, type, value) \
int pfm_##of##_get_event_##name(unsigned int i, type *out) \
{ \
	const struct ia64_event *e = ia64_of_model(m, i); \
\
	if (!e || !out) \
		return PFMLIB_ERR_INVAL; \
	*out = (value); \
	return PFMLIB_SUCCESS; \
}

#define SET(e)	((e)->set == IA64_NO_SET ? PFMLIB_ITA2_EVT_NO_SET : (e)->set)

QUESTIONS(ita, &pfl_itanium, btb)
FIELD(ita, &pfl_itanium, maxincr, unsigned int, e->maxincr)
FIELD(ita, &pfl_itanium, umask, unsigned long, e->umask)

QUESTIONS(ita2, &pfl_itanium2, btb)
FIELD(ita2, &pfl_itanium2, maxincr, unsigned int, e->maxincr)
FIELD(ita2, &pfl_itanium2, umask, unsigned long, e->umask)
FIELD(ita2, &pfl_itanium2, group, int, e->group)
FIELD(ita2, &pfl_itanium2, set, int, SET(e))

int pfm_ita2_is_dear_alat(unsigned int i)
{
	return buffer_of(&pfl_itanium2, i) == IA64_DEAR_ALAT;
}

int pfm_ita2_irange_is_fine(pfmlib_output_param_t *outp, pfmlib_ita2_output_param_t *mod_out)
{
	return outp && mod_out && mod_out->pfp_ita2_irange.rr_nbr_used &&
		ia64_code_is_fine(outp, &ia64_model_itanium2);
}

QUESTIONS(mont, &pfl_montecito, etb)
FIELD(mont, &pfl_montecito, maxincr, unsigned int, e->maxincr)
FIELD(mont, &pfl_montecito, umask, unsigned long, e->umask)
FIELD(mont, &pfl_montecito, group, int, e->group)
FIELD(mont, &pfl_montecito, set, int, SET(e))
FIELD(mont, &pfl_montecito, type, int, e->type)

int pfm_mont_is_dear_alat(unsigned int i)
{
	return buffer_of(&pfl_montecito, i) == IA64_DEAR_ALAT;
}

/* No event in the table counts for both threads. */
int pfm_mont_support_all(unsigned int i)
{
	(void)i;
	return 0;
}

int pfm_mont_irange_is_fine(pfmlib_output_param_t *outp, pfmlib_mont_output_param_t *mod_out)
{
	return outp && mod_out && mod_out->pfp_mont_irange.rr_nbr_used &&
		ia64_code_is_fine(outp, &ia64_model_montecito);
}
