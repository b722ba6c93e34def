// SPDX-License-Identifier: MIT
/*
 * perfmonctl_errors.c - perfmonctl() on the simulated computer: what only C can show of sections
 * 3.1.1 - 3.1.17. Errors, NULL, narg, return flags, fields that are ignored or filled in.
 *
 *   perfmonctl_errors SECTION
 */
#include <fcntl.h>
#include <unistd.h>

#include "perfmon/perfmonctl.h"
#include "perfmon/sim.h"
#include "../parts.h"

#define NONE 0x7ffffff0		/* a descriptor that is not open */
#define TOOL 1			/* the caller's thread id */

static struct pfm_sim *sim;

static void check_call(int line, const char *call, int ret, int want)
{
	int got = ret ? errno : 0;

	if ((ret == 0 || ret == -1) && got == want)
		return;
	printf("line %d: %s: returned %d, %s, not %s (%s)\n", line, call, ret,
	       got ? strerrorname_np(got) : "0", want ? strerrorname_np(want) : "0", pfm_explain());
	failures++;
}

static void check_equal(int line, const char *what, unsigned long long got, unsigned long long want)
{
	if (got == want)
		return;
	printf("line %d: %s is %#llx, not %#llx\n", line, what, got, want);
	failures++;
}

#define DOES(call) check_call(__LINE__, #call, call, 0)
#define REFUSED(err, call) check_call(__LINE__, #call, call, err)
#define EQUAL(a, b) check_equal(__LINE__, #a, (unsigned long long)(a), (unsigned long long)(b))

static int new_context(unsigned int flags)
{
	pfarg_ctx_t ctx = { .ctx_flags = flags };

	DOES(perfmonctl(0, PFM_CREATE_CONTEXT, &ctx, 1));
	return ctx.ctx_fd;
}

/* Starts a thread of n instructions of 10 ns, with 2 loads in each. */
static pid_t new_thread(uint64_t n)
{
	static const struct pfm_sim_event loads = { "loads", 2 };
	struct pfm_sim_step steps[] = {
		{ .op = PFM_SIM_LOOP, .count = n },
		{ .op = PFM_SIM_SITE, .ns = 10, .ip = 0x1000, .events = &loads, .num_events = 1 },
		{ .op = PFM_SIM_END },
	};
	struct pfm_sim_spawn spawn = { .program = { steps, 3 }, .uid = 1000 };

	return pfm_sim_spawn(sim, &spawn);
}

static uint64_t encode(const char *event, int pmd)
{
	uint64_t value = 0;

	DOES(pfm_sim_encode(sim, event, 7, pmd, &value));
	return value;
}

static void count(int fd, uint16_t num, unsigned int flags, uint64_t value)
{
	pfarg_pmc_t pmc = { .reg_num = num, .reg_flags = flags, .reg_value = encode("instructions", num) };
	pfarg_pmd_t pmd = { .reg_num = num, .reg_value = value, .reg_long_reset = value,
			    .reg_short_reset = value };

	DOES(perfmonctl(fd, PFM_WRITE_PMCS, &pmc, 1));
	DOES(perfmonctl(fd, PFM_WRITE_PMDS, &pmd, 1));
}

static void load(int fd, pid_t tid)
{
	pfarg_load_t args = { .load_pid = tid };

	DOES(perfmonctl(fd, PFM_LOAD_CONTEXT, &args, 1));
}

static pfarg_pmd_t read_pmd(int fd, uint16_t num)
{
	pfarg_pmd_t pmd = { .reg_num = num };

	DOES(perfmonctl(fd, PFM_READ_PMDS, &pmd, 1));
	return pmd;
}

/* Checks what holds for all commands with a vector of structures; v: room for 2 of size bytes. */
static void vector_errors(int fd, int cmd, void *v, size_t size)
{
	void *large = calloc(1, 8192 + size);

	REFUSED(EINVAL, perfmonctl(fd, cmd, v, 0));
	REFUSED(EINVAL, perfmonctl(fd, cmd, v, -1));
	REFUSED(EFAULT, perfmonctl(fd, cmd, NULL, 1));
	REFUSED(EFAULT, perfmonctl(fd, cmd, large, (int)(4096 / size) + 1));
	free(large);
}

static void bad_descriptors(int cmd, void *arg, int narg)
{
	int null = open("/dev/null", O_RDWR);

	REFUSED(EBADF, perfmonctl(-1, cmd, arg, narg));
	REFUSED(EBADF, perfmonctl(NONE, cmd, arg, narg));
	REFUSED(EBADF, perfmonctl(null, cmd, arg, narg));
	close(null);
}

/* --- 3.1.1 ---------------------------------------------------------------------------------- */

struct with_arg {
	pfarg_ctx_t	ctx;
	uint64_t	arg[4];		/* the default format's argument: size, flags */
};

