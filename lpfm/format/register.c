/* SPDX-License-Identifier: MIT */
/* register.c - sampling formats written in Lua, as scripts see them: 3.5.7 - 3.5.9. */
/***
@submodule lpfm
*/
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/args.h"
#include "base/flags.h"
#include "base/marshal.h"
#include "base/object.h"
#include "base/result.h"
#include "base/structs.h"
#include "format/register.h"
#include "perfmon/perfmon_nway_smpl.h"
#include "perfmon/perfmon_prog_smpl.h"
#include "perfmon/perfmon_stack_smpl.h"

#define HANDLES "lpfm.formats"

/* --- the formats of which this module can read the buffers ------------------------------------ */

static const struct {
	enum lpfm_format	format;
	const char		*name;
	pfm_uuid_t		uuid;
} formats[] = {
	{ LPFM_DFL_2X, PFM_DFL_SMPL_NAME, PFM_DFL_SMPL_UUID },
	{ LPFM_DFL_06, PFM_DEFAULT_SMPL_NAME, PFM_DEFAULT_SMPL_UUID },
	{ LPFM_NWAY, PFM_NWAY_SMPL_NAME, PFM_NWAY_SMPL_UUID },
	{ LPFM_STACK, PFM_STACK_SMPL_NAME, PFM_STACK_SMPL_UUID },
	{ LPFM_PROGRAM, PFM_PROG_SMPL_NAME, PFM_PROG_SMPL_UUID },
};

enum lpfm_format lpfm_format_kind(const char *name, const unsigned char *uuid)
{
	for (size_t i = 0; i < LPFM_COUNT(formats); i++)
		if (name ? !strcmp(name, formats[i].name) :
		    !memcmp(uuid, formats[i].uuid, sizeof(pfm_uuid_t)))
			return formats[i].format;
	return LPFM_RAW_BUFFER;
}

/* --- handles: a format is there as long as the state that registered it -------------------- */

struct format {
	struct lpfm_head	head;
	struct lpfm_luafmt	*f;		/* NULL after the format was unregistered */
};

/* Unregisters the format. Returns 0, or -1 with errno if it is in use. */
static int drop(struct format *h)
{
	struct lpfm_luafmt *f = h->f;

	if (f && f->added && pfm_remove_format(&f->fmt))
		return -1;
	h->f = NULL;
	if (f)
		lpfm_luafmt_put(f);
	return 0;
}

/* Unregisters the format when its script ends. A format that is in use stays registered. */
static void release(void *format)
{
	drop(format);
}

static const struct lpfm_class format_class = { "lpfm.format", release };

/* --- registering ---------------------------------------------------------------------------- */

static const char *const callbacks[] = { "validate", "getsize", "init", "handler", "restart", "exit" };

/* The options of register_format, except the callbacks. */
struct request {
	const char	*name, *base;
	pfm_uuid_t	uuid;
	bool		has_uuid, getsize, restart, handler;
	uint32_t	flags, version, msgq_depth;
};

static bool is_callback(const char *key)
{
	for (size_t i = 0; i < LPFM_COUNT(callbacks); i++)
		if (!strcmp(key, callbacks[i]))
			return true;
	return false;
}

static const char *text_at(lua_State *L, int idx, const struct lpfm_site *site, size_t max)
{
	if (lua_type(L, idx) != LUA_TSTRING || !lua_objlen(L, idx) || lua_objlen(L, idx) > max)
		lpfm_bad(L, site, "a string of 1 to %d bytes expected", (int)max);
	return lpfm_to_string(L, idx, site);
}

static void check_calls(lua_State *L, int idx, const struct lpfm_site *site)
{
	if (!lua_istable(L, idx))
		lpfm_bad_value(L, site, "table of functions", idx);
	for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1))
		if (lua_type(L, -2) != LUA_TSTRING || !lua_isfunction(L, -1))
			lpfm_bad(L, site, "functions by name expected");
}

