// SPDX-License-Identifier: MIT
/*
 * ia64_20.c - programs as they were written for perfmon 2.0 of Linux/ia64: "ia64_20 CASE". Prints
 * what was counted, or what went wrong.
 */
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <perfmon/perfmon.h>
#include <perfmon/perfmon_default_smpl.h>
#include "../parts.h"

#define CYCLES		0x12
#define RETIRED		0x08
#define COUNTER(es)	(0x9UL | (es) << 8 | 1UL << 23)
#define PERIOD		100000UL
#define ENTRIES		5

static void call(int fd, int cmd, void *arg, int n, const char *what)
{
	if (perfmonctl(fd, cmd, arg, n) == -1)
		DIE(what);
}

static void burn(long ms)
{
	struct timespec t;
	long end;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	end = t.tv_sec * 1000 + t.tv_nsec / 1000000 + ms;
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < end);
}

static int create(unsigned long flags)
{
	pfarg_context_t ctx[1];

	memset(ctx, 0, sizeof(ctx));
	ctx[0].ctx_flags = flags;
	call(0, PFM_CREATE_CONTEXT, ctx, 1, "PFM_CREATE_CONTEXT");
	if (ctx[0].ctx_smpl_vaddr)
		DIE("a buffer nobody asked for");
	return ctx[0].ctx_fd;
}

static void load(int fd, pid_t pid)
{
	pfarg_load_t load_args;

	memset(&load_args, 0, sizeof(load_args));
	load_args.load_pid = pid;
	call(fd, PFM_LOAD_CONTEXT, &load_args, 1, "PFM_LOAD_CONTEXT");
}

/* Lets counters 4 and 5 count cycles and instructions, from start on. */
static void program(int fd, unsigned long flags, unsigned long start)
{
	pfarg_reg_t pc[2], pd[2];

	memset(pc, 0, sizeof(pc));
	memset(pd, 0, sizeof(pd));
	pc[0].reg_num = 4;
	pc[0].reg_value = COUNTER(CYCLES);
	pc[0].reg_flags = flags;
	pc[1].reg_num = 5;
	pc[1].reg_value = COUNTER(RETIRED) & ~(1UL << 23);
	pd[0].reg_num = 4;
	pd[0].reg_value = pd[0].reg_long_reset = pd[0].reg_short_reset = start;
	pd[1].reg_num = 5;
	pc[0].reg_smpl_pmds[0] = pc[0].reg_reset_pmds[0] = start ? 1UL << 5 : 0;
	call(fd, PFM_WRITE_PMCS, pc, 2, "PFM_WRITE_PMCS");
	call(fd, PFM_WRITE_PMDS, pd, 2, "PFM_WRITE_PMDS");
}

static void self(void)
{
	pfarg_reg_t pd[2];
	int fd = create(0);

	program(fd, 0, 0);
	load(fd, getpid());
	call(fd, PFM_START, NULL, 0, "PFM_START");
	burn(5);
	call(fd, PFM_STOP, NULL, 0, "PFM_STOP");
	memset(pd, 0, sizeof(pd));
	pd[0].reg_num = 4;
	pd[1].reg_num = 5;
	call(fd, PFM_READ_PMDS, pd, 2, "PFM_READ_PMDS");
	call(fd, PFM_UNLOAD_CONTEXT, NULL, 0, "PFM_UNLOAD_CONTEXT");
	printf("%lu %lu\n", pd[0].reg_value, pd[1].reg_value);
	close(fd);
}

/* User code of the thread is below 0x500000, kernel code is not; PMC8 and PMC14 enable pair 0. */
static void ranges(void)
{
	pfarg_dbreg_t ibr[2];
	pfarg_reg_t pc[2], pd;
	int fd = create(0);

	program(fd, 0, 0);
	memset(ibr, 0, sizeof(ibr));
	memset(pc, 0, sizeof(pc));
	ibr[0].dbreg_num = 0;
	ibr[0].dbreg_value = 0x9000000000000000UL;
	ibr[1].dbreg_num = 1;
	ibr[1].dbreg_value = 0x9UL << 56 | 0x00fffffffffff000UL;
	call(fd, PFM_WRITE_IBRS, ibr, 2, "PFM_WRITE_IBRS");
	pc[0].reg_num = 14;
	pc[0].reg_value = 0xdb4;
	pc[1].reg_num = 8;
	pc[1].reg_value = 0xffffffff3ffffffcUL;
	call(fd, PFM_WRITE_PMCS, pc, 2, "PFM_WRITE_PMCS");
	load(fd, getpid());
	call(fd, PFM_START, NULL, 0, "PFM_START");
	burn(2);
	call(fd, PFM_STOP, NULL, 0, "PFM_STOP");
	memset(&pd, 0, sizeof(pd));
	pd.reg_num = 5;
	call(fd, PFM_READ_PMDS, &pd, 1, "PFM_READ_PMDS");
	printf("%lu in a range without code\n", pd.reg_value);
	ibr[0].dbreg_num = 8;
	if (perfmonctl(fd, PFM_WRITE_IBRS, ibr, 1) != -1 || errno != EINVAL || !PFM_REG_HAS_ERROR(ibr[0].dbreg_flags))
		DIE("IBR8");
	close(fd);
}

