-- SPDX-License-Identifier: MIT
-- Bias on this computer: the events are first touches of pages, caused by six instructions in turn.

local function loop(p)
   local body = { loop = p.rounds }
   for i = 1, p.sites do
      body[#body + 1] = { touch = true, mark = "IP" .. i }
      body[#body + 1] = { spin = p.spin }
   end
   return { { name = "main", body } }
end

-- Returns the number of samples of each instruction, and how many of the instructions have any.
local function shares(kit, p, pmd)
   kit.here.machine(p)
   local counts, seen = {}, 0
   for i = 1, p.sites do counts[i] = 0 end
   for _, mark in ipairs(kit.here.sample(kit, loop(p), "page-faults", pmd)) do
      local i = tonumber(mark:match "%d+")
      if counts[i] == 0 then seen = seen + 1 end
      counts[i] = counts[i] + 1
   end
   return counts, seen
end

local function fixed(kit, p)
   local counts, seen = shares(kit, p, { period = p.period })
   return { fixed_shares = counts, fixed_seen = seen, faults = p.sites * p.rounds }
end

local function random(kit, p)
   local counts, seen = shares(kit, p, { value = -p.period, short_reset = -p.base, long_reset = -p.base,
      flags = { "RANDOM" }, random_mask = p.base - 1, random_seed = p.seed })
   return { random_shares = counts, random_seen = seen }
end

return {
   goals = { "find the same bias in a real kernel", "see that randomization cures it there, too" },
   teacher = [[
      The events are page faults: they need no PMU, and happen exactly as often as pages are touched. Which half of the
      instructions is seen depends on how many faults the start of the program takes; that it is half of them does not.

      Over perf_event the randomized periods are set by a helper, which may come late; in perfmon.ko they are exact. So
      shares are uneven on the former, but nobody is left out.
   ]],
   params = { sites = 6, period = 2, base = 8, seed = 14, rounds = 300, spin = 3000 },
   on = { perf = { spin = 20000 } }, -- perf_event takes a while to change periods
   most = { seed = 2 ^ 32 - 1, spin = 10 ^ 6 },
   pages = {
      { text = [[
         Now the same on this computer, on the machine `{machine}`. The program has a loop of {sites} instructions, IP1
         and so on. Each writes to a page of memory that was never touched before: a page fault, counted by the kernel.
         The loop goes round {rounds} times. We sample every {period} page faults.
      ]],
        ask = "How many of the {sites} instructions are there in the samples?", id = "fixed",
        run = fixed, show = { { "page faults in the loop", "faults" },
           { "samples of IP1 to the last", "fixed_shares" }, { "instructions seen", "fixed_seen" } },
        answer = "fixed_seen",
        right = "A real kernel is in step with a loop as the simulated computer is: the others are never seen.",
        wrong = { { is = "sites", say = [[All would be seen if the period had nothing in common with the loop:
           {fixed_shares}.]] } },
        otherwise = "{period} divides {sites}, so it is {fixed_seen}: {fixed_shares}.",
        hints = { "Write the instructions in a row, twice, and mark each sample." } },
      { text = "Now the periods are random, from 1 to {base}.",
        ask = "How many of the {sites} instructions are in the samples?", id = "random",
        run = random, show = { { "samples of IP1 to the last", "random_shares" },
           { "instructions seen", "random_seen" } },
        answer = "random_seen",
        right = "Nobody is left out.",
        wrong = { { is = "fixed_seen", say = "Periods that change are not in step: {random_shares}." } },
        otherwise = "All are seen, for periods that change are not in step: {random_shares}.",
        hints = { "Is there a period that these have in common?" } },
      { task = "honest", kind = "script",
        todo = [[
           Write a script that returns the fields of a PMD with which each of the {sites} instructions of this loop has
           at least half of its fair share of the samples, without random periods:

              return { period = 1 }

           A period of 1 is tracing, and not allowed.
        ]],
        check = function(kit, p, pmd)
           if type(pmd) ~= "table" or not tonumber(pmd.period) then
              return false, "The script returns no table with a period."
           end
           if pmd.period <= 1 or pmd.flags then return false, "Neither tracing nor random periods are allowed." end
           local counts = shares(kit, p, { period = pmd.period })
           local least, sum = math.huge, 0
           for _, n in ipairs(counts) do least, sum = math.min(least, n), sum + n end
           return sum > 0 and least >= sum / p.sites / 2, nil, { counts = counts }
        end,
        right = "Every instruction is seen: {counts}.",
        otherwise = "The shares are {counts}.",
        solution = "return { period = 5 }", mistake = "return { period = 3 }",
        hints = { "What must the period and the number of instructions not have in common?" } },
   },
}
