/* SPDX-License-Identifier: MIT */
/*
 * flags.c - the interface's constants by name.
 *
 * Each constant is in a table once. The tables are used for flags given by name, for flags returned
 * as names, and for lpfm.const.
 */
/***
@submodule lpfm
*/
#include <errno.h>
#include <string.h>

#include "base/args.h"
#include "base/field.h"
#include "base/flags.h"
#include "base/perfmon.h"
#include "perfmon/perfmon_nway_smpl.h"
#include "perfmon/perfmon_prog_smpl.h"
#include "perfmon/perfmon_stack_smpl.h"

#define FLAG(prefix, name)	{ #prefix #name, #name, prefix##name }
#define END			{ NULL, NULL, 0 }

const struct lpfm_flag lpfm_ctx_flags[] = {
	FLAG(PFM_FL_, NOTIFY_BLOCK), FLAG(PFM_FL_, SYSTEM_WIDE), FLAG(PFM_FL_, SMPL_FMT),
	FLAG(PFM_FL_, ANY_CPU), FLAG(PFM_FL_, MAP_SETS), FLAG(PFM_FL_, INHERIT),
	FLAG(PFM_FL_, PREEMPTIBLE), FLAG(PFM_FL_, OVFL_NO_MSG), FLAG(PFM_FL_, PROCESS),
	FLAG(PFM_FL_, ON_EXEC), FLAG(PFM_ITA_FL_, INSECURE), FLAG(PFM_ITA_FL_, PRIV_MONITORS), END
};

const struct lpfm_flag lpfm_pmc_flags[] = {
	FLAG(PFM_REGFL_, NO_EMUL64), FLAG(PFM_REGFL_, NO_64BIT_EMUL), END
};

const struct lpfm_flag lpfm_pmd_flags[] = {
	FLAG(PFM_REGFL_, OVFL_NOTIFY), FLAG(PFM_REGFL_, RANDOM), FLAG(PFM_REGFL_, READ_RESET),
	FLAG(PFM_REGFL_, OWN), FLAG(PFM_REGFL_, ENDED), FLAG(PFM_REGFL_, FREQUENCY),
	FLAG(PFM_REGFL_, VALUES), FLAG(PFM_REGFL_, ATTRS), FLAG(PFM_REGFL_, CHECK), END
};

const struct lpfm_flag lpfm_set_flags[] = {
	FLAG(PFM_SETFL_, OVFL_SWITCH), FLAG(PFM_SETFL_, TIME_SWITCH), FLAG(PFM_SETFL_, EXPL_NEXT),
	FLAG(PFM_SETFL_, EXCL_IDLE), FLAG(PFM_SETFL_, EXCL_KERNEL_ONLY_THREADS),
	FLAG(PFM_ITA_SETFL_, EXCL_INTR), FLAG(PFM_ITA_SETFL_, INTR_ONLY),
	FLAG(PFM_ITA_SETFL_, IDLE_EXCL), END
};

const struct lpfm_flag lpfm_msg_types[] = {
	FLAG(PFM_MSG_, OVFL), FLAG(PFM_MSG_, END), FLAG(PFM_MSG_, PREEMPTED), END
};

const struct lpfm_flag lpfm_reg_types[] = {
	FLAG(PFM_REG_TYPE_, PMC), FLAG(PFM_REG_TYPE_, MSR), FLAG(PFM_REG_TYPE_, SPR),
	FLAG(PFM_REG_TYPE_, IBR), FLAG(PFM_REG_TYPE_, DBR), FLAG(PFM_REG_TYPE_, PMD),
	FLAG(PFM_REG_TYPE_, SW), FLAG(PFM_REG_TYPE_, VIRT), END
};

const struct lpfm_flag lpfm_reg_kinds[] = {
	FLAG(PFM_REG_, I), FLAG(PFM_REG_, WC), FLAG(PFM_REG_, C64), FLAG(PFM_REG_, RO),
	FLAG(PFM_REG_, V), FLAG(PFM_REG_, INTR), FLAG(PFM_REG_, NO64), END
};

const struct lpfm_flag lpfm_fmt_flags[] = {
	FLAG(PFM_FMTFL_, NOSET), END
};

