-- SPDX-License-Identifier: MIT
--- Numbers, times and tables as people read them; CSV and JSON as programs do.
-- @module pfm.render

local expect = require "pfm.util.expect"

local fail, need = expect.fail, expect.module

local render = {}

local utf8 = (os.getenv("LC_ALL") or os.getenv("LC_CTYPE") or os.getenv("LANG") or ""):upper():find("UTF%-?8") ~= nil

--- This is true if the locale's characters are UTF-8.
render.utf8 = utf8

--- "±", or "+-" where the locale is not UTF-8.
render.plus_minus = utf8 and "±" or "+-"

local function group(digits)
   local out = digits:reverse():gsub("(%d%d%d)", "%1,"):reverse()
   return (out:gsub("^,", ""))
end

--- Formats a number with thousands separators.
-- @param n a number or an `lpfm.u64`
-- @tparam[opt] number decimals digits after the point; by default none for whole numbers
-- @treturn string
-- @usage render.number(1234567) --> "1,234,567"
function render.number(n, decimals)
   local text
   if type(n) ~= "number" then
      text = tostring(n)
   elseif n ~= n or n == math.huge or n == -math.huge then
      return tostring(n)
   elseif decimals then
      text = ("%%.%df"):format(expect.whole("decimals", decimals, 0, 99)):format(n)
   elseif n == math.floor(n) and math.abs(n) < 2 ^ 63 then
      text = ("%.0f"):format(n)
   else
      text = ("%.6g"):format(n)
      if text:find("e") then return text end
   end
   local sign, whole, rest = text:match("^(%-?)(%d+)(.*)$")
   return whole and sign .. group(whole) .. rest or text
end

-- Formats a number in the largest unit in which it is, rounded, at least 1, else in the smallest
-- unit.
local function scaled(n, steps, digits)
   for i, step in ipairs(steps) do
      local lower = steps[i + 1]
      if not lower or math.abs(n) >= step[1] - lower[1] * 0.5 * 10 ^ -digits then
         return ("%." .. digits .. "f %s"):format(n / step[1], step[2])
      end
   end
end

--- Formats a time with the unit that suits it.
-- @tparam number s seconds
-- @treturn string
-- @usage render.time(0.00123) --> "1.230 ms"
function render.time(s)
   if s == 0 then return "0 s" end
   if s >= 120 and s < math.huge then
      local whole = math.floor(s + 0.5)
      return ("%.0f min %.0f s"):format(math.floor(whole / 60), whole % 60)
   end
   return scaled(s, { { 1, "s" }, { 1e-3, "ms" }, { 1e-6, "us" }, { 1e-9, "ns" } }, 3)
end

--- Formats a size in bytes.
-- @tparam number n bytes
-- @treturn string
-- @usage render.bytes(65536) --> "64.0 KiB"
function render.bytes(n)
   if n < 1024 then return ("%d bytes"):format(n) end
   return scaled(n, { { 2 ^ 30, "GiB" }, { 2 ^ 20, "MiB" }, { 2 ^ 10, "KiB" } }, 1)
end

-- Returns how many bytes follow a character's first byte in UTF-8; nil: no character begins so.
local function more_bytes(first)
   if first < 128 then return 0 end
   if first >= 194 and first < 224 then return 1 end
   if first >= 224 and first < 240 then return 2 end
   return first >= 240 and first < 245 and 3 or nil
end

-- By first byte, the second bytes that are not allowed after it: they would encode overlong forms,
-- surrogates, or code points above U+10FFFF.
local NO_SECOND = { [224] = "^[\128-\159]", [237] = "^[\160-\191]", [240] = "^[\128-\143]", [244] = "^[\144-\191]" }

-- Control characters: ASCII's, C1, ends of lines and paragraphs, and those that turn the direction
-- of writing, after which a line shows what it does not say.
local CONTROLS = { "%c", "^\194[\128-\159]", "^\226\128[\142\143\168-\174]", "^\226\129[\166-\169]" }

local function is_control(ch)
   for _, pattern in ipairs(CONTROLS) do
      if ch:find(pattern) then return true end
   end
end

local printable = setmetatable({}, { __mode = "k" })

