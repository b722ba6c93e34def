-- SPDX-License-Identifier: MIT
--- Lists of events as typed: "a,b:u,{c,d}:k,power/energy-pkg/,cpu/event=0x3c,umask=0/".
-- @module pfm.measure.events.words

local words = {}

-- Returns the end of a word that begins at i: a comma or a brace, outside slashes.
local function word_end(text, i)
   local inside = false
   while i <= #text do
      local char = text:sub(i, i)
      if char == "/" then inside = not inside end
      if not inside and char:find("[,{}]") then break end
      i = i + 1
   end
   return i, inside
end

local function take_word(text, i, out, group)
   local stop, open = word_end(text, i)
   local word = text:sub(i, stop - 1):match("^%s*(.-)%s*$")
   if open then return nil, ("'%s': the second '/' is missing"):format(word) end
   out[#out + 1] = { text = word, group = group }
   return stop
end

-- Reads a group from after its opening brace to after its closing brace and levels.
local function take_group(text, i, out)
   local from, group, open = #out + 1, {}, i - 1
   while true do
      local stop, err = take_word(text, i, out, group)
      if not stop then return nil, err end
      local char = text:sub(stop, stop)
      i = stop + 1
      if char == "}" then break end
      if char ~= "," then return nil, ("'%s': the group's '}' is missing"):format(text:sub(open)) end
   end
   group.text = text:sub(open, i - 1)
   local levels = text:match("^:([ukp]+)", i)
   for k = from, levels and #out or 0 do out[k].text = out[k].text .. ":" .. levels end
   return i + (levels and #levels + 1 or 0)
end

--- Splits a list.
-- @string text
-- @treturn[1] {table,...} `text`, and `group`: a table that the events of a group share, with its
-- `text`
-- @return[2] nil
-- @treturn[2] string message
function words.split(text)
   local out, i = {}, 1
   while true do
      local brace = text:match("^%s*{()", i)
      local take = brace and take_group or take_word
      local stop, err = take(text, brace or i, out)
      if not stop then return nil, err end
      i = text:match("^%s*()", stop)
      local char = text:sub(i, i)
      if char == "" then return out end
      if char ~= "," then return nil, ("'%s': expected a comma before '%s'"):format(text, text:sub(i)) end
      i = i + 1
   end
end

--- Splits the letters for levels and precise samples off a word: "a:u", "pmu/event/u", "a:upp".
-- @string text
-- @treturn string the word without them
-- @treturn string or nil "u", "k", "uk"
-- @treturn int number of letters p: 0 to 3
function words.levels(text)
   local base, letters = text:match("^(.-):([ukp]+)$")
   if not base then base, letters = text:match("^(.*/)([ukp]+)$") end
   local precise = base and select(2, letters:gsub("p", "")) or 0
   if not base or precise > 3 then return text, nil, 0 end
   local levels = (letters:find("u") and "u" or "") .. (letters:find("k") and "k" or "")
   return base, levels ~= "" and levels or nil, precise
end

-- The terms that say how often an event is sampled, with the field that each sets; and the largest
-- period: Lua numbers are exact up to it.
local RATES, LONGEST = { period = "period", freq = "frequency", frequency = "frequency" }, 2 ^ 53

local function read_rate(name, text)
   local value = text == "max" and name == "frequency" and text or tonumber(text)
   if value == "max" then return value end
   if value and value > 0 and value <= LONGEST and (name == "frequency" or value == math.floor(value)) then
      return value
   end
   return nil, name == "period" and "a whole number of events from 1 to 2^53" or "samples a second, or max"
end

--- Splits off an event's own period or frequency, a term between its slashes: "cs/period=100/".
-- @string base a word without levels
-- @treturn[1] string the word without the term
-- @treturn[1] table `period` (events) or `frequency` (samples a second, or "max"), or nothing
-- @return[2] nil
-- @treturn[2] string message
function words.rate(base)
   local name, terms = base:match("^([^/]+)/(.*)/$")
   local rest, rate = {}, {}
   if not name then return base, rate end
   for term in terms:gmatch("[^,]+") do
      local key, text = term:match("^%s*(%l+)%s*=%s*(.-)%s*$")
      local which = RATES[key]
      if which then
         local value, expected = read_rate(which, text)
         if not value then return nil, ("'%s': %s: expected %s"):format(base, key, expected) end
         if next(rate) then return nil, ("'%s': one period or frequency expected"):format(base) end
         rate[which] = value
      else
         rest[#rest + 1] = term
      end
   end
   if not next(rate) then return base, rate end
   return #rest > 0 and ("%s/%s/"):format(name, table.concat(rest, ",")) or name, rate
end

--- Returns the letters of levels and precision, to be put after a word.
-- @tparam[opt] string plm "u", "k", "uk"
-- @int precise
-- @treturn string ":upp", or nothing
function words.letters(plm, precise)
   local letters = (plm or "") .. ("p"):rep(precise)
   return letters == "" and "" or ":" .. letters
end

return words
