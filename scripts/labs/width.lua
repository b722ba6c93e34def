-- SPDX-License-Identifier: MIT
-- Figures 3.3, 3.17: 64-bit counters on a narrow PMU.

local function program(n)
   return { { loop = n, { ip = 0x1000, ns = 10 } } }
end

-- Makes a program of n events, and a context with the first counter, which starts at a value.
local function monitor(kit, m, n, value, flags)
   local tid, ctx = assert(m:spawn { program = program(n) }), kit.context()
   local num = kit.counters(m)[1]
   ctx:write_pmcs { { num = num, value = m:encode("instructions", num) } }
   ctx:write_pmds { { num = num, value = value, flags = flags } }
   ctx:load(tid)
   ctx:start()
   return ctx, tid, num
end

-- Returns the value from which the hardware's counter wraps after n events.
local function top(kit, width, n)
   local lpfm = require "lpfm"
   return kit.hex(lpfm.u64(2 ^ width) - n)
end

-- Measures a carry beyond the hardware's counter: figure 3.3.
local function carry(kit, p)
   local m = kit.machine(p)
   local width = kit.pmd(kit.counters(m)[1]).width
   local ctx, tid, num = monitor(kit, m, 2, top(kit, width, 2))
   local out = { width = width, written = kit.hex(kit.value(ctx, num)) }
   m:run { ns = 10 }
   out.after1 = kit.hex(kit.value(ctx, num))
   assert(m:run { until_exit = tid })
   out.after2, out.zero_hex = kit.hex(kit.value(ctx, num)), kit.hex(0)
   local message = ctx.ctx:read(0)
   out.messages = message and message.type == "OVFL" and 1 or 0
   return out
end

-- Measures a sampling period on a narrow counter: figure 3.17.
local function period(kit, p)
   local m = kit.machine(p)
   local ctx, tid, num = monitor(kit, m, 2 * p.period, -p.period, { "OVFL_NOTIFY" })
   local value = kit.hex(kit.value(ctx, num))
   assert(m:run { until_message = ctx.ctx })
   return { pmd_value = value, low = "0x" .. value:sub(-math.floor(kit.pmd(num).width / 4)),
      before = m:truth(tid).instructions.total, after = kit.hex(kit.value(ctx, num)), positive = kit.hex(p.period) }
end

-- Says how long the hardware counter takes to wrap at p.rate events a ns.
local function lasting(_, p, f)
   return { seconds = 2 ^ f.width / 1e9 / p.rate, wraps_an_hour = math.floor(3600 / (2 ^ f.width / 1e9 / p.rate)) }
end

