/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * core.h - contexts, event sets, and the commands as the core carries them out.
 *
 * A transport (the ioctls of perfmon.ko, libperfmon) copies arguments in, takes the context's lock,
 * calls one of the pfm_do_* functions, and copies results out. A pfm_do_* function returns 0, or a
 * negative errno after it has given the reason to pfm_refuse(). The elements of a vector are
 * processed in order up to the first bad one, in the flags of which an error bit is set (3.1.2).
 * Numbers such as 3.1.2 are sections of the perfmon2 specification.
 */
#ifndef PFM_CORE_CORE_H
#define PFM_CORE_CORE_H

#include "bits.h"
#include "format.h"
#include "machine.h"
#include "os.h"
#include "pmu.h"

enum pfm_state {
	PFM_CTX_UNLOADED = 1,	/* not bound to a target */
	PFM_CTX_LOADED,		/* bound to a target; counting if started */
	PFM_CTX_MASKED,		/* bound to a target; held until pfm_restart() */
};

/* A PMD of a set: its value, and how it is reset and sampled. */
struct pfm_pmd {
	uint16_t	num;
	uint8_t		is_counter:1;
	/* set while an overflow is handled: the PMD will get a short reset */
	uint8_t		reset_now:1;
	uint8_t		samples:1;		/* smpl_pmds is not empty */
	/*
	 * the PMD passed 2^64 while its set was held; the machine reports that as an overflow when
	 * the set counts again
	 */
	bool		passed;
	uint32_t	flags;			/* PFM_REGFL_* */
	const struct pfm_reg	*reg;
	uint64_t	value;			/* all 64 bits, as of the last ops->collect() */
	uint64_t	long_reset;
	uint64_t	short_reset;
	uint64_t	last_reset;
	/*
	 * the number of overflows after which the set is left, as programmed; 0: the PMD causes no
	 * switch
	 */
	uint64_t	switch_cnt;
	/* how many of these switch_cnt overflows have not come yet */
	uint64_t	switch_left;
	uint64_t	reset_pmds[PFM_PMD_BV];
	uint64_t	smpl_pmds[PFM_PMD_BV];
	uint64_t	eventid;
	uint64_t	random_mask;
	uint32_t	random_seed;		/* the seed as programmed */
	uint32_t	random_state;		/* state of Carta's generator */
	/*
	 * sum of the counts of child contexts that have ended, minus "living" at the time when the
	 * PMD was last written: counts of children before a write are not part of the value
	 */
	uint64_t	children;
	/*
	 * sum of the counts of living child contexts when pfm_gather() was last called (inherit.c)
	 */
	uint64_t	living;
	uint64_t	os;			/* private to the machine */
};

struct pfm_pmc {
	uint16_t	num;
	uint32_t	flags;
	uint64_t	value;
};

#define PFM_FIRST_REGS	4

/*
 * With PFM_FL_INHERIT: the amounts that child contexts add to the members of struct pfm_set with
 * the same names.
 */
struct pfm_share {
	uint64_t	runs;
	uint64_t	duration;
	uint64_t	lost, throttled, late;
	uint64_t	blind;
};

/*
 * An event set. pmcs and pmds have entries only for the registers in use, in ascending order of
 * their numbers; pfm_set_pmc() and pfm_set_pmd() find an entry.
 */
