-- SPDX-License-Identifier: MIT
-- What a count means: levels of privilege, interrupts, sleep, other threads.

local MS = 1000 * 1000

-- Makes a program of p.rounds rounds: two instructions of its own, one of the kernel on its behalf.
local function program(p)
   return { { loop = p.rounds, { ip = 0x1000, ns = p.ns }, { ip = 0x1010, ns = p.ns, events = { loads = 1 } },
      { ip = 0x9000, ns = 2 * p.ns, level = "kernel" } } }
end

local DEVICE = { { ip = 0xa000, ns = 500, level = "interrupt" }, { ip = 0xa010, ns = 500, level = "interrupt" } }

-- Counts the program's instructions at a level, with or without a device's interrupts.
local function count(kit, p, level, interrupted)
   local m = kit.machine(p)
   if interrupted then assert(m:interrupt { cpu = 0, start = 1000, period = p.every, program = DEVICE }) end
   local event = "instructions:" .. level
   return kit.count(m, program(p), { event })[event]
end

-- Measures cycles and elapsed time of a program that sleeps in its middle.
local function sleeper(kit, p)
   local m = kit.machine(p)
   local busy = { loop = p.rounds, { ip = 0x1000, ns = p.ns } }
   local counts = kit.count(m, { busy, { sleep = p.sleep_ms * MS }, busy }, { "cycles" })
   return { slept_cycles = counts.cycles, elapsed = m:time(), both = counts.cycles + p.sleep_ms * MS }
end

-- Counts instructions of one of two threads that share a CPU, and of both.
local function shared(kit, p)
   local m = kit.machine(p)
   local other = assert(m:spawn { program = { { loop = 3 * p.rounds, { ip = 0x2000, ns = p.ns } } } })
   local one = kit.count(m, program(p), { "instructions:u" })["instructions:u"]
   assert(m:run { until_exit = other, s = 10 })
   return { one = one, together = one + m:truth(other).instructions.user }
end

-- Makes a random program, which no script can know beforehand: its work at each level is drawn.
local function unseen(kit)
   return { { loop = kit.draw(50, 500), { ip = 0x1000, ns = 3 }, { ip = 0x1004, ns = 5, level = "kernel" } },
      { sleep = 1000 }, { loop = kit.draw(7, 700), { ip = 0x1008, ns = 2 } } }
end

local SOLUTION = [[
local lpfm = require "lpfm"
return function(m, tid)
   local ctx = assert(lpfm.create())
   local user = m:encode("instructions", 4, "u")
   assert(ctx:write_pmcs { { num = 4, value = user } })
   assert(ctx:write_pmds { { num = 4, value = 0 } })
   assert(ctx:load(tid) and ctx:start())
   assert(m:run { until_exit = tid })
   local n = ctx:read_pmds { 4 }[1].value
   ctx:close()
   return n
end
]]

local function tally(kit, p, event)
   if type(event) ~= "string" then error('expected an event, such as "loads:u"', 0) end
   return kit.count(kit.machine(p), program(p), { event })[event]
end

