/* SPDX-License-Identifier: MIT */
/* itanium2.h - an Itanium 2 event, and the steps of its dispatch. */
#ifndef PFL_ITANIUM2_H
#define PFL_ITANIUM2_H

#include "model.h"
#include "perfmon/pfmlib_itanium2.h"

enum ita2_buffer {
	ITA2_PLAIN, ITA2_BTB, ITA2_IEAR_TLB, ITA2_IEAR_CACHE, ITA2_DEAR_TLB, ITA2_DEAR_CACHE,
	ITA2_DEAR_ALAT
};

struct ita2_event {
	const char	*name, *desc;
	uint8_t		code, umask;	/* umask: of the counter, or of the EAR */
	uint16_t	counters;	/* bits 4 - 7; Montecito: 4 - 15 */
	uint8_t		maxincr;	/* most occurrences in a cycle */
	uint8_t		group, set;	/* PFMLIB_ITA2_EVT_*_GRP; set 0xff: none */
	uint8_t		buffer;		/* enum ita2_buffer */
	bool		irange, opcode, drange;
};

#define ITA2_NO_SET 0xff
#define ITA2_INST_RETIRED 0x08

/* itanium2_events.c */
unsigned int ita2_expand(void);		/* builds the table, returns its length */
const struct ita2_event *ita2_at(unsigned int i);
/* Behind an event index of the library; NULL if it is another model's. */
const struct ita2_event *ita2_located(unsigned int event);
const struct ita2_event *ita2_of(const pfmlib_event_t *e);

/* ia64.c: the other Itanium processors, with rules of Itanium 2 (itanium2.c). */
extern const struct pfl_ops pfl_ia64_ops;
void ita2_attr(const struct pfl_model *m, unsigned int idx, unsigned int a, struct pfl_attr *attr);
uint64_t ita2_pmc(const struct ita2_event *ie, unsigned int plm, bool pm, unsigned int thres);
int ita2_threshold(const struct ita2_event *ie, const pfmlib_event_t *e, unsigned int *thres);
int ita2_check(const struct pfl_demand *const *d, unsigned int n);
bool ita2_accept(const struct pfl_demand *const *d, const unsigned int *choice, unsigned int n);
bool ita2_judged(const struct pfl_demand *d);

static inline bool ita2_is_iear(const struct ita2_event *e)
{
	return e->buffer == ITA2_IEAR_TLB || e->buffer == ITA2_IEAR_CACHE;
}

static inline bool ita2_is_dear(const struct ita2_event *e)
{
	return e->buffer >= ITA2_DEAR_TLB;
}

/* What the steps work on. */
struct ita2_dispatch {
	const pfmlib_input_param_t	*in;
	const pfmlib_ita2_input_param_t	*mod_in;	/* never NULL: zeroes if none was given */
	pfmlib_output_param_t		*out;
	pfmlib_ita2_output_param_t	*mod_out;	/* NULL if none was given */
};

/* Appends a PMC, NOASSIGN if it is not available; a PMD. */
int ita2_add_pmc(struct ita2_dispatch *x, unsigned int num, uint64_t value);
void ita2_add_pmd(struct ita2_dispatch *x, unsigned int num);
unsigned int ita2_pm(const struct ita2_dispatch *x);

int ita2_check_qualifiers(struct ita2_dispatch *x);	/* itanium2_range.c */
int ita2_code_ranges(struct ita2_dispatch *x);
int ita2_data_ranges(struct ita2_dispatch *x);
int ita2_iear(struct ita2_dispatch *x);			/* itanium2_buffers.c */
int ita2_dear(struct ita2_dispatch *x);
int ita2_btb(struct ita2_dispatch *x);
int ita2_opcodes(struct ita2_dispatch *x);
/* Number of retired-instruction events; *kinds: a bit for each of their four unit masks. */
unsigned int ita2_count_retired(const pfmlib_input_param_t *in, unsigned int *kinds);

#endif
