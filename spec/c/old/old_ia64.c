// SPDX-License-Identifier: MIT
/*
 * old_ia64.c - libpfm 3's questions about events of the first Itanium and Montecito, and options of
 * pfm_dispatch_events(), by Intel's layouts of the registers (documents 245320 and 308065).
 */

#include <perfmon/pfmlib_itanium.h>
#include <perfmon/pfmlib_montecito.h>

#define EXPLAIN pfm_dispatch_explain
#include "../parts.h"

#define NONE	(~0ULL)
#define USER	8ULL

static pfmlib_input_param_t in;
static pfmlib_output_param_t out;
static pfmlib_ita_input_param_t ita;
static pfmlib_ita_output_param_t ita_out;
static pfmlib_mont_input_param_t mont;
static pfmlib_mont_output_param_t mont_out;

static void clear(void)
{
	memset(&in, 0, sizeof(in));
	memset(&ita, 0, sizeof(ita));
	memset(&mont, 0, sizeof(mont));
	in.pfp_dfl_plm = PFM_PLM3;
}

static void add(const char *name)
{
	CHECK(pfm_find_full_event(name, &in.pfp_events[in.pfp_event_count++]) == PFMLIB_SUCCESS);
}

static int dispatch_ita(void)
{
	return pfm_dispatch_events(&in, &ita, &out, &ita_out);
}

static int dispatch_mont(void)
{
	return pfm_dispatch_events(&in, &mont, &out, &mont_out);
}

static unsigned long long pmc(unsigned int num)
{
	for (unsigned int i = 0; i < out.pfp_pmc_count; i++)
		if (out.pfp_pmcs[i].reg_num == num)
			return out.pfp_pmcs[i].reg_value;
	return NONE;
}

static int has_pmd(unsigned int num)
{
	for (unsigned int i = 0; i < out.pfp_pmd_count; i++)
		if (out.pfp_pmds[i].reg_num == num)
			return 1;
	return 0;
}

static int has_pmds(unsigned int first, unsigned int last)
{
	for (unsigned int i = first; i <= last; i++)
		if (!has_pmd(i))
			return 0;
	return 1;
}

static unsigned int event(const char *name)
{
	unsigned int i = 0;

	CHECK(pfm_find_event(name, &i) == PFMLIB_SUCCESS);
	return i;
}

/* --- layouts -------------------------------------------------------------------------------- */

static void layouts(void)
{
	pfm_ita_pmc_reg_t a = { 0 };
	pfm_mont_pmc_reg_t m = { 0 };
	pfm_mont_pmd_reg_t d = { 0 };

	CHECK(sizeof(pfm_ita_pmc_reg_t) == 8 && sizeof(pfm_ita_pmd_reg_t) == 8);
	CHECK(sizeof(pfm_mont_pmc_reg_t) == 8 && sizeof(pfm_mont_pmd_reg_t) == 8);
	a.pmc11_ita_reg.dear_pt = 1;
	CHECK(a.pmc_val == 1ULL << 28);
	a.pmc_val = 0;
	a.pmc_ita_count_reg.pmc_ism = 2;
	CHECK(a.pmc_val == 2ULL << 24);
	m.pmc32_34_mont_reg.opcm_ig_ad = 1;
	CHECK(m.pmc_val == 1ULL << 57);
	m.pmc_val = 0;
	m.pmc41_mont_reg.darc_ena_dbrp0 = 1;
	CHECK(m.pmc_val == 1ULL << 45);
	m.pmc_val = 0;
	m.pmc42_mont_reg.ipear_delay = 0xff;
	CHECK(m.pmc_val == 0xffULL << 11);
	m.pmc_val = 0;
	m.pmc38_mont_reg.iarc_fine = 1;
	CHECK(m.pmc_val == 1ULL << 13);
	d.pmd39_mont_reg.etb_pmd63ext_b1 = 1;
	CHECK(d.pmd_val == 1ULL << 60);
	d.pmd_val = 0;
	d.pmd39_mont_reg.etb_pmd56ext_b1 = 1;	/* the two halves of the buffer take turns */
	CHECK(d.pmd_val == 1ULL << 4);
}

