/* SPDX-License-Identifier: MIT */
/* perfmonctl.c - the single call of specification 0.6, chapter 3. */
/***
@submodule lpfm
*/
#include <errno.h>
#include <string.h>

#include "base/args.h"
#include "base/describe.h"
#include "base/field.h"
#include "base/flags.h"
#include "base/object.h"
#include "base/result.h"
#include "context/context.h"
#include "context/create.h"
#include "context/programming.h"
#define PFM06_INTERNAL
#include "perfmon/perfmonctl.h"

/* --- the structures ------------------------------------------------------------------------- */

_Static_assert(sizeof(size_t) == sizeof(uint64_t), "a size is a number of 64 bits");

static const struct lpfm_flag pmc_flags[] = {
	{ "PFM_REGFL_OVFL_NOTIFY", "OVFL_NOTIFY", PFM_REGFL_OVFL_NOTIFY },
	{ "PFM_REGFL_RANDOM", "RANDOM", PFM_REGFL_RANDOM },
	{ "PFM_REGFL_NO_64BIT_EMUL", "NO_64BIT_EMUL", PFM_REGFL_NO_64BIT_EMUL },
	{ NULL, NULL, 0 }
};

static MARKED_STRUCT(pmc_struct, struct pfm06_pmc, reg_flags, false,
	FIELD(struct pfm06_pmc, reg_num, "num", U16, NEED, NULL, 0),
	FIELD(struct pfm06_pmc, reg_set, "set", U16, INOUT, NULL, 0),
	FIELD(struct pfm06_pmc, reg_flags, "flags", FLAGS, INOUT, pmc_flags, 0),
	FIELD(struct pfm06_pmc, reg_value, "value", U64, INOUT, NULL, 0),
	FIELD(struct pfm06_pmc, reg_reset_pmds, "reset_pmds", BITS, INOUT, NULL, 0),
	FIELD(struct pfm06_pmc, reg_smpl_pmds, "smpl_pmds", BITS, INOUT, NULL, 0),
	FIELD(struct pfm06_pmc, reg_smpl_eventid, "smpl_eventid", U64, INOUT, NULL, 0));

static MARKED_STRUCT(pmd_struct, struct pfm06_pmd, reg_flags, true,
	FIELD(struct pfm06_pmd, reg_num, "num", U16, NEED, NULL, 0),
	FIELD(struct pfm06_pmd, reg_set, "set", U16, INOUT, NULL, 0),
	FIELD(struct pfm06_pmd, reg_flags, "flags", FLAGS, INOUT, lpfm_pmd_flags, 0),
	FIELD(struct pfm06_pmd, reg_value, "value", U64, INOUT, NULL, 0),
	FIELD(struct pfm06_pmd, reg_long_reset, "long_reset", U64, INOUT, NULL, 0),
	FIELD(struct pfm06_pmd, reg_short_reset, "short_reset", U64, INOUT, NULL, 0),
	FIELD(struct pfm06_pmd, reg_last_reset_val, "last_reset_val", U64, OUT, NULL, 0),
	FIELD(struct pfm06_pmd, reg_ovflsw_thres, "ovflsw_thres", NAT, INOUT, NULL, 0),
	FIELD(struct pfm06_pmd, reg_random_mask, "random_mask", NAT, INOUT, NULL, 0),
	FIELD(struct pfm06_pmd, reg_random_seed, "random_seed", U32, INOUT, NULL, 0));

static STRUCT(start_struct, struct pfm06_start, true,
	FIELD(struct pfm06_start, start_set, "set", U16, INOUT, NULL, 0));

static STRUCT(load_struct, struct pfm06_load, true,
	FIELD(struct pfm06_load, load_pid, "pid", U32, NEED, NULL, 0),
	FIELD(struct pfm06_load, load_set, "set", U16, INOUT, NULL, 0));

static MARKED_STRUCT(setdesc_struct, struct pfm06_setdesc, set_flags, true,
	FIELD(struct pfm06_setdesc, set_id, "id", U16, NEED, NULL, 0),
	FIELD(struct pfm06_setdesc, set_id_next, "id_next", U16, INOUT, NULL, 0),
	FIELD(struct pfm06_setdesc, set_flags, "flags", FLAGS, INOUT, lpfm_set_flags, 0),
	FIELD(struct pfm06_setdesc, set_timeout, "timeout", TIME, INOUT, NULL, 0));

