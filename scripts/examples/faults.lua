-- SPDX-License-Identifier: MIT
-- Which command touches most memory? Page faults as bars: lpfm faults.lua 'ls /' 'ls -lR /etc' date
local count, plot = require "pfm.count", require "pfm.plot"

local bars = {}
if not arg[1] then error("commands are expected", 0) end
for i, line in ipairs(arg) do
   local result = count.run { command = { "/bin/sh", "-c", "exec " .. line .. " >/dev/null" }, events = "page-faults" }
   local status = result.status
   -- The shell has said that it cannot run the command.
   if status == 126 or status == 127 then return status end
   bars[i] = { line, tonumber(result.events[1].value) }
end
print(plot.bars(bars, { title = "page faults" }))
