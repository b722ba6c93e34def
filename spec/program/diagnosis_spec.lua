-- SPDX-License-Identifier: MIT
-- What lpfm says about a measurement is true of it: partial ones, rates, names, signals.
-- One interpreter: the subject is the program as a process.

local c = require "support.c"
local cjson = require "cjson"
local files = require "support.files"
local lpfm = require "lpfm"
local measure = require "pfm.measure"
local record = require "repl.command.record"

local program, run = c.program, c.lpfm
local scratch = c.folder()
local shares, named

setup(function() shares, named = c.target("shares"), c.target("named") end)

describe("with few descriptors", function()
   it("every command names their lack, and no other", function()
      local said = c.sh(([[for n in $(seq 5 24); do for what in "stat -e page-faults" "record -o %s/few.data"; do
         (ulimit -n $n; exec %s $what -- true); echo "status $? of $what with $n descriptors"
      done; done]]):format(scratch, program))
      local refused = 0
      for text, status, what in said:gmatch("(.-)status (%d+) (of [^\n]*)\n") do
         assert.falsy(text:find("no memory", 1, true) or text:find("traceback", 1, true)
            or text:find("attempt to", 1, true), what .. ": " .. text)
         if status ~= "0" then
            refused = refused + 1
            assert.truthy(text:find("Too many open files", 1, true) or text:find("ulimit -n", 1, true)
               or text:find("cannot open shared object file: Error 24", 1, true), -- EMFILE in ld.so
               what .. ": " .. text)
         end
      end
      assert.is_true(refused > 5, said)
      c.sh("rm -f " .. scratch .. "/few.data*")
   end)
end)

describe("a CPU of the simulated computer", function()
   it("is recorded and reported, with what stands for code there", function()
      local data = scratch .. "/sim.data"
      local out, status = c.sh(("LPFM_MACHINE=sim:itanium2 %s record -C 0 --timeout 0.02 -o %s"):format(program, data))
      assert.equal(0, status, out)
      assert.truthy(out:find("20 samples on the simulated machine sim:itanium2", 1, true), out)
      for _, line in ipairs { "report", "script", "annotate", "export -o -  --format csv" } do
         out, status = run(line .. " -i " .. data)
         assert.falsy(out:find("traceback", 1, true) or out:find("bad argument", 1, true), line .. ": " .. out)
         assert.equal(0, status, line .. ": " .. out)
      end
      c.sh("rm -f " .. data)
   end)
end)

describe("what may not be read", function()
   it("is not said to be missing, or something else", function()
      local root = c.sh("id -u"):match("%d+") == "0"
      local user = root and "setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all --inh-caps=-all "
         or ""
      if select(2, c.sh(user .. program .. " --version")) ~= 0 then pending("another user may not run this tree") end
      local denied = scratch .. "/denied.data"
      c.sh(("echo >%s; chmod 0 %s; chmod 755 %s"):format(denied, denied, scratch))
      for line, expected in pairs { [denied] = "cannot open " .. denied .. ": Permission denied",
         ["plot " .. denied] = denied .. ": Permission denied",
         ["export -o - --format csv " .. denied] = denied .. ": Permission denied",
         ["export " .. denied] = "no format: expected" } do
         local out = c.sh(user .. program .. " " .. line)
         assert.truthy(out:find(expected, 1, true), out)
      end
      c.sh("rm -f " .. denied)
   end)
end)

it("record names other users of the PMU that had its counter, as stat does, and blames no period then", function()
   local job = record.job({ command = { "true" }, events = "page-faults", period = 1e9 }, scratch .. "/taken.data")
   local ended = job.callbacks.ended
   function job.callbacks.ended(subject)
      local ctx = subject.ctx
      local function getinfo() return { { act_duration = 1000, blind = 700 } } end
      subject.ctx = setmetatable({ getinfo_evtsets = getinfo }, { __index = function(_, name)
         return function(_, ...) return ctx[name](ctx, ...) end
      end })
      ended(subject)
   end
   local said = tostring(job.complete(measure.run(job.target, job.callbacks)))
   assert.truthy(said:find("; for 70% of the time " .. measure.OTHERS, 1, true), said)
   assert.falsy(said:find("too few events", 1, true), said)
   said = run(("record -e page-faults -c 1000000000 -o %s/few.data -- true"):format(scratch))
   assert.truthy(said:find("too few events", 1, true), said)
   assert.falsy(said:find("other users", 1, true), said)
end)

