-- SPDX-License-Identifier: MIT
--- Locks a file for this process: against other processes that lock it, and as long as it is open here.
-- @module pfm.util.lock

local errno = require "posix.errno"
local fcntl = require "posix.fcntl"
local fileno = require("posix.stdio").fileno

--- Locks a file.
-- @function lock
-- @param file of `io.open`, open for writing
-- @treturn boolean false: another process has locked it; true also where the file system has no locks
return function(file)
   local _, _, code = fcntl.fcntl(fileno(file), fcntl.F_SETLK, { l_type = fcntl.F_WRLCK })
   return code ~= errno.EAGAIN and code ~= errno.EACCES
end
