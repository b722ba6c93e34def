/* SPDX-License-Identifier: MIT */
/*
 * model.h - what the files of pfmlib share: a PMU model, and what an event demands of its registers.
 */
#ifndef PFL_MODEL_H
#define PFL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "perfmon/pfmlib.h"

#define PFL_COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define PFL_PRINTF(f, a) __attribute__((format(printf, f, a)))

/* --- sets of exclusive registers, named by PMC number --------------------------------------- */

#define PFL_NUM_CLAIMS 128

struct pfl_mask {
	uint64_t w[PFL_NUM_CLAIMS / 64];
};

static inline void pfl_mask_set(struct pfl_mask *m, unsigned int n)
{
	m->w[n / 64] |= 1ULL << n % 64;
}

static inline bool pfl_mask_isset(const struct pfl_mask *m, unsigned int n)
{
	return m->w[n / 64] >> n % 64 & 1;
}

static inline bool pfl_mask_meets(const struct pfl_mask *a, const struct pfl_mask *b)
{
	return (a->w[0] & b->w[0]) | (a->w[1] & b->w[1]);
}

static inline void pfl_mask_add(struct pfl_mask *m, const struct pfl_mask *b)
{
	m->w[0] |= b->w[0];
	m->w[1] |= b->w[1];
}

static inline unsigned int pfl_mask_weight(const struct pfl_mask *m)
{
	return __builtin_popcountll(m->w[0]) + __builtin_popcountll(m->w[1]);
}

/* --- what an event demands ------------------------------------------------------------------ */

#define PFL_MAX_ALTS	24
#define PFL_NO_PMC	0xffff
#define PFL_FIELDS	104	/* claims from here on are no PMCs, but counters that share one */

/* One way to count it: a PMD, the PMCs its values go to, and what is used up. */
struct pfl_alt {
	uint16_t	pmd;
	uint16_t	pmc[2];
	uint64_t	field;		/* not 0: instead of the values, ORed into pmc[0] with other counters' */
	struct pfl_mask	claims;
};

/* A register that events share if they want the same value there. */
struct pfl_shared {
	uint16_t	pmc;
	uint64_t	value;
};

struct pfl_demand {
	unsigned int	nalts, nvalues, nshared;
	struct pfl_alt	alts[PFL_MAX_ALTS];
	uint64_t	values[2];		/* for pmc[0], pmc[1] of the alternative */
	struct pfl_shared shared[3];
	const void	*tag;			/* the model's own */
	pfmlib_event_t	event;
};

/* An alternative with one PMC and the PMD it controls. */
void pfl_demand_counter(struct pfl_demand *d, unsigned int pmc, unsigned int pmd);
/* An alternative where the counter has a field of a PMC that several share; which: its number among these, 0 - 23. */
void pfl_demand_field(struct pfl_demand *d, unsigned int pmc, uint64_t field, unsigned int pmd, unsigned int which);

/* --- models --------------------------------------------------------------------------------- */

struct pfl_event {
	const char	*name, *desc;
	uint64_t	code;
	unsigned int	nmasks;		/* unit masks; modifiers have the indices after them */
	unsigned int	nmods;
};

struct pfl_attr {
	const char	*name, *desc;
	uint64_t	code;
	unsigned int	flags;		/* PFMLIB_MASK_* */
	char		level;		/* 'u', 'k': a privilege level, not a modifier */
};

struct pfl_model;

