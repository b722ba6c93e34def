// SPDX-License-Identifier: MIT
/*
 * formats_calls.c - sampling formats on the kernel's side (3.5.7 - 3.5.15):
 *
 *   formats [CASE]
 *
 * runs a case; without one, prints the names of all.
 */
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "formats.h"

struct recorder rec;
static struct pfm_sim *sim;

/* --- the recording format --------------------------------------------------------------------- */

static void called(char what)
{
	size_t n = strlen(rec.calls);

	if (n < MAX_CALLS)
		rec.calls[n] = what;
}

static void seen(uint32_t ctx_flags, const void *arg)
{
	rec.ctx_flags = ctx_flags;
	memset(&rec.arg, 0, sizeof(rec.arg));
	if (arg)
		memcpy(&rec.arg, arg, sizeof(rec.arg));
}

static int validate(uint32_t ctx_flags, uint16_t num_pmds, void *arg)
{
	called('v');
	seen(ctx_flags, arg);
	rec.num_pmds = num_pmds;
	return rec.validate_err;
}

static int getsize(uint32_t ctx_flags, void *arg, size_t *size)
{
	called('g');
	seen(ctx_flags, arg);
	*size = rec.size < 0 ? rec.arg.size : (size_t)rec.size;
	return rec.getsize_err;
}

static int init(uint32_t ctx_flags, void *arg, void *buf)
{
	called('i');
	seen(ctx_flags, arg);
	rec.buf = buf;
	if (buf)
		memset(buf, 0xab, 16);
	return rec.init_err;
}

static int handler(void *buf, pfm_ovfl_arg_t *arg, uint64_t tstamp, void *data)
{
	struct handled *h = &rec.handled[rec.num_handled % MAX_CALLS];
	const pfm_ovfl_ctrl_t *own = &rec.by_pmd[arg->ovfl_pmd & 7];

	called('h');
	*h = (struct handled){ tstamp, buf, *arg, *(struct pfm_where *)data };
	rec.num_handled++;
	rec.buf = buf;
	arg->ovfl_ctrl.notify_user = rec.ctrl.notify_user | own->notify_user;
	arg->ovfl_ctrl.reset_ovfl_pmds = rec.ctrl.reset_ovfl_pmds | own->reset_ovfl_pmds;
	arg->ovfl_ctrl.block_thread = rec.ctrl.block_thread | own->block_thread;
	arg->ovfl_ctrl.mask_monitoring = rec.ctrl.mask_monitoring | own->mask_monitoring;
	return rec.handler_err_pmd == arg->ovfl_pmd ? EIO : 0;
}

static int restart(void *buf, int is_active, pfm_ovfl_ctrl_t *ctrl)
{
	called('r');
	rec.buf = buf;
	rec.is_active = is_active;
	TRUE(!ctrl->notify_user && !ctrl->reset_ovfl_pmds && !ctrl->block_thread && !ctrl->mask_monitoring);
	*ctrl = rec.restart_ctrl;
	return rec.restart_err;
}

static int last(void *buf)
{
	called('x');
	rec.buf = buf;
	if (buf)
		rec.buf_at_exit = *(unsigned char *)buf;
	return rec.exit_err;
}

pfm_buffer_fmt_t recorder;
static const pfm_buffer_fmt_t recorder_as_new = {
	.fmt_name = "recorder",
	.fmt_uuid = { 0x24, 0xaa, 0xb4, 0xdd, 0x21, 0x44, 0x4c, 0x1f, 0x90, 0xc0, 0x62, 0xc2, 0xe1, 0x7d, 0x37,
		      0x44 },
	.fmt_validate = validate,
	.fmt_getsize = getsize,
	.fmt_init = init,
	.fmt_handler = handler,
	.fmt_restart = restart,
	.fmt_exit = last,
};

/* --- the computer ----------------------------------------------------------------------------- */

void begin(const char *options)
{
	TRUE(!pfm_set_machine("sim:itanium2", options));
	sim = pfm_sim_get();
	memset(&rec, 0, sizeof(rec));
	rec.handler_err_pmd = -1;
	recorder = recorder_as_new;
}

int recorded(uint32_t ctx_flags)
{
	pfarg_ctx_t ctx = { .ctx_flags = ctx_flags };
	int fd;

	EQUAL(pfm_register_buffer_fmt(&recorder), 0);
	fd = pfm_create_context_name(&ctx, "recorder", NULL, 0);
	CHECK(fd >= 0, "cannot create a context: %s", pfm_explain());
	return fd;
}

