/* SPDX-License-Identifier: MIT */
/*
 * perf.h - the perf machine, the core over perf_event_open(2): declarations that its files share.
 * machine.c probes the kernel and holds the table of operations; hw.c turns PMC values into raw
 * events; target.c binds a context to a thread or CPU; access.c does the work before and after a
 * function of the core; group.c turns an event set into a group of kernel events, family.c into a
 * group that children inherit (PFM_FL_INHERIT), and sampler.c into sampling events that children
 * inherit; named.c manages events of tracepoints and of other PMUs; replay.c passes the overflows
 * that the kernel wrote into ring.c's buffers to the core, with the call stacks that stack.c finds
 * in them, and record.c passes the other records; timer.c implements the set timeout; count.c
 * starts, stops and reads the group, fast_read.c reads it by one system call where that is enough;
 * view.c lets the target read its counters itself; notify_block.c blocks a target; event.c makes
 * the system calls, and errors.c explains their failures. Everything here runs with the context's
 * lock held, except the tracer of notify_block.c and the reads of fast_read.c.
 */
#ifndef PFM_PERF_H
#define PFM_PERF_H

#include <linux/perf_event.h>

#include "software.h"
#include "user.h"

#define PERF_MAX_COUNTERS	64
/* the shortest period of the kernel's clock events */
#define PERF_CLOCK_MIN_NS	10000ULL
#define PERF_FAR		(1ULL << 62)	/* a period so long that it never ends */

/* The kernel event that a PMD of a set needs. */
struct perf_plan {
	uint64_t	config, config1, config2;
	const char	*filter;	/* the filter of a tracepoint, or NULL */
	uint32_t	type;
	uint16_t	num;		/* number of the PMD */
	uint8_t		no_user, no_kernel, no_idle;
	uint8_t		hw;		/* the PMU counts the event */
	/* the event counts ns, and a timer of the kernel makes it overflow */
	uint8_t		clock;
	uint8_t		sampling;	/* the PMD's overflows notify, switch sets or are sampled */
	uint8_t		stop;		/* the kernel stops the event at an overflow */
	uint8_t		fixed;		/* each reset loads the same value */
	uint8_t		prompt;		/* the kernel wakes up this process at each overflow */
	uint8_t		viewed;		/* the target may read the event by a view */
	uint8_t		alone;		/* the event is in no group, and is only counted */
	uint8_t		precise;	/* precise_ip of the event's samples */
};

/*
 * One kernel event. The PMD's value is base + (count - base_count), modulo 2^64, so the PMD
 * overflows when count has increased by -base from base_count. The kernel's event overflows when
 * count reaches next, which may not be where the PMD overflows, and then after each period.
 */
struct perf_counter {
	struct perf_plan	plan;
	int			fd;
	uint64_t		id;
	uint64_t		base, base_count;
	/* the count as last read, or at the overflow that is being replayed */
	uint64_t		count;
	/* the period that the kernel loads after an overflow */
	uint64_t		period;
	uint64_t		next;		/* the count at which the event will overflow */
	uint64_t		set_at;		/* the count at which period was last set */
	/* for a clock event: the sum of the delays of its timer, see timer_missed() */
	uint64_t		late;
	/* number of records that the kernel could not write, as last read */
	uint64_t		lost;
	/* with plan.stop: the kernel stops the event at the next overflow */
	bool			armed;
	bool			throttled;
};

struct perf_family;

/*
 * The kernel events of one set, on the target alone. c[0] leads the group; events in no group come
 * last.
 */
struct perf_group {
	/* with INHERIT: the events of all counters; c[] then has only the target's own events */
	struct perf_family	*family;
	/* with INHERIT and a sampling format: the events of the PMDs that sample */
	struct perf_sampler	*sampler;
	/* number of events; number of those in the group that c[0] leads */
	unsigned int		n, joined;
	bool			sampling, hw;
	/* time in ns for which the set had been active when the events were opened */
	uint64_t		before;
	/* time in ns for which the events had been started when they were last read */
	uint64_t		enabled;
	/*
	 * ns, from the opening of the events to the last installation of the set, in which the set
	 * was active and its events were disabled
	 */
	uint64_t		idle;
	/*
	 * ns since the events were opened in which they had no place on the PMU; set->blind
	 * includes them
	 */
	uint64_t		missed;
	struct perf_counter	c[];
};

