// SPDX-License-Identifier: MIT
/*
 * machines.c - which machine contexts are created on: as told, as LPFM_MACHINE says, or the first
 * that works.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "desc.h"
#include "module_client.h"

static const struct pfm_user_machine *const kinds[] = { &pfm_linux_machine, &pfm_perf_machine,
						      &pfm_sim_machine };
#define NUM_KINDS ((int)(sizeof(kinds) / sizeof(kinds[0])))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pfm_machine *current;
static const struct pfm_user_machine *current_kind;
static bool was_told;		/* which one it is to be */

const char *pfm_machine_name(int i)
{
	const char *name;

	if (i < 0)
		return NULL;
	if (i < NUM_KINDS)
		return kinds[i]->name;
	i -= NUM_KINDS;
	for (int k = 0; k < NUM_KINDS; k++)
		for (int m = 0; kinds[k]->model_name && (name = kinds[k]->model_name(m)); m++)
			if (i-- == 0)
				return name;
	return NULL;
}

/* Always NULL. */
static const struct pfm_user_machine *no_machine(const char *name)
{
	const char *known;
	char names[200] = "";
	size_t n = 0;

	for (int i = 0; (known = pfm_machine_name(i)) && n < sizeof(names); i++)
		n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s", i ? ", " : "", known);
	pfm_refuse(0, "no machine is called \"%s\"; there are %s", name, names);
	errno = EINVAL;
	return NULL;
}

/* "sim:itanium2": the kind, and in *model what follows the colon. */
static const struct pfm_user_machine *find_kind(const char *name, const char **model)
{
	const char *colon = strchr(name, ':');
	size_t len = colon ? (size_t)(colon - name) : strlen(name);

	*model = colon ? colon + 1 : "";
	for (int i = 0; i < NUM_KINDS; i++)
		if (strlen(kinds[i]->name) == len && !strncmp(name, kinds[i]->name, len))
			return kinds[i];
	return no_machine(name);
}

static struct pfm_machine *use(const struct pfm_user_machine *kind, const char *model,
			       const char *options)
{
	struct pfm_machine *m = kind->open(model, options ? options : "");

	if (m) {
		current_kind = kind;
		__atomic_store_n(&current, m, __ATOMIC_RELEASE);
	}
	return m;
}

static struct pfm_machine *use_name(const char *name, const char *options)
{
	const char *model;
	const struct pfm_user_machine *kind = find_kind(name, &model);

	was_told = true;
	return kind ? use(kind, model, options) : NULL;
}

/* A machine that is there, but lacks something now: who asks again may get it. */
static bool just_lacks(int err)
{
	return err == ENOMEM || err == EMFILE || err == ENFILE || err == EAGAIN || err == EINTR || err == EFAULT;
}

/* A program shall not find itself on another machine because memory was short for a moment. */
static struct pfm_machine *choose(void)
{
	const char *name = getenv("LPFM_MACHINE");

	if (name && *name)
		return use_name(name, NULL);
	for (int i = 0; i < NUM_KINDS; i++)
		if (use(kinds[i], "", NULL) || just_lacks(errno))
			return current;
	return NULL;
}

struct pfm_machine *pfm_current_machine(void)
{
	struct pfm_machine *m = __atomic_load_n(&current, __ATOMIC_ACQUIRE);
	sigset_t saved;

	if (m)
		return m;
	pfm_signals_block(&saved);
	pthread_mutex_lock(&lock);
	m = current ? current : choose();
	pthread_mutex_unlock(&lock);
	pfm_signals_restore(&saved);
	return m;
}

int pfm_set_machine(const char *name, const char *options)
{
	struct pfm_machine *m;
	sigset_t saved;

	if (!name)
		return pfm_result(pfm_refuse(-EFAULT, "the machine's name is NULL"));
	pfm_signals_block(&saved);
	pthread_mutex_lock(&lock);
	m = use_name(name, options);
	pthread_mutex_unlock(&lock);
	pfm_signals_restore(&saved);
	return m ? 0 : -1;
}

/* Why it is not the one that would have been the first. */
static const char *with_obstacle(const char *notes)
{
	static char text[1024];
	const char *obstacle = current_kind == &pfm_perf_machine && !was_told ? pfm_linux_obstacle() : NULL;

	if (!obstacle)
		return notes;
	snprintf(text, sizeof(text), "%s%s", obstacle, notes);
	return text;
}

int pfm_get_machine(pfm_machine_info_t *info)
{
	struct pfm_machine *m = pfm_current_machine();

	if (!m)
		return -1;
	if (!info)
		return pfm_result(pfm_refuse(-EFAULT, "info is NULL"));
	memset(info, 0, sizeof(*info));
	info->name = current_kind->name;
	info->pmu = m->pmu->name;
	info->notes = info->limits = "";
	current_kind->describe(m, info);
	info->notes = with_obstacle(info->notes);
	return 0;
}
