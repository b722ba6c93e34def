-- SPDX-License-Identifier: MIT
-- Threads: false sharing, context switches, counting one among many.

local BASE = 0x1000000

local function computer(kit, p, cpus)
   return kit.machine(p, { cpus = cpus, explain = 1, hz = 1000, slice_ms = p.slice, itlb = 0, dtlb = 0, l1i = 0 })
end

-- p.n stores of each of two threads, each on a CPU of its own, `distance` bytes apart.
local function writers(kit, p, distance)
   local m, tids = computer(kit, p, 2), {}
   for cpu = 0, 1 do
      tids[cpu] = assert(m:spawn { cpu = cpu, affinity = { cpu }, program = { { loop = p.n,
         { ip = 0x1000 + 16 * cpu, store = BASE + cpu * distance } } } })
   end
   for cpu = 0, 1 do assert(m:run { until_exit = tids[cpu], s = 10 }) end
   local out = { misses = 0, coherence = 0, time = m:time() }
   for cpu = 0, 1 do
      local why = m:explain(0x1000 + 16 * cpu).store_misses
      out.misses, out.coherence = out.misses + why.total, out.coherence + why.coherence
   end
   return out, m
end

local function sharing(kit, p)
   local near, m = writers(kit, p, p.element)
   local line = m:caches(0).L1D.line
   local far = writers(kit, p, line)
   return { near = near.misses, coherence = near.coherence, far = far.misses, near_time = near.time,
      far_time = far.time,
      line = line, both = 2 * p.n, slower = near.time / far.time, writing = 2 }
end

-- Two threads on one CPU, each busy for p.busy ms.
local function switches(kit, p)
   local m = computer(kit, p, 1)
   local program = { { loop = p.busy * 1000, { ip = 0x1000, ns = 1000 } } }
   local other, tid = assert(m:spawn { program = program }), assert(m:spawn { program = program })
   local ctx, num = kit.context(), kit.counters(m)[1]
   ctx:write_pmcs { { num = num, value = assert(m:encode("instructions", num)) } }
   ctx:write_pmds { { num = num, value = 0 } }
   ctx:load(tid)
   ctx:start()
   assert(m:run { until_exit = other, s = 10 })
   assert(m:run { until_exit = tid, s = 10 })
   local one, two = m:truth(tid), m:truth(other)
   local n = (one.context_switches or { total = 0 }).total
   return { mine = kit.value(ctx, num), all = one.instructions.total + two.instructions.total, switched = n,
      elapsed = m:time() / 1e6, turns = p.busy / p.slice }
end

-- A process of p.workers threads, the i-th of which does i * p.n loads; the counts of each.
local function workers(kit, p)
   local m = computer(kit, p, 1)
   local first = assert(m:spawn { program = { { loop = p.n, { ip = 0x1000, ns = 10 } } } })
   local tids, contexts, counts, num = { first }, {}, {}, kit.counters(m)[1]
   local pid = m:threads()[1].pid
   for _, thread in ipairs(m:threads()) do
      if thread.tid == first then pid = thread.pid end
   end
   for i = 2, p.workers do
      tids[i] = assert(m:spawn { process = pid, program = { { loop = i * p.n, { ip = 0x1000, ns = 10 } } } })
   end
   for i, tid in ipairs(tids) do
      local ctx = kit.context()
      ctx:write_pmcs { { num = num, value = assert(m:encode("instructions", num)) } }
      ctx:write_pmds { { num = num, value = 0 } }
      ctx:load(tid)
      ctx:start()
      contexts[i] = ctx
   end
   for _, tid in ipairs(tids) do assert(m:run { until_exit = tid, s = 10 }) end
   local total = 0
   for i, ctx in ipairs(contexts) do
      counts[i] = kit.value(ctx, num)
      total = total + counts[i]
   end
   return { counts = counts, total = total, first_count = counts[1], last_count = counts[#counts],
      mean = total / #counts }
end

-- Stores of counters at the addresses that a function gives, by as many CPUs.
local function counters_at(kit, p, address)
   local m, tids, misses = computer(kit, p, p.cpus), {}, 0
   for cpu = 0, p.cpus - 1 do
      tids[#tids + 1] = assert(m:spawn { affinity = { cpu }, program = { { loop = p.n,
         { ip = 0x1000, store = BASE + address(cpu) } } } })
   end
   for _, tid in ipairs(tids) do assert(m:run { until_exit = tid, s = 10 }) end
   for cpu = 0, p.cpus - 1 do misses = misses + m:caches(cpu).L1D.store_misses end
   return misses
