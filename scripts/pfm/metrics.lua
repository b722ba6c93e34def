-- SPDX-License-Identifier: MIT
--- Metric groups: sets of events and formulas over them, a file each in pfm/metrics.
-- A file returns `text` and, in its array part, variants: `events` (variable to event name),
-- `metrics` (name, formula, unit, explanation), `terms` (pairs of a name and its meaning in
-- formulas; each may use those before it), and `pmu`, a Lua pattern for the models it is made for.
-- The first variant of which the model has all events is taken. `obstacle()` returns why the group
-- cannot be counted here, or nil. The variable TIME is the elapsed time in s. A comment in a file
-- gives its source.
-- @module pfm.metrics

local lpfm = require "lpfm"
local host = require "pfm.measure.host"
local events = require "pfm.events"
local nearest = require "pfm.util.nearest"
local expect = require "pfm.util.expect"
local tables = require "pfm.util.tables"

local metrics = {}

local names = { "cpi", "branch", "cache", "l1", "l2", "l3", "tlb", "memory", "flops", "flops_dp", "flops_sp", "energy",
   "cycles", "topdown", "topdown2" }

-- Names that other tools have for these groups.
local aliases = { clock = "cpi", mem = "memory", l2cache = "l2", l3cache = "l3", tlb_data = "tlb", tlb_instr = "tlb",
   data = "l1", tma = "topdown", tma2 = "topdown2" }

local NO_COUNTERS = "there are no hardware counters here"

local is_group = tables.set(names)

-- --- what a PMU model can count ------------------------------------------------------------------

local function current_pmu()
   for _, pmu in ipairs(lpfm.pmus()) do
      if pmu.current then return pmu.name end
   end
end

-- Returns a formula with its terms written out.
local function expand(formula, terms)
   for i = #(terms or {}), 1, -1 do
      local name, meaning = terms[i][1], terms[i][2]
      local whole = meaning:find("^[%w.]+$") and meaning or "(" .. meaning .. ")"
      formula = formula:gsub("%f[%w_]" .. name .. "%f[^%w_]", (whole:gsub("%%", "%%%%")))
   end
   return formula:find("^%b()$") and formula:sub(2, -2) or formula
end

local function mentions(formula, variable)
   return formula:find("%f[%w_]" .. variable .. "%f[^%w_]") ~= nil
end

-- Returns the variables that a variant's metrics need, sorted, which fixes the order of the events.
local function variables(variant)
   local needed = {}
   for _, m in ipairs(variant.metrics) do
      local formula = expand(m[2], variant.terms)
      for name in pairs(variant.events) do needed[name] = needed[name] or mentions(formula, name) or nil end
   end
   return tables.keys(needed)
end

-- Finds an event; another PMU's, as "power/energy-pkg/", does not depend on the core's model.
local function find(name, pmu)
   if name:find("/", 1, true) then return events.read(name) end
   return lpfm.event(name, pmu)
end

