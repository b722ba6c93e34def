-- SPDX-License-Identifier: MIT
--- Names of databases: postgresql://USER:PASSWORD@HOST:PORT/DATABASE, clickhouse://... likewise; every part but the
-- kind may be missing.
-- @module pfm.fleet.store.url

local fail = require("pfm.util.expect").fail
local nearest = require "pfm.util.nearest"

local url = {}

--- The kinds of databases.
url.kinds = { "postgresql", "clickhouse" }
local modules = { postgresql = "postgresql", postgres = "postgresql", clickhouse = "clickhouse" }

local function decoded(text)
   if not text or text == "" then return nil end
   return (text:gsub("%%(%x%x)", function(digits) return string.char(tonumber(digits, 16)) end))
end

--- Parses the URL of a database.
-- @string text
-- @treturn table `kind`, of `url.kinds`; where they are given, `user`, `password`, `host`, `port`, `database`; `name`,
-- what may be shown: without the password
-- @raise on other texts
-- @usage assert(url.parse("clickhouse://db.example/profiles").database == "profiles")
function url.parse(text)
   local kind, rest = text:match("^(%a+)://(.*)$")
   if not kind then fail("'%s' is not the URL of a database, as postgresql://HOST/DATABASE", text) end
   if not modules[kind] then
      fail("'%s': unknown kind of database '%s'%s (kinds: %s)", text, kind, nearest.hint(kind, url.kinds),
         table.concat(url.kinds, ", "))
   end
   local place, database = rest:match("^([^/]*)/?(.*)$")
   local login, server = place:match("^(.*)@([^@]*)$")
   local host, port = (server or place):match("^(%[[^%]]*%]):?(%d*)$")
   if not host then host, port = (server or place):match("^([^:]*):?(%d*)$") end
   if not host or database:find("[/?#]") then fail("'%s' is not %s://USER@HOST:PORT/DATABASE", text, kind) end
   local user, password = (login or ""):match("^([^:]*):?(.*)$")
   return { kind = modules[kind], user = decoded(user), password = decoded(password),
      host = decoded((host:gsub("[%[%]]", ""))), port = decoded(port), database = decoded(database),
      name = ("%s://%s%s/%s"):format(kind, user ~= "" and user .. "@" or "", server or place, database) }
end

return url