struct pfm_set {
	uint16_t	id, id_next;
	uint32_t	flags;			/* PFM_SETFL_* */
	bool		resets_others;		/* reset_pmds of some PMD has, or had, bits set */
	/* number of words of used_pmds, from the first one on, in which bits can be set */
	uint8_t		pmd_words;
	/* in ns, rounded up to the timer's granularity (3.1.10) */
	uint64_t	timeout;
	/* the rest of the timeout while the set is inactive, stopped or masked */
	uint64_t	timeout_left;
	uint64_t	runs;
	/* ns for which the set has counted before ctx->since */
	uint64_t	duration;
	uint64_t	lost, throttled, late;
	/*
	 * amounts of child contexts: those that have ended; those that live, at the last
	 * pfm_gather()
	 */
	struct pfm_share ended, living;
	/* ns for which the set was active but lacked the PMU, or a counter */
	uint64_t	blind;
	uint64_t	gap; /* ns of duration in which a switch was due and nothing was counted */
	uint64_t	used_pmcs[PFM_PMC_BV];
	uint64_t	used_pmds[PFM_PMD_BV];
	/* registers that are in use, or for which pfm_set_reserve_*() has reserved room */
	uint64_t	capacity_of_pmcs[PFM_PMC_BV];
	uint64_t	capacity_of_pmds[PFM_PMD_BV];
	/* PMDs that overflowed and have not been reset yet */
	uint64_t	ovfl_pmds[PFM_PMD_BV];
	uint64_t	switch_pmds[PFM_PMD_BV];	/* PMDs that caused the last switch */
	struct pfm_pmc	*pmcs;
	struct pfm_pmd	*pmds;
	unsigned int	num_pmcs, num_pmds, room_pmcs, room_pmds;
	/* number of bits in capacity_of_pmcs and capacity_of_pmds */
	unsigned int	reserved_pmcs, reserved_pmds;
	uint16_t	pmd_at[PFM_MAX_PMDS];	/* index in pmds of a PMD in use */
	struct pfm_set	*next;			/* the next set in the order of ids */
	pfm_set_view_t	*view;			/* the set's view with PFM_FL_MAP_SETS; else NULL */
	void		*os;			/* private to the machine */
	/* storage of pmcs and pmds, until more registers are in use */
	struct pfm_pmc	first_pmcs[PFM_FIRST_REGS];
	struct pfm_pmd	first_pmds[PFM_FIRST_REGS];
};

#define PFM_LOW_SETS	16

struct pfm_vector {
	void	*v;
	/*
	 * number of elements that passed the checks; after a read, number of elements that were
	 * read
	 */
	int	n;
};

/*
 * With PFM_FL_INHERIT and a format: one of the sampling buffers that a root shares with its child
 * contexts. ops->part() chooses the part by the CPU on which the thread runs. A context must take a
 * part before it fills it: parts.c.
 */
struct pfm_part {
	void			*buf;
	uint32_t		taken;		/* a lock: 1 while the part is in use */
	/* The members from here to "post" are written only while the part is taken. */
	/* the format has masked at a fill, and no restart has come since */
	bool			full;
	/* the message of the present fill, or of the last one, has been posted */
	bool			reported;
	/* the result of the last call of the format's restart callback */
	pfm_ovfl_ctrl_t		ctrl;
	uint32_t		fills;	/* overflows at which the format notified or masked */
	uint32_t		given;		/* number of fills that restarts have given back */
	uint32_t		restarts; /* number of times that the format agreed to a restart */
	uint32_t		post;	/* number of the fill that is being reported, or 0 */
	uint32_t		read; /* number of the newest fill of which the message was read */
	/* padding, so that parts of two CPUs share no cache line */
	char			apart[64];
};

/*
 * The size of arrays that are indexed by PFM_STACK_SMPL_LOST_*, of which there are
 * PFM_STACK_SMPL_LOST_REASONS at present.
 */
#define PFM_LOST_REASONS	8

struct pfm_context {
	struct pfm_machine	*machine;
	/* the description of the machine's PMU, or of the one that ops->create has set */
	const struct pfm_pmu	*pmu;
	enum pfm_state		state;		/* only pfm_set_state() changes it */
	uint32_t		flags;		/* PFM_FL_* */
	bool			started;	/* between pfm_start and pfm_stop */
	/*
	 * with PFM_FL_ON_EXEC, on machines that leave it to the core: nothing counts until
	 * pfm_target_exec() is called
	 */
	bool			waits_exec;
	/* the target is the thread that loaded the context */
	bool			self;
	bool			blocked;	/* the target is blocked (PFM_FL_NOTIFY_BLOCK) */
	bool			switch_due;	/* a switch waits for pfm_restart (3.7.7) */
	bool			preempted;	/* another context has taken the PMU (6.5) */
	bool			from_anywhere;	/* the command in progress may come from any CPU */
	/* ids of the target; the CPU of a system-wide context */
	uint32_t		tid, pid, cpu;
	/* PMDs that cause the switch which is due or being made */
	uint64_t		switch_pmds[PFM_PMD_BV];