/* --- the first Itanium ---------------------------------------------------------------------- */

static void ita_questions(void)
{
	unsigned int i = event("DATA_EAR_CACHE_LAT64"), max;
	pfmlib_ita_ear_mode_t mode;
	pfmlib_ita2_ear_mode_t other;
	unsigned long umask;

	CHECK(pfm_ita_is_ear(i) && pfm_ita_is_dear(i) && pfm_ita_is_dear_cache(i) && !pfm_ita_is_dear_tlb(i));
	CHECK(!pfm_ita_is_iear(i) && !pfm_ita_is_btb(i) && pfm_ita_support_darr(i));
	CHECK(pfm_ita_get_ear_mode(i, &mode) == 0 && mode == PFMLIB_ITA_EAR_CACHE_MODE);
	CHECK(pfm_ita_get_event_umask(i, &umask) == 0 && umask == 4);	/* 4 << 4 cycles */
	CHECK(pfm_ita_get_event_umask(i, NULL) == PFMLIB_ERR_INVAL);
	i = event("INSTRUCTION_EAR_TLB_VHPT");
	CHECK(pfm_ita_is_iear(i) && pfm_ita_is_iear_tlb(i) && !pfm_ita_is_iear_cache(i) && !pfm_ita_support_darr(i));
	CHECK(pfm_ita_get_ear_mode(i, &mode) == 0 && mode == PFMLIB_ITA_EAR_TLB_MODE);
	CHECK(pfm_ita2_get_ear_mode(i, &other) == PFMLIB_ERR_INVAL && !pfm_mont_is_ear(i));
	i = event("BRANCH_EVENT");
	CHECK(pfm_ita_is_btb(i) && !pfm_ita_is_ear(i) && pfm_ita_get_ear_mode(i, &mode) == PFMLIB_ERR_INVAL);
	i = event("IA64_INST_RETIRED");
	CHECK(pfm_ita_get_event_maxincr(i, &max) == 0 && max == 6);
	CHECK(pfm_ita_support_opcm(i) && pfm_ita_support_iarr(i));
	CHECK(!pfm_ita_is_ear(~0U) && pfm_ita_get_event_maxincr(~0U, &max) == PFMLIB_ERR_INVAL);
}

static void ita_buffers(void)
{
	clear();
	add("DATA_EAR_CACHE_LAT64");
	add("INSTRUCTION_EAR_TLB_VHPT");
	add("BRANCH_EVENT");
	CHECK(pfm_dispatch_events(&in, NULL, &out, NULL) == PFMLIB_SUCCESS);
	CHECK(pmc(11) == (USER | 4 << 16 | 1 << 28) && pmc(10) == (USER | 1 << 7 | 4 << 16));
	CHECK(pmc(12) == (USER | 0x1ff << 7));
	CHECK(out.pfp_pmd_count == 3 + 5 + 9 && has_pmds(0, 3) && has_pmds(8, 17));
	/* counts without the EAR's unit mask */
	CHECK((pmc(out.pfp_pmds[0].reg_num) & 0xf7f00) == 0x6700);
	in.pfp_flags = PFMLIB_PFP_SYSTEMWIDE;
	CHECK(dispatch_ita() == PFMLIB_SUCCESS && pmc(10) & 1 << 6 && pmc(11) & 1 << 6 && pmc(12) & 1 << 6);
	clear();
	add("CPU_CYCLES");				/* free running */
	ita.pfp_ita_dear.ear_used = 1;
	ita.pfp_ita_dear.ear_mode = PFMLIB_ITA_EAR_TLB_MODE;
	ita.pfp_ita_dear.ear_umask = 4;
	ita.pfp_ita_dear.ear_ism = PFMLIB_ITA_ISM_IA64;
	ita.pfp_ita_dear.ear_plm = PFM_PLM0;
	ita.pfp_ita_btb.btb_used = 1;
	ita.pfp_ita_btb.btb_tar = 1;
	ita.pfp_ita_btb.btb_tm = 2;
	ita.pfp_ita_btb.btb_bac = 1;
	ita.pfp_ita_counters[0].thres = 3;
	ita.pfp_ita_counters[0].ism = PFMLIB_ITA_ISM_IA32;
	CHECK(dispatch_ita() == PFMLIB_SUCCESS);
	CHECK(pmc(11) == (1 | 1 << 7 | 4 << 16 | 2 << 24 | 1 << 28) && has_pmds(2, 3) && has_pmd(17));
	/* the branch trace buffer can be used together with the data EAR */
	CHECK(pmc(12) == (USER | 1 << 7 | 2 << 8 | 1 << 15) && has_pmds(8, 16));
	CHECK((pmc(out.pfp_pmds[0].reg_num) >> 20) == (3 | 1 << 4));
	ita.pfp_ita_dear.ear_mode = 2;
	CHECK(dispatch_ita() == PFMLIB_ERR_INVAL);
	ita.pfp_ita_dear.ear_mode = PFMLIB_ITA_EAR_TLB_MODE;
	ita.pfp_ita_counters[0].thres = 8;
	CHECK(dispatch_ita() == PFMLIB_ERR_INVAL);
}

