-- SPDX-License-Identifier: MIT
-- Figures 3.31, 3.32: events in sets that take turns, and the estimates of their counts.

local MS = 1000 * 1000
local A, B = { 5, 4, 6, 1, 5, 4 }, { 10, 10, 15, 15, 10, 15 }
local EVENT = { A = "loads", B = "stores" }

local function sum(list)
   local total = 0
   for _, n in ipairs(list) do total = total + n end
   return total
end

-- Makes a program that in each slice of p.slice ms does its A, its B, and is then idle.
local function program(p, a, b)
   local steps = {}
   local function add(times, ip, events)
      if times > 0 then steps[#steps + 1] = { loop = times, { ip = ip, ns = 1000, events = events } } end
   end
   for i = 1, #a do
      add(a[i], 0x1000, { loads = 1 })
      add(b[i], 0x2000, { stores = 1 })
      add(p.slice * 1000 - a[i] - b[i], 0x3000)
   end
   return steps
end

-- Counts events in sets that take turns of `turn` ms; returns counts, durations and estimates.
local function measure(kit, p, events, a, b, turn)
   local m = kit.machine(p, { hz = 1000 / p.tick })
   local num, ids, out, whole = kit.counters(m)[1], {}, {}, 0
   local tid, ctx = assert(m:spawn { program = program(p, a or A, b or B) }), kit.context()
   for i, event in ipairs(events) do
      ids[i] = i - 1
      ctx:create_evtsets { { id = i - 1, flags = #events > 1 and { "TIME_SWITCH" } or {},
         timeout = (turn or p.slice) * MS } }
      ctx:write_pmcs { { num = num, set = i - 1, value = assert(m:encode(EVENT[event], num)) } }
      ctx:write_pmds { { num = num, set = i - 1 } }
   end
   ctx:load(tid)
   ctx:start()
   assert(m:run { until_exit = tid })
   for i, info in ipairs(ctx:getinfo_evtsets(ids)) do
      out[events[i]] = { count = kit.value(ctx, num, i - 1), duration = info.act_duration }
      whole = whole + info.act_duration
   end
   ctx:close()
   for _, seen in pairs(out) do seen.scaled = seen.count * whole / seen.duration end
   return out
end

local function figures(kit, p)
   local a, b = measure(kit, p, { "A" }).A.count, measure(kit, p, { "B" }).B.count
   local both = measure(kit, p, { "A", "B" })
   local function off(scaled, actual) return 100 * (scaled - actual) / actual end
   return { slices = #A, list_a = A, list_b = B, actual_a = a, actual_b = b, mux_a = both.A.count, mux_b = both.B.count,
      scaled_a = both.A.scaled, scaled_b = both.B.scaled, error_a = off(both.A.scaled, a), error_b = off(both.B.scaled,
         b) }
end

-- Figure 3.31: creates as many sets as events need, and asks perfmon which there are.
local function sets(kit, p)
   kit.machine(p)
   local ctx, ids = kit.context(), {}
   for i = 1, math.ceil(p.events / p.few) do
      ids[i] = i - 1
      ctx:create_evtsets { { id = i - 1, flags = { "TIME_SWITCH" }, timeout = p.slice * MS } }
   end
   return { sets = #ctx:getinfo_evtsets(ids), whole_part = math.floor(p.events / p.few) }
end

-- Measures a program with the same number of A in each slice.
local function steady(kit, p)
   local a, b = {}, {}
   for i = 1, #A do a[i], b[i] = p.steady, p.steady end
   return { steady_scaled = measure(kit, p, { "A", "B" }, a, b).A.scaled, steady_actual = sum(a) }
end

-- Measures a program that has A in every other slice only, in step with the turns of event sets.
local function in_step(kit, p)
   local a, b = {}, {}
   for i = 1, #A do a[i], b[i] = i % 2 == 1 and p.steady or 0, p.steady end
   return { step_scaled = measure(kit, p, { "A", "B" }, a, b).A.scaled, step_actual = sum(a) }
end

local function setup(kit, p)
   return {
      estimate = function(a, turn)
         local b = {}
         if type(a) ~= "table" or #a == 0 then error("expected a list of the A in each slice", 0) end
         for i = 1, #a do
            kit.whole(a[i], ("A of slice %d"):format(i), 0)
            b[i] = 1
         end
         local both = measure(kit, p, { "A", "B" }, a, b, turn)
         return both.A.scaled, sum(a)
      end,
   }
end

return {
   number = 6,
   title = "Multiplexing and its error",
   goals = { "scale a count that was taken part of the time", "say when the estimate is good, and when it is not",
      "find a program for which it is as wrong as can be" },
   read = { [[sections 3.7.1 and 3.7.2 of the specification, figures 3.31 and 3.32]],
   "lpfm stat: its column of error bounds" },
   figures = { "3.31", "3.32" },
   teacher = [[
      A scaled count looks like a count. Insist on the word estimate, and on saying what is assumed: that the event was
      as frequent while it was not counted as while it was.

      Students expect faster turns to help always. They help against slow changes of the program; against a program in
      step with the turns only another length does. `lpfm stat` prints how far it trusts each estimate.
   ]],
   params = { model = "itanium2", slice = 10, tick = 10, steady = 8, events = 7, few = 3 },
   draw = { steady = { 6, 8, 10, 12 } },
   pages = {
      { text = [[
         There are more events than counters. So events take turns: an event set has as many as there are counters, and
         the sets are switched while the program runs. Each event is counted part of the time only.
      ]],
        ask = [[{events} events are to be measured, and the PMU has {few} counters. How many sets does it take?]],
        id = "sets",
        run = sets,
        show = { { "sets", "sets" } }, answer = "sets",
        right = "The last set has room left.",
        wrong = { { is = "whole_part", say = "Those are full, and the rest needs one more: {sets}." } },
        otherwise = "{events} events, {few} at a time: {sets} sets.",
        hints = { "How many are left when the others have filled their sets?" } },
      { text = [[
         A program runs for {slices} slices of {slice} ms. In them, event A happens so many times: {list_a}; and event
         B: {list_b}. Two runs, one for each event, count all of them.
      ]],
        run = figures, show = { { "actual A", "actual_a" }, { "actual B", "actual_b" } } },
      { ask = [[Now one run, with one counter: A is counted in the slices one, three, five, B in the others. How many A
           are counted?]], id = "counted",
        run = function() return {} end, show = { { "multiplexed A", "mux_a" }, { "multiplexed B", "mux_b" } },
        answer = "mux_a",
        right = "Half of the time, but more than half of the A: the program does not distribute them evenly.",
        wrong = { { is = "actual_a", say = [[That is all of them; only those of every other slice are counted:
           {mux_a}.]] },
           { is = function(f) return f.actual_a / 2 end, say = [[That is half of all, as if they were spread evenly. The
              slices that are counted have {mux_a}.]] } },
        otherwise = "Add what A has in the odd slices: {mux_a}.",
        hints = { "The list of A is on the page before: `back` shows it." } },
      { ask = "A was counted half of the time. What is the estimate for all of A?", id = "scaled",
        run = function() return {} end, show = { { "scaled A", "scaled_a" }, { "scaled B", "scaled_b" } },
        answer = "scaled_a",
        right = "The count, times the whole time over the time it was counted. Too high here, by {error_a} %.",
        wrong = { { is = "actual_a", say = "That is the truth, which this run does not know. It says {scaled_a}." },
           { is = "mux_a", say = "That is what was counted, in half of the time. Scaled, it is {scaled_a}." } },
        otherwise = "Scale {mux_a} by the whole time over the time of its set: {scaled_a}.",
        hints = { "Twice the time: how many would there be?" } },
      { ask = "A program has {steady} A in every slice. What does the estimate say?", id = "steady",
        run = steady, show = { { "steady A, scaled", "steady_scaled" }, { "steady A, actual", "steady_actual" } },
        answer = "steady_scaled",
        right = "The truth: the event is as frequent while it is counted as while it is not.",
        wrong = { { is = function(f) return f.steady_actual / 2 end, say = [[That is counted; scaled it is
           {steady_scaled}.]] } },
        otherwise = "{slices} slices of {steady} each: {steady_scaled}, and that is the truth.",
        hints = { "Half of the slices are counted; scale." } },
      { ask = [[Another one has {steady} A in the slices one, three, five, and none in the others. What does the
         estimate say?]],
        id = "step",
        run = in_step, show = { { "A in step, scaled", "step_scaled" }, { "A in step, actual", "step_actual" } },
        answer = "step_scaled",
        right = "Twice the truth: the program is in step with the turns. Had B been first, A would be 0.",
        wrong = { { is = "step_actual", say = [[That is the truth, and what is counted: all of it. The estimate takes it
           for half: {step_scaled}.]] } },
        otherwise = "All A are counted and then doubled: {step_scaled}.",
        hints = { "How many A are counted?", "The time of the set is half of the whole." } },
      { vary = [[`estimate({8, 0, 8, 0}, 10)` gives the estimate and the truth for a list of A by slice, with turns of
           some ms (a multiple of the timer's tick). Find lists for which it is right although A changes. Do longer
           turns help? `params.tick = 1` makes shorter ones possible.]], setup = setup },
      { task = "mend", unit = "ms",
        todo = [[At the prompt, `estimate({8, 0, 8, 0, 8, 0, 8, 0}, 10)` is in step. Find the length of
           turns in ms, a multiple of the tick of {tick} ms, up to {longest}, with which the estimate is the truth.]],
        setup = setup,
        run = function(kit, p)
           local a, b = {}, {}
           for i = 1, 8 do a[i], b[i] = i % 2 == 1 and p.steady or 0, 1 end
           for turn = p.tick, 4 * p.tick, p.tick do
              if math.abs(measure(kit, p, { "A", "B" }, a, b, turn).A.scaled - sum(a)) < 1e-6 then
                 return { good_turn = turn, longest = 2 * p.tick }
              end
           end
        end,
        answer = "good_turn",
        right = "Each turn sees a slice with A and one without.",
        wrong = { { is = "tick", say = "That is the length that is in step: each turn is a slice." },
           { more = true, say = "That is longer than asked for." } },
        otherwise = "Try multiples of the tick.",
        hints = { "A turn should see as much of one kind of slice as of the other." } },
      { task = "worst", kind = "script",
        todo = [[
           Write a script that returns a list of {slices} numbers from 0 to {most}, the A of each slice, for which the
           estimate (turns of a slice) is a third of the truth, or less, but not 0:

              return { 1, 1, 1, 1, 1, 1 }
        ]],
        run = function() return { most = 50 } end,
        check = function(kit, p, a, f)
           if type(a) ~= "table" or #a ~= #A then return false, "The script returns no list of {slices} numbers." end
           for _, n in ipairs(a) do
              if type(n) ~= "number" or n < 0 or n > f.most or n ~= math.floor(n) then
                 return false, "Each number must be whole, from 0 to {most}."
              end
           end
           local b = { 1, 1, 1, 1, 1, 1 }
           local e = measure(kit, p, { "A", "B" }, a, b).A.scaled
           local found = { estimate = e, truth = sum(a) }
           if e == 0 then return false, "The estimate is not to be 0: some A have to be counted.", found end
           return e <= sum(a) / 3, nil, found
        end,
        right = "The estimate is {estimate}, the truth {truth}.",
        otherwise = "The estimate is {estimate}, the truth {truth}: not wrong enough.",
        solution = "return { 1, 20, 1, 20, 1, 20 }", mistake = "return { 5, 5, 5, 5, 5, 5 }",
        hints = { "In which slices is A not counted?" } },
   },
}
