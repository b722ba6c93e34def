-- SPDX-License-Identifier: MIT
-- Commands and processes are measured whole, with their threads and children, unless one thread is
-- asked for: by record, top, stat -p and the prompt's functions. What stat does with commands is in
-- program_spec.lua. One interpreter: the subject is the program as a process.

local analyze = require "pfm.analyze"
local bias = require "pfm.bias"
local c = require "support.c"
local files = require "support.files"
local proc = require "lpfm.proc"
local profile = require "pfm.profile"
local record = require "repl.command.record"
local recording = require "pfm.recording"
local stat = require "repl.command.stat"
local stored = require "lpfm.samples"

local program, run = c.program, c.lpfm
local scratch = c.folder()
local file = scratch .. "/whole.data"
local shares

setup(function() shares = c.target("shares") end)

-- Counts the threads with samples. A thread that executed a program is in two rows.
local function threads()
   local seen, n = {}, 0
   for _, row in ipairs(analyze.by(assert(recording.open(file)), "thread").rows) do
      local tid = row.thread:match("^%d+")
      if not seen[tid] then n = n + 1 end
      seen[tid] = true
   end
   return n
end

-- Runs a shell line while "shares" runs with n threads; $pid is the process id of "shares".
local function beside(n, line)
   return c.sh(("%s 600 %d >/dev/null & pid=$!; until [ $(ls /proc/$pid/task | wc -l) = %d ]; do :; done; %s; s=$?; "
      .. "kill -USR1 $pid; wait; exit $s"):format(shares, n, n, line))
end

describe("A command", function()
   it("is sampled with all its threads", function()
      local out, status = run(("record -o %s -- %s 0.3 4"):format(file, shares))
      assert.equal(0, status, out)
      assert.falsy(out:find("not sampled", 1, true), out)
      assert.equal(4, threads())
   end)

   it("is sampled with its children", function()
      local out, status = run(("record -q -o %s -- sh -c '%s 0.2 1; %s 0.2 1'"):format(file, shares, shares))
      assert.equal(0, status, out)
      local rows = 0
      for _, row in ipairs(analyze.by(assert(recording.open(file)), "pid").rows) do
         if row.percent > 20 then rows = rows + 1 end
      end
      assert.equal(2, rows)
   end)

   it("has places with names in its children, too", function()
      local result, heavy = profile.collect { command = { "sh", "-c", shares .. " 0.3 1 >/dev/null; :" },
         inherit = true, events = "task-clock", period = 1e6 }, 0
      for place, n in pairs((bias.places(result))) do
         if place:find("/shares heavy+", 1, true) then heavy = heavy + n end
      end
      assert.is_true(heavy > result.samples / 2, ("%d of %d samples in heavy()"):format(heavy, result.samples))
   end)

   it("is sampled without a loss, while lpfm does not run, if --buffer is large enough", function()
      local faults = c.target("faults")
      local function losses(size)
         return (run(("record -g dwarf --buffer %s -e page-faults -c 50 -o %s -- sh -c 'kill -STOP $PPID; %s; "
            .. "kill -CONT $PPID' 2>&1"):format(size, file, faults)))
      end
      local small = losses("1M")
      assert.truthy(small:find("samples lost", 1, true), small)
      if c.sh("id -u"):match("%d+") ~= "0" then return end -- other users may lock little memory
      local large = losses("64M")
      assert.truthy(large:find("none lost", 1, true), large)
   end)

   it("is sampled by its first thread alone if that is said, and what is missing is, too", function()
      local out, status = run(("record --no-inherit -o %s -- %s 0.3 4"):format(file, shares))
      assert.equal(0, status, out)
      assert.truthy(out:find("it was spent in threads or children (without --no-inherit", 1, true), out)
      assert.equal(1, threads())
      assert.equal(2, select(2, run("record -i --threads -- true")))
   end)

   it("is sampled by its first thread where children cannot be sampled so, and why is said", function()
      local text = tostring(record.call(shares .. " 0.3 4 >/dev/null", { output = file, random = { mask = 0xffff } }))
      assert.equal(1, threads())
      assert.matches("%d+%% of the CPU time was not sampled: .*INHERIT: perf_event gives children one period", text)
   end)

   it("is not sampled before a delay is over", function()
      local out = run(("record -D 60000 -o %s -- %s 0.1 1"):format(file, shares))
      assert.truthy(out:find(" 0 samples ", 1, true), out)
      out = run(("histogram -D 60000 cpu -- %s 0.1 1"):format(shares))
      assert.truthy(out:find(" 0 overflows", 1, true), out)
   end)

   it("is sampled whole by top and at the prompt", function()
      local out = run(("top --once -d 0.3 -s thread -- %s 0.3 4"):format(shares))
      assert.equal(4, select(2, out:gsub(" shares\n", "")), out)
      record.call("exec " .. shares .. " 0.3 4 >/dev/null", file)
      assert.equal(4, threads())
   end)
end)

