// SPDX-License-Identifier: MIT
/* names.c - event names, unit masks and modifiers as text; the nearest name to a misspelt one. */
#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

static int plain(char c)
{
	return c == '-' ? '_' : tolower((unsigned char)c);
}

bool pfl_same_name(const char *a, size_t alen, const char *b)
{
	size_t i = 0;

	while (i < alen && b[i] && plain(a[i]) == plain(b[i]))
		i++;
	return i == alen && !b[i];
}

bool pfl_lists(const char *names, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = names; *p; p = strchr(p, ' ') + 1)
		if (strncmp(p, name, len) == 0 && p[len] == ' ')
			return true;
	return false;
}

bool pfl_same_event(const pfmlib_event_t *a, const pfmlib_event_t *b)
{
	return a->event == b->event && a->plm == b->plm && a->num_masks == b->num_masks &&
		memcmp(a->unit_masks, b->unit_masks, a->num_masks * sizeof(a->unit_masks[0])) == 0;
}

int pfl_find_event(const struct pfl_model *m, const char *name, size_t len, unsigned int *idx)
{
	struct pfl_event ev;

	for (*idx = 0; *idx < pfl_num_events(m); ++*idx) {
		pfl_event_get(m, *idx, &ev);
		if (pfl_same_name(name, len, ev.name))
			return PFMLIB_SUCCESS;
	}
	return PFMLIB_ERR_NOTFOUND;
}

const struct pfl_model *pfl_name_model(const struct pfl_model *m, const char **str)
{
	const char *sep = strstr(*str, "::");
	char name[64];

	if (!sep)
		return m;
	if ((size_t)(sep - *str) >= sizeof(name))
		return NULL;
	memcpy(name, *str, sep - *str);
	name[sep - *str] = '\0';
	*str = sep + 2;
	return pfl_model_named(name);
}

/* --- unit masks and modifiers --------------------------------------------------------------- */

struct parse {
	const struct pfl_model	*m;
	unsigned int		idx;
	struct pfl_event	ev;
	pfmlib_event_t		*e;
	unsigned int		levels;		/* levels given so far, also by u=0 */
};

/* A token: "NAME" or "NAME=VALUE". */
struct token {
	const char	*text;
	size_t		len, name_len;
	const char	*value;		/* the text after the '=', or NULL */
};

static struct token next_token(const char **p, const char *end)
{
	struct token t = { .text = *p };
	const char *colon = memchr(*p, ':', end - *p), *eq;

	t.len = (colon ? colon : end) - *p;
	eq = memchr(*p, '=', t.len);
	t.name_len = eq ? (size_t)(eq - *p) : t.len;
	t.value = eq ? eq + 1 : NULL;
	*p = colon ? colon + 1 : end;
	return t;
}

static bool number(const char *text, size_t len, unsigned long *value)
{
	char buf[32], *end;

	if (len == 0 || len >= sizeof(buf) || !isdigit((unsigned char)text[0]))
		return false;
	memcpy(buf, text, len);
	buf[len] = '\0';
	*value = strtoul(buf, &end, 0);
	return *end == '\0';
}

static int add_mask(struct parse *p, unsigned int a, unsigned int value)
{
	for (unsigned int i = 0; i < p->e->num_masks; i++)
		if (PFMLIB_MASK_INDEX(p->e->unit_masks[i]) == a)
			return pfl_explain(PFMLIB_ERR_UMASK, "%s: the same unit mask or modifier twice",
					   p->ev.name);
	if (p->e->num_masks == PFMLIB_MAX_MASKS_PER_EVENT)
		return pfl_explain(PFMLIB_ERR_TOOMANY, "%s: too many unit masks", p->ev.name);
	p->e->unit_masks[p->e->num_masks++] = PFMLIB_MASK(a, value);
	return PFMLIB_SUCCESS;
}

static int add_level(struct parse *p, char level, unsigned long value)
{
	unsigned int bit = level == 'u' ? PFM_PLM3 : PFM_PLM0;

	if (value > 1)
		return pfl_explain(PFMLIB_ERR_INVAL, "%s: %c is 0 or 1", p->ev.name, level);
	if (p->levels & bit)
		return pfl_explain(PFMLIB_ERR_UMASK, "%s: %c is given twice", p->ev.name, level);
	p->levels |= bit;
	if (value)
		p->e->plm |= bit;
	return PFMLIB_SUCCESS;
}