struct pfl_ops {
	/* Number of events, for models that do not know it at compile time. */
	unsigned int (*count)(const struct pfl_model *m);
	/* idx and a are in range. */
	void (*event)(const struct pfl_model *m, unsigned int idx, struct pfl_event *ev);
	void (*attr)(const struct pfl_model *m, unsigned int idx, unsigned int a,
		     struct pfl_attr *attr);
	/* Fills alternatives, values and shared registers; flags is pfp_flags, plm is not 0. */
	int (*encode)(const struct pfl_model *m, unsigned int idx, const pfmlib_event_t *e,
		      unsigned int plm, unsigned int flags, struct pfl_demand *d);
	/* Register numbers of the model itself. */
	void (*registers)(const struct pfl_model *m, pfmlib_regmask_t *pmcs, pfmlib_regmask_t *pmds,
			  pfmlib_regmask_t *counters);
	/* Address of the actual register of PMC or PMD n. Optional. */
	uint64_t (*address)(const struct pfl_model *m, bool pmd, unsigned int n);
	const char *(*reg_name)(const struct pfl_model *m, unsigned int pmc);	/* optional */
	/* Rules on a set of events that do not depend on the counters they get. Optional. */
	int (*check)(const struct pfl_demand *const *d, unsigned int n);
	/*
	 * Rules on an assignment: choice[i] is the PMD of event i; d has all events that are judged, and maybe others.
	 * Optional, both.
	 */
	bool (*accept)(const struct pfl_demand *const *d, const unsigned int *choice, unsigned int n);
	bool (*judged)(const struct pfl_demand *d);
	/* Amends event i by what model_in says of it; model_in is not NULL. Optional. */
	int (*amend)(const struct pfl_model *m, const void *model_in, unsigned int i, pfmlib_event_t *e);
	/* Takes alternatives from event i by what model_in says; model_in is not NULL. Optional. */
	void (*narrow)(const struct pfl_model *m, const pfmlib_input_param_t *in, const void *model_in,
		       unsigned int i, struct pfl_demand *d);
	/* Adds what is not per event. Without it and amend, model_in and model_out must be NULL. Optional. */
	int (*finish)(const struct pfl_model *m, const pfmlib_input_param_t *in, const void *model_in,
		      pfmlib_output_param_t *out, void *model_out);
};

struct pfl_model {
	const char		*name, *desc;
	int			type;
	unsigned int		nevents;	/* its own; the system's follow (software.c) */
	unsigned int		ncounters;
	unsigned int		width;
	bool			present;
	const struct pfl_ops	*ops;
	const void		*data;		/* of ops */
};

/* models.c: all models there are; a number each, in a fixed order. */
void pfl_models_init(void);
unsigned int pfl_models_count(void);
const struct pfl_model *pfl_model_at(unsigned int i);
const struct pfl_model *pfl_model_named(const char *name);
const struct pfl_model *pfl_model_of_type(int type);
unsigned int pfl_model_number(const struct pfl_model *m);

/* current.c: the model in force. */
const struct pfl_model *pfl_current(void);	/* NULL before pfm_initialize() */
/* PMCs that the machine does not have, if the model in force is the machine's. */
bool pfl_machine_lacks(const struct pfl_model *m, unsigned int pmc);
/* The end of a message that an event is unknown: why this machine has no hardware events, or "". */
const char *pfl_why_no_hardware_event(const struct pfl_model *m);
/* The machine's name, if it is a simulated one that does not simulate what the alternative would count; or NULL. */
const char *pfl_machine_idle(const struct pfl_model *m, const struct pfl_demand *d, const struct pfl_alt *alt);

/* Model and index of a libpfm event index; INVAL, NOINIT. */
int pfl_event_locate(unsigned int event, const struct pfl_model **m, unsigned int *idx);
unsigned int pfl_event_index(const struct pfl_model *m, unsigned int idx);
unsigned int pfl_num_events(const struct pfl_model *m);
void pfl_event_get(const struct pfl_model *m, unsigned int idx, struct pfl_event *ev);
void pfl_attr_get(const struct pfl_model *m, unsigned int idx, unsigned int a, struct pfl_attr *at);

/* demand.c */
int pfl_demand_fill(const struct pfl_model *m, unsigned int idx, const pfmlib_event_t *e,
		    const pfmlib_input_param_t *in, struct pfl_demand *d);

