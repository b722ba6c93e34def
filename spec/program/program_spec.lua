-- SPDX-License-Identifier: MIT
-- The lpfm program as its users meet it: commands, results, messages, exit statuses.
-- One interpreter: the subject is the program as a process.

local c = require "support.c"
local files = require "support.files"
local cjson = require "cjson"
local lpfm = require "lpfm"

local program, run = c.program, c.lpfm
local scratch = c.folder()

local read, write = files.read, files.write

local function lines_of(text)
   local out = {}
   for line in text:gmatch("[^\n]+") do out[#out + 1] = line end
   return out
end

-- Returns the lines of stat -x by event, each a list of fields.
local function csv_of(text)
   local out = {}
   for _, line in ipairs(lines_of(text)) do
      local fields = {}
      for field in (line .. ","):gmatch("([^,]*),") do fields[#fields + 1] = field end
      if fields[3] then out[fields[3]] = fields end
   end
   return out
end

local function near(expected, got, share)
   local message = ("%s is not within %g%% of %s"):format(tostring(got), share * 100, tostring(expected))
   assert.is_true(math.abs(got - expected) <= expected * share, message)
end

describe("lpfm", function()
   it("explains itself and each command", function()
      local out, status = run("--help")
      assert.equal(0, status)
      for _, name in ipairs { "stat", "record", "report", "list" } do
         assert.truthy(out:find("\n   " .. name, 1, true))
         local text, s = run(name .. " --help")
         assert.equal(0, s)
         assert.truthy(text:find("^Usage: lpfm " .. name))
         assert.equal(text, (run("help " .. name)))
      end
   end)

   it("says that it was interrupted, also while it starts", function()
      local loaded = scratch .. "/starts"
      c.must(("mkdir -p %s/scripts %s/repl/command"):format(loaded, loaded))
      write(loaded .. "/repl/environment.lua", "return {}")
      write(loaded .. "/repl/command/init.lua", 'io.popen("kill -INT $PPID"):close() return tostring(1)')
      local out, status = c.sh(("LPFM_SCRIPTS=%s/scripts env --default-signal=INT %s stat -- true"):format(
         loaded, program))
      assert.equal("lpfm: interrupted\n", out)
      assert.equal(130, status)
   end)

   it("says its version, interpreter and machine", function()
      local out, status = run("--version")
      assert.equal(0, status)
      assert.truthy(out:find("machine " .. lpfm.machine().name, 1, true))
   end)

   it("proposes the nearest command, option, event and topic", function()
      local out, status = run("statt -- true")
      assert.equal(2, status)
      assert.truthy(out:find("did you mean 'stat'?", 1, true))
      out, status = run("stat --evnt cs -- true")
      assert.equal(2, status)
      assert.truthy(out:find("did you mean '--event'?", 1, true))
      out, status = run("stat -e page-fault -- true")
      assert.equal(2, status)
      assert.truthy(out:find("event '?page%-fault'?; did you mean '?[Pp][Aa][Gg][Ee][_-][Ff]"), out)
      out, status = run("help recrod")
      assert.equal(2, status)
      assert.truthy(out:find("did you mean 'record'?", 1, true))
   end)

   it("runs a script with its arguments, and a piece of Lua", function()
      local script = scratch .. "/script.lua"
      write(script, "print(lpfm.machine().name, arg[0], ...)\nreturn 3")
      local out, status = run(script .. " one two")
      assert.equal(lpfm.machine().name .. "\t" .. script .. "\tone\ttwo\n", out)
      assert.equal(3, status)
      assert.equal("x\t5\n", (run("-e 'print(arg[1], 2 + 3)' x")))
      assert.equal("7\n", (c.sh("echo 'print(3 + 4)' | " .. program .. " -")))
   end)

   it("hands 100,000 arguments on to a command", function()
      for _, line in ipairs { "stat -o /dev/null --", "stat -o /dev/null", "record -q -o /dev/null --",
         "perfex -o /dev/null --" } do
         local out = c.sh(("%s %s sh -c 'echo $#' - $(seq 1 100000)"):format(program, line))
         assert.truthy(("\n" .. out):find("\n100000\n", 1, true), line .. ": " .. out:sub(-300))
      end
   end)

   it("shows where a script failed, and nothing of itself", function()
      local script = scratch .. "/bad.lua"
      write(script, "local function f() error('broken') end\nf()\n")
      local out, status = run(script)
      assert.equal(1, status)
      assert.truthy(out:find("^lpfm: [^\n]*bad.lua:1: broken\n"))
      assert.falsy(out:find("cli.lua", 1, true))
      write(script, "x = = 1")
      out, status = run(script)
      assert.equal(1, status)
      assert.truthy(out:find("bad.lua:1:", 1, true))
   end)

   it("says where a script cannot be compiled, and nothing of itself", function()
      write(scratch .. "/wrong.lua", "x = 1\nx = = 1\n")
      local path = scratch .. "/wrong.lua"
      for line, where in pairs { [path] = path .. ":2", ["- <" .. path] = "stdin:2", ["-e 'x = = 1'"] = "-e:1" } do
         local out, status = run(line)
         assert.equal(("lpfm: %s: unexpected symbol near '='\n"):format(where), out)
         assert.equal(1, status)
      end
   end)

   it("says which of its modules cannot be loaded", function()
      write(scratch .. "/lpfm.so", "")
      local out, status = c.sh(("LPFM_CPATH=%s %s stat -- true"):format(scratch, program))
      assert.truthy(out:find("lpfm stat: error loading module 'lpfm' from file '" .. scratch, 1, true), out)
      assert.equal(1, status)
   end)

   it("lets Ctrl-C stop a script that computes", function()
      local code = "local n = 0 repeat n = n + 1 until n < 0"
      local out, status = c.sh(("timeout --preserve-status -k 10 -s INT 0.5 %s -e '%s'"):format(program, code))
      assert.equal(130, status, out) -- 128 + SIGINT
   end)

   it("lists events and registers, all or some", function()
      local out, status = run("list")
      assert.equal(0, status)
      for _, name in ipairs { "task-clock", "page-faults", "PMC 66", "PMD 80", "default" } do
         assert.truthy(out:find(name, 1, true))
      end
      out = run("list fault")
      assert.falsy(out:find("task-clock", 1, true))
      assert.truthy(out:find("minor-faults", 1, true))
      assert.equal("what,number,name,description", lines_of((run("list -x,")))[1])
      assert.equal("event", cjson.decode((run("list --json"))).list[1].what)
      out, status = run("list nosuchthing")
      assert.equal(1, status)
      assert.truthy(out:find("nothing matches 'nosuchthing'", 1, true))
   end)

   it("calls registers counters and event selects that are, not those that hold data or control it", function()
      local expected = {
         nehalem = { "PMD 16 > counter", "PMD 32 > data", "PMC 16 > event select", "PMC 30 > control" },
         itanium2 = { "PMD 4 > counter", "PMD 17 > data", "PMC 7 > event select", "PMC 256 > control" },
         fam10h = { "PMD 3 > counter", "PMD 7 > data", "PMC 3 > event select", "PMC 4 > control" },
      }
      for model, rows in pairs(expected) do
         local out = c.sh(("LPFM_MACHINE=sim:%s %s list registers"):format(model, program))
         for _, row in ipairs(rows) do
            assert.truthy(out:find(row:gsub(" > ", " +[%%w_]+ +") .. "\n"), ("%s: %s\n%s"):format(model, row, out))
         end
      end
   end)
end)

describe("lpfm stat", function()
   local usage, shares

   setup(function() usage, shares = c.target("usage"), c.target("shares") end)

   -- Counts a run of the program usage; returns the fields by event, and what usage says of itself.
   local function measured(options, arguments)
      local file = scratch .. "/stat.csv"
      local out, status = run(("stat -x, -o %s %s -- %s %s"):format(file, options, usage, arguments))
      assert.equal(0, status, out)
      local cpu, faults, switches, before = out:match("cpu (%d+) faults (%d+) switches (%d+), (%d+) before main")
      return csv_of(read(file)), {
         cpu = tonumber(cpu), faults = tonumber(faults), switches = tonumber(switches), before = tonumber(before),
      }
   end

   -- Returns the least error of some runs: the clock counts time that a host takes from a guest.
   local function clock_error(options, arguments)
      local least = math.huge
      for _ = 1, 5 do
         local got, own = measured(options, arguments)
         least = math.min(least, math.abs(tonumber(got["task-clock"][1]) - own.cpu / 1e6) / (own.cpu / 1e6))
         if least <= 0.02 then break end
      end
      return least
   end

   it("agrees with the kernel's own account of the time", function()
      local least = clock_error("-e task-clock", "400 0 0")
      assert.is_true(least <= 0.02, ("task-clock is off by %g%%"):format(least * 100))
   end)

   it("agrees with the kernel's own account of faults", function()
      local got, own = measured("-e task-clock,page-faults", "100 20000 50")
      assert.equal("msec", got["task-clock"][2])
      near(own.faults, tonumber(got["page-faults"][1]), 0.02)
   end)

   -- Every switch since main() is counted, some before main(), and few at the program's end. A busy
   -- machine may add some there, so the least disturbed of some runs is taken.
   it("agrees with the kernel's own account of context switches", function()
      local beyond = math.huge
      for _ = 1, 5 do
         local got, own = measured("-e context-switches", "20 0 50")
         local count = tonumber(got["context-switches"][1])
         assert.is_true(count >= own.switches - own.before, ("%d counted, of %d"):format(count, own.switches))
         beyond = math.min(beyond, count - own.switches)
         if beyond <= 5 then break end
      end
      assert.is_true(beyond <= 5, beyond .. " context switches more than the kernel's")
   end)

   it("takes the command without -- and leaves its output alone", function()
      local out, status = c.sh(program .. " stat -e page-faults echo -n hello 2>/dev/null")
      assert.equal("hello", out)
      assert.equal(0, status)
   end)

   it("counts less at one level than at both", function()
      local both = measured("-e page-faults", "1 5000 0")
      local user = measured("-e page-faults:u", "1 5000 0")
      assert.is_true(tonumber(user["page-faults:u"][1]) >= 5000)
      assert.is_true(tonumber(user["page-faults:u"][1]) <= tonumber(both["page-faults"][1]) * 1.02)
   end)

   it("prints for people: units, separators, times", function()
      local out = run(("stat -- %s 30 2000 1"):format(usage))
      assert.truthy(out:find("msec  task%-clock +# +[%d.]+ CPUs utilized"))
      assert.truthy(out:find("%d,%d%d%d +page%-faults"))
      assert.truthy(out:find("s elapsed", 1, true))
      assert.truthy(out:find("s user", 1, true))
   end)

   it("prints JSON that says the same", function()
      local file = scratch .. "/stat.json"
      local out, status = run(("stat --json -o %s -e page-faults,task-clock -- %s 10 3000 0"):format(file, usage))
      assert.equal(0, status)
      local result = cjson.decode(read(file))
      assert.equal("page-faults", result.events[1].event)
      near(tonumber(out:match("faults (%d+)")), result.events[1].value, 0.02)
      assert.equal(usage, result.command[1])
      assert.is_true(result.elapsed > 0 and result.user + result.system > 0)
   end)

   it("repeats, with means and deviations", function()
      local got = measured("-r 3 -e page-faults", "1 1000 0")
      local row = got["page-faults"]
      assert.is_true(tonumber(row[1]) >= 1000)
      assert.truthy(row[4]:find("^[%d.]+%%$"))
      assert.truthy((run(("stat -r 2 -e page-faults -- %s 1 10 0"):format(usage))):find("(2 runs)", 1, true))
   end)

   it("prints intervals that add up to the whole", function()
      local file = scratch .. "/intervals.csv"
      -- ends when three intervals are there; a shell that reads makes no process
      local command = ([[n=0; while [ $n -lt 3 ]; do n=0; while read -r line; do n=$((n + 1)); done <%s; done
         read -r ns rest </proc/self/schedstat; echo cpu $ns]]):format(file)
      local out, status = c.sh(("%s stat -x, -I 50 -o %s -e task-clock -- sh -c '%s'"):format(program, file, command))
      assert.equal(0, status, out)
      local sum = 0
      for _, line in ipairs(lines_of(read(file))) do
         local time, value = line:match("^([%d.]+),([%d.]+),msec,task%-clock,")
         assert.truthy(time, line)
         sum = sum + tonumber(value)
      end
      near(tonumber(out:match("cpu (%d+)")) / 1e6, sum, 0.15)
   end)

   it("says which of several runs failed, and ends as one that did", function()
      local mark = os.tmpname()
      os.remove(mark)
      for form, where in pairs { ["-x,"] = "lpfm stat:", [""] = " " } do
         local line = [[stat %s -r 3 -e page-faults -- sh -c "test -e %s || { touch %s; exit 3; }" 2>&1]]
         local out, status = run(line:format(form, mark, mark))
         os.remove(mark)
         assert.equal(3, status, out)
         assert.truthy(out:find(where .. " 1 of 3 runs failed (the last with status 3)", 1, true), out)
      end
   end)

   it("says that stages leave threads and children out, and names an ID that none has", function()
      local out = run "stat --until page-faults:100000 -e page-faults -- true 2>&1"
      assert.truthy(out:find("Only the command's first thread was counted", 1, true), out)
      local said, status = run "stat -p 0 -e page-faults 2>&1"
      assert.equal(2, status, said)
      assert.truthy(said:find("--pid: 0 is out of the range of process IDs", 1, true), said)
   end)

   it("prints the interval in which the command ends", function()
      for _, form in ipairs { "-x,", "--json", "" } do
         local line = "stat %s -I 100000 -e page-faults -- %s 1 3000 0 2>&1 >/dev/null"
         local out, status = run(line:format(form, usage))
         assert.equal(0, status, out)
         local count = out:match("([%d,]+)%s+page%-faults") or out:match("(%d+),,page%-faults")
            or tostring(cjson.decode(out).events[1].value)
         assert.is_true(tonumber((count:gsub(",", ""))) >= 3000, out)
         assert.equal(1, select(2, out:gsub("page%-faults", "")))
      end
   end)

   it("does not take a program's own end for threads", function()
      local out = run(("stat -- %s 20 20000 0"):format(usage))
      assert.truthy(out:find("s elapsed", 1, true), out)
      assert.falsy(out:find("Threads or children", 1, true), out)
   end)

   it("says that results cannot be written", function()
      for _, line in ipairs { "stat -o /dev/full -- true", "stat -o - -- true 2>&1 >/dev/full",
         "stat -I 100000 -o /dev/full -- true" } do
         local out, status = run(line)
         assert.equal(1, status, line)
         assert.truthy(out:find("cannot write", 1, true), out)
      end
   end)

   it("takes lists given in parts, each thing in them once", function()
      local line = "sleep 60 & %s stat -e task-clock --timeout 0.05 -p $!,$! -p $!; s=$?; kill $!; exit $s"
      local out, status = c.sh(line:format(program))
      assert.equal(0, status, out)
      assert.truthy(out:find("Counts of process %d+, "), out)
      out, status = run("stat -e cpu-clock -C 0 -C 0-0 -- true")
      assert.equal(0, status, out)
      assert.truthy(out:find("Counts of CPU 0:", 1, true), out)
   end)

   it("includes threads, and says so when they were left out", function()
      local file = scratch .. "/threads.csv"
      for _, how in ipairs { "", "--threads", "--threads --per-process" } do
         local out, status = run(("stat %s -x, -o %s -e task-clock -- %s 0.2 3"):format(how, file, shares))
         assert.equal(0, status, out)
         local heavy, light = out:match("heavy (%d+) light (%d+)")
         local line = read(file):match("[^\n]*task%-clock[^\n]*"):gsub("^[^,]*,%d+,", "")
         local ms = tonumber((line:match("^[%d.]+")))
         assert.is_true(ms >= (heavy + light) / 1e6 * 0.99, ms .. " ms; the threads' own " .. heavy + light)
      end
      local out = run(("stat --no-inherit -e task-clock -- %s 0.2 3"):format(shares))
      assert.truthy(out:find("Threads or children of the command were not counted", 1, true))
      assert.truthy(out:find("without --no-inherit they are", 1, true))
      out = run(("stat --until task-clock:1000000000000 -e task-clock -- %s 0.2 3"):format(shares))
      assert.truthy(out:find("its first thread", 1, true))
      assert.equal(2, select(2, run("stat --threads --no-inherit -- true")))
   end)

   -- Only perf_event exchanges counts between threads, so machine perf is used in the guest, too.
   it("says that counts of threads may be mixed where lpfm is measured itself", function()
      local n = os.getenv("LPFM_PREBUILT") and 5 or 3 -- in the guest libperfmon starts two more
      local mixed = n .. " threads could not be counted: the kernel may have mixed their counts with those of process "
      for format, said in pairs { [""] = mixed, ["-x,"] = mixed, ["--json"] = '"unmeasured":' .. n } do
         local inner = ("stat %s --per-process -e task-clock -- %s 0.02 3"):format(format, shares)
         local out = c.sh(("LPFM_MACHINE=perf %s record -q -o %s/outer -- %s %s"):format(program, scratch, program,
            inner))
         assert.truthy(out:find(said, 1, true), out)
         out = run(inner)
         assert.falsy(out:find(said, 1, true), out)
      end
   end)

   -- Returns ms of CPU, counted and by the programs' own account, and the same of page faults.
   local function counted_and_told(line)
      local file = scratch .. "/children.csv"
      local out, status = run(("stat --threads -x, -o %s -e task-clock,page-faults -- %s"):format(file, line))
      assert.equal(0, status, out)
      local cpu, faults = 0, 0
      for ns, n in out:gmatch("cpu (%d+) faults (%d+)") do cpu, faults = cpu + ns / 1e6, faults + n end
      local got = csv_of(read(file))
      return tonumber(got["task-clock"][1]), cpu, tonumber(got["page-faults"][1]), faults
   end

   it("includes children when told to", function()
      -- The first exec(2) takes some ms in the kernel before the counters count: `exec`.
      local some, all = counted_and_told(usage .. " 0 0 0")
      local exec = math.max(all - some, 0)
      local clock, cpu, got, faults = counted_and_told(
         ("sh -c '%s 100 5000 0; %s 100 5000 0'"):format(usage, usage))
      assert.is_true(clock >= (cpu - exec) * 0.98, ("%g of %g ms"):format(clock, cpu - exec))
      assert.is_true(got >= faults * 0.98, ("%g of %g faults"):format(got, faults))
   end)

   it("measures a running thread until it ends, or for a time", function()
      local out, status = c.sh(([[%s 60 1 >/dev/null & target=$!
         %s stat -x, -e task-clock --timeout 0.2 -p $target; s=$?
         { timeout 600 %s stat -x, -I 50 -e task-clock -p $target 2>&1; echo "status $?"; } | {
            read -r line; kill $target; cat; }
         exit $s]]):format(shares, program, program))
      assert.equal(0, status, out)
      assert.is_true(tonumber(csv_of(out)["task-clock"][1]) > 0) -- the measurement had begun
      assert.truthy(out:find("\nstatus 0\n"), out)
   end)

   it("measures all CPUs while a command runs", function()
      local out, status = run(("stat -a -x, -e cpu-clock -- %s 200 0 0"):format(usage))
      assert.equal(0, status, out)
      local ms = tonumber(csv_of(out)["cpu-clock"][1])
      assert.is_true(ms >= 190, "all CPUs' clock is " .. ms)
   end)

   it("ends with the command's own status", function()
      assert.equal(7, select(2, run("stat -- sh -c 'exit 7'")))
      assert.equal(128 + 9, select(2, run("stat -- sh -c 'kill -9 $$'")))
      local out, status = run("stat -- /no/such/program")
      assert.equal(127, status)
      assert.truthy(out:find("/no/such/program", 1, true))
      assert.equal(126, select(2, run("stat -- /etc/passwd")))
   end)

   it("shows what cannot be counted as such, never as 0", function()
      if lpfm.machine().hw_counters > 0 then return pending("this machine has hardware counters") end
      local out, status = run("stat -x, -e r1c2,page-faults -- true")
      assert.equal(0, status)
      assert.truthy(out:find("<not supported>,,r1c2,0,0.00", 1, true))
      local _, said = out:gsub("no hardware PMU", "")
      assert.equal(1, said)
      assert.is_true(tonumber(csv_of(out)["page-faults"][1]) > 0)
   end)

   it("says what is wrong with a number before anything of the machine", function()
      for _, option in ipairs { "-r", "-I", "-D" } do
         local out, status = c.sh(("%s stat %s 0 -- true"):format(program, option))
         assert.equal(2, status, out)
         assert.truthy(out:find("^lpfm stat: %-%-%a+: '0' is not a positive"), out)
      end
   end)

   it("takes a process once that is named as a thread, too", function()
      local out = c.sh(("sleep 9 & %s stat -e page-faults -t $! -p $! --timeout 0.01; kill $!"):format(program))
      assert.truthy(out:find("Counts of process %d+,"), out)
   end)

   it("names the culprit of every mistake", function()
      local cases = {
         { "stat", "nothing to measure" },
         { "stat -p 999999999 -- true", "999999999" },
         { "stat -p x", "'x' is not a list of process IDs" },
         { "stat -C 4096 -- true", "CPU 4096 is not online" },
         { "stat -C 0-99999999999 -- true", "is not online" },
         { "record -C 99999999999999999999 -- true", "is not online" },
         { "stat -r 1000001 -- true", "--repeat: 1000001 is too much: at most 1000000" },
         { "stat -r 9007199254740993 -- true", "--repeat: 9007199254740993 is too much" },
         { "histogram cpu --buckets 1e15 -- true", "--buckets: 1e15 are too many" },
         { "stat -C 1-x -- true", "'1-x' is not a list of CPUs" },
         { "stat -r 0 -- true", "--repeat: '0' is not a positive whole number" },
         { "stat -I x -- true", "--interval: 'x'" },
         { "stat -o /no/such/dir/file -- true", "/no/such/dir/file" },
         { "stat -e '' -- true", "an event's name is missing" },
         { "stat -e cs,context-switches -- true", "counted by one register" },
         { "stat -e page-faults,page-faults -- true", "'page-faults' is given twice" },
         { "stat -x '' -- true", "-x: expected a separator" },
         { "stat -e rXYZ -- true", lpfm.machine().hw_counters > 0 and "no event rXYZ" or "unknown event 'rXYZ'" },
      }
      for _, case in ipairs(cases) do
         local out, status = run(case[1])
         assert.truthy(status == 1 or status == 2, case[1])
         assert.truthy(out:find(case[2], 1, true), case[1] .. ": " .. out)
         assert.falsy(out:find("traceback", 1, true), out)
      end
   end)
end)

describe("lpfm record and report", function()
   local shares

   setup(function() shares = c.target("shares") end)

   local function percents(file, options)
      local out, status = c.sh(("%s report -x, %s %s 2>/dev/null"):format(program, options or "", file))
      assert.equal(0, status)
      local rows, samples = {}, {}
      for percent, n, name in out:gmatch("\n([%d.]+),(%d+),%d+,[^,]+,([^\n]+)") do
         rows[name], samples[name] = tonumber(percent), tonumber(n)
      end
      return rows, samples
   end

   -- Records, and compares the shares of heavy() and light() with what the program says of itself.
   local function check_shares(options, command)
      local file = scratch .. "/shares.data"
      local out, status = c.sh(command:format(("%s record -e cpu-clock -c 1000000 -o %s %s"):format(program, file,
         options)))
      assert.equal(0, status, out)
      local heavy, light = out:match("heavy (%d+) light (%d+)")
      assert.truthy(heavy, out)
      local share, rows, samples = heavy / (heavy + light) * 100, percents(file)
      assert.is_true(rows.heavy and rows.light and rows.heavy + rows.light > 50, "too few samples in the functions")
      local got, n = rows.heavy / (rows.heavy + rows.light) * 100, samples.heavy + samples.light
      local chance = 4 * math.sqrt(share * (100 - share) / n) -- large for few samples
      local slack = n < 1000 and math.max(3, chance) or 3
      assert.is_true(math.abs(got - share) < slack, ("%g%% instead of %g%%"):format(got, share))
      return out, file
   end

   it("find the shares of two functions", function()
      local out, file = check_shares("", "%s -- " .. shares .. " 1.5 1")
      assert.truthy(out:find("samples in " .. file, 1, true))
      assert.truthy(out:find("none lost", 1, true), out) -- late timers lose none
   end)

   it("find the shares with randomized periods", function()
      check_shares("--random 0xffff", "%s -- " .. shares .. " 1.5 1")
   end)

   it("find the shares in a running process", function()
      check_shares("-p $pid --timeout 1", shares .. " 600 1 & pid=$!; %s; s=$?; kill -USR1 $pid; wait; exit $s")
   end)

   it("find the shares in four threads", function()
      local _, file = check_shares("--threads", "%s -- " .. shares .. " 0.6 4")
      local threads = 0
      for _ in pairs(percents(file, "-s thread")) do threads = threads + 1 end
      assert.equal(4, threads)
   end)

   describe("of one recording", function()
      local file

      setup(function()
         file = scratch .. "/one.data"
         local out, status = run(("record -q -F 2000 -o %s -- %s 0.5 1"):format(file, shares))
         assert.equal(0, status, out)
      end)

      it("say what was recorded", function()
         local out, status = run("report " .. file)
         assert.equal(0, status)
         assert.truthy(out:find("^# [%d,]+ samples of '" .. shares:gsub("%p", "%%%0")))
         assert.truthy(out:find("cpu-clock every 500.000 us", 1, true))
         assert.falsy(out:find("buffer was full", 1, true))
      end)

      it("sort by every key, each adding up to all", function()
         for _, key in ipairs { "symbol", "object", "dso", "line", "address", "thread", "tid", "comm", "pid", "cpu",
            "event", "comm,symbol" } do
            local sum = 0
            for _, p in pairs(percents(file, "-s " .. key)) do sum = sum + p end
            assert.is_true(math.abs(sum - 100) < 0.1, key .. " adds up to " .. sum)
         end
      end)

      it("find source lines and the names of objects", function()
         local found
         for name in pairs(percents(file, "-s line")) do found = found or name:match("^shares.c:(%d+)$") end
         assert.truthy(found)
         assert.is_true(percents(file, "-s object").shares > 90)
         assert.is_true(percents(file, "-s comm").shares > 99)
      end)

      it("print JSON, and only as much as asked for", function()
         local report = cjson.decode((run("report --json --top 1 " .. file)))
         assert.equal(1, #report.rows)
         assert.equal("heavy", report.rows[1].symbol)
         assert.equal("cpu-clock", report.head.events[1].name)
         assert.equal(0, report.ends.full)
         local out = run("report --percent-limit 50 -x, " .. file .. " 2>/dev/null")
         assert.equal(2, #lines_of(out))
      end)

      it("print every sample", function()
         local out = run("report --samples " .. file .. " 2>/dev/null")
         local lines = lines_of(out)
         assert.equal("event,time,pid,tid,cpu,address,period", lines[1])
         assert.truthy(lines[2]:find("^cpu%-clock,[%d.]+,%d+,%d+,%d+,0x%x+,500000$"))
         assert.equal(cjson.decode((run("report --json " .. file))).samples, #lines - 1)
      end)

      it("refuse an unknown key with the known ones", function()
         local out, status = run("report -s symbl " .. file)
         assert.equal(2, status)
         assert.truthy(out:find("did you mean 'symbol'?", 1, true))
      end)
   end)

   it("sample page faults one by one", function()
      local usage = c.target("usage")
      local file = scratch .. "/faults.data"
      local out, status = run(("record -e page-faults:u -c 1 -o %s -- %s 1 2000 0"):format(file, usage))
      assert.equal(0, status, out)
      local report = cjson.decode((run("report --json " .. file)))
      assert.is_true(report.samples >= 2000, "only " .. report.samples .. " samples")
   end)

   it("record other counts with each sample", function()
      local file = scratch .. "/with.data"
      local out, status = run(("record -F 1000 --with task-clock,page-faults -o %s -- %s 0.1 1"):format(file, shares))
      assert.equal(0, status, out)
      local last
      for line in (run("report --samples " .. file .. " 2>/dev/null")):gmatch("cpu%-clock,[^\n]+") do
         local clock = tonumber(line:match(",(%d+),%d+$"))
         assert.is_true(clock > (last or 0))
         last = clock
      end
      assert.truthy(last)
   end)

   it("count what a small buffer misses, and say so", function()
      local file, out = scratch .. "/small.data", nil
      for _ = 1, 50 do -- a thread may happen to wait for a processor whenever its buffer is full
         out = run(("record -c 20000 --buffer 4096 -o %s -- %s 0.3 1"):format(file, shares))
         if not out:find("none lost", 1, true) then break end
         assert.falsy((run("report " .. file)):find("buffer was full", 1, true))
      end
      assert.truthy(out:find("lpfm emptied its buffer too slowly: full", 1, true), out)
      assert.truthy((run("report " .. file)):find("Warning: the buffer was full", 1, true))
   end)

   it("say that a stripped program is one", function()
      if select(2, c.sh("command -v strip")) ~= 0 then return pending("there is no strip here") end
      local stripped, file = scratch .. "/stripped", scratch .. "/stripped.data"
      assert.equal(0, select(2, c.sh(("cp %s %s && strip -s %s"):format(shares, stripped, stripped))))
      local out, status = run(("record -q -o %s -- %s 0.2 1"):format(file, stripped))
      assert.equal(0, status, out)
      out = run("report " .. file)
      assert.truthy(out:find("[stripped: no symbols]", 1, true), out)
      assert.truthy(out:find("Warning: no function names in [^\n]*stripped"))
   end)

   it("keep the file when Ctrl-C ends a recording", function()
      local file = scratch .. "/int.data"
      local out = c.sh(("timeout -k 20 -s INT 0.7 %s record -o %s -- %s 60 1"):format(program, file, shares))
      assert.truthy(out:find("samples in", 1, true), out)
      assert.truthy((run("report " .. file)):find("heavy", 1, true))
   end)

   it("end at SIGINT in the background of a script, where the shell lets commands ignore it", function()
      local file = scratch .. "/background.data"
      local line = "%s record -q -o %s -- %s 30 1 >%s.out 2>&1 & "
         .. "until [ $(stat -c %%s %s 2>/dev/null || echo 0) -gt 4000 ]; do sleep 0.05; done; kill -INT $!; wait $!"
      -- the command ignores SIGINT, and gets SIGTERM after a while
      assert.equal(128 + 15, select(2, c.sh(line:format(program, file, shares, file, file))))
      assert.truthy((run("report " .. file)):find("heavy", 1, true))
   end)

   it("say what a script raised that has taken away what the message needs", function()
      for _, text in ipairs { "debug.traceback = nil", "string.gsub = nil", "getmetatable('').__index = nil",
         "debug.setmetatable('', nil)", "io.stdout = nil", "package.loaded = nil" } do
         local out, status = c.sh(('%s -e "%s error(\'its reason\')"'):format(program, text))
         assert.truthy(out:find("^lpfm: %-e:1: its reason\n"), text .. ": " .. out)
         assert.equal(1, status)
         assert.equal(0, select(2, c.sh(('%s -e "%s"'):format(program, text))), text)
      end
   end)

   it("end at SIGINT, SIGTERM and SIGHUP with a whole file or all counts", function()
      local file, line = scratch .. "/ended.data", [[
         %s 60 1 >/dev/null & p=$!
         env --default-signal=HUP %s %s -p $p 2>%s.err & m=$!
         until %s; do sleep 0.05; done
         kill -%s $m; wait $m; s=$?; kill $p; cat %s.err; exit $s]]
      local caught = "grep -q '^SigCgt:.*[4-7c-f]...$' /proc/$m/status" -- SIGTERM
      for _, signal in ipairs { "INT", "TERM", "HUP" } do
         local grown = ("[ $(stat -c %%s %s 2>/dev/null || echo 0) -gt 4000 ]"):format(file)
         local out, status = c.sh(line:format(shares, program, "record -o " .. file, file, grown, signal, file))
         assert.equal(0, status, signal .. ": " .. out)
         assert.truthy(out:find("samples in", 1, true), signal .. ": " .. out)
         out = run("report " .. file)
         assert.truthy(out:find("heavy", 1, true) and not out:find("did not end properly", 1, true), out)
         os.remove(file)
         out, status = c.sh(line:format(shares, program, "stat -e task-clock", file, caught, signal, file))
         assert.equal(0, status, signal .. ": " .. out)
         assert.truthy(out:find("task-clock", 1, true), signal .. ": " .. out)
      end
   end)

   it("go on at a SIGHUP that is ignored, as under nohup, as their command does", function()
      local file = scratch .. "/nohup.data"
      local line = "trap '' HUP; %s record -o %s -- sh -c 'kill -HUP $PPID; kill -HUP $$; exec %s 0.2 1'"
      local out, status = c.sh(line:format(program, file, shares))
      assert.equal(0, status, out)
      assert.truthy((run("report " .. file)):find("heavy", 1, true))
   end)

   it("leave a file that is readable so far when killed", function()
      local file = scratch .. "/killed.data"
      local line = "%s record -F 5000 -o %s -- %s 2 1 >%s.out 2>&1 & "
         .. "until [ $(stat -c %%s %s 2>/dev/null || echo 0) -gt 20000 ]; do sleep 0.05; done; kill -9 $!"
      local _, status = c.sh(line:format(program, file, shares, file, file))
      assert.equal(0, status)
      local out = run("report " .. file)
      assert.truthy(out:find("did not end properly", 1, true), out)
      assert.truthy(out:find("heavy", 1, true), out)
   end)

   it("keep the last recording when the command cannot start", function()
      local file = scratch .. "/kept.data"
      assert.equal(0, select(2, run(("record -q -o %s -- true"):format(file))))
      local before = read(file)
      assert.equal(127, select(2, run(("record -o %s -- /no/such/program"):format(file))))
      assert.equal(before, read(file))
      assert.equal(127, select(2, run(("record -o %s.new -- /no/such/program"):format(file))))
      assert.is_nil(io.open(file .. ".new"))
   end)

   it("end with the command's status, and complain like stat", function()
      local file = scratch .. "/status.data"
      assert.equal(5, select(2, run(("record -q -o %s -- sh -c 'exit 5'"):format(file))))
      local cases = {
         { "record -c 100 --random 0xff -o " .. file .. " -- true", "not smaller than the period" },
         { "record -c 0 -- true", "--period" },
         { "record -c 10 -F 10 -- true", "-c and -F exclude each other" },
         { "record --random zz -- true", "'zz' is not a mask" },
         { "record --buffer 1 -o " .. file .. " -- true", "a buffer of 1 byte is too small: it takes at least" },
         { "record -o - -- true", "expected -o FILE" },
         { "record --buffer lots -- true", "'lots' is not a size" },
         { "record -o /no/such/dir/x -- true", "/no/such/dir/x" },
         { "report /no/such/file", "/no/such/file" },
         { "report /etc/passwd", "/etc/passwd is not a recording of lpfm" },
      }
      for _, case in ipairs(cases) do
         local out, status = run(case[1])
         assert.truthy(status == 1 or status == 2, case[1])
         assert.truthy(out:find(case[2], 1, true), case[1] .. ": " .. out)
         assert.falsy(out:find("traceback", 1, true), out)
      end
   end)
end)
