-- SPDX-License-Identifier: MIT
-- The ten source lines that cost most, with their text: lpfm script hotlines.lua
local symbols = require "pfm.symbols"

local cost, places, total = {}, {}, 0
for s in (samples or error("lpfm script runs this", 0))() do -- luacheck: ignore
   local file, line = symbols.line(s.where)
   local place = file and file .. ":" .. line or s.symbol
   if not cost[place] then places[#places + 1] = place end
   cost[place], total = (cost[place] or 0) + s.period, total + s.period
end
table.sort(places, function(a, b) return cost[a] > cost[b] end)
for i = 1, math.min(#places, 10) do
   local path, number = places[i]:match("^(.*):(%d+)$")
   local file, text = path and io.open(path), ""
   for _ = 1, file and number or 0 do text = file:read("*l") end
   print(("%5.1f%%  %-20s %s"):format(cost[places[i]] / total * 100, places[i]:match("[^/]*$"), text:gsub("^%s+", "")))
end
