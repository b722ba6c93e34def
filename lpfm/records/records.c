/* SPDX-License-Identifier: MIT */
/*
 * records.c - reads the records of what programs did from buffers of the format stack (6.3.2). Each
 * becomes a table, because there are few of them.
 */
/***
@submodule buffer
*/
#include <string.h>

#include "base/args.h"
#include "base/field.h"
#include "base/u64.h"
#include "context/context.h"
#include "perfmon/perfmon_stack_smpl.h"
#include "records/records.h"
#include "samples/buffer.h"
#include "samples/walk.h"

static const char *const reasons[] = {
	[PFM_STACK_SMPL_LOST_FULL] = "full", [PFM_STACK_SMPL_LOST_SOURCE] = "source",
	[PFM_STACK_SMPL_LOST_THROTTLED] = "throttled", [PFM_STACK_SMPL_LOST_RECORDS] = "records",
};

static const char *const hows[] = {
	[PFM_STACK_SMPL_IN] = "in", [PFM_STACK_SMPL_OUT] = "out", [PFM_STACK_SMPL_PREEMPTED] = "preempted",
};

/* --- the kinds of records ------------------------------------------------------------------- */

/* Fills in the table on top from a record of size bytes; fields beyond its end are left out. */
typedef void (*fill_fn)(lua_State *L, const unsigned char *at, size_t size);

static void set_text(lua_State *L, const char *name, const char *text, size_t max)
{
	const char *end = memchr(text, 0, max);

	lpfm_set_bytes(L, name, text, end ? (size_t)(end - text) : max);
}

static void set_build_id(lua_State *L, const pfm_stack_smpl_map_t *map)
{
	static const char digits[] = "0123456789abcdef";
	char hex[2 * PFM_STACK_SMPL_BUILD_ID];
	size_t n = map->build_id_size;

	if (!n || n > PFM_STACK_SMPL_BUILD_ID)
		return;
	for (size_t i = 0; i < n; i++) {
		hex[2 * i] = digits[map->build_id[i] >> 4];
		hex[2 * i + 1] = digits[map->build_id[i] & 15];
	}
	lpfm_set_bytes(L, "build_id", hex, 2 * n);
}

static void fill_map(lua_State *L, const unsigned char *at, size_t size)
{
	pfm_stack_smpl_map_t map = { 0 };

	if (size < sizeof(map))
		return;
	memcpy(&map, at, sizeof(map));
	lpfm_set_u64(L, "addr", map.addr);
	lpfm_set_nat(L, "len", map.len);
	lpfm_set_nat(L, "offset", map.offset);
	set_text(L, "path", (const char *)at + sizeof(map), size - sizeof(map));
	set_build_id(L, &map);
}

static void fill_exec(lua_State *L, const unsigned char *at, size_t size)
{
	pfm_stack_smpl_exec_t exec;

	if (size < sizeof(exec))
		return;
	memcpy(&exec, at, sizeof(exec));
	set_text(L, "comm", exec.comm, sizeof(exec.comm));
}

static void fill_fork(lua_State *L, const unsigned char *at, size_t size)
{
	pfm_stack_smpl_fork_t made;

	if (size < sizeof(made))
		return;
	memcpy(&made, at, sizeof(made));
	lpfm_set_nat(L, "ppid", made.ppid);
	lpfm_set_nat(L, "ptid", made.ptid);
}

static void fill_count(lua_State *L, const unsigned char *at, size_t size)
{
	pfm_stack_smpl_count_t count;

	if (size < sizeof(count))
		return;
	memcpy(&count, at, sizeof(count));
	lpfm_set_nat(L, "num", count.pmd);
	lpfm_set_u64(L, "value", count.value);
}

static void fill_exit(lua_State *L, const unsigned char *at, size_t size)
{
	(void)L, (void)at, (void)size;
}

static void fill_lost(lua_State *L, const unsigned char *at, size_t size)
{
	pfm_stack_smpl_lost_t lost;

	if (size < sizeof(lost))
		return;
	memcpy(&lost, at, sizeof(lost));
	lpfm_set_nat(L, "count", lost.count);
	lpfm_set_text(L, "why", lost.why < LPFM_COUNT(reasons) ? reasons[lost.why] : "?");
}

static void fill_switch(lua_State *L, const unsigned char *at, size_t size)
{
	pfm_stack_smpl_switch_t s;

	if (size < sizeof(s))
		return;
	memcpy(&s, at, sizeof(s));
	lpfm_set_text(L, "how", s.how < LPFM_COUNT(hows) ? hows[s.how] : "?");
}

