/* SPDX-License-Identifier: MIT */
/*
 * model.h - what the files of pfmlib share: a PMU model, and what an event demands of its
 * registers.
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
/* claims from this one on are not PMCs, but stand for counters that share a PMC */
#define PFL_FIELDS	104

/*
 * One way to count an event: a PMD, the PMCs to which the values of the demand go, and the
 * registers that no other event may use then (claims).
 */
struct pfl_alt {
	uint16_t	pmd;
	uint16_t	pmc[2];
	/*
	 * if not 0: it is used instead of values, and ORed into pmc[0] together with the fields of
	 * other counters
	 */
	uint64_t	field;
	struct pfl_mask	claims;
};

/* A register that events can share if they need the same value in it. */
struct pfl_shared {
	uint16_t	pmc;
	uint64_t	value;
};

struct pfl_demand {
	unsigned int	nalts, nvalues, nshared;
	struct pfl_alt	alts[PFL_MAX_ALTS];
	/* values for pmc[0] and pmc[1] of the alternative */
	uint64_t	values[2];
	struct pfl_shared shared[3];
	const void	*tag;			/* private to the model */
	pfmlib_event_t	event;
};

/* Adds an alternative with one PMC and the PMD that it controls. */
void pfl_demand_counter(struct pfl_demand *d, unsigned int pmc, unsigned int pmd);
/*
 * Adds an alternative in which the counter has only a field of a PMC, which several counters share.
 * "which" is the number of the field's counter, from 0 to 23.
 */
void pfl_demand_field(struct pfl_demand *d, unsigned int pmc, uint64_t field, unsigned int pmd, unsigned int which);

/* --- models --------------------------------------------------------------------------------- */

struct pfl_event {
	const char	*name, *desc;
	uint64_t	code;
	/* number of unit masks; the indices of modifiers come after those of unit masks */
	unsigned int	nmasks;
	unsigned int	nmods;
};

struct pfl_attr {
	const char	*name, *desc;
	uint64_t	code;
	unsigned int	flags;		/* PFMLIB_MASK_* */
	char		level;		/* 'u' or 'k': a privilege level; 0: a modifier */
};

struct pfl_model;

struct pfl_ops {
	/* Returns the number of events, for models that do not know it at compile time. */
	unsigned int (*count)(const struct pfl_model *m);
	/* Describes an event, or one of its masks. idx and a are in range. */
	void (*event)(const struct pfl_model *m, unsigned int idx, struct pfl_event *ev);
	void (*attr)(const struct pfl_model *m, unsigned int idx, unsigned int a,
		     struct pfl_attr *attr);
	/* Fills in alternatives, values and shared registers. flags is pfp_flags, plm is not 0. */
	int (*encode)(const struct pfl_model *m, unsigned int idx, const pfmlib_event_t *e,
		      unsigned int plm, unsigned int flags, struct pfl_demand *d);
	/* Returns the numbers of the model's own registers. */
	void (*registers)(const struct pfl_model *m, pfmlib_regmask_t *pmcs, pfmlib_regmask_t *pmds,
			  pfmlib_regmask_t *counters);
	/* Optional: returns the address of the actual register of PMC or PMD n. */
	uint64_t (*address)(const struct pfl_model *m, bool pmd, unsigned int n);
	const char *(*reg_name)(const struct pfl_model *m, unsigned int pmc);	/* optional */
	/* Optional: checks a set of events by the rules that do not depend on their counters. */
	int (*check)(const struct pfl_demand *const *d, unsigned int n);
	/*
	 * Optional: accept() returns true if an assignment is permitted, where choice[i] is the PMD
	 * of event i. d contains all events for which judged() returns true, and maybe others.
	 */
	bool (*accept)(const struct pfl_demand *const *d, const unsigned int *choice, unsigned int n);
	bool (*judged)(const struct pfl_demand *d);
	/* Optional: changes event i as model_in says, which is not NULL. */
	int (*amend)(const struct pfl_model *m, const void *model_in, unsigned int i, pfmlib_event_t *e);
	/* Optional: removes alternatives of event i as model_in says, which is not NULL. */
	void (*narrow)(const struct pfl_model *m, const pfmlib_input_param_t *in, const void *model_in,
		       unsigned int i, struct pfl_demand *d);
	/*
	 * Optional: adds to the output what does not belong to a single event. If a model has
	 * neither this function nor amend(), model_in and model_out must be NULL.
	 */
	int (*finish)(const struct pfl_model *m, const pfmlib_input_param_t *in, const void *model_in,
		      pfmlib_output_param_t *out, void *model_out);
};

struct pfl_model {
	const char		*name, *desc;
	int			type;
	/* number of the model's own events, which those of the system follow (software.c) */
	unsigned int		nevents;
	unsigned int		ncounters;
	unsigned int		width;
	bool			present;
	const struct pfl_ops	*ops;
	const void		*data;		/* private to ops */
};

/* models.c: all models; each has a number, in a fixed order. */
void pfl_models_init(void);
unsigned int pfl_models_count(void);
const struct pfl_model *pfl_model_at(unsigned int i);
const struct pfl_model *pfl_model_named(const char *name);
const struct pfl_model *pfl_model_of_type(int type);
unsigned int pfl_model_number(const struct pfl_model *m);

