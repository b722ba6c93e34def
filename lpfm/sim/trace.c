/* SPDX-License-Identifier: MIT */
/* trace.c - traces of operations: from a file, from a Lua function, from valgrind. */
/***
@submodule lpfm
*/
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/args.h"
#include "base/object.h"
#include "base/perfmon.h"
#include "base/result.h"
#include "base/u64.h"
#include "base/wait.h"
#include "sim/access.h"

struct lpfm_trace {
	struct lpfm_head	head;
	struct pfm_sim_trace	*trace;
};

static void release(void *object)
{
	pfm_sim_trace_free(((struct lpfm_trace *)object)->trace);
}

static const struct lpfm_class trace_class = { "lpfm.trace", release };

/* Pushes a new object for a trace; its member trace is NULL if there is no memory. */
static struct lpfm_trace *new_trace(lua_State *L)
{
	struct lpfm_trace *t;

	lpfm_class_new(L, &trace_class, NULL, NULL);
	t = lpfm_object_new(L, sizeof(*t));
	lpfm_object_arm(L, t, &trace_class);
	t->trace = pfm_sim_trace_new();
	return t;
}

/* --- a trace from a file -------------------------------------------------------------------- */

static int cannot_read(lua_State *L, const struct lpfm_site *site, FILE *file, const char *name)
{
	int err = errno;

	if (file)
		fclose(file);
	return lpfm_bad(L, site, "cannot read '%s': %s", name, strerror(err));
}

const void *lpfm_sim_read_trace(lua_State *L, const char *path, uint64_t *size)
{
	struct lpfm_site site = { .call = path, .field = "trace" };
	const char *name = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
	FILE *file;
	void *bytes;
	long end = 0;

	if (!name)
		lpfm_bad(L, &site, "a file's name expected");
	file = fopen(name, "rb");
	if (!file || fseek(file, 0, SEEK_END) || (end = ftell(file)) < 0 || fseek(file, 0, SEEK_SET))
		cannot_read(L, &site, file, name);
	if (end > 1L << 32) {
		fclose(file);
		lpfm_bad(L, &site, "'%s' is no trace: it has %d MB", name, (int)(end >> 20));
	}
	bytes = lua_newuserdata(L, (size_t)end + 1);
	if (fread(bytes, 1, (size_t)end, file) != (size_t)end)
		cannot_read(L, &site, file, name);
	fclose(file);
	*size = (uint64_t)end;
	return bytes;
}

/* --- a trace from a Lua function ------------------------------------------------------------ */

static const char *const kinds[] = { "load", "store", "modify", "branch", "jump" };

/*
 * Adds an operation: ip, kind, address (or whether it is taken) and size are on top of the stack.
 */
static int add_op(lua_State *L, const struct lpfm_site *site, struct pfm_sim_trace *trace)
{
	static const uint32_t numbers[] = { PFM_SIM_LOAD, PFM_SIM_STORE, PFM_SIM_MODIFY, PFM_SIM_BRANCH_NOT,
					    PFM_SIM_JUMP };
	const char *name = lua_type(L, -3) == LUA_TSTRING ? lua_tostring(L, -3) : "";
	size_t kind = 0;
	uint32_t size;

	while (kind < LPFM_COUNT(kinds) && strcmp(kinds[kind], name))
		kind++;
	if (kind == LPFM_COUNT(kinds))
		lpfm_bad(L, site, "an address and \"load\", \"store\", \"modify\", \"branch\" or \"jump\" expected");
	if (numbers[kind] == PFM_SIM_BRANCH_NOT)
		return pfm_sim_trace_op(trace, PFM_SIM_BRANCH_NOT + lua_toboolean(L, -2), 0, 0);
	size = lua_isnil(L, -1) ? 8 : (uint32_t)lpfm_to_int(L, -1, site, 1, 65536);
	return pfm_sim_trace_op(trace, numbers[kind], lpfm_to_u64(L, -2, site), size);
}

/*
 * Calls the function, and adds the operation that it returns. Returns false if it returns nothing.
 */
