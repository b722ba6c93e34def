-- SPDX-License-Identifier: MIT
--- The tables that both databases have, and what a recording is known by in them.
-- @module pfm.fleet.store.tables

local tables = {}

--- The columns in the order of the tables: `name`; `number`, it is a whole one; `added`, tables that were made by the
-- first versions have not got it.
tables.known = {
   { name = "time", number = true }, { name = "host" }, { name = "version" }, { name = "command" },
   { name = "kernel" }, { name = "arch" }, { name = "job" },
   { name = "rank", number = true, added = true }, { name = "node", added = true }, { name = "step", added = true },
}

--- The rank of a recording that has none.
tables.NO_RANK = -1

--- The column by which tables of the first versions are known.
tables.newest = "step"

local names, is_number = {}, {}
for i, column in ipairs(tables.known) do names[i], is_number[column.name] = column.name, column.number end

--- The names of the columns.
tables.names = names

--- Of names of columns, which are those of numbers.
tables.is_number = is_number

local KNOWN = table.concat(names, ", ")

--- All columns of the tables, in the order of what `pfm.fleet.store.batch` writes; of samples without what their
-- recording is known by, and with it.
tables.of = {
   recordings = "id, load, " .. KNOWN .. ", file, taken, lost, chained",
   places = "id, kind, symbol, object, build, line",
   stacks = "id, frames",
   samples = "load, event, process, comm, place, stack, samples, events",
   wide_samples = "load, event, process, comm, place, stack, samples, events, " .. KNOWN,
}

return tables
