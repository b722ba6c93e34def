// SPDX-License-Identifier: MIT
/* table.c - events of the models in table.h. PMC n controls PMD n. */
#include <string.h>

#include "table.h"

static const struct { const char *name, *desc; unsigned int flags; char level; } x86_mods[] = {
	{ "k", "at privilege level 0", PFMLIB_MASK_BOOLEAN, 'k' },
	{ "u", "at privilege levels 1, 2, 3", PFMLIB_MASK_BOOLEAN, 'u' },
	{ "e", "counts from no occurrence to some", PFMLIB_MASK_BOOLEAN, 0 },
	{ "i", "inverts the threshold", PFMLIB_MASK_BOOLEAN, 0 },
	{ "c", "threshold 0 - 255: counts cycles with at least this many", PFMLIB_MASK_INTEGER, 0 },
};

enum { MOD_K, MOD_U, MOD_EDGE, MOD_INVERT, MOD_CMASK };

static unsigned int num_mods(const struct tbl *t)
{
	return t->x86 ? PFL_COUNT(x86_mods) : 2;
}

static const struct tbl_event *event_at(const struct tbl *t, unsigned int idx)
{
	const struct tbl_event *e = t->events;

	for (;; e++)
		if (e->models & t->model && idx-- == 0)
			return e;
}

static unsigned int table_count(const struct pfl_model *m)
{
	const struct tbl *t = m->data;
	unsigned int n = 0;

	for (const struct tbl_event *e = t->events; e->name; e++)
		n += (e->models & t->model) != 0;
	return n;
}

static unsigned int num_masks(const struct tbl_event *e)
{
	unsigned int n = 0;

	while (e->masks && e->masks[n].name)
		n++;
	return n;
}

static void table_event(const struct pfl_model *m, unsigned int idx, struct pfl_event *ev)
{
	const struct tbl_event *e = event_at(m->data, idx);

	ev->name = e->name;
	ev->desc = e->desc;
	ev->code = e->code;
	ev->nmasks = num_masks(e);
	ev->nmods = num_mods(m->data);
}

static void table_attr(const struct pfl_model *m, unsigned int idx, unsigned int a,
		       struct pfl_attr *attr)
{
	const struct tbl_event *e = event_at(m->data, idx);
	unsigned int n = num_masks(e);

	if (a < n) {
		attr->name = e->masks[a].name;
		attr->desc = e->masks[a].desc;
		attr->code = e->masks[a].code;
		attr->flags = e->masks[a].flags & TBL_DEFAULT ? PFMLIB_MASK_DEFAULT : 0;
		return;
	}
	attr->name = x86_mods[a - n].name;
	attr->desc = x86_mods[a - n].desc;
	attr->code = a - n;
	attr->flags = x86_mods[a - n].flags;
	attr->level = x86_mods[a - n].level;
}

static int apply_modifier(unsigned int mod, unsigned int value, uint64_t *evtsel)
{
	switch (mod) {
	case MOD_EDGE:
		*evtsel |= (uint64_t)!!value << 18;
		break;
	case MOD_INVERT:
		*evtsel |= (uint64_t)!!value << 23;
		break;
	case MOD_CMASK:
		if (value > 255)
			return pfl_explain(PFMLIB_ERR_INVAL, "modifier c: %u is above 255", value);
		*evtsel |= (uint64_t)value << 24;
		break;
	}
	return PFMLIB_SUCCESS;
}

static int default_umask(const struct tbl_event *e, uint64_t *umask)
{
	for (unsigned int i = 0; i < num_masks(e); i++)
		if (e->masks[i].flags & TBL_DEFAULT) {
			*umask = e->masks[i].code;
			return PFMLIB_SUCCESS;
		}
	return pfl_explain(PFMLIB_ERR_UMASK, "%s needs a unit mask", e->name);
}

/* Adds unit masks and modifiers to *evtsel. */
static int apply_masks(const struct tbl *t, const struct tbl_event *te, const pfmlib_event_t *e,
		       uint64_t *evtsel)
{
	unsigned int n = num_masks(te), given = 0, alone = 0;
	uint64_t umask = 0;

	for (unsigned int i = 0; i < e->num_masks; i++) {
		unsigned int a = PFMLIB_MASK_INDEX(e->unit_masks[i]);
		int ret = PFMLIB_SUCCESS;

		if (a >= n + num_mods(t))
			return pfl_explain(PFMLIB_ERR_UMASK, "%s has no unit mask %u", te->name, a);
		if (a < n) {
			given++;
			alone += (te->masks[a].flags & TBL_ALONE) != 0;
			umask |= te->masks[a].code;
		} else {
			ret = apply_modifier(a - n, PFMLIB_MASK_VALUE(e->unit_masks[i]), evtsel);
		}
		if (ret != PFMLIB_SUCCESS)
			return ret;
	}
	if (alone && given > 1)
		return pfl_explain(PFMLIB_ERR_FEATCOMB, "%s: these unit masks exclude each other",
				   te->name);
	if (n && !given && default_umask(te, &umask) != PFMLIB_SUCCESS)
		return PFMLIB_ERR_UMASK;
	*evtsel |= umask << 8;
	return PFMLIB_SUCCESS;
}

/* EVTSEL: 16 user, 17 OS, 20 interrupt, 22 enable. PMEVTYPER: U 30 and P 31 exclude a level. */
static uint64_t level_bits(const struct tbl *t, unsigned int plm)
{
	bool user = plm & PFM_PLM3, kernel = plm & PFM_PLM0;

	if (t->x86)
		return 1ULL << 20 | 1ULL << 22 | (uint64_t)user << 16 | (uint64_t)kernel << 17;
	return (uint64_t)!kernel << 31 | (uint64_t)!user << 30;
}

static int table_encode(const struct pfl_model *m, unsigned int idx, const pfmlib_event_t *e,
			unsigned int plm, unsigned int flags, struct pfl_demand *d)
{
	const struct tbl *t = m->data;
	const struct tbl_event *te = event_at(t, idx);
	int ret;

	(void)flags;
	if (plm & (PFM_PLM1 | PFM_PLM2))
		return pfl_explain(PFMLIB_ERR_INVAL, "%s: this PMU has privilege levels 0 and 3 only",
				   te->name);
	d->nvalues = 1;
	d->values[0] = te->code | level_bits(t, plm);
	ret = apply_masks(t, te, e, &d->values[0]);
	for (unsigned int i = 0; ret == PFMLIB_SUCCESS && i < 32; i++)
		if (te->counters >> i & 1)
			pfl_demand_counter(d, i, i);
	return ret;
}

static void table_registers(const struct pfl_model *m, pfmlib_regmask_t *pmcs,
			    pfmlib_regmask_t *pmds, pfmlib_regmask_t *counters)
{
	const struct tbl *t = m->data;

	for (unsigned int i = 0; i < 32; i++)
		if (t->counters >> i & 1)
			pfm_regmask_set(counters, i);
	*pmcs = *pmds = *counters;
}

static uint64_t table_address(const struct pfl_model *m, bool pmd, unsigned int n)
{
	const struct tbl *t = m->data;

	return (pmd ? t->pmd_address : t->pmc_address) + n;
}

const struct pfl_ops pfl_table_ops = {
	.amend = pfl_x86_amend,
	.narrow = pfl_x86_narrow,
	.finish = pfl_x86_finish,
	.count = table_count,
	.event = table_event,
	.attr = table_attr,
	.encode = table_encode,
	.registers = table_registers,
	.address = table_address,
};
