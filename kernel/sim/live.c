// SPDX-License-Identifier: MIT
/*
 * live.c - sim:MODEL,live: simulated threads that follow threads of the host.
 *
 * A real thread, which is a thread of the host, gets a simulated thread that follows it when it
 * attaches a context, or when a context is attached to it. The simulated thread runs on the same
 * CPU for the CPU time that the real thread has used, and has the real thread's page faults and
 * context switches; what the hardware counts comes from a program of fixed rates (live_program.c).
 * At each call, and each millisecond while contexts are loaded, simulated threads catch up with
 * their real threads. A simulated thread that a notification blocks stays behind, because the real
 * thread runs on; the simulated thread catches up after the restart.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "desc.h"
#include "live.h"
#include "perf/perf.h"
#include "sim.h"

#define PERIOD_NS 1000000

static struct pfm_sim *computers;	/* the live computers; they are never freed */
/*
 * Serializes commands and the moving of time: a thread that moves time may have to wait for a
 * context in the middle of a switch (lock.c). It is taken before a context's lock.
 */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
/* how often this thread holds "turn": twice if it forks in a signal handler during a call */
static __thread unsigned int my_turns;
static pthread_mutex_t live_lock = PTHREAD_MUTEX_INITIALIZER;
/*
 * If a simulated thread is blocked and its real thread has ended, the simulated thread waits for a
 * restart for this many rounds of pace(), a second. On a busy machine the rounds take longer, but
 * so does the tool, which must call pfm_restart().
 */
#define END_ROUNDS	1000

static pthread_cond_t loaded = PTHREAD_COND_INITIALIZER;
static unsigned int num_loaded;		/* number of loaded contexts */
static bool pacing;			/* the thread that runs pace() has been started */
static uint64_t rounds;			/* rounds of that thread; protected by turn */

static const enum sim_event kinds[SIM_FOLLOWED] = {
	[SIM_FOLLOW_MINOR] = SIM_EV_MINOR_FAULTS,
	[SIM_FOLLOW_MAJOR] = SIM_EV_MAJOR_FAULTS,
	[SIM_FOLLOW_SWITCHES] = SIM_EV_CONTEXT_SWITCHES,
};

/* --- following a real thread ---------------------------------------------------------------- */

static uint32_t left_events(const struct sim_follow *f)
{
	uint32_t sum = 0;

	for (int k = 0; k < SIM_FOLLOWED; k++)
		sum += f->events[k];
	return sum;
}

/* Spreads the events that are left evenly over the time that is left. */
static void space(struct sim_thread *t)
{
	struct sim_follow *f = &t->follow;
	uint64_t n = left_events(f);

	f->next = n ? t->ran + (f->limit - t->ran) / (n + 1) : SIM_NEVER;
}

static uint64_t since(uint64_t *seen, uint64_t now)
{
	uint64_t grown = now > *seen ? now - *seen : 0;

	*seen += grown;
	return grown;
}

/* Credits the simulated thread with what the real thread has used since the last call. */
static void credit(struct sim_thread *t, const struct sim_usage *u)
{
	struct sim_follow *f = &t->follow;

	f->limit += since(&f->seen_ns, u->ns);
	for (int k = 0; k < SIM_FOLLOWED; k++)
		f->events[k] += (uint32_t)since(&f->seen[k], u->events[k]);
	if (u->cpu < t->sim->num_cpus)
		t->affinity = 1ULL << u->cpu;
	space(t);
}

/*
 * Reads /proc under the id of t's real thread. Returns false if the id belongs to another thread by
 * now. The event on the real thread hangs up when that thread is ending, before it is a zombie. So
 * if the event has hung up, the thread that /proc shows must be ending; if not, it must not be a
 * zombie.
 */
static bool look(const struct sim_thread *t, struct sim_usage *u)
{
	const struct sim_follow *f = &t->follow;
	bool hung_up, there;

	do {
		hung_up = f->life >= 0 && sim_life_ended(f);
		there = sim_usage_of(t->process->pid, t->tid, u) && u->started == f->started;
	} while (f->life >= 0 && hung_up != sim_life_ended(f));
	if (!there || f->life < 0)
		return there;
	return hung_up ? u->ending : !u->ended;
}

/*
 * Finds a real thread that has called exec(2), which gave it the id and start time of the first
 * thread of its process (3.1.7). Returns false if the real thread has not called exec(2). If it has
 * ended, the event on it says whether it called exec(2) before.
 */
static bool find_renamed(struct sim_thread *t, struct sim_usage *u)
{
	const struct sim_follow *f = &t->follow;

	if (f->life < 0 || (sim_life_ended(f) && !sim_life_executed(f)) ||
	    !sim_usage_of(t->process->pid, t->process->pid, u))
		return false;
	t->tid = t->process->pid;
	t->follow.started = u->started;
	return true;
}

