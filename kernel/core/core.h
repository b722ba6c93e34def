/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * core.h - contexts, event sets, and the commands as the core carries them out.
 *
 * A transport (the ioctls of perfmon.ko, libperfmon) copies arguments in, takes the context's lock,
 * calls one of the pfm_do_* functions, and copies results out. They return 0 or a negative errno,
 * reported through pfm_refuse(). Vectors are processed in order up to the first bad element, which
 * is marked in its flags (3.1.2).
 */
#ifndef PFM_CORE_CORE_H
#define PFM_CORE_CORE_H

#include "bits.h"
#include "format.h"
#include "machine.h"
#include "os.h"
#include "pmu.h"

enum pfm_state {
	PFM_CTX_UNLOADED = 1,	/* bound to nothing */
	PFM_CTX_LOADED,		/* bound; counting if started */
	PFM_CTX_MASKED,		/* bound; held until pfm_restart() */
};

/* A PMD of a set: its value and how it is reset and sampled. */
struct pfm_pmd {
	uint16_t	num;
	uint8_t		is_counter:1;
	uint8_t		reset_now:1;		/* during an overflow: the PMD is to have a short reset */
	uint8_t		samples:1;		/* smpl_pmds is not empty */
	bool		passed;			/* 2^64 as its set was held: reported when the set counts again */
	uint32_t	flags;			/* PFM_REGFL_* */
	const struct pfm_reg	*reg;
	uint64_t	value;			/* 64-bit, as far as collected */
	uint64_t	long_reset;
	uint64_t	short_reset;
	uint64_t	last_reset;
	uint64_t	switch_cnt;		/* programmed threshold, 0: no trigger */
	uint64_t	switch_left;
	uint64_t	reset_pmds[PFM_PMD_BV];
	uint64_t	smpl_pmds[PFM_PMD_BV];
	uint64_t	eventid;
	uint64_t	random_mask;
	uint32_t	random_seed;		/* as programmed */
	uint32_t	random_state;		/* of Carta's generator */
	uint64_t	children;		/* count of child contexts that ended since the last write */
	uint64_t	living;			/* count of the others, when last gathered; inherit.c */
	uint64_t	os;			/* the machine's own */
};

struct pfm_pmc {
	uint16_t	num;
	uint32_t	flags;
	uint64_t	value;
};

#define PFM_FIRST_REGS	4

/* PFM_FL_INHERIT: what child contexts add to a set's numbers. */
struct pfm_share {
	uint64_t	runs;
	uint64_t	duration;
	uint64_t	lost, throttled, late;
	uint64_t	blind;
};

/* An event set: only the registers in use are kept, ascending; see pfm_set_pmd(). */
struct pfm_set {
	uint16_t	id, id_next;
	uint32_t	flags;			/* PFM_SETFL_* */
	bool		resets_others;		/* some PMD had reset_pmds */
	uint8_t		pmd_words;		/* of a bit-vector of PMDs in use, those that may have bits */
	uint64_t	timeout;		/* effective, ns */
	uint64_t	timeout_left;		/* while inactive, stopped or masked */
	uint64_t	runs;
	uint64_t	duration;		/* ns, up to since */
	uint64_t	lost, throttled, late;
	struct pfm_share ended, living;		/* of child contexts that ended, of the others */
	uint64_t	blind;			/* ns without the PMU, or one of its counters */
	uint64_t	used_pmcs[PFM_PMC_BV];
	uint64_t	used_pmds[PFM_PMD_BV];
	uint64_t	capacity_of_pmcs[PFM_PMC_BV];	/* in use, or with room reserved */
	uint64_t	capacity_of_pmds[PFM_PMD_BV];
	uint64_t	ovfl_pmds[PFM_PMD_BV];	/* overflowed, reset still due */
	uint64_t	switch_pmds[PFM_PMD_BV];	/* last caused a switch */
	struct pfm_pmc	*pmcs;
	struct pfm_pmd	*pmds;
	unsigned int	num_pmcs, num_pmds, room_pmcs, room_pmds;
	unsigned int	reserved_pmcs, reserved_pmds;	/* how many room_for_* has */
	uint16_t	pmd_at[PFM_MAX_PMDS];	/* of a PMD in use: its place in pmds */
	struct pfm_set	*next;			/* in the order of ids */
	pfm_set_view_t	*view;			/* with PFM_FL_MAP_SETS; else NULL */
	void		*os;			/* the machine's own */
	struct pfm_pmc	first_pmcs[PFM_FIRST_REGS];	/* pmcs and pmds, until there are more */
	struct pfm_pmd	first_pmds[PFM_FIRST_REGS];
};

