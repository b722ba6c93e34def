-- SPDX-License-Identifier: MIT
--- The file of a command: where it is, and whether the kernel lets it be measured.
-- @module pfm.measure.executable

local stat = require "posix.sys.stat"
local statvfs = require "posix.sys.statvfs"
local unistd = require "posix.unistd"

local executable = {}

local NOSUID = 2 -- ST_NOSUID of statvfs(3)

--- Finds a program as execvp(3) does.
-- @string name
-- @treturn ?string path
-- @usage print(require("pfm.measure.executable").find("sh"))
function executable.find(name)
   if name:find("/", 1, true) then return name end
   for folder in (os.getenv("PATH") or ""):gmatch("[^:]+") do
      if unistd.access(folder .. "/" .. name, "x") then return folder .. "/" .. name end
   end
end

local function has(mode, bit)
   return math.floor(mode / bit) % 2 == 1
end

local function gains_rights(path, its)
   local user = has(its.st_mode, stat.S_ISUID) and its.st_uid ~= unistd.geteuid()
   local group = has(its.st_mode, stat.S_ISGID) and has(its.st_mode, stat.S_IXGRP) and its.st_gid ~= unistd.getegid()
   local at = (user or group) and statvfs.statvfs(path)
   return at and not has(at.f_flag, NOSUID) and (user and "set-user-ID" or "set-group-ID")
end

--- Says why the kernel takes the counters from a command as it starts. Programs that the command
-- starts are not looked at.
-- @tparam {string,...} command
-- @treturn ?string a sentence; nil if the kernel does not
-- @usage print(require("pfm.measure.executable").obstacle { "true" }) --> nil
function executable.obstacle(command)
   local path = executable.find(command[1])
   local its = path and unistd.access(path, "x") and stat.stat(path)
   local rights = its and gains_rights(path, its)
   if rights then
      return ("%s is %s: the kernel takes the counters from it if it gets other rights as it starts"):format(path,
         rights)
   end
   if its and not unistd.access(path, "r") then
      return path .. " may be executed, but not read: the kernel takes the counters from it as it starts"
   end
end

return executable
