-- SPDX-License-Identifier: MIT
--- Computes the common head and the common end of many recordings.
-- @module pfm.recording.joined_head

local fail = require("pfm.util.expect").fail
local layout = require "pfm.recording.layout"
local render = require "pfm.render"
local tables = require "pfm.util.tables"

local joined_head = {}

-- --- events --------------------------------------------------------------------------------------

-- Returns a number that no other event has: the event's PMD, or else the first free number.
local function free_number(taken, wanted)
   local n = wanted
   if taken[n] then n = 0 end
   while taken[n] do n = n + 1 end
   if n >= layout.STACK then fail("the recordings have too many different events") end
   taken[n] = true
   return n
end

-- Returns the common event of the same name, unit and set as an event of one recording.
local function common_event(list, by_id, taken, e)
   local id = ("%s\0%s\0%d"):format(e.name, tostring(e.unit or ""), e.set or 0)
   local event = by_id[id] or tables.enter(by_id, id, { name = e.name, unit = e.unit, set = e.set, period = e.period,
      frequency = e.frequency, weighted = e.weighted, pmd = free_number(taken, e.pmd) }, list)
   if event.period ~= e.period then event.period = nil end
   if event.frequency ~= e.frequency then event.frequency = nil end
   return event
end

-- Returns the common events. Each part gets `events`: for its own event, by its `layout.place`, the
-- `number` of the common event, and a fixed `period`; and `own`: its events by common number.
local function join_events(parts)
   local list, by_id, taken = {}, {}, {}
   for _, part in ipairs(parts) do
      part.events, part.own = {}, {}
      for _, e in ipairs(part.self.head.events) do
         local event = common_event(list, by_id, taken, e)
         part.events[layout.place(e.pmd, e.set)] = { number = event.pmd,
            period = part.self.head.fixed and e.period or nil }
         part.own[event.pmd] = e
      end
   end
   return list
end

-- Gives each part `with`: the PMDs of its events of `record --with`, by common number.
local function join_with(parts)
   local list, by_id, taken = {}, {}, {}
   for _, part in ipairs(parts) do
      part.with = { [layout.STACK] = layout.STACK }
      for _, e in ipairs(part.self.head.with or {}) do
         part.with[common_event(list, by_id, taken, e).pmd] = e.pmd
      end
   end
   return #list > 0 and list or nil
end

-- --- the rest of the head ------------------------------------------------------------------------

-- Returns the value that the heads of all parts have; nil if they differ.
local function common(parts, get)
   local value = parts[1] and get(parts[1].self.head)
   for _, part in ipairs(parts) do
      if get(part.self.head) ~= value then return nil end
   end
   return value
end

local function count(parts, name)
   local seen, n = {}, 0
   for _, part in ipairs(parts) do
      local value = part.from[name]
      if value and not seen[value] then seen[value], n = true, n + 1 end
   end
   return n
end

local function machine_of(parts)
   local out = {}
   for _, name in ipairs { "name", "pmu", "host", "kernel", "arch", "cpus" } do
      out[name] = common(parts, function(head) return (head.machine or {})[name] end)
   end
   out.name, out.pmu = out.name or "various", out.pmu or "various"
   out.host = out.host or render.plural(count(parts, "host"), "host")
   return out
end

local function what_of(parts)
   local what, n = common(parts, function(head) return head.what end), render.plural(#parts, "recording")
   local several = {}
   for _, part in ipairs(parts) do
      if not several[part.self.head.what] then several[#several + 1] = part.self.head.what end
      several[part.self.head.what] = true
   end
   local where = {}
   for _, name in ipairs { "rank", "host", "job" } do
      local k = count(parts, name)
      if k > 1 then where[#where + 1] = render.plural(k, name) end
   end
   local words = what or #several <= 3 and table.concat(several, ", ") or render.plural(#several, "different command")
   return ("%s (%s%s)"):format(words, n, #where > 0 and ", " .. table.concat(where, ", ") or "")
end

local function least(parts, get)
   local out
   for _, part in ipairs(parts) do
      local value = tonumber(get(part.self.head))
      out = value and math.min(out or value, value) or out
   end
   return out
end

-- Returns true if all recordings have fixed periods, and each event has the same period in all.
local function is_fixed(parts, events)
   for _, part in ipairs(parts) do
      if not part.self.head.fixed then return nil end
   end
   for _, event in ipairs(events) do
      if not event.period then return nil end
   end
   return true
end

local function stacks_of(parts)
   for _, part in ipairs(parts) do
      if part.self.head.stacks then return part.self.head.stacks end
   end
end

local function each_cpus(parts)
   for _, part in ipairs(parts) do
      if part.self.head.cpus then return part.self.head.cpus end
   end
end

local function head_of(parts)
   local events = join_events(parts)
   return { version = layout.MERGED, merged = true, recordings = #parts, what = what_of(parts), events = events,
      with = join_with(parts), fixed = is_fixed(parts, events), stacks = stacks_of(parts), machine = machine_of(parts),
      time = least(parts, function(head) return head.time end), cpus = each_cpus(parts),
      frequency = common(parts, function(head) return head.frequency end) }
end

-- --- the ENDS chunk ------------------------------------------------------------------------------

local SUMS = { "samples", "lost", "crowded", "untold", "throttled", "late", "full", "missed", "user", "system",
   "subjects", "unmeasured" }

-- Returns the sums of what was counted, and the longest time; nil if no recording has an end.
local function ends_of(parts)
   local out
   for _, part in ipairs(parts) do
      local ends = part.self.ends
      if ends then
         out = out or {}
         for _, name in ipairs(SUMS) do
            if ends[name] then out[name] = (out[name] or 0) + ends[name] end
         end
         if ends.elapsed then out.elapsed = math.max(out.elapsed or 0, ends.elapsed) end
      end
   end
   return out
end

--- Returns the common head and end of parts; gives the parts the common numbers of their events.
-- @tparam {table,...} parts of `pfm.recording.together`
-- @tparam[opt] table head the one to return where there are no parts
-- @treturn table head
-- @treturn ?table ends
function joined_head.of(parts, head)
   if #parts == 0 then return head or head_of(parts), {} end
   return head_of(parts), ends_of(parts)
end

return joined_head
