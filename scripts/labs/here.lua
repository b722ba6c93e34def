-- SPDX-License-Identifier: MIT
--- The labs' tools for this computer: they make programs of known instructions, and measure them by
-- perfmon.ko or over perf_event. First touches of pages are events that happen an exact number of
-- times, on computers without a PMU, too.
-- @module labs.here
local lpfm = require "lpfm"
local native = require "labs.native"
local proc = require "lpfm.proc"

local here = {}

local PATIENCE = 60     -- s that a program may take
local TRIES, SPIN = 5, 1000000 -- tries, and rounds of each, to find how long a round takes
local USER, KERNEL = 8, 1 -- bits of the PMCs of software counters

--- The PMDs of software counters.
here.pmds = { ["task-clock"] = 64, ["cpu-clock"] = 65, ["page-faults"] = 66, ["minor-faults"] = 67,
   ["context-switches"] = 69 }

--- Chooses the machine of a lab's page; contexts are made on it from now on.
-- @tparam table p parameters: `machine`, "linux" or "perf"
-- @treturn table as lpfm.machine() describes it
-- @raise where there is no such machine
function here.machine(p)
   local machine, message = lpfm.machine(p.machine)
   if not machine then error(message, 0) end
   return machine
end

--- Programs a software counter.
-- @param ctx of `kit.context`
-- @string event a key of `here.pmds`
-- @tparam[opt] table pmd fields of the PMD; `period` in events stands for value, short_reset and
-- long_reset
-- @tparam[opt] table how `set`, the event set; `kernel`: counts at the kernel level, too
function here.counter(ctx, event, pmd, how)
   local num, set = here.pmds[event], how and how.set or 0
   local fields = { num = num, set = set }
   for k, v in pairs(pmd or {}) do fields[k] = v end
   local period = fields.period
   if period then fields.value, fields.short_reset, fields.long_reset, fields.period = -period, -period, -period, nil
   end
   ctx:write_pmcs { { num = num, set = set, value = USER + (how and how.kernel and KERNEL or 0) } }
   ctx:write_pmds { fields }
end

local function finish(path, child, ok, ...)
   child:kill "KILL"
   child:close()
   os.remove(path)
   if not ok then error((...), 0) end
   return ...
end

-- Waits for the message of the thread's end: before it comes, the buffer may lack samples.
local function await_end(ctx, on_overflow)
   for message in function() return ctx.ctx:read(PATIENCE) end do
      if message.type == "END" then return end
      if on_overflow then on_overflow(message) end
   end
   error(("the program did not end within %d s"):format(PATIENCE), 0)
end

-- Calls a function with a stopped child, which `go` starts, and the description of its program.
local function with_child(functions, fn)
   local path = os.tmpname()
   local program = native.build(path, functions)
   local child = assert(proc.spawn({ path }, { stdout = false, bound = true }))
   return finish(path, child, pcall(fn, child, program))
end

--- Measures a program.
-- @param ctx of `kit.context`, programmed
-- @tparam {table,...} functions of `native.build`
-- @tparam[opt] function on_overflow is called with each message of an overflow
-- @treturn table what `native.build` says of the program
-- @treturn table how it ended, and `rusage`
function here.run(ctx, functions, on_overflow)
   return with_child(functions, function(child, program)
      ctx:load(child.pid)
      ctx:start()
      assert(child:go())
      await_end(ctx, on_overflow)
      return program, assert(child:wait(PATIENCE))
   end)
end

--- Samples an event of a program.
-- @tparam table kit
-- @tparam {table,...} functions of `native.build`
-- @string event a key of `here.pmds`
-- @tparam table pmd fields of the PMD, as `here.counter` takes them
-- @treturn {string,...} the marks where samples were taken; others are left out
-- @treturn table what `native.build` says of the program
function here.sample(kit, functions, event, pmd)
   local ctx, out, names = kit.context { format = "default", buf_size = 2 ^ 20 }, {}, {}
   here.counter(ctx, event, pmd)
   local program = here.run(ctx, functions)
   for name, address in pairs(program.marks) do names[address] = name end
   for sample in ctx.ctx:buffer():samples() do out[#out + 1] = names[sample.ip] end
   ctx:close()
   return out, program
end

--- Returns the rounds of `spin` in a ms: the most of several tries, since other programs may run.
-- @tparam table kit
-- @treturn int
function here.rounds_of_ms(kit)
   local least = math.huge
   for _ = 1, TRIES do
      local ctx = kit.context()
      here.counter(ctx, "task-clock", {}, { kernel = true })
      here.run(ctx, { { name = "main", { spin = SPIN } } })
      least = math.min(least, kit.value(ctx, here.pmds["task-clock"]))
      ctx:close()
   end
   return math.max(1, math.floor(SPIN * 1e6 / least))
end

return here
