// SPDX-License-Identifier: MIT
/*
 * choose_amid.c - one thread chooses one machine after the other by pfm_set_machine(), while others
 * make calls that use the machine chosen last: each call is made on the one or the other.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "perfmon/perfmon.h"

#define CHOICES 3000

static atomic_bool done;

static const char *describe(void)
{
	pfm_machine_info_t info;
	pfarg_config_t config;

	if (pfm_get_machine(&info) || pfm_get_config(&config))
		return "the machine cannot be described";
	return strcmp(info.name, "perf") && strncmp(info.name, "sim:", 4) ? "there is no such machine" : NULL;
}

static const char *create(void)
{
	pfarg_ctx_t ctx = { 0 };
	int fd = pfm_create_context(&ctx, NULL, NULL, 0);

	return fd < 0 || close(fd) ? "no context" : NULL;
}

/* Is refused on simulated machines. */
static const char *add_event(void)
{
	pfm_perf_event_t event = { .type = 1 };
	uint64_t value;

	pfm_perf_event(&event, &value);
	return NULL;
}

static const char *(*const calls[])(void) = { describe, create, add_event };

static void *repeat(void *call)
{
	const char *problem = NULL;

	while (!problem && !atomic_load(&done))
		problem = (*(const char *(**)(void))call)();
	return (void *)problem;
}

int main(void)
{
	static const char *const machines[] = { "sim:itanium2", "perf", "sim:k8" };
	enum { NUM = sizeof(calls) / sizeof(calls[0]) };
	pthread_t threads[NUM];
	void *problem;
	int bad = 0;

	if (pfm_set_machine("sim:k8", NULL))
		return 1;
	for (int i = 0; i < NUM; i++)
		if (pthread_create(&threads[i], NULL, repeat, (void *)&calls[i]))
			return 1;
	for (int i = 0; i < CHOICES; i++)
		bad |= pfm_set_machine(machines[i % 3], NULL);
	atomic_store(&done, true);
	for (int i = 0; i < NUM; i++) {
		pthread_join(threads[i], &problem);
		if (problem)
			printf("%s: %s\n", (const char *)problem, pfm_explain());
		bad |= problem != NULL;
	}
	return bad;
}
