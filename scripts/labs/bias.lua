-- SPDX-License-Identifier: MIT
-- Figure 3.20: a fixed sampling period can be in step with a loop.

local MASK = 3 -- random bits: the mask varies periods from 1 to 4

-- Makes a loop of p.sites instructions at the addresses 1, 2, ...; each causes one event.
local function loop(p, iterations)
   local body = { loop = iterations }
   for ip = 1, p.sites do body[ip] = { ip = ip, ns = 10, events = { fp_ops = 1 } } end
   return { body }
end

local function names(ips)
   local out = {}
   for i, ip in ipairs(ips) do out[i] = "IP" .. ip end
   return out
end

-- Returns the addresses in the i-th iteration; an iteration begins where the address does not grow.
local function iteration(samples, i)
   local out, at = {}, 1
   for k, sample in ipairs(samples) do
      if k > 1 and sample.ip <= samples[k - 1].ip then at = at + 1 end
      if at == i then out[#out + 1] = sample.ip end
   end
   return names(out)
end

local function shares(kit, p, samples)
   local counts, by = {}, kit.by_address(samples)
   for ip = 1, p.sites do counts[ip] = by[ip] or 0 end
   return counts
end

local function sample(kit, p, pmd)
   return kit.sample(kit.machine(p), loop(p, p.samples * 10), { event = "fp_ops", n = p.samples, pmd = pmd })
end

local function fixed(kit, p, period)
   return sample(kit, p, { value = -period, short_reset = -period, long_reset = -period })
end

-- Samples with random periods: after the first, each is the longest less random bits of the mask.
local function random(kit, p, mask, first, longest)
   return sample(kit, p, { value = -first, short_reset = -longest, long_reset = -longest, flags = { "RANDOM" },
      random_mask = mask, random_seed = p.seed })
end

local function spread(counts)
   local least, most = math.huge, 0
   for _, n in ipairs(counts) do
      least, most = math.min(least, n), math.max(most, n)
   end
   return least, most
end

-- Returns true if the way through the loop from each sample to the next one is always the same.
local function is_regular(p, samples)
   local step
   for k = 3, #samples do -- the first period differs
      local now = (samples[k].ip - samples[k - 1].ip) % p.sites
      if step and now ~= step then return false end
      step = now
   end
   return true
end

local function never(counts)
   local out = {}
   for ip, n in ipairs(counts) do
      if n == 0 then out[#out + 1] = ip end
   end
   return names(out)
end

return {
   number = 4,
   title = "Bias and randomization",
   goals = { [[see that a fixed sampling period can be in step with a program]],
   "predict which instructions are then seen",
      "choose a random period that removes the bias, and know what it costs" },
   read = { "section 3.4.2 of the specification, figure 3.20", "lpfm help bias: the same test for a real program" },
   figures = { "3.20" },
   teacher = [[
      Students think of sampling as of a camera: whatever takes long is seen often. That is so only while the moments
      are independent of the program. Let them say in their own words why IP1 is never seen although it runs as often as
      IP2.

      Many propose a larger period as the cure. It is one only where it shares no divisor with the loop, and nobody
      knows the loops of a real program. Another frequent mistake: to take the random numbers for noise that makes a
      profile worse. The table of shares shows the contrary.

      The series of random numbers depends on the seed alone: two students with the same seed have the same samples.
   ]],
   params = { model = "itanium2", sites = 6, period = 2, samples = 6000, first = 3, seed = 14 },
   draw = { samples = { 6000, 7200, 9000, 12000 } },
   most = { seed = 2 ^ 32 - 1 },
   pages = {
      { text = [[
         Sampling looks at a program now and then: each time when some event has happened so many times. That number is
         the period. From the places where the program was seen, one concludes where it spends its events. That is right
         only if the moments have nothing to do with the program.

         Here is a program of which we know everything. It is a loop of {sites} instructions, IP1, IP2 and so on, and
         each causes one event E each time:

            repeat
               IP1   E
               IP2   E
               ...
            end

         An honest profile gives every instruction the same share.
      ]] },
      { ask = "We take a sample every {period} events. Which addresses are sampled in the first iteration?",
        id = "fixed", kind = "words",
        run = function(kit, p)
           local samples = fixed(kit, p, p.period)
           local first = {}
           for ip = 1, p.sites do first[ip] = ip end
           local counts = shares(kit, p, samples)
           return { fixed1 = iteration(samples, 1), fixed2 = iteration(samples, 2), fixed_shares = counts,
              all_ips = names(first), unseen = never(counts), fixed_most = math.max(unpack(counts)) }
        end,
        show = { { "fixed period, iteration 1", "fixed1" } },
        answer = "fixed1",
        right = [[The counter overflows with every event number {period}, and the instruction that caused it is
           sampled.]],
        wrong = {
           { is = "all_ips", say = [[All of them would be sampled with a period of 1: tracing. With {period}, most
              events pass without a sample; only {fixed1} are seen.]] },
           { is = "unseen", say = [[One off: counting starts with the first event, so the first sample is taken when
              event number {period} happens, at the first of {fixed1}.]] },
        },
        otherwise = [[Count along: each instruction adds 1, and a sample is taken every {period} events. That gives
           {fixed1}.]],
        hints = { "Write the instructions in a row and count events below them.",
           "The counter starts anew after each sample." } },
      { ask = "And in the second iteration?", id = "fixed-again", kind = "words",
        run = function() return {} end,
        show = { { "fixed period, iteration 2", "fixed2" } },
        answer = "fixed2",
        right = [[The period divides the number of instructions in the loop, so every iteration starts with the counter
           where it was an iteration before. That is being in step.]],
        wrong = { { is = "unseen", say = [[That would be so if an event were left over at the end of an iteration. None
           is: {period} divides {sites}. The same addresses come again: {fixed2}.]] } },
        otherwise = [[What matters is how many events are left over at the end of the first iteration. Here it is none,
           and {fixed2} come again.]],
        hints = { "How many events are left since the last sample when the loop goes back?" } },
      { ask = [[We take {samples} samples. How many of them has an instruction that was sampled in neither of the two
           iterations?]],
        id = "shares",
        run = function() return { none = 0 } end,
        show = { { "fixed period, samples of IP1 to the last", "fixed_shares" }, { "never sampled", "unseen" } },
        answer = "none",
        right = [[Not one. More samples do not help: the profile stays as wrong as it was, and looks more and more
           trustworthy.]],
        wrong = { { is = function(f) return f.samples / f.sites end,
           say = [[That is its fair share, what an honest profile would show. Being in step, it gets none, however many
              samples are taken.]] },
           { is = "fixed_most", say = "That is what the others get, which share what belongs to all." } },
        otherwise = "None at all: the counter never overflows there.",
        hints = { "In which iteration would the first sample be there?" } },
      { task = "period",
        text = [[A period need not be random to be free of bias with a loop that one knows. At the prompt, `shares(2)`
           prints the shares of a period of two. Find periods with which all instructions are sampled, and a rule which
           those are; `params.sites = 7` makes the loop longer there.]],
        todo = [[Find the smallest period above {period} with which every instruction of this loop is sampled equally
           often. `prompt` opens lpfm's prompt; `shares(3)` prints the shares of a period there.]],
        setup = function(kit, p)
           return { shares = function(period)
              return table.concat(shares(kit, p, fixed(kit, p, kit.whole(period, "period"))), " ")
           end }
        end,
        run = function(kit, p)
           for period = p.period + 1, 50 do
              local least, most = spread(shares(kit, p, fixed(kit, p, period)))
              if most - least <= 1 then return { good_period = period, double = 2 * p.period, sites_too = p.sites } end
           end
        end,
        answer = "good_period",
        right = "{good_period} and {sites} have no divisor in common; so the samples move on through the loop.",
        wrong = { { is = "double", say = "It shares a divisor with {sites}: some instructions are never seen." },
           { is = "sites_too", say = "Then each iteration has one sample, always at the same instruction." },
           { is = function(f) return f.period + 1 end, say = "Try it: `shares(3)` shows that some are still missing." },
           { more = true, say = "That may do, but there is a smaller one." } },
        otherwise = "Look at the shares that it gives: some instructions are not seen.",
        hints = { "A period that divides the number of instructions sees few of them.",
           "What must two numbers not have in common for their multiples to go through all remainders?" } },
      { text = [[
         One cannot choose a period for loops that one does not know. So the period changes: perfmon, in the kernel,
         adds random bits, those that a mask lets through, to the value that it loads into the counter after a sample.
         The value is a negative period, so what is added makes the period shorter: -{longest} and up to {mask} make
         periods from 1 to {longest}. The seed determines the series.
      ]],
        ask = [[The periods are random, from 1 to {longest}. How many samples of {samples} has each instruction,
           about?]],
        id = "random", within = 0.1,
        run = function(kit, p)
           local samples = random(kit, p, MASK, p.first, MASK + 1)
           local counts = shares(kit, p, samples)
           local least, most = spread(counts)
           return { mask = MASK, random1 = iteration(samples, 1), random2 = iteration(samples, 2),
              random_shares = counts,
              least = least, most = most, fair = p.samples / p.sites, longest = MASK + 1 }
        end,
        show = { { "random period, iteration 1", "random1" }, { "random period, iteration 2", "random2" },
           { "random period, samples of IP1 to the last", "random_shares" } },
        answer = "fair",
        right = "Each gets its turn; what remains, from {least} to {most}, is chance, and shrinks with more samples.",
        wrong = { { is = "fixed_most", say = [[That is what the lucky ones had before. Now all get their fair share of
           {fair}.]] }, { is = "none", say = "Nobody is left out now: the table has no zero." } },
        otherwise = "All {sites} instructions are alike, so each gets one of {sites} parts of {samples}, or {fair}.",
        hints = { "An honest profile gives every instruction the same." } },
      { text = [[
         Are random periods honest in any case? Here is a mask of {even_mask}: it lets one bit through, so the periods
         are {even_periods}, chosen by chance.
      ]],
        ask = "How many of the {sites} instructions are never sampled?", id = "even",
        run = function(kit, p)
           local counts = shares(kit, p, random(kit, p, 2, 4, 4))
           return { even_mask = 2, even_periods = "2 and 4", even_shares = counts, even_never = #never(counts) }
        end,
        show = { { "periods of {even_periods}, samples of IP1 to the last", "even_shares" } },
        answer = "even_never",
        right = [[The periods are random, and all of them even: what divides every possible period and the loop, too,
           keeps the samples in step, by chance or not. The possible periods must have no divisor in common with the
           loop.]],
        wrong = { { is = "none", say = [[The periods differ, but all of them are even, as the loop is: {even_never} are
           never seen.]] } },
        otherwise = "All possible periods are even, and the loop is, too: {even_never} are never seen.",
        hints = { "From an even place, where does an even period lead?" } },
      { task = "honest", kind = "script",
        todo = [[
           Write a script that returns the fields of a PMD, as a table, with which this loop is sampled without bias, by
           random periods: {samples} samples, of which no instruction has more than a tenth above the fewest. The
           random mask must be smaller than {mask}. It may look like this:

              return { value = -2, short_reset = -2, long_reset = -2,
                 flags = { "RANDOM" }, random_mask = 0, random_seed = 1 }
        ]],
        check = function(kit, p, pmd)
           if type(pmd) ~= "table" then return false, "The script returns no table." end
           if pmd.num ~= nil then return false, "The number of the PMD is not for the script to say." end
           local mask = tonumber(pmd.random_mask)
           if not (mask and mask >= 1 and mask < MASK) then
              return false, "The field random_mask is to be a number from 1 to less than {mask}."
           end
           local samples = sample(kit, p, pmd)
           local counts = shares(kit, p, samples)
           local least, most = spread(counts)
           local figures = { taken = #samples, counts = counts }
           if #samples < p.samples then return false, "There are {taken} samples, not {samples}.", figures end
           if is_regular(p, samples) then
              return false, "Each sample is as far from the one before: the periods are not random.", figures
           end
           return most <= least * 1.1, nil, figures
        end,
        right = "Every instruction is seen: {counts}.",
        otherwise = "The shares are {counts}: not all alike.",
        solution = [[return { value = -2, short_reset = -2, long_reset = -2,
   flags = { "RANDOM" }, random_mask = 1, random_seed = 7 }]],
        mistake = "return { value = -2, short_reset = -2, long_reset = -2 }",
        hints = { "One random bit makes two different periods.", "Is a mask of 1 enough? Try it." } },
      { text = [[
         What you have seen: a fixed period that shares a divisor with a loop gives a wrong profile, with any number of
         samples. Random periods do not, as long as no number but 1 divides all possible periods and the loop, too; so
         a mask with its lowest bit set is safe with any loop. `lpfm bias -- ./prog` tests whether a period is in step
         with a real program, and `lpfm record --random` samples with random ones.
      ]] },
   },
}
