-- SPDX-License-Identifier: MIT
-- Is one of two commands faster? CPU times of 10 runs: lpfm faster.lua 'gzip -1 <f' 'gzip -6 <f'
local count, format = require "pfm.count", require "pfm.render"

local runs, times = { {}, {} }, tonumber(arg[3] or 10)
if not arg[2] or not times or times < 2 then error("two commands, and perhaps 2 or more runs, are expected", 0) end
for i = 1, times do
   for k = 1, 2 do
      local command = { "/bin/sh", "-c", "exec " .. arg[k] .. " >/dev/null" }
      runs[k][i] = count.run { command = command, events = "task-clock" }
      if (runs[k][i].status or 0) % 128 > 125 then return runs[k][i].status end -- it was not run
   end
end
local a, b = count.merge(runs[1]).events[1], count.merge(runs[2]).events[1]
for k, e in ipairs { a, b } do
   print(("%s: %s, +- %s"):format(arg[k], format.time(e.value / 1e9), format.time(e.stddev / 1e9)))
end
local sure = math.abs(a.value - b.value) > 3 * math.sqrt(a.stddev ^ 2 + b.stddev ^ 2)
print(sure and ("the %s takes %.2f times as long"):format(a.value > b.value and "first" or "second",
   math.max(a.value, b.value) / math.min(a.value, b.value)) or "no difference that could not be chance")
