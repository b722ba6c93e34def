/* SPDX-License-Identifier: MIT */
/* entry.c - the fields of a sample's header. */
#include <string.h>

#include "perfmon/perfmon_stack_smpl.h"
#include "samples/entry.h"

#define PLACE(type, member) { offsetof(type, member), sizeof(((type *)0)->member) }
#define AT(in_2x, in_06) \
	[LPFM_ENTRY_2X] = PLACE(pfm_dfl_smpl_entry_t, in_2x), \
	[LPFM_ENTRY_06] = PLACE(pfm_default_smpl_entry_t, in_06), \
	[LPFM_ENTRY_STACK] = PLACE(pfm_stack_smpl_sample_t, entry.in_2x)

/* Perfmon 2.x calls the thread pid and the process tgid. */
const struct lpfm_smpl_name lpfm_smpl_names[LPFM_SMPL_FIELDS] = {
	[LPFM_SMPL_IP] = { "ip", NULL, { AT(ip, ip), [LPFM_ENTRY_IIP] = { 0, sizeof(uint64_t) } } },
	[LPFM_SMPL_TID] = { "tid", NULL, { AT(pid, tid) } },
	[LPFM_SMPL_PID] = { "pid", "tgid", { AT(tgid, pid) } },
	[LPFM_SMPL_CPU] = { "cpu", NULL, { AT(cpu, cpu) } },
	[LPFM_SMPL_TSTAMP] = { "tstamp", NULL, { AT(tstamp, tstamp) } },
	[LPFM_SMPL_SET] = { "set", NULL, { AT(set, set) } },
	[LPFM_SMPL_OVFL_PMD] = { "ovfl_pmd", "pmd", { AT(ovfl_pmd, ovfl_pmd) } },
	[LPFM_SMPL_LAST_RESET] = { "last_reset", "last_reset_val", { AT(last_reset_val, last_reset_val) } },
};

enum lpfm_smpl_field lpfm_smpl_field(const char *name)
{
	int i = 0;

	while (i < LPFM_SMPL_FIELDS && strcmp(name, lpfm_smpl_names[i].name) &&
	       !(lpfm_smpl_names[i].also && !strcmp(name, lpfm_smpl_names[i].also)))
		i++;
	return (enum lpfm_smpl_field)i;
}

const char *lpfm_smpl_names_text(lua_State *L)
{
	luaL_Buffer b;

	luaL_buffinit(L, &b);
	for (int i = 0; i < LPFM_SMPL_FIELDS; i++) {
		luaL_addstring(&b, i ? ", " : "");
		luaL_addstring(&b, lpfm_smpl_names[i].name);
	}
	luaL_pushresult(&b);
	return lua_tostring(L, -1);
}

enum lpfm_entry lpfm_entry_of(const struct lpfm_context *ctx)
{
	if (ctx->format == LPFM_STACK)
		return LPFM_ENTRY_STACK;
	if (ctx->buf_flags & PFM_DFL_SMPL_NO_HDR)
		return LPFM_ENTRY_NONE;
	if (ctx->buf_flags & PFM_DFL_SMPL_IIP_HDR)
		return LPFM_ENTRY_IIP;
	return ctx->format == LPFM_DFL_06 ? LPFM_ENTRY_06 : LPFM_ENTRY_2X;
}

uint8_t lpfm_entry_size(enum lpfm_entry entry)
{
	static const uint8_t sizes[LPFM_ENTRIES] = {
		[LPFM_ENTRY_2X] = sizeof(pfm_dfl_smpl_entry_t),
		[LPFM_ENTRY_06] = sizeof(pfm_default_smpl_entry_t),
		[LPFM_ENTRY_IIP] = sizeof(uint64_t),
		[LPFM_ENTRY_STACK] = sizeof(pfm_stack_smpl_sample_t),
	};

	return sizes[entry];
}
