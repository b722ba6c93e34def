// SPDX-License-Identifier: MIT
/* oracle_life.c - a life: contexts on a random computer, and random commands to them. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "oracle.h"
#include "perfmon/perfmon_dfl_smpl.h"

static struct program *forever;

/* Compares the call's result with the model's errno; 0: success. */
void expect(int result, int wanted, const char *what)
{
	int err = errno;

	commands++;
	SAME(result, wanted ? -1 : 0, "%s: wanted errno %d; %s", what, wanted, result ? pfm_explain() : "it succeeds");
	if (wanted)
		SAME(err, wanted, "%s: %s", what, pfm_explain());
	trace("%s: %s", what, wanted ? strerror(wanted) : "done");
}

/* --- contexts --------------------------------------------------------------------------------- */

static void choose_flags(struct context *c)
{
	c->flags = chance(20) ? PFM_FL_OVFL_NO_MSG : 0;
	c->kind = rnd(KINDS);
	if (world.kind == WIDE)
		c->flags |= chance(75) ? PFM_FL_SYSTEM_WIDE : 0;
	else if (world.kind == FAMILY)
		c->flags |= PFM_FL_INHERIT;
	else if (chance(30))
		c->flags |= PFM_FL_NOTIFY_BLOCK;
	c->dfl_flags = (uint32_t[]){ 0, 0, PFM_DFL_SMPL_NO_HDR, PFM_DFL_SMPL_IIP_HDR }[rnd(4)];
}

static size_t buffer_size(const struct context *c)
{
	size_t header = c->kind == DEFAULT_2X ? sizeof(pfm_dfl_smpl_hdr_t) : sizeof(pfm_default_smpl_hdr_t);

	return header + sizeof(pfm_dfl_smpl_entry_t) + 8 * world.num_impl + 8 * rnd(60);
}

/* Returns a random seed. Modulo MAX_CTXS it is the context's number, which the format needs. */
static uint64_t control_seed(int which)
{
	uint64_t seed = hash(rnd(~0U), which) >> 1;

	return seed - seed % MAX_CTXS + which;
}

static int create(struct context *c, pfarg_ctx_t *req)
{
	if (c->kind == DEFAULT_2X) {
		pfm_dfl_smpl_arg_t arg = { .buf_size = c->buf_size, .buf_flags = c->dfl_flags };

		return pfm_create_context(req, PFM_DFL_SMPL_NAME, &arg, sizeof(arg));
	}
	if (c->kind == DEFAULT_06) {
		pfm_default_smpl_arg_t arg;

		memset(&arg, 0, sizeof(arg));
		arg.buf_size = c->buf_size;
		arg.buf_flags = c->dfl_flags;
		return pfm_create_context(req, PFM_DEFAULT_SMPL_NAME, &arg, sizeof(arg));
	}
	if (c->kind == CONTROL) {
		struct control_arg arg = { .seed = c->seed, .size = c->buf_size };

		return pfm_create_context(req, "oracle", &arg, sizeof(arg));
	}
	return pfm_create_context(req, NULL, NULL, 0);
}

