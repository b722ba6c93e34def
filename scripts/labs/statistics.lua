-- SPDX-License-Identifier: MIT
-- Statistics of measurement: what a few runs tell of all runs.

local statistics = require "pfm.statistics"

local BASE, LINE, PAGE = 0x1000000, 64, 4096
local WARM = 3 -- runs until the cache has its usual contents
-- percent of intervals that hold the true mean; its factor for many runs
local CONFIDENCE, NORMAL = 95, 1.96
-- sizes of the tasks: series to plan, pairs to compare, runs of a program
local TRIALS, PAIRS, BUDGET = 5, 64, 30
local GAP = 1.2 -- difference of the programs of a pair, in standard deviations

-- --- programs ------------------------------------------------------------------------------------

-- Makes random loads from a table, others for each seed; then `more` instructions of a cycle. `how`
-- replaces parameters; `how.rest` is the cycles of a last instruction, the same in each run.
local function random_loads(p, seed, how)
   return { { loop = how.loads or p.loads, { ip = 0x1000,
      load = { how.base or BASE, LINE, random = p.table, seed = seed } } },
      { loop = math.max(1, how.more or p.more), { ip = 0x1010, ns = 1 } }, { ip = 0x1020, ns = how.rest or 1 } }
end

-- Reads three arrays of a page each again and again; `pages` says where they lie.
local function three_arrays(p, pages)
   local body = { loop = PAGE / LINE }
   for i, page in ipairs(pages) do body[i] = { ip = 0x1000 + 4 * i, load = { BASE + page * PAGE, LINE } } end
   return { { loop = p.rounds, body } }
end

-- --- measuring -----------------------------------------------------------------------------------

local function computer(kit, p)
   return kit.machine(p, { dtlb = 0, itlb = 0, l1i = 0, l2 = 0, l1d = p.cache .. ":2:64" })
end

local function cycles(kit, m, program)
   return kit.count(m, program, { "cycles" }).cycles
end

-- Returns a function that measures a program with other loads each time; the cache is warm unless
-- `how.cold`. Two programs to be compared need the same computer, `how.m`.
local function measurer(kit, p, how)
   local m, seed = how.m or computer(kit, p), how.seed or 1
   local function one()
      seed = seed + 1
      return cycles(kit, m, random_loads(p, seed, how))
   end
   for _ = 1, how.cold and 0 or WARM do one() end
   return one
end

local function measure(kit, p, n, how)
   local one, out = measurer(kit, p, how or {}), {}
   for i = 1, n do out[i] = one() end
   return out
end

-- Returns the n values of a list from the i-th on.
local function part(values, i, n)
   local out = {}
   for k = 1, n do out[k] = values[i + k - 1] end
   return out
end

local function rounded(value)
   return math.floor(value + 0.5)
end