int create_errno(uint32_t ctx_flags, struct recorder_arg *arg)
{
	pfarg_ctx_t ctx = { .ctx_flags = ctx_flags };

	TRUE(pfm_create_context_name(&ctx, "recorder", arg, arg ? sizeof(*arg) : 0) == -1);
	return errno;
}

void act(uint32_t tid)
{
	TRUE(!pfm_sim_act(sim, tid));
}

uint32_t program(const struct pfm_sim_step *steps, uint32_t n)
{
	struct pfm_sim_spawn spawn = { .program = { steps, n }, .uid = 1000, .gid = 1000 };
	int tid = pfm_sim_spawn(sim, &spawn);

	CHECK(tid > 0, "%s", pfm_explain());
	return (uint32_t)tid;
}

uint32_t thread(uint64_t n)
{
	struct pfm_sim_step steps[] = {
		{ .op = PFM_SIM_LOOP, .count = n },
		{ .op = PFM_SIM_SITE, .level = PFM_SIM_USER, .ns = 10, .ip = 0x1000 },
		{ .op = PFM_SIM_END },
	};

	return program(steps, COUNT(steps));
}

void counter(int fd, uint16_t set, uint16_t num, int64_t value, const pfarg_pmd_t *more)
{
	pfarg_pmd_t pmd = more ? *more : (pfarg_pmd_t){ 0 };
	pfarg_pmc_t pmc = { .reg_num = num, .reg_set = set };

	TRUE(!pfm_sim_encode(sim, "instructions", 1 << PFM_SIM_USER, num, &pmc.reg_value));
	pmd.reg_num = num;
	pmd.reg_set = set;
	pmd.reg_value = (uint64_t)value;
	TRUE(!pfm_write_pmcs(fd, &pmc, 1));
	CHECK(!pfm_write_pmds(fd, &pmd, 1), "%s", pfm_explain());
}

void load_and_start(int fd, uint32_t tid)
{
	pfarg_load_t load = { .load_pid = tid };

	CHECK(!pfm_load_context(fd, &load), "%s", pfm_explain());
	TRUE(!pfm_start(fd, NULL));
}

void run(uint64_t ns)
{
	EQUAL(pfm_sim_run_ns(sim, ns), 1);
}

uint64_t value_of(int fd, uint16_t set, uint16_t num)
{
	pfarg_pmd_t pmd = { .reg_num = num, .reg_set = set };

	TRUE(!pfm_read_pmds(fd, &pmd, 1));
	return pmd.reg_value;
}

bool message(int fd, pfarg_msg_t *msg)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	if (poll(&p, 1, 0) != 1)
		return false;
	EQUAL(read(fd, msg, sizeof(*msg)), sizeof(*msg));
	return true;
}

enum pfm_sim_state state_of(uint32_t tid)
{
	struct pfm_sim_thread threads[16];
	int n = pfm_sim_threads(sim, threads, COUNT(threads));

	for (int i = 0; i < n; i++)
		if (threads[i].tid == tid)
			return threads[i].state;
	fail("no thread %u", tid);
}

void end(int fd)
{
	pfarg_config_t cfg;

	if (fd >= 0)
		close(fd);
	run(0);		/* destroys closed contexts */
	TRUE(!pfm_get_config(&cfg));
	EQUAL(cfg.cf_thread_sessions + cfg.cf_sys_sessions, 0);
	EQUAL(cfg.cf_smpl_buf_size_cur, 0);
	EQUAL(recorder.users, 0);
	pfm_unregister_buffer_fmt(recorder.fmt_uuid);
	pfm_sim_put(sim);
}

/* --- choosing --------------------------------------------------------------------------------- */

static const struct format_case *const all[] = { life_cases, overflow_cases, restart_cases };
static const char *current;

static const char *where(void)
{
	return current;
}

int main(int argc, char **argv)
{
	bool found = argc < 2;

	fail_where = where;
	for (size_t i = 0; i < COUNT(all); i++) {
		for (const struct format_case *c = all[i]; c->name; c++) {
			if (argc < 2) {
				puts(c->name);
			} else if (!strcmp(c->name, argv[1])) {
				current = c->name;
				found = true;
				c->run();
			}
		}
	}
	return found ? 0 : 2;
}
