-- SPDX-License-Identifier: MIT
--- Lists what the library knows about a PMU model: its events, generic names and metrics.
-- @module repl.command.catalog

local lpfm = require "lpfm"
local metrics = require "pfm.metrics"

local catalog = {}

-- Returns the names of the events in order, and the unit masks of each.
local function names_and_masks(pmu)
   local all, err = lpfm.events(nil, { pmu = pmu, masks = true })
   if not all then error((err:gsub("^events: ", "")), 0) end
   local names, masks = {}, {}
   for _, name in ipairs(all) do
      local base, mask = name:match("^([^:]+):(.+)$")
      if base then
         table.insert(masks[base], mask)
      else
         names[#names + 1], masks[name] = name, {}
      end
   end
   return names, masks
end

-- Describes an event; if the event needs a unit mask, with its first one.
local function describe(name, masks, pmu)
   local event = lpfm.event(name, pmu)
   for _, mask in ipairs(event and {} or masks) do
      event = lpfm.event(name .. ":" .. mask, pmu)
      if event then break end
   end
   return event or { desc = "", masks = {}, modifiers = {}, counters = {} }
end

--- Lists the hardware events.
-- @string[opt] pmu a model
-- @treturn {table,...} `name`, `description`, `code`, `counters`, `masks`, `modifiers`
function catalog.events(pmu)
   local out = {}
   local names, masks = names_and_masks(pmu)
   for _, name in ipairs(names) do
      local event = describe(name, masks[name], pmu)
      if not event.software then
         out[#out + 1] = { name = name, description = event.desc, code = event.code, counters = event.counters,
            masks = event.masks, modifiers = event.modifiers }
      end
   end
   return out
end

-- Returns an event's name without its model.
local function short(event)
   return (event.name:gsub("^[%w_]+::", ""))
end

-- Returns the event or the formula over events that a generic name stands for.
local function expansion(event)
   if not event.formula then return short(event) end
   return (event.formula:gsub("%$(%d+)", function(i) return short(event.terms[tonumber(i)]) end))
end

--- Lists the generic names and PAPI's presets.
-- @string[opt] pmu a model
-- @treturn {table,...} `name`, `description`: the event or formula
function catalog.generic(pmu)
   local own, out = {}, {}
   for _, name in ipairs((lpfm.events(nil, { pmu = pmu }))) do own[name] = true end
   for _, name in ipairs((lpfm.events(nil, { pmu = pmu, generic = true }))) do
      local event = not own[name] and lpfm.event(name, pmu)
      local software = event and (event.software or event.terms and event.terms[1].software)
      if event and not software then out[#out + 1] = { name = name, description = expansion(event) } end
   end
   return out
end

--- Lists the metric groups, with their `formulas`: `name`, `formula`, `unit` and `text` of each.
-- @string[opt] pmu a model
-- @treturn {table,...} `name`, `description`, `formulas`, `reason` (why the PMU cannot count it)
function catalog.metrics(pmu)
   local out = {}
   for i, entry in ipairs(metrics.all(pmu)) do
      out[i] = { name = entry.name, description = entry.text, reason = entry.reason, formulas = {} }
      for k, m in ipairs(entry.group and entry.group.metrics or {}) do
         out[i].formulas[k] = { name = m.name:gsub("^%s+", ""), formula = m.formula, unit = m.unit, text = m.text }
      end
   end
   return out
end

--- Lists the PMU models.
-- @treturn {table,...} `name`, `description`, `counters`, `events`, `present`, `current`
function catalog.pmus()
   local out = {}
   for i, pmu in ipairs(lpfm.pmus()) do
      out[i] = { name = pmu.name, description = pmu.desc, counters = pmu.counters, events = pmu.events,
         present = pmu.present, current = pmu.current }
   end
   return out
end

return catalog
