-- SPDX-License-Identifier: MIT
-- Call stacks: which caller makes a function expensive, and what is gained when it is changed.

-- function i has its code at i * PAGE
local NAMES = { "main", "parse", "solve", "report", "copy", "hash" }
local PAGE = 0x1000
local PERIOD = 97 -- cycles; no common divisor with the cycles of a round
local TEN = 10 -- cycles of a plan's step

-- Makes n instructions of one cycle each at an address: a counter of cycles that is reloaded at an
-- overflow loses none of them.
local function busy(ip, n)
   return { loop = n, { ip = ip, ns = 1 } }
end

local function copy(from, n)
   return { call = from, busy(5 * PAGE, n * TEN) }
end

-- Makes the program to be profiled. `plan` has numbers of calls, and lengths of copies.
local function program(p, plan)
   return { { loop = p.rounds,
      busy(1 * PAGE, TEN),
      { call = 1 * PAGE + 0x10,
         { loop = plan.lines, busy(2 * PAGE, 2 * TEN), copy(2 * PAGE + 0x10, plan.line_copy) } },
      { call = 1 * PAGE + 0x20,
         busy(3 * PAGE, plan.steps * 3 * TEN),
         copy(3 * PAGE + 0x10, plan.step_copy),
         { call = 3 * PAGE + 0x20, busy(6 * PAGE, plan.hashes * TEN) } },
      { call = 1 * PAGE + 0x30, busy(4 * PAGE, 5 * TEN), copy(4 * PAGE + 0x10, plan.report_copy) } } }
end

local PLAN = { lines = 10, line_copy = 12, steps = 20, step_copy = 20, hashes = 40, report_copy = 10 }

local function name_of(address)
   return NAMES[math.floor(address / PAGE)]
end

local function time_of(kit, p, plan)
   return kit.run(kit.machine(p), program(p, plan)).cycles.total
end

-- Counts samples: of functions alone, of functions with callees, of copy by its caller, and in all.
local function profile(kit, p, plan)
   local own, total, callers, paths, n = {}, {}, {}, {}, 0
   for _, frames in ipairs(kit.stacks(kit.machine(p), program(p, plan or PLAN), "cycles", PERIOD)) do
      local seen, path = {}, {}
      n = n + 1
      for i, address in ipairs(frames) do
         local name = name_of(address)
         if i == 1 then own[name] = (own[name] or 0) + 1 end
         if not seen[name] then total[name] = (total[name] or 0) + 1 end
         seen[name] = true
         table.insert(path, 1, name)
      end
      path = table.concat(path, " > ")
      paths[path] = (paths[path] or 0) + 1
      if name_of(frames[1]) == "copy" then
         local caller = name_of(frames[2])
         callers[caller] = (callers[caller] or 0) + 1
      end
   end
   return own, total, callers, n, paths
end

