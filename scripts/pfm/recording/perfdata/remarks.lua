-- SPDX-License-Identifier: MIT
--- What a reader should know of a file of perf: what it lacks, and what of it a recording cannot show.
-- @module pfm.recording.perfdata.remarks

local layout = require "pfm.recording.layout"
local render = require "pfm.render"

local remarks = {}

local function say(self, format, ...)
   table.insert(self.recording.remarks, format:format(...))
end

local SHOWN = { raw = "the raw data of samples is not shown",
   intr_regs = "the registers in samples are not shown", aux = "the hardware trace in samples is not shown",
   unknown = "samples have fields that lpfm does not know" }

local function remark_fields(self)
   for _, name in ipairs { "raw", "intr_regs", "aux", "unknown" } do
      if self.fields[name] and not (name == "raw" and self.recording.traces) then say(self, "%s", SHOWN[name]) end
   end
   local names = {}
   for i, with in ipairs(self.recording.head.with or {}) do names[i] = with.name end
   if self.has_values then say(self, "samples have values: lpfm script -F %s shows them", table.concat(names, ",")) end
   if #self.samples == 0 then return end
   if not self.fields.time then say(self, "samples do not tell when: their order in the file stands for it") end
   if not self.fields.tid then say(self, "samples do not tell of which thread they are") end
   if not self.fields.ip then say(self, "samples do not tell where they are") end
end

local COUNTED = {
   { "unsound", "record", "not sound: left out" }, { "guests", "sample", "of guests or the hypervisor: left out" },
   { "narrow", "stack", "of processes of 32 bits: not unwound" },
   { "halved", "stack", "without the user's part: its record is missing" },
   { "foreign", "stack", "with the registers of another machine: not unwound" },
}

local function remark_counts(self)
   for _, c in ipairs(COUNTED) do
      local n = self.counts[c[1]]
      if n then say(self, "%s %s", render.plural(n, c[2]), c[3]) end
   end
   if self.lost > 0 then
      say(self, "%s lost while recording: samples, or what programs did", render.plural(self.lost, "record"))
   end
   if self.counts.throttled then
      say(self, "the kernel's limit held samples back %s", render.plural(self.counts.throttled, "time"))
   end
   for i, what in ipairs(self.others) do self.others[i] = ("%s (%d)"):format(what, self.others[what]) end
   if #self.others > 0 then say(self, "not shown of what the file holds: %s", table.concat(self.others, ", ")) end
   for name, n in pairs(self.crowd) do
      say(self, "%s of %s left out: there are more than %d events", render.plural(n, "sample"), name, layout.EVENTS)
   end
end

--- Adds the remarks to `self.recording`.
-- @tparam table self the reader's state, see `pfm.recording.perfdata.records`
function remarks.add(self)
   if self.ended then say(self, "%s", self.ended) end
   if not self.file:is_ended() then say(self, "perf did not end the file: names and the last samples are missing") end
   if self.base then
      say(self, "times are from second %.0f of the machine's clock on: they are more than a number holds exactly",
         self.base / 1e9)
   end
   remark_counts(self)
   remark_fields(self)
end

return remarks
