-- SPDX-License-Identifier: MIT
-- Further events by name: groups and wildcards in lists of events, tracepoints, PMUs that sysfs
-- describes, cgroups, processors with several kinds of cores. Folders stand for sysfs and tracefs;
-- their events are page faults, which every kernel has: PERF_TYPE_SOFTWARE is 1,
-- PERF_COUNT_SW_PAGE_FAULTS is 2.

local c = require "support.c"
local cjson = require "cjson"
local files = require "support.files"
local lpfm = require "lpfm"
local events = require "pfm.events"

local program = c.program

local SOFTWARE, FAULTS, BOTH = 1, 2, 9

local folder

-- Creates the files of a fake system, such as "power/type" = "1", in a folder; returns its path.
local function make(name, list)
   local root = folder .. "/" .. name
   for path, text in pairs(list) do
      local file = root .. "/" .. path
      c.sh("mkdir -p " .. file:match("^(.*)/"))
      files.write(file, text .. "\n")
   end
   return root
end

local function run(line, env)
   return c.sh(("LPFM_MACHINE=perf %s %s %s"):format(env or "", program, line))
end

local function count(line, env)
   local out, status = run("stat -o - --json " .. line, env)
   assert.are.equal(0, status, out)
   local by = {}
   for _, row in ipairs(cjson.decode(out:match("{.*}")).events) do by[row.event] = row end
   return by, out
end

local function has(text, part)
   assert.is_truthy(text:find(part, 1, true), text)
end

setup(function() folder = c.sh("mktemp -d"):match("%S+") end)

teardown(function()
   c.sh("rm -rf " .. folder)
end)

before_each(function()
   assert(lpfm.machine("perf"))
end)

