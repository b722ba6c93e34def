-- SPDX-License-Identifier: MIT
--- Aligns the times of several machines: samples have the time of their own machine's clock, which
-- begins when it boots.
-- @module pfm.recording.clocks

local render = require "pfm.render"

local clocks = {}

-- Recordings of one run of one kernel share its clock; each simulated machine has one of its own.
local function clock_id(self, i)
   local machine = self.head.machine or {}
   return machine.boot and machine.name ~= "sim" and machine.boot or i
end

-- Returns a reading of the wall clock, in ns since the second `base`, and of the machine's clock.
-- If none was recorded, the first sample is taken to be at the head's `time`, exact to a second.
local function reading_of(self, base)
   local clock = self.head.clock
   if clock then
      return { wall = (clock.seconds - base) * 1e9 + clock.ns, own = clock.samples, within = clock.within or 0 }
   end
   local first = self:group_by({ pair = { "tstamp", "tstamp" } }):moments().min_x
   return { wall = ((self.head.time or base) - base) * 1e9, own = first, within = self.head.time and 1e9 or math.huge }
end

local function by_clock(list)
   local machines, of = {}, {}
   for i, self in ipairs(list) do
      local id = clock_id(self, i)
      of[id] = of[id] or { recordings = {} }
      if #of[id].recordings == 0 then machines[#machines + 1] = of[id] end
      table.insert(of[id].recordings, self)
   end
   return machines
end

local function earliest(list)
   local base = math.huge
   for _, self in ipairs(list) do base = math.min(base, self.head.time or math.huge) end
   return base < math.huge and base or 0
end

-- Notes how far a machine's clock is behind the wall clock, by the most exact reading of its
-- recordings, and the earliest time of these readings on its clock.
local function read_machine(machine, base)
   for _, self in ipairs(machine.recordings) do
      local reading = reading_of(self, base)
      local better = not machine.reading or reading.within < machine.reading.within
      if better then machine.reading = reading end
      machine.first = math.min(machine.first or math.huge, reading.own)
   end
   machine.behind = machine.reading.wall - machine.reading.own
end

local NOTE = "the clocks of %s are aligned by their wall clocks, read to %s; how far those were apart is not known"

local function words(machines)
   local within = 0
   for _, machine in ipairs(machines) do within = math.max(within, machine.reading.within) end
   if within == math.huge then return "the clocks of the machines are not aligned: some have no wall clock" end
   return NOTE:format(render.plural(#machines, "machine"), render.time(within / 1e9))
end

--- Finds what aligns samples' times when it is added to them.
-- @tparam {recording,...} list
-- @treturn table by recording: ns
-- @treturn ?string how exactly they can be compared; nil: they have one clock
-- @usage local s = assert(recording.open "lpfm.data")
-- print(require("pfm.recording.clocks").align({ s })[s]) --> 0
function clocks.align(list)
   local machines, out, base, low = by_clock(list), {}, earliest(list), 0
   if #machines > 1 then
      for _, machine in ipairs(machines) do read_machine(machine, base) end
      table.sort(machines, function(a, b) return a.reading.wall < b.reading.wall end)
   end
   for _, machine in ipairs(machines) do
      machine.shift = #machines > 1 and math.floor(machine.behind - machines[1].behind + 0.5) or 0
      low = #machines > 1 and math.min(low, machine.first + machine.shift) or 0
   end
   for _, machine in ipairs(machines) do
      -- no time is before 0
      for _, self in ipairs(machine.recordings) do out[self] = machine.shift - low end
   end
   return out, #machines > 1 and words(machines) or nil
end

return clocks
