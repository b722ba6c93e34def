/* SPDX-License-Identifier: MIT */
/*
 * perf.h - the perf machine: the core over perf_event_open(2), as its files see each other.
 *
 * machine.c finds out what there is and holds the table of operations; target.c binds a
 * context to a thread or CPU; access.c is what comes before and after the core does its part;
 * group.c turns an event set into a group of kernel events, family.c, where children are counted too
 * (PFM_FL_INHERIT), into one that they inherit, and sampler.c where they are sampled; named.c knows the events of
 * tracepoints and of other PMUs; replay.c carries the overflows that the kernel wrote into ring.c's buffers to the
 * core, with the call stacks that stack.c finds in them, record.c what else it wrote there, of programs; timer.c is the
 * set timeout; count.c lets the group count and reads it, fast_read.c where nothing else is to be done; view.c has the
 * target read it; notify_block.c holds a target; event.c does the system calls, errors.c says why they failed. A file
 * uses those named after it, and not the other way.
 *
 * Everything here runs with the context's lock held, except the tracer of notify_block.c.
 */
#ifndef PFM_PERF_H
#define PFM_PERF_H

#include <linux/perf_event.h>

#include "software.h"
#include "user.h"

#define PERF_MAX_COUNTERS	64
#define PERF_CLOCK_MIN_NS	10000ULL	/* the kernel's clock events go no faster */
#define PERF_FAR		(1ULL << 62)	/* a period beyond any measurement */

/* What a PMD of a set wants of the kernel. */
struct perf_plan {
	uint64_t	config, config1, config2;
	const char	*filter;	/* of a tracepoint, or NULL */
	uint32_t	type;
	uint16_t	num;		/* the PMD */
	uint8_t		no_user, no_kernel, no_idle;
	uint8_t		hw;		/* counted by the PMU */
	uint8_t		clock;		/* counts ns by a timer */
	uint8_t		sampling;	/* its overflows notify, switch sets or are sampled */
	uint8_t		stop;		/* the kernel stops it at an overflow */
	uint8_t		fixed;		/* it is always reset to the same value */
	uint8_t		prompt;		/* wake up at each overflow */
	uint8_t		viewed;		/* the target may want to read it */
	uint8_t		alone;		/* in no group; only counts */
	uint8_t		precise;	/* precise_ip of its samples */
};

/*
 * One kernel event. The PMD's value is base + (count - base_count), modulo 2^64, so it overflows when
 * count has moved by -base. What the kernel will do on its own is known from period and next.
 */
struct perf_counter {
	struct perf_plan	plan;
	int			fd;
	uint64_t		id;
	uint64_t		base, base_count;
	uint64_t		count;		/* as last read, or as at the overflow being replayed */
	uint64_t		period;		/* what the kernel loads after an overflow */
	uint64_t		next;		/* the count at which the kernel will see one */
	uint64_t		set_at;		/* the count when period was last set */
	uint64_t		late;		/* a timer: by how much it fired late, see timer_missed() */
	uint64_t		lost;		/* records the kernel could not write, as last read */
	bool			armed;		/* plan.stop: the next overflow stops it */
	bool			throttled;
};

struct perf_family;

/* The kernel events of one set, on the target alone; c[0] leads the group, after which come those in no group. */
struct perf_group {
	struct perf_family	*family;	/* with INHERIT: all of its counters; then c[] are those kept apart */
	struct perf_sampler	*sampler;	/* with INHERIT and a sampling format: the PMDs that sample */
	unsigned int		n, joined;	/* counters; those that c[0] leads, with itself */
	bool			sampling, stop, hw;
	uint64_t		before;		/* ns that the set had been active when the events were opened */
	uint64_t		missed;		/* ns since, without a place on the PMU; in set->blind */
	struct perf_counter	c[];
};

struct perf_sampler;

/* A buffer which the kernel writes records into. */
struct perf_ring {
	int			fd;		/* the dummy event that was mapped */
	int			cpu;		/* events on this CPU write into the ring; -1: on all CPUs */
	void			*map;
	size_t			size;		/* data bytes, a power of 2 */
	uint64_t		tail;		/* the next record to read */
	uint64_t		time;		/* of the newest record read */
	struct pfm_watch	*watch;
	uint64_t		lost;		/* of its own records, those of programs, already reported */
	uint32_t		exited_pid, exited_tid;	/* of the last EXIT record, see record.c */
};

