-- SPDX-License-Identifier: MIT
--- Translates names of events into the registers that count them.
-- An event is a table: `name` as typed, `base` without levels, `kind` ("software", "hardware" or
-- "named"), `plm` (a subset of "uk"), `unit`, `scale` (what a count of 1 is in that unit), `group`
-- (a table that the events of a group share, with its `text`), `period` or `frequency` if it has
-- one of its own, and once assigned `pmd` and `pmcs`, or a `reason` why it cannot be counted.
-- Software events have their usual names here; the hardware's come from `lpfm.dispatch_events`.
-- Named events are the kernel's tracepoints (LPFM_TRACEFS: another tracefs) and events of the PMUs
-- that sysfs describes (LPFM_EVENT_SOURCES: a folder instead of /sys/bus/event_source/devices).
-- @module pfm.events

local lpfm = require "lpfm"
local expect = require "pfm.util.expect"
local name_list = require "pfm.util.name_list"
local nearest = require "pfm.util.nearest"
local host = require "pfm.measure.host"
local named = require "pfm.measure.events.named"
local pmus = require "pfm.measure.events.pmus"
local raw = require "pfm.measure.raw"
local tracepoints = require "pfm.measure.events.tracepoints"
local wildcards = require "pfm.measure.events.wildcards"
local words = require "pfm.measure.events.words"
local tables = require "pfm.util.tables"

local events = {}

local software = lpfm.software_events()
local KERNEL, USER = 0x1, 0x8 -- bits in software.h, and libpfm's PLM0 and PLM3

local by_name = {}
for _, e in ipairs(software) do
   by_name[e.name] = e
   for _, alias in ipairs(e.aliases) do by_name[alias] = e end
end

-- Gives a reason to the software events that have no registers on this machine.
local function mark_absent(list)
   local here, machine = {}, host.machine().name
   for _, pmc in ipairs(lpfm.pmcs()) do here[pmc.num] = true end
   for _, e in ipairs(list) do
      if not here[e.num] then e.reason = ("the machine %s does not count it"):format(machine) end
   end
   return list
end

--- Lists all names of software events, aliases included.
-- @treturn table sorted
-- @usage print(table.concat(events.names(), " "))
function events.names()
   return tables.keys(by_name)
end

--- Lists the software events with their descriptions.
-- @treturn table of `{name=, aliases=, num=, unit=, description=}`, and `reason` if this machine
-- does not count it
-- @usage for _, e in ipairs(events.software()) do print(e.name, e.num, e.description) end
function events.software()
   return mark_absent(lpfm.software_events())
end

local function unknown(name, err)
   local hint = nearest.hint(name, events.names())
   if hint == "" and name:find("^[rR]%x*[^%x]") then
      hint = "; a raw event is r and its code in hexadecimal, as in r1c2"
   end
   if hint ~= "" or not err then err = ("unknown event '%s'"):format(name) end
   return err .. hint
end

-- Returns true if an event is one of this machine's PMU; "model::NAME" may name another PMU's. Else
-- returns false and the reason.
local function is_ours(name, event)
   local model = event.pmu or event.terms[1].pmu
   for _, pmu in ipairs(lpfm.pmus()) do
      if pmu.current and pmu.name ~= model then
         local its = pmu.name == "software" and host.machine().pmu or pmu.name
         return false, ("'%s' is an event of %s, and this machine's PMU is %s"):format(name, model, its)
      end
   end
   return true
end

-- Returns true if the hardware's event exists here; or if there are no hardware counters here, but
-- it is a generic event or one of the processor's own PMU. Else returns false and the reason.
local function known_hardware(name)
   local event, err = lpfm.event(name)
   if event then return is_ours(name, event) end
   if host.machine().hw_counters > 0 then return false, (err:gsub("^event: ", "")) end
   if named.is_generic(name) then return true end
   for _, pmu in ipairs(lpfm.pmus()) do
      if pmu.present and not pmu.current and lpfm.event(name, pmu.name) then return true end
   end
   return false, unknown(name)
end

-- Finds a software event by the name that libpfm has for it: PAGE_FAULTS.
local function library_software(base)
   local event = lpfm.event(base)
   if not event or not event.software then return nil end
   local _, sw = tables.find(software, event.counters[1], "num")
   if sw then return sw end
   return nil, ("'%s' is a register to read, not an event to count"):format(base)
end

