-- SPDX-License-Identifier: MIT
-- pfm.analyze: on the simulated computer every number is known.

local analyze = require "pfm.analyze"
local lpfm = require "lpfm"
local handmade = require "support.handmade"
local make = require "support.samples"
local recording = require "pfm.recording"
local sim = require "support.sim"
local statistics = require "pfm.statistics"

local before = lpfm.machine().name

teardown(function() lpfm.machine(before) end)

-- Two functions: a at 0x1000 and b at 0x2000, a line each.
local SYMBOLS = { prog = { path = "prog", count = 2, segments = {}, functions = { { 0x1000, 16, "a" },
   { 0x2000, 16, "b" } }, files = { "prog.c" }, lines = { { 0x1000, 1, 10 }, { 0x2000, 1, 20 } }, frames = {} } }

local function near(expected, got, by)
   assert.is_true(math.abs(expected - got) <= (by or 1e-9), ("%.12g is not %.12g"):format(got, expected))
end

local function recording_of(fields)
   local maps = {}
   for i, pid in ipairs(fields.pids) do maps[i] = { pid = pid, maps = { { 0x1000, 0x3000, 0x1000, "prog" } } } end
   return recording.of { head = { events = fields.events, with = fields.with, fixed = true }, blocks = fields.blocks,
      maps = maps, comms = fields.comms, symbols = SYMBOLS }
end

-- Records instructions of 10 ns, n in a, then m in b: a sample every 10, with PMD5 and PMD6.
local function run(n, m)
   local machine = sim.machine()
   local tid = machine:spawn { program = {
      { loop = n, { ip = 0x1000, ns = 10, events = { fp_ops = 2, l2_misses = 1 } } },
      { loop = m, { ip = 0x2000, ns = 10, events = { l2_misses = 3 } } },
   } }
   local ctx = sim.count(sim.context { format = "default", buf_size = 2 ^ 17 }, 5, "fp_ops")
   sim.count(ctx, 6, "l2_misses")
   sim.count(ctx, 4, "instructions", { value = -10, short_reset = -10, long_reset = -10, smpl_pmds = { 5, 6 } })
   sim.start(ctx, tid)
   assert(machine:run { until_exit = tid })
   return recording_of { pids = { tid }, comms = { [tid] = "prog" }, blocks = { ctx:buffer():snapshot() },
      events = { { name = "instructions", pmd = 4, period = 10 } },
      with = { { name = "fp_ops", pmd = 5 }, { name = "l2_misses", pmd = 6 } } }
end

local function table_of(result, field)
   local out = {}
   for i, row in ipairs(result.rows) do out[i] = table.concat(row.cells, " ") .. " " .. row[field or "samples"] end
   return out
end

