// SPDX-License-Identifier: MIT
/*
 * lock.c - the order of a computer's lock and its contexts' locks.
 *
 * A command holds its context's lock, and then takes the computer's. While time moves it is the
 * other way round: the computer's lock is held when an event must be delivered to a context.
 * Therefore the context's lock is then only tried. If another thread has it (as a rule the service
 * thread, which closes the context), the computer's lock is released so that the other thread can
 * finish. After that, the state of context and computer must be checked again.
 */
#include <signal.h>

#include "desc.h"
#include "sim.h"

void sim_lock_init(struct pfm_sim *sim)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&sim->lock, &attr);
	pthread_mutexattr_destroy(&attr);
	sim->locked = 0;
	sim->inside = NULL;
}

/* Blocks signals while the lock is held, because a handler may make calls (5.7). */
void sim_lock(struct pfm_sim *sim)
{
	sigset_t saved;

	pfm_signals_block(&saved);
	pthread_mutex_lock(&sim->lock);
	if (!sim->locked++)
		sim->saved_signals = saved;
}

void sim_unlock(struct pfm_sim *sim)
{
	sigset_t saved = sim->saved_signals;
	bool last = !--sim->locked;

	pthread_mutex_unlock(&sim->lock);
	if (last)
		pfm_signals_restore(&saved);
}

/*
 * Waits for the context's lock. It is called with the computer's lock held once. Returns false if
 * the context was freed during the wait.
 */
static bool wait_for(struct pfm_sim *sim, struct pfm_desc *d, const struct pfm_context *ctx)
{
	bool there;

	pfm_desc_get(d);
	pthread_mutex_unlock(&sim->lock);
	pthread_mutex_lock(&d->lock);
	pthread_mutex_lock(&sim->lock);
	there = d->ctx == ctx;
	if (!there)
		pthread_mutex_unlock(&d->lock);
	pfm_desc_put(d);
	return there;
}

bool sim_enter(struct pfm_sim *sim, struct pfm_context *ctx, struct sim_inside *in)
{
	struct pfm_desc *d;

	*in = (struct sim_inside){ sim->inside, ctx ? pfm_root(ctx) : NULL };
	if (!ctx)
		return false;
	if (sim->inside == in->root)
		return true;
	d = pfm_desc_of(in->root);
	if (pthread_mutex_trylock(&d->lock) && !wait_for(sim, d, in->root))
		return false;
	sim->inside = in->root;
	return true;
}

void sim_leave(struct pfm_sim *sim, const struct sim_inside *in)
{
	sim->inside = in->outer;
	if (in->outer != in->root)
		pthread_mutex_unlock(&pfm_desc_of(in->root)->lock);
}
