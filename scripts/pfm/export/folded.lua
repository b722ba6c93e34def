-- SPDX-License-Identifier: MIT
--- Folded stacks: a stack and its weight on a line, for flamegraph.pl, inferno, speedscope and awk.
-- @module pfm.export.folded

local stacks = require "pfm.recording.stacks"

local folded = { summary = "a stack and its weight on a line, for flamegraph.pl and others", extensions = { "folded" },
   one_event = true }

--- Writes the stacks of an event.
-- @tparam table self of `recording.open`
-- @param out a file
-- @tparam[opt] table options of `stacks.collect`
function folded.write(self, out, options)
   for _, stack in ipairs((stacks.collect(self, options))) do
      out:write(("%s %.0f\n"):format(stack.name, stack.weight))
   end
end

return folded
