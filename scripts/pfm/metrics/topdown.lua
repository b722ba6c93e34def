-- SPDX-License-Identifier: MIT
local file = { text = "What becomes of the slots in which an operation could have been issued (top-down, level 1)." }

for i, model in ipairs(require "pfm.metrics.slots") do
   file[i] = { pmu = model.pmu, events = model.first.events, terms = model.first.terms, metrics = model.first.metrics }
end

return file
