/* SPDX-License-Identifier: MIT */
/* pfmlib_old.c - uses libpfm 3's functions, structures and errors as programs of its time do. */
#include <stdarg.h>
#include <stddef.h>

#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_itanium2.h>

#define EXPLAIN pfm_dispatch_explain
#include "../parts.h"

/* SOFTWARE, the number of software events, comes with -D. */
#define VIRTUAL	5	/* virtual registers: TSTAMP, REALTIME, TID, PID, CPU */

static int lines;

static int count_line(const char *fmt, ...)
{
	(void)fmt;
	return ++lines;
}

static pfmlib_input_param_t in;
static pfmlib_output_param_t out;

static void clear(void)
{
	memset(&in, 0, sizeof(in));
	in.pfp_dfl_plm = PFM_PLM3;
}

static void add(const char *name)
{
	int ret = pfm_find_full_event(name, &in.pfp_events[in.pfp_event_count]);

	if (ret != PFMLIB_SUCCESS) {
		printf("%s: %s: %s\n", name, pfm_strerror(ret), pfm_dispatch_explain());
		failures++;
	}
	in.pfp_event_count++;
}

static int dispatch(void)
{
	return pfm_dispatch_events(&in, NULL, &out, NULL);
}

static void before_initialize(void)
{
	unsigned int n;
	pfmlib_event_t e;
	char name[64];

	CHECK(pfm_get_num_events(&n) == PFMLIB_ERR_NOINIT);
	CHECK(pfm_find_event("cycles", &n) == PFMLIB_ERR_NOINIT);
	CHECK(pfm_find_full_event("cycles", &e) == PFMLIB_ERR_NOINIT);
	CHECK(pfm_get_cycle_event(&e) == PFMLIB_ERR_NOINIT);
	CHECK(pfm_get_pmu_name(name, sizeof(name)) == PFMLIB_ERR_NOINIT);
	CHECK(dispatch() == PFMLIB_ERR_NOINIT);
	CHECK(pfm_get_version(&n) == PFMLIB_SUCCESS && PFMLIB_MAJ_VERSION(n) == 3 &&
	       PFMLIB_MIN_VERSION(n) == 10);
	CHECK(pfm_get_pmu_name_bytype(PFMLIB_ITANIUM2_PMU, name, sizeof(name)) == PFMLIB_SUCCESS);
	CHECK(strcmp(name, "itanium2") == 0);
	CHECK(pfm_get_pmu_name_bytype(999, name, sizeof(name)) == PFMLIB_ERR_INVAL);
	CHECK(pfm_list_supported_pmus(count_line) == PFMLIB_SUCCESS && lines > 5);
	CHECK(pfm_list_supported_pmus(NULL) == PFMLIB_ERR_INVAL);
	CHECK(pfm_force_pmu(999) == PFMLIB_ERR_NOTSUPP);
	CHECK(pfm_set_options(NULL) == PFMLIB_ERR_INVAL);
	CHECK(pfm_force_pmu(PFMLIB_I386_P6_PMU) == PFMLIB_SUCCESS);
}

static void structures(void)
{
	CHECK(sizeof(pfmlib_regmask_t) * 8 == PFMLIB_REG_MAX);
	CHECK(sizeof(pfmlib_reg_t) == 32 && offsetof(pfmlib_reg_t, reg_num) == 16);
	CHECK(sizeof(pfmlib_event_t) == 232 && offsetof(pfmlib_event_t, unit_masks) == 16);
	CHECK(offsetof(pfmlib_input_param_t, pfp_events) == 16);
	CHECK(offsetof(pfmlib_output_param_t, pfp_pmcs) == 8);
	CHECK(PFMLIB_MAX_MASKS_PER_EVENT == 48 && PFMLIB_MAX_PMCS == 512);
	CHECK(PFMLIB_ERR_NOMEM == -23 && PFMLIB_INTEL_WSM_PMU == 41);
}

