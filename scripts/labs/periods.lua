-- SPDX-License-Identifier: MIT
-- Figures 3.18, 3.19, 3.29, 3.30: initial, short and long periods; the buffer.

local lpfm = require "lpfm"

local SAMPLE, VALUE = 40, 8 -- bytes of the default format: section 3.6

-- Returns the offset of the first sample in a buffer.
local function header(kit)
   local ctx = kit.context { format = "default", buf_size = 4096 }
   local size = ctx.ctx:buffer():header().cur_offs
   ctx:close()
   return size
end

-- Returns the size of a buffer that is full after n samples: when a sample with all PMDs would not
-- fit.
local function room_for(kit, n)
   return header(kit) + n * SAMPLE + VALUE * #lpfm.pmds()
end

-- Samples a thread with the three periods; returns machine, thread, context and counter.
local function sampled(kit, p, flags)
   local m = kit.machine(p)
   local tid = assert(m:spawn { program = { { loop = "forever", { ip = 0x1000, ns = p.ns } } } })
   local ctx, num = kit.context { flags = flags, format = "default", buf_size = room_for(kit, p.buffer) },
      kit.counters(m)[1]
   ctx:write_pmcs { { num = num, value = assert(m:encode("instructions", num)) } }
   ctx:write_pmds { { num = num, value = -p.initial, short_reset = -p.short, long_reset = -p.long,
      flags = { "OVFL_NOTIFY" } } }
   ctx:load(tid)
   ctx:start()
   return m, tid, ctx, num
end

