-- SPDX-License-Identifier: MIT
--- The texts of help, apart from how they are shown. `topics` are pages; `calls` describe functions and methods:
-- `usage`, `text`, and the fields of the tables that they take (`fields`, or `entries` for those in a list), which
-- completion offers, too. Methods are written CLASS:NAME.
-- @module repl.prompt.topics

local texts = { topics = {}, calls = {} }

local topics, calls = texts.topics, texts.calls

topics.help = [==[
This is Lua with perfmon at hand. Some things to try:

   stat("ls /")                           counts of a command
   stat("ls /", "page-faults:u")          of one event, at the user level
   record("gzip -k file"); report()       where a program spends its time
   list("fault")                          events and registers by name
   lpfm.machine()                         what this machine can do
   c = lpfm.create()                      a context, the interface itself: help("context")
   watch(c)                               its counters, live; q leaves
   j = job("make")                        counts in the background, while you type on: help("job")
   .save FILE                             all this as a script: help("commands")

An expression prints its value; Enter goes on where a statement is not complete, Up and Down move in it. Tab completes
names: of functions, fields, options, events inside strings, files. Ctrl-C stops what runs, Ctrl-D leaves.

help(x) explains a function, an object, an event, a register; ?x does the same: ?stat, ?ctx.read_pmds, ?cycles, ?PMC66.
Topics: stat, record, report, diff, list, watch, job, events, context, registers, sampling, formats, messages, u64,
modules, commands, start-up]==]

topics.stat = [==[
stat(command [, events [, groups]])   counts events while a shell command line runs; groups: metrics, "cpi,cache"
stat(function [, events])     while a Lua function runs, in this thread
stat{command={"ls", "-l"}, events="page-faults", threads=true}     the same, with all choices:
   command, tids={...} or cpus={...}; threads=true includes new threads and children; seconds=10
Events that do not fit together are counted in turn: .events[1].active is the share of the time, .value is scaled.
Returns a table: .events[1].value, .metrics, .elapsed, .rusage; printed, it reads like 'lpfm stat'.]==]

topics.record = [==[
record(command [, file])      samples a shell command line into a file (lpfm.data)
record{command={"./prog"}, events="cpu-clock", period=1000000, random={mask=0xffff}, output="prog.data"}
   period or frequency; with="page-faults" records counts in each sample; threads, tids, cpus as in stat]==]

topics.report = [==[
report([file [, keys]])       where the samples lie; keys: symbol, object, line, address, thread, comm, pid,
                              cpu, event, or several: "comm,symbol"
Returns a table: .rows[1].percent, .rows[1].cells; printed, it shows the first 20 rows.]==]

topics.diff = [==[
diff("old.data", "new.data" [, keys])   how two recordings differ, and whether that can be chance
diff("o1.data,o2.data,o3.data", "n1.data,n2.data,n3.data")   several runs of each, to compare with how they vary
Returns a table: .rows[1].percent (points), .old.percent, .ratio, .p; printed, it shows the first 20 rows.
pfm.analyze has more: phases, histograms of the values in samples, correlation, derived metrics.]==]

topics.list = [==[
list([pattern])               the events, generic names, metric groups, registers and formats of this machine
list("cache", "itanium2")     the events of another PMU model; list("pmus") names them]==]

topics.watch = [==[
watch(c)                      the counters of a context, their rates, how they went; updated in place
watch({a, b}, {interval=0.5}) of several; seconds=10 or count=20 end it; pmds={4, 5} are shown instead
watch(j)                      of a job in the background
q leaves, p holds the counters and lets them go on. In a pipe and on a dumb terminal lines are printed.
On the simulated computer, where time passes only when told, every refresh lets it run for step=0.01 s of its time.]==]

