-- SPDX-License-Identifier: MIT
--- help() and ?NAME at the prompt: shows the texts of `repl.prompt.topics` and `pfm.doc`, and of
-- events and registers.
-- @module repl.prompt.help

local doc = require "pfm.doc"
local render = require "pfm.render"
local namespace = require "repl.prompt.namespace"
local nearest = require "pfm.util.nearest"
local reference = require "repl.prompt.reference"
local show = require "repl.prompt.show"
local tables = require "pfm.util.tables"

local help = {}

local INDENT = "   "
local WIDTH = 100

-- --- lines ---------------------------------------------------------------------------------------

-- Returns the column in which a line goes on when it is broken: that of the second column of its
-- text or, if there is none, INDENT right of where its text begins. A line that is not indented
-- goes on in column 1.
local function column_of(line)
   if not line:find("^%s") then return 1 end
   return line:match("^%s*%S.-%s%s+()%S") or #line:match("^%s*") + #INDENT + 1
end

-- Breaks a line that is too long.
local function wrap(line, width, column)
   column = column or column_of(line)
   if #line <= width or column > width / 2 then return line end
   local at = width
   while at > column and line:sub(at, at) ~= " " do at = at - 1 end
   if at == column then return line end
   local rest = (" "):rep(column - 1) .. line:sub(at + 1)
   return line:sub(1, at):gsub("%s+$", "") .. "\n" .. wrap(rest, width, column)
end

