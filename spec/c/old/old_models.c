// SPDX-License-Identifier: MIT
/* old_models.c - options that programs of libpfm 3 pass to pfm_dispatch_events() on x86. */

#include <perfmon/pfmlib_amd64.h>
#include <perfmon/pfmlib_core.h>
#include <perfmon/pfmlib_gen_ia32.h>
#include <perfmon/pfmlib_i386_p6.h>
#include <perfmon/pfmlib_intel_atom.h>
#include <perfmon/pfmlib_intel_nhm.h>
#include <perfmon/pfmlib_pentium4.h>

#define EXPLAIN pfm_dispatch_explain
#include "../parts.h"

static pfmlib_input_param_t in;
static pfmlib_output_param_t out;

static void model(int type, const char *first, const char *second)
{
	CHECK(pfm_force_pmu(type) == PFMLIB_SUCCESS && pfm_initialize() == PFMLIB_SUCCESS);
	memset(&in, 0, sizeof(in));
	in.pfp_dfl_plm = PFM_PLM3;
	in.pfp_event_count = 2;
	CHECK(pfm_find_full_event(first, &in.pfp_events[0]) == PFMLIB_SUCCESS);
	CHECK(pfm_find_full_event(second, &in.pfp_events[1]) == PFMLIB_SUCCESS);
}

/* Checks the EVTSEL value of event i: threshold in bits 24 to 31, inversion 23, edge 18. */
static void expect(const void *model_in, unsigned int i, unsigned int cmask, unsigned int inv, unsigned int edge)
{
	unsigned long long value;

	CHECK(pfm_dispatch_events(&in, (void *)model_in, &out, NULL) == PFMLIB_SUCCESS);
	value = out.pfp_pmcs[i].reg_value;
	CHECK((value >> 24 & 0xff) == cmask && (value >> 23 & 1) == inv && (value >> 18 & 1) == edge);
}

static void amd64(void)
{
	pfmlib_amd64_input_param_t mod;
	pfmlib_amd64_output_param_t mod_out;

	memset(&mod, 0, sizeof(mod));
	model(PFMLIB_AMD64_PMU, "RETIRED_INSTRUCTIONS", "CPU_CLK_UNHALTED");
	expect(&mod, 0, 0, 0, 0);
	mod.pfp_amd64_counters[1].cnt_mask = 3;
	mod.pfp_amd64_counters[1].flags = PFM_AMD64_SEL_INV;
	expect(&mod, 0, 0, 0, 0);
	expect(&mod, 1, 3, 1, 0);
	CHECK(pfm_dispatch_events(&in, &mod, &out, &mod_out) == PFMLIB_SUCCESS);
	CHECK(pfm_dispatch_events(&in, NULL, &out, &mod_out) == PFMLIB_ERR_INVAL);
	mod.pfp_amd64_counters[1].cnt_mask = 256;
	CHECK(pfm_dispatch_events(&in, &mod, &out, NULL) == PFMLIB_ERR_INVAL);
	CHECK(strstr(pfm_dispatch_explain(), "cnt_mask 256"));
	mod.pfp_amd64_counters[1].cnt_mask = 1;
	mod.pfp_amd64_counters[1].flags = 0x10;
	CHECK(pfm_dispatch_events(&in, &mod, &out, NULL) == PFMLIB_ERR_INVAL);
	mod.pfp_amd64_counters[1].flags = 0;
	mod.flags = PFMLIB_AMD64_USE_IBSOP | 4;
	CHECK(pfm_dispatch_events(&in, &mod, &out, &mod_out) == PFMLIB_ERR_INVAL);
	mod.flags = PFMLIB_AMD64_USE_IBSOP;
	/* the call needs the output of the model */
	CHECK(pfm_dispatch_events(&in, &mod, &out, NULL) == PFMLIB_ERR_INVAL);
}

static uint64_t pmc(unsigned int num)
{
	for (unsigned int i = 0; i < out.pfp_pmc_count; i++)
		if (out.pfp_pmcs[i].reg_num == num)
			return out.pfp_pmcs[i].reg_value;
	return 0;
}

