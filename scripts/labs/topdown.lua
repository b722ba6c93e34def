-- SPDX-License-Identifier: MIT
-- Top-down analysis and the roofline: where the cycles go, and how fast a loop can be at best.

local PAGE, LINE = 0x1000, 64
local CODE, DATA, ARRAY = 0x100000, 0x10000000, 0x1000000 -- addresses; ARRAY: bytes between arrays
local KINDS = { "retiring", "bad", "frontend", "backend" }
local ELEMENT = 8 -- bytes
local TRIALS, POINTS = 5, 2 -- programs to try a script with; percentage points that it may be off

-- --- programs ------------------------------------------------------------------------------------

-- Each round computes, loads at random from a table, branches at random, and runs a long stretch of
-- code. `with` takes a cause away: taken = true, branches can be predicted; near = true, few lines.
local function mixed(q, with)
   local code = { loop = 1 }
   for i = 1, q.code do code[i] = { ip = CODE + (with.near and i % 16 * 4 or i * LINE), taken = false } end
   return { { loop = q.rounds,
      { loop = q.compute, { ip = PAGE, ns = 1 } },
      { loop = q.loads, { ip = 2 * PAGE, load = { DATA, LINE, random = q.table, seed = 5 } } },
      { loop = q.branches, { ip = 3 * PAGE, taken = with.taken or 0.5, seed = 9 } }, code } }
end

-- Each element of three arrays has two loads, `steps` instructions of p.width operations, a store.
local function kernel(p, steps)
   return { { loop = p.elements, { ip = PAGE, load = { DATA, ELEMENT } },
      { ip = PAGE + 8, load = { DATA + ARRAY, ELEMENT } },
      { ip = PAGE + 16, ns = steps, events = { fp_ops = steps * p.width, instructions = steps } },
      { ip = PAGE + 24, store = { DATA + 2 * ARRAY, ELEMENT } } } }
end

-- --- measuring -----------------------------------------------------------------------------------

local EVENTS = { "cycles", "instructions", "branch_misses", "l1i_misses" }

local function computer(kit, p)
   return kit.machine(p, { dtlb = 0, itlb = 0 })
end

-- Counts the second run of a program: the first one fills the second-level cache.
local function warm(kit, p, program, events)
   local m = computer(kit, p)
   kit.run(m, program)
   return kit.count(m, program, events or EVENTS)
end

-- Returns percent of the cycles by cause. A cause takes the cycles that are saved without it.
local function levels(kit, p, q)
   local counts = warm(kit, p, mixed(q, {}))
   local function lost(with) return counts.cycles - warm(kit, p, mixed(q, with)).cycles end
   local out = { retiring = counts.instructions, bad = lost { taken = true }, frontend = lost { near = true } }
   out.backend = counts.cycles - out.retiring - out.bad - out.frontend
   for _, kind in ipairs(KINDS) do out[kind] = 100 * out[kind] / counts.cycles end
   return out, counts
end

local function measured(kit, p, steps)
   local counts = kit.count(computer(kit, p), kernel(p, steps), { "cycles", "fp_ops", "bus_accesses" })
   return counts.fp_ops / counts.cycles, counts.fp_ops / (counts.bus_accesses * LINE), counts
end

local function bandwidth(kit, p)
   local m = computer(kit, p)
   local counts = kit.count(m, { { loop = p.elements, { ip = PAGE, load = { DATA, LINE } } } },
      { "cycles", "bus_accesses" })
   return counts.bus_accesses * LINE / counts.cycles
end

-- --- the lab's pages -----------------------------------------------------------------------------

local function penalty(kit, p)
   local counts = warm(kit, p, { { loop = p.elements, { ip = PAGE, taken = 0.5, seed = 7 } } })
   return { one_cycles = counts.cycles, one_instructions = counts.instructions, one_misses = counts.branch_misses,
      penalty = (counts.cycles - counts.instructions) / counts.branch_misses,
      by_branch = (counts.cycles - counts.instructions) / counts.instructions,
      with_its_cycle = counts.cycles / counts.branch_misses }
end

