-- SPDX-License-Identifier: MIT
--- Several names or numbers in a word, as people write them: lists that are separated by commas,
-- where names of functions may hold commas, too; patterns with `*` (any characters) and `?` (one);
-- ranges of whole numbers, 0-3,5.
-- @module pfm.util.name_list

local tables = require "pfm.util.tables"

local name_list = {}

local CLOSES = { ["<"] = ">", ["("] = ")", ["["] = "]", ['"'] = '"' }

-- Replaces the operators of C++ and the arrows of Rust, which are no brackets, by text of the same
-- length.
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

--- Returns true if a word has wildcards.
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
   local escaped = text:gsub("[%^%$%(%)%%%.%[%]%+%-]", "%%%0"):gsub("%*+", ".*"):gsub("%?", ".")
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

--- Makes a test of a list of names, or of numbers and ranges: it knows which of them nothing had,
-- and what there was.
-- @string text
-- @string[opt] numbers what the numbers are, for the message: "ranks"; nil: the list is one of
-- names
-- @treturn[1] table for `name_list.has` and `name_list.missing`
-- @return[2] nil
-- @treturn[2] string what is wrong
-- @usage local test = require("pfm.util.name_list").test("0-3,5", "ranks")
function name_list.test(text, numbers)
   local test = { parts = {}, values = {}, met = {}, num_met = 0, there = {} }
   if numbers then
      local ranges, why = name_list.ranges(text:match("^(.-),?%s*$"), numbers)
      if not ranges then return nil, why end
      test.ranges = ranges
      for i, r in ipairs(ranges) do test.parts[i] = (r[1] == r[2] and "%.0f" or "%.0f-%.0f"):format(r[1], r[2]) end
      return test
   end
   local names = name_list.read(text)
   for i = 1, math.max(#names - 1, 1) do
      test.parts[i], test.values[names[i]] = names[i], { names[i] }
   end
   test.values[text] = test.values[text] or test.parts
   return test
end

local function meet(test, part)
   if test.met[part] then return end
   test.met[part], test.num_met = true, test.num_met + 1
end

--- Returns true if there was something for each part of the list.
-- @tparam table test of `name_list.test`
-- @treturn boolean
-- @usage print(name_list.all_met(name_list.test "main")) --> false
function name_list.all_met(test)
   return test.num_met == #test.parts
end

--- Returns true if a thing passes the test.
-- @tparam table test of `name_list.test`
-- @number weight how often the thing was there
-- @string label what it is called where there is a list of what was there; "-": nothing
-- @string ... the texts by which a list may name it; of numbers, the first is its number
-- @treturn boolean
-- @usage local test = require("pfm.util.name_list").test("0-3,5", "ranks")
-- print(require("pfm.util.name_list").has(test, 1, "4", "4")) --> false
function name_list.has(test, weight, label, ...)
   local passes, number = false, test.ranges and tonumber((...))
   if label ~= "-" then test.there[label] = (test.there[label] or 0) + weight end
   for i, range in ipairs(number and test.ranges or {}) do
      if number >= range[1] and number <= range[2] then
         passes = true
         meet(test, test.parts[i])
      end
   end
   for i = 1, select("#", ...) do
      local parts = test.values[(select(i, ...))]
      for _, part in ipairs(parts or {}) do
         passes = true
         meet(test, part)
      end
   end
   return passes
end

--- Returns what nothing had that `name_list.has` was asked about.
-- @tparam table test of `name_list.test`
-- @treturn {string,...} parts of the list
-- @treturn {string,...} what was there, the most frequent first
-- @usage local test = require("pfm.util.name_list").test("main,mian")
-- require("pfm.util.name_list").has(test, 1, "main", "main")
-- print(require("pfm.util.name_list").missing(test)[1]) --> mian
function name_list.missing(test)
   local out, there = {}, tables.keys(test.there)
   for _, part in ipairs(test.parts) do
      if not test.met[part] and (part ~= "" or next(test.met) == nil) then out[#out + 1] = part end
   end
   table.sort(there, function(a, b)
      if test.there[a] ~= test.there[b] then return test.there[a] > test.there[b] end
      return a < b
   end)
   return out, there
end

return name_list
