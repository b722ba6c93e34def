-- SPDX-License-Identifier: MIT
--- The constants of the format of recordings.
-- @module pfm.recording.layout

local layout = {}

layout.VERSION, layout.OLDEST = 3, 1   -- of the format: what is written, what can still be read
layout.NO_STACKS = 2                   -- what is written where samples have no stacks
layout.MERGED = 4                      -- of many recordings in a file
layout.PMDS, layout.EVENTS = 320, 64   -- PMD numbers are below PMDS; a recording has at most EVENTS
layout.SETS = 2 ^ 16                   -- numbers of event sets
layout.STACK = layout.PMDS - 1         -- a PMD number that no PMD has: the value is the number of the sample's stack

--- The number under which an event is found: of set 0, its PMD.
-- @int pmd
-- @int[opt=0] set
-- @treturn number
function layout.place(pmd, set)
   return (set or 0) * layout.SETS + pmd
end

return layout