static int add_modifier(struct parse *p, unsigned int a, const struct pfl_attr *attr,
			const struct token *t)
{
	unsigned long value = 1;

	if (t->value && !number(t->value, t->text + t->len - t->value, &value))
		return pfl_explain(PFMLIB_ERR_INVAL, "%s: modifier %s takes a number, got '%.*s'",
				   p->ev.name, attr->name, (int)(t->text + t->len - t->value), t->value);
	if (!t->value && attr->flags & PFMLIB_MASK_INTEGER)
		return pfl_explain(PFMLIB_ERR_INVAL, "%s: modifier %s takes a value: %s=N", p->ev.name,
				   attr->name, attr->name);
	if (attr->level)
		return add_level(p, attr->level, value);
	if (value > 0xffff || (attr->flags & PFMLIB_MASK_BOOLEAN && value > 1))
		return pfl_explain(PFMLIB_ERR_INVAL, "%s: modifier %s=%lu is out of range", p->ev.name,
				   attr->name, value);
	return add_mask(p, a, value);
}

/* Adds the unit masks that a number stands for: in libpfm 3 it is the sum of their codes. */
static int add_numeric(struct parse *p, unsigned long sum)
{
	for (unsigned int a = p->ev.nmasks; a-- > 0;) {
		struct pfl_attr attr;
		int ret;

		pfl_attr_get(p->m, p->idx, a, &attr);
		if ((attr.code & sum) != attr.code || (attr.code == 0 && sum != 0))
			continue;
		ret = add_mask(p, a, 0);
		if (ret != PFMLIB_SUCCESS)
			return ret;
		sum &= ~attr.code;
		if (sum == 0)
			return PFMLIB_SUCCESS;
	}
	return pfl_explain(PFMLIB_ERR_UMASK, "%s has no unit masks that make 0x%lx", p->ev.name, sum);
}

static unsigned int distance(const char *a, size_t alen, const char *b);

static int unknown_mask(struct parse *p, const struct token *t)
{
	unsigned int best = 4;
	char near[64] = "";

	for (unsigned int a = 0; a < p->ev.nmasks + p->ev.nmods; a++) {
		struct pfl_attr attr;
		unsigned int d;

		pfl_attr_get(p->m, p->idx, a, &attr);
		d = distance(t->text, t->name_len, attr.name);
		if (d < best && d < t->name_len) {
			best = d;
			snprintf(near, sizeof(near), "; did you mean %s?", attr.name);
		}
	}
	return pfl_explain(PFMLIB_ERR_UMASK, "%s has no unit mask or modifier %.*s%s", p->ev.name,
			   (int)t->len, t->text, near);
}

static int apply_token(struct parse *p, const struct token *t)
{
	unsigned long value;

	for (unsigned int a = 0; a < p->ev.nmasks + p->ev.nmods; a++) {
		struct pfl_attr attr;

		pfl_attr_get(p->m, p->idx, a, &attr);
		if (!pfl_same_name(t->text, t->name_len, attr.name))
			continue;
		if (a >= p->ev.nmasks)
			return add_modifier(p, a, &attr, t);
		if (!t->value)
			return add_mask(p, a, 0);
	}
	if (number(t->text, t->len, &value) && p->ev.nmasks)
		return add_numeric(p, value);
	if (pfl_same_name(t->text, t->len, "u") || pfl_same_name(t->text, t->len, "k"))
		return add_level(p, plain(t->text[0]), 1);
	/* An event without unit masks accepts ":all", which changes nothing. */
	if (!p->ev.nmasks && pfl_same_name(t->text, t->len, "all"))
		return PFMLIB_SUCCESS;
	return unknown_mask(p, t);
}

/*
 * Finds an event by a name with ':' in place of '_': L2_DATA_REFERENCES_L2_ALL by
 * "L2_DATA_REFERENCES:L2_ALL".
 */
static bool find_joined(struct parse *p, const char *str, size_t len, const char **rest)
{
	const char *end = str + len, *colon = memchr(str, ':', len), *second;

	if (!colon || p->m->ops->attr == NULL)
		return false;
	second = memchr(colon + 1, ':', end - colon - 1);
	if (!second)
		second = end;
	for (p->idx = 0; p->idx < p->m->nevents; p->idx++) {
		size_t head = colon - str;

		pfl_event_get(p->m, p->idx, &p->ev);
		if (strlen(p->ev.name) == (size_t)(second - str) && p->ev.name[head] == '_' &&
		    pfl_same_name(colon + 1, second - colon - 1, p->ev.name + head + 1) &&
		    strncasecmp(str, p->ev.name, head) == 0) {
			*rest = second < end ? second + 1 : end;
			return true;
		}
	}
	return false;
}

/* Returns true if the first token after the name is one of the event's unit masks. */
static bool has_mask(const struct parse *p, const char *masks, const char *end)
{
	struct token t = next_token(&masks, end);

	for (unsigned int a = 0; a < p->ev.nmasks; a++) {
		struct pfl_attr attr;

		pfl_attr_get(p->m, p->idx, a, &attr);
		if (pfl_same_name(t.text, t.len, attr.name))
			return true;
	}
	return false;
}

