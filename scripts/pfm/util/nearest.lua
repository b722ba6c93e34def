-- SPDX-License-Identifier: MIT
--- Suggestions for a mistyped name: the nearest of some names.
-- @module pfm.util.nearest

local nearest = {}

-- Counts the edits between two words: insert, delete, replace, swap neighbours.
local function distance(a, b)
   local before, last = nil, {}
   for j = 0, #b do last[j] = j end
   for i = 1, #a do
      local row = { [0] = i }
      for j = 1, #b do
         local same = a:byte(i) == b:byte(j)
         row[j] = math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (same and 0 or 1))
         if before and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j) then
            row[j] = math.min(row[j], before[j - 2] + 1)
         end
      end
      before, last = last, row
   end
   return last[#b]
end

--- Finds the name nearest to what was typed.
-- @tparam string typed
-- @tparam table names an array
-- @return the name, or nil when none is near
-- @usage nearest.find("page-fault", {"page-faults", "task-clock"}) --> "page-faults"
function nearest.find(typed, names)
   local best, least = nil, math.max(#typed >= 4 and 2 or 1, math.floor(#typed / 3)) + 1
   typed = typed:lower()
   for _, name in ipairs(names) do
      -- Each byte by which one word is longer is an edit: long text is far from all names.
      local d = math.abs(#typed - #name) < least and distance(typed, name:lower()) or least
      if d < least then
         best, least = name, d
      end
   end
   return best
end

--- Returns "; did you mean 'X'?", or "" if no name is near or the typed one is known.
-- @tparam string typed
-- @tparam table names
-- @treturn string
function nearest.hint(typed, names)
   local name = nearest.find(typed, names)
   return name and name ~= typed and ("; did you mean '%s'?"):format(name) or ""
end

return nearest
