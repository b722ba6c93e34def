-- SPDX-License-Identifier: MIT
-- Threads: false sharing, context switches, counting one of many threads.

local BASE = 0x1000000

local function computer(kit, p, cpus, stores)
   return kit.machine(p, { cpus = cpus, explain = 1, hz = 1000, slice_ms = p.slice, itlb = 0, dtlb = 0, l1i = 0,
      store_buffer = stores or 0 })
end

-- Runs two threads, each on its own CPU, that store p.n times, `distance` bytes apart.
local function writers(kit, p, distance, stores)
   local m, tids = computer(kit, p, 2, stores), {}
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

-- Runs two threads on one CPU, each busy for p.busy ms.
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

-- Counts the p.workers threads of a process, of which the i-th executes i * p.n instructions.
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

-- Counts misses when each of p.cpus CPUs stores to a counter at the address that a function gives.
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

local X, Y = BASE, BASE + 4096

-- Makes a thread that waits, stores to one variable, perhaps has a fence, and loads the other.
local function crossing(m, cpu, first, second, wait, fence)
   local program = { { ip = 0x1000 + 16 * cpu, store = first }, { ip = 0x1008 + 16 * cpu, load = second } }
   if fence then table.insert(program, 2, { ip = 0x1004 + 16 * cpu, fence = true }) end
   if wait > 0 then table.insert(program, 1, { ip = 0x3000, ns = wait }) end
   return assert(m:spawn { affinity = { cpu }, program = program })
end

-- Counts in how many of p.tries runs both loads see old values; one thread starts later each time.
local function both_old(kit, p, stores, fence)
   local n = 0
   for i = 0, p.tries - 1 do
      local m = computer(kit, p, 2, stores)
      local tids = { crossing(m, 0, X, Y, 0, fence), crossing(m, 1, Y, X, 10 * i, fence) }
      for _, tid in ipairs(tids) do assert(m:run { until_exit = tid, s = 10 }) end
      if not m:explain(0x1008).saw and not m:explain(0x1018).saw then n = n + 1 end
   end
   return n
end

local function orders(kit, p)
   return { in_order = both_old(kit, p, 0), passed = both_old(kit, p, p.stores), fenced = both_old(kit, p, p.stores,
      true) }
end

-- Returns the expected answer about a figure: 1, it can happen, or 2, it cannot.
local function can_be(figure)
   return function(f) return f[figure] > 0 and 1 or 2 end
end

local function setup(kit, p)
   return { writers = function(distance, stores)
      return writers(kit, p, kit.whole(distance, "distance", 0), stores).misses
   end }
end

