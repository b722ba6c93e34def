-- SPDX-License-Identifier: MIT
--- Recordings in PostgreSQL, through psql: a batch is a transaction.
-- @module pfm.fleet.store.postgresql

local client = require "pfm.fleet.store.client"
local setenv = require("posix.stdlib").setenv
local shell = require "pfm.util.shell"
local tables = require "pfm.fleet.store.tables"

local postgresql = {}
postgresql.__index = postgresql

-- PostgreSQL's SQL for what differs between the databases: functions, and joins (`join`: with a
-- table that has one row for each row).
postgresql.words = { divide = "div", join = "JOIN", join_all = "JOIN", each = "unnest",
   distinct = "count(DISTINCT %s)" }

-- Returns a recording's attributes as columns: all, or those that the first versions did not have.
local function known_columns(form, only_added)
   local out = {}
   for _, column in ipairs(tables.known) do
      local kind = column.name == "time" and "bigint NOT NULL" or column.number and "integer NOT NULL DEFAULT "
         .. tables.NO_RANK or "text DEFAULT ''"
      if column.added or not only_added then out[#out + 1] = form:format(column.name, kind) end
   end
   return table.concat(out, ", ")
end

-- psql prints warnings and errors only; two sessions that create the tables at once take turns.
local SCHEMA = [[
SET client_min_messages = warning;
BEGIN;
SELECT pg_advisory_xact_lock(%s);
CREATE TABLE IF NOT EXISTS lpfm_recordings (id text PRIMARY KEY, load bigint UNIQUE NOT NULL, %s, file text,
   taken bigint, lost bigint, chained smallint);
ALTER TABLE lpfm_recordings %s;
CREATE INDEX IF NOT EXISTS lpfm_recordings_time ON lpfm_recordings (time);
CREATE TABLE IF NOT EXISTS lpfm_places (id bigint PRIMARY KEY, kind text, symbol text, object text, build text,
   line text);
CREATE TABLE IF NOT EXISTS lpfm_stacks (id bigint PRIMARY KEY, frames bigint[]);
CREATE TABLE IF NOT EXISTS lpfm_samples (load bigint NOT NULL, event text, process text, comm text, place bigint,
   stack bigint, samples bigint, events bigint);
CREATE INDEX IF NOT EXISTS lpfm_samples_load ON lpfm_samples (load);
COMMIT;
]]
local LOCK = 7367461 -- the key of the advisory lock: any fixed number

local WAIT = "10" -- s for a connection

--- Makes a database object; it connects when it is used.
-- @tparam table url of `url.parse`
-- @treturn table
function postgresql.new(url)
   shell.need("psql", "postgresql-client")
   local self = setmetatable({ url = url }, postgresql)
   local parts = { "psql -X -q -w -v ON_ERROR_STOP=1" }
   for flag, value in pairs { h = url.host or false, p = url.port or false, U = url.user or false } do
      if value then parts[#parts + 1] = ("-%s %s"):format(flag, shell.quote(value)) end
   end
   if url.database then parts[#parts + 1] = "-d " .. shell.quote(url.database) end
   self.command = table.concat(parts, " ")
   return self
end

-- Returns the command. Lists of processes show it, so the password is in the environment.
local function command_of(self)
   if self.url.password then setenv("PGPASSWORD", self.url.password) end
   setenv("PGCONNECT_TIMEOUT", WAIT)
   return self.command
end

--- Writes a text in SQL.
function postgresql.literal(text)
   return "'" .. text:gsub("%z", ""):gsub("'", "''") .. "'"
end

--- Writes a list of numbers as a cell.
function postgresql.list(numbers)
   return "{" .. table.concat(numbers, ",") .. "}"
end

--- Runs a query.
-- @string sql a SELECT
-- @return rows of strings, or nil and why not
function postgresql:ask(sql)
   local text, err = client.read(("%s -c %s"):format(command_of(self), shell.quote("COPY (" .. sql .. ") TO STDOUT")))
   if not text then return nil, err end
   return client.rows(text)
end

--- Makes missing tables, and adds the columns that tables of the first versions lack.
-- @return true, or nil and why not
function postgresql:prepare()
   return client.write(command_of(self), { SCHEMA:format(LOCK, known_columns("%s %s"),
      known_columns("ADD COLUMN IF NOT EXISTS %s %s", true)) })
end

-- Adds rows unless they are there, through a temporary table; in the order of ids, so that two
-- sessions that add the same rows do not deadlock.
local function new_ones(out, name, lines)
   if #lines == 0 then return end
   out[#out + 1] = ("CREATE TEMPORARY TABLE new_%s (LIKE lpfm_%s) ON COMMIT DROP;\n"):format(name, name)
   out[#out + 1] = ("COPY new_%s (%s) FROM STDIN;\n"):format(name, tables.of[name])
   for _, line in ipairs(lines) do out[#out + 1] = line end
   out[#out + 1] = ("\\.\nINSERT INTO lpfm_%s SELECT * FROM new_%s ORDER BY id ON CONFLICT DO NOTHING;\n"):format(name,
      name)
end

local function copy(out, name, lines)
   out[#out + 1] = ("COPY lpfm_%s (%s) FROM STDIN;\n"):format(name, tables.of[name])
   for _, line in ipairs(lines) do out[#out + 1] = line end
   out[#out + 1] = "\\.\n"
end

--- Loads a batch, whole or not at all. It fails if a recording is there already.
-- @tparam table batch of `pfm.fleet.store.batch`
-- @return true, or nil and why not
function postgresql:load(batch)
   local out = { "SET client_min_messages = warning;\nBEGIN;\n" }
   copy(out, "recordings", batch.recordings)
   new_ones(out, "places", batch.places)
   new_ones(out, "stacks", batch.stacks)
   copy(out, "samples", batch.samples)
   out[#out + 1] = "COMMIT;\n"
   return client.write(command_of(self), out)
end

--- Makes FROM and WHERE for samples.
-- @tparam table tests of `pfm.fleet.store.where`: lists of conditions on `recordings` and on `rows`
-- @treturn string FROM and WHERE
function postgresql.source(tests)
   local all = { "TRUE" }
   for _, list in ipairs { tests.recordings, tests.rows } do
      for _, test in ipairs(list) do all[#all + 1] = test end
   end
   return ("FROM lpfm_samples JOIN lpfm_recordings USING (load) WHERE %s"):format(table.concat(all, " AND "))
end

return postgresql
