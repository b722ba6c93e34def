-- SPDX-License-Identifier: MIT
-- What measuring costs on this computer: calls, samples, and, in `make vm`, the instructions of
-- perfmon's calls beside perf_event's.

local proc = require "lpfm.proc"

local TABLE = "build/tests/costs" -- spec/bench/vm/costs.c, in the emulated machine

-- Returns the time of one of n calls of a function, in ns: the least of several tries.
local function ns_of(p, n, fn)
   local least = math.huge
   for _ = 1, p.tries do
      local began = proc.clock()
      for _ = 1, n do fn() end
      least = math.min(least, (proc.clock() - began) * 1e9 / n)
   end
   return least
end

local function calls(kit, p)
   local ctx, which = kit.context(), { { num = kit.here.pmds["page-faults"] } }
   kit.here.counter(ctx, "page-faults")
   ctx:load(proc.gettid())
   ctx:start()
   local empty = ns_of(p, p.calls, function() end)
   local read = ns_of(p, p.calls, function() ctx.ctx:read_pmds(which) end)
   local pair = ns_of(p, p.calls, function()
      ctx.ctx:stop()
      ctx.ctx:start()
   end)
   ctx:close()
   return read - empty, pair - empty
end

-- Returns the program's CPU time in ns, the least of several tries, and its number of samples: one
-- each `period` page faults, or none without a period.
local function time_of(kit, p, period)
   local least, samples = math.huge, 0
   for _ = 1, p.tries do
      local ctx = kit.context(period and { format = "default", buf_size = 2 ^ 20 } or {})
      if period then kit.here.counter(ctx, "page-faults", { period = period }) end
      kit.here.counter(ctx, "task-clock", {}, { kernel = true })
      kit.here.run(ctx, { { name = "main", { loop = p.touches, { touch = true }, { spin = p.spin } } } })
      least = math.min(least, kit.value(ctx, kit.here.pmds["task-clock"]))
      samples = period and ctx.ctx:buffer():header().count or 0
      ctx:close()
   end
   return least, samples
end

-- Returns what TABLE prints, by name: { perfmon's instructions, perf_event's }; empty without
-- TABLE.
local function rows()
   local out, file = {}, io.open(TABLE)
   if not file then return out end
   file:close()
   local pipe = io.popen(TABLE)
   for line in pipe:lines() do
      local name, ours, theirs = line:match("^  (.-)%s%s+(%d+)%s+(%d+)")
      if name then out[name] = { tonumber(ours), tonumber(theirs) } end
   end
   pipe:close()
   return out
end

local function figures(kit, p)
   kit.here.machine(p)
   local read, pair = calls(kit, p)
   local alone = time_of(kit, p)
   local with, samples = time_of(kit, p, 1)
   local rare, few = time_of(kit, p, p.period)
   local each = math.max(0, with - rare) / math.max(1, samples - few)
   return { read_ns = read, pair_ns = pair, alone_ms = alone / 1e6, with_ms = with / 1e6, samples = samples,
      sample_ns = each, rare_ms = rare / 1e6, few = few, ratio = p.period, round_ns = 1e6 / kit.here.rounds_of_ms(kit),
      dearer = pair > read and 2 or 1 }
end

local function beside()
   local found, elsewhere = rows(), "not measured here"
   local read, pair = found["read one running counter"] or {}, found["stop + start, one counter"] or {}
   return { bare_read = read[1] or elsewhere, bare_read_perf = read[2] or elsewhere, bare_pair = pair[1] or elsewhere,
      bare_pair_perf = pair[2] or elsewhere }
end

local DEARER = [[
   A read is {read_ns} ns, a stop and a start {pair_ns} ns. The latter are two calls, but for a read Lua has a list to
   pass and values to return, which is in the time: a later page has the calls without Lua.]]

return {
   goals = { "measure what a call and a sample cost", "compare perfmon with perf_event in the same kernel" },
   teacher = [[
      In the emulated machine of `make vm` an instruction takes a fixed time, so that times there are instruction
      counts, and come out the same again. On a real one the least of some tries is shown; other work makes it larger,
      never smaller. The calls are made from Lua, which takes a part of them; the last page has them without.
   ]],
   params = { calls = 2000, tries = 5, touches = 300, spin = 1000, period = 10 },
   most = { calls = 10 ^ 6, touches = 10000, spin = 10 ^ 6 },
   pages = {
      { text = [[
         The machine is `{machine}` now. We call the kernel {calls} times to read a counter, and {calls} times to stop
         and start it, and let a program touch {touches} pages with and without a sample at each of them.
      ]],
        ask = "Which costs more?", id = "dearer", kind = "choice",
        run = figures, show = { { "reading a counter, ns", "read_ns" }, { "a stop and a start, ns", "pair_ns" },
           { "a round of an empty loop, two instructions, ns", "round_ns" } },
        choices = { { "to read a counter", say = DEARER },
           { "to stop and to start it", say = DEARER } },
        answer = "dearer",
        hints = { "How many calls are it, and how much has Lua to do for each?" } },
      { ask = [[A sample is taken at every fault, then at every {ratio}th. By which factor are there fewer samples?]],
        id = "fewer", within = 0.1,
        run = function(_, _, f) return { factor = f.samples / f.few } end,
        show = { { "the program alone, ms", "alone_ms" }, { "with a sample at each fault, ms", "with_ms" },
           { "samples", "samples" }, { "a sample costs, ns", "sample_ns" },
           { "with fewer samples, ms", "rare_ms" }, { "samples then", "few" } },
        answer = "factor",
        right = [[And what the samples cost becomes less by as much. Not so what sampling costs once, however few
           there are. On a computer that is busy, times scatter by more than that.]],
        otherwise = "{samples} samples became {few}.",
        hints = { "Divide." } },
      { text = [[
         In the emulated kernel, which `make vm LAB=costs` boots, each instruction is counted. There perfmon.ko and
         perf_event do the same work in the same boot, without Lua. Costs in instructions, those of perf_event behind
         them:
      ]],
        run = beside, show = { { "read a running counter, perfmon.ko", "bare_read" },
           { "the same, perf_event", "bare_read_perf" }, { "stop and start, perfmon.ko", "bare_pair" },
           { "the same, perf_event", "bare_pair_perf" } } },
      { task = "pay", kind = "script",
        todo = [[
           Write a script that returns the period in faults with which a program of {many} faults has at least {wanted}
           samples, and no more than twice as many:

              return 1
        ]],
        run = function(_, p) return { many = p.touches, wanted = 20 } end,
        check = function(kit, p, period, f)
           if type(period) ~= "number" or period < 1 or period % 1 ~= 0 then
              return false, "The script returns no period."
           end
           kit.here.machine(p)
           local _, got = time_of(kit, { tries = 1, touches = p.touches, spin = p.spin }, period)
           return got >= f.wanted and got <= 2 * f.wanted, nil, { got = got }
        end,
        right = "There were {got} samples.", otherwise = "There were {got} samples.",
        solution = "return 10", mistake = "return 1", hints = { "Divide the faults by the samples." } },
   },
}
