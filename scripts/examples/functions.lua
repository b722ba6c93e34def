-- SPDX-License-Identifier: MIT
-- What does a piece of Lua cost? Several ways to build a long string: lpfm functions.lua
local count, format = require "pfm.count", require "pfm.render"

local ways = {
   { "s = s .. x", function() local s = "" for i = 1, 2e4 do s = s .. i end return s end },
   { "table.concat", function() local t = {} for i = 1, 2e4 do t[i] = i end return table.concat(t) end },
   { "string.rep", function() return ("12345"):rep(2e4) end },
}
for _, way in ipairs(ways) do
   collectgarbage()
   local result = count.call(way[2], "task-clock,page-faults")
   local time, faults = result.events[1].value, result.events[2].value
   print(("%-14s %12s %8s page faults"):format(way[1], format.time(tonumber(time) / 1e9), format.number(faults)))
end