local function latency(kit, p)
   local loads = { loop = p.elements, { ip = PAGE, load = { DATA, LINE, random = p.table, seed = 3 } } }
   local counts = warm(kit, p, { loads }, { "cycles", "instructions", "l1d_misses", "l2_misses" })
   return { load_cycles = counts.cycles, load_instructions = counts.instructions, load_misses = counts.l1d_misses,
      far_misses = counts.l2_misses, latency = (counts.cycles - counts.instructions) / counts.l1d_misses,
      by_load = (counts.cycles - counts.instructions) / counts.instructions }
end

local function unknown(kit, p)
   local shares, counts = levels(kit, p, p)
   local largest, rows = 1, { shares.bad, shares.frontend, shares.backend }
   for i, share in ipairs(rows) do
      if share > rows[largest] then largest = i end
   end
   local picture = kit.plot.bars({ { "retiring", shares.retiring }, { "bad speculation", shares.bad },
      { "front end", shares.frontend }, { "back end", shares.backend } }, { unit = "%", decimals = 1 })
   return { kinds = picture,
      cycles = counts.cycles, instructions = counts.instructions, mispredicted = counts.branch_misses,
      fetch_misses = counts.l1i_misses, retiring = shares.retiring, bad = shares.bad, frontend = shares.frontend,
      backend = shares.backend, largest = largest, per_cycle = counts.instructions / counts.cycles,
      not_retiring = 100 - shares.retiring, misses_percent = 100 * counts.branch_misses / counts.instructions }
end

local function sorted(kit, p, f)
   local cycles = warm(kit, p, mixed(p, { taken = true })).cycles
   return { sorted_cycles = cycles, gain = 100 * (f.cycles - cycles) / f.cycles, all_of_it = f.not_retiring }
end

local function roof(kit, p)
   local rate, intensity, counts = measured(kit, p, p.steps)
   local bytes = bandwidth(kit, p)
   return { operations = p.steps * p.width, bytes = 3 * ELEMENT, intensity = intensity, rate = rate,
      bandwidth = bytes, memory_roof = bytes * intensity, peak = p.width, of_roof = 100 * rate / (bytes * intensity),
      lines = counts.bus_accesses, one_array = p.steps * p.width / ELEMENT,
      ridge_intensity = p.width / bytes, by_instruction = p.steps / (3 * ELEMENT) }
end

local function ridge(kit, p, f)
   local steps = 1
   while select(2, measured(kit, p, steps)) * f.bandwidth < f.peak do steps = steps + 1 end
   local rate = measured(kit, p, steps)
   return { ridge = steps, ridge_rate = rate, ridge_percent = 100 * rate / f.peak }
end

local function setup(kit, p)
   return {
      bandwidth = function() return bandwidth(kit, p) end,
      kernel = function(steps)
         local rate, intensity = measured(kit, p, kit.whole(steps, "n", 0))
         return ("%.3f operations a cycle, %.3f operations a byte"):format(rate, intensity)
      end,
   }
end

-- Makes a random program, which no script can know beforehand. In the first three trials one cause
-- takes nearly all cycles, so that no result can be wrong by chance; the others have every cause.
local function unseen(kit, p, trial)
   local q = { rounds = 10, table = p.table, compute = 1, branches = 1, code = 4, loads = 1 }
   if trial == 1 or trial > 3 then q.branches = kit.draw(800, 1500) end
   if trial == 2 or trial > 3 then q.code = kit.draw(1100, 1800) end
   if trial == 3 or trial > 3 then q.loads = kit.draw(300, 600) end
   if trial > 3 then q.compute = kit.draw(1, 4) * 500 end
   return q
end

local function check(kit, p, fn)
   if type(fn) ~= "function" then return false, "The script returns no function." end
   for trial = 1, TRIALS do
      local shares, counts = levels(kit, p, unseen(kit, p, trial))
      local said = fn(counts)
      if type(said) ~= "table" then return false, "The function returns no table." end
      for _, kind in ipairs(KINDS) do
         local got = said[kind]
         if type(got) ~= "number" or got ~= got or math.abs(got - shares[kind]) > POINTS then
            return false, "{kind}: {wanted} %, and not {got} %, of {all} cycles.",
               { kind = kind, wanted = shares[kind], got = tostring(got), all = counts.cycles }
         end
      end
   end
   return true
