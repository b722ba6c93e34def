-- SPDX-License-Identifier: MIT
--- A whole recording as JSON: `head`, `ends`, `warnings`, `samples`, a sample on a line.
-- @module pfm.export.json

local format = require "pfm.format"
local entries = require "pfm.entries"
local stacks = require "pfm.stacks"
local symbols = require "pfm.symbols"

local json = { summary = "the whole recording: how it was made, and every sample", extensions = { "json" } }

local function record_of(s, with)
   local file, line = symbols.line(s.where)
   local out = { event = s.event, time = s.time, pid = s.pid, tid = s.tid, process = s.process, comm = s.comm,
      cpu = s.cpu, address = symbols.hex(s.address), symbol = s.symbol, offset = s.offset, object = s.object,
      file = file, line = line, period = s.period }
   for _, e in ipairs(with) do out[e.name] = s[e.name] end
   return out
end

local function write_list(self, out, only)
   local between, with = "\n", self.head.with or {}
   out:write('"samples":[')
   for s in entries.each(self, nil, only) do
      out:write(between, format.json(record_of(s, with)))
      between = ",\n"
   end
   out:write("\n]")
end

--- Writes the recording.
-- @tparam table self session
-- @param out a file
-- @tparam[opt] table options `event` (a name): only its samples
function json.write(self, out, options)
   local only = options and options.event and stacks.event(self, options.event).name
   out:write('{"head":', format.json(self.head), ",\n")
   if self.ends then out:write('"ends":', format.json(self.ends), ",\n") end
   local warnings = self:warnings()
   out:write('"warnings":', #warnings > 0 and format.json(warnings) or "[]", ",\n")
   write_list(self, out, only)
   out:write("}\n")
end

return json
