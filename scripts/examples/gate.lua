-- SPDX-License-Identifier: MIT
-- For CI: fails when a command exceeds its budget: lpfm gate.lua page-faults 20000 make -s test
local count, format = require "pfm.count", require "pfm.render"

local event, limit = arg[1], arg[3] and tonumber(arg[2]) or error("an event, its limit and a command are expected", 0)
local result = count.run { command = { unpack(arg, 3) }, events = event, threads = true }
if result.events[2] then error(event .. ": one event is expected, since there is one limit", 0) end
local n = result.events[1].value
if not n then error(event .. ": " .. tostring(result.events[1].reason), 0) end
print(("%s %s, %s allowed"):format(format.number(n), event, format.number(limit)))
return n <= limit and result.status or 1
