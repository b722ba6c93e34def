-- SPDX-License-Identifier: MIT
--- Help pages that belong to no single function: `?NAME` shows them at the prompt, `lpfm help NAME`
-- in a shell, and `make doc` makes HTML of them. Lines that begin with spaces stay as they are;
-- other lines are paragraphs, filled to the terminal's width. A test runs each block of indented
-- lines that begins with `local` or `assert`, as Lua.
-- @module repl.prompt.topics

local parts = require "repl.parts"

local topics = {}

local pages, titles, names = {}, {}, {}

--- Pages by name, titles by name, and the names in the order in which they are listed.
topics.pages, topics.titles, topics.names = pages, titles, names

local function add(name, title, text)
   names[#names + 1], titles[name], pages[name] = name, title, text
end

local function add_all(list)
   for _, row in ipairs(list) do add(unpack(row)) end
end

add_all(require "repl.prompt.topics.measuring")
add_all(parts.topics())
add_all(require "repl.prompt.topics.scripting")
add_all(require "repl.prompt.topics.machines")
add_all {
   { "help", "the prompt: things to try" }, { "stat", "stat() at the prompt" }, { "record", "record() at the prompt" },
   { "report", "report() at the prompt" }, { "diff", "diff() at the prompt" }, { "list", "list() at the prompt" },
   { "watch", "show counters live at the prompt" }, { "job", "count in the background at the prompt" },
   { "commands", "commands of the prompt: save and load what was typed" },
   { "start-up", "what the prompt reads when it starts" }, { "modules", "the modules of the Lua library" },
   { "topics", "this list" },
}

--- The page that tells more about a function, or about the methods of a class.
topics.about = {
   ["lpfm.create"] = "context", ["context:"] = "context", ["buffer:"] = "sampling", ["sample:"] = "sampling",
   ["context:read"] = "messages", ["context:messages"] = "messages", ["context:on_message"] = "messages",
   ["context:restart"] = "messages", ["context:fd"] = "messages", ["lpfm.poll"] = "messages",
   ["context:buffer"] = "sampling", ["lpfm.formats"] = "formats", ["lpfm.register_format"] = "formats",
   ["context:ask"] = "formats", ["context:format_error"] = "formats", ["lpfm.pmcs"] = "registers",
   ["lpfm.pmds"] = "registers", ["vector:"] = "registers", ["lpfm.u64"] = "u64", ["u64:"] = "u64",
   ["lpfm.machine"] = "machines", ["machine:"] = "sim", ["job:"] = "job", jobs = "job",
   ["lpfm.event"] = "events", ["lpfm.events"] = "events", ["lpfm.pmus"] = "events",
   ["context:verdicts"] = "where", ["lpfm.dispatch_events"] = "events", ["lpfm.split_events"] = "events",
}

-- --- the prompt ----------------------------------------------------------------------------------

pages.help = [==[
This is Lua with perfmon at hand. Some things to try:

   stat("ls /")                           count events while a command runs
   stat("ls /", "page-faults:u")          one event, at the user level
   record("gzip -k file"); report()       where a program spends its time
   list("fault")                          events and registers by name
   lpfm.machine()                         what this machine can do
   c = lpfm.create()                      a context, the interface itself: ?context
   watch(c)                               its counters, live; q leaves
   j = job("make")                        count in the background while you type: ?job
   .save FILE                             all this as a script: ?commands

An expression prints its value. Enter continues an unfinished statement; Up and Down move in it. Tab completes
names: of functions, fields, options, events inside strings, files. Errors mark the offending column. Ctrl-C stops
what runs, Ctrl-D leaves.

?x or help(x) explains a function, an object, an event, a register: ?stat, ?ctx.read_pmds, ?cycles, ?PMC66.

?topics lists what else is explained. Of the prompt: stat, record, report, diff, list, watch, job, modules, commands,
start-up. spec/tasks.md is twenty-two measurements, keystroke by keystroke.]==]

pages.stat = [==[
   stat(command [, events [, groups]])   count events while a shell command line runs; groups: metrics, "cpi,cache"
   stat(function [, events])             while a Lua function runs, in this thread
   stat{command={"ls", "-l"}, events="page-faults", threads=true}
                                         the same, with all choices: help(stat)

Events that do not fit together take turns: .events[1].active is the share of the time an event was counted, and its
.value is scaled.

Returns a table: .events[1].value, .metrics, .elapsed, .rusage. Printed, it reads like 'lpfm stat'.]==]

pages.record = [==[
   record(command [, file])      sample a shell command line into a file (lpfm.data)
   record{command={"./prog"}, events="cpu-clock", period=1000000, output="prog.data"}
                                 the same, with all choices: help(record)
   record{command={"./prog"}, frequency=997, random={mask=0xffff}, with="page-faults"}
                                 randomized periods; each sample records a count

Returns a table: .samples, .lost, .elapsed. report() shows the recording.]==]

pages.report = [==[
   report([file [, keys]])       where the samples are; keys: symbol, object, line, address, thread, comm, pid, cpu,
                                 event, or several: "comm,symbol"
   report{"r0.data", "r1.data"}  many recordings as one; merge puts them into a file. Keys also: rank, host, node, job,
                                 step, recording

Returns a table: .rows[1].percent, .rows[1].cells. Printed, it shows the first 20 rows.]==]

pages.diff = [==[
   diff("old.data", "new.data" [, keys])
                                 how two recordings differ, and whether that can be chance
   diff("o1.data,o2.data,o3.data", "n1.data,n2.data,n3.data")
                                 several runs of each, compared with how much runs vary

Returns a table: .rows[1].percent (points), .old.percent, .ratio, .p. Printed, it shows the first 20 rows.
pfm.analyze has more: phases, histograms of the values in samples, correlation, derived metrics.]==]

pages.list = [==[
   list([pattern])               the events, generic names, metric groups, registers and formats of this machine
   list("cache", "itanium2")     the events of another PMU model; list("pmus") names them]==]

pages.watch = [==[
   watch(c)                      the counters of a context, their rates and their history, updated in place
   watch({a, b}, {interval=0.5}) of several contexts; seconds=10 or count=20 end it; pmds={4, 5} chooses registers
   watch(j)                      of a job in the background

q leaves; p holds the counters and lets them count again. In a pipe and on a dumb terminal lines are printed. On the
simulated computer, where time passes only when told, each refresh lets step=0.01 s of its time pass.]==]

pages.job = [==[
   j = job("make", "page-faults")        count in the background while a shell command runs; you type on
   j = job{command={"./prog"}, threads=true, events="task-clock"}
                                         with all choices of stat{...}
   j = job{command={"./prog"}, record="prog.data"}
                                         sample, as record does
   j                             its state and its counts so far
   j:pause()  j:resume()         hold the counters, let them count again; the command keeps running
   j:stop()                      end the measurement; the command keeps running
   j:wait([seconds])             wait for the end
   j:result()                    the counts as a table; j:output() what the command wrote
   jobs()                        all of them; .pause N, .resume N, .stop N, .wait N do the same by number

A line above the prompt says when a job has ended. Counters count whatever the prompt does; new threads
(threads=true) and full sampling buffers are handled while the prompt waits for you, in watch() and in j:wait().]==]

pages.commands = [==[
   .save FILE                    write what was typed, and how contexts are programmed, as a Lua script
   .save FILE NAME...            only the programming of these contexts
   .load FILE [ARGUMENTS]        run a script, such as a saved one, here; a thread that was monitored is an argument
   .jobs  .pause N  .resume N  .stop N  .wait N
                                 jobs in the background
   .history [N]                  the last entries
   .help [NAME]  ?NAME           help
   .quit                         leave

'lpfm FILE' runs a saved script, too; it says so when a context is not programmed as it was.]==]

pages["start-up"] = [==[
When the prompt starts on a terminal it runs $XDG_CONFIG_HOME/lpfm/init.lua (else ~/.config/lpfm/init.lua).
LPFM_INIT names another file, or none if it is empty; 'lpfm --no-init' runs none. After an error in the file the
prompt starts all the same.

LPFM_MACHINE chooses the machine. NO_COLOR switches colours off, and TERM=dumb everything that moves the cursor.

The history is kept in $XDG_STATE_HOME/lpfm_history, else ~/.lpfm_history.]==]

-- --- the library ---------------------------------------------------------------------------------

pages.modules = [==[
   require "pfm.count"           counting: count.run{...}, count.call(fn, events)
   require "pfm.profile"         sampling: profile.collect{...}; "pfm.bias": is a period in step with a loop?
   require "pfm.cascade"         in stages: cascade.run{command={"./prog"}, stages="page-faults:1000 then cs"}
   require "pfm.program"         filters and histograms that run at the overflow; "pfm.histogram": of commands: ?where
   require "pfm.system"          CPUs, by core, socket, node: system.count{by="core", seconds=1}
   require "pfm.recording"       files of samples; "pfm.record" writes them, "pfm.jobs.merge" puts many into one
   require "pfm.analyze"         profiles as tables: by symbol, time, ...; differences, phases, histograms, correlation
   require "pfm.symbols"         addresses to functions; "pfm.render": tables, CSV, JSON
   require "pfm.ffi"             LuaJIT: contexts, vectors and buffers as typed pointers, at the speed of C

At the prompt pfm.NAME loads a module at its first use. lpfm.help() lists all of them.]==]

local list = {}
for i, name in ipairs(names) do list[i] = ("   %-13s %s"):format(name, titles[name]) end
pages.topics = "At the prompt ?NAME, in a shell 'lpfm help NAME' (which prints the options if NAME is a command):\n\n"
   .. table.concat(list, "\n")

return topics
