-- SPDX-License-Identifier: MIT
-- Regions that programs mark, and lpfm stat --regions: what perfmon/regions.h promises, sentence by
-- sentence.

local c = require "support.c"
local files = require "support.files"
local real = require "support.real"
local render = require "pfm.render"

local build, interpreter = os.getenv("LPFM_BUILD") or "build", os.getenv("LPFM_LUA") or "luajit"
local lpfm = ("%s/%s/lpfm"):format(build, interpreter)
local LIVE = "sim:itanium2,live"
-- page faults that may come in addition to those of touch(): the library's, those of stacks and of
-- sanitizers' shadow memory
local SLACK = build:find("/san$") and 100 or 40

local program, out

setup(function()
   program, out = c.compile("regions", "-lpfmregions"), os.tmpname()
end)
teardown(function() os.remove(out) end)

-- Runs a command under stat --regions; returns what --json wrote, and the exit status.
local function measure(machine, command, options)
   local text, status = c.sh(("LPFM_MACHINE=%s timeout 600 %s stat --regions --json -o %s %s -- %s"):format(machine,
      lpfm, out, options or "-e page-faults", command))
   local json = files.read(out)
   assert(json ~= "", text)
   return render.from_json(json), status, text
end

local function region(result, name)
   for _, r in ipairs(result.regions) do
      if r.name == name then return r end
   end
end

local function counted(r, least, slack)
   local n = r.events[1].value
   assert.is_true(n >= least and n <= least + (slack or SLACK), ("%s: %s, not %d"):format(r.name or r.tid, n, least))
end

