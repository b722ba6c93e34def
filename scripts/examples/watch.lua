-- SPDX-License-Identifier: MIT
-- Faults, switches and migrations of a running process, each second. lpfm watch.lua PID [SECONDS]
local count, format = require "pfm.count", require "pfm.render"

local pid, seconds = tonumber(arg[1]), tonumber(arg[2] or math.huge)
if not pid or not seconds or seconds < 1 then error("a PID is expected, and perhaps a number of seconds", 0) end
local names = "task-clock,page-faults,context-switches,cpu-migrations"
print(("%10s %10s %12s %10s"):format("CPU", "faults", "switches", "moves"))
for second = 1, seconds do
   local target = { tids = { pid }, threads = true, seconds = 1, events = names }
   local ok, result = pcall(count.run, target)
   if not ok and second == 1 then error(result, 0) end
   if not ok or result.interrupted then return ok and 0 or print("no longer counted: " .. tostring(result)) end
   local busy, faults, switches, moves = result.events[1], result.events[2], result.events[3], result.events[4]
   print(("%9.1f%% %10s %12s %10s"):format(busy.value / result.elapsed / 1e7, format.number(faults.value),
      format.number(switches.value), format.number(moves.value)))
end
