// SPDX-License-Identifier: MIT
/*
 * mark.c - POWER5's marked instructions, for programs with events of the caches. One instruction at
 * a time is marked. When it has left the processor, in which many others are in progress with it
 * (APART), the next one is marked. Events of marked instructions are ordinary events with a filter.
 * From an overflow to its interrupt the addresses are held. A group has one instruction here, so
 * SIAR has the instruction's own address, and MMCRA's slot is not needed. SDAR is 0 for an
 * instruction without data, because the bit of MMCRA that says to which instruction SDAR belongs
 * cannot be read.
 */
#include "sim/sim.h"

/*
 * The distance of marked instructions: 20 groups of 5 instructions, and the marked one. It is a
 * prime, so that no loop hides some of its instructions.
 */
#define APART 101

static const struct sim_marking *marking_of(const struct sim_cpu *cpu)
{
	return &cpu->sim->model->codes->marking;
}

bool sim_mark_on(const struct sim_cpu *cpu)
{
	return cpu->pmcs[marking_of(cpu)->pmc] & marking_of(cpu)->on;
}

bool sim_mark_next(const struct sim_cpu *cpu)
{
	return sim_mark_on(cpu) && !cpu->unmarked;
}

void sim_mark(struct sim_cpu *cpu, struct sim_executed *done)
{
	done->marked = !cpu->unmarked;
	cpu->unmarked = (cpu->unmarked + 1) % APART;
	if (!done->marked || cpu->is_pending)
		return;
	cpu->pmds[marking_of(cpu)->ip] = done->ip;
	cpu->pmds[marking_of(cpu)->data] = done->data ? done->data_addr : 0;
}
