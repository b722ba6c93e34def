-- SPDX-License-Identifier: MIT
--- Statements at the prompt: compiles them, runs them so that Ctrl-C can stop them, notes their
-- effects for `.save`, and words their errors for users.
-- @module repl.prompt.statement

local host = require "repl.host"
local caret = require "repl.prompt.caret"
local chunk = require "repl.prompt.chunk"
local dot_commands = require "repl.prompt.dot_commands"
local globals = require "repl.prompt.globals"
local programming = require "repl.prompt.programming"
local show = require "repl.prompt.show"
local transcript = require "repl.prompt.transcript"

local statement = {}

local jit = rawget(_G, "jit")

--- Compiles a statement, or a command of the prompt.
-- @string text
-- @treturn[1] table for `statement.run`
-- @return[2] nil
-- @treturn[2] string the compiler's message
function statement.compile(text)
   if not dot_commands.is(text) then return chunk.compile(text) end
   local ok, fn, lua = pcall(dot_commands.compile, text)
   if not ok then return { fn = function() error(fn, 0) end, command = true } end
   return { fn = fn, command = true, lua = lua }
end

local LONG = 4000 -- most bytes of a message that are shown and searched for its cause

local function cut(message)
   return show.cut(message, LONG)
end

-- Returns the message of a call that failed, which has returned nil and a message; nil if the call
-- did not fail.
local function failure_of(results)
   return results.n > 1 and results[1] == nil and type(results[2]) == "string" and results[2] or nil
end

-- Positions in lpfm and its library, which are removed from tracebacks: users see only their own
-- code.
local OWN = "[^\n]*[/.]repl/%l+/[%w_]+%.lua:%d+:"
local OWN_LIBRARY = "[^\n]*/pfm/[%w_/]+%.lua:%d+:"

local function without_own(trace)
   return (trace:gsub("\n" .. OWN .. "[^\n]*", ""):gsub("\n" .. OWN_LIBRARY .. "[^\n]*", ""))
end

-- Returns the name of the function that the typed text called, or nil if it was called without a
-- name.
local function called()
   local level = 3
   while true do
      local info = debug.getinfo(level, "S")
      if not info then return nil end
      if info.source == "=stdin" then return debug.getinfo(level - 1, "n").name end
      level = level + 1
   end
end

-- Rewrites an error that was raised in lpfm's own code: most often an argument has caused it.
-- Returns a false value if the error is from elsewhere.
local function stumbled(err)
   local plain = err:match("^" .. OWN .. " (.*)$") or err:match("^" .. OWN_LIBRARY .. " (.*)$")
   local name = plain and called()
   if plain and name and plain:find("'self'", 1, true) then
      return name .. ": its object is missing: a method is called with a colon, as in object:" .. name .. "(...)"
   end
   if plain and name and plain:sub(1, #name + 1) ~= name .. ":" then plain = name .. ": " .. plain end
   return plain and plain .. " (an argument is not what the call expects: ?NAME shows how it is called)"
end

-- Adds a traceback to an error. A message without a position is about a mistake of the user, and
-- needs none.
local function traceback(err)
   -- The position in this file says nothing to users.
   if type(err) == "string" then err = cut(err):gsub("^[^\n]-prompt/statement%.lua:%d+: ", "") end
   if type(err) ~= "string" or not err:find("^[^\n]-:%d+: ") then return err end
   if err:find(": interrupted$") then return "interrupted" end
   local own = stumbled(err)
   if own then return own end
   local trace = debug.traceback(err, 2)
   local last = trace:find("\n[^\n]*in function 'xpcall'") or #trace + 1
   trace = without_own(trace:sub(1, last - 1)):gsub("\n[^\n]*%[C%]: in function[^\n]*", "")
   trace = trace:gsub("\n[^\n]*%[builtin[^\n]*", "")
   trace = trace:gsub("\n[^\n]*stdin:%d+: in [^\n]*$", "")
   local _, frames = trace:gsub("\n", "")
   return frames > 1 and trace or err
end

local function message_of(err)
   if type(err) == "string" then return err end -- `traceback` has cut it
   local ok, message = pcall(function() return type(err) == "table" and err.message end)
   return cut(ok and message and show.plain(message) or "(error value: " .. show.plain(err) .. ")")
end

-- Turns the JIT off for typed code: compiled code runs no hooks, and Ctrl-C sets one.
local function keep_interruptible(fn)
   if jit then jit.off(fn, true) end
   return fn
end

local function pack(...)
   return { n = select("#", ...), ... }
end

local function remember_statement(compiled, text, results, failure, changes)
   if compiled.command and not compiled.lua then return end
   transcript.note {
      text = compiled.lua or text, expression = compiled.expression, before = compiled.before, ok = not failure,
      count = results and results.n or 0, was_true = results ~= nil and results[1] == true, failure = failure,
      changes = changes,
   }
end

-- Keeps a local of a line for the next lines.
local function keep_local(name, value)
   rawset(_G, name, value)
end

--- Runs a compiled statement.
-- @tparam table compiled of `statement.compile`
-- @string text what was typed
-- @treturn table `quit`, true if it called quit(); `failed`, true if it raised an error;
-- `message`, the text of that error; without one, `results`, its values and their number n
function statement.run(compiled, text)
   keep_interruptible(compiled.fn)
   local results
   -- xpcall() must include pack(): if the statement ends with a C call, Ctrl-C raises in pack().
   local function call() results = pack(compiled.fn(keep_local)) end
   local before = programming.snapshot()
   local done, err = xpcall(call, traceback)
   local struck = host.calm()
   if err == globals.quitting then return { quit = true } end
   local failure = not done and (struck and "interrupted" or message_of(err)) or nil
   local refusal = results and failure_of(results)
   remember_statement(compiled, text, results, failure or refusal, programming.changes(before))
   if failure then return { failed = true, message = struck and failure or caret.runtime(text, failure) } end
   if refusal then return { message = caret.runtime(text, cut(refusal)) } end
   return { results = results }
end

--- Runs a function of the user, outside of any statement.
-- @tparam function fn
-- @treturn ?string the message if it failed
function statement.call(fn)
   local ok, err = xpcall(keep_interruptible(fn), traceback)
   host.calm()
   return not ok and err ~= globals.quitting and message_of(err) or nil
end

--- The text of an error value.
statement.message_of = message_of

return statement