local function told(result, ...)
   local all = table.concat(result.problems, "\n")
   for _, text in ipairs { ... } do assert.is_truthy(all:find(text, 1, true), all) end
   assert.equal(select("#", ...), #result.problems, all)
end

for _, machine in ipairs { real, LIVE } do
   describe("Regions on " .. machine, function()
      local function run(case, options)
         local result, status, text = measure(machine, program .. " " .. case, options)
         return result, status, text
      end

      it("have what was counted between their start and their stop, inner ones included", function()
         local result, status = run "nested"
         assert.equal(0, status)
         counted(region(result, "outer"), 250)
         counted(region(result, "inner"), 150)
         assert.equal(1, region(result, "outer").calls)
         assert.equal(3, region(result, "inner").calls)
         assert.is_true(region(result, "outer").time >= region(result, "inner").time)
         assert.is_true(region(result, "outer").time <= result.elapsed)
         told(result)
      end)

      it("within themselves are further calls, counted by the outermost", function()
         local result = run "recursive"
         assert.equal(10, region(result, "recursive").calls)
         counted(region(result, "recursive"), 100)
         told(result)
      end)

      it("are each thread's own, added up, with the largest by the mean", function()
         local work = region(run "threads", "work")
         local values, sum = {}, 0
         assert.equal(4, #work.threads)
         for i, thread in ipairs(work.threads) do
            assert.equal(1, thread.calls)
            values[i], sum = thread.events[1].value, sum + thread.events[1].value
         end
         table.sort(values)
         for i = 1, 4 do assert.is_true(values[i] >= 100 * i and values[i] <= 100 * i + SLACK, values[i]) end
         assert.equal(4, work.calls)
         assert.equal(sum, work.events[1].value)
         assert.is_true(math.abs(work.events[1].imbalance - values[4] * 4 / sum) < 1e-9)
      end)

      it("that a thread does not leave end with it, and that is told", function()
         local result = run "thread"
         assert.equal(1, region(result, "stay").calls)
         counted(region(result, "stay"), 100)
         told(result, "region 'stay' was not left")
      end)

      it("that are not left end with exit(), and that is told", function()
         local result = run "exit"
         counted(region(result, "stay"), 100)
         assert.equal(1, region(result, "left").calls)
         told(result, "region 'stay' was not left")
      end)

      it("that are not left are missing after _exit() and signals, and that is told; others are there", function()
         local result = run "_exit"
         counted(region(result, "work"), 100)
         assert.is_nil(region(result, "stay"))
         told(result, "region 'stay' was never left")
         local killed, status = run "killed"
         assert.equal(128 + 9, status)
         assert.equal(9, killed.signal)
         assert.equal(1, region(killed, "work").calls)
         counted(region(killed, "work"), 100)
         told(killed, "region 'work' was never left")
      end)

      it("count nothing at a stop without a start, which is told", function()
         local result = run "stray"
         assert.is_nil(region(result, "stray"))
         assert.equal(1, region(result, "work").calls)
         told(result, "region 'stray': 2 stops without a start")
      end)

      it("that overlap are counted right, and told", function()
         local result = run "crossing"
         counted(region(result, "a"), 300)
         counted(region(result, "b"), 600)
         told(result, "region 'a' was left")
      end)

      it("go on in the parent after fork(), and are not the child's, which may have its own", function()
         local result, status = run "fork"
         local whole, work = region(result, "whole"), region(result, "work")
         assert.equal(0, status)
         assert.equal(1, whole.calls)
         -- more faults: fork() shares pages, which are copied when written to
         counted(whole, 100, 500)
         assert.equal(1, #whole.threads)
         counted(work, 300)
         assert.are_not.equal(whole.threads[1].pid, work.threads[1].pid)
         told(result, "region 'whole': 1 stop")
      end)

      it("are measured in programs that children execute", function()
         local result = run "exec"
         assert.equal(4, #region(result, "work").threads)
         assert.equal(1, region(result, "whole").calls)
         told(result)
      end)

      it("are measured up to there where a program closes all descriptors, and that is told", function()
         local result, status = run "close"
         assert.equal(0, status)
         assert.equal(2, region(result, "work").calls)
         counted(region(result, "work"), 100)
         told(result, "its counters could be read no more")
      end)

      it("are as many as one likes; names end after 127 bytes", function()
         local result = run "many"
         for i = 0, 49 do
            local r = region(result, "r" .. i)
            assert.equal(2, r.calls)
            counted(r, 2 * (i + 1))
         end
         assert.equal(1, region(result, ("n"):rep(127)).calls)
         told(result)
      end)

      it("are counted at each call", function()
         assert.equal(3000, region(run "calls", "short").calls)
      end)

      it("of one name are one region in objects that come and go", function()
         if os.getenv("LPFM_PREBUILT") then return pending("there is no compiler here") end
         local object = c.target("regions_loaded", "-shared -fPIC -Ikernel/include")
         local result = run("dlopen " .. object)
         assert.equal(3, region(result, "shared").calls)
         counted(region(result, "shared"), 400)
         assert.equal(2, region(result, "loaded").calls)
         counted(region(result, "loaded"), 200)
         told(result)
      end)

      it("of C++ end with exceptions where a guard stands", function()
         local guarded = c.compile_cpp("regions_cpp", "-lpfmregions")
         if not guarded then return pending("there is no g++ here") end
         local result, status = measure(machine, guarded)
         assert.equal(0, status)
         assert.equal(6, region(result, "guarded").calls)
         assert.equal(1, region(result, "whole").calls)
         told(result, "region 'whole' was left", "region 'unguarded' was not left")
      end)
   end)
end

describe("Regions", function()
   it("are no cost to a program that is run by itself: no descriptor is opened", function()
      local text, status = c.sh("env -u LPFM_REGIONS " .. program .. " alone")
      assert.equal("", text)
      assert.equal(0, status)
   end)

   it("leave a program alone whose LPFM_REGIONS names no file of theirs", function()
      for _, path in ipairs { "/nowhere/at/all", "/etc/passwd", "/", "''", "/dev/null" } do
         local text, status = c.sh(("LPFM_REGIONS=%s %s alone"):format(path, program))
         assert.equal("", text)
         assert.equal(0, status)
      end
   end)

   it("that nobody marks are told of, with what to do", function()
      local result, status = measure(real, "sh -c 'exit 3'")
      assert.equal(3, status)
      told(result, "linked with -lpfmregions")
   end)

   it("leave no file", function()
      local path = c.sh(lpfm .. " stat --regions -o /dev/null -e page-faults -- sh -c 'echo $LPFM_REGIONS'")
         :match("(/[^\n]*)\n$")
      assert.is_nil(io.open(path))
   end)

   it("that lack descriptors for a context are told of", function()
      if real == "linux" then return pending("one descriptor is enough there") end
      local result, status = measure(real, ("sh -c '%s ulimit -n 4; exec %s nested'"):format(
         "exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-;", program))
      assert.equal(0, status)
      assert.equal(0, #result.regions)
      told(result, "1 thread could not be measured, or not wholly: ")
   end)

   it("have metrics, of all threads and of each", function()
      local result = measure(LIVE, program .. " threads", "-M cpi")
      local work = region(result, "work")
      for _, part in ipairs { work, unpack(work.threads) } do
         local value = {}
         for _, row in ipairs(part.events) do value[row.event] = row.value end
         assert.is_true(value.instructions > 0)
         assert.is_true(math.abs(part.metrics[1].metrics[1].value - value.cycles / value.instructions) < 1e-9)
      end
   end)

   it("count in hardware where there is any", function()
      if require("lpfm").machine().hw_counters == 0 then return pending("this machine has no hardware counters") end
      local result = measure(real, program .. " nested", "-e instructions:u,cycles:u")
      local outer, inner = region(result, "outer").events[1].value, region(result, "inner").events[1].value
      assert.is_true(inner > 500 and outer > inner, ("%s %s"):format(outer, inner))
      assert.is_true(outer < 1e6, outer)
   end)

   it("are printed for people", function()
      local text = c.sh(("LPFM_MACHINE=%s %s stat --regions -e page-faults -- %s threads"):format(real, lpfm, program))
      assert.is_truthy(text:find("\n Regions of '" .. program .. " threads':\n", 1, true), text)
      assert.is_truthy(text:find("\n  work\n", 1, true), text)
      assert.is_truthy(text:find("\n +4 threads +4 +[%d.]+ +msec +in the region +%d%.%d%d\n"), text)
      assert.equal(4, select(2, text:gsub("%d+ %(regions%) +1 ", "")), text)
   end)

   it("are printed as separated values", function()
      local text = c.sh(("LPFM_MACHINE=%s %s stat --regions -x, -e page-faults -- %s threads"):format(real, lpfm,
         program))
      assert.is_truthy(text:find("^work,all,4,%d+,,page%-faults,%d+,100.00,[%d.]+,/sec,1%.%d+\n"), text)
      assert.equal(4, select(2, text:gsub("\nwork,%d+,1,%d+,,page%-faults,%d+,100.00,[%d.]+,/sec,", "")), text)
   end)

   it("are measured by the command alone: options that say otherwise are refused, by name", function()
      for _, option in ipairs { "-I 100", "-r 3", "--threads", "-D 5", "-i", "--from cs:1", "--until cs:1",
         "--switch-timeout 5" } do
         local text, status = c.sh(lpfm .. " stat --regions " .. option .. " -- true")
         assert.equal(2, status, text)
         assert.is_truthy(text:find("--regions and --", 1, true), text)
      end
      local text, status = c.sh(lpfm .. " stat --regions -a")
      assert.equal(2, status)
      assert.is_truthy(text:find("--regions needs a command", 1, true), text)
      text, status = c.sh(lpfm .. " stat --regions -e page-faults -- /nowhere/at/all")
      assert.equal(127, status)
      assert.is_truthy(text:find("/nowhere/at/all", 1, true), text)
   end)
end)

describe("pfm.region", function()
   local script

   before_each(function() script = os.tmpname() end)
   after_each(function() os.remove(script) end)

   local function write(text) files.write(script, 'local region = require "pfm.region"\n' .. text) end

   local MARKS = [[
      local mark = {}
      for i = 1, 3 do
         local ok, err = pcall(region, "fails", function() error(mark) end)
         assert(not ok and err == mark)
      end
      local ok, err = pcall(region, "words", error, "as it was", 0)
      assert(not ok and err == "as it was")
      local a, b, c = region("results", function(...) return ... end, 1, nil, 3)
      assert(a == 1 and b == nil and c == 3)
      region("outer", function() region("inner", function() return ("x"):rep(8e6) end) end)
   ]]

   local function calls_of(regions)
      local calls = {}
      for _, r in ipairs(regions) do calls[r.name] = r.calls end
      return calls
   end

   local WANTED = { fails = 3, words = 1, results = 1, outer = 1, inner = 1 }

   it("calls a function as a region; results and errors pass through, and it ends", function()
      write(MARKS)
      local result, status = measure(real, lpfm .. " " .. script)
      assert.equal(0, status)
      assert.are.same(WANTED, calls_of(result.regions))
      told(result)
      local outer, inner = region(result, "outer").events[1].value, region(result, "inner").events[1].value
      assert.is_true(inner > 0 and outer >= inner)
   end)

   it("says where it was called without a name or a function", function()
      local region_of = require "pfm.region"
      for _, call in ipairs { region_of, region_of.call } do
         for _, args in ipairs { { 5, print }, { "x", 5 }, { "x" } } do
            local ok, message = pcall(function() local a = call(args[1], args[2]) return a end)
            assert.truthy(not ok and message:find("regions_spec.lua:%d+: region: expected a "), message)
         end
      end
   end)

   it("is a call of the function where nobody measures", function()
      write(MARKS .. 'local t, err = region.results() assert(not t and err:find("region.begin comes first", 1, true))')
      assert.equal("", (c.sh("env -u LPFM_REGIONS " .. lpfm .. " " .. script)))
   end)

   it("gives a table of the regions to a script that measures itself", function()
      write('assert(region.begin "page-faults")\n' .. MARKS .. [[
         local t = assert(region.results())
         assert(#t.problems == 0)
         for _, r in ipairs(t.regions) do print(r.name, r.calls, r.events[1].event, r.events[1].value > 0) end
      ]])
      local text = c.sh("env -u LPFM_REGIONS " .. lpfm .. " " .. script)
      for name, calls in pairs(WANTED) do
         assert.is_truthy(text:find(("%s\t%d\tpage-faults\t"):format(name, calls), 1, true), text)
      end
      assert.is_truthy(text:find("inner\t1\tpage-faults\ttrue", 1, true), text)
   end)

   it("is finished when the script says so, and can begin again with other events", function()
      write([[
         for _, event in ipairs { "page-faults", "task-clock" } do
            assert(region.begin(event))
            region(event, function() return ("x"):rep(8e6) end)
            local t = assert(region.finish())
            assert(#t.regions == 1 and t.regions[1].name == event and t.regions[1].calls == 1)
            assert(t.regions[1].events[1].event == event and t.regions[1].events[1].value > 0)
            assert(#t.problems == 0, t.problems[1])
            assert(not region.results() and not region.finish())
            assert(region("unmeasured", function() return 5 end) == 5)
         end
      ]])
      local text, status = c.sh("env -u LPFM_REGIONS " .. lpfm .. " " .. script)
      assert.equal("", text)
      assert.equal(0, status)
   end)

   it("leaves it to lpfm stat --regions where that measures the script", function()
      write([[
         local ok, err = region.begin "page-faults"
         assert(not ok and err:find("measured already", 1, true))
      ]] .. MARKS .. "assert(not region.results())")
      local result, status = measure(real, lpfm .. " " .. script)
      assert.equal(0, status)
      assert.are.same(WANTED, calls_of(result.regions))
   end)

   it("raises an error for what is no name", function()
      write("region(nil, print)")
      assert.is_truthy(c.sh(lpfm .. " " .. script):find("expected a name, got a nil", 1, true))
   end)
end)
