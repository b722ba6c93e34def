/* SPDX-License-Identifier: MIT */
/* ia64.h - an event of an Itanium processor, and the steps of its dispatch. */
#ifndef PFL_IA64_H
#define PFL_IA64_H

#include "model.h"
#include "perfmon/pfmlib_itanium2.h"
#include "perfmon/pfmlib_montecito.h"

enum ia64_buffer {
	IA64_PLAIN, IA64_BTB, IA64_IEAR_TLB, IA64_IEAR_CACHE, IA64_DEAR_TLB, IA64_DEAR_CACHE, IA64_DEAR_ALAT
};

struct ia64_event {
	const char	*name, *desc;
	uint8_t		code, umask;	/* umask is that of the counter, or of the EAR */
	/* the counters that can count it: bits 4 - 7; on Montecito 4 - 15 */
	uint16_t	counters;
	uint8_t		maxincr;	/* most occurrences in a cycle */
	/* PFMLIB_ITA2_EVT_*_GRP, as PFMLIB_MONT_EVT_*_GRP; set 0xff: none */
	uint8_t		group, set;
	uint8_t		buffer;		/* an enum ia64_buffer */
	uint8_t		type;		/* Montecito: PFMLIB_MONT_EVT_ACTIVE and so on */
	bool		irange, opcode, drange;
	bool		mesi;		/* Montecito: counts lines by their state */
};

#define IA64_NO_SET 0xff
#define IA64_INST_RETIRED 0x08
#define IA64_THRESHOLD_MAX 7
#define IA64_FIRST_COUNTER 4

/*
 * Rows of the tables of models that use ia64.c. "what" says by what the event can be restricted: 1
 * code ranges, 2 opcodes, 4 data ranges.
 */
#define IA64_FIELDS(event, what, es, mask, where, most, grp, st, words) \
	.name = event, .desc = words, .code = es, .umask = mask, .counters = where, .maxincr = most, .group = grp, \
	.set = st, .irange = (what) & 1, .opcode = ((what) & 2) != 0, .drange = ((what) & 4) != 0
#define IA64_ROW(event, what, es, mask, where, most, words) \
	{ IA64_FIELDS(event, what, es, mask, where, most, PFMLIB_ITA2_EVT_NO_GRP, IA64_NO_SET, words) }
#define IA64_BUFFER(event, what, es, mask, where, of, words) \
	{ IA64_FIELDS(event, what, es, mask, where, 1, PFMLIB_ITA2_EVT_NO_GRP, IA64_NO_SET, words), .buffer = of, \
	  .type = PFMLIB_MONT_EVT_FLOATING }

/* itanium2_events.c */
unsigned int ita2_expand(void);		/* builds the table, returns its length */
const struct ia64_event *ita2_at(unsigned int i);

/* --- what the models do alike: ia64.c ------------------------------------------------------- */

/*
 * Returns the event behind an event index of the library; NULL if it is of another architecture, or
 * of a model other than m.
 */
const struct ia64_event *ia64_of_model(const struct pfl_model *m, unsigned int event);
const struct ia64_event *ia64_of(const pfmlib_event_t *e);

/* Operations of models that have a table of struct ia64_event as their data. */
void ia64_event(const struct pfl_model *m, unsigned int idx, struct pfl_event *ev);
void ia64_attr(const struct pfl_model *m, unsigned int idx, unsigned int a, struct pfl_attr *attr);
int ia64_encode(const struct pfl_model *m, unsigned int idx, const pfmlib_event_t *e, unsigned int plm,
		unsigned int flags, struct pfl_demand *d);
uint64_t ia64_address(const struct pfl_model *m, bool pmd, unsigned int n);
void ia64_add_range(pfmlib_regmask_t *mask, unsigned int first, unsigned int last);

/* itanium2.c: the rules on groups of events, which Montecito has, too. */
int ita2_check(const struct pfl_demand *const *d, unsigned int n);
bool ita2_accept(const struct pfl_demand *const *d, const unsigned int *choice, unsigned int n);
bool ita2_judged(const struct pfl_demand *d);

static inline bool ia64_is_iear(const struct ia64_event *e)
{
	return e->buffer == IA64_IEAR_TLB || e->buffer == IA64_IEAR_CACHE;
}

static inline bool ia64_is_dear(const struct ia64_event *e)
{
	return e->buffer >= IA64_DEAR_TLB;
}

