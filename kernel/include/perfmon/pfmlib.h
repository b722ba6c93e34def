/* SPDX-License-Identifier: MIT */
/*
 * pfmlib.h - events by name: the interface of libpfm 3, which translates events into values of
 * PMC registers and numbers of PMD registers. It never accesses a PMU.
 *
 * Functions return PFMLIB_SUCCESS or one of PFMLIB_ERR_*; all need pfm_initialize() first
 * (PFMLIB_ERR_NOINIT) unless marked "any time". The last section, "own", has functions that
 * libpfm 3 does not have.
 */
#ifndef PERFMON_PFMLIB_H
#define PERFMON_PFMLIB_H

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PFMLIB_VERSION		(3 << 16 | 10)
#define PFMLIB_MAJ_VERSION(v)	((v) >> 16)
#define PFMLIB_MIN_VERSION(v)	((v) & 0xffff)

#define PFMLIB_MAX_PMCS		512
#define PFMLIB_MAX_PMDS		512
#define PFMLIB_REG_MAX		512
#define PFMLIB_MAX_MASKS_PER_EVENT 48

/* Privilege levels; the Itanium family has four, x86 and ARM have 0 (kernel) and 3 (user). */
#define PFM_PLM0	0x1
#define PFM_PLM1	0x2
#define PFM_PLM2	0x4
#define PFM_PLM3	0x8

/* --- register masks ------------------------------------------------------------------------- */

typedef unsigned long pfmlib_regmask_bits_t;

#define PFMLIB_REG_BV_BITS	(sizeof(pfmlib_regmask_bits_t) * 8)
#define PFMLIB_BVSIZE(x)	(((x) + PFMLIB_REG_BV_BITS - 1) / PFMLIB_REG_BV_BITS)
#define PFMLIB_REG_BV		PFMLIB_BVSIZE(PFMLIB_REG_MAX)

typedef struct {
	pfmlib_regmask_bits_t bits[PFMLIB_REG_BV];
} pfmlib_regmask_t;

/* Any time. isset and eq return 0 or 1; others PFMLIB_ERR_INVAL for NULL or a bit out of range. */
int pfm_regmask_isset(const pfmlib_regmask_t *h, unsigned int b);
int pfm_regmask_set(pfmlib_regmask_t *h, unsigned int b);
int pfm_regmask_clr(pfmlib_regmask_t *h, unsigned int b);
int pfm_regmask_weight(const pfmlib_regmask_t *h, unsigned int *weight);
int pfm_regmask_eq(const pfmlib_regmask_t *h1, const pfmlib_regmask_t *h2);
int pfm_regmask_and(pfmlib_regmask_t *dst, const pfmlib_regmask_t *h1, const pfmlib_regmask_t *h2);
int pfm_regmask_andnot(pfmlib_regmask_t *dst, const pfmlib_regmask_t *h1,
		       const pfmlib_regmask_t *h2);
int pfm_regmask_or(pfmlib_regmask_t *dst, const pfmlib_regmask_t *h1, const pfmlib_regmask_t *h2);
int pfm_regmask_copy(pfmlib_regmask_t *dst, const pfmlib_regmask_t *src);
int pfm_regmask_not(pfmlib_regmask_t *dst);

/* --- input and output of pfm_dispatch_events() ---------------------------------------------- */

typedef struct {
	unsigned int	event;		/* an event's index */
	unsigned int	plm;		/* privilege levels; 0 means pfp_dfl_plm */
	unsigned long	flags;
	unsigned int	unit_masks[PFMLIB_MAX_MASKS_PER_EVENT];
	unsigned int	num_masks;
	unsigned long	reserved[2];
} pfmlib_event_t;

typedef struct {
	unsigned long long reg_value;
	unsigned long long reg_addr;	/* address of the actual register */
	unsigned int	reg_num;	/* number of the logical register */
	unsigned int	reg_reserved1;
	unsigned long	reg_alt_addr;
} pfmlib_reg_t;

#define PFMLIB_PFP_SYSTEMWIDE	0x1	/* for a system-wide session */