static MARKED_STRUCT(setinfo_struct, struct pfm06_setinfo, set_flags, true,
	FIELD(struct pfm06_setinfo, set_id, "id", U16, NEED, NULL, 0),
	FIELD(struct pfm06_setinfo, set_id_next, "id_next", U16, OUT, NULL, 0),
	FIELD(struct pfm06_setinfo, set_flags, "flags", FLAGS, OUT, lpfm_set_flags, 0),
	FIELD(struct pfm06_setinfo, set_switch_pmds, "switch_pmds", BITS, OUT, NULL, 0),
	FIELD(struct pfm06_setinfo, set_runs, "runs", NAT, OUT, NULL, 0),
	FIELD(struct pfm06_setinfo, set_timeout, "timeout", TIME, OUT, NULL, 0),
	FIELD(struct pfm06_setinfo, set_act_duration, "act_duration", TIME, OUT, NULL, 0));

static MARKED_STRUCT(reginfo_struct, struct pfm06_reginfo, reg_flags, true,
	FIELD(struct pfm06_reginfo, reg_num, "num", U16, NEED, NULL, 0),
	FIELD(struct pfm06_reginfo, reg_type, "type", TYPE, OUT, lpfm_reg_types, 0),
	FIELD(struct pfm06_reginfo, reg_flags, "flags", FLAGS, OUT, lpfm_pmd_flags, 0),
	FIELD(struct pfm06_reginfo, reg_def_value, "def_value", U64, OUT, NULL, 0),
	FIELD(struct pfm06_reginfo, reg_rsvd_mask, "rsvd_mask", U64, OUT, NULL, 0),
	FIELD(struct pfm06_reginfo, reg_index, "index", NAT, OUT, NULL, PFM_REG_IDX_NONE));

static STRUCT(config_struct, struct pfm06_config, false,
	FIELD(struct pfm06_config, cf_version, "version", U32, OUT, NULL, 0),
	FIELD(struct pfm06_config, cf_flags, "flags", U32, INOUT, NULL, 0),
	FIELD(struct pfm06_config, cf_impl_pmcs, "impl_pmcs", BITS, OUT, NULL, 0),
	FIELD(struct pfm06_config, cf_impl_pmds, "impl_pmds", BITS, OUT, NULL, 0),
	FIELD(struct pfm06_config, cf_sys_gid, "sys_gid", GROUP, INOUT, NULL, 0),
	FIELD(struct pfm06_config, cf_thread_gid, "thread_gid", GROUP, INOUT, NULL, 0),
	FIELD(struct pfm06_config, cf_arg_size_max, "arg_size_max", NAT, INOUT, NULL, 0),
	FIELD(struct pfm06_config, cf_smpl_buf_size_max, "smpl_buf_size_max", NAT, INOUT, NULL, 0),
	FIELD(struct pfm06_config, cf_counter_width, "counter_width", U16, OUT, NULL, 0));

/* --- what the calls did to a context ---------------------------------------------------------- */

/*
 * Finds the counting PMDs that a PMC controls, and returns how many there are. In 0.6 their flags
 * and bit-vectors are written with the PMC.
 */
static int controlled(uint16_t pmc, uint16_t *pmds)
{
	pfarg_config_t cfg = { 0 };
	int n = 0;

	if (pfm_get_config(&cfg))
		return 0;
	for (unsigned int num = 0; num < PFM_MAX_PMDS; num++) {
		pfarg_pmdinfo_t info = { .reg_num = (uint16_t)num };

		if (cfg.cf_impl_pmds[num / 64] >> (num % 64) & 1 && !pfm_getinfo_pmds(&info, 1) &&
		    info.reg_ctrl == pmc && info.reg_kind & PFM_REG_C64)
			pmds[n++] = (uint16_t)num;
	}
	return n;
}

