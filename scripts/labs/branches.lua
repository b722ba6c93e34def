-- SPDX-License-Identifier: MIT
-- Branches: what a predictor learns, and what it cannot.

local BIMODAL, TWO_LEVEL = 1, 0 -- values of the option `predictor`

-- Counts the mispredictions and cycles of a program with a predictor.
local function wrong(kit, p, predictor, program)
   local m = kit.machine(p, { predictor = predictor, itlb = 0, dtlb = 0 })
   local truth = kit.run(m, program)
   return truth.branch_misses.total, truth.cycles.total
end

local function pattern(p, taken, seed)
   return { { loop = p.n, { ip = 0x1000, taken = taken, seed = seed } } }
end

local function loops(kit, p)
   return { loop_misses = wrong(kit, p, BIMODAL, { { loop = p.outer, { loop = p.inner, { ip = 0x1000,
      taken = "back" } } } }),
      ends = p.outer, branches = p.outer * p.inner, learning = 2 }
end

local function sorted(kit, p)
   local half = p.n / 2
   local sorted_data = { { loop = half, { ip = 0x1000, taken = false } }, { loop = half, { ip = 0x1000,
      taken = true } } }
   local s, sc = wrong(kit, p, BIMODAL, sorted_data)
   local u, uc = wrong(kit, p, BIMODAL, pattern(p, 0.5, p.seed))
   return { sorted = s, unsorted = u, sorted_cycles = sc, unsorted_cycles = uc, half = half, percent = 100 * u / p.n,
      slower = uc / sc }
end

local function patterns(kit, p)
   return { tn_bimodal = wrong(kit, p, BIMODAL, pattern(p, "TN")), tn_two = wrong(kit, p, TWO_LEVEL, pattern(p, "TN")),
      rare = wrong(kit, p, BIMODAL, pattern(p, p.chance, p.seed)), expected_rare = p.n * p.chance,
      chance_percent = 100 * p.chance }
end

-- Finds the pattern of four branches with which the bimodal predictor is wrong most often.
local function worst(kit, p)
   local best, most = nil, -1
   for i = 15, 0, -1 do
      local letters = {}
      for at = 1, 4 do letters[at] = math.floor(i / 2 ^ (4 - at)) % 2 == 1 and "T" or "N" end
      local t = table.concat(letters)
      local n = wrong(kit, p, BIMODAL, pattern(p, t))
      if n > most then best, most = t, n end
   end
   local long = "T" .. ("TN"):rep(31) .. "N"
   return { trap = best, trapped = most, half_trapped = wrong(kit, p, BIMODAL, pattern(p, "TN")), letters = #long,
      long_trapped = wrong(kit, p, BIMODAL, pattern(p, long)) }
end

-- Measures a program that counts the values that reach a limit, with one branch for each.
local function count_above(kit, p, values)
   local bits = {}
   for i, v in ipairs(values) do bits[i] = v >= p.limit end
   local m, at = kit.machine(p, { predictor = BIMODAL, itlb = 0, dtlb = 0 }), 0
   local truth = kit.run(m, { { ops = function()
      at = at + 1
      if bits[at] ~= nil then return 0x1000, "branch", bits[at] end
   end } })
   return truth.branch_misses.total
end

-- Returns values from 0 to 99, in an order that the seed gives.
local function values_of(p)
   local out, x = {}, p.seed
   for i = 1, p.values do
      x = (x * 16807) % 2147483647
      out[i] = x % 100
   end
   return out
end