/* Checks the library's values, and single bits, by the structures of the registers. */
static void ibs_types(void)
{
	ibsfetchctl_t fetch = { pmc(4) };
	ibsopctl_t op = { pmc(5) };
	ibsopdata_t data = { 0x1234ULL << 16 | 1ULL << 32 | 1ULL << 37 };
	ibsopdata2_t data2 = { 3 | 1ULL << 5 };
	ibsopdata3_t data3 = { 1ULL << 1 | 1ULL << 7 | 1ULL << 18 | 0x1234ULL << 32 };

	CHECK(fetch.reg.ibsfetchmaxcnt == 0x1234 && fetch.reg.ibsfetchen && fetch.reg.ibsranden);
	CHECK(!fetch.reg.ibsfetchcnt && !fetch.reg.ibsfetchlat && !fetch.reg.ibsfetchval && !fetch.reg.ibsl2tlbmiss);
	CHECK(op.reg.ibsopmaxcnt == 0xffff && op.reg.ibsopen && op.reg.ibsopcntl && !op.reg.ibsopval);
	CHECK(data.reg.ibstagtoretctr == 0x1234 && data.reg.ibsopbrnresync && data.reg.ibsopbrnret);
	CHECK(!data.reg.ibscomptoretctr && !data.reg.ibsopbrnmisp);
	CHECK(data2.reg.nbibsreqsrc == 3 && !data2.reg.nbibsreqdstproc && data2.reg.nbibsreqcachehitst);
	CHECK(!data3.reg.ibsldop && data3.reg.ibsstop && data3.reg.ibsdcmiss && !data3.reg.ibsdcmissacc);
	CHECK(data3.reg.ibsdcphyaddrvalid && !data3.reg.ibsdclinaddrvalid && data3.reg.ibsdcmisslat == 0x1234);
	CHECK(PMD_IBSFETCHPHYSAD == 2 && PMD_IBSDCPHYSAD == 6);
}

/* IbsFetchCtl: period / 16, on 48, random 57; IbsOpCtl: period / 16, on 17, of operations 19. */
static void ibs(void)
{
	pfmlib_amd64_input_param_t mod = { .flags = PFMLIB_AMD64_USE_IBSFETCH | PFMLIB_AMD64_USE_IBSOP };
	pfmlib_amd64_output_param_t mod_out;

	CHECK(pfm_force_pmu_byname("amd64_fam10h_barcelona") == PFMLIB_SUCCESS && pfm_initialize() == PFMLIB_SUCCESS);
	memset(&in, 0, sizeof(in));
	in.pfp_dfl_plm = PFM_PLM3;
	in.pfp_event_count = 1;
	CHECK(pfm_find_full_event("RETIRED_INSTRUCTIONS", &in.pfp_events[0]) == PFMLIB_SUCCESS);
	mod.ibsfetch = (ibs_param_t) { 0x12340, IBS_OPTIONS_RANDEN };
	mod.ibsop = (ibs_param_t) { 0xffff0, IBS_OPTIONS_UOPS };
	CHECK(pfm_dispatch_events(&in, &mod, &out, &mod_out) == PFMLIB_SUCCESS);
	CHECK(pmc(4) == (0x1234 | 1ULL << 48 | 1ULL << 57) && pmc(5) == (0xffff | 1ULL << 17 | 1ULL << 19));
	CHECK(out.pfp_pmd_count == 3 && mod_out.ibsfetch_base == 1 && mod_out.ibsop_base == 2);
	CHECK(out.pfp_pmds[1].reg_num == 4 && out.pfp_pmds[2].reg_num == 7);
	ibs_types();
	mod.ibsop.options = 0;
	mod.flags = PFMLIB_AMD64_USE_IBSOP;
	CHECK(pfm_dispatch_events(&in, &mod, &out, &mod_out) == PFMLIB_SUCCESS);
	CHECK(!pmc(4) && pmc(5) == (0xffff | 1ULL << 17) && mod_out.ibsop_base == 1);
	/* the call works without events, too */
	CHECK(pfm_dispatch_events(NULL, &mod, &out, &mod_out) == PFMLIB_SUCCESS);
	CHECK(pmc(5) == (0xffff | 1ULL << 17) && out.pfp_pmc_count == 1);
	CHECK(out.pfp_pmd_count == 1 && out.pfp_pmds[0].reg_num == 7 && mod_out.ibsop_base == 0);
	in.pfp_event_count = 0;
	CHECK(pfm_dispatch_events(&in, &mod, &out, &mod_out) == PFMLIB_SUCCESS && out.pfp_pmc_count == 1);
	mod.flags = 0;
	CHECK(pfm_dispatch_events(NULL, &mod, &out, &mod_out) == PFMLIB_ERR_INVAL);
	CHECK(pfm_dispatch_events(&in, &mod, &out, &mod_out) == PFMLIB_ERR_INVAL);
	mod.flags = PFMLIB_AMD64_USE_IBSOP;
	in.pfp_event_count = 1;
	mod.ibsop.maxcnt = 0x100000;
	CHECK(pfm_dispatch_events(&in, &mod, &out, &mod_out) == PFMLIB_ERR_INVAL);
	mod.ibsop.maxcnt = 16;
	pfm_regmask_set(&in.pfp_unavail_pmcs, 5);
	CHECK(pfm_dispatch_events(&in, &mod, &out, &mod_out) == PFMLIB_ERR_NOASSIGN);
	CHECK(pfm_force_pmu_byname("amd64_k8_revb") == PFMLIB_SUCCESS && pfm_initialize() == PFMLIB_SUCCESS);
	CHECK(pfm_find_full_event("RETIRED_INSTRUCTIONS", &in.pfp_events[0]) == PFMLIB_SUCCESS);
	CHECK(pfm_dispatch_events(&in, &mod, &out, &mod_out) == PFMLIB_ERR_BADHOST);
}