describe("a measurement that ends before its command", function()
   it("blames no threads where there are none", function()
      local out = run(("stat --timeout 0.3 -e task-clock -- %s 1.5 1"):format(shares))
      assert.falsy(out:find("Threads or children", 1, true), out)
      assert.truthy(out:find("The measurement ended before the command did", 1, true), out)
      assert.truthy(out:find("\n +%d+%.%d%d +s user\n"), out) -- the kernel has ticks of 10 ms
      out = run(("record --timeout 0.3 -o %s/partial.data -- %s 1.5 1"):format(scratch, shares))
      assert.falsy(out:find("was not sampled", 1, true), out)
      assert.falsy((run(("report %s/partial.data"):format(scratch))):find("not sampled", 1, true))
   end)

   it("is one that its limit ended, also if the command has ended before that is noticed", function()
      local function until_gone(child)
         repeat
            local stat = assert(files.read(("/proc/%d/stat"):format(child.pid)))
         until stat:match("%) (%a)") == "Z"
      end
      local outcome = measure.run({ command = { "true" }, inherit = false }, {
         attach = function(subject)
            local ctx = assert(lpfm.create {})
            assert(ctx:write_pmcs { { num = 66, value = 9 } })
            assert(ctx:write_pmds { { num = 66, value = -1, flags = { "OVFL_NOTIFY" } } })
            assert(measure.load(ctx, subject) and ctx:start())
            return ctx
         end,
         begin = until_gone, message = function() return "enough" end, ended = function() end,
      })
      assert.same({ true, true }, { outcome.enough, outcome.partial })
   end)

   it("has counted nothing where that is its delay, and says so in each command and format", function()
      local never = "the command ended before --delay had passed"
      for line, words in pairs { ["stat -r 2"] = "<not counted>", ["stat -x,"] = "<not counted>,,page-faults",
         ["stat -I 10"] = "", ["stat --per-thread"] = "<not counted>",
         ["record --off-cpu -o " .. scratch .. "/none.data"] = "0 samples",
         ["top --once -c 1"] = "0 samples", ["histogram cpu -c 1"] = "0 overflows" } do
         local out = run(("%s -D 60000 -e page-faults -- true"):format(line))
         assert.truthy(out:find(never, 1, true) and out:find(words, 1, true), line .. ": " .. out)
         assert.falsy(out:find("nan", 1, true), out)
      end
      local out = run("cascade -D 60000 page-faults:1 then cs -- true")
      assert.truthy(out:find("1. page-faults:1: not reached", 1, true) and out:find(never, 1, true), out)
      out = run("stat -x, --from page-faults:1e9 -e page-faults -- true")
      assert.truthy(out:find("stage 1, 'page-faults:1e9', did not come to its end", 1, true), out)
   end)

   it("says that its end was not reached", function()
      local said = "'page-faults:1000000000' was not reached"
      for line, words in pairs { [""] = said .. ":", ["-x,"] = said .. ":", ["-I 1000"] = said .. ":",
         ["-r 2"] = said .. " in 2 of 2 runs:", ["--json"] = '"unreached":"page-faults:1000000000"' } do
         local out = run(("stat %s --until page-faults:1000000000 -e task-clock -- true"):format(line))
         assert.truthy(out:find(words, 1, true), line .. ": " .. out)
      end
      assert.falsy(run("stat --until page-faults:10 -e task-clock -- true"):find("not reached", 1, true))
   end)

   it("says that it ended before the command did", function()
      for line, words in pairs { ["stat"] = "The measurement", ["stat -x,"] = "The measurement",
         ["record -o " .. scratch .. "/early.data"] = "the recording", ["histogram cpu"] = "The measurement",
         ["cascade cpu-clock:1ms then cs"] = "The measurement" } do
         local out = run(("%s --timeout 0.05 -- %s 0.2 1"):format(line, shares))
         assert.truthy(out:find(words .. " ended before the command did", 1, true), line .. ": " .. out)
      end
      local out = run(("record -o %s/early.data -- %s 0.1 1"):format(scratch, shares))
      assert.falsy(out:find("ended before", 1, true), out)
   end)

   it("says nothing false after SIGINT or SIGTERM, either", function()
      for _, signal in ipairs { "INT", "TERM" } do
         local out = run(("record -o %s/cut.data -- sh -c '%s 0.2 1; kill -%s $PPID; exec %s 600 1'"):format(scratch,
            shares, signal, shares))
         assert.truthy(out:find("samples in", 1, true), out)
         assert.falsy(out:find("was not sampled", 1, true), out)
      end
   end)

   it("has the CPU times of that time only", function()
      for _, part in ipairs { "--timeout 0.3", "-D 300" } do
         local out = run(("stat --json %s -e task-clock -- %s 0.6 1"):format(part, shares))
         local result = cjson.decode(out:match("{.*}"))
         local counted, told = result.events[1].value / 1e9, result.user + result.system
         assert.is_true(math.abs(told - counted) < 0.05 + 0.1 * counted)
      end
   end)
end)