static void register_masks(void)
{
	pfmlib_regmask_t a = { 0 }, b = { 0 }, c;
	unsigned int n;

	CHECK(pfm_regmask_set(&a, 3) == 0 && pfm_regmask_set(&a, 511) == 0 && pfm_regmask_set(&b, 3) == 0);
	CHECK(pfm_regmask_set(&a, 512) == PFMLIB_ERR_INVAL && pfm_regmask_clr(NULL, 0) == PFMLIB_ERR_INVAL);
	CHECK(pfm_regmask_isset(&a, 511) == 1 && pfm_regmask_isset(&a, 512) == 0);
	CHECK(pfm_regmask_weight(&a, &n) == 0 && n == 2);
	CHECK(pfm_regmask_eq(&a, &b) == 0 && pfm_regmask_eq(&a, &a) == 1 && pfm_regmask_eq(NULL, &a) == 0);
	CHECK(pfm_regmask_and(&c, &a, &b) == 0 && pfm_regmask_eq(&c, &b));
	CHECK(pfm_regmask_andnot(&c, &a, &b) == 0 && pfm_regmask_isset(&c, 511) && !pfm_regmask_isset(&c, 3));
	CHECK(pfm_regmask_or(&c, &c, &b) == 0 && pfm_regmask_eq(&c, &a));
	CHECK(pfm_regmask_not(&c) == 0 && pfm_regmask_weight(&c, &n) == 0 && n == 510);
	CHECK(pfm_regmask_copy(&c, &a) == 0 && pfm_regmask_eq(&c, &a));
}

static void names(void)
{
	unsigned int idx, mask, n;
	pfmlib_event_t e;
	pfmlib_regmask_t counters;
	char name[128], *text;
	size_t len;
	int code;

	CHECK(pfm_get_pmu_type(&code) == 0 && code == PFMLIB_I386_P6_PMU);
	CHECK(pfm_get_num_events(&n) == 0 && n > 70);
	CHECK(pfm_find_event("L2_ifetch:whatever", &idx) == 0);
	CHECK(pfm_get_event_name(idx, name, sizeof(name)) == 0 && strcmp(name, "L2_IFETCH") == 0);
	CHECK(pfm_get_event_name(idx, name, 4) == PFMLIB_ERR_FULL);
	CHECK(pfm_get_event_name(9999, name, sizeof(name)) == PFMLIB_ERR_INVAL);
	CHECK(pfm_find_event("NO_SUCH", &idx) == PFMLIB_ERR_NOTFOUND);
	CHECK(pfm_get_event_code(idx, &code) == 0 && code == 0x28);
	CHECK(pfm_find_event_bycode(0x28, &n) == 0 && n == idx);
	CHECK(pfm_find_event_bycode_next(0x28, idx, &n) == PFMLIB_ERR_NOTFOUND);
	CHECK(pfm_get_num_event_masks(idx, &n) == 0 && n == 4);
	CHECK(pfm_find_event_mask(idx, "e", &mask) == 0 && mask == 2);
	CHECK(pfm_find_event_mask(idx, "X", &mask) == PFMLIB_ERR_UMASK);
	CHECK(pfm_get_event_mask_code(idx, 2, &n) == 0 && n == 4);
	CHECK(pfm_get_event_mask_name(idx, 2, name, sizeof(name)) == 0 && strcmp(name, "E") == 0);
	CHECK(pfm_get_event_description(idx, &text) == 0 && *text);
	free(text);
	CHECK(pfm_get_event_mask_description(idx, 1, &text) == 0 && *text);
	free(text);
	CHECK(pfm_get_max_event_name_len(&len) == 0 && len >= strlen("CYCLES_INT_PENDING_AND_MASKED"));
	CHECK(pfm_find_full_event("L2_IFETCH:M:E", &e) == 0 && e.num_masks == 2);
	CHECK(pfm_get_full_event_name(&e, name, sizeof(name)) == 0 && strcmp(name, "L2_IFETCH:M:E") == 0);
	CHECK(pfm_find_full_event("L2_IFETCH:0xc", &e) == 0 && e.num_masks == 2);
	CHECK(pfm_find_full_event("L2_IFETCH", &e) == PFMLIB_ERR_UMASK);	/* missing */
	CHECK(pfm_find_full_event("L2_IFETCH:M:M", &e) == PFMLIB_ERR_UMASK);		/* twice */
	CHECK(pfm_find_full_event("L2_IFETCH:Q", &e) == PFMLIB_ERR_UMASK);	/* unknown */
	CHECK(pfm_find_full_event("INST_RETIRED:M", &e) == PFMLIB_ERR_UMASK);	/* superfluous */
	CHECK(pfm_find_full_event("BUS_TRANS_WB:SELF:ANY", &e) == PFMLIB_ERR_FEATCOMB);
	CHECK(pfm_find_full_event("BUS_TRANS_WB", &e) == 0);		/* has a default */
	CHECK(pfm_find_event("FLOPS", &idx) == 0 && pfm_get_event_counters(idx, &counters) == 0);
	CHECK(pfm_regmask_weight(&counters, &n) == 0 && n == 1 && pfm_regmask_isset(&counters, 0));
	CHECK(pfm_get_event_code_counter(idx, 0, &code) == 0 && code == 0xc1);
	CHECK(pfm_get_event_code_counter(idx, 1, &code) == PFMLIB_ERR_INVAL);
	CHECK(pfm_get_num_counters(&n) == 0 && n == 2 && pfm_get_hw_counter_width(&n) == 0 && n == 40);
	CHECK(pfm_get_impl_pmcs(&counters) == 0 && pfm_regmask_isset(&counters, 64));
	CHECK(pfm_get_num_pmds(&n) == 0 && n == 2 + SOFTWARE + VIRTUAL);
	CHECK(pfm_get_num_pmcs(&n) == 0 && n == 2 + SOFTWARE);
	CHECK(pfm_get_inst_retired_event(&e) == 0);
	CHECK(strcmp(pfm_strerror(-5), pfm_strerror(-6)) != 0 && pfm_strerror(12345));
}