-- Returns the variant's events that the model lacks, and why the first cannot be counted.
local function lacking(variant, pmu)
   local missing, why = {}, nil
   for _, name in ipairs(variables(variant)) do
      local event, err = find(variant.events[name], pmu)
      if not event then
         why = why or err:gsub("^event: ", "")
         missing[#missing + 1] = variant.events[name]
      end
   end
   return missing, why
end

-- Adds the other missing events to a message like "p6 has no event A".
local function in_words(missing, why)
   local head, first = why:match("^(.* has no event ([^;]*))")
   if not first then return why end
   local seen, out = { [first] = true }, { head }
   for _, name in ipairs(missing) do
      local base = name:match("^[^:]*")
      if not seen[base] and not seen[name] then out[#out + 1] = base end
      seen[base] = true
   end
   return table.concat(out, ", ")
end

-- Returns the variant without a pattern of models, or else the first one.
local function usual(file)
   for _, variant in ipairs(file) do
      if not variant.pmu then return variant end
   end
   return file[1]
end

local function without_counters(file)
   local variant, missing = usual(file), {}
   for _, variable in ipairs(variables(variant)) do
      local name = variant.events[variable]
      local known = lpfm.event(name)
      if not (known and known.software) then missing[#missing + 1] = name end
   end
   local why = host.machine().hw_counters == 0 and NO_COUNTERS
      or "the model 'software' has no names of hardware events"
   return ("it counts %s, and %s"):format(table.concat(missing, ", "), why)
end

-- Returns the variant that the model can count, or nil and what the closest one lacks.
local function choose(file, pmu)
   local why = file.obstacle and file.obstacle()
   if why then return nil, why end
   if pmu == "software" and not file.obstacle then return nil, without_counters(file) end
   local fewest = math.huge
   for _, variant in ipairs(file) do
      if not variant.pmu or pmu:find(variant.pmu) then
         local missing, reason = lacking(variant, pmu)
         if #missing == 0 then return variant end
         if #missing < fewest then fewest, why = #missing, in_words(missing, reason) end
      end
   end
   return nil, why or "there are no formulas for it"
end

-- --- formulas ------------------------------------------------------------------------------------

local function compile(formula, where)
   local chunk = assert(loadstring("return " .. formula, "=" .. where))
   return function(values) return setfenv(chunk, values)() end
end

local function used_in(formula, group)
   return tables.filter(group.variables, function(variable) return mentions(formula, variable) end)
end

local function build(name, file, variant, pmu)
   local group = { name = name, text = file.text, pmu = pmu, variables = variables(variant), events = {}, metrics = {} }
   for i, variable in ipairs(group.variables) do group.events[i] = variant.events[variable] end
   for i, m in ipairs(variant.metrics) do
      local formula = expand(m[2], variant.terms)
      group.metrics[i] = { name = m[1], formula = formula, unit = m[3] or "", text = m[4],
         uses = used_in(formula, group), compute = compile(formula, name .. ": " .. m[1]) }
   end
   return group
end

-- --- groups --------------------------------------------------------------------------------------

--- Lists the names of all groups.
-- @treturn {string,...}
-- @usage
-- print(table.concat(metrics.names(), " "))
function metrics.names()
   return { unpack(names) }
end

local function file_of(name)
   local lower = name:lower()
   lower = aliases[lower] or lower
   if is_group[lower] then return require("pfm.metrics." .. lower), lower end
   local hint = nearest.hint(name, names)
   if hint == "" then hint = "; there are " .. table.concat(names, ", ") end
   return nil, ("no metric group '%s'%s"):format(name, hint)
end

--- Returns a group as the PMU can count it.
-- @string name in upper or lower case
-- @string[opt] pmu another model than the machine's
-- @treturn[1] table `name`, `text`, `pmu`, `variables`, `events` (in the same order), `metrics`
-- (`name`, `formula`, `unit`, `text`, `uses` (variables), `compute`)
-- @return[2] nil
-- @treturn[2] string message, which names the events that the PMU lacks
-- @usage require("pfm.metrics").group("cpi", "skl").events
function metrics.group(name, pmu)
   local file, found = file_of(name)
   if not file then return nil, found end
   pmu = pmu or current_pmu()
   local variant, why = choose(file, pmu)
   if not variant then return nil, ("metric group '%s' is not for PMU %s: %s"):format(found, pmu, why) end
   return build(found, file, variant, pmu)
end

--- Lists all groups; those that the PMU cannot count have the reason.
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

--- Lists the groups that the PMU can count.
-- @string[opt] pmu another model than the machine's
-- @treturn {string,...} names
-- @usage print(table.concat(metrics.working("skl"), " "))
function metrics.working(pmu)
   local out = {}
   for _, entry in ipairs(metrics.all(pmu)) do
      if entry.group then out[#out + 1] = entry.name end
   end
   return out
end

local function metric_line(m)
   local unit = m.unit ~= "" and (" (%s)"):format(m.unit) or ""
   return ("  %-9s   %s%s: %s"):format("", m.name, unit, m.text)
end

--- Returns lines of text about the groups: metrics, units and explanations.
-- @string[opt] pmu another model than the machine's
-- @treturn {string,...}
-- @usage
-- print(#metrics.list("skl"))
function metrics.list(pmu)
   local lines, need_them = {}, false
   for _, entry in ipairs(metrics.all(pmu)) do
      lines[#lines + 1] = ("  %-9s %s"):format(entry.name, entry.text)
      local computed, needs_counters = {}, entry.reason and entry.reason:find(NO_COUNTERS, 1, true)
      for i, m in ipairs(entry.group and entry.group.metrics or {}) do computed[i] = m.name:gsub("^%s+", "") end
      if not needs_counters then
         lines[#lines + 1] = ("  %-9s %s"):format("", entry.group and "-> " .. table.concat(computed, ", ")
            or "not here: " .. entry.reason)
      end
      for _, m in ipairs(entry.group and entry.group.metrics or {}) do lines[#lines + 1] = metric_line(m) end
      need_them = need_them or needs_counters
   end
   if need_them then
      table.insert(lines, 1, "  There are no hardware counters here, which groups without '->' need.")
   end
   return lines
end

-- --- values --------------------------------------------------------------------------------------

local function finite(x)
   return type(x) == "number" and x == x and x ~= math.huge and x ~= -math.huge
end

-- Returns the least share of the time for which one of a metric's events was counted, or nil for 1.
local function least_share(m, shares)
   local least
   for _, variable in ipairs(m.uses) do
      local share = shares[variable] or 1
      if share < (least or 1) then least = share end
   end
   return least
end

--- Computes the metrics of a group.
-- @tparam table group
-- @tparam table counts by variable, or in the order of `group.events`; and `TIME`, elapsed s, where
-- a formula needs it
-- @tparam[opt] table shares of the time in which each was counted, 0 to 1, in the order of
-- `group.events`
-- @treturn {table,...} `name`, `value` (nil where a division by zero leaves none), `unit`, and
-- `active`, the share of the time from which an estimate was made
-- @usage
-- local group = metrics.group("cpi", "skl")
-- print(metrics.evaluate(group, { 200, 100, 100 })[1].value)
function metrics.evaluate(group, counts, shares)
   local values, by_variable, out = { TIME = counts.TIME or 0 / 0 }, {}, {}
   for i, variable in ipairs(group.variables) do
      values[variable] = tonumber(counts[variable] or counts[i])
      by_variable[variable] = shares and shares[i]
      if not values[variable] then error(("no count for %s (%s)"):format(variable, group.events[i]), 2) end
   end
   for i, m in ipairs(group.metrics) do
      local value = m.compute(values)
      out[i] = { name = m.name, unit = m.unit, value = finite(value) and value or nil,
         active = least_share(m, by_variable) }
   end
   return out
end

expect.signatures("metrics", metrics, {
   group = "name: string; pmu: string?",
   all = "pmu: string?",
   working = "pmu: string?",
   list = "pmu: string?",
   evaluate = "group: {metrics}; counts: table; shares: table?",
})

return metrics
