-- SPDX-License-Identifier: MIT
--- The lpfm program: runs a command, a script or the prompt.
-- @module repl.command

local render = require "pfm.render"
local nearest = require "pfm.util.nearest"
local parts = require "repl.parts"
local write_all = require "pfm.util.write_all"
local slice = require "pfm.util.slice"

local command = {}

--- The commands: a row and the module `repl.command.NAME` make a command. The module has
-- `options()`, `main(argv)` and, if the prompt has the command as a function, `call(...)`. Help,
-- the manual page, the prompt and completion are made from the rows and the options.
--    name, summary
--    words      kinds of the words on its command line (`repl.command.kinds`); from "command" on,
--               the rest of the line is another program's; if nil, the command takes no words
--    call       kinds of the arguments of the prompt's function; if nil, the prompt has none
--    offline    the command needs no machine, or not always: then its `main` asks for one
--    module     the command's module, if it is not `repl.command.NAME`
command.rows = {
   { name = "stat", summary = "count events while a command runs",
      words = { "command" }, offline = true, call = { "command", "event", "group" } },
   { name = "perfex", summary = "count a command with virtual counters, and apart its children",
      words = { "command" }, call = { "command", "event" } },
   { name = "record", summary = "sample a command into a file",
      words = { "command" }, call = { "command", "file" } },
   { name = "histogram", summary = "count overflows by the value of an expression, where they happen",
      words = { "expression", "command" }, call = { "command", "expression" } },
   { name = "cascade", summary = "count or sample in stages, each after the n-th event of the one before",
      words = { "stages", "command" }, call = { "command", "stages" } },
   { name = "bias", summary = "test whether a sampling period is in step with the program",
      words = { "command" }, call = { "command" } },
   { name = "report", summary = "show where the samples of a recording lie",
      words = { "file" }, offline = true, call = { "file", "key" } },
   { name = "top", summary = "show live where time is spent",
      words = { "command" } },
   { name = "diff", summary = "compare two recordings, or several of each kind",
      words = { "file" }, offline = true, call = { "file", "file", "key" } },
   { name = "annotate", summary = "show source lines and instructions of a function with their samples",
      words = { "function" }, offline = true, call = { "function", "file" } },
   { name = "plot", summary = "plot a recording: shares, rates over time, distributions",
      words = { "figure", "file" }, offline = true, call = { "figure", "file" } },
   { name = "script", summary = "print every sample of a recording, or run a Lua script over them",
      words = { "file" }, offline = true },
   { name = "export", summary = "convert a recording to a page, a flame graph, pprof, CSV; load many into a database",
      words = { "format", "file" }, offline = true, call = { "file", "file" } },
   { name = "trace", summary = "record the memory accesses of a command, to replay them on simulated caches",
      words = { "command" }, offline = true },
   { name = "list", summary = "list the events, metrics and registers of this machine, or the events of any PMU",
      words = { "section", "event" }, offline = true, call = { "event", "pmu" } },
   { name = "lab", summary = "a course: labs that teach performance measurement, on the simulated computer",
      words = { "lab" }, offline = true, call = { "lab" } },
   { name = "completion", summary = "print a script that completes lpfm's command lines in a shell",
      words = { "shell" }, offline = true },
}

