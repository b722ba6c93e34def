-- SPDX-License-Identifier: MIT
-- Views of sampling buffers on the simulated computer: layouts by set and PMD, filters, copies,
-- what survives restarts and the end.

local lpfm = require "lpfm"
local stored = require "lpfm.samples"
local sim = require "support.sim"

local machine

-- Starts a context with two sets, switched at overflows: in set 0, samples of PMD4 have PMD5's
-- value, those of PMD6 no value; in set 1, samples of PMD4 have the values of PMD5 and PMD7.
local function two_sets(options)
   local ctx = sim.context(options)
   assert(ctx:create_evtsets { { id = 0, flags = { "OVFL_SWITCH" } }, { id = 1, flags = { "OVFL_SWITCH" } } })
   local function period(n, smpl_pmds, switch_cnt, set)
      return { value = -n, long_reset = -n, short_reset = -n, smpl_pmds = smpl_pmds, switch_cnt = switch_cnt, set = set,
         flags = { "OVFL_NOTIFY" } }
   end
   for set = 0, 1 do
      sim.count(ctx, 5, "instructions", { set = set }, { set = set })
      sim.count(ctx, 7, "cycles", { set = set }, { set = set })
   end
   sim.count(ctx, 4, "instructions", period(10, { 5 }, 3, 0), { set = 0 })
   sim.count(ctx, 6, "instructions", period(15, {}, nil, 0), { set = 0 })
   sim.count(ctx, 4, "instructions", period(20, { 5, 7 }, 1, 1), { set = 1 })
   local tid = assert(machine:spawn { program = sim.work(100000) })
   sim.start(ctx, tid)
   return ctx, tid
end

-- Runs until the buffer is full; returns the view.
local function filled(ctx)
   assert(machine:run { until_message = ctx })
   assert(ctx:read(0))
   return assert(ctx:buffer())
end