static void input_checks(void)
{
	clear();
	CHECK(dispatch() == PFMLIB_ERR_INVAL);			/* no events */
	add("cycles");
	in.pfp_dfl_plm = 0;
	CHECK(dispatch() == PFMLIB_ERR_INVAL);
	in.pfp_dfl_plm = PFM_PLM1;				/* x86 has two levels */
	CHECK(dispatch() == PFMLIB_ERR_INVAL);
	in.pfp_dfl_plm = PFM_PLM3;
	CHECK(pfm_dispatch_events(NULL, NULL, &out, NULL) == PFMLIB_ERR_INVAL);
	CHECK(pfm_dispatch_events(&in, NULL, NULL, NULL) == PFMLIB_ERR_INVAL);
	CHECK(pfm_dispatch_events(&in, &in, &out, NULL) == PFMLIB_ERR_INVAL);
	in.pfp_events[0].event = 5000;
	CHECK(dispatch() == PFMLIB_ERR_INVAL);
	clear();
	add("cycles");
	add("instructions");
	add("branches");
	CHECK(dispatch() == PFMLIB_ERR_TOOMANY);
	clear();
	add("page-faults");
	add("page-faults");
	CHECK(dispatch() == PFMLIB_ERR_EVTMANY);
}

static void assignment(void)
{
	unsigned int positions[8], n = 8;

	clear();
	add("INST_RETIRED");
	add("FLOPS");						/* counts on counter 0 alone */
	add("task-clock");
	memset(&out, 0xff, sizeof(out));
	CHECK(dispatch() == PFMLIB_SUCCESS);
	CHECK(out.pfp_pmd_count == 3 && out.pfp_pmds[0].reg_num == 1 && out.pfp_pmds[1].reg_num == 0 &&
	       out.pfp_pmds[2].reg_num == 64);
	CHECK(out.pfp_pmc_count == 3 && out.pfp_pmcs[0].reg_value == 0x5100c0 &&
	       out.pfp_pmcs[0].reg_addr == 0x187);
	CHECK(out.pfp_pmcs[3].reg_num == 0 && out.reserved[0] == 0);
	in.pfp_events[0].plm = PFM_PLM0;
	CHECK(dispatch() == PFMLIB_SUCCESS && out.pfp_pmcs[0].reg_value == 0x5200c0);
	pfm_regmask_set(&in.pfp_unavail_pmcs, 1);
	CHECK(dispatch() == PFMLIB_ERR_NOASSIGN);
	CHECK(pfm_find_conflict(&in, positions, &n) == 0 && n == 2 && positions[0] == 0 && positions[1] == 1);
	clear();
	add("FLOPS");
	add("FP_COMP_OPS_EXE");
	CHECK(dispatch() == PFMLIB_ERR_NOASSIGN);
	CHECK(strstr(pfm_dispatch_explain(), "FLOPS and FP_COMP_OPS_EXE"));
	CHECK(pfm_can_add_event(&in, &in.pfp_events[0]) != PFMLIB_SUCCESS);
}