static void core(void)
{
	pfmlib_core_input_param_t mod;

	memset(&mod, 0, sizeof(mod));
	model(PFMLIB_CORE_PMU, "UNHALTED_CORE_CYCLES", "INSTRUCTION_RETIRED");
	mod.pfp_core_counters[0].cnt_mask = 2;
	mod.pfp_core_counters[0].flags = PFM_CORE_SEL_EDGE;
	expect(&mod, 0, 2, 0, 1);
	expect(&mod, 1, 0, 0, 0);
	mod.pfp_core_counters[0].flags = PFM_CORE_SEL_ANYTHR;	/* Core has no such bit */
	CHECK(pfm_dispatch_events(&in, &mod, &out, NULL) == PFMLIB_ERR_INVAL);
	memset(&mod, 0, sizeof(mod));
	model(PFMLIB_CORE_PMU, "LAST_LEVEL_CACHE_MISSES", "X87_OPS_RETIRED:ANY");
	CHECK(pfm_dispatch_events(&in, &mod, &out, NULL) == PFMLIB_SUCCESS && !pmc(17));
	mod.pfp_core_pebs.pebs_used = 1;
	CHECK(pfm_core_is_pebs(&in.pfp_events[1]) && !pfm_core_is_pebs(&in.pfp_events[0]));
	CHECK(pfm_dispatch_events(&in, &mod, &out, NULL) == PFMLIB_SUCCESS);
	CHECK(pmc(17) == 1 && out.pfp_pmds[1].reg_num == 0);	/* only counter 0 has PEBS */
	pfm_regmask_set(&in.pfp_unavail_pmcs, 17);
	CHECK(pfm_dispatch_events(&in, &mod, &out, NULL) == PFMLIB_ERR_NOASSIGN);
}

static void atom(void)
{
	pfmlib_intel_atom_input_param_t mod;

	memset(&mod, 0, sizeof(mod));
	model(PFMLIB_INTEL_ATOM_PMU, "UNHALTED_CORE_CYCLES", "INSTRUCTION_RETIRED");
	mod.pfp_intel_atom_counters[0].cnt_mask = 2;
	mod.pfp_intel_atom_counters[0].flags = PFM_INTEL_ATOM_SEL_INV;
	expect(&mod, 0, 2, 1, 0);
	mod.pfp_intel_atom_pebs_used = 1;
	CHECK(pfm_dispatch_events(&in, &mod, &out, NULL) == PFMLIB_ERR_NOTSUPP);
}