static void ita_restrictions(void)
{
	clear();
	add("LOADS_RETIRED");
	ita.pfp_ita_pmc8.opcm_used = 1;
	ita.pfp_ita_pmc8.pmc_val = 0x123400003000f000UL;
	ita.pfp_ita_irange.rr_used = ita.pfp_ita_drange.rr_used = 1;
	ita.pfp_ita_irange.rr_limits[0].rr_start = 0x3000;
	ita.pfp_ita_irange.rr_limits[0].rr_end = 0x9000;
	ita.pfp_ita_drange.rr_limits[0].rr_start = 0x10000;
	ita.pfp_ita_drange.rr_limits[0].rr_end = 0x20000;
	CHECK(pfm_dispatch_events(&in, &ita, &out, NULL) == PFMLIB_ERR_INVAL);
	CHECK(dispatch_ita() == PFMLIB_SUCCESS);
	CHECK(pmc(8) == 0x123400003000f000ULL && pmc(9) == NONE);
	CHECK(pmc(13) == 0);				/* bit 0 clear: code ranges are in force */
	CHECK(pmc(11) == USER);			/* bit 28 clear: so are data ranges */
	/* 0x3000 - 0x4000, 0x4000 - 0x8000, 0x8000 - 0x9000: exactly, and without tagged events */
	CHECK(ita_out.pfp_ita_irange.rr_nbr_used == 6 && ita_out.pfp_ita_irange.rr_infos[0].rr_soff == 0 &&
	       ita_out.pfp_ita_irange.rr_infos[0].rr_eoff == 0);
	CHECK(ita_out.pfp_ita_drange.rr_nbr_used == 2 && ita_out.pfp_ita_drange.rr_br[0].reg_value == 0x10000);
	CHECK(ita_out.pfp_ita_drange.rr_br[1].reg_value == (0x00ffffffffff0000ULL | USER << 56));
	pfm_regmask_set(&in.pfp_unavail_pmcs, 13);
	CHECK(dispatch_ita() == PFMLIB_ERR_NOASSIGN);
	clear();
	add("DATA_EAR_CACHE_LAT8");
	ita.pfp_ita_drange.rr_used = 1;
	ita.pfp_ita_drange.rr_limits[0].rr_start = 0x10000;
	ita.pfp_ita_drange.rr_limits[0].rr_end = 0x20000;
	CHECK(dispatch_ita() == PFMLIB_SUCCESS && pmc(11) == (USER | 1 << 16));
	add("CPU_CYCLES");				/* cannot be restricted */
	CHECK(dispatch_ita() == PFMLIB_ERR_FEATCOMB);
	ita.pfp_ita_counters[1].flags = PFMLIB_ITA_FL_EVT_NO_QUALCHECK;
	CHECK(dispatch_ita() == PFMLIB_SUCCESS);
	ita.pfp_ita_drange.rr_limits[0].rr_end = 0;
	CHECK(dispatch_ita() == PFMLIB_ERR_DRRINVAL);
	CHECK(pfm_dispatch_events(&in, NULL, &out, &ita_out) == PFMLIB_ERR_INVAL);
}

