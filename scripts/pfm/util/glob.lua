-- SPDX-License-Identifier: MIT
--- Patterns with `*` (any characters) and `?` (one).
-- @module pfm.util.glob

local glob = {}

--- Does a word have wildcards?
-- @string word
-- @treturn boolean
-- @usage glob.is("sched:*") --> true
function glob.is(word)
   return word:find("[*?]") ~= nil
end

--- Makes a pattern one of Lua's, for the whole of a name.
-- @string text
-- @treturn string
-- @usage ("page-faults"):find(glob.pattern("page-*")) --> 1
function glob.pattern(text)
   local escaped = text:gsub("[%^%$%(%)%%%.%[%]%+%-]", "%%%0"):gsub("%*", ".*"):gsub("%?", ".")
   return "^" .. escaped .. "$"
end

return glob
