-- SPDX-License-Identifier: MIT
--- The pages of help that belong to no single function: what there is at the prompt, ways to use it. Lines that begin
-- with spaces stay as they are; the others are paragraphs, filled to the width of the terminal.
-- @module repl.prompt.topics

local topics = {}

local pages = {}

--- Pages by name.
topics.pages = pages

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
names: of functions, fields, options, events inside strings, files. Ctrl-C stops what runs, Ctrl-D leaves.

?x or help(x) explains a function, an object, an event, a register: ?stat, ?ctx.read_pmds, ?cycles, ?PMC66.

Topics: stat, record, report, diff, list, watch, job, events, context, registers, sampling, formats, messages,
machines, sim, u64, modules, commands, start-up]==]

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

-- --- the interface -------------------------------------------------------------------------------

pages.events = [==[
Events by name: those of the kernel's software, such as task-clock and page-faults, come first in list(); :u, :k, :uk
choose levels. rHEX is a raw event of the hardware. Hardware events have libpfm4's names (list("cache")), generic ones
(cycles), or PAPI's (PAPI_BR_PRC). On the machine perf there are tracepoints, too (sched:sched_switch;
list("sched:*")), and events of the PMUs in sysfs (power/energy-pkg/).

In a list, {a,b} is a group: its events are always counted together, in one event set. Wildcards: page-*, sched:*.
A filter of tracepoints: stat("ls", { { "sched:*", filter = "prev_prio < 100" } })

   events.parse("page-faults:u")         the registers that count it
   lpfm.event("cycles")                  what a name means
   lpfm.dispatch_events{events={"cycles", "page-faults"}}
                                         values of PMCs, and the counters that can hold the events]==]

pages.context = [==[
   c = lpfm.create{}                     a context; flags={"SYSTEM_WIDE"}, format="default", buf_size=...
   c:write_pmcs{ {num=66, value=9} }     program: PMC 66 is page-faults, 9 is user and kernel level
   c:write_pmds{ {num=66, value=0} }     preset the counter
   assert(c:load())                      bind it to this thread, or c:load(tid)
   assert(c:start())                     count; c:stop() ends it
   c:read_pmds{66}                       -> {{num=66, value=...}}
   c:unload()  c:close()

Calls return nil, message, errno when they fail. help(c) lists all methods.]==]

