-- SPDX-License-Identifier: MIT
-- Many recordings in one file: the same to the byte in whatever way they are merged; and what is
-- read of them together. Second interpreter, all: merging takes long there.

local analyze = require "pfm.analyze"
local stored = require "lpfm.samples"
local browser = require "support.browser"
local c = require "support.c"
local chunks = require "lpfm.chunks"
local files = require "support.files"
local errno = require "posix.errno"
local handmade = require "support.handmade"
local lock = require "pfm.util.lock"
local lpfm = require "lpfm"
local merge = require "pfm.jobs.merge"
local record = require "pfm.record"
local recording = require "pfm.recording"
local samples = require "pfm.recording.samples"
local stdlib = require "posix.stdlib"

local build, interpreter = os.getenv("LPFM_BUILD") or "build", os.getenv("LPFM_LUA") or "luajit"
local program = ("%s/%s/lpfm"):format(build, interpreter)
local dir

local function sh(command)
   return c.sh(("cd %s && %s"):format(dir, command))
end

local function read(name) return files.read(dir .. "/" .. name) end

local function write(name, text) files.write(dir .. "/" .. name, text) end

local function paths(names)
   local out = {}
   for i, name in ipairs(names) do out[i] = dir .. "/" .. name end
   return out
end

local function merged(names, out)
   local result = merge.files(paths(names), dir .. "/" .. out)
   return read(out), result
end

local function open(name)
   return assert(recording.open(dir .. "/" .. name))
end

-- Returns a report's rows, sorted, as text: the cells, and the samples.
local function rows(self, by, options)
   local out = {}
   for i, row in ipairs(analyze.by(self, by, options).rows) do
      out[i] = table.concat(row.cells, " ") .. " " .. row.samples
   end
   table.sort(out)
   return out
end

setup(function()
   if program:sub(1, 1) ~= "/" then program = (c.sh("pwd"):gsub("%s", "")) .. "/" .. program end
end)
before_each(function() dir = c.new_folder() end)
after_each(function() c.sh("rm -rf " .. dir) end)

-- --- recordings ----------------------------------------------------------------------------------

-- Records a rank on the simulated computer: a loop of 10 ns, with a sample each microsecond.
local function simulate(rank, microseconds)
   local m = assert(lpfm.machine("sim:k8"))
   stdlib.setenv("PMI_RANK", tostring(rank))
   stdlib.setenv("PMI_SIZE", "8")
   local tid = assert(m:spawn { program = { { loop = microseconds * 100, { ip = 0x1000, ns = 5 },
      { ip = 0x1010 + rank, ns = 5 } } } })
   record.run({ tids = { tid }, events = "task-clock", period = 1000 }, ("%s/sim%d.data"):format(dir, rank))
   stdlib.setenv("PMI_RANK")
   stdlib.setenv("PMI_SIZE")
end

local CPU_CLOCK = { { name = "cpu-clock", pmd = 65, unit = "ns", period = 1000 } }

local function head(more)
   local out = { events = CPU_CLOCK, what = "prog", fixed = true, time = 1000,
      machine = { name = "perf", pmu = "software", host = "n1", boot = "b1" } }
   for k, v in pairs(more or {}) do out[k] = v end
   return out
end

local function on_host(host, rank, more)
   local out = head { machine = { name = "perf", pmu = "software", host = host, boot = "boot of " .. host },
      job = { rank = rank, id = "77", host = "node of " .. host } }
   for k, v in pairs(more or {}) do out[k] = v end
   return out
end

