-- SPDX-License-Identifier: MIT
--- Measurements of CPUs, whichever threads run there, added up by core, socket or node.
-- A CPU has one context (specification 3.1.2), loaded on that CPU and created with PFM_FL_ANY_CPU:
-- the machine carries out its calls there.
-- @module pfm.system

local count = require "pfm.count"
local events = require "pfm.events"
local expect = require "pfm.util.expect"
local parts = require "pfm.measure.parts"
local text_file = require "pfm.util.text_file"
local host = require "pfm.measure.host"

local system = {}

local SYSFS = "/sys/devices/system/cpu"

--- The levels at which counts can be added up.
system.levels = { "cpu", "core", "socket", "node" }

-- --- topology ------------------------------------------------------------------------------------

local function read_number(path)
   return tonumber(text_file.line(path) or "")
end

-- Returns the NUMA node of a CPU, which a link nodeN in the CPU's folder names.
local function node_of(folder)
   for node = 0, 1023 do
      if text_file.all(("%s/node%d/cpumap"):format(folder, node)) then return node end
   end
   return 0
end

-- If sysfs does not know the core of a CPU (-1), the CPU counts as a core of its own; if it does
-- not know the socket, that is 0.
local function place_of(cpu, root)
   local folder = ("%s/cpu%d"):format(root, cpu)
   local core = read_number(folder .. "/topology/core_id")
   local socket = read_number(folder .. "/topology/physical_package_id")
   return { cpu = cpu, core = core and core >= 0 and core or cpu, socket = math.max(socket or 0, 0),
      node = node_of(folder) }
end

--- Finds the core, socket and node of CPUs. Those of a simulated computer are cores of one socket.
-- @tparam[opt] {int,...} cpus by default all that are online
-- @string[opt] root of another system's /sys/devices/system/cpu
-- @treturn {table,...} `cpu`, `core`, `socket`, `node`
-- @usage require("pfm.system").topology()[1].socket
function system.topology(cpus, root)
   local now, out = host.now(), {}
   for i, cpu in ipairs(cpus or now.cpus()) do
      out[i] = now.sim and { cpu = cpu, core = cpu, socket = 0, node = 0 } or place_of(cpu, root or SYSFS)
   end
   return out
end

-- --- adding up counts by level -------------------------------------------------------------------

-- A core's number is unique in its socket only. The second result is for sorting.
local keys = {
   cpu = function(place) return ("CPU%d"):format(place.cpu), place.cpu end,
   core = function(place) return ("S%d-C%d"):format(place.socket, place.core), place.socket * 2 ^ 20 + place.core end,
   socket = function(place) return ("S%d"):format(place.socket), place.socket end,
   node = function(place) return ("N%d"):format(place.node), place.node end,
}

--- Adds up the parts of a result.
-- @tparam table result of `count.run` on CPUs, or what it gives `on_interval`
-- @string level "cpu", "core", "socket" or "node"
-- @tparam[opt] {table,...} topology of `system.topology`
-- @treturn {table,...} sorted: `name`, `cpus`, `events` as those of the result
-- @usage
-- local system = require "pfm.system"
-- print(system.group(system.count{events = "cs", seconds = 0.1}, "core")[1].name)
function system.group(result, level, topology)
   if not keys[level] then
      error(("system: no level '%s'; there are %s"):format(tostring(level), table.concat(system.levels, ", ")), 0)
   end
   local places = {}
   for _, place in ipairs(topology or system.topology()) do places[place.cpu] = place end
   local out = parts.group(result, function(part)
      if not part.cpu then error("system.group: the parts of the result are threads, not CPUs", 0) end
      return keys[level](places[part.cpu] or error("system.group: the topology lacks CPU " .. part.cpu, 0))
   end, function(group, part)
      group.cpus = group.cpus or {}
      table.insert(group.cpus, part.cpu)
   end)
   for _, group in ipairs(out) do table.sort(group.cpus) end
   return out
end

--- Counts on CPUs.
-- @tparam table spec as for `count.run`; `cpus` are by default all that are online
-- @string[opt] spec.by one of `system.levels`: add the counts up by it
-- @treturn table of `count.run`, and `groups` (of `system.group`) if `by` is given
-- @usage require("pfm.system").count{events = "cs", seconds = 0.1, by = "socket"}.groups[1].events[1].value
function system.count(spec)
   local copy = {}
   for k, v in pairs(expect.kind("system.count", spec, "table")) do copy[k] = v end
   copy.by = nil
   copy.cpus = spec.cpus or host.now().cpus()
   copy.events = spec.events or events.default_counts()
   local result = count.run(copy)
   if spec.by then result.groups = system.group(result, spec.by, system.topology(copy.cpus)) end
   return result
end

expect.signatures("system", system, {
   topology = "cpus: [number]?; root: string?",
})

return system
