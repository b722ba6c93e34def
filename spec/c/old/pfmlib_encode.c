/* SPDX-License-Identifier: MIT */
/* pfmlib_encode.c - compares PMC values with libpfm4's encoding, for all events of core PMUs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perfmon/pfmlib.h"
#include "pfmlib_both.h"

static pfmlib_input_param_t in;
static pfmlib_output_param_t out;
static unsigned long same, refused, uncountable, wrong;

/* Returns true if the event is refused since only a fixed counter, without modifiers, counts it. */
static int modifies_fixed_event(const char *name, int ret)
{
	return ret == PFMLIB_ERR_NOASSIGN && strstr(name, "=1") &&
		(strstr(name, "REFERENCE_CYCLES") || strstr(name, "CPU_CLK_UNHALTED") ||
		 strstr(name, "PREC_DIST") || strstr(name, "TOPDOWN"));
}

static void complain(const char *name, const char *what)
{
	if (wrong++ < 20)
		printf("%s: %s\n", name, what);
}

/* Returns true if one of the PMCs has this value. */
static int has_value(unsigned long long value)
{
	for (unsigned int i = 0; i < out.pfp_pmc_count; i++)
		if (out.pfp_pmcs[i].reg_value == value)
			return 1;
	return 0;
}

/* Returns true if PMC16's field has libpfm4's levels and "any thread", and the interrupt. */
static int has_field(unsigned long long code)
{
	unsigned long long field = (code >> 17 & 1) | (code >> 15 & 2) | (code >> 19 & 4) | 8;

	return out.pfp_pmcs[0].reg_num == 16 && out.pfp_pmds[0].reg_num >= 16 &&
		out.pfp_pmcs[0].reg_value == field << 4 * (out.pfp_pmds[0].reg_num - 16);
}

static void compare(const char *name, unsigned int plm)
{
	unsigned long long codes[8];
	int n = four_encode(name, plm, codes), ret;

	memset(&in, 0, sizeof(in));
	in.pfp_dfl_plm = plm;
	in.pfp_event_count = 1;
	ret = pfm_find_full_event(name, &in.pfp_events[0]);
	if (ret == PFMLIB_SUCCESS)
		ret = pfm_dispatch_events(&in, NULL, &out, NULL);
	if (n > 0 && modifies_fixed_event(name, ret)) {
		uncountable++;
		return;
	}
	if ((n > 0) != (ret == PFMLIB_SUCCESS)) {
		complain(name, n > 0 ? pfm_dispatch_explain() : "libpfm4 refuses it, we do not");
		return;
	}
	refused += n <= 0;
	for (int i = 0; i < n; i++)
		if (!has_value(codes[i]) && !(i == 0 && has_field(codes[i]))) {
			complain(name, "not libpfm4's value");
			return;
		}
	same += n > 0;
}

/* u=1 or k=1 alone means this level, whatever the default levels are. */
static void visit(const char *name)
{
	compare(name, PFM_PLM3);
	if (!strstr(name, ":u=") && !strstr(name, ":k="))
		compare(name, PFM_PLM0 | PFM_PLM3);
}

int main(void)
{
	int pmus;

	if (pfm_initialize() != PFMLIB_SUCCESS || four_initialize() != 0)
		return 2;
	pmus = four_each(visit);
	printf("%d PMUs, %lu encodings the same, %lu refused by both, %lu for no counter, %lu wrong\n", pmus,
	       same, refused, uncountable, wrong);
	return wrong != 0 || same == 0 || uncountable > 200;
}