static void nhm(void)
{
	pfmlib_nhm_input_param_t mod;
	pfmlib_event_t e;

	memset(&mod, 0, sizeof(mod));
	memset(&e, 0, sizeof(e));
	model(PFMLIB_INTEL_NHM_PMU, "INST_RETIRED:ANY_P", "BR_MISP_EXEC:ANY");
	mod.pfp_nhm_counters[1].cnt_mask = 4;
	mod.pfp_nhm_counters[1].flags = PFM_NHM_SEL_EDGE;
	expect(&mod, 1, 4, 0, 1);
	CHECK(pfm_nhm_is_pebs(&in.pfp_events[0]) && !pfm_nhm_is_pebs(&in.pfp_events[1]));
	CHECK(!pfm_core_is_pebs(&in.pfp_events[0]) && !pfm_nhm_is_uncore(&in.pfp_events[0]));
	e.event = 0xffff;
	CHECK(!pfm_nhm_is_pebs(&e) && !pfm_nhm_is_pebs(NULL));
	mod.pfp_nhm_counters[1].flags = PFM_NHM_SEL_OCC_RST;
	CHECK(pfm_dispatch_events(&in, &mod, &out, NULL) == PFMLIB_ERR_INVAL);
	mod.pfp_nhm_counters[1].flags = 0;
}

/* LBR_SELECT: bit 0 leaves out level 0, bit 1 the other levels. */
static void nhm_lbr(void)
{
	pfmlib_nhm_input_param_t mod = { .pfp_nhm_lbr = { .lbr_used = 1 } };

	model(PFMLIB_INTEL_NHM_PMU, "INST_RETIRED:ANY_P", "BR_MISP_EXEC:ANY");
	CHECK(pfm_dispatch_events(&in, &mod, &out, NULL) == PFMLIB_SUCCESS && pmc(30) == 1);
	CHECK(out.pfp_pmd_count == 2 + 33);
	for (unsigned int i = 0; i < 33; i++)
		CHECK(out.pfp_pmds[2 + i].reg_num == 31 + i);
	mod.pfp_nhm_lbr.lbr_plm = PFM_PLM0;
	mod.pfp_nhm_lbr.lbr_filter = PFMLIB_NHM_LBR_JCC | PFMLIB_NHM_LBR_FAR_BRANCH;
	CHECK(pfm_dispatch_events(&in, &mod, &out, NULL) == PFMLIB_SUCCESS && pmc(30) == (2 | 0x104));
	mod.pfp_nhm_lbr.lbr_filter = 0x200;
	CHECK(pfm_dispatch_events(&in, &mod, &out, NULL) == PFMLIB_ERR_INVAL);
	mod.pfp_nhm_lbr.lbr_filter = 0;
	pfm_regmask_set(&in.pfp_unavail_pmcs, 30);
	CHECK(pfm_dispatch_events(&in, &mod, &out, NULL) == PFMLIB_ERR_NOASSIGN);
}

/*
 * PEBS_ENABLE: a bit for each counter with PEBS, and from bit 32 on for each with load latencies.
 */
static void nhm_pebs(void)
{
	pfmlib_nhm_input_param_t mod = { .pfp_nhm_pebs = { .pebs_used = 1, .ld_lat_thres = 20 } };
	unsigned int first, second;
	char *text = NULL;

	model(PFMLIB_INTEL_NHM_PMU, "INST_RETIRED:ANY_P", "MEM_INST_RETIRED:LATENCY_ABOVE_THRESHOLD:ldlat=3");
	CHECK(pfm_nhm_is_pebs(&in.pfp_events[0]) && pfm_nhm_is_pebs(&in.pfp_events[1]));
	CHECK(pfm_dispatch_events(&in, &mod, &out, NULL) == PFMLIB_SUCCESS);
	first = out.pfp_pmds[0].reg_num;
	second = out.pfp_pmds[1].reg_num;
	CHECK(first < 4 && second < 4);
	CHECK(pmc(17) == (1ULL << first | 1ULL << second | 1ULL << (32 + second)) && pmc(18) == 20);
	mod.pfp_nhm_pebs.ld_lat_thres = 2;
	CHECK(pfm_dispatch_events(&in, &mod, &out, NULL) == PFMLIB_ERR_INVAL);
	mod.pfp_nhm_pebs.ld_lat_thres = 0;
	CHECK(pfm_dispatch_events(&in, &mod, &out, NULL) == PFMLIB_SUCCESS && !(pmc(17) >> 32));
	CHECK(pfm_nhm_data_src_desc(10, &text) == PFMLIB_SUCCESS && strstr(text, "local memory"));
	free(text);
	CHECK(pfm_nhm_data_src_desc(16, &text) == PFMLIB_ERR_INVAL);
	CHECK(pfm_nhm_data_src_desc(1, NULL) == PFMLIB_ERR_INVAL);
}

