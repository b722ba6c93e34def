// SPDX-License-Identifier: MIT
/*
 * concurrent_growth.c - registers come into use, one by one, while timeouts switch between the
 * sets. An overflow or timeout that comes while a set moves into larger arrays must change the set
 * itself, not the freed arrays or a copy that is dropped.
 */
#include "concurrent.h"

static void prepare(struct file *f)
{
	pfarg_setdesc_t sets[2] = {
		{ .set_id = 0, .set_flags = PFM_SETFL_TIME_SWITCH, .set_timeout = 100 },
		{ .set_id = 1, .set_flags = PFM_SETFL_TIME_SWITCH, .set_timeout = 100 },
	};

	while (pfm_do_create_evtsets(f->ctx, sets, 2))
		;	/* an allocation fails now and then */
}

/* Writes a new PMD; returns false if the target has gone. */
static bool grow(struct file *f, uint16_t set, uint16_t num)
{
	pfarg_pmd_t v = { .reg_num = num, .reg_set = set, .reg_value = -100 };
	int ret;

	pthread_mutex_lock(&f->lock);
	begin_doing(f, DOING_WRITE);
	while ((ret = pfm_do_write_pmds(f->ctx, &v, 1)) == -ENOMEM)
		;
	end_doing(f, WRITE_PMDS, ret);
	pthread_mutex_unlock(&f->lock);
	atomic_fetch_add(&tally.grown, !ret);
	return !ret;
}

void growing_life(void)
{
	struct file *f = file_new();
	pfarg_ctx_t req = { 0 };
	pfarg_load_t target = { .load_pid = me.tid };

	while (pfm_do_create(&machine, &req, NULL, NULL, f, &f->ctx))
		;
	prepare(f);
	pthread_mutex_lock(&f->lock);
	while (pfm_do_load(f->ctx, &target))
		;	/* the target does not exist now and then */
	went(START, pfm_do_start(f->ctx, NULL));
	pthread_mutex_unlock(&f->lock);
	for (uint16_t num = 0; num < NUM_COUNTERS; num++)
		if (!grow(f, 0, num) || !grow(f, 1, num))
			break;
	file_release(f);
}