for _, row in ipairs(parts.commands()) do table.insert(command.rows, #command.rows, row) end -- completion is last

--- The names of all commands.
command.names = {}
for i, row in ipairs(command.rows) do
   command.names[i], command.rows[row.name] = row.name, row
   row.words = row.words or {}
end

--- The module of a command.
-- @string name
-- @treturn table `options`, `main`, perhaps `call`
function command.module(name)
   return require(command.rows[name].module or "repl.command." .. name)
end

local commands = command.names
local USAGE, FAILURE, INTERRUPTED = 2, 1, 130

--- The environment variables, with the text of the manual on each.
command.environment = {
   { "LPFM_MACHINE=perf|linux|sim[:MODEL[,live]]", "where to measure (default: linux or perf)" },
   { "LPFM_ANY_CPU=1", "let programs monitor a CPU from any other, as with PFM_FL_ANY_CPU" },
   { "LPFM_SCRIPTS, LPFM_CPATH", "the directories of the Lua library and of lpfm.so" },
   { "LPFM_DEBUG_PATH=DIR[:DIR]", "more places to look for debug files" },
   { "LPFM_JITMAP=1", "write the names of LuaJIT's traces to /tmp/perf-PID.map, for record" },
   { "LPFM_INIT", "the prompt's start-up file, empty for none (default: lpfm/init.lua in ~/.config)" },
   { "NO_COLOR", "print no colours" },
}

--- Command lines for beginners.
command.examples = {
   "lpfm stat -- ls -l",
   "lpfm record -- ./prog && lpfm report",
   "lpfm -e 'print(lpfm.machine().pmu)'",
}

local function is_command(name)
   return name == "help" or command.rows[name] ~= nil
end

local function usage_text()
   local lines = {
      "Usage: lpfm [--no-init]           start the prompt; --no-init: without the start-up file",
      "       lpfm FILE [arguments]      run a script; - is stdin",
      "       lpfm -e CODE [arguments]   run Lua code",
      "       lpfm COMMAND [options]     run a command; 'lpfm COMMAND --help' says how",
      "",
      "Commands:",
   }
   for _, row in ipairs(command.rows) do
      lines[#lines + 1] = ("   %-11s %s"):format(row.name, row.summary)
   end
   lines[#lines + 1] = ("   %-11s %s"):format("help", "print this text, a command's or a topic's; 'lpfm help topics'")
   lines[#lines + 1] = "\nEnvironment:"
   for _, line in ipairs(render.align({ {}, {} }, command.environment, "   ")) do lines[#lines + 1] = line end
   lines[#lines + 1] = "\nExamples:"
   for _, example in ipairs(command.examples) do lines[#lines + 1] = "   " .. example end
   return table.concat(lines, "\n") .. "\n"
end

local function help(argv)
   local name = argv[1]
   if not name or name == "--help" or name == "-h" then
      io.stdout:write(usage_text())
      return 0
   end
   local topics = require "repl.prompt.topics"
   if command.rows[name] then
      io.stdout:write(command.module(name).options():help())
   elseif parts.missing(name) then
      error({ message = ("%s: %s"):format(name, parts.missing(name)), usage = true }, 0)
   elseif topics.pages[name] then
      require("repl.prompt.help").call(name)
   else
      local known = slice(commands)
      for _, topic in ipairs(topics.names) do known[#known + 1] = topic end
      local hint = nearest.hint(name, known)
      if hint == "" then hint = "; 'lpfm help topics' lists the topics" end
      error({ message = ("no command and no topic is called '%s'%s"):format(name, hint), usage = true }, 0)
   end
   return 0
end

local function version()
   local lpfm = require "lpfm"
   local interpreter = rawget(_G, "jit") and rawget(_G, "jit").version or _VERSION
   local machine, err = lpfm.machine()
   io.stdout:write(("lpfm %s, %s, %s\n"):format((tostring(lpfm._VERSION):gsub("^lpfm%s*", "")), interpreter,
      machine and render.machine(machine.name) or (err:gsub("^machine", "no machine"))))
   return 0
end

-- --- scripts -------------------------------------------------------------------------------------

-- Former names of modules. Scripts that older versions saved at the prompt require them.
local former = { ["pfm.prompt"] = "repl.prompt.globals", ["pfm.saved"] = "repl.prompt.transcript" }

-- Defines the names that scripts and the prompt use without a require.
local function preload()
   require "pfm.former"
   for name, now in pairs(former) do package.preload[name] = function() return require(now) end end
   local lpfm = require "lpfm"
   rawset(_G, "lpfm", lpfm)
   if os.getenv("LPFM_JITMAP") then require("pfm.jitmap").start() end
end

local MOST = 7000 -- a limit of the values that a function can be called with

local function set_arguments(name, argv, from)
   if #argv - from > MOST then error(("%s: a script takes at most %d arguments"):format(name, MOST), 0) end
   local arguments = { [0] = name, [-1] = "lpfm" }
   for i = from, #argv do arguments[#arguments + 1] = argv[i] end
   rawset(_G, "arg", arguments)
   return unpack(arguments)
end

local function traceback(err)
   if type(err) == "table" then return err end
   return debug.traceback(tostring(err), 2)
end

-- Removes the program's own frames from a traceback: they say nothing about the script.
local function shorten(trace)
   local cut = trace:find("\n[^\n]*%[C%]: in function 'xpcall'")
   return cut and trace:sub(1, cut - 1) or trace
end

local function status_of(result)
   if type(result) == "number" then return result end
   return result == false and FAILURE or 0
end

--- Runs a chunk as a script.
-- @tparam function chunk
-- @string name for `arg[0]`
-- @tparam table argv
-- @number from the index in argv at which the script's arguments begin
-- @treturn number exit status
function command.run(chunk, name, argv, from)
   preload()
   local args = { set_arguments(name, argv, from) }
   local ok, result = xpcall(function() return chunk(unpack(args)) end, traceback)
   if ok then return status_of(result) end
   if type(result) == "table" then error(result, 0) end
   error({ message = shorten(result), status = result:find("^[^\n]*interrupted\n") and INTERRUPTED or FAILURE }, 0)
end

local function run_code(argv)
   if not argv[2] then error({ message = "-e: expected Lua code", usage = true }, 0) end
   local chunk, err = loadstring(argv[2], "=-e")
   if not chunk then error(err, 0) end
   return command.run(chunk, "-e", argv, 3)
end

local function run_stdin(argv)
   local chunk, err = loadfile()
   if not chunk then error(err, 0) end
   return command.run(chunk, "-", argv, 2)
end

-- Returns true if the path is that of a file, and false if there is none or it is a directory;
-- raises an error if it cannot be opened.
local function is_file(path)
   local file, err, code = io.open(path, "r")
   if not file and code ~= require("lpfm").errno.ENOENT then error("cannot open " .. err, 0) end
   if not file then return false end
   local ok = file:read(0) ~= nil or file:seek("end") == 0
   file:close()
   return ok
end

local function run_file(argv)
   local path = argv[1]
   if not is_file(path) then
      local missing = parts.missing(path)
      if missing then error({ message = ("%s: %s"):format(path, missing), usage = true }, 0) end
      local hint = nearest.hint(path, commands)
      if hint == "" then hint = "; 'lpfm --help' lists the commands" end
      error({ message = ("no command and no script is called '%s'%s"):format(path, hint), usage = true }, 0)
   end
   local chunk, err = loadfile(path)
   if not chunk then error(err, 0) end
   return command.run(chunk, path, argv, 2)
end

local function prompt(argv)
   preload()
   return require("repl.prompt.loop").main { no_init = argv[1] == "--no-init" }
end

-- --- dispatch ------------------------------------------------------------------------------------

local flags = {
   ["-h"] = "--help", ["--help"] = help, ["-v"] = "--version", ["-V"] = "--version", ["--version"] = version,
   ["-e"] = run_code, ["-"] = run_stdin, ["--no-init"] = prompt,
}

local function run_flag(argv)
   local action = flags[argv[1]]
   if type(action) == "string" then action = flags[action] end
   if not action then
      local known = { "--help", "--version", "-e", "--no-init" }
      error({ message = ("unknown option '%s'%s"):format(argv[1], nearest.hint(argv[1], known)), usage = true }, 0)
   end
   if action == help then return help {} end
   return action(argv)
end

local function run_command(name, argv)
   if not command.rows[name].offline and argv[1] ~= "--help" then require("pfm.measure.host").machine() end
   return command.module(name).main(argv)
end

local function dispatch(argv)
   local first = argv[1]
   if not first then return prompt {} end
   if first:sub(1, 1) == "-" then return run_flag(argv) end
   if first == "help" then return help(slice(argv, 2)) end
   if is_command(first) then return run_command(first, slice(argv, 2)) end
   return run_file(argv)
end

local function complain(argv, err)
   io.stdout:flush()
   local where = is_command(argv[1]) and "lpfm " .. argv[1] or "lpfm"
   if type(err) ~= "table" then err = { message = tostring(err) } end
   local message = tostring(err.message or "an error that is no text")
   io.stderr:write(where, ": ", render.clean(message), "\n")
   if err.usage and is_command(argv[1]) and argv[1] ~= "help" then
      io.stderr:write(("'%s --help' says how.\n"):format(where))
   end
   return err.status or (err.usage and USAGE or FAILURE)
end

local function guard(err)
   if type(err) == "string" and err:find("%f[%a]interrupted$") then
      return { message = "interrupted", status = INTERRUPTED }
   end
   return require("repl.command.options").is_own_mistake(err) and debug.traceback(err, 2) or err
end

-- Returns the status if all output was written; otherwise reports the failure and returns a status
-- other than 0.
local function close_output(status)
   local flushed, err = write_all(io.stdout)
   if flushed and not require("repl.host").output_lost() then return status end
   io.stderr:write("lpfm: cannot write the output: ", err or "an earlier part of it was lost", "\n")
   return status ~= 0 and status or FAILURE
end

--- Runs the program.
-- @tparam {string,...} argv the command line
-- @treturn number exit status
function command.main(argv)
   local ok, status = xpcall(function() return dispatch(argv) end, guard)
   if ok then return close_output(status) end
   if type(status) == "table" and status.help then
      io.stdout:write(status.help)
      return close_output(0)
   end
   return complain(argv, status)
end

return command
