-- SPDX-License-Identifier: MIT
--- Checks of arguments and fields: what is misused is named, before it becomes a wrong number or an
-- error from the middle of the library.
-- @module pfm.util.expect

local fail = require "pfm.util.fail"

local expect = {}

-- Returns a value as messages show it.
local function shown(value)
   if type(value) == "number" then return tostring(value) end
   if type(value) == "string" and #value <= 40 then return "'" .. value .. "'" end
   return "a " .. type(value)
end

--- Raises an error where a value is there and is no number, or is below a bound. Infinity is a number.
-- @string what the argument's or field's name
-- @param value
-- @number[opt=0] low
-- @return the value
-- @usage pcall(expect.number, "seconds", 0 / 0) -- seconds: expected a number of 0 or more, got nan
function expect.number(what, value, low)
   low = low or 0
   if value ~= nil and not (type(value) == "number" and value >= low) then
      fail("%s: expected a number of %s or more, got %s", what, low, shown(value))
   end
   return value
end

--- Raises an error where a value is there and is no whole number within bounds.
-- @string what the argument's or field's name
-- @param value
-- @int[opt=1] low
-- @int[opt=2^53] high beyond 2^53 a number of Lua does not hold every whole number
-- @return the value
-- @usage pcall(expect.whole, "period", -1) -- period: expected a whole number from 1 to 2^53, got -1
function expect.whole(what, value, low, high)
   low, high = low or 1, high or 2 ^ 53
   if value ~= nil and not (type(value) == "number" and value >= low and value <= high and value % 1 == 0) then
      fail("%s: expected a whole number from %d to %s, got %s", what, low,
         high == 2 ^ 53 and "2^53" or ("%.0f"):format(high), shown(value))
   end
   return value
end

--- Raises an error where a value is of another type.
-- @string what the argument's or field's name
-- @param value
-- @string kind what `type` says
-- @return the value
-- @usage pcall(expect.kind, "count.run", 5, "table") -- count.run: expected a table, got 5
function expect.kind(what, value, kind)
   if type(value) ~= kind then fail("%s: expected a %s, got %s", what, kind, value == nil and "nil" or shown(value)) end
   return value
end

return expect
