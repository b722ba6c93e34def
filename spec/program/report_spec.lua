-- SPDX-License-Identifier: MIT
-- lpfm report and lpfm diff on recordings with known samples.

local c = require "support.c"
local files = require "support.files"
local cjson = require "cjson"
local make = require "support.samples"
local recording = require "pfm.recording"
local embedded_symbols = require "pfm.recording.embedded_symbols"

local program = (os.getenv("LPFM_BUILD") or "build") .. "/lpfm"
local root = c.folder()

local function run(line)
   return c.sh(program .. " " .. line)
end

local function must(line)
   local out, status = run(line)
   assert.equal(0, status, out)
   return out
end

local SYMBOLS = { ["/bin/prog"] = { path = "/bin/prog", count = 2, segments = {},
   functions = { { 0x1000, 16, "alpha" }, { 0x2000, 16, "beta" } }, files = { "/src/prog.c" },
   lines = { { 0x1000, 1, 10 }, { 0x2000, 1, 20 } }, frames = {} } }

-- Records n samples of alpha, m of beta, 1 ms apart; PMD 66 grows by 2 in alpha and by 5 in beta.
local function record(name, n, m, symbols, event)
   local list, faults = {}, 0
   for i = 1, n + m do
      faults = faults + (i <= n and 2 or 5)
      list[i] = { tid = 70 + i % 2, pid = 70, cpu = i % 2, ip = i <= n and 0x1000 or 0x2000, tstamp = i * 1e6,
         period = 1e6, values = { faults } }
   end
   local path = root .. "/" .. name .. ".data"
   local head = { what = "'prog'", fixed = true, machine = { name = "sim", pmu = "test" },
      events = { event or { name = "cpu-clock", pmd = 65, unit = "ns", period = 1e6 } },
      with = { { name = "page-faults", pmd = 66 } } }
   embedded_symbols.save(recording.of { head = head,
      maps = { { pid = 70, maps = { { 0x1000, 0x3000, 0x1000, "/bin/prog" } } } },
      comms = { [70] = "prog", [71] = "helper" }, symbols = symbols or SYMBOLS,
      blocks = { make.block(list) },
      ends = { elapsed = (n + m) / 1e3, lost = 0, full = 0 } }, path)
   return path
end