-- Returns the values on a side of the limit, in their order.
local function side(list, limit, is_large)
   local out = {}
   for _, v in ipairs(list) do
      if (v >= limit) == is_large then out[#out + 1] = v end
   end
   return out
end

local function same_list(a, b)
   return table.concat(a, " ") == table.concat(b, " ")
end

local function same_values(a, b)
   if type(a) ~= "table" or #a ~= #b then return false end
   local x, y = {}, {}
   for i = 1, #b do
      if type(a[i]) ~= "number" then return false end
      x[i], y[i] = a[i], b[i]
   end
   table.sort(x)
   table.sort(y)
   for i = 1, #y do
      if x[i] ~= y[i] then return false end
   end
   return true
end

local function setup(kit, p)
   return { wrong = function(taken, predictor)
      if taken == nil then error("expected a pattern of T and N, or a chance from 0 to 1", 0) end
      return (wrong(kit, p, predictor or BIMODAL, pattern(p, taken, p.seed)))
   end }
end

return {
   number = 10,
   title = "Branches: what a predictor learns",
   goals = { "predict mispredictions of loops and patterns", "see why sorted data is faster",
      "know which branches no predictor learns" },
   read = { "a chapter on branch prediction in any book on computer architecture", "at the prompt: ?spawn, taken=" },
   teacher = [[
      A bimodal predictor has a counter from 0 to 3 for each branch: taken adds, not taken subtracts, and from 2 on it
      says taken. Let students play one by hand with TTTN and with TN.

      Many think that a mispredicted branch computes something wrong. It costs time alone.

      The sorted array is famous; ask for its price, too: sorting has branches of its own. A choice without a branch
      (a conditional move) is the other way; this computer has none, so it is a matter for the blackboard.

      The program of the sorted values does nothing but branch, so the factor between its times is the largest there
      can be: real loops load, add and store besides. The option `predictor` has three predictors. A laptop's is larger
      than all of them, and predicts patterns that they do not.
   ]],
   params = { model = "k8", outer = 100, inner = 50, n = 10000, chance = 0.01, seed = 3, values = 1000, limit = 50 },
   draw = { outer = { 60, 80, 120, 150 }, inner = { 30, 40, 60, 70 }, n = { 8000, 12000, 16000 } },
   most = { seed = 2 ^ 32 - 1 },
   pages = {
      { text = [[
         A processor does not wait to learn where a branch goes: it guesses, and works ahead. If the guess was wrong,
         the work is thrown away. A simple predictor, bimodal, has a small counter for each branch, from 0 to three:
         each time the branch is taken adds one, each time it is not takes one away; in the upper half it guesses taken.
         It begins at 0.
      ]],
        ask = [[A loop of {inner} rounds is entered {outer} times; at its end a branch goes back to its start, except in
           the last round. How many guesses are wrong in all?]], id = "loop",
        run = loops, show = { { "branches", "branches" }, { "mispredicted", "loop_misses" } },
        answer = "loop_misses",
        right = "The end of each loop, and {learning} at the beginning, until the counter is in its upper half.",
        wrong = { { is = "ends", say = [[Those are the ends. At first the counter is 0, and {learning} guesses more are
           wrong.]] },
           { is = "branches", say = "Nearly all of them are guessed rightly: the branch nearly always goes back." },
           { is = function(f) return 2 * f.ends end, say = [[After the end of a loop the counter has lost one, and is in
              its upper half still: the first guess of the next loop is right. {loop_misses}.]] } },
        otherwise = "Each of {outer} ends, and {learning} at the beginning: {loop_misses}.",
        hints = { "Which round of a loop is guessed wrongly?", [[What does the counter say the first time? And the
           second?]] } },
      { text = [[
         A program counts how many of {n} values are large; the branch is taken for large ones. Half of them are, by
         chance. First the values are sorted: {half} small ones, then {half} large ones.
      ]],
        ask = "How many guesses are wrong with sorted values?", id = "sorted",
        run = sorted, show = { { "mispredicted, sorted", "sorted" } },
        answer = "sorted",
        right = "Only while the counter changes its mind, once.",
        wrong = { { is = "half", say = [[That would be chance. Sorted, the counter is wrong only where the values
           change: {sorted}.]] },
           { is = function() return 1 end, say = "The counter takes more than one step to its upper half: {sorted}." },
           { is = function() return 0 end, say = "It does not know where the large ones begin: {sorted}." } },
        otherwise = "The counter goes from 0 to its upper half once: {sorted}.",
        hints = { "Play the counter by hand, where the values change." } },
      { ask = "And with unsorted values, in percent of the branches, about?", id = "unsorted", unit = "%", within = 0.1,
        run = function() return {} end,
        show = { { "mispredicted, unsorted", "unsorted" }, { "in percent", "percent" }, { "cycles, sorted",
        "sorted_cycles" },
           { "cycles, unsorted", "unsorted_cycles" } },
        answer = "percent",
        right = "No predictor can do better with what is decided by chance. It takes {slower} times as long.",
        wrong = { { more = true, say = "More than by tossing a coin? {percent} %." },
           { less = true, say = [[Nothing in the past tells what comes next: it is wrong half of the time, {percent}
              %.]] } },
        otherwise = "Half of them: {percent} %.",
        hints = { "How often is a guess right about a coin?" } },
      { ask = [[A branch is taken with a chance of {chance_percent} %, {n} times. How many guesses are wrong, about?]],
        id = "rare", factor = 2,
        run = patterns, show = { { "mispredicted, rarely taken", "rare" } },
        answer = "expected_rare",
        right = "It guesses not taken always, and is wrong as often as the branch is taken.",
        wrong = { { is = function(f) return f.n / 2 end, say = [[That is a fair coin. This branch hardly ever is taken:
           {rare}.]] } },
        otherwise = "As often as it is taken, about {expected_rare}.",
        hints = { "What does the predictor always say here?" } },
      { text = [[A branch is taken, not taken, taken, not taken. The bimodal predictor has no memory of what came
           before; a two-level one looks at the last few times of the branch.]],
        ask = "Which of them learns the pattern?", id = "pattern", kind = "choice",
        choices = {
           { "Both", say = [[The bimodal counter moves up and down and is wrong {tn_bimodal} times of {n}; the other
              {tn_two} times.]] },
           { "Only the two-level one", say = [[It finds the pattern in the past: {tn_two} wrong; the bimodal one
              {tn_bimodal} of {n}.]] },
           { "Neither", say = [[The two-level one does: it is wrong {tn_two} times, while it learns. The bimodal one is
              {tn_bimodal} times.]] },
        },
        run = function() return {} end,
        show = { { "bimodal, mispredicted", "tn_bimodal" }, { "two-level, mispredicted", "tn_two" } },
        answer = function(f)
           local b, t = f.tn_bimodal < f.n / 10, f.tn_two < f.n / 10
           return b and t and 1 or t and 2 or 3
        end,
        hints = { "Play the counter: from 0, up, down, up." } },
      { vary = [[`wrong("TTN")` says how often a pattern of T and N is mispredicted, `wrong(0.3)` a chance; a second
           argument chooses the predictor: 0 two-level, 1 bimodal, `2` gshare. How long may a pattern be that the
           two-level one learns? What do they make of `wrong("TNNTNTTN", 2)`?]], setup = setup },
      { task = "worst", todo = [[A pattern of four letters, T and N, is repeated until the branch was executed {n}
           times. How many guesses of the bimodal predictor are wrong with the worst such pattern?]], within = 0.01,
        setup = setup,
        text = [[A predictor with a fixed rule can be fooled: `wrong(pattern)` at the prompt tells how often it was
           wrong.]],
        run = worst,
        answer = "trapped",
        right = [[{trap} makes {trapped} of {n} wrong. Four letters have to bring the counter back to where it began, at
           an end. A longer pattern can keep it at its middle, where each step crosses: T, then TN over and over,
           {letters} letters in all, make {long_trapped} wrong.]],
        wrong = { { is = "half_trapped", say = [[So many are wrong with TN; there is a worse one. At which values does
           the counter change its mind?]] },
           { more = true, say = [[No pattern of four does that, from a counter of 0: from there it takes two steps to
              cross the middle.]] } },
        otherwise = "Play the counter: at which values does it change its mind? TN alone makes {half_trapped} wrong.",
        hints = { "The counter should cross its middle as often as possible.", [[It needs two steps to cross from 0: TT,
           and then?]] } },
      { task = "sort", kind = "script",
        todo = [[
           A program goes through {values} values from 0 to 99, and branches for those of {limit} and more. It is
           mispredicted {plain} times. Write a script that returns a function: it gets the list and returns the same
           values in an order with which at most {most_wrong} are. It is not to sort them: values on the same side of
           {limit} stay in the order in which they came:

              return function(list)
                 return list
              end
        ]],
        run = function(kit, p) return { plain = count_above(kit, p, values_of(p)), most_wrong = 10 } end,
        check = function(kit, p, fn, f)
           if type(fn) ~= "function" then return false, "The script returns no function." end
           local values = values_of(p)
           local list = fn(values_of(p))
           if not same_values(list, values) then return false, "These are not the same values." end
           for _, is_large in ipairs { true, false } do
              if not same_list(side(list, p.limit, is_large), side(values, p.limit, is_large)) then
                 return false, "Values on the same side of {limit} are in another order: they have been sorted."
              end
           end
           local misses = count_above(kit, p, list)
           return misses <= f.most_wrong, nil, { misses = misses }
        end,
        right = "{misses} guesses are wrong instead of {plain}: to know on which side a value is suffices.",
        otherwise = "{misses} guesses are wrong.",
        solution = [[return function(list)
   local small, large = {}, {}
   for _, v in ipairs(list) do table.insert(v < 50 and small or large, v) end
   for _, v in ipairs(large) do table.insert(small, v) end
   return small
end]],
        mistake = "return function(list) return list end",
        hints = { "What does the branch ask of a value?", "Put those for which it is taken behind the others." } },
   },
}
