/* SPDX-License-Identifier: MIT */
/*
 * format.c - the methods of contexts for a format written in Lua: its errors, and questions to it.
 */
/***
@submodule context
*/
#include <errno.h>
#include <stdlib.h>

#include "base/args.h"
#include "base/marshal.h"
#include "base/object.h"
#include "base/result.h"
#include "context/context.h"
#include "format/register.h"

const char *lpfm_fmt_error(const struct lpfm_context *ctx)
{
	return ctx->use ? __atomic_load_n(&ctx->use->error, __ATOMIC_ACQUIRE) : NULL;
}

int lpfm_fmt_failure(lua_State *L, const struct lpfm_context *ctx, const char *call)
{
	const char *why = lpfm_fmt_error(ctx);

	return why ? lpfm_fail_errno(L, EIO, "%s: the format %s failed: %s", call, ctx->use->f->fmt.fmt_name,
				     why) : 0;
}

/***
Returns the error that ended the session of a context with a format written in Lua.
@function context:format_error
@treturn[1] string the error with its traceback
@return[2] nil, there was none
@usage
local ctx = assert(require("lpfm").create {})
assert(ctx:format_error() == nil)
ctx:close()
*/
static int context_format_error(lua_State *L)
{
	lua_pushstring(L, lpfm_fmt_error(lpfm_context_open(L, 1)));
	return 1;
}

/* An object that owns C memory until its contents have been converted into Lua values. */
struct box {
	struct lpfm_head	head;
	char			*bytes;
};

static void release(void *box)
{
	free(((struct box *)box)->bytes);
}

static const struct lpfm_class box_class = { "lpfm.box", release };

/***
Calls one of the functions in the table `calls` of a format written in Lua, with the context's self.
Arguments and results are copied: nil, booleans, numbers, strings, u64 objects, tables of these.
@function context:ask
@string name
@param ... arguments after self
@return[1] its results
@return[2] nil
@treturn[2] string message, with the traceback of an error in the function; the session goes on
@treturn[2] int errno: EIO (an error), EINVAL (there is no such function, or no format in Lua)
@raise on arguments that cannot be copied
@see lpfm.register_format
@usage
local lpfm = require "lpfm"
assert(lpfm.register_format { name = "answers", handler = function() return "RESET" end,
   calls = { twice = function(_, n) return 2 * n end } })
local ctx = assert(lpfm.create { format = "answers" })
assert(ctx:ask("twice", 21) == 42)
ctx:close()
assert(lpfm.unregister_format "answers")
*/
static int context_ask(lua_State *L)
{
	struct lpfm_site site = { .call = "ask" };
	struct lpfm_context *ctx = lpfm_context_open(L, 1);
	const char *name = lua_tostring(L, 2);
	struct box *box;
	int err;

	if (lua_type(L, 2) != LUA_TSTRING)
		lpfm_bad_value(L, &site, "name of a function", 2);
	lpfm_to_string(L, 2, &site);
	if (!ctx->use)
		return lpfm_fail_errno(L, EINVAL, "ask: the context has no format written in Lua");
	lpfm_marshal_pack(L, 3, lua_gettop(L) - 2, LPFM_DATA, &site);
	box = lpfm_object_new(L, sizeof(*box));
	lpfm_object_arm(L, box, &box_class);
	err = lpfm_fmt_ask(ctx->use, name, lua_tostring(L, -2), &box->bytes);
	if (err)
		return lpfm_fail_errno(L, err, "ask: %s", box->bytes ? box->bytes : "the context is gone");
	return lpfm_marshal_open(L, box->bytes);
}

static const luaL_Reg methods[] = {
	{ "ask", context_ask },
	{ "format_error", context_format_error },
	{ NULL, NULL }
};

void lpfm_open_format(lua_State *L)
{
	lpfm_class_new(L, &box_class, NULL, NULL);
	lpfm_class_methods(L, &lpfm_context_class, methods);
}
