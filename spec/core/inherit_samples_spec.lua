-- SPDX-License-Identifier: MIT
-- PFM_FL_INHERIT with a sampling format: samples of inherited threads are in the monitored thread's
-- buffer. Compares them with a reference (support/family.lua), and with values found by hand.
local lpfm = require "lpfm"
local sim = require "support.sim"
local family = require "support.family"

local CPUS = 48 -- one for each thread that lives at a time

-- --- random families ---------------------------------------------------------------------------

local function random(seed)
   local state = seed
   return function(from, to)
      state = state * 16807 % 0x7fffffff
      return from + math.floor(state / 7) % (to - from + 1)
   end
end

local function program(rnd, depth, ips)
   local out = {}
   for _ = 1, rnd(1, 4) do
      ips.n = ips.n + 16
      out[#out + 1] = { loop = rnd(1, 70), { ip = ips.n, ns = rnd(3, 997) } }
      local what = depth > 0 and rnd(1, 4) or 4
      if what == 1 then
         out[#out + 1] = { fork = program(rnd, depth - 1, ips) }
      elseif what == 2 then
         out[#out + 1] = { thread = program(rnd, depth - 1, ips) }
      elseif what == 3 and depth < 3 then
         out[#out + 1] = { exec = program(rnd, depth - 1, ips) }
         return out
      end
   end
   return out
end

-- For each format: the options of its context, the buffer that the reference uses (`oracle`), and
-- how the samples of the context are read.

local function read_all(ctx, into)
   for s in ctx:buffer():samples() do
      into[#into + 1] = { tid = s.tid, pid = s.pid, ip = s.ip, tstamp = s.tstamp, last_reset = s.last_reset,
         counted = s[5] }
   end
end

-- Returns a reference's buffer that never fills.
local function roomy()
   return { kept = {},
      overflow = function(self, sample) self.kept[#self.kept + 1] = sample end,
      restart = function() end }
end

-- Returns a reference's buffer that n samples fill; it has room for `after` smaller ones more.
local function filling(n, after)
   return { kept = {}, now = 0,
      overflow = function(self, sample)
         if self.now < n + after then
            self.now = self.now + 1
            self.kept[#self.kept + 1] = sample
         end
         return self.now >= n
      end,
      restart = function(self) self.now = 0 end }
end

local SAMPLE = 40 + 8 -- bytes of a sample: header and one PMD

local FORMATS = {
   ["default, roomy"] = { create = { format = "default", buf_size = 4e6 }, oracle = roomy },
   ["default, of seven samples"] = {
      create = function() return { format = "default", buf_size = sim.buffer_size(7, SAMPLE) } end,
      oracle = function() return filling(7, math.floor((40 + 8 * #lpfm.pmds() - 1) / SAMPLE)) end, fills = true },
   ["stack"] = { create = { format = "stack", buf_size = 4e6 }, oracle = roomy },
   ["n-way"] = { create = { format = "n-way", buf_size = 8e6, regions = 2 }, oracle = roomy },
   ["one in Lua"] = { create = { format = "five" }, oracle = function() return filling(5, 0) end, fills = true,
      read = function(ctx, into)
         for _, s in ipairs(ctx:ask("samples")) do into[#into + 1] = s end
      end },
}

local FIVE = {
   name = "five",
   init = function(self) self.samples = {} end,
   handler = function(self, o)
      if #self.samples < 5 then
         self.samples[#self.samples + 1] = { tid = o.tid, pid = o.pid, ip = o.ip, tstamp = o.tstamp,
            last_reset = o.last_reset, counted = o.pmds[5] }
      end
      if #self.samples == 5 then return "NOTIFY", "MASK" end
      return "RESET"
   end,
   restart = function(self)
      self.samples = {}
      return "RESET"
   end,
   calls = { samples = function(self) return self.samples end },
}

local function sorted(samples)
   table.sort(samples, function(a, b)
      if a.tstamp ~= b.tstamp then return a.tstamp < b.tstamp end
      return a.tid < b.tid
   end)
   return samples
end

local function options(format)
   local out = {}
   for k, v in pairs(type(format.create) == "function" and format.create() or format.create) do out[k] = v end
   out.flags = { "INHERIT" }
   return out
end

local function sampler(m, fields, create)
   local ctx = sim.context(create)
   local pmd = { value = -fields.first, long_reset = -fields.period, short_reset = -fields.period, smpl_pmds = { 5 },
      flags = { "OVFL_NOTIFY", fields.mask and "RANDOM" or nil }, random_mask = fields.mask, random_seed = fields.seed }
   sim.count(ctx, 5, "instructions")
   sim.count(ctx, 4, "instructions", pmd)
   return ctx, m
end

describe("samples of a family", function()
   setup(function() assert(lpfm.register_format(FIVE)) end)
   teardown(function()
      assert(lpfm.machine("perf"))
      assert(lpfm.unregister_format("five"))
   end)
   before_each(sim.begin)
   after_each(sim.finish)

   local function compare(format, seed)
      local rnd = random(seed)
      local code = program(rnd, 4, { n = 0x1000 })
      local spec = { period = rnd(5, 60), first = rnd(5, 60), fills = format.fills, buffer = format.oracle() }
      if rnd(1, 2) == 1 then spec.mask, spec.seed = 15, rnd(0, 2 ^ 31 - 2) end
      spec.period = spec.period + 16
      local m = sim.machine("itanium2", { cpus = CPUS })
      local ctx = sampler(m, spec, options(format))
      local tid = m:spawn { program = code }
      sim.start(ctx, tid)
      local oracle, found, now, living, told = family.new(tid, code, spec), {}, 0, true, 0
      local read = format.read or read_all
      while living do
         local step = rnd(100, 20000)
         now = now + step
         assert(m:run { ns = step })
         living = oracle:run(now)
         assert.are.equal(oracle.total, sim.value(ctx, 5))
         -- the first thread that found it full; others are held without a message
         if oracle.told then
            local msg = assert(ctx:read(0))
            assert.are.same({ "OVFL", oracle.told.tid, oracle.told.pid }, { msg.type, msg.tid, msg.pid })
            oracle.told, told = nil, told + 1
         end
         if living and oracle.full and rnd(1, 3) > 1 then
            read(ctx, found)
            assert(ctx:restart())
            oracle:restart()
         end
      end
      read(ctx, found)
      assert.are.equal("END", assert(ctx:read(0)).type)
      assert.are.same(sorted(spec.buffer.kept), sorted(found))
      return #found, oracle.births, told
   end

   for name, format in pairs(FORMATS) do
      it("are those of its threads, one by one: format " .. name, function()
         local samples, births, told, done, seed = 0, 0, 0, 0, 1
         while done < 30 do
            seed = seed + 1
            local ok, n, born, messages = pcall(compare, format, seed)
            sim.finish()
            sim.begin()
            if ok then
               samples, births, told, done = samples + n, births + born, told + messages, done + 1
            elseif n ~= "a tie" then
               error(type(n) == "table" and n or ("seed %d: %s"):format(seed, tostring(n)), 0)
            end
         end
         assert.is_true(samples > 300 and births > 100, samples .. " samples, " .. births .. " births")
         assert.is_true(not format.fills or told > 10, told .. " messages")
      end)
   end

   -- --- by hand -------------------------------------------------------------------------------

   local PERIOD = { first = 20, period = 20 }

   local function run(n, ...)
      return { { loop = n, { ip = 0x1000, ns = 10 } }, ... }
   end

   local function measured(m, code, fields, create)
      create = create or { format = "default" }
      create.flags = { "INHERIT" }
      local ctx = sampler(m, fields or PERIOD, create)
      local tid = m:spawn { program = code }
      sim.start(ctx, tid)
      return ctx, tid
   end

   local function tids(ctx)
      local out = {}
      for s in ctx:buffer():samples() do out[#out + 1] = s.tid end
      return out
   end

   it("come once a period from children too short for one: each goes on where the last one ended", function()
      local m = sim.machine("itanium2", { cpus = 2 })
      local ctx, tid = measured(m, { { loop = 20, { fork = run(7) }, { ip = 0x1000, ns = 90 } } })
      assert(m:run { us = 10 })
      local expected = {} -- 20 children have 7 events each: every 20th is a sample
      for event = 20, 140, 20 do expected[#expected + 1] = tid + math.ceil(event / 7) end
      expected[#expected + 1] = tid -- tid counts 20 itself
      local found = tids(ctx)
      table.sort(found, function(a, b) return (a == tid and 1e9 or a) < (b == tid and 1e9 or b) end)
      assert.are.same(expected, found)
   end)

   it("are the thread's own where PMDs have a period; what PMDs without one count is the sum", function()
      local m = sim.machine("itanium2", { cpus = 2 })
      local ctx = measured(m, run(10, { fork = run(15) }, { loop = 5, { ip = 0x2000, ns = 10 } }))
      assert(m:run { us = 1 })
      assert.are.same({ -20 + 15, 30 }, { sim.value(ctx, 4), sim.value(ctx, 5) })
   end)

   it("are in the buffer when END comes", function()
      local m = sim.machine("itanium2", { cpus = 2 })
      local ctx, tid = measured(m, run(10, { fork = run(100) }))
      assert(m:run { until_exit = tid })
      assert.is_nil((ctx:read(0)))
      assert(m:run { until_message = ctx })
      assert.are.equal("END", assert(ctx:read(0)).type)
      assert.are.equal(5, #ctx:buffer())
   end)

   it("mask the thread that finds the buffer full, and no other, until a restart", function()
      local m = sim.machine("itanium2", { cpus = 3 })
      local ctx, tid = measured(m, run(10, { thread = run(1000) },
         { fork = { { loop = 100, { ip = 0x2000, ns = 100 } } } },
         { loop = 1000, { ip = 0x1000, ns = 1000 } }), PERIOD,
         { format = "default", buf_size = sim.buffer_size(1, SAMPLE) })
      sim.refused("EBUSY", "PMCs cannot be written while", ctx:write_pmcs { { num = 4, value = 0 } })
      assert(m:run { until_message = ctx })
      local msg = assert(ctx:read(0))
      assert.are.same({ "OVFL", tid + 1, tid, 0x1000 }, { msg.type, msg.tid, msg.pid, msg.ip })
      local before = sim.value(ctx, 5)
      assert(m:run { ns = 1000 }) -- the two threads that are not masked count 1 and 10
      assert.are.equal(before + 11, sim.value(ctx, 5))
      assert(ctx:restart())
      assert(m:run { ns = 100 })
      assert.are.equal(before + 11 + 11, sim.value(ctx, 5))
   end)

   -- Uses a format of which handler() returns each of `verdicts` in turn, and restart() each of
   -- `answers`; after the last one they return "RESET".
   local function deciding(verdicts, answers, depth, code)
      assert(lpfm.register_format { name = "deciding", msgq_depth = depth,
         init = function(self) self.overflows, self.active = 0, {} end,
         handler = function(self)
            self.overflows = self.overflows + 1
            return unpack(verdicts[self.overflows] or { "RESET" })
         end,
         restart = function(self, active)
            self.active[#self.active + 1] = active
            return unpack(answers[#self.active] or { "RESET" })
         end,
         calls = {
            overflows = function(self) return self.overflows end,
            active = function(self) return self.active end,
         },
      })
      finally(function()
         sim.finish()
         sim.begin()
         assert(lpfm.unregister_format("deciding"))
      end)
      local m = sim.machine("itanium2", { cpus = 3 })
      local ctx, tid = measured(m, code, PERIOD, { format = "deciding" })
      return m, ctx, tid
   end

   local function messages(ctx)
      local n = 0
      while ctx:read(0) do n = n + 1 end
      return n
   end

   local FOREVER = { { loop = 1e6, { ip = 0x1000, ns = 10 } } }

   it("go on in a child after the restart that resets, whatever the one before has left undone", function()
      local code = { { ip = 0x1000, ns = 10 }, { thread = FOREVER }, { ip = 0x2000, ns = 1e6 } }
      local m, ctx = deciding({ { "MASK", "NOTIFY" } }, { {} }, 1, code)
      assert(m:run { until_message = ctx })
      assert(ctx:restart()) -- nothing is reset: the next overflow is 2^64 events away
      assert(m:run { us = 10 })
      assert.are.equal(1, ctx:ask("overflows"))
      assert(ctx:restart())
      assert(m:run { ns = 210 })
      assert.are.equal(2, ctx:ask("overflows"))
   end)

   it("tell the format that monitoring is masked while a thread is, whatever others have sent since", function()
      local code = { { thread = FOREVER }, { thread = FOREVER }, { ip = 0x2000, ns = 1e6 } }
      local m, ctx = deciding({ { "MASK", "NOTIFY" }, { "NOTIFY", "RESET" } }, {}, 4, code)
      assert(m:run { us = 1 })
      assert.are.equal(2, messages(ctx))
      assert(ctx:restart())
      assert(ctx:restart())
      assert.are.same({ false, true }, ctx:ask("active"))
   end)

   it("bring one message of all threads that are masked, whatever others have sent between them", function()
      local code = { { thread = FOREVER }, { thread = FOREVER }, { ip = 0x2000, ns = 1e6 } }
      local m, ctx = deciding({ { "MASK", "NOTIFY" }, { "NOTIFY", "RESET" }, { "MASK", "NOTIFY" } }, {}, 4, code)
      assert(m:run { us = 1 })
      assert.are.equal(3, ctx:ask("overflows"))
      assert.are.equal(2, messages(ctx)) -- one of both that mask, one of the other overflow
   end)

   it("are reset by a restart only if the format says so, also where a lost message has masked", function()
      local m, ctx = deciding({ { "NOTIFY", "RESET" }, { "NOTIFY" } }, { {} }, 1, FOREVER)
      assert(m:run { us = 1 })
      assert.are.equal(1, messages(ctx))
      assert.are.equal(0, sim.value(ctx, 4)) -- masked since the overflow
      assert(ctx:restart())
      assert.are.equal(0, sim.value(ctx, 4))
   end)

   it("have records beside them, of all threads", function()
      local m = sim.machine("itanium2", { cpus = 2 })
      local ctx, tid = measured(m, run(10, { fork = { { map = "/lib/one", ip = 0x5000, size = 0x100 },
         { exec = run(30, { thread = run(5) }), name = "other" } } }), PERIOD,
         { format = "stack", buf_flags = { "RECORDS" } })
      assert(m:run { us = 10 })
      local kinds = {}
      for r in ctx:buffer():records() do kinds[#kinds + 1] = ("%s %d"):format(r.kind, r.tid - tid) end
      table.sort(kinds)
      assert.are.same({ "EXEC 1", "EXIT 0", "EXIT 1", "EXIT 2", "FORK 1", "FORK 2", "MAP 1" }, kinds)
      assert.are.same({ tid + 1 }, tids(ctx))
   end)

   it("switch sets in each thread by itself", function()
      local m = sim.machine("itanium2", { cpus = 2 })
      local ctx = sim.context { flags = { "INHERIT" }, format = "default" }
      local every = { value = -10, long_reset = -10, short_reset = -10, switch_cnt = 1 }
      for id = 0, 1 do
         assert(ctx:create_evtsets { { id = id, flags = { "OVFL_SWITCH" } } })
         every.set = id
         sim.count(ctx, 4, "instructions", every)
      end
      local tid = m:spawn { program = run(15, { fork = run(30) }, { loop = 10, { ip = 0x2000, ns = 10 } }) }
      sim.start(ctx, tid)
      assert(m:run { us = 10 })
      local found = {}
      for s in ctx:buffer():samples() do
         found[s.tid] = (found[s.tid] or "") .. s.set
      end
      assert.are.same({ [tid] = "01", [tid + 1] = "101" }, found)
   end)

   it("are held one by one by cf_ovfl_rate_max, and let go by a restart", function()
      local cfg = lpfm.config()
      local m = sim.machine("itanium2", { cpus = 2 })
      assert(lpfm.config { ovfl_rate_max = 300 }) -- three in 10 ms
      local ctx, tid = measured(m, { { fork = run(1000) }, { loop = 70, { ip = 0x2000, ns = 1000 } } })
      assert(m:run { us = 80 })
      lpfm.config { ovfl_rate_max = cfg.ovfl_rate_max }
      local msg = assert(ctx:read(0))
      assert.are.same({ "OVFL", tid + 1 }, { msg.type, msg.tid })
      assert.are.equal(1, sim.info(ctx).throttled)
      assert.are.equal(6, #ctx:buffer())
   end)
end)
