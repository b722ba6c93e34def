-- SPDX-License-Identifier: MIT
--- Recordings made by hand, whose every sample is known.
local session = require "pfm.session"
local samples = require "support.samples"

local recording = {}

--- A buffer of samples, as of support.samples.
recording.block = samples.block
recording.int = samples.int

--- Writes a recording.
-- @string path
-- @tparam table head
-- @tparam table content `maps` ({pid=, maps=}, ...), `comms` ({tid=, pid=, comm=}, ...), `samples`, `objects`,
-- `ends` (totals; false: it is not ended)
function recording.write(path, head, content)
   local w = assert(session.create(path, head))
   for _, m in ipairs(content.maps or {}) do w:json("MAPS", m) end
   if content.comms then w:json("COMM", content.comms) end
   w:block(recording.block(content.samples), #content.samples)
   if content.objects then w:json("OBJS", content.objects) end
   if content.ends ~= false then
      w:close(content.ends or { lost = 0, full = 0, missed = 0 })
   else
      w.file:close()
   end
end

return recording