	struct pfm_set		*low_sets[PFM_LOW_SETS];	/* sets by their ids; see sets.c */
	/* the other sets, by the high byte of the id; NULL: there are none */
	struct pfm_set_page	**set_pages;
	/* set 0, the first in the order of ids, which always exists */
	struct pfm_set		set0;
	unsigned int		num_sets;
	struct pfm_set		*active;
	bool			absent;		/* the active set could not be installed */
	uint64_t		since;	/* ops->ran() when the active set last began to count */

	struct pfm_buffer_fmt	*fmt;
	void			*fmt_self;	/* the state of a format with fmt_ops */
	void			*buf;
	size_t			buf_size;
	struct pfm_stack_want	format_needs;		/* the requirements of the format */
	size_t			msgq_depth;

	/* with INHERIT: the parts of the buffer; a child context uses its root's */
	struct pfm_part		*parts;
	unsigned int		num_parts;
	/*
	 * in a root: the format's decision at the last restart; a member is 1 if it is 1 for any
	 * part
	 */
	pfm_ovfl_ctrl_t		restart;
	/* in PMU context: the part that this context has taken; or NULL */
	struct pfm_part		*part;
	/* the part of the buffer where the format masked this context, or NULL */
	struct pfm_part		*held_by;
	uint32_t		held_at;	/* held_by->restarts at the time of the mask */
	/* an overflow has deferred a reset to the restart */
	bool			owes;
	/*
	 * with parts: a message has been read since the load; until then a restart gives all fills
	 * back
	 */
	bool			heard;
	bool			has_untold;
	/*
	 * number of lost samples and records for which no LOST record has been written yet, by the
	 * reason of the loss: PFM_STACK_SMPL_LOST_*
	 */
	uint64_t		untold[PFM_LOST_REASONS];

	/*
	 * in ns, while another context has the PMU (6.5): when it took the PMU; up to when "blind"
	 * has been updated; for how long monitoring was wanted since then
	 */
	uint64_t		lost_at, blind_since, blind;

	uint64_t		rate_until;	/* end of the present throttling window (4.4.4) */
	/* how many more overflows are let through in this window */
	uint64_t		rate_left;

	/* in a child context: the root to which it belongs; see inherit.c */
	struct pfm_context	*root;
	/* in a root: its child contexts, linked by next_child_ctx */
	struct pfm_context	*child_ctxs;
	struct pfm_context	*next_child_ctx, **child_link;
	/* the set with which the next child context begins; NULL: the active one */
	struct pfm_set		*inherit_set;
	/* number of children that were not counted, or not up to their end */
	uint64_t		dropped_children;
	uint32_t		num_forks;		/* number of children of this load */
	/*
	 * in a root: the state of the periods of child contexts that have ended, for later ones to
	 * continue; in a child context: memory for the state that it will leave
	 */
	struct pfm_rest		*rests;
	/* the target has ended, but some of its children have not */
	bool			outlived;
	/* END will be posted when the target and all its children have ended */
	bool			tell_end;

	struct pfm_context	*next_loaded;
	void			*os;		/* private to the machine */
	void			*transport;	/* private to the transport */
	/* scratch space of an overflow: indices in set->pmds */
	uint16_t		hits[PFM_MAX_PMDS];
	unsigned int		num_hits;
	struct pfm_vector	vector;		/* the vector of the command in progress */
	/* with ops->fits: the registers as they were before the elements of a write */
	void			*was;
	/* scratch space of an overflow; the sampled values are valid only with a format */
	pfm_ovfl_arg_t		ovfl_arg;
};

#define pfm_ops(ctx) ((ctx)->machine->ops)

/*
 * The state changes under the context's lock. Without the lock, only code in PMU context, such as
 * an overflow, changes it, and only from LOADED to MASKED. So a command may test outside of PMU
 * context whether the context is loaded. If pfm_state_acquire() returns MASKED, the values that the
 * PMDs had at the mask can be read, too.
 */
