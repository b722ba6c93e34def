-- SPDX-License-Identifier: MIT
-- Which part of a script costs what? It marks its regions and measures itself: lpfm regions.lua
-- Or the same marks, measured from outside: lpfm stat --regions lpfm regions.lua
local region, format = require "pfm.region", require "pfm.render"

region.begin "task-clock,page-faults"
local list = region("fill", function()
   local t = {}
   for i = 1, 3e5 do t[i] = math.random() end
   return t
end)
region("sort", table.sort, list)
region("join", table.concat, list, " ")
for _, r in ipairs((region.results() or { regions = {} }).regions) do
   print(("%-5s %9s %7d page faults"):format(r.name, format.time(r.events[1].value / 1e9), r.events[2].value))
end