/* current.c: the current model. */
const struct pfl_model *pfl_current(void);	/* returns NULL before pfm_initialize() */
/* Returns true if the model is that of the machine in use, and the machine lacks the PMC. */
bool pfl_machine_lacks(const struct pfl_model *m, unsigned int pmc);
/* Returns true if the model is that of the machine in use, and the machine is not simulated. */
bool pfl_machine_is_real(const struct pfl_model *m);
/*
 * Returns the end of a message about an unknown event: why the machine in use has no names of
 * hardware events; "" if m is another model, or if there are such names.
 */
const char *pfl_why_no_hardware_event(const struct pfl_model *m);
/*
 * Returns the machine's name if it is a simulated one that does not simulate what the alternative
 * would count; or NULL.
 */
const char *pfl_machine_idle(const struct pfl_model *m, const struct pfl_demand *d, const struct pfl_alt *alt);

/* host.c: returns true if this computer's processor does not implement the event of this code. */
bool pfl_host_lacks(uint64_t code);

/* Gets model and index from an event index of the library; returns INVAL or NOINIT on failure. */
int pfl_event_locate(unsigned int event, const struct pfl_model **m, unsigned int *idx);
unsigned int pfl_event_index(const struct pfl_model *m, unsigned int idx);
unsigned int pfl_num_events(const struct pfl_model *m);
void pfl_event_get(const struct pfl_model *m, unsigned int idx, struct pfl_event *ev);
void pfl_attr_get(const struct pfl_model *m, unsigned int idx, unsigned int a, struct pfl_attr *at);

/* demand.c */
int pfl_demand_fill(const struct pfl_model *m, unsigned int idx, const pfmlib_event_t *e,
		    const pfmlib_input_param_t *in, struct pfl_demand *d);

/*
 * assign.c: sets choice[i] to the alternative of event i. Returns PFMLIB_SUCCESS,
 * PFMLIB_ERR_NOASSIGN or the error of ops->check().
 */
int pfl_assign(const struct pfl_model *m, const struct pfl_demand *const *d, unsigned int n,
	       unsigned int *choice);

/* conflict.c, split.c: pfm_find_conflict() and pfm_split_events() for demands. */
bool pfl_same_kind(const struct pfl_demand *a, const struct pfl_demand *b);
unsigned int pfl_conflict(const struct pfl_model *m, const struct pfl_demand *d, unsigned int n,
			  unsigned int *positions);
int pfl_split(const struct pfl_model *m, const struct pfl_demand *d, unsigned int n,
	      unsigned int *set_of, unsigned int *nsets);

/* names.c */
/* Returns true if the names are equal: case is ignored, and '-' equals '_'. */
bool pfl_same_name(const char *a, size_t alen, const char *b);
bool pfl_lists(const char *names, const char *name);	/* names has a space after each name */
bool pfl_same_event(const pfmlib_event_t *a, const pfmlib_event_t *b);
int pfl_find_event(const struct pfl_model *m, const char *name, size_t len, unsigned int *idx);
/* Parses "EVENT:MASK:..." of this model only. */
int pfl_parse_event(const struct pfl_model *m, const char *str, size_t len, pfmlib_event_t *e);
/*
 * Removes "MODEL::" from the text, and returns the model of that name, or NULL if it is unknown.
 * Returns m if the text does not name a model.
 */
const struct pfl_model *pfl_name_model(const struct pfl_model *m, const char **str);

/*
 * presets.c: returns the formula for a generic name or preset on this model, NULL if there is none.
 */
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

/* The models for which this library has tables, a row for each: X(toy) is pfl_toy. */
#define PFL_OWN_MODELS(X) \
	X(software) X(itanium) X(itanium2) X(montecito) X(p6) X(pentium_m) X(pentium2) X(pentium_pro) X(armv8) \
	X(power5) X(mips20k) X(mips5k)
#define PFL_DECLARE_MODEL(model)	extern struct pfl_model pfl_##model;
PFL_OWN_MODELS(PFL_DECLARE_MODEL)
/* Models of libpfm4: x86.c, netburst.c and arm.c have their rules for counters. */
extern const struct pfl_ops pfl_x86_ops, pfl_netburst_ops, pfl_arm_ops;

/* dispatch.c: returns the PMC of the output with that number; NULL if there is none. */
pfmlib_reg_t *pfl_find_pmc(pfmlib_output_param_t *out, unsigned int num);

/* x86_sampling.c: narrow() and finish() of x86 models. */
void pfl_x86_narrow(const struct pfl_model *m, const pfmlib_input_param_t *in, const void *model_in, unsigned int i,
		    struct pfl_demand *d);
int pfl_x86_finish(const struct pfl_model *m, const pfmlib_input_param_t *in, const void *model_in,
		   pfmlib_output_param_t *out, void *model_out);
/* x86_input.c: amend() of the x86 models that had an input structure of their own in libpfm 3. */
int pfl_x86_amend(const struct pfl_model *m, const void *model_in, unsigned int i, pfmlib_event_t *e);

#endif
