// SPDX-License-Identifier: MIT
/* explain.c - explains in words, for each thread, why a call failed. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "model.h"

static __thread char text[1024];

void pfl_explain_clear(void)
{
	text[0] = '\0';
}

int pfl_explain(int error, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	pfl_verbose("%s", text);
	return error;
}

const char *pfm_dispatch_explain(void)
{
	return text;
}

void pfl_event_text(const pfmlib_event_t *e, char *buf, size_t size)
{
	pfmlib_event_t copy = *e;

	if (pfm_get_full_event_name(&copy, buf, size) != PFMLIB_SUCCESS)
		snprintf(buf, size, "event %u", e->event);
}

/* Lists names as in "A, B and C". */
static void list_names(const struct pfl_demand *const *d, unsigned int n, char *buf, size_t size)
{
	size_t len = 0;

	buf[0] = '\0';
	for (unsigned int i = 0; i < n && len + 1 < size; i++) {
		char name[256];

		pfl_event_text(&d[i]->event, name, sizeof(name));
		len += snprintf(buf + len, size - len, "%s%s",
				i == 0 ? "" : i + 1 == n ? " and " : ", ", name);
	}
}

/* Returns a register that two of the events need with different values, or -1. */
static int disputed_register(const struct pfl_demand *const *d, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		for (unsigned int k = 0; k < i; k++)
			for (unsigned int a = 0; a < d[i]->nshared; a++)
				for (unsigned int b = 0; b < d[k]->nshared; b++)
					if (d[i]->shared[a].pmc == d[k]->shared[b].pmc &&
					    d[i]->shared[a].value != d[k]->shared[b].value)
						return d[i]->shared[a].pmc;
	return -1;
}

static void list_counters(const struct pfl_demand *const *d, unsigned int n, char *buf, size_t size)
{
	pfmlib_regmask_t pmds = { 0 };
	size_t len = 0;

	for (unsigned int i = 0; i < n; i++)
		for (unsigned int a = 0; a < d[i]->nalts; a++)
			pfm_regmask_set(&pmds, d[i]->alts[a].pmd);
	buf[0] = '\0';
	for (unsigned int i = 0; i < PFL_NUM_CLAIMS && len + 1 < size; i++)
		if (pfm_regmask_isset(&pmds, i))
			len += snprintf(buf + len, size - len, "%s%u", len ? ", " : "", i);
}

void pfl_explain_events(const struct pfl_model *m, const struct pfl_demand *const *d, unsigned int n)
{
	int pmc = disputed_register(d, n);
	char names[700], counters[128];
	const char *reg = NULL;

	list_names(d, n, names, sizeof(names));
	if (pmc >= 0) {
		if (m->ops->reg_name)
			reg = m->ops->reg_name(m, pmc);
		pfl_explain(0, "%s cannot be counted together: they want different values in %s%s%u%s",
			    names, reg ? reg : "", reg ? " (PMC " : "PMC ", pmc, reg ? ")" : "");
		return;
	}
	list_counters(d, n, counters, sizeof(counters));
	pfl_explain(0, "%s cannot be counted together: all they can use is PMD %s", names, counters);
}
