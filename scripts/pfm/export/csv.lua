-- SPDX-License-Identifier: MIT
--- Writes every sample on a line, as separated values.
-- @module pfm.export.csv

local origin = require "pfm.recording.origin"
local render = require "pfm.render"
local samples = require "pfm.recording.samples"
local stacks = require "pfm.recording.stacks"
local symbols = require "pfm.symbols"

local csv = { summary = "every sample on a line, with its symbol, file and line", extensions = { "csv" } }

local COLUMNS = { "event", "time", "pid", "tid", "process", "comm", "cpu", "address", "symbol", "offset", "object",
   "file", "line", "period" }

local function cells_of(s, with, from)
   local file, line = symbols.line(s.where)
   local time = s.time and ("%.9f"):format(s.time)
   local cells = { s.event, time, s.pid, s.tid, s.process, s.comm, s.cpu, symbols.hex(s.address), s.symbol, s.offset,
      s.object, file, line, s.period }
   for i, e in ipairs(with) do cells[#COLUMNS + i] = s[e.name] end
   for i, name in ipairs(from) do cells[#COLUMNS + #with + i] = s[name] end
   return cells
end

--- Writes the samples, of one event or of all.
-- @tparam table self of `recording.open`
-- @param out a file
-- @tparam[opt] table options `event` (a name), `separator` (",")
function csv.write(self, out, options)
   options = options or {}
   local only, with = options.event and stacks.event(self, options.event).name, self.head.with or {}
   local head, sep = { unpack(COLUMNS) }, options.separator or ","
   for _, e in ipairs(with) do head[#head + 1] = e.name end
   local from = self.sources and origin.columns or {}
   for _, name in ipairs(from) do head[#head + 1] = name end
   out:write(render.csv(head, #head, sep), "\n")
   for s in samples.each(self, nil, only) do out:write(render.csv(cells_of(s, with, from), #head, sep), "\n") end
end

return csv