typedef struct {
	unsigned int	pfp_event_count;
	unsigned int	pfp_dfl_plm;	/* must not be 0 */
	unsigned int	pfp_flags;
	unsigned int	reserved1;
	pfmlib_event_t	pfp_events[PFMLIB_MAX_PMCS];
	pfmlib_regmask_t pfp_unavail_pmcs;
	unsigned long	reserved[6];
} pfmlib_input_param_t;

typedef struct {
	unsigned int	pfp_pmc_count;
	unsigned int	pfp_pmd_count;
	pfmlib_reg_t	pfp_pmcs[PFMLIB_MAX_PMCS];
	pfmlib_reg_t	pfp_pmds[PFMLIB_MAX_PMDS];
	unsigned long	reserved[7];
} pfmlib_output_param_t;

typedef struct {
	unsigned int	pfm_debug:1;
	unsigned int	pfm_verbose:1;
	unsigned int	pfm_reserved:30;
} pfmlib_options_t;

/* --- errors --------------------------------------------------------------------------------- */

#define PFMLIB_SUCCESS		0
#define PFMLIB_ERR_NOTSUPP	-1	/* not supported */
#define PFMLIB_ERR_INVAL	-2	/* invalid argument */
#define PFMLIB_ERR_NOINIT	-3	/* pfm_initialize() was not called */
#define PFMLIB_ERR_NOTFOUND	-4	/* no such event */
#define PFMLIB_ERR_NOASSIGN	-5	/* the events cannot be counted together */
#define PFMLIB_ERR_FULL		-6	/* buffer too small */
#define PFMLIB_ERR_EVTMANY	-7	/* an event given more than once conflicts with itself */
#define PFMLIB_ERR_MAGIC	-8	/* invalid magic number */
#define PFMLIB_ERR_FEATCOMB	-9	/* incompatible features */
#define PFMLIB_ERR_EVTSET	-10	/* events of different sets (Itanium 2) */
#define PFMLIB_ERR_EVTINCOMP	-11	/* incompatible events */
#define PFMLIB_ERR_TOOMANY	-12	/* too many events or unit masks */
#define PFMLIB_ERR_IRRTOOBIG	-13	/* code range too big */
#define PFMLIB_ERR_IRREMPTY	-14	/* empty code range */
#define PFMLIB_ERR_IRRINVAL	-15	/* invalid code range */
#define PFMLIB_ERR_IRRTOOMANY	-16	/* too many code ranges */
#define PFMLIB_ERR_DRRINVAL	-17	/* invalid data range */
#define PFMLIB_ERR_DRRTOOMANY	-18	/* too many data ranges */
#define PFMLIB_ERR_BADHOST	-19	/* not supported by the host */
#define PFMLIB_ERR_IRRALIGN	-20	/* code range not aligned on bundles */
#define PFMLIB_ERR_IRRFLAGS	-21	/* flags missing on a code range */
#define PFMLIB_ERR_UMASK	-22	/* unit mask missing or invalid */
#define PFMLIB_ERR_NOMEM	-23	/* out of memory */

/* --- PMU models ----------------------------------------------------------------------------- */