static void create_context(void)
{
	static const unsigned char dfl[16] = { 0x4d, 0x72, 0xbe, 0xc0, 0x06, 0x64, 0x41, 0x43, 0x82, 0xb4,
					       0xd3, 0xfd, 0x27, 0x24, 0x3c, 0x97 };
	struct with_arg req = { .ctx = { .ctx_fd = 12345, .ctx_smpl_buf_size = 77 } };
	int fd;

	REFUSED(EFAULT, perfmonctl(0, PFM_CREATE_CONTEXT, NULL, 1));
	REFUSED(EFAULT, perfmonctl(0, PFM_CREATE_CONTEXT, &req, 0));
	REFUSED(EFAULT, perfmonctl(0, PFM_CREATE_CONTEXT, &req, 2));
	/* "this field is ignored on input": ctx_fd, ctx_smpl_buf_size; so is the first argument */
	DOES(perfmonctl(NONE, PFM_CREATE_CONTEXT, &req, 1));
	EQUAL(req.ctx.ctx_smpl_buf_size, 0);	/* "Otherwise this field contains 0" */
	fd = req.ctx.ctx_fd;
	EQUAL(fcntl(fd, F_GETFD), 0);
	/* the returned structure can be passed again: it makes another context */
	DOES(perfmonctl(0, PFM_CREATE_CONTEXT, &req, 1));
	EQUAL(req.ctx.ctx_fd == fd, 0);
	close(fd);
	close(req.ctx.ctx_fd);
	/* "contains the actual size in bytes of the buffer" */
	memcpy(req.ctx.ctx_smpl_buf_id, dfl, 16);
	req.arg[0] = 5000;
	DOES(perfmonctl(0, PFM_CREATE_CONTEXT, &req, 1));
	EQUAL(req.ctx.ctx_smpl_buf_size, 8192);
	close(req.ctx.ctx_fd);
	req.ctx.ctx_smpl_buf_id[15] ^= 1;
	REFUSED(EINVAL, perfmonctl(0, PFM_CREATE_CONTEXT, &req, 1));
	memset(&req, 0, sizeof(req));
	req.ctx.ctx_flags = 0x40;
	REFUSED(EINVAL, perfmonctl(0, PFM_CREATE_CONTEXT, &req, 1));
	/* table 3.1: there are no other commands */
	for (int cmd = -1; cmd < 64; cmd++)
		if ((cmd < 1 || cmd > 5) && cmd != 8 && cmd != 10 && (cmd < 0x10 || cmd > 0x18))
			REFUSED(EINVAL, perfmonctl(0, cmd, &req, 1));
}

/* --- 3.1.2 ---------------------------------------------------------------------------------- */

static void pmc_flags(int fd)
{
	pfarg_pmc_t v[3] = { { .reg_num = 4, .reg_flags = 0x8 } };

	for (unsigned int bit = 3; bit < 29; bit++) {
		v[0].reg_flags = 1U << bit;
		REFUSED(EINVAL, perfmonctl(fd, PFM_WRITE_PMCS, v, 1));
		EQUAL(v[0].reg_flags, (1U << bit) | PFM_REG_RETFL_EINVAL);
	}
	/* "For those, this flag is ignored": PMC8 controls no counter */
	v[0] = (pfarg_pmc_t){ .reg_num = 8, .reg_flags = PFM_REGFL_OVFL_NOTIFY | PFM_REGFL_RANDOM };
	v[0].reg_smpl_pmds[4] = 1ULL << 63;
	DOES(perfmonctl(fd, PFM_WRITE_PMCS, v, 1));
	EQUAL(PFM_REG_HAS_ERROR(v[0].reg_flags), 0);
	/* "Specifying PMD registers that are unimplemented generates an error" */
	v[0] = (pfarg_pmc_t){ .reg_num = 4, .reg_smpl_pmds = { 1 << 18 } };
	REFUSED(EINVAL, perfmonctl(fd, PFM_WRITE_PMCS, v, 1));
	EQUAL(v[0].reg_flags, PFM_REG_RETFL_EINVAL);
	v[0] = (pfarg_pmc_t){ .reg_num = 4, .reg_reset_pmds = { 0, 0, 0, 0, 1 } };
	REFUSED(EINVAL, perfmonctl(fd, PFM_WRITE_PMCS, v, 1));
	EQUAL(v[0].reg_flags, PFM_REG_RETFL_EINVAL);
}

