// SPDX-License-Identifier: MIT
/* encode4.c - events of libpfm4's models, with libpfm4's names and codes. */
#include <string.h>

#include "encode4.h"

void pfl4_event(const struct pfl_model *m, unsigned int idx, struct pfl_event *ev)
{
	const struct l4_event *e4 = l4_event(m->data, idx);

	ev->name = e4->name;
	ev->desc = e4->desc;
	ev->code = e4->code;
	ev->nmasks = e4->nmasks;
	ev->nmods = e4->nattrs - e4->nmasks;
}

void pfl4_attr(const struct pfl_model *m, unsigned int idx, unsigned int a, struct pfl_attr *attr)
{
	struct l4_attr a4;

	l4_attr(m->data, idx, a, &a4);
	attr->name = a4.name;
	attr->desc = a4.desc;
	attr->code = a4.code;
	attr->flags = a4.kind == L4_MASK ? (a4.dflt ? PFMLIB_MASK_DEFAULT : 0) :
		a4.kind == L4_BOOLEAN ? PFMLIB_MASK_BOOLEAN : PFMLIB_MASK_INTEGER;
	if (a4.kind != L4_MASK && (strcmp(a4.name, "u") == 0 || strcmp(a4.name, "k") == 0))
		attr->level = a4.name[0];
}

/*
 * Returns the event in libpfm4's spelling, like "PMU::EVENT:MASK:c=2"; NULL if the index of a mask
 * is out of range, or if buf is too small.
 */
static const char *spell(const struct pfl_model *m, unsigned int idx, const pfmlib_event_t *e,
			 char *buf, size_t size)
{
	const struct l4_event *e4 = l4_event(m->data, idx);
	size_t len = snprintf(buf, size, "%s::%s", m->name, e4->name);

	for (unsigned int i = 0; i < e->num_masks && len < size; i++) {
		unsigned int a = PFMLIB_MASK_INDEX(e->unit_masks[i]);
		struct l4_attr a4;

		if (a >= e4->nattrs)
			return NULL;
		l4_attr(m->data, idx, a, &a4);
		len += snprintf(buf + len, size - len, a4.kind == L4_MASK ? ":%s" : ":%s=%u",
				a4.name, PFMLIB_MASK_VALUE(e->unit_masks[i]));
	}
	return len < size ? buf : NULL;
}

int pfl4_codes(const struct pfl_model *m, unsigned int idx, const pfmlib_event_t *e,
	       unsigned int plm, uint64_t codes[L4_MAX_CODES], unsigned int *n)
{
	char buf[4096];
	int ret;

	if (!spell(m, idx, e, buf, sizeof(buf)))
		return pfl_explain(PFMLIB_ERR_UMASK, "a unit mask's number is out of range");
	if (plm & (PFM_PLM1 | PFM_PLM2))
		return pfl_explain(PFMLIB_ERR_INVAL, "%s: this PMU has privilege levels 0 and 3 only", buf);
	ret = l4_encode(buf, plm, codes, n);
	if (ret)
		return pfl_explain(ret, "%s: %s", buf, l4_error());
	pfl_debug("%s plm=0x%x code 0x%llx", buf, plm, (unsigned long long)codes[0]);
	return PFMLIB_SUCCESS;
}
