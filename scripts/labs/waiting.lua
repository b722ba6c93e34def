-- SPDX-License-Identifier: MIT
-- Waiting: where a program is when it does not run, and when that matters.

-- function i has its code at i * PAGE
local NAMES = { "main", "parse", "fetch", "render", "log", "idle", "compute" }
local PAGE = 0x1000
local MS, LOOK = 1e6, 500000 -- ns; LOOK: between looks at the threads, a divisor of all durations
local STEP, PERIOD = 1000, 97 -- ns of an instruction; instructions between samples (prime)
-- the software counter of context switches, and its PMC: user and kernel level
local SWITCHES, BOTH_LEVELS = 69, 9
local PATIENCE = 100 -- s
local LEAST_GAIN = 3 -- percent by which a worker must speed up the run to be a gain
local TRIALS = 3 -- number of lists of switches that a student's script is tried with

local function name_of(address)
   return NAMES[math.floor(address / PAGE)]
end

-- Returns a call by main of a function that runs, and then waits, each for a number of ms.
local function fn(name, runs, waits)
   local i = 1
   while NAMES[i] ~= name do i = i + 1 end
   return { call = PAGE + 0x10 * i, { loop = runs * MS / STEP, { ip = i * PAGE, ns = STEP } },
      waits and { sleep = waits * MS } or nil }
end

-- Returns the server's program for n requests, which are all served alike.
local function server(p, n, render)
   return { { loop = n, fn("parse", p.parse), fn("fetch", p.ask, p.fetch), fn("log", p.write, p.disk),
      fn("render", render or p.render) } }
end

-- --- measuring -----------------------------------------------------------------------------------

-- Returns a stack as flame graphs have it: "main;fetch".
local function folded(frames)
   local out = {}
   for i = #frames, 1, -1 do out[#out + 1] = name_of(frames[i]) end
   return table.concat(out, ";")
end

-- Samples each switch away from a thread.
local function sample_switches(kit, tid)
   local ctx = kit.context { format = "stack", buf_size = 2 ^ 20 }
   ctx:write_pmcs { { num = SWITCHES, value = BOTH_LEVELS } }
   ctx:write_pmds { { num = SWITCHES, value = -1, short_reset = -1, long_reset = -1 } }
   ctx:load(tid)
   ctx:start()
   return ctx
end

