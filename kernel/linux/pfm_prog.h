/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pfm_prog.h - the program of a context with the format "program", in the kernel. The kernel's BPF
 * runs it, as machine code if net.core.bpf_jit_enable says so. modules/fmt_prog.c implements these
 * functions; kernel/formats/host has their counterpart in user space.
 */
#ifndef PFM_PROG_H
#define PFM_PROG_H

#include <linux/filter.h>

#include "perfmon/perfmon_prog_smpl.h"

struct cred;

struct pfm_prog {
	bpf_func_t		run;	/* bpf->bpf_func, copied to save a load at each call */
	const struct bpf_insn	*insns;
	struct bpf_prog		*bpf;
	/* credentials of the user to which the program's memory is charged */
	const struct cred	*payer;
	size_t			charged;	/* in bytes */
};

/* kernel/formats/host/pfm_prog.h describes these functions. */
int pfm_prog_load(struct pfm_prog *p, const pfm_prog_smpl_arg_t *a, uint32_t *reach);
void pfm_prog_unload(struct pfm_prog *p);

/*
 * Does what bpf_prog_run() does, but without statistics, and without cant_migrate(): it is called
 * in an interrupt or NMI, where the code cannot move to another CPU. A classic program calls
 * nothing, takes no lock, and accesses only its stack and the record.
 */
static inline uint32_t pfm_prog_run(const struct pfm_prog *p, const pfm_prog_record_t *record)
{
	return bpf_dispatcher_nop_func(record, p->insns, p->run);
}

#endif