static bool call(lua_State *L, const struct lpfm_site *site, int function, struct pfm_sim_trace *trace)
{
	uint64_t ip;
	bool failed;

	lua_pushvalue(L, function);
	lua_call(L, 0, 4);
	if (lua_isnil(L, -4)) {
		lua_pop(L, 4);
		return false;
	}
	lua_pushvalue(L, -4);
	ip = lpfm_to_u64(L, -1, site);
	lua_pop(L, 1);
	failed = pfm_sim_trace_instruction(trace, ip, 4) || (!lua_isnil(L, -3) && add_op(L, site, trace));
	if (failed)
		lpfm_bad(L, site, "%s", pfm_explain());
	lua_pop(L, 4);
	return true;
}

const void *lpfm_sim_call_trace(lua_State *L, const char *path, uint64_t *size)
{
	struct lpfm_site site = { .call = path, .field = "ops" };
	int function = lua_gettop(L);
	struct lpfm_trace *t;
	const void *bytes = NULL;
	size_t n = 0;

	if (!lua_isfunction(L, function))
		lpfm_bad(L, &site, "a function expected");
	luaL_checkstack(L, 16, "ops");
	t = new_trace(L);
	while (t->trace && call(L, &site, function, t->trace))
		;
	if (!t->trace || pfm_sim_trace_end(t->trace, &bytes, &n))
		lpfm_bad(L, &site, "%s", pfm_explain());
	*size = n;
	return bytes;
}

/* --- a trace from valgrind ------------------------------------------------------------------ */

/*
 * The descriptor that lackey_trace() reads; and one that becomes readable when the writer of the
 * text has ended, -1 if there is none.
 */
static _Thread_local struct pollfd text, writer;

/*
 * Returns true if there is no more to read: Ctrl-C came, or the writer has ended and all that it
 * wrote is read. The end of the text does not tell, as processes that the writer leaves running may
 * hold its descriptor open.
 */
static int at_end(void)
{
	struct pollfd both[] = { text, writer };
	int n;

	do {
		n = lpfm_interrupted() ? 0 : poll(both, 2, -1);
	} while (n < 0 && errno == EINTR);
	return n <= 0 || (!both[0].revents && !poll(&text, 1, 0));
}

/***
Reads what `valgrind --tool=lackey --trace-mem=yes` prints, to its end, and returns it as a trace. A
file with these bytes can be replayed by `{trace=file}` in a program of the simulated computer. The
command `lpfm trace` makes such a file. With `lpfm.proc.on_interrupt`, Ctrl-C ends the reading
early, and the trace contains what was read until then.
@function lpfm.lackey_trace
@int fd a descriptor to read from
@int[opt] ended a descriptor that is readable when the writer has ended, as `child:fd`: what the
writer leaves running may keep fd open
@treturn[1] string the trace's bytes
@return[2] nil
@treturn[2] string message
@treturn[2] int errno: EBADF, ENOMEM; ENODATA if there is no instruction in it
@usage
local pipe = io.popen("echo 'I  00400000,4'; echo ' L 1ffeff0,8'")
local bytes = assert(lpfm.lackey_trace(require("posix.stdio").fileno(pipe)))
pipe:close()
assert(bytes:sub(1, 8) == "lpfmtape")
*/
static int lackey_trace(lua_State *L)
{
	int fd = (int)lpfm_arg_int(L, 1, "lackey_trace", "fd", 0, 1 << 30);
	struct lpfm_trace *t = new_trace(L);
	const void *bytes = NULL;
	size_t size = 0;

	text = (struct pollfd){ .fd = fd, .events = POLLIN };
	writer = (struct pollfd){ .fd = -1, .events = POLLIN };
	/* fileno() of newer luaposix returns more than the number */
	if (lua_type(L, 2) == LUA_TNUMBER)
		writer.fd = (int)lpfm_arg_int(L, 2, "lackey_trace", "ended", 0, 1 << 30);
	if (!t->trace || pfm_sim_trace_lackey(t->trace, fd, at_end) ||
	    pfm_sim_trace_end(t->trace, &bytes, &size))
		return lpfm_fail(L, "lackey_trace");
	lua_pushlstring(L, bytes, size);
	return 1;
}

void lpfm_open_traces(lua_State *L)
{
	static const luaL_Reg functions[] = { { "lackey_trace", lackey_trace }, { NULL, NULL } };

	luaL_register(L, NULL, functions);
}
