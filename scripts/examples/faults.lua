-- SPDX-License-Identifier: MIT
-- Which of some commands touches most memory? Page faults as bars: lpfm faults.lua 'ls /' 'ls -lR /etc' 'date'
local count, plot = require "pfm.count", require "pfm.plot"

local bars = {}
for i, line in ipairs(arg) do
   local result = count.run { command = { "/bin/sh", "-c", "exec " .. line .. " >/dev/null" }, events = "page-faults" }
   bars[i] = { line, tonumber(result.events[1].value) }
end
print(plot.bars(bars, { title = "page faults" }))