describe("the parts of a count", function()
   local function rows(level)
      local out = run(("stat --json --threads --per-%s -e page-faults:u,task-clock -- %s 0.4"):format(level, named))
      local by_name = {}
      for _, group in ipairs(cjson.decode(out:match("{.*}")).groups) do
         by_name[group.name:gsub("^%d+ ", "")] = group
      end
      return by_name, out
   end

   it("have rates by the CPU time that they used", function()
      for _, level in ipairs { "thread", "command" } do
         local by_name, out = rows(level)
         local idle = assert(by_name.idle, out)
         local faults, clock = idle.events[1], idle.events[2]
         local expected = faults.value / (clock.value / 1e9)
         assert.equal("/sec", faults["metric-unit"])
         assert.is_true(math.abs(faults.metric - expected) <= expected * 0.02,
            ("%g instead of %g"):format(faults.metric, expected))
      end
   end)

   it("have the names of their threads", function()
      local by_name, out = rows "thread"
      assert.truthy(by_name.busy and by_name.idle and by_name.named, out)
   end)
end)

describe("stat", function()
   it("says that its command died by a signal", function()
      local out, status = run("stat -e page-faults -- sh -c 'kill -SEGV $$'")
      assert.truthy(out:find("signal 11 (SIGSEGV)", 1, true), out)
      assert.equal(139, status)
   end)
end)

describe("the columns of a count's parts", function()
   it("have titles", function()
      local out = run(("stat --threads --per-thread -e page-faults -- %s 0.05"):format(named))
      assert.truthy(out:find("\n  name +threads +count +event\n"), out)
   end)
end)

-- --- no substitutes ------------------------------------------------------------------------------

-- For each errno of perf_event_open(2): the C calls' errno and text; words of reason and remedy.
local REFUSALS = {
   EPERM = { 1, 1, "Operation not permitted", "seccomp", "CAP_PERFMON" },
   EACCES = { 13, 1, "Permission denied", "seccomp", "CAP_PERFMON" },
   ENOSYS = { 38, 38, "Function not implemented", "CONFIG_PERF_EVENTS", "seccomp" },
}

-- Command lines that measure, or show the machine; at least one of each command that needs one.
local MEASURING = {
   "stat true", "stat -C 0 --timeout 0.1", "stat -a --timeout 0.1", "stat -p $$ --timeout 0.1", "stat -M list",
   "stat -x, -C 0 --timeout 0.1", "stat --json -I 50 -C 0 --timeout 0.1", "stat --regions -- true",
   "perfex true", "record -o denied.data true", "record -o denied.data -C 0 --timeout 0.1",
   "record -o denied.data -p $$ --timeout 0.1", "histogram cpu true", "histogram cpu -C 0 --timeout 0.1",
   "cascade page-faults:3 then cs -- true", "cascade page-faults:3 then cs -C 0 --timeout 0.1", "bias true",
   "bias -C 0 --timeout 0.1", "top --once", "top --once -C 0", "top --once true", "list", "list registers",
   "list formats", "list --json events", "list -x, fault",
   "-e 'assert(lpfm.machine())'", "-e 'assert(lpfm.create())'", "-e 'assert(lpfm.config())'",
   "-e 'assert(lpfm.pmcs())'", "-e 'assert(lpfm.pmds())'", "-e 'assert(lpfm.formats())'",
   "-e 'require(\"pfm.count\").run { command = { \"true\" }, events = \"cycles,page-faults\" }'",
   "-e 'require(\"pfm.profile\").collect { command = { \"true\" } }'",
   "-e 'require(\"pfm.measure.regions\").run { command = { \"true\" }, events = \"page-faults\" }'",
}