static bool prepare_pmcs(struct lpfm_context *ctx, const void *v, int n)
{
	const struct pfm06_pmc *pmcs = v;
	uint16_t pmds[PFM_MAX_PMDS];
	size_t all = 0;

	for (int i = 0; i < n; i++)
		all += (size_t)controlled(pmcs[i].reg_num, pmds);
	return lpfm_table_reserve(&ctx->programming.pmds, all) && lpfm_table_reserve(&ctx->programming.pmcs, (size_t)n);
}

static void note_pmc(struct lpfm_context *ctx, const struct pfm06_pmc *req)
{
	pfarg_pmc_t pmc = { .reg_num = req->reg_num, .reg_set = req->reg_set, .reg_value = req->reg_value,
			    .reg_flags = req->reg_flags & PFM_REGFL_NO_64BIT_EMUL };
	pfarg_pmd_t pmd = { .reg_set = req->reg_set, .reg_smpl_eventid = req->reg_smpl_eventid,
			    .reg_flags = (req->reg_flags & ~pmc.reg_flags) | PFM_REGFL_ATTRS };
	uint16_t pmds[PFM_MAX_PMDS];

	lpfm_programming_pmcs(&ctx->programming, &pmc, 1);
	memcpy(pmd.reg_reset_pmds, req->reg_reset_pmds, sizeof(pmd.reg_reset_pmds));
	memcpy(pmd.reg_smpl_pmds, req->reg_smpl_pmds, sizeof(pmd.reg_smpl_pmds));
	for (int j = controlled(req->reg_num, pmds); j > 0; j--) {
		pmd.reg_num = pmds[j - 1];
		lpfm_programming_pmds(&ctx->programming, &pmd, 1);
	}
}

static void note_pmcs(struct lpfm_context *ctx, const void *v, int n)
{
	for (int i = 0; i < n; i++)
		note_pmc(ctx, (const struct pfm06_pmc *)v + i);
}

static bool prepare_pmds(struct lpfm_context *ctx, const void *v, int n)
{
	(void)v;
	return lpfm_table_reserve(&ctx->programming.pmds, (size_t)n);
}

static void note_pmds(struct lpfm_context *ctx, const void *v, int n)
{
	const struct pfm06_pmd *pmds = v;

	for (int i = 0; i < n; i++) {
		pfarg_pmd_t pmd = {
			.reg_num = pmds[i].reg_num, .reg_set = pmds[i].reg_set, .reg_flags = PFM_REGFL_VALUES,
			.reg_value = pmds[i].reg_value, .reg_long_reset = pmds[i].reg_long_reset,
			.reg_short_reset = pmds[i].reg_short_reset,
			.reg_ovfl_switch_cnt = pmds[i].reg_ovflsw_thres,
			.reg_random_mask = pmds[i].reg_random_mask, .reg_random_seed = pmds[i].reg_random_seed,
		};

		lpfm_programming_pmds(&ctx->programming, &pmd, 1);
	}
}

static bool prepare_sets(struct lpfm_context *ctx, const void *v, int n)
{
	(void)v;
	return lpfm_table_reserve(&ctx->programming.sets, (size_t)n);
}

static void note_sets(struct lpfm_context *ctx, const void *v, int n)
{
	const struct pfm06_setdesc *sets = v;

	for (int i = 0; i < n; i++) {
		const struct timespec *timeout = &sets[i].set_timeout;
		pfarg_setdesc_t set = {
			.set_id = sets[i].set_id, .set_id_next = sets[i].set_id_next,
			.set_flags = sets[i].set_flags,
			.set_timeout = (uint64_t)timeout->tv_sec * 1000000000U + (uint64_t)timeout->tv_nsec,
		};

		lpfm_programming_sets(&ctx->programming, &set, 1);
	}
}

static void note_deleted(struct lpfm_context *ctx, const void *v, int n)
{
	const struct pfm06_setdesc *sets = v;

	for (int i = 0; i < n; i++)
		lpfm_programming_drop_set(&ctx->programming, sets[i].set_id);
}

static void note_load(struct lpfm_context *ctx, const void *v, int n)
{
	const struct pfm06_load *load = v;

	(void)n;
	lpfm_programming_load(&ctx->programming, true, load->load_pid, load->load_set);
}

static void note_start(struct lpfm_context *ctx, const void *v, int n)
{
	(void)v, (void)n;
	ctx->programming.running = true;
}