return {
   number = 1,
   title = "Counters, levels of privilege, and what a count means",
   goals = { "say what a counter counts, and for whom", "tell the user's level from the kernel's",
      "know what interrupts, sleep and other threads do to a count", "count by the calls of perfmon themselves" },
   read = { "sections 2.1 and 3.1.1 to 3.1.5 of the specification", "at the prompt: ?count, ?create, ?write_pmcs" },
   teacher = [[
      The usual mistake is to take a count for a property of a program. It is one of what was counted: which event, at
      which level, of which thread, while what else went on. Ask for all four with each number.

      Cycles are not time: a thread that sleeps uses none. That a count at the kernel's level grows when a device
      interrupts surprises most; the interrupt has nothing to do with the thread, but is executed in its time.

      On real processors counts at the user's level may be one or two too high for each interrupt. The simulated
      computer is exact; say so. Its interrupts take the time of their handler alone. On a laptop the way into the
      kernel and back is longer than many handlers; the option `interrupt_ns` adds it.
   ]],
   params = { model = "itanium2", rounds = 1000, ns = 10, every = 5000, sleep_ms = 3 },
   draw = { rounds = { 600, 800, 1200, 1500 }, ns = { 5, 8, 10, 20 } },
   pages = {
      { text = [[
         A processor has a few counters. Each is told to count one kind of event: instructions that were executed,
         cycles that passed, loads, cache misses. perfmon gives a counter to a thread, and keeps it for that thread
         alone: while others run, it stands still.

         This lab's computer is simulated. It counts exactly, and does only what it is told; so all answers can be found
         by thinking. Here is the program; the third instruction is executed by the kernel, for the program, in a system
         call:

            {rounds} times
               0x1000   an instruction of {ns} ns
               0x1010   an instruction of {ns} ns, which loads
               0x9000   an instruction of the kernel, which takes twice as long
            end

         Type your prediction before each run. `hint` helps, `?` lists what can be typed.
      ]] },
      { ask = "How many instructions does a counter see that counts at the user's level?", id = "user",
        run = function(kit, p)
           return { user = count(kit, p, "u"), all = count(kit, p, "uk"), kernel = count(kit, p, "k") }
        end,
        show = { { "instructions, user", "user" } },
        answer = "user",
        right = "The instruction of the kernel does not count there, though the program asked for it.",
        wrong = {
           { is = "all", say = [[That is all three of each round. The third is executed at the kernel's level, and this
              counter does not count there: {user}.]] },
           { is = "kernel", say = [[That is one for each round. Each round has two instructions at the user's level:
              {user}.]] } },
        otherwise = "Each of {rounds} rounds has two instructions at the user's level: {user}.",
        hints = { "How many instructions of a round are the program's own?", "Multiply by the number of rounds." } },
      { ask = "And a counter that counts at both levels?", id = "all",
        run = function() return {} end,
        show = { { "instructions, user and kernel", "all" }, { "instructions, kernel", "kernel" } },
        answer = "all",
        right = "Both levels together: {user} and {kernel}.",
        wrong = { { is = "user", say = "That is the user's level alone. The kernel's {kernel} come in addition." },
           { is = "kernel", say = "That is the kernel's part; the user's {user} come in addition." } },
        otherwise = "Add what both levels execute: {user} and {kernel} are {all}.",
        hints = { "All three instructions of a round count now." } },
      { text = [[A device interrupts the processor every {every} ns. Its handler runs in the kernel, in the middle of
           our program; it has nothing to do with it.]],
        ask = "What happens to the counts of our program?", id = "interrupts", kind = "choice",
        choices = {
           { "Both stay as they were: the handler is not part of the program.", say = [[It is not part of the program,
              but it runs in its place, and the counter goes on: at the kernel's level there are {kernel2} now.]] },
           { "The kernel's level counts more, the user's level the same.", say = [[The handler runs in the kernel, while
              our thread has the processor, and so it is counted there: {kernel2} instead of {kernel}. The user's level
              does not see it.]] },
           { "Both count more.", say = [[The handler does not run at the user's level, which counts {user2} as before.
              Only the kernel's level has more: {kernel2}.]] },
        },
        run = function(kit, p)
           local user, kernel = count(kit, p, "u", true), count(kit, p, "k", true)
           return { user2 = user, kernel2 = kernel }
        end,
        show = { { "with interrupts: instructions, user", "user2" }, { "with interrupts: instructions, kernel",
        "kernel2" } },
        answer = function(f)
           if f.user2 > f.user then return 3 end
           return f.kernel2 > f.kernel and 2 or 1
        end,
        hints = { "At which level does a handler run?", "Does the counter know why the processor is in the kernel?" } },
      { text = [[Now a program that is busy, sleeps for {sleep_ms} ms, and is busy again: {rounds} instructions of {ns}
           ns each before and after.]],
        ask = "How many cycles does a counter of this thread count? The processor has a cycle each ns.", id = "sleep",
        run = sleeper,
        show = { { "cycles of the thread", "slept_cycles" }, { "elapsed, ns", "elapsed" } },
        answer = "slept_cycles",
        right = "A thread that sleeps uses no cycles. The counter goes with the thread, not with the clock.",
        wrong = { { is = "both", say = [[That is the time that passed, sleep included. While the thread sleeps it has no
           processor and counts nothing: {slept_cycles}.]] },
           { is = function(f) return f.slept_cycles / 2 end, say = "That is one of the two busy parts." } },
        otherwise = "Only what the thread executes counts: {slept_cycles} cycles.",
        hints = { "Who uses the processor while this thread sleeps?", [[Two parts of {rounds} instructions, each of {ns}
           ns.]] } },
      { text = [[Last, a second thread shares the processor. It executes three instructions for each round of ours.]],
        ask = "What does the counter of our thread say of instructions at the user's level?", id = "other",
        run = shared,
        show = { { "instructions of our thread", "one" }, { "instructions of both threads", "together" } },
        answer = "one",
        right = "The counter is saved when the thread leaves the processor, and goes on when it returns.",
        wrong = { { is = "together", say = [[That is what the processor executed, as a counter of the whole CPU says
           (`lpfm stat -a`). One of a thread says {one}.]] } },
        otherwise = "The other thread changes nothing: {one}, as when ours was alone.",
        hints = { "Compare it with your first prediction." } },
      { vary = [[`tally("loads:u")` runs the program and counts an event at the prompt; `:u` and `:k` name a level,
           and without them both count. Try cycles, loads, and instructions. Change `params.rounds` and `params.ns`;
           which counts change? `m:events()` lists what this computer can count.]],
        setup = function(kit, p)
           return { m = kit.machine(p),
              tally = function(event) return tally(kit, p, event) end }
        end },
      { task = "cycles-kernel", unit = "%",
        todo = [[Which part of all cycles of this program, in percent, does the kernel use? `prompt` opens the prompt,
           where `tally("cycles:k")` counts them.]],
        setup = function(kit, p)
           return { tally = function(event) return tally(kit, p, event) end }
        end,
        run = function(kit, p)
           local m = kit.machine(p)
           local c = kit.count(m, program(p), { "cycles:k", "cycles", "instructions:k", "instructions" })
           return { cycles_k = c["cycles:k"], cycles_all = c.cycles, share = 100 * c["cycles:k"] / c.cycles,
              share_of_instructions = 100 * c["instructions:k"] / c.instructions }
        end,
        answer = "share", within = 0.02,
        right = "{cycles_k} of {cycles_all} cycles.",
        wrong = { { is = "share_of_instructions", say = [[That is its part of the instructions. Its instructions take
           longer than the others.]] }, { is = function(f) return f.share / 100 end, say = "In percent, please." } },
        otherwise = "Count `cycles:k` and `cycles`, and divide.",
        hints = { [[Two counts: `tally("cycles:k")` and `tally("cycles")`.]], "Divide the first by the second." } },
      { task = "by-hand", kind = "script",
        text = [[
           How perfmon itself is used: a context holds the state of a measurement. Each counter is a register that
           counts, a PMD, with one that controls it, a PMC of the same number: on this computer, PMC4 and PMD4 are the
           first pair. One creates a context, writes to the PMC which event counts at which level, writes to the PMD
           the value to begin with, loads the context onto a thread, and starts. Afterwards the PMD is read:

              local ctx = assert(lpfm.create())
              ctx:write_pmcs { { num = 4, value = m:encode("loads", 4, "k") } }
              ctx:write_pmds { { num = 4, value = 0 } }
              ctx:load(tid)
              ctx:start()
              m:run { until_exit = tid }
              print(ctx:read_pmds { 4 }[1].value)
        ]],
        todo = [[
           Write a script that returns a function: it gets a computer m and a thread tid, counts the thread's
           instructions at the user's level with the calls of perfmon until the thread ends, and returns how many there
           were.

              local lpfm = require "lpfm"
              return function(m, tid)
                 local ctx = assert(lpfm.create())
                 -- ctx:write_pmcs, ctx:write_pmds, ctx:load(tid), ctx:start(),
                 -- m:run { until_exit = tid }, ctx:read_pmds
              end
        ]],
        check = function(kit, p, fn)
           if type(fn) ~= "function" then return false, "The script returns no function." end
           for _ = 1, 3 do
              local m = kit.machine(p)
              local tid = assert(m:spawn { program = unseen(kit) })
              local got = fn(m, tid)
              if m:time() == 0 then
                 return false, "The function returns before the thread has run: `m:run { until_exit = tid }` runs it."
              end
              assert(m:run { until_exit = tid })
              local truth = m:truth(tid).instructions
              local figures = { got = got == nil and "nothing" or got, user_truth = truth.user,
                 total_truth = truth.total }
              if got == truth.total then
                 return false, "It counts the kernel's instructions, too: {got} and not {user_truth}.", figures
              end
              if got ~= truth.user then return false, nil, figures end
           end
           return true
        end,
        right = "It counts programs that it has not seen before.",
        otherwise = "Of a program with {user_truth} instructions at the user's level it counts {got}.",
        solution = SOLUTION,
        mistake = "return function(m, tid) m:run { until_exit = tid } return 7 end",
        hints = { [[`m:encode("instructions", 4, "u")` is the value of the PMC that makes PMD4 count them.]],
           [[`ctx:write_pmds { { num = 4, value = 0 } }` begins at 0; `ctx:read_pmds { 4 }[1].value` reads.]],
           "The order: create, write_pmcs, write_pmds, load, start, run, read_pmds, close." } },
   },
}
