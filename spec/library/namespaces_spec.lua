-- SPDX-License-Identifier: MIT
-- Measuring where /proc tells nothing of the processes, or tells of others, and where processes are
-- outside of the recorder's PID namespace.

local c = require "support.c"
local files = require "support.files"

local cwd = require("posix.unistd").getcwd()
local program = c.program
local folder = c.folder()

-- Where lpfm finds its parts without /proc.
local PARTS = ("LPFM_CPATH=%s LPFM_SCRIPTS=%s/scripts LD_LIBRARY_PATH=%s"):format(program:match "^(.*)/", cwd,
   program:match "^(.*)/[^/]*/")

-- Runs commands in namespaces of their own; `L` is lpfm.
local function inside(options, commands)
   local file = os.tmpname()
   files.write(file, "cd " .. folder .. "\n" .. commands)
   local out, status = c.sh(("%s L=%s unshare %s sh %s"):format(PARTS, program, options, file))
   os.remove(file)
   return out, status
end

local function without_proc(commands)
   return inside("-m", "umount -l /proc\n" .. commands)
end

local why = select(2, c.sh "LPFM_MACHINE=perf unshare -m -p -f --mount-proc true") ~= 0 and "it takes root to unshare"

local function test(name, body)
   it(name, function()
      if why then return pending(why) end
      body()
   end)
end

describe("without /proc", function()
   local UNKNOWN = "the threads of process %d+ are unknown: /proc hides them, or is not mounted\n"

   for _, command in ipairs { "stat -e task-clock", "stat --per-thread", "record -q -o %s/x", "top --once" } do
      test(command:match "^%l+ ?%-?%-?%a*" .. " counts no process of which it would miss threads", function()
         local out, status = without_proc(("sleep 60 & LPFM_MACHINE=perf $L %s -p $!; s=$?; kill $!; exit $s"):format(
            command:format(folder)))
         assert.truthy(out:find(UNKNOWN), out)
         assert.equal(1, status, out)
      end)
   end

   for _, level in ipairs { "thread", "process" } do
      test("a thread can be counted, shown by " .. level, function()
         local out, status = without_proc(("sleep 60 & LPFM_MACHINE=perf $L stat --per-%s -e page-faults -t $! "
            .. "--timeout 0.01; s=$?; kill $!; exit $s"):format(level))
         assert.equal(0, status, out)
         assert.truthy(out:find "%? +1 +%d+ +page%-faults", out)
      end)
   end

   test("nothing is merged, and nothing is left", function()
      c.must(("LPFM_MACHINE=perf %s record -q -e page-faults -c 1 -o %s/one -- true"):format(program, folder))
      local out, status = without_proc "timeout 60 $L merge -o both one one"
      assert.equal("lpfm merge: cannot write both: /proc is not mounted\n", out)
      assert.equal(1, status)
      assert.is_nil(io.open(folder .. "/both.part"))
   end)
end)

describe("with the /proc of another PID namespace", function()
   local lines = { "stat --per-thread -- true", "stat -D 1 -- true", "stat --timeout 0.01 -p $$",
      "record -o x -- true", "top --once -- true", "bias -- true" }

   for _, line in ipairs(lines) do
      test("lpfm " .. line .. " takes no process for another one", function()
         local out, status = inside("-p -f", "LPFM_MACHINE=perf $L " .. line .. "; exit $?")
         assert.truthy(out:find("/proc is that of another PID namespace, where this process is %d+, not %d+: "), out)
         assert.equal(1, status, out)
      end)
   end

   test("a command is counted, for which nothing need be read there", function()
      local out, status = inside("-p -f", "LPFM_MACHINE=perf $L stat -e page-faults -- true; exit $?")
      assert.equal(0, status, out)
      assert.truthy(out:find "%d +page%-faults", out)
   end)
end)

describe("processes that have one number after the other", function()
   test("are counted each by its name", function()
      local out, status = inside("-m -p -f --mount-proc", [[
         cp /bin/true first; cp /bin/true second
         cat >both <<'END'
            for name in first second; do
               echo 99 >/proc/sys/kernel/ns_last_pid
               ./$name & wait $!
            done
END
         LPFM_MACHINE=perf $L stat --per-process -e page-faults -- sh both; exit $?]])
      assert.equal(0, status, out)
      if not out:find(" 100 %l") then return pending "the processes did not get the number" end
      assert.truthy(out:find "\n +100 first +1 +%d+ +page%-faults", out)
      assert.truthy(out:find "\n +100 second +1 +%d+ +page%-faults", out)
   end)
end)

describe("processes outside of the PID namespace", function()
   -- Records all CPUs inside of a namespace while a program outside starts again and again; returns
   -- which processes have samples.
   local function recorded(record)
      local out, status = c.sh(([[
         cd %s; cp /bin/true stranger
         until [ -e stop ]; do ./stranger; done & outside=$!
         export %s L=%s; unshare -m -p -f --mount-proc %s -- ls -R /usr/include >/dev/null; s=$?
         touch stop; wait $outside; rm stop; exit $s]]):format(folder, PARTS, program, record))
      assert.equal(0, status, out)
      out = c.must(("cd %s && %s report --plain -s process,thread,object all"):format(folder, program))
      assert.truthy(out:find "%d  0 ", out)
      return out
   end

   test("are not given the name of the one that started last", function()
      local out = recorded("env LPFM_MACHINE=perf $L record -q -a -F 5000 -o all")
      assert.falsy(out:find("0 stranger", 1, true), out)
      assert.truthy(out:find("0 (idle or outside)", 1, true), out)
   end)

   test("are not given it in a file of perf", function()
      if c.missing { "perf" } then return pending "perf is not installed" end
      local out = recorded "perf record -q -a -e cpu-clock -o all"
      assert.falsy(out:find("0 stranger", 1, true), out)
      assert.truthy(out:find("0 swapper or outside", 1, true), out)
   end)
end)
