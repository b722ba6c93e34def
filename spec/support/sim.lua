-- SPDX-License-Identifier: MIT
--- Sets up simulated computers for specs, has short forms for programming contexts, and checks that
-- a test leaves nothing behind.
--
-- A spec file begins with
--    describe("3.1.2 ...", function()
--       before_each(sim.begin)
--       after_each(sim.finish)
-- and makes its contexts with sim.context, which sim.finish closes.
local assert = require "luassert"
local lpfm = require "lpfm"
local poll = require "posix.poll"
local dirent = require "posix.dirent"
local proc = require "lpfm.proc"
local PATIENCE = require "support.patience"

local sim = {}

local contexts, machine, fds

local function open_fds()
   local n = 0
   for _ in dirent.files("/proc/self/fd") do
      n = n + 1
   end
   return n
end

--- For before_each: creates a simulated computer, and notes how many descriptors are open. Before
-- that it creates a context, since the first one of a process starts libperfmon's service thread,
-- which keeps descriptors.
function sim.begin()
   machine = assert(lpfm.machine("sim:itanium2"))
   assert(lpfm.create()):close()
   machine:run { ns = 0 }
   collectgarbage()
   contexts, fds = {}, open_fds()
end

--- For after_each: closes the contexts; then no session, no buffer memory and no descriptor may be
-- left.
function sim.finish()
   for _, ctx in ipairs(contexts) do
      ctx:close()
   end
   contexts = {}
   machine:act()
   machine:run { ns = 0 } -- destroys what was closed
   local cfg = lpfm.config()
   assert.are.equal(0, cfg.thread_sessions, "per-thread sessions left")
   assert.are.equal(0, cfg.sys_sessions, "system-wide sessions left")
   assert.are.equal(0, cfg.smpl_buf_size_cur, "buffer memory left")
   collectgarbage()
   -- the service thread may be about to close its end of a descriptor
   local deadline = proc.clock() + PATIENCE
   while open_fds() > fds and proc.clock() < deadline do
      poll.rpoll(0, 1)
   end
   assert.is_true(open_fds() <= fds, "descriptors left open")
end

--- Returns the names of the models: "itanium2", ...
function sim.models()
   local models = {}
   for _, name in ipairs(lpfm.machines()) do models[#models + 1] = name:match("^sim:(.+)") end
   assert(#models >= 4)
   return models
end

--- Makes a new simulated computer, on which contexts are created from now on.
-- @param model one of sim.models(), "itanium2" by default
-- @param options see perfmon/sim.h
-- @return what lpfm.machine returns, with the methods of lpfm/sim/sim.c
function sim.machine(model, options)
   machine = assert(lpfm.machine("sim:" .. (model or "itanium2"), options))
   return machine
end

--- Creates a context, which must succeed; sim.finish closes it.
function sim.context(fields)
   local ctx = assert(lpfm.create(fields))
   contexts[#contexts + 1] = ctx
   return ctx
end

--- Loads a context, with load's arguments, and starts it; both must succeed.
function sim.start(ctx, ...)
   assert(ctx:load(...))
   assert(ctx:start())
end

--- Returns a program: n times a site at 0x1000 that takes ns (default 10) with these events, at a
-- level ("user").
function sim.work(n, events, ns, level)
   return { { loop = n, { ip = 0x1000, ns = ns or 10, events = events, level = level } } }
end

--- Programs counter num to count an event; returns ctx. pmd: further fields of the PMD, also level
-- ("uk"); pmc: of the PMC.
function sim.count(ctx, num, event, pmd, pmc)
   local d, c = { num = num, value = 0 }, { num = num }
   for k, v in pairs(pmd or {}) do
      d[k] = v
   end
   for k, v in pairs(pmc or {}) do
      c[k] = v
   end
   c.set, d.level = d.set, nil
   local pmcs = c.value and { c } or assert(machine:encode_pmcs(event, num, pmd and pmd.level or "uk"))
   if not c.value then c.num, c.value = pmcs[1].num, pmcs[1].value end
   pmcs[1] = c
   for _, other in ipairs(pmcs) do other.set = d.set end
   assert(ctx:write_pmcs(pmcs))
   assert(ctx:write_pmds { d })
   return ctx
end

--- Returns the PMD numbers of the machine's hardware counters.
function sim.counters()
   local out = {}
   for _, reg in ipairs(lpfm.pmds()) do
      local kind = table.concat(reg.kind or {}, " ")
      if kind:find("C64", 1, true) and (reg.num < 64 or reg.num > 84) then out[#out + 1] = reg.num end
   end
   return out
end

--- Returns the first counter that can count an event, or the first one without an event; nil if
-- none can.
function sim.counter(event)
   for _, num in ipairs(sim.counters()) do
      if not event or machine:encode_pmcs(event, num) then return num end
   end
end

--- Returns the value of PMD num of a set (default 0).
function sim.value(ctx, num, set)
   return assert(ctx:read_pmds { { num = num, set = set } })[1].value
end

--- Returns the size of a buffer of the default format that is full with exactly n samples of so
-- many bytes (default 40: an entry without PMDs). layout: "2.x" (the default) or "0.6".
function sim.buffer_size(n, bytes, layout)
   local header = layout == "0.6" and 40 or 128
   return header + n * (bytes or 40) + 40 + 8 * #lpfm.pmds() - 1
end

--- Returns what PFM_GETINFO_EVTSETS says about a set (default 0).
function sim.info(ctx, set)
   return assert(ctx:getinfo_evtsets { set or 0 })[1]
end

--- Returns how often each of these sets became active.
function sim.runs(ctx, ...)
   local out = {}
   for i, set in ipairs { ... } do out[i] = sim.info(ctx, set).runs end
   return out
end

--- Returns after how many instructions, of 10 ns each, the samples of the region to be read next
-- were taken.
function sim.moments(ctx)
   local at = {}
   for s in ctx:buffer():samples() do at[#at + 1] = s.tstamp / 10 end
   return at
end

--- Returns registers by their numbers.
function sim.by_num(list)
   local out = {}
   for _, reg in ipairs(list) do out[reg.num] = reg end
   return out
end

--- Runs a program to its end on a computer; fields: further ones of the thread. Returns what the
-- thread did and its ID.
function sim.run_program(m, program, fields)
   local spec = { program = program }
   for k, v in pairs(fields or {}) do spec[k] = v end
   local tid = assert(m:spawn(spec))
   assert(m:run { until_exit = tid, s = 100 })
   return m:truth(tid), tid
end

--- Returns how often an event happened, at all levels.
function sim.total(truth, event)
   return truth[event] and truth[event].total or 0
end

--- Returns the entry of a simulated thread in machine:threads().
function sim.thread(tid)
   for _, t in ipairs(machine:threads()) do
      if t.tid == tid then
         return t
      end
   end
end

--- Asserts that a call failed with this errno (a name), and a message that contains text.
-- sim.refused("EINVAL", "set 3 does not exist", ctx:write_pmcs { ... })
function sim.refused(errno, text, ok, message, number)
   assert.is_nil(ok, "was not refused; " .. errno .. " expected: " .. text)
   assert.are.equal(errno, sim.errno_name(number), tostring(message))
   assert.is_truthy(message:find(text, 1, true), "'" .. text .. "' not in: " .. message)
end

--- Returns the name of an errno.
function sim.errno_name(number)
   for name, n in pairs(lpfm.errno) do
      if n == number then
         return name
      end
   end
   return tostring(number)
end

return sim
