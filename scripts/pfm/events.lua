-- SPDX-License-Identifier: MIT
--- From the names of events to the registers that count them.
-- An event is a table: `name` as typed, `base` without levels, `kind` ("software" or "hardware"), `plm` (a
-- subset of "uk"), `unit`, and once assigned `pmd` and `pmcs`, or a `reason` why it cannot be counted.
-- Software events have their usual names here; the hardware's come from `lpfm.dispatch_events`.
-- @module pfm.events

local lpfm = require "lpfm"
local nearest = require "pfm.util.nearest"
local raw = require "pfm.measure.raw"

local events = {}

-- PMC and PMD numbers are the same on every machine: kernel/pmu/software.h.
local software = {
   { "task-clock", 64, "time the thread ran", unit = "ns" },
   { "cpu-clock", 65, "time on the CPU's clock while the thread ran", unit = "ns" },
   { "page-faults", 66, "pages that had to be made present", alias = { "faults" } },
   { "minor-faults", 67, "page faults served from memory" },
   { "major-faults", 68, "page faults that waited for a disk" },
   { "context-switches", 69, "times the CPU turned to another thread", alias = { "cs" } },
   { "cpu-migrations", 70, "times the thread went to another CPU", alias = { "migrations" } },
   { "alignment-faults", 71, "unaligned accesses the kernel had to fix" },
   { "emulation-faults", 72, "instructions the kernel had to emulate" },
}

local KERNEL, USER = 0x1, 0x8 -- of software.h; the bits of libpfm's PLM0 and PLM3

local by_name = {}
for _, e in ipairs(software) do
   by_name[e[1]] = e
   for _, alias in ipairs(e.alias or {}) do by_name[alias] = e end
end

