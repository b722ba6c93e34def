-- SPDX-License-Identifier: MIT
-- Statistics on this computer: counts that scatter and counts that do not, alone and beside other
-- programs.

local count = require "pfm.count"
local native = require "labs.native"
local proc = require "lpfm.proc"
local statistics = require "pfm.statistics"

local FOREVER = 2 ^ 50 -- rounds
local EVENTS = { "page-faults", "task-clock" }

-- Calls fn with the path of a program that touches some pages and computes for some rounds.
local function with_program(touches, rounds, fn)
   local path = os.tmpname()
   native.build(path, { { name = "main", { loop = touches, { touch = true } }, { spin = rounds } } })
   local ok, out = pcall(fn, path)
   os.remove(path)
   if not ok then error(out, 0) end
   return out
end

-- Runs a program n times; returns lists of its page faults, CPU times and elapsed times (ms).
local function series(path, n)
   local out = { ["page-faults"] = {}, ["task-clock"] = {}, elapsed = {} }
   for i = 1, n do
      local result = count.run { command = { path }, events = table.concat(EVENTS, ",") }
      out["page-faults"][i] = result.events[1].value
      out["task-clock"][i] = result.events[2].value / 1e6
      out.elapsed[i] = result.elapsed * 1000
   end
   return out
end

local function rounds_of(kit, p)
   kit.here.machine(p)
   return p.ms * kit.here.rounds_of_ms(kit)
end

local function percent(values)
   return 100 * statistics.interval(values) / statistics.mean(values)
end

local function short(values)
   local out = {}
   for i, value in ipairs(values) do out[i] = ("%.4g"):format(value) end
   return out
end

local function alone(kit, p)
   local rounds = rounds_of(kit, p)
   local all = with_program(p.touches, rounds, function(path) return series(path, p.runs) end)
   return { faults = all["page-faults"], clock = short(all["task-clock"]), spin_rounds = rounds,
      faults_percent = percent(all["page-faults"]), clock_percent = percent(all["task-clock"]),
      clock_mean = statistics.mean(all["task-clock"]), elapsed_mean = statistics.mean(all.elapsed),
      faults_mean = statistics.mean(all["page-faults"]) }
end

-- Finds the number of runs of each version after which a test shows that one touches more pages.
local function more_pages(kit, p, f)
   kit.here.machine(p)
   local old = with_program(p.touches, f.spin_rounds, function(path) return series(path, p.runs) end)["page-faults"]
   local new = with_program(p.touches + p.more, f.spin_rounds, function(path)
      return series(path, p.runs)
   end)["page-faults"]
   local function p_of(n)
      local a, b = { unpack(old, 1, n) }, { unpack(new, 1, n) }
      return statistics.means(a, b)
   end
   local n = 2
   while n < p.runs and p_of(n) >= 0.05 do n = n + 1 end
   return { enough = n, new_faults = new, p_enough = p_of(n), more_percent = 100 * p.more / f.faults_mean }
end

-- Runs the program while two others for each CPU compute.
local function crowded(kit, p, f)
   kit.here.machine(p)
   local others = {}
   local all = with_program(1, FOREVER, function(busy)
      for i = 1, 2 * #proc.cpus() do
         others[i] = assert(proc.spawn({ busy }, { stdout = false, bound = true }))
         assert(others[i]:go())
      end
      return with_program(p.touches, f.spin_rounds, function(path)
         local ok, out = pcall(series, path, p.runs)
         for _, other in ipairs(others) do
            other:kill "KILL"
            other:close()
         end
         if not ok then error(out, 0) end
         return out
      end)
   end)
   local function times(name, before) return statistics.mean(all[name]) / before end
   local growth = { times("page-faults", f.faults_mean), times("task-clock", f.clock_mean),
      times("elapsed", f.elapsed_mean) }
   local most = 1
   for i = 2, 3 do
      if growth[i] > growth[most] then most = i end
   end
   return { faults_growth = growth[1], clock_growth = growth[2], elapsed_growth = growth[3], most_grown = most,
      crowd = #others, crowded_clock = short(all["task-clock"]), crowded_percent = percent(all["task-clock"]),
      least_clock = math.min(unpack(all["task-clock"])) }
end

local function setup(kit, p, f)
   return { interval = function(n)
      kit.here.machine(p)
      return with_program(p.touches, f.spin_rounds, function(path)
         local result = count.times(n, { command = { path }, events = "task-clock" }).events[1]
         return 100 * result.interval / result.value
      end)
   end }
end