/* Stores the value on top, a callback or the table of calls, in the table at index code. */
static void read_function(lua_State *L, const char *key, struct request *req, int code,
			  const struct lpfm_site *site)
{
	if (!strcmp(key, "calls"))
		check_calls(L, lua_gettop(L), site);
	else if (!lua_isfunction(L, -1))
		lpfm_bad_value(L, site, "function", lua_gettop(L));
	lua_pushvalue(L, -1);
	lua_setfield(L, code, key);
	req->getsize |= !strcmp(key, "getsize");
	req->handler |= !strcmp(key, "handler");
	req->restart |= !strcmp(key, "restart");
}

static void read_field(lua_State *L, const char *key, struct request *req, int code, struct lpfm_site *site)
{
	int idx = lua_gettop(L);

	site->field = key;
	if (is_callback(key) || !strcmp(key, "calls")) {
		read_function(L, key, req, code, site);
	} else if (!strcmp(key, "name")) {
		req->name = text_at(L, idx, site, PFM_FMT_NAME_LEN - 1);
	} else if (!strcmp(key, "base")) {
		req->base = text_at(L, idx, site, PFM_FMT_NAME_LEN - 1);
	} else if (!strcmp(key, "uuid")) {
		req->has_uuid = lpfm_parse_uuid(text_at(L, idx, site, 64), req->uuid);
		if (!req->has_uuid)
			lpfm_bad_value(L, site, "UUID", idx);
	} else if (!strcmp(key, "flags")) {
		req->flags = lpfm_to_flags(L, idx, site, lpfm_fmt_flags);
	} else if (!strcmp(key, "version")) {
		req->version = (uint32_t)lpfm_to_int(L, idx, site, 0, UINT32_MAX);
	} else if (!strcmp(key, "msgq_depth")) {
		req->msgq_depth = (uint32_t)lpfm_to_int(L, idx, site, 1, 1024);
	} else {
		site->field = NULL;
		lpfm_bad(L, site, "unknown field '%s'", key);
	}
	site->field = NULL;
}

/*
 * Makes a UUID from two FNV-1a sums of the name, so that it is the same wherever the format is
 * registered.
 */
static void name_uuid(const char *name, unsigned char *uuid)
{
	uint64_t sum[2] = { 0xcbf29ce484222325ULL, 0x84222325cbf29ce4ULL };

	for (int i = 0; i < 2; i++)
		for (const char *c = name; *c; c++)
			sum[i] = (sum[i] ^ (unsigned char)*c) * 0x100000001b3ULL;
	memcpy(uuid, sum, sizeof(sum));
}

static void check_request(lua_State *L, struct request *req, const struct lpfm_site *site)
{
	enum lpfm_format base = req->base ? lpfm_format_kind(req->base, NULL) : LPFM_NO_BUFFER;

	if (!req->name || !req->handler)
		lpfm_bad(L, site, "field '%s' is missing", req->name ? "handler" : "name");
	if (lpfm_parse_uuid(req->name, (pfm_uuid_t){ 0 }))
		lpfm_bad(L, site, "a name that reads as a UUID names no format");
	if (base == LPFM_RAW_BUFFER || base == LPFM_STACK || base == LPFM_PROGRAM)
		lpfm_bad(L, site, "field 'base': default, default-0.6 or n-way expected, got '%s'", req->base);
	if (req->base && req->getsize)
		lpfm_bad(L, site, "getsize does not go with base: the base format determines the size");
	if (!req->has_uuid)
		name_uuid(req->name, req->uuid);
}

/* Reads the options, and pushes the callbacks of the table at 1, marshalled. */
static void read_request(lua_State *L, struct request *req)
{
	struct lpfm_site site = { .call = "register_format" };

	if (!lua_istable(L, 1))
		lpfm_bad_value(L, &site, "table", 1);
	lua_settop(L, 1);
	lua_newtable(L);
	for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) {
		read_field(L, lpfm_field_name(L, -2, &site), req, 2, &site);
	}
	check_request(L, req, &site);
	lpfm_marshal_pack(L, 2, 1, LPFM_CODE, &site);
}