static inline bool pfm_loaded(const struct pfm_context *ctx)
{
	return READ_ONCE(ctx->state) != PFM_CTX_UNLOADED;
}

static inline enum pfm_state pfm_state_acquire(const struct pfm_context *ctx)
{
	return smp_load_acquire(&ctx->state);	/* pairs with the release in pfm_set_state() */
}

static inline void pfm_set_state(struct pfm_context *ctx, enum pfm_state state)
{
	smp_store_release(&ctx->state, state);	/* pairs with pfm_state_acquire() */
}

/*
 * For machines: returns true if a command on a system-wide context may come from a CPU other than
 * the monitored one (3.1.2, 4.3.2).
 */
static inline bool pfm_any_cpu(const struct pfm_context *ctx)
{
	return (ctx->flags & PFM_FL_ANY_CPU) || ctx->from_anywhere;
}

#define PFM_ANY_CPU_HINT " (PFM_FL_ANY_CPU, or LPFM_ANY_CPU=1 in the environment, allows any)"

/* Returns true if monitoring is started and not masked. Called in PMU context. */
static inline bool pfm_wants_pmu(const struct pfm_context *ctx)
{
	return READ_ONCE(ctx->state) == PFM_CTX_LOADED && ctx->started;
}

/*
 * Returns true if the counters of the active set should run: monitoring is started and not masked,
 * the context has the PMU, and it does not wait for an exec.
 */
static inline bool pfm_counting(const struct pfm_context *ctx)
{
	return pfm_wants_pmu(ctx) && !ctx->preempted && !ctx->waits_exec;
}

/* --- commands (3.1) ------------------------------------------------------------------------- */

/*
 * Creates a context (3.1.1). fmt is a format from pfm_fmt_get_*(), or NULL; the context takes over
 * the reference, which is dropped on failure. fmt_arg has fmt->fmt_arg_size bytes, which the format
 * may change. transport is stored in ctx->transport. All output fields of req but ctx_fd are filled
 * in.
 */
int pfm_do_create(struct pfm_machine *m, pfarg_ctx_t *req, struct pfm_buffer_fmt *fmt, void *fmt_arg,
		  void *transport, struct pfm_context **ctx);
/* Unloads and frees the context when its last descriptor is closed (3.1.15), on any CPU. */
void pfm_do_close(struct pfm_context *ctx);

int pfm_do_write_pmcs(struct pfm_context *ctx, pfarg_pmc_t *v, int n);
int pfm_do_write_pmds(struct pfm_context *ctx, pfarg_pmd_t *v, int n);
int pfm_do_read_pmds(struct pfm_context *ctx, pfarg_pmd_t *v, int n);
int pfm_do_load(struct pfm_context *ctx, const pfarg_load_t *req);
int pfm_do_unload(struct pfm_context *ctx);
int pfm_do_start(struct pfm_context *ctx, const pfarg_start_t *req);	/* req may be NULL */
int pfm_do_stop(struct pfm_context *ctx);
int pfm_do_restart(struct pfm_context *ctx);
int pfm_do_create_evtsets(struct pfm_context *ctx, pfarg_setdesc_t *v, int n);
int pfm_do_delete_evtsets(struct pfm_context *ctx, pfarg_setdesc_t *v, int n);
int pfm_do_getinfo_evtsets(struct pfm_context *ctx, pfarg_setinfo_t *v, int n);

int pfm_do_getinfo_pmcs(struct pfm_machine *m, pfarg_pmcinfo_t *v, int n);
int pfm_do_getinfo_pmds(struct pfm_machine *m, pfarg_pmdinfo_t *v, int n);
int pfm_do_get_config(struct pfm_machine *m, pfarg_config_t *cfg);
int pfm_do_set_config(struct pfm_machine *m, const pfarg_config_t *cfg);

/*
 * pfm_check_vector(), for transports, returns 0 if a vector may have n elements of size bytes
 * (4.4.2). Otherwise it calls pfm_refuse_vector(), which returns -EINVAL or -E2BIG.
 */
