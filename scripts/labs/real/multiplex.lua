-- SPDX-License-Identifier: MIT
-- Multiplexing on this computer: page faults are counted in every other turn, in a program that has
-- them evenly, and in one that has them all in its first half.

local MS = 1e6
local LEAST = 4             -- ms, the shortest turn

-- Makes a program of parts of a ms each; the list says how many faults a part has.
local function program(p, f, list)
   local body = { name = "main" }
   for i = 1, #list do
      local part = { loop = p.parts / #list, { spin = f.ms_rounds } }
      if list[i] > 0 then part[2] = { loop = list[i], { touch = true } } end
      body[i] = part
   end
   return { body }
end

-- Counts page faults in set 0, and nothing of interest in set 1, which take turns.
local function estimate(kit, p, f, list)
   kit.here.machine(p)
   local ctx, num = kit.context(), kit.here.pmds["page-faults"]
   for set = 0, 1 do
      ctx:create_evtsets { { id = set, flags = { "TIME_SWITCH" }, timeout = p.turn * MS } }
      kit.here.counter(ctx, set == 0 and "page-faults" or "minor-faults", {}, { set = set })
   end
   local known = kit.here.run(ctx, program(p, f, list))
   local infos = ctx:getinfo_evtsets { 0, 1 }
   local counted, mine = kit.value(ctx, num), infos[1].act_duration
   local whole = mine + infos[2].act_duration
   ctx:close()
   return { counted = counted, scaled = mine > 0 and counted * whole / mine or 0, ms = whole / MS,
      truth = known.touches, share = 100 * mine / whole,
      turns = infos[1].runs }
end

local function even(kit, p, f)
   kit.here.machine(p)
   local out = { ms_rounds = kit.here.rounds_of_ms(kit) }
   local seen = estimate(kit, p, setmetatable(out, { __index = f }), { p.each })
   out.even_counted, out.even_scaled, out.even_truth, out.even_share = seen.counted, seen.scaled, seen.truth, seen.share
   out.even_turns, out.half_turn = seen.turns, math.max(p.turn, math.floor(seen.ms / 2))
   return out
end

-- Estimates with turns of half the program: a turn has all of the faults, or none.
local function uneven(kit, p, f)
   local q = { turn = f.half_turn }
   for k, v in pairs(p) do q[k] = q[k] or v end
   local seen = estimate(kit, q, f, { p.each, 0 })
   return { half_counted = seen.counted, half_scaled = seen.scaled, half_truth = seen.truth,
      half_share = seen.share }
end

return {
   goals = { "estimate from every other turn on a real kernel", "find out when that is wrong by far" },
   teacher = [[
      Durations come from the machine, and the numbers are never twice the same; that the estimate of the even program
      is within some percent, and that of the other one off by half or more, does not change. Have students run it three
      times.
   ]],
   params = { turn = 10, parts = 300, each = 20 },
   most = { parts = 2000, turn = 1000, each = 100 },
   pages = {
      { text = [[
         The machine is `{machine}` now. A program has {each} page faults in each of {parts} parts of about a ms.
         They are counted in set 0; set 1 counts something else. The sets take turns of {turn} ms of the thread's time.
      ]],
        ask = "How many page faults are estimated, for the whole program?", id = "even",
        within = 0.2,
        run = even, show = { { "turns of set 0", "even_turns" }, { "counted", "even_counted" },
           { "set 0 was active, percent of the time", "even_share" },
           { "estimate", "even_scaled" }, { "pages touched", "even_truth" } },
        answer = "even_scaled",
        right = [[The count was scaled by the share of the time; the program is the same all the time, so that is
           right.]],
        wrong = { { is = function(f) return f.even_truth / 2 end,
           say = "That is about what was counted, {even_counted}. Scaled it is {even_scaled}." } },
        otherwise = "The program touches {even_truth} pages; the estimate is {even_scaled}.",
        hints = { "How many faults has the program in all?", [[The estimate is good if the faults are spread
           evenly.]] } },
      { text = [[
         Another program has all its faults in its first half. The turns are as long as that: {half_turn} ms.
      ]],
        ask = "The estimate is what, compared with the truth?", id = "uneven", kind = "choice",
        run = uneven, show = { { "counted", "half_counted" }, { "set 0 was active, percent of the time", "half_share" },
           { "estimate", "half_scaled" }, { "pages touched", "half_truth" } },
        choices = {
           { "about right", say = [[All were counted in part of the time, and scaled all the same: {half_scaled}, not
              {half_truth}.]] },
           { "far too large", say = [[Set 0 saw all of the faults, and the estimate adds as many for the time it did
              not see: {half_scaled}.]] },
           { "far too small", say = [[Set 0 is the first, and so are the faults: {half_scaled}. Were set 1 the first,
              you would be right.]] } },
        answer = function(f)
           local ratio = f.half_scaled / f.half_truth
           return ratio > 1.1 and 2 or ratio < 0.9 and 3 or 1
        end,
        hints = { "Which of the sets is active while the faults happen?" } },
      { task = "turns", kind = "script",
        todo = [[
           Write a script that returns a length of turns, from {least} to {half_turn} ms, with which the estimate of
           this program is within a quarter of the truth:

              return {half_turn}
        ]],
        run = function() return { least = LEAST } end,
        check = function(kit, p, turn, f)
           if type(turn) ~= "number" or turn < LEAST or turn > f.half_turn then
              return false, "The script returns no number of ms, from {least} to {half_turn}."
           end
           local q = { turn = turn }
           for k, v in pairs(p) do q[k] = q[k] or v end
           local seen = estimate(kit, q, f, { p.each, 0 })
           return math.abs(seen.scaled - seen.truth) <= seen.truth / 4, nil, { got = seen.scaled, truth = seen.truth }
        end,
        right = "The estimate is {got}, the truth {truth}.",
        otherwise = "The estimate is {got}, the truth {truth}.",
        solution = "return 10", mistake = "return 1",
        hints = { "Each set should see as much of the first half as of the second.", "Shorter turns." } },
   },
}
