-- SPDX-License-Identifier: MIT
-- Tables of options: the error for an unknown field names the nearest known one; the error for a
-- wrong value names its field.

local expect = require "pfm.util.expect"

local command = { "true" }

-- Asserts that fn raises this message.
local function refused(message, fn, ...)
   local ok, err = pcall(fn, ...)
   assert.is_false(ok, message)
   assert.equal(message, type(err) == "table" and err.message or err)
end

describe("a wrong argument is named by", function()
   it("functions of the script library", function()
      local analyze, statistics = require "pfm.analyze", require "pfm.statistics"
      refused("bias.test: spec: expected a table with 'target', got a table", require("pfm.bias").test, {})
      refused("metrics.group: name: expected a string, got nil", require("pfm.metrics").group)
      refused("statistics.mean: values: expected a list of one or more, each a number, got a table",
         statistics.mean, {})
      refused("statistics.compare: two: expected a table of values, each a number, got nil", statistics.compare, {})
      refused("count.merge: runs: expected a list of one or more, each a table with 'events', got a table",
         require("pfm.count").merge, { {} })
      refused("caches.sets: course: expected a table with 'cache' and 'step' and 'begun' and an element 1, got a table",
         require("pfm.caches").sets, {})
      refused("profile.run: sink: expected a table with 'block' and 'maps' and 'comm', got a table",
         require("pfm.profile").run, require("pfm.profile").prepare { command = command }, {})
      local function no_op() end
      local sink = { block = no_op, maps = no_op, comm = no_op, begin = function() error("it began") end }
      refused("profile.run: sink.stacks: expected a function, got nil", require("pfm.profile").run,
         require("pfm.profile").prepare { command = command, events = "cpu-clock", g = true }, sink)
      sink.block = 5
      refused("profile.run: sink.block: expected a function, got 5", require("pfm.profile").run,
         require("pfm.profile").prepare { command = command, events = "cpu-clock" }, sink)
      refused("analyze.read_keys: by: expected a string or table, got 7", analyze.read_keys, 7)
   end)

   it("counters and unwinders, also where it is an element of a list", function()
      local samples, unwinder = require "lpfm.samples", require("lpfm.symbols").unwinder()
      refused("counter: keys: list of columns expected, got 5", samples.counter, { keys = 5 })
      refused("counter: where: list of tests expected, got 5", samples.counter, { keys = { "tid" }, where = 5 })
      refused("counter: where: list of tests, each {column, from, to} expected, got 5", samples.counter,
         { keys = { "tid" }, where = { 5 } })
      refused("bad argument #4 to '?' (not a list of mappings)", unwinder.maps, unwinder, 1, 0, { 5 })
      local counter = samples.counter { keys = { "tid" } }
      refused("bad argument #3 to '?' (no such PMD)", counter.add, counter, "", { x = 1 })
      refused("bad argument #3 to '?' (not a number of values)", counter.add, counter, "", { [65] = "x" })
   end)

   it("measurements, where callbacks are missing or cannot be called", function()
      local function none() end
      for _, name in ipairs { "run", "begin" } do
         local run, target = require("pfm.measure")[name], { command = command }
         refused("callbacks: expected a table with 'attach' and 'ended', got nil", run, target)
         refused("callbacks: expected a table with 'attach' and 'ended', got a table", run, target, { attach = none })
         refused("callbacks.attach: expected a function, got 5", run, target, { attach = 5, ended = none })
         refused("callbacks.tick: expected a function, got 5", run, target, { attach = none, ended = none, tick = 5 })
      end
   end)

   it("functions of formats, figures and traces, also where it is an element of a list", function()
      refused("command: expected a list of one or more, each a string, got 5", require("pfm.memtrace").record,
         { command = 5, file = "x" })
      refused("plot.lines: series: expected a list, each a list, each a table, got a table", require("pfm.plot").lines,
         { { 1 } })
      refused("stages: expected a list, each a table with 'triggers', got a table", require("pfm.cascade").run,
         { command = command, stages = { {} } })
      for _, field in ipairs { "cpus", "buf_size", "watermark" } do
         local ok, message = pcall(require("pfm.oprofile.oprofile").argument, { [field] = "x" })
         assert.is_false(ok)
         assert.equal(field .. ": expected a whole number from 0 to ", message:match("^.- to "))
      end
   end)

   it("events that are none", function()
      for _, module in ipairs { "pfm.system", "pfm.count" } do
         local run = require(module)[module == "pfm.system" and "count" or "run"]
         refused("there are no events to count", run, { events = {}, cpus = { 0 }, seconds = 0 })
      end
      refused("there are no events to count", require("pfm.region").begin, {})
   end)

   it("commands, and how they are to be started", function()
      local run = require("pfm.count").run
      refused("spawn: argv: element 1: a string without zero bytes expected", run,
         { command = { "a\0b" }, events = "cs" })
      refused("spawn: field 'cwd': string expected, got 5", run,
         { command = command, events = "cs", spawn = { cwd = 5 } })
   end)

   it("none of those that were left out although they may be", function()
      assert.equal(1, require("pfm.statistics").counts(5, 0, 1))
      assert.equal(0, require("pfm.statistics").counts(5, 1, 1))
      assert.equal("x", require("pfm.render").wrap("x", 9, nil)[1])
   end)
end)

