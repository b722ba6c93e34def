/* SPDX-License-Identifier: MIT */
/* errno.c - lpfm.errno: numbers of the errors that calls return, by name. */
/***
@submodule lpfm
*/
#include <errno.h>

#include "base/errno.h"
#include "base/field.h"

#define ERROR(name) { #name, name }

static const struct {
	const char	*name;
	int		value;
} errors[] = {
	ERROR(E2BIG), ERROR(EACCES), ERROR(EAGAIN), ERROR(EBADF), ERROR(EBUSY), ERROR(ECHILD),
	ERROR(EEXIST), ERROR(EFAULT), ERROR(EINTR), ERROR(EINVAL), ERROR(EIO), ERROR(EMFILE),
	ERROR(ENFILE), ERROR(ENODATA), ERROR(ENODEV), ERROR(ENOENT), ERROR(ENOEXEC), ERROR(ENOMEM), ERROR(ENOSPC),
	ERROR(ENOSYS), ERROR(ENOTDIR), ERROR(ENXIO), ERROR(EOPNOTSUPP), ERROR(EPERM), ERROR(EPIPE),
	ERROR(ERANGE), ERROR(ESRCH), ERROR(ETIMEDOUT),
};

/***
Error numbers by name, to compare with the third result of a failed call. Those of the interface:
EINVAL (an argument or the state is not right), EBADF (no context), EBUSY (in use, or from the wrong CPU), EPERM, ESRCH
(no such thread), ENOMEM, E2BIG (the vector is too long), EFAULT, EMFILE, EIO (a format in Lua failed), EINTR (Ctrl-C).
@table lpfm.errno
@usage
local lpfm = require "lpfm"
local ctx = assert(lpfm.create {})
local ok, message, errno = ctx:start()
assert(not ok and errno == lpfm.errno.EINVAL)
ctx:close()
*/
void lpfm_open_errno(lua_State *L)
{
	lua_createtable(L, 0, LPFM_COUNT(errors));
	for (size_t i = 0; i < LPFM_COUNT(errors); i++)
		lpfm_set_number(L, errors[i].name, errors[i].value);
	lua_setfield(L, -2, "errno");
}