struct perf_sampler;

/* A buffer into which the kernel writes records. */
struct perf_ring {
	int			fd;		/* the dummy event; its buffer is mapped */
	/* events on this CPU write into the ring; -1: events on all CPUs do */
	int			cpu;
	void			*map;
	const char		*data;		/* in the map */
	size_t			size;		/* size of the data in bytes, a power of 2 */
	uint64_t		tail;		/* position of the next record to read */
	uint64_t		time;		/* time of the newest record read */
	struct pfm_watch	*watch;
	/* lost records of the dummy event that have been reported (record.c) */
	uint64_t		lost;
	/* ids in the last EXIT record, see record.c */
	uint32_t		exited_pid, exited_tid;
};

/*
 * All sampling events of a context write into one ring or, if children inherit them, into a ring
 * for each CPU.
 */
struct perf_rings {
	struct perf_ring	*r;
	unsigned int		n;
	/* data pages of each ring: as many as the limits allowed */
	size_t			pages;
	/* the ring with the record in use, which the kernel must not overwrite yet */
	struct perf_ring	*taken;
	/*
	 * in ns: when the present pass began, and up to which time it reads; see perf_rings_round()
	 */
	uint64_t		round, limit;
	/* a buffer for a record that wraps around the end of its ring */
	union perf_record	*whole;
	/* called when there are records */
	void			(*ready)(struct pfm_context *ctx);
};

struct perf_timer {
	int		fd;		/* the clock event's descriptor, or -1 */
	uint64_t	id;
	bool		armed;
	/* the timeout has passed, but earlier overflows are replayed first */
	bool		expired;
	/* the timer writes a record only if it fires in user code */
	bool		user_only;
	/* an exec starts the event, so the first perf_arm() does not start it */
	bool		on_exec;
	/* the timeout has passed when the event's count has reached "from" + "ns" */
	uint64_t	ns, from;
};

struct perf_block;

