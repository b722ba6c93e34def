-- SPDX-License-Identifier: MIT
--- Several names or numbers in a word, as people write them: lists that are separated by commas, where names of
-- functions may hold commas, too; patterns with `*` (any characters) and `?` (one); ranges of whole numbers, 0-3,5.
-- @module pfm.util.name_list

local name_list = {}

local CLOSES = { ["<"] = ">", ["("] = ")", ["["] = "]", ['"'] = '"' }

-- Replaces the operators of C++ and the arrows of Rust, which are no brackets, by text of the same length.
local function without_operators(text)
   return (text:gsub("operator[<>=-]+", function(name) return ("o"):rep(#name) end):gsub("%->", "oo"))
end

--- Finds where the first name of a list ends: at a comma in no brackets, or, if a bracket is not
-- closed, at the first comma.
-- @string text
-- @treturn ?number index of the comma; nil if the text is one name
-- @usage require("pfm.util.name_list").comma("f(int, char),main") --> 13
function name_list.comma(text)
   local open = {}
   for at, c in without_operators(text):gmatch('()([][()<>,"])') do
      if c == open[#open] then
         open[#open] = nil
      elseif c == "," and #open == 0 then
         return at
      elseif CLOSES[c] then
         open[#open + 1] = CLOSES[c]
      end
   end
   return #open > 0 and text:find(",", 1, true) or nil
end

--- Returns the names in a list, without blanks around them, and the text itself: it may be a name.
-- @string text
-- @treturn {string,...} the whole text is the last, if there are several
-- @usage #require("pfm.util.name_list").read("f(int, char),main") --> 3
function name_list.read(text)
   local out, rest = {}, text
   while rest do
      local comma = name_list.comma(rest)
      out[#out + 1] = (comma and rest:sub(1, comma - 1) or rest):match("^%s*(.-)%s*$")
      rest = comma and rest:sub(comma + 1)
   end
   if #out > 1 or out[1] ~= text then out[#out + 1] = text end
   return out
end

--- Does a word have wildcards?
-- @string word
-- @treturn boolean
-- @usage name_list.has_wildcards("sched:*") --> true
function name_list.has_wildcards(word)
   return word:find("[*?]") ~= nil
end

--- Makes a pattern one of Lua's, for the whole of a name.
-- @string text
-- @treturn string
-- @usage ("page-faults"):find(name_list.pattern("page-*")) --> 1
function name_list.pattern(text)
   local escaped = text:gsub("[%^%$%(%)%%%.%[%]%+%-]", "%%%0"):gsub("%*", ".*"):gsub("%?", ".")
   return "^" .. escaped .. "$"
end

--- Reads a list of numbers and ranges.
-- @string text
-- @string what the numbers are, for the message: "ranks"
-- @string[opt] separator a character, a comma by default
-- @treturn[1] {table,...} first and last number of each range
-- @return[2] nil
-- @treturn[2] string what is wrong
-- @usage require("pfm.util.name_list").ranges("0-3,5", "ranks")[1][2] --> 3
function name_list.ranges(text, what, separator)
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
-- @tparam {table,...} list of `name_list.ranges`
-- @number number
-- @treturn boolean
-- @usage require("pfm.util.name_list").in_ranges({ { 0, 3 }, { 5, 5 } }, 4) --> false
function name_list.in_ranges(list, number)
   for _, range in ipairs(list) do
      if number >= range[1] and number <= range[2] then return true end
   end
   return false
end

return name_list
