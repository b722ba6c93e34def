-- SPDX-License-Identifier: MIT
--- Lists of whole numbers and of ranges of them, as people write them: 0-3,5.
-- @module pfm.util.ranges

local ranges = {}

--- Reads a list.
-- @string text
-- @string what the numbers are, for the message: "ranks"
-- @string[opt] separator a character, a comma by default
-- @treturn[1] {table,...} first and last number of each range
-- @return[2] nil
-- @treturn[2] string what is wrong
-- @usage require("pfm.util.ranges").read("0-3,5", "ranks")[1][2] --> 3
function ranges.read(text, what, separator)
   separator = separator or ","
   local out = {}
   for part in (text .. separator):gmatch(("%%s*([^%s]-)%%s*%s"):format(separator, separator)) do
      local from, to = part:match("^(%d+)%-(%d+)$")
      from, to = tonumber(from or part:match("^%d+$")), tonumber(to)
      if not from then return nil, ("'%s' is not a list of %s, e.g. 0-3%s5"):format(text, what, separator) end
      if to and to < from then
         return nil, ("the range '%s' is reversed: expected %.0f-%.0f"):format(part, to, from)
      end
      out[#out + 1] = { from, to or from }
   end
   return out
end

--- Is a number in a list?
-- @tparam {table,...} list of `ranges.read`
-- @number number
-- @treturn boolean
-- @usage require("pfm.util.ranges").has({ { 0, 3 }, { 5, 5 } }, 4) --> false
function ranges.has(list, number)
   for _, range in ipairs(list) do
      if number >= range[1] and number <= range[2] then return true end
   end
   return false
end

return ranges
