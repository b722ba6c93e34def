-- SPDX-License-Identifier: MIT
--- Checks of arguments and fields: an error names the wrong one, before it causes a wrong number or
-- an error from inside the library.
-- @module pfm.util.expect

local fail = require "pfm.util.fail"

local expect = {}

--- Returns a value as messages show it.
-- @param value
-- @treturn string
-- @usage expect.shown "7" --> "'7'"
function expect.shown(value)
   if type(value) == "number" then return tostring(value) end
   if type(value) == "string" and #value <= 40 then return "'" .. value:gsub("%c", "?") .. "'" end
   return value == nil and "nil" or "a " .. type(value)
end

local shown = expect.shown

-- Returns the number that a value is: texts of digits and 64-bit integers are numbers, too.
local function number_of(value)
   if type(value) == "number" or type(value) == "table" then return tonumber(value) end
   return tonumber((tostring(value):gsub("U?LL$", "")))
end

--- Raises an error where a value is there and is no number, or is below a bound. Infinity is a number.
-- @string what the argument's or field's name
-- @param value a number, a text of digits or an `lpfm.u64`; nil and false: there is none
-- @number[opt=0] low
-- @return the number, or the value where there is none
-- @usage pcall(expect.number, "seconds", 0 / 0) -- seconds: expected a number of 0 or more, got nan
function expect.number(what, value, low)
   local n = value and number_of(value)
   low = low or 0
   if value and not (n and n >= low) then
      fail("%s: expected a number of %s or more, got %s", what, low, shown(value))
   end
   return n
end

--- Raises an error where a value is there and is no whole number within bounds.
-- @string what the argument's or field's name
-- @param value as for `expect.number`
-- @int[opt=1] low
-- @int[opt=2^53] high beyond 2^53 a number of Lua does not hold every whole number
-- @return the number, or the value where there is none
-- @usage pcall(expect.whole, "period", -1) -- period: expected a whole number from 1 to 2^53, got -1
function expect.whole(what, value, low, high)
   local n = value and number_of(value)
   low, high = low or 1, high or 2 ^ 53
   if value and not (n and n >= low and n <= high and n % 1 == 0) then
      fail("%s: expected a whole number from %d to %s, got %s", what, low,
         high == 2 ^ 53 and "2^53" or ("%.0f"):format(high), shown(value))
   end
   return n
end

--- Tells whether a value can be called.
-- @param value
-- @treturn boolean
-- @usage expect.callable(print) --> true
function expect.callable(value)
   local own = type(value) == "table" and getmetatable(value)
   return type(value) == "function" or own and own.__call ~= nil or false
end

--- Raises an error where a value is of another type.
-- @string what the argument's or field's name
-- @param value
-- @string kind what `type` says; what can be called is a function, too
-- @return the value
-- @usage pcall(expect.kind, "count.run", 5, "table") -- count.run: expected a table, got 5
function expect.kind(what, value, kind)
   if type(value) ~= kind and not (kind == "function" and expect.callable(value)) then
      fail("%s: expected a %s, got %s", what, kind, shown(value))
   end
   return value
end

return expect