static void create_set(struct context *c)
{
	static const uint16_t ids[] = { 0, 1, 3, 300, 65535 };
	pfarg_setdesc_t d = { .set_id = ids[rnd(5)],
		.set_id_next = chance(95) ? c->m.sets[rnd(c->m.num_sets)].id : ids[rnd(5)] };
	int mode = rnd(3), at = model_find(&c->m, d.set_id), err = c->loaded ? EBUSY : 0;
	struct set *s;

	if (mode == 1)
		d.set_flags = PFM_SETFL_OVFL_SWITCH;
	else if (mode == 2)
		d.set_flags = PFM_SETFL_TIME_SWITCH;
	if (chance(25))
		d.set_flags |= PFM_SETFL_EXPL_NEXT;
	d.set_timeout = WINDOW * (1 + rnd(12)) + 1;
	if (!err && chance(3)) {
		d.set_flags |= PFM_SETFL_OVFL_SWITCH | PFM_SETFL_TIME_SWITCH;
		err = EINVAL;
	}
	if (!err && c->kind == NO_FORMAT && (c->flags & PFM_FL_INHERIT) && (d.set_flags & PFM_SETFL_OVFL_SWITCH))
		err = EINVAL;
	trace("  set %u, flags %#x, next %u, timeout %llu", d.set_id, d.set_flags, d.set_id_next,
	      (unsigned long long)d.set_timeout);
	expect(pfm_create_evtsets(c->fd, &d, 1), err, "create_evtsets");
	if (err)
		return;
	s = at < 0 ? model_insert(&c->m, d.set_id) : &c->m.sets[at];
	s->flags = d.set_flags;
	s->next_id = d.set_id_next;
	s->timeout = d.set_flags & PFM_SETFL_TIME_SWITCH ? d.set_timeout : 0;
	s->left = s->timeout;
	if (!(s->flags & PFM_SETFL_OVFL_SWITCH))
		s->switched = 0;
	if (at < 0)
		furnish(c, s);
}

/* Creates a context with flags that exclude each other or do not exist (table 3.2, perfmon.h). */
static void create_badly(void)
{
	static const uint32_t bad[] = { PFM_FL_NOTIFY_BLOCK | PFM_FL_SYSTEM_WIDE, PFM_FL_INHERIT | PFM_FL_SYSTEM_WIDE,
		PFM_FL_INHERIT | PFM_FL_NOTIFY_BLOCK, PFM_FL_ANY_CPU, 1U << 30 };
	pfarg_ctx_t req = { .ctx_flags = bad[rnd(5)] };

	expect(pfm_create_context(&req, NULL, NULL, 0), EINVAL, "create_context");
}

static void new_context(int which)
{
	struct context *c = &contexts[which];
	pfarg_ctx_t req = { 0 };
	int fd;

	memset(c, 0, sizeof(*c));
	choose_flags(c);
	if (world.kind == THREADS && chance(30))
		c->owner = &world.threads[rnd(2)];	/* these two live for ever */
	c->seed = control_seed(which);
	c->buf_size = c->kind == NO_FORMAT ? 0 : c->kind == CONTROL ? 256 : buffer_size(c);
	acting(c);
	create_badly();
	req.ctx_flags = c->flags;
	fd = create(c, &req);
	if (fd < 0)
		differs("create_context, flags %#x, format %d: %s", c->flags, c->kind, pfm_explain());
	SAME(req.ctx_fd, fd, "create_context");
	c->fd = fd;
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	if (c->buf_size) {
		c->map_size = req.ctx_smpl_buf_size;
		c->map = pfm_map_buffer(fd, c->map_size);
		if (c->map == MAP_FAILED)
			differs("map_buffer of %zu bytes: %s", c->map_size, pfm_explain());
	} else {
		SAME(req.ctx_smpl_buf_size, 0, "create_context");
	}
	model_new(c);
	trace("context %d: flags %#x, format %d, %zu bytes, dfl_flags %#x, owner %u", which, c->flags, c->kind,
	      c->buf_size, c->dfl_flags, c->owner ? c->owner->tid : 0);
	furnish(c, &c->m.sets[0]);
	for (int n = rnd(6); n > 0; n--)
		create_set(c);
}

static void close_context(struct context *c)
{
	acting(c);
	if (c->map)
		pfm_unmap_buffer((void *)c->map, c->map_size);
	SAME(close(c->fd), 0, "close");
	model_interrupts(c);
	if (c->loaded)
		model_unload(c);
	c->fd = -1;
	trace("context %td is closed", c - contexts);
	pfm_sim_run_ns(world.sim, 0);	/* destroys closed contexts (3.1.15: "eventually") */
}

/* --- sets ------------------------------------------------------------------------------------- */