-- Replaces bytes that are not UTF-8 by question marks; with `controls` also control characters.
local function replaced(text, controls)
   local out, i = {}, 1
   while i <= #text do
      local more = more_bytes(text:byte(i))
      local ch = more and text:sub(i, i + more)
      local whole = ch and #ch == more + 1 and not ch:find("[^\128-\191]", 2)
         and not (NO_SECOND[ch:byte()] and ch:find(NO_SECOND[ch:byte()], 2))
         and not (controls and is_control(ch))
      out[#out + 1] = whole and ch or "?"
      i = i + (whole and #ch or 1)
   end
   return table.concat(out)
end

--- Makes a name that can be shown anywhere: control characters, and bytes that are no UTF-8, become
-- question marks.
-- @string text
-- @treturn string
-- @usage render.printable("a\27[31m") --> "a?[31m"
function render.printable(text)
   if not text:find("[%c\127-\255]") then return text end
   printable[text] = printable[text] or replaced(text, true)
   return printable[text]
end

--- Makes text that can be printed, as `render.printable` does, but line ends and tabs stay.
-- @string text
-- @treturn string
-- @usage render.clean("a\27[31m\nb") --> "a?[31m\nb"
function render.clean(text)
   return (text:gsub("[^\n\t]+", render.printable))
end

local LONGEST = 200 -- columns of a command line that is shown

--- Cuts what was measured to a length that can be shown: a command line may be very long.
-- @string text
-- @treturn string
-- @usage render.what("'sh -c true'") --> "'sh -c true'"
function render.what(text)
   return render.shorten(render.printable(text), LONGEST)
end

--- Formats a rate.
-- @tparam number n per second
-- @treturn string
-- @usage render.rate(1234567) --> "1.235 M/s"
function render.rate(n)
   return scaled(n, { { 1e9, "G/s" }, { 1e6, "M/s" }, { 1e3, "K/s" }, { 1, "/s" } }, 3)
end

local BARS = { "_", ".", "-", "=", "+", "*", "%", "#" }
if utf8 then BARS = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" } end

--- Makes a row of bars that show the last values, from 0 to the largest of them. The bars are ASCII
-- where the locale has no UTF-8.
-- @tparam table values numbers of 0 or more
-- @tparam number width columns at most
-- @treturn string
-- @usage render.sparkline({0, 5, 10}, 40)
function render.sparkline(values, width)
   local first, largest, out = math.max(1, #values - width + 1), 0, {}
   for i = first, #values do largest = math.max(largest, values[i]) end
   for i = first, #values do
      local level = largest > 0 and math.floor(values[i] / largest * (#BARS - 1) + 0.5) or 0
      out[#out + 1] = BARS[level + 1]
   end
   return table.concat(out)
end

-- Returns the characters of a text, or its bytes where the locale's characters are bytes.
local function characters(text)
   local out = {}
   for char in text:gmatch(utf8 and "[%z\1-\127\194-\244][\128-\191]*" or ".") do out[#out + 1] = char end
   return out
end

--- Cuts text to a number of columns.
-- @tparam string text
-- @tparam number columns
-- @treturn string
-- @usage render.cut("a long name", 6)
function render.cut(text, columns)
   if render.width(text) <= columns then return text end
   local chars = characters(text)
   return table.concat(chars, "", 1, math.min(columns, #chars))
end

--- Leaves out the middle of text that takes more columns than there are: names that begin alike
-- (paths, command lines) differ at their end.
-- @tparam string text
-- @tparam number columns
-- @treturn string
-- @usage render.shorten("/usr/lib/x86_64-linux-gnu/libc.so.6", 20)
function render.shorten(text, columns)
   if render.width(text) <= columns then return text end
   local chars = characters(text)
   if #chars <= columns then return table.concat(chars) end
   local head = math.floor((columns - 2) / 3)
   return table.concat(chars, "", 1, head) .. ".." .. table.concat(chars, "", #chars - (columns - 2 - head) + 1)
end

--- Reads a size as a person types it: "64K", "1M", "65536".
-- @tparam string text
-- @return bytes, or nil and a message
-- @usage assert(render.parse_size "64K" == 65536)
function render.parse_size(text)
   local n, unit = text:match("^(%d+)([kKmMgG]?)[iI]?[bB]?$")
   if not n then return nil, ("'%s' is not a size (as in 65536, 64K, 1M)"):format(text) end
   local shift = { [""] = 0, k = 10, m = 20, g = 30 }
   local size = tonumber(n) * 2 ^ shift[unit:lower()]
   if size > 2 ^ 53 then return nil, ("%s is too much: at most %dG"):format(text, 2 ^ 23) end
   return size
end

--- Returns how many columns of a terminal line text takes.
-- @tparam string text
-- @treturn number
-- @usage assert(render.width "naïve" == 5)
function render.width(text)
   if not utf8 then return #text end
   local _, continued = text:gsub("[\128-\191]", "")
   return #text - continued
end

local function pad(text, width, right)
   local fill = (" "):rep(width - render.width(text))
   return right and fill .. text or text .. fill
end

local function printable_cells(rows)
   local out = {}
   for i, row in ipairs(rows) do
      out[i] = {}
      for k, cell in pairs(row) do out[i][k] = type(cell) == "string" and render.printable(cell) or cell end
   end
   return out
end

--- Aligns rows of texts; what cannot be shown in them becomes question marks.
-- @tparam table columns `{ {title=, right=bool, least=}, ... }`; `right`: align to the right;
-- `least`: width at least
-- @tparam table rows arrays of strings
-- @tparam[opt=""] string indent
-- @treturn table lines
-- @usage
-- local columns = { { title = "event" }, { title = "count", right = true } }
-- print(table.concat(render.align(columns, { { "page-faults", "115" }, { "cs", "69" } }), "\n"))
function render.align(columns, rows, indent)
   rows = printable_cells(rows)
   local widths, titled = {}, false
   for i, column in ipairs(columns) do
      widths[i] = math.max(render.width(column.title or ""), column.least or 0)
      titled = titled or column.title ~= nil
   end
   for _, row in ipairs(rows) do
      for i = 1, #columns do widths[i] = math.max(widths[i], render.width(row[i] or "")) end
   end
   local function line(cells)
      local out = {}
      for i, column in ipairs(columns) do out[i] = pad(cells[i] or "", widths[i], column.right) end
      return ((indent or "") .. table.concat(out, "  ")):gsub("%s+$", "")
   end
   local lines = {}
   if titled then
      local titles = {}
      for i, column in ipairs(columns) do titles[i] = column.title or "" end
      lines[1] = line(titles)
   end
   for _, row in ipairs(rows) do lines[#lines + 1] = line(row) end
   return lines
end

local function csv_field(value, sep)
   local text = value == nil and "" or type(value) == "number" and ("%.15g"):format(value)
      or render.printable(tostring(value))
   if text:find(sep, 1, true) or text:find('["\r\n]') then text = '"' .. text:gsub('"', '""') .. '"' end
   return text
end

--- Makes a line of separated values, quoted where necessary (RFC 4180).
-- @tparam table values an array
-- @tparam number n its length; a nil in it becomes an empty field
-- @tparam[opt] string sep a comma by default
-- @treturn string
-- @usage assert(render.csv({ "a,b", 2 }, 3) == '"a,b",2,')
function render.csv(values, n, sep)
   local out = {}
   for i = 1, n do out[i] = csv_field(values[i], sep or ",") end
   return table.concat(out, sep or ",")
end

-- Replaces bytes that are not UTF-8. Control characters stay: JSON has escapes for them.
local function valid(text)
   return text:find("[\128-\255]") and replaced(text) or text
end

-- cjson writes 14 digits, and {} for an empty list. Whole numbers with more digits, as addresses
-- and times have, and empty tables are encoded as texts with a mark, which `render.json` then takes
-- away.
local MARK = "\1as is "
local MANY_DIGITS, MOST = 1e14, 2 ^ 64

local DEEPEST = 1000 -- cjson refuses deeper tables

local function with_marks(value, to_show, depth)
   if type(value) == "number" then
      local many = math.abs(value) >= MANY_DIGITS and math.abs(value) <= MOST and value % 1 == 0
      return many and ("%s%.0f"):format(MARK, value) or value
   end
   if value == render.null then return require("cjson").null end
   if type(value) == "string" and to_show then return valid(value) end
   if type(value) == "userdata" and getmetatable(value) then return tostring(value) end -- lpfm.u64
   if type(value) ~= "table" then return value end
   if next(value) == nil then return MARK .. "[]" end
   if depth == DEEPEST then fail("render.json: a table is within itself, or more than %d deep", DEEPEST) end
   local out = {}
   for k, v in pairs(value) do
      out[to_show and type(k) == "string" and valid(k) or k] = with_marks(v, to_show, depth + 1)
   end
   return out
end

--- What JSON calls null, for `render.json`.
-- @usage assert(render.json { render.null } == "[null]")
render.null = {}

--- Makes JSON text. Whole numbers stay whole; bytes that are no UTF-8 become question marks; an
-- empty table is a list.
-- @param value of tables, strings, numbers, booleans; `render.null`, infinity and NaN become null
-- @tparam[opt] boolean as_is bytes stay as they are, for file names that are read back
-- @treturn string
-- @usage assert(render.json { 1, 2.5, "x" } == '[1,2.5,"x"]')
function render.json(value, as_is)
   local json = need("cjson", "lua-cjson").new()
   json.encode_number_precision(14)
   json.encode_invalid_numbers("null")
   json.encode_sparse_array(true)
   local ok, text = pcall(json.encode, with_marks(value, not as_is, 0))
   if not ok then fail("render.json: %s", text) end
   return (text:gsub('"\\u0001as is ([%d%-%[%]]+)"', "%1"))
end

--- Returns the value that JSON text describes.
-- @tparam string text
-- @return the value, or nil and a message
-- @usage assert(render.from_json('{"n": 7}').n == 7)
function render.from_json(text)
   local ok, value = pcall(require("cjson").decode, text)
   if ok then return value end
   return nil, value
end

--- Formats a number of things: "1 thread", "2 threads".
-- @tparam number n
-- @tparam string noun
-- @tparam[opt] string nouns the plural, if it is not noun .. "s"
-- @treturn string
-- @usage assert(render.plural(2, "thread") == "2 threads")
function render.plural(n, noun, nouns)
   return ("%s %s"):format(render.number(n), n == 1 and noun or nouns or noun .. "s")
end

--- Formats how likely something is by chance.
-- @number p
-- @treturn string
-- @usage render.chance(3e-7) --> "<0.0001"
function render.chance(p)
   return p < 0.0001 and "<0.0001" or ("%.4f"):format(p)
end

--- Returns a machine's name as headings show it.
-- @string name
-- @treturn string
-- @usage assert(render.machine "sim:k8" == "simulated machine sim:k8")
function render.machine(name)
   return ("%smachine %s"):format(name:find("^sim") and "simulated " or "", name)
end

--- Says where something was counted, if that was a simulated machine.
-- @string[opt] name of the simulated machine
-- @treturn string "" without a name
-- @usage assert(render.where "sim:k8" == " on the simulated machine sim:k8")
function render.where(name)
   return name and " on the " .. render.machine(name) or ""
end

--- Returns the heading for what was counted on a simulated machine.
-- @string[opt] name of the simulated machine
-- @treturn string "" without a name
-- @usage assert(render.simulated(nil) == "")
function render.simulated(name)
   return name and ("On the %s:"):format(render.machine(name)) or ""
end

--- Returns a command line as one would type it.
-- @tparam table argv
-- @treturn string
-- @usage assert(render.command { "echo", "two words" } == "echo 'two words'")
function render.command(argv)
   local out = {}
   for i, word in ipairs(argv) do
      out[i] = word:find("^[%w_@%%+=:,./-]+$") and word or "'" .. word:gsub("'", "'\\''") .. "'"
   end
   return table.concat(out, " ")
end

--- Breaks a line at blanks.
-- @string line
-- @int width columns
-- @string[opt=""] indent of all lines but the first
-- @treturn {string,...}
-- @usage print(#render.wrap("a few words", 5)) --> 2
function render.wrap(line, width, indent)
   local out, now = {}, nil
   for word in line:gmatch("%S+") do
      if not now then
         now = word
      elseif render.width(now) + 1 + render.width(word) <= width then
         now = now .. " " .. word
      else
         out[#out + 1], now = now, (indent or "") .. word
      end
   end
   out[#out + 1] = now
   return out
end

expect.signatures("render", render, {
   number = "n: any?; decimals: number?",
   time = "s: number",
   bytes = "n: number",
   printable = "text: string",
   clean = "text: string",
   what = "text: string",
   rate = "n: number",
   sparkline = "values: [number]; width: width",
   cut = "text: string; columns: width",
   shorten = "text: string; columns: width",
   parse_size = "text: string",
   width = "text: string",
   align = "columns: [table]; rows: [table]; indent: string?",
   csv = "values: table; n: count; sep: string?",
   plural = "n: number; noun: string; nouns: string?",
   chance = "p: number",
   machine = "name: string",
   where = "name: string?",
   simulated = "name: string?",
   command = "argv: [string]",
   wrap = "line: string; width: width; indent: string?",
})

return render