-- Draws the counter over time, from just before the first sample until the second buffer is full.
local function drawn(kit, p)
   local m, _, ctx, num = sampled(kit, p)
   local line, step, restart_at = {}, p.short * p.ns / 10, nil
   m:run { ns = (p.initial - p.short) * p.ns }
   for _ = 1, 10 * (2 * p.buffer + 20) do
      local message = ctx.ctx:read(0)
      if message and restart_at then break end
      if message then restart_at = m:time() + p.tool_us * 1000 end
      if restart_at and m:time() >= restart_at and not line.restarted then
         ctx:restart()
         line.restarted = true
      end
      line[#line + 1] = { m:time() / 1000, kit.value(ctx, num) }
      m:run { ns = step }
   end
   ctx:close()
   return kit.plot.lines({ line }, { xlabel = "us" })
end

-- Returns the instructions between samples over two buffers, and those executed while masked.
local function measure(kit, p, flags)
   local m, tid, ctx = sampled(kit, p, flags)
   local distances, last, masked = {}, 0, 0
   for _ = 1, 2 do
      assert(m:run { until_message = ctx.ctx })
      ctx:read(0)
      for tstamp in ctx.ctx:buffer():fields("tstamp") do
         distances[#distances + 1] = tstamp / p.ns - last
         last = tstamp / p.ns
      end
      local before = m:truth(tid).instructions.total
      m:run { us = p.tool_us }
      masked = m:truth(tid).instructions.total - before
      last = last + p.tool_us * 1000 / p.ns
      ctx:restart()
   end
   ctx:close()
   return distances, masked
end

-- Samples two counters that overflow at once: PMDs and time stamps. Figure 3.29.
local function at_once(kit, p)
   local m = kit.machine(p)
   local tid = assert(m:spawn { program = { { loop = p.period, { ip = 0x1000, ns = p.ns,
      events = { loads = 1, stores = 1 } } } } })
   local ctx, free, out = kit.context { format = "default", buf_size = 4096 }, kit.counters(m), { who = {}, when = {} }
   for i, event in ipairs { "loads", "stores" } do
      ctx:write_pmcs { { num = free[i], value = assert(m:encode(event, free[i])) } }
      ctx:write_pmds { { num = free[i], value = -p.period, short_reset = -p.period, long_reset = -p.period } }
   end
   ctx:load(tid)
   ctx:start()
   assert(m:run { until_exit = tid })
   for sample in ctx.ctx:buffer():samples() do
      table.insert(out.who, "PMD" .. sample.ovfl_pmd)
      table.insert(out.when, sample.tstamp)
   end
   return { simultaneous = #out.who, who = out.who, when = out.when, reversed = { out.who[2], out.who[1] } }
end

-- Fills a buffer that is a little too small for one sample more. Figure 3.30.
local function full(kit, p)
   local m = kit.machine(p)
   local tid = assert(m:spawn { program = { { loop = 100 * p.short, { ip = 0x1000, ns = p.ns } } } })
   local size = room_for(kit, p.buffer) - VALUE
   local ctx, num = kit.context { format = "default", buf_size = size }, kit.counters(m)[1]
   ctx:write_pmcs { { num = num, value = assert(m:encode("instructions", num)) } }
   ctx:write_pmds { { num = num, value = -p.short, short_reset = -p.short, long_reset = -p.long } }
   ctx:load(tid)
   ctx:start()
   assert(m:run { until_exit = tid })
   local now = ctx.ctx:buffer():header()
   return { size = size, lacking = VALUE, largest = SAMPLE + VALUE * #lpfm.pmds(), count = now.count,
      full = now.overflows, wasted = size - now.cur_offs, small = SAMPLE, buffer_header = header(kit),
      would_fit = math.floor((size - header(kit)) / SAMPLE) }
end

local function time_of(kit, p, how)
   local distances = measure(kit, { model = p.model, initial = how.initial or p.initial, short = how.short or p.short,
      long = how.long or p.long, buffer = how.buffer or p.buffer, tool_us = p.tool_us, ns = p.ns })
   return table.concat(distances, " ")
end

local DISTANCES = { initial = true, short = true, long = true, buffer = true }

local function setup(kit, p)
   return { distances = function(how)
      for name, value in pairs(how or {}) do
         if not DISTANCES[name] then error(("no '%s': initial, short, long, buffer"):format(tostring(name)), 0) end
         kit.whole(value, name)
      end
      return time_of(kit, p, how or {})
   end }
end

return {
   number = 3,
   title = "Sampling: periods, resets and a buffer that fills",
   goals = { "use the initial, the short and the long period", "say what is lost while a tool empties the buffer",
      "know when the default buffer counts as full" },
   read = { [[sections 3.4.1 and 3.6.5 of the specification, figures 3.18, 3.19, 3.29 and 3.30]],
   "at the prompt: ?restart" },
   figures = { "3.18", "3.19", "3.29", "3.30" },
   teacher = [[
      Students expect one period. That there are three comes from three different situations: before the part that
      matters, between samples, and after the tool has disturbed the caches. Let them name an experiment for each.

      The long period is loaded by the restart, not by the overflow; most predict it one sample too early.

      Masking loses events: with a running thread, what it executes meanwhile is in no sample. NOTIFY_BLOCK trades that
      for time. Neither is free; ask which they would choose for a server. Interrupts take no time here; on a laptop
      they do, which the option `interrupt_ns` shows, and lab costs.
   ]],
   params = { model = "itanium2", initial = 10000, short = 100, long = 500, buffer = 5, tool_us = 3, ns = 10,
   period = 600 },
   draw = { tool_us = { 2, 3, 4, 5 }, buffer = { 5, 6, 7 } },
   pages = {
      { text = [[
         A sample is taken when a counter overflows; then the counter needs a new value. perfmon knows three periods.
         The value written first is the initial period: it can skip the beginning of a program. While the buffer has
         room, overflows load the short period. When the buffer is full, monitoring is masked and the tool is told; the
         restart loads the long period, once, to leave out what the tool's work disturbed.

         Here the initial period is {initial} instructions, the short one {short}, the long one {long}; the buffer has
         room for {buffer} samples.
      ]] },
      { ask = "How many instructions lie before each of the first {buffer} samples? Write {buffer} numbers.",
        id = "first", kind = "words",
        run = function(kit, p)
           local d, masked = measure(kit, p)
           local first, next_ones, all_short, early = {}, {}, {}, {}
           for i = 1, p.buffer do
              first[i], next_ones[i], all_short[i], early[i] = d[i], d[p.buffer + i], p.short, d[i]
           end
           early[p.buffer] = p.long
           return { distances = d, first_buffer = first, second_buffer = next_ones, all_short = all_short,
              early = early,
              masked = masked, course = drawn(kit, p) }
        end,
        show = { { "instructions between samples, first buffer", "first_buffer" } },
        answer = "first_buffer",
        right = "The initial period once, then the short one.",
        wrong = { { is = "all_short", say = [[The first one is further away: the value that is written before the
           context is attached is the initial period.]] },
           { is = "early", say = [[The overflow that fills the buffer was reached with the short period, too; the long
              one comes with the restart, behind it.]] } },
        otherwise = "It is {first_buffer}: the initial period once, then the short one.",
        hints = { "Which value is in the counter at the start?",
        [[Which is loaded after a sample while there is room?]] } },
      { ask = [[The tool empties the buffer and restarts. What are the distances of the next {buffer} samples, from then
         on?]],
        id = "second", kind = "words",
        run = function() return {} end,
        show = { { "instructions between samples, second buffer", "second_buffer" },
           { "the counter over time", "course" } },
        answer = "second_buffer",
        right = "The long period once, then the short one again.",
        wrong = { { is = "all_short", say = "The restart loads the long period, {long}, once." },
           { is = "first_buffer", say = "The initial period is for the start alone; a restart loads the long one." } },
        otherwise = "It is {second_buffer}: the long period once, then short ones.",
        hints = { "Which period does the restart load?" } },
      { text = "The tool needs {tool_us} us to empty the buffer; an instruction takes {ns} ns.",
        ask = "How many instructions does the program execute meanwhile, that no counter sees?", id = "masked",
        run = function(kit, p)
           local d, masked = measure(kit, p, { "NOTIFY_BLOCK" })
           return { blocked_distances = d, masked_blocked = masked }
        end,
        show = { { "executed while the tool worked, thread running", "masked" } },
        answer = "masked",
        right = "The thread runs on, and monitoring is masked: these instructions are in no count.",
        wrong = { { is = "masked_blocked", say = [[That would be so if the thread were blocked; this one runs:
           {masked}.]] } },
        otherwise = "{tool_us} us of instructions of {ns} ns each: {masked}.",
        hints = { "Does the thread wait for the tool? Not unless one asks for it." } },
      { ask = "And with the flag NOTIFY_BLOCK, which blocks the thread until the restart?", id = "blocked",
        run = function() return {} end,
        show = { { "executed while the tool worked, thread blocked", "masked_blocked" },
           { "instructions between samples, thread blocked", "blocked_distances" } },
        answer = "masked_blocked",
        right = "Nothing is lost, but the thread's time is: it waits for the tool.",
        wrong = { { is = "masked", say = "It is blocked, so it executes nothing: {masked_blocked}." } },
        otherwise = "A blocked thread executes nothing: {masked_blocked}.",
        hints = { "What does a blocked thread execute?" } },
      { text = [[Two counters, of loads and of stores, have the same period, and every instruction loads and stores. So
           they overflow at the same moment.]],
        ask = [[Which counters have a sample, in their order in the buffer? (Names such as PMD0.)]], id = "order",
        kind = "words",
        run = at_once,
        show = { { "simultaneous overflows, samples", "simultaneous" }, { "overflowed", "who" }, { "time stamps",
        "when" } },
        answer = "who",
        right = "One sample for each counter, by their numbers; their time stamps are the same.",
        wrong = { { is = "reversed", say = "The lower number comes first: {who}." },
           { is = function(f) return f.who[1] end, say = [[Each counter that overflowed has a sample of its own:
              {who}.]] } },
        otherwise = "Each has one, the lower number first: {who}.",
        hints = { "The first counters of this machine are used.",
        [[A sample has room for one counter that overflowed.]] } },
      { text = [[
         The buffer of the default format counts as full when the largest possible sample might not fit any more: a
         header of {small} bytes and every PMD of the machine, {largest} bytes. Our samples are only headers. The header
         of the buffer takes {buffer_header} bytes. This buffer has {size} bytes in all.
      ]],
        ask = "How many samples does it take until it is full?", id = "full",
        run = full,
        show = { { "largest sample, bytes", "largest" }, { "buffer, bytes", "size" }, { "samples when full", "count" },
           { "times full", "full" }, { "wasted, bytes", "wasted" } },
        answer = "count",
        right = "The check after a sample is for the largest one; {wasted} bytes are wasted.",
        wrong = { { is = "would_fit", say = [[That many headers would fit. But the format does not know how large the
           next sample is, and stops while the largest would still fit: {count}.]] },
           { is = "buffer", say = "It lacks {lacking} bytes for that, and is full one sample earlier: {count}." } },
        otherwise = "It is full when less than {largest} bytes are left: after {count} samples.",
        hints = { "When is the check made, before or after a sample?" } },
      { vary = [[`distances{short = 50, long = 1000, buffer = 8}` measures with other periods at the prompt, and prints
           the distances between samples. How would you sample the main loop alone of a program that takes {initial}
           instructions to start? What if the long period is shorter than the short one?]],
        setup = setup },
      { task = "cover", kind = "script",
        todo = [[
           Choose periods. The program executes {skip} instructions before its main loop. Write a script that returns
           the initial, the short and the long period, so that the first sample lies within the first {short}
           instructions of the main loop, samples are {wanted} instructions apart, and after each restart {recover} are
           left out:

              return { initial = 1, short = 1, long = 1 }
        ]],
        run = function(_, p) return { skip = p.initial + p.long, wanted = 3 * p.short, recover = 4 * p.long } end,
        check = function(kit, p, t, f)
           if type(t) ~= "table" or not (tonumber(t.initial) and tonumber(t.short) and tonumber(t.long)) then
              return false, "The script returns no table with initial, short and long."
           end
           local d = measure(kit, { model = p.model, buffer = p.buffer, tool_us = p.tool_us, ns = p.ns,
              initial = t.initial,
              short = t.short, long = t.long })
           local first = d[1] > f.skip and d[1] <= f.skip + p.short
           return first and d[2] == f.wanted and d[p.buffer + 1] == f.recover, nil, { d = d }
        end,
        right = "The distances are {d}.",
        otherwise = "The distances are {d}: not what was asked for.",
        solution = "return { initial = 10550, short = 300, long = 2000 }",
        mistake = "return { initial = 10000, short = 300, long = 2000 }",
        hints = { [[The initial period is the first sample's place.]],
        [[The long period is what a restart leaves out.]] } },
   },
}