int pfm_refuse_vector(struct pfm_machine *m, int n, size_t size);
static inline int pfm_check_vector(struct pfm_machine *m, int n, size_t size)
{
	return n > 0 && (uint64_t)n * size <= READ_ONCE(m->arg_size_max) ? 0 : pfm_refuse_vector(m, n, size);
}

/* --- inside the core ------------------------------------------------------------------------ */

enum pfm_reset { PFM_RESET_SHORT, PFM_RESET_LONG };

/* sets.c: the sets of a context, and the registers of a set. pfm_sets_init() makes set 0. */
void pfm_sets_init(struct pfm_context *ctx);
int pfm_set_new(struct pfm_context *ctx, uint16_t id, struct pfm_set **out);
void pfm_set_delete(struct pfm_context *ctx, struct pfm_set *set);
void pfm_sets_free(struct pfm_context *ctx);
struct pfm_set *pfm_set_find_high(struct pfm_context *ctx, uint16_t id);
/* returns NULL if there is no such set */
static inline struct pfm_set *pfm_set_find(struct pfm_context *ctx, uint16_t id)
{
	return id < PFM_LOW_SETS ? ctx->low_sets[pfm_os_index(id, PFM_LOW_SETS)] : pfm_set_find_high(ctx, id);
}
/*
 * Returns the set to which a switch from "set" leads (3.7.5), or NULL if that set does not exist.
 */
struct pfm_set *pfm_set_successor(struct pfm_context *ctx, struct pfm_set *set);
/* Returns NULL if the PMC is not in use. */
struct pfm_pmc *pfm_set_pmc(struct pfm_set *set, unsigned int num);
static inline struct pfm_pmd *pfm_set_pmd(struct pfm_set *set, unsigned int num)
{
	return pfm_bit(set->used_pmds, num) ? &set->pmds[set->pmd_at[num]] : NULL;
}

/* Returns the PMD of the only bit in a vector of PMDs in use; NULL if it has more bits, or none. */
static inline struct pfm_pmd *pfm_only_pmd(struct pfm_set *set, const uint64_t *bits)
{
	uint64_t found = bits[0];
	unsigned int word = 0;

	for (unsigned int i = 1; i < set->pmd_words; i++) {
		if (!bits[i])
			continue;
		if (found)
			return NULL;
		found = bits[i];
		word = i;
	}
	if (!found || found & (found - 1))
		return NULL;
	return &set->pmds[set->pmd_at[word * 64 + (unsigned int)__builtin_ctzll(found)]];
}

/*
 * Returns after how many more overflows of the PMD the set is left (3.1.4), or 0 if the PMD does
 * not cause a switch.
 */
static inline uint64_t pfm_switches_left(const struct pfm_set *set, const struct pfm_pmd *pmd)
{
	return (set->flags & PFM_SETFL_OVFL_SWITCH) && pmd->is_counter ? pmd->switch_left : 0;
}
/*
 * These reserve room for a register that will come into use, so that pfm_set_use_*() cannot fail
 * for it. They may sleep. They return 0 or a negative errno.
 */
int pfm_set_reserve_pmc(struct pfm_context *ctx, struct pfm_set *set, unsigned int num);
int pfm_set_reserve_pmd(struct pfm_context *ctx, struct pfm_set *set, unsigned int num);
/*
 * These return the entry of a register, and bring the register into use if necessary. The value and
 * flags of a new PMC are 0; the caller must set them.
 */
struct pfm_pmc *pfm_set_use_pmc(struct pfm_set *set, unsigned int num);
struct pfm_pmd *pfm_set_use_pmd(struct pfm_set *set, const struct pfm_reg *reg);

/*
 * activate.c: stops monitoring and saves the last values (3.1.6, 3.1.8); called inside access(). A
 * masked context stays masked, so PMDs that overflowed are still reset at the restart.
 */
int pfm_stop_here(struct pfm_context *ctx, void *unused);

/*
 * switch.c, in PMU context. pfm_run() makes the active set count; pfm_hold() stops its counters;
 * pfm_mask() holds them until the restart.
 */