local function stacks_of(ctx)
   local out = {}
   for sample in ctx.ctx:buffer():samples() do
      local frames = {}
      for i = 1, #sample.stack do frames[i] = sample.stack[i] end
      out[#out + 1] = folded(frames)
   end
   return out
end

local function states_of(m)
   local out = {}
   for _, thread in ipairs(m:threads()) do out[thread.tid] = thread.state end
   return out
end

-- Returns the name of the context switch between two states; nil if there is none.
local function switch_of(was, is)
   if is == "running" then return "in" end
   return was == "running" and (is == "ready" and "preempted" or is == "sleeping" and "out") or nil
end

-- Notes a thread's state in the last LOOK; returns the switch that happened, if any.
local function note(t, is)
   local was = t.state
   t[was], t.state = (t[was] or 0) + LOOK, is
   return was ~= is and switch_of(was, is) or nil
end

-- Runs threads to their end, and looks at their states every LOOK.
local function watch(kit, p, programs, cpus)
   local m = kit.machine(p, { cpus = cpus, slice_ms = p.slice })
   local threads, switches, alive = {}, {}, #programs
   for i, program in ipairs(programs) do
      local tid = assert(m:spawn { program = program })
      threads[i] = { tid = tid, ctx = sample_switches(kit, tid), left = 0 }
   end
   m:run { ns = 0 }
   local now = states_of(m)
   for _, t in ipairs(threads) do t.state = now[t.tid] end
   while alive > 0 do
      if m:time() > PATIENCE * 1e9 then error("the threads do not end", 0) end
      m:run { ns = LOOK }
      now = states_of(m)
      for _, t in ipairs(threads) do
         local what = note(t, now[t.tid])
         if what and what ~= "in" then t.left = t.left + 1 end
         if what then switches[#switches + 1] = { time = m:time(), thread = t, what = what, nth = t.left } end
         if t.state == "dead" and not t.ended then alive, t.ended = alive - 1, m:time() end
      end
   end
   for _, t in ipairs(threads) do
      t.stacks = stacks_of(t.ctx)
      t.ctx:close()
   end
   return { threads = threads, switches = switches, elapsed = m:time() }
end

-- Returns the switches as `lpfm script` lists them, with stacks for those away from a CPU.
local function listing(run)
   local out = {}
   for i, s in ipairs(run.switches) do
      out[i] = { time = s.time, tid = s.thread.tid, what = s.what,
         stack = s.what ~= "in" and s.thread.stacks[s.nth] or nil }
   end
   return out
end

-- Returns the ns that threads waited, by stack, as lpfm record --off-cpu finds them in such a list.
local function waits_of(list)
   local out, away = {}, {}
   for _, s in ipairs(list) do
      local left = away[s.tid]
      if s.what == "in" and left then out[left.stack] = (out[left.stack] or 0) + s.time - left.time end
      away[s.tid] = s.what == "out" and s or nil
   end
   return out
end

local function sum_of(waits)
   local sum = 0
   for _, ns in pairs(waits) do sum = sum + ns end
   return sum
end

local function picture(kit, weights)
   local rows = {}
   for name, weight in pairs(weights) do rows[#rows + 1] = { name, weight / MS } end
   table.sort(rows, function(a, b) return a[2] > b[2] or (a[2] == b[2] and a[1] < b[1]) end)
   return kit.plot.bars(rows, { unit = "ms", decimals = 1 })
end

local function as_text(weights)
   local rows, sum = {}, sum_of(weights)
   for name, weight in pairs(weights) do rows[#rows + 1] = { name = name, percent = 100 * weight / sum } end
   table.sort(rows, function(a, b) return a.percent > b.percent or (a.percent == b.percent and a.name < b.name) end)
   for i, row in ipairs(rows) do rows[i] = ("%s %.1f%%"):format(row.name, row.percent) end
   return table.concat(rows, ", ")
end

-- --- the lab's pages -----------------------------------------------------------------------------

local function alone(kit, p)
   local run = watch(kit, p, { server(p, p.requests) }, 1)
   local t = run.threads[1]
   return { elapsed = t.ended / MS, ran = t.running / MS, share = 100 * t.running / t.ended,
      of_one = t.ended / MS / p.requests, not_running = 100 - 100 * t.running / t.ended }
end

local function profile(kit, p)
   local m, counts = kit.machine(p, { slice_ms = p.slice }), {}
   for _, frames in ipairs(kit.stacks(m, server(p, p.requests), "cycles", PERIOD * STEP)) do
      local name = name_of(frames[1])
      counts[name] = (counts[name] or 0) + 1
   end
   local n = sum_of(counts)
   return { profile = as_text(counts), fetch_profile = 100 * counts.fetch / n, samples = n,
      render_profile = 100 * counts.render / n }
end

local function gains(kit, p, f)
   local less = watch(kit, p, { server(p, p.requests, p.render / 2) }, 1).threads[1].ended / MS
   return { elapsed_after = less, gain = 100 * (f.elapsed - less) / f.elapsed, half_of_profile = f.render_profile / 2 }
end

local function departures(kit, p)
   local run = watch(kit, p, { server(p, p.requests) }, 1)
   local list, counts = listing(run), {}
   local waits = waits_of(list)
   for _, s in ipairs(list) do
      if s.stack then counts[s.stack] = (counts[s.stack] or 0) + 1 end
   end
   local sum = sum_of(waits)
   return { departures = sum_of(counts), by_number = as_text(counts), by_time = as_text(waits),
      waits = picture(kit, waits),
      fetch_number = 100 * counts["main;fetch"] / sum_of(counts), fetch_time = 100 * waits["main;fetch"] / sum,
      waited = sum / MS }
end

local function rivals(kit, p)
   local run = watch(kit, p, { server(p, p.requests), { fn("compute", p.compute) } }, 1)
   local t = run.threads[1]
   return { rival_elapsed = t.ended / MS, slept = t.sleeping / MS, ready = t.ready / MS, rival_ran = t.running / MS }
end

local function team(p, n)
   local programs = {}
   for i = 1, n do programs[i] = server(p, p.requests) end
   return programs
end

-- Adds up waits: of workers with a CPU each, then also with a thread that sleeps until they end.
local function summed(kit, p)
   local programs = team(p, p.workers)
   local run = watch(kit, p, programs, p.workers)
   local sum = sum_of(waits_of(listing(run)))
   programs[#programs + 1] = { fn("idle", 1, run.elapsed / MS - 2), fn("idle", 1) }
   local with = watch(kit, p, programs, p.workers + 1)
   local waits = waits_of(listing(with))
   return { team_elapsed = run.elapsed / MS, team_waited = sum / MS, idle_text = as_text(waits),
      idle_percent = 100 * waits["main;idle"] / sum_of(waits) }
end

-- Returns the ms that n workers on one CPU take for all requests; each serves an equal part.
local function elapsed(kit, p, n)
   local programs, per = {}, p.rounds / n
   for i = 1, n do programs[i] = server(p, math.floor(i * per) - math.floor((i - 1) * per)) end
   return watch(kit, p, programs, 1).elapsed / MS
end

local function setup(kit, p)
   return {
      elapsed = function(workers) return elapsed(kit, p, kit.whole(workers, "workers")) end,
      switches = function(workers)
         local lines = {}
         for _, s in ipairs(listing(watch(kit, p, team(p, kit.whole(workers, "workers")), 1))) do
            lines[#lines + 1] = ("%6.1f ms  thread %d  %-9s  %s"):format(s.time / MS, s.tid, s.what, s.stack or "")
         end
         return table.concat(lines, "\n")
      end,
   }
end

local function enough(kit, p)
   local n, list, now = 1, {}, elapsed(kit, p, 1)
   repeat
      local more = elapsed(kit, p, n + 1)
      list[n] = ("%g"):format(now)
      local helps = 100 * (now - more) / now >= LEAST_GAIN
      if helps then n = n + 1 end
      now = more
   until not helps
   return { enough = n, by_workers = list, with_more = now, least_gain = LEAST_GAIN }
end

-- Returns the longest beginning of a list at the end of which a thread has waited for a while.
local function cut(list)
   local away, last = {}, 0
   for i, s in ipairs(list) do
      away[s.tid] = s.what == "out" and s.time or nil
      for _, since in pairs(away) do
         if since < s.time then last = i end
      end
   end
   return { unpack(list, 1, last) }
end

-- Returns random programs, more than there are CPUs. Each computes for more than a slice before and
-- after its waits, so that some are preempted.
local function unknown(kit, p)
   local programs = {}
   for i = 1, kit.draw(3, 5) do
      local q = { parse = kit.draw(1, 4), ask = kit.draw(1, 3), fetch = kit.draw(1, 12), render = kit.draw(1, 6),
         write = kit.draw(1, 2), disk = kit.draw(1, 8) }
      programs[i] = { fn("compute", p.slice + kit.draw(1, 20)), server(q, kit.draw(2, 5))[1],
         fn("compute", p.slice + kit.draw(1, 20)) }
   end
   return cut(listing(watch(kit, p, programs, 2)))
end

-- Compares what a student's function returns for a list with the truth.
local function differs(given, wanted)
   if type(given) ~= "table" then return "The function returns no table." end
   for stack, ns in pairs(wanted) do
      if type(given[stack]) ~= "number" or math.abs(given[stack] - ns) > 1 then
         return ("Threads waited in %s for %.0f ns; the function says %s."):format(stack, ns, tostring(given[stack]))
      end
   end
   for stack in pairs(given) do
      if not wanted[stack] then return ("No thread waited in %s."):format(tostring(stack)) end
   end
end

local function check(kit, p, value)
   if type(value) ~= "function" then return false, "The script returns no function." end
   for _ = 1, TRIALS do
      local list = unknown(kit, p)
      local wrong = differs(value(list), waits_of(list))
      if wrong then return false, wrong end
   end
   return true
end

return {
   number = 15,
   title = "Waiting: where a program is when it does not run",
   goals = { "say what a CPU profile cannot see", "weigh switches by the time until the thread is back",
      "tell waiting from being ready to run", "tell a wait that matters from one that does not" },
   read = { "lpfm help record: --off-cpu", "lpfm help exporting: flame graphs",
      "its second part, with a lock, a pipe and a real flame graph: `lpfm lab waiting --machine perf`" },
   teacher = [[
      Students take a profile for a picture of the elapsed time. It is one of the CPU time, and of a server that is the
      smaller part. Have them draw one request as a bar first, running black and waiting white, and keep it on the
      board: questions one to five are read off it.

      The second mistake is the opposite one: off-CPU time is added up over threads, and pools of threads that have
      nothing to do are its largest part. A wait matters if a request waits for it. The page of the idle thread is for
      that; ask which of the threads in a real server's graph are of that kind (accept, poll, timers, signal threads).

      The third is to take "off the CPU" for "waiting". A thread that is ready waits for a processor, and the cure is
      another one: fewer threads or more CPUs, not a faster disk. perf and lpfm tell the two apart by the state in which
      the thread left; the time from its wakeup to the CPU they count as waiting. For that there are the tracepoints of
      wakeups and perf sched.

      Plan of the hour: ten minutes for the bar and the first three questions, fifteen for switches and weights, ten for
      rivals and teams, fifteen for the script. In the script the usual mistakes are to weigh a preemption like a wait,
      and to mix up threads: one variable for the last switch instead of one for each thread.
   ]],
   params = { model = "itanium2", requests = 10, parse = 1, ask = 1, fetch = 5, render = 2, write = 1, disk = 1,
      slice = 4, compute = 60, workers = 4, rounds = 60 },
   most = { requests = 50, parse = 50, ask = 50, fetch = 50, render = 50, write = 50, disk = 50, compute = 500,
      workers = 8, rounds = 240, slice = 100 },
   draw = { fetch = { 5, 8, 9 }, requests = { 8, 10, 12 }, disk = { 1, 2 } },
   pages = {
      { text = [[
         A server answers {requests} requests, one after the other. For each of them it calls four functions:

            parse    runs {parse} ms
            fetch    runs {ask} ms, then waits {fetch} ms for a database
            log      runs {write} ms, then waits {disk} ms for a disk
            render   runs {render} ms

         Draw one request as a bar: black where it runs, white where it waits.
      ]],
        ask = "Of the time that the {requests} requests take, in how many percent does the thread run?", id = "share",
        unit = "%", within = 0.03,
        run = alone,
        show = { { "elapsed, ms", "elapsed" }, { "ran, ms", "ran" }, { "ran, percent", "share" } },
        answer = "share",
        right = "That is all that a profile of CPU time can show. The rest has no instructions, so no samples.",
        wrong = { { is = "not_running", say = "That is the share in which it waits; it runs in {share} %." },
           { is = function() return 100 end, say = [[A thread that waits for a database does not run. Of {elapsed} ms it
              ran {ran}.]] } },
        otherwise = "It ran {ran} of {elapsed} ms: {share} %.",
        hints = { "How long is the bar of one request?", "How much of it is black?" } },
      { text = [[
         Now the thread is sampled each time it has run for so many cycles, as `lpfm record` does by default, and each
         sample has the function that it was in.
      ]],
        ask = "How many percent of the samples are in fetch?", id = "profile", unit = "%", within = 0.12,
        run = profile,
        show = { { "samples", "samples" }, { "profile", "profile" } },
        answer = "fetch_profile",
        right = "Its {fetch} ms of waiting are not there at all: no cycle passes for a thread that sleeps.",
        wrong = { { is = function(p) return 100 * (p.ask + p.fetch) / p.of_one end,
           say = [[That is its share of the elapsed time. Only the {ask} ms in which it runs have samples:
           {fetch_profile} %.]] },
           { is = function() return 0 end, say = [[It runs for {ask} ms of each request, to ask: {fetch_profile} %.]] },
           { more = true, say = "Samples come only while the thread runs, which it does for {ask} ms of fetch." } },
        otherwise = "{ask} ms of all that runs in a request: {fetch_profile} %.",
        hints = { "Which part of fetch is black in your bar?", "What part is that of all the black?" } },
      { text = [[The profile says: {profile}. So render is the hottest, with {render_profile} % of the samples. It is
           made twice as fast.]],
        ask = "By how many percent does the elapsed time shrink?", id = "gain", unit = "%", within = 0.03,
        run = gains,
        show = { { "elapsed before, ms", "elapsed" }, { "after, ms", "elapsed_after" }, { "gain, percent", "gain" } },
        answer = "gain",
        right = [[Half of render's {render} ms, of a bar of {of_one} ms. The profile promised {half_of_profile} %: true
           of the CPU time, not of what a client waits for.]],
        wrong = { { is = "half_of_profile", say = [[That is the gain in CPU time. The client waits {of_one} ms for a
           request, of which {render} are render's: {gain} %.]] },
           { more = true, say = "Half of {render} ms is gained, of the {of_one} ms of a request: {gain} %." } },
        otherwise = "Half of {render} ms, of the {of_one} ms of a request: {gain} %.",
        hints = { "How many ms of the bar go?", "How long is the whole bar?" } },
      { text = [[
         What waits has no instructions, but a beginning: the switch away from the thread. The kernel counts those, and
         a counter can overflow at each of them. With perfmon's calls:

            ctx = lpfm.create { format = "stack" }
            ctx:write_pmcs { { num = 69, value = 9 } } -- context-switches
            ctx:write_pmds { { num = 69, value = -1,
               short_reset = -1, long_reset = -1 } }
            ctx:load(tid)
            ctx:start()

         Each sample has the call stack with which the thread left, such as main;fetch.
      ]],
        ask = "How many samples are there after the {requests} requests?", id = "switches",
        run = departures, show = { { "samples", "departures" }, { "by stack", "by_number" } },
        answer = "departures",
        right = "A request leaves the CPU twice: for the database, and for the disk.",
        wrong = { { is = "requests", say = "A request waits for the database, and for the disk: {departures}." },
           { is = function(f) return 2 * f.departures end, say = [[Coming back is no switch away from the thread:
              {departures}.]] } },
        otherwise = "Each request waits twice: {departures}.",
        hints = { "How many white pieces has the bar of one request?" } },
      { text = [[
         By their number, the samples are: {by_number}. But one sample stands for a long wait, another for a short one.
         `lpfm record --off-cpu` notes when the thread is back, and weighs each sample by the time between.
      ]],
        ask = "How many percent of the time off the CPU belong to main;fetch?", id = "weight", unit = "%",
        within = 0.03,
        run = function() return {} end, show = { { "off the CPU", "waits" },
           { "by time", "by_time" }, { "waited, ms", "waited" } },
        answer = "fetch_time",
        right = "This is what an off-CPU flame graph draws: width is time, not how often.",
        wrong = { { is = "fetch_number", say = [[That is how often, not how long: {fetch} ms each time, beside {disk} ms
           in log.]] },
           { is = function(p) return 100 * p.fetch / p.of_one end, say = [[That is its share of the elapsed time. Of the
              time off the CPU it has {fetch_time} %.]] } },
        otherwise = "{fetch} ms of the {fetch} and {disk} ms of a request: {fetch_time} %.",
        hints = { "How long is each white piece?", "What part of all the white is fetch's?" } },
      { text = [[
         A second thread comes to the same CPU. It computes for {compute} ms and never waits; the two take turns, in
         slices of {slice} ms. A state can be looked at any time: a thread is running, sleeping, or ready, that is, it
         could run but another thread has the CPU.
      ]],
        ask = "What becomes of the server?", id = "rival", kind = "choice",
        run = rivals,
        show = { { "elapsed, ms, alone", "elapsed" }, { "elapsed, ms, with the other", "rival_elapsed" },
           { "running, ms", "rival_ran" }, { "sleeping, ms", "slept" }, { "ready, ms", "ready" } },
        answer = 3,
        choices = {
           { "It runs for longer: the other thread makes it slow.", say = [[It executes the same instructions, in the
              same {rival_ran} ms. What grows is the time in which it is ready and does not run: {ready} ms.]] },
           { "Its waits for database and disk get longer.", say = [[They do not know of the other thread: it sleeps
              {slept} ms. When its data are there it is ready, and has no CPU: {ready} ms.]] },
           { "It runs and sleeps as long as before, and there is a third state: ready.", say = [[{ready} ms of it. A
              faster database does not help here, another CPU does. `lpfm record --off-cpu` cannot see when the data
              came: it has these ms in the wait, which lasts until the thread runs. Preempted is a thread that could
              have run on.]] },
           { "Nothing: while the server waits, the other one runs.", say = [[It does, but it does not stop when the
              server could go on: it keeps its slice of {slice} ms. {ready} ms are lost so.]] },
        },
        hints = { "What happens when the database answers in the middle of the other's slice?" } },
      { text = [[
         Now there are {workers} servers, each on a CPU of its own, and each answers {requests} requests, as at the
         beginning. The elapsed time is that of one: {elapsed} ms.
      ]],
        ask = "What is the time off the CPU in the recording of all of them, in ms?", id = "sum", unit = "ms",
        within = 0.02,
        run = summed, show = { { "elapsed, ms", "team_elapsed" }, { "off the CPU, ms", "team_waited" } },
        answer = "team_waited",
        right = "More than the elapsed time: it is a sum over threads, like CPU time. It is no duration.",
        wrong = { { is = "waited", say = "That is one thread's. A recording adds up {workers}: {team_waited}." },
           { is = "elapsed", say = "That is how long it took. The {workers} threads wait {waited} ms each." } },
        otherwise = "{waited} ms of each of {workers} threads: {team_waited}.",
        hints = { "How long does one of them wait?", "What does a recording do with several threads?" } },
      { text = [[
         The program gets one more thread. It wakes up when the others are done, to end the program, and sleeps until
         then. The off-CPU profile is now: {idle_text}.
      ]],
        ask = "The idle thread has {idle_percent} % of the time off the CPU. What is gained if it sleeps less?",
        id = "idle", kind = "choice",
        run = function() return {} end,
        answer = 2,
        choices = {
           { "That share of the elapsed time.", say = [[No request waits for that thread. The elapsed time stays
              {team_elapsed} ms.]] },
           { "Nothing: no request waits for it.", say = [[Long waits of threads that have nothing to do are in every
              server's profile. A wait matters if a request, or a client, waits for its end: follow a request, not the
              widest bar.]] },
           { "CPU time, for it has to be woken up.", say = [[A thread that sleeps takes no CPU time; one that sleeps
              less takes more.]] },
        },
        hints = { "Which of the requests would be answered earlier?" } },
      { vary = [[`elapsed(n)` has n workers on one CPU share {rounds} requests, and tells how many ms that takes.
           `switches(n)` lists how n workers came and went. Look at `switches(1)` and `switches(2)`: what does a worker
           do while the other one waits?]],
        setup = setup },
      { task = "enough",
        todo = [[
           One CPU, {rounds} requests. With one worker it idles while that waits; more workers fill the gaps. From which
           number of workers on does one more no longer help, that is, shorten the elapsed time by {least_gain} % or
           more? Predict it from the bar, then measure with `elapsed(n)` at the prompt.
        ]],
        setup = setup,
        run = enough,
        answer = "enough",
        right = [[{by_workers} ms with one worker and more, and {with_more} ms with yet another. The CPU is busy all the
           time then, and only less work or another CPU helps.]],
        wrong = { { is = "requests", say = "Try that many, and one fewer: is there a difference?" },
           { less = true, say = "One more helps: `elapsed` says by how much." } },
        otherwise = "A smaller number is as good: compare elapsed(n) with elapsed(n + 1).",
        hints = { "How many black parts fit into the bar of one request?",
           "elapsed(1), elapsed(2), elapsed(3), ...: stop when the next one is no shorter." } },
      { task = "off-cpu", kind = "script",
        todo = [[
           Write what lpfm record --off-cpu computes. A script returns a function, which gets a list of switches in the
           order of their times (ns), of several threads on two CPUs:

              { { time = 2000000, tid = 100, what = "out", stack = "main;fetch" },
                { time = 2500000, tid = 101, what = "preempted", stack = "main;render" },
                { time = 8000000, tid = 100, what = "in" }, ... }

           out: the thread leaves, to wait. preempted: another thread gets the CPU, and this one is ready. in: it runs.
           The function returns a table: for each stack the ns that threads waited there, all added up. A wait lasts
           until the thread runs again. A preemption is no wait. What is not over at the list's end does not count.

              return function(list)
                 local waits = {}
                 return waits
              end
        ]],
        run = function() return {} end,
        check = check,
        right = "Sorted by stack, these are the lines from which a flame graph is drawn.",
        otherwise = "It is not what the threads did.",
        solution = [[
return function(list)
   local waits, left = {}, {}
   for _, s in ipairs(list) do
      local before = left[s.tid]
      if s.what == "in" and before then
         waits[before.stack] = (waits[before.stack] or 0) + s.time - before.time
      end
      left[s.tid] = s.what == "out" and s or nil
   end
   return waits
end]],
        mistake = [[
return function(list)
   local waits, left = {}, {}
   for _, s in ipairs(list) do
      local before = left[s.tid]
      if s.what == "in" and before then
         waits[before.stack] = (waits[before.stack] or 0) + s.time - before.time
      end
      left[s.tid] = s.what ~= "in" and s or nil
   end
   return waits
end]],
        hints = { "What has to be kept of a thread from its `out` to its `in`? Keep that by tid.",
           "A thread that is preempted has no wait that begins.",
           "waits[stack] = (waits[stack] or 0) + time - began" } },
   },
}
