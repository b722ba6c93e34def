-- SPDX-License-Identifier: MIT
--- lpfm list: the events, registers and formats of this machine.
-- @module pfm.list

local lpfm = require "lpfm"
local events = require "pfm.events"
local format = require "pfm.format"
local nearest = require "pfm.nearest"
local options = require "pfm.options"
local setup = require "pfm.setup"

local list = { summary = "list events and registers of this machine" }

local virtual = {
   [80] = "the machine's clock, ns", [81] = "time of day, ns since 1970", [82] = "the thread's id",
   [83] = "the process's id", [84] = "the CPU",
}

local function event_rows()
   local out = {}
   for i, e in ipairs(events.software()) do
      out[i] = { what = "event", name = e.name, aliases = e.aliases, num = e.num, unit = e.unit,
         description = e.description }
   end
   for _, name in ipairs(lpfm.events() or {}) do
      local event = lpfm.event(name) or {}
      if not event.software then
         out[#out + 1] = { what = "event", name = name, aliases = {}, description = event.desc or "" }
      end
   end
   return out
end

local function software_names()
   local names = {}
   for _, e in ipairs(events.software()) do names[e.num] = e end
   return names
end

local function register_words(reg, what, named)
   if named and what == "PMD" then return "counts " .. named.name end
   if named then return "controls PMD " .. reg.num .. ": bit 3 user level, bit 0 kernel" end
   return what == "PMD" and virtual[reg.num] or (what == "PMD" and "counter" or "event select")
end

local function register_rows()
   local out, names = {}, software_names()
   for _, group in ipairs { { "PMC", lpfm.pmcs() }, { "PMD", lpfm.pmds() } } do
      for _, reg in ipairs(group[2]) do
         out[#out + 1] = {
            what = group[1], num = reg.num, name = reg.name, type = reg.type, kind = reg.kind or {},
            width = reg.width, ctrl = reg.ctrl, default = reg.def_value, reserved = reg.rsvd_mask,
            description = register_words(reg, group[1], names[reg.num]),
         }
      end
   end
   return out
end

local function format_rows()
   local out = {}
   for i, f in ipairs(lpfm.formats()) do
      out[i] = { what = "format", name = f.name, uuid = f.uuid, version = f.version,
         description = "sampling format " .. f.uuid }
   end
   return out
end

local sections = {
   { name = "events", title = "Events (for -e; levels by :u, :k, :uk; raw events as rHEX)", rows = event_rows },
   { name = "registers", title = "Registers", rows = register_rows },
   { name = "formats", title = "Sampling formats", rows = format_rows },
}

local function matches(row, pattern)
   if not pattern then return true end
   local text = table.concat({ row.name or "", row.description, (row.what .. (row.num or "")):lower(),
      table.concat(row.aliases or {}, " ") }, " ")
   return text:lower():find(pattern:lower(), 1, true) ~= nil
end

local function collect(words)
   local section, pattern = nil, words[1]
   for _, s in ipairs(sections) do
      if s.name == words[1] then section, pattern = s, words[2] end
   end
   local out, found = {}, 0
   for _, s in ipairs(sections) do
      if not section or section == s then
         local rows = {}
         for _, row in ipairs(s.rows()) do
            if matches(row, pattern) then rows[#rows + 1] = row end
         end
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

local function detail(row)
   if row.what == "event" then
      return row.num and ("PMD %d%s"):format(row.num, row.unit and ", " .. row.unit or "") or ""
   end
   if row.what == "format" then return "version " .. tostring(row.version) end
   local control = row.ctrl and ", controlled by PMC " .. row.ctrl or ""
   local default = row.what == "PMC" and (", default %s"):format(hex(row.default)) or ""
   local kinds = table.concat(row.kind, " ")
   return ("%s, %s bits, %s%s%s"):format(row.type or "", tostring(row.width), kinds, control, default)
end

local function text_lines(found, verbose)
   local lines = {}
   for _, part in ipairs(found) do
      if #part.rows > 0 then
         if #lines > 0 then lines[#lines + 1] = "" end
         lines[#lines + 1] = part.section.title
         local rows = {}
         for i, row in ipairs(part.rows) do
            local label = row.num and row.what ~= "event" and row.name or nil
            rows[i] = { name_cell(row), label or "", row.description, verbose and detail(row) or "" }
         end
         for _, line in ipairs(format.align({ {}, {}, {}, {} }, rows, "  ")) do lines[#lines + 1] = line end
      end
   end
   return lines
end

local function flat(found)
   local out = {}
   for _, part in ipairs(found) do
      for _, row in ipairs(part.rows) do out[#out + 1] = row end
   end
   return out
end

local function csv_lines(found, sep)
   local lines = { format.csv({ "what", "number", "name", "description" }, 4, sep) }
   for _, row in ipairs(flat(found)) do
      lines[#lines + 1] = format.csv({ row.what, row.num, row.name, row.description }, 4, sep)
   end
   return lines
end

local function machine_lines()
   local m = lpfm.machine()
   local lines = { ("Machine %s, PMU %s, %s"):format(m.name, m.pmu,
      m.hw_counters > 0 and format.plural(m.hw_counters, "hardware counter") or "no hardware counters") }
   local missing = setup.no_hardware()
   if missing then lines[2] = missing end
   lines[#lines + 1] = ""
   return lines
end

-- --- the command ---------------------------------------------------------------------------------

--- The options.
function list.options()
   local c = options.command("list", "Lists the events, registers and sampling formats of this machine.",
      "lpfm list [options] [events|registers|formats] [pattern]")
   c.mixed = true
   c:flag("-v --verbose", "Show units, types, widths.")
   c:option("-x", "SEP", "Print separated values.")
   c:flag("--json", "Print JSON.")
   c:epilog("A pattern is a part of a name or description.", {
      "lpfm list", "lpfm list fault", "lpfm list registers -v",
   })
   return c
end

local function known_words()
   local names = events.names()
   for _, name in ipairs(events.names()) do
      for part in name:gmatch("%a+") do names[#names + 1] = part end
   end
   for _, s in ipairs(sections) do names[#names + 1] = s.name end
   return names
end

--- Runs the command line.
-- @tparam table argv
-- @treturn number exit status
function list.main(argv)
   local args, words = list.options():parse(argv)
   local found, n, pattern = collect(words)
   if n == 0 then
      error(("nothing matches '%s'%s"):format(pattern, nearest.hint(pattern, known_words())), 0)
   end
   local lines
   if args.json then
      lines = { format.json { machine = lpfm.machine(), list = flat(found) } }
   elseif args.x then
      lines = csv_lines(found, args.x)
   else
      lines = pattern and {} or machine_lines()
      for _, line in ipairs(text_lines(found, args.verbose)) do lines[#lines + 1] = line end
   end
   io.stdout:write(table.concat(lines, "\n"), "\n")
   return 0
end

--- Lists from a script or the prompt.
-- @string[opt] pattern
-- @treturn table of rows; prints itself
-- @usage list("fault")
function list.call(pattern)
   local found = collect { pattern }
   return setmetatable(flat(found), {
      __tostring = function() return table.concat(text_lines(found, true), "\n") end,
   })
end

return list
