-- SPDX-License-Identifier: MIT
--- Students' answers: reads them, compares them with what the machine showed, picks the explanation
-- that fits.
-- @module repl.lab.answers

local lpfm = require "lpfm"
local text = require "repl.lab.text"
local tables = require "pfm.util.tables"

local answers = {}

-- --- numbers as people write them: `2,000`, `1e3`, `2*1000`, `20 us`, `4,3 s`, `0x10`, `about 20k`

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
local function calculate(given)
   given = given:gsub("(%d)[ _'](%d%d%d)%f[%D]", "%1%2"):gsub("(%d)[ _'](%d%d%d)%f[%D]", "%1%2")
   given = given:gsub("\195\151", "*"):gsub("%*%*", "^")
   if not given:find("0[xX]") then given = given:gsub("%d[%d.,]*", plain_digits) end
   local bare = given:gsub("0[xX]%x+", "0"):gsub("(%d)[eE][+-]?%d+", "%1")
   if bare:find("[^%d%s.+%-*/^()]") or bare:find("%-%-") or bare:find("[%d.]%s+[%d.]") then return nil end
   local chunk = loadstring("return " .. given)
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
-- @string given
-- @tparam ?string unit that the question asks for, such as "ms", "bytes" or "%"
-- @treturn[1] number
-- @return[2] nil
-- @treturn[2] string what is expected
function answers.number(given, unit)
   given = given:gsub("^%s+", ""):gsub("%s+$", ""):gsub("^~%s*", ""):gsub("^[Aa]bout%s+", ""):gsub("^ca%.?%s+", "")
   local value = calculate(given)
   if value then return value end
   local rest, word = given:match("^(.-)%s*([%a%%\128-\255]+)$")
   if not rest or rest == "" then return nil, EXPECTED end
   local factor, err = factor_of(word, unit)
   if not factor then return nil, err end
   value = answers.number(rest, unit)
   if not value then return nil, EXPECTED end
   return value * factor
end

