-- SPDX-License-Identifier: MIT
-- Files of perf: every field is read as it was written, in each way that perf writes it.
-- Second interpreter, all: reading thousands of files takes a minute there.

local analyze = require "pfm.analyze"
local c = require "support.c"
local effort = require "support.effort"
local export = require "pfm.export"
local files = require "support.files"
local perf_files = require "spec.fuzz.perf_files"
local numbers = require("support.samples").int
local plot = require "pfm.plot"
local recording = require "pfm.recording"
local samples = require "pfm.recording.samples"

local lpfm = (os.getenv("LPFM_BUILD") or "build") .. "/" .. (os.getenv("LPFM_LUA") or "luajit") .. "/lpfm"
local COUNT = effort(2000) -- files with wrong bytes
local dir = c.folder()
local path = dir .. "/perf.data"

-- --- random numbers ------------------------------------------------------------------------------

local state = 1

local function pick(n)
   state = (state * 16807) % 2147483647
   return state % n
end

local function word()
   return pick(2 ^ 20) * 2 ^ 30 + pick(2 ^ 30)
end

local function list_of(n, make)
   local out = {}
   for i = 1, n do out[i] = make(i) end
   return out
end

-- --- random files --------------------------------------------------------------------------------

local OFTEN = { "IP", "TID", "TIME", "PERIOD" }
local SOMETIMES = { "ADDR", "CALLCHAIN", "ID", "CPU", "STREAM_ID", "RAW", "BRANCH_STACK", "REGS_USER", "STACK_USER",
   "WEIGHT", "DATA_SRC", "TRANSACTION", "REGS_INTR", "PHYS_ADDR", "AUX", "CGROUP", "DATA_PAGE_SIZE", "CODE_PAGE_SIZE" }
local KERNEL, USER = -128, -512 -- in call chains: the kernel's or the user's frames follow

local function random_fields()
   local out = { IDENTIFIER = pick(2) == 0 or nil }
   for _, name in ipairs(OFTEN) do out[name] = pick(10) > 0 or nil end
   for _, name in ipairs(SOMETIMES) do out[name] = pick(2) == 0 or nil end
   if not out.IDENTIFIER then out.ID = true end
   if out.WEIGHT and pick(2) == 0 then out.WEIGHT, out.WEIGHT_STRUCT = nil, true end
   return out
end

-- Returns the events of a file, which all have the id at the same place of a record.
local function random_events()
   local first = random_fields()
   return list_of(1 + pick(3), function(i)
      local fields = i == 1 and first or random_fields()
      for _, name in ipairs { "IDENTIFIER", "ID", "IP", "TID", "TIME", "ADDR", "CPU", "STREAM_ID" } do
         fields[name] = first[name]
      end
      return { name = "e" .. i, id = 100 + i, fields = fields, config = i, period = 1000 * i, regs_user = 7,
         regs_intr = 3 }
   end)
end

local function random_branch()
   return { word(), word(), pick(2 ^ 20) }
end

