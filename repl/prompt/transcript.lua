-- SPDX-License-Identifier: MIT
--- The transcript of a prompt as a Lua script: its statements in order, and how its contexts were
-- programmed, which the script compares with its own. A script can also have only the programming
-- of some contexts.
--
-- Statements that failed become comments; changes that they made to contexts before they failed
-- are written as calls. A thread's id in a `load` becomes an argument of the script.
-- @module repl.prompt.transcript

local lpfm = require "lpfm"
local chunk = require "repl.prompt.chunk"
local literal = require "repl.prompt.literal"
local namespace = require "repl.prompt.namespace"
local programming = require "repl.prompt.programming"
local text_file = require "pfm.util.text_file"
local tokens = require "repl.prompt.tokens"
local tables = require "pfm.util.tables"

local transcript = {}

local log = {}

-- --- what was typed ------------------------------------------------------------------------------

--- Remembers a statement.
-- @tparam table statement `text`; `expression` and `before` of `repl.prompt.chunk`; `ok`, true if
-- it did not fail; `count`, the number of results; `was_true`, true if the first result is true;
-- `failure`, a message; `changes`, what it did to contexts, of `repl.prompt.programming`
function transcript.note(statement)
   log[#log + 1] = statement
end

--- Returns the number of statements.
-- @treturn number
function transcript.count()
   return #log
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

-- Returns the names of the script's arguments by thread id, and the lines that define them. On real
-- machines thread ids differ in each run, so the script takes them as arguments.
local function target_names(contexts)
   local out, lines = {}, {}
   for _, c in ipairs(is_simulated() and {} or contexts) do
      local target = c.value:programming().target
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

-- Returns true if a statement returns outside of the functions in it, which would end the script.
local function returns(text)
   local open, functions = {}, 0
   for _, token in ipairs(tokens.code(text)) do
      local word = token.kind == "keyword" and token.text
      if word == "return" and functions == 0 then return true end
      if word == "do" or word == "then" or word == "function" or word == "repeat" then
         open[#open + 1] = word == "function" and 1 or 0
         functions = functions + open[#open]
      elseif word == "end" or word == "until" or word == "elseif" then
         functions = functions - (table.remove(open) or 0)
      end
   end
   return false
end

-- Returns code that makes the outer locals of statements global, as the prompt does; "" if there
-- are none.
local function keeping(statements)
   local out = {}
   for i, name in ipairs(chunk.outer_locals(statements)) do out[i] = ("\nrawset(_G, %q, %s)"):format(name, name) end
   return table.concat(out)
end

local function trimmed(text)
   return (text:gsub("^%s+", ""):gsub("%s+$", ""))
end

local function ends_in_comment(text)
   local all = tokens.of(text)
   return #all > 0 and all[#all].kind == "comment"
end

-- Returns the expression of a statement as a statement: it shows the values as the prompt did, or
-- asserts the value if that was only `true`.
local function shown(s)
   local expression = trimmed(s.expression)
   if s.count == 0 and loadstring(expression) then return expression end
   local name = s.count == 1 and s.was_true and "assert" or "show"
   return ("%s(%s%s)"):format(name, expression, ends_in_comment(expression) and "\n" or "")
end

-- Replaces the ids of threads that contexts are loaded on by the names of the script's arguments.
local function in_targets(text, targets)
   if not text:find("load", 1, true) then return text end
   for tid, name in pairs(targets) do text = text:gsub(("%%f[%%w_]%d%%f[^%%w_]"):format(tid), name) end
   return text
end

local function statement_text(s, targets)
   local text, before = trimmed(s.text), s.expression and s.before or s.text
   local kept = keeping(before)
   if returns(text) then
      local last = s.expression and (before ~= "" and "\n" or "") .. "return " .. s.expression or ""
      local whole = before .. kept .. last
      text = ("show((function()\n%s\nend)())"):format(loadstring(whole) and whole or s.text)
   elseif kept ~= "" then
      text = ("do\n%s%s%s\nend"):format(trimmed(before), kept, s.expression and "\n" .. shown(s) or "")
   elseif s.expression then
      text = before .. (before ~= "" and " " or "") .. shown(s)
   end
   return in_targets(text, targets)
end

local function commented(text)
   return "-- " .. trimmed(text):gsub("\n", "\n-- ")
end

local function tid_text(p, targets)
   return p.target and targets[p.target.tid]
end

local function failed_lines(s, contexts, targets)
   local lines = { commented(s.text), commented("failed: " .. s.failure:match("^[^\n]*")) }
   for _, c in ipairs(contexts) do
      local change = s.changes[c.value]
      if change then
         tables.append(lines, programming.calls(c.name, change.before, change.now, tid_text(change.now, targets)))
      end
   end
   return table.concat(lines, "\n")
end

-- --- the script ----------------------------------------------------------------------------------

local function header(what)
   local machine = lpfm.machine() or { name = "none", pmu = "no PMU" }
   return ("-- %s, saved at lpfm's prompt on %s; machine %s (%s).\n-- 'lpfm FILE' runs it, and '.load FILE' at the "
      .. "prompt."):format(what, os.date("%Y-%m-%d %H:%M"), machine.name, machine.pmu)
end

-- Returns a line that selects the machine as the prompt did; nil if the environment selected it.
local function machine_line()
   local machine = lpfm.machine()
   if not machine or not (machine.options or is_simulated()) then return nil end
   local options = next(machine.options or {}) and ", " .. literal.text(machine.options) or ""
   return ("lpfm.machine(%s%s)"):format(literal.text(machine.name), options)
end

-- Returns the contexts with the wanted names, or else all that global variables hold: a script has
-- no name for others.
local function named_contexts(wanted)
   local all = namespace.globals(programming.is_open)
   if not wanted then return all end
   local out = {}
   for _, name in ipairs(wanted) do
      local value = namespace.value(name)
      if not programming.is_open(value) then error(("'%s' is no open context"):format(name), 0) end
      out[#out + 1] = { name = name, value = value }
   end
   return out
end

local function context_script(wanted)
   local contexts = named_contexts(wanted)
   local targets, target_lines = target_names(contexts)
   local lines = { header("The programming of " .. table.concat(wanted, ", ")), 'local lpfm = require "lpfm"' }
   tables.append(lines, target_lines)
   lines[#lines + 1] = machine_line()
   for _, c in ipairs(contexts) do
      local p = c.value:programming()
      lines[#lines + 1] = ""
      local list = c.name:match("^(.-)%[")
      if list then lines[#lines + 1] = ("%s = %s or {}"):format(list, list) end
      tables.append(lines, programming.calls(c.name, nil, p, tid_text(p, targets)))
   end
   return lines
end

local function programming_table(contexts)
   local out = {}
   for _, c in ipairs(contexts) do out[c.name] = c.value:programming() end
   return out
end

local function transcript_script(environment_machine)
   local contexts = named_contexts()
   local targets, target_lines = target_names(contexts)
   local lines = { header "A transcript", 'require("repl.prompt.globals").provide()' }
   tables.append(lines, target_lines)
   lines[#lines + 1] = environment_machine
   lines[#lines + 1] = ""
   for _, s in ipairs(log) do
      lines[#lines + 1] = s.ok and statement_text(s, targets) or failed_lines(s, contexts, targets)
   end
   if #contexts > 0 then
      lines[#lines + 1] = "\n-- How the contexts were programmed; exit status 1, and a line, where they are not now."
      lines[#lines + 1] = ('return require("repl.prompt.transcript").check %s'):format(
         literal.lines(programming_table(contexts), "", 2))
   end
   return lines
end

--- Writes the transcript as a script.
-- @tparam[opt] table wanted names of contexts; then only their programming is written
-- @treturn string
function transcript.script(wanted)
   local lines
   if wanted and #wanted > 0 then
      lines = context_script(wanted)
   else
      lines = transcript_script((lpfm.machine() or {}).options == nil and machine_line() or nil)
   end
   return table.concat(lines, "\n") .. "\n"
end

--- Writes the script to a file.
-- @string path
-- @tparam[opt] table wanted names of contexts
-- @treturn string a text that says what was written
function transcript.write(path, wanted)
   local text = transcript.script(wanted) -- made before io.open() empties the file
   local file, err = io.open(path, "w")
   if not file then error("cannot write " .. err, 0) end
   local ok, why = text_file.write(file, text)
   file:close()
   if not ok then error(("cannot write %s: %s"):format(path, why), 0) end
   local render = require "pfm.render"
   if wanted and #wanted > 0 then return ("%s: the programming of %s"):format(path, table.concat(wanted, ", ")) end
   return ("%s: %s, %s"):format(path, render.plural(#log, "statement"), render.plural(#named_contexts(), "context"))
end

--- Compares contexts with how they were programmed; this is the end of a saved script.
-- @tparam table programmed by name of a global, as of `context:programming`
-- @treturn number 0, or 1 after a line on stderr for each difference
function transcript.check(programmed)
   local status = 0
   for name, before in pairs(programmed) do
      local ctx = namespace.value(name)
      local found = programming.is_open(ctx) and programming.differences(before, ctx:programming())
         or { "there is no such context" }
      for _, difference in ipairs(found) do
         io.stderr:write(("%s is not as it was saved: %s\n"):format(name, difference))
         status = 1
      end
   end
   return status
end

return transcript
