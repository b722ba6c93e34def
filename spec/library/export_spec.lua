-- SPDX-License-Identifier: MIT
-- Recordings in the formats of other tools: exact for one made by hand, and readable by those
-- tools. Second interpreter, all: most of it starts other tools.

local stored = require "lpfm.samples"
local browser = require "support.browser"
local c = require "support.c"
local cjson = require "cjson"
local export = require "pfm.export"
local flamegraph = require "pfm.export.flamegraph"
local pprof = require "pfm.export.pprof"
local protobuf = require "pfm.export.protobuf"
local handmade = require "support.handmade"
local recording = require "pfm.recording"
local speedscope = require "support.speedscope"
local stacks = require "pfm.recording.stacks"
local files = require "support.files"

local read, write = files.read, files.write

local program, run = c.program, c.lpfm
local scratch = c.folder()

-- No process has such an ID, so the map file of this name can be ours.
local PID = 2 ^ 22 + require("lpfm.proc").getpid() * 4
local MAP = ("/tmp/perf-%d.map"):format(PID)
local data = scratch .. "/made.data"

local sh = c.must

local function exported(name, options)
   local path = scratch .. "/out"
   export.write(assert(recording.open(data)), name, path, options)
   return read(path)
end

local cpu_clock = { name = "cpu-clock", pmd = 65, unit = "ns", period = 1000000 }
local faults = { name = "page-faults", pmd = 66, period = 10 }

-- Makes a recording of two threads: 3 samples in "alpha", 2 in "be;ta" (1 of the other thread), one
-- in the kernel, and 2 page-fault samples in "alpha".
local function make()
   local function at(ip, tid, i, pmd)
      return { tid = tid, pid = PID, ip = ip, tstamp = 5e9 + i * 1e6, cpu = i % 2, pmd = pmd,
         period = pmd and 10 or 1000000, values = { 100 + i } }
   end
   handmade.write(data, {
      what = "'prog <1>'", time = 1700000000, fixed = true, events = { cpu_clock, faults },
      with = { { name = "task-clock", pmd = 64, unit = "ns" } }, machine = { name = "perf", pmu = "software" },
   }, {
      maps = { { pid = PID, maps = { { 0x500000, 0x600000, 0, "" } } } },
      comms = { { tid = PID, pid = PID, comm = "prog" }, { tid = PID + 1, pid = PID, comm = 'w "1"' } },
      samples = {
         at(0x500004, PID, 0), at(0x500008, PID, 1), at(0x500004, PID, 2), at(0x500104, PID, 3),
         at(0x500104, PID + 1, 4), at(-4096, PID, 5), at(0x500004, PID, 6, 66), at(0x500004, PID, 7, 66),
      },
   })
end

setup(function()
   write(MAP, "500000 100 alpha\n500100 100 be;ta\n")
   make()
end)

teardown(function() os.remove(MAP) end)

