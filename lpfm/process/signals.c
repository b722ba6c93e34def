/* SPDX-License-Identifier: MIT */
/* signals.c - signals by name. */
#include <signal.h>
#include <string.h>

#include "base/args.h"
#include "process/proc.h"

#define SIGNAL(name) { #name, SIG##name }

static const struct {
	const char	*name;
	int		value;
} signals[] = {
	SIGNAL(ABRT), SIGNAL(ALRM), SIGNAL(BUS), SIGNAL(CHLD), SIGNAL(CONT), SIGNAL(FPE), SIGNAL(HUP),
	SIGNAL(ILL), SIGNAL(INT), SIGNAL(IO), SIGNAL(KILL), SIGNAL(PIPE), SIGNAL(PROF), SIGNAL(PWR),
	SIGNAL(QUIT), SIGNAL(SEGV), SIGNAL(STOP), SIGNAL(SYS), SIGNAL(TERM), SIGNAL(TRAP),
	SIGNAL(TSTP), SIGNAL(TTIN), SIGNAL(TTOU), SIGNAL(URG), SIGNAL(USR1), SIGNAL(USR2),
	SIGNAL(VTALRM), SIGNAL(WINCH), SIGNAL(XCPU), SIGNAL(XFSZ),
};

int lpfm_to_signal(lua_State *L, int idx, const char *call)
{
	const char *name;

	if (lua_type(L, idx) == LUA_TNUMBER)
		return (int)lpfm_arg_int(L, idx, call, "signal", 0, SIGRTMAX);
	name = lpfm_check_string(L, idx);
	name += strncmp(name, "SIG", 3) ? 0 : 3;
	for (size_t i = 0; i < LPFM_COUNT(signals); i++)
		if (!strcmp(signals[i].name, name))
			return signals[i].value;
	return luaL_error(L, "%s: unknown signal '%s'", call, name);
}

const char *lpfm_signal_name(int sig)
{
	for (size_t i = 0; i < LPFM_COUNT(signals); i++)
		if (signals[i].value == sig)
			return signals[i].name;
	return NULL;
}