static void note_stop(struct lpfm_context *ctx, const void *v, int n)
{
	(void)v, (void)n;
	ctx->programming.running = false;
}

static void note_unload(struct lpfm_context *ctx, const void *v, int n)
{
	(void)v, (void)n;
	ctx->programming.loaded = ctx->programming.running = false;
}

static void note_restart(struct lpfm_context *ctx, const void *v, int n)
{
	(void)v, (void)n;
	ctx->epoch++;
}

/* --- the commands: table 3.1 ---------------------------------------------------------------- */

enum takes { NOTHING, VECTOR, ONE, ONE_OR_NOTHING, CONFIG, CONTEXT };

struct command {
	const char		*name;
	int			number;
	enum takes		takes;
	bool			no_context;
	/* the command returns its structures; otherwise it returns true */
	bool			returns;
	const struct lpfm_struct *rec;
	bool			(*prepare)(struct lpfm_context *ctx, const void *v, int n);
	void			(*note)(struct lpfm_context *ctx, const void *v, int n);
};

#define COMMAND(name, ...) { #name, PFM_##name, __VA_ARGS__ }

static const struct command commands[] = {
	COMMAND(WRITE_PMCS, VECTOR, false, false, &pmc_struct, prepare_pmcs, note_pmcs),
	COMMAND(WRITE_PMDS, VECTOR, false, false, &pmd_struct, prepare_pmds, note_pmds),
	COMMAND(READ_PMDS, VECTOR, false, true, &pmd_struct, NULL, NULL),
	COMMAND(STOP, NOTHING, false, false, NULL, NULL, note_stop),
	COMMAND(START, ONE_OR_NOTHING, false, false, &start_struct, NULL, note_start),
	COMMAND(CREATE_CONTEXT, CONTEXT, true, true, NULL, NULL, NULL),
	COMMAND(RESTART, NOTHING, false, false, NULL, NULL, note_restart),
	COMMAND(LOAD_CONTEXT, ONE, false, false, &load_struct, NULL, note_load),
	COMMAND(UNLOAD_CONTEXT, NOTHING, false, false, NULL, NULL, note_unload),
	COMMAND(CREATE_EVTSETS, VECTOR, false, true, &setdesc_struct, prepare_sets, note_sets),
	COMMAND(DELETE_EVTSETS, VECTOR, false, false, &setdesc_struct, NULL, note_deleted),
	COMMAND(GETINFO_EVTSETS, VECTOR, false, true, &setinfo_struct, NULL, NULL),
	COMMAND(GETINFO_PMCS, VECTOR, true, true, &reginfo_struct, NULL, NULL),
	COMMAND(GETINFO_PMDS, VECTOR, true, true, &reginfo_struct, NULL, NULL),
	COMMAND(SET_CONFIG, CONFIG, true, false, &config_struct, NULL, NULL),
	COMMAND(GET_CONFIG, NOTHING, true, true, &config_struct, NULL, NULL),
};