static const struct {
	const char	*name;
	fill_fn		fill;
} kinds[] = {
	[PFM_STACK_SMPL_MAP] = { "MAP", fill_map },
	[PFM_STACK_SMPL_EXEC] = { "EXEC", fill_exec },
	[PFM_STACK_SMPL_FORK] = { "FORK", fill_fork },
	[PFM_STACK_SMPL_EXIT] = { "EXIT", fill_exit },
	[PFM_STACK_SMPL_LOST] = { "LOST", fill_lost },
	[PFM_STACK_SMPL_RENAME] = { "RENAME", fill_exec },
	[PFM_STACK_SMPL_COUNT] = { "COUNT", fill_count },
	[PFM_STACK_SMPL_SWITCH] = { "SWITCH", fill_switch },
};

/* --- iterating over records ----------------------------------------------------------------- */

/*
 * Pushes the record. Returns false, and pushes nothing, if it is too short or of an unknown kind.
 */
static bool push_record(lua_State *L, const unsigned char *at)
{
	pfm_stack_smpl_event_t e;

	memcpy(&e.rec, at, sizeof(e.rec));
	if (e.rec.rec_type >= LPFM_COUNT(kinds) || !kinds[e.rec.rec_type].name || e.rec.rec_size < sizeof(e))
		return false;
	memcpy(&e, at, sizeof(e));
	lua_createtable(L, 0, 9);
	lpfm_set_text(L, "kind", kinds[e.rec.rec_type].name);
	lpfm_set_nat(L, "pid", e.pid);
	lpfm_set_nat(L, "tid", e.tid);
	lpfm_set_nat(L, "tstamp", e.tstamp);
	kinds[e.rec.rec_type].fill(L, at, e.rec.rec_size);
	return true;
}

struct records {
	struct lpfm_head	head;
	struct lpfm_walk	walk;
};

static void release(void *records)
{
	lpfm_context_put(((struct records *)records)->walk.ctx);
}

static const struct lpfm_class records_class = { "lpfm.records", release };

void lpfm_open_records(lua_State *L)
{
	lpfm_class_new(L, &records_class, NULL, NULL);
}

/* The upvalue is a struct records. */
static int next_record(lua_State *L)
{
	struct records *r = lpfm_object_check(L, lua_upvalueindex(1), &records_class);
	struct lpfm_walk *w = &r->walk;
	const unsigned char *at;
	int got;

	lpfm_walk_check(L, w);
	do {
		got = lpfm_walk_other(w, &at);
		if (got < 0)
			return luaL_error(L, "the buffer is corrupt: a record lies outside it");
		if (!got)
			return 0;
	} while (!push_record(L, at));
	lpfm_push_nat(L, lpfm_buffer_offset(w->ctx, w->next));
	return 2;
}

/***
Iterates over what is in a buffer of the format stack other than samples, with RECORDS (specification 6.3.2). Each is a
table with `kind`, `pid`, `tid`, `tstamp` (ns), and:

- MAP: `addr`, `len`, `offset` (in the file), `path`, perhaps `build_id` (in hexadecimal)
- EXEC: `comm`, the thread's name from now on
- RENAME: `comm`, the new name of a thread that renames itself; on real machines only
- FORK: `ppid`, `ptid`, process and thread that created the thread
- EXIT
- COUNT: `num`, `value`: the count of a child thread when it ended, in a context with INHERIT
- SWITCH: `how`: "in" (the thread runs from now on), "out" (it waits), "preempted" (it is ready to run, and another
  has its CPU); with SWITCHES, on the machine perf
- LOST: `count`, and `why`: "full" (samples that found the buffer full), "source" (samples that
  found the machine's own buffer full, or came too late), "throttled" (samples that the machine held
  back), "records" (records that found the buffer full)
@function buffer:records
@int[opt] from the byte of the buffer to begin at
@int[opt=0] ahead with regions: how many regions are to be read before this one
@return iterator of the record, and where it ends: the byte to begin at the next time
@raise on a buffer of another format; in the loop if the context was restarted or closed, or the buffer is corrupt
@usage
local ctx = assert(require("lpfm").create { format = "stack", buf_flags = { "RECORDS" } })
for r in ctx:buffer():records() do print(r.kind, r.pid, r.path) end
ctx:close()
*/
int lpfm_buffer_records(lua_State *L)
{
	const struct lpfm_context *ctx = lpfm_buffer_samples(L, 1);
	uint64_t from = lua_isnoneornil(L, 2) ? 0 : (uint64_t)lpfm_arg_int(L, 2, "records", "from", 0, 1LL << 53);
	unsigned int ahead = lpfm_arg_ahead(L, 3, "records");
	struct records *r;

	luaL_argcheck(L, ctx->format == LPFM_STACK, 1, "a buffer of the format stack expected");
	r = lpfm_object_new(L, sizeof(*r));
	lpfm_walk_from(L, &r->walk, ctx, from, ahead);
	lpfm_object_anchor(L, 1);
	lpfm_object_arm(L, r, &records_class);
	lpfm_context_get(ctx);
	lua_pushcclosure(L, next_record, 1);
	return 1;
}