static bool describe(struct lpfm_luafmt *f, const struct request *req)
{
	f->fmt.fmt_name = strdup(req->name);
	memcpy(f->fmt.fmt_uuid, req->uuid, sizeof(f->fmt.fmt_uuid));
	f->fmt.fmt_flags = req->flags;
	f->fmt.fmt_version = req->version;
	f->fmt.fmt_msgq_depth = req->msgq_depth;
	f->own_restart = req->restart;
	f->fmt.fmt_ops = &lpfm_fmt_ops;
	if (!req->base)
		return f->fmt.fmt_name;
	f->base = pfm_hold_format(req->base, NULL);
	if (!f->base)
		return false;
	f->fmt.fmt_arg_size = f->base->fmt_arg_size;
	if (f->fmt.fmt_msgq_depth < f->base->fmt_msgq_depth)
		f->fmt.fmt_msgq_depth = f->base->fmt_msgq_depth;
	return f->fmt.fmt_name;
}

/* Pushes nil, "call: why", err; if why is NULL, memory has run out. Frees why. */
static int fail_freeing(lua_State *L, const char *call, int err, char *why)
{
	char text[2048];

	strncpy(text, why ? why : "not enough memory", sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	free(why);
	return lpfm_fail_errno(L, why ? err : ENOMEM, "%s: %s", call, text);
}

static int push_result(lua_State *L, const struct lpfm_luafmt *f)
{
	lpfm_push_uuid(L, f->fmt.fmt_uuid);
	return 1;
}

/***
Registers a sampling format written in Lua, for the machines in user space (specification 3.5.7,
3.5.8).

The functions of a format run during the overflow, in the thread that handles it. So a format has a
Lua state of its own. When it is registered its functions are copied there, with the values of the
local variables they use: numbers, strings, tables, other functions. From then on the copies are
independent of the script. The only globals are the standard libraries without io, and `u64`;
`require "lpfm"` raises an error.

Only `handler` must be there. `self` is a table of the context's own: `self.arg` is the `format_arg`
of `lpfm.create`, `self.flags` the context's flags, `self.num_pmds` the number of PMDs, `self.buf`
the sampling buffer if there is one.

- validate(self): refuses the context by returning false, or nil and a message, or by raising
  (specification 3.5.10)
- getsize(self): bytes of the buffer; 0, or without getsize: no buffer (specification 3.5.11)
- init(self): a context was created (specification 3.5.12)
- handler(self, overflow): a PMD overflowed (specification 3.5.14). overflow, the same table each
  time, has ovfl_pmd, set, last_reset, value, eventid, notify (its OVFL_NOTIFY), tstamp (ns), ip,
  pid, tid, cpu; pmds: the values of its smpl_pmds by number. Returns any of "NOTIFY" (send the
  message, if the PMD has OVFL_NOTIFY), "RESET" (the PMD and its reset_pmds, short), "BLOCK",
  "MASK"; nothing: go on
- restart(self, active): `context:restart` was called (specification 3.5.15). Returns "RESET" (a
  long reset of what overflowed), "MASK", or both. A format without restart behaves as if it
  returned "RESET"
- exit(self): the context is gone; perhaps in another thread, and a moment after `context:close`
  (specification 3.5.13)
- calls: query functions by name, for `context:ask`

base names a format that keeps samples in its buffer: "default", "default-0.6" or "n-way". In the
handler, self.buf:record() stores a sample in the buffer and returns what that format wants to be
done. self.buf:restart(active) empties the buffer; a format without restart does the same.
ctx:buffer() shows the samples as usual, and lpfm.create takes buf_size, buf_flags and regions.

self.buf:get(type, offset) reads from the buffer. In a format without base, self.buf:put(type,
offset, value) and self.buf:write(offset, string) write to it. Types are u8, u16, u32, u64, double.
#self.buf is its size.

An error in handler or restart ends the session: monitoring is masked, a message is sent, and from
then on ctx:read, ctx:restart and the like return nil, the error with its traceback, and EIO;
ctx:format_error() returns it, too. A call that takes more than 100 million instructions is such an
error.
@function lpfm.register_format
@tparam table format
@string format.name its name
@string[opt] format.uuid made from the name if left out
@func format.handler called at each overflow
@string[opt] format.base a format that records: "default", "default-0.6" or "n-way"
@func[opt] format.validate
@func[opt] format.getsize
@func[opt] format.init
@func[opt] format.restart
@func[opt] format.exit
@tparam[opt] table format.calls query functions by name
@tparam[opt] {string,...} format.flags NOSET: for contexts with a single event set
@int[opt] format.version
@int[opt=1] format.msgq_depth messages that can wait
@treturn[1] string the format's UUID, made from the name if none was given
@return[2] nil
@treturn[2] string message
@treturn[2] int errno: EBUSY (the name or UUID is taken), EINVAL (the functions cannot be taken
over)
@raise on wrong types, unknown fields, and functions that use what cannot leave the script
(userdata)
@usage
local lpfm = require "lpfm"
assert(lpfm.register_format {
   name = "hot-spots",
   init = function(self) self.hits = {} end,
   handler = function(self, overflow)
      self.hits[overflow.ip] = (self.hits[overflow.ip] or 0) + 1
      return "RESET"
   end,
   calls = { hits = function(self) return self.hits end },
})
local ctx = assert(lpfm.create { format = "hot-spots" })
assert(next(ctx:ask("hits")) == nil)
ctx:close()
assert(lpfm.unregister_format "hot-spots")
*/
static int register_format(lua_State *L)
{
	struct request req = { 0 };
	struct format *h;
	char *why;

	read_request(L, &req);
	h = lpfm_object_new(L, sizeof(*h));
	lpfm_object_arm(L, h, &format_class);
	h->f = lpfm_luafmt_new(lua_tostring(L, -2), &why);
	if (!h->f)
		return fail_freeing(L, "register_format", EINVAL, why);
	if (!describe(h->f, &req))
		return lpfm_fail_errno(L, ENOMEM, "register_format: not enough memory");
	lpfm_registry_table(L, HANDLES);
	lua_getfield(L, -1, req.name);
	if (!lua_isnil(L, -1))
		return lpfm_fail_errno(L, EBUSY, "register_format: '%s' is registered", req.name);
	lua_pushvalue(L, -3);
	lua_setfield(L, -3, req.name);
	if (!pfm_add_format(&h->f->fmt)) {
		h->f->added = true;
		return push_result(L, h->f);
	}
	lua_pushnil(L);
	lua_setfield(L, -3, req.name);
	return lpfm_fail(L, "register_format");
}

/*
 * Finds the handle, in the table on top, of a format by its name or UUID, and pushes name and
 * handle; pushes nothing if there is none.
 */
static struct format *find_handle(lua_State *L, const char *text)
{
	pfm_uuid_t uuid = { 0 };
	bool by_uuid = lpfm_parse_uuid(text, uuid);

	for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
		struct format *h = lpfm_object_test(L, -1, &format_class);

		if (h && h->f && (by_uuid ? !memcmp(h->f->fmt.fmt_uuid, uuid, sizeof(uuid)) :
				  !strcmp(h->f->fmt.fmt_name, text)))
			return h;
	}
	return NULL;
}