describe("a table of choices with a name that is not known is refused by", function()
   it("count.run, count.prepare and count.times", function()
      local count = require "pfm.count"
      for _, call in ipairs { count.run, count.prepare, function(spec) return count.times(2, spec) end } do
         refused("count.run: unknown field 'commnd'; did you mean 'command'?", call,
            { commnd = command, events = "cs" })
         refused("count.run: unknown field 'event'; did you mean 'events'?", call, { command = command, event = "cs" })
         refused("count.run: unknown field 'zebra'", call, { command = command, events = "cs", zebra = 1 })
      end
      refused("count.run: unknown field '1'", count.run, { "true", events = "cs" })
   end)

   it("system.count", function()
      refused("count.run: unknown field 'secnds'; did you mean 'seconds'?", require("pfm.system").count,
         { events = "cs", secnds = 1 })
   end)

   it("profile.prepare, profile.collect and record.run, and of their random", function()
      local profile, record = require "pfm.profile", require "pfm.record"
      local function run(spec) return record.run(spec, os.tmpname()) end
      for _, call in ipairs { profile.prepare, profile.collect, run } do
         refused("profile.run: unknown field 'peroid'; did you mean 'period'?", call, { command = command, peroid = 1 })
         refused("profile.run: random: unknown field 'sed'; did you mean 'seed'?", call,
            { command = command, period = 1000, random = { mask = 15, sed = 3 } })
      end
   end)

   it("cascade.run, bias.test and perfex.run", function()
      refused("cascade.run: unknown field 'stags'; did you mean 'stages'?", require("pfm.cascade").run,
         { command = command, stags = "cs:1 then cs" })
      refused("bias.test: unknown field 'evnt'; did you mean 'event'?", require("pfm.bias").test,
         { target = { command = command }, evnt = "cs" })
      refused("perfex.run: unknown field 'event'; did you mean 'events'?", require("repl.command.perfex").run,
         { command = command, event = "cs" })
   end)

   it("the prompt's stat, job, record, report and export, by their own names", function()
      local stat, record = require "repl.command.stat", require "repl.command.record"
      refused("stat: unknown field 'thread'; did you mean 'threads'?", stat.call, { command = command, thread = true })
      refused("stat: unknown field 'evnts'; did you mean 'events'?", stat.call, "true", { evnts = "cs" })
      refused("job: unknown field 'recrod'; did you mean 'record'?", stat.job, { command = command, recrod = "x.data" })
      refused("record: unknown field 'comand'; did you mean 'command'?", record.call, { comand = command })
      refused("record: unknown field 'preiod'; did you mean 'period'?", record.call, "true", { preiod = 1 })
      refused("report: unknown option 'srt'; did you mean 'sort'?", require("repl.command.report").call,
         { srt = "pid" })
   end)
end)