topics.job = [==[
j = job("make", "page-faults")    counts in the background while a shell command runs; you type on
j = job{command={"./prog"}, threads=true, events="task-clock"}      with all choices of stat{...}
j = job{command={"./prog"}, record="prog.data"}                     samples, as record does
s                             how it stands: its state and counts so far
j:pause()  j:resume()         hold the counters, let them go on; the command is not held
j:stop()                      ends the measurement; the command goes on
j:wait([seconds])             waits for the end
j:result()                    the counts as a table; j:output() what the command wrote
jobs()                        all of them; .pause N, .resume N, .stop N, .wait N do the same by number
A line above the prompt tells when one has ended. Counters count whatever the prompt does; new threads (threads=true)
and full sampling buffers are seen to while the prompt waits for you, in watch() and in j:wait().]==]

topics.commands = [==[
.save FILE                    a transcript as a Lua script: what was typed, and how contexts are programmed
.save FILE NAME...            the programming of these contexts alone
.load FILE [ARGUMENTS]        runs a script, such as a saved one, here; a thread that was monitored is an argument
.jobs  .pause N  .resume N  .stop N  .wait N          jobs in the background
.history [N]                  the last entries
.help [NAME]  ?NAME           help;  .quit leaves
A saved script runs by 'lpfm FILE', too, and says when a context is not programmed as it was.]==]

topics["start-up"] = [==[
$XDG_CONFIG_HOME/lpfm/init.lua (else ~/.config/lpfm/init.lua) is run when the prompt begins on a terminal; LPFM_INIT
names another file, or none if it is empty; 'lpfm --no-init' runs none. An error in it is told, and the prompt goes on.
LPFM_MACHINE chooses the machine; NO_COLOR switches colours off, and TERM=dumb all that moves the cursor.
The history is kept in $XDG_STATE_HOME/lpfm_history, else ~/.lpfm_history.]==]

topics.events = [==[
Events by name: task-clock, cpu-clock, page-faults, minor-faults, major-faults, context-switches, cpu-migrations,
alignment-faults, emulation-faults; :u, :k, :uk choose levels. rHEX is a raw event of the hardware.
events.parse("page-faults:u")   the registers that count it
Hardware events have the library's names (list("cache")), generic ones (cycles), or PAPI's (PAPI_BR_PRC).]==]

topics.context = [==[
c = lpfm.create{}                     a context (3.1.1); flags={"SYSTEM_WIDE"}, format="default", buf_size=...
c:write_pmcs{{num=66, value=9}}       program: PMC 66 is page-faults, 9 is user and kernel level
c:write_pmds{{num=66, value=0}}       preset the counter
c:load()                              bind it to this thread, or c:load(tid)
c:start()  c:stop()                   count
c:read_pmds{66}                       -> {{num=66, value=...}}
c:unload()  c:close()
Calls return nil, message, errno when they fail.]==]

