/* SPDX-License-Identifier: MIT */
/*
 * native.c - the work of read.lua and walk.lua in C, as a Lua module, so that both are timed in
 * turn in one process. Each function returns the seconds it took.
 */
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "base/module.h"
#include "ffi/objects.h"
#include "perfmon/perfmon_dfl_smpl.h"

enum { SLOTS = 4096 };

int luaopen_native(lua_State *L);

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* native.now(): returns seconds of CPU time, which a preemption does not lengthen */
static int native_now(lua_State *L)
{
	lua_pushnumber(L, now(CLOCK_PROCESS_CPUTIME_ID));
	return 1;
}

/* native.read(fd, calls, first, n): calls pfm_read_pmds() for n PMDs from first on */
static int native_read(lua_State *L)
{
	int fd = (int)luaL_checkinteger(L, 1), n = (int)luaL_checkinteger(L, 4);
	long calls = (long)luaL_checkinteger(L, 2);
	pfarg_pmd_t pd[16] = { { 0 } };
	double t;

	luaL_argcheck(L, n > 0 && n <= 16, 4, "1 to 16");
	for (int i = 0; i < n; i++)
		pd[i].reg_num = (uint16_t)(luaL_checkinteger(L, 3) + i);
	t = now(CLOCK_MONOTONIC);
	for (long i = 0; i < calls; i++)
		if (pfm_read_pmds(fd, pd, n))
			return luaL_error(L, "%s", pfm_explain());
	lua_pushnumber(L, now(CLOCK_MONOTONIC) - t);
	return 1;
}

/* Returns the mapped sampling buffer of the context at index 1 of the stack. */
static const pfm_dfl_smpl_hdr_t *buffer(lua_State *L)
{
	const struct lpfm_context_object *object = lua_touserdata(L, 1);
	const struct lpfm_context *ctx = object ? object->ctx : NULL;

	luaL_argcheck(L, ctx && ctx->buf && ctx->format == LPFM_DFL_2X, 1, "a context with its buffer");
	return (const void *)ctx->buf;
}

/* native.walk(ctx): sums two fields of every sample */
static int native_walk(lua_State *L)
{
	const pfm_dfl_smpl_hdr_t *hdr = buffer(L);
	const char *at = (const char *)(hdr + 1);
	volatile uint64_t result;
	uint64_t sum = 0;
	double t = now(CLOCK_PROCESS_CPUTIME_ID);

	for (uint64_t i = 0; i < hdr->hdr_count; i++) {
		const pfm_dfl_smpl_entry_t *e = (const void *)at;

		sum += e->ip + e->tstamp;
		at += sizeof(*e);
	}
	result = sum;
	(void)result;
	lua_pushnumber(L, now(CLOCK_PROCESS_CPUTIME_ID) - t);
	return 1;
}

struct slot {
	uint64_t ip, tid, count;
};

/* Counts a pair in a hash table that has room for all, so that it is never full. */
static void count(struct slot *slots, uint64_t ip, uint64_t tid)
{
	size_t i = ((ip ^ tid << 17) * 0x9e3779b97f4a7c15ULL) >> 52;

	while (slots[i].count && (slots[i].ip != ip || slots[i].tid != tid))
		i = (i + 1) % SLOTS;
	slots[i] = (struct slot){ ip, tid, slots[i].count + 1 };
}

/* native.count(ctx, both): makes a histogram of ip or, if both is true, of ip and thread */
static int native_count(lua_State *L)
{
	const pfm_dfl_smpl_hdr_t *hdr = buffer(L);
	const pfm_dfl_smpl_entry_t *e = (const void *)(hdr + 1);
	bool both = lua_toboolean(L, 2);
	struct slot slots[SLOTS];
	double t = now(CLOCK_PROCESS_CPUTIME_ID);

	memset(slots, 0, sizeof(slots));
	for (uint64_t i = 0; i < hdr->hdr_count; i++, e++)
		count(slots, e->ip, both ? e->pid : 0);
	lua_pushnumber(L, now(CLOCK_PROCESS_CPUTIME_ID) - t);
	return 1;
}

static const luaL_Reg functions[] = {
	{ "count", native_count },
	{ "now", native_now },
	{ "read", native_read },
	{ "walk", native_walk },
	{ NULL, NULL }
};

int luaopen_native(lua_State *L)
{
	lua_newtable(L);
	luaL_register(L, NULL, functions);
	return 1;
}