return {
   number = 2,
   title = "64-bit counts from narrow counters",
   goals = { "know how a counter of few bits becomes one of 64", "write a sampling period as a counter's value",
      "tell an overflow of the hardware from one of the interface" },
   read = { "sections 3.1.3 and 3.4.1 of the specification, figures 3.3 and 3.17", "at the prompt: ?u64, ?write_pmds" },
   figures = { "3.3", "3.17" },
   teacher = [[
      Two things are called overflow: that of the hardware counter, an affair of the kernel, and that of the 64-bit
      counter, which the tool hears of. Students mix them up; the question for messages separates them.

      The text of the specification prints a value for the period of figure 3.17 that is off by a digit and two in the
      last place. Let students find that -p in two's complement is what the machine says.

      That counters count up, and that a period is therefore negative, is best drawn on a line of numbers.
   ]],
   params = { model = "armv8", period = 100000, rate = 1 },
   draw = { period = { 50000, 100000, 200000, 300000 } },
   pages = {
      { text = [[
         A counter in hardware has as many bits as its makers could afford. perfmon shows counters of 64 bits
         everywhere: the lower bits live in the hardware, the upper ones in software. When the hardware's counter runs
         over, it interrupts, and the kernel adds 1 to the upper part.
      ]],
        run = carry, show = { { "bits of the hardware counter", "width" } } },
      { ask = [[We write {written} to the counter: the lower bits are all ones but the last. What does it show after one
         event?]],
        id = "one", kind = "hex", run = function() return {} end, show = { { "written", "written" },
           { "after 1 event", "after1" } },
        answer = "after1",
        right = "All bits of the hardware counter are 1 now.",
        wrong = { { is = "zero_hex", say = "One event too early: the last bit was 0 and is 1 now, {after1}." },
           { is = "after2", say = "That takes one event more." } },
        otherwise = "One more than {written} is {after1}.",
        hints = { "Write it as 0x and digits. The digit after e is f." } },
      { ask = [[And after a second event, with which the hardware's counter starts from 0 again?]], id = "two",
         kind = "hex",
        run = function() return {} end, show = { { "after 2 events, the hardware wrapped", "after2" } },
        answer = "after2",
        right = "The interrupt has added 1 to the upper part; the reader sees one number of 64 bits.",
        wrong = { { is = "zero_hex", say = [[That is what the hardware has. The interface adds the upper part, which the
           interrupt has increased: {after2}.]] }, { is = "after1", say = "It counts on: {after2}." } },
        otherwise = "The carry goes to the upper part: {after2}.",
        hints = { "Where does the carry go?" } },
      { ask = "How many overflow messages did the measuring tool get?", id = "messages",
        run = function() return {} end, show = { { "overflow messages", "messages" } },
        answer = "messages",
        right = "It is an affair of the kernel. The 64-bit counter has not overflowed.",
        wrong = { { more = true, say = [[The hardware interrupted, but that is no overflow to the tool: its counter has
           64 bits, and those have not run over. It got {messages}.]] } },
        otherwise = "It got {messages}.",
        hints = { "Has the counter of 64 bits run over?" } },
      { ask = [[At a rate of {rate} per ns, after how many seconds does the hardware's counter run over?]],
        id = "lasting", unit = "s", within = 0.1, run = lasting,
        show = { { "seconds to an overflow of the hardware", "seconds" }, { "in an hour", "wraps_an_hour" } },
        answer = "seconds",
        right = "{wraps_an_hour} times an hour a tool that reads the hardware's counter alone would be wrong.",
        wrong = { { more = true, say = [[It is sooner: two to the power of {width} is a number of ns, {seconds}
           seconds.]] } },
        otherwise = "Two to the power of {width} events, at {rate} a ns, are {seconds} seconds.",
        hints = { "How many values do {width} bits have?", "Divide them by the events of a second." } },
      { text = [[
         Counters count up, and interrupt when they run over. So a sampling period of p events is written as -p: after p
         events the counter is 0. In 64 bits, -p is what must be added to p to run over.
      ]],
        ask = [[The period is {period}. Which value does the counter show when it was written?]], id = "negative",
        kind = "hex",
        run = period, show = { { "period", "period" }, { "pmd_value", "pmd_value" },
           { "lower part, in the hardware", "low" } },
        answer = "pmd_value",
        right = "The lower part, {low}, goes to the hardware; the upper part is all ones.",
        wrong = { { is = "positive", say = [[That is the period itself. From there the counter would run for ages: it
           must reach 0 after {period} events, so it starts at {pmd_value}.]] },
           { is = "low", say = "That is the hardware's part of {pmd_value}; the interface shows all 64 bits." } },
        otherwise = "It is {pmd_value}: add {period} to it, and 64 bits run over to 0.",
        hints = { "At the prompt, `lpfm.u64(-5):hex()` shows a negative number. (`prompt` opens it.)" } },
      { ask = "After how many events is the tool told?", id = "told",
        run = function() return {} end, show = { { "events before the overflow", "before" }, { "PMD after the overflow",
        "after" } },
        answer = "before",
        right = "After exactly the period; both parts have run over, and the counter is {after}.",
        wrong = { { more = true, say = [[Not so late: the upper part is all ones, so the first carry makes it run over,
           too.]] } },
        otherwise = "After {before}: the period.",
        hints = { "What has the upper part to do when the lower one runs over?" } },
      { vary = [[`from(value, n)` counts n events from a value on, and prints what the counter shows then; values are
           numbers or texts such as "0xfffffffe". What does `from(-3, 5)` show? `params.model = "p6"` has counters of
           another width: where do they run over?]],
        setup = function(kit, p)
           return { from = function(value, n)
              local m = kit.machine(p)
              local ctx, tid, num = monitor(kit, m, kit.whole(n, "n"), value)
              assert(m:run { until_exit = tid })
              return kit.hex(kit.value(ctx, num))
           end }
        end },
      { task = "width-of", todo = [[How many bits has a counter of the model k8? At the prompt,
           `kit.pmd(0)` tells it, once `kit.machine{model = "k8"}` was made.]],
        run = function(kit) return { k8_width = (function()
           local m = kit.machine { model = "k8" }
           return kit.pmd(kit.counters(m)[1]).width
        end)(), interface_width = 64 } end,
        answer = "k8_width",
        right = "{k8_width} bits, and the interface makes {interface_width} of them.",
        wrong = { { is = "interface_width", say = "That is what the interface shows; the hardware has fewer." },
           { is = "width", say = "That is this lab's model." } },
        otherwise = "Ask the machine: the field is called width.",
        hints = { [[`m = kit.machine{model = "k8"}`, then `kit.pmd(0).width`.]] } },
      { task = "join", kind = "script",
        todo = [[
           Write what the kernel does: a script that returns a function which gets the software's part (a number with
           lower bits of 0), the hardware's value now, its value at the last look, and its width in bits. It returns
           the part for the next look and the whole count. The hardware may have run over once since then.

              return function(soft, now, last, width)
                 ...
                 return soft, soft + now
              end
        ]],
        check = function(_, _, fn)
           if type(fn) ~= "function" then return false, "The script returns no function." end
           for _, width in ipairs { 8, 32, 47 } do
              local soft, last, total = 0, 0, 0
              for _, step in ipairs { 1, 0, 2 ^ width - 2, 3, 0, 2 ^ (width - 1), 2 ^ (width - 1) } do
                 total = total + step
                 local now = total % 2 ^ width
                 local part, whole = fn(soft, now, last, width)
                 if whole ~= total then
                    return false, nil, { total = total, whole = tostring(whole), bits = width, now = now, last = last }
                 end
                 soft, last = part, now
              end
           end
           return true
        end,
        right = "No event is lost, as long as the counter is read once in each of its rounds: the interrupt does that.",
        otherwise = [[A counter of {bits} bits has {now} now, and had {last} at the last look. The whole count is
           {total}, and it says {whole}.]],
        solution = [[return function(soft, now, last, width)
   if now < last then soft = soft + 2 ^ width end
   return soft, soft + now
end]],
        mistake = "return function(soft, now) return soft, soft + now end",
        hints = { "How do you see that the hardware has run over?", "Its value is smaller than it was." } },
   },
}
