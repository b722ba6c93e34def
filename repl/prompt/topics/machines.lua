-- SPDX-License-Identifier: MIT
--- Help by task, third part: machines, and what can be measured. `repl.prompt.topics` explains the
-- form.
-- @module repl.prompt.topics.machines

return {
{ "machines", "the machines: this computer, perfmon.ko, the simulated computer", [==[
   perf                  this computer, by perf_event_open(2): no root, no module. Counters: the hardware's where
                         there are any, and always those of the kernel's software
   linux                 perfmon inside the kernel, where perfmon.ko is loaded: overflows, set switches and sampling
                         happen in the interrupt. Counters: the hardware's, tried on emulated processors of Arm, Intel
                         and AMD, and the software's
   sim, sim:MODEL        a small deterministic computer, for teaching and exact tests. Counters: the model's, and the
                         software's
   sim:MODEL,live        the same, following real threads: any program runs, with real time, page faults and switches,
                         and with made-up hardware events at fixed rates

LPFM_MACHINE, or lpfm.machine(NAME), chooses. Without either, this computer is measured, by linux if it is there, else
by perf. Where it cannot be measured (a container without perf_event_open, a strict perf_event_paranoid), every command
says why and what would help, and exits with 1; a simulated machine never stands in. It is used by its name, and all
that is printed of it names it in the first line; events that it does not simulate are refused.

   lpfm.machine()                the machine, its PMU, what it lacks (notes), where it departs from the
                                 specification (limits)
   lpfm.machines()               the models: Itanium, Itanium 2, Montecito, P6 and Pentium M, Pentium 4 with and
                                 without EM64T, Core 2, Nehalem, K8, family 10h, POWER5, MIPS 20Kc and 5Kc, ARMv8
   m = lpfm.machine("sim:itanium2", {cpus=2})
                                 a simulated computer: itanium2, k8, p6, armv8, core2, nehalem, fam10h,
                                 montecito, itanium, pentium_m, netburst, em64t, power5, mips20k, mips5k; ?sim]==] },

{ "kernel", "perfmon.ko, the kernel module", [==[
   make module                   build perfmon.ko for the running kernel (6.1 or later), and modules for the sampling
                                 formats and the PMU's description
   make module-install           install them; make dkms: the same by DKMS, for each kernel that comes
   modprobe perfmon              then the others load on demand, and can be removed while they are not in use
   insmod perfmon.ko             without installing: this one first, then those that are needed
   make vm                       an emulated arm64 machine with perfmon.ko, on any laptop

Root and the group perfmon have access to /dev/perfmon. /sys/kernel/perfmon shows what is loaded. The file
kernel/linux/README.md says who may do what, what is charged to whom, and how modules are signed.

A format of your own includes kernel/linux/perfmon_module.h, as spec/vm/format does; make module-of DIR=... builds
it.]==] },

{ "sim", "the simulated computer: programs, caches, precise samples", [==[
   m = lpfm.machine "sim:itanium2"       a small deterministic computer
   tid = m:spawn{program={ {loop=1000, {ip=0x1000, ns=10, events={l2_misses=1}}} }}
   c = lpfm.create()
   c:write_pmcs(m:encode_pmcs("l2_misses", 4)); c:write_pmds{ {num=4, value=0} }
   assert(c:load(tid)); assert(c:start())
   m:run{until_exit=tid}                 time passes only here: ms=10, until_message=c, until_idle=true
   c:read_pmds{4}                        exactly what happened: m:truth(tid)

The same with instructions, in a script:

   local m = lpfm.machine("sim:itanium2", { cpus = 2 })
   local tid = m:spawn{ program = { {loop = 1000, {ip = 0x1000, ns = 10}, {ip = 0x1010, ns = 5}} } }
   local ctx = assert(lpfm.create())
   assert(ctx:write_pmcs{ {num = 4, value = m:encode("instructions", 4)} })
   assert(ctx:write_pmds{ {num = 4, value = 0} })
   assert(ctx:load(tid) and ctx:start())
   m:run{ until_exit = tid }
   print(ctx:read_pmds{4}[1].value)                      -- 2000
   ctx:close()

Sites that say what they load, store and branch to run on the model's caches, TLBs and branch predictor, coherent
between CPUs (MESI), and count what comes of it: {ip = 0x1000, load = {0x100000, 64}} in a loop walks with a stride of
64 bytes. random=, chase=, taken= and the operations of a Lua function (ops=) make others. {trace = "ls.trace"} replays
a real program that lpfm trace recorded.

   m = lpfm.machine("sim:k8", {explain=1, l1d="32768:8:64"})
   tid = m:spawn{program={ {loop=1000, {ip=0x1000, load={0x100000, 64}}, {ip=0x1004, taken="back"}} }}
   m:run{until_exit=tid}
   m:caches().L1D.load_misses            geometry and counts of each cache
   m:sites()                             addresses of sites, the one that misses most first
   m:explain(0x1000).load_misses         why: compulsory, capacity, conflict, coherence

What a laptop has besides is there as options, off by default; print(m) says which are on:

   l1d = "32768:8:64:plru"       pseudo-LRU, of any cache or TLB; also fifo and random
   prefetch = 1                  the line behind one that missed comes, too; 2: also behind one that was prefetched and
                                 is used. Events prefetches, and prefetches_unused: thrown away before an access
   store_buffer = 8              so many stores wait while loads pass them; a load is answered from there (event
                                 forwards). {ip = 0x1000, fence = true} empties it; with load and store it is a locked
                                 operation. With explain = 1, m:explain(ip).saw is the site of the store that a load saw
   interrupt_ns = 2000           what an interrupt takes, by an overflow or a device, in the time of the thread

On sim:k8 all three events have codes, two of them not the processor's; sim:fam10h, core2 and nehalem count prefetches.
m:truth() has them on every model.

The counts of m:caches() are the same as cachegrind's for its caches (cachegrind = 1). pfm.caches draws misses by set
and over time.

What hardware can report is there, too. Itanium 2's address registers name the load that missed, its data and its
latency (PMD2, 3, 17); its branch buffer holds the last branches. On sim:core2 and sim:nehalem the processor itself
writes precise samples (formats pebs and pebs-nehalem, ?pfm.pebs) and keeps the last branches (PMD31-63). sim:fam10h
tags instructions (IBS, PMD4-13). sim:power5 marks them (PM_MRK_* events; PMD7 and 8 are SIAR and SDAR). Ordinary
samples skid with skid = 2 or skid = "model"; these do not.

With ht = 1, sim:netburst and sim:em64t have HyperThreading: CPUs 0 and 1, 2 and 3, ... share a core's caches and TLBs,
and each has half of the registers.

?lpfm.sim has all that a program can have.]==] },

{ "events", "events by name, tracepoints and the PMUs of sysfs", [==[
Events by name: those of the kernel's software, such as task-clock and page-faults, come first in list(); :u, :k, :uk
choose levels. rHEX is a raw event of the hardware. Hardware events have libpfm4's names (list("cache")), generic ones
(cycles), or PAPI's (PAPI_BR_PRC). On the machine perf there are tracepoints, too (sched:sched_switch;
list("sched:*")), and events of the PMUs in /sys/bus/event_source/devices (power/energy-pkg/,
uncore_imc/cas_count_read/, cpu/event=0x3c,umask=0/u), in registers 96 to 127.

In a list, {a,b} is a group: its events are always counted together, in one event set. Wildcards: page-*, sched:*.
A filter of tracepoints: stat("ls", { { "sched:sched_switch", filter = "prev_prio < 100" } })

   events.parse("page-faults:u")         the registers that count it
   lpfm.event("cycles")                  what a name means
   lpfm.events(pattern)                  the events that match;  lpfm.split_events{...}  takes a list apart
   lpfm.dispatch_events{events={"cycles", "page-faults"}}
                                         values of PMCs, and the counters that can hold the events
   lpfm.perf_event{...}                  a PMC's value for perf_event_open(2)'s attributes (C: pfm_perf_event())

lpfm.dispatch_events says in words why a set of events does not fit. The tables are libpfm4's for every core PMU it
knows, and lpfm's own for Itanium 2, P6 and the simulated models. In C it is libpfm 3's interface: ?from-c.

PMUs of a kind (uncore_imc_0, uncore_imc_1) are added up. On a processor with several kinds of cores, cycles is shown
for all, and for each kind. Only tracepoints sample, and events of the cores where the cores are alike. Tracefs belongs
to root: mount -o remount,gid=GROUP,mode=750 /sys/kernel/tracing lets a group in.

Precise samples: ?precise.]==] },

{ "precise", "precise samples: the very instruction, where the processor names it", [==[
   lpfm record -e cycles:pp -- ./prog

The PMU names the very instruction, where the processor can (PEBS, IBS). :p, :pp and :ppp are those of perf and
libpfm4, precise_ip 1 to 3 of perf_event_open(2), with u and k (cycles:upp). They go with generic events, raw ones
(r1c2:pp) and those of the cores' PMU (cpu/event=0xd1,umask=1/pp); in scripts with lpfm.perf_event{type=, config=,
precise=2}. If a PMU is not so precise, loading the context says so. Other names of libpfm4 take no :p: lpfm list -v
NAME shows the code for rHEX.

The records that the processor itself writes, with its registers, are those of the simulated models (formats pebs,
?sim): the kernel keeps the real ones to itself.]==] },
}
