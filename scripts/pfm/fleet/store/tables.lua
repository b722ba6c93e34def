-- SPDX-License-Identifier: MIT
--- The tables that both databases have, and the attributes of recordings in them.
-- @module pfm.fleet.store.tables

local tables = {}

--- The columns in the order of the tables: `name`; `number`, it holds whole numbers; `added`,
-- tables of the first versions lack it.
tables.known = {
   { name = "time", number = true }, { name = "host" }, { name = "version" }, { name = "command" },
   { name = "kernel" }, { name = "arch" }, { name = "job" },
   { name = "rank", number = true, added = true }, { name = "node", added = true }, { name = "step", added = true },
}

--- The value that is stored as the rank of a recording without one.
tables.NO_RANK = -1

--- A column that tables of the first versions lack.
tables.newest = "step"

local names, is_number = {}, {}
for i, column in ipairs(tables.known) do names[i], is_number[column.name] = column.name, column.number end

--- The names of the columns.
tables.names = names

--- Which columns hold numbers, by their names.
tables.is_number = is_number

local KNOWN = table.concat(names, ", ")

--- All columns of the tables, in the order in which `pfm.fleet.store.batch` writes them; `samples`
-- are without their recording's attributes, `wide_samples` with them.
tables.of = {
   recordings = "id, load, " .. KNOWN .. ", file, taken, lost, chained",
   places = "id, kind, symbol, object, build, line",
   stacks = "id, frames",
   samples = "load, event, process, comm, place, stack, samples, events",
   wide_samples = "load, event, process, comm, place, stack, samples, events, " .. KNOWN,
}

return tables
