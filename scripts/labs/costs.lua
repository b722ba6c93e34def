-- SPDX-License-Identifier: MIT
-- What measuring costs: overflows, messages, the time of a tool that the program waits for.

-- Makes a program of p.n instructions of p.ns ns each.
local function program(p)
   return { { loop = p.n, { ip = 0x1000, ns = p.ns } } }
end

-- Returns the size of a buffer of the default format that is full after n samples.
local function room_for(kit, n)
   local ctx = kit.context { format = "default", buf_size = 4096 }
   local first = ctx.ctx:buffer():header().cur_offs
   ctx:close()
   return first + 40 * n + 8 * #require("lpfm").pmds()
end

-- Samples a program. Its thread is blocked while the tool works: p.tool ns for each message, p.each
-- for each sample.
local function measure(kit, p, period, buffer, interrupt)
   local m = kit.machine(p, { interrupt_ns = interrupt or 0 })
   local tid = assert(m:spawn { program = program(p) })
   local ctx = kit.context { flags = { "NOTIFY_BLOCK" }, format = "default", buf_size = room_for(kit, buffer) }
   local num, messages, samples = kit.counters(m)[1], 0, 0
   ctx:write_pmcs { { num = num, value = assert(m:encode("instructions", num)) } }
   ctx:write_pmds { { num = num, value = -period, short_reset = -period, long_reset = -period,
      flags = { "OVFL_NOTIFY" } } }
   ctx:load(tid)
   ctx:start()
   while m:run { until_message = ctx.ctx } do -- the last one says that the thread has ended
      local message = ctx.ctx:read(0)
      if not message or message.type ~= "OVFL" then break end
      local n = ctx.ctx:buffer():header().count
      messages, samples = messages + 1, samples + n
      -- the tool is woken at the interrupt's end
      m:run { ns = (interrupt or 0) + p.tool + n * p.each }
      if not ctx.ctx:restart() then -- the last sample was taken at the thread's end
         samples = samples - n
         break
      end
   end
   samples = samples + ctx.ctx:buffer():header().count
   ctx:close()
   return { messages = messages, samples = samples, elapsed = m:time(), alone = p.n * p.ns }
end

local function percent(result)
   return 100 * (result.elapsed - result.alone) / result.alone
end

local function single(kit, p)
   local one, many, rare = measure(kit, p, p.period, 1), measure(kit, p, p.period, p.buffer), measure(kit,
      p, 2 * p.period, 1)
   return { samples = one.samples, messages1 = one.messages, messages = many.messages, alone = one.alone,
      cost1 = percent(one), cost = percent(many), cost_rare = percent(rare), rare_samples = rare.samples,
      elapsed1 = one.elapsed }
end

-- Measures with interrupts that take time.
local function interrupted(kit, p)
   local r = measure(kit, p, p.period, p.buffer, p.interrupt)
   return { interrupts = r.samples, cost_interrupts = percent(r), ns_interrupts = r.samples * p.interrupt }
end

-- Counts cycles at all levels, and at the user level alone, while another counter overflows each
-- p.short instructions, with a buffer that is large enough for all samples.
local function distorted(kit, p)
   local m = kit.machine(p, { interrupt_ns = p.interrupt })
   local tid = assert(m:spawn { program = program(p) })
   local ctx, free = kit.context { format = "default", buf_size = room_for(kit, p.n) }, kit.counters(m)
   for i, event in ipairs { "instructions:u", "cycles:uk", "cycles:u" } do
      local name, levels = event:match("^(%a+):(%a+)$")
      ctx:write_pmcs { { num = free[i], value = assert(m:encode(name, free[i], levels)) } }
      local value = i == 1 and -p.short or 0
      ctx:write_pmds { { num = free[i], value = value, short_reset = value, long_reset = value } }
   end
   ctx:load(tid)
   ctx:start()
   assert(m:run { until_exit = tid, s = 100 })
   local out = { cycles = kit.value(ctx, free[2]), user_cycles = kit.value(ctx, free[3]) }
   ctx:close()
   out.alone_cycles = p.n * p.ns
   out.own, out.times = 100 * out.alone_cycles / out.cycles, out.cycles / out.alone_cycles
   return out
end

local function setup(kit, p)
   return { measure = function(period, buffer, interrupt)
      local r = measure(kit, p, kit.whole(period, "period"), kit.whole(buffer or 1, "buffer"), interrupt)
      return ("samples: %d, messages: %d, slower by %.2f %%"):format(r.samples, r.messages, percent(r))
   end }