/*
 * If /proc cannot be read for lack of a descriptor, a later call credits the usage. If the real
 * thread is gone from /proc, the events on it tell what it did after /proc was last read.
 */
static void observe(struct sim_thread *t)
{
	struct sim_usage u;
	bool there;

	if (t->follow.ended)
		return;
	errno = 0;
	there = look(t, &u);
	if (!there && (errno == EMFILE || errno == ENFILE))
		return;
	if (there || find_renamed(t, &u)) {
		sim_life_compare(&t->follow, &u);
	} else {
		u = (struct sim_usage){ .cpu = t->sim->num_cpus, .ended = true };
		sim_life_last(&t->follow, &u);
	}
	credit(t, &u);
	t->follow.ended = u.ended;
}

/* --- called by the computer while time moves ------------------------------------------------ */

uint64_t sim_live_at(const struct sim_cpu *cpu)
{
	const struct sim_thread *t = cpu->cur;
	const struct sim_follow *f = &t->follow;
	uint64_t next = f->next < f->limit ? f->next : f->limit;

	if (!f->on || cpu->intr)
		return SIM_NEVER;
	return next > t->ran ? cpu->at + (next - t->ran) : cpu->at;
}

/* Returns the kind of event of which most are left. */
static unsigned int next_kind(const struct sim_follow *f)
{
	unsigned int kind = 0;

	for (unsigned int k = 1; k < SIM_FOLLOWED; k++)
		if (f->events[k] > f->events[kind])
			kind = k;
	return kind;
}

static void happen(struct sim_cpu *cpu, struct sim_thread *t)
{
	unsigned int kind = next_kind(&t->follow);

	t->follow.events[kind]--;
	space(t);
	sim_pmu_event(cpu, kinds[kind], kind == SIM_FOLLOW_SWITCHES ? PFM_SIM_KERNEL : PFM_SIM_USER, 1);
	if (sim_cpu_interrupted(cpu))
		sim_cpu_overflow(cpu);
}

void sim_live_due(struct sim_cpu *cpu)
{
	struct sim_thread *t = cpu->cur;

	/* a blocked thread stops at its return to user level, before the events that are due */
	if (t->block)
		sim_sched_leave(t, PFM_SIM_BLOCKED);
	else if (t->follow.next <= t->ran)
		happen(cpu, t);
	else
		sim_sched_leave(t, PFM_SIM_WAITING);
}

/* --- catching up ---------------------------------------------------------------------------- */

static bool follows(const struct sim_thread *t)
{
	return t->follow.on && t->state != PFM_SIM_DEAD;
}

static void observe_all(struct pfm_sim *sim)
{
	for (unsigned int i = 0; i < sim->num_threads; i++) {
		struct sim_thread *t = sim->threads[i];

		if (!follows(t))
			continue;
		observe(t);
		if (t->state == PFM_SIM_WAITING && (t->follow.limit > t->ran || left_events(&t->follow)))
			sim_sched_ready(t);
	}
}

static bool any_behind(const struct pfm_sim *sim)
{
	for (unsigned int i = 0; i < sim->num_threads; i++) {
		const struct sim_thread *t = sim->threads[i];

		if (t->follow.on && (t->state == PFM_SIM_READY || t->state == PFM_SIM_RUNNING))
			return true;
	}
	return false;
}

/*
 * Returns true if the real thread has ended, and the simulated thread has caught up with it, or has
 * been blocked for too long.
 */
static bool is_over(struct sim_thread *t)
{
	struct sim_follow *f = &t->follow;

	if (!f->ended || f->held_ran != t->ran) {
		f->held_ran = t->ran;
		f->held_since = rounds;
	}
	return f->ended && (t->state == PFM_SIM_WAITING ||
			    (t->state == PFM_SIM_BLOCKED && rounds > f->held_since + END_ROUNDS));
}

static void end_those_gone(struct pfm_sim *sim)
{
	for (unsigned int i = 0; i < sim->num_threads; i++) {
		struct sim_thread *t = sim->threads[i];

		if (!follows(t) || !is_over(t))
			continue;
		/* the event is still open: the exit asks it whether the thread called exec(2) */
		sim_thread_exit(t);
		sim_life_close(&t->follow);
	}
}

static void catch_up(struct pfm_sim *sim)
{
	uint64_t elapsed = pfm_user_now(&sim->machine) - sim->live_began, from, to;
	struct sim_thread *self;
	bool timed;

	sim_lock(sim);
	observe_all(sim);
	timed = sim_own_ns(&from);
	while (any_behind(sim))
		sim_advance(sim, SIM_NEVER - 1);
	end_those_gone(sim);
	while (sim->now < elapsed && sim_advance(sim, elapsed))
		;
	self = sim_thread_find(sim, (uint32_t)syscall(SYS_gettid));
	/*
	 * The CPU time that the calling thread has spent on this catching up is not credited to its
	 * simulated thread: with many overflows, each call would have more to catch up than the one
	 * before it.
	 */
	if (self && timed && sim_own_ns(&to))
		self->follow.seen_ns += to - from;
	sim_unlock(sim);
}