/* --- Montecito ------------------------------------------------------------------------------ */

static void mont_questions(void)
{
	unsigned int i = event("DATA_EAR_TLB_VHPT");
	pfmlib_mont_ear_mode_t mode;
	unsigned long umask;
	int value;

	CHECK(pfm_mont_is_ear(i) && pfm_mont_is_dear(i) && pfm_mont_is_dear_tlb(i) && !pfm_mont_is_dear_cache(i));
	CHECK(pfm_mont_get_ear_mode(i, &mode) == 0 && mode == PFMLIB_MONT_EAR_TLB_MODE);
	CHECK(pfm_mont_get_event_umask(i, &umask) == 0 && umask == 4 && !pfm_ita2_is_ear(i) && !pfm_ita_is_ear(i));
	CHECK(pfm_mont_get_event_type(i, &value) == 0 && value == PFMLIB_MONT_EVT_FLOATING);
	i = event("DATA_EAR_ALAT");
	CHECK(pfm_mont_is_dear_alat(i) && pfm_mont_get_ear_mode(i, &mode) == 0 && mode == PFMLIB_MONT_EAR_ALAT_MODE);
	i = event("L1I_EAR_CACHE_LAT8");
	CHECK(pfm_mont_is_iear(i) && pfm_mont_is_iear_cache(i) && !pfm_mont_is_iear_tlb(i));
	CHECK(pfm_mont_get_event_umask(i, &umask) == 0 && umask == 0xfe);
	CHECK(pfm_mont_is_etb(event("ETB_EVENT")) && !pfm_mont_is_etb(i));
	i = event("L2D_REFERENCES_ALL");
	CHECK(pfm_mont_get_event_group(i, &value) == 0 && value == PFMLIB_MONT_EVT_L2D_CACHE_GRP);
	CHECK(pfm_mont_get_event_set(i, &value) == 0 && value == 2);
	i = event("CPU_OP_CYCLES_ALL");
	CHECK(pfm_mont_get_event_type(i, &value) == 0 && value == PFMLIB_MONT_EVT_CAUSAL);
	CHECK(pfm_mont_get_event_set(i, &value) == 0 && value == PFMLIB_MONT_EVT_NO_SET);
	CHECK(!pfm_mont_support_iarr(i) && !pfm_mont_support_all(i));
	CHECK(pfm_mont_get_event_type(event("BUS_ALL_ANY"), &value) == 0 && value == PFMLIB_MONT_EVT_SELF_FLOATING);
}

