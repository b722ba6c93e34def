-- SPDX-License-Identifier: MIT
--- The expressions of `pfm.program`, as trees.
--
-- A node is a table: `op`, its operands as an array, and `at`, where it is in the text. The
-- operators are named as they are written; the other nodes are num (`lo`, `hi`), name (`name`), pmd
-- (`name` or `num`), call (`name`), within (`x in {...}`), object (`x in 'libc'`), range (`a..b`).
-- @module pfm.program.grammar

local lpeg = require "lpeg"
local render = require "pfm.render"

local grammar = {}

lpeg.setmaxstack(4000)

local P, R, S, C, Cp, Cc, V = lpeg.P, lpeg.R, lpeg.S, lpeg.C, lpeg.Cp, lpeg.Cc, lpeg.V

-- --- errors --------------------------------------------------------------------------------------

local function raise(at, message, ...)
   error({ at = at, message = message:format(...) }, 0)
end

--- Raises an error about a place of the text, for `grammar.explain`.
-- @function grammar.raise
-- @int at
-- @string message a format of `string.format`
-- @param ... its arguments
grammar.raise = raise

--- Returns a message, and the text with a caret under the place.
-- @string text
-- @tparam table problem at, message
-- @treturn string
function grammar.explain(text, problem)
   local shown = text:gsub("%s", " ")
   return ("%s\n   %s\n   %s^"):format(problem.message, shown, (" "):rep(render.width(shown:sub(1, problem.at - 1))))
end

-- Makes a pattern that must match; otherwise an error says what was expected.
local function must(pattern, expected)
   return pattern + P(function(text, at)
      local found = text:match("^%S+", at)
      raise(at, "expected %s%s", expected, found and (", found '%s'"):format(found) or " at the end")
   end)
end

-- --- numbers -------------------------------------------------------------------------------------

local WORD = 2 ^ 32

local function number(at, text)
   local hex = text:match("^0[xX](%x+)$")
   local value = not hex and tonumber(text)
   if hex and #hex <= 16 then
      return { op = "num", at = at, lo = tonumber(hex:sub(-8), 16), hi = tonumber("0" .. hex:sub(1, -9), 16) }
   end
   if not value then raise(at, "'%s' is no number of 64 bits", text) end
   if value % 1 ~= 0 or value > 2 ^ 53 then raise(at, "'%s': expected an integral number up to 2^53", text) end
   return { op = "num", at = at, lo = value % WORD, hi = math.floor(value / WORD) }
end

-- --- the grammar ---------------------------------------------------------------------------------

local space = S " \t\r\n" ^ 0
local letter, digit = R("az", "AZ") + P "_", R "09"
local word = letter * (letter + digit) ^ 0

local function token(pattern)
   return pattern * space
end

local function sign(text)
   return token(P(text))
end

local function keyword(text)
   return token(P(text) * -(letter + digit))
end

local reserved = (P "and" + "or" + "not" + "in") * -(letter + digit)
local quoted = P "'" * C((1 - S "'\n") ^ 1) * must(P "'", "a closing '")
   + P '"' * C((1 - S '"\n') ^ 1) * must(P '"', 'a closing "')

local function node(op)
   return function(at, ...) return { op = op, at = at, ... } end
end

local function named(op)
   return function(at, name) return { op = op, at = at, name = name } end
end

local function counter(at, what)
   return { op = "pmd", at = at, num = tonumber(what), name = not tonumber(what) and what or nil }
end

-- Builds the tree of a op b op c, from the left.
local function from_left(first, ...)
   local rest = { ... }
   for i = 1, #rest, 3 do first = { op = rest[i + 1], at = rest[i], first, rest[i + 2] } end
   return first
end

local function chain(operand, operators, expected)
   return V(operand) * (Cp() * operators * must(V(operand), expected or "an operand")) ^ 0 / from_left
end

local function either(...)
   local out
   for _, pair in ipairs { ... } do
      local one = token(P(pair[1]) * (pair[3] or P(true))) * Cc(pair[2] or pair[1])
      out = out and out + one or one
   end
   return out
end

local function compared(left, at, op, right)
   if not op then return left end
   if op == "in" then return { op = right.op, at = right.at, left, name = right.name, unpack(right) } end
   return { op = op, at = at, left, right }
end

local number_text = P "0" * S "xX" * (letter + digit) ^ 0 + digit ^ 1 * (P "." * -P "." * digit ^ 0) ^ -1
   * (S "eE" * S "+-" ^ -1 * digit ^ 1) ^ -1 * letter ^ 0

local expression = P {
   "whole",
   whole = space * must(V "any", "an expression") * must(-P(1), "an operator or the end"),
   any = chain("all", (sign "||" + keyword "or") * Cc "or"),
   all = chain("negation", (sign "&&" + keyword "and") * Cc "and"),
   negation = Cp() * (keyword "not" + sign "!" * -P "=") * must(V "negation", "an operand") / node "not"
      + V "comparison",
   comparison = V "bits" * (Cp() * (V "compare" * must(V "bits", "an operand")
      + keyword "in" * Cc "in" * must(V "set", "'an object' or {a, b..c}"))) ^ -1 / compared,
   compare = either({ "==" }, { "~=" }, { "!=", "~=" }, { "<=" }, { ">=" }, { "<", nil, -P "<" }, { ">", nil, -P ">" },
      { "=", "==" }),
   set = Cp() * token(quoted) / named "object"
      + Cp() * sign "{" * V "elements" * must(sign "}", "'}'") / node "within"
      + V "range" / function(range) return { op = "within", at = range.at, range } end,
   elements = V "element" * (sign "," * V "element") ^ 0,
   element = must(V "range" + V "bits", "a number or a range"),
   range = Cp() * V "bits" * sign ".." * must(V "bits", "the end of the range") / node "range",
   bits = chain("odd", either({ "|", nil, -P "|" })),
   odd = chain("common", either({ "^" })),
   common = chain("shifted", either({ "&", nil, -P "&" })),
   shifted = chain("sum", either({ "<<" }, { ">>" })),
   sum = chain("product", either({ "+" }, { "-" })),
   product = chain("unary", either({ "*" }, { "/" }, { "%" })),
   unary = Cp() * sign "-" * must(V "unary", "an operand") / node "neg"
      + Cp() * sign "~" * -P "=" * must(V "unary", "an operand") / node "inv" + V "primary",
   primary = Cp() * token(C(number_text)) / number
      + sign "(" * must(V "any", "an expression") * must(sign ")", "')'")
      + Cp() * P "pmd." * must(token(C(word * (P ":" * word) ^ 0) + quoted + C(digit ^ 1)), "the name of an event")
         / counter
      + Cp() * P "pmd" * token(C(digit ^ 1) * -(letter + digit)) / counter
      + Cp() * C(word - reserved) * space * sign "(" * must(V "any", "an argument")
         * (sign "," * must(V "any", "an argument")) ^ 0 * must(sign ")", "')'")
         / function(at, name, ...) return { op = "call", at = at, name = name, ... } end
      + Cp() * token(C(word - reserved)) / named "name",
}

--- Parses an expression.
-- @string text
-- @treturn table its tree
-- @raise a table: at, message
function grammar.parse(text)
   local ok, tree = pcall(expression.match, expression, text)
   if ok then return tree end
   if type(tree) ~= "table" then raise(1, "this is nested too deep") end -- LPeg's stack
   error(tree, 0)
end

return grammar