#define PFMLIB_NO_PMU			-1
#define PFMLIB_UNKNOWN_PMU		0
#define PFMLIB_GEN_IA64_PMU		1
#define PFMLIB_ITANIUM_PMU		2
#define PFMLIB_ITANIUM2_PMU		3
#define PFMLIB_MONTECITO_PMU		4
#define PFMLIB_AMD64_PMU		16	/* K7, K8, family 10h to 16h: the host's, else K8 */
#define PFMLIB_I386_P6_PMU		32
#define PFMLIB_PENTIUM4_PMU		33
#define PFMLIB_COREDUO_PMU		34
#define PFMLIB_I386_PM_PMU		35
#define PFMLIB_CORE_PMU			36
#define PFMLIB_INTEL_CORE_PMU		36
#define PFMLIB_INTEL_PPRO_PMU		37
#define PFMLIB_INTEL_PII_PMU		38
#define PFMLIB_INTEL_ATOM_PMU		39
#define PFMLIB_INTEL_NHM_PMU		40
#define PFMLIB_INTEL_WSM_PMU		41
#define PFMLIB_GEN_IA32_PMU		63
#define PFMLIB_MIPS_20KC_PMU		64
#define PFMLIB_MIPS_24K_PMU		65
#define PFMLIB_MIPS_25KF_PMU		66
#define PFMLIB_MIPS_34K_PMU		67
#define PFMLIB_MIPS_5KC_PMU		68
#define PFMLIB_MIPS_74K_PMU		69
#define PFMLIB_MIPS_R10000_PMU		70
#define PFMLIB_MIPS_R12000_PMU		71
#define PFMLIB_MIPS_RM7000_PMU		72
#define PFMLIB_MIPS_RM9000_PMU		73
#define PFMLIB_MIPS_SB1_PMU		74
#define PFMLIB_MIPS_VR5432_PMU		75
#define PFMLIB_MIPS_VR5500_PMU		76
#define PFMLIB_MIPS_ICE9A_PMU		77
#define PFMLIB_MIPS_ICE9B_PMU		78
#define PFMLIB_POWERPC_PMU		90
#define PFMLIB_CRAYX2_PMU		96
#define PFMLIB_CELL_PMU			100
#define PFMLIB_PPC970_PMU		110
#define PFMLIB_PPC970MP_PMU		111
#define PFMLIB_POWER3_PMU		112
#define PFMLIB_POWER4_PMU		113
#define PFMLIB_POWER5_PMU		114
#define PFMLIB_POWER5p_PMU		115
#define PFMLIB_POWER6_PMU		116
#define PFMLIB_POWER7_PMU		117
#define PFMLIB_SPARC_ULTRA12_PMU	130
#define PFMLIB_SPARC_ULTRA3_PMU		131
#define PFMLIB_SPARC_ULTRA3I_PMU	132
#define PFMLIB_SPARC_ULTRA3PLUS_PMU	133
#define PFMLIB_SPARC_ULTRA4PLUS_PMU	134
#define PFMLIB_SPARC_NIAGARA1_PMU	135
#define PFMLIB_SPARC_NIAGARA2_PMU	136
/* The following types are not in libpfm 3. */
#define PFMLIB_ARMV8_PMU		150	/* ARMv8 PMUv3, architected events */
#define PFMLIB_SOFTWARE_PMU		160	/* software events alone */
#define PFMLIB_LIBPFM4_PMU(id)		(0x10000 + (id)) /* models that libpfm 3 does not have */

/* --- the library ---------------------------------------------------------------------------- */

/*
 * libpfm4 exports four functions under libpfm 3's names. Here these have other names in the object
 * files, so that both libraries can be in one process, in any link order.
 */
#define PFMLIB_LINK_NAME(name)	__asm__(#name)

/*
 * Any time. The environment takes precedence: LIBPFM_VERBOSE, LIBPFM_DEBUG (numbers),
 * LIBPFM_DEBUG_STDOUT (to stdout instead of stderr).
 */
int pfm_set_options(pfmlib_options_t *opt);

/*
 * Any time; call it again after changing the machine. Selects the PMU model: that of
 * libperfmon's machine if libperfmon is in the process, else the host's. LIBPFM_FORCE_PMU in the
 * environment (a PFMLIB_*_PMU number or a name) and pfm_force_pmu() take precedence.
 */
int pfm_initialize(void) PFMLIB_LINK_NAME(pfmlib_initialize);

int pfm_force_pmu(int type);				/* any time; NOTSUPP: unknown model */
int pfm_list_supported_pmus(int (*pf)(const char *fmt, ...)); /* any time */
int pfm_is_pmu_supported(int type);			/* NOTSUPP: unknown model */
int pfm_pmu_is_supported(int type);			/* the spelling of libpfm's manual */
int pfm_get_pmu_name(char *name, int maxlen);		/* FULL: name is too short */
int pfm_get_pmu_type(int *type);
int pfm_get_pmu_name_bytype(int type, char *name, size_t maxlen); /* any time */
int pfm_get_version(unsigned int *version) PFMLIB_LINK_NAME(pfmlib_get_version); /* any time */
char *pfm_strerror(int code) PFMLIB_LINK_NAME(pfmlib_strerror);	/* any time; never NULL */

