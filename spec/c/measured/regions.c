// SPDX-License-Identifier: MIT
/*
 * regions.c - a program that marks regions, well and badly; spec/core/regions_spec.lua measures it.
 *
 *	regions CASE [ARGUMENT]
 *
 * touch(n) causes n page faults, on new pages.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perfmon/regions.h"
#include "../pages.h"
#include "../parts.h"

static void outer_and_inner(void)
{
	PFM_REGION_START("outer");
	touch(100);
	for (int i = 0; i < 3; i++) {
		PFM_REGION_START("inner");
		touch(50);
		PFM_REGION_STOP("inner");
	}
	PFM_REGION_STOP("outer");
	touch(1000);
}

static void recurse(int depth)
{
	PFM_REGION_START("recursive");
	touch(10);
	if (depth > 1)
		recurse(depth - 1);
	PFM_REGION_STOP("recursive");
}

static void ten_deep(void)
{
	recurse(10);
}

static void *work(void *pages)
{
	PFM_REGION_START("work");
	touch((long)(intptr_t)pages);
	PFM_REGION_STOP("work");
	return NULL;
}

/* The threads touch 100, 200, 300 and 400 pages. */
static void threads(void)
{
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, work, (void *)(intptr_t)(100 * (i + 1)));
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

static void *stay(void *nothing)
{
	(void)nothing;
	PFM_REGION_START("stay");
	touch(100);
	return NULL;
}

static void thread_inside(void)
{
	pthread_t t;

	pthread_create(&t, NULL, stay, NULL);
	pthread_join(t, NULL);
}

static void never_left(void)
{
	PFM_REGION_START("left");
	PFM_REGION_STOP("left");
	PFM_REGION_START("stay");
	touch(100);
}

static void ended_hard(void)
{
	work((void *)100);
	never_left();
	_exit(0);
}

static void killed(void)
{
	work((void *)100);
	PFM_REGION_START("work");
	kill(getpid(), SIGKILL);
}

static void stray(void)
{
	PFM_REGION_STOP("stray");
	PFM_REGION_STOP("stray");
	work((void *)100);
}

static void crossing(void)
{
	PFM_REGION_START("a");
	touch(100);
	PFM_REGION_START("b");
	touch(200);
	PFM_REGION_STOP("a");
	touch(400);
	PFM_REGION_STOP("b");
}

static void wait_for(pid_t child)
{
	int status;

	if (child < 0 || waitpid(child, &status, 0) != child || status)
		exit(4);
}

static void forking(void)
{
	pid_t child;

	PFM_REGION_START("whole");
	touch(100);
	child = fork();
	if (!child) {
		touch(1000);
		PFM_REGION_STOP("whole");
		work((void *)300);
		exit(0);
	}
	wait_for(child);
	PFM_REGION_STOP("whole");
}

static void forking_exec(void)
{
	pid_t child;

	PFM_REGION_START("whole");
	child = fork();
	if (!child) {
		execl("/proc/self/exe", "regions", "threads", NULL);
		_exit(1);
	}
	wait_for(child);
	PFM_REGION_STOP("whole");
}

/* Loads an object that marks "shared", which this program marks, too. */
static void loaded(const char *object)
{
	PFM_REGION_START("shared");
	PFM_REGION_STOP("shared");
	for (int i = 0; i < 2; i++) {
		void *lib = dlopen(object, RTLD_NOW);
		void (*call)(void (*)(long)) = lib ? (void (*)(void (*)(long)))dlsym(lib, "regions_loaded") : NULL;

		if (!call)
			exit(5);
		call(touch);
		dlclose(lib);
	}
}

/* Closes all descriptors while the program is in a region. */
static void closing(void)
{
	work((void *)100);
	PFM_REGION_START("closing");
	for (int fd = 3; fd < 100; fd++)
		close(fd);
	PFM_REGION_STOP("closing");
	work((void *)100);
}

/* Marks more regions than a block holds, and one with too long a name. */
static void many(void)
{
	static char names[50][16];
	static struct pfm_region regions[50];
	static char name[301];
	struct pfm_region length = { name, 0 };

	for (int i = 0; i < 50; i++) {
		snprintf(names[i], sizeof(names[i]), "r%d", i);
		regions[i].name = names[i];
	}
	for (int round = 0; round < 2 && pfm_regions_on; round++)
		for (int i = 0; i < 50; i++) {
			pfm_region_enter(&regions[i]);
			touch(i + 1);
			pfm_region_leave(&regions[i]);
		}
	memset(name, 'n', sizeof(name) - 1);
	pfm_region_enter(&length);
	pfm_region_leave(&length);
}

static void nothing(void)
{
}

static void in_calls(void)
{
	for (int i = 0; i < 3000; i++) {
		PFM_REGION_START("short");
		PFM_REGION_STOP("short");
	}
}

/* Runs without stat --regions: marks open no descriptor. */
static void alone(void)
{
	int before = dup(0), after;

	close(before);
	outer_and_inner();
	threads();
	after = dup(0);
	if (pfm_regions_on || after != before)
		exit(6);
}

static const struct part cases[] = {
	{ "nested", outer_and_inner }, { "recursive", ten_deep }, { "threads", threads }, { "thread", thread_inside },
	{ "exit", never_left }, { "_exit", ended_hard }, { "killed", killed }, { "stray", stray },
	{ "crossing", crossing }, { "fork", forking }, { "exec", forking_exec }, { "close", closing }, { "many", many },
	{ "nothing", nothing }, { "calls", in_calls }, { "alone", alone }, { NULL, NULL }
};

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "dlopen")) {
		loaded(argv[2]);
		return 0;
	}
	return run_part(cases, argc, argv);
}
