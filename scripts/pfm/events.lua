-- SPDX-License-Identifier: MIT
--- From the names of events to the registers that count them.
-- An event is a table: `name` as typed, `base` without modifiers, `kind` ("software", "raw", "named"),
-- `plm` (a subset of "uk"), `unit`, and once assigned `pmc`, `value` and `pmd`.
-- @module pfm.events

local lpfm = require "lpfm"
local nearest = require "pfm.nearest"

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
function events.names()
   local names = {}
   for name in pairs(by_name) do names[#names + 1] = name end
   table.sort(names)
   return names
end

--- The software events with their descriptions.
-- @treturn table of `{name=, aliases=, num=, unit=, description=}`
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

local function unknown(name)
   local hint = nearest.hint(name, events.names())
   if name:find("^[rR]%x*[^%x]") and hint == "" then
      hint = "; a raw event is r and its code in hexadecimal, as in r1c2"
   end
   return ("unknown event '%s'%s"):format(name, hint ~= "" and hint or "; 'lpfm list' shows what there is")
end

local function named_hardware(name)
   if not lpfm.dispatch_events then return nil end
   if lpfm.event and not lpfm.event(name) then return nil end
   return { kind = "named" }
end

-- One event, as typed.
local function parse_one(name)
   local base, modifier = name:match("^(.-):([uk]+)$")
   local plm = modifier and levels(modifier)
   base = plm and base or name
   local sw = by_name[base]
   if sw then return { name = name, base = sw[1], kind = "software", plm = plm, unit = sw.unit, num = sw[2] } end
   local code = base:match("^r(%x+)$")
   if code then
      if #code > 13 then return nil, ("raw event '%s': the code has more than 52 bits"):format(name) end
      return { name = name, base = base, kind = "raw", plm = plm, code = tonumber(code, 16) }
   end
   if base == "" then return nil, "an event's name is missing" end
   local hw = named_hardware(base)
   if not hw then return nil, unknown(base) end
   hw.name, hw.base, hw.plm = name, base, plm
   return hw
end

--- Reads a list of events.
-- @param list "task-clock,page-faults:u" or an array of names
-- @return an array of events, or nil and a message that names the bad one
-- @usage events.parse("page-faults:u")[1].pmd --> 66
function events.parse(list)
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
   return events.assign(out)
end

-- PMCs of hardware counters with the PMDs they control, in order.
local function free_counters()
   local pmds, out = {}, {}
   for _, pmd in ipairs(lpfm.pmds()) do
      if pmd.ctrl and pmd.num < 64 then pmds[pmd.ctrl] = pmd.num end
   end
   for _, pmc in ipairs(lpfm.pmcs()) do
      if pmc.num < 64 and pmds[pmc.num] then out[#out + 1] = { pmc = pmc.num, pmd = pmds[pmc.num], type = pmc.type } end
   end
   return out
end

local function with_bit(value, bit, on)
   local is = math.floor(value / 2 ^ bit) % 2 == 1
   if is == on then return value end
   return on and value + 2 ^ bit or value - 2 ^ bit
end

-- A raw code as the model's PMC wants it: levels, enable and interrupt bits set (x86: the layout of
-- PERFEVTSEL; arm64: of PMXEVTYPER, whose bits exclude).
local function raw_value(code, plm, reg_type)
   local user, kernel = plm:find("u") ~= nil, plm:find("k") ~= nil
   if reg_type == "MSR" then
      code = with_bit(with_bit(code, 16, user), 17, kernel)
      return with_bit(with_bit(code, 20, true), 22, true)
   end
   return with_bit(with_bit(code, 31, not kernel), 30, not user)
end

local function assign_raw(list)
   local counters
   for _, e in ipairs(list) do
      if e.kind == "raw" then
         counters = counters or free_counters()
         local free = table.remove(counters, 1)
         if free then
            e.pmc, e.pmd = free.pmc, free.pmd
            e.value = raw_value(e.code, e.plm or "uk", free.type)
         else
            e.reason = lpfm.machine().hw_counters == 0 and "this machine has no hardware counters"
               or "no hardware counter is left for it"
         end
      end
   end
end

local function assign_named(list)
   local names, owners = {}, {}
   for _, e in ipairs(list) do
      if e.kind == "named" then
         names[#names + 1] = e.base .. (e.plm and ":" .. e.plm or "")
         owners[#owners + 1] = e
      end
   end
   if #names == 0 then return end
   local out, err = lpfm.dispatch_events { events = names, plm = "uk" }
   for i, e in ipairs(owners) do
      if out then
         e.pmcs, e.pmd = out.pmcs, out.pmds[i].num
      else
         e.reason = err
      end
   end
end

local function assign_software(list)
   for _, e in ipairs(list) do
      if e.kind == "software" then
         local plm = e.plm or "uk"
         e.pmc, e.pmd = e.num, e.num
         e.value = (plm:find("u") and USER or 0) + (plm:find("k") and KERNEL or 0)
      end
   end
end

local function check_clashes(list)
   local taken = {}
   for _, e in ipairs(list) do
      local other = e.pmd and taken[e.pmd]
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
function events.assign(list)
   assign_software(list)
   assign_raw(list)
   assign_named(list)
   return check_clashes(list)
end

--- The same event at the user level alone, for where more is not permitted.
-- @tparam table event
-- @treturn table a copy, assigned by the next `events.assign`
function events.user_only(event)
   local copy = {}
   for k, v in pairs(event) do copy[k] = v end
   copy.plm, copy.name = "u", event.base .. ":u"
   return copy
end

--- The PMCs that events need.
-- @tparam table list of assigned events
-- @treturn table for `ctx:write_pmcs`
function events.pmcs(list)
   local out, seen = {}, {}
   for _, e in ipairs(list) do
      for _, pmc in ipairs(e.pmcs or { { num = e.pmc, value = e.value } }) do
         if not seen[pmc.num] then out[#out + 1] = { num = pmc.num, value = pmc.value } end
         seen[pmc.num] = true
      end
   end
   return out
end

--- What is measured when nothing is asked for.
-- @treturn string
function events.default_counts()
   local list = "task-clock,context-switches,cpu-migrations,page-faults"
   if lpfm.machine().hw_counters > 0 and lpfm.dispatch_events then
      list = list .. ",CYCLES,INSTRUCTIONS"
   end
   return list
end

return events
