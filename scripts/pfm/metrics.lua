-- SPDX-License-Identifier: MIT
--- Metric groups: sets of events and formulas over them, a file each in pfm/metrics.
-- A file returns `text` and, in its array part, variants: `events` (variable to event name), `metrics` (name,
-- formula, unit) and `pmu`, a Lua pattern for the models it is made for. The first variant whose events the
-- model has counts.
-- @module pfm.metrics

local lpfm = require "lpfm"
local nearest = require "pfm.util.nearest"

local metrics = {}

local names = { "cpi", "branch", "cache", "tlb", "memory", "cycles", "topdown" }

local function current_pmu()
   for _, pmu in ipairs(lpfm.pmus()) do
      if pmu.current then return pmu.name end
   end
end

-- Variables in a fixed order, so that events have one.
local function variables(variant)
   local out = {}
   for name in pairs(variant.events) do out[#out + 1] = name end
   table.sort(out)
   return out
end

local function missing_event(variant, pmu)
   for _, name in ipairs(variables(variant)) do
      local event, why = lpfm.event(variant.events[name], pmu)
      if not event then return (why:gsub("^event: ", "")) end
   end
end

local function compile(formula, where)
   local chunk = assert(loadstring("return " .. formula, "=" .. where))
   return function(values) return setfenv(chunk, values)() end
end

local function build(name, file, variant, pmu)
   local group = { name = name, text = file.text, pmu = pmu, variables = variables(variant), events = {}, metrics = {} }
   for i, variable in ipairs(group.variables) do group.events[i] = variant.events[variable] end
   for i, m in ipairs(variant.metrics) do
      local compute = compile(m[2], name .. ": " .. m[1])
      group.metrics[i] = { name = m[1], formula = m[2], unit = m[3] or "", compute = compute }
   end
   return group
end

--- The names of all groups that have a file.
-- @treturn {string,...}
-- @usage
-- print(table.concat(metrics.names(), " "))
function metrics.names()
   return { unpack(names) }
end

--- A group as the PMU has it.
-- @string name
-- @string[opt] pmu another model than the machine's
-- @treturn[1] table `name`, `text`, `pmu`, `variables`, `events` (in the same order), `metrics` (`name`, `formula`,
-- `unit`, `compute`)
-- @return[2] nil
-- @treturn[2] string message
-- @usage require("pfm.metrics").group("cpi", "skl").events
function metrics.group(name, pmu)
   local ok, file = pcall(require, "pfm.metrics." .. name)
   if not ok then
      local hint = nearest.hint(name, names)
      if hint == "" then hint = "; there are " .. table.concat(names, ", ") end
      return nil, ("no metric group '%s'%s"):format(name, hint)
   end
   pmu = pmu or current_pmu()
   local why
   for _, variant in ipairs(file) do
      if not variant.pmu or pmu:find(variant.pmu) then
         local lacking = missing_event(variant, pmu)
         if not lacking then return build(name, file, variant, pmu) end
         why = why or lacking
      end
   end
   return nil, ("metric group '%s' is not for PMU %s%s"):format(name, pmu, why and ": " .. why or "")
end

--- All groups, those that the PMU cannot do with the reason.
-- @string[opt] pmu another model than the machine's
-- @treturn {table,...} `name`, `text`, and `group` or `reason`
-- @usage
-- for name in pairs(metrics.all("skl")) do print(name) end
function metrics.all(pmu)
   local out = {}
   for i, name in ipairs(names) do
      local group, why = metrics.group(name, pmu)
      out[i] = { name = name, text = require("pfm.metrics." .. name).text, group = group,
         reason = why and why:gsub("^metric group '[^']*' is ", "") }
   end
   return out
end

--- The groups as lines of text.
-- @string[opt] pmu another model than the machine's
-- @treturn {string,...}
-- @usage
-- print(#metrics.list("skl"))
function metrics.list(pmu)
   local lines = {}
   for _, entry in ipairs(metrics.all(pmu)) do
      lines[#lines + 1] = ("  %-9s %s"):format(entry.name, entry.text)
      local computed = {}
      for i, m in ipairs(entry.group and entry.group.metrics or {}) do computed[i] = m.name:gsub("^%s+", "") end
      lines[#lines + 1] = ("  %-9s %s"):format("", entry.group and "-> " .. table.concat(computed, ", ")
         or "not here: " .. entry.reason)
   end
   return lines
end

local function finite(x)
   return type(x) == "number" and x == x and x ~= math.huge and x ~= -math.huge
end

--- The metrics of a group.
-- @tparam table group
-- @tparam table counts by variable, or in the order of `group.events`
-- @treturn {table,...} `name`, `value` (nil where a division by zero leaves none), `unit`
-- @usage
-- local group = metrics.group("cpi", "skl")
-- print(metrics.evaluate(group, { 200, 100, 100 })[1].value)
function metrics.evaluate(group, counts)
   local values, out = {}, {}
   for i, variable in ipairs(group.variables) do
      values[variable] = tonumber(counts[variable] or counts[i])
      if not values[variable] then error(("no count for %s (%s)"):format(variable, group.events[i]), 2) end
   end
   for i, m in ipairs(group.metrics) do
      local value = m.compute(values)
      out[i] = { name = m.name, unit = m.unit, value = finite(value) and value or nil }
   end
   return out
end

return metrics
