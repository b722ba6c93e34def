-- SPDX-License-Identifier: MIT
-- Recordings: whole, cut, damaged, foreign; and the blocks of samples in them.

local stored = require "lpfm.samples"
local chunks = require "lpfm.chunks"
local recording = require "pfm.recording"
local files = require "support.files"
local make_samples = require "support.samples"

local block_of = make_samples.block

local path = os.tmpname()
local head = { events = { { name = "cpu-clock", pmd = 65, unit = "ns", period = 1000 } }, what = "a test" }

local function read_all() return files.read(path) end

local function write_all(text) files.write(path, text) end

-- Makes a recording of three blocks of 10 samples; returns the file's bytes and the chunks' ends.
local function make(unfinished)
   local w = assert(recording.create(path, head))
   local ends = { w.bytes }
   w:json("MAPS", { pid = 7, maps = { { 4096, 8192, 0, "/bin/x" } } })
   w:json("COMM", { { tid = 7, pid = 7, comm = "x" } })
   ends[2] = w.bytes
   for b = 1, 3 do
      local list = {}
      for i = 1, 10 do list[i] = { tid = 7, ip = 4096 + b * 16 + i } end
      w:block(block_of(list), 10)
      ends[#ends + 1] = w.bytes
   end
   if unfinished then
      w.file:close()
   else
      w:close { lost = 0, full = 0, missed = 0 }
   end
   return read_all(), ends
end

local function count(self)
   local tally, cut = stored.counter("pid"), 0
   for block in self:each_block() do
      local _, missing = tally:add(block, self:sizes())
      cut = cut + missing
   end
   local n = 0
   for _, samples in tally:rows() do n = n + samples end
   return n, cut
end

teardown(function() os.remove(path) end)

describe("a recording", function()
   it("is not begun, and leaves the file as it was, with a head that is within itself", function()
      write_all "what was there"
      local round = { events = {} }
      round.command, round.what = round, round
      assert.has_error(function() recording.create(path, round) end,
         "recording.create: head: a table is within itself, or more than 1000 deep")
      assert.equal("what was there", read_all())
   end)

   it("reads back as it was written", function()
      make()
      local s = assert(recording.open(path))
      assert.equal("a test", s.head.what)
      assert.same({ { pid = 7, maps = { { 4096, 8192, 0, "/bin/x" } } } }, s.maps)
      assert.equal("x", s.comms[7])
      assert.equal(30, s.ends.samples)
      assert.same({}, s:warnings())
      assert.equal(30, (count(s)))
   end)

   it("is read as far as it goes wherever it is cut, and says that it was", function()
      local text, ends = make()
      for length = ends[1], #text - 1, 7 do
         write_all(text:sub(1, length))
         local s = assert(recording.open(path))
         local whole = 0
         for i = 3, 5 do
            if length >= ends[i] then whole = whole + 10 end
         end
         assert.equal(whole, (count(s)))
         assert.is_nil(s.ends)
         assert.truthy(table.concat(s:warnings()):find("did not end properly", 1, true))
      end
   end)

   it("has its own file while another of its name is made", function()
      local function begin()
         local w = assert(recording.create(path, head, true))
         w:begin()
         return w
      end
      local one = begin()
      local other = begin()
      for _, w in ipairs { one, other } do w:block(block_of { { tid = 7, ip = 4096 } }, 1) end
      one:close {}
      other:close {}
      assert.same({ path .. ".old", path }, { one.path, other.path })
      for _, w in ipairs { one, other } do
         local s = assert(recording.open(w.path))
         assert.same({ 1, {} }, { (count(s)), s:warnings() })
      end
      os.remove(path .. ".old")
   end)

   it("whose file was removed meanwhile is kept elsewhere, and says so", function()
      local w = assert(recording.create(path, head))
      w:block(block_of { { tid = 7, ip = 4096 } }, 1)
      os.remove(path)
      w:close {}
      assert.equal(path, w.moved.from)
      assert.equal(1, (count(assert(recording.open(w.path)))))
      os.remove(w.path)
   end)

   it("is not written into a pipe", function()
      os.remove(path)
      assert(os.execute("mkfifo " .. path) == 0)
      local w, err = recording.create(path, head)
      assert.is_nil(w)
      assert.truthy(err:find("it is a pipe", 1, true), err)
      os.remove(path)
   end)

   it("that was never ended says so", function()
      make(true)
      local s = assert(recording.open(path))
      assert.equal(30, (count(s)))
      assert.equal(1, #s:warnings())
   end)

   it("without a whole head is refused in words", function()
      local text, ends = make()
      for length = 5, ends[1] - 1 do
         write_all(text:sub(1, length))
         local s, err = recording.open(path)
         assert.is_nil(s)
         assert.truthy(err:find("its head cannot be read", 1, true), err)
      end
   end)

   it("survives every damaged byte: what is hit is left out, what is not is read", function()
      local text, ends = make()
      for at = 1, #text do
         local byte = text:byte(at)
         write_all(text:sub(1, at - 1) .. string.char((byte + 85) % 256) .. text:sub(at + 1))
         local s, err = recording.open(path)
         if at <= ends[1] then
            assert.is_nil(s)
            assert.is_string(err)
         else
            local hit_samples = at > ends[2] and at <= ends[5]
            assert.equal(hit_samples and 20 or 30, (count(s)), "byte " .. at)
            assert.is_true(#s.damage > 0 and #s:warnings() > 0)
         end
      end
   end)

   it("with garbage in its midst goes on behind it", function()
      local text, ends = make()
      local garbage = ("\239LP1SMPL\255\255\255\255 and more "):rep(100)
      write_all(text:sub(1, ends[3]) .. garbage .. text:sub(ends[3] + 1))
      local s = assert(recording.open(path))
      assert.equal(30, (count(s)))
      assert.is_true(#s.damage > 0)
   end)

   it("of an older version is read without the texts about the machine that it holds", function()
      local machine = { name = "perf", pmu = "software", host = "n1", notes = "a note", limits = ("a limit\n"):rep(99) }
      local w = assert(recording.create(path, { events = head.events, machine = machine }))
      w:block(block_of { { tid = 7, ip = 4096 } }, 1)
      w:close { lost = 0, full = 0, missed = 0 }
      local s = assert(recording.open(path))
      assert.same({ name = "perf", pmu = "software", host = "n1" }, s.head.machine)
      assert.equal(1, (count(s)))
   end)

   it("of another version, of another kind, or of nothing is refused in words", function()
      local w = assert(recording.create(path, { events = {} }))
      w.file:close()
      local text = read_all()
      for _, version in ipairs { 0, 9 } do
         local body = text:sub(17):gsub('"version":%d', '"version":' .. version)
         write_all(chunks.head("HEAD", body) .. body)
         local s, err = recording.open(path)
         assert.is_nil(s)
         assert.truthy(err:find("is of version " .. version .. "; this lpfm reads versions 1 to 3", 1, true), err)
      end
      write_all("")
      assert.truthy(select(2, recording.open(path)):find("is empty", 1, true))
      write_all("#!/bin/sh\n")
      assert.truthy(select(2, recording.open(path)):find("is not a recording of lpfm", 1, true))
      assert.truthy(select(2, recording.open("/no/such")):find("/no/such", 1, true))
   end)
end)

describe("blocks of samples", function()
   it("are counted by any fields", function()
      local block = block_of {
         { tid = 1, pid = 1, ip = 10, cpu = 0 }, { tid = 2, pid = 1, ip = 10, cpu = 1 },
         { tid = 2, pid = 1, ip = 20, cpu = 1, period = 500 }, { tid = 2, pid = 1, ip = 20, cpu = 1, period = 500 },
      }
      local tally = stored.counter("tid", "ip")
      assert.equal(4, (tally:add(block, {})))
      local rows = {}
      for tid, ip, samples, events in tally:rows() do rows[tid .. ":" .. ip] = { samples, events } end
      assert.same({ ["1:10"] = { 1, 1000 }, ["2:10"] = { 1, 1000 }, ["2:20"] = { 2, 1000 } }, rows)
   end)

   it("keep many rows apart", function()
      local tally, n = stored.counter("ip"), 0
      for b = 0, 49 do
         local list = {}
         for i = 1, 100 do list[i] = { tid = 1, ip = (b * 100 + i) * 64 } end
         tally:add(block_of(list), {})
      end
      for _, samples in tally:rows() do
         assert.equal(1, samples)
         n = n + 1
      end
      assert.equal(5000, n)
      assert.equal(5000, #tally)
   end)

   it("give kernel addresses as negative numbers, exactly", function()
      local block = block_of { { tid = 1, ip = 0 } }
      local kernel = block:sub(1, 128) .. block:sub(129, 144) .. make_samples.int(-4096, 8) .. block:sub(153)
      for s in stored.each(kernel, {}) do assert.equal(-4096, s.ip) end
   end)

   it("give every field and the values behind a sample", function()
      local block = block_of { { tid = 5, pid = 4, ip = 9, cpu = 3, tstamp = 77, period = 10, values = { 6, 2 ^ 40 } } }
      local seen = 0
      for s in stored.each(block, { [65] = 2 }) do
         seen = seen + 1
         assert.same({ tid = 5, pid = 4, ip = 9, cpu = 3, tstamp = 77, ovfl_pmd = 65, set = 0, last_reset = -10,
            values = { 6, 2 ^ 40 } }, s)
      end
      assert.equal(1, seen)
   end)

   it("are made of fields by name", function()
      assert.equal(stored.entry_size + 16, #stored.sample({ ip = -4096, pmd = 65 }, { "0xffffffffffffffff", 2 }))
      assert.has_error(function() stored.sample { colour = 1 } end,
         "sample: unknown field 'colour' "
         .. "(known: ip, tid, pid, cpu, tstamp, set, ovfl_pmd, last_reset)")
      for _, bad in ipairs { { {}, { "x" } }, { {}, 5 }, { { ip = {} } }, { { [1] = 1 } }, { 5 }, {} } do
         assert.has_error(function() stored.sample(unpack(bad)) end)
      end
      local many = {}
      for i = 1, 1025 do many[i] = i end
      assert.has_error(function() stored.sample({}, many) end)
      assert.has_error(function() stored.head(-1, 0) end)
      assert.has_error(function() stored.head(1) end)
   end)

   it("say how many samples a cut block lacks", function()
      local block = block_of({ { tid = 1, ip = 1 }, { tid = 1, ip = 2 } }, 2)
      local found, missing = stored.counter("ip"):add(block:sub(1, -2), {})
      assert.same({ 1, 1 }, { found, missing })
      found, missing = stored.counter("ip"):add(block_of({}, 2 ^ 40), {})
      assert.same({ 0, 2 ^ 40 }, { found, missing })
   end)

   it("of random bytes are never a crash", function()
      local seed = 3
      local function random(n)
         seed = (seed * 16807) % 2147483647
         return seed % n
      end
      for _ = 1, 200 do
         local bytes = {}
         for i = 1, 128 + random(400) do bytes[i] = string.char(random(random(2) == 0 and 256 or 3)) end
         local sizes = { [random(320)] = random(321), [random(320) + 65536 * random(3)] = { random(320), random(320) } }
         local tally = stored.counter {
            keys = { "ip", { random(320), delta = "tid" }, { "tstamp", bits = random(11) } },
            sums = { { "period", delta = "cpu" }, random(320) }, where = { { "cpu", 0, random(65536) } },
            pair = { { "tstamp", step = 1 + random(9) }, "ip" } }
         local found, missing = tally:add(table.concat(bytes), sizes)
         assert.is_true(found >= 0 and found <= 10 and missing >= 0)
         for _ in tally:rows() do assert.is_table(tally:moments()) end
         for sample in stored.each(table.concat(bytes), sizes) do assert.is_table(sample.values) end
      end
   end)

   it("refuse what is none", function()
      assert.has_error(function() stored.counter("ip"):add("short", {}) end)
      assert.has_error(function() stored.counter("ip"):add(block_of {}, { [65] = -1 }) end)
      assert.has_error(function() stored.counter("ip"):add(block_of {}, { [1000] = 1 }) end)
      assert.has_error(function() stored.counter("colour") end)
      assert.has_error(function() stored.counter() end)
      for _, bad in ipairs { { keys = { "ip", 3, {} } }, { keys = { { "ip", delta = "ip" } } }, { keys = { 320 } },
         { keys = { { "ip", step = 0 } } }, { keys = { { "ip", bits = 11 } } }, { keys = { "ip" }, where = { 7 } },
         { keys = { "ip" }, where = { { "ip" } } }, { keys = { "ip" }, where = 7 }, { keys = 7 },
         { pair = { "ip" } } } do
         assert.has_error(function() stored.counter(bad) end)
      end
   end)

   it("are in chunks with the checksum that zlib has", function()
      assert.equal(0xcbf43926, chunks.crc32("123456789"))
      assert.equal(0xcbf43926, chunks.crc32("1234", "", "56789"))
   end)
end)
