-- SPDX-License-Identifier: MIT
--- Numbers as people write them: `2,000`, `1e3`, `2*1000`, `20 us`, `4,3 s`, `0x10`, `about 20k`.
-- @module repl.lab.number

local lpfm = require "lpfm"

local number = {}

local FACTORS = { k = 1e3, K = 1e3, M = 1e6, G = 1e9, thousand = 1e3, million = 1e6, billion = 1e9 }
local TIME = { ns = 1e-9, us = 1e-6, ["\194\181s"] = 1e-6, ["\206\188s"] = 1e-6, ms = 1e-3, s = 1, sec = 1,
   second = 1, seconds = 1, min = 60, minutes = 60 }
local BYTES = { B = 1, byte = 1, bytes = 1, KiB = 1024, KB = 1024, kB = 1024, MiB = 2 ^ 20, MB = 2 ^ 20, GiB = 2 ^ 30,
   GB = 2 ^ 30 }
local PERCENT = { ["%"] = 1, percent = 1 }
local NOUNS = {}
for word in ([[bit branch cycle entry event fault guess instruction line load message miss overflow page processor
   sample set store time way]]):gmatch("%S+") do
   NOUNS[word], NOUNS[word .. "s"], NOUNS[word .. "es"] = 1, 1, 1
end
NOUNS.entries = 1

local EXPECTED = "A number is expected, such as 42, 1.5, 20k, 2*1000 or 0x10"

-- Returns the digits of a number without separators and with a decimal point. In 1,234 and
-- 1.234.567 the marks are separators, in 4,29 and 1.5 they are decimal points. If both marks occur,
-- the last is the decimal point.
local function plain_digits(token)
   local _, commas = token:gsub(",", "")
   local _, dots = token:gsub("%.", "")
   local grouped = token:find("^[1-9]%d?%d?,%d%d%d[%d,.]*$") and not token:find(",%d%d?%f[^%d]")
      and not token:find(",%d%d%d%d")
   if commas > 0 and dots > 0 then
      local point = token:match("[.,]([^.,]*)$") and token:match("([.,])[^.,]*$")
      local other = point == "." and "," or "%."
      return (token:gsub(other, ""):gsub(",", "."))
   end
   if dots > 1 then return (token:gsub("%.", "")) end
   if commas > 1 or grouped then return (token:gsub(",", "")) end
   return (token:gsub(",", "."))
end

-- Returns the value of an expression of numbers, or nil if the text is not one.
local function calculate(text)
   text = text:gsub("(%d)[ _'](%d%d%d)%f[%D]", "%1%2"):gsub("(%d)[ _'](%d%d%d)%f[%D]", "%1%2")
   text = text:gsub("\195\151", "*"):gsub("%*%*", "^")
   if not text:find("0[xX]") then text = text:gsub("%d[%d.,]*", plain_digits) end
   local bare = text:gsub("0[xX]%x+", "0"):gsub("(%d)[eE][+-]?%d+", "%1")
   if bare:find("[^%d%s.+%-*/^()]") or bare:find("%-%-") or bare:find("[%d.]%s+[%d.]") then return nil end
   local chunk = loadstring("return " .. text)
   local ok, value = pcall(chunk and setfenv(chunk, {}) or error)
   if ok and type(value) == "number" and value == value and math.abs(value) < math.huge then return value end
end

local function factor_of(word, unit)
   if word == "m" and unit ~= "m" then return nil, "An 'm' can be a million (M) or a thousandth: which?" end
   if FACTORS[word] then return FACTORS[word] end
   for _, units in ipairs { TIME, BYTES, PERCENT } do
      if units[word] and unit and units[unit] then return units[word] / units[unit] end
      if units[word] and (unit or units == TIME) then
         return nil, ("The answer is not in %s%s"):format(word, unit and ", but in " .. unit or "")
      end
      if units[word] then return units[word] end
   end
   if NOUNS[word:lower()] then return 1 end
   return nil, ("%s; '%s' is not understood"):format(EXPECTED, word)
end

--- Reads a number.
-- @string text
-- @tparam ?string unit that the question asks for, such as "ms", "bytes" or "%"
-- @treturn[1] number
-- @return[2] nil
-- @treturn[2] string what is expected
function number.read(text, unit)
   text = text:gsub("^%s+", ""):gsub("%s+$", ""):gsub("^~%s*", ""):gsub("^[Aa]bout%s+", ""):gsub("^ca%.?%s+", "")
   local value = calculate(text)
   if value then return value end
   local rest, word = text:match("^(.-)%s*([%a%%\128-\255]+)$")
   if not rest or rest == "" then return nil, EXPECTED end
   local factor, err = factor_of(word, unit)
   if not factor then return nil, err end
   value = number.read(rest, unit)
   if not value then return nil, EXPECTED end
   return value * factor
end

--- Reads a 64-bit value: hexadecimal, as "0xff" or "ff", or decimal, as "255" or "-1".
-- @string text
-- @treturn[1] {u64,...} its possible values: digits without "0x" may be of either base
-- @return[2] nil
-- @treturn[2] string what is expected
function number.read_hex(text)
   local bare, out = text:gsub("[%s_,']", ""):lower(), {}
   local function add(digits)
      local ok, value = pcall(lpfm.u64, digits)
      if ok then out[#out + 1] = value end
   end
   if bare:find("^0x%x+$") or bare:find("^%-?%d+$") then add(bare) end
   if bare:find("^%x+$") then add("0x" .. bare) end
   if not out[1] then return nil, "A hexadecimal number is expected, such as 0xff" end
   return out
end

return number