-- Wraps a text. Lines of a paragraph, and lines that continue a second column, are joined first.
local function wrap_all(text, width)
   local lines, column = {}, nil
   for line in (text .. "\n"):gmatch("([^\n]*)\n") do
      if column and line:match("^%s*()%S") == column then
         lines[#lines] = lines[#lines] .. " " .. line:sub(column)
      else
         lines[#lines + 1] = line
         column = line:find("^%S") and 1 or line:match("^%s+%S.-%s%s+()%S")
      end
   end
   for i, line in ipairs(lines) do lines[i] = wrap(line, width) end
   return table.concat(lines, "\n")
end

-- --- calls ---------------------------------------------------------------------------------------

-- Returns the summary and the options of a shell command.
local function command_text(name)
   local command = require "repl.command.rows"
   local row = command.rows[name]
   if not row then return nil end
   return ("lpfm %s: %s\n\n%s"):format(name, row.summary, command.module(name).options():help())
end

local function call_text(key, width)
   local entry = reference.entry(key)
   local ok, text = pcall(doc.text, key, width)
   local lines = { ok and text or entry.usage .. "\n" .. INDENT .. entry.text }
   if entry.topic then lines[#lines + 1] = ("%sMore: ?%s"):format(INDENT, entry.topic) end
   if require("repl.command.rows").rows[key] then
      lines[#lines + 1] = ("%sOn the command line: lpfm %s --help"):format(INDENT, key)
   end
   return table.concat(lines, "\n")
end

-- --- events and registers ------------------------------------------------------------------------

local function software_event(name)
   for _, e in ipairs(require("pfm.events").software()) do
      local is = e.name == name
      for _, alias in ipairs(e.aliases) do is = is or alias == name end
      if is then
         return ("%s: %s%s\n%ssoftware event of PMC/PMD %d; the PMC's value: 8 user, 1 kernel, 9 both"):format(e.name,
            e.description, e.unit and " (" .. e.unit .. ")" or "", INDENT, e.num)
      end
   end
end

local function mask_lines(event)
   local rows = {}
   for _, mask in ipairs(event.masks or {}) do
      rows[#rows + 1] = { ":" .. mask.name, mask.desc .. (mask.default and " (default)" or "") }
   end
   for _, modifier in ipairs(event.modifiers or {}) do
      rows[#rows + 1] = { ":" .. modifier.name .. (modifier.type == "integer" and "=N" or ""), modifier.desc }
   end
   return render.align({ {}, {} }, rows, INDENT)
end

local function formula_text(name, event)
   local lines = { ("%s = %s"):format(name, event.formula) }
   for i, term in ipairs(event.terms) do
      lines[#lines + 1] = ("%s$%d  %s: %s"):format(INDENT, i, term.name, term.desc)
   end
   return table.concat(lines, "\n")
end

-- Finds an event of this machine's PMU, or else of another PMU. In the latter case it also returns
-- how many PMUs have the event.
local function find_event(name)
   local lpfm = require "lpfm"
   local found = lpfm.event(name)
   if found then return found end
   local count = 0
   for _, pmu in ipairs(lpfm.pmus()) do
      local event = lpfm.event(name, pmu.name)
      if event then count = count + 1 end
      if event and (pmu.present or not found) then found = event end
   end
   return found, count
end

local function hardware_event(name)
   local lpfm = require "lpfm"
   local event, elsewhere = find_event(name)
   if not event then return nil end
   local lines = {}
   if elsewhere then
      lines[1] = ("%s: known for %s, not for this machine's; the first:"):format(name,
         render.plural(elsewhere, "PMU model"))
   end
   if event.formula then
      lines[#lines + 1] = formula_text(name, event)
      return table.concat(lines, "\n")
   end
   lines[#lines + 1] = ("%s: %s"):format(event.name, event.desc)
   if #(event.counters or {}) > 0 then
      lines[#lines + 1] = ("%scounted by PMD %s"):format(INDENT, table.concat(event.counters, ", "))
   end
   tables.append(lines, mask_lines(event))
   local machine = lpfm.machine()
   if machine and machine.hw_counters == 0 and not event.software then
      lines[#lines + 1] = INDENT .. "This machine has no hardware counters to count it with."
   end
   return table.concat(lines, "\n")
end

-- Describes a register that is named "PMC66" or "pmd 66".
local function register_text(name)
   local kind, num = name:upper():match("^(PM[CD])%s*(%d+)$")
   if not kind then return nil end
   local lpfm = require "lpfm"
   local registers, err = lpfm[kind:lower() .. "s"]()
   if not registers then return err end
   for _, reg in ipairs(registers) do
      if reg.num == tonumber(num) then
         local sw = software_event(reg.name)
         local ctrl = reg.ctrl and kind == "PMD" and (", counts what PMC%d says"):format(reg.ctrl) or ""
         return ("%s%s: %s, %s bits, %s%s%s"):format(kind, num, reg.name, tostring(reg.width),
            table.concat(reg.kind or {}, " "), ctrl, sw and "\n" .. INDENT .. sw or "")
      end
   end
   return ("this machine has no %s%s; list(\"registers\") shows what it has"):format(kind, num)
end

local function flag_text(name)
   local lpfm, out = require "lpfm", {}
   for topic, flags in pairs(lpfm.flags) do
      if flags[name] then out[#out + 1] = ("%s: flag of %s, 0x%x"):format(name, topic:gsub("_", " "), flags[name]) end
   end
   if lpfm.errno[name] then out[#out + 1] = ("%s: error number %d"):format(name, lpfm.errno[name]) end
   table.sort(out)
   return #out > 0 and table.concat(out, "\n") or nil
end

-- Describes a field of the tables that calls take.
local function field_text(name)
   local out = {}
   for _, key in ipairs(reference.keys()) do
      local entry = reference.entry(key)
      local text = (entry.fields and entry.fields[name]) or (entry.entries and entry.entries[name])
      if text then out[#out + 1] = { key, text } end
   end
   if #out == 0 then return nil end
   return ("%s, a field:\n%s"):format(name, table.concat(render.align({ {}, {} }, out, INDENT), "\n"))
end

-- --- values --------------------------------------------------------------------------------------

-- Lists the methods of a class, one per line; a long call has a line of its own.
local function class_text(class, width)
   local lines, column = {}, math.floor(width * 0.4)
   for _, key in ipairs(reference.methods(class)) do
      local entry = reference.entry(key)
      local usage, text = INDENT .. entry.usage, entry.text:gsub("%s+", " ")
      if #usage + 2 > column then
         lines[#lines + 1], usage = usage, ""
      end
      lines[#lines + 1] = wrap(("%-" .. column .. "s%s"):format(usage, text), width, column + 1)
   end
   return table.concat(lines, "\n")
end

-- Returns what LDoc comments in the sources say, or nil if lpfm was built without them.
local function from_comments(what, width)
   local ok, text = pcall(doc.text, what, width)
   return ok and text or nil
end

local function describe(value)
   local members = namespace.of(value)
   local has = #members > 0 and "; has " .. table.concat(members, ", ") or ""
   return ("%s: a %s%s"):format(tostring(value):match("^[^\n]*"), type(value), has)
end

local function value_text(value, width)
   local class = reference.class(value)
   if class then
      return ("%s: a %s\n%s"):format(tostring(value):match("^[^\n]*"), class, class_text(class, width))
   end
   if value == require "lpfm" then return wrap_all(reference.topic("context"), width) end
   local name = reference.name_of(value)
   local key = name and reference.key(name)
   if key then return call_text(key, width) end
   return name and (from_comments(value, width) or from_comments(name, width)) or describe(value)
end

-- --- names ---------------------------------------------------------------------------------------

local function everything()
   local out = reference.topics()
   tables.append(out, reference.keys())
   tables.append(out, require("pfm.events").names())
   tables.append(out, namespace.of(_G))
   for _, name in ipairs(namespace.modules()) do out[#out + 1] = namespace.module(name) end
   return out
end

local function unknown(name)
   local hint = nearest.hint(name, everything())
   local event = hint == "" and require("lpfm").suggest_event(name)
   if event then hint = ("; did you mean '%s'?"):format(event) end
   return ("no help on '%s'%s; topics: %s"):format(name, hint, table.concat(reference.topics(), ", "))
end

-- Describes the value of a global name. A value of the user or of a lab, such as a lab's `time`, is
-- described instead of what LDoc comments explain under this name, machine:time(). If the value
-- belongs to the library, as the module `caches` does, what comments explain follows. Returns nil
-- for Lua's own functions, so that they do not hide what comments explain.
local function global_text(name, width)
   local value = namespace.value(name)
   local own = reference.name_of(value)
   if value == nil or own == name or name:find("[.:]") then return nil end
   if own then return table.concat({ value_text(value, width), from_comments(name, width) }, "\n\n") end
   local is_builtin = type(value) == "function" and debug.getinfo(value, "S").what == "C"
   return not is_builtin and value_text(value, width) or nil
end

local function named_text(name, width)
   local topic = reference.topic(name)
   if topic then return wrap_all(topic, width) end
   local key = reference.key(name)
   if key then return call_text(key, width) end
   return global_text(name, width) or from_comments(name, width) or software_event(name) or register_text(name)
end

--- Returns the help on a name.
-- @string name
-- @int[opt] width columns
-- @treturn ?string nil if there is no help on it
-- @usage require("repl.prompt.help").of_name("read_pmds")
function help.of_name(name, width)
   width = width or WIDTH
   local text = named_text(name, width)
   if text then return text end
   local value = namespace.value(name)
   if value ~= nil then return value_text(value, width) end
   return hardware_event(name) or flag_text(name) or command_text(name) or field_text(name)
end

--- Returns the help on a topic, a name or a value.
-- @param[opt] what a name ("stat", "ctx.read_pmds", "cycles", "PMC66", "long_reset"), or a value
-- @int[opt=100] width columns to fill
-- @treturn string
-- @usage require("repl.prompt.help").text("lpfm.create")
function help.text(what, width)
   width = width or WIDTH
   if what == nil then what = "help" end
   if type(what) == "string" then
      local name = what:match("^%s*(.-)%s*$")
      return help.of_name(name, width) or unknown(name)
   end
   return value_text(what, width)
end

--- Explains a topic, a function, an object, an event or a register, in lines that fit the terminal.
-- @param[opt] what as of `help.text`
function help.call(what)
   local ok, screen = pcall(require, "repl.keys")
   local columns = ok and screen.size()
   local width = columns and columns - 1 or WIDTH
   local lines = {}
   for line in (help.text(what, math.min(width, WIDTH)) .. "\n"):gmatch("([^\n]*)\n") do
      lines[#lines + 1] = wrap(line, width)
   end
   show.page(table.concat(lines, "\n") .. "\n")
end

return help
