-- SPDX-License-Identifier: MIT
--- What all databases have in common: their names, the client program, lines of values, and numbers
-- for texts.
-- @module pfm.fleet.store.client

local fail = require("pfm.util.expect").fail
local nearest = require "pfm.util.nearest"
local text_file = require "pfm.util.text_file"

local client = {}

-- --- names of databases --------------------------------------------------------------------------

-- Names are postgresql://USER:PASSWORD@HOST:PORT/DATABASE, clickhouse://... likewise; every part
-- but the kind may be missing.
local KINDS = { "postgresql", "clickhouse" }
local modules = { postgresql = "postgresql", postgres = "postgresql", clickhouse = "clickhouse" }

local function decoded(text)
   if not text or text == "" then return nil end
   return (text:gsub("%%(%x%x)", function(digits) return string.char(tonumber(digits, 16)) end))
end

--- Parses the URL of a database.
-- @string text
-- @treturn table `kind`, postgresql or clickhouse; where they are given, `user`, `password`,
-- `host`, `port`, `database`; `name`, what may be shown: without the password
-- @raise on other texts
-- @usage assert(client.parse("clickhouse://db.example/profiles").database == "profiles")
function client.parse(text)
   local kind, rest = text:match("^(%a+)://(.*)$")
   if not kind then fail("'%s' is not the URL of a database, as postgresql://HOST/DATABASE", text) end
   if not modules[kind] then
      fail("'%s': unknown kind of database '%s'%s (kinds: %s)", text, kind, nearest.hint(kind, KINDS),
         table.concat(KINDS, ", "))
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

-- --- the client program --------------------------------------------------------------------------

-- Runs a command with `parts` as its input. Its output goes to a file, not a pipe, so that a signal
-- which this process catches cannot cut it short; a write that is cut short fails.
local function run_with(command, parts, output)
   local errors, said = text_file.unnamed()
   local status, code = text_file.unnamed()
   local pipe, err = io.popen(("{ %s; } >%s 2>%s; echo $? >%s; cat >/dev/null"):format(command, output, errors,
      status), "w") -- popen() need not set errno
   local ok = pipe
   for _, part in ipairs(parts) do
      if ok then ok, err = text_file.write(pipe, part) end
   end
   if pipe then pipe:close() end
   local number, why = code():match("%d+"), said():gsub("%s+$", "")
   if number == "0" and ok then return true end
   if not pipe then why = command:match("%S+") .. " cannot be started with a command of this length" end
   if why == "" then
      why = ("%s failed (%s)"):format(command:match("%S+"), number ~= "0" and number or err or "no room")
   end
   return nil, why
end

--- Runs a program and returns what it prints.
-- @string command of a shell
-- @treturn[1] string
-- @return[2] nil
-- @treturn[2] string its error messages
function client.read(command)
   local output, printed = text_file.unnamed()
   local ok, why = run_with(command .. " </dev/null", {}, output)
   local text = printed()
   if not ok then return nil, why end
   return text
end

--- Runs a program that reads. A slow one makes the writer wait.
-- @string command
-- @tparam table parts strings that it reads
-- @treturn[1] bool true
-- @return[2] nil
-- @treturn[2] string its error messages
function client.write(command, parts)
   return run_with(command, parts, "/dev/null")
end

-- --- lines of values, as both databases write and read them -------------------------------------

local escapes = { ["\\"] = "\\\\", ["\t"] = "\\t", ["\n"] = "\\n", ["\r"] = "\\r", ["\0"] = "" }
local letters = { t = "\t", n = "\n", r = "\r", b = "\b", f = "\f", ["0"] = "\0" }

--- Makes values cells of a line, separated by tabs, with escapes.
-- @tparam table values strings and numbers
-- @treturn string
function client.cells(values)
   local out = {}
   for i, value in ipairs(values) do
      out[i] = type(value) == "number" and ("%.0f"):format(value) or (tostring(value):gsub("[\\\t\n\r%z]", escapes))
   end
   return table.concat(out, "\t")
end

--- Makes a line of a table.
-- @tparam table values strings and numbers
-- @treturn string
function client.line(values)
   return client.cells(values) .. "\n"
end

--- Splits text into the lines of a table.
-- @string text
-- @treturn table of tables of strings
function client.rows(text)
   local out = {}
   for line in text:gmatch("([^\n]*)\n") do
      local row = {}
      for cell in (line .. "\t"):gmatch("([^\t]*)\t") do
         row[#row + 1] = cell:gsub("\\(.)", function(letter) return letters[letter] or letter end)
      end
      out[#out + 1] = row
   end
   return out
end

--- Returns the numbers in a cell that is a list.
-- @string cell
-- @treturn table of strings
function client.numbers(cell)
   local out = {}
   for number in cell:gmatch("%d+") do out[#out + 1] = number end
   return out
end

-- --- numbers for texts ---------------------------------------------------------------------------

-- Primes below 10^9; products stay below 2^53.
local FIRST, SECOND = 999999937, 999999893
local BY_FIRST, BY_SECOND = 7368787, 5915587

--- Returns the number of a text: equal texts have equal numbers on every machine, so that a
-- database needs no other agreement about them. Of 10 million texts two have the same number once
-- in 20,000 times.
-- @string text
-- @treturn string decimal, below 10^18: what signed 64-bit columns hold
-- @usage assert(client.hash("main") == client.hash("main"))
function client.hash(text)
   local a, b = 1, 1
   for i = 1, #text do
      local c = text:byte(i) + 1
      a, b = (a * BY_FIRST + c) % FIRST, (b * BY_SECOND + c) % SECOND
   end
   return ("%d%09d"):format(a, b)
end

return client