static void delete_set(struct context *c)
{
	int at = rnd(c->m.num_sets);
	pfarg_setdesc_t d = { .set_id = chance(10) ? 4711 : c->m.sets[at].id };
	int err = c->loaded ? EBUSY : !d.set_id || d.set_id == 4711 ? EINVAL : 0;

	expect(pfm_delete_evtsets(c->fd, &d, 1), err, "delete_evtsets");
	trace("  set %u", d.set_id);
	if (err)
		return;
	if (at < c->m.active)
		c->m.active--;
	else if (at == c->m.active)
		c->m.active = 0;
	memmove(c->m.sets + at, c->m.sets + at + 1, (--c->m.num_sets - at) * sizeof(*c->m.sets));
}

/* --- the other commands ----------------------------------------------------------------------- */

static uint16_t some_set(const struct context *c)
{
	return chance(5) ? 4711 : c->m.sets[rnd(c->m.num_sets)].id;
}

/* 3.1.7: contexts of threads and of CPUs exclude each other, and a CPU can have only one. */
static int others_err(const struct context *c)
{
	for (int i = 0; i < MAX_CTXS; i++) {
		const struct context *o = &contexts[i];

		if (o != c && o->fd >= 0 && o->loaded && ((o->flags | c->flags) & PFM_FL_SYSTEM_WIDE))
			return EBUSY;
	}
	return 0;
}

/* Counts the errors of a load. Of two errors, the specification leaves open which is reported. */
static int mistakes(const struct context *c, const struct thread *t, uint16_t set)
{
	return (model_find(&c->m, set) < 0) + model_is_broken(&c->m) + (others_err(c) != 0) +
		(t && (t->dead || t->ctx)) + (t && t == c->owner && (c->flags & PFM_FL_NOTIFY_BLOCK));
}

static void load(struct context *c)
{
	pfarg_load_t d = { .load_set = some_set(c) };
	struct thread *t = NULL;
	int err = 0;

	if (c->flags & PFM_FL_SYSTEM_WIDE) {
		d.load_pid = rnd(2);	/* the tool's own number, or that of the CPU */
	} else {
		t = &world.threads[world.kind == FAMILY ? 0 : rnd(world.num_threads)];
		if (c->owner && chance(60))
			t = c->owner;
		d.load_pid = t->tid;
	}
	if (!c->loaded && mistakes(c, t, d.load_set) > 1)
		return;
	if (!c->loaded)
		err = others_err(c);
	if (!err)
		err = model_load(c, t, d.load_set);
	trace("  load on %u, set %u", d.load_pid, d.load_set);
	expect(pfm_load_context(c->fd, &d), err, "load_context");
}

static void start(struct context *c)
{
	pfarg_start_t d = { .start_set = some_set(c) };
	bool given = chance(40);

	trace("  start %d, set %u", given, d.start_set);
	expect(pfm_start(c->fd, given ? &d : NULL), model_start(c, given ? &d.start_set : NULL), "start");
}

static void restart(struct context *c)
{
	int result = pfm_restart(c->fd), err = errno, wanted = model_restart(c);

	errno = err;
	expect(result, wanted, "restart");
}

static void thread_command(void)
{
	struct thread *t = &world.threads[rnd(world.num_threads)];

	if (chance(50) && world.num_threads < 12) {
		if (world.num_programs < 60)
			world_spawn(world_program(0, 1 + rnd(40)), rnd(world.cpus));
		return;
	}
	if (t >= world.threads + 2 && !t->dead) {
		trace("%u is killed", t->tid);
		world_dies(t);
	}
}

/* Gives a thread the descriptor, or takes it away. */
static void share(struct context *c)
{
	struct thread *t = &world.threads[rnd(world.num_threads)];
	bool access = chance(70);

	if (world.kind == FAMILY || t == c->owner || t->dead)
		return;
	expect(pfm_sim_share(world.sim, t->tid, c->fd, access), 0, "share");
	c->shared[t - world.threads] = access;
}

