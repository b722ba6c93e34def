-- SPDX-License-Identifier: MIT
--- The table of the commands.
-- @module repl.command.rows

local parts = require "repl.parts"

local commands = {}

--- The commands: a row and the module `repl.command.NAME` make a command. The module has
-- `options()`, `main(argv)` and, if the prompt has the command as a function, `call(...)`. Help,
-- the manual page, the prompt and completion are made from the rows and the options.
--    name, summary
--    words      kinds of the words on its command line (`repl.command.kinds`); from "command" on,
--               the rest of the line is another program's; if nil, the command takes no words
--    call       kinds of the arguments of the function at the prompt; if nil, there is no function
--    offline    if true, no machine is opened before `main`, which opens one where it needs it
--    module     the command's module, if it is not `repl.command.NAME`
commands.rows = {
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

-- The command completion stays the last one.
for _, row in ipairs(parts.commands()) do table.insert(commands.rows, #commands.rows, row) end

--- The names of all commands.
commands.names = {}
for i, row in ipairs(commands.rows) do
   commands.names[i], commands.rows[row.name] = row.name, row
   row.words = row.words or {}
end

--- Returns the module of a command.
-- @string name
-- @treturn table `options`, `main`, perhaps `call`
function commands.module(name)
   return require(commands.rows[name].module or "repl.command." .. name)
end

--- The environment variables, with the text of the manual on each.
commands.environment = {
   { "LPFM_MACHINE=perf|linux|sim[:MODEL[,live]]", "where to measure (default: linux or perf)" },
   { "LPFM_ANY_CPU=1", "let programs monitor a CPU from any other, as with PFM_FL_ANY_CPU" },
   { "LPFM_SCRIPTS, LPFM_CPATH", "the directories of the Lua library and of lpfm.so" },
   { "LPFM_PARTS", "of the parts that are installed, those to use, separated by blanks (default: all)" },
   { "LPFM_DEBUG_PATH=DIR[:DIR]", "more places to look for debug files" },
   { "DEBUGINFOD_URLS", "servers to ask for debug files (through libdebuginfod1)" },
   { "LPFM_SHARED=DIR", "where processes see each other's contexts, instead of /dev/shm and /run (machine perf)" },
   { "LPFM_TRACEFS, LPFM_EVENT_SOURCES", "folders instead of tracefs and /sys/bus/event_source/devices" },
   { "LPFM_JITMAP=1", "write the names of LuaJIT's traces to /tmp/perf-PID.map, for record" },
   { "LPFM_INIT", "the prompt's start-up file, empty for none (default: lpfm/init.lua in ~/.config)" },
   { "PAGER", "what shows long output of the prompt (default: less)" },
   { "NO_COLOR", "print no colours" },
}

--- Command lines for beginners.
commands.examples = {
   "lpfm stat -- ls -l",
   "lpfm record -- ./prog && lpfm report",
   "lpfm -e 'print(lpfm.machine().pmu)'",
}

return commands
