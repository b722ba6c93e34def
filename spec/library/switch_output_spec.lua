-- SPDX-License-Identifier: MIT
-- record --switch-output: a recording in several files, of which each can be reported alone.
-- One interpreter: the subject is the program as a process.
local c = require "support.c"
local files = require "support.files"
local known = require "pfm.record.known"
local lpfm = require "lpfm"
local proc = require "lpfm.proc"
local real = require "support.real"
local recording = require "pfm.recording"
local samples = require "lpfm.samples"

local program, run = c.program, c.lpfm
local scratch = c.folder()
local out = scratch .. "/out.data"

before_each(function() c.sh(("rm -rf %s/*"):format(scratch)) end)

-- Returns the files in the order of their names, which is the order of time.
local function parts(where)
   local list = {}
   for name in c.sh(("ls -1 %s.2*"):format(where or out)):gmatch("%S+%.%d+\n") do list[#list + 1] = name:sub(1, -2) end
   return list
end

local function open(path)
   local self = assert(recording.open(path))
   assert.same({}, self.damage, path)
   assert.truthy(self.ends, path)
   return self
end

-- Shell commands. UNTIL waits until there are so many files, ASK asks the recorder for another
-- file, and BUSY takes CPU time.
local UNTIL = "until [ $(ls %s.2* 2>/dev/null | wc -l) -ge %d ]; do :; done; "
local ASK = "kill -USR2 $PPID; "
local BUSY = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; "

local function asking(times)
   local text = ""
   for i = 1, times do text = text .. BUSY .. ASK .. UNTIL:format(out, i) end
   return text .. BUSY
end

describe("record --switch-output", function()
   it("goes on in another file at SIGUSR2; all samples are in one, and each file names what ran", function()
      local said, status = run(("record -g --switch-output -o %s -- sh -c '%s'"):format(out, asking(2)))
      assert.equal(0, status, said)
      local list, sum = parts(), 0
      assert.equal(3, #list, said)
      for _, path in ipairs(list) do
         assert.truthy(path:sub(#out + 1):match("^%.20%d%d[01]%d[0-3]%d[0-2]%d[0-5]%d[0-6]%d%d%d$"), path)
         local self = open(path)
         sum = sum + self.ends.samples
         assert.is_true(self.ends.samples > 0, path)
         local report = run(("report --plain -s comm,object -i %s"):format(path))
         assert.truthy(report:find("  sh +[%w_.-]*sh\n"), report)
      end
      local total = said:match("([%d,]+) samples in 3 files: ")
      assert.equal(tonumber((total:gsub(",", ""))), sum, said)
      assert.is_nil(io.open(out), "the last file has the time behind its name, too")
   end)

   it("begins a file at SIGUSR2 only where that is asked for: else the signal changes nothing", function()
      local line = "record -e page-faults -c 1 %s -o %s -- sh -c 'kill -USR2 $PPID; ls / >/dev/null; kill -USR2 $$'"
      for _, option in ipairs { "--switch-output=1G", "" } do
         local said, status = run(line:format(option, out))
         -- the status is that of the command, which the signal ends
         assert.equal(128 + 12, status, said)
         local self = open(option == "" and out or parts()[1])
         assert.same({ 1, 12 }, { #parts(), self.ends.signal })
         assert.is_true(self.ends.samples > 0, said)
      end
   end)

   it("takes an option without a value and what follows for the command", function()
      local said, status = run(("record -o %s --switch-output sh -c 'exit 7'"):format(out))
      assert.equal(7, status, said)
      assert.equal(1, #parts(), said)
   end)

   it("keeps the latest files: --switch-max-files", function()
      local said, status = run(("record --switch-output=2K --switch-max-files=2 -o %s -- sh -c '%s'"):format(out,
         "until ls " .. out .. ".2* | grep -q .; do :; done; first=$(ls " .. out .. ".2*); "
         .. "while [ -e $first ]; do :; done"))
      assert.equal(0, status, said)
      local list = parts()
      assert.equal(2, #list, said)
      local told, removed = {}, said:match("of which the latest 2 are kept")
      for name in said:gmatch("samples? in (%S+) %(") do told[#told + 1] = name end
      assert.truthy(removed, said)
      assert.same({ told[#told - 1], told[#told] }, list, said)
      for _, path in ipairs(list) do open(path) end
   end)

   it("ends when all files together have --max-size", function()
      local busy = "i=0; while [ $i -lt 800000 ]; do i=$((i+1)); done; exit 3"
      local line = "record -F 999 --switch-output=1K --max-size=20K -o %s -- sh -c '%s'"
      local said, status = run(line:format(out, busy))
      assert.equal(3, status, said)
      assert.truthy(said:find("it ended when the files had grown to --max-size", 1, true), said)
      assert.is_true(#parts() >= 2, said)
   end)

   it("switches by time, also of CPUs", function()
      local line = ("record -a --switch-output=0.2s -o %s -- sh -c '%s'"):format(out, UNTIL:format(out, 2))
      local said, status = run(line)
      assert.equal(0, status, said)
      for _, path in ipairs(parts()) do
         local self = open(path)
         local report = run(("report --plain -s comm -i %s"):format(path))
         assert.truthy(report:find("  sh\n", 1, true) or self.ends.samples == 0, report)
      end
   end)

   it("names in each file what runs since before the recording: -p", function()
      local child = proc.spawn { "sh", "-c", "while :; do :; done" }
      assert(child:go())
      local said, status = run(("record -g -p %d --switch-output=0.1s --timeout 0.6 -o %s"):format(child.pid, out))
      child:kill "KILL"
      child:close()
      assert.equal(0, status, said)
      local list = parts()
      assert.is_true(#list >= 2, said)
      for _, path in ipairs(list) do
         local self = open(path)
         local report = run(("report --plain -s comm,object -i %s"):format(path))
         assert.truthy(report:find("  sh +[%w_.-]*sh\n") or self.ends.samples == 0, report)
         assert.is_true(#self.maps > 0 and next(self.objects) ~= nil, path)
      end
   end)

   it("has each wait in one file, with its call stack: --off-cpu", function()
      if real ~= "perf" then pending("perfmon.ko does not report when threads leave a CPU") end
      local wait = "for i in 1 2 3 4 5 6 7 8; do sleep 0.05; done; "
      local said, status = run(("record --off-cpu --call-graph fp --switch-output -o %s -- sh -c '%s'"):format(out,
         wait .. ASK .. UNTIL:format(out, 1) .. wait .. ASK .. UNTIL:format(out, 2) .. wait))
      assert.equal(0, status, said)
      local waits = 0
      for _, path in ipairs(parts()) do
         local self = open(path)
         for block in self:each_block() do
            for s in samples.each(block, self:sizes()) do
               local number = s.values[#s.values]
               assert.is_true(number == 0 or #self.stack_table:frames(number) > 0, "stack " .. tostring(number))
            end
         end
         for _, e in ipairs(self.head.events) do
            if e.name == "off-cpu" then
               for pmd, n in self:group_by({ keys = { "ovfl_pmd" } }):rows() do
                  waits = waits + (pmd == e.pmd and n or 0)
               end
            end
         end
      end
      assert.equal(tonumber((said:match("([%d,]+) times off the CPU"):gsub(",", ""))), waits, said)
   end)

   it("keeps what is recorded when it is interrupted, and what stood in the file of -o", function()
      assert.equal(0, select(2, run(("record -q -o %s -- true"):format(out))))
      local before = files.read(out)
      local said, status = run(("record --switch-output -o %s -- sh -c '%s'"):format(out,
         asking(1) .. "kill -INT $PPID; exec sleep 300"))
      assert.equal(143, status, said)
      assert.equal(2, #parts(), said)
      for _, path in ipairs(parts()) do open(path) end
      assert.equal(before, files.read(out .. ".old"), "the earlier recording")
   end)

   it("refuses in words what it cannot do", function()
      for line, words in pairs {
         ["--switch-output=5"] = "--switch-output: '5' is neither 'signal' nor a size",
         ["--switch-output="] = "--switch-output: '' is neither",
         ["--switch-output=M"] = "--switch-output: 'M' is neither",
         ["--switch-output=1e3s"] = "--switch-output: '1e3s' is neither",
         ["--switch-output=.s"] = "--switch-output: '.s' is neither",
         ["--switch-output=0s"] = "--switch-output: '0s' is no time",
         ["--switch-output=0K"] = "--switch-output: '0K' is no size",
         ["--switch-output=-1M"] = "--switch-output: '-1M' is neither",
         ["--switch-max-files=2"] = "--switch-max-files goes with --switch-output",
         ["--switch-output --switch-max-files=0"] = "--switch-max-files: '0' is not a positive whole number",
         ["--switch-output -o -"] = "a recording cannot go to a pipe or the screen",
         ["--switch-output --every 1s -a"] = "--every and --switch-output exclude each other",
         ["--switch-output-event=cs"] = "--switch-output-event: ",
      } do
         local said, status = run(("record -o %s %s -- true"):format(out, line))
         assert.equal(2, status, line .. ": " .. said)
         assert.truthy(said:find(words, 1, true), line .. ": " .. said)
      end
      local said, status = run("record --switch-output -o /dev/null -- true")
      assert.equal(1, status, said)
      assert.truthy(said:find("cannot write /dev/null: a recording in several files needs", 1, true), said)
      for name, words in pairs { [("x"):rep(240)] = "its name is too long", ["nowhere/x"] = "nowhere/x: " } do
         said, status = run(("record --switch-output -o %s/%s -- true"):format(scratch, name))
         assert.equal(1, status, said)
         assert.truthy(said:find(words, 1, true), said)
      end
      assert.equal("", c.sh("ls " .. scratch))
   end)

   it("says where samples are that the disk had no room for, and loses none", function()
      if select(2, c.sh("unshare -m mount -t tmpfs lpfm /mnt")) ~= 0 then pending("it takes root to mount a disk") end
      local disk = scratch .. "/disk"
      local said, status = c.sh(("unshare -m sh -c 'mkdir -p %s && mount -t tmpfs -o size=128K lpfm %s && "
         .. "LPFM_LUA= %s record -g --switch-output=40K -F 5000 -o %s/x -- sh -c \"%s\"; s=$?; ls %s; exit $s'"):format(
         disk, disk, program, disk, "i=0; while [ \\$i -lt 500000 ]; do i=\\$((i+1)); done", disk))
      assert.equal(1, status, said)
      local sum = 0
      for n in said:gmatch("([%d,]+) samples? in [^%s:]+ %(") do sum = sum + tonumber((n:gsub(",", ""))) end
      local moved = {}
      for path in said:gmatch("the recording is in (%S+): ") do moved[path] = true end
      assert.truthy(next(moved), said)
      for path in pairs(moved) do
         sum = sum + assert(recording.open(path)).ends.samples
         os.remove(path)
      end
      local total = said:match("([%d,]+) samples in %d+ files: ")
      assert.equal(tonumber((total:gsub(",", ""))), sum, said)
   end)
end)

describe("what is known of programs", function()
   it("is kept of those that run, and of what made them; of others until the second look", function()
      lpfm.machine(real)
      local me, gone, parent = proc.getpid(), 2 ^ 22 + 1, 2 ^ 22 + 2 -- beyond all process IDs
      local its = known.new()
      its:add_maps { pid = gone, maps = {} }
      its:add_name { tid = gone, pid = gone, comm = "gone" }
      its:add_maps { pid = parent, maps = {} }
      its:add_records { { "FORK", 1, me, me, parent, parent }, { "EXIT", 2, parent, parent } }
      its:add_records { { "LOST", 3, 0, 0, 1, "full" } }
      assert.same({ 2, 1, 2 }, { #its:rest().maps, #its.names, #its.records })
      assert.same({ { pid = parent, maps = {} } }, its:rest().maps)
      assert.same({ 0, 2 }, { #its.names, #its.records })
   end)
end)