const struct lpfm_flag lpfm_buf_flags[] = {
	FLAG(PFM_DFL_SMPL_, NO_HDR), FLAG(PFM_DFL_SMPL_, IIP_HDR), FLAG(PFM_NWAY_, MASK_WHEN_FULL),
	FLAG(PFM_STACK_SMPL_, NO_KERNEL), FLAG(PFM_STACK_SMPL_, NO_USER),
	FLAG(PFM_STACK_SMPL_, COPY), FLAG(PFM_STACK_SMPL_, RECORDS),
	FLAG(PFM_STACK_SMPL_, SWITCHES), END
};

/* Constants that are not flags of a call. */
static const struct lpfm_flag other_constants[] = {
	FLAG(PFM_, VERSION), FLAG(PFM_, VERSION_MAJ), FLAG(PFM_, VERSION_MIN), FLAG(PFM_, MAX_PMCS),
	FLAG(PFM_, MAX_PMDS), FLAG(PFM_, PMC_BV), FLAG(PFM_, PMD_BV), FLAG(PFM_, MAX_PMC_BITVECTOR),
	FLAG(PFM_, MAX_PMD_BITVECTOR),
	/* the flags for which the fields alone and whole_cpus of lpfm.perf_event() stand */
	FLAG(PFM_PERF_, ALONE), FLAG(PFM_PERF_, WHOLE_CPUS),
	/* marks of the first bad element of a vector; limits, versions, and verdicts of programs */
	FLAG(PFM_REG_RETFL_, NOTAVAIL), FLAG(PFM_REG_RETFL_, EINVAL), FLAG(PFM_REG_RETFL_, NOSET),
	FLAG(PFM_REG_RETFL_, MASK), FLAG(PFM_SET_RETFL_, EINVAL), FLAG(PFM_SET_RETFL_, NOSET),
	FLAG(PFM_SET_RETFL_, MASK), FLAG(PFM_REG_, NO_CTRL), FLAG(PFM_REG_, NAME_LEN),
	FLAG(PFM_, GROUP_ANY), FLAG(PFM_, FMT_NAME_LEN), FLAG(PFM_, DFL_SMPL_VERSION),
	FLAG(PFM_, DEFAULT_SMPL_VERSION), FLAG(PFM_, NWAY_SMPL_VERSION),
	FLAG(PFM_, NWAY_MAX_REGIONS), FLAG(PFM_, STACK_SMPL_VERSION),
	FLAG(PFM_, STACK_SMPL_MAX_REGIONS), FLAG(PFM_, PROG_SMPL_VERSION),
	FLAG(PFM_, PROG_SMPL_MAX_INSNS), FLAG(PFM_, PROG_SMPL_MAX_BUCKETS),
	FLAG(PFM_, PROG_SMPL_VALUES), FLAG(PFM_, PROG_DROP), FLAG(PFM_, PROG_KEEP),
	FLAG(PFM_, PROG_NOTIFY), FLAG(PFM_, PROG_MASK), FLAG(PFM_, PROG_STOP),
	FLAG(PFM_, PROG_BLOCK), FLAG(PFM_, PROG_NO_BUCKET), END
};

static bool flag_value(const char *name, const struct lpfm_flag *flags, uint32_t *value)
{
	for (; flags->name; flags++)
		if (!strcmp(name, flags->name) || !strcmp(name, flags->constant)) {
			*value = flags->value;
			return true;
		}
	return false;
}

static int unknown_flag(lua_State *L, const struct lpfm_site *site, const char *name,
			const struct lpfm_flag *flags)
{
	luaL_Buffer text;

	luaL_buffinit(L, &text);
	for (; flags->name; flags++) {
		luaL_addstring(&text, flags->name);
		if (flags[1].name)
			luaL_addstring(&text, ", ");
	}
	luaL_pushresult(&text);
	return lpfm_bad(L, site, "unknown flag '%s' (known: %s)", name, lua_tostring(L, -1));
}

static uint32_t one_flag(lua_State *L, int idx, const struct lpfm_site *site,
			 const struct lpfm_flag *flags)
{
	uint32_t value = 0;

	if (lua_type(L, idx) == LUA_TNUMBER)
		return (uint32_t)lpfm_to_int(L, idx, site, 0, UINT32_MAX);
	if (lua_type(L, idx) != LUA_TSTRING)
		lpfm_bad_value(L, site, "name or number of a flag", idx);
	if (!flag_value(lpfm_to_string(L, idx, site), flags, &value))
		unknown_flag(L, site, lua_tostring(L, idx), flags);
	return value;
}

