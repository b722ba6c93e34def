// SPDX-License-Identifier: GPL-2.0
/*
 * fmt_prog.c - perfmon_prog_smpl.ko: the sampling format in which a classic BPF program decides
 * which samples are kept. A program is loaded as kernel/seccomp.c loads one: first the kernel
 * checks it, then pfm_bpf_check() ensures that it reads nothing but its record, then its loads are
 * converted. The program cannot run before that, and when it is freed no counter runs any more.
 */
#include <linux/sched/user.h>
#include <linux/slab.h>

#include "bpf.h"
#include "formats.h"
#include "linux.h"
#include "pfm_prog.h"
#include "perfmon_module.h"

static_assert(sizeof(struct pfm_bpf_insn) == sizeof(struct sock_filter));

/* Turns loads from a packet into loads from the record on which the program runs. */
static void convert(struct sock_filter *f)
{
	switch (f->code) {
	case BPF_LD | BPF_W | BPF_ABS:
		f->code = BPF_LDX | BPF_W | BPF_ABS;
		break;
	case BPF_LD | BPF_W | BPF_LEN:
		f->code = BPF_LD | BPF_IMM;
		f->k = sizeof(pfm_prog_record_t);
		break;
	case BPF_LDX | BPF_W | BPF_LEN:
		f->code = BPF_LDX | BPF_IMM;
		f->k = sizeof(pfm_prog_record_t);
		break;
	}
}

static int check(struct sock_filter *filter, unsigned int n)
{
	u16 *room = kmalloc_array(n, sizeof(*room), GFP_KERNEL);
	int ret;

	if (!room)
		return -ENOMEM;
	ret = pfm_bpf_check((const struct pfm_bpf_insn *)filter, n, sizeof(pfm_prog_record_t), room);
	kfree(room);
	for (unsigned int i = 0; !ret && i < n; i++)
		convert(&filter[i]);
	return ret;
}

/*
 * Returns the size of the memory that the kernel has allocated for the program: BPF instructions,
 * machine code and the classic program.
 */
static size_t footprint(const struct bpf_prog *bpf)
{
	return (size_t)bpf->pages * PAGE_SIZE + bpf->jited_len + bpf_classic_proglen(bpf->orig_prog);
}

int pfm_prog_load(struct pfm_prog *p, const pfm_prog_smpl_arg_t *a, uint32_t *reach)
{
	struct sock_fprog from = {
		.len = a->num_insns, .filter = (struct sock_filter __user *)(uintptr_t)a->insns,
	};
	int ret;

	/*
	 * Sets the reason that is reported if bpf_prog_create_from_user() fails without a reason of
	 * its own.
	 */
	pfm_refuse(0, "the kernel refuses the BPF program, or cannot read its instructions");
	ret = bpf_prog_create_from_user(&p->bpf, &from, check, true);
	if (ret)
		return -ret;
	p->run = p->bpf->bpf_func;
	p->insns = p->bpf->insnsi;
	p->charged = footprint(p->bpf);
	p->payer = lx_charge(p->charged);
	if (!p->payer) {
		bpf_prog_destroy(p->bpf);
		return ENOMEM;
	}
	*reach = pfm_bpf_reach((const struct pfm_bpf_insn *)p->bpf->orig_prog->filter, a->num_insns);
	return 0;
}

void pfm_prog_unload(struct pfm_prog *p)
{
	bpf_prog_destroy(p->bpf);
	lx_uncharge(p->payer, p->charged);
}

PFM_FMT_ALIAS(PFM_PROG_SMPL);
PFM_FORMAT_MODULE("BPF programs that decide about samples", &pfm_fmt_prog);