/* --- Itanium 2 ------------------------------------------------------------------------------ */

static pfmlib_ita2_input_param_t mod_in;
static pfmlib_ita2_output_param_t mod_out;

static void clear_ita2(void)
{
	clear();
	memset(&mod_in, 0, sizeof(mod_in));
}

static int dispatch_ita2(void)
{
	return pfm_dispatch_events(&in, &mod_in, &out, &mod_out);
}

static unsigned long long pmc(unsigned int num)
{
	for (unsigned int i = 0; i < out.pfp_pmc_count; i++)
		if (out.pfp_pmcs[i].reg_num == num)
			return out.pfp_pmcs[i].reg_value;
	return ~0ULL;
}

static void code_range(unsigned long start, unsigned long end, unsigned int flags)
{
	mod_in.pfp_ita2_irange.rr_used = 1;
	mod_in.pfp_ita2_irange.rr_flags = flags;
	mod_in.pfp_ita2_irange.rr_limits[0].rr_start = start;
	mod_in.pfp_ita2_irange.rr_limits[0].rr_end = end;
}

static void ita2_groups(void)
{
	clear();
	add("L1D_READS_SET0");
	add("L1D_READS_SET1");
	CHECK(dispatch() == PFMLIB_ERR_EVTSET);
	clear();
	add("L2_OZQ_CANCELS0_ANY");
	add("L2_OZQ_CANCELS1_REL");
	CHECK(dispatch() == PFMLIB_ERR_EVTINCOMP);
	clear();
	add("DATA_EAR_TLB_ALL");
	add("BRANCH_EVENT");
	CHECK(dispatch() == PFMLIB_ERR_EVTINCOMP);
	clear();
	add("CPU_CYCLES");
	add("L2_REFERENCES");
	add("LOADS_RETIRED");
	CHECK(dispatch() == PFMLIB_SUCCESS);
	CHECK(out.pfp_pmds[1].reg_num == 4 && out.pfp_pmds[2].reg_num == 5);
	clear();
	add("L2_REFERENCES");
	add("L2_FORCE_RECIRC_ANY");
	CHECK(dispatch() == PFMLIB_ERR_EVTSET);
}

