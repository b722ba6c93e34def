-- SPDX-License-Identifier: MIT
-- Figures: exact as text, sound as SVG and PNG; lpfm plot.

local analyze = require "pfm.analyze"
local c = require "support.c"
local plot = require "pfm.plot"
local render = require "pfm.render"
local stdlib = require "posix.stdlib"
local gnuplot = require "pfm.plot.gnuplot"
local handmade = require "support.handmade"
local recording = require "pfm.recording"
local files = require "support.files"

local read = files.read

local program = c.program
local scratch = c.folder()
local data = scratch .. "/made.data"

local ASCII = { width = 30, height = 5, utf8 = false, colour = false }
local UTF8 = { width = 30, height = 5, utf8 = true, colour = false }
local COLOUR = { width = 30, height = 5, utf8 = true, colour = true }

local function lines(...)
   return table.concat({ ... }, "\n")
end

-- Thread 7 has a sample in each of 8 s, with a count that grows by 0, 10, 20, ...; thread 8 has one
-- in each of the last 2 s.
setup(function()
   local list = {}
   for i = 0, 7 do list[#list + 1] = { tid = 7, ip = 64, tstamp = i * 1e9, values = { 5 * i * (i + 1) } } end
   for i = 6, 7 do list[#list + 1] = { tid = 8, ip = -64, tstamp = i * 1e9, cpu = 1, values = { 0 } } end
   handmade.write(data, {
      what = "a test", fixed = true, events = { { name = "cpu-clock", pmd = 65, unit = "ns", period = 1000000 } },
      with = { { name = "cs", pmd = 69 } },
   }, { comms = { { tid = 7, pid = 7, comm = "seven" }, { tid = 8, pid = 8, comm = "eight" } }, samples = list })
end)

describe("bars", function()
   local figure = plot.bars({ { "alpha", 8 }, { "b", 3 }, { "none", 0 } }, { unit = "ms", title = "Times" })

   it("are as long as their values", function()
      assert.equal(lines("Times", "alpha |################# 8 ms", "    b |######            3 ms",
         " none |                  0 ms"), figure:text(ASCII))
      assert.equal(lines(
         "Times",
         "alpha ▕█████████████████ 8 ms",
         "    b ▕██████▍           3 ms",
         " none ▕                  0 ms"), figure:text(UTF8))
   end)

   it("have the middle of long names left out, between characters: they may begin alike", function()
      local text = plot.bars({ { ("é"):rep(40) .. " 1", 1 }, { ("é"):rep(40) .. " 2", 1 } }):text(ASCII)
      assert.equal("", (text:gsub("[é]+%.%.[é]+ [12] |#+ 1\n?", "")), text)
      assert.equal(2, select(2, text:gsub("%.%.", "")), text)
   end)

   it("take numbers of 0 or more", function()
      assert.has_error(function() plot.bars { { "x", -1 } } end, "bars: value 1 is negative")
      assert.error_matches(function() plot.bars { { "x", "y" } } end, "bars: value 1: a number expected, got y")
      assert.error_matches(function() plot.bars { { "x", 0 / 0 } } end, "a number expected")
   end)
end)

it("times of minutes are rounded before they are taken apart", function()
   local time = require("pfm.render").time
   assert.equal("3 min 0 s", time(179.7))
   assert.equal("2 min 59 s", time(179.4))
   assert.equal("2 min 0 s", time(120))
   assert.equal("inf s", time(math.huge))
   assert.equal("153722867280912928 min", time(2 ^ 63):match("^%d+ min"))
end)

describe("lines", function()
   local ramp = { { name = "up", { 0, 0 }, { 4, 4 } } }

   it("go through their points", function()
      assert.equal(lines(
         "4 |                       ****", "  |                 ******", "  |          *******",
         "  |    ******", "0 |****", "   0                         4", "   * up"),
         (plot.lines(ramp):text({ width = 30, height = 5, utf8 = false, colour = false })))
   end)

   it("are dotted finely where the locale can", function()
      local text = plot.lines({ { { 0, 0 }, { 1, 1 } } }):text { width = 6, height = 2, utf8 = true, colour = false }
      assert.equal(lines("1 │ ⢀⠎", "0 │⡰⠁", "   0 1"), text)
   end)

   it("are told apart by marks, or by colours", function()
      local two = plot.lines { { name = "a", { 0, 1 }, { 1, 1 } }, { name = "b", { 0, 0 }, { 1, 0 } } }
      assert.truthy(two:text(UTF8):find("* a   + b", 1, true))
      assert.falsy(two:text(UTF8):find("\27", 1, true))
      assert.truthy(two:text(COLOUR):find("\27[34m--\27[0m a   \27[31m--\27[0m b", 1, true))
   end)

   it("of one point or of none are drawn, too", function()
      assert.is_nil(plot.lines({}):text(ASCII):find("inf", 1, true))
      assert.truthy(plot.lines({ { { 3, 5 } } }):text(ASCII):find("*", 1, true))
      assert.error_matches(function() plot.lines { { { 0, 1 }, { 1 } } } end, "lines: series 1, y of point 2")
   end)
end)

describe("a histogram", function()
   it("counts values into bins of round bounds", function()
      local rows = plot.histogram({ 0, 1, 9, 10, 10, 35 }, { bins = 4 }).rows
      assert.same({ { label = "0 to 10", value = 3 }, { label = "10 to 20", value = 2 },
         { label = "20 to 30", value = 0 }, { label = "30 to 40", value = 1 } }, rows)
      assert.same({ { label = "7 to 8", value = 3 } }, plot.histogram({ 7, 7, 7 }).rows)
      assert.same({ { label = "-2 to -1", value = 1 }, { label = "-1 to 0", value = 0 },
         { label = "0 to 1", value = 1 } }, plot.histogram({ -2, 0 }, { bins = 2 }).rows)
      assert.has_error(function() plot.histogram {} end, "histogram: there are no values")
   end)

   it("loses no value", function()
      local values, n = {}, 0
      for i = 1, 1000 do values[i] = (i * 7919) % 1009 / 7 end
      for _, row in ipairs(plot.histogram(values).rows) do n = n + row.value end
      assert.equal(1000, n)
   end)
end)

describe("a heat map", function()
   local figure = plot.heat({ { label = "one", 0, 1, 5, 10 }, { label = "b", 10, 0, 0, 0 } }, { x = { 0, 4 } })

   it("is the darker the more there is", function()
      assert.equal(lines("one | .+@", "  b |@", "     0  4"), (figure:text(ASCII):gsub("@   ", "@")))
      assert.equal(lines("one ▕ ░▒█", "  b ▕█", "     0  4"), figure:text(UTF8))
      assert.truthy(figure:text(COLOUR):find("\27[48;5;230m \27[0m", 1, true))
   end)

   it("takes rows of one length", function()
      assert.has_error(function() plot.heat { { label = "a", 1 }, { label = "b", 1, 2 } } end,
         "heat: row 2 has 2 values, the first 1")
   end)
end)

describe("gnuplot", function()
   local figures = {
      bars = plot.bars({ { [[a "quoted" \ `name`]], 8 }, { "b_2", 3 } }, { title = "Bars", unit = "ms" }),
      lines = plot.lines({ { name = "a", { 0, 1 }, { 1, 2 } }, { { 0, 2 }, { 1, 1 } } }, { xlabel = "s" }),
      heat = plot.heat { { label = "one", 0, 1, 5 }, { label = "two", 1, 0, 0 } },
   }

   for kind, figure in pairs(figures) do
      it("draws " .. kind .. " as SVG and PNG", function()
         local path = scratch .. "/it's " .. kind
         figure:save(path .. ".svg", { width = 400, height = 300 })
         figure:save(path .. ".png", { width = 400, height = 300 })
         local svg, png = read(path .. ".svg"), read(path .. ".png")
         assert.truthy(svg:find("<svg", 1, true) and svg:find("</svg>%s*$"))
         assert.equal("\137PNG\r\n\26\n", png:sub(1, 8))
         assert.equal("\0\0\1\144\0\0\1\44", png:sub(17, 24)) -- 400 by 300
         if kind == "bars" then
            assert.truthy(svg:gsub("&quot;", '"'):find('a "quoted" \\ `name`', 1, true))
            assert.truthy(svg:find("b_2", 1, true))
         end
      end)
   end

   it("gives a figure as an element of HTML, of negative numbers too", function()
      local values = plot.lines { { { 0, -500 }, { 1, -100 } } }
      for _, figure in ipairs { figures.bars, figures.heat, values } do
         local svg = assert(figure:svg { width = 400 })
         assert.truthy(svg:find("^<svg") and svg:find("</svg>%s*$"))
      end
      assert.truthy(values:svg():find("-500", 1, true))
      assert.is_true(plot.is_figure(values))
      assert.is_false(plot.is_figure { kind = "lines" })
      local path = os.getenv "PATH"
      stdlib.setenv("PATH", "/nowhere")
      local svg = values:svg()
      stdlib.setenv("PATH", path)
      assert.is_nil(svg) -- there is no gnuplot
   end)

   it("says what it cannot draw", function()
      assert.has_error(function() figures.bars:save(scratch .. "/x.jpg") end,
         scratch .. "/x.jpg: figures are drawn as .svg or .png")
      assert.error_matches(function() figures.bars:save("/no/such/dir/x.svg") end, "cannot write /no/such/dir/x.svg")
   end)

   it("has a scale of colours where they say more than yes and no, and a number for each of few columns", function()
      local function commands(...)
         return gnuplot.commands({ kind = "heat", rows = { { label = "a", ... } }, x = { 0, 3 } }, "x.svg")
      end
      assert.truthy(commands(0, 1, 0):find("unset colorbox\nset xtics 1\n", 1, true), commands(0, 1, 0))
      assert.is_nil(commands(0, 1, 2):find("unset colorbox", 1, true))
      assert.is_nil(commands(0, 1, 0, 1, 0, 1):find("set xtics 1\n", 1, true), "columns of a half")
   end)

   it("gets the numbers whole", function()
      local commands = gnuplot.commands(plot.lines { { { 1e15 + 1, 0.1 }, { 1e15 + 2, 0.2 } } }, "x.svg")
      assert.truthy(commands:find("1000000000000001 0.1\n1000000000000002 0.2\n", 1, true), commands)
   end)
end)

describe("figures of a recording", function()
   local self

   before_each(function() self = assert(recording.open(data)) end)

   it("show shares", function()
      local rows = plot.recording(self, "bars", { by = "comm" }).rows
      assert.same({ { label = "seven", value = 80 }, { label = "eight", value = 20 } }, rows)
      assert.equal(1, #plot.recording(self, "bars", { by = "cpu", top = 1 }).rows)
      for _, what in ipairs { "bars", "time", "heat", "ranks" } do
         local drawn = plot.recording(self, what, { by = "thread", top = 1 }):text(ASCII)
         assert.truthy(drawn:find("^[^\n]*, the first 1 of 2\n"), drawn)
         assert.falsy(plot.recording(self, what, { by = "thread" }):text(ASCII):find("the first", 1, true))
      end
   end)

   it("show the course over time, as lines and as a map", function()
      for _, what in ipairs { "bars", "time", "heat", "ranks", "histogram" } do
         assert.error_matches(function() plot.recording(self, what, { sort = "thread" }) end, "unknown option 'sort'")
         assert.error_matches(function() plot.recording(self, what, { slice = 7 }) end, "did you mean 'slices'")
      end
      local figure = plot.recording(self, "time", { by = "comm", slices = 7 })
      local seven, eight = figure.series[1], figure.series[2]
      for i = 1, 7 do
         local n = i == 7 and 2 or 1 -- the last moment belongs to the last slice
         assert.same({ { i - 0.5, n * 1e-3 }, { i - 0.5, i == 7 and 2e-3 or 0 } }, { seven[i], eight[i] })
      end
      local map = plot.recording(self, "heat", { by = "comm", slices = 7 })
      assert.same({ "seven", "eight", 7 }, { map.rows[1].label, map.rows[2].label, #map.rows[1] })
      assert.equal(0, map.rows[2][1])
   end)

   it("show each recording for itself where none tells its rank", function()
      local other = scratch .. "/other.data"
      handmade.write(other, { what = "another", fixed = true,
         events = { { name = "cpu-clock", pmd = 65, unit = "ns", period = 1000000 } } },
         { comms = { { tid = 9, pid = 9, comm = "nine" } }, samples = { { tid = 9, ip = 64, tstamp = 0 } } })
      local map = plot.recording(recording.together { self, assert(recording.open(other)) }, "ranks", { by = "comm" })
      local rows = {}
      for _, row in ipairs(map.rows) do rows[row.label] = #row end
      assert.same({ seven = 2, eight = 2, nine = 2 }, rows)
   end)

   it("show how values that were recorded grow, and the time between samples", function()
      local function counts(rows)
         local out = {}
         for _, row in ipairs(rows) do out[row.label] = row.value end
         return out
      end
      local grown = counts(plot.recording(self, "histogram", { value = "cs", bins = 7 }).rows)
      assert.same({ ["0 to 10"] = 1, ["10 to 20"] = 1, ["20 to 30"] = 1, ["70 to 80"] = 1 },
         { ["0 to 10"] = grown["0 to 10"], ["10 to 20"] = grown["10 to 20"], ["20 to 30"] = grown["20 to 30"],
            ["70 to 80"] = grown["70 to 80"] })
      local n = 0
      for _, row in ipairs(plot.recording(self, "histogram").rows) do n = n + row.value end
      assert.equal(8, n) -- intervals: 7 of one thread, 1 of the other
   end)

   it("show how values grow on each CPU where CPUs were measured: a thread may change between them", function()
      local path, list = scratch .. "/cpus.data", {}
      for i, cpu in ipairs { 0, 1, 0, 1, 0 } do
         list[i] = { tid = 7, ip = 64, tstamp = i * 1e9, cpu = cpu, values = { 1000 * (1 - cpu) + i } }
      end
      handmade.write(path, { what = "CPUs", fixed = true, cpus = { 0, 1 }, with = { { name = "cs", pmd = 69 } },
         events = { { name = "cpu-clock", pmd = 65, unit = "ns", period = 1000000 } } }, { samples = list })
      local opened = assert(recording.open(path))
      local rows = plot.recording(opened, "histogram", { value = "cs" }).rows
      assert.same({ { label = "2 to 3", value = 3 } }, rows)
      local h = analyze.histogram(opened, "cs")
      assert.same({ 3, 2, 2 }, { h.n, h.min, h.max })
   end)

   it("ask for what was recorded", function()
      assert.error_matches(function() plot.recording(self, "histogram", { value = "faults" }) end,
         "'faults' was not recorded with the samples: time, cs")
      assert.error_matches(function() plot.recording(self, "bars", { by = "colour" }) end, "unknown key 'colour'")
   end)
end)

describe("lpfm plot", function()
   it("draws in a pipe without escape codes, by the locale", function()
      local out, status = c.sh(("LC_ALL=C %s plot -s comm %s"):format(program, data))
      assert.equal(0, status, out)
      assert.truthy(out:find("^a test: cpu%-clock, shares\nseven |#+ 80%.00%%\neight |#+ +20%.00%%\n"), out)
      assert.truthy((c.sh(("LC_ALL=C.UTF-8 %s plot -s comm %s"):format(program, data))):find("seven ▕█", 1, true))
   end)

   it("colours maps on a terminal, unless NO_COLOR forbids it", function()
      local line = [[script -qec "stty cols 60; %s plot heat -s comm %s" /dev/null]]
      assert.truthy((c.sh("env -u NO_COLOR TERM=xterm " .. line:format(program, data))):find("\27[48;5;", 1, true))
      assert.falsy((c.sh("TERM=xterm NO_COLOR=1 " .. line:format(program, data))):find("\27", 1, true))
   end)

   it("draws into files", function()
      for _, what in ipairs { "bars", "time", "heat", "histogram" } do
         local out, status = c.sh(("%s plot %s -o %s/f.svg %s"):format(program, what, scratch, data))
         assert.equal(0, status, out)
         assert.truthy(read(scratch .. "/f.svg"):find("a test", 1, true))
      end
   end)

   it("has a limit of slices and bins in Lua, too", function()
      local self = assert(recording.open(data))
      for name, figure in pairs { slices = "time", bins = "histogram" } do
         for _, n in ipairs { 1e9, 10001, 0, -1, 1.5, 0 / 0, 1 / 0, "x" } do
            local ok, err = pcall(plot.recording, self, figure, { [name] = n })
            assert.is_false(ok)
            assert.truthy(err:find(name .. ": expected a whole number from 1 to 10000", 1, true), err)
         end
      end
      assert.is_false((pcall(plot.histogram, { 1, 2 }, { bins = 1e9 })))
   end)

   it("refuses what it would ignore, and figures that there are not", function()
      for message, call in pairs {
         ["plot.bars: unknown option 'titel'; did you mean 'title'?"] = function()
            plot.bars({ { "a", 1 } }, { titel = "x" })
         end,
         ["plot.lines: unknown option 'xlable'; did you mean 'xlabel'?"] = function()
            plot.lines({}, { xlable = 1 })
         end,
         ["plot.histogram: unknown option 'bin'; did you mean 'bins'?"] = function()
            plot.histogram({ 1 }, { bin = 3 })
         end,
         ["plot.heat: unknown option 'bins'"] = function() plot.heat({}, { bins = 3 }) end,
         ["heat: row 1 has no label"] = function() plot.heat { { 1, 2 } } end,
         ["plot.recording: there is no figure 'bar'; there are"] = function()
            plot.recording(assert(recording.open(data)), "bar")
         end,
         ["top: expected a whole number from 1"] = function()
            plot.recording(assert(recording.open(data)), "bars", { top = 0 })
         end,
      } do
         local ok, err = pcall(call)
         assert.is_false(ok, message)
         assert.truthy(err:find(message, 1, true), err)
      end
   end)

   it("names the culprit of every mistake", function()
      c.fail({
         { "-s colour " .. data, 2, "unknown key 'colour'" }, { "/no/such", 2, "/no/such" },
         { data .. " more", 2, "unexpected argument 'more'" }, { "--top x " .. data, 2, "--top: 'x'" },
         { "-o x.gif " .. data, 1, "x.gif: figures are drawn as .svg or .png" },
         { "-e cycles " .. data, 2, "'cycles' was not recorded" },
         { "--bins 5 " .. data, 2, "bars and --bins exclude each other" },
         { "time --value cs " .. data, 2, "time and --value exclude each other" },
         { "histogram --top 5 " .. data, 2, "histogram and --top exclude each other" },
      }, function(line) return c.lpfm("plot " .. line) end)
   end)
end)

describe("a number with a unit", function()
   it("has the next unit where rounding makes it one of that", function()
      assert.equal("1.000 G/s", render.rate(999999950))
      assert.equal("999.999 M/s", render.rate(999999400))
      assert.equal("1.000 K/s", render.rate(999.9996))
      assert.equal("1.000 ms", render.time(0.0009999999))
      assert.equal("999.999 us", render.time(0.0009999994))
      assert.equal("1.0 MiB", render.bytes(2 ^ 20 - 1))
   end)
end)
