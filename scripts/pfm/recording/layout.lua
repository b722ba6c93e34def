-- SPDX-License-Identifier: MIT
--- The constants of the format of recordings.
-- @module pfm.recording.layout

local layout = {}

layout.VERSION, layout.OLDEST = 3, 1   -- versions of the format: what is written, the oldest that can be read
layout.NO_STACKS = 2                   -- the version that is written where samples have no stacks
layout.MERGED = 4                      -- the version of a file of many recordings
layout.PMDS, layout.EVENTS = 320, 64   -- PMD numbers are below PMDS; at most EVENTS events
layout.SETS = 2 ^ 16                   -- numbers of event sets are below SETS
layout.STACK = layout.PMDS - 1         -- no PMD has this number: its value in a sample is the number of the stack

--- Returns the number under which an event is found; in set 0 it is the event's PMD.
-- @int pmd
-- @int[opt=0] set
-- @treturn number
function layout.place(pmd, set)
   return (set or 0) * layout.SETS + pmd
end

return layout
