-- SPDX-License-Identifier: MIT
-- A program does not notice that it is measured: its output and exit status are those it has alone.
-- One interpreter: the subject is the program as a process.

local c = require "support.c"
local files = require "support.files"

local program = c.program
local scratch = c.folder()

local WAYS = { "record -q -o %s/data --", "record -q -g -o %s/data --", "record -q --call-graph dwarf -o %s/data --",
   "stat -o %s/out --", "stat --per-thread -o %s/out --", "stat -r 2 -o %s/out --", "histogram -o %s/out cpu --",
   "cascade -o %s/out page-faults:1 then cs --" }

-- Checks that a command, after `by`, prints and returns the same alone and in each of WAYS.
local function is_the_same(command, by)
   local expected, status = c.sh((by or "") .. " " .. command)
   for _, way in ipairs(WAYS) do
      local out, ended = c.sh(("%s %s %s %s"):format(by or "", program, way:format(scratch), command))
      out = out:gsub("lpfm %l+: no hardware PMU [^\n]*\n", "")
      local times = way:find("-r 2", 1, true) and 2 or 1
      assert.equal(expected:rep(times), out, way)
      assert.equal(status, ended, way)
   end
end

local function has(name)
   return select(2, c.sh("command -v " .. name)) == 0
end

describe("A program that is measured", function()
   it("has no tracer, no descriptor of lpfm's, and signals and limits as alone", function()
      is_the_same(c.target("notices"))
   end)

   it("has the descriptors that it is given, of any number, and those closed that are", function()
      is_the_same(c.target("notices"), "bash -c 'ulimit -n 8192; exec \"$@\" 9>/dev/null 5000>/dev/null' bash")
      -- with stdin and stderr closed, and with stdin alone closed
      is_the_same(c.target("notices"), "sh -c 'exec \"$@\" <&- 2>&-' sh")
      is_the_same(c.target("notices"), "sh -c 'exec \"$@\" <&-' sh")
   end)

   it("is measured where ptrace(2) is denied", function()
      is_the_same(c.target("notices"), c.compile("denied") .. " 1:ptrace")
   end)

   it("is measured where prlimit(2) is denied", function()
      is_the_same(c.target("notices"), c.compile("denied") .. " 1:prlimit")
   end)

   it("keeps signals that its parent ignores ignored", function()
      is_the_same("sh -c 'kill -INT $$; kill -TERM $$; kill -USR1 $$; echo still'", "trap '' INT TERM USR1;")
      -- the kernel reports no end of a child where SIGCHLD is ignored
      is_the_same("awk '/SigIgn/ { print substr($2, 9) }' /proc/self/status",
         [[timeout -s KILL 60 bash -c 'trap "" INT TERM USR1 USR2 CHLD; exec "$@"' bash]])
   end)

   it("may take its time to save what it has, when Ctrl-C interrupts it", function()
      files.write(scratch .. "/saves.sh", [[
         trap 'sleep 3; echo saved >saved; exit 7' INT
         echo >ready
         while :; do sleep 0.1; done]])
      -- Like Ctrl-C, kill signals a group, which setsid makes; sh's jobs ignore SIGINT, hence env.
      local out, status = c.sh(([[cd %s && mkfifo ready &&
         { env --default-signal=INT setsid %s stat -- sh saves.sh & } && timeout 60 head -n 1 ready &&
         kill -s INT -- -$! && wait $!; status=$?
         cat saved; exit $status]]):format(scratch, program))
      assert.truthy(out:find("saved\n", 1, true), out)
      assert.equal(7, status, out)
   end)

   it("can be checked for leaks", function()
      local leaky, clean = scratch .. "/leaky", scratch .. "/clean"
      files.write(scratch .. "/leak.c", "#include <stdlib.h>\nint main(void) { return LEAK && malloc(9) ? 0 : 0; }\n")
      for path, leak in pairs { [leaky] = 1, [clean] = 0 } do
         local out, status = c.sh(("LD_PRELOAD= gcc -w -DLEAK=%d -fsanitize=address -o %s %s/leak.c"):format(leak, path,
            scratch))
         if status ~= 0 then return pending("gcc has no sanitizers here: " .. out) end
      end
      is_the_same("env -u LD_PRELOAD ASAN_OPTIONS=detect_leaks=1 " .. clean)
      -- addresses and numbers of processes differ from run to run
      is_the_same(("sh -c 'env -u LD_PRELOAD ASAN_OPTIONS=detect_leaks=1 %s 2>&1 | grep -c Direct.leak'"):format(leaky))
   end)

   it("is sampled in a time namespace, whose clock is not that of perf_event", function()
      local recording = require "pfm.recording"
      if select(2, c.sh("unshare -T --monotonic -1 -f true")) ~= 0 then
         return pending("unshare makes no time namespace here")
      end
      for _, offset in ipairs { "-1000", "100000" } do
         local record = ("unshare -T --monotonic %s -f %s record -q -o %s/time"):format(offset, program, scratch)
         c.must(record .. " -e page-faults -c 1 -- true")
         assert.is_true(assert(recording.open(scratch .. "/time")).ends.samples > 0, offset)
      end
   end)

   it("can trace and debug others", function()
      if not has("strace") then return pending("strace is not installed") end
      is_the_same("strace -qq -e trace=chdir sh -c 'cd /; exit 3'")
      if not has("gdb") then return pending("gdb is not installed") end
      is_the_same("sh -c 'gdb -batch -nx -ex run -ex \"print \\$_exitcode\" --args sh -c \"exit 5\" 2>&1 | grep ^.1'")
   end)

   it("can measure another", function()
      is_the_same(("%s record -q -o %s/inner -- sh -c 'echo inside; exit 3'"):format(program, scratch))
   end)

   it("is sampled with what it runs, where it samples that, too", function()
      local sample = ("%s record -q -e page-faults -c 1 -o %s"):format(program, scratch)
      local out, status = c.sh(("%s/outer -- %s/inner -- %s"):format(sample, sample, c.target("faults")))
      assert.equal(0, status, out)
      local function samples(name)
         local report = c.sh(("%s report --plain -s comm %s/%s"):format(program, scratch, name))
         return report:match("([%d,]+)  page4\n") or report
      end
      assert.equal(samples("inner"), samples("outer"))
   end)

   it("is measured by one alone: another is told which one that is", function()
      local proc, lpfm = require "lpfm.proc", require "lpfm"
      local child = assert(proc.spawn { "sleep", "1000" })
      local pid, ctx = child.pid, assert(lpfm.create {})
      assert(ctx:load(pid))
      local said, status = c.sh(("%s record -o %s/data -p %d --timeout 0.1"):format(program, scratch, pid))
      ctx:close()
      child:close()
      assert.equal(1, status)
      local holder = ("thread %d has a context already, of process %d (%s), and can have one only"):format(pid,
         proc.getpid(), files.read("/proc/self/comm"):gsub("\n", ""))
      assert.truthy(said:find(holder, 1, true), said)
   end)

   it("is traced to its end, not to that of what it leaves running", function()
      if not has("valgrind") then return pending("valgrind is not installed") end
      local said, status = c.sh(([[cd %s && timeout 60 %s trace -o trace -- sh -c '
         sleep 1000 >&- 2>&- & echo $! >left; exit 3']]):format(scratch, program))
      local left = files.read(scratch .. "/left")
      assert.equal(0, select(2, c.sh("kill " .. left)), "what it has left runs still")
      assert.equal(3, status, said)
   end)

   it("has the rights that a set-user-ID program has", function()
      if select(2, c.sh("test $(id -u) = 0 && su nobody -s /bin/sh -c true")) ~= 0 then
         return pending("only root can become another user without a password")
      end
      is_the_same("su nobody -s /bin/sh -c 'id -un; exit 4'")
   end)

   it("is said not to be measured where the kernel takes the counters from it", function()
      local taken = scratch .. "/taken"
      local _, status = c.sh(("cp $(readlink -f $(command -v awk)) %s && chown nobody %s && chmod u+s %s"):format(taken,
         taken, taken))
      local user = [[ 'BEGIN { while (getline < "/proc/self/status") if (/^Uid/) print $3 }']]
      if status ~= 0 or c.sh(taken .. user) == "0\n" then
         return pending("only root can make a program that runs as another user")
      end
      local busy = [[ 'BEGIN { for (i = 0; i < 1e7; i++) n += i }']]
      for _, command in ipairs { taken .. busy, ("sh -c %q"):format(taken .. busy .. "; true") } do
         local said = c.sh(("%s stat -e page-faults -- %s"):format(program, command))
         assert.truthy(said:find("of the CPU time was not counted", 1, true), said)
         assert.truthy(said:find("set-user-ID", 1, true), said)
         said = c.sh(("%s record -o %s/data -- %s"):format(program, scratch, command))
         assert.truthy(said:find("of the CPU time was not sampled", 1, true), said)
         assert.truthy(said:find("set-user-ID", 1, true), said)
         assert.falsy(said:find("try a smaller", 1, true), said)
      end
      for _, words in ipairs { "perfex --", "cascade page-faults:1 then task-clock --", "histogram cpu --",
         "top --once --" } do
         local said = c.sh(("%s %s %s"):format(program, words, taken .. busy))
         assert.truthy(said:find(taken .. " is set-user-ID: the kernel takes the counters from it", 1, true), said)
      end
      local two = "awk" .. busy .. "& awk" .. busy .. "; wait"
      local whole = c.sh(("%s stat -e page-faults -- sh -c %q"):format(program, two))
      assert.falsy(whole:find("not counted", 1, true), whole)
   end)
end)
