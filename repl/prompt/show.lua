-- SPDX-License-Identifier: MIT
--- Formats any value for people.
-- @module repl.prompt.show

local render = require "pfm.render"
local shell = require "pfm.util.shell"
local signal = require "posix.signal"
local terminal = require "pfm.util.terminal"

local show = {}

local WIDTH, DEPTH, ROWS, COLUMNS = 100, 4, 200, 50
local LOOK = 1000       -- most keys of a table that are read, which limits the time to show it
local LONG = 20000      -- most bytes of a text that are shown
local INSIDE = 2000     -- most bytes of a text in a table, and of a table on one line
local first_columns = { "num", "name", "set", "id", "event", "value" }

-- The units of fields in the interface's tables.
local units = { timeout = "ns", act_duration = "ns", tstamp = "ns", width = "bits", buf_size = "bytes",
   arg_size = "bytes", arg_size_max = "bytes", smpl_buf_size_max = "bytes", smpl_buf_size_cur = "bytes",
   elapsed = "s", utime = "s", stime = "s", maxrss = "KiB", counter_width = "bits" }

local function with_unit(name)
   return units[name] and ("%s/%s"):format(name, units[name]) or name
end

--- Cuts a text that is too long, and says how many bytes are missing.
-- @string text
-- @int most bytes
-- @treturn string
-- @usage require("repl.prompt.show").cut("abcdef", 3) --> "abc... 3 more bytes"
function show.cut(text, most)
   if #text <= most then return text end
   return ("%s... %s"):format(text:sub(1, most), render.plural(#text - most, "more byte"))
end

local cut = show.cut

--- Describes an error value, whatever its metatable does.
-- @param value
-- @treturn string
-- @usage require("repl.prompt.show").plain(5) --> "5"
function show.plain(value)
   local ok, text = pcall(tostring, value)
   return ok and type(text) == "string" and text or "a " .. type(value)
end

-- Returns a number with the fewest digits from which Lua reads the same number.
local function number(n)
   if n ~= n then return "0/0" end
   if n == math.huge or n == -math.huge then return n < 0 and "-math.huge" or "math.huge" end
   if n % 1 == 0 and math.abs(n) < 2 ^ 63 then return ("%.0f"):format(n) end
   for digits = 14, 17 do
      local text = ("%." .. digits .. "g"):format(n)
      if tonumber(text) == n then return text end
   end
end

-- Returns true if a table is a list. Of a large table only a limited number of keys is read.
local function is_list(t)
   local n = 0
   for k in pairs(t) do
      n = n + 1
      if type(k) ~= "number" or k % 1 ~= 0 or k < 1 or k > #t then return false end
      if n == LOOK then return true end
   end
   return n == #t
end

local function has_tostring(t)
   local meta = getmetatable(t)
   return type(meta) == "table" and meta.__tostring ~= nil
end

local inline

-- Returns the keys of a table, sorted, and whether it has more than the number that is read.
local function sorted_keys(t)
   local keys, more = {}, false
   for k in pairs(t) do
      more = #keys == LOOK
      if more then break end
      keys[#keys + 1] = k
   end
   table.sort(keys, function(a, b)
      if type(a) == type(b) and (type(a) == "number" or type(a) == "string") then return a < b end
      return type(a) < type(b)
   end)
   return keys, more
end

local function key_text(k, depth)
   if type(k) == "string" and #k <= WIDTH and k:find("^[%a_][%w_]*$") then return k end
   return "[" .. inline(k, depth + 1) .. "]"
end

local function inline_table(t, depth)
   if depth > DEPTH then return "{...}" end
   local listed = #t > 0 and is_list(t)
   local keys, more = {}, false
   if not listed then keys, more = sorted_keys(t) end
   local out, bytes = {}, 0
   for i = 1, listed and #t or #keys do
      local text = listed and inline(t[i], depth + 1)
         or key_text(keys[i], depth) .. "=" .. inline(t[keys[i]], depth + 1)
      out[i], bytes = text, bytes + #text
      more = more or bytes > INSIDE
      if more then break end
   end
   return "{" .. table.concat(out, ", ") .. (more and ", ...}" or "}")
end

-- Formats a value on one line, inside another value.
function inline(value, depth)
   if type(value) == "string" then return ("%q"):format(cut(value, INSIDE)):gsub("\\\n", "\\n") .. "" end
   if type(value) == "number" then return number(value) end
   if type(value) == "table" and not has_tostring(value) then return inline_table(value, depth) end
   local text = tostring(value)
   if type(text) ~= "string" then error(("__tostring returned a %s, not a string"):format(type(text)), 0) end
   text = cut(text, depth > 1 and INSIDE or LONG)
   return depth > 1 and text:match("^[^\n]*") or text
end

-- Fields that are lists of register numbers.
local registers = { avail_pmcs = true, avail_pmds = true, ovfl_pmds = true, impl_pmcs = true, impl_pmds = true,
   reset_pmds = true, smpl_pmds = true, pmds = true }

-- Returns register numbers as ranges, "4-15 64-72"; nil for any other list.
local function ranges(list)
   local out, i, most = {}, 1, math.min(#list, LOOK)
   while i <= most do
      local first, last = list[i], list[i]
      if type(first) ~= "number" then return nil end
      while i < most and list[i + 1] == last + 1 do i, last = i + 1, list[i + 1] end
      out[#out + 1] = first == last and ("%d"):format(first) or ("%d-%d"):format(first, last)
      i = i + 1
   end
   if #list > most then out[#out + 1] = "..." end
   return #out > 0 and table.concat(out, " ") or nil
end

-- Formats a value for a cell, where texts need no quotes and lists of texts no braces.
local function cell(value, name)
   if value == nil then return "" end
   if type(value) == "string" then return cut(value, INSIDE) end
   if type(value) == "table" and not has_tostring(value) and #value > 0 and #value <= LOOK
      and type(value[1]) == "string" then
      return cut(table.concat(value, " "), INSIDE)
   end
   if registers[name] and type(value) == "table" then return ranges(value) or "" end
   return inline(value, 2)
end

local function column_names(rows)
   local seen, out = {}, {}
   for _, name in ipairs(first_columns) do
      for _, row in ipairs(rows) do
         if row[name] ~= nil and not seen[name] then
            seen[name] = true
            out[#out + 1] = name
         end
      end
   end
   local rest = {}
   for _, row in ipairs(rows) do
      for k in pairs(row) do
         if not seen[k] then
            seen[k] = true
            rest[#rest + 1] = k
         end
      end
   end
   table.sort(rest)
   for _, k in ipairs(rest) do out[#out + 1] = k end
   return out
end

local function is_records(t)
   if #t == 0 or not is_list(t) then return false end
   local columns, seen = 0, {}
   for i = 1, math.min(#t, ROWS) do
      local row = t[i]
      if type(row) ~= "table" or has_tostring(row) or #row > 0 or next(row) == nil then return false end
      for k in pairs(row) do
         if not seen[k] then columns = columns + 1 end
         if type(k) ~= "string" or #k > WIDTH or columns > COLUMNS then return false end
         seen[k] = true
      end
   end
   return true
end

local function right_aligned(rows, name)
   for _, row in ipairs(rows) do
      local v = row[name]
      if v ~= nil and type(v) ~= "number" and not (type(v) == "userdata" or type(v) == "cdata") then return false end
   end
   return true
end

local function register_names()
   local out = {}
   for _, reg in ipairs(require("lpfm").pmds() or {}) do out[reg.num] = reg.name end
   for _, e in ipairs(require("pfm.events").software()) do out[e.num] = e.name .. (e.unit and "/" .. e.unit or "") end
   return out
end

-- Adds the names of the registers to the rows that read_pmds returns.
local function with_names(rows)
   local first = rows[1]
   if not (first.num and first.value ~= nil and first.last_reset ~= nil) or first.name then return rows end
   local names, out = register_names(), {}
   for i, row in ipairs(rows) do
      out[i] = { name = names[row.num] }
      for k, v in pairs(row) do out[i][k] = v end
   end
   return out
end

--- Formats a list of records as columns and rows of texts.
-- @param value
-- @treturn[1] {table,...} columns: `title`, `right` if it is of numbers
-- @treturn[1] {table,...} rows, 200 at most
-- @treturn[1] ?string a line that says how many rows are missing
-- @treturn[2] nil if the value is not such a list
-- @usage local columns, rows = require("repl.prompt.show").columns(lpfm.pmds())
function show.columns(value)
   if type(value) ~= "table" or has_tostring(value) or not is_records(value) then return nil end
   local rows = {}
   for i = 1, math.min(#value, ROWS) do rows[i] = value[i] end
   rows = with_names(rows)
   local names, columns, cells = column_names(rows), {}, {}
   for i, name in ipairs(names) do columns[i] = { title = with_unit(name), right = right_aligned(rows, name) } end
   for r = 1, #rows do
      cells[r] = {}
      for i, name in ipairs(names) do cells[r][i] = cell(rows[r][name], name) end
   end
   return columns, cells, #value > ROWS and "... " .. render.plural(#value - ROWS, "more row") or nil
end

local function records(columns, cells, more)
   local lines = render.align(columns, cells)
   lines[#lines + 1] = more
   return table.concat(lines, "\n")
end

local function pairs_text(t)
   local rows, keys, more = {}, {}, false
   if is_list(t) then
      for i = 1, math.min(#t, ROWS) do keys[i] = i end
   else
      keys, more = sorted_keys(t)
   end
   for i = 1, math.min(#keys, ROWS) do
      local text = cell(t[keys[i]], keys[i])
      local unit = type(t[keys[i]]) == "number" and units[keys[i]]
      if unit then text = text .. " " .. unit end
      rows[i] = { cell(keys[i]), #text > WIDTH and text:sub(1, WIDTH) .. "..." or text }
   end
   local lines = render.align({ {}, {} }, rows)
   local left = math.max(#keys, is_list(t) and #t or 0) - ROWS
   if left > 0 then lines[#lines + 1] = more and "... more" or ("... %d more"):format(left) end
   return table.concat(lines, "\n")
end

--- Formats a value as text, on several lines if that is easier to read.
-- @param value
-- @treturn string
-- @usage require("repl.prompt.show").text(lpfm.pmds())
function show.text(value)
   if type(value) == "string" then return cut(value, LONG) end
   if type(value) ~= "table" or has_tostring(value) then return inline(value, 1) end
   if next(value) == nil then return "{}" end
   if is_records(value) then return records(show.columns(value)) end
   local short = inline(value, 1)
   if #short <= WIDTH and is_list(value) then return short end
   return pairs_text(value)
end

local PAGER = "less -FRX" -- -F quits if the text fits, -X leaves it on the screen

-- Returns true if a text and the next prompt have more lines than the terminal.
local function is_long(text)
   local columns, most = terminal.size()
   local lines = 0
   for line in text:gmatch("([^\n]*)\n") do
      lines = lines + math.max(1, math.ceil(#line / columns))
      if lines >= most then return true end
   end
   return false
end

-- Returns the pager's command, or nil if there is none or PAGER is empty.
local function command()
   local wanted = os.getenv("PAGER") or PAGER
   local word = wanted:match("^%s*(%S+)")
   if not word or word == "cat" then return nil end
   return shell.has(shell.quote(word)) and wanted
end

--- Prints a text, with a pager ($PAGER, or less) if it is longer than the terminal. The pager may
-- leave before it has read all of it.
-- @string text whole lines
function show.page(text)
   local wanted = terminal.is_terminal(true) and is_long(text) and command()
   if not wanted then
      io.stdout:write(text)
      return
   end
   io.stdout:flush()
   local before = signal.signal(signal.SIGPIPE, signal.SIG_IGN)
   local pipe = io.popen(wanted, "w")
   require("repl.host").ignoring(function()
      pipe:write(text)
      pipe:close()
   end)
   signal.signal(signal.SIGPIPE, before)
end

--- Prints values as the prompt does.
-- @prompt show
-- @param ...
function show.print(...)
   local parts = {}
   for i = 1, select("#", ...) do parts[i] = show.text((select(i, ...))) end
   if #parts > 0 then show.page(table.concat(parts, "\t") .. "\n") end
end

return show
