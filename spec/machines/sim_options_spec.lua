-- SPDX-License-Identifier: MIT
-- What a laptop has beyond the simulated computer's default: pseudo-LRU, a prefetcher, interrupts
-- that cost, store buffers. Each is compared with a model of it in Lua, written from its definition
-- in textbooks.
local lpfm = require "lpfm"
local sim = require "support.sim"

local A, B = 0x1000000, 0x2000000

local function computer(options)
   local all = { l1d = "1024:4:64", l1i = 0, l2 = 0, l3 = 0, itlb = 0, dtlb = 0 }
   for k, v in pairs(options or {}) do all[k] = v end
   return sim.machine("k8", all)
end

local run, total = sim.run_program, sim.total

-- Returns a function that draws a number from 0 to n - 1; a seed gives the same numbers each time.
local function dice(seed)
   local state = seed
   return function(n)
      state = (state * 16807) % 2147483647
      return state % n
   end
end

-- Returns a program of these operations, { "load" or "store", address, size }.
local function operations(list)
   local at = 0
   return { { ops = function()
      at = at + 1
      local op = list[at]
      if op then return 0x1000, op[1], op[2], op[3] or 1 end
   end } }
end

-- --- replacement ---------------------------------------------------------------------------------

-- Makes a set of ways under tree pseudo-LRU: each half of the ways has a half that was used last,
-- and the victim is in the other one.
local function plru_set(ways)
   local lines, used = {}, {}
   local function use(from, to, way)
      if from == to then return end
      local middle = (from + to - 1) / 2
      local low = way <= middle
      used[from .. "-" .. to] = low and "low" or "high"
      if low then use(from, middle, way) else use(middle + 1, to, way) end
   end
   local function victim(from, to)
      if from == to then return from end
      local middle = (from + to - 1) / 2
      if used[from .. "-" .. to] == "low" then return victim(middle + 1, to) end
      return victim(from, middle)
   end
   return function(line)
      for way = 1, ways do
         if lines[way] == line then
            use(1, ways, way)
            return false
         end
      end
      local way = #lines < ways and #lines + 1 or victim(1, ways)
      lines[way] = line
      use(1, ways, way)
      return true
   end
end

-- Counts the misses of each set when lines are accessed in this order.
local function plru(ways, sets, lines)
   local cache, misses = {}, {}
   for set = 1, sets do cache[set], misses[set] = plru_set(ways), 0 end
   for _, line in ipairs(lines) do
      local set = line % sets + 1
      if cache[set](line) then misses[set] = misses[set] + 1 end
   end
   return misses
end

