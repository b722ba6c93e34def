-- SPDX-License-Identifier: MIT
--- Writes recordings with given contents, so that every sample is known.
local recording = require "pfm.recording"
local samples = require "support.samples"

local handmade = {}

--- A buffer of samples, as of support.samples.
handmade.block = samples.block
handmade.int = samples.int

--- Writes a recording.
-- @string path
-- @tparam table head
-- @tparam table content `maps` ({pid=, maps=}, ...), `comms` ({tid=, pid=, comm=}, ...), `samples`,
-- `objects`, `ends` (totals; false: it is not ended)
function handmade.write(path, head, content)
   local w = assert(recording.create(path, head))
   for _, m in ipairs(content.maps or {}) do w:json("MAPS", m) end
   if content.comms then w:json("COMM", content.comms) end
   w:block(handmade.block(content.samples), #content.samples)
   if content.objects then w:json("OBJS", content.objects) end
   if content.ends ~= false then
      w:close(content.ends or { lost = 0, full = 0, missed = 0 })
   else
      w.file:close()
   end
end

return handmade
