-- SPDX-License-Identifier: MIT
--- Help by task, first part: what the commands measure, and how to use their results.
-- `repl.prompt.topics` explains the form.
-- @module repl.prompt.topics.measuring

return {
{ "counting", "count what programs, processes and CPUs do", [==[
   lpfm stat -- make                     counts of a command, as perf stat prints them
   lpfm stat -e page-faults,cs -p 1234   of a running process; -t of a thread; -a of all CPUs
   lpfm stat -i -- ./server              of its first thread alone, without threads and children
   lpfm stat --per-command -- make       added up by command, process or thread
   lpfm stat -e '{page-faults,cs},page-*' -- make
                                         {a,b} is always counted together; wildcards
   lpfm stat -e sched:sched_switch --filter 'prev_prio < 100' -- make
                                         tracepoints: list 'sched:*' names them
   lpfm stat -a -e power/energy-pkg/ --timeout 1
                                         PMUs that sysfs describes: joules, memory traffic
   lpfm stat -a -G system.slice --timeout 1
                                         the tasks of a cgroup alone
   lpfm stat -a --per-core --timeout 1   CPUs, added up by core, socket or node
   lpfm stat -M list                     groups of events with formulas: -M cpi,branch
   lpfm perfex -- make                   counts of the first thread, and apart those of its children
   lpfm list                             the events and registers of this machine
   lpfm list --pmu itanium2 cache        the events of any known PMU, present or not

Commands and processes are measured whole: with all threads, and with the command's children. -i takes the first thread
alone. A context of perfmon2 monitors one thread; with PFM_FL_INHERIT, an addition of lpfm, it monitors all that the
thread creates, too: its counts are sums, and its samples are those of all, with their process and thread. stat, record,
top and histogram use it, so that nothing is traced and the program does not notice. The stages of a cascade and random
periods are each thread's own. Where the machine cannot give them to children, the result says which share of the time
those had.

See also: regions, stages, ranks, events, machines.]==] },

{ "profiling", "find out where a program spends its time", [==[
   lpfm record -e cpu-clock -c 1000000 -- ./prog
                                         take a sample each millisecond of CPU time
   lpfm record -F 997 --random 0xffff -- ./prog
                                         randomized periods, which are never in step with a loop
   lpfm record -g -- ./prog              with call stacks: ?stacks
   lpfm record -e cs/period=100/,cpu-clock/freq=99/ -- ./prog
                                         a period or a frequency for each event
   lpfm record --off-cpu -- ./prog       where threads wait, and for how long, beside where they run
   lpfm record --max-size 100M -- ./prog end the recording when its file has grown to that
   lpfm record -a --switch-output=1m --switch-max-files=10
                                         a file a minute, the latest ten; --switch-output: one at each SIGUSR2
   lpfm record --where "ip in 'kernel'" -- ./prog
                                         keep only what meets a condition: ?where
   lpfm report                           by symbol; -s object,thread,line for others; ? lists its keys
   lpfm report -g callee                 the tree of calls, from what was sampled outwards; -g caller
   lpfm report --phases                  what the program did when; --histogram, --correlate, --derive
   lpfm report --html prof.html          a page for a browser: ?exporting
   lpfm diff old.data new.data           what has changed, and whether that can be chance
   lpfm annotate parse                   source lines and instructions of a function, with their shares
   lpfm histogram 'log2(pmd.page_faults)' -- ./prog
                                         count overflows by a value, where they happen
   lpfm bias -- ./prog                   is the sampling period in step with a loop?
   lpfm top                              live, all CPUs; -p PID or a command
   lpfm script -E 'for s in samples() do print(s.time, s.symbol) end'
                                         run Lua over every sample
   lpfm trace -o ls.trace -- ls -l       record memory accesses, to replay them on simulated caches: ?sim

A recording is one file with everything that its reports need, readable on any machine. The file
scripts/pfm/recording/format.md describes it. The recording that it replaces is kept as lpfm.data.old. What was recorded
survives the recorder. If the recorder ends, so does the command, unless --outlive says otherwise. What perf record
wrote is read, too: lpfm report perf.data.

lpfm plot heat -s thread draws shares over time and distributions in the terminal; -o draws SVG and PNG.

The folder scripts/examples has fourteen short scripts; spec/tasks.md has twenty-two measurements, keystroke by
keystroke.]==] },

{ "stacks", "see which functions called what was sampled", [==[
   lpfm record -g -- ./prog              frame pointers or DWARF, as it suits the program
   lpfm record -g fp -- ./prog           frame pointers;  -g dwarf  unwinds copies of the stack
   lpfm report                           two shares for each function: its own, and with all it called
   lpfm report -g callee                 the tree of calls, from what was sampled outwards; -g caller
   record("./prog", {g = true}); report{g = "callee"}
                                         the same at the prompt

Flame graphs, speedscope and pprof get whole stacks. Without -g the stacks of a flame graph are process, thread, object,
function, and the functions that were inlined there.

Stacks come by frame pointers where the program and its libraries have them (gcc -fno-omit-frame-pointer) and it starts
no other programs. What called a function without a frame pointer comes from the registers, the top 256 bytes of the
stack, and call frame information. Otherwise 8 KiB of the stack are copied with each sample and unwound. -g fp, -g dwarf
and --call-graph dwarf,SIZE choose. A stack ends where its callers cannot be found any more; reports say how many stacks
do, and why.

Names are those of the source in C++ and Rust. Code that a JIT compiler made has the names that /tmp/perf-PID.map gives
it, or the names and lines that it had at the time of the sample, from the jit-PID.dump which the process maps. A map
does not say when code replaced other code: there, "NAME (or earlier code)" is the last of several names.

In scripts require("pfm.stacks").tree(recording) is the tree of calls, and the sampling format "stack" records stacks:
?sampling.]==] },

{ "exporting", "give a recording to a browser, another tool or a database", [==[
   lpfm report --html prof.html          a page for a browser: one file, which loads nothing
   lpfm export -o out.svg                a flame graph; the extension chooses the format
   lpfm export -o prof.pb.gz             pprof; also speedscope, Firefox Profiler, SQLite, CSV, JSON, folded stacks
   lpfm script --format perf             what perf script prints, for tools that read that
   lpfm export --to postgresql://host/profiles *.data
                                         a database: ?databases
   lpfm plot ranks job.data              a picture in the terminal; -o draws SVG and PNG

The script scripts/examples/flamegraph.lua draws where a command spends its time: lpfm
scripts/examples/flamegraph.lua out.svg COMMAND. Without a command it draws the simulated computer at work.

The page begins with the flame graph. A click zooms; "from the leaves" inverts the graph, so that what ran is at its
root and its callers lie on it; "callers and callees" takes one function apart. Recursion is folded until "fold
recursion" is switched off. A stretch of the time line, or a thread, selects what all parts of the page show.]==] },

{ "stages", "measure in stages, each after the n-th event of the one before", [==[
   lpfm cascade page-faults:1000 then cs:10 then cpu-clock -- ./prog
                                         after 1000 page faults count context switches, ...
   lpfm record --from page-faults:1000 -- ./prog
                                         sample from the 1000th page fault on
   lpfm cascade --help                   has all forms of a stage

Event sets switch while the program runs: the kernel or the simulated computer does it at the overflow, not the tool.

Stages are each thread's own. In scripts: require("pfm.cascade").run{command = {"./prog"}, stages = "page-faults:1000
then cs"}; at the prompt: cascade("./prog", "page-faults:1000 then task-clock").]==] },

{ "regions", "measure regions that a program marks", [==[
   lpfm stat --regions -M cpi -- ./prog  the regions of each thread: calls, counts, metrics, balance

In C and C++ perfmon/regions.h (pkg-config pfmregions) marks them:

   PFM_REGION_START("solve");
   solve();
   PFM_REGION_STOP("solve");        /* C++: pfm::region guard("solve"); exceptions end it, too */

Each thread measures its own regions. The report has calls, counts, metrics, and how evenly the threads share them. A
start and a stop take 142 instructions on arm64 with two hardware counters. In a program that runs without lpfm each is
a test of one variable. The header says what becomes of marks that do not fit together, of threads that end in a region,
and of fork(); the report tells of each.

In Lua the function require("pfm.region") marks a region: region("sort", table.sort, list). lpfm stat --regions measures
it in the same way, or the script itself does: scripts/examples/regions.lua.]==] },

{ "labs", "learn performance measurement on the simulated computer", [==[
   lpfm lab                              the labs, and your progress
   lpfm lab counters                     the first one
   lpfm lab bias --machine perf          the second part of a lab: real programs on this computer
   make vm LAB=bias                      the same in an emulated machine with perfmon.ko

The labs have questions, predictions and tasks, from what a count means to caches, sampling formats, waiting,
statistics, programs in C that are to be made faster, and top-down analysis. They run on the simulated computer, which
runs only when told and counts exactly. Nine of the eighteen have a second part. The labs print the figures of the
perfmon2 specification: scripts/labs/README.md has the table, and says how to write one.]==] },
}
