-- SPDX-License-Identifier: MIT
--- The keys of a table, sorted.
-- @module pfm.util.sorted_keys

--- Lists the keys of a table in their order.
-- @function sorted_keys
-- @tparam table t with keys that can be compared
-- @treturn table
-- @usage print(table.concat(require("pfm.util.sorted_keys") { b = 1, a = 2 }, " ")) --> a b
return function(t)
   local out = {}
   for key in pairs(t) do out[#out + 1] = key end
   table.sort(out)
   return out
end