/* All sampling events of a context write into one ring, or, where children inherit them, into one for each CPU. */
struct perf_rings {
	struct perf_ring	*r;
	unsigned int		n;
	size_t			pages;		/* of data, as many as could be had */
	struct perf_ring	*taken;		/* its record is in use: the kernel must not write there yet */
	uint64_t		round, limit;	/* ns: see perf_rings_round() */
	union perf_record	*whole;		/* a copy of a record that wraps around the end of its ring */
	void			(*ready)(struct pfm_context *ctx);	/* called when there are records */
};

struct perf_timer {
	int		fd;		/* a clock event, or -1 */
	uint64_t	id;
	bool		armed;
	bool		expired;	/* but the overflows before that are replayed first */
	bool		user_only;	/* may fire in user code alone */
	bool		on_exec;	/* the next exec starts it when it is armed for the first time */
	uint64_t	ns, from;	/* expires when its count is ns beyond from */
};

struct perf_block;

/* A loaded context: ctx->os. */
struct perf_context {
	int			pid, cpu;	/* as perf_event_open() wants them */
	int			cgroup;		/* only its tasks count on the CPU; -1: all do */
	int			life;		/* dummy event for the target's run time and end; -1 */
	void			*life_map;
	int			life_pidfd;	/* for its end instead, or -1 */
	pid_t			parent;		/* of the target's process, when it was bound */
	int			exec;		/* dummy event that tells whether a child called exec; or -1 */
	struct pfm_watch	*life_watch;
	bool			ended;		/* the target has; records wait for a restart to be replayed */
	int			patience;	/* a timer that limits that wait, or -1 */
	struct pfm_watch	*patience_watch;
	struct perf_rings	rings;
	uint32_t		*tids, num_tids;	/* PROCESS: the threads that it had when it was bound */
	struct perf_timer	timer;
	struct perf_block	*block;
	struct pfm_set		*set;		/* installed, or NULL */
	bool			on_exec;	/* ON_EXEC, before the first start: an exec starts what is opened */
	bool			running;	/* the kernel counts */
	bool			check;		/* registers changed: does the group still fit? */
	bool			unfit;		/* it does not fit, and could not be opened anew */
	bool			program;	/* periods may have changed */
	bool			fresh;		/* counts were read in this access */
	bool			replaying;	/* counts are those of an overflow */
	bool			held;		/* masked by an overflow: counts stay as they were at it */
	bool			failed;		/* the PMU was not available */
	uint64_t		reported;	/* lost records already told, see perf_missed() */
	uint64_t		self;		/* self-monitoring: the target's thread pointer; else 0 */
	int			error;		/* an error in the service thread, which the next command returns */
};

static inline struct perf_context *perf_of(struct pfm_context *ctx)
{
	return ctx->os;
}

static inline bool perf_leads(const struct perf_group *g, const struct perf_counter *c)
{
	return c == g->c || c->plan.alone;
}

static inline struct perf_group *perf_group_of(struct pfm_set *set)
{
	return set ? set->os : NULL;
}

/* hw.c: raw PMC values of this processor. */
const struct pfm_pmu *perf_hw_pmu(void);		/* NULL: none known */
bool perf_hw_plan(struct perf_plan *plan, uint16_t pmc, uint64_t value);	/* false: counts nothing */
extern const uint64_t perf_user_read;			/* attr.config1 of an event that programs may read */
unsigned int perf_hw_probe(void);			/* counters that can be used together; 0: none */

/*
 * named.c: events of the kernel in registers of their own, PMC and PMD PERF_NAMED_FIRST on. A PMC's value is an event's
 * place in the table, above the levels, which are those of software counters.
 */
#define PERF_NAMED_FIRST	96U
#define PERF_NUM_NAMED		32U
#define PERF_NAMED_SHIFT	16
#define PERF_NAMED_RSVD		(~(uint64_t)(0xffff0000U | PFM_SW_USER | PFM_SW_KERNEL))
struct perf_named;
int perf_named_add(const pfm_perf_event_t *event, uint64_t *value);
const struct perf_named *perf_named_of(uint64_t value);	/* NULL: none */
void perf_named_append(struct pfm_reg *pmcs, uint16_t *num_pmcs, struct pfm_reg *pmds, uint16_t *num_pmds);
bool perf_is_named(uint16_t num);
int perf_named_check_pmc(const struct pfm_context *ctx, uint16_t num, uint64_t value);
bool perf_named_plan(const struct pfm_context *ctx, struct perf_plan *plan, uint64_t value);

