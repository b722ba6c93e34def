-- SPDX-License-Identifier: MIT
-- Figures 3.33 to 3.38: the order of event sets, switching by time and by overflows, cascades.

local MS = 1000 * 1000
local BUSY = { { loop = "forever", { ip = 0x1000, ns = 1000 } } }

-- --- the order of sets: figures 3.33 and 3.34 ----------------------------------------------------

-- Creates sets in an order, switches them at each tick, and returns the order of their turns.
local function order_of(kit, p, sets, first, turns)
   local m = kit.machine(p, { hz = 1000 / p.tick })
   local ctx, ids = kit.context(), {}
   for i, set in ipairs(sets) do
      ids[i] = set.id
      local flags = { "TIME_SWITCH" }
      if set.next then flags[2] = "EXPL_NEXT" end
      ctx:create_evtsets { { id = set.id, flags = flags, id_next = set.next, timeout = p.tick * MS } }
      local num = kit.counters(m)[1]
      ctx:write_pmcs { { num = num, set = set.id, value = assert(m:encode("cycles", num)) } }
      ctx:write_pmds { { num = num, set = set.id } }
   end
   ctx:load(assert(m:spawn { program = BUSY }), first)
   ctx:start()
   local seen, out = {}, {}
   for _ = 1, turns do
      m:run { us = p.tick * 500 }
      local now
      for _, info in ipairs(ctx:getinfo_evtsets(ids)) do
         if info.act_duration > (seen[info.id] or 0) then now = info.id end
         seen[info.id] = info.act_duration
      end
      out[#out + 1] = now
      m:run { us = p.tick * 500 }
      for _, info in ipairs(ctx:getinfo_evtsets(ids)) do seen[info.id] = info.act_duration end
   end
   ctx:close()
   return out
end

-- Draws which set is active, turn by turn.
local function drawn(kit, order)
   local rows, ids, seen = {}, {}, {}
   for _, id in ipairs(order) do
      if not seen[id] then ids[#ids + 1] = id end
      seen[id] = true
   end
   table.sort(ids)
   for i, id in ipairs(ids) do
      rows[i] = { label = ("set %d"):format(id) }
      for turn, active in ipairs(order) do rows[i][turn] = active == id and 1 or 0 end
   end
   return kit.plot.heat(rows, { xlabel = "turns" })
end

local function orders(kit, p)
   local high, low, other, last = p.high, p.low, p.other, p.last
   local plain = order_of(kit, p, { { id = 0 }, { id = high }, { id = low } }, 0, 4)
   local groups = { { id = 0 }, { id = low }, { id = high, next = 0 }, { id = other }, { id = last, next = other } }
   local from_0, from_other = order_of(kit, p, groups, 0, 6), order_of(kit, p, groups, other, 4)
   return { order = plain, created = { 0, high, low, 0 }, group1 = from_0, group2 = from_other,
      turns = drawn(kit, plain), turns1 = drawn(kit, from_0), one_list = { 0, low, high, other, last, 0 } }
end

-- --- timeouts: figures 3.35 to 3.37 --------------------------------------------------------------

-- Starts two sets that switch after a timeout; set 0 may notify when its cycles overflow.
local function monitor(kit, m, program, timeout, overflow)
   local ctx, num = kit.context(), kit.counters(m)[1]
   local effective = ctx:create_evtsets {
      { id = 0, flags = { "TIME_SWITCH" }, timeout = timeout * MS },
      { id = 1, flags = { "TIME_SWITCH" }, timeout = timeout * MS },
   }
   local pmd = { num = num }
   if overflow then pmd = { num = num, value = -overflow * MS, flags = { "OVFL_NOTIFY" } } end
   for set = 0, 1 do ctx:write_pmcs { { num = num, set = set, value = assert(m:encode("cycles", num)) } } end
   ctx:write_pmds { pmd }
   ctx:load(assert(m:spawn { program = program }))
   ctx:start()
   return ctx, effective[1] / MS
end

local function left(ctx)
   return ctx:getinfo_evtsets { 0 }[1].timeout / MS
end

-- Runs ms by ms until set 1 is active; returns the time in ms.
local function time_of_switch(m, ctx)
   while ctx:getinfo_evtsets { 1 }[1].runs == 0 do m:run { ms = 1 } end
   return m:time() / MS
end

local function rounded(kit, p)
   local m = kit.machine(p, { hz = 1000 / p.tick })
   local ctx, effective = monitor(kit, m, BUSY, p.requested)
   return { effective = effective, switch_at = time_of_switch(m, ctx),
      rounded_down = math.floor(p.requested / p.tick) * p.tick }
end

local function masked(kit, p)
   local m = kit.machine(p, { hz = 1000 / p.tick })
   local ctx = monitor(kit, m, BUSY, p.timeout, p.overflow)
   assert(m:run { until_message = ctx.ctx })
   local out = { masked_at = m:time() / MS, left_masked = left(ctx) }
   m:run { ms = p.pause }
   out.left_later = left(ctx)
   ctx:restart()
   out.restarted = m:time() / MS
   out.masked_switch = time_of_switch(m, ctx)
   out.without_pause, out.anew = p.timeout, out.restarted + p.timeout
   return out
end

local function blocked(kit, p)
   local m = kit.machine(p, { hz = 1000 / p.tick })
   local ctx = monitor(kit, m, { { loop = p.busy * 1000, { ip = 0x1000, ns = 1000 } },
      { sleep = p.sleep * MS }, BUSY[1] },
      p.timeout)
   m:run { ms = p.busy }
   local out = { blocks_at = m:time() / MS, left_blocked = left(ctx) }
   m:run { ms = p.sleep }
   out.runs_at, out.left_running = m:time() / MS, left(ctx)
   out.blocked_switch = time_of_switch(m, ctx)
   return out
end

-- --- overflows: figure 3.38, and cascades --------------------------------------------------------

local ROUND = 20 -- ns of a round, which has 1 A and 1 B

local function by_overflow(kit, p, n)
   local m = kit.machine(p)
   local tid = assert(m:spawn { program = { { loop = "forever", { ip = 0x1000, ns = 10, events = { loads = 1 } },
      { ip = 0x1010, ns = 10, events = { stores = 1 } } } } })
   local ctx = kit.context()
   ctx:create_evtsets { { id = 0, flags = { "OVFL_SWITCH" } }, { id = 1, flags = { "OVFL_SWITCH" } } }
   for set = 0, 1 do
      ctx:write_pmcs { { num = 4, set = set, value = assert(m:encode("loads", 4)) },
         { num = 5, set = set, value = assert(m:encode("stores", 5)) } }
   end
   ctx:write_pmds {
      { num = 4, set = 0, value = -n, short_reset = -n, long_reset = -n, switch_cnt = p.threshold },
      { num = 5, set = 0 }, { num = 4, set = 1 },
      { num = 5, set = 1, value = -n, short_reset = -n, long_reset = -n, switch_cnt = 1 },
   }
   ctx:load(tid)
   ctx:start()
   return m, ctx
end

local function active(ctx)
   local infos = ctx:getinfo_evtsets { 0, 1 }
   return infos[1].runs > infos[2].runs and 0 or 1
end

local function threshold(ctx)
   return ctx:read_pmds { { num = 4, set = 0 } }[1].switch_cnt
end

local function overflows(kit, p)
   local m, ctx = by_overflow(kit, p, p.n)
   local out = { threshold0 = threshold(ctx), active0 = active(ctx) }
   m:run { ns = (p.n - 1) * ROUND + 10 }
   out.threshold1, out.active1, out.pmd4 = threshold(ctx), active(ctx), kit.value(ctx, 4, 0)
   local at = p.n
   while active(ctx) == 0 do
      if at > p.n * (p.threshold + 1) then error("set 0 is not left by the overflows of its threshold", 0) end
      m:run { ns = ROUND }
      at = at + 1
   end
   out.switch_after, out.b_in_set0 = at, kit.value(ctx, 5, 0)
   out.left_by = ctx:getinfo_evtsets { 0 }[1].ovfl_pmds
   m:run { ns = p.n * ROUND - 10 }
   out.active2, out.threshold2, out.a_in_set1 = active(ctx), threshold(ctx), kit.value(ctx, 4, 1)
   out.left_by1 = ctx:getinfo_evtsets { 1 }[1].ovfl_pmds
   return out
end

-- Counts B after the n-th A: set 1 begins when PMD4 has overflowed.
local function cascade(kit, p, n, a, b)
   n, a, b = kit.whole(n, "n"), kit.whole(a, "a"), kit.whole(b, "b", 0)
   local m = kit.machine(p)
   local tid = assert(m:spawn { program = { { loop = a, { ip = 0x1000, ns = 10, events = { loads = 1 } },
      { ip = 0x1010, ns = 10, events = { stores = b } } } } })
   local ctx = kit.context()
   ctx:create_evtsets { { id = 0, flags = { "OVFL_SWITCH" } }, { id = 1 } }
   ctx:write_pmcs { { num = 4, set = 0, value = assert(m:encode("loads", 4)) },
      { num = 5, set = 1, value = assert(m:encode("stores", 5)) } }
   ctx:write_pmds { { num = 4, set = 0, value = -n, short_reset = -n, long_reset = -n, switch_cnt = 1 },
      { num = 5, set = 1 } }
   ctx:load(tid)
   ctx:start()
   assert(m:run { until_exit = tid })
   local out = kit.value(ctx, 5, 1)
   ctx:close()
   return out
end

return {
   number = 7,
   title = "Event sets: order, time, overflows, cascades",
   goals = { "predict in which order sets take turns", "know what stops a set's timeout",
      "switch by overflows, and count one event after the n-th of another" },
   read = { "sections 3.7.5 to 3.7.6 of the specification, figures 3.33 to 3.38", "lpfm help cascade" },
   figures = { "3.33", "3.34", "3.35", "3.36", "3.37", "3.38" },
   teacher = [[
      That a timeout goes on where it stopped is the point of figures 3.36 and 3.37; most think that it begins anew, as
      an alarm clock would. Draw the three clocks: wall, thread, timeout.

      A threshold counts overflows, not events: at figure 3.38 many predict the switch after the first.

      The order of sets is that of their numbers, not of their creation. Students who know linked lists err more often.
   ]],
   params = { model = "itanium2", tick = 10, requested = 15, timeout = 20, overflow = 8, pause = 7, busy = 12,
   sleep = 30,
      n = 1000, threshold = 2, low = 3, high = 5, other = 8, last = 11 },
   draw = { pause = { 5, 6, 7, 9 }, sleep = { 20, 30, 40 }, n = { 800, 1000, 1200 } },
   pages = {
      { text = [[
         A context has a list of event sets; one at a time is on the counters. Set 0 is there from the beginning. We
         create set {high}, and then set {low}, and let each last for a tick.
      ]],
        ask = [[Which four sets are active one after the other, from set 0 on? (Write their numbers.)]], id = "order",
        kind = "words",
        run = orders, show = { { "active one after the other", "order" },
           { "the active set over time", "turns" } },
        answer = "order",
        right = "Sets are ordered by their numbers, whenever they were created.",
        wrong = { { is = "created", say = "That is the order of creation. The list is ordered by number: {order}." } },
        otherwise = "By their numbers, and from the last one back to the first: {order}.",
        hints = { "Where in the list does a new set go?" } },
      { text = [[
         Five sets, in two groups: sets 0, {low} and {high}, where set {high} has an explicit next set, 0; and sets
         {other} and {last}, where set {last} leads back to {other}.
      ]],
        ask = [[We load the context with set 0. Which six sets are active one after the other?]], id = "groups",
        kind = "words",
        run = function() return {} end,
        show = { { "from set 0", "group1" }, { "from set {other}", "group2" },
           { "from set 0, over time", "turns1" } },
        answer = "group1",
        right = "The explicit link closes the group. Loaded with set {other}, the other group takes turns.",
        wrong = { { is = "one_list", say = [[That is the order without explicit links. Set {high} leads back to 0:
           {group1}.]] } },
        otherwise = "Set {high} leads back to 0, so it is {group1}.",
        hints = { "Follow the links: from 0 to {low} by number, from {low} to {high}, and from there?" } },
      { text = "The timer ticks every {tick} ms. We ask for a set timeout of {requested} ms.",
        ask = "After how many ms does the first set give way to the second?", id = "timeout", unit = "ms",
        run = rounded, show = { { "effective timeout, ms", "effective" }, { "set 1 becomes active at, ms",
        "switch_at" } },
        answer = "switch_at",
        right = "Sets switch at ticks: the timeout is rounded up, and the call returns the effective one.",
        wrong = { { is = "requested", say = [[There is no tick then. The call returned {effective} ms, the effective
           timeout.]] },
           { is = "rounded_down", say = [[It is rounded up, not down: a set has at least the time it asked for.
              {switch_at} ms.]] } },
        otherwise = "At the next multiple of the tick: {switch_at} ms.",
        hints = { "When can the kernel switch?" } },
      { text = [[Now the timeout is {timeout} ms. After {overflow} ms a counter overflows: monitoring is masked until
           the tool restarts, {pause} ms later.]],
        ask = "At which ms does set 1 become active?", id = "masked", unit = "ms",
        run = masked,
        show = { { "masked by an overflow at, ms", "masked_at" }, { "timeout left when masked, ms", "left_masked" },
           { "timeout left at the restart, ms", "left_later" },
           { "set 1 becomes active at, ms", "masked_switch" } },
        answer = "masked_switch",
        right = "While masked, the timeout stands still; it goes on with the {left_later} ms that were left.",
        wrong = { { is = "without_pause", say = [[As if the timeout ran on while masked. It stands still then, with
           {left_masked} ms left: {masked_switch}.]] },
           { is = "anew", say = [[It does not begin anew at the restart; {left_later} ms were left. So it is
              {masked_switch}.]] } },
        otherwise = "{left_later} ms are left at the restart, at {restarted} ms: {masked_switch}.",
        hints = { [[How much of the timeout is left when monitoring is masked?]],
        "Add it to the time of the restart." } },
      { text = "The same timeout, nothing overflows; but the thread runs for {busy} ms and then sleeps for {sleep} ms.",
        ask = "At which ms does set 1 become active?", id = "blocked", unit = "ms",
        run = blocked,
        show = { { "thread blocks at, ms", "blocks_at" }, { "timeout left when the thread blocks, ms", "left_blocked" },
           { "thread runs again at, ms", "runs_at" }, { "timeout left when the thread runs again, ms", "left_running" },
           { "set 1 becomes active at, ms", "blocked_switch" } },
        answer = "blocked_switch",
        right = "The timeout is the thread's: it runs while the thread does.",
        wrong = { { is = "timeout", say = "It does not run while the thread sleeps: {blocked_switch}." },
           { is = function(f) return f.runs_at + f.timeout end, say = [[It does not begin anew: {left_running} ms were
              left, so it is {blocked_switch}.]] } },
        otherwise = "{left_running} ms are left when the thread runs again at {runs_at} ms: {blocked_switch}.",
        hints = { "What did a masked period do to the timeout? A sleep does the same." } },
      { text = [[
         Sets can also switch when counters overflow. In set 0, PMD4 counts A and overflows every {n}; its threshold is
         {threshold}. In set 1, PMD5 counts B, overflows every {n}, with a threshold of 1. The program does A and B in
         turn.
      ]],
        ask = "After how many A does set 1 take over?", id = "overflow",
        run = overflows,
        show = { { "at the start, threshold", "threshold0" }, { "after the first overflow, threshold", "threshold1" },
           { "PMD4 then", "pmd4" }, { "active set then", "active1" }, { "A when set 1 takes over", "switch_after" },
           { "B in set 0", "b_in_set0" }, { "set 0 was left because of PMD", "left_by" } },
        answer = "switch_after",
        right = "Each overflow takes 1 from the threshold, and loads the short period; at 0 the set is left.",
        wrong = { { is = "n", say = [[That is the first overflow: the threshold is {threshold1} then, and not 0.
           {switch_after}.]] } },
        otherwise = "{threshold} overflows of {n} each: {switch_after}.",
        hints = { "What does a threshold count?" } },
      { ask = "Back in set 0, after {n} B in set 1: what is the threshold of PMD4?", id = "reloaded",
        run = function() return {} end,
        show = { { "active set", "active2" }, { "threshold of PMD4 in set 0", "threshold2" },
           { "A in set 1", "a_in_set1" }, { "set 1 was left because of PMD", "left_by1" } },
        answer = "threshold2",
        right = "It is loaded anew each time the set becomes active.",
        wrong = { { is = function() return 0 end, say = [[That is what it was when the set was left; it is loaded anew:
           {threshold2}.]] } },
        otherwise = "It is loaded anew: {threshold2}.",
        hints = { "Otherwise the set could never be left again." } },
      { vary = [[`cascade(n, a, b)` counts the B after the n-th A of a program that repeats an A and b B, a times. Can
           the second counter be 0? What if n is larger than a?]],
        setup = function(kit, p) return { cascade = function(n, a, b) return cascade(kit, p, n, a, b) end } end },
      { task = "after", todo = [[A program repeats 1 A and then {b} B, {a} times. How many B are counted after A
           number {nth}?]],
        setup = function(kit, p) return { cascade = function(n, a, b) return cascade(kit, p, n, a, b) end } end,
        run = function(kit, p)
           local nth, a, b = 30, 40, 7
           return { nth = nth, a = a, b = b, after = cascade(kit, p, nth, a, b), all_b = a * b,
              left_out = (a - nth) * b }
        end,
        answer = "after",
        right = "The B of the same round comes after its A, and is counted.",
        wrong = { { is = "left_out", say = "Nearly: the B that follow A number {nth} at once are counted, too." },
           { is = "all_b", say = "That is all of them." } },
        otherwise = "Count the rounds in which the B come after that A.",
        hints = { "`cascade(n, a, b)` at the prompt runs it.", "The round of that A counts, too." } },
      { task = "cascade", kind = "script",
        todo = [[
           Write a script that returns what create_evtsets gets for a cascade: two sets, 0 and 1, of which the first is
           left by an overflow, and the second never, whatever overflows there:

              return { { id = 0, flags = { ... } }, { id = 1, flags = { ... } } }
        ]],
        check = function(kit, p, sets)
           if type(sets) ~= "table" then return false, "The script returns no table." end
           local m = kit.machine(p)
           local ctx, tid = kit.context(), assert(m:spawn { program = { { loop = 3 * p.n, { ip = 0x1000, ns = 10,
              events = { loads = 1 } } } } })
           ctx:create_evtsets(sets)
           for set = 0, 1 do
              ctx:write_pmcs { { num = 4, set = set, value = assert(m:encode("loads", 4)) } }
              ctx:write_pmds { { num = 4, set = set, value = -p.n, short_reset = -p.n, long_reset = -p.n,
                 switch_cnt = 1 } }
           end
           ctx:load(tid)
           ctx:start()
           assert(m:run { until_exit = tid })
           local infos = ctx:getinfo_evtsets { 0, 1 }
           local figures = { runs0 = infos[1].runs, runs1 = infos[2].runs }
           for _, info in ipairs(infos) do
              if table.concat(info.flags, " "):find("TIME_SWITCH", 1, true) then
                 return false, "A set of it is left when its time is over, not by an overflow alone.", figures
              end
           end
           return infos[1].runs == 1 and infos[2].runs == 1, nil, figures
        end,
        right = "Each set was active once: a cascade.",
        otherwise = "Set 0 was active {runs0} times, set 1 {runs1} times.",
        solution = [[return { { id = 0, flags = { "OVFL_SWITCH" } }, { id = 1, flags = {} } }]],
        mistake = [[
local flags = { "OVFL_SWITCH" }
return { { id = 0, flags = flags }, { id = 1, flags = flags } }]],
        hints = { [[The flag of a set that is left by overflows is OVFL_SWITCH.]],
        "A set without a flag is never left." } },
   },
}