#define PFM_LOW_SETS	16

struct pfm_vector {
	void	*v;
	int	n;	/* elements that passed the checks; after a read: elements that were read */
};

/*
 * PFM_FL_INHERIT with a format: one of the sampling buffers that a root shares with its child contexts. ops->part()
 * chooses the one that a thread fills, by CPU, and the thread takes it first: parts.c.
 */
struct pfm_part {
	void			*buf;
	uint32_t		taken;		/* lock: 1 while in use */
	/* From here to post: written with the part taken. */
	bool			full;		/* a fill masked; no restart since */
	bool			reported;		/* a message was posted, since full or of the last fill */
	pfm_ovfl_ctrl_t		ctrl;		/* what the format's restart callback returned last */
	uint32_t		fills;		/* overflows at which the format notified or masked */
	uint32_t		given;		/* number of fills that restarts have given back */
	uint32_t		restarts;	/* number of times that the format agreed to a restart */
	uint32_t		post;		/* number of the fill that is being reported, or 0 */
	uint32_t		read;		/* number of the newest fill of which the message was read */
	char			apart[64];	/* padding: two CPUs' parts share no cache line */
};

#define PFM_LOST_REASONS	8	/* of them PFM_STACK_SMPL_LOST_REASONS are in use */

struct pfm_context {
	struct pfm_machine	*machine;
	const struct pfm_pmu	*pmu;		/* the machine's, or as ops->create has it */
	enum pfm_state		state;		/* changed by pfm_set_state() alone */
	uint32_t		flags;		/* PFM_FL_* */
	bool			started;	/* between pfm_start and pfm_stop */
	bool			waits_exec;	/* ON_EXEC, by the core: nothing counts before pfm_target_exec() */
	bool			self;		/* the target was the caller of load */
	bool			blocked;	/* the target is held (PFM_FL_NOTIFY_BLOCK) */
	bool			switch_due;	/* a switch waits for pfm_restart (3.7.7) */
	bool			preempted;	/* another context has its PMU (6.5) */
	bool			from_anywhere;	/* the command in progress may come from any CPU */
	uint32_t		tid, pid, cpu;	/* what it is bound to */
	uint64_t		switch_pmds[PFM_PMD_BV];	/* cause the switch that is due or being made */

	struct pfm_set		*low_sets[PFM_LOW_SETS];	/* by id; sets.c */
	struct pfm_set_page	**set_pages;	/* the others, by the high byte of the id; NULL: none yet */
	struct pfm_set		set0;		/* first in order, always there */
	unsigned int		num_sets;
	struct pfm_set		*active;
	bool			absent;		/* the active set could not be installed */
	uint64_t		since;		/* ops->ran() when the active set last began to count */

	struct pfm_buffer_fmt	*fmt;
	void			*fmt_self;	/* of a format with fmt_ops */
	void			*buf;
	size_t			buf_size;
	struct pfm_stack_want	format_needs;		/* of the format */
	size_t			msgq_depth;

	struct pfm_part		*parts;		/* with INHERIT: of the buffer; a child context has its root's */
	unsigned int		num_parts;
	pfm_ovfl_ctrl_t		restart;	/* of a root: the parts' decisions at the last restart, combined */
	struct pfm_part		*part;		/* in PMU context: the part that it has taken; NULL: none */
	struct pfm_part		*held_by;	/* masked by the format of this part; NULL: not by a format */
	uint32_t		held_at;	/* held_by->restarts when it was masked */
	bool			owes;		/* an overflow left a reset to the restart */
	bool			heard;		/* with parts: some message was read since the load */
	bool			has_untold;
	uint64_t		untold[PFM_LOST_REASONS];	/* lost as the part was taken, not yet recorded */

	uint64_t		lost_at, blind_since, blind;	/* ns, 6.5: preempted at; noted up to; missed so far */

	uint64_t		rate_until;	/* throttling window (4.4.4) */
	uint64_t		rate_left;	/* overflows that it still lets pass */

	struct pfm_context	*root;		/* of a child context: the root it belongs to; see inherit.c */
	struct pfm_context	*child_ctxs;		/* of a root: its child contexts, linked by next_child_ctx */
	struct pfm_context	*next_child_ctx, **child_link;
	struct pfm_set		*inherit_set;	/* the set in which the next child begins; NULL: the active one */
	uint64_t		dropped_children;		/* children not counted, or not to their end: lost */
	uint32_t		num_forks;		/* children of this load, so far */
	struct pfm_rest		*rests;		/* periods of ended child contexts; of a child: room for its own */
	bool			outlived;	/* the target has ended before its children */
	bool			tell_end;	/* END is posted when the target and all its children have ended */

