-- SPDX-License-Identifier: MIT
--- Queries to a store, in SQL: the database counts, and returns the rows of a report.
-- @module pfm.fleet.store.query

local analyze = require "pfm.analyze"
local sorted_keys = require("pfm.util.tables").keys
local find = require("pfm.util.tables").find
local tables = require "pfm.fleet.store.tables"

local query = {}

-- The values that stand for a missing rank, node, job or step.
local missing = { rank = tostring(tables.NO_RANK), node = "", job = "", step = "" }
local NONE = "-"

-- The keys: columns of places (`place`), or expressions over a sample and its recording.
local keys = {
   symbol = { place = true }, object = { place = true }, line = { place = true }, build = { place = true },
   event = {}, process = {}, comm = {},
   day = { seconds = 86400, format = "!%Y-%m-%d" }, hour = { seconds = 3600, format = "!%Y-%m-%d %H:00" },
   minute = { seconds = 60, format = "!%Y-%m-%d %H:%M" },
}
for _, column in ipairs(tables.known) do
   keys[column.name] = column.name ~= "time" and { missing = missing[column.name] } or nil
end

--- Lists the names of the keys.
-- @treturn table sorted
function query.keys()
   return sorted_keys(keys)
end

--- Reads sort keys.
-- @string by with commas
-- @treturn table their names
-- @raise on unknown ones
function query.read_keys(by)
   local out, seen = {}, {}
   for _, name in ipairs(analyze.read_keys(by, query.keys())) do
      if not seen[name] then out[#out + 1] = name end
      seen[name] = true
   end
   return out
end

--- Returns a cell as it is shown.
-- @string name of a key
-- @string cell
-- @treturn string
function query.shown(name, cell)
   local key = keys[name]
   if key.missing and cell == key.missing then return NONE end
   return key.seconds and os.date(key.format, tonumber(cell) * key.seconds) or cell
end

-- --- parts of statements -------------------------------------------------------------------------

local function expression(words, name)
   local key = keys[name]
   return key.seconds and ("%s(time, %d) AS %s"):format(words.divide, key.seconds, name) or name
end

-- Splits keys into expressions over samples, their names except "event", and columns of places.
local function split(words, wanted)
   local own, places = {}, {}
   for _, name in ipairs(wanted) do
      table.insert(keys[name].place and places or own, keys[name].place and name or expression(words, name))
   end
   local names = {}
   for _, name in ipairs(wanted) do
      if not keys[name].place and name ~= "event" then names[#names + 1] = name end
   end
   return own, names, places
end

local function list(...)
   local out = {}
   for _, part in ipairs { ... } do
      for _, item in ipairs(type(part) == "table" and part or { part }) do out[#out + 1] = item end
   end
   return table.concat(out, ", ")
end

-- Returns a query that sums samples by these keys, the event and one more column.
local function sums(self, own, names, column, sides)
   local parts = {}
   if not find(own, "event") then own = { "event", unpack(own) } end
   for i, tests in ipairs(sides) do
      parts[i] = ("SELECT %s, %d AS side, sum(samples) AS sn, sum(events) AS se %s GROUP BY %s"):format(
         list(own, column), i, self.source(tests), list("event", names, column))
   end
   return ("(%s) AS summed"):format(table.concat(parts, " UNION ALL "))
end

-- Returns a query for the rows by the sampled location itself.
local function own_rows(self, own, names, places, sides)
   if #places == 0 then
      local summed = sums(self, own, names, {}, sides)
      return ("SELECT %s, side, sn AS n, se AS e, 0 AS tn, 0 AS te FROM %s"):format(list("event", names), summed)
   end
   local words, summed = self.words, sums(self, own, names, "place", sides)
   return ("SELECT %s, side, sn AS n, se AS e, 0 AS tn, 0 AS te FROM %s %s (SELECT id AS place, %s FROM lpfm_places) "
      .. "AS places USING (place)"):format(list("event", names, places), summed, words.join, list(places))
end

-- Returns a query for the rows by function in stacks; a stack counts once in each function.
local function caller_rows(self, own, names, places, sides)
   local words, summed = self.words, sums(self, own, names, "stack", sides)
   local used = {}
   for i, tests in ipairs(sides) do used[i] = ("id IN (SELECT stack %s)"):format(self.source(tests)) end
   local frames = ("SELECT id AS stack, %s(frames) AS place FROM lpfm_stacks WHERE %s"):format(words.each,
      table.concat(used, " OR "))
   local named = ("SELECT DISTINCT stack, %s FROM (%s) AS frames %s (SELECT id AS place, %s FROM lpfm_places "
      .. "WHERE kind = 'function') AS places USING (place)"):format(list(places), frames, words.join, list(places))
   return ("SELECT %s, side, 0 AS n, 0 AS e, sn AS tn, se AS te FROM %s %s (%s) AS named USING (stack)"):format(
      list("event", names, places), summed, words.join_all, named)
end

--- Makes the query for the rows of a report: the columns of `query.columns`, and for each side
-- samples and events of the functions alone, then those with their callees.
-- @tparam table self a database
-- @tparam table wanted keys
-- @tparam table sides tests of `where.read`: of one, or of an older and a newer
-- @bool children count samples in their callers, too
-- @int[opt] limit most rows
-- @treturn string
function query.report(self, wanted, sides, children, limit)
   local own, names, places = split(self.words, wanted)
   local parts = { own_rows(self, own, names, places, sides) }
   if children and #places > 0 then parts[2] = caller_rows(self, own, names, places, sides) end
   local columns = {}
   for side = 1, #sides do
      for _, value in ipairs { "n", "e", "tn", "te" } do
         columns[#columns + 1] = ("sum(CASE WHEN side = %d THEN %s ELSE 0 END) AS %s%d"):format(side, value, value,
            side)
      end
   end
   local by = list("event", names, places)
   local last = #sides
   return ("SELECT %s, %s FROM (%s) AS counted GROUP BY %s ORDER BY %s%d DESC, e%d DESC, %s%s"):format(by,
      list(columns), table.concat(parts, " UNION ALL "), by, children and "te" or "e", last, last, by,
      limit and (" LIMIT %d"):format(limit) or "")
end

--- Lists the columns of `query.report` before the numbers.
-- @tparam table words of a database
-- @tparam table wanted keys
-- @treturn table names
function query.columns(words, wanted)
   local _, names, places = split(words, wanted)
   local out = { "event" }
   for _, part in ipairs { names, places } do
      for _, name in ipairs(part) do out[#out + 1] = name end
   end
   return out
end

--- Makes the query for the totals of selections by event.
-- @tparam table self a database
-- @tparam table sides tests of `where.read`
-- @treturn string of side, event, samples, events
function query.totals(self, sides)
   local parts = {}
   for i, tests in ipairs(sides) do
      parts[i] = ("SELECT %d AS side, event, sum(samples), sum(events) %s GROUP BY event"):format(i, self.source(tests))
   end
   return table.concat(parts, " UNION ALL ")
end

--- Makes the query for the recordings of selections.
-- @tparam table self a database
-- @tparam table sides tests of `where.read`
-- @treturn string of side, recordings, hosts, first time, last time, whether any has call stacks
function query.recordings(self, sides)
   local parts, distinct = {}, self.words.distinct
   for i, tests in ipairs(sides) do
      parts[i] = ("SELECT %d AS side, %s, %s, min(time), max(time), max(chained) FROM lpfm_recordings%s"):format(i,
         distinct:format("id"), distinct:format("host"),
         #tests.recordings > 0 and " WHERE " .. table.concat(tests.recordings, " AND ") or "")
   end
   return table.concat(parts, " UNION ALL ")
end

--- Makes the query for stacks of an event and what they weigh.
-- @tparam table self a database
-- @tparam table tests of `where.read`
-- @string event
-- @string weight "samples" or "events"
-- @treturn string of process, thread, frames, weight
function query.stacks(self, tests, event, weight)
   local words = self.words
   return ("SELECT process, comm, frames, w FROM (SELECT process, comm, stack, sum(%s) AS w %s AND event = %s "
      .. "GROUP BY process, comm, stack) AS summed %s (SELECT id AS stack, frames FROM lpfm_stacks) AS stacks "
      .. "USING (stack)"):format(weight, self.source(tests), self.literal(event), words.join)
end

--- Makes the query for the places that are in the stacks of a selection.
-- @tparam table self a database
-- @tparam table tests of `where.read`
-- @string event
-- @treturn string of number, kind, symbol, object
function query.places(self, tests, event)
   return ("SELECT id, kind, symbol, object FROM lpfm_places WHERE id IN (SELECT %s(frames) FROM lpfm_stacks "
      .. "WHERE id IN (SELECT stack %s AND event = %s))"):format(self.words.each, self.source(tests),
      self.literal(event))
end

return query