topics.registers = [==[
lpfm.pmcs(), lpfm.pmds()      the registers of this machine; a PMD counts what its PMC says (field ctrl)
64-bit values are numbers as long as they are exact, read as two's complement: a period p is the value -p]==]

topics.sampling = [==[
c = lpfm.create{format="default", buf_size=65536}
c:write_pmcs{{num=65, value=9}}                                     cpu-clock
c:write_pmds{{num=65, value=-1000000, long_reset=-1000000, short_reset=-1000000, flags={"OVFL_NOTIFY"}}}
c:load(); c:start(); work(); c:stop()
for s in c:buffer():samples() do print(s.ip, s.tid) end
kept = c:buffer():copy()      stays after c:restart() and c:close()]==]

topics.formats = [==[
lpfm.register_format{name="hot", init=function(self) self.hits = {} end,
   handler=function(self, o) self.hits[o.ip] = (self.hits[o.ip] or 0) + 1 return "RESET" end,
   calls={hits=function(self) return self.hits end}}
c = lpfm.create{format="hot"}           then as in help("sampling"); handler is called at each overflow, with
                                        o.ip, o.tid, o.cpu, o.tstamp, o.ovfl_pmd, o.set, o.value, o.pmds[num]
c:ask("hits")                           calls a function of calls; c:format_error() says what went wrong
lpfm.register_format{name="few", base="default", handler=function(self, o) return self.buf:record() end}
                                        records into a buffer of the format default, which c:buffer() shows]==]

topics.messages = [==[
c:read([seconds])             -> {type="OVFL", ip=, tid=, pmds={...}} or {type="END"}; nil, "timeout"
c:messages([seconds])         iterates over them; c:restart() lets a masked context go on
c:on_message(fn)              fn(msg, c) is called when one comes, wherever the script is (SIGIO)
c:fd()                        the descriptor, for poll; require "pfm.loop" is a loop over many contexts]==]

topics.u64 = [==[
lpfm.u64(x)                   a 64-bit number that is always exact: + - * / %, comparison, :hex(), :tonumber()]==]

topics.modules = [==[
require "pfm.count"           measurements as functions: count.run{...}, count.call(fn, events)
require "pfm.profile"         sampling: profile.collect{...}; "pfm.bias": bias.test{...}, is a period in step?
require "pfm.cascade"         in stages: cascade.run{command={"./prog"}, stages="page-faults:1000 then cs"}
require "pfm.system"          CPUs, by core, socket, node: system.count{by="core", seconds=1}
require "pfm.ffi"             LuaJIT: contexts, vectors and buffers as typed pointers, at the speed of C
require "pfm.analyze"         profiles as tables: by symbol, time, ...; differences, phases, histograms, correlation
require "pfm.recording"         recordings (format: pfm/store.md); "pfm.recording.embedded_symbols": made self-contained
require "pfm.symbols"         addresses to functions; "pfm.render": tables, CSV, JSON
require "repl.prompt.jobs"      jobs in the background; "repl.prompt.journal": how contexts were programmed]==]

-- --- fields that several calls share -------------------------------------------------------------

local pmc_fields = {
   num = "the register's number", value = "what to write", set = "event set (0)",
   flags = "list of NO_EMUL64",
}

local pmd_fields = {
   num = "the register's number", value = "what to write; a period p is -p", set = "event set (0)",
   flags = "list of OVFL_NOTIFY (a message at overflow), RANDOM",
   long_reset = "value after an overflow and restart()", short_reset = "value after other overflows",
   reset_pmds = "list of PMDs reset when this one overflows", smpl_pmds = "list of PMDs recorded in each sample",
   random_mask = "bits of the period that are random", random_seed = "seed of the generator",
   switch_cnt = "overflows until the next set, for sets with OVFL_SWITCH", eventid = "a number handed to the format",
}

local target_fields = {
   command = "list: the program and its arguments", tids = "list of threads", cpus = "list of CPUs",
   threads = "true: include new threads and children", seconds = "measure so long at most",
}

local function with(fields, more)
   local out = {}
   for k, v in pairs(fields) do out[k] = v end
   for k, v in pairs(more) do out[k] = v end
   return out
end

-- --- the prompt ----------------------------------------------------------------------------------

calls.stat = { usage = "stat(command | function | {...} [, events [, groups]])", topic = "stat",
   text = "Counts events while a command or a function runs.",
   fields = with(target_fields, { events = "names, as in \"task-clock,page-faults:u\"",
      switch = "ms between event sets" }) }
calls.record = { usage = "record(command | {...} [, file])", topic = "record",
   text = "Samples a command into a file.",
   fields = with(target_fields, { events = "names (cpu-clock)", period = "events (clocks: ns) between samples",
      frequency = "samples a second (1000)", random = "{mask=, seed=}: randomized periods",
      with = "events recorded in each sample", output = "the file (lpfm.data)", buffer = "bytes" }) }
calls.report = { usage = "report([file [, keys]])", topic = "report", text = "Where the samples of a recording lie." }
calls.list = { usage = "list([pattern [, pmu]])", topic = "list", text = "Events, registers and formats by name." }
calls.help = { usage = "help([what])", topic = "help", text = "Explains a topic, a function, an object, an event." }
calls.show = { usage = "show(...)", text = "Prints values as the prompt does." }
calls.quit = { usage = "quit()", text = "Leaves the prompt." }
calls.watch = { usage = "watch(context | {contexts} | job [, options])", topic = "watch",
   text = "Shows counters live: rates, totals, a sparkline each.",
   fields = { interval = "s between refreshes (1)", seconds = "s until it ends", count = "refreshes until it ends",
      pmds = "numbers of PMDs to show", step = "s of simulated time a refresh (0.01)" } }
calls.job = { usage = "job(command | {...} [, events [, groups]]) -> job", topic = "job",
   text = "Counts, or samples, in the background.",
   fields = with(calls.stat.fields, { record = "a file: sample into it", period = "events between samples",
      frequency = "samples a second" }) }
calls.jobs = { usage = "jobs() -> list", topic = "job", text = "The jobs in the background." }

calls["job:pause"] = { usage = "j:pause()", text = "Holds the counters; the command goes on." }
calls["job:resume"] = { usage = "j:resume()", text = "Lets the counters count on." }
calls["job:stop"] = { usage = "j:stop() -> result", text = "Ends the measurement; the command goes on." }
calls["job:kill"] = { usage = "j:kill([signal]) -> j", text = "Sends the command a signal (TERM)." }
calls["job:wait"] = { usage = "j:wait([seconds]) -> result",
   text = "Waits for the end; nil, \"timeout\"." }
calls["job:result"] = { usage = "j:result() -> table", text = "The counts, so far or final." }
calls["job:output"] = { usage = "j:output() -> string", text = "What the command wrote." }
calls["job:state"] = { usage = "j:state() -> string",
   text = "counting, sampling, paused, ended or failed." }
calls["job:contexts"] = { usage = "j:contexts() -> list", text = "The contexts that count." }

-- --- lpfm ----------------------------------------------------------------------------------------

calls["lpfm.create"] = { usage = "lpfm.create([options]) -> context", topic = "context",
   text = "Makes a context (3.1.1).",
   fields = { flags = "list of SYSTEM_WIDE, ANY_CPU, NOTIFY_BLOCK, OVFL_NO_MSG, ...",
      format = "a sampling format, by name or UUID", buf_size = "bytes of its buffer (65536)",
      buf_flags = "list of NO_HDR, IIP_HDR, MASK_WHEN_FULL", regions = "of the format n-way (2)",
      format_arg = "bytes, for a format unknown here" } }
calls["lpfm.machine"] = { usage = "lpfm.machine([name [, options]]) -> table", topic = "machines",
   text = "The machine that contexts are made on; with a name (perf, linux, sim, sim:MODEL), chooses it first.",
   returns = { name = "perf, linux, sim:MODEL", pmu = "its PMU", notes = "what it lacks, and why",
      limits = "where it departs from the specification", hw_counters = "number of hardware counters" },
   fields = { cpus = "sim: number of CPUs (1)", hz = "sim: ticks a second (1000)",
      slice_ms = "sim: ms of a time slice (10)",
      slice_ns = "sim: ns of a time slice", timer_ns = "sim: ns a tick costs", skid = "sim: instructions of skid (0)",
      page_size = "sim: bytes (4096)", memlock = "sim: bytes that may be locked" } }
calls["lpfm.config"] = { usage = "lpfm.config([changes]) -> table",
   text = "The configuration of perfmon (3.1.16, 3.1.17).",
   fields = { sys_gid = "group that may use system-wide contexts, -1: all", thread_gid = "the same for threads",
      arg_size_max = "bytes of a vector at most", smpl_buf_size_max = "bytes of all buffers at most",
      ovfl_rate_max = "overflows a second at most, 0: no limit", flags = "further flags" } }
calls["lpfm.pmcs"] = { usage = "lpfm.pmcs([list]) -> list | vector",
   topic = "registers", entries = pmc_fields,
   text = "The PMCs of this machine (3.1.13); with a list, a prepared vector." }
calls["lpfm.pmds"] = { usage = "lpfm.pmds([list]) -> list | vector",
   topic = "registers", entries = pmd_fields,
   text = "The PMDs of this machine (3.1.14); with a list, a prepared vector." }
calls["lpfm.formats"] = { usage = "lpfm.formats() -> list", topic = "sampling",
   text = "The sampling formats (3.5.2)." }
calls["lpfm.poll"] = { usage = "lpfm.poll(list [, seconds]) -> list", topic = "messages",
   text = "Waits until one of several contexts has a message; nil, \"timeout\"." }
calls["lpfm.u64"] = { usage = "lpfm.u64(x) -> u64", topic = "u64",
   text = "A 64-bit number that is always exact." }
calls["lpfm.event"] = { usage = "lpfm.event(name [, pmu]) -> table", topic = "events",
   text = "What the name of an event means: description, unit masks, counters." }
calls["lpfm.events"] = { usage = "lpfm.events([pattern [, options]]) -> list", topic = "events",
   text = "Names of events.",
   fields = { pmu = "another model", masks = "true: also NAME:MASK",
      generic = "true: also generic names and presets" } }
calls["lpfm.pmus"] = { usage = "lpfm.pmus() -> list", topic = "events",
   text = "The PMU models whose events are known." }
local dispatch_fields = { events = "list of names, or of {name=, plm=}", plm = "levels: u, k, uk",
   unavail = "numbers of PMCs not to use", pmu = "another model", system_wide = "boolean", itanium2 = "of Itanium 2" }

calls["lpfm.dispatch_events"] = { usage = "lpfm.dispatch_events{events=, plm=} -> table", topic = "events",
   text = "Names of events to values of PMCs, and the counters that can hold them.",
   fields = dispatch_fields }
calls["lpfm.split_events"] = { usage = "lpfm.split_events{events=, plm=} -> table", topic = "events",
   text = "Divides events among as few sets as they fit in.", fields = dispatch_fields }
calls["lpfm.event_conflict"] = { usage = "lpfm.event_conflict{events=} -> list, why", topic = "events",
   text = "The events that cannot be counted together, and why.", fields = dispatch_fields }
calls["lpfm.addable_events"] = { usage = "lpfm.addable_events{events=} -> list", topic = "events",
   text = "The events that fit beside these.", fields = dispatch_fields }
calls["lpfm.suggest_event"] = { usage = "lpfm.suggest_event(name [, pmu]) -> name", topic = "events",
   text = "The known name nearest to a misspelt one." }
calls["lpfm.const"] = { usage = "lpfm.const.PFM_...", text = "The interface's constants by their C names." }
calls["lpfm.flags"] = { usage = "lpfm.flags.context.SYSTEM_WIDE",
   text = "Flags by topic: context, pmc, pmd, set, ..." }
calls["lpfm.errno"] = { usage = "lpfm.errno.EBUSY",
   text = "The numbers of errors, third result of calls that fail." }

-- --- contexts ------------------------------------------------------------------------------------

calls["context:write_pmcs"] = { usage = "c:write_pmcs{ {num=, value=}, ... }",
   topic = "context", entries = pmc_fields,
   text = "Writes control registers: what to count (3.1.2)." }
calls["context:write_pmds"] = { usage = "c:write_pmds{ {num=, value=}, ... }",
   topic = "context", entries = pmd_fields,
   text = "Writes data registers: where counting begins, periods, what is sampled (3.1.3)." }
calls["context:read_pmds"] = { usage = "c:read_pmds{num, ...} -> list | values", topic = "context",
   text = "Reads data registers: {num=, set=, value=, last_reset=, switch_cnt=} of each; of a prepared vector the bare "
      .. "values (3.1.4).",
   entries = { num = "the register's number", set = "event set (0)", flags = "READ_RESET" } }
calls["context:read_values"] = { usage = "c:read_values{num, ...} -> list", topic = "context",
   text = "The bare values as a list." }
calls["context:read_into"] = { usage = "c:read_into(vector)", topic = "context",
   text = "Reads into a vector of lpfm.pmds: the cheapest read." }
calls["context:load"] = { usage = "c:load([tid [, set]])", topic = "context",
   text = "Binds the context to a thread, by default this one; a system-wide one to this CPU (3.1.7)." }
calls["context:unload"] = { usage = "c:unload()", topic = "context",
   text = "Takes it from its thread (3.1.8)." }
calls["context:start"] = { usage = "c:start([set])", topic = "context", text = "Starts monitoring (3.1.5)." }
calls["context:stop"] = { usage = "c:stop()", topic = "context", text = "Stops monitoring (3.1.6)." }
calls["context:restart"] = { usage = "c:restart()", topic = "messages",
   text = "Goes on after an overflow message: registers reset, buffer emptied (3.1.9)." }
calls["context:create_evtsets"] = { usage = "c:create_evtsets{ {id=, ...}, ... } -> timeouts",
   topic = "context",
   text = "Makes event sets, or changes them (3.1.10).",
   entries = { id = "number of the set", flags = "list of OVFL_SWITCH, TIME_SWITCH, EXPL_NEXT, EXCL_IDLE",
      timeout = "ns until the next set, with TIME_SWITCH", id_next = "the next set, with EXPL_NEXT" } }
calls["context:delete_evtsets"] = { usage = "c:delete_evtsets{id, ...}", topic = "context",
   text = "Deletes sets (3.1.11)." }
calls["context:getinfo_evtsets"] = { usage = "c:getinfo_evtsets{id, ...} -> list", topic = "context",
   text = "What is known of sets: runs, active time, flags, registers left (3.1.12)." }
calls["context:read"] = { usage = "c:read([seconds]) -> message", topic = "messages",
   text = "The next message; nil, \"timeout\"." }
calls["context:messages"] = { usage = "c:messages([seconds])", topic = "messages",
   text = "Iterates over messages." }
calls["context:buffer"] = { usage = "c:buffer() -> buffer", topic = "sampling",
   text = "A view of the sampling buffer." }
calls["context:fd"] = { usage = "c:fd() -> number", topic = "messages",
   text = "The descriptor, for poll(2)." }
calls["context:close"] = { usage = "c:close()", topic = "context", text = "Ends it, and all it holds." }
calls["context:closed"] = { usage = "c:closed() -> boolean", topic = "context", text = "Is it closed?" }

calls["buffer:samples"] = { usage = "for s in b:samples([filter]) do ... end", topic = "sampling",
   text = "Iterates over samples: s.ip, s.tid, s.pid, s.cpu, s.tstamp, s.set, s[pmd]." }
calls["buffer:fields"] = { usage = "for ip, tid in b:fields(\"ip\", \"tid\") do ... end", topic = "sampling",
   text = "Iterates over fields of samples: the fast form." }
calls["buffer:sample"] = { usage = "b:sample(i) -> cursor", topic = "sampling", text = "Sample number i." }
calls["buffer:count_by"] = { usage = "b:count_by(\"ip\" [, \"tid\"]) -> table", topic = "sampling",
   text = "How many samples have each value of a field, or of two." }
calls["buffer:header"] = { usage = "b:header() -> table", topic = "sampling",
   text = "count, overflows, size, ... (3.6.3)." }
calls["buffer:snapshot"] = { usage = "b:snapshot() -> string", topic = "sampling",
   text = "A copy of its bytes." }

for name, text in pairs { band = "and", bor = "or", bxor = "exclusive or", bnot = "not", lshift = "shift left",
   rshift = "shift right" } do
   calls["u64:" .. name] = { usage = ("u:%s(%s)"):format(name, name == "bnot" and "" or "x"), topic = "u64",
      text = "Bitwise " .. text .. "." }
end
calls["u64:compare"] = { usage = "u:compare(x) -> -1, 0, 1", topic = "u64", text = "Compares, as unsigned." }
calls["u64:hex"] = { usage = "u:hex() -> string", topic = "u64", text = "In hexadecimal, as calls take it." }
calls["u64:signed"] = { usage = "u:signed() -> string", topic = "u64", text = "Read as two's complement." }
calls["u64:tonumber"] = { usage = "u:tonumber() -> number", topic = "u64",
   text = "As a number; raises if not exact." }

calls["vector:get"] = { usage = "v:get(i [, field])", text = "A field of element i, by default its value." }
calls["vector:set"] = { usage = "v:set(i, field, value)", text = "Changes a field of element i." }
calls["vector:values"] = { usage = "v:values() -> values", text = "All values." }

-- --- the simulated computer ----------------------------------------------------------------------

calls["machine:spawn"] = { usage = "m:spawn{program={...}} -> tid", topic = "sim",
   text = "A new thread, ready to run.",
   fields = { program = "list of steps: {ip=, ns=, events={...}}, {loop=n, ...}, {sleep=ns}, ...", name = "its name",
      cpu = "the CPU it runs on", affinity = "list of CPUs", uid = "its user (1000)", gid = "its group (1000)",
      process = "pid to join", kernel = "true: a kernel thread" } }
calls["machine:run"] = { usage = "m:run{ms=... | until_exit=tid | ...}", topic = "sim",
   text = "Lets time pass.",
   fields = { s = "seconds", ms = "milliseconds", us = "microseconds", ns = "nanoseconds",
      until_message = "a context", until_exit = "a thread", until_idle = "true: until nobody runs" } }
calls["machine:interrupt"] = { usage = "m:interrupt{program=, period=}", topic = "sim",
   text = "A device that interrupts.",
   fields = { cpu = "which CPU (0)", start = "ns, the first", period = "ns between them", program = "list of sites" } }
calls["machine:kill"] = { usage = "m:kill(tid)", topic = "sim", text = "Ends a thread." }
calls["machine:threads"] = { usage = "m:threads() -> list", topic = "sim",
   text = "All threads there are and were." }
calls["machine:act"] = { usage = "m:act([tid])", topic = "sim",
   text = "Calls are made on behalf of this thread." }
calls["machine:share"] = { usage = "m:share(tid, context, access)", topic = "sim",
   text = "Gives a process a context." }
calls["machine:time"] = { usage = "m:time() -> ns", topic = "sim", text = "The simulated time." }
calls["machine:set"] = { usage = "m:set(option, value)", topic = "sim",
   text = "Changes skid, memlock, debugger, tool_cpu." }
calls["machine:events"] = { usage = "m:events() -> list", topic = "sim",
   text = "Events that sites can cause." }
calls["machine:encode"] = { usage = "m:encode(event, pmd [, levels]) -> value", topic = "sim",
   text = "The PMC value that makes a counter count an event." }
calls["machine:truth"] = { usage = "m:truth(tid | {cpu=} | {idle=}) -> table", topic = "sim",
   text = "What really happened." }

topics.machines = [==[
lpfm.machine()                the machine, its PMU, what it lacks (notes), where it departs from the norm (limits)
lpfm.machine "perf"           this computer, by perf_event_open; "linux": perfmon.ko
m = lpfm.machine("sim:itanium2", {cpus=2})      a simulated computer: itanium2, k8, p6, armv8; help("sim")]==]

topics.sim = [==[
m = lpfm.machine "sim:itanium2"                                   a small deterministic computer
tid = m:spawn{program={ {loop=1000, {ip=0x1000, ns=10, events={l2_misses=1}}} }}
c = lpfm.create(); c:write_pmcs{{num=4, value=m:encode("l2_misses", 4)}}; c:write_pmds{{num=4, value=0}}
c:load(tid); c:start()
m:run{until_exit=tid}         time passes only here: ms=10, until_message=c, until_idle=true
c:read_pmds{4}                exactly what happened: m:truth(tid)]==]

return texts
