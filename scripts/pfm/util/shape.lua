-- SPDX-License-Identifier: MIT
--- Descriptions of what a file may say: checks of values, and of the tables that they are in.
--
-- A check takes a value and returns whether it is sound. A second result, true, says that optional
-- fields which were not sound have been taken out of the value.
-- @module pfm.util.shape

local shape = {}

-- --- values --------------------------------------------------------------------------------------

--- Makes a check for a whole number within bounds.
-- @number low
-- @number high
-- @treturn function check
-- @usage shape.whole(0, 9)(7) --> true
function shape.whole(low, high)
   return function(v) return type(v) == "number" and v >= low and v <= high and v % 1 == 0 end
end

--- Makes a check for a number within bounds.
-- @number low
-- @number high
-- @treturn function check
-- @usage shape.number(0, 1)(0.5) --> true
function shape.number(low, high)
   return function(v) return type(v) == "number" and v >= low and v <= high end
end

--- Returns true if a value is a string.
-- @param v
-- @treturn boolean
-- @usage shape.text "a" --> true
function shape.text(v)
   return type(v) == "string"
end

--- Returns true if a value is a string, or a number that can be an identifier.
-- @param v
-- @treturn boolean
-- @usage shape.word(77) --> true
function shape.word(v)
   return type(v) == "string" or shape.number(-2 ^ 53, 2 ^ 53)(v)
end

-- Returns true if a value is what JSON calls null.
local function is_null(v)
   return type(v) == "userdata" and getmetatable(v) == nil
end

--- Accepts any value.
-- @treturn boolean
-- @usage shape.anything(nil) --> true
function shape.anything()
   return true
end

-- --- tables --------------------------------------------------------------------------------------

--- Makes a check for a list without holes, of values of one kind.
-- @func of check of the values
-- @treturn function check
-- @usage shape.list(shape.text) { "a", "b" } --> true
function shape.list(of)
   return function(v)
      if type(v) ~= "table" then return false end
      local n, left = 0, false
      for _ in pairs(v) do n = n + 1 end
      for i = 1, n do
         local sound, less = of(v[i])
         if not sound then return false end
         left = left or less
      end
      return true, left
   end
end

--- Makes a check for a list that begins with certain values.
-- @tparam {func,...} first checks of the values
-- @func[opt] rest check of those that follow, which gets their place, too
-- @treturn function check
-- @usage shape.row { shape.text, shape.word } { "a", 7 } --> true
function shape.row(first, rest)
   return function(v)
      if type(v) ~= "table" then return false end
      for i, check in ipairs(first) do
         if not check(v[i]) then return false end
      end
      for i = #first + 1, #v do
         if rest and not rest(v[i], i) then return false end
      end
      return true
   end
end

--- Makes a check for a table with named fields. Each argument maps names of fields to checks.
-- @tparam table needed fields without which the table is refused
-- @tparam table firm fields that may be missing; if one does not pass its check, the table is
-- refused, because other fields depend on it
-- @tparam table optional fields that may be missing; if one does not pass its check, it is removed
-- @treturn function check
-- @usage shape.record({ pid = shape.word }, {}, { name = shape.text }) { pid = 7 } --> true
function shape.record(needed, firm, optional)
   return function(v)
      if type(v) ~= "table" then return false end
      local left = false
      local function check(name, of)
         local sound, less = of(v[name])
         left = left or less
         return sound
      end
      for name, value in pairs(v) do
         if is_null(value) then v[name] = nil end
      end
      for name, of in pairs(needed) do
         if not check(name, of) then return false end
      end
      for name, of in pairs(firm) do
         if v[name] ~= nil and not check(name, of) then return false end
      end
      for name, of in pairs(optional) do
         if v[name] ~= nil and not check(name, of) then v[name], left = nil, true end
      end
      return true, left
   end
end

return shape
