-- SPDX-License-Identifier: MIT
--- The binary search of sorted lists.
-- @module pfm.util.last_before

--- Finds the last element which has a field of at most a value; returns its position.
-- @function last_before
-- @tparam table list of tables, sorted by the field
-- @param field its name or number
-- @number value
-- @treturn number 0: there is none
-- @usage require("pfm.util.last_before")({ { at = 1 }, { at = 5 } }, "at", 4) --> 1
return function(list, field, value)
   local low, high = 0, #list
   while low < high do
      local mid = math.ceil((low + high) / 2)
      if list[mid][field] <= value then low = mid else high = mid - 1 end
   end
   return low
end