void pfm_run(struct pfm_context *ctx);
void pfm_hold_now(struct pfm_context *ctx);
static inline void pfm_hold(struct pfm_context *ctx)
{
	if (pfm_counting(ctx))
		pfm_hold_now(ctx);
}

/* 3.1.9: masked is different from stopped, and only pfm_restart() ends it. */
static inline void pfm_mask(struct pfm_context *ctx)
{
	pfm_hold(ctx);
	ctx->held_by = NULL;	/* if a format has masked, the caller sets this afterwards */
	pfm_set_state(ctx, PFM_CTX_MASKED);
}

void pfm_note_blind(struct pfm_context *ctx);
/*
 * Notes the time that a preempted context has missed (6.5). Called before its state, or its active
 * set, changes.
 */
static inline void pfm_see_blind(struct pfm_context *ctx)
{
	if (ctx->preempted)
		pfm_note_blind(ctx);
}
int pfm_enter_set(struct pfm_context *ctx, struct pfm_set *set, enum pfm_reset kind);
int pfm_switch(struct pfm_context *ctx, enum pfm_reset kind);
/*
 * Called in an interrupt: switches to the next set, and lets it count. Returns 0, or the error of
 * install() unless that is ESRCH. No command can return the error, so the caller posts a message.
 */
int pfm_change_set(struct pfm_context *ctx);

/*
 * overflow.c: called in PMU context when monitoring was masked without a command that could return
 * an error: a set could not be installed, or a record filled the buffer. "set" was active at that
 * time. Posts a message that asks for a restart, even if no PMD has OVFL_NOTIFY (4.4.4), so that
 * programs need not poll for it.
 */
void pfm_report_install_failure(struct pfm_context *ctx, const struct pfm_set *set);

/* reset.c, in PMU context: resets with randomization (3.4.1, 3.4.2). */
uint64_t pfm_draw(struct pfm_pmd *pmd);
/* Resets the PMD's value only: the caller must load the counter. */
static inline void pfm_reset_value(struct pfm_pmd *pmd, enum pfm_reset kind)
{
	uint64_t value = kind == PFM_RESET_LONG ? pmd->long_reset : pmd->short_reset;

	if (pmd->is_counter && (pmd->flags & PFM_REGFL_RANDOM))
		value += pfm_draw(pmd) & pmd->random_mask;
	pmd->value = pmd->last_reset = value;
	pmd->passed = false;
}
static inline void pfm_reset_pmd_now(struct pfm_context *ctx, struct pfm_set *set, struct pfm_pmd *pmd,
				     enum pfm_reset kind)
{
	pfm_reset_value(pmd, kind);
	if (pmd->reg->write)
		pmd->reg->write(ctx, pmd->value);
	else if (set == ctx->active && pfm_loaded(ctx))
		pfm_ops(ctx)->write_pmd(ctx, set, pmd->num);
}
#ifdef PFM_RESETS_ARE_CALLS	/* for tests in spec/ that trace each reset */
void pfm_reset_pmd(struct pfm_context *ctx, struct pfm_set *set, struct pfm_pmd *pmd, enum pfm_reset kind);
#else
#define pfm_reset_pmd pfm_reset_pmd_now
#endif
void pfm_reset_these(struct pfm_context *ctx, struct pfm_set *set, const uint64_t *bits, enum pfm_reset kind);
void pfm_reset_pmds(struct pfm_context *ctx, struct pfm_set *set, const uint64_t *bits,
		    enum pfm_reset kind);

/*
 * Called in PMU context for a PMD that is the only one to overflow, by machines that load the
 * counter themselves instead of calling pfm_overflow(). pfm_goes_on() returns true if the context
 * has no format, and the PMD is only reset or just counts on, without a message, throttling or a
 * switch. pfm_is_reset() is called then: it returns true if the PMD is reset, and decrements its
 * threshold.
 */
