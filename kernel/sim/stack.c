// SPDX-License-Identifier: MIT
/* stack.c - call stacks: the calls that enclose a site of a program. */
#include "sim.h"

struct chain {
	enum pfm_frames	level;
	uint64_t	*ips;
	uint16_t	n, max;
};

static void add(struct chain *to, const struct sim_node *node)
{
	enum pfm_frames level = node->level == PFM_SIM_USER ? PFM_USER_FRAMES : PFM_KERNEL_FRAMES;

	if (level == to->level && to->n < to->max)
		to->ips[to->n++] = node->ip;
}

/* Follows the calls, from the site last touched outwards. */
static void follow(struct chain *to, const struct sim_program *prog, const struct sim_cursor *cursor)
{
	if (!cursor->site)
		return;
	add(to, &prog->nodes[cursor->site]);
	for (uint32_t i = prog->nodes[cursor->site].parent; i; i = prog->nodes[i].parent)
		if (prog->nodes[i].call)
			add(to, &prog->nodes[i]);
}

/* An interrupt's frames are followed by those of the code that it interrupted. */
static uint16_t frames(const struct pfm_where *where, enum pfm_frames level, uint64_t *ips, uint16_t max)
{
	const struct sim_cpu *cpu = where->regs;
	struct chain chain = { level, ips, 0, max };

	if (cpu->intr)
		follow(&chain, cpu->intr, &cpu->intr_cursor);
	follow(&chain, cpu->cur->prog, &cpu->cur->cursor);
	return chain.n;
}

/* Programs of the simulator have no memory, so there is no stack to copy. */
const struct pfm_stack_ops sim_stack_ops = { .frames = frames };