end

return {
   number = 13,
   title = "What measuring costs",
   goals = { "say what a sample costs, and what a message", "choose a period and a buffer for a given cost",
      "find the costs of a real kernel's calls" },
   read = { [[section 3.4 of the specification, on why samples are buffered in the kernel]],
   "its second part: `lpfm lab costs --machine perf`, and `make vm LAB=costs`" },
   teacher = [[
      The costs of the simulated tool and of its interrupts are made up: parameters of the sheet. Interrupts cost
      nothing at first, so that messages can be seen alone; then the option `interrupt_ns` gives them their cost, which
      on a real computer is the main part of a sample. What is to be learned is what they are multiplied by. Real ones
      are counted by `make bench`, in instructions of an emulated processor, for perfmon beside perf_event; in the lab's
      second part students measure them, with `make vm LAB=costs` in a real kernel. Let them fill in the parameters from
      there.
   ]],
   params = { model = "itanium2", n = 100500, ns = 10, period = 1000, buffer = 25, tool = 5000, each = 100,
      interrupt = 2000, short = 100 },
   draw = { tool = { 3000, 4000, 5000 }, each = { 60, 80, 100 } },
   pages = {
      { text = [[
         A measurement changes what it measures. Each overflow takes an interrupt; each message wakes the tool, which
         takes much longer. On this computer interrupts take no time at first, and messages do. The program is blocked
         while the tool works: {tool} ns for a message, and {each} ns for each sample in it. The program has {n}
         instructions of {ns} ns; a sample is taken every {period} of them.
      ]],
        ask = "How many samples are there?", id = "samples",
        run = single, show = { { "samples", "samples" } }, answer = "samples", within = 0.01,
        right = "One in each period.",
        wrong = { { is = "n", say = "That would be tracing; a sample is taken every {period}: {samples}." } },
        otherwise = "{n} instructions, one sample in {period}: {samples}.",
        hints = { "Divide." } },
      { ask = [[Without a buffer, each overflow has a message. By how many percent is the program slower?]],
         id = "unbuffered", unit = "%",
        within = 0.02,
        run = function() return {} end,
        show = { { "messages", "messages1" }, { "ns alone", "alone" }, { "ns measured", "elapsed1" },
           { "slower, percent", "cost1" } },
        answer = "cost1",
        right = "Messages are what costs.",
        wrong = { { less = true, say = "{messages1} messages of {tool} ns, and {each} for each sample: {cost1} %." },
           { more = true, say = "Compare it with the {alone} ns of the program alone: {cost1} %." } },
        otherwise = "{messages1} messages: {cost1} %.",
        hints = { "How long does the tool work in all?", "The program alone takes {alone} ns." } },
      { ask = [[The kernel now buffers {buffer} samples before it tells the tool. How many messages are there?]],
         id = "messages",
        run = function() return {} end,
        show = { { "messages, with a buffer", "messages" }, { "slower, percent", "cost" } },
        answer = "messages",
        right = "The same samples, for {cost} % instead of {cost1} %.",
        wrong = { { is = "messages1", say = "The tool is woken once for a full buffer: {messages}." },
           { is = "buffer", say = "That is what one message brings: {messages} messages." } },
        otherwise = "One for each {buffer} samples: {messages}.",
        hints = { "How often does the buffer become full?" } },
      { ask = [[Without a buffer again, but with twice the period: by how many percent is the program slower?]],
         id = "period", unit = "%",
        within = 0.02,
        run = function() return {} end, show = { { "samples", "rare_samples" }, { "slower, percent", "cost_rare" } },
        answer = "cost_rare",
        right = [[Half the samples, half the cost. A buffer saves more, and loses nothing here, where the thread waits
           for the tool; one that runs on meanwhile does so unmeasured.]],
        wrong = { { is = "cost1", say = "Half as many messages: {cost_rare} %." },
           { more = true, say = "Fewer samples cost less." } },
        otherwise = "Half as many messages, half of {cost1} %: {cost_rare} %.",
        hints = { "How many messages are there?" } },
      { text = [[
           On a real computer each overflow costs, buffered or not: the processor enters the kernel, and a handler
           there reads counters, writes the sample, and returns. The option `interrupt_ns` of this computer is what that
           takes, in the time of the thread. It is {interrupt} ns from here on.
        ]],
        ask = "With samples each {period} instructions and the buffer of {buffer}: how much slower is the program now?",
        id = "interrupts", unit = "%", within = 0.03,
        run = interrupted,
        show = { { "interrupts", "interrupts" }, { "ns in them", "ns_interrupts" },
           { "slower, percent", "cost_interrupts" } },
        answer = "cost_interrupts",
        right = "The buffer saves messages. It saves no interrupt: there is one for each sample.",
        wrong = { { is = "cost", say = [[The interrupts come on top of that: {interrupts} of {interrupt} ns.
           {cost_interrupts} %.]] },
           { less = true, say = "{interrupts} interrupts of {interrupt} ns, besides the tool: {cost_interrupts} %." },
           { more = true, say = "The messages are buffered still: {cost_interrupts} %." } },
        otherwise = "{cost} %, and {interrupts} interrupts of {interrupt} ns: {cost_interrupts} %.",
        hints = { "How many interrupts are there?", "What part of the {alone} ns do they take?" } },
      { text = [[
           The interrupts are work in the kernel, and counters of the thread see it. One counter overflows each {short}
           instructions of the program, all samples fit into the buffer, and another one counts cycles at all levels.
           Alone, the program has a cycle each ns, {alone}.
        ]],
        ask = "How many cycles does it count?", id = "distorted", within = 0.03,
        run = distorted,
        show = { { "cycles, all levels", "cycles" }, { "at user level", "user_cycles" },
           { "part that is the program's, percent", "own" } },
        answer = "cycles",
        right = [[{times} times those of the program: to sample so often is to measure mostly the measuring. The
           counter of user level is right still: leave the kernel out where it is not asked for, or sample seldom.]],
        wrong = { { is = "alone_cycles", say = [[That is the program. The thread's time in interrupts is counted, too:
           {cycles}.]] },
           { less = true, say = "One interrupt each {short} instructions, of {interrupt} ns: {cycles}." },
           { more = true, say = "No tool is woken here: {cycles}." } },
        otherwise = "{alone_cycles} of its own, and {interrupt} for each {short} instructions: {cycles}.",
        hints = { "How many interrupts are there?", "Each has {interrupt} cycles." } },
      { vary = [[`measure(period, buffer, interrupt)` measures with another period, a buffer of so many samples, and
           interrupts of so many ns; of none if it is left out. What becomes of the cost when the buffer grows and
           grows? Set `params.tool` and `params.each` to what `make bench` says of a real kernel.]], setup = setup },
      { task = "floor", unit = "%",
        todo = [[However large the buffer, a part of the cost stays. How many percent, with a period of
           {period} and interrupts of {interrupt} ns?]], within = 0.1, setup = setup,
        run = function(kit, p, f)
           return { floor_cost = percent(measure(kit, p, p.period, f.samples, p.interrupt)),
              free_floor = percent(measure(kit, p, p.period, f.samples)) }
        end,
        answer = "floor_cost",
        right = "What each sample costs, in the time of a period: most of it is the interrupt.",
        wrong = { { is = "free_floor", say = "Those are the samples in the tool. Each has taken an interrupt, too." },
           { more = true, say = "Less: try larger buffers." } },
        otherwise = "Each sample costs {each} ns, and an interrupt {interrupt}; how long is a period?",
        hints = { "`measure(1000, 100, 2000)` at the prompt.",
           "{each} ns and {interrupt} ns in each {period} instructions." } },
      { task = "budget", kind = "script",
        todo = [[
           Write a script that returns a period and a buffer, of {largest} samples at most, with at least {wanted}
           samples, for at most {budget} % of the program's time. Interrupts take their {interrupt} ns:

              return { period = 1000, buffer = 1 }
        ]],
        run = function() return { largest = 50, wanted = 40, budget = 10 } end,
        check = function(kit, p, t, f)
           if type(t) ~= "table" or not (tonumber(t.period) and tonumber(t.buffer)) then
              return false, "The script returns no table with period and buffer."
           end
           if t.buffer < 1 or t.buffer > f.largest or t.period < 100 then
              return false, "Not so large a buffer, nor so short a period."
           end
           local r = measure(kit, p, t.period, t.buffer, p.interrupt)
           return r.samples >= f.wanted and percent(r) <= f.budget, nil, { got = r.samples, cost_got = percent(r) }
        end,
        right = "{got} samples for {cost_got} %.",
        otherwise = "{got} samples for {cost_got} %: not what was asked for.",
        solution = "return { period = 2500, buffer = 20 }",
        mistake = "return { period = 2500, buffer = 1 }",
        hints = { "How long may the period be for so many samples? Each one costs an interrupt.",
           "Then take a buffer of many samples." } },
   },
}
