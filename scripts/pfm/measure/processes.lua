-- SPDX-License-Identifier: MIT
--- The threads of running processes, and those that they create while they are measured. New
-- threads are found by polling /proc, which, unlike tracing the process, does not disturb it.
-- @module pfm.measure.processes

local proc = require "lpfm.proc"

local processes = {}
processes.__index = processes

--- s between looks.
processes.STEP = 0.1

--- Watches processes.
-- @tparam {int,...} pids
-- @treturn table
-- @usage processes.new { proc.getpid() }
function processes.new(pids)
   return setmetatable({ pids = pids, known = {} }, processes)
end

--- Returns true if a process is watched.
-- @int pid
-- @treturn bool
-- @usage processes.new({ 1 }):has(1) --> true
function processes:has(pid)
   for _, its in ipairs(self.pids) do
      if its == pid then return true end
   end
   return false
end

--- Returns the threads that were not noted yet.
-- @treturn {{tid=int,pid=int},...}
-- @usage #processes.new { proc.getpid() }:fresh() --> 1
function processes:fresh()
   local out = {}
   for _, pid in ipairs(self.pids) do
      for _, tid in ipairs(proc.threads(pid) or {}) do
         if not self.known[tid] then out[#out + 1] = { tid = tid, pid = pid } end
      end
   end
   return out
end

--- Marks a thread as known, so that it is not fresh any more; or as ended: its id may be reused.
-- @int tid
-- @bool lives
-- @usage local p = processes.new { proc.getpid() }
-- p:note(proc.gettid(), true)
-- return #p:fresh() --> 0
function processes:note(tid, lives)
   self.known[tid] = lives or nil
end

return processes