-- Reads a 64-bit value: hexadecimal, as "0xff" or "ff", or decimal, as "255" or "-1". Returns its
-- possible values, since digits without "0x" may be of either base.
local function read_hex(given)
   local bare, out = given:gsub("[%s_,']", ""):lower(), {}
   local function add(digits)
      local ok, value = pcall(lpfm.u64, digits)
      if ok then out[#out + 1] = value end
   end
   if bare:find("^0x%x+$") or bare:find("^%-?%d+$") then add(bare) end
   if bare:find("^%x+$") then add("0x" .. bare) end
   if not out[1] then return nil, "A hexadecimal number is expected, such as 0xff" end
   return out
end

-- --- reading -------------------------------------------------------------------------------------

local function read_number(answer, page)
   return answers.number(answer, page.unit)
end

local function read_words(answer)
   local out = {}
   for word in answer:gmatch("[^%s,;]+") do out[#out + 1] = word:upper() end
   if not out[1] then return nil, "A list of words is expected, with blanks between them" end
   return out
end

local function read_choice(answer, page)
   local at = answer:lower():match("^%s*(%a)[.)]?%s*$")
   local i = at and at:byte() - 96 or tonumber(answer)
   if i and page.choices[i] then return i end
   return nil, ("A letter from a to %s is expected"):format(string.char(96 + #page.choices))
end

local readers = { number = read_number, hex = read_hex, words = read_words, choice = read_choice }

--- The kinds of answers.
answers.kinds = readers

--- Reads an answer.
-- @string answer
-- @tparam table page with its `kind`
-- @return[1] the value
-- @return[2] nil
-- @treturn[2] string what is expected
function answers.read(answer, page)
   return readers[page.kind or "number"](answer, page)
end

--- Says how an answer was understood, if the student may have meant another value; nil if not.
-- @string answer
-- @tparam table page
-- @treturn ?string
function answers.echo(answer, page)
   local kind = page.kind or "number"
   local given = (kind == "number" or kind == "hex") and answers.read(answer, page)
   if not given then return nil end
   local shown
   if kind == "number" then
      local bare = answer:gsub("[%s,]", "")
      if bare:find("^%-?%d+$") and tonumber(bare) == given and not answer:find(",%d%d?$") then return nil end
      shown = { text.value(given) }
   else
      shown = {}
      for i, value in ipairs(given) do shown[i] = value:hex() end
      if shown[1] == answer:lower() then return nil end
   end
   return ("Read as %s%s."):format(table.concat(shown, " or "), page.unit and " " .. page.unit or "")
end

-- --- comparing -----------------------------------------------------------------------------------

local function words_of(value)
   if type(value) == "table" then value = table.concat(value, " ") end
   return read_words(tostring(value)) or {}
end

local function digits_of(word)
   return word:match("(%d+)$") or word
end

-- Returns true if two lists of words are equal; "2 4 6" equals "IP2 IP4 IP6".
local function same_words(given, wanted, any_order)
   if #given ~= #wanted then return false end
   local bare = true
   for _, word in ipairs(given) do bare = bare and word:find("^%d+$") ~= nil end
   local want = tables.map(wanted, function(word) return bare and digits_of(word) or word end)
   local got = { unpack(given) }
   if any_order then
      table.sort(got)
      table.sort(want)
   end
   for i, word in ipairs(want) do
      if got[i] ~= word then return false end
   end
   return true
end

-- Returns the range of numbers that are accepted instead of `wanted`: {page.within} is a fraction
-- of it, {page.factor} the ratio by which an answer may be smaller or larger.
local function bounds(wanted, page)
   if page.factor then return wanted / page.factor, wanted * page.factor end
   local slack = math.abs(wanted) * (page.within or 0)
   return wanted - slack, wanted + slack
end

local function same_number(given, wanted, page)
   wanted = tonumber(tostring(wanted))
   if not wanted then return false end
   local least, most = bounds(wanted, page)
   local rounding = 1e-9 + 1e-12 * math.abs(wanted)
   return given >= math.min(least, most) - rounding and given <= math.max(least, most) + rounding
end

--- Returns the tolerance of a numeric answer, in words; nil where the number must be exact.
-- @tparam table page
-- @treturn ?string
function answers.tolerance(page)
   if (page.kind or "number") ~= "number" then return nil end
   if page.factor then
      return ("From 1/%g of the right number to %g times as much is right."):format(page.factor, page.factor)
   end
   return page.within and ("Within %g %% of the right number is right."):format(100 * page.within) or nil
end

--- Returns the value of a lab's field, which may be a function of the figures, the name of a
-- figure, or the value.
-- @param what
-- @tparam table figures
-- @return the value
function answers.resolve(what, figures)
   if type(what) == "function" then return what(figures) end
   if type(what) == "string" and figures[what] ~= nil then return figures[what] end
   return what
end

--- Returns true if an answer equals the wanted value, within the page's tolerance.
-- @param given of `answers.read`
-- @param wanted
-- @tparam table page
-- @treturn boolean
function answers.equal(given, wanted, page)
   local kind = page.kind or "number"
   if kind == "words" then return same_words(given, words_of(wanted), page.any_order) end
   if kind == "choice" then return given == tonumber(wanted) end
   if kind == "hex" then return tables.find(given, lpfm.u64(wanted)) ~= nil end
   return same_number(given, wanted, page)
end

-- --- explaining ----------------------------------------------------------------------------------

local function fits(entry, given, right, page, figures)
   if entry.more then return tonumber(given) ~= nil and given > tonumber(tostring(right)) end
   if entry.less then return tonumber(given) ~= nil and given < tonumber(tostring(right)) end
   return answers.equal(given, answers.resolve(entry.is, figures), page)
end

--- Returns the question or task of a page, followed by the tolerance of the answer.
-- @tparam table page
-- @treturn ?string a text with names in braces; nil where there is nothing to ask
function answers.question(page)
   local question = page.ask or page.todo or page.vary
   local tolerance = question and not page.vary and answers.tolerance(page)
   return tolerance and ("%s (%s)"):format(question:gsub("%s+$", ""), tolerance) or question
end

--- Judges a prediction.
-- @param given of `answers.read`
-- @tparam table page
-- @tparam table figures what the run showed, and the parameters
-- @treturn boolean right
-- @treturn string the explanation, with names in braces
function answers.judge(given, page, figures)
   local right = answers.resolve(page.answer, figures)
   local is_right = answers.equal(given, right, page)
   if page.kind == "choice" then return is_right, page.choices[given].say end
   if is_right then return true, page.right end
   for _, entry in ipairs(page.wrong or {}) do
      if fits(entry, given, right, page, figures) then return false, entry.say end
   end
   return false, page.otherwise
end

return answers