/* --- dispatch ------------------------------------------------------------------------------- */

struct ia64_dispatch;
typedef int (*ia64_step)(struct ia64_dispatch *);

/*
 * The numbers of a model's buffers, the layout of their registers, and the steps of its dispatch.
 */
struct ia64_model {
	uint8_t		iear_pmc, dear_pmc, btb_pmc, code_pmc, data_pmc;
	uint8_t		iear_pmd[2], dear_pmd[3];
	uint8_t		btb_pmd[2], btb_entries[2];	/* first and last of each */
	/* a fine code range must lie within an aligned block of 1 << this many bytes */
	uint8_t		fine_bits;
	/* the bits of the branch buffer's PMC that select all branches */
	uint16_t	all_branches;
	/* a data EAR in TLB or ALAT mode and the branch buffer exclude each other */
	bool		dear_spoils_btb;
	uint64_t	(*iear)(const pfmlib_ita2_ear_t *ear, unsigned int plm, bool pm);
	uint64_t	(*dear)(const pfmlib_ita2_ear_t *ear, unsigned int plm, bool pm);
	/* converts model_in, which is not NULL */
	void		(*take)(struct ia64_dispatch *x);
	const ia64_step	*steps;
	unsigned int	nsteps;
	size_t		out_size, code_out, data_out;	/* size and offsets of the model's output */
};

extern const struct ia64_model ia64_model_itanium, ia64_model_itanium2, ia64_model_montecito;
const struct ia64_model *ia64_model(const struct pfl_model *m);

/*
 * The data of the dispatch steps: the model's own input, converted into the form of the Itanium 2.
 */
struct ia64_dispatch {
	const struct pfl_model		*model;
	const struct ia64_model		*regs;
	const pfmlib_input_param_t	*in;
	pfmlib_output_param_t		*out;
	pfmlib_ita2_counter_t		counters[PMU_MONT_NUM_COUNTERS];
	pfmlib_ita2_ear_t		iear, dear;
	pfmlib_ita2_btb_t		btb;
	bool				opcode[2];	/* which matchers are in use */
	pfmlib_ita2_input_rr_t		code, data;
	pfmlib_ita2_output_rr_t		*code_out, *data_out;	/* NULL if there is no output */
	const void			*model_in;
};

int ia64_finish(const struct pfl_model *m, const pfmlib_input_param_t *in, const void *model_in,
		pfmlib_output_param_t *out, void *model_out);
/* Append a PMC, or change it, which fails with NOASSIGN if it is not available; and a PMD. */
int ia64_add_pmc(struct ia64_dispatch *x, unsigned int num, uint64_t value);
void ia64_add_pmd(struct ia64_dispatch *x, unsigned int num);
bool ia64_pm(const struct ia64_dispatch *x);

int ia64_check_qualifiers(struct ia64_dispatch *x);
int ia64_tune_counters(struct ia64_dispatch *x);	/* thresholds and instruction sets */

/* ia64_buffers.c */
void ia64_share_buffers(const struct pfl_model *m, const struct ia64_event *e, unsigned int plm, bool pm,
			struct pfl_demand *d);
int ia64_iear(struct ia64_dispatch *x);
int ia64_dear(struct ia64_dispatch *x);
int ia64_btb(struct ia64_dispatch *x);
bool ia64_traces_branches(const struct ia64_dispatch *x);
void ia64_add_trace(struct ia64_dispatch *x);		/* adds the buffer's PMDs */

/* ia64_range.c */
int ia64_count_ranges(const pfmlib_ita2_input_rr_t *rr, bool code, unsigned int *n);
int ia64_add_ranges(const struct ia64_dispatch *x, const pfmlib_ita2_input_rr_t *rr, unsigned int n,
		    pfmlib_ita2_output_rr_t *orr);
int ia64_code_ranges(struct ia64_dispatch *x);
int ia64_data_ranges(struct ia64_dispatch *x);
bool ia64_code_is_fine(pfmlib_output_param_t *out, const struct ia64_model *regs);

/* ia64_opcodes.c */
int ita2_opcodes(struct ia64_dispatch *x);
int mont_opcodes(struct ia64_dispatch *x);
/*
 * Returns the number of retired-instruction events; *kinds receives a bit for each of their four
 * unit masks.
 */
unsigned int ia64_count_retired(const pfmlib_input_param_t *in, unsigned int *kinds);

#endif
