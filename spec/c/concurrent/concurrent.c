// SPDX-License-Identifier: MIT
/*
 * concurrent.c - commands and interrupts at the same time, chosen at random from a seed.
 *
 *   concurrent SECONDS	of processor time; prints the seed and what happened; on a broken rule
 *			"FAILED seed N, world M: ..." and aborts. LPFM_SEED=N makes the same
 *			choices again, in whatever order the threads come then.
 *
 * A world ends when its commanders have given their commands; then all is closed, and nothing may
 * be left. In worlds with an even number sets grow (concurrent_growth.c); in the others all
 * commands are given.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "concurrent.h"
#include "formats/formats.h"

#define COMMANDS	3000
#define LIVES		100

_Thread_local struct me me;
struct tally tally;
atomic_bool over;

static uint64_t seed, world;

static const char *where(void)
{
	static _Thread_local char text[64];

	snprintf(text, sizeof(text), "seed %llu, world %llu", (unsigned long long)seed,
		 (unsigned long long)world);
	return text;
}

/* --- threads -------------------------------------------------------------------------------- */

static void begin_thread(uint32_t tid)
{
	me.rng.state = seed * 1000003 + world * 1009 + tid;
	me.tid = tid;
}

static void *cpu(void *arg)
{
	begin_thread((uintptr_t)arg);
	while (!atomic_load(&over))
		interrupt_somebody();
	return NULL;
}

static void *commander(void *arg)
{
	begin_thread((uintptr_t)arg);
	for (int i = 0; i < COMMANDS; i++)
		random_command();
	return NULL;
}

static void *grower(void *arg)
{
	begin_thread((uintptr_t)arg);
	for (int i = 0; i < LIVES; i++)
		growing_life();
	return NULL;
}

static pthread_t spawn(void *(*fn)(void *), uintptr_t tid)
{
	pthread_t t;

	CHECK(!pthread_create(&t, NULL, fn, (void *)tid), "no thread");
	return t;
}

/* --- a world -------------------------------------------------------------------------------- */

static void begin(void)
{
	machine_new();
	CHECK(!pfm_register_buffer_fmt(&tally_format) && !pfm_register_buffer_fmt(&driven_format) &&
	      !pfm_register_buffer_fmt(&pfm_fmt_default), "the formats were not registered");
}

static void end(void)
{
	for (unsigned int i = 0; i < NUM_FILES; i++) {
		struct file *f = file_get(i);

		if (f)
			file_close(i, f);
	}
	pfm_unregister_buffer_fmt(visitor_format.fmt_uuid);
	CHECK(!pfm_unregister_buffer_fmt(tally_format.fmt_uuid) &&
	      !pfm_unregister_buffer_fmt(driven_format.fmt_uuid) &&
	      !pfm_unregister_buffer_fmt(pfm_fmt_default.fmt_uuid) && !pfm_fmt_list(NULL, 0),
	      "a format is in use, and no context is left");
	CHECK(!machine.loaded && !machine.thread_sessions && !machine.sys_sessions &&
	      !machine.smpl_buf_size_cur, "a session or a buffer is left");
	CHECK(tally.messages + tally.ends == tally.taken, "%lu messages and %lu END were posted, %lu taken",
	      tally.messages, tally.ends, tally.taken);
	CHECK(!allocated, "%ld allocations are left", (long)allocated);
}

static void live(void)
{
	pthread_t cpus[NUM_CPUS], commanders[NUM_COMMANDERS];
	void *(*fn)(void *) = world % 2 ? commander : grower;

	begin();
	atomic_store(&over, false);
	for (unsigned int i = 0; i < NUM_CPUS; i++)
		cpus[i] = spawn(cpu, 201 + i);
	for (unsigned int i = 0; i < NUM_COMMANDERS; i++)
		commanders[i] = spawn(fn, 101 + i);
	for (unsigned int i = 0; i < NUM_COMMANDERS; i++)
		pthread_join(commanders[i], NULL);
	atomic_store(&over, true);
	for (unsigned int i = 0; i < NUM_CPUS; i++)
		pthread_join(cpus[i], NULL);
	begin_thread(100);
	end();
}

/* --- summary -------------------------------------------------------------------------------- */

static void say(const char *what, unsigned long n)
{
	printf("  %-20s %8lu\n", what, n);
}

static void summary(void)
{
	static const char *const names[NUM_COMMANDS] = {
		"create", "close", "write_pmcs", "write_pmds", "read_pmds", "load", "unload", "start", "stop",
		"restart", "create_evtsets", "delete_evtsets", "getinfo_evtsets", "getinfo registers", "config",
		"formats", "read messages", "look at buffer",
	};

	printf("seed %llu: %llu worlds\n", (unsigned long long)seed, (unsigned long long)world);
	for (unsigned int i = 0; i < NUM_COMMANDS; i++)
		printf("  %-20s %8lu done, %lu refused\n", names[i], tally.ok[i], tally.refused[i]);
	say("overflows", tally.overflows);
	say("masked", tally.masked);
	say("throttled", tally.throttled);
	say("held", tally.blocked);
	say("timeouts", tally.timeouts);
	say("sets entered", tally.switches);
	say("sets not installed", tally.absent);
	say("context switches", tally.ctxsw);
	say("messages", tally.messages);
	say("END", tally.ends);
	say("child contexts", tally.child_ctxs);
	say("samples of families", tally.sampled);
	say("found a part taken", tally.taken_away);
	say("registers grown", tally.grown);
}

int main(int argc, char **argv)
{
	clock_t until = CLOCKS_PER_SEC * (argc > 1 ? atol(argv[1]) : 30);
	const char *text = getenv("LPFM_SEED");

	seed = text && *text ? strtoull(text, NULL, 0) : (uint64_t)time(NULL);
	fail_where = where;
	printf("seed %llu\n", (unsigned long long)seed);
	fflush(stdout);
	do {
		live();
		world++;
	} while (clock() < until);
	summary();
	return 0;
}
