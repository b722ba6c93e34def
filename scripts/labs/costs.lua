-- SPDX-License-Identifier: MIT
-- What measuring costs: overflows, messages, the time of a tool that the program waits for.

-- p.n instructions of p.ns ns each.
local function program(p)
   return { { loop = p.n, { ip = 0x1000, ns = p.ns } } }
end

-- Room for n samples in a buffer of the default format: the rest is smaller than the largest sample.
local function room_for(kit, n)
   local ctx = kit.context { format = "default", buf_size = 4096 }
   local first = ctx.ctx:buffer():header().cur_offs
   ctx:close()
   return first + 40 * n + 8 * #require("lpfm").pmds()
end

-- Samples a program. Its thread is blocked while the tool works: p.tool ns for each message, p.each for each sample.
local function measure(kit, p, period, buffer)
   local m = kit.machine(p)
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
      m:run { ns = p.tool + n * p.each }
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

local function setup(kit, p)
   return { measure = function(period, buffer)
      local r = measure(kit, p, period, buffer or 1)
      return ("%d samples, %d messages, %.2f %% slower"):format(r.samples, r.messages, percent(r))
   end }
end

return {
   number = 13,
   title = "What measuring costs",
   minutes = 45,
   goals = { "say what a sample costs, and what a message", "choose a period and a buffer for a given cost",
      "find the costs of a real kernel's calls" },
   read = { [[section 3.4 of the specification, on why samples are buffered in the kernel]],
   "its second part: `lpfm lab costs --machine perf`, and `make vm LAB=costs`" },
   teacher = [[
      The costs of the simulated tool are made up: parameters of the sheet. An overflow's interrupt costs nothing on
      this computer, so the floor is that of the tool alone; on a real one the interrupt is the main part of it. What
      is to be learned is what they are multiplied by. Real ones are counted by `make bench`, in instructions of an
      emulated processor, for perfmon beside perf_event; in the lab's second part students measure them, with `make vm
      LAB=costs` in a real kernel. Let them fill in the parameters from there.
   ]],
   params = { model = "itanium2", n = 100500, ns = 10, period = 1000, buffer = 25, tool = 5000, each = 100 },
   draw = { tool = { 3000, 4000, 5000 }, each = { 60, 80, 100 } },
   pages = {
      { text = [[
         A measurement changes what it measures. Each overflow takes an interrupt; each message wakes the tool, which
         takes much longer. On this computer interrupts take no time, and messages do. The program is blocked while the
         tool works: {tool} ns for a message, and {each} ns for each sample in it. The program has {n} instructions of
         {ns} ns; a sample is taken every {period} of them.
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
      { vary = [[`measure(period, buffer)` measures with another period and a buffer of so many samples. What becomes of
           the cost when the buffer grows and grows? Set `params.tool` and `params.each` to what `make bench` says of a
           real kernel.]], setup = setup },
      { task = "floor", unit = "%",
        todo = [[However large the buffer, a part of the cost stays. How many percent, with a period of
           {period}?]], within = 0.1, setup = setup,
        run = function(_, p)
           local ns = p.period * p.ns
           return { floor_cost = 100 * p.each / ns, tool_cost = 100 * p.tool / ns }
        end,
        answer = "floor_cost",
        right = "What each sample costs, in the time of a period.",
        wrong = { { is = "tool_cost", say = "That is the part of the messages, which a large buffer makes small." },
           { more = true, say = "Less: try larger buffers." } },
        otherwise = "Each sample costs {each} ns; how long is a period?",
        hints = { "`measure(1000, 100)` at the prompt.", "{each} ns in each {period} instructions." } },
      { task = "budget", kind = "script",
        todo = [[
           Write a script that returns a period and a buffer, of {largest} samples at most, with at least {wanted}
           samples, for at most {budget} % of the program's time:

              return { period = 1000, buffer = 1 }
        ]],
        run = function() return { largest = 50, wanted = 200, budget = 5 } end,
        check = function(kit, p, t, f)
           if type(t) ~= "table" or not (tonumber(t.period) and tonumber(t.buffer)) then
              return false, "The script returns no table with period and buffer."
           end
           if t.buffer < 1 or t.buffer > f.largest or t.period < 100 then
              return false, "Not so large a buffer, nor so short a period."
           end
           local r = measure(kit, p, t.period, t.buffer)
           return r.samples >= f.wanted and percent(r) <= f.budget, nil, { got = r.samples, cost_got = percent(r) }
        end,
        right = "{got} samples for {cost_got} %.",
        otherwise = "{got} samples for {cost_got} %: not what was asked for.",
        solution = "return { period = 500, buffer = 50 }",
        mistake = "return { period = 500, buffer = 1 }",
        hints = { "How long may the period be for so many samples?", "Then take the largest buffer." } },
   },
}
