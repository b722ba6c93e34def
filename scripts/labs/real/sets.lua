-- SPDX-License-Identifier: MIT
-- Event sets on this computer: switched by page faults, and by the thread's CPU time.

local MS = 1e6

local function touching(p)
   return { { name = "main", { loop = p.touches, { touch = true }, { spin = p.spin } } } }
end

-- Leaves set 0 after `threshold` overflows, one in `n` faults; both sets count the faults.
local function by_overflow(kit, p, n, threshold)
   kit.here.machine(p)
   local ctx, num = kit.context(), kit.here.pmds["page-faults"]
   ctx:create_evtsets { { id = 0, flags = { "OVFL_SWITCH" } }, { id = 1 } }
   kit.here.counter(ctx, "page-faults", { period = n, switch_cnt = threshold })
   kit.here.counter(ctx, "minor-faults") -- counts the same, but is not reset
   kit.here.counter(ctx, "page-faults", {}, { set = 1 })
   kit.here.run(ctx, touching(p))
   local out = { first = kit.value(ctx, kit.here.pmds["minor-faults"]), second = kit.value(ctx, num, 1) }
   ctx:close()
   return out
end

local function cascade(kit, p)
   local once, more = by_overflow(kit, p, p.n, 1), by_overflow(kit, p, p.n, p.threshold)
   return { in_set0 = once.first, in_set1 = once.second, in_set0_more = more.first, in_set1_more = more.second,
      fewer = p.touches - p.n, product = p.n * p.threshold }
end

-- Says how often sets were active in a program that runs, sleeps and runs.
local function sleeper(kit, p)
   kit.here.machine(p)
   local rounds = kit.here.rounds_of_ms(kit)
   local ctx = kit.context()
   for set = 0, 1 do
      ctx:create_evtsets { { id = set, flags = { "TIME_SWITCH" }, timeout = p.timeout * MS } }
      kit.here.counter(ctx, "page-faults", {}, { set = set })
   end
   local began = require("lpfm.proc").clock()
   kit.here.run(ctx, { { name = "main", { spin = p.busy * rounds }, { sleep = p.sleep * MS },
      { spin = p.busy * rounds } } })
   local infos = ctx:getinfo_evtsets { 0, 1 }
   ctx:close()
   return { took = (require("lpfm.proc").clock() - began) * 1000, active1 = infos[2].runs,
      ran = infos[1].act_duration / MS + infos[2].act_duration / MS,
      by_the_wall = math.ceil((p.sleep + 2 * p.busy) / p.timeout) - 1 }
end

return {
   goals = { "begin to count after the n-th event in a real kernel", "see which clock a timeout goes by" },
   teacher = [[
      The start of the program may have faults, too, and they count. What set 0 counted is shown by a second counter,
      of minor faults: the fault that overflows ends the set before it counts there, so it shows one less. Good students
      ask why. Over perf_event sets are switched by a helper, and a fault may be counted in the old set that belongs to
      the new one; perfmon.ko switches in the interrupt.
   ]],
   params = { n = 100, threshold = 3, touches = 500, spin = 5000, timeout = 60, busy = 10, sleep = 150 },
   on = { perf = { spin = 300000 } }, -- perf_event takes a while to change periods and to switch
   most = { spin = 10 ^ 7, touches = 10000, n = 5000, busy = 1000, sleep = 10000, timeout = 10000 },
   pages = {
      { text = [[
         The machine is `{machine}` now. A program touches {touches} pages. Set 0 counts page faults, and is left at the
         first overflow, after {n} of them; set 1 counts the rest.
      ]],
        ask = "How many page faults does set 1 count?", id = "rest", within = 0.05,
        run = cascade, show = { { "faults in set 0 before the last one, which ended it", "in_set0" },
           { "faults in set 1", "in_set1" } },
        answer = "in_set1",
        right = "All but the first {n}: a cascade.",
        wrong = { { is = "touches", say = "Those of set 0 are not counted again: {in_set1}." },
           { is = "n", say = "So many are in set 0; set 1 has the rest, {in_set1}." } },
        otherwise = "What is left of {touches} after {n}: {in_set1}.",
        hints = { "How many pages are touched after that?" } },
      { text = "Now the threshold is {threshold} overflows.",
        ask = "How many page faults does set 0 count?", id = "threshold", within = 0.05,
        run = function() return {} end, show = { { "faults in set 0 before the last one", "in_set0_more" },
           { "faults in set 1", "in_set1_more" } },
        answer = "in_set0_more",
        right = "{threshold} overflows of {n} faults each.",
        wrong = { { is = "n", say = "That is one overflow; it takes {threshold}: {in_set0_more}." } },
        otherwise = "{threshold} overflows of {n} faults each: {in_set0_more}.",
        hints = { "A threshold counts overflows." } },
      { text = [[
         Two sets with a timeout of {timeout} ms. A program runs for about {busy} ms, sleeps for {sleep} ms, and runs
         for {busy} ms again.
      ]],
        ask = "How often does set 1 become active?", id = "asleep",
        run = sleeper, show = { { "the program took, ms", "took" }, { "it ran, ms", "ran" },
           { "times that set 1 was active", "active1" } },
        answer = "active1",
        right = "The timeout is the thread's, and the thread ran for {ran} ms alone.",
        wrong = { { is = "by_the_wall", say = [[By the clock on the wall. But the timeout stands still while the
           thread sleeps: {active1}.]] } },
        otherwise = "The thread ran for {ran} ms, and its timeout did, too: {active1}.",
        hints = { "How long does the thread run?" } },
      { task = "after", kind = "script",
        todo = [[
           The period may be {largest} faults at most. Write a script that returns a period and a threshold with which
           set 0 counts {wanted} faults (a few more or less are right):

              return { period = 1, threshold = 1 }
        ]],
        run = function(_, p) return { largest = p.n, wanted = 4 * p.n } end,
        check = function(kit, p, t, f)
           if type(t) ~= "table" or not (tonumber(t.period) and tonumber(t.threshold)) then
              return false, "The script returns no table with period and threshold."
           end
           if t.period < 10 or t.period > f.largest then return false, "The period is too small or too large." end
           local got = by_overflow(kit, p, t.period, t.threshold).first
           return math.abs(got - f.wanted) <= f.wanted / 20, nil, { got = got }
        end,
        right = "Set 0 counts {got}.", otherwise = "Set 0 counts {got}, not {wanted}.",
        solution = "return { period = 50, threshold = 8 }", mistake = "return { period = 100, threshold = 1 }",
        hints = { "What do a period and a threshold make together?" } },
   },
}