/***
Unregisters a format that this script registered (specification 3.5.9).
@function lpfm.unregister_format
@string format its name or UUID
@treturn[1] boolean true
@return[2] nil
@treturn[2] string message
@treturn[2] int errno: EBUSY (contexts use it), EINVAL (there is none)
@usage
local lpfm = require "lpfm"
assert(lpfm.register_format { name = "short-lived", handler = function() return "RESET" end })
assert(lpfm.unregister_format "short-lived")
*/
static int unregister_format(lua_State *L)
{
	struct lpfm_site site = { .call = "unregister_format" };
	const char *name = lua_tostring(L, 1);
	struct format *h;

	if (lua_type(L, 1) != LUA_TSTRING)
		lpfm_bad_value(L, &site, "name or UUID of a format", 1);
	lpfm_registry_table(L, HANDLES);
	h = find_handle(L, name);
	if (!h)
		return lpfm_fail_errno(L, EINVAL, "unregister_format: no format '%s' was registered here", name);
	if (drop(h))
		return lpfm_fail(L, "unregister_format");
	lua_pop(L, 1);
	lua_pushnil(L);
	lua_rawset(L, -3);
	return lpfm_true(L);
}

static const luaL_Reg functions[] = {
	{ "register_format", register_format },
	{ "unregister_format", unregister_format },
	{ NULL, NULL }
};

void lpfm_open_register(lua_State *L)
{
	lpfm_class_new(L, &format_class, NULL, NULL);
	luaL_newmetatable(L, HANDLES);
	lua_pop(L, 1);
	luaL_register(L, NULL, functions);
}
