-- SPDX-License-Identifier: MIT
--- What perf calls events, by their type and configuration: where a file does not say their names.
-- @module pfm.recording.perfdata.event_names

local event_names = {}

local HARDWARE = { [0] = "cycles", "instructions", "cache-references", "cache-misses", "branches", "branch-misses",
   "bus-cycles", "stalled-cycles-frontend", "stalled-cycles-backend", "ref-cycles" }
local SOFTWARE = { [0] = "cpu-clock", "task-clock", "page-faults", "context-switches", "cpu-migrations",
   "minor-faults", "major-faults", "alignment-faults", "emulation-faults", "dummy", "bpf-output", "cgroup-switches" }
local CACHES = { [0] = "L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node" }
local OPERATIONS = { [0] = "load", "store", "prefetch" }
local SOFTWARE_TYPE = 1

local of = {}

of[0] = function(config) return HARDWARE[config] end
of[SOFTWARE_TYPE] = function(config) return SOFTWARE[config] end
of[2] = function(config) return ("tracepoint:%d"):format(config) end
of[3] = function(config)
   local cache, operation = CACHES[config % 256], OPERATIONS[math.floor(config / 256) % 256]
   local result = math.floor(config / 65536)
   if not (cache and operation and result <= 1) then return nil end
   return ("%s-%s%s"):format(cache, operation, result == 1 and "-misses" or operation == "prefetch" and "es" or "s")
end
of[5] = function() return "breakpoint" end

--- Returns the name of an event.
-- @tparam table event of `events` of a file of `lpfm.perfdata`
-- @treturn string
-- @usage require("pfm.recording.perfdata.event_names").of { type = 1, config = "0" } --> "cpu-clock"
function event_names.of(event)
   local config = tonumber(event.config, 16)
   local name = of[event.type] and of[event.type](config)
   return name or event.type == 4 and "r" .. event.config or ("pmu%d/config=0x%s/"):format(event.type, event.config)
end

--- Returns true if an event counts time, in ns.
-- @tparam table event
-- @treturn boolean
-- @usage require("pfm.recording.perfdata.event_names").is_clock { type = 1, config = "1" } --> true
function event_names.is_clock(event)
   return event.type == SOFTWARE_TYPE and (event.config == "0" or event.config == "1")
end

return event_names