/* Called with signals blocked. */
void sim_live_begin(void)
{
	struct pfm_sim *sim = __atomic_load_n(&computers, __ATOMIC_ACQUIRE);

	if (!sim)
		return;
	if (my_turns++)
		return;
	pthread_mutex_lock(&turn);
	for (; sim; sim = sim->live_next)
		catch_up(sim);
}

void sim_live_end(void)
{
	if (!my_turns || --my_turns)
		return;
	pthread_mutex_unlock(&turn);
}

/* --- the thread that lets simulated threads catch up between calls -------------------------- */

static void *pace(void *unused)
{
	static const struct timespec period = { .tv_nsec = PERIOD_NS };

	(void)unused;
	for (;;) {
		pthread_mutex_lock(&live_lock);
		while (!num_loaded)
			pthread_cond_wait(&loaded, &live_lock);
		pthread_mutex_unlock(&live_lock);
		nanosleep(&period, NULL);
		sim_live_begin();
		rounds++;
		sim_live_end();
	}
	return NULL;
}

/* Called with live_lock held. */
static void start_pacing(void)
{
	pthread_t thread;

	pacing = !pfm_thread_start(&thread, pace, NULL, PTHREAD_CREATE_DETACHED);
}

/*
 * Counts loaded contexts. If pace()'s thread cannot be started for lack of memory, every call still
 * makes the simulated threads catch up.
 */
void sim_live_loaded(struct pfm_sim *sim, int change)
{
	sigset_t saved;

	if (!sim->live)
		return;
	pfm_signals_block(&saved);
	pthread_mutex_lock(&live_lock);
	num_loaded += change;
	if (num_loaded && !pacing)
		start_pacing();
	pthread_cond_signal(&loaded);
	pthread_mutex_unlock(&live_lock);
	pfm_signals_restore(&saved);
}

/* --- creating threads that follow real threads ---------------------------------------------- */

static int new_follower(struct pfm_sim *sim, uint32_t tid, const struct sim_usage *u, struct sim_thread **out)
{
	struct sim_process *process = sim_process_find(sim, u->pid);
	struct sim_thread model = { .uid = u->uid, .cpu = u->cpu % sim->num_cpus };
	int ret;

	model.affinity = 1ULL << model.cpu;
	model.follow = (struct sim_follow){ .on = true, .next = SIM_NEVER, .seen_ns = u->ns, .started = u->started };
	memcpy(model.follow.seen, u->events, sizeof(u->events));
	ret = sim_thread_new(sim, &sim->tool, process, &model, sim->live_prog, out);
	if (ret)
		return ret;
	(*out)->tid = tid;
	(*out)->process->pid = u->pid;
	sim_life_open(&(*out)->follow, tid);
	return 0;
}

/*
 * Finds or makes the simulated thread that follows thread tid. Returns -ESRCH if there is no such
 * thread, and -EMFILE or -ENFILE if /proc cannot be read for lack of a descriptor.
 */
int sim_live_thread(struct pfm_sim *sim, uint32_t tid, struct sim_thread **out)
{
	struct sim_usage u;

	errno = 0;
	if (!sim_usage_of(0, tid, &u)) {
		if (errno == EMFILE || errno == ENFILE)
			return perf_refuse_files("the context", errno);
		u.ended = true;
	}
	if (u.ended)
		return pfm_refuse(-ESRCH, "no thread %u", tid);
	*out = sim_thread_find(sim, tid);
	if (*out && (*out)->follow.started == u.started && !(*out)->follow.ended)
		return 0;
	return new_follower(sim, tid, &u, out);
}

int sim_live_init(struct pfm_sim *sim)
{
	sim->live_prog = sim_live_program(sim);
	if (!sim->live_prog)
		return -ENOMEM;
	snprintf(sim->live_name, sizeof(sim->live_name), "%s,live", sim->model->full_name);
	sim->live_began = pfm_user_now(&sim->machine);
	pfm_user_want_inherited();
	return 0;
}

/* Called when the computer is complete, because other threads can see it from then on. */
void sim_live_publish(struct pfm_sim *sim)
{
	pthread_mutex_lock(&live_lock);
	sim_get(sim);
	sim->live_next = computers;
	__atomic_store_n(&computers, sim, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&live_lock);
}

void sim_live_forget(void)
{
	my_turns = 0;
	pthread_mutex_init(&turn, NULL);
	pthread_mutex_init(&live_lock, NULL);
	pthread_cond_init(&loaded, NULL);
	num_loaded = 0;
	pacing = false;
}