uint32_t lpfm_to_flags(lua_State *L, int idx, const struct lpfm_site *site,
		       const struct lpfm_flag *flags)
{
	uint32_t value = 0;
	size_t n;

	if (!lua_istable(L, idx))
		return one_flag(L, idx, site, flags);
	n = lua_objlen(L, idx);
	lua_pushnil(L);
	if (lua_next(L, idx)) {
		if (!n)
			lpfm_bad(L, site, "a list of flags is written {\"NAME\", ...}");
		lua_pop(L, 2);
	}
	for (size_t i = 1; i <= n; i++) {
		lua_rawgeti(L, idx, (int)i);
		value |= one_flag(L, lua_gettop(L), site, flags);
		lua_pop(L, 1);
	}
	return value;
}

void lpfm_push_flags(lua_State *L, uint32_t value, const struct lpfm_flag *flags)
{
	int n = 0;

	lua_newtable(L);
	for (; flags->name; flags++) {
		if (!(value & flags->value))
			continue;
		value &= ~flags->value;
		lua_pushstring(L, flags->name);
		lua_rawseti(L, -2, ++n);
	}
	if (value) {
		lua_pushnumber(L, value);
		lua_rawseti(L, -2, ++n);
	}
}

void lpfm_push_type(lua_State *L, uint32_t value, const struct lpfm_flag *types)
{
	for (; types->name; types++)
		if (types->value == value) {
			lua_pushstring(L, types->name);
			return;
		}
	lua_pushnumber(L, value);
}

static void add_constants(lua_State *L, const struct lpfm_flag *flags)
{
	for (; flags->name; flags++)
		lpfm_set_number(L, flags->constant, flags->value);
}

static void add_names(lua_State *L, const char *topic, const struct lpfm_flag *flags)
{
	lua_newtable(L);
	for (; flags->name; flags++)
		lpfm_set_number(L, flags->name, flags->value);
	lua_setfield(L, -2, topic);
}

static const struct {
	const char		*topic;
	const struct lpfm_flag	*flags;
} topics[] = {
	{ "context", lpfm_ctx_flags },
	{ "pmc", lpfm_pmc_flags },
	{ "pmd", lpfm_pmd_flags },
	{ "set", lpfm_set_flags },
	{ "message", lpfm_msg_types },
	{ "register_type", lpfm_reg_types },
	{ "register_kind", lpfm_reg_kinds },
	{ "format", lpfm_fmt_flags },
	{ "buffer", lpfm_buf_flags },
};

