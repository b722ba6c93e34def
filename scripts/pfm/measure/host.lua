-- SPDX-License-Identifier: MIT
--- The computer on which a measurement is made: its clock, its threads and CPUs, and how to wait
-- there. A simulated one (perfmon/sim.h) runs only while a caller waits, so the same code measures
-- on both.
--
--    clock()             seconds
--    poll(list, seconds) waits for contexts and the like; gives those that are ready
--    process_of(tid)     the process of a thread; itself where /proc hides it; nil: there is none
--    ran_ns(tid, pid)    CPU time of a thread, or nil where there is no account of it
--    cpus()              the CPUs that are online
--    load_cpu(ctx, cpu)  loads a system-wide context on that CPU (specification 3.1.2)
--    pid_of(tid)         as process_of, but nil where /proc says nothing of it
--    owns_proc()         false in a PID namespace with the /proc of another one, where /proc/PID is
--                        another process than PID
--    check()             raises an error where owns_proc() is false
-- @module pfm.measure.host

local lpfm = require "lpfm"
local nearest = require "pfm.util.nearest"
local proc = require "lpfm.proc"
local text_file = require "pfm.util.text_file"
local tables = require "pfm.util.tables"

local host = {}

-- --- this computer -------------------------------------------------------------------------------

local real = { clock = proc.clock, cpus = proc.cpus }

function real.poll(list, seconds)
   return lpfm.poll(list, seconds) or {}
end

function real.pid_of(tid)
   local text = text_file.all(("/proc/%d/status"):format(tid)) or ""
   return tonumber(text:match("\nTgid:%s*(%d+)"))
end

function real.process_of(tid)
   local pid = real.pid_of(tid)
   if pid then return pid end
   local ok, _, errno = proc.kill(tid, 0)
   if ok or errno == lpfm.errno.EPERM then return tid end
end

function real.ran_ns(tid, pid)
   local line = pid and text_file.line(("/proc/%d/task/%d/schedstat"):format(pid, tid))
   return line and tonumber(line:match("^(%d+)"))
end

function real.load_cpu(ctx, cpu)
   local before, err, errno = proc.getaffinity()
   if not before then return nil, err, errno end
   local ok
   ok, err, errno = proc.setaffinity(cpu)
   if not ok then return nil, ("CPU %d is not online, or may not be used here: %s"):format(cpu, err), errno end
   ok, err, errno = ctx:load()
   proc.setaffinity(before)
   return ok, err, errno
end

function real.owns_proc()
   local there = (text_file.line("/proc/self/stat") or ""):match("^%d+")
   return not there or tonumber(there) == proc.getpid(), there
end

function real.check()
   local ours, there = real.owns_proc()
   if ours then return end
   error(("/proc is that of another PID namespace, where this process is %s, not %d: mount one of this namespace "
      .. "at /proc, for example in a mount namespace"):format(there, proc.getpid()), 0)
end

-- --- a simulated computer ------------------------------------------------------------------------

local STEP = 1 -- s of simulated time without an event, after which the host's signals are looked at

local function thread_of(machine, tid)
   return select(2, tables.find(machine:threads(), tid, "tid"))
end

-- Simulated time passes only in this function.
local function sim_poll(machine, list, seconds)
   local ready = lpfm.poll(list, 0) or {}
   if #ready > 0 then return ready end
   machine:run { until_message = true, ns = math.max(1, math.floor(math.min(seconds or STEP, STEP) * 1e9 + 0.5)) }
   return lpfm.poll(list, 0) or {}
end