/* assign.c: choice[i] becomes the alternative of event i. SUCCESS, NOASSIGN, or from ops->check. */
int pfl_assign(const struct pfl_model *m, const struct pfl_demand *const *d, unsigned int n,
	       unsigned int *choice);

/* conflict.c, split.c: on demands. */
bool pfl_same_kind(const struct pfl_demand *a, const struct pfl_demand *b);
unsigned int pfl_conflict(const struct pfl_model *m, const struct pfl_demand *d, unsigned int n,
			  unsigned int *positions);
int pfl_split(const struct pfl_model *m, const struct pfl_demand *d, unsigned int n,
	      unsigned int *set_of, unsigned int *nsets);

/* names.c */
bool pfl_same_name(const char *a, size_t alen, const char *b);	/* no case, '-' is '_' */
bool pfl_lists(const char *names, const char *name);	/* names: each with a space after it */
bool pfl_same_event(const pfmlib_event_t *a, const pfmlib_event_t *b);
int pfl_find_event(const struct pfl_model *m, const char *name, size_t len, unsigned int *idx);
/* "EVENT:MASK:..." of this model alone. */
int pfl_parse_event(const struct pfl_model *m, const char *str, size_t len, pfmlib_event_t *e);
/* Splits "MODEL::" off; the model, m if there is none, NULL if it is unknown. */
const struct pfl_model *pfl_name_model(const struct pfl_model *m, const char **str);

/* presets.c: the formula a generic name or preset stands for on this model, NULL: none. */
const char *pfl_preset(const struct pfl_model *m, const char *name, size_t len);

/* explain.c */
void pfl_explain_clear(void);
int pfl_explain(int error, const char *fmt, ...) PFL_PRINTF(2, 3);	/* returns error */
void pfl_explain_events(const struct pfl_model *m, const struct pfl_demand *const *d, unsigned int n);
void pfl_event_text(const pfmlib_event_t *e, char *buf, size_t size);

/* options.c */
void pfl_verbose(const char *fmt, ...) PFL_PRINTF(1, 2);
void pfl_debug(const char *fmt, ...) PFL_PRINTF(1, 2);
void pfl_options_init(void);

/* software.c: software counters and virtual registers, part of every model. */
unsigned int pfl_software_count(void);
void pfl_software_event(unsigned int i, struct pfl_event *ev);
int pfl_software_encode(unsigned int i, unsigned int plm, struct pfl_demand *d);
void pfl_software_registers(pfmlib_regmask_t *pmcs, pfmlib_regmask_t *pmds);
const char *pfl_software_register(unsigned int num);

/* The models this library has tables for, a row each: X(toy) is pfl_toy. */
#define PFL_OWN_MODELS(X) \
	X(software) X(itanium) X(itanium2) X(montecito) X(p6) X(pentium_m) X(pentium2) X(pentium_pro) X(armv8) \
	X(power5) X(mips20k) X(mips5k)
#define PFL_DECLARE_MODEL(model)	extern struct pfl_model pfl_##model;
PFL_OWN_MODELS(PFL_DECLARE_MODEL)
/* Models of libpfm4: x86.c, netburst.c, arm.c say how theirs assign. */
extern const struct pfl_ops pfl_x86_ops, pfl_netburst_ops, pfl_arm_ops;

/* x86_sampling.c: their narrow and finish. */
void pfl_x86_narrow(const struct pfl_model *m, const pfmlib_input_param_t *in, const void *model_in, unsigned int i,
		    struct pfl_demand *d);
int pfl_x86_finish(const struct pfl_model *m, const pfmlib_input_param_t *in, const void *model_in,
		   pfmlib_output_param_t *out, void *model_out);
/* x86_input.c: the amend of x86's models that had an input of their own in libpfm 3. */
int pfl_x86_amend(const struct pfl_model *m, const void *model_in, unsigned int i, pfmlib_event_t *e);

#endif