describe("pfm_perf_event", function()
   it("has a register count what perf_event_open(2) would", function()
      local value = assert(lpfm.perf_event { type = SOFTWARE, config = FAULTS })
      local ctx = assert(lpfm.create())
      assert(ctx:write_pmcs { { num = 96, value = value + BOTH }, { num = 66, value = BOTH },
         { num = 127, value = assert(lpfm.perf_event { type = SOFTWARE, config = FAULTS, alone = true }) + BOTH } })
      assert(ctx:write_pmds { { num = 96, value = 5 }, { num = 66, value = 5 }, { num = 127, value = 7 } })
      assert(ctx:load() and ctx:start())
      local t = {}
      for i = 1, 1e6 do t[i] = i end
      ctx:stop()
      assert.are.equal(1e6, #t)
      local named, own, alone = unpack(ctx:read_pmds { 96, 66, 127 })
      assert.is_true(own.value > 100)
      assert.are.equal(own.value, named.value)
      -- an event outside the group is started and stopped at slightly other times
      assert.is_true(math.abs(alone.value - 2 - own.value) < 20, alone.value .. " beside " .. own.value)
      ctx:close()
   end)

   it("gives equal events equal values, and a different one to each other", function()
      local a, b = { type = SOFTWARE, config = FAULTS }, { type = SOFTWARE, config = FAULTS, cpus = "0-3,8" }
      assert.are.equal(lpfm.perf_event(a), lpfm.perf_event(a))
      assert.are_not.equal(lpfm.perf_event(a), lpfm.perf_event(b))
   end)

   it("names what is wrong", function()
      for words, event in pairs {
         ["cpus: '3-1' is no list of CPUs"] = { type = 1, cpus = "3-1" },
         ["cpus: '' is no list of CPUs"] = { type = 1, cpus = "" },
         ["filter 'a == 1': only tracepoints have filters"] = { type = 1, filter = "a == 1" },
      } do
         local ok, err, errno = lpfm.perf_event(event)
         assert.is_nil(ok)
         assert.are.equal(lpfm.errno.EINVAL, errno)
         has(err, words)
      end
      assert.has_error(function() lpfm.perf_event { type = 1, cfg = 2 } end)
      assert.has_error(function() lpfm.perf_event {} end)
      local ctx = assert(lpfm.create())
      local ok, err = ctx:write_pmcs { { num = 96, value = 0xffff0000 + BOTH } }
      assert.is_nil(ok)
      has(err, "PMC96: there is no event 65535")
      ctx:close()
   end)

   it("keeps events of whole CPUs from threads, and counts nothing on other CPUs than theirs", function()
      local value = assert(lpfm.perf_event { type = SOFTWARE, config = FAULTS, cpus = "4000", whole_cpus = true })
      local ctx = assert(lpfm.create())
      local ok, err = ctx:write_pmcs { { num = 96, value = value + BOTH } }
      assert.is_nil(ok)
      has(err, "whole CPUs")
      ctx:close()
      ctx = assert(lpfm.create { flags = { "SYSTEM_WIDE", "ANY_CPU" } })
      assert(ctx:write_pmcs { { num = 96, value = value + BOTH } } and ctx:write_pmds { { num = 96, value = 3 } })
      if not ctx:load(0) then return pending("whole CPUs may not be monitored here") end
      assert(ctx:start())
      c.sh("true")
      ctx:stop()
      assert.are.equal(3, ctx:read_pmds { 96 }[1].value)
      ctx:close()
   end)

   it("is the machine perf's alone, and the others say so", function()
      lpfm.machine("sim:k8")
      local ok, err, errno = lpfm.perf_event { type = 1 }
      assert.is_nil(ok)
      assert.are.equal(lpfm.errno.EOPNOTSUPP, errno)
      has(err, "LPFM_MACHINE=perf")
   end)
end)

describe("a list of events", function()
   it("has groups, which share a table, with levels for all of it", function()
      local list = assert(events.read "task-clock, { page-faults , minor-faults:k}:u,cs")
      assert.are.equal(4, #list)
      assert.is_nil(list[1].group)
      assert.are.equal(list[2].group, list[3].group)
      assert.are.equal("u", list[2].plm)
      assert.is_nil(list[4].group)
      local two = assert(events.read "{cs},{migrations}")
      assert.are_not.equal(two[1].group, two[2].group)
   end)

   it("has wildcards", function()
      local list = assert(events.read "page-f*,m*or-faults:u")
      assert.are.same({ "page-faults", "minor-faults:u", "major-faults:u" },
         { list[1].name, list[2].name, list[3] and list[3].name })
      assert.are.equal(3, #list)
      local none, err = events.read "pgae-*"
      assert.is_nil(none)
      has(err, "nothing matches 'pgae-*'")
      assert.are.equal("page-faults", assert(events.read("page-fa" .. ("*"):rep(300)))[1].name)
      none, err = events.read(("*"):rep(300) .. "q") -- each * of a pattern multiplies the ways to match
      assert.is_nil(none)
      has(err, "nothing matches '***")
      none, err = events.read "page-z*"
      has(err, "page-faults")
      assert.is_nil(none)
   end)

   it("names what is wrong with braces and slashes", function()
      for list, words in pairs {
         ["{cs,page-faults"] = "the group's '}' is missing", ["cs}"] = "expected a comma before '}'",
         ["{a{b}}"] = "the group's '}' is missing", ["pmu/event"] = "the second '/' is missing",
         ["{cs}page-faults"] = "expected a comma", ["cs,"] = "an event's name is missing",
         ["{}"] = "an event's name is missing",
      } do
         local ok, err = events.read(list)
         assert.is_nil(ok, list)
         has(err, words)
      end
   end)
end)

describe("a group", function()
   local LIVE = "LPFM_MACHINE=sim:itanium2,live " .. program .. " stat -o - --json "

   it("is counted in the same event sets, whatever else takes turns", function()
      local out, status = c.sh(LIVE .. "-e cycles,instructions,L2_MISSES,'{L3_MISSES,branches,page-faults}' "
         .. "--switch-timeout 0.5 -- " .. c.target("usage") .. " 50 2000 1")
      assert.are.equal(0, status, out)
      local result = cjson.decode(out:match("{.*}"))
      assert.are.equal(2, result.sets)
      local shares = {}
      for _, row in ipairs(result.events) do shares[row.event] = row.active end
      assert.are.equal(shares.L3_MISSES, shares.branches)
      assert.are.equal(shares.L3_MISSES, shares["page-faults"])
      assert.are_not.equal(shares.cycles, shares.branches)
   end)

   it("of which nothing can be counted is told as its events are without a group", function()
      local without, status = run("stat -x, -e cycles,page-faults -- true")
      assert.equal(0, status, without)
      local out = run("stat -x, -e '{cycles},page-faults' -- true")
      local state = without:match("<not supported>,,cycles")
      if state then has(out, state) else assert.is_nil(out:find("does not fit", 1, true), out) end
   end)

   it("that does not fit is refused with what stands against it", function()
      local out, status = c.sh(LIVE .. "-e '{cycles,instructions,L2_MISSES,L3_MISSES,branches}' -- true")
      assert.are_not.equal(0, status)
      has(out, "the group {cycles,instructions,L2_MISSES,L3_MISSES,branches} does not fit the counters: ")
      out, status = run("stat -e '{page-faults:u,page-faults:k}' -- true")
      assert.are_not.equal(0, status)
      has(out, "the group {page-faults:u,page-faults:k} does not fit one event set: ")
      has(out, "are counted by one register")
   end)
end)

describe("tracepoints", function()
   local env

   setup(function()
      env = "LPFM_TRACEFS=" .. make("trace", {
         ["events/sched/sched_switch/id"] = "314", ["events/sched/sched_switch/format"] =
            "name: x\nformat:\n\tfield:unsigned short common_type;\toffset:0;\n\n\tfield:int prev_prio;\toffset:8;",
         ["events/sched/sched_wakeup/id"] = "315", ["events/sched/enable"] = "0",
         ["events/syscalls/sys_enter_openat/id"] = "600", ["events/enable"] = "0",
      })
   end)

   it("are listed by pattern, with their fields, and completed", function()
      local out, status = run("list 'sched:*'", env)
      assert.are.equal(0, status, out)
      has(out, "sched:sched_switch\n")
      has(out, "sched:sched_wakeup\n")
      assert.is_nil(out:find("openat"), out)
      assert.is_nil(out:find("enable"), out)
      has(run("list -v tracepoints switch", env), "int prev_prio\n")
      assert.is_nil(run("list -v tracepoints switch", env):find("common_type"))
      assert.are.equal("sched:sched_switch\n", (run("completion --words event sched:sched_s", env)))
      assert.are.equal("cs,{sched:\n", (run("completion --words event 'cs,{sch'", env)))
   end)

   it("that are not there are told by name, with the nearest", function()
      for name, words in pairs {
         ["sched:sched_swich"] = "there is no tracepoint 'sched:sched_swich'; did you mean 'sched:sched_switch'?",
         ["shed:sched_switch"] = "there are no tracepoints 'shed:...'; did you mean 'sched:...'?",
         ["'sched:sched_z*'"] = "nothing matches 'sched:sched_z*'; near are sched:sched_switch, sched:sched_wakeup",
      } do
         local out, status = run("stat -e " .. name .. " -- true", env)
         assert.are_not.equal(0, status)
         has(out, words)
      end
   end)

   it("need tracefs, and what they lack is told: the folder, the mount, the permission", function()
      local out, status = run("stat -e sched:sched_switch -- true", "LPFM_TRACEFS=" .. folder .. "/nowhere")
      assert.are_not.equal(0, status)
      has(out, "tracepoint 'sched:sched_switch': there are no events in '" .. folder .. "/nowhere' (LPFM_TRACEFS)")
      local mounts = files.read("/proc/mounts")
      if not mounts:find(" tracefs ", 1, true) then
         has(run("stat -e sched:sched_switch -- true", ""), "tracefs is not mounted: 'mount -t tracefs ")
      end
      local locked = make("locked", { ["events/sched/sched_switch/id"] = "1" })
      c.sh("chmod 0 " .. locked .. "; chmod a+x " .. folder)
      local as = c.sh("id -u"):match("%d+") == "0" and "setpriv --reuid=65534 --regid=65534 --clear-groups" or ""
      if select(2, c.sh(as .. " " .. program .. " --version")) ~= 0 then
         return pending("another user cannot run the program here")
      end
      out = run("stat -e sched:sched_switch -- true", "LPFM_TRACEFS=" .. locked .. " " .. as)
      has(out, "tracepoint 'sched:sched_switch': " .. locked .. " may not be read: root may")
   end)

   it("have filters, which nothing else has", function()
      for line, words in pairs {
         ["-e cs --filter 'a == 1'"] = "filter 'a == 1': 'cs' is no tracepoint",
         ["--filter 'a == 1' -e cs"] = "--filter 'a == 1': expected after the -e that it is for",
      } do
         local out, status = run("stat " .. line .. " -- true", env)
         assert.are_not.equal(0, status)
         has(out, words)
      end
      local list = assert(events.read { { "task-clock" } })
      assert.are.equal("task-clock", list[1].name)
   end)
end)

-- These tests use the kernel's tracepoints, with tracefs mounted in a name space of their own.
describe("real tracepoints", function()
   local function real(line)
      return c.sh(("unshare -m sh -c 'mount -t tracefs t /sys/kernel/tracing 2>/dev/null; "
         .. "test -r /sys/kernel/tracing/events/syscalls/sys_enter_openat/id || exit 77; LPFM_MACHINE=perf %s %s'")
         :format(program, line))
   end

   local function real_it(name, fn)
      it(name, function()
         if select(2, real("--version")) == 77 or c.sh("unshare -m true"):find("unshare") then
            return pending("no tracefs can be read here")
         end
         fn()
      end)
   end

   local OPENS = "sh -c \"for i in 1 2 3 4 5; do : </dev/null; done\""

   real_it("are counted, and filtered", function()
      local out, status = real("stat -o - -x, -i -e syscalls:sys_enter_openat "
         .. "--filter \"flags == 123456\" -e syscalls:sys_enter_openat,syscalls:sys_exit_openat -- " .. OPENS)
      assert.are.equal(0, status, out)
      local none, enter, exit = out:match("^(%d+),,sys[^\n]*\n(%d+),,sys[^\n]*\n(%d+),,syscalls:sys_exit_openat,")
      assert.are.equal("0", none, out)
      assert.is_true(tonumber(enter) >= 5, out)
      assert.are.equal(enter, exit, out)
      out = real("stat -e syscalls:sys_enter_openat --filter \"flgs == 1\" -e cs -- true")
      has(out, "the kernel does not understand the filter 'flgs == 1', or the event has no such field")
   end)

   real_it("of the kernel are not there at user level", function()
      local out = real("stat -e sched:sched_switch:u -- true")
      has(out, "'sched:sched_switch:u' occurs in the kernel alone: it cannot be counted at user level alone")
   end)

   real_it("are sampled, each occurrence once", function()
      local data = folder .. "/openat.data"
      local out, status = real("record -e syscalls:sys_enter_openat -c 1 -o " .. data .. " -- " .. OPENS)
      assert.are.equal(0, status, out)
      local samples = tonumber(out:match("(%d+) samples in"))
      assert.is_true(samples >= 5, out)
      has(run("report --file " .. data), ("%d samples of"):format(samples))
   end)
end)

describe("PMUs of sysfs", function()
   local env

   local function pmu(out, name, more)
      out[name .. "/type"] = tostring(SOFTWARE)
      out[name .. "/format/event"] = "config:0-7,32-35"
      for path, text in pairs(more) do out[name .. "/" .. path] = text end
      return out
   end

   setup(function()
      local all = {}
      pmu(all, "software", {})
      pmu(all, "power", { cpumask = "0", ["events/energy-pkg"] = "event=0x02", ["events/energy-pkg.unit"] = "Joules",
         ["events/energy-pkg.scale"] = "0.5" })
      pmu(all, "uncore_imc_0", { cpumask = "0", ["events/cas_count_read"] = "event=0x2" })
      pmu(all, "uncore_imc_1", { cpumask = "0", ["events/cas_count_read"] = "event=0x2" })
      pmu(all, "core_like", { ["format/inv"] = "config:23", ["format/cmask"] = "config1:4-7,0-3",
         ["events/faults"] = "event=0x2" })
      env = "LPFM_EVENT_SOURCES=" .. make("sources", all)
   end)

   local function attr_of(list)
      local out = run(("-e 'local e = assert(require(\"pfm.events\").read(\"%s\")) local p = e[1].parts[1] "
         .. "print(p.type, p.config, p.config1, p.cpus)'"):format(list), env)
      return out
   end

   it("say where the bits of a term lie, also apart", function()
      has(attr_of("core_like/event=0x3c/"), "1\t0x000000000000003c\t0x0000000000000000\tnil")
      has(attr_of("core_like/event=0xfff,inv/"), "1\t0x0000000f008000ff\t0x0000000000000000")
      -- the low half is in the upper bits
      has(attr_of("core_like/cmask=0x21/"), "\t0x0000000000000012")
      has(attr_of("core_like/config=0x8000000000000001,config1=3/"), "0x8000000000000001\t0x0000000000000003")
      has(attr_of("core_like/faults,inv=1/"), "0x0000000000800002")
      has(attr_of("core_like/r1a8/"), "0x00000000000001a8")
      has(attr_of("power/energy-pkg/"), "0x0000000000000002\t0x0000000000000000\t0")
   end)

   it("and what is wrong is named: PMU, event, term, size", function()
      for name, words in pairs {
         ["powr/energy-pkg/"] = "there is no PMU 'powr'; did you mean 'power'?",
         ["power/energy-pgk/"] = "PMU 'power' has no event or term 'energy-pgk'; did you mean 'energy-pkg'?",
         ["core_like/umask=1/"] = "PMU 'core_like' has no term 'umask'; did you mean 'cmask'?",
         ["core_like/event=0x1000/"] = "term 'event': 0x1000 does not fit into its 12 bits",
         ["core_like/event=x/"] = "term 'event': 'x' is not a number",
         ["power//"] = "PMU 'power': expected an event, as in power/EVENT/",
         ["software/event=2/"] = "there is no PMU 'software'",
      } do
         local out, status = run("stat -a -e " .. name .. " --timeout 0.1", env)
         assert.are_not.equal(0, status)
         has(out, words)
      end
   end)

   it("are counted, with levels behind the slash", function()
      local by = count("-e core_like/faults/u,page-faults:u,core_like/faults/k -- true", env)
      local own = by["page-faults:u"].value
      assert.is_true(own > 0)
      assert.are.equal(own, by["core_like/faults/u"].value)
   end)

   it("that count whole CPUs want -a, and take their unit and scale", function()
      local out = run("stat -e power/energy-pkg/,cs -- true", env)
      has(out, "power/energy-pkg/: it counts whole CPUs, whatever runs there: -a or -C measures CPUs")
      if not run("stat -C 0 -e cs --timeout 0.05"):find("Counts of") then
         return pending("whole CPUs may not be monitored here")
      end
      local by = count("-C 0 -e power/energy-pkg/,page-faults,uncore_imc/cas_count_read/ --timeout 0.2", env)
      local faults = by["page-faults"].value
      assert.are.equal("Joules", by["power/energy-pkg/"].unit)
      assert.are.equal(faults / 2, by["power/energy-pkg/"].value)
      -- the sum of uncore_imc_0 and uncore_imc_1
      assert.are.equal(2 * faults, by["uncore_imc/cas_count_read/"].value)
      out = run("stat -C 0 -e '*/energy*/' --timeout 0.05", env)
      has(out, "Joules")
      has(run("record -C 0 -e power/energy-pkg/ -o /dev/null --timeout 0.05", env), "can only be counted, not sampled")
   end)

   it("are listed and completed", function()
      local out = run("list -v pmu-events", env)
      has(out, "power/energy-pkg/")
      has(out, "event=0x02")
      assert.are.equal("power/energy-pkg/\n", (run("completion --words event power/en", env)))
   end)
end)

describe("kinds of cores", function()
   local env

   setup(function()
      env = "LPFM_EVENT_SOURCES=" .. make("kinds", {
         ["cpu_core/type"] = "1", ["cpu_core/cpus"] = "0-4095", ["cpu_core/format/event"] = "config:0-7",
         ["cpu_atom/type"] = "1", ["cpu_atom/cpus"] = "4096-5000", ["cpu_atom/format/event"] = "config:0-7",
      })
   end)

   it("are counted each, and together", function()
      local by = count("-e r2 -- true", env)
      assert.is_true(by["cpu_core/r2/"].value > 0)
      assert.are.equal(by["cpu_core/r2/"].value + by["cpu_atom/r2/"].value, by.r2.value)
   end)

   it("count on their own CPUs", function()
      if not run("stat -C 0 -e cs --timeout 0.05"):find("Counts of") then
         return pending("whole CPUs may not be monitored here")
      end
      local by = count("-C 0 -e r2,page-faults --timeout 0.2", env)
      assert.are.equal(0, by["cpu_atom/r2/"].value)
      assert.are.equal(by["cpu_core/r2/"].value, by.r2.value)
      assert.is_true(math.abs(by["page-faults"].value - by.r2.value) < 20)
   end)

   it("have the generic events, by the kernel's number of the PMU above that of the event", function()
      local out = run("-e 'for _, e in ipairs(assert(require(\"pfm.events\").read(\"instructions:u\"))) do "
         .. "print(e.name, #e.parts, e.parts[1].type, e.parts[1].config) end'", env)
      has(out, "instructions:u\t2\t0\t0x0000000100000001")
      has(out, "cpu_atom/instructions/:u\t1\t")
      has(out, "cpu_core/instructions/:u\t1\t")
   end)
end)

describe("stat --cgroup", function()
   it("wants CPUs, a cgroup that there is, and a machine that can", function()
      local out, status = run("stat -G nosuch -- true")
      assert.are_not.equal(0, status)
      has(out, "--cgroup needs -a or -C")
      out, status = run("stat -a -G no/such --timeout 0.05")
      assert.are_not.equal(0, status)
      assert.is_truthy(out:find("cgroup: there is no 'no/such' below /", 1, true)
         or out:find("none of the mounted hierarchies has perf_event", 1, true), out)
   end)

   it("counts what its tasks do, and nothing else", function()
      local root = c.sh("awk '$3 == \"cgroup2\" { print $2; exit }' /proc/mounts"):match("%S+")
      local mine = root and root .. "/lpfm-spec-" .. c.sh("echo $$"):match("%d+")
      if not mine or select(2, c.sh("mkdir " .. mine)) ~= 0 then return pending("no cgroup can be made here") end
      local name = mine:match("[^/]*$")
      local idle = count("-a -G " .. name .. " -e task-clock,page-faults --timeout 0.1")
      local usage = c.target("usage")
      local busy = count(("-a -G %s -e task-clock,page-faults -- sh -c 'echo $$ > %s/cgroup.procs; exec %s 20 1000 1'")
         :format(name, mine, usage))
      c.sh("rmdir " .. mine)
      assert.are.equal(0, idle["page-faults"].value)
      assert.are.equal(0, idle["task-clock"].value)
      assert.is_true(busy["page-faults"].value >= 1000, busy["page-faults"].value)
      assert.is_true(busy["task-clock"].value > 5e6)
   end)
end)