/* event.c: system calls. They return -1 with errno. */
extern bool perf_format_lost;	/* the kernel knows PERF_FORMAT_LOST */
void perf_attr_init(struct perf_event_attr *attr, const struct perf_plan *plan);
void perf_attr_dummy(struct perf_event_attr *attr);
int perf_open(struct perf_event_attr *attr, int pid, int cpu, int group);	/* both given: pid is a cgroup */
int perf_open_on(struct perf_event_attr *attr, int tid, int cpu);	/* of a thread, while it is on that CPU */
int perf_ioctl(int fd, unsigned long request, uint64_t arg);
int perf_set_filter(int fd, const char *filter);
int perf_set_period(int fd, uint64_t period);
int perf_event_id(int fd, uint64_t *id);
/* While a child ends, the group of an inherited event is incomplete: the read is repeated after the kernel's ECHILD. */
ssize_t perf_read_group(int fd, uint64_t *words, size_t size);
bool perf_hung_up(int fd);

/* errors.c: pfm_refuse() with the reason and the remedy; err is a positive errno. */
int perf_refuse_files(const char *what, int err);
int perf_refuse_foreign(pid_t tid);
int perf_refuse_open(const struct perf_context *p, const char *what, const struct perf_event_attr *attr,
		     int err);
int perf_refuse_filter(const char *what, const char *filter, int err);
int perf_refuse_map(int err, size_t size);
int perf_refuse_trace(uint32_t tid, int err);
int perf_refuse_busy(void);
int perf_paranoid(void);

/* target.c */
bool perf_exists(uint32_t tid);			/* a thread, which /proc may hide */
int perf_attach(struct pfm_context *ctx, uint32_t load_pid);
void perf_detach(struct pfm_context *ctx);
uint64_t perf_ran(struct pfm_context *ctx);
bool perf_has_fd(struct pfm_context *ctx);
int perf_right_cpu(struct pfm_context *ctx);
void perf_resume_life(struct pfm_context *ctx);	/* nothing is left to replay: may it end? */
uint64_t perf_target_cpu(struct pfm_context *ctx, const struct pfm_where *where);
void perf_where(struct pfm_context *ctx, struct pfm_where *where);

/* group.c */
int perf_install(struct pfm_context *ctx, struct pfm_set *set);
int perf_write_pmc(struct pfm_context *ctx, struct pfm_set *set, uint16_t num);
int perf_write_pmd(struct pfm_context *ctx, struct pfm_set *set, uint16_t num);
int perf_group_check(struct pfm_context *ctx);	/* opens it anew where registers ask for it */
void perf_group_close(struct pfm_context *ctx, struct pfm_set *set);

struct perf_counter *perf_counter_of(struct perf_group *g, uint16_t num);	/* NULL: none */

/* family.c */
int perf_family_open(struct pfm_context *ctx, const struct perf_plan *plans, unsigned int n,
		     struct perf_family **out);
void perf_family_close(struct perf_family *family);
void perf_family_run(struct perf_group *g, bool on);
void perf_family_collect(struct pfm_context *ctx, struct pfm_set *set);	/* after the group was */
void perf_family_rebase(struct pfm_context *ctx, struct pfm_set *set);
void perf_family_rebase_one(struct pfm_context *ctx, struct pfm_set *set, uint16_t num);

/* access.c */
int perf_access(struct pfm_context *ctx, int (*fn)(struct pfm_context *, void *), void *arg);
int perf_resume_group(struct pfm_context *ctx);	/* after the core has done its part */
void perf_records_came(struct pfm_context *ctx);
static inline bool perf_prompt(const struct pfm_context *ctx)	/* does the format want each sample at once? */
{
	return ctx->fmt && ctx->fmt->fmt_ops && ctx->fmt->fmt_ops->prompt;
}

/* count.c */
void perf_collect(struct pfm_context *ctx, struct pfm_set *set);
void perf_resume(struct pfm_context *ctx);
void perf_freeze(struct pfm_context *ctx);
int perf_start(struct pfm_context *ctx);	/* the installed set; with periods as its PMDs want them */
bool perf_read_counts(struct pfm_context *ctx, struct perf_group *g);	/* false: not available */
void perf_note_missed(struct pfm_context *ctx, struct perf_group *g, uint64_t running);
uint64_t perf_active_ns(struct pfm_context *ctx, const struct perf_group *g);
void perf_rebase(struct pfm_context *ctx, struct pfm_set *set);	/* values count on from here */
void perf_note_lost(struct pfm_context *ctx, struct perf_counter *c, uint64_t lost);

#define PERF_HEAD_WORDS		3U	/* of a group that is read: nr, time enabled, time running */
#define PERF_ENTRY_WORDS	(perf_format_lost ? 3U : 2U)	/* value, id, lost */
#define PERF_READ_WORDS		(PERF_HEAD_WORDS + 3 * PERF_MAX_COUNTERS)

