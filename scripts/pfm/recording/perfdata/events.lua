-- SPDX-License-Identifier: MIT
--- The events of a file of perf, and how a recording has them.
-- @module pfm.recording.perfdata.events

local perfdata = require "lpfm.perfdata"

local events = {}

local VALUES, BRANCHES, TRACE = 256, 300, 301 -- numbers of PMDs for the values of samples
local SOFTWARE_TYPE, TRACEPOINT = 1, 2      -- types of events

local HARDWARE = { [0] = "cycles", "instructions", "cache-references", "cache-misses", "branches", "branch-misses",
   "bus-cycles", "stalled-cycles-frontend", "stalled-cycles-backend", "ref-cycles" }
local SOFTWARE = { [0] = "cpu-clock", "task-clock", "page-faults", "context-switches", "cpu-migrations",
   "minor-faults", "major-faults", "alignment-faults", "emulation-faults", "dummy", "bpf-output", "cgroup-switches" }
local CACHES = { [0] = "L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node" }
local OPERATIONS = { [0] = "load", "store", "prefetch" }
-- Names by the type of the event.
local of = {}

of[0] = function(config) return HARDWARE[config] end
of[SOFTWARE_TYPE] = function(config) return SOFTWARE[config] end
of[TRACEPOINT] = function(config) return ("tracepoint:%d"):format(config) end
of[3] = function(config)
   local cache, operation = CACHES[config % 256], OPERATIONS[math.floor(config / 256) % 256]
   local result = math.floor(config / 65536)
   if not (cache and operation and result <= 1) then return nil end
   return ("%s-%s%s"):format(cache, operation, result == 1 and "-misses" or operation == "prefetch" and "es" or "s")
end
of[5] = function() return "breakpoint" end

-- Returns what perf calls an event, by its type and configuration.
local function name_of(event)
   local config = tonumber(event.config, 16)
   local name = of[event.type] and of[event.type](config)
   return name or event.type == 4 and "r" .. event.config or ("pmu%d/config=0x%s/"):format(event.type, event.config)
end

-- Returns true if an event counts time, in ns.
local function is_clock(event)
   return event.type == SOFTWARE_TYPE and (event.config == "0" or event.config == "1")
end

-- Returns the events' names, as far as the file has them, by number; an event with ids is found
-- by its ids.
local function names_of(self)
   local out = {}
   for i, event in ipairs(self.features.events or {}) do
      out[self.file:event_of(event.ids[1] or -1) or i] = event.name
   end
   for _, event in ipairs(self.names) do
      local i = self.file:event_of(event.ids[1])
      if i then out[i] = event.name end
   end
   return out
end

local function values_of(self, event)
   local out = {}
   for i, number in ipairs(event.values) do out[i] = VALUES + number end
   if self.has_branches then out[#out + 1] = BRANCHES end
   if self.recording.traces then out[#out + 1] = TRACE end
   return out
end

--- Reads the events: `self.events`, as of `events` of a file of `lpfm.perfdata`, with `name` and
-- `places` (the PMDs of their samples' values); and what their samples have: `fields`,
-- `has_branches`, `has_stacks`, `unwinds`; and `traces` of the recording.
-- @tparam table self the reader's state, see `pfm.recording.perfdata.records`
function events.read(self)
   self.events = self.file:events()
   local names = names_of(self)
   for i, event in ipairs(self.events) do
      event.name = names[i] or name_of(event)
      self.has_branches = self.has_branches or (event.fields.branches and not event.calls_by_branches)
      event.tracepoint = event.type == TRACEPOINT and event.fields.raw and tonumber(event.config, 16) or nil
      self.recording.traces = self.recording.traces or (event.tracepoint and self.features.tracing)
      self.has_stacks = self.has_stacks or event.fields.callchain or event.fields.stack
      self.unwinds = self.unwinds or event.fields.stack
      for name, is_there in pairs(event.fields) do self.fields[name] = self.fields[name] or is_there end
   end
   for _, event in ipairs(self.events) do event.places = values_of(self, event) end
   for row, order in pairs(self.fields.time and {} or self.orders) do row[2] = order end
   self.orders = nil
end

--- Returns the events that were sampled, in the form of the list in the head of a recording.
-- @tparam table self
-- @treturn table
-- @treturn ?number samples a second that were asked for
function events.sampled(self)
   local out, frequency = {}, nil
   for i, event in ipairs(self.events) do
      if event.pmd or (#self.samples == 0 and i == 1) then
         out[#out + 1] = { name = event.name, pmd = event.pmd or 0, values = event.places,
            period = not event.freq and event.period or nil, unit = is_clock(event) and "ns" or nil }
      end
      if event.pmd and event.freq then frequency = event.period end
   end
   return out, frequency
end

--- Returns the values that samples have, in the form of the list in the head of a recording.
-- @tparam table self
-- @treturn ?table nil: they have none
function events.with(self)
   local out, seen = {}, {}
   for _, event in ipairs(self.events) do
      for _, number in ipairs(event.values) do seen[number] = true end
   end
   for number = 0, #perfdata.values do
      local name = perfdata.values[number]
      if seen[number] then
         out[#out + 1] = { name = name, pmd = VALUES + number, unit = name:find("_addr$") and "address" or nil }
      end
   end
   if self.has_branches then out[#out + 1] = { name = "branches", pmd = BRANCHES } end
   if self.recording.traces then out[#out + 1] = { name = "trace", pmd = TRACE } end
   return #out > 0 and out or nil
end

return events