end

local function setup(kit, p)
   return { writers = function(distance) return writers(kit, p, distance).misses end }
end

return {
   number = 11,
   title = "Threads: false sharing, switches, one among many",
   minutes = 60,
   goals = { "recognize false sharing by its counts, and mend it", "count one thread while others run",
      "tell the sum of a process from the counts of its threads" },
   read = { "at the prompt: ?caches, ?explain", "lpfm help stat: --threads, --per-core" },
   teacher = [[
      False sharing cannot be seen in a program's text: the variables are different. This computer shows the worst case,
      a miss at nearly every store. Real ones have store buffers: a processor does many stores each time it owns the
      line, so fewer miss, and the factor is smaller. Nor do their PMUs count misses by cause: the signs are events of
      lines that were modified in another cache (HITM), snoops and machine clears, which `perf c2c` collects. Let
      students say what a cache would have to be like for it not to happen.

      A context counts a thread wherever it runs. Students take the count for that of a CPU, or of the process; the page
      of the workers separates the three.
   ]],
   params = { model = "k8", n = 1000, element = 8, slice = 10, busy = 40, workers = 4, cpus = 4 },
   draw = { n = { 800, 1000, 1200, 1500 }, busy = { 30, 40, 50 }, workers = { 3, 4, 5 } },
   pages = {
      { text = [[
         Two threads, each on a processor of its own, add to a variable {n} times. The two variables are different, and
         lie side by side, {element} bytes apart. A cache line has {line} bytes; to write to a line, a processor must
         have it alone, and takes it from the others.
      ]],
        ask = "How many of all {both} stores miss, about?", id = "near", within = 0.1,
        run = sharing,
        show = { { "stores that miss, side by side", "near" }, { "because the other took the line", "coherence" } },
        answer = "near",
        right = [[Nearly all: the line goes to and fro. The threads share nothing but the line: that is false sharing.
           (This is the worst case: a real processor collects stores, and may do many each time it has the line.)]],
        wrong = { { is = "writing", say = [[That would be so if nobody took the line away. But the other one writes to
           the same line: {near}.]] },
           { is = "n", say = "Both suffer, not one of them: {near}." } },
        otherwise = "Each store finds that the other has taken the line: {near}.",
        hints = { "In whose cache is the line after a store?", "Who stores next?" } },
      { ask = "The variables are moved a line apart. How many stores miss now?", id = "far",
        run = function() return {} end,
        show = { { "stores that miss, a line apart", "far" }, { "time side by side, ns", "near_time" },
           { "time a line apart, ns", "far_time" } },
        answer = "far",
        right = "Each line once. The program is {slower} times as fast, and not one instruction has changed.",
        wrong = { { is = "near", say = "The lines are different now, and nobody takes them away: {far}." },
           { is = function() return 0 end, say = "Each line has to be fetched once: {far}." } },
        otherwise = "One miss for each line: {far}.",
        hints = { "How many lines are there now, and who wants them?" } },
      { text = [[
         Two threads share one processor; each executes for {busy} ms, {slice} ms at a time, and an instruction takes a
         us. A counter is attached to the second one.
      ]],
        ask = "How many instructions does it count?", id = "mine",
        run = switches,
        show = { { "instructions of the thread", "mine" }, { "of both", "all" }, { "context switches of the thread",
        "switched" },
           { "elapsed, ms", "elapsed" } },
        answer = "mine",
        right = "Its own, though its time was cut into pieces: the counter is saved and restored at each switch.",
        wrong = { { is = "all", say = [[That is both. The context is of one thread, and counts while that runs:
           {mine}.]] },
           { is = function(f) return f.mine / 2 end, say = [[It runs half of the elapsed time, but that lasts twice as
              long. {mine}.]] } },
        otherwise = "{busy} ms of instructions of a us: {mine}.",
        hints = { "How long does this thread itself run?" } },
      { text = [[
         A process has {workers} threads. The first executes {n} instructions, the second twice as many, the third three
         times, and so on.
      ]],
        ask = "A context is attached to the first thread. What does it count?", id = "first",
        run = workers, show = { { "instructions by thread", "counts" }, { "of the process", "total" } },
        answer = "first_count",
        right = "A context is of one thread. For all of them, each has one of its own, as `lpfm stat --threads` does.",
        wrong = { { is = "total", say = [[That is the process: the sum of {workers} contexts. One of them counts its
           thread: {first_count}.]] },
           { is = "last_count", say = "That is the last thread." } },
        otherwise = "Its own {first_count}, whatever the others do.",
        hints = { "Of what is a context: a thread, a process, or a processor?" } },
      { ask = "And the sum over all threads?", id = "total",
        run = function() return {} end, show = { { "of the process", "total" }, { "mean of a thread", "mean" } },
        answer = "total",
        right = "The mean is {mean}, and no thread is like it: look at single ones before you mend anything.",
        wrong = { { is = "last_count", say = [[That is the busiest one; or did you take all for alike? They are
           {counts}.]] } },
        otherwise = "Add {counts}: {total}.",
        hints = { "One, two, three, four times {n}." } },
      { vary = [[`writers(distance)` has two threads store to variables that many bytes apart, and tells how many stores
           miss. From which distance on is all well? Try it with `params.model = "p6"`: its lines have another size.]],
        setup = setup },
      { task = "distance", unit = "bytes",
        todo = [[What is the smallest distance in bytes (a multiple of {element}) with which two
           threads do not disturb each other, on the model p6? `params.model = "p6"` at the prompt, then
           `writers(distance)`.]],
        setup = setup,
        run = function(kit, p, f)
           local q, distance = {}, 0
           for k, v in pairs(p) do q[k] = v end
           q.model = "p6"
           repeat
              distance = distance + p.element
           until writers(kit, q, distance).coherence == 0 or distance > 16 * f.line
           return { p6_distance = distance }
        end,
        answer = "p6_distance",
        right = "A line of that model.",
        wrong = { { is = "line", say = "That is enough, but it is the line of {model}; this one's is shorter." },
           { less = true, say = "They share a line still." } },
        otherwise = "It is the size of a line.",
        hints = { "The smallest distance is the size of a line, if a line begins at the first variable." } },
      { task = "pad", kind = "script",
        todo = [[
           {cpus} processors count, each in a counter of its own, {n} times. With the counters side by side,
           {side_misses} stores miss. Write a script that returns a function from a processor (from 0) to the offset in
           bytes of its counter, with which at most {allowed} miss, within {most_bytes} bytes:

              return function(cpu)
                 return {element} * cpu
              end
        ]],
        run = function(kit, p)
           return { side_misses = counters_at(kit, p, function(cpu) return p.element * cpu end), allowed = 2 * p.cpus,
              most_bytes = 1024 }
        end,
        check = function(kit, p, fn, f)
           if type(fn) ~= "function" then return false, "The script returns no function." end
           local seen = {}
           for cpu = 0, p.cpus - 1 do
              local at = fn(cpu)
              if type(at) ~= "number" or at < 0 or at % p.element ~= 0 or at + p.element > f.most_bytes then
                 return false, "An offset is no multiple of {element}, or not within {most_bytes} bytes."
              end
              if seen[at] then return false, "Two processors have the same counter." end
              seen[at] = true
           end
           local misses = counters_at(kit, p, fn)
           return misses <= f.allowed, nil, { misses = misses }
        end,
        right = "{misses} misses instead of {side_misses}.",
        otherwise = "{misses} stores miss.",
        solution = "return function(cpu) return 64 * cpu end",
        mistake = "return function(cpu) return 32 * cpu end",
        hints = { "How far apart must two counters be not to share a line?" } },
   },
}