local function sorted(counts, n)
   local out = {}
   for name, count in pairs(counts) do out[#out + 1] = { name = name, percent = 100 * count / n } end
   table.sort(out, function(a, b) return a.percent > b.percent or (a.percent == b.percent and a.name < b.name) end)
   return out
end

local function as_text(rows)
   local out = {}
   for i, row in ipairs(rows) do out[i] = ("%s %.0f%%"):format(row.name, row.percent) end
   return table.concat(out, ", ")
end

-- Draws counts of n samples by name, the largest first.
local function drawn(kit, counts, n)
   local rows = {}
   for i, row in ipairs(sorted(counts, n)) do rows[i] = { row.name, row.percent } end
   return kit.plot.bars(rows, { unit = "%", decimals = 1 })
end

local function first_look(kit, p)
   local own, total, callers, n, paths = profile(kit, p)
   local flat, tree, by = sorted(own, n), sorted(total, n), sorted(callers, own.copy)
   return { flat = as_text(flat), shares = drawn(kit, own, n), tree = as_text(tree), hottest = flat[1].name,
      by_caller = as_text(by),
      culprit = by[1].name, stacks = drawn(kit, paths, n),
      second = by[2].name, top = tree[1].name, top_percent = tree[1].percent, copy_percent = 100 * own.copy / n,
      culprit_percent = by[1].percent, samples = n, calls_of_culprit = PLAN.lines, names = NAMES }
end

local function gains(kit, p)
   local plan, other = {}, {}
   for k, v in pairs(PLAN) do plan[k], other[k] = v, v end
   plan.line_copy, other.step_copy = 1, 1
   local before, after, less = time_of(kit, p, PLAN), time_of(kit, p, plan), time_of(kit, p, other)
   return { before = before, after = after, gain = 100 * (before - after) / before,
      other_gain = 100 * (before - less) / before, line_copy = PLAN.line_copy,
      share = 100 * PLAN.lines * PLAN.line_copy * TEN * p.rounds / before }
end

local function setup(kit, p)
   return {
      plan = function()
         local out = {}
         for k, v in pairs(PLAN) do out[k] = v end
         return out
      end,
      flat = function(plan)
         local own, _, _, n = profile(kit, p, plan)
         return as_text(sorted(own, n))
      end,
      callers = function(plan)
         local own, _, callers = profile(kit, p, plan)
         return as_text(sorted(callers, own.copy))
      end,
      time = function(plan) return time_of(kit, p, plan or PLAN) end,
   }
end

return {
   number = 12,
   title = "Call stacks: the hot path of a program one has not written",
   goals = { "read shares of a function's own and with all it calls", "find the caller that makes a function hot",
      "predict what mending it gains" },
   read = { "lpfm help stacks: lpfm record -g, lpfm report -g caller", "lpfm help exporting: flame graphs" },
   teacher = [[
      Students optimize the function at the top of the list: here copy, which is as fast as can be. It is called too
      often. Only stacks tell by whom.

      Each instruction of this program takes one cycle. With longer ones a reloaded counter would lose the cycles
      between the overflow and the end of its instruction, and long instructions would have too few samples:
      perfmon loads a value after the overflow, where perf_event lets the counter run on.

      Own share and share with callees are mixed up always; the sum of the second kind is more than all, ask why.

      The prediction of the gain is Amdahl's law without its name. Let them predict both changes before the run.
   ]],
   params = { model = "itanium2", rounds = 200 },
   draw = { rounds = { 150, 200, 250, 300 } },
   pages = {
      { text = [[
         A program by another author is too slow. It has the functions {names}. We sample it: each sample has the
         place where the program was, and the functions that were being called, the call stack.

         A flat profile counts the places alone: the own share of each function. The largest, {copy_percent} %, is that
         of {hottest}. It is tempting to make that faster; but it only copies, and as fast as can be. The question is
         what makes it copy so much, and a flat profile does not tell.
      ]],
        run = first_look,
        show = { { "samples", "samples" }, { "own shares", "flat" }, { "samples by place", "shares" } } },
      { ask = [[Shares can also count all that a function called. What is the share of main then, in percent?]],
         id = "main", unit = "%",
        within = 0.005,
        run = function() return {} end, show = { { "shares with what was called", "tree" } },
        answer = "top_percent",
        right = "It is in every stack. So these shares add up to more than all.",
        wrong = { { less = true, say = [[All others are called from there,
        so it is in every stack: {top_percent} %.]] } },
        otherwise = "It is in every stack: {top_percent} %.",
        hints = { "In which samples is main not on the stack?" } },
      { text = "The function copy is called by parse, solve and report.",
        ask = [[Through which of them do most of its samples come? (The source says that solve's copies are the
           longest.)]],
        id = "culprit", kind = "words",
        run = function() return {} end, show = { { "callers of copy", "by_caller" },
           { "samples by stack", "stacks" } },
        answer = "culprit",
        right = "It copies little, but {calls_of_culprit} times in each round. Only stacks show that.",
        wrong = { { is = "second", say = [[Its copies are long, but few. {culprit} calls {calls_of_culprit} times in
           each round, and has {culprit_percent} % of the samples in copy.]] } },
        otherwise = "It is {culprit}, with {culprit_percent} % of the samples in copy.",
        hints = { "What counts is how long, times how often." } },
      { text = [[The copies that {culprit} asks for make up {share} % of all cycles. We may have each of them copy one
           word, where it copied {line_copy}.]],
        ask = [[By how many percent does the time of the program shrink?]], id = "gain", unit = "%",
        within = 0.03,
        run = gains,
        show = { { "cycles before", "before" }, { "cycles after", "after" }, { "gain, percent", "gain" },
           { "gain if solve's copies were mended instead, percent", "other_gain" } },
        answer = "gain",
        right = "What is taken away is the part of the share that goes, no more and no less.",
        wrong = { { is = "share", say = "Not all of it goes: one word in {line_copy} is copied still. {gain} %." },
           { more = true, say = "No more than the share that goes can be gained: {gain} %." },
           { less = true, say = "All words but one in {line_copy} go: {gain} %." } },
        otherwise = "The part of the share that goes: {gain} %.",
        hints = { "What part of the copies is no longer there, and what part of all cycles is that?" } },
      { vary = [[`plan()` is the program as a table of numbers; change a copy of it: `q = plan(); q.line_copy = 1`. Then
           `flat(q)` has the own shares, `callers(q)` who calls copy, `time(q)` the cycles. Which function is the
           hottest after each change? When does it no longer pay to go on?]], setup = setup },
      { task = "next", kind = "words", todo = [[Once `line_copy` is 1, which function has the largest own share? `q =
           plan()`, `q.line_copy = 1` and `flat(q)` at the prompt tell.]],
        setup = function(kit, p) return { plan = setup(kit, p).plan, flat = setup(kit, p).flat } end,
        run = function(kit, p)
           local plan = setup(kit, p).plan()
           plan.line_copy = 1
           local own, _, _, n = profile(kit, p, plan)
           return { next_hot = sorted(own, n)[1].name }
        end,
        answer = "next_hot",
        right = "Profiles change with the program: measure again after each step.",
        wrong = { { is = "hottest", say = [[It was that before; it is called as often as then, but most calls
           are short now.]] } },
        otherwise = "Try it at the prompt.",
        hints = { "q = plan()", "q.line_copy = 1, then flat(q)" } },
      { task = "mend", kind = "script",
        todo = [[
           You may change two numbers of the plan, each to no less than half of what it is. Write a script that returns
           a function: it gets the plan and returns it changed, so that the program takes at most {percent_left} % of
           its time:

              return function(plan)
                 return plan
              end
        ]],
        run = function() return { percent_left = 66 } end,
        check = function(kit, p, fn, f)
           if type(fn) ~= "function" then return false, "The script returns no function." end
           local plan, changed = fn(setup(kit, p).plan()), 0
           if type(plan) ~= "table" then return false, "The function returns no plan." end
           for k, v in pairs(PLAN) do
              if type(plan[k]) ~= "number" or plan[k] % 1 ~= 0 or plan[k] < v / 2 then
                 return false, "A number is less than half of what it was, or not whole."
              end
              if plan[k] ~= v then changed = changed + 1 end
           end
           if changed > 2 then return false, "More than two numbers are changed." end
           local left = 100 * time_of(kit, p, plan) / time_of(kit, p, PLAN)
           return left <= f.percent_left, nil, { left = left }
        end,
        right = "{left} % of the time is left.",
        otherwise = "{left} % of the time is left: not the largest shares were mended.",
        solution = "return function(plan) plan.lines, plan.steps = 5, 10 return plan end",
        mistake = "return function(plan) plan.step_copy, plan.hashes = 10, 20 return plan end",
        hints = { "Which numbers stand for the largest shares?",
        [[What is called from a loop shrinks with the loop.]] } },
   },
}
