-- SPDX-License-Identifier: MIT
--- The computer on which a measurement is made: its clock, its threads and CPUs, and how to wait there. A
-- simulated one (perfmon/sim.h) runs only while a caller waits, so the same code measures on both.
--
--    clock()             seconds
--    poll(list, seconds) waits for contexts and the like; gives those that are ready
--    process_of(tid)     the process of a thread; itself where /proc hides it; nil: there is none
--    ran_ns(tid, pid)    CPU time of a thread, or nil where there is no account of it
--    cpus()              the CPUs that are online
--    load_cpu(ctx, cpu)  loads a system-wide context on that CPU (specification 3.1.2)
--    pid_of(tid)         as process_of, but nil where /proc says nothing of it
-- @module pfm.measure.host

local lpfm = require "lpfm"
local proc = require "lpfm.proc"
local text_file = require "pfm.util.text_file"

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
   local line = text_file.line(("/proc/%d/task/%d/schedstat"):format(pid, tid))
   return line and tonumber(line:match("^(%d+)"))
end

function real.load_cpu(ctx, cpu)
   local before = proc.getaffinity()
   local ok, err, errno = proc.setaffinity(cpu)
   if not ok then return nil, ("CPU %d is not online, or may not be used here: %s"):format(cpu, err), errno end
   ok, err, errno = ctx:load()
   proc.setaffinity(before)
   return ok, err, errno
end

-- --- a simulated computer ------------------------------------------------------------------------

local STEP = 1 -- s of simulated time without an event, after which the host's signals are looked at

local function thread_of(machine, tid)
   for _, thread in ipairs(machine:threads()) do
      if thread.tid == tid then return thread end
   end
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

return host
