-- SPDX-License-Identifier: MIT
--- Raw events: rHEX, what the processor's manual gives for the control register, on any free
-- counter.
-- @module pfm.measure.raw

local lpfm = require "lpfm"
local host = require "pfm.measure.host"
local tables = require "pfm.util.tables"

local raw = {}

-- Each of these functions returns the bits that choose levels in one kind of control register. The
-- HEX of an event's name does not contain them.
local function x86_levels(plm)
   -- Bits 20 (INT) and 22 (EN) are always set.
   return (plm:find("u") and 2 ^ 16 or 0) + (plm:find("k") and 2 ^ 17 or 0) + 2 ^ 20 + 2 ^ 22
end

local function arm_levels(plm)
   return (plm:find("k") and 0 or 2 ^ 31) + (plm:find("u") and 0 or 2 ^ 30) -- exclusion bits
end

local function itanium_levels(plm)
   return (plm:find("u") and 8 or 0) + (plm:find("k") and 1 or 0)
end

local function levels_of(pmc)
   if pmc.name:find("^PMEVTYPER") then return arm_levels end
   if pmc.type == "MSR" then return x86_levels end
   if pmc.type == "PMC" then return itanium_levels end
end

--- Returns the code of a raw event.
-- @string base the event's name
-- @treturn number, or nil if it is not one
function raw.code(base)
   local hex = base:match("^[rR](%x+)$")
   return hex and #hex <= 8 and tonumber(hex, 16) or nil
end

-- Returns the hardware counters with a control register that takes any event, as `pmd` and `pmc`.
local function general_counters()
   local pmcs, out = {}, {}
   for _, pmc in ipairs(lpfm.pmcs()) do pmcs[pmc.num] = pmc end
   for _, pmd in ipairs(lpfm.pmds()) do
      local pmc = pmd.ctrl and pmcs[pmd.ctrl]
      local counts = pmd.type ~= "SW" and tables.find(pmd.kind, "C64")
      if counts and pmc and levels_of(pmc) then out[#out + 1] = { pmd = pmd.num, pmc = pmc } end
   end
   return out
end

--- Gives raw events the counters that `taken` leaves; those that get none have a `reason`.
-- @tparam table list of events with a `code`
-- @tparam table taken set of PMD numbers, completed
function raw.assign(list, taken)
   local free = tables.filter(general_counters(), function(counter) return not taken[counter.pmd] end)
   for i, event in ipairs(list) do
      local counter = free[i]
      if counter then
         local value = event.code + levels_of(counter.pmc)(event.plm or "uk")
         event.pmd, event.pmcs, event.reason = counter.pmd, { { num = counter.pmc.num, value = value } }, nil
         taken[counter.pmd] = true
      else
         event.reason = ("no counter is left for it: this machine has %d"):format(host.machine().hw_counters)
      end
   end
end

return raw