describe("stacks", function()
   it("are process, thread, object, function, each once", function()
      local list, total = stacks.collect(assert(recording.open(data)))
      assert.equal(6, total)
      local found = {}
      for i, s in ipairs(list) do found[i] = s.name .. " " .. s.weight end
      assert.same({
         "prog;prog;[generated code];alpha 3", "prog;prog;[generated code];be:ta 1", "prog;prog;[kernel];[kernel] 1",
         'prog;w "1";[generated code];be:ta 1',
      }, found)
      assert.same({ "process", "thread", "object", "symbol" },
         { list[1].frames[1].kind, list[1].frames[2].kind, list[1].frames[3].kind, list[1].frames[4].kind })
   end)

   it("weigh what their samples stand for, if that is asked for", function()
      local list, total = stacks.collect(assert(recording.open(data)), { weight = "events" })
      assert.same({ 6000000, 3000000 }, { total, list[1].weight })
   end)

   it("are of one event, which must have been recorded", function()
      local list, total = stacks.collect(assert(recording.open(data)), { event = "page-faults", weight = "events" })
      assert.same({ 1, 20 }, { #list, total })
      assert.has_error(function() stacks.collect(assert(recording.open(data)), { event = "cycles" }) end,
         "'cycles' was not recorded in " .. data .. "; the events there: cpu-clock, page-faults")
   end)
end)

describe("folded stacks", function()
   it("are lines of frames and weight", function()
      assert.equal('prog;prog;[generated code];alpha 3\nprog;prog;[generated code];be:ta 1\n'
         .. 'prog;prog;[kernel];[kernel] 1\nprog;w "1";[generated code];be:ta 1\n', exported("folded"))
   end)

   it("tell processes and threads of one name apart by number, if that is asked for", function()
      local first = exported("folded", { ids = true }):match("^[^\n]+")
      assert.equal(("prog (%d);prog (%d);[generated code];alpha 3"):format(PID, PID), first)
   end)
end)

-- Checks that tags are nested properly; returns how many elements have each name, and the text.
local function elements(xml)
   local open, count = {}, {}
   xml = xml:gsub("<!%[CDATA%[.-%]%]>", "")
   for close, name, rest in xml:gmatch("<(/?)([%w]+)([^>]*)>") do
      if close == "/" then
         assert.equal(name, table.remove(open))
      else
         count[name] = (count[name] or 0) + 1
         if rest:sub(-1) ~= "/" then open[#open + 1] = name end
      end
   end
   assert.equal(0, #open)
   return count, xml
end

describe("a flame graph", function()
   local function frames_of(svg)
      local out = {}
      for title, x, y, width in svg:gmatch('<title>([^<]*)</title><rect x="([%d.]+)" y="(%d+)" width="([%d.]+)"') do
         out[title] = { tonumber(x), tonumber(y), tonumber(width) }
      end
      return out
   end

   it("has a frame where and as wide as its weight says", function()
      local svg = exported("flamegraph")
      local frames = frames_of(svg)
      -- 1180 pixels are 6 ms, a row is 17 pixels, the root is the lowest row
      assert.same({ 10, 128, 1180 }, frames["all (all, 6.000 ms, 100.00%)"])
      assert.same({ 10, 111, 1180 }, frames["prog (process, 6.000 ms, 100.00%)"])
      assert.same({ 10, 94, 983.33 }, frames["prog (thread, 5.000 ms, 83.33%)"])
      assert.same({ 993.33, 94, 196.67 }, frames["w &quot;1&quot; (thread, 1.000 ms, 16.67%)"])
      assert.same({ 10, 60, 590 }, frames["alpha (symbol, 3.000 ms, 50.00%)"])
      assert.same({ 10, 77, 786.67 }, frames["[generated code] (object, 4.000 ms, 66.67%)"])
      assert.same({ 796.67, 77, 196.67 }, frames["[kernel] (kernel, 1.000 ms, 16.67%)"])
   end)

   it("is sound XML with a script, whatever the names are", function()
      local svg = exported("flamegraph", { title = "a <b> & 'c' \27 \"d\"" })
      local count, plain = elements(svg)
      assert.same({ 1, 1, 1 }, { count.svg, count.style, count.script })
      assert.equal(count.g, count.title)
      assert.falsy(plain:find("&[^alqg#]"))
      assert.truthy(plain:find("a &lt;b&gt; &amp; 'c' ? &quot;d&quot;", 1, true))
      assert.falsy(svg:find("@%u+@"))
   end)

   it("leaves out what is too thin to see, and cuts names to their frames", function()
      local list = {
         { frames = { { kind = "symbol", name = ("wide"):rep(100) } }, weight = 1e6 },
         { frames = { { kind = "symbol", name = "thin" } }, weight = 1 },
      }
      local svg = flamegraph.draw(list, 1e6 + 1)
      assert.falsy(svg:find(">thin", 1, true))
      local text = svg:match(">(wide[wide]+%.%.)<")
      assert.equal(math.floor((1180 - 6) / 7.2), #text)
   end)

   it("of nothing is refused in words", function()
      local empty = scratch .. "/empty.data"
      handmade.write(empty, { events = { cpu_clock } }, { samples = {} })
      assert.has_error(function() export.write(assert(recording.open(empty)), "flamegraph", scratch .. "/e.svg") end,
         "there are no samples of 'cpu-clock' to draw in " .. empty)
   end)

   it("zooms, searches and tells in a browser", function()
      if browser.missing() then return pending(browser.missing()) end
      local page = scratch .. "/page.html"
      write(page, "<script>window.prompt = function () { return 'be;ta'; };</script>" .. exported("flamegraph") .. [[
         <script>
            var log = [], frames = document.querySelectorAll(".frame");
            function frame(name) {
               return Array.prototype.filter.call(frames, function (f) { return f.dataset.name === name; })[0];
            }
            function fire(what, type) { what.dispatchEvent(new MouseEvent(type, { bubbles: true })); }
            function widths() {
               return Array.prototype.map.call(frames, function (f) {
                  return f.classList.contains("off") ? "-" : Math.round(f.querySelector("rect").getAttribute("width"));
               }).join(" ");
            }
            log.push(widths());
            fire(frame("alpha"), "mouseover");
            log.push(document.querySelector(".details").textContent);
            fire(frame("alpha"), "click");
            log.push(widths());
            fire(document.querySelector(".reset"), "click");
            log.push(widths());
            fire(document.querySelector(".search"), "click");
            log.push(document.querySelector(".matched").textContent);
            document.body.innerHTML = "<pre>LOG " + log.join("|") + " END</pre>";
         </script>]])
      local dom = browser.dom(page, scratch)
      local all = "1180 1180 983 787 590 197 197 197 197 197 197"
      assert.equal(table.concat({ all, "alpha (symbol, 3.000 ms, 50.00%)", "1180 1180 1180 1180 1180 - - - - - -", all,
         "found in 33.33%" }, "|"), dom:match("LOG (.-) END"))
   end)
end)

describe("speedscope's JSON", function()
   it("has the profiles of both events: all threads, and each by time", function()
      local out = cjson.decode(exported("speedscope"))
      assert.equal("https://www.speedscope.app/file-format-schema.json", out["$schema"])
      local names = {}
      for i, p in ipairs(out.profiles) do
         names[i] = p.name
         local sum = 0
         for k, w in ipairs(p.weights) do
            sum = sum + w
            for _, f in ipairs(p.samples[k]) do assert.is_string(out.shared.frames[f + 1].name) end
         end
         assert.equal(#p.samples, #p.weights)
         assert.same({ "sampled", 0, sum }, { p.type, p.startValue, p.endValue })
      end
      assert.same({ "cpu-clock, all threads", ("cpu-clock, prog (%d)"):format(PID), ('cpu-clock, w "1" (%d)'):format(
         PID + 1), "page-faults, all threads", ("page-faults, prog (%d)"):format(PID) }, names)
      assert.same({ "nanoseconds", "none" }, { out.profiles[1].unit, out.profiles[4].unit })
      -- only successive samples at one place are joined, and alpha was sampled at three places
      assert.same({ 1e6, 1e6, 1e6, 1e6, 1e6 }, out.profiles[2].weights)
      assert.equal(6e6, out.profiles[1].endValue)
   end)

   it("has no unit of time where stacks weigh samples", function()
      local profiles = cjson.decode(exported("speedscope", { event = "cpu-clock", weight = "samples" })).profiles
      for _, p in ipairs(profiles) do assert.equal("none", p.unit, p.name) end
      assert.equal(6, profiles[1].endValue)
   end)

   it("meets speedscope's own schema", function()
      local why = speedscope.missing()
      if why then return pending(why) end
      local path, text = scratch .. "/own.speedscope.json", exported("speedscope")
      write(path, text)
      assert.equal("", speedscope.faults(path))
      write(path, (text:gsub('"sampled"', '"sample"')))
      assert.truthy(speedscope.faults(path):find("$.profiles", 1, true))
   end)

   it("of nothing has lists of no frames and no profiles", function()
      local empty, path = scratch .. "/empty.data", scratch .. "/empty.speedscope.json"
      handmade.write(empty, { events = { cpu_clock } }, { samples = {} })
      export.write(assert(recording.open(empty)), "speedscope", path)
      local text = read(path)
      assert.truthy(text:find('"frames":[]', 1, true) and text:find('"profiles":[]', 1, true), text)
   end)
end)

-- Returns the number at a place of protobuf's wire format, and the place behind the number.
local function varint(bytes, at)
   local n, scale = 0, 1
   while true do
      local b = bytes:byte(at)
      at, n, scale = at + 1, n + b % 128 * scale, scale * 128
      if b < 128 then return n, at end
   end
end

-- Returns the fields of a message: by number, the list of its values, which are numbers or bytes.
local function decode(bytes)
   local at, out = 1, {}
   while at <= #bytes do
      local key, value
      key, at = varint(bytes, at)
      value, at = varint(bytes, at)
      if key % 8 == 2 then
         local length = value
         value, at = bytes:sub(at, at + length - 1), at + length
         assert.equal(length, #value)
      else
         assert.equal(0, key % 8)
      end
      local field = math.floor(key / 8)
      out[field] = out[field] or {}
      table.insert(out[field], value)
   end
   return out
end

-- Returns the list of packed numbers.
local function unpacked(bytes)
   local out, at = {}, 1
   while at <= #bytes do out[#out + 1], at = varint(bytes, at) end
   return out
end

describe("protobuf", function()
   local function hex(bytes) return (bytes:gsub(".", function(ch) return ("%02x"):format(ch:byte()) end)) end

   it("writes numbers as the format's own examples have them", function()
      assert.equal("9601", hex(protobuf.varint(150)))
      assert.equal("00", hex(protobuf.varint(0)))
      assert.equal("ffffffffffffffffff01", hex(protobuf.varint(-1)))
      assert.equal("80808080808080808001", hex(protobuf.varint(-2 ^ 63)))
      assert.equal("8080808080808010", hex(protobuf.varint(2 ^ 53)))
      assert.equal("089601", hex(protobuf.number(1, 150)))
      assert.equal("120774657374696e67", hex(protobuf.bytes(2, "testing")))
      assert.equal("3206038e029ea705", hex(protobuf.packed(6, { 3, 270, 86942 })))
      assert.equal("", protobuf.number(3, 0) .. protobuf.number(3, nil) .. protobuf.number(3, false))
   end)
end)

describe("pprof's profile", function()
   local function profile()
      local p = decode(pprof.encode(assert(recording.open(data))))
      local text = {}
      for i, s in ipairs(p[6]) do text[i - 1] = s end
      return p, text
   end

   it("has values, labels and functions for every place", function()
      local p, text = profile()
      local types = {}
      for i, t in ipairs(p[1]) do
         local f = decode(t)
         types[i] = text[f[1][1]] .. "/" .. text[f[2][1]]
      end
      assert.same({ "cpu-clock samples/count", "cpu-clock/nanoseconds", "page-faults samples/count",
         "page-faults/count" }, types)
      local functions = {}
      for _, f in ipairs(p[5]) do functions[decode(f)[1][1]] = text[decode(f)[2][1]] end
      local locations = {}
      for _, l in ipairs(p[4]) do
         local f = decode(l)
         locations[f[1][1]] = functions[decode(f[4][1])[1][1]]
      end
      local seen = {}
      for _, s in ipairs(p[2]) do
         local f = decode(s)
         local labels = {}
         for _, l in ipairs(f[3]) do
            local label = decode(l)
            labels[text[label[1][1]]] = label[2] and text[label[2][1]] or label[3][1]
         end
         assert.same({ PID, "prog" }, { labels.pid, labels.process })
         local key = locations[unpacked(f[1][1])[1]] .. " " .. labels.thread
         seen[key] = seen[key] or { 0, 0, 0, 0 }
         for i, v in ipairs(unpacked(f[2][1])) do seen[key][i] = seen[key][i] + v end
      end
      assert.same({
         ["alpha prog"] = { 3, 3e6, 2, 20 }, ["be;ta prog"] = { 1, 1e6, 0, 0 }, ['be;ta w "1"'] = { 1, 1e6, 0, 0 },
         ["[kernel] prog"] = { 1, 1e6, 0, 0 },
      }, seen)
   end)

   it("refers to what it has, and says when and how often", function()
      local p, text = profile()
      assert.equal("", text[0])
      for _, l in ipairs(p[4]) do assert.is_true(decode(l)[2][1] <= #p[3]) end
      assert.same({ 1700000000e9, 1000000, "cpu-clock" }, { p[9][1], p[12][1], text[p[14][1]] })
   end)

   it("is gzipped, and protoc decodes it by profile.proto, whole", function()
      local path = scratch .. "/prof.pb.gz"
      assert.equal("\31\139", exported("pprof"):sub(1, 2))
      export.write(assert(recording.open(data)), "pprof", path)
      assert.equal(pprof.encode(assert(recording.open(data))), sh("gzip -dc " .. path))
      if select(2, c.sh("command -v protoc")) ~= 0 then return pending("protoc is not installed") end
      local decode_all = "gzip -dc %s | protoc -Ispec/support --decode=perftools.profiles.Profile profile.proto"
      local out = sh(decode_all:format(path))
      assert.truthy(out:find('string_table: "alpha"', 1, true), out)
      for _, field in ipairs { "sample_type", "sample", "mapping", "location", "function", "period_type" } do
         assert.truthy(out:find("\n" .. field .. " {", 1, true) or out:find("^" .. field .. " {"), field)
      end
      for line in out:gmatch("[^\n]+") do
         assert.falsy(line:find("^%s*%d"), line) -- unknown to profile.proto, or mistyped
      end
   end)
end)

describe("CSV", function()
   it("has every sample with its names", function()
      local lines = {}
      for line in exported("csv"):gmatch("[^\n]+") do lines[#lines + 1] = line end
      local first = "cpu-clock,5.001000000,%d,%d,prog,prog,1,0x500008,alpha,8,[generated code],,,1000000,101"
      local fifth = 'cpu-clock,5.004000000,%d,%d,prog,"w ""1""",0,0x500104,be;ta,4,[generated code],,,1000000,104'
      assert.equal("event,time,pid,tid,process,comm,cpu,address,symbol,offset,object,file,line,period,task-clock",
         lines[1])
      assert.equal(first:format(PID, PID), lines[3])
      assert.equal(fifth:format(PID, PID + 1), lines[6])
      assert.equal(9, #lines)
   end)
end)

describe("JSON", function()
   it("has the recording whole", function()
      local out = cjson.decode(exported("json"))
      assert.same({ "'prog <1>'", 8 }, { out.head.what, out.ends.samples })
      assert.equal(8, #out.samples)
      assert.same({
         event = "cpu-clock", time = 5.001, pid = PID, tid = PID, process = "prog", comm = "prog", cpu = 1,
         address = "0x500008", symbol = "alpha", offset = 8, object = "[generated code]", period = 1000000,
         ["task-clock"] = 101,
      }, out.samples[2])
      assert.equal("0xfffffffffffff000", out.samples[6].address)
      assert.equal(2, #cjson.decode(exported("json", { event = "page-faults" })).samples)
   end)
end)

describe("SQLite", function()
   it("answers questions", function()
      local path = scratch .. "/it's.db" -- ' is a quotation mark of the shell and of SQL
      export.write(assert(recording.open(data)), "sqlite", path)
      export.write(assert(recording.open(data)), "sqlite", path) -- replaces the first file
      local function ask(sql) return sh(([[sqlite3 "%s" "%s"]]):format(path, sql)) end
      assert.equal("alpha|5|3000020\nbe;ta|2|2000000\n[kernel]|1|1000000\n",
         ask("SELECT symbol, count(*), sum(period) FROM resolved GROUP BY symbol ORDER BY 2 DESC"))
      assert.equal(('%d|w "1"|be;ta\n'):format(PID + 1),
         ask("SELECT tid, thread, symbol FROM resolved WHERE tid <> pid"))
      assert.equal("-4096\n", ask("SELECT min(address) FROM samples"))
      assert.equal("828\n", ask([[SELECT sum(\"task-clock\") FROM resolved]]))
      assert.equal("'prog <1>'\n", ask("SELECT value FROM info WHERE key = 'what'"))
      assert.equal("1|cpu-clock|ns|1000000.0\n2|page-faults||10.0\n", ask("SELECT * FROM events"))
      assert.equal("ok\n", ask("PRAGMA integrity_check"))
   end)
end)

describe("any export", function()
   local strange = scratch .. "/strange.data"

   -- In this recording two event sets use one PMD for two events, and names are no text.
   setup(function()
      handmade.write(strange, {
         what = "bytes \255\27",
         events = { { name = "A", pmd = 4, period = 5 }, { name = "B", pmd = 4, set = 1, period = 7 } },
      }, {
         maps = { { pid = 9, maps = { { 4096, 8192, 0, "/no/\200such\1" } } } },
         comms = { { tid = 9, pid = 9, comm = "\27[31m\195\169\255;x" } },
         samples = { { tid = 9, ip = 4100, pmd = 4, period = 5 }, { tid = 9, ip = 4100, pmd = 4, set = 1, period = 7 },
            { tid = 9, ip = 4100, pmd = 4, set = 1, period = 7 } },
      })
   end)

   it("tells the events of sets apart", function()
      local self = assert(recording.open(strange))
      local weights = {}
      for _, name in ipairs { "A", "B" } do
         weights[name] = select(2, stacks.collect(self, { event = name, weight = "events" }))
      end
      assert.same({ A = 5, B = 14 }, weights)
      export.write(self, "csv", scratch .. "/sets.csv", { event = "B" })
      assert.equal(3, select(2, read(scratch .. "/sets.csv"):gsub("\n", "")))
   end)

   it("as a picture says that samples are missing", function()
      local path = scratch .. "/losses.data"
      handmade.write(path, { what = "x", events = { { name = "some", pmd = 5, period = 1 } } },
         { samples = { { tid = 9, ip = 4, pmd = 5 } }, ends = { lost = 617 } })
      export.write(assert(recording.open(path)), "flamegraph", scratch .. "/losses")
      local note = read(scratch .. "/losses"):match('class="note"[^>]*>([^<]*)')
      assert.equal("some: 1,000 events. Warning: 617 samples lost while recording", note)
   end)

   it("of one event shows the first that has samples", function()
      local path = scratch .. "/first.data"
      handmade.write(path, { what = "x", events = { { name = "none", pmd = 4, period = 1 },
         { name = "some", pmd = 5, period = 1 }, { name = "more", pmd = 6, period = 1 } } }, {
         samples = { { tid = 9, ip = 4, pmd = 6 }, { tid = 9, ip = 4, pmd = 5 }, { tid = 9, ip = 4, pmd = 6 } },
      })
      local self = assert(recording.open(path))
      assert.equal("some", stacks.event(self).name)
      export.write(self, "folded", scratch .. "/first")
      assert.equal("1", read(scratch .. "/first"):match(" (%d+)\n$"))
      export.write(self, "flamegraph", scratch .. "/first") -- raises for an event without samples
   end)

   it("is text where names are not", function()
      local self = assert(recording.open(strange))
      for _, name in ipairs { "folded", "flamegraph", "speedscope", "firefox", "csv", "json", "sql" } do
         export.write(self, name, scratch .. "/strange")
         local text = read(scratch .. "/strange")
         assert.truthy(text:find("?[31mé?", 1, true), name)
         assert.falsy(text:find("[\27\255\200\1]"), name)
      end
      assert.truthy(pprof.encode(self):find("?[31mé?;x", 1, true))
   end)

   it("survives recordings that were cut anywhere", function()
      local whole, cut = read(data), scratch .. "/cut.data"
      for length = 4, #whole - 1, 37 do
         write(cut, whole:sub(1, length))
         local self = recording.open(cut)
         if self then
            for _, name in ipairs { "folded", "speedscope", "firefox", "pprof", "csv", "sql", "json" } do
               export.write(self, name, scratch .. "/cut")
            end
            assert.is_string(cjson.decode(read(scratch .. "/cut")).warnings[1])
         end
      end
   end)
end)

describe("lpfm export", function()
   it("takes the format from a name, a word or an option", function()
      local folded = exported("folded")
      assert.equal(folded, sh(program .. " export --format folded " .. data .. " 2>/dev/null"))
      assert.equal(folded, sh(program .. " export folded -i " .. data .. " 2>/dev/null"))
      local alone = "lpfm export: wrote the samples of 'cpu-clock' alone; -e writes those of 'page-faults'\n"
      assert.equal(alone .. folded, sh(("%s export -f %s -o %s/x.folded && cat %s/x.folded"):format(program, data,
         scratch, scratch)))
      assert.equal(alone, sh(("%s export -o %s/x.svg %s"):format(program, scratch, data)))
      for _, name in ipairs { "x.speedscope.json", "x.pb.gz", "x.csv", "x.json", "x.sql", "x.db" } do
         assert.equal("", sh(("%s export -o %s/%s %s"):format(program, scratch, name, data)))
      end
      assert.equal("<svg", read(scratch .. "/x.svg"):sub(1, 4))
      assert.truthy(cjson.decode(read(scratch .. "/x.speedscope.json")).shared)
      assert.truthy(cjson.decode(read(scratch .. "/x.json")).samples)
      assert.equal("SQLite format 3", read(scratch .. "/x.db"):sub(1, 15))
   end)

   it("passes options on", function()
      assert.equal("prog;prog;[generated code];alpha 20\n",
         sh(program .. " export folded -e page-faults --weight events " .. data))
      assert.truthy(sh(program .. " export csv -x';' " .. data):find("^event;time;"))
      assert.truthy(sh(program .. " export svg --title Mine " .. data):find(">Mine<", 1, true))
   end)

   it("names the culprit of every mistake", function()
      c.fail({
         { "export " .. data, 2, "no format: expected --format" },
         { "export --format flamegrap " .. data, 2, "did you mean 'flamegraph'?" },
         { "export flamegrap", 2, "'flamegrap' is neither a format; did you mean 'flamegraph'? nor a recording" },
         { "export svg " .. data .. " more", 2, "unexpected argument 'more'" },
         { "export --weight heavy svg " .. data, 2, "'heavy' is neither" },
         { "export csv --title Mine " .. data, 2, "--format csv and --title exclude each other" },
         { "export svg -x';' " .. data, 2, "--format flamegraph and -x exclude each other" },
         { "export pprof --weight events " .. data, 2, "--format pprof and --weight exclude each other" },
         { "export -o x.firefox.json --no-inline " .. data, 2, "--format firefox and --no-inline exclude each other" },
         { "export svg /no/such", 1, "/no/such" },
         { "export svg /etc/passwd", 1, "/etc/passwd is not a recording" },
         { "export sqlite " .. data, 2, "this format needs a file: -o FILE" },
         { "export -e cycles svg " .. data, 2, "'cycles' was not recorded" },
         { "export -o /no/such/dir/x.svg " .. data, 1, "cannot write /no/such/dir/x.svg" },
         { "export -o /no/such/dir/x.pb.gz " .. data, 1, "cannot write /no/such/dir/x.pb.gz" },
         { "export -o /no/such/dir/x.db " .. data, 1, "cannot write /no/such/dir/x.db" },
         { "export -o /dev/full csv " .. data, 1, "cannot write /dev/full" },
         { "export -o /dev/full pprof " .. data, 1, "gzip: " },
      }, run)
   end)

   it("exports what a real program did", function()
      local target, file = c.target("inlined"), scratch .. "/real.data"
      sh(("%s record -q -c 1000000 -o %s -- %s 300"):format(program, file, target))
      local total, inner = 0, 0
      for stack, n in sh(program .. " export folded " .. file .. " 2>/dev/null"):gmatch("([^\n]+) (%d+)\n") do
         total = total + n
         if stack == "inlined;inlined;inlined;outer;middle;leaf" then inner = inner + n end
      end
      local samples = 0
      for block in recording.open(file):each_block() do
         for _ in stored.each(block, {}) do samples = samples + 1 end
      end
      assert.equal(samples, total)
      assert.is_true(inner > total / 2, inner .. " of " .. total)
      local flat = sh(program .. " export folded --no-inline " .. file .. " 2>/dev/null")
      assert.truthy(flat:find("inlined;inlined;inlined;outer %d+\n"))
      assert.falsy(flat:find("leaf", 1, true))
   end)
end)
