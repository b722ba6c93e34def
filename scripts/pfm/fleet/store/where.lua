-- SPDX-License-Identifier: MIT
--- Conditions on stored samples, as people write them, for example
-- "host=web*, version=1.2|1.3, time=yesterday".
--
-- Names of recordings: time, host, version, command, kernel, arch, job, rank, node, step, file, id;
-- of their rows: event, process, comm, symbol, object, build, line. Texts may have * and ?, and |
-- between several; ranks are numbers and ranges: 0-3|5. Times are of UTC: 2026-11-17,
-- 2026-11-17T14:30, today, yesterday, tuesday (the last one before today), now, -90m, -24h, -7d; a
-- day with = is all of it.
-- @module pfm.fleet.store.where

local fail = require("pfm.util.expect").fail
local name_list = require "pfm.util.name_list"
local nearest = require "pfm.util.nearest"
local tables = require "pfm.fleet.store.tables"

local where = {}

--- The names for conditions on recordings.
where.of_recordings = { "file", "id", unpack(tables.names) }
--- The names for conditions on rows of samples.
where.of_rows = { "event", "process", "comm", "symbol", "object", "build", "line" }
local of_places = { symbol = true, object = true, build = true, line = true }

local kinds, names, is_known = {}, {}, {}
for _, name in ipairs(tables.names) do is_known[name] = true end
for _, list in ipairs { "of_recordings", "of_rows" } do
   for _, name in ipairs(where[list]) do
      kinds[name], names[#names + 1] = list, name
   end
end

-- --- times ---------------------------------------------------------------------------------------

local DAY = 86400
local SECONDS = { s = 1, m = 60, h = 3600, d = DAY, w = 7 * DAY }
local WEEKDAYS = { sunday = 0, monday = 1, tuesday = 2, wednesday = 3, thursday = 4, friday = 5, saturday = 6 }

-- Returns the days since 1970 of a date of the proleptic Gregorian calendar.
local function days(year, month, day)
   local y = month <= 2 and year - 1 or year
   local era = math.floor(y / 400)
   local of_era = y - era * 400
   local of_year = math.floor((153 * (month + (month > 2 and -3 or 9)) + 2) / 5) + day - 1
   return era * 146097 + of_era * 365 + math.floor(of_era / 4) - math.floor(of_era / 100) + of_year - 719468
end

local function dated(text)
   local date, rest = text:match("^(%d%d%d%d%-%d%d%-%d%d)(.*)$")
   if not date then return nil end
   local year, month, day = date:match("(%d+)-(%d+)-(%d+)")
   local start = days(tonumber(year), tonumber(month), tonumber(day)) * DAY
   if os.date("!%Y-%m-%d", start) ~= date then return nil end
   if rest == "" then return start, DAY end
   local hour, minute, second = rest:match("^[Tt ](%d%d):?(%d?%d?):?(%d?%d?)$")
   if not hour or tonumber(hour) > 23 then return nil end
   local width = second ~= "" and 1 or minute ~= "" and 60 or 3600
   return start + hour * 3600 + (tonumber(minute) or 0) * 60 + (tonumber(second) or 0), width
end

-- Returns the moment that a text names, and how long it lasts.
local function moment(text, now)
   local today = math.floor(now / DAY) * DAY
   if text == "now" then return now, 1 end
   if text == "today" then return today, DAY end
   if text == "yesterday" then return today - DAY, DAY end
   if WEEKDAYS[text] then
      local back = (math.floor(now / DAY) + 4 - WEEKDAYS[text]) % 7 -- 1970 began with a Thursday
      return today - (back == 0 and 7 or back) * DAY, DAY
   end
   local n, unit = text:match("^%-(%d+)([smhdw])$")
   if n then return now - n * SECONDS[unit], 1 end
   local start, width = dated(text)
   if not start then
      fail("where: '%s' is no time, as 2026-11-17, 2026-11-17T14:30, today, yesterday, tuesday, -24h", text)
   end
   return start, width
end

local function time_test(op, text, now)
   local at, width = moment(text:lower(), now)
   local from, to = ("time >= %.0f"):format(at), ("time < %.0f"):format(at + width)
   if op == "=" then return from .. " AND " .. to end
   if op == "!=" then return ("NOT (%s AND %s)"):format(from, to) end
   if op == ">" then return ("time >= %.0f"):format(at + width) end
   if op == "<=" then return to end
   return ("time %s %.0f"):format(op, at)
end

-- --- texts ---------------------------------------------------------------------------------------

local function one_text(literal, name, text)
   if not text:find("[*?]") then return ("%s = %s"):format(name, literal(text)) end
   local pattern = text:gsub("[\\%%_]", "\\%0"):gsub("[*?]", { ["*"] = "%", ["?"] = "_" })
   return ("%s LIKE %s"):format(name, literal(pattern))
end

local function exact_test(literal, name, values)
   local texts = {}
   for i, value in ipairs(values) do texts[i] = literal(value) end
   return ("%s IN (%s)"):format(name, table.concat(texts, ", "))
end

local function text_test(literal, name, op, text)
   if op ~= "=" and op ~= "!=" then fail("where: '%s%s%s': texts are compared with = and !=", name, op, text) end
   local any = {}
   for part in (text .. "|"):gmatch("([^|]*)|") do any[#any + 1] = one_text(literal, name, part) end
   return ("%s(%s)"):format(op == "!=" and "NOT " or "", table.concat(any, " OR "))
end

-- --- numbers -------------------------------------------------------------------------------------

local function range_test(name, range)
   if range[1] == range[2] then return ("%s = %.0f"):format(name, range[1]) end
   return ("%s >= %.0f AND %s <= %.0f"):format(name, range[1], name, range[2])
end

local function number_test(name, op, text)
   if op ~= "=" and op ~= "!=" then
      if not text:find("^%d+$") then fail("where: '%s%s%s': '%s' is not a number", name, op, text, text) end
      return ("%s %s %s"):format(name, op, text)
   end
   local list, why = name_list.ranges(text, name .. "s", "|")
   if not list then fail("where: %s", why) end
   local any = {}
   for i, range in ipairs(list) do any[i] = range_test(name, range) end
   return ("%s(%s)"):format(op == "!=" and "NOT " or "", table.concat(any, " OR "))
end

-- --- conditions ----------------------------------------------------------------------------------

local function add(tests, name, test)
   if of_places[name] then test = ("place IN (SELECT id FROM lpfm_places WHERE %s)"):format(test) end
   table.insert(kinds[name] == "of_recordings" and tests.recordings or tests.rows, test)
   if is_known[name] then table.insert(tests.known, test) end
end

local function read_condition(literal, now, text)
   local name, op, value = text:match("^([%a_]+)%s*([=!<>]=?)%s*(.-)$")
   if op == "==" then op = "=" end
   if not name or op == "!" then fail("where: '%s' is no condition, as in host=web*,time=yesterday", text) end
   if not kinds[name] then
      fail("where: unknown name '%s'%s (names: %s)", name, nearest.hint(name, names), table.concat(names, ", "))
   end
   if name == "time" then return name, time_test(op, value, now) end
   return name, tables.is_number[name] and number_test(name, op, value) or text_test(literal, name, op, value)
end

-- Returns the conditions in a text: a comma in brackets of a value, as in symbol=f(int, char),
-- separates none.
local function split(text)
   local out = {}
   while text do
      local start = text:match("^%s*[%a_]+%s*[=!<>]=?()") or 1
      local comma = name_list.comma(text:sub(start))
      out[#out + 1] = text:sub(1, comma and start + comma - 2):match("^%s*(.-)%s*$")
      text = comma and text:sub(start + comma)
   end
   return out
end

local function listed_test(literal, name, values)
   return tables.is_number[name] and number_test(name, "=", table.concat(values, "|"))
      or exact_test(literal, name, values)
end

--- Reads conditions.
-- @tparam table texts each has conditions, separated by commas, or is a list of a name and texts,
-- one of which must match. All conditions must hold
-- @tparam function literal of the database: a text in SQL
-- @number now s since 1970
-- @treturn table lists of conditions in SQL: `recordings`, on recordings; `known`, those of them on
-- columns of `tables.known`; `rows`, on rows of samples
-- @raise on invalid conditions
function where.read(texts, literal, now)
   local tests = { recordings = {}, known = {}, rows = {} }
   for _, text in ipairs(texts) do
      if type(text) == "table" then
         add(tests, text[1], listed_test(literal, text[1], text[2]))
      else
         for _, condition in ipairs(split(text)) do add(tests, read_condition(literal, now, condition)) end
      end
   end
   return tests
end

return where
