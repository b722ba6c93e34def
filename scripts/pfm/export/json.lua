-- SPDX-License-Identifier: MIT
--- A whole recording as JSON: `head`, `ends`, `warnings`, `samples`, a sample on a line.
-- @module pfm.export.json

local origin = require "pfm.recording.origin"
local render = require "pfm.render"
local samples = require "pfm.recording.samples"
local stacks = require "pfm.recording.stacks"
local symbols = require "pfm.symbols"

local json = { summary = "the whole recording: how it was made, and every sample", extensions = { "json" } }

local texts = {} -- JSON by string: most strings come many times

local function text(s)
   local known = texts[s] or render.json(s)
   texts[s] = known
   return known
end

local function value_of(v)
   if type(v) ~= "number" then return text(tostring(v)) end
   return (v % 1 == 0 and "%.0f" or "%.9f"):format(v)
end

local FIELDS = { "event", "time", "pid", "tid", "process", "comm", "cpu", "address", "symbol", "offset", "object",
   "file", "line", "period" }

-- Returns a sample's fields in their order, then the values recorded with it, and where it is from.
local function record_of(s, with, from)
   s.file, s.line = symbols.line(s.where)
   s.address = symbols.hex(s.address)
   local out = {}
   for _, name in ipairs(FIELDS) do
      if s[name] ~= nil then out[#out + 1] = ('"%s":%s'):format(name, value_of(s[name])) end
   end
   for _, e in ipairs(with) do
      if s[e.name] ~= nil then out[#out + 1] = text(e.name) .. ":" .. value_of(s[e.name]) end
   end
   for _, name in ipairs(from) do
      if s[name] ~= nil then out[#out + 1] = ('"%s":%s'):format(name, value_of(s[name])) end
   end
   return "{" .. table.concat(out, ",") .. "}"
end

local function write_list(self, out, only)
   local between, with, from = "\n", self.head.with or {}, self.sources and origin.columns or {}
   out:write('"samples":[')
   for s in samples.each(self, nil, only) do
      out:write(between, record_of(s, with, from))
      between = ",\n"
   end
   out:write("\n]")
end

--- Writes the recording.
-- @tparam table self of `recording.open`
-- @param out a file
-- @tparam[opt] table options `event` (a name): only its samples
function json.write(self, out, options)
   local only = options and options.event and stacks.event(self, options.event).name
   out:write('{"head":', render.printable(render.json(self.head)), ",\n")
   if self.ends then out:write('"ends":', render.printable(render.json(self.ends)), ",\n") end
   out:write('"warnings":', render.json(self:warnings()), ",\n")
   write_list(self, out, only)
   out:write("}\n")
end

return json
