/* SPDX-License-Identifier: MIT */
/* lpfm.c - the module. */
/***
perfmon2 from Lua: contexts, registers, event sets, messages, sampling buffers.

Fields have the names of the interface's structures without their prefix. 64-bit values are numbers,
read as signed, while that is exact, else `lpfm.u64` objects. Flags are names, numbers, or lists of
both. Calls that fail return nil, a message and errno; misuse raises an error.

@module lpfm
*/
#include <dlfcn.h>

#include "base/field.h"
#include "base/flags.h"
#include "base/u64.h"
#include "context/context.h"
#include "context/create.h"
#include "context/program.h"
#include "context/programming.h"
#include "context/vector.h"
#include "events/events.h"
#include "format/register.h"
#include "samples/buffer.h"
#include "sim/access.h"
#include "sim/sim.h"

/*
 * Lua unloads modules when a state closes. But libperfmon has a thread, and this module a signal
 * handler, so both libraries must stay loaded.
 */
static void keep_loaded(void *function)
{
	Dl_info info;

	if (dladdr(function, &info) && info.dli_fname)
		dlopen(info.dli_fname, RTLD_LAZY | RTLD_NODELETE);
}

/***
Explains a name, a function, an object or a module; a word finds the functions that mention it.
@function lpfm.help
@param[opt] what a string ("ctx:read_pmds", "pfm.count", "sampling") or a value of this module;
without, the modules are listed
@treturn string text
@usage assert(require("lpfm").help("read_pmds"):find("3.1.4", 1, true))
*/
static int lpfm_help(lua_State *L)
{
	lua_settop(L, 1);
	lua_getglobal(L, "require");
	lua_pushliteral(L, "pfm.doc");
	lua_call(L, 1, 1);
	lua_getfield(L, -1, "help");
	lua_pushvalue(L, 1);
	lua_call(L, 1, 1);
	return 1;
}

LPFM_EXPORT int luaopen_lpfm(lua_State *L)
{
	keep_loaded((void *)(uintptr_t)pfm_explain);
	keep_loaded((void *)(uintptr_t)luaopen_lpfm);
	lua_newtable(L);
	lpfm_open_u64(L);
	lpfm_open_flags(L);
	lpfm_open_errno(L);
	lpfm_open_vector(L);
	lpfm_open_context(L);
	lpfm_open_create(L);
	lpfm_open_registers(L);
	lpfm_open_program(L);
	lpfm_open_programming(L);
	lpfm_open_view(L);
	lpfm_open_evtsets(L);
	lpfm_open_message(L);
	lpfm_open_sigio(L);
	lpfm_open_format(L);
	lpfm_open_buffer(L);
	lpfm_open_machine(L, lpfm_push_sim);
	lpfm_open_register(L);
	lpfm_open_perfmonctl(L);
	lpfm_open_traces(L);
	lpfm_open_events(L);
	lpfm_set_function(L, "help", lpfm_help);
	lpfm_set_text(L, "_VERSION", "lpfm " LPFM_VERSION);
	return 1;
}