return {
   machines = { perf = true },
   goals = { "say which counts scatter on this computer, and why", "choose what to compare two versions by" },
   read = { "lpfm help stat: -r, and the intervals that it prints" },
   teacher = [[
      Here the figures are those of the student's computer. On one that is idle, times scatter by a percent or less; on
      a shared one by much more. Let students compare theirs, and say what ran beside.

      What to take home: a count of what the program does (page faults, instructions) needs two runs where a time needs
      twenty; a time on the CPU needs fewer than the elapsed time. So measure by counts first, and by time to check that
      the count was the one that matters.

      The answers are measured anew when they are graded, so tolerances are wide.
   ]],
   params = { touches = 400, ms = 4, runs = 10, more = 8 },
   most = { touches = 100000, ms = 1000, runs = 100, more = 100000 },
   pages = {
      { text = [[
         The machine is `{machine}` now. A real program touches {touches} pages for the first time, and computes for
         about {ms} ms. It is run {runs} times, and two things are counted: its page faults and its time on the CPU,
         task-clock.
      ]],
        ask = "Which of the two has the wider interval, in percent of its mean?", id = "scatter", kind = "choice",
        run = alone,
        show = { { "page faults", "faults" }, { "interval, percent", "faults_percent" }, { "task-clock, ms", "clock" },
           { "interval, percent", "clock_percent" } },
        answer = function(f) return f.clock_percent >= f.faults_percent and 2 or 1 end,
        choices = {
           { "page-faults", say = [[The program touches the same pages each time: {faults_percent} %. Its time depends
              on caches, frequency and interrupts: {clock_percent} %.]] },
           { "task-clock", say = [[What the program does is the same each time, how long it takes is not:
              {clock_percent} % beside {faults_percent} %.]] },
           { "Both the same: it is the same program.", say = [[It does the same: {faults_percent} %. But it does not
              take the same time: {clock_percent} %.]] },
        },
        hints = { "What of it is decided by the program alone?" } },
      { text = "A new version touches {more} pages more, {more_percent} %.",
        ask = "How many runs of each version does it take until Welch's test of the page faults finds that?",
        id = "enough", factor = 1.5,
        run = more_pages,
        show = { { "page faults of the new version", "new_faults" }, { "runs that are enough", "enough" },
           { "their p", "p_enough" } },
        answer = "enough",
        right = [[Two, the fewest for which there is a deviation, or few more. Where a count does not scatter, a small
           difference is seen at once.]],
        wrong = { { is = "runs", say = "Far fewer: page faults hardly scatter. {enough} are enough." },
           { is = function() return 1 end, say = "One run of each has no deviation, so no test: {enough}." } },
        otherwise = "Page faults hardly scatter: {enough} are enough.",
        hints = { "By how much did the page faults of the old version scatter?",
           "How many values does a deviation need at least?" } },
      { text = [[
         Now {crowd} other programs compute on the same computer, two for each CPU, and the first one is run again.
      ]],
        ask = "What grows most?", id = "crowd", kind = "choice",
        run = crowded,
        show = { { "page faults, times", "faults_growth" }, { "task-clock, times", "clock_growth" },
           { "elapsed, times", "elapsed_growth" } },
        answer = "most_grown",
        choices = {
           { "page-faults", say = "The others touch pages of their own. {faults_growth} times." },
           { "task-clock", say = [[Only the time in which the program itself is on a CPU: {clock_growth} times. It may
              grow, for caches and cores are shared; the elapsed time grows {elapsed_growth} times.]] },
           { "elapsed", say = [[It waits for its turn, {elapsed_growth} times as long. The time on the CPU is
              {clock_growth} times, the page faults {faults_growth} times what they were.]] },
        },
        hints = { "Which of them goes on while the program waits for a CPU?" } },
      { text = "With the others running, the ms on the CPU were {crowded_clock}; their least is {least_clock}.",
        ask = "What do you take to compare two versions on such a computer?", id = "least", kind = "choice",
        run = function() return {} end,
        answer = 1,
        choices = {
           { "Runs of both, alternated, and all values of both.", say = [[What disturbs one then disturbs the other as
              well, and the test knows how much they scatter ({crowded_percent} % here). Then a quiet computer, and a
              count that does not scatter.]] },
           { "The least of each: disturbance only ever adds.", say = [[It says what the code can do, and is often a good
              number. But how well is it known? And it is blind to what happens in some runs only.]] },
           { "The means of ten runs of the old version, then ten of the new one.", say = [[If something else starts in
              between, it is in one of the means only.]] },
        },
        hints = { "What if the others end just between the two series?" } },
      { task = "interval", unit = "%", factor = 10,
        todo = [[How wide is the interval of task-clock of {runs} runs on your computer, in percent of the mean?
           `interval({runs})` at the prompt runs them by count.times. Try more and fewer, too.]],
        setup = setup,
        run = function(kit, p, f) return { interval_here = setup(kit, p, f).interval(p.runs) } end,
        answer = "interval_here",
        right = "That is what you have to reckon with here: a difference of less does not show in so many runs.",
        wrong = { { more = true, say = "It was narrower: {interval_here} %. Did something else run beside it?" } },
        otherwise = "It was {interval_here} %.",
        hints = { "interval({runs}), at the prompt" } },
   },
}
