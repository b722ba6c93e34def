-- SPDX-License-Identifier: MIT
--- The parts of a count, added up: by thread, process or command, or by any key.
-- @module pfm.measure.parts

local tables = require "pfm.util.tables"

local parts = {}

--- The levels at which the threads of a count can be added up.
parts.levels = { "thread", "process", "command" }

local function new_group(name, order, result)
   local group = { name = name, order = order, events = {}, elapsed = result.elapsed, subjects = 0 }
   for i, row in ipairs(result.events) do
      group.events[i] = { event = row.event, base = row.base, unit = row.unit, state = row.state, reason = row.reason,
         active = row.active }
   end
   return group
end

local function number_of(value)
   return type(value) == "number" and value or value:tonumber()
end

local function add_value(its, value)
   if value then
      its.value = (its.value or 0) + value
   else
      its.poor = "a thread of it was not counted"
   end
   its.state = not its.value and (its.state or "not counted") or nil
end

-- Adds a part to its group. Its values are in the order of `result.counted`; a value is false if
-- other users of the PMU had the event's counter.
local function add_part(group, part, result)
   group.subjects = group.subjects + 1
   for k, event in ipairs(result.counted) do
      if event.base == "task-clock" then group.ran = (group.ran or 0) + number_of(part.values[k] or 0) end
      for i, row in ipairs(result.events) do
         if row.event == event.name then add_value(group.events[i], part.values[k]) end
      end
   end
end

--- Adds up the parts of a count, group by group.
-- @tparam table result of `count.run`, or what it gives `on_interval`
-- @tparam function key gets a part; returns the name of its group, and the sort key of the group
-- @tparam[opt] function on_part called with a group and a part of it
-- @treturn {table,...} `name`, `subjects` (how many parts), `ran` (ns of CPU time), `events` as
-- those of the result
-- @usage
-- local result = count.run { command = { "sh", "-c", "true & wait" }, threads = true, events = "page-faults" }
-- print(#parts.group(result, function(part) return part.pid, part.pid end))
function parts.group(result, key, on_part)
   local groups, out = {}, {}
   for _, part in ipairs(result.per) do
      local name, order = key(part)
      local group = groups[name] or tables.enter(groups, name, new_group(name, order, result), out)
      add_part(group, part, result)
      if on_part then on_part(group, part) end
   end
   table.sort(out, function(a, b) return a.order < b.order end)
   return out
end

-- A process has the name of its first thread.
local function process_names(result)
   local names = {}
   for _, part in ipairs(result.per) do
      if part.pid and (part.tid == part.pid or not names[part.pid]) then names[part.pid] = part.comm end
   end
   return names
end

local keys = {}

function keys.thread(part)
   return ("%d %s"):format(part.tid, part.comm or "?"), part.tid
end

function keys.command(part)
   return part.comm or "?", part.comm or "?"
end

function keys.process(part, names)
   if not part.pid then return "?", 0 end -- /proc has no entry for it
   return ("%d %s"):format(part.pid, part.process or names[part.pid] or "?"), part.pid
end

--- Adds up the threads of a result.
-- @tparam table result of `count.run` with `names=true`
-- @string level "thread", "process" or "command"
-- @treturn {table,...} as of `parts.group`, sorted by ids or names
-- @usage
-- local result = count.run { command = { "sh", "-c", "ls >/dev/null; true" }, threads = true, names = true,
--    events = "page-faults" }
-- for _, group in ipairs(parts.by(result, "command")) do print(group.name, group.events[1].value) end
function parts.by(result, level)
   if not keys[level] then
      error(("parts: no level '%s'; there are %s"):format(tostring(level), table.concat(parts.levels, ", ")), 0)
   end
   local names = process_names(result)
   return parts.group(result, function(part) return keys[level](part, names) end)
end

return parts
