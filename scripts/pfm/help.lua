-- SPDX-License-Identifier: MIT
--- help() at the prompt.
-- @module pfm.help

local nearest = require "pfm.nearest"

local help = {}

local topics = {}

topics.help = [==[
This is Lua with perfmon at hand. Some things to try:

   stat("ls /")                           counts of a command
   stat("ls /", "page-faults:u")          of one event, at the user level
   record("gzip -k file"); report()       where a program spends its time
   list("fault")                          events and registers by name
   lpfm.machine()                         what this machine can do
   c = lpfm.create()                      a context, the interface itself: help("context")

An expression prints its value; a line that is not complete goes on. Tab completes names, also those of
events inside strings. Ctrl-C stops what runs, Ctrl-D leaves.

help("stat"), "record", "report", "diff", "list", "events", "context", "registers", "sampling", "messages", "u64",
"modules"]==]

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
for s in c:buffer():samples() do print(s.ip, s.tid) end]==]

topics.messages = [==[
c:read([seconds])             -> {type="OVFL", ip=, tid=, pmds={...}} or {type="END"}; nil, "timeout"
c:messages([seconds])         iterates over them; c:restart() lets a masked context go on
c:fd()                        the descriptor, for poll]==]

topics.u64 = [==[
lpfm.u64(x)                   a 64-bit number that is always exact: + - * / %, comparison, :hex(), :tonumber()]==]

topics.modules = [==[
require "pfm.count"           measurements as functions: count.run{...}, count.call(fn, events)
require "pfm.profile"         sampling: profile.collect{...}; "pfm.bias": bias.test{...}, is a period in step?
require "pfm.cascade"         in stages: cascade.run{command={"./prog"}, stages="page-faults:1000 then cs"}
require "pfm.system"          CPUs, by core, socket, node: system.count{by="core", seconds=1}
require "pfm.ffi"             LuaJIT: contexts, vectors and buffers as typed pointers, at the speed of C
require "pfm.analyze"         profiles as tables: by symbol, time, ...; differences, phases, histograms, correlation
require "pfm.session"         recordings (format: pfm/store.md); "pfm.store": made self-contained
require "pfm.symbols"         addresses to functions; "pfm.format": tables, CSV, JSON]==]

local function name_of(value)
   for _, name in ipairs { "stat", "record", "cascade", "bias", "report", "annotate", "diff", "export", "plot", "list",
      "help" } do
      if rawget(_G, name) == value then return name end
   end
   local lpfm = require "lpfm"
   if value == lpfm then return "context" end
   for k, v in pairs(lpfm) do
      if v == value and type(v) ~= "number" and type(v) ~= "string" then return "lpfm." .. tostring(k) end
   end
end

local function topic_names()
   local names = {}
   for name in pairs(topics) do names[#names + 1] = name end
   table.sort(names)
   return names
end

local function members(value)
   local names = {}
   local meta = debug.getmetatable(value)
   local place = type(value) == "table" and value or (type(meta) == "table" and meta.__index)
   if type(place) ~= "table" then return nil end
   for k in pairs(place) do names[#names + 1] = tostring(k) end
   table.sort(names)
   return "has " .. table.concat(names, ", ")
end

local related = { ["lpfm.create"] = "context", ["lpfm.pmcs"] = "registers", ["lpfm.pmds"] = "registers",
   ["lpfm.u64"] = "u64" }

-- What the module's own documentation says, where it has any.
local function from_module(what)
   local own = require("lpfm").help
   local ok, text = pcall(own or function() end, what)
   return ok and type(text) == "string" and text or nil
end

--- Help about a topic or a value.
-- @param[opt] what
-- @treturn string
function help.text(what)
   if what == nil then return topics.help end
   if type(what) == "string" and topics[what] then return topics[what] end
   local text = from_module(what)
   if text then return text end
   if type(what) == "string" then
      return ("no help on '%s'%s; topics: %s"):format(what, nearest.hint(what, topic_names()),
         table.concat(topic_names(), ", "))
   end
   local name = name_of(what)
   local topic = name and topics[related[name] or name]
   if topic then return topic end
   return ("%s: a %s%s"):format(name or tostring(what), type(what), members(what) and "; " .. members(what) or "")
end

--- Prints help.
function help.call(what)
   io.stdout:write(help.text(what), "\n")
end

return help