describe("caches with :plru behind their shape", function()
   before_each(sim.begin)
   after_each(sim.finish)

   for _, shape in ipairs { { 2, 4 }, { 4, 4 }, { 8, 2 }, { 16, 1 }, { 1, 8 } } do
      local ways, sets = shape[1], shape[2]
      it(("replace by the tree: %d ways, %d sets"):format(ways, sets), function()
         local roll, list, lines = dice(ways), {}, {}
         for i = 1, 5000 do
            lines[i] = roll(3 * ways * sets)
            list[i] = { "load", A + 64 * lines[i] } -- A is a multiple of all of these sizes
         end
         local m = computer { l1d = ("%d:%d:64:plru"):format(64 * ways * sets, ways) }
         run(m, operations(list))
         assert.are.same(plru(ways, sets, lines), m:cache_sets("L1D"))
         assert.are.equal("pseudo-LRU", m:caches().L1D.policy)
      end)
   end

   it("are TLBs as well", function()
      local roll, list, pages = dice(7), {}, {}
      for i = 1, 3000 do
         pages[i] = roll(12)
         list[i] = { "load", A + 4096 * pages[i] + 8 * roll(500) }
      end
      local m = computer { dtlb = "32768:8:4096:plru" }
      local truth = run(m, operations(list))
      assert.are.equal(plru(8, 1, pages)[1], truth.dtlb_misses.user)
   end)

   -- A loop over one line more than a set holds always misses under LRU, and hardly less under the
   -- tree.
   it("keep hardly more than LRU of a walk that is a line too long", function()
      local misses, lines = {}, {}
      for _, policy in ipairs { "", ":lru", ":plru" } do
         local m = computer { l1d = "1024:16:64" .. policy }
         misses[policy] = run(m, { { loop = 100, { loop = 17, { ip = 0x1000, load = { A, 64 } } } } }).l1d_misses.user
      end
      for i = 0, 1699 do lines[#lines + 1] = i % 17 end
      assert.are.equal(1700, misses[""])
      assert.are.equal(1700, misses[":lru"])
      assert.are.equal(plru(16, 1, lines)[1], misses[":plru"])
      assert.is_true(misses[":plru"] < 1700)
   end)

   -- a b c d fill the ways, a is used again: LRU replaces b, the tree points away from a's half, to
   -- c.
   it("replace another line than LRU when one of four is used again", function()
      for policy, replaced in pairs { lru = 1, plru = 2 } do
         for asked = 1, 3 do
            local m, list = computer { l1d = "256:4:64:" .. policy }, {}
            for i, line in ipairs { 0, 1, 2, 3, 0, 4, asked } do list[i] = { "load", A + 64 * line } end
            assert.are.equal(5 + (asked == replaced and 1 or 0), run(m, operations(list)).l1d_misses.user, policy)
         end
      end
   end)

   it("can be by fifo and random, too", function()
      -- 5 lines in 4 ways; A is used after each of the others: FIFO evicts even A
      local program = { { loop = 50, { loop = 4, { ip = 0x1000, load = { A + 64, 64 } }, { ip = 0x1004, load = A } } } }
      assert.are.equal(50 * 4 + 1, run(computer { l1d = "256:4:64" }, program).l1d_misses.user)
      local fifo = run(computer { l1d = "256:4:64:fifo" }, program).l1d_misses.user
      assert.is_true(fifo > 50 * 4 + 1, fifo)
      local random = run(computer { l1d = "256:4:64:random" }, program).l1d_misses.user
      assert.is_true(random > 5 and random < 400, random)
   end)
end)

-- --- the prefetcher ------------------------------------------------------------------------------

-- Models a cache of LRU sets with a prefetcher. Each access is a list of lines. Returns misses,
-- prefetches, and prefetched lines that were thrown away before an access to them.
local function prefetching(ways, sets, line, mode, accesses)
   local cache, out, per_page = {}, { misses = 0, prefetches = 0, unused = 0 }, 4096 / line
   for set = 0, sets - 1 do cache[set] = {} end -- the latest first
   local function find(block)
      for i, entry in ipairs(cache[block % sets]) do
         if entry.block == block then return entry, i end
      end
   end
   local function put(entry)
      local set = cache[entry.block % sets]
      table.insert(set, 1, entry)
      local gone = set[ways + 1] and table.remove(set)
      if gone and gone.unused then out.unused = out.unused + 1 end
   end
   for _, blocks in ipairs(accesses) do
      local missed, ahead = false, {}
      for _, block in ipairs(blocks) do
         local entry, at = find(block)
         if entry then
            table.insert(cache[block % sets], 1, table.remove(cache[block % sets], at))
            if entry.unused and mode == 2 then ahead[#ahead + 1] = block + 1 end
            entry.unused = false
         else
            missed = true
            put { block = block }
            ahead[#ahead + 1] = block + 1
         end
      end
      if missed then out.misses = out.misses + 1 end
      for _, block in ipairs(ahead) do
         if mode > 0 and block % per_page ~= 0 and not find(block) then
            out.prefetches = out.prefetches + 1
            put { block = block, unused = true }
         end
      end
   end
   return out
end

-- Returns random accesses with runs in them, as programs have; some lie in two lines.
local function walk(seed, n)
   local roll, list, accesses, at = dice(seed), {}, {}, 0
   for i = 1, n do
      at = roll(3) > 0 and at + roll(40) or roll(8192)
      local size = 1 + roll(16)
      list[i] = { roll(4) == 0 and "store" or "load", A + at, size }
      local first, last = math.floor((A + at) / 64), math.floor((A + at + size - 1) / 64)
      accesses[i] = first == last and { first } or { first, last }
   end
   return list, accesses
end

describe("the option prefetch", function()
   before_each(sim.begin)
   after_each(sim.finish)

   for mode = 0, 2 do
      it("fetches the lines that its definition says: " .. mode, function()
         for seed = 1, 5 do
            local list, accesses = walk(seed, 3000)
            local truth = run(computer { prefetch = mode }, operations(list))
            local expected = prefetching(4, 4, 64, mode, accesses)
            assert.are.same(expected, { misses = truth.l1d_misses.user, prefetches = total(truth, "prefetches"),
               unused = total(truth, "prefetches_unused") }, "seed " .. seed)
            assert.are.equal(mode > 0, expected.unused > 0)
            -- without an L1I, each of the 3000 fetches goes to the bus, too
            assert.are.equal(3000 + expected.misses + expected.prefetches, truth.bus_accesses.user)
         end
      end)
   end

   it("makes of a walk a miss for every second line, or one for each page", function()
      local program = { { loop = 4096, { ip = 0x1000, load = { A, 8 } } } } -- 8 pages, 512 lines
      assert.are.equal(512, run(computer(), program).l1d_misses.user)
      assert.are.equal(256, run(computer { prefetch = 1 }, program).l1d_misses.user)
      assert.are.equal(8, run(computer { prefetch = 2 }, program).l1d_misses.user)
   end)

   it("asks the next level, once for each line that it brings", function()
      local truth = run(computer { prefetch = 1, l2 = "65536:8:64" }, { { loop = 100, { ip = 0x1000,
         load = { A, 128 } } } })
      assert.are.equal(100, truth.l1d_misses.user)
      assert.are.equal(100, truth.prefetches.user)
      assert.are.equal(200 + truth.l1i_misses.user, truth.l2_accesses.user)
   end)

   it("takes no time", function()
      local times = {}
      for mode = 0, 1 do
         local m = computer { prefetch = mode }
         run(m, { { loop = 100, { ip = 0x1000, load = { A, 128 } } } })
         times[mode] = m:time()
      end
      assert.are.equal(times[0], times[1])
   end)

   it("is counted by a counter, as are those in vain", function()
      local m = computer { prefetch = 1 }
      local ctx, tid = sim.context(), assert(m:spawn { program = { { loop = 1000, { ip = 0x1000,
         load = { A, 128 } } } } })
      sim.count(ctx, 0, "prefetches", { level = "u" })
      sim.count(ctx, 1, "prefetches_unused", { level = "u" })
      sim.start(ctx, tid)
      assert(m:run { until_exit = tid })
      assert.are.equal(1000, sim.value(ctx, 0))
      assert.are.equal(m:truth(tid).prefetches_unused.user, sim.value(ctx, 1))
      assert.are.equal(1000 - 8, sim.value(ctx, 1)) -- 16 lines stay, 8 of which were prefetched
   end)

   it("counts a line that another CPU takes before it was used", function()
      local m = computer { prefetch = 1, cpus = 2 }
      local one = assert(m:spawn { affinity = { 0 }, program = { { ip = 0x1000, load = A }, { ip = 0x1004, ns = 5000 },
         { ip = 0x1008, load = B } } })
      assert(m:spawn { affinity = { 1 }, program = { { ip = 0x2000, ns = 1000 }, { ip = 0x2004, store = A + 64 } } })
      assert(m:run { until_exit = one })
      assert.are.equal(1, m:truth(one).prefetches_unused.user)
   end)

   it("has its events only where it is on", function()
      local truth = run(computer(), { { loop = 10, { ip = 0x1000, load = { A, 64 } } } })
      assert.is_nil(truth.prefetches)
      assert.is_nil(truth.forwards)
   end)
end)

-- --- what interrupts cost ------------------------------------------------------------------------

-- Samples n instructions of `ns` each; returns the machine, the tid, the number of samples, and the
-- context.
local function sampled(options, n, ns, period, levels, more)
   local m = sim.machine("k8", options)
   local tid = assert(m:spawn { program = { { loop = n, { ip = 0x1000, ns = ns } } } })
   local ctx = sim.context { format = "default", buf_size = 2 ^ 20 }
   local pmd = { level = levels, value = -period, short_reset = -period, long_reset = -period }
   for k, v in pairs(more or {}) do pmd[k] = v end
   sim.count(ctx, 0, "instructions", pmd)
   sim.count(ctx, 1, "cycles", { level = "u" })
   sim.count(ctx, 2, "cycles", { level = "k" })
   sim.start(ctx, tid)
   assert(m:run { until_exit = tid, s = 100 })
   local samples = 0
   for _ in ctx:buffer():samples() do samples = samples + 1 end
   return m, tid, samples, ctx
end

describe("the option interrupt_ns", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("takes so long in the kernel for each overflow, in the time of the thread", function()
      local cases = { { 10000, 10, 1000, 700 }, { 10000, 10, 7, 1 }, { 999, 3, 1000, 50 }, { 50, 20, 1, 5000 } }
      for _, case in ipairs(cases) do
         local n, ns, period, cost = case[1], case[2], case[3], case[4]
         local m, tid, samples, ctx = sampled({ interrupt_ns = cost }, n, ns, period, "u")
         local interrupts = math.floor(n / period)
         assert.are.equal(interrupts, samples)
         assert.are.equal(n * ns + interrupts * cost, m:time())
         local truth = m:truth(tid)
         assert.are.equal(n * ns, truth.time.user)
         assert.are.equal(interrupts * cost, truth.time.interrupt)
         assert.are.equal(interrupts, truth.instructions.interrupt)
         assert.are.equal(n * ns, sim.value(ctx, 1), "cycles of user level")
         assert.are.equal(interrupts * cost, sim.value(ctx, 2), "cycles of the kernel")
         for _, thread in ipairs(m:threads()) do
            if thread.tid == tid then assert.are.equal(n * ns + interrupts * cost, thread.ran) end
         end
      end
   end)

   it("is nothing by default", function()
      local m, tid = sampled({}, 1000, 10, 10, "u")
      assert.are.equal(10000, m:time())
      assert.are.equal(0, m:truth(tid).time.interrupt)
   end)

   it("distorts what is counted in the kernel, and the thread goes on however often that is", function()
      -- a period of 1 at all levels: the interrupt's own instruction overflows, too
      local m, tid, samples = sampled({ interrupt_ns = 100 }, 500, 10, 1, "uk")
      assert.are.equal(501, samples) -- one more by the last interrupt, when the thread ends
      assert.are.equal(500 * 110, m:time())
      assert.are.equal(500, m:truth(tid).instructions.user)
   end)

   it("is taken by devices, before their programs", function()
      local cost, handler, n, ns, first, every = 300, 50, 1000, 10, 1000, 2000
      local m = sim.machine("k8", { interrupt_ns = cost })
      assert(m:interrupt { cpu = 0, start = first, period = every,
         program = { { ip = 0x9000, ns = handler, level = "interrupt" } } })
      local truth = run(m, { { loop = n, { ip = 0x1000, ns = ns } } })
      -- interrupts take the thread's time: they come until it ends, and each delays its end
      local time, interrupts = n * ns, 0
      while first + interrupts * every < time do
         interrupts, time = interrupts + 1, time + cost + handler
      end
      assert.are.equal(time, m:time())
      assert.are.equal(interrupts, truth.interrupts.total)
      assert.are.equal(interrupts * (cost + handler), truth.time.interrupt)
   end)

   it("is taken on top of a device's program, too", function()
      local m = sim.machine("k8", { interrupt_ns = 300 })
      assert(m:interrupt { cpu = 0, start = 100,
         program = { { loop = 4, { ip = 0x9000, ns = 50, level = "interrupt" } } } })
      local tid = assert(m:spawn { program = { { loop = 1000, { ip = 0x1000, ns = 10 } } } })
      local ctx = sim.context { format = "default", buf_size = 2 ^ 16 }
      sim.count(ctx, 0, "instructions", { level = "k", value = -2, short_reset = -100, long_reset = -100 })
      sim.start(ctx, tid)
      assert(m:run { until_exit = tid })
      -- the device's interrupt, and that of the overflow at the first instruction of its program
      assert.are.equal(1000 * 10 + 4 * 50 + 2 * 300, m:time())
   end)

   it("is not taken by samples that the processor keeps by itself", function()
      local m = sim.machine("core2", { interrupt_ns = 1000 })
      local tid = assert(m:spawn { program = { { loop = 1000, { ip = 0x1000, ns = 10 } } } })
      assert(m:run { until_exit = tid })
      assert.are.equal(10000, m:time())
   end)

   it("is refused where threads of the host are followed", function()
      local m, err = lpfm.machine("sim:k8,live", { interrupt_ns = 10 })
      assert.is_nil(m)
      assert.truthy(err:find("interrupt_ns", 1, true), err)
   end)
end)

-- --- store buffers -------------------------------------------------------------------------------

-- Returns all outcomes of two threads, lists of { "store" | "load" | "fence" | "locked",
-- variable }: for each load the store that it sees, "thread.place", or "-". If `buffers` is true,
-- the model is total store order: each thread has a queue of stores of which the oldest may go to
-- memory at any time; else it is sequential consistency.
local function outcomes(threads, buffers)
   local found, seen_states = {}, {}
   local at, queue, memory, saw = { 1, 1 }, { {}, {} }, {}, {}
   local explore
   local function key()
      local parts = { at[1], at[2] }
      for t = 1, 2 do
         for _, s in ipairs(queue[t]) do parts[#parts + 1] = s[1] .. s[2] end
         parts[#parts + 1] = "|"
      end
      for _, name in ipairs { "x", "y" } do parts[#parts + 1] = memory[name] or "-" end
      for t = 1, 2 do
         for i = 1, #threads[t] do parts[#parts + 1] = saw[t .. "." .. i] or "." end
      end
      return table.concat(parts, " ")
   end
   local function commit(t)
      local s = table.remove(queue[t], 1)
      local before = memory[s[1]]
      memory[s[1]] = s[2]
      explore()
      memory[s[1]] = before
      table.insert(queue[t], 1, s)
   end
   local function step(t)
      local op, id = threads[t][at[t]], t .. "." .. at[t]
      if (op[1] == "fence" or op[1] == "locked") and #queue[t] > 0 then return end
      local before = memory[op[2]]
      if op[1] == "load" or op[1] == "locked" then
         saw[id] = memory[op[2]] or "-"
         for _, s in ipairs(queue[t]) do
            if s[1] == op[2] then saw[id] = s[2] end
         end
      end
      local queued = op[1] == "store" and buffers
      if queued then
         table.insert(queue[t], { op[2], id })
      elseif op[1] == "store" or op[1] == "locked" then
         memory[op[2]] = id
      end
      at[t] = at[t] + 1
      explore()
      at[t] = at[t] - 1
      if queued then table.remove(queue[t]) elseif op[2] then memory[op[2]] = before end
      saw[id] = nil
   end
   function explore()
      local state = key()
      if seen_states[state] then return end
      seen_states[state] = true
      for t = 1, 2 do
         if at[t] <= #threads[t] then step(t) end
         if #queue[t] > 0 then commit(t) end
      end
      if at[1] > #threads[1] and at[2] > #threads[2] then
         local out = {}
         for t = 1, 2 do
            for i = 1, #threads[t] do out[#out + 1] = saw[t .. "." .. i] end
         end
         found[table.concat(out, " ")] = true
      end
   end
   explore()
   return found
end

local VARIABLES = { x = A, y = B }

-- Runs threads, as of outcomes(), on the machine; `delays` returns the ns before each operation.
local function litmus(threads, stores, delays)
   local m, tids, names = computer { cpus = 2, explain = 1, store_buffer = stores }, {}, {}
   for t = 1, 2 do
      local program = {}
      for i, op in ipairs(threads[t]) do
         local ip, where = 0x1000 * t + 16 * i, VARIABLES[op[2]]
         names[ip] = t .. "." .. i
         program[#program + 1] = { ip = ip + 8, ns = delays and delays() or 1 }
         program[#program + 1] = { ip = ip, store = (op[1] == "store" or op[1] == "locked") and where or nil,
            load = (op[1] == "load" or op[1] == "locked") and where or nil,
            fence = (op[1] == "fence" or op[1] == "locked") and true or nil }
      end
      program[#program + 1] = { ip = 0x1000 * t, ns = 100000 }
      tids[t] = assert(m:spawn { affinity = { t - 1 }, program = program })
   end
   for t = 1, 2 do assert(m:run { until_exit = tids[t] }) end
   local out = {}
   for t = 1, 2 do
      for i, op in ipairs(threads[t]) do
         if op[1] == "load" or op[1] == "locked" then
            local saw = m:explain(0x1000 * t + 16 * i).saw
            out[#out + 1] = saw and names[saw] or "-"
         end
      end
   end
   return table.concat(out, " "), m, tids
end

local function st(v) return { "store", v } end
local function ld(v) return { "load", v } end

describe("the option store_buffer", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("lets both loads of two threads miss the other's store, which no order of theirs explains", function()
      local sb = { { st "x", ld "y" }, { st "y", ld "x" } }
      assert.is_true(outcomes(sb, true)["- -"])
      assert.is_nil(outcomes(sb, false)["- -"])
      assert.are.equal("- -", (litmus(sb, 1)))
      assert.are_not.equal("- -", (litmus(sb, 0)))
   end)

   it("lets one of the loads see the store where each is behind a fence or a locked operation", function()
      for stores = 1, 4 do
         local fence = { "fence" }
         assert.are_not.equal("- -", (litmus({ { st "x", fence, ld "y" }, { st "y", fence, ld "x" } }, stores)))
         local seen = litmus({ { { "locked", "x" }, ld "y" }, { { "locked", "y" }, ld "x" } }, stores)
         assert.is_nil(seen:match("^%S+ %- %S+ %-$"), seen)
      end
   end)

   it("keeps the stores of a thread in order", function()
      local mp = { { st "x", st "y" }, { ld "y", ld "x" } }
      assert.is_nil(outcomes(mp, true)["1.2 -"])
      local roll = dice(3)
      for _ = 1, 50 do
         local seen = litmus(mp, 1 + roll(3), function() return 1 + roll(600) end)
         assert.is_true(outcomes(mp, true)[seen], seen)
      end
   end)

   it("has no outcome that total store order forbids, and without it none but those of an order of all", function()
      local roll, differ = dice(11), 0
      local kinds = { "store", "store", "store", "load", "load", "load", "fence", "locked" }
      for _ = 1, 300 do
         local threads = {}
         for t = 1, 2 do
            threads[t] = {}
            for i = 1, 2 + roll(2) do
               local kind = kinds[1 + roll(#kinds)]
               threads[t][i] = { kind, kind ~= "fence" and (roll(2) == 0 and "x" or "y") or nil }
            end
         end
         local tso, sc = outcomes(threads, true), outcomes(threads, false)
         local function delays() return 1 + roll(400) end
         local seen = litmus(threads, 1 + roll(4), delays)
         assert.is_true(tso[seen], seen)
         if not sc[seen] then differ = differ + 1 end
         seen = litmus(threads, 0, delays)
         assert.is_true(sc[seen], seen)
      end
      assert.is_true(differ > 0)
   end)

   it("gives to the caches what a queue of that many gives, and answers loads from it", function()
      for stores = 1, 5 do
         local roll, list = dice(stores), {}
         for i = 1, 2000 do
            list[i] = { roll(2) == 0 and "store" or "load", A + 8 * roll(300), roll(3) == 0 and 4 or 8 }
         end
         -- The model: a queue of stores, which successive stores to a line leave together; and an
         -- LRU cache.
         local queue, cache, out = {}, {}, { accesses = 0, misses = 0, forwards = 0, stalls = 0 }
         for set = 0, 3 do cache[set] = {} end
         local function ask(addr)
            local block = addr / 64 - addr / 64 % 1
            local set, found = cache[block % 4], nil
            for i, b in ipairs(set) do found = found or b == block and i end
            if found then table.remove(set, found) end
            table.insert(set, 1, block)
            set[5] = nil
            out.accesses = out.accesses + 1
            if not found then out.misses, out.stalls = out.misses + 1, out.stalls + 150 end
         end
         local function leave()
            local line = math.floor(queue[1][2] / 64)
            while queue[1] and math.floor(queue[1][2] / 64) == line do ask(table.remove(queue, 1)[2]) end
         end
         for _, op in ipairs(list) do
            if op[1] == "store" then
               if #queue == stores then leave() end
               queue[#queue + 1] = op
            else
               local hit
               for _, s in ipairs(queue) do
                  if s[2] < op[2] + op[3] and op[2] < s[2] + s[3] then hit = s end
               end
               if hit and hit[3] >= op[3] then
                  out.forwards = out.forwards + 1
               else
                  while hit and queue[1] do leave() end
                  ask(op[2])
               end
            end
         end
         local waited = out.stalls
         while queue[1] do leave() end -- the thread does not wait for these stores at its end
         local m = computer { store_buffer = stores }
         local truth = run(m, operations(list))
         assert.are.same({ out.accesses, out.misses, out.forwards }, { truth.l1d_accesses.user, truth.l1d_misses.user,
            truth.forwards.user }, stores .. " stores")
         -- without an L1I, each fetch goes to memory
         assert.are.equal(waited + 150 * 2000, truth.stalls.user)
         local n = 0
         for _, op in ipairs(list) do n = n + (op[1] == "store" and 1 or 0) end
         assert.are.equal(n, truth.stores.user)
         assert.are.equal(2000 - n, truth.loads.user)
      end
   end)

   it("counts in counters what happened, though the last stores leave it when the thread does", function()
      for _, period in ipairs { 0, 1, 7 } do
         local m = computer { store_buffer = 8 }
         local ctx, tid = sim.context(), assert(m:spawn { program = { { loop = 100, { ip = 0x1000, store = { A, 64 } },
            { ip = 0x1004, ns = 3 } }, { sleep = 1000 }, { ip = 0x1008, store = B } } })
         sim.count(ctx, 0, "l1d_misses", { level = "u" })
         sim.count(ctx, 1, "l1d_accesses", { level = "u" })
         if period > 0 then
            sim.count(ctx, 2, "instructions", { level = "u", value = -period, short_reset = -period,
               long_reset = -period })
         end
         sim.start(ctx, tid)
         assert(m:run { until_exit = tid })
         assert.are.equal(101, sim.value(ctx, 0))
         assert.are.equal(101, sim.value(ctx, 1))
         assert.are.equal(101, m:truth(tid).stores.user)
      end
   end)

   it("answers no load of another thread, and is empty when that runs", function()
      local m = computer { store_buffer = 64, hz = 1000000, slice_ns = 1000, explain = 1 }
      local one = assert(m:spawn { program = { { loop = 2000, { ip = 0x1000, store = A } } } })
      local two = assert(m:spawn { program = { { loop = 2000, { ip = 0x2000, load = A } } } })
      for _, tid in ipairs { one, two } do assert(m:run { until_exit = tid }) end
      assert.is_nil(m:truth(two).forwards)
      assert.are.equal(2000, m:truth(one).stores.user)
      assert.are.equal(2000, m:truth(one).l1d_accesses.user)
   end)

   it("has a CPU do several stores each time it owns a line", function()
      local misses = {}
      for _, stores in ipairs { 0, 8 } do
         local m, tids = computer { cpus = 2, store_buffer = stores }, {}
         for cpu = 0, 1 do
            tids[cpu] = assert(m:spawn { affinity = { cpu }, program = { { loop = 800, { ip = 0x1000,
               store = A + 8 * cpu } } } })
         end
         misses[stores] = 0
         for cpu = 0, 1 do
            assert(m:run { until_exit = tids[cpu] })
            misses[stores] = misses[stores] + m:truth(tids[cpu]).l1d_misses.user
         end
      end
      assert.are.equal(1600, misses[0])
      assert.are.equal(200, misses[8])
   end)
end)

-- --- all options ---------------------------------------------------------------------------------

describe("the options of the memory and of interrupts", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("are said when the machine is printed", function()
      local text = tostring(computer { l1d = "1024:4:64:plru", prefetch = 2, store_buffer = 6, interrupt_ns = 900 })
      for _, part in ipairs { "L1D 1024:4:64:plru", "no L2", "prefetches the next line, tagged", "6 stores in a buffer",
         "an interrupt takes 900 ns" } do
         assert.truthy(text:find(part, 1, true), text)
      end
      assert.is_nil(tostring(sim.machine("k8")):find(";", 1, true))
   end)

   it("are refused by name when their value is bad", function()
      for _, case in ipairs { { "prefetch", 3 }, { "prefetch", "next" }, { "prefetch", -1 }, { "store_buffer", 65 },
         { "store_buffer", "all" }, { "interrupt_ns", 1000001 }, { "interrupt_ns", "1us" }, { "l1d", "1024:4:64:mru" },
         { "l1d", "1024:4:64:" }, { "l1d", "1024:4:64:plru:1" }, { "dtlb", "12288:3:4096:plru" }, { "l2", ":" } } do
         local m, err, errno = lpfm.machine("sim:k8", { [case[1]] = case[2] })
         assert.is_nil(m, case[1] .. "=" .. case[2])
         assert.truthy(err:find(case[1], 1, true), err)
         assert.are.equal(22, errno)
      end
   end)
end)
