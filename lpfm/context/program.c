/* SPDX-License-Identifier: MIT */
/*
 * program.c - contexts with the format "program": its options, and the counts of what programs
 * decided.
 */
/***
@submodule context
*/
#include <errno.h>
#include <string.h>

#include "base/field.h"
#include "base/result.h"
#include "base/u64.h"
#include "context/context.h"
#include "context/program.h"
#include "format/register.h"
#include "perfmon/perfmon_nway_smpl.h"
#include "perfmon/perfmon_stack_smpl.h"
#include "samples/buffer.h"

#define INSN_SIZE 8

static const struct {
	const char		*name;
	uint32_t		base;
	enum lpfm_format	format;
} bases[] = {
	{ "none", PFM_PROG_SMPL_NONE, LPFM_RAW_BUFFER },
	{ PFM_DFL_SMPL_NAME, PFM_PROG_SMPL_DEFAULT, LPFM_DFL_2X },
	{ PFM_NWAY_SMPL_NAME, PFM_PROG_SMPL_NWAY, LPFM_NWAY },
	{ PFM_STACK_SMPL_NAME, PFM_PROG_SMPL_STACK, LPFM_STACK },
};

static uint32_t read_base(lua_State *L, int idx, const struct lpfm_site *site)
{
	for (size_t i = 0; i < LPFM_COUNT(bases); i++)
		if (lua_type(L, idx) == LUA_TSTRING && !strcmp(lua_tostring(L, idx), bases[i].name))
			return bases[i].base;
	lpfm_bad_value(L, site, "default, n-way, stack or none", idx);
	return PFM_PROG_SMPL_NONE;
}

bool lpfm_program_option(lua_State *L, const char *key, int idx, struct lpfm_program *p, const struct lpfm_site *site)
{
	if (!strcmp(key, "program")) {
		if (lua_type(L, idx) != LUA_TSTRING)
			lpfm_bad_value(L, site, "string of instructions", idx);
		p->insns = lua_tolstring(L, idx, &p->bytes);
		if (!p->bytes || p->bytes % INSN_SIZE || p->bytes / INSN_SIZE > PFM_PROG_SMPL_MAX_INSNS)
			lpfm_bad(L, site, "1 to %d instructions of %d bytes expected, got %d bytes",
				 PFM_PROG_SMPL_MAX_INSNS, INSN_SIZE, (int)p->bytes);
	} else if (!strcmp(key, "buckets")) {
		p->buckets = (uint32_t)lpfm_to_int(L, idx, site, 0, PFM_PROG_SMPL_MAX_BUCKETS);
		p->has_buckets = true;
	} else if (!strcmp(key, "base")) {
		p->base = read_base(L, idx, site);
	} else {
		return false;
	}
	return true;
}

void lpfm_program_check(lua_State *L, const struct lpfm_program *p, bool is_program, const struct lpfm_site *site)
{
	if (is_program && !p->insns)
		lpfm_bad(L, site, "field 'program' is missing");
	if (!is_program && (p->insns || p->has_buckets || p->base))
		lpfm_bad(L, site, "program, buckets and base belong to the format program");
}

enum lpfm_format lpfm_program_samples(const struct lpfm_program *p)
{
	return bases[p->base].format;
}

void lpfm_program_arg(const struct lpfm_program *p, pfm_prog_smpl_arg_t *arg, const void *base_arg, size_t size)
{
	*arg = (pfm_prog_smpl_arg_t){
		.insns = (uintptr_t)p->insns, .num_insns = (uint32_t)(p->bytes / INSN_SIZE),
		.num_buckets = p->buckets, .base = p->base,
	};
	if (p->base)
		memcpy(arg->base_arg, base_arg, size);
}

static void push_buckets(lua_State *L, const uint64_t *buckets, uint32_t n)
{
	lua_newtable(L);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t count = __atomic_load_n(&buckets[i], __ATOMIC_RELAXED);

		if (!count)
			continue;
		lpfm_push_nat(L, count);
		lua_rawseti(L, -2, (int)i);
	}
}

/***
Returns the verdicts that the program of a context with the format program has given so far. They
can be looked at while monitoring goes on.
@function context:verdicts
@treturn[1] table {runs=times it ran, kept=samples, outside=counts of buckets that are not there,
stopped=true after a STOP, buckets={[0]=count, ...}, without those that are 0}
@return[2] nil
@treturn[2] string message
@treturn[2] int errno: EINVAL if the context has another format
@usage
local lpfm = require "lpfm"
local keep_all = require("pfm.program").where("true")
local ctx = assert(lpfm.create(keep_all:create()))
assert(ctx:verdicts().runs == 0)
ctx:close()
*/
static int context_verdicts(lua_State *L)
{
	struct lpfm_context *ctx = lpfm_context_open(L, 1);
	const pfm_prog_smpl_hdr_t *h;

	if (!ctx->program)
		return lpfm_fail_errno(L, EINVAL, "verdicts: the context was not created with the format program");
	if (!lpfm_buffer_map(ctx))
		return lpfm_fail(L, "verdicts");
	h = (const void *)(ctx->buf - ctx->buf_offs);
	lua_createtable(L, 0, 5);
	lpfm_set_nat(L, "runs", __atomic_load_n(&h->hdr_runs, __ATOMIC_RELAXED));
	lpfm_set_nat(L, "kept", __atomic_load_n(&h->hdr_kept, __ATOMIC_RELAXED));
	lpfm_set_nat(L, "outside", __atomic_load_n(&h->hdr_outside, __ATOMIC_RELAXED));
	lpfm_set_bool(L, "stopped", __atomic_load_n(&h->hdr_stopped, __ATOMIC_RELAXED));
	push_buckets(L, (const uint64_t *)(h + 1), ctx->buckets);
	lua_setfield(L, -2, "buckets");
	return 1;
}

static const luaL_Reg context_methods[] = {
	{ "verdicts", context_verdicts },
	{ NULL, NULL }
};

void lpfm_open_program(lua_State *L)
{
	lpfm_class_methods(L, &lpfm_context_class, context_methods);
}
