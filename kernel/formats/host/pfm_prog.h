/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * pfm_prog.h - the program of a context with the format "program", in user space, where it is
 * interpreted. kernel/linux has the kernel's counterpart.
 */
#ifndef PFM_PROG_H
#define PFM_PROG_H

#include "formats/bpf.h"
#include "perfmon/perfmon_prog_smpl.h"

struct pfm_prog {
	struct pfm_bpf_insn *insns;
};

/*
 * Copies and checks the program of a valid argument. *reach receives how many bytes of the record
 * it can read. Returns 0, EFAULT (the program cannot be read), EINVAL (it is refused, with the
 * reason) or ENOMEM.
 */
static inline int pfm_prog_load(struct pfm_prog *p, const pfm_prog_smpl_arg_t *a, uint32_t *reach)
{
	size_t bytes = a->num_insns * sizeof(*p->insns);
	uint16_t *room;
	int ret;

	p->insns = pfm_os_alloc(bytes + a->num_insns * sizeof(*room));
	if (!p->insns)
		return pfm_refuse(ENOMEM, "no memory for the program");
	memcpy(p->insns, (const void *)(uintptr_t)a->insns, bytes);
	room = (uint16_t *)(p->insns + a->num_insns);
	ret = pfm_bpf_check(p->insns, a->num_insns, sizeof(pfm_prog_record_t), room);
	if (ret)
		pfm_os_free(p->insns);
	else
		*reach = pfm_bpf_reach(p->insns, a->num_insns);
	return -ret;
}

static inline uint32_t pfm_prog_run(const struct pfm_prog *p, const pfm_prog_record_t *record)
{
	return pfm_bpf_run(p->insns, record, sizeof(*record));
}

static inline void pfm_prog_unload(struct pfm_prog *p)
{
	pfm_os_free(p->insns);
}

#endif
