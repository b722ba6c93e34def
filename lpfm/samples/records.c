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

union record {
	pfm_stack_smpl_event_t	event;
	pfm_stack_smpl_map_t	map;
	pfm_stack_smpl_exec_t	exec;
	pfm_stack_smpl_fork_t	fork;
	pfm_stack_smpl_count_t	count;
	pfm_stack_smpl_lost_t	lost;
	pfm_stack_smpl_switch_t	move;
};

static const struct {
	const char	*name;
	size_t		size;
} kinds[] = {
	[PFM_STACK_SMPL_MAP] = { "MAP", sizeof(pfm_stack_smpl_map_t) },
	[PFM_STACK_SMPL_EXEC] = { "EXEC", sizeof(pfm_stack_smpl_exec_t) },
	[PFM_STACK_SMPL_FORK] = { "FORK", sizeof(pfm_stack_smpl_fork_t) },
	[PFM_STACK_SMPL_EXIT] = { "EXIT", sizeof(pfm_stack_smpl_event_t) },
	[PFM_STACK_SMPL_LOST] = { "LOST", sizeof(pfm_stack_smpl_lost_t) },
	[PFM_STACK_SMPL_RENAME] = { "RENAME", sizeof(pfm_stack_smpl_exec_t) },
	[PFM_STACK_SMPL_COUNT] = { "COUNT", sizeof(pfm_stack_smpl_count_t) },
	[PFM_STACK_SMPL_SWITCH] = { "SWITCH", sizeof(pfm_stack_smpl_switch_t) },
};

static void set_build_id(lua_State *L, const pfm_stack_smpl_map_t *map)
{
	size_t n = map->build_id_size;

	if (!n || n > PFM_STACK_SMPL_BUILD_ID)
		return;
	lpfm_push_hex(L, map->build_id, n);
	lua_setfield(L, -2, "build_id");
}

/* Fills in the table on top from a record, and from the n bytes that follow it. */
static void fill(lua_State *L, const union record *r, const char *tail, size_t n)
{
	switch (r->event.rec.rec_type) {
	case PFM_STACK_SMPL_MAP:
		lpfm_set_u64(L, "addr", r->map.addr);
		lpfm_set_nat(L, "len", r->map.len);
		lpfm_set_nat(L, "offset", r->map.offset);
		lpfm_set_text_of(L, "path", tail, n);
		set_build_id(L, &r->map);
		break;
	case PFM_STACK_SMPL_EXEC:
	case PFM_STACK_SMPL_RENAME:
		lpfm_set_text_of(L, "comm", r->exec.comm, sizeof(r->exec.comm));
		break;
	case PFM_STACK_SMPL_FORK:
		lpfm_set_nat(L, "ppid", r->fork.ppid);
		lpfm_set_nat(L, "ptid", r->fork.ptid);
		break;
	case PFM_STACK_SMPL_COUNT:
		lpfm_set_nat(L, "num", r->count.pmd);
		lpfm_set_u64(L, "value", r->count.value);
		break;
	case PFM_STACK_SMPL_LOST:
		lpfm_set_nat(L, "count", r->lost.count);
		lpfm_set_text(L, "why", r->lost.why < LPFM_COUNT(reasons) ? reasons[r->lost.why] : "?");
		break;
	case PFM_STACK_SMPL_SWITCH:
		lpfm_set_text(L, "how", r->move.how < LPFM_COUNT(hows) ? hows[r->move.how] : "?");
		break;
	}
}

/* --- iterating over records ----------------------------------------------------------------- */

/*
 * Pushes the record. Returns false, and pushes nothing, if it is too short or of an unknown kind.
 */
static bool push_record(lua_State *L, const unsigned char *at)
{
	union record r;
	size_t size, known;

	memcpy(&r.event.rec, at, sizeof(r.event.rec));
	size = r.event.rec.rec_size;
	if (r.event.rec.rec_type >= LPFM_COUNT(kinds) || !kinds[r.event.rec.rec_type].name || size < sizeof(r.event))
		return false;
	known = kinds[r.event.rec.rec_type].size;
	memcpy(&r, at, size < known ? sizeof(r.event) : known);
	lua_createtable(L, 0, 9);
	lpfm_set_text(L, "kind", kinds[r.event.rec.rec_type].name);
	lpfm_set_nat(L, "pid", r.event.pid);
	lpfm_set_nat(L, "tid", r.event.tid);
	/* a number, as times in recordings are: after 104 days of uptime it is rounded, to 2 ns */
	lpfm_set_number(L, "tstamp", (lua_Number)r.event.tstamp);
	if (size >= known)	/* fields beyond the end of the record are left out */
		fill(L, &r, (const char *)at + known, size - known);
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
Iterates over what is in a buffer of the format stack other than samples, with RECORDS
(specification 6.3.2). Each is a table with `kind`, `pid`, `tid`, `tstamp` (ns), and:

- MAP: `addr`, `len`, `offset` (in the file), `path`, perhaps `build_id` (in hexadecimal)
- EXEC: `comm`, the thread's name from now on
- RENAME: `comm`, the new name of a thread that renames itself; on real machines only
- FORK: `ppid`, `ptid`, process and thread that created the thread
- EXIT
- COUNT: `num`, `value`: the count of a child thread when it ended, in a context with INHERIT
- SWITCH: `how`: "in" (the thread runs from now on), "out" (it waits), "preempted" (it is ready to
  run, and another has its CPU); with SWITCHES, on the machine perf
- LOST: `count`, and `why`: "full" (samples that found the buffer full), "source" (samples that
  found the machine's own buffer full, or came too late), "throttled" (samples that the machine held
  back), "records" (records that found the buffer full)
@function buffer:records
@int[opt] from the byte of the buffer to begin at
@int[opt=0] ahead with regions: how many regions are to be read before this one
@return iterator of the record, and where it ends: the byte to begin at the next time
@raise on a buffer of another format; in the loop if the context was restarted or closed, or the
buffer is corrupt
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
