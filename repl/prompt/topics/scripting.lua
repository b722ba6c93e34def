-- SPDX-License-Identifier: MIT
--- Help by task, second part: measuring from Lua and C. `repl.prompt.topics` explains the form.
-- @module repl.prompt.topics.scripting

return {
{ "scripts", "measure from a Lua script", [==[
   lpfm FILE [arguments]                 runs a script;  lpfm -e CODE  runs code
   lpfm.help(x)                          the reference, in scripts too; make doc makes pages of it

The modules pfm.NAME measure with a few lines (?modules lists them):

   local count = require "pfm.count"
   local result = count.run{ command = {"ls", "/"}, events = "page-faults", threads = true }
   print(result.events[1].value .. " page faults")

require "lpfm" gives the interface itself, every call of it (?context):

   local lpfm = require "lpfm"
   local ctx = assert(lpfm.create())                     -- pfm_create_context
   assert(ctx:write_pmcs{ {num = 66, value = 9} })       -- PMC66: page faults, user and kernel level
   assert(ctx:write_pmds{ {num = 66, value = 0} })
   assert(ctx:load())                                    -- attach to the calling thread
   assert(ctx:start())
   local t = {}
   for i = 1, 1e6 do t[i] = i end
   ctx:stop()
   print(ctx:read_pmds{66}[1].value .. " page faults")
   ctx:close()

A call that fails returns nil, message, errno, and the message names the culprit: "write_pmcs: element 2: PMC99 is not
available". Misuse (a string for a number, a closed context) raises an error.

The folder scripts/examples has fourteen short scripts. See also: sampling, formats, where, messages, u64, ffi.]==] },

{ "context", "program counters through a context, the interface itself", [==[
   c = lpfm.create{}                     a context; flags={"SYSTEM_WIDE"}, format="default", buf_size=...
   c:write_pmcs{ {num=66, value=9} }     program: PMC 66 is page-faults, 9 is user and kernel level
   c:write_pmds{ {num=66, value=0} }     preset the counter
   assert(c:load())                      bind it to this thread, or c:load(tid)
   assert(c:start())                     count; c:stop() ends it
   c:read_pmds{66}                       -> {{num=66, value=...}}
   c:programming()                       how it is programmed: flags, sets, pmcs, pmds, target, running
   c:unload()  c:close()

Calls return nil, message, errno when they fail. help(c) lists all methods. lpfm.perfmonctl(c, "PFM_READ_PMDS", {4}) is
the single call of the specification 0.6.]==] },

{ "registers", "registers: what they count, which numbers they have", [==[
   lpfm.pmcs(), lpfm.pmds()      the registers of this machine; a PMD counts what its PMC says (field ctrl)

Registers of the kernel's software events have the same numbers on every machine: PMC and PMD 64 are task-clock, 65
cpu-clock, 66 page-faults, and so on, as list("registers") shows. The value of the PMC says at which levels to count (8
user, 1 kernel). PMDs 80 to 84 are virtual: time stamp, real time, thread, process, CPU. On the machine perf, 96 to 127
count tracepoints and events of other PMUs.

A sampling period p is written into a PMD as the value -p: ?sampling, ?u64.]==] },

{ "sampling", "take samples with a context", [==[
   c = lpfm.create{format="default", buf_size=65536}
   c:write_pmcs{ {num=65, value=9} }     PMC 65 is cpu-clock
   c:write_pmds{ {num=65, value=-1000000, long_reset=-1000000, short_reset=-1000000, flags={"OVFL_NOTIFY"}} }
   assert(c:load()); assert(c:start()); work(); c:stop()
   for s in c:buffer():samples() do print(("%#x"):format(s.ip), s.tid) end
   kept = c:buffer():copy()              stays after c:restart() and c:close()

A period p is written as -p. The short reset is loaded after each sample; the long one is loaded when the buffer was
full and restart is called. smpl_pmds are recorded with each sample, reset_pmds are reset:

   local ctx = assert(lpfm.create{ format = "default", buf_size = 2^16 })
   assert(ctx:write_pmcs{ {num = 65, value = 9}, {num = 66, value = 9} })
   assert(ctx:write_pmds{ {num = 65, value = -1e6, long_reset = -1e6, short_reset = -1e6,
                           flags = {"OVFL_NOTIFY"}, smpl_pmds = {66}, reset_pmds = {66}} })
   assert(ctx:load() and ctx:start())
   local sum = 0
   for i = 1, 1e7 do sum = sum + i % 7 end
   ctx:stop()
   for sample in ctx:buffer():samples() do print(("%#x"):format(sample.ip), sample.tid, sample[66]) end
   ctx:close()

The format "stack" records call stacks, too: sample.stack[1] is the address of the sample itself, then come those to
which the functions return, the kernel's first (sample.stack.kernel of them). require("pfm.stacks").tree(recording) is
the tree of calls. Other formats, and formats of one's own: ?formats.]==] },

{ "formats", "sampling formats, and how to write one in Lua", [==[
A sampling format decides what happens at an overflow. lpfm.formats() lists those there are. One can be written in Lua:
a handler that sees each overflow and returns what to do. It runs in a Lua state of its own, during the overflow; query
the functions in calls with ctx:ask.

   assert(lpfm.register_format{ name = "hot-spots",
      init = function(self) self.hits = {} end,
      handler = function(self, overflow)
         self.hits[overflow.ip] = (self.hits[overflow.ip] or 0) + 1
         return "RESET"                                  -- and "NOTIFY", "MASK", "BLOCK"
      end,
      calls = { hits = function(self) return self.hits end } })
   local ctx = assert(lpfm.create{ format = "hot-spots" })
   assert(ctx:write_pmcs{ {num = 65, value = 9} })
   assert(ctx:write_pmds{ {num = 65, value = -1e6, short_reset = -1e6} })
   assert(ctx:load() and ctx:start())
   local sum = 0
   for i = 1, 1e7 do sum = sum + i % 7 end
   ctx:stop()
   for ip, n in pairs(ctx:ask("hits")) do print(("%#x"):format(ip), n) end
   ctx:close()

The handler is called at each overflow, with overflow.ip, .tid, .cpu, .tstamp, .ovfl_pmd, .set, .value, .pmds[num]. With
base = "default", self.buf:record() in the handler keeps a sample in the buffer that ctx:buffer() shows.
ctx:format_error() says what went wrong in a handler.

A format in C includes kernel/linux/perfmon_module.h, as spec/vm/format does; make module-of DIR=... builds it for
perfmon.ko.]==] },

{ "where", "drop, keep or count overflows where they happen", [==[
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

The sampling format "program" runs a classic BPF program, in the kernel as machine code in the interrupt. The program
keeps the sample, drops it, notifies, masks, stops, or counts it in a bucket of a histogram. In contexts of your own an
expression makes such a program:

   local filter = require("pfm.program").where("time % 1000000 < 1000 and pmd66 > 0")
   local ctx = assert(lpfm.create(filter:create{ smpl_pmds = {66}, buf_size = 2^16 }))
   ctx:close()                                           -- after ctx:buffer() as usual: ?sampling

   local histogram = require("pfm.program").bucket("log2(pmd66)", { where = "cpu < 1000" })
   local ctx = assert(lpfm.create(histogram:create{ smpl_pmds = {66} }))
   assert(ctx:write_pmcs{ {num = 65, value = 9}, {num = 66, value = 9} })
   assert(ctx:write_pmds{ {num = 65, value = -1e6, long_reset = -1e6, short_reset = -1e6,
                           smpl_pmds = {66}, reset_pmds = {66}} })
   assert(ctx:load() and ctx:start())
   local t = {}
   for i = 1, 1e6 do t[i] = i end
   ctx:stop()
   for bucket, n in pairs(ctx:verdicts().buckets) do print(bucket, n) end
   ctx:close()

An error in an expression is shown with a caret under the place. On arm64 an overflow that is dropped or counted
takes 50 to 60 instructions more than one with a handler that does nothing.]==] },

{ "messages", "messages of overflows and of ends", [==[
   c:read([seconds])             -> {type="OVFL", ip=, tid=, pmds={...}} or {type="END"}; nil, "timeout"
   c:messages([seconds])         iterate over them; c:restart() resumes a context that is masked
   c:on_message(fn)              call fn(msg, c) for each, wherever the script is (SIGIO)
   c:fd()                        the descriptor, for poll

require "pfm.loop" is a loop over many contexts, descriptors and timers.]==] },

{ "u64", "64-bit values", [==[
   lpfm.u64(x)                   a 64-bit number that is always exact: + - * / %, comparison, :hex(), :tonumber()

64-bit values are Lua numbers, read as two's complement, as long as that is exact: a period p is the value -p. Beyond
2^53 they are lpfm.u64 objects. Addresses are best printed as ("%#x"):format(sample.ip).]==] },

{ "ffi", "LuaJIT: contexts, vectors and buffers as typed pointers", [==[
In LuaJIT require "pfm.ffi" gives typed pointers to contexts, prepared vectors and sampling buffers, with the
declarations of the C headers. A read adds 1 to 4 ns to the call in C, and a walk over samples is as fast as in C.

   local ctx = assert(lpfm.create{ format = "default" })
   local buf, sum = require("pfm.ffi").context(ctx):buffer(), 0
   for ip, tstamp in buf:fields("ip", "tstamp") do sum = sum + tstamp end
   for i, e in buf:entries() do sum = sum + tonumber(e.last_reset_val) end
   ctx:close()

buf:fields() is as that of the module lpfm; e is a const pfm_dfl_smpl_entry_t *.

A thread's own running counters are read without a call by ctx:view():read(4, 5), of a context with the flag
MAP_SETS.]==] },

{ "from-c", "the interface in C: perfmon2, libpfm 3, perfctr", [==[
   gcc prog.c $(pkg-config --cflags --libs perfmon)

perfmon/perfmon.h is the interface of perfmon2 2.x, one function for each call, with structures of the historical sizes
and offsets. perfmon/perfmonctl.h is the single call of the specification 0.6. Old programs compile unchanged.
spec/c/calls/count_pfm.c and spec/c/calls/count_perfmonctl.c are the same measurement through each. LPFM_ANY_CPU=1 lets
a program monitor other CPUs than its own.

Without perfmon.ko, a program that is linked with libperfmon or libpfm finds the files of /sys/kernel/perfmon by open,
fopen and access (formats, registers, configuration), to be read; not by stat or opendir, which are the kernel's alone.

perfmon/perfmon_fast.h reads a thread's own running counters without a call: pfm_map_set() and pfm_read_fast().

Events by name are libpfm 3's interface in C: perfmon/pfmlib.h, pkg-config pfmlib. What looks for libpfm 3 by its name
(-lpfm, a configure script, dlsym) finds all of it in one library, out of libpfm4's way: pkg-config libpfm3, or
-L PREFIX/lib/lpfm -lpfm.

perfctr/libperfctr.h (pkg-config perfctr) is perfctr's virtual counters: sys_vperfctr_open() and its companions, a state
to map, sums that outlive the thread, those of its children apart, a signal at an overflow. spec/c/measured/perfex.c
uses it.

perfmon/regions.h (pkg-config pfmregions) marks regions of a program: ?regions.]==] },
}
