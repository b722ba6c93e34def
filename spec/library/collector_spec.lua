-- SPDX-License-Identifier: MIT
-- Recordings that are made again and again: which are kept, which are deleted, and that all are
-- counted; on the simulated computer, where every sample is known.

local c = require "support.c"
local collector = require "pfm.fleet.collector"
local errno = require "posix.errno"
local fcntl = require "posix.fcntl"
local files = require "support.files"
local lpfm = require "lpfm"
local recording = require "pfm.recording"
local render = require "pfm.render"

local program = c.program
local scratch, machine, said
local INSTRUCTIONS, PERIOD, NS = 1e6, 1000, 1e-9

before_each(function()
   scratch = c.new_folder()
   machine = assert(lpfm.machine("sim:itanium2"))
   said = {}
end)
after_each(function()
   lpfm.machine("perf")
   c.sh("rm -rf " .. scratch)
end)

-- Returns a collector of a CPU with an instruction each 100 ns: 10 samples in a round of 1 ms.
local function new(options)
   options = options or {}
   machine:spawn { program = { { loop = INSTRUCTIONS, { ip = 0x4000, ns = 100 } } }, affinity = { 0 } }
   options.spec = { cpus = { 0 }, events = "IA64_INST_RETIRED", period = PERIOD, seconds = 1e6 * NS }
   options.folder, options.every, options.cpu = scratch .. "/spool", 0.001, 1
   options.say = function(text, ...) said[#said + 1] = text:format(...) end
   return collector.new(options)
end

local function spool()
   local out = {}
   for name in c.sh(("ls %s/spool"):format(scratch)):gmatch("%S+%.data") do out[#out + 1] = name end
   return out
end

local function bytes(name)
   return #files.read(("%s/spool/%s"):format(scratch, name))
end

local function samples_in(path)
   return assert(recording.open(path)).ends.samples
end

describe("a collector", function()
   it("says that its folder is not locked where the file system has no locks", function()
      local call = fcntl.fcntl
      fcntl.fcntl = function() return nil, "No locks available", errno.ENOLCK end
      local ok, why = pcall(function() new({ rounds = 1 }):run() end)
      fcntl.fcntl = call
      assert.is_true(ok, why)
      assert.same({ scratch .. "/spool could not be locked against other collectors: No locks available" }, said)
   end)

   it("makes recordings that can be read, and counts them over restarts", function()
      local counts = new({ rounds = 3 }):run()
      local list, sum = spool(), 0
      assert.equal(3, #list)
      for _, name in ipairs(list) do
         local n = samples_in(("%s/spool/%s"):format(scratch, name))
         assert.equal(n, tonumber(name:match("%-(%d+)%.data$")))
         sum = sum + n
      end
      assert.is_true(sum > 0)
      assert.same({ 3, 3, sum, 0 }, { counts.rounds, counts.recordings, counts.samples, counts.dropped })
      assert.equal(5, new({ rounds = 2 }):run().recordings)
      assert.equal(5, #spool())
   end)

   it("keeps to its share of the disk: the oldest go, and are counted with their samples", function()
      new({ rounds = 2 }):run()
      local before = spool()
      local oldest = tonumber(before[1]:match("%-(%d+)%.data$"))
      local room = math.max(bytes(before[1]), bytes(before[2]))
      local counts = new({ rounds = 1, disk = 2 * room + 10 }):run()
      assert.equal(1, counts.dropped)
      assert.equal(oldest, counts.dropped_samples)
      assert.same({ before[2] }, { spool()[1] })
      assert.equal(2, #spool())
      assert.truthy(table.concat(said):find("dropped 1 recording", 1, true))
   end)

   it("keeps to its share of the CPU time: a round that took more makes the next one wait", function()
      local one, waits = new({ rounds = 3 }), {}
      one.cpu, one.cpus = 0.001, 2 -- 0.1 % of 2 CPUs: 2 us for a round of 1 ms
      one.wait = function(_, moment) waits[#waits + 1] = moment end
      local counts = one:run()
      assert.equal(2, counts.held)
      assert.equal(2, #waits)
   end)

   it("takes up what a recorder left that was killed, and removes what is none", function()
      new({ rounds = 1 }):run()
      local name = spool()[1]
      local path = ("%s/spool/%s"):format(scratch, name)
      local n = samples_in(path)
      local text = files.read(path)
      os.remove(path)
      files.write(path:gsub("%-%d+%.data$", ".part"), text:sub(1, -10)) -- the last chunk is cut
      files.write(scratch .. "/spool/x-20200101T000000000Z.part", "")
      local counts = new({ rounds = 1 }):run()
      assert.equal(1, counts.failed)
      assert.equal(2, #spool())
      assert.equal(name, spool()[1])
      assert.equal(n, tonumber(spool()[1]:match("%-(%d+)%.data$")))
      local sum = n + samples_in(("%s/spool/%s"):format(scratch, spool()[2]))
      -- both include the first run's
      assert.same({ 1 + 2, n + sum }, { counts.recordings, counts.samples })
   end)

   it("says that counts are lost with a damaged file of them", function()
      new({ rounds = 1 }):run()
      files.write(scratch .. "/spool/collector.json", '{"recordings":')
      assert.equal(1, new({ rounds = 1 }):run().recordings)
      assert.same({ scratch .. "/spool/collector.json is damaged: its counts begin again" }, said)
   end)

   it("leaves alone a folder into which another process records, with its unfinished recording", function()
      new({ rounds = 1 }):run()
      local one, part = new {}, scratch .. "/spool/x-20200101T000000000Z.part"
      files.write(part, "")
      local out, status = c.sh(("%s record -a --every 1 --for 1 --rounds 1 -o %s/spool"):format(program, scratch))
      assert.equal(2, status, out)
      assert.truthy(out:find("another collector records into " .. scratch .. "/spool", 1, true), out)
      assert.equal("", files.read(part))
      assert.equal(1, one.counts.rounds)
   end)

   it("lets recordings wait while the store is away, and hands them over when it is back", function()
      local there, away, got = {}, true, 0
      local fake = { name = "the store" }
      function fake.load(_, paths)
         if away then return { refused = {}, left = #paths, why = "away" } end
         for _, path in ipairs(paths) do
            assert.is_nil(there[path])
            there[path], got = true, got + samples_in(path)
         end
         return { refused = {}, left = 0 }
      end
      local one = new({ rounds = 2 })
      one.store = fake
      local counts = one:run()
      assert.same({ 0, 2, 2 }, { counts.delivered, counts.recordings, #spool() })
      assert.same(1, #said)
      assert.truthy(said[1]:find("away; recordings wait in", 1, true))
      one.rounds, away = 1, false
      counts = one:run()
      assert.same({ 3, 0 }, { counts.delivered, #spool() })
      assert.equal(counts.samples, got)
      assert.equal("the store is back", said[2])
   end)

   it("says what is wrong with its options", function()
      files.write(scratch .. "/file", "")
      for _, wrong in ipairs { { { folder = scratch .. "/file" }, "is no folder" },
         { { folder = scratch .. "/no/spool" }, "cannot make the folder" },
         { { every = 0.5 }, "recordings of 1 s cannot begin every 0.5 s" } } do
         local options = { spec = { cpus = { 0 }, seconds = 1 }, folder = scratch .. "/spool", every = 1 }
         for k, v in pairs(wrong[1]) do options[k] = v end
         local ok, err = pcall(collector.new, options)
         assert.is_false(ok)
         assert.truthy(err:find(wrong[2], 1, true), err)
      end
      for line, why in pairs { ["--for 5"] = "--for goes with --every", ["--every 5 -- true"] = "a command ends",
         ["-a --every 5 --for 6"] = "cannot begin every", ["-a --every x"] = "'x' is not a time",
         ["-a --every 5 --cpu-budget 101"] = "more than there is", ["-a --every 5 --set host=a"] = "expected --to URL",
         ["--to postgresql:/// -- true"] = "--to goes with --every" } do
         local out, status = c.sh(("cd %s; %s record %s"):format(scratch, program:gsub("^[^/]", "$OLDPWD/%0"), line))
         assert.truthy(out:find(why, 1, true), out)
         assert.equal(2, status)
      end
   end)
end)

describe("a disk that is full", function()
   -- Runs a shell command while scratch/disk is a file system of its own of that size. Only root
   -- may mount it: in a user namespace CPUs could not be sampled.
   local function on_disk(size, command)
      return c.sh(("unshare -m sh -c 'mkdir -p %s/disk && mount -t tmpfs -o size=%s lpfm %s/disk && { %s; }'"):format(
         scratch, size, scratch, command))
   end

   it("costs the oldest recordings, not the collector; what is there can be read", function()
      if select(2, on_disk("64k", "true")) ~= 0 then return pending("there are no mounts of one's own here") end
      local out, status = on_disk("200k", ([[head -c 150000 /dev/zero >%s/disk/other
         TMPDIR=%s/disk %s record -C 0 -F 1000 --every 0.1 --for 0.05 --rounds 6 --cpu-budget 100 -o %s/disk/spool
         code=$?; cat %s/disk/spool/collector.json
         for f in %s/disk/spool/*.data; do [ ! -e $f ] || %s report --plain -s event $f >/dev/null || exit 9; done
         exit $code]]):format(scratch, scratch, program, scratch, scratch, scratch, program))
      if out:find("perf_event_paranoid", 1, true) then return pending("no right to sample a CPU") end
      local counts = out:match("\n({[^\n]*})\n")
      assert.truthy(counts, out)
      counts = render.from_json(counts)
      assert.equal(counts.recordings > 0 and 0 or 1, status, out)
      assert.equal(6, counts.rounds, out)
      assert.is_true(counts.dropped + counts.failed > 0, out)
   end)
end)

describe("the packages' unit", function()
   it("calls lpfm with options that it has", function()
      local unit = files.read("rockspec/debian/lpfm-fleet.lpfm-record.service")
      local values = {}
      for name, value in unit:match("\nEnvironment=([^\n]*)"):gmatch("(%u[%u_]*)=(%S*)") do values[name] = value end
      local line = unit:match("\nExecStart=/usr/bin/lpfm ([^\n]*)"):gsub("%$?{?%$(%b{})", function(name)
         return assert(values[name:sub(2, -2)], name)
      end)
      line = line:gsub("%$OPTIONS", "--cpu-budget x"):gsub("%%S", scratch)
      local out, status = c.sh(program .. " " .. line)
      assert.truthy(out:find("--cpu-budget: 'x' is not a positive number", 1, true), out)
      assert.equal(2, status)
   end)
end)
