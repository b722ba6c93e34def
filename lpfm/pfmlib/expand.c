// SPDX-License-Identifier: MIT
/* expand.c - names that stand for several events: formulas, down to a model's own events. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "model.h"

#define DEEPEST 8

struct expansion {
	const struct pfl_model	*m;
	pfmlib_expansion_t	*x;
	char			formula[sizeof(((pfmlib_expansion_t *)0)->formula)];
	size_t			len;
};

static int append(struct expansion *s, const char *text, size_t len)
{
	if (s->len + len + 1 > sizeof(s->formula))
		return pfl_explain(PFMLIB_ERR_TOOMANY, "the formula is too long");
	memcpy(s->formula + s->len, text, len);
	s->len += len;
	s->formula[s->len] = '\0';
	return PFMLIB_SUCCESS;
}

static int add_event(struct expansion *s, const pfmlib_event_t *e)
{
	pfmlib_expansion_t *x = s->x;
	unsigned int i = 0;
	char term[16];

	while (i < x->count && !pfl_same_event(&x->events[i], e))
		i++;
	if (i == PFMLIB_MAX_TERMS)
		return pfl_explain(PFMLIB_ERR_TOOMANY, "a formula of more than %d events",
				   PFMLIB_MAX_TERMS);
	x->events[i] = *e;
	if (i == x->count)
		x->count++;
	snprintf(term, sizeof(term), "$%u", i + 1);
	return append(s, term, strlen(term));
}

static int unknown(const struct pfl_model *m, const char *text, size_t len)
{
	char near[96], name[128];

	snprintf(name, sizeof(name), "%.*s", (int)len, text);
	if (pfm_suggest_event(m->name, name, near, sizeof(near)) == PFMLIB_SUCCESS)
		return pfl_explain(PFMLIB_ERR_NOTFOUND, "%s has no event %s; did you mean %s?", m->name,
				   name, near);
	return pfl_explain(PFMLIB_ERR_NOTFOUND, "%s has no event %s%s", m->name, name,
			   pfl_why_no_hardware_event(m));
}

static int expand(struct expansion *s, const char *text, size_t len, const char *mods, int depth);

/* Expands the terms of a formula. Each gets the modifiers of the name that has the formula. */
static int expand_formula(struct expansion *s, const char *formula, const char *mods, int depth)
{
	bool several = strchr(formula, ' ') != NULL && depth > 1;
	int ret = several ? append(s, "(", 1) : PFMLIB_SUCCESS;

	while (ret == PFMLIB_SUCCESS && *formula) {
		size_t len = strcspn(formula, " ");

		if (len == 1 && !isalnum((unsigned char)*formula))
			ret = append(s, formula, 1);
		else if (len)
			ret = expand(s, formula, len, mods, depth);
		formula += len;
		if (ret == PFMLIB_SUCCESS && *formula == ' ') {
			ret = append(s, " ", 1);
			formula++;
		}
	}
	return ret == PFMLIB_SUCCESS && several ? append(s, ")", 1) : ret;
}

/* Parses "name:mods", with the modifiers of an outer name added. */
static int parse_with(struct expansion *s, const char *text, size_t len, const char *mods,
		      pfmlib_event_t *e)
{
	char full[1024];
	int n = snprintf(full, sizeof(full), "%.*s%s", (int)len, text, mods);

	if (n >= (int)sizeof(full))
		return pfl_explain(PFMLIB_ERR_INVAL, "the event's name is too long");
	return pfl_parse_event(s->m, full, n, e);
}

static int expand(struct expansion *s, const char *text, size_t len, const char *mods, int depth)
{
	const char *colon = memchr(text, ':', len), *formula;
	size_t head = colon ? (size_t)(colon - text) : len;
	char inner[256];
	pfmlib_event_t e;
	int ret;

	formula = depth < DEEPEST ? pfl_preset(s->m, text, head) : NULL;
	/*
	 * A generic name with a dash takes precedence over an event: dTLB-load-misses is not the
	 * event DTLB_LOAD_MISSES, although '-' and '_' are equal in names.
	 */
	if (!formula || !memchr(text, '-', head)) {
		ret = parse_with(s, text, len, mods, &e);
		if (ret == PFMLIB_SUCCESS)
			return add_event(s, &e);
		if (ret != PFMLIB_ERR_NOTFOUND)
			return ret;
	}
	if (!formula)
		return unknown(s->m, text, head);
	if (snprintf(inner, sizeof(inner), "%.*s%s", (int)(len - head), text + head, mods) >=
	    (int)sizeof(inner))
		return pfl_explain(PFMLIB_ERR_INVAL, "the event's name is too long");
	return expand_formula(s, formula, inner, depth + 1);
}

int pfm_expand_event(const char *model, const char *str, pfmlib_expansion_t *x)
{
	const struct pfl_model *m = pfl_current();
	struct expansion s = { .x = x };
	int ret;

	pfl_explain_clear();
	if (!str || !x)
		return PFMLIB_ERR_INVAL;
	if (!m)
		return PFMLIB_ERR_NOINIT;
	if (model && !(m = pfl_model_named(model)))
		return pfl_explain(PFMLIB_ERR_NOTFOUND, "there is no PMU model %s", model);
	s.m = pfl_name_model(m, &str);
	if (!s.m || !*str)
		return pfl_explain(PFMLIB_ERR_NOTFOUND, s.m ? "the event's name is empty" :
				   "there is no such PMU model: %s", str);
	memset(x, 0, sizeof(*x));
	ret = expand(&s, str, strlen(str), "", 0);
	if (ret == PFMLIB_SUCCESS && strcmp(s.formula, "$1") != 0)
		memcpy(x->formula, s.formula, sizeof(x->formula));
	return ret;
}

int pfm_find_full_event(const char *str, pfmlib_event_t *e)
{
	pfmlib_expansion_t x;
	int ret;

	if (!e)
		return PFMLIB_ERR_INVAL;
	ret = pfm_expand_event(NULL, str, &x);
	if (ret != PFMLIB_SUCCESS)
		return ret;
	if (x.formula[0])
		return pfl_explain(PFMLIB_ERR_INVAL, "%s is not one event but a formula of %u: %s", str,
				   x.count, x.formula);
	*e = x.events[0];
	return PFMLIB_SUCCESS;
}
