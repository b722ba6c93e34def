-- SPDX-License-Identifier: MIT
--- Lists of names that are separated by commas, where names of functions may hold commas, too.
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

return name_list