-- Returns a program's symbols: `functions` of 256 bytes by address, `lines` of `sources`.
local function symbols(build_id, functions, lines, sources)
   local out = { path = "/bin/prog", build_id = build_id, count = 9, segments = { { 0, 0x10000, 0 } }, functions = {},
      files = sources or {}, lines = lines or {}, frames = {} }
   for address, name in pairs(functions) do out.functions[#out.functions + 1] = { address, 256, name } end
   table.sort(out.functions, function(a, b) return a[1] < b[1] end)
   return out
end

-- Records process 7, with /bin/prog at 0x400000; `list` has samples: { ip, tstamp } or just ip.
local function make(name, of_head, list, object)
   local w = assert(recording.create(dir .. "/" .. name, of_head))
   w:json("MAPS", { pid = 7, maps = { { 0x400000, 0x410000, 0, "/bin/prog" } } })
   w:json("COMM", { { tid = 7, pid = 7, comm = name } })
   local taken = {}
   for i, s in ipairs(list) do
      local ip, time = type(s) == "table" and s[1] or s, type(s) == "table" and s[2] or i
      taken[i] = { tid = 7, pid = 7, ip = 0x400000 + ip, tstamp = time }
   end
   w:block(handmade.block(taken), #taken)
   if object then
      w:json("SYMS", object)
      w:json("OBJS", { { path = object.path, build_id = object.build_id } })
   end
   w:close { lost = 0, full = 0, missed = 0 }
end

-- --- specs ---------------------------------------------------------------------------------------

describe("merging", function()
   it("gives the same bytes by twos, by fours, at once and in any order", function()
      local names = {}
      for rank = 0, 7 do
         simulate(rank, 100 + 50 * rank)
         names[rank + 1] = ("sim%d.data"):format(rank)
      end
      local all = merged(names, "all")
      for i = 1, 7, 2 do merged({ names[i], names[i + 1] }, "two" .. i) end
      merged({ "two1", "two3" }, "four1")
      merged({ "two7", "two5" }, "four2")
      assert.is_true(all == merged({ "four1", "four2" }, "tree of two"))
      merged({ names[8], names[2], names[5], names[1] }, "left")
      merged({ names[3], names[4], names[6], names[7] }, "right")
      assert.is_true(all == merged({ "right", "left" }, "tree of four"))
      local wanted = {}
      for rank = 0, 7 do wanted[rank + 1] = ("%d %d"):format(rank, 100 + 50 * rank) end
      assert.same(wanted, rows(open("all"), "rank"))
      local clock = open("sim0.data").head.clock
      assert.truthy(math.abs(clock.seconds - os.time()) < 1000 and clock.ns < 1e9 and clock.within >= 0)
   end)

   it("has a recording once, however often it is given", function()
      make("a", head { time = 1 }, { 1, 2 })
      make("b", head { time = 2 }, { 3 })
      local once = merged({ "a", "b" }, "ab")
      local text, result = merged({ "ab", "a", "b", "ab", "a" }, "again")
      assert.is_true(once == text)
      assert.equal(2, result.sources)
      assert.equal(5, result.twice)
      assert.is_true(once == merged({ "ab" }, "ab"), "into itself")
   end)

   it("keeps recordings apart that differ in nothing but their samples", function()
      make("a", head(), { 1, 2 })
      make("b", head(), { 1, 3 })
      local _, result = merged({ "a", "b" }, "ab")
      assert.equal(2, result.sources)
   end)

   it("shares the symbols of a build, which come from any that has them, and says the same in any order", function()
      local sources = { { "one.c", "two.c" }, { "two.c" }, { "three.c", "one.c" } }
      make("a", on_host("n1", 0), { 0x1010 }, symbols("aa", { [0x1000] = "main" }, { { 0x1010, 1, 5 } }, sources[1]))
      make("b", on_host("n2", 1), { 0x2010 }, symbols("aa", { [0x2000] = "solve" }, { { 0x2010, 1, 9 } }, sources[2]))
      make("c", on_host("n3", 2), { 0x1010 }, symbols("aa", { [0x1000] = "main" }, { { 0x1010, 2, 5 } }, sources[3]))
      local text = merged({ "a", "b", "c" }, "abc")
      merged({ "c", "b" }, "cb")
      assert.is_true(text == merged({ "cb", "a" }, "cba"))
      assert.equal(1, select(2, text:gsub('"solve"', "")))
      assert.equal(1, select(2, text:gsub('"main"', "")))
      assert.same({ "main 2", "solve 1" }, rows(open("abc"), "symbol"))
      assert.same({ "one.c:5 2", "two.c:9 1" }, rows(open("abc"), "line"))
   end)

   it("tells programs of one name by their build ids", function()
      make("a", on_host("n1", 0), { 0x1010 }, symbols("aabbccddee", { [0x1000] = "old" }))
      make("b", on_host("n2", 1), { 0x1010 }, symbols("1122334455", { [0x1000] = "new" }))
      merged({ "a", "b" }, "ab")
      assert.same({ "prog [11223344] new 1", "prog [aabbccdd] old 1" }, rows(open("ab"), "object,symbol"))
      assert.same({ "new 1", "old 1" }, rows(open("ab"), "symbol", { filter = { object = "prog" } }))
      assert.same({ "old 1" }, rows(open("ab"), "symbol", { filter = { object = "prog [aabbccdd]" } }))
   end)

   it("leaves out what is damaged, cut or foreign, names it and says so by its status", function()
      make("good", head { time = 1 }, { 1, 2 })
      make("bad", head { time = 2 }, { 3 })
      local text = read("bad")
      local at = text:find("SMPL", 1, true) + 20 -- in the chunk's body
      write("bad", text:sub(1, at - 1) .. "x" .. text:sub(at + 1))
      make("cut", head { time = 3 }, { 3 })
      write("cut", read("cut"):sub(1, -5))
      write("foreign", "GIF89a and more")
      local out, status = sh(program .. " merge good bad cut foreign none -o all")
      assert.equal(1, status)
      for _, what in ipairs { "bad is damaged at byte ", "cut is cut off in the middle of a chunk",
         "foreign is not a recording of lpfm", "none: No such file" } do
         assert.truthy(out:find("left out: " .. what, 1, true), out)
      end
      local alone = merged({ "good" }, "alone")
      assert.is_true(alone == read("all"))
      write("part", alone:sub(1, -40))
      out, status = sh(program .. " merge part -o other")
      assert.equal(1, status)
      assert.truthy(out:find("there is nothing to merge: part is cut off", 1, true), out)
      assert.is_nil(io.open(dir .. "/other"))
      assert.is_nil(io.open(dir .. "/other.part"))
   end)

   it("reads what is sound of a file that others made, and says what is not", function()
      local function chunk(tag, body) return chunks.head(tag, body) .. body end
      local merged_head = ('{"version":4,"merged":true,"byte_order":"%s"}'):format(chunks.byte_order)
      make("good", head { job = 7, machine = "n1", time = 1e300, stacks = 1 }, { 1, 2 })
      write("odd", table.concat { chunk("HEAD", merged_head), chunk("SYMS", '{"key":1}'), chunk("SRCE", "[]"),
         chunk("SRCE", '{"id":"a","objects":[1,"x"]}'), chunk("HEAD", merged_head),
         chunk("SRCE", '{"id":"b","objects":[]}'), read("good"), chunk("SRCE", '{"id":"c","objects":{}}') })
      local odd = open("odd")
      assert.equal(1, #odd.sources)
      local said = table.concat(odd:warnings(), "\n")
      for _, what in ipairs { "a merged file within another", "its head cannot be read", "the file is cut off" } do
         assert.truthy(said:find(what, 1, true), said)
      end
      local out, status = sh(program .. " report --plain -s recording,host odd")
      assert.equal(0, status, out)
      out, status = sh(program .. " merge odd good -o all")
      assert.equal(1, status, out)
      write("later", chunk("HEAD", merged_head:gsub("4", "5", 1)))
      out = sh(program .. " report later")
      assert.truthy(out:find("is of version 5; this lpfm reads versions 1 to 4: it takes a newer one", 1, true), out)
   end)

   it("keeps a recording that lost its beginning apart from the one before", function()
      make("a", head { time = 1 }, { 1, 2 })
      make("b", head { time = 2 }, { 1, 2, 3 })
      make("c", head { time = 3 }, { 1, 2, 3, 4 })
      local text, n = merged({ "a", "b", "c" }, "all"), 0
      write("odd", (text:gsub('{"id":"', function(found)
         n = n + 1
         return n == 2 and '{"iD":"' or found
      end)))
      assert.same({ "a 2", "c 4" }, rows(open("odd"), "comm"))
   end)

   it("takes a recording that was killed, and says that it is not whole", function()
      local w = assert(recording.create(dir .. "/killed", head()))
      w:block(handmade.block { { tid = 7, ip = 1 } }, 1)
      w.file:close()
      make("whole", head { time = 5 }, { 3 })
      local out, status = sh(program .. " merge killed whole -o all")
      assert.equal(0, status)
      assert.truthy(out:find("killed did not end properly", 1, true), out)
      assert.truthy(table.concat(open("all"):warnings(), "\n"):find("did not end properly", 1, true))
      assert.equal(2, #open("all").sources)
   end)

   it("is refused while another process merges into the file, and goes over what a killed one left", function()
      make("a", head(), { 1 })
      write("all.part", ("what a process that was killed has left"):rep(1000))
      merge.files(paths { "a" }, dir .. "/all")
      local before = read("all")
      assert.is_nil(io.open(dir .. "/all.part"))
      local other = assert(io.open(dir .. "/all.part", "wb"))
      assert.is_true(lock(other))
      local out, status = sh(program .. " merge a -o all")
      assert.equal(1, status, out)
      assert.truthy(out:find("cannot write all: another process is merging into it", 1, true), out)
      assert.is_true(before == read("all"))
      assert(io.open(dir .. "/all.part"), "the other process's file"):close()
      other:close()
      assert.equal(0, select(2, sh(program .. " merge a -o all")))
      assert.is_nil(io.open(dir .. "/all.part"))
   end)

   it("says that the file is not locked where the file system has no locks", function()
      make("a", head(), { 1 })
      local denied = c.target "denied"
      local out, status = sh(("%s %d:fcntl %s merge a -o all"):format(denied, errno.ENOLCK, program))
      assert.equal(0, status, out)
      assert.truthy(out:find("all could not be locked against other processes that merge into it: ", 1, true), out)
      assert.falsy(sh(program .. " merge a -o all"):find("locked", 1, true))
   end)

   it("says why it cannot write the file beside the result", function()
      make("a", head(), { 1 })
      for _, made in ipairs { "mkdir all.part", "ln -s no/such/place all.part" } do
         local line = "%s; timeout -k 5 60 %s merge a -o all; s=$?; rm -r all.part; exit $s"
         local out, status = sh(line:format(made, program))
         assert.equal(1, status, out)
         assert.truthy(out:find("cannot write [^\n]*all.part: "), out)
      end
   end)

   it("leaves the file that was there where it cannot write", function()
      make("a", head(), { 1 })
      assert.has_error(function() merge.files(paths { "a" }, dir .. "/no/such/place") end)
      merge.files(paths { "a" }, dir .. "/all")
      local before, big = read("all"), {}
      for i = 1, 1000 do big[i] = i end
      make("big", head(), big)
      for place, why in pairs { all = "cannot write all: File too large", ["/dev/full"] = "it is no file" } do
         local out, status = sh(("trap '' XFSZ; ulimit -f 8; %s merge a big -o %s"):format(program, place))
         assert.equal(1, status)
         assert.truthy(out:find(why, 1, true), out)
      end
      assert.is_true(before == read("all"))
      assert.is_nil(io.open(dir .. "/all.part"))
   end)
end)

describe("a merged file", function()
   before_each(function()
      local object = symbols("aa", { [0x1000] = "main", [0x2000] = "solve" })
      make("r0", on_host("n1", 0), { 0x1010, 0x2010 }, object)
      make("r1", on_host("n1", 1), { 0x2010, 0x2010, 0x2020 }, object)
      make("r2", on_host("n2", 2), { 0x2010 }, object)
      merged({ "r2", "r0", "r1" }, "all")
   end)

   it("is sorted by rank, host, node, job and recording", function()
      local all = open("all")
      assert.same({ "0 main 1", "0 solve 1", "1 solve 3", "2 solve 1" }, rows(all, "rank,symbol"))
      assert.same({ "n1 5", "n2 1" }, rows(all, "host"))
      assert.same({ "node of n1 5", "node of n2 1" }, rows(all, "node"))
      assert.same({ "77 6" }, rows(all, "job"))
      assert.same({ "rank 0 2", "rank 1 3", "rank 2 1" }, rows(all, "recording"))
   end)

   it("is chosen from by rank, host and node", function()
      local all = open("all")
      assert.same({ "solve 4" }, rows(all, "symbol", { filter = { rank = "1-2" } }))
      assert.same({ "main 1", "solve 2" }, rows(all, "symbol", { filter = { rank = "0,2" } }))
      assert.same({ "solve 1" }, rows(all, "symbol", { filter = { node = "node of n2" } }))
      assert.same({}, rows(all, "symbol", { filter = { host = "n3" } }))
      assert.has_error(function() rows(all, "symbol", { filter = { rank = "x" } }) end)
   end)

   it("keeps processes of one number apart, with the names that they had", function()
      assert.same({ "r0 2", "r1 3", "r2 1" }, rows(open("all"), "comm"))
   end)

   it("is what its recordings are together", function()
      local together = recording.together { open("r0"), open("r1"), open("r2") }
      assert.same(rows(together, "rank,symbol,cpu"), rows(open("all"), "rank,symbol,cpu"))
      local out = sh(program .. " report --plain -s rank,symbol r0 r1 r2 | grep -v '^#'")
      assert.equal(sh(program .. " report --plain -s rank,symbol all | grep -v '^#'"), out)
   end)

   it("hands every sample to scripts, with its rank", function()
      local seen = {}
      for s in samples.each(open("all")) do seen[#seen + 1] = s.rank .. " " .. s.symbol .. " " .. s.comm end
      table.sort(seen)
      assert.same({ "0 main r0", "0 solve r0", "1 solve r1", "1 solve r1", "1 solve r1", "2 solve r2" }, seen)
      local out = sh(program .. " script -F rank,symbol --rank 2 all 2>/dev/null")
      assert.equal("   2 solve\n", out)
   end)

   it("says of which recordings a filter found no sample", function()
      for filter, words in pairs {
         ["--rank 2 --symbol main"] = ": of rank 2, no samples match --symbol main (there are: solve)",
         ["--rank 9"] = ": no samples match --rank 9 (there are: 0, 1, 2)",
         ["--rank 2 --symbol main,solve"] = "of rank 2, no sample has the symbol 'main'\n" } do
         local out = sh(program .. " report " .. filter .. " all 2>&1")
         assert.truthy(out:find(words, 1, true), out)
      end
   end)

   it("is read by every command that reads a recording", function()
      simulate(0, 10)
      merged({ "sim0.data" }, "sim")
      for _, line in ipairs { "report --plain all", "report --json all", "report --samples all", "report --phases all",
         "report --histogram interval all", "diff r0 all", "annotate -f sim", "plot all", "plot time all",
         "plot ranks r0 r1 r2", "script all", "export -o x.html all", "export --format folded all",
         "export -o x.pb.gz all", "export --format csv r0 r1", "export --format json all", "export --format sql all",
         "export --format speedscope all", "diff 'r[01]' all,r2", "report --html y.html r0 r1 r2" } do
         local out, status = sh(program .. " " .. line)
         assert.equal(0, status, line .. ": " .. out)
      end
   end)

   it("and a recording that is in it, or comes twice, count once, and it is said", function()
      c.sh(("cp %s/r0 %s/copy; ln -s r0 %s/link"):format(dir, dir, dir))
      local alone, all = analyze.by(open("r0"), "symbol").rows[1], analyze.by(open("all"), "rank")
      for _, command in ipairs { "report --plain -x, -s symbol", "export --format folded" } do
         local once = sh(("%s %s r0"):format(program, command))
         for _, names in ipairs { "r0 r0", "r0 copy", "r0 link" } do
            local out, status = sh(("%s %s %s 2>said"):format(program, command, names))
            assert.equal(once, out)
            assert.equal(0, status)
            assert.truthy(read("said"):find("is the recording in r0: it counts once", 1, true), read("said"))
         end
      end
      assert.truthy(alone.samples > 0)
      local out = sh(program .. " report --plain -x, -s rank r1 all r2 2>/dev/null")
      for _, row in ipairs(all.rows) do
         assert.truthy(out:find((",%d,%.0f,%s,%s\n"):format(row.samples, row.events, row.event, row.cells[1]), 1, true),
            out)
      end
      -- recordings of the same time are not the same recording
      out = sh(program .. " report --plain -x, -s rank r0 r1 r2 2>said")
      assert.equal(3, select(2, out:gsub("\n[%d.]+,", "")))
      assert.falsy(read("said"):find("counts once", 1, true))
      out = sh(program .. " diff r0,copy r1,r2")
      assert.truthy(out:find("lpfm diff: copy is the recording in r0: it counts once", 1, true), out)
   end)

   it("refuses ranks that are none", function()
      for text, why in pairs { ["3-1"] = "rank: the range '3-1' is reversed: expected 1-3",
         ["0,x"] = "rank: '0,x' is not a list of ranks, e.g. 0-3,5" } do
         for _, command in ipairs { "report --plain", "script", "diff r0" } do
            local out = sh(("%s %s --rank %s all"):format(program, command, text))
            assert.truthy(out:find(why, 1, true), command .. ": " .. out)
         end
      end
   end)

   it("and the other files are read where one cannot be, which is named and told of by the status", function()
      write("odd file", "GIF89a")
      local whole = sh(program .. " report -x, r0 r1")
      for _, line in ipairs { "report --plain", "report -x,", "report --json", "report --html y.html",
         "report --phases", "plot ranks", "export --format folded" } do
         local out, status = sh(("%s %s r0 'odd file' r1"):format(program, line))
         assert.equal(1, status, line)
         assert.truthy(out:find("left out: odd file is not a recording of lpfm", 1, true), line .. ": " .. out)
         assert.falsy(out:find("traceback", 1, true), out)
      end
      assert.equal(whole, (sh(program .. " report -x, r0 'odd file' r1 2>/dev/null")))
      local out, status = sh(program .. " report 'odd file' none")
      assert.equal(1, status)
      assert.equal("lpfm report: odd file is not a recording of lpfm; none: No such file or directory\n", out)
   end)

   it("and the other files give a script their samples where one cannot be read", function()
      write("odd file", read("r0"):sub(1, 60))
      local out, status = sh(program .. " script r0 'odd file' r1 2>&1 >/dev/null")
      assert.truthy(out:find("left out: odd file", 1, true), out)
      assert.equal(1, status)
      assert.equal(3, select(2, sh(program .. " script r0 'odd file' -E 'os.exit(3)'")))
   end)

   it("and files that were only put behind each other are one recording, which the reports say", function()
      make("faults", head { events = { { name = "page-faults", pmd = 66, period = 7 } } }, { 1, 1, 1 })
      merged({ "r0", "r1" }, "two")
      for name, parts in pairs { r0 = { "r0", "faults" }, two = { "two", "r2" }, all = { "all", "two" } } do
         write("row", read(parts[1]) .. read(parts[2]))
         for _, line in ipairs { "report -x,", "script", "export --format folded", "plot", "annotate --asm" } do
            local out, status = sh(("%s %s row 2>err"):format(program, line))
            assert.equal(0, status, line)
            assert.equal((sh(("%s %s %s 2>/dev/null"):format(program, line, name))), out, line .. " " .. name)
            assert.truthy(read("err"):find("another recording begins at byte", 1, true), line .. ": " .. read("err"))
         end
         local out, status = sh(program .. " merge row r2 -o joined")
         assert.truthy(out:find("left out: row holds another recording from byte", 1, true), out)
         assert.equal(1, status)
      end
   end)

   it("is named where it is cut, beside others", function()
      merged({ "r0", "r1" }, "cut all")
      write("cut all", read("cut all"):sub(1, -20))
      local out = sh(program .. " report r2 'cut all'")
      assert.truthy(out:find("cut all: the file is cut off", 1, true), out)
   end)

   it("is the runs that are in it where two are compared", function()
      merged({ "r0", "r1" }, "one")
      merged({ "r2", "r1" }, "other")
      for _, line in ipairs { "", "--rank 1", "--absolute" } do
         local runs = sh(("%s diff -x, %s r0,r1 r2,r1 2>/dev/null"):format(program, line))
         assert.equal(runs, (sh(("%s diff -x, %s one other 2>/dev/null"):format(program, line))), line)
      end
   end)

   it("is a map of functions by rank on a page, with the imbalance of each", function()
      sh(program .. " report --html all.html all")
      assert.truthy(read("all.html"):find('"recordings":["rank 0","rank 1","rank 2"]', 1, true))
      if browser.missing() then return pending(browser.missing()) end
      local found = {}
      local map = browser.dom(dir .. "/all.html", dir):match('<table class="heats">(.-)</table>')
      for name, row, imbalance in map:gmatch('<tr><th scope="row"[^>]*>([^<]*)</th>(.-)<td class="n">([%d.]+)</td>') do
         found[#found + 1] = name .. " " .. imbalance
         for words in row:gmatch('title="([^"]*)"') do found[#found + 1] = words end
      end
      assert.same({ "all functions 1.50", "rank 0, all functions: 2.000 us, 100.00%",
         "rank 1, all functions: 3.000 us, 100.00%", "rank 2, all functions: 1.000 us, 100.00%",
         "solve 1.80", "rank 0, solve: 1.000 us, 50.00%", "rank 1, solve: 3.000 us, 100.00%",
         "rank 2, solve: 1.000 us, 100.00%", "main 3.00", "rank 0, main: 1.000 us, 50.00%",
         "rank 1, main: 0.000 s, 0.00%", "rank 2, main: 0.000 s, 0.00%" }, found)
   end)

   it("has no blocks of its own, and says whose there are", function()
      local ok, err = pcall(function() return open("all"):each_block() end)
      assert.is_false(ok)
      assert.truthy(err:find("recorded.sources", 1, true), err)
      assert.equal("function", type(open("all").sources[1]:each_block()))
   end)

   it("has the sums of its recordings", function()
      local all, sum = analyze.by(open("all"), "symbol"), {}
      for _, name in ipairs { "r0", "r1", "r2" } do
         for _, row in ipairs(analyze.by(open(name), "symbol").rows) do
            sum[row.symbol] = (sum[row.symbol] or 0) + row.events
         end
      end
      for _, row in ipairs(all.rows) do assert.equal(sum[row.symbol], row.events) end
   end)
end)

describe("recordings together", function()
   it("have call stacks by numbers of their own", function()
      local function chained(name, rank, callers)
         local w = assert(recording.create(dir .. "/" .. name, on_host("n1", rank, { stacks = "frame pointers" })))
         w:json("MAPS", { pid = 7, maps = { { 0x400000, 0x410000, 0, "/bin/prog" } } })
         local words = { 1 } -- the first stack's number; then stacks of two frames
         for _, caller in ipairs(callers) do
            for _, word in ipairs { 2, 0x401010, 0x400000 + caller } do words[#words + 1] = word end
         end
         for i, word in ipairs(words) do words[i] = handmade.int(word, 8) end
         w:chunk("STKS", table.concat(words))
         local taken = {}
         for i = 1, #callers do taken[i] = { tid = 7, pid = 7, ip = 0x401010, tstamp = i, values = { i } } end
         w:block(handmade.block(taken), #taken)
         w:json("SYMS", symbols("aa", { [0x1000] = "leaf", [0x2000] = "one", [0x3000] = "two" }))
         w:close {}
      end
      chained("a", 0, { 0x2011, 0x3011 })
      chained("b", 1, { 0x3011 })
      merged({ "a", "b" }, "ab")
      local tree = require("pfm.stacks").tree(open("ab"), {})
      local found = {}
      for _, child in ipairs(tree.children) do found[#found + 1] = child.name .. " " .. child.samples end
      assert.same({ "two 2", "one 1" }, found)
   end)

   it("have the events of all by name, whatever registers they were in", function()
      make("a", head { time = 1 }, { 1, 2 })
      make("b", head { time = 2, events = { { name = "page-faults", pmd = 65, period = 10 } } }, { 3 })
      make("c", head { time = 3, events = { { name = "cpu-clock", pmd = 65, unit = "ns", period = 500 } } }, { 3 })
      local all = recording.together { open("a"), open("b"), open("c") }
      local result = analyze.by(all, "event")
      local found = {}
      for _, row in ipairs(result.rows) do found[row.event] = row.events end
      assert.same({ ["cpu-clock"] = 2 * 1000 + 500, ["page-faults"] = 10 }, found)
      assert.equal(1, analyze.histogram(all, "period", { filter = { event = "page-faults" } }).n)
   end)

   it("have one time, by the wall clocks that were read with them; and it is said", function()
      -- n1's clock began 100 s before n2's; n2's recording began 3 s after n1's.
      local function at(host, rank, seconds, own)
         return on_host(host, rank, { time = seconds,
            clock = { seconds = seconds, ns = 0, samples = own, within = 2000 } })
      end
      make("a", at("n1", 0, 1000, 200e9), { { 1, 201e9 }, { 1, 205e9 } })
      make("b", at("n2", 1, 1003, 103e9), { { 1, 103e9 }, { 1, 104e9 } })
      merged({ "b", "a" }, "ab")
      local all = open("ab")
      assert.same({ "0.000000 0 1", "2.000000 1 1", "3.000000 1 1", "4.000000 0 1" }, rows(all, "time,rank"))
      assert.same({ "1 2" }, rows(all, "rank", { filter = { from = 1.5, to = 3.5 } }))
      assert.same({ "2.000000 1", "3.000000 1" }, rows(all, "time", { filter = { rank = 1 } }))
      assert.same({ "3.000000 1" }, rows(all, "time", { filter = { rank = 1, from = 2.5 } }))
      assert.equal(4, analyze.phases(all, "symbol", { slices = 1, filter = { rank = 1 } })[1].to)
      assert.same({ "the clocks of 2 machines are aligned by their wall clocks, read to 2.000 us; how far those were "
         .. "apart is not known" }, all:warnings())
   end)

   it("that lost something are told of in one sentence", function()
      local list = {}
      for i = 1, 9 do
         list[i] = recording.of { head = head { time = i }, blocks = {}, ends = { lost = i == 9 and 1 or 4 + i } }
         list[i].given = "r" .. i
      end
      assert.same({ "r1: 5 samples lost while recording; with other numbers: r2, r3, r4, r5, r6 and 2 more",
         "r9: 1 sample lost while recording" }, recording.together(list):warnings())
   end)

   it("of one machine need no wall clock", function()
      make("a", head { time = 1000 }, { { 1, 201e9 } })
      make("b", head { time = 2000 }, { { 2, 203e9 } })
      local all = recording.together { open("a"), open("b") }
      assert.same({}, all:warnings())
      assert.same({ 201e9, 203e9 }, { analyze.span(all) })
   end)

   it("have the distribution of their values", function()
      make("a", head { time = 1 }, { { 1, 10 }, { 1, 20 }, { 1, 30 } })
      make("b", head { time = 2 }, { { 1, 100 }, { 1, 104 } })
      local h = analyze.histogram(recording.together { open("a"), open("b") }, "interval")
      assert.same({ 3, 8, 4, 10 }, { h.n, h.mean, h.min, h.max })
      assert.near(math.sqrt(12), h.deviation, 1e-9) -- the intervals are 10, 10 and 4
   end)

   it("have no derived metrics of samples without the values that these are made from", function()
      make("a", head { time = 1 }, { 1, 1 })
      make("b", head { time = 2 }, { 1, 0x1000 })
      local function counted(name, more)
         local w = assert(recording.create(dir .. "/" .. name, head(more)))
         w:block(handmade.block { { tid = 8, pid = 8, ip = 1, tstamp = 1, values = { 5 } },
            { tid = 8, pid = 8, ip = 1, tstamp = 2, values = { 8 } } }, 2)
         w:close { lost = 0, full = 0, missed = 0 }
      end
      counted("with", { time = 3, with = { { name = "cs", pmd = 69 } } })
      local all = recording.together { open("a"), open("with") }
      local result = analyze.by(all, "pid", { sums = { "cs" } })
      local found = {}
      for _, row in ipairs(analyze.derive(all, result, { each = "cs / samples" })) do
         found[row.counts.samples .. row.cells[1]] = row.metrics.each or "none"
      end
      assert.same({ ["27 a"] = "none", ["28 ?"] = 1.5 }, found)
   end)
end)

it("blocks of another clock can be shifted", function()
   local t = stored.counter { keys = { { "tstamp", shift = -50, from = 10, step = 10 } } }
   t:add(handmade.block { { tid = 1, ip = 1, tstamp = 65 }, { tid = 1, ip = 1, tstamp = 80 } }, { [65] = {} })
   local found = {}
   for slice, n in t:rows() do found[#found + 1] = slice .. " " .. n end
   table.sort(found)
   assert.same({ "0 1", "2 1" }, found)
end)
