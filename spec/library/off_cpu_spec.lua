-- SPDX-License-Identifier: MIT
-- Where threads wait: samples of context switches that stand for the time until their threads were
-- back.
local analyze = require "pfm.analyze"
local c = require "support.c"
local off_cpu = require "pfm.measure.off_cpu"
local real = require "support.real"
local recording = require "pfm.recording"
local stored = require "lpfm.samples"

local SWITCHES, OTHER = 69, 65 -- PMDs: of context switches, and of another event
local SIZES = { [SWITCHES] = 1, [OTHER] = 1 }
local NAMES = {}
for _, e in ipairs(off_cpu.events) do NAMES[e.pmd] = e.name end

-- --- schedules made up at random -----------------------------------------------------------------

local function sample(e)
   return stored.sample({ ip = 4096 + e.time, tid = e.tid, pid = 7, cpu = e.tid % 3, ovfl_pmd = SWITCHES,
      last_reset = -1, tstamp = e.time }, { e.time })
end

-- Adds the events of a thread to `list`: again and again it leaves the CPU, by a sample and a
-- record, and comes back, by a record. Adds to `waits` how long it was away.
local function live(tid, rounds, list, waits)
   local time = math.random(1, 50)
   for _ = 1, rounds do
      local how = math.random(3) == 1 and "preempted" or "out"
      local back = time + math.random(2, 400)
      list[#list + 1] = { kind = "SAMPLE", tid = tid, time = time }
      list[#list + 1] = { kind = "SWITCH", how = how, tid = tid, time = time + 1 }
      list[#list + 1] = { kind = "SWITCH", how = "in", tid = tid, time = back }
      waits[("%d %d %s"):format(tid, time, how == "out" and "off-cpu" or "preempted")] = back - time
      time = back + math.random(1, 100)
   end
   list[#list + 1] = { kind = "EXIT", tid = tid, time = time }
end

local function schedule(threads, rounds)
   local list, waits = {}, {}
   for tid = 1, threads do live(tid, rounds, list, waits) end
   for i, e in ipairs(list) do e.i = i end
   table.sort(list, function(a, b)
      if a.time ~= b.time then return a.time < b.time end
      return a.i < b.i
   end)
   return list, waits
end

-- Passes a part of the list to `its`, an object of off_cpu.new(): samples and records apart, as
-- they are read from a buffer.
local function tell(its, part)
   local samples, n = {}, 0
   local records_first = math.random(2) == 1
   local function records()
      for _, e in ipairs(part) do
         if e.kind ~= "SAMPLE" then
            its:record { kind = e.kind, how = e.how, why = e.why, tid = e.tid, pid = 7, tstamp = e.time }
         end
      end
   end
   if records_first then records() end
   for _, e in ipairs(part) do
      if e.kind == "SAMPLE" then samples[#samples + 1], n = sample(e), n + 1 end
   end
   local rest, left = its:take(table.concat(samples), n)
   assert.same({ "", 0 }, { rest, left })
   if not records_first then records() end
end

local function collect(out, bytes, n)
   local last = 0
   for s in stored.each(stored.head(n, #bytes) .. bytes, { [off_cpu.events[1].pmd] = 1, [off_cpu.events[2].pmd] = 1,
      [off_cpu.events[3].pmd] = 1 }) do
      assert.is_true(last <= s.tstamp, "a block is in the order of time")
      assert.same({ 4096 + s.tstamp, { s.tstamp } }, { s.ip, s.values }, "the rest of the sample is as it was")
      local key = ("%d %d %s"):format(s.tid, s.tstamp, NAMES[s.ovfl_pmd])
      assert.is_nil(out[key], key)
      out[key], last = -s.last_reset, s.tstamp
   end
end

-- Hands over the whole list in pieces of any length; returns the samples that come of it.
local function replay(list)
   local its, out, i = off_cpu.new(SWITCHES, SIZES), {}, 1
   while i <= #list do
      local part = {}
      for k = i, math.min(i + math.random(0, 40), #list) do part[#part + 1] = list[k] end
      tell(its, part)
      i = i + #part
      if list[i] and math.random(2) == 1 then collect(out, its:finished(list[i].time - 1)) end
   end
   its:stopped(list[#list].time)
   collect(out, its:finished())
   return out, its
end

local function size(t)
   local n = 0
   for _ in pairs(t) do n = n + 1 end
   return n
end

describe("off-CPU time", function()
   it("is that from a thread's leaving to its return, whatever the pieces it is told in", function()
      for _ = 1, 20 do
         local list, waits = schedule(math.random(1, 8), math.random(1, 60))
         local out, its = replay(list)
         assert.same(waits, out)
         assert.same({ size(waits), 0, 0, 0 }, { its.waited + its.preempted, its.still, its.unknown, its.unseen })
      end
   end)

   it("is never made up: what a lost record leaves open is left out, and counted", function()
      local left_out = 0
      for _ = 1, 200 do
         local list, waits = schedule(math.random(1, 4), 20)
         table.remove(list, math.random(#list))
         local out, its = replay(list)
         for key, waited in pairs(out) do
            if not key:find("still", 1, true) then assert.equal(waits[key], waited, key) end
         end
         left_out = left_out + its.unknown + its.unseen
      end
      assert.is_true(left_out > 100, left_out .. " left out")
   end)

   it("does not reach over a gap in the records", function()
      for _ = 1, 200 do
         local list, waits = schedule(math.random(1, 4), 20)
         local from, n = math.random(2, #list - 40), math.random(1, 30)
         for _ = 1, n do table.remove(list, from) end
         table.insert(list, from, { kind = "LOST", why = math.random(2) == 1 and "source" or "records", tid = 1,
            time = list[from].time })
         for key, waited in pairs((replay(list))) do
            if not key:find("still", 1, true) then assert.equal(waits[key], waited, key) end
         end
      end
   end)

   it("of a thread that is not back is told apart, and lasts until the end", function()
      local its = off_cpu.new(SWITCHES, SIZES)
      tell(its, { { kind = "SAMPLE", tid = 7, time = 100 }, { kind = "SWITCH", how = "out", tid = 7, time = 101 } })
      local out = {}
      collect(out, its:finished(5000))
      assert.same({}, out)
      its:stopped(9100)
      collect(out, its:finished())
      assert.same({ ["7 100 still-off-cpu"] = 9000 }, out)
      assert.same({ 1, 0, 0 }, { its.still, its.waited, its.unknown })
   end)

   it("is not that of idle CPUs, nor of threads that have ended or were away before", function()
      local its = off_cpu.new(SWITCHES, SIZES)
      tell(its, {
         { kind = "SAMPLE", tid = 0, time = 10 }, { kind = "SWITCH", how = "preempted", tid = 0, time = 11 },
         { kind = "SWITCH", how = "in", tid = 8, time = 15 }, { kind = "SWITCH", how = "in", tid = 0, time = 20 },
         { kind = "EXIT", tid = 7, time = 30 }, { kind = "SAMPLE", tid = 7, time = 31 },
         { kind = "SWITCH", how = "out", tid = 7, time = 32 },
      })
      its:stopped(100)
      assert.same({ "", 0 }, { its:finished() })
      assert.same({ 1, 0, 0, 0 }, { its.earlier, its.still, its.unknown, its.unseen })
   end)

   it("leaves other samples as they are", function()
      local its, bytes, n = off_cpu.new(SWITCHES, SIZES), {}, 100
      local expected = {}
      for i = 1, n do
         local of_switch = math.random(2) == 1
         bytes[i] = stored.sample({ ip = i, tid = 5, pid = 5, ovfl_pmd = of_switch and SWITCHES or OTHER, tstamp = i },
            { i })
         if not of_switch then expected[#expected + 1] = bytes[i] end
      end
      assert.same({ table.concat(expected), #expected }, { its:take(table.concat(bytes), n) })
   end)
end)

-- --- programs ------------------------------------------------------------------------------------

local program = c.program

local not_here = real ~= "perf" and "the machine perf tells of context switches"

describe("a recording of off-CPU time", function()
   local scratch, waits = c.folder(), nil

   setup(function() waits = c.target("waits", "-fno-omit-frame-pointer") end)

   local function run(line)
      return c.sh(("cd %s && LPFM_MACHINE=perf %s %s"):format(scratch, program, line))
   end

   -- Returns the samples and ns of an event, by the functions in the samples' stacks.
   local function in_functions(path, event)
      local out = {}
      local r = assert(recording.open(scratch .. "/" .. path))
      for _, row in ipairs(analyze.by(r, "symbol", { children = true, filter = { event = event } }).rows) do
         out[row.symbol] = row.total
      end
      return out
   end

   it("says where a program waited, how often, and for how long", function()
      if not_here then return pending(not_here) end
      local rounds = math.random(3, 9)
      local out, status = run(("record --off-cpu -o waits.data -- %s %d 1000 4000"):format(waits, rounds))
      assert.equal(0, status, out)
      local waited, ready = in_functions("waits.data", "off-cpu"), in_functions("waits.data", "preempted")
      for name, times, ns in out:gmatch("([%w_]+) (%d+) (%d+)\n") do
         local total = assert(waited[name], name .. " does not wait")
         local away = total.events + (ready[name] and ready[name].events or 0)
         assert.is_true(total.samples >= tonumber(times), ("%s: %d times"):format(name, total.samples))
         assert.is_true(away <= tonumber(ns), ("%s: %d ns of %s"):format(name, away, ns))
         assert.is_true(away > 0.5 * tonumber(ns), ("%s: %d ns of %s"):format(name, away, ns))
      end
      assert.truthy(out:find("times off the CPU", 1, true), out)
      assert.is_nil(out:find("not back", 1, true), out)
   end)

   it("follows children, each by its own returns", function()
      if not_here then return pending(not_here) end
      local out, status = run(("record --off-cpu -o children.data -- sh -c '%s 3 1000 1000; %s 4 1000 1000'"):format(
         waits, waits))
      assert.equal(0, status, out)
      assert.is_true(in_functions("children.data", "off-cpu").short_wait.samples >= 7)
   end)

   it("has an event of its own for threads that are not back at its end", function()
      if not_here then return pending(not_here) end
      local out = run("record --off-cpu -o stay.data --timeout 0.5 -- sleep 1")
      assert.truthy(out:find("1 thread not back when the recording ended (still-off-cpu)", 1, true), out)
      local r = assert(recording.open(scratch .. "/stay.data"))
      local names = {}
      for _, row in ipairs(analyze.by(r, "event").rows) do names[row.event] = row end
      assert.equal(1, names["still-off-cpu"].samples)
      assert.is_true(names["still-off-cpu"].events <= r.ends.elapsed * 1e9)
   end)

   it("weighs in reports, stacks and scripts what it lasted", function()
      if not_here then return pending(not_here) end
      local out, status = run(("record --off-cpu -o weighed.data -- sh -c '%s 3 1000 9000 && %s 30 1 0'"):format(waits,
         c.target("usage")))
      assert.equal(0, status, out)
      local all = 0
      local r = assert(recording.open(scratch .. "/weighed.data"))
      for _, row in ipairs(analyze.by(r, "event").rows) do
         if row.event == "off-cpu" then all = row.events end
      end
      local folded, script, both = 0, 0, run "script -f weighed.data -F event,period"
      for weight in run("export -f weighed.data --format folded -e off-cpu -o -"):gmatch(" (%d+)\n") do
         folded = folded + weight
      end
      for event, period in both:gmatch("(%S+):%s+(%d+)\n") do
         if event == "off-cpu" then script = script + period end
      end
      assert.same({ all, all }, { folded, script }, both)
      assert.truthy(both:find("cpu-clock", 1, true), "on-CPU samples are beside them")
      local svg = run "export -f weighed.data -e off-cpu --format flamegraph -o -"
      assert.truthy(svg:find("<title>all (all, ", 1, true))
      assert.truthy(run("export -f weighed.data --format html -o -"):find("off-cpu", 1, true))
   end)

   it("is refused where it cannot be had, with the reason", function()
      local out, status = c.sh(("cd %s && LPFM_MACHINE=sim:itanium2,live %s record --off-cpu -- true"):format(scratch,
         program))
      assert.is_true(status ~= 0, out)
      assert.truthy(out:find("off-CPU time: the machine sim", 1, true), out)
      assert.truthy(out:find("LPFM_MACHINE=perf does", 1, true), out)
      if not_here then return end
      for option, name in pairs { ["-e cs"] = "'cs'", ["--random uniform"] = "random", ["--where 'cpu == 0'"] = "where",
         ["--from page-faults:3"] = "from" } do
         out, status = run(("record --off-cpu %s -- true"):format(option))
         assert.is_true(status ~= 0, out)
         assert.truthy(out:lower():find("off-cpu", 1, true) and out:find(name, 1, true), out)
      end
   end)
end)
