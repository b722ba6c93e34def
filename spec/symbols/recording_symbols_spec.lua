-- SPDX-License-Identifier: MIT
-- Recordings are self-contained: they can be read where the programs are not; as far as they go
-- when damaged.

local analyze = require "pfm.analyze"
local c = require "support.c"
local chunks = require "lpfm.chunks"
local report = require "repl.command.report"
local samples = require "support.samples"
local recording = require "pfm.recording"
local summary = require "pfm.recording.summary"
local embedded_symbols = require "pfm.recording.embedded_symbols"
local files = require "support.files"
local jitmap = require "pfm.jitmap"

local read, write = files.read, files.write

local program = (os.getenv("LPFM_BUILD") or "build") .. "/lpfm"
local root = c.folder()

local must = c.must

local function chunk(tag, body)
   return chunks.head(tag, body) .. body
end

-- Returns the tag of each chunk and where the chunk begins, in order: { tag, at }
local function layout(path)
   local file, out = assert(chunks.open(path)), {}
   for tag, at in function() return file:next() end do out[#out + 1] = { tag, at - 16 } end
   file:close()
   return out
end

describe("a recording", function()
   local prog, file = root .. "/prog", root .. "/prog.data"
   local before

   local function rows(path, by)
      local out = {}
      for i, row in ipairs(report.sort(assert(recording.open(path or file)), by).rows) do
         out[i] = table.concat(row.cells, " ") .. " " .. row.samples
      end
      return out
   end

   setup(function()
      must(("cp %s %s"):format(c.target("shares"), prog))
      must(("%s record -q -F 2000 -o %s -- %s 0.4 1"):format(program, file, prog))
      before = { symbol = rows(nil, "symbol"), line = rows(nil, "line"), object = rows(nil, "object,address") }
      os.remove(prog)
   end)

   it("names functions, lines and objects without the program", function()
      assert.truthy(table.concat(before.symbol, "\n"):find("heavy %d+"))
      assert.truthy(table.concat(before.line, "\n"):find("shares.c:%d+ %d+"))
      for by, expected in pairs { symbol = before.symbol, line = before.line, ["object,address"] = before.object } do
         assert.same(expected, rows(nil, by))
      end
      local out = must(program .. " report " .. file)
      assert.falsy(out:find("Warning: no functions' names", 1, true), out)
   end)

   it("names the kernel's functions under another kernel", function()
      local self = assert(recording.open(file))
      self.head.machine.boot = "another"
      local out = {}
      for i, row in ipairs(report.sort(self, "symbol").rows) do out[i] = row.cells[1] .. " " .. row.samples end
      assert.same(before.symbol, out)
   end)

   it("holds the programming, the machine and the totals", function()
      local self = assert(recording.open(file))
      local pmd = self.head.program.pmds[1]
      assert.same({ 65, -500000 }, { pmd.num, pmd.value })
      assert.equal(65, self.head.program.pmcs[1].num)
      assert.equal("little", self.head.byte_order)
      assert.is_true(self.head.machine.cpus >= 1)
      assert.is_true(self.ends.samples > 100)
      assert.equal(self.ends.samples, report.sort(self).totals[65].samples)
   end)

   it("is read up to every chunk where it is cut, and says so", function()
      local text, places = read(file), layout(file)
      local cut, last = root .. "/cut.data", 0
      assert.same({ "HEAD", "ENDS" }, { places[1][1], places[#places][1] })
      for i = 2, #places do
         write(cut, text:sub(1, places[i][2]))
         local self = assert(recording.open(cut))
         local n = 0
         for _, total in pairs(report.sort(self).totals) do n = n + total.samples end
         assert.is_true(n >= last)
         last = n
         assert.truthy(table.concat(self:warnings()):find("did not end properly", 1, true))
      end
      assert.equal(assert(recording.open(file)).ends.samples, last)
   end)

   it("can be saved as far as it goes, and is whole again", function()
      local text, places, self = read(file), layout(file), nil
      for i = 1, #places do
         if places[i][1] == "SYMS" and not self then
            write(root .. "/killed.data", text:sub(1, places[i][2]))
            self = assert(recording.open(root .. "/killed.data"))
         end
      end
      assert.is_nil(self.symbols)
      embedded_symbols.save(self, root .. "/saved.data")
      local saved = assert(recording.open(root .. "/saved.data"))
      assert.same({}, saved.damage)
      assert.same(self.maps, saved.maps)
      assert.same(self.comms, saved.comms)
      assert.is_truthy(saved.symbols and next(saved.symbols))
      assert.equal(report.sort(self).totals[65].samples, saved.ends.samples)
      assert.same(report.sort(self, "thread,address").rows, report.sort(saved, "thread,address").rows)
      assert.has_error(function() embedded_symbols.save(saved, saved.path) end)
      assert.has_error(function() embedded_symbols.save(saved, "/no/such/dir/x") end)
   end)

   it("is never a crash, however it is damaged", function()
      local text, bad, seed = read(file), root .. "/bad.data", 1
      local function random(n)
         seed = (seed * 16807) % 2147483647
         return seed % n + 1
      end
      for round = 1, 60 do
         local damaged = text
         for _ = 1, random(4) do
            local at = random(#damaged)
            damaged = round % 3 == 0 and damaged:sub(1, at)
               or damaged:sub(1, at - 1) .. string.char(random(256) - 1) .. damaged:sub(at + random(3))
         end
         write(bad, damaged)
         local self, err = recording.open(bad)
         if self then
            local result = report.sort(self, "comm,symbol,line")
            assert.is_true(damaged == text or #summary.warnings(self, result) > 0)
         else
            assert.truthy(err:find("its head cannot be read", 1, true) or err:find("is not a recording", 1, true), err)
         end
      end
   end)

   it("with chunks that make no sense is read without them", function()
      local whole = read(file)
      for _, body in ipairs { "[]", "{}", "7", "null", "not JSON", '{"pid":1,"maps":[[1]]}', '[{"tid":"x"}]', "[3]",
         '{"path":"/x","functions":[["a"]],"segments":[],"lines":[],"files":[],"frames":[]}' } do
         for _, tag in ipairs { "MAPS", "COMM", "OBJS", "SYMS", "ENDS", "SMPL" } do
            write(root .. "/odd.data", whole .. chunk(tag, body))
            local self = assert(recording.open(root .. "/odd.data"))
            local ok, result = pcall(report.sort, self, "comm,symbol,line")
            assert.is_true(ok, tag .. " " .. body .. ": " .. tostring(result))
            assert.is_table(summary.warnings(self, result))
         end
      end
      for _, body in ipairs { "{}", '{"version":2}', '{"version":2,"events":[{}]}', '{"version":2,"events":3}',
         '{"version":2,"events":[{"pmd":1000}]}', '{"version":2,"events":[{"pmd":65,"set":-1}]}',
         '{"version":2,"events":[{"pmd":65,"values":[7,"x"]}]}', '{"version":2,"events":[{"pmd":6.5}]}',
         '{"version":"x","events":[]}', '{"version":2,"events":[],"with":[1]}' } do
         write(root .. "/odd.data", chunk("HEAD", body))
         local self, err = recording.open(root .. "/odd.data")
         assert.is_nil(self)
         assert.is_string(err)
      end
   end)

   it("of the other byte order is refused in words", function()
      write(root .. "/big.data", chunk("HEAD", '{"version":2,"byte_order":"big","events":[]}'))
      local _, err = recording.open(root .. "/big.data")
      assert.truthy(err:find("big-endian", 1, true), err)
   end)
end)

describe("a recording of version 1", function()
   it("is still read", function()
      local path = root .. "/v1.data"
      local head = '{"version":1,"what":"old","events":[{"name":"cpu-clock","pmd":65,"unit":"ns","period":1000}],'
         .. '"with":[{"name":"page-faults","pmd":66}],"fixed":true,"machine":{"name":"perf"}}'
      write(path, chunk("HEAD", head) .. chunk("MAPS", '{"pid":7,"maps":[[4096,8192,0,"/no/such/prog"]]}')
         .. chunk("COMM", '[{"tid":7,"pid":7,"comm":"prog"}]')
         .. chunk("SMPL", samples.block { { tid = 7, ip = 4100, values = { 1 } },
            { tid = 7, ip = 4100, values = { 5 } }, { tid = 7, ip = 9000, values = { 6 } } })
         .. chunk("ENDS", '{"samples":3,"lost":0,"full":0}'))
      local self = assert(recording.open(path))
      assert.same({}, self:warnings())
      local result = report.sort(self, "comm,symbol")
      assert.equal(2, #result.rows)
      assert.same({ "prog", "[prog: No such file or directory]" }, result.rows[1].cells)
      assert.same({ 2, 2000 }, { result.rows[1].samples, result.rows[1].events })
      assert.same({ "prog", "[unknown]" }, result.rows[2].cells)
   end)
end)

describe("symbols in a recording", function()
   it("answer as those of the object do, for what was sampled", function()
      local prog = c.target("shares")
      local maps = { { 0x400000, 0x500000, 0, prog } }
      local object = require("pfm.symbols").object(prog)
      local address
      for _, s in ipairs(object:segments()) do
         for offset = s[1], s[1] + s[2] - 1 do
            if not address and object:func(s[3] + offset - s[1]) == "heavy" then address = offset + 8 end
         end
      end
      local collector = embedded_symbols.collector { [65] = {} }
      collector:maps(7, maps)
      collector:block(samples.block { { tid = 7, ip = 0x400000 + address }, { tid = 7, ip = 0x600000 } })
      local list = collector:objects()
      assert.equal(1, #list)
      assert.same({ prog, "heavy", 1 }, { list[1].path, list[1].functions[1][3], #list[1].functions })
      local self = recording.of { head = { events = { { name = "cpu-clock", pmd = 65 } }, machine = {} }, blocks = {},
         maps = { { pid = 7, maps = maps } }, symbols = { [prog] = list[1] } }
      local here, live = embedded_symbols.resolver(self):resolve(7, 0x400000 + address), object:address(address)
      assert.same({ object:func(live) }, { here.handle:func(live) })
      assert.same({ object:line(live) }, { here.handle:line(live) })
      assert.same(object:build_id(), here.handle:build_id())
      assert.same(object:functions(), here.handle:functions())
      local frames = object:frames(live)
      assert.same(#frames > 1 and frames or {}, here.handle:frames(live))
   end)
end)

describe("Python", function()
   local handmade = require "support.handmade"

   -- Returns the warnings for n samples in an object, 20 in another, and a map of these functions.
   local function said(object, n, functions)
      local list = {}
      for i = 1, n do list[i] = { tid = 1, pid = 7, ip = 0x1000 } end
      for _ = 1, 20 do list[#list + 1] = { tid = 1, pid = 7, ip = 0x9000 } end
      local made = recording.of { head = { events = { { name = "cpu-clock", pmd = 65 } } },
         blocks = { handmade.block(list) },
         maps = { { pid = 7, maps = { { 0x1000, 0x2000, 0, object }, { 0x9000, 0xa000, 0, "/nowhere/prog" } } } },
         symbols = functions and { map = { path = "/tmp/perf-7.map", functions = functions } } or nil }
      return table.concat(summary.warnings(made, analyze.by(made, "symbol")), "\n")
   end

   it("of a version that tells its functions is said how; of an older one, that it does not", function()
      local python = "of Python, only the interpreter's functions are named: Python "
      for version, object in pairs { ["3.12"] = "/x/bin/python3.12", ["3.13"] = "/x/lib/libpython3.13.so.1.0" } do
         local text = said(object, 20)
         assert.truthy(text:find(python .. version .. " writes its own as python3 -X perf", 1, true), text)
      end
      for version, object in pairs { ["2.7"] = "/x/bin/python2.7", ["3.11"] = "/x/lib/libpython3.11.so.1.0" } do
         local text = said(object, 20)
         assert.truthy(text:find(python .. version .. " does not write its own; 3.12 and later do", 1, true), text)
      end
   end)

   it("needs no word where its functions are named, or hardly any sample is in it", function()
      assert.falsy(said("/x/bin/python3.12", 20, { { 0x7000, 16, "py::make:/x/y.py" } }):find("of Python", 1, true))
      assert.truthy(said("/x/bin/python3.12", 20, { { 0x7000, 16, "other" } }):find("of Python", 1, true))
      assert.falsy(said("/x/bin/python3.11", 1):find("of Python", 1, true))
      for _, other in ipairs { "/x/bin/pythonic", "/x/lib/python3.11/_json.so", "/x/bin/ipython3.11" } do
         assert.falsy(said(other, 20):find("of Python", 1, true), other)
      end
   end)
end)

describe("Code that a JIT compiler made", function()
   local handmade = require "support.handmade"
   local NOBODY = 2 ^ 22 + 1 -- no process has this ID, and no map file is for it

   it("is called so where no map file names it, and how one gets a map is said", function()
      for _, mapping in ipairs { "", "//anon", "[anon:js]", "/memfd:doublemapper" } do
         local made = recording.of { head = { events = { { name = "cpu-clock", pmd = 65 } } },
            blocks = { handmade.block { { tid = 1, pid = NOBODY, ip = 0x5000 } } },
            maps = { { pid = NOBODY, maps = { { 0x4000, 0x8000, 0, mapping } } } } }
         local text = table.concat(summary.warnings(made, analyze.by(made, "symbol")), "\n")
         for _, words in ipairs { "JIT compiler",
            "/tmp/perf-PID.map", "python3 -X perf", "node --perf-basic-prof", "java",
            "LPFM_JITMAP=1 for the scripts that it runs itself" } do
            assert.truthy(text:find(words, 1, true), mapping .. ": " .. text)
         end
         assert.falsy(text:find("No such file", 1, true), text)
      end
   end)

   it("is not known for sure where a map file names other code at its place, for the map has no times", function()
      local path, maps = jitmap.path(NOBODY), { { 0x1000, 0x3000, 0, "" } }
      local wanted = { [0x1000] = "first", [0x1050] = "third (or earlier code)", [0x1070] = "second (or earlier code)",
         [0x10c0] = "first", [0x2000] = "only" }
      local list = {}
      for address in pairs(wanted) do list[#list + 1] = { tid = NOBODY, pid = NOBODY, ip = address } end
      local collector = embedded_symbols.collector { [65] = {} }
      collector:maps(NOBODY, maps)
      collector:block(samples.block(list))
      files.write(path, "1000 100 first\n1040 40 second\n2000 10 only\n1040 20 third\n")
      local objects = collector:objects()
      os.remove(path)
      local self = recording.of { head = { events = { { name = "cpu-clock", pmd = 65 } }, machine = {} }, blocks = {},
         maps = { { pid = NOBODY, maps = maps } }, symbols = { [path] = objects[1] } }
      local resolver, found = embedded_symbols.resolver(self), {}
      for address in pairs(wanted) do found[address] = resolver:resolve(NOBODY, address).func end
      assert.same(wanted, found)
   end)
end)