	struct pfm_context	*next_loaded;
	void			*os;		/* the machine's own */
	void			*transport;	/* the transport's own */
	uint16_t		hits[PFM_MAX_PMDS];	/* scratch of the overflow: places in set->pmds */
	unsigned int		num_hits;
	struct pfm_vector	vector;		/* of the command in progress */
	pfm_ovfl_arg_t		ovfl_arg;	/* scratch of the overflow; no values without a format */
};

#define pfm_ops(ctx) ((ctx)->machine->ops)

/*
 * Only commands load, unload and end a mask; overflows mask, in PMU context. A command may therefore read the state
 * outside of PMU context. If pfm_state_acquire() returns MASKED, the PMDs' values of that time can be read, too.
 */
static inline bool pfm_loaded(const struct pfm_context *ctx)
{
	return READ_ONCE(ctx->state) != PFM_CTX_UNLOADED;
}

static inline enum pfm_state pfm_state_acquire(const struct pfm_context *ctx)
{
	return smp_load_acquire(&ctx->state);	/* pfm_set_state() released it */
}

static inline void pfm_set_state(struct pfm_context *ctx, enum pfm_state state)
{
	smp_store_release(&ctx->state, state);	/* for pfm_state_acquire() */
}

/* For machines: 3.1.2, 4.3.2, may the monitored CPU be commanded from another one? */
static inline bool pfm_any_cpu(const struct pfm_context *ctx)
{
	return (ctx->flags & PFM_FL_ANY_CPU) || ctx->from_anywhere;
}

#define PFM_ANY_CPU_HINT " (PFM_FL_ANY_CPU, or LPFM_ANY_CPU=1 in the environment, allows any)"

/* PMU context. Monitoring is started and not masked. */
static inline bool pfm_wants_pmu(const struct pfm_context *ctx)
{
	return READ_ONCE(ctx->state) == PFM_CTX_LOADED && ctx->started;
}

/* ... and the context has the PMU: the counters of the active set should run. */
static inline bool pfm_counting(const struct pfm_context *ctx)
{
	return pfm_wants_pmu(ctx) && !ctx->preempted && !ctx->waits_exec;
}

/* --- commands (3.1) ------------------------------------------------------------------------- */

/*
 * 3.1.1. fmt: a format got with pfm_fmt_get_*(), or NULL; the context takes it over, on failure it
 * is put back. fmt_arg: fmt->fmt_arg_size bytes, which the format may amend. transport: for
 * ctx->transport. Fills in the request's out fields but ctx_fd.
 */
int pfm_do_create(struct pfm_machine *m, pfarg_ctx_t *req, struct pfm_buffer_fmt *fmt, void *fmt_arg,
		  void *transport, struct pfm_context **ctx);
/* The last descriptor is closed (3.1.15): unloads and frees, wherever it is called. */
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

/* 4.4.2: n elements of size bytes are an acceptable vector; 0, EINVAL, E2BIG. For transports. */
int pfm_refuse_vector(struct pfm_machine *m, int n, size_t size);
static inline int pfm_check_vector(struct pfm_machine *m, int n, size_t size)
{
	return n > 0 && (uint64_t)n * size <= READ_ONCE(m->arg_size_max) ? 0 : pfm_refuse_vector(m, n, size);
}

/* --- inside the core ------------------------------------------------------------------------ */

enum pfm_reset { PFM_RESET_SHORT, PFM_RESET_LONG };

