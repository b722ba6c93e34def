// SPDX-License-Identifier: MIT
/* itanium2_query.c - questions about Itanium 2 events: pfm_ita2_*(). */
#include "itanium2.h"

static unsigned int buffer_of(unsigned int i)
{
	const struct ita2_event *e = ita2_located(i);

	return e ? e->buffer : ITA2_PLAIN;
}

int pfm_ita2_is_ear(unsigned int i)
{
	return buffer_of(i) > ITA2_BTB;
}

int pfm_ita2_is_dear(unsigned int i)
{
	return buffer_of(i) >= ITA2_DEAR_TLB;
}

int pfm_ita2_is_dear_tlb(unsigned int i)
{
	return buffer_of(i) == ITA2_DEAR_TLB;
}

int pfm_ita2_is_dear_cache(unsigned int i)
{
	return buffer_of(i) == ITA2_DEAR_CACHE;
}

int pfm_ita2_is_dear_alat(unsigned int i)
{
	return buffer_of(i) == ITA2_DEAR_ALAT;
}

int pfm_ita2_is_iear(unsigned int i)
{
	return pfm_ita2_is_iear_tlb(i) || pfm_ita2_is_iear_cache(i);
}

int pfm_ita2_is_iear_tlb(unsigned int i)
{
	return buffer_of(i) == ITA2_IEAR_TLB;
}

int pfm_ita2_is_iear_cache(unsigned int i)
{
	return buffer_of(i) == ITA2_IEAR_CACHE;
}

int pfm_ita2_is_btb(unsigned int i)
{
	return buffer_of(i) == ITA2_BTB;
}

int pfm_ita2_support_opcm(unsigned int i)
{
	const struct ita2_event *e = ita2_located(i);

	return e && e->opcode;
}

int pfm_ita2_support_iarr(unsigned int i)
{
	const struct ita2_event *e = ita2_located(i);

	return e && e->irange;
}

int pfm_ita2_support_darr(unsigned int i)
{
	const struct ita2_event *e = ita2_located(i);

	return e && e->drange;
}

int pfm_ita2_get_ear_mode(unsigned int i, pfmlib_ita2_ear_mode_t *m)
{
	if (!pfm_ita2_is_ear(i) || !m)
		return PFMLIB_ERR_INVAL;
	*m = pfm_ita2_is_dear_alat(i) ? PFMLIB_ITA2_EAR_ALAT_MODE :
		pfm_ita2_is_dear_cache(i) || pfm_ita2_is_iear_cache(i) ? PFMLIB_ITA2_EAR_CACHE_MODE :
		PFMLIB_ITA2_EAR_TLB_MODE;
	return PFMLIB_SUCCESS;
}

int pfm_ita2_get_event_maxincr(unsigned int i, unsigned int *maxincr)
{
	const struct ita2_event *e = ita2_located(i);

	if (!e || !maxincr)
		return PFMLIB_ERR_INVAL;
	*maxincr = e->maxincr;
	return PFMLIB_SUCCESS;
}

int pfm_ita2_get_event_umask(unsigned int i, unsigned long *umask)
{
	const struct ita2_event *e = ita2_located(i);

	if (!e || !umask)
		return PFMLIB_ERR_INVAL;
	*umask = e->umask;
	return PFMLIB_SUCCESS;
}

int pfm_ita2_get_event_group(unsigned int i, int *grp)
{
	const struct ita2_event *e = ita2_located(i);

	if (!e || !grp)
		return PFMLIB_ERR_INVAL;
	*grp = e->group;
	return PFMLIB_SUCCESS;
}

int pfm_ita2_get_event_set(unsigned int i, int *set)
{
	const struct ita2_event *e = ita2_located(i);

	if (!e || !set)
		return PFMLIB_ERR_INVAL;
	*set = e->set == ITA2_NO_SET ? PFMLIB_ITA2_EVT_NO_SET : e->set;
	return PFMLIB_SUCCESS;
}

int pfm_ita2_irange_is_fine(pfmlib_output_param_t *outp, pfmlib_ita2_output_param_t *mod_out)
{
	if (!outp || !mod_out || !mod_out->pfp_ita2_irange.rr_nbr_used)
		return 0;
	for (unsigned int i = 0; i < outp->pfp_pmc_count && i < PFMLIB_MAX_PMCS; i++)
		if (outp->pfp_pmcs[i].reg_num == 14)
			return outp->pfp_pmcs[i].reg_value >> 13 & 1;
	return 0;
}
