-- SPDX-License-Identifier: MIT
--- Locks a file for this process: against other processes that lock it, and as long as it is open
-- here.
-- @module pfm.util.lock

local errno = require "posix.errno"
local fcntl = require "posix.fcntl"
local fileno = require("posix.stdio").fileno

--- Locks a file.
-- @function lock
-- @param file of `io.open`, open for writing
-- @treturn boolean false: another process has locked it
-- @treturn ?string why it is not locked even so, for instance as the file system has no locks
return function(file)
   local ok, why, code = fcntl.fcntl(fileno(file), fcntl.F_SETLK, { l_type = fcntl.F_WRLCK })
   local is_taken = code == errno.EAGAIN or code == errno.EACCES
   return not is_taken, not (ok or is_taken) and why or nil
end