/* --- events --------------------------------------------------------------------------------- */

/*
 * Indices 0 to the number of events - 1 are those of the current model: the model's own events,
 * then the software counters and the virtual registers that every machine has. Names are
 * case-insensitive. "MODEL::EVENT" names an event of any other model, to which its index
 * belongs.
 */
int pfm_get_num_events(unsigned int *count);
int pfm_get_max_event_name_len(size_t *len);
int pfm_find_event(const char *str, unsigned int *idx) PFMLIB_LINK_NAME(pfmlib_find_event);
int pfm_find_event_byname(const char *name, unsigned int *idx);
int pfm_find_event_bycode(int code, unsigned int *idx);
int pfm_find_event_bycode_next(int code, unsigned int start, unsigned int *next);
int pfm_find_event_mask(unsigned int idx, const char *str, unsigned int *mask_idx);

/*
 * Finds "EVENT:MASK1:MASK2", with masks by name or number and modifiers as in libpfm4 (u, k,
 * c=2, e, i, t, ...). It also accepts generic names (cycles, cache-misses, ...) and PAPI presets
 * of one event. NOTFOUND, UMASK, INVAL.
 */
int pfm_find_full_event(const char *str, pfmlib_event_t *e);

int pfm_get_event_name(unsigned int idx, char *name, size_t maxlen);
int pfm_get_full_event_name(pfmlib_event_t *e, char *name, size_t maxlen);
int pfm_get_event_code(unsigned int idx, int *code);
int pfm_get_event_code_counter(unsigned int idx, unsigned int cnt, int *code);
int pfm_get_event_counters(unsigned int idx, pfmlib_regmask_t *counters);
int pfm_get_event_description(unsigned int idx, char **str);	/* the caller must free *str */
int pfm_get_num_event_masks(unsigned int idx, unsigned int *count);
int pfm_get_event_mask_name(unsigned int idx, unsigned int mask_idx, char *name, size_t maxlen);
int pfm_get_event_mask_code(unsigned int idx, unsigned int mask_idx, unsigned int *code);
int pfm_get_event_mask_description(unsigned int idx, unsigned int mask_idx, char **desc);
int pfm_get_cycle_event(pfmlib_event_t *e);			/* NOTSUPP: it has none */
int pfm_get_inst_retired_event(pfmlib_event_t *e);		/* NOTSUPP: it has none */

/*
 * Assigns events to counters: PMC values and PMD numbers. Each event gets one counter. pfp_pmds
 * begins with these counters in the order of the events, and other PMDs follow. If an assignment
 * exists, it is found. q is written completely, but only on success. model_in and model_out:
 * NULL, or structures for the model (pfmlib_itanium.h, _itanium2.h, _montecito.h, _amd64.h,
 * _core.h, _i386_p6.h, _intel_atom.h, _intel_nhm.h, _gen_ia32.h). INVAL, NOASSIGN, TOOMANY, UMASK,
 * errors of the model; pfm_dispatch_explain() gives the reason in words.
 */
int pfm_dispatch_events(pfmlib_input_param_t *p, void *model_in, pfmlib_output_param_t *q,
			void *model_out);

int pfm_get_impl_pmcs(pfmlib_regmask_t *impl_pmcs);
int pfm_get_impl_pmds(pfmlib_regmask_t *impl_pmds);
int pfm_get_impl_counters(pfmlib_regmask_t *impl_counters);
int pfm_get_num_pmcs(unsigned int *num);
int pfm_get_num_pmds(unsigned int *num);
int pfm_get_num_counters(unsigned int *num);
int pfm_get_hw_counter_width(unsigned int *width);

/* With perfmon.h: start and stop the calling thread's own counters, as cheaply as possible. */
#define pfm_self_start(fd)	pfm_start((fd), NULL)
#define pfm_self_stop(fd)	pfm_stop(fd)

/* --- own ------------------------------------------------------------------------------------ */

