-- SPDX-License-Identifier: MIT
--- The labs' tools: simulated computers, counts, samples, contexts that stop a lab with the reason
-- when a call fails. `kit.count` and `kit.sample` are enough for most labs; README.md tells how
-- they are used.
-- @module labs.kit
local here = require "labs.here"
local lpfm = require "lpfm"
local plot = require "pfm.plot"

local kit = {}

--- Pictures (`pfm.plot`), which a run returns as figures and a page shows.
kit.plot = plot

--- The tools for measuring on this computer itself (`labs.here`).
kit.here = here

local open = {} -- contexts of the run
local counters_of = setmetatable({}, { __mode = "k" }) -- by machine

local PATIENCE = 1000 -- s of simulated time

--- Makes a simulated computer, on which contexts are created from now on.
-- @tparam table p parameters: `model`, one of those of lpfm.machines()
-- @tparam[opt] table options of lpfm.machine
-- @treturn machine
function kit.machine(p, options)
   return assert(lpfm.machine("sim:" .. p.model, options))
end

--- Creates a context on which a call that fails raises. It is closed at the latest as the run ends.
-- @tparam[opt] table options of lpfm.create
-- @return an object with the context's methods; its field ctx is the context
function kit.context(options)
   local ctx = assert(lpfm.create(options or {}))
   open[#open + 1] = ctx
   return setmetatable({ ctx = ctx }, {
      __index = function(_, name)
         return function(_, ...) return assert(ctx[name](ctx, ...)) end
      end,
   })
end

--- Closes the contexts that a run left open.
function kit.finish()
   for _, ctx in ipairs(open) do ctx:close() end
   open = {}
end

--- Returns the value of one PMD.
-- @param ctx of `kit.context`
-- @int num
-- @int[opt=0] set
function kit.value(ctx, num, set)
   return ctx:read_pmds { { num = num, set = set or 0 } }[1].value
end

--- Returns a 64-bit number as the figures show it.
-- @param value
-- @treturn string "0xffffffff"
function kit.hex(value)
   return lpfm.u64(value):hex()
end

--- Returns the properties of a register.
-- @int num of a PMD
-- @treturn table
function kit.pmd(num)
   for _, pmd in ipairs(lpfm.pmds()) do
      if pmd.num == num then return pmd end
   end
   error(("this machine has no PMD%d"):format(num), 0)
end

--- Lists the counters of a machine that count any event.
-- @tparam machine m
-- @treturn {int,...} their numbers
function kit.counters(m)
   local out = counters_of[m]
   if out then return out end
   out = {}
   for _, pmd in ipairs(lpfm.pmds()) do
      if pmd.num < 64 and m:encode("instructions", pmd.num) and pmd.width < 64 then out[#out + 1] = pmd.num end
   end
   counters_of[m] = out
   return out
end

--- Runs a program to its end without measuring it.
-- @tparam machine m
-- @tparam table program
-- @tparam[opt] table fields further ones of m:spawn
-- @treturn table what really happened: by event, `{ user=, kernel=, interrupt=, total= }`; 0 where
-- nothing did
function kit.run(m, program, fields)
   local spec = { program = program }
   for k, v in pairs(fields or {}) do spec[k] = v end
   local tid = assert(m:spawn(spec))
   assert(m:run { until_exit = tid, s = PATIENCE })
   return setmetatable(m:truth(tid), { __index = function()
      return { user = 0, kernel = 0, interrupt = 0, total = 0 }
   end })
end

--- Counts events while a program runs.
-- @tparam machine m
-- @tparam table program
-- @tparam {string,...} events as many as the machine has counters; "loads:u" counts at the user
-- level alone, ":k" at the kernel's
-- @treturn table counts by event, as they were named
function kit.count(m, program, events)
   local tid, ctx, free, out = assert(m:spawn { program = program }), kit.context(), kit.counters(m), {}
   for i, event in ipairs(events) do
      local name, level = event:match("^([^:]+):?(.*)$")
      local num = free[i] or error(("the machine has %d counters, and not %d"):format(#free, #events), 0)
      ctx:write_pmcs { { num = num, value = assert(m:encode(name, num, level ~= "" and level or nil)) } }
      ctx:write_pmds { { num = num, value = 0 } }
   end
   ctx:load(tid)
   ctx:start()
   assert(m:run { until_exit = tid, s = PATIENCE })
   for i, event in ipairs(events) do out[event] = kit.value(ctx, free[i]) end
   ctx:close()
   return out
end

--- Samples a program.
-- @tparam machine m
-- @tparam table program
-- @tparam table how `event`; `period` in events, or `pmd`, the fields of the PMD; `record`, PMDs to
-- record; `n`, the number of samples at most
-- @treturn {table,...} samples, with `ip`, `tstamp` and the PMDs by their numbers
function kit.sample(m, program, how)
   local tid, num = assert(m:spawn { program = program }), kit.counters(m)[1]
   local ctx = kit.context { format = "default", buf_size = 2 ^ 20 }
   local pmd = { num = num, smpl_pmds = how.record }
   if how.period then pmd.value, pmd.short_reset, pmd.long_reset = -how.period, -how.period, -how.period end
   for k, v in pairs(how.pmd or {}) do pmd[k] = v end
   ctx:write_pmcs { { num = num, value = assert(m:encode(how.event, num)) } }
   ctx:write_pmds { pmd }
   ctx:load(tid)
   ctx:start()
   assert(m:run { until_exit = tid, s = PATIENCE })
   local out = {}
   for sample in ctx.ctx:buffer():samples() do
      if how.n and #out == how.n then break end
      local kept = { ip = sample.ip, tstamp = sample.tstamp }
      for _, other in ipairs(how.record or {}) do kept[other] = sample[other] end
      out[#out + 1] = kept
   end
   ctx:close()
   return out
end

--- Samples with call stacks.
-- @tparam machine m
-- @tparam table program
-- @string event
-- @int period
-- @treturn {{int,...},...} of each sample the addresses: its own, and those to which the functions
-- return
function kit.stacks(m, program, event, period)
   local tid, ctx = assert(m:spawn { program = program }), kit.context { format = "stack", buf_size = 2 ^ 22 }
   local num, out = kit.counters(m)[1], {}
   ctx:write_pmcs { { num = num, value = assert(m:encode(event, num)) } }
   ctx:write_pmds { { num = num, value = -period, short_reset = -period, long_reset = -period } }
   ctx:load(tid)
   ctx:start()
   assert(m:run { until_exit = tid, s = PATIENCE })
   for sample in ctx.ctx:buffer():samples() do
      local frames = {}
      for i = 1, #sample.stack do frames[i] = sample.stack[i] end
      out[#out + 1] = frames
   end
   ctx:close()
   return out
end

--- Tries a sampling format written in Lua: runs a program with it, and then its query function
-- `result`.
-- @tparam table p parameters: `model`
-- @tparam table format of lpfm.register_format
-- @tparam table program
-- @int every loads, after which the counter overflows
-- @return[1] what `result` says
-- @return[2] nil
-- @treturn[2] string why there is no result
function kit.try_format(p, format, program, every)
   local own = {}
   for k, v in pairs(format) do own[k] = v end
   own.name = "lab-" .. tostring(format.name or "format")
   local ok, result = pcall(function()
      assert(lpfm.register_format(own))
      local m = kit.machine(p)
      local tid, ctx = assert(m:spawn { program = program }), kit.context { format = own.name }
      ctx:write_pmcs { { num = 4, value = assert(m:encode("loads", 4)) } }
      ctx:write_pmds { { num = 4, value = -every, short_reset = -every, long_reset = -every } }
      ctx:load(tid)
      ctx:start()
      assert(m:run { until_exit = tid, s = PATIENCE })
      local err = ctx.ctx:format_error()
      if err then error(err:match("^[^\n]*"), 0) end
      return ctx:ask "result"
   end)
   kit.finish()
   lpfm.unregister_format(own.name)
   if not ok then return nil, tostring(result):gsub("^%S+:%d+: ", "") end
   return result
end

--- Draws a whole number at random, so that no script can know the program that it is tried with.
-- @int from
-- @int to at most from + 65535
-- @treturn int
function kit.draw(from, to)
   local file = assert(io.open("/dev/urandom", "rb"))
   local a, b = file:read(2):byte(1, 2)
   file:close()
   return from + (a * 256 + b) % (to - from + 1)
end

--- Returns a whole number that a student gave to a function of the prompt; raises an error that
-- names it if it is none, or too small.
-- @param value
-- @string name
-- @number[opt=1] least -math.huge: any
-- @treturn int
function kit.whole(value, name, least)
   least = least or 1
   if type(value) == "number" and value >= least and value % 1 == 0 then return value end
   local limit = least > -math.huge and (" of %d or more"):format(least) or ""
   error(("%s: expected a whole number%s, got %s"):format(name, limit, tostring(value)), 0)
end

--- Makes a function that gives the same answer to the same arguments: a student's function must not
-- answer differently when it is checked and when it is measured.
-- @tparam function fn of numbers
-- @treturn function
function kit.once(fn)
   local said = {}
   return function(...)
      local key = table.concat({ ... }, " ")
      if said[key] == nil then said[key] = { fn(...) } end
      return said[key][1]
   end
end

--- Says how many samples each address has.
-- @tparam {table,...} samples
-- @treturn table by address
function kit.by_address(samples)
   local out = {}
   for _, sample in ipairs(samples) do out[sample.ip] = (out[sample.ip] or 0) + 1 end
   return out
end

return kit