static void mont_buffers(void)
{
	clear();
	add("DATA_EAR_CACHE_LAT64");
	add("L1I_EAR_CACHE_LAT8");
	add("ETB_EVENT");
	CHECK(pfm_dispatch_events(&in, NULL, &out, NULL) == PFMLIB_SUCCESS);
	CHECK(pmc(40) == (USER | 4 << 16 | 2 << 24) && pmc(37) == (USER | 0xfe << 5 | 1 << 13));
	CHECK(pmc(39) == (USER | 0x3f << 8));
	CHECK(out.pfp_pmd_count == 3 + 5 + 18 && has_pmds(32, 36) && has_pmds(38, 39) && has_pmds(48, 63));
	CHECK((pmc(out.pfp_pmds[0].reg_num) >> 24 & 3) == 2);		/* one instruction set */
	clear();
	add("DATA_EAR_TLB_ALL");		/* the trace buffer must be off */
	CHECK(dispatch_mont() == PFMLIB_SUCCESS && pmc(40) == (USER | 1 << 7 | 0xe << 16 | 2 << 24) && pmc(39) == 0);
	CHECK(!has_pmd(38));
	add("ETB_EVENT");
	CHECK(dispatch_mont() == PFMLIB_ERR_EVTINCOMP);
	clear();
	add("CPU_OP_CYCLES_ALL");
	mont.pfp_mont_iear.ear_used = 1;
	mont.pfp_mont_iear.ear_mode = PFMLIB_MONT_EAR_TLB_MODE;
	mont.pfp_mont_iear.ear_umask = 7;
	mont.pfp_mont_iear.ear_plm = PFM_PLM0;
	mont.pfp_mont_etb.etb_used = 1;
	mont.pfp_mont_etb.etb_tm = 2;
	mont.pfp_mont_etb.etb_brt = 1;
	mont.pfp_mont_counters[0].thres = 5;
	CHECK(dispatch_mont() == PFMLIB_SUCCESS && pmc(37) == (1 | 7 << 5) && pmc(39) == (USER | 2 << 8 | 1 << 14));
	CHECK((pmc(out.pfp_pmds[0].reg_num) >> 20 & 7) == 5);
	mont.pfp_mont_iear.ear_mode = PFMLIB_MONT_EAR_ALAT_MODE;
	CHECK(dispatch_mont() == PFMLIB_ERR_INVAL);
	clear();
	add("CPU_OP_CYCLES_ALL");
	mont.pfp_mont_counters[0].flags = PFMLIB_MONT_FL_EVT_ALL_THRD;
	CHECK(dispatch_mont() == PFMLIB_ERR_NOTSUPP);
	clear();
	add("L3_LINES_REPLACED");					/* in all four states */
	CHECK(dispatch_mont() == PFMLIB_SUCCESS && (pmc(out.pfp_pmds[0].reg_num) >> 26) == 0xf << 1);
}

static void mont_ip_ear(void)
{
	clear();
	add("CPU_OP_CYCLES_ALL");
	mont.pfp_mont_ipear.ipear_used = 1;
	mont.pfp_mont_ipear.ipear_delay = 200;
	CHECK(dispatch_mont() == PFMLIB_SUCCESS && pmc(42) == (USER | 4 << 8 | 200 << 11));
	CHECK(has_pmds(38, 39) && has_pmds(48, 63) && pmc(39) == NONE);
	mont.pfp_mont_ipear.ipear_delay = 256;
	CHECK(dispatch_mont() == PFMLIB_ERR_INVAL);
	mont.pfp_mont_ipear.ipear_delay = 0;
	add("ETB_EVENT");
	CHECK(dispatch_mont() == PFMLIB_ERR_FEATCOMB);
}

static void code_range(unsigned long start, unsigned long end, unsigned int flags)
{
	mont.pfp_mont_irange.rr_used = 1;
	mont.pfp_mont_irange.rr_flags = flags;
	mont.pfp_mont_irange.rr_limits[0].rr_start = start;
	mont.pfp_mont_irange.rr_limits[0].rr_end = end;
}

static void mont_code_ranges(void)
{
	const pfmlib_mont_output_rr_t *c = &mont_out.pfp_mont_irange;

	clear();
	add("IA64_INST_RETIRED");
	code_range(0x14000, 0x1f000, PFMLIB_MONT_RR_INV);	/* within 64 KB: fine mode */
	CHECK(dispatch_mont() == PFMLIB_SUCCESS && pfm_mont_irange_is_fine(&out, &mont_out));
	CHECK(c->rr_nbr_used == 4 && c->rr_br[0].reg_value == 0x14000 && c->rr_br[2].reg_num == 4);
	CHECK(c->rr_br[1].reg_value == (0x00ffffffffff0000ULL | USER << 56) && c->rr_br[2].reg_value == 0x1eff0);
	CHECK(pmc(38) == (0xdb6 & ~0x82) + 0x2000);
	/* PMC32: all opcodes; bit 57 clear, bit 56 set: restricted to outside of pair 0 */
	CHECK(pmc(32) == (0xfULL << 48 | 0x1ffffffffffULL | 1ULL << 56) && pmc(33) == NONE);
	CHECK((pmc(41) >> 3 & 3) == 1 && (pmc(41) >> 45 & 0xf) == 1);
	code_range(0x10000, 0x20000, 0);		/* one block, not in fine mode */
	CHECK(dispatch_mont() == PFMLIB_SUCCESS && !pfm_mont_irange_is_fine(&out, &mont_out));
	CHECK(c->rr_nbr_used == 2 && pmc(38) == (0xdb6 & ~2) && !(pmc(32) >> 56));
	clear();
	add("L1I_FILLS");		/* needs a flag: demand fetches or prefetches */
	code_range(0x14000, 0x15000, 0);
	CHECK(dispatch_mont() == PFMLIB_ERR_IRRFLAGS);
	code_range(0x14000, 0x15000, PFMLIB_MONT_IRR_DEMAND_FETCH);
	CHECK(dispatch_mont() == PFMLIB_SUCCESS && c->rr_nbr_used == 4 && c->rr_br[0].reg_num == 0);
	code_range(0x14000, 0x15000, PFMLIB_MONT_IRR_PREFETCH_MATCH);
	CHECK(dispatch_mont() == PFMLIB_SUCCESS && c->rr_nbr_used == 4 && c->rr_br[0].reg_num == 2);
	code_range(0x14000, 0x15000, PFMLIB_MONT_IRR_DEMAND_FETCH | PFMLIB_MONT_IRR_PREFETCH_MATCH);
	CHECK(dispatch_mont() == PFMLIB_SUCCESS && c->rr_nbr_used == 8 && c->rr_br[4].reg_num == 2);
	CHECK(pmc(38) == 0x2000 + 0x924);		/* all four pairs restrict */
}