-- Returns the samples as tables.
local function all(buf, filter)
   local list = {}
   for s in buf:samples(filter) do
      list[#list + 1] = s:copy()
   end
   return list
end

describe("a view of a sampling buffer", function()
   before_each(function()
      sim.begin()
      machine = sim.machine()
   end)
   after_each(sim.finish)
   teardown(function()
      assert(lpfm.machine("perf")) -- for the specs after this one
   end)

   for _, format in ipairs { "default", "default-0.6" } do
      it("knows what each sample of " .. format .. " holds, by set and PMD", function()
         local ctx, tid = two_sets { format = format, buf_size = 2000 }
         local list = all(filled(ctx))
         local seen = {}
         for i, s in ipairs(list) do
            assert.equal(i, s.index)
            assert.equal(tid, s.tid)
            assert.equal(0x1000, s.ip)
            local held = {}
            for num in pairs(s.pmds) do
               held[#held + 1] = num
            end
            table.sort(held)
            seen[i] = s.set .. "/" .. s.ovfl_pmd .. ":" .. table.concat(held, ",")
         end
         -- overflows of PMD4 after 10, 20, 30 instructions, of PMD6 after 15, 30; then set 1's PMD4
         assert.same({ "0/4:5", "0/6:", "0/4:5", "0/4:5", "0/6:", "1/4:5,7" }, { unpack(seen, 1, 6) })
         assert.same({ [5] = 10 }, list[1].pmds)
         assert.same({ [5] = 20, [7] = 200 }, list[6].pmds)
         assert.equal(-20, list[6].last_reset)
      end)
   end

   it("gives the same in all its ways", function()
      local buf = filled((two_sets { format = "default", buf_size = 4000 }))
      local list = all(buf)
      assert.equal(#list, #buf)
      local i = 0
      for set, pmd, five, seven, tstamp in buf:fields("set", "ovfl_pmd", 5, 7, "tstamp") do
         i = i + 1
         local s = list[i]
         assert.same({ s.set, s.ovfl_pmd, s.pmds[5] or false, s.pmds[7] or false, s.tstamp },
            { set, pmd, five, seven, tstamp })
      end
      assert.equal(#list, i)
      for j = #list, 1, -1 do
         assert.same(list[j], buf:sample(j):copy())
      end
      local counts = {}
      for _, s in ipairs(list) do
         counts[s.set] = counts[s.set] or {}
         counts[s.set][s.ovfl_pmd] = (counts[s.set][s.ovfl_pmd] or 0) + 1
      end
      assert.same(counts, buf:count_by("set", "ovfl_pmd"))
   end)

   it("has the fields of the same samples in a recording", function()
      local buf = filled((two_sets { format = "default", buf_size = 4000 }))
      local live, sizes = all(buf), { [4] = { 5 }, [65536 + 4] = { 5, 7 } }
      local n = 0
      for s in stored.each(buf:snapshot(), sizes) do
         n = n + 1
         local wanted = live[n]
         wanted.values, wanted.pmds, wanted.index = { wanted.pmds[5], wanted.pmds[7] }, nil, nil
         assert.same(wanted, s)
         local values = s.values
         s.values = nil
         local block = stored.head(1, stored.entry_size + 8 * #values) .. stored.sample(s, values)
         s.values = values
         assert.same(s, stored.each(block, sizes)())
      end
      assert.equal(#live, n)
   end)

   it("counts as a recording of it does, by each of its fields, whichever name it is given", function()
      local buf = filled((two_sets { format = "default", buf_size = 4000 }))
      local names = { "pmd", "tgid", "last_reset_val" }
      for name in pairs(buf:sample(1):copy()) do
         if name ~= "pmds" and name ~= "index" then names[#names + 1] = name end
      end
      assert.equal(11, #names)
      local snapshot = buf:snapshot()
      for _, name in ipairs(names) do
         local counted, counter = {}, stored.counter(name)
         assert.same({ #buf, 0 }, { counter:add(snapshot, { [4] = { 5 }, [65536 + 4] = { 5, 7 } }) })
         for value, samples in counter:rows() do counted[value] = samples end
         assert.same(buf:count_by(name), counted)
      end
      assert.has_error(function() stored.counter("colour") end, "counter: there is no field 'colour' (ip, tid, pid, "
         .. "cpu, tstamp, set, ovfl_pmd, last_reset, period, or a PMD's number)")
   end)

   it("leaves out what a filter does not want, of fields and of PMDs", function()
      local buf = filled((two_sets { format = "default", buf_size = 4000 }))
      local function wanted(test)
         local list = {}
         for _, s in ipairs(all(buf)) do
            if test(s) then
               list[#list + 1] = s
            end
         end
         assert(#list > 0 and #list < #buf)
         return list
      end
      assert.same(wanted(function(s) return s.set == 1 end), all(buf, { set = 1 }))
      assert.same(wanted(function(s) return s.set == 0 and s.ovfl_pmd == 6 end), all(buf, { set = 0, ovfl_pmd = 6 }))
      assert.same(wanted(function(s) return s.pmds[5] == 20 end), all(buf, { [5] = 20 }))
      assert.same({}, all(buf, { [6] = 0 }))
      assert.same({}, all(buf, { tid = 1 }))
   end)

   it("knows a changed layout from the restart on", function()
      local ctx = two_sets { format = "default", buf_size = 2000 }
      local buf = filled(ctx)
      local kept = assert(buf:copy())
      local before = all(buf)
      assert(ctx:write_pmds { { num = 4, value = -10, short_reset = -10, long_reset = -10, smpl_pmds = { 7 },
         switch_cnt = 3, flags = { "OVFL_NOTIFY", "CHECK" } } })
      assert.same(before, all(buf)) -- the first samples are unchanged
      assert(ctx:write_pmds { { num = 4, value = -10, short_reset = -10, long_reset = -10, smpl_pmds = { 7 },
         switch_cnt = 3, flags = { "OVFL_NOTIFY" } } })
      assert(ctx:restart())
      assert.equal(0, #buf)
      filled(ctx)
      for s in buf:samples { set = 0, ovfl_pmd = 4 } do
         assert.equal(1, s.pmds)
         assert.is_number(s[7])
         assert.is_nil(s[5])
      end
      assert.same(before, all(kept))
   end)

   it("can be kept by a copy, which survives the restart and the context", function()
      local ctx = two_sets { format = "default", buf_size = 4000 }
      local buf = filled(ctx)
      local list, header, bytes, counts = all(buf), buf:header(), buf:snapshot(), buf:count_by("set", "ip")
      local kept = assert(buf:copy())
      local s = kept:sample(3)
      assert(ctx:restart())
      machine:run { us = 50 }
      ctx:close()
      collectgarbage()
      collectgarbage()
      assert.has_error(function() return #buf end, "the buffer is closed")
      assert.same(list, all(kept))
      assert.same(header, kept:header())
      assert.equal(bytes, kept:snapshot())
      assert.same(counts, kept:count_by("set", "ip"))
      assert.same(list[3], s:copy())
      assert.equal(#list, #kept)
      local again = assert(kept:copy())
      kept = nil -- luacheck: ignore
      collectgarbage()
      assert.same(list, all(again))
      assert.same(list[3], s:copy())
      assert.has_error(function() buf:copy() end, "the buffer is closed")
   end)

   it("copies what is of no known layout, and of n-way", function()
      assert(lpfm.register_format { name = "own", getsize = function() return 4096 end, handler = function() end,
         init = function(self) self.buf:write(0, "abc") end })
      local ctx = sim.context { format = "own" }
      local kept = assert(ctx:buffer():copy())
      ctx:close()
      assert.equal(97, kept:get("u8", 0))
      assert.equal(4096, #kept:snapshot())
      assert.has_error(function() return #kept end)
      assert(lpfm.unregister_format("own"))
      local nway = two_sets { format = "n-way", regions = 3, buf_size = 6000 }
      local buf = filled(nway)
      local list = all(buf)
      local copy = assert(buf:copy())
      assert(nway:restart())
      assert.same(list, all(copy))
      assert.not_same(list, all(buf))
   end)

   it("is stale or closed, whatever the loop was about to do", function()
      local ctx = two_sets { format = "default", buf_size = 4000 }
      local buf = filled(ctx)
      local step, state = buf:fields("ip")
      local ways = { buf:samples(), function() return step(state) end, buf:samples { set = 1 } }
      for i, way in ipairs(ways) do
         assert(way(), i)
      end
      assert(ctx:restart())
      for _, way in ipairs(ways) do
         assert.has_error(way, "the sample is stale: the context was restarted")
      end
      step, state = buf:fields("ip")
      ways = { buf:samples(), function() return step(state) end }
      ctx:close()
      for _, way in ipairs(ways) do
         assert.has_error(way, "the buffer is closed")
      end
   end)
end)
