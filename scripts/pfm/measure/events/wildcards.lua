-- SPDX-License-Identifier: MIT
--- Events by patterns with `*` and `?`: "sched:*", "page-*", "power/*/".
-- @module pfm.measure.events.wildcards

local lpfm = require "lpfm"
local host = require "pfm.measure.host"
local named = require "pfm.measure.events.named"
local pmus = require "pfm.measure.events.pmus"
local tracepoints = require "pfm.measure.events.tracepoints"
local name_list = require "pfm.util.name_list"

local wildcards = {}

local MOST_NEAR = 5

-- Returns the library's names of hardware events that match a pattern.
local function hardware(pattern)
   local out, counted = {}, {}
   if host.machine().hw_counters == 0 then return out end
   for _, name in ipairs(lpfm.events(pattern, { generic = true }) or {}) do
      local event = lpfm.event(name)
      local software = event and (event.software or event.terms and event.terms[1].software)
      local what = event and (event.name or name)
      if event and not software and not counted[what] then
         out[#out + 1], counted[what] = name, true
      end
   end
   return out
end

-- Returns up to MOST_NEAR names that contain the longest possible beginning of a word.
local function near(word, names)
   local stem, out = word:gsub("[*?]", ""):lower(), {}
   while #stem > 1 and #out == 0 do
      for _, name in ipairs(names) do
         if #out < MOST_NEAR and name:lower():find(stem, 1, true) then out[#out + 1] = name end
      end
      stem = stem:sub(1, -2)
   end
   if #out > 0 then return "; near are " .. table.concat(out, ", ") end
   local first = { unpack(names, 1, MOST_NEAR) }
   return #names > 0 and ("; there are %s%s"):format(table.concat(first, ", "), #names > #first and ", ..." or "") or ""
end

local function tracepoints_like(word)
   local found, err = tracepoints.matching(word)
   if not found then return nil, ("tracepoints '%s': %s"):format(word, err) end
   local system = tracepoints.parts(word)
   if #found > 0 then return found end
   local all = tracepoints.matching(system .. ":*")
   if #all == 0 then all = tracepoints.systems() end
   local part = word:match(all[1] and all[1]:find(":", 1, true) and ":(.*)$" or "^(.-):")
   return nil, ("nothing matches '%s'%s"):format(word, near(part, all))
end

local function pmu_events_like(word)
   local pmu, event = word:match("^([^/]+)/(.*)/$")
   local found = pmus.matching(pmu, event)
   if #found > 0 then return found end
   return nil, ("nothing matches '%s'%s"):format(word, near(event, pmus.matching("*", "*")))
end

local function others_like(word, software)
   local out, all = {}, { unpack(software) }
   for _, name in ipairs(software) do
      if name:find(name_list.pattern(word:lower())) then out[#out + 1] = name end
   end
   for _, name in ipairs(hardware(word)) do out[#out + 1] = name end
   if #out > 0 then return out end
   for _, name in ipairs(hardware("*")) do all[#all + 1] = name end
   return nil, ("nothing matches '%s'%s"):format(word, near(word, all))
end

--- Returns the names that match a word with wildcards.
-- @string word
-- @tparam {string,...} software names of software events, without aliases
-- @treturn[1] {string,...} at least one
-- @return[2] nil
-- @treturn[2] string message, with near names
function wildcards.expand(word, software)
   local pmu, is_tracepoint = word:find("/", 1, true), tracepoints.parts(word)
   if pmu or is_tracepoint then
      local ok, err = named.possible()
      if not ok and pmu then return nil, ("'%s': %s"):format(word, err) end
      if ok and pmu then return pmu_events_like(word) end
      local masks = is_tracepoint and hardware(word:match("^(.-):")) or {}
      if #masks == 0 then
         if not ok then return nil, ("'%s': %s"):format(word, err) end
         return tracepoints_like(word)
      end
   end
   return others_like(word, software)
end

return wildcards
