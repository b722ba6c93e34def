-- SPDX-License-Identifier: MIT
--- A transcript, what was done at the prompt as a Lua script: the statements in their order, and how the contexts were
-- programmed, which the script compares with what it has made. Or the programming of some contexts alone.
--
-- Statements that failed become comments; what they did to a context before is written out. A thread's id in a
-- `load` becomes the script's argument.
-- @module repl.prompt.transcript

local lpfm = require "lpfm"
local journal = require "repl.prompt.journal"
local literal = require "repl.prompt.literal"
local names = require "repl.prompt.names"
local text_file = require "pfm.util.text_file"
local tokens = require "repl.prompt.tokens"

local transcript = {}

local log = {}

-- --- what was typed ------------------------------------------------------------------------------

--- Remembers a statement.
-- @tparam table statement `text`; `expression` and `before` of `repl.prompt.chunk`; `ok`; `count` and `was_true` (how
-- many results, whether the first was true); `failure` (a message);
-- `calls`, a list of `{who={ctx}, call=, arguments...}`
function transcript.note(statement)
   log[#log + 1] = statement
end

--- How many statements there are.
-- @treturn number
function transcript.count()
   return #log
end

-- --- a context's programming ---------------------------------------------------------------------

local function call_text(name, call, argument)
   return ("assert(%s:%s(%s))"):format(name, call, argument or "")
end

local function vector_text(name, call, list)
   return ("assert(%s:%s %s)"):format(name, call, literal.lines(list))
end

local function load_text(name, target, tid_text)
   local tid = target.tid and (tid_text or literal.text(target.tid)) or (target.set and "nil" or "")
   return call_text(name, "load", target.set and ("%s, %d"):format(tid, target.set) or tid)
end

local function create_text(name, create)
   return ("%s = assert(lpfm.create %s)"):format(name, literal.text(create))
end

-- The calls that program a context as another one is programmed.
local function programming_lines(name, p, tid_text)
   local lines = { create_text(name, p.create) }
   for _, part in ipairs { { "create_evtsets", p.sets }, { "write_pmcs", p.pmcs }, { "write_pmds", p.pmds } } do
      if #part[2] > 0 then lines[#lines + 1] = vector_text(name, part[1], part[2]) end
   end
   if p.target then lines[#lines + 1] = load_text(name, p.target, tid_text) end
   if p.running then lines[#lines + 1] = call_text(name, "start") end
   return lines
end

-- --- targets -------------------------------------------------------------------------------------

local function is_simulated()
   local machine = lpfm.machine()
   return machine ~= nil and machine.name:find("^sim") ~= nil
end

local function comm(tid)
   local name = text_file.line(("/proc/%d/comm"):format(tid))
   return name and (" (%s)"):format(name) or ""
end

-- Threads of the real machine are others next time: the script takes them as arguments.
local function target_names(contexts)
   local out, lines = {}, {}
   for _, c in ipairs(is_simulated() and {} or contexts) do
      local target = journal.programming(c.value).target
      if target and target.tid and not out[target.tid] then
         local name = #lines == 0 and "target" or "target" .. #lines + 1
         out[target.tid] = name
         lines[#lines + 1] = ("local %s = tonumber((select(%d, ...))) or %d -- the thread%s that '%s' was loaded on")
            :format(name, #lines + 1, target.tid, comm(target.tid), c.name)
      end
   end
   return out, lines
end

-- --- statements ----------------------------------------------------------------------------------

local function has_outer_local(text)
   local depth = 0
   for _, token in ipairs(tokens.code(text)) do
      if token.kind == "keyword" then
         if token.text == "local" and depth == 0 then return true end
         local opens = token.text == "do" or token.text == "then" or token.text == "function" or token.text == "repeat"
         local closes = token.text == "end" or token.text == "until" or token.text == "elseif"
         depth = depth + (opens and 1 or 0) - (closes and 1 or 0)
      end
   end
   return false
end

local function trimmed(text)
   return (text:gsub("^%s+", ""):gsub("%s+$", ""))
end

local function ends_in_comment(text)
   local all = tokens.of(text)
   return #all > 0 and all[#all].kind == "comment"
end

-- An expression as a statement that shows its value as the prompt did, or checks it where it was just true.
local function shown(s)
   local expression = trimmed(s.expression)
   if s.count == 0 and loadstring(expression) then return s.before .. expression end
   local name = s.count == 1 and s.was_true and "assert" or "show"
   return ("%s%s%s(%s%s)"):format(s.before, s.before ~= "" and " " or "", name, expression,
      ends_in_comment(expression) and "\n" or "")
end

local function in_targets(text, calls, targets)
   for _, c in ipairs(calls) do
      local tid = c.call == "load" and c[1]
      if tid and targets[tid] then text = text:gsub(("%%f[%%w_]%d%%f[^%%w_]"):format(tid), targets[tid]) end
   end
   return text
end

local function statement_text(s, targets)
   local first = tokens.code(s.text)[1]
   local text
   if not first then
      text = trimmed(s.text)
   elseif first.text == "return" then
      text = ("show((function()\n%s\nend)())"):format(s.text)
   else
      text = s.expression and shown(s) or trimmed(s.text)
   end
   if has_outer_local(s.text) then text = ("do\n%s\nend"):format(text) end
   return in_targets(text, s.calls, targets)
end

local function commented(text)
   return "-- " .. trimmed(text):gsub("\n", "\n-- ")
end

-- A call on a context, as it was understood.
local function call_line(name, c, targets)
   if c.call == "create" then return create_text(name, journal.programming(c.who[1]).create) end
   if c.call == "load" then return load_text(name, { tid = c[1], set = c[2] }, targets[c[1]]) end
   if type(c[1]) == "table" then return vector_text(name, c.call, c[1]) end
   return call_text(name, c.call, c[1] and literal.text(c[1]) or "")
end

local function failed_lines(s, by_ctx, targets)
   local lines = { commented(s.text), commented("failed: " .. s.failure:match("^[^\n]*")) }
   for _, c in ipairs(s.calls) do
      local name = c.who[1] and by_ctx[c.who[1]]
      if name then lines[#lines + 1] = call_line(name, c, targets) end
   end
   return table.concat(lines, "\n")
end

-- --- the script ----------------------------------------------------------------------------------

local function header(what)
   local machine = lpfm.machine() or { name = "none", pmu = "no PMU" }
   return ("-- %s, saved at lpfm's prompt on %s; machine %s (%s).\n-- 'lpfm FILE' runs it, and '.load FILE' at the "
      .. "prompt."):format(what, os.date("%Y-%m-%d %H:%M"), machine.name, machine.pmu)
end

local function machine_line()
   local chosen = journal.machine()
   if chosen then
      local options = chosen.options and ", " .. literal.text(chosen.options) or ""
      return ("lpfm.machine(%s%s)"):format(literal.text(chosen.name), options)
   end
   return is_simulated() and ("lpfm.machine(%s)"):format(literal.text(lpfm.machine().name)) or nil
end

local function append(lines, more)
   for _, line in ipairs(more) do lines[#lines + 1] = line end
end

-- What is not a name of a global is not written: it cannot be found again.
local function named_contexts(wanted)
   local all = names.globals(journal.is_open)
   if not wanted then return all end
   local out = {}
   for _, name in ipairs(wanted) do
      local value = names.value(name)
      if not journal.is_open(value) then error(("'%s' is no open context"):format(name), 0) end
      out[#out + 1] = { name = name, value = value }
   end
   return out
end

local function context_script(wanted)
   local contexts = named_contexts(wanted)
   local targets, target_lines = target_names(contexts)
   local lines = { header("The programming of " .. table.concat(wanted, ", ")), 'local lpfm = require "lpfm"' }
   append(lines, target_lines)
   lines[#lines + 1] = machine_line()
   for _, c in ipairs(contexts) do
      local p = journal.programming(c.value)
      lines[#lines + 1] = ""
      local list = c.name:match("^(.-)%[")
      if list then lines[#lines + 1] = ("%s = %s or {}"):format(list, list) end
      append(lines, programming_lines(c.name, p, p.target and targets[p.target.tid]))
   end
   return lines
end

local function programming_table(contexts)
   local out = {}
   for _, c in ipairs(contexts) do
      out[c.name] = journal.programming(c.value)
      out[c.name].machine = nil
   end
   return out
end

local function transcript_script(environment_machine)
   local contexts = named_contexts()
   local targets, target_lines = target_names(contexts)
   local by_ctx = {}
   for _, c in ipairs(contexts) do by_ctx[c.value] = c.name end
   local lines = { header "A transcript", 'require("repl.prompt.globals").provide()' }
   append(lines, target_lines)
   lines[#lines + 1] = environment_machine
   lines[#lines + 1] = ""
   for _, s in ipairs(log) do
      lines[#lines + 1] = s.ok and statement_text(s, targets) or failed_lines(s, by_ctx, targets)
   end
   if #contexts > 0 then
      lines[#lines + 1] = "\n-- How the contexts were programmed; exit status 1, and a line, where they are not now."
      lines[#lines + 1] = ('return require("repl.prompt.transcript").check %s'):format(
         literal.lines(programming_table(contexts), "", 2))
   end
   return lines
end

--- The script.
-- @tparam[opt] table wanted names of contexts: their programming alone
-- @treturn string
function transcript.script(wanted)
   local lines
   if wanted and #wanted > 0 then
      lines = context_script(wanted)
   else
      lines = transcript_script(not journal.machine() and machine_line() or nil)
   end
   return table.concat(lines, "\n") .. "\n"
end

--- Writes the script.
-- @string path
-- @tparam[opt] table wanted names of contexts
-- @treturn string what was written, in words
function transcript.write(path, wanted)
   local text = transcript.script(wanted)
   local file, err = io.open(path, "w")
   local ok = file
   if file then
      ok, err = file:write(text)
      if ok then ok, err = file:close() end
   end
   if not ok then error("cannot write " .. err, 0) end
   local render = require "pfm.render"
   if wanted and #wanted > 0 then return ("%s: the programming of %s"):format(path, table.concat(wanted, ", ")) end
   return ("%s: %s, %s"):format(path, render.plural(#log, "statement"), render.plural(#named_contexts(), "context"))
end

--- Compares the contexts with how they were programmed: the end of a saved script.
-- @tparam table programmed by name of a global, as of `journal.programming`
-- @treturn number 0, or 1 after a line on stderr for each difference
function transcript.check(programmed)
   local status = 0
   for name, before in pairs(programmed) do
      local ctx = names.value(name)
      local now = journal.is_open(ctx) and journal.programming(ctx)
      local found = now and journal.differences(before, now) or { "there is no such context" }
      for _, difference in ipairs(found) do
         io.stderr:write(("%s is not as it was saved: %s\n"):format(name, difference))
         status = 1
      end
   end
   return status
end

return transcript