-- Finds an event by its name in tracefs or sysfs.
local function named_event(name, base, plm)
   local event, err = named.find(base)
   if not event then return nil, err end
   if plm == "u" and event.kernel_only then
      return nil, ("'%s' occurs in the kernel alone: it cannot be counted at user level alone"):format(name)
   end
   event.name, event.plm = name, plm
   return event
end

-- Returns a list, if the processor has several kinds of cores: first an event that is the sum over
-- all kinds, then the event on each kind. Returns nil if all cores are alike.
local function on_kinds(name, base, plm, code)
   local list = named.on_kinds(base, code)
   for i, event in ipairs(list or {}) do
      event.name, event.plm = i == 1 and name or event.base .. (plm and ":" .. plm or ""), plm
   end
   return list
end

-- Returns an event with precise samples, always as a named event: precise_ip is an attribute of
-- perf_event_open(2), which the PMCs that the machine may have for the event cannot hold.
local function precise_event(name, base, plm, precise)
   local event, err = named.precise(base, raw.code(base), precise)
   if not event then return nil, ("'%s': %s"):format(name, err) end
   event.name, event.plm, event.precise = name, plm, precise
   return event
end

-- Reads one event by its name; returns a list if there are several kinds of cores.
local function parse_named(name, one_kind)
   local base, plm, precise = words.levels(name)
   if base == "" then return nil, "an event's name is missing" end
   if base:find("%z") then return nil, unknown((name:gsub("%z", "?"))) end
   local term = by_name[base:match("^[^/]+")] and base:match("/(.+)/$")
   if term then
      return nil, ("'%s': expected period=N or freq=HZ between the slashes, not '%s'%s"):format(name, term,
         nearest.hint(term:match("^[^=]*"), { "period", "freq" }))
   end
   if precise > 0 then return precise_event(name, base, plm, precise) end
   if not by_name[base] and named.is(base) then return named_event(name, base, plm) end
   local sw, err = by_name[base], nil
   if not sw then sw, err = library_software(base) end
   if err then return nil, err end
   if sw then return { name = name, base = sw.name, kind = "software", plm = plm, unit = sw.unit, num = sw.num } end
   local code = raw.code(base)
   local kinds = not one_kind and on_kinds(name, base, plm, code)
   if kinds then return kinds end
   if code then return { name = name, base = base, kind = "hardware", plm = plm, code = code } end
   local known
   known, err = known_hardware(base)
   if not known and tracepoints.parts(base) and base:find("^%l[%w_]*:%l") then return named_event(name, base, plm) end
   if not known then return nil, err end
   return { name = name, base = base, kind = "hardware", plm = plm }
end

-- Like parse_named(), but a name may end with a period or frequency, which the event's name omits.
local function parse_one(name, one_kind)
   local base, plm, precise = words.levels(name)
   local rest, rate = words.rate(base)
   if not rest then return nil, rate end
   local found, err = parse_named(next(rate) and rest .. words.letters(plm, precise) or name, one_kind)
   if not found then return nil, err end
   for _, event in ipairs(found.name and { found } or found) do
      event.period, event.frequency = rate.period, rate.frequency
   end
   return found
end

local function canonical_names()
   return tables.map(software, "name")
end

-- Returns the names that a word with wildcards matches, or the word itself.
local function names_for(word)
   local base, plm, precise = words.levels(word)
   if not name_list.has_wildcards(base) then return { word } end
   local names, err = wildcards.expand(base, canonical_names())
   for i, name in ipairs(names or {}) do names[i] = name .. words.letters(plm, precise) end
   return names, err
end

-- Gives the events of one option -e, which are those from list[first] on, the option's period or
-- frequency, unless they have their own. Returns nil and a message if all of them have.
local function give_rate(its, list, first)
   if not (its.period or its.frequency) then return true end
   local given = false
   for i = first, #list do
      local event = list[i]
      if not (event.period or event.frequency) then
         event.period, event.frequency, given = its.period, its.frequency, true
      end
   end
   if given then return true end
   return nil, ("'%s' has a period or frequency of its own: no event is left for another"):format(its[1])
end

local function with_filter(event, filter)
   if not filter then return true end
   if event.kind ~= "named" or event.base:find("/", 1, true) then
      return nil, ("filter '%s': '%s' is no tracepoint"):format(filter, event.name)
   end
   event.filter = filter
   return true
end

