/* SPDX-License-Identifier: MIT */
/* result.c - what a call returns to Lua: its result, or nil, a message and errno. */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/perfmon.h"
#include "base/result.h"

static int push_failure(lua_State *L, int err)
{
	lua_pushnil(L);
	lua_insert(L, -2);
	lua_pushinteger(L, err);
	return 3;
}

/* Returns the library's explanation of the failure, or the system's text for the errno. */
static const char *reason(int err)
{
	const char *text = pfm_explain();

	return *text ? text : strerror(err);
}

int lpfm_fail(lua_State *L, const char *call)
{
	int err = errno;

	lua_pushfstring(L, "%s: %s", call, reason(err));
	return push_failure(L, err);
}

int lpfm_true(lua_State *L)
{
	lua_pushboolean(L, 1);
	return 1;
}

int lpfm_result(lua_State *L, const char *call, int ret)
{
	return ret < 0 ? lpfm_fail(L, call) : lpfm_true(L);
}

int lpfm_fail_errno(lua_State *L, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	lua_pushvfstring(L, fmt, ap);
	va_end(ap);
	return push_failure(L, err);
}

int lpfm_timeout(lua_State *L)
{
	lua_pushnil(L);
	lua_pushliteral(L, "timeout");
	return 2;
}

/*
 * Returns the number of the element at which the call has stopped, from 1, and removes the mark
 * that the call has put on it (3.1.2). Returns 0 if no element is marked.
 */
static int marked_element(const struct lpfm_struct *rec, char *base, int n)
{
	for (int i = 0; i < n && rec->flags_offset >= 0; i++) {
		uint32_t flags, *at = (uint32_t *)(base + (size_t)i * rec->size + rec->flags_offset);

		flags = *at;
		*at &= ~PFM_REG_RETFL_MASK;
		if (PFM_REG_HAS_ERROR(flags))
			return i + 1;
	}
	return 0;
}

/* Pushes the failure that the vector has more bytes than a call accepts (4.4.2). */
static int fail_too_long(lua_State *L, const char *call, const struct lpfm_struct *rec, int n)
{
	pfarg_config_t cfg = { 0 };
	uint64_t max;

	if (pfm_get_config(&cfg))
		return lpfm_fail_errno(L, E2BIG, "%s: %d elements are too many", call, n);
	max = cfg.cf_arg_size_max;
	return lpfm_fail_errno(L, E2BIG,
		"%s: %d elements of %d bytes exceed the limit of %f bytes for one call: at most %f fit "
		"(arg_size_max, see lpfm.config)", call, n, (int)rec->size, (lua_Number)max,
		(lua_Number)(max / rec->size));
}

int lpfm_fail_vector(lua_State *L, const char *call, const struct lpfm_struct *rec, void *base, int n)
{
	int err = errno, element = marked_element(rec, base, n);

	if (err == E2BIG)
		return fail_too_long(L, call, rec, n);
	if (element)
		lua_pushfstring(L, "%s: element %d: %s", call, element, reason(err));
	else
		lua_pushfstring(L, "%s: %s", call, reason(err));
	return push_failure(L, err);
}
