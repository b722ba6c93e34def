-- SPDX-License-Identifier: MIT
--- lpfm list: the events, registers and formats of this machine.
-- @module repl.command.list

local lpfm = require "lpfm"
local events = require "pfm.events"
local render = require "pfm.render"
local name_list = require "pfm.util.name_list"
local nearest = require "pfm.util.nearest"
local tables = require "pfm.util.tables"
local options = require "repl.command.options"
local contexts = require "pfm.measure.contexts"
local host = require "pfm.measure.host"
local metrics = require "pfm.metrics"

local list = {}

local virtual = {
   [80] = "the machine's clock, ns", [81] = "time of day, ns since 1970", [82] = "the thread's id",
   [83] = "the process's id", [84] = "the CPU",
}

local function marked(rows, what)
   for _, row in ipairs(rows) do row.what = what end
   return rows
end

-- Returns the names of the events in order, and the unit masks of each.
local function names_and_masks(pmu)
   local all, err = lpfm.events(nil, { pmu = pmu, masks = true })
   if not all then error((err:gsub("^events: ", "")), 0) end
   local names, masks = {}, {}
   for _, name in ipairs(all) do
      local base, mask = name:match("^([^:]+):(.+)$")
      if base then
         table.insert(masks[base], mask)
      else
         names[#names + 1], masks[name] = name, {}
      end
   end
   return names, masks
end

-- Describes an event; if the event needs a unit mask, with its first one.
local function describe(name, masks, pmu)
   local event = lpfm.event(name, pmu)
   for _, mask in ipairs(event and {} or masks) do
      event = lpfm.event(name .. ":" .. mask, pmu)
      if event then break end
   end
   return event or { desc = "", masks = {}, modifiers = {}, counters = {} }
end

--- Lists the hardware events.
-- @string[opt] pmu a model
-- @treturn {table,...} `name`, `description`, `code`, `counters`, `masks`, `modifiers`
function list.events(pmu)
   local out = {}
   local names, masks = names_and_masks(pmu)
   for _, name in ipairs(names) do
      local event = describe(name, masks[name], pmu)
      if not event.software then
         out[#out + 1] = { name = name, description = event.desc, code = event.code, counters = event.counters,
            masks = event.masks, modifiers = event.modifiers }
      end
   end
   return out
end

-- Returns an event's name without its model.
local function short(event)
   return (event.name:gsub("^[%w_]+::", ""))
end

-- Returns the event or the formula over events that a generic name stands for.
local function expansion(event)
   if not event.formula then return short(event) end
   return (event.formula:gsub("%$(%d+)", function(i) return short(event.terms[tonumber(i)]) end))
end

--- Lists the generic names and PAPI's presets.
-- @string[opt] pmu a model
-- @treturn {table,...} `name`, `description`: the event or formula
function list.generic(pmu)
   local own, out = {}, {}
   for _, name in ipairs((lpfm.events(nil, { pmu = pmu }))) do own[name] = true end
   for _, name in ipairs((lpfm.events(nil, { pmu = pmu, generic = true }))) do
      local event = not own[name] and lpfm.event(name, pmu)
      local software = event and (event.software or event.terms and event.terms[1].software)
      if event and not software then out[#out + 1] = { name = name, description = expansion(event) } end
   end
   return out
end

local function event_rows(pmu)
   local out = pmu and {} or events.software()
   for _, row in ipairs(list.events(pmu)) do out[#out + 1] = row end
   return marked(out, "event")
end

-- Returns the metric groups, with their `formulas`, and why the PMU cannot count one.
local function metric_rows(pmu)
   local out = {}
   for i, entry in ipairs(metrics.all(pmu)) do
      out[i] = { name = entry.name, description = entry.text, reason = entry.reason, formulas = {} }
      for k, m in ipairs(entry.group and entry.group.metrics or {}) do
         out[i].formulas[k] = { name = m.name:gsub("^%s+", ""), formula = m.formula, unit = m.unit, text = m.text }
      end
   end
   return marked(out, "metric")
end

-- Returns rows for tracepoints or PMU events of sysfs, without the details, which are read only for
-- the rows that are shown.
local function named_rows(pattern, what)
   return tables.map(events.matching(pattern) or {}, function(name)
      return { name = name, description = "", what = what }
   end)
end

local function pmu_rows()
   return tables.map(lpfm.pmus(), function(pmu)
      return { what = "pmu", name = pmu.name, description = pmu.desc, counters = pmu.counters, events = pmu.events,
         present = pmu.present, current = pmu.current }
   end)
end

local function software_names()
   local names = {}
   for _, e in ipairs(events.software()) do names[e.num] = e end
   return names
end

local function counts(reg)
   return table.concat(reg.kind or {}, " "):find("C64", 1, true) ~= nil
end

-- Says what a register does: it is a counter, it selects the event of a counter, or neither.
local function register_words(reg, what, named, controls)
   if reg.name:find("^event%-%d+$") then
      return what == "PMD" and "counts what PMC " .. reg.ctrl .. " says" or "a tracepoint or an event of sysfs's PMUs: "
         .. "lpfm.perf_event"
   end
   if named and what == "PMD" then return "counts " .. named.name end
   if named then return "controls PMD " .. reg.num .. ": bit 3 user level, bit 0 kernel" end
   if what == "PMD" then return virtual[reg.num] or (counts(reg) and "counter" or "data") end
   return controls[reg.num] and "event select" or "control"
end

local function register_rows()
   local out, names, controls = {}, software_names(), {}
   for _, pmd in ipairs(lpfm.pmds()) do
      if counts(pmd) then controls[pmd.ctrl] = true end
   end
   for _, group in ipairs { { "PMC", lpfm.pmcs() }, { "PMD", lpfm.pmds() } } do
      for _, reg in ipairs(group[2]) do
         out[#out + 1] = {
            what = group[1], num = reg.num, name = reg.name, type = reg.type, kind = reg.kind or {},
            width = reg.width, ctrl = reg.ctrl, default = reg.def_value, reserved = reg.rsvd_mask,
            description = register_words(reg, group[1], names[reg.num], controls),
         }
      end
   end
   return out
end

local function format_rows()
   return tables.map(lpfm.formats(), function(f)
      return { what = "format", name = f.name, uuid = f.uuid, version = f.version,
         description = "sampling format " .. f.uuid }
   end)
end

-- The sections of the list. any_pmu: the section is also shown with --pmu; asked: it is shown only
-- if the command line names it or, where `searched` is true, has a pattern.
local sections = {
   { name = "events", title = "Events (for -e; levels by :u, :k, :uk; raw events as rHEX)", rows = event_rows,
      any_pmu = true },
   { name = "generic", title = "Generic names and PAPI presets (for -e)", any_pmu = true,
      rows = function(pmu) return marked(list.generic(pmu), "generic") end },
   { name = "pmu-events", title = "Events of PMUs of sysfs (for -e; terms as in PMU/event=0x3c,umask=0/)",
      rows = function() return named_rows("*/*/", "pmu-event") end },
   { name = "tracepoints", title = "Tracepoints (for -e; --filter takes their fields, which -v lists)",
      rows = function() return named_rows("*:*", "tracepoint") end, asked = true, searched = true },
   { name = "metrics", title = "Metric groups (for stat -M)", rows = metric_rows, any_pmu = true },
   { name = "pmus", title = "PMU models with known events (for --pmu)", rows = pmu_rows, any_pmu = true,
      asked = true },
   { name = "registers", title = "Registers", rows = register_rows },
   { name = "formats", title = "Sampling formats", rows = format_rows },
}

-- Returns the texts of a row that a pattern may match: names with their unit masks, and
-- descriptions.
local function text_of(row)
   local words = { row.name or "", row.description, (row.what .. (row.num or "")):lower(),
      table.concat(row.aliases or {}, " ") }
   for _, mask in ipairs(row.masks or {}) do
      words[#words + 1] = row.name .. ":" .. mask.name
      words[#words + 1] = mask.desc
   end
   return table.concat(words, " "):lower()
end

local function matches(row, pattern)
   if pattern and name_list.has_wildcards(pattern) then
      return row.name ~= nil and row.name:lower():find(name_list.pattern(pattern:lower())) ~= nil
   end
   return not pattern or text_of(row):find(pattern:lower(), 1, true) ~= nil
end

local function wanted(section, named, pmu, pattern)
   if named then return section == named end
   return (not section.asked or (pattern and section.searched)) and (section.any_pmu or not pmu)
end

--- Returns the names of the sections of the list.
-- @treturn {string,...}
function list.sections()
   return tables.map(sections, "name")
end

local function split_words(words)
   local _, section = tables.find(sections, words[1], "name")
   return section, options.only_word(section and tables.slice(words, 2) or words, "pattern")
end

local function collect(words, pmu)
   local named, pattern = split_words(words)
   local out, found = {}, 0
   for _, s in ipairs(sections) do
      if wanted(s, named, pmu, pattern) then
         local rows = tables.filter(s.rows(pmu), function(row) return matches(row, pattern) end)
         out[#out + 1] = { section = s, rows = rows }
         found = found + #rows
      end
   end
   return out, found, pattern
end

-- --- output --------------------------------------------------------------------------------------

local function name_cell(row)
   if row.what == "PMC" or row.what == "PMD" then return ("%s %d"):format(row.what, row.num) end
   if row.aliases and #row.aliases > 0 then return row.name .. ", " .. table.concat(row.aliases, ", ") end
   return row.name
end

local function hex(value)
   return value and (type(value) == "number" and ("0x%x"):format(value) or tostring(value)) or ""
end

local function register_detail(row)
   local control = row.ctrl and ", controlled by PMC " .. row.ctrl or ""
   local default = row.what == "PMC" and (", default %s"):format(hex(row.default)) or ""
   local kinds = table.concat(row.kind, " ")
   return ("%s, %s bits, %s%s%s"):format(row.type or "", tostring(row.width), kinds, control, default)
end

local function event_detail(row)
   if row.num then return ("PMD %d%s"):format(row.num, row.unit and ", " .. row.unit or "") end
   return ("code %s, counters %s"):format(hex(row.code), table.concat(row.counters, " "))
end

local function pmu_detail(row)
   local here = row.current and ", this machine's" or row.present and ", present" or ""
   return ("%s, %s%s"):format(render.plural(row.events, "event"), render.plural(row.counters, "counter"), here)
end

local details = {
   event = event_detail, PMC = register_detail, PMD = register_detail, pmu = pmu_detail,
   ["pmu-event"] = function(row) return events.definition(row.name) end,
   format = function(row) return "version " .. tostring(row.version) end,
}

-- Returns the lines that -v shows below a row: unit masks and modifiers, or metrics with formulas.
local function more_lines(row)
   local rows = {}
   for _, mask in ipairs(row.masks or {}) do
      rows[#rows + 1] = { ":" .. mask.name, mask.desc .. (mask.default and " (default)" or "") }
   end
   for _, modifier in ipairs(row.modifiers or {}) do
      rows[#rows + 1] = { ":" .. modifier.name .. (modifier.type == "integer" and "=N" or ""), modifier.desc }
   end
   for _, m in ipairs(row.formulas or {}) do
      rows[#rows + 1] = { m.name, m.formula .. (m.unit ~= "" and "  " .. m.unit or "") }
      rows[#rows + 1] = { "", "-- " .. m.text }
   end
   if row.what == "tracepoint" then rows[1] = { events.definition(row.name) } end
   return render.align({ {}, {} }, rows, "        ")
end

local function section_lines(part, verbose)
   local lines, rows = { part.section.title }, {}
   for i, row in ipairs(part.rows) do
      local label = row.num and row.what ~= "event" and row.name or ""
      local unfit = row.reason and " Not here: " .. row.reason or ""
      local detail = verbose and details[row.what]
      rows[i] = { name_cell(row), label, row.description .. unfit, detail and detail(row) or "" }
   end
   for i, line in ipairs(render.align({ {}, {}, {}, {} }, rows, "  ")) do
      lines[#lines + 1] = line
      for _, more in ipairs(verbose and more_lines(part.rows[i]) or {}) do lines[#lines + 1] = more end
   end
   return lines
end

local function text_lines(found, verbose)
   local lines = {}
   for _, part in ipairs(found) do
      if #part.rows > 0 then
         if #lines > 0 then lines[#lines + 1] = "" end
         for _, line in ipairs(section_lines(part, verbose)) do lines[#lines + 1] = line end
      end
   end
   return lines
end

local function flat(found)
   local out = {}
   for _, part in ipairs(found) do tables.append(out, part.rows) end
   return out
end

local function csv_lines(found, sep)
   local lines = { render.csv({ "what", "number", "name", "description" }, 4, sep) }
   for _, row in ipairs(flat(found)) do
      lines[#lines + 1] = render.csv({ row.what, row.num, row.name, row.description }, 4, sep)
   end
   return lines
end

local function machine_lines()
   local m = lpfm.machine()
   local lines = { ("Machine %s%s, PMU %s, %s"):format(m.name, host.simulated() and ", simulated" or "", m.pmu,
      m.hw_counters > 0 and render.plural(m.hw_counters, "hardware counter") or "no hardware counters") }
   local missing = contexts.no_hardware()
   if missing then lines[2] = missing end
   lines[#lines + 1] = ""
   return lines
end

-- --- the command ---------------------------------------------------------------------------------

--- Makes the parser of the command line.
function list.options()
   local c = options.command("list", "Lists events, metric groups, registers and sampling formats.",
      "lpfm list [options] [events|generic|pmu-events|tracepoints|metrics|pmus|registers|formats] [pattern]")
   c.mixed = true
   c:flag("-v --verbose", "Show unit masks, modifiers, counters, formulas, units, types.")
   c:option("--pmu", "MODEL", "List the events of another PMU model; 'lpfm list pmus' lists the models.")
   c:option("-x", "SEP", "Print separated values.")
   c:flag("--json", "Print JSON.")
   c:epilog("A pattern is part of a name or description, or with * and ? a whole name.", {
      "lpfm list", "lpfm list fault", "lpfm list --pmu itanium2 cache", "lpfm list -v --pmu skl l2_rqsts",
      "lpfm list metrics", "lpfm list registers -v", "lpfm list 'sched:*'", "lpfm list -v tracepoints openat",
   })
   return c
end

local function known_words(pmu)
   local names = events.names()
   for _, name in ipairs(events.names()) do
      for part in name:gmatch("%a+") do names[#names + 1] = part end
   end
   for _, s in ipairs(sections) do names[#names + 1] = s.name end
   return tables.append(names, lpfm.events(nil, { pmu = pmu, generic = true }))
end

local function check_pmu(pmu)
   local names = {}
   for i, p in ipairs(lpfm.pmus()) do
      names[i] = p.name
      if p.name == pmu then return end
   end
   options.fail("unknown PMU model '%s'%s; 'lpfm list pmus' lists the models", pmu, nearest.hint(pmu, names))
end

-- Returns the message for an empty section; for tracepoints it says why there are none.
local function no_such(section)
   local _, why = events.matching("*:*")
   return section == "tracepoints" and why or "this machine has none of these"
end

-- Returns the message for a pattern that matches nothing.
local function no_match(pattern, pmu)
   local _, why = events.matching("*:*")
   why = why and pattern:find(":", 1, true) and "; tracepoints: " .. why
   return ("nothing matches '%s'%s"):format(pattern, why or nearest.hint(pattern, known_words(pmu)))
end

--- Runs the command line.
-- @tparam table argv
-- @treturn number exit status
function list.main(argv)
   local args, words = list.options():parse(argv)
   if args.pmu then check_pmu(args.pmu) end
   local anywhere = args.pmu ~= nil or words[1] == "pmus"
   local sim = not anywhere and host.simulated()
   local found, n, pattern = collect(words, args.pmu)
   if n == 0 then
      if not pattern then error(no_such(words[1]), 0) end
      error(no_match(pattern, args.pmu), 0)
   end
   local lines
   if args.json then
      lines = { render.json { machine = lpfm.machine(), list = flat(found) } }
   elseif args.x then
      lines = csv_lines(found, args.x)
      if sim then table.insert(lines, 1, "# " .. render.simulated(sim)) end
   else
      lines = (anywhere or #words > 0 and not sim) and {} or machine_lines()
      for _, line in ipairs(text_lines(found, args.verbose)) do lines[#lines + 1] = line end
   end
   options.print(lines)
   return 0
end

--- Lists events, metrics, registers and formats by name.
-- @string[opt] pattern
-- @string[opt] pmu another PMU model
-- @treturn table of rows; the prompt shows it as text
-- @usage list("fault")
function list.call(pattern, pmu)
   options.arguments("list", 'list("fault")', { pattern, "string?", "a word to look for" },
      { pmu, "string?", "the name of a PMU model" })
   if pmu then check_pmu(pmu) end
   local found, n = collect({ pattern }, pmu)
   return options.shown(flat(found), function()
      return n == 0 and pattern and { no_match(pattern, pmu) } or text_lines(found, true)
   end)
end

return list
