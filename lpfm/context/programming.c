/* SPDX-License-Identifier: MIT */
/*
 * programming.c - how a context is programmed, which the interface has no call to read back.
 *
 * Every call that changes a context notes here what it did. These notes also serve to decode
 * samples: a sample's header names the set and the PMD that overflowed, and the values that follow
 * are those of that PMD's smpl_pmds (3.6.4).
 */
/***
@submodule context
*/
#include <string.h>

#include "base/field.h"
#include "base/structs.h"
#include "context/context.h"
#include "context/programming.h"

/* The entries of the tables in struct lpfm_programming. Each begins with its key. */
struct set_entry {
	uint32_t	key;		/* number of the set */
	pfarg_setdesc_t	arg;
};

struct pmc_entry {
	uint32_t	key;		/* set << 16 | number */
	pfarg_pmc_t	arg;
};

struct pmd_entry {
	struct lpfm_layout	layout;
	pfarg_pmd_t		arg;
};

/* Flags that say what a call is to do. They are not kept. */
#define PMD_CALL_FLAGS	(PFM_REGFL_VALUES | PFM_REGFL_ATTRS | PFM_REGFL_READ_RESET | PFM_REG_RETFL_MASK)

static uint32_t register_key(uint16_t set, uint16_t num)
{
	return (uint32_t)set << 16 | num;
}

void lpfm_programming_init(struct lpfm_programming *p)
{
	p->sets.size = sizeof(struct set_entry);
	p->pmcs.size = sizeof(struct pmc_entry);
	p->pmds.size = sizeof(struct pmd_entry);
}

void lpfm_programming_free(struct lpfm_programming *p)
{
	lpfm_table_free(&p->sets);
	lpfm_table_free(&p->pmcs);
	lpfm_table_free(&p->pmds);
}

/* --- notes of what the calls did ------------------------------------------------------------ */

void lpfm_programming_sets(struct lpfm_programming *p, const pfarg_setdesc_t *v, int n)
{
	for (int i = 0; i < n; i++) {
		struct set_entry *e = lpfm_table_at(&p->sets, v[i].set_id);

		e->arg = v[i];
	}
}

void lpfm_programming_drop_set(struct lpfm_programming *p, uint16_t set)
{
	lpfm_table_drop(&p->sets, set, set);
	lpfm_table_drop(&p->pmcs, register_key(set, 0), register_key(set, UINT16_MAX));
	lpfm_table_drop(&p->pmds, register_key(set, 0), register_key(set, UINT16_MAX));
}

void lpfm_programming_pmcs(struct lpfm_programming *p, const pfarg_pmc_t *v, int n)
{
	for (int i = 0; i < n; i++) {
		struct pmc_entry *e = lpfm_table_at(&p->pmcs, register_key(v[i].reg_set, v[i].reg_num));

		e->arg = v[i];
	}
}

void lpfm_layout_count(struct lpfm_layout *layout)
{
	layout->n = 0;
	for (int i = 0; i < PFM_PMD_BV; i++)
		layout->n += (uint32_t)__builtin_popcountll(layout->pmds[i]);
}

static void note_attrs(struct pmd_entry *e, const pfarg_pmd_t *pmd)
{
	e->arg.reg_flags = pmd->reg_flags & ~PMD_CALL_FLAGS;
	e->arg.reg_smpl_eventid = pmd->reg_smpl_eventid;
	memcpy(e->arg.reg_reset_pmds, pmd->reg_reset_pmds, sizeof(pmd->reg_reset_pmds));
	memcpy(e->arg.reg_smpl_pmds, pmd->reg_smpl_pmds, sizeof(pmd->reg_smpl_pmds));
	memcpy(e->layout.pmds, pmd->reg_smpl_pmds, sizeof(e->layout.pmds));
	lpfm_layout_count(&e->layout);
}

static void note_values(struct pmd_entry *e, const pfarg_pmd_t *pmd)
{
	e->arg.reg_value = pmd->reg_value;
	e->arg.reg_long_reset = pmd->reg_long_reset;
	e->arg.reg_short_reset = pmd->reg_short_reset;
	e->arg.reg_ovfl_switch_cnt = pmd->reg_ovfl_switch_cnt;
	e->arg.reg_random_mask = pmd->reg_random_mask;
	e->arg.reg_random_seed = pmd->reg_random_seed;
}

void lpfm_programming_pmds(struct lpfm_programming *p, const pfarg_pmd_t *v, int n)
{
	for (int i = 0; i < n; i++) {
		struct pmd_entry *e;

		if (v[i].reg_flags & PFM_REGFL_CHECK)
			continue;
		e = lpfm_table_at(&p->pmds, register_key(v[i].reg_set, v[i].reg_num));
		e->arg.reg_num = v[i].reg_num;
		e->arg.reg_set = v[i].reg_set;
		if (!(v[i].reg_flags & PFM_REGFL_VALUES))
			note_attrs(e, &v[i]);
		if (!(v[i].reg_flags & PFM_REGFL_ATTRS))
			note_values(e, &v[i]);
	}
}