/* sets.c: the sets of a context and the registers of a set. */
void pfm_sets_init(struct pfm_context *ctx);	/* set 0 */
int pfm_set_new(struct pfm_context *ctx, uint16_t id, struct pfm_set **out);
void pfm_set_delete(struct pfm_context *ctx, struct pfm_set *set);
void pfm_sets_free(struct pfm_context *ctx);
struct pfm_set *pfm_set_find_high(struct pfm_context *ctx, uint16_t id);
static inline struct pfm_set *pfm_set_find(struct pfm_context *ctx, uint16_t id)	/* NULL: none */
{
	return id < PFM_LOW_SETS ? ctx->low_sets[pfm_os_index(id, PFM_LOW_SETS)] : pfm_set_find_high(ctx, id);
}
struct pfm_set *pfm_set_successor(struct pfm_context *ctx, struct pfm_set *set);	/* 3.7.5 */
struct pfm_pmc *pfm_set_pmc(struct pfm_set *set, unsigned int num);	/* NULL: not in use */
static inline struct pfm_pmd *pfm_set_pmd(struct pfm_set *set, unsigned int num)
{
	return pfm_bit(set->used_pmds, num) ? &set->pmds[set->pmd_at[num]] : NULL;
}
/* 3.1.4: overflows until the set is left, of a trigger; else 0. */
static inline uint64_t pfm_switches_left(const struct pfm_set *set, const struct pfm_pmd *pmd)
{
	return (set->flags & PFM_SETFL_OVFL_SWITCH) && pmd->is_counter ? pmd->switch_left : 0;
}
/* Makes room for registers to come into use; may sleep. Then pfm_set_use_* cannot fail. */
int pfm_set_reserve(struct pfm_context *ctx, struct pfm_set *set, const uint64_t *pmcs,
		    const uint64_t *pmds);
struct pfm_pmc *pfm_set_use_pmc(struct pfm_set *set, unsigned int num);	/* its value is the caller's to set */
struct pfm_pmd *pfm_set_use_pmd(struct pfm_context *ctx, struct pfm_set *set, unsigned int num);

/* switch.c, in PMU context: letting the active set count, and changing it. */
void pfm_run(struct pfm_context *ctx);
void pfm_hold_now(struct pfm_context *ctx);
static inline void pfm_hold(struct pfm_context *ctx)
{
	if (pfm_counting(ctx))
		pfm_hold_now(ctx);
}
void pfm_mask(struct pfm_context *ctx);
void pfm_note_blind(struct pfm_context *ctx);
/* 6.5: called before a change of what a preempted context wants, to note the time that it has missed. */
static inline void pfm_see_blind(struct pfm_context *ctx)
{
	if (ctx->preempted)
		pfm_note_blind(ctx);
}
int pfm_enter_set(struct pfm_context *ctx, struct pfm_set *set, enum pfm_reset kind);
int pfm_switch(struct pfm_context *ctx, enum pfm_reset kind);
int pfm_change_set(struct pfm_context *ctx);	/* in an interrupt; at an error the caller posts a message */

/*
 * overflow.c, in PMU context: called when monitoring was masked without a command that could return an error: a set
 * could not be installed, or a record filled the buffer. set was active at that time. Posts a message that asks for a
 * restart, whether a PMD has OVFL_NOTIFY or not (4.4.4), so that no program need poll for it.
 */
void pfm_report_install_failure(struct pfm_context *ctx, const struct pfm_set *set);

/* reset.c, in PMU context: resets with randomization (3.4.1, 3.4.2). */
uint64_t pfm_draw(struct pfm_pmd *pmd);
/* The PMD alone: its counter is the caller's to load. */
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
#ifdef PFM_RESETS_ARE_CALLS	/* for specs that trace each reset */
void pfm_reset_pmd(struct pfm_context *ctx, struct pfm_set *set, struct pfm_pmd *pmd, enum pfm_reset kind);
#else
#define pfm_reset_pmd pfm_reset_pmd_now
#endif
void pfm_reset_these(struct pfm_context *ctx, struct pfm_set *set, const uint64_t *bits, enum pfm_reset kind);
void pfm_reset_pmds(struct pfm_context *ctx, struct pfm_set *set, const uint64_t *bits,
		    enum pfm_reset kind);

/*
 * In PMU context, of a PMD that alone has overflowed. pfm_goes_on(): has the context no format, and is
 * the PMD only reset, or goes on, without message, throttling or switch? pfm_is_reset(), called then: is
 * it reset? It takes the PMD's threshold down. A machine that loads the counter itself calls these
 * instead of pfm_overflow().
 */