static bool find_plain(struct parse *p, const char *str, size_t len)
{
	if (pfl_find_event(p->m, str, len, &p->idx) != PFMLIB_SUCCESS)
		return false;
	pfl_event_get(p->m, p->idx, &p->ev);
	return true;
}

/*
 * Finds the event, and where its masks begin. If there are both an event A with a mask B and an
 * event A_B, "A:B" is the former.
 */
static int find_head(struct parse *p, const char *str, size_t len, const char **rest)
{
	const char *end = str + len, *colon = memchr(str, ':', len), *masks = colon ? colon + 1 : end;
	size_t head = colon ? (size_t)(colon - str) : len;

	*rest = masks;
	if (colon && find_plain(p, str, head) && has_mask(p, masks, end))
		return PFMLIB_SUCCESS;
	if (find_joined(p, str, len, rest) || find_plain(p, str, head))
		return PFMLIB_SUCCESS;
	return PFMLIB_ERR_NOTFOUND;
}

/* Checks whether the combination can be encoded. */
static int check_encoding(struct parse *p)
{
	struct pfl_demand d;

	memset(&d, 0, sizeof(d));
	if (p->idx >= p->m->nevents)
		return PFMLIB_SUCCESS;
	d.event = *p->e;
	return p->m->ops->encode(p->m, p->idx, p->e, p->e->plm ? p->e->plm : PFM_PLM3, 0, &d);
}

int pfl_parse_event(const struct pfl_model *m, const char *str, size_t len, pfmlib_event_t *e)
{
	struct parse p = { .m = m, .e = e };
	const char *rest, *end = str + len;
	int ret = find_head(&p, str, len, &rest);

	if (ret != PFMLIB_SUCCESS)
		return ret;
	memset(e, 0, sizeof(*e));
	e->event = pfl_event_index(m, p.idx);
	if (rest == end && end[-1] == ':')
		return pfl_explain(PFMLIB_ERR_UMASK, "%s: nothing behind the colon", p.ev.name);
	while (ret == PFMLIB_SUCCESS && rest < end) {
		struct token t = next_token(&rest, end);

		ret = apply_token(&p, &t);
	}
	return ret == PFMLIB_SUCCESS ? check_encoding(&p) : ret;
}

/* --- the nearest name ----------------------------------------------------------------------- */

#define LONGEST 96

/*
 * Computes Levenshtein's distance, ignoring case and '-' against '_'. A name that is too long for
 * that is near to none.
 */
static unsigned int distance(const char *a, size_t alen, const char *b)
{
	unsigned int row[LONGEST + 1];
	size_t blen = strlen(b);

	if (alen > LONGEST || blen > LONGEST)
		return UINT_MAX;
	for (size_t j = 0; j <= blen; j++)
		row[j] = j;
	for (size_t i = 1; i <= alen; i++) {
		unsigned int diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= blen; j++) {
			unsigned int change = diagonal + (plain(a[i - 1]) != plain(b[j - 1]));
			unsigned int step = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;

			diagonal = row[j];
			row[j] = change < step ? change : step;
		}
	}
	return row[blen];
}

static void consider(const char *str, size_t len, const char *name, unsigned int *best, char *out,
		     size_t size)
{
	unsigned int d = distance(str, len, name);

	if (d < *best) {
		*best = d;
		snprintf(out, size, "%s", name);
	}
}

int pfm_suggest_event(const char *model, const char *str, char *name, size_t maxlen)
{
	const struct pfl_model *m = model ? pfl_model_named(model) : pfl_current();
	unsigned int best;
	size_t len;

	if (!str || !name || maxlen == 0)
		return PFMLIB_ERR_INVAL;
	m = m ? pfl_name_model(m, &str) : NULL;
	if (!m)
		return model ? PFMLIB_ERR_NOTFOUND : PFMLIB_ERR_NOINIT;
	len = strcspn(str, ":");
	best = len / 3 + 2;
	name[0] = '\0';
	for (unsigned int i = 0; i < pfl_num_events(m); i++) {
		struct pfl_event ev;

		pfl_event_get(m, i, &ev);
		consider(str, len, ev.name, &best, name, maxlen);
	}
	for (unsigned int i = 0; pfm_generic_name(i); i++)
		if (pfl_preset(m, pfm_generic_name(i), strlen(pfm_generic_name(i))))
			consider(str, len, pfm_generic_name(i), &best, name, maxlen);
	return name[0] ? PFMLIB_SUCCESS : PFMLIB_ERR_NOTFOUND;
}