/***
Numbers of the constants of perfmon.h, perfmonctl.h and pfmlib.h by their C names:
lpfm.const.PFM_FL_SYSTEM_WIDE. PFM_REG_IDX_NONE, all bits set, is -1, as a 64-bit value is read.
@table lpfm.const
@usage assert(require("lpfm").const.PFM_FL_SYSTEM_WIDE == 2)
*/
/***
Names and values of flags and types by topic. Calls take and return the names. "own" marks what is
not in the specification.

- context, for lpfm.create: NOTIFY_BLOCK (the thread stops until restart), SYSTEM_WIDE (a CPU, not a
  thread), ANY_CPU (own, with SYSTEM_WIDE: commands from every CPU), INHERIT (own: what the thread
  creates is counted with it, and with a sampling format sampled; without SYSTEM_WIDE, NOTIFY_BLOCK,
  MAP_SETS and OVFL_SWITCH), PROCESS (own, with INHERIT and a format: all threads that the process
  has at the load), ON_EXEC (own, with INHERIT: the first start takes effect when the thread
  executes a program), PREEMPTIBLE (own, 6.5, with SYSTEM_WIDE: where contexts of threads would be
  excluded they take the PMU), OVFL_NO_MSG (notification by signal alone), SMPL_FMT (2.x: a format
  is given; not needed), MAP_SETS (2.2: PMDs of each set can be mapped, see context:view); Itanium:
  INSECURE (5.4.1), PRIV_MONITORS (6.4.1)
- pmc, for write_pmcs: NO_EMUL64, also called NO_64BIT_EMUL (its counters stay as wide as the
  hardware's)
- pmd, for write_pmds: OVFL_NOTIFY (its overflow notifies), RANDOM (its resets are randomized),
  READ_RESET (6.2.2, for read_pmds: long reset after the read); own: OWN (with INHERIT: the thread's
  own count is kept apart; for read_pmds: it is read), ENDED (with INHERIT, for read_pmds: what
  children that have ended counted), FREQUENCY (with INHERIT and a format: long_reset and
  short_reset are how many overflows a second the machine aims at), VALUES (flags, reset_pmds,
  smpl_pmds and eventid stay), ATTRS (these alone are written), CHECK (the element is checked, and
  nothing is written)
- set, for create_evtsets: OVFL_SWITCH, TIME_SWITCH, EXPL_NEXT (id_next comes next), EXCL_IDLE
  (system-wide: not the idle thread), EXCL_KERNEL_ONLY_THREADS (6.2.3); Itanium: EXCL_INTR (5.5.1),
  INTR_ONLY (5.5.2), IDLE_EXCL
- message, a message's type: OVFL (a counter overflowed), END (the thread ended; the context is
  unloaded), PREEMPTED (own, 6.5: the context has the PMU back)
- register_type, what a register is: PMC, MSR, SPR, IBR, DBR, PMD, SW (a source of the system), VIRT
  (virtual)
- register_kind: I (implemented), WC (writes are checked), C64 (counts), RO (cannot be written), V
  (virtual), INTR (its overflow interrupts), NO64 (knows NO_EMUL64)
- format: NOSET (the format knows set 0 only)
- buffer, buf_flags of lpfm.create: NO_HDR (samples without a header), IIP_HDR (the ip alone); of
  n-way: MASK_WHEN_FULL (mask when all regions are full, instead of overwriting); of stack:
  NO_KERNEL, NO_USER (no frames of that level), COPY (registers and a copy of the user's stack),
  RECORDS (what programs do, see buffer:records), SWITCHES (and when threads leave a CPU and come
  back)
@table lpfm.flags
@usage assert(require("lpfm").flags.context.SYSTEM_WIDE == 2)
*/
void lpfm_open_flags(lua_State *L)
{
	lua_newtable(L);
	lua_newtable(L);
	for (size_t i = 0; i < LPFM_COUNT(topics); i++) {
		add_names(L, topics[i].topic, topics[i].flags);
		lua_insert(L, -2);
		add_constants(L, topics[i].flags);
		lua_insert(L, -2);
	}
	lua_insert(L, -2);
	add_constants(L, other_constants);
	lpfm_set_u64(L, "PFM_REG_IDX_NONE", PFM_REG_IDX_NONE);
	lua_setfield(L, -3, "const");
	lua_setfield(L, -2, "flags");
}

/* --- lpfm.errno ----------------------------------------------------------------------------- */

#define ERROR(name) { #name, name }

static const struct {
	const char	*name;
	int		value;
} errors[] = {
	ERROR(E2BIG), ERROR(EACCES), ERROR(EAGAIN), ERROR(EBADF), ERROR(EBUSY), ERROR(ECHILD),
	ERROR(EEXIST), ERROR(EFAULT), ERROR(EINTR), ERROR(EINVAL), ERROR(EIO), ERROR(EMFILE),
	ERROR(ENFILE), ERROR(ENODATA), ERROR(ENODEV), ERROR(ENOENT), ERROR(ENOEXEC), ERROR(ENOMEM), ERROR(ENOSPC),
	ERROR(ENOSYS), ERROR(ENOTDIR), ERROR(ENXIO), ERROR(EOPNOTSUPP), ERROR(EPERM), ERROR(EPIPE),
	ERROR(ERANGE), ERROR(ESRCH), ERROR(ETIMEDOUT),
};

/***
Error numbers by name, to compare with the third result of a failed call. Those of the interface:
EINVAL (an argument or the state is not right), EBADF (no context), EBUSY (in use, or from the wrong
CPU), EPERM, ESRCH (no such thread), ENOMEM, E2BIG (the vector is too long), EFAULT, EMFILE, EIO (a
format in Lua failed), EINTR (Ctrl-C).
@table lpfm.errno
@usage
local lpfm = require "lpfm"
local ctx = assert(lpfm.create {})
local ok, message, errno = ctx:start()
assert(not ok and errno == lpfm.errno.EINVAL)
ctx:close()
*/
void lpfm_open_errno(lua_State *L)
{
	lua_createtable(L, 0, LPFM_COUNT(errors));
	for (size_t i = 0; i < LPFM_COUNT(errors); i++)
		lpfm_set_number(L, errors[i].name, errors[i].value);
	lua_setfield(L, -2, "errno");
}