-- Command lines that need no machine, and a pattern of what each prints.
local OFFLINE = {
   ["help"] = "Commands:", ["stat --help"] = "Usage: lpfm stat", ["--version"] = "no machine",
   ["list pmus"] = "itanium2", ["list --pmu itanium2 cycles"] = "CPU_CYCLES", ["lab"] = "counters",
   ["completion bash"] = "_lpfm", ["report mine.data"] = "samples of", ["script mine.data"] = "cpu%-clock",
   ["annotate -f mine.data --top 1"] = "samples", ["plot mine.data"] = "shares", ["diff mine.data mine.data"] = "old",
   ["export --format folded -f mine.data"] = "shares", ["merge -o merged.data mine.data"] = "1 recording",
   ["stat --ranks ranks.json"] = "task%-clock", ["trace --help"] = "Usage", ["jupyter --help"] = "Usage",
   ["-e 'print(#lpfm.events(nil, { pmu = \"itanium2\" }))'"] = "%d+",
}

describe("where perf_event_open(2) is denied", function()
   local denied

   -- Runs lpfm in the scratch directory, perf_event_open(2) failing; only env sets LPFM_MACHINE.
   local function under(err, line, env)
      return c.sh(("cd %s && env -u LPFM_MACHINE %s %s %d %s %s"):format(scratch, env or "", denied, err,
         program, line))
   end

   local function assert_refused(name, out, line)
      for i = 3, #REFUSALS[name] do
         assert.truthy(out:find(REFUSALS[name][i], 1, true), ("%s: %s: expected '%s' in: %s"):format(name, line,
            REFUSALS[name][i], out))
      end
      assert.truthy(out:find("this computer cannot be measured: perf_event_open(2)", 1, true), line .. ": " .. out)
      assert.falsy(out:find("no CPU", 1, true) or out:find("no thread", 1, true), line .. ": " .. out)
   end

   setup(function()
      denied = c.target("denied")
      local out, status = c.sh(("cd %s && %s record -o mine.data -- %s 0.2 1 && "
         .. "%s stat --json -o ranks.json -e task-clock -- true"):format(scratch, program, shares, program))
      assert.equal(0, status, out)
   end)

   for name, want in pairs(REFUSALS) do
      it("every command that measures says why, and prints no number: " .. name, function()
         local tried = {}
         for _, line in ipairs(MEASURING) do
            local out, status = under(want[1], line)
            assert.equal(1, status, line .. ": " .. out)
            assert_refused(name, out, line)
            local said = out:gsub("perf_event_open%(2%)", "")
            if line:sub(1, 2) ~= "-e" then
               assert.falsy(said:find("%d"), ("%s: a number where nothing was measured: %s"):format(line, out))
            end
            tried[line:match("^%S+")] = true
         end
         assert.truthy(c.sh(("ls %s"):format(scratch)):find("mine.data", 1, true))
         assert.falsy(c.sh(("ls %s"):format(scratch)):find("denied.data", 1, true), "a recording of nothing")
         for _, row in ipairs(require("repl.command.rows").rows) do
            assert.truthy(tried[row.name] or row.offline, row.name .. " is not among the commands that were tried")
         end
      end)

      it("C calls fail with the reason and its errno: " .. name, function()
         local calls = c.compile("no_machine", "-lperfctr -lpfmlib")
         local out, status = c.sh(("env -u LPFM_MACHINE %s %d %s %d %q"):format(denied, want[1], calls, want[2],
            want[3]))
         assert.equal("", out)
         assert.equal(0, status)
      end)
   end

   it("a denied pidfd_open(2) is named where a process and its children are measured", function()
      for _, line in ipairs { "stat -e task-clock true", "record -o denied.data true",
         "stat -e task-clock -p $$ --timeout 0.1" } do
         local out, status = c.sh(("cd %s && env LPFM_MACHINE=perf %s 1:pidfd %s %s"):format(scratch, denied, program,
            line))
         assert.equal(1, status, line .. ": " .. out)
         assert.truthy(out:find("cannot be watched: pidfd_open(2): Operation not permitted", 1, true), out)
      end
   end)

   it("a denied socketpair(2) is named, and no limit of descriptors", function()
      local out = c.sh(("env LPFM_MACHINE=sim %s 1:socketpair %s -e 'print((select(2, lpfm.create())))'"):format(denied,
         program))
      assert.truthy(out:find("no descriptor for a context: socketpair(2): Operation not permitted\n", 1, true), out)
   end)

   local DENIED = {
      ["epoll_create"] = { "stat -e cs true", "cannot start the service thread: epoll_create1(2): " },
      ["epoll_ctl"] = { "stat -e cs true", "cannot watch the descriptor: epoll_ctl(2): " },
      ["getaffinity"] = { "stat -e cs -C 0 --timeout 0.01", "lpfm stat: getaffinity: " },
      ["ioctl"] = { "stat -e cs true", ": ioctl(2) of its event: " },
      ["mmap"] = { "record -o denied.data true", "buffer: cannot map the sampling buffer: mmap(2): " },
      ["send"] = { "stat -e cs true", "spawn: send: " },
      ["sigaction"] = { "record -o denied.data true", "catch: signal 12: sigaction(2): " },
      ["wait"] = { "stat -e cs true", "wait: waitid(2) or wait4(2): " },
      ["waitid"] = { "record -o denied.data true", "wait: waitid(2) or wait4(2): " },
   }

   for call, want in pairs(DENIED) do
      it("another denied system call is named: " .. call, function()
         local out, status = c.sh(("cd %s && env LPFM_MACHINE=perf timeout -s KILL 60 %s 1:%s %s %s"):format(scratch,
            denied, call, program, want[1]))
         assert.equal(1, status, out)
         assert.truthy(out:find(want[2] .. "Operation not permitted\n", 1, true), out)
         assert.falsy(out:find("traceback", 1, true), out)
      end)
   end

   it("commands that need no machine go on working", function()
      for line, words in pairs(OFFLINE) do
         local out, status = under(1, line)
         assert.equal(0, status, line .. ": " .. out)
         assert.truthy(out:find(words), ("%s: expected '%s' in: %s"):format(line, words, out))
      end
   end)

   it("the prompt begins, and a simulated machine can be chosen by its name", function()
      files.write(scratch .. "/prompt.txt", 'print((select(2, lpfm.create())))\nlist("fault")\nlpfm.machine "sim:k8"\n'
         .. 'print(stat({ cpus = { 0 }, seconds = 0.1 }, "cycles"))\n')
      local out, status = under(1, "--no-init <prompt.txt")
      assert.equal(1, status, out) -- list() failed
      local reason, rest = out:match("^create: (this computer cannot be measured: [^\n]*)\n(.*)$")
      assert.truthy(reason, out)
      assert.truthy(rest:find(reason, 1, true), out)
      assert.truthy(rest:find("simulated machine sim:k8", 1, true), out)
      assert.truthy(rest:find("On the simulated machine sim:k8:\n Counts of CPU 0:\n\n  100,000,000    cycles", 1,
         true), out)
   end)

   it("a simulated machine that the environment names is used", function()
      local out, status = under(1, "stat -o - -e cycles -C 0 --timeout 0.1", "LPFM_MACHINE=sim:itanium2")
      assert.equal(0, status, out)
      assert.truthy(out:find("^On the simulated machine sim:itanium2:\n"), out)
   end)
end)

