-- SPDX-License-Identifier: MIT
--- `print fmt` of a tracepoint: the arguments of the kernel's printf(), a part of C.
--
-- A format is compiled to a function of a sample. Arguments become functions, too: they return a
-- u64 or a string. A name that only the kernel knows has no value: what depends on it is printed as
-- "?". If a format is not understood, the fields are shown one by one.
-- @module pfm.recording.perfdata.print_format

local lpeg = require "lpeg"
local values = require "pfm.recording.perfdata.field_values"

local print_format = {}

local P, R, S, C, Cf, Cg, Ct, Cmt, V = lpeg.P, lpeg.R, lpeg.S, lpeg.C, lpeg.Cf, lpeg.Cg, lpeg.Ct, lpeg.Cmt, lpeg.V
local u64 = values.u64
local ZERO, ONE = u64(0), u64(1)

local NO_VALUE = {} -- the error of a name that only the kernel knows

-- Functions which return unsigned 64-bit values: C compares those as unsigned.
local unsigned = setmetatable({}, { __mode = "k" })

local function mark(fn, is_unsigned)
   unsigned[fn] = is_unsigned or nil
   return fn
end

-- --- operators -----------------------------------------------------------------------------------

local function number(value)
   if type(value) == "string" then error("a text where a number is expected", 0) end
   return value
end

local function truth(value)
   return value and ONE or ZERO
end

local function is_true(value)
   return type(value) == "string" or value ~= ZERO
end

-- Returns true if a is less than b, as signed numbers of 64 bits.
local function less(a, b)
   local negative, other = a:rshift(63) ~= ZERO, b:rshift(63) ~= ZERO
   if negative ~= other then return negative end
   return a < b
end

local function small(value)
   return value:band(63):tonumber()
end

local binary = {
   ["|"] = function(a, b) return a:bor(b) end, ["^"] = function(a, b) return a:bxor(b) end,
   ["&"] = function(a, b) return a:band(b) end,
   ["=="] = function(a, b) return truth(a == b) end, ["!="] = function(a, b) return truth(a ~= b) end,
   ["<<"] = function(a, b) return a:lshift(small(b)) end, [">>"] = function(a, b) return a:rshift(small(b)) end,
   ["+"] = function(a, b) return a + b end, ["-"] = function(a, b) return a - b end,
   ["*"] = function(a, b) return a * b end, ["/"] = function(a, b) return a / b end,
   ["%"] = function(a, b) return a % b end,
}

local comparisons = {
   ["<"] = function(below, a, b) return below(a, b) end, [">"] = function(below, a, b) return below(b, a) end,
   ["<="] = function(below, a, b) return not below(b, a) end, [">="] = function(below, a, b) return not below(a, b) end,
}

local function below(a, b) return a < b end

local function compare(left, operator, right)
   local fn, order = comparisons[operator], (unsigned[left] or unsigned[right]) and below or less
   return function(...) return truth(fn(order, number(left(...)), number(right(...)))) end
end

local function apply(left, operator, right)
   local fn = binary[operator]
   if comparisons[operator] then return compare(left, operator, right) end
   if operator == "||" then return function(...) return truth(is_true(left(...)) or is_true(right(...))) end end
   if operator == "&&" then return function(...) return truth(is_true(left(...)) and is_true(right(...))) end end
   return mark(function(...) return fn(number(left(...)), number(right(...))) end, unsigned[left] or unsigned[right])
end

local unary = {
   ["!"] = function(a) return truth(not is_true(a)) end, ["~"] = function(a) return number(a):bnot() end,
   ["-"] = function(a) return -number(a) end, ["+"] = number,
}

local function apply_unary(operator, operand)
   if not operand then return operator end
   return function(...) return unary[operator](operand(...)) end
end

local function choose(condition, yes, no)
   if not yes then return condition end
   return mark(function(...)
      if is_true(condition(...)) then return yes(...) end
      return no(...)
   end, unsigned[yes] or unsigned[no])
end

-- --- casts ---------------------------------------------------------------------------------------

-- Returns a type's number of bytes, and whether it is signed; nil for a pointer or an unknown type.
local function size_of(kind)
   if kind:find("%*") then return nil end
   local signed = not kind:find("unsigned") and not kind:find("^%s*_*u") and not kind:find("size_t")
   local bits = kind:match("[us]_?i?n?t?(%d+)")
   if bits then return tonumber(bits) / 8, signed end
   if kind:find("char") or kind:find("bool") then return 1, signed end
   if kind:find("short") then return 2, signed end
   if kind:find("int") and not kind:find("long") or kind:find("^%s*unsigned%s*$") then return 4, signed end
   return nil