/* An element of unit_masks for a modifier: its index, with its value from bit 16 on. */
#define PFMLIB_MASK(idx, value)	((idx) | ((unsigned int)(value) << 16))
#define PFMLIB_MASK_INDEX(m)	((m) & 0xffffU)
#define PFMLIB_MASK_VALUE(m)	((m) >> 16)

/*
 * Modifiers have the indices after the unit masks; the functions for names and descriptions of
 * masks accept these.
 */
int pfm_get_num_event_modifiers(unsigned int idx, unsigned int *count);

#define PFMLIB_MASK_DEFAULT	0x1	/* used if no unit mask is given */
#define PFMLIB_MASK_BOOLEAN	0x2	/* a modifier without a value */
#define PFMLIB_MASK_INTEGER	0x4	/* a modifier with a value */
int pfm_get_event_mask_flags(unsigned int idx, unsigned int mask_idx, unsigned int *flags);

typedef struct {
	const char	*name;		/* as in NAME::EVENT */
	const char	*desc;
	int		type;		/* PFMLIB_*_PMU */
	unsigned int	present;	/* 1: the PMU of the host or of the machine */
	unsigned int	first_event;	/* index of its first event in all models */
	unsigned int	num_events;	/* number with software counters and virtual registers */
	unsigned int	num_hw_events;	/* number of hardware events */
	unsigned int	num_counters;	/* hardware counters */
	unsigned int	width;		/* width of a hardware counter in bits */
} pfmlib_pmu_info_t;

/* Describes the i-th model, counted from 0; NOTFOUND past the last. Any time. */
int pfm_get_pmu_info_at(unsigned int i, pfmlib_pmu_info_t *info);
/* Describes a model by its name, or the current one for NULL. NOTFOUND. */
int pfm_get_pmu_info_byname(const char *name, pfmlib_pmu_info_t *info);
int pfm_force_pmu_byname(const char *name);	/* any time; NULL: the default */

/*
 * The events that a name stands for: one or, for a derived preset, several with a formula over
 * $1, $2... ("$1 - $2"). Accepts names as pfm_find_full_event() does. model is the default
 * model, or NULL.
 */
#define PFMLIB_MAX_TERMS 8
typedef struct {
	unsigned int	count;
	pfmlib_event_t	events[PFMLIB_MAX_TERMS];
	char		formula[96];	/* "" for a single event */
} pfmlib_expansion_t;
int pfm_expand_event(const char *model, const char *str, pfmlib_expansion_t *x);

/* Returns the i-th generic name or preset, counted from 0; NULL past the last. Any time. */
const char *pfm_generic_name(unsigned int i);

/* Finds the known name closest to a misspelt one; NOTFOUND: none is close. */
int pfm_suggest_event(const char *model, const char *str, char *name, size_t maxlen);

/*
 * Returns why the last pfm_initialize(), pfm_find_full_event(), pfm_expand_event() or
 * pfm_dispatch_events() failed in this thread, in words; "" if no reason is known. After another
 * call the reason can still be that of an earlier one.
 */
const char *pfm_dispatch_explain(void);

/*
 * Finds a smallest set of p's events that cannot be counted together, and stores their indices in
 * p to positions. *n is the number of elements that positions has; on success it is set to the
 * number of events found, and pfm_dispatch_explain() says why they conflict. Returns
 * PFMLIB_ERR_NOTFOUND if all of p's events can be counted together.
 */
int pfm_find_conflict(pfmlib_input_param_t *p, unsigned int *positions, unsigned int *n);

/*
 * Tells whether e can be counted together with p's events: returns PFMLIB_SUCCESS, or the error of
 * pfm_dispatch_events().
 */
int pfm_can_add_event(pfmlib_input_param_t *p, const pfmlib_event_t *e);

/*
 * Splits p's events into the smallest number of sets that can each be dispatched: set_of[i] is
 * the set of event i, *nsets the number of sets. NOASSIGN if an event cannot be counted even
 * alone.
 */
int pfm_split_events(pfmlib_input_param_t *p, unsigned int *set_of, unsigned int *nsets);

#ifdef __cplusplus
}
#endif
#endif /* PERFMON_PFMLIB_H */