static void pmc_marks(int fd)
{
	static const struct { pfarg_pmc_t bad; uint32_t mark; } cases[] = {
		{ { .reg_num = 16 }, PFM_REG_RETFL_NOTAVAIL },
		{ { .reg_num = 0xffff }, PFM_REG_RETFL_NOTAVAIL },
		{ { .reg_num = 4, .reg_set = 1 }, PFM_REG_RETFL_NOSET },
		{ { .reg_num = 257, .reg_value = 1ULL << 63 }, PFM_REG_RETFL_EINVAL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		pfarg_pmc_t v[3] = { { .reg_num = 5 }, cases[i].bad, { .reg_num = 16 } };

		REFUSED(EINVAL, perfmonctl(fd, PFM_WRITE_PMCS, v, 3));
		EQUAL(v[0].reg_flags, 0);
		EQUAL(v[1].reg_flags, cases[i].mark);
		EQUAL(PFM_REG_HAS_ERROR(v[1].reg_flags) != 0, 1);
		EQUAL(v[2].reg_flags, 0);
		/* the refused call's error flag is ignored: the corrected element is accepted */
		v[1].reg_num = 5;
		v[1].reg_set = 0;
		v[1].reg_value = 0;
		DOES(perfmonctl(fd, PFM_WRITE_PMCS, &v[1], 1));
		EQUAL(v[1].reg_flags, 0);
	}
}

/* In 0.6, notification, bitvectors and randomization are written with the PMC. */
static void pmc_attributes(void)
{
	int fd = new_context(0);
	pid_t tid = new_thread(1000);
	pfarg_pmc_t pmc = { .reg_num = 4, .reg_flags = PFM_REGFL_OVFL_NOTIFY | PFM_REGFL_RANDOM,
			    .reg_value = encode("instructions", 4), .reg_reset_pmds = { 1 << 5 } };
	pfarg_pmd_t pmds[] = {
		{ .reg_num = 4, .reg_value = -10ULL, .reg_long_reset = 0x100000, .reg_random_mask = 0xff,
		  .reg_random_seed = 0x1567fb },
		{ .reg_num = 5, .reg_value = 1, .reg_long_reset = 555 },
	};
	pfm_msg_t msg;

	/* "does not impose any ordering": first the PMDs, then the PMC, and the PMDs again */
	DOES(perfmonctl(fd, PFM_WRITE_PMDS, pmds, 2));
	DOES(perfmonctl(fd, PFM_WRITE_PMCS, &pmc, 1));
	DOES(perfmonctl(fd, PFM_WRITE_PMDS, pmds, 2));
	load(fd, tid);
	DOES(perfmonctl(fd, PFM_START, NULL, 0));
	EQUAL(pfm_sim_run_until_message(sim, fd, 100000), 1);
	EQUAL(read(fd, &msg, sizeof(msg)), sizeof(msg));
	EQUAL(msg.msg_type, PFM_MSG_OVFL);
	EQUAL(msg.pfm_ovfl_msg.msg_ovfl_pmds[0], 1 << 4);
	EQUAL(msg.pfm_ovfl_msg.msg_active_set, 0);
	DOES(perfmonctl(fd, PFM_RESTART, NULL, 0));
	EQUAL(read_pmd(fd, 4).reg_value, 0x1000fb);	/* figure 3.4 */
	EQUAL(read_pmd(fd, 4).reg_last_reset_val, 0x1000fb);
	EQUAL(read_pmd(fd, 5).reg_value, 555);
	/* nothing of an invalid element is done: PMC4 still counts */
	pmc.reg_smpl_pmds[4] = 1;
	pmc.reg_value = 0;
	REFUSED(EINVAL, perfmonctl(fd, PFM_WRITE_PMCS, &pmc, 1));
	pfm_sim_run_ns(sim, 100);
	EQUAL(read_pmd(fd, 4).reg_value, 0x1000fb + 10);
	close(fd);
}

/* 3.1.2, 3.1.3 list no EBUSY: the error is EINVAL, and no element is marked. */
static void from_another_cpu(void)
{
	int fd = new_context(PFM_FL_SYSTEM_WIDE);
	pfarg_pmd_t pmd = { .reg_num = 4 };
	pfarg_pmc_t pmc = { .reg_num = 4 };

	load(fd, TOOL);
	DOES(pfm_sim_set(sim, "tool_cpu", 1));
	REFUSED(EINVAL, perfmonctl(fd, PFM_WRITE_PMCS, &pmc, 1));
	EQUAL(pmc.reg_flags, 0);
	REFUSED(EINVAL, perfmonctl(fd, PFM_WRITE_PMDS, &pmd, 1));
	EQUAL(pmd.reg_flags, 0);
	DOES(pfm_sim_set(sim, "tool_cpu", 0));
	close(fd);
}

static void write_pmcs(void)
{
	int fd = new_context(0);
	pfarg_pmc_t v[2] = { { .reg_num = 4 }, { .reg_num = 5 } };

	bad_descriptors(PFM_WRITE_PMCS, v, 1);
	vector_errors(fd, PFM_WRITE_PMCS, v, sizeof(v[0]));
	pmc_flags(fd);
	pmc_marks(fd);
	EQUAL(PFM_MAX_PMD_BITVECTOR, (PFM_MAX_PMDS + 64 - 1) / 64);
	EQUAL(sizeof(v[0].reg_smpl_pmds), PFM_MAX_PMD_BITVECTOR * 8);
	close(fd);
	from_another_cpu();
	pmc_attributes();
}

/* --- 3.1.3, 3.1.4 --------------------------------------------------------------------------- */

static void pmd_marks(int fd, int cmd)
{
	static const struct { pfarg_pmd_t bad; uint32_t mark; } cases[] = {
		{ { .reg_num = 18 }, PFM_REG_RETFL_NOTAVAIL },
		{ { .reg_num = 319 }, PFM_REG_RETFL_NOTAVAIL },
		{ { .reg_num = 4, .reg_set = 1 }, PFM_REG_RETFL_NOSET },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		pfarg_pmd_t v[3] = { { .reg_num = 5, .reg_value = 1 }, cases[i].bad, { .reg_num = 18 } };

		REFUSED(EINVAL, perfmonctl(fd, cmd, v, 3));
		EQUAL(v[0].reg_flags, 0);
		EQUAL(v[1].reg_flags, cases[i].mark);
		EQUAL(v[2].reg_flags, 0);
	}
}

static void write_pmds(void)
{
	int fd = new_context(0);
	pfarg_pmd_t v[2] = { { .reg_num = 4, .reg_value = 5, .reg_last_reset_val = 99 }, { .reg_num = 5 } };

	bad_descriptors(PFM_WRITE_PMDS, v, 1);
	vector_errors(fd, PFM_WRITE_PMDS, v, sizeof(v[0]));
	pmd_marks(fd, PFM_WRITE_PMDS);
	/* "there are no input flags defined for this command" */
	for (unsigned int bit = 0; bit < 29; bit++) {
		v[1].reg_flags = 1U << bit;
		REFUSED(EINVAL, perfmonctl(fd, PFM_WRITE_PMDS, v, 2));
		EQUAL(v[1].reg_flags, (1U << bit) | PFM_REG_RETFL_EINVAL);
	}
	/* reg_last_reset_val: "this field is ignored for this command" */
	EQUAL(read_pmd(fd, 4).reg_last_reset_val, 5);
	/* a virtual PMD cannot be written: its value is invalid, the register exists */
	v[1] = (pfarg_pmd_t){ .reg_num = 80, .reg_value = 1 };
	REFUSED(EINVAL, perfmonctl(fd, PFM_WRITE_PMDS, &v[1], 1));
	EQUAL(v[1].reg_flags, PFM_REG_RETFL_EINVAL);
	close(fd);
}

static void read_pmds(void)
{
	int fd = new_context(0);
	pfarg_setdesc_t set = { .set_flags = PFM_SETFL_OVFL_SWITCH };
	pfarg_pmd_t v[2] = { { .reg_num = 4, .reg_value = 5, .reg_ovflsw_thres = 7 }, { .reg_num = 5 } };

	bad_descriptors(PFM_READ_PMDS, v, 1);
	vector_errors(fd, PFM_READ_PMDS, v, sizeof(v[0]));
	pmd_marks(fd, PFM_READ_PMDS);
	DOES(perfmonctl(fd, PFM_CREATE_EVTSETS, &set, 1));
	DOES(perfmonctl(fd, PFM_WRITE_PMDS, v, 1));
	/* value, last reset and threshold are only filled in; the others are not used */
	v[0] = (pfarg_pmd_t){ .reg_num = 4, .reg_value = 1, .reg_last_reset_val = 2, .reg_ovflsw_thres = 3,
			      .reg_long_reset = 4, .reg_short_reset = 5, .reg_random_mask = 6,
			      .reg_random_seed = 7 };
	DOES(perfmonctl(fd, PFM_READ_PMDS, v, 2));
	EQUAL(v[0].reg_value, 5);
	EQUAL(v[0].reg_last_reset_val, 5);
	EQUAL(v[0].reg_ovflsw_thres, 7);
	EQUAL(v[0].reg_long_reset, 4);
	EQUAL(v[0].reg_short_reset, 5);
	EQUAL(v[0].reg_random_mask, 6);
	EQUAL(v[0].reg_random_seed, 7);
	v[0].reg_flags = 1;
	REFUSED(EINVAL, perfmonctl(fd, PFM_READ_PMDS, v, 1));
	close(fd);
	/* EBUSY: "the command cannot be executed at this time" */
	fd = new_context(PFM_FL_SYSTEM_WIDE);
	load(fd, TOOL);
	DOES(pfm_sim_set(sim, "tool_cpu", 1));
	v[0].reg_flags = 0;
	REFUSED(EBUSY, perfmonctl(fd, PFM_READ_PMDS, v, 1));
	DOES(pfm_sim_set(sim, "tool_cpu", 0));
	close(fd);
}

/* --- 3.1.5 - 3.1.9 -------------------------------------------------------------------------- */

/* Calls a command without an argument on a context that is not loaded: the error is EBUSY. */
static void simple_command(int cmd)
{
	int fd = new_context(0), dummy = 0;

	bad_descriptors(cmd, NULL, 0);
	REFUSED(EBUSY, perfmonctl(fd, cmd, NULL, 0));
	REFUSED(EINVAL, perfmonctl(fd, cmd, &dummy, 1));
	REFUSED(EINVAL, perfmonctl(fd, cmd, NULL, 1));
	REFUSED(EINVAL, perfmonctl(fd, cmd, &dummy, 0));
	close(fd);
	fd = new_context(PFM_FL_SYSTEM_WIDE);
	load(fd, TOOL);
	DOES(pfm_sim_set(sim, "tool_cpu", 1));
	if (cmd != PFM_RESTART)
		REFUSED(EBUSY, perfmonctl(fd, cmd, NULL, 0));
	DOES(pfm_sim_set(sim, "tool_cpu", 0));
	close(fd);
}

static void start(void)
{
	int fd = new_context(0);
	pfarg_start_t args = { 0 };

	bad_descriptors(PFM_START, NULL, 0);
	bad_descriptors(PFM_START, &args, 1);
	REFUSED(EBUSY, perfmonctl(fd, PFM_START, NULL, 0));
	REFUSED(EBUSY, perfmonctl(fd, PFM_START, &args, 1));
	count(fd, 4, 0, 0);
	load(fd, new_thread(1000));
	/* "this command does not take vectors" */
	REFUSED(EFAULT, perfmonctl(fd, PFM_START, &args, 2));
	REFUSED(EFAULT, perfmonctl(fd, PFM_START, &args, 0));
	REFUSED(EFAULT, perfmonctl(fd, PFM_START, NULL, 1));
	DOES(perfmonctl(fd, PFM_START, NULL, 0));
	DOES(perfmonctl(fd, PFM_START, &args, 1));
	args.start_set = 1;
	REFUSED(EINVAL, perfmonctl(fd, PFM_START, &args, 1));
	pfm_sim_run_ns(sim, 100);
	EQUAL(read_pmd(fd, 4).reg_value, 10);
	close(fd);
}

static void stop(void)
{
	simple_command(PFM_STOP);
}

static void load_context(void)
{
	int fd = new_context(0), wide = new_context(PFM_FL_SYSTEM_WIDE);
	pid_t tid = new_thread(1000);
	pfarg_load_t args = { .load_pid = tid };

	bad_descriptors(PFM_LOAD_CONTEXT, &args, 1);
	REFUSED(EFAULT, perfmonctl(fd, PFM_LOAD_CONTEXT, NULL, 1));
	/* EFAULT: "the number of element is different from 1" */
	REFUSED(EFAULT, perfmonctl(fd, PFM_LOAD_CONTEXT, &args, 0));
	REFUSED(EFAULT, perfmonctl(fd, PFM_LOAD_CONTEXT, &args, 2));
	args.load_set = 3;
	REFUSED(EINVAL, perfmonctl(fd, PFM_LOAD_CONTEXT, &args, 1));
	args.load_set = 0;
	args.load_pid = -1;
	/* 3.1.7 does not list ESRCH: if there is no such thread, the error is EPERM */
	REFUSED(EPERM, perfmonctl(fd, PFM_LOAD_CONTEXT, &args, 1));
	REFUSED(EINVAL, perfmonctl(wide, PFM_LOAD_CONTEXT, &args, 1));
	load(fd, tid);
	args.load_pid = tid;
	REFUSED(EBUSY, perfmonctl(fd, PFM_LOAD_CONTEXT, &args, 1));
	args.load_pid = TOOL;
	REFUSED(EBUSY, perfmonctl(wide, PFM_LOAD_CONTEXT, &args, 1));
	close(fd);
	close(wide);
}

static void unload_context(void)
{
	int fd = new_context(0);

	simple_command(PFM_UNLOAD_CONTEXT);
	load(fd, new_thread(1000));
	DOES(perfmonctl(fd, PFM_UNLOAD_CONTEXT, NULL, 0));
	REFUSED(EBUSY, perfmonctl(fd, PFM_UNLOAD_CONTEXT, NULL, 0));
	close(fd);
}

static void restart(void)
{
	int fd = new_context(0);

	simple_command(PFM_RESTART);
	count(fd, 4, PFM_REGFL_OVFL_NOTIFY, -10ULL);
	load(fd, new_thread(1000));
	REFUSED(EBUSY, perfmonctl(fd, PFM_RESTART, NULL, 0));
	DOES(perfmonctl(fd, PFM_START, NULL, 0));
	EQUAL(pfm_sim_run_until_message(sim, fd, 100000), 1);
	DOES(perfmonctl(fd, PFM_RESTART, NULL, 0));
	EQUAL(read_pmd(fd, 4).reg_value, -10ULL);
	REFUSED(EBUSY, perfmonctl(fd, PFM_RESTART, NULL, 0));
	close(fd);
}

/* --- 3.1.10 - 3.1.12 ------------------------------------------------------------------------ */

static void create_evtsets(void)
{
	int fd = new_context(0);
	pfarg_setdesc_t v[3] = { { .set_id = 1 } };
	static const struct timespec bad[] = { { -1, 0 }, { 0, -1 }, { 0, 1000000000 }, { 0, 0 },
					       { 1LL << 62, 0 } };

	bad_descriptors(PFM_CREATE_EVTSETS, v, 1);
	vector_errors(fd, PFM_CREATE_EVTSETS, v, sizeof(v[0]));
	for (unsigned int bit = 5; bit < 29; bit++) {
		if (bit >= 16 && bit <= 18)
			continue;
		v[0].set_flags = 1U << bit;
		REFUSED(EINVAL, perfmonctl(fd, PFM_CREATE_EVTSETS, v, 1));
		EQUAL(v[0].set_flags, (1U << bit) | PFM_SET_RETFL_EINVAL);
		EQUAL(PFM_SET_HAS_ERROR(v[0].set_flags) != 0, 1);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		v[0] = (pfarg_setdesc_t){ .set_id = 1, .set_flags = PFM_SETFL_TIME_SWITCH, .set_timeout = bad[i] };
		REFUSED(EINVAL, perfmonctl(fd, PFM_CREATE_EVTSETS, v, 1));
		EQUAL(v[0].set_flags, PFM_SETFL_TIME_SWITCH | PFM_SET_RETFL_EINVAL);
		/* "Otherwise, it is ignored": a timeout without PFM_SETFL_TIME_SWITCH */
		v[0] = (pfarg_setdesc_t){ .set_id = 2, .set_timeout = bad[i] };
		DOES(perfmonctl(fd, PFM_CREATE_EVTSETS, v, 1));
		EQUAL(v[0].set_timeout.tv_sec, bad[i].tv_sec);
		EQUAL(v[0].set_timeout.tv_nsec, bad[i].tv_nsec);
	}
	v[0] = (pfarg_setdesc_t){ .set_id = 3, .set_flags = PFM_SETFL_TIME_SWITCH, .set_timeout = { 2, 1 } };
	DOES(perfmonctl(fd, PFM_CREATE_EVTSETS, v, 1));
	EQUAL(v[0].set_timeout.tv_sec, 2);
	EQUAL(v[0].set_timeout.tv_nsec, 1000000);
	load(fd, new_thread(1000));
	/* "If no error is reported by the macro, then the reason for EINVAL is different" */
	REFUSED(EINVAL, perfmonctl(fd, PFM_CREATE_EVTSETS, v, 1));
	EQUAL(v[0].set_flags, PFM_SETFL_TIME_SWITCH);
	v[0].set_flags = 0;
	REFUSED(EINVAL, perfmonctl(fd, PFM_DELETE_EVTSETS, v, 1));
	EQUAL(v[0].set_flags, 0);
	close(fd);
}

static void delete_evtsets(void)
{
	int fd = new_context(0);
	pfarg_setdesc_t v[3] = { { .set_id = 1 }, { .set_id = 2 } };

	bad_descriptors(PFM_DELETE_EVTSETS, v, 1);
	vector_errors(fd, PFM_DELETE_EVTSETS, v, sizeof(v[0]));
	DOES(perfmonctl(fd, PFM_CREATE_EVTSETS, v, 2));
	/* ignored: set_id_next, set_timeout */
	v[0] = (pfarg_setdesc_t){ .set_id = 1, .set_id_next = 77, .set_timeout = { -5, -5 } };
	DOES(perfmonctl(fd, PFM_DELETE_EVTSETS, v, 1));
	REFUSED(EINVAL, perfmonctl(fd, PFM_DELETE_EVTSETS, v, 2));
	EQUAL(v[0].set_flags, PFM_SET_RETFL_NOSET);
	EQUAL(v[1].set_flags, 0);
	v[0] = (pfarg_setdesc_t){ .set_id = 2, .set_flags = PFM_SETFL_OVFL_SWITCH };
	REFUSED(EINVAL, perfmonctl(fd, PFM_DELETE_EVTSETS, v, 1));
	EQUAL(v[0].set_flags, PFM_SETFL_OVFL_SWITCH | PFM_SET_RETFL_EINVAL);
	v[0] = (pfarg_setdesc_t){ .set_id = 0 };
	REFUSED(EINVAL, perfmonctl(fd, PFM_DELETE_EVTSETS, v, 1));
	EQUAL(v[0].set_flags, PFM_SET_RETFL_EINVAL);
	v[0] = (pfarg_setdesc_t){ .set_id = 2 };
	DOES(perfmonctl(fd, PFM_DELETE_EVTSETS, v, 1));
	close(fd);
}

static void getinfo_evtsets(void)
{
	int fd = new_context(0);
	pfarg_setdesc_t d = { .set_id = 1, .set_id_next = 0, .set_timeout = { 3, 500 },
			      .set_flags = PFM_SETFL_TIME_SWITCH | PFM_SETFL_EXPL_NEXT };
	pfarg_setinfo_t v[3];

	memset(v, 0, sizeof(v));
	bad_descriptors(PFM_GETINFO_EVTSETS, v, 1);
	vector_errors(fd, PFM_GETINFO_EVTSETS, v, sizeof(v[0]));
	DOES(perfmonctl(fd, PFM_CREATE_EVTSETS, &d, 1));
	/* "on input, this field is ignored" */
	memset(&v[0], 0xff, sizeof(v[0]));
	v[0].set_id = 1;
	v[0].set_flags = 0;
	v[1].set_id = 9;
	REFUSED(EINVAL, perfmonctl(fd, PFM_GETINFO_EVTSETS, v, 3));
	EQUAL(v[0].set_flags, PFM_SETFL_TIME_SWITCH | PFM_SETFL_EXPL_NEXT);
	EQUAL(v[0].set_id_next, 0);
	EQUAL(v[0].set_runs, 0);
	EQUAL(v[0].set_timeout.tv_sec, 3);
	EQUAL(v[0].set_timeout.tv_nsec, 1000000);
	EQUAL(v[0].set_act_duration.tv_sec, 0);
	EQUAL(v[0].set_act_duration.tv_nsec, 0);
	for (int i = 0; i < PFM_MAX_PMD_BITVECTOR; i++)
		EQUAL(v[0].set_switch_pmds[i], 0);
	EQUAL(v[1].set_flags, PFM_SET_RETFL_NOSET);
	EQUAL(v[2].set_flags, 0);
	/* "All but the return flag bits are reserved" */
	v[0] = (pfarg_setinfo_t){ .set_id = 1, .set_flags = PFM_SETFL_EXPL_NEXT };
	REFUSED(EINVAL, perfmonctl(fd, PFM_GETINFO_EVTSETS, v, 1));
	EQUAL(v[0].set_flags, PFM_SETFL_EXPL_NEXT | PFM_SET_RETFL_EINVAL);
	v[0] = (pfarg_setinfo_t){ .set_id = 1, .set_flags = PFM_SET_RETFL_NOSET };
	DOES(perfmonctl(fd, PFM_GETINFO_EVTSETS, v, 1));
	EQUAL(v[0].set_flags, PFM_SETFL_TIME_SWITCH | PFM_SETFL_EXPL_NEXT);
	close(fd);
}

/* --- 3.1.13, 3.1.14 ------------------------------------------------------------------------- */

static void getinfo_regs(int cmd, uint16_t missing, uint16_t index, uint16_t type)
{
	pfarg_pmcinfo_t v[3];

	memset(v, 0xff, sizeof(v));
	v[0].reg_num = 4;
	v[1].reg_num = missing;
	v[0].reg_flags = v[1].reg_flags = v[2].reg_flags = 0;
	vector_errors(NONE, cmd, v, sizeof(v[0]));
	/* "the first argument is ignored"; all but the number "ignored on input" */
	REFUSED(EINVAL, perfmonctl(NONE, cmd, v, 3));
	EQUAL(v[0].reg_flags, 0);
	EQUAL(v[0].reg_type, type);
	EQUAL(v[0].reg_index, index);
	EQUAL(v[1].reg_flags, PFM_REG_RETFL_EINVAL);
	EQUAL(v[2].reg_flags, 0);
	/* "no input flags defined for this command"; an error flag of an earlier call is ignored */
	v[0].reg_flags = 1;
	REFUSED(EINVAL, perfmonctl(0, cmd, v, 1));
	v[0].reg_flags = PFM_REG_RETFL_EINVAL;
	DOES(perfmonctl(0, cmd, v, 1));
	EQUAL(v[0].reg_flags, 0);
	v[0].reg_num = 64;	/* a software counter's */
	DOES(perfmonctl(0, cmd, v, 1));
	EQUAL(v[0].reg_index, (size_t)PFM_REG_IDX_NONE);
}

static void getinfo_pmcs(void)
{
	pfarg_pmcinfo_t pmc4 = { .reg_num = 4 };

	getinfo_regs(PFM_GETINFO_PMCS, 16, 4, PFM_REG_TYPE_PMC);
	DOES(perfmonctl(0, PFM_GETINFO_PMCS, &pmc4, 1));
	EQUAL(pmc4.reg_def_value, 0x800000);
	EQUAL(pmc4.reg_rsvd_mask, ~0x0fffff7fULL);
}

static void getinfo_pmds(void)
{
	pfarg_pmdinfo_t pmd4 = { .reg_num = 4 };

	getinfo_regs(PFM_GETINFO_PMDS, 18, 4, PFM_REG_TYPE_PMD);
	DOES(perfmonctl(0, PFM_GETINFO_PMDS, &pmd4, 1));
	EQUAL(pmd4.reg_def_value, 0);
	EQUAL(pmd4.reg_rsvd_mask, 0);
}

/* --- 3.1.16, 3.1.17 ------------------------------------------------------------------------- */

static void one_config(int cmd, pfarg_config_t *cfg)
{
	/* EFAULT: "the number of elements is different from 1" */
	REFUSED(EFAULT, perfmonctl(0, cmd, NULL, 1));
	REFUSED(EFAULT, perfmonctl(0, cmd, cfg, 0));
	REFUSED(EFAULT, perfmonctl(0, cmd, cfg, 2));
	REFUSED(EFAULT, perfmonctl(0, cmd, cfg, -1));
	DOES(perfmonctl(NONE, cmd, cfg, 1));
}

static void set_config(void)
{
	pfarg_config_t before, cfg, after;
	pid_t tid = new_thread(10);

	DOES(perfmonctl(0, PFM_GET_CONFIG, &before, 1));
	cfg = before;
	one_config(PFM_SET_CONFIG, &cfg);
	/* "this field is ignored for this command" */
	cfg.cf_version = 0;
	cfg.cf_counter_width = 1;
	memset(cfg.cf_impl_pmcs, 0xff, sizeof(cfg.cf_impl_pmcs));
	memset(cfg.cf_impl_pmds, 0xff, sizeof(cfg.cf_impl_pmds));
	cfg.cf_thread_gid = 5;
	DOES(perfmonctl(0, PFM_SET_CONFIG, &cfg, 1));
	DOES(perfmonctl(0, PFM_GET_CONFIG, &after, 1));
	EQUAL(after.cf_version, before.cf_version);
	EQUAL(after.cf_counter_width, before.cf_counter_width);
	EQUAL(memcmp(after.cf_impl_pmcs, before.cf_impl_pmcs, sizeof(before.cf_impl_pmcs)), 0);
	EQUAL(memcmp(after.cf_impl_pmds, before.cf_impl_pmds, sizeof(before.cf_impl_pmds)), 0);
	EQUAL(after.cf_thread_gid, 5);
	for (unsigned int bit = 0; bit < 32; bit++) {
		cfg.cf_flags = 1U << bit;
		REFUSED(EINVAL, perfmonctl(0, PFM_SET_CONFIG, &cfg, 1));
	}
	DOES(perfmonctl(0, PFM_SET_CONFIG, &before, 1));
	DOES(pfm_sim_act(sim, (uint32_t)tid));
	REFUSED(EPERM, perfmonctl(0, PFM_SET_CONFIG, &before, 1));
	DOES(perfmonctl(0, PFM_GET_CONFIG, &after, 1));
	DOES(pfm_sim_act(sim, 0));
}

static void get_config(void)
{
	pfarg_config_t cfg;

	memset(&cfg, 0xff, sizeof(cfg));
	one_config(PFM_GET_CONFIG, &cfg);
	EQUAL(PFM_VERSION_MAJOR(cfg.cf_version), 2);
	EQUAL(PFM_VERSION_MINOR(cfg.cf_version), 82);
	EQUAL(cfg.cf_flags, 0);
	EQUAL(cfg.cf_impl_pmcs[0], 0xfff0);
	EQUAL(cfg.cf_impl_pmcs[4], 0xffff);
	EQUAL(cfg.cf_impl_pmds[0], 0x3ffff);
	EQUAL(cfg.cf_sys_gid, PFM_GROUP_ANY);
	EQUAL(cfg.cf_thread_gid, PFM_GROUP_ANY);
	EQUAL(cfg.cf_arg_size_max, 4096);
	EQUAL(cfg.cf_smpl_buf_size_max, ~(size_t)0);
	EQUAL(cfg.cf_counter_width, 47);
}

/* -------------------------------------------------------------------------------------------- */

static const struct part sections[] = {
	{ "3.1.1", create_context }, { "3.1.2", write_pmcs }, { "3.1.3", write_pmds },
	{ "3.1.4", read_pmds }, { "3.1.5", start }, { "3.1.6", stop }, { "3.1.7", load_context },
	{ "3.1.8", unload_context }, { "3.1.9", restart }, { "3.1.10", create_evtsets },
	{ "3.1.11", delete_evtsets }, { "3.1.12", getinfo_evtsets }, { "3.1.13", getinfo_pmcs },
	{ "3.1.14", getinfo_pmds }, { "3.1.16", set_config }, { "3.1.17", get_config },
	{ NULL, NULL }
};

int main(int argc, char **argv)
{
	int status;

	DOES(pfm_set_machine("sim:itanium2", "cpus=2"));
	sim = pfm_sim_get();
	status = run_part(sections, argc, argv);
	pfm_sim_put(sim);
	return status;
}