-- When a CPU switches between threads of a command, the kernel exchanges the threads' perf events,
-- and then, event by event, their counts (perf_event_sync_stat()).
describe("The threads of a command", function()
   it("have each its own counts, whatever is counted beside, and however often they take turns", function()
      local faults = c.target("faults")
      for _, events in ipairs { "faults", "task-clock,faults,cs", "cpu-clock,faults,minor-faults,task-clock" } do
         for _ = 1, 4 do
            local out, status = run(("stat --per-thread -x, -e %s -- %s"):format(events, faults))
            if out:find("does not report the counts of a thread that ends", 1, true) then
               return pending("this kernel does not report the counts of threads that end")
            end
            assert.equal(0, status, out)
            for thread = 1, 4 do
               local n = tonumber(out:match("page" .. thread .. ",%d+,(%d+),,faults,"))
               assert.is_true(n >= 1000 * thread and n < 1000 * thread + 200, out)
            end
         end
      end
   end)
end)

describe("Each thread of a command", function()
   it("is counted by name, or said not to be, on whichever CPU it ran", function()
      local out = run(("stat --per-thread -x, -e task-clock -- %s 0.3 4 2>&1 >/dev/null"):format(shares))
      local named = select(2, out:gsub("%f[^\n%z]%d+ shares,1,", ""))
      local untold = tonumber(out:match("(%d+) threads? could not be counted")) or 0
      assert.is_true(named + untold >= 4, out)
   end)
end)

