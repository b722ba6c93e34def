-- SPDX-License-Identifier: MIT
--- Events that neither the PMU's registers nor the software counters count: tracepoints and events
-- of PMUs of sysfs. They take the registers 96 to 127 of the machine perf. An event is a table as
-- those of `pfm.events`, its `kind` "named"; its count is the sum of its `parts`, which are tables
-- for `lpfm.perf_event`.
-- @module pfm.measure.events.named

local lpfm = require "lpfm"
local host = require "pfm.measure.host"
local pmus = require "pfm.measure.events.pmus"
local tracepoints = require "pfm.measure.events.tracepoints"
local tables = require "pfm.util.tables"

local named = {}

local FIRST, LAST = 96, 127

-- PERF_TYPE_HARDWARE's numbers.
local generic = {
   ["cycles"] = 0, ["cpu-cycles"] = 0, ["instructions"] = 1, ["cache-references"] = 2, ["cache-misses"] = 3,
   ["branches"] = 4, ["branch-instructions"] = 4, ["branch-misses"] = 5, ["bus-cycles"] = 6,
   ["stalled-cycles-frontend"] = 7, ["stalled-cycles-backend"] = 8, ["ref-cycles"] = 9,
}

-- Systems of tracepoints that :u counts, too; the kernel reports all others at kernel level.
local AT_USER_LEVEL = { syscalls = true, raw_syscalls = true }

--- The number of registers for named events.
named.registers = LAST - FIRST + 1

--- Returns true if a name is that of a generic event of perf_event.
-- @string name
-- @treturn boolean
function named.is_generic(name)
   return generic[name:lower()] ~= nil
end

--- Returns true if the machine can count named events.
-- @treturn[1] boolean true
-- @return[2] nil
-- @treturn[2] string why not
function named.possible()
   local machine, err = lpfm.machine()
   if not machine then return nil, (err:gsub("^machine: ", "")) end
   if machine.name == "perf" then return true end
   return nil, ("the machine %s has no tracepoints and no PMUs of sysfs; LPFM_MACHINE=perf has"):format(machine.name)
end

local function event_of(base, parts, unit, scale)
   local event = { base = base, kind = "named", parts = parts, unit = unit, scale = scale }
   for _, attr in ipairs(parts) do
      event.whole_cpus, event.alone = event.whole_cpus or attr.whole_cpus, event.alone or attr.alone
   end
   if #parts > 1 then
      local terms = {}
      for i in ipairs(parts) do terms[i] = "$" .. i end
      event.formula = table.concat(terms, "+")
   end
   return event
end

local function on_kind(pmu, base, code)
   local found = pmus.find(pmu, ("config=%d"):format(code or 0))
   local attr = found and found[1].attr
   if attr and not code then attr.type, attr.config = 0, ("0x%08x%08x"):format(attr.type, generic[base]) end
   return attr
end

-- Finds a generic event on one kind of core, which sysfs need not describe, or else sysfs's event.
local function find_pmu_event(pmu, text)
   if generic[text] and tables.find(pmus.core_kinds(), pmu) then return { { attr = on_kind(pmu, text) } } end
   return pmus.find(pmu, text)
end

local function pmu_event(base, pmu, text)
   local found, err = find_pmu_event(pmu, text)
   if not found then return nil, err end
   local parts = tables.map(found, "attr")
   return event_of(base, parts, found[1].unit, found[1].scale)
end

--- Returns true if a word has the form of a named event.
-- @string base
-- @treturn boolean
function named.is(base)
   if base:find("^[^/]+/.*/$") then return true end
   local system = tracepoints.parts(base)
   return system ~= nil and not system:find("[*?]") and tracepoints.is_system(system)
end

--- Finds the event with a name.
-- @string base without levels
-- @treturn[1] table
-- @return[2] nil
-- @treturn[2] string message
function named.find(base)
   local ok, err = named.possible()
   if not ok then return nil, ("'%s': %s"):format(base, err) end
   local pmu, text = base:match("^([^/]+)/(.*)/$")
   if pmu then return pmu_event(base, pmu, text) end
   local system, name = tracepoints.parts(base)
   local attr
   attr, err = tracepoints.find(system, name)
   if not attr then return nil, err end
   local event = event_of(base, { attr })
   event.kernel_only = not AT_USER_LEVEL[system]
   return event
end

-- --- precise samples ---------------------------------------------------------------------------

local HARDWARE, RAW = 0, 4 -- PERF_TYPE_HARDWARE, PERF_TYPE_RAW