local function add(word, name, its, out, one_kind)
   local found, err = parse_one(name, one_kind)
   if not found then return nil, err end
   for _, event in ipairs(found.name and { found } or found) do
      local ok
      ok, err = with_filter(event, its.filter)
      if not ok then return nil, err end
      event.group = word.group
      out[#out + 1] = event
   end
   return true
end

local function read_part(text, its, out, one_kind)
   local list, err = words.split(text)
   if not list then return nil, err end
   for _, word in ipairs(list) do
      local names
      names, err = names_for(word.text)
      if not names then return nil, err end
      for _, name in ipairs(names) do
         -- several wildcards match it: it is added once
         local ok = name ~= word.text and tables.find(out, name, "name")
         if not ok then ok, err = add(word, name, its, out, one_kind) end
         if not ok then return nil, err end
      end
   end
   return true
end

--- Reads a list of events, without giving them registers.
-- `:u` and `:k` after a name choose levels; `:p`, `:pp` and `:ppp` ask the PMU for precise samples
-- (perf_event_open's precise_ip), of generic and raw events and those of `cpu/.../`, on the machine
-- perf. Names have wildcards (`page-*`, `sched:*`); `{a,b}` is a group: its events are always in
-- one event set; PMUs of sysfs have their events between slashes (`power/energy-pkg/`). Where the
-- processor has several kinds of cores, a generic or raw event is followed by the same event on
-- each kind, and is the sum of these. Where it is sampled, an event may have a period or a
-- frequency of its own: `cs/period=100/`, `cpu-clock/freq=99/u`.
-- @param list "task-clock,page-faults:u", or an array of such, or of tables `{ text, ... }` with
-- `filter` (the kernel's, for tracepoints: "prev_prio < 100"), `period` (events), `frequency`
-- (samples a second); events that were read stay as they are
-- @tparam[opt] boolean one_kind events are read as if all cores were alike
-- @tparam[opt] boolean sampled the events are sampled; else periods and frequencies are refused
-- @return an array of events, or nil and a message that names the bad one
-- @usage assert(events.read "task-clock,page-faults:u")[2].base --> "page-faults"
function events.read(list, one_kind, sampled)
   local out = {}
   if type(list) == "string" then list = { list } end
   for i, part in ipairs(expect.kind("events", list, "table")) do
      if type(part) == "table" and part.name then
         out[#out + 1] = part
      else
         local its = type(part) == "table" and part or { part }
         expect.kind(("events: element %d"):format(i), its[1], "string")
         local first = #out + 1
         local ok, err = read_part(its[1], its, out, one_kind)
         if ok then ok, err = give_rate(its, out, first) end
         if not ok then return nil, err end
      end
   end
   for _, event in ipairs(sampled and {} or out) do
      if event.period or event.frequency then
         return nil, ("'%s' is not sampled here, and takes no period or frequency"):format(event.name)
      end
   end
   return out
end

--- Reads a list of events as if all cores were alike, and gives the events their registers.
-- @param list "task-clock,page-faults:u" or an array of names
-- @tparam[opt] boolean sampled as for `events.read`
-- @return an array of events, of which those that get no registers have a `reason`; or nil and a
-- message that names the bad one
-- @usage events.parse("page-faults:u")[1].pmd --> 66
function events.parse(list, sampled)
   local out, err = events.read(list, true, sampled)
   if not out then return nil, err end
   return events.assign(out)
end

--- Returns events as `lpfm.dispatch_events` takes them.
-- @tparam table list of events
-- @treturn table
-- @usage lpfm.dispatch_events { events = events.names_of(assert(events.read "page-faults:u")) }
function events.names_of(list)
   return tables.map(list, function(e) return { name = e.base, plm = e.plm or "uk" } end)
end

--- Says why events have no counters: because there is no PMU, or else the library's message.
-- @string text
-- @treturn string
-- @usage print(events.why_not "no counter is free")
function events.why_not(text)
   return host.machine().hw_counters == 0 and "this machine has no hardware counters" or text
end

-- Assigns registers to hardware events together; returns nil and the reason if they do not fit.
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

-- Assigns all events if they fit together; else as many as fit, and gives the others the reason.
local function assign_by_name(all)
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

local function of_kind(list, kind)
   return tables.filter(list, function(e) return (e.code and "raw" or e.kind) == kind end)
end

-- Assigns counters to the hardware's events. Events by libpfm4's names come first, since they can
-- be bound to certain counters; raw events take counters that are left.
local function assign_hardware(list)
   local names, codes, taken = of_kind(list, "hardware"), of_kind(list, "raw"), {}
   if host.machine().hw_counters == 0 then
      for _, e in ipairs(names) do e.reason = events.why_not() end
      for _, e in ipairs(codes) do e.reason = events.why_not() end
      return
   end
   assign_by_name(names)
   for _, e in ipairs(names) do
      if e.pmd then taken[e.pmd] = true end
   end
   raw.assign(codes, taken)
end

--- Returns the value of a software event's PMC.
-- @tparam table event
-- @treturn int
-- @usage events.software_value(assert(events.read "page-faults:u")[1]) --> 8
function events.software_value(event)
   local plm = event.plm or "uk"
   return (plm:find("u") and USER or 0) + (plm:find("k") and KERNEL or 0)
end

local function assign_software(list)
   for _, e in ipairs(mark_absent(of_kind(list, "software"))) do
      if not e.reason then e.pmd, e.pmcs = e.num, { { num = e.num, value = events.software_value(e) } } end
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
   named.assign(of_kind(list, "named"))
   return check_clashes(list)
end

--- Places the named events of an event set in registers, as `pfm.measure.events.named` does.
-- @tparam {table,...} list
-- @tparam[opt] int taken a PMD that is not free
-- @treturn {table,...} for each register `num` and its `users`, which take turns: each `value` and
-- the `events` with it
-- @usage print(#events.named_places({}))
function events.named_places(list, taken)
   return named.places(list, taken)
end

--- Lists tracepoints, or events of PMUs, by a pattern with `*` and `?`.
-- @string pattern "sched:*", "*/energy*/"
-- @treturn[1] {string,...} perhaps none
-- @return[2] nil
-- @treturn[2] string why tracepoints cannot be listed
-- @usage for _, name in ipairs(events.matching "sched:*" or {}) do print(name) end
function events.matching(pattern)
   local pmu, event = pattern:match("^(.-)/(.-)/?$")
   local ok, err = named.possible()
   if not ok then return nil, err end
   if pmu then return pmus.matching(pmu, event) end
   if not tracepoints.parts(pattern) then return {} end
   return tracepoints.matching(pattern)
end

--- Returns what defines a name of `events.matching`: a tracepoint's fields, or an event's terms.
-- @string name
-- @treturn string
-- @usage print(events.definition "sched:sched_switch")
function events.definition(name)
   local pmu, event = name:match("^(.-)/(.*)/$")
   if pmu then return pmus.definition(pmu, event) or "" end
   return table.concat(tracepoints.fields(name), ", ")
end

--- Lists the systems of tracepoints, and the PMUs of sysfs.
-- @treturn {string,...} "sched:", ..., "power/", ...; none where the machine does not count them
-- @usage print(table.concat(events.sources(), " "))
function events.sources()
   local out = {}
   if not named.possible() then return out end
   for _, system in ipairs(tracepoints.systems() or {}) do out[#out + 1] = system .. ":" end
   for _, pmu in ipairs(pmus.names()) do out[#out + 1] = pmu .. "/" end
   return out
end

--- Makes a copy of an event that counts at user level alone, where more is not permitted.
-- @tparam table event
-- @treturn table a copy, assigned by the next `events.assign`
-- @usage
-- local faults = events.user_only(assert(events.parse "page-faults")[1])
-- assert(events.assign { faults })
function events.user_only(event)
   local copy = tables.copy(event)
   copy.plm, copy.name = "u", event.base .. words.letters("u", event.precise or 0)
   return copy
end

--- Sets the level of events that name none.
-- @tparam table list of `events.read`, before they get registers; changed in place
-- @string plm "u" or "k"
-- @treturn table the list
-- @usage events.at_level(assert(events.read "page-faults,cs:k"), "u")[1].name --> "page-faults:u"
function events.at_level(list, plm)
   for _, event in ipairs(list) do
      if not event.plm and not event.whole_cpus then
         event.name = (event.precise and event.base or event.name) .. words.letters(plm, event.precise or 0)
         event.plm = plm
      end
   end
   return list
end

--- Lists the PMCs that events need.
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

--- Returns the names of the events that are counted by default.
-- @treturn string
-- @usage print(events.default_counts())
function events.default_counts()
   local list = "task-clock,context-switches,cpu-migrations,page-faults"
   if host.machine().hw_counters == 0 then return list end
   for _, name in ipairs { "cycles", "instructions", "branches", "branch-misses" } do
      if events.read(name) then list = list .. "," .. name end
   end
   return list
end

expect.signatures("events", events, {
   names_of = "list: [{base}]",
   software_value = "event: table",
   assign = "list: [{base}]",
   named_places = "list: [{parts}]; taken: number?",
   matching = "pattern: string",
   definition = "name: string",
   user_only = "event: {base}",
   at_level = "list: [{base}]; plm: string",
   pmcs = "list: [{pmcs}]",
})

return events
