/* SPDX-License-Identifier: MIT */
/* cdef.c - the declarations of cdef.h as a text, for LuaJIT's ffi.cdef. */
/***
The C declarations of the interface: a string, what LuaJIT's ffi.cdef takes. pfm.ffi declares them.

It is made from the headers when the module is built.

@module lpfm.cdef
@usage assert(require("lpfm.cdef"):find("pfm_read_pmds", 1, true))
*/
#include "base/module.h"

static const char cdef[] =
#include "cdef.inc"
;

LPFM_EXPORT int luaopen_lpfm_cdef(lua_State *L)
{
	lua_pushlstring(L, cdef, sizeof(cdef) - 1);
	return 1;
}
