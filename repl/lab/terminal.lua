-- SPDX-License-Identifier: MIT
--- A lab at a terminal, or on any two streams of text: it prints each page as lines and reads each
-- answer as a line. It never moves the cursor, so that it works with screen readers and dumb
-- terminals.
-- @module repl.lab.terminal

local line = require "repl.line"
local progress = require "repl.lab.progress"
local terminal = require "pfm.util.terminal"
local tables = require "pfm.util.tables"

local lab_terminal = {}

local INTERRUPTED = 130
local COMES_BACK = "lpfm's prompt. check(value) checks an answer, hint() helps, Ctrl-D goes back."

local function say(lines)
   for _, text in ipairs(lines) do io.stdout:write(text, "\n") end
   io.stdout:flush()
end

-- Saves the session's progress; the first failure is reported, later ones are not.
local function keep(session)
   local ok, err = progress.keep(session)
   if not ok and not session.complained then
      session.complained = true
      say { "(Your progress is not kept: " .. tostring(err) .. ".)" }
   end
end

-- Runs the prompt with the session's names, which remain defined after it; the next page sets up
-- its own.
local function open_prompt(session)
   session.wants_prompt = false
   local given = session:globals(say)
   require("repl.prompt.loop").main { no_init = true, names = given,
      banner = COMES_BACK .. "\nNames: " .. table.concat(tables.keys(given), ", ") }
   require("labs.kit").finish()
   line.on {}
   say { "", ("Back in lab %s."):format(session.lab.name) }
   keep(session)
end

-- Reads and handles one line; returns true if it ended the session.
local function turn(session)
   local reply, why = line.read("lab> ")
   if not reply then
      if why == "interrupted" then return "interrupted" end
      reply = "quit"
      io.stdout:write("\n")
   end
   say(session:reply(reply))
   keep(session)
   if session.wants_prompt then open_prompt(session) end
   return session.over
end

--- Runs a session until it ends.
-- @tparam session session of `repl.lab.session`
-- @treturn number exit status
function lab_terminal.hold(session)
   keep(session)
   say(session:enter())
   repeat
      local over = turn(session)
      if over == "interrupted" then
         keep(session)
         return INTERRUPTED
      end
   until over
   return 0
end

--- The columns of the terminal.
-- @treturn int
function lab_terminal.width()
   return terminal.is_terminal() and (terminal.size()) or 80
end

return lab_terminal