static inline bool pfm_goes_on(const struct pfm_context *ctx, const struct pfm_set *set, const struct pfm_pmd *pmd)
{
	return !(pmd->flags & PFM_REGFL_OVFL_NOTIFY) && !ctx->fmt && !READ_ONCE(ctx->machine->ovfl_rate_max) &&
	       !set->resets_others && pmd->switch_left != 1;
}

static inline bool pfm_is_reset(const struct pfm_set *set, struct pfm_pmd *pmd)
{
	if (!(set->flags & PFM_SETFL_OVFL_SWITCH))
		return false;
	if (pmd->switch_left)
		pmd->switch_left--;
	return pmd->switch_cnt;
}

/* Does what pfm_overflow() does, for machines that know the PMD of the only bit in ovfl. */
void pfm_overflow_of(struct pfm_context *ctx, struct pfm_pmd *pmd, const uint64_t *ovfl, const struct pfm_where *where);

/* Runs fn, in PMU context if the context is loaded. */
static inline int pfm_in_pmu(struct pfm_context *ctx, int (*fn)(struct pfm_context *, void *), void *arg)
{
	return pfm_loaded(ctx) ? pfm_ops(ctx)->access(ctx, fn, arg) : fn(ctx, arg);
}

/*
 * vector.c: how many elements of a vector are processed at a time, with interrupts off. A longer
 * vector is processed in parts, between which overflows and switches may come.
 */
#define PFM_PART	256

int pfm_parts_in_pmu(struct pfm_context *ctx, int (*fn)(struct pfm_context *, void *), void *v,
		     size_t size, int n);

/*
 * Runs fn, which processes ctx->vector, on n elements of size bytes. ctx->vector.n is then the
 * number of elements that were processed.
 */
static inline int pfm_vector_in_pmu(struct pfm_context *ctx, int (*fn)(struct pfm_context *, void *),
				    void *v, size_t size, int n)
{
	if (n > PFM_PART)
		return pfm_parts_in_pmu(ctx, fn, v, size, n);
	ctx->vector = (struct pfm_vector){ v, n };
	return n ? pfm_in_pmu(ctx, fn, NULL) : 0;
}

/* view.c: pfm_view_update() updates the set's view, if it has one; in PMU context. */
int pfm_view_open(struct pfm_context *ctx, struct pfm_set *set);
void pfm_view_close(struct pfm_context *ctx, struct pfm_set *set);
void pfm_view_write(struct pfm_context *ctx, struct pfm_set *set);
static inline void pfm_view_update(struct pfm_context *ctx, struct pfm_set *set)
{
	if (set->view)
		pfm_view_write(ctx, set);
}

/* attach.c: stops and unloads the context if it is loaded, on any CPU. */
void pfm_unload(struct pfm_context *ctx);

/*
 * Runs fn in the PMU context of each child context. Its argument is the child's set with
 * set's id, or NULL if set is NULL or the child lacks it. Not called in PMU context.
 */
static inline void pfm_for_child_ctxs(struct pfm_context *ctx, int (*fn)(struct pfm_context *, void *),
				      const struct pfm_set *set)
{
	for (struct pfm_context *child_ctx = ctx->child_ctxs; child_ctx; child_ctx = child_ctx->next_child_ctx)
		pfm_ops(child_ctx)->access(child_ctx, fn, set ? pfm_set_find(child_ctx, set->id) : NULL);
}

/* inherit.c: PFM_FL_INHERIT. The lock of a root is also that of its child contexts. */
static inline struct pfm_context *pfm_root(struct pfm_context *ctx)
{
	return ctx->root ? ctx->root : ctx;
}
static inline bool pfm_inherits(const struct pfm_context *ctx)
{
	return ctx->flags & PFM_FL_INHERIT;
}
int pfm_check_inherit(struct pfm_machine *m, uint32_t flags, const struct pfm_buffer_fmt *fmt);
/* Sets "living" of the sets and PMDs to the present counts of the living child contexts. */
void pfm_gather(struct pfm_context *ctx);
/* unloads the child context, adds its counts to the root's, and frees it */
void pfm_child_ctx_end(struct pfm_context *child_ctx);
void pfm_rests_free(struct pfm_context *root);
/* Excludes from the PMD's value the events that children have counted so far. */
static inline void pfm_forget_children(struct pfm_pmd *pmd)
{
	pmd->children = -pmd->living;
}

