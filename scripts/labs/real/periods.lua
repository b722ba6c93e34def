-- SPDX-License-Identifier: MIT
-- Periods on this computer: each page fault has its own instruction, so an address tells the fault.

local SAMPLE, VALUE = 40, 8 -- bytes of the default format

local function program(p)
   local body = { name = "main" }
   for i = 1, p.touches do
      body[#body + 1] = { touch = true, mark = i }
      body[#body + 1] = { spin = p.spin }
   end
   return { body }
end

-- Makes a context with a buffer that is full after p.buffer samples: when the largest sample would
-- not fit.
local function context(kit, p, flags)
   local empty = kit.context { format = "default", buf_size = 4096 }
   local header = empty.ctx:buffer():header().cur_offs
   empty:close()
   local largest = SAMPLE + VALUE * #require("lpfm").pmds()
   local ctx = kit.context { flags = flags, format = "default", buf_size = header + (p.buffer - 1) * SAMPLE + largest }
   kit.here.counter(ctx, "page-faults", { value = -p.initial, short_reset = -p.short, long_reset = -p.long,
      flags = { "OVFL_NOTIFY" } })
   return ctx
end

-- Returns the numbers of the faults that were sampled, by buffer.
local function buffers(kit, p, flags)
   kit.here.machine(p)
   local ctx, out = context(kit, p, flags), {}
   local program_of = program(p)
   local ips = {}
   local known = kit.here.run(ctx, program_of, function()
      local own = {}
      for sample in ctx.ctx:buffer():samples() do own[#own + 1] = sample.ip end
      ips[#ips + 1] = own
      ctx.ctx:restart() -- fails once the program has ended
   end)
   local numbers = {}
   for number, address in pairs(known.marks) do numbers[address] = number end
   for i, own in ipairs(ips) do
      out[i] = {}
      for k, ip in ipairs(own) do out[i][k] = numbers[ip] or error("a sample lies outside of the program", 0) end
   end
   ctx:close()
   return out
end

-- Compares periods: over perf_event, a changed one can be late by a fault or two.
local function near(got, wanted)
   return math.abs(got - wanted) <= wanted / 5
end

local function distances(list)
   local out = {}
   for i = 2, #list do out[i - 1] = list[i] - list[i - 1] end
   return out
end

local function measure(kit, p)
   local running, blocked = buffers(kit, p), buffers(kit, p, { "NOTIFY_BLOCK" })
   if #running < 2 or #blocked < 2 then error("the program ended before the second buffer was full", 0) end
   local between = distances(running[1])
   local sorted = { unpack(between) }
   table.sort(sorted)
   local jump = running[2][1] - running[1][p.buffer]
   return { first = running[1][1], between = between, typical = sorted[math.ceil(#sorted / 2)],
      jump = jump, meanwhile = jump - p.long, jump_blocked = blocked[2][1] - blocked[1][p.buffer],
      between_later = distances(blocked[2]) }
end

local MEANWHILE = [[
   {jump}: the long period, and what was executed while the tool worked, {meanwhile} faults. With one processor
   it may be none, for the program does not run while the tool does.]]

return {
   goals = { "see the three periods in a real kernel", "see what is lost there while a tool works" },
   teacher = [[
      The first sample comes a few faults early: the start of the program takes some, too, and they count. Have students
      find out how many from the figures.

      Over perf_event the period is changed by a helper, and a sample may come a fault or two late; in perfmon.ko it
      does not.

      How much is lost while the tool works is this computer's affair, and differs from run to run; that nothing is lost
      with NOTIFY_BLOCK does not.
   ]],
   params = { initial = 50, short = 10, long = 30, buffer = 5, touches = 300, spin = 5000 },
   on = { perf = { spin = 300000 } }, -- perf_event takes a while to change periods and to switch
   most = { spin = 10 ^ 7, touches = 2000 },
   pages = {
      { text = [[
         The machine is `{machine}` now. A program touches {touches} pages, one after the other, each by an instruction
         of its own; so the address of a sample tells which fault it was. The initial period is {initial} faults, the
         short one {short}, the long one {long}; the buffer has room for {buffer} samples.
      ]],
        ask = "How far is a sample of the first buffer from the next one, in faults?",
        id = "between", within = 0.2,
        run = measure, show = { { "the first sample is fault number", "first" },
           { "faults between samples, first buffer", "between" } },
        answer = "typical",
        right = [[The short period, {short}. The first sample came early, for the start of the program has faults of
           its own.]],
        wrong = { { is = "long", say = "The long period is for restarts: {between}." },
           { is = "initial", say = "The initial period is for the start alone: {between}." } },
        otherwise = "It is the short period: {between}.",
        hints = { "Which period is loaded at an overflow while there is room?" } },
      { text = "The tool reads the buffer and restarts; the program runs on meanwhile.",
        ask = "How far is the next sample behind the last one?", id = "running", kind = "choice",
        run = function() return {} end, show = { { "faults between the buffers, thread running", "jump" } },
        choices = { { "exactly {long} faults", say = MEANWHILE }, { "more than {long} faults", say = MEANWHILE },
           { "less than {long} faults", say = MEANWHILE } },
        answer = function(f) return f.jump == f.long and 1 or f.jump > f.long and 2 or 3 end,
        hints = { "Does the program wait for the tool?" } },
      { text = "Now with NOTIFY_BLOCK: the program waits for the restart.",
        ask = [[How far is the first sample of the second buffer from the last one before, in faults?]],
        id = "blocked", within = 0.2,
        run = function() return {} end, show = { { "faults between the buffers, thread blocked", "jump_blocked" },
           { "faults between samples, second buffer", "between_later" } },
        answer = "jump_blocked",
        right = "The long period, {long}: a blocked thread has no faults that nobody sees.",
        wrong = { { is = "short", say = "A restart loads the long period: {jump_blocked}." } },
        otherwise = "It waits, so it is the long period: {jump_blocked}.",
        hints = { "What does a blocked thread execute?" } },
      { task = "skip", kind = "script",
        todo = [[
           Write a script that returns the initial, the short and the long period, so that samples are {wanted} faults
           apart, and {recover} after a restart (with NOTIFY_BLOCK):

              return { initial = {short}, short = {short}, long = {long} }
        ]],
        run = function(_, p) return { wanted = 2 * p.short, recover = 2 * p.long } end,
        check = function(kit, p, t, f)
           if type(t) ~= "table" or not (tonumber(t.initial) and tonumber(t.short) and tonumber(t.long)) then
              return false, "The script returns no table with initial, short and long."
           end
           if t.initial < p.short then
              return false, [[With an initial period below {short}, the faults of the start fill the buffer before the
                 program runs, and nobody restarts it.]]
           end
           local q = { initial = t.initial, short = t.short, long = t.long }
           for k, v in pairs(p) do q[k] = q[k] or v end
           local ok, got = pcall(buffers, kit, q, { "NOTIFY_BLOCK" })
           if not ok or #got < 2 then return false, "With these periods the buffer is not full twice." end
           local apart, later = got[1][2] - got[1][1], got[2][1] - got[1][p.buffer]
           return near(apart, f.wanted) and near(later, f.recover), nil, { apart = apart, later = later }
        end,
        right = "They are {apart} apart, and {later} after the restart.",
        otherwise = "They are {apart} apart, and {later} after the restart.",
        solution = "return { initial = 20, short = 20, long = 60 }",
        mistake = "return { initial = 20, short = 60, long = 20 }",
        hints = { "The long period is what a restart leaves out." } },
   },
}