/* The state of a loaded context: ctx->os. */
struct perf_context {
	int			pid, cpu;	/* the arguments of perf_event_open() */
	/* descriptor of the cgroup to which counting on the CPU is restricted; -1: none */
	int			cgroup;
	/* dummy event for the target's run time and end; -1: none */
	int			life;
	void			*life_map;
	/* pidfd that reports the target's end if life does not; -1: none */
	int			life_pidfd;
	/*
	 * dummy event that shows whether the target has called exec, if the target's process has
	 * inherited the context's descriptor; -1: none
	 */
	int			exec;
	struct pfm_watch	*life_watch;
	/* the target has ended; records are left that wait for a restart to be replayed */
	bool			ended;
	/* a timerfd that limits how long an ended target's records wait; -1: none */
	int			patience;
	struct pfm_watch	*patience_watch;
	struct perf_rings	rings;
	/*
	 * with INHERIT and a sampling format: the target or, with PROCESS, all threads that its
	 * process had at the load
	 */
	uint32_t		*tids, num_tids;
	struct perf_timer	timer;
	struct perf_block	*block;
	struct pfm_set		*set;		/* the installed set, or NULL */
	/* with ON_EXEC, until the first start: events are opened so that an exec starts them */
	bool			on_exec;
	bool			running;	/* the kernel's events are started */
	/* registers have changed, so the group's events may not be the right ones any more */
	bool			check;
	/* opening other events for the changed registers has failed */
	bool			unfit;
	/* periods may have changed, so perf_start() must set them */
	bool			program;
	bool			fresh;		/* the counts were read in this access */
	/* the counts are those of the overflow that is being replayed */
	bool			replaying;
	/* an overflow has masked monitoring: the counts stay as they were at the overflow */
	bool			held;
	/* events were not on the PMU all of the time, or could not be read */
	bool			failed;
	/*
	 * number of lost records that were reported to the core; count_missed() must not count
	 * their overflows again
	 */
	uint64_t		reported;
	/* self-monitoring: the target's thread pointer; else 0 */
	uint64_t		self;
	/* an error that happened outside of a command; the next command returns it */
	int			error;
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

/* hw.c: turns values of this processor's PMCs into raw events */
/* Returns NULL if the processor is not known. */
const struct pfm_pmu *perf_hw_pmu(void);
/* Makes the plan for a value of a PMC. Returns false if the value counts nothing. */
bool perf_hw_plan(struct perf_plan *plan, uint16_t pmc, uint64_t value);
/* attr.config1 that lets a program read an event without a system call; 0: none is needed */
extern const uint64_t perf_user_read;
/* Returns how many counters can be used together, 0 if there are none. */
unsigned int perf_hw_probe(void);

/*
 * named.c: named events. PMCs and PMDs from number PERF_NAMED_FIRST on count them, and each pair
 * can count any of them. The low bits of such a PMC's value are the privilege levels, as for
 * software counters; the bits from PERF_NAMED_SHIFT on are the number of an event in the table,
 * from 1.
 */
#define PERF_NAMED_FIRST	96U
#define PERF_NUM_NAMED		32U
#define PERF_NAMED_SHIFT	16
#define PERF_NAMED_RSVD		(~(uint64_t)(0xffff0000U | PFM_SW_USER | PFM_SW_KERNEL))
struct perf_named;
int perf_named_add(const pfm_perf_event_t *event, uint64_t *value);
void perf_named_append(struct pfm_reg *pmcs, uint16_t *num_pmcs, struct pfm_reg *pmds, uint16_t *num_pmds);
bool perf_is_named(uint16_t num);
int perf_named_check_pmc(const struct pfm_context *ctx, uint16_t num, uint64_t value);
bool perf_named_plan(const struct pfm_context *ctx, struct perf_plan *plan, uint64_t value);

/* event.c: system calls. If they fail, they return -1 with errno. */
extern bool perf_format_lost;	/* the kernel knows PERF_FORMAT_LOST */
void perf_attr_init(struct perf_event_attr *attr, const struct perf_plan *plan);
void perf_attr_dummy(struct perf_event_attr *attr);
/* If both pid and cpu are given, pid is the descriptor of a cgroup. */
int perf_open(struct perf_event_attr *attr, int pid, int cpu, int group);
/*
 * Opens an event on the thread that counts only while the thread runs on that CPU. leader: -1, or
 * the event that leads its group.
 */
int perf_open_on(struct perf_event_attr *attr, int tid, int cpu, int leader);
void perf_close(int fd);
/* perf_close() without the close, for a descriptor that something else will close */
void perf_forget(int fd);
/*
 * Called in a child of fork(): closes its copies of all events, which would count on while it
 * lives.
 */
void perf_close_all(void);
int perf_ioctl(int fd, unsigned long request, uint64_t arg);
int perf_set_filter(int fd, const char *filter);
int perf_set_period(int fd, uint64_t period);
int perf_event_id(int fd, uint64_t *id);
/*
 * Reads the counts of a group. While a child ends, the kernel may find an inherited group
 * incomplete and return ECHILD; then the read is repeated.
 */
ssize_t perf_read_group(int fd, uint64_t *words, size_t size);
bool perf_hung_up(int fd);

/* errors.c: these call pfm_refuse() with the reason and the remedy; err is a positive errno. */
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
/* Returns true if the thread exists, even if /proc hides it. */
bool perf_exists(uint32_t tid);
int perf_attach(struct pfm_context *ctx, uint32_t load_pid);
void perf_detach(struct pfm_context *ctx);
uint64_t perf_ran(struct pfm_context *ctx);
bool perf_has_fd(struct pfm_context *ctx);
/* Returns true if the thread or process has not ended. */
bool perf_lives(uint32_t tid);
int perf_right_cpu(struct pfm_context *ctx);
/*
 * Called when all records of an ended target have been replayed: watches for the end again, which
 * is reported at once and unloads the context.
 */
void perf_resume_life(struct pfm_context *ctx);
uint64_t perf_target_cpu(struct pfm_context *ctx, const struct pfm_where *where);
void perf_where(struct pfm_context *ctx, struct pfm_where *where);

/* group.c */
int perf_install(struct pfm_context *ctx, struct pfm_set *set);
int perf_write_pmc(struct pfm_context *ctx, struct pfm_set *set, uint16_t num);
int perf_write_pmd(struct pfm_context *ctx, struct pfm_set *set, uint16_t num);
/* Opens the group anew if the registers need other events. */
int perf_group_check(struct pfm_context *ctx);
int perf_fits(struct pfm_context *ctx);
void perf_group_close(struct pfm_context *ctx, struct pfm_set *set);

/* Returns NULL if the PMD has no event. */
struct perf_counter *perf_counter_of(struct perf_group *g, uint16_t num);

/* family.c */
int perf_family_open(struct pfm_context *ctx, const struct perf_plan *plans, unsigned int n,
		     struct perf_family **out);
void perf_family_close(struct perf_family *family);
void perf_family_run(struct perf_group *g, bool on);
/* Must be called after the set's own group has been read. */
void perf_family_collect(struct pfm_context *ctx, struct pfm_set *set);
void perf_family_rebase(struct pfm_context *ctx, struct pfm_set *set);
void perf_family_rebase_one(struct pfm_context *ctx, struct pfm_set *set, uint16_t num);

/* access.c */
int perf_access(struct pfm_context *ctx, int (*fn)(struct pfm_context *, void *), void *arg);
void perf_records_came(struct pfm_context *ctx);
/* Returns true if the format needs each sample at once. */
static inline bool perf_prompt(const struct pfm_context *ctx)
{
	return ctx->fmt && ctx->fmt->fmt_ops && ctx->fmt->fmt_ops->prompt;
}

/* count.c */
void perf_collect(struct pfm_context *ctx, struct pfm_set *set);
void perf_resume(struct pfm_context *ctx);
void perf_freeze(struct pfm_context *ctx);
/* Starts the installed set, with the periods that its PMDs need. */
int perf_start(struct pfm_context *ctx);
/* Returns false if the counts are not available. */
bool perf_read_counts(struct pfm_context *ctx, struct perf_group *g);
void perf_note_missed(struct pfm_context *ctx, struct perf_group *g, uint64_t running);
void perf_note_gap(struct pfm_context *ctx, struct pfm_set *left, uint64_t idle, uint64_t enabled);
uint64_t perf_active_ns(struct pfm_context *ctx, const struct perf_group *g);
/* Makes the PMDs count on from their present values. */
void perf_rebase(struct pfm_context *ctx, struct pfm_set *set);
void perf_note_lost(struct pfm_context *ctx, struct perf_counter *c, uint64_t lost);

#define PERF_HEAD_WORDS		3U	/* words of a group read: nr, time enabled, time running */
/* words for each event: value, id, lost */
#define PERF_ENTRY_WORDS	(perf_format_lost ? 3U : 2U)
#define PERF_READ_WORDS		(PERF_HEAD_WORDS + 3 * PERF_MAX_COUNTERS)

/* fast_read.c */
bool perf_fast_read(struct pfm_context *ctx, struct pfm_fast_read *q);

/* sampler.c */
static inline bool perf_samples_family(const struct pfm_context *ctx)
{
	return pfm_inherits(ctx) && ctx->fmt;
}
int perf_sampler_open(struct pfm_context *ctx, const struct perf_plan *plans, unsigned int n,
		      struct perf_sampler **out);	/* opens the rings, too */
void perf_sampler_close(struct perf_sampler *s);
void perf_sampler_run(struct perf_sampler *s, bool on);
bool perf_sampler_fits(const struct perf_sampler *s, const struct perf_plan *plans, unsigned int n);
void perf_sampler_collect(struct pfm_context *ctx, struct pfm_set *set);
/* Passes a READ record, which has a count of an ended thread, to the core. */
void perf_sampler_count(struct pfm_context *ctx, const union perf_record *rec);
int perf_sampler_check(const struct pfm_context *ctx, const struct pfm_set *set, const struct pfm_pmd *pmd,
		       const struct perf_plan *plan);
void perf_sampler_replay(struct pfm_context *ctx, const union perf_record *rec);

/* ring.c */
union perf_record {
	struct perf_event_header	header;
	/* as large as a record can be: header.size has 16 bits */
	uint64_t			words[8192];
};
/* Makes the context's only ring, if there is none yet. */
int perf_ring_need(struct pfm_context *ctx);
int perf_rings_begin(struct pfm_context *ctx, int n);	/* allocates for up to n rings */
/* returns -ENODEV if the CPU is not online */
int perf_ring_add(struct pfm_context *ctx, int cpu);
void perf_rings_close(struct perf_rings *rings);
void perf_rings_round(struct pfm_context *ctx, bool all);	/* begins a pass over the records */
/* Returns the next record in the order of time, or NULL if none is left in this pass. */
const union perf_record *perf_rings_next(struct perf_rings *rings);
bool perf_rings_empty(const struct perf_rings *rings);
/* Makes the event write its records into the ring. */
int perf_ring_join(struct perf_ring *ring, int fd);

/* stack.c */
/* the call stack in the record that is being replayed; where->regs points to it */
struct perf_stack {
	const uint64_t	*ips;		/* addresses, with the markers PERF_CONTEXT_* among them */
	uint64_t	num_ips;
	const uint64_t	*regs;
	const void	*copied;
	uint64_t	num_copied;	/* in bytes */
	uint16_t	num_regs;
};
extern const struct pfm_stack_ops perf_stack_ops;
void perf_stack_attr(const struct pfm_stack_want *want, struct perf_event_attr *attr);
/*
 * Parses those fields of a call stack that the format wants. They are the last fields of a record,
 * from words to end. Returns false if the record is incomplete.
 */
bool perf_stack_parse(const struct pfm_stack_want *want, struct perf_stack *s, const uint64_t *words,
		      const uint64_t *end);

/* record.c */
/* Requests from the kernel the records of what programs do, as far as the format wants them. */
void perf_record_attr(const struct pfm_stack_want *want, struct perf_event_attr *attr);
/* Passes the record to the core, if it is of a type that the format wants. */
void perf_record_replay(struct pfm_context *ctx, const union perf_record *rec);
void perf_record_lost(struct pfm_context *ctx);
void perf_name_exited(struct pfm_context *ctx, struct pfm_where *where);

/* replay.c */
void perf_quiet(struct pfm_context *ctx);	/* called before the core runs its function */
/* Replays records until one of them masks; "all" as for perf_rings_round(). */
void perf_drain(struct pfm_context *ctx, bool all);
/* Drops all records. With a format, their overflows are counted as lost in the installed set. */
void perf_drop(struct pfm_context *ctx);

/* timer.c */
void perf_arm(struct pfm_context *ctx, uint64_t ns);
uint64_t perf_disarm(struct pfm_context *ctx);
uint64_t perf_left(struct pfm_context *ctx);
uint64_t perf_timer_ns(struct pfm_machine *m);
int perf_timer_need(struct pfm_context *ctx);
void perf_timer_close(struct perf_timer *timer);
void perf_timer_record(struct pfm_context *ctx, uint64_t count);
/* returns true if the core has switched the set */
bool perf_timer_expire(struct pfm_context *ctx);

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
