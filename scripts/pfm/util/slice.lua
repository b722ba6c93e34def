-- SPDX-License-Identifier: MIT
--- A part of a list of any length: `unpack` takes no more than the interpreter's C stack holds, some 8,000 values.
-- @module pfm.util.slice

--- Copies a part of a list.
-- @function slice
-- @tparam table list
-- @int[opt=1] from
-- @int[opt=#list] to
-- @treturn table
-- @usage require("pfm.util.slice")({ "a", "b", "c" }, 2) --> { "b", "c" }
return function(list, from, to)
   local out = {}
   for i = from or 1, to or #list do out[#out + 1] = list[i] end
   return out
end
