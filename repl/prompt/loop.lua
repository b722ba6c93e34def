-- SPDX-License-Identifier: MIT
--- The prompt's loop: reads, runs and prints.
-- @module repl.prompt.loop

local host = require "repl.host"
local line = require "repl.line"
local render = require "pfm.render"
local caret = require "repl.prompt.caret"
local chunk = require "repl.prompt.chunk"
local dot_commands = require "repl.prompt.dot_commands"
local environment = require "repl.environment"
local globals = require "repl.prompt.globals"
local show = require "repl.prompt.show"
local statement = require "repl.prompt.statement"
local terminal = require "pfm.util.terminal"
local tokens = require "repl.prompt.tokens"

local loop = {}

local HISTORY = 5000 -- entries kept in the history file
local INDENT = "   "
local colour = line.smart() and not os.getenv("NO_COLOR")
local jit = rawget(_G, "jit")
-- kept, as a statement may replace them
local loaded, find, try, calm, restore = package.loaded, string.find, host.try, host.calm, environment.restore

-- --- reading -------------------------------------------------------------------------------------

local function prompt_text(more)
   local text = more and "   >> " or "lpfm> "
   if not colour then return text end
   return "\1\27[1m\2" .. text .. "\1\27[0m\2"
end

-- If a statement is not complete, returns the new line that Enter inserts, indented unless lines
-- are pasted; if Enter ends the statement, returns nil. The second value is the text with its last
-- line outdented, or nil.
local function more(text, pasting)
   if text == "" or dot_commands.is(text) then return nil end
   local outdented = not pasting and tokens.outdented(text, INDENT) or nil
   local compiled, err = chunk.compile(text)
   if compiled or not chunk.incomplete(err) then return nil, outdented end
   local quote = tokens.open(text)
   if quote == "'" or quote == '"' then return nil end
   local deep = quote == "" and not pasting and tokens.depth(text) or 0
   return "\n" .. INDENT:rep(deep), outdented
end

-- Reads lines until a statement is complete. Returns it compiled and as text; or nil and "eof" or
-- "interrupted"; or nil, the compiler's message and the text of a wrong statement.
local function read_chunk()
   local text, why = line.read(prompt_text(false))
   if not text then return nil, why end
   while true do
      local compiled, err = statement.compile(text)
      if compiled then return compiled, text end
      if not chunk.incomplete(err) then return nil, caret.syntax(text, err), text end
      local next_line
      next_line, why = line.read(prompt_text(true))
      if not next_line then return nil, why == "eof" and caret.syntax(text, err) or why, text end
      text = text .. "\n" .. next_line
   end
end

-- --- running -------------------------------------------------------------------------------------

local function say(text)
   io.stdout:flush()
   local red, plain = colour and "\27[31m" or "", colour and "\27[0m" or ""
   io.stderr:write(red, text, plain, "\n")
end

-- Runs a compiled statement; returns "quit", true, or false after an error.
local function run(compiled, text)
   local outcome = statement.run(compiled, text)
   if outcome.quit then return "quit" end
   local ok, err = true, outcome.message
   if not err then ok, err = pcall(show.print, unpack(outcome.results, 1, outcome.results.n)) end
   if not ok and statement.message_of(err):find("interrupted$") then err = "interrupted" end
   if outcome.message or not ok then say(statement.message_of(err)) end
   return not outcome.failed
end

-- --- history -------------------------------------------------------------------------------------

local function directory(variable, default)
   local dir, home = os.getenv(variable), os.getenv("HOME")
   if dir and dir ~= "" then return dir end
   return home and home ~= "" and home .. default or nil
end

local function history_file()
   local dir = directory("XDG_STATE_HOME", "/")
   local state = os.getenv("XDG_STATE_HOME")
   return dir and dir:gsub("/$", "") .. (state and state ~= "" and "/lpfm_history" or "/.lpfm_history")
end

local function remember(text, file)
   if not text or text == "" then return end
   line.add(text)
   if file then line.save(file, HISTORY) end
end

-- --- the start-up file ---------------------------------------------------------------------------