describe("A running process", function()
   it("is sampled with all its threads; a thread, alone", function()
      for options, n in pairs { ["-p $pid"] = 4, ["-t $pid"] = 1, ["-i -p $pid"] = 1, ["-p $pid -t $pid"] = 4 } do
         local out, status = beside(4, ("%s record -o %s --timeout 1 %s"):format(program, file, options))
         assert.equal(0, status, out)
         assert.equal(n, threads(), options)
      end
   end)

   it("is shown by top, and counted by stat, with all its threads", function()
      local out = beside(4, program .. " top --once -d 1 -s thread -p $pid")
      assert.equal(4, select(2, out:gsub(" shares\n", "")), out)
      assert.truthy(out:find("^lpfm top: process %d+, "), out)
      out = beside(4, program .. " stat -e task-clock --timeout 1 --per-thread -p $pid")
      assert.equal(4, select(2, out:gsub("%d+ shares ", "")), out)
      out = beside(4, program .. " stat -e task-clock --timeout 0.1 -p $pid")
      assert.truthy(out:find("Counts of process %d+"), out)
      out = beside(4, program .. " stat -e task-clock --timeout 0.1 -t $pid")
      assert.truthy(out:find("Counts of thread %d+:"), out)
   end)

   it("may end any of its threads while it is looked through", function()
      local out, status = c.sh(([[%s 1000000 inturn & pid=$!; failed=0
         for i in 1 2 3; do
            %s record -q -o %s --timeout 0.05 -p $pid 2>&1 || failed=$((failed + 1))
            %s stat -e task-clock --timeout 0.05 -p $pid 2>&1 || failed=$((failed + 1))
         done; kill $pid; exit $failed]]):format(c.target("crowd"), program, file, program))
      assert.equal(0, status, out)
   end)

   it("is refused by its number if it has ended, also beside one that lives", function()
      for _, command in ipairs { "stat -e page-faults", "record -q -o " .. file, "bias" } do
         local out, status = c.sh(([[exec 2>&1; cd %s; rm -f ended; sleep 600 & pid=$!
            sh -c '{ until grep -q sleep /proc/$$/comm; do :; done; } & echo $! >ended; exec sleep 600' & parent=$!
            until grep -q "State:.Z" /proc/$(cat ended)/status; do :; done 2>/dev/null
            cd "$OLDPWD"; %s %s --timeout 0.05 -p $(cat %s/ended),$pid; s=$?
            kill $pid $parent; cat %s/ended; exit $s]]):format(scratch, program, command, scratch, scratch))
         assert.equal(1, status, out)
         assert.truthy(out:find(out:match("(%d+)%s*$") .. " has ended", 1, true), out)
      end
   end)

   it("is measured beside others, with their threads", function()
      local out = beside(2, program .. " stat -e page-faults --timeout 0.05 -p $pid,$$ 2>&1")
      assert.truthy(out:find("Counts of processes %d+, %d+, their threads and children:"), out)
   end)

   -- Runs a shell line beside a process that works in its second thread, after the first thread has
   -- ended; $pid is the process ID.
   local function beside_a_second_thread(line)
      files.write(scratch .. "/second.c", [[
         #include <pthread.h>
         static void *second(void *unused) { for (;;) ; return unused; }
         int main(void) { pthread_t t; pthread_create(&t, NULL, second, NULL); pthread_exit(NULL); }]])
      return c.sh(([[cd %s && LD_PRELOAD= gcc -pthread -o second second.c && { ./second & } && pid=$! &&
         until grep -q "State:.Z" /proc/$pid/status; do :; done; cd "$OLDPWD"; %s; s=$?; kill $pid; exit $s]]):format(
         scratch, line))
   end

   it("is sampled when its first thread has ended", function()
      for _, line in ipairs { ("%s record -q -o %s --timeout 1 -p $pid && %s report --plain %s"):format(program, file,
         program, file), program .. " top --once -d 1 -p $pid" } do
         local out, status = beside_a_second_thread(line)
         assert.equal(0, status, out)
         assert.truthy(out:find("second\n", 1, true), out)
      end
      local out, status = beside_a_second_thread(program .. " histogram cpu --timeout 1 -p $pid")
      assert.equal(0, status, out)
      assert.falsy(out:find(" 0 counted", 1, true), out)
   end)

   it("is tested for bias with all its threads", function()
      -- The places that differ most are shown. The loop has the same share in all runs, so that
      -- places of the kernel would come before it.
      local out = beside_a_second_thread(program .. " bias -e cpu-clock:u --timeout 1 -p $pid")
      assert.truthy(out:find("/second second+", 1, true), out)
   end)

   -- Measures a process that makes a second thread once the measurement runs, and that ends when
   -- the measurement has seen both threads.
   local function with_a_late_thread(measure)
      local fifo = scratch .. "/fifo"
      assert(select(2, c.sh("rm -f " .. fifo .. "; mkfifo " .. fifo)) == 0)
      local child = assert(proc.spawn({ "sh", "-c", ("exec %s 600 2 %s >/dev/null"):format(shares, fifo) }))
      assert(child:go())
      local writer
      measure(child.pid, function(seen)
         writer = writer or assert(io.open(fifo, "w"))
         if seen > 1 then child:kill("USR1") end
      end)
      writer:close()
      child:wait()
      child:close()
   end

   it("has its new threads sampled", function()
      with_a_late_thread(function(pid, tick)
         local p, n, tids = profile.prepare { tids = { pid }, inherit = true, seconds = 60 }, 1, {}
         profile.run(p, {
            block = function(block)
               local tally = stored.counter("tid")
               tally:add(block, { [65] = 0 })
               for tid in tally:rows() do tids[tid] = true end
            end,
            maps = function() end, comm = function() end,
            programs = function(rows)
               for _, row in ipairs(rows) do if row[1] == "FORK" then n = n + 1 end end
            end,
         }, function() tick(n) end)
         assert.equal(2, n)
         assert.is_true(tids[pid])
      end)
   end)

   it("has its new threads counted, by the contexts of those that make them or each by its own", function()
      for _, parts in ipairs { false, true } do
         with_a_late_thread(function(pid, tick)
            local n = 0
            local result = stat.call({
               tids = { pid }, events = "task-clock", seconds = 60, interval = 0.05, parts = parts,
               on_interval = function(row)
                  n = math.max(n, parts and row.subjects or #proc.threads(pid))
                  if row.events[1].value > 0 or not parts then tick(n) else tick(1) end
               end })
            assert.equal(parts and 2 or 1, result.subjects)
            assert.is_true(result.events[1].value > 0)
         end)
      end
   end)
end)

describe("sim:MODEL,live, which follows no children", function()
   it("says so of a command's", function()
      for line, title in pairs { ["stat -e cycles"] = "its first thread:\n",
         ["histogram cpu -e cycles -c 100000"] = "threads and children were left out: " } do
         local out, status = c.sh(("LPFM_MACHINE=sim:itanium2,live %s %s -- sh -c '%s 0.1 1; :'"):format(program, line,
            shares))
         assert.equal(0, status, out)
         assert.truthy(out:find(title, 1, true), out)
         assert.truthy(out:find("sim:itanium2,live follows no children", 1, true), out)
      end
   end)
end)
