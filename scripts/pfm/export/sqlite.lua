-- SPDX-License-Identifier: MIT
--- A recording as an SQLite database, made by the sqlite3 program out of `pfm.export.sql`.
-- @module pfm.export.sqlite

local sql = require "pfm.export.sql"

local sqlite = { summary = "a database: sqlite3 FILE 'SELECT symbol, count(*) FROM resolved GROUP BY symbol'",
   extensions = { "sqlite", "db", "sqlite3" }, binary = true, program = "sqlite3", write = sql.write }

--- Returns the command that reads what `sqlite.write` writes, and makes the file.
-- @string path quoted for the shell
-- @treturn string
function sqlite.consumer(path)
   return ("sqlite3 -batch -bail %s"):format(path)
end

return sqlite