describe("samples of a simulated thread", function()
   local s

   before_each(function()
      sim.begin()
      s = run(1000, 3000)
   end)
   after_each(sim.finish)

   it("are sorted by symbol, line, address, object", function()
      local result = analyze.by(s)
      assert.same({ "b 300", "a 100" }, table_of(result))
      assert.same({ "b 75", "a 25" }, table_of(result, "percent"))
      assert.same({ "b 3000", "a 1000" }, table_of(result, "events"))
      assert.same({ samples = 400, events = 4000, sums = {} }, result.totals[4])
      assert.same({ "prog.c:20 300", "prog.c:10 100" }, table_of(analyze.by(s, "line")))
      assert.same({ "prog 0x2000 b+0x0 300", "prog 0x1000 a+0x0 100" }, table_of(analyze.by(s, "object,address")))
      assert.equal("a", analyze.by(s, { "comm", "symbol" }).rows[2].symbol)
   end)

   it("are sorted by slices of time", function()
      local result = analyze.by(s, "time,symbol", { slice = 10e-6 })
      assert.same({ "0.000000 a 100", "0.000010 b 100", "0.000020 b 100", "0.000030 b 100" }, table_of(result))
      near(10e-6, result.rows[2].time)
   end)

   it("are sorted by slices that are shorter than a microsecond", function()
      local slices = analyze.by(s, "time", { slice = 250e-9 }).rows
      assert.same({ "0.000000", "0.000000250", "0.000000500" }, { slices[1].cells[1], slices[2].cells[1],
         slices[3].cells[1] })
      local n = 0
      for i, row in ipairs(slices) do
         n = n + row.samples
         assert.is_true(row.samples <= 3, i .. ": a sample comes each 100 ns")
      end
      assert.equal(400, n)
   end)

   it("have phases of so many slices as can be compared", function()
      assert.error_matches(function() analyze.phases(s, "symbol", { slice = 1e-9 }) end,
         "the run has 39,901 slices, but phases are found in 10,000 at most")
   end)

   it("bring along what other counters grew by", function()
      local result = analyze.by(s, "symbol", { sums = { "fp_ops", "l2_misses" } })
      assert.same({ fp_ops = 0, l2_misses = 9000 }, result.rows[1].sums)
      -- the first sample adds nothing
      assert.same({ fp_ops = 1980, l2_misses = 990 }, result.rows[2].sums)
   end)

   it("are filtered by what they are, where they lie and when they were", function()
      local function filtered(filter) return table_of(analyze.by(s, "symbol", { filter = filter })) end
      assert.same({ "a 100" }, filtered { symbol = "a" })
      assert.same({ "b 300", "a 100" }, filtered { symbol = "a, b", comm = "prog", cpu = 0, event = "instructions" })
      assert.same({}, filtered { object = "other" })
      assert.same({ "a 100" }, filtered { to = 9.9e-6 })
      assert.same({ "b 200" }, filtered { from = 20e-6 })
      assert.same({ "b 200", "a 100" }, filtered { to = "75%" }) -- the run takes 39.9 us
      assert.same({ "b 300" }, filtered { from = "25%" })
      assert.has_error(function() filtered { colour = "red" } end)
      assert.has_error(function() filtered { from = 2, to = 1 } end)
      assert.has_error(function() filtered { from = "soon" } end)
      assert.has_error(function() analyze.by(s, "symbol,colour") end)
      for _, wrong in ipairs { 1, "lpfm.data", {} } do
         for _, name in ipairs { "by", "span", "diff", "phases", "histogram" } do
            local ok, err = pcall(analyze[name], wrong, "interval")
            assert.is_false(ok)
            assert.truthy(tostring(err):find("expected a recording", 1, true), name .. ": " .. tostring(err))
         end
      end
   end)

   it("show the phases of the run", function()
      local phases = analyze.phases(s, "symbol", { slices = 40 })
      assert.equal(2, #phases)
      assert.same({ { kind = "a", samples = 100, percent = 100 } }, phases[1].rows)
      assert.same({ { kind = "b", samples = 300, percent = 100 } }, phases[2].rows)
      near(0, phases[1].from)
      near(9980e-9, phases[1].to) -- 10 of 40 slices of 998 ns
      assert.equal(phases[1].to, phases[2].from)
      near(39900e-9, phases[2].to)
      assert.equal(1, #analyze.phases(s, "comm"))
      assert.equal(1, #analyze.phases(s, "symbol", { filter = { symbol = "b" } }))
      phases = analyze.phases(s, "symbol", { slices = 40, filter = { from = "50%" } })
      near(19950e-9, phases[1].from) -- phases are those of the filter's time, not of the run
      near(39900e-9, phases[#phases].to)
      phases = analyze.phases(s, "symbol", { slices = 40, filter = { to = "10%" } })
      near(0, phases[1].from)
      near(3990e-9, phases[1].to)
   end)

   it("have histograms of what counters grew by, and of the time between them", function()
      local h = analyze.histogram(s, "fp_ops")
      assert.same({ { from = 0, to = 1, count = 300 }, { from = 1, to = 2, count = 0 }, { from = 2, to = 4, count = 0 },
         { from = 4, to = 8, count = 0 }, { from = 8, to = 16, count = 0 },
         { from = 16, to = 32, count = 99 } }, h.bins)
      assert.same({ 399, 0, 20, 0, 20, 20 }, { h.n, h.min, h.max, h.median, h.p90, h.p99 })
      near(1980 / 399, h.mean)
      near(math.sqrt(99 * 300 / 399 * 400 / 398), h.deviation, 1e-6)
      h = analyze.histogram(s, "interval")
      assert.same({ { from = 64, to = 128, count = 399 } }, h.bins)
      assert.same({ 100, 100, 100, 0 }, { h.min, h.mean, h.max, h.deviation })
      assert.equal(10, analyze.histogram(s, "period").mean)
      assert.equal(99, analyze.histogram(s, 5, { filter = { to = 9.9e-6 } }).n)
      assert.equal(0, analyze.histogram(s, 5, { filter = { tid = 1 } }).n)
      assert.has_error(function() analyze.histogram(s, "fp_opps") end)
      assert.has_error(function() analyze.histogram(s, 5, { filter = { symbol = "a" } }) end)
      assert.has_error(function() analyze.histogram(s, 5, { filter = { event = "cycles" } }) end)
   end)

   it("are not analysed with options that cannot be meant: they are named", function()
      local wrong = { filter = { 5, "symbol=a" }, slice = { -1, 0 / 0, "x" }, slices = { 0, -1, 1.5, 1 / 0 },
         alpha = { -1, 0 / 0, "x" }, width = { -1, 0, 0.5, 1 / 0 }, from = { -1, 0.5, 0 / 0 }, sums = { "fp_ops" } }
      local calls = {
         by = function(options) analyze.by(s, "symbol", options) end,
         diff = function(options) analyze.diff(s, s, "symbol", options) end,
         phases = function(options) analyze.phases(s, "symbol", options) end,
         histogram = function(options) analyze.histogram(s, "fp_ops", options) end,
         correlate = function(options) analyze.correlate(s, "fp_ops", "l2_misses", options) end,
      }
      for call, fn in pairs(calls) do
         for name, values in pairs(wrong) do
            for _, value in ipairs(values) do
               local ok, err = pcall(fn, { [name] = value })
               assert.truthy(not ok and err:find("^" .. name .. ": expected"), call .. ": " .. tostring(err))
            end
         end
         assert.error_matches(function() fn { fliter = {} } end, "unknown field 'fliter'; did you mean 'filter'%?")
         assert.error_matches(function() fn(5) end, "^options: expected a table, got 5")
      end
      for _, by in ipairs { 5, true, { {} }, { "symbol", 5 } } do
         assert.error_matches(function() analyze.by(s, by) end, "^sort keys: .*expected a string")
      end
   end)

   it("have phases by a list of keys", function()
      assert.equal(2, #analyze.phases(s, { "symbol" }))
   end)

   it("have histograms of registers as they are, in bins of equal width", function()
      local h = analyze.histogram(s, "fp_ops", { raw = true, width = 500 })
      assert.same({ { 0, 500, 24 }, { 500, 1000, 25 }, { 1000, 1500, 25 }, { 1500, 2000, 25 }, { 2000, 2500, 301 } },
         (function(out) for i, b in ipairs(h.bins) do out[i] = { b.from, b.to, b.count } end return out end)({}))
      assert.same({ 400, 20, 2000 }, { h.n, h.min, h.max })
      h = analyze.histogram(s, "fp_ops", { raw = true, width = 1000, from = 1990 })
      assert.same({ { from = 1990, to = 2990, count = 301 } }, h.bins)
      assert.equal(301, h.n)
   end)

   it("say how two counters go together", function()
      local c = analyze.correlate(s, "fp_ops", "l2_misses") -- growth in a: 20, 10; in b: 0, 30
      assert.equal(399, c.n)
      near(-1, c.r)
      near(-1, c.slope)
      near(30, c.intercept)
      near(0, c.p)
      assert.is_nil(analyze.correlate(s, "fp_ops", "interval").r)
   end)

   it("have derived metrics by row", function()
      local result = analyze.by(s, "symbol", { sums = { "fp_ops", "l2_misses" } })
      local list = analyze.derive(s, result, { fp = "fp_ops / instructions", misses = function(n)
         return n.l2_misses / n.fp_ops
      end })
      assert.same({ "b", "a" }, { list[1].symbol, list[2].symbol })
      assert.same({ fp = 0 }, list[1].metrics) -- 9000 / 0 has no value
      near(1.98, list[2].metrics.fp)
      near(0.5, list[2].metrics.misses)
      assert.has_error(function() analyze.derive(s, result, { x = "cycles / 2" }) end)
      assert.has_error(function() analyze.derive(s, result, { x = "1 +" }) end)
   end)

   it("differ from those of another run", function()
      local other = run(2000, 2000)
      local d = analyze.diff(s, other)
      assert.same({ "a", "b" }, { d.rows[1].symbol, d.rows[2].symbol })
      local a, b = d.rows[1], d.rows[2]
      assert.same({ 25, 50, 25, 1000, 2000, 1000, 2 },
         { a.old.percent, a.new.percent, a.percent, a.old.events, a.new.events, a.change, a.ratio })
      assert.same({ -25, -1000 }, { b.percent, b.change })
      assert.is_true(a.significant and b.significant)
      near(statistics.shares(100, 400, 200, 400), a.raw_p)
      near(2 * a.raw_p, a.p)
      d = analyze.diff(s, s)
      for _, row in ipairs(d.rows) do
         assert.same({ 0, 1, 1, false }, { row.percent, row.p, row.ratio, row.significant })
      end
      d = analyze.diff(s, run(1000, 2900), "symbol", { absolute = true })
      assert.same({ "b", -100, false }, { d.rows[1].symbol, d.rows[1].change, d.rows[1].significant })
      near(statistics.counts(300, 290, 0.5), d.rows[1].raw_p)
   end)

   it("differ from several runs by more than those do among themselves", function()
      local old = { s, run(1010, 2990), run(990, 3010) }
      local d = analyze.diff(old, { run(1210, 2790), run(1190, 2810), run(1200, 2800) })
      near(5, math.abs(d.rows[1].percent))
      assert.is_true(d.rows[1].significant)
      d = analyze.diff(old, { run(500, 3500), run(1500, 2500), run(1600, 2400) })
      near(5, math.abs(d.rows[1].percent))
      assert.is_false(d.rows[1].significant)
   end)
end)

describe("a sample at the end of the chosen time", function()
   it("passes, whatever its time in seconds is rounded to", function()
      local last = 68570561313141 -- in ns; as seconds, times 1e9, it is rounded up
      local s = recording_of { pids = { 6 }, comms = { [6] = "main" },
         events = { { name = "cycles", pmd = 4, period = 1 } }, blocks = { make.block {
            { tid = 6, pid = 6, ip = 0x1000, tstamp = last - 5 }, { tid = 6, pid = 6, ip = 0x1000, tstamp = last } } } }
      local passes, n = analyze.test(s, { from = "0%", to = "100%" }), 0
      for sample in require("pfm.recording.samples").each(s) do n = n + (passes(sample) and 1 or 0) end
      assert.equal(2, n)
   end)
end)

describe("samples of several threads, CPUs, events and sets", function()
   local s

   setup(function()
      local list = {}
      for i = 1, 12 do
         list[i] = { tid = 6 + i % 2, pid = 6, cpu = i % 3, ip = i <= 8 and 0x1000 or 0x2000, tstamp = 1e9 + i * 1000,
            pmd = i % 4 == 0 and 5 or 4, set = i % 4 == 0 and 1 or 0, period = 100 }
      end
      for _, e in ipairs(list) do e.values = e.set == 1 and { e.tstamp / 1000 } or nil end
      s = recording_of { pids = { 6 }, comms = { [6] = "main", [7] = "worker" }, blocks = { make.block(list) },
         events = { { name = "cycles", pmd = 4, period = 100 },
            { name = "misses", pmd = 5, set = 1, period = 50, values = { 80 } } } }
   end)

   it("are told apart", function()
      assert.same({ "7 worker 6", "6 main 3", "6 main 3" }, table_of(analyze.by(s, "thread")))
      assert.same({ "6 main 3", "6 main 3" }, table_of(analyze.by(s, "thread", { filter = { tid = 6 } })))
      assert.same({ "0 3", "1 3", "2 3", "0 1", "1 1", "2 1" }, table_of(analyze.by(s, "cpu")))
      assert.same({ "cycles 9", "misses 3" }, table_of(analyze.by(s, "event")))
      assert.same({ "0 900", "1 150" }, table_of(analyze.by(s, "set"), "events"))
      local result = analyze.by(s, "comm")
      assert.same({ "worker", "main" , "main" }, { result.rows[1].comm, result.rows[2].comm, result.rows[3].comm })
      near(6 / 9 * 100, result.rows[1].percent)
      near(100, result.rows[3].percent)
      assert.same({ cycles = 9, misses = 3 }, { cycles = result.events.cycles.samples,
         misses = result.events.misses.samples })
      assert.same({ "6 main 9", "6 main 3" }, table_of(analyze.by(s, "pid")))
   end)

   it("are counted by event for derived metrics", function()
      local list = analyze.derive(s, analyze.by(s, "symbol"), { ratio = "misses / cycles" })
      assert.same({ "a", "b" }, { list[1].symbol, list[2].symbol })
      near(100 / 600, list[1].metrics.ratio)
      near(50 / 300, list[2].metrics.ratio)
   end)

   it("hold the values of their own set", function()
      local h = analyze.histogram(s, 80, { raw = true, width = 1, from = 1e6 })
      assert.same({ 3, 1000004, 1000012 }, { h.n, h.min, h.max })
   end)
end)

describe("statistics", function()
   it("has the tails of the distributions", function()
      near(0.05, statistics.normal(1.959963985), 1e-9)
      near(0.0026997961, statistics.normal(3), 1e-9)
      near(0.05, statistics.chi2(18.30703805, 10), 1e-9)
      near(math.exp(-50), statistics.chi2(100, 2), 1e-30)
      near(0.05, statistics.student(2.228138852, 10), 1e-9)
      near(0.5, statistics.student(1, 1), 1e-12) -- Cauchy
   end)

   it("tests shares: exactly where few are expected", function()
      -- 3 of 10 and 9 of 10: Fisher's two-sided probability is 2 (1200 + 45)/C(20, 12)
      local function choose(n, k) return k == 0 and 1 or choose(n - 1, k - 1) * n / k end
      local p = 0
      for k = 2, 10 do
         local pk = choose(10, k) * choose(10, 12 - k) / choose(20, 12)
         if k <= 3 or k >= 9 then p = p + pk end
      end
      near(p, statistics.shares(3, 10, 9, 10), 1e-9)
      near(0.0038924171, statistics.shares(30, 100, 50, 100), 1e-9) -- z = 2.8868
      assert.equal(1, statistics.shares(0, 10, 0, 20))
      assert.equal(1, statistics.shares(5, 5, 7, 7))
      near(1, statistics.shares(50, 100, 50, 100), 1e-12)
   end)

   it("tests counts, means and whole histograms", function()
      near(22 / 1024, statistics.counts(1, 9, 0.5), 1e-9)
      assert.equal(1, statistics.counts(0, 0, 0.5))
      near(0.0419145, statistics.means({ 1, 2, 3 }, { 4, 5, 7 }), 1e-6)
      assert.equal(0, statistics.means({ 1, 1 }, { 2, 2 }))
      for _, pair in ipairs { { { 1 }, { 2 } }, { { 1 }, { 2, 3 } }, { { 1, 2 }, {} } } do
         assert.error_matches(function() statistics.means(pair[1], pair[2]) end, "two or more numbers of each")
      end
      local g, df = statistics.likelihood({ a = 10, b = 20 }, { a = 20, b = 10 })
      near(2 * (20 * math.log(10 / 15) + 40 * math.log(20 / 15)), g, 1e-9)
      assert.equal(1, df)
      assert.same({ 0, 0 }, { statistics.likelihood({ a = 3 }, { b = 3 }) }) -- too few to tell
   end)

   it("raises probabilities where many were asked", function()
      assert.same({ 0.03, 0.06, 0.06, 0.02 }, statistics.adjust { 0.01, 0.04, 0.03, 0.005 })
      assert.same({ 1, 1 }, statistics.adjust { 0.7, 0.9 })
   end)

   it("takes chance for a difference as seldom as it says", function()
      local seed, wrong = 7, 0
      local function random()
         seed = (seed * 16807) % 2147483647
         return seed / 2147483647
      end
      local function draw(n, share)
         local hits = 0
         for _ = 1, n do hits = hits + (random() < share and 1 or 0) end
         return hits
      end
      for _ = 1, 1000 do
         if statistics.shares(draw(200, 0.1), 200, draw(300, 0.1), 300) < 0.05 then wrong = wrong + 1 end
      end
      assert.is_true(wrong >= 25 and wrong <= 75, wrong .. " of 1000")
   end)
end)

describe("samples of several events", function()
   it("are analysed by one event, the first that has samples or the filter's, where several make no sense", function()
      local path, list = os.tmpname(), {}
      for i = 1, 40 do list[i] = { tid = 7, tstamp = i * 100, ip = 0x1000, pmd = 8, period = 1 } end
      for i = 1, 10 do list[40 + i] = { tid = 7, tstamp = i * 390, ip = 0x2000, pmd = 9, period = 5 } end
      handmade.write(path, { what = "x", events = { { name = "none", pmd = 10 }, { name = "ticks", pmd = 8 },
         { name = "faults", pmd = 9 } } }, { samples = list })
      local s = assert(recording.open(path))
      for event, expected in pairs { ticks = { 40, 39, 100, 1 }, faults = { 10, 9, 390, 5 } } do
         local options = { filter = { event = event ~= "ticks" and event or nil } }
         local phases, intervals = analyze.phases(s, "event", options), analyze.histogram(s, "interval", options)
         local periods, together = analyze.histogram(s, "period", options), analyze.correlate(s, "interval", "period",
            options)
         assert.same({ 1, event, 1, expected[1] }, { #phases, phases[1].event, #phases[1].rows, phases[1].samples })
         assert.same({ event, expected[2], expected[3], expected[3] }, { intervals.event, intervals.n, intervals.min,
            intervals.max })
         assert.same({ event, expected[1], expected[4] }, { periods.event, periods.n, periods.mean })
         assert.same({ event, expected[2] }, { together.event, together.n })
      end
      os.remove(path)
   end)
end)