static void set_command(struct context *c)
{
	if (chance(70))
		create_set(c);
	else
		delete_set(c);
}

static void command(struct context *c)
{
	take_interrupt(c);
	trace("to context %td:", c - contexts);
	switch (rnd(20)) {
	case 0: case 1: write_pmds(c); break;
	case 2: read_reset(c); break;
	case 3: write_pmcs(c, &c->m.sets[rnd(c->m.num_sets)], false); break;
	case 4: case 5: start(c); break;
	case 6: expect(pfm_stop(c->fd), model_stop(c), "stop"); break;
	case 7: case 8: case 9: case 10: restart(c); break;
	case 11: case 12: load(c); break;
	case 13: if (chance(40)) expect(pfm_unload_context(c->fd), model_unload(c), "unload_context"); break;
	case 14: case 15: set_command(c); break;
	case 16: case 17: case 18: while (check_message(c) && chance(70)); break;
	default: share(c); break;
	}
}

static void populate(void)
{
	forever = world_program(0, 0);
	if (world.kind == FAMILY) {
		world_spawn(world_program(2, 1 + rnd(4)), 0);
		world_spawn(forever, 0);
	} else {
		world_spawn(forever, 0);
		world_spawn(world_program(0, 0), rnd(world.cpus));
		world_spawn(world_program(0, 1 + rnd(60)), rnd(world.cpus));
	}
	for (int i = 0; i < MAX_CTXS; i++)
		contexts[i].fd = -1;
	for (int n = world.kind == FAMILY ? 1 : 1 + rnd(MAX_CTXS), i = 0; i < n; i++)
		new_context(i);
}

/* Does what tools do, so that something happens: loads, starts, reads a message, restarts. */
static void usual(struct context *c)
{
	take_interrupt(c);
	trace("to context %td:", c - contexts);
	if (!c->loaded)
		load(c);
	else if (!c->started)
		start(c);
	else if (c->m.masked) {
		check_message(c);
		restart(c);
	}
}

static void check_contexts(void)
{
	for (int i = 0; i < MAX_CTXS; i++) {
		if (contexts[i].fd >= 0 && chance(40))
			check_all(&contexts[i]);
	}
}

static void step(void)
{
	struct context *c = &contexts[rnd(MAX_CTXS)];

	for (int i = 0; i < MAX_CTXS; i++) {
		if (contexts[i].fd >= 0 && chance(70))
			usual(&contexts[i]);
	}
	if (c->fd >= 0 && chance(50))
		command(c);
	else if (world.kind == THREADS && chance(15))
		thread_command();
	else if (c->fd >= 0 && world.kind != FAMILY && chance(3)) {
		close_context(c);
		new_context(c - contexts);
	}
	if (chance(20))
		check_contexts();
	trace("-- run");
	world_run(rnd(20));
	check_states();
	check_contexts();
}

/* Closes a context without comparing it: the model does not know what it did in its last window. */
static void give_up(struct context *c)
{
	if (c->map)
		pfm_unmap_buffer((void *)c->map, c->map_size);
	close(c->fd);
	c->fd = -1;
	pfm_sim_run_ns(world.sim, 0);
}

static void close_all(void (*how)(struct context *))
{
	for (int i = 0; i < MAX_CTXS; i++)
		if (contexts[i].fd >= 0)
			how(&contexts[i]);
}

void life(const char *model, unsigned int steps)
{
	world_new(model, chance(50) ? THREADS : chance(50) ? WIDE : FAMILY);
	format_begin();
	populate();
	if (!setjmp(world.tie)) {
		for (unsigned int n = 0; n < steps; n++)
			step();
		close_all(close_context);
	} else {
		close_all(give_up);
	}
	pfm_sim_act(world.sim, 0);
	format_end();
	world_end();
}