end

return {
   number = 18,
   title = "Top-down and roofline: where the cycles go",
   goals = { "split a program's cycles into four kinds by counts", "say what mending one kind can gain",
      "place a loop under a roofline, and find its ridge" },
   read = { "A. Yasin: A Top-Down Method for Performance Analysis, 2014", "S. Williams et al.: Roofline, 2009",
      "lpfm help stat: -M topdown, on processors that have its events" },
   teacher = [[
      No recorded counts of a real processor come with this lab: all of them are measured on the simulated one, and the
      first page says so. It executes an instruction in a cycle, and when it waits, it waits for one thing at a time. So
      the four kinds add up to all cycles, each can be checked by taking its cause away, and a roof is never reached
      near the ridge. On a real processor with several slots in a cycle and misses that overlap, kinds are shares of
      slots, a miss may cost nothing, and taking a cause away gains less than its share. Let students name a program for
      each of these.

      The method is the point: from the top down, look only into the largest kind. Those who begin with a list of events
      find something everywhere.

      Plan of the hour: fifteen minutes for the two prices, ten for the split, ten for the roofline, the rest for the
      script. In the script the usual mistakes are to forget the factor of a hundred, to take misses for cycles, and to
      compute the last kind from its misses instead of as what is left: then an error of one kind is hidden.
   ]],
   params = { model = "k8", elements = 4000, rounds = 20, compute = 3000, loads = 2000, branches = 1500, code = 1200,
      table = 8192, width = 4, steps = 8 },
   most = { elements = 50000, rounds = 100, compute = 20000, loads = 5000, branches = 20000, code = 8000, table = 12288,
      width = 16, steps = 500 },
   draw = { branches = { 1200, 1500, 1800 }, compute = { 2000, 3000, 4000 }, steps = { 6, 8, 12 } },
   pages = {
      { text = [[
         A processor has used so many cycles: where did they go? Top-down analysis asks for four kinds: instructions
         that were executed (retiring), work on a wrong path behind a mispredicted branch (bad speculation), waiting for
         instructions (front end), and waiting for data (back end). The largest of the last three is looked into.

         All counts here are measured on the simulated computer, model {model}, which executes an instruction in a cycle
         and waits for one thing at a time; none are of a real processor.

         First the prices. A loop of branches at random has {one_instructions} instructions, took {one_cycles} cycles,
         and mispredicted {one_misses} branches.
      ]],
        ask = "How many cycles does a misprediction cost?", id = "penalty", within = 0.03,
        run = penalty, show = { { "cycles of a misprediction", "penalty" } },
        answer = "penalty",
        right = "What is left of the cycles, after one for each instruction, is divided by the mispredictions.",
        wrong = { { is = "by_branch", say = [[That is for each branch. Only those that were mispredicted cost something:
           {penalty}.]] },
           { is = "with_its_cycle", say = [[Each instruction takes a cycle in any case. Take those away first:
              {penalty}.]] } },
        otherwise = "The cycles beyond one for each instruction, divided by the mispredictions: {penalty}.",
        hints = { "How many cycles would there be without mispredictions?",
           "Divide the others by what causes them." } },
      { text = [[
         A loop of loads at random from a table that only the second cache holds: {load_instructions} instructions,
         {load_cycles} cycles, {load_misses} misses of the first cache for data, {far_misses} of the second.
      ]],
        ask = "How many cycles does a miss of the first cache cost?", id = "latency", within = 0.03,
        run = latency, show = { { "cycles of a miss", "latency" } },
        answer = "latency",
        right = "The same when an instruction is fetched: both first caches ask the second one.",
        wrong = { { is = "by_load", say = "That is for each load. Divide by the misses: {latency}." } },
        otherwise = "The cycles beyond one for each instruction, divided by the misses: {latency}.",
        hints = { "The same as before: what is left, divided by what causes it." } },
      { text = [[
         Now a program that does a bit of everything:

            cycles                              {cycles}
            instructions                        {instructions}
            mispredicted branches               {mispredicted}
            misses of the cache for fetches     {fetch_misses}

         Four counters count that at once, in the program's second run, when the second cache has all that it needs:

            local events = { "cycles", "instructions", "branch_misses", "l1i_misses" }
            for i, event in ipairs(events) do
               ctx:write_pmcs { { num = i - 1, value = m:encode(event, i - 1) } }
               ctx:write_pmds { { num = i - 1, value = 0 } }
            end
      ]],
        ask = "How many percent of its cycles are retiring?", id = "retiring", unit = "%", within = 0.03,
        run = unknown, show = { { "retiring, percent", "retiring" }, { "instructions per cycle", "per_cycle" } },
        answer = "retiring",
        right = "An instruction takes a cycle here, so it is the instructions per cycle, in percent.",
        wrong = { { is = "not_retiring", say = "That share is waiting, or on wrong paths. Retiring: {retiring} %." } },
        otherwise = "{instructions} of {cycles} cycles: {retiring} %.",
        hints = { "How many cycles does an instruction take?" } },
      { ask = "And how many percent are bad speculation?", id = "bad", unit = "%", within = 0.05,
        run = function() return {} end, show = { { "bad speculation, percent", "bad" } },
        answer = "bad",
        right = "Its mispredictions, times the price: {mispredicted} times {penalty}.",
        wrong = { { is = "misses_percent", say = [[That is how many instructions are mispredicted branches. In cycles:
           {penalty} for each of them, {bad} %.]] } },
        otherwise = "{mispredicted} mispredictions of {penalty} cycles each: {bad} %.",
        hints = { "What does one of them cost?" } },
      { ask = "Front end and back end share what is left. Which of the three kinds is the largest?", id = "largest",
        kind = "choice",
        run = function() return {} end,
        show = { { "cycles by kind", "kinds" } },
        answer = "largest",
        choices = {
           { "Bad speculation", say = [[It has {bad} %, the front end {frontend} % and the back end {backend} %. The
              largest is looked into first.]] },
           { "Front end", say = [[{fetch_misses} misses of {latency} cycles each are {frontend} %; bad speculation has
              {bad} %, the back end {backend} %. The largest is looked into first.]] },
           { "Back end", say = [[It is what is left: {backend} %, beside {bad} % of bad speculation and {frontend} % of
              the front end. If it is the largest, one looks at the data next: which loads miss, and why.]] },
        },
        hints = { "The misses for fetches, times their price: how many cycles?", "What is left is the back end." } },
      { text = "The data are sorted, so that every branch is predicted. Nothing else changes.",
        ask = "By how many percent do the cycles shrink?", id = "gain", unit = "%", within = 0.08,
        run = sorted, show = { { "cycles before", "cycles" }, { "sorted", "sorted_cycles" },
           { "gain, percent", "gain" } },
        answer = "gain",
        right = [[The share of its kind, and no more: that is what the split is for. (A processor that waits for several
           things at once gains less.)]],
        wrong = { { is = "all_of_it", say = "That is everything but retiring. Only bad speculation goes: {gain} %." },
           { more = true, say = "No more than its share can be gained: {gain} %." } },
        otherwise = "The share of bad speculation, {bad} %: {gain} %.",
        hints = { "Which of the four kinds goes away?" } },
      { text = [[
         The second question: how fast can a loop be at all? For each element of three arrays of {bytes} bytes together
         (two are loaded, one is stored) it does {steps} instructions of {width} operations each.
      ]],
        ask = "What is its intensity, in operations for each byte from or to memory?", id = "intensity", within = 0.05,
        run = roof, show = { { "lines from memory", "lines" }, { "operations a byte", "intensity" } },
        answer = "intensity",
        right = "{operations} operations for {bytes} bytes. The count of lines says whether a cache saves some.",
        wrong = { { is = "one_array", say = "All three arrays move, {bytes} bytes for each element: {intensity}." },
           { is = "by_instruction", say = "An instruction does {width} operations: {intensity}." } },
        otherwise = "{operations} operations for {bytes} bytes: {intensity}.",
        hints = { "How many operations has an element?", "How many bytes of it move?" } },
      { text = [[
         The machine can do {peak} operations a cycle: that is one roof. Measured with a loop that only loads, the
         memory gives {bandwidth} bytes a cycle: times the intensity, that is the other roof. A loop is under both.
      ]],
        ask = "How many operations a cycle can this loop reach at most?", id = "roof", within = 0.05,
        run = function() return {} end,
        show = { { "roof, operations a cycle", "memory_roof" }, { "measured, operations a cycle", "rate" },
           { "percent of the roof", "of_roof" } },
        answer = function(f) return math.min(f.peak, f.memory_roof) end,
        right = [[The lower of the two roofs; it reaches {of_roof} % of it, for this computer does not compute while it
           waits. More operations in a cycle would not help under this roof: fewer bytes would.]],
        wrong = { { is = "peak", say = [[That is the roof of computing. At this intensity the memory's is lower:
           {memory_roof}.]] },
           { is = "rate", say = "So fast it is. The roof is {memory_roof}." } },
        otherwise = "{bandwidth} bytes a cycle, times {intensity} operations a byte: {memory_roof}.",
        hints = { "Bytes a cycle, times operations a byte: what is that?" } },
      { vary = [[`kernel(n)` measures the loop with n instructions for each element, and `bandwidth()` the memory. How
           does the rate grow with n, and when does it stop?]],
        setup = setup },
      { task = "ridge", within = 0.04,
        todo = [[With few instructions for each element the loop is under the memory's roof, with many under that of
           computing. From how many instructions on is it the latter, that is, are intensity times bandwidth {peak} or
           more? `kernel(n)` and `bandwidth()` at the prompt.]],
        setup = setup,
        run = ridge,
        answer = "ridge",
        right = [[There is the ridge of the roofline. The loop reaches {ridge_percent} % of the peak there, for it waits
           and computes in turns; where both overlap, it comes nearer.]],
        wrong = { { is = "steps", say = "At that one, the memory's roof is the lower one." },
           { is = "ridge_intensity", say = "That is the intensity of the ridge. How many instructions give that?" },
           { less = true, say = "With so few, intensity times bandwidth is less than {peak} still." } },
        otherwise = "Fewer are enough: compare intensity times bandwidth with {peak}.",
        hints = { "Which intensity is needed? {peak} divided by the bandwidth.",
           "An element has {bytes} bytes; an instruction does {width} operations." } },
      { task = "split", kind = "script",
        todo = [[
           Write a script that returns a function. It gets counts of a program, and returns the four kinds in percent of
           the cycles, within {points} points:

              return function(counts)
                 -- counts.cycles, counts.instructions,
                 -- counts.branch_misses, counts.l1i_misses
                 return { retiring = 25, bad = 25, frontend = 25, backend = 25 }
              end

           It is tried with {trials} programs, and compared with what each cause really takes: the program is run
           without it.
        ]],
        run = function() return { trials = TRIALS, points = POINTS } end,
        check = check,
        right = "This is level one of the analysis, as lpfm stat -M topdown has it for processors with such events.",
        otherwise = "That is not where the cycles went.",
        solution = [==[
return function(counts)
   local bad, frontend = 11 * counts.branch_misses, 12 * counts.l1i_misses
   local function percent(cycles) return 100 * cycles / counts.cycles end
   local rest = counts.cycles - counts.instructions - bad - frontend
   return { retiring = percent(counts.instructions), bad = percent(bad),
      frontend = percent(frontend), backend = percent(rest) }
end]==],
        mistake = [==[
return function(counts)
   local function percent(cycles) return 100 * cycles / counts.cycles end
   local bad, frontend = counts.branch_misses, counts.l1i_misses
   local rest = counts.cycles - counts.instructions - bad - frontend
   return { retiring = percent(counts.instructions), bad = percent(bad),
      frontend = percent(frontend), backend = percent(rest) }
end]==],
        hints = { "You know both prices from the first two pages.",
           "Cycles of a kind are its count, times its price; the back end is what is left." } },
   },
}