--- All names of software events, aliases included.
-- @treturn table sorted
-- @usage print(table.concat(events.names(), " "))
function events.names()
   local names = {}
   for name in pairs(by_name) do names[#names + 1] = name end
   table.sort(names)
   return names
end

--- The software events with their descriptions.
-- @treturn table of `{name=, aliases=, num=, unit=, description=}`
-- @usage for _, e in ipairs(events.software()) do print(e.name, e.num, e.description) end
function events.software()
   local out = {}
   for i, e in ipairs(software) do
      out[i] = { name = e[1], aliases = e.alias or {}, num = e[2], unit = e.unit, description = e[3] }
   end
   return out
end

-- "u", "k", "uk" in any order; nil when the text is no modifier.
local function levels(text)
   if text == "" or not text:find("^[uk]+$") then return nil end
   return (text:find("u") and "u" or "") .. (text:find("k") and "k" or "")
end

local function unknown(name, err)
   local hint = nearest.hint(name, events.names())
   if hint == "" and name:find("^[rR]%x*[^%x]") then
      hint = "; a raw event is r and its code in hexadecimal, as in r1c2"
   end
   if hint ~= "" or not err then err = ("unknown event '%s'"):format(name) end
   return err .. hint
end

local function is_generic(name)
   for _, g in ipairs { "cycles", "cpu-cycles", "instructions", "branches", "branch-instructions", "branch-misses",
      "cache-references", "cache-misses", "ref-cycles", "bus-cycles", "stalled-cycles-frontend",
      "stalled-cycles-backend" } do
      if g == name:lower() then return true end
   end
   return false
end

-- "model::NAME" may be another machine's event.
local function is_ours(name, event)
   local model = event.pmu or event.terms[1].pmu
   for _, pmu in ipairs(lpfm.pmus()) do
      if pmu.current and pmu.name ~= model then
         return false, ("'%s' is an event of %s, and this machine's PMU is %s"):format(name, model, pmu.name)
      end
   end
   return true
end

-- Does the event exist here, or would it on hardware that this machine hides?
local function known_hardware(name)
   local event, err = lpfm.event(name)
   if event then return is_ours(name, event) end
   if lpfm.machine().hw_counters > 0 then return false, (err:gsub("^event: ", "")) end
   if is_generic(name) then return true end
   for _, pmu in ipairs(lpfm.pmus()) do
      if pmu.present and not pmu.current and lpfm.event(name, pmu.name) then return true end
   end
   return false, unknown(name)
end

local function software_event(name, plm, sw)
   return { name = name, base = sw[1], kind = "software", plm = plm, unit = sw.unit, num = sw[2] }
end

-- The library's names of the software counters: PAGE_FAULTS.
local function library_software(base)
   local event = lpfm.event(base)
   if not event or not event.software then return nil end
   for _, sw in ipairs(software) do
      if sw[2] == event.counters[1] then return sw end
   end
   return nil, ("'%s' is a register to read, not an event to count"):format(base)
end

-- One event, as typed.
local function parse_one(name)
   local base, modifier = name:match("^(.-):([uk]+)$")
   local plm = modifier and levels(modifier)
   base = plm and base or name
   if base == "" then return nil, "an event's name is missing" end
   local sw, err = by_name[base], nil
   if not sw then sw, err = library_software(base) end
   if err then return nil, err end
   if sw then return software_event(name, plm, sw) end
   local code = raw.code(base)
   if code then return { name = name, base = base, kind = "hardware", plm = plm, code = code } end
   local known
   known, err = known_hardware(base)
   if not known then return nil, err end
   return { name = name, base = base, kind = "hardware", plm = plm }
end

--- Reads a list of events, without giving them registers.
-- @param list "task-clock,page-faults:u" or an array of names
-- @return an array of events, or nil and a message that names the bad one
-- @usage assert(events.read "task-clock,page-faults:u")[2].base --> "page-faults"
function events.read(list)
   local names, out = {}, {}
   if type(list) == "string" then list = { list } end
   for _, part in ipairs(list) do
      for name in (part .. ","):gmatch("%s*([^,]*)%s*,") do names[#names + 1] = name end
   end
   for i, name in ipairs(names) do
      local event, err = parse_one(name)
      if not event then return nil, err end
      out[i] = event
   end
   return out
end

--- Reads a list of events that are to be counted together.
-- @param list "task-clock,page-faults:u" or an array of names
-- @return an array of events, or nil and a message that names the bad one
-- @usage events.parse("page-faults:u")[1].pmd --> 66
function events.parse(list)
   local out, err = events.read(list)
   if not out then return nil, err end
   return events.assign(out)
end

--- Events as `lpfm.dispatch_events` takes them.
-- @tparam table list of events
-- @treturn table
-- @usage lpfm.dispatch_events { events = events.names_of(assert(events.read "page-faults:u")) }
function events.names_of(list)
   local out = {}
   for i, e in ipairs(list) do out[i] = { name = e.base, plm = e.plm or "uk" } end
   return out
end

--- Why events have no counters: the PMU's absence comes before the library's words.
-- @string words
-- @treturn string
-- @usage print(events.why_not "no counter is free")
function events.why_not(words)
   return lpfm.machine().hw_counters == 0 and "this machine has no hardware counters" or words
end

-- Registers for hardware events together; nil and why not.
local function dispatch(list)
   local out, err = lpfm.dispatch_events { events = events.names_of(list), plm = "uk" }
   if not out then return nil, (err:gsub("^dispatch_events: ", "")) end
   for i, e in ipairs(list) do
      local counter = out.counters[i]
      if counter.formula then return nil, e.base .. " stands for several events; name them one by one" end
      e.pmd, e.pmcs, e.reason = counter.terms[1].pmd or out.pmds[i], out.pmcs, nil
   end
   return true
end

-- All together if they fit; else as many as fit, in their order, the others with the reason.
local function assign_named(all)
   local fit = {}
   if #all == 0 or dispatch(all) then return end
   for _, e in ipairs(all) do
      fit[#fit + 1] = e
      local ok, why = dispatch(fit)
      if not ok then
         table.remove(fit)
         e.reason, e.pmd, e.pmcs = why, nil, nil
      end
   end
   if #fit > 0 then dispatch(fit) end
end

-- Names first, since they can be bound to certain counters; raw events take what is left.
local function assign_hardware(list)
   local named, codes, taken = {}, {}, {}
   for _, e in ipairs(list) do
      local to = e.code and codes or named
      if e.kind == "hardware" then to[#to + 1] = e end
   end
   if lpfm.machine().hw_counters == 0 then
      for _, e in ipairs(named) do e.reason = events.why_not() end
      for _, e in ipairs(codes) do e.reason = events.why_not() end
      return
   end
   assign_named(named)
   for _, e in ipairs(named) do
      if e.pmd then taken[e.pmd] = true end
   end
   raw.assign(codes, taken)
end

--- The value of a software event's PMC.
-- @tparam table event
-- @treturn int
-- @usage events.software_value(assert(events.read "page-faults:u")[1]) --> 8
function events.software_value(event)
   local plm = event.plm or "uk"
   return (plm:find("u") and USER or 0) + (plm:find("k") and KERNEL or 0)
end

local function assign_software(list)
   for _, e in ipairs(list) do
      if e.kind == "software" then e.pmd, e.pmcs = e.num, { { num = e.num, value = events.software_value(e) } } end
   end
end

local function check_clashes(list)
   local taken = {}
   for _, e in ipairs(list) do
      local other = e.pmd and taken[e.pmd]
      if other and other.name == e.name then return nil, ("'%s' is given twice"):format(e.name) end
      if other then
         return nil, ("'%s' and '%s' are counted by one register; measure them in two runs"):format(other.name, e.name)
      end
      if e.pmd then taken[e.pmd] = e end
   end
   return list
end

--- Gives events their registers; those that get none have a `reason`.
-- @tparam table list of events
-- @return the list, or nil and a message
-- @usage assert(events.assign(assert(events.read "page-faults")))[1].num --> 66
function events.assign(list)
   assign_software(list)
   assign_hardware(list)
   return check_clashes(list)
end

--- The same event at the user level alone, for where more is not permitted.
-- @tparam table event
-- @treturn table a copy, assigned by the next `events.assign`
-- @usage
-- local faults = events.user_only(assert(events.parse "page-faults")[1])
-- assert(events.assign { faults })
function events.user_only(event)
   local copy = {}
   for k, v in pairs(event) do copy[k] = v end
   copy.plm, copy.name = "u", event.base .. ":u"
   return copy
end

--- The PMCs that events need.
-- @tparam table list of assigned events
-- @treturn table for `ctx:write_pmcs`
-- @usage
-- local list = assert(events.assign(assert(events.read "page-faults,cs")))
-- local ctx = assert(lpfm.create {})
-- assert(ctx:write_pmcs(events.pmcs(list)))
-- ctx:close()
function events.pmcs(list)
   local out, seen = {}, {}
   for _, e in ipairs(list) do
      for _, pmc in ipairs(e.pmcs) do
         if not seen[pmc.num] then out[#out + 1] = { num = pmc.num, value = pmc.value } end
         seen[pmc.num] = true
      end
   end
   return out
end

--- The events that are counted by default.
-- @treturn string
-- @usage print(events.default_counts())
function events.default_counts()
   local list = "task-clock,context-switches,cpu-migrations,page-faults"
   if lpfm.machine().hw_counters > 0 then list = list .. ",cycles,instructions,branches,branch-misses" end
   return list
end

return events
