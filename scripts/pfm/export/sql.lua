-- SPDX-License-Identifier: MIT
--- A recording as SQL statements.
--
-- Tables: info (key, value: how it was recorded), events, threads (a row for each name that a
-- thread had), symbols, samples; for a merged file, recordings. View: resolved, samples with names.
-- @module pfm.export.sql

local render = require "pfm.render"
local samples = require "pfm.recording.samples"
local stacks = require "pfm.recording.stacks"
local symbols = require "pfm.symbols"

local sql = { summary = "SQL statements that make the same tables", extensions = { "sql" } }

local BATCH = 200 -- rows an INSERT

local SCHEMA = [[
CREATE TABLE info (key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE events (id INTEGER PRIMARY KEY, name TEXT, unit TEXT, period REAL);
CREATE TABLE threads (id INTEGER PRIMARY KEY, tid INTEGER, name TEXT);
@RECORDINGS@CREATE TABLE symbols (id INTEGER PRIMARY KEY, name TEXT, object TEXT, path TEXT);
CREATE TABLE samples (id INTEGER PRIMARY KEY, event INTEGER REFERENCES events, time REAL, pid INTEGER, tid INTEGER,
   thread INTEGER REFERENCES threads, cpu INTEGER, address INTEGER, symbol INTEGER REFERENCES symbols, offset INTEGER,
   file TEXT, line INTEGER, period INTEGER@RECORDING@@WITH@);
CREATE VIEW resolved AS SELECT samples.id, events.name AS event, time, pid, samples.tid, threads.name AS thread, cpu,
   address, symbols.name AS symbol, object, path, offset, file, line, samples.period@FROM@@NAMES@
   FROM samples JOIN events ON events.id = event JOIN symbols ON symbols.id = symbol
   JOIN threads ON threads.id = samples.thread@JOIN@;
]]

-- The parts of the schema that differ between one recording and many.
local ONE = { RECORDINGS = "", RECORDING = "", FROM = "", JOIN = "" }
local MANY = {
   RECORDINGS = [[
CREATE TABLE recordings (id INTEGER PRIMARY KEY, name TEXT, rank INTEGER, host TEXT, node TEXT, job TEXT, step TEXT);
]],
   RECORDING = ", recording INTEGER REFERENCES recordings",
   FROM = ", recordings.name AS recording, rank, host, node, job, step",
   JOIN = [[

   LEFT JOIN recordings ON recordings.id = samples.recording]],
}

local function name_quoted(text)
   return '"' .. text:gsub('"', '""') .. '"'
end

local function literal(value)
   if value == nil then return "NULL" end
   if type(value) == "number" then return value % 1 == 0 and ("%.0f"):format(value) or ("%.9f"):format(value) end
   return "'" .. render.printable(tostring(value)):gsub("'", "''") .. "'"
end

local function row(values, n)
   local out = {}
   for i = 1, n do out[i] = literal(values[i]) end
   return "(" .. table.concat(out, ",") .. ")"
end

-- Gathers rows of a table into INSERTs.
local function inserter(out, name, n)
   local rows = {}
   local function flush()
      if #rows > 0 then out:write("INSERT INTO ", name, " VALUES\n", table.concat(rows, ",\n"), ";\n") end
      rows = {}
   end
   return function(...)
      rows[#rows + 1] = row({ ... }, n)
      if #rows == BATCH then flush() end
   end, flush
end

local function write_info(self, out)
   local put, flush = inserter(out, "info", 2)
   for _, part in ipairs { self.head, self.ends or {} } do
      for key, value in pairs(part) do
         put((part == self.head and "" or "ends.") .. key, type(value) == "table" and render.json(value) or value)
      end
   end
   for i, warning in ipairs(self:warnings()) do put("warning." .. i, warning) end
   flush()
end

local function write_events(self, out)
   local put, flush = inserter(out, "events", 4)
   for i, e in ipairs(self.head.events) do put(i, e.name, e.unit, e.period) end
   flush()
end

-- Writes where each of many recordings comes from.
local function write_recordings(self, out)
   local put, flush = inserter(out, "recordings", 7)
   for i, part in ipairs(self.parts) do
      local from = part.from
      put(i, from.recording, from.rank, from.host, from.node, from.job, from.step)
   end
   flush()
end

local function with_columns(self)
   local columns, names = {}, {}
   for i, e in ipairs(self.head.with or {}) do
      columns[i], names[i] = ", " .. name_quoted(e.name) .. " INTEGER", ", " .. name_quoted(e.name)
   end
   return table.concat(columns), table.concat(names)
end

local function schema(self)
   local columns, names = with_columns(self)
   local parts = setmetatable({ WITH = columns, NAMES = names }, { __index = self.sources and MANY or ONE })
   return (SCHEMA:gsub("@(%u+)@", function(name) return parts[name] end))
end

-- Numbers what samples have in two fields, and writes it when it is new.
local function numbering(first, second, put)
   local ids, n = {}, 0
   return function(s)
      local key = s[first] .. "\0" .. s[second]
      if not ids[key] then
         n = n + 1
         ids[key] = n
         put(n, s)
      end
      return ids[key]
   end
end

local function write_samples(self, out, only)
   local with, ids, many = self.head.with or {}, {}, self.sources and 1 or 0
   local put, flush = inserter(out, "samples", 13 + many + #with)
   local numbers = {} -- the number of a recording, by its name
   for i, part in ipairs(self.parts or {}) do numbers[part.from.recording] = i end
   local put_symbol, flush_symbols = inserter(out, "symbols", 4)
   local symbol = numbering("symbol", "object", function(n, s)
      put_symbol(n, s.symbol, stacks.base_name(s.object), s.object)
   end)
   local put_thread, flush_threads = inserter(out, "threads", 3)
   -- each name of a thread
   local thread = numbering("thread", "comm", function(n, s) put_thread(n, s.tid, s.comm) end)
   for i, e in ipairs(self.head.events) do ids[e.name] = i end
   for s in samples.each(self, nil, only) do
      local file, line = symbols.line(s.where)
      local values = {}
      if many == 1 then values[1] = numbers[s.recording] end
      for i, e in ipairs(with) do values[many + i] = s[e.name] end
      put(nil, ids[s.event], s.time, s.pid, s.tid, thread(s), s.cpu, s.address, symbol(s), s.offset, file, line,
         s.period, unpack(values, 1, many + #with))
   end
   flush()
   flush_symbols()
   flush_threads()
end

--- Writes the recording as SQL.
-- @tparam table self of `recording.open`
-- @param out a file
-- @tparam[opt] table options `event` (a name): only its samples
function sql.write(self, out, options)
   local only = options and options.event and stacks.event(self, options.event).name
   out:write("BEGIN;\n", schema(self))
   write_info(self, out)
   write_events(self, out)
   if self.sources then write_recordings(self, out) end
   write_samples(self, out, only)
   out:write("COMMIT;\n")
end

return sql