end

local function cast(kind, operand)
   local size, signed = size_of(kind)
   if not size or size >= 8 then
      return mark(function(...) return operand(...) end, kind:find("unsigned") or kind:find("^_*u") or kind:find("%*"))
   end
   local bits = 8 * size
   local mask, sign, range = ONE:lshift(bits) - 1, ONE:lshift(bits - 1), ONE:lshift(bits)
   return function(...)
      local value = operand(...)
      if type(value) == "string" then return value end
      value = value:band(mask)
      if signed and value:band(sign) ~= ZERO then value = value - range end
      return value
   end
end

-- --- what the kernel's macros print --------------------------------------------------------------

-- Returns pairs of a value and its name, without those of unknown value.
local function constants(pairs_of)
   local out = {}
   for _, pair in ipairs(pairs_of) do
      local ok, value = pcall(pair[1])
      if ok then out[#out + 1] = { number(value), pair[2]() } end
   end
   return out
end

local function flags(value, delimiter, ...)
   local list, between = constants { ... }, delimiter()
   return function(...)
      local left, out = number(value(...)), {}
      for _, flag in ipairs(list) do
         if left == ZERO and flag[1] == ZERO and #out == 0 then return flag[2] end
         if flag[1] ~= ZERO and left:band(flag[1]) == flag[1] then
            out[#out + 1] = flag[2]
            left = left:band(flag[1]:bnot())
         end
      end
      if left ~= ZERO then out[#out + 1] = left:hex() end
      return table.concat(out, between)
   end
end

local function symbolic(value, ...)
   local names = {}
   for _, pair in ipairs(constants { ... }) do names[pair[1]:hex()] = names[pair[1]:hex()] or pair[2] end
   return function(...)
      local key = number(value(...)):hex()
      return names[key] or key
   end
end

local function in_hex(between)
   return function(value, length)
      return function(...)
         local bytes, out = value(...), {}
         for i = 1, math.min(number(length(...)):tonumber(), #bytes) do out[i] = ("%02x"):format(bytes:byte(i)) end
         return table.concat(out, between)
      end
   end
end

local function array(value, count, size)
   return function(self, ...)
      local bytes, each, out = value(self, ...), number(size(self, ...)):tonumber(), {}
      for i = 1, math.min(number(count(self, ...)):tonumber(), math.floor(#bytes / each)) do
         out[i] = values.integer(bytes:sub((i - 1) * each + 1, i * each), self.big):hex()
      end
      return "{" .. table.concat(out, ",") .. "}"
   end
end

local macros = { __print_flags = flags, __print_symbolic = symbolic, __print_hex = in_hex " ",
   __print_hex_str = in_hex "", __print_array = array,
   __builtin_expect = function(value) return value end }

-- Macros that print a field, by the macro's name.
local of_field = {
   __get_str = function(field)
      return function(self, raw) return values.text(values.bytes(self, field, raw)) end
   end,
   __get_dynamic_array = function(field)
      return function(self, raw) return values.bytes(self, field, raw) end
   end,
   __get_dynamic_array_len = function(field)
      return function(self, raw) return u64(#values.bytes(self, field, raw)) end
   end,
}
for _, name in ipairs { "str", "dynamic_array", "dynamic_array_len" } do
   of_field["__get_rel_" .. name] = of_field["__get_" .. name]
end

local function field_of(format, name)
   return format.fields[name] or error("no field " .. name, 0)
end

local function recorded(format, name, index)
   local field = field_of(format, name)
   if index then
      return function(self, raw) return values.element(self, field, raw, number(index(self, raw)):tonumber()) end
   end
   if field.is_text then return of_field.__get_str(field) end
   if field.is_array then return of_field.__get_dynamic_array(field) end
   return mark(function(self, raw) return values.value(self, field, raw) end, not field.signed and field.size == 8)
end

local function no_value()
   error(NO_VALUE, 0)
end

-- --- the grammar ---------------------------------------------------------------------------------

local space = S(" \t\n") ^ 0
local word = (R("az", "AZ") + "_") * (R("az", "AZ", "09") + "_") ^ 0

local function token(pattern) return pattern * space end

local ESCAPES = { n = "\n", t = "\t", r = "\r" }
local escape = P "\\" * C(1) / function(c) return ESCAPES[c] or c end
local quoted = P '"' * lpeg.Cs((escape + (1 - S '"\\')) ^ 0) * '"'
local text = Cf(token(quoted) ^ 1, function(a, b) return a .. b end)
local numeral = token(C("0" * S "xX" * R("09", "af", "AF") ^ 1 + R "09" ^ 1) * S "uUlL" ^ 0)
   / function(digits)
      local value = u64(digits:find("^0%d") and tostring(tonumber(digits, 8)) or digits)
      return function() return value end
   end
local character = token(P "'" * C(1) * "'") / function(c)
   local value = u64(c:byte())
   return function() return value end
end
local kind = C(word * (space * word) ^ 0 * (space * P "*") ^ 0) * space

local function operators(list)
   local out
   for name in list:gmatch("%S+") do
      local one = P(name)
      if #name == 1 and ("|&<>"):find(name, 1, true) then one = one - P(name .. name) end
      if name == "<" or name == ">" then one = one - P(name .. "=") end
      out = out and out + one or one
   end
   return token(C(out))
end

-- Matches operands with operators between them, which group from the left.
local function level(operand, list)
   return Cf(operand * Cg(operators(list) * operand) ^ 0, apply)
end

local function call(_, at, name, ...)
   local macro = macros[name]
   return macro ~= nil and at, macro and macro(...)
end

-- Makes a grammar for the fields of one format.
local function grammar_of(format)
   local known = function(_, at, name, field)
      local make = of_field[name]
      return make ~= nil and at, make and make(field_of(format, field))
   end
   local pair = token "{" * Ct(V "choice" * token "," * V "choice") * token "}"
   return P {
      space * text * Ct((token "," * V "choice") ^ 0) * -1,
      choice = V "either" * (token "?" * V "choice" * token ":" * V "choice") ^ -1 / choose,
      either = level(V "both", "||"),
      both = level(V "bits", "&&"),
      bits = level(V "odd", "|"),
      odd = level(V "common", "^"),
      common = level(V "same", "&"),
      same = level(V "order", "== !="),
      order = level(V "shift", "<= >= < >"),
      shift = level(V "sum", "<< >>"),
      sum = level(V "product", "+ -"),
      product = level(V "unary", "* / %"),
      unary = token(C(S "!~-+")) * V "unary" / apply_unary + token("(") * kind * token(")") * V "unary" / cast
         + V "postfix",
      postfix = token(P "REC->") * token(C(word)) * (token "[" * V "choice" * token "]") ^ -1
         / function(name, index) return recorded(format, name, index) end + V "primary",
      primary = numeral + character + text / function(t) return function() return t end end
         + Cmt(token(C(word)) * token "(" * token(C(word)) * token ")", known)
         + Cmt(token(C(word)) * token "(" * (V "argument" * (token "," * V "argument") ^ 0) ^ -1 * token ")", call)
         + token "(" * V "choice" * token ")" + token(C(word)) / function() return no_value end,
      argument = pair + V "choice",
   }
end

-- --- printf --------------------------------------------------------------------------------------

local conversions = {}

local function with_sign(value, long)
   if #long > 0 then return value:signed() end
   local low = value:band("0xffffffff"):tonumber()
   return ("%.0f"):format(low >= 2 ^ 31 and low - 2 ^ 32 or low)
end

-- Returns digits with a sign, prefix and padding as in C.
local function pad(digits, prefix, its)
   local sign = digits:match("^%-") or ""
   digits = digits:sub(#sign + 1)
   if its.precision then digits = ("0"):rep(its.precision - #digits) .. digits end
   if sign == "" and its.flags:find("+", 1, true) then sign = "+" end
   local width = its.width - #sign - #prefix
   if its.flags:find("0", 1, true) and not its.flags:find("-", 1, true) and not its.precision then
      digits = ("0"):rep(width - #digits) .. digits
   end
   local out = sign .. prefix .. digits
   local fill = (" "):rep(its.width - #out)
   return its.flags:find("-", 1, true) and out .. fill or fill .. out
end

-- Cuts a value to the type that the conversion names.
local function as_unsigned(value, its)
   return #its.long == 0 and value:band("0xffffffff") or value
end

function conversions.d(value, its)
   return pad(with_sign(number(value), its.long), "", its)
end
conversions.i = conversions.d

function conversions.u(value, its)
   return pad(tostring(as_unsigned(number(value), its)), "", its)
end

function conversions.x(value, its)
   value = as_unsigned(number(value), its)
   return pad(value:hex():sub(3), its.flags:find("#", 1, true) and value ~= ZERO and "0x" or "", its)
end

function conversions.X(value, its)
   return conversions.x(value, its):upper()
end

function conversions.o(value, its)
   local digits
   value = as_unsigned(number(value), its)
   digits = value == ZERO and "0" or ""
   while value ~= ZERO do value, digits = value:rshift(3), value:band(7):tonumber() .. digits end
   return pad(digits, its.flags:find("#", 1, true) and digits ~= "0" and "0" or "", its)
end

function conversions.c(value, its)
   return conversions.s(string.char(number(value):band(255):tonumber()), its)
end

function conversions.s(value, its, self)
   local shown = type(value) == "string" and values.text(value) or self:constant(value) or value:hex()
   if its.precision then shown = shown:sub(1, its.precision) end
   local fill = (" "):rep(its.width - #shown)
   return its.flags:find("-", 1, true) and shown .. fill or fill .. shown
end

-- Prints an address: one of code by its symbol (S and B: with the offset), else as a number.
function conversions.p(value, its, self)
   value = number(value)
   local name, offset
   if its.form:find("^[sSfFB]") then name, offset = self:symbol(value) end
   if name then return its.form:find("^[SB]") and ("%s+0x%x"):format(name, offset) or name end
   if value == ZERO and its.form == "" then return "(nil)" end
   return value:hex()
end

local UNKNOWN = { I = true, i = true, M = true, m = true, U = true, d = true, D = true, e = true, h = true, V = true,
   b = true } -- addresses of networks and the like

local CONVERSION = "^%%([-+ #0]*)(%*?%d*)%.?(%*?%d*)([hlLqjzt]*)(.)(%a?)"

-- Returns the parts of a format: texts and conversions.
local function parts_of(format)
   local out, at = {}, 1
   while at <= #format do
      local percent = format:find("%", at, true)
      out[#out + 1] = format:sub(at, (percent or 0) - 1)
      if not percent then break end
      local flags_of, width, precision, long, letter, form = format:match(CONVERSION, percent)
      if not letter then error("no conversion", 0) end
      local whole = #flags_of + #width + #precision + #long + 2
      if format:sub(percent + 1 + #flags_of + #width):find("^%.") then whole = whole + 1 else precision = nil end
      if letter == "%" then
         out[#out + 1] = "%"
      elseif not conversions[letter] or (letter == "p" and UNKNOWN[form]) then
         error("an unknown conversion", 0)
      else
         local known = letter == "p" and form:find("^[sSfFBxKr]") and form or ""
         out[#out + 1] = { flags = flags_of, width = width, precision = precision, letter = letter, form = known,
            long = letter == "p" and "ll" or long:gsub("h", "") }
         whole = whole + #known
      end
      at = percent + whole
   end
   return out
end

local function print_all(self, raw, parts, arguments)
   local out, n = {}, 0
   local function next_argument()
      n = n + 1
      return (arguments[n] or error("an argument is missing", 0))(self, raw)
   end
   -- Returns an argument's value as it is printed.
   local function shown(letter, its)
      local ok, value = pcall(next_argument)
      if ok then return conversions[letter](value, its, self) end
      return value == NO_VALUE and "?" or error(value, 0)
   end
   local function size(its)
      if its == "*" then return tonumber(number(next_argument()):signed()) end
      return tonumber(its) or 0
   end
   for i, part in ipairs(parts) do
      if type(part) == "string" then
         out[i] = part
      else
         local its = { flags = part.flags, width = size(part.width), long = part.long, form = part.form }
         its.precision = part.precision and size(part.precision)
         if math.max(its.width, its.precision or 0) > 4096 then error("too wide", 0) end
         out[i] = shown(part.letter, its)
      end
   end
   return table.concat(out)
end

--- Compiles a format.
-- @string source what follows "print fmt: "
-- @tparam table format of the event: `fields` by name
-- @treturn ?function `(self, format, raw)` with `self` of `tracepoints.read`, which gives the text
-- and raises where the data is too short; nil: the format is not understood
-- @usage print(require("pfm.recording.perfdata.print_format").compile('"%d", 1', { fields = {} })({}, {}, "")) --> 1
function print_format.compile(source, format)
   local ok, text_of, arguments = pcall(function() return grammar_of(format):match(source) end)
   if not ok or not text_of then return nil end
   local parts
   ok, parts = pcall(parts_of, text_of)
   if not ok then return nil end
   return function(self, _, raw) return print_all(self, raw, parts, arguments) end
end

return print_format