local function sim_cpus(machine)
   local out = {}
   while machine:truth { cpu = #out } do out[#out + 1] = #out end
   return out
end

local function simulated(machine)
   return {
      sim = machine,
      clock = function() return machine:time() / 1e9 end,
      poll = function(list, seconds) return sim_poll(machine, list, seconds) end,
      process_of = function(tid) return (thread_of(machine, tid) or {}).pid end,
      pid_of = function() return nil end,
      owns_proc = function() return true end,
      check = function() end,
      ran_ns = function(tid) return (thread_of(machine, tid) or {}).ran end,
      cpus = function() return sim_cpus(machine) end,
      load_cpu = function(ctx, cpu)
         local ok, err, errno = machine:set("tool_cpu", cpu)
         if not ok then return nil, err, errno end
         return ctx:load(cpu)
      end,
   }
end

--- Returns true if the clock shows a time, to the nearest ns: sums and differences of seconds are a
-- little more or less.
-- @number now of the clock
-- @number time
-- @treturn bool
-- @usage host.is_due(0.3, 0.1 + 0.2) --> true
function host.is_due(now, time)
   return now > time - 0.5e-9
end

--- Returns what `lpfm.machine` returns; raises the reason if nothing can be measured.
-- @treturn table
-- @usage print(host.machine().name)
function host.machine()
   local machine, err = lpfm.machine()
   if not machine then error((err:gsub("^machine: ", "")), 0) end
   return machine
end

--- Returns the name of a simulated machine, by which what was counted there is marked.
-- @return string its name, or nil: the machine is real
-- @usage print(host.simulated())
function host.simulated()
   local name = host.machine().name
   return name:find("^sim") and name or nil
end

--- Returns the computer that contexts are created on now.
-- @treturn table of the functions above; `sim` is the simulated machine where it is one
-- @usage host.now().clock()
function host.now()
   local machine = host.machine()
   return machine.run and simulated(machine) or real
end

local FIRST_NAMESPACE = "pid:[4026531836]" -- PID_NS_INIT_INO in linux/nsfs.h

--- Says what has the process number 0 in samples of CPUs: the idle task, and in a PID namespace
-- other than the first all processes outside of it.
-- @treturn string "idle", or "idle or outside"
-- @usage print(host.number_zero())
function host.number_zero()
   local namespace = require("posix.unistd").readlink "/proc/self/ns/pid"
   return (host.now().sim or namespace == FIRST_NAMESPACE) and "idle" or "idle or outside"
end

-- --- commands and cgroups ------------------------------------------------------------------------

local NOSUID = 2 -- ST_NOSUID of statvfs(3)

--- Finds a program as execvp(3) does.
-- @string name
-- @treturn ?string path
-- @usage print(host.find("sh"))
function host.find(name)
   if name:find("/", 1, true) then return name end
   local unistd = require "posix.unistd"
   for folder in (os.getenv("PATH") or ""):gmatch("[^:]+") do
      if unistd.access(folder .. "/" .. name, "x") then return folder .. "/" .. name end
   end
end

local function has(mode, bit)
   return math.floor(mode / bit) % 2 == 1
end

local function gains_rights(path, its)
   local stat, unistd = require "posix.sys.stat", require "posix.unistd"
   local user = has(its.st_mode, stat.S_ISUID) and its.st_uid ~= unistd.geteuid()
   local group = has(its.st_mode, stat.S_ISGID) and has(its.st_mode, stat.S_IXGRP) and its.st_gid ~= unistd.getegid()
   local at = (user or group) and require("posix.sys.statvfs").statvfs(path)
   return at and not has(at.f_flag, NOSUID) and (user and "set-user-ID" or "set-group-ID")
end

--- Says why the kernel takes the counters from a command as it starts. Programs that the command
-- starts are not looked at.
-- @tparam {string,...} command
-- @treturn ?string a sentence; nil if the kernel does not
-- @usage print(host.obstacle { "true" }) --> nil
function host.obstacle(command)
   -- counting needs no luaposix
   local stat, unistd = require "posix.sys.stat", require "posix.unistd"
   local path = host.find(command[1])
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
   local stat = require "posix.sys.stat"
   local its = stat.stat(path)
   return its ~= nil and stat.S_ISDIR(its.st_mode) ~= 0
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
-- @string name below the hierarchy, as "system.slice/cron.service", or the folder itself, from "/"
-- on
-- @treturn[1] string
-- @return[2] nil
-- @treturn[2] string message
function host.cgroup(name)
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

return host
