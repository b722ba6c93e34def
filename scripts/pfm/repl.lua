-- SPDX-License-Identifier: MIT
--- The prompt.
-- @module pfm.repl

local host = require "pfm.host"
local line = require "pfm.line"
local show = require "pfm.show"

local repl = {}

local HISTORY = 5000 -- entries kept
local colour = line.smart() and not os.getenv("NO_COLOR")
local jit = rawget(_G, "jit")

-- --- names ---------------------------------------------------------------------------------------

-- pfm.NAME loads the module at first use.
local function lazy_modules()
   return setmetatable({}, {
      __index = function(self, name)
         local module = require("pfm." .. name)
         rawset(self, name, module)
         return module
      end,
   })
end

local quitting = {}

local function provide_names()
   for _, name in ipairs { "stat", "record", "cascade", "bias", "report", "annotate", "diff", "export", "plot", "list",
      "help" } do
      rawset(_G, name, function(...) return require("pfm." .. name).call(...) end)
   end
   rawset(_G, "events", require "pfm.events")
   rawset(_G, "pfm", lazy_modules())
   rawset(_G, "quit", function() error(quitting, 0) end)
end

-- --- reading -------------------------------------------------------------------------------------

local function prompt_text(more)
   local text = more and "   >> " or "lpfm> "
   if not colour then return text end
   return "\1\27[1m\2" .. text .. "\1\27[0m\2"
end

local function incomplete(err)
   return err:find("<eof>'?$") ~= nil
end

-- "a = 1; a + 1": statements, and behind the last semicolon an expression.
local function compile_last(text)
   local before, last = text:match("^(.*;)([^;]*%S[^;]*)$")
   return before and loadstring(before .. " return " .. last, "=stdin")
end

-- Compiles what may be an expression or statements; nil and the error otherwise.
local function compile(text)
   local expression = text:match("^%s*=(.*)$") or text
   local chunk, err = loadstring("return " .. expression, "=stdin")
   if chunk or expression ~= text then return chunk, err end
   chunk, err = loadstring(text, "=stdin")
   return compile_last(text) or chunk, err
end

-- Reads lines until they are complete: the chunk and its text; nil and an error, "eof" or "interrupted".
local function read_chunk()
   local text, why = line.read(prompt_text(false))
   if not text then return nil, why end
   while true do
      local chunk, err = compile(text)
      if chunk then return chunk, text end
      if not incomplete(err) then return nil, err, text end
      local more
      more, why = line.read(prompt_text(true))
      if not more then return nil, why == "eof" and err or why, text end
      text = text .. "\n" .. more
   end
end

-- --- running -------------------------------------------------------------------------------------

local function say(text)
   io.stdout:flush()
   local red, plain = colour and "\27[31m" or "", colour and "\27[0m" or ""
   io.stderr:write(red, text, plain, "\n")
end

local function print_results(n, results)
   if n == 0 then return end
   if n > 1 and results[1] == nil and type(results[2]) == "string" then -- how calls fail
      say(results[2])
      return
   end
   local parts = {}
   for i = 1, n do parts[i] = show.text(results[i]) end
   io.stdout:write(table.concat(parts, "\t"), "\n")
end

-- A text without a position is a mistake of the user, and says all there is to say.
local function traceback(err)
   if type(err) == "string" then err = err:gsub("^[^\n]-pfm/repl%.lua:%d+: ", "") end -- called from here
   if type(err) ~= "string" or not err:find("^[^\n]-:%d+: ") then return err end
   if err:find(": interrupted$") then return "interrupted" end
   local trace = debug.traceback(err, 2)
   local cut = trace:find("\n[^\n]*in function 'xpcall'") or #trace + 1
   trace = trace:sub(1, cut - 1):gsub("\n[^\n]*repl%.lua:%d+: in function <[^\n]*$", "")
   trace = trace:gsub("\n[^\n]*%[builtin[^\n]*", ""):gsub("\n[^\n]*in function 'error'", "")
   trace = trace:gsub("\n[^\n]*stdin:%d+: in [^\n]*$", "")
   local _, frames = trace:gsub("\n", "")
   return frames > 1 and trace or err
end

local function message_of(err)
   if type(err) == "table" and err.message then return tostring(err.message) end
   if type(err) == "string" then return err end
   return "(error value: " .. tostring(err) .. ")"
end

-- Compiled code runs no hooks, and Ctrl-C is one: what is typed stays interpreted.
local function keep_interruptible(chunk)
   if jit then jit.off(chunk, true) end
   return chunk
end

local function pack(...)
   return select("#", ...), { ... }
end

-- Runs a chunk; returns "quit", true, or false after an error.
local function run(chunk)
   keep_interruptible(chunk)
   local n, results
   local function call() n, results = pack(chunk()) end -- Ctrl-C in a last call, of C, strikes in pack
   local done, err = xpcall(call, traceback)
   local struck = host.calm()
   if done then
      local ok
      ok, err = pcall(print_results, n, results)
      if not ok then say(message_of(err)) end
      return true
   end
   if err == quitting then return "quit" end
   say(struck and "interrupted" or message_of(err))
   return false
end

-- --- history -------------------------------------------------------------------------------------

local function history_file()
   local state, home = os.getenv("XDG_STATE_HOME"), os.getenv("HOME")
   if state and state ~= "" then return state .. "/lpfm_history" end
   return home and home ~= "" and home .. "/.lpfm_history" or nil
end

local function remember(text, file)
   if not text or text == "" then return end
   line.add(text)
   if file then line.save(file, HISTORY) end
end

-- --- the loop ------------------------------------------------------------------------------------

local function banner()
   local machine, err = require("lpfm").machine()
   if not machine then error(err, 0) end
   io.stdout:write(("lpfm, %s, machine %s (%s). help() helps, Ctrl-D leaves.\n"):format(
      jit and jit.version or _VERSION, machine.name, machine.pmu))
   local missing = require("pfm.setup").no_hardware()
   if missing then io.stdout:write(missing, "\n") end
end

local function start(tty)
   provide_names()
   host.keep(true)
   if not tty then return nil end
   banner()
   line.complete(require("pfm.complete").words)
   local file = history_file()
   if file then line.load(file) end
   return file
end

-- One turn; returns an exit status when it was the last.
local function turn(file, state)
   local chunk, text, raw = read_chunk()
   if not chunk and text == "eof" then return state.failed and 1 or 0 end
   if file then remember(chunk and text or raw, file) end
   if chunk then
      local ok = run(chunk)
      if ok == "quit" then return 0 end
      state.failed = state.failed or not (ok or file or line.tty())
   elseif text ~= "interrupted" then
      say(text)
      state.failed = state.failed or not line.tty()
   end
end

--- Runs the prompt.
-- @treturn number exit status
function repl.main()
   local tty = line.tty()
   local file, state = start(tty), {}
   while true do
      local ok, status = pcall(turn, file, state)
      if not ok then -- Ctrl-C between a chunk's end and the next line
         if not host.calm() and not tostring(status):find("interrupted", 1, true) then error(status, 0) end
         say("interrupted")
      elseif status then
         if tty and status == 0 then io.stdout:write("\n") end
         host.keep(false)
         return status
      end
   end
end

return repl
