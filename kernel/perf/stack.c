// SPDX-License-Identifier: MIT
/*
 * stack.c - call stacks, for formats that want them: finds the parts of a stack that the kernel has
 * written into the record of a sample.
 */
#include <stdio.h>

#include "perf.h"

#if defined(__x86_64__)
/* a mask for asm/perf_regs.h: all registers that a 64-bit thread has */
#define USER_REGS	0xff0fffULL
#elif defined(__aarch64__)
#define USER_REGS	((1ULL << 33) - 1)
#else
#define USER_REGS	0ULL
#endif

/* In a call chain, such a value is a marker: it names the level of the frames that follow. */
#define IS_CONTEXT(ip)	((ip) >= (uint64_t)PERF_CONTEXT_MAX)

/* Returns kernel.perf_event_max_stack, because the kernel refuses more frames. */
static uint16_t most_frames(void)
{
	long most = PERF_MAX_STACK_DEPTH;

	pfm_os_read_number("/proc/sys/kernel/perf_event_max_stack", &most);
	return most < 0 || most > UINT16_MAX ? PERF_MAX_STACK_DEPTH : (uint16_t)most;
}

void perf_stack_attr(const struct pfm_stack_want *want, struct perf_event_attr *attr)
{
	uint16_t most = most_frames();

	if (want->kernel || want->user) {
		attr->sample_type |= PERF_SAMPLE_CALLCHAIN;
		attr->exclude_callchain_kernel = !want->kernel;
		attr->exclude_callchain_user = !want->user;
		attr->sample_max_stack = want->max_frames < most ? want->max_frames : most;
	}
	if (!want->max_stack)
		return;
	attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	attr->sample_regs_user = USER_REGS;
	attr->sample_stack_user = want->max_stack;
}

/* Parses {nr, ips} and advances *words. Returns false if the record is too short. */
static bool parse_chain(struct perf_stack *s, const uint64_t **words, const uint64_t *end)
{
	const uint64_t *w = *words;

	if (w >= end || w[0] > (uint64_t)(end - w - 1))
		return false;
	s->num_ips = w[0];
	s->ips = w + 1;
	*words = w + 1 + w[0];
	return true;
}

/*
 * Parses {abi, regs} and {size, bytes, dynamic size}. There are no registers if abi is 0, and no
 * dynamic size if size is 0.
 */
static bool parse_copy(struct perf_stack *s, const uint64_t *w, const uint64_t *end)
{
	if (w >= end)
		return false;
	if (*w++) {
		s->num_regs = (uint16_t)__builtin_popcountll(USER_REGS);
		s->regs = w;
		w += s->num_regs;
	}
	if (w >= end || !w[0])
		return w < end;
	if (w[0] / sizeof(*w) >= (uint64_t)(end - w - 1))
		return false;
	s->copied = w + 1;
	s->num_copied = w[1 + w[0] / sizeof(*w)];
	if (s->num_copied > w[0])
		s->num_copied = w[0];
	return true;
}

bool perf_stack_parse(const struct pfm_stack_want *want, struct perf_stack *s, const uint64_t *words,
		      const uint64_t *end)
{
	*s = (struct perf_stack){ 0 };
	if ((want->kernel || want->user) && !parse_chain(s, &words, end))
		return false;
	return !want->max_stack || parse_copy(s, words, end);
}

/* --- functions that formats call ------------------------------------------------------------ */

static uint16_t frames(const struct pfm_where *where, enum pfm_frames level, uint64_t *ips, uint16_t max)
{
	const struct perf_stack *s = where->regs;
	uint64_t wanted = level == PFM_KERNEL_FRAMES ? (uint64_t)PERF_CONTEXT_KERNEL : (uint64_t)PERF_CONTEXT_USER;
	uint64_t now = wanted;
	uint16_t n = 0;

	for (uint64_t i = 0; i < s->num_ips && n < max; i++) {
		if (IS_CONTEXT(s->ips[i]))
			now = s->ips[i];
		else if (now == wanted)
			ips[n++] = s->ips[i];
	}
	return n;
}

static uint16_t regs(const struct pfm_where *where, uint64_t *to, uint16_t max)
{
	const struct perf_stack *s = where->regs;

	if (s->num_regs > max)
		return 0;
	if (s->num_regs)
		memcpy(to, s->regs, s->num_regs * sizeof(*to));
	return s->num_regs;
}

static uint32_t copy(const struct pfm_where *where, void *to, uint32_t max)
{
	const struct perf_stack *s = where->regs;
	uint32_t n = s->num_copied < max ? (uint32_t)s->num_copied : max;

	if (n)
		memcpy(to, s->copied, n);
	return n;
}

const struct pfm_stack_ops perf_stack_ops = { .frames = frames, .regs = regs, .copy = copy };