static void mont_data_ranges(void)
{
	clear();
	add("L3_MISSES");
	mont.pfp_mont_drange.rr_used = 1;
	mont.pfp_mont_drange.rr_limits[0].rr_start = 0x10000;
	mont.pfp_mont_drange.rr_limits[0].rr_end = 0x20000;
	CHECK(dispatch_mont() == PFMLIB_SUCCESS && mont_out.pfp_mont_drange.rr_nbr_used == 2);
	CHECK((pmc(41) >> 45 & 0xf) == 1 && (pmc(41) >> 3 & 3) == 2 && pmc(38) == NONE);
}

static void mont_opcodes(void)
{
	clear();
	add("IA64_TAGGED_INST_RETIRED_IBRP0_PMC32_33");
	mont.pfp_mont_opcm1.opcm_used = 1;
	mont.pfp_mont_opcm1.opcm_m = 1;
	mont.pfp_mont_opcm1.opcm_match = 0x10000000000UL;
	mont.pfp_mont_opcm1.opcm_mask = 0xffffffffffUL;
	CHECK(dispatch_mont() == PFMLIB_SUCCESS);
	CHECK(pmc(32) == (0xffffffffffULL | 1ULL << 51 | 1ULL << 57) && pmc(33) == 0x10000000000ULL);
	CHECK(pmc(34) == NONE && pmc(36) == NONE);
	mont.pfp_mont_opcm2 = mont.pfp_mont_opcm1;
	mont.pfp_mont_opcm2.opcm_b = 1;
	CHECK(dispatch_mont() == PFMLIB_SUCCESS);
	CHECK(pmc(34) == (0xffffffffffULL | 1ULL << 48 | 1ULL << 51) && pmc(35) == 0x10000000000ULL);
	pfm_regmask_set(&in.pfp_unavail_pmcs, 35);
	CHECK(dispatch_mont() == PFMLIB_ERR_NOASSIGN);
	add("L3_REFERENCES");		/* can be combined, CPU_OP_CYCLES_ALL cannot */
	add("CPU_OP_CYCLES_ALL");
	CHECK(dispatch_mont() == PFMLIB_ERR_FEATCOMB);
}

static void model(int type)
{
	CHECK(pfm_force_pmu(type) == PFMLIB_SUCCESS && pfm_initialize() == PFMLIB_SUCCESS);
}

int main(void)
{
	layouts();
	model(PFMLIB_ITANIUM_PMU);
	ita_questions();
	ita_buffers();
	ita_restrictions();
	model(PFMLIB_MONTECITO_PMU);
	mont_questions();
	mont_buffers();
	mont_ip_ear();
	mont_code_ranges();
	mont_data_ranges();
	mont_opcodes();
	return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
