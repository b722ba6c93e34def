// SPDX-License-Identifier: MIT
/* thread.c - makes, forks and ends threads and processes, and carries out their operations. */
#include <stdio.h>
#include <stdlib.h>

#include "live.h"
#include "sim.h"

/* --- processes, and the contexts that they have descriptors of (3.1.1, 3.3.6) ----------------- */

bool sim_process_reaches(const struct sim_process *p, const struct pfm_context *ctx)
{
	for (unsigned int i = 0; i < p->num_reach; i++)
		if (p->reach[i] == ctx)
			return true;
	return false;
}

int sim_process_reach(struct sim_process *p, struct pfm_context *ctx)
{
	struct pfm_context **reach;
	unsigned int room;

	if (sim_process_reaches(p, ctx))
		return 0;
	if (p->num_reach == p->room_reach) {
		room = p->room_reach ? 2 * p->room_reach : 4;
		reach = pfm_os_realloc(p->reach, room * sizeof(*reach));
		if (!reach)
			return pfm_refuse(-ENOMEM, "no memory for a simulated descriptor");
		p->reach = reach;
		p->room_reach = room;
	}
	p->reach[p->num_reach++] = ctx;
	return 0;
}

void sim_process_unreach(struct sim_process *p, struct pfm_context *ctx)
{
	for (unsigned int i = 0; i < p->num_reach; i++) {
		if (p->reach[i] == ctx) {
			p->reach[i] = p->reach[--p->num_reach];
			return;
		}
	}
}

struct sim_process *sim_process_find(struct pfm_sim *sim, uint32_t pid)
{
	for (unsigned int i = 0; i < sim->num_processes; i++)
		if (sim->processes[i]->pid == pid && sim->processes[i]->threads)
			return sim->processes[i];
	return NULL;
}

/* A child gets the descriptors of its parent (3.1.1). */
static int process_new(struct pfm_sim *sim, struct sim_process *parent, uint32_t pid,
		       struct sim_process **out)
{
	struct sim_process *p, **list;

