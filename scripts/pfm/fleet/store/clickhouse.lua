-- SPDX-License-Identifier: MIT
--- Recordings in ClickHouse, through clickhouse-client.
--
-- ClickHouse has no transactions. So the samples of a recording bear the number of the attempt to
-- load them, and the row of the recording, which comes last, says which attempt counts: samples of
-- an attempt that was cut short are not seen.
-- @module pfm.fleet.store.clickhouse

local client = require "pfm.fleet.store.client"
local shell = require "pfm.util.shell"
local tables = require "pfm.fleet.store.tables"

local clickhouse = {}
clickhouse.__index = clickhouse

-- See `pfm.fleet.store.postgresql`.
clickhouse.words = { divide = "intDiv", join = "ANY INNER JOIN", join_all = "ALL INNER JOIN", each = "arrayJoin",
   distinct = "uniqExact(%s)" }

local function known_column(column)
   if column.name == "rank" then return "rank Int32 DEFAULT " .. tables.NO_RANK end
   return column.name .. (column.number and " UInt32" or " String")
end

local function known_columns()
   local out = {}
   for i, column in ipairs(tables.known) do out[i] = known_column(column) end
   return table.concat(out, ", ")
end

-- A recording's attributes are stored with its samples, too: columns of equal values cost nothing,
-- joins do. Partitions are days, which can be dropped.
local KNOWN_BY = known_columns()
local SCHEMA = {
   "CREATE TABLE IF NOT EXISTS lpfm_recordings (id String, load UInt64, " .. KNOWN_BY .. ", file String, taken UInt64, "
      .. "lost UInt64, chained UInt8) ENGINE = MergeTree ORDER BY id",
   "CREATE TABLE IF NOT EXISTS lpfm_places (id UInt64, kind String, symbol String, object String, build String, "
      .. "line String) ENGINE = ReplacingMergeTree ORDER BY id",
   "CREATE TABLE IF NOT EXISTS lpfm_stacks (id UInt64, frames Array(UInt64)) ENGINE = ReplacingMergeTree ORDER BY id",
   "CREATE TABLE IF NOT EXISTS lpfm_samples (load UInt64, event String, process String, comm String, place UInt64, "
      .. "stack UInt64, samples UInt64, events UInt64, " .. KNOWN_BY
      .. ") ENGINE = MergeTree PARTITION BY intDiv(time, 86400) ORDER BY load",
}
local WITH_KNOWN = { "lpfm_recordings", "lpfm_samples" }

--- Makes a database object; it connects when it is used.
-- @tparam table url of `url.parse`
-- @treturn table
function clickhouse.new(url)
   shell.need("clickhouse-client")
   local self = setmetatable({ url = url }, clickhouse)
   local parts = { [==[clickhouse-client --connect_timeout 10]==] }
   local given = { host = url.host or "127.0.0.1", port = url.port or false, user = url.user or false,
      database = url.database or false }
   for flag, value in pairs(given) do
      if value then parts[#parts + 1] = ([==[--%s %s]==]):format(flag, shell.quote(value)) end
   end
   self.command = table.concat(parts, " ")
   return self
end

-- Returns the readable part of the client's error message.
local function plain(err)
   return err and (err:match("e%.displayText%(%) = (.-), e%.what%(%)") or err)
end

-- Runs fn with the password in a private file: lists of processes show command lines.
local function with_password(self, fn)
   if not self.url.password then
      local result, err = fn(self.command)
      return result, plain(err)
   end
   local path = os.tmpname()
   local file = assert(io.open(path, "w"))
   local escaped = self.url.password:gsub("[&<>]", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;" })
   file:write("<config><password>", escaped, "</password></config>\n")
   file:close()
   local ok, result, err = pcall(fn, self.command .. [==[ --config-file ]==] .. path)
   os.remove(path)
   if not ok then error(result, 0) end
   return result, plain(err)
end

--- Writes a text in SQL.
function clickhouse.literal(text)
   return "'" .. text:gsub("[\\']", "\\%0") .. "'"
end

--- Writes a list of numbers as a cell.
function clickhouse.list(numbers)
   return "[" .. table.concat(numbers, ",") .. "]"
end

--- Runs a query.
-- @string sql a SELECT
-- @return rows of strings, or nil and why not
function clickhouse:ask(sql)
   local text, err = with_password(self, function(command)
      return client.read(([==[%s --query %s]==]):format(command, shell.quote(sql)))
   end)
   if not text then return nil, err end
   return client.rows(text)
end

local function run(self, statements)
   return with_password(self, function(command)
      return client.read(([==[%s --multiquery --query %s]==]):format(command,
         shell.quote(table.concat(statements, ";\n"))))
   end)
end

-- Returns statements that add what tables of the first versions lack; nil and why it is not known.
local function additions(self)
   local out = {}
   for _, name in ipairs(WITH_KNOWN) do
      local rows, err = self:ask(("SELECT name FROM system.columns WHERE database = currentDatabase() AND table = '%s'")
         :format(name))
      if not rows then return nil, err end
      local has = {}
      for _, row in ipairs(rows) do has[row[1]] = true end
      for _, column in ipairs(tables.known) do
         if not has[column.name] then
            out[#out + 1] = ("ALTER TABLE %s ADD COLUMN %s"):format(name, known_column(column))
         end
      end
   end
   return out
end

--- Makes missing tables, and adds the columns that tables of the first versions lack.
-- @return true, or nil and why not
function clickhouse:prepare()
   local made, err = run(self, SCHEMA)
   if not made then return nil, err end
   local statements, why = additions(self)
   if not statements then return nil, why end
   if #statements > 0 then made, err = run(self, statements) end
   return made and true, err
end

local function insert(self, name, lines, names)
   if #lines == 0 then return true end
   return with_password(self, function(command)
      local into = shell.quote(("INSERT INTO lpfm_%s (%s) FORMAT TabSeparated"):format(name, names))
      return client.write(([==[%s --query %s]==]):format(command, into), lines)
   end)
end

-- Returns lines of samples with their recordings' attributes.
local function widened(batch)
   local out = {}
   for i, line in ipairs(batch.samples) do out[i] = line:sub(1, -2) .. "\t" .. batch.known_by[i] end
   return out
end

--- Loads a batch. Its recordings become visible when all is loaded.
-- @tparam table batch of `pfm.fleet.store.batch`
-- @return true, or nil and why not
function clickhouse:load(batch)
   local of = tables.of
   local parts = { { "places", batch.places, of.places }, { "stacks", batch.stacks, of.stacks },
      { "samples", widened(batch), of.wide_samples }, { "recordings", batch.recordings, of.recordings } }
   for _, part in ipairs(parts) do
      local done, err = insert(self, unpack(part))
      if not done then return nil, err end
   end
   return true
end

local function all_of(...)
   local all = {}
   for _, list in ipairs { ... } do
      for _, test in ipairs(list) do all[#all + 1] = test end
   end
   return #all > 0 and " WHERE " .. table.concat(all, " AND ") or ""
end

--- Makes FROM and WHERE for samples. If a recording was loaded twice at once, one attempt counts.
-- @tparam table tests of `pfm.fleet.store.where`: lists of conditions, `recordings` on recordings,
-- `known` those of them on attributes that samples have here, too, and `rows` on samples
-- @treturn string FROM and WHERE
function clickhouse.source(tests)
   local counted = ("load IN (SELECT min(load) FROM lpfm_recordings%s GROUP BY id)"):format(all_of(tests.recordings))
   return "FROM lpfm_samples" .. all_of({ counted }, tests.known, tests.rows)
end

return clickhouse