describe("a value that cannot be meant is refused, by the name of its field, by", function()
   local count, profile, randomize = require "pfm.count", require "pfm.profile", require "pfm.randomize"
   local numbers = { 0 / 0, -1, "x", {} }

   -- Asserts that a call refuses values of a field, by an error that begins with its name.
   local function each_refused(name, values, call, spec)
      for _, value in ipairs(values) do
         local copy = { command = command, events = "page-faults" }
         for k, v in pairs(spec or {}) do copy[k] = v end
         copy[name] = value
         local ok, err = pcall(call, copy)
         assert.is_false(ok, name .. " = " .. tostring(value))
         assert.equal(name .. ":", tostring(err):sub(1, #name + 1), err)
      end
   end

   it("count.run", function()
      for _, name in ipairs { "seconds", "delay", "interval", "switch" } do each_refused(name, numbers, count.run) end
      each_refused("tids", { { -1 }, { "x" }, { 1.5 } }, count.run)
      each_refused("cpus", { { -1 }, { {} }, { 9999 } }, count.run)
      each_refused("command", { { 5 }, { "true", {} } }, count.run)
      each_refused("events", { 5, true, { 5 }, { {} } }, count.run)
      each_refused("on_interval", { 5, {} }, count.run, { interval = 1 })
      refused("on_interval: expected a function, got nil", count.run,
         { command = command, events = "cs", interval = 1 })
      refused("call: expected a function, got 5", count.call, 5, "page-faults")
      refused("count.run: expected a table, got 5", count.run, 5)
      refused("call: expected a function, got nil", count.call, nil, "page-faults", require("lpfm.proc").gettid())
      local done, why = pcall(count.run, { cpus = { 1023 }, events = "page-faults", seconds = 0 })
      assert.truthy(not done and why:find("CPU 1023 is not online", 1, true), why)
      for _, n in ipairs { 0, -1, 0 / 0, 1.5 } do
         local ok, err = pcall(count.times, n, { command = command, events = "page-faults" })
         assert.is_false(ok)
         assert.truthy(err:find("n: expected a whole number from 1", 1, true), err)
      end
   end)

   it("what runs a command: its error can be printed", function()
      local _, err = pcall(count.run, { command = { "/no/such" }, events = "page-faults" })
      assert.equal("cannot run /no/such: No such file or directory", tostring(err))
   end)

   it("what takes a table, a path or a result", function()
      local record, system, program = require "pfm.record", require "pfm.system", require "pfm.program"
      refused("count.run: expected a table, got nil", count.run)
      refused("profile.run: expected a table, got nil", record.run, nil, "x.data")
      refused("path: expected a string, got nil", record.run, { command = command })
      refused("file: expected a string, got nil", require("pfm.memtrace").record, { command = command })
      refused("system.count: expected a table, got nil", system.count)
      refused("program: expected a table, got nil", program.new)
      for _, n in ipairs { 0, -1, 1.5, 2 ^ 40, "x" } do
         local ok, err = pcall(program.bucket, "cpu", { buckets = n })
         assert.truthy(not ok and err:find("^buckets: expected a whole number from 1"), err)
      end
      refused("system.group: the parts of the result are threads, not CPUs", system.group,
         count.call(function() end, "page-faults"), "cpu")
   end)

   it("profile.collect, histogram.prepare and bias.test: a period of -1 would never overflow", function()
      local no_periods = { 0, -1, 1.5, 0 / 0, 1 / 0, 2 ^ 53 + 2, "x" }
      each_refused("period", no_periods, profile.collect)
      each_refused("frequency", { 0, -1, 0 / 0, "x" }, profile.collect)
      each_refused("buffer", { 0 / 0, 1 / 0, 1.5, "x" }, profile.collect, { period = 1 })
      for _, period in ipairs(no_periods) do
         local ok, err = pcall(require("pfm.histogram").prepare, { command = command, bucket = "cpu", period = period })
         assert.truthy(not ok and err:find("^period: "), err)
         ok, err = pcall(require("pfm.bias").test, { target = { command = command }, period = period })
         assert.truthy(not ok and err:find("^period: "), err)
      end
      for _, name in ipairs { "mask", "seed" } do
         for _, value in ipairs { -1, 1.5, 0 / 0, 1 / 0, "x" } do
            local ok, err = pcall(profile.collect, { command = command, events = "page-faults", period = 9,
               random = { mask = 3, [name] = value } })
            assert.truthy(not ok and err:find("random: " .. name .. ": ", 1, true), err)
         end
      end
   end)

   it("randomize.prime: above 2^53 the search for a prime would not end", function()
      for _, n in ipairs { 0 / 0, 1 / 0, 2 ^ 53 + 2, "x" } do
         assert.error_matches(function() randomize.prime(n) end, "^randomize.prime: n: ")
      end
   end)
end)

it("numbers as texts and as lpfm.u64, false for nothing, and tables that can be called are taken", function()
   local count, profile, lpfm = require "pfm.count", require "pfm.profile", require "lpfm"
   local callable = setmetatable({}, { __call = function() return 7 end })
   assert.equal(7, require("pfm.region")("name", callable))
   assert(count.run { call = callable, events = "page-faults", seconds = false, interval = false })
   assert.equal(3, (profile.rate({ name = "cs" }, { period = "3" })))
   assert.equal(3, (profile.rate({ name = "cs" }, { period = lpfm.u64(3) })))
   assert.equal(100, select(2, profile.rate({ name = "cs" }, { frequency = "100" })))
   assert.equal(3, require("pfm.randomize").resolve({ mean = 9, mask = "3" }).mask)
end)

it("count.run and profile.collect take lists of names and of events that were read", function()
   local read = assert(require("pfm.events").read { "page-faults", "cs" })
   for _, list in ipairs { { "page-faults", "cs" }, read, "page-faults,cs" } do
      local result = require("pfm.count").run { command = command, events = list }
      assert.equal("page-faults", result.events[1].event)
      assert.equal("cs", result.events[2].event)
      assert.is_true(result.events[1].value > 0)
   end
   local profiled = require("pfm.profile").collect { command = command, events = { "page-faults" }, period = 1 }
   assert.is_true(profiled.samples > 0)
end)

describe("expect.fields", function()
   it("takes what is known, and nothing", function()
      expect.fields("f", { a = 1 }, { "a", "b" })
      expect.fields("f", nil, { "a" })
      refused("f: unknown option 'c'", expect.fields, "f", { c = 1 }, { "alpha" }, "option")
   end)
end)
