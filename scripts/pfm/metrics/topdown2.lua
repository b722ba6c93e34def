-- SPDX-License-Identifier: MIT
local tables = require "pfm.util.tables"

local file = { text = "The slots of group topdown, each kind in two (top-down, level 2)." }

local function merged(first, second)
   local out = tables.copy(first)
   for name, event in pairs(second) do out[name] = event end
   return out
end

for _, model in ipairs(require "pfm.metrics.slots") do
   local first, second = model.first, model.second
   if second then
      file[#file + 1] = { pmu = model.pmu, events = merged(first.events, second.events),
         terms = tables.join(first.terms, second.terms), metrics = second.metrics }
   end
end

return file