static const struct command *find_command(const char *name)
{
	name += strncmp(name, "PFM_", 4) ? 0 : 4;
	for (size_t i = 0; i < LPFM_COUNT(commands); i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

static const struct command *command_at(lua_State *L, int idx)
{
	struct lpfm_site site = { .call = "perfmonctl", .arg = "command" };
	const struct command *c = NULL;

	if (lua_type(L, idx) == LUA_TSTRING)
		c = find_command(lpfm_to_string(L, idx, &site));
	else if (lua_type(L, idx) == LUA_TNUMBER)
		for (size_t i = 0; i < LPFM_COUNT(commands) && !c; i++)
			c = commands[i].number == lua_tonumber(L, idx) ? &commands[i] : NULL;
	if (!c)
		lpfm_bad_value(L, &site, "a command as \"PFM_WRITE_PMCS\"", idx);
	return c;
}

/* --- contexts: 3.1.1, 3.5.3 ----------------------------------------------------------------- */

/* Finds a format's UUID and the size of its argument, by name or by the UUID in info. */
static bool find_format(const char *name, pfarg_fmtinfo_t *info)
{
	pfarg_fmtinfo_t all[64];
	int n = pfm_getinfo_fmts(all, LPFM_COUNT(all));

	for (int i = 0; i < n && i < (int)LPFM_COUNT(all); i++) {
		if (name ? strcmp(all[i].fmt_name, name) :
			   memcmp(all[i].fmt_uuid, info->fmt_uuid, sizeof(info->fmt_uuid)))
			continue;
		*info = all[i];
		return true;
	}
	return false;
}

/*
 * Creates a context by perfmonctl(): the UUID names the format, and the format's argument follows
 * the structure. A request that perfmonctl() cannot express (an unknown format, an argument of the
 * wrong size) goes to the function that lpfm.create calls, which refuses it.
 */
static int create(pfarg_ctx_t *ctx, const char *fmt_name, void *arg, size_t size)
{
	struct {
		struct pfm06_ctx	ctx;
		unsigned char		arg[256];
	} req = { .ctx.ctx_flags = ctx->ctx_flags };
	pfarg_fmtinfo_t fmt = { 0 };
	bool found;

	memcpy(fmt.fmt_uuid, ctx->ctx_smpl_buf_id, sizeof(fmt.fmt_uuid));
	found = find_format(fmt_name, &fmt);
	if (fmt_name && !found)
		return pfm_create_context_name(ctx, fmt_name, arg, size);
	if (size > sizeof(req.arg) || size != fmt.fmt_arg_size) {
		memcpy(ctx->ctx_smpl_buf_id, fmt.fmt_uuid, sizeof(fmt.fmt_uuid));
		return pfm_create_context_uuid(ctx, arg, size);
	}
	memcpy(req.ctx.ctx_smpl_buf_id, fmt.fmt_uuid, sizeof(fmt.fmt_uuid));
	if (size)
		memcpy(req.arg, arg, size);
	if (perfmonctl(0, PFM_CREATE_CONTEXT, &req, 1))
		return -1;
	ctx->ctx_smpl_buf_size = req.ctx.ctx_smpl_buf_size;
	return req.ctx.ctx_fd;
}

/* --- lpfm.perfmonctl ------------------------------------------------------------------------ */

/* Reads the structures of the argument at 3, and counts them. */
static void *read_argument(lua_State *L, const struct command *c, const char *call, int *n)
{
	struct lpfm_site site = { .call = call };
	void *base;

	if (c->takes == VECTOR)
		return lpfm_list_read(L, 3, c->rec, call, n);
	*n = c->rec ? 1 : 0;
	if (!c->rec || (c->takes == ONE_OR_NOTHING && lua_isnoneornil(L, 3))) {
		*n = 0;
		return NULL;
	}
	base = memset(lua_newuserdata(L, c->rec->size), 0, c->rec->size);
	if (c->takes == CONFIG && perfmonctl(0, PFM_GET_CONFIG, base, 1))
		return base;	/* PFM_SET_CONFIG will fail as well */
	if (c->takes != NOTHING)
		lpfm_struct_read(L, 3, c->rec, base, &site);
	return base;
}

static int push_result(lua_State *L, const struct command *c, const void *base, int n)
{
	if (!c->returns)
		lua_pushboolean(L, 1);
	else if (c->takes == VECTOR)
		lpfm_list_push(L, c->rec, base, n);
	else
		lpfm_struct_push(L, c->rec, base);
	return 1;
}

static int run(lua_State *L, const struct command *c, struct lpfm_context *ctx, int fd)
{
	const char *call = lua_pushfstring(L, "perfmonctl: PFM_%s", c->name);
	int n, ret, err;
	void *v = read_argument(L, c, call, &n);

	if (ctx && c->prepare && !c->prepare(ctx, v, n))
		return lpfm_fail_errno(L, ENOMEM, "%s: not enough memory", call);
	ret = perfmonctl(fd, c->number, v, n);
	err = errno;
	if (ctx && c->note && (!ret || c->takes == VECTOR))
		c->note(ctx, v, lpfm_list_done(c->rec, v, n, ret));
	errno = err;
	if (!ret)
		return push_result(L, c, v, n);
	return c->takes == VECTOR ? lpfm_fail_vector(L, call, c->rec, v, n) : lpfm_fail(L, call);
}

/***
Carries out one of the sixteen commands of the single call of specification 0.6, chapter 3. Fields
have the names of its structures without their prefix, as everywhere; times are in ns. In 0.6 flags
(OVFL_NOTIFY, RANDOM), reset_pmds, smpl_pmds and smpl_eventid belong to the PMC that controls a PMD.

- PFM_CREATE_CONTEXT takes the table of `lpfm.create` and returns a context
- PFM_WRITE_PMCS takes a list of {num=, value=, set=, flags=, reset_pmds=, smpl_pmds=,
  smpl_eventid=}
- PFM_WRITE_PMDS takes a list of {num=, value=, set=, long_reset=, short_reset=, ovflsw_thres=,
  random_mask=, random_seed=}
- PFM_READ_PMDS takes a list of numbers or {num=, set=}, and returns the fields of PFM_WRITE_PMDS
  and last_reset_val
- PFM_LOAD_CONTEXT takes {pid=, set=}; PFM_START takes {set=} or nothing; PFM_STOP, PFM_RESTART and
  PFM_UNLOAD_CONTEXT take nothing
- PFM_CREATE_EVTSETS takes a list of {id=, id_next=, flags=, timeout=}, and returns it with the
  effective timeouts; PFM_DELETE_EVTSETS takes a list of ids
- PFM_GETINFO_EVTSETS takes a list of ids and returns {id=, id_next=, flags=, switch_pmds=, runs=,
  timeout=, act_duration=}
- PFM_GETINFO_PMCS, PFM_GETINFO_PMDS take a list of numbers and return
  {num=, type=, flags=, def_value=, rsvd_mask=, index=}
- PFM_GET_CONFIG returns {version=, flags=, impl_pmcs=, impl_pmds=, sys_gid=, thread_gid=,
  arg_size_max=, smpl_buf_size_max=, counter_width=}; PFM_SET_CONFIG takes those that change
@function lpfm.perfmonctl
@param context a context or a descriptor; nil for commands that need none
@param command its name, with PFM_ or without, or its number
@param[opt] argument as above, by command
@return[1] result, true where there is none
@return[2] nil
@treturn[2] string message, which names the first bad element
@treturn[2] int errno
@raise on wrong types and unknown fields
@usage
local lpfm = require "lpfm"
local ctx = assert(lpfm.perfmonctl(nil, "PFM_CREATE_CONTEXT"))
assert(lpfm.perfmonctl(ctx, "PFM_WRITE_PMCS", { { num = 66, value = 9 } }))
assert(lpfm.perfmonctl(ctx, "PFM_WRITE_PMDS", { { num = 66, value = 5 } }))
assert(lpfm.perfmonctl(ctx, "PFM_READ_PMDS", { 66 })[1].value == 5)
ctx:close()
*/
static int call_perfmonctl(lua_State *L)
{
	const struct command *c = command_at(L, 2);
	struct lpfm_site site = { .call = "perfmonctl", .arg = "context" };
	struct lpfm_context *ctx = NULL;
	int fd = -1;

	lua_settop(L, 3);
	if (lpfm_context_test(L, 1))
		ctx = lpfm_context_open(L, 1);
	else if (!lua_isnil(L, 1) || !c->no_context)
		fd = (int)lpfm_to_int(L, 1, &site, -1, INT32_MAX);
	if (c->takes == NOTHING && !lua_isnil(L, 3))
		return luaL_error(L, "perfmonctl: PFM_%s takes no argument", c->name);
	if (c->takes == CONTEXT)
		return lpfm_create_with(L, 3, "perfmonctl: PFM_CREATE_CONTEXT", create);
	return run(L, c, ctx, ctx ? ctx->fd : fd);
}

/* Adds the numbers of the commands to lpfm.const. */
void lpfm_open_perfmonctl(lua_State *L)
{
	lua_getfield(L, -1, "const");
	for (size_t i = 0; i < LPFM_COUNT(commands); i++) {
		lua_pushfstring(L, "PFM_%s", commands[i].name);
		lua_pushinteger(L, commands[i].number);
		lua_rawset(L, -3);
	}
	lua_pop(L, 1);
	lpfm_set_function(L, "perfmonctl", call_perfmonctl);
}