/* libpfm4 has the architectural PMU only on processors that have it. */
static void gen_ia32(void)
{
	pfmlib_gen_ia32_input_param_t mod;

	if (pfm_is_pmu_supported(PFMLIB_GEN_IA32_PMU) != PFMLIB_SUCCESS)
		return;
	memset(&mod, 0, sizeof(mod));
	model(PFMLIB_GEN_IA32_PMU, "UNHALTED_CORE_CYCLES", "INSTRUCTION_RETIRED");
	mod.pfp_gen_ia32_counters[0].cnt_mask = 2;
	mod.pfp_gen_ia32_counters[0].flags = PFM_GEN_IA32_SEL_INV;
	expect(&mod, 0, 2, 1, 0);
}

/* Checks the layouts of the dispatched values. */
static void pentium4(void)
{
	pentium4_escr_value_t escr;
	pentium4_cccr_value_t cccr;

	model(PFMLIB_PENTIUM4_PMU, "GLOBAL_POWER_EVENTS:RUNNING", "instr_retired:nbogusntag");
	CHECK(pfm_dispatch_events(&in, NULL, &out, NULL) == PFMLIB_SUCCESS);
	escr.val = out.pfp_pmcs[0].reg_value;
	cccr.val = out.pfp_pmcs[1].reg_value;
	CHECK(escr.bits.event_select == 0x13 && escr.bits.event_mask == 1);
	CHECK(escr.bits.t0_usr && !escr.bits.t0_os);
	CHECK(cccr.bits.enable && cccr.bits.escr_select == 6 && cccr.bits.active_thread == 3);
}

static void p6(void)
{
	pfmlib_i386_p6_input_param_t mod;

	memset(&mod, 0, sizeof(mod));
	model(PFMLIB_I386_P6_PMU, "CPU_CLK_UNHALTED", "INST_RETIRED");
	mod.pfp_i386_p6_counters[1].cnt_mask = PFM_I386_P6_CNT_MASK_2;
	mod.pfp_i386_p6_counters[1].flags = PFM_I386_P6_SEL_INV | PFM_I386_P6_SEL_EDGE;
	expect(&mod, 0, 0, 0, 0);
	expect(&mod, 1, 2, 1, 1);
	CHECK(pfm_find_full_event("PAGE_FAULTS", &in.pfp_events[0]) == PFMLIB_SUCCESS);
	expect(&mod, 1, 2, 1, 1);
}

static void others(void)
{
	pfmlib_core_input_param_t mod;

	memset(&mod, 0, sizeof(mod));
	CHECK(pfm_force_pmu_byname("skl") == PFMLIB_SUCCESS && pfm_initialize() == PFMLIB_SUCCESS);
	in.pfp_event_count = 1;
	CHECK(pfm_find_full_event("cycles", &in.pfp_events[0]) == PFMLIB_SUCCESS);
	CHECK(pfm_dispatch_events(&in, &mod, &out, NULL) == PFMLIB_ERR_INVAL);
	CHECK(strstr(pfm_dispatch_explain(), "skl has no input of its own"));
}

int main(void)
{
	amd64();
	ibs();
	core();
	atom();
	nhm();
	nhm_lbr();
	nhm_pebs();
	gen_ia32();
	pentium4();
	p6();
	others();
	return failures != 0;
}
