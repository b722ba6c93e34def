-- SPDX-License-Identifier: MIT
-- Call stacks on this computer: CPU time is sampled in a program of known functions, of which the
-- loops determine the shares.

local function repeated(n, name)
   return { loop = n, { call = name } }
end

-- In each round, parse calls copy p.lines times, solve p.steps times and report once; solve also
-- works by itself.
local function program(p, rounds)
   return {
      { name = "main", { loop = rounds, { call = "parse" }, { call = "solve" }, { call = "report" } } },
      { name = "parse", repeated(p.lines, "copy") },
      { name = "solve", repeated(p.steps, "copy"), { spin = p.work } },
      { name = "report", { call = "copy" } },
      { name = "copy", { spin = p.copy } },
   }
end

local function name_at(known, address)
   for _, fn in ipairs(known.functions) do
      if address >= fn.from and address < fn.to then return fn.name end
   end
end

-- Counts samples: of functions alone, of functions with callees, of copy by its caller, and in all.
local function profile(kit, p, rounds)
   kit.here.machine(p)
   local ctx, own, total, callers, n = kit.context { format = "stack", buf_size = 2 ^ 20 }, {}, {}, {}, 0
   kit.here.counter(ctx, "task-clock", { period = p.period }, { kernel = true })
   local known = kit.here.run(ctx, program(p, rounds))
   for sample in ctx.ctx:buffer():samples() do
      local frames, seen = {}, {}
      for i = 1, #sample.stack do frames[#frames + 1] = name_at(known, sample.stack[i]) end
      if frames[1] then
         n = n + 1
         own[frames[1]] = (own[frames[1]] or 0) + 1
         if frames[1] == "copy" and frames[2] then callers[frames[2]] = (callers[frames[2]] or 0) + 1 end
      end
      for _, name in ipairs(frames) do
         if not seen[name] then total[name] = (total[name] or 0) + 1 end
         seen[name] = true
      end
   end
   ctx:close()
   if n < p.least then error(("there are %d samples only: --set rounds=N makes the program longer"):format(n), 0) end
   return own, total, callers, n
end

local function sorted(counts)
   local out, sum = {}, 0
   for _, count in pairs(counts) do sum = sum + count end
   for name, count in pairs(counts) do out[#out + 1] = { name = name, percent = 100 * count / sum } end
   table.sort(out, function(a, b) return a.percent > b.percent or (a.percent == b.percent and a.name < b.name) end)
   return out
end

local function as_text(rows)
   local out = {}
   for i, row in ipairs(rows) do out[i] = ("%s %.0f%%"):format(row.name, row.percent) end
   return table.concat(out, ", ")
end

local function figures(kit, p)
   kit.here.machine(p)
   local each = (p.lines + p.steps + 1) * p.copy + p.work
   local rounds = math.ceil(p.ms * kit.here.rounds_of_ms(kit) / each)
   local own, total, callers, n = profile(kit, p, rounds)
   local flat, by = sorted(own), sorted(callers)
   local of_main = 100 * (total.main or 0) / n
   return { samples = n, flat = as_text(flat), hottest = flat[1].name, callers = as_text(by), culprit = by[1].name,
      second = by[2] and by[2].name or "none", main_percent = of_main, rounds = rounds,
      culprit_percent = by[1].percent, expected = 100 * p.lines / (p.lines + p.steps + 1) }
end

return {
   goals = { "read call stacks that a real kernel has walked", "find the caller that makes a function hot" },
   teacher = [[
      The functions are real ones, with frame pointers, and the kernel walks them. What is sampled is time, so this
      needs
      no PMU. Shares differ by some percent from run to run; with the number of samples they differ less, as the square
      root of it. Let students say how many samples it takes to tell two functions apart.
   ]],
   params = { lines = 12, steps = 4, copy = 2000, work = 6000, ms = 300, period = 500000, least = 20 },
   most = { copy = 10 ^ 6, work = 10 ^ 6, ms = 10000, period = 10 ^ 8 },
   pages = {
      { text = [[
         The machine is `{machine}` now. A real program has the functions main, parse, solve, report and copy. A
         sample is
         taken each {period} ns of its time, with the call stack. In each round parse calls copy {lines} times, solve
         {steps} times, report once.
      ]],
        run = figures, show = { { "samples", "samples" }, { "own shares", "flat" } } },
      { text = "The hottest is {hottest}.",
        ask = "Through which function do most of its samples come?", id = "culprit", kind = "words",
        run = function() return {} end, show = { { "most of copy's samples come through", "culprit" } },
        answer = "culprit",
        right = "It calls most often.",
        wrong = { { is = "second", say = "It calls less often than {culprit}." },
           { is = "hottest", say = "That is the function itself; who calls it? Most often {culprit}." } },
        otherwise = "It is {culprit}, which calls most often.",
        hints = { "Who calls how often in each round?" } },
      { ask = "How many percent of copy's samples come through it?", id = "share", unit = "%",
        within = 0.2,
        run = function() return {} end, show = { { "callers of copy", "callers" } },
        answer = "culprit_percent",
        right = "Its calls, as a part of all calls; sampling finds that within some percent.",
        wrong = { { is = "lines", say = [[That is how often it calls; all calls together are more: {culprit_percent}
           %.]] } },
        otherwise = "{lines} of all calls in a round: {culprit_percent} %.",
        hints = { "How many calls has a round in all?" } },
      { ask = "In how many percent of all samples is main?", id = "main", unit = "%", within = 0.1,
        run = function() return {} end, show = { { "stacks with main, percent", "main_percent" } },
        answer = "main_percent",
        right = "In nearly all: everything is called from there.",
        wrong = { { less = true, say = "Everything is called from there: {main_percent} %." } },
        otherwise = "Everything is called from there: {main_percent} %.",
        hints = { "From where is everything called?" } },
   },
}