static pid_t child(int *go)
{
	int ends[2];
	pid_t pid;
	char c;

	if (pipe(ends))
		DIE("pipe");
	pid = fork();
	if (!pid) {
		close(ends[1]);
		if (read(ends[0], &c, 1) == 1)
			burn(3);
		_exit(0);
	}
	close(ends[0]);
	*go = ends[1];
	return pid;
}

/* Checks the samples in the buffer; returns how many there are. */
static unsigned long samples(const pfm_default_smpl_hdr_t *hdr, pid_t pid)
{
	const char *at = (const char *)(hdr + 1);

	for (unsigned long i = 0; i < hdr->hdr_count; i++) {
		const pfm_default_smpl_entry_t *e = (const void *)at;
		const unsigned long *values = (const void *)(e + 1);

		if (e->pid != pid || e->tgid != pid || e->ovfl_pmd != 4 || e->last_reset_val != -PERIOD)
			DIE("a sample of another");
		/* 1082 instructions in 1000 cycles */
		if (values[0] < PERIOD || values[0] > PERIOD * 12 / 10)
			DIE("not the instructions of a period");
		at = (const char *)(values + 1);
	}
	if (at != (const char *)hdr + hdr->hdr_cur_offs)
		DIE("hdr_cur_offs");
	return hdr->hdr_count;
}

static void sampling(void)
{
	pfm_default_smpl_ctx_arg_t arg;
	const pfm_uuid_t uuid = PFM_DEFAULT_SMPL_UUID;
	const pfm_default_smpl_hdr_t *hdr;
	unsigned long n = 0, full = 0;
	pfm_msg_t msg;
	int fd, go;
	pid_t pid = child(&go);

	memset(&arg, 0, sizeof(arg));
	memcpy(arg.ctx_arg.ctx_smpl_buf_id, uuid, sizeof(uuid));
	arg.buf_arg.buf_size = PFM_DEFAULT_SMPL_MIN_BUF_SIZE + (ENTRIES - 1) * (sizeof(pfm_default_smpl_entry_t) + 8);
	call(0, PFM_CREATE_CONTEXT, &arg, 1, "PFM_CREATE_CONTEXT");
	fd = arg.ctx_arg.ctx_fd;
	hdr = arg.ctx_arg.ctx_smpl_vaddr;
	if (!hdr || hdr->hdr_version != PFM_DEFAULT_SMPL_VERSION || hdr->hdr_buf_size != arg.buf_arg.buf_size)
		DIE("the buffer's header");
	program(fd, PFM_REGFL_OVFL_NOTIFY, -PERIOD);
	load(fd, pid);
	call(fd, PFM_START, NULL, 0, "PFM_START");
	if (write(go, "", 1) != 1)
		DIE("write");
	for (;;) {
		ssize_t size = read(fd, &msg, sizeof(msg));

		if (size != sizeof(msg) || msg.pfm_gen_msg.msg_ctx_fd != fd || msg.type != msg.pfm_gen_msg.msg_type)
			DIE("read");
		if (msg.type == PFM_MSG_END)
			break;
		if (msg.pfm_ovfl_msg.msg_ovfl_pmds[0] != 1UL << 4 || hdr->hdr_count != ENTRIES)
			DIE("not full");
		n += samples(hdr, pid);
		full++;
		/* EBUSY: it has ended */
		if (perfmonctl(fd, PFM_RESTART, NULL, 0) == -1 && errno != EBUSY)
			DIE("PFM_RESTART");
	}
	if (hdr->hdr_count < ENTRIES)
		n += samples(hdr, pid);
	if (hdr->hdr_overflows != full)
		DIE("hdr_overflows");
	printf("%s samples\n", n >= ENTRIES ? "enough" : "few");
	waitpid(pid, NULL, 0);
	close(fd);
}

static void queries(void)
{
	pfarg_features_t ft;
	pfarg_reg_t pc;

	memset(&ft, 0, sizeof(ft));
	call(0, PFM_GET_FEATURES, &ft, 1, "PFM_GET_FEATURES");
	memset(&pc, 0, sizeof(pc));
	pc.reg_num = 13;
	call(0, PFM_GET_PMC_RESET_VAL, &pc, 1, "PFM_GET_PMC_RESET_VAL");
	printf("%u.%u %#lx\n", PFM_VERSION_MAJOR(ft.ft_version), PFM_VERSION_MINOR(ft.ft_version), pc.reg_value);
	pc.reg_num = 77777;
	if (perfmonctl(0, PFM_GET_PMC_RESET_VAL, &pc, 1) != -1 || errno != EINVAL || !PFM_REG_HAS_ERROR(pc.reg_flags))
		DIE("PMC77777");
	/* the command was obsolete in 2.0 */
	if (perfmonctl(0, 0x09, NULL, 0) != -1 || errno != EINVAL)
		DIE("PFM_DESTROY_CONTEXT");
	if (perfmonctl(0, PFM_START, NULL, 0) != -1 || errno != EBADF)
		DIE("a descriptor that is no context");
	if (perfmonctl(0, PFM_CREATE_CONTEXT, NULL, 1) != -1 || errno != EINVAL)
		DIE("no argument");
}

static const struct part cases[] = {
	{ "self", self }, { "ranges", ranges }, { "sampling", sampling }, { "queries", queries },
	{ NULL, NULL }
};

int main(int argc, char **argv)
{
	return run_part(cases, argc, argv);
}