void lpfm_programming_load(struct lpfm_programming *p, bool has_tid, uint32_t tid, uint16_t set)
{
	p->loaded = true;
	p->running = false;
	p->has_tid = has_tid;
	p->tid = tid;
	p->set = set;
}

/* --- the notes as Lua tables ---------------------------------------------------------------- */

/* Pushes a copy of the value at idx; tables in a table are copied, too. */
static void push_copy(lua_State *L, int idx)
{
	int copy;

	if (!lua_istable(L, idx)) {
		lua_pushvalue(L, idx);
		return;
	}
	luaL_checkstack(L, 4, "a table too deep");
	lua_newtable(L);
	copy = lua_gettop(L);
	for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
		lua_pushvalue(L, -2);
		push_copy(L, copy + 2);
		lua_rawset(L, copy);
	}
}

/* In the copy, the flags are a list of names, even if the options give them as a number. */
void lpfm_programming_keep(lua_State *L, int idx)
{
	const struct lpfm_context *ctx = lpfm_context_test(L, -1);

	lua_createtable(L, 0, 1);
	if (lua_istable(L, idx))
		push_copy(L, idx);
	else
		lua_newtable(L);
	if (ctx->flags)
		lpfm_push_flags(L, ctx->flags, lpfm_ctx_flags);
	else
		lua_pushnil(L);
	lua_setfield(L, -2, "flags");
	lua_setfield(L, -2, "create");
	lua_setfenv(L, -2);
}

/* Makes a list of the arguments in t, and sets the field of the Lua table on top to it. */
static void push_list(lua_State *L, const struct lpfm_table *t, const struct lpfm_struct *rec, size_t offset,
		      const char *field)
{
	lua_createtable(L, (int)t->n, 0);
	for (size_t i = 0; i < t->n; i++) {
		lpfm_struct_push_given(L, rec, (const char *)lpfm_table_entry(t, i) + offset);
		lua_rawseti(L, -2, (int)i + 1);
	}
	lua_setfield(L, -2, field);
}

static void push_target(lua_State *L, const struct lpfm_programming *p)
{
	lua_createtable(L, 0, 2);
	if (p->has_tid)
		lpfm_set_number(L, "tid", p->tid);
	if (p->set)
		lpfm_set_number(L, "set", p->set);
	lua_setfield(L, -2, "target");
}

/***
Returns how the context is programmed, by the calls that succeeded: the interface has no call that
reads it back. The lists are as the calls take them, without fields that are 0, sorted by set and
number. Of a call that was refused, the elements before the bad one are there.
@function context:programming
@treturn table
@result create the options of `lpfm.create`
@result sets what `context:create_evtsets` made
@result pmcs what `context:write_pmcs` wrote
@result pmds what `context:write_pmds` wrote
@result target `{tid=, set=}` of `context:load`, both nil if they were not given; nil if the context
is not loaded
@result running true after `context:start`, false after `context:stop`
@raise if the context is closed
@usage
local lpfm = require "lpfm"
local ctx = assert(lpfm.create { flags = { "OVFL_NO_MSG" } })
assert(ctx:write_pmcs { { num = 66, value = 9 } })
local p = ctx:programming()
assert(p.create.flags[1] == "OVFL_NO_MSG" and p.pmcs[1].value == 9 and not p.running)
local like_it = assert(lpfm.create(p.create))
assert(like_it:write_pmcs(p.pmcs))
ctx:close()
like_it:close()
*/
static int context_programming(lua_State *L)
{
	const struct lpfm_programming *p = &lpfm_context_open(L, 1)->programming;

	lua_settop(L, 1);
	lua_createtable(L, 0, 6);
	lua_getfenv(L, 1);
	lua_getfield(L, -1, "create");
	push_copy(L, lua_gettop(L));
	lua_setfield(L, 2, "create");
	lua_settop(L, 2);
	push_list(L, &p->sets, &lpfm_set_struct, offsetof(struct set_entry, arg), "sets");
	push_list(L, &p->pmcs, &lpfm_pmc_struct, offsetof(struct pmc_entry, arg), "pmcs");
	push_list(L, &p->pmds, &lpfm_pmd_struct, offsetof(struct pmd_entry, arg), "pmds");
	if (p->loaded)
		push_target(L, p);
	lua_pushboolean(L, p->running);
	lua_setfield(L, 2, "running");
	return 1;
}

static const luaL_Reg methods[] = {
	{ "programming", context_programming },
	{ NULL, NULL }
};

void lpfm_open_programming(lua_State *L)
{
	lpfm_class_methods(L, &lpfm_context_class, methods);
}