return {
   number = 11,
   title = "Threads: false sharing, switches, one among many",
   goals = { "recognize false sharing by its counts, and mend it", "count one thread while others run",
      "say what a store buffer does to the order of loads and stores, and to counts",
      "tell the sum of a process from the counts of its threads" },
   read = { "at the prompt: ?caches, ?explain", "lpfm help stat: --threads, --per-core" },
   teacher = [[
      False sharing cannot be seen in a program's text: the variables are different. The first pages show the worst
      case, a miss at nearly every store, of a computer without store buffers. Real ones have them: a processor does
      many stores each time it owns the line, so fewer miss, and the factor is smaller; the option `store_buffer` shows
      it, on the pages about it. This computer's buffer keeps a store as long as there is room; real ones also let it
      go by themselves, so that the outcome with both loads old is rare there (write the test in C, and count). The
      order is that of x86 (TSO): other processors let more pass. Nor do their PMUs count misses by cause: the signs are
      events of lines that were modified in another cache (HITM), snoops and machine clears, which `perf c2c` collects.
      Let students say what a cache would have to be like for it not to happen.

      A context counts a thread wherever it runs. Students take the count for that of a CPU, or of the process; the page
      of the workers separates the three.
   ]],
   params = { model = "k8", n = 1000, element = 8, slice = 10, busy = 40, workers = 4, cpus = 4, stores = 8,
      tries = 40 },
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
           (This is the worst case: a real processor collects stores, and may do many each time it has the line. A
           page below has that, the option `store_buffer`.)]],
        wrong = { { is = "writing", say = [[That would be so if nobody took the line away. But the other one writes to
           the same line: {near}.]] },
           { is = "n", say = "Both suffer, not one of them: {near}." } },
        otherwise = "Each store finds that the other has taken the line: {near}.",
        hints = { "In which thread's cache is the line after a store?", "Who stores next?" } },
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
        run = workers, show = { { "instructions by thread", "counts" } },
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
        hints = { "Once {n}, twice, three times, and so on: {workers} of them." } },
      { text = [[
           Two variables x and y are 0, each in a line of its own. One thread stores 1 to x, then loads y. Another
           one, on another processor, stores 1 to y, then loads x. So far, each processor does one thing after the
           other.
        ]],
        ask = "Can both loads get 0?", id = "in-order", kind = "choice",
        choices = { { "yes", say = [[Whichever store is the first, the other thread's load comes after its own store, so
           after the first one, and sees it: in {tries} tries it happened {in_order} times.]] },
           { "no", say = [[One of the stores is the first. The other thread's load comes after both: it sees 1. In
              {tries} tries, with one thread starting later and later, both were 0 {in_order} times.]] } },
        run = orders, answer = can_be "in_order",
        hints = { "Write all orders of the four down: each thread's two stay in order." } },
      { text = [[
           A real processor does not wait for its stores: they go into a buffer, and to the cache when there is time.
           Loads go past them. Here that is the option `store_buffer`, of {stores} stores.
        ]],
        ask = "Can both loads get 0 now?", id = "buffered", kind = "choice",
        choices = { { "yes", say = [[Both stores are in their buffers still, where the other processor does not see
           them: {passed} of {tries} tries. No order of the four explains it, and no debugger shows it.]] },
           { "no", say = [[They can: while both stores wait in their buffers, both loads go past them. It happened in
              {passed} of {tries} tries.]] } },
        run = function() return {} end, answer = can_be "passed",
        hints = { "Where is the 1 when the other thread loads?" } },
      { ask = [[Each thread has a fence between its store and its load: an instruction that waits until the buffer is
           empty. Can both loads get 0?]], id = "fenced", kind = "choice",
        choices = { { "yes", say = [[Behind the fence the store is in the cache, for all to see. So it is as without
           buffers: {fenced} of {tries} tries.]] },
           { "no", say = [[Behind the fence the store can be seen by all: {fenced} of {tries} tries. Operations that are
              locked wait likewise; that is what makes them slow, and locks right.]] } },
        run = function() return {} end, answer = can_be "fenced",
        hints = { "Who sees the store, once the fence has been passed?" } },
      { ask = [[The two threads of the first page add to variables side by side again, {n} times each, with buffers of
           {stores} stores. When the oldest store leaves a full buffer, those behind it to the same line go with it. How
           many of all {both} stores miss?]], id = "combined", within = 0.1,
        run = function(kit, p) return { combined = writers(kit, p, p.element, p.stores).misses } end,
        show = { { "stores that miss, with buffers", "combined" }, { "without", "near" } },
        answer = "combined",
        right = [[One for each full buffer: the line still goes to and fro, but each time it comes, {stores} stores are
           done. So false sharing on a laptop shows fewer misses than stores, and costs less than here at first.]],
        wrong = { { is = "near", say = "A processor that has the line does all stores in its buffer: {combined}." },
           { is = function() return 2 end, say = [[The buffer is finite: it fills, and the line must come again.
              {combined}.]] } },
        otherwise = "{stores} stores each time the line comes: {combined}.",
        hints = { "How many stores wait when the line comes?" } },
      { vary = [[`writers(distance, stores)` has two threads store to variables that many bytes apart, and tells how
           many stores miss; with buffers of so many stores if that is given. From which distance on is all well? Try it
           with `params.model = "p6"`: its lines have another size.]],
        setup = setup },
      { task = "distance", unit = "bytes",
        todo = [[What is the smallest distance in bytes (a multiple of {element}) with which two
           threads do not disturb each other, on the model p6? `params.model = "p6"` at the prompt, then
           `writers(distance)`.]],
        setup = setup,
        run = function(kit, p, f)
           local q, distance = {}, 0
           if p.element == 0 then error("parameter element: expected 1 byte or more, got 0", 0) end
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
           fn = kit.once(fn)
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