describe("a simulated machine", function()
   local function on(machine, line)
      local out, status = c.sh(("cd %s && LPFM_MACHINE=%s %s %s"):format(scratch, machine, program, line))
      assert.equal(0, status, line .. ": " .. out)
      return out
   end

   it("is named in the first line of whatever is printed from it", function()
      local sim, live = "sim:itanium2", "sim:core2,live"
      local work = ("-- sh -c 'exec %s 0.2 1 >/dev/null'"):format(shares)
      on(live, "record -o sim.data -e task-clock " .. work)
      for _, try in ipairs {
         { sim, "stat -o - -C 0 --timeout 0.1" }, { sim, "stat -o - -x, -C 0 --timeout 0.1" },
         { sim, "stat -o - --json -C 0 --timeout 0.1" }, { sim, "stat -o - -I 50 -C 0 --timeout 0.1" },
         { sim, "stat -o - -x, -I 50 -C 0 --timeout 0.1" }, { live, "stat -o - true" }, { live, "perfex -o - true" },
         { live, "perfex -o - --json true" }, { live, "record -o sim2.data -e task-clock " .. work },
         { sim, "histogram cpu -o - -C 0 --timeout 0.1" }, { sim, "histogram cpu -o - --json -C 0 --timeout 0.1" },
         { sim, "cascade -o - -C 0 --timeout 0.1 cycles:1000 then cycles" },
         { sim, "cascade -o - --json -C 0 --timeout 0.1 cycles:1000 then cycles" },
         { live, "top --once " .. work }, { sim, "list" }, { sim, "list registers" }, { sim, "list -x, fault" },
         { sim, "list --json fault" }, { sim, "--version" }, { sim, "-e 'print(lpfm.machine())'" },
         { live, "-e 'print(lpfm.machine())'" }, { "perf", "report sim.data" }, { "perf", "report --json sim.data" },
         { "perf", "report -x, sim.data" }, { "perf", "report --samples sim.data" }, { "perf", "script sim.data" },
         { "perf", "plot sim.data" }, { "perf", "diff sim.data sim2.data" }, { "perf", "annotate sim.data" },
         { "perf", "diff -x, sim.data sim2.data" },
      } do
         local first = on(try[1], try[2]):match("^[^\n]*")
         assert.truthy(first:find("simulated", 1, true), ("%s: expected 'simulated' in: %s"):format(try[2], first))
      end
   end)

   it("refuses events by name that it does not simulate", function()
      local counts = [[
         local zeros = {}
         for _, name in ipairs(lpfm.events()) do
            local r, why = lpfm.dispatch_events { events = { name }, plm = 9 }
            assert(r or why:find("not simulated by " .. lpfm.machine().name, 1, true) or not why:find("simulated"), why)
            if r and #r.pmds == 1 and r.pmds[1] < 64 and not name:find("MRK") then
               local ctx = assert(lpfm.create())
               assert(ctx:write_pmcs(r.pmcs))
               assert(ctx:write_pmds { { num = r.pmds[1], value = 0 } })
               assert(ctx:load() and ctx:start())
               local t = os.clock()
               local function count() return tonumber(tostring(ctx:read_pmds { r.pmds[1] }[1].value)) end
               while count() == 0 and os.clock() - t < 1 do end
               if count() == 0 then zeros[#zeros + 1] = name end
               ctx:close()
            end
         end
         print(#zeros, table.concat(zeros, " "))]]
      for _, model in ipairs { "itanium2", "core2", "k8", "armv8", "power5" } do
         files.write(scratch .. "/zeros.lua", counts)
         -- wrong branch targets (Itanium, POWER5) are left out: no simulated branch has one
         local out = on(("sim:%s,live"):format(model), "zeros.lua"):gsub("BR_MISPRED_DETAIL%S*WRONG_TARGET", "")
         out = out:gsub("PM_BR_MPRED_TA%S*", ""):gsub("%s+$", "")
         assert.truthy(out:find("^%d+$"), model .. ": these stay at 0: " .. out)
      end
      local out = on("sim:itanium2", "stat -o - -e cycles,L1D_READS_SET1 -C 0 --timeout 0.1")
      assert.truthy(out:find("<not supported>    L1D_READS_SET1", 1, true), out)
      assert.truthy(out:find("L1D_READS_SET1 is not simulated by sim:itanium2", 1, true), out)
   end)
end)