/* fast_read.c */
bool perf_fast_read(struct pfm_context *ctx, struct pfm_fast_read *q);

/* sampler.c */
static inline bool perf_samples_family(const struct pfm_context *ctx)
{
	return pfm_inherits(ctx) && ctx->fmt;
}
int perf_sampler_open(struct pfm_context *ctx, const struct perf_plan *plans, unsigned int n,
		      struct perf_sampler **out);	/* and the rings */
void perf_sampler_close(struct perf_sampler *s);
void perf_sampler_run(struct perf_sampler *s, bool on);
bool perf_sampler_fits(const struct perf_sampler *s, const struct perf_plan *plans, unsigned int n);
void perf_sampler_collect(struct pfm_context *ctx, struct pfm_set *set);
void perf_sampler_count(struct pfm_context *ctx, const union perf_record *rec);	/* a thread's, when it ended */
int perf_sampler_check(const struct pfm_context *ctx, const struct pfm_set *set, const struct pfm_pmd *pmd,
		       const struct perf_plan *plan);
void perf_sampler_replay(struct pfm_context *ctx, const union perf_record *rec);

/* ring.c */
union perf_record {
	struct perf_event_header	header;
	uint64_t			words[8192];	/* header.size has 16 bits */
};
int perf_ring_need(struct pfm_context *ctx);	/* sets up the only ring, unless it is there */
int perf_rings_begin(struct pfm_context *ctx, int n);	/* for as many as n */
int perf_ring_add(struct pfm_context *ctx, int cpu);	/* ENODEV: the CPU is not online */
void perf_rings_close(struct perf_rings *rings);
void perf_rings_round(struct pfm_context *ctx, bool all);	/* before records are read */
const union perf_record *perf_rings_next(struct perf_rings *rings);	/* in order of time */
bool perf_rings_empty(const struct perf_rings *rings);
int perf_ring_join(struct perf_ring *ring, int fd);	/* the event's records go there */

/* stack.c */
struct perf_stack {			/* of the record being replayed: where->regs */
	const uint64_t	*ips;		/* with PERF_CONTEXT_* among them */
	uint64_t	num_ips;
	const uint64_t	*regs;
	const void	*copied;
	uint64_t	num_copied;	/* bytes */
	uint16_t	num_regs;
};
extern const struct pfm_stack_ops perf_stack_ops;
void perf_stack_attr(const struct pfm_stack_want *want, struct perf_event_attr *attr);
/* Finds what is wanted between words and end, after a record's other fields; false: it is not all there. */
bool perf_stack_parse(const struct pfm_stack_want *want, struct perf_stack *s, const uint64_t *words,
		      const uint64_t *end);

/* record.c */
/* Has the kernel write the records of what programs do that the format wants. */
void perf_record_attr(const struct pfm_stack_want *want, struct perf_event_attr *attr);
void perf_record_replay(struct pfm_context *ctx, const union perf_record *rec);	/* any; tells if it is of that */
void perf_record_lost(struct pfm_context *ctx);
void perf_name_exited(struct pfm_context *ctx, struct pfm_where *where);

/* replay.c */
void perf_quiet(struct pfm_context *ctx);	/* before the core does its part */
void perf_drain(struct pfm_context *ctx, bool all);	/* replays up to the first that masks */
uint64_t perf_drop(struct pfm_context *ctx);	/* forgets what is there; how many overflows */

/* timer.c */
void perf_arm(struct pfm_context *ctx, uint64_t ns);
uint64_t perf_disarm(struct pfm_context *ctx);
uint64_t perf_left(struct pfm_context *ctx);
uint64_t perf_timer_ns(struct pfm_machine *m);
int perf_timer_need(struct pfm_context *ctx);
void perf_timer_close(struct perf_timer *timer);
void perf_timer_record(struct pfm_context *ctx, uint64_t count);
bool perf_timer_expire(struct pfm_context *ctx);	/* true: the core was told */

/* view.c */
void perf_view_events(struct pfm_set *set, struct perf_group *g, bool come);
void perf_live_view(struct pfm_context *ctx, struct pfm_set *set);
void perf_close_view(struct pfm_context *ctx, struct pfm_set *set);

/* notify_block.c */
int perf_block_start(struct pfm_context *ctx);
void perf_block_end(struct perf_block *b);
void perf_block(struct pfm_context *ctx);
void perf_unblock(struct pfm_context *ctx);

#endif