local function random_chain()
   local out = {}
   if pick(2) == 0 then out = { KERNEL, -4096 - pick(2 ^ 30), -4096 - pick(2 ^ 30) } end
   if pick(3) > 0 then out[#out + 1] = USER end
   if out[#out] == USER then
      for _ = 1, 1 + pick(4) do out[#out + 1] = 1 + word() end
   end
   return out
end

local function random_sample(i)
   return { ip = pick(3) == 0 and -4096 - pick(2 ^ 30) or word(), pid = 1 + pick(5), tid = 1 + pick(9),
      time = 10 ^ 12 + 1000 * i + pick(5000), addr = word(), cpu = pick(64), period = 1 + pick(10 ^ 6),
      chain = random_chain(), raw = ("r"):rep(4 + 8 * pick(4)), branches = list_of(pick(4), random_branch),
      regs = pick(3) > 0 and { word(), word(), word() } or {}, stack = ("s"):rep(8 * pick(5)),
      latency = pick(2 ^ 30), ins_latency = pick(2 ^ 16), stage_cycles = pick(2 ^ 16), data_source = word(),
      transaction = word(), intr_regs = pick(3) > 0 and { word(), word() } or {}, phys_addr = word(),
      aux = ("a"):rep(8 * pick(4)), cgroup = pick(2 ^ 30), data_page_size = 4096 * pick(3),
      code_page_size = 4096 * pick(3) }
end

-- --- what is to be read --------------------------------------------------------------------------

local VALUES = { data_addr = "ADDR", data_source = "DATA_SRC", transaction = "TRANSACTION", phys_addr = "PHYS_ADDR",
   cgroup = "CGROUP", data_page_size = "DATA_PAGE_SIZE", code_page_size = "CODE_PAGE_SIZE", latency = "WEIGHT" }
local STRUCT = { latency = true, ins_latency = true, stage_cycles = true }

local function expected_chain(chain)
   local out = {}
   for _, ip in ipairs(chain) do
      if ip < -4095 or ip > 0 then out[#out + 1] = ip end
   end
   return out
end

-- Returns from, to, marks and cycles of each branch.
local function branch_text(list)
   local out = {}
   for i, b in ipairs(list) do
      local flags = b[3]
      local function bit(n) return math.floor(flags / 2 ^ n) % 2 == 1 end
      out[i] = ("0x%x/0x%x/%s/%s/%s/%d"):format(b[1], b[2], bit(0) and "M" or bit(1) and "P" or "-",
         bit(2) and "X" or "-", bit(3) and "A" or "-", math.floor(flags / 16) % 65536)
   end
   return table.concat(out, " ")
end

local function check_values(e, want, got, where)
   for name, field in pairs(VALUES) do
      if e.fields[field] then
         assert.equal(want[field:lower()] or want[name], got[name], where .. name)
      end
   end
   for name in pairs(e.fields.WEIGHT_STRUCT and STRUCT or {}) do assert.equal(want[name], got[name], where .. name) end
end

local function check_sample(self, e, want, got, where)
   local has = e.fields
   assert.equal(e.name, got.event, where .. "event")
   if has.TID then assert.same({ want.pid, want.tid }, { got.pid, got.tid }, where .. "process and thread") end
   if has.IP then assert.equal(want.ip, got.address, where .. "address") end
   if has.TIME then assert.equal(want.time / 1e9, got.time, where .. "time") end
   assert.equal(has.CPU and want.cpu or nil, got.cpu, where .. "CPU")
   assert.equal(has.PERIOD and want.period or e.period, got.period, where .. "period")
   check_values(e, want, got, where)
   if has.CALLCHAIN then
      assert.same(expected_chain(want.chain), self.stack_table:frames(got.stack), where .. "call chain")
   end
   if has.BRANCH_STACK then
      assert.equal(branch_text(want.branches), got.branches, where .. "branches")
   end
end

-- Sorts samples by time if asked to; those of the same time stay in the file's order.
local function in_order(list, by_time)
   for i, one in ipairs(list) do one.i = i end
   table.sort(list, function(a, b)
      if by_time and a.sample.time ~= b.sample.time then return a.sample.time < b.sample.time end
      return a.i < b.i
   end)
   return list
end

local WAYS = {
   { "in a file", perf_files.file }, { "in a pipe", perf_files.piped },
   { "compressed", perf_files.file, 81 }, { "compressed anew", perf_files.piped, 83 },
}

-- Writes a random file; returns its samples in the order of time, and their events.
local function write_random(seed, way)
   state = seed * 7919 + 1
   local events, list, records = random_events(), {}, {}
   for i = 1, 40 do
      local e = events[1 + pick(#events)]
      list[i] = { event = e, sample = random_sample(i) }
      records[i] = perf_files.sample(e, list[i].sample)
   end
   records = table.concat(records)
   if way[3] then records = perf_files.compressed(records, way[3]) end
   files.write(path, way[2](events, records, perf_files.features { host = "n1", names = events }))
   return in_order(list, events[1].fields.TIME), events
end

describe("a file of perf", function()
   for _, way in ipairs(WAYS) do
      it(way[1] .. " is read with every field that samples can have", function()
         for seed = 1, 60 do
            local list = write_random(seed, way)
            local self = assert(recording.open(path))
            local i = 0
            for got in samples.each(self) do
               i = i + 1
               check_sample(self, list[i].event, list[i].sample, got, ("file %d, sample %d: "):format(seed, i))
            end
            assert.equal(#list, i, "samples of file " .. seed)
         end
      end)
   end
end)

-- --- what programs did, and what cannot be shown -------------------------------------------------

local CLOCK = { name = "cpu-clock", id = 9, period = 250000, fields = { IP = true, TID = true, TIME = true,
   IDENTIFIER = true } }
local FAULTS = { name = "page-faults", id = 10, config = 2, fields = CLOCK.fields }

local function join(list, make)
   local out = {}
   for i, one in ipairs(list) do out[i] = type(one) == "string" and one or make(one) end
   return table.concat(out)
end

local function open(events, records, features)
   files.write(path, perf_files.file(events, records, perf_files.features(features or { host = "n1" })))
   return assert(recording.open(path))
end

local function at(time, ip, pid, tid)
   return perf_files.sample(CLOCK, { ip = ip, pid = pid, tid = tid or pid, time = time })
end

local function said(self)
   return table.concat(self:warnings(), "\n")
end

describe("what a file of perf tells of programs", function()
   it("names threads and objects as they were at each sample's time", function()
      local self = open({ CLOCK }, join({
         { kind = "COMM", pid = 7, tid = 7, time = 0, comm = "perf-exec" }, at(1500, 0x1010, 7),
         { kind = "COMM", pid = 7, tid = 7, time = 2000, comm = "prog", exec = true },
         { kind = "MMAP2", pid = 7, tid = 7, time = 2100, addr = 0x1000, len = 0x1000, offset = 0, path = "/bin/one" },
         at(2500, 0x1020, 7),
         { kind = "FORK", pid = 8, tid = 8, ppid = 7, ptid = 7, time = 3000 }, at(3500, 0x1030, 8),
         { kind = "COMM", pid = 8, tid = 8, time = 4000, comm = "other", exec = true },
         { kind = "MMAP", pid = 8, tid = 8, time = 4100, addr = 0x1000, len = 0x1000, offset = 0, path = "/bin/two" },
         at(4500, 0x1040, 8), { kind = "FORK", pid = 8, tid = 9, ppid = 8, ptid = 8, time = 5000 },
         { kind = "COMM", pid = 8, tid = 9, time = 5100, comm = "worker" }, at(5500, 0x1050, 8, 9),
         { kind = "EXIT", pid = 8, tid = 9, ppid = 8, ptid = 8, time = 6000 },
      }, function(r) return perf_files.program(CLOCK, r) end))
      local got = {}
      for s in samples.each(self) do got[#got + 1] = ("%s/%s %s"):format(s.process, s.comm, s.object) end
      assert.same({ "perf-exec/perf-exec [unknown]", "prog/prog /bin/one", "prog/prog /bin/one", "other/other /bin/two",
         "other/worker /bin/two" }, got)
   end)

   it("names nothing in a file that was replaced since it was mapped here", function()
      local stat, system = require "posix.sys.stat", require "posix.sys.utsname"
      local own = c.sh("readlink -f /bin/sh"):match("[^\n]+")
      local function name(inode, host, device)
         local self = open({ CLOCK }, join({
            { kind = "MMAP2", pid = 7, tid = 7, time = 20, addr = 0x1000, len = 0x1000, offset = 0, path = own,
               inode = inode, device = device or stat.stat(own).st_dev }, at(30, 0x1010, 7),
         }, function(r) return perf_files.program(CLOCK, r) end), { host = host })
         local symbol
         for s in samples.each(self) do symbol = s.symbol end
         return symbol
      end
      local here, now = system.uname().nodename, stat.stat(own).st_ino
      local replaced = "[" .. own:match("[^/]+$") .. ": not the file that was mapped]"
      assert.equal(replaced, name(now + 1, here))
      assert.not_equal(replaced, name(now, here))
      assert.not_equal(replaced, name(0, here)) -- the record has no inode, as before Linux 3.12
      assert.not_equal(replaced, name(now + 1, here .. "2"))
      -- overlayfs has other inode numbers in stat(2)
      assert.not_equal(replaced, name(now + 1, here, 0xffee))
   end)

   it("names a forked process as the thread that made it was named then", function()
      local self = open({ CLOCK }, join({
         { kind = "COMM", pid = 7, tid = 7, time = 1000, comm = "prog", exec = true },
         { kind = "COMM", pid = 7, tid = 7, time = 2000, comm = "phase1" },
         { kind = "FORK", pid = 8, tid = 8, ppid = 7, ptid = 7, time = 2100 }, at(2200, 0x1010, 8),
         { kind = "FORK", pid = 7, tid = 9, ppid = 7, ptid = 7, time = 2300 },
         { kind = "COMM", pid = 7, tid = 9, time = 2400, comm = "worker" },
         { kind = "FORK", pid = 10, tid = 10, ppid = 7, ptid = 9, time = 2500 }, at(2600, 0x1010, 10),
         { kind = "COMM", pid = 8, tid = 8, time = 2700, comm = "child" }, at(2800, 0x1010, 8),
         { kind = "COMM", pid = 7, tid = 7, time = 3000, comm = "done" }, at(3100, 0x1010, 7),
      }, function(r) return perf_files.program(CLOCK, r) end))
      local got, rows = {}, {}
      for s in samples.each(self) do got[#got + 1] = s.pid .. " " .. s.comm end
      assert.same({ "8 phase1", "10 worker", "8 child", "7 done" }, got)
      for i, row in ipairs(analyze.by(self, "comm").rows) do rows[i] = row.comm end
      table.sort(rows)
      assert.same({ "child", "done", "phase1", "worker" }, rows)
   end)

   it("says what was lost, held back, and what it cannot show", function()
      local self = open({ CLOCK }, join({
         { kind = "LOST", pid = 7, tid = 7, time = 10, count = 4 }, { kind = "THROTTLE", pid = 7, tid = 7, time = 30 },
         { kind = "LOST_SAMPLES", pid = 7, tid = 7, time = 20, count = 5 }, at(100, 0x1000, 7),
         perf_files.record(14, 0, numbers(0, 24) .. numbers(9, 8)), perf_files.record(99, 0, numbers(0, 8)),
         perf_files.record(9, 4, at(200, 0x2000, 7):sub(9)),
      }, function(r) return perf_files.program(CLOCK, r) end))
      assert.equal(1, self.ends.samples)
      for _, text in ipairs { "4 records lost", "5 samples lost", "held samples back 1 time", "context switches (1)",
         "records of kinds that lpfm does not know (1)", "1 sample of guests or the hypervisor: left out" } do
         assert.truthy(said(self):find(text, 1, true), text .. " is not in: " .. said(self))
      end
   end)

   it("has no CPU, no time and no thread where samples have none", function()
      local bare = { name = "bare", id = 9, period = 3, fields = { IP = true, ID = true } }
      local self = open({ bare }, join({ { ip = 0x10 }, { ip = 0x20 } }, function(s)
         return perf_files.sample(bare, s)
      end))
      for s in samples.each(self) do assert.same({}, { s.cpu, s.time }) end
      assert.truthy(said(self):find("samples have no times", 1, true))
      local both = recording.together { self, self }
      for what, ask in pairs {
         interval = function() analyze.histogram(self, "interval") end,
         slices = function() analyze.by(both, "time") end,
         test = function() analyze.test(self, { from = 0 }) end, phases = function() analyze.phases(both) end,
         rates = function() plot.recording(self, "time") end, gaps = function() plot.recording(self, "histogram") end,
         firefox = function() export.write(self, "firefox", "/dev/null") end,
      } do
         assert.error_matches(ask, "the samples in %S+ have no times", nil, nil, what)
      end
      assert.same({ { label = "[unknown]", value = 100 } }, plot.recording(both).rows)
      assert.truthy(said(self):find("samples have no thread ids", 1, true))
      local row = analyze.by(self, "cpu").rows[1]
      assert.same({ "-", 2, 6 }, { row.cpu, row.samples, row.events })
   end)

   it("makes of a group's counts a sample of each event that counted since the one before", function()
      local read = { name = "cycles", id = 1, period = 99, read_format = 12, fields = { IP = true, TID = true,
         TIME = true, READ = true, IDENTIFIER = true } }
      local second = { name = "faults", id = 2, config = 2, read_format = 12, fields = read.fields }
      local self = open({ read, second }, join({ { 100, 0 }, { 250, 3 }, { 250, 7 } }, function(n)
         return perf_files.sample(read, { ip = 0x1000, pid = 7, tid = 7, time = 10 * n[1] + n[2],
            group = { { id = 1, count = n[1] }, { id = 2, count = n[2] } } })
      end), { names = { read, second } })
      local got = {}
      for s in samples.each(self) do got[#got + 1] = s.event .. " " .. s.period end
      assert.same({ "cycles 100", "cycles 150", "faults 3", "faults 4" }, got)
   end)

   it("puts the user's calls to the kernel's where a later record has them", function()
      local e = { name = "cycles", id = 1, fields = { IP = true, TID = true, TIME = true, CALLCHAIN = true,
         IDENTIFIER = true } }
      local function sample(time, cookie)
         return perf_files.sample(e, { ip = -8192, pid = 7, tid = 7, time = time, chain = { KERNEL, -8192, -640,
            cookie } })
      end
      local self = open({ e }, sample(5, 77) .. sample(6, 78) .. perf_files.record(22, 0, numbers(77, 8)
         .. numbers(3, 8) .. numbers(USER, 8) .. numbers(0x1010, 8) .. numbers(0x2020, 8) .. numbers(7, 4)
         .. numbers(7, 4) .. numbers(7, 8) .. numbers(1, 8)))
      local got = {}
      for s in samples.each(self) do got[#got + 1] = self.stack_table:frames(s.stack) end
      assert.same({ { -8192, 0x1010, 0x2020 }, { -8192 } }, got)
      assert.truthy(said(self):find("1 stack without the user's part", 1, true), said(self))
   end)

   it("takes the user's calls from the branch stack where that is what was recorded", function()
      local lbr = { name = "cycles", id = 1, branch_type = 2 ^ 11, fields = { IP = true, TID = true, TIME = true,
         CALLCHAIN = true, BRANCH_STACK = true, IDENTIFIER = true } }
      local self = open({ lbr }, perf_files.sample(lbr, { ip = -8192, pid = 7, tid = 7, time = 5,
         chain = { KERNEL, -8192, -4999, USER, 0x1010, 0x77 }, branches = { { 0x2000, 0x1000, 0 },
            { 0x3000, 0x1f00, 0 } } }))
      for s in samples.each(self) do
         assert.same({ -8192, -4999, 0x1010, 0x2001, 0x3001 }, self.stack_table:frames(s.stack))
         assert.same({ -8192, -5000, 0x1010, 0x2000, 0x3000 }, self.stack_table:calls(s.stack, s.address))
      end
   end)
end)

describe("a file of perf that is not whole", function()
   local whole = perf_files.file({ CLOCK, FAULTS }, at(100, 0x1000, 7) .. at(200, 0x2000, 7), {})

   it("is read up to where it was cut, and says so", function()
      files.write(path, whole:sub(1, -5))
      local self = assert(recording.open(path))
      assert.equal(1, self.ends.samples)
      assert.truthy(said(self):find("cut off", 1, true), said(self))
   end)

   it("is read to its end where perf was killed before it wrote how much there is", function()
      files.write(path, whole:sub(1, 48) .. numbers(0, 8) .. whole:sub(57))
      local self = assert(recording.open(path))
      assert.equal(2, self.ends.samples)
      assert.truthy(said(self):find("perf did not end the file", 1, true), said(self))
   end)

   it("is refused in words where nothing can be read of it", function()
      local cases = {
         ["other byte order"] = "2ELIFREP" .. whole:sub(9), ["header is not one"] = whole:sub(1, 60),
         ["does not say what was recorded"] = whole:sub(1, 16) .. numbers(7, 8) .. whole:sub(25),
         ["which events were recorded"] = perf_files.piped({}, at(1, 1, 1), {}),
         ["records lie outside"] = whole:sub(1, 40) .. numbers(2 ^ 40, 8) .. whole:sub(49),
         ["counts of perf stat"] = perf_files.file({ CLOCK }, at(1, 1, 1), { [19] = "" }),
      }
      for why, text in pairs(cases) do
         files.write(path, text)
         local self, err = recording.open(path)
         assert.is_nil(self, why)
         assert.truthy(err:find(path, 1, true) == 1 and err:find(why, 1, true), err)
      end
   end)

   it("is named as what it is where only recordings of lpfm do", function()
      files.write(path, whole)
      local out, status = c.sh(("%s merge -o %s/merged %s"):format(lpfm, dir, path))
      assert.equal(1, status)
      assert.truthy(out:find("perf.data is a file of perf", 1, true), out)
   end)

   it("says that it cannot be unpacked where that is so", function()
      local packed = perf_files.compressed(at(100, 0x1000, 7):rep(40), 81)
      files.write(path, perf_files.file({ CLOCK }, packed:sub(1, 14) .. "\255\255\255" .. packed:sub(18), {}))
      assert.truthy(said(assert(recording.open(path))):find("cannot be unpacked", 1, true))
   end)
end)

describe("files of perf with wrong bytes", function()
   setup(function()
      for i, way in ipairs(WAYS) do
         write_random(40 + i, way)
         c.sh(("mv %s %s/seed%d"):format(path, dir, i))
      end
      files.write(dir .. "/seed5", perf_files.file({ CLOCK }, join({
         { kind = "COMM", pid = 7, tid = 7, time = 10, comm = "prog", exec = true }, { kind = "MMAP2", pid = 7, tid = 7,
            time = 20, addr = 0x1000, len = 0x1000, offset = 0, path = "/bin/sh", build_id = ("b"):rep(20) },
         at(30, 0x1010, 7), { kind = "FORK", pid = 8, tid = 8, ppid = 7, ptid = 7, time = 40 }, at(50, 0x1020, 8),
         { kind = "LOST", pid = 7, tid = 7, time = 60, count = 2 }, at(70, -4096, 7),
      }, function(p) return perf_files.program(CLOCK, p) end), perf_files.features { host = "n1", arch = "x86_64",
         command = { "perf", "record" }, build_ids = { ["/bin/sh"] = ("c"):rep(20) }, names = { CLOCK } }))
   end)

   for _, kind in ipairs { "report", "script", "export" } do
      it("are read or refused in words by lpfm " .. kind, function()
         local out, status = c.sh(("%s spec/fuzz/mutate.lua %s %d %s/mutated %s/seed*"):format(lpfm, kind, COUNT, dir,
            dir))
         assert.equal(0, status, out:sub(-4000))
         assert.truthy(out:find(("\nMUTATIONS %d, wrong 0\n"):format(COUNT), 1, true),
            out:match("\nMUTATION .*") or out:sub(-4000))
      end)
   end
end)

-- --- printed -------------------------------------------------------------------------------------

describe("lpfm script", function()
   it("prints frames where functions go on, and swapper where nothing runs", function()
      local e = { name = "cycles", id = 1, period = 7, fields = { IP = true, TID = true, TIME = true, CPU = true,
         CALLCHAIN = true, IDENTIFIER = true } }
      files.write(path, perf_files.file({ e }, perf_files.sample(e, { ip = 0x1010, pid = 0, tid = 0, time = 1500002000,
         cpu = 3, chain = { 0x1010, 0x2020 } }), perf_files.features { names = { e } }))
      local out = c.sh(("%s script --format perf %s 2>/dev/null"):format(lpfm, path))
      assert.equal("swapper     0 [003]     1.500002:          7 cycles: \n\t            1010 [unknown] ([unknown])\n"
         .. "\t            2020 [unknown] ([unknown])\n\n", out)
   end)

   it("prints values, addresses in hexadecimal and branches, and what perf's times are", function()
      local e = { name = "cycles", id = 1, fields = { IP = true, TID = true, TIME = true, ADDR = true, WEIGHT = true,
         BRANCH_STACK = true, IDENTIFIER = true } }
      local late = 2 ^ 53 + 4096 -- a double does not hold it exactly
      files.write(path, perf_files.file({ e }, perf_files.sample(e, { ip = 0x1010, pid = 7, tid = 7, time = late,
         addr = 0x7fff1234, latency = 33, branches = { { 0x1000, 0x2000, 2 + 16 * 9 } } })
         .. perf_files.sample(e, { ip = 0x1010, pid = 7, tid = 7, time = late + 2e9, addr = 0, latency = 0,
            branches = {} }), perf_files.features { names = { e } }))
      local out = c.sh(("%s script -F data_addr,latency,branches %s"):format(lpfm, path))
      assert.truthy(out:find("^0x7fff1234 33 0x1000/0x2000/P/%-/%-/9\n0x0 0 \n"), out)
      assert.truthy(out:find("more than a number holds exactly", 1, true), out)
      local times = {}
      for s in samples.each(assert(recording.open(path))) do times[#times + 1] = s.time end
      assert.equal(2, times[2] - times[1])
      assert.truthy(c.sh(("%s script --format perf %s"):format(lpfm, path)):find(" 9007199.254745:", 1, true))
   end)
end)
