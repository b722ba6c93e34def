-- SPDX-License-Identifier: MIT
--- What a recording is known by: columns that both databases have of each.
-- @module pfm.store.columns

local columns = {}

--- The columns in the order of the tables: `name`; `number`, it is a whole one; `added`, tables that were made by the
-- first versions have not got it.
columns.known = {
   { name = "time", number = true }, { name = "host" }, { name = "version" }, { name = "command" },
   { name = "kernel" }, { name = "arch" }, { name = "job" },
   { name = "rank", number = true, added = true }, { name = "node", added = true }, { name = "step", added = true },
}

--- The rank of who has none.
columns.NO_RANK = -1

--- The column by which tables of the first versions are known.
columns.newest = "step"

local names, is_number = {}, {}
for i, column in ipairs(columns.known) do names[i], is_number[column.name] = column.name, column.number end

--- The names of the columns.
columns.names = names

--- Of names of columns, which are those of numbers.
columns.is_number = is_number

local KNOWN = table.concat(names, ", ")

--- All columns of the tables, in the order of what `pfm.store.batch` writes; of samples without what their recording is
-- known by, and with it.
columns.of = {
   recordings = "id, load, " .. KNOWN .. ", file, taken, lost, chained",
   places = "id, kind, symbol, object, build, line",
   stacks = "id, frames",
   samples = "load, event, process, comm, place, stack, samples, events",
   wide_samples = "load, event, process, comm, place, stack, samples, events, " .. KNOWN,
}

return columns