-- Returns a generic or raw event as a named event, or nil and a message. `of_cores` marks it as one
-- of the cores' PMU, which this machine may not have.
local function core_event(base, code)
   local kinds = named.on_kinds(base, code)
   if kinds then return kinds[1] end
   local attr = { type = code and RAW or HARDWARE, config = code or generic[base:lower()] }
   local event = attr.config and event_of(base, { attr })
   if event then event.of_cores = true end
   return event, "precise samples are of the PMU's events by generic names (cycles, instructions, ...), raw (rHEX) " ..
      "or as in cpu/event=0xc0/"
end

---- Returns an event with precise samples, which have the addresses of the instructions that
-- caused them.
-- @string base generic name, raw event or PMU's event, without levels
-- @int[opt] code of a raw event
-- @int precise 1 to 3, precise_ip of perf_event_open(2)
-- @treturn[1] table
-- @return[2] nil
-- @treturn[2] string message
function named.precise(base, code, precise)
   local machine = host.machine().name
   if machine ~= "perf" then
      return nil, ("events have precise samples on the machine perf; this is %s, where formats may have them: pfm.pebs")
         :format(machine)
   end
   local event, err
   if base:find("^[^/]+/.*/$") then event, err = named.find(base) else event, err = core_event(base, code) end
   for _, attr in ipairs(event and event.parts or {}) do attr.precise = precise end
   return event, err
end

-- --- kinds of cores ------------------------------------------------------------------------------

--- Returns a generic or raw event of a processor with several kinds of cores: the sum, and the
-- event on each kind.
-- @string base
-- @int[opt] code of a raw event
-- @treturn {table,...} the sum first; nil if there is only one kind, or the event is neither
function named.on_kinds(base, code)
   base = base:lower()
   if not (generic[base] or code) or not named.possible() then return nil end
   local kinds, parts, out = pmus.core_kinds(), {}, {}
   for i, pmu in ipairs(kinds) do
      parts[i] = on_kind(pmu, base, code)
      out[i + 1] = event_of(("%s/%s/"):format(pmu, base), { parts[i] })
   end
   if #kinds == 0 then return nil end
   out[1] = event_of(base, parts)
   return out
end

-- --- registers -----------------------------------------------------------------------------------

--- Returns the values of a named event's PMCs, one for each part.
-- @tparam table event
-- @treturn[1] {number,...}
-- @return[2] nil
-- @treturn[2] string message
function named.values(event)
   local plm, out = event.plm or "uk", {}
   if event.of_cores and host.machine().hw_counters == 0 then
      return nil, "precise samples are of hardware counters, and this machine has none"
   end
   for i, part in ipairs(event.parts) do
      local attr = { filter = event.filter }
      for k, v in pairs(part) do attr[k] = v end
      local value, err = lpfm.perf_event(attr)
      if not value then return nil, (err:gsub("^perf_event: ", "")) end
      out[i] = value + (plm:find("u") and 8 or 0) + (plm:find("k") and 1 or 0)
   end
   return out
end

--- Gives named events their registers; those that get none have a `reason`.
-- @tparam {table,...} list
function named.assign(list)
   local next_one = FIRST
   for _, event in ipairs(list) do
      local values, err = named.values(event)
      if values and #values > 1 then values, err = nil, "it stands for several events; name them one by one" end
      if values and next_one > LAST then
         values, err = nil, ("no register is left for it: there are %d"):format(named.registers)
      end
      event.pmd, event.pmcs, event.reason = nil, nil, err
      if values then
         event.pmd, event.pmcs = next_one, { { num = next_one, value = values[1] } }
         next_one = next_one + 1
      end
   end
end

--- Places named events in event sets: equal ones share a register; if there are too few registers,
-- events take turns.
-- @tparam {table,...} list the events; one that cannot be counted gets a `reason`
-- @tparam[opt] int taken a register that is not free
-- @treturn {table,...} by register: `num`, and `users`, each a `value` and the `events` with it
function named.places(list, taken)
   local registers, by_value, free = {}, {}, {}
   for num = FIRST, LAST do
      if num ~= taken then free[#free + 1] = num end
   end
   local n = 0
   for _, event in ipairs(list) do
      local values, err = named.values(event)
      event.reason = err
      for _, value in ipairs(values or {}) do
         local user = by_value[value]
         if not user then
            user = { value = value, events = {} }
            local at = n % #free + 1
            registers[at] = registers[at] or { num = free[at], users = {} }
            table.insert(registers[at].users, user)
            by_value[value], n = user, n + 1
         end
         table.insert(user.events, event)
      end
   end
   return registers
end

return named