pages.registers = [==[
   lpfm.pmcs(), lpfm.pmds()      the registers of this machine; a PMD counts what its PMC says (field ctrl)

64-bit values are numbers as long as they are exact, read as two's complement: a period p is the value -p.]==]

pages.sampling = [==[
   c = lpfm.create{format="default", buf_size=65536}
   c:write_pmcs{ {num=65, value=9} }     PMC 65 is cpu-clock
   c:write_pmds{ {num=65, value=-1000000, long_reset=-1000000, short_reset=-1000000, flags={"OVFL_NOTIFY"}} }
   assert(c:load()); assert(c:start()); work(); c:stop()
   for s in c:buffer():samples() do print(("%#x"):format(s.ip), s.tid) end
   kept = c:buffer():copy()              stays after c:restart() and c:close()]==]

pages.formats = [==[
A sampling format decides what happens at an overflow. lpfm.formats() lists those there are; one can be written in
Lua:

   lpfm.register_format{name="hot", init=function(self) self.hits = {} end,
      handler=function(self, o) self.hits[o.ip] = (self.hits[o.ip] or 0) + 1 return "RESET" end,
      calls={hits=function(self) return self.hits end}}
   c = lpfm.create{format="hot"}
   c:ask("hits")                         call a query function of calls
   c:format_error()                      what went wrong

The handler is called at each overflow, with o.ip, o.tid, o.cpu, o.tstamp, o.ovfl_pmd, o.set, o.value, o.pmds[num].
With base="default", self.buf:record() in the handler keeps a sample in the buffer that c:buffer() shows.]==]

pages.messages = [==[
   c:read([seconds])             -> {type="OVFL", ip=, tid=, pmds={...}} or {type="END"}; nil, "timeout"
   c:messages([seconds])         iterate over them; c:restart() resumes a context that is masked
   c:on_message(fn)              call fn(msg, c) for each, wherever the script is (SIGIO)
   c:fd()                        the descriptor, for poll; require "pfm.loop" is a loop over many contexts]==]

pages.u64 = [==[
   lpfm.u64(x)                   a 64-bit number that is always exact: + - * / %, comparison, :hex(), :tonumber()]==]

pages.machines = [==[
   lpfm.machine()                the machine, its PMU, what it lacks (notes), where it departs from the
                                 specification (limits)
   lpfm.machine "perf"           this computer, by perf_event_open; "linux": by perfmon.ko
   m = lpfm.machine("sim:itanium2", {cpus=2})
                                 a simulated computer: itanium2, k8, p6, armv8, core2, nehalem, fam10h,
                                 montecito, itanium, pentium_m, netburst, em64t, power5, mips20k, mips5k; ?sim]==]

pages.sim = [==[
   m = lpfm.machine "sim:itanium2"       a small deterministic computer
   tid = m:spawn{program={ {loop=1000, {ip=0x1000, ns=10, events={l2_misses=1}}} }}
   c = lpfm.create()
   c:write_pmcs(m:encode_pmcs("l2_misses", 4)); c:write_pmds{ {num=4, value=0} }
   assert(c:load(tid)); assert(c:start())
   m:run{until_exit=tid}                 time passes only here: ms=10, until_message=c, until_idle=true
   c:read_pmds{4}                        exactly what happened: m:truth(tid)

Sites that say what they access count what comes of it in the model's caches, TLBs and branch predictor:

   m = lpfm.machine("sim:k8", {explain=1, l1d="32768:8:64"})
   tid = m:spawn{program={ {loop=1000, {ip=0x1000, load={0x100000, 64}}, {ip=0x1004, taken="back"}} }}
   m:run{until_exit=tid}
   m:caches().L1D.load_misses            geometry and counts of each cache
   m:sites()                             addresses of sites, the one that misses most first
   m:explain(0x1000).load_misses         why: compulsory, capacity, conflict, coherence

lpfm trace -- ./prog records a real program; {trace="lpfm.trace"} in a program replays it.
lpfm.help(m.spawn) has all.]==]

pages.where = [==[
   record("./prog", {where = "ip in 'kernel'"}); report()       samples of the kernel alone
   histogram("./prog", "log2(pmd.page_faults)")                  how many page faults there are between two ticks
   histogram("./prog", {bucket = "time / 1000000 % 100", event = "page-faults", where = "pid ~= 1"})

An expression about an overflow becomes a small program that runs at the overflow: where perfmon.ko is, in the
interrupt. What it drops, or counts in a bucket, is never copied.

   ip pid tid cpu time set counter period      of the overflow; time is in ns
   pmd.page_faults pmd5                        the value of a PMD that is sampled, by event or number
   == ~= < <= > >= and or not                  cpu == 1 and not tid in {7, 10..19}
   + - * / % & | ^ ~ << >>                     numbers have 64 bits, without a sign
   log2(x) min(a, b) max(a, b)
   ip in 'libc', ip in 'kernel'                is the address in that object? With -p PID, or {tids = {...}}

In contexts of your own:

   p = pfm.where("pmd.5 > 100 and ip < 0x2000")
   c = lpfm.create(p:create{smpl_pmds = {5}, buf_size = 65536})  then c:buffer() as usual; c:verdicts()
   p = pfm.bucket("log2(pmd5)", {where = "cpu == 0"})
   c = lpfm.create(p:create{smpl_pmds = {5}})                    c:verdicts().buckets]==]

pages.modules = [==[
   require "pfm.count"           counting: count.run{...}, count.call(fn, events)
   require "pfm.profile"         sampling: profile.collect{...}; "pfm.bias": is a period in step with a loop?
   require "pfm.cascade"         in stages: cascade.run{command={"./prog"}, stages="page-faults:1000 then cs"}
   require "pfm.where"           filters that run at the overflow; "pfm.bucket", "pfm.histogram": histograms: ?where
   require "pfm.system"          CPUs, by core, socket, node: system.count{by="core", seconds=1}
   require "pfm.recording"       files of samples; "pfm.record" writes them
   require "pfm.merge"           many recordings in one file
   require "pfm.analyze"         profiles as tables: by symbol, time, ...; differences, phases, histograms, correlation
   require "pfm.symbols"         addresses to functions; "pfm.render": tables, CSV, JSON
   require "pfm.ffi"             LuaJIT: contexts, vectors and buffers as typed pointers, at the speed of C

At the prompt pfm.NAME loads a module at its first use. lpfm.help() lists all of them.]==]

return topics