/*
 * parts.c: the parts of a buffer. pfm_parts_make() allocates ops->num_parts() of them, each of size
 * bytes rounded up to pages; the caller initializes the format in each. pfm_part_take() and
 * pfm_part_wait() run in PMU context and set ctx->part to this CPU's part. If another context or a
 * restart has taken the part, pfm_part_take() returns false, and pfm_part_wait() spins, which is
 * forbidden in an NMI.
 */
int pfm_parts_make(struct pfm_context *ctx, size_t size);
void pfm_parts_free(struct pfm_context *ctx);
bool pfm_part_take(struct pfm_context *ctx);
void pfm_part_wait(struct pfm_context *ctx);
void pfm_part_leave(struct pfm_context *ctx);
/*
 * Called when the format has notified or masked at an overflow, by a caller that has taken the
 * part. Returns true if a message must be posted. Returns false if the part was full before and the
 * message of that fill has been posted.
 */
bool pfm_part_filled(struct pfm_part *part, bool masks);
static inline void *pfm_buffer_of(const struct pfm_context *ctx)	/* called in PMU context */
{
	return ctx->part ? ctx->part->buf : ctx->buf;
}
/* Calls the format's restart callback on a part's buffer. */
typedef int pfm_ask_t(struct pfm_context *root, void *buf, bool active, pfm_ovfl_ctrl_t *ctrl);
/*
 * Returns true if the part may have fills that no restart has given back. May be called anywhere.
 */
bool pfm_part_is_due(const struct pfm_context *root, const struct pfm_part *part);
/*
 * With the part taken, calls ask() for each fill that the format gets back now (parts.c), and
 * stores the format's last decision in part->ctrl. Returns 0, or the error of the ask() that
 * failed. Runs in PMU context, or after the root's thread has ended.
 */
int pfm_part_restart(struct pfm_context *root, struct pfm_part *part, pfm_ask_t *ask);
void pfm_parts_begin(struct pfm_context *root);	/* resets all parts when a context is loaded */

/* Notes that the format has masked the context, in the part that the context has taken. */
static inline void pfm_held_by_part(struct pfm_context *ctx)
{
	ctx->held_by = ctx->part;
	if (ctx->part)
		ctx->held_at = ctx->part->restarts;
}

/*
 * record.c: pfm_untold() notes n lost samples if the format takes records. pfm_tell_untold() writes
 * a LOST record for each reason for which something was lost; the caller has taken the part.
 */
void pfm_untold(struct pfm_context *ctx, uint64_t n);
void pfm_tell_untold_now(struct pfm_context *ctx);
static inline void pfm_tell_untold(struct pfm_context *ctx)
{
	if (ctx->has_untold)
		pfm_tell_untold_now(ctx);
}

/* msg.c */
int pfm_post_overflow(struct pfm_context *ctx, const uint64_t *ovfl, const struct pfm_where *where);
void pfm_post_end(struct pfm_context *ctx);
void pfm_post_preempted(struct pfm_context *ctx, uint32_t tid);

/* limits.c: sessions, permissions, memory (chapter 4). */
int pfm_may_create(struct pfm_machine *m, uint32_t flags);
int pfm_session_begin(struct pfm_context *ctx);
void pfm_session_end(struct pfm_context *ctx);
int pfm_buffer_alloc(struct pfm_context *ctx, size_t size);
void pfm_buffer_free(struct pfm_context *ctx);
bool pfm_too_many(struct pfm_context *ctx);
static inline bool pfm_throttle(struct pfm_context *ctx)
{
	return READ_ONCE(ctx->machine->ovfl_rate_max) && pfm_too_many(ctx);
}

/* Returns true if all bytes are 0, as reserved fields must be (2.3.7). */
bool pfm_all_zero(const void *p, size_t size);
/* Copies a string into an array of room bytes, and truncates it if necessary. */
void pfm_copy_name(char *to, const char *from, size_t room);

#endif