local function deviation(values)
   local _, of_mean = statistics.mean(values)
   return of_mean * math.sqrt(#values)
end

local function interval_percent(values)
   return 100 * statistics.interval(values) / statistics.mean(values)
end

local function inside(values, middle, half)
   local n = 0
   for _, value in ipairs(values) do
      if math.abs(value - middle) <= half then n = n + 1 end
   end
   return n
end

-- --- the lab's pages -----------------------------------------------------------------------------

local function few(kit, p)
   local all = measure(kit, p, p.runs * 4)
   local first = part(all, 1, p.runs)
   local mean = statistics.mean(first)
   return { values = first, mean = rounded(mean), deviation = deviation(first), half = statistics.interval(first),
      percent = interval_percent(first), percent4 = interval_percent(all), fourfold = 4 * p.runs,
      quarter = interval_percent(first) / 4, confidence = CONFIDENCE }
end

-- Says how many single runs lie in the first interval, and how many intervals hold the true mean.
local function coverage(kit, p, f)
   local all = measure(kit, p, p.experiments * p.small)
   local truth, hold, hold_normal = statistics.mean(all), 0, 0
   for i = 0, p.experiments - 1 do
      local values = part(all, i * p.small + 1, p.small)
      local mean, of_mean = statistics.mean(values)
      if math.abs(mean - truth) <= statistics.interval(values) then hold = hold + 1 end
      if math.abs(mean - truth) <= NORMAL * of_mean then hold_normal = hold_normal + 1 end
   end
   return { scatter = deviation(all), truth = rounded(truth), all_runs = #all, normal = NORMAL,
      single = 100 / p.hundred * inside(part(all, 1, p.hundred), f.mean, f.half),
      hold = 100 * hold / p.experiments, hold_normal = 100 * hold_normal / p.experiments }
end

local function warmth(kit, p)
   local values = measure(kit, p, p.runs, { cold = true })
   local warm = statistics.mean(part(values, 4, p.runs - 3))
   return { cold_values = values, cold = values[1], warm = rounded(warm), cold_more = 100 * (values[1] - warm) / warm,
      shift = 100 * (statistics.mean(values) - warm) / warm }
end

local function layouts(kit, p)
   local out, state, slow = {}, 7, 0
   local function draw()
      state = (state * 16807) % 2147483647
      return math.floor(state / 65536) % 64
   end
   for i = 1, p.hundred do out[i] = cycles(kit, computer(kit, p), three_arrays(p, { draw(), draw(), draw() })) end
   local least, most = math.min(unpack(out)), math.max(unpack(out))
   local middle = (least + most) / 2
   local mean = statistics.mean(out)
   for _, value in ipairs(out) do
      if value > middle then slow = slow + 1 end
   end
   return { histogram = kit.plot.histogram(out, { title = "cycles of a run" }),
      layouts = part(out, 1, 12), fast = least, slow = most, slow_runs = slow, layout_mean = rounded(mean),
      near = inside(out, mean, mean / 10), fast_runs = p.hundred - slow, nearness = 10 }
end

-- Compares a program with itself, and with one that has more instructions, as `lpfm diff` does:
-- Welch's test.
local function tests(kit, p)
   local m, found, level = computer(kit, p), 0, 0.05
   local one, other = measurer(kit, p, { m = m, seed = 1000 }), measurer(kit, p, { m = m, seed = 500000 })
   for _ = 1, p.experiments do
      local a, b = {}, {}
      for i = 1, p.small do a[i], b[i] = one(), other() end
      if statistics.means(a, b) < level then found = found + 1 end
   end
   local old = measure(kit, p, p.many, { m = m, seed = 700000 })
   local new = measure(kit, p, p.many, { m = m, seed = 900000, more = p.more + p.added })
   local mean = statistics.mean(old)
   return { found = 100 * found / p.experiments, level_percent = 100 * level,
      p_few = statistics.means(part(old, 1, p.small), part(new, 1, p.small)), p_many = statistics.means(old, new),
      true_percent = 100 * p.added / mean, seen_percent = 100 * (statistics.mean(new) - mean) / mean }
end

local function setup(kit, p)
   local default = measurer(kit, p, {})
   return {
      runs = function(n)
         local out = {}
         for i = 1, kit.whole(n, "n") do out[i] = default() end
         return out
      end,
      mean = function(values) return (statistics.mean(values)) end,
      interval = function(values) return statistics.interval(values) end,
      p = function(a, b) return statistics.means(a, b) end,
   }
end

-- --- the lab's tasks -----------------------------------------------------------------------------

-- Draws a program's seed and number of loads, on which the deviation of its cycles depends.
local function drawn(kit, p)
   return { seed = kit.draw(1, 60000) * 1000, loads = kit.draw(1, 4) * p.loads, more = p.more }
end

local PLAN = "It says {planned} runs: the interval is +- {reached} % then, and +- {wanted} % are wanted."

-- Checks that a function's planned number of runs is enough, and not many more than needed.
local function check_plan(kit, p, fn)
   if type(fn) ~= "function" then return false, "The script returns no function." end
   for trial = 1, TRIALS do
      local pilot = measure(kit, p, p.runs, drawn(kit, p))
      local percent = interval_percent(pilot) / (1 + trial)
      local n = fn(pilot, percent)
      if type(n) ~= "number" or n ~= n or n < 2 then return false, "The function returns no number of runs." end
      local half = 100 * statistics.t95(n - 1) * deviation(pilot) / math.sqrt(n) / statistics.mean(pilot)
      if half > percent * 1.07 or half < percent * 0.8 then
         return false, PLAN, { planned = n, reached = half, wanted = percent }
      end
   end
   return true
end

-- Makes two programs with the same scatter, on one computer, with separate tables; `faster` is
-- "first", "second" or "same". The loads depend on the pair's number only: a comparison may err by
-- chance, but a script always errs alike. In percent, scatter and difference vary widely.
local function pair(kit, p, f, number, faster)
   local loads, m = 100 * 4 ^ (number % 3), computer(kit, p)
   local gap = math.floor(GAP * f.scatter * math.sqrt(loads / p.loads))
   local function one(is_slower, at)
      local how = { m = m, loads = loads, seed = number * 1234567 + at * 1e8, cold = true,
         base = BASE + at * p.table * LINE, more = p.more + (is_slower and gap or 0),
         rest = number % 4 < 2 and 20 * p.more or 1 }
      local measured, left = measurer(kit, p, how), BUDGET
      return function()
         if left == 0 then error(("more than %d runs of a program"):format(BUDGET), 0) end
         left = left - 1
         return measured()
      end
   end
   return one(faster == "second", 0), one(faster == "first", 1)
end

-- Returns the numbers of the pairs in a random order, which no script can know.
local function shuffled(kit)
   local out = {}
   for i = 1, PAIRS do table.insert(out, kit.draw(1, i), i) end
   return out
end

local ANSWERS = { same = true, first = true, second = true }
local MOST_ALARMS, MOST_MISSED = 0.2, 0.125 -- shares of the equal pairs, and of the different ones

local function check_compare(kit, p, fn, f)
   if type(fn) ~= "function" then return false, "The script returns no function." end
   local alarms, missed, half = 0, 0, PAIRS / 2
   for _, number in ipairs(shuffled(kit)) do
      local faster = number <= half and "same" or number % 2 == 0 and "first" or "second"
      local said = fn(pair(kit, p, f, number, faster))
      if not ANSWERS[said] then
         return false, "Expected 'first', 'second' or 'same', and not {said}.", { said = tostring(said) }
      end
      if faster == "same" and said ~= "same" then alarms = alarms + 1 end
      if faster ~= "same" and said ~= faster then missed = missed + 1 end
   end
   return alarms <= half * MOST_ALARMS and missed <= half * MOST_MISSED, nil,
      { alarms = alarms, missed = missed, of = half }
end

return {
   number = 16,
   title = "Statistics: what a few runs say of all runs",
   goals = { "give a mean with its interval, and say what that promises", "plan how many runs a question needs",
      "see warm-up and two modes before a mean hides them", "say what a p-value is, and what it is not" },
   read = { "lpfm help stat: -r, and the intervals that it prints", "lpfm help diff: p, --alpha",
      "its second part, on this computer: `lpfm lab statistics --machine perf`" },
   teacher = [[
      The simulated computer counts exactly and gives the same cycles for the same program. What varies here is what
      varies on real ones: which data a run happens to use, what is in the cache, where arrays lie. So every value is
      honest, and each figure is the same for every student with the same parameters.

      Three sentences to fight: "95 % of the runs lie in the interval" (it is about the mean), "p = 0.03 means that the
      two are the same with 3 % probability" (it is computed as if they were the same), and "not significant, so no
      difference" (with few runs nothing is significant). Each has its page. Let students write down the sentence that
      they believe before they see the figures.

      On warm-up there is no general rule: a service runs warm, a command that runs once is cold. What is wrong is to
      average the two. On modes: ask what a user of the program would see, and how one would find the cause (record the
      addresses with each run; fix the layout; randomize it in each run).

      Minimum, median or mean? The minimum answers what the code can do, the mean what it costs in all, the median what
      is usual. None repairs a comparison of runs that were made under different conditions: alternate the two programs.

      Plan of the hour: fifteen minutes for means and intervals, ten for warm-up and modes, ten for p, and the rest for
      the two scripts; the second may be homework.

      In the last task the usual mistakes are: no warm-up, so that the first run of each hides the difference; a
      threshold of some percent in place of a test; too few runs. Students that are done may test after each run, and
      stop at the first p below the level: how many false alarms does that make?
   ]],
   params = { model = "k8", loads = 300, table = 512, more = 2000, cache = 16384, runs = 10, small = 5, hundred = 100,
      experiments = 400, rounds = 20, many = 400, added = 400 },
   most = { loads = 2000, table = 4096, more = 50000, cache = 65536, runs = 50, small = 50, hundred = 400,
      experiments = 1000, rounds = 100, many = 2000, added = 10000 },
   draw = { loads = { 250, 300, 350 }, runs = { 8, 10, 12 } },
   pages = {
      { text = [[
         A program loads {loads} times from a table, each run other elements of it, and computes a little. {runs} runs
         are measured, each with a warm cache: a counter of cycles, from the start of the thread to its end.

            ctx:write_pmcs { { num = 0, value = m:encode("cycles", 0) } }
            ctx:write_pmds { { num = 0, value = 0 } }
            ctx:load(tid)
            ctx:start()                     -- the program runs to its end
            ctx:read_pmds { 0 }[1].value

         In a shell that is `lpfm stat -r {runs} -e cycles ./prog`. The processor counts exactly; the runs differ all
         the same.
      ]],
        run = few,
        show = { { "cycles of each run", "values" }, { "mean", "mean" },
           { "standard deviation of a run", "deviation" }, { "{confidence} % interval of the mean, +-", "half" },
           { "the same, percent", "percent" } },
        after = [[
           The standard deviation says how far a run is from the mean, typically. The interval is about the mean: it is
           what `lpfm stat -r` prints behind a +-.
        ]] },
      { text = "{runs} runs gave a mean with an interval of +- {percent} %. Now {fourfold} runs are measured.",
        ask = "About how many percent is the interval to each side of their mean?", id = "fourfold", unit = "%",
        within = 0.35,
        run = function() return {} end, show = { { "interval of {fourfold} runs, percent", "percent4" } },
        answer = "percent4",
        right = [[Half, for four times the runs: it shrinks as the square root of their number. (A little more than by
           half: of few runs, the deviation is known badly, too, and Student's factor pays for that.)]],
        wrong = { { is = "percent", say = [[More runs do not scatter less, but their mean does: {percent4} %.]] },
           { is = "quarter", say = [[It shrinks as the square root: four times the runs, half the width. {percent4}
              %.]] },
           { more = true, say = "With more runs the mean is known better: {percent4} %." } },
        otherwise = "It shrinks as the square root of the number of runs: {percent4} %.",
        hints = { "The deviation of a mean of n runs is that of one run, divided by the square root of n." } },
      { text = [[
         The mean of the {runs} runs is {mean}, its {confidence} % interval +- {half}. Another {hundred} runs of the
         same program are made, and we look at each one alone.
      ]],
        ask = "How many percent of these single runs lie in the interval?", id = "single", unit = "%", within = 0.3,
        run = coverage, show = { { "single runs in the interval, percent", "single" } },
        answer = "single",
        right = "The interval is where the mean of very many runs lies. Single runs scatter more than means.",
        wrong = { { is = "confidence", say = [[That is what most expect. But the interval is about the mean, and a
           single run is off by its deviation, which is larger: {single} % lie there.]] },
           { more = true, say = "Fewer: a run scatters by its deviation, a mean of {runs} much less. {single} %." } },
        otherwise = "A single run scatters more than a mean does: {single} %.",
        hints = { "About what is the interval: a run, or the mean?",
           "Compare the half width with the deviation of a run." } },
      { text = [[
         Now {small} runs are an experiment, with a mean and a {confidence} % interval of its own, and the experiment is
         made {experiments} times. The true mean is known, from all {all_runs} runs: {truth}.
      ]],
        ask = "How many percent of the intervals contain the true mean?", id = "hold", unit = "%", within = 0.025,
        run = function() return {} end,
        show = { { "intervals that contain it, percent", "hold" },
           { "with a factor of {normal}, percent", "hold_normal" } },
        answer = "hold",
        right = [[That is the promise of {confidence} %: of many such intervals so many are right. Whether one of them
           is, it does not say. With {normal} as the factor, as often seen for so few runs, {hold_normal} % were
           right.]],
        wrong = { { is = function() return 100 end, say = [[It promises {confidence} %, so some miss it: {hold} % were
           right. Which ones, cannot be seen from inside.]] },
           { is = "single", say = "That was the share of single runs. The intervals contain the mean in {hold} %." } },
        otherwise = "The name says it: about {confidence} %, here {hold} %.",
        hints = { "What does the {confidence} in its name promise?" } },
      { text = [[
         So far the cache was warm. A program that is started anew finds it empty. {runs} runs, one after the other, the
         first with an empty cache: {cold} cycles, {cold_more} % more than the later ones, of which the mean is {warm}.
      ]],
        ask = "By how many percent is the mean of all {runs} too large?", id = "warm", unit = "%", within = 0.25,
        run = warmth, show = { { "cycles of each run", "cold_values" }, { "mean too large, percent", "shift" } },
        answer = "shift",
        right = [[The first run's excess, divided by the number of runs; next to the {percent} % of the interval that is
           much. More runs make it smaller, but never honest: it is another program that ran first.]],
        wrong = { { is = "cold_more", say = [[That is the first run alone. In the mean it is one of {runs}: {shift}
           %.]] },
           { is = function() return 0 end, say = [[A mean forgets nothing: one of {runs} runs is too long. {shift}
              %.]] } },
        otherwise = "The excess of one run, spread over {runs}: {shift} %.",
        hints = { "How much does one value of {runs} move a mean?" } },
      { text = [[
         Another program reads three arrays again and again. Each run, the system puts them on other pages of the
         memory. A cache has room for two lines at each place, so that three arrays on pages of the same colour drive
         each other out. {hundred} runs have a mean of {layout_mean} cycles; the first ones are {layouts}.
      ]],
        ask = "How many of the {hundred} runs are within {nearness} % of the mean?", id = "modes",
        run = layouts,
        show = { { "runs by their cycles", "histogram" },
           { "fast runs", "fast_runs" }, { "slow runs", "slow_runs" }, { "fastest", "fast" },
           { "slowest", "slow" }, { "near the mean", "near" } },
        answer = "near",
        right = [[None: there are two kinds of runs, and the mean is of neither. No interval tells: look at the values
           first, with `lpfm plot` or sorted. Then explain the slow ones, or count them.]],
        wrong = { { is = "fast_runs", say = [[Those are the fast ones; the mean, {layout_mean}, is beyond all of
           them.]] },
           { more = true, say = "Runs take {fast} cycles or {slow}, about. The mean, {layout_mean}, is between." } },
        otherwise = "Each run is fast or slow, {fast} or {slow}. The mean is between.",
        hints = { "Are there values near the mean among the first ones?" } },
      { text = [[
         Two versions of a program are compared: {small} runs of each, and the p-value of Welch's test, as `lpfm diff`
         and the prompt's p(a, b) compute it. Below {level_percent} % a difference is called significant. But the two
         versions are the same file, and the comparison is made {experiments} times.
      ]],
        ask = "In how many percent of the comparisons is there a significant difference?", id = "alarms", unit = "%",
        factor = 2,
        run = tests, show = { { "significant, percent", "found" } },
        answer = "found",
        right = [[So many, by construction: the level is the share of false alarms that one accepts. Of
           {hundred} functions that are compared, some always "changed". lpfm diff raises its p for that, by Holm's
           rule.]],
        wrong = { { is = function() return 0 end, say = [[The two are the same, but their runs are not. {found} % of the
           comparisons are false alarms.]] },
           { more = true, say = "That level is the share of false alarms: {found} %." } },
        otherwise = "About the level, {level_percent} %; here {found} %.",
        hints = { "What is the level a probability of?" } },
      { text = [[
         A version really takes longer, by {true_percent} % (instructions were added). Of it and the old one there are
         {small} runs each: p is {p_few}.
      ]],
        ask = "What may be said?", id = "p", kind = "choice",
        run = function() return {} end,
        show = { { "p of {small} runs each", "p_few" }, { "p of {many} runs each", "p_many" },
           { "difference seen with {many} runs, percent", "seen_percent" } },
        answer = 3,
        choices = {
           { "The versions are equally fast, for p is not below {level_percent} %.", say = [[They are not, and {many}
              runs of each show it: p is {p_many} then. That something was not found does not mean that it is not
              there.]] },
           { "The versions are equally fast with a probability of p.", say = [[p is computed as if they were the same:
              how often runs would then differ so much or more. It is no probability of being the same.]] },
           { "If they were equally fast, so large a difference would not be rare: these runs do not tell.", say = [[That
              is all that p says. With {many} runs of each it is {p_many}. How large the difference is, p says in
              neither case: that is {seen_percent} %, and whether it matters is another question.]] },
           { "The new version is slower with a probability of 1 - p.", say = [[p knows nothing of that. It is computed
              as if there were no difference.]] },
        },
        hints = { "p is computed under an assumption. Which one?" } },
      { vary = [[`runs(n)` measures n runs, warm; `mean(values)` and `interval(values)` are what they say, `p(a, b)`
           compares two lists. How often in ten tries is `p(runs(5), runs(5)) < 0.05`? What becomes of
           `interval(runs(n))` when n doubles?]],
        setup = setup },
      { task = "plan", kind = "script",
        todo = [[
           How many runs will it take? Write a script that returns a function. It gets the values of a first series of
           runs, and how many percent of the mean the {confidence} % interval is to have on each side. It returns the
           number of runs for that; some more than the fewest are allowed.

              return function(values, percent)
                 return #values
              end

           `require "pfm.statistics"` has `mean(values)`, which returns the mean and the deviation of the mean, and
           `t95(freedom)`, Student's factor.
        ]],
        run = function() return {} end,
        check = check_plan,
        right = "This is how a series is planned: a few runs first, then as many as the question needs.",
        otherwise = "That is not enough, or too many.",
        solution = [==[
local statistics = require "pfm.statistics"
return function(values, percent)
   local mean, of_mean = statistics.mean(values)
   local deviation, n = of_mean * math.sqrt(#values), 2
   local deviations = percent / 100 * mean / deviation
   while statistics.t95(n - 1) / math.sqrt(n) > deviations do n = n + 1 end
   return n
end]==],
        mistake = [==[
local statistics = require "pfm.statistics"
return function(values, percent)
   local reached = 100 * statistics.interval(values) / statistics.mean(values)
   return math.ceil(#values * reached / percent)
end]==],
        hints = { "The interval shrinks as the square root of the number of runs.",
           "Twice as narrow takes four times the runs.",
           "deviation of a run = deviation of the mean * math.sqrt(#values); then try `n = 2` and more." } },
      { task = "compare", kind = "script",
        todo = [[
           Which is faster? Write a script that returns a function. It gets two functions, first and second: each call
           runs one of two programs, and returns its cycles. They may be called {budget} times each. It returns "first"
           or "second", the faster one, or "same". It is tried with {pairs} pairs, half of them equally fast. At most a
           fifth of those may be told apart, and an eighth of the others may be missed. The programs scatter very
           differently, and each finds an empty cache when it is called first.

              return function(first, second)
                 return first() < second() and "first" or "second"
              end
        ]],
        run = function() return { pairs = PAIRS, budget = BUDGET } end,
        check = check_compare,
        right = "False alarms: {alarms} of {of}; missed: {missed} of {of}.",
        otherwise = "{alarms} of {of} equal pairs were told apart, and of {of} that differ {missed} were missed.",
        solution = [==[
local statistics = require "pfm.statistics"
return function(first, second)
   local a, b = {}, {}
   for i = 1, 30 do a[i], b[i] = first(), second() end
   if statistics.means(a, b) > 0.02 then return "same" end
   return statistics.mean(a) < statistics.mean(b) and "first" or "second"
end]==],
        mistake = [==[
return function(first, second)
   local a, b = first(), second()
   return a == b and "same" or a < b and "first" or "second"
end]==],
        hints = { "How many runs does a mean need before a small difference shows?",
           "Runs with an empty cache: alternate the two programs, or leave out the first runs of each.",
           "`statistics.means(a, b)` of `require \"pfm.statistics\"` is the p of Welch's test." } },
   },
}