describe("lpfm report", function()
   local file

   setup(function() file = record("one", 30, 70) end)

   local function rows(options)
      local out = {}
      for i, row in ipairs(cjson.decode(must(("report --json %s %s"):format(options, file))).rows) do
         out[i] = ("%s %d"):format(row.symbol or row.object or row.thread or row.time, row.samples)
      end
      return out
   end

   it("prints the table to the letter", function()
      local lines = {}
      for line in must("report " .. file):gmatch("[^\n]+") do lines[#lines + 1] = line end
      assert.equal("# 100 samples of 'prog'", lines[1])
      assert.equal("# cpu-clock every 1.000 ms, during 100.000 ms", lines[2])
      assert.same({ "#", "  percent  samples  symbol", "   70.00%       70  beta", "   30.00%       30  alpha" },
         { unpack(lines, 4) })
   end)

   it("has no prose about the machine in the head that --json prints, and neither has a recording", function()
      local path = root .. "/new.data"
      must("record -o " .. path .. " -e cpu-clock:u -c 100000 -- ls -R /usr/include")
      local machine = cjson.decode(must("report --json " .. path)).head.machine
      assert.same(machine, recording.open(path).head.machine)
      assert.equal("perf", machine.name)
      for name, value in pairs(machine) do
         assert(#tostring(value) < 100, ("a text of %d bytes in head.machine.%s"):format(#tostring(value), name))
      end
   end)

   it("filters", function()
      assert.same({ "alpha 30" }, rows "--symbol alpha")
      assert.same({ "beta 35", "alpha 15" }, rows "--tid 71")
      assert.same({ "beta 70", "alpha 30" }, rows "--cpu 0-1")
      assert.same({ "beta 35", "alpha 15" }, rows "-C 1-5")
      assert.same({ "beta 35", "alpha 15" }, rows "--comm helper --cpu 1 --pid 70 --object prog --event cpu-clock")
      assert.same({ "beta 70", "alpha 30" }, rows "--object /bin/prog")
      assert.same({ "beta 10" }, rows "--time 0.09,")
      assert.same({ "alpha 10" }, rows "--time ,0.009")
      assert.same({ "alpha 30", "beta 20" }, rows "--time 0%,50%")
      assert.same({ "0.000000 50", "0.050000 50" }, rows "-s time --slice 50ms")
      local out = must("report -s time,symbol --slice 50ms --percent-limit 60 " .. file)
      assert.truthy(out:find("60.00%%       30  0.000000  alpha\n  100.00%%       50  0.050000  beta\n# and 1"), out)
   end)

   it("selects names that hold commas, and several of them", function()
      local names = { "std::map<int, long>::at(int, char)", "operator<" }
      local symbols = { ["/bin/prog"] = { path = "/bin/prog", count = 2, segments = {},
         functions = { { 0x1000, 16, names[1] }, { 0x2000, 16, names[2] } }, files = {}, lines = {}, frames = {} } }
      local path, other = record("commas", 30, 70, symbols), record("changed", 70, 30, symbols)
      for wanted, expected in pairs { [names[1]] = { names[1] }, [names[2]] = { names[2] },
         [names[1] .. ",main"] = { names[1] }, ["main, " .. names[1]] = { names[1] },
         [names[2] .. ",main"] = { names[2] } } do
         local got = {}
         for i, row in ipairs(cjson.decode(must(("report --json --symbol '%s' %s"):format(wanted, path))).rows) do
            got[i] = row.symbol
         end
         assert.same(expected, got, wanted)
         local lines = must(("diff --absolute --symbol '%s' %s %s"):format(wanted, path, other))
         assert.truthy(lines:find(expected[1], 1, true), wanted .. ": " .. lines)
         lines = must(("script -F symbol --symbol '%s' %s"):format(wanted, path))
         local other_name = expected[1] == names[1] and names[2] or names[1]
         assert.truthy(lines:find(expected[1], 1, true), wanted .. ": " .. lines)
         assert.falsy(lines:find(other_name, 1, true), wanted .. ": " .. lines)
      end
      for _, name in ipairs(names) do
         assert.truthy(must(("annotate %s '%s'"):format(path, name)):find("# " .. name, 1, true), name)
      end
      for _, figure in ipairs { "plot", "export -o - --format folded" } do
         local out = must(figure .. " " .. path)
         assert.truthy(out:find("int, char)", 1, true), out)
      end
   end)

   it("compares recordings with commas in their names", function()
      local path = record("one,two", 5, 5)
      must(("diff %s %s"):format(path, path))
   end)

   it("says in words what is out of range in numbers and times, and takes times beyond the end", function()
      for _, line in ipairs { "--time 10%,1e20", "--time 0,inf", "--time -1e20,1e20", "-s time --slice 1e9" } do
         must(("report %s %s"):format(line, file))
      end
      for _, line in ipairs { "report --time nan,1", "report --time 0,nan%", "report --time inf,inf",
         "report -s time --slice 1e20", "plot time --slices 1000000000", "plot histogram --bins 10000000",
         "bias -c 1e20", "record --buffer 99999999999999999999 -- true" } do
         local out, status = run(line .. (line:find("true") and "" or " " .. file))
         assert.truthy(status == 1 or status == 2, line .. ": " .. out)
         assert.falsy(out:find("traceback", 1, true) or out:find(".lua:", 1, true), line .. ": " .. out)
      end
   end)

   it("has no picture of an empty recording, and says so in each", function()
      local empty = record("empty", 0, 0)
      for _, figure in ipairs { "bars", "time", "heat", "histogram" } do
         local out, status = run(("plot %s %s"):format(figure, empty))
         assert.equal(1, status, out)
         assert.truthy(out:find("there are no samples of 'cpu-clock' to draw", 1, true), figure .. ": " .. out)
      end
      assert.truthy(run("annotate -i " .. empty):find("there are no samples in " .. empty, 1, true))
   end)

   it("invents no rate and no duration where all samples are of one moment, or where there are none", function()
      local one, none = record("moment", 1, 0), record("empty", 0, 0)
      for _, figure in ipairs { "time", "heat" } do
         local out, status = run(("plot %s %s"):format(figure, one))
         assert.equal(1, status, out)
         assert.truthy(out:find("a rate takes samples of two moments: those of 'cpu-clock' in " .. one, 1, true), out)
      end
      assert.truthy(must("report --phases " .. one):find("how long the phase lasted is not known", 1, true))
      assert.falsy(must("report --phases " .. file):find("not known", 1, true))
      local phases = must("report --phases " .. none)
      assert.truthy(phases:find("# no samples match", 1, true) and not phases:find("0.000000", 1, true), phases)
      for _, path in ipairs { one, none } do
         local out = must("report --correlate period,page-faults --raw " .. path)
         assert.truthy(out:find(": two at least are needed", 1, true), out)
      end
   end)

   it("compares no shares with a recording that has no samples, and finds one count more no difference", function()
      local one, none = record("moment", 1, 0), record("empty", 0, 0)
      for _, pair in ipairs { one .. " " .. none, none .. " " .. one } do
         local out = must("diff " .. pair)
         assert.truthy(out:find(none .. ": no samples of cpu-clock there, so shares are not compared", 1, true), out)
         assert.falsy(out:find("%", 1, true), out)
         out = must("diff --absolute " .. pair)
         assert.truthy(out:find("%d +[+-]1000000 +%S+ +1%.0000 +alpha\n"), out)
      end
      assert.truthy(must(("diff %s %s"):format(none, none)):find("# no samples match", 1, true))
   end)

   it("says of a recording without samples that there are none, in each format", function()
      local none = root .. "/none.data"
      must(("record -q -e page-faults -c 1000000000 -o %s -- true"):format(none))
      for _, line in ipairs { "report", "report --json", "report -x,", "report --phases --json", "report --samples",
         "report --histogram interval --json", "report --correlate interval,period --json",
         "report --derive x=samples/2 --json", "diff --json " .. none, "script -i", "export --format folded" } do
         local out = must(line .. " " .. none)
         assert.truthy(out:find("there are no samples in the recording", 1, true), line .. ": " .. out)
      end
      local out = must("report --correlate interval,period --json " .. none .. " 2>/dev/null")
      assert.same({ n = 0 }, cjson.decode(out)) -- no mean of nothing
   end)

   it("prints an empty list in JSON as a list", function()
      local empty = record("empty", 0, 0)
      for _, line in ipairs { "report --json", "report --phases --json", "diff --json " .. empty } do
         local out = must(line .. " " .. empty)
         assert.truthy(out:find('"rows":[]', 1, true), out)
         assert.falsy(out:find("{}", 1, true), out)
      end
      local none = must("report --derive 'x=samples/0' --json " .. file)
      assert.truthy(none:find('"metrics":{"x":null}', 1, true), none)
   end)

   it("prints separated values with the columns of the keys last, each key once", function()
      local function head(line) return must(line):match("^# On the simulated machine[^\n]*\n([^\n]+)") end
      assert.equal("percent,samples,events,event,event,comm", head("report -x, -s event,comm,event " .. file))
      assert.equal("percent,samples,events,event,symbol", head("report -x, -s symbol,sym,symbol " .. file))
      assert.truthy(head(("diff -x, -s comm,event %s %s"):format(file, file)):find(",p,event,comm,event$"))
      assert.truthy(must("report -s symbol,symbol " .. file):find("percent  samples  symbol\n", 1, true))
   end)

   it("refuses a filter that lets nothing through, with the nearest name", function()
      for filter, hint in pairs { ["--time 200%,300%"] = "", ["--object othr"] = "",
         ["--symbol alhpa"] = "; did you mean 'alpha'?",
         ["-e nosuch"] = "", ["--tid 1"] = "" } do
         local out, status = run("report " .. filter .. " " .. file)
         assert.equal(1, status, out)
         assert.truthy(out:find("no samples match --", 1, true), out)
         assert.truthy(out:find(hint, 1, true), out)
      end
      local out, status = run("report --rank 0 " .. file)
      assert.equal(1, status, out)
      assert.falsy(out:find("did you mean", 1, true), out)
   end)

   it("says what there is where a filter lets nothing through", function()
      for filter, words in pairs { ["--object othr"] = " (there are: prog)",
         ["--symbol a,b"] = " (there are: beta, alpha)",
         ["--pid 1"] = "(there are: 70 ", ["--cpu 9,11"] = " (there are: 0, 1)",
         ["--rank 0"] = " (no sample has a rank)", ["-e nosuch"] = " (there are: cpu-clock)" } do
         for _, line in ipairs { "report", "report --json", "report --phases", "diff " .. file } do
            local out, status = run(("%s %s %s"):format(line, filter, file))
            -- phases are of one event, which is chosen
            if filter ~= "-e nosuch" or not line:find("phases", 1, true) then
               assert.truthy(out:find(words, 1, true), line .. ": " .. out)
               assert.equal(1, status, line .. ": " .. out)
            end
         end
      end
      for filter, words in pairs { ["--object othr"] = "no sample has the object 'othr' (there are: prog)",
         ["--symbol alpha --time 99%,100%"] = "in that time, no sample has the symbol 'alpha'",
         ["--comm prog --cpu 1"] = "no samples match the filter" } do
         local out = c.sh(("TERM=xterm script -qec '%s script %s -i %s' /dev/null"):format(program, filter, file))
         assert.truthy(out:find(words, 1, true), filter .. ": " .. out)
      end
   end)

   it("names each value of a filter that no sample has, where others let samples through", function()
      for filter, words in pairs { ["-e cpu-clock,nosuch"] = "no sample has the event 'nosuch'",
         ["--comm helper,nosuch,none"] = "no sample has the comm 'nosuch' or 'none'",
         ["--object prog,othr"] = "no sample has the object 'othr'",
         ["--symbol alpha,btea"] = "no sample has the symbol 'btea'; did you mean 'beta'?",
         ["--pid 70,71"] = "no sample has the process '71'",
         ["--cpu 0-1,7-9,11"] = "no sample has the CPU '7-9' or '11'" } do
         for _, line in ipairs { "report", "report --json", "report -x,", "report --phases", "script", "diff " .. file,
            "diff -x, " .. file } do
            if filter ~= "-e cpu-clock,nosuch" or not (line:find("phases", 1, true) or line == "script") then
               local out = must(("%s %s %s %s"):format(line, filter, line == "script" and "-i" or "", file))
               assert.truthy(out:find(words, 1, true), line .. " " .. filter .. ": " .. out)
            end
         end
      end
      assert.falsy(must("report --symbol beta,alpha --cpu 0-1,1 " .. file):find("no sample has", 1, true))
   end)

   it("refuses conditions that nothing meets together, as diff does", function()
      for _, line in ipairs { "report", "report --json", "report -x,", "report --phases",
         "diff " .. file } do
         local out, status = run(("%s --symbol alpha --time 99%%,100%% %s"):format(line, file))
         assert.equal(1, status, line .. ": " .. out)
         assert.truthy(out:find("no samples match --time 99%,100% and --symbol alpha together", 1, true), out)
      end
   end)

   it("does what people from perf and pfmon type", function()
      assert.same({ "beta 70", "alpha 30" }, rows "--stdio -n --no-children --sort=sym --header")
      assert.same({ "beta 70" }, rows "--symbols beta --percent-limit 50")
      assert.same({ "beta 70" }, rows "--smpl-show-top 1 --smpl-per-function")
      assert.truthy(must("report --stdio --dsos prog -i " .. file):find("beta", 1, true))
      for flag, words in pairs { ["-g caller"] = "no call stacks", ["--call-graph=fp"] = "the order 'fp' is not known",
         ["--tui"] = "pipe it into less", ["-k vmlinux"] = "holds its own symbols", ["-F overhead"] = "--json" } do
         local out, status = run(("report %s %s"):format(flag, file))
         assert.equal(2, status, flag)
         assert.truthy(out:find(words, 1, true), out)
      end
   end)

   it("shows phases, histograms, correlations, derived metrics", function()
      local out = must("report --phases " .. file)
      assert.truthy(out:find("0.000000  0.029700%s+30  alpha 100.0%%"), out)
      local phases = cjson.decode(must("report --phases --slice 0.01 --json " .. file))
      assert.same({ 2, 30, 70 }, { #phases, phases[1].samples, phases[2].samples })
      out = must("report --histogram page-faults " .. file)
      assert.truthy(out:find("# 98 values of page-faults: mean 8.2", 1, true), out)
      local h = cjson.decode(must("report --json --raw --histogram page-faults " .. file))
      assert.same({ 100, 2, 410 }, { h.n, h.min, h.max })
      out = must("report --correlate page-faults,interval " .. file)
      assert.truthy(out:find("does not vary", 1, true), out)
      out = must("report --derive 'faults=page_faults/samples' --top 1 " .. file)
      assert.truthy(out:find("70  9.95714  beta", 1, true), out) -- 697 / 70: growth by thread
      assert.truthy(out:find("# and 1 more row", 1, true), out)
      local list = cjson.decode(must("report --derive 'faults=page_faults/samples' --top 1 --json " .. file))
      assert.equal(1, #list, "rows of --top 1")
   end)

   it("names the culprit of every mistake", function()
      for line, words in pairs { ["--time 1"] = "--time", ["--time 2,1"] = "before it begins",
         ["--time x,"] = "'x' is not a time", ["--slice 0"] = "--slice: '0'", ["--slice 1h"] = "--slice: '1h'",
         ["--phases --samples"] = "exclude each other", ["--phases --top 1"] = "--phases and --top exclude",
         ["--phases -s comm,event"] = "--phases and -s event exclude", ["--phases -s time"] = "--phases and -s time",
         ["--samples --top 1"] = "--samples and --top exclude", ["--samples --json"] = "--samples and --json exclude",
         ["--histogram interval -s object"] = "--histogram and --sort exclude",
         ["--raw"] = "--raw is for the values of --histogram and --correlate",
         ["-s symbol --slice 1"] = "--slice is the width of the slices of -s time and of --phases",
         ["--correlate interval,period --slice 1"] = "--correlate and --slice exclude",
         ["-g caller --no-children"] = "-g caller and --no-children exclude each other",
         ["-g callee --no-children"] = "there are no call stacks",
         ["-g caller --top 1"] = "--call-graph and --top exclude",
         ["--derive a=samples --percent-limit 1"] = "--derive and --percent-limit exclude",
         ["--derive a=samples --phases"] = "exclude each other", ["--derive a=samples -x,"] = "--derive prints text",
         ["--histogram page-fault"] = "did you mean 'page-faults'?", ["--histogram 1e9"] = "there is no PMD 1e9",
         ["--histogram 1.5"] = "there is no PMD 1.5", ["--correlate 70000,interval"] = "there is no PMD 70000",
         ["--histogram -1"] = "-1",
         ["--correlate interval"] = "two values", ["--derive faults"] = "NAME=FORMULA",
         ["--derive x=1+"] = "formula of x", ["--derive x=cycles"] = "no count 'cycles'",
         ["-C 1-0"] = "cpu: the range '1-0' is reversed", ["--cpu x"] = "cpu: 'x' is not a list of CPUs",
         ["--samples --cpu 1"] = "every sample", ["-x, --phases"] = "--phases prints text",
         ["--histogram interval --comm x"] = "cannot be filtered by comm" } do
         local out, status = run(("report %s %s"):format(line, file))
         assert.equal(2, status, line .. ": " .. out)
         assert.truthy(out:find(words, 1, true), out)
      end
   end)
end)

describe("lpfm diff", function()
   local old, new

   setup(function() old, new = record("old", 300, 700), record("new", 450, 550) end)

   it("prints the table to the letter", function()
      local lines = {}
      for line in must(("diff %s %s"):format(old, new)):gmatch("[^\n]+") do lines[#lines + 1] = line end
      assert.same({ "# old: " .. old .. ", 1,000 samples of 'prog'",
         "# new: " .. new .. ", 1,000 samples of 'prog'", "#",
         "     old     new  change  events x        p     symbol",
         "  30.00%  45.00%  +15.00     1.500  <0.0001  *  alpha",
         "  70.00%  55.00%  -15.00     0.786  <0.0001  *  beta" }, lines)
   end)

   it("compares events when told to", function()
      local out = must(("diff --absolute --significant -x, %s %s"):format(old, record("longer", 300, 900)))
      local lines = {}
      for line in out:gmatch("[^\n]+") do lines[#lines + 1] = line end
      assert.equal(3, #lines)
      assert.truthy(lines[1]:find("simulated", 1, true), lines[1])
      assert.truthy(lines[3]:find("^70,75,5,700000000,900000000,700,900,1.28571428571429,[%d.e-]+,cpu%-clock,beta$"),
         lines[3])
   end)

   it("finds nothing between a recording and itself", function()
      local out = must(("diff %s %s"):format(old, old))
      assert.falsy(out:find("*", 1, true))
      assert.truthy(out:find("# and 2 more rows", 1, true), out)
      assert.same({}, cjson.decode(must(("diff --json %s %s"):format(old, old))).rows)
   end)

   it("compares no event that a recording did not sample, and says so, beside separated values, too", function()
      local path = record("other", 30, 70, nil, { name = "cs", pmd = 65, period = 1 })
      for _, way in ipairs { "", "--absolute", "-x,", "--json" } do
         local out = must(("diff %s %s %s"):format(way, old, path))
         assert.truthy(out:find(path .. ": cpu-clock was not sampled there, so it is not compared", 1, true), out)
         assert.truthy(out:find(old .. ": cs was not sampled there, so it is not compared", 1, true), out)
         assert.falsy(out:find("alpha", 1, true), out)
      end
      local out = must(("diff --comm prog --cpu 0 %s %s"):format(old, path))
      assert.truthy(out:find("cpu-clock was not sampled there", 1, true), out)
   end)

   it("tells how many samples a damaged recording still has", function()
      local path = root .. "/damaged.data"
      local bytes = assert(io.open(old, "rb")):read("*a")
      local at = math.floor(#bytes / 3)
      files.write(path, bytes:sub(1, at) .. ("\255"):rep(200) .. bytes:sub(at + 201))
      local shown = must("report --plain " .. path):match("# ([%d,]+) sample")
      assert.truthy(must(("diff %s %s"):format(path, old)):find(("# old: %s, %s sample"):format(path, shown), 1, true))
   end)

   it("takes several runs of each", function()
      local result = cjson.decode(must(("diff --json %s,%s %s,%s"):format(old, record("old2", 305, 695), new,
         record("new2", 455, 545))))
      assert.equal("alpha", result.rows[1].symbol)
      assert.is_true(result.rows[1].significant)
      assert.equal(2, #result.old)
      result = cjson.decode(must(("diff --json %s,%s %s,%s"):format(old, record("old3", 600, 400), new, old)))
      assert.is_false(result.rows[1].significant)
   end)

   it("does what people from perf type, and names the culprit of mistakes", function()
      assert.truthy(must(("diff --stdio --dsos prog --period %s %s"):format(old, new)):find("beta", 1, true))
      for line, words in pairs { [""] = "OLD", ["a b c"] = "unexpected argument 'c'", ["-c ratio a b"] = "ratio",
         ["--alpha 2 a b"] = "--alpha", ["/no/such/file " .. old] = "/no/such/file", ["-s symbl a b"] = "a: No such",
         ["-s symbl " .. old .. " " .. new] = "did you mean 'symbol'?",
         ["--symbol alhpa " .. old .. " " .. new] = "no samples match --symbol alhpa; did you mean 'alpha'?",
         ["--time 200%,300% " .. old .. " " .. new] = "no samples match --time 200%,300%" } do
         local out, status = run("diff " .. line)
         assert.truthy(status == 1 or status == 2, line)
         assert.truthy(out:find(words, 1, true), line .. ": " .. out)
         assert.falsy(out:find("traceback", 1, true), out)
      end
   end)
end)

describe("recordings of this machine", function()
   local analyze = require "pfm.analyze"
   local origin, tables = require "pfm.recording.origin", require "pfm.util.tables"
   local plot = require "pfm.plot"
   local samples = require "pfm.recording.samples"
   local old, new

   local function sum(rows, field)
      local n = 0
      for _, row in ipairs(rows) do n = n + row[field] end
      return n
   end

   setup(function()
      local shares, paths = c.target("shares"), { root .. "/real1.data", root .. "/real2.data" }
      must(("record -q --threads -F 2000 --with task-clock,page-faults -o %s -- %s 0.4 2"):format(paths[1], shares))
      must(("record -q -F 2000 -o %s -- %s 150 2000 20"):format(paths[2], c.target("usage")))
      old, new = assert(recording.open(paths[1])), assert(recording.open(paths[2]))
   end)

   it("have the same number of samples however they are sorted", function()
      for _, by in ipairs(analyze.keys()) do
         local result = analyze.by(old, by, { slice = 0.05 })
         assert.equal(old.ends.samples, sum(result.rows, "samples"), by)
         assert.equal(old.ends.samples * 500000, sum(result.rows, "events"), by)
         assert.is_true(math.abs(sum(result.rows, "percent") - 100) < 1e-6, by)
      end
   end)

   it("pass a filter of any key by the text that its rows show, in reports and one by one", function()
      for _, by in ipairs(analyze.keys(true)) do
         for _, row in ipairs(analyze.by(old, by).rows) do
            local wanted, n = { [by] = row.cells[1], event = row.event }, 0
            if not tables.find(origin.names, by) and not row.cells[1]:find(",", 1, true) and by ~= "event" then
               local passes = analyze.test(old, wanted)
               for s in samples.each(old) do n = n + (passes(s) and 1 or 0) end
               local filtered = sum(analyze.by(old, "cpu", { filter = wanted }).rows, "samples")
               assert.same({ row.samples, row.samples }, { filtered, n }, by .. " " .. row.cells[1])
            end
         end
      end
   end)

   it("are drawn by any key", function()
      for _, by in ipairs(analyze.keys(true)) do
         local figure = plot.recording(old, "bars", { by = by, top = 1000 })
         assert.equal(#analyze.by(old, by, { filter = { event = old.head.events[1].name } }).rows,
            #figure.rows, by)
      end
   end)

   it("fall apart into what their filters leave", function()
      local first = analyze.by(old).rows[1]
      local some = sum(analyze.by(old, "thread", { filter = { symbol = first.symbol } }).rows, "samples")
      assert.equal(first.samples, some)
      local early = sum(analyze.by(old, "cpu", { filter = { to = "40%" } }).rows, "samples")
      local late = sum(analyze.by(old, "cpu", { filter = { from = "40%" } }).rows, "samples")
      assert.is_true(early > 0 and late > 0)
      local both = sum(analyze.by(old, "cpu", { filter = { from = "40%", to = "40%" } }).rows, "samples")
      assert.equal(old.ends.samples, early + late - both)
   end)

   it("have as many intervals as samples that another of their thread went before", function()
      local threads = #analyze.by(old, "thread").rows
      local h = analyze.histogram(old, "interval")
      assert.equal(old.ends.samples - threads, h.n)
      assert.equal(h.n, sum(h.bins, "count"))
      assert.is_true(h.min <= h.median and h.median <= h.p90 and h.p90 <= h.p99 and h.p99 <= h.max)
      local clock = analyze.histogram(old, "task-clock")
      assert.equal(h.n, clock.n)
      local grown = sum(analyze.by(old, "symbol", { sums = { "task-clock" } }).rows, "samples")
      assert.equal(old.ends.samples, grown)
   end)

   it("have phases from the first to the last moment", function()
      local phases = analyze.phases(old)
      local first, last = analyze.span(old)
      assert.equal(0, phases[1].from)
      assert.is_true(math.abs(phases[#phases].to - (last - first) / 1e9) < 1e-6)
      assert.equal(old.ends.samples, sum(phases, "samples"))
      for i = 2, #phases do assert.equal(phases[i - 1].to, phases[i].from) end
   end)

   it("differ where the programs do, and not from themselves", function()
      local found = {}
      for _, row in ipairs(analyze.diff(old, new).rows) do found[row.symbol] = row.significant end
      assert.is_true(found.heavy)
      for _, row in ipairs(analyze.diff(old, old).rows) do assert.equal(1, row.p) end
   end)
end)
