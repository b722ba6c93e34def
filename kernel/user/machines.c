// SPDX-License-Identifier: MIT
/*
 * machines.c - chooses the machine on which contexts are created: the one that pfm_set_machine() or
 * LPFM_MACHINE names, or else the first one that works on this computer. A simulated computer is
 * used only if it is named.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "desc.h"
#include "module_client.h"

/* sorted by rank; those that are used only by name come last */
static const struct pfm_user_machine *kinds[4];
static int num_kinds;
static atomic_uint num_holders;		/* scopes of PFM_HOLD_MACHINE() */

void pfm_machine_register(const struct pfm_user_machine *kind)
{
	int i = num_kinds++;

	for (; i > 0 && kind->rank - 1 < kinds[i - 1]->rank - 1; i--)
		kinds[i] = kinds[i - 1];
	kinds[i] = kind;
}

void pfm_machines_begin_call(void)
{
	for (int i = 0; i < num_kinds; i++)
		if (kinds[i]->begin_call)
			kinds[i]->begin_call();
}

void pfm_machines_end_call(void)
{
	for (int i = 0; i < num_kinds; i++)
		if (kinds[i]->end_call)
			kinds[i]->end_call();
}

void pfm_machines_forget(void)
{
	atomic_store(&num_holders, 0);
	for (int i = 0; i < num_kinds; i++)
		if (kinds[i]->forget)
			kinds[i]->forget();
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pfm_machine *current;
static bool is_chosen;		/* pfm_set_machine() or LPFM_MACHINE has chosen the machine */

const char *pfm_machine_name(int i)
{
	const char *name;

	if (i < 0)
		return NULL;
	if (i < num_kinds)
		return kinds[i]->name;
	i -= num_kinds;
	for (int k = 0; k < num_kinds; k++)
		for (int m = 0; kinds[k]->model_name && (name = kinds[k]->model_name(m)); m++)
			if (i-- == 0)
				return name;
	return NULL;
}

void pfm_machines_before_fork(void)
{
	pthread_mutex_lock(&lock);
	pfm_machines_begin_call();
}

void pfm_machines_after_fork(void)
{
	pfm_machines_end_call();
	pthread_mutex_unlock(&lock);
}

/* Refuses the name, and always returns NULL. */
static const struct pfm_user_machine *no_machine(const char *name)
{
	const char *known;
	char names[400] = "";
	size_t n = 0;

	for (int i = 0; (known = pfm_machine_name(i)) && n < sizeof(names); i++)
		n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s", i ? ", " : "", known);
	pfm_refuse(0, "no machine is called \"%s\"; there are %s", name, names);
	errno = EINVAL;
	return NULL;
}

/*
 * Splits a name like "sim:itanium2": returns the kind "sim", and sets *model to what follows the
 * colon. Returns NULL with errno if there is no such kind.
 */
static const struct pfm_user_machine *find_kind(const char *name, const char **model)
{
	const char *colon = strchr(name, ':');
	size_t len = colon ? (size_t)(colon - name) : strlen(name);

	*model = colon ? colon + 1 : "";
	for (int i = 0; i < num_kinds; i++)
		if (strlen(kinds[i]->name) == len && !strncmp(name, kinds[i]->name, len))
			return kinds[i];
	return no_machine(name);
}

static struct pfm_machine *use(const struct pfm_user_machine *kind, const char *model,
			       const char *options)
{
	struct pfm_machine *m = kind->open(model, options ? options : "");

	if (m) {
		if (m->kind != kind)	/* other threads may be reading it in a machine chosen before */
			m->kind = kind;
		__atomic_store_n(&current, m, __ATOMIC_SEQ_CST);
		if (kind->release_replaced)
			kind->release_replaced();
	}
	return m;
}

static struct pfm_machine *use_name(const char *name, const char *options)
{
	const char *model;
	const struct pfm_user_machine *kind = find_kind(name, &model);

	is_chosen = true;
	return kind ? use(kind, model, options) : NULL;
}

/*
 * Returns true for errors of a machine that exists but lacks resources now: a later call may
 * succeed.
 */
static bool just_lacks(int err)
{
	return err == ENOMEM || err == EMFILE || err == ENFILE || err == EAGAIN || err == EINTR || err == EFAULT;
}

/*
 * Gives the reason when no machine works. pfm_explain() and errno are those of the machine that was
 * tried last; the reason why perfmon.ko cannot be used is added.
 */
static void refuse_all(void)
{
	int err = errno;
	const char *obstacle = pfm_linux_obstacle();
	char why[320];

	snprintf(why, sizeof(why), "%s", pfm_explain());
	pfm_refuse(0, "this computer cannot be measured: %s%s%s (a simulated one is used by name only, as with "
		   "LPFM_MACHINE=sim)", why, obstacle ? "; " : "", obstacle ? obstacle : "");
	errno = err;
}

/*
 * Chooses a machine, and returns it, or NULL with errno. If a machine that exists lacks resources
 * now (just_lacks()), the call fails, and no other machine is used instead.
 */
static struct pfm_machine *choose(void)
{
	const char *name = getenv("LPFM_MACHINE");

	if (name && *name)
		return use_name(name, NULL);
	for (int i = 0; i < num_kinds && kinds[i]->rank; i++)
		if (use(kinds[i], "", NULL) || just_lacks(errno))
			return current;
	refuse_all();
	return NULL;
}

struct pfm_machine *pfm_current_machine(void)
{
	struct pfm_machine *m = __atomic_load_n(&current, __ATOMIC_SEQ_CST);
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

struct pfm_machine *pfm_machine_hold(void)
{
	atomic_fetch_add(&num_holders, 1);
	return pfm_current_machine();
}

void pfm_machine_release(struct pfm_machine **m)
{
	(void)m;
	atomic_fetch_sub(&num_holders, 1);
}

bool pfm_machines_held(void)
{
	return atomic_load(&num_holders);
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

int pfm_perf_event(const pfm_perf_event_t *event, uint64_t *value)
{
	PFM_HOLD_MACHINE(m);
	sigset_t saved;
	int ret;

	if (!m)
		return -1;
	if (!event || !value)
		return pfm_result(pfm_refuse(-EFAULT, "the event or the value is NULL"));
	if (!m->kind->event)
		return pfm_result(pfm_refuse(-EOPNOTSUPP, "the machine %s has no events of the kernel's by name; "
					     "LPFM_MACHINE=perf has", m->kind->name));
	pfm_signals_block(&saved);
	ret = m->kind->event(event, value);
	pfm_signals_restore(&saved);
	return pfm_result(ret);
}

/*
 * If the machine was not chosen by name, returns the notes after a line that says why perfmon.ko,
 * the first choice, is not used.
 */
static const char *with_obstacle(const char *notes)
{
	static char text[1024];
	const char *obstacle = is_chosen || pfm_linux_is(current) ? NULL : pfm_linux_obstacle();

	if (!obstacle)
		return notes;
	snprintf(text, sizeof(text), "%s: this is measured with perf_event\n%s", obstacle, notes);
	return text;
}

int pfm_get_machine(pfm_machine_info_t *info)
{
	PFM_HOLD_MACHINE(m);

	if (!m)
		return -1;
	if (!info)
		return pfm_result(pfm_refuse(-EFAULT, "info is NULL"));
	memset(info, 0, sizeof(*info));
	info->name = m->kind->name;
	info->pmu = m->pmu->name;
	info->notes = info->limits = "";
	m->kind->describe(m, info);
	info->notes = with_obstacle(info->notes);
	return 0;
}