	if (sim->num_processes == sim->room_processes) {
		unsigned int room = sim->room_processes ? 2 * sim->room_processes : 16;

		list = pfm_os_realloc(sim->processes, room * sizeof(*list));
		if (!list)
			return -ENOMEM;
		sim->processes = list;
		sim->room_processes = room;
	}
	p = pfm_os_alloc(sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->pid = pid;
	p->ppid = parent->pid;
	for (unsigned int i = 0; parent->ppid && i < parent->num_reach; i++) {
		if (sim_process_reach(p, parent->reach[i])) {
			pfm_os_free(p->reach);
			pfm_os_free(p);
			return -ENOMEM;
		}
	}
	sim->processes[sim->num_processes++] = p;
	*out = p;
	return 0;
}

/* --- threads -------------------------------------------------------------------------------- */

struct sim_thread *sim_thread_find(struct pfm_sim *sim, uint32_t tid)
{
	for (unsigned int i = 0; sim->live && i < sim->num_threads; i++)
		if (sim->threads[i]->tid == tid && sim->threads[i]->state != PFM_SIM_DEAD)
			return sim->threads[i];
	if (sim->live)
		return NULL;
	return tid >= SIM_FIRST_TID && tid - SIM_FIRST_TID < sim->num_threads
		? sim->threads[tid - SIM_FIRST_TID] : NULL;
}

/* Makes room for one more thread in the arrays of all threads and of the sleeping ones. */
static bool make_room(struct pfm_sim *sim)
{
	unsigned int room = sim->room_threads ? 2 * sim->room_threads : 16;
	struct sim_thread **threads, **sleepers;

	if (sim->num_threads < sim->room_threads)
		return true;
	threads = pfm_os_realloc(sim->threads, room * sizeof(*threads));
	if (threads)
		sim->threads = threads;
	sleepers = pfm_os_realloc(sim->sleepers, room * sizeof(*sleepers));
	if (sleepers)
		sim->sleepers = sleepers;
	if (threads && sleepers)
		sim->room_threads = room;
	return threads && sleepers;
}

static void fill_in(struct sim_thread *t, const struct sim_thread *model, struct sim_program *prog)
{
	t->uid = model->uid;
	t->gid = model->gid;
	t->kernel = model->kernel;
	t->affinity = model->affinity;
	t->cpu = model->cpu;
	t->follow = model->follow;
	memcpy(t->name, model->name, sizeof(t->name));
	t->prog = sim_program_get(prog);
	sim_cursor_start(&t->cursor, prog);
}

int sim_thread_new(struct pfm_sim *sim, struct sim_process *parent, struct sim_process *process,
		   const struct sim_thread *model, struct sim_program *prog, struct sim_thread **out)
{
	uint32_t tid = SIM_FIRST_TID + sim->num_threads;
	struct sim_thread *t = pfm_os_alloc(sizeof(*t));

	if (!t || !make_room(sim) || (!process && process_new(sim, parent, tid, &process))) {
		pfm_os_free(t);
		return pfm_refuse(-ENOMEM, "no memory for a thread");
	}
	t->sim = sim;
	t->tid = tid;
	t->process = process;
	process->threads++;
	fill_in(t, model, prog);
	sim->threads[sim->num_threads++] = t;
	if (out)
		*out = t;
	sim_sched_ready(t);
	return 0;
}

/*
 * Detaches the context of a thread that ends. The context is saved and detached before the program
 * can read the END message (3.3.6).
 */
static void leave_context(struct sim_thread *t)
{
	struct pfm_context *ctx = t->ctx;
	struct sim_inside in;

	if (!sim_enter(t->sim, ctx, &in))
		return;
	if (t->ctx == ctx)
		pfm_target_exit(ctx);
	sim_leave(t->sim, &in);
}

void sim_thread_exit(struct sim_thread *t)
{
	struct pfm_sim *sim = t->sim;
	struct sim_cpu *cpu = &sim->cpus[t->cpu];

	if (t->state == PFM_SIM_DEAD)
		return;
	if (t->state == PFM_SIM_RUNNING) {
		sim_cpu_sync(cpu);
		sim_stores_flush(cpu);
		if (cpu->is_pending)
			sim_cpu_overflow(cpu);
	}
	sim_record(t, &(struct pfm_record){ .type = PFM_RECORD_EXIT });
	leave_context(t);
	if (t->state == PFM_SIM_SLEEPING)
		sim_sched_unsleep(t);
	if (sim->actor == t)
		sim->actor = NULL;
	t->process->threads--;
	sim_sched_leave(t, PFM_SIM_DEAD);
}

void sim_thread_forget(struct sim_thread *t)
{
	t->ctx = NULL;
	t->block = false;
	if (t->state == PFM_SIM_BLOCKED)
		sim_sched_ready(t);
	t->follow.life_map = NULL;
	if (t->follow.on)
		sim_life_close(&t->follow);
}

static void end_others(struct sim_thread *t)
{
	struct pfm_sim *sim = t->sim;

	for (unsigned int i = 0; i < sim->num_threads && t->process->threads > 1; i++)
		if (sim->threads[i] != t && sim->threads[i]->process == t->process)
			sim_thread_exit(sim->threads[i]);
}

/* Executes another program. The context stays attached (3.1.7). */
static void exec(struct sim_thread *t, const struct sim_node *node)
{
	struct sim_program *prog = t->prog->subs[node->sub];

	end_others(t);
	if (node->name)
		snprintf(t->name, sizeof(t->name), "%s", node->name);
	sim_record(t, &(struct pfm_record){ .type = PFM_RECORD_EXEC, .name = t->name });
	sim_emergence_free(t);
	sim_program_get(prog);
	sim_program_put(t->prog);
	t->prog = prog;
	sim_cursor_start(&t->cursor, prog);
	sim_pmu_changed(&t->sim->cpus[t->cpu]);
}

/* sum and rum do what PFM_START and PFM_STOP do, if the thread may use them (3.1.5, 3.1.6, 5.3). */
static void set_up_bit(struct sim_cpu *cpu, bool on)
{
	struct pfm_context *ctx = cpu->ctx;
	struct sim_inside in;

	if (!ctx || !sim_ctx_of(ctx)->insecure)
		return;
	sim_cpu_sync(cpu);
	if (!sim_enter(cpu->sim, ctx, &in))
		return;
	if (cpu->ctx == ctx) {
		if (on)
			pfm_user_start(ctx);
		else
			pfm_user_stop(ctx);
		sim_pmu_changed(cpu);
	}
	sim_leave(cpu->sim, &in);
}

static void inherit(struct sim_thread *t, struct sim_thread *child)
{
	struct pfm_context *ctx = t->ctx;
	struct sim_inside in;

	if (!ctx || !pfm_inherits(ctx) || !sim_enter(t->sim, ctx, &in))
		return;
	if (t->ctx == ctx)
		pfm_fork(ctx, child);
	sim_leave(t->sim, &in);
}

static void record_fork(struct sim_thread *t, struct sim_thread *child)
{
	struct pfm_record rec = { .type = PFM_RECORD_FORK, .ppid = t->process->pid, .ptid = t->tid,
				  .pid = child->process->pid, .tid = child->tid };

	sim_record(t, &rec);
	inherit(t, child);
}

/*
 * Makes a thread or a process, which inherits a context only with PFM_FL_INHERIT (3.1.7). If there
 * is no memory for the child, the program continues without it.
 */
static void spawn(struct sim_thread *t, const struct sim_node *node)
{
	bool fork = node->op == PFM_SIM_FORK;
	struct sim_thread *child;

	if (!sim_thread_new(t->sim, t->process, fork ? NULL : t->process, t, t->prog->subs[node->sub], &child))
		record_fork(t, child);
}

static void map(struct sim_thread *t, const struct sim_node *node)
{
	sim_record(t, &(struct pfm_record){ .type = PFM_RECORD_MAP, .addr = node->ip, .len = node->count,
					    .offset = node->data_addr, .name = node->name });
}

void sim_thread_op(struct sim_cpu *cpu, const struct sim_node *node)
{
	struct sim_thread *t = cpu->cur;

	sim_stores_flush(cpu);
	sim_cursor_next(&t->cursor, t->prog);
	cpu->stop_known = false;
	switch (node->op) {
	case PFM_SIM_SLEEP:
		sim_sched_sleep(t, cpu->sim->now + node->ns);
		break;
	case PFM_SIM_YIELD:
		sim_sched_rotate(cpu);
		break;
	case PFM_SIM_FORK:
	case PFM_SIM_THREAD:
		spawn(t, node);
		break;
	case PFM_SIM_EXEC:
		exec(t, node);
		break;
	case PFM_SIM_MAP:
		map(t, node);
		break;
	case PFM_SIM_EXIT_GROUP:
		end_others(t);
		sim_thread_exit(t);
		break;
	case PFM_SIM_EXIT:
		sim_thread_exit(t);
		break;
	default:
		set_up_bit(cpu, node->op == PFM_SIM_SUM);
	}
}

void sim_threads_free(struct pfm_sim *sim)
{
	for (unsigned int i = 0; i < sim->num_threads; i++) {
		sim_emergence_free(sim->threads[i]);
		sim_program_put(sim->threads[i]->prog);
		pfm_os_free(sim->threads[i]);
	}
	for (unsigned int i = 0; i < sim->num_processes; i++) {
		pfm_os_free(sim->processes[i]->reach);
		pfm_os_free(sim->processes[i]);
	}
	pfm_os_free(sim->tool.reach);
	pfm_os_free(sim->threads);
	pfm_os_free(sim->processes);
	pfm_os_free(sim->sleepers);
}