-- Returns the path of the start-up file, or nil if there is none; and whether LPFM_INIT names it.
local function start_up_file()
   local named = os.getenv("LPFM_INIT")
   if named then return named ~= "" and named or nil, true end
   local dir = directory("XDG_CONFIG_HOME", "/.config")
   return dir and dir .. "/lpfm/init.lua", false
end

-- Runs the start-up file. Its errors are printed, and do not keep the prompt from starting.
local function run_start_up_file()
   local path, named = start_up_file()
   local file = path and io.open(path, "r")
   if not file and not (path and named) then return end
   if file then file:close() end
   local fn, err = loadfile(path)
   if fn then err = statement.call(fn) end
   if err then say(("start-up file %s: %s"):format(path, err)) end
end

-- --- the loop ------------------------------------------------------------------------------------

-- Prints the first lines. Without a machine the prompt starts, too: the user may choose a
-- simulated one.
local function banner()
   local machine, err = require("lpfm").machine()
   io.stdout:write(("lpfm, %s, %s. help() helps, Ctrl-D leaves.\n"):format(jit and jit.version or _VERSION,
      machine and ("%s (%s)"):format(render.machine(machine.name), machine.pmu) or "no machine"))
   if not machine then
      io.stdout:write((err:gsub("^machine: ", "")), "\n")
      return
   end
   local missing = require("pfm.measure.contexts").no_hardware()
   local width = missing and terminal.is_terminal() and terminal.size() or math.huge
   if missing then io.stdout:write(table.concat(render.wrap(missing, width), "\n"), "\n") end
end

-- Serves background jobs while a line is read.
local function idle()
   local background = loaded["repl.prompt.jobs"]
   if not background then return nil end
   return background.idle()
end

local function start(tty, options)
   globals.provide()
   for name, value in pairs(options.names or {}) do rawset(_G, name, value) end
   host.keep(true)
   line.on { more = more, idle = idle,
      words = function(...) return require("repl.prompt.complete").words(...) end,
      quote = function(...) return require("repl.prompt.complete").quote(...) end }
   if not tty then return nil end
   if options.banner then io.stdout:write(options.banner, "\n") else banner() end
   if not options.no_init then run_start_up_file() end
   local file = history_file()
   if file then line.load(file) end
   return file
end

-- Reads and runs one statement; returns an exit status if the prompt ends.
local function turn(file, state)
   local compiled, text, raw = read_chunk()
   if not compiled and text == "eof" then return state.failed and 1 or 0 end
   if file then remember(compiled and text or raw, file) end
   if compiled then
      local ok = run(compiled, text)
      if ok == "quit" then return 0 end
      state.failed = state.failed or not (ok or file or line.tty())
   elseif text ~= "interrupted" then
      say(text)
      state.failed = state.failed or not line.tty()
   end
end

local LOST = "the prompt needs what a statement has changed: Lua's libraries are as they were at the beginning (%s)"

-- Ends all jobs before the prompt ends.
local function leave(tty, status)
   if tty and status == 0 then io.stdout:write("\n") end
   local background = loaded["repl.prompt.jobs"]
   for _, what in ipairs(background and background.stop_all() or {}) do say(what .. ", ends with the prompt") end
   host.keep(false)
   return status
end

--- Runs the prompt.
-- @tparam[opt] table options `no_init`: skips the start-up file; `banner`, a text instead of the
-- usual first lines; `names`, values by name, which become global and hide the prompt's own
-- @treturn number exit status
function loop.main(options)
   local tty = line.tty()
   local file, state = start(tty, options or {}), {}
   local broken = false -- the last turn failed
   while true do
      local ok, status = try(turn, file, state)
      if not ok then
         -- Ctrl-C came between two statements, or a statement removed what the prompt needs
         local struck = calm() or find(tostring(status), "interrupted", 1, true)
         if broken and not struck then error(status, 0) end
         if not struck then restore() end
         say(struck and "interrupted" or LOST:format(tostring(status)))
         state.failed = state.failed or not (struck or line.tty())
      elseif status then
         return leave(tty, status)
      end
      broken = not ok
   end
end

return loop