static void ita2_buffers(void)
{
	clear_ita2();
	add("DATA_EAR_CACHE_LAT64");
	add("L1I_EAR_CACHE_LAT8");
	CHECK(dispatch() == PFMLIB_SUCCESS);
	CHECK(pmc(11) == (8 | 4 << 16) && pmc(10) == (8 | 0xfe << 5 | 1 << 13));
	CHECK(out.pfp_pmd_count == 7 && out.pfp_pmds[2].reg_num == 0 && out.pfp_pmds[6].reg_num == 17);
	in.pfp_flags = PFMLIB_PFP_SYSTEMWIDE;
	CHECK(dispatch() == PFMLIB_SUCCESS && (pmc(11) & 1 << 6) && (pmc(10) & 1 << 4));
	clear_ita2();
	add("BRANCH_EVENT");
	CHECK(dispatch() == PFMLIB_SUCCESS && pmc(12) == (8 | 0x3f << 8) && out.pfp_pmd_count == 10);
	mod_in.pfp_ita2_btb.btb_used = 1;
	mod_in.pfp_ita2_btb.btb_tm = 2;
	mod_in.pfp_ita2_counters[0].thres = 5;
	CHECK(dispatch_ita2() == PFMLIB_SUCCESS && pmc(12) == (8 | 2 << 8));
	CHECK((pmc(out.pfp_pmds[0].reg_num) >> 20 & 7) == 5);
	clear_ita2();
	add("CPU_CYCLES");
	mod_in.pfp_ita2_dear.ear_used = 1;			/* free running */
	mod_in.pfp_ita2_dear.ear_mode = PFMLIB_ITA2_EAR_TLB_MODE;
	mod_in.pfp_ita2_dear.ear_umask = 0xe;
	CHECK(dispatch_ita2() == PFMLIB_SUCCESS && pmc(11) == (8 | 1 << 7 | 0xe << 16) && pmc(12) == 0);
	mod_in.pfp_ita2_btb.btb_used = 1;
	CHECK(dispatch_ita2() == PFMLIB_ERR_EVTINCOMP);
}

static void ita2_code_ranges(void)
{
	clear_ita2();
	add("IA64_INST_RETIRED");
	code_range(0x4000, 0x4100, 0);				/* fine mode */
	CHECK(pfm_dispatch_events(&in, &mod_in, &out, NULL) == PFMLIB_ERR_INVAL);
	CHECK(dispatch_ita2() == PFMLIB_SUCCESS && pfm_ita2_irange_is_fine(&out, &mod_out));
	CHECK(mod_out.pfp_ita2_irange.rr_nbr_used == 4);
	CHECK(mod_out.pfp_ita2_irange.rr_br[0].reg_value == 0x4000);
	CHECK(mod_out.pfp_ita2_irange.rr_br[1].reg_value == (0x00fffffffffff000ULL | 8ULL << 56));
	CHECK(mod_out.pfp_ita2_irange.rr_br[2].reg_num == 4 &&
	       mod_out.pfp_ita2_irange.rr_br[2].reg_value == 0x40f0);
	CHECK(pmc(14) == (0xdb6 & ~0x82) + 0x2000);
	code_range(0x4000, 0x8000, 0);				/* one aligned block */
	CHECK(dispatch_ita2() == PFMLIB_SUCCESS && !pfm_ita2_irange_is_fine(&out, &mod_out));
	CHECK(mod_out.pfp_ita2_irange.rr_nbr_used == 2 && pmc(14) == (0xdb6 & ~2));
	CHECK(mod_out.pfp_ita2_irange.rr_infos[0].rr_soff == 0 &&
	       mod_out.pfp_ita2_irange.rr_infos[0].rr_eoff == 0);
	CHECK((pmc(13) >> 3 & 3) == 1 && (pmc(13) >> 45 & 0xf) == 1);
	code_range(0x3000, 0x9000, 0);				/* needs more tagged events */
	CHECK(dispatch_ita2() == PFMLIB_ERR_IRRINVAL);
	add("IA64_TAGGED_INST_RETIRED_IBRP1_PMC9");
	add("IA64_TAGGED_INST_RETIRED_IBRP2_PMC8");
	add("IA64_TAGGED_INST_RETIRED_IBRP3_PMC9");
	CHECK(dispatch_ita2() == PFMLIB_SUCCESS && mod_out.pfp_ita2_irange.rr_nbr_used == 6);
	CHECK(mod_out.pfp_ita2_irange.rr_infos[0].rr_soff == 0 &&
	       mod_out.pfp_ita2_irange.rr_infos[0].rr_eoff == 0);
	clear_ita2();
	add("L1I_READS");
	code_range(0x3000, 0x9000, 0);				/* has one register pair */
	CHECK(dispatch_ita2() == PFMLIB_SUCCESS && mod_out.pfp_ita2_irange.rr_nbr_used == 2);
	CHECK(mod_out.pfp_ita2_irange.rr_infos[0].rr_soff == 0x3000 &&
	       mod_out.pfp_ita2_irange.rr_infos[0].rr_eoff == 0x7000);
	mod_in.pfp_ita2_irange.rr_limits[1].rr_start = 0x20000;
	mod_in.pfp_ita2_irange.rr_limits[1].rr_end = 0x30000;
	CHECK(dispatch_ita2() == PFMLIB_ERR_IRRTOOMANY);
}

