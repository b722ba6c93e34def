-- SPDX-License-Identifier: MIT
--- Cgroups by name: the folders below the hierarchy that perf_event counts by.
-- @module pfm.measure.cgroup

local nearest = require "pfm.util.nearest"
local text_file = require "pfm.util.text_file"

local cgroup = {}

-- Returns where cgroup v1 with the controller perf_event is mounted, else where v2 is.
local function hierarchy()
   local second
   for line in (text_file.all("/proc/mounts") or ""):gmatch("[^\n]+") do
      local path, kind, choices = line:match("^%S+ (%S+) (%S+) (%S+)")
      if kind == "cgroup" and ("," .. choices .. ","):find(",perf_event,", 1, true) then return path end
      if kind == "cgroup2" then second = second or path end
   end
   return second
end

local function is_folder(path)
   local posix_stat = require "posix.sys.stat"
   local stat = posix_stat.stat(path)
   return stat ~= nil and posix_stat.S_ISDIR(stat.st_mode) ~= 0
end

local function siblings(path)
   local out, parent = {}, path:match("^(.*)/[^/]*$")
   local ok, list = pcall(require("posix.dirent").dir, parent)
   for _, name in ipairs(ok and list or {}) do
      if name:sub(1, 1) ~= "." and is_folder(parent .. "/" .. name) then out[#out + 1] = name end
   end
   return out
end

--- Returns the folder of a cgroup.
-- @string name below the hierarchy, as "system.slice/cron.service", or the folder itself, from "/" on
-- @treturn[1] string
-- @return[2] nil
-- @treturn[2] string message
function cgroup.folder(name)
   local root = hierarchy()
   if not root then
      return nil, "cgroup: none of the mounted hierarchies has perf_event: 'mount -t cgroup2 none /sys/fs/cgroup' does"
   end
   local path = name:sub(1, #root) == root and name or root .. "/" .. name:gsub("^/+", "")
   path = path:gsub("/+$", "")
   if is_folder(path) then return path end
   return nil, ("cgroup: there is no '%s' below %s%s"):format(name, root,
      nearest.hint(path:match("[^/]*$"), siblings(path)))
end

return cgroup
