-- SPDX-License-Identifier: MIT
--- An event's n-th occurrence as a condition, "page-faults:1000": a counter overflows then
-- (specification 3.7.6).
-- A trigger is a table: `event` (of `pfm.events`), `n`, and `text` as typed.
-- @module pfm.measure.trigger

local events = require "pfm.events"
local tables = require "pfm.util.tables"

local trigger = {}

local FACTORS = { [""] = 1, k = 1e3, M = 1e6, G = 1e9 }
local TIMES = { ns = 1, us = 1e3, ms = 1e6, s = 1e9 }
local LARGEST = 2 ^ 53 -- largest integer that a Lua number holds exactly

--- Reads a number of occurrences as a person types it: "1000", "1e6", "10k", of clocks "10ms".
-- @string text
-- @tparam table event
-- @treturn number, or nil if it is none
-- @usage trigger.amount("10ms", {unit = "ns"}) --> 1e7
function trigger.amount(text, event)
   local number, unit = text:match("^([%d.]+[eE]?%+?%d*)(%a*)$")
   local factor = unit and (FACTORS[unit] or (event.unit == "ns" and TIMES[unit]))
   local n = factor and tonumber(number) and tonumber(number) * factor
   return n and n >= 1 and n <= LARGEST and n == math.floor(n) and n or nil
end

--- Reads one trigger.
-- @string text "EVENT:N"
-- @treturn[1] table the trigger
-- @return[2] nil
-- @treturn[2] string message
-- @usage trigger.read("page-faults:u:1000").n --> 1000
function trigger.read(text)
   if type(text) ~= "string" then
      return nil, ("expected EVENT:N, e.g. page-faults:1000, got a %s"):format(type(text))
   end
   local name, amount = text:match("^(.+):([^:]+)$")
   if not name or not amount:find("^[%d.]") then
      return nil, ("'%s' does not say how many: expected EVENT:N, e.g. page-faults:1000"):format(text)
   end
   local list, err = events.read(name)
   if not list then return nil, err end
   local n = trigger.amount(amount, list[1])
   if not n then
      return nil, ("'%s': '%s' is not a number of occurrences (as in 1000, 10k, 1e6%s)"):format(text, amount,
         list[1].unit == "ns" and ", 10ms" or "")
   end
   return { event = list[1], n = n, text = text }
end

--- Returns the PMD that overflows at the n-th occurrence; n + its value is how many there were.
-- @tparam table self trigger, its event assigned
-- @int set
-- @treturn table for `ctx:write_pmds`
function trigger.pmd(self, set)
   return { num = self.event.pmd, set = set, value = -self.n, switch_cnt = 1 }
end

--- Describes triggers in words.
-- @tparam {table,...} list
-- @treturn string "page-faults:1000 or cs:10"
function trigger.describe(list)
   return table.concat(tables.map(list, "text"), " or ")
end

return trigger