static void ita2_range_errors(void)
{
	clear_ita2();
	add("IA64_INST_RETIRED");
	code_range(0x4008, 0x4100, 0);
	CHECK(dispatch_ita2() == PFMLIB_ERR_IRRALIGN);
	code_range(0x4100, 0x4000, 0);
	CHECK(dispatch_ita2() == PFMLIB_ERR_IRRINVAL);
	code_range(0x4100, 0x4100, 0);
	CHECK(dispatch_ita2() == PFMLIB_ERR_IRREMPTY);
	code_range(0, 0, 0);
	CHECK(dispatch_ita2() == PFMLIB_ERR_IRRINVAL);
	clear_ita2();
	add("L1I_READS");
	code_range(0x10, 0xfffffffffffffff0UL, 0);
	CHECK(dispatch_ita2() == PFMLIB_ERR_IRRTOOBIG);
	clear_ita2();
	add("CPU_CYCLES");					/* cannot be restricted */
	code_range(0x4000, 0x4100, 0);
	CHECK(dispatch_ita2() == PFMLIB_ERR_FEATCOMB);
	mod_in.pfp_ita2_counters[0].flags = PFMLIB_ITA2_FL_EVT_NO_QUALCHECK;
	CHECK(dispatch_ita2() == PFMLIB_SUCCESS);
	in.pfp_events[0].plm = PFM_PLM0;
	CHECK(dispatch_ita2() == PFMLIB_ERR_FEATCOMB);
	CHECK(pfm_dispatch_events(&in, NULL, &out, &mod_out) == PFMLIB_ERR_INVAL);
}

static void ita2_data_ranges(void)
{
	pfmlib_ita2_output_rr_t *d = &mod_out.pfp_ita2_drange;

	clear_ita2();
	add("L2_MISSES");
	mod_in.pfp_ita2_drange.rr_used = 1;
	CHECK(dispatch_ita2() == PFMLIB_ERR_DRRINVAL);
	mod_in.pfp_ita2_drange.rr_limits[0].rr_start = 0x1001;
	mod_in.pfp_ita2_drange.rr_limits[0].rr_end = 0x1004;
	CHECK(dispatch_ita2() == PFMLIB_SUCCESS && d->rr_nbr_used == 4);
	CHECK(d->rr_infos[0].rr_soff == 0 && d->rr_infos[0].rr_eoff == 0);
	CHECK((pmc(13) >> 45 & 0xf) == 3 && (pmc(13) >> 3 & 3) == 2 && (pmc(13) >> 11 & 3) == 2);
	CHECK(pmc(14) == ~0ULL && pmc(15) == ~0ULL);
	mod_in.pfp_ita2_drange.rr_limits[1].rr_start = 0x2000;
	mod_in.pfp_ita2_drange.rr_limits[1].rr_end = 0x1000;
	CHECK(dispatch_ita2() == PFMLIB_ERR_DRRINVAL);
}