static inline bool pfm_goes_on(const struct pfm_context *ctx, const struct pfm_set *set, const struct pfm_pmd *pmd)
{
	return !ctx->fmt && !READ_ONCE(ctx->machine->ovfl_rate_max) && !(pmd->flags & PFM_REGFL_OVFL_NOTIFY) &&
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

/* Runs fn, in PMU context if the context is loaded. */
static inline int pfm_in_pmu(struct pfm_context *ctx, int (*fn)(struct pfm_context *, void *), void *arg)
{
	return pfm_loaded(ctx) ? pfm_ops(ctx)->access(ctx, fn, arg) : fn(ctx, arg);
}

/*
 * vector.c: how many elements of a vector are carried out at once, with interrupts off. A vector of more
 * is carried out in parts, between which overflows and switches may come.
 */
#define PFM_PART	256

int pfm_parts_in_pmu(struct pfm_context *ctx, int (*fn)(struct pfm_context *, void *), void *v,
		     size_t size, int n);

/* Runs fn, which carries out ctx->vector, on n elements of size bytes. ctx->vector.n is then how many were done. */
static inline int pfm_vector_in_pmu(struct pfm_context *ctx, int (*fn)(struct pfm_context *, void *),
				    void *v, size_t size, int n)
{
	if (n > PFM_PART)
		return pfm_parts_in_pmu(ctx, fn, v, size, n);
	ctx->vector = (struct pfm_vector){ v, n };
	return n ? pfm_in_pmu(ctx, fn, NULL) : 0;
}

/* view.c: pfm_view_update() brings the set's view, if it has one, up to date; in PMU context. */
int pfm_view_open(struct pfm_context *ctx, struct pfm_set *set);
void pfm_view_close(struct pfm_context *ctx, struct pfm_set *set);
void pfm_view_write(struct pfm_context *ctx, struct pfm_set *set);
static inline void pfm_view_update(struct pfm_context *ctx, struct pfm_set *set)
{
	if (set->view)
		pfm_view_write(ctx, set);
}

/* attach.c: stops and unloads what is loaded, on any CPU. */
void pfm_unload(struct pfm_context *ctx);

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
void pfm_gather(struct pfm_context *ctx);	/* sums what child contexts have counted so far, in living */
/* Runs fn in the PMU context of each child context, with its set of set's id, or NULL. Not called in PMU context. */
void pfm_for_child_ctxs(struct pfm_context *ctx, int (*fn)(struct pfm_context *, void *), const struct pfm_set *set);
void pfm_child_ctx_end(struct pfm_context *child_ctx);	/* unloads it, adds up what it counted, frees it */
void pfm_rests_free(struct pfm_context *root);
static inline void pfm_forget_children(struct pfm_pmd *pmd)	/* the sum is the value again */
{
	pmd->children = -pmd->living;
}

/*
 * parts.c: the parts of a buffer. pfm_parts_make() allocates ops->num_parts() of them, each of size bytes rounded up to
 * pages; the caller initializes the format in each. pfm_part_take() and pfm_part_wait() run in PMU context and set
 * ctx->part to this CPU's part. If another context or a restart has taken it, pfm_part_take() returns false, and
 * pfm_part_wait() spins, which it must not do in an NMI.
 */
int pfm_parts_make(struct pfm_context *ctx, size_t size);
void pfm_parts_free(struct pfm_context *ctx);
bool pfm_part_take(struct pfm_context *ctx);
void pfm_part_wait(struct pfm_context *ctx);
void pfm_part_leave(struct pfm_context *ctx);
/*
 * The format notified or masked at an overflow, with the part taken. Returns true if a message is to be posted: false
 * if the part was full before and the message of that fill has been posted.
 */
bool pfm_part_filled(struct pfm_part *part, bool masks);
static inline void *pfm_buffer_of(const struct pfm_context *ctx)	/* in PMU context */
{
	return ctx->part ? ctx->part->buf : ctx->buf;
}
/* Calls the format's restart callback on a part's buffer. */
typedef int pfm_ask_t(struct pfm_context *root, void *buf, bool active, pfm_ovfl_ctrl_t *ctrl);
/* Can the part have fills that no restart has given back? It may be called anywhere. */
bool pfm_part_is_due(const struct pfm_context *root, const struct pfm_part *part);
/* Gives back those fills; part->ctrl has what the format returned. In PMU context. Returns what ask() returns. */
int pfm_part_restart(struct pfm_context *root, struct pfm_part *part, pfm_ask_t *ask);
void pfm_parts_begin(struct pfm_context *root);	/* resets all parts when a context is loaded */

static inline void pfm_held_by_part(struct pfm_context *ctx)	/* its format masked it */
{
	ctx->held_by = ctx->part;
	if (ctx->part)
		ctx->held_at = ctx->part->restarts;
}

/*
 * record.c: pfm_untold() counts n lost overflows. pfm_tell_untold() writes a LOST record about them, with the part
 * taken.
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

/* Nothing but zeros? (2.3.7: reserved fields) */
bool pfm_all_zero(const void *p, size_t size);
/* A string into an array of room bytes, cut if need be. */
void pfm_copy_name(char *to, const char *from, size_t room);

#endif
