-- SPDX-License-Identifier: MIT
--- Metrics computed from the counts of a table's rows.
-- @module pfm.analyze.derive

local fail = require("pfm.util.expect").fail

local derive = {}

-- --- derived metrics -----------------------------------------------------------------------------

local function identifier(name)
   return (name:gsub("[^%w_]", "_"))
end

local function compile(name, formula)
   if type(formula) == "function" then return formula end
   local chunk, err = loadstring("return " .. formula, "=" .. name)
   if not chunk then fail("the formula of %s: %s", name, (err:gsub("^[^:]*:%d+: ", ""))) end
   return function(values)
      local used = setmetatable({}, { __index = function(_, variable)
         if values[variable] == nil then fail("the formula of %s: there is no count '%s'", name, variable) end
         return values[variable]
      end })
      return setfenv(chunk, used)()
   end
end

local function finite(x)
   return type(x) == "number" and x == x and x ~= math.huge and x ~= -math.huge
end

-- Returns the count 0 for each name: a row that has no samples of an event has this count.
local function no_counts(self, result)
   local zero = { samples = 0 }
   for _, e in ipairs(self.head.events) do zero[identifier(e.name)] = 0 end
   for _, total in pairs(result.totals) do
      for name in pairs(total.sums) do zero[identifier(name)] = 0 end
   end
   return zero
end

local function counts_by_cells(self, result)
   local zero, list, by_id = no_counts(self, result), {}, {}
   for _, row in ipairs(result.rows) do
      local id = table.concat(row.cells, "\0")
      local out = by_id[id]
      if not out then
         out = { cells = row.cells, counts = {} }
         for name, n in pairs(zero) do out.counts[name] = n end
         for _, key in ipairs(result.keys) do out[key] = row[key] end
         by_id[id], list[#list + 1] = out, out
      end
      local event = identifier(row.event)
      out.counts[event] = out.counts[event] + row.events
      out.counts.samples = out.counts.samples + row.samples
      for name, sum in pairs(row.sums) do
         if identifier(name) ~= event then out.counts[identifier(name)] = out.counts[identifier(name)] + sum end
      end
   end
   return list
end

--- See `pfm.analyze.derive`.
function derive.metrics(self, result, formulas)
   local compute = {}
   for name, formula in pairs(formulas) do compute[name] = compile(name, formula) end
   local list = counts_by_cells(self, result)
   for _, row in ipairs(list) do
      row.metrics = {}
      for name, fn in pairs(compute) do
         local value = fn(row.counts)
         row.metrics[name] = finite(value) and value or nil
      end
   end
   return list
end

return derive