static void ita2_opcodes(void)
{
	clear_ita2();
	add("IA64_TAGGED_INST_RETIRED_IBRP0_PMC8");
	mod_in.pfp_ita2_pmc8.opcm_used = 1;
	mod_in.pfp_ita2_pmc8.pmc_val = 0x123400003000f000UL;
	CHECK(dispatch_ita2() == PFMLIB_SUCCESS);
	CHECK((pmc(8) & ~7ULL) == 0x123400003000f000ULL && (pmc(8) & 7) == 5 && pmc(15) == 0xfffffffe);
	mod_in.pfp_ita2_pmc9.opcm_used = 1;
	CHECK(dispatch_ita2() == PFMLIB_SUCCESS && pmc(9) == 5 && pmc(15) == 0xfffffff4);
	add("NOPS_RETIRED");
	/* PMC9 matches for retired instructions only */
	CHECK(dispatch_ita2() == PFMLIB_ERR_FEATCOMB);
	mod_in.pfp_ita2_pmc9.opcm_used = 0;
	CHECK(dispatch_ita2() == PFMLIB_SUCCESS);
	pfm_regmask_set(&in.pfp_unavail_pmcs, 8);
	CHECK(dispatch_ita2() == PFMLIB_ERR_NOASSIGN);
}

static void ita2_queries(void)
{
	pfmlib_ita2_ear_mode_t mode;
	unsigned long umask;
	unsigned int i, n;
	int value;

	CHECK(pfm_get_num_events(&n) == 0 && n == 497 + SOFTWARE + VIRTUAL);
	CHECK(pfm_find_event("DATA_EAR_TLB_VHPT", &i) == 0);
	CHECK(pfm_ita2_is_ear(i) && pfm_ita2_is_dear(i) && pfm_ita2_is_dear_tlb(i) && !pfm_ita2_is_iear(i));
	CHECK(pfm_ita2_get_ear_mode(i, &mode) == 0 && mode == PFMLIB_ITA2_EAR_TLB_MODE);
	CHECK(pfm_ita2_get_event_umask(i, &umask) == 0 && umask == 4);
	CHECK(pfm_find_event("L2_REFERENCES", &i) == 0 && pfm_ita2_get_event_group(i, &value) == 0 &&
	       value == PFMLIB_ITA2_EVT_L2_CACHE_GRP && pfm_ita2_get_event_set(i, &value) == 0 && value == 1);
	CHECK(pfm_find_event("CPU_CYCLES", &i) == 0 && pfm_ita2_get_event_set(i, &value) == 0 &&
	       value == PFMLIB_ITA2_EVT_NO_SET && !pfm_ita2_support_iarr(i));
	CHECK(pfm_find_event("IA64_INST_RETIRED", &i) == 0 && pfm_ita2_support_opcm(i) &&
	       pfm_ita2_get_event_maxincr(i, &n) == 0 && n == 6);
	CHECK(pfm_find_event("task-clock", &i) == 0 && !pfm_ita2_is_btb(i) &&
	       pfm_ita2_get_event_group(i, &value) == PFMLIB_ERR_INVAL);
}

int main(void)
{
	before_initialize();
	CHECK(pfm_initialize() == PFMLIB_SUCCESS);
	structures();
	register_masks();
	names();
	input_checks();
	assignment();
	CHECK(pfm_force_pmu(PFMLIB_ITANIUM2_PMU) == PFMLIB_SUCCESS);
	ita2_groups();
	ita2_buffers();
	ita2_code_ranges();
	ita2_range_errors();
	ita2_data_ranges();
	ita2_opcodes();
	ita2_queries();
	printf("%d failures\n", failures);
	return failures != 0;
}
